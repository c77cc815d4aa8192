"""What every agent is: a rule that tells, for what is known of a datum, which legal action to take."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.rules import Rules, Tables
from fsgym.rules import kernels as mdp


class Policy(Protocol):
    """Batches in, actions out."""

    def actions(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Actions, int64 (n,), from z (n, n_features), the values where known, and what is legal (n, n_actions)."""
        ...


def legal_from(acquired: NDArray[np.bool_], rules: Rules) -> NDArray[np.bool_]:
    """What is legal as far as z tells, bool (n, n_actions), from ``acquired`` bool (n, n_features).

    What z does not tell: which values are missing, and what was spent where prices depend on the order; the
    greedily cheapest order is taken for it.
    """
    taken = rules.taken_from(acquired)
    legal = np.ones((len(taken), rules.n_actions), np.int8)
    state = np.empty((1, rules.n_acquisitions), np.int8), np.empty((1, rules.n_acquisitions), np.int32)
    _legal_from(taken, rules.price_sets(taken)[0], legal, *state, *rules.tables)
    return legal.astype(bool)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def state_of(t, taken, status, touching):
    """Write the state after the acquisitions ``taken`` (bool, J) into row 0 of both; returns how many they are."""
    touching[0, :] = 0
    n_taken = 0
    for j in range(taken.size):
        status[0, j] = mdp.TAKEN if taken[j] else mdp.OPEN
        if taken[j]:
            n_taken += 1
            for k in range(t.neighbour_first[j], t.neighbour_first[j + 1]):
                touching[0, t.neighbour[k]] += 1
    return n_taken


@njit(cache=True, nogil=True, _nrt=False)
def _legal_from(taken, spent, legal, status, touching, *tables):
    t = Tables(*tables)
    J = t.costs.size
    for e in range(len(taken)):
        n_taken = state_of(t, taken[e], status, touching)
        for j in range(J):
            legal[e, j] = mdp.is_legal(t, j, 0, status, touching, n_taken, spent[e])
