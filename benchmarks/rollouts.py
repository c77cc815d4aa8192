"""RCPI's rollouts: score updates per second, against bare compiled loops with the same memory traffic.

    python benchmarks/rollouts.py

Medians of five fresh processes; in each, the smallest process CPU time of several interleaved rounds, on one thread.
The policies have random scores and acquire up to a budget, so that no fit is needed; a score update adds to the
scores of all actions what one acquisition changes.

The bare loop adds a row of such terms to the scores of a policy, copies those of legal actions, and looks for the
largest; with features and policies that were drawn before. So nothing has to be decided, and the processor works on
several updates at a time. The chained loop does the same, but reads the next feature from a place that depends on the
action just found, as each step of a rollout does.

With 30, 60, 256 and 784 features the rollouts have .33, .42, .56 and .78 of the bare loop's updates (two cores with
other work, on which the bare loop has 39 to 65 million a second with 30 features). Where the rest goes, as far as it is
measured: the chained loop has .54, .68, .94 and all of the bare loop's updates, since each step waits for the one
before. The rollouts have .6 of the chained loop's, and .7 with 784 features. 15, 14, 5 and 2 % of their time are for
legal actions and prices, and 10 to 16 % of the acquisitions are the uniform policy's, which are no updates. The rest is
not measured apart: random numbers, and the scores of the first state and the terms of each row, which no loop makes.
The limits are below these figures, so that a change that makes rollouts slower is seen.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from numba import njit

from agents.parallel import run_serially
from agents.rcpi import kernels
from agents.rcpi.kernels import EXCLUDED_SCORE, NO_ACTION, ActionScores, _larger, _lowest_best
from agents.rcpi.rollouts import (
    Mixture,
    RolloutBuffers,
    RolloutProblem,
    follow_mixture,
    restore_state,
    rollout_returns,
    sample_policy,
)
from agents.rcpi.sampling import sample_states
from fsgym import Dataset, Rules, Scaling
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only

ROWS = {30: 100, 60: 50, 256: 10, 784: 2}  # rows of the data by number of features; 10 states of each
BUDGET = 20
N_POLICIES = 5
BARE_UPDATES = 2**16  # of a bare loop
ROUNDS = 5
PROCESSES = 5
LEAST = {30: 0.2, 60: 0.3, 256: 0.45, 784: 0.6}  # ratio to the bare loop by number of features


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def count_updates(x, b, counts):
    """Count in all rollouts the acquisitions after which a linear policy decides, and those of the uniform policy."""
    J = x.tables.costs.size
    for s in range(x.states.rows.size):
        restore_state(x, b, s)
        for j in range(J):
            if b.state.legal[0, j] != 0:
                random = kernels.random_stream(x.seed, s * J + j)
                p = sample_policy(kernels.random_fraction(kernels.next_state(random)), x.mixture.shares)
                counts[0 if p >= 0 else 1] += follow_mixture(x, b, s, j, random)[1]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, fastmath={"contract"})
def update(terms, p, j, legal, scores, allowed):
    """Add the terms of acquisition j to the scores of policy p; return the best legal action."""
    for a in range(scores.shape[1]):
        scores[p, a] += terms[p, j, a]
    for a in range(scores.shape[1]):
        allowed[a] = scores[p, a] if legal[a] != 0 else EXCLUDED_SCORE
    top = EXCLUDED_SCORE
    for a in range(scores.shape[1]):
        top = _larger(top, allowed[a])
    best = NO_ACTION
    for a in range(scores.shape[1]):
        best = _lowest_best(allowed[a], top, np.int32(a), best)
    return best


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def bare_loop(terms, policies, features, legal, scores, allowed, best):
    for k in range(features.size):
        best[k] = update(terms, policies[k], features[k], legal, scores, allowed)


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def chained_loop(terms, policies, features, legal, scores, allowed, best):
    k = 0
    for i in range(features.size):
        best[i] = update(terms, policies[k], features[k], legal, scores, allowed)
        k = (i + best[i]) & (BARE_UPDATES - 1)


@njit(cache=True, nogil=True, _nrt=False)
def states_alone(x, b, first, n_steps):
    """Copy a state and acquire, as often as the rollouts do, with no score and no decision."""
    for s in range(x.states.rows.size):
        restore_state(x, b, s)
        for j in range(x.tables.costs.size):
            if b.state.legal[0, j] != 0:
                mdp.copy_state(x.tables, b.state, 0, 1)
                for k in range(n_steps[s]):
                    mdp.acquire(x.tables, b.state, mdp.SECOND, np.int64(first[(j + k) % first.size]))


def cpu_seconds(function: Callable[[], object]) -> float:
    began = time.process_time()
    function()
    return time.process_time() - began


def measure(n_features: int) -> dict[str, float]:
    """Million updates per second of the rollouts and of the bare loops, and the share of the time for the states."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS[n_features], n_features)).astype(np.float32)
    data = Dataset(X, np.arange(len(X)) % 2)
    rules = Rules.for_dataset(data, lam=0.01, budget=BUDGET)
    values = read_only(Scaling.fit(X).apply(X))
    mixture = Mixture.uniform(rules, per_trajectory=True)
    for _ in range(N_POLICIES):
        weights = rng.normal(size=(n_features, 2, rules.n_actions)).astype(np.float32)
        intercepts = np.where(np.arange(rules.n_actions) < rules.n_acquisitions, 0, -1e6).astype(np.float32)
        mixture = mixture.mixed(ActionScores(weights, intercepts), 0.7)
    states = sample_states(X, rules, 10 * len(X), 0)
    problem = RolloutProblem(rules.tables, rules.reward_costs(), data.X, values, data.y, states, mixture, 1, 0)
    counts = np.zeros(2, np.int64)
    count_updates(problem, RolloutBuffers.blank(mixture, n_features), counts)

    width, n_policies = kernels.width(rules.n_actions), len(mixture.shares)
    terms = rng.normal(size=(n_policies, n_features, width)).astype(np.float32)
    shares = mixture.shares / mixture.shares.sum()
    drawn = rng.choice(n_policies, BARE_UPDATES, p=shares), rng.integers(0, n_features, BARE_UPDATES)
    legal = (np.arange(width) < rules.n_actions).astype(np.int8)
    buffers = np.zeros((n_policies, width), np.float32), np.zeros(width, np.float32), np.zeros(BARE_UPDATES, np.int64)
    order, steps = rng.permutation(n_features), BUDGET - states.lengths
    alone = RolloutBuffers.blank(mixture, n_features)
    timers = {
        "rollouts": lambda: rollout_returns(
            states, data, values, mixture, rules, n_rollouts=1, seed=0, run=run_serially
        ),
        "bare": lambda: bare_loop(terms, *drawn, legal, *buffers),
        "chained": lambda: chained_loop(terms, *drawn, legal, *buffers),
        "states": lambda: states_alone(problem, alone, order, steps),
    }
    rounds = [{name: cpu_seconds(timer) for name, timer in timers.items()} for _ in range(ROUNDS + 1)]
    took = {name: min(times[name] for times in rounds[1:]) for name in timers}  # the first round compiles
    return {
        "rollouts": counts[0] / took["rollouts"] / 1e6,
        "bare": BARE_UPDATES / took["bare"] / 1e6,
        "chained": BARE_UPDATES / took["chained"] / 1e6,
        "states": took["states"] / took["rollouts"],
        "uniform": counts[1] / counts.sum(),
    }


def main() -> int:
    command = [sys.executable, __file__, "once"]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(PROCESSES)]
    fine = True
    for (n_features, least), *of_size in zip(LEAST.items(), *runs):
        middle = {name: statistics.median(run[name] for run in of_size) for name in of_size[0]}
        ratios = [run["rollouts"] / run["bare"] for run in of_size]
        ratio = statistics.median(ratios)
        fine &= ratio >= least
        print(
            f"{n_features:3d} features: {middle['rollouts']:.1f} million updates a second, {ratio:.2f} of the bare "
            f"loop's {middle['bare']:.1f} (from {min(ratios):.2f} to {max(ratios):.2f}), "
            f"{middle['rollouts'] / middle['chained']:.2f} of the chained loop's {middle['chained']:.1f}; "
            f"{middle['states']:.0%} of the time for legal actions and prices; {middle['uniform']:.0%} of the "
            "acquisitions, of the uniform policy, are no updates"
        )
    return int(not fine)


if __name__ == "__main__":
    if sys.argv[1:] == ["once"]:
        print(json.dumps([measure(n_features) for n_features in ROWS]))
    else:
        sys.exit(main())
