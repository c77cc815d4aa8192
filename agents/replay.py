"""Actions in any state: a deterministic policy is replayed from the empty state, and takes known values for free."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.policy import ChooseActions, acquisition_of_features
from fsgym.rules import NO_BUDGET, Rules
from fsgym.rules import kernels as mdp


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
    J = rules.n_acquisitions
    known = known_acquisitions(acquired, legal, rules)
    candidates = known | legal[:, :J]
    acquisition = acquisition_of_features(rules)
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
    return actions


def known_acquisitions(acquired: NDArray[np.bool_], legal: NDArray[np.bool_], rules: Rules) -> NDArray[np.bool_]:
    """The acquisitions that need not be paid any more, bool (n, n_acquisitions).

    These are the acquisitions whose features are all acquired, and those of which some are acquired and no more can be.
    The rest of a group that is known in part comes with the acquisition of the whole group.
    """
    some = rules.acquisitions_of(acquired)
    if rules.n_acquisitions == rules.n_features:
        return some
    complete = np.stack([acquired[:, list(group)].all(axis=1) for group in rules.groups], axis=1)
    return complete | (some & ~legal[:, : rules.n_acquisitions])


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
        mdp.set_acquired(t, state, 0, taken[row], spent[row])
        for j in range(t.costs.size):
            prices[row, j] = mdp.price(t, state, 0, j)
            if candidates[row, j] and not mdp.is_legal(t, state, 0, j):
                before, known[row, j] = known[row, j], False
                mdp.set_acquired(t, state, 1, known[row], spent[row])
                waiting[row, j] = mdp.is_legal(t, state, 1, j)
                known[row, j] = before
