"""Step 2 of RCPI: the return of each legal acquisition in each state, the mixture policy followed to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.rcpi.kernels import add_acquisition, advance, below, best_legal, blocks, padded, stream, unit
from agents.rcpi.sampling import States
from fsgym.dataset import Dataset
from fsgym.rules import Rules, Tables
from fsgym.rules import kernels as mdp

BLOCK = 256  # states a task


@dataclass(frozen=True)
class Mixture:
    """The alpha-mixture of greedy policies, newest last, over the policy that is uniform over legal actions.

    ``weights`` float32 (n_policies, n_features, 2, width), ``intercepts`` float32 (n_policies, width),
    ``shares`` float64 (n_policies,): the probability of each; what is left goes to the uniform one.
    """

    weights: NDArray[np.float32]
    intercepts: NDArray[np.float32]
    shares: NDArray[np.float64]

    @classmethod
    def uniform(cls, rules: Rules) -> Mixture:
        """pi_0: uniform over the legal actions."""
        blank = padded(np.zeros((0, rules.n_features, 2, rules.n_actions)), 0)
        return cls(blank, padded(np.zeros((0, rules.n_actions)), 0), np.zeros(0))

    def mixed(self, W: NDArray[np.float32], b: NDArray[np.float32], alpha: float) -> Mixture:
        """pi_t: the new greedy policy with probability 1 - alpha, else this mixture."""
        return replace(
            self,
            weights=np.concatenate([self.weights, W]),
            intercepts=np.concatenate([self.intercepts, b]),
            shares=np.append(self.shares * alpha, 1.0 - alpha),
        )


def rollout_returns(
    states: States,
    dataset: Dataset,
    values: NDArray[np.float32],
    mixture: Mixture,
    rules: Rules,
    *,
    per_trajectory: bool,
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
    per_trajectory : bool
        Draw the policy once a rollout, not at each decision.
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
    P, wide = mixture.intercepts.shape
    newest = np.cumsum(mixture.shares[::-1])  # the newest policy is the likeliest: it comes first

    def task(first: int, last: int) -> int:
        buffers = (
            np.empty((2, wide), np.int8),
            np.empty((2, J), np.int8),
            np.zeros((2, J), np.int32),
            np.empty((P, wide), np.float32),
            np.empty((P, wide), np.float32),
            np.empty(P, np.int64),
            np.empty(P, np.int64),
            np.empty(J, np.int64),
            np.empty(wide, np.float32),
        )
        return _rollouts(
            first,
            last,
            seed,
            n_rollouts,
            per_trajectory,
            rules.lam,
            rules.error_costs,
            dataset.X,
            values,
            dataset.y,
            states.rows,
            states.order,
            states.lengths,
            mixture.weights,
            mixture.intercepts,
            newest,
            returns,
            legal,
            *buffers,
            *rules.tables,
        )

    return returns, legal, sum(run(task, blocks(n_states, BLOCK)))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _draw(u, newest):
    """Which policy of the mixture, newest first, or -1 for the uniform one."""
    for k in range(newest.size):
        if u < newest[k]:
            return newest.size - 1 - k
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


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _rollouts(
    first, last, seed, n_rollouts, per_trajectory, lam, error_costs, X, values, y, rows, order, lengths, W, b, newest,
    returns, is_open, legal, status, touching, base, scores, has_base, seen, chain, allowed, *tables,
):  # fmt: skip
    """States first..last-1; state row 0 of the buffers is the sampled state, row 1 the rollout."""
    t = Tables(*tables)
    J, P, wide = t.costs.size, b.shape[0], b.shape[1]
    n_actions = J + error_costs.shape[0]
    updates = 0
    for s in range(first, last):
        row = rows[s]
        mdp.start(t, X, row, 0, legal, status, touching)
        n_base, spent_base = 0, 0.0
        for k in range(lengths[s]):
            j = np.int64(order[s, k])
            spent_base += mdp.acquire(t, j, 0, legal, status, touching, n_base, spent_base)
            n_base += 1
        for p in range(P):
            has_base[p] = 0
        for child in range(J):
            if legal[0, child] == 0:
                continue
            is_open[s, child] = True
            total = 0.0
            for rollout in range(n_rollouts):
                random = stream(seed, (s * J + child) * n_rollouts + rollout)
                for a in range(legal.shape[1]):
                    legal[1, a] = legal[0, a]
                if not t.fixed:
                    for j in range(J):
                        status[1, j] = status[0, j]
                        touching[1, j] = touching[0, j]
                for p in range(P):
                    seen[p] = -1
                n_taken, spent, n_chain = n_base, spent_base, 0
                action = child
                random = advance(random)
                p = _draw(unit(random), newest)
                while action < J:
                    spent += mdp.acquire(t, action, 1, legal, status, touching, n_taken, spent)
                    n_taken += 1
                    chain[n_chain] = action
                    n_chain += 1
                    if not per_trajectory and n_chain > 1:
                        random = advance(random)
                        p = _draw(unit(random), newest)
                    if p < 0:
                        random = advance(random)
                        action = _uniform(random, legal, 1, n_actions)
                        continue
                    if seen[p] < 0:  # the scores of a policy are brought up to date only when it is to decide
                        if has_base[p] == 0:
                            for a in range(wide):
                                base[p, a] = b[p, a]
                            for k in range(lengths[s]):
                                updates += add_acquisition(t, np.int64(order[s, k]), values, row, W, p, base, p)
                            has_base[p] = 1
                        for a in range(wide):
                            scores[p, a] = base[p, a]
                        seen[p] = 0
                    for k in range(seen[p], n_chain):
                        updates += add_acquisition(t, chain[k], values, row, W, p, scores, p)
                    seen[p] = n_chain
                    action = best_legal(scores, p, legal, 1, allowed)
                total -= lam * (spent - spent_base) + error_costs[action - J, y[row]]
            returns[s, child] = total / n_rollouts
    return updates
