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
from fsgym.rules import Rules
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
    return legal_and_prices(rules.acquisitions_of(acquired), rules)[0]


def legal_and_prices(taken: NDArray[np.bool_], rules: Rules) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """What is legal after the acquisitions ``taken`` (n, J), bool (n, n_actions), and their prices.

    Prices are float64 (n, J), in the unit of ``costs``. As for ``legal_from``, nothing is missing, and ``taken`` was
    acquired in the greedily cheapest order.
    """
    state, prices = rules.blank_state(len(taken)), np.zeros(taken.shape)
    _place_and_price(rules.tables, state, taken, rules.price_sets(taken)[0], prices)
    return state.legal.astype(bool), prices


@njit(cache=True, nogil=True, _nrt=False)
def _place_and_price(t, state, taken, spent, prices):
    for e in range(len(taken)):
        mdp.set_acquired(t, state, e, taken[e], spent[e])
        for j in range(t.costs.size):
            prices[e, j] = mdp.price(t, state, e, j)
