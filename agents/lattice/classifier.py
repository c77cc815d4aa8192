"""The classifier trained by policy iteration on a lattice of subsets."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from agents.base import BaseAgentClassifier
from agents.lattice.base_subset import acquisitions_of_columns, learn_after_base, with_known
from agents.lattice.constants import DEFAULT_KAPPA, DEFAULT_UNKNOWN
from agents.lattice.learn import LearningSettings, TrainingResult, learn, limit_warning
from agents.lattice.moves import Subset
from agents.lattice.policy import LatticePolicy
from agents.lattice.refit import refit
from agents.lattice.target import UsageTarget, check_target, find_price
from agents.lattice.training_data import prepare_data
from agents.limits import MAX_LOSS
from agents.model_file import Labels
from agents.parallel import task_runner
from agents.weights import training_rows
from fsgym.checks import brief, check_n_jobs, check_number, check_random_state, generator_of
from fsgym.columns import MissingColumns
from fsgym.dataset import Dataset
from fsgym.notices import warn_caller
from fsgym.rules import Rules
from fsgym.rules.checks import check_bool
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options


class LatticeClassifier(BaseAgentClassifier):
    """A classifier that acquires the features of each row one by one and has a separate classifier for each subset.

    Policy iteration for the decision process of Dulac-Arnold, Denoyer, Preux and Gallinari (2012). Like their RCPI, it
    starts from the policy that answers without acquiring anything and improves it by rollouts. Unlike RCPI, it
    considers a limited number of subsets of the features, which it selects on the training data. Each of them has its
    own classifier, an average of models that use exactly these features: boosted trees, a logistic regression on hinge
    functions ``max(0, x - t)`` and, for more than 1,000 rows, a forest; the regression, then the boosted trees are left
    out where they would take too long, and a sample of large tables decides on the subsets. Training uses out-of-fold
    probabilities of the training rows. One backward sweep over the subsets gives the same result as rolling out every
    training row from every subset to the end of its episode. At each subset, a regression on the class probabilities
    and acquired values predicts the loss of acquiring one more feature minus the loss of answering. A decision depends
    on the row only where that is better than one fixed decision for all rows.

    Parameters
    ----------
    lam : float, default 0.01
        Exchange rate between cost and errors: the value of one unit of ``costs``, in units of ``error_costs``. Ignored
        if a target is given.
    target_cost : float, optional
        Instead of ``lam``: the upper limit of the mean cost of a row's acquisitions, in the unit of ``costs``.
    target_features : float, optional
        Instead of ``lam``: the upper limit of the mean number of features used per row. For either target, the
        classifier searches for the value of ``lam`` at which the mean (over the training rows, out of fold) is as large
        as possible without exceeding the target. On new rows the mean may be slightly above or below. The lowest value
        that is tried makes all features together cost a thousandth of an error; if its policy stays below the target,
        that policy is the result. The search takes as long as a ``path`` of about ten to fourteen values.
    kappa : float, default 0.3
        A row-dependent decision replaces a fixed one only if it is better by more than this many standard errors of
        their paired difference. Acquiring anything at all must pay by one standard error.
    beta : float from 0 to 1, optional
        Weight of the expected error cost in the training loss; the realised error cost has the weight ``1 - beta``. By
        default 1 for up to 600 rows, since the realised errors of few rows are noisy, and 0.5 for more. The expected
        error cost is a weighted mean: 3/4 by the probabilities of the subset's classifier, 1/4 by those of a classifier
        of all features. The first alone counts for rows with missing values, or if a classifier of all features would
        take too long to train.
    effort : float, default 1.0
        Factor of the limits of the lattice: the number of its subsets, and the operations that their classifiers take.
        Training time grows about in proportion. Use more where ``limited_by_`` is set.
    unknown : float from 0 to below 1, default 0.1
        Probability with which each acquisition of a training row cannot be obtained while back-up moves are learned:
        what the policy acquires instead of a feature that is missing, not offered or was acquired without a result.
        Rows whose acquisitions can all be obtained are classified as with 0, which learns no back-up moves.
    known : list of names or positions of columns, optional
        Columns that are available for every row at no cost, such as the age of a patient. Their acquisitions have the
        price 0, come first and do not count for ``budget``: ``rules_`` has these prices, and ``budget`` plus their
        number. Of a group, all columns must be listed or none.
    free_first : bool, default True
        Whether acquisitions of price 0 that are legal at the start come first for every row, if that does not raise the
        training loss. Without effect if ``lam`` is 0. Training then takes about twice as long.
    class_weight : None, "balanced" or mapping label -> weight, default None
        Weights of the classes, as in scikit-learn; a class without an entry has weight 1. See ``fit``.
    n_jobs : int, optional
        Number of threads, as in scikit-learn. Results do not depend on it.
    random_state : int, numpy Generator or RandomState, optional
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults. Prices by name use the column names, or
        ``x0, x1, ...``; classes are in sorted order. The answer is the class with the lowest expected error cost.

    Attributes
    ----------
    classes_ : array (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of str, if ``X`` had column names
    lam_ : float
        The value of lambda that was used: ``lam``, or the one found for the target.
    expected_cost_, expected_n_features_ : float
        Means over the training rows, out of fold: the cost of a row's acquisitions, in the unit of ``costs``, and the
        number of features used. They are what a target limits.
    rules_ : Rules
    policy_ : LatticePolicy
    limited_by_ : str or None
        "subsets" or "operations", the limit of the lattice that stopped its growth while the loss was still falling; a
        warning says so, too. None if there was none, and for a loaded classifier.
    history_ : list of dict
        One entry per sweep: "subsets", the number of subsets in the lattice; "visited", the number of those that the
        policy can reach; "features" and "cost", the mean number of features used and their mean cost, in the unit of
        ``costs``; and "training_loss". The training loss is optimistic, since the subsets were selected on it;
        ``estimate_loss`` estimates the loss on other data. Empty for a loaded classifier.

    Raises
    ------
    ValueError, TypeError
        If data or parameters are invalid, or acquisitions that cost nothing already exceed the target.

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
    limited_by_: str | None
    expected_cost_: float | None
    expected_n_features_: float | None

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        target_cost: float | None = None,
        target_features: float | None = None,
        kappa: float = DEFAULT_KAPPA,
        beta: float | None = None,
        effort: float = 1.0,
        unknown: float = DEFAULT_UNKNOWN,
        known: Any = None,
        free_first: bool = True,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        self._set_rule_options(lam=lam, **rule_options)
        self.target_cost = target_cost
        self.target_features = target_features
        self.kappa = kappa
        self.beta = beta
        self.effort = effort
        self.unknown = unknown
        self.known = known
        self.free_first = free_first
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> LatticeClassifier:
        """Train on a table ``X`` and labels ``y`` (n_samples,), or on a ``Dataset``.

        ``X`` is an array or DataFrame (n_samples, n_columns), with NaN where a value is unavailable. Text, category and
        bool columns of a DataFrame are encoded; dates, identifiers and other suspicious columns raise ValueError.

        Training minimises the weighted mean loss. The weight of a row is its ``sample_weight`` (n_samples,), at least
        0, times that of its class; the weights are divided by their mean, so that a constant factor changes nothing.
        Rows with weight 0 are left out. All means over training rows are weighted: those of ``history_``, and those
        that a target limits.
        """
        target = check_target(self.target_cost, self.target_features)
        self._fit_all(X, y, [self], target, sample_weight)
        return self

    def path(
        self, X: Any, y: Any = None, lams: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> list[LatticeClassifier]:
        """Return one fitted copy of this classifier per value in ``lams`` (n_values,).

        None: the values at which ``fsgym.compare`` trains by default. They depend on ``costs`` and ``error_costs``.

        Each copy is identical to one fitted separately with that ``lam`` and the same int ``random_state``. The
        classifiers of the subsets do not depend on ``lam``, so each of them is fitted only once. This classifier itself
        is not changed.
        """
        prices = np.asarray(self._default_prices(X, y) if lams is None else lams)
        if prices.ndim != 1 or not len(prices) or prices.dtype.kind not in "iuf":
            raise ValueError(f"lams must be a list of at least one number, got {brief(lams)}")
        if check_target(self.target_cost, self.target_features) is not None:
            raise ValueError("path trains at the values in lams; leave target_cost and target_features out")
        models = [clone(self).set_params(lam=lam) for lam in prices.tolist()]
        self._fit_all(X, y, models, sample_weight=sample_weight)
        return models

    def _known(self, dataset: Dataset, rules: Rules) -> Subset:
        return acquisitions_of_columns(self.known, dataset.columns, rules)

    def _rules(self, dataset: Dataset, **changes: Any) -> Rules:
        """The rules that the parameters define for the data; known columns cost nothing."""
        rules = super()._rules(dataset, **changes)
        return with_known(rules, self._known(dataset, rules))

    def _default_prices(self, X: Any, y: Any) -> tuple[float, ...]:
        from fsgym.comparison.protocol import prices_of

        sketch = clone(self)
        return prices_of(None, sketch._rules(sketch._training_data(X, y), lam=0.0), self.error_costs is not None)[0]

    def _fit_all(
        self,
        X: Any,
        y: Any,
        models: list[LatticeClassifier],
        target: UsageTarget | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        """Fit several models that differ only in ``lam``."""
        given = models[0]._training_data(X, y)
        rules_of_models = [self._rules(given, lam=0.0 if target else model.lam) for model in models]
        for model in models:
            model._set_names(given, hasattr(models[0], "feature_names_in_"))
            model._arrange(given, rules_of_models[0])
        arrangement = models[0].arrangement_
        dataset = arrangement.dataset(given)
        kappa = check_number(self.kappa, "kappa", 0.0)
        beta = None if self.beta is None else check_number(self.beta, "beta", 0.0)
        if beta is not None and beta > 1:
            raise ValueError(f"beta must be between 0 and 1, got {beta:g}")
        effort = check_number(self.effort, "effort", 0.0)
        if effort == 0:
            raise ValueError("effort must be above 0, got 0")
        unknown = check_number(self.unknown, "unknown", 0.0)
        if unknown >= 1:
            raise ValueError(f"unknown must be at least 0 and below 1, got {unknown:g}")
        free_first = check_bool(self.free_first, "free_first")
        known = tuple(
            np.flatnonzero(np.isin(arrangement.acquisitions, self._known(given, rules_of_models[0]))).tolist()
        )
        check_n_jobs(self.n_jobs)
        check_random_state(self.random_state)
        weighted_rows, weight = training_rows(dataset, self.class_weight, sample_weight)
        data = prepare_data(weighted_rows, generator_of(self.random_state), weight)
        settings, classifiers = LearningSettings(kappa, beta, effort), {}
        with task_runner(self.n_jobs, shared_memory=False) as run:

            def learn_at(rules: Rules) -> TrainingResult:
                rules.check_largest_loss(MAX_LOSS)

                def learn_from(base: Subset) -> TrainingResult:
                    return learn(data, rules, run, settings=settings, classifiers=classifiers, base=base)

                return learn_after_base(learn_from, data, rules, known, free_first)

            for model, rules in zip(models, rules_of_models):
                if target is None:
                    result = learn_at(arrangement.rules(rules))
                else:
                    result = find_price(
                        target,
                        arrangement.rules(rules),
                        lambda lam: learn_at(arrangement.rules(self._rules(given, lam=lam))),
                    )
                model._set_policy(refit(result.policies, run, unknown))
                model.history_, model.lam_, model.limited_by_ = result.history, model.rules_.lam, result.limited_by
                if result.limited_by is not None:
                    warn_caller(limit_warning(result, effort))
                usage = result.policy.usage()
                model.expected_cost_, model.expected_n_features_ = usage["cost"], usage["features"]

    def predict_proba(self, X: Any, *, missing_columns: MissingColumns = "error") -> NDArray[np.float64]:
        """Class probabilities given the values acquired by the end of each episode, float64 (n_samples, n_classes).

        ``predict`` returns the class with the highest one, or with ``error_costs`` the class with the lowest expected
        cost. With ``class_weight`` or ``sample_weight`` these are the probabilities in the weighted training data.
        """
        features = self._features(X, missing_columns)
        return self.policy_.predict_proba(self.arrangement_.rows(features))

    def _restore(self, policy: LatticePolicy, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        self.lam_, self.history_, self.limited_by_ = policy.rules.lam, [], None
        self.expected_cost_ = labels.expected.get("cost")
        self.expected_n_features_ = labels.expected.get("n_features")

    def _labels(self) -> Labels:
        expected = {"cost": self.expected_cost_, "n_features": self.expected_n_features_}
        return super()._labels()._replace(expected={k: v for k, v in expected.items() if v is not None})
