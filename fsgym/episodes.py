"""A batch of episodes: the engine under both environments and under evaluation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, typeof
from numpy.typing import NDArray

from fsgym.dataset import Dataset
from fsgym.observation import reveal
from fsgym.rules import Costs, Rules, State, Tables
from fsgym.rules import kernels as mdp


class Data(NamedTuple):
    """The data set, as compiled code reads it."""

    X: NDArray[np.float32]  # (n_samples, n_features)
    y: NDArray[np.int64]  # (n_samples,)
    incomplete: NDArray[np.bool_]  # (n_samples,) whether a value is missing


class Board(NamedTuple):
    """All that a step of ``Episodes`` reads and writes."""

    state: State
    index: NDArray[np.int64]
    active: NDArray[np.bool_]
    observation: NDArray[np.float32]
    first_legal: NDArray[np.int8]  # (n_actions,) what is legal at the beginning, where no value is missing
    tables: Tables
    costs: Costs
    data: Data


class EpisodeOutcomes(NamedTuple):
    """What became of the episodes that ended; the entries of the others are left alone."""

    prediction: NDArray[np.int64]
    label: NDArray[np.int64]
    correct: NDArray[np.bool_]
    n_acquired: NDArray[np.int64]
    acquisition_cost: NDArray[np.float64]
    error_cost: NDArray[np.float64]

    @classmethod
    def blank(cls, size: int) -> EpisodeOutcomes:
        zeros, whole = np.zeros, np.int64
        return cls._make(
            (zeros(size, whole), zeros(size, whole), zeros(size, bool), zeros(size, whole), zeros(size), zeros(size))
        )


# Compiled without reference counts (_nrt=False): nothing is allocated inside, and counting them took ten
# times as long as a step.
@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _begin_one(board, e, row):
    """Put episode e at its beginning; with nothing missing that is the same for every row: ``first_legal``."""
    state, t = board.state, board.tables
    board.index[e] = row
    board.active[e] = True
    for i in range(board.observation.shape[1]):
        board.observation[e, i] = 0.0
    if board.data.incomplete[row]:
        mdp.start(t, state, e, board.data.X, row)
        return
    state.n_taken[e] = 0
    state.spent[e] = 0.0
    for j in range(t.costs.size):
        state.status[e, j] = mdp.OPEN
    if not t.independent:
        for j in range(t.costs.size):
            state.touching[e, j] = 0
    for a in range(board.first_legal.size):
        state.legal[e, a] = board.first_legal[a]


@njit(cache=True, nogil=True, _nrt=False)
def _begin(which, rows, board):
    for k in range(which.size):
        _begin_one(board, which[k], rows[k])


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _end(board, e, action, outcomes):
    """Book the answer with which episode e ends; return its cost."""
    costs, state, n_acquisitions = board.costs, board.state, board.tables.costs.size
    truth = board.data.y[board.index[e]]
    # an illegal acquisition forfeits
    answer = action - n_acquisitions if action >= n_acquisitions else costs.costliest[truth]
    outcomes.prediction[e] = answer
    outcomes.label[e] = truth
    outcomes.correct[e] = answer == truth
    outcomes.n_acquired[e] = state.n_taken[e]
    outcomes.acquisition_cost[e] = costs.lam * state.spent[e]
    outcomes.error_cost[e] = costs.error_costs[answer, truth]
    board.active[e] = False
    return outcomes.error_cost[e]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _act(actions, rows, first_row, reward, ended, outcomes, board):
    """One action in each active episode, or its beginning; returns how many ended."""
    state, t = board.state, board.tables
    n_ended, next_row = 0, first_row
    for e in range(actions.size):
        a = actions[e]
        ended[e] = False
        if not board.active[e]:
            reward[e] = 0.0
            if rows.size > 0:
                _begin_one(board, e, rows[next_row])
                next_row += 1
        elif a < t.costs.size and state.legal[e, np.uintp(a)] != 0:
            j = np.uintp(a)  # unsigned, as no access below counts from the end
            reward[e] = 0.0 - board.costs.lam * mdp.acquire(t, state, e, j)
            reveal(t, j, board.data.X, np.uintp(board.index[e]), e, board.observation)
        else:
            reward[e] = 0.0 - _end(board, e, a, outcomes)
            ended[e] = True
            n_ended += 1
    return n_ended


@njit(cache=True, nogil=True, _nrt=False)
def _step(actions, rows, first_row, strict, reward, ended, outcomes, board):
    """One step of every episode, see ``Episodes.step``; returns -1 - e where action e cannot be taken."""
    legal, t = board.state.legal, board.tables
    n_actions = legal.shape[1]
    beyond = False
    for e in range(actions.size):
        beyond |= (actions[e] < 0) | (actions[e] >= n_actions)
    if beyond or strict:
        for e in range(actions.size):
            a = actions[e]
            if board.active[e] and (a < 0 or a >= n_actions or (strict and legal[e, a] == 0)):
                return -1 - e
    if t.independent and t.member.size == t.costs.size:  # the same, but the compiler drops what cannot happen here
        return _act(actions, rows, first_row, reward, ended, outcomes, board)
    return _act(actions, rows, first_row, reward, ended, outcomes, board)


NO_ROWS = np.zeros(0, np.int64)


class Episodes:
    """``size`` episodes side by side, on rows of a data set under rules.

    Everything is an array with the episodes first, changed in place by ``begin`` and ``step``: copy what you keep.

    Attributes
    ----------
    state : State, what is legal, what was acquired, how many and for how much
    observation : float32 (size, 2 n_features)
    index : int64 (size,), the rows played
    active : bool (size,), whether an episode is under way
    """

    def __init__(self, dataset: Dataset, rules: Rules, size: int) -> None:
        rules.check(dataset)
        self.dataset, self.rules, self.size = dataset, rules, size
        self.state = State.blank(size, rules.n_acquisitions, rules.n_actions)
        self.observation = np.zeros((size, 2 * dataset.n_features), np.float32)
        self.index = np.zeros(size, np.int64)
        self.active = np.zeros(size, bool)
        self._bind()

    def _bind(self) -> None:
        """Make what the compiled code is given, once."""
        dataset, rules = self.dataset, self.rules
        first = State.blank(1, rules.n_acquisitions, rules.n_actions)
        mdp.start(rules.tables, first, 0, np.zeros((1, dataset.n_features), np.float32), 0)
        self._board = Board(
            self.state,
            self.index,
            self.active,
            self.observation,
            first.legal[0],
            rules.tables,
            rules.reward_costs(),
            Data(dataset.X, dataset.y, dataset.incomplete),
        )
        # Compiled entry points: Numba would look at the type of every argument at every call, which takes longer than
        # to step 64 episodes.
        whole, outcomes = np.zeros(0, np.int64), EpisodeOutcomes.blank(0)
        example = (whole, whole, 0, False, np.zeros(0), np.zeros(0, bool), outcomes, self._board)
        self._compiled_step = _step.compile(tuple(typeof(value) for value in example))
        self._compiled_begin = _begin.compile((typeof(whole), typeof(whole), typeof(self._board)))

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_board", "_compiled_step", "_compiled_begin")
        return {key: value for key, value in vars(self).items() if key not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind()  # to the copies

    def begin(self, which: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Start the episodes ``which`` on the given rows of the data set."""
        self._compiled_begin(which, rows, self._board)

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
        """Act in the active episodes; write ``reward``, ``ended`` and ``outcomes``; return how many ended.

        Where ``rows`` are given, the episodes that were not active begin on them, in order from ``first_row`` on,
        with reward 0. An illegal acquisition forfeits the episode, or with ``strict`` raises ValueError before
        anything is done, as an action out of range always does.

        Arrays must have these types and be contiguous: that is not checked.
        """
        n_ended = self._compiled_step(actions, rows, first_row, strict, reward, ended, outcomes, self._board)
        if n_ended < 0:
            raise ValueError(self.explain_illegal(int(actions[-1 - n_ended]), -1 - n_ended))
        return n_ended

    def acquired(self) -> NDArray[np.bool_]:
        """z, bool (size, n_features)."""
        return self.observation[:, : self.dataset.n_features] > 0.5

    def explain_illegal(self, action: int, episode: int) -> str:
        """Why an action cannot be taken, in one sentence."""
        rules = self.rules
        if not 0 <= action < rules.n_actions:
            return (
                f"action must be 0 to {rules.n_actions - 1} ({rules.n_acquisitions} acquisitions, then "
                f"{rules.n_classes} answers), got {action}"
            )
        known = self.acquired()[episode, list(rules.groups[action])].any()
        if known or self.state.status[episode, action] == mdp.TAKEN:
            why = "is already acquired"
        elif self.state.status[episode, action] == mdp.MISSING:
            why = "has no value for this datum"
        else:
            why = "is not allowed now (budget, prerequisites or relation)"
        return f"action {action} ({rules.names[action]}) {why}; choose one that info['action_mask'] allows"
