"""What a person says in a session, as plain records that can be written and replayed."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

from fsgym.session.acquisitions import Acquisitions
from fsgym.text.messages import brief

MOST_EVENTS_EACH = 20  # events of a session, for each acquisition and each column
EVENT_KINDS = ("answer", "unknown", "later")
FIRST_FORMAT_ALONE = ("serial", "refilled")  # fields of events in texts of version 0.2.0


class Event(NamedTuple):
    """One thing that a person said.

    Attributes
    ----------
    kind : str, "answer", "unknown" or "later"
    name : str, of the acquisition
    values : dict column -> value; None for unknown columns
    paid : bool, whether the acquisition was made for it when it was said
    accept : bool, whether values were accepted that are not as in training
    chosen : bool, whether the model had not asked for it
    """

    kind: str
    name: str
    values: dict[str, Any]
    paid: bool = True
    accept: bool = False
    chosen: bool = False

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


def most_events(acquisitions: Acquisitions) -> int:
    """How many events a session may have, so that it can be read again in bounded time."""
    return MOST_EVENTS_EACH * (len(acquisitions.index) + len(acquisitions.column_index))


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
