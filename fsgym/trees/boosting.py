"""Boosted trees of fixed depth for small tables: all rounds in one compiled call, rows left out are scored as it goes.

``TreeGrower`` grows one tree of any shape on a large table, best leaf first and in threads. Here thousands of small
models are wanted, each from some hundred rows and few columns, and the call of a function costs more than a tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

MOST_BINS = 24


class SmallForest(NamedTuple):
    """Complete binary trees, level by level: node k has the children 2k + 1 and 2k + 2.

    Attributes
    ----------
    feature : ndarray of shape (n_trees, 2^depth - 1), int32
        Row of ``codes``, 0 where nothing is asked and all go left.
    cut : ndarray of shape (n_trees, 2^depth - 1), uint8
        A row goes left where ``code <= cut``.
    value : ndarray of shape (n_trees, 2^depth), float64
        Of the leaves; tree t belongs to output t modulo the number of outputs.
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.uint8]
    value: NDArray[np.float64]


class Growth(NamedTuple):
    """How each tree is grown.

    Attributes
    ----------
    depth : int
        Questions on each path.
    rate : float
        Shrinkage of a tree.
    least : float
        Least weight of a leaf.
    l2 : float
        What is added to the sum of hessians of a leaf.
    """

    depth: int
    rate: float
    least: float = 5.0
    l2: float = 1.0


class _Sample(NamedTuple):
    """The rows that are learnt from, as ``boost`` takes them, but ``codes`` (n_samples, n_features) by row."""

    codes: NDArray[np.uint8]
    n_bins: NDArray[np.int64]
    y: NDArray[np.int64]
    weight: NDArray[np.float64]
    drawn: NDArray[np.bool_]


class _Buffers(NamedTuple):
    """What is overwritten with each tree; two levels of nodes are held, that of depth k in place k modulo 2.

    Attributes
    ----------
    statistics : ndarray of shape (n_samples, 4), float64
        Gradient, hessian, weight and 1 of each row.
    shares : ndarray of shape (n_samples, n_outputs), float64
    order : ndarray of shape (2, n_samples), int64
        Rows node by node, and what is moved meanwhile.
    first : ndarray of shape (2, 2^depth + 1), int64
        The rows of node v of a level are ``order[0, first[v]:first[v + 1]]``.
    histogram : ndarray of shape (2, n_nodes, k, 24, 4), float64
        Sums of the statistics by node, column and bin.
    """

    statistics: NDArray[np.float64]
    shares: NDArray[np.float64]
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
    drawn: NDArray[np.bool_],
    growth: Growth,
) -> SmallForest:
    """Newton boosting of the log loss, each tree from some of the rows (Friedman, 2001 and 2002).

    Second order as in Chen and Guestrin (2016).

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_samples), uint8, below 24
        Bins, a row of the array a feature.
    y : ndarray of shape (n_samples,), int64
        Classes 0, 1, ...
    rows : ndarray of int64
        The rows that are learnt from.
    weight : ndarray of shape (n_samples,), float64
    scores : ndarray of shape (n_samples, n_outputs), float64
        Where scores begin, one output for two classes (log-odds of the second), else one a class. They become those of
        all rows, those left out too.
    columns : ndarray of shape (n_trees, k), int64
        The features that each tree may ask for.
    drawn : ndarray of shape (n_rounds, n_samples), bool
        The rows that the trees of each round are grown on, of those in ``rows``; their leaves are added to all scores.
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
    by_row = np.ascontiguousarray(codes.T)
    learnt, others = scores[rows], scores[rest]
    n_bins = codes.max(axis=1, initial=0).astype(np.int64) + 1
    sample = _Sample(by_row[rows], n_bins, y[rows], weight[rows], drawn.take(rows, axis=1))
    buffers = _Buffers(
        np.empty((n, 4)),
        np.empty(learnt.shape),
        np.empty((2, n), np.int64),
        np.empty((2, n_nodes + 2), np.int64),
        np.empty((2, 2 ** max(growth.depth - 1, 0), k, MOST_BINS, 4)),
    )
    _boost(sample, learnt, columns, growth, forest, buffers)
    _score(by_row[rest], forest, others)
    scores[rows], scores[rest] = learnt, others
    return forest


@njit(cache=True, nogil=True, _nrt=False)
def _boost(sample, scores, columns, growth, forest, buffers):
    n_outputs, depth = scores.shape[1], growth.depth
    statistics, first, histogram = buffers.statistics, buffers.first, buffers.histogram
    for t in range(len(columns)):
        k = t % n_outputs
        feature, cut, value = forest.feature[t], forest.cut[t], forest.value[t]
        if k == 0:
            _shares(scores, buffers.shares)
        n = _differentiate(sample, t // n_outputs, k, buffers)
        first[0, 0], first[0, 1] = 0, n
        _count(sample, columns[t], buffers, 0, n, histogram[0, 0])
        for level in range(depth):
            old, new = level % 2, 1 - level % 2
            for v in range(2**level):
                node, begin, end = 2**level - 1 + v, first[old, v], first[old, v + 1]
                if end > begin:
                    _best_cut(histogram[old, v], sample.n_bins, columns[t], growth, feature, cut, node)
                middle = _divide(sample.codes, feature[node], cut[node], buffers.order, begin, end)
                first[new, 2 * v], first[new, 2 * v + 1], first[new, 2 * v + 2] = begin, middle, end
                if level + 1 < depth and end > begin:
                    _count_both(sample, columns[t], buffers, old, v)
        leaves = first[depth % 2]
        for v in range(len(value)):
            g, h = 0.0, 0.0
            for r in range(leaves[v], leaves[v + 1]):
                g += statistics[buffers.order[0, r], 0]
                h += statistics[buffers.order[0, r], 1]
            value[v] = growth.rate * g / (h + growth.l2)
        _add(sample.codes, feature, cut, value, scores[:, k])


@njit(cache=True, nogil=True, _nrt=False)
def _differentiate(sample, turn, k, buffers):
    """Gradients and hessians of output k for the rows drawn in this round, in their order; return how many they are."""
    statistics, n_outputs, n = buffers.statistics, buffers.shares.shape[1], 0
    for i in range(len(sample.y)):
        if not sample.drawn[turn, i]:
            continue
        p, weight = buffers.shares[i, k], sample.weight[i]
        truth = 1.0 if sample.y[i] == (1 if n_outputs == 1 else k) else 0.0
        statistics[i, 0] = weight * (truth - p)
        statistics[i, 1] = weight * max(p * (1.0 - p), 1e-6)
        statistics[i, 2] = weight
        statistics[i, 3] = 1.0
        buffers.order[0, n] = i
        n += 1
    return n


@njit(cache=True, nogil=True, _nrt=False)
def _score(codes, forest, scores):
    """Add the trees to the scores of rows."""
    for t in range(len(forest.feature)):
        _add(codes, forest.feature[t], forest.cut[t], forest.value[t], scores[:, t % scores.shape[1]])


@njit(cache=True, nogil=True, _nrt=False)
def _add(codes, feature, cut, value, scores):
    """Add a tree to the scores of rows."""
    n_nodes = len(feature)
    for i in range(len(scores)):
        v = 0
        while v < n_nodes:
            v = 2 * v + 1 + (codes[i, feature[v]] > cut[v])
        scores[i] += value[v - n_nodes]


@njit(cache=True, nogil=True, _nrt=False)
def _divide(codes, feature, cut, order, begin, end):
    """Bring the rows that go left before those that go right, each in their order; return where the latter begin."""
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
def _count(sample, columns, buffers, begin, end, histogram):
    """Sums of gradients, hessians, weights and ones of some rows by column and bin."""
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
def _count_both(sample, columns, buffers, old, v):
    """The sums of both children of node v in level ``old``: the smaller one is counted, the other is what remains."""
    first, parent = buffers.first[1 - old], buffers.histogram[old, v]
    begin, middle, end = first[2 * v], first[2 * v + 1], first[2 * v + 2]
    small, large = buffers.histogram[1 - old, 2 * v], buffers.histogram[1 - old, 2 * v + 1]
    if middle - begin > end - middle:
        small, large, begin = large, small, middle
    else:
        end = middle
    _count(sample, columns, buffers, begin, end, small)
    for f in range(len(columns)):
        for b in range(sample.n_bins[columns[f]]):
            for s in range(4):
                large[f, b, s] = parent[f, b, s] - small[f, b, s]


@njit(cache=True, nogil=True, _nrt=False)
def _shares(scores, shares):
    """Probabilities of the outputs."""
    for i in range(len(scores)):
        if scores.shape[1] == 1:
            shares[i, 0] = 1.0 / (1.0 + np.exp(-scores[i, 0]))
            continue
        top, total = scores[i, 0], 0.0
        for k in range(scores.shape[1]):
            top = max(top, scores[i, k])
        for k in range(scores.shape[1]):
            shares[i, k] = np.exp(scores[i, k] - top)
            total += shares[i, k]
        for k in range(scores.shape[1]):
            shares[i, k] /= total


@njit(cache=True, nogil=True, _nrt=False)
def _best_cut(histogram, n_bins, columns, growth, feature, cut, v):
    """The cut that takes most off the loss, to second order; the first of equals."""
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
