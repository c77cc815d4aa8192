"""What every agent is: a rule that tells, for what is known of a datum, which legal action to take."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.rules import Rules, State
from fsgym.rules import kernels as mdp


class Policy(Protocol):
    """Batches in, actions out."""

    def actions(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Actions, int64 (n,), from z (n, n_features), the values where known, and what is legal (n, n_actions)."""
        ...


def legal_from(acquired: NDArray[np.bool_], rules: Rules) -> NDArray[np.bool_]:
    """What is legal as far as z tells, bool (n, n_actions), from ``acquired`` bool (n, n_features).

    What z does not tell: which values are missing, and what was spent where prices depend on the order; the
    greedily cheapest order is taken for it.
    """
    return legal_and_prices(rules.acquisitions_of(acquired), rules)[0]


def legal_and_prices(taken: NDArray[np.bool_], rules: Rules) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """What is legal after the acquisitions ``taken`` (n, J), bool (n, n_actions), and their prices.

    Prices are float64 (n, J), in the unit of ``costs``. As for ``legal_from``, nothing is missing, and ``taken`` was
    acquired in the greedily cheapest order.
    """
    state, prices = State.blank(len(taken), rules.n_acquisitions, rules.n_actions), np.zeros(taken.shape)
    _place_and_price(rules.tables, state, taken, rules.price_sets(taken)[0], prices)
    return state.legal.astype(bool), prices


@njit(cache=True, nogil=True, _nrt=False)
def _place_and_price(t, state, taken, spent, prices):
    for e in range(len(taken)):
        mdp.place(t, state, e, taken[e], spent[e])
        for j in range(t.costs.size):
            prices[e, j] = mdp.price(t, state, e, j)
