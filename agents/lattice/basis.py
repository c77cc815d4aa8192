"""Columns and bins of the raw values: z-scores and hinges at the quartiles for regressions, bins for trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice.constants import COLUMNS_PER_FEATURE, MAX_ABS_COLUMN, MIN_STD, QUARTILES
from fsgym.trees.boosting import MOST_BINS


class Basis(NamedTuple):
    """Statistics of the training values that define columns and bins; a missing value counts as the mean.

    Attributes
    ----------
    mean : float64 (n_features,)
    inverse_std : float64 (n_features,), 0 for a constant feature
    knots : float64 (n_features, 4), z-scores at which the hinges begin, 0 for the z-score itself
    column_mean : float64 (n_features, 4)
    inverse_column_std : float64 (n_features, 4), 0 for a column that is constant or repeats the z-score
    thresholds : float64 (n_features, 23), ascending, then infinity; bin k is above k of them
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


def fit_basis(X: NDArray[np.float32]) -> Basis:
    """Fit the basis to the values ``X`` (n_samples, n_features), NaN where missing."""
    n = X.shape[1]
    basis = Basis(
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, COLUMNS_PER_FEATURE)),
        np.zeros((n, COLUMNS_PER_FEATURE)),
        np.zeros((n, COLUMNS_PER_FEATURE)),
        np.full((n, MOST_BINS - 1), np.inf),
    )
    for i in range(n):
        x = X[:, i].astype(np.float64)
        x = x[~np.isnan(x)]
        values = np.unique(x)
        if len(values) < 2:
            basis.mean[i] = x[0] if len(x) else 0.0
            continue
        basis.mean[i], basis.inverse_std[i] = x.mean(), 1.0 / x.std()
        z = (x - basis.mean[i]) * basis.inverse_std[i]
        basis.knots[i, 1:] = np.quantile(z, QUARTILES)
        for k in range(COLUMNS_PER_FEATURE if len(values) > 2 else 1):
            column = z if k == 0 else np.maximum(z - basis.knots[i, k], 0.0)
            basis.column_mean[i, k], basis.inverse_column_std[i, k] = column.mean(), _inverse(column.std())
        middles = values[:-1] + 0.5 * np.diff(values)
        if len(values) > MOST_BINS:
            cuts = np.quantile(x, np.arange(1, MOST_BINS) / MOST_BINS)
            middles = np.unique(middles[np.searchsorted(middles, cuts).clip(max=len(middles) - 1)])
        basis.thresholds[i, : len(middles)] = middles
    return basis


def _inverse(std: float) -> float:
    return 1.0 / std if std > MIN_STD else 0.0


def columns_and_bins(basis: Basis, X: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Columns, float64 (n_samples, n_features, 4), and bins, uint8 (n_features, n_samples)."""
    columns, codes = np.empty((*X.shape, COLUMNS_PER_FEATURE)), np.empty(X.shape[::-1], np.uint8)
    _write_columns_and_bins(basis, X, columns, codes)
    return columns, codes


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
def _write_columns_and_bins(basis, X, columns, codes):
    for row in range(X.shape[0]):
        for i in range(X.shape[1]):
            write_columns(basis, i, X[row, i], columns[row, i])
            codes[i, row] = bin_of(basis, i, X[row, i])
