"""Small problems of the sparse group LASSO, and measures of a solution."""

from __future__ import annotations

import numpy as np

from baselines import SparseGroupLasso
from baselines.sparse_group_lasso.groups import make_groups
from baselines.sparse_group_lasso.penalty import Penalty

X8 = np.array([
    [1, 2, 0, -1, 0.5, 1], [0, 1, -1, 2, 1, 0], [2, -1, 1, 0, 0, 1.5], [-1, 0, 2, 1, -1, 0],
    [1, 1, 1, -2, 2, -1], [0.5, -2, 0, 1, 0, 2], [-2, 1, 0.5, 0, 1, 1], [1, 0, -1.5, 1, 0, -1],
])  # fmt: skip
Y8 = np.array([1, -1, 1, 1, 1, -1, -1, -1.0])


def objective(model: SparseGroupLasso, X, y) -> float:
    groups = make_groups(model.groups, model.group_weights, X.shape[1])
    return 0.5 * np.sum((y - model.predict(X)) ** 2) + Penalty(model.lam1, model.lam2, groups).value(model.coef_)


def subdifferential_distance(penalty: Penalty, w: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the distance of ``-slope`` to the subdifferential of the penalty at ``w``, one per group, (n_groups,).

    If ``slope`` is the gradient of the loss, X'(Xw - y), all distances are 0 if and only if ``w`` is a solution.
    """
    groups, lam1 = penalty.groups, penalty.lam1
    places, pull = w[groups.order], -slope[groups.order]
    norms, cut = np.sqrt(groups.sums(places**2)), penalty.lam2 * groups.weights
    direction = np.divide(places, np.repeat(norms, groups.sizes), out=np.zeros_like(places), where=places != 0)
    excess = pull - np.repeat(cut, groups.sizes) * direction
    soft = np.sign(excess) * np.maximum(np.abs(excess) - lam1, 0.0)
    inside = np.sqrt(groups.sums(np.where(places != 0, excess - lam1 * np.sign(places), soft) ** 2))
    return np.where(norms > 0, inside, np.maximum(inside - cut, 0.0))


def distances(X, y, w, b, penalty: Penalty) -> np.ndarray:
    """Return ``subdifferential_distance`` with the gradient of the loss at (w, b)."""
    return subdifferential_distance(penalty, w, X.T @ (X @ w + b - y))


def near_copies(n=60, d=12, s=8, seed=0):
    """Columns in groups of noisy copies, like the sub-features of uncertain data: descent is slow on them."""
    rng = np.random.default_rng(seed)
    X = np.repeat(100 * rng.random((n, d)), s, axis=1) + rng.normal(size=(n, d * s))
    return X, np.where(X @ np.repeat(rng.normal(size=d), s) > 0, 1.0, -1.0)
