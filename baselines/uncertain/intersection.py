"""The histogram intersection kernel, its support vector machine, and fast exact predictions without the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from sklearn.svm import SVC
from sklearn.utils import check_array

COLUMNS_PER_PASS = 8  # columns at a time; the loop of ``_intersect`` is unrolled for this number


def intersection_kernel(X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
    """Return K[i, k] = sum_j min(x_ij, y_kj), float64 of shape (n_samples_X, n_samples_Y).

    Values may be negative: with coefficients that add up to zero, such as those of a support vector machine with an
    intercept, the kernel is equivalent to ``-|x - y|_1 / 2``, and shifting a column changes nothing.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_features), finite
    Y : array-like of shape (n_samples_Y, n_features), finite, default=None
        None is ``X``, at half the cost.

    Raises
    ------
    ValueError
        For invalid tables and for different numbers of columns.

    References
    ----------
    Maji, Berg and Malik (2008), Classification using intersection kernel support vector machines is efficient.

    Examples
    --------
    >>> from baselines import intersection_kernel
    >>> intersection_kernel([[1.0, 5.0]], [[2.0, 3.0], [0.0, 9.0]]).tolist()
    [[4.0, 5.0]]
    """
    A = check_array(X, dtype=np.float64)
    B = A if Y is None else check_array(Y, dtype=np.float64)
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"X and Y must have the same number of columns, got {A.shape[1]} and {B.shape[1]}")
    K, extra = np.zeros((len(A), len(B))), -A.shape[1] % COLUMNS_PER_PASS
    _intersect(np.pad(A, ((0, 0), (0, extra))), np.ascontiguousarray(np.pad(B, ((0, 0), (0, extra))).T), K, Y is None)
    if Y is None:
        K = np.tril(K) + np.tril(K, -1).T
    return K


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract", "nnan", "nsz"})
def _intersect(A, BT, K, lower):
    """Add the kernel to ``K``; if ``lower``, only the first i + 1 entries of each row i.

    Eight columns are processed at a time: their rows of ``BT`` and a row of ``K`` stay in the first-level cache. The
    loop over k is vectorised.
    """
    for j in range(0, A.shape[1], COLUMNS_PER_PASS):
        for i in range(A.shape[0]):
            a0, a1, a2, a3 = A[i, j], A[i, j + 1], A[i, j + 2], A[i, j + 3]
            a4, a5, a6, a7 = A[i, j + 4], A[i, j + 5], A[i, j + 6], A[i, j + 7]
            for k in range(i + 1 if lower else BT.shape[1]):
                b0, b1, b2, b3 = BT[j, k], BT[j + 1, k], BT[j + 2, k], BT[j + 3, k]
                b4, b5, b6, b7 = BT[j + 4, k], BT[j + 5, k], BT[j + 6, k], BT[j + 7, k]
                K[i, k] += (
                    ((a0 if a0 < b0 else b0) + (a1 if a1 < b1 else b1))
                    + ((a2 if a2 < b2 else b2) + (a3 if a3 < b3 else b3))
                ) + (
                    ((a4 if a4 < b4 else b4) + (a5 if a5 < b5 else b5))
                    + ((a6 if a6 < b6 else b6) + (a7 if a7 < b7 else b7))
                )


@njit(cache=True, nogil=True, _nrt=False)
def _add_functions(XT, knots, below, above, scores):
    """Add each column's piecewise linear function to ``scores``; its piece is located by branch-free bisection."""
    last = knots.shape[1] - 1
    for j in range(XT.shape[0]):
        for i in range(XT.shape[1]):
            t = min(max(XT[j, i], knots[j, 0]), knots[j, last])
            place, left = 0, last + 1
            while left > 1:
                half = left >> 1
                place += half if knots[j, place + half - 1] <= t else 0
                left -= half
            place += 1 if knots[j, place] <= t else 0
            scores[i] += below[j, place] + t * above[j, place]


class IntersectionMachine(NamedTuple):
    """f(t) = sum_i c_i sum_j min(x_ij, t_j) + b as a sum of one piecewise linear function per column.

    Attributes
    ----------
    knots : ndarray of shape (n_features, n_support), float64
        Values of the support vectors, sorted in each column.
    below : ndarray of shape (n_features, n_support + 1), float64
        The sum of c_i x_ij over the first knots.
    above : ndarray of shape (n_features, n_support + 1), float64
        The sum of c_i over the other knots, the factor of t_j.
    intercept : float
    """

    knots: NDArray[np.float64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    intercept: float

    @classmethod
    def from_support_vectors(cls, support: NDArray, coefs: NDArray, intercept: float) -> IntersectionMachine:
        """Return the machine of support vectors (n_support, n_features), their coefficients c_i (n_support,), and b."""
        order = np.argsort(support.T, axis=1, kind="stable")
        knots = np.take_along_axis(support.T, order, axis=1)
        c = coefs[order]
        zero = np.zeros((len(knots), 1))
        below = np.hstack([zero, np.cumsum(c * knots, axis=1)])
        above = np.hstack([np.cumsum(c[:, ::-1], axis=1)[:, ::-1], zero])
        return cls(knots, below, above, float(intercept))

    @classmethod
    def train(cls, K: NDArray, X: NDArray, target: NDArray, C: float) -> IntersectionMachine:
        """Train on the kernel ``K`` of the rows of ``X`` and a ``target`` of two values; the larger one is positive."""
        machine = SVC(C=C, kernel="precomputed").fit(K, target)
        return cls.from_support_vectors(
            X[machine.support_], np.ravel(machine.dual_coef_), float(np.ravel(machine.intercept_)[0])
        )

    def decision_function(self, X: NDArray) -> NDArray[np.float64]:
        """Return f of each row of ``X`` (n_samples, n_features), float64 (n_samples,).

        Since the c_i add up to zero, f is constant beyond the outermost knots; values are clipped there.
        """
        scores = np.full(len(X), self.intercept)
        if self.knots.shape[1]:
            _add_functions(np.ascontiguousarray(X.T), self.knots, self.below, self.above, scores)
        return scores
