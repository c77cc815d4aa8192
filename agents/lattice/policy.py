"""The policy that was learnt: what to ask next at each subset, and what to answer there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.lattice.plan import check_plan
from agents.lattice.walk import Plan, act, walk
from agents.policy import Policy, rows_under
from fsgym.evaluation import Trajectories
from fsgym.rules import Rules


@dataclass(frozen=True, eq=False)
class LatticePolicy(Policy):
    """At a subset of the acquisitions: answer with its own classifier, or ask for one more.

    Attributes
    ----------
    taken : bool (n_subsets, n_acquisitions), the empty one first, no larger one before a smaller
    plan : Plan
    rules : Rules

    Raises
    ------
    ValueError
        Where the arrays do not fit each other or the rules.
    """

    kind = "lattice"

    taken: NDArray[np.bool_]
    plan: Plan
    rules: Rules

    def __post_init__(self) -> None:
        check_plan(self.taken, self.plan, self.rules)

    def actions(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Actions, int64 (n,), from z (n, n_features), the values where known, and what is legal (n, n_actions).

        A state that the policy itself does not come to is answered from the largest subset that it holds.
        """
        taken = self.rules.acquisitions_of(acquired)
        X = np.where(acquired, values, np.nan).astype(np.float32)
        places, sizes = np.empty(len(X), np.int64), self.taken.sum(axis=1)
        may = np.array(legal, dtype=np.int8)
        for row, known in enumerate(taken):
            held = ~(self.taken & ~known).any(axis=1)
            places[row] = np.where(held, sizes, -1).argmax()
            if sizes[places[row]] < known.sum():
                may[row, : self.rules.n_acquisitions] = 0
        return act(self.plan, places, X, may, self.rules)

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays = {f"plan.{name}": array for name, array in self.plan._asdict().items()}
        return arrays | {"taken": self.taken.astype(np.uint8)}, {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> LatticePolicy:
        plan, taken = Plan(**{name: arrays[f"plan.{name}"] for name in Plan._fields}), arrays["taken"]
        if taken.dtype != np.uint8 or taken.ndim != 2 or (taken > 1).any():
            raise ValueError("the subsets must be a table of 0 and 1")
        return cls(taken.astype(bool), plan, rules)

    def probabilities(self, X: ArrayLike) -> NDArray[np.float64]:
        """Of the classes, from what was acquired, float64 (n_samples, n_classes)."""
        return self._walk(rows_under(self.rules, X, trained_with=self.rules), self.rules)[1]

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        return self._walk(X, rules)[0]

    def _walk(self, X: NDArray[np.float32], rules: Rules) -> tuple[Trajectories, NDArray[np.float64]]:
        """Trajectories of checked rows, and the probabilities of the classes at their ends."""
        return walk(self.plan, X, rules)
