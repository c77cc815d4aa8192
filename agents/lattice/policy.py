"""The policy that was learnt: what to ask next at each subset, and what to answer there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents import model_file
from agents.lattice.plan import check_plan
from agents.lattice.walk import Plan, act, walk
from fsgym.evaluation import Trajectories
from fsgym.rules import Rules

KIND = "lattice"  # of model file


@dataclass(frozen=True, eq=False)
class LatticePolicy:
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

    def trajectories(self, X: ArrayLike, rules: Rules | None = None) -> Trajectories:
        """Classify the rows of ``X`` (n_samples, n_features), each feature looked at only when acquired.

        ``rules`` replaces the rules it was trained with, for another budget, say; groups and classes must agree.
        Raises ValueError where ``X`` has another shape, or missing values that the rules refuse.
        """
        return self._walk(X, rules or self.rules)[0]

    def probabilities(self, X: ArrayLike) -> NDArray[np.float64]:
        """Of the classes, from what was acquired, float64 (n_samples, n_classes)."""
        return self._walk(X, self.rules)[1]

    def _walk(self, X: ArrayLike, rules: Rules) -> tuple[Trajectories, NDArray[np.float64]]:
        if rules.groups != self.rules.groups or rules.n_classes != self.rules.n_classes:
            raise ValueError("a policy acts under rules with the groups and classes that it was trained with")
        with np.errstate(over="ignore"):
            table = np.ascontiguousarray(X, dtype=np.float32)
        if table.ndim != 2 or table.shape[1] != rules.n_features:
            raise ValueError(f"X must have shape (n_samples, {rules.n_features}), got {table.shape}")
        if rules.missing == "error" and np.isnan(table).any():
            raise ValueError("X has missing values and missing='error' refuses them")
        return walk(self.plan, table, rules)


def write_policy(path: str | os.PathLike, policy: LatticePolicy, header: dict[str, Any]) -> None:
    """Write a policy to a model file, with a header of plain JSON."""
    arrays = {f"plan.{name}": array for name, array in policy.plan._asdict().items()}
    arrays["taken"] = policy.taken.astype(np.uint8)
    model_file.write(path, KIND, *model_file.with_rules(arrays, header, policy.rules))


def read_policy(path: str | os.PathLike) -> tuple[LatticePolicy, dict[str, Any]]:
    """The policy of a model file, checked, and the rest of its header."""
    arrays, header = model_file.read(path, KIND)
    try:
        rules = model_file.take_rules(arrays, header)
        plan = Plan(**{name: arrays[f"plan.{name}"] for name in Plan._fields})
        taken = arrays["taken"]
        if taken.dtype != np.uint8 or taken.ndim != 2 or (taken > 1).any():
            raise ValueError("the subsets must be a table of 0 and 1")
        policy = LatticePolicy(taken.astype(bool), plan, rules)
    except model_file.DAMAGES as error:
        raise model_file.damaged(path, error) from None
    return policy, header
