"""The words in which a session is shown to a person: in the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fsgym.data.columns import Column
from fsgym.rules import Rules
from fsgym.session.session import LogEntry
from fsgym.session.step import Alternative, Question, Step
from fsgym.session.values import Refusal, check_value, number_in
from fsgym.text.messages import listing
from fsgym.text.sentences import is_range, price_text, values_text
from fsgym.text.speech import cost_text, money_text, said, spoken, with_unit

BELIEFS_SHOWN = 8  # by hand: what fits under a question on a screen of 24 lines
ALTERNATIVES_SHOWN = 6  # by hand
LARGEST_WHOLE = 2**53 - 1  # up to which float64 holds each whole number


def value_text(column: Column, value: Any) -> str:
    """A value with its unit.

    >>> value_text(Column("crp", unit="mg/l"), 12.5), value_text(Column("ill", "bool"), True)
    ('12.5 mg/l', 'yes')
    """
    if column.kind == "bool":
        return said("yes" if check_value(column, value).features[0] else "no")
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_WHOLE
    text = (
        str(int(value) if is_whole else value) if is_whole or isinstance(value, int | str) else number_in(column, value)
    )
    return with_unit(text, column.unit)


def price_and_paid(price: float, spent: float) -> str:
    """The price of a question, and what was paid before.

    >>> price_and_paid(2, 3)
    'price 2, paid so far 3'
    """
    return said("price_and_paid", price=price_text(price), spent=money_text(spent))


def free_too_text(question: Question, step: Step) -> str:
    """Which acquisitions are free, where a question has a price; "" where none is."""
    names = [a.name for a in step.alternatives if not a.price and a.name != question.name]
    return said("free_too", names=listing(names, ALTERNATIVES_SHOWN)) if question.price and names else ""


def free_left_text(step: Step) -> str:
    """Which acquisitions are free and were not asked where the case is answered, and why; "" where none is left."""
    named: dict[str, list[str]] = {}
    for a in step.alternatives:
        if not a.price:
            stop, on = step.expected_cost.stop, a.expected_cost
            sentence = "free_not_estimated"
            if stop is not None and on is not None:
                sentence = "free_left" if on < stop else "free_no_gain"
            named.setdefault(sentence, []).append(a.name)
    return " ".join(said(sentence, names=listing(names, ALTERNATIVES_SHOWN)) for sentence, names in named.items())


def would_stop_text(step: Step) -> str:
    """What is said above a question that the model does not ask."""
    return said("would_refer" if step.refers else "would_stop", answer=step.answer)


def ranked_beliefs(probabilities: Mapping[Any, float]) -> list[tuple[Any, float]]:
    """Labels with their probabilities; those that are shown first if there are too many to show all.

    These are the likeliest ones: of classes the likeliest first, of ranges of a number in its order.
    """
    beliefs = list(probabilities.items())
    if len(beliefs) <= BELIEFS_SHOWN:
        return beliefs
    order = sorted(range(len(beliefs)), key=lambda k: -beliefs[k][1])
    if is_range(beliefs[0][0]):
        order[:BELIEFS_SHOWN] = sorted(order[:BELIEFS_SHOWN])
    return [beliefs[k] for k in order]


def more_beliefs_text(labels: Sequence[Any], n: int) -> str:
    """How many classes, or ranges of numbers, are not shown."""
    return said("more_ranges" if any(map(is_range, labels)) else "more_classes", n=n)


def alternative_text(alternative: Alternative) -> str:
    """The price of an alternative, and what the case is then expected to cost."""
    expected = alternative.expected_cost
    cost = said("not_estimated") if expected is None else cost_text(expected)
    return said("with_expected", price=price_text(alternative.price), cost=cost)


def answer_text(step: Step) -> str:
    """The answer and the total price."""
    return said("refer_final" if step.refers else "answer_final", answer=step.answer, spent=money_text(step.spent))


def ending_text(step: Step) -> str:
    """What is said once a session has ended with its answer."""
    return said("ended_referred" if step.refers else "ended", answer=step.answer, spent=money_text(step.spent))


def answer_cost_text(step: Step) -> str:
    """The expected cost of the answer now, and after one more acquisition; "" where there is no estimate."""
    stop, go_on = step.expected_cost
    if stop is None:
        return ""
    by_bins = f" {said('cost_by_bins')}" if is_range(step.answer) else ""
    if go_on is None:
        return said("cost_of_referring" if step.refers else "cost_of_answer", cost=cost_text(stop)) + by_bins
    sentence = "referring_after" if step.refers else "cost_after"
    return said(sentence, cost=cost_text(stop), name=step.alternatives[0].name, on=cost_text(go_on)) + by_bins


def cost_unit_text(step: Step, rules: Rules) -> str:
    """The unit of the costs that are shown, or that those with a currency are no bill; "" where there are none."""
    unknown = step.alternatives and all(a.expected_cost is None for a in step.alternatives)
    if step.expected_cost.stop is None or unknown:
        return ""
    if spoken().currency and spoken().same_unit:
        return said("unit_money")
    is_one = np.array_equal(rules.error_costs, 1 - np.eye(rules.n_classes))
    is_share = is_one and rules.refer_cost is None and step.probabilities is not None
    return said("unit_wrong" if is_share else "unit_costs")


def entry_text(entry: LogEntry, columns: Iterable[Column]) -> str:
    """What happened: the acquisition with its values, or what else was said about it."""
    if entry.kind == "stopped":
        return said("stopped_now")
    named = {column.name: column for column in columns if column.name in entry.values}
    texts = [(name, value_text(named[name], value)) for name, value in entry.values.items()]
    if texts:
        return values_text(entry.name, texts, len(texts))
    return f"{entry.name}: {said(f'kind_{entry.kind}') if entry.kind in ('unknown', 'later') else entry.kind}"


def not_as_trained_text(remarks: Sequence[str]) -> str:
    """What is said of all that a case rests on although it is not as in training; "" where nothing was accepted."""
    return said("not_as_trained", remarks="; ".join(remarks)) if remarks else ""


def undone_text(log: Sequence[LogEntry], ended: bool) -> str:
    """What is said where ``undo`` follows this log; ``ended``: it takes back only that the session ended."""
    if ended:
        return said("ended_no_longer")
    name, kind = log[-1].name, log[-1].kind
    return said("postponed_no_longer", name=name) if kind == "later" else said("taken_back", name=name)


def refusal_text(error: Exception, accept: str = "") -> str:
    """The sentence of an error without advice to programs, with the way in which a value is accepted here."""
    return error.text(accept) if isinstance(error, Refusal) else str(error)
