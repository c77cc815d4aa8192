"""The classifier trained by RCPI."""

from __future__ import annotations

from inspect import signature
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from agents.base import BaseAgentClassifier
from agents.inputs import training_rows
from agents.model_file import Labels
from agents.rcpi.policy import LinearPolicy
from agents.rcpi.rcpi import RCPI
from fsgym.envs.env import DatumWiseEnv
from fsgym.methods import METHODS
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options


class DatumWiseClassifier(BaseAgentClassifier):
    """A classifier that acquires the features of each row one by one and stops when the next one is not worth it.

    Trained by Rollouts Classification Policy Iteration (Dulac-Arnold, Denoyer, Preux and Gallinari, 2012), see
    ``agents.RCPI``.

    Parameters
    ----------
    lam : float, default 0.01
        Exchange rate between cost and errors: the value of one unit of ``costs``, in units of ``error_costs``.
    n_iterations, states_per_sample, alpha, ridge, intercept, acquisitions, answers, states, mixture, start
        As in ``agents.RCPI``.
    n_rollouts, select, unknown, nonzero, drop_unused, uninformative
        As in ``agents.RCPI``.
    class_weight, n_jobs, random_state
        As in ``agents.RCPI``.
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults. Prices by name use the column names, or
        ``x0, x1, ...``; classes are in sorted order.

    Attributes
    ----------
    classes_ : array (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of str, if ``X`` had column names
    rules_ : Rules
    policy_ : LinearPolicy
    history_ : list of dict, one entry per iteration, see ``RCPI.learn``; empty for a loaded classifier
    dropped_ : bool (n_acquisitions,) or None
        The acquisitions that training has dropped, see ``drop_unused`` and ``uninformative``; None for a loaded
        classifier.

    Raises
    ------
    ValueError, TypeError
        If data or parameters are invalid.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from agents import DatumWiseClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DatumWiseClassifier(lam=0.01, random_state=0).fit(X[:300], y[:300])
    >>> used = model.features_used(X[300:])
    >>> used.shape, bool(used.sum(axis=1).mean() < 20), bool(model.score(X[300:], y[300:]) > 0.85)
    ((269, 30), True, True)
    """

    policy_class = LinearPolicy
    length_parameter = "n_iterations"

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        n_iterations: int = 10,
        states_per_sample: float = 10,
        alpha: float = 0.7,
        ridge: float = 1e-3,
        intercept: bool = True,
        acquisitions: Literal["incremental", "linear", "trees"] = "incremental",
        answers: Literal["linear", "logistic"] = "logistic",
        states: Literal["uniform", "policy", "both"] = "both",
        mixture: Literal["trajectory", "decision"] = "decision",
        start: Literal["uniform", "answer"] = "answer",
        n_rollouts: int = 1,
        select: Literal["best", "last"] = "best",
        unknown: float = 0.0,
        nonzero: bool = False,
        drop_unused: int | None = None,
        uninformative: Literal["drop", "keep"] = "drop",
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        self._set_rule_options(lam=lam, **rule_options)
        self.n_iterations = n_iterations
        self.states_per_sample = states_per_sample
        self.alpha = alpha
        self.ridge = ridge
        self.intercept = intercept
        self.acquisitions: Literal["incremental", "linear", "trees"] = acquisitions
        self.answers: Literal["linear", "logistic"] = answers
        self.states: Literal["uniform", "policy", "both"] = states
        self.mixture: Literal["trajectory", "decision"] = mixture
        self.start: Literal["uniform", "answer"] = start
        self.n_rollouts = n_rollouts
        self.select: Literal["best", "last"] = select
        self.unknown = unknown
        self.nonzero = nonzero
        self.drop_unused = drop_unused
        self.uninformative: Literal["drop", "keep"] = uninformative
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> DatumWiseClassifier:
        """Train on a table ``X`` and labels ``y`` (n_samples,), or on a ``Dataset``.

        ``X`` is an array or DataFrame (n_samples, n_columns), with NaN where a value is unavailable. Text, category and
        bool columns of a DataFrame are encoded; dates, identifiers and other suspicious columns raise ValueError.

        ``sample_weight`` (n_samples,), at least 0, are weights of the rows, see ``agents.RCPI``.
        """
        dataset, rules = self._task(X, y)
        weighted_rows, weight = training_rows(dataset, self.class_weight, sample_weight)
        self._see_rows(weighted_rows)
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in signature(RCPI).parameters if name in own and name != "class_weight"}
        agent = RCPI(DatumWiseEnv(weighted_rows, rules), sample_weight=weight, **shared)
        agent.learn()
        self._set_policy(agent.policy)
        self.history_ = agent.history
        self.dropped_ = np.asarray(agent.dropped)[np.argsort(self.arrangement_.acquisitions)]
        return self

    @classmethod
    def published(cls, lam: float = 0.01, **options: Any) -> DatumWiseClassifier:
        """RCPI in the reading of ``agents.RCPI.published``, which is the method ``rcpi_printed``.

        ``options`` are other or further parameters.
        """
        return cls(lam, **{**METHODS["rcpi_printed"].preset, **options})

    def _restore(self, policy: LinearPolicy, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        self.history_, self.dropped_ = [], None
