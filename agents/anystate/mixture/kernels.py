"""Compiled: the posterior of class and component in a state, and what every acquisition is expected to change.

t is a ``CompiledMixture``, b are ``StateBuffers``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from agents.anystate.follow import estimate_state
from agents.anystate.mixture import constants as const
from agents.anystate.mixture.variables import code_of
from fsgym.support.kernels import INNER

# Of floating-point numbers with 64 bits
MANTISSA_BITS, BIAS = np.uint64(52), 1023.0 - 0.5  # 0.5: log(sqrt(2)) is half of log(2)
MANTISSA, ONE = np.uint64(2**52 - 1), np.uint64(1023 << 52)
SQRT_2, LOG_2 = np.sqrt(2.0), np.log(2.0)


class CompiledMixture(NamedTuple):
    """A mixture and its points as arrays; see ``ClassMixture``, ``Variables``, ``Points`` and ``Rules``."""

    variables: tuple
    first_column: NDArray[np.int64]
    theta: NDArray[np.float64]
    log_share: NDArray[np.float64]
    class_of: NDArray[np.int64]
    count_power: float
    first: NDArray[np.int64]
    mass: NDArray[np.float32]
    entropy: NDArray[np.float64]
    answer_costs: NDArray[np.float64]
    unit_cost: float  # of each error where all errors cost the same and correct answers nothing; otherwise 0
    unit: float  # in which preferences and inputs count costs and prices, see ``MixtureModel``


class StateBuffers(NamedTuple):
    """Memory for one state; reused for all of them."""

    joint: NDArray[np.float64]  # (G,) posterior
    active: NDArray[np.int64]  # (G,) components that are not negligible
    by_class: NDArray[np.float64]  # (n_classes, most points)
    totals: NDArray[np.float64]  # (most points,)
    least: NDArray[np.float64]  # (most points,)
    costs: NDArray[np.float64]  # (most points,)
    copy: NDArray[np.float64]  # (most points,)
    bits: NDArray[np.uint64]  # the memory of ``copy``
    classes: NDArray[np.int64]  # (n_classes,) of the rows of by_class
    gains: NDArray[np.float64]  # (J, 2) of the error cost, of the entropy of class and component


def state_buffers(t: CompiledMixture) -> StateBuffers:
    """Memory for the states of a mixture."""
    n_components, n_classes = len(t.log_share), t.answer_costs.shape[1]
    most = int(np.diff(t.first).max()) // n_components
    copy = np.empty(most)
    return StateBuffers(
        np.empty(n_components),
        np.empty(n_components, np.int64),
        np.empty((n_classes, most)),
        np.empty(most),
        np.empty(most),
        np.empty(most),
        copy,
        copy.view(np.uint64),
        np.empty(n_classes, np.int64),
        np.zeros((len(t.first) - 1, 2)),
    )


@njit(cache=True, nogil=True, _nrt=False, **INNER)
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


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def least_cost(answer_costs, proba):
    """The expected error cost of the best answer."""
    least = np.inf
    for a in range(len(answer_costs)):
        cost = 0.0
        for k in range(len(proba)):
            cost += answer_costs[a, k] * proba[k]
        least = min(least, cost)
    return least


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def entropy_of(p):
    """Entropy of a distribution in nats."""
    total = 0.0
    for x in p:
        if x > 0.0:
            total -= x * np.log(x)
    return total


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
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


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract", "reassoc", "nsz"}, **INNER)
def _write_gains(t, b, j, n_active):
    """The remaining error cost after acquisition j, and the information about the class, and class and component."""
    n_points = (t.first[j + 1] - t.first[j]) // len(b.joint)
    totals, mass, within, n_rows, before = b.totals, t.mass, 0.0, np.int64(0), -1
    for i in range(n_active):
        g = b.active[i]
        share, start = b.joint[g], t.first[j] + g * n_points
        within += share * t.entropy[j, g]
        if t.class_of[g] != before:
            before = t.class_of[g]
            row = b.by_class[n_rows]
            b.classes[n_rows] = before
            n_rows += 1
            for p in range(n_points):
                row[p] = share * mass[start + p]
        else:
            row = b.by_class[n_rows - 1]
            for p in range(n_points):
                row[p] += share * mass[start + p]
    for p in range(n_points):
        totals[p] = b.by_class[0, p]
    for r in range(1, n_rows):
        row = b.by_class[r]
        for p in range(n_points):
            totals[p] += row[p]
    entropy = -_sum_x_log_x(totals, b, n_points)
    b.gains[j, 0] = _remaining_cost(t, b, n_rows, n_points)
    b.gains[j, 1] = entropy - within


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract", "reassoc", "nsz"}, **INNER)
def _sum_x_log_x(x, b, n):
    """The sum of x log(x) of positive normal numbers, with an absolute error of log(x) below 1e-9, vectorised.

    The exponents of the floating-point numbers are added to the logarithms of their mantissas m in [1, 2), which are
    log(sqrt(2)) + 2 artanh((m - sqrt(2)) / (m + sqrt(2))).
    """
    copy, bits, exponent, total = b.copy, b.bits, b.costs, 0.0
    for p in range(n):
        copy[p] = x[p]
    for p in range(n):
        exponent[p] = float(bits[p] >> MANTISSA_BITS) - BIAS
        bits[p] = (bits[p] & MANTISSA) | ONE
    for p in range(n):
        s = (copy[p] - SQRT_2) / (copy[p] + SQRT_2)
        q = s * s
        series = 1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * (1.0 / 9.0))))
        total += x[p] * (exponent[p] * LOG_2 + 2.0 * s * series)
    return total


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract", "reassoc", "nsz"}, **INNER)
def _remaining_cost(t, b, n_rows, n_points):
    """The expected error cost of the best answers at the points."""
    least, costs, remainder = b.least, b.costs, 0.0
    if t.unit_cost > 0.0:
        for p in range(n_points):
            least[p] = b.by_class[0, p]
        for r in range(1, n_rows):
            row = b.by_class[r]
            for p in range(n_points):
                least[p] = row[p] if row[p] > least[p] else least[p]
        for p in range(n_points):
            remainder += b.totals[p] - least[p]
        return t.unit_cost * remainder
    for p in range(n_points):
        least[p] = np.inf
    for a in range(len(t.answer_costs)):
        for p in range(n_points):
            costs[p] = 0.0
        for r in range(n_rows):
            cost, row = t.answer_costs[a, b.classes[r]], b.by_class[r]
            for p in range(n_points):
                costs[p] += cost * row[p]
        for p in range(n_points):
            least[p] = costs[p] if costs[p] < least[p] else least[p]
    for p in range(n_points):
        remainder += least[p]
    return remainder


@njit(cache=True, nogil=True, _nrt=False, **INNER)
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
        write_estimate(t, b, acquired[i], values[i], legal[i], prices[i], (proba[i], preference[i], inputs[i]))


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def write_estimate(t, b, acquired, values, legal, prices, outputs):
    """As ``write_estimates`` for one state; the outputs are proba, preference, inputs."""
    proba, preference, inputs = outputs
    n_known = write_posterior(t, b, values, acquired, proba)
    n_active = _write_active(b)
    cost = least_cost(t.answer_costs, proba)
    lowest = _least_price(legal, prices, t.unit)
    for j in range(len(legal)):
        preference[j] = -np.inf
        if legal[j]:
            _write_gains(t, b, j, n_active)
            b.gains[j, 0] = max(cost - b.gains[j, 0], 0.0) / t.unit
            gain = b.gains[j, 0] + const.COMPONENT_WEIGHT * b.gains[j, 1]
            preference[j] = gain / max(prices[j] / t.unit, lowest)
    inputs[9] = np.sqrt(n_known) / 3.0
    excess = (cost - _lowest_cost(t.answer_costs)) / t.unit
    _write_inputs(b, excess, proba, legal, prices, t.unit, preference, inputs)


@overload(estimate_state)
def _estimate_of_mixture(m, b, acquired, values, legal, prices, outputs):
    if getattr(m, "instance_class", None) is CompiledMixture:
        return lambda m, b, acquired, values, legal, prices, outputs: write_estimate(
            m, b, acquired, values, legal, prices, outputs
        )
    return None


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _least_price(legal, prices, unit):
    """The price, in this unit, that cheaper acquisitions count as; 1 where all are free."""
    total, n_legal = 0.0, 0
    for j in range(len(legal)):
        if legal[j]:
            total += prices[j] / unit
            n_legal += 1
    return const.MIN_PRICE_SHARE * total / n_legal if total > 0.0 else 1.0


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _lowest_cost(answer_costs):
    """The cost of the cheapest answer of all; below 0 where correct answers are rewarded."""
    lowest = answer_costs[0, 0]
    for a in range(answer_costs.shape[0]):
        for k in range(answer_costs.shape[1]):
            lowest = min(lowest, answer_costs[a, k])
    return lowest


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _write_inputs(b, cost, proba, legal, prices, unit, preference, inputs):
    """Numbers that help to predict what going on is worth; 0 where nothing is legal. Number 9 is set before.

    ``cost`` is the expected error cost above that of the cheapest answer, in the unit, and so at least 0.
    """
    for h in range(len(inputs)):
        if h != 9:
            inputs[h] = 0.0
    best, second, most, net = -1, -1, 0.0, -np.inf
    for j in range(len(legal)):
        if not legal[j]:
            continue
        most = max(most, b.gains[j, 0])
        net = max(net, b.gains[j, 0] - prices[j] / unit)
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
    inputs[7] = b.gains[best, 1]
    inputs[8] = prices[best] / unit / (cost + const.MIN_COST)
    if second >= 0 and preference[second] > 0.0:
        inputs[10] = np.log(preference[best] / preference[second])
    for h in range(len(inputs)):
        inputs[h] = min(max(inputs[h], -10.0), 10.0)
