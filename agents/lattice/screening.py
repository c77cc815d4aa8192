"""Which acquisitions would help at a subset, assessed without fitting a classifier: score tests (Rao, 1948)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice.constants import (
    MAX_CONTEXT_CELLS,
    MAX_INTERACTION_FEATURES,
    MAX_INTERACTIONS,
    MAX_TRIPLE_PRODUCTS,
    MIN_PRICE,
    MIN_PRICE_SHARE,
    MIN_STATISTIC,
    QUARTILES,
)
from agents.lattice.training_data import TrainingData
from agents.policy import acquisition_of_features
from fsgym.rules import Rules


def score_statistics(
    data: TrainingData, rules: Rules, proba: NDArray[np.floating], weight: NDArray[np.float64]
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
    statistic = np.empty(len(data.codes))
    scale = data.n_classes / data.n_outputs
    terms = np.column_stack([w, residual, variance])
    _write_statistics(*data.fine_bins, terms, 1.0 / total, scale, statistic)
    return np.array([statistic[list(g)].max() for g in rules.groups])


@njit(cache=True, nogil=True)
def _write_statistics(codes, columns, terms, least, scale, statistic):
    """Write the largest statistic of the columns of each feature, from sums of the terms of the rows by bin.

    ``terms`` has the weight of each row, then its residual of each output, then its variance of each output.
    """
    n_bins, n_columns, n_terms = columns.shape[1], columns.shape[2], terms.shape[1]
    n_outputs = (n_terms - 1) // 2
    sums, totals = np.empty((n_bins, n_terms)), np.zeros(n_terms)
    for i in range(len(terms)):
        for k in range(n_terms):
            totals[k] += terms[i, k]
    for f in range(len(codes)):
        sums[:] = 0.0
        for i in range(len(terms)):
            b = np.intp(codes[f, i])
            for k in range(n_terms):
                sums[b, k] += terms[i, k]
        largest = 0.0
        for h in range(n_columns):
            mean, ratio = 0.0, 0.0
            for b in range(n_bins):
                mean += sums[b, 0] * columns[f, b, h]
            for k in range(n_outputs):
                score, first, second = 0.0, 0.0, 0.0
                for b in range(n_bins):
                    x = np.float64(columns[f, b, h])
                    score += x * sums[b, 1 + k]
                    first += x * sums[b, 1 + n_outputs + k]
                    second += x * x * sums[b, 1 + n_outputs + k]
                score -= mean * totals[1 + k]
                information = second - 2 * mean * first + mean * mean * totals[1 + n_outputs + k]
                ratio += score * score / (max(information, 0.0) + least)
            largest = max(largest, ratio * scale)
        statistic[f] = largest


def statistics_by_cell(
    data: TrainingData, rules: Rules, j: int, proba: NDArray[np.floating], weight: NDArray[np.float64]
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


def context_gains(data: TrainingData, rules: Rules, proba: NDArray[np.floating]) -> NDArray[np.float64]:
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


def find_interactions(data: TrainingData, rules: Rules, proba: NDArray[np.floating]) -> list[tuple[int, ...]]:
    """At most three pairs and triples of acquisitions that are informative only together, the strongest first.

    Each feature is reduced to the side of its median. The statistic of a set of features is Pearson's for the product
    of their sides, at most chi-squared distributed if the product is uninformative. To be accepted, it must exceed the
    statistics of all parts of the set, and a threshold that less than one pair and less than one triple are expected to
    exceed by chance (Laurent and Massart, 2000, lemma 1). Weights of rows are scaled to add up to the effective number
    of rows, so that the statistics keep their distribution (Rao and Scott, 1981).
    """
    chosen = _most_varied(data)
    codes, middle = data.codes[chosen].T, np.median(data.codes[chosen], axis=1)
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
    acquisition = acquisition_of_features(rules)[chosen]
    found.sort(key=lambda v: -v[0])
    sets = dict.fromkeys(tuple(np.unique(acquisition[list(features)]).tolist()) for _, features in found)
    return [s for s in sets if len(s) > 1][:MAX_INTERACTIONS]


def _most_varied(data: TrainingData) -> NDArray[np.int64]:
    """All features, or of many those whose most common bin holds the fewest rows, ascending."""
    if len(data.codes) <= MAX_INTERACTION_FEATURES:
        return np.arange(len(data.codes))
    commonest = np.array([np.bincount(codes).max() for codes in data.codes])
    return np.sort(np.argsort(commonest, kind="stable")[:MAX_INTERACTION_FEATURES])


def rank_acquisitions(
    statistic: NDArray[np.float64], prices: NDArray[np.float64], legal: NDArray[np.bool_]
) -> list[int]:
    """Legal acquisitions, best first: alternately by the statistic and by the statistic per unit of price."""
    per_price = statistic / np.maximum(prices, MIN_PRICE + MIN_PRICE_SHARE * prices.max(initial=0.0))
    best = np.argsort(-statistic, kind="stable"), np.argsort(-per_price, kind="stable")
    order = dict.fromkeys(int(j) for pair in zip(*best) for j in pair)
    return [j for j in order if legal[j]]
