"""Groups of columns: as given by the user, and in the order in which the solvers store the columns."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class ColumnGroups(NamedTuple):
    """A partition of the columns; each group is contiguous in ``order``."""

    # (n_features,), column number at each place; group g has the places ``first[g]`` to ``first[g + 1]``
    order: NDArray[np.int64]
    first: NDArray[np.int64]  # (n_groups + 1,)
    weights: NDArray[np.float64]  # (n_groups,), v_g, the factors of lam2

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.first)

    def sums(self, values: NDArray) -> NDArray[np.float64]:
        """Return the sum over each group of ``values`` (n_features,), which are in the order of places."""
        return np.add.reduceat(values, self.first[:-1])


def make_groups(groups: Any, group_weights: str | ArrayLike, n_features: int) -> ColumnGroups:
    """Return the groups over ``n_features`` columns from the parameters of an estimator.

    ``groups`` is None (every column is a group), the common size of groups of neighbouring columns, one label per
    column, or a list of lists of column numbers. ``group_weights`` is "ones", "sqrt" (of the size) or one positive
    number per group; groups are in the order of the list, or of the sorted labels.

    Raises ValueError if the groups do not partition the columns or the weights do not match the groups.

    >>> make_groups([[0, 2], [1]], "sqrt", 3).order.tolist()
    [0, 2, 1]
    """
    members = group_members(groups, n_features)
    sizes = np.array([len(m) for m in members])
    if (sizes == 0).any():
        raise ValueError(f"every group must have a column, got an empty group {int(sizes.argmin())}")
    order = np.concatenate(members).astype(np.int64)
    if len(order) != n_features or not np.array_equal(np.sort(order), np.arange(n_features)):
        raise ValueError(
            f"groups must name each of the {n_features} columns exactly once, got {len(order)} entries "
            f"of which {len(np.intersect1d(order, np.arange(n_features)))} are different columns"
        )
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return ColumnGroups(order, first, _check_group_weights(group_weights, sizes))


def group_members(groups: Any, n_features: int) -> list[NDArray]:
    if groups is None:
        return list(np.arange(n_features)[:, None])
    if isinstance(groups, Integral):
        size = int(groups)
        if size < 1 or n_features % size:
            raise ValueError(f"the size of groups must be a whole number that divides {n_features}, got {groups!r}")
        return list(np.arange(n_features).reshape(-1, size))
    if any(np.ndim(g) > 0 for g in groups):
        members = [np.atleast_1d(np.asarray(g)) for g in groups]
        if any(m.size and (m.ndim != 1 or m.dtype.kind not in "iu") for m in members):
            raise ValueError("groups must be lists of column numbers (whole numbers), one list per group")
        return members
    labels = np.asarray(groups)
    if labels.shape != (n_features,):
        raise ValueError(f"groups must hold one label for each of the {n_features} columns, got {len(labels)}")
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _check_group_weights(group_weights: Any, sizes: NDArray) -> NDArray[np.float64]:
    if isinstance(group_weights, str):
        if group_weights not in ("ones", "sqrt"):
            raise ValueError(f"group_weights must be 'ones', 'sqrt' or one number per group, got {group_weights!r}")
        return np.ones(len(sizes)) if group_weights == "ones" else np.sqrt(sizes)
    weights = np.array(group_weights, dtype=np.float64)
    if weights.shape != sizes.shape:
        raise ValueError(f"group_weights must have shape {sizes.shape}, one per group, got {weights.shape}")
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(f"group_weights must be positive and finite, got {weights.min()} as the smallest")
    return weights
