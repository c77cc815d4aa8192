"""Many cases at a time, each in a state of the policy: what each asks next, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.rules import Rules, State
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only
from fsgym.support.kernels import INNER


class WalkOrder(NamedTuple):
    """The order in which a walk counts features and acquisitions."""

    rules: Rules  # in this order
    features: NDArray[np.int64]  # (n_features,), the user's index of each feature
    acquisitions: NDArray[np.int64]  # (J,), the user's index of each acquisition

    @classmethod
    def of_user(cls, rules: Rules) -> WalkOrder:
        return cls(rules, np.arange(rules.n_features), np.arange(rules.n_acquisitions))


class Walk(Protocol):
    """The states of n cases, which each begin with nothing acquired."""

    def begin(self) -> NDArray[np.int64]:
        """The first action of each case, int64 (n,)."""
        ...

    def go_on(
        self, rows: NDArray[np.int64], j: int, numbers: NDArray[np.float64], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The next actions, int64 (n_rows,), after acquisition j.

        Parameters
        ----------
        rows : int64 (n_rows,)
        j : int
        numbers : float64 (n_rows, n_features of j), in the order of ``rules.groups[j]``
        brought : bool (n_rows,), False where it brought nothing: it then counts as missing, and costs nothing
        """
        ...


class ActingWalk:
    """The walk of any policy that acts in given states.

    Parameters
    ----------
    act : callable (acquired, values, legal) -> actions; with ``missing`` that of these cases comes last
    rules : Rules
    state : State of n cases, started
    missing : bool (n, n_features), optional, which values of each case are missing, where all of this is known
    """

    def __init__(
        self,
        act: Callable[..., NDArray[np.int64]],
        rules: Rules,
        state: State,
        missing: NDArray[np.bool_] | None = None,
    ) -> None:
        self.act, self.rules, self.state, self.missing = act, rules, state, missing
        self.values = np.full((len(state.spent), rules.n_features), np.nan)

    def begin(self) -> NDArray[np.int64]:
        return self._actions(np.arange(len(self.values)))

    def go_on(
        self, rows: NDArray[np.int64], j: int, numbers: NDArray[np.float64], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        for k, i in enumerate(self.rules.groups[j]):
            self.values[rows, i] = numbers[:, k]
        acquire_rows(self.rules.tables, self.state, j, rows, brought)
        return self._actions(rows)

    def _actions(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        values = self.values[rows]
        known = () if self.missing is None else (self.missing[rows],)
        return self.act(~np.isnan(values), values, self.state.legal[rows].astype(bool), *known)


def started_state(rules: Rules, available: NDArray[np.bool_]) -> State:
    """The states of n cases with nothing acquired; ``available`` is bool (n, n_features)."""
    state = rules.blank_state(len(available))
    _start_rows(rules.tables, state, read_only(np.where(available, 0.0, np.nan), np.float32))
    return state


@njit(cache=True, nogil=True, _nrt=False)
def _start_rows(t, state, X):
    for e in range(len(X)):
        mdp.start(t, state, e, X, e)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def acquire_or_miss(t, state, e, j, brought):
    """Make acquisition j in state e, or mark it as missing."""
    if brought:
        mdp.acquire(t, state, e, j)
    else:
        state.status[e, j] = mdp.MISSING
        state.legal[e, j] = 0


@njit(cache=True, nogil=True, _nrt=False)
def acquire_rows(t, state, j, rows, brought):
    """As ``acquire_or_miss`` for some states."""
    for k in range(len(rows)):
        acquire_or_miss(t, state, rows[k], j, brought[k])
