"""Arrays of a model file that say where the parts of another array begin, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fsgym.rules import Rules

CELLS_AT_ONCE = 2**22  # of the table of subsets, looked at together, so that the memory stays small


def lengths_of_parts(first: NDArray, n_parts: int, total: int, what: str) -> NDArray[np.int64]:
    """The lengths of ``n_parts`` parts of an array of ``total`` entries, int64 (n_parts,).

    Part v is ``first[v]`` to ``first[v + 1]``. No difference is taken before all entries are known to be in order, as
    those of entries far apart overflow and look like lengths.

    Raises
    ------
    ValueError
        Unless ``first`` is int64 (n_parts + 1,), begins with 0, ends with ``total`` and does not descend.

    Examples
    --------
    >>> import numpy as np
    >>> lengths_of_parts(np.array([0, 2, 2, 5]), 3, 5, "moves")
    array([2, 0, 3])
    """
    in_order = first.shape == (n_parts + 1,) and first.dtype == np.int64 and bool((first[1:] >= first[:-1]).all())
    if not in_order or first[0] != 0 or first[-1] != total:
        raise ValueError(f"the parts of the {what} must begin with 0, not descend and end with {total}")
    return np.diff(first)


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of the rows of a table, each with a limited number of cells.

    >>> [(part.start, part.stop) for part in row_blocks(5, CELLS_AT_ONCE // 2)]
    [(0, 2), (2, 4), (4, 6)]
    """
    n = max(CELLS_AT_ONCE // max(n_columns, 1), 1)
    return (slice(begin, begin + n) for begin in range(0, n_rows, n))


def numbers_of_features(taken: NDArray[np.bool_], rules: Rules) -> NDArray[np.int64]:
    """How many features each subset of the acquisitions reveals, int64 (n_subsets,); ``taken`` is (n_subsets, J)."""
    sizes = np.diff(rules.tables.member_first)
    return np.concatenate([taken[part] @ sizes for part in row_blocks(*taken.shape)]).astype(np.int64)


def features_are_revealed(taken: NDArray[np.bool_], feature: NDArray[np.int64], rules: Rules) -> bool:
    """Whether ``feature`` lists the features that each subset reveals, ascending, and nothing else.

    It takes the time of its arguments, not that of a table of subsets and features, which a file need not have.

    Parameters
    ----------
    taken : bool (n_subsets, J)
    feature : int64, as many entries as ``numbers_of_features`` in all
    rules : Rules
    """
    t, begin = rules.tables, 0
    for part in row_blocks(*taken.shape):
        subset, j = np.nonzero(taken[part])
        lengths = t.member_first[j + 1] - t.member_first[j]
        ends = np.cumsum(lengths)
        n = int(ends[-1]) if len(ends) else 0
        revealed = t.member[np.arange(n) + np.repeat(t.member_first[j] - (ends - lengths), lengths)]
        order = np.lexsort((revealed, np.repeat(subset, lengths)))
        if not np.array_equal(revealed[order], feature[begin : begin + n]):
            return False
        begin += n
    return True


def moves_extend(
    taken: NDArray[np.bool_], lengths: NDArray[np.int64], acquisition: NDArray[np.int64], child: NDArray[np.int64]
) -> bool:
    """Whether each move makes one acquisition more, no two of a subset the same, and leads to the subset with it.

    Parameters
    ----------
    taken : bool (n_subsets, J)
    lengths : int64 (n_subsets,), numbers of moves of each subset, checked
    acquisition, child : int64 (n_moves,), the acquisition of each move, and the subset that it leads to
    """
    n_subsets, J = taken.shape
    in_range = ((acquisition >= 0) & (acquisition < J)).all() and ((child >= 0) & (child < n_subsets)).all()
    if not in_range or (lengths > J).any():
        return False
    parent = np.repeat(np.arange(n_subsets), lengths)
    if taken[parent, acquisition].any() or len(np.unique(parent * J + acquisition)) < len(parent):
        return False
    for part in row_blocks(len(parent), J):
        extended = taken[parent[part]]
        extended[np.arange(len(extended)), acquisition[part]] = True
        if not (extended == taken[child[part]]).all():
            return False
    return True
