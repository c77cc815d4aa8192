"""The open cases of a server, held in memory, and what a form does to one: each of its buttons has a function here."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from fsgym.session import Question, Session
from fsgym.session.acquisitions import Acquisitions
from fsgym.session.case import step_of
from fsgym.session.session import choose, postpone
from fsgym.session.words import ending_text, undone_text
from fsgym.text.speech import said
from fsgym.web.entries import FieldEntry, read_entries
from fsgym.web.guard import Refused

ID_BYTES = 16  # 128 random bits
DROPPED_REMEMBERED = 10  # for each case held: ids of dropped cases
SentForm = Mapping[str, str]


class OpenCase:
    """A session on the page, and what the page shows beside it.

    Attributes
    ----------
    id : str, random
    number : int, from 1 in the order in which cases began; 0 where it is not held yet
    began : float, seconds since 1970
    session : Session
    chosen : str or None, the acquisition that the person chose, to be asked next
    notice : str, what the last change has to say
    before : dict label -> float, the beliefs before the last change, or None
    prior : dict label -> float, the beliefs where nothing is known, which decide the class that is shown, or None
    version : int, how many changes there were: a form of an earlier version changes nothing
    last : the last change, as it was sent
    lock : held while the case is read or changed
    """

    def __init__(self, session: Session) -> None:
        self.id, self.number, self.began, self.session = secrets.token_urlsafe(ID_BYTES), 0, time.time(), session
        self.chosen: str | None = None
        self.notice, self.version = "", 0
        self.before, self.prior = session.probabilities, step_of(session.model, {}).probabilities
        self.last: object = None
        self.lock = Lock()


class Cases:
    """The open cases, by id.

    Parameters
    ----------
    most : int, how many are held
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = Lock()
        self._open: OrderedDict[str, OpenCase] = OrderedDict()
        self._dropped: OrderedDict[str, None] = OrderedDict()
        self._n_begun = 0

    def add(self, session: Session) -> OpenCase:
        """Hold a session, and drop the least recently used one where there are too many."""
        case = OpenCase(session)  # which asks the model: others need not wait for it
        with self._lock:
            self._n_begun += 1
            case.number = self._n_begun
            self._open[case.id] = case
            while len(self._open) > self.most:
                self._dropped[self._open.popitem(last=False)[0]] = None
            while len(self._dropped) > DROPPED_REMEMBERED * self.most:
                self._dropped.popitem(last=False)
        return case

    def find(self, case_id: str) -> OpenCase:
        """The case, which is the most recently used one from now on; Refused where it is not held."""
        with self._lock:
            case = self._open.get(case_id)
            if case is not None:
                self._open.move_to_end(case_id)
                return case
            if case_id in self._dropped:
                raise Refused(410, "case_dropped", n=self.most)
        raise Refused(404, "no_such_case")

    def delete(self, case_id: str) -> None:
        """Forget a case."""
        with self._lock:
            self._open.pop(case_id, None)

    def listed(self) -> list[OpenCase]:
        """The cases held, the most recently used one first."""
        with self._lock:
            return list(reversed(self._open.values()))


class Unanswered(Exception):
    """A form whose fields do not make an answer; ``entries`` say why."""

    def __init__(self, entries: list[FieldEntry]) -> None:
        super().__init__("a field has no value that can be used")
        self.entries = entries


def acquisition_meant(acquisitions: Acquisitions, form: SentForm) -> str:
    """The name of the acquisition whose number a form has; ValueError where there is none."""
    number = number_sent(form, "about")
    if not 0 <= number < len(acquisitions.rules.names):
        raise ValueError(said("form_without_name"))
    return acquisitions.rules.names[number]


def number_sent(form: SentForm, field: str) -> int:
    """The whole number in a field of a form; -1 where there is none."""
    text = form.get(field, "")
    return int(text) if text.isdecimal() and len(text) <= 9 else -1


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
        first = entries[0]._replace(error=said("no_value_yet", name=repr(name)))
        entries[0] = first
    if any(entry.error for entry in entries):
        raise Unanswered(entries)
    values = {entry.column.name: entry.value for entry in entries if entry.value is not None}
    accept = any(entry.accept for entry in entries)
    case.session.answer(name, values, paid="free" not in form, accept=accept)
    case.chosen = None
    accepted = [f"{column}: {text}" for column, text in acquisitions.encode(values, accept)[2].items()]
    return said("accepted", remark="; ".join(accepted)) if accepted else ""


def unknown(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    name = acquisition_meant(acquisitions, form)
    case.session.unknown(name)
    case.chosen = None
    return said("is_unknown", name=name)


def later(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    if case.chosen is not None:  # back to the question of the model
        case.chosen = None
        return ""
    name = acquisition_meant(acquisitions, form)
    return said("comes_later" if postpone(case.session, name) else "comes_now", name=name)


def instead(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    case.chosen = choose(case.session, acquisition_meant(acquisitions, form)).name
    return ""


def undo(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    if case.chosen is not None:
        case.chosen = None
        return ""
    log, ended = case.session.log(), case.session.stopped
    case.session.undo()
    return undone_text(log, ended)


def take_back(case: OpenCase, acquisitions: Acquisitions, form: SentForm) -> str:
    log, place = case.session.log(), number_sent(form, "entry")
    case.session.undo(entry=place)
    case.chosen = None
    return undone_text(log[: place + 1], ended=False)


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


MISSING = ("yes", "no")  # what a form says of a value: that there is one, or none


def missing_said(acquisitions: Acquisitions, names: Sequence[str], form: SentForm) -> list[str] | None:
    """The columns of these of which a form says that there is no value; None where it says nothing.

    Raises ValueError where it says something of some of them only.
    """
    said_of = [form.get(f"missing{acquisitions.column_index[name]}", "") for name in names]
    if all(word not in MISSING for word in said_of):
        return None
    if any(word not in MISSING for word in said_of):
        raise ValueError(said("missing_all", names=", ".join(names)).removesuffix("."))
    return [name for name, word in zip(names, said_of, strict=True) if word == "no"]


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
                entries[k] = entries[k]._replace(error=said("known_or_barred", name=repr(names[j])))
    if any(entry.error for entry in entries):
        raise Unanswered(entries)
    known = [
        {entries[k].column.name: entries[k].value for k in members if entries[k].value is not None}
        for members in acquisitions.columns_of
    ]
    return entries, known, [names[j] for j in barred]
