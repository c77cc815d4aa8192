"""Columns of a table with the prices of acquisitions, a price for each row: ``--case-price ACQUISITION=COLUMN``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fsgym.data.dataset import Dataset
from fsgym.text.messages import explain_unknown, listing

OPTION = "--case-price"


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
