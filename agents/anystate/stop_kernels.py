"""Compiled: the numbers from which a stop rule predicts what going on is worth, and its prediction."""

from __future__ import annotations

import numpy as np
from numba import njit

from agents.anystate.constants import MAX_ABS_SCORE, SMALL_ERROR

N_STATE_NUMBERS = 6  # before the inputs of the model


@njit(cache=True, nogil=True, _nrt=False)
def write_state_numbers(proba, price, inputs, error_costs, numbers):
    """Write one state's numbers, see ``agents.anystate.stopping.state_numbers``; return its lowest expected cost."""
    unit, floor = 0.0, np.inf
    error, best = np.inf, 0.0
    for a in range(error_costs.shape[0]):
        best = 0.0
        for k in range(error_costs.shape[1]):
            best += error_costs[a, k] * proba[k]
            unit, floor = max(unit, abs(error_costs[a, k])), min(floor, error_costs[a, k])
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


@njit(cache=True, nogil=True, _nrt=False)
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
def write_all_state_numbers(proba, price, inputs, error_costs, numbers):
    """Write the numbers of n states."""
    for i in range(len(proba)):
        write_state_numbers(proba[i], price[i], inputs[i], error_costs, numbers[i])


@njit(cache=True, nogil=True, _nrt=False)
def write_advantages(centre, scale, knots, theta, numbers, advantage):
    """Write the predictions for n states."""
    for i in range(len(numbers)):
        advantage[i] = predict_advantage(centre, scale, knots, theta, numbers[i])
