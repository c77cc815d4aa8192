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


def boost(
    codes: NDArray[np.uint8],
    y: NDArray[np.int64],
    rows: NDArray[np.int64],
    weight: NDArray[np.float64],
    scores: NDArray[np.float64],
    columns: NDArray[np.int64],
    *,
    depth: int,
    rate: float,
    least: float = 5.0,
    l2: float = 1.0,
) -> SmallForest:
    """Newton boosting of the log loss (Friedman, 2001; second order as in Chen and Guestrin, 2016).

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
    depth : int
        Questions on each path.
    rate, least, l2 : float
        Shrinkage of a tree, least weight of a leaf, and what is added to its sum of hessians.

    Examples
    --------
    >>> import numpy as np
    >>> codes, y = np.array([[0, 0, 1, 1] * 5], np.uint8), np.array([0, 0, 1, 1] * 5)
    >>> scores = np.zeros((20, 1))
    >>> forest = boost(codes, y, np.arange(20), np.ones(20), scores, np.zeros((9, 1), np.int64), depth=1, rate=0.5)
    >>> bool((np.sign(scores[:, 0]) == 2 * y - 1).all()), forest.cut[0, 0]
    (True, np.uint8(0))
    """
    n_trees, n_nodes = len(columns), 2**depth - 1
    forest = SmallForest(
        np.zeros((n_trees, n_nodes), np.int32), np.full((n_trees, n_nodes), 255, np.uint8),
        np.zeros((n_trees, n_nodes + 1)),
    )  # fmt: skip
    n, k = codes.shape[1], columns.shape[1]
    buffers = (
        np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(scores.shape),
        np.empty((2 ** max(depth - 1, 0), k, MOST_BINS, 3)), np.empty((n_nodes + 1, 2)),
    )  # fmt: skip
    _boost(codes, y, rows, weight, scores, columns, depth, rate, least, l2, *forest, *buffers)
    return forest


@njit(cache=True, nogil=True, _nrt=False)
def _boost(
    codes, y, rows, weight, scores, columns, depth, rate, least, l2,
    feature, cut, value, place, gradient, hessian, shares, histogram, total,
):  # fmt: skip
    n_outputs = scores.shape[1]
    for t in range(len(columns)):
        k = t % n_outputs
        if k == 0:
            _shares(scores, shares)
        for r in range(len(rows)):
            i = rows[r]
            p = shares[i, k]
            truth = 1.0 if y[i] == (1 if n_outputs == 1 else k) else 0.0
            gradient[i] = weight[i] * (truth - p)
            hessian[i] = weight[i] * max(p * (1.0 - p), 1e-6)
        place[:] = 0
        for level in range(depth):
            first, n_open = 2**level - 1, 2**level
            _count(codes, rows, weight, columns[t], place, gradient, hessian, histogram, n_open)
            for v in range(n_open):
                _best_cut(histogram[v], columns[t], least, l2, feature[t], cut[t], first + v)
            for i in range(len(place)):
                v = first + place[i]
                place[i] = 2 * place[i] + (codes[feature[t, v], i] > cut[t, v])
        total[:, :] = 0.0
        for r in range(len(rows)):
            i = rows[r]
            total[place[i], 0] += gradient[i]
            total[place[i], 1] += hessian[i]
        for v in range(value.shape[1]):
            value[t, v] = rate * total[v, 0] / (total[v, 1] + l2)
        for i in range(len(place)):
            scores[i, k] += value[t, place[i]]


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
def _count(codes, rows, weight, columns, place, gradient, hessian, histogram, n_open):
    """Sums of gradients, hessians and weights by open node, column and bin."""
    histogram[:n_open] = 0.0
    for f in range(len(columns)):
        line = codes[columns[f]]
        for r in range(len(rows)):
            i = rows[r]
            cell = histogram[place[i], f, line[i]]
            cell[0] += gradient[i]
            cell[1] += hessian[i]
            cell[2] += weight[i]


@njit(cache=True, nogil=True, _nrt=False)
def _best_cut(histogram, columns, least, l2, feature, cut, v):
    """The cut that takes most off the loss, to second order; the first of equals."""
    G, H, W = 0.0, 0.0, 0.0
    for b in range(histogram.shape[1]):
        G += histogram[0, b, 0]
        H += histogram[0, b, 1]
        W += histogram[0, b, 2]
    best = G * G / (H + l2) + 1e-9
    for f in range(len(columns)):
        g, h, w = 0.0, 0.0, 0.0
        for b in range(histogram.shape[1] - 1):
            if histogram[f, b, 2] == 0.0:
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
