"""Fitted Q iteration on the states and the regressions of RCPI: a reference agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.parallel import TaskRunner
from agents.rcpi import rollouts
from agents.rcpi.kernels import consecutive_ranges
from agents.rcpi.rcpi import RCPI
from agents.rcpi.sampling import States
from fsgym.data.dataset import Dataset
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only


class FittedQ(RCPI):
    """Fitted Q iteration with one linear score per action, which Dulac-Arnold et al. (2012) leave to future work.

    As ``RCPI``, but the target of an acquisition is its reward plus the highest score of the iteration before in the
    next state, instead of the return of a rollout. Iteration k looks k - 1 acquisitions ahead: the first one only fits
    the scores of the answers. The highest of several noisy scores is too high on average, so that more is acquired than
    pays.

    Parameters
    ----------
    env : environment of this package
    **options
        As for ``RCPI``, except ``alpha``, ``mixture``, ``start``, ``n_rollouts`` and ``nonzero``. By default there are
        20 iterations, states are uniform and ``acquisitions`` is "linear".

    References
    ----------
    D. Ernst, P. Geurts, L. Wehenkel. Tree-based batch mode reinforcement learning. JMLR 6, 2005, figure 1.

    Examples
    --------
    >>> import gymnasium
    >>> from agents import FittedQ
    >>> agent = FittedQ(gymnasium.make("fsgym:DatumWise-v0", lam=0.05), n_iterations=3, random_state=0).learn()
    >>> len(agent.history)
    3
    """

    def __init__(self, env: Any, **options: Any) -> None:
        of_rollouts = options.keys() & {"alpha", "mixture", "start", "n_rollouts", "nonzero"}
        if of_rollouts:
            raise TypeError(f"FittedQ makes no rollouts and has no {', '.join(sorted(of_rollouts))}; leave it out")
        own = {"n_iterations": 20, "acquisitions": "linear", "states": "uniform"}
        super().__init__(env, alpha=0.0, start="uniform", **{**own, **options})

    @classmethod
    def published(cls, env: Any, **options: Any) -> Any:
        """TypeError: the paper has no fitted Q iteration."""
        raise TypeError(
            "FittedQ has no published form, as Dulac-Arnold et al. leave it to future work; use FittedQ(env)"
        )

    def _returns(
        self,
        states: States,
        dataset: Dataset,
        values: NDArray[np.float32],
        mixture: rollouts.Mixture,
        seed: int,
        run: TaskRunner,
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The targets of the legal acquisitions; none are legal in the first iteration."""
        shape = len(states.rows), self.rules.n_acquisitions
        targets, legal = np.zeros(shape, np.float32), np.zeros(shape, bool)
        if not len(mixture.shares):
            return targets, legal
        newest = mixture._replace(linear=mixture.linear.newest(), shares=np.ones(1))
        rules = self.rules
        problem = rollouts.RolloutProblem(
            rules.tables, rules.reward_costs(), dataset.X, read_only(values), dataset.y, states, newest, 1, seed
        )

        def task(first: int, last: int) -> None:
            _write_targets(first, last, problem, rollouts.RolloutBuffers.blank(newest, shape[1]), targets, legal)

        run(task, consecutive_ranges(shape[0], rollouts.STATES_PER_TASK))
        return targets, legal


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _write_targets(first, last, x, b, targets, legal):
    """Write the targets of the legal acquisitions in the sampled states ``first`` to ``last - 1``."""
    t, state = x.tables, b.state
    for s in range(first, last):
        rollouts.restore_state(x, b, s)
        for j in range(t.costs.size):
            if state.legal[0, j] == 0:
                continue
            legal[s, j] = True
            mdp.copy_state(t, state, 0, 1)
            mdp.acquire(t, state, mdp.SECOND, j)
            b.chain[0], b.n_added[0] = j, -1
            best = rollouts.choose_greedily(x, b, s, mdp.FIRST, np.int64(1))
            targets[s, j] = b.allowed[0, best] - x.costs.lam * (state.spent[1] - state.spent[0])
