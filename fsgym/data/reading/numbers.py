"""How the numbers of a table are written: what the user declares, what the cells show, and what is unclear."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fsgym.data.cells import MISSING_WORDS
from fsgym.data.suspicions import find_suspicion, plain_numbers
from fsgym.data.written import (
    Remarks,
    Signs,
    Writing,
    WrittenNumber,
    are_plain,
    censored_text,
    marks_text,
    other_decimal,
    plain_text,
    read_written,
    refuse_other_decimal,
    signs_of,
)
from fsgym.text.messages import brief, option_text, warn_caller

if TYPE_CHECKING:
    import pandas as pd

FIRST_TEXTS = 20  # of a column, by hand
NAMES_OF_SIGNS = {",": "commas", ".": "points", "'": "apostrophes", " ": "spaces"}


class Declared(NamedTuple):
    """What is known of the numbers of a table before it is read."""

    decimal: str | None = None  # as in ``load_dataset``
    thousands: str | None = None  # as in ``load_dataset``
    censored: str | None = None  # as in ``load_dataset``
    # names of columns of numbers, in which cells without a per cent or currency sign count as those with one
    numeric: Collection[str] = ()
    # names of columns whose per cent signs, currencies and limits stay: labels and row groups
    plain: Collection[str] = ()
    not_codes: Collection[str] = ()  # names of columns whose leading zeros say nothing
    usual: Writing = Writing()  # that of the model that reads the table, for what the table leaves open


class Found(NamedTuple):
    """How the numbers of a table were written, and the per cent and currency signs of its columns by name."""

    writing: Writing = Writing()
    marks: dict[str, str] = {}  # noqa: RUF012


NOTHING_DECLARED, AS_PLAIN = Declared(), Found()


def numbers_of(
    frame: pd.DataFrame, declared: Declared, what: str, names: Collection[str]
) -> tuple[pd.DataFrame, Found]:
    """The table, whose columns of text are numbers where each cell is one or missing, and how they were written.

    A comma or point between groups of three digits separates thousands where it is declared, or where a cell of the
    table leaves no other reading, as ``1,234,567`` and ``1,234.5``; this is said in a warning, and so are the signs of
    per cent and currencies, and the number of cells such as ``<1.5``.

    Parameters
    ----------
    frame : DataFrame, which is changed
    declared : Declared
    what : str, the file, for messages
    names : columns that may be numbers

    Raises
    ------
    ValueError
        Where the decimal sign separates thousands in a cell, a cell such as ``1.007`` may be two numbers, or a cell
        such as ``1.5`` has the sign of thousands.
    """
    texts: dict[str, list[str]] = {}
    plain, shown = [], {}
    for name in names:
        written = _written_in(frame[name])
        texts[name] = [cell for cell in written if isinstance(cell, str)]
        if written and len(texts[name]) == len(written) and are_plain(texts[name]):
            plain.append(name)
        elif written:
            shown[name] = signs_of(texts[name])
    writing = _writing_of(shown, declared, what)
    remarks = Remarks({}, {})
    for name in (*plain, *shown):
        cells = frame[name]
        if name in plain:
            if _has_a_word(texts[name]):
                continue
            read = cells
        elif name in declared.plain:
            read = with_plain_texts(cells, writing)
        else:
            read = read_written(cells, writing, name in declared.numeric, remarks)
        numbers = plain_numbers(read, name not in declared.not_codes)
        odd = shown[name].decimals.get(writing.thousands) if name in shown and name not in declared.plain else None
        if odd is not None and (numbers is not None or name in declared.numeric):
            raise ValueError(
                f"the column {name!r} of {what} has {odd!r}, whose {NAMES_OF_SIGNS[writing.thousands][:-1]} cannot "
                "separate thousands, as those of other numbers do; correct it, or pass "
                f"{option_text('decimal', writing.thousands)}"
            )
        point = None if name in declared.plain else other_decimal(texts[name], writing)
        if point is not None and (numbers is not None or name in declared.numeric):
            refuse_other_decimal(point, name, f" of {what}")
        if numbers is None and (name in declared.plain or _has_levels(read, declared)):
            read = with_plain_texts(cells, Writing())  # as they are written, so that a later table has them, too
        frame[name] = read if numbers is None else numbers
    for sentence in (marks_text(remarks.marks), censored_text(remarks, writing.censored)):
        if sentence:
            warn_caller(f"{what}: {sentence}")
    return frame, Found(writing, remarks.marks)


def _written_in(cells: pd.Series) -> list[str | WrittenNumber]:
    """The distinct texts and written numbers of a column; none where it has lists or others that cannot be compared."""
    import pandas as pd

    if not (pd.api.types.is_object_dtype(cells.dtype) or pd.api.types.is_string_dtype(cells.dtype)):
        return []
    try:
        return [cell for cell in cells.unique().tolist() if isinstance(cell, str | WrittenNumber)]
    except TypeError:
        return []


def _has_a_word(texts: Collection[str]) -> bool:
    """Whether one of the first texts is no number and not missing, which ``plain_numbers`` would find late."""
    for text in islice(texts, FIRST_TEXTS):
        try:
            float(text)
        except ValueError:
            if text not in MISSING_WORDS:
                return True
    return False


def _has_levels(read: pd.Series, declared: Declared) -> bool:
    return read.name not in declared.numeric and find_suspicion(read) is None


def find_decimal(signs: Signs, declared: Declared) -> str:
    """A comma if there are numbers with a comma, not all of which may be thousands, and none with a point."""
    if declared.thousands in (".", ","):
        return "," if declared.thousands == "." else "."
    if "." in signs.decimals or "," in signs.thousands:
        return "."
    return "," if "," in signs.decimals or "." in signs.thousands else declared.usual.decimal


def _writing_of(shown: dict[str, Signs], declared: Declared, what: str) -> Writing:
    """How numbers are written, from what each column of text shows."""
    signs = Signs({}, {}, {})
    column_of: dict[str, str] = {}
    for name, found in shown.items():
        for merged, own in zip(signs, found, strict=True):
            for sign, example in own.items():
                merged.setdefault(sign, example)
                column_of.setdefault(example, name)
    decimal = declared.decimal or find_decimal(signs, declared)
    thousands, usual = declared.thousands, declared.usual
    certain = [sign for sign in signs.thousands if sign not in signs.decimals or sign == decimal]
    if thousands is None and len(certain) == 1 and certain[0] != decimal:
        thousands = certain[0]
        if thousands != usual.thousands:
            example = signs.thousands[thousands]
            warn_caller(
                f"{what}: {NAMES_OF_SIGNS[thousands]} separate thousands, as in {brief(example)} of "
                f"{brief(column_of[example])}"
            )
    if thousands is None and usual.thousands and usual.decimal == decimal:
        thousands = usual.thousands
    fault = signs.thousands.get(decimal)
    if fault is not None:
        raise ValueError(
            f"the column {column_of[fault]!r} of {what} has {fault!r}, whose {NAMES_OF_SIGNS[decimal]} separate "
            f"thousands; pass {option_text('thousands', decimal)}{_instead(declared)}"
        )
    unclear = signs.unclear.get(".") if decimal == "," and thousands != "." else None
    if unclear is not None:
        raise ValueError(
            f"the column {column_of[unclear]!r} of {what} has {unclear!r}, whose point may separate thousands, as the "
            f"decimal sign is a comma; pass {option_text('thousands', '.')}, or {option_text('decimal', '.')}"
        )
    return Writing(decimal, thousands or "", declared.censored or usual.censored)


def _instead(declared: Declared) -> str:
    return "" if declared.decimal is None else f" instead of {option_text('decimal', declared.decimal)}"


def check_unclear(sample: Sequence[Sequence[str]], decimal: str, declared: Declared, what: str) -> None:
    """Whether numbers of the first rows are taken for decimals which may have thousands, as ``1,007``.

    ValueError where a decimal comma is declared, and other numbers have a decimal point; a warning where no number has
    other decimals.
    """
    if declared.thousands is not None or declared.decimal == ".":
        return
    signs = signs_of(cell for row in sample for cell in row)
    example = signs.unclear.get(decimal)
    if example is None or decimal in signs.decimals:
        return
    name, pass_it = NAMES_OF_SIGNS[decimal].removesuffix("s"), f"pass {option_text('thousands', decimal)}"
    beside = signs.decimals.get(".") if declared.decimal == "," else None
    if beside is not None:
        raise ValueError(
            f"{what} has {example!r}, whose {name} may separate thousands, as {beside!r} has a decimal point; "
            f"{pass_it} instead of {option_text('decimal', ',')}, or write all numbers with the same decimal sign"
        )
    number = float(plain_text(example.strip(), Writing(decimal)) or "nan")
    warn_caller(f"{what}: {example!r} is read as {number:g}; if its {name} separates thousands, {pass_it}")


def with_decimal_points(rows: Sequence[Sequence[Any]], path: Path, has_header: bool) -> list[list[Any]]:
    """The rows of a small table, such as a list of prices, whose texts that are numbers have decimal points.

    The first column has names, and so has the first row if the table ``has_header``: they say nothing of how numbers
    are written. As in a table of cases, a warning says so where a point may separate thousands, and nothing else shows
    what it is.

    Raises
    ------
    ValueError
        Where one number has a decimal comma and another a point, or a comma or point may separate thousands.
    """
    cells = (cell for row in rows[int(has_header) :] for cell in row[1:] if isinstance(cell, str))
    signs = signs_of(cell.strip() for cell in cells if re.fullmatch(r"[-+0-9.,eE]+", cell.strip()))
    comma, point = signs.decimals.get(","), signs.decimals.get(".") or signs.unclear.get(".")
    if comma is not None and point is not None:
        either = ", or without it if it separates thousands" if "." not in signs.decimals else ""
        raise ValueError(
            f"{path} has {point!r} beside {comma!r}, but numbers must have one decimal sign; write a comma for the "
            f"point{either}"
        )
    unclear = signs.unclear.get(",") if comma is None else None
    if unclear is not None:
        raise ValueError(
            f"{path} has {unclear!r}, whose comma may separate thousands; write {unclear.replace(',', '')}, or "
            f"{float(unclear.replace(',', '.')):g}"
        )
    unclear = signs.unclear.get(".") if "." not in signs.decimals else None
    if unclear is not None:
        warn_caller(
            f"{path}: {unclear!r} is read as {float(unclear):g}; if its point separates thousands, write "
            f"{unclear.replace('.', '')}"
        )
    return [[_with_point(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]


def _with_point(cell: str) -> str:
    return plain_text(cell.strip(), Writing(",")) or cell


def with_plain_texts(cells: pd.Series, writing: Writing) -> pd.Series:
    """The cells, of which texts that are numbers have plain texts, and written numbers their text, as ``94.1 %``."""
    import pandas as pd

    def plain(cell: object) -> object:
        if isinstance(cell, WrittenNumber):
            return str(cell)
        return plain_text(cell.strip(), writing) or cell if isinstance(cell, str) else cell

    if writing == Writing() and not pd.api.types.is_object_dtype(cells.dtype):
        return cells
    return cells.astype(object).map(plain)
