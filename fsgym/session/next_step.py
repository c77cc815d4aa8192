"""What a model says about a case: the question to ask next, or the answer, and what both are expected to cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.targets import Bins
from fsgym.session.acquisitions import Acquisitions, name_list
from fsgym.session.asked_model import AskedModel
from fsgym.session.case import Case, start_case
from fsgym.session.step import Alternative, CertaintyRule, ExpectedCost, Question, Step
from fsgym.support.checks import check_number, is_integer
from fsgym.text.messages import brief
from fsgym.text.speech import said

MAX_ACQUIRED = 1_000_000  # acquisitions before a step; more than any model has


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
        case.n_paid = int(acquisitions.rules.acquisitions_of(case.acquired[None]).sum())
    return make_step(model, case, *case.legal_and_prices())


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
    model : AskedModel
    case : Case
    legal, prices : arrays, what ``case.legal_and_prices()`` returns
    later : acquisitions that are only asked where the model would stop without them
    """
    acquisitions = model.acquisitions_
    rules, J = acquisitions.rules, acquisitions.rules.n_acquisitions
    state, evidence = (case.acquired[None], case.values[None]), evidence_of(model, case)
    advice = model.advise(*state, legal[None], **evidence)
    if later and advice.actions[0] < J:
        without = legal.copy()
        without[list(later)] = False
        other = model.advise(*state, without[None], **evidence)
        if other.actions[0] < J:
            advice = other
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
    labels, answers = labels_of(model)
    probabilities = None
    if advice.probabilities is not None:
        probabilities = dict(zip(labels, advice.probabilities[0].tolist(), strict=True))
    rule: CertaintyRule | None = getattr(model, "promise_", None)
    question = None if action >= J else question_on(acquisitions, case, action, price_of[action])
    certainty = None
    if rule is not None and advice.probabilities is not None:
        certainty = rule.certainty(answer, advice.probabilities[0], rules.answer_costs, question is None)
        if rule.promises and case.lacks_values:
            certainty = certainty._replace(text=f"{certainty.text} {said('promise_unlike')}")
    unused: list[str] = []
    if advice.unused.any():
        columns = zip(acquisitions.columns, acquisitions.columns.features, strict=True)
        unused = [column.name for column, features in columns if advice.unused[0, features].any()]
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


def _known(values: NDArray[np.float64]) -> list[float | None]:
    """None in place of NaN."""
    return [None if value != value else value for value in values.tolist()]


def _gain(stop_cost: float | None, expected: float | None, price: float) -> float | None:
    """``Alternative.gain``; None also where the price is so small that float64 has no such number."""
    if stop_cost is None or expected is None or price <= 0:
        return None
    gain = (stop_cost - expected) / price
    return gain if isfinite(gain) else None


def labels_of(model: AskedModel) -> tuple[list[Any], list[Any]]:
    """What a session calls the classes, and the answers, by code; of a numeric target numbers that print with words."""
    bins: Bins | None = getattr(model, "bins_", None)
    rules = model.acquisitions_.rules
    if bins is None:
        return model.classes_.tolist(), rules.answer_labels(model.classes_).tolist()
    return [*bins.ranges()], [*bins.labels(), *([] if rules.refer_cost is None else [rules.refer_label])]


def evidence_of(model: AskedModel, case: Case) -> dict[str, Any]:
    """What ``model.advise`` is told besides the state: which values the case does not have, where that is evidence."""
    if case.missing is None or not getattr(model, "evidence_", ()):
        return {}
    return {"missing": case.missing[None]}


def question_on(acquisitions: Acquisitions, case: Case, j: int, price: float) -> Question:
    """The question of acquisition j, with the columns that it would bring."""
    is_open = case.open
    columns = [k for k in acquisitions.columns_of[j] if is_open[acquisitions.columns.features[k].start]]
    return Question(acquisitions.rules.names[j], acquisitions.asked_columns(columns), price)
