"""Step 2 of RCPI: the return of each legal acquisition in each state, the mixture policy followed to the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.rcpi.kernels import add_acquisition, advance, below, best_legal, blocks, padded, stream, unit
from agents.rcpi.sampling import States
from fsgym.dataset import Dataset
from fsgym.rules import Costs, Rules, State, Tables
from fsgym.rules import kernels as mdp

BLOCK = 256  # states a task


class Mixture(NamedTuple):
    """The alpha-mixture of greedy policies, newest last, over the policy that is uniform over legal actions.

    Attributes
    ----------
    weights : float32 (n_policies, n_features, 2, width)
    intercepts : float32 (n_policies, width)
    shares : float64 (n_policies,), the probability of each; what is left goes to the uniform one
    per_trajectory : bool, whether the policy is drawn once a rollout, not at each decision
    """

    weights: NDArray[np.float32]
    intercepts: NDArray[np.float32]
    shares: NDArray[np.float64]
    per_trajectory: bool = False

    @classmethod
    def uniform(cls, rules: Rules, per_trajectory: bool = False) -> Mixture:
        """pi_0: uniform over the legal actions."""
        blank = padded(np.zeros((0, rules.n_features, 2, rules.n_actions)), 0)
        return cls(blank, padded(np.zeros((0, rules.n_actions)), 0), np.zeros(0), per_trajectory)

    def mixed(self, W: NDArray[np.float32], b: NDArray[np.float32], alpha: float) -> Mixture:
        """pi_t: the new greedy policy with probability 1 - alpha, else this mixture."""
        return self._replace(
            weights=np.concatenate([self.weights, W]),
            intercepts=np.concatenate([self.intercepts, b]),
            shares=np.append(self.shares * alpha, 1.0 - alpha),
        )


class Experiment(NamedTuple):
    """What all rollouts share."""

    tables: Tables
    costs: Costs
    X: NDArray[np.float32]  # (n_samples, n_features)
    values: NDArray[np.float32]  # (n_samples, n_features), scaled
    y: NDArray[np.int64]  # (n_samples,)
    states: States
    mixture: Mixture
    n_rollouts: int
    seed: int


class Buffers(NamedTuple):
    """Room for one rollout at a time, of P policies.

    Attributes
    ----------
    state : State, the sampled state in row 0, that of the rollout in row 1
    base, scores : float32 (P, width), scores of each policy in either
    has_base : bool (P,), whether ``base`` is written
    n_added : int64 (P,), how many acquisitions of ``chain`` are in ``scores``; -1 where they are not written
    chain : int64 (n_acquisitions,), acquisitions of the rollout
    allowed : float32 (width,)
    """

    state: State
    base: NDArray[np.float32]
    scores: NDArray[np.float32]
    has_base: NDArray[np.bool_]
    n_added: NDArray[np.int64]
    chain: NDArray[np.int64]
    allowed: NDArray[np.float32]

    @classmethod
    def blank(cls, mixture: Mixture, n_acquisitions: int) -> Buffers:
        n_policies, wide = mixture.intercepts.shape
        return cls(
            State.blank(2, n_acquisitions, wide),
            np.empty((n_policies, wide), np.float32),
            np.empty((n_policies, wide), np.float32),
            np.empty(n_policies, bool),
            np.empty(n_policies, np.int64),
            np.empty(n_acquisitions, np.int64),
            np.empty(wide, np.float32),
        )


def rollout_returns(
    states: States,
    dataset: Dataset,
    values: NDArray[np.float32],
    mixture: Mixture,
    rules: Rules,
    *,
    n_rollouts: int,
    seed: int,
    run: Callable[[Callable, list], list[Any]],
) -> tuple[NDArray[np.float32], NDArray[np.bool_], int]:
    """R(x, z, a) of every legal acquisition: its reward, and the mixture's return from there on.

    Parameters
    ----------
    states : States
    dataset : Dataset
    values : float32 (n_samples, n_features), scaled
    mixture : Mixture
    rules : Rules
    n_rollouts : int
        Rollouts averaged.
    seed : int
    run : callable (function, list of argument tuples) -> list of results
        Runs the tasks, in threads perhaps; the result does not depend on how.

    Returns
    -------
    returns : float32 (n_states, n_acquisitions), 0 where the acquisition is not legal
    legal : bool (n_states, n_acquisitions)
    n_updates : int, how many times a feature was added to a row of scores
    """
    n_states, J = len(states.rows), rules.n_acquisitions
    returns, legal = np.zeros((n_states, J), np.float32), np.zeros((n_states, J), bool)
    experiment = Experiment(
        rules.tables, rules.reward_costs(), dataset.X, values, dataset.y, states, mixture, n_rollouts, seed
    )

    def task(first: int, last: int) -> int:
        return _rollouts(first, last, experiment, Buffers.blank(mixture, J), returns, legal)

    return returns, legal, sum(run(task, blocks(n_states, BLOCK)))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _draw(u, shares):
    """Which policy of the mixture, or -1 for the uniform one; the newest is the likeliest and comes first."""
    total = 0.0
    for k in range(shares.size):
        total += shares[shares.size - 1 - k]
        if u < total:
            return shares.size - 1 - k
    return -1


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _uniform(random, legal, e, n_actions):
    """A uniformly random legal action of state e."""
    n = 0
    for a in range(n_actions):
        n += legal[e, a]
    k = below(random, n)
    for a in range(n_actions):
        k -= legal[e, a]
        if k < 0:
            return a
    return n_actions - 1


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _recall(x, b, s):
    """Bring row 0 of the buffers to sampled state s."""
    mdp.start(x.tables, b.state, 0, x.X, x.states.rows[s])
    for k in range(x.states.lengths[s]):
        mdp.acquire(x.tables, b.state, 0, np.int64(x.states.order[s, k]))
    for p in range(b.has_base.size):
        b.has_base[p] = False


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract"})
def _update_scores(x, b, s, p, n_chain):
    """Bring the scores of policy p up to date, which is done when it is to decide; return the number of updates."""
    row, wide, updates = x.states.rows[s], b.scores.shape[1], 0
    if b.n_added[p] < 0:
        if not b.has_base[p]:
            for a in range(wide):
                b.base[p, a] = x.mixture.intercepts[p, a]
            for k in range(x.states.lengths[s]):
                j = np.int64(x.states.order[s, k])
                updates += add_acquisition(x.tables, j, x.values, row, x.mixture, p, b.base)
            b.has_base[p] = True
        for a in range(wide):
            b.scores[p, a] = b.base[p, a]
        b.n_added[p] = 0
    for k in range(b.n_added[p], n_chain):
        updates += add_acquisition(x.tables, b.chain[k], x.values, row, x.mixture, p, b.scores)
    b.n_added[p] = n_chain
    return updates


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract"})
def _roll_out(x, b, s, first_action, random):
    """Follow the mixture from sampled state s after ``first_action``; return the loss and the number of updates."""
    t, state, J, updates = x.tables, b.state, x.tables.costs.size, 0
    n_actions = J + x.costs.error_costs.shape[0]
    mdp.copy_state(t, state, 0, 1)
    for p in range(b.n_added.size):
        b.n_added[p] = -1
    action, n_chain = first_action, 0
    random = advance(random)
    p = _draw(unit(random), x.mixture.shares)
    while action < J:
        mdp.acquire(t, state, 1, action)
        b.chain[n_chain] = action
        n_chain += 1
        if not x.mixture.per_trajectory and n_chain > 1:
            random = advance(random)
            p = _draw(unit(random), x.mixture.shares)
        if p < 0:
            random = advance(random)
            action = _uniform(random, state.legal, 1, n_actions)
        else:
            updates += _update_scores(x, b, s, p, n_chain)
            action = best_legal(b.scores, p, state.legal, 1, b.allowed)
    error_cost = x.costs.error_costs[action - J, x.y[x.states.rows[s]]]
    return x.costs.lam * (state.spent[1] - state.spent[0]) + error_cost, updates


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _rollouts(first, last, x, b, returns, legal):
    """Average returns of the legal acquisitions of the sampled states first..last-1; returns the number of updates."""
    J, updates = x.tables.costs.size, 0
    for s in range(first, last):
        _recall(x, b, s)
        for j in range(J):
            if b.state.legal[0, j] == 0:
                continue
            legal[s, j] = True
            total = 0.0
            for rollout in range(x.n_rollouts):
                loss, added = _roll_out(x, b, s, j, stream(x.seed, (s * J + j) * x.n_rollouts + rollout))
                total -= loss
                updates += added
            returns[s, j] = total / x.n_rollouts
    return updates
