"""What a user may give, checked and brought into one form; every mistake is answered in one sentence."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from operator import index as as_index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def brief(value: Any) -> str:
    """What was got, for a message: short, and on one line."""
    text = " ".join(reprlib.repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def one_line(error: object, longest: int = 200) -> str:
    """The text of an error on one line, cut to ``longest`` characters, for a message.

    >>> one_line(ValueError("no such\\n  file"))
    'no such file'
    """
    return " ".join(str(error).split())[:longest]


def listing(values: Iterable[object], most: int = 12) -> str:
    """The first of them, with commas, for a message.

    >>> listing("abc", 2)
    'a, b, ...'
    """
    names = [str(v) for v in values]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def closest(name: Any, known: Iterable[str]) -> str | None:
    """The known name that somebody who wrote ``name`` may have meant, or None."""
    plain = {k.lower().replace("-", "_"): k for k in known}
    low = str(name).lower().replace("-", "_")
    longer = sorted((k for k in plain if len(low) > 3 and low in k), key=len)
    close = longer or difflib.get_close_matches(low, plain, n=1)
    return plain[close[0]] if close else None


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """The end of a message about an unknown name, ``"; did you mean 'budget'?"``; empty where none is close."""
    close = closest(name, known)
    return f"; did you mean {close!r}?" if close else ""


def unknown(kind: str, name: Any, known: Iterable[str], otherwise: str | None = None) -> str:
    """The sentence for a name that is not among the known ones: the closest of them, else ``otherwise``, else all.

    >>> unknown("method", "latice", ["lattice", "rcpi"])
    "unknown method 'latice'; did you mean 'lattice'?"
    >>> unknown("method", "", ["lattice", "rcpi"])
    "unknown method ''; they are lattice, rcpi"
    """
    known = list(known)
    hint = did_you_mean(name, known) or f"; {otherwise or 'they are ' + ', '.join(known)}"
    return f"unknown {kind} {name!r}{hint}"


def is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def number(value: Any, what: str, low: float) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be a number, got {brief(value)}") from None
    if not np.isfinite(number) or number < low:
        raise ValueError(f"{what} must be finite and at least {low:g}, got {number:g}")
    return number


def table_of(X: ArrayLike) -> NDArray[np.float32]:
    try:
        wide = X if isinstance(X, np.ndarray) else np.asarray(X)
        if wide.dtype.kind not in "buifO":
            raise TypeError
        with np.errstate(over="ignore"):
            table = np.array(wide, dtype=np.float32, order="C")
    except (TypeError, ValueError):
        raise TypeError("X must be a table of numbers; encode text columns first (load_dataset does)") from None
    except OverflowError:
        table = np.full((1, 1), np.inf, dtype=np.float32)
    if table.ndim != 2:
        raise ValueError(f"X must have shape (n_samples, n_features), got {table.shape}")
    if 0 in table.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError("X must be finite in float32; NaN marks a value that cannot be had, infinity is no value")
    return table


def bounds_of(table: NDArray[np.float32], bounds) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Smallest and largest value of each column, or those that were given."""
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
        raise ValueError("bounds must be finite, and the smallest value not above the largest")
    return low, high


def image_of(image_shape, n_features: int) -> tuple[int, int]:
    try:
        height, width = (as_index(v) for v in image_shape)
    except (TypeError, ValueError):
        raise TypeError(f"image_shape must be two integers, height and width, got {brief(image_shape)}") from None
    if height < 1 or width < 1 or height * width != n_features:
        raise ValueError(f"image_shape {(height, width)} must hold {n_features} pixels, one a feature")
    return height, width


def _missing(label: object) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor unequal to itself
        return True


def labels_of(y: ArrayLike, n_samples: int, classes: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray]:
    try:
        values = np.asarray(y)
        labels = None if classes is None else np.array(classes)
    except ValueError:
        raise TypeError("y and classes must be plain lists of labels, all numbers or all text") from None
    if values.shape != (n_samples,):
        raise ValueError(f"y must have shape ({n_samples},), one label a row of X, got {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("y must not hold NaN or infinity; drop the rows without a label")
    if values.dtype.kind in "OMm" and any(_missing(v) for v in values):
        raise ValueError("y must not hold missing labels; drop the rows without a label")
    try:
        found = np.unique(values)
        labels = found if labels is None else labels
        if labels.ndim != 1 or len(np.unique(labels)) != len(labels) or (np.sort(labels) != labels).any():
            raise ValueError("classes must be a sorted list of distinct labels")
        if len(labels) < 2:
            raise ValueError(f"y must hold at least two classes, got only {labels.tolist()}")
        codes = np.searchsorted(labels, values).clip(max=len(labels) - 1)
        strange = np.asarray(labels[codes] != values)
    except TypeError:
        raise TypeError("labels must be of one kind that can be sorted: all numbers or all text") from None
    if strange.any():
        stranger = values[np.flatnonzero(strange)[0]]
        raise ValueError(f"y holds the label {stranger!s}, which is not among the classes {labels.tolist()}")
    return codes.astype(np.int64), labels.copy()


def names_of(names: Sequence[str] | None, n: int, what: str = "feature_names", default: str = "x{}") -> tuple[str, ...]:
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


def partition(groups: Sequence[Sequence[int]] | ArrayLike, n_features: int) -> tuple[tuple[int, ...], ...]:
    """Groups as tuples of feature indices, from lists of indices or from one group number per feature.

    Raises ValueError unless every feature is in exactly one group and no group is empty.
    """
    kind = "groups must be lists of feature indices, or one group number per feature"
    if isinstance(groups, str | bytes | Mapping) or not np.iterable(groups):
        raise TypeError(f"{kind}, got {brief(groups)}")
    listed: list[Any] = list(groups)  # type: ignore[arg-type]
    try:
        if listed and all(not np.iterable(g) for g in listed):
            result = _numbered([as_index(g) for g in listed], n_features)
        else:
            result = tuple(tuple(as_index(i) for i in g) for g in listed)
    except TypeError:
        raise TypeError(kind) from None
    for g, members in enumerate(result):
        if not members:
            raise ValueError(f"group {g} is empty; every group must hold at least one feature")
    flat = sorted(i for members in result for i in members)
    if any(not 0 <= i < n_features for i in flat):
        stranger = next(i for i in flat if not 0 <= i < n_features)
        raise ValueError(f"groups name feature {stranger}, but the features are 0 to {n_features - 1}")
    repeated = [a for a, b in pairwise(flat) if a == b]
    if repeated:
        raise ValueError(f"groups must not overlap, but feature {repeated[0]} is in more than one")
    if len(flat) != n_features:
        lost = sorted(set(range(n_features)) - set(flat))[0]
        raise ValueError(f"groups must cover every feature, but feature {lost} is in none")
    return result


def _numbered(numbers: list[int], n_features: int) -> tuple[tuple[int, ...], ...]:
    """Groups from one group number per feature."""
    if len(numbers) != n_features:
        raise ValueError(f"groups must give one group number for each of the {n_features} features, got {len(numbers)}")
    if min(numbers) < 0 or max(numbers) >= n_features:
        raise ValueError(
            f"group numbers must be 0, 1, 2, ... without a gap, got {min(numbers)} to {max(numbers)} "
            f"for {n_features} features"
        )
    members: list[list[int]] = [[] for _ in range(max(numbers) + 1)]
    for feature, group in enumerate(numbers):
        members[group].append(feature)
    return tuple(tuple(m) for m in members)


def price_list(
    costs: ArrayLike | Mapping[str, float], names: Sequence[str], what: str = "costs"
) -> NDArray[np.float64]:
    """Prices of shape (n_acquisitions,), float64, from an array, a scalar or a mapping name -> price.

    Raises ValueError for a wrong shape, an unknown or unnamed acquisition, a NaN, infinite or negative price.
    """
    if isinstance(costs, Mapping):
        strangers = [k for k in costs if k not in names]
        if strangers:
            known = listing(names, 8)
            raise ValueError(f"{what} names {brief(strangers[0])}, which is not an acquisition; they are {known}")
        missing = [k for k in names if costs.get(k) is None]
        if missing:
            raise ValueError(f"{what} gives no price for {missing[0]!r}; every acquisition needs one")
        costs = [costs[k] for k in names]  # type: ignore[index]
    try:
        if np.asarray(costs).dtype.kind not in "buifO":
            raise TypeError
        prices = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be numbers, one for each of the {len(names)} acquisitions") from None
    if prices.ndim == 0:
        prices = np.full(len(names), float(prices))
    if prices.shape != (len(names),):
        raise ValueError(f"{what} must have shape ({len(names)},), got {prices.shape}")
    if not np.isfinite(prices).all():
        raise ValueError(f"{what} must be finite, got {prices[~np.isfinite(prices)][0]}")
    if prices.min() < 0:
        raise ValueError(f"{what} must not be negative, got {prices.min()}")
    return prices


def check_random_state(random_state: Any) -> None:
    """ValueError unless it is None, a whole number from 0, a Generator or a RandomState."""
    kinds = (Integral, np.random.Generator, np.random.RandomState, type(None))
    if not isinstance(random_state, kinds) or (isinstance(random_state, Integral) and random_state < 0):
        raise ValueError(
            f"random_state must be None, a whole number from 0, a Generator or a RandomState, got {brief(random_state)}"
        )


def generator_of(random_state: Any) -> np.random.Generator:
    """The generator of a ``random_state``; a RandomState is drawn from, so that it goes on."""
    check_random_state(random_state)
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)
