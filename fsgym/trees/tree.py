"""Regression trees of first or second order on binned columns, grown best leaf first, with a price per column."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.trees import histogram as kernels
from fsgym.trees.binning import BinnedTable
from fsgym.trees.histogram import Bins, Leaf, Limits, Rows

Vector = NDArray[np.float64]
NODE_DTYPES = (np.int32, np.float64, np.int32, np.int32, np.int32, np.float64)  # of the arrays of ``Tree``
MIN_PARALLEL_VALUES = 100_000  # rows times columns below which threads cost more than they save


class Tree(NamedTuple):
    """Nodes in the order in which they were grown, the root first."""

    feature: NDArray[np.int32]  # (n_nodes,), the column of the split, -1 in a leaf
    threshold: Vector  # (n_nodes,), a row goes left where ``x <= threshold``
    cut: NDArray[np.int32]  # (n_nodes,), the threshold as a bin: left where ``bin <= cut``
    left: NDArray[np.int32]  # (n_nodes,)
    right: NDArray[np.int32]  # (n_nodes,)
    value: Vector  # (n_nodes,), sum of gradients divided by sum of hessians, for every node


@dataclass(eq=False)
class _Leaf:
    """A leaf that may be split: its rows, the half gains and cuts of each column, and the best column after prices."""

    node: int
    start: int
    stop: int
    depth: int
    total: Vector
    histogram: Any = None
    gain: Any = None
    cut: Any = None
    net: float = -np.inf
    feature: int = -1

    def arrays(self) -> Leaf:
        """The leaf as an argument of kernels."""
        return Leaf(self.start, self.stop, self.total, self.histogram, self.gain, self.cut)

    def choose(self, prices: Any, noise: float) -> None:
        """Set the column of the largest gain after its price; of equal columns the first."""
        if self.gain is None:
            return
        net = np.where(self.cut >= 0, self.gain if prices is None else self.gain - prices, -np.inf)
        self.net = float(net.max())
        self.feature = int((net >= self.net - noise).argmax())


class TreeGrower:
    """Grows trees on one binned table. Use it as a context manager, which ends its threads.

    The gain of a split is half of its reduction of sum_i h_i (g_i / h_i - value)^2, minus the price of its column. With
    gradients and hessians of a loss, half of that reduction is the second-order estimate of the reduction of the loss.
    The leaf with the best split is split next, until no gain is positive. Ties go to the leaf grown first, then to the
    first column, then to the lowest threshold.

    Parameters
    ----------
    table : BinnedTable
    max_depth : int
        Largest number of splits on a path.
    min_samples_leaf : int, default=1
    l2 : float, default=0.0
        Added to every sum of hessians.
    n_jobs : int, default=1
        Number of threads, each for some of the columns; the result does not depend on it.

    Attributes
    ----------
    order : ndarray of shape (n_samples,), int32
        The rows of the last tree, leaf by leaf.
    """

    def __init__(
        self, table: BinnedTable, *, max_depth: int, min_samples_leaf: int = 1, l2: float = 0.0, n_jobs: int = 1
    ) -> None:
        self.table, self.max_depth, self.least, self.l2 = table, max_depth, float(min_samples_leaf), float(l2)
        n, d = table.n_samples, table.n_features
        self.order = np.empty(n, dtype=np.int32)
        self._plain = [Rows(order, np.empty(n), np.empty(0)) for order in (self.order, np.empty(n, dtype=np.int32))]
        self._weighted: list[Rows] = []
        self._rows, self._buffer = self._plain
        self._spare: list[Any] = []
        self._bins, self._codes, self._width = Bins(table.words, table.first, table.usual), table.codes, d
        n_blocks = len(table.words)
        edges = np.linspace(0, n_blocks, min(n_jobs, n_blocks) + 1).round().astype(int).tolist()
        self._ranges = list(pairwise(edges))
        # A split takes a fraction of a millisecond, less than joblib's dispatch.
        self._pool = ThreadPoolExecutor(len(self._ranges) - 1) if len(self._ranges) > 1 else None

    def __enter__(self) -> TreeGrower:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def grow(
        self,
        gradient: Vector,
        hessian: Vector | None = None,
        prices: Vector | None = None,
        on_split: Callable[[int, int, float], bool] | None = None,
        force_root: bool = False,
    ) -> Tree:
        """Grow one tree.

        Parameters
        ----------
        gradient : ndarray of shape (n_samples,), float64
            Negative gradients, or residuals; multiplied by the weights of rows, if there are any.
        hessian : ndarray of shape (n_samples,), float64, default=None
            Second derivatives, weights, or their product; positive. None means 1 each, which is faster.
        prices : ndarray of shape (n_features,), float64, default=None
            Price of a split on each column; infinity forbids it. Read again after ``on_split`` has changed it.
        on_split : callable (feature, node, net) -> bool, default=None
            Called at each split, before the children are grown; returns whether it has changed ``prices`` in place.
        force_root : bool, default=False
            Split the root even if the gain is not positive, where any split is possible.
        """
        leaf, limits = self._root(gradient, hessian)
        noise = limits.noise
        nodes, open_leaves = [_new_node(leaf.total, self.l2)], [leaf]
        leaf.choose(prices, noise)
        while open_leaves:
            top = max(v.net for v in open_leaves)
            if top <= noise and not (force_root and len(nodes) == 1 and top > -np.inf):
                break
            leaf = next(v for v in open_leaves if v.net >= top - noise)
            changed = on_split is not None and on_split(leaf.feature, leaf.node, leaf.net)
            pair = self._split(leaf, nodes, limits)
            open_leaves.remove(leaf)
            open_leaves += pair
            for v in open_leaves if changed else pair:
                v.choose(prices, noise)
        self._close(open_leaves)
        arrays: Any = [np.array(column, dtype=kind) for column, kind in zip(zip(*nodes), NODE_DTYPES)]
        return Tree(*arrays)

    def gains(self, gradient: Vector, hessian: Vector | None = None) -> Vector:
        """The gain of a first split on each column, without prices, float64 (n_features,)."""
        leaf, _ = self._root(gradient, hessian)
        self._spare.append(leaf.histogram)
        return leaf.gain

    def add_to(self, scores: Vector, tree: Tree) -> None:
        """Add the leaf values of the last tree (``tree``, possibly rescaled) to ``scores`` (n_samples,)."""
        kernels.add_leaf_values(self.order, self._starts, tree.value[self._leaf_nodes], scores)

    def _root(self, gradient: Vector, hessian: Vector | None) -> tuple[_Leaf, Limits]:
        """The leaf of all rows with its best cuts, and the limits of cuts, including the noise of gains."""
        self._rows, self._buffer = self._plain if hessian is None else self._with_hessians()
        self._rows.gradient[:] = gradient
        if hessian is not None:
            self._rows.hessian[:] = hessian
        leaf = _Leaf(0, 0, len(self.order), 0, np.empty(3))
        limits = Limits(self.least, self.l2, kernels.start_tree(self._rows, leaf.total))
        leaf.histogram = self._new_histogram(2 if hessian is None else 4)
        leaf.gain, leaf.cut = np.empty(self._width), np.empty(self._width, dtype=np.int64)
        self._run(kernels.search_root, leaf.stop, leaf.arrays(), limits)
        return leaf, limits

    def _with_hessians(self) -> list[Rows]:
        """The rows and their buffer with hessians, allocated at first use."""
        if not self._weighted:
            self._weighted = [Rows(r.order, r.gradient, np.empty(len(r.order))) for r in self._plain]
        return self._weighted

    def _run(self, kernel: Any, n_rows: int, *arguments: Any) -> None:
        """Run a kernel on all blocks of columns, in threads if there are enough values."""
        shared = self._bins, self._rows
        if self._pool is None or n_rows * self._width < MIN_PARALLEL_VALUES:
            kernel(*shared, 0, len(self._bins.words), *arguments)
            return
        others = [self._pool.submit(kernel, *shared, low, high, *arguments) for low, high in self._ranges[1:]]
        kernel(*shared, *self._ranges[0], *arguments)
        for other in others:
            other.result()

    def _new_histogram(self, channels: int) -> NDArray[np.float64]:
        if self._spare and self._spare[-1].shape[1] != channels:
            self._spare.clear()
        return self._spare.pop() if self._spare else np.empty((int(self.table.first[-1]), channels))

    def _split(self, leaf: _Leaf, nodes: list, limits: Limits) -> tuple[_Leaf, _Leaf]:
        """Split a leaf; return its two children, the left one first."""
        feature, cut = leaf.feature, int(leaf.cut[leaf.feature])
        totals, first = np.empty((2, 3)), len(nodes)
        spare = self._buffer
        n_left = kernels.partition_rows(self._codes, feature, cut, self._rows, leaf.start, leaf.stop, spare, totals)
        nodes[leaf.node] = (feature, self.table.thresholds[feature][cut], cut, first, first + 1, nodes[leaf.node][-1])
        nodes += [_new_node(total, self.l2) for total in totals]
        middle, depth = leaf.start + n_left, leaf.depth + 1
        pair = _Leaf(first, leaf.start, middle, depth, totals[0]), _Leaf(first + 1, middle, leaf.stop, depth, totals[1])
        if depth < self.max_depth:
            self._evaluate(leaf, pair, limits)
        else:
            self._spare.append(leaf.histogram)
        return pair

    def _evaluate(self, parent: _Leaf, pair: tuple[_Leaf, _Leaf], limits: Limits) -> None:
        """Compute histograms and best cuts of two children, the larger one's by difference."""
        small, large = sorted(pair, key=lambda v: v.stop - v.start)
        large.histogram, small.histogram = parent.histogram, self._new_histogram(parent.histogram.shape[1])
        small.gain, large.gain = np.empty((2, self._width))
        small.cut, large.cut = np.empty((2, self._width), dtype=np.int64)
        self._run(kernels.search_children, small.stop - small.start, small.arrays(), large.arrays(), limits)

    def _close(self, leaves: list[_Leaf]) -> None:
        """Store the leaf of each row, and keep the histograms for the next tree."""
        self._spare += [v.histogram for v in leaves if v.histogram is not None]
        leaves = sorted(leaves, key=lambda v: v.start)
        self._leaf_nodes = np.array([v.node for v in leaves])
        self._starts = np.array([v.start for v in leaves] + [len(self.order)])


def _new_node(total: Vector, l2: float) -> tuple[int, float, int, int, int, float]:
    return (-1, 0.0, -1, -1, -1, float(total[0] / (total[1] + l2)))
