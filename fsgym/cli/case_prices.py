"""Columns of a table with the prices of acquisitions, a price for each row: ``--case-price ACQUISITION=COLUMN``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import plain_number
from fsgym.data.dataset import Dataset
from fsgym.datasets.folder import drop_features
from fsgym.text.messages import brief, explain_unknown, listing

OPTION = "--case-price"


def take_case_prices(dataset: Dataset, columns: Mapping[str, str]) -> tuple[Dataset, dict[str, NDArray[np.float64]]]:
    """The data set without the columns of prices, and the prices by acquisition, float64 (n_samples,)."""
    prices = {}
    for name, column in columns.items():
        if column not in dataset.columns.names:
            raise ValueError(
                f"{OPTION}: {explain_unknown(f'column of {dataset.name!r}', column, dataset.columns.names)}"
            )
        k = dataset.columns.names.index(column)
        places, kind = dataset.columns.features[k], dataset.columns[k]
        cells = kind.cells(dataset.X[:, places.start : places.stop].astype(np.float64))
        if kind.kind == "number":  # 4.78 as it was in the file, and not 4.780000209 as float32 has it
            found = {x: kind.shortest(x) for x in np.unique(dataset.X[:, places.start])}
            cells = np.array([found.get(x, np.nan) for x in dataset.X[:, places.start]])
        prices[name] = prices_of_cells(cells, name, f"the column {column!r} of {dataset.name!r}")
    return drop_features(dataset, list(columns.values())), prices


def prices_of_cells(cells: Any, name: str, what: str) -> NDArray[np.float64]:
    """The prices of an acquisition from the cells of a column; ValueError where one is missing or no price."""
    must = f"{what} must have a price of {name!r}, a number from 0 on, in each row"
    numbers = [_number_of(cell) for cell in np.asarray(cells).tolist()]
    if None in numbers:
        odd = next(cell for cell, number in zip(cells, numbers, strict=True) if number is None)
        raise ValueError(f"{must}, got {brief(odd)}; write numbers")
    prices = np.array(numbers, dtype=np.float64)
    wrong = np.flatnonzero(~(prices >= 0))
    if len(wrong):
        row, price = int(wrong[0]), prices[wrong[0]]
        got = "none" if price != price else f"{price:g}"
        raise ValueError(f"{must}, got {got} in row {row}; fill it in, or correct it")
    return prices


def _number_of(cell: Any) -> float | None:
    """The number of a cell, NaN where it is empty; None for truth values and for texts that write no number."""
    if isinstance(cell, bool):
        return None
    return plain_number(cell.strip()) if isinstance(cell, str) else float("nan" if cell is None else cell)


def with_case_prices(dataset: Dataset, prices: Mapping[str, Any], costs: Any) -> Dataset:
    """The data set with prices by case; others are those of ``costs``, as for ``Dataset`` or one number, or its own."""
    for name in prices:
        if name not in dataset.acquisition_names:
            raise ValueError(f"{OPTION}: {explain_unknown('acquisition', name, list(dataset.acquisition_names))}")
    if costs is not None and np.ndim(costs) == 0 and not isinstance(costs, Mapping):
        costs = [costs] * len(dataset.acquisition_names)
    priced = dataset if costs is None else dataset.replace(costs=costs)
    return priced.replace(case_costs=dict(prices))


def in_words(columns: Mapping[str, str]) -> str:
    """Where the prices are from: "ct in the column price_ct"."""
    return listing([f"{name} in the column {column}" for name, column in columns.items()])
