"""``describe``: the columns of a table, one row each, and what looks wrong with them."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fsgym.data.cells import level_order
from fsgym.data.checks import as_pandas
from fsgym.data.dataset import Dataset
from fsgym.data.repeated import DUPLICATES, RepeatedRows, copied_columns, repeated_rows
from fsgym.support.checks import check_number
from fsgym.text.messages import (
    brief,
    counted,
    did_you_mean,
    explain_unknown,
    is_command,
    listing,
    option_text,
    warn_caller,
)

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.data.reading.reading import Reading
    from fsgym.data.suspicions import Suspicion

SHOWN_LEVELS, LONGEST_LEVEL = 4, 20  # levels of a column, and characters of a level
FEW_NUMBERS, FEWEST_ROWS = range(3, 11), 30  # distinct whole numbers that may be a code, in so many rows; by hand
MANY_NUMBERS = 20  # by hand: of a target; with more of them it is rather a number than a class
LEAST_TELLING = 5  # cells with a value, and without, from which it counts that their classes differ; by hand
FIELDS = ("column", "type", "levels", "low", "high", "missing", "price", "unit", "suspicion", "remedy")
NO_FEATURES = ("row groups", "prices")  # types of columns that are neither features nor the target
TEXT_KINDS = (
    "nearly numeric",
    "identifier",
    "many levels",
    "merged",
    "leading zeros",
    "null bytes",
    "type",
)  # of columns of text


def describe(
    data: pd.DataFrame | str | os.PathLike | Dataset,
    target: str | None = None,
    *,
    costs: Any = None,
    units: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    numeric: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    censored: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    data_dir: str | os.PathLike | None = None,
    row_groups: str | None = None,
) -> pd.DataFrame:
    """Describe the columns of a table, and say which of them look wrong and what to do.

    A suspicious table is no error, as it is for ``load_dataset``.

    Parameters
    ----------
    data : DataFrame, path, name or Dataset
        A table, the path of a CSV, Parquet or Excel file, or a data set as in ``load_dataset``. The columns of data
        sets that have a name are not examined.
    target : str, optional
        The column of the labels; by default ``target``, if there is one.
    costs : number, mapping or Series name -> price, or path, optional
        Prices of the columns; a path is that of a file as in ``load_costs``.
    units : mapping name -> unit, optional
        Such as ``{"crp": "mg/l"}``.
    drop : sequence of str, optional
        Columns to leave out, as in ``load_dataset``, such as identifiers and prices of the case: two rows that differ
        in nothing else are equal.
    category, numeric : sequence of str, optional
        Columns that are read so, as in ``load_dataset``, whatever they look like.
    separator, decimal, thousands, censored, sheet, header_row : optional
        As in ``load_dataset``.
    data_dir : path, optional
        As in ``load_dataset``.
    row_groups : str, optional
        The column that says which rows belong together, as in ``load_dataset``. It is not examined.
        "duplicates" changes nothing here.

    Returns
    -------
    DataFrame
        One row per column: ``column``, its name; ``type``: number, category, bool, date, text, classes (the target) or
        row groups; ``levels``, how many and the first of them, of classes with the rows of each; ``low`` and ``high``,
        of numbers; ``missing``, the share of rows without a value; ``price``; ``unit``; ``suspicion`` and ``remedy``,
        "" where nothing looks wrong. Its ``attrs`` has "repeated_rows", a sentence about rows that are equal to earlier
        ones; "" where there are none, and for data sets that have a name.

    Raises
    ------
    ValueError, TypeError, OSError
        If the file cannot be read as a table, or the data set is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> from fsgym import describe
    >>> table = pd.DataFrame({"age": ["31", "unknown", "45"], "ward": ["er", "gp", "er"]})
    >>> describe(table)[["column", "type", "levels", "suspicion"]].values.tolist()
    [['age', 'text', '3: 31, 45, unknown', "2 numbers and 'unknown'"], ['ward', 'category', '2: er, gp', '']]
    """
    from fsgym.data.reading.reading import Reading

    given = Reading(target, drop, category, numeric, separator, decimal, units=units)  # type: ignore[arg-type]
    given = given._replace(thousands=thousands, censored=censored, sheet=sheet, header_row=header_row)
    return described(data, given._replace(row_groups=row_groups), costs, data_dir)


def described(data: Any, given: Reading, costs: Any = None, data_dir: Any = None) -> pd.DataFrame:
    """What ``describe`` returns, of a table that is read in this way; columns with prices of the case are no features.

    Their ``type`` is prices.
    """
    import pandas as pd

    from fsgym.data.reading.reading import check_reading

    reading = check_reading(given)
    table, marks = read_source(data, reading, data_dir)
    repeated = ""
    if isinstance(table, Dataset):
        rows = _rows_of_dataset(table)
        if reading.row_groups not in (None, DUPLICATES):
            raise ValueError(
                f"{option_text('row_groups')} is only for tables with column names, got {brief(reading.row_groups)} "
                f"for {table.name!r}"
            )
    else:
        equal_stay = reading.row_groups == DUPLICATES and reading.row_groups not in table.columns
        rows = _rows_of_table(table, reading._replace(row_groups=None) if equal_stay else reading)
        repeated = _repeated_text(table, rows, reading.row_groups, equal_stay)
    names = [row["column"] for row in rows if row["type"] not in ("classes", *NO_FEATURES)]
    prices = _prices(costs, names, data_dir)
    measured = [row["column"] for row in rows if row["type"] not in NO_FEATURES]  # also a target, which may be numeric
    for name in reading.units or ():
        if name not in measured:
            raise ValueError(f"{option_text('units')}: " + explain_unknown("column", name, measured))
    for row in rows:
        row["price"] = prices.get(row["column"], row.get("price", np.nan))
        row["unit"] = (marks | {**(reading.units or {})}).get(row["column"], row.get("unit", ""))
    found = pd.DataFrame([{field: row[field] for field in FIELDS} for row in rows], columns=list(FIELDS))
    found.attrs["repeated_rows"] = repeated
    return found


def read_source(data: Any, reading: Reading, data_dir: Any = None) -> tuple[pd.DataFrame | Dataset, dict[str, str]]:
    """The table of a DataFrame or file, or a data set, and the per cent and currency signs of its columns by name.

    A data set has no columns that are dropped, or have prices of the case; a table has them.
    """
    from fsgym.data.reading.reading import USE_OF, numbers_in, read_columns
    from fsgym.datasets.folder import without_features
    from fsgym.datasets.loading import is_path, load_whole

    data, ungrouped = as_pandas(data), reading._replace(row_groups=None, units=None)
    if isinstance(data, Dataset):
        ungrouped.refuse(USE_OF, "the Dataset")
        return without_features(data, ungrouped).dataset, {}
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        reading.refuse(("separator", "sheet", "header_row"), "the DataFrame")
        if not data.columns.is_unique:
            return data, {}
        table, found = numbers_in(data.copy(deep=False), reading, "the DataFrame")
        return table, found.marks
    if not isinstance(data, str | os.PathLike):
        raise TypeError(f"data must be a DataFrame, a Dataset, a path or a name, got {type(data).__name__}")
    name = os.fsdecode(data)
    if not is_path(name) or name.endswith(".npz"):
        return load_whole(data, ungrouped, data_dir).dataset, {}
    table, found = read_columns(Path(name).expanduser(), reading)
    return table, found.marks


def _rows_of_table(table: pd.DataFrame, reading: Reading) -> list[dict[str, Any]]:
    """What is known of the columns of a table, without those that are dropped."""
    from fsgym.data.case_costs import take_case_prices
    from fsgym.data.reading.frames import drop_columns
    from fsgym.data.reading.reading import check_named_columns

    names, row_groups = [str(name) for name in table.columns], reading.row_groups
    if reading.target is not None and reading.target not in names:
        raise ValueError(f"the table has no column {reading.target!r}; choose one of them as target: {listing(names)}")
    if row_groups is not None and row_groups not in names:
        raise ValueError(f"{option_text('row_groups')}: " + explain_unknown("column", row_groups, names))
    repeated = {name for name, n in Counter(names).items() if n > 1}
    if not repeated:
        check_named_columns(names, reading, "the table")
        table = drop_columns(table, [name for name in reading.drop if name != row_groups], "the table")
        take_case_prices(table, reading.case_price or {}, "the table")  # checks them
    kinds = {row_groups: "row groups"} | dict.fromkeys((reading.case_price or {}).values(), "prices")
    rows = []
    for i, name in enumerate(map(str, table.columns)):
        row = _row(_as_read(table.iloc[:, i].rename(name), reading), is_label=name == reading.label)
        if name in kinds or (name in (*reading.category, *reading.numeric) and name != reading.label):
            row |= {"type": kinds.get(name, row["type"]), "kind": "", "suspicion": "", "remedy": ""}
        if name == row_groups:
            row |= {"low": np.nan, "high": np.nan}
        if name in repeated:
            row |= {"suspicion": "has the same name as another column", "remedy": "rename or remove one of them"}
            row["kind"] = "repeated name"
        rows.append(row)
    _note_copies(table, rows)
    return rows


def _note_copies(table: pd.DataFrame, rows: list[dict[str, Any]]) -> None:
    """Say of columns that look right otherwise, or may be codes, which other column they repeat."""
    compared = [
        k for k, row in enumerate(rows) if row["type"] == "classes" or not (row["type"] in NO_FEATURES or row["kind"])
    ]
    labels = [place for place, k in enumerate(compared) if rows[k]["type"] == "classes"]
    columns = [_plain(table.iloc[:, k]) for k in compared]
    for place, (other, equal) in copied_columns(columns, labels[0] if labels else None).items():
        row, of = rows[compared[place]], rows[compared[other]]
        option = option_text("drop", [row["column"]])
        if of["type"] == "classes":
            known = "class" if of["levels"] else "number"
            row["suspicion"] = f"tells the {known} in each row, as a copy of {of['column']}"
            row["remedy"] = f"if it is known only afterwards, pass {option}"
        else:
            how = "is a copy of" if equal else "tells the same as"
            row["suspicion"], row["remedy"] = f"{how} {of['column']}", f"one of them is enough: pass {option}"
            prices = [r["column"] for r in (row, of) if r["type"] == "number" and r["low"] > 0]
            if prices:
                priced = option_text("case_costs", command=f"--case-price {shlex.quote(f'NAME={prices[0]}')}")
                row["remedy"] += f", or, where {prices[0]} has the price of an acquisition in each row, {priced}"
    if labels and rows[compared[labels[0]]]["levels"]:
        _note_telling_gaps(columns, [rows[k] for k in compared], labels[0])


def _note_telling_gaps(columns: list[Any], rows: list[dict[str, Any]], label: int) -> None:
    """Say of columns that look right otherwise where whether there is a value tells the class in each row."""
    classes, labelled = columns[label], columns[label].notna().to_numpy()
    for column, row in zip(columns, rows, strict=True):
        missing, present = (labelled & cells for cells in (column.isna().to_numpy(), column.notna().to_numpy()))
        if row["suspicion"] or min(missing.sum(), present.sum()) < LEAST_TELLING:
            continue
        absent, others = set(classes[missing].astype(str)), set(classes[present].astype(str))
        if not absent & others:
            of, how = (absent, "is empty") if len(absent) <= len(others) else (others, "has a value")
            row["suspicion"] = f"{how} exactly where {rows[label]['column']} is {listing(sorted(of), 3)}"
            row["remedy"] = f"if it is filled in only afterwards, pass {option_text('drop', [row['column']])}"


def _plain(column: Any) -> Any:
    from fsgym.data.suspicions import plain_numbers

    numbers = plain_numbers(column)
    return column if numbers is None else numbers


def _repeated_text(table: pd.DataFrame, rows: list[dict[str, Any]], row_groups: str | None, equal_stay: bool) -> str:
    """The sentence about rows that are equal to earlier ones; identifiers and row groups are not compared."""
    if table.columns.has_duplicates:
        return ""
    names = [str(name) for name in table.columns]
    label = next((row["column"] for row in rows if row["type"] == "classes"), "")
    features = [row["column"] for row in rows if row["type"] != "prices"]  # those that are dropped have no row
    out = [row["column"] for row in rows if row["type"] == "row groups" or row.get("kind") == "identifier"]
    compared = table.set_axis(names, axis=1)[features]
    return repeated_in_words(repeated_rows(compared, label, out), row_groups, equal_stay)


def repeated_in_words(found: RepeatedRows, row_groups: str | None = None, equal_stay: bool = False) -> str:
    """What is said of rows that are equal to earlier ones, and of what keeps them together; "" if there are none.

    ``equal_stay``: equal rows stay together, but those that differ in a column that was not compared.

    >>> repeated_in_words(RepeatedRows(430, 30, 28, ())).partition(";")[0]
    '30 of 430 rows are equal to an earlier row in all features, 28 of them in the class, too'
    """
    if not found.n_repeated:
        return ""
    but = [name for name in found.left_out if name != row_groups]
    which = f"all features but {listing(but)}" if but else "all features"
    verb, also = ("is", "one") if found.n_repeated == 1 else ("are", f"{found.n_same_class:,} of them")
    text = f"{found.n_repeated:,} of {found.n_rows:,} rows {verb} equal to an earlier row in {which}"
    if found.n_same_class == found.n_repeated:
        text += " and in the class"
    elif found.n_same_class:
        text += f", {also} in the class, too"
    remedy = f"{option_text('row_groups', 'duplicates')} keeps them together" + (
        f" (with {option_text('drop', but)})" if but else ""
    )
    if equal_stay and not but:
        return f"{text}; they stay together in each split"
    if row_groups is not None and not equal_stay:
        remedy = f"rows with the same {row_groups} stay together, others do not"
    return f"{text}; a random split puts such rows on both sides, and its figures are optimistic: {remedy}"


def _as_read(column: Any, reading: Reading) -> Any:
    """A column as it is read where an option names it: of numbers, or a category; otherwise as it is."""
    import pandas as pd

    from fsgym.data.cells import as_wide_numbers, level_texts
    from fsgym.data.suspicions import check_numeric

    if column.name in reading.numeric:
        check_numeric(column)
        return pd.Series(as_wide_numbers(column, column.name, odd_is_missing=True), column.index, name=column.name)
    if column.name in reading.category and column.name != reading.label:
        return pd.Series(level_texts(column), column.index, "category", column.name)
    return column


def _row(column: Any, is_label: bool) -> dict[str, Any]:
    """What is known of one column of a table."""
    from fsgym.data.suspicions import Suspicion, find_label_suspicion, find_note, find_suspicion, plain_numbers

    numbers = None if is_label else plain_numbers(column)
    column = column if numbers is None else numbers
    suspicion = find_label_suspicion(column) if is_label else find_suspicion(column)
    kind = "classes" if is_label else _type_of(column, suspicion)
    note = "" if is_label else find_note(column) or ""
    code = _code_note(column.dropna()) if kind == "number" and not note and suspicion is None else ""
    many = is_label and suspicion is None and column.dtype.kind in "iuf" and column.nunique() > MANY_NUMBERS
    if is_label and not many and suspicion is None and (without := int(column.isna().sum())):
        suspicion = Suspicion("missing class", f"has no value in {without:,} row(s)", "remove these rows")
    low, high = _range(column) if kind == "number" or many else (np.nan, np.nan)
    if many:
        note = f"has {column.nunique():,} different numbers"
    return {
        "column": str(column.name),
        "type": kind,
        "levels": "" if kind in ("number", "date") or many else _levels(column, counted=is_label),
        "low": low,
        "high": high,
        "missing": float(column.isna().mean()) if len(column) else 0.0,
        "kind": suspicion.kind if suspicion else "",
        "suspicion": suspicion.text if suspicion else note or code,
        "remedy": _numeric_target(column)
        if many
        else suspicion.remedy
        if suspicion
        else _remedy_of_note(str(column.name), note, code),
    }


def _numeric_target(column: Any) -> str:
    """How a target of numbers is predicted as a number: rows that have none must go first."""
    without = int((~np.isfinite(column.to_numpy(np.float64, na_value=np.nan))).sum())
    to = "fsgym train and compare" if is_command() else "load_dataset"
    remedy = f"if it is to be predicted as a number, pass {option_text('bins', 16, '--numeric-target')} to {to}"
    return f"remove the {without:,} row(s) without a finite number; {remedy}" if without else remedy


def possible_codes(dataset: Dataset) -> list[str]:
    """The names of the columns of numbers that may be codes, as they have few whole ones.

    Examples
    --------
    >>> import numpy as np
    >>> import fsgym
    >>> X = np.column_stack([np.linspace(0, 1, 60), np.tile([1, 2, 7], 20)])
    >>> possible_codes(fsgym.Dataset(X, np.arange(60) % 2))
    ['x1']
    """
    columns = zip(dataset.columns, dataset.columns.features, strict=True)
    values = {c.name: dataset.X[:, i.start].astype(np.float64) + c.offset for c, i in columns if c.kind == "number"}
    return [name for name, numbers in values.items() if _code_note(numbers)]


def _code_note(cells: Any) -> str:
    """What is said of numbers, NaN where missing, that may be a code: there are few whole ones; "" of any others."""
    values = np.asarray(cells, dtype=np.float64)
    values = values[~np.isnan(values)]
    distinct = np.unique(values)
    if len(distinct) not in FEW_NUMBERS or len(values) < FEWEST_ROWS or (distinct % 1).any():
        return ""
    return f"{len(distinct)} distinct whole numbers, which may be a code"


def _remedy_of_note(name: str, note: str, code: str) -> str:
    if note:
        return f"it may be dropped: {option_text('drop', [name])}"
    return f"if they count nothing, pass {option_text('category', [name])}" if code else ""


def _type_of(column: Any, suspicion: Suspicion | None) -> str:
    import pandas as pd

    if suspicion and suspicion.kind == "date":
        return "date"
    if column.dtype.name == "category":
        return "category"
    if pd.api.types.is_bool_dtype(column.dtype):
        return "bool"
    if pd.api.types.is_numeric_dtype(column.dtype) or column.isna().all():
        return "number"
    return "text" if suspicion and suspicion.kind in TEXT_KINDS else "category"


def _range(column: Any) -> tuple[float, float]:
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
        return np.nan, np.nan
    values = column.to_numpy(np.float64, na_value=np.nan)
    values = values[~np.isnan(values)]
    return (float(values.min()), float(values.max())) if len(values) else (np.nan, np.nan)


def _levels(column: Any, counted: bool) -> str:
    rows = Counter(str(v) for v in column[column.notna()].to_numpy(dtype=object))
    return _in_words(sorted(rows, key=level_order), rows if counted else None)


def _in_words(levels: list[str], rows: Mapping[str, int] | None = None) -> str:
    shown = [v if len(v) <= LONGEST_LEVEL else f"{v[: LONGEST_LEVEL - 3]}..." for v in levels[: SHOWN_LEVELS + 1]]
    if rows is not None:
        counts = [counted(rows[level], "row") for level in levels]
        shown = [f"{text} ({count})" for text, count in zip(shown, counts)]
    return f"{len(levels):,}: {listing(shown, SHOWN_LEVELS)}"


def _rows_of_dataset(dataset: Dataset) -> list[dict[str, Any]]:
    """What is known of the columns of a data set; they are not examined, as they are encoded already."""
    group_of = {
        j: g for g, members in enumerate(dataset.groups or [(j,) for j in range(dataset.n_features)]) for j in members
    }
    rows: list[dict[str, Any]] = []
    for column, places in zip(dataset.columns, dataset.columns.features, strict=True):
        part = dataset.X[:, places.start : places.stop]
        missing = np.isnan(part).any(axis=1)
        values = part[~missing]
        number = column.kind == "number"
        ends = (float(values.min()), float(values.max())) if number and len(values) else (np.nan, np.nan)
        bounds = [column.shortest(v) if column.offset else v for v in ends]
        rows.append(
            {
                "column": column.name,
                "type": column.kind if column.kind != "codes" else "category",
                "levels": _in_words(list(column.levels)) if column.levels else "",
                "low": bounds[0],
                "high": bounds[1],
                "missing": float(missing.mean()),
                "price": np.nan if dataset.costs is None else float(dataset.costs[group_of[places.start]]),
                "unit": column.unit,
                "suspicion": "",
                "remedy": "",
            }
        )
    rows.append(
        dict.fromkeys(FIELDS, "")
        | {"column": "target", "type": "classes", "levels": _classes_of(dataset)}
        | {"low": np.nan, "high": np.nan, "missing": 0.0, "price": np.nan}
    )
    return rows


def _classes_of(dataset: Dataset) -> str:
    labels = [str(v) for v in dataset.classes]
    counts = np.bincount(dataset.y, minlength=len(labels)).tolist()
    return _in_words(labels, dict(zip(labels, counts, strict=True)))


def _prices(costs: Any, names: list[str], data_dir: Any) -> dict[str, float]:
    """The price of each column, as far as ``costs`` names it; a name that is no column gives a warning."""
    if costs is None:
        return {}
    if isinstance(costs, str | os.PathLike):
        from fsgym.datasets.prices import load_costs

        costs = load_costs(costs, data_dir=data_dir)
    if hasattr(costs, "to_dict"):
        costs = costs.to_dict()
    if not isinstance(costs, Mapping):
        return dict.fromkeys(names, check_number(costs, option_text("costs"), 0.0))
    unknown = [name for name in costs if name not in names]
    if unknown:
        message = f"costs names {listing(map(repr, unknown), 4)}, which is no column; its columns are {listing(names)}"
        message += did_you_mean(unknown[0], [name for name in names if name not in costs])
        warn_caller(message)
    return {str(name): check_number(price, f"the price of {name!r}", 0.0) for name, price in costs.items()}
