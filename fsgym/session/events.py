"""What a person says in a session, as plain records that can be written and replayed."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

from fsgym.checks import brief
from fsgym.session.acquisitions import Acquisitions

MOST_SERIAL = 2**53
MOST_EVENTS_EACH = 20  # events of a session that is read, for each acquisition
EVENT_KINDS = ("answer", "unknown", "later", "undone")


class Event(NamedTuple):
    """One thing that a person said.

    Attributes
    ----------
    kind : str
        "answer", "unknown", "later"; "undone" keeps the place of what was taken back.
    name : str, of the acquisition
    values : dict column -> value; None for unknown columns
    paid : bool, whether the acquisition was made for it
    accept : bool, whether values were accepted that are not as in training
    chosen : bool, whether the model had not asked for it
    serial : int, the order in which things were said
    refilled : bool, whether it stands in the place of something undone
    """

    kind: str
    name: str
    values: dict[str, Any]
    paid: bool = True
    accept: bool = False
    chosen: bool = False
    serial: int = 0
    refilled: bool = False

    def as_json(self) -> dict[str, Any]:
        """The event as plain JSON values, without defaults."""
        defaults = self._field_defaults
        return {k: v for k, v in self._asdict().items() if k not in defaults or v != defaults[k]}


def plain_value(value: Any) -> Any:
    """A value as a plain JSON value: NumPy's scalars as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {name: plain_value(cell) for name, cell in value.items()}
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"text must be Unicode without half characters, got {brief(value)}")
    return value


def events_from_json(values: Any, acquisitions: Acquisitions) -> list[Event]:
    """The events that ``as_json`` wrote; ValueError where they are damaged."""
    if not isinstance(values, list):
        raise ValueError("the answers must be a list")
    most = MOST_EVENTS_EACH * len(acquisitions.index) + MOST_EVENTS_EACH
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
        if not 0 <= event.serial <= MOST_SERIAL:
            raise ValueError(f"serial must be from 0 to {MOST_SERIAL}, got {brief(event.serial)}")
        events.append(event)
    return events
