"""What is made of the values before anything is learnt: standard deviations, hinges at the quartiles, bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.trees.boosting import MOST_BINS

HINGES = 4  # columns of a feature: x, (x - q25)+, (x - q50)+, (x - q75)+
FAR = 6.0  # columns are cut off at so many standard deviations


class Basis(NamedTuple):
    """Fitted on the training values; what is missing counts as the mean.

    Attributes
    ----------
    mean, inverse : float64 (n_features,), of the z-scores; ``inverse`` is 0 for a constant
    knots : float64 (n_features, 4), where hinges begin, 0 for x itself
    centre, gain : float64 (n_features, 4), of the columns; ``gain`` is 0 for a column that tells nothing new
    thresholds : float64 (n_features, 23), ascending, then infinity; bin k is above k of them
    """

    mean: NDArray[np.float64]
    inverse: NDArray[np.float64]
    knots: NDArray[np.float64]
    centre: NDArray[np.float64]
    gain: NDArray[np.float64]
    thresholds: NDArray[np.float64]

    @property
    def n_bins(self) -> NDArray[np.int64]:
        """Bins of each feature, int64 (n_features,)."""
        return np.isfinite(self.thresholds).sum(axis=1) + 1


def fit_basis(X: NDArray[np.float32]) -> Basis:
    """The basis of the values ``X`` (n_samples, n_features), NaN where missing."""
    n = X.shape[1]
    basis = Basis(
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, HINGES)),
        np.zeros((n, HINGES)),
        np.zeros((n, HINGES)),
        np.full((n, MOST_BINS - 1), np.inf),
    )
    for i in range(n):
        x = X[:, i].astype(np.float64)
        x = x[~np.isnan(x)]
        values = np.unique(x)
        if len(values) < 2:
            basis.mean[i] = x[0] if len(x) else 0.0
            continue
        basis.mean[i], basis.inverse[i] = x.mean(), _inverse(x.std())
        z = (x - basis.mean[i]) * basis.inverse[i]
        basis.knots[i, 1:] = np.quantile(z, (0.25, 0.5, 0.75))
        for k in range(HINGES if len(values) > 2 else 1):
            column = z if k == 0 else np.maximum(z - basis.knots[i, k], 0.0)
            basis.centre[i, k], basis.gain[i, k] = column.mean(), _inverse(column.std())
        middles = values[:-1] + 0.5 * np.diff(values)
        if len(values) > MOST_BINS:
            cuts = np.quantile(x, np.arange(1, MOST_BINS) / MOST_BINS)
            middles = np.unique(middles[np.searchsorted(middles, cuts).clip(max=len(middles) - 1)])
        basis.thresholds[i, : len(middles)] = middles
    return basis


def _inverse(spread: float) -> float:
    return 1.0 / spread if spread > 1e-12 else 0.0


def columns_of(basis: Basis, X: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Columns, float64 (n_samples, n_features, 4), and bins, uint8 (n_features, n_samples)."""
    columns, codes = np.empty((*X.shape, HINGES)), np.empty(X.shape[::-1], np.uint8)
    _columns_of(basis, X, columns, codes)
    return columns, codes


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def expand(mean, inverse, knots, centre, gain, i, x, out):
    """Write the four columns of feature i where its value is x."""
    z = 0.0 if np.isnan(x) else (np.float64(x) - mean[i]) * inverse[i]
    for k in range(HINGES):
        column = z if k == 0 else max(z - knots[i, k], 0.0)
        out[k] = min(max((column - centre[i, k]) * gain[i, k], -FAR), FAR)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def bin_of(mean, thresholds, i, x):
    """The bin of value x of feature i."""
    value = mean[i] if np.isnan(x) else np.float64(x)
    low, high = 0, thresholds.shape[1]
    while low < high:
        middle = (low + high) // 2
        if thresholds[i, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True, _nrt=False)
def _columns_of(basis, X, columns, codes):
    for row in range(X.shape[0]):
        for i in range(X.shape[1]):
            x = X[row, i]
            expand(basis.mean, basis.inverse, basis.knots, basis.centre, basis.gain, i, x, columns[row, i])
            codes[i, row] = bin_of(basis.mean, basis.thresholds, i, x)
