"""Sums of trees: scores of rows, and the columns used on their paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.support.arrays import read_only, read_only_fields
from fsgym.trees.binning import BinnedTable
from fsgym.trees.tree import NODE_DTYPES, Tree


class Forest(NamedTuple):
    """Trees in concatenated arrays; the nodes of tree t are ``roots[t]`` to ``roots[t + 1]``.

    Fields of nodes are as in ``Tree``, with children numbered from the first node of the first tree.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    roots: NDArray[np.int64]  # (n_trees + 1,)

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Forest:
        """The forest of the trees, in their order; without trees, all scores are 0."""
        roots = np.concatenate([[0], np.cumsum([len(t.feature) for t in trees], dtype=np.int64)]).astype(np.int64)
        empty = tuple(np.zeros(0, dtype=k) for k in NODE_DTYPES)
        f, thr, _, left, right, value = (np.concatenate(v) for v in zip(empty, *trees))
        shift = np.repeat(roots[:-1], np.diff(roots)).astype(np.int32)
        inner = f >= 0
        return cls(f, thr, np.where(inner, left + shift, -1), np.where(inner, right + shift, -1), value, roots)

    @property
    def n_trees(self) -> int:
        return len(self.roots) - 1

    @property
    def features(self) -> NDArray[np.int64]:
        """The columns that any node uses, ascending."""
        return np.unique(self.feature[self.feature >= 0]).astype(np.int64)

    def take(self, columns: NDArray[np.int64]) -> Forest:
        """The same forest for a table of these columns only; ``columns`` are ascending and include ``features``."""
        feature = np.where(self.feature >= 0, np.searchsorted(columns, self.feature), -1).astype(np.int32)
        return Forest(feature, self.threshold, self.left, self.right, self.value, self.roots)

    def add_to(self, scores: NDArray[np.float64], X: NDArray[np.float64], first: int = 0, last: int | None = None):
        """Add trees ``first`` to ``last``, in their order, to ``scores`` (n_samples, n_outputs): tree t to output
        t modulo n_outputs. ``X`` is (n_samples, n_features), float64."""
        last = self.n_trees if last is None else last
        _score_rows(read_only(X, np.float64), read_only_fields(self), first, last, scores)

    def used(self, X: NDArray[np.float64]) -> NDArray[np.bool_]:
        """The columns used on the paths of each row, bool (n_samples, n_features)."""
        used = np.zeros(X.shape, dtype=np.bool_)
        self.mark(used, X)
        return used

    def mark(self, used: NDArray[np.bool_], X: NDArray[np.float64], first: int = 0, last: int | None = None) -> None:
        """Set ``used`` (n_samples, n_features) for the columns on the paths through trees ``first`` to ``last``."""
        last = self.n_trees if last is None else last
        _mark_used(read_only(X, np.float64), read_only_fields(self), first, last, used)


def add_binned(tree: Tree, table: BinnedTable, scores: NDArray[np.float64]) -> None:
    """Add the values of one tree to ``scores`` (n_samples,) of binned rows."""
    _score_binned(table.codes, tree, scores)


@njit(cache=True, nogil=True, _nrt=False)
def _score_binned(codes, tree, scores):
    feature, cut, left, right, value = tree.feature, tree.cut, tree.left, tree.right, tree.value
    for i in range(len(scores)):
        v = 0
        while feature[v] >= 0:
            v = left[v] if codes[feature[v] // 4, i, feature[v] % 4] <= cut[v] else right[v]
        scores[i] += value[v]


@njit(cache=True, nogil=True, _nrt=False)
def _score_rows(X, forest, first, last, scores):
    feature, threshold, left, right, value = forest.feature, forest.threshold, forest.left, forest.right, forest.value
    for i in range(X.shape[0]):
        for t in range(first, last):
            v = forest.roots[t]
            while feature[v] >= 0:
                v = left[v] if X[i, feature[v]] <= threshold[v] else right[v]
            scores[i, t % scores.shape[1]] += value[v]


@njit(cache=True, nogil=True, _nrt=False)
def _mark_used(X, forest, first, last, used):
    feature, threshold, left, right = forest.feature, forest.threshold, forest.left, forest.right
    for i in range(X.shape[0]):
        for t in range(first, last):
            v = forest.roots[t]
            while feature[v] >= 0:
                used[i, feature[v]] = True
                v = left[v] if X[i, feature[v]] <= threshold[v] else right[v]
