"""Groups of features that are acquired together, from positions or names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from fsgym.data.checks import check_groups
from fsgym.data.columns import Columns
from fsgym.text.messages import brief, explain_unknown, option_text

Groups = tuple[tuple[int, ...], ...]


def resolve_groups(
    groups: Mapping[str, Any] | Sequence[Sequence[int]] | ArrayLike,
    columns: Columns,
    group_names: Mapping[str, Sequence[int]] | None = None,
) -> tuple[Groups, tuple[str, ...] | None]:
    """Groups as tuples of feature indices, and their names if ``groups`` has them.

    Named groups are in the order of their first features, so that the order of the mapping has no effect.

    Parameters
    ----------
    groups : mapping group name -> names of columns, of features or of earlier groups; or as in ``check_groups``
        In a mapping, each column that is not listed is a group of its own.
    columns : Columns
    group_names : mapping name -> feature indices, optional
        Earlier groups, whose names stand for their features.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, a feature is in two groups or in none, or a group is empty.
    """
    if not isinstance(groups, Mapping):
        return check_groups(groups, columns.n_features), None
    if not groups:
        raise ValueError(f"{option_text('groups')} must name at least one group, got an empty mapping; leave it out")
    named = {str(name): _members(str(name), members, columns, group_names or {}) for name, members in groups.items()}
    group_of: dict[int, str] = {}
    for group, members in named.items():
        for i in members:
            if group_of.setdefault(i, group) != group:
                raise ValueError(
                    f"{option_text('groups')} must not overlap, but {columns[columns.column_of[i]].name!r} is in "
                    f"{group_of[i]!r} and in "
                    f"{group!r}; remove it from one of them"
                )
    for column, features in zip(columns, columns.features, strict=True):
        rest = [i for i in features if i not in group_of]
        if rest:
            if column.name in named:
                raise ValueError(
                    f"{option_text('groups')}: {column.name!r} is the name of a group and of a column outside it; "
                    "rename the group"
                )
            named[column.name] = rest
    ordered = sorted(named, key=lambda name: min(named[name], default=-1))
    return check_groups([named[name] for name in ordered], columns.n_features), tuple(ordered)


def _members(group: str, members: Any, columns: Columns, group_names: Mapping[str, Sequence[int]]) -> list[int]:
    """The features of a named group."""
    if isinstance(members, str) or not hasattr(members, "__iter__"):
        raise TypeError(f"the group {group!r} must list names of columns, got {brief(members)}")
    features: list[int] = []
    for name in members:
        if name in columns.names:
            features += columns.features[columns.names.index(name)]
        elif name in group_names:
            features += group_names[name]
        elif name in columns.feature_names:
            features.append(columns.feature_names.index(name))
        else:
            raise ValueError(f"the group {group!r}: " + explain_unknown("column", name, columns.names))
    if not features:
        raise ValueError(f"the group {group!r} is empty; every group must list at least one column")
    for name in columns.names:
        if list(members).count(name) > 1:
            raise ValueError(f"the group {group!r} lists {name!r} twice; remove one")
    return features


def groups_by_column(groups: Groups, columns: Columns) -> list[list[int]] | None:
    """Groups of features as groups of columns by position; None where each column is a group of its own."""
    listed = [list(dict.fromkeys(columns.column_of[list(members)].tolist())) for members in groups]
    return None if listed == [[k] for k in range(len(columns))] else listed


def groups_by_name(groups: Groups, names: Sequence[str], columns: Columns) -> dict[str, list[str]]:
    """Groups as a mapping name -> names of columns (or of features, if a group divides a column).

    Groups of one whole column, under its name, are left out.
    """
    feature_names, column_names = columns.feature_names, columns.names
    listed: dict[str, list[str]] = {}
    for name, members in zip(names, groups, strict=True):
        rest, whole = set(members), []
        for k in sorted(set(columns.column_of[list(members)].tolist())):
            if rest.issuperset(columns.features[k]):
                whole.append(column_names[k])
                rest.difference_update(columns.features[k])
        if rest or whole != [name]:
            listed[name] = whole + [feature_names[i] for i in sorted(rest)]
    return listed
