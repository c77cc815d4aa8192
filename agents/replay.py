"""Actions in any state: a deterministic policy is replayed from the empty state, and takes known values for free."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.policy import ChooseActions, Policy, complete_advice, known_acquisitions
from fsgym.rules import NO_BUDGET, Rules
from fsgym.rules import kernels as mdp
from fsgym.session.step import Advice
from fsgym.text.messages import brief

NOTHING_COUNTED = np.int64(0)  # for a literal 0, Numba would compile functions anew


class Replayed(NamedTuple):
    """The end of the replay of a policy that takes the highest score, in n states."""

    actions: NDArray[np.int64]  # (n,)
    taken: NDArray[np.bool_]  # (n, n_acquisitions), the known acquisitions that the policy has taken where it ends
    scores: NDArray[np.float64] | None = None  # (n, n_actions), of ``choose`` there, where the replay has them


def replay(
    choose: ChooseActions,
    acquired: NDArray[np.bool_],
    values: NDArray[np.float32],
    legal: NDArray[np.bool_],
    rules: Rules,
    *,
    continue_after_stop: bool = False,
) -> NDArray[np.int64]:
    """The action of a deterministic policy in each of n states, int64 (n,), whatever was known in advance.

    Each row starts in the empty state. While the next acquisition of the policy is already known, the row takes it
    without paying; the first other action is the action in the given state. A row therefore never pays more than
    without the known values, and is not answered earlier because of them. In a state that the policy itself has
    reached, this is the action that the policy chooses there.

    Parameters
    ----------
    choose : callable (acquired, values, legal) -> int64 actions
        The action in states that the policy itself has reached; called once per round with the unfinished rows.
    acquired, values, legal, continue_after_stop
        As for ``Policy.actions``.
    rules : Rules
        The rules that the policy was trained with.

    Notes
    -----
    In the states of a replay, known acquisitions are legal, and others are as ``legal`` says. Budgets, prerequisites
    and relations do not apply to known acquisitions, with one exception that keeps to the order of the policy: an
    acquisition that becomes legal through other known ones is not legal before they are taken.
    """
    return _replayed(choose, acquired, values, legal, rules, continue_after_stop).actions


def _replayed(
    choose: ChooseActions,
    acquired: NDArray[np.bool_],
    values: NDArray[np.float32],
    legal: NDArray[np.bool_],
    rules: Rules,
    continue_after_stop: bool,
) -> Replayed:
    """As ``replay``, with the acquisitions after which each action is chosen."""
    J = rules.n_acquisitions
    known = known_acquisitions(acquired, legal, rules)
    candidates = known | legal[:, :J]
    acquisition = rules.acquisition_of_features
    taken, spent = np.zeros_like(known), np.zeros(len(known))
    actions, rows = np.zeros(len(known), np.int64), np.arange(len(known))
    for _ in range(J + 1):
        here = taken[rows]
        waiting, prices = _waiting(candidates[rows], known[rows], here, spent[rows], rules)
        allowed = legal[rows]
        allowed[:, :J] = candidates[rows] & ~here & ~waiting
        if continue_after_stop:
            stuck = ~allowed[:, :J].any(axis=1)
            allowed[stuck, :J] = candidates[rows[stuck]] & ~here[stuck]
            allowed[:, J:] &= ~allowed[:, :J].any(axis=1, keepdims=True)
        actions[rows] = chosen = choose(acquired[rows] & here[:, acquisition], values[rows], allowed)
        free = chosen < J
        free[free] = known[rows[free], chosen[free]]
        rows, chosen = rows[free], chosen[free]
        if not len(rows):
            break
        taken[rows, chosen] = True
        spent[rows] += prices[free, chosen]
    return Replayed(actions, taken)


class ScoredPolicy(Policy):
    """A policy that takes the legal action of the highest score. A subclass has ``scores``.

    Attributes
    ----------
    empty_answer : int
        The answer where nothing is acquired and no acquisition is legal; -1 for that of the highest score.
    """

    empty_answer: int

    @abstractmethod
    def scores(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores of all actions, float32 (n, n_actions); parameters as for ``advise``."""

    def greedy_actions(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The legal action of the highest score in each state, int64 (n,); ties go to the lowest action."""
        best = np.where(legal, np.nan_to_num(self.scores(acquired, values)), -np.inf).argmax(axis=1)
        return with_empty_answer(best, acquired, legal, self.rules, self.empty_answer)

    def replayed(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        continue_after_stop: bool,
    ) -> Replayed:
        """The end of the replay in each state; parameters as for ``replay``."""
        return _replayed(self.greedy_actions, acquired, values, legal, self.rules, continue_after_stop)

    def scores_after(
        self, found: Replayed, acquired: NDArray[np.bool_], values: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Scores of all actions where the replay of n states ends, float64 (n, n_actions)."""
        seen = acquired & found.taken[:, self.rules.acquisition_of_features]
        return self.scores(seen, values).astype(np.float64)

    def actions(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        *,
        continue_after_stop: bool = False,
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """As ``Policy.actions``; who continues takes all that is known before it answers."""
        return self.replayed(acquired, values, legal, continue_after_stop).actions

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Advice:
        """The advice in n states by ``replay`` of the policy, ranked by scores; parameters as for ``Policy.advise``.

        The scores only rank: there are no estimates of costs.
        """
        return self._advice_and_scores(acquired, values, legal)[0]

    def _advice_and_scores(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> tuple[Advice, NDArray[np.float64]]:
        found = self.replayed(acquired, values, legal, False)
        actions, scores = found.actions, self.scores_after(found, acquired, values)
        J, rules = self.rules.n_acquisitions, self.rules
        answers_only = legal & (np.arange(rules.n_actions) >= J)
        ranked = np.nan_to_num(scores)
        best = np.where(answers_only, ranked, -np.inf).argmax(axis=1)
        best = with_empty_answer(best, acquired, answers_only, rules, self.empty_answer)
        answers = np.where(actions >= J, actions, best) - J
        beyond, ends = actions.copy(), actions >= J
        if ends.any():
            beyond[ends] = self.replayed(acquired[ends], values[ends], legal[ends], True).actions
        advice = complete_advice(actions, beyond, answers, legal, ranked[:, :J], rules, None)
        return advice._replace(unused=acquired & ~found.taken[:, rules.acquisition_of_features]), scores


def with_empty_answer(
    actions: NDArray[np.int64],
    acquired: NDArray[np.bool_],
    legal: NDArray[np.bool_],
    rules: Rules,
    empty_answer: int,
) -> NDArray[np.int64]:
    """``actions``, but the given answer where nothing is acquired and no acquisition is legal; unchanged for -1."""
    if empty_answer < 0:
        return actions
    answer = rules.n_acquisitions + empty_answer
    nothing = ~legal[:, : rules.n_acquisitions].any(axis=1) & ~acquired.any(axis=1)
    return np.where(nothing & legal[:, answer], answer, actions)


def check_empty_answer(empty_answer: Any, rules: Rules) -> None:
    """ValueError unless ``empty_answer`` is a class or -1."""
    if type(empty_answer) is not int or not -1 <= empty_answer < rules.n_answers:
        raise ValueError(f"empty_answer must be -1 or one of {rules.n_answers} answers, got {brief(empty_answer)}")


def _waiting(
    candidates: NDArray[np.bool_],
    known: NDArray[np.bool_],
    taken: NDArray[np.bool_],
    spent: NDArray[np.float64],
    rules: Rules,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """The candidates that become legal only through other known acquisitions, and the prices; (n, n_acquisitions)."""
    waiting, prices = np.zeros(known.shape, bool), np.zeros(known.shape)
    if not rules.tables.independent:
        tables = rules.tables._replace(budget=NO_BUDGET)
        _mark_waiting(tables, rules.blank_state(2), candidates & ~taken, known, taken, spent, waiting, prices)
    return waiting, prices


@njit(cache=True, nogil=True, _nrt=False)
def _mark_waiting(t, state, candidates, known, taken, spent, waiting, prices):
    for row in range(len(known)):
        mdp.set_acquired(t, state, mdp.FIRST, taken[row], spent[row], NOTHING_COUNTED)
        for j in range(t.costs.size):
            prices[row, j] = mdp.price(t, state, mdp.FIRST, j)
            if candidates[row, j] and not mdp.is_legal(t, state, mdp.FIRST, j):
                before, known[row, j] = known[row, j], False
                mdp.set_acquired(t, state, mdp.SECOND, known[row], spent[row], NOTHING_COUNTED)
                waiting[row, j] = mdp.is_legal(t, state, mdp.SECOND, j)
                known[row, j] = before
