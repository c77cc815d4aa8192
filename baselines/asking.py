"""Trees that are asked case by case: walk, and ask where a split needs a value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from baselines.acquisition_order import revealing_acquisitions
from fsgym.columns import Column, Columns
from fsgym.digests import array_form, digest_of_form
from fsgym.grouping import default_names
from fsgym.rules import Rules, State
from fsgym.session.asking import AskingMixin
from fsgym.session.step import Advice
from fsgym.session.walk import ActingWalk, Walk


class AskedTrees(NamedTuple):
    """Trees as flat arrays, with the way that a row without the value goes.

    Attributes
    ----------
    feature : int32 or int64 (n_nodes,), the column of the split, -1 in a leaf
    threshold : float64 (n_nodes,), a row goes left where its value is at most this
    left, right : int32 or int64 (n_nodes,)
    unknown_left : bool (n_nodes,), whether a row goes left whose value cannot be had
    roots : int64 (n_trees,)
    """

    feature: NDArray[Any]
    threshold: NDArray[np.float64]
    left: NDArray[Any]
    right: NDArray[Any]
    unknown_left: NDArray[np.bool_]
    roots: NDArray[np.int64]


class AskedNodes(NamedTuple):
    """Where n rows are in their trees.

    Attributes
    ----------
    asked : int64 (n,), the first column that a row needs and can get; -1 if none
    node : int64 (n,), the node of the last tree that was walked: where the column is needed, or a leaf
    """

    asked: NDArray[np.int64]
    node: NDArray[np.int64]


class TreeAskingMixin(AskingMixin):
    """Steps, sessions and predictions on demand of a classifier that walks through trees.

    The first split that needs a value that is not known asks for it; a value that cannot be had goes the way of the
    library that grew the tree. A subclass implements ``_asked_trees``, ``_tree_values``, ``_tree_shares`` and sets
    ``asked_rules_`` and ``asked_columns_`` in ``fit``.
    """

    classes_: NDArray
    asked_rules_: Rules
    asked_columns_: Columns

    def _asked_trees(self) -> AskedTrees:
        raise NotImplementedError

    def _tree_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers that the thresholds are compared with, of values with NaN."""
        return values

    def _tree_shares(self, values: NDArray[np.float64], node: NDArray[np.int64]) -> NDArray[np.float64]:
        """Class probabilities of n rows (n, n_classes), given what is known and where they are."""
        raise NotImplementedError

    def _cheapest(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """The class codes that ``predict`` answers for these probabilities."""
        return (shares @ self.asked_rules_.error_costs.T).argmin(axis=1)

    def _rules_asked(self) -> Rules:
        return self.asked_rules_

    def _columns_asked(self) -> Columns:
        return self.asked_columns_

    def _walk(self, state: State) -> Walk:
        return ActingWalk(self._act, self._rules_asked(), state)

    def _look(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float64], legal: NDArray[np.bool_]
    ) -> tuple[AskedNodes, NDArray[np.int64]]:
        """Where n rows are, and the acquisition of each column."""
        acquisition = revealing_acquisitions(self.asked_rules_)
        n = len(acquired)
        nodes = AskedNodes(np.full(n, -1), np.zeros(n, np.int64))
        can_ask = np.ascontiguousarray(legal[:, acquisition], bool)
        _walk_rows(self._asked_trees(), np.ascontiguousarray(acquired), self._tree_values(values), can_ask, nodes)
        return nodes, acquisition

    def _act(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float64], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        nodes, acquisition = self._look(acquired, values, legal)
        actions = np.where(nodes.asked >= 0, acquisition[nodes.asked], 0)
        ended = nodes.asked < 0
        if ended.any():
            answers = self._cheapest(self._tree_shares(values[ended], nodes.node[ended]))
            actions[ended] = self.asked_rules_.n_acquisitions + answers
        return actions

    def _advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float64], legal: NDArray[np.bool_]) -> Advice:
        rules = self.asked_rules_
        n, J = len(acquired), rules.n_acquisitions
        nodes, acquisition = self._look(acquired, values, legal)
        shares = self._tree_shares(values, nodes.node)
        answers = self._cheapest(shares)
        actions = np.where(nodes.asked >= 0, acquisition[nodes.asked], J + answers)
        preference = np.where(legal[:, :J], -2.0 * rules.n_features - np.arange(J), -np.inf)
        for i in range(n):
            for rank, f in enumerate(self._needed_below(nodes.node[i], acquired[i])):
                j = acquisition[f]
                preference[i, j] = max(preference[i, j], -rank) if legal[i, j] else -np.inf
        preference[nodes.asked >= 0, actions[nodes.asked >= 0]] = 1.0
        beyond = np.where(legal[:, :J].any(axis=1), preference.argmax(axis=1), -1)
        stop_cost = (shares * rules.error_costs[answers]).sum(axis=1)
        return Advice(actions, beyond, answers, preference, np.full((n, J), np.nan), stop_cost, shares)

    def _needed_below(self, node: int, acquired: NDArray[np.bool_]) -> list[int]:
        """The columns that one row may need from a node on, and in the trees after it, in the order of the walk."""
        trees = self._asked_trees()
        after = trees.roots[trees.roots > node].tolist()
        queue, needed = [int(node), *after] if len(trees.roots) else [], {}
        while queue:
            here = queue.pop(0)
            if trees.feature[here] >= 0:
                queue += [int(trees.left[here]), int(trees.right[here])]
                if not acquired[trees.feature[here]]:
                    needed.setdefault(int(trees.feature[here]), None)
        return list(needed)

    def policy_digest(self) -> str:
        """SHA-256 of the trees, rules, names and classes, 64 hexadecimal digits: equal ones ask and answer the same."""
        arrays, options = self.asked_rules_.state()
        forms = [array_form(v) for v in (*self._asked_trees(), *arrays.values(), self.classes_, *self._digest_arrays())]
        return digest_of_form([type(self).__name__, forms, options, self.asked_columns_.to_json()])

    def _digest_arrays(self) -> list[NDArray]:
        """Further arrays by which the model answers."""
        return []


def columns_with_ranges(estimator: Any, table: NDArray[np.float64]) -> Columns:
    """The columns of a training table (n_samples, n_features) with their ranges, as ``x0, x1, ...`` without names."""
    names = [str(name) for name in getattr(estimator, "feature_names_in_", default_names(table.shape[1]))]
    low, high = table.min(axis=0).tolist(), table.max(axis=0).tolist()
    return Columns([Column(name, low=a, high=b) for name, a, b in zip(names, low, high, strict=True)])


@njit(cache=True, nogil=True, _nrt=False)
def _walk_rows(trees, acquired, values, can_ask, nodes):
    for i in range(len(values)):
        for root in trees.roots:
            node = root
            while trees.feature[node] >= 0:
                f = trees.feature[node]
                if acquired[i, f]:
                    goes_left = values[i, f] <= trees.threshold[node]
                elif can_ask[i, f]:
                    nodes.asked[i] = f
                    break
                else:
                    goes_left = trees.unknown_left[node]
                node = trees.left[node] if goes_left else trees.right[node]
            nodes.node[i] = node
            if nodes.asked[i] >= 0:
                break
