"""A forest for class probabilities: trees on bootstrap samples, each leaf with the shares of the classes in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.support.arrays import read_only
from fsgym.support.kernels import INNER

MAX_CODES = 256  # of a column


class BaggedTrees(NamedTuple):
    """Trees in concatenated arrays. The forest's shares are the means of those of its trees."""

    root: NDArray[np.int64]  # (n_trees,), first node of each tree
    place: NDArray[np.int32]  # (n_nodes,), for an inner node the row of ``codes`` that it splits on
    cut: NDArray[np.uint8]  # (n_nodes,), a row goes left where ``code <= cut``
    child: NDArray[np.int32]  # (n_nodes,), the left child, followed by the right one; of a leaf, -1 minus its number
    # (n_leaves + 1,), the entries of leaf v are ``leaf_first[v]`` to ``leaf_first[v + 1]``
    leaf_first: NDArray[np.int64]
    leaf_class: NDArray[np.int32]  # (n_entries,), classes in ascending order
    leaf_share: NDArray[np.float32]  # (n_entries,), above 0; those of a leaf add up to 1


class ForestGrowth(NamedTuple):
    """How each tree is grown (Breiman, 2001)."""

    n_tried: int  # columns that vary among which each node chooses, drawn at random
    min_leaf: float  # least weight of the rows of a leaf
    max_nodes: int  # of a tree; nodes are split level by level until there are so many


def empty_forest() -> BaggedTrees:
    """A forest without trees."""
    return BaggedTrees(
        np.zeros(0, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.uint8),
        np.zeros(0, np.int32),
        np.zeros(1, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.float32),
    )


def grow_forest(
    codes: NDArray[np.uint8],
    y: NDArray[np.int64],
    weights: Iterable[NDArray[np.float64]],
    growth: ForestGrowth,
    seed: int,
) -> BaggedTrees:
    """Grow one tree for each of ``weights``, splits by the Gini impurity.

    Parameters
    ----------
    codes : uint8 (n_columns, n_samples), bins
    y : int64 (n_samples,), classes 0, 1, ...
    weights : float64 (n_samples,) for each tree, 0 for rows that are not in its sample
    growth : ForestGrowth
    seed : int
    """
    n_classes = int(y.max()) + 1
    rng = np.random.default_rng(seed)
    trees = [_grow_tree(codes, read_only(y), w, n_classes, growth, rng) for w in weights]
    return join_forests([BaggedTrees(np.zeros(1, np.int64), *nodes, *leaves) for nodes, leaves in trees])


def join_forests(forests: list[BaggedTrees]) -> BaggedTrees:
    """The forest of all trees, with nodes and leaves renumbered."""
    n_nodes = np.cumsum([0, *(len(f.place) for f in forests)])
    n_leaves = np.cumsum([0, *(len(f.leaf_first) - 1 for f in forests)])
    n_entries = np.cumsum([0, *(len(f.leaf_class) for f in forests)])
    parts = [empty_forest(), *forests]
    child = [np.where(f.child >= 0, f.child + a, f.child - b) for f, a, b in zip(forests, n_nodes, n_leaves)]
    return BaggedTrees(
        np.concatenate([f.root + a for f, a in zip(forests, n_nodes)] or [parts[0].root]),
        np.concatenate([f.place for f in parts]),
        np.concatenate([f.cut for f in parts]),
        np.concatenate([parts[0].child, *child]).astype(np.int32),
        np.concatenate([[0], *(f.leaf_first[1:] + a for f, a in zip(forests, n_entries))]).astype(np.int64),
        np.concatenate([f.leaf_class for f in parts]),
        np.concatenate([f.leaf_share for f in parts]),
    )


@njit(cache=True, nogil=True, _nrt=False)
def add_shares(forest, codes, rows, shares):
    """Add the mean shares of the trees for some rows to ``shares``, float64 (n_samples, n_classes).

    ``forest`` is BaggedTrees, ``codes`` uint8 (n_columns, n_samples), ``rows`` int64 (n,).
    """
    n_trees, child = len(forest.root), forest.child
    for t in range(n_trees):
        for r in range(len(rows)):
            i, v = rows[r], forest.root[t]
            while child[v] >= 0:
                v = child[v] + (codes[forest.place[v], i] > forest.cut[v])
            leaf = -1 - child[v]
            for e in range(forest.leaf_first[leaf], forest.leaf_first[leaf + 1]):
                shares[i, forest.leaf_class[e]] += forest.leaf_share[e] / n_trees


class _Scratch(NamedTuple):
    """Memory for the search of a cut."""

    columns: NDArray[np.int64]  # (n_columns,), in any order
    start: NDArray[np.int32]  # (257,), places of codes
    # (n_classes,), weights of the classes in a node and on the left of a cut
    total: NDArray[np.float64]
    left: NDArray[np.float64]


@njit(cache=True, nogil=True)
def _grow_tree(codes, y, weight, n_classes, growth, rng):
    order, n = _rows_with_weight(weight)
    buffer = np.empty(n, np.int32)
    max_nodes = min(growth.max_nodes, max(2 * n - 1, 1))
    place, cut = np.zeros(max_nodes, np.int32), np.zeros(max_nodes, np.uint8)
    child, first, last = np.empty(max_nodes, np.int32), np.empty(max_nodes, np.int32), np.empty(max_nodes, np.int32)
    leaf_first, leaf_class = np.zeros(max_nodes // 2 + 2, np.int64), np.empty(n + 1, np.int32)
    leaf_share = np.empty(n + 1, np.float32)
    scratch = _Scratch(
        np.arange(len(codes)), np.empty(MAX_CODES + 1, np.int32), np.empty(n_classes), np.empty(n_classes)
    )
    first[0], last[0], n_nodes, n_leaves, n_entries, v = 0, n, 1, 0, 0, 0
    while v < n_nodes:
        begin, end = first[v], last[v]
        rows = order[begin:end]
        mass = _sum_classes(y, weight, rows, scratch.total)
        column, where = -1, 0
        if mass >= 2 * growth.min_leaf and n_nodes + 2 <= max_nodes and len(rows) > 1:
            column, where = _choose_cut(codes, y, weight, rows, buffer[begin:end], scratch, growth, rng)
        if column < 0:
            child[v] = -1 - n_leaves
            for k in range(n_classes):
                if scratch.total[k] > 0:
                    leaf_class[n_entries], leaf_share[n_entries] = k, scratch.total[k] / mass
                    n_entries += 1
            n_leaves += 1
            leaf_first[n_leaves] = n_entries
        else:
            middle = begin + _divide_rows(codes[column], where, rows, buffer)
            place[v], cut[v], child[v] = column, where, n_nodes
            first[n_nodes], last[n_nodes] = begin, middle
            first[n_nodes + 1], last[n_nodes + 1] = middle, end
            n_nodes += 2
        v += 1
    nodes = place[:n_nodes].copy(), cut[:n_nodes].copy(), child[:n_nodes].copy()
    return nodes, (leaf_first[: n_leaves + 1].copy(), leaf_class[:n_entries].copy(), leaf_share[:n_entries].copy())


@njit(cache=True, nogil=True, **INNER)
def _choose_cut(codes, y, weight, rows, buffer, scratch, growth, rng):
    """The best cut of the rows among some columns, as column and code; column -1 where none is better than no cut."""
    mass, squares = 0.0, 0.0
    for k in range(len(scratch.total)):
        mass += scratch.total[k]
        squares += scratch.total[k] * scratch.total[k]
    best, best_column, best_code = squares / mass * (1.0 + 1e-12), -1, 0
    columns, n_left, n_varying = scratch.columns, len(scratch.columns), 0
    while n_left > 0 and n_varying < growth.n_tried:
        k = np.int64(rng.random() * n_left)
        n_left -= 1
        column = columns[k]
        columns[k], columns[n_left] = columns[n_left], column
        if not _sort_by_code(codes[column], rows, buffer, scratch.start):
            continue
        n_varying += 1
        gain, code = _best_cut(codes[column], y, weight, buffer, scratch, growth.min_leaf)
        if gain > best:
            best, best_column, best_code = gain, column, code
    return best_column, best_code


@njit(cache=True, nogil=True, **INNER)
def _rows_with_weight(weight):
    order, n = np.empty(len(weight), np.int32), 0
    for i in range(len(weight)):
        if weight[i] > 0:
            order[n] = i
            n += 1
    return order[:n], n


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _sum_classes(y, weight, rows, total):
    """Write the weights of the classes; return their sum."""
    total[:] = 0.0
    mass = 0.0
    for r in range(len(rows)):
        total[y[rows[r]]] += weight[rows[r]]
        mass += weight[rows[r]]
    return mass


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _sort_by_code(codes, rows, buffer, start):
    """Write the rows of a node to ``buffer`` in the order of their codes; False where all have the same code."""
    lowest, highest = MAX_CODES, -1
    for r in range(len(rows)):
        code = np.int64(codes[rows[r]])
        lowest, highest = min(lowest, code), max(highest, code)
    if lowest >= highest:
        return False
    for code in range(lowest, highest + 2):
        start[code] = 0
    for r in range(len(rows)):
        start[codes[rows[r]] + 1] += 1
    start[lowest] = 0
    for code in range(lowest + 1, highest + 1):
        start[code] += start[code - 1]
    for r in range(len(rows)):
        i = rows[r]
        buffer[start[codes[i]]] = i
        start[codes[i]] += 1
    return True


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _best_cut(codes, y, weight, rows, scratch, min_leaf):
    """The largest sum over both sides of squared class weights by weight, and its cut; -1 where no cut is allowed.

    The rows are in the order of their codes.
    """
    total, left = scratch.total, scratch.left
    left[:] = 0.0
    mass_left, squares_left, mass_right, squares_right = 0.0, 0.0, 0.0, 0.0
    for k in range(len(total)):
        mass_right += total[k]
        squares_right += total[k] * total[k]
    best, where = -1.0, 0
    for r in range(len(rows) - 1):
        i = rows[r]
        k, w = y[i], weight[i]
        squares_left += w * (2 * left[k] + w)
        squares_right -= w * (2 * (total[k] - left[k]) - w)
        left[k] += w
        mass_left += w
        mass_right -= w
        if codes[i] != codes[rows[r + 1]] and mass_left >= min_leaf and mass_right >= min_leaf:
            gain = squares_left / mass_left + squares_right / mass_right
            if gain > best:
                best, where = gain, np.int64(codes[i])
    return best, where


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _divide_rows(codes, cut, rows, buffer):
    """Move the rows that go left before those that go right, both in their old order; return how many go left."""
    n_left, n_right = 0, 0
    for r in range(len(rows)):
        i = rows[r]
        if codes[i] > cut:
            buffer[n_right] = i
            n_right += 1
        else:
            rows[n_left] = i
            n_left += 1
    for r in range(n_right):
        rows[n_left + r] = buffer[r]
    return n_left
