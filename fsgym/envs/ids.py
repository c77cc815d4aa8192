"""The ids of this project. A new variant is one entry in ``VARIANTS``; ``registration`` makes the environments."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from fsgym.envs.spec import JsonSpec

# Invented prices for the thirty features of breast cancer: a mean over the nuclei costs 1, its standard error 2,
# the mean of the three largest 4. A missed cancer costs five times a false alarm.
NUCLEI = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave points",
    "symmetry",
    "fractal dimension",
)
BREAST_CANCER_COSTS = {
    **{f"mean {what}": 1.0 for what in NUCLEI},
    **{f"{what} error": 2.0 for what in NUCLEI},
    **{f"worst {what}": 4.0 for what in NUCLEI},
}
# {answer: {truth: cost}}
BREAST_CANCER_ERRORS = {"benign": {"malignant": 500.0}, "malignant": {"benign": 100.0}}

VARIANTS: dict[str, dict[str, Any]] = {
    "DatumWise-v0": {"lam": 0.01},
    "DatumWiseBudget-v0": {"lam": 0.0, "budget": 5},
    "DatumWiseCost-v0": {"lam": 1.0, "costs": BREAST_CANCER_COSTS, "error_costs": BREAST_CANCER_ERRORS},
    "DatumWiseGroup-v0": {"lam": 0.01, "groups": list(range(10)) * 3},
    "DatumWiseRelational-v0": {
        "dataset": "digits", "block": (2, 2), "lam": 1.0, "costs": 0.005, "unrelated_costs": 0.02,
    },
}  # fmt: skip


def register() -> None:
    """Register the ids of this project with Gymnasium; called when ``fsgym`` is imported."""
    for name, kwargs in VARIANTS.items():
        if name not in gym.registry:
            register_id(name, kwargs)


def register_id(id: str, kwargs: dict[str, Any]) -> None:
    """Register an environment of these arguments, which is imported when it is made."""
    gym.register(
        id,
        entry_point="fsgym.envs.registration:make_env",
        vector_entry_point="fsgym.envs.registration:make_vector_env",
        kwargs=kwargs,
    )
    gym.registry[id] = JsonSpec.of(gym.registry[id])
