"""Random walks through sessions, each compared with ``ReferenceSession`` after everything that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fsgym.session import Session
from support.reference_session import Entry, ReferenceSession

N_TURNS = 14
PAID = ("asked", "chosen")
TURNS = {
    "question": 4, "alternative": 4, "anything": 3, "known": 2, "unknown": 2, "later": 2, "undo": 2, "take back": 3,
    "take back entry": 2, "resume": 1, "stop": 0.5,
}  # fmt: skip


class SessionWalk:
    """A session and what it must be.

    Parameters
    ----------
    model : fitted classifier that can be asked, of columns that are numbers
    options : dict of its rules, with groups by position
    rng : np.random.Generator
    """

    def __init__(self, model: Any, options: dict, rng: np.random.Generator) -> None:
        self.model, self.rng = model, rng
        self.names, self.columns = list(model.acquisitions_.rules.names), list(model.acquisitions_.columns.names)
        self.column_of, n = {c.name: c for c in model.acquisitions_.columns}, len(self.columns)
        at_start = rng.choice(3, n, p=[0.8, 0.1, 0.1]) if rng.random() < 0.5 else np.zeros(n, int)
        known, absent = np.flatnonzero(at_start == 1).tolist(), np.flatnonzero(at_start == 2).tolist()
        charge = bool(rng.random() < 0.4)
        self.session: Session = model.session(
            self.values(known), [self.columns[k] for k in absent], charge_unknown=charge
        )
        self.wanted = ReferenceSession(n, len(model.classes_), options, known, absent, charge)
        self.script: list[str] = []

    def values(self, columns: Any) -> dict[str, float]:
        """Values of columns that are in their ranges."""
        found = {}
        for k in columns:
            column = self.column_of[self.columns[k]]
            low, high = (-1.0, 1.0) if column.low is None else (column.low, column.high)
            found[column.name] = float(low + (high - low) * self.rng.uniform(0.05, 0.95))
        return found

    def run(self, n_turns: int = N_TURNS) -> None:
        """AssertionError, with what was said, where the session is not as it must be."""
        try:
            self.check()
            kinds, weights = list(TURNS), np.array(list(TURNS.values()))
            for _ in range(n_turns):
                self.turn(str(self.rng.choice(kinds, p=weights / weights.sum())))
            self.check_all_that_is_named()
        except (AssertionError, ValueError) as error:
            raise AssertionError(f"{error}\nafter {'; '.join(self.script)}") from error

    def turn(self, kind: str) -> None:
        """Say one thing, and compare."""
        rng, session, wanted = self.rng, self.session, self.wanted
        before, stopped = session.log(), session.stopped
        question, legal = session.step.question, list(wanted.prices())
        if kind == "resume":
            self.session = self.model.resume(session.to_json())
            assert state_of(self.session) == state_of(session), "resumed otherwise"
            return
        if kind == "stop":
            session.stop()
            self.script.append("stop")
            return
        if kind == "take back entry":
            place = int(rng.integers(len(before) + 1))
            self.script.append(f"{kind} {place}")
            self.both(lambda: session.undo(entry=place), lambda: wanted.undo_entry(place))
            self.check()
            return
        j = int(rng.integers(len(self.names)))
        if question is not None and kind == "question":
            j = self.names.index(question.name)
        elif legal and kind in ("question", "alternative", "later"):
            j = int(rng.choice(legal))
        group = list(wanted.process.groups[j])
        columns = wanted.open_columns(j) or group
        if kind in ("anything", "known", "unknown") and rng.random() < 0.3:
            columns = group  # also what has a value already
        if len(columns) > 1 and rng.random() < 0.4:
            columns = rng.permutation(columns)[: rng.integers(1, len(columns) + 1)].tolist()
        name = self.names[j] if kind in ("later", "take back") or len(columns) > 1 else self.columns[columns[0]]
        self.script.append(f"{kind} {name}")
        if kind == "take back":
            self.both(lambda: session.undo(name), lambda: wanted.undo(j))
        elif kind == "undo" and stopped:
            session.undo()
        elif kind == "undo":
            self.both(session.undo, wanted.undo)
        elif kind == "later":
            self.both(lambda: session.later(name), lambda: not stopped and wanted.postpone(j))
        elif kind == "unknown":
            columns = group if name == self.names[j] else columns
            self.both(lambda: session.unknown(name), lambda: not stopped and wanted.unknown(j, columns))
        else:
            paid, values = kind != "known", self.values(columns)
            given = self.both(
                lambda: session.answer(self.names[j], values, paid=paid),
                lambda: not stopped and wanted.answer(j, columns, paid),
            )
            assert given or stopped or kind != "question" or question is None, f"{name} is asked and refused"
        if kind not in ("undo", "take back"):
            after = session.log()
            assert after[: len(before)] == before, f"the log changed from {before} to {after}"
        self.check()

    def both(self, call: Callable[[], object], expected: Callable[[], bool]) -> bool:
        """Whether a call is taken, which must be as expected; one that is refused changes nothing."""
        before, taken = state_of(self.session), True
        try:
            call()
        except ValueError as error:
            taken = False
            self.script.append(f"({error})")
            assert state_of(self.session) == before, "a refused call changed the session"
        should = expected()
        assert taken == should, f"it was {'taken' if taken else 'refused'}, and should not have been"
        return taken

    def check(self) -> None:
        """Compare prices, payments and log."""
        session, wanted = self.session, self.wanted
        step, names = session.step, self.names
        got, expected = {a.name: a.price for a in step.alternatives}, wanted.prices()
        assert got == {names[j]: price for j, price in expected.items()}, f"alternatives {got} must be {expected}"
        if step.question is not None:
            assert got[step.question.name] == step.question.price, "the price of the question"
            columns = wanted.open_columns(names.index(step.question.name))
            assert [c.name for c in step.question.columns] == [self.columns[k] for k in sorted(columns)]
        assert session.next() == (None if session.stopped else step.question)
        log = [Entry("paid" if e.kind in PAID else e.kind, names.index(e.name), *e[3:5]) for e in session.log()]
        assert log == wanted.log, f"the log is {log}, and must be {wanted.log}"
        assert session.spent == wanted.spent == sum((e.price for e in log), 0.0), "spent"
        n_paid, limit = sum(e.kind == "paid" for e in log), wanted.process.budget_cost
        assert wanted.budget is None or n_paid <= wanted.n_paid <= wanted.budget, "the budget"
        assert limit is None or session.spent <= limit * (1 + 1e-9), "budget_cost"

    def check_all_that_is_named(self) -> None:
        """Everything that can be acquired can be answered, or be unknown, or come later; nothing else can be paid."""
        session, wanted = self.session, self.wanted
        if session.stopped:
            session.undo()
        if not session.postponed:
            self.check_step()
        named = {a.name: a.price for a in session.step.alternatives}
        for j, name in enumerate(self.names):
            spent, values = session.spent, self.values(wanted.open_columns(j) or wanted.process.groups[j])
            if name not in named:
                try:
                    session.answer(name, values)
                except ValueError:
                    continue
                assert session.spent == spent, f"{name} is paid, and was not named"
                session.undo()
                continue
            before = state_of(session)
            assert session.question(name).price == named[name]
            session.answer(name, values)
            assert session.spent == spent + named[name], f"the price of {name}"
            session.undo()
            session.unknown(name)
            assert session.spent in (spent, spent + named[name] * session.charge_unknown), f"{name} unknown"
            session.undo()
            if name not in session.postponed:
                session.later(name)
                session.undo()
            assert state_of(session) == before, "undo is not the identity"

    def check_step(self) -> None:
        """The step without a session is the same."""
        session, wanted = self.session, self.wanted
        known = session.known
        for entry in session.log():
            known |= entry.values
        closed = [self.columns[k] for k in sorted(wanted.closed)]
        step = self.model.step(known, unknown=closed, spent=session.spent, n_paid=wanted.n_paid)
        assert step == session.step, "model.step differs"


def state_of(session: Session) -> tuple:
    return session.to_json(), session.step, session.log(), session.postponed, session.stopped
