"""What a person types as the value of a column."""

from __future__ import annotations

from typing import Any

from fsgym.data.cells import BOOL_TEXTS
from fsgym.data.columns import Column
from fsgym.text.messages import brief

YES_NO = {"yes": True, "y": True, "no": False, "n": False}


def value_of_text(column: Column, text: str) -> Any:
    """The number, bool or level that a text means; a text that is no number is returned as it is.

    Raises ValueError where a bool is wanted, and the text is neither yes nor no.

    >>> value_of_text(Column("age"), "63"), value_of_text(Column("ill", "bool"), "Yes")
    (63, True)
    """
    if column.kind == "number":
        return number_or_text(text)
    return _yes_or_no(column, text) if column.kind == "bool" else text


def number_or_text(text: str) -> float | str:
    """The number that a text means, else the text: "1_000" and "1,5" are no numbers."""
    try:
        whole = text.removeprefix("-").isdecimal()
        return text if "_" in text else int(text) if whole else float(text)
    except ValueError:
        return text


def _yes_or_no(column: Column, text: str) -> bool:
    word = text.lower()
    if word not in YES_NO and word not in BOOL_TEXTS:
        raise ValueError(f"{column.name!r} must be yes or no, got {brief(text)}")
    return YES_NO[word] if word in YES_NO else bool(BOOL_TEXTS[word])
