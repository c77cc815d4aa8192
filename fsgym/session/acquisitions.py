"""The acquisitions of a model in the words of its user: names, columns, units and ranges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.columns import Columns
from fsgym.rules import Rules
from fsgym.session.step import AskedColumn
from fsgym.session.values import check_value
from fsgym.text.messages import brief, explain_unknown, listing


class CannotBeAskedError(ValueError, AttributeError):
    """Of a model without ``acquisitions_``; ``hasattr`` and ``dir`` of scikit-learn then leave the attribute out."""


class Acquisitions:
    """Names of acquisitions and columns, and the features behind them.

    Parameters
    ----------
    rules : Rules, in the order of the user
    columns : Columns, of the features of the rules

    Raises
    ------
    ValueError
        If an acquisition reveals a part of a column only.
    """

    def __init__(self, rules: Rules, columns: Columns) -> None:
        self.rules, self.columns = rules, columns
        self.columns_of = [tuple(dict.fromkeys(columns.column_of[list(g)].tolist())) for g in rules.groups]
        for j, members in enumerate(self.columns_of):
            if sum(len(columns.features[k]) for k in members) != len(rules.groups[j]):
                raise CannotBeAskedError(
                    f"each acquisition must reveal whole columns, but {rules.names[j]!r} reveals a part of "
                    f"{columns[members[0]].name!r}; use groups of whole columns"
                )
        self.index = {name: j for j, name in enumerate(rules.names)}
        self.column_index = {name: k for k, name in enumerate(columns.names)}
        self.acquisition_of_column = {k: j for j, members in enumerate(self.columns_of) for k in members}

    def find(self, name: Any) -> tuple[int, tuple[int, ...]]:
        """The acquisition that a name means, and its columns: all of them, or the one column of that name."""
        if isinstance(name, str) and name in self.index:
            j = self.index[name]
            return j, self.columns_of[j]
        if isinstance(name, str) and name in self.column_index:
            k = self.column_index[name]
            return self.acquisition_of_column[k], (k,)
        names = dict.fromkeys([*self.rules.names, *self.columns.names])
        raise ValueError(explain_unknown("acquisition or column", name, names))

    def features_of(self, columns: Iterable[int]) -> list[int]:
        """The features of some columns."""
        return [i for k in columns for i in self.columns.features[k]]

    def asked_columns(self, columns: Iterable[int]) -> tuple[AskedColumn, ...]:
        """Columns as a person needs them to answer."""
        chosen = (self.columns[k] for k in columns)
        return tuple(AskedColumn(c.name, c.kind, c.unit, c.levels, c.low, c.high) for c in chosen)

    def values_of(self, name: Any, value: Any) -> dict[str, Any]:
        """What a person gives for an acquisition or a column, by column.

        ``value`` is that of the column; for an acquisition of several columns a mapping, of all columns or some; None
        in it is no value.

        Raises
        ------
        ValueError, TypeError
            If a name is unknown, or there is not a value for each.
        """
        j, members = self.find(name)
        if isinstance(value, Mapping):
            names = [self.columns[k].name for k in self.columns_of[j]]
            for key in value:
                if key not in names:
                    raise ValueError(explain_unknown(f"column of {self.rules.names[j]!r}", key, names))
            given = {column: cell for column, cell in value.items() if cell is not None}
            if not given:
                raise ValueError(f"{name!r} must have a value for at least one of {listing(names)}, got none")
            return given
        if len(members) > 1:
            names = [self.columns[k].name for k in members]
            raise TypeError(
                f"{name!r} must be answered by its columns, as {{{names[0]!r}: ...}}, got {brief(value)}; it has "
                f"{listing(names)}"
            )
        return {self.columns[next(iter(members))].name: value}

    def encode(self, values: Mapping[str, Any], accept: bool) -> tuple[list[int], NDArray[np.float64], dict[str, str]]:
        """Features and their values of columns by name, checked, and what was accepted, by column."""
        features: list[int] = []
        numbers: list[float] = []
        remarks: dict[str, str] = {}
        for name, value in values.items():
            k = self.column_index[name]
            checked = check_value(self.columns[k], value, accept)
            features += self.columns.features[k]
            numbers += checked.features
            if checked.remark:
                remarks[name] = checked.remark
        return features, np.array(numbers), remarks


def name_list(names: Any, what: str) -> Sequence[str]:
    """The names as a list; TypeError for a single text."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"{what} must be a list of names, got {brief(names)}")
    listed = list(names)
    if any(isinstance(name, bool | np.bool_) for name in listed):
        raise TypeError(f"{what} must be a list of names, got a mask; select the names by it")
    return listed
