"""What the methods on LIBLINEAR share: their parameters, and where the first feature is used."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval

from baselines.linear import SparseLinearMixin, scaled_table, signed_targets


class LiblinearMixin(SparseLinearMixin):
    """A sparse linear classifier whose knob is ``C``, and whose intercept is penalised a little."""

    C: float
    intercept_scaling: float
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _settings(self, X: ArrayLike, y: ArrayLike, factors: NDArray, slope: float = 1.0) -> list[dict[str, float]]:
        """``C`` from just below the smallest at which a feature is used, times each of ``factors``.

        ``slope`` is how many times flatter than the squared hinge the loss is where all scores are zero.
        """
        Z, codes = scaled_table(X, y, self._scale)
        first = slope * min(first_C(Z, target, self.intercept_scaling) for target in signed_targets(codes).T)
        return [{"C": float(C)} for C in 0.99 * first * factors] if np.isfinite(first) else [{"C": self.C}]


def first_C(Z: NDArray, target: NDArray, intercept_scaling: float) -> float:
    """The C at which the first coefficient leaves zero under the squared hinge loss, for targets +1 and -1.

    While all coefficients are zero every margin is violated, so the squared hinge loss is quadratic in the
    intercept b = soft(mean(target), 1 / (2 C n s)), s being its scaling, and feature j enters where
    2 C |z_j' (target - b)| = 1. Infinity where no feature ever does.
    """
    n, mean = len(target), target.mean()
    with np.errstate(divide="ignore"):
        without_b = 0.5 / np.abs(Z.T @ target).max()
        b_enters = 0.5 / (n * intercept_scaling * abs(mean))
        if without_b <= b_enters:
            return float(without_b)
        slope = Z.T @ (target - mean)
        pull = np.sign(slope) * np.sign(mean) * Z.mean(axis=0) / intercept_scaling
        candidates = np.maximum(1.0 - pull, 0.0) / (2.0 * np.abs(slope))
    return float(max(candidates.min(), b_enters))
