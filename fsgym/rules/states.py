"""Legal actions and prices after sets of acquisitions, for batches of states."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.rules import kernels as mdp
from fsgym.rules.rules import Rules
from fsgym.support.arrays import read_only

# Which acquisitions can ever be made for a row: their values and those of all their prerequisites are available.


def available(rules: Rules, X: NDArray[np.float32]) -> NDArray[np.bool_]:
    """The acquisitions that some sequence of acquisitions reaches for each row, bool (n_samples, J).

    An acquisition without an available value cannot be made, so neither can those that it is a prerequisite of. Budgets
    and relations are not taken into account.
    """
    reached = rules.acquisitions_of(~np.isnan(X))
    if rules.prerequisites is None:
        return reached
    for _ in range(rules.n_acquisitions):
        lacks = (~reached).astype(np.int64) @ rules.prerequisites.T.astype(np.int64) > 0
        if not (reached & lacks).any():
            break
        reached &= ~lacks
    return reached


def without_unavailable(rules: Rules, X: NDArray[np.float32]) -> NDArray[np.float32]:
    """``X`` (n_samples, n_features) with NaN for values that no sequence of acquisitions reveals; ``X`` if all are."""
    known = ~np.isnan(X)
    hidden = rules.acquisitions_of(known) & ~available(rules, X)
    if not hidden.any():
        return X
    shown = np.array(X)
    for j in np.flatnonzero(hidden.any(axis=0)):
        shown[np.ix_(hidden[:, j], np.array(rules.groups[j]))] = np.nan
    return shown


def legal_and_prices(
    rules: Rules,
    taken: NDArray[np.bool_],
    spent: NDArray[np.float64] | None = None,
    n_paid: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """The legal actions after some acquisitions, and the prices of the next one. No value counts as missing.

    Parameters
    ----------
    rules : Rules
    taken : bool (n, J), the acquisitions made or known
    spent : float64 (n,), the total price paid so far, in the unit of ``costs``
        By default that of all acquisitions in ``taken``, in the greedily cheapest order.
    n_paid : int64 (n,), how many of the acquisitions count for ``budget``; by default all

    Returns
    -------
    legal : bool (n, n_actions)
    prices : float64 (n, J), in the unit of ``costs``
    """
    state, prices = rules.blank_state(len(taken)), np.zeros(taken.shape)
    if spent is None:
        spent = rules.price_sets(taken)[0]
    if n_paid is None:
        n_paid = taken.sum(axis=1)
    tables = rules.tables._replace(budget=mdp.NO_BUDGET)
    _place_and_price(tables, rules.tables.budget, state, read_only(taken), read_only(spent), n_paid, prices)
    return state.legal.astype(bool), prices


def next_prices(rules: Rules, acquired: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The price of each acquisition where the features ``acquired`` (n, n_features) are, float64 (n, J)."""
    if rules.related is None:
        return np.broadcast_to(rules.costs, (len(acquired), rules.n_acquisitions))
    return legal_and_prices(rules, rules.acquisitions_of(acquired))[1]


@njit(cache=True, nogil=True, _nrt=False)
def _place_and_price(t, budget, state, taken, spent, n_paid, prices):
    for e in range(len(taken)):
        mdp.set_acquired(t, state, e, taken[e], spent[e])
        for j in range(t.costs.size):
            prices[e, j] = mdp.price(t, state, e, j)
            if n_paid[e] >= budget:
                state.legal[e, j] = 0
