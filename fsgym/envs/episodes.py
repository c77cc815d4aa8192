"""A batch of episodes, stepped by compiled code; both environments and the evaluation are built on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, typeof
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym.rules import Costs, Rules, State, Tables
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only

# Observations: phi(x, z) = [z, mu(x, z)] (Dulac-Arnold et al., 2012, section 3.3).
#
# The first n numbers are z, 1 where a value is known; the next n are mu, the value where it is known, else 0. Where
# prices are by case, the J prices of the case follow, in the unit of ``costs``.


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _reveal_feature(X, row, i, e, observation):
    # i is unsigned, which spares a check for a negative index at each of the three accesses
    value = X[row, i]
    if not np.isnan(value):
        observation[e, i] = 1.0
        observation[e, np.uintp(X.shape[1]) + i] = value


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def reveal(t, j, X, row, e, observation):
    """Write the features of acquisition j in ``X[row]`` into ``observation[e]``; NaN stays unknown."""
    if t.member.size == t.costs.size:  # one feature per acquisition: a loop would double the time
        _reveal_feature(X, row, np.uint32(t.member[j]), e, observation)
    else:
        for k in range(t.member_first[j], t.member_first[j + 1]):
            _reveal_feature(X, row, np.uint32(t.member[k]), e, observation)


class DataArrays(NamedTuple):
    """The arrays of a data set that compiled code reads."""

    X: NDArray[np.float32]  # (n_samples, n_features)
    y: NDArray[np.int64]  # (n_samples,)
    incomplete: NDArray[np.bool_]  # (n_samples,) whether the row has a missing value
    case_costs: NDArray[np.float64]  # (n_samples, J); (0, J) where prices are not by case


class EpisodeArrays(NamedTuple):
    """All arrays and tables that a step of ``Episodes`` reads or writes."""

    state: State
    index: NDArray[np.int64]
    active: NDArray[np.bool_]
    observation: NDArray[np.float32]
    first_legal: NDArray[np.int8]  # (n_actions,) legal actions at the start of a row without missing values
    tables: Tables
    costs: Costs
    data: DataArrays


class EpisodeOutcomes(NamedTuple):
    """Results of the episodes that ended, each of shape (size,); entries of other episodes are not written."""

    prediction: NDArray[np.int64]
    label: NDArray[np.int64]
    correct: NDArray[np.bool_]
    illegal: NDArray[np.bool_]
    n_acquired: NDArray[np.int64]
    acquisition_cost: NDArray[np.float64]
    error_cost: NDArray[np.float64]

    @classmethod
    def blank(cls, size: int) -> EpisodeOutcomes:
        """Results of ``size`` episodes, all zero."""
        dtypes = (np.int64, np.int64, bool, bool, np.int64, np.float64, np.float64)
        return cls._make(np.zeros(size, dtype) for dtype in dtypes)


# Compiled without reference counting (_nrt=False): nothing is allocated inside, and counting references took ten
# times as long as the step itself.
@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _begin_episode(arrays, e, row):
    """Start episode e on a row of the data; rows without missing values all start with ``first_legal``."""
    state, t = arrays.state, arrays.tables
    arrays.index[e] = row
    arrays.active[e] = True
    for i in range(arrays.observation.shape[1]):
        arrays.observation[e, i] = 0.0
    if t.by_case:
        mdp.set_case_costs(t, state, e, arrays.data.case_costs, row)
        for j in range(t.costs.size):
            arrays.observation[e, 2 * arrays.data.X.shape[1] + j] = state.case_costs[e, j]
        mdp.start(t, state, e, arrays.data.X, row)  # of another price another acquisition may be affordable
        return
    if arrays.data.incomplete[row]:
        mdp.start(t, state, e, arrays.data.X, row)
        return
    state.n_taken[e] = 0
    state.spent[e] = 0.0
    for j in range(t.costs.size):
        state.status[e, j] = mdp.OPEN
    if not t.independent:
        for j in range(t.costs.size):
            state.touching[e, j] = 0
    for a in range(arrays.first_legal.size):
        state.legal[e, a] = arrays.first_legal[a]


@njit(cache=True, nogil=True, _nrt=False)
def _begin_episodes(which, rows, arrays):
    for k in range(which.size):
        _begin_episode(arrays, which[k], rows[k])


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _end_episode(arrays, e, action, outcomes):
    """End episode e with an answer: write its outcome and return the error cost."""
    costs, state, n_acquisitions = arrays.costs, arrays.state, arrays.tables.costs.size
    true_class = arrays.data.y[arrays.index[e]]
    illegal = action < n_acquisitions  # it forfeits the episode
    answer = costs.costliest[true_class] if illegal else action - n_acquisitions
    outcomes.prediction[e] = answer
    outcomes.label[e] = true_class
    outcomes.correct[e] = answer == true_class
    outcomes.illegal[e] = illegal
    outcomes.n_acquired[e] = state.n_taken[e]
    outcomes.acquisition_cost[e] = costs.lam * state.spent[e]
    outcomes.error_cost[e] = costs.error_costs[answer, true_class]
    arrays.active[e] = False
    return outcomes.error_cost[e]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _apply_actions(actions, rows, first_row, reward, ended, outcomes, arrays):
    """Act in each active episode and start the others, if there are rows for them; return how many episodes ended."""
    state, t = arrays.state, arrays.tables
    n_ended, next_row = 0, first_row
    for e in range(actions.size):
        a = actions[e]
        ended[e] = False
        if not arrays.active[e]:
            reward[e] = 0.0
            if rows.size > 0:
                _begin_episode(arrays, e, rows[next_row])
                next_row += 1
        elif a < t.costs.size and state.legal[e, np.uintp(a)] != 0:
            j = np.uintp(a)  # unsigned: spares the check for negative indices at each access below
            reward[e] = 0.0 - arrays.costs.lam * mdp.acquire(t, state, e, j)
            reveal(t, j, arrays.data.X, np.uintp(arrays.index[e]), e, arrays.observation)
        else:
            reward[e] = 0.0 - _end_episode(arrays, e, a, outcomes)
            ended[e] = True
            n_ended += 1
    return n_ended


@njit(cache=True, nogil=True, _nrt=False)
def _step_episodes(actions, rows, first_row, strict, reward, ended, outcomes, arrays):
    """One step of every episode, see ``Episodes.step``; returns -1 - e if the action of episode e is invalid."""
    legal, t = arrays.state.legal, arrays.tables
    n_actions = legal.shape[1]
    out_of_range = False
    for e in range(actions.size):
        out_of_range |= (actions[e] < 0) | (actions[e] >= n_actions)
    if out_of_range or strict:
        for e in range(actions.size):
            a = actions[e]
            if arrays.active[e] and (a < 0 or a >= n_actions or (strict and legal[e, a] == 0)):
                return -1 - e
    if (
        t.independent and t.member.size == t.costs.size
    ):  # the same call, but compiled without the branches that cannot occur here
        return _apply_actions(actions, rows, first_row, reward, ended, outcomes, arrays)
    return _apply_actions(actions, rows, first_row, reward, ended, outcomes, arrays)


NO_ROWS = np.zeros(0, np.int64)


def observation_size(rules: Rules) -> int:
    """The length of an observation: 2 n_features, and J more where prices are by case."""
    return 2 * rules.n_features + (rules.n_acquisitions if rules.costs_by_case else 0)


class Episodes:
    """``size`` episodes in parallel, on rows of a data set and under rules.

    All arrays have the episodes as first axis and are changed in place by ``begin`` and ``step``: copy what you need
    later.

    Attributes
    ----------
    state : State, legal actions, acquisitions made and their total price
    observation : float32 (size, 2 n_features), and behind them the J prices of the case where prices are by case
    index : int64 (size,), the row of each episode
    active : bool (size,), False for an episode that has ended or not started
    """

    def __init__(self, dataset: Dataset, rules: Rules, size: int) -> None:
        rules.check(dataset)
        self.dataset, self.rules, self.size = dataset, rules, size
        self.state = rules.blank_state(size)
        self.observation = np.zeros((size, observation_size(rules)), np.float32)
        self.index = np.zeros(size, np.int64)
        self.active = np.zeros(size, bool)
        self._bind()

    def _bind(self) -> None:
        """Collect the arguments of the compiled code and compile it for their types, once."""
        dataset, rules = self.dataset, self.rules
        first = rules.blank_state()
        mdp.start(rules.tables, first, mdp.FIRST, read_only(np.zeros((1, dataset.n_features)), np.float32), 0)
        self._arrays = EpisodeArrays(
            self.state,
            self.index,
            self.active,
            self.observation,
            first.legal[0],
            rules.tables,
            rules.reward_costs(),
            DataArrays(dataset.X, dataset.y, dataset.incomplete, rules.case_costs_or_none(dataset.case_costs)),
        )
        # Compiled entry points: an ordinary call of a Numba function determines the type of each argument, which takes
        # longer than a step of 64 episodes.
        integers, outcomes = np.zeros(0, np.int64), EpisodeOutcomes.blank(0)
        example = (integers, integers, 0, False, np.zeros(0), np.zeros(0, bool), outcomes, self._arrays)
        types = tuple(typeof(value) for value in example)
        self._compiled_step = _step_episodes.compile(types)
        self._compiled_begin = _begin_episodes.compile((types[0], types[1], types[-1]))

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_board", "_compiled_step", "_compiled_begin")
        return {key: value for key, value in vars(self).items() if key not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind()  # to the unpickled arrays

    def begin(self, which: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Start the episodes ``which`` (int64) on ``rows`` (int64, of the same length) of the data set."""
        self._compiled_begin(which, rows, self._arrays)

    def step(
        self,
        actions: NDArray[np.int64],
        reward: NDArray[np.float64],
        ended: NDArray[np.bool_],
        outcomes: EpisodeOutcomes,
        rows: NDArray[np.int64] = NO_ROWS,
        first_row: int = 0,
        strict: bool = False,
    ) -> int:
        """Act in the active episodes; write ``reward``, ``ended`` and ``outcomes``; return how many episodes ended.

        If ``rows`` are given, inactive episodes start on them, taken in order from index ``first_row``, with reward 0.
        An illegal acquisition forfeits its episode. With ``strict`` it raises ValueError instead, as an action out of
        range always does; no episode is changed then.

        Arrays must have the annotated types and be contiguous; this is not checked.
        """
        n_ended = self._compiled_step(actions, rows, first_row, strict, reward, ended, outcomes, self._arrays)
        if n_ended < 0:
            raise ValueError(self.explain_illegal(int(actions[-1 - n_ended]), -1 - n_ended))
        return n_ended

    def acquired(self) -> NDArray[np.bool_]:
        """The features whose values are known (z), bool (size, n_features)."""
        return self.observation[:, : self.dataset.n_features] > 0.5

    def explain_illegal(self, action: int, episode: int) -> str:
        """An error message: why the action is illegal, or out of range, in this episode."""
        rules = self.rules
        if not 0 <= action < rules.n_actions:
            return (
                f"action must be 0 to {rules.n_actions - 1} ({rules.n_acquisitions} acquisitions, then "
                f"{rules.n_answers} answers), got {action}"
            )
        known = self.acquired()[episode, list(rules.groups[action])].any()
        if known or self.state.status[episode, action] == mdp.TAKEN:
            why = "is already acquired"
        elif self.state.status[episode, action] == mdp.MISSING:
            why = "has no value in this row"
        else:
            why = "is not allowed now (budget, prerequisites or relation)"
        return f"action {action} ({rules.names[action]}) {why}; choose one that info['action_mask'] allows"
