"""A regression tree of first or second order on binned columns, best leaf first, with a price for each column."""

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
KINDS = (np.int32, np.float64, np.int32, np.int32, np.int32, np.float64)  # of the arrays of a tree
LITTLE = 100_000  # values below which a second thread costs more than it saves


class Tree(NamedTuple):
    """Nodes in the order of their making, the root first.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,), int32
        The column asked for, -1 in a leaf.
    threshold : ndarray of shape (n_nodes,), float64
        A row goes left where ``x <= threshold``.
    cut : ndarray of shape (n_nodes,), int32
        The same in bins: left where ``bin <= cut``.
    left, right : ndarray of shape (n_nodes,), int32
    value : ndarray of shape (n_nodes,), float64
        Sum of gradients over sum of hessians, of every node.
    """

    feature: NDArray[np.int32]
    threshold: Vector
    cut: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: Vector


@dataclass(eq=False)
class _Leaf:
    """An open leaf: its rows in the order, half gains and cuts of each column, and the best column at its price."""

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
        """The leaf as kernels take it."""
        return Leaf(self.start, self.stop, self.total, self.histogram, self.gain, self.cut)

    def choose(self, prices: Any, noise: float) -> None:
        if self.gain is None:
            return
        net = np.where(self.cut >= 0, self.gain if prices is None else self.gain - prices, -np.inf)
        self.net = float(net.max())
        self.feature = int((net >= self.net - noise).argmax())


class TreeGrower:
    """Grows trees on one binned table; a context manager, which ends its threads.

    A split is worth half of what it takes off sum_i h_i (g_i / h_i - value)^2, less the price of its column; with
    gradients and hessians of a loss that is the second-order estimate of the loss taken off. The open leaf with the
    best split is split next, until none is worth more than its price. Ties go to the leaf made first, then to the
    first column, then to the lowest threshold.

    Parameters
    ----------
    table : BinnedTable
    max_depth : int
        Splits on a path.
    min_samples_leaf : int, default=1
    l2 : float, default=0.0
        Added to every sum of hessians.
    n_jobs : int, default=1
        Threads, each for some of the columns; the same bits for any number.

    Attributes
    ----------
    order : ndarray of shape (n_samples,), int32
        Rows of the last tree, leaf by leaf.
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
        # Each split hands columns out anew, for a fraction of a millisecond: joblib's dispatch takes longer.
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
        """One tree.

        Parameters
        ----------
        gradient : ndarray of shape (n_samples,), float64
            Negative gradients, or residuals; times the weight of the row, where it has one.
        hessian : ndarray of shape (n_samples,), float64, default=None
            Positive: second derivatives or weights, or both multiplied. None: 1 each, which is faster.
        prices : ndarray of shape (n_features,), float64, default=None
            What a split on each column must be worth; infinity forbids it. Read again whenever it has changed.
        on_split : callable (feature, node, net) -> bool, default=None
            Told of each split before its children are made; returns whether it has changed ``prices``, in place.
        force_root : bool, default=False
            Split the root even where that is not worth its price, if any split is possible.
        """
        leaf, limits = self._root(gradient, hessian)
        noise = limits.noise
        nodes, open_leaves = [_node(leaf.total, self.l2)], [leaf]
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
        arrays: Any = [np.array(column, dtype=kind) for column, kind in zip(zip(*nodes), KINDS)]
        return Tree(*arrays)

    def gains(self, gradient: Vector, hessian: Vector | None = None) -> Vector:
        """What the first split of a tree on each column would be worth, without prices, float64 (n_features,)."""
        leaf, _ = self._root(gradient, hessian)
        self._spare.append(leaf.histogram)
        return leaf.gain

    def add_to(self, scores: Vector, tree: Tree) -> None:
        """Add the values of the last tree's leaves (perhaps scaled since) to its rows in ``scores`` (n_samples,)."""
        kernels.spread(self.order, self._starts, tree.value[self._leaf_nodes], scores)

    def _root(self, gradient: Vector, hessian: Vector | None) -> tuple[_Leaf, Limits]:
        """The leaf of all rows, its cuts found, and the limits of cuts, with the noise among these gains."""
        self._rows, self._buffer = self._plain if hessian is None else self._with_hessians()
        self._rows.gradient[:] = gradient
        if hessian is not None:
            self._rows.hessian[:] = hessian
        leaf = _Leaf(0, 0, len(self.order), 0, np.empty(3))
        limits = Limits(self.least, self.l2, kernels.begin(self._rows, leaf.total))
        leaf.histogram = self._new_histogram(2 if hessian is None else 4)
        leaf.gain, leaf.cut = np.empty(self._width), np.empty(self._width, dtype=np.int64)
        self._run(kernels.root, leaf.stop, leaf.arrays(), limits)
        return leaf, limits

    def _with_hessians(self) -> list[Rows]:
        """The rows and their buffer with room for hessians, made when first asked for."""
        if not self._weighted:
            self._weighted = [Rows(r.order, r.gradient, np.empty(len(r.order))) for r in self._plain]
        return self._weighted

    def _run(self, kernel: Any, n_rows: int, *arguments: Any) -> None:
        """The kernel on all blocks of columns, in threads where that is worth it."""
        shared = self._bins, self._rows
        if self._pool is None or n_rows * self._width < LITTLE:
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
        """Make the two children of a leaf, left one first; the smaller one is counted, the other is the rest."""
        feature, cut = leaf.feature, int(leaf.cut[leaf.feature])
        totals, first = np.empty((2, 3)), len(nodes)
        spare = self._buffer
        n_left = kernels.partition(self._codes, feature, cut, self._rows, leaf.start, leaf.stop, spare, totals)
        nodes[leaf.node] = (feature, self.table.thresholds[feature][cut], cut, first, first + 1, nodes[leaf.node][-1])
        nodes += [_node(total, self.l2) for total in totals]
        middle, depth = leaf.start + n_left, leaf.depth + 1
        pair = _Leaf(first, leaf.start, middle, depth, totals[0]), _Leaf(first + 1, middle, leaf.stop, depth, totals[1])
        if depth < self.max_depth:
            self._evaluate(leaf, pair, limits)
        else:
            self._spare.append(leaf.histogram)
        return pair

    def _evaluate(self, parent: _Leaf, pair: tuple[_Leaf, _Leaf], limits: Limits) -> None:
        small, large = sorted(pair, key=lambda v: v.stop - v.start)
        large.histogram, small.histogram = parent.histogram, self._new_histogram(parent.histogram.shape[1])
        small.gain, large.gain = np.empty((2, self._width))
        small.cut, large.cut = np.empty((2, self._width), dtype=np.int64)
        self._run(kernels.children, small.stop - small.start, small.arrays(), large.arrays(), limits)

    def _close(self, leaves: list[_Leaf]) -> None:
        """Keep which rows are in which leaf, and the histograms for the next tree."""
        self._spare += [v.histogram for v in leaves if v.histogram is not None]
        leaves = sorted(leaves, key=lambda v: v.start)
        self._leaf_nodes = np.array([v.node for v in leaves])
        self._starts = np.array([v.start for v in leaves] + [len(self.order)])


def _node(total: Vector, l2: float) -> tuple[int, float, int, int, int, float]:
    return (-1, 0.0, -1, -1, -1, float(total[0] / (total[1] + l2)))
