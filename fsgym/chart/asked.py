"""What a policy asks in some cases, in the order in which a person would be asked: an unknown answer is found out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsgym.session.asked_model import AskedModel
from fsgym.session.walk import started_state

SEED_OF_NAMES = 20  # of the random names of acquisitions


@dataclass(frozen=True)
class AskedCases:
    """The questions of n cases, in the order of the user; L is the largest number of questions."""

    asked: NDArray[np.int64]  # (n, L), the acquisition asked for at each step, then -1
    brought: NDArray[np.bool_]  # (n, L), whether it brought a value
    answers: NDArray[np.int64]  # (n,), class codes
    # (n, L + 1), a name of what is known, and what is known to be unavailable, before each step: equal states have
    # equal names
    state: NDArray[np.uint64]

    @property
    def n_steps(self) -> int:
        return self.asked.shape[1]

    def action(self, step: int, n_acquisitions: int) -> NDArray[np.int64]:
        """What each case does at a step: an acquisition, or ``n_acquisitions`` plus the class code; -1 after it."""
        J = n_acquisitions
        asked = self.asked[:, step] if step < self.n_steps else np.full(len(self.answers), -1)
        before = self.asked[:, step - 1] if step else np.zeros(len(self.answers), np.int64)
        return np.where(asked >= 0, asked, np.where(before >= 0, J + self.answers, -1))


def follow_policy(model: AskedModel, X: NDArray[np.float32]) -> AskedCases:
    """Ask about each row of features ``X`` (n, n_features), in the order of the user, until the policy answers.

    That a value is missing (NaN) shows when it is asked for; it costs nothing.
    """
    order = model.walk_order()
    rules, J = order.rules, order.rules.n_acquisitions
    rows = X[:, order.features].astype(np.float64)
    walk = model.walk(started_state(rules, np.ones(rows.shape, bool)))
    actions = walk.begin()
    names = names_of_states(J)
    state = [np.zeros(len(X), np.uint64)]
    asked: list[NDArray[np.int64]] = []
    brought: list[NDArray[np.bool_]] = []
    while (actions < J).any():
        now, has_value = actions.copy(), np.zeros(len(X), bool)
        for j in np.unique(actions[actions < J]).tolist():
            index = np.flatnonzero(now == j)
            numbers = rows[np.ix_(index, list(rules.groups[j]))]
            has_value[index] = ~np.isnan(numbers).all(axis=1)
            actions[index] = walk.go_on(index, j, numbers, has_value[index])
        user = np.where(now < J, order.acquisitions[np.minimum(now, J - 1)], -1)
        asked.append(user)
        brought.append(has_value)
        state.append(state[-1] ^ np.where(user >= 0, names[has_value.astype(np.int64), user], np.uint64(0)))
    n = len(X)
    return AskedCases(
        np.array(asked, np.int64).reshape(len(asked), n).T,
        np.array(brought, bool).reshape(len(brought), n).T,
        actions - J,
        np.array(state).T,
    )


def names_of_states(n_acquisitions: int) -> NDArray[np.uint64]:
    """Random names of "unavailable" and "known" for each acquisition, uint64 (2, J); a state is their exclusive or."""
    rng = np.random.default_rng(SEED_OF_NAMES)
    return rng.integers(0, 2**64, size=(2, n_acquisitions), dtype=np.uint64)
