"""Compute a cell of a benchmark: one method on one split at all prices, or the reference of a problem."""

from __future__ import annotations

import inspect
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.policy import Policy
from fsgym.comparison.cell import evaluate_at_prices
from fsgym.comparison.noise import standard_error
from fsgym.comparison.policies import PolicyFactory, scaled_by
from fsgym.comparison.splits import SplitParts
from fsgym.data.dataset import Dataset
from fsgym.datasets.generators import GENERATORS, NormalComponents, Syn
from fsgym.envs.trajectories import Trajectories
from fsgym.evaluation.evaluate import Evaluation, as_actor, codes_of, play, values_shown, with_probabilities
from fsgym.evaluation.reference_policies import accuracies_within, reference
from fsgym.metrics import aligned_probabilities, area_under_roc
from fsgym.rules import Rules
from fsgym.runner.results import list_of, number, optional, record, returns, text

# Policies of all kinds continued where they would stop, for the scores within budgets.

NO_ORDER = "no order of acquisitions beyond its own stop"
NO_MASKS = "its predict takes no action_masks, so that it cannot be asked to continue past its stop"
ORDER_ENDS = "its order of acquisitions ends before all relevant features"
IGNORES_MASKS = "takes no further acquisition where its answer is masked"


class CannotContinueError(Exception):
    """A policy has no acquisitions beyond its own stop; the message is the reason."""


def continued(model: Any, test: Dataset, rules: Rules) -> Trajectories:
    """The trajectories of a policy that acquires until no acquisition is legal, in the order of the data set.

    A classifier of ``agents``, a ``Policy``, and a classifier with a method ``continue_after_stop``, such as the fixed
    panel, which continues to the end of its order, are asked to continue. To a Stable-Baselines3
    model with ``action_masks`` and a callable ``(observations, action_masks) -> actions`` the answers are shown as
    illegal while an acquisition is legal. Such an object may have ``state_probabilities``, see ``with_probabilities``.

    Raises
    ------
    CannotContinueError
        If the method has no such interface, or does not obey the masks.
    """
    arrangement = getattr(model, "arrangement_", None)
    if arrangement is not None and hasattr(model, "policy_"):
        rows = arrangement.rows(test.X)
        return arrangement.trajectories(
            model.policy_.trajectories(rows, arrangement.rules(rules), continue_after_stop=True)
        )
    if isinstance(model, Policy):
        return model.trajectories(test.X, rules, continue_after_stop=True)
    if hasattr(model, "continue_after_stop"):
        done = model.continue_after_stop(test.to_array(), rules)
        shares = aligned_probabilities(done.probabilities, model.classes_, test.classes)
        return replace(done, answers=codes_of(model.classes_[done.answers], test), probabilities=shares)
    if hasattr(model, "features_used") or hasattr(model, "trajectories"):
        raise CannotContinueError(NO_ORDER)
    predict = getattr(model, "predict", None)
    if predict is not None and "action_masks" not in inspect.signature(predict).parameters:
        raise CannotContinueError(NO_MASKS)
    done = play(_acquiring(as_actor(model), rules.n_acquisitions), test, rules)
    return with_probabilities(done, model, test)


def continued_within(
    model: Any, test: Dataset, rules_at: Callable[[float], Rules], budgets: Sequence[float]
) -> dict[float, Trajectories]:
    """``continued`` within each of ascending budgets.

    Where each acquisition costs 1, a policy of ``agents`` makes the same ones within every budget, as many as it can
    pay for. It is then continued once, within the largest, and answers after each number of acquisitions.
    """
    arrangement = getattr(model, "arrangement_", None)
    policy = model.policy_ if arrangement is not None and hasattr(model, "policy_") else model
    rules = rules_at(budgets[-1]) if budgets else None
    if rules is None or not isinstance(policy, Policy) or not _all_cost_one(rules) or np.isnan(test.X).any():
        return {budget: continued(model, test, rules_at(budget)) for budget in budgets}
    X, inner = (test.X, rules) if arrangement is None else (arrangement.rows(test.X), arrangement.rules(rules))
    whole, J = policy.trajectories(X, inner, continue_after_stop=True), inner.n_acquisitions
    answers_only = np.tile(np.arange(inner.n_actions) >= J, (len(X), 1))
    found = {}
    for budget in budgets:
        order = whole.order[:, : int(budget)]
        taken = np.zeros((len(X), J + 1), bool)
        np.put_along_axis(taken, np.where(order < 0, J, order), True, axis=1)
        known = np.zeros((len(X), inner.n_features), bool)
        for acquisition, members in enumerate(inner.groups):
            known[:, list(members)] = taken[:, [acquisition]]
        shown = values_shown(known, X)
        answers = policy.actions(known, shown, answers_only, continue_after_stop=True) - J
        done = replace(whole, order=order, acquired=known, answers=answers)
        done = replace(done, probabilities=policy.state_probabilities(known, shown))
        found[budget] = done if arrangement is None else arrangement.trajectories(done)
    return found


def _all_cost_one(rules: Rules) -> bool:
    """Whether the price of every set of acquisitions is their number."""
    J = rules.n_acquisitions
    sets = np.concatenate([np.eye(J, dtype=bool), np.ones((1, J), bool)])
    return bool((rules.price_sets(sets)[0] == sets.sum(axis=1)).all()) and not rules.costs_by_case


def _acquiring(
    actor: Callable[[NDArray, NDArray], ArrayLike], n_acquisitions: int
) -> Callable[[NDArray, NDArray], ArrayLike]:
    """The actor, to which answers are shown as illegal while an acquisition is legal."""

    def actions(observations: NDArray, legal: NDArray[np.bool_]) -> ArrayLike:
        offered = legal.copy()
        offered[legal[:, :n_acquisitions].any(axis=1), n_acquisitions:] = False
        chosen = np.asarray(actor(observations, offered))
        if not offered[np.arange(len(offered)), chosen].all():
            raise CannotContinueError(IGNORES_MASKS)
        return chosen

    return actions


METHOD_CELL, REFERENCE_CELL = (f"fsgym_studies.suites.cell:{name}" for name in ("run_method", "run_reference"))
REFERENCE_ROWS = {True: 5_000, False: 50_000}  # simulated for a reference: quick, and full
SCORE = record(score=text, at=text, value=number, error=optional(number))
CELL_CHECK = record(
    scores=list_of(SCORE),
    reasons=record(),
    seconds=optional(number),
    test_share=optional(number),
    row_scores=list_of(number),
)
ROW_DIGITS = 6  # decimals of the stored figures of test rows
N_STEPS = 20  # of AUACC, where acquisitions have prices


class Measurement(NamedTuple):
    """What is measured on a problem; the attributes are those of ``Problem``."""

    prices: tuple[float, ...]
    price_names: tuple[str, ...]
    budgets: tuple[float, ...]
    rules: dict[str, Any]
    standard_losses: tuple[float, ...]
    generator: str

    def steps(self, data: Dataset) -> tuple[float, ...]:
        """The budgets after which AUACC forces an answer, ascending.

        1, 2, ... up to the largest budget, or to the price of all acquisitions where there are no budgets. With prices
        that differ, or more than ``N_STEPS`` of them without budgets, as many equal steps, from the cheapest
        acquisition on.
        """
        rules = self.rules_at(data, self.prices[0])
        alone = rules.price_sets(np.eye(rules.n_acquisitions, dtype=bool))[0]
        everything = float(rules.price_sets(np.ones((1, rules.n_acquisitions), bool))[0][0])
        last = max(self.budgets, default=everything)
        if (alone == 1).all() and (self.budgets or last <= N_STEPS):
            return tuple(map(float, range(1, int(last) + 1)))
        return tuple(float(b) for b in last * np.arange(1, N_STEPS + 1) / N_STEPS if b >= alone.min())

    def rules_at(self, data: Dataset, price: float, **options: Any) -> Rules:
        """The rules of the problem at a price."""
        return Rules.for_dataset(data, lam=price, **self.rules, **options)


class Scores:
    """Scores with the price or budget at which each is measured, and why others are not."""

    def __init__(self, reasons: Mapping[str, str] | None = None) -> None:
        self.rows: list[dict[str, Any]] = []
        self.reasons = dict(reasons or {})

        self.row_scores: list[float] = []

    def add(self, score: str, at: str, value: float, rows: NDArray | None = None) -> None:
        """A score; ``rows`` are the figures of the test rows of which it is the mean, for its standard error."""
        error = None if rows is None or len(rows) < 2 else standard_error(rows)
        if np.isfinite(value):
            self.rows.append({"score": score, "at": at, "value": float(value), "error": error})

    def add_losses(self, measurement: Measurement, losses: Sequence[float | NDArray[np.float64]]) -> None:
        """The loss at each price and, where the problem has a standard, its share of the standard.

        A loss is a number, or those of the test rows.
        """
        standards = measurement.standard_losses or (1.0,) * len(losses)
        for name, loss, standard in zip(measurement.price_names, losses, standards, strict=True):
            rows = loss if isinstance(loss, np.ndarray) else None
            self.add("loss", name, float(np.mean(loss)), rows)
            if measurement.standard_losses:
                self.add("cost_share", name, float(np.mean(loss)) / standard, None if rows is None else rows / standard)

    def add_evaluations(self, measurement: Measurement, results: Sequence[Evaluation]) -> None:
        """Loss, accuracy and features used at each price."""
        self.add_losses(measurement, [r.losses for r in results])
        standards = measurement.standard_losses or (1.0,) * len(results)
        by_price = np.array([r.losses / standard for r, standard in zip(results, standards, strict=True)])
        self.row_scores = by_price.mean(axis=0).round(ROW_DIGITS).tolist()
        for name, result in zip(measurement.price_names, results, strict=True):
            self.add("price_accuracy", name, result.accuracy, result.answers == result.dataset.y)
            self.add("features", name, result.n_features, result.used.sum(axis=1))
            if result.illegal:
                self.add("illegal", name, result.illegal)

    def result(self, seconds: float | None = None, test_share: float | None = None) -> dict[str, Any]:
        return {
            "scores": self.rows,
            "reasons": self.reasons,
            "seconds": seconds,
            "test_share": test_share,
            "row_scores": self.row_scores,
        }


@returns(CELL_CHECK)
def run_method(
    *,
    dataset: Dataset,
    split: Any,
    candidates: list[Any],
    by_price: bool,
    measurement: Measurement,
    seed: int,
    limit: float | None = None,
) -> dict[str, Any]:
    """Fit a method at every price and measure all scores that it can have on the test rows.

    Parameters
    ----------
    dataset : Dataset
    split : Split or RowSplit
    candidates : list of estimators, or of ``PolicyFactory``
    by_price : bool, as ``has_prices`` of ``methods.py`` says
    measurement : Measurement
    seed : int
    limit : float, optional
        Processor seconds after which the method is stopped; it then has no score, and the reason for each.

    Returns
    -------
    dict
        ``scores``, a list of dict with ``score``, ``at`` (price or budget) and ``value``; ``reasons``, score -> why the
        method does not have it; ``seconds``, the processor time of the training, including the choice of settings;
        ``test_share``, the number of test rows over that of training rows; ``row_scores``, the loss of each test row,
        as a share of the standard where there is one, mean over the prices
    """
    parts, scores = split.parts(dataset), Scores()
    try:
        with stopped_after(limit):
            seconds = _measure(scores, parts, dataset, candidates, by_price, measurement, seed)
    except StoppedError as reason:
        return Scores({name: str(reason) for name in SCORE_NAMES}).result(None, None)
    return scores.result(seconds, parts.test.n_samples / parts.train.n_samples)


SCORE_NAMES = (
    *("loss", "headroom", "cost_share", "price_accuracy", "features", "complete"),
    *("budget_accuracy", "budget_auroc", "auacc", "mean_auroc"),
)


class StoppedError(Exception):
    """A method needed more processor time than the suite allows; the message says so."""


@contextmanager
def stopped_after(seconds: float | None) -> Iterator[None]:
    """Raise ``StoppedError`` after so many processor seconds of this process; not at all for None.

    It is a signal, which arrives once the compiled function that runs has returned. Outside of the main thread, and on
    systems without such a signal, there is no limit.
    """
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise StoppedError(f"stopped after {seconds:g} processor seconds, the limit of this suite")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _measure(
    scores: Scores,
    parts: SplitParts,
    dataset: Dataset,
    candidates: list[Any],
    by_price: bool,
    measurement: Measurement,
    seed: int,
) -> float:
    """Add all scores of a method; returns the processor seconds of the training. Parameters are as for the cell."""
    with warnings.catch_warnings(action="ignore"):  # as of solvers that stop early; such models are tested as they are
        test = scaled_by(parts.test, parts.train) if isinstance(candidates[0], PolicyFactory) else parts.test
        rules = [measurement.rules_at(dataset, price) for price in measurement.prices]
        held_out = None if by_price else [(parts.fit, parts.validation)]
        models, results, seconds = evaluate_at_prices(candidates, parts.train, test, rules, seed, held_out)
        scores.add_evaluations(measurement, results)
        _measure_order(scores, models[0], parts.test, test, measurement)
    return seconds


def _measure_order(scores: Scores, model: Any, test: Dataset, shown: Dataset, measurement: Measurement) -> None:
    """Accuracy and AUROC within each budget, and the acquisitions until the relevant features are complete.

    The policy continues where it would stop; ``model`` is that of the lowest price, and ``shown`` are the test rows as
    it is shown them.
    """
    generator, price = GENERATORS.get(measurement.generator), measurement.prices[0]
    relevant = generator.relevant(test.X) if isinstance(generator, Syn) else None
    budgets = sorted({*measurement.budgets, *measurement.steps(test)})
    try:
        done_within = continued_within(
            model, shown, lambda budget: measurement.rules_at(test, price, budget_cost=budget), budgets
        )
        done = None if relevant is None else continued(model, shown, measurement.rules_at(test, price))
    except CannotContinueError as reason:
        wanted = ["auacc", *(["budget_accuracy", "budget_auroc", "mean_auroc"] if measurement.budgets else [])]
        wanted += [] if relevant is None else ["complete"]
        scores.reasons |= dict.fromkeys(wanted, str(reason))
        return
    _add_within(scores, measurement, done_within, test)
    if done is not None and relevant is not None and (relevant & ~done.acquired).any():
        scores.reasons["complete"] = ORDER_ENDS
    elif done is not None and relevant is not None:
        scores.add("complete", "", float(acquisitions_until(done.order, relevant).mean()))


def _add_within(
    scores: Scores, measurement: Measurement, done_within: Mapping[float, Trajectories], test: Dataset
) -> None:
    """AUACC, and within each budget accuracy and, where the policy has class probabilities, AUROC."""
    right = np.mean([done_within[step].answers == test.y for step in measurement.steps(test)], axis=0)
    scores.add("auacc", "", float(right.mean()), right)
    areas = []
    for budget in measurement.budgets:
        done = done_within[budget]
        scores.add("budget_accuracy", f"{budget:g}", float((done.answers == test.y).mean()), done.answers == test.y)
        if done.probabilities is not None:
            areas.append(area_under_roc(test.y, done.probabilities))
            scores.add("budget_auroc", f"{budget:g}", areas[-1])
    if areas:
        scores.add("mean_auroc", "", float(np.mean(areas)))
    elif measurement.budgets:
        scores.reasons |= dict.fromkeys(["budget_auroc", "mean_auroc"], "no class probabilities")


def acquisitions_until(order: NDArray[np.int32], relevant: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Number of acquisitions of each row until all of its relevant features are acquired, int64 (n,).

    Parameters
    ----------
    order : int32 (n, n_features), every feature of each row, in the order of its acquisition
    relevant : bool (n, n_features)

    Raises
    ------
    ValueError
        If a row ends without a relevant feature.

    >>> acquisitions_until(np.array([[2, 0, 1]]), np.array([[True, False, True]])).tolist()
    [2]
    """
    n, n_features = relevant.shape
    place = np.full((n, n_features + 1), n_features)
    np.put_along_axis(place, np.where(order < 0, n_features, order), np.arange(order.shape[1])[None] * (order >= 0), 1)
    last = np.where(relevant, place[:, :-1], -1).max(axis=1)
    if (last >= n_features).any():
        raise ValueError("each row must end with all of its relevant features acquired; continue after the stop")
    return last + 1


@returns(CELL_CHECK)
def run_reference(*, measurement: Measurement, quick: bool) -> dict[str, Any]:
    """Scores of the reference policy, which knows the distribution; see ``fsgym.evaluation.reference_policies``."""
    generator, scores = GENERATORS[measurement.generator], Scores()
    n = REFERENCE_ROWS[quick]
    found = [reference(generator, price, n) for price in measurement.prices]
    scores.add_losses(measurement, [r.loss for r in found])
    for name, r in zip(measurement.price_names, found, strict=True):
        scores.add("price_accuracy", name, r.accuracy)
    if isinstance(generator, Syn):
        both = np.zeros((2, generator.n_features))
        both[:, -1] = -1.0, 1.0  # x11 selects one of two sets of features, with equal probability
        scores.add("complete", "", float(generator.relevant(both).sum(axis=1).mean()))
    if isinstance(generator, NormalComponents):
        accuracies = accuracies_within(generator, measurement.budgets, n)
        for budget, accuracy in zip(measurement.budgets, accuracies, strict=True):
            scores.add("budget_accuracy", f"{budget:g}", accuracy)
    return scores.result()
