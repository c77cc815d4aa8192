"""An agent from outside: it asks for nothing and answers the most frequent class. What a new agent has to write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents import BaseAgentClassifier, Policy
from fsgym import Rules


@dataclass(frozen=True, eq=False)
class MajorityPolicy(Policy):
    """Answers one class, without acquiring anything."""

    kind = "majority"

    answer: int
    rules: Rules

    def __post_init__(self):
        if not 0 <= self.answer < self.rules.n_classes:
            raise ValueError(f"the answer must be one of {self.rules.n_classes} classes, got {self.answer!r}")

    def actions(self, acquired, values, legal):
        return np.full(len(legal), self.rules.n_acquisitions + self.answer)

    def to_arrays(self):
        return {}, {"answer": self.answer}

    @classmethod
    def from_arrays(cls, arrays, header, rules):
        return cls(header["answer"], rules)


class MajorityClassifier(BaseAgentClassifier):
    policy_class = MajorityPolicy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def __init__(
        self, lam=0.01, *, budget=None, budget_cost=None, costs=None, error_costs=None, groups=None, related=None,
        relation="any", unrelated_costs=None, empty_is_related=True, prerequisites=None, missing="unavailable",
        random_state=None,
    ):  # fmt: skip
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    def fit(self, X, y):
        dataset, self.rules_ = self._task(X, y)
        self.classes_ = dataset.classes
        self.policy_ = MajorityPolicy(int(np.bincount(dataset.y).argmax()), self.rules_)
        return self
