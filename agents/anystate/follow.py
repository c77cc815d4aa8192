"""Compiled models of states: their estimates, and the trajectories of rows under a model and a stop rule.

In the compiled functions, m is a model as a named tuple of arrays with the field ``answer_costs``, the
``StateModel.costs``, b is its memory for
one state, t are ``Tables`` of the rules.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit, typeof
from numpy.typing import NDArray

from agents.anystate.state_model import StateBatch, StateEstimates, StateModel
from agents.anystate.stop_rule import N_STATE_NUMBERS, StopRule, predict_advantage, write_state_numbers
from fsgym.envs.trajectories import Trajectories, TrajectoryArrays
from fsgym.rules import Rules, State
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only
from fsgym.support.kernels import INNER

# The entry points by type of model; for a single row, Numba would spend more time on the types of the arguments.
_COMPILED: dict[type, Callable] = {}


def estimate_state(m, b, acquired, values, legal, prices, outputs):
    """Write what ``StateModel.estimate`` returns; only compiled, by ``numba.extending.overload`` for each type of m.

    Parameters
    ----------
    m, b : named tuples, the model and its memory
    acquired : bool (n_features,)
    values : float32 (n_features,)
    legal : bool (n_acquisitions,)
    prices : float64 (n_acquisitions,)
    outputs : tuple of probabilities (n_classes,), preference (n_acquisitions,) and inputs (n_inputs,), float64; written
    """
    raise NotImplementedError


class StateArrays(NamedTuple):
    """One state and what a model says about it, see ``StateBatch`` and ``StateEstimates``."""

    acquired: NDArray[np.bool_]
    legal: NDArray[np.bool_]
    proba: NDArray[np.float64]
    preference: NDArray[np.float64]
    inputs: NDArray[np.float64]
    numbers: NDArray[np.float64]

    @classmethod
    def blank(cls, rules: Rules, n_inputs: int) -> StateArrays:
        return cls(
            np.zeros(rules.n_features, bool),
            np.zeros(rules.n_acquisitions, bool),
            np.zeros(rules.n_classes),
            np.zeros(rules.n_acquisitions),
            np.zeros(n_inputs),
            np.zeros(N_STATE_NUMBERS + n_inputs),
        )


class StateKernels(NamedTuple):
    """The compiled functions of a kind of model; m is the model as a named tuple, b its memory for one state."""

    buffers: Callable[[Any], Any]  # (m) -> b
    write_estimates: Callable[..., None]  # (m, b, (acquired, values, legal, prices), probabilities, preference, inputs)


class CompiledStateModel(StateModel):
    """A model of states whose estimates are compiled: a subclass has its kernels, and itself as a named tuple.

    ``estimate_state`` must be defined for the type of the named tuple. Arrays have the same types in all calls, also in
    whether they can be written: Numba would compile anew for others.
    """

    kernels: ClassVar[StateKernels]

    @property
    @abstractmethod
    def _compiled(self) -> Any:
        """The model as a named tuple of arrays."""

    def estimate(self, states: StateBatch) -> StateEstimates:
        (n, n_acquisitions), m = states.legal.shape, self._compiled
        arrays = (
            np.array(states.acquired, bool, order="C"),
            read_only(states.values, np.float32),
            np.array(states.legal, bool, order="C"),
            np.array(states.prices, np.float64, order="C"),
        )
        outputs = np.empty((n, self.rules.n_classes)), np.empty((n, n_acquisitions)), np.empty((n, self.n_inputs))
        self.kernels.write_estimates(m, self.kernels.buffers(m), arrays, *outputs)
        return StateEstimates(*outputs)

    def follow(
        self,
        stop: StopRule,
        X: NDArray[np.float32],
        rules: Rules,
        skipped: NDArray[np.bool_],
        most: int,
    ) -> Trajectories:
        J, n_inputs = rules.n_acquisitions, len(stop.centre) - N_STATE_NUMBERS
        done = TrajectoryArrays.blank(len(X), rules, with_probabilities=True)
        now, start = StateArrays.blank(rules, n_inputs), StateArrays.blank(rules, n_inputs)
        state, m = State.blank(1, J, J + rules.n_classes), self._compiled
        rule = stop, self.rules.lam * self.rules.costs, skipped, most
        arguments = (rules.tables, state, X, m, self.kernels.buffers(m), rule, (now, start), done)
        if type(m) not in _COMPILED:
            _COMPILED[type(m)] = _follow_rows.compile(tuple(typeof(value) for value in arguments))
        _COMPILED[type(m)](*arguments)
        return done.filled()


@njit(cache=True, nogil=True, _nrt=False)
def _follow_rows(t, state, X, m, b, rule, arrays, done):
    (stop, prices, skipped, most), (now, start) = rule, arrays
    J, has_start = t.costs.size, False
    floor = np.inf
    for a in range(m.answer_costs.shape[0]):
        for k in range(m.answer_costs.shape[1]):
            floor = min(floor, m.answer_costs[a, k])
    for row in range(len(X)):
        mdp.start(t, state, mdp.FIRST, X, row)
        for i in range(len(now.acquired)):
            now.acquired[i] = False
        while True:
            _estimate_row(state, X[row], m, b, prices, skipped, now, start, has_start)
            has_start = True
            best, comes_first = mdp.NONE, False
            for j in range(J):
                if now.legal[j] and t.counts[j] == 0:
                    best, comes_first = j, True
                    break
                if now.legal[j] and (best < 0 or now.preference[j] > now.preference[best]):
                    best = j
            if not comes_first:
                price = prices[best] if best >= 0 else 0.0
                error = write_state_numbers(now.proba, price, now.inputs, m.answer_costs, now.numbers)
                if best < 0 or error - floor <= price or state.n_counted[0] >= most:
                    break
                if predict_advantage(stop.centre, stop.scale, stop.knots, stop.theta, now.numbers) >= 0.0:
                    break
            done.order[row, state.n_taken[0]] = best
            mdp.acquire(t, state, mdp.FIRST, best)
            for k in range(t.member_first[best], t.member_first[best + 1]):
                i = t.member[k]
                now.acquired[i] = not np.isnan(X[row, i])
        done.answers[row] = _cheapest_answer(m.answer_costs, now.proba)
        for i in range(len(now.acquired)):
            done.acquired[row, i] = now.acquired[i]
        for k in range(len(now.proba)):
            done.probabilities[row, k] = now.proba[k]


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _estimate_row(state, x, m, b, prices, skipped, now, start, has_start):
    """Estimate the present state; at the start, copy the estimates of the last start with the same legal actions."""
    same = has_start and state.n_taken[0] == 0
    for j in range(len(now.legal)):
        now.legal[j] = state.legal[0, j] != 0 and not skipped[j]
        same = same and now.legal[j] == start.legal[j]
    if not same:
        estimate_state(m, b, now.acquired, x, now.legal, prices, (now.proba, now.preference, now.inputs))
    if state.n_taken[0] > 0:
        return
    source, target = (start, now) if same else (now, start)
    for j in range(len(now.legal)):
        target.legal[j] = source.legal[j]
        target.preference[j] = source.preference[j]
    for k in range(len(now.proba)):
        target.proba[k] = source.proba[k]
    for h in range(len(now.inputs)):
        target.inputs[h] = source.inputs[h]


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _cheapest_answer(answer_costs, proba):
    best, least = 0, np.inf
    for a in range(len(answer_costs)):
        cost = 0.0
        for k in range(len(proba)):
            cost += answer_costs[a, k] * proba[k]
        if cost < least:
            best, least = a, cost
    return best
