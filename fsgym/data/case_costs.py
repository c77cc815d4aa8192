"""Prices of the case: each row has its own price for each acquisition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import plain_number
from fsgym.support.checks import check_number, check_prices, number_array
from fsgym.text.messages import brief, explain_unknown, option_text

if TYPE_CHECKING:
    import pandas as pd

MAX_PRICE = 1e30  # observations are float32, which has numbers up to 3e38


def check_case_costs(
    given: Any, n_samples: int, names: Sequence[str], costs: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """The prices of all rows, float64 (n_samples, n_acquisitions), >= 0 and finite.

    Parameters
    ----------
    given : array-like of shape (n_samples, n_acquisitions), or mapping or DataFrame by name
        Of those that a mapping names, each has a price for every row, or one; the others have that of ``costs``.
    n_samples : int
    names : sequence of n_acquisitions str
    costs : float64 (n_acquisitions,) or (n_samples, n_acquisitions), or None for 1 each

    Raises
    ------
    ValueError, TypeError
        Where the shape is another, a name is unknown, or a price is no number or negative.
    """
    J = len(names)
    if not has_names(given):
        return _numbers(given, (n_samples, J), "case_costs")
    prices = np.broadcast_to(np.ones(J) if costs is None else costs, (n_samples, J)).copy()
    for name in given:
        if name not in names:
            raise ValueError(explain_unknown("acquisition in case_costs", name, list(names)))
        column, what = given[name], f"case_costs of {name!r}"
        is_one = np.ndim(column) == 0
        prices[:, names.index(name)] = _numbers([column] if is_one else column, (1 if is_one else n_samples,), what)
    return prices


def has_names(given: Any) -> bool:
    """Whether prices are given by the names of acquisitions."""
    return isinstance(given, Mapping) or hasattr(given, "columns")


def _numbers(given: Any, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    try:
        values = number_array(given)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be numbers, a price for each row, got {brief(given)}") from None
    if values.shape != shape:
        raise ValueError(f"{what} must have shape {shape}, a row for each case, got {values.shape}")
    wrong = ~((values >= 0) & (values <= MAX_PRICE))
    if wrong.any():
        place = tuple(int(k[0]) for k in np.nonzero(wrong))
        raise ValueError(
            f"{what} must be prices from 0 to {MAX_PRICE:g}, got {values[place]:g} in row {place[0]}; correct it"
        )
    return values


def take_case_prices(
    frame: pd.DataFrame, columns: Mapping[str, str], what: str
) -> tuple[pd.DataFrame, dict[str, NDArray[np.float64]]]:
    """The other columns, and the prices by acquisition, float64 (n_samples,), from the column of each.

    ValueError if there is no such column, or a row has no price in it.
    """
    prices = {}
    for name, column in columns.items():
        if column not in frame.columns:
            unknown = explain_unknown(f"column of {what}", column, frame.columns)
            raise ValueError(f"{option_text('case_price')}: {unknown}")
        prices[name] = prices_of_cells(frame[column], name, f"the column {column!r} of {what}")
    return frame.drop(columns=list(columns.values())), prices


def prices_of_cells(cells: pd.Series, name: str, what: str) -> NDArray[np.float64]:
    """The prices of an acquisition from the cells of a column; ValueError where one is missing or no price."""
    must = f"{what} must have a price of {name!r}, a number from 0 on, in each row"
    given = cells.dropna().tolist()
    numbers = [_number_of(cell) for cell in given]
    if None in numbers:
        raise ValueError(f"{must}, got {brief(given[numbers.index(None)])}; write numbers")
    prices = np.full(len(cells), np.nan)
    prices[cells.notna()] = numbers
    wrong = np.flatnonzero(~(prices >= 0))
    if len(wrong):
        row, price = int(wrong[0]), prices[wrong[0]]
        got = "none" if price != price else f"{price:g}"
        raise ValueError(f"{must}, got {got} in row {cells.index[row]}; fill it in, or correct it")
    return prices


def _number_of(cell: Any) -> float | None:
    """The number of a cell; None for truth values, dates, and texts that write no number."""
    if isinstance(cell, str):
        return plain_number(cell.strip())
    is_number = isinstance(cell, int | float | np.integer | np.floating | Decimal) and not isinstance(cell, bool)
    return float(cell) if is_number else None


def mean_prices(case_costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over the rows, float64 (n_acquisitions,); of equal prices exactly that price."""
    same = (case_costs == case_costs[0]).all(axis=0)
    return np.where(same, case_costs[0], case_costs.mean(axis=0))


def price_ranges(case_costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The smallest and the largest price of each acquisition, float64 (n_acquisitions, 2)."""
    return np.stack([case_costs.min(axis=0), case_costs.max(axis=0)], axis=1)


def are_mean_prices(costs: Any, dataset: Any) -> bool:
    """Whether ``costs``, as for ``Dataset``, stand for the prices by case of a Dataset.

    They do if they are its ``costs``, or the means over its rows.
    """
    prices = check_prices(costs, dataset.acquisition_names)
    return any(np.allclose(prices, means) for means in (dataset.costs, mean_prices(dataset.case_costs)))


def prices_of_case(told: Mapping[str, float] | None, names: Sequence[str], costs: NDArray[np.float64]) -> NDArray:
    """The prices of one case, float64 (n_acquisitions,): those told by name, and ``costs`` for the others."""
    prices = np.array(costs, dtype=np.float64)
    if told is None:
        return prices
    option = option_text("prices", command="--price")
    if not isinstance(told, Mapping):
        raise TypeError(f"{option} must be a mapping from acquisitions to prices of this case, got {brief(told)}")
    for name, price in told.items():
        if name not in names:
            raise ValueError(f"{option}: {explain_unknown('acquisition', name, list(names))}")
        checked = check_number(price, f"{option} of {name!r}", 0.0)
        prices[names.index(name)] = check_case_prices([checked], [name])[0]
    return prices


def check_case_prices(given: Any, names: Sequence[str]) -> NDArray[np.float64]:
    """Prices of one case, float64 (n_acquisitions,), as in ``check_prices``, and at most ``MAX_PRICE``."""
    prices = check_prices(given, names, option_text("prices", command="--price"))
    if prices.max() > MAX_PRICE:
        raise ValueError(
            f"{option_text('prices', command='--price')} must be at most {MAX_PRICE:g}, got {prices.max():g}; use a "
            "larger unit"
        )
    return prices
