"""Checks of the options of ``fsgym.Rules``: each returns its option in one form, or raises."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.rules.labels import error_cost_matrix, relation_matrix
from fsgym.support.checks import check_number, check_prices, is_integer
from fsgym.text.messages import brief


def check_sizes(n_features: Any, n_classes: Any) -> tuple[int, int]:
    """Both numbers as int."""
    if not (is_integer(n_features) and is_integer(n_classes) and n_features >= 1 and n_classes >= 2):
        raise ValueError(
            f"n_features and n_classes must be whole numbers, at least 1 and 2, "
            f"got {brief(n_features)} and {brief(n_classes)}"
        )
    return int(n_features), int(n_classes)


def check_acquisition_names(names: Sequence[str] | None, n: int, default: str) -> tuple[str, ...]:
    """``n`` distinct names; by default ``default`` with the index in place of {}."""
    if isinstance(names, str) or not isinstance(names, Sequence | None):
        raise TypeError(f"names must be a sequence of {n} names, got {brief(names)}")
    texts = tuple(default.format(j) for j in range(n)) if names is None else tuple(str(v) for v in names)
    if len(set(texts)) != len(texts) or len(texts) != n:
        raise ValueError(f"names must be {n} distinct names, one per acquisition, got {brief(names)}")
    return texts


def check_class_labels(classes: Sequence[Any] | None, n: int) -> tuple[str, ...] | None:
    """The labels of ``n`` classes as text; None where they are not known."""
    if classes is None:
        return None
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray) or len(classes) != n:
        raise ValueError(f"classes must be the labels of the {n} classes, got {brief(classes)}")
    if not (_increases(classes) or _increases(_as_numbers(classes))):
        raise ValueError(f"classes must be distinct and in sorted order, as those of a Dataset, got {brief(classes)}")
    return tuple(str(v) for v in classes)


def _as_numbers(labels: Sequence[Any]) -> list[float]:
    """Labels as numbers, as which texts of numbers are sorted, too; none where they are no numbers."""
    try:
        return [float(v) for v in labels]
    except (TypeError, ValueError):
        return []


def _increases(labels: Sequence[Any]) -> bool:
    try:
        return len(labels) > 0 and all(a < b for a, b in pairwise(labels))
    except TypeError:
        return False


def check_bool(value: Any, what: str) -> bool:
    """The value, which must be True or False; ``what`` names it in messages."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what} must be True or False, got {brief(value)}")
    return bool(value)


def check_unrelated_costs(unrelated: Any, related: Any, costs: NDArray[np.float64], names: Sequence[str]) -> NDArray:
    """Prices of unrelated acquisitions, float64 (J,); ``costs`` if there is no relation or "forbid" is given."""
    if (unrelated is None) != (related is None):
        given, other = ("related", "unrelated_costs") if unrelated is None else ("unrelated_costs", "related")
        raise ValueError(f"{given} needs {other}: give both or neither")
    if isinstance(unrelated, str) and unrelated != "forbid":
        raise ValueError(f"unrelated_costs must be prices or 'forbid', got {brief(unrelated)}")
    if unrelated is None or isinstance(unrelated, str):
        return costs
    return check_prices(unrelated, names, "unrelated_costs")


def _check_square(matrix: ArrayLike, n: int, what: str, axis: str) -> NDArray[np.float64]:
    """A finite matrix, float64 (n, n); ``axis`` says in messages what a row and a column stand for."""
    try:
        given = np.asarray(matrix)
        if given.dtype.kind not in "buifO":
            raise TypeError
        values = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be a matrix of numbers, with a row and a column per {axis}") from None
    if values.shape != (n, n):
        raise ValueError(f"{what} must have shape ({n}, {n}), a row and a column per {axis}, got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{what} must be finite, got {values[~np.isfinite(values)][0]}")
    return values


def check_relation(relation: Any, names: Sequence[str], what: str, symmetric: bool = False) -> NDArray[np.bool_] | None:
    """A relation between acquisitions, bool (n, n), from any form that ``relation_matrix`` takes; None for None."""
    if relation is None:
        return None
    values = _check_square(relation_matrix(relation, names, what, symmetric), len(names), what, "acquisition")
    if not np.isin(values, (0.0, 1.0)).all():
        raise ValueError(f"{what} must hold only 0 and 1 (or bool)")
    return values.astype(bool)


def check_error_costs(costs: Any, classes: Sequence[Any]) -> NDArray[np.float64]:
    """``error_costs[answer, true class]``, float64 (n_classes, n_classes); by default 1 for errors and 0 otherwise."""
    if costs is None:
        return 1.0 - np.eye(len(classes))
    return _check_square(error_cost_matrix(costs, classes), len(classes), "error_costs", "class")


REFER_LABEL = "a person"  # by default


def check_refer_cost(cost: Any) -> float | None:
    """The cost of referring a case, or None."""
    if isinstance(cost, bool | np.bool_):
        raise TypeError(f"refer_cost must be a number, got {cost}")
    return None if cost is None else check_number(cost, "refer_cost", 0.0)


def check_refer_label(label: Any, refer_cost: float | None, classes: Sequence[str] | None) -> str:
    """What the answer to refer is called; ValueError where it is a class that can be answered beside it."""
    if not isinstance(label, str) or not label.strip():
        raise TypeError(f"refer_label must be a text that is not empty, got {brief(label)}")
    if refer_cost is None and label != REFER_LABEL:
        raise ValueError(f"refer_label must come with refer_cost, got {brief(label)} alone; give the cost of referring")
    if refer_cost is not None and classes is not None and label in classes:
        raise ValueError(f"refer_label must not be a class, got {brief(label)}; pass another refer_label")
    return label


def refuse_cycles(prerequisites: NDArray[np.bool_], names: Sequence[str]) -> None:
    """ValueError where prerequisites form a cycle."""
    missing = prerequisites.sum(axis=1)  # prerequisites of each acquisition that are not reached yet
    ready = np.flatnonzero(missing == 0).tolist()
    while ready:  # each acquisition once, so that the time is that of reading the matrix
        after = np.flatnonzero(prerequisites[:, ready.pop()])
        missing[after] -= 1
        ready += after[missing[after] == 0].tolist()
    if missing.any():
        stuck = names[int(np.flatnonzero(missing)[0])]
        raise ValueError(f"prerequisites must not form a cycle: {stuck!r} could never be acquired")


def check_budget(budget: Any) -> int | None:
    """The largest number of acquisitions; None for no limit."""
    if budget is not None and (not is_integer(budget) or budget < 0):
        raise ValueError(f"budget must be a whole number of acquisitions, 0 or more, got {brief(budget)}")
    return None if budget is None else int(budget)


def check_budget_cost(budget_cost: Any) -> float | None:
    """The largest total price; None for no limit."""
    return None if budget_cost is None else check_number(budget_cost, "budget_cost", 0.0)
