"""Compiled: what the networks say about one state. Only known inputs and active units take time.

t is a ``CompiledNetwork``, b are ``NetworkBuffers``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

from agents.anystate.follow import estimate_state
from agents.anystate.network import constants as const
from fsgym.support.kernels import INNER

N_STOP_INPUTS = 5  # of the stop rule


class CompiledNetwork(NamedTuple):
    """The networks as arrays, see ``NetworkModel``."""

    # the fields of ``Embedding``
    features: NDArray[np.int64]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    knots: NDArray[np.float32]
    shift: NDArray[np.float32]
    spread: NDArray[np.float32]
    predictors: NDArray[np.float32]  # (n_predictors, n_parameters)
    predictor_sizes: NDArray[np.int64]  # (n_layers + 1,)
    ranking: NDArray[np.float32]  # (n_parameters,)
    ranking_sizes: NDArray[np.int64]  # (n_layers + 1,)
    score_scale: np.float32  # by which the sum of the scores of all predictors is multiplied
    candidates: NDArray[np.int64]  # (b,)
    answer_costs: NDArray[np.float64]  # (n_answers, n_classes)
    regrets: NDArray[np.float32]  # (n_classes, n_answers), in the unit of the task
    unit: float


class NetworkBuffers(NamedTuple):
    """Memory for one state: float32 (n_inputs of the ranking,), (largest layer,) twice, (n_classes,), (b,)."""

    inputs: NDArray[np.float32]
    layer: NDArray[np.float32]
    next_layer: NDArray[np.float32]
    proba: NDArray[np.float32]
    advantages: NDArray[np.float32]


def network_buffers(t: CompiledNetwork) -> NetworkBuffers:
    """Memory for the states of networks."""
    widest = int(max(t.predictor_sizes[1:].max(), t.ranking_sizes[1:].max()))
    sizes = (int(t.ranking_sizes[0]), widest, widest, t.answer_costs.shape[1], len(t.candidates))
    return NetworkBuffers(*(np.zeros(size, np.float32) for size in sizes))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, error_model="numpy", **INNER)
def write_embedded(values, known, e, inputs):
    """Write the numbers of the known values of one row, block by block; e has the fields of an ``Embedding``.

    ``known`` is bool (m,).
    """
    m, most = len(e.features), np.float32(const.MAX_ABS_INPUT)
    for i in range(m):
        if not known[i]:
            continue
        z = np.float32(min(max((values[e.features[i]] - e.center[i]) / e.scale[i], -most), most))
        inputs[i] = z
        for k in range(e.knots.shape[0]):
            hinge = (max(z - e.knots[k, i], np.float32(0)) - e.shift[k, i]) / e.spread[k, i]
            inputs[(k + 1) * m + i] = min(max(hinge, -most), most)


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _write_outputs(parameters, sizes, b):
    """Write the outputs of a network for ``b.inputs`` to the beginning of ``b.layer``."""
    x, y, other, first = b.inputs, b.layer, b.next_layer, 0
    for layer in range(len(sizes) - 1):
        n, n_units = sizes[layer], sizes[layer + 1]
        biases = first + n * n_units
        for u in range(n_units):
            y[u] = parameters[biases + u]
        for i in range(n):
            value = x[i]
            if value == 0.0 or (layer > 0 and value < 0.0):
                continue
            weights = parameters[first + i * n_units : first + (i + 1) * n_units]
            for u in range(n_units):
                y[u] += value * weights[u]
        first = biases + n_units
        x, y, other = y, other, y
    for u in range(sizes[-1]):
        b.layer[u] = x[u]


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def write_network_probabilities(t, b, acquired, values, proba):
    """Write the class probabilities of one state, and its inputs to the buffers; return the share of known values."""
    m, n_blocks, n_classes, n_known = len(t.features), 1 + t.knots.shape[0], len(proba), 0
    for h in range(len(b.inputs)):
        b.inputs[h] = 0.0
    known = b.inputs[n_blocks * m : (n_blocks + 1) * m]
    for i in range(m):
        if acquired[t.features[i]] and not np.isnan(values[t.features[i]]):
            known[i] = 1.0
            n_known += 1
    write_embedded(values, known, t, b.inputs)
    for k in range(n_classes):
        b.proba[k] = 0.0
    for p in range(len(t.predictors)):
        _write_outputs(t.predictors[p], t.predictor_sizes, b)
        for k in range(n_classes):
            b.proba[k] += b.layer[k]
    top, total = np.float32(-np.inf), 0.0
    for k in range(n_classes):
        b.proba[k] *= t.score_scale
        top = max(top, b.proba[k])
    for k in range(n_classes):
        proba[k] = np.exp(np.float64(b.proba[k] - top))
        total += proba[k]
    for k in range(n_classes):
        proba[k] /= total
        b.proba[k] = proba[k]
    return n_known / m


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def write_network_estimate(t, b, acquired, values, legal, prices, outputs):
    """As ``NetworkModel.estimate`` for one state."""
    proba, preference, inputs = outputs
    share, n_classes = write_network_probabilities(t, b, acquired, values, proba), len(proba)
    error = np.float32(np.inf)
    for a in range(t.regrets.shape[1]):
        regret = np.float32(0)
        for k in range(n_classes):
            regret += b.proba[k] * t.regrets[k, a]
        error = min(error, regret)
    n_inputs = t.predictor_sizes[0]
    for k in range(n_classes):
        b.inputs[n_inputs + k] = b.proba[k]
    b.inputs[n_inputs + n_classes] = error
    _write_outputs(t.ranking, t.ranking_sizes, b)
    scores = b.layer
    for j in range(len(legal)):
        preference[j] = -const.OUTSIDE_PREFERENCE * t.unit if legal[j] else -np.inf
    best, second, reduction, best_price = np.inf, np.inf, 0.0, 0.0
    for c in range(len(t.candidates)):
        j = t.candidates[c]
        if not legal[j]:
            continue
        price = np.float32(min(prices[j] / t.unit, const.MAX_PRICE))
        advantage = price - error * scores[c]
        preference[j] = -np.float64(advantage) * t.unit
        reduction = max(reduction, np.float64(price - advantage))
        if advantage < best:
            best, second, best_price = np.float64(advantage), best, np.float64(price)
        else:
            second = min(second, np.float64(advantage))
    gain = error * min(max(scores[len(t.candidates)], np.float32(0)), np.float32(1))
    floor = error + const.MIN_DIVISOR
    inputs[0] = np.log(floor)
    inputs[1] = reduction / floor
    inputs[2] = (best_price - gain) / floor if best < np.inf else 0.0
    inputs[3] = share
    inputs[4] = second - best if second < np.inf else 0.0


@overload(estimate_state)
def _estimate_of_network(m, b, acquired, values, legal, prices, outputs):
    if getattr(m, "instance_class", None) is CompiledNetwork:
        return lambda m, b, acquired, values, legal, prices, outputs: write_network_estimate(
            m, b, acquired, values, legal, prices, outputs
        )
    return None


@njit(cache=True, nogil=True, _nrt=False)
def write_network_estimates(t, b, states, proba, preference, inputs):
    """The estimates of n states; ``states`` are acquired, values, legal, prices."""
    acquired, values, legal, prices = states
    for i in range(len(values)):
        outputs = (proba[i], preference[i], inputs[i])
        write_network_estimate(t, b, acquired[i], values[i], legal[i], prices[i], outputs)
