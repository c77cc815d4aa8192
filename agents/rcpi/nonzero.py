"""Step 2 of RCPI for sparse tables: rollouts of the acquisitions that bring another value than 0."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.rcpi.kernels import random_stream
from agents.rcpi.rollouts import (
    Mixture,
    RolloutBuffers,
    RolloutProblem,
    follow_mixture,
    restore_state,
    rollout_returns,
)
from agents.rcpi.rows import only_zeros
from agents.rcpi.sampling import States
from fsgym.data.dataset import Dataset
from fsgym.rules import Rules
from fsgym.rules import kernels as mdp

FEW_ZEROS = 0.25  # share of the acquisitions with only zeros below which a warning says that they are few. By hand


def check_nonzero(dataset: Dataset, rules: Rules) -> None:
    """ValueError for prices that a 0 changes, too; a warning where few acquisitions bring only zeros."""
    if rules.related is not None:
        raise ValueError("nonzero must be False under relational prices, which an acquired 0 changes too")
    share = only_zeros(dataset, rules).mean()
    if share < FEW_ZEROS:
        warnings.warn(
            f"nonzero=True is for tables of mostly zeros, but {share:.1%} of the acquisitions bring only zeros; "
            "use values before a scaling that moves 0, or leave it out",
            stacklevel=3,
        )


def nonzero_returns(
    states: States,
    dataset: Dataset,
    values: NDArray[np.float32],
    mixture: Mixture,
    rules: Rules,
    **options: Any,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """As ``rollout_returns``, with one rollout in each state for all legal acquisitions that bring only zeros.

    Dulac-Arnold et al. (2012, section 5.2): on sparse data "acquisition of features can be restricted (during learning)
    to the subset of non-null values". Only these are tried by a rollout each. Without the others in its regression, an
    acquisition that is nearly always 0 would seem worth what it is worth where it is not, and a policy would acquire
    many zeros. We assume that a zero changes nothing but what was paid: the return is that of following the mixture
    from the state, less the price of the acquisition, unless the mixture itself goes on to make it.

    Parameters and results are those of ``rollout_returns``; the rules must not have relational prices.
    """
    zeros = only_zeros(dataset, rules)

    def write(batch: NDArray[np.int64], problem: RolloutProblem, buffers: RolloutBuffers, *results: NDArray) -> None:
        _write_nonzero_returns(batch, problem, zeros, buffers, *results)

    return rollout_returns(states, dataset, values, mixture, rules, write=write, **options)


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _write_nonzero_returns(batch, x, zeros, b, returns, legal):
    """Write the mean returns of the legal acquisitions in the sampled states ``batch``."""
    t, state = x.tables, b.state
    J = t.costs.size
    for s in batch:
        restore_state(x, b, s)
        row, last_zero = x.states.rows[s], -1
        for j in range(J):
            if state.legal[0, j] == 0:
                continue
            legal[s, j] = True
            if zeros[row, j]:
                last_zero = j
                continue
            total = 0.0
            for rollout in range(x.n_rollouts):
                random = random_stream(x.seed, (s * J + j) * x.n_rollouts + rollout)
                total -= follow_mixture(x, b, s, j, random)[0]
            returns[s, j] = total / x.n_rollouts
        if last_zero < 0:
            continue
        for rollout in range(x.n_rollouts):
            random = random_stream(x.seed, (s * J + last_zero) * x.n_rollouts + rollout)
            loss, n_chain = follow_mixture(x, b, s, mdp.NONE, random)
            for j in range(J):
                if legal[s, j] and zeros[row, j]:
                    returns[s, j] -= (loss + x.costs.lam * mdp.price(t, state, mdp.FIRST, j)) / x.n_rollouts
            for k in range(n_chain):
                j = b.chain[k]
                if legal[s, j] and zeros[row, j]:
                    returns[s, j] += x.costs.lam * mdp.price(t, state, mdp.FIRST, j) / x.n_rollouts
