"""The parameters of RCPI: their ranges and choices, and a check of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsgym.support.checks import check_choice, check_n_jobs, check_random_state
from fsgym.text.messages import brief

RANGES = {  # lowest, highest, whether whole
    "n_iterations": (1, 1e6, True),
    "n_rollouts": (1, 1e6, True),
    "patience": (1, 1e6, True),
    "drop_unused": (1, 1e6, True),
    "tol": (0, 1e9, False),
    "states_per_sample": (1e-9, 1e6, False),
    "ridge": (1e-6, 1e6, False),  # with less, the single-precision Gram matrices may be singular
    "alpha": (0, 1, False),
    "unknown": (0, 1, False),
}
MAY_BE_NONE = {"patience", "drop_unused"}
WHY_BELOW_1 = {
    "alpha": "otherwise no new policy is mixed in",
    "unknown": "otherwise nothing could be acquired in training",
}
FLAGS = ("intercept", "nonzero")
CHOICES = {
    "acquisitions": ("linear", "trees"),
    "answers": ("linear", "logistic"),
    "states": ("uniform", "policy", "both"),
    "mixture": ("decision", "trajectory"),
    "start": ("uniform", "answer"),
    "select": ("best", "last"),
    "uninformative": ("drop", "keep"),
}


def check_rcpi_parameters(agent: Any) -> None:
    """Raise ValueError or TypeError in one sentence unless the parameters, attributes of ``agent``, are valid."""
    for name, (low, high, whole) in RANGES.items():
        value = getattr(agent, name)
        if value is not None or name not in MAY_BE_NONE:
            check_range(value, name, low, high, whole)
        if name in WHY_BELOW_1 and value == 1:
            raise ValueError(f"{name} must be below 1, {WHY_BELOW_1[name]}")
    for name in FLAGS:
        if not isinstance(getattr(agent, name), bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {brief(getattr(agent, name))}")
    for name, choices in CHOICES.items():
        check_choice(getattr(agent, name), name, *choices)
    if agent.drop_unused is not None and agent.drop_unused >= agent.n_iterations:
        raise ValueError(
            f"drop_unused must be less than n_iterations={agent.n_iterations}, otherwise nothing is dropped in time, "
            f"got {agent.drop_unused}"
        )
    check_n_jobs(agent.n_jobs)
    check_random_state(agent.random_state)


def check_range(value: Any, name: str, low: float, high: float, whole: bool = False) -> None:
    """Raise ValueError unless ``value`` is a number from ``low`` to ``high``, and a whole one if ``whole``."""
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{name} must be {kind} from {low:g} to {high:g}, got {brief(value)}")
