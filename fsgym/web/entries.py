"""The fields of a form: what may be typed for a column, what was typed, and what it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fsgym.data.columns import Column, Columns
from fsgym.data.written import Writing
from fsgym.session.values import Refusal, check_value, typing_text, value_of_text
from fsgym.text.speech import said

LEVELS_AS_BUTTONS = 10  # of a column that has no more, by hand; those of others are suggested as text
ANOTHER = "another"  # the choice of a level that is typed


class FieldEntry(NamedTuple):
    """A column in a form, and what was typed for it. Fields are named by the number of the column, not by its name."""

    k: int  # of the column
    column: Column
    # tuple of (value of the field, text), for columns that are answered by choosing
    choices: tuple[tuple[str, str], ...] = ()
    picked: str = ""  # the value of the field that was chosen
    text: str = ""  # as it was typed
    value: Any = None  # what it means; None where nothing was entered
    error: str = ""  # a sentence where it means nothing
    can_accept: bool = False  # whether the value may be accepted although it is not as in training
    accept: bool = False  # whether that was asked for

    @property
    def has_levels(self) -> bool:
        """Whether another level than the choices can be typed."""
        return bool(self.column.levels)

    @property
    def allowed(self) -> str:
        """What may be typed, in words; "" where it can be chosen."""
        return "" if self.choices else typing_text(self.column)

    @property
    def keyboard(self) -> str:
        """The keyboard of a phone: one for numbers has no minus sign everywhere, and no sign but the decimal one."""
        column = self.column
        is_plain = column.kind == "number" and column.writing == Writing()
        return "decimal" if is_plain and column.low is not None and column.low >= 0 else "text"


def blank_entry(k: int, column: Column) -> FieldEntry:
    """A field in which nothing was typed yet."""
    if column.kind == "bool":
        return FieldEntry(k, column, (("yes", said("yes")), ("no", said("no"))))
    if 0 < len(column.levels) <= LEVELS_AS_BUTTONS:
        return FieldEntry(k, column, tuple((str(place), level.strip()) for place, level in enumerate(column.levels)))
    return FieldEntry(k, column)


def read_entry(k: int, column: Column, form: Mapping[str, str]) -> FieldEntry:
    """What a form has for a column."""
    entry = blank_entry(k, column)
    accept = f"accept{k}" in form
    if not entry.choices:
        entry = entry._replace(text=form.get(f"value{k}", ""), accept=accept)
        return _with_value(entry, entry.text if entry.text in column.levels else entry.text.strip())
    entry = entry._replace(picked=form.get(f"value{k}", ""), text=form.get(f"text{k}", ""), accept=accept)
    typed = entry.text.strip()
    if entry.picked in dict(entry.choices):
        if typed:
            return entry._replace(error=said("one_value", name=repr(column.name)))
        return _with_value(entry, entry.picked if column.kind == "bool" else column.levels[int(entry.picked)])
    if entry.picked == ANOTHER and not typed:
        return entry._replace(error=said("other_value", name=repr(column.name)))
    return _with_value(entry._replace(picked=ANOTHER if typed else ""), typed)


def _with_value(entry: FieldEntry, text: str) -> FieldEntry:
    """The entry with the value that the text means, or with the sentence that refuses it."""
    if not text:
        return entry
    try:
        value = value_of_text(entry.column, text)
        check_value(entry.column, value, entry.accept)
    except Refusal as refusal:
        return entry._replace(error=refusal.text(said("box_below")), can_accept=refusal.acceptable)
    return entry._replace(value=value, can_accept=entry.accept)


def blank_entries(columns: Columns, chosen: Iterable[int]) -> list[FieldEntry]:
    """A field for each of some columns."""
    return [blank_entry(k, columns[k]) for k in chosen]


def read_entries(columns: Columns, chosen: Iterable[int], form: Mapping[str, str]) -> list[FieldEntry]:
    """What a form has for some columns."""
    return [read_entry(k, columns[k], form) for k in chosen]
