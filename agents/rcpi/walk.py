"""Many cases under a linear policy, whose scores grow with each acquisition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, typeof
from numpy.typing import NDArray

from agents.rcpi.kernels import Linear, add_acquisition, best_legal
from fsgym.data.scaling import Scaling
from fsgym.rules import Rules, State
from fsgym.session.walk import acquire_or_miss


class LinearWalk:
    """See ``fsgym.session.walk.Walk``.

    Parameters
    ----------
    linear : Linear, one policy
    scaling : Scaling, of the policy
    most : float, by which scaled values are clipped
    rules : Rules
    state : State of n cases, started
    """

    def __init__(
        self,
        linear: Linear,
        scaling: Scaling,
        most: np.float32,
        rules: Rules,
        state: State,
    ) -> None:
        self.linear, self.most, self.rules, self.state = linear, most, rules, state
        groups = [list(members) for members in rules.groups]
        self.scalings = [Scaling(scaling.offset[members], scaling.scale[members]) for members in groups]
        n, wide = len(state.spent), linear.intercepts.shape[1]
        self.scores = np.repeat(linear.intercepts, n, axis=0)
        self.values = np.full((n, rules.n_features), np.nan, np.float32)
        self.legal = np.zeros((n, wide), np.int8)
        self.allowed = np.empty((2, wide), np.float32)
        self.compiled: Any = None  # else Numba would look at the types of the arguments in each call

    def begin(self) -> NDArray[np.int64]:
        rows = np.arange(len(self.scores))
        return self._advance(rows, -1, np.empty((len(rows), 0), np.float32), np.ones(len(rows), bool))

    def go_on(
        self, rows: NDArray[np.int64], j: int, numbers: NDArray[np.float64], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        scaled = self.scalings[j].apply(numbers.astype(np.float32))
        return self._advance(rows, j, scaled.clip(-self.most, self.most), brought)

    def _advance(
        self, rows: NDArray[np.int64], j: int, scaled: NDArray[np.float32], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        actions = np.empty(len(rows), np.int64)
        arrays = self.values, self.scores, self.legal, self.allowed
        arguments = (self.rules.tables, self.state, rows, j, (scaled, brought), self.linear, arrays, actions)
        if self.compiled is None:
            self.compiled = _advance_linear.compile(tuple(typeof(value) for value in arguments))
        self.compiled(*arguments)
        return actions


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _advance_linear(t, state, rows, j, news, linear, arrays, actions):
    (scaled, brought), (values, scores, legal, allowed) = news, arrays
    J = t.costs.size
    for k in range(len(rows)):
        e = rows[k]
        if j >= 0:
            acquire_or_miss(t, state, e, j, brought[k])
            for m in range(scaled.shape[1]):
                values[e, t.member[t.member_first[j] + m]] = scaled[k, m]
            if brought[k]:
                add_acquisition(t, j, values, e, linear, 0, scores[e : e + 1])
        elif linear.empty_answer >= 0 and np.sum(state.legal[e, :J]) == 0:
            actions[k] = J + linear.empty_answer
            continue
        for a in range(state.legal.shape[1]):
            legal[e, a] = state.legal[e, a]
        actions[k] = best_legal(scores, e, legal, e, linear, 0, allowed)
