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

The four compiled functions below are these rules, for one state; environments, evaluation and learners all
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
    fixed: bool  # an acquisition changes the price and legality of no other, but for the count
    budget: int
    budget_cost: float


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def is_related(t, j, e, touching, n_taken):
    """Whether j is related to the ``n_taken`` acquisitions of state e, ``touching[e, j]`` of which it is related to."""
    if n_taken == 0:
        return t.empty_is_related
    if t.all_related:
        return touching[e, j] == n_taken
    return touching[e, j] > 0


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def price(t, j, e, touching, n_taken):
    """What acquisition j costs now, in the unit of ``costs``."""
    if t.relational and not is_related(t, j, e, touching, n_taken):
        return t.unrelated[j]
    return t.costs[j]


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def is_legal(t, j, e, status, touching, n_taken, spent):
    """Whether acquisition j may be made now."""
    if status[e, j] != OPEN or n_taken >= t.budget:
        return False
    if t.forbid and n_taken > 0 and not is_related(t, j, e, touching, n_taken):
        return False
    if spent + price(t, j, e, touching, n_taken) > t.budget_cost:
        return False
    for k in range(t.need_first[j], t.need_first[j + 1]):  # noqa: SIM110 (compiled)
        if status[e, t.need[k]] != TAKEN:
            return False
    return True


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def acquire(t, j, e, legal, status, touching, n_taken, spent):
    """Make acquisition j in state e: mark it, mark what is now legal; return its price.

    ``n_taken`` and ``spent`` are the numbers before; the caller adds one and the price.
    """
    paid = price(t, j, e, touching, n_taken)
    if t.fixed:
        legal[e, j] = 0
        if n_taken + 1 >= t.budget:
            for i in range(t.costs.size):
                legal[e, i] = 0
        return paid
    status[e, j] = TAKEN
    for k in range(t.neighbour_first[j], t.neighbour_first[j + 1]):
        touching[e, t.neighbour[k]] += 1
    for i in range(t.costs.size):
        legal[e, i] = is_legal(t, i, e, status, touching, n_taken + 1, spent + paid)
    return paid


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def start(t, X, row, e, legal, status, touching):
    """Put state e at the beginning of an episode with the datum ``X[row]``."""
    for j in range(t.costs.size):
        touching[e, j] = 0
        status[e, j] = MISSING
        for k in range(t.member_first[j], t.member_first[j + 1]):
            if not np.isnan(X[row, t.member[k]]):
                status[e, j] = OPEN
    for j in range(t.costs.size):
        legal[e, j] = is_legal(t, j, e, status, touching, 0, 0.0)
    for a in range(t.costs.size, legal.shape[1]):
        legal[e, a] = 1


@njit(cache=True, nogil=True)
def _price_sets(t, X, wanted, paid, admissible):
    """Greedily cheapest order of each row's acquisitions; see ``Rules.price_sets``."""
    n_acquisitions = t.costs.size
    status = np.empty((1, n_acquisitions), np.int8)
    touching = np.empty((1, n_acquisitions), np.int32)
    legal = np.empty((1, n_acquisitions + 1), np.int8)
    for i in range(len(X)):
        start(t, X, i, 0, legal, status, touching)
        n_taken, spent = 0, 0.0
        while True:
            best, lowest, best_allowed = -1, np.inf, False
            for j in range(n_acquisitions):
                if not wanted[i, j] or status[0, j] != OPEN:
                    continue
                allowed = legal[0, j] == 1
                cost = price(t, j, 0, touching, n_taken)
                if best < 0 or (allowed and not best_allowed) or (allowed == best_allowed and cost < lowest):
                    best, lowest, best_allowed = j, cost, allowed
            if best < 0:
                break
            admissible[i] = admissible[i] and best_allowed
            spent += acquire(t, best, 0, legal, status, touching, n_taken, spent)
            n_taken += 1
        paid[i] = spent
