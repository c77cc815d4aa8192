"""Compiled parts shared by linear agents: incremental scores, choice of the best legal action, counted random numbers.

Scores live in rows of ``width(A)`` float32, a multiple of 16 so that loops fill vector registers. Kernels count no
references (``_nrt=False``): they allocate nothing, their buffers come from the caller.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

NEVER = np.float32(-1e30)  # the score of what cannot be chosen: an infinity would not survive fast arithmetic
NOWHERE = np.int32(2**31 - 1)


def width(n_actions: int) -> int:
    """Length of a row of scores: ``n_actions`` rounded up to a multiple of 16."""
    return -(-n_actions // 16) * 16


@intrinsic
def _larger(typingctx, a, b):
    """The larger of two numbers that are not NaN; unlike ``max``, a loop of these is vectorised."""

    def code(context, builder, signature, arguments):
        test = builder.fcmp_ordered(">", arguments[0], arguments[1], flags=("fast",))
        return builder.select(test, arguments[0], arguments[1], flags=("fast",))

    return types.float32(types.float32, types.float32), code


class Linear(NamedTuple):
    """Linear policies, padded for kernels.

    Attributes
    ----------
    weights : float32 (n_policies, n_features, 2, width), of z and of the scaled value of each feature
    intercepts : float32 (n_policies, width), NEVER where a row is padded
    """

    weights: NDArray[np.float32]
    intercepts: NDArray[np.float32]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def add_acquisition(t, j, values, row, linear, p, scores):
    """Add to ``scores[p]`` what policy p makes of the features of acquisition j; return how many there were."""
    n = 0
    for k in range(t.member_first[j], t.member_first[j + 1]):
        i = t.member[k]
        x = values[row, i]
        if not np.isnan(x):
            n += 1
            for a in range(scores.shape[1]):
                scores[p, a] += linear.weights[p, i, 0, a] + x * linear.weights[p, i, 1, a]
    return n


@intrinsic
def _first(typingctx, score, top, action, best):
    """The lower of ``best`` and ``action`` if its score is the top one, else ``best``; vectorised in a loop."""

    def code(context, builder, signature, arguments):
        score, top, action, best = arguments
        equal = builder.fcmp_ordered("==", score, top)
        action = builder.select(equal, action, context.get_constant(types.int32, int(NOWHERE)))
        return builder.select(builder.icmp_signed("<", action, best), action, best)

    return types.int32(types.float32, types.float32, types.int32, types.int32), code


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def best_legal(scores, slot, legal, e, allowed):
    """The legal action with the largest score, the lowest of equals, int64.

    ``legal[e]`` and the buffer ``allowed`` are as long as ``scores[slot]``; what pads a row has the score NEVER.
    """
    wide = scores.shape[1]
    top = NEVER
    for a in range(wide):
        allowed[a] = scores[slot, a] if legal[e, a] != 0 else NEVER
        top = _larger(top, allowed[a])
    best = NOWHERE
    for a in range(wide):
        best = _first(allowed[a], top, np.int32(a), best)
    return np.int64(best)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def scramble(x):
    """SplitMix64's finaliser (Steele, Lea and Flood, 2014): uint64 -> uint64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def stream(seed, number):
    """The start of random stream ``number``; it depends on nothing else, so neither on threads nor on order."""
    return scramble(scramble(np.uint64(seed)) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def advance(state):
    """The next state of a stream."""
    return state + np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def below(state, n):
    """A whole number 0..n-1 from the state of a stream, int64."""
    return np.int64((scramble(state) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def unit(state):
    """A float64 in [0, 1) from the state of a stream."""
    return np.float64(np.int64(scramble(state) >> np.uint64(11))) * (1.0 / 9007199254740992.0)


def blocks(n: int, size: int) -> list[tuple[int, int]]:
    """0..n cut into blocks of ``size``, always the same whatever the number of threads."""
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def padded(rows: NDArray, fill: float) -> NDArray[np.float32]:
    """``rows`` (..., n_actions) as float32 with the last axis filled up to ``width``."""
    result = np.full((*rows.shape[:-1], width(rows.shape[-1])), fill, np.float32)
    result[..., : rows.shape[-1]] = rows
    return result
