"""The options of ``fsgym.Rules``: each is checked and brought into one form; a mistake is told in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.checks import brief, is_whole, number, price_list


def sizes(n_features: Any, n_classes: Any) -> tuple[int, int]:
    if not (is_whole(n_features) and is_whole(n_classes) and n_features >= 1 and n_classes >= 2):
        raise ValueError(
            f"n_features and n_classes must be whole numbers, at least 1 and 2, "
            f"got {brief(n_features)} and {brief(n_classes)}"
        )
    return int(n_features), int(n_classes)


def acquisition_names(names: Sequence[str] | None, n: int, default: str) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence | None):
        raise TypeError(f"names must be a sequence of {n} names, got {brief(names)}")
    told = tuple(default.format(j) for j in range(n)) if names is None else tuple(str(v) for v in names)
    if len(set(told)) != len(told) or len(told) != n:
        raise ValueError(f"names must be {n} distinct names, one an acquisition, got {brief(names)}")
    return told


def one_of(value: Any, what: str, one: str, other: str) -> Any:
    if not isinstance(value, str) or value not in (one, other):
        raise ValueError(f"{what} must be {one!r} or {other!r}, got {brief(value)}")
    return value


def truth(value: Any, what: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what} must be True or False, got {brief(value)}")
    return bool(value)


def unrelated_prices(unrelated: Any, related: Any, costs: NDArray[np.float64], names: Sequence[str]) -> NDArray:
    """Prices of what is not related; ``costs`` where nothing is related, or where what is not is forbidden."""
    if (unrelated is None) != (related is None):
        given, other = ("related", "unrelated_costs") if unrelated is None else ("unrelated_costs", "related")
        raise ValueError(f"{given} needs {other}: give both or neither")
    if isinstance(unrelated, str) and unrelated != "forbid":
        raise ValueError(f"unrelated_costs must be prices or 'forbid', got {brief(unrelated)}")
    if unrelated is None or isinstance(unrelated, str):
        return costs
    return price_list(unrelated, names, "unrelated_costs")


def _square(matrix: ArrayLike, n: int, what: str, one: str) -> NDArray[np.float64]:
    try:
        given = np.asarray(matrix)
        if given.dtype.kind not in "buifO":
            raise TypeError
        values = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be a matrix of numbers, a row and a column {one}") from None
    if values.shape != (n, n):
        raise ValueError(f"{what} must have shape ({n}, {n}), a row and a column {one}, got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{what} must be finite, got {values[~np.isfinite(values)][0]}")
    return values


def zero_one(matrix: ArrayLike | None, n: int, what: str) -> NDArray[np.bool_] | None:
    """A relation between acquisitions, bool (n, n)."""
    if matrix is None:
        return None
    values = _square(matrix, n, what, "an acquisition")
    if not np.isin(values, (0.0, 1.0)).all():
        raise ValueError(f"{what} must hold only 0 and 1 (or bool)")
    return values.astype(bool)


def error_cost_matrix(matrix: ArrayLike | None, n_classes: int) -> NDArray[np.float64]:
    """``error_costs[answer, truth]``; by default 1 for a wrong answer and 0 for a right one."""
    return 1.0 - np.eye(n_classes) if matrix is None else _square(matrix, n_classes, "error_costs", "a class")


def refuse_cycles(prerequisites: NDArray[np.bool_], names: Sequence[str]) -> None:
    reached = np.zeros(len(names), bool)
    while not reached.all():
        ready = ~reached & ~(prerequisites & ~reached).any(axis=1)
        if not ready.any():
            stuck = names[int(np.flatnonzero(~reached)[0])]
            raise ValueError(f"prerequisites must not form a cycle: {stuck!r} could never be acquired")
        reached |= ready


def acquisition_budget(budget: Any) -> int | None:
    if budget is not None and (not is_whole(budget) or budget < 0):
        raise ValueError(f"budget must be a whole number of acquisitions, 0 or more, got {brief(budget)}")
    return None if budget is None else int(budget)


def purse(budget_cost: Any) -> float | None:
    return None if budget_cost is None else number(budget_cost, "budget_cost", 0.0)


def refuse_overflow(lam: float, costs: NDArray, unrelated: NDArray, error_costs: NDArray) -> None:
    with np.errstate(over="ignore"):
        worst = lam * np.maximum(costs, unrelated).sum() + np.abs(error_costs).max()
    if not np.isfinite(worst):
        raise ValueError("lam, costs and error_costs must be small enough to be added up; divide them all")


def flat(lists: Sequence[Sequence[int]] | Sequence[NDArray]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Lists one after the other, and the first index of each with the length of all at the end."""
    first = np.zeros(len(lists) + 1, np.int32)
    first[1:] = np.cumsum([len(v) for v in lists])
    whole = np.concatenate([np.asarray(v, dtype=np.int32) for v in lists]) if len(lists) else np.zeros(0)
    return whole.astype(np.int32), first
