"""A step from what a policy advises about one case."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from fsgym.session.acquisitions import Acquisitions
from fsgym.session.case import Case
from fsgym.session.step import Alternative, ExpectedCost, Question, Step


def make_step(model: Any, acquisitions: Acquisitions, case: Case, later: Collection[int] = ()) -> Step:
    """What a model says about a case.

    Parameters
    ----------
    model : AskingMixin
    acquisitions : Acquisitions
    case : Case
    later : acquisitions that are only asked where the model would stop without them
    """
    rules, J = acquisitions.rules, acquisitions.rules.n_acquisitions
    legal, prices = case.legal_and_prices()
    state = case.acquired[None], case.values[None]
    advice = model._advise(*state, legal[None])
    if later and advice.actions[0] < J:
        without = legal.copy()
        without[list(later)] = False
        other = model._advise(*state, without[None])
        if other.actions[0] < J:
            advice = other
    action, beyond, stop_cost = int(advice.actions[0]), int(advice.beyond[0]), _known_number(advice.stop_cost[0])
    candidates = np.flatnonzero(legal[:J])
    ranked = candidates[np.argsort(-advice.preference[0, candidates], kind="stable")].tolist()
    if beyond >= 0:
        ranked.remove(beyond)
        ranked.insert(0, beyond)
    alternatives = []
    for j in ranked:
        expected, price, gain = _known_number(advice.expected[0, j]), float(prices[j]), None
        if expected is not None and stop_cost is not None and price > 0:
            gain = _per_unit(stop_cost - expected, price)
        alternatives.append(Alternative(rules.names[j], price, expected, gain))
    question = None if action >= J else question_on(acquisitions, case, action, float(prices[action]))
    labels = model.classes_.tolist()
    probabilities = None
    if advice.probabilities is not None:
        probabilities = dict(zip(labels, advice.probabilities[0].tolist(), strict=True))
    columns = zip(acquisitions.columns, acquisitions.columns.features, strict=True)
    return Step(
        question,
        question is None,
        labels[int(advice.answers[0])],
        probabilities,
        ExpectedCost(stop_cost, None if beyond < 0 else _known_number(advice.expected[0, beyond])),
        case.spent,
        tuple(alternatives),
        tuple(column.name for column, features in columns if advice.unused[0, features].any()),
    )


def question_on(acquisitions: Acquisitions, case: Case, j: int, price: float) -> Question:
    """The question of acquisition j, with the columns that it would bring."""
    is_open = case.open
    columns = [k for k in acquisitions.columns_of[j] if is_open[acquisitions.columns.features[k].start]]
    return Question(acquisitions.rules.names[j], acquisitions.asked_columns(columns), price)


def _per_unit(saved: float, price: float) -> float | None:
    """``saved`` for each unit of a price; None where the price is so small that float64 has no such number."""
    with np.errstate(over="ignore"):
        gain = float(np.divide(saved, price))
    return gain if np.isfinite(gain) else None


def _known_number(value: float) -> float | None:
    return None if value != value else float(value)
