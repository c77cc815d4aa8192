"""Step 2 of RCPI: Monte Carlo returns of each legal acquisition in each state, under the current mixture policy.

In the compiled functions, x is a ``RolloutProblem``, b are ``RolloutBuffers``, t are ``Tables`` of the rules, s is a
sampled state, p a policy of the mixture, a an action and j an acquisition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.parallel import TaskRunner
from agents.rcpi import kernels
from agents.rcpi.sampling import States
from agents.rcpi.score_trees import UNKNOWN_VALUE, tree_sum
from fsgym.data.dataset import Dataset
from fsgym.rules import Costs, Rules, State, Tables
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only
from fsgym.support.kernels import INNER

STATES_PER_TASK = 256  # by hand: many tasks per thread, and each long compared with its overhead
TERM_BYTES = 2**26  # largest memory of a task for the terms of a row; with more, each use computes its own. By hand


class Mixture(NamedTuple):
    """A stochastic policy: a mixture of greedy linear policies, oldest first, and the uniform policy."""

    linear: kernels.Linear  # the greedy policies
    shares: NDArray[np.float64]  # (n_policies,), the probability of each; the rest is that of the uniform policy
    per_trajectory: bool = False  # whether one of the policies is sampled per rollout, or anew at each decision

    @classmethod
    def uniform(cls, rules: Rules, per_trajectory: bool = False) -> Mixture:
        """The initial policy pi_0, uniform over the legal actions."""
        return cls(kernels.Linear.blank(rules), np.zeros(0), per_trajectory)

    def mixed(self, scores: kernels.ActionScores, alpha: float) -> Mixture:
        """The mixture pi_t: the new greedy policy with probability 1 - alpha, otherwise this mixture."""
        shares = np.append(self.shares * alpha, 1.0 - alpha)
        return self._replace(linear=self.linear.appended(scores), shares=shares)


class RolloutProblem(NamedTuple):
    """The inputs that all rollouts share."""

    tables: Tables
    costs: Costs
    X: NDArray[np.float32]  # (n_samples, n_features)
    values: NDArray[np.float32]  # (n_samples, n_features), scaled
    y: NDArray[np.int64]  # (n_samples,)
    states: States
    mixture: Mixture
    n_rollouts: int
    seed: int


class RolloutBuffers(NamedTuple):
    """Memory for one rollout at a time, with a mixture of P policies."""

    state: State  # row 0 is the sampled state, row 1 the state of the rollout
    base: NDArray[np.float32]  # (P, width), scores in the sampled state
    scores: NDArray[np.float32]  # (P, width), scores in the state of the rollout
    has_base: NDArray[np.bool_]  # (P,), whether ``base`` is computed
    # (P,), number of acquisitions of ``chain`` that ``scores`` contains; -1 if ``scores`` is not computed
    n_added: NDArray[np.int64]
    chain: NDArray[np.int64]  # (n_acquisitions,), the acquisitions of the rollout
    allowed: NDArray[np.float32]  # (2, width), see ``best_legal``
    row: NDArray[np.int64]  # (1,), the row of the data set that ``terms`` belong to, -1 for none
    # (P, n_acquisitions, width), what each acquisition adds to the scores in that row; (0, 0, 0) if this is not stored
    terms: NDArray[np.float32]
    has_terms: NDArray[np.bool_]  # (P, n_acquisitions), whether they are computed
    known: NDArray[np.float32]  # (1, n_features), the values that trees read, see ``values_for_trees``

    @classmethod
    def blank(cls, mixture: Mixture, n_acquisitions: int) -> RolloutBuffers:
        n_policies, wide = mixture.linear.intercepts.shape
        return cls(
            State.blank(2, n_acquisitions, wide),
            np.empty((n_policies, wide), np.float32),
            np.empty((n_policies, wide), np.float32),
            np.empty(n_policies, bool),
            np.empty(n_policies, np.int64),
            np.empty(n_acquisitions, np.int64),
            np.empty((2, wide), np.float32),
            np.full(1, -1),
            np.empty((0, 0, 0), np.float32),
            np.zeros((n_policies, n_acquisitions), bool),
            np.empty((1, mixture.linear.weights.shape[1]), np.float32),
        )

    def with_terms(self) -> RolloutBuffers:
        """These buffers with room for the terms of a row, which pays where states of one row follow each other."""
        shape = *self.has_terms.shape, self.scores.shape[1]
        return self if 4 * np.prod(shape) > TERM_BYTES else self._replace(terms=np.empty(shape, np.float32))


def rollout_returns(
    states: States,
    dataset: Dataset,
    values: NDArray[np.float32],
    mixture: Mixture,
    rules: Rules,
    *,
    n_rollouts: int,
    seed: int,
    run: TaskRunner,
    write: Callable[..., None] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Estimate the return R(x, z, a) of each legal acquisition: its reward plus the return of following the mixture.

    Parameters
    ----------
    states : States
    dataset : Dataset
    values : float32 (n_samples, n_features), scaled
    mixture : Mixture
    rules : Rules
    n_rollouts : int
        Rollouts averaged for one return.
    seed : int
    run : TaskRunner
        The result does not depend on it.
    write : callable (batch, problem, buffers, returns, legal), optional
        Writes the returns of the states ``batch``; by default those of rollouts from each legal acquisition.

    Returns
    -------
    returns : float32 (n_states, n_acquisitions), 0 for illegal acquisitions
    legal : bool (n_states, n_acquisitions)
    """
    n_states, J = len(states.rows), rules.n_acquisitions
    returns, legal = np.zeros((n_states, J), np.float32), np.zeros((n_states, J), bool)
    problem = RolloutProblem(
        rules.tables, rules.reward_costs(), dataset.X, read_only(values), dataset.y, states, mixture, n_rollouts, seed
    )
    by_row = np.argsort(states.rows, kind="stable")  # states of one row share its terms
    write_batch: Callable[..., None] = write or _write_returns

    def task(first: int, last: int) -> None:
        write_batch(by_row[first:last], problem, RolloutBuffers.blank(mixture, J).with_terms(), returns, legal)

    run(task, kernels.consecutive_ranges(n_states, STATES_PER_TASK))
    return returns, legal


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def sample_policy(u, shares):
    """The policy of the mixture for a random number u in [0, 1), -1 for the uniform one.

    The newest policy comes first, since it is the most likely one.
    """
    total = 0.0
    for k in range(shares.size):
        total += shares[shares.size - 1 - k]
        if u < total:
            return shares.size - 1 - k
    return -1


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def random_legal(random, legal, e, n_actions):
    """A uniformly random legal action in state e."""
    n = 0
    for a in range(n_actions):
        n += legal[e, a]
    k = kernels.random_integer(random, n)
    for a in range(n_actions):
        k -= legal[e, a]
        if k < 0:
            return a
    return n_actions - 1


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def restore_state(x, b, s):
    """Set row 0 of the buffers to sampled state s."""
    mdp.start(x.tables, b.state, mdp.FIRST, x.X, x.states.rows[s])
    for k in range(x.states.lengths[s]):
        mdp.acquire(x.tables, b.state, mdp.FIRST, np.int64(x.states.order[s, k]))
    for p in range(b.has_base.size):
        b.has_base[p] = False
    if b.row[0] != x.states.rows[s]:
        b.row[0] = x.states.rows[s]
        if b.terms.shape[0] > 0:
            b.has_terms[:] = False


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract"}, **INNER)
def _add_terms(x, b, j, p, scores):
    """Add to ``scores[p]`` the terms of policy p for acquisition j in row ``b.row``."""
    if b.terms.shape[0] == 0:
        kernels.add_acquisition(x.tables, j, x.values, b.row[0], x.mixture.linear, p, scores)
        return
    if not b.has_terms[p, j]:
        b.has_terms[p, j] = True
        for a in range(scores.shape[1]):
            b.terms[p, j, a] = 0.0
        kernels.add_acquisition(x.tables, j, x.values, b.row[0], x.mixture.linear, p, b.terms[:, j])
    for a in range(scores.shape[1]):
        scores[p, a] += b.terms[p, j, a]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract"}, **INNER)
def update_scores(x, b, s, p, n_chain):
    """Update the scores of policy p to the state of the rollout. This is done only when p makes a decision."""
    wide = b.scores.shape[1]
    if b.n_added[p] < 0:
        if not b.has_base[p]:
            for a in range(wide):
                b.base[p, a] = x.mixture.linear.intercepts[p, a]
            for k in range(x.states.lengths[s]):
                j = np.int64(x.states.order[s, k])
                _add_terms(x, b, j, p, b.base)
            b.has_base[p] = True
        for a in range(wide):
            b.scores[p, a] = b.base[p, a]
        b.n_added[p] = 0
    for k in range(b.n_added[p], n_chain):
        _add_terms(x, b, b.chain[k], p, b.scores)
    b.n_added[p] = n_chain


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _write_tree_scores(x, b, s, p, n_chain):
    """Set the scores of policy p for the legal acquisitions in the state of the rollout by its trees."""
    t, linear = x.tables, x.mixture.linear
    b.known[:] = UNKNOWN_VALUE
    for k in range(x.states.lengths[s] + n_chain):
        j = np.int64(x.states.order[s, k]) if k < x.states.lengths[s] else b.chain[k - x.states.lengths[s]]
        for m in range(t.member_first[j], t.member_first[j + 1]):
            value = x.values[b.row[0], t.member[m]]
            if not np.isnan(value):
                b.known[0, t.member[m]] = value
    for j in range(linear.trees.roots.shape[1]):
        if b.state.legal[1, j] != 0 and linear.trees.roots[p, j, 0] >= 0:
            b.scores[p, j] = linear.intercepts[p, j] + np.float32(tree_sum(linear.trees, p, j, b.known, 0))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract"}, **INNER)
def choose_greedily(x, b, s, p, n_chain):
    """The legal action of policy p with the highest score in the state of the rollout, row 1 of the buffers."""
    update_scores(x, b, s, p, n_chain)
    if x.mixture.linear.trees.roots.size > 0:
        _write_tree_scores(x, b, s, p, n_chain)
    return kernels.best_legal(b.scores, p, b.state.legal, mdp.SECOND, x.mixture.linear, p, b.allowed)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract"}, **INNER)
def follow_mixture(x, b, s, first_action, random):
    """Make ``first_action`` in sampled state s, then follow the mixture to the end of the episode.

    With -1 the mixture takes the first action, too. Returns the loss and the number of acquisitions in ``b.chain``.
    """
    t, state, J = x.tables, b.state, x.tables.costs.size
    n_actions = J + x.costs.error_costs.shape[0]
    mdp.copy_state(t, state, 0, 1)
    for p in range(b.n_added.size):
        b.n_added[p] = -1
    action, n_chain, n_decisions = first_action, np.int64(0), 0
    random = kernels.next_state(random)
    p = sample_policy(kernels.random_fraction(random), x.mixture.shares)
    while action < J:
        if action >= 0:
            mdp.acquire(t, state, mdp.SECOND, action)
            b.chain[n_chain] = action
            n_chain += 1
        if not x.mixture.per_trajectory and n_decisions > 0:
            random = kernels.next_state(random)
            p = sample_policy(kernels.random_fraction(random), x.mixture.shares)
        n_decisions += 1
        if p < 0:
            random = kernels.next_state(random)
            action = random_legal(random, state.legal, 1, n_actions)
        else:
            action = choose_greedily(x, b, s, p, n_chain)
    error_cost = x.costs.error_costs[action - J, x.y[x.states.rows[s]]]
    return x.costs.lam * (state.spent[1] - state.spent[0]) + error_cost, n_chain


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _write_returns(batch, x, b, returns, legal):
    """Write the mean returns of the legal acquisitions in the sampled states ``batch``."""
    J = x.tables.costs.size
    for s in batch:
        restore_state(x, b, s)
        for j in range(J):
            if b.state.legal[0, j] == 0:
                continue
            legal[s, j] = True
            total = 0.0
            for rollout in range(x.n_rollouts):
                random = kernels.random_stream(x.seed, (s * J + j) * x.n_rollouts + rollout)
                total -= follow_mixture(x, b, s, j, random)[0]
            returns[s, j] = total / x.n_rollouts
