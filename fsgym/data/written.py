"""Numbers as people write them: decimal commas, thousands separators, per cent, currencies and limits as ``<1,5``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fsgym.data.cells import MISSING_WORDS
from fsgym.text.messages import option_text

if TYPE_CHECKING:
    import pandas as pd

THOUSANDS = {",": ",", ".": r"\.", "'": "['’]", " ": "[ \u00a0\u202f]"}  # separators, and what is written for them
CENSORED = ("limit", "half", "missing")
_CURRENCY = "[$€£¥₹]|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|zł|kr"
_TEXT = (  # no two stars of spaces are neighbours: the time would grow with a power of how many there are
    rf"(?:(?P<limit><=|>=|[<>≤≥])[^\S\n]*)?(?:(?P<before>{_CURRENCY})[^\S\n]*)?"
    r"(?P<number>[+-]?[0-9.,](?:[0-9.,'’ \u00a0\u202f]*[0-9.,])?(?:[eE][+-]?[0-9]+)?)"
    rf"(?:[^\S\n]*(?P<after>%|{_CURRENCY}))?"
)
_WRITTEN = re.compile(_TEXT)
# A line with a number that is not as 12 and 1e-3; a point is plain, too, unless it may separate thousands.
_ODD_LINE = re.compile(
    rf"^(?![+-]?[0-9]+(?:[eE][+-]?[0-9]+)?$)(?![+-]?(?:0|[0-9]{{4,}})?\.[0-9]*$)(?![+-]?[0-9]+\.(?:[0-9]{{1,2}}|[0-9]{{4,}})$)"
    rf"[^\S\n]*{_TEXT}[^\S\n]*$",
    re.MULTILINE,
)
_GROUPED = re.compile(
    r"[+-]?[1-9][0-9]{0,2}(?:(?P<sign>[,.'’ \u00a0\u202f])[0-9]{3})(?P<more>(?:(?P=sign)[0-9]{3})*)"
    r"(?P<rest>(?!(?P=sign))[.,][0-9]*)?"
)
_DECIMAL = re.compile(r"[+-]?[0-9]*([.,])[0-9]+(?:[eE][+-]?[0-9]+)?")


def is_mark(text: str) -> bool:
    """Whether a text is the sign of per cent or of a currency, as beside numbers.

    >>> is_mark("%"), is_mark("EUR"), is_mark("mg/l")
    (True, True, False)
    """
    return re.fullmatch(f"%|{_CURRENCY}", text) is not None


class Writing(NamedTuple):
    """How numbers are written in a table.

    Attributes
    ----------
    decimal : {".", ","}
    thousands : {"", ",", ".", "'", " "}
        Between groups of three digits; "" if there is none.
    censored : {"", "limit", "half", "missing"}
        What a number such as ``<1.5`` or ``>200`` counts as: its limit, half of it (below a positive limit; else the
        limit), or a missing value; "" if it is no number.
    """

    decimal: str = "."
    thousands: str = ""
    censored: str = ""


class WrittenNumber(NamedTuple):
    """A number: its plain text, the sign of a limit, and per cent or a currency; also a cell of a workbook in per cent.

    >>> written_number("< 1.234,5 €", Writing(",", "."))
    WrittenNumber(plain='1234.5', limit='<', mark='€')
    """

    plain: str
    limit: str
    mark: str

    def __str__(self) -> str:
        return f"{self.limit}{self.plain} {self.mark}".rstrip()

    def counted(self, censored: str) -> str | None:
        """The plain text of what it counts as, None where a limit counts as missing or is no number."""
        if not self.limit or censored == "limit":
            return self.plain
        if censored == "half":  # of a negative limit, half would be above it
            is_halved = self.limit in ("<", "<=", "≤") and float(self.plain) > 0
            return repr(float(self.plain) / 2) if is_halved else self.plain
        return None


class Signs(NamedTuple):
    """What texts show of how numbers are written: for each sign an example."""

    # where nothing else is possible, as ``1,5`` and ``1,234,567``
    decimals: dict[str, str]
    thousands: dict[str, str]
    unclear: dict[str, str]  # that may be either, as ``1,007``


def are_plain(texts: Iterable[str]) -> bool:
    """Whether no text is a number that is not written as 12, 1.5 or 1e-3; quicker than ``signs_of``.

    >>> are_plain(["12", "1.5", "p7", "2024-01-01"]), are_plain(["12", "1,5"]), are_plain(["12", "1.007"])
    (True, False, False)
    """
    return _ODD_LINE.search("\n".join(texts)) is None


def written_number(text: str, writing: Writing) -> WrittenNumber | None:
    """The number that a text writes; None for any other text, and for one that may be two numbers, as ``1.007``."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or (found["before"] and found["after"]):
        return None
    plain = plain_text(found["number"], writing)
    return (
        None if plain is None else WrittenNumber(plain, found["limit"] or "", found["before"] or found["after"] or "")
    )


def plain_text(text: str, writing: Writing) -> str | None:
    """A number with a decimal point and without thousands separators; None where the text is none.

    Where the decimal sign is a comma, a point is none: a number has one reading.

    >>> german = Writing(",")
    >>> plain_text("1,5", german), plain_text("1.5", german), plain_text("1.007", german)
    ('1.5', None, None)
    >>> plain_text("1.007", Writing(",", ".")), plain_text("1,007", Writing())
    ('1007', None)
    """
    if _plain_pattern(writing.decimal).fullmatch(text):
        return text.replace(",", ".")
    if writing.thousands and _grouped_pattern(writing.decimal, writing.thousands).fullmatch(text):
        return re.sub(THOUSANDS[writing.thousands], "", text).replace(",", ".")
    return None


def other_decimal(texts: Iterable[str], writing: Writing) -> str | None:
    """The first text that is a number only if its point is a decimal sign, where that is a comma; None without one.

    >>> other_decimal(["12", "1,5", "p7", "1.5"], Writing(","))
    '1.5'
    """
    if writing.decimal == ".":
        return None
    points = (text for text in texts if "." in text and _plain_pattern(".").fullmatch(text.strip()))
    return next((text for text in points if plain_text(text.strip(), writing) is None), None)


def refuse_other_decimal(text: str, name: str, what: str = "") -> None:
    """ValueError about a number with a decimal point, found by ``other_decimal``."""
    raise ValueError(
        f"the column {name!r}{what} has {text!r}, but its numbers have decimal commas; write it as "
        f"{text.replace('.', ',')!r}, or all numbers with points, which {option_text('decimal', '.')} reads; cells "
        f"that are no numbers need {option_text('category', [name])}"
    )


@cache
def _plain_pattern(decimal: str) -> re.Pattern[str]:
    sign = re.escape(decimal)
    return re.compile(rf"[+-]?(?:[0-9]+(?:{sign}[0-9]*)?|{sign}[0-9]+)(?:[eE][+-]?[0-9]+)?")


@cache
def _grouped_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    return re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(?:{THOUSANDS[thousands]}[0-9]{{3}})+(?:{re.escape(decimal)}[0-9]*)?")


def signs_of(texts: Iterable[str]) -> Signs:
    """What some texts show of how numbers are written; those that are no numbers show nothing.

    >>> signs_of(["1,234,567", "6.5", "12", "big"]).thousands, signs_of(["1,007", "1,5 %"]).decimals
    ({',': '1,234,567'}, {',': '1,5 %'})
    """
    found = Signs({}, {}, {})
    for text in texts:
        match = _WRITTEN.fullmatch(text.strip())
        number = match["number"] if match else ""
        grouped = _GROUPED.fullmatch(number)
        if grouped is None:
            decimal = _DECIMAL.fullmatch(number)
            if decimal:
                found.decimals.setdefault(decimal[1], text)
            continue
        sign = _separator(grouped["sign"])
        certain = grouped["more"] or grouped["rest"] or sign in "' "
        (found.thousands if certain else found.unclear).setdefault(sign, text)
        if grouped["rest"]:
            found.decimals.setdefault(grouped["rest"][0], text)
    return found


def _separator(sign: str) -> str:
    return next(name for name, written in THOUSANDS.items() if re.fullmatch(written, sign))


class Remarks(NamedTuple):
    """What was read of the columns of a table that is not plain, by name."""

    marks: dict[str, str]  # the per cent or currency sign of a column's numbers
    censored: dict[str, tuple[int, str]]  # how many cells had a limit, and an example


def read_written(cells: pd.Series, writing: Writing, is_number: bool, remarks: Remarks) -> pd.Series:
    """A column of texts whose numbers have plain texts: decimal signs and thousands separators cell by cell.

    A cell that is a ``WrittenNumber`` becomes a text, and counts as one with this number, whatever the signs are.

    Per cent, currencies and limits only where each cell is a number with the same sign, or where the user says that the
    column has numbers (``is_number``): then the cells without a sign count as those with one, and others stay as they
    are. Limits, only if ``writing`` says what they count as, and there is a number without one.
    """
    import numpy as np
    import pandas as pd

    distinct = cells.dropna().unique().tolist()
    texts = [c for c in distinct if isinstance(c, str | WrittenNumber) and str(c).strip() not in MISSING_WORDS]
    numbers = {text: written_number(text, writing) if isinstance(text, str) else text for text in texts}
    known = {text: number for text, number in numbers.items() if number is not None}
    marked = {number.mark for number in known.values()}
    marks, limits = marked - {""}, [text for text, number in known.items() if number.limit]
    n_others = sum(not isinstance(cell, str | WrittenNumber) for cell in distinct)  # numbers of a workbook
    whole = is_number or (len(known) == len(texts) and (not marks or (len(marked) == 1 and not n_others)))
    decorated = whole and len(marks) < 2 and (not limits or len(limits) < len(known) + n_others or is_number)
    read: dict[Any, Any] = {cell: str(cell) for cell in texts if isinstance(cell, WrittenNumber)}
    for text, number in known.items():
        if not number.limit and not number.mark:
            read[text] = number.plain
        elif decorated and not (number.limit and not writing.censored):
            counted = number.counted(writing.censored)
            read[text] = np.nan if counted is None else counted
    read = {text: plain for text, plain in read.items() if isinstance(text, WrittenNumber) or plain != text.strip()}
    name = str(cells.name)
    if decorated and marks:
        remarks.marks[name] = min(marks)
    if decorated and writing.censored and limits:
        remarks.censored[name] = int(cells.isin(limits).sum()), str(limits[0])
    if not read:
        return cells
    changed = [read.get(c, c) if isinstance(c, str | WrittenNumber) else c for c in cells.to_numpy(dtype=object)]
    return pd.Series(changed, index=cells.index, name=cells.name, dtype=object)


def censored_text(remarks: Remarks, censored: str) -> str:
    """The sentence that says how many cells had a limit, and what they count as; "" where there are none."""
    half = "half of their limit (the limit where it is negative, and above one)"
    counts = {"limit": "their limit", "half": half, "missing": "missing"}
    found = [f"{n:,} of {name!r}, such as {example!r}" for name, (n, example) in remarks.censored.items()]
    return f"cells below or above a limit count as {counts[censored]}: {'; '.join(found)}" if found else ""


def marks_text(marks: dict[str, str]) -> str:
    """The sentence that says which signs were left out of numbers; "" where there are none."""
    found = [f"{mark!r} of {name!r}" for name, mark in marks.items()]
    return f"signs that are left out of numbers, which stay as they are written: {', '.join(found)}" if found else ""
