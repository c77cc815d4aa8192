"""The whole Markov decision process: what may be done, what it does, what it costs.

A state is (x, z) (Dulac-Arnold, Denoyer, Preux and Gallinari, 2012, section 3.1). Actions 0..J-1 acquire;
action J + k answers class k and ends the episode. Answering is always legal. An acquisition j is legal while

* it has not been made, and can be had for this datum (at least one of its features is not NaN),
* fewer than ``budget`` acquisitions were made, and its price keeps what is spent within ``budget_cost``,
* all its prerequisites were acquired,
* it is related to what was acquired, where unrelated acquisitions are forbidden (the first is free to choose).

It costs ``lam * costs[j]``, or ``lam * unrelated_costs[j]`` when it is not related to what was acquired.
The reward is minus the price, and minus ``error_costs[answer, truth]`` for the answer; so the return of an
episode is minus the regularised loss of its datum (equations 2, 5, 6 and 8).

The compiled functions below are these rules, for state ``e`` of a batch; environments, evaluation and learners all
call them. ``fsgym.rules.rules`` holds their parameters, checked, and applies them to batches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

OPEN, TAKEN, MISSING = 0, 1, 2
NO_BUDGET = np.iinfo(np.int64).max


class Tables(NamedTuple):
    """What the compiled rules read. J acquisitions; lists of lists are stored flat, with the first index of each."""

    member: NDArray[np.int32]  # features, acquisition by acquisition
    member_first: NDArray[np.int32]  # (J + 1,)
    costs: NDArray[np.float64]  # (J,) price when related
    unrelated: NDArray[np.float64]  # (J,) price when not
    neighbour: NDArray[np.int32]  # those that become related to something when j is acquired
    neighbour_first: NDArray[np.int32]  # (J + 1,)
    need: NDArray[np.int32]  # prerequisites
    need_first: NDArray[np.int32]  # (J + 1,)
    relational: bool
    all_related: bool  # related to all that was acquired, or to any of it
    empty_is_related: bool
    forbid: bool  # unrelated acquisitions are illegal
    independent: bool  # an acquisition changes the price and legality of no other, but for the count
    budget: int
    budget_cost: float


class Costs(NamedTuple):
    """What rewards are made of, beside prices."""

    lam: float  # of one unit of ``costs``, in units of the error costs
    error_costs: NDArray[np.float64]  # (n_classes, n_classes), of the answer and the truth
    costliest: NDArray[np.int64]  # (n_classes,) the answer that costs most, for each true class


class State(NamedTuple):
    """States of ``size`` episodes, side by side. J acquisitions; written by the compiled rules.

    Attributes
    ----------
    legal : int8 (size, width), 1 for each legal action; what follows the acquisitions is always legal
    status : int8 (size, J), OPEN, TAKEN or MISSING; independent rules leave what was taken OPEN
    touching : int32 (size, J), how many of the acquisitions made each acquisition is related to
    n_taken : int64 (size,), number of acquisitions made
    spent : float64 (size,), what they cost, in the unit of ``costs``
    """

    legal: NDArray[np.int8]
    status: NDArray[np.int8]
    touching: NDArray[np.int32]
    n_taken: NDArray[np.int64]
    spent: NDArray[np.float64]

    @classmethod
    def blank(cls, size: int, n_acquisitions: int, width: int) -> State:
        """Room for ``size`` states with ``width`` actions, or more where a kernel wants longer rows."""
        return cls(
            np.zeros((size, width), np.int8),
            np.zeros((size, n_acquisitions), np.int8),
            np.zeros((size, n_acquisitions), np.int32),
            np.zeros(size, np.int64),
            np.zeros(size),
        )


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def is_related(t, state, e, j):
    """Whether j is related to what was acquired."""
    if state.n_taken[e] == 0:
        return t.empty_is_related
    if t.all_related:
        return state.touching[e, j] == state.n_taken[e]
    return state.touching[e, j] > 0


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def price(t, state, e, j):
    """What acquisition j costs now, in the unit of ``costs``."""
    if t.independent or not t.relational or is_related(t, state, e, j):
        return t.costs[j]
    return t.unrelated[j]


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def is_legal(t, state, e, j):
    """Whether acquisition j may be made now."""
    if state.status[e, j] != OPEN or state.n_taken[e] >= t.budget:
        return False
    if t.forbid and state.n_taken[e] > 0 and not is_related(t, state, e, j):
        return False
    if state.spent[e] + price(t, state, e, j) > t.budget_cost:
        return False
    for k in range(t.need_first[j], t.need_first[j + 1]):  # noqa: SIM110 (compiled)
        if state.status[e, t.need[k]] != TAKEN:
            return False
    return True


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def acquire(t, state, e, j):
    """Make acquisition j: bring the state up to date, what is legal included; return the price paid."""
    paid = price(t, state, e, j)
    state.n_taken[e] += 1
    state.spent[e] += paid
    if t.independent:
        state.legal[e, j] = 0
        if state.n_taken[e] >= t.budget:
            for i in range(t.costs.size):
                state.legal[e, i] = 0
        return paid
    _mark_taken(t, state, e, j)
    for i in range(t.costs.size):
        state.legal[e, i] = is_legal(t, state, e, i)
    return paid


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _mark_taken(t, state, e, j):
    state.status[e, j] = TAKEN
    for k in range(t.neighbour_first[j], t.neighbour_first[j + 1]):
        state.touching[e, t.neighbour[k]] += 1


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def start(t, state, e, X, row):
    """Put state e at the beginning of an episode with the datum ``X[row]``."""
    state.n_taken[e] = 0
    state.spent[e] = 0.0
    for j in range(t.costs.size):
        state.touching[e, j] = 0
        state.status[e, j] = MISSING
        for k in range(t.member_first[j], t.member_first[j + 1]):
            if not np.isnan(X[row, t.member[k]]):
                state.status[e, j] = OPEN
    _mark_legal(t, state, e)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def place(t, state, e, taken, spent):
    """Put state e where the acquisitions ``taken`` (bool, J) were made for ``spent``, and nothing is missing."""
    state.n_taken[e] = 0
    state.spent[e] = spent
    for j in range(t.costs.size):
        state.touching[e, j] = 0
        state.status[e, j] = OPEN
    for j in range(t.costs.size):
        if taken[j]:
            state.n_taken[e] += 1
            _mark_taken(t, state, e, j)
    _mark_legal(t, state, e)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _mark_legal(t, state, e):
    for j in range(t.costs.size):
        state.legal[e, j] = is_legal(t, state, e, j)
    for a in range(t.costs.size, state.legal.shape[1]):
        state.legal[e, a] = 1


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def copy_state(t, state, source, target):
    """Make state ``target`` equal to state ``source``, as far as the rules ``t`` read it."""
    state.n_taken[target] = state.n_taken[source]
    state.spent[target] = state.spent[source]
    for a in range(state.legal.shape[1]):
        state.legal[target, a] = state.legal[source, a]
    if not t.independent:
        for j in range(t.costs.size):
            state.status[target, j] = state.status[source, j]
            state.touching[target, j] = state.touching[source, j]


@njit(cache=True, nogil=True, _nrt=False)
def _price_sets(t, state, X, wanted, paid, admissible):
    """Greedily cheapest order of each row's acquisitions, in state 0; see ``Rules.price_sets``."""
    for i in range(len(X)):
        start(t, state, 0, X, i)
        while True:
            best, lowest, best_allowed = -1, np.inf, False
            for j in range(t.costs.size):
                if not wanted[i, j] or state.status[0, j] != OPEN:
                    continue
                allowed = state.legal[0, j] == 1
                cost = price(t, state, 0, j)
                if best < 0 or (allowed and not best_allowed) or (allowed == best_allowed and cost < lowest):
                    best, lowest, best_allowed = j, cost, allowed
            if best < 0:
                break
            admissible[i] = admissible[i] and best_allowed
            acquire(t, state, 0, best)
        paid[i] = state.spent[0]
