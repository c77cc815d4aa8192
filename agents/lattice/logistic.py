"""Multinomial logistic regression: several models fitted together, with the same columns and other row weights."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice.constants import (
    INTERCEPT_RIDGE_BINARY,
    INTERCEPT_RIDGE_MULTICLASS,
    LOGISTIC_ITERATIONS,
    RIDGE_BINARY,
    RIDGE_MULTICLASS,
)


def fit_logistic(H: NDArray, Y: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """Fit one model for each row of ``weights``, by an accelerated gradient method with a fixed bound on the curvature.

    Bohning's (1992) bound on the curvature needs one inverse per model. Nesterov's (1983) momentum is reset where the
    gradient points against the last step (O'Donoghue and Candes, 2015). With two classes one column of coefficients is
    fitted, the difference of the two classes, and each class gets half of it.

    Parameters
    ----------
    H : float64 (n_samples, n_columns), roughly standardised
    Y : float64 (n_samples, n_classes), one-hot
    weights : float64 (n_models, n_samples), >= 0

    Returns
    -------
    float64 (n_models, 1 + n_columns, n_classes)
        Coefficients, the intercepts first. The ridge penalty on the intercepts is negligible.
    """
    n_models, binary = len(weights), Y.shape[1] == 2
    if binary:
        Y = np.ascontiguousarray(Y[:, 1:])
    A = np.column_stack([np.ones(len(H)), H])
    p, n_outputs = A.shape[1], Y.shape[1]
    ridge = np.full(p, RIDGE_BINARY if binary else RIDGE_MULTICLASS)
    ridge[0] = INTERCEPT_RIDGE_BINARY if binary else INTERCEPT_RIDGE_MULTICLASS
    curvature = np.stack([(0.25 if binary else 0.5) * (A.T * w) @ A for w in weights])  # Bohning's bound
    curvature[:, np.arange(p), np.arange(p)] += ridge
    inverse = np.linalg.inv(curvature)
    theta = np.zeros((n_models, p, n_outputs))
    ahead, momentum = theta, np.ones(n_models)
    for _ in range(LOGISTIC_ITERATIONS):
        residual = A @ ahead.transpose(1, 0, 2).reshape(p, -1)
        (_residual_binary if binary else _residual_multiclass)(residual, Y, weights)
        gradient = (A.T @ residual).reshape(p, n_models, n_outputs).transpose(1, 0, 2) - ridge[:, None] * ahead
        new = ahead + inverse @ gradient
        step = new - theta
        momentum = np.where((gradient * step).sum(axis=(1, 2)) < 0, 1.0, momentum)
        next_momentum = 0.5 + np.sqrt(0.25 + momentum**2)
        ahead = new + ((momentum - 1) / next_momentum)[:, None, None] * step
        theta, momentum = new, next_momentum
    return np.concatenate([-0.5 * theta, 0.5 * theta], axis=2) if binary else theta


@njit(cache=True, nogil=True, _nrt=False)
def _residual_multiclass(scores, Y, weights):
    """Replace scores (n_samples, n_models * n_classes) by the weighted residuals, one-hot minus probabilities."""
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
def _residual_binary(scores, Y, weights):
    """Replace log-odds (n_samples, n_models) by the weighted residuals, label minus probability."""
    for i in range(len(scores)):
        for m in range(len(weights)):
            scores[i, m] = weights[m, i] * (Y[i, 0] - 1.0 / (1.0 + np.exp(-scores[i, m])))
