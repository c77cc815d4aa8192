"""The classifier that chooses its learner."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.adaptive.policy import LEARNERS, ChosenPolicy
from agents.adaptive.report import LearnerReport, LearnerTrial
from agents.lattice.training_data import stratified_folds
from agents.model_file import Labels
from agents.policy import Policy
from agents.target import UsageTarget, find_price
from agents.tradeoff import BaseTradeoffClassifier, Learner, TrainingTask
from fsgym.data.row_groups import grouped_folds
from fsgym.envs.trajectories import price_steps
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.text.messages import explain_unknown

# The trial of the learners on rows that are held out, and the choice among them.

# By hand. Trials hold out one of so many parts, and as many parts one after the other as there are trials.
N_PARTS = 5
N_TRIALS = {1000: 3, np.inf: 1}  # by number of rows
# Standard errors by which another learner must be better than the first one, by number of rows. Measured: on few rows,
# smaller margins are worse on real tables; on many, the lattice has no lead in advance.
MARGINS = {1000: 1.0, np.inf: 0.0}
MIN_ROWS_OF_NETWORK = 1000  # below, a network is tried only where the lattice ran into its limits
MIN_ROWS_OF_TRIAL = 100  # below, too few rows would be held out: the first learner is taken

MakeLearner = Callable[[TrainingTask], Any]  # a context manager that yields a ``Learner``


class ChosenResult(NamedTuple):
    """What training at one price results in: the result of the chosen learner."""

    learner: str
    result: Any
    rules: Rules
    report: LearnerReport | None = None

    def usage(self) -> dict[str, float]:
        """As that of the result."""
        return self.result.usage()


class ChoosingLearner(Learner):
    """Tries the learners at each price on held-out rows, and trains the chosen one on all rows.

    Parameters
    ----------
    task : TrainingTask
    trial_learners, learners : mapping name -> callable, TrainingTask -> context manager of a ``Learner``
        For the trials, and for all rows; the first one is taken unless another one is better.
    stack : ExitStack, in which the learners live
    """

    def __init__(
        self,
        task: TrainingTask,
        trial_learners: Mapping[str, MakeLearner],
        learners: Mapping[str, MakeLearner],
        stack: ExitStack,
    ) -> None:
        self.task, self.trial_learners, self.learners, self.stack = task, trial_learners, learners, stack
        self.seed = int(task.rng.integers(2**31))
        self.parts = _parts_of(task, np.random.default_rng(self.seed))
        self._entered: dict[tuple[str, int], Learner] = {}

    def learn_at(self, rules: Rules) -> ChosenResult:
        """Try the learners, choose one, and train it on all rows at the prices of these rules."""
        chosen, report = self._choose_at(rules)
        begun = time.perf_counter()
        result = self._train(chosen, rules)
        return result._replace(report=report._replace(seconds=time.perf_counter() - begun))

    def learn_for(self, target: UsageTarget, rules_at: Callable[[float], Rules]) -> ChosenResult:
        """As ``learn_at``; the learners are tried at the ``lam`` that the first one needs for the target."""
        begun = time.perf_counter()
        result = self._search(next(iter(self.learners)), target, rules_at)
        chosen, report = self._choose_at(result.rules)
        if chosen != result.learner:
            begun = time.perf_counter()
            result = self._search(chosen, target, rules_at)
        return result._replace(report=report._replace(seconds=time.perf_counter() - begun))

    def _search(self, name: str, target: UsageTarget, rules_at: Callable[[float], Rules]) -> ChosenResult:
        return find_price(target, rules_at(0.0), lambda lam: self._train(name, rules_at(lam)))

    def _train(self, name: str, rules: Rules) -> ChosenResult:
        return ChosenResult(name, self._learner(name, -1).learn_at(rules), rules)

    def _choose_at(self, rules: Rules) -> tuple[str, LearnerReport]:
        """The learner to use at the prices of these rules, and a report without the seconds of its training."""
        n = self.task.dataset.n_samples
        losses: dict[str, NDArray[np.float64]] = {}
        seconds: dict[str, float] = {}
        first = next(iter(self.learners))
        enough = n >= MIN_ROWS_OF_TRIAL and len(self.learners) > 1
        held_out = [self.parts == k for k in range(_by_rows(N_TRIALS, n))]
        limited = False
        for name in self.trial_learners if enough else ():
            if name == "network" and n < MIN_ROWS_OF_NETWORK and not limited:
                continue
            begun = time.perf_counter()
            tried = [self._try(name, k, out, rules) for k, out in enumerate(held_out)]
            losses[name] = np.concatenate([loss for loss, _ in tried])
            limited |= any(by is not None for _, by in tried)
            seconds[name] = time.perf_counter() - begun
        weight = np.ones(n) if self.task.weight is None else self.task.weight
        weight = np.concatenate([weight[out] for out in held_out])
        trials = tuple(_trial(name, losses, first, weight, seconds[name]) for name in losses)
        if len(self.learners) == 1:
            chosen, reason = first, f"learner={first!r} was given"
        else:
            chosen, reason = _choose_learner(trials, first, n)
        return chosen, LearnerReport(chosen, reason, len(weight) if trials else 0, trials, None)

    def finish(self, model: Any, result: ChosenResult) -> ChosenPolicy:
        """The policy; sets ``report_``, ``learner_`` and the attributes of the chosen learner."""
        assert result.report is not None
        policy = self._learner(result.learner, -1).finish(model, result.result)
        model.report_, model.learner_ = result.report, result.learner
        return ChosenPolicy(result.learner, policy, result.report, policy.rules)

    def _learner(self, name: str, k: int) -> Learner:
        """The learner of all rows, -1, or of those outside part k."""
        if (name, k) not in self._entered:
            rng = np.random.default_rng([self.seed, k + 1])
            task, make = self.task._replace(rng=rng), self.learners[name]
            if k >= 0:
                rows = np.flatnonzero(self.parts != k)
                weight = None if task.weight is None else task.weight[rows] / task.weight[rows].mean()
                task, make = task._replace(dataset=task.dataset.rows(rows), weight=weight), self.trial_learners[name]
            self._entered[name, k] = self.stack.enter_context(make(task))
        return self._entered[name, k]

    def _try(self, name: str, k: int, out: NDArray[np.bool_], rules: Rules) -> tuple[NDArray[np.float64], Any]:
        """The loss of each row of a part, and what limited the learner."""
        learner, attributes = self._learner(name, k), _Attributes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the training on all rows warns
            policy = learner.finish(attributes, learner.learn_at(rules))
        data = self.task.dataset
        return row_losses(policy, data.X[out], data.y[out], rules), getattr(attributes, "limited_by_", None)


class _Attributes:
    """Takes the fitted attributes of a trial."""


def row_losses(policy: Policy, X: NDArray[np.float32], y: NDArray[np.int64], rules: Rules) -> NDArray[np.float64]:
    """The loss of each row, float64 (n_samples,)."""
    done = policy.trajectories(X)
    paid = np.nansum(price_steps(rules, X, done.order), axis=1) if done.order.shape[1] else np.zeros(len(X))
    return rules.error_costs[done.answers, y] + rules.lam * paid


def _by_rows(numbers: Mapping[float, Any], n_samples: int) -> Any:
    return next(number for most, number in numbers.items() if n_samples <= most)


def _parts_of(task: TrainingTask, rng: np.random.Generator) -> NDArray[np.int64]:
    data, n_parts = task.dataset, min(N_PARTS, task.dataset.n_samples)
    if data.row_groups is None or data.row_groups.max() == 0:
        return stratified_folds(data.y, n_parts, rng)
    return grouped_folds(data.y, data.row_groups, n_parts, rng)


def _trial(
    name: str, losses: Mapping[str, NDArray[np.float64]], first: str, weight: NDArray[np.float64], seconds: float
) -> LearnerTrial:
    share = weight / weight.sum()
    difference = losses[name] - losses[first]
    mean = float(share @ difference)
    error = float(np.sqrt((share**2) @ (difference - mean) ** 2))
    return LearnerTrial(name, float(share @ losses[name]), mean, error, seconds)


def _choose_learner(trials: tuple[LearnerTrial, ...], first: str, n_samples: int) -> tuple[str, str]:
    """The name of the chosen learner, and why."""
    if not trials:
        return first, f"{n_samples} rows are too few to hold some out for a comparison of learners: {first} is used"
    best, margin = min(trials, key=lambda trial: trial.loss), _by_rows(MARGINS, n_samples)
    if best.learner == first:
        return first, f"{first} has the lowest loss on rows held out of the training: {best.loss:.4f}"
    if best.difference < -margin * best.standard_error:
        return best.learner, (
            f"{best.learner} has a loss lower than {first} by {-best.difference:.4f} (standard error "
            f"{best.standard_error:.4f}) on rows held out of the training"
        )
    return first, (
        f"{best.learner} has a loss lower than {first} by {-best.difference:.4f} only (standard error "
        f"{best.standard_error:.4f}) on rows held out of the training: {first} is used"
    )


class AdaptiveClassifier(BaseTradeoffClassifier):
    """A classifier that acquires the features of each row one by one, learnt by the learner that suits the data.

    With ``learner="auto"`` the learners are compared on rows that are held out of their training, at each value of
    ``lam``, and the best one is trained on all rows. Up to 1,000 rows it is the lattice unless another one is better by
    a standard error. The network is tried for 1,000 rows and more, and where the lattice ran into its limits.

    Parameters
    ----------
    lam : float, default 0.01
        Exchange rate between cost and errors: the value of one unit of ``costs``, in units of ``error_costs``. Ignored
        if a target is given.
    learner : {"auto", "lattice", "mixture", "network"}, default "auto"
        "lattice": ``LatticeClassifier``, one classifier for each of some hundred subsets of the features. "mixture":
        ``MixtureClassifier``, a mixture of distributions for each class. "network": ``AnyStateNetworkClassifier``, a
        neural network for all subsets.
    target_cost, target_features : float, optional
        Instead of ``lam``, as in ``LatticeClassifier``.
    known : list of names or positions of columns, optional
        Columns that are available for every row at no cost, as in ``LatticeClassifier``.
    class_weight : None, "balanced" or mapping label -> weight, default None
    n_jobs : int, optional
        Number of threads, as in scikit-learn. Results do not depend on it.
    random_state : int, numpy Generator or RandomState, optional
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``fsgym.Rules``, with the same defaults.

    Attributes
    ----------
    learner_ : str, the learner of ``policy_``
    report_ : LearnerReport
        Which learner was chosen and why, what was tried, and how long it took.
    lam_, expected_cost_, expected_n_features_
        As in ``LatticeClassifier``.
    policy_ : ChosenPolicy

    Raises
    ------
    ValueError, TypeError
        If data or parameters are invalid.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from agents import AdaptiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaptiveClassifier(lam=0.01, learner="lattice", random_state=0).fit(X[:300], y[:300])
    >>> model.report_.reason
    "learner='lattice' was given"
    """

    policy_class = ChosenPolicy

    policy_: ChosenPolicy
    learner_: str
    report_: LearnerReport

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        learner: Literal["auto", "lattice", "mixture", "network"] = "auto",
        target_cost: float | None = None,
        target_features: float | None = None,
        known: Any = None,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        self._set_rule_options(lam=lam, **rule_options)
        self.learner = learner
        self.target_cost = target_cost
        self.target_features = target_features
        self.known = known
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    @contextmanager
    def _learner(self, task: TrainingTask) -> Iterator[ChoosingLearner]:
        if self.learner != "auto" and self.learner not in LEARNERS:
            raise ValueError(explain_unknown("learner", self.learner, ["auto", *LEARNERS]))
        names = list(LEARNERS) if self.learner == "auto" else [self.learner]
        with ExitStack() as stack:
            learners = {name: LEARNERS[name](n_jobs=self.n_jobs)._learner for name in names}
            trials = dict(learners)
            if "lattice" in names:  # rows of the trial lack no value that others have
                trials["lattice"] = LEARNERS["lattice"](n_jobs=self.n_jobs, unknown=0)._learner  # type: ignore[call-arg]
            yield ChoosingLearner(task, trials, learners, stack)

    def _restore(self, policy: ChosenPolicy, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        self.learner_, self.report_ = policy.learner, policy.report
