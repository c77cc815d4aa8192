"""
An agent of your own
====================

A policy maps states to actions, and a classifier trains it. This one believes in naive Bayes, acquires in the order
in which single features separate the classes, and stops once its answer is sure enough. Everything else is inherited:
tables with names, prices, evaluation, sessions.
"""

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_wine
from sklearn.feature_selection import f_classif
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import fsgym
from agents import BaseAgentClassifier, Policy
from fsgym import Rules
from fsgym.rules.options import takes_rule_options


@dataclass(frozen=True, eq=False)
class BayesPolicy(Policy):
    """Acquires in one order until the expected error of its answer is below ``patience`` times the next price."""

    kind = "bayes"
    means: Any  # (n_classes, n_features)
    variances: Any
    order: Any  # acquisitions, the best one first
    rules: Rules

    def state_probabilities(self, acquired, values):
        known = np.where(acquired, values, 0.0)[:, None]
        densities = -0.5 * ((known - self.means) ** 2 / self.variances + np.log(self.variances))
        return softmax((acquired[:, None] * densities).sum(axis=2), axis=1)

    def actions(self, acquired, values, legal, *, continue_after_stop=False):
        J = self.rules.n_acquisitions
        rank = np.empty(J)
        rank[self.order] = np.arange(J)
        best = np.where(legal[:, :J], rank, np.inf).argmin(axis=1)
        costs = self.state_probabilities(acquired, values) @ self.rules.error_costs.T
        goes_on = costs.min(axis=1) > 3 * self.rules.lam * self.rules.costs[best]
        goes_on = legal[:, :J].any(axis=1) & (goes_on | continue_after_stop)
        return np.where(goes_on, best, J + costs.argmin(axis=1))

    def to_arrays(self):
        return {"means": self.means, "variances": self.variances, "order": self.order}, {}

    @classmethod
    def from_arrays(cls, arrays, header, rules):
        return cls(arrays["means"], arrays["variances"], arrays["order"], rules)


class BayesClassifier(BaseAgentClassifier):
    policy_class = BayesPolicy

    @takes_rule_options
    def __init__(self, lam=0.01, *, random_state=None, **options):
        self._set_rule_options(lam=lam, **options)
        self.random_state = random_state

    def fit(self, X, y=None):
        dataset, rules = self._task(X, y)
        model = GaussianNB().fit(dataset.X, dataset.y)
        order = np.argsort(-f_classif(dataset.X, dataset.y)[0], kind="stable")
        self._set_policy(BayesPolicy(model.theta_, model.var_, order, rules))
        return self


# %%
X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = BayesClassifier(lam=0.02).fit(X_train, y_train)
print(fsgym.evaluate(model, X_test, y_test))
print(model.trajectories(X_test).to_frame().head(4).to_string(index=False))

# %%
# A session, for which this file has no code.
session = model.session()
question = session.next()
session.answer(question.name, float(X_test.iloc[0][question.name]), accept=True)
print(session.why())

# %%
# At several prices: the classifier takes ``lam`` like every other one.
results = [
    fsgym.evaluate(BayesClassifier(lam=lam).fit(X_train, y_train), X_test, y_test) for lam in (0.003, 0.01, 0.03, 0.1)
]
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot([r.n_features for r in results], [r.accuracy for r in results], marker="o")
axes.set(xlabel="mean features used", ylabel="accuracy on test rows")
plt.show()
