"""The classifier trained by policy iteration on a lattice of subsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Unpack

import numpy as np

from agents.calibration import Calibration, TemperedPolicy, calibrated, check_calibration
from agents.lattice import constants as const
from agents.lattice import growth
from agents.lattice.constants import DEFAULT_KAPPA, DEFAULT_UNKNOWN
from agents.lattice.held import continuation_of, held_subsets
from agents.lattice.learn import LearningSettings, TrainingResult, learn, limit_warning
from agents.lattice.nodes import Moves, Subset, extended
from agents.lattice.plan import SubsetRules, make_plan
from agents.lattice.policy import LatticePolicy
from agents.lattice.subset_classifier import ONLY_LOGISTIC, CrossFit, SubsetClassifier, fit_classifier
from agents.lattice.sweep import ADAPTIVE, STOP, SweepPolicy, state_features
from agents.lattice.training_data import TrainingData, limits_of, prepare_data
from agents.model_file import Labels
from agents.parallel import TaskRunner, task_runner
from agents.policy import MAX_LOSS, Policy
from agents.tradeoff import BaseTradeoffClassifier, Learner, TrainingTask
from fsgym.rules import Rules
from fsgym.rules.checks import check_bool
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.support.checks import check_number
from fsgym.text.messages import warn_caller

# Acquisitions that each row makes first: those that are always known, and those that cost nothing.


def learn_after_base(
    learn_from: Callable[[Subset], TrainingResult],
    data: TrainingData,
    rules: Rules,
    free_first: bool,
    skipped: Subset = (),
    effort: float = 1.0,
) -> TrainingResult:
    """Learn a policy that begins with what is always known, and with what costs nothing if that has no higher loss.

    Parameters
    ----------
    learn_from : callable, base -> TrainingResult
    data : TrainingData
    rules : Rules
    free_first : bool, whether the other acquisitions that cost nothing come first, too
    skipped : tuple of int, acquisitions that no row makes
    effort : float, as in ``LatticeClassifier``

    Returns
    -------
    TrainingResult, with the policy without a base for rows that cannot obtain all of the base
    """
    plain = learn_from(())
    always = _legal_base(data, rules, rules.always_known, effort)
    result = learn_from(always)._replace(without_base=plain.policy) if always else plain
    if free_first and rules.lam > 0:
        costs_nothing = np.minimum(rules.costs, rules.unrelated_costs) == 0
        costs_nothing[list(skipped)] = False
        free = np.flatnonzero(costs_nothing).tolist()
        base = _legal_base(data, rules, extended(always, free), effort)
        if base != always:
            first = learn_from(base)._replace(without_base=plain.policy)
            complete = first.policy.lattice.available[:, list(base)].all(axis=1)
            difference = first.policy.choices[()].value - result.policy.choices[()].value
            if data.mean(complete * difference) <= 0:
                return first
    return result


def _legal_base(data: TrainingData, rules: Rules, acquisitions: Subset, effort: float) -> Subset:
    """Those of ``acquisitions`` that are legal at the start and cost nothing, the most informative ones if many.

    All together they take a share of the operations that ``effort`` allows.
    """
    if not acquisitions:
        return ()
    moves = Moves(rules)
    legal, prices = moves.at(())
    candidates = [j for j in acquisitions if legal[j] and prices[j] == 0]
    proba = np.tile(data.class_shares(), (len(data.y), 1))
    statistic = growth.score_statistics(data, rules, proba, data.weighted(np.ones(len(data.y))))
    candidates.sort(key=lambda j: (-statistic[j], j))
    base: Subset = ()
    for j in candidates:
        legal, prices = moves.at(base)
        longer = extended(base, (j,))
        features = np.array(sorted(i for k in longer for i in rules.groups[k]), dtype=np.int64)
        if data.operations(features) > limits_of(len(data.y), effort).n_operations // const.FULL_MODEL_DIVISOR:
            continue
        if legal[j] and prices[j] == 0:
            base = longer
    return base


def refit(
    policies: list[SweepPolicy],
    run: TaskRunner,
    unknown: float = 0.0,
    classifiers: dict[tuple[Subset, bool, bool], SubsetClassifier] | None = None,
) -> LatticePolicy:
    """Fit classifiers and regressions of the subsets that are held to all rows; their targets stay cross-fitted.

    The classifiers that only rows with unobtainable or known values reach have smaller forests and, of a large table,
    learn from the sample only.

    Parameters
    ----------
    policies : list of SweepPolicy
        The policy, and one without a base for rows that cannot obtain all of the base of the first.
    run : TaskRunner
    unknown : float, as in ``LatticeClassifier``
    classifiers : dict, optional
        Classifiers that are already fitted to all rows; new ones are added. By subset, whether it is often reached, and
        whether it is only passed through.
    """
    classifiers = {} if classifiers is None else classifiers
    held = held_subsets(policies, unknown)
    data, rules = policies[0].lattice.data, policies[0].lattice.rules
    place = {z: v for v, z in enumerate(held)}
    unblended = CrossFit(np.empty(0, np.float32), ONLY_LOGISTIC, 1.0)  # for subsets that are passed through: any fits
    full_share = next(share for limit, share in const.SHARE_OF_FINAL_TREES.items() if len(data.y) <= limit)
    reached, keys, tasks = [set(policy.reachable()) for policy in policies], [], {}
    for whole, (policy, z, _, _) in held.items():
        often, fitted = z in reached[policies.index(policy)], policy.lattice.nodes[z].cross_fit
        keys.append((whole, often, fitted is None))
        rows, share = (data.all_rows or data, full_share) if often else (data, const.SHARE_OF_TREES_OF_BACKUPS)
        if keys[-1] not in classifiers:
            tasks[keys[-1]] = rows, policy.lattice.features(z), fitted or unblended, share
    if data.all_rows is not None:
        data.all_rows.read(
            {i for rows, features, _, _ in tasks.values() if rows is data.all_rows for i in features.tolist()}
        )
    classifiers |= dict(zip(tasks, run(fit_classifier, list(tasks.values()))))
    decisions = []
    for policy, z, places, _ in held.values():
        choice, lattice = policy.choices[z], policy.lattice
        children, mode = [choice.children[k] for k in places], choice.mode if places else STOP
        theta, answer_cost = np.zeros(0), lattice.nodes[z].answer_cost
        if mode != STOP and answer_cost is not None:
            available = lattice.available[:, [j for j, _, _ in children]]
            weight = data.weighted(policy.arrivals[z] + const.REGRESSION_BASE_WEIGHT)
            features = state_features(lattice, lattice.nodes[z])
            if mode == ADAPTIVE:
                theta = features.fit(choice.advantage[:, places], weight, available)  # type: ignore[index]
            else:  # no move is chosen by it, it only says what going on is expected to cost
                prices = np.array([price for _, _, price in children])
                theta = features.fit_shrunk((choice.value - answer_cost)[:, None], weight, available, prices)
        moves = [(j, place[extended(q, lattice.base)]) for j, q, _ in children]
        decisions.append(SubsetRules(mode, moves, theta))
    taken = np.zeros((len(held), rules.n_acquisitions), bool)
    for z, v in place.items():
        taken[v, list(z)] = True
    return LatticePolicy(
        taken, make_plan(data.basis, [classifiers[key] for key in keys], decisions), continuation_of(held), rules
    )


class LatticeClassifier(BaseTradeoffClassifier):
    """A classifier that acquires the features of each row one by one and has a separate classifier for each subset.

    Policy iteration for the decision process of Dulac-Arnold, Denoyer, Preux and Gallinari (2012). Like their RCPI, it
    starts from the policy that answers without acquiring anything and improves it by rollouts. Unlike RCPI, it
    considers a limited number of subsets of the features, which it selects on the training data. Each of them has its
    own classifier, an average of models that use exactly these features: boosted trees, a logistic regression on hinge
    functions ``max(0, x - t)`` and, for more than 1,000 rows, a forest; the regression, then the boosted trees are left
    out where they would take too long, and a sample of large tables decides on the subsets. Where error costs or
    weights of rows differ so much that errors in few rows decide, the models are those of few rows. Training uses
    out-of-fold probabilities of the training rows. One backward sweep over the subsets gives the same result as
    rolling out every training row from every subset to the end of its episode. At each subset, a regression on the
    class probabilities and acquired values predicts the loss of acquiring one more feature minus the loss of answering.
    A decision depends on the row only where that is better than one fixed decision for all rows.

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
    calibration : {"none", "auto", "temperature"}, default "none"
        "temperature": the class probabilities are tempered (Guo et al., 2017), with one temperature for each number of
        known acquisitions, so that they are right for the rows that the policy stops at. It is fitted on the
        out-of-fold probabilities of the training rows on the policy's own paths. "auto": only where that lowers the
        cross-fitted log-loss clearly. With error costs the answers follow the calibrated probabilities.
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
        price 0 in ``rules_``, come first and do not count for ``budget`` (``rules_.always_known``). Of a group, all
        columns must be listed or none. If there are so many that one classifier of them would take too long, the most
        informative ones come first. A row that lacks one of those that come first is treated by a policy for which the
        others only cost nothing: it uses them where they help.
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
    calibration_ : str
        "temperature" if ``policy_`` has tempered probabilities, else "none".
    rules_ : Rules
    policy_ : LatticePolicy, or TemperedPolicy around one
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
    representations. Dimitrakakis and Lagoudakis (2008), Rollout sampling approximate policy iteration. Guo, Pleiss, Sun
    and Weinberger (2017), On calibration of modern neural networks.

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

    policy_: LatticePolicy | TemperedPolicy
    limited_by_: str | None

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        target_cost: float | None = None,
        target_features: float | None = None,
        calibration: Calibration = "none",
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
        self.calibration = calibration
        self.kappa = kappa
        self.beta = beta
        self.effort = effort
        self.unknown = unknown
        self.known = known
        self.free_first = free_first
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    @contextmanager
    def _learner(self, task: TrainingTask) -> Iterator[LatticeLearner]:
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
        free_first, calibration = check_bool(self.free_first, "free_first"), check_calibration(self.calibration)
        data = prepare_data(task.dataset, task.rng, task.weight, task.rules.error_costs, task.whole)
        with task_runner(self.n_jobs, shared_memory=False) as run:
            settings = LearningSettings(kappa, beta, effort)
            yield LatticeLearner(data, settings, free_first, unknown, run, task.skipped, calibration)

    def _restore(self, policy: Policy, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        self.history_, self.limited_by_ = [], None


class LatticeLearner(Learner):
    """Training at any number of prices, with one set of classifiers; parameters as in ``LatticeClassifier``."""

    def __init__(
        self,
        data: TrainingData,
        settings: LearningSettings,
        free_first: bool,
        unknown: float,
        run: TaskRunner,
        skipped: Subset = (),
        calibration: Calibration = "none",
    ) -> None:
        self.calibration: Calibration = calibration
        self.data, self.settings, self.free_first = data, settings, free_first
        self.unknown, self.run, self.skipped = unknown, run, skipped
        self.classifiers: dict[Subset, CrossFit] = {}
        self.final: dict[tuple[Subset, bool, bool], SubsetClassifier] = {}

    def learn_at(self, rules: Rules) -> TrainingResult:
        """Learn the policy at the prices of these rules."""
        rules.check_largest_loss(MAX_LOSS)

        def learn_from(base: Subset) -> TrainingResult:
            return learn(
                self.data,
                rules,
                self.run,
                settings=self.settings,
                classifiers=self.classifiers,
                base=base,
                forbidden=self.skipped,
            )

        return learn_after_base(learn_from, self.data, rules, self.free_first, self.skipped, self.settings.effort)

    def finish(self, model: LatticeClassifier, result: TrainingResult) -> Policy:
        """Fit the final classifiers; set ``history_`` and ``limited_by_``, with a warning where there is a limit."""
        model.history_, model.limited_by_ = result.history, result.limited_by
        if result.limited_by is not None:
            warn_caller(limit_warning(result, self.settings.effort))
        path = None if self.calibration == "none" else result.path()  # before back-up moves change the result
        policy = refit(result.policies, self.run, self.unknown, self.final)
        return policy if path is None else calibrated(policy, path, self.calibration)
