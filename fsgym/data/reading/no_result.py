"""Cells with a text that says that an acquisition was made and brought no result, as a list of cases has them."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import level_text

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.data.columns import Column


def is_value_of(column: Column, text: str) -> bool:
    """Whether a text without outer spaces is a value of a column: a level, a truth value, a number in its range.

    A number may be written with either decimal sign, as that is found in each table.

    >>> from fsgym.data.columns import Column
    >>> pain, crp = Column("pain", "category", ("chest", "none")), Column("crp", low=0.0, high=90.0)
    >>> is_value_of(pain, "none"), is_value_of(pain, "0"), is_value_of(crp, "30,5"), is_value_of(crp, "-1")
    (True, False, True, False)
    """
    other = column._replace(decimal="." if column.decimal == "," else ",", thousands="")
    return any(_reads_value(one._replace(odd_is_missing=True), text) for one in (column, other))


def _reads_value(column: Column, text: str) -> bool:
    import pandas as pd

    try:
        feature = column.encode(pd.Series([text], dtype=object, name=column.name), {})[0, 0]
    except ValueError:  # a number with the other decimal sign, or one that float32 does not have
        return False
    if column.kind != "number" or np.isnan(feature):
        return not np.isnan(feature)
    return column.low is not None and column.high is not None and column.low <= column.shortest(feature) <= column.high


class NoResult:
    """The text that says so, and which cells of the table that was read last had it; they are read as empty.

    Attributes
    ----------
    text : str, without outer spaces
    names : the columns in which it is looked for
    cells : dict of str to bool (n_rows,), by column; only those that have the text

    Examples
    --------
    >>> import pandas as pd
    >>> no_result = NoResult("k. A.", ["crp"])
    >>> no_result.taken_from(pd.DataFrame({"crp": ["3.5", " k. A."], "note": "k. A."}))["crp"].tolist()
    ['3.5', nan]
    >>> no_result.cells["crp"].tolist()
    [False, True]
    """

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text, self.names = text.strip(), names
        self.cells: dict[str, NDArray[np.bool_]] = {}

    def taken_from(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table, in which these cells are empty."""
        self.cells = {}
        table = table.copy(deep=False)
        for name in [name for name in self.names if name in table.columns]:
            found = np.array([self._says_so(cell) for cell in table[name].tolist()], bool)
            if found.any():
                self.cells[name] = found
                table[name] = table[name].astype(object).where(~found, None).infer_objects()
        return table

    def taken_from_text(
        self, text: str, separator: str, names: Sequence[str], rows: Sequence[Sequence[str]]
    ) -> tuple[str, list[list[str]]]:
        """The text of a CSV file that has these columns, and its first rows, in which these cells are empty."""
        places = {k: name for k, name in enumerate(names) if name in self.names}
        found: dict[str, list[bool]] = {name: [] for name in places.values()}
        written = io.StringIO()
        lines = csv.writer(written, delimiter=separator, lineterminator="\n")
        kept = (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row)
        for number, row in enumerate(kept):
            if number:
                for k, name in places.items():
                    found[name].append(self._says_so(row[k]))
                row = self._without(row, places)
            lines.writerow(row)
        self.cells = {name: np.array(cells, bool) for name, cells in found.items() if any(cells)}
        return written.getvalue(), [self._without(row, places) for row in rows]

    def of_columns(self, names: Sequence[str], n_rows: int) -> NDArray[np.bool_]:
        """Whether the cells of these columns had the text, bool (n_rows, n_columns)."""
        nowhere = np.zeros(n_rows, bool)
        return np.column_stack([self.cells.get(name, nowhere) for name in names])

    def put_back(self, table: pd.DataFrame) -> pd.DataFrame:
        """The columns as they were written, such as those that are copied."""
        table = table.copy(deep=False)
        for name, found in self.cells.items():
            if name in table.columns:
                table[name] = table[name].astype(object).mask(found, self.text)
        return table

    def _without(self, row: Sequence[str], places: Collection[int]) -> list[str]:
        return ["" if k in places and self._says_so(cell) else cell for k, cell in enumerate(row)]

    def _says_so(self, cell: Any) -> bool:
        return cell is not None and level_text(cell).strip() == self.text
