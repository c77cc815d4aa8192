"""Multinomial logistic regression, the same columns with several weightings of the rows at once."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

ITERATIONS = 30


def fit_logistic(H: NDArray, Y: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """Coefficients, float64 (n_models, 1 + n_columns, n_classes), the intercepts first.

    Bohning's (1992) bound on the curvature, one Cholesky factor a model, and Nesterov's (1983) momentum, taken back
    where the objective's slope says so (O'Donoghue and Candes, 2015). The ridge is 1 on each column (2 classes: on
    the difference of their coefficients), .3 with more classes, none on the intercept.

    Parameters
    ----------
    H : float64 (n_samples, n_columns), about standardised
    Y : float64 (n_samples, n_classes), one-hot
    weights : float64 (n_models, n_samples), >= 0
    """
    n_models, two = len(weights), Y.shape[1] == 2
    if two:  # the difference of the coefficients, half of it for the second class
        Y = np.ascontiguousarray(Y[:, 1:])
    A = np.column_stack([np.ones(len(H)), H])
    p, n_outputs = A.shape[1], Y.shape[1]
    ridge = np.full(p, 1.0 if two else 0.3)
    ridge[0] = 5e-4 if two else 1e-3
    bound = np.stack([(0.25 if two else 0.5) * (A.T * w) @ A for w in weights])
    bound[:, np.arange(p), np.arange(p)] += ridge
    inverse = np.linalg.inv(bound)
    theta = np.zeros((n_models, p, n_outputs))
    ahead, momentum = theta, np.ones(n_models)
    for _ in range(ITERATIONS):
        residual = A @ ahead.transpose(1, 0, 2).reshape(p, -1)
        (_residual_of_two if two else _residual)(residual, Y, weights)
        slope = (A.T @ residual).reshape(p, n_models, n_outputs).transpose(1, 0, 2) - ridge[:, None] * ahead
        new = ahead + inverse @ slope
        step = new - theta
        momentum = np.where((slope * step).sum(axis=(1, 2)) < 0, 1.0, momentum)
        following = 0.5 + np.sqrt(0.25 + momentum**2)
        ahead = new + ((momentum - 1) / following)[:, None, None] * step
        theta, momentum = new, following
    return np.concatenate([-0.5 * theta, 0.5 * theta], axis=2) if two else theta


@njit(cache=True, nogil=True, _nrt=False)
def _residual(scores, Y, weights):
    """Replace scores (n_samples, n_models * n_classes) by what is weighted and not yet explained."""
    n_classes = Y.shape[1]
    for i in range(len(scores)):
        for m in range(len(weights)):
            first = m * n_classes
            top, total = scores[i, first], 0.0
            for k in range(first + 1, first + n_classes):
                top = max(top, scores[i, k])
            for k in range(first, first + n_classes):
                scores[i, k] = np.exp(scores[i, k] - top) if scores[i, k] < top else 1.0
                total += scores[i, k]
            for k in range(n_classes):
                scores[i, first + k] = weights[m, i] * (Y[i, k] - scores[i, first + k] / total)


@njit(cache=True, nogil=True, _nrt=False)
def _residual_of_two(scores, Y, weights):
    """Replace log-odds (n_samples, n_models) by what is weighted and not yet explained."""
    for i in range(len(scores)):
        for m in range(len(weights)):
            scores[i, m] = weights[m, i] * (Y[i, 0] - 1.0 / (1.0 + np.exp(-scores[i, m])))
