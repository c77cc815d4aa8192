"""Multinomial logistic regression with a ridge penalty, for several weightings of the rows of one table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax, xlogy

MAX_ITERATIONS_NEWTON = 50
MAX_HALVINGS = 12  # of a Newton step that does not decrease the objective
GRADIENT_TOLERANCE = 1e-6  # largest entry of the gradient of the summed log-loss, per unit of total weight
INTERCEPT_RIDGE = 1e-6  # it bounds the intercepts if a weighting has no row of a class
MAX_SCORE = 700.0  # exp of larger log-odds overflows


def fit_ridge_logistic(
    Z: NDArray[np.float64],
    codes: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.float64],
    C: float,
    start: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Coefficients that minimise the weighted sum of log-losses plus the squared coefficients over ``2 C``.

    Newton's method, with halved steps where the objective would increase. With two classes there is one
    vector of coefficients, as in scikit-learn's ``LogisticRegression``; with more, one for each class.

    Parameters
    ----------
    Z : float64 (n_samples, n_columns), centred and scaled
    codes : int64 (n_samples,), class codes
    n_classes : int
    weights : float64 (n_fits, n_samples), the weights of the rows in each of the fits
    C : float, inverse strength of the penalty, which leaves the intercepts almost free
    start : float64 (n_fits, n_columns + 1, n_outputs), optional
        Where to start, 0 by default. Coefficients without one column take half of the steps.

    Returns
    -------
    float64 (n_fits, n_columns + 1, n_outputs)
        The last entry of each vector is the intercept; one output with two classes, else ``n_classes``.
    """
    A = np.column_stack([Z, np.ones(len(Z))])
    targets = (codes[:, None] == np.arange(n_classes)).astype(np.float64)
    targets = targets[:, 1:] if n_classes == 2 else targets
    ridge = np.full((A.shape[1], 1), 1.0 / C)
    ridge[-1] = INTERCEPT_RIDGE
    coefs = np.zeros((len(weights), A.shape[1], targets.shape[1])) if start is None else start.copy()
    limits = GRADIENT_TOLERANCE * np.maximum(weights.sum(axis=1), 1.0)
    active = np.arange(len(weights))
    scores = A @ coefs
    values = _objectives(scores, targets, weights, ridge, coefs)
    for _ in range(MAX_ITERATIONS_NEWTON):
        shares = _output_shares(scores[active])
        gradient = A.T @ (weights[active][:, :, None] * (shares - targets)) + ridge * coefs[active]
        unfinished = np.abs(gradient).max(axis=(1, 2)) > limits[active]
        active = active[unfinished]
        if not len(active):
            break
        flat = gradient[unfinished].transpose(0, 2, 1).reshape(len(active), -1, 1)
        steps = np.linalg.solve(_hessians(A, shares[unfinished], weights[active], ridge), flat)
        steps = steps.reshape(len(active), -1, A.shape[1]).transpose(0, 2, 1)
        active = active[_descend(coefs, scores, values, active, steps, (A, targets, weights, ridge))]
    return coefs


def _descend(
    coefs: NDArray, scores: NDArray, values: NDArray, active: NDArray, steps: NDArray, problem: tuple
) -> NDArray[np.bool_]:
    """Subtract each step, halved until the objective decreases; return which fits made progress."""
    A, targets, weights, ridge = problem
    size, improved = np.ones(len(active)), np.zeros(len(active), dtype=bool)
    for _ in range(MAX_HALVINGS):
        rest = np.flatnonzero(~improved)
        if not len(rest):
            break
        fits = active[rest]
        trial = coefs[fits] - size[rest, None, None] * steps[rest]
        trial_scores = A @ trial
        value = _objectives(trial_scores, targets, weights[fits], ridge, trial)
        better = value < values[fits]
        found = fits[better]
        coefs[found], scores[found], values[found] = trial[better], trial_scores[better], value[better]
        improved[rest[better]] = True
        size[rest] /= 2.0
    return improved


def _output_shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of the outputs, of the shape of ``scores`` (..., n_outputs)."""
    return expit(scores) if scores.shape[-1] == 1 else softmax(scores, axis=-1)


def _objectives(
    scores: NDArray, targets: NDArray, weights: NDArray, ridge: NDArray, coefs: NDArray
) -> NDArray[np.float64]:
    if targets.shape[1] == 1:
        losses = np.logaddexp(0.0, scores[..., 0]) - targets[:, 0] * scores[..., 0]
    else:
        top = scores.max(axis=-1)
        losses = top + np.log(np.exp(scores - top[..., None]).sum(axis=-1)) - (targets * scores).sum(axis=-1)
    return (weights * losses).sum(axis=1) + 0.5 * (ridge * coefs**2).sum(axis=(1, 2))


def _hessians(A: NDArray, shares: NDArray, weights: NDArray, ridge: NDArray) -> NDArray[np.float64]:
    """Hessians of the objectives, (n_fits, n_outputs * n_columns, n_outputs * n_columns)."""
    n_fits, n_samples, n_outputs = shares.shape
    p = A.shape[1]
    if n_outputs == 1:
        curvature = weights * shares[..., 0] * (1.0 - shares[..., 0])
        hessians = A.T @ (curvature[:, :, None] * A)
    else:  # of the log of the sum of exponentials: diag(shares) - shares shares', for each pair of columns
        products = (shares[..., None] * A[:, None, :]).reshape(n_fits, n_samples, -1)
        hessians = -products.transpose(0, 2, 1) @ (weights[:, :, None] * products)
        for k in range(n_outputs):
            block = slice(k * p, (k + 1) * p)
            hessians[:, block, block] += A.T @ ((weights * shares[..., k])[:, :, None] * A)
    diagonal = np.arange(n_outputs * p)
    hessians[:, diagonal, diagonal] += np.tile(ridge[:, 0], n_outputs)
    return hessians


def ridge_proba(Z: NDArray[np.float64], coefs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Class probabilities (n_samples, n_classes) from coefficients (n_columns + 1, n_outputs)."""
    scores = (Z @ coefs[:-1] + coefs[-1]).clip(-MAX_SCORE, MAX_SCORE)
    shares = _output_shares(scores)
    return np.column_stack([expit(-scores[:, 0]), shares]) if shares.shape[1] == 1 else shares


def mean_cross_entropy(shares: NDArray[np.float64], codes: NDArray[np.int64]) -> float:
    """Mean of minus the logarithm of the probability of the true class, in nats; probabilities are at least 1e-15."""
    return -float(xlogy(1.0, shares[np.arange(len(codes)), codes].clip(1e-15)).mean())
