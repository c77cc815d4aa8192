"""A batch of episodes: the engine under both environments and under evaluation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym import rules as mdp
from fsgym.dataset import Dataset
from fsgym.observation import reveal
from fsgym.rules import Rules, Tables


# Compiled without reference counts (_nrt=False): nothing is allocated inside, and counting them took ten
# times as long as a step.
@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _begin_one(t, e, index, X, observation, legal, status, touching, n_taken, spent):
    for i in range(observation.shape[1]):
        observation[e, i] = 0.0
    n_taken[e] = 0
    spent[e] = 0.0
    mdp.start(t, X, index[e], e, legal, status, touching)


@njit(cache=True, nogil=True, _nrt=False)
def _begin(
    which, rows, active, X, index, observation, legal, status, touching, n_taken, spent,
    member, member_first, costs, unrelated, neighbour, neighbour_first, need, need_first,
    relational, all_related, empty_is_related, forbid, fixed, budget, budget_cost,
):  # fmt: skip
    t = Tables(
        member, member_first, costs, unrelated, neighbour, neighbour_first, need, need_first,
        relational, all_related, empty_is_related, forbid, fixed, budget, budget_cost,
    )  # fmt: skip
    for k in range(which.size):
        e = which[k]
        index[e] = rows[k]
        active[e] = True
        _begin_one(t, e, index, X, observation, legal, status, touching, n_taken, spent)


@njit(cache=True, nogil=True, _nrt=False)
def _step(
    actions, strict, rows, reward, ended, prediction, label, correct, n_acquired, acquisition_cost, error_cost,
    active, lam, error_costs, worst, X, y, index, observation, legal, status, touching, n_taken, spent,
    member, member_first, costs, unrelated, neighbour, neighbour_first, need, need_first,
    relational, all_related, empty_is_related, forbid, fixed, budget, budget_cost,
):  # fmt: skip
    """One step of every episode, see ``Episodes.step``; returns -1 - e where action e cannot be taken."""
    t = Tables(
        member, member_first, costs, unrelated, neighbour, neighbour_first, need, need_first,
        relational, all_related, empty_is_related, forbid, fixed, budget, budget_cost,
    )  # fmt: skip
    J = t.costs.size
    beyond = False
    for e in range(actions.size):
        beyond |= (actions[e] < 0) | (actions[e] >= legal.shape[1])
    if beyond or strict:
        for e in range(actions.size):
            a = actions[e]
            if active[e] and (a < 0 or a >= legal.shape[1] or (strict and legal[e, a] == 0)):
                return -1 - e
    n_ended, n_begun = 0, 0
    for e in range(actions.size):
        ended[e] = False
        if not active[e]:
            reward[e] = 0.0
            if rows.size > 0:
                index[e] = rows[n_begun]
                n_begun += 1
                _begin_one(t, e, index, X, observation, legal, status, touching, n_taken, spent)
                active[e] = True
            continue
        a = actions[e]
        if a < J and legal[e, a] != 0:
            paid = mdp.acquire(t, a, e, legal, status, touching, n_taken[e], spent[e])
            n_taken[e] += 1
            spent[e] += paid
            reveal(t, a, X, index[e], e, observation)
            reward[e] = -lam * paid
            continue
        truth = y[index[e]]
        answer = a - J if a >= J else worst[truth]  # an illegal acquisition forfeits
        reward[e] = -error_costs[answer, truth]
        ended[e] = True
        active[e] = False
        n_ended += 1
        prediction[e], label[e], correct[e] = answer, truth, answer == truth
        n_acquired[e], acquisition_cost[e], error_cost[e] = n_taken[e], lam * spent[e], error_costs[answer, truth]
    return n_ended


class Ends(NamedTuple):
    """What became of the episodes that ended; zero for the others."""

    prediction: NDArray[np.int64]
    label: NDArray[np.int64]
    correct: NDArray[np.bool_]
    n_acquired: NDArray[np.int64]
    acquisition_cost: NDArray[np.float64]
    error_cost: NDArray[np.float64]

    @classmethod
    def blank(cls, size: int) -> Ends:
        zeros = np.zeros
        return cls(
            zeros(size, np.int64), zeros(size, np.int64), zeros(size, bool), zeros(size, np.int64), zeros(size), zeros(size)
        )  # fmt: skip


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
        state = (self.index, self.observation, self.legal, self.status, self.touching, self.n_taken, self.spent)
        self._begin_arguments = (self.active, dataset.X, *state, *rules.tables)
        worst = rules.worst_answers(np.arange(rules.n_classes))
        self._step_arguments = (
            self.active, rules.lam, rules.error_costs, worst, dataset.X, dataset.y, *state, *rules.tables
        )  # fmt: skip

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
        n_ended = _step(actions, strict, rows, reward, ended, *ends, *self._step_arguments)
        if n_ended < 0:
            raise ValueError(self.complaint(int(actions[-1 - n_ended]), -1 - n_ended))
        return n_ended

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
