"""Compiled: the posterior of class and component in a state, and what every acquisition is expected to change.

t is a ``CompiledMixture``, b are ``StateBuffers``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.anystate.mixture import constants as const
from agents.anystate.mixture.variables import code_of


class CompiledMixture(NamedTuple):
    """A mixture and its points as arrays; see ``ClassMixture``, ``Variables``, ``Points`` and ``Rules``."""

    variables: tuple
    first_column: NDArray[np.int64]
    theta: NDArray[np.float64]
    log_share: NDArray[np.float64]
    class_of: NDArray[np.int64]
    count_power: float
    first: NDArray[np.int64]
    mass: NDArray[np.float64]
    entropy: NDArray[np.float64]
    error_costs: NDArray[np.float64]
    weights: NDArray[np.float64]  # of the error cost, the entropy of the class, that of class and component


class StateBuffers(NamedTuple):
    """Memory for one state; reused for all of them."""

    joint: NDArray[np.float64]  # (G,) posterior
    active: NDArray[np.int64]  # (G,) components that are not negligible
    by_class: NDArray[np.float64]  # (n_classes, most points)
    totals: NDArray[np.float64]  # (most points,)
    least: NDArray[np.float64]  # (most points,)
    gains: NDArray[np.float64]  # (J, 3) of the error cost, of both entropies


def state_buffers(t: CompiledMixture) -> StateBuffers:
    """Memory for the states of a mixture."""
    n_components, n_classes = len(t.log_share), len(t.error_costs)
    most = int(np.diff(t.first).max()) // n_components
    return StateBuffers(
        np.empty(n_components),
        np.empty(n_components, np.int64),
        np.empty((n_classes, most)),
        np.empty(most),
        np.empty(most),
        np.zeros((len(t.first) - 1, 3)),
    )


@njit(cache=True, nogil=True, _nrt=False)
def write_posterior(t, b, values, acquired, proba):
    """Write the posterior of class and component of a row, and the class probabilities; return the known variables."""
    n_components, n_known = len(b.joint), 0
    for g in range(n_components):
        b.joint[g] = 0.0
    for v in range(len(t.first_column) - 1):
        if not acquired[t.variables[1][t.variables[0][v]]]:
            continue
        code = code_of(t.variables, values, acquired, v)
        if np.isnan(code):
            continue
        n_known += 1
        column = t.first_column[v]
        if t.variables[2][v] == t.variables[2][v + 1]:
            for g in range(n_components):
                b.joint[g] += (t.theta[column, g] + t.theta[column + 1, g] * code) * code + t.theta[column + 2, g]
        else:
            column += int(code)
            for g in range(n_components):
                b.joint[g] += t.theta[column, g]
    power, top, total = (1.0 + n_known) ** t.count_power, -np.inf, 0.0
    for g in range(n_components):
        b.joint[g] = power * b.joint[g] + t.log_share[g]
        top = max(top, b.joint[g])
    for g in range(n_components):
        b.joint[g] = np.exp(b.joint[g] - top)
        total += b.joint[g]
    for k in range(len(proba)):
        proba[k] = 0.0
    for g in range(n_components):
        b.joint[g] /= total
        proba[t.class_of[g]] += b.joint[g]
    return n_known


@njit(cache=True, nogil=True, _nrt=False)
def write_probabilities(t, b, acquired, values, proba):
    """The class probabilities of n states."""
    for i in range(len(values)):
        write_posterior(t, b, values[i], acquired[i], proba[i])


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def least_cost(error_costs, proba):
    """The expected error cost of the best answer."""
    least = np.inf
    for a in range(len(error_costs)):
        cost = 0.0
        for k in range(len(proba)):
            cost += error_costs[a, k] * proba[k]
        least = min(least, cost)
    return least


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def entropy_of(p):
    """Entropy of a distribution in nats."""
    total = 0.0
    for x in p:
        if x > 0.0:
            total -= x * np.log(x)
    return total


@njit(cache=True, nogil=True, _nrt=False)
def _write_active(b):
    """List the components that are not negligible and let their probabilities sum to 1; return their number."""
    n_active, total = 0, 0.0
    for g in range(len(b.joint)):
        if b.joint[g] > const.NEGLIGIBLE:
            b.active[n_active] = g
            n_active += 1
            total += b.joint[g]
    for i in range(n_active):
        b.joint[b.active[i]] /= total
    return n_active


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract", "reassoc", "nsz"})
def _write_gains(t, b, j, n_active, n_classes):
    """The expected reductions by acquisition j: of error cost (its remainder), of both entropies."""
    n_points = (t.first[j + 1] - t.first[j]) // len(b.joint)
    for p in range(n_points):
        b.totals[p] = 0.0
        b.least[p] = np.inf
        for k in range(n_classes):
            b.by_class[k, p] = 0.0
    within = 0.0
    for i in range(n_active):
        g = b.active[i]
        share, k, start = b.joint[g], t.class_of[g], t.first[j] + g * n_points
        within += share * t.entropy[j, g]
        for p in range(n_points):
            b.by_class[k, p] += share * t.mass[start + p]
    for k in range(n_classes):
        for p in range(n_points):
            b.totals[p] += b.by_class[k, p]
    remainder, entropy = 0.0, 0.0
    for a in range(n_classes):
        for p in range(n_points):
            cost = 0.0
            for k in range(n_classes):
                cost += t.error_costs[a, k] * b.by_class[k, p]
            b.least[p] = min(b.least[p], cost)
    for p in range(n_points):
        remainder += b.least[p]
        entropy -= b.totals[p] * np.log(b.totals[p])
    b.gains[j, 0], b.gains[j, 1], b.gains[j, 2] = remainder, 0.0, entropy - within
    if t.weights[1] > 0.0:
        b.gains[j, 1] = _class_information(b, n_classes, n_points, entropy)


@njit(cache=True, nogil=True, _nrt=False)
def _class_information(b, n_classes, n_points, entropy):
    """Mutual information of the class and the points, whose entropy is given."""
    for k in range(n_classes):
        proba = 0.0
        for p in range(n_points):
            if b.by_class[k, p] > 0.0:
                proba += b.by_class[k, p]
                entropy += b.by_class[k, p] * np.log(b.by_class[k, p])
        if proba > 0.0:
            entropy -= proba * np.log(proba)
    return entropy


@njit(cache=True, nogil=True, _nrt=False)
def _same_start(acquired, legal, prices, i):
    """Whether row i and the one before it have nothing acquired, and the same legal acquisitions and prices."""
    if i == 0:
        return False
    for f in range(acquired.shape[1]):
        if acquired[i, f] or acquired[i - 1, f]:
            return False
    same = True
    for j in range(legal.shape[1]):
        same &= legal[i, j] == legal[i - 1, j] and prices[i, j] == prices[i - 1, j]
    return same


@njit(cache=True, nogil=True, _nrt=False)
def write_estimates(t, b, states, proba, preference, inputs):
    """As ``StateModel.estimate``; ``states`` are acquired, values, legal, prices."""
    acquired, values, legal, prices = states
    for i in range(len(values)):
        if _same_start(acquired, legal, prices, i):
            for output in (proba, preference, inputs):
                for h in range(output.shape[1]):
                    output[i, h] = output[i - 1, h]
            continue
        n_known = write_posterior(t, b, values[i], acquired[i], proba[i])
        n_active = _write_active(b)
        cost = least_cost(t.error_costs, proba[i])
        lowest = _least_price(legal[i], prices[i])
        for j in range(legal.shape[1]):
            preference[i, j] = -np.inf
            if legal[i, j]:
                _write_gains(t, b, j, n_active, len(t.error_costs))
                b.gains[j, 0] = max(cost - b.gains[j, 0], 0.0)
                gain = t.weights[0] * b.gains[j, 0] + t.weights[1] * b.gains[j, 1] + t.weights[2] * b.gains[j, 2]
                preference[i, j] = gain / max(prices[i, j], lowest)
        inputs[i, 9] = np.sqrt(n_known) / 3.0
        _write_inputs(b, cost, proba[i], legal[i], prices[i], preference[i], inputs[i])


@njit(cache=True, nogil=True, _nrt=False)
def _least_price(legal, prices):
    """The price that cheaper acquisitions count as; 1 where all are free."""
    total, n_legal = 0.0, 0
    for j in range(len(legal)):
        if legal[j]:
            total += prices[j]
            n_legal += 1
    return const.SMALLEST_PRICE_SHARE * total / n_legal if total > 0.0 else 1.0


@njit(cache=True, nogil=True, _nrt=False)
def _write_inputs(b, cost, proba, legal, prices, preference, inputs):
    """Numbers that help to predict what going on is worth; 0 where nothing is legal. Number 9 is set before."""
    for h in range(len(inputs)):
        if h != 9:
            inputs[h] = 0.0
    best, second, most, net = -1, -1, 0.0, -np.inf
    for j in range(len(legal)):
        if not legal[j]:
            continue
        most = max(most, b.gains[j, 0])
        net = max(net, b.gains[j, 0] - prices[j])
        if best < 0 or preference[j] > preference[best]:
            best, second = j, best
        elif second < 0 or preference[j] > preference[second]:
            second = j
    if best < 0:
        return
    inputs[0] = cost
    inputs[1] = np.log(cost + const.MIN_COST) / 3.0
    inputs[2] = b.gains[best, 0] / (cost + const.MIN_COST)
    inputs[3] = most / (cost + const.MIN_COST)
    inputs[4] = net / (cost + const.MIN_COST)
    inputs[5] = entropy_of(proba)
    inputs[6] = entropy_of(b.joint) - inputs[5]
    inputs[7] = b.gains[best, 2]
    inputs[8] = prices[best] / (cost + const.MIN_COST)
    if second >= 0 and preference[second] > 0.0:
        inputs[10] = np.log(preference[best] / preference[second])
    for h in range(len(inputs)):
        inputs[h] = min(max(inputs[h], -10.0), 10.0)
