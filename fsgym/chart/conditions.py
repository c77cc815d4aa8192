"""Conditions of a chart in words and signs: intervals with units, levels by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fsgym.chart.action_tree import ANY_NUMBER, Limit
from fsgym.data.columns import Column, Columns
from fsgym.text.messages import listing

LEVELS_NAMED = 4  # of a category, in one condition


def condition_text(limits: tuple[Limit, ...], columns: Columns, alone: str | None = None) -> str:
    """Limits that hold together, in signs, such as "crp ≤ 12 mg/l and ward = icu"; "" if there are none.

    Parameters
    ----------
    limits : tuple of Limit
    columns : Columns
    alone : str, optional
        The name of a column that need not be named.
    """
    by_column: dict[int, list[Limit]] = {}
    for limit in limits:
        by_column.setdefault(int(columns.column_of[limit.feature]), []).append(limit)
    parts: list[str] = []
    for k, of_column in by_column.items():
        column: Column = columns[k]
        first = columns.features[k].start
        text = (
            _interval_text(of_column[0], column)
            if column.kind == "number"
            else _levels_text([limit._replace(feature=limit.feature - first) for limit in of_column], column)
        )
        if any(limit.low >= ANY_NUMBER for limit in of_column):
            text = "has no value"
        elif any(limit.missing for limit in of_column):
            text += ", or no value" if text.endswith("or more") else " or no value"
        parts.append(text if column.name == alone else f"{column.name} {text}")
    return " and ".join(parts)


def _interval_text(limit: Limit, column: Column) -> str:
    low, high = (f"{v + column.offset:.12g}" for v in (limit.low, limit.high))
    unit = f" {column.unit}" if column.unit else ""
    if np.isinf(limit.low) and limit.high >= ANY_NUMBER:
        return "has a value"
    if column.whole:
        text = _whole_text(limit.low + column.offset, limit.high + column.offset, column, unit)
        if text:
            return text
    if np.isinf(limit.low):
        return f"≤ {high}{unit}"
    return f"> {low}{unit}" if limit.high >= ANY_NUMBER else f"> {low} and ≤ {high}{unit}"


def _whole_text(above: float, most: float, column: Column, unit: str) -> str:
    """Which whole numbers are more than ``above`` and at most ``most``, in words; "" if there are none.

    >>> count = Column("count", low=0, high=9, whole=True)
    >>> [_whole_text(a, b, count, "") for a, b in ((-np.inf, 2.5), (2.5, ANY_NUMBER), (2.5, 5), (2.5, 3), (2.2, 2.8))]
    ['at most 2', '3 or more', '3 to 5', '= 3', '']
    >>> _whole_text(-np.inf, 0.5, count, " ng")
    '= 0 ng'
    """
    first = column.low if np.isinf(above) else np.floor(above) + 1
    last = column.high if most >= ANY_NUMBER else np.floor(most)
    if first is None or last is None or first > last:
        return ""
    if first == last:
        return f"= {first:.12g}{unit}"
    if np.isinf(above):
        return f"at most {last:.12g}{unit}"
    return f"{first:.12g}{unit} or more" if most >= ANY_NUMBER else f"{first:.12g} to {last:.12g}{unit}"


def _levels_text(limits: list[Limit], column: Column) -> str:
    """Which levels of a category or bool meet the limits; their features count from 0."""
    levels: Sequence[Any] = ("False", "True") if column.kind == "bool" else column.levels
    if len(column.feature_names) > 1:
        codes = np.eye(len(levels))
    else:
        codes = np.arange(len(levels), dtype=float)[:, None]
    met = np.ones(len(levels), bool)
    for limit in limits:
        met &= (codes[:, limit.feature] > limit.low) & (codes[:, limit.feature] <= limit.high)
    named = [str(level) for level, meets in zip(levels, met) if meets]
    others = [str(level) for level, meets in zip(levels, met) if not meets]
    if len(named) == 1:
        return f"= {named[0]}"
    if len(others) == 1:
        return f"is not {others[0]}"
    if len(others) < len(named):
        return f"is none of {listing(others, LEVELS_NAMED)}"
    return f"is one of {listing(named, LEVELS_NAMED)}"
