"""The protocol of a policy: for what is known of a row, a legal action. All agents learn one, all callers use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from fsgym.dataset import Dataset
from fsgym.evaluation import Trajectories, play
from fsgym.rules import Rules, Tables
from fsgym.rules import kernels as mdp


class Policy(ABC):
    """What an agent has learnt: batches in, actions out. A kind of policy is a subclass with three methods.

    Attributes
    ----------
    kind : str, of the class: what its model files are marked with
    rules : Rules
        Those it was trained with. ``agents.model_file`` writes them, a subclass writes the rest.

    See Also
    --------
    agents.BaseAgentClassifier : the classifier around a policy.
    """

    kind: ClassVar[str]
    rules: Rules

    @abstractmethod
    def actions(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Actions, int64 (n,), from z (n, n_features), the values where known, and what is legal (n, n_actions)."""

    @abstractmethod
    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        """Everything but the rules: arrays by name, and what else there is as plain JSON."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> Self:
        """The policy again; one of ``agents.model_file.DAMAGES`` where arrays or header do not fit."""

    def trajectories(self, X: ArrayLike, rules: Rules | None = None) -> Trajectories:
        """Classify the rows of ``X`` (n_samples, n_features), each feature looked at only when acquired.

        ``rules`` replaces the rules it was trained with, for another budget, say; groups and classes must agree.
        Raises ValueError where ``X`` has another shape, or missing values that the rules refuse.
        """
        rules = rules or self.rules
        return self._trajectories(rows_under(rules, X, trained_with=self.rules), rules)

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        """As ``trajectories``, for checked rows; a subclass replaces it where it knows a faster way."""
        n = rules.n_features
        unlabelled = Dataset(X, np.zeros(len(X), np.int64), classes=np.arange(rules.n_classes))
        return play(lambda seen, legal: self.actions(seen[:, :n] > 0.5, seen[:, n:], legal), unlabelled, rules)


def rows_under(rules: Rules, X: ArrayLike, trained_with: Rules) -> NDArray[np.float32]:
    """The rows that a policy is to classify, float32 and contiguous; ValueError where they or the rules do not fit."""
    if rules.groups != trained_with.groups or rules.n_classes != trained_with.n_classes:
        raise ValueError("a policy acts under rules with the groups and classes that it was trained with")
    with np.errstate(over="ignore"):
        table = np.ascontiguousarray(X, dtype=np.float32)
    if table.ndim != 2 or table.shape[1] != rules.n_features:
        raise ValueError(f"X must have shape (n_samples, {rules.n_features}), got {table.shape}")
    if rules.missing == "error" and np.isnan(table).any():
        raise ValueError("X has missing values and missing='error' refuses them")
    return table


def legal_from(acquired: NDArray[np.bool_], rules: Rules) -> NDArray[np.bool_]:
    """What is legal as far as z tells, bool (n, n_actions), from ``acquired`` bool (n, n_features).

    What z does not tell: which values are missing, and what was spent where prices depend on the order; the
    greedily cheapest order is taken for it.
    """
    taken = rules.taken_from(acquired)
    legal = np.ones((len(taken), rules.n_actions), np.int8)
    state = np.empty((1, rules.n_acquisitions), np.int8), np.empty((1, rules.n_acquisitions), np.int32)
    _legal_from(taken, rules.price_sets(taken)[0], legal, *state, *rules.tables)
    return legal.astype(bool)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def state_of(t, taken, status, touching):
    """Write the state after the acquisitions ``taken`` (bool, J) into row 0 of both; returns how many they are."""
    touching[0, :] = 0
    n_taken = 0
    for j in range(taken.size):
        status[0, j] = mdp.TAKEN if taken[j] else mdp.OPEN
        if taken[j]:
            n_taken += 1
            for k in range(t.neighbour_first[j], t.neighbour_first[j + 1]):
                touching[0, t.neighbour[k]] += 1
    return n_taken


@njit(cache=True, nogil=True, _nrt=False)
def _legal_from(taken, spent, legal, status, touching, *tables):
    t = Tables(*tables)
    J = t.costs.size
    for e in range(len(taken)):
        n_taken = state_of(t, taken[e], status, touching)
        for j in range(J):
            legal[e, j] = mdp.is_legal(t, j, 0, status, touching, n_taken, spent[e])
