"""A policy of any of the learners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.adaptive.report import LearnerReport
from agents.anystate import AnyStateNetworkClassifier, MixtureClassifier
from agents.lattice import LatticeClassifier
from agents.policy import Policy
from agents.tradeoff import BaseTradeoffClassifier
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules, State
from fsgym.session.step import Advice
from fsgym.session.walk import Walk

# The learners to choose from.

LEARNERS: dict[str, type[BaseTradeoffClassifier]] = {
    "lattice": LatticeClassifier,
    "mixture": MixtureClassifier,
    "network": AnyStateNetworkClassifier,
}


@dataclass(frozen=True, eq=False)
class ChosenPolicy(Policy):
    """The policy of the learner that was chosen.

    Attributes
    ----------
    learner : str, a name in ``LEARNERS``
    policy : Policy
    report : LearnerReport
    rules : Rules

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

    learner: str
    policy: Policy
    report: LearnerReport
    rules: Rules

    def actions(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        *,
        continue_after_stop: bool = False,
    ) -> NDArray[np.int64]:
        """The action in each state, int64 (n,); parameters as for ``Policy.actions``."""
        return self.policy.actions(acquired, values, legal, continue_after_stop=continue_after_stop)

    def state_probabilities(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32]
    ) -> NDArray[np.float64] | None:
        """Class probabilities in each state, float64 (n, n_classes); parameters as for ``Policy.actions``."""
        return self.policy.state_probabilities(acquired, values)

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Advice:
        """The advice of the chosen policy; parameters as for ``Policy.actions``."""
        return self.policy.advise(acquired, values, legal)

    def walk(self, state: State) -> Walk:
        return self.policy.walk(state)

    @property
    def acting(self) -> Policy:
        return self.policy

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays, header = self.policy.to_arrays()
        return arrays, {"learner": self.learner, "report": self.report.as_json(), "policy": header}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> ChosenPolicy:
        learner = header["learner"]
        if learner not in LEARNERS:
            raise ValueError(f"the learner of a model must be one of {', '.join(LEARNERS)}, got {learner!r}")
        policy = LEARNERS[learner].policy_class.from_arrays(arrays, header["policy"], rules)
        return cls(learner, policy, LearnerReport.from_json(header["report"]), rules)

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        return self.policy._trajectories(X, rules)
