"""Losses of boosting: value, negative gradient and second derivative at scores of shape (n_outputs, n_samples)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
LEAST = 1e-16  # second derivatives vanish where a row is decided


class Loss:
    """What all losses share: targets, weights (None: 1 each) and the weighted mean over rows."""

    def __init__(self, y: NDArray, weights: NDArray[np.float64] | None, n_outputs: int = 1) -> None:
        self.y, self.weights, self.n_outputs = y, weights, n_outputs

    def mean(self, values: NDArray[np.float64]) -> float:
        return float(values.mean() if self.weights is None else np.average(values, weights=self.weights))

    def prior(self) -> NDArray[np.float64]:
        """The best constant scores, (n_outputs,)."""
        raise NotImplementedError

    def at(self, F: Matrix) -> tuple[float, Matrix, Matrix]:
        """Weighted mean loss; negative gradients and second derivatives (n_outputs, n_samples), without weights."""
        raise NotImplementedError


class Squared(Loss):
    """(y - F)^2 / 2."""

    def prior(self) -> NDArray[np.float64]:
        return np.array([self.mean(self.y)])

    def at(self, F: Matrix) -> tuple[float, Matrix, Matrix]:
        rest = self.y - F
        return 0.5 * self.mean(rest[0] ** 2), rest, np.ones_like(F)


class Logistic(Loss):
    """log(1 + exp(-F)) for class 1, log(1 + exp(F)) for class 0; ``y`` are class codes."""

    def prior(self) -> NDArray[np.float64]:
        share = self.mean(self.y.astype(np.float64))
        return np.array([np.log(share) - np.log1p(-share)])

    def at(self, F: Matrix) -> tuple[float, Matrix, Matrix]:
        small = np.exp(-np.abs(F))
        p = np.where(F >= 0, 1.0, small) / (1.0 + small)
        against = np.where(self.y == 1, -F, F)
        return self.mean((np.maximum(against, 0.0) + np.log(1.0 + small))[0]), self.y - p, p * (1.0 - p)


class Softmax(Loss):
    """-F_y + log sum_k exp(F_k); ``y`` are class codes."""

    def prior(self) -> NDArray[np.float64]:
        return np.log([self.mean((self.y == k).astype(np.float64)) for k in range(self.n_outputs)])

    def at(self, F: Matrix) -> tuple[float, Matrix, Matrix]:
        shifted = F - F.max(axis=0)
        p = np.exp(shifted)
        total = p.sum(axis=0)
        p /= total
        rows = np.arange(F.shape[1])
        value = self.mean(np.log(total) - shifted[self.y, rows])
        second = p * (1.0 - p)
        rest = -p
        rest[self.y, rows] += 1.0
        return value, rest, second


def weighted(values: NDArray[np.float64], weights: Any) -> NDArray[np.float64]:
    return values if weights is None else values * weights
