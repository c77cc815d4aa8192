"""Acting, compiled: from one subset to the next, each value looked at only when it was paid for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice.basis import HINGES, bin_of, expand
from agents.lattice.describe import beliefs, known
from agents.lattice.sweep import ADAPTIVE, STOP
from fsgym.evaluation import Trajectories
from fsgym.rules import Rules
from fsgym.rules import kernels as mdp


class Plan(NamedTuple):
    """A policy as flat arrays; what belongs to subset v begins at ``..._first[v]`` and ends at ``..._first[v + 1]``.

    Attributes
    ----------
    mean ... thresholds : the basis
    n_bins : int64 (n_features,)
    feature, feature_first : features known at each subset
    mode : int64 (n_subsets,)
    child, acquisition, child_first : where to go, by which acquisition
    coefficient, coefficient_first : of the logistic regression, (1 + 4 n_features) x n_classes each
    start : float64 (n_subsets, n_outputs), of the scores of the trees
    asked, cut, value, tree_first : trees of depth ``depth``; ``asked`` are places among the features of the subset
    blend, temperature : float64 (n_subsets,)
    theta, theta_first : of the regression of what going on costs, n_columns x n_children each
    cells : int64 (n_subsets,)
    """

    mean: NDArray[np.float64]
    inverse: NDArray[np.float64]
    knots: NDArray[np.float64]
    centre: NDArray[np.float64]
    gain: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    n_bins: NDArray[np.int64]
    feature: NDArray[np.int64]
    feature_first: NDArray[np.int64]
    mode: NDArray[np.int64]
    child: NDArray[np.int64]
    acquisition: NDArray[np.int64]
    child_first: NDArray[np.int64]
    coefficient: NDArray[np.float64]
    coefficient_first: NDArray[np.int64]
    start: NDArray[np.float64]
    asked: NDArray[np.int32]
    cut: NDArray[np.uint8]
    value: NDArray[np.float64]
    tree_first: NDArray[np.int64]
    blend: NDArray[np.float64]
    temperature: NDArray[np.float64]
    theta: NDArray[np.float64]
    theta_first: NDArray[np.int64]
    cells: NDArray[np.int64]


class Buffers(NamedTuple):
    """Room for one datum."""

    columns: NDArray[np.float64]  # (n_features, 4)
    codes: NDArray[np.uint8]  # (n_features,)
    scores: NDArray[np.float64]  # (n_classes,)
    P: NDArray[np.float64]  # (n_classes,)
    F: NDArray[np.float64]  # description


def buffers_of(plan: Plan, n_classes: int) -> Buffers:
    n = len(plan.mean)
    longest = 1 + 5 + n_classes + 20 * HINGES + int(plan.cells.max(initial=0))
    return Buffers(
        np.empty((n, HINGES)), np.empty(n, np.uint8), np.empty(n_classes), np.empty(n_classes), np.empty(longest)
    )


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def look(p, b, x, row, i):
    """Make of one value what heads read."""
    expand(p.mean, p.inverse, p.knots, p.centre, p.gain, i, x[row, i], b.columns[i])
    b.codes[i] = bin_of(p.mean, p.thresholds, i, x[row, i])


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _soften(scores, P):
    top, total = scores[0], 0.0
    for k in range(len(P)):
        top = max(top, scores[k])
    for k in range(len(P)):
        P[k] = np.exp(scores[k] - top)
        total += P[k]
    for k in range(len(P)):
        P[k] /= total


@njit(cache=True, nogil=True, _nrt=False)
def believe(p, b, v):
    """Write the probabilities at subset v into ``b.P``."""
    first, last = p.feature_first[v], p.feature_first[v + 1]
    n_classes, n_outputs, where = len(b.P), p.start.shape[1], p.coefficient_first[v]
    for k in range(n_classes):
        b.scores[k] = p.coefficient[where + k]
    for f in range(first, last):
        for h in range(HINGES):
            where += n_classes
            x = b.columns[p.feature[f], h]
            for k in range(n_classes):
                b.scores[k] += x * p.coefficient[where + k]
    _soften(b.scores, b.P)
    if p.blend[v] > 0.0:
        b.scores[0] = 0.0
        for k in range(n_outputs):
            b.scores[n_classes - n_outputs + k] = p.start[v, k]
        depth_nodes = p.asked.shape[1]
        for t in range(p.tree_first[v], p.tree_first[v + 1]):
            node = 0
            while node < depth_nodes:
                right = b.codes[p.feature[first + p.asked[t, node]]] > p.cut[t, node]
                node = 2 * node + 1 + right
            k = (t - p.tree_first[v]) % n_outputs
            b.scores[n_classes - n_outputs + k] += p.value[t, node - depth_nodes]
        linear = b.F  # free until the description is written
        for k in range(n_classes):
            linear[k] = b.P[k]
        _soften(b.scores, b.P)
        for k in range(n_classes):
            b.P[k] = p.blend[v] * b.P[k] + (1.0 - p.blend[v]) * linear[k]
    for k in range(n_classes):
        b.scores[k] = np.log(max(b.P[k], 1e-12)) / p.temperature[v]
    _soften(b.scores, b.P)


@njit(cache=True, nogil=True, _nrt=False)
def next_child(p, b, v, legal, e, error_costs):
    """The place of the child to go to from subset v, -1 to answer; ``b.P`` is then its belief."""
    first, last = p.child_first[v], p.child_first[v + 1]
    if p.mode[v] == STOP or first == last:
        believe(p, b, v)
        return -1
    if p.mode[v] != ADAPTIVE:
        if legal[e, p.acquisition[first]] != 0:
            return first
        believe(p, b, v)
        return -1
    believe(p, b, v)
    beliefs(b.P, error_costs, b.F)
    n_known = p.feature_first[v + 1] - p.feature_first[v]
    n = 1 + (5 if len(b.P) == 2 else 5 + len(b.P))
    cell, stride = 0, 1
    for f in range(p.feature_first[v], p.feature_first[v + 1]):
        i = p.feature[f]
        if n_known <= 20:
            n = known(b.columns[i], n_known, b.F, n)
        if p.cells[v] > 0:
            cell += stride * b.codes[i]
            stride *= p.n_bins[i]
    best, least = -1, 0.0
    m = last - first
    for c in range(first, last):
        if legal[e, p.acquisition[c]] == 0:
            continue
        where, T = p.theta_first[v] + c - first, 0.0
        for k in range(n):
            T += b.F[k] * p.theta[where + k * m]
        if p.cells[v] > 0:
            T += p.theta[where + (n + cell) * m]
        if least > T:
            best, least = c, T
    return best


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def cheapest_answer(P, error_costs):
    """The answer of the least expected cost, the first of equals."""
    best, least = 0, np.inf
    for a in range(len(P)):
        cost = 0.0
        for k in range(len(P)):
            cost += P[k] * error_costs[a, k]
        if cost < least - 1e-12:
            best, least = a, cost
    return best


class Walked(NamedTuple):
    """What a policy did with each row; see ``fsgym.Trajectories``."""

    order: NDArray[np.int32]
    acquired: NDArray[np.bool_]
    answers: NDArray[np.int64]
    probabilities: NDArray[np.float64]  # (n_samples, n_classes)


def walk(plan: Plan, X: NDArray[np.float32], rules: Rules) -> tuple[Trajectories, NDArray[np.float64]]:
    """Classify the rows of ``X``: trajectories, and probabilities of the classes, float64 (n_samples, n_classes)."""
    n, J = len(X), rules.n_acquisitions
    order, acquired = np.full((n, J), -1, np.int32), np.zeros(X.shape, bool)
    done = Walked(order, acquired, np.zeros(n, np.int64), np.empty((n, rules.n_classes)))
    buffers, state = buffers_of(plan, rules.n_classes), rules.blank_state()
    _walk(plan, buffers, rules.tables, state, X, rules.error_costs, done)
    longest = int((order >= 0).sum(axis=1).max(initial=0))
    return Trajectories(order[:, :longest], acquired, done.answers, np.zeros(n, bool)), done.probabilities


@njit(cache=True, nogil=True, _nrt=False)
def _walk(p, b, t, state, X, error_costs, done):
    for row in range(len(X)):
        mdp.start(t, state, 0, X, row)
        v = 0
        while True:
            c = next_child(p, b, v, state.legal, 0, error_costs)
            if c < 0:
                break
            j = p.acquisition[c]
            done.order[row, state.n_taken[0]] = j
            mdp.acquire(t, state, 0, j)
            for k in range(t.member_first[j], t.member_first[j + 1]):
                i = t.member[k]
                look(p, b, X, row, i)
                done.acquired[row, i] = not np.isnan(X[row, i])
            v = p.child[c]
        done.answers[row] = cheapest_answer(b.P, error_costs)
        for k in range(len(b.P)):
            done.probabilities[row, k] = b.P[k]


def act(
    plan: Plan, places: NDArray[np.int64], X: NDArray[np.float32], legal: NDArray[np.int8], rules: Rules
) -> NDArray[np.int64]:
    """The action of each state, at subset ``places`` (n,); of its values ``X`` those that the subset holds are read."""
    actions = np.empty(len(X), np.int64)
    _act(plan, buffers_of(plan, rules.n_classes), places, X, rules.error_costs, legal, actions)
    return actions


@njit(cache=True, nogil=True, _nrt=False)
def _act(p, b, places, X, error_costs, legal, actions):
    n_acquisitions = legal.shape[1] - error_costs.shape[0]
    for row in range(len(X)):
        v = places[row]
        for f in range(p.feature_first[v], p.feature_first[v + 1]):
            look(p, b, X, row, p.feature[f])
        c = next_child(p, b, v, legal, row, error_costs)
        actions[row] = p.acquisition[c] if c >= 0 else n_acquisitions + cheapest_answer(b.P, error_costs)
