"""The policy that the lattice agent learns: at each subset a decision and a classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.lattice.inference import Plan, choose_actions, follow_plan
from agents.lattice.plan import check_plan
from agents.policy import Policy, check_rows
from fsgym.rules import Rules
from fsgym.trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class LatticePolicy(Policy):
    """At each subset of the acquisitions, predict with the classifier of that subset or acquire one more.

    Attributes
    ----------
    taken : bool (n_subsets, n_acquisitions), the empty subset first, no larger one before a smaller
    plan : Plan
    rules : Rules

    Raises
    ------
    ValueError
        If the arrays do not fit each other or the rules.
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
        """The action in each state, int64 (n,); parameters as for ``Policy.actions``.

        A state that the policy itself cannot reach is answered from the largest of its subsets that the policy knows.
        """
        taken = self.rules.acquisitions_of(acquired)
        X = np.where(acquired, values, np.nan).astype(np.float32)
        places, sizes = np.empty(len(X), np.int64), self.taken.sum(axis=1)
        allowed = np.array(legal, dtype=np.int8)
        for row, acquisitions in enumerate(taken):
            contained = ~(self.taken & ~acquisitions).any(axis=1)
            places[row] = np.where(contained, sizes, -1).argmax()
            if sizes[places[row]] < acquisitions.sum():
                allowed[row, : self.rules.n_acquisitions] = 0
        return choose_actions(self.plan, places, X, allowed, self.rules)

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays = {f"plan.{name}": array for name, array in self.plan._asdict().items()}
        return arrays | {"taken": self.taken.astype(np.uint8)}, {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> LatticePolicy:
        plan, taken = Plan(**{name: arrays[f"plan.{name}"] for name in Plan._fields}), arrays["taken"]
        if taken.dtype != np.uint8 or taken.ndim != 2 or (taken > 1).any():
            raise ValueError("the subsets must be a table of 0 and 1")
        return cls(taken.astype(bool), plan, rules)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities given the acquired values at the end of each episode, float64 (n_samples, n_classes)."""
        return follow_plan(self.plan, check_rows(self.rules, X, trained_with=self.rules), self.rules)[1]

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        return follow_plan(self.plan, X, rules)[0]
