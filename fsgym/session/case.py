"""One case: what is known of it, what the rules allow, and what a model says: its next question, or the answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import isfinite
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.data.targets import Bins
from fsgym.rules import Rules
from fsgym.session.acquisitions import Acquisitions, name_list
from fsgym.session.asked_model import AskedModel, as_told
from fsgym.session.step import Advice, Alternative, CertaintyRule, ExpectedCost, Question, Step
from fsgym.support.checks import check_number, is_integer
from fsgym.text.messages import brief
from fsgym.text.speech import said

MAX_ACQUIRED = 1_000_000  # acquisitions before a step; more than any model has


class Case:
    """One case between two questions; F features, J acquisitions.

    Values that are known at no price count for prerequisites and relations, but not for budgets. Of a group that is
    known in part, the rest comes with an acquisition of the group, at its whole price.

    Attributes
    ----------
    acquisitions : Acquisitions, what can be acquired, and the rules
    rules : Rules
    values : float64 (F,), NaN where a value is not known
    unavailable : bool (F,), the features that cannot be obtained (any more)
    paid : bool (J,), the acquisitions that were made
    spent : float, their total price, in the unit of ``costs``
    n_paid : int, how many acquisitions that count for ``budget`` were made
    missing : bool (F,), which values the case does not have, or None where nothing is said of all of them
    """

    def __init__(self, acquisitions: Acquisitions) -> None:
        self.acquisitions = acquisitions
        self.rules = rules = acquisitions.rules
        self.values = np.full(rules.n_features, np.nan)
        self.unavailable = np.zeros(rules.n_features, bool)
        self.paid = np.zeros(rules.n_acquisitions, bool)
        self.spent, self.n_paid = 0.0, 0
        self.missing: NDArray[np.bool_] | None = None

    def copy(self) -> Self:
        """An independent copy."""
        other = type(self)(self.acquisitions)
        other.values, other.unavailable, other.paid = self.values.copy(), self.unavailable.copy(), self.paid.copy()
        other.spent, other.n_paid, other.missing = self.spent, self.n_paid, self.missing
        return other

    @property
    def acquired(self) -> NDArray[np.bool_]:
        """The features whose values are known, bool (F,)."""
        return ~np.isnan(self.values)

    def know(self, features: list[int], numbers: NDArray[np.float64]) -> None:
        """Set values; a feature that is known to have none (NaN) is unavailable."""
        self.values[features] = numbers
        self.unavailable[features] = np.isnan(numbers)

    def mark_unavailable(self, features: list[int]) -> None:
        """Mark features as impossible to obtain, unless they are known."""
        self.unavailable[features] = np.isnan(self.values[features])

    @property
    def open(self) -> NDArray[np.bool_]:
        """The features that are not known and can be obtained, bool (F,)."""
        return np.isnan(self.values) & ~self.unavailable

    @property
    def lacks_values(self) -> bool:
        """Whether something cannot be obtained, besides the values that are said to be missing (``missing``)."""
        lacking = self.unavailable if self.missing is None else self.unavailable & ~self.missing
        return bool(lacking.any())

    def affords(self, j: int, price: float) -> bool:
        """Whether the budgets leave room for acquisition j at a price."""
        return self.is_within_budget(j) and self.spent + price <= self.rules.tables.budget_cost

    def is_within_budget(self, j: int) -> bool:
        """Whether ``budget`` has room for acquisition j, or it does not count."""
        tables = self.rules.tables
        return bool(self.n_paid < tables.budget or tables.counts[j] == 0)

    def charge(self, j: int, price: float) -> None:
        """Pay for acquisition j, which counts for the budgets."""
        self.spent += price
        self.n_paid += int(self.rules.tables.counts[j])

    def pay(self, j: int, price: float) -> None:
        """Make acquisition j: what it does not bring cannot be obtained any more."""
        self.charge(j, price)
        self.paid[j] = True
        self.mark_unavailable(list(self.rules.groups[j]))

    def legal_and_prices(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """The legal actions, bool (n_actions,), and the prices of the acquisitions, float64 (J,)."""
        spent, n_paid = np.array([self.spent]), np.array([self.n_paid], np.int64)
        legal, prices = legal_in_cases(
            self.rules, self.acquired[None], self.unavailable[None], self.paid[None], spent, n_paid
        )
        return legal[0], prices[0]


def legal_in_cases(
    rules: Rules,
    acquired: NDArray[np.bool_],
    unavailable: NDArray[np.bool_],
    paid: NDArray[np.bool_],
    spent: NDArray[np.float64],
    n_paid: NDArray[np.int64],
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """The legal actions of n cases, bool (n, n_actions), and the prices of the acquisitions, float64 (n, J).

    Parameters
    ----------
    acquired : bool (n, F), the features whose values are known
    unavailable : bool (n, F), the features that cannot be obtained
    paid : bool (n, J), the acquisitions that were made
    spent, n_paid : float64 and int64 (n,), what was paid, and for how many acquisitions that count for ``budget``
    """
    taken, is_open = _taken_and_open(rules, acquired, unavailable, paid)
    legal, prices = rules.legal_and_prices(taken, spent, n_paid)
    legal[:, : rules.n_acquisitions] &= is_open
    return legal, prices


def _taken_and_open(
    rules: Rules, acquired: NDArray[np.bool_], unavailable: NDArray[np.bool_], paid: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The acquisitions that need not be made any more, and those that would bring something, bool (n, J) each."""
    some, rest = rules.acquisitions_of(acquired), rules.acquisitions_of(~acquired & ~unavailable) & ~paid
    return paid | (some & ~rest), rest


def hides_what_is_unavailable(
    rules: Rules, acquired: NDArray[np.bool_], unavailable: NDArray[np.bool_], paid: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether in n cases, bool (n,), something cannot be obtained that is not legal for now anyway.

    A policy sees which acquisitions are legal, so that it takes such a one for one that comes after its prerequisites,
    as in training: what it expects of going on there is not true of the case. Parameters as in ``legal_in_cases``.
    """
    if rules.prerequisites is None:
        return np.zeros(len(acquired), bool)
    taken, is_open = _taken_and_open(rules, acquired, unavailable, paid)
    gone = ~taken & ~is_open
    opens = (~taken & ~gone).astype(np.int64) @ rules.prerequisites.T > 0  # a prerequisite can still be met
    closed = gone.astype(np.int64) @ rules.prerequisites.T > 0
    return np.logical_or.reduce(gone & opens & ~closed, axis=1)


def start_case(
    acquisitions: Acquisitions,
    known: Mapping[str, Any],
    unavailable: Iterable[str],
    accept: bool,
    missing: Iterable[str] | None = None,
) -> Case:
    """A case with values known in advance."""
    case = Case(acquisitions)
    if not isinstance(known, Mapping):
        raise TypeError(f"known must be a mapping of names to values, got {brief(known)}")
    given: dict[str, Any] = {}
    for name, value in known.items():
        for column, cell in acquisitions.values_of(name, value).items():
            if column in given:
                raise ValueError(f"known must have one value for each column, got two for {column!r}")
            given[column] = cell
    absent = _features_without_value(acquisitions, unavailable, "unavailable", given)
    if missing is not None:
        lacking = _features_without_value(acquisitions, missing, "missing", given)
        case.missing = np.isin(np.arange(acquisitions.rules.n_features), lacking)
        absent += lacking
    case.mark_unavailable(absent)
    features, numbers, _ = acquisitions.encode(given, accept)
    case.know(features, numbers)
    return case


def _features_without_value(
    acquisitions: Acquisitions, names: Iterable[str], what: str, given: Mapping[str, Any]
) -> list[int]:
    """The features of these acquisitions or columns, none of which may have a value in ``given``."""
    features: list[int] = []
    for name in name_list(names, what):
        try:
            columns = acquisitions.find(name)[1]
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None
        double = [acquisitions.columns[k].name for k in columns if acquisitions.columns[k].name in given]
        if double:
            raise ValueError(f"{double[0]!r} must be known or {what}, got both")
        features += acquisitions.features_of(columns)
    return features


def step_of(
    model: AskedModel,
    known: Mapping[str, Any],
    *,
    unknown: Iterable[str] = (),
    unavailable: Iterable[str] = (),
    spent: float | None = None,
    n_paid: int | None = None,
    accept: bool = False,
    missing: Iterable[str] | None = None,
) -> Step:
    """What a model says about a case of which this is known; see ``AskingMixin.step``."""
    acquisitions = model.acquisitions_
    case = start_case(acquisitions, known, unavailable, accept, missing)
    for name in name_list(unknown, "unknown"):
        case.mark_unavailable(acquisitions.features_of(acquisitions.find(name)[1]))
    if spent is not None:
        case.spent = check_number(spent, "spent", 0.0)
    if n_paid is not None:
        if not is_integer(n_paid) or not 0 <= n_paid <= MAX_ACQUIRED:
            raise ValueError(f"n_paid must be a whole number from 0 to {MAX_ACQUIRED:,}, got {brief(n_paid)}")
        case.n_paid = int(n_paid)
    elif spent is not None:
        rules = acquisitions.rules
        case.n_paid = int(rules.acquisitions_of(case.acquired[None])[0] @ rules.tables.counts)
    return make_step(as_told(model, case.missing is not None), case, *case.legal_and_prices())


def make_step(
    model: AskedModel,
    case: Case,
    legal: NDArray[np.bool_],
    prices: NDArray[np.float64],
    later: Collection[int] = (),
) -> Step:
    """What a model says about a case.

    Parameters
    ----------
    model : AskedModel, that of ``as_told``
    case : Case
    legal, prices : arrays, what ``case.legal_and_prices()`` returns
    later : acquisitions that are only asked where the model would stop without them
    """
    rules, J = case.rules, case.rules.n_acquisitions
    state, evidence = (case.acquired[None], case.values[None]), dict[str, Any]()
    if case.missing is not None and getattr(model, "evidence_", ()):
        evidence["missing"] = case.missing[None]  # which values the case does not have
    advice = model.advise(*state, legal[None], **evidence)
    if later and advice.actions[0] < J:
        without = legal.copy()
        without[list(later)] = False
        other = model.advise(*state, without[None], **evidence)
        if other.actions[0] < J:
            advice = other
    advice = within_range(advice, prices[None], rules)
    if hides_what_is_unavailable(rules, case.acquired[None], case.unavailable[None], case.paid[None])[0]:
        advice.expected[:] = np.nan
    action, beyond, answer = int(advice.actions[0]), int(advice.beyond[0]), int(advice.answers[0])
    preference = advice.preference[0].copy()
    if beyond >= 0:
        preference[beyond] = np.inf  # the model may order equal ones otherwise than the user
    candidates = np.flatnonzero(legal[:J])
    ranked = candidates[np.argsort(-preference[candidates], kind="stable")].tolist()
    expected, (stop_cost,), price_of = _known(advice.expected[0]), _known(advice.stop_cost), prices.tolist()
    alternatives = [
        Alternative(rules.names[j], price_of[j], expected[j], _gain(stop_cost, expected[j], price_of[j]))
        for j in ranked
    ]
    labels, answers = labels_of(model, rules)
    probabilities = None
    if advice.probabilities is not None:
        probabilities = dict(zip(labels, advice.probabilities[0].tolist(), strict=True))
    rule: CertaintyRule | None = getattr(model, "promise_", None)
    question = None if action >= J else question_on(case, action, price_of[action])
    certainty = None
    if rule is not None and advice.probabilities is not None:
        certainty = rule.certainty(answer, advice.probabilities[0], rules.answer_costs, question is None)
        if rule.promises and case.lacks_values:
            certainty = certainty._replace(text=f"{certainty.text} {said('promise_unlike')}")
    unused: list[str] = []
    if advice.unused.any():
        columns = case.acquisitions.columns
        named = zip(columns.names, columns.features, strict=True)
        unused = [name for name, features in named if advice.unused[0, features].any()]
    return Step(
        question,
        question is None,
        answers[answer],
        probabilities,
        ExpectedCost(stop_cost, None if beyond < 0 else expected[beyond]),
        case.spent,
        tuple(alternatives),
        tuple(unused),
        certainty,
        answer == len(labels),
    )


def within_range(advice: Advice, prices: NDArray[np.float64], rules: Rules) -> Advice:
    """Advice in n states whose expected costs can be true, at the prices float64 (n, J), in the unit of ``costs``.

    Whoever goes on pays the price and for an answer, at least what the best answer to each class costs, and no more
    than the price and what the answer of now is expected to cost, which can still be given, nor than a whole episode
    can cost. Estimates that are learnt by regression, or moved by temperatures, can lie outside. One by which the
    question pays, although its price alone is more than an answer now is expected to cost, is none (NaN).
    """
    answers, priced = rules.answer_costs, rules.lam * prices
    stop_cost = np.clip(advice.stop_cost, answers.min(), answers.max())
    most = np.fmin(priced + stop_cost[:, None], rules.largest_loss())  # a stop cost of NaN is no limit
    least = answers.min() if advice.probabilities is None else (advice.probabilities @ answers.min(axis=0))[:, None]
    expected = np.clip(advice.expected, priced + least, most)
    asked = np.arange(rules.n_acquisitions) == advice.actions[:, None]
    pays, cannot_pay = advice.expected <= advice.stop_cost[:, None], expected > stop_cost[:, None]
    expected[asked & pays & cannot_pay] = np.nan
    return advice._replace(expected=expected, stop_cost=stop_cost)


def _known(values: NDArray[np.float64]) -> list[float | None]:
    """None in place of NaN."""
    return [None if value != value else value for value in values.tolist()]


def _gain(stop_cost: float | None, expected: float | None, price: float) -> float | None:
    """``Alternative.gain``; None also where the price is so small that float64 has no such number."""
    if stop_cost is None or expected is None or price <= 0:
        return None
    gain = (stop_cost - expected) / price
    return gain if isfinite(gain) else None


def labels_of(model: AskedModel, rules: Rules) -> tuple[list[Any], list[Any]]:
    """What a session calls the classes, and the answers, by code; of a numeric target numbers that print with words."""
    bins: Bins | None = getattr(model, "bins_", None)
    if bins is None:
        return model.classes_.tolist(), rules.answer_labels(model.classes_).tolist()
    return [*bins.ranges()], [*bins.labels(), *([] if rules.refer_cost is None else [rules.refer_label])]


def question_on(case: Case, j: int, price: float) -> Question:
    """The question of acquisition j, with the columns that it would bring."""
    acquisitions, is_open = case.acquisitions, case.open
    columns = [k for k in acquisitions.columns_of[j] if is_open[acquisitions.columns.features[k].start]]
    return Question(acquisitions.rules.names[j], acquisitions.asked_columns(columns), price)
