"""Predictions for many cases whose values are fetched only when the policy asks for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.cells import FINITE_NUMBERS, UnmatchedCells, as_wide_numbers
from fsgym.data.checks import is_frame
from fsgym.data.columns import Column
from fsgym.rules import Rules
from fsgym.session.acquisitions import Acquisitions
from fsgym.session.asked_model import AskedModel
from fsgym.session.walk import Walk, started_state
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief, listing, warn_caller

ValueSource = Callable[[str, Any], Any]  # (name of an acquisition, rows) -> their values
MAX_FLOAT32 = float(np.finfo(np.float32).max)
AsyncValueSource = Callable[[str, Any], Awaitable[Any]]


class RowBatch:
    """The cases whose values are fetched, and what each of them asks for.

    Parameters
    ----------
    model : AskedModel
    rows : sequence of n objects, or n
    available, missing : bool (n, n_columns), DataFrame by column name, or None
    """

    def __init__(self, model: AskedModel, rows: Any, available: Any = None, missing: Any = None) -> None:
        self.acquisitions, self.order = model.acquisitions_, model.walk_order()
        self.rows: Any = np.arange(rows) if is_integer(rows) else rows
        if not hasattr(self.rows, "__len__") or isinstance(self.rows, str | Mapping):
            raise TypeError(f"rows must be a sequence of rows or their number, got {brief(rows)}")
        rules: Rules = self.order.rules
        has_value = _mask_of_features(self.acquisitions, available, len(self.rows), "available", True)
        lacking = _mask_of_features(self.acquisitions, missing, len(self.rows), "missing", False)
        state = started_state(rules, (has_value & ~lacking)[:, self.order.features])
        is_evidence = missing is not None and getattr(model, "evidence_", ())
        said: dict[str, Any] = {"missing": lacking[:, self.order.features]} if is_evidence else {}
        self.walk: Walk = model.walk(state, **said)
        self.actions = self.walk.begin()
        self.n_acquisitions = rules.n_acquisitions
        # how many rows ask for each acquisition, int64 (J,)
        self.wanted = np.bincount(self.actions, minlength=rules.n_actions)[: self.n_acquisitions]
        self.columns = [self._columns_of(j) for j in range(rules.n_acquisitions)]

    def _columns_of(self, j: int) -> tuple[list[int], list[int]]:
        """The columns of acquisition j, and the place in ``rules.groups[j]`` of each of their features."""
        columns = list(self.acquisitions.columns_of[self.order.acquisitions[j]])
        place = {int(self.order.features[i]): k for k, i in enumerate(self.order.rules.groups[j])}
        return columns, [place[i] for i in self.acquisitions.features_of(columns)]

    @property
    def answers(self) -> NDArray[np.int64]:
        """The class code of each row, int64 (n,), when nothing is wanted any more."""
        return self.actions - self.n_acquisitions

    def request(self, j: int) -> tuple[NDArray[np.int64], str, Any]:
        """The numbers of the rows that ask for acquisition j, its name, and the rows as they were given."""
        index = (self.actions == j).nonzero()[0]
        return index, self.order.rules.names[j], self._given(index)

    def take(self, j: int, index: NDArray[np.int64], values: Any) -> None:
        """Go on with what acquisition j brought for some rows; where it brought nothing it cannot be obtained."""
        columns, places = self.columns[j]
        numbers = encode_batch(self.acquisitions, columns, values, len(index), self.order.rules.names[j])
        if len(places) > 1:
            encoded, numbers = numbers, np.empty_like(numbers)
            numbers[:, places] = encoded
        self.bring(j, index, numbers)

    def bring(self, j: int, index: NDArray[np.int64], numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Go on with the features of acquisition j, in the order of ``rules.groups[j]``; which rows it brought any."""
        blank: Any = np.isnan(numbers[:, 0]) if numbers.shape[1] == 1 else np.isnan(numbers).all(axis=1)
        brought = ~blank
        self.actions[index] = actions = self.walk.go_on(index, j, numbers, brought)
        self.wanted[j] -= len(index)
        self.wanted += np.bincount(actions, minlength=self.order.rules.n_actions)[: self.n_acquisitions]
        return brought

    def _given(self, index: NDArray[np.int64]) -> Any:
        if isinstance(self.rows, np.ndarray) or hasattr(self.rows, "take"):
            return self.rows[index] if isinstance(self.rows, np.ndarray) else self.rows.take(index)
        return [self.rows[i] for i in index.tolist()]


def encode_batch(
    acquisitions: Acquisitions, columns: Sequence[int], values: Any, n: int, name: str
) -> NDArray[np.float64]:
    """The features of what was fetched for the columns of an acquisition and n rows, float64 (n, n_features of it).

    Raises ValueError or TypeError where there is not a value for each row and column.
    """
    members = [acquisitions.columns[k] for k in columns]
    if len(members) == 1 and type(values) is np.ndarray and values.shape == (n,):
        return _encode_cells(members[0], values)
    if len(members) == 1 and not isinstance(values, Mapping) and not is_frame(values):
        values = {members[0].name: values}
    if not isinstance(values, Mapping) and not is_frame(values):
        raise TypeError(
            f"for {name!r} the source must return its columns, as a mapping or DataFrame of "
            f"{listing(c.name for c in members)}, got {brief(values)}"
        )
    parts = []
    for column in members:
        if column.name not in values:
            raise ValueError(f"for {name!r} the source must return {column.name!r}, got {listing(values)}")
        cells = values[column.name]
        if not hasattr(cells, "__len__") or isinstance(cells, str) or len(cells) != n:
            raise ValueError(f"for {name!r} the source must return {n} values of {column.name!r}, got {brief(cells)}")
        parts.append(_encode_cells(column, cells))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _encode_cells(column: Column, cells: Any) -> NDArray[np.float64]:
    """The features of the cells; numbers are as exact as they were given, as a model may compare them in float64."""
    if column.kind == "number":
        return _encode_numbers(column, cells)[:, None]
    import pandas as pd

    unseen: dict[str, UnmatchedCells] = {}
    features = column.encode(pd.Series(cells), unseen).astype(np.float64)
    if unseen:
        warn_caller(unseen[column.name].sentence(column.name, column.levels))
    return features


def _encode_numbers(column: Column, cells: Any) -> NDArray[np.float64]:
    if not (type(cells) is np.ndarray and cells.dtype.kind == "f" and cells.ndim == 1):
        import pandas as pd

        cells = as_wide_numbers(pd.Series(cells), column.name, column.odd_is_missing)
    numbers = np.subtract(cells, column.offset, dtype=np.float64)
    beyond = np.abs(numbers) > MAX_FLOAT32
    if beyond.any():
        row = int(beyond.argmax())
        raise ValueError(
            f"the values of {column.name!r} must be {FINITE_NUMBERS}, got {np.asarray(cells)[row]:g} in row {row}"
        )
    return numbers


def run_source(batch: RowBatch, get: ValueSource) -> None:
    """Fetch from a function until all rows are answered; the acquisition that most rows ask for comes next."""
    while True:
        j = int(batch.wanted.argmax())
        if batch.wanted[j] == 0:
            return
        index, name, rows = batch.request(j)
        batch.take(j, index, get(name, rows))


async def run_async_source(batch: RowBatch, get: AsyncValueSource) -> None:
    """Fetch from a coroutine function: in each round all that is asked for, at the same time."""
    import asyncio

    while wanted := np.flatnonzero(batch.wanted).tolist():
        requests = [batch.request(j) for j in wanted]
        brought = await asyncio.gather(*(get(name, rows) for _, name, rows in requests))
        for j, (index, _, _), values in zip(wanted, requests, brought, strict=True):
            batch.take(j, index, values)


def _mask_of_features(
    acquisitions: Acquisitions, given: ArrayLike | None, n: int, what: str, default: bool
) -> NDArray[np.bool_]:
    """What is said of each feature, bool (n, n_features), by what is given for the columns."""
    columns, names = acquisitions.columns, acquisitions.columns.names
    if given is None:
        return np.full((n, columns.n_features), default)
    table: Any = given
    if is_frame(given):
        absent = [name for name in names if name not in table.columns]
        if absent:
            raise ValueError(f"{what} must have all columns of the model, got none for {listing(absent)}")
        table = table[list(names)]
    mask = np.asarray(table)
    if mask.dtype != bool or mask.shape != (n, len(names)):
        raise ValueError(f"{what} must be bool of shape {(n, len(names))}, got {mask.dtype} {mask.shape}")
    return mask[:, columns.column_of]
