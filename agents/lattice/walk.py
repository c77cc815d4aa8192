"""Many cases under a lattice policy, which moves from subset to subset."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice.continuation import Continuation
from agents.lattice.inference import Plan, cheapest_answer, choose_move, encode_values_of, row_buffers
from fsgym.rules import Rules, State
from fsgym.session.walk import acquire_or_miss


class LatticeWalk:
    """See ``fsgym.session.walk.Walk``.

    Parameters
    ----------
    plan : Plan
    continuation : Continuation
    rules : Rules
    state : State of n cases, started
    """

    def __init__(self, plan: Plan, continuation: Continuation, rules: Rules, state: State) -> None:
        self.plan, self.continuation, self.rules, self.state = plan, continuation, rules, state
        n = len(state.spent)
        self.values = np.full((n, rules.n_features), np.nan, np.float32)
        # of each case: its subset, the one after what it asks for, and how many acquisitions of the base are left
        self.place, self.child, self.base_left = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.buffers = row_buffers(plan, rules.n_classes)

    def begin(self) -> NDArray[np.int64]:
        rows, base = np.arange(len(self.place)), self.continuation.base
        if len(base) and self.rules.tables.budget >= len(base):
            self.base_left[self.state.legal[:, base].all(axis=1)] = len(base)
        return self._advance(rows, -1, np.empty((len(rows), 0), np.float32), np.ones(len(rows), bool))

    def go_on(
        self, rows: NDArray[np.int64], j: int, numbers: NDArray[np.float64], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        return self._advance(rows, j, numbers.astype(np.float32), brought)

    def _advance(
        self, rows: NDArray[np.int64], j: int, numbers: NDArray[np.float32], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        actions = np.empty(len(rows), np.int64)
        arrays = self.values, self.place, self.child, self.base_left
        policy = self.plan, self.continuation, self.buffers, self.rules.error_costs
        _advance_lattice(self.rules.tables, self.state, rows, j, (numbers, brought), policy, arrays, actions)
        return actions


@njit(cache=True, nogil=True, _nrt=False)
def _advance_lattice(t, state, rows, j, news, policy, arrays, actions):
    (numbers, brought), (p, c, b, error_costs), (values, place, child, base_left) = news, policy, arrays
    J = t.costs.size
    for k in range(len(rows)):
        e = rows[k]
        if j >= 0:
            acquire_or_miss(t, state, e, j, brought[k])
            for m in range(numbers.shape[1]):
                values[e, t.member[t.member_first[j] + m]] = numbers[k, m]
            if not brought[k]:
                base_left[e] = 0  # the rest of the base is of no use without it
            elif base_left[e] > 0:
                base_left[e] -= 1
                place[e] = c.base_place[0] if base_left[e] == 0 else 0
            else:
                place[e] = child[e]
        if base_left[e] > 0:
            asked = c.base[len(c.base) - base_left[e]]
            if state.legal[e, asked] != 0:
                actions[k] = asked
                continue
            base_left[e] = 0
        encode_values_of(p, b, values, e, place[e])
        actions[k], child[e] = choose_move(p, c, b, place[e], state.legal, e, error_costs)
        if actions[k] < 0:
            actions[k] = J + cheapest_answer(b.proba, error_costs)
