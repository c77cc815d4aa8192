"""Which acquisitions would help at a subset, assessed without fitting a classifier: score tests (Rao, 1948)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice.constants import (
    MAX_CONTEXT_CELLS,
    MAX_INTERACTIONS,
    MAX_TRIPLE_PRODUCTS,
    MIN_PRICE,
    MIN_PRICE_SHARE,
    MIN_STATISTIC,
    QUARTILES,
)
from agents.lattice.subset_classifier import TrainingData
from agents.policy import acquisition_of_features
from fsgym.rules import Rules


def score_statistics(
    data: TrainingData, rules: Rules, proba: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The score statistic of each acquisition, float64 (J,): the largest one of its columns.

    The statistic of a column estimates, from one gradient step, how much the weighted log-likelihood would rise if the
    column were added to a logistic model that predicts ``proba``.

    Parameters
    ----------
    data : TrainingData
    rules : Rules
    proba : float64 (n_samples, n_classes), probabilities at the subset
    weight : float64 (n_samples,), of the rows, >= 0
    """
    total = weight.sum()
    if total <= 0:
        return np.zeros(rules.n_acquisitions)
    w = weight / total
    p = proba[:, : data.n_outputs]  # of two classes, the second adds nothing
    residual, variance = (data.onehot[:, : data.n_outputs] - p) * w[:, None], p * (1 - p) * w[:, None]
    H = data.columns.reshape(len(proba), -1)
    score, first, second = np.zeros((3, data.n_outputs, H.shape[1]))
    _add_moments(H, residual, variance, score, first, second)
    mean = w @ H
    score -= np.outer(residual.sum(axis=0), mean)
    information = second - 2 * mean * first + np.outer(variance.sum(axis=0), mean * mean)
    ratio = (score * score / (np.maximum(information, 0) + 1.0 / total)).sum(axis=0) * (data.n_classes / data.n_outputs)
    statistic = ratio.reshape(-1, data.columns.shape[2]).max(axis=1)
    return np.array([statistic[list(g)].max() for g in rules.groups])


@njit(cache=True, nogil=True, _nrt=False)
def _add_moments(H, residual, variance, score, first, second):
    """Add the sums over rows of H residual, H variance and H^2 variance, each (n_outputs, n_columns)."""
    for i in range(len(H)):
        for k in range(residual.shape[1]):
            r, v = residual[i, k], variance[i, k]
            for c in range(H.shape[1]):
                h = H[i, c]
                score[k, c] += h * r
                first[k, c] += h * v
                second[k, c] += h * h * v


def statistics_by_cell(
    data: TrainingData, rules: Rules, j: int, proba: NDArray[np.float64], weight: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """The score statistics (J,) within each cell of the values of acquisition j, times the cell's share of the weight.

    The cells are the distinct values, or quartiles of a single feature with many values. A group of features with many
    distinct values has no cells.
    """
    codes = data.codes[list(rules.groups[j])]
    values, cell = np.unique(codes.T, axis=0, return_inverse=True)
    if len(values) > MAX_CONTEXT_CELLS:
        if len(codes) > 1:
            return []
        cell = np.searchsorted(np.quantile(codes[0], QUARTILES), codes[0])
    return [
        score_statistics(data, rules, proba, weight * (cell == v)) * (weight * (cell == v)).sum() / weight.sum()
        for v in range(cell.max() + 1)
    ]


def context_gains(data: TrainingData, rules: Rules, proba: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factor by which knowing j raises the best score statistic of the next acquisition, float64 (J,).

    An acquisition can have a high gain even if it is uninformative on its own.
    """
    weight = data.weighted(np.ones(len(proba)))
    without = score_statistics(data, rules, proba, weight).max(initial=0.0)
    within = [
        sum(float(np.max(s)) for s in statistics_by_cell(data, rules, j, proba, weight))
        for j in range(rules.n_acquisitions)
    ]
    return np.array(within) / max(without, MIN_STATISTIC)


def find_interactions(data: TrainingData, rules: Rules, proba: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """At most three pairs and triples of acquisitions that are informative only together, the strongest first.

    Each feature is reduced to the side of its median. The statistic of a set of features is Pearson's for the product
    of their sides, at most chi-squared distributed if the product is uninformative. To be accepted, it must exceed the
    statistics of all parts of the set, and a threshold that less than one pair and less than one triple are expected to
    exceed by chance (Laurent and Massart, 2000, lemma 1). Weights of rows are scaled to add up to the effective number
    of rows, so that the statistics keep their distribution (Rao and Scott, 1981).
    """
    codes, middle = data.codes.T, np.median(data.codes, axis=1)
    above, not_below = codes > middle, codes >= middle
    even = np.abs(above.mean(axis=0) - 0.5) <= np.abs(not_below.mean(axis=0) - 0.5)
    sides = np.where(even, above, not_below) * 2.0
    weight = data.weight
    if weight is None:
        sides -= sides.mean(axis=0)  # not standardised: a rare value can help few rows only
        residual = ((data.onehot - proba) / np.sqrt(proba.sum(axis=0))).T
    else:
        sides -= weight @ sides / weight.sum()
        weight = weight * (data.effective_size / weight.sum())
        residual = ((data.onehot - proba) * weight[:, None] / np.sqrt(weight @ proba)).T
    n_features, degrees = sides.shape[1], len(residual) - 1

    def threshold(t: float) -> float:
        """The value that a chi-squared variable exceeds with probability at most exp(-t)."""
        return degrees + 2 * np.sqrt(degrees * t) + 2 * t

    single = ((residual @ sides) ** 2).sum(axis=0)
    pair = np.sum([((sides.T * r) @ sides) ** 2 for r in residual], axis=0)
    parts = np.maximum(single[:, None], single)
    accepted = np.triu(pair > np.maximum(parts, threshold(2 * np.log(n_features))), 1)
    found = [(pair[a, b], (a, b)) for a, b in np.argwhere(accepted).tolist()]
    parts = np.maximum(parts, pair)
    for a in range(n_features if data.onehot.size * n_features**3 <= MAX_TRIPLE_PRODUCTS else 0):
        triple = np.sum([((sides.T * (r * sides[:, a])) @ sides) ** 2 for r in residual], axis=0)
        parts_of_triple = np.maximum(parts, np.maximum(parts[a][:, None], parts[a]))
        accepted = np.triu(triple > np.maximum(parts_of_triple, threshold(3 * np.log(n_features))), 1)
        found += [(triple[b, c], (a, b, c)) for b, c in np.argwhere(accepted).tolist() if b > a]
    acquisition = acquisition_of_features(rules)
    found.sort(key=lambda v: -v[0])
    sets = dict.fromkeys(tuple(np.unique(acquisition[list(features)]).tolist()) for _, features in found)
    return [s for s in sets if len(s) > 1][:MAX_INTERACTIONS]


def rank_acquisitions(
    statistic: NDArray[np.float64], prices: NDArray[np.float64], legal: NDArray[np.bool_]
) -> list[int]:
    """Legal acquisitions, best first: alternately by the statistic and by the statistic per unit of price."""
    per_price = statistic / np.maximum(prices, MIN_PRICE + MIN_PRICE_SHARE * prices.max(initial=0.0))
    best = np.argsort(-statistic, kind="stable"), np.argsort(-per_price, kind="stable")
    order = dict.fromkeys(int(j) for pair in zip(*best) for j in pair)
    return [j for j in order if legal[j]]
