"""Compiled inference: a lattice policy moves from subset to subset and reads each value only after acquiring it.

In the compiled functions, p is a ``Plan``, c a ``Continuation``, b are ``RowBuffers``, d are ``DecisionCosts``, t are
``Tables`` of the rules, v is the place of a subset and e that of an episode.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.plan import Continuation, Plan
from agents.lattice.sweep import ADAPTIVE, EXPECTED_ERROR, STOP, write_belief_features, write_value_features
from agents.lattice.training_data import bin_of, write_columns
from fsgym.envs.trajectories import Trajectories, TrajectoryArrays
from fsgym.rules import Rules
from fsgym.rules import kernels as mdp
from fsgym.support.kernels import INNER


class RowBuffers(NamedTuple):
    """Memory for one row."""

    columns: NDArray[np.float64]  # (n_features, 4), of the acquired values
    codes: NDArray[np.uint8]  # (n_features,), bins of the acquired values
    scores: NDArray[np.float64]  # (n_classes,)
    proba: NDArray[np.float64]  # (n_classes,), class probabilities at the current subset
    design: NDArray[np.float64]  # state features
    # (n_slots, n_subsets, n_classes), class probabilities of a row at subsets, of each slot one row; -1 where they have
    # not been computed
    memory: NDArray[np.float64]
    owner: NDArray[np.int64]  # (n_slots,), the number of the row of each slot, or -1
    slot: NDArray[np.int64]  # (1,), the slot of the current row; -1 where nothing is remembered


class DecisionCosts(NamedTuple):
    """The costs by which a policy decides."""

    answers: NDArray[np.float64]  # (n_answers, n_classes), error costs
    lowest: float  # of them
    moves: NDArray[np.float64]  # (n_moves,), ``lam`` times the price of each
    backups: NDArray[np.float64]  # (n_backups,), likewise


def row_buffers(plan: Plan, n_classes: int, n_remembered: int = 0) -> RowBuffers:
    """Memory for one row of a policy; for ``n_remembered`` rows, it keeps their probabilities at each subset."""
    n_features, n_subsets = len(plan.mean), len(plan.mode)
    n_slots = min(n_remembered, const.MAX_REMEMBERED // (n_subsets * n_classes))
    n_beliefs = 1 + const.N_BELIEFS + n_classes
    longest = n_beliefs + const.MAX_FEATURES_WITH_VALUES * const.COLUMNS_PER_FEATURE + int(plan.cells.max(initial=0))
    return RowBuffers(
        np.empty((n_features, const.COLUMNS_PER_FEATURE)),
        np.empty(n_features, np.uint8),
        np.empty(n_classes),
        np.empty(n_classes),
        np.empty(longest),
        np.full((n_slots, n_subsets, n_classes), -1.0),
        np.full(n_slots, -1),
        np.array([-1]),
    )


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def encode_value(p, b, x, row, i):
    """Write columns and bin of the value of feature i."""
    write_columns(p, i, x[row, i], b.columns[i])
    b.codes[i] = bin_of(p, i, x[row, i])


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def encode_values_of(p, b, x, row, v):
    """Write columns and bins of the values of all features of subset v."""
    for f in range(p.feature_first[v], p.feature_first[v + 1]):
        encode_value(p, b, x, row, p.feature[f])


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _write_softmax(scores, proba):
    top, total = scores[0], 0.0
    for k in range(len(proba)):
        top = max(top, scores[k])
    for k in range(len(proba)):
        proba[k] = np.exp(scores[k] - top)
        total += proba[k]
    for k in range(len(proba)):
        proba[k] /= total


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def predict_proba_at(p, b, v):
    """Write the class probabilities at subset v into ``b.proba``."""
    slot = b.slot[0]
    if slot >= 0 and b.memory[slot, v, 0] >= 0.0:
        for k in range(len(b.proba)):
            b.proba[k] = b.memory[slot, v, k]
        return
    blended = b.design  # not in use before the state features are written
    for k in range(len(b.proba)):
        blended[k] = 0.0
    if p.blend[v, 0] > 0.0:
        _write_boosted_scores(p, b, v)
        _write_softmax(b.scores, b.proba)
        _add_weighted(b.proba, p.blend[v, 0], blended)
    if p.blend[v, 1] > 0.0:
        _write_logistic_scores(p, b, v)
        _write_softmax(b.scores, b.proba)
        _add_weighted(b.proba, p.blend[v, 1], blended)
    if p.blend[v, 2] > 0.0:
        _write_forest_shares(p, b, v)
        _add_weighted(b.proba, p.blend[v, 2], blended)
    for k in range(len(b.proba)):
        b.scores[k] = np.log(max(blended[k], const.MIN_PROBA)) / p.temperature[v]
    _write_softmax(b.scores, b.proba)
    if slot >= 0:
        for k in range(len(b.proba)):
            b.memory[slot, v, k] = b.proba[k]


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _remember_row(b, number):
    """From here on the current row is the one of this number."""
    slot = b.slot[0] = number % len(b.owner)
    if b.owner[slot] != number:
        b.owner[slot] = number
        for v in range(b.memory.shape[1]):
            b.memory[slot, v, 0] = -1.0


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _add_weighted(proba, weight, total):
    for k in range(len(proba)):
        total[k] += weight * proba[k]


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _write_logistic_scores(p, b, v):
    n_classes, where = len(b.proba), p.coefficient_first[v]
    for k in range(n_classes):
        b.scores[k] = p.coefficient[where + k]
    for f in range(p.feature_first[v], p.feature_first[v + 1]):
        for h in range(const.COLUMNS_PER_FEATURE):
            where += n_classes
            x = b.columns[p.feature[f], h]
            for k in range(n_classes):
                b.scores[k] += x * p.coefficient[where + k]


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _write_boosted_scores(p, b, v):
    first, n_classes, n_outputs = p.feature_first[v], len(b.proba), p.start_score.shape[1]
    b.scores[0] = 0.0
    for k in range(n_outputs):
        b.scores[n_classes - n_outputs + k] = p.start_score[v, k]
    n_splits = p.split_place.shape[1]
    for t in range(p.tree_first[v], p.tree_first[v + 1]):
        node = 0
        while node < n_splits:
            right = b.codes[p.feature[first + p.split_place[t, node]]] > p.split_cut[t, node]
            node = 2 * node + 1 + right
        k = (t - p.tree_first[v]) % n_outputs
        b.scores[n_classes - n_outputs + k] += p.leaf_value[t, node - n_splits]


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _write_forest_shares(p, b, v):
    """Write the smoothed mean shares of the trees of subset v into ``b.proba``."""
    first, n_classes = p.feature_first[v], len(b.proba)
    for k in range(n_classes):
        b.proba[k] = 0.0
    for t in range(p.root_first[v], p.root_first[v + 1]):
        node = p.root[t]
        while p.node_child[node] >= 0:
            node = p.node_child[node] + (b.codes[p.feature[first + p.node_place[node]]] > p.node_cut[node])
        leaf = -1 - p.node_child[node]
        for e in range(p.entry_start[leaf], p.entry_start[leaf + 1]):
            b.proba[p.entry_class[e]] += p.entry_share[e]
    n_trees = p.root_first[v + 1] - p.root_first[v]
    for k in range(n_classes):
        b.proba[k] = (b.proba[k] / n_trees + const.SHARE_SMOOTHING / n_classes) / (1.0 + const.SHARE_SMOOTHING)


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def write_design(p, b, v, answer_costs):
    """Write the state features at subset v into ``b.design``; return how many precede the cells, and the cell."""
    n = write_belief_features(b.proba, answer_costs, b.design)
    n_features = p.feature_first[v + 1] - p.feature_first[v]
    cell, stride = np.int64(0), 1  # no literal: Numba would compile ``_choose_backup`` anew
    for f in range(p.feature_first[v], p.feature_first[v + 1]):
        i = p.feature[f]
        n = write_value_features(b.columns[i], n_features, b.design, n)
        if p.cells[v] > 0:
            cell += stride * b.codes[i]
            stride *= p.n_bins[i]
    return n, cell


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def predicted_advantage(p, b, v, theta, where, n_moves, n, cell, least):
    """The advantage of a move at subset v: ``b.design`` times the coefficients from ``where`` on.

    A regression may predict more than a move can save; it counts as far as the move then costs ``least``.
    """
    advantage = 0.0
    for k in range(n):
        advantage += b.design[k] * theta[where + k * n_moves]
    if p.cells[v] > 0:
        advantage += theta[where + (n + cell) * n_moves]
    return max(advantage, least - b.design[EXPECTED_ERROR])


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def choose_move(p, c, b, v, legal, e, d):
    """The acquisition to make at subset v and the place of the subset with it.

    (-1, v) to answer; ``b.proba`` then holds the probabilities.
    """
    first, last = p.child_first[v], p.child_first[v + 1]
    stops, adapts = p.mode[v] == STOP or first == last, p.mode[v] == ADAPTIVE
    if not stops and not adapts and legal[e, p.acquisition[first]] != 0:
        return p.acquisition[first], p.child[first]
    predict_proba_at(p, b, v)
    has_backup = c.backup_first[v] < c.backup_first[v + 1]
    if stops or (not adapts and not has_backup):
        return -1, v
    n, cell = write_design(p, b, v, d.answers)
    if not adapts:
        return _choose_backup(p, c, b, v, legal, e, n, cell, d)
    best, lowest, best_legal, lowest_legal = -1, 0.0, -1, 0.0
    for m in range(first, last):
        where = p.theta_first[v] + m - first
        advantage = predicted_advantage(p, b, v, p.theta, where, last - first, n, cell, d.moves[m] + d.lowest)
        if lowest > advantage:
            best, lowest = m, advantage
        if lowest_legal > advantage and legal[e, p.acquisition[m]] != 0:
            best_legal, lowest_legal = m, advantage
    if best != best_legal and has_backup:
        return _choose_backup(p, c, b, v, legal, e, n, cell, d)
    if best_legal < 0:
        return -1, v
    return p.acquisition[best_legal], p.child[best_legal]


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _choose_backup(p, c, b, v, legal, e, n, cell, d):
    """As ``choose_move``, for a row that cannot obtain the acquisition that it prefers."""
    first, last = c.backup_first[v], c.backup_first[v + 1]
    n_columns = n + p.cells[v]
    n_adaptive = (c.backup_theta_first[v + 1] - c.backup_theta_first[v]) // n_columns
    best, lowest, any_legal = -1, 0.0, False
    for m in range(first, first + n_adaptive):
        if legal[e, c.backup_acquisition[m]] == 0:
            continue
        any_legal = True
        where = c.backup_theta_first[v] + m - first
        advantage = predicted_advantage(p, b, v, c.backup_theta, where, n_adaptive, n, cell, d.backups[m] + d.lowest)
        if lowest > advantage:
            best, lowest = m, advantage
    if not any_legal:
        for m in range(first + n_adaptive, last):
            if legal[e, c.backup_acquisition[m]] != 0:
                best = m
                break
    if best < 0:
        return -1, v
    return c.backup_acquisition[best], c.backup_child[best]


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def cheapest_answer(proba, answer_costs):
    """The answer of the lowest expected error cost; ties go to the first."""
    best, lowest = 0, np.inf
    for a in range(len(answer_costs)):
        cost = 0.0
        for k in range(len(proba)):
            cost += proba[k] * answer_costs[a, k]
        if cost < lowest - const.TIE_TOLERANCE:
            best, lowest = a, cost
    return best


def follow_plan(
    plan: Plan, continuation: Continuation, X: NDArray[np.float32], rules: Rules, costs: DecisionCosts
) -> Trajectories:
    """The trajectories of the rows of ``X``, with the class probabilities at the end of each episode."""
    outputs = TrajectoryArrays.blank(len(X), rules, with_probabilities=True)
    buffers, state = row_buffers(plan, rules.n_classes), rules.blank_state()
    _follow_plan(plan, continuation, buffers, rules.tables, state, X, costs, outputs)
    return outputs.filled()


@njit(cache=True, nogil=True, _nrt=False)
def _follow_plan(p, c, b, t, state, X, d, outputs):
    for row in range(len(X)):
        mdp.start(t, state, mdp.FIRST, X, row)
        v = mdp.FIRST  # the empty subset
        if len(c.base) > 0:
            v = _acquire_base(p, c, b, t, state, X, row, outputs)
        while True:
            j, v = choose_move(p, c, b, v, state.legal, mdp.FIRST, d)
            if j < 0:
                break
            _acquire(p, b, t, state, X, row, j, outputs)
        outputs.answers[row] = cheapest_answer(b.proba, d.answers)
        for k in range(len(b.proba)):
            outputs.probabilities[row, k] = b.proba[k]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def _acquire(p, b, t, state, X, row, j, outputs):
    outputs.order[row, state.n_taken[0]] = j
    mdp.acquire(t, state, mdp.FIRST, j)
    for k in range(t.member_first[j], t.member_first[j + 1]):
        i = t.member[k]
        encode_value(p, b, X, row, i)
        outputs.acquired[row, i] = not np.isnan(X[row, i])


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _acquire_base(p, c, b, t, state, X, row, outputs):
    """Make the acquisitions of the base and return its place; 0 if some of them cannot be made."""
    n_counted = 0
    for k in range(len(c.base)):
        n_counted += t.counts[c.base[k]]
    if t.budget < n_counted:
        return 0
    for k in range(len(c.base)):
        if state.legal[0, c.base[k]] == 0:
            return 0
    for k in range(len(c.base)):
        if state.legal[0, c.base[k]] == 0:
            return 0
        _acquire(p, b, t, state, X, row, c.base[k], outputs)
    return c.base_place[0]


# The choice of the action in any state: what is known and was not acquired by the policy itself cost nothing.


class KnownStates(NamedTuple):
    """A batch of n states."""

    known: NDArray[np.bool_]  # (n, J), acquisitions that have been made or were known in advance
    revealed: NDArray[np.bool_]  # (n, n_features), their features
    X: NDArray[np.float32]  # (n, n_features), read only where an acquisition is known
    legal: NDArray[np.int8]  # (n, n_actions)
    usable: NDArray[np.int8]  # (n, J), acquisitions that are known or legal


class StateOutlook(NamedTuple):
    """What a lattice policy says about n states beside its actions."""

    actions: NDArray[np.int64]  # (n,)
    answers: NDArray[np.int64]  # (n,), the answer that the policy would give now
    beyond: NDArray[np.int64]  # (n,), the acquisition if the row goes on; -1 where none is legal
    preference: NDArray[np.float64]  # (n, J), higher for acquisitions that come first
    # (n, J), the expected cost of going on with each acquisition, its price included; NaN where it is not estimated
    expected: NDArray[np.float64]
    proba: NDArray[np.float64]  # (n, n_classes), class probabilities at the subset from which the policy would answer
    places: NDArray[np.int64]  # (n,), the place of that subset


def outlook_in_states(
    plan: Plan,
    continuation: Continuation,
    states: KnownStates,
    rules: Rules,
    costs: DecisionCosts,
    buffers: RowBuffers,
    rows: NDArray[np.int64],
) -> StateOutlook:
    """The actions in n states, with all acquisitions ranked and the expected costs of those that have estimates.

    ``rows`` are the numbers of the rows, int64 (n,), where ``buffers`` remember rows, of which a value stays as it was.
    """
    n, J = states.known.shape
    outlook = StateOutlook(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n, J)),
        np.full((n, J), np.nan),
        np.empty((n, rules.n_classes)),
        np.empty(n, np.int64),
    )
    _outlook_in_states(plan, continuation, buffers, rules.tables, states, rows, costs, outlook)
    return outlook


@njit(cache=True, nogil=True, _nrt=False)
def _outlook_in_states(p, c, b, t, s, numbers, d, o):
    J = s.known.shape[1]
    for row in range(len(s.X)):
        if len(b.owner) > 0:
            _remember_row(b, numbers[row])
        j, v, its_own = _next_acquisition(p, c, b, t, s, row, d)
        o.beyond[row] = j if j >= 0 else _acquisition_beyond(p, c, b, s, row, v, d)
        w = v if its_own else _best_contained(p, c, s, row, v, False)
        o.places[row] = w
        encode_values_of(p, b, s.X, row, w)
        predict_proba_at(p, b, w)
        answer = o.answers[row] = cheapest_answer(b.proba, d.answers)
        stop_cost = 0.0
        for k in range(len(b.proba)):
            o.proba[row, k] = b.proba[k]
            stop_cost += b.proba[k] * d.answers[answer, k]
        o.actions[row] = j if j >= 0 else J + answer
        for k in range(len(c.order)):
            o.preference[row, c.order[k]] = -float(2 * J + k)
        _rank_moves(p, c, v, o.preference[row])
        if w != v:  # more is known than the policy decides by: its estimates are not those of this state
            continue
        _write_expected(p, c, b, v, (s.usable[row], j), d, stop_cost, o.expected[row])
        if p.feature_first[v + 1] == p.feature_first[v]:  # nothing is known there: the means of training hold
            for m in range(p.child_first[v], p.child_first[v + 1]):
                o.expected[row, p.acquisition[m]] = d.moves[m] + c.start_value[p.child[m]]
        if j >= 0 and o.expected[row, j] > stop_cost:  # all rows go on there, whatever is estimated for this one
            o.expected[row, j] = np.nan


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _rank_moves(p, c, v, preference):
    """Rank the moves at subset v before all other acquisitions, the back-up moves last."""
    J = len(preference)
    for m in range(c.backup_first[v], c.backup_first[v + 1]):
        preference[c.backup_acquisition[m]] = -float(J + m - c.backup_first[v])
    for m in range(p.child_first[v], p.child_first[v + 1]):
        preference[p.acquisition[m]] = -float(m - p.child_first[v])


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _write_expected(p, c, b, v, now, d, stop_cost, expected):
    """Write what moves at subset v are expected to cost, where there are coefficients, of a fixed move too.

    The estimates of back-up moves only count where the policy turned to these moves; they are for such rows.
    """
    usable, chosen = now
    first, last = p.child_first[v], p.child_first[v + 1]
    n, cell = write_design(p, b, v, d.answers)
    wants_other, is_child = False, False
    for m in range(first, last):
        j = p.acquisition[m]
        is_child = is_child or j == chosen
        if p.theta_first[v] < p.theta_first[v + 1]:
            where = p.theta_first[v] + m - first
            advantage = predicted_advantage(p, b, v, p.theta, where, last - first, n, cell, d.moves[m] + d.lowest)
            expected[j] = stop_cost + advantage
            wants_other = wants_other or (p.mode[v] == ADAPTIVE and usable[j] == 0 and advantage < 0.0)
    if is_child or (chosen < 0 and not wants_other):
        return
    n_adaptive = (c.backup_theta_first[v + 1] - c.backup_theta_first[v]) // (n + p.cells[v])
    for k in range(n_adaptive):
        where, m = c.backup_theta_first[v] + k, c.backup_first[v] + k
        advantage = predicted_advantage(p, b, v, c.backup_theta, where, n_adaptive, n, cell, d.backups[m] + d.lowest)
        expected[c.backup_acquisition[m]] = stop_cost + advantage


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _next_acquisition(p, c, b, t, s, row, d):
    """The next acquisition, the place of the subset at which it is made, and whether the policy itself can get there.

    The acquisition is -1 to answer there.
    """
    n_known, n_base, root = 0, 0, np.int64(0)
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
    encode_values_of(p, b, s.X, row, root)
    j, v, n_free = _replay(p, c, b, t, s, row, root, d)
    if n_base + n_free == n_known:  # a state of the policy itself
        return j, v, True
    start = _best_contained(p, c, s, row, root, True)
    if start == root:
        return j, v, False
    encode_values_of(p, b, s.X, row, start)
    j, v, _ = _replay(p, c, b, t, s, row, start, d)
    return j, v, False


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _replay(p, c, b, t, s, row, v, d):
    """Move on from subset v at no cost while the next acquisition is known.

    Returns the first acquisition that is not known (-1 to answer), the place of the subset at which it is made, and the
    number of moves.
    """
    n_free = 0
    while True:
        j, child = choose_move(p, c, b, v, s.usable, row, d)
        if j < 0 or not s.known[row, j]:
            return j, v, n_free
        n_free += 1
        for k in range(t.member_first[j], t.member_first[j + 1]):
            encode_value(p, b, s.X, row, t.member[k])
        v = child


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _best_contained(p, c, s, row, best, goes_on):
    """The subset of known acquisitions of the lowest mean cost, of going on from it or of answers there.

    ``best`` is one of them, and is taken where costs are equal.
    """
    lowest = _mean_cost(p, c, s, row, best, goes_on)
    for v in range(len(c.answer_cost)):
        contained = True
        for f in range(p.feature_first[v], p.feature_first[v + 1]):
            if not s.revealed[row, p.feature[f]]:
                contained = False
                break
        if contained:
            cost = _mean_cost(p, c, s, row, v, goes_on)
            if cost < lowest - const.TIE_TOLERANCE:
                best, lowest = v, cost
    return best


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _mean_cost(p, c, s, row, v, goes_on):
    """The mean cost of answers at subset v, or, where it can go on from there, of that less what is known already."""
    if not goes_on or _is_blocked(p, c, s, row, v):
        return c.answer_cost[v]
    return c.start_value[v] - _saved(c, s, row, v)


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _is_blocked(p, c, s, row, v):
    """Whether the policy goes on from subset v, and no acquisition that it may make there can be obtained."""
    if p.mode[v] == STOP:
        return False
    for m in range(p.child_first[v], p.child_first[v + 1]):
        if s.usable[row, p.acquisition[m]] != 0:
            return False
    for m in range(c.backup_first[v], c.backup_first[v + 1]):
        if s.usable[row, c.backup_acquisition[m]] != 0:
            return False
    return p.child_first[v] < p.child_first[v + 1]


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def _saved(c, s, row, v):
    saved = 0.0
    for k in range(c.saving_first[v], c.saving_first[v + 1]):
        if s.known[row, c.saving_acquisition[k]]:
            saved += c.saving[k]
    return saved


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _acquisition_beyond(p, c, b, s, row, v, d):
    """The acquisition to make at subset v if the row must go on after its answer; -1 if none is legal.

    It is the child of lowest predicted advantage, else the first back-up move, else the first in the global order.
    """
    first, last = p.child_first[v], p.child_first[v + 1]
    best, lowest = -1, np.inf
    if p.mode[v] == ADAPTIVE:
        predict_proba_at(p, b, v)
        n, cell = write_design(p, b, v, d.answers)
        for m in range(first, last):
            if s.legal[row, p.acquisition[m]] != 0:
                where = p.theta_first[v] + m - first
                advantage = predicted_advantage(p, b, v, p.theta, where, last - first, n, cell, d.moves[m] + d.lowest)
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
