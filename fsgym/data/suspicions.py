"""Columns of a table that are probably not what they seem: identifiers, dates, numbers with a few texts, and others."""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import BOOL_TEXTS, MISSING_WORDS, TIMES, as_numbers, leading_zeros, merged_cells
from fsgym.data.scaling import float32_offsets
from fsgym.data.written import Writing, signs_of, written_number
from fsgym.text.messages import brief, counted, option_text

if TYPE_CHECKING:
    import pandas as pd

NOT_A_CLASS = {*MISSING_WORDS, "NULL", "NAN", "<NA>", "NaT", "n/a", "#N/A"}
MAX_LEVELS = 50  # of a text column
MAX_NAME_LENGTH = 80  # characters of a column's name that a message repeats in full
FEWEST_TEXTS, FEWEST_INTEGERS, FEWEST_IDS = 10, 100, 20  # rows from which distinct texts, integers, ids are identifiers
ID_WORDS = {"id", "pid", "mrn", "uuid", "nr", "number", "index"}  # words of a name that announce an identifier
TRUTHS = BOOL_TEXTS | {"yes": 1.0, "y": 1.0, "no": 0.0, "n": 0.0}
LIMITS = ("<", ">", "<=", ">=", "≤", "≥")
MAX_MERGED = 0.5  # share of the distinct decimal numbers that may become equal in float32

_YEAR, _MM, _DD = r"(1[6-9]|2[01])\d\d", r"(0?[1-9]|1[0-2])", r"(0?[1-9]|[12]\d|3[01])"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_CLOCK = r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?(\s?[ap]\.?m\.?)?(\s?(z|utc|[+-]\d\d:?\d\d))?"
_DAY = "|".join(
    (
        rf"{_YEAR}[-/.]{_MM}[-/.]{_DD}",
        rf"{_YEAR}-(0[1-9]|1[0-2])",
        rf"{_DD}\.\s?{_MM}\.\s?({_YEAR}|\d\d)",
        rf"{_DD}[-/]{_MM}[-/]({_YEAR}|\d\d)",
        rf"{_MM}[-/]{_DD}[-/]({_YEAR}|\d\d)",
        rf"{_DD}\.?[-\s/]{_MONTH}([-\s/,]\s?({_YEAR}|\d\d))?",
        rf"{_MONTH}\s{_DD},?\s{_YEAR}",
    )
)
_DATE = re.compile(rf"({_DAY})([T\s]\s?{_CLOCK})?|{_CLOCK}", re.IGNORECASE)
_NUMBER = r"[+-]?(\d{1,3}([,.' \u00a0\u202f]\d{3})+|\d+)?([.,]\d+)?(e[+-]?\d+)?"
_UNIT = r"(%|‰|°\s?[CF]?|[a-zµμ]{1,5}|[^\W\d][^\s\d]{0,11}(/\S{1,8})?)"
_SHORT_UNIT = r"([%‰€$£]|°\s?[CF]?|[kmµμdc]?g|[mµμdc]?l|[kmcµμ]?m|mmhg|bpm|kg/m2|yrs?|years?|days?|h|min|ms|iu|u|k)"
_DECORATED = re.compile(
    rf"(?:(?P<sign><=|>=|[<>≤≥~≈]|ca\.?)\s*)?([$€£]\s*)?(?P<number>{_NUMBER})(\s{_UNIT}|\s?{_SHORT_UNIT})?",
    re.IGNORECASE,
)


_NUMBERS = (int, float, np.number, decimal.Decimal)


class Suspicion(NamedTuple):
    """What a column probably is instead: its kind, a text to follow the column's name, and what the user can do."""

    kind: str
    text: str
    remedy: str

    def sentence(self, column: str) -> str:
        """The suspicion and its remedy, about a column that is named in words."""
        return f"{self.about(column)}; {self.remedy}"

    def about(self, column: str) -> str:
        """The suspicion alone."""
        return f"{column} {'has ' if self.text[0].isdigit() else ''}{self.text}"


class _Cells(NamedTuple):
    """The distinct texts of a column in order of their first row, the rows of each, and the numbers among them.

    ``number`` is float64 (n_texts,), NaN where the text is no plain number; ``counts`` is int64 (n_texts,).
    """

    texts: list[str]
    counts: NDArray[np.int64]
    number: NDArray[np.float64]


def find_suspicion(column: pd.Series) -> Suspicion | None:
    """Why the values of a feature column should not be used as they are; None where nothing looks wrong.

    A column of dtype ``category`` or ``bool`` is taken as it is, one of a float dtype as numbers.

    Parameters
    ----------
    column : Series
        Values as read: text, numbers, or both; missing cells are NaN, None or ``pandas.NA``.

    Returns
    -------
    Suspicion or None
        Its ``kind`` is one of "date", "nearly numeric", "identifier", "many levels", "merged", "leading zeros",
        "spelling", "precision", "null bytes" and "type".

    Examples
    --------
    >>> import pandas as pd
    >>> find_suspicion(pd.Series(["31", "45", "unknown", "62"], name="age")).text
    "3 numbers and 'unknown'"
    >>> find_suspicion(pd.Series(["red", "blue", "red"], name="colour")) is None
    True
    """
    import pandas as pd

    name = str(column.name)
    dtype: Any = column.dtype
    if dtype.name == "category" or pd.api.types.is_bool_dtype(dtype):
        return None
    if dtype.kind in "mM" or isinstance(dtype, pd.PeriodDtype):
        return _date(name, "date or time", None)
    if dtype.kind == "c":
        return _other_type(name, "complex numbers")
    present = column[column.notna()]
    if present.empty:
        return None
    if pd.api.types.is_numeric_dtype(dtype):
        whole = pd.api.types.is_integer_dtype(dtype)
        return _check_numbers(present.to_numpy(), whole, name, len(column))
    return _check_texts(present, name)


def find_label_suspicion(column: pd.Series) -> Suspicion | None:
    """Why the texts of a target column should not be used as classes; None where nothing looks wrong.

    Examples
    --------
    >>> import pandas as pd
    >>> find_label_suspicion(pd.Series(["yes", "no", "NaN"], name="sick")).text
    "has the class 'NaN' in 1 row(s), which usually means a missing value"
    """
    import pandas as pd

    dtype: Any = column.dtype
    column = column[column.notna()]
    if dtype.name == "category":
        column = column.astype(column.cat.categories.dtype)
    if column.dtype.kind in "biufcmM" or pd.api.types.is_numeric_dtype(column.dtype):
        return None
    cells = _cells_of(column)
    name = str(column.name)
    asked = f"keep it with {_option('category', name)}"
    for text, count in zip(cells.texts, cells.counts):
        if text.strip() in NOT_A_CLASS:
            said = f"has the class {_quoted(text)} in {count:,} row(s), which usually means a missing value"
            return Suspicion("missing class", said, f"remove these rows, rename the class, or {asked}")
    return (
        _null_bytes(cells, name, "category")
        or find_merged(column, f"write them alike, or keep both with {_option('category', name)}")
        or _truths(cells, name)
        or _alike(cells, name, _usual_case)
    )


def find_note(column: pd.Series) -> str | None:
    """What makes a column useless but harmless: it has no value, or the same in each row; None otherwise."""
    present = column[column.notna()]
    if present.empty:
        return "has no value"
    try:
        constant = len(present) == len(column) > 1 == present.nunique()
    except TypeError:  # lists and other values without a hash
        return None
    first = present.iloc[0]
    if constant:
        return f"has the value {brief(first.item() if isinstance(first, np.generic) else first)} in each row"
    return None


def plain_numbers(column: pd.Series, may_be_codes: bool = True) -> pd.Series | None:
    """A column of text as numbers if each cell is a number, missing, or one of ``MISSING_WORDS``; otherwise None.

    None, too, where cells in different decimal forms would become one number, as ``1E2`` and ``10E1``, and where the
    numbers have leading zeros, as ``01874``, unless it is known that they are no codes.
    """
    found = _parsed(column)
    if found is None or merged_cells(*found) is not None or (may_be_codes and leading_zeros(column) is not None):
        return None
    return found[1]


def _parsed(column: pd.Series) -> tuple[pd.Series, pd.Series] | None:
    """The cells of a column of text and their numbers, without missing cells; None where a cell is no number."""
    import pandas as pd

    dtype = column.dtype
    if dtype.name == "category" or not (pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype)):
        return None
    kinds = set(map(type, column[column.notna()]))
    if any(issubclass(kind, bool | np.bool_) or not issubclass(kind, (str, *_NUMBERS)) for kind in kinds):
        return None
    plain = column.astype(object).where(~column.isin(MISSING_WORDS), np.nan)
    try:
        numbers: Any = pd.to_numeric(plain, errors="coerce")
    except OverflowError:
        return None
    return (plain, numbers) if (numbers.notna() == plain.notna()).all() else None


def check_numeric(column: pd.Series) -> None:
    """ValueError where a column that is to be numbers has cells, but no plain number, or dates."""
    import pandas as pd

    name = str(column.name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    dates = any(issubclass(kind, TIMES) for kind in set(map(type, column)))
    try:
        lost = dates or np.isnan(as_numbers(column, name, odd_is_missing=True)).all()
    except OverflowError:
        raise ValueError(f"the column {name!r} has numbers beyond float32; correct or drop them") from None
    if lost and column.notna().any():
        first = column[column.notna()].iloc[0]
        raise ValueError(
            f"{option_text('numeric')} names {name!r}, but none of its cells is a plain number (the first is "
            f"{_quoted(str(first))}); write them as plain numbers, such as 1499.5"
        )


def _option(option: str, name: str) -> str:
    """How an option is given for a column."""
    if len(name) > MAX_NAME_LENGTH:
        return f"{option_text(option)} with its whole name"
    return option_text(option, [name])


def _pass(name: str, *options: str) -> str:
    """The options that resolve a suspicion, as the end of a sentence."""
    parts = [_option(option, name) for option in options]
    return "pass " + (parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}")


def _quoted(text: str) -> str:
    """A cell for a message: at most 40 characters, with its spaces."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _date(name: str, kind: str, example: str | None, *options: str) -> Suspicion:
    said = f"looks like a {kind}" + (f", as in {_quoted(example)}" if example else "")
    remedy = f"replace it by a number, such as days since a start, or {_pass(name, *(options or ('drop', 'category')))}"
    return Suspicion("date", said, remedy)


def _other_type(name: str, what: str) -> Suspicion:
    return Suspicion("type", f"holds {what}", f"replace them by numbers or text, or {_pass(name, 'drop')}")


def _check_numbers(values: Any, whole: bool, name: str, n_rows: int) -> Suspicion | None:
    """The suspicions of a column of numbers without its missing cells; ``whole`` where its dtype is an integer one."""
    floats = np.asarray(values, dtype=np.float64)
    distinct = np.unique(np.asarray(values, dtype=object if values.dtype == object else values.dtype))
    integers = whole or bool((floats == np.floor(floats)).all())
    if integers and _all_days(distinct):
        return _date(name, "date", str(int(distinct[0])), "drop", "numeric", "category")
    if whole and len(floats) == n_rows == len(distinct) and _names_rows(distinct, name):
        said = f"is unique in each row ({len(distinct):,} distinct whole numbers), as an identifier is"
        return Suspicion("identifier", said, _pass(name, "drop", "numeric"))
    wide = distinct.astype(np.float64)[:, None]
    with np.errstate(over="ignore"):
        single = np.unique((wide - float32_offsets(wide)).astype(np.float32))
    lost = len(distinct) - len(single)
    few = integers or len(single) == 1  # then a value that is lost may be all that the column has to say
    if np.isfinite(single).all() and lost > (0 if few else MAX_MERGED * len(distinct)):
        said = f"has {len(distinct):,} distinct values, of which float32 keeps {len(single):,} apart"
        remedy = "write it in another unit" if np.abs(wide).max() < 1 else "check its extreme values"
        return Suspicion("precision", said, f"{remedy}, or {_pass(name, 'drop', 'numeric')}")
    return None


def _all_days(distinct: NDArray) -> bool:
    """Whether all numbers are days, written as yyyymmdd."""
    if not len(distinct) or distinct[0] < 1_600_01_01 or distinct[-1] > 2_199_12_31:
        return False
    days = distinct.astype(np.int64)
    for day in days.tolist():
        try:
            datetime.date(day // 10000, day // 100 % 100, day % 100)
        except ValueError:
            return False
    return True


def _names_rows(distinct: NDArray, name: str) -> bool:
    """Whether integers that are all distinct are an identifier: by their number, their name, or as a row number."""
    n = len(distinct)
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    announced = not ID_WORDS.isdisjoint(words) or int(distinct[-1]) - int(distinct[0]) == n - 1
    return n >= (FEWEST_IDS if announced else FEWEST_INTEGERS)


def _check_texts(present: Any, name: str) -> Suspicion | None:
    """The suspicions of a text column without its missing cells."""
    types = {type(v) for v in present.to_numpy(dtype=object)}
    if types <= {bool, np.bool_}:
        return None
    for kind in sorted(types, key=lambda t: t.__name__):
        if issubclass(kind, TIMES):
            return _date(name, "date or time", None)
        if not issubclass(kind, str | int | float | np.generic) and not hasattr(kind, "__float__"):
            return _other_type(name, f"values of type {kind.__name__}")
    cells = _cells_of(present)
    found = (
        _null_bytes(cells, name, "drop", "category")
        or _dates(cells, name)
        or find_merged(present, _pass(name, "category", "numeric", "drop"))
        or _truths(cells, name)
        or _leading_zeros(present, name)
        or _nearly_numeric(cells, name)
    )
    if found:
        return found
    n_rows = int(cells.counts.sum())
    if len(cells.texts) == n_rows >= FEWEST_TEXTS:
        return Suspicion("identifier", "is unique in each row", _pass(name, "drop", "category"))
    if len(cells.texts) > MAX_LEVELS:
        said = f"has {counted(len(cells.texts), 'level')}"
        together = f"{option_text('row_groups', name)} where it names what several rows are of, such as a patient"
        return Suspicion("many levels", said, f"merge rare levels, or {_pass(name, 'category', 'drop')}, or {together}")
    return _alike(cells, name, _lower_case)


def _cells_of(present: Any) -> _Cells:
    import pandas as pd

    codes, distinct = pd.factorize(pd.Series([str(v) for v in present.to_numpy(dtype=object)], dtype=object))
    texts = [str(v) for v in distinct]
    counts = np.bincount(codes, minlength=len(texts))
    number: Any = pd.to_numeric(pd.Series([t.strip() for t in texts], dtype=object), errors="coerce")
    return _Cells(texts, counts, number.to_numpy(np.float64))


def _null_bytes(cells: _Cells, name: str, *options: str) -> Suspicion | None:
    odd = [t for t in cells.texts if "\0" in t]
    if not odd:
        return None
    said = f"has cells with null characters, as {_quoted(odd[0])}"
    return Suspicion("null bytes", said, f"remove them from the file, or {_pass(name, *options)}")


def _dates(cells: _Cells, name: str) -> Suspicion | None:
    matching = [i for i, t in enumerate(cells.texts) if _DATE.fullmatch(t.strip())]
    if not matching or 2 * cells.counts[matching].sum() < cells.counts.sum():
        return None
    example = cells.texts[matching[0]]
    return _date(name, "time of day" if re.match(r"\s*\d+:", example) else "date", example)


def find_merged(column: pd.Series, remedy: str) -> Suspicion | None:
    """Whether the cells of a column of text are numbers, two of which are one but may be codes: ``1E2`` and ``10E1``.

    ``remedy`` says what the user can do.
    """
    found = _parsed(column)
    pair = None if found is None else merged_cells(*found)
    if pair is None:
        return None
    first, second = (_quoted(str(cell)) for cell in pair)
    return Suspicion("merged", f"has {first} beside {second}, which are one number but may be two codes", remedy)


def _leading_zeros(present: pd.Series, name: str) -> Suspicion | None:
    found = leading_zeros(present)
    if found is None:
        return None
    where = f"{counted(found[1], 'row')}, as in {_quoted(found[0])}"
    said = f"has leading zeros in {where}, and may be a code, such as a postal one"
    return Suspicion("leading zeros", said, _pass(name, "category", "numeric", "drop"))


def _nearly_numeric(cells: _Cells, name: str) -> Suspicion | None:
    """At least half of the cells are numbers, be they plain or with a sign, a unit or a comma."""
    missing = np.array([t.strip() in MISSING_WORDS for t in cells.texts])
    plain = ~np.isnan(cells.number) & ~missing
    odd = np.flatnonzero(~plain & ~missing)
    n_plain, n_cells = int(cells.counts[plain].sum()), int(cells.counts[~missing].sum())
    if not n_cells:
        return None
    matches = {int(i): _DECORATED.fullmatch(cells.texts[i].strip()) for i in odd}
    written = [i for i, m in matches.items() if m and re.search(r"\d", m["number"]) and (n_plain or not m["sign"])]
    numbers = {matches[i]["number"] for i in written}  # type: ignore[index]
    if 2 * n_plain < n_cells:
        if n_plain + int(plain.sum()) == 0 and len(numbers) < 3:
            return None
        if 2 * (n_plain + int(cells.counts[written].sum())) < n_cells:
            return None
    said = _odd_cells(cells, odd, n_plain)
    commas = [i for i in written if re.fullmatch(r"[+-]?\d+,\d+", cells.texts[i].strip())]
    shown = signs_of(cells.texts[i] for i in written)
    if n_plain and all(getattr(written_number(cells.texts[i], Writing()), "mark", "") for i in odd):
        remedy = f"write them alike, or {_pass(name, 'numeric', 'category', 'drop')}"
    elif n_plain:
        numeric = f"{_option('numeric', name)} (its other cells become missing)"
        remedy = f"pass {numeric}, {_option('category', name)} or {_option('drop', name)}"
    else:
        remedy = f"write plain numbers, or {_pass(name, 'category', 'drop')}"
    if any(matches[i]["sign"] in LIMITS for i in written):  # type: ignore[index]
        remedy = f"pass {option_text('censored', 'limit')} (or half, or missing) for the limits, or {remedy}"
    if 2 * len(commas) > len(odd):
        remedy = f"pass {option_text('decimal', ',')} if that is a decimal comma, or {remedy}"
    if "," in shown.unclear and "," not in shown.decimals:
        remedy = f"pass {option_text('thousands', ',')} if that separates thousands, or {remedy}"
    return Suspicion("nearly numeric", said, remedy)


def _odd_cells(cells: _Cells, odd: NDArray[np.int64], n_plain: int) -> str:
    """The cells of a nearly numeric column in words: ``1,499 numbers and 'unknown'``."""
    count = int(cells.counts[odd].sum())
    if not count:
        return f"{n_plain:,} numbers stored as text"
    often = cells.texts[int(odd[np.argmax(cells.counts[odd])])]
    if count == 1:
        said = _quoted(often)
    elif len(odd) == 1:
        said = f"{count:,} times {_quoted(often)}"
    else:
        said = f"{counted(count, 'value')} like {_quoted(often)}"
    return f"{n_plain:,} numbers and {said}" if n_plain else said


def _truths(cells: _Cells, name: str) -> Suspicion | None:
    """Two levels for one truth value, as True and 1, where all levels are such."""
    words = {text: text.strip().lower() for text in cells.texts if text.strip() not in MISSING_WORDS}
    if not set(words.values()) <= TRUTHS.keys():
        return None
    first: dict[float, str] = {}
    for text, word in words.items():
        other = first.setdefault(TRUTHS[word], text)
        if words[other].removesuffix(".0") != word.removesuffix(".0"):
            said = f"has {_quoted(other)} beside {_quoted(text)}, which may mean the same"
            return Suspicion("spelling", said, f"write them alike, or keep both with {_option('category', name)}")
    return None


def _alike(cells: _Cells, name: str, in_one_case: Callable[[str], str]) -> Suspicion | None:
    """Two levels that differ only by spaces, or by upper and lower case as ``in_one_case`` says."""
    for how, key in (("spaces", _without_spaces), ("upper and lower case", in_one_case)):
        first: dict[str, str] = {}
        for text in cells.texts:
            other = first.setdefault(key(text), text)
            if other != text:
                said = f"has {_quoted(other)} beside {_quoted(text)}, which differ only by {how}"
                return Suspicion("spelling", said, f"write them alike, or keep both with {_option('category', name)}")
    return None


def _without_spaces(text: str) -> str:
    return " ".join(text.split())


def _lower_case(text: str) -> str:
    return _without_spaces(text).casefold()


def _usual_case(text: str) -> str:
    """A word in lower case if it is written as yes, Yes or YES; other classes, as a, A or hId, stay as they are."""
    plain = _without_spaces(text)
    usual = plain.lower(), plain.upper(), plain.capitalize(), plain.title()
    return plain.casefold() if len(plain) > 1 and plain in usual else plain
