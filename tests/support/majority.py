"""A minimal agent: it acquires nothing and gives the answer of least expected cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from agents.base import BaseAgentClassifier
from agents.policy import Policy
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.rules.rules import cheapest_answers


@dataclass(frozen=True, eq=False)
class MajorityPolicy(Policy):
    """Always gives the same answer without acquiring anything."""

    kind = "majority"

    answer: int
    rules: Rules

    def __post_init__(self):
        if not isinstance(self.answer, int) or not 0 <= self.answer < self.rules.n_answers:
            raise ValueError(f"the answer must be one of {self.rules.n_answers} answers, got {self.answer!r}")

    # bool (n, n_features), float32 (n, n_features), and the mask of legal actions, bool (n, n_actions)
    def actions(self, acquired, values, legal, *, continue_after_stop=False):
        answer, acquisitions = self.rules.n_acquisitions + self.answer, legal[:, : self.rules.n_acquisitions]
        return np.where(continue_after_stop & acquisitions.any(axis=1), acquisitions.argmax(axis=1), answer)

    def to_arrays(self):
        return {}, {"answer": self.answer}

    @classmethod
    def from_arrays(cls, arrays, header, rules):
        return cls(header["answer"], rules)


class MajorityClassifier(BaseAgentClassifier):
    """Answers all rows as is expected to cost least: by default with the most frequent class.

    Examples
    --------
    >>> from support.majority import MajorityClassifier
    >>> X, y = [[0.0], [1.0], [2.0]], ["ill", "well", "well"]
    >>> MajorityClassifier().fit(X, y).predict(X[:1]), MajorityClassifier(refer_cost=0.2).fit(X, y).predict(X[:1])
    (array(['well'], dtype='<U4'), array(['a person'], dtype='<U8'))
    """

    policy_class = MajorityPolicy

    def __sklearn_tags__(self):  # only for an agent that cannot learn what scikit-learn's checks ask
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    @takes_rule_options
    def __init__(self, lam=0.01, *, random_state=None, **options: Unpack[RuleOptionsButLam]):
        self._set_rule_options(lam=lam, **options)
        self.random_state = random_state

    def fit(self, X, y=None):
        dataset, rules = self._task(X, y)
        counts = np.bincount(dataset.y, minlength=rules.n_classes)
        answer = cheapest_answers(counts[None], rules.answer_costs)[0]
        self._set_policy(MajorityPolicy(int(answer), rules))
        return self
