"""From a pandas table to a data set: labels, numbers, one-hot encoded categorical columns, and groups."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsgym.checks import listing
from fsgym.dataset import Dataset

if TYPE_CHECKING:
    import pandas as pd

MAX_TABLE_BYTES = 4_000_000_000  # of a dense float32 table
MAX_TEXT_LEVELS = 100  # with more distinct texts, in over half of the rows, a column is taken for an identifier
MISSING_NUMBERS = ("?", "NA", "N/A", "NaN", "nan", "null", "None")


def check_size(n_samples: int, n_features: int, what: str) -> None:
    """ValueError when the dense float32 table would not fit into about 4 GB."""
    need = 4 * int(n_samples) * int(n_features)
    if need > MAX_TABLE_BYTES:
        raise ValueError(
            f"{what} is {n_samples} x {n_features}, which needs {need / 1e9:.1f} GB as a dense float32 table "
            f"and the limit is {MAX_TABLE_BYTES / 1e9:.0f} GB; drop columns or rows first"
        )


def take_target(frame: pd.DataFrame, target: str, what: str) -> tuple[pd.DataFrame, NDArray]:
    """The feature columns, and the labels as ints or text.

    ValueError where a label is missing, or the labels are too many different values for classes.
    """
    column: Any = frame[target]
    n_missing = int(column.isna().sum())
    if n_missing:
        raise ValueError(f"{n_missing} row(s) of {what} have no value in the target column {target!r}; remove them")
    if column.dtype.name == "category":
        column = column.astype(column.cat.categories.dtype)
    labels = column.to_numpy()
    if labels.dtype.kind == "f" and (labels == np.floor(labels)).all() and np.abs(labels).max() < 2**53:
        labels = labels.astype(np.int64)
    if labels.dtype.kind not in "iufb":
        labels = np.array([str(v) for v in labels])
    distinct = len(np.unique(labels))
    if distinct > max(20, len(labels) // 2):
        raise ValueError(
            f"the target column {target!r} of {what} has {distinct} distinct values in {len(labels)} rows, "
            "too many for classes; choose another target, or divide its values into classes"
        )
    return frame.drop(columns=target), labels


def take_row_groups(frame: pd.DataFrame, column: str, what: str) -> tuple[pd.DataFrame, pd.Series]:
    """The other columns, and the column that gives the group of each row.

    ValueError if there is no such column, a row has no value in it, or two values differ only in spaces at their ends.
    """
    if column not in frame.columns:
        raise ValueError(
            f"{what} has no column {column!r} for row_groups (--row-groups); its columns are {listing(frame.columns)}"
        )
    groups: Any = frame[column]
    n_missing = int(groups.isna().sum())
    if n_missing:
        raise ValueError(
            f"{n_missing} row(s) of {what} have no value in {column!r}, the column of the row groups; give each row a "
            "value or remove it"
        )
    stripped: dict[str, Any] = {}
    for value in groups.unique():
        other = stripped.setdefault(str(value).strip(), value)
        if other is not value:
            raise ValueError(
                f"the column {column!r} of {what} has the row groups {other!r} and {value!r}, which differ only in "
                "spaces or type; write them alike"
            )
    return frame.drop(columns=column), groups


def drop_columns(frame: pd.DataFrame, drop: Collection[str], what: str) -> pd.DataFrame:
    """The table without the named columns; ValueError where there is no such column."""
    for name in drop:
        if name not in frame.columns:
            raise ValueError(f"{what} has no column {name!r} to drop; its columns are {listing(frame.columns)}")
    return frame.drop(columns=list(drop))


def encode(
    frame: pd.DataFrame,
    labels: NDArray,
    *,
    categorical: Collection[str] = (),
    one_hot: bool = True,
    name: str,
    what: str,
) -> Dataset:
    """A data set of the columns: numbers unchanged, categorical columns one-hot encoded into one group each.

    A categorical column with two levels becomes a single 0/1 column, any other one column per level. A missing value is
    NaN in all columns of the group. With ``one_hot=False`` a categorical column becomes one column of codes 0, 1, ...
    in the order of its sorted levels. Without categorical columns there are no groups.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
    labels : array of shape (n_samples,)
    categorical : names of columns of numbers that are treated as categorical
    one_hot : bool
    name : str, of the data set
    what : str, the source, for messages
    """
    if frame.shape[1] == 0:
        raise ValueError(f"{what} has no feature column besides the target")
    blocks: list[NDArray[np.float32]] = []
    names: list[str] = []
    groups: list[list[int]] = []
    has_categories = False
    width = 0
    for key in frame.columns:
        column: Any = frame[key]
        numeric = None if key in categorical else _numeric_column(column, what)
        if numeric is not None:
            columns, titles = [numeric], [str(key)]
        else:
            has_categories = True
            columns, titles = _encode_category(column, key in categorical, one_hot, what)
        groups.append(list(range(width, width + len(columns))))
        width += len(columns)
        check_size(len(frame), width, what)
        blocks += columns
        names += titles
    titles = [str(v) for v in frame.columns]
    return Dataset(
        np.column_stack(blocks),
        labels,
        feature_names=names,
        groups=groups if has_categories and one_hot else None,
        group_names=titles if has_categories and one_hot else None,
        name=name,
    )


def _numeric_column(column: Any, what: str) -> NDArray[np.float32] | None:
    """The column as float32 (n_samples,), or None where it holds text."""
    import pandas as pd

    text = column.dtype.name == "category" or not pd.api.types.is_numeric_dtype(column.dtype)
    if text and not column.isna().all():
        return None
    with np.errstate(over="ignore"):
        values = np.array([np.nan] * len(column)) if text else column.to_numpy(np.float64, na_value=np.nan)
        values = values.astype(np.float32)
    if np.isinf(values).any():
        raise ValueError(
            f"the column {column.name!r} of {what} has infinite values or values beyond float32; correct or drop it"
        )
    return values


def _encode_category(
    column: Any, listed: bool, one_hot: bool, what: str
) -> tuple[list[NDArray[np.float32]], list[str]]:
    """Columns of 0/1 (or one column of codes), NaN where the cell is missing, and their names."""
    import pandas as pd

    missing = column.isna().to_numpy()
    text = pd.Series([str(v) for v in column.to_numpy(dtype=object)[~missing]], dtype=object)
    codes, distinct = pd.factorize(text)
    levels = [str(v) for v in distinct]
    if not listed and len(levels) > MAX_TEXT_LEVELS and 2 * len(levels) > len(column):
        raise ValueError(
            f"the text column {column.name!r} of {what} has {len(levels)} distinct values in {len(column)} "
            "rows, which looks like an identifier; drop it (drop=[...], or --drop on the command line)"
        )
    order = sorted(range(len(levels)), key=lambda i: _level_order(levels[i]))
    rank = np.empty(len(levels), dtype=np.int64)
    rank[order] = np.arange(len(levels))
    levels = [levels[i] for i in order]
    values = np.full(len(column), np.nan, dtype=np.float32)
    values[~missing] = rank[codes]
    if not one_hot or not levels:
        return [values], [str(column.name)]
    indicated = [1] if len(levels) == 2 else range(len(levels))
    check_size(len(column), len(indicated), what)
    columns = []
    for level in indicated:
        indicator = (values == level).astype(np.float32)
        indicator[missing] = np.nan
        columns.append(indicator)
    return columns, [f"{column.name}={levels[i]}" for i in indicated]


def _level_order(level: str) -> tuple[int, float, str]:
    """Sorting key of a level: numbers in their order first, then text."""
    try:
        number = float(level)
    except ValueError:
        return 1, 0.0, level
    return (0, number, level) if number == number else (1, 0.0, level)
