"""Losses of boosting: value, negative gradient and second derivative at scores of shape (n_outputs, n_samples)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from baselines.base import FloatMatrix, FloatVector

MIN_HESSIAN = 1e-16  # lower bound on second derivatives, which vanish for rows with a large margin
LOSS_BLOCK_ROWS = 1 << 15  # rows at a time, so that their arrays stay in the cache


class Loss:
    """Base of the losses: targets, weights (None: 1 each) and the sum over blocks of rows.

    A subclass implements ``prior`` and ``part``.
    """

    def __init__(self, y: NDArray, weights: FloatVector | None, n_outputs: int = 1) -> None:
        self.y, self.weights, self.n_outputs = y, weights, n_outputs

    def prior(self) -> FloatVector:
        """Return the best constant scores, (n_outputs,)."""
        raise NotImplementedError

    def part(self, F: FloatMatrix, y: NDArray) -> tuple[FloatVector, FloatMatrix, FloatMatrix]:
        """Return the losses (n,), negative gradients and second derivatives (n_outputs, n) of a block of n rows."""
        raise NotImplementedError

    def average(self, values: FloatVector) -> float:
        """Return the weighted mean of ``values`` (n_samples,)."""
        return float(values.mean() if self.weights is None else np.average(values, weights=self.weights))

    def at(self, F: FloatMatrix, newton: bool) -> tuple[float, FloatMatrix, FloatMatrix | None]:
        """Return the weighted mean loss, and negative gradients and second derivatives, (n_outputs, n_samples).

        Both are multiplied by the weights. Without ``newton`` the second derivatives are None.
        """
        gradient, hessian = np.empty_like(F), np.empty_like(F) if newton else None
        total = 0.0
        for begin in range(0, F.shape[1], LOSS_BLOCK_ROWS):
            rows = slice(begin, begin + LOSS_BLOCK_ROWS)
            values, g, h = self.part(F[:, rows], self.y[rows])
            if self.weights is not None:
                values, g, h = values * self.weights[rows], g * self.weights[rows], h * self.weights[rows]
            total += float(values.sum())
            gradient[:, rows] = g
            if hessian is not None:
                hessian[:, rows] = h
        return total / (F.shape[1] if self.weights is None else float(self.weights.sum())), gradient, hessian


class Squared(Loss):
    """(y - F)^2 / 2."""

    def prior(self) -> FloatVector:
        return np.array([self.average(self.y)])

    def part(self, F: FloatMatrix, y: NDArray) -> tuple[FloatVector, FloatMatrix, FloatMatrix]:
        rest = y - F
        return 0.5 * rest[0] ** 2, rest, np.ones_like(F)


class Logistic(Loss):
    """log(1 + exp(-F)) for class 1, log(1 + exp(F)) for class 0; ``y`` are class codes."""

    def prior(self) -> FloatVector:
        share = self.average(self.y == 1)
        return np.array([np.log(share) - np.log1p(-share)])

    def part(self, F: FloatMatrix, y: NDArray) -> tuple[FloatVector, FloatMatrix, FloatMatrix]:
        p = expit(F)
        return np.logaddexp(0.0, np.where(y == 1, -F, F))[0], y - p, np.maximum(p * (1.0 - p), MIN_HESSIAN)


class Softmax(Loss):
    """-F_y + log sum_k exp(F_k); ``y`` are class codes."""

    def prior(self) -> FloatVector:
        return np.log([self.average(self.y == k) for k in range(self.n_outputs)])

    def part(self, F: FloatMatrix, y: NDArray) -> tuple[FloatVector, FloatMatrix, FloatMatrix]:
        shifted, rows = F - F.max(axis=0), np.arange(F.shape[1])
        p = np.exp(shifted)
        total = p.sum(axis=0)
        p /= total
        rest = -p
        rest[y, rows] += 1.0
        return np.log(total) - shifted[y, rows], rest, np.maximum(p * (1.0 - p), MIN_HESSIAN)
