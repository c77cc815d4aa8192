"""From a pandas table to a data set: labels, numbers, one-hot encoded categorical columns, and groups."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.cells import as_numbers, as_wide_numbers, level_order, level_texts, plain_number
from fsgym.data.columns import Column, Columns
from fsgym.data.dataset import Dataset
from fsgym.data.scaling import float32_offsets
from fsgym.text.messages import brief, did_you_mean, explain_unknown, listing, option_text

if TYPE_CHECKING:
    import pandas as pd

MAX_TABLE_BYTES = 4_000_000_000  # of a dense float32 table
MAX_FEATURES = 1_000_000  # each with a name and a column, some 500 bytes
MAX_TEXT_LEVELS = 100  # with more distinct texts, in over half of the rows, a column is taken for an identifier


def check_size(n_samples: int, n_features: int, what: str) -> None:
    """ValueError when the dense float32 table would not fit into about 4 GB, or has too many columns."""
    need = 4 * int(n_samples) * int(n_features)
    if need > MAX_TABLE_BYTES:
        raise ValueError(
            f"{what} is {n_samples} x {n_features}, which needs {need / 1e9:.1f} GB as a dense float32 table "
            f"and the limit is {MAX_TABLE_BYTES / 1e9:.0f} GB; drop columns or rows first"
        )
    if n_features > MAX_FEATURES:
        raise ValueError(f"{what} has {n_features} columns, and the limit is {MAX_FEATURES}; drop columns first")


def take_target(frame: pd.DataFrame, target: str, what: str, is_number: bool = False) -> tuple[pd.DataFrame, NDArray]:
    """The feature columns, and the labels as ints or text; of a target that ``is_number``, its numbers.

    ValueError where a label is missing, or is no number, or the labels are too many different values for classes.
    """
    column: Any = frame[target]
    n_missing = int(column.isna().sum())
    if n_missing:
        raise ValueError(f"{n_missing} row(s) of {what} have no value in the target column {target!r}; remove them")
    if column.dtype.name == "category":
        column = column.astype(column.cat.categories.dtype)
    labels = column.to_numpy()
    if is_number and labels.dtype.kind not in "biuf":
        odd = next((v for v in labels if plain_number(str(v).strip()) is None), labels[0])
        raise ValueError(
            f"the target column {target!r} of {what} must hold numbers, got {brief(odd)}; correct it, or leave "
            f"{option_text('bins', command='--numeric-target')} out for classes"
        )
    if labels.dtype.kind == "f" and (labels == np.floor(labels)).all() and np.abs(labels).max() < 2**53:
        labels = labels.astype(np.int64)
    if labels.dtype.kind not in "iufb":
        labels = np.array([str(v) for v in labels])
    distinct = len(np.unique(labels))
    if distinct > max(20, len(labels) // 2) and not is_number:
        raise ValueError(
            f"the target column {target!r} of {what} has {distinct} distinct values in {len(labels)} rows, "
            f"too many for classes; choose another target{_as_number(labels)}"
        )
    return frame.drop(columns=target), labels


def _as_number(labels: NDArray) -> str:
    """How labels can be predicted as a number, as the end of a sentence; "" where most of them are none."""
    texts = [str(label).strip() for label in labels]
    odd = [text for text in texts if plain_number(text.removesuffix("%")) is None]  # such as inf
    if len(odd) > len(texts) // 2:
        return ""
    correct = f"correct {brief(odd[0])} and the like, and " if odd else ""
    return f", or, if it is a number, {correct}pass {option_text('bins', 16, '--numeric-target')}"


def take_row_groups(frame: pd.DataFrame, column: str, what: str) -> tuple[pd.DataFrame, pd.Series]:
    """The other columns, and the column that gives the group of each row.

    ValueError if there is no such column, a row has no value in it, or two values differ only in spaces at their ends.
    """
    if column not in frame.columns:
        raise ValueError(
            f"{what} has no column {column!r} for {option_text('row_groups')}"
            + (did_you_mean(column, frame.columns) or f"; its columns are {listing(frame.columns, 40)}")
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
            raise ValueError(f"{option_text('drop')}: {explain_unknown(f'column of {what}', name, frame.columns)}")
    return frame.drop(columns=list(drop))


def infer_columns(
    frame: pd.DataFrame, *, category: Collection[str] = (), numeric: Collection[str] = (), one_hot: bool = True
) -> Columns:
    """The columns of a table: the dtype decides which are numbers, and text is a category.

    Parameters
    ----------
    frame : DataFrame of shape (n_samples, n_columns)
    category : names of columns that are categories whatever they hold
    numeric : names of columns that are numbers; their cells that are no numbers count as missing
    one_hot : bool
        False: a category is one feature of codes 0, 1, ... in the order of its levels.

    Raises
    ------
    ValueError
        If a column holds dates or something else that is neither number, bool nor text.
    """
    return Columns([_infer_column(frame[key], key in category, key in numeric, one_hot) for key in frame.columns])


def _infer_column(cells: Any, is_category: bool, is_numeric: bool, one_hot: bool) -> Column:
    import pandas as pd

    name = str(cells.name)
    if is_numeric:
        return Column(name, odd_is_missing=True, offset=_offset(cells, True))
    if not is_category and not isinstance(cells.dtype, pd.CategoricalDtype):
        if pd.api.types.is_bool_dtype(cells.dtype) or _has_bools_alone(cells):
            return Column(name, "bool")
        if pd.api.types.is_numeric_dtype(cells.dtype) or cells.isna().all():
            return Column(name, offset=_offset(cells, False))
    if not is_category and (cells.dtype.kind in "mM" or isinstance(cells.dtype, pd.PeriodDtype | pd.DatetimeTZDtype)):
        as_numbers(cells, name)  # raises
    levels = sorted({v for v in level_texts(cells) if v is not None}, key=level_order)
    if not is_category and len(levels) > MAX_TEXT_LEVELS and 2 * len(levels) > len(cells):
        raise ValueError(
            f"the text column {name!r} has {len(levels)} distinct values in {len(cells)} rows, which looks like an "
            f"identifier; drop it: {option_text('drop', [name])}"
        )
    return Column(name, "category" if one_hot else "codes", tuple(levels))


def _has_bools_alone(cells: Any) -> bool:
    """Whether the given cells of a column of objects are truth values, as pandas reads them beside empty ones."""
    given = cells.dropna() if cells.dtype == object else cells[:0]
    return len(given) > 0 and all(isinstance(cell, bool | np.bool_) for cell in given)


def _offset(cells: Any, odd_is_missing: bool) -> float:
    """The offset that a column of numbers needs in float32."""
    numbers = as_wide_numbers(cells, str(cells.name), odd_is_missing)
    return float(float32_offsets(numbers[:, None])[0])


def dataset_of(columns: Columns, frame: pd.DataFrame, labels: ArrayLike, **options: Any) -> Dataset:
    """The data set of a table with known columns; each category is a group. ``options`` are those of ``Dataset``."""
    grouped: Any = {}
    if any(column.kind == "category" for column in columns):
        grouped = {"groups": [list(f) for f in columns.features], "group_names": columns.names}
    return Dataset(columns.encode(frame), labels, columns=columns, **(grouped | options))
