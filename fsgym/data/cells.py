"""The cells of a user's table as numbers, bools and levels."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.text.messages import brief, listing, option_text

if TYPE_CHECKING:
    import pandas as pd


FINITE_NUMBERS = "numbers from -{0:.3g} to {0:.3g}".format(np.finfo(np.float32).max)  # that float32 has, for messages
MISSING_WORDS = ("", "?", "NA", "N/A", "NaN", "nan", "null", "None")  # missing values in columns of numbers
TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
# sign, whole part, decimals and exponent of the text of a number, with a point or a comma
PLAIN_NUMBER = re.compile(r"([+-]?)(?=[.,]?[0-9])([0-9]*)(?:[.,]([0-9]*))?((?:e[+-]?[0-9]+)?)", re.IGNORECASE)
BOOL_TEXTS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}


class OddCellError(ValueError):
    """A column has a cell that is not of its kind; ``cell`` is the first one as text."""

    def __init__(self, message: str, cell: str) -> None:
        super().__init__(message)
        self.cell = cell


def as_wide_numbers(cells: pd.Series, name: str, odd_is_missing: bool = False) -> NDArray[np.float64]:
    """The cells as float64 (n,); OddCellError where one is no number, unless ``odd_is_missing``."""
    import pandas as pd

    if cells.dtype.kind in "mM" or isinstance(cells.dtype, pd.PeriodDtype | pd.DatetimeTZDtype):
        raise ValueError(
            f"the column {name!r} must hold numbers, got dates; turn them into a number, such as days since an event, "
            "or drop the column"
        )
    if isinstance(cells.dtype, pd.CategoricalDtype):
        cells = cells.astype(object)
    if pd.api.types.is_bool_dtype(cells.dtype) and not odd_is_missing:
        cells = cells.astype(object)
    if not pd.api.types.is_numeric_dtype(cells.dtype) and not cells.isna().all():
        texts = cells.astype(object).where(cells.notna(), None).map(stripped).astype(object)
        present = texts.notna() & ~texts.isin(MISSING_WORDS)
        others = texts.map(lambda cell: isinstance(cell, TIMES))  # pandas would turn them into nanoseconds
        if not odd_is_missing:  # nor are truth values numbers in a training
            others |= texts.map(lambda cell: isinstance(cell, bool | np.bool_))
        numbers: Any = pd.to_numeric(texts.where(present & ~others), errors="coerce")
        odd = present & (numbers.isna() | others)
        if odd.any() and not odd_is_missing:
            first = cells[odd].iloc[0]
            limit = str(first).strip().startswith(("<", ">", "≤", "≥"))
            remedy = f", or say what a limit counts as: {option_text('censored', 'limit')}" if limit else ""
            raise OddCellError(
                f"the column {name!r} must hold numbers, got {brief(first)} in {int(odd.sum())} cell(s); "
                f"correct them, or leave them empty{remedy}",
                str(first).strip(),
            )
        cells = numbers
    if pd.api.types.is_complex_dtype(cells.dtype):
        raise ValueError(f"the column {name!r} must hold real numbers, got complex ones; take a part of them")
    if cells.isna().all():
        return np.full(len(cells), np.nan)
    return cells.to_numpy(np.float64, na_value=np.nan)


def as_numbers(cells: pd.Series, name: str, odd_is_missing: bool = False, offset: float = 0.0) -> NDArray[np.float32]:
    """The cells less an offset as float32 (n,); ValueError where one is not finite, or as ``as_wide_numbers``."""
    wide = as_wide_numbers(cells, name, odd_is_missing)
    with np.errstate(over="ignore"):
        values = (wide - offset).astype(np.float32)
    if np.isinf(values).any():
        row = int(np.isinf(values).argmax())
        raise ValueError(
            f"the column {name!r} must hold {FINITE_NUMBERS}, got {wide[row]:g} in row {row}; "
            "correct it, leave it empty, or write the column in another unit"
        )
    return values


def plain_number(text: str) -> float | None:
    """The number that a text writes in ASCII digits, with a point; None for others, such as 1_000, 1,5, nan and inf."""
    return float(text) if PLAIN_NUMBER.fullmatch(text) and "," not in text else None


def decimal_form(cell: Any) -> str:
    """How a cell writes a number, without what does not make it another text: +, -0, and zeros that end decimals.

    Cells of one number and different forms, such as ``1E2``, ``10E1`` and ``0100``, may be codes.

    >>> [decimal_form(text) for text in ("+1.50", "1.", ".5", "-0.0", "007", "10E1")]
    ['1.5', '1', '0.5', '0', '007', '10E1']
    """
    text = format(cell, "f") if isinstance(cell, decimal.Decimal) else str(cell).strip()
    found = PLAIN_NUMBER.fullmatch(text)
    if found is None:
        return text
    sign, whole, decimals, exponent = found.groups("")
    whole, decimals = whole or "0", decimals.rstrip("0")
    sign = "-" if sign == "-" and (whole.strip("0") or decimals) else ""
    return f"{sign}{whole}{'.' * bool(decimals)}{decimals}{exponent}"


def merged_cells(cells: pd.Series, numbers: pd.Series) -> tuple[Any, Any] | None:
    """Two cells of one number that have different decimal forms, such as ``1E2`` and ``10E1``; None if there are none.

    Parameters
    ----------
    cells : Series (n,) as they are written
    numbers : Series (n,), their numbers; NaN where they have none
    """
    import pandas as pd

    which, distinct = pd.factorize(cells.to_numpy(dtype=object))
    if len(distinct) == numbers.nunique():
        return None
    rows = np.unique(which, return_index=True)[1][-len(distinct) :]  # the first of each cell, without missing ones
    first: dict[Any, Any] = {}
    for cell, number in zip(distinct, numbers.iloc[rows], strict=True):
        other = first.setdefault(number, cell)
        if other is not cell and decimal_form(other) != decimal_form(cell):
            return other, cell
    return None


def leading_zeros(cells: pd.Series) -> tuple[str, int] | None:
    """The first whole number that is written with a leading zero, as ``01874``, and how many cells have one.

    None where fewer than two have, and where some text is no whole number: then zeros are no part of a code.

    >>> import pandas as pd
    >>> leading_zeros(pd.Series(["99970", "01874", "01900", ""])), leading_zeros(pd.Series(["0", "0.5", "00.5"]))
    (('01874', 2), None)
    """
    import pandas as pd

    if not (pd.api.types.is_object_dtype(cells.dtype) or pd.api.types.is_string_dtype(cells.dtype)):
        return None
    try:
        counts = cells.value_counts(sort=False)
    except TypeError:  # lists and others that cannot be compared
        return None
    first, n_cells = "", 0
    for cell, count in counts.items():
        text = str(cell).strip()
        if not isinstance(cell, str):
            if isinstance(cell, (bool, np.bool_)) or not isinstance(cell, (int, float, np.number, decimal.Decimal)):
                return None
        elif text not in MISSING_WORDS and not re.fullmatch("[0-9]+", text):
            return None
        elif len(text) > 1 and text[0] == "0":
            first, n_cells = first or text, n_cells + int(count)
    return (first, n_cells) if n_cells > 1 else None


def with_merged_as_text(
    frame: pd.DataFrame, read_texts: Callable[[list[str]], pd.DataFrame], known: Collection[str] = ()
) -> pd.DataFrame:
    """A table read from text, whose columns of numbers stay text where ``merged_cells`` finds two of them merged.

    Parameters
    ----------
    frame : DataFrame, which is changed
    read_texts : function of names that reads these columns as text, in the rows of ``frame``
    known : names of columns that may merge cells
    """
    names = [name for name in frame.columns if name not in known and _has_equal_numbers(frame[name])]
    texts = read_texts(names) if names else frame
    for name in names:
        if merged_cells(texts[name], frame[name]) is not None:
            frame[name] = texts[name]
    return frame


def _has_equal_numbers(cells: pd.Series) -> bool:
    import pandas as pd

    if cells.dtype == bool or not (pd.api.types.is_numeric_dtype(cells.dtype) or cells.map(type).isin([int]).any()):
        return False
    return cells.nunique() < cells.count()


def stripped(cell: Any) -> Any:
    return cell.strip() if isinstance(cell, str) else cell


def as_bools(cells: pd.Series, name: str, odd_is_missing: bool = False) -> NDArray[np.float32]:
    """The cells, which are bools, 0, 1 or such words, as float32 (n,) of 0 and 1."""
    import pandas as pd

    if cells.dtype == bool:
        return cells.to_numpy(np.float32)
    which, distinct = pd.factorize(level_texts(cells))
    values = np.full(len(distinct) + 1, np.nan, np.float32)  # the last entry is that of missing cells, -1
    for k, text in enumerate(distinct):
        value = BOOL_TEXTS.get(text.strip().lower())
        if value is not None:
            values[k] = value
        elif text.strip() not in MISSING_WORDS and not odd_is_missing:
            message = f"the column {name!r} must hold True or False, got {brief(text)}; correct it"
            raise OddCellError(message, text.strip())
    return values[which]


def level_texts(cells: pd.Series) -> NDArray[np.object_]:
    """The level of each cell as text, (n,), None where it is missing; a whole number is written without ``.0``."""
    import pandas as pd

    # To factorize, 1, 1.0 and True are equal.
    if pd.api.types.infer_dtype(cells, skipna=True).startswith("mixed"):
        missing = cells.isna().to_numpy()
        return np.array([None if m else level_text(v) for v, m in zip(cells, missing, strict=True)], dtype=object)
    which, distinct = pd.factorize(cells)
    texts = np.array([*map(level_text, distinct), None], dtype=object)  # the last entry is that of missing cells, -1
    return texts[which]


def level_text(cell: Any) -> str:
    """The level of a cell as text; a whole number is written without ``.0``."""
    whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
    return str(int(cell)) if whole else str(cell)


def level_order(level: str) -> tuple[int, float, str]:
    """Sorting key of a level: numbers in their order first, then text."""
    try:
        number = float(level)
    except ValueError:
        return 1, 0.0, level
    return (0, number, level) if number == number else (1, 0.0, level)


# The levels of a category: which one a cell has, and the cells that have none of them.

LEVELS_IN_MESSAGE = 12  # of a column, in a message


class UnmatchedCells(NamedTuple):
    """The cells of a column that have none of its levels."""

    texts: tuple[str, ...]  # the distinct ones
    n_cells: int  # how many there are
    n_given: int  # the cells with a value
    n_rows: int  # all cells

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
