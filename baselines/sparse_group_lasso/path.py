"""The smallest penalty at which all coefficients are zero, and solutions along a list of penalties."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baselines.base import check_X_y, correlations
from baselines.sparse_group_lasso import kernels
from baselines.sparse_group_lasso.exact import SGLProblem, solve_sgl
from baselines.sparse_group_lasso.groups import make_groups
from baselines.sparse_group_lasso.penalty import Penalty
from fsgym.support.threads import one_blas_thread


class SGLPath(NamedTuple):
    """Solutions along a path."""

    coefs: NDArray[np.float64]  # (n_penalties, n_features)
    intercepts: NDArray[np.float64]  # (n_penalties,)
    dual_gaps: NDArray[np.float64]  # (n_penalties,), in units of the objective
    n_iters: NDArray[np.int64]  # (n_penalties,)


def centred(X: NDArray, y: NDArray, fit_intercept: bool) -> tuple[NDArray, NDArray, NDArray, float]:
    """Return the table and target, centred if there is an intercept, and the means that were subtracted.

    Raises ValueError if the squares of either have no finite sum: the duality gap would be no number.
    """
    means, mean = np.zeros(X.shape[1]), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        if fit_intercept:
            constant = np.ptp(X, axis=0) == 0
            means, mean = np.where(constant, 0.0, X.mean(axis=0)), float(y.mean())
            X, y = np.where(constant, 0.0, X - means), y - mean
        for name, values in (("X", X.ravel("K")), ("y", y)):
            if not np.isfinite(values @ values):
                raise ValueError(
                    f"{name} must have squares whose sum float64 can hold, got larger numbers; use a larger unit"
                )
    return X, y, means, mean


def check_penalties(lam1: Any, lam2: Any) -> tuple[float, float]:
    """Return both as floats; raises ValueError unless both are finite and at least 0, and one is above 0."""
    for name, lam in (("lam1", lam1), ("lam2", lam2)):
        if isinstance(lam, bool) or not isinstance(lam, Real) or not 0 <= float(lam) < np.inf:
            raise ValueError(f"{name} must be a finite number of at least 0, got {lam!r}")
    if lam1 == 0 and lam2 == 0:
        raise ValueError("lam1 and lam2 must not both be 0: least squares has no single solution; raise one of them")
    return float(lam1), float(lam2)


def sgl_path(
    X: ArrayLike,
    y: ArrayLike,
    penalties: Iterable[tuple[float, float]],
    *,
    groups: Any = None,
    group_weights: str | ArrayLike = "ones",
    fit_intercept: bool = False,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> SGLPath:
    """Compute exact sparse group LASSO solutions at each pair of ``penalties``, each started from the previous one.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), finite
    y : array-like of shape (n_samples,), finite
    penalties : iterable of (lam1, lam2)
        Decreasing order is fastest. The two must not both be 0.
    groups, group_weights, fit_intercept, tol, max_iter
        As in ``SparseGroupLasso``.

    Raises
    ------
    ValueError
        For invalid tables, groups that do not partition the columns, and invalid penalties.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines import sgl_lambda_max, sgl_path
    >>> X, y = np.eye(4), np.array([3.0, 2.0, 1.0, 0.0])
    >>> top = sgl_lambda_max(X, y, 2, tau=0.5)
    >>> path = sgl_path(X, y, [(0.5 * share * top, 0.5 * share * top) for share in (1.0, 0.5, 0.1)], groups=2)
    >>> (path.coefs != 0).sum(axis=1).tolist()
    [0, 2, 3]
    """
    table, target = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    layout = make_groups(groups, group_weights, table.shape[1])
    pairs = [check_penalties(*pair) for pair in penalties]
    Z, t, means, mean = centred(table, target.astype(np.float64), fit_intercept)
    problem, w = SGLProblem(Z, t, layout), None
    coefs, gaps, n_iters = np.zeros((len(pairs), table.shape[1])), np.zeros(len(pairs)), np.zeros(len(pairs), np.int64)
    with one_blas_thread():
        for k, (lam1, lam2) in enumerate(pairs):
            w, gaps[k], n_iters[k] = solve_sgl(problem, lam1, lam2, w, tol, max_iter)
            coefs[k, layout.order] = w
    return SGLPath(coefs, mean - coefs @ means, gaps, n_iters)


def sgl_lambda_max(
    X: ArrayLike,
    y: ArrayLike,
    groups: Any = None,
    *,
    tau: float | None = None,
    lam1: float | None = None,
    lam2: float | None = None,
    group_weights: str | ArrayLike = "ones",
    fit_intercept: bool = False,
) -> float:
    """Return the smallest penalty at which every coefficient of the sparse group LASSO is zero.

    Exactly one of ``tau``, ``lam1`` and ``lam2`` must be given. With ``tau`` in [0, 1], the result is the lambda of
    (lam1, lam2) = (tau lambda, (1 - tau) lambda). With ``lam1`` it is the smallest lam2 for this lam1, with ``lam2``
    the smallest lam1 for this lam2.

    Raises ValueError for invalid tables or groups, and unless exactly one of the three is given.

    >>> import numpy as np
    >>> sgl_lambda_max(np.eye(2), np.array([3.0, 4.0]), 2, tau=0.0)
    5.0
    """
    table, target = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    layout = make_groups(groups, group_weights, table.shape[1])
    Z, t, _, _ = centred(table, target.astype(np.float64), fit_intercept)
    z = correlations(Z, t)
    given = [name for name, value in (("tau", tau), ("lam1", lam1), ("lam2", lam2)) if value is not None]
    if len(given) != 1:
        raise ValueError(f"exactly one of tau, lam1 and lam2 must be given, got {' and '.join(given) or 'none'}")
    if tau is not None:
        if not 0 <= tau <= 1:
            raise ValueError(f"tau must lie in [0, 1], got {tau!r}")
        return Penalty(float(tau), 1.0 - float(tau), layout).dual_norm(z)
    places, (fixed, _) = np.ascontiguousarray(z[layout.order]), check_penalties(lam1 if lam1 is not None else lam2, 1.0)
    if lam1 is not None:
        over = np.maximum(np.abs(places) - fixed, 0.0)
        return float((np.sqrt(layout.sums(over**2)) / layout.weights).max())
    buffer = np.empty(int(layout.sizes.max()))
    return float(kernels.entering_lam1(places, layout.first, fixed * layout.weights, buffer))
