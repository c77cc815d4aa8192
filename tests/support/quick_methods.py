"""Estimators of all methods that are trained in a moment."""

from __future__ import annotations

from typing import Any

import pytest

from fsgym.methods import Method, load_class

# Parameters that cost time only, of whichever method has them; and what trains a method in a moment.
QUICK = {"n_iter": 20, "n_estimators": 10, "n_iterations": 3, "cv": 2, "random_state": 0}
FAST: dict[str, dict[str, Any]] = {
    "lattice": {"effort": 0.1},
    "rcpi_printed": {"n_iterations": 10},  # three have not yet learnt three classes
    "mixture": {"n_components": 1, "n_steps": 0},
    "network": {"n_steps": 10},
    "adaptive": {"learner": "lattice"},  # the choice: tests/agents/test_adaptive.py
    "maskable_ppo": {
        "total_timesteps": 1024, "num_envs": 64,
        "options": {"n_steps": 4, "batch_size": 256, "n_epochs": 5, "learning_rate": 2e-2, "ent_coef": 0.0},
    },
    "dqn": {
        "total_timesteps": 200, "num_envs": 8, "options": {"learning_starts": 50, "target_update_interval": 8}
    },
    "hkl": {"max_active": 20},
    "uncertain_sgl": {"s": 3},
    "gdfs": {"hidden": (16,), "n_epochs": 1, "batch_size": 64, "learning_rate": 0.02, "max_acquisitions": 3},
    "dime": {"hidden": (16,), "n_epochs": 1, "batch_size": 64, "learning_rate": 0.02, "max_acquisitions": 3},
}  # fmt: skip

# Classes that add little to what another one shows: the same classifier, or the same base class, with another learner.
SAME_AS = {
    "adaptive": "lattice",
    "network": "mixture",
    "dqn": "maskable_ppo",
    "dime": "gdfs",
    "rcpi_printed": "rcpi",
}


def or_slow(names: list[str]) -> list[Any]:
    """The names as parameters, those of ``SAME_AS`` only in the slow tests."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in SAME_AS else name for name in names]


def quick_estimator(name: str, method: Method) -> Any:
    model = load_class(method)(**method.preset)
    known = model.get_params()
    return model.set_params(**{k: v for k, v in QUICK.items() if k in known} | FAST.get(name, {}))
