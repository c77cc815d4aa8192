"""The classifier that policy iteration on a lattice trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from agents.base import BaseAgentClassifier
from agents.lattice.heads import CrossFit
from agents.lattice.learn import Learnt, final, learn, make_table
from agents.lattice.moves import Subset
from agents.lattice.policy import LatticePolicy
from agents.lattice.target import Target, check_target, search
from fsgym.checks import brief, check_n_jobs, check_number, check_random_state, generator_of
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.threads import one_blas_thread

LARGEST_LOSS = 1e9  # of one episode; sums of its squares must not overflow


class LatticeClassifier(BaseAgentClassifier):
    """A classifier that asks for the features of each datum one by one, with a classifier of its own at each subset.

    Policy iteration in the process of Dulac-Arnold, Denoyer, Preux and Gallinari (2012). As in their RCPI it starts
    from answering at once and improves by rollouts, but the states that matter are a few hundred subsets of the
    features, chosen by the data. At each of them a small ensemble (boosted trees and a logistic regression on hinges)
    answers from exactly these features, cross-fitted. One backward pass over the subsets is a rollout of every training
    row from every subset to the end; what going on to a larger subset costs beyond answering is regressed on the
    beliefs there, and a policy that looks at the case is taken only where it is better than a fixed one.

    Parameters
    ----------
    lam : float, default 0.01
        Price of one unit of ``costs``, in units of ``error_costs``. Not read where a target is given.
    target_cost : float, optional
        Instead of ``lam``: what the features of a case may cost on average, in the unit of ``costs``.
    target_features : float, optional
        Instead of ``lam``: how many features may be used for a case on average. Either target is a limit: the price is
        searched for whose policy uses most without a mean above it, over the training rows, each asked by models that
        did not see it. The mean of new cases scatters around that. A target that is never used up is no limit. The
        search takes as long as a ``path`` of about ten to fourteen prices.
    kappa : float, default 0.3
        Standard errors by which a choice that looks at the case has to be better than a fixed one.
    beta : float from 0 to 1, optional
        Share of the expected error cost in the loss learnt from, the rest being the realised one; by default 1 up to
        600 rows, else a half: errors of few rows are a noisy loss. A quarter of what is expected is the expectation
        of the classifier of all features.
    n_jobs : int, optional
        Threads, as in scikit-learn. Results do not depend on it.
    random_state : int, numpy Generator or RandomState, optional
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults. Prices by name take the columns' names, or
        ``x0, x1, ...``; classes are in sorted order. The answer is the one that is expected to cost least.

    Attributes
    ----------
    classes_ : array (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of str, where ``X`` had column names
    lam_ : float
        The price that was used: ``lam``, or the one found for the target.
    rules_ : Rules
    policy_ : LatticePolicy
    history_ : list of dict
        The numbers of each sweep: subsets known, subsets visited, means of features used and of their cost (in the
        unit of ``costs``), and the training loss, which is no estimate of the loss on other data: the subsets were
        chosen on it. ``estimate_loss`` is one.

    Raises
    ------
    ValueError, TypeError
        For data or parameters that do not fit, in one sentence.

    References
    ----------
    Dulac-Arnold, Denoyer, Preux and Gallinari (2012), Sequential approaches for learning datum-wise sparse
    representations. Dimitrakakis and Lagoudakis (2008), Rollout sampling approximate policy iteration.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from agents import LatticeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LatticeClassifier(lam=0.01, random_state=0).fit(X[:300], y[:300])
    >>> used = model.features_used(X[300:])
    >>> bool(used.sum(axis=1).mean() < 4), bool(model.score(X[300:], y[300:]) > 0.9)
    (True, True)
    """

    policy_class = LatticePolicy

    policy_: LatticePolicy

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        target_cost: float | None = None,
        target_features: float | None = None,
        kappa: float = 0.3,
        beta: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        self._set_rule_options(lam=lam, **rule_options)
        self.target_cost = target_cost
        self.target_features = target_features
        self.kappa = kappa
        self.beta = beta
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> LatticeClassifier:
        """Learn from ``X`` (n_samples, n_features), NaN where a value cannot be had, and labels ``y`` (n_samples,)."""
        target = check_target(self.target_cost, self.target_features)
        self._learn(X, y, [self], target)
        return self

    def path(self, X: ArrayLike, y: ArrayLike, lams: ArrayLike) -> list[LatticeClassifier]:
        """Fitted copies of this classifier at several prices ``lams`` (n_prices,), each as a fit of its own would be.

        The classifiers of the subsets do not depend on the price: those that several prices want are fitted once. This
        classifier itself is not changed.
        """
        prices = np.asarray(lams)
        if prices.ndim != 1 or not len(prices) or prices.dtype.kind not in "iuf":
            raise ValueError(f"lams must be a list of numbers, at least one, got {brief(lams)}")
        if check_target(self.target_cost, self.target_features) is not None:
            raise ValueError("path goes through the prices it is given; leave target_cost and target_features out")
        models = [clone(self).set_params(lam=lam) for lam in prices.tolist()]
        self._learn(X, y, models)
        return models

    def _learn(self, X: ArrayLike, y: ArrayLike, models: list[LatticeClassifier], target: Target | None = None) -> None:
        datasets = [model._dataset(X, y) for model in models]
        dataset = datasets[0]
        tasks = [self._rules(dataset, lam=0.0 if target else model.lam) for model in models]
        kappa = check_number(self.kappa, "kappa", 0.0)
        beta = None if self.beta is None else check_number(self.beta, "beta", 0.0)
        if beta is not None and beta > 1:
            raise ValueError(f"beta must be a share from 0 to 1, got {beta:g}")
        check_n_jobs(self.n_jobs)
        check_random_state(self.random_state)
        table, run = make_table(dataset, generator_of(self.random_state)), in_threads(self.n_jobs)
        heads: dict[Subset, CrossFit] = {}

        def learn_at(rules: Rules) -> Learnt:
            rules.check_largest_loss(LARGEST_LOSS)
            return learn(table, rules, run, kappa=kappa, beta=beta, heads=heads)

        for model, rules in zip(models, tasks):
            with one_blas_thread():
                if target is None:
                    learnt = learn_at(rules)
                else:
                    learnt = search(target, rules, lambda lam: learn_at(self._rules(dataset, lam=lam)))
                model.policy_, model.history_ = final(learnt.policy, run), learnt.history
            model.classes_, model.rules_ = dataset.classes, model.policy_.rules
            model.lam_ = model.rules_.lam

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes given what was looked at, (n_samples, n_classes).

        The answer is the class of the highest one, or with ``error_costs`` the one that is expected to cost least.
        """
        table = self._rows(X)
        return self.policy_.probabilities(table)

    def _restore(self, policy: LatticePolicy, header: dict[str, Any]) -> None:
        """As of every classifier; ``lam`` is the price that was found where there was a target."""
        super()._restore(policy, header)
        self.lam_, self.history_ = policy.rules.lam, []


def in_threads(n_jobs: int | None) -> Callable[[Callable, list[tuple]], list[Any]]:
    """What runs a function on a list of arguments."""
    if effective_n_jobs(n_jobs) == 1:
        return lambda function, arguments: [function(*a) for a in arguments]
    return lambda function, arguments: list(
        Parallel(n_jobs, require="sharedmem")(delayed(function)(*a) for a in arguments)
    )
