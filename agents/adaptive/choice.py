"""The trial of the learners on rows that are held out, and the choice among them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.adaptive.policy import ChosenPolicy
from agents.adaptive.report import LearnerReport, LearnerTrial
from agents.lattice.training_data import stratified_folds
from agents.policy import Policy
from agents.target import UsageTarget, find_price
from agents.tradeoff import Learner, TrainingTask
from fsgym.data.row_groups import grouped_folds
from fsgym.envs.trajectories import price_steps
from fsgym.rules import Rules

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
