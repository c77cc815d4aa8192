"""Mixtures of independent normals: the probabilities of their components given some of the values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Components(NamedTuple):
    """Equally likely components of independent normals: one for each class, or for each context and class."""

    labels: NDArray[np.int64]  # (n_components,)
    means: NDArray[np.float64]  # (n_components, n_features)
    sds: NDArray[np.float64]  # (n_components, n_features)

    def log_densities(self, X: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Log densities of the known values up to a constant of each row, float64 (n, n_components).

        ``X`` is 0 where it is not known.
        """
        precision = self.sds**-2
        offsets = -0.5 * self.means**2 * precision - np.log(self.sds)
        return -0.5 * X**2 @ precision.T + X @ (self.means * precision).T + known @ offsets.T

    def log_densities_of(self, features: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.float64]:
        """As ``log_densities``, of one value in each row: ``x``, float64 (n,), of ``features``, int64 (n,)."""
        means, sds = self.means.T[features], self.sds.T[features]
        return -0.5 * ((x[:, None] - means) / sds) ** 2 - np.log(sds)

    def weights(self, log_densities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the components, float64 (n, n_components)."""
        weights = np.exp(log_densities - log_densities.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def class_probabilities(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of the probabilities of the components of each class, float64 (n, n_classes)."""
        return weights @ np.eye(self.labels.max() + 1)[self.labels]
