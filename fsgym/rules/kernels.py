"""The Markov decision process in compiled functions: legal actions, transitions and prices.

A state is (x, z) (Dulac-Arnold, Denoyer, Preux and Gallinari, 2012, section 3.1). Actions 0..J-1 acquire;
action J + k answers class k and ends the episode. With ``refer_cost`` there is one answer more: action J + n_classes
refers, to a person. Answering is always legal. An acquisition j is legal if

* it has not been made, and is available for this row (at least one of its features is not NaN),
* fewer than ``budget`` of the acquisitions that count have been made, or j does not count (it is always known),
* the total price including j is at most ``budget_cost``,
* all its prerequisites have been acquired,
* it is related to earlier acquisitions, if unrelated ones are forbidden (the first acquisition may be any).

Where prices are by case, it costs ``lam`` times the price of the case, which is part of the state. Else it costs
``lam * costs[j]`` if it is related to earlier acquisitions or there is no relation, ``lam * unrelated_costs[j]``
otherwise. The reward is minus this cost, or minus ``answer_costs[answer, true class]`` for an answer: the error costs,
then a row of ``refer_cost``, whatever the class; so the return of an episode is minus the regularised loss of its row
(equations 2, 5, 6 and 8).

Each function works on state ``e`` of a batch, under the tables ``t``. Environments, evaluation and learners all call
these functions. ``fsgym.rules.rules`` checks the parameters and applies the functions to batches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.support.kernels import INNER

OPEN, TAKEN, MISSING = 0, 1, 2  # status of an acquisition
NO_BUDGET = np.iinfo(np.int64).max
FIRST, SECOND = np.int64(0), np.int64(1)  # states of a batch; for a literal 0 or 1, Numba would compile a function anew
NONE = np.int64(-1)  # no acquisition; for the same reason


class Tables(NamedTuple):
    """The parameters of compiled functions. J acquisitions; lists of lists are stored flat, with the start of each."""

    member: NDArray[np.int32]  # features, acquisition by acquisition
    member_first: NDArray[np.int32]  # (J + 1,)
    costs: NDArray[np.float64]  # (J,) prices, in the unit of ``costs``
    unrelated: NDArray[np.float64]  # (J,) prices of acquisitions that are not related to earlier ones
    neighbour: NDArray[np.int32]  # the acquisitions that are related to j
    neighbour_first: NDArray[np.int32]  # (J + 1,)
    need: NDArray[np.int32]  # prerequisites
    need_first: NDArray[np.int32]  # (J + 1,)
    relational: bool  # there is a relation
    all_related: bool  # an acquisition must be related to all earlier ones, else to any
    empty_is_related: bool  # the first acquisition counts as related
    forbid: bool  # unrelated acquisitions are illegal
    by_case: bool  # prices are those of the case, in ``State.case_costs``
    independent: bool  # no acquisition changes the price or legality of another, except through ``budget``
    counts: NDArray[np.int64]  # (J,) 1 for the acquisitions that count for ``budget``, 0 for those always known
    budget: int
    budget_cost: float


class Costs(NamedTuple):
    """The parameters of rewards, except prices."""

    lam: float  # exchange rate: one unit of ``costs`` in units of the error costs
    error_costs: NDArray[np.float64]  # (n_answers, n_classes), by answer and true class: ``Rules.answer_costs``
    costliest: NDArray[np.int64]  # (n_classes,) the costliest class to answer for each true class


class State(NamedTuple):
    """States of ``size`` episodes with J acquisitions, written by the compiled functions.

    Attributes
    ----------
    legal : int8 (size, width), 1 for each legal action; actions after the acquisitions are always legal
    status : int8 (size, J), OPEN, TAKEN or MISSING; under independent rules it stays OPEN when taken
    touching : int32 (size, J), the number of acquisitions made to which each acquisition is related
    n_taken : int64 (size,), number of acquisitions made
    n_counted : int64 (size,), how many of them count for ``budget``
    spent : float64 (size,), their total price, in the unit of ``costs``
    case_costs : float64 (size, J), the prices of each case; (0, J) where prices are not by case
        Set before an episode starts, and not changed by the compiled functions.
    """

    legal: NDArray[np.int8]
    status: NDArray[np.int8]
    touching: NDArray[np.int32]
    n_taken: NDArray[np.int64]
    n_counted: NDArray[np.int64]
    spent: NDArray[np.float64]
    case_costs: NDArray[np.float64]

    @classmethod
    def blank(cls, size: int, n_acquisitions: int, width: int, costs: NDArray[np.float64] | None = None) -> State:
        """Zeros for ``size`` states; ``width`` is the number of actions, or more if a kernel needs longer rows.

        Where prices are by case, each state has the prices ``costs``, float64 (J,), until it gets its own.
        """
        return cls(
            np.zeros((size, width), np.int8),
            np.zeros((size, n_acquisitions), np.int8),
            np.zeros((size, n_acquisitions), np.int32),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros(size),
            np.zeros((0, n_acquisitions)) if costs is None else np.tile(costs, (size, 1)),
        )


@njit(cache=True, nogil=True, inline="always", _nrt=False)
def is_related(t, state, e, j):
    """Whether acquisition j is related to those made."""
    if state.n_taken[e] == 0:
        return t.empty_is_related
    if t.all_related:
        return state.touching[e, j] == state.n_taken[e]
    return state.touching[e, j] > 0


@njit(cache=True, nogil=True, inline="always", _nrt=False)
def price(t, state, e, j):
    """The current price of acquisition j, in the unit of ``costs``."""
    if t.by_case:
        return state.case_costs[e, j]
    if t.independent or not t.relational or is_related(t, state, e, j):
        return t.costs[j]
    return t.unrelated[j]


@njit(cache=True, nogil=True, inline="always", _nrt=False)
def is_legal(t, state, e, j):
    """Whether acquisition j may be made now."""
    if state.status[e, j] != OPEN or (state.n_counted[e] >= t.budget and t.counts[j] > 0):
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
    """Make acquisition j: update the state, including ``legal``; return the price paid."""
    paid = price(t, state, e, j)
    state.n_taken[e] += 1
    state.n_counted[e] += t.counts[j]
    state.spent[e] += paid
    if t.independent:
        state.legal[e, j] = 0
        if state.n_counted[e] >= t.budget:
            for i in range(t.costs.size):
                if t.counts[i] > 0:
                    state.legal[e, i] = 0
        return paid
    _mark_taken(t, state, e, j)
    for i in range(t.costs.size):
        state.legal[e, i] = is_legal(t, state, e, i)
    return paid


@njit(cache=True, nogil=True, inline="always", _nrt=False)
def _mark_taken(t, state, e, j):
    state.status[e, j] = TAKEN
    for k in range(t.neighbour_first[j], t.neighbour_first[j + 1]):
        state.touching[e, t.neighbour[k]] += 1


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def start(t, state, e, X, row):
    """Set state e to the start of an episode on ``X[row]``."""
    state.n_taken[e] = 0
    state.n_counted[e] = 0
    state.spent[e] = 0.0
    for j in range(t.costs.size):
        state.touching[e, j] = 0
        state.status[e, j] = MISSING
        for k in range(t.member_first[j], t.member_first[j + 1]):
            if not np.isnan(X[row, t.member[k]]):
                state.status[e, j] = OPEN
    _mark_legal(t, state, e)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def set_acquired(t, state, e, taken, spent):
    """Set state e to the acquisitions ``taken`` (bool, J) at the total price ``spent``, with no value missing."""
    state.n_taken[e] = 0
    state.n_counted[e] = 0
    state.spent[e] = spent
    for j in range(t.costs.size):
        state.touching[e, j] = 0
        state.status[e, j] = OPEN
    for j in range(t.costs.size):
        if taken[j]:
            state.n_taken[e] += 1
            state.n_counted[e] += t.counts[j]
            _mark_taken(t, state, e, j)
    _mark_legal(t, state, e)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False, **INNER)
def _mark_legal(t, state, e):
    for j in range(t.costs.size):
        state.legal[e, j] = is_legal(t, state, e, j)
    for a in range(t.costs.size, state.legal.shape[1]):
        state.legal[e, a] = 1


@njit(cache=True, nogil=True, inline="always", _nrt=False)
def copy_state(t, state, source, target):
    """Copy state ``source`` to state ``target``, as far as the rules ``t`` read it."""
    state.n_taken[target] = state.n_taken[source]
    state.n_counted[target] = state.n_counted[source]
    state.spent[target] = state.spent[source]
    if t.by_case:
        for j in range(t.costs.size):
            state.case_costs[target, j] = state.case_costs[source, j]
    for a in range(state.legal.shape[1]):
        state.legal[target, a] = state.legal[source, a]
    if not t.independent:
        for j in range(t.costs.size):
            state.status[target, j] = state.status[source, j]
            state.touching[target, j] = state.touching[source, j]


@njit(cache=True, nogil=True, inline="always", _nrt=False)
def set_case_costs(t, state, e, case_costs, row):
    """Give state e the prices of a row, of those of all rows (n_samples, J), before it starts."""
    if t.by_case and len(case_costs) > 0:
        for j in range(t.costs.size):
            state.case_costs[e, j] = case_costs[row, j]


@njit(cache=True, nogil=True, _nrt=False)
def price_sets_greedily(t, state, X, case_costs, wanted, paid, admissible):
    """Compiled loop of ``Rules.price_sets``, which uses state 0 for all rows."""
    for i in range(len(X)):
        set_case_costs(t, state, FIRST, case_costs, i)
        start(t, state, FIRST, X, i)
        while True:
            best, lowest, best_allowed = NONE, np.inf, False
            for j in range(t.costs.size):
                if not wanted[i, j] or state.status[0, j] != OPEN:
                    continue
                allowed = state.legal[0, j] == 1
                cost = price(t, state, FIRST, j)
                if best < 0 or (allowed and not best_allowed) or (allowed == best_allowed and cost < lowest):
                    best, lowest, best_allowed = j, cost, allowed
            if best < 0:
                break
            admissible[i] = admissible[i] and best_allowed
            acquire(t, state, FIRST, best)
        paid[i] = state.spent[0]
