"""Which acquisition would help at a subset, without fitting anything: score tests of the columns (Rao, 1948)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.lattice.heads import Table
from fsgym.rules import Rules

CELLS = 6  # values of a feature that a context may have


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
    R, V = (table.onehot - P) * w[:, None], P * (1 - P) * w[:, None]
    H = table.columns.reshape(len(P), -1)
    m = w @ H
    U = H.T @ R - np.outer(m, R.sum(axis=0))
    D = (H * H).T @ V - 2 * m[:, None] * (H.T @ V) + np.outer(m * m, V.sum(axis=0))
    ratio = (U * U / (np.maximum(D, 0) + 1.0 / total)).sum(axis=1)
    statistic = ratio.reshape(-1, table.columns.shape[2]).max(axis=1)
    return np.array([statistic[list(g)].max() for g in rules.groups])


def by_cells(
    table: Table, rules: Rules, j: int, P: NDArray[np.float64], weight: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """The scores within each cell of the values of acquisition j, times the cell's weight; [] for wide groups."""
    group = rules.groups[j]
    if len(group) > 1:
        return []
    codes = table.codes[list(group)][0]
    values, cell = np.unique(codes, return_inverse=True)
    if len(values) > CELLS:
        cell = np.searchsorted(np.quantile(codes, (0.25, 0.5, 0.75)), codes)
    return [
        scores(table, rules, P, weight * (cell == v)) * (weight * (cell == v)).sum() / weight.sum()
        for v in range(cell.max() + 1)
    ]


def contexts(table: Table, rules: Rules, P: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much better the best next question becomes once j is known, float64 (J,): it may tell nothing by itself."""
    weight = np.ones(len(P))
    plain = scores(table, rules, P, weight).max(initial=0.0)
    told = [[float(np.max(s)) for s in by_cells(table, rules, j, P, weight)] for j in range(rules.n_acquisitions)]
    return np.array([sum(v) - plain if v else 0.0 for v in told])


def ranked(score: NDArray[np.float64], prices: NDArray[np.float64], legal: NDArray[np.bool_]) -> list[int]:
    """Legal acquisitions, best first: in turn by score and by score a unit of price."""
    worth = score / np.maximum(prices, 1e-12 + 1e-3 * prices.max(initial=0.0))
    best = np.argsort(-score, kind="stable"), np.argsort(-worth, kind="stable")
    order = dict.fromkeys(int(j) for pair in zip(*best) for j in pair)
    return [j for j in order if legal[j]]
