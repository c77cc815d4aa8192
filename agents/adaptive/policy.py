"""A policy of any of the learners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.adaptive.case_prices import CasePricedPolicy
from agents.adaptive.evidence import InformedPolicy, rules_with_indicators
from agents.adaptive.report import LearnerReport
from agents.anystate import AnyStateNetworkClassifier, MixtureClassifier
from agents.calibration import read_policy
from agents.lattice import LatticeClassifier
from agents.policy import AdviseRows, Policy, check_rows
from agents.tradeoff import BaseTradeoffClassifier
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules, State
from fsgym.session.step import Advice
from fsgym.session.walk import Walk

INFORMED = "informed."  # before the names of the arrays of the policy that knows what is missing

# The learners to choose from.

LEARNERS: dict[str, type[BaseTradeoffClassifier]] = {
    "lattice": LatticeClassifier,
    "mixture": MixtureClassifier,
    "network": AnyStateNetworkClassifier,
}


def learner_of(policy: Policy) -> str:
    """The name of the learner whose policy this is."""
    if isinstance(policy, ChosenPolicy):
        return policy.learner
    return next(name for name, kind in LEARNERS.items() if kind.policy_class.kind == policy.kind)


@dataclass(frozen=True, eq=False)
class ChosenPolicy(Policy):
    """The policy of the learner that was chosen.

    Attributes
    ----------
    learner : str, a name in ``LEARNERS``
    policy : Policy
    report : LearnerReport
    rules : Rules
    informed : InformedPolicy, or None
        The policy where it is known which values of a row are missing, if that goes with the class.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import AdaptiveClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0).fit(X[:, [6, 10]], y)
    >>> model.policy_.learner, type(model.policy_.acting).__name__
    ('lattice', 'LatticePolicy')
    """

    kind = "adaptive"
    takes_case_costs = True

    learner: str
    policy: Policy
    report: LearnerReport
    rules: Rules
    informed: InformedPolicy | None = None

    def at_prices(self, costs: NDArray[np.float64]) -> ChosenPolicy:
        policy = self.policy.at_prices(costs)
        return replace(self, learner=learner_of(policy), policy=policy, rules=policy.rules)

    @property
    def telling(self) -> NDArray[np.int64]:
        return super().telling if self.informed is None else self.informed.features

    def advise(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        missing: NDArray[np.bool_] | None = None,
    ) -> Advice:
        """The advice of the chosen policy; parameters as for ``Policy.advise`` and ``Policy.actions``."""
        if missing is None or self.informed is None:
            return self.policy.advise(acquired, values, legal)
        return self.informed.advise(acquired, values, legal, missing)

    def advising(self, n_rows: int) -> AdviseRows:
        return self.policy.advising(n_rows) if self.informed is None else super().advising(n_rows)

    def can_change(
        self,
        acquired: NDArray[np.bool_],
        legal: NDArray[np.bool_],
        advice: Advice,
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        """As that of the chosen policy; where it is known what is missing, wherever an acquisition is legal."""
        if missing is None or self.informed is None:
            return self.policy.can_change(acquired, legal, advice)
        return super().can_change(acquired, legal, advice)

    def state_probabilities(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float64] | None:
        """Those of the chosen policy; parameters as for ``Policy.state_probabilities``."""
        if missing is None or self.informed is None:
            return self.policy.state_probabilities(acquired, values)
        return self.informed.state_probabilities(acquired, values, missing)

    def walk(self, state: State, missing: NDArray[np.bool_] | None = None) -> Walk:
        if missing is None or self.informed is None:
            return self.policy.walk(state)
        return self._acting_walk(state, missing)

    @property
    def acting(self) -> Policy:
        return self.policy

    @property
    def is_tempered(self) -> bool:
        return self.policy.is_tempered or (self.informed is not None and self.informed.policy.is_tempered)

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays, policy = self.policy.to_arrays()
        header: dict[str, Any] = {"learner": self.learner, "report": self.report.as_json(), "policy": policy}
        if self.informed is not None:
            own, policy = self.informed.policy.to_arrays()
            arrays |= {f"{INFORMED}{name}": array for name, array in own.items()}
            arrays[f"{INFORMED}features"] = self.informed.features
            header["informed"] = {"learner": self.informed.learner, "policy": policy}
        return arrays, header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> ChosenPolicy:
        own = {name.removeprefix(INFORMED): a for name, a in arrays.items() if name.startswith(INFORMED)}
        arrays = {name: a for name, a in arrays.items() if not name.startswith(INFORMED)}
        policy, informed = _policy_from(header, arrays, rules), None
        if "informed" in header:
            features = own.pop("features")
            if (
                features.dtype != np.int64
                or features.ndim != 1
                or not len(features)
                or rules.related is not None
                or rules.costs_by_case
            ):
                raise ValueError("missing values are evidence for features, by their numbers")
            if features.min() < 0 or features.max() >= rules.n_features or (np.diff(features) <= 0).any():
                raise ValueError("the features whose missing values are evidence must be in ascending order")
            of_informed = _policy_from(header["informed"], own, rules_with_indicators(rules, len(features)))
            informed = InformedPolicy(header["informed"]["learner"], of_informed, features)
        return cls(header["learner"], policy, LearnerReport.from_json(header["report"]), rules, informed)

    def trajectories(
        self, X: ArrayLike, rules: Rules | None = None, *, continue_after_stop: bool = False
    ) -> Trajectories:
        """As ``Policy.trajectories``: NaN is evidence if there is an ``informed`` policy; none to ``acting``."""
        if self.informed is None:
            return self.policy.trajectories(X, rules, continue_after_stop=continue_after_stop)
        rules = rules or self.rules
        return self.informed.trajectories(check_rows(rules, X, self.rules), rules, continue_after_stop)


def _policy_from(header: Mapping[str, Any], arrays: Mapping[str, NDArray], rules: Rules) -> Policy:
    learner = header["learner"]
    if learner not in LEARNERS:
        raise ValueError(f"the learner of a model must be one of {', '.join(LEARNERS)}, got {learner!r}")
    if "case_costs" in header["policy"]:
        return CasePricedPolicy.from_arrays(arrays, header["policy"], rules)
    return read_policy(LEARNERS[learner].policy_class, arrays, header["policy"], rules)
