"""The rule by which an any-state policy stops: a linear regression on hinges of numbers of the state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.support.kernels import INNER

# By hand
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the quantiles that are knots of the hinges
SMALL_ERROR = 1e-3  # is added to the expected error cost, in units of the largest error cost, before its logarithm
MAX_ABS_SCORE = 4.0  # standard deviations at which inputs are clipped

# Compiled: the numbers from which a stop rule predicts what going on is worth, and its prediction.

N_STATE_NUMBERS = 6  # before the inputs of the model


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def write_state_numbers(proba, price, inputs, answer_costs, numbers):
    """Write one state's numbers, see ``agents.anystate.stopping.state_numbers``; return its lowest expected cost."""
    unit, floor = 0.0, np.inf
    error, best = np.inf, 0.0
    for a in range(answer_costs.shape[0]):
        best = 0.0
        for k in range(answer_costs.shape[1]):
            best += answer_costs[a, k] * proba[k]
            unit, floor = max(unit, abs(answer_costs[a, k])), min(floor, answer_costs[a, k])
        error = min(error, best)
    unit = unit if unit > 0.0 else 1.0
    excess = (error - floor) / unit
    first, second, entropy = 0.0, 0.0, 0.0
    for k in range(len(proba)):
        p = proba[k]
        first, second = max(first, p), max(second, min(first, p))
        entropy -= p * np.log(max(p, 1e-12))
    numbers[0] = excess
    numbers[1] = np.log(excess + SMALL_ERROR)
    numbers[2] = np.log((excess + SMALL_ERROR) / (price / unit + SMALL_ERROR))
    numbers[3], numbers[4], numbers[5] = first, second, entropy
    for h in range(len(inputs)):
        numbers[N_STATE_NUMBERS + h] = inputs[h]
    return error


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def predict_advantage(centre, scale, knots, theta, numbers):
    """The prediction of a ``StopRule`` for one state."""
    n, n_knots, total = len(numbers), knots.shape[1], theta[0]
    for i in range(n):
        z = min(max((numbers[i] - centre[i]) / scale[i], -MAX_ABS_SCORE), MAX_ABS_SCORE)
        total += theta[1 + i] * z
        for k in range(n_knots):
            total += theta[1 + n + i * n_knots + k] * max(z - knots[i, k], 0.0)
    return total


@njit(cache=True, nogil=True, _nrt=False)
def write_all_state_numbers(proba, price, inputs, answer_costs, numbers):
    """Write the numbers of n states."""
    for i in range(len(proba)):
        write_state_numbers(proba[i], price[i], inputs[i], answer_costs, numbers[i])


@njit(cache=True, nogil=True, _nrt=False)
def write_advantages(centre, scale, knots, theta, numbers, advantage):
    """Write the predictions for n states."""
    for i in range(len(numbers)):
        advantage[i] = predict_advantage(centre, scale, knots, theta, numbers[i])


class StopRule(NamedTuple):
    """A linear regression, on hinges of some numbers, of the loss of going on minus that of answering."""

    # (n_numbers,), the mean and standard deviation of each number
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    knots: NDArray[np.float64]  # (n_numbers, n_knots), in standard deviations
    theta: NDArray[np.float64]  # (n_columns,): intercept, the numbers, their hinges above each knot

    def advantage(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The predicted loss of going on minus that of answering, float64 (n,), in units of the error costs.

        ``numbers``, float64 (n, n_numbers), are those of ``state_numbers``.
        """
        advantage = np.empty(len(numbers))
        write_advantages(*self, numbers, advantage)
        return advantage

    def columns(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The columns of the regression, float64 (n, n_columns)."""
        z = np.clip((numbers - self.centre) / self.scale, -MAX_ABS_SCORE, MAX_ABS_SCORE)
        hinges = np.maximum(z[:, :, None] - self.knots, 0.0).reshape(len(z), -1)
        return np.concatenate([np.ones((len(z), 1)), z, hinges], axis=1)


def check_stop_rule(rule: StopRule, n_numbers: int) -> None:
    """ValueError where the arrays of a rule do not fit each other, or hold numbers that are not finite."""
    n_knots = len(LEVELS)
    shapes = ((n_numbers,), (n_numbers,), (n_numbers, n_knots), (1 + n_numbers * (1 + n_knots),))
    for name, array, shape in zip(StopRule._fields, rule, shapes, strict=True):
        if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
            raise ValueError(f"{name} of the stop rule must be finite float64 of shape {shape}")
    if (rule.scale <= 0).any():
        raise ValueError("scale of the stop rule must be above 0")


def stop_rule_from(arrays: Mapping[str, Any]) -> StopRule:
    """The rule from its arrays by name."""
    return StopRule(**{name: arrays[name] for name in StopRule._fields})
