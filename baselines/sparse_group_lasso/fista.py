"""A fixed number of accelerated proximal gradient steps from zero, as in the software behind published tables.

This is ``solver="fista"``, for comparison with the tables of Xie and Xu (2013).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from baselines.sparse_group_lasso.penalty import Penalty
from fsgym.support.threads import one_blas_thread

MAX_DENSE_SIDE = 200  # rows or columns, the smaller number; up to it, the norm is computed from all eigenvalues


def squared_norm(X: NDArray[np.float64]) -> float:
    """Return the largest eigenvalue of X'X."""
    rows = X if X.shape[0] <= X.shape[1] else X.T
    m = rows.shape[0]
    if m <= MAX_DENSE_SIDE:
        return float(np.linalg.eigvalsh(rows @ rows.T)[-1])
    operator = LinearOperator((m, m), matvec=lambda v: rows @ (rows.T @ v), dtype=np.float64)  # pyright: ignore
    start = np.random.default_rng(0).normal(size=m)
    return float(eigsh(operator, k=1, v0=start, tol=1e-10, return_eigenvectors=False)[0])


def run_fista(
    X: NDArray[np.float64], y: NDArray[np.float64], penalties: Sequence[Penalty], n_steps: int
) -> NDArray[np.float64]:
    """Take ``n_steps`` steps of FISTA (Beck and Teboulle, 2009, eq. 4.1 to 4.3) at each of several penalties.

    They start from zero, with step size 1 / |X|_2^2 and without restarts. All penalties share one product with ``X``
    per step. Return the weights, float64 (n_penalties, n_features).
    """
    with one_blas_thread():
        return _fista_steps(X, y, penalties, n_steps, squared_norm(X))


def _fista_steps(X: NDArray, y: NDArray, penalties: Sequence[Penalty], n_steps: int, L: float) -> NDArray[np.float64]:
    w = ahead = np.zeros((len(penalties), X.shape[1]))
    if L == 0:
        return w
    momentum = 1.0
    for _ in range(n_steps):
        stepped = ahead - ((ahead @ X.T - y) @ X) / L
        previous, w = w, np.stack([penalty.prox(u, 1.0 / L) for penalty, u in zip(penalties, stepped)])
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = w + (momentum - 1.0) / following * (w - previous)
        momentum = following
    return w


def duality_gap(X: NDArray[np.float64], y: NDArray[np.float64], penalty: Penalty, w: NDArray[np.float64]) -> float:
    """Return an upper bound on how far the objective at ``w`` is above its minimum."""
    r = y - X @ w
    norm, squared = penalty.dual_norm(X.T @ r), float(r @ r)
    c = float(y @ r) / squared if squared > 0 else 0.0
    c = min(max(c, -1.0 / norm), 1.0 / norm) if norm > 0 else c
    return max(0.5 * squared + penalty.value(w) - c * float(y @ r) + 0.5 * c * c * squared, 0.0)
