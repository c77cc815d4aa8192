"""What a form does to a case: each of its buttons has a function here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fsgym.session import Question
from fsgym.session.acquisitions import Acquisitions
from fsgym.session.session import choose, postpone
from fsgym.session.words import comes_now_text, ending_text, undone_text
from fsgym.web.cases import OpenCase
from fsgym.web.entries import FieldEntry, read_entries

SentForm = Mapping[str, str]


class Unanswered(Exception):
    """A form whose fields do not make an answer; ``entries`` say why."""

    def __init__(self, entries: list[FieldEntry]) -> None:
        super().__init__("a field has no value that can be used")
        self.entries = entries


def acquisition_meant(acquisitions: Acquisitions, form: SentForm) -> str:
    """The name of the acquisition whose number a form has; ValueError where there is none."""
    number = form.get("about", "")
    if not number.isdecimal() or len(number) > 9 or int(number) >= len(acquisitions.rules.names):
        raise ValueError("the form must say which acquisition it is about; load the page again")
    return acquisitions.rules.names[int(number)]


def columns_asked(acquisitions: Acquisitions, question: Question) -> list[int]:
    """The numbers of the columns of a question."""
    return [acquisitions.column_index[column.name] for column in question.columns]


def open_question(case: OpenCase) -> Question | None:
    """What is asked now: what the person chose, or what the model asks."""
    return case.session.next() if case.chosen is None else case.session.question(case.chosen)


def answer(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    name = acquisition_meant(acquisitions, form)
    question = case.session.question(name)
    entries = read_entries(acquisitions.columns, columns_asked(acquisitions, question), form)
    if not any(entry.error for entry in entries) and all(entry.value is None for entry in entries):
        first = entries[0]._replace(error=f"{name!r} has no value yet: enter one, or press Unknown")
        entries[0] = first
    if any(entry.error for entry in entries):
        raise Unanswered(entries)
    values = {entry.column.name: entry.value for entry in entries if entry.value is not None}
    accept = any(entry.accept for entry in entries)
    case.session.answer(name, values, paid="free" not in form, accept=accept)
    case.chosen = None
    remark = case.session.log()[-1].remark
    return f"Accepted: {remark}." if accept and remark else ""


def unknown(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    name = acquisition_meant(acquisitions, form)
    case.session.unknown(name)
    case.chosen = None
    return f"{name} is unknown."


def later(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    if case.chosen is not None:  # back to the question of the model
        case.chosen = None
        return ""
    name = acquisition_meant(acquisitions, form)
    return f"{name} comes later." if postpone(case.session, name) else comes_now_text(name)


def instead(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    case.chosen = choose(case.session, acquisition_meant(acquisitions, form)).name
    return ""


def undo(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    if case.chosen is not None:
        case.chosen = None
        return ""
    log, ended = case.session.log(), case.session.stopped
    case.session.undo()
    return "" if ended else undone_text(log[-1])


def take_back(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    name = acquisition_meant(acquisitions, form)
    case.session.undo(name)
    case.chosen = None
    return f"{name} is taken back."


def stop(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    case.session.stop()
    case.chosen = None
    return ending_text(case.session.step)


CHANGES: dict[str, Callable[[OpenCase, Acquisitions, SentForm], str]] = {
    "answer": answer,
    "unknown": unknown,
    "later": later,
    "instead": instead,
    "undo": undo,
    "take-back": take_back,
    "stop": stop,
}


def begin_values(
    acquisitions: Acquisitions, form: SentForm
) -> tuple[list[FieldEntry], list[dict[str, Any]], list[str]]:
    """The entries of all columns, for each acquisition the known values by column, and what cannot be obtained.

    Raises Unanswered where a field has no value that can be used.
    """
    names = acquisitions.rules.names
    entries = read_entries(acquisitions.columns, range(len(acquisitions.columns)), form)
    barred = [j for j in range(len(names)) if f"barred{j}" in form]
    for j in barred:
        for k in acquisitions.columns_of[j]:
            if entries[k].value is not None:
                entries[k] = entries[k]._replace(error=f"{names[j]!r} must be known or impossible to obtain, not both")
    if any(entry.error for entry in entries):
        raise Unanswered(entries)
    known = [
        {entries[k].column.name: entries[k].value for k in members if entries[k].value is not None}
        for members in acquisitions.columns_of
    ]
    return entries, known, [names[j] for j in barred]
