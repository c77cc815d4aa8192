"""What a person types at the prompt of ``ask``, as values of columns."""

from __future__ import annotations

from typing import Any, NamedTuple

from fsgym.data.columns import Column
from fsgym.session.values import allowed_text, check_value, number_or_text, value_of_text
from fsgym.text.messages import listing

LEVELS_LISTED = 30  # of one column, by hand
QUOTES = "\"'"


class TypedValue(NamedTuple):
    """A value, and whether it is to be accepted although it is not as in training."""

    value: Any
    accept: bool


def typed_value(column: Column, text: str) -> TypedValue:
    """The value of a column that a text means.

    A level may be given by its number in the list of levels, unless levels are numbers themselves. ``!`` before a value
    accepts a number outside the range in training, or a level that was not in training. Text in quotes is a level.

    Raises
    ------
    ValueError
        If the text is no value of this column; the message has what is allowed.

    Examples
    --------
    >>> ward = Column("ward", "category", ("er", "gp", "icu"))
    >>> typed_value(ward, "3"), typed_value(ward, "'gp'"), typed_value(Column("age"), "63")
    (TypedValue(value='icu', accept=False), TypedValue(value='gp', accept=False), TypedValue(value=63, accept=False))
    """
    levels = [level.strip() for level in column.levels]
    if text in levels:
        return TypedValue(text, False)
    accept = text.startswith("!")
    bare = text.removeprefix("!").strip()
    quoted = unquoted(bare)
    value: Any = bare if quoted is None else quoted
    if column.kind in ("number", "bool"):
        value = value_of_text(column, bare)
    elif quoted is None and bare not in levels and levels_are_numbered(column):
        value = dict(zip(map(str, range(1, len(levels) + 1)), levels, strict=True)).get(bare, bare)
    try:
        check_value(column, value, accept)
    except ValueError as error:
        raise ValueError(str(error).replace("(accept=True)", f"with !{bare}")) from None
    return TypedValue(value, accept)


def unquoted(text: str) -> str | None:
    """The text between quotes; None where there are none.

    >>> unquoted("'s'"), unquoted("s")
    ('s', None)
    """
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in QUOTES else None


def levels_are_numbered(column: Column) -> bool:
    """Whether a level can be picked by its number: where no level is a number itself."""
    return bool(column.levels) and not any(isinstance(number_or_text(level), int | float) for level in column.levels)


def allowed_at_prompt(column: Column) -> str:
    """What may be typed for a column, in words.

    >>> allowed_at_prompt(Column("ward", "category", ("er", "icu"))), allowed_at_prompt(Column("ill", "bool"))
    ('1 er, 2 icu', 'yes or no')
    """
    if column.kind == "bool":
        return "yes or no"
    if not levels_are_numbered(column):
        return f"one of {listing(column.levels, LEVELS_LISTED)}" if column.levels else allowed_text(column)
    return listing((f"{k} {level.strip()}" for k, level in enumerate(column.levels, 1)), LEVELS_LISTED)
