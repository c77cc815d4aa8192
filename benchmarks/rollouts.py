"""RCPI rollouts: score updates per second, against a bare compiled loop of the same additions and argmax.

The bare loop adds one feature to a row of scores and looks for its largest, again and again, on independent rows:
what the machine can do at most when nothing else has to be decided. Process CPU time, one thread, the best of
several interleaved runs.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from numba import njit

from agents.parallel import run_serially
from agents.rcpi.kernels import EXCLUDED_SCORE, NO_ACTION, ActionScores, _larger, _lowest_best, width
from agents.rcpi.regression import Design, fit_scores
from agents.rcpi.rollouts import Mixture, rollout_returns
from agents.rcpi.sampling import sample_states
from fsgym import Dataset, Rules, Scaling

TARGET = 0.15
# Score updates of the timed rollouts by number of features, counted once in the compiled code: a score update adds one
# feature to a row of scores. They depend only on the seeds.
N_UPDATES = {30: 877_641, 60: 3_306_870}


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def bare_loop(W, x, features, scores, best):
    for k in range(features.size):
        i, row, value = features[k], k & 63, x[k]
        top = EXCLUDED_SCORE
        for a in range(scores.shape[1]):
            scores[row, a] += W[i, 0, a] + value * W[i, 1, a]
            top = _larger(top, scores[row, a])
        first = NO_ACTION
        for a in range(scores.shape[1]):
            first = _lowest_best(scores[row, a], top, np.int32(a), first)
        best[k] = first


def cpu_seconds(function) -> float:
    began = time.process_time()
    function()
    return time.process_time() - began


def measure(n_features: int, rng: np.random.Generator) -> float:
    """Updates per second of the sixth iteration's rollouts over those of the bare loop."""
    n_samples, n_updates = 285, 500_000
    X = rng.normal(size=(n_samples, n_features)).astype(np.float32)
    data = Dataset(X, (X[:, 0] + X[:, 1] > 0).astype(int))
    rules = Rules.for_dataset(data, lam=0.01)
    values = Scaling.fit(X).apply(X)
    mixture = Mixture.uniform(rules, per_trajectory=True)
    for t in range(6):
        states = sample_states(X, rules, 10 * n_samples, t)

        def rollouts(states=states, mixture=mixture, t=t):
            return rollout_returns(states, data, values, mixture, rules, n_rollouts=1, seed=t, run=run_serially)

        returns, legal = rollouts()
        W, b = fit_scores(Design(states, values, rules), data.y, returns, legal, 1e-3, run_serially)
        mixture = mixture.mixed(ActionScores(W, b), 0.7) if t < 5 else mixture

    wide = width(rules.n_actions)
    W = rng.normal(size=(n_features, 2, wide)).astype(np.float32)
    features, x = rng.integers(0, n_features, n_updates), rng.normal(size=n_updates).astype(np.float32)
    buffers = np.zeros((64, wide), np.float32), np.zeros(n_updates, np.int64)

    def bare():
        bare_loop(W, x, features, *buffers)

    bare()
    ours, limit = (min(times) for times in zip(*[(cpu_seconds(rollouts), cpu_seconds(bare)) for _ in range(7)]))
    return (N_UPDATES[n_features] / ours) / (n_updates / limit)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    ratios = {n: measure(n, rng) for n in (30, 60)}
    for n, ratio in ratios.items():
        print(f"rollouts, {n} features: {ratio:.2f} of the bare loop's score updates per second (target {TARGET})")
    sys.exit(int(any(ratio < TARGET for ratio in ratios.values())))
