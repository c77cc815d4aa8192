"""Step 1 of RCPI: sampling of training states."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.rcpi.kernels import next_state, random_fraction, random_integer, random_stream
from fsgym.rules import NO_BUDGET, Rules
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only
from fsgym.support.kernels import INNER


class States(NamedTuple):
    """Sampled states (x, z), with the order of the acquisitions, on which prices can depend."""

    rows: NDArray[np.int64]  # (n_states,), the row x of the data set
    order: NDArray[np.int16]  # (n_states, longest), the acquisitions in order
    lengths: NDArray[np.int64]  # (n_states,), number of acquisitions
    taken: NDArray[np.bool_]  # (n_states, n_acquisitions), the set of acquisitions

    @classmethod
    def blank(cls, n_states: int, rules: Rules) -> States:
        """States of row 0 with nothing acquired, and room for as many acquisitions as the budgets allow."""
        J = rules.n_acquisitions
        longest = rules.most_acquisitions
        if rules.budget_cost is not None:
            cheapest = np.sort(rules.lowest_costs)
            longest = min(longest, int((np.cumsum(cheapest) <= rules.tables.budget_cost).sum()))
        return cls(
            np.zeros(n_states, np.int64),
            np.zeros((n_states, longest), np.int16),
            np.zeros(n_states, np.int64),
            np.zeros((n_states, J), bool),
        )

    def joined(self, other: States) -> States:
        """These states and then the others, which were sampled under the same rules."""
        pairs: Any = zip(self, other, strict=True)
        return States(*(np.concatenate(pair) for pair in pairs))

    def every(self, k: int) -> States:
        """Every k-th of these states, from the first."""
        kept: Any = (np.ascontiguousarray(array[::k]) for array in self)
        return self if k == 1 else States(*kept)


EQUAL_SHARES = np.zeros(0)  # of all rows


def sample_states(
    X: NDArray[np.float32], rules: Rules, n_states: int, seed: int, shares: NDArray[np.float64] = EQUAL_SHARES
) -> States:
    """Sample states: x is uniform over the rows of ``X``, and z is a random set of acquisitions.

    With ``shares``, float64 (n_samples,), as ``cumulative_shares`` returns them, the probability of a
    row is proportional to its weight.

    Without a budget, each available acquisition is in the set with probability 1/2, as in the paper. With a budget
    that would exhaust it in nearly every state, where no acquisition is legal and nothing can be learnt; instead the
    size of the set is uniform over the sizes that the budget allows. The set is acquired in a random legal order, which
    respects prerequisites, prices and forbidden acquisitions.
    """
    J = rules.n_acquisitions
    budgeted = rules.most_acquisitions < J or rules.budget_cost is not None
    states = States.blank(n_states, rules)
    tables = rules.tables if budgeted else rules.tables._replace(budget=NO_BUDGET)
    _sample(seed, budgeted, read_only(X), shares, tables, states, rules.blank_state(), np.empty(J, np.int64))
    return states


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def _write_legal(pool, t, state):
    """Write the legal acquisitions in state 0 into ``pool``; return their number."""
    n = 0
    for j in range(t.costs.size):
        if state.legal[0, j] != 0:
            pool[n] = j
            n += 1
    return n


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def _first_above(shares, u):
    """The first row whose cumulative share is above u."""
    low, high = 0, shares.size - 1
    while low < high:
        middle = (low + high) // 2
        if shares[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def sample_row(random, shares, n_rows):
    """A row with its share, or any row with equal probability where there are no shares."""
    return _first_above(shares, random_fraction(random)) if shares.size > 0 else random_integer(random, n_rows)


@njit(cache=True, nogil=True, _nrt=False)
def _sample(seed, budgeted, X, shares, t, states, state, pool):
    for s in range(states.rows.size):
        random = next_state(random_stream(seed, s))
        row = sample_row(random, shares, len(X))
        states.rows[s] = row
        mdp.start(t, state, mdp.FIRST, X, row)
        size = 0
        if budgeted:
            random = next_state(random)
            size = random_integer(random, states.order.shape[1] + 1)
        else:
            for j in range(t.costs.size):
                if state.status[0, j] == mdp.OPEN:
                    random = next_state(random)
                    size += random_integer(random, 2)
        n_pool = _write_legal(pool, t, state)
        while state.n_taken[0] < size and n_pool > 0:
            random = next_state(random)
            k = random_integer(random, n_pool)
            j = pool[k]
            n_pool -= 1
            pool[k] = pool[n_pool]
            states.order[s, state.n_taken[0]] = j
            states.taken[s, j] = True
            mdp.acquire(t, state, mdp.FIRST, j)
            if not t.independent or state.n_counted[0] >= t.budget:
                n_pool = _write_legal(pool, t, state)
        states.lengths[s] = state.n_taken[0]
