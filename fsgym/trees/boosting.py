"""Boosted trees of fixed depth for small tables: all rounds of all folds in one compiled call, which also scores
held-out rows.

``TreeGrower`` grows one tree of any shape on a large table, best leaf first and in threads. This module is for
thousands of small models, each of some hundred rows and few columns, where a function call costs more than a tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from fsgym.support.arrays import read_only
from fsgym.support.kernels import INNER

MAX_BINS = 256  # of a column
MAX_DEPTH = 7  # the numbers of all nodes and leaves of a tree are below 256
MAX_COLUMNS = 256  # of a tree: the numbers of all their bins are below 65536


class SmallForest(NamedTuple):
    """Complete binary trees, level by level: node k has the children 2k + 1 and 2k + 2."""

    # (n_trees, 2^depth - 1), row of ``codes``; 0 in a node without a cut, where all rows go left
    feature: NDArray[np.int32]
    cut: NDArray[np.uint8]  # (n_trees, 2^depth - 1), a row goes left where ``code <= cut``
    # (n_trees, 2^depth), values of the leaves; tree t belongs to output t modulo the number of outputs
    value: NDArray[np.float64]


class Growth(NamedTuple):
    """How each tree is grown."""

    depth: int  # number of cuts on each path, at most 7
    rate: float  # learning rate: the factor of each tree's values
    least: float = 5.0  # smallest weight of the rows of a leaf
    l2: float = 1.0  # added to the sum of hessians of a leaf


class _Sample(NamedTuple):
    """Arguments of ``boost``, read-only; ``n_bins``, int64 (n_features,), are the bins of each feature."""

    codes: NDArray[np.uint8]
    n_bins: NDArray[np.int64]
    y: NDArray[np.int64]
    weight: NDArray[np.float64]
    columns: NDArray[np.int64]
    sampled: NDArray[np.bool_]


class _Buffers(NamedTuple):
    """Working arrays of a forest. Two levels of nodes are stored, level k at index k modulo 2."""

    training: NDArray[np.bool_]  # (n_samples,)
    scores: NDArray[np.float64]  # (n_samples, n_outputs)
    probabilities: NDArray[np.float64]  # (n_samples, n_outputs)
    statistics: NDArray[np.float64]  # (n_samples, 4), gradient, hessian, weight and 1 for each row
    n_drawn: NDArray[np.int64]  # (1,)
    drawn: NDArray[np.uint32]  # (n_samples,), the ``n_drawn`` training rows sampled in this round, ascending
    node: NDArray[np.uint8]  # (n_samples,), the node of each row, held-out rows included
    order: NDArray[np.uint32]  # (2, n_samples), the rows of ``drawn`` node by node
    # (2, 2^depth + 1), the rows of node v of a level are ``order[level, first[v]:first[v + 1]]``
    first: NDArray[np.int64]
    # (k + 1,), where the bins of each column of the tree begin. Unsigned numbers are indices without a test of their
    # sign.
    first_bin: NDArray[np.uint64]
    bin: NDArray[np.uint16]  # (n_samples, k), the bin of each row in each column of the tree, numbered over all columns
    histogram: NDArray[np.float64]  # (2, n_nodes, n_bins, 4), sums of the statistics by node and bin
    flat: NDArray[np.float64]  # (2, n_nodes, n_bins * 4), the same memory
    # (3, n_bins), sums of gradients and hessians left of each possible cut of a node, and its gain
    candidate: NDArray[np.float64]
    candidate_bin: NDArray[np.uint64]  # (n_bins,)
    leaf: NDArray[np.float64]  # (2^depth, 4), sums of the statistics by leaf


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
        The training rows, each once.
    weight : ndarray of shape (n_samples,), float64
    scores : ndarray of shape (n_samples, n_outputs), float64
        Initial scores: one output for two classes (log-odds of the second), else one per class. The trees are added to
        them in place, for all rows including held-out ones.
    columns : ndarray of shape (n_trees, k), int64
        The features that each tree may use, at most 256.
    sampled : ndarray of shape (n_rounds, n_samples), bool
        The rows on which the trees of each round are grown, among ``rows``; the trees are added to all scores.
    growth : Growth

    Raises
    ------
    ValueError
        If a tree has more than 7 levels or 256 columns.

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
    sample, forest, buffers = _prepare(codes, y, weight, scores.shape[1], columns, sampled, growth)
    buffers.training[rows] = True
    buffers.scores[:] = scores
    _boost_trees(sample, growth, forest, buffers)
    scores[:] = buffers.scores
    return forest


def boost_folds(
    codes: NDArray[np.uint8],
    y: NDArray[np.int64],
    fold: NDArray[np.int64],
    weight: NDArray[np.float64],
    start: NDArray[np.float64],
    columns: NDArray[np.int64],
    sampled: NDArray[np.bool_],
    growth: Growth,
) -> NDArray[np.float64]:
    """Out-of-fold scores: ``boost`` without each fold in turn, whose rows get the scores. No trees are kept.

    Parameters
    ----------
    fold : ndarray of shape (n_samples,), int64
        The fold of each row, 0, 1, ...
    start : ndarray of shape (n_folds, n_outputs), float64
        Initial scores of all rows, for each fold that is left out.
    codes, y, weight, columns, sampled, growth : as in ``boost``

    Returns
    -------
    ndarray of shape (n_samples, n_outputs), float64

    Raises
    ------
    ValueError
        If a tree has more than 7 levels or 256 columns.

    Examples
    --------
    >>> import numpy as np
    >>> codes, y = np.array([[0, 0, 1, 1] * 5], np.uint8), np.array([0, 0, 1, 1] * 5)
    >>> scores = boost_folds(codes, y, np.arange(20) % 5, np.ones(20), np.zeros((5, 1)), np.zeros((9, 1), np.int64),
    ...     np.ones((9, 20), bool), Growth(depth=1, rate=0.5))
    >>> bool((np.sign(scores[:, 0]) == 2 * y - 1).all())
    True
    """
    sample, forest, buffers = _prepare(codes, y, weight, start.shape[1], columns, sampled, growth)
    scores = np.empty((len(y), start.shape[1]))
    _boost_folds(sample, read_only(fold), read_only(start), growth, forest, buffers, scores)
    return scores


def _prepare(
    codes: NDArray[np.uint8],
    y: NDArray[np.int64],
    weight: NDArray[np.float64],
    n_outputs: int,
    columns: NDArray[np.int64],
    sampled: NDArray[np.bool_],
    growth: Growth,
) -> tuple[_Sample, SmallForest, _Buffers]:
    """The sample in one form, a forest to be written, and the buffers for it; no row is for training yet."""
    (n_trees, k), n, n_leaves = columns.shape, len(y), 2**growth.depth
    if growth.depth > MAX_DEPTH or k > MAX_COLUMNS:
        raise ValueError(
            f"a boosted tree must have at most {MAX_DEPTH} levels and {MAX_COLUMNS} columns, got {growth.depth} and {k}"
        )
    n_bins = codes.max(axis=1, initial=0).astype(np.int64) + 1
    most_bins = int(np.sort(n_bins)[::-1][:k].sum())
    sample = _Sample(*(read_only(a) for a in (codes, n_bins, y, weight, columns, sampled)))
    forest = SmallForest(
        np.empty((n_trees, n_leaves - 1), np.int32),
        np.empty((n_trees, n_leaves - 1), np.uint8),
        np.empty((n_trees, n_leaves)),
    )
    histogram, statistics = np.empty((2, max(n_leaves // 2, 1), most_bins, 4)), np.zeros((n, 4))
    statistics[:, 2], statistics[:, 3] = weight, 1.0
    buffers = _Buffers(
        training=np.zeros(n, bool),
        scores=np.empty((n, n_outputs)),
        probabilities=np.empty((n, n_outputs)),
        statistics=statistics,
        n_drawn=np.zeros(1, np.int64),
        drawn=np.empty(n, np.uint32),
        node=np.empty(n, np.uint8),
        order=np.empty((2, n), np.uint32),
        first=np.empty((2, n_leaves + 1), np.int64),
        first_bin=np.zeros(k + 1, np.uint64),
        bin=np.empty((n, k), np.uint16),
        histogram=histogram,
        flat=histogram.reshape(*histogram.shape[:2], -1),
        candidate=np.empty((3, most_bins)),
        candidate_bin=np.empty(most_bins, np.uint64),
        leaf=np.empty((n_leaves, 4)),
    )
    return sample, forest, buffers


@intrinsic
def _add_row(typingctx, table, k, source, i):
    """``table[k] += source[i]`` for float64 tables of four columns, in one vector operation.

    LLVM makes four additions of a loop over the columns, since Numba turns off what would unite them.
    """

    def generate(context, builder, signature, arguments):
        row = ir.VectorType(ir.DoubleType(), 4)

        def pointer(kind, array, index):
            array = context.make_array(kind)(context, builder, array)
            first = cgutils.get_item_pointer(context, builder, kind, array, [index, ir.Constant(index.type, 0)])
            return builder.bitcast(first, row.as_pointer())

        to, added = pointer(table, *arguments[:2]), pointer(source, *arguments[2:])
        builder.store(builder.fadd(builder.load(to, align=8), builder.load(added, align=8)), to, align=8)
        return context.get_dummy_value()

    return types.void(table, types.uintp, source, types.uintp), generate


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _boost_folds(sample, fold, start, growth, forest, buffers, out):
    """Write the out-of-fold scores; ``forest`` has the trees of the last fold."""
    training, scores = buffers.training, buffers.scores
    for f in range(len(start)):
        for i in range(len(fold)):
            training[i] = fold[i] != f
            for k in range(out.shape[1]):
                scores[i, k] = start[f, k]
        _boost_trees(sample, growth, forest, buffers)
        for i in range(len(fold)):
            if not training[i]:
                for k in range(out.shape[1]):
                    out[i, k] = scores[i, k]


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _boost_trees(sample, growth, forest, buffers):
    order, first, histogram, flat = buffers.order, buffers.first, buffers.histogram, buffers.flat
    node_of, leaf, n_outputs = buffers.node, buffers.leaf, buffers.scores.shape[1]
    for t in range(len(sample.columns)):
        k, columns = t % n_outputs, sample.columns[t]
        feature, cut, value = forest.feature[t], forest.cut[t], forest.value[t]
        _number_bins(sample, t, buffers)
        if k == 0:
            _draw_rows(sample.sampled[t // n_outputs], buffers)
        _differentiate(sample, k, buffers)
        node_of[:] = 0
        _sum_by_bin(buffers, order[0, : first[0, 1]], histogram[0, 0])
        for level in range(growth.depth):
            old, new = level % 2, 1 - level % 2
            for v in range(2**level):
                node, begin, end = 2**level - 1 + v, first[old, v], first[old, v + 1]
                n_left = _find_best_cut(histogram[old, v], end - begin, columns, growth, buffers, feature, cut, node)
                middle = begin + n_left
                _move_rows(sample.codes[feature[node]], cut[node], node, node_of)
                if level + 1 == growth.depth:
                    continue
                first[new, 2 * v], first[new, 2 * v + 1], first[new, 2 * v + 2] = begin, middle, end
                _split_rows(order[old], order[new], node_of, 2 * node + 2, begin, middle, end)
                if end > begin:  # the smaller child is summed, the other is the difference
                    small = 2 * v + (middle - begin > end - middle)
                    large = 4 * v + 1 - small
                    _sum_by_bin(buffers, order[new, first[new, small] : first[new, small + 1]], histogram[new, small])
                    for s in range(4 * int(buffers.first_bin[len(columns)])):
                        flat[new, large, s] = flat[old, v, s] - flat[new, small, s]
        leaf[:] = 0.0
        for r in range(buffers.n_drawn[0]):
            i = buffers.drawn[r]
            _add_row(leaf, node_of[i] - len(feature), buffers.statistics, i)
        for v in range(len(leaf)):
            value[v] = growth.rate * leaf[v, 0] / (leaf[v, 1] + growth.l2)
        for i in range(len(node_of)):
            buffers.scores[i, k] += value[node_of[i] - len(feature)]


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy", **INNER)
def _number_bins(sample, t, buffers):
    """Number the bins of all columns of tree t, and write those of the rows, if the tree before had other columns."""
    first_bin, columns, same = buffers.first_bin, sample.columns, t > 0
    for j in range(columns.shape[1]):
        same &= columns[t, j] == columns[t - 1, j]
    if same:
        return
    for j in range(columns.shape[1]):
        feature = columns[t, j]
        first_bin[j + 1] = first_bin[j] + np.uint64(sample.n_bins[feature])
        for i in range(len(buffers.bin)):
            buffers.bin[i, j] = first_bin[j] + sample.codes[feature, i]


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy", **INNER)
def _draw_rows(sampled, buffers):
    """List the training rows sampled in a round, and write their probabilities: logistic or softmax of the scores."""
    scores, probabilities, drawn, n = buffers.scores, buffers.probabilities, buffers.drawn, np.uint64(0)
    for i in range(len(sampled)):
        drawn[n] = i
        n += np.uint64(sampled[i] & buffers.training[i])
    buffers.n_drawn[0] = n
    for r in range(n):
        i = drawn[r]
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


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy", **INNER)
def _differentiate(sample, k, buffers):
    """Write gradients and hessians of output k for the drawn rows, and put all of them into the first node."""
    statistics, positive = buffers.statistics, 1 if buffers.scores.shape[1] == 1 else k
    buffers.first[0, 0], buffers.first[0, 1] = 0, buffers.n_drawn[0]
    for r in range(buffers.n_drawn[0]):
        i = buffers.drawn[r]
        buffers.order[0, r] = i
        p, weight = buffers.probabilities[i, k], sample.weight[i]
        target = 1.0 if sample.y[i] == positive else 0.0
        statistics[i, 0] = weight * (target - p)
        statistics[i, 1] = weight * max(p * (1.0 - p), 1e-6)


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy", **INNER)
def _sum_by_bin(buffers, order, histogram):
    """Sums of the statistics of rows ``begin`` to ``end`` of an order by bin."""
    for b in range(buffers.first_bin[buffers.bin.shape[1]]):
        for s in range(4):
            histogram[b, s] = 0.0
    for r in range(len(order)):
        i = order[r]
        for j in range(buffers.bin.shape[1]):
            _add_row(histogram, buffers.bin[i, j], buffers.statistics, i)


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy", **INNER)
def _find_best_cut(histogram, n, columns, growth, buffers, feature, cut, node):
    """Write the cut that reduces the second-order loss most, of equal cuts the first; return the rows left of it.

    Without a cut, all of the n rows go left.
    """
    first_bin, least, l2 = buffers.first_bin, growth.least, growth.l2
    feature[node], cut[node] = 0, 255
    if n == 0:
        return 0
    G, H, W = 0.0, 0.0, 0.0
    for b in range(first_bin[1]):
        G += histogram[b, 0]
        H += histogram[b, 1]
        W += histogram[b, 2]
    if W - least < least:
        return n
    candidate, bins, c = buffers.candidate, buffers.candidate_bin, np.uint64(0)
    for j in range(len(first_bin) - 1):
        g, h, w = 0.0, 0.0, 0.0
        for b in range(first_bin[j], first_bin[j + 1] - np.uint64(1)):
            if histogram[b, 3] == 0.0:
                continue
            g += histogram[b, 0]
            h += histogram[b, 1]
            w += histogram[b, 2]
            if W - w < least:
                break
            candidate[0, c], candidate[1, c], bins[c] = g, h, b
            c += np.uint64(w >= least)
    for a in range(c):  # without a branch, for vector operations
        g, h = candidate[0, a], candidate[1, a]
        candidate[2, a] = g * g / (h + l2) + (G - g) ** 2 / (H - h + l2)
    best, found = G * G / (H + l2) + 1e-9, c
    for a in range(c):
        if candidate[2, a] > best:
            best, found = candidate[2, a], a
    if found == c:
        return n
    j, left = 0, 0.0
    while first_bin[j + 1] <= bins[found]:
        j += 1
    for b in range(first_bin[j], bins[found] + np.uint64(1)):
        left += histogram[b, 3]
    feature[node], cut[node] = columns[j], bins[found] - first_bin[j]
    return int(left)


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy", **INNER)
def _move_rows(codes, cut, node, node_of):
    """Move all rows of a node to its children, held-out rows too. Bytes, so that a vector operation takes many rows."""
    here, left, right = np.uint8(node), np.uint8(2 * node + 1), np.uint8(2 * node + 2)
    for i in range(len(node_of)):
        child = right if codes[i] > cut else left
        node_of[i] = child if node_of[i] == here else node_of[i]


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy", **INNER)
def _split_rows(old, new, node_of, right_node, begin, middle, end):
    """Copy rows ``begin`` to ``end`` from an order to a new one: those that go right from ``middle`` on."""
    left, right = begin, middle
    for r in range(begin, end):
        i = old[r]
        goes_right = np.int64(node_of[i] == right_node)
        new[left + goes_right * (right - left)] = i
        right += goes_right
        left += 1 - goes_right
