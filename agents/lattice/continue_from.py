"""Compiled choice of the action in any state: what is known and was not acquired by the policy itself cost nothing.

In the compiled functions, p is a ``Plan``, c a ``Continuation``, b are ``RowBuffers``, t are ``Tables`` of the rules,
and v is the place of a subset.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice import inference
from agents.lattice.constants import TIE_TOLERANCE
from agents.lattice.continuation import Continuation
from agents.lattice.sweep import ADAPTIVE
from fsgym.rules import Rules


class KnownStates(NamedTuple):
    """A batch of n states.

    Attributes
    ----------
    known : bool (n, J), acquisitions that have been made or were known in advance
    revealed : bool (n, n_features), their features
    X : float32 (n, n_features), read only where an acquisition is known
    legal : int8 (n, n_actions)
    usable : int8 (n, J), acquisitions that are known or legal
    """

    known: NDArray[np.bool_]
    revealed: NDArray[np.bool_]
    X: NDArray[np.float32]
    legal: NDArray[np.int8]
    usable: NDArray[np.int8]


class StateOutlook(NamedTuple):
    """What a lattice policy says about n states beside its actions.

    Attributes
    ----------
    actions : int64 (n,)
    beyond : int64 (n,), the acquisition if the row goes on; -1 where none is legal
    preference : float64 (n, J), higher for acquisitions that come first
    expected : float64 (n, J)
        The expected cost of going on with each acquisition, its price included; NaN where it is not estimated.
    proba : float64 (n, n_classes), class probabilities at the subset from which the policy would answer
    places : int64 (n,), the place of that subset
    """

    actions: NDArray[np.int64]
    beyond: NDArray[np.int64]
    preference: NDArray[np.float64]
    expected: NDArray[np.float64]
    proba: NDArray[np.float64]
    places: NDArray[np.int64]


def outlook_in_states(
    plan: inference.Plan, continuation: Continuation, states: KnownStates, rules: Rules
) -> StateOutlook:
    """The actions in n states, with all acquisitions ranked and the expected costs of those that have estimates."""
    n, J = states.known.shape
    outlook = StateOutlook(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n, J)),
        np.full((n, J), np.nan),
        np.empty((n, rules.n_classes)),
        np.empty(n, np.int64),
    )
    buffers = inference.row_buffers(plan, rules.n_classes)
    _outlook_in_states(
        plan, continuation, buffers, rules.tables, states, rules.error_costs, rules.lam * rules.costs, outlook
    )
    return outlook


@njit(cache=True, nogil=True, _nrt=False)
def _outlook_in_states(p, c, b, t, s, error_costs, prices, o):
    J = s.known.shape[1]
    for row in range(len(s.X)):
        j, v, its_own = _next_acquisition(p, c, b, t, s, row, error_costs)
        o.beyond[row] = j if j >= 0 else _acquisition_beyond(p, c, b, s, row, v, error_costs)
        w = v if its_own else _best_contained(p, c, s, row, v, c.answer_cost, False)
        o.places[row] = w
        inference.encode_values_of(p, b, s.X, row, w)
        inference.predict_proba_at(p, b, w)
        answer = inference.cheapest_answer(b.proba, error_costs)
        stop_cost = 0.0
        for k in range(len(b.proba)):
            o.proba[row, k] = b.proba[k]
            stop_cost += b.proba[k] * error_costs[answer, k]
        o.actions[row] = j if j >= 0 else J + answer
        for k in range(len(c.order)):
            o.preference[row, c.order[k]] = -float(2 * J + k)
        _rank_moves(p, c, v, o.preference[row])
        if w != v:  # more is known than the policy decides by: its estimates are not those of this state
            continue
        _write_expected(p, c, b, v, (s.usable[row], j), (error_costs, stop_cost), o.expected[row])
        if p.feature_first[v + 1] == p.feature_first[v]:  # nothing is known there: the means of training hold
            for m in range(p.child_first[v], p.child_first[v + 1]):
                o.expected[row, p.acquisition[m]] = prices[p.acquisition[m]] + c.start_value[p.child[m]]


@njit(cache=True, nogil=True, _nrt=False)
def _rank_moves(p, c, v, preference):
    """Rank the moves at subset v before all other acquisitions, the back-up moves last."""
    J = len(preference)
    for m in range(c.backup_first[v], c.backup_first[v + 1]):
        preference[c.backup_acquisition[m]] = -float(J + m - c.backup_first[v])
    for m in range(p.child_first[v], p.child_first[v + 1]):
        preference[p.acquisition[m]] = -float(m - p.child_first[v])


@njit(cache=True, nogil=True, _nrt=False)
def _write_expected(p, c, b, v, now, costs, expected):
    """Write what moves at subset v are expected to cost, where the policy decides by it.

    The estimates of back-up moves only count where the policy turned to these moves; they are for such rows.
    """
    (usable, chosen), (error_costs, stop_cost) = now, costs
    first, last = p.child_first[v], p.child_first[v + 1]
    n, cell = inference.write_design(p, b, v, error_costs)
    wants_other, is_child = False, False
    for m in range(first, last):
        j = p.acquisition[m]
        is_child = is_child or j == chosen
        if p.mode[v] == ADAPTIVE:
            advantage = inference.predicted_advantage(
                p, b, v, p.theta, p.theta_first[v] + m - first, last - first, n, cell
            )
            expected[j] = stop_cost + advantage
            wants_other = wants_other or (usable[j] == 0 and advantage < 0.0)
    if is_child or (chosen < 0 and not wants_other):
        return
    n_adaptive = (c.backup_theta_first[v + 1] - c.backup_theta_first[v]) // (n + p.cells[v])
    for m in range(n_adaptive):
        where = c.backup_theta_first[v] + m
        advantage = inference.predicted_advantage(p, b, v, c.backup_theta, where, n_adaptive, n, cell)
        expected[c.backup_acquisition[c.backup_first[v] + m]] = stop_cost + advantage


@njit(cache=True, nogil=True, _nrt=False)
def _next_acquisition(p, c, b, t, s, row, error_costs):
    """The next acquisition, the place of the subset at which it is made, and whether the policy itself can get there.

    The acquisition is -1 to answer there.
    """
    n_known, n_base, root = 0, 0, 0
    for j in range(s.known.shape[1]):
        n_known += s.known[row, j]
    if len(c.base) > 0:
        whole = True
        for k in range(len(c.base)):
            n_base += s.known[row, c.base[k]]
            whole = whole and s.usable[row, c.base[k]] != 0
        if whole:
            for k in range(len(c.base)):
                if not s.known[row, c.base[k]]:
                    return c.base[k], 0, True
            root = c.base_place[0]
        else:
            n_base = 0
    inference.encode_values_of(p, b, s.X, row, root)
    j, v, n_free = _replay(p, c, b, t, s, row, root, error_costs)
    if n_base + n_free == n_known:  # a state of the policy itself
        return j, v, True
    start = _best_contained(p, c, s, row, root, c.start_value, True)
    if start == root:
        return j, v, False
    inference.encode_values_of(p, b, s.X, row, start)
    j, v, _ = _replay(p, c, b, t, s, row, start, error_costs)
    return j, v, False


@njit(cache=True, nogil=True, _nrt=False)
def _replay(p, c, b, t, s, row, v, error_costs):
    """Move on from subset v at no cost while the next acquisition is known.

    Returns the first acquisition that is not known (-1 to answer), the place of the subset at which it is made, and the
    number of moves.
    """
    n_free = 0
    while True:
        j, child = inference.choose_move(p, c, b, v, s.usable, row, error_costs)
        if j < 0 or not s.known[row, j]:
            return j, v, n_free
        n_free += 1
        for k in range(t.member_first[j], t.member_first[j + 1]):
            inference.encode_value(p, b, s.X, row, t.member[k])
        v = child


@njit(cache=True, nogil=True, _nrt=False)
def _best_contained(p, c, s, row, best, loss, with_savings):
    """The subset of known acquisitions of lowest ``loss``, less what others save; ``best`` among equal ones."""
    lowest = loss[best] - with_savings * _saved(c, s, row, best)
    for v in range(len(loss)):
        contained = True
        for f in range(p.feature_first[v], p.feature_first[v + 1]):
            if not s.revealed[row, p.feature[f]]:
                contained = False
                break
        if contained:
            lower = loss[v] - with_savings * _saved(c, s, row, v)
            if lower < lowest - TIE_TOLERANCE:
                best, lowest = v, lower
    return best


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _saved(c, s, row, v):
    saved = 0.0
    for k in range(c.saving_first[v], c.saving_first[v + 1]):
        if s.known[row, c.saving_acquisition[k]]:
            saved += c.saving[k]
    return saved


@njit(cache=True, nogil=True, _nrt=False)
def _acquisition_beyond(p, c, b, s, row, v, error_costs):
    """The acquisition to make at subset v if the row must go on after its answer; -1 if none is legal.

    It is the child of lowest predicted advantage, else the first back-up move, else the first in the global order.
    """
    first, last = p.child_first[v], p.child_first[v + 1]
    best, lowest = -1, np.inf
    if p.mode[v] == ADAPTIVE:
        inference.predict_proba_at(p, b, v)
        n, cell = inference.write_design(p, b, v, error_costs)
        for m in range(first, last):
            if s.legal[row, p.acquisition[m]] != 0:
                where = p.theta_first[v] + m - first
                advantage = inference.predicted_advantage(p, b, v, p.theta, where, last - first, n, cell)
                if advantage < lowest:
                    best, lowest = p.acquisition[m], advantage
    if best >= 0:
        return best
    for m in range(c.backup_first[v], c.backup_first[v + 1]):
        if s.legal[row, c.backup_acquisition[m]] != 0:
            return c.backup_acquisition[m]
    for k in range(len(c.order)):
        if s.legal[row, c.order[k]] != 0:
            return c.order[k]
    return -1
