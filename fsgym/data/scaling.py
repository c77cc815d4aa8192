"""Scaling of features to a common range."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.checks import as_array, check_bounds

MAX_ROUNDING = 2.0**-16  # of a column's range: the most that rounding to float32 may change a value; by hand


def float32_offsets(X: ArrayLike) -> NDArray[np.float64]:
    """What to subtract from each column, in float64, so that float32 resolves it; 0 for all but a few columns.

    The offset of a column is the middle of its range, if rounding to float32 would change a value by more than 1/65,536
    of that range and no longer does once the middle is subtracted. This is so where the middle is over 250 times
    the range, as with a time in seconds since 1970, or a frequency around 1 MHz. Multiplying a column by a power of two
    multiplies its offset by it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite numbers and NaN. Values that were float32 before give 0, since nothing is left to save.

    Returns
    -------
    float64 (n_features,)

    Examples
    --------
    >>> float32_offsets([[1.7e9, 0.1], [1.7e9 + 3, 0.3]]).tolist()
    [1700000001.5, 0.0]
    """
    table = np.asarray(X)
    offsets = np.zeros(table.shape[1])
    if table.dtype.itemsize < 4 or table.dtype == np.float32 or not table.size:
        return offsets
    table = table.astype(np.float64, copy=False)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        low, high = np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)
        width = high - low
        far = np.maximum(-low, high) * np.finfo(np.float32).eps > MAX_ROUNDING * width
        for j in np.flatnonzero(far & (width > 0) & np.isfinite(width)):
            limit, middle = MAX_ROUNDING * width[j], 0.5 * low[j] + 0.5 * high[j]
            if _largest_rounding(table[:, j]) > limit >= _largest_rounding(table[:, j] - middle):
                offsets[j] = middle
    return offsets


def _largest_rounding(values: NDArray[np.float64]) -> float:
    """The largest difference between a value and its float32."""
    return float(np.fmax.reduce(np.abs(values - values.astype(np.float32))))


def subtract_offsets(table: NDArray[np.float32], X: ArrayLike) -> NDArray[np.float64]:
    """The offset of each column of ``X``, float64 (n_features,), which is subtracted in ``table``, ``X`` as float32."""
    wide = as_array(X)
    wide = wide.astype(np.float64) if wide.dtype == object else wide
    offsets = float32_offsets(wide)
    moved = offsets != 0
    table[:, moved] = wide[:, moved] - offsets[moved]
    return offsets


def stored_bounds(table: NDArray[np.float32], bounds: Any, offsets: NDArray) -> tuple[NDArray, NDArray]:
    """The bounds of ``table`` as ``check_bounds`` returns them; given ones are less the offsets (n_features,)."""
    checked = check_bounds(table, bounds)
    if bounds is None or not offsets.any():
        return checked
    return check_bounds(table, [np.asarray(b, dtype=np.float64) - offsets for b in bounds])


class Scaling(NamedTuple):
    """An affine map of each feature: to the range [-1, 1] (``fit``), or to mean 0 and deviation 1 (``standard``).

    A constant feature becomes 0. ``offset`` and ``scale`` are float64 of shape (n_features,); values become
    ``(x - offset) * scale``.

    Examples
    --------
    >>> import numpy as np
    >>> from fsgym import Scaling
    >>> scaling = Scaling.fit(np.array([[0.0, 5.0], [10.0, 5.0]]))
    >>> ((np.array([[2.5, 5.0]]) - scaling.offset) * scaling.scale).tolist()
    [[-0.5, 0.0]]
    """

    offset: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, X: NDArray) -> Scaling:
        """The map of each column's range in ``X`` (n_samples, n_features) to [-1, 1]; NaN is ignored."""
        X = np.asarray(X, dtype=np.float64)
        known = ~np.isnan(X)
        low = np.where(known, X, np.inf).min(axis=0, initial=np.inf)
        high = np.where(known, X, -np.inf).max(axis=0, initial=-np.inf)
        low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
        width = high - low
        scale = np.divide(2.0, width, out=np.zeros_like(width), where=width > 0)
        return cls((low + high) / 2.0, scale)

    @classmethod
    def standard(cls, X: NDArray) -> Scaling:
        """The map of each column of ``X`` (n_samples, n_features) to z-scores; NaN is ignored."""
        X = np.asarray(X, dtype=np.float64)
        known = ~np.isnan(X)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, X, 0.0).sum(axis=0) / count
        deviation = np.sqrt(np.where(known, (X - mean) ** 2, 0.0).sum(axis=0) / count)
        varies = deviation > 1e-12 * np.abs(mean)  # the deviation of a constant is a rounding error, not 0
        return cls(mean, np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies))

    def then(self, other: Scaling) -> Scaling:
        """The map of both in one: first this one, then ``other``."""
        shift = np.divide(other.offset, self.scale, out=np.zeros_like(self.scale), where=self.scale != 0)
        return Scaling(self.offset + shift, self.scale * other.scale)

    def apply(self, X: NDArray) -> NDArray[np.float32]:
        """Scaled values, float32; values outside the fitted range are not clipped."""
        with np.errstate(over="ignore"):
            return ((np.asarray(X, dtype=np.float64) - self.offset) * self.scale).astype(np.float32)
