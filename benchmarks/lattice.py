"""Lattice policy: rows classified per second against scikit-learn's logistic regression on all features; one thread.

In a batch and one row after the other, without the validation of ``predict``: the policy on a ready array, and
the bare matrix product with argmax. Limits: 100 microseconds a row in a loop, 200,000 rows a second in a batch.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from agents import LatticeClassifier
from fsgym import load_dataset

SLOWEST_ROW, LEAST_ROWS = 100e-6, 200_000


def seconds(function, repeats: int) -> float:
    """CPU seconds of one call, the best of five."""
    best = np.inf
    for _ in range(5):
        began = time.process_time()
        for _ in range(repeats):
            function()
        best = min(best, (time.process_time() - began) / repeats)
    return best


if __name__ == "__main__":
    data = load_dataset("breast_cancer")
    train, test = data.split(0.7, 0)
    began = time.process_time()
    model = LatticeClassifier(lam=0.01, random_state=0).fit(train.X, train.y)
    print(f"training: {time.process_time() - began:.1f} CPU seconds, the first call compiles where no cache is")
    theirs = LogisticRegression(max_iter=10_000).fit(train.scaled(train).X, train.y)
    w, c = theirs.coef_[0].astype(np.float32), np.float32(theirs.intercept_[0])
    print(f"{model.features_used(test.X).sum(axis=1).mean():.1f} of {data.n_features} features on average")
    batch, row = np.tile(test.X, (60, 1)), test.X[:1]
    policy = model.policy_
    with threadpool_limits(1):
        policy.trajectories(row)
        one, other = seconds(lambda: policy.trajectories(row), 200), seconds(lambda: (row @ w + c > 0) * 1, 2000)
        print(f"one row: {one * 1e6:.0f} microseconds, {one / other:.1f} times the logistic regression's")
        many, others = seconds(lambda: policy.trajectories(batch), 1), seconds(lambda: (batch @ w + c > 0) * 1, 20)
        print(f"batch: {len(batch) / many:,.0f} rows/s, {others / many:.3f} of the logistic regression's")
    sys.exit(int(one > SLOWEST_ROW or len(batch) / many < LEAST_ROWS))
