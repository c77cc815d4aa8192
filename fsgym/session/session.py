"""A session: one case, asked question by question, with answers in any order and undo."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple, Self, get_args, get_type_hints

import numpy as np

from fsgym.session.acquisitions import Acquisitions, name_list
from fsgym.session.asked_model import AskedModel, as_told
from fsgym.session.case import Case, make_step, question_on, start_case
from fsgym.session.reasons import explain_step, explain_stop
from fsgym.session.step import CertaintyRule, Question, Step
from fsgym.session.values import Refusal
from fsgym.text.messages import brief
from fsgym.text.sentences import cutoff_text
from fsgym.text.speech import money_text, said

# What a person says in a session, as plain records that can be written and replayed.

MAX_EVENTS_EACH = 20  # events of a session, for each acquisition and each column
LONGEST_NOTE = 500  # characters; by hand
EVENT_KINDS = ("answer", "unknown", "later")
FIRST_FORMAT_ALONE = ("serial", "refilled")  # fields of events in texts of version 0.2.0


class Event(NamedTuple):
    """One thing that a person said."""

    kind: str  # "answer", "unknown" or "later"
    name: str  # of the acquisition
    values: dict[str, Any]  # dict column -> value; None for unknown columns
    paid: bool = True  # whether the acquisition was made for it when it was said
    accept: bool = False  # whether values were accepted that are not as in training
    chosen: bool = False  # whether the model had not asked for it

    def as_json(self) -> dict[str, Any]:
        """The event as plain JSON values, without defaults."""
        defaults = self._field_defaults
        return {k: v for k, v in self._asdict().items() if k not in defaults or v != defaults[k]}


def plain_value(value: Any) -> Any:
    """A value as a plain JSON value: NumPy's scalars and fractions as Python's numbers."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Real) and not isinstance(value, int | float):  # longdouble has no Python number of its own
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"a number must be one that float64 can hold, got {brief(value)}") from None
    if isinstance(value, Mapping):
        return {name: plain_value(cell) for name, cell in value.items()}
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"text must be Unicode without half characters, got {brief(value)}")
    return value


def most_events(acquisitions: Acquisitions) -> int:
    """How many events a session may have, so that it can be read again in bounded time."""
    return MAX_EVENTS_EACH * (len(acquisitions.index) + len(acquisitions.column_index))


def events_from_json(values: Any, acquisitions: Acquisitions) -> list[Event]:
    """The events that ``as_json`` wrote; ValueError where they are damaged."""
    if not isinstance(values, list):
        raise ValueError("the answers must be a list")
    most = most_events(acquisitions)
    if len(values) > most:
        raise ValueError(f"there may be at most {most} answers, got {len(values)}")
    events, types = [], {name: get_args(hint) or (hint,) for name, hint in get_type_hints(Event).items()}
    for value in values:
        if not isinstance(value, dict) or not set(value) <= set(Event._fields):
            raise ValueError(f"an answer must be an object with the fields {', '.join(Event._fields)}")
        if not {"kind", "name", "values"} <= set(value):
            raise ValueError("an answer must have a kind, a name and values")
        for name, entry in value.items():
            expected = dict if name == "values" else types[name][0]
            if type(entry) is not expected:
                raise ValueError(f"{name} of an answer must be {expected.__name__}, got {brief(entry)}")
        event = Event(**value)
        if event.kind not in EVENT_KINDS or event.name not in acquisitions.index:
            raise ValueError(f"there is no {brief(event.kind)} of {brief(event.name)}")
        own = {acquisitions.columns[k].name for k in acquisitions.columns_of[acquisitions.index[event.name]]}
        if not set(event.values) <= own or (event.kind in ("answer", "unknown")) != bool(event.values):
            raise ValueError(f"{event.name!r} must have values of its own columns")
        if event.kind == "answer":
            acquisitions.encode(event.values, event.accept)
            plain_value(event.values)
        elif any(cell is not None for cell in event.values.values()):
            raise ValueError(f"{event.name!r} is {event.kind}, and must have no value")
        events.append(event)
    return events


def events_of_first_format(values: Any, acquisitions: Acquisitions) -> list[Event]:
    """The events that version 0.2.0 wrote, without the places that it kept for what was undone.

    Of an answer, ``paid`` is whether a person gave it as acquired.
    """
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise ValueError("the answers must be a list of objects")
    left = [value for value in values if value.get("kind") != "undone"]
    return events_from_json(
        [{k: v for k, v in value.items() if k not in FIRST_FORMAT_ALONE} for value in left], acquisitions
    )


SESSION_FORMAT = "fsgym-session-2"
FIRST_FORMAT = "fsgym-session-1"  # of version 0.2.0
UNPAID = "pass paid=False if its value is known without acquiring it"  # advice where an acquisition cannot be made


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is no number in JSON")


class LogEntry(NamedTuple):
    """What happened after one question.

    Attributes
    ----------
    name : str, of the acquisition; "" for "stopped"
    kind : str
        "asked" for the model's question, "chosen" for another acquisition that the person made, "known" for values at
        no price, "unknown" for an acquisition without a result, "later" for a postponed one; "stopped" where the person
        ended the session and a calibrated model would have gone on.
    values : dict column -> value
    price : float, paid for it
    spent : float, paid so far
    probabilities : dict label -> float after it, or None
    remark : str
        What was accepted although it is not as in training, or done although the model would have stopped. For a
        calibrated model, where the person first overrode its rule: another acquisition, one postponed, an earlier stop.
    """

    name: str
    kind: str
    values: dict[str, Any]
    price: float
    spent: float
    probabilities: dict[Any, float] | None
    remark: str


class _Moment:
    """The case after some of the events, and what the rules and the model say then."""

    def __init__(self, case: Case, later: frozenset[int], kind: str = "", price: float = 0.0, remark: str = "") -> None:
        self.case, self.later = case, later
        self.legal, self.prices = case.legal_and_prices()
        self.kind, self.price, self.remark = kind, price, remark
        self.step: Step | None = None
        self.overridden = False  # whether the person did something else than the rule of a calibrated model


class Session:
    """Questions on one case, one by one.

    The state follows from the answers alone, which ``from_json`` replays. ``undo`` drops the last; of an earlier one,
    what follows is replayed. Made by the method ``session`` of a classifier, whose parameters it has.

    Parameters
    ----------
    model : AskedModel
    known : dict name -> value, by default empty
    unavailable : names, by default none
    charge_unknown : bool
    accept : bool
    missing : names, by default nothing is said
    prices : dict name -> price, those told of this case, which ``model`` has already; kept by ``to_json``

    Attributes
    ----------
    told_model : AskedModel
        The model of cases that are told as this one is: without its ``evidence_`` where nothing is said of what is
        missing.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X[["alcohol", "hue", "flavanoids"]], y)
    >>> session = model.session(known={"hue": 1.0})
    >>> while question := session.next():
    ...     session.answer(question.name, float(X[question.name].iloc[0]))
    >>> int(session.stop()), session.spent
    (0, 1.0)
    """

    def __init__(
        self,
        model: AskedModel,
        known: Mapping[str, Any] = MappingProxyType({}),
        unavailable: Iterable[str] = (),
        *,
        charge_unknown: bool = False,
        accept: bool = False,
        missing: Iterable[str] | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        self.model = model
        self._prices = None if prices is None else {name: float(price) for name, price in prices.items()}
        self._acquisitions = model.acquisitions_
        self._known = {name: plain_value(value) for name, value in known.items()}
        self._unavailable = tuple(name_list(unavailable, "unavailable"))
        self._missing = None if missing is None else tuple(name_list(missing, "missing"))
        self.charge_unknown, self.accept = bool(charge_unknown), bool(accept)
        self._events: list[Event] = []
        self.told_model = as_told(model, self._missing is not None)
        case = start_case(self._acquisitions, self._known, self._unavailable, accept, self._missing)
        self._moments = [_Moment(case, frozenset())]
        self._stopped = False
        self._note = ""

    @property
    def note(self) -> str:
        """What a person notes of the case, such as a reference: a line of at most 500 characters, kept by ``to_json``.

        Setting it raises ValueError for a longer one, TypeError for what is no text.
        """
        return self._note

    @note.setter
    def note(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a note must be text, got {brief(text)}")
        line = " ".join(plain_value(text).split())
        if len(line) > LONGEST_NOTE:
            raise ValueError(said("note_long", n=LONGEST_NOTE, got=len(line)))
        self._note = line

    @property
    def known(self) -> dict[str, Any]:
        """The values that were known before the first question, by name."""
        return dict(self._known)

    @property
    def unavailable(self) -> tuple[str, ...]:
        """The names of what could not be obtained from the beginning."""
        return self._unavailable

    @property
    def missing(self) -> tuple[str, ...] | None:
        """The columns of which the case was said to have no value; None where nothing was said."""
        return self._missing

    @property
    def prices(self) -> dict[str, float] | None:
        """The prices that were told of this case, by name; None where nothing was said."""
        return None if self._prices is None else dict(self._prices)

    @property
    def step(self) -> Step:
        """What the model says now."""
        step = self._step_at(len(self._events))
        return self._uncovered(step) if self._stopped_early else step

    @property
    def spent(self) -> float:
        """The total price paid so far, in the unit of ``costs``."""
        return self._moments[-1].case.spent

    @property
    def probabilities(self) -> dict[Any, float] | None:
        """Class probabilities given what is known, by label; None for a model without them."""
        return self.step.probabilities

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stopped

    @property
    def promised(self) -> list[str]:
        """What a calibrated model promises, in sentences; none after an override."""
        overridden = self._moments[-1].overridden or self._stopped_early
        return [] if self._rule is None or overridden else self._rule.sentences()

    @property
    def stop_ends(self) -> str:
        """What ``stop`` would mean for the promise of a calibrated model now, in a sentence; "" where it means nothing.

        Either the answer is not certain enough, or it is and the person decides in place of the model
        (``step.certainty.enough``).
        """
        step = self.step
        if self._stopped or step.should_stop or step.certainty is None:
            return ""
        return self._about_rule("stop_chosen" if step.certainty.enough else "stop_ends")

    @property
    def other_ends(self) -> str:
        """What another acquisition than the model's would mean for its promise, in a sentence; "" as ``stop_ends``."""
        return self._about_rule("other_ends")

    @property
    def postponed(self) -> tuple[str, ...]:
        """The acquisitions that come when the model would stop without them."""
        return tuple(self._acquisitions.rules.names[j] for j in sorted(self._moments[-1].later))

    def outcomes(self) -> tuple[list[str], list[str]]:
        """The names of the acquisitions with a value, and of those of which no value can be obtained (any more)."""
        case, rules = self._moments[-1].case, self._acquisitions.rules
        some, none = rules.acquisitions_of(case.acquired[None])[0], ~rules.acquisitions_of(~case.unavailable[None])[0]
        return [rules.names[j] for j in np.flatnonzero(some)], [rules.names[j] for j in np.flatnonzero(none)]

    def next(self) -> Question | None:
        """What to ask next; None where the model would stop.

        Postponed acquisitions come when the model would stop without them.
        """
        return None if self._stopped else self.step.question

    def question(self, name: str) -> Question:
        """The question of any acquisition that is legal now, also one that the model does not ask for.

        Raises ValueError where the acquisition is not legal.
        """
        j, _ = self._acquisitions.find(name)
        now = self._moments[-1]
        if not now.legal[j]:
            raise self._refusal(j)
        return question_on(now.case, j, float(now.prices[j]))

    def answer(self, name: str, value: Any, *, paid: bool = True, accept: bool = False) -> None:
        """Give the value of a column, or the values of an acquisition as a mapping of its columns.

        Any acquisition that is legal now may be answered, not only the one asked for, also where the model would stop.
        Of an acquisition of several columns, those without a value count as unknown; their values can be given later
        at no further price. An answer is judged where it is given, after all that was said before, and changes
        nothing of it.

        Parameters
        ----------
        name : str, an acquisition or a column
        value : value or mapping column -> value
        paid : bool, default True
            False for a value that is known without acquiring it: it costs nothing, and need not be legal.
        accept : bool, default False
            Whether to accept a number outside the range in training, and a level that was not in training, which
            counts as unknown.

        Raises
        ------
        ValueError, TypeError
            If the acquisition is not legal, or a value is not one of its column; the session is not changed.
        """
        values = {column: plain_value(cell) for column, cell in self._acquisitions.values_of(name, value).items()}
        self._acquisitions.encode(values, accept)
        j, _ = self._acquisitions.find(name)
        self._give(Event("answer", self._acquisitions.rules.names[j], values, bool(paid), bool(accept)))

    def unknown(self, name: str) -> None:
        """Say that an acquisition or a column was asked for without a result; it is not asked for again."""
        j, columns = self._acquisitions.find(name)
        names = {self._acquisitions.columns[k].name: None for k in columns}
        self._give(Event("unknown", self._acquisitions.rules.names[j], names))

    def later(self, name: str) -> None:
        """Postpone an acquisition: others come first."""
        j, _ = self._acquisitions.find(name)
        self._give(Event("later", self._acquisitions.rules.names[j], {}))

    def undo(self, name: str | None = None, *, entry: int | None = None) -> None:
        """Take back what was last said, all that was said about one acquisition, or one entry of the log.

        What follows is replayed, and what was paid stays paid, also where it could not be acquired now, at its price
        after what is left before it. Only where that price is more than what is left of ``budget_cost``, the value
        stays known at no price. A corrected answer is given again at the end.

        Parameters
        ----------
        name : str, optional, an acquisition or a column
        entry : int, optional, a place in ``log()``, from 0

        Raises
        ------
        ValueError, TypeError
            If there is nothing to undo, or both are given.
        """
        if name is not None and entry is not None:
            raise TypeError("undo takes a name or an entry, got both; leave one out")
        of_end = self._stopped if entry is None else self._stopped_early and entry == len(self._events)  # as in the log
        if of_end and name is None:
            self._stopped = False
            return
        kept = self._events[:-1]
        if entry is not None:
            kept = [event for k, event in enumerate(self._events) if k != entry]
        elif name is not None:
            wanted = self._acquisitions.rules.names[self._acquisitions.find(name)[0]]
            kept = [event for event in self._events if event.name != wanted]
        if len(kept) == len(self._events):
            raise ValueError(said("nothing_to_undo") if name is None else said("nothing_to_undo_of", name=repr(name)))
        self._stopped = False
        first = next((k for k, event in enumerate(kept) if event is not self._events[k]), len(kept))
        del self._events[first:], self._moments[first + 1 :]
        for event in kept[first:]:
            self._append(event)

    def stop(self) -> Any:
        """End the session, whatever the model would ask, and return the answer: a class label, or ``refer_label``."""
        self._stopped = True
        return self.step.answer

    def why(self) -> str:
        """Why the model asks its question, or stops, in sentences."""
        if self._stopped and not self.step.should_stop:
            return explain_stop(self.step, self._acquisitions.rules)
        return explain_step(self.step, self._acquisitions.rules)

    @property
    def cutoff(self) -> str:
        """From which probability on the model gives one of two answers, where errors differ in what they cost."""
        if self.step.probabilities is None:
            return ""
        return cutoff_text(list(self.step.probabilities), self._acquisitions.rules.answer_costs)

    @property
    def about_prices(self) -> list[str]:
        """What to say once of the prices of this case, of a model that was trained with prices by case.

        Which were told, or that all are means, and which are outside those of the training.
        """
        rules, ranges = self._acquisitions.rules, getattr(self.model, "price_ranges_", None)
        if rules.costs_by_case or (ranges is not None and self._prices == {}):
            return [said("prices_at_mean")]
        if ranges is None:
            return []
        told = [f"{name} {money_text(price)}" for name, price in (self._prices or {}).items()]
        sentences = [said("prices_told", prices=", ".join(told))] if told else []
        for name, price, (low, high) in zip(rules.names, rules.costs.tolist(), ranges.tolist(), strict=True):
            if not low <= price <= high:
                texts = {part: money_text(x) for part, x in (("price", price), ("low", low), ("high", high))}
                sentences.append(said("price_far", name=name, **texts))
        return sentences

    @property
    def remarks(self) -> list[str]:
        """What was accepted although it is not as in training, of the values known in advance and of the answers."""
        names, found = self._acquisitions, {}
        given = [(values, self.accept) for values in (names.values_of(*pair) for pair in self._known.items())]
        given += [(event.values, event.accept) for event in self._events if event.kind == "answer"]
        for values, accept in given:
            found |= names.encode(values, accept)[2]
        return [f"{column}: {text}" for column, text in found.items()]

    def log(self) -> list[LogEntry]:
        """What happened so far, in its order."""
        entries = []
        for k, (event, moment) in enumerate(zip(self._events, self._moments[1:], strict=True)):
            probabilities, spent = self._step_at(k + 1).probabilities, moment.case.spent
            values = {column: cell for column, cell in event.values.items() if cell is not None}
            entries.append(LogEntry(event.name, moment.kind, values, moment.price, spent, probabilities, moment.remark))
        if self._stopped_early:
            remark = "" if self._moments[-1].overridden else self._override_remark()
            entries.append(LogEntry("", "stopped", {}, 0.0, self.spent, self.step.probabilities, remark))
        return entries

    def to_json(self) -> str:
        """The session as text for ``resume`` of the model: its digest, the answers in their order, and options."""
        plain = {
            "format": SESSION_FORMAT,
            "policy": self.model.policy_digest(),
            "known": self._known,
            "unavailable": list(self._unavailable),
            **({} if self._missing is None else {"missing": list(self._missing)}),
            **({} if self._prices is None else {"prices": self._prices}),
            "charge_unknown": self.charge_unknown,
            "accept": self.accept,
            "answers": [event.as_json() for event in self._events],
            "stopped": self._stopped,
            **({"note": self._note} if self._note else {}),
        }
        return json.dumps(plain, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, model: AskedModel, text: str) -> Self:
        """The session that ``to_json`` wrote with the same model; ValueError where it is damaged or another's.

        A text of version 0.2.0 gives what that version showed of it; its answers keep the order in which they stood.
        """
        try:
            plain = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, TypeError, RecursionError):
            raise ValueError(said("session_no_json")) from None
        if not isinstance(plain, dict) or plain.get("format") not in (SESSION_FORMAT, FIRST_FORMAT):
            found = plain.get("format") if isinstance(plain, dict) else plain
            raise ValueError(said("session_format", format=repr(SESSION_FORMAT), found=brief(found)))
        digest, prices = model.policy_digest(), plain.get("prices")
        if isinstance(prices, dict) and plain.get("policy") != digest:
            try:
                model = model.at_prices(prices)  # type: ignore[attr-defined]
            except (AttributeError, ValueError, TypeError):
                pass  # another model, as the digest says
            else:
                digest = model.policy_digest()
        if plain.get("policy") != digest:
            found = brief(plain.get("policy"))
            raise ValueError(said("session_of_other", found=found, own=f"{digest[:12]}..."))
        try:
            known, unavailable = plain["known"], plain["unavailable"]
            flags = {name: plain[name] for name in ("charge_unknown", "accept", "stopped")}
            missing = plain.get("missing")
            if not isinstance(known, dict) or not isinstance(unavailable, list):
                raise ValueError("known must be an object and unavailable a list")
            if not isinstance(missing, list | None):
                raise ValueError(f"missing must be a list, got {brief(missing)}")
            if not all(isinstance(v, bool) for v in flags.values()):
                raise ValueError("charge_unknown, accept and stopped must be true or false")
            stopped = flags.pop("stopped")
            if prices is not None and not isinstance(prices, dict):
                raise ValueError(f"prices must be an object, got {brief(prices)}")
            session = cls(model, known, tuple(unavailable), missing=missing, prices=prices, **flags)
            session.note = plain.get("note", "")
            if plain["format"] == FIRST_FORMAT:
                for event in events_of_first_format(plain["answers"], session._acquisitions):
                    session._append(event._replace(paid=session._paid_in_first_format(event)))
            else:
                for event in events_from_json(plain["answers"], session._acquisitions):
                    session._append(event)
        except RecursionError:
            raise ValueError(said("session_nested")) from None
        except (KeyError, ValueError, TypeError) as error:
            raise ValueError(said("session_damaged", reason=error)) from None
        session._stopped = stopped
        return session

    def _step_at(self, k: int) -> Step:
        moment = self._moments[k]
        if moment.step is None:
            step = make_step(self.told_model, moment.case, moment.legal, moment.prices, moment.later)
            moment.step = self._uncovered(step) if moment.overridden else step
        return moment.step

    @property
    def _rule(self) -> CertaintyRule | None:
        return getattr(self.told_model, "promise_", None)

    @property
    def _stopped_early(self) -> bool:
        """Whether the person ended the session, and a calibrated model would have gone on."""
        return self._stopped and self._rule is not None and not self._step_at(len(self._events)).should_stop

    def _about_rule(self, sentence: str) -> str:
        """A sentence about the promise, or the rule, of a calibrated model; "" where a person overrode it already."""
        if self._rule is None or self._moments[-1].overridden or self._stopped_early:
            return ""
        return said(f"{sentence}_promise" if self._rule.promises else f"{sentence}_rule")

    def _override_remark(self) -> str:
        return "" if self._rule is None else said("overrode", end=self._rule.end)

    def _uncovered(self, step: Step) -> Step:
        """The step of a case in which a person overrode the rule."""
        if step.certainty is None:
            return step
        remark = self._override_remark()
        return replace(step, certainty=step.certainty._replace(enough=False, text=f"{remark[0].upper()}{remark[1:]}."))

    def _give(self, event: Event) -> None:
        """Append what a person says; ValueError where it is not possible, which leaves all as it was."""
        if self._stopped:
            raise Refusal(said("refused_ended"), advice="undo() goes back to the questions")
        if len(self._events) >= most_events(self._acquisitions):
            raise Refusal(said("refused_too_many", n=len(self._events)), advice="undo() takes the last one back")
        j, question = self._acquisitions.index[event.name], self.step.question
        self._check(event, j)
        pays = self._is_acquired_by(event, j)
        self._append(event._replace(paid=pays, chosen=question is None or question.name != event.name))

    def _check(self, event: Event, j: int) -> None:
        """ValueError where something cannot be said now."""
        before = self._moments[-1]
        if event.kind == "later":
            if not before.legal[j]:
                raise ValueError(said("refused_later", name=repr(event.name)))
            if j in before.later:
                raise ValueError(said("refused_postponed", name=repr(event.name)))
            return
        lacking = before.case.missing
        if event.kind == "answer" and lacking is not None:
            features = self._acquisitions.features_of(self._acquisitions.column_index[name] for name in event.values)
            if lacking[features].any():
                raise ValueError(said("refused_missing", name=repr(event.name)))
        if event.kind == "answer" and event.paid and not before.case.paid[j] and not before.legal[j]:
            raise self._refusal(j)
        column_index, columns = self._acquisitions.column_index, self._acquisitions.columns
        known = [name for name in event.values if before.case.acquired[columns.features[column_index[name]]].any()]
        if known and (event.kind == "answer" or len(known) == len(event.values)):
            name = known[0] if event.kind == "answer" else event.name
            raise Refusal(said("refused_has_value", name=repr(name)), advice=self._how_to_take_back(event.name))

    def _is_acquired_by(self, event: Event, j: int) -> bool:
        """Whether an acquisition is made for what a person says now, and paid."""
        case = self._moments[-1].case
        if event.kind == "later" or case.paid[j] or not self._moments[-1].legal[j]:
            return False
        if event.kind == "answer":
            return event.paid
        asked = self._acquisitions.features_of(self._acquisitions.column_index[name] for name in event.values)
        nothing_left = case.open[list(case.rules.groups[j])].sum() == case.open[asked].sum()
        return self.charge_unknown and bool(nothing_left)

    def _paid_in_first_format(self, event: Event) -> bool:
        """Whether version 0.2.0 counted an event as paid: after ``undo``, only what was asked or chosen."""
        j, question = self._acquisitions.index[event.name], self.step.question
        case, asked = self._moments[-1].case, question is not None and question.name == event.name
        none_known = not case.acquired[list(case.rules.groups[j])].any()
        return self._is_acquired_by(event, j) and (none_known if event.kind == "unknown" else asked or event.chosen)

    def _append(self, event: Event) -> None:
        """Go on with an event, which is not judged."""
        names, before = self._acquisitions, self._moments[-1]
        j, case = names.index[event.name], before.case.copy()
        features = names.features_of(names.column_index[name] for name in event.values)
        price = float(before.prices[j])
        pays = event.paid and not case.paid[j] and case.affords(j, price)
        later, kind, remarks = before.later - {j}, event.kind, []
        if event.kind == "later":
            later |= {j}
        elif event.kind == "unknown":
            case.mark_unavailable(features)
            if pays:
                case.charge(j, price)
        else:
            features, numbers, accepted = names.encode(event.values, event.accept)
            case.know(features, numbers)
            remarks = [f"{column}: {text}" for column, text in accepted.items()]
            kind = "known" if not pays else "chosen" if event.chosen else "asked"
            if pays:
                case.pay(j, price)
                if event.chosen and self.step.should_stop:
                    remarks.append(said("beyond_stop"))
        overrides = self._rule is not None and kind in ("later", "chosen")
        if overrides and not before.overridden:
            remarks.append(self._override_remark())
        self._moments.append(_Moment(case, later, kind, price if pays else 0.0, "; ".join(remarks)))
        self._moments[-1].overridden = before.overridden or overrides
        self._events.append(event)

    def _refusal(self, j: int) -> Refusal:
        """Why acquisition j cannot be made now."""
        case, rules = self._moments[-1].case, self._acquisitions.rules
        known, called = case.paid | rules.acquisitions_of(case.acquired[None])[0], repr(rules.names[j])
        if case.unavailable[list(rules.groups[j])].all():
            return Refusal(said("refused_unavailable", name=called), advice=UNPAID)
        if not case.is_within_budget(j):
            return Refusal(said("refused_budget", name=called, n=rules.budget), advice=UNPAID)
        if rules.prerequisites is not None and (rules.prerequisites[j] & ~known).any():
            needed = rules.names[int((rules.prerequisites[j] & ~known).argmax())]
            return Refusal(said("refused_before", name=called, needed=repr(needed)), advice=UNPAID)
        price = self._moments[-1].prices[j]
        if rules.budget_cost is not None and not case.affords(j, price):
            money = {"price": price, "left": rules.budget_cost - case.spent, "budget": rules.budget_cost}
            texts = {part: money_text(value) for part, value in money.items()}
            return Refusal(said("refused_price", name=called, **texts), advice=UNPAID)
        if case.acquired[list(rules.groups[j])].any():
            return Refusal(said("refused_known", name=called), advice=self._how_to_take_back(rules.names[j]))
        return Refusal(said("refused_unrelated", name=called), advice=UNPAID)

    def _how_to_take_back(self, name: str) -> str:
        """How to take back a value of an acquisition, as advice."""
        answered = any(event.name == name and event.kind == "answer" for event in self._events)
        return f"undo({name!r}) takes it back first" if answered else "it was known in advance"


# What a person does in a session that takes more than one of its methods.


def postpone(session: Session, name: str) -> bool:
    """Postpone the question of the model; False where it comes now, because the model would stop without it."""
    if name in session.postponed:
        return False
    session.later(name)
    asked = session.next()
    if asked is not None and asked.name == name:
        session.undo()
        return False
    return True


def choose(session: Session, name: str) -> Question:
    """The question of an acquisition that the model does not ask for, also after the session has ended.

    Raises ValueError where the acquisition is not legal; an ended session has ended then as before.
    """
    stopped = session.stopped
    if stopped:
        session.undo()
    try:
        return session.question(name)
    except ValueError:
        if stopped:
            session.stop()
        raise
