"""Which acquisition would help at a subset, without fitting anything: score tests of the columns (Rao, 1948)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice.heads import Table
from fsgym.rules import Rules

CELLS = 6  # values of a feature that a context may have
MOST_PRODUCTS = 4e9  # multiplications for triples of features; where there are more, only pairs are looked at


def scores(table: Table, rules: Rules, P: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest score statistic of the columns of each acquisition, float64 (J,), for adding it at P.

    Parameters
    ----------
    P : float64 (n_samples, n_classes), probabilities at the subset
    weight : float64 (n_samples,), of the rows, >= 0
    """
    total = weight.sum()
    if total <= 0:
        return np.zeros(rules.n_acquisitions)
    w = weight / total
    one = P[:, : table.n_outputs]  # of two classes the second tells the same
    R, V = (table.onehot[:, : table.n_outputs] - one) * w[:, None], one * (1 - one) * w[:, None]
    H = table.columns.reshape(len(P), -1)
    U, first, second = np.zeros((3, table.n_outputs, H.shape[1]))
    _moments(H, R, V, U, first, second)
    m = w @ H
    U -= np.outer(R.sum(axis=0), m)
    D = second - 2 * m * first + np.outer(V.sum(axis=0), m * m)
    ratio = (U * U / (np.maximum(D, 0) + 1.0 / total)).sum(axis=0) * (table.n_classes / table.n_outputs)
    statistic = ratio.reshape(-1, table.columns.shape[2]).max(axis=1)
    return np.array([statistic[list(g)].max() for g in rules.groups])


@njit(cache=True, nogil=True, _nrt=False)
def _moments(H, R, V, U, first, second):
    """Sums over the rows of H times R, H times V and its square times V, (n_outputs, n_columns), in one passage."""
    for i in range(len(H)):
        for k in range(R.shape[1]):
            r, v = R[i, k], V[i, k]
            for c in range(H.shape[1]):
                h = H[i, c]
                U[k, c] += h * r
                first[k, c] += h * v
                second[k, c] += h * h * v


def by_cells(
    table: Table, rules: Rules, j: int, P: NDArray[np.float64], weight: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """The scores within each cell of the values of acquisition j, times the cell's weight; [] for groups of many."""
    codes = table.codes[list(rules.groups[j])]
    values, cell = np.unique(codes.T, axis=0, return_inverse=True)
    if len(values) > CELLS:
        if len(codes) > 1:
            return []
        cell = np.searchsorted(np.quantile(codes[0], (0.25, 0.5, 0.75)), codes[0])
    return [
        scores(table, rules, P, weight * (cell == v)) * (weight * (cell == v)).sum() / weight.sum()
        for v in range(cell.max() + 1)
    ]


def contexts(table: Table, rules: Rules, P: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many times better the best next question becomes once j is known, float64 (J,); j may tell nothing itself."""
    weight = np.ones(len(P))
    plain = scores(table, rules, P, weight).max(initial=0.0)
    told = [sum(float(np.max(s)) for s in by_cells(table, rules, j, P, weight)) for j in range(rules.n_acquisitions)]
    return np.array(told) / max(plain, 1e-12)


def interactions(table: Table, rules: Rules, P: NDArray[np.float64], most: int = 3) -> list[tuple[int, ...]]:
    """Pairs and triples of acquisitions that tell together what no part of them tells, the strongest first.

    Of each feature only the side of its median is looked at. The statistic of a set is Pearson's of the product of its
    sides, at most a chi-squared where nothing is told. It has to be above those of all parts, and so high that chance
    would bring less than one such pair and one such triple (Laurent and Massart, 2000, lemma 1).
    """
    codes, middle = table.codes.T, np.median(table.codes, axis=1)
    above, not_below = codes > middle, codes >= middle
    even = np.abs(above.mean(axis=0) - 0.5) <= np.abs(not_below.mean(axis=0) - 0.5)
    S = np.where(even, above, not_below) * 2.0
    S -= S.mean(axis=0)  # not standardised: what is rare tells little of all rows
    R = ((table.onehot - P) / np.sqrt(P.sum(axis=0))).T
    F, free = S.shape[1], len(R) - 1

    def by_chance(t: float) -> float:
        return free + 2 * np.sqrt(free * t) + 2 * t

    one = ((R @ S) ** 2).sum(axis=0)
    two = np.sum([((S.T * r) @ S) ** 2 for r in R], axis=0)
    parts = np.maximum(one[:, None], one)
    hidden = np.triu(two > np.maximum(parts, by_chance(2 * np.log(F))), 1)
    found = [(two[a, b], (a, b)) for a, b in np.argwhere(hidden).tolist()]
    parts = np.maximum(parts, two)
    for a in range(F if table.onehot.size * F**3 <= MOST_PRODUCTS else 0):
        three = np.sum([((S.T * (r * S[:, a])) @ S) ** 2 for r in R], axis=0)
        parts_of_three = np.maximum(parts, np.maximum(parts[a][:, None], parts[a]))
        hidden = np.triu(three > np.maximum(parts_of_three, by_chance(3 * np.log(F))), 1)
        found += [(three[b, c], (a, b, c)) for b, c in np.argwhere(hidden).tolist() if b > a]
    owner = np.empty(F, np.int64)
    for j, group in enumerate(rules.groups):
        owner[list(group)] = j
    sets = dict.fromkeys(tuple(np.unique(owner[list(s)]).tolist()) for _, s in sorted(found, key=lambda v: -v[0]))
    return [s for s in sets if len(s) > 1][:most]


def ranked(score: NDArray[np.float64], prices: NDArray[np.float64], legal: NDArray[np.bool_]) -> list[int]:
    """Legal acquisitions, best first: in turn by score and by score a unit of price."""
    worth = score / np.maximum(prices, 1e-12 + 1e-3 * prices.max(initial=0.0))
    best = np.argsort(-score, kind="stable"), np.argsort(-worth, kind="stable")
    order = dict.fromkeys(int(j) for pair in zip(*best) for j in pair)
    return [j for j in order if legal[j]]
