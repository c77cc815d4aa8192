"""A batch of episodes, stepped by compiled code; both environments and the evaluation are built on it."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from llvmlite import ir
from numba import njit, typeof, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym.rules import Costs, Rules, State, Tables
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only
from fsgym.support.kernels import INNER

# Observations: phi(x, z) = [z, mu(x, z)] (Dulac-Arnold et al., 2012, section 3.3).
#
# The first n numbers are z, 1 where a value is known; the next n are mu, the value where it is known, else 0. Where
# prices are by case, the J prices of the case follow, in the unit of ``costs``.


@njit(cache=True, nogil=True, forceinline=True, _nrt=False, **INNER)
def _reveal_feature(X, row, i, e, observation):
    # i is unsigned, which spares a check for a negative index at each of the three accesses
    value = X[row, i]
    if not np.isnan(value):
        observation[e, i] = 1.0
        observation[e, np.uintp(X.shape[1]) + i] = value


@njit(cache=True, nogil=True, forceinline=True, _nrt=False, **INNER)
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


# What the environments return of all episodes at each step: observations, (size, n_observed); the legal actions,
# (size, n_actions); and the prices spent, (size,). A plain tuple, since one is made at each step.
EpisodeView: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.float64]]


class EpisodeArrays(NamedTuple):
    """All arrays and tables that a step of ``Episodes`` reads or writes."""

    state: State
    index: NDArray[np.int64]
    active: NDArray[np.bool_]
    observation: NDArray[np.float32]
    others: NDArray[np.int64]  # (size,) buffer: the episodes that do not acquire in a step
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


COPIED_BYTES = 2**13  # of observations that are copied at once, while the first cache of the processor still has them
PREFETCHED = np.uintp(8)  # the number of episodes whose items are on their way to this cache; by hand


@intrinsic
def _prefetch(typingctx, array, row, column):
    """Fetch ``array[row, column]`` into the first cache, to be written. Without effect where there is no such item."""

    def code(context, builder, signature, arguments):
        items = context.make_array(array)(context, builder, arguments[0])
        item = cgutils.get_item_pointer(context, builder, array, items, arguments[1:])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [item.type, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [item.type], kind)
        to_write, all_caches, data = number(1), number(3), number(1)
        builder.call(fetch, [item, to_write, all_caches, data])
        return context.get_dummy_value()

    return types.none(array, types.uintp, types.uintp), code


@intrinsic
def _copy_rows(typingctx, source, target, first, last):
    """Copy the rows ``first`` to ``last`` of a C-contiguous array into one of the same form.

    By ``memcpy``: a compiled loop takes longer.
    """

    def code(context, builder, signature, arguments):
        first, last = arguments[2:]
        rows = [context.make_array(kind)(context, builder, array) for kind, array in zip(signature.args, arguments[:2])]
        row_bytes = cgutils.unpack_tuple(builder, rows[0].strides)[0]
        start = builder.mul(first, row_bytes)
        there, here = (cgutils.pointer_add(builder, array.data, start) for array in rows)
        cgutils.raw_memcpy(builder, here, there, builder.sub(last, first), row_bytes)
        return context.get_dummy_value()

    return types.none(source, target, types.intp, types.intp), code


# Compiled without reference counting (_nrt=False): nothing is allocated inside, and counting references took ten
# times as long as the step itself.
@njit(cache=True, nogil=True, forceinline=True, _nrt=False, **INNER)
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
    state.n_counted[e] = 0
    state.spent[e] = 0.0
    for j in range(t.costs.size):
        state.status[e, j] = mdp.OPEN
    if not t.independent:
        for j in range(t.costs.size):
            state.touching[e, j] = 0
    for a in range(arrays.first_legal.size):
        state.legal[e, a] = arrays.first_legal[a]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def _copy_view(arrays, copies, first, last):
    """Copy what is returned of the episodes ``first`` to ``last``, where copies are wanted."""
    observation, legal, spent = copies
    if spent.size > 0:
        _copy_rows(arrays.observation, observation, first, last)
        _copy_rows(arrays.state.legal, legal, first, last)
        _copy_rows(arrays.state.spent, spent, first, last)


@njit(cache=True, nogil=True, _nrt=False)
def _begin_episodes(which, rows, copies, arrays):
    for k in range(which.size):
        _begin_episode(arrays, which[k], rows[k])
        _copy_view(arrays, copies, which[k], which[k] + 1)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False, **INNER)
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


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def _prefetch_items(arrays, actions, e):
    """Prefetch what the action of episode e writes, if it acquires the feature of its number."""
    X, a = arrays.data.X, np.uintp(actions[e])
    _prefetch(arrays.observation, e, a)
    _prefetch(arrays.observation, e, np.uintp(X.shape[1]) + a)
    _prefetch(arrays.state.legal, e, a)
    _prefetch(X, arrays.index[e], a)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def _apply_actions(actions, rows, first_row, reward, ended, outcomes, copies, arrays):
    """Act in each active episode and start the others, if there are rows for them; return how many episodes ended.

    Of some episodes at a time, first those that acquire, then the others: with both in one loop a step takes longer,
    since there are not enough registers.
    """
    state, t = arrays.state, arrays.tables
    n_ended, next_row = 0, first_row
    size, first = np.uintp(actions.size), np.uintp(0)  # unsigned: spares the check for negative indices at each access
    n_copied = np.uintp(max(COPIED_BYTES // (4 * arrays.observation.shape[1]), 1))
    while first < size:
        last, n_others = min(first + n_copied, size), 0
        for e in range(first, last):
            _prefetch_items(arrays, actions, min(e + PREFETCHED, size - np.uintp(1)))
            j = np.uintp(actions[e])
            ended[e] = False
            if arrays.active[e] and j < np.uintp(t.costs.size) and state.legal[e, j] != 0:
                reward[e] = 0.0 - arrays.costs.lam * mdp.acquire(t, state, e, j)
                reveal(t, j, arrays.data.X, np.uintp(arrays.index[e]), e, arrays.observation)
            else:
                arrays.others[n_others] = e
                n_others += 1
        for k in range(n_others):
            e = arrays.others[k]
            if arrays.active[e]:
                reward[e] = 0.0 - _end_episode(arrays, e, actions[e], outcomes)
                ended[e] = True
                n_ended += 1
            else:
                reward[e] = 0.0
                if rows.size > 0:
                    _begin_episode(arrays, e, rows[next_row])
                    next_row += 1
        _copy_view(arrays, copies, first, last)
        first = last
    return n_ended


@njit(cache=True, nogil=True, _nrt=False)
def _step_episodes(actions, rows, first_row, strict, reward, ended, outcomes, copies, arrays):
    """One step of every episode, see ``Episodes.step``; returns -1 - e if the action of episode e is invalid."""
    legal, t = arrays.state.legal, arrays.tables
    n_actions = legal.shape[1]
    largest = np.uint64(0)  # where an action is negative, above all actions
    for e in range(actions.size):
        largest = max(largest, np.uint64(actions[e]))
    if largest >= np.uint64(n_actions) or strict:
        for e in range(actions.size):
            a = actions[e]
            if arrays.active[e] and (a < 0 or a >= n_actions or (strict and legal[e, a] == 0)):
                return -1 - e
    if (
        t.independent and t.member.size == t.costs.size
    ):  # the same call, but compiled without the branches that cannot occur here
        return _apply_actions(actions, rows, first_row, reward, ended, outcomes, copies, arrays)
    return _apply_actions(actions, rows, first_row, reward, ended, outcomes, copies, arrays)


NO_ROWS = np.zeros(0, np.int64)
NO_COPIES = np.zeros((0, 0), np.float32), np.zeros((0, 0), np.int8), np.zeros(0)


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
    view : EpisodeView, ``observation`` and the legal actions and prices of ``state``, without the right to write
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
        self.view: EpisodeView = read_only(self.observation), read_only(self.state.legal), read_only(self.state.spent)
        first = rules.blank_state()
        mdp.start(rules.tables, first, mdp.FIRST, read_only(np.zeros((1, dataset.n_features)), np.float32), 0)
        self._arrays = EpisodeArrays(
            self.state,
            self.index,
            self.active,
            self.observation,
            np.zeros(self.size, np.int64),
            first.legal[0],
            rules.tables,
            rules.reward_costs(),
            DataArrays(dataset.X, dataset.y, dataset.incomplete, rules.case_costs_or_none(dataset.case_costs)),
        )
        # Compiled entry points: an ordinary call of a Numba function determines the type of each argument, which takes
        # longer than a step of 64 episodes.
        integers, outcomes = np.zeros(0, np.int64), EpisodeOutcomes.blank(0)
        example = (integers, integers, 0, False, np.zeros(0), np.zeros(0, bool), outcomes, NO_COPIES, self._arrays)
        kinds = tuple(typeof(value) for value in example)
        self._compiled_step = _step_episodes.compile(kinds)
        self._compiled_begin = _begin_episodes.compile((kinds[0], kinds[1], *kinds[-2:]))

    def __getstate__(self) -> dict[str, Any]:
        derived = ("view", "_arrays", "_compiled_step", "_compiled_begin")
        return {key: value for key, value in vars(self).items() if key not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind()  # to the unpickled arrays

    def begin(self, which: NDArray[np.int64], rows: NDArray[np.int64], copies: EpisodeView = NO_COPIES) -> None:
        """Start the episodes ``which`` (int64) on ``rows`` (int64, of the same length) of the data set.

        Into ``copies`` it copies what ``view`` has of these episodes.
        """
        self._compiled_begin(which, rows, copies, self._arrays)

    def step(
        self,
        actions: NDArray[np.int64],
        reward: NDArray[np.float64],
        ended: NDArray[np.bool_],
        outcomes: EpisodeOutcomes,
        rows: NDArray[np.int64] = NO_ROWS,
        first_row: int = 0,
        strict: bool = False,
        copies: EpisodeView = NO_COPIES,
    ) -> int:
        """Act in the active episodes; write ``reward``, ``ended`` and ``outcomes``; return how many episodes ended.

        If ``rows`` are given, inactive episodes start on them, taken in order from index ``first_row``, with reward 0.
        An illegal acquisition forfeits its episode. With ``strict`` it raises ValueError instead, as an action out of
        range always does; no episode is changed then. Into ``copies`` it copies what ``view`` has after the step.

        Arrays must have the annotated types and be contiguous; this is not checked.
        """
        n_ended = self._compiled_step(actions, rows, first_row, strict, reward, ended, outcomes, copies, self._arrays)
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
