"""Where the rows of a data set come from: of which table, which rows, and how the values are scaled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.data.scaling import Scaling
from fsgym.support.arrays import array_form, digest_of_form


class RowOrigin(NamedTuple):
    """The rows of a data set as rows of the whole table from which they were selected.

    Attributes
    ----------
    table : str, the fingerprint of the whole table with its labels, see ``table_fingerprint``
    rows : int64 (n_samples,), row numbers in that table
    scaling : Scaling, or None
        The map from the values of that table to those of the data set; None if they are the same.
    """

    table: str
    rows: NDArray[np.int64]
    scaling: Scaling | None = None

    def share_in(self, other: RowOrigin) -> float | None:
        """The share of these rows that are among those of ``other``; None if they are rows of different tables."""
        return float(np.isin(self.rows, other.rows).mean()) if self.table == other.table else None


class SelectedRows(NamedTuple):
    """A ``RowOrigin`` whose fingerprint is computed when it is needed: ``whole`` is the Dataset, or its fingerprint."""

    whole: Any
    rows: NDArray[np.int64]
    scaling: Scaling | None = None

    @property
    def origin(self) -> RowOrigin:
        whole = self.whole if isinstance(self.whole, str) else self.whole.origin.table
        return RowOrigin(whole, self.rows, self.scaling)


def row_before_scaling(dataset: Any, i: int) -> tuple[NDArray, Any]:
    """Row i of a Dataset, (n_features,), with the values of its table before ``Dataset.scaled``, and their Columns.

    Where the data set was not scaled, or its table is not in memory, these are its own values and columns.
    """
    selected = dataset._source
    if selected.scaling is None or isinstance(selected.whole, str):
        return dataset.X[i], dataset.columns
    row = selected.whole.X[selected.rows[i]]
    values = dataset.X[i]  # of which some may be hidden, as NaN
    return np.where(np.isnan(values), values, row), selected.whole.columns


def table_fingerprint(dataset: Any) -> str:
    """64 hexadecimal digits that are equal for equal rows, features and labels of a Dataset in the same order."""
    labels = [str(label) for label in dataset.classes]
    return digest_of_form([array_form(dataset.to_array()), array_form(dataset.y), labels])
