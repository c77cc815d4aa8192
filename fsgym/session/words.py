"""The words in which a session is shown to a person: in the terminal and on the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from fsgym.data.columns import Column
from fsgym.session.session import LogEntry
from fsgym.session.step import Alternative, Step
from fsgym.text.sentences import price_text, values_text

BELIEFS_SHOWN = 8  # by hand: what fits under a question on a screen of 24 lines
ALTERNATIVES_SHOWN = 6  # by hand
NOT_ESTIMATED = "not estimated"  # in the place of an expected cost that the model has not
ADVICE = r"; (pass paid=False|undo\(|it was known in advance).*"  # of errors of a session, for programmers


def value_text(column: Column, value: Any) -> str:
    """A value with its unit.

    >>> value_text(Column("crp", unit="mg/l"), 12.5), value_text(Column("ill", "bool"), True)
    ('12.5 mg/l', 'True')
    """
    text = str(value) if isinstance(value, int | str) else f"{value:.12g}"
    return f"{text} {column.unit}" if column.unit else text


def price_and_paid(price: float, spent: float) -> str:
    """The price of a question, and what was paid before.

    >>> price_and_paid(2, 3)
    'price 2, paid so far 3'
    """
    return f"{price_text(price)}, paid so far {spent:.4g}"


def would_stop_text(step: Step) -> str:
    """What is said above a question that the model does not ask."""
    return f"The model would stop here and {'refer to' if step.refers else 'answer'} {step.answer}."


def ranked_beliefs(probabilities: Mapping[Any, float]) -> list[tuple[Any, float]]:
    """Labels with their probabilities; the likeliest first if there are too many to show all."""
    ranked = list(probabilities.items())
    return sorted(ranked, key=lambda pair: -pair[1]) if len(ranked) > BELIEFS_SHOWN else ranked


def alternative_text(alternative: Alternative) -> str:
    """The price of an alternative, what the case is then expected to cost, and the gain for each unit of the price."""
    expected, gain = alternative.expected_cost, alternative.gain
    words = ", expected cost " + (NOT_ESTIMATED if expected is None else f"{expected:.3g}")
    words += "" if gain is None else f", gain {gain:.3g} per unit of price"
    return f"{price_text(alternative.price)}{words}"


def answer_text(step: Step) -> str:
    """The answer and the total price."""
    return f"{'Refer to' if step.refers else 'Answer:'} {step.answer} (paid {step.spent:.4g} in total)"


def ending_text(step: Step) -> str:
    """What is said once a session has ended with its answer."""
    ending = "Referred to" if step.refers else "Ended with the answer"
    return f"{ending} {step.answer}, paid {step.spent:.4g}."


def answer_cost_text(step: Step) -> str:
    """The expected cost of the answer now, and after one more acquisition; "" where there is no estimate."""
    stop, go_on = step.expected_cost
    if stop is None:
        return ""
    first = "" if go_on is None else f"; after acquiring {step.alternatives[0].name} it would be about {go_on:.3g}"
    return f"The {'cost of referring' if step.refers else 'expected cost of this answer'} is {stop:.3g}{first}."


def entry_text(entry: LogEntry, columns: Iterable[Column]) -> str:
    """What happened: the acquisition with its values, or what else was said about it."""
    if entry.kind == "stopped":
        return "stopped now"
    named = {column.name: column for column in columns if column.name in entry.values}
    texts = [(name, value_text(named[name], value)) for name, value in entry.values.items()]
    return values_text(entry.name, texts, len(texts)) if texts else f"{entry.name}: {entry.kind}"


def accepted_text(remark: str) -> str:
    """What is said of a value that was accepted although it is not as in training."""
    return f"Accepted: {remark}."


def taken_back_text(name: str) -> str:
    """What is said where a value, or an acquisition, is taken back."""
    return f"{name} is taken back."


def comes_now_text(name: str) -> str:
    """What is said where a question cannot be postponed."""
    return f"{name} comes now, because the model would stop without it."


def undone_text(entry: LogEntry) -> str:
    """What is said where what was said last is undone."""
    return f"{entry.name} is postponed no longer." if entry.kind == "later" else taken_back_text(entry.name)


def without_advice(error: Exception) -> str:
    """The sentence of an error without its advice to programmers."""
    return re.sub(ADVICE, "", str(error))


def accepting(error: Exception, how: str) -> str:
    """The sentence of an error with the way in which a value that is not as in training is accepted here."""
    return str(error).replace("(accept=True)", how)
