"""The rule by which an any-state policy stops: a linear regression on hinges of numbers of the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.anystate import constants as const
from agents.anystate.stop_kernels import write_advantages


class StopRule(NamedTuple):
    """A linear regression, on hinges of some numbers, of the loss of going on minus that of answering.

    Attributes
    ----------
    centre, scale : float64 (n_numbers,), the mean and standard deviation of each number
    knots : float64 (n_numbers, n_knots), in standard deviations
    theta : float64 (n_columns,): intercept, the numbers, their hinges above each knot
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    knots: NDArray[np.float64]
    theta: NDArray[np.float64]

    def advantage(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The predicted loss of going on minus that of answering, float64 (n,), in units of the error costs.

        ``numbers``, float64 (n, n_numbers), are those of ``state_numbers``.
        """
        advantage = np.empty(len(numbers))
        write_advantages(*self, numbers, advantage)
        return advantage

    def columns(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The columns of the regression, float64 (n, n_columns)."""
        z = np.clip((numbers - self.centre) / self.scale, -const.MAX_ABS_SCORE, const.MAX_ABS_SCORE)
        hinges = np.maximum(z[:, :, None] - self.knots, 0.0).reshape(len(z), -1)
        return np.concatenate([np.ones((len(z), 1)), z, hinges], axis=1)


def check_stop_rule(rule: StopRule, n_numbers: int) -> None:
    """ValueError where the arrays of a rule do not fit each other, or hold numbers that are not finite."""
    n_knots = len(const.LEVELS)
    shapes = ((n_numbers,), (n_numbers,), (n_numbers, n_knots), (1 + n_numbers * (1 + n_knots),))
    for name, array, shape in zip(StopRule._fields, rule, shapes, strict=True):
        if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            raise ValueError(f"{name} of the stop rule must be finite float64 of shape {shape}")
    if (rule.scale <= 0).any():
        raise ValueError("scale of the stop rule must be above 0")


def stop_rule_from(arrays: Mapping[str, Any]) -> StopRule:
    """The rule from its arrays by name."""
    return StopRule(**{name: arrays[name] for name in StopRule._fields})
