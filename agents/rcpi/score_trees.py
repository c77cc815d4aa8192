"""Trees whose sums are scores of acquisitions: one or several policies in flat arrays, and how they are followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.support.arrays import read_only, read_only_fields
from fsgym.support.kernels import INNER
from fsgym.trees import Forest, Tree

UNKNOWN_VALUE = np.float32(-1e12)  # in place of a value that is not known; scaled values are at least -1e9
NO_TREE = -1  # as the root of the trees of an acquisition that was legal in no state
MAX_LEAF_VALUE = 1e12  # sums of the largest number of trees stay below 1e27
MAX_TREES = 1000  # of an acquisition, in a model file


class ScoreTrees(NamedTuple):
    """Regression trees whose sums are added to the intercepts of acquisitions.

    Attributes
    ----------
    feature, left, right : int32 (n_nodes,), as in ``fsgym.trees.Forest``
    threshold, value : float64 (n_nodes,)
    roots : int64 (n_policies, n_acquisitions, n_trees), NO_TREE for an acquisition without trees
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    roots: NDArray[np.int64]

    @classmethod
    def of(cls, trees: list[list[Tree]]) -> ScoreTrees:
        """Those of one policy, from the trees of each acquisition: all the same number, or none."""
        forest = Forest.of([tree for own in trees for tree in own])
        n_trees, fitted = max(map(len, trees), default=0), [len(own) > 0 for own in trees]
        roots = np.full((1, len(trees), n_trees), NO_TREE)
        roots[0, fitted] = forest.roots[:-1].reshape(sum(fitted), n_trees)
        return cls(*forest[:-1], roots)

    def joined(self, other: ScoreTrees, n_before: int) -> ScoreTrees:
        """These trees of ``n_before`` policies, which may have none, and those of further ones."""
        if not other.roots.size:
            other = other._replace(roots=np.full((1, *self.roots.shape[1:]), NO_TREE))
        roots_before = self.roots if self.roots.size else np.full((n_before, *other.roots.shape[1:]), NO_TREE)
        n = len(self.feature)
        left, right, roots = (
            np.where(places >= 0, places + n, places) for places in (other.left, other.right, other.roots)
        )
        moved = other._replace(left=left.astype(np.int32), right=right.astype(np.int32))
        pairs: Any = zip(self._replace(roots=roots_before), moved._replace(roots=roots), strict=True)
        return ScoreTrees(*(np.concatenate(pair) for pair in pairs))

    def newest(self) -> ScoreTrees:
        """Those of the last policy, with the nodes of all."""
        return self._replace(roots=self.roots[-1:])

    def check(self, n_features: int, n_acquisitions: int) -> None:
        """Raise ValueError unless these are trees of one policy that a compiled function may follow."""
        n = len(self.feature)
        inner, nodes = self.feature >= 0, np.arange(n)
        fits = all(len(column) == n and column.ndim == 1 for column in self[:-1]) and self.roots.ndim == 3
        if not fits or self.roots.shape[:2] != (1, n_acquisitions) or self.roots.shape[2] > MAX_TREES:
            raise ValueError(f"trees must have five arrays of one length, and roots of shape (1, {n_acquisitions}, n)")
        children = np.stack([self.left, self.right])[:, inner]
        if (self.feature >= n_features).any() or (children <= nodes[inner]).any() or (children >= n).any():
            raise ValueError(f"a tree must use features below {n_features}, and a node must come before its children")
        has_trees = self.roots[:, :, :1] >= 0
        if (self.roots < np.where(has_trees, 0, NO_TREE)).any() or (self.roots >= np.where(has_trees, n, 0)).any():
            raise ValueError(
                f"the roots of trees must be nodes from 0 to {n - 1}, or {NO_TREE} for all of an acquisition"
            )
        if np.isnan(self.threshold).any() or not (np.abs(self.value) <= MAX_LEAF_VALUE).all():
            raise ValueError(f"the values of trees must be numbers of at most {MAX_LEAF_VALUE:g} in absolute value")

    def add_to(self, scores: NDArray[np.float32], known: NDArray[np.float32]) -> None:
        """Add the sums of one policy's trees to ``scores``, (n, n_actions), in states with ``values_for_trees``."""
        _add_sums(read_only_fields(self), read_only(known, np.float32), scores)

    def to_arrays(self) -> dict[str, NDArray]:
        return {f"trees.{name}": array for name, array in self._asdict().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray]) -> ScoreTrees:
        """Those that ``to_arrays`` returned, none where there are none; ValueError for other types."""
        if "trees.roots" not in arrays:
            return NO_TREES
        trees = cls(*(arrays[f"trees.{name}"] for name in cls._fields))
        if [array.dtype for array in trees] != [array.dtype for array in NO_TREES]:
            raise ValueError("the arrays of trees must have the types that they were saved with")
        return trees


NO_TREES = ScoreTrees(*Forest.of([])[:-1], np.zeros((0, 0, 0), np.int64))  # of policies whose scores are linear


def values_for_trees(values: NDArray[np.float32], known: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Scaled values where they are known and not NaN, UNKNOWN_VALUE elsewhere, float32 (n, n_features)."""
    return np.where(known & ~np.isnan(values), values, UNKNOWN_VALUE)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def tree_sum(trees, p, j, known, row):
    """The sum of the trees of policy p for acquisition j in a state with ``known[row]``, see ``values_for_trees``."""
    total = 0.0
    for k in range(trees.roots.shape[2]):
        v = trees.roots[p, j, k]
        while trees.feature[v] >= 0:
            v = trees.left[v] if known[row, trees.feature[v]] <= trees.threshold[v] else trees.right[v]
        total += trees.value[v]
    return total


@njit(cache=True, nogil=True, _nrt=False)
def _add_sums(trees, known, scores):
    for row in range(len(known)):
        for j in range(trees.roots.shape[1]):
            if trees.roots.shape[2] > 0 and trees.roots[0, j, 0] >= 0:
                scores[row, j] += np.float32(tree_sum(trees, 0, j, known, row))
