"""Arrays of a model file that say where the parts of another array begin, checked before anything is computed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOVES_AT_ONCE = 4096  # compared with the subsets that they lead to, so that the memory stays small


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
    for begin in range(0, len(parent), MOVES_AT_ONCE):
        part = slice(begin, begin + MOVES_AT_ONCE)
        extended = taken[parent[part]]
        extended[np.arange(len(extended)), acquisition[part]] = True
        if not (extended == taken[child[part]]).all():
            return False
    return True
