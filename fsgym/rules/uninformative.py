"""What cannot tell anything new: columns of one value, and columns that repeat another one exactly."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.rules import Rules

CONSTANT = -1


def column_sources(X: Any) -> NDArray[np.int64]:
    """For each column of ``X`` (n_samples, n_columns), dense or CSR, the first that is equal to it, int64 (n_columns,).

    ``CONSTANT`` where all known values are equal: that a value is missing is public, so it tells nothing either. Equal
    columns lack the same values.

    >>> column_sources(np.array([[1.0, 5.0, 1.0, 2.0], [2.0, 5.0, 2.0, 2.0], [3.0, np.nan, 3.0, 1.0]])).tolist()
    [0, -1, 0, 3]
    """
    sources, first = np.arange(X.shape[1]), {}
    columns = X.T if isinstance(X, np.ndarray) else (X[:, [i]].toarray()[:, 0] for i in range(X.shape[1]))
    for i, column in enumerate(columns):
        missing = np.isnan(column)
        known = column[~missing]
        if not len(known) or known.min() == known.max():
            sources[i] = CONSTANT
            continue
        plain = np.where(missing, np.nan, column + 0.0)  # of -0 and 0, and of all NaN, the same bytes
        sources[i] = first.setdefault(blake2b(plain.tobytes()).digest(), i)
    return sources


def repeated_columns(X: Any) -> NDArray[np.bool_]:
    """Which columns repeat an earlier one, bool (n_columns,); constant ones do not count.

    >>> repeated_columns(np.array([[1.0, 5.0, 1.0, 5.0], [2.0, 5.0, 2.0, 5.0]])).tolist()
    [False, False, True, False]
    """
    sources = column_sources(X)
    return (sources != CONSTANT) & (sources != np.arange(len(sources)))


def uninformative_columns(X: Any) -> NDArray[np.bool_]:
    """Which columns are constant, or repeat an earlier one, bool (n_columns,).

    >>> uninformative_columns(np.array([[1.0, 5.0, 1.0, 2.0], [2.0, 5.0, 2.0, 1.0]])).tolist()
    [False, True, True, False]
    """
    return column_sources(X) != np.arange(X.shape[1])


def without_repeated(X: NDArray, groups: Sequence[NDArray[np.int64]] | None = None) -> NDArray:
    """``X`` with 0 in the columns that repeat an earlier one, so that a method sees them as constant.

    With ``groups`` of columns that are used together, only in the groups that add nothing to an earlier one.
    """
    repeated = repeated_columns(X)
    if groups is not None and repeated.any():
        rules = Rules(X.shape[1], 2, groups=[list(group) for group in groups])
        useless = uninformative_acquisitions(X, rules)
        repeated &= np.isin(np.arange(X.shape[1]), [i for g in np.flatnonzero(useless) for i in rules.groups[g]])
    return np.where(repeated, X.dtype.type(0), X) if repeated.any() else X


def uninformative_acquisitions(X: NDArray, rules: Rules) -> NDArray[np.bool_]:
    """The acquisitions of which no policy learns anything, by the rows ``X`` (n_samples, n_features), bool (J,).

    All their columns are constant, or equal to columns that one other acquisition reveals, which costs no more and
    needs no further prerequisite; of equal ones the first remains. An acquisition that makes an informative one legal
    or cheaper is informative.

    >>> X = np.array([[1, 5, 1], [2, 5, 2]], np.float32)
    >>> uninformative_acquisitions(X, Rules(3, 2)).tolist()
    [False, True, True]
    >>> uninformative_acquisitions(X, Rules(3, 2, prerequisites={"x0": ["x1"]})).tolist()
    [True, True, False]
    """
    sources = column_sources(X)
    shown = [frozenset(sources[list(group)].tolist()) - {CONSTANT} for group in rules.groups]
    found = np.array([not s for s in shown])
    kept: dict[int, list[int]] = {}  # the acquisitions that reveal each column
    n_needs = np.zeros(len(shown)) if rules.prerequisites is None else rules.prerequisites.sum(axis=1)
    for j in np.lexsort((n_needs, rules.costs)).tolist():
        if shown[j] and any(shown[j] <= shown[i] and _replaces(rules, i, j) for i in kept.get(min(shown[j]), [])):
            found[j] = True
        elif shown[j]:
            for column in shown[j]:
                kept.setdefault(column, []).append(j)
    opens = np.zeros((len(shown),) * 2, bool)
    if rules.prerequisites is not None:
        opens |= rules.prerequisites.T
    if rules.related is not None:
        opens |= rules.related & (rules.forbids_unrelated | (rules.unrelated_costs > rules.costs))
    while (opening := found & opens[:, ~found].any(axis=1)).any():
        found &= ~opening
    return found


def _replaces(rules: Rules, i: int, j: int) -> bool:
    """Whether acquisition i is legal wherever j is, for no higher price."""
    if rules.costs_by_case:  # in some case j may be the cheaper one
        return False
    if rules.costs[i] > rules.costs[j] or rules.unrelated_costs[i] > rules.unrelated_costs[j]:
        return False
    if rules.prerequisites is not None and not (rules.prerequisites[i] <= rules.prerequisites[j]).all():
        return False
    others = np.isin(np.arange(rules.n_acquisitions), (i, j), invert=True)
    return rules.related is None or bool((rules.related[j] <= rules.related[i])[others].all())
