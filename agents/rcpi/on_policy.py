"""Step 1 of RCPI along trajectories: training states that the current policy visits."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.parallel import TaskRunner
from agents.rcpi import rollouts
from agents.rcpi.kernels import consecutive_ranges, next_state, random_fraction, random_integer, random_stream
from agents.rcpi.sampling import EQUAL_SHARES, States, sample_row
from fsgym.data.dataset import Dataset
from fsgym.rules import Rules
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only


def sample_prefixes(
    states: States,
    dataset: Dataset,
    values: NDArray[np.float32],
    mixture: rollouts.Mixture,
    rules: Rules,
    *,
    seed: int,
    run: TaskRunner,
    shares: NDArray[np.float64] = EQUAL_SHARES,
) -> None:
    """Sample states on trajectories of the mixture: x as in ``sample_states``, z a prefix of the row's trajectory.

    The episode of row x is followed with the mixture from the start to its answer; the number of its acquisitions that
    make up z is uniform from none to all of them. Dulac-Arnold et al. (2012, section 3.4) sample "according to a
    previous policy".

    Parameters
    ----------
    states : States, blank ones, which are filled
    dataset : Dataset
    values : float32 (n_samples, n_features), scaled
    mixture : Mixture
    rules : Rules
    seed, shares : as for ``sample_states``
    run : TaskRunner
        The result does not depend on it.
    """
    values = read_only(values)
    problem = rollouts.RolloutProblem(
        rules.tables, rules.reward_costs(), dataset.X, values, dataset.y, states, mixture, 1, seed
    )

    def task(first: int, last: int) -> None:
        _write_prefixes(first, last, problem, rollouts.RolloutBuffers.blank(mixture, rules.n_acquisitions), shares)

    run(task, consecutive_ranges(len(states.rows), rollouts.STATES_PER_TASK))


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _write_prefixes(first, last, x, b, shares):
    """Write the sampled states ``first`` to ``last - 1`` into ``x.states``, which are empty before."""
    t, state, J = x.tables, b.state, x.tables.costs.size
    n_actions = J + x.costs.error_costs.shape[0]
    for s in range(first, last):
        random = next_state(random_stream(x.seed, s))
        x.states.rows[s] = sample_row(random, shares, len(x.X))
        rollouts.restore_state(x, b, s)
        mdp.copy_state(t, state, 0, 1)
        for p in range(b.n_added.size):
            b.n_added[p] = -1
        random = next_state(random)
        p, n_chain = rollouts.sample_policy(random_fraction(random), x.mixture.shares), np.int64(0)
        while True:
            if p < 0:
                random = next_state(random)
                action = rollouts.random_legal(random, state.legal, 1, n_actions)
            else:
                action = rollouts.choose_greedily(x, b, s, p, n_chain)
            if action >= J:
                break
            mdp.acquire(t, state, mdp.SECOND, action)
            b.chain[n_chain] = action
            n_chain += 1
            if not x.mixture.per_trajectory:
                random = next_state(random)
                p = rollouts.sample_policy(random_fraction(random), x.mixture.shares)
        random = next_state(random)
        size = random_integer(random, n_chain + 1)
        for k in range(size):
            x.states.order[s, k] = b.chain[k]
            x.states.taken[s, b.chain[k]] = True
        x.states.lengths[s] = size
