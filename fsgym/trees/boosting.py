"""Boosted trees of fixed depth for small tables: all rounds in one compiled call, which also scores held-out rows.

``TreeGrower`` grows one tree of any shape on a large table, best leaf first and in threads. This module is for
thousands of small models, each of some hundred rows and few columns, where a function call costs more than a tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

MOST_BINS = 256  # of a column


class SmallForest(NamedTuple):
    """Complete binary trees, level by level: node k has the children 2k + 1 and 2k + 2.

    Attributes
    ----------
    feature : ndarray of shape (n_trees, 2^depth - 1), int32
        Row of ``codes``; 0 in a node without a cut, where all rows go left.
    cut : ndarray of shape (n_trees, 2^depth - 1), uint8
        A row goes left where ``code <= cut``.
    value : ndarray of shape (n_trees, 2^depth), float64
        Values of the leaves; tree t belongs to output t modulo the number of outputs.
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.uint8]
    value: NDArray[np.float64]


class Growth(NamedTuple):
    """How each tree is grown.

    Attributes
    ----------
    depth : int
        Number of cuts on each path.
    rate : float
        Learning rate: the factor of each tree's values.
    least : float
        Smallest weight of the rows of a leaf.
    l2 : float
        Added to the sum of hessians of a leaf.
    """

    depth: int
    rate: float
    least: float = 5.0
    l2: float = 1.0


class _Sample(NamedTuple):
    """The training rows: arguments of ``boost``, with ``codes`` as (n_samples, n_features)."""

    codes: NDArray[np.uint8]
    n_bins: NDArray[np.int64]
    y: NDArray[np.int64]
    weight: NDArray[np.float64]
    sampled: NDArray[np.bool_]


class _Buffers(NamedTuple):
    """Arrays that each tree overwrites; two levels of nodes are stored, level k at index k modulo 2.

    Attributes
    ----------
    statistics : ndarray of shape (n_samples, 4), float64
        Gradient, hessian, weight and 1 for each row.
    probabilities : ndarray of shape (n_samples, n_outputs), float64
    order : ndarray of shape (2, n_samples), int64
        Rows node by node, and a buffer for moving them.
    first : ndarray of shape (2, 2^depth + 1), int64
        The rows of node v of a level are ``order[0, first[v]:first[v + 1]]``.
    histogram : ndarray of shape (2, n_nodes, k, n_bins, 4), float64
        Sums of the statistics by node, column and bin.
    """

    statistics: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    order: NDArray[np.int64]
    first: NDArray[np.int64]
    histogram: NDArray[np.float64]


def boost(
    codes: NDArray[np.uint8],
    y: NDArray[np.int64],
    rows: NDArray[np.int64],
    weight: NDArray[np.float64],
    scores: NDArray[np.float64],
    columns: NDArray[np.int64],
    sampled: NDArray[np.bool_],
    growth: Growth,
) -> SmallForest:
    """Newton boosting of the log loss, each tree from some of the rows (Friedman, 2001 and 2002).

    Second order as in Chen and Guestrin (2016).

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_samples), uint8
        Bins, one row per feature.
    y : ndarray of shape (n_samples,), int64
        Classes 0, 1, ...
    rows : ndarray of int64
        The training rows.
    weight : ndarray of shape (n_samples,), float64
    scores : ndarray of shape (n_samples, n_outputs), float64
        Initial scores: one output for two classes (log-odds of the second), else one per class. The trees are added to
        them in place, for all rows including held-out ones.
    columns : ndarray of shape (n_trees, k), int64
        The features that each tree may use.
    sampled : ndarray of shape (n_rounds, n_samples), bool
        The rows on which the trees of each round are grown, among ``rows``; the trees are added to all scores.
    growth : Growth

    Examples
    --------
    >>> import numpy as np
    >>> codes, y = np.array([[0, 0, 1, 1] * 5], np.uint8), np.array([0, 0, 1, 1] * 5)
    >>> scores = np.zeros((20, 1))
    >>> forest = boost(codes, y, np.arange(20), np.ones(20), scores, np.zeros((9, 1), np.int64),
    ...     np.ones((9, 20), bool), Growth(depth=1, rate=0.5))
    >>> bool((np.sign(scores[:, 0]) == 2 * y - 1).all()), forest.cut[0, 0]
    (True, np.uint8(0))
    """
    n_trees, n_nodes = len(columns), 2**growth.depth - 1
    forest = SmallForest(
        np.zeros((n_trees, n_nodes), np.int32),
        np.full((n_trees, n_nodes), 255, np.uint8),
        np.zeros((n_trees, n_nodes + 1)),
    )
    n, k = len(rows), columns.shape[1]
    left_out = np.ones(codes.shape[1], bool)
    left_out[rows] = False
    rest = np.flatnonzero(left_out)
    codes_by_row = np.ascontiguousarray(codes.T)
    inside, outside = scores[rows], scores[rest]
    n_bins = codes.max(axis=1, initial=0).astype(np.int64) + 1
    sample = _Sample(codes_by_row[rows], n_bins, y[rows], weight[rows], sampled.take(rows, axis=1))
    buffers = _Buffers(
        np.empty((n, 4)),
        np.empty(inside.shape),
        np.empty((2, n), np.int64),
        np.empty((2, n_nodes + 2), np.int64),
        np.empty((2, 2 ** max(growth.depth - 1, 0), k, int(n_bins.max()), 4)),
    )
    _boost_trees(sample, inside, np.ascontiguousarray(columns), growth, forest, buffers)
    _add_forest(codes_by_row[rest], forest, outside)
    scores[rows], scores[rest] = inside, outside
    return forest


@njit(cache=True, nogil=True, _nrt=False)
def _boost_trees(sample, scores, columns, growth, forest, buffers):
    n_outputs, depth = scores.shape[1], growth.depth
    statistics, first, histogram = buffers.statistics, buffers.first, buffers.histogram
    for t in range(len(columns)):
        k = t % n_outputs
        feature, cut, value = forest.feature[t], forest.cut[t], forest.value[t]
        if k == 0:
            _write_probabilities(scores, buffers.probabilities)
        n = _differentiate(sample, t // n_outputs, k, buffers)
        first[0, 0], first[0, 1] = 0, n
        _sum_by_bin(sample, columns[t], buffers, 0, n, histogram[0, 0])
        for level in range(depth):
            old, new = level % 2, 1 - level % 2
            for v in range(2**level):
                node, begin, end = 2**level - 1 + v, first[old, v], first[old, v + 1]
                if end > begin:
                    _find_best_cut(histogram[old, v], sample.n_bins, columns[t], growth, feature, cut, node)
                middle = _split_rows(sample.codes, feature[node], cut[node], buffers.order, begin, end)
                first[new, 2 * v], first[new, 2 * v + 1], first[new, 2 * v + 2] = begin, middle, end
                if level + 1 < depth and end > begin:
                    _sum_children(sample, columns[t], buffers, old, v)
        leaves = first[depth % 2]
        for v in range(len(value)):
            g, h = 0.0, 0.0
            for r in range(leaves[v], leaves[v + 1]):
                g += statistics[buffers.order[0, r], 0]
                h += statistics[buffers.order[0, r], 1]
            value[v] = growth.rate * g / (h + growth.l2)
        _add_tree(sample.codes, feature, cut, value, scores[:, k])


@njit(cache=True, nogil=True, _nrt=False)
def _differentiate(sample, turn, k, buffers):
    """Write gradients and hessians of output k for the rows sampled in this round; return the number of these rows."""
    statistics, n_outputs, n = buffers.statistics, buffers.probabilities.shape[1], 0
    for i in range(len(sample.y)):
        if not sample.sampled[turn, i]:
            continue
        p, weight = buffers.probabilities[i, k], sample.weight[i]
        target = 1.0 if sample.y[i] == (1 if n_outputs == 1 else k) else 0.0
        statistics[i, 0] = weight * (target - p)
        statistics[i, 1] = weight * max(p * (1.0 - p), 1e-6)
        statistics[i, 2] = weight
        statistics[i, 3] = 1.0
        buffers.order[0, n] = i
        n += 1
    return n


@njit(cache=True, nogil=True, _nrt=False)
def _add_forest(codes, forest, scores):
    """Add the trees to ``scores`` (n_rows, n_outputs)."""
    for t in range(len(forest.feature)):
        _add_tree(codes, forest.feature[t], forest.cut[t], forest.value[t], scores[:, t % scores.shape[1]])


@njit(cache=True, nogil=True, _nrt=False)
def _add_tree(codes, feature, cut, value, scores):
    """Add one tree to ``scores`` (n_rows,)."""
    n_nodes = len(feature)
    for i in range(len(scores)):
        v = 0
        while v < n_nodes:
            v = 2 * v + 1 + (codes[i, feature[v]] > cut[v])
        scores[i] += value[v - n_nodes]


@njit(cache=True, nogil=True, _nrt=False)
def _split_rows(codes, feature, cut, order, begin, end):
    """Move the rows that go left before those that go right, both in their old order; return the first right index."""
    left, right = begin, 0
    for r in range(begin, end):
        i = order[0, r]
        if codes[i, feature] > cut:
            order[1, right] = i
            right += 1
        else:
            order[0, left] = i
            left += 1
    for r in range(right):
        order[0, left + r] = order[1, r]
    return left


@njit(cache=True, nogil=True, _nrt=False)
def _sum_by_bin(sample, columns, buffers, begin, end, histogram):
    """Sums of gradients, hessians, weights and ones of rows ``begin`` to ``end`` by column and bin."""
    codes, n_bins, order, statistics = sample.codes, sample.n_bins, buffers.order[0], buffers.statistics
    for f in range(len(columns)):
        histogram[f, : n_bins[columns[f]]] = 0.0
    for r in range(begin, end):
        i = order[r]
        g, h, w = statistics[i, 0], statistics[i, 1], statistics[i, 2]
        for f in range(len(columns)):
            b = codes[i, columns[f]]
            histogram[f, b, 0] += g
            histogram[f, b, 1] += h
            histogram[f, b, 2] += w
            histogram[f, b, 3] += 1.0


@njit(cache=True, nogil=True, _nrt=False)
def _sum_children(sample, columns, buffers, old, v):
    """Sums of both children of node v in level ``old``: the smaller child is summed, the other is the difference."""
    first, parent = buffers.first[1 - old], buffers.histogram[old, v]
    begin, middle, end = first[2 * v], first[2 * v + 1], first[2 * v + 2]
    small, large = buffers.histogram[1 - old, 2 * v], buffers.histogram[1 - old, 2 * v + 1]
    if middle - begin > end - middle:
        small, large, begin = large, small, middle
    else:
        end = middle
    _sum_by_bin(sample, columns, buffers, begin, end, small)
    for f in range(len(columns)):
        for b in range(sample.n_bins[columns[f]]):
            for s in range(4):
                large[f, b, s] = parent[f, b, s] - small[f, b, s]


@njit(cache=True, nogil=True, _nrt=False)
def _write_probabilities(scores, probabilities):
    """Write the probability of each output for each row: logistic of one score, softmax of several."""
    for i in range(len(scores)):
        if scores.shape[1] == 1:
            probabilities[i, 0] = 1.0 / (1.0 + np.exp(-scores[i, 0]))
            continue
        top, total = scores[i, 0], 0.0
        for k in range(scores.shape[1]):
            top = max(top, scores[i, k])
        for k in range(scores.shape[1]):
            probabilities[i, k] = np.exp(scores[i, k] - top)
            total += probabilities[i, k]
        for k in range(scores.shape[1]):
            probabilities[i, k] /= total


@njit(cache=True, nogil=True, _nrt=False)
def _find_best_cut(histogram, n_bins, columns, growth, feature, cut, v):
    """Write the cut that reduces the second-order loss most; of equal cuts the first."""
    least, l2 = growth.least, growth.l2
    G, H, W = 0.0, 0.0, 0.0
    for b in range(n_bins[columns[0]]):
        G += histogram[0, b, 0]
        H += histogram[0, b, 1]
        W += histogram[0, b, 2]
    if W - least < least:
        return
    best = G * G / (H + l2) + 1e-9
    for f in range(len(columns)):
        g, h, w = 0.0, 0.0, 0.0
        for b in range(n_bins[columns[f]] - 1):
            if histogram[f, b, 3] == 0.0:
                continue
            g += histogram[f, b, 0]
            h += histogram[f, b, 1]
            w += histogram[f, b, 2]
            if W - w < least:
                break
            if w >= least:
                gain = g * g / (h + l2) + (G - g) ** 2 / (H - h + l2)
                if gain > best:
                    best = gain
                    feature[v], cut[v] = columns[f], b
