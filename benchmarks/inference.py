"""Rows classified per second, against scikit-learn's LogisticRegression on all features; one thread.

Both through ``predict`` with its validation, and both raw: the compiled walk on a ready array, and the bare matrix
product with argmax. In a batch and one row at a time. A datum-wise policy looks at a few features only.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from agents import DatumWiseClassifier
from agents.rcpi.kernels import ActionScores, Linear
from agents.rcpi.policy import follow_linear
from fsgym import load_dataset


def rate(function, n_rows: int, repeats: int) -> float:
    """Rows per second of CPU time, the best of five."""
    best = np.inf
    for _ in range(5):
        began = time.process_time()
        for _ in range(repeats):
            function()
        best = min(best, time.process_time() - began)
    return n_rows * repeats / best


if __name__ == "__main__":
    data = load_dataset("breast_cancer").scaled()
    ours = DatumWiseClassifier(lam=0.01, random_state=0).fit(data.X, data.y)
    theirs = LogisticRegression().fit(data.X, data.y)
    batch, row = np.tile(data.X, (100, 1)), data.X[:1]
    policy = ours.policy_
    linear = Linear.blank(policy.rules).appended(ActionScores(policy.weights, policy.intercepts, policy.logistic))
    w, c = theirs.coef_[0].astype(np.float32), np.float32(theirs.intercept_[0])
    asked = ours.features_used(data.X).sum(axis=1).mean()
    print(f"RCPI acquires {asked:.1f} of {data.n_features} features on average")
    with threadpool_limits(1):
        for name, X, repeats in (("batch", batch, 3), ("one row", row, 300)):
            for kind, mine, other in (
                ("validated", lambda X=X: ours.predict(X), lambda X=X: theirs.predict(X)),
                (
                    "raw",
                    lambda X=X: follow_linear(X, X, linear, policy.rules),
                    lambda X=X: theirs.classes_[(X @ w + c > 0) * 1],
                ),
            ):
                mine(), other()
                a, z = rate(mine, len(X), repeats), rate(other, len(X), repeats)
                print(f"{name}, {kind}: RCPI {a:,.0f} rows/s, logistic regression {z:,.0f} rows/s, ratio {a / z:.2f}")
