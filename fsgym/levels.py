"""The levels of a category: which one a cell has, and the cells that have none of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import level_texts
from fsgym.text.messages import brief, listing

if TYPE_CHECKING:
    import pandas as pd

LEVELS_IN_MESSAGE = 12  # of a column, in a message


class UnmatchedCells(NamedTuple):
    """The cells of a column that have none of its levels.

    Attributes
    ----------
    texts : tuple of str, the distinct ones
    n_cells : int, how many there are
    n_given : int, the cells with a value
    n_rows : int, all cells
    """

    texts: tuple[str, ...]
    n_cells: int
    n_given: int
    n_rows: int

    def sentence(self, name: str, levels: Sequence[str]) -> str:
        """What a warning says of them.

        >>> UnmatchedCells(("9",), 1, 3, 3).sentence("cp", ("1", "2"))
        "1 of 3 rows has a level of 'cp' that training did not ('9'), which counts as missing; its levels are 1, 2"
        """
        has, count = ("has a level", "counts") if self.n_cells == 1 else ("have levels", "count")
        found = listing(map(brief, self.texts), 1)
        return (
            f"{self.n_cells:,} of {self.n_rows:,} rows {has} of {name!r} that training did not ({found}), which "
            f"{count} as missing; its levels are {listing(levels, LEVELS_IN_MESSAGE)}"
        )


def level_codes(cells: pd.Series, levels: Sequence[str]) -> tuple[NDArray[np.float32], UnmatchedCells | None]:
    """The index of each cell's level, float32 (n,), NaN where it has none, and the cells that match no level."""
    import pandas as pd

    which, distinct = pd.factorize(level_texts(cells), use_na_sentinel=True)
    places = level_places(levels)
    found = [find_level(text, places) for text in distinct]
    # the last entry is that of missing cells, -1
    codes = np.array([*(np.nan if place is None else place for place in found), np.nan], np.float32)
    counts = np.bincount(which[which >= 0], minlength=len(distinct))
    unmatched = [k for k, place in enumerate(found) if place is None]
    if not unmatched:
        return codes[which], None
    texts = tuple(distinct[k] for k in unmatched)
    return codes[which], UnmatchedCells(texts, int(counts[unmatched].sum()), int(counts.sum()), len(which))


def level_places(levels: Sequence[str]) -> dict[str, int]:
    """The index of each level by its spellings, as ``find_level`` takes it; another level's own spelling wins."""
    places: dict[str, int] = {}
    for spelling in (str, str.strip, without_decimals):
        for k, level in enumerate(levels):
            places.setdefault(spelling(level), k)
    return places


def find_level(text: str, places: Mapping[str, int]) -> int | None:
    """The index of the level that a text means; a whole number may be written with or without decimals of zero.

    >>> find_level("3.0", level_places(["3", "7"])), find_level("3", level_places(["3.0", "7.0"]))
    (0, 0)
    >>> find_level("03", level_places(["3", "7"])) is None
    True
    """
    spellings = text, text.strip(), without_decimals(text)
    return next((places[spelling] for spelling in spellings if spelling in places), None)


def without_decimals(text: str) -> str:
    """A text without outer spaces; a whole number also without decimals of zero, as ``3`` for ``3.0``."""
    text = text.strip()
    number = re.fullmatch(r"(-?[0-9]+)\.0*", text)
    return number[1] if number else text


def refuse_unmatched_levels(columns: Sequence[Any], table: pd.DataFrame, what: str) -> None:
    """ValueError where a column of the table has values, and none of them is a level of it.

    Parameters
    ----------
    columns : sequence of fsgym.data.columns.Column, whose names the table has
    table : DataFrame
    what : str
        The file, for the message.
    """
    for column in columns:
        if not column.levels:
            continue
        _, unmatched = level_codes(table[column.name], column.levels)
        if unmatched is not None and unmatched.n_cells == unmatched.n_given:
            raise ValueError(
                f"the column {column.name!r} of {what} must have levels of the training, "
                f"{listing(column.levels, LEVELS_IN_MESSAGE)}, got {listing(map(brief, unmatched.texts), 3)} in "
                f"{unmatched.n_cells:,} of {unmatched.n_rows:,} rows, and no other value; write them as in training, "
                "or leave these cells empty, so that they count as missing"
            )
