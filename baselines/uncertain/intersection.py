"""The histogram intersection kernel, its support vector machine, and fast exact predictions without the kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    K = np.zeros((len(A), len(B)))
    _add_columns(K, A.T, B.T, 1.0, Y is None)
    return _mirror(K) if Y is None else K


def selection_kernels(
    X: NDArray[np.float64], X_test: NDArray[np.float64], masks: Iterable[NDArray[np.bool_]]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield the kernels of several selections of columns, each computed from that of a similar selection.

    The kernel is a sum over columns. The columns that a selection has more than the most similar one before it are
    added to that one's kernel, and those that it has less are subtracted; the first one begins from zero. The results
    equal ``intersection_kernel`` up to rounding. The total cost is lowest if the masks ascend in size.

    Parameters
    ----------
    X, X_test : ndarray of shape (n_samples, n_features) and (n_test, n_features)
    masks : iterable of ndarray of shape (n_features,), bool
        The selected columns.

    Yields
    ------
    K : ndarray of shape (n_samples, n_samples), float64
        The kernel of the rows of ``X``.
    K_test : ndarray of shape (n_test, n_samples), float64
        The kernel between the rows of ``X_test`` and those of ``X``.
    """
    n, columns = len(X), np.hstack([X.T, X_test.T])
    known = [(np.zeros(len(columns), bool), np.zeros((columns.shape[1], n)))]
    for mask in masks:
        base, sums = min(known, key=lambda selection: np.count_nonzero(selection[0] != mask))
        sums = sums.copy()  # the upper triangle stays zero
        for differing, sign in ((columns[mask & ~base], 1.0), (columns[base & ~mask], -1.0)):
            _add_columns(sums, differing, differing[:, :n], sign, True)
        known.append((mask, sums))
        yield _mirror(sums[:n]), sums[n:]


def _mirror(K: NDArray) -> NDArray[np.float64]:
    """Return the symmetric matrix whose lower triangle is that of ``K``; the upper triangle of ``K`` is zero."""
    full = K + K.T
    np.fill_diagonal(full, np.diagonal(K))
    return full


def _add_columns(K: NDArray, AT: NDArray, BT: NDArray, sign: float, lower: bool) -> None:
    """Add ``sign`` times the kernel of the transposed tables, (n_features, n_samples), to ``K``."""
    padding = ((0, -len(AT) % COLUMNS_PER_PASS), (0, 0))
    A, BT = np.ascontiguousarray(np.pad(AT, padding).T), np.ascontiguousarray(np.pad(BT, padding))
    _intersect(A, BT, K, sign, lower)


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract", "nnan", "nsz"})
def _intersect(A, BT, K, sign, lower):
    """Add ``sign`` times the kernel to ``K``; if ``lower``, only to the first i + 1 entries of each row i.

    Eight columns are processed at a time: their rows of ``BT`` and a row of ``K`` stay in the first-level cache. The
    loop over k is vectorised.
    """
    for j in range(0, A.shape[1], COLUMNS_PER_PASS):
        for i in range(A.shape[0]):
            a0, a1, a2, a3 = A[i, j], A[i, j + 1], A[i, j + 2], A[i, j + 3]
            a4, a5, a6, a7 = A[i, j + 4], A[i, j + 5], A[i, j + 6], A[i, j + 7]
            for k in range(min(i + 1, K.shape[1]) if lower else K.shape[1]):
                b0, b1, b2, b3 = BT[j, k], BT[j + 1, k], BT[j + 2, k], BT[j + 3, k]
                b4, b5, b6, b7 = BT[j + 4, k], BT[j + 5, k], BT[j + 6, k], BT[j + 7, k]
                K[i, k] += sign * (
                    ((a0 if a0 < b0 else b0) + (a1 if a1 < b1 else b1))
                    + ((a2 if a2 < b2 else b2) + (a3 if a3 < b3 else b3))
                    + (
                        ((a4 if a4 < b4 else b4) + (a5 if a5 < b5 else b5))
                        + ((a6 if a6 < b6 else b6) + (a7 if a7 < b7 else b7))
                    )
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
    """f(t) = sum_i c_i sum_j min(x_ij, t_j) + b as a sum of one piecewise linear function per column."""

    knots: NDArray[np.float64]  # (n_features, n_support), values of the support vectors, sorted in each column
    below: NDArray[np.float64]  # (n_features, n_support + 1), the sum of c_i x_ij over the first knots
    above: NDArray[np.float64]  # (n_features, n_support + 1), the sum of c_i over the other knots, the factor of t_j
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
