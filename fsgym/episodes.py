"""A batch of episodes: the engine under both environments and under evaluation."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
from numba import njit, typeof
from numpy.typing import NDArray

from fsgym.dataset import Dataset
from fsgym.observation import reveal
from fsgym.rules import Rules, Tables
from fsgym.rules import kernels as mdp


# Compiled without reference counts (_nrt=False): nothing is allocated inside, and counting them took ten
# times as long as a step.
@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _begin_one(t, e, first_legal, incomplete, X, index, observation, legal, status, touching, n_taken, spent):
    """Put episode e at its beginning; with nothing missing that is the same for every datum: ``first_legal``."""
    for i in range(observation.shape[1]):
        observation[e, i] = 0.0
    n_taken[e] = 0
    spent[e] = 0.0
    if incomplete[index[e]]:
        mdp.start(t, X, index[e], e, legal, status, touching)
        return
    for j in range(t.costs.size):
        status[e, j] = mdp.OPEN
    if t.relational:
        for j in range(t.costs.size):
            touching[e, j] = 0
    for a in range(first_legal.size):
        legal[e, a] = first_legal[a]


@njit(cache=True, nogil=True, _nrt=False)
def _begin(
    which,
    rows,
    active,
    first_legal,
    incomplete,
    X,
    index,
    observation,
    legal,
    status,
    touching,
    n_taken,
    spent,
    *tables,
):
    t = Tables(*tables)
    for k in range(which.size):
        e = which[k]
        index[e] = rows[k]
        active[e] = True
        _begin_one(t, e, first_legal, incomplete, X, index, observation, legal, status, touching, n_taken, spent)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _act(
    t, actions, rows, first_row, reward, ended, prediction, label, correct, n_acquired, acquisition_cost, error_cost,
    y, lam, error_costs, worst, active, first_legal, incomplete, X, index, observation,
    legal, status, touching, n_taken, spent,
):  # fmt: skip
    """One action in each active episode, or its beginning; returns how many ended."""
    n_acquisitions = t.costs.size
    n_ended, next_row = 0, first_row
    for e in range(actions.size):
        a = actions[e]
        ended[e] = False
        if not active[e]:
            reward[e] = 0.0
            if rows.size > 0:
                index[e] = rows[next_row]
                next_row += 1
                active[e] = True
                _begin_one(
                    t, e, first_legal, incomplete, X, index, observation, legal, status, touching, n_taken, spent
                )
        elif a < n_acquisitions and legal[e, np.uintp(a)] != 0:
            j = np.uintp(a)  # unsigned, as no access below counts from the end
            paid = mdp.acquire(t, j, e, legal, status, touching, n_taken[e], spent[e])
            n_taken[e] += 1
            spent[e] += paid
            reveal(t, j, X, np.uintp(index[e]), e, observation)
            reward[e] = 0.0 - lam * paid
        else:
            truth = y[index[e]]
            answer = a - n_acquisitions if a >= n_acquisitions else worst[truth]  # an illegal acquisition forfeits
            prediction[e], label[e], correct[e] = answer, truth, answer == truth
            n_acquired[e], acquisition_cost[e], error_cost[e] = n_taken[e], lam * spent[e], error_costs[answer, truth]
            reward[e] = 0.0 - error_cost[e]
            ended[e] = True
            active[e] = False
            n_ended += 1
    return n_ended


@njit(cache=True, nogil=True, _nrt=False)
def _step(
    actions, strict, rows, first_row, reward, ended,
    prediction, label, correct, n_acquired, acquisition_cost, error_cost, fixed,
):  # fmt: skip
    """One step of every episode, see ``Episodes.step``; returns -1 - e where action e cannot be taken."""
    active, legal = fixed[4], fixed[10]
    t = Tables(*fixed[15:])
    n_actions = legal.shape[1]
    beyond = False
    for e in range(actions.size):
        beyond |= (actions[e] < 0) | (actions[e] >= n_actions)
    if beyond or strict:
        for e in range(actions.size):
            a = actions[e]
            if active[e] and (a < 0 or a >= n_actions or (strict and legal[e, a] == 0)):
                return -1 - e
    rest = (
        actions,
        rows,
        first_row,
        reward,
        ended,
        prediction,
        label,
        correct,
        n_acquired,
        acquisition_cost,
        error_cost,
        *fixed[:15],
    )
    if t.fixed and t.member.size == t.costs.size:  # the same, but the compiler sees what cannot happen, and drops it
        return _act(
            Tables(
                t.member,
                t.member_first,
                t.costs,
                t.costs,
                t.neighbour,
                t.neighbour_first,
                t.need,
                t.need_first,
                relational=False,
                all_related=False,
                empty_is_related=False,
                forbid=False,
                fixed=True,
                budget=t.budget,
                budget_cost=t.budget_cost,
            ),
            *rest,
        )
    return _act(t, *rest)


class Ends(NamedTuple):
    """What became of the episodes that ended; the entries of the others are left alone."""

    prediction: NDArray[np.int64]
    label: NDArray[np.int64]
    correct: NDArray[np.bool_]
    n_acquired: NDArray[np.int64]
    acquisition_cost: NDArray[np.float64]
    error_cost: NDArray[np.float64]

    @classmethod
    def blank(cls, size: int) -> Ends:
        zeros, whole = np.zeros, np.int64
        return cls._make(
            (zeros(size, whole), zeros(size, whole), zeros(size, bool), zeros(size, whole), zeros(size), zeros(size))
        )


NO_ROWS = np.zeros(0, np.int64)


class Episodes:
    """``size`` episodes side by side, on rows of a data set under rules.

    Everything is an array with the episodes first, changed in place by ``begin`` and ``step``: copy what you keep.

    Attributes
    ----------
    observation : float32 (size, 2 n_features)
    legal : int8 (size, n_actions), the action mask
    status : int8 (size, n_acquisitions), OPEN, TAKEN or MISSING (TAKEN is not kept up under ``fixed`` rules)
    n_taken : int64 (size,), number of acquisitions made
    spent : float64 (size,), what they cost, in the unit of ``costs``
    index : int64 (size,), the rows played
    active : bool (size,), whether an episode is under way
    """

    def __init__(self, dataset: Dataset, rules: Rules, size: int) -> None:
        rules.check(dataset)
        self.dataset, self.rules, self.size = dataset, rules, size
        self.active = np.zeros(size, bool)
        self.index = np.zeros(size, np.int64)
        self.observation = np.zeros((size, 2 * dataset.n_features), np.float32)
        self.legal = np.zeros((size, rules.n_actions), np.int8)
        self.status = np.zeros((size, rules.n_acquisitions), np.int8)
        self.touching = np.zeros((size, rules.n_acquisitions), np.int32)
        self.n_taken = np.zeros(size, np.int64)
        self.spent = np.zeros(size)
        self._bind()

    def _bind(self) -> None:
        """Make what the compiled code is given, once."""
        dataset, rules = self.dataset, self.rules
        complete = np.zeros((1, dataset.n_features), np.float32)
        first_legal = np.zeros((1, rules.n_actions), np.int8)
        mdp.start(
            rules.tables,
            complete,
            0,
            0,
            first_legal,
            np.zeros((1, rules.n_acquisitions), np.int8),
            np.zeros((1, rules.n_acquisitions), np.int32),
        )
        worst = rules.worst_answers(np.arange(rules.n_classes))
        self._begin_arguments = (
            self.active,
            first_legal[0],
            dataset.incomplete,
            dataset.X,
            self.index,
            self.observation,
            self.legal,
            self.status,
            self.touching,
            self.n_taken,
            self.spent,
            *rules.tables,
        )
        self.step_arguments = (dataset.y, rules.lam, rules.error_costs, worst, *self._begin_arguments)
        whole, number, flag = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool)
        example = (whole, False, whole, 0, number, flag, *Ends.blank(0), self.step_arguments)
        self.machine_code = _step.compile(tuple(typeof(value) for value in example))

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_begin_arguments", "step_arguments", "machine_code")
        return {key: value for key, value in vars(self).items() if key not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._bind()  # to the copies

    def begin(self, which: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Start the episodes ``which`` on the given rows of the data set."""
        _begin(which, rows, *self._begin_arguments)

    def step(
        self,
        actions: NDArray[np.int64],
        reward: NDArray[np.float64],
        ended: NDArray[np.bool_],
        ends: Ends,
        rows: NDArray[np.int64] = NO_ROWS,
        strict: bool = False,
    ) -> int:
        """Act in the active episodes; write ``reward``, ``ended`` and ``ends``; return how many ended.

        Where ``rows`` are given, the episodes that were not active begin on them, in order, with reward 0. An
        illegal acquisition forfeits the episode, or with ``strict`` raises ValueError before anything is done, as
        an action out of range always does.
        """
        n_ended = _step(actions, strict, rows, 0, reward, ended, *ends, self.step_arguments)
        return n_ended if n_ended >= 0 else self.refuse(actions, n_ended)

    def quick_step(self, actions, strict, rows, first_row, reward, ended, ends) -> int:
        """As ``step``, for the environments: rows are taken from ``first_row`` on, and types are taken on trust.

        Numba looks at the type of every argument at every call, which takes longer than to step 64 episodes.
        """
        n_ended = self.machine_code(actions, strict, rows, first_row, reward, ended, *ends, self.step_arguments)
        return n_ended if n_ended >= 0 else self.refuse(actions, n_ended)

    def refuse(self, actions: NDArray[np.int64], n_ended: int) -> NoReturn:
        """ValueError for the action of which the compiled code told by a negative number."""
        raise ValueError(self.complaint(int(actions[-1 - n_ended]), -1 - n_ended))

    def acquired(self) -> NDArray[np.bool_]:
        """z, bool (size, n_features)."""
        return self.observation[:, : self.dataset.n_features] > 0.5

    def complaint(self, action: int, episode: int) -> str:
        """Why an action cannot be taken, in one sentence."""
        rules = self.rules
        if not 0 <= action < rules.n_actions:
            return (
                f"action must be 0 to {rules.n_actions - 1} ({rules.n_acquisitions} acquisitions, then "
                f"{rules.n_classes} answers), got {action}"
            )
        known = self.acquired()[episode, list(rules.groups[action])].any()
        if known or self.status[episode, action] == mdp.TAKEN:
            why = "is already acquired"
        elif self.status[episode, action] == mdp.MISSING:
            why = "has no value for this datum"
        else:
            why = "is not allowed now (budget, prerequisites or relation)"
        return f"action {action} ({rules.names[action]}) {why}; choose one that info['action_mask'] allows"
