"""Which row of a table has the names of its columns, where the first one has not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fsgym.data.cells import plain_number
from fsgym.text.messages import listing, option_text


def are_names(cells: Sequence[Any]) -> bool:
    """Whether cells may be the names of columns: several distinct texts that are no numbers, and none empty.

    >>> are_names(["age", "sex"]), are_names(["Ward 3", None]), are_names(["age", "63"])
    (True, False, False)
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    distinct = len(texts) == len(cells) == len(set(texts)) > 1
    return distinct and all(text and plain_number(text.replace(",", ".")) is None for text in texts)


def header_hint(row: int, names: Sequence[Any]) -> str:
    """What is said where a later row looks like the names; ``row`` counts from 1, as spreadsheets do."""
    return f"row {row} looks like the names ({listing(names, 4)}): pass {option_text('header_row', row)} if it has them"
