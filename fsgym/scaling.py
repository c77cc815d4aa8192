"""Scaling of features to a common range."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Scaling(NamedTuple):
    """An affine map of each feature: to the range [-1, 1] (``fit``), or to mean 0 and deviation 1 (``standard``).

    A constant feature becomes 0. ``offset`` and ``scale`` are float64 of shape (n_features,); values become
    ``(x - offset) * scale``.
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
