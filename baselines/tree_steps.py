"""Trees that are asked case by case: walk, and ask where a split needs a value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from baselines.base import column_names
from fsgym.data.columns import Column, Columns
from fsgym.rules import Rules, State
from fsgym.rules.rules import cheapest_answers
from fsgym.session.acquisitions import Acquisitions
from fsgym.session.mixin import AskingMixin
from fsgym.session.step import Advice
from fsgym.session.walk import Walk, acquire_rows
from fsgym.support.arrays import array_form, digest_of_form


class AskedTrees(NamedTuple):
    """Trees as flat arrays, with the way that a row without the value goes."""

    feature: NDArray[Any]  # int32 or int64 (n_nodes,), the column of the split, -1 in a leaf
    threshold: NDArray[np.float64]  # (n_nodes,), a row goes left where its value is at most this
    # int32 or int64 (n_nodes,)
    left: NDArray[Any]
    right: NDArray[Any]
    unknown_left: NDArray[np.bool_]  # (n_nodes,), whether a row goes left whose value cannot be had
    roots: NDArray[np.int64]  # (n_trees,)


class AskedNodes(NamedTuple):
    """Where n rows are in their trees."""

    asked: NDArray[np.int64]  # (n,), the first column that a row needs and can get; -1 if none
    tree: NDArray[np.int64]  # (n,), the tree in which the column is needed; n_trees if none is
    node: NDArray[np.int64]  # (n,), the node of the last tree that was walked: where the column is needed, or a leaf

    @classmethod
    def start(cls, n: int) -> AskedNodes:
        """All rows at the root of the first tree, which is node 0."""
        return cls(np.full(n, -1), np.zeros(n, np.int64), np.zeros(n, np.int64))


class TreeAskingMixin(AskingMixin):
    """Steps, sessions and predictions on demand of a classifier that walks through trees.

    The first split that needs a value that is not known asks for it; a value that cannot be had goes the way of the
    library that grew the tree. A subclass implements ``_asked_trees``, ``_tree_values``, ``_tree_shares``,
    ``_make_asked_rules`` and sets ``value_ranges_`` in ``fit``.
    """

    classes_: NDArray
    value_ranges_: NDArray[np.float64]  # (2, n_features), the lowest and the highest value of each column in training

    def _make_asked_rules(self, names: tuple[str, ...]) -> Rules:
        """The rules by which columns of these names are acquired."""
        raise NotImplementedError

    @property
    def asked_rules_(self) -> Rules:
        """The rules by which columns are acquired one by one."""
        return self.acquisitions_.rules

    @property
    def asked_columns_(self) -> Columns:
        """The columns with their ranges in training."""
        return self.acquisitions_.columns

    def _asked_trees(self) -> AskedTrees:
        raise NotImplementedError

    def _tree_values(self, values: NDArray[np.float64], columns: Any = slice(None)) -> NDArray[np.float64]:
        """The numbers that the thresholds are compared with, of values of some columns, with NaN."""
        return values

    def _tree_shares(self, values: NDArray[np.float64], node: NDArray[np.int64]) -> NDArray[np.float64]:
        """Class probabilities of n rows (n, n_classes), given what is known and where they are."""
        raise NotImplementedError

    def _columns_used(self, node: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The columns whose values ``_tree_shares`` may use at n nodes, bool (n, n_features)."""
        return np.ones((len(node), self.asked_rules_.n_features), bool)

    def _cheapest(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """The class codes that ``predict`` answers for these probabilities."""
        return cheapest_answers(shares, self.asked_rules_.error_costs)

    @property
    def acquisitions_(self) -> Acquisitions:
        """The rules and the columns by name."""
        if not hasattr(self, "value_ranges_"):
            check_is_fitted(self)
        return self._made_once(self.value_ranges_, self._make_acquisitions)

    def _make_acquisitions(self) -> Acquisitions:
        named = zip(column_names(self), *self.value_ranges_.tolist(), strict=True)
        columns = Columns([Column(name, low=low, high=high) for name, low, high in named])
        return Acquisitions(self._make_asked_rules(columns.names), columns)

    def walk(self, state: State) -> Walk:
        return TreeWalk(self, state)

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float64], legal: NDArray[np.bool_]) -> Advice:
        rules = self.asked_rules_
        n, J = len(acquired), rules.n_acquisitions
        acquisition, nodes = rules.acquisition_of_features, AskedNodes.start(n)
        compared = np.ascontiguousarray(self._tree_values(values))
        _walk_rows(self._asked_trees(), compared, legal.astype(np.int8), acquisition, np.arange(n), nodes)
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
        unused = acquired & ~self._columns_used(nodes.node)
        return Advice(actions, beyond, answers, preference, np.full((n, J), np.nan), stop_cost, shares, unused)

    def _needed_below(self, node: int, acquired: NDArray[np.bool_]) -> list[int]:
        """The columns that one row may need from a node on, and in the trees after it, in the order of the walk."""
        trees, needed = self._asked_trees(), {}
        level = np.append(node, trees.roots[trees.roots > node]) if len(trees.roots) else trees.roots
        while len(level):  # breadth first
            level = level[trees.feature[level] >= 0]
            needed.update(dict.fromkeys(trees.feature[level].tolist()))
            level = np.stack([trees.left[level], trees.right[level]], axis=1).ravel()
        return [f for f in needed if not acquired[f]]

    def policy_digest(self) -> str:
        """SHA-256 of the trees, rules, names and classes, 64 hexadecimal digits: equal ones ask and answer the same."""
        arrays, options = self.asked_rules_.state()
        forms = [array_form(v) for v in (*self._asked_trees(), *arrays.values(), self.classes_, *self._digest_arrays())]
        return digest_of_form([type(self).__name__, forms, options, self.asked_columns_.to_json()])

    def _digest_arrays(self) -> list[NDArray]:
        """Further arrays by which the model answers."""
        return []


class TreeWalk:
    """See ``fsgym.session.walk.Walk``: each row waits at the node that needs a value, and goes on from there.

    The rules must have neither prerequisites nor budgets: what a row cannot get, it cannot get later.

    Parameters
    ----------
    model : TreeAskingMixin, fitted
    state : State of n cases, started
    """

    def __init__(self, model: TreeAskingMixin, state: State) -> None:
        self.model, self.state, self.rules = model, state, model.asked_rules_
        self.trees, self.acquisition = model._asked_trees(), self.rules.acquisition_of_features
        self.nodes = AskedNodes.start(len(state.spent))
        self.values = np.full((len(state.spent), self.rules.n_features), np.nan)
        self.compared = self.values.copy()  # as the thresholds need them

    def begin(self) -> NDArray[np.int64]:
        return self._actions(np.arange(len(self.values)))

    def go_on(
        self, rows: NDArray[np.int64], j: int, numbers: NDArray[np.float64], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        columns = list(self.rules.groups[j])
        self.values[rows[:, None], columns] = numbers
        self.compared[rows[:, None], columns] = self.model._tree_values(numbers, columns)
        acquire_rows(self.rules.tables, self.state, j, rows, brought)
        return self._actions(rows)

    def _actions(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        _walk_rows(self.trees, self.compared, self.state.legal, self.acquisition, rows, self.nodes)
        asked = self.nodes.asked[rows]
        actions, ended = self.acquisition[asked], asked < 0
        if ended.any():
            answered = rows[ended]
            shares = self.model._tree_shares(self.values[answered], self.nodes.node[answered])
            actions[ended] = self.rules.n_acquisitions + self.model._cheapest(shares)
        return actions


@njit(cache=True, nogil=True, _nrt=False)
def _walk_rows(trees, values, legal, acquisition, rows, nodes):
    """Walk on with some rows from where they are, until each needs a value that it can get, or has no tree left."""
    for i in rows:
        node, t = nodes.node[i], nodes.tree[i]
        nodes.asked[i] = -1
        while t < len(trees.roots):
            f = trees.feature[node]
            if f < 0:
                t += 1
                node = trees.roots[t] if t < len(trees.roots) else node
                continue
            value = values[i, f]
            if value == value:
                goes_left = value <= trees.threshold[node]
            elif legal[i, acquisition[f]]:
                nodes.asked[i] = f
                break
            else:
                goes_left = trees.unknown_left[node]
            node = trees.left[node] if goes_left else trees.right[node]
        nodes.node[i], nodes.tree[i] = node, t
