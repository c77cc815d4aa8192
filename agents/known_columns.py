"""Columns that are always known: their acquisitions cost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fsgym.data.columns import Columns
from fsgym.rules import Rules
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief, explain_unknown

AcquisitionIndices = tuple[int, ...]  # in ascending order


def acquisitions_of_columns(known: Any, columns: Columns, rules: Rules) -> AcquisitionIndices:
    """The acquisitions of the columns that are always known, ascending.

    Parameters
    ----------
    known : sequence of names of columns or their positions, or None
    columns : Columns
    rules : Rules

    Raises
    ------
    ValueError, TypeError
        If a name or position is unknown, or not all columns of a group are known.
    """
    if known is None:
        return ()
    if isinstance(known, str) or not isinstance(known, Sequence | np.ndarray):
        raise TypeError(f"known must be a list of names or positions of columns, got {brief(known)}")
    place = {name: k for k, name in enumerate(columns.names)}
    features: set[int] = set()
    for column in known:
        if is_integer(column):
            if not 0 <= column < len(columns):
                raise ValueError(f"known must hold positions of columns from 0 to {len(columns) - 1}, got {column}")
            features.update(columns.features[int(column)])
        elif column in place:
            features.update(columns.features[place[column]])
        else:
            raise ValueError(explain_unknown("column in known", column, columns.names))
    acquisitions = []
    for j, group in enumerate(rules.groups):
        if features.issuperset(group):
            acquisitions.append(j)
        elif features.intersection(group):
            lacking = columns.names[columns.column_of[min(set(group) - features)]]
            raise ValueError(
                f"known must hold all columns of {rules.names[j]!r} or none, got it without {lacking!r}; add it"
            )
    return tuple(acquisitions)


def with_known(rules: Rules, known: AcquisitionIndices) -> Rules:
    """The rules with acquisitions that cost nothing and do not count for the budget."""
    if not known:
        return rules
    options, free = rules.options(), list(known)
    options["costs"] = rules.costs.copy()
    options["costs"][free] = 0.0
    if rules.related is not None and not rules.forbids_unrelated:
        options["unrelated_costs"] = rules.unrelated_costs.copy()
        options["unrelated_costs"][free] = 0.0
    if rules.budget is not None:
        options["budget"] = rules.budget + len(known)
    return Rules(rules.n_features, rules.n_classes, names=rules.names, classes=rules.classes, **options)
