"""Logits of independent standard normal features: expected class probabilities, and the exact optimal stopping.

The class is 1 with probability ``1 / (1 + exp(L))``, where L is a function of few of the features, all of which are
independent standard normals. Two forms of L are enough for the rules of ``fsgym.datasets.generators.Syn``: a product of
two features, and a sum of functions of single features. Of a sum, all that matters about the acquired features is which
they are and the sum of their terms, so that each expectation and each value of a state is a function of one number. It
is tabulated once, on a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import fftconvolve
from scipy.special import expit

Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]

LARGEST = 9.0  # standard deviations; larger values have probability 2e-19
# Values of a logit, or of the sum of its known terms. Where the sum of the terms of values within 8 standard deviations
# leaves this range, the probability of class 1 is within 1e-12 of 0.
STEP = 0.02
GRID = np.arange(-40.0, 60.0 + STEP / 2, STEP)

TERMS: dict[str, Curve] = {
    "square": lambda x: 1.2 * x**2,
    "sine": lambda x: -10 * np.sin(0.2 * x),
    "absolute": np.abs,
    "linear": lambda x: x,
    "exponential": lambda x: np.exp(-x),
}


@dataclass(frozen=True)
class ProductLogit:
    """L = ``factor`` times the product of two features."""

    features: tuple[int, int]
    factor: float

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """L of each row, float64 (n,), from all features, float64 (n, n_features)."""
        return self.factor * X[:, self.features].prod(axis=1)

    def probability(self, X: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Probability of class 1 given the known values, float64 (n,); .5 unless both features are known."""
        both = known[:, self.features].all(axis=1)
        return np.where(both, expit(-self.values(np.where(known, X, 0.0))), 0.5)

    def optimum(self, lam: float) -> tuple[float, float]:
        """Lowest expected loss, errors plus ``lam`` per feature, and the expected number of features of its policy."""
        # By symmetry, the absolute values of the features are enough: half-normals, by the midpoint rule.
        size = (np.arange(1200) + 0.5) * LARGEST / 1200
        weights = np.exp(-(size**2) / 2)
        weights /= weights.sum()
        after_both = 2 * lam + expit(-self.factor * np.outer(size, size)) @ weights
        continues = after_both < lam + 0.5
        loss = float(np.where(continues, after_both, lam + 0.5) @ weights)
        return (loss, 1.0 + float(continues @ weights)) if loss < 0.5 else (0.5, 0.0)


@dataclass(frozen=True)
class AdditiveLogit:
    """L = ``constant`` plus one term, named in ``TERMS``, of each of some features."""

    features: tuple[int, ...]
    terms: tuple[str, ...]
    constant: float

    def values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """L of each row, float64 (n,), from all features, float64 (n, n_features)."""
        return self._sum_of(X, range(len(self.features)))

    def probability(self, X: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Probability of class 1 given the known values, float64 (n,).

        The error is below 2e-7 for values within 8 standard deviations.
        """
        result = np.empty(len(X))
        mask = known[:, self.features]
        pattern_of_row = mask @ 2 ** np.arange(len(self.features))
        for pattern in np.unique(pattern_of_row):
            rows = np.flatnonzero(pattern_of_row == pattern)
            is_known = mask[rows[0]]
            unknown = tuple(sorted(term for term, k in zip(self.terms, is_known) if not k))
            result[rows] = expected_probability(unknown)(self._sum_of(X[rows], np.flatnonzero(is_known)))
        return result

    def _sum_of(self, X: NDArray[np.float64], positions: Iterable[int]) -> NDArray[np.float64]:
        total = np.full(len(X), self.constant)
        for i in positions:
            with np.errstate(over="ignore"):
                total += TERMS[self.terms[i]](X[:, self.features[i]])
        return total

    def optimum(self, lam: float) -> tuple[float, float]:
        """Lowest expected loss, errors plus ``lam`` per feature, and the expected number of features of its policy.

        A dynamic programme over the sets of acquired features and the sum of their terms, on ``GRID``, which
        changes the loss by less than 1e-5, and the number of features by less than 0.01 where ``lam`` is above 0.
        """

        @cache
        def best(unknown: tuple[str, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            """Remaining loss and number of features for each sum of the known terms."""
            p = expected_probability(unknown)(GRID)
            loss, number = np.minimum(p, 1 - p), np.zeros(len(GRID))
            for term in sorted(set(unknown)):
                at = unknown.index(term)
                after = [_expected_after(values, term) for values in best(unknown[:at] + unknown[at + 1 :])]
                number = np.where(lam + after[0] < loss, 1 + after[1], number)
                loss = np.minimum(loss, lam + after[0])
            return loss, number

        loss, number = best(tuple(sorted(self.terms)))
        return float(np.interp(self.constant, GRID, loss)), float(np.interp(self.constant, GRID, number))


@cache
def expected_probability(unknown: tuple[str, ...]) -> Curve:
    """Probability of class 1 as a function of the sum of the known terms, where the terms ``unknown`` are random."""
    if not unknown:
        return lambda total: expit(-total)
    inner = expected_probability(unknown[1:])
    nodes, weights = _normal_quadrature()
    knots = GRID[::2]  # fewer than the dynamic programme needs
    curve = CubicSpline(knots, inner(knots[:, None] + TERMS[unknown[0]](nodes)) @ weights)
    return lambda total: curve(np.clip(total, GRID[0], GRID[-1]))


@cache
def _normal_quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights of a standard normal: Gauss-Legendre, 160 nodes on each side of 0, where |x| has its kink."""
    nodes, weights = np.polynomial.legendre.leggauss(160)
    nodes = np.concatenate([nodes - 1, nodes + 1]) * LARGEST / 2
    weights = np.tile(weights, 2) * np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()


@cache
def _term_distribution(term: str) -> tuple[int, NDArray[np.float64]]:
    """The distribution of a term on multiples of ``STEP``: the first multiple, 0 or less, and their probabilities."""
    x = np.linspace(-LARGEST, LARGEST, 40_001)
    weights = np.exp(-(x**2) / 2)
    steps = np.clip(TERMS[term](x) / STEP, -len(GRID), len(GRID))
    first = min(int(np.floor(steps.min())), 0)
    low = np.floor(steps).astype(int)
    share = steps - low
    # Each value is divided between its two neighbours, so that the mean is exact.
    mass = np.bincount(low - first, weights * (1 - share), minlength=1)
    mass = np.append(mass, 0.0) + np.bincount(low + 1 - first, weights * share, minlength=len(mass) + 1)
    return first, mass / mass.sum()


def _expected_after(values: NDArray[np.float64], term: str) -> NDArray[np.float64]:
    """The expectation of a function on ``GRID``, constant beyond it, after a term of a random feature is added."""
    first, mass = _term_distribution(term)
    last = max(first + len(mass) - 1, 0)
    padded = np.pad(values, (-first, last), mode="edge")
    return fftconvolve(padded, mass[::-1], mode="valid")[: len(values)]


# The three logits of Yoon, Jordon and van der Schaar (2019), of features numbered from 0, and the two of each rule: the
# first where feature 10 is below 0, the second elsewhere.
L1 = ProductLogit((0, 1), 4.0)
L2 = AdditiveLogit((2, 3, 4, 5), ("square",) * 4, -4.2)
L3 = AdditiveLogit((6, 7, 8, 9), ("sine", "absolute", "linear", "exponential"), -2.4)
LOGITS_OF_RULES = {1: (L1, L2), 2: (L1, L3), 3: (L2, L3)}
