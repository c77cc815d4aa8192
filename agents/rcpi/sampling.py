"""Step 1 of RCPI: states to learn from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.rcpi.kernels import advance, below, stream
from fsgym.rules import NO_BUDGET, Rules
from fsgym.rules import kernels as mdp


class States(NamedTuple):
    """Sampled states (x, z), with the order in which z was acquired, since prices can depend on it.

    rows : int64 (n_states,), the datum of each
    order : int16 (n_states, longest), its acquisitions
    lengths : int64 (n_states,), how many there are
    taken : bool (n_states, n_acquisitions)
    """

    rows: NDArray[np.int64]
    order: NDArray[np.int16]
    lengths: NDArray[np.int64]
    taken: NDArray[np.bool_]


def sample_states(X: NDArray[np.float32], rules: Rules, n_states: int, seed: int) -> States:
    """States with x uniform over the rows of ``X``, and z a random set of acquisitions.

    Without a budget each acquisition that can be had is in the set with probability 1/2 (the paper's choice).
    With one, that would fill the budget in nearly every state, where no acquisition is legal and nothing could be
    learnt: there the size is uniform over what the budget allows. The set is acquired in a random legal order, so
    that prerequisites, forbidden and unaffordable acquisitions are respected.
    """
    J = rules.n_acquisitions
    budgeted = rules.tables.budget < J or rules.budget_cost is not None
    longest = J
    if budgeted:
        longest = min(J, rules.tables.budget)
        cheapest = np.sort(np.minimum(rules.costs, rules.unrelated_costs))
        longest = min(longest, int((np.cumsum(cheapest) <= rules.tables.budget_cost).sum()))
    states = States(
        np.zeros(n_states, np.int64),
        np.zeros((n_states, longest), np.int16),
        np.zeros(n_states, np.int64),
        np.zeros((n_states, J), bool),
    )
    tables = rules.tables if budgeted else rules.tables._replace(budget=NO_BUDGET)
    _sample(seed, budgeted, X, tables, states, rules.blank_state(), np.empty(J, np.int64))
    return states


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _fill(pool, t, state):
    """Write the legal acquisitions of state 0 into ``pool``; return how many they are."""
    n = 0
    for j in range(t.costs.size):
        if state.legal[0, j] != 0:
            pool[n] = j
            n += 1
    return n


@njit(cache=True, nogil=True, _nrt=False)
def _sample(seed, budgeted, X, t, states, state, pool):
    for s in range(states.rows.size):
        random = advance(stream(seed, s))
        row = below(random, len(X))
        states.rows[s] = row
        mdp.start(t, state, 0, X, row)
        size = 0
        if budgeted:
            random = advance(random)
            size = below(random, states.order.shape[1] + 1)
        else:
            for j in range(t.costs.size):
                if state.status[0, j] == mdp.OPEN:
                    random = advance(random)
                    size += below(random, 2)
        n_pool = _fill(pool, t, state)
        while state.n_taken[0] < size and n_pool > 0:
            random = advance(random)
            k = below(random, n_pool)
            j = pool[k]
            n_pool -= 1
            pool[k] = pool[n_pool]
            states.order[s, state.n_taken[0]] = j
            states.taken[s, j] = True
            mdp.acquire(t, state, 0, j)
            if not t.independent:
                n_pool = _fill(pool, t, state)
        states.lengths[s] = state.n_taken[0]
