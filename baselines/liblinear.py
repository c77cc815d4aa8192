"""Shared by the methods on LIBLINEAR: their parameters, and the C at which the first feature is used."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baselines.base import SparseLinearMixin, correlations, scaled_table, signed_targets
from fsgym.sklearn_private import Interval


class LiblinearMixin(SparseLinearMixin):
    """A sparse linear classifier with the sparsity parameter ``C`` and a slightly penalised intercept."""

    C: float
    intercept_scaling: float
    fit_intercept: bool = True
    empty_setting: ClassVar[dict[str, float]] = {"C": 1e-9}  # no feature is used, on any rows
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _settings(self, X: ArrayLike, y: ArrayLike, factors: NDArray, slope: float = 1.0) -> list[dict[str, float]]:
        """Return settings of ``C``: just below the smallest at which a feature is used, times each of ``factors``.

        ``slope`` is the slope of the squared hinge loss at a score of zero, divided by that of the loss.
        """
        Z, codes = scaled_table(X, y, self._fit_scaling)
        intercept_scaling = self.intercept_scaling if self.fit_intercept else 0.0
        first = slope * min(first_C(Z, target, intercept_scaling) for target in signed_targets(codes).T)
        return [{"C": float(C)} for C in 0.99 * first * factors] if np.isfinite(first) else [{"C": self.C}]


def first_C(Z: NDArray, target: NDArray, intercept_scaling: float) -> float:
    """Return the C at which the first coefficient becomes nonzero, for the squared hinge loss and targets +1, -1.

    While all coefficients are zero, every margin is violated and the squared hinge loss is quadratic. The intercept is
    then b = soft(mean(target), 1 / (2 C n s)), where s is its scaling, and feature j enters where
    2 C |z_j' (target - b)| = 1. The result is infinity if no feature ever enters. A
    scaling of 0 means that there is no intercept.
    """
    n, mean = len(target), target.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        without_b = 0.5 / np.abs(correlations(Z, target)).max()
        b_enters = 0.5 / (n * intercept_scaling * abs(mean))
        if without_b <= b_enters:
            return float(without_b)
        slope = correlations(Z, target - mean)
        pull = np.sign(slope) * np.sign(mean) * Z.mean(axis=0) / intercept_scaling
        candidates = np.where(slope != 0, np.maximum(1.0 - pull, 0.0) / (2.0 * np.abs(slope)), np.inf)
    return float(max(candidates.min(), b_enters))
