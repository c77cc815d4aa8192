"""Reading a table for a trained model: by the model's columns and classes, whatever the table looks like itself."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import as_wide_numbers, decimal_form, plain_number
from fsgym.data.columns import Columns, MissingColumns, absent_columns
from fsgym.data.reading.no_result import NoResult
from fsgym.data.reading.numbers import numbers_of
from fsgym.data.reading.reading import Reading, check_reading, declared_in, table_of_other_file
from fsgym.data.reading.tables import read_table
from fsgym.data.written import Writing, is_mark, plain_text
from fsgym.text.messages import brief, explain_unknown, listing

if TYPE_CHECKING:
    import pandas as pd


def read_table_for(
    columns: Columns,
    path: str | os.PathLike,
    *,
    keep: Collection[str] = (),
    missing_columns: MissingColumns = "error",
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    censored: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> pd.DataFrame:
    """Read a CSV, Parquet or Excel file with known columns, such as those of a model: ``model.columns_``.

    The kinds of the columns are not inferred from the file: the cells of a category stay text, so that ``007`` is not
    7. Columns of the file that are not named here are ignored, whatever they hold.

    Parameters
    ----------
    columns : Columns
        In the file they may have any order.
    path : path
        As in ``load_dataset``.
    keep : names of other columns to read
        Their cells stay text if the file is CSV.
    missing_columns : {"error", "unavailable"}
        Whether one of ``columns`` that the file lacks is an error, or missing in every row.
    separator, decimal, thousands, censored, sheet, header_row : optional
        As in ``load_dataset``. What is not given and not clear from the file is as in the columns.

    Returns
    -------
    DataFrame
        The columns in their order, as ``columns.encode`` and the agents take them, then those of ``keep``.

    Raises
    ------
    ValueError, OSError, ImportError
        If the file lacks a column or cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fsgym.data.columns import Column, Columns
    >>> from fsgym.datasets import read_table_for
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = file.write_text("note,ward,age\\nx,007,61\\n")
    >>> read_table_for(Columns([Column("age"), Column("ward", "category", ("007", "008"))]), file).values.tolist()
    [[61, '007']]
    """
    reading = Reading(separator=separator, decimal=decimal, thousands=thousands, censored=censored)
    reading = reading._replace(sheet=sheet, header_row=header_row)
    table = read_file_for(columns, path, reading, keep=keep)
    absent_columns(columns, table, str(path), missing_columns)
    chosen = table.reindex(columns=list(columns.names))
    others = [name for name in dict.fromkeys(keep) if name not in columns.names]
    return chosen.join(table[refuse_unknown_columns(others, table, str(path))])


def read_file_for(
    columns: Columns,
    path: str | os.PathLike,
    given: Reading,
    *,
    keep: Collection[str] = (),
    as_numbers: Collection[str] = (),
    no_result: NoResult | None = None,
) -> pd.DataFrame:
    """The whole table of ``read_table_for``: also its other columns, and without those that it lacks.

    Columns of ``as_numbers`` are read as those of numbers, beside those of the model. The cells of ``no_result`` are
    empty.
    """
    path = Path(os.fsdecode(path)).expanduser()
    others = [name for name in keep if name not in columns.names]
    reading = check_reading(given)
    numbers = [column for column in columns if column.kind == "number"]
    declared = declared_in(reading)._replace(
        numeric=[column.name for column in numbers if column.odd_is_missing or column.is_written],
        usual=next((column.writing for column in numbers), Writing()),
    )
    texts = [*(c.name for c in columns if c.kind in ("category", "codes")), *others]
    as_numbers = [*(column.name for column in numbers), *as_numbers]
    if reading.bins is not None and reading.label not in (*columns.names, *others):  # a numeric target
        as_numbers.append(reading.label)
    declared = declared._replace(not_codes=as_numbers)
    table = table_of_other_file(path, reading, lambda name: name in as_numbers)
    if table is not None:
        if no_result is not None:
            table = no_result.taken_from(table)
        table, found = numbers_of(table, declared, str(path), [name for name in as_numbers if name in table.columns])
    else:
        used = dict.fromkeys((*columns.names, *others, *as_numbers))
        table, found = read_table(
            path,
            separator=reading.separator,
            declared=declared,
            header_row=reading.header_row,
            as_text=texts,
            only=used,
            no_result=no_result,
        )
    for column in numbers:
        mark = found.marks.get(column.name, column.unit)
        if mark != column.unit and (not column.unit or is_mark(column.unit)):  # another unit is what a user calls it
            trained = f"had {column.unit!r}" if column.unit else "had no sign"
            raise ValueError(
                f"the column {column.name!r} of {path} has numbers with {mark!r}, which in the training {trained}; "
                "write them as there"
            )
    for column in numbers:  # so that no text is read once more, by the signs of the model
        if column.name in table.columns and table[column.name].dtype.kind not in "biufc":
            table[column.name] = as_wide_numbers(table[column.name], column.name, column.odd_is_missing)
    return table


def refuse_unknown_columns(names: Collection[str], table: pd.DataFrame, what: str) -> list[str]:
    """The names; ValueError for one that is no column of the table."""
    for name in names:
        if name not in table.columns:
            raise ValueError(f"{what}: {explain_unknown('column', name, list(map(str, table.columns)))}")
    return list(names)


def labels_for(cells: pd.Series, classes: NDArray, what: str) -> NDArray:
    """The labels of a table as labels of a model, (n_samples,), which are compared as text, or as numbers.

    Parameters
    ----------
    cells : Series of n_samples labels as read from a file
    classes : array (n_classes,), the classes of the model
    what : str, the column and its file, for messages

    Raises
    ------
    ValueError
        If a label is missing, or not among ``classes``, or if two different ones, as ``1E2`` and ``10E1``, are one.
    """
    n_missing = int(cells.isna().sum())
    if n_missing:
        raise ValueError(f"{n_missing} row(s) have no value in {what}; remove them, or use predict for such rows")
    found: dict[Any, int] = {}
    first: dict[int, Any] = {}
    for label in cells.unique():
        code = _class_of_label(label, classes)
        if code is None:
            raise ValueError(f"{what} has the label {brief(label)}, which is no class of the model: {listing(classes)}")
        other = first.setdefault(code, label)
        if decimal_form(other) != decimal_form(label) and plain_number(str(label).strip()) is not None:
            raise ValueError(
                f"{what} has the labels {brief(other)} and {brief(label)}, which are both the class {classes[code]} of "
                "the model; write them alike"
            )
        found[label] = code
    return classes[[found[label] for label in cells]]


def numbers_for(cells: pd.Series, classes: NDArray, what: str) -> NDArray[np.float64]:
    """The numbers of a numeric target, float64 (n_samples,); ValueError where one is missing or no number."""
    try:
        numbers = cells.to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        odd = next((cell for cell in cells if plain_number(str(cell).strip()) is None), cells.iloc[0])
        raise ValueError(f"{what} must hold numbers, as the model answers with them, got {brief(str(odd))}") from None
    n_missing = int(np.isnan(numbers).sum())
    if n_missing:
        raise ValueError(f"{n_missing} row(s) have no value in {what}; remove them, or use predict for such rows")
    return numbers


def _class_of_label(label: Any, classes: NDArray) -> int | None:
    """The index of the class that is this label, as text or as a number; None if there is none."""
    text = str(label).strip()
    texts = [str(c) for c in classes]
    for form in (str(label), text, text.capitalize() if classes.dtype.kind == "b" else text):
        if form in texts:
            return texts.index(form)
    plain = text if plain_number(text) is not None else plain_text(text, Writing(","))
    if classes.dtype.kind not in "iuf" or plain is None:
        return None
    equal = np.flatnonzero(classes == float(plain))
    return int(equal[0]) if len(equal) else None
