"""How a user's table becomes a data set: the options, the suspicious columns, and the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from fsgym.data.case_costs import take_case_prices
from fsgym.data.dataset import Dataset
from fsgym.data.reading import excel
from fsgym.data.reading.frames import check_size, dataset_of, drop_columns, infer_columns, take_row_groups, take_target
from fsgym.data.reading.numbers import AS_PLAIN, Declared, Found, numbers_of, with_plain_texts
from fsgym.data.reading.tables import read_parquet, read_table
from fsgym.data.repeated import DUPLICATES, duplicate_groups
from fsgym.data.suspicions import (
    Suspicion,
    check_numeric,
    find_label_suspicion,
    find_note,
    find_suspicion,
    plain_numbers,
)
from fsgym.data.targets import BinAnswers, OrderedCosts, as_bins, check_target_numbers
from fsgym.data.written import CENSORED, THOUSANDS, Writing
from fsgym.support.checks import check_choice
from fsgym.text.messages import brief, did_you_mean, explain_unknown, listing, option_text, warn_caller

if TYPE_CHECKING:
    import pandas as pd

TEXT_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
TABLE_SUFFIXES = (*TEXT_SUFFIXES, ".parquet", *excel.SUFFIXES)
USE_OF = {
    **dict.fromkeys(
        ("target", "category", "numeric", "row_groups"), "tables with column names (CSV, Parquet, DataFrame, OpenML)"
    ),
    "separator": "text files of your own",
    "sheet": "Excel workbooks",
    "header_row": "Excel workbooks and text files",
    **dict.fromkeys(("decimal", "thousands", "censored"), "tables of your own (CSV, Excel, Parquet, DataFrame)"),
}
OF_NUMBERS = ("decimal", "thousands", "censored")
FAULTS_SAID = 6  # suspicious columns that a message explains; by hand


class Reading(NamedTuple):
    """How a table is read: the options of ``load_dataset`` of the same names, and the columns of prices."""

    target: str | None = None
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None
    one_hot: bool = True
    row_groups: str | None = None
    units: Mapping[str, str] | None = None
    thousands: str | None = None
    censored: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    ordered: tuple[str, ...] | None = None
    ordered_costs: Any = "linear"
    bins: Any = None
    answers: Any = "median"
    case_price: Mapping[str, str] | None = None  # the column of the prices of each acquisition

    @property
    def label(self) -> str:
        """The name of the target column."""
        return "target" if self.target is None else self.target

    def refuse(self, options: Iterable[str], what: str) -> None:
        """ValueError where one of the options is given, which have no meaning for ``what``."""
        for option in options:
            if getattr(self, option):
                raise ValueError(
                    f"{option_text(option)} is only for {USE_OF[option]}, and {what} is none; leave it out"
                )


def check_reading(options: Reading) -> Reading:
    """The options of ``load_dataset``, checked; ValueError or TypeError names the option."""
    separator, decimal = options.separator, options.decimal
    for option in ("target", "row_groups"):
        name = getattr(options, option)
        if name is not None and not isinstance(name, str):
            raise TypeError(f"{option_text(option)} must be the name of a column, got {brief(name)}")
    listed = {option: _names(option, getattr(options, option)) for option in ("drop", "category", "numeric")}
    named = {**listed, "row_groups": (options.row_groups,), "case_price": tuple((options.case_price or {}).values())}
    for one, other in (("category", "numeric"), ("drop", "case_price"), ("row_groups", "case_price")):
        both = [name for name in named[one] if name in named[other]]
        if both:
            options_named = f"{option_text(one)} and {option_text(other)}"
            raise ValueError(f"{options_named} must not both name {both[0]!r}; choose one of them")
    separator = {"tab": "\t", "\\t": "\t"}.get(separator, separator) if isinstance(separator, str) else separator
    if separator is not None and (
        not isinstance(separator, str) or len(separator) != 1 or separator.isalnum() or separator in "\"'\r\n\0._"
    ):
        raise ValueError(
            f"{option_text('separator')} must be one character such as ',', ';', '|' or 'tab', got {brief(separator)}"
        )
    if decimal is not None and (not isinstance(decimal, str) or decimal not in (".", ",")):
        raise ValueError(f"{option_text('decimal')} must be '.' or ',', got {brief(decimal)}")
    if decimal is not None and decimal == separator:
        _refuse_equal("separator", "decimal", decimal)
    thousands = {"space": " ", "apostrophe": "'", "comma": ",", "point": "."}.get(
        str(options.thousands), options.thousands
    )
    if thousands is not None and (not isinstance(thousands, str) or thousands not in THOUSANDS):
        raise ValueError(
            f"{option_text('thousands')} must be ',', '.', an apostrophe or a space (also as words: comma, point, "
            f"apostrophe, space), got {brief(thousands)}"
        )
    if thousands is not None and thousands == decimal:
        _refuse_equal("decimal", "thousands", decimal)
    if options.censored is not None and (not isinstance(options.censored, str) or options.censored not in CENSORED):
        raise ValueError(
            f"{option_text('censored')} must be one of {', '.join(CENSORED)}, got {brief(options.censored)}"
        )
    check_choice(options.answers, option_text("answers"), *get_args(BinAnswers))
    check_choice(options.ordered_costs, option_text("ordered_costs"), *get_args(OrderedCosts))
    if options.sheet is not None and not isinstance(options.sheet, str):
        raise TypeError(
            f"{option_text('sheet')} must be the name of a sheet, or its number as a text, got {brief(options.sheet)}"
        )
    row = options.header_row
    if row is not None and (type(row) is not int or row < 1):
        raise ValueError(f"{option_text('header_row')} must be the number of a row, from 1, got {brief(row)}")
    return options._replace(separator=separator, thousands=thousands, one_hot=bool(options.one_hot), **listed)


def _refuse_equal(first: str, second: str, sign: str | None) -> None:
    raise ValueError(
        f"{option_text(first)} and {option_text(second)} must be different characters, got {brief(sign)} for both"
    )


def with_target(dataset: Dataset, reading: Reading) -> Dataset:
    """The data set with its classes as grades, or its target as numbers, as the options of ``load_dataset`` say."""
    if reading.bins is None:
        if reading.answers != "median":
            raise ValueError(
                f"{option_text('answers', reading.answers)} needs {option_text('bins', command='--numeric-target')}, "
                "those of a numeric target"
            )
        return dataset.replace(ordered=reading.ordered, ordered_costs=reading.ordered_costs)
    bins = as_bins(reading.bins, check_target_numbers(dataset.target), reading.answers)
    return dataset.replace(ordered=reading.ordered, ordered_costs=reading.ordered_costs, bins=bins)


def _names(option: str, value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else value
    try:
        names = tuple(names)
    except TypeError:
        raise TypeError(f"{option} must be a list of column names, got {brief(value)}") from None
    if not all(isinstance(v, str) for v in names):
        raise TypeError(f"{option} must be a list of column names, got {brief(value)}")
    return tuple(dict.fromkeys(names))


def read_columns(path: Path, reading: Reading) -> tuple[pd.DataFrame, Found]:
    """The table of a CSV, Parquet or Excel file of a user, and how its numbers are written."""
    declared = declared_in(reading)
    table = table_of_other_file(path, reading, lambda name: name not in (*reading.category, *reading.drop))
    if table is not None:
        return numbers_in(table, reading, str(path))
    return read_table(
        path,
        separator=reading.separator,
        declared=declared,
        header_row=reading.header_row,
        as_text=reading.category,
        drop=reading.drop,
    )


def table_of_other_file(path: Path, reading: Reading, may_be_numbers: Callable[[str], bool]) -> pd.DataFrame | None:
    """The table of a Parquet file or workbook as it is there; None for a text file.

    In a column of a workbook that may not be numbers, cells in the format of per cent are texts.
    """
    if path.suffix in excel.SUFFIXES:
        reading.refuse(("separator",), str(path))
        table = named_columns(excel.read_excel(path, reading.sheet, reading.header_row), str(path))
        for name in table.columns:
            if not may_be_numbers(name):
                table[name] = with_plain_texts(table[name], Writing())
        return table
    reading.refuse(("sheet",), str(path))
    if path.suffix != ".parquet":
        return None
    reading.refuse(("separator", "header_row"), str(path))
    return named_columns(read_parquet(path), str(path))


def declared_in(reading: Reading) -> Declared:
    """What the options say of how numbers are written."""
    plain = [] if reading.row_groups is None else [reading.row_groups]
    if reading.bins is None:
        plain.append(reading.label)
    no_codes = {reading.label, reading.row_groups or reading.label, *reading.numeric}
    return Declared(reading.decimal, reading.thousands, reading.censored, reading.numeric, plain, no_codes)


def numbers_in(frame: pd.DataFrame, reading: Reading, what: str) -> tuple[pd.DataFrame, Found]:
    """A table that was not read from text, whose texts are numbers where they are written as such."""
    left = (*reading.category, *reading.drop)
    return numbers_of(frame, declared_in(reading), what, [name for name in frame.columns if name not in left])


def named_columns(frame: pd.DataFrame, what: str, may_be_empty: bool = False) -> pd.DataFrame:
    """The table with names of columns as text and without its index; ValueError where two are the same.

    Unless it ``may_be_empty``, also where it has no rows or no columns.
    """
    frame = frame.reset_index(drop=True)
    names = [str(name) for name in frame.columns]
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(f"{what} has two columns {twice[0]!r}; rename or remove one")
    frame.columns = names
    if frame.empty and not may_be_empty:
        raise ValueError(f"{what} has no rows or no columns")
    return frame


def examined(frame: pd.DataFrame, reading: Reading, what: str) -> pd.DataFrame:
    """The table with text that holds only numbers as numbers; a suspicious column is an error.

    Columns that an option names are not examined.

    Raises
    ------
    ValueError
        Where a column is suspicious. The message names each such column; of a single one it says how to resolve it.
    """
    frame = frame.copy(deep=False)
    faults: dict[str, Suspicion] = {}
    for name in frame.columns.drop(reading.label, errors="ignore"):
        if name in (*reading.numeric, *reading.category):
            continue
        numbers = plain_numbers(frame[name])
        if numbers is not None:
            frame[name] = numbers
        suspicion = find_suspicion(frame[name])
        if suspicion:
            faults[name] = suspicion
    if reading.label in frame.columns and reading.label not in reading.category and reading.bins is None:
        suspicion = find_label_suspicion(frame[reading.label])
        if suspicion:
            raise ValueError(suspicion.sentence(f"the target column {brief(reading.label)} of {what}"))
    if len(faults) == 1:
        [(name, suspicion)] = faults.items()
        raise ValueError(suspicion.sentence(f"the column {brief(name)} of {what}"))
    if faults:
        raise ValueError(_faults_in_words(faults, what))
    return frame


def _faults_in_words(faults: Mapping[str, Suspicion], what: str) -> str:
    """The sentence about several suspicious columns: what each is, and an option that resolves all."""
    said = [suspicion.about(brief(name)) for name, suspicion in [*faults.items()][:FAULTS_SAID]]
    others = listing([*faults][FAULTS_SAID:], FAULTS_SAID)
    more = f"; and {len(faults) - FAULTS_SAID} more: {others}" if others else ""
    return (
        f"{len(faults)} columns of {what} need an option: {'; '.join(said)}{more}; fsgym describe says which, and "
        f"{option_text('drop', [*faults])} leaves them all out"
    )


def warn_of_constants(frame: pd.DataFrame, reading: Reading, what: str) -> None:
    """A warning that names the columns that do not vary, except those that an option names."""
    named = (*reading.numeric, *reading.category, reading.label)
    found = {name: find_note(frame[name]) for name in frame.columns if name not in named}
    notes = [f"{name!r} {note}" for name, note in found.items() if note]
    if notes:
        warn_caller(f"{what} has columns that do not vary and may be dropped: {listing(notes, 5)}")


def dataset_of_table(
    frame: pd.DataFrame,
    reading: Reading,
    *,
    listed: Collection[str] | None = None,
    name: str,
    what: str,
    found: Found = AS_PLAIN,
) -> tuple[Dataset, dict[str, NDArray[np.float64]]]:
    """The data set of a table, and the prices by acquisition, float64 (n_samples,), from the columns of prices.

    ``listed`` are the categories of a manifest, whose columns are not examined. ``found`` says how numbers were
    written.
    """
    _check_columns(frame, reading, what)
    frame = drop_columns(frame, [c for c in reading.drop if c != reading.row_groups], what)
    for column in reading.numeric:
        if column in frame.columns:
            check_numeric(frame[column])
    groups, equal = None, reading.row_groups == DUPLICATES and DUPLICATES not in frame.columns
    if reading.row_groups is not None and not equal:
        frame, groups = take_row_groups(frame, reading.row_groups, what)
    frame, prices = take_case_prices(frame, reading.case_price or {}, what)
    if listed is None:
        frame = examined(frame, reading, what)
        warn_of_constants(frame, reading, what)
    features, labels = take_target(frame, reading.label, what, is_number=reading.bins is not None)
    if (labels == labels[:1]).all():
        kind = "classes" if reading.bins is None else "numbers"
        value = listing(map(brief, labels.tolist()[:1])) or "none"
        raise ValueError(
            f"the target column {reading.label!r} of {what} must hold at least two {kind}, got {value} in every row"
        )
    category = [c for c in (*reading.category, *(listed or ())) if c in features.columns and c not in reading.numeric]
    try:
        if features.shape[1] == 0:
            all_dropped = f"; {option_text('drop')} names all others, keep at least one" if reading.drop else ""
            raise ValueError(f"{what} has no feature column besides the target{all_dropped}")
        columns = infer_columns(features, category=category, numeric=reading.numeric, one_hot=reading.one_hot)
        check_size(len(features), columns.n_features, what)
        dataset = dataset_of(columns, features, labels, name=name)
        if found != AS_PLAIN:
            dataset = dataset.replace(columns=dataset.columns.with_writing(*found))
        groups = duplicate_groups(dataset.X) if equal else groups
        return dataset if groups is None else dataset.replace(row_groups=groups), prices
    except (TypeError, ValueError) as error:
        message = str(error)
        raise ValueError(message if what in message else f"{what} does not hold a data set ({message})") from None


def refuse_no_target(names: Collection[str], reading: Reading, what: str) -> None:
    """ValueError where a table with columns of these names lacks that of the labels."""
    label = reading.label
    if label not in names:
        hint = f"name one as {option_text('target')}" if reading.target is None else "choose one of them"
        meant = "" if reading.target is None else did_you_mean(label, names)
        columns = listing(map(repr, names), 40)
        raise ValueError(f"{what} has no column {label!r}{meant or f'; {hint}: {columns}'}")


def _check_columns(frame: pd.DataFrame, reading: Reading, what: str) -> None:
    """ValueError where a table lacks the target or another column that an option names, or must not name it."""
    refuse_no_target(frame.columns, reading, what)
    check_named_columns(frame.columns, reading, what)


def check_named_columns(columns: Collection[str], reading: Reading, what: str) -> None:
    """ValueError where an option names a column that a table with these does not have, or the target as a feature."""
    label = reading.label
    others = {"row_groups": [reading.row_groups], "case_price": list((reading.case_price or {}).values())}
    for option, names in {"drop": reading.drop, "numeric": reading.numeric, **others}.items():
        if label in names:
            raise ValueError(f"{option_text(option)} must not name the target column {label!r}")
    for option, names in {"category": reading.category, "numeric": reading.numeric}.items():
        for name in names:
            if name not in columns:
                raise ValueError(f"{option_text(option)}: {explain_unknown(f'column of {what}', name, columns)}")
