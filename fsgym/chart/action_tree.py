"""The choice of the next action by known values, as a small tree; its branches are limits of features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

# The shortest decimal number in an interval, for thresholds that a person reads.


def threshold_between(low: float, high: float, offset: float) -> float:
    """The threshold of a feature for which ``low`` goes left and ``high`` right, of few digits as ``Column.shortest``.

    Without an offset it is a float32, as features are: 0.305, of which 0.30500001 is the value, and not 0.30500002.

    >>> str(np.float32(threshold_between(np.float32(0.305), np.nextafter(np.float32(0.305), np.float32(1)), 0)))
    '0.305'
    """
    if offset:
        return shortest_between(low + offset, high + offset) - offset
    return float(np.float32(shortest_between(low, high, single=True)))


def shortest_between(low: float, high: float, single: bool = False) -> float:
    """The number with the fewest digits that is at least ``low`` and below ``high``, near the middle.

    ``single``: as a float32, which has both as values.

    >>> shortest_between(105.94, 105.96), shortest_between(0.1234, 0.1291), shortest_between(9.9, 10.4)
    (105.95, 0.126, 10.0)
    >>> shortest_between(3.0, 3.0000000000000004), shortest_between(-2.4, 7.0)
    (3.0, 0.0)
    """
    middle, size = low / 2 + high / 2, max(abs(low), abs(high))
    if low < high and 0 < size < math.inf:
        first = -math.floor(math.log10(size)) - 1
        for digits in range(first, first + 19):
            candidate = float(round(middle, digits))
            if low <= (float(np.float32(candidate)) if single else candidate) < high:
                return candidate
    return low


LEAF = -1
MAX_SPLITS = 1000  # in model files, or the number of features where that is larger; more than any tree has
ANY_NUMBER = float(np.finfo(np.float32).max)  # the threshold of a node that only asks whether there is a value


class ActionTree(NamedTuple):
    """A binary tree whose leaves are actions. A value at most ``threshold`` goes left."""

    feature: NDArray[np.int64]  # (n_nodes,), the feature that a node compares; -1 at a leaf
    threshold: NDArray[np.float64]  # (n_nodes,)
    # (n_nodes,), numbers of the next nodes
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    action: NDArray[np.int64]  # (n_nodes,), acquisition, or number of acquisitions plus class code; at leaves only
    missing_left: NDArray[np.bool_]  # (n_nodes,), where a row without the value goes
    may_miss: bool  # whether the tree was made from cases without some value
    # whether these are the policy's own conditions: its action depends on one known value, and the tree was measured on
    # the policy. Otherwise the tree imitates the policy's action in the cases that it was made from.
    exact: bool
    agreement: float  # the share of those cases in which the tree chooses the policy's action

    @classmethod
    def always(cls, action: int, exact: bool = True, agreement: float = 1.0) -> Self:
        """The choice of one action, whatever is known."""
        nothing = np.array([LEAF])
        return cls(
            nothing, np.zeros(1), nothing, nothing, np.array([action]), np.zeros(1, bool), False, exact, agreement
        )

    def leaves(self, values: NDArray) -> NDArray[np.int64]:
        """The leaf of each row of ``values`` (n, n_features), int64 (n,) nodes; NaN is a value that is not known."""
        node = np.zeros(len(values), np.int64)
        rows = np.arange(len(values))
        while (self.feature[node] >= 0).any():
            inner = self.feature[node] >= 0
            x = values[rows, np.where(inner, self.feature[node], 0)].astype(np.float64)
            goes_left = np.where(np.isnan(x), self.missing_left[node], x <= self.threshold[node])
            node = np.where(inner, np.where(goes_left, self.left[node], self.right[node]), node)
        return node

    def actions(self, values: NDArray) -> NDArray[np.int64]:
        """The action for each row of ``values`` (n, n_features), int64 (n,)."""
        return self.action[self.leaves(values)]

    def limits(self) -> dict[int, tuple[Limit, ...]]:
        """The limits that lead to each leaf, the leaves from left to right."""
        found: dict[int, tuple[Limit, ...]] = {}
        open_nodes: list[tuple[int, dict[int, Limit]]] = [(0, {})]
        while open_nodes:
            node, limits = open_nodes.pop()
            feature, at = int(self.feature[node]), float(self.threshold[node])
            if feature < 0:
                found[node] = tuple(limits.values())
                continue
            before = limits.get(feature, Limit(feature, -np.inf, np.inf, self.may_miss))
            below = before._replace(high=min(before.high, at), missing=before.missing and bool(self.missing_left[node]))
            above = before._replace(
                low=max(before.low, at), missing=before.missing and not bool(self.missing_left[node])
            )
            open_nodes.append((int(self.right[node]), limits | {feature: above}))
            open_nodes.append((int(self.left[node]), limits | {feature: below}))
        return found

    def splits(self) -> list[tuple[int, int, Limit]]:
        """Depth, node, and the limit that leads there from above, of all nodes but the first, from left to right."""
        found: list[tuple[int, int, Limit]] = []
        open_nodes: list[tuple[int, int, Limit | None]] = [(-1, 0, None)]
        while open_nodes:
            depth, node, reached_by = open_nodes.pop()
            if reached_by is not None:
                found.append((depth, node, reached_by))
            feature, at = int(self.feature[node]), float(self.threshold[node])
            if feature >= 0:
                left_missing = bool(self.missing_left[node])
                below = Limit(feature, -np.inf, at, self.may_miss and left_missing)
                above = Limit(feature, at, np.inf, self.may_miss and not left_missing)
                open_nodes.append((depth + 1, int(self.right[node]), above))
                open_nodes.append((depth + 1, int(self.left[node]), below))
        return found

    def to_json(self) -> dict[str, Any]:
        plain = {name: value.tolist() for name, value in self._asdict().items() if isinstance(value, np.ndarray)}
        return plain | {"may_miss": self.may_miss, "exact": self.exact, "agreement": self.agreement}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any], n_features: int, n_actions: int) -> Self:
        """The choice from ``to_json``; ValueError, KeyError or TypeError if it is damaged."""
        types = {"threshold": np.float64, "missing_left": np.bool_}
        arrays = {}
        for name in cls._fields[:6]:
            arrays[name] = np.array(plain[name], dtype=types.get(name, np.int64))
        n = len(arrays["feature"])
        inner, where = arrays["feature"] >= 0, np.arange(n)
        if n < 1 or any(array.shape != (n,) for array in arrays.values()):
            raise ValueError("the arrays of a choice must have one entry for each node")
        for side in ("left", "right"):  # later nodes only, so that each way ends
            if (inner & ~((arrays[side] > where) & (arrays[side] < n))).any():
                raise ValueError("the nodes of a choice must lead to later nodes")
        children = np.concatenate([arrays["left"][inner], arrays["right"][inner]])
        if len(np.unique(children)) != len(children) or len(children) != n - 1:  # else there are 2 ** n ways
            raise ValueError("the nodes of a choice must be a tree")
        if not np.isfinite(arrays["threshold"]).all() or (arrays["feature"] >= n_features).any():
            raise ValueError("the limits of a choice must be finite, and on features of the model")
        if inner.sum() > max(MAX_SPLITS, n_features):
            raise ValueError(f"a choice must have at most {max(MAX_SPLITS, n_features)} limits")
        if (~inner & ~((arrays["action"] >= 0) & (arrays["action"] < n_actions))).any():
            raise ValueError("the leaves of a choice must be actions of the model")
        flags, agreement = {name: plain[name] for name in ("may_miss", "exact")}, plain["agreement"]
        if (
            not all(isinstance(flag, bool) for flag in flags.values())
            or type(agreement) not in (int, float)
            or not 0 <= agreement <= 1
        ):
            raise ValueError("a choice must say whether it is exact, and the share of cases that it has right")
        return cls(**arrays, **flags, agreement=float(agreement))


class Limit(NamedTuple):
    """Values of a feature above ``low`` and at most ``high``; ``missing``: rows without the value belong to it, too."""

    feature: int
    low: float
    high: float
    missing: bool


def chain_of(
    features: int | list[int], thresholds: list[float], actions: list[int], ends_low: bool = True
) -> ActionTree:
    """The exact choice by one number: ``actions`` in the intervals between rising ``thresholds``.

    Or by several features, one after the other: the first that is above its threshold decides (``ends_low`` False).
    """
    n = len(thresholds)
    k, nowhere = np.arange(n), np.repeat(LEAF, n + 1)
    ends = np.append(k + n, nowhere)  # leaf k is node n + k
    goes_on = np.append(np.where(k + 1 < n, k + 1, 2 * n), nowhere)
    return ActionTree(
        np.append(np.full(n, features, np.int64), nowhere),
        np.append(np.array(thresholds, np.float64), np.zeros(n + 1)),
        *((ends, goes_on) if ends_low else (goes_on, ends)),
        np.append(np.repeat(LEAF, n), np.array(actions)),
        np.zeros(2 * n + 1, bool),
        False,
        True,
        1.0,
    )
