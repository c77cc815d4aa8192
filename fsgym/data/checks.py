"""Checks of tables, labels, names of columns and groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from operator import index as as_index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.cells import FINITE_NUMBERS
from fsgym.text.messages import brief, option_text


def as_array(X: Any) -> NDArray:
    """``X`` as an array; a masked value is a missing one."""
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan)
    return np.asarray(X)


def check_table(X: ArrayLike) -> NDArray[np.float32]:
    """A fresh copy of ``X``, float32 (n_samples, n_features); NaN is allowed, infinity is not."""
    try:
        wide = as_array(X)
        text = wide.dtype.kind == "O" and any(isinstance(cell, str | bytes) for cell in wide.flat)
        if text or wide.dtype.kind not in "buifO":
            raise TypeError
        with np.errstate(over="ignore"):
            table = np.array(wide, dtype=np.float32, order="C")
    except (TypeError, ValueError):
        raise TypeError(
            "X must be a table of numbers; fsgym.load_dataset(frame, target=...) reads a DataFrame with text"
        ) from None
    except OverflowError:  # an int that float64 cannot hold either
        raise ValueError(f"X must hold {FINITE_NUMBERS}, got an int beyond them; use NaN for a missing value") from None
    if table.ndim != 2:
        raise ValueError(f"X must have shape (n_samples, n_features), got {table.shape}")
    if 0 in table.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {table.shape}")
    if np.isinf(table).any():
        row, column = (int(k) for k in np.argwhere(np.isinf(table))[0])
        raise ValueError(
            f"X must hold {FINITE_NUMBERS}, got {wide[row, column]:g} in row {row} of column {column}; use NaN for a "
            "value that is not available, or another unit"
        )
    return table


def check_bounds(table: NDArray[np.float32], bounds) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Smallest and largest value of each column, float32 (n_features,) each, or the given bounds, checked."""
    if bounds is None:
        known = ~np.isnan(table)
        low = np.where(known, table, np.inf).min(axis=0).astype(np.float32)
        high = np.where(known, table, -np.inf).max(axis=0).astype(np.float32)
        empty = ~known.any(axis=0)
        low[empty], high[empty] = 0.0, 0.0
        return low, high
    try:
        with np.errstate(over="ignore"):
            low, high = (np.array(b, dtype=np.float32) for b in bounds)
    except (TypeError, ValueError, OverflowError):
        raise TypeError("bounds must be two arrays of numbers, the smallest and the largest values") from None
    n = table.shape[1]
    if low.shape != (n,) or high.shape != (n,):
        raise ValueError(f"bounds must be two arrays of shape ({n},), got {low.shape} and {high.shape}")
    if not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
        raise ValueError("bounds must be finite, with each smallest value at most the largest")
    return low, high


def check_image_shape(image_shape, n_features: int) -> tuple[int, int]:
    """Height and width of images with one pixel per feature."""
    try:
        height, width = (as_index(v) for v in image_shape)
    except (TypeError, ValueError):
        raise TypeError(f"image_shape must be two integers, height and width, got {brief(image_shape)}") from None
    if height < 1 or width < 1 or height * width != n_features:
        raise ValueError(f"image_shape {(height, width)} must have {n_features} pixels, one per feature")
    return height, width


def is_missing_label(label: object) -> bool:
    """Whether a label is None, NaN, NaT or ``pandas.NA``."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor unequal to itself
        return True


def is_frame(value: Any) -> bool:
    """Whether the value is a pandas DataFrame, without importing pandas."""
    return hasattr(value, "columns") and hasattr(value, "index") and hasattr(value, "to_numpy")


def as_pandas(data: Any) -> Any:
    """A table or column of polars or Arrow as one of pandas; anything else as it is.

    Raises TypeError for a lazy table of polars, whose rows were not computed yet.
    """
    if type(data).__module__.partition(".")[0] not in ("polars", "pyarrow"):
        return data
    if hasattr(data, "collect"):
        raise TypeError("a table of polars must have its rows, got a LazyFrame; pass its collect()")
    try:
        return data.to_pandas()
    except ImportError:  # polars needs pyarrow for it
        import pandas as pd

        if hasattr(data, "columns"):
            return pd.DataFrame(data.to_dict(as_series=False))
        return pd.Series(data.to_list(), name=data.name)


def refuse_missing_labels(y: Any) -> None:
    """ValueError where labels are NaN or infinite, or a list of texts has None or NaN, as NumPy's text "nan"."""
    is_list = isinstance(y, list | tuple)
    if is_list and any(isinstance(v, str) for v in y) and any(map(is_missing_label, y)):
        raise ValueError("y must not hold missing labels; drop the rows without a label")
    if isinstance(getattr(y, "dtype", None), np.dtype) or (is_list and all(isinstance(v, Real) for v in y)):
        values = np.asarray(y)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError("y must not hold NaN or infinity; drop the rows without a label")


def encode_labels(y: ArrayLike, n_samples: int, classes: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray]:
    """Class codes, int64 (n_samples,), and the sorted labels that they index: ``classes``, or those found in ``y``."""
    refuse_missing_labels(y)
    try:
        values = np.asarray(y)
        labels = None if classes is None else np.array(classes)
    except ValueError:
        raise TypeError("y and classes must be plain lists of labels, all numbers or all text") from None
    if values.shape != (n_samples,):
        raise ValueError(f"y must have shape ({n_samples},), one label per row of X, got {values.shape}")
    if values.dtype.kind in "OMm" and any(is_missing_label(v) for v in values):
        raise ValueError("y must not hold missing labels; drop the rows without a label")
    try:
        labels = np.unique(values) if labels is None else labels
        if labels.ndim != 1 or len(np.unique(labels)) != len(labels) or (np.sort(labels) != labels).any():
            raise ValueError("classes must be a sorted list of distinct labels")
        if len(labels) < 2:
            raise ValueError(f"y must hold at least two classes, got {labels.tolist()}")
        codes = np.searchsorted(labels, values).clip(max=len(labels) - 1)
        unknown = np.asarray(labels[codes] != values)
    except TypeError:
        raise TypeError("labels must be of one kind that can be sorted: all numbers or all text") from None
    if unknown.any():
        label = values[np.flatnonzero(unknown)[0]]
        raise ValueError(f"y holds the label {label!s}, which is not among the classes {labels.tolist()}")
    return codes.astype(np.int64), labels.copy()


def default_names(n_features: int) -> list[str]:
    """The names of features that have none: x0, x1, ..."""
    return [*check_names(None, n_features)]


def check_names(
    names: Sequence[str] | None, n: int, what: str = "feature_names", default: str = "x{}"
) -> tuple[str, ...]:
    """``n`` distinct names as strings; by default ``default`` with the index in place of {}."""
    if names is None:
        return tuple(default.format(i) for i in range(n))
    if isinstance(names, str | bytes) or not np.iterable(names):
        raise TypeError(f"{what} must be a sequence of {n} names, got {brief(names)}")
    names = tuple(str(v) for v in names)
    if len(names) != n:
        raise ValueError(f"{what} must name {n}, got {len(names)} names")
    if len(set(names)) != n:
        twice = next(a for a, b in pairwise(sorted(names)) if a == b)
        raise ValueError(f"{what} must be distinct, got {brief(twice)} twice")
    return names


def columns_by_name(X: Any, names: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
    """A DataFrame with its columns in the order of ``names``, and the names, by default those of the columns.

    ``X`` stays as it is if it is no DataFrame, if a column has no text as its name, or if ``names`` are other names.
    """
    own = list(getattr(X, "columns", ()))
    if not own or not all(isinstance(name, str) for name in own):
        return X, names
    if names is None:
        return X, own
    same = np.iterable(names) and sorted(own) == sorted(map(str, names))
    return (X[list(names)] if same else X), names


def check_groups(groups: Sequence[Sequence[int]] | ArrayLike, n_features: int) -> tuple[tuple[int, ...], ...]:
    """Groups as tuples of feature indices, from lists of indices or from one group number for each feature.

    Raises ValueError unless every feature is in exactly one group and no group is empty.
    """
    expected = "groups must be lists of feature indices, or one group number per feature"
    if isinstance(groups, str | bytes | Mapping) or not np.iterable(groups):
        raise TypeError(f"{expected}, got {brief(groups)}")
    listed: list[Any] = list(groups)  # type: ignore[arg-type]
    try:
        if listed and all(not np.iterable(g) for g in listed):
            result = _groups_from_numbers([as_index(g) for g in listed], n_features)
        else:
            result = tuple(tuple(as_index(i) for i in g) for g in listed)
    except TypeError:
        raise TypeError(expected) from None
    for g, members in enumerate(result):
        if not members:
            raise ValueError(f"group {g} is empty; every group must hold at least one feature")
    flat = sorted(i for members in result for i in members)
    if any(not 0 <= i < n_features for i in flat):
        outside = next(i for i in flat if not 0 <= i < n_features)
        raise ValueError(f"{option_text('groups')} name feature {outside}, but the features are 0 to {n_features - 1}")
    repeated = [a for a, b in pairwise(flat) if a == b]
    if repeated:
        raise ValueError(f"{option_text('groups')} must not overlap, but feature {repeated[0]} is in more than one")
    if len(flat) != n_features:
        missing = min(set(range(n_features)) - set(flat))
        raise ValueError(f"{option_text('groups')} must cover every feature, but feature {missing} is in none")
    return result


def _groups_from_numbers(numbers: list[int], n_features: int) -> tuple[tuple[int, ...], ...]:
    """Groups from one group number for each feature."""
    if len(numbers) != n_features:
        raise ValueError(
            f"{option_text('groups')} must give one group number for each of the {n_features} features, got "
            f"{len(numbers)}"
        )
    if min(numbers) < 0 or max(numbers) >= n_features:
        raise ValueError(
            f"group numbers must be 0, 1, 2, ... without a gap, got {min(numbers)} to {max(numbers)} "
            f"for {n_features} features"
        )
    members: list[list[int]] = [[] for _ in range(max(numbers) + 1)]
    for feature, group in enumerate(numbers):
        members[group].append(feature)
    return tuple(tuple(m) for m in members)
