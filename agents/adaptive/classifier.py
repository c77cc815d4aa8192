"""The classifier that chooses its learner."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from agents.adaptive.case_prices import MIN_SHARE, CasePricedLearner, RememberingLearner, frequent_vectors
from agents.adaptive.evidence import (
    INDICATORS,
    InformedPolicy,
    dataset_with_indicators,
    rules_with_indicators,
    telling_features,
    with_own_indicators,
)
from agents.adaptive.policy import LEARNERS, ChosenPolicy, learner_of
from agents.adaptive.report import LearnerReport, LearnerTrial, ReferencePoint
from agents.calibration import Calibration, check_calibration
from agents.lattice.sweep import standard_error
from agents.model_file import Labels
from agents.tradeoff import BaseTradeoffClassifier, Learner, TrainingTask, UsageTarget, find_price
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.text.messages import explain_unknown

# The choice among the learners by their own losses, out of fold.

# The first learner chooses its subsets on the rows by which it is judged, the others hardly choose anything. One of
# these is taken where its loss is below that of the first plus so many standard errors of the latter. Measured on 14
# small sets (four splits, five prices), loss against always the first: 0 -.0020 (.0013), .5 -.0023 (.0013), 1 -.0013
# (.0016); on 14 generated kinds (three tables each): 0 -.0148 (.0040), .5 -.0148 (.0040), 1 -.0159 (.0039).
OPTIMISM_OF_FIRST = 0.5
# Rows from which a network is trained, and steps of each of its predictors on fewer rows than so many. Measured on own
# splits of 45 tables of 500 to 8,000 rows at one or two prices: with it the loss is lower at 25 of 81, by .0145 in the
# mean (vowel .1194 to .0730 and .2370 to .1745; generated ones where a column selects others or their sign .002 to
# .046), and higher at 5, by .0029. The fit takes 4 to 10 s longer, that of the lattice takes 2 to 40 s. With twice the
# steps 2,000 rows of letter are .025 better, generated tables not.
MIN_ROWS_OF_NETWORK = 500
FEW_STEPS, ROWS_OF_FEW_STEPS = 1_000, 5_000

OF_LEARNERS = ("history_", "limited_by_", "training_loss_")  # fitted attributes that only some learners have

MakeLearner = Callable[[TrainingTask], Any]  # a context manager that yields a ``Learner``


class ChosenResult(NamedTuple):
    """What training at one price results in: the result of the chosen learner."""

    learner: str
    result: Any
    rules: Rules
    report: LearnerReport

    def usage(self) -> dict[str, float]:
        """As that of the result."""
        return self.result.usage()


class ChoosingLearner(Learner):
    """Trains the learners at each price on all rows, and takes the one of the lowest loss on these rows, out of fold.

    Parameters
    ----------
    task : TrainingTask
    learners : mapping name -> callable, TrainingTask -> context manager of a ``Learner``
        The first one is taken unless another one is better. Their results have ``row_losses()``.
    stack : ExitStack, in which the learners live
    left : tuple of LearnerTrial, learners that do not take part, and why
    """

    def __init__(
        self,
        task: TrainingTask,
        learners: Mapping[str, MakeLearner],
        stack: ExitStack,
        left: tuple[LearnerTrial, ...] = (),
    ) -> None:
        self.task, self.learners, self.stack, self.left = task, learners, stack, left
        self.seed = int(task.rng.integers(2**31))
        self._entered: dict[str, Learner] = {}
        self._seconds: dict[str, float] = {}  # of training, by learner

    def learn_at(self, rules: Rules) -> ChosenResult:
        """Train the learners at the prices of these rules, and choose one."""
        self._seconds.clear()
        return self._with_seconds(self._choose(rules, {}))

    def learn_for(self, target: UsageTarget, rules_at: Callable[[float], Rules]) -> ChosenResult:
        """As ``learn_at``; the learners are compared at the ``lam`` that the first one needs for the target."""
        self._seconds.clear()
        first = next(iter(self.learners))
        compared_at, result = self._search(first, target, rules_at)
        chosen = self._choose(rules_at(compared_at), {first: result})
        if chosen.learner != first:
            lam, result = self._search(chosen.learner, target, rules_at)
            report = chosen.report if lam == compared_at else chosen.report._replace(compared_at=compared_at)
            chosen = chosen._replace(result=result, rules=rules_at(lam), report=report)
        return self._with_seconds(chosen)

    def _with_seconds(self, chosen: ChosenResult) -> ChosenResult:
        """The same; the report says how long all training of each learner took since ``learn_at`` or ``learn_for``."""
        trials = tuple(t._replace(seconds=self._seconds.get(t.learner)) for t in chosen.report.trials)
        return chosen._replace(report=chosen.report._replace(trials=trials))

    def _train(self, name: str, rules: Rules) -> Any:
        begun = time.perf_counter()
        result = self._learner(name).learn_at(rules)
        self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - begun
        return result

    def _search(self, name: str, target: UsageTarget, rules_at: Callable[[float], Rules]) -> tuple[float, Any]:
        """The ``lam`` that a learner needs for the target, and what its training there results in."""
        results: dict[float, Any] = {}

        def learn_at(lam: float) -> Any:
            results[lam] = self._train(name, rules_at(lam))
            return results[lam]

        found = find_price(target, rules_at(0.0), learn_at)
        return next(lam for lam, result in results.items() if result is found), found

    def _choose(self, rules: Rules, results: dict[str, Any]) -> ChosenResult:
        """The result of the best learner at the prices of these rules; ``results`` has those that are already there."""
        n, trials, first = self.task.dataset.n_samples, list[LearnerTrial](), next(iter(self.learners))
        for name in self.learners:
            if name == "network" and name != first and n < MIN_ROWS_OF_NETWORK:
                left = f"not trained: under {MIN_ROWS_OF_NETWORK} training rows"
                trials.append(LearnerTrial(name, np.nan, 0.0, 0.0, None, left=left))
                continue
            if name not in results:
                results[name] = self._train(name, rules)
            loss, error = self._mean(results[name].row_losses(), rules)
            difference = (0.0, 0.0)
            if name != first:
                difference = self._difference(results[name].row_losses(), results[first].row_losses(), rules)
            trials.append(LearnerTrial(name, loss, *difference, None, error))
        chosen, reason = first, f"learner={first!r} was given"
        if len(self.learners) > 1:
            chosen, reason = _choose_learner(trials, first)
        elif self.left:
            reason = f"{first} alone plans with the prices of these cases"
        trials += self.left
        trained = "left after its training on all rows"
        trials = [t if t.learner == chosen or t.left else t._replace(left=trained) for t in trials]
        report = LearnerReport(
            chosen,
            reason,
            0,
            tuple(trials),
            None,
            self._references(results, chosen, rules),
            getattr(results[chosen], "limited_by", None),
        )
        return ChosenResult(chosen, results[chosen], rules, report)

    def _references(self, results: Mapping[str, Any], chosen: str, rules: Rules) -> tuple[ReferencePoint, ...]:
        points, own = [], results[chosen].row_losses()
        for result in results.values():
            found = result.references() if hasattr(result, "references") else {}
            for name, (losses, acquisitions) in found.items():
                figures = (*self._mean(losses, rules), *self._difference(losses, own, rules))
                names = [rules.names[j] for j in acquisitions] if name == "best fixed panel" else []
                names = tuple(n for n in names if n != INDICATORS)
                points.append(ReferencePoint(name, *figures, names))
        return tuple(points)

    def _mean(self, losses: NDArray[np.float64], rules: Rules) -> tuple[float, float]:
        """The weighted mean of the losses that are no NaN, and its standard error."""
        rows = np.isfinite(losses)
        weight = np.ones(len(losses)) if self.task.weight is None else self.task.weight
        share = weight[rows] / weight[rows].sum()
        return float(share @ losses[rows]), standard_error(losses[rows], share, rules)

    def _difference(
        self, losses: NDArray[np.float64], others: NDArray[np.float64], rules: Rules
    ) -> tuple[float, float]:
        """The mean difference of two losses and its standard error; paired, unless hardly any rows have both."""
        paired = losses - others
        if 2 * np.isfinite(paired).sum() >= np.isfinite(losses).sum():
            return self._mean(paired, rules)
        (mean, error), (other_mean, other_error) = (self._mean(v, rules) for v in (losses, others))
        return mean - other_mean, float(np.hypot(error, other_error))

    def finish(self, model: Any, result: ChosenResult) -> ChosenPolicy:
        """The policy; sets ``report_`` and the attributes of the chosen learner, and drops those of others."""
        begun = time.perf_counter()
        for name in OF_LEARNERS:
            model.__dict__.pop(name, None)
        policy = self._learner(result.learner).finish(model, result.result)
        if hasattr(model, "limited_by_"):  # trained at several prices, the last of them need not be one with a limit
            model.limited_by_ = result.report.limited_by
        report = result.report._replace(seconds=time.perf_counter() - begun)
        model.report_ = report
        return ChosenPolicy(result.learner, policy, report, policy.rules)

    def _learner(self, name: str) -> Learner:
        if name not in self._entered:
            task = self.task._replace(rng=np.random.default_rng([self.seed, 0]))
            self._entered[name] = self.stack.enter_context(self.learners[name](task))
        return self._entered[name]


class InformedResult(NamedTuple):
    """What training at one price results in where missing values are evidence."""

    informed: ChosenResult  # with the indicators
    silent: ChosenResult  # without them
    n_indicators: int

    def usage(self) -> dict[str, float]:
        """As that of the result with the indicators, which do not count as features."""
        usage = self.informed.usage()
        return usage | {"features": usage["features"] - self.n_indicators}


class InformedLearner(Learner):
    """Trains twice: for cases of which it is known what is missing, and for those of which it is not.

    Parameters
    ----------
    informed : ChoosingLearner, of the rows with indicators
    silent : ChoosingLearner
    features : int64 (n_indicators,), see ``InformedPolicy``
    """

    def __init__(self, informed: ChoosingLearner, silent: ChoosingLearner, features: NDArray[np.int64]) -> None:
        self.informed, self.silent, self.features = informed, silent, features

    def learn_at(self, rules: Rules) -> InformedResult:
        """Train the learners at the prices of these rules, and choose one for either."""
        n = len(self.features)
        informed = self.informed.learn_at(rules_with_indicators(rules, n))
        return InformedResult(informed, self.silent.learn_at(rules), n)

    def learn_for(self, target: UsageTarget, rules_at: Callable[[float], Rules]) -> InformedResult:
        """As ``learn_at``, at the ``lam`` that cases need of which it is known what is missing."""
        n = len(self.features)
        counted = target._replace(uncounted=n) if target.quantity == "features" else target
        informed = self.informed.learn_for(counted, lambda lam: rules_with_indicators(rules_at(lam), n))
        return InformedResult(informed, self.silent.learn_at(rules_at(informed.rules.lam)), n)

    def finish(self, model: Any, result: InformedResult) -> ChosenPolicy:
        """The policy; the attributes of a learner are those of cases of which it is known what is missing."""
        silent = self.silent.finish(model, result.silent)
        informed = self.informed.finish(model, result.informed)
        names = self.silent.task.dataset.columns
        evidence = tuple(names[k].name for k in names.column_of[self.features].tolist())
        model.report_ = report = informed.report._replace(evidence=evidence)
        policy = InformedPolicy(informed.learner, informed.policy, self.features)
        return ChosenPolicy(silent.learner, silent.policy, report, silent.rules, policy)


def _choose_learner(trials: list[LearnerTrial], first: str) -> tuple[str, str]:
    """The name of the chosen learner, and why."""
    best = min((t for t in trials if np.isfinite(t.loss) and t.learner != first), key=lambda trial: trial.loss)
    of_first = next(t for t in trials if t.learner == first)
    optimism = OPTIMISM_OF_FIRST * of_first.error
    where = "on the training rows, out of fold"
    if best.difference >= optimism:
        losses = f"its loss is {of_first.loss:.4f} {where}, and that of {best.learner} {best.loss:.4f}"
        return first, f"{first} is taken: {losses}"
    by = f"{abs(best.difference):.4f}"
    lower = "as high as" if float(by) == 0 else "lower than" if best.difference < 0 else "higher than"
    by = f"{lower} that of {first}{f' by {by}' if float(by) else ''} (standard error {best.standard_error:.4f})"
    if lower == "lower than":
        return best.learner, f"{best.learner} is taken: its loss is {by} {where}"
    flattered = f"the loss of {first} looks about {optimism:.4f} too low there, as it chose its subsets by these rows"
    return best.learner, f"{best.learner} is taken: its loss is {by} {where}, but {flattered}"


def _learner_by_case(task: TrainingTask, learners: Mapping[str, MakeLearner], stack: ExitStack) -> ChoosingLearner:
    """Training with prices by case, see ``agents.adaptive.case_prices``; it does not ask what is missing."""
    case_costs = task.dataset.case_costs
    assert case_costs is not None
    mixture: MakeLearner = learners.get("mixture", LEARNERS["mixture"]()._learner)
    found: list[RememberingLearner] = []

    def shared(task: TrainingTask) -> AbstractContextManager[Learner]:
        if not found:
            found.append(RememberingLearner(stack.enter_context(mixture(task))))
        return nullcontext(found[0])

    @contextmanager
    def lattice(task: TrainingTask) -> Iterator[CasePricedLearner]:
        without = task._replace(dataset=task.dataset.replace(case_costs=None))
        with learners["lattice"](without) as frequent, shared(task) as other:
            yield CasePricedLearner(frequent, other, case_costs, task.weight)

    able: dict[str, MakeLearner] = {"lattice": lattice, "mixture": shared}
    unable = {"network": "it plans with one price for each acquisition"}
    if not len(frequent_vectors(case_costs)[0]):
        unable["lattice"] = f"no prices are those of {MIN_SHARE:.0%} of the rows"
    taken = {name: able[name] for name in learners if name not in unable}
    if not taken:
        name = next(iter(learners))
        raise ValueError(f"learner={name!r} cannot plan with these prices by case, as {unable[name]}; use 'mixture'")
    left = [LearnerTrial(n, np.nan, 0.0, 0.0, None, left=f"left out: {unable[n]}") for n in learners if n in unable]
    return ChoosingLearner(task, taken, stack, tuple(left))


class AdaptiveClassifier(BaseTradeoffClassifier):
    """A classifier that acquires the features of each row one by one, learnt by the learner that suits the data.

    With ``learner="auto"`` all learners are trained at each value of ``lam``, and compared by their realised losses on
    the training rows, which their policies predict out of fold. The loss of the lattice counts as half
    a standard error higher than it is, since it chose its subsets on these rows. The network is trained on 500 rows
    and more, in half its usual steps on less than 5,000.

    With prices by case (``Dataset.case_costs``) the lattice is trained at each vector of prices that 5 % of the rows
    have, eight at most, and the mixture, which plans with the prices of each case, decides at all others; the network
    is left out.

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
    calibration : {"auto", "none", "temperature"}, default "auto"
        Whether the class probabilities are calibrated on the training rows, as in ``LatticeClassifier``.
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
    learner_ : str
        The learner of the policy that answers; with ``evidence_`` that of the policy for cases of which nothing is
        said, as ``report_`` is of the others.
    report_ : LearnerReport
        Which learner was chosen and why, what was tried, and how long it took.
    evidence_ : tuple of str
        Columns for which it goes with the class whether a value is missing. For rows of a table, and cases of which it
        is declared (``session(missing=...)``), the model knows this from the start, at no price; otherwise nothing.
        There are none where prices are by case.
    lam_, expected_cost_, expected_n_features_, calibration_
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
    takes_case_costs = True
    takes_blocks = True

    policy_: ChosenPolicy
    report_: LearnerReport

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        learner: Literal["auto", "lattice", "mixture", "network"] = "auto",
        target_cost: float | None = None,
        target_features: float | None = None,
        calibration: Calibration = "auto",
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
        self.calibration = calibration
        self.known = known
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    @contextmanager
    def _learner(self, task: TrainingTask) -> Iterator[ChoosingLearner | InformedLearner]:
        if not isinstance(self.learner, str) or self.learner not in ("auto", *LEARNERS):
            raise ValueError(explain_unknown("learner", self.learner, ["auto", *LEARNERS]))
        names = list(LEARNERS) if self.learner == "auto" else [self.learner]
        with ExitStack() as stack:
            calibration = check_calibration(self.calibration)
            options = {name: dict[str, Any](n_jobs=self.n_jobs, calibration=calibration) for name in names}
            if self.learner == "auto" and task.dataset.n_samples < ROWS_OF_FEW_STEPS:
                options["network"]["n_steps"] = FEW_STEPS
            learners = {name: LEARNERS[name]().set_params(**options[name])._learner for name in names}
            if task.dataset.case_costs is not None:
                yield _learner_by_case(task, learners, stack)
                return
            features = telling_features(task.dataset, task.weight)
            if not len(features) or self.related is not None:
                yield ChoosingLearner(task, learners, stack)
                return
            silent = ChoosingLearner(task._replace(telling=tuple(features.tolist())), learners, stack)
            informed = task._replace(
                dataset=dataset_with_indicators(task.dataset, features),
                rules=rules_with_indicators(task.rules, len(features)),
                whole=None if task.whole is None else task.whole.changed(partial(with_own_indicators, features)),
            )
            yield InformedLearner(ChoosingLearner(informed, learners, stack), silent, features)

    @property
    def learner_(self) -> str:
        """The learner of the policy that answers, see the class."""
        return learner_of(self.without_promise().policy_)

    def _restore(self, policy: ChosenPolicy, header: dict[str, Any], labels: Labels) -> None:
        super()._restore(policy, header, labels)
        self.report_ = policy.report
