"""Acquisitions in a fixed order, as far as the rules allow them for each row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.rules import Rules
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only


def follow_order(
    rules: Rules, available: NDArray[np.bool_], order: Iterable[int]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Make the acquisitions of ``order`` for each row, without those that are not legal when their turn comes.

    Parameters
    ----------
    rules : Rules
    available : bool (n_samples, n_acquisitions), whether the acquisition has a value for the row
    order : acquisitions

    Returns
    -------
    taken : bool (n_samples, n_order), whether each was made
    spent : float64 (n_samples, n_order + 1), total price of the first 0, 1, ... of them, in the unit of ``costs``
    """
    sequence = np.array([*order], dtype=np.int64)
    open_features = available[:, rules.acquisition_of_features]
    values = np.where(open_features, np.float32(0.0), np.float32(np.nan))
    taken, spent = np.zeros((len(values), len(sequence)), bool), np.zeros((len(values), len(sequence) + 1))
    _follow_order(rules.tables, rules.blank_state(), read_only(values), sequence, taken, spent)
    return taken, spent


@njit(cache=True, nogil=True, _nrt=False)
def _follow_order(t, state, X, order, taken, spent):
    """Compiled loop of ``follow_order``, which uses state 0 for all rows."""
    for i in range(len(X)):
        mdp.start(t, state, mdp.FIRST, X, i)
        for k in range(order.size):
            if state.legal[0, order[k]] == 1:
                mdp.acquire(t, state, mdp.FIRST, order[k])
                taken[i, k] = True
            spent[i, k + 1] = state.spent[0]


def legal_order(rules: Rules, wanted: Iterable[int]) -> list[int] | None:
    """The acquisitions ``wanted`` in an order that is legal for a complete row; None if there is none.

    The first one in ``wanted`` that is legal comes next.
    """
    remaining, ordered = [*wanted], []
    complete = np.ones((1, rules.n_acquisitions), bool)
    while remaining:
        for j in remaining:
            if follow_order(rules, complete, [*ordered, j])[0].all():
                break
        else:
            return None
        ordered.append(j)
        remaining.remove(j)
    return ordered
