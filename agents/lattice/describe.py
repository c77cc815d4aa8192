"""What an agent at a subset looks at to decide: its beliefs and the values that it knows; ridge regression on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice.basis import FAR, HINGES

if TYPE_CHECKING:
    from agents.lattice.nodes import Lattice, Node

MOST_CELLS = 64
BELIEF, VALUE = 0.9, 9.0  # penalties


class Description(NamedTuple):
    """Columns of all training rows, in the order intercept, beliefs, values, cells; and how to regress on them."""

    F: NDArray[np.float64]
    penalty: NDArray[np.float64]
    fold: NDArray[np.int64]

    def fit(self, T: NDArray, weight: NDArray, had: NDArray) -> NDArray[np.float64]:
        """Coefficients from all rows, float64 (n_columns, n_targets)."""
        return self._solve(T, weight, had, None)[0]

    def cross_predict(self, T: NDArray, weight: NDArray, had: NDArray) -> NDArray[np.float64]:
        """Predictions of each row by the folds that it is not in, float64 (n_samples, n_targets)."""
        theta = self._solve(T, weight, had, self.fold)
        predicted = np.empty_like(T)
        for k, coefficients in enumerate(theta):
            rows = self.fold == k
            predicted[rows] = self.F[rows] @ coefficients
        return predicted

    def _solve(self, T, weight, had, fold) -> NDArray[np.float64]:
        """Coefficients, (n_folds, n_columns, n_targets); without folds one set. Only rows that could go count."""
        if had.all():
            return self._ridge(T, weight, fold)
        each = [self._ridge(T[:, k : k + 1], weight * had[:, k], fold) for k in range(T.shape[1])]
        return np.concatenate(each, axis=2)

    def _ridge(self, T, weight, fold) -> NDArray[np.float64]:
        parts = [slice(None)] if fold is None else [fold == k for k in range(fold.max() + 1)]
        grams = np.stack([(self.F[r].T * weight[r]) @ self.F[r] for r in parts])
        sides = np.stack([(self.F[r].T * weight[r]) @ T[r] for r in parts])
        if fold is not None:
            grams, sides = grams.sum(axis=0) - grams, sides.sum(axis=0) - sides
        grams[:, np.arange(len(self.penalty)), np.arange(len(self.penalty))] += self.penalty
        return np.linalg.solve(grams, sides)


def n_beliefs(n_classes: int) -> int:
    return 5 if n_classes == 2 else 5 + n_classes


def n_cells(n_bins: NDArray[np.int64]) -> int:
    """Cells of a subset of features with so many bins each; 0 where they are too many, or there is no feature."""
    total = int(np.prod(n_bins.astype(np.float64))) if len(n_bins) else 0
    return total if total <= MOST_CELLS else 0


def n_values(n_features: int) -> int:
    """Columns of values: hinges of few features, else the values, of many nothing."""
    return HINGES * n_features if n_features <= 4 else n_features if n_features <= 20 else 0


def describe(lattice: Lattice, node: Node) -> Description:
    """The description of a node for all training rows."""
    table, P = lattice.table, node.fit.P  # type: ignore[union-attr]
    cells = n_cells(table.basis.n_bins[node.features])
    sizes = 1 + n_beliefs(table.n_classes), n_values(len(node.features)), cells
    F = np.empty((len(P), sum(sizes)))
    _describe(table.columns, table.codes, table.basis.n_bins, node.features, P, lattice.rules.error_costs, cells, F)
    penalty = np.repeat([BELIEF, VALUE, BELIEF], sizes)
    penalty[0] = 1e-6
    return Description(F, penalty, table.fold)


@njit(cache=True, nogil=True, _nrt=False)
def _describe(columns, codes, n_bins, features, P, error_costs, cells, F):
    for row in range(len(P)):
        beliefs(P[row], error_costs, F[row])
        first = 1 + (5 if P.shape[1] == 2 else 5 + P.shape[1])
        if len(features) <= 20:
            for k in range(len(features)):
                first = known(columns[row, features[k]], len(features), F[row], first)
        cell, stride = 0, 1
        for k in range(len(features)):
            cell += stride * codes[features[k], row]
            stride *= n_bins[features[k]]
        for k in range(cells):
            F[row, first + k] = 1.0 if k == cell else 0.0


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def known(columns, n_features, out, first):
    """Write what is said of one value; return where the next goes."""
    for k in range(HINGES if n_features <= 4 else 1):
        out[first] = columns[k]
        first += 1
    return first


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def beliefs(p, error_costs, out):
    """Write the intercept and what the probabilities ``p`` say, the price of the best answer among it."""
    n_classes = len(p)
    risk = np.inf
    for a in range(n_classes):
        cost = 0.0
        for k in range(n_classes):
            cost += p[k] * error_costs[a, k]
        risk = min(risk, cost)
    out[0], out[1] = 1.0, risk
    if n_classes == 2:
        half = 0.5 * np.log(max(p[1], 1e-9) / max(p[0], 1e-9))
        half = min(max(half, -FAR), FAR)
        out[2], out[3], out[4] = half, abs(half), 4 * p[0] * p[1]
        out[5] = max(abs(half) - 1.0, 0.0)
        return
    top, second, entropy = 0.0, 0.0, 0.0
    for k in range(n_classes):
        if p[k] > top:
            top, second = p[k], top
        elif p[k] > second:
            second = p[k]
        entropy -= p[k] * np.log(max(p[k], 1e-12))
        out[6 + k] = np.sqrt(p[k])
    out[2], out[3], out[4], out[5] = top, top - second, entropy, second
