"""Compiled parts of linear agents: scores updated feature by feature, the best legal action, random streams.

The scores of all actions are a row of ``width(n_actions)`` float32, a multiple of 16, so that loops fill vector
registers. The kernels allocate nothing and therefore count no references (``_nrt=False``); callers pass the buffers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from agents.rcpi.score_trees import NO_TREES, ScoreTrees
from fsgym.rules import Rules
from fsgym.support.kernels import INNER

# Score of actions that must not be chosen. Finite, since fast arithmetic assumes that there are no infinities.
EXCLUDED_SCORE = np.float32(-1e30)
NO_ACTION = np.int32(2**31 - 1)  # above all actions


def width(n_actions: int) -> int:
    """The length of a row of scores: ``n_actions`` rounded up to a multiple of 16."""
    return -(-n_actions // 16) * 16


@intrinsic
def _larger(typingctx, a, b):
    """The larger of two numbers that are not NaN. Unlike ``max``, it is vectorised in loops."""

    def code(context, builder, signature, arguments):
        test = builder.fcmp_ordered(">", arguments[0], arguments[1], flags=("fast",))
        return builder.select(test, arguments[0], arguments[1], flags=("fast",))

    return types.float32(types.float32, types.float32), code


class ActionScores(NamedTuple):
    """The scores of all actions of one policy, as functions of the state."""

    weights: NDArray[np.float32]  # (n_features, 2, n_actions), of the mask and of the scaled value of each feature
    intercepts: NDArray[np.float32]  # (n_actions,)
    logistic: bool = False  # whether the scores of the answers are logits of the classes
    trees: ScoreTrees = NO_TREES  # whose sums are added to the scores of acquisitions, if there are any


class Linear(NamedTuple):
    """Linear policies with padded rows."""

    # (n_policies, n_features, 2, width), of the mask and of the scaled value of each feature
    weights: NDArray[np.float32]
    intercepts: NDArray[np.float32]  # (n_policies, width), EXCLUDED_SCORE in the padding
    n_acquisitions: int  # number of the actions before the answers
    answer_costs: NDArray[np.float32]  # (n_answers, n_classes), by answer and true class
    # (n_policies,), whether the scores of the answers are logits of the classes. An answer is then worth minus its
    # expected error cost under their softmax.
    logistic: NDArray[np.bool_]
    trees: ScoreTrees  # whose sums are added to the scores of acquisitions; without any, all scores are linear
    # where nothing is acquired and no acquisition is legal; -1 for the answer with the largest score
    empty_answer: int = -1

    @classmethod
    def blank(cls, rules: Rules) -> Linear:
        """No policy yet."""
        weights, J = padded(np.zeros((0, rules.n_features, 2, rules.n_actions)), 0), rules.n_acquisitions
        return cls(weights, weights[:, 0, 0], J, rules.answer_costs.astype(np.float32), np.zeros(0, bool), NO_TREES)

    def appended(self, scores: ActionScores) -> Linear:
        """These policies and one more."""
        return self._replace(
            weights=np.concatenate([self.weights, padded(scores.weights, 0)[None]]),
            intercepts=np.concatenate([self.intercepts, padded(scores.intercepts, float(EXCLUDED_SCORE))[None]]),
            logistic=np.append(self.logistic, scores.logistic),
            trees=self.trees.joined(scores.trees, len(self.logistic)),
        )

    def newest(self) -> Linear:
        """The last policy alone."""
        last = {name: getattr(self, name)[-1:] for name in ("weights", "intercepts", "logistic")}
        return self._replace(**last, trees=self.trees.newest())


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def add_acquisition(t, j, values, row, linear, p, scores):
    """Add to ``scores[p]`` the terms of policy p for the available features of acquisition j."""
    for k in range(t.member_first[j], t.member_first[j + 1]):
        i = t.member[k]
        x = values[row, i]
        if not np.isnan(x):
            for a in range(scores.shape[1]):
                scores[p, a] += linear.weights[p, i, 0, a] + x * linear.weights[p, i, 1, a]


@intrinsic
def _lowest_best(typingctx, score, top, action, best):
    """The lower of ``best`` and ``action`` if ``score`` equals ``top``, otherwise ``best``; vectorised in loops."""

    def code(context, builder, signature, arguments):
        score, top, action, best = arguments
        equal = builder.fcmp_ordered("==", score, top)
        action = builder.select(equal, action, context.get_constant(types.int32, int(NO_ACTION)))
        return builder.select(builder.icmp_signed("<", action, best), action, best)

    return types.int32(types.float32, types.float32, types.int32, types.int32), code


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def best_legal(scores, slot, legal, e, linear, p, allowed):
    """The legal action of the largest value for policy p, whose scores are ``scores[slot]``; int64.

    Ties go to the lowest action. ``legal[e]`` has the padded length, and scores in the padding are EXCLUDED_SCORE. The
    values of the legal actions, and EXCLUDED_SCORE for others, are left in row 0 of the buffer ``allowed``, float32
    (2, width).
    """
    wide = scores.shape[1]
    for a in range(wide):
        allowed[0, a] = scores[slot, a] if legal[e, a] != 0 else EXCLUDED_SCORE
    if linear.logistic[p]:
        _write_values_of_answers(scores, slot, legal, e, linear, allowed)
    top = EXCLUDED_SCORE
    for a in range(wide):
        top = _larger(top, allowed[0, a])
    best = NO_ACTION
    for a in range(wide):
        best = _lowest_best(allowed[0, a], top, np.int32(a), best)
    return np.int64(best)


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _write_values_of_answers(scores, slot, legal, e, linear, allowed):
    """Write minus the expected error cost of each legal answer, whose scores are logits, into row 0 of ``allowed``."""
    J, (n_answers, C) = linear.n_acquisitions, linear.answer_costs.shape
    top = scores[slot, J]
    for k in range(1, C):
        top = _larger(top, scores[slot, J + k])
    total = np.float32(0.0)
    for k in range(C):
        allowed[1, k] = np.exp(scores[slot, J + k] - top)
        total += allowed[1, k]
    for k in range(n_answers):
        if legal[e, J + k] != 0:
            cost = np.float32(0.0)
            for c in range(C):
                cost += linear.answer_costs[k, c] * allowed[1, c]
            allowed[0, J + k] = -cost / total


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def mix_bits(x):
    """The output function of SplitMix64 (Steele, Lea and Flood, 2014): uint64 -> uint64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def random_stream(seed, number):
    """The first state of random stream ``number``, uint64, which is independent of threads and of their order."""
    return mix_bits(mix_bits(np.uint64(seed)) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def next_state(state):
    """The next state of a random stream."""
    return state + np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def random_integer(state, n):
    """A random integer from 0 to n - 1, int64, from the state of a stream."""
    return np.int64((mix_bits(state) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def random_fraction(state):
    """A random float64 in [0, 1) from the state of a stream."""
    return np.float64(np.int64(mix_bits(state) >> np.uint64(11))) * (1.0 / 9007199254740992.0)


def consecutive_ranges(n: int, size: int) -> list[tuple[int, int]]:
    """The ranges (first, last) of ``size`` that cover 0 to n; independent of the number of threads."""
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def padded(rows: NDArray, fill: float) -> NDArray[np.float32]:
    """``rows`` (..., n_actions) as float32, with the last axis padded to ``width`` with ``fill``."""
    result = np.full((*rows.shape[:-1], width(rows.shape[-1])), fill, np.float32)
    result[..., : rows.shape[-1]] = rows
    return result
