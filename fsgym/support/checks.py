"""Checks and conversions of what users pass in; error messages show what was expected and what was passed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.text.messages import brief, listing

MAX_JOBS, MAX_SPLITS = 1024, 1000  # processes on one machine; splits of a comparison


def is_integer(value: Any) -> bool:
    """Whether the value is an int or a NumPy integer, and no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_n_jobs(n_jobs: Any) -> None:
    """ValueError unless ``n_jobs`` is None or a whole number that joblib takes."""
    if n_jobs is not None and not (is_integer(n_jobs) and 0 < abs(n_jobs) <= MAX_JOBS):
        raise ValueError(
            f"n_jobs must be None or a whole number other than 0, up to {MAX_JOBS}, got {brief(n_jobs)}; "
            "-1 uses all processor cores"
        )


def check_choice(value: Any, what: str, *choices: str) -> Any:
    """The value, which must be one of several words; ``what`` names it in messages."""
    if not isinstance(value, str) or value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(f"{what} must be {', '.join(others)} or {last}, got {brief(value)}")
    return value


def check_number(value: Any, what: str, low: float) -> float:
    """A finite number of at least ``low``, as float; ``what`` names it in messages.

    Raises TypeError where it is no number, ValueError where it is out of range.
    """
    try:
        if isinstance(value, (str, bytes, bool, np.bool_)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be a number, got {brief(value)}") from None
    if not np.isfinite(number) or number < low:
        raise ValueError(f"{what} must be finite and at least {low:g}, got {number:g}")
    return number


def number_array(given: Any, takes_bools: bool = False) -> NDArray[np.float64]:
    """The numbers of an array-like, as float64; TypeError, ValueError or OverflowError where it has others.

    Texts are no numbers, nor are truth values unless ``takes_bools``, though NumPy reads them as such.
    """
    array = np.asarray(given)
    refused = (str, bytes) if takes_bools else (str, bytes, bool, np.bool_)
    if array.dtype.kind not in ("buifO" if takes_bools else "uifO"):
        raise TypeError("it must hold numbers")
    may_hide = array.dtype.kind == "O" or not hasattr(given, "__array__")  # the array of [True, 1.5] has 1.0
    if may_hide and any(isinstance(cell, refused) for cell in np.asarray(given, dtype=object).flat):
        raise TypeError("it must hold numbers")
    return np.array(array, dtype=np.float64)


def check_prices(
    costs: ArrayLike | Mapping[str, float], names: Sequence[str], what: str = "costs"
) -> NDArray[np.float64]:
    """Prices of shape (n_acquisitions,), float64, from an array, a scalar or a mapping name -> price.

    Raises ValueError for a wrong shape, an unknown or unnamed acquisition, a NaN, infinite or negative price.
    """
    if hasattr(costs, "items") and hasattr(costs, "index"):
        costs = _series_prices(costs, what)
    if isinstance(costs, Mapping):
        unknown = [k for k in costs if k not in names]
        if unknown:
            known = listing(names, 8)
            raise ValueError(f"{what} names {brief(unknown[0])}, which is not an acquisition; they are {known}")
        missing = [k for k in names if costs.get(k) is None]
        if missing:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise ValueError(
                f"{what} gives no price for {missing[0]!r}{others}; every acquisition needs one: add them, with 1 "
                "where you have no price"
            )
        costs = [costs[k] for k in names]  # type: ignore[index]
    try:
        prices = number_array(costs)
    except (TypeError, ValueError, OverflowError):
        hint = "; fsgym.load_costs reads a file of prices" if isinstance(costs, str | os.PathLike) else ""
        raise TypeError(
            f"{what} must be one number, a mapping name -> price, or numbers, one for each of the {len(names)} "
            f"acquisitions, got {brief(costs)}{hint}"
        ) from None
    if prices.ndim == 0:
        prices = np.full(len(names), float(prices))
    if prices.shape != (len(names),):
        raise ValueError(f"{what} must have shape ({len(names)},), got {prices.shape}")
    if not np.isfinite(prices).all():
        raise ValueError(f"{what} must be finite, got {prices[~np.isfinite(prices)][0]}")
    if prices.min() < 0:
        raise ValueError(f"{what} must not be negative, got {prices.min()}")
    return prices


def _series_prices(costs: Any, what: str) -> Any:
    """A pandas Series by name as a mapping, or by position, if its index is 0, 1, ..., as an array."""
    index = list(costs.index)
    if index == list(range(len(index))):
        return costs.to_numpy()
    if not all(isinstance(name, str) for name in index):
        raise ValueError(f"{what} must be indexed by names of acquisitions, got {brief(index)}")
    if not costs.index.is_unique:
        raise ValueError(f"{what} has two prices for {brief(costs.index[costs.index.duplicated()][0])}; remove one")
    return {name: None if value != value else value for name, value in costs.items()}


def check_random_state(random_state: Any) -> None:
    """ValueError unless ``random_state`` is None, a whole number from 0, a Generator or a RandomState."""
    kinds = (Integral, np.random.Generator, np.random.RandomState, type(None))
    if not isinstance(random_state, kinds) or (isinstance(random_state, Integral) and random_state < 0):
        raise ValueError(
            f"random_state must be None, a whole number from 0, a Generator or a RandomState, got {brief(random_state)}"
        )


def generator_of(random_state: Any) -> np.random.Generator:
    """The generator for a ``random_state``; a RandomState is advanced by one draw, which seeds the generator."""
    check_random_state(random_state)
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)
