"""Columns and bins of the raw values: z-scores and hinges at the quartiles for regressions, bins for trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice.constants import COLUMNS_PER_FEATURE, MAX_ABS_COLUMN, MIN_STD, QUARTILES
from fsgym.support.arrays import read_only


class Basis(NamedTuple):
    """Statistics of the training values that define columns and bins; a missing value counts as the mean.

    Attributes
    ----------
    mean : float64 (n_features,)
    inverse_std : float64 (n_features,), 0 for a constant feature
    knots : float64 (n_features, 4), z-scores at which the hinges begin, 0 for the z-score itself
    column_mean : float64 (n_features, 4)
    inverse_column_std : float64 (n_features, 4), 0 for a column that is constant or repeats the z-score
    thresholds : float64 (n_features, most_bins - 1), ascending, then infinity; bin k is above k of them
    """

    mean: NDArray[np.float64]
    inverse_std: NDArray[np.float64]
    knots: NDArray[np.float64]
    column_mean: NDArray[np.float64]
    inverse_column_std: NDArray[np.float64]
    thresholds: NDArray[np.float64]

    @property
    def n_bins(self) -> NDArray[np.int64]:
        """Number of bins of each feature, int64 (n_features,)."""
        return np.isfinite(self.thresholds).sum(axis=1) + 1


def fit_basis(X: NDArray[np.float32], most_bins: int, cuts: list[NDArray[np.float64]] | None = None) -> Basis:
    """Fit the basis to the values ``X`` (n_samples, n_features), NaN where missing.

    Each distinct value has a bin of its own where there are at most ``most_bins``, otherwise bins hold equal shares,
    and are divided at ``cuts`` of each feature, fewer than ``most_bins / 2``.
    """
    n = X.shape[1]
    basis = Basis(
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, COLUMNS_PER_FEATURE)),
        np.zeros((n, COLUMNS_PER_FEATURE)),
        np.zeros((n, COLUMNS_PER_FEATURE)),
        np.full((n, most_bins - 1), np.inf),
    )
    for i in range(n):
        x = np.sort(X[:, i].astype(np.float64))
        x = x[: len(x) - np.count_nonzero(np.isnan(x))]
        if not len(x) or x[0] == x[-1]:
            basis.mean[i] = x[0] if len(x) else 0.0
            continue
        values = x[np.append(True, x[1:] != x[:-1])]
        basis.mean[i], basis.inverse_std[i] = x.mean(), 1.0 / x.std()
        z = (x - basis.mean[i]) * basis.inverse_std[i]
        basis.knots[i, 1:] = np.quantile(z, QUARTILES)
        for k in range(COLUMNS_PER_FEATURE if len(values) > 2 else 1):
            column = z if k == 0 else np.maximum(z - basis.knots[i, k], 0.0)
            basis.column_mean[i, k], basis.inverse_column_std[i, k] = column.mean(), _inverse(column.std())
        middles = values[:-1] + 0.5 * np.diff(values)
        if len(values) > most_bins:
            known = np.zeros(0) if cuts is None else cuts[i]
            n_shares = most_bins - len(known)
            ends = np.append(np.quantile(x, np.arange(1, n_shares) / n_shares), known)
            middles = np.unique(middles[np.searchsorted(middles, ends).clip(max=len(middles) - 1)])
        basis.thresholds[i, : len(middles)] = middles
    return basis


def _inverse(std: float) -> float:
    return 1.0 / std if std > MIN_STD else 0.0


def columns_of(basis: Basis, X: NDArray[np.float32], features: NDArray[np.int64]) -> NDArray[np.float64]:
    """Columns of some features, float64 (n_samples, len(features), 4)."""
    columns = np.empty((len(X), len(features), COLUMNS_PER_FEATURE))
    _write_columns(basis, read_only(X), features, columns)
    return columns


def bins_of(basis: Basis, X: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Bins of all features, uint8 (n_features, n_samples)."""
    codes = np.empty(X.shape[::-1], np.uint8)
    _write_bins(basis, read_only(X), codes)
    return codes


def mean_columns_of_bins(basis: Basis, X: NDArray[np.float32], codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The mean columns of the rows in each bin, float32 (n_features, n_bins, 4), 0 in empty bins."""
    means = np.zeros((len(codes), int(codes.max(initial=0)) + 1, COLUMNS_PER_FEATURE), np.float32)
    _average_columns(basis, read_only(X), codes, means)
    return means


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def write_columns(basis, i, x, out):
    """Write the four columns of feature i with the value x; ``basis`` is a ``Basis`` or a record with its fields."""
    z = 0.0 if np.isnan(x) else (np.float64(x) - basis.mean[i]) * basis.inverse_std[i]
    for k in range(COLUMNS_PER_FEATURE):
        column = z if k == 0 else max(z - basis.knots[i, k], 0.0)
        column = (column - basis.column_mean[i, k]) * basis.inverse_column_std[i, k]
        out[k] = min(max(column, -MAX_ABS_COLUMN), MAX_ABS_COLUMN)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def bin_of(basis, i, x):
    """The bin of the value x of feature i; ``basis`` as for ``write_columns``."""
    value = basis.mean[i] if np.isnan(x) else np.float64(x)
    low, high = 0, basis.thresholds.shape[1]
    while low < high:
        middle = (low + high) // 2
        if basis.thresholds[i, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True, _nrt=False)
def _write_columns(basis, X, features, columns):
    for row in range(len(X)):
        for f in range(len(features)):
            write_columns(basis, features[f], X[row, features[f]], columns[row, f])


@njit(cache=True, nogil=True, _nrt=False)
def _write_bins(basis, X, codes):
    for row in range(X.shape[0]):
        for i in range(X.shape[1]):
            codes[i, row] = bin_of(basis, i, X[row, i])


@njit(cache=True, nogil=True)
def _average_columns(basis, X, codes, means):
    total, count, column = np.empty(means.shape[1:]), np.empty(means.shape[1]), np.empty(means.shape[2])
    for i in range(len(codes)):
        total[:], count[:] = 0.0, 0.0
        for row in range(len(X)):
            b = codes[i, row]
            write_columns(basis, i, X[row, i], column)
            count[b] += 1.0
            for h in range(len(column)):
                total[b, h] += column[h]
        for b in range(len(count)):
            for h in range(len(column)):
                means[i, b, h] = total[b, h] / max(count[b], 1.0)
