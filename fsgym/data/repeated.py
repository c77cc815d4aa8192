"""What a table holds twice: rows that are equal, which cross random splits, and columns that are copies of others."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

DUPLICATES = "duplicates"  # the value of ``row_groups`` that keeps equal rows together
MAX_DISTINCT_SHARE = 0.5  # distinct values per row, up to which values that go one to one are a renamed copy; by hand


def duplicate_groups(X: NDArray[np.float32]) -> NDArray[np.int64]:
    """The group of each row of features (n, n_features), int64 (n,): equal rows have the same; NaN equals NaN.

    >>> duplicate_groups(np.array([[1, np.nan], [2, 0], [1, np.nan]], np.float32))
    array([0, 1, 0])
    """
    import pandas as pd

    plain = np.where(np.isnan(X), np.float32(np.nan), X + np.float32(0))  # one NaN, and no -0
    return pd.factorize(np.array([row.tobytes() for row in plain], dtype=object))[0].astype(np.int64)


class RepeatedRows(NamedTuple):
    """Rows that have the values of an earlier row."""

    n_rows: int
    n_repeated: int  # rows whose features are those of an earlier row
    n_same_class: int  # those of them whose class is that of such an earlier row, too; 0 without a target
    left_out: tuple[str, ...]  # columns that were not compared, as identifiers are not


def codes_of(column: pd.Series) -> NDArray[np.int64]:
    """The values of a column as codes in the order of first appearance, int64 (n,), -1 where missing."""
    import pandas as pd

    try:
        return pd.factorize(column)[0].astype(np.int64)
    except TypeError:  # lists and other values without a hash
        return pd.factorize(column.map(str))[0].astype(np.int64)


def repeated_rows(table: pd.DataFrame, label: str, left_out: Collection[str]) -> RepeatedRows:
    """The rows of a table whose features are equal to those of an earlier row."""
    import pandas as pd

    names = [name for name in table.columns if name != label and name not in left_out]
    codes = pd.DataFrame({k: codes_of(table[name]) for k, name in enumerate(names)})
    if codes.empty:
        return RepeatedRows(len(table), 0, 0, tuple(left_out))
    repeated = codes.duplicated()
    same = codes.assign(label=codes_of(table[label])).duplicated() if label in table.columns else repeated & False
    return RepeatedRows(len(table), int(repeated.sum()), int(same.sum()), tuple(left_out))


def copied_columns(columns: list[pd.Series], label: int | None) -> dict[int, tuple[int, bool]]:
    """Columns that repeat an earlier one, by their place: the place of that one, and whether the values are equal.

    Otherwise each value of one stands for one value of the other. Columns without two values are not compared; one
    that repeats that at the place ``label`` comes after it, wherever it is.
    """
    earlier: dict[bytes, list[tuple[int, Any]]] = {}  # places, and the first values there
    found: dict[int, tuple[int, bool]] = {}
    places = sorted(range(len(columns)), key=lambda k: k != label)
    for place in places:
        codes = codes_of(columns[place])
        n_distinct = int(codes.max(initial=-1)) + 1
        if n_distinct < 2:
            continue
        others = earlier.setdefault(codes.tobytes(), [])  # that go one to one, as all columns of distinct values do
        value = columns[place].iloc[int(np.argmax(codes == 0))]
        alike = [other for other, first in others if _are_same(first, value)]
        equal = next((other for other in alike if _are_equal(columns[other], columns[place])), None)
        if equal is not None:
            found[place] = equal, True
        elif others and n_distinct <= MAX_DISTINCT_SHARE * len(codes):
            found[place] = others[0][0], False
        else:
            others.append((place, value))
    return found


def _are_equal(one: Any, other: Any) -> bool:
    present = one.notna().to_numpy()
    return all(map(_are_same, one.to_numpy(dtype=object)[present], other.to_numpy(dtype=object)[present]))


def _are_same(a: Any, b: Any) -> bool:
    return bool(str(a) == str(b)) or (_is_number(a) and _is_number(b) and bool(a == b))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number)
