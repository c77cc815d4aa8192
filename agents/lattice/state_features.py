"""The features of a state on which the agent decides, beliefs and acquired values, and ridge regression on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice import constants as const

if TYPE_CHECKING:
    from agents.lattice.nodes import Lattice, Node


class StateFeatures(NamedTuple):
    """The state features of all training rows at one subset, and the ridge regression of the advantages on them.

    Attributes
    ----------
    design : float64 (n_samples, n_columns): intercept, belief features, value features, indicators of cells
    penalty : float64 (n_columns,), the ridge
    fold : int64 (n_samples,)
    """

    design: NDArray[np.float64]
    penalty: NDArray[np.float64]
    fold: NDArray[np.int64]

    def fit(self, advantage: NDArray, weight: NDArray, obtainable: NDArray) -> NDArray[np.float64]:
        """Coefficients from all rows, float64 (n_columns, n_children).

        Parameters
        ----------
        advantage : float64 (n_samples, n_children)
        weight : float64 (n_samples,)
        obtainable : bool (n_samples, n_children)
            Rows without the values of a child have no weight in its regression.
        """
        return self._solve(advantage, weight, obtainable, None)[0]

    def cross_predict(self, advantage: NDArray, weight: NDArray, obtainable: NDArray) -> NDArray[np.float64]:
        """Out-of-fold predictions, float64 (n_samples, n_children); parameters as for ``fit``."""
        theta = self._solve(advantage, weight, obtainable, self.fold)
        predicted = np.empty_like(advantage)
        for k, coefficients in enumerate(theta):
            rows = self.fold == k
            predicted[rows] = self.design[rows] @ coefficients
        return predicted

    def _solve(self, advantage, weight, obtainable, fold) -> NDArray[np.float64]:
        """Coefficients without each fold, (n_folds, n_columns, n_children), or from all rows, with n_folds = 1."""
        if obtainable.all():
            return self._ridge(advantage, weight, fold)
        n_children = advantage.shape[1]
        each = [self._ridge(advantage[:, k : k + 1], weight * obtainable[:, k], fold) for k in range(n_children)]
        return np.concatenate(each, axis=2)

    def _ridge(self, advantage, weight, fold) -> NDArray[np.float64]:
        parts = [slice(None)] if fold is None else [fold == k for k in range(fold.max() + 1)]
        root = np.sqrt(weight)[:, None]
        of_parts = []
        for rows in parts:
            scaled = self.design[rows] * root[rows]
            of_parts.append((scaled.T @ scaled, scaled.T @ (advantage[rows] * root[rows])))
        grams, sides = (np.stack(part) for part in zip(*of_parts))
        if fold is not None:
            grams, sides = grams.sum(axis=0) - grams, sides.sum(axis=0) - sides
        grams[:, np.arange(len(self.penalty)), np.arange(len(self.penalty))] += self.penalty
        return np.linalg.solve(grams, sides)


def n_belief_features(n_classes: int) -> int:
    """Number of columns that ``write_belief_features`` writes after the intercept."""
    return const.N_BELIEFS if n_classes == 2 else const.N_BELIEFS + n_classes


def n_value_features(n_features: int) -> int:
    """Number of columns of the acquired values: z-scores and hinges of few features, z-scores of some, none of many."""
    if n_features <= const.MAX_FEATURES_WITH_HINGES:
        return const.COLUMNS_PER_FEATURE * n_features
    return n_features if n_features <= const.MAX_FEATURES_WITH_VALUES else 0


def n_cells(n_bins: NDArray[np.int64]) -> int:
    """Number of combinations of the bins of a subset's features; 0 where they are too many, or for no features."""
    if not len(n_bins) or np.log(n_bins).sum() > np.log(
        const.MAX_CELLS + 1
    ):  # the product may be beyond the largest float
        return 0
    total = int(np.prod(n_bins))
    return total if total <= const.MAX_CELLS else 0


def state_features(lattice: Lattice, node: Node) -> StateFeatures:
    """The state features of all training rows at a node that has a classifier."""
    data, proba = lattice.data, node.cross_fit.proba  # type: ignore[union-attr]
    n_bins = data.basis.n_bins
    cells = n_cells(n_bins[node.features])
    sizes = 1 + n_belief_features(data.n_classes), n_value_features(len(node.features)), cells
    design = np.empty((len(proba), sum(sizes)))
    _write_state_features(
        data.columns(node.features), data.codes, n_bins, node.features, proba, lattice.rules.error_costs, cells, design
    )
    penalty = np.repeat([const.BELIEF_PENALTY, const.VALUE_PENALTY, const.BELIEF_PENALTY], sizes)
    penalty[0] = const.INTERCEPT_PENALTY
    return StateFeatures(design, penalty, data.fold)


@njit(cache=True, nogil=True, _nrt=False)
def _write_state_features(columns, codes, n_bins, features, proba, error_costs, cells, design):
    for row in range(len(proba)):
        place = write_belief_features(proba[row], error_costs, design[row])
        for k in range(len(features)):
            place = write_value_features(columns[row, k], len(features), design[row], place)
        cell, stride = 0, 1
        for k in range(len(features)):
            cell += stride * codes[features[k], row]
            stride *= n_bins[features[k]]
        for k in range(cells):
            design[row, place + k] = 1.0 if k == cell else 0.0


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def write_value_features(columns, n_features, out, place):
    """Write the columns of one acquired value, one of ``n_features``, from ``place`` on; return the next place."""
    if n_features > const.MAX_FEATURES_WITH_VALUES:
        return place
    for k in range(const.COLUMNS_PER_FEATURE if n_features <= const.MAX_FEATURES_WITH_HINGES else 1):
        out[place] = columns[k]
        place += 1
    return place


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"reassoc", "contract"})
def write_belief_features(proba, error_costs, out):
    """Write the intercept and the belief features of class probabilities (n_classes,); return the next place.

    The belief features are the expected error cost of the best answer and, for two classes, half the log-odds, its
    absolute value, 4 p (1 - p), and the hinge of the absolute value at 1; for more classes, the largest probability,
    its lead over the second largest, the entropy, the second largest, and the square roots of all.
    """
    n_classes = len(proba)
    risk = np.inf
    for a in range(n_classes):
        cost = 0.0
        for k in range(n_classes):
            cost += proba[k] * error_costs[a, k]
        risk = min(risk, cost)
    out[0], out[1] = 1.0, risk
    if n_classes == 2:
        half = 0.5 * np.log(max(proba[1], const.MIN_PROBA_OF_ODDS) / max(proba[0], const.MIN_PROBA_OF_ODDS))
        half = min(max(half, -const.MAX_ABS_COLUMN), const.MAX_ABS_COLUMN)
        out[2], out[3], out[4] = half, abs(half), 4 * proba[0] * proba[1]
        out[5] = max(abs(half) - const.CONFIDENT_LOG_ODDS, 0.0)
        return 1 + const.N_BELIEFS
    top, second, entropy = 0.0, 0.0, 0.0
    for k in range(n_classes):
        if proba[k] > top:
            top, second = proba[k], top
        elif proba[k] > second:
            second = proba[k]
        entropy -= proba[k] * np.log(max(proba[k], const.MIN_PROBA))
        out[1 + const.N_BELIEFS + k] = np.sqrt(proba[k])
    out[2], out[3], out[4], out[5] = top, top - second, entropy, second
    return 1 + const.N_BELIEFS + n_classes
