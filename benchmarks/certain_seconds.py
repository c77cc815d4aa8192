"""How much longer a lattice takes to answer a table with a rule of certainty than without it.

python benchmarks/certain_seconds.py

Prints processor time as a ratio to that of the same model without the rule, and the ratio of the acquisitions, which
the rule makes more of. Needs ``FSGYM_DATA``.
"""

from __future__ import annotations

import os
import time
import warnings

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402

import fsgym  # noqa: E402
from agents import LatticeClassifier  # noqa: E402

SETS = {"spambase": (2000, 0.01), "breast_cancer": (285, 0.01), "digits": (900, 0.005)}  # rows of the training, lambda
ROWS = 4000  # about as many are answered: the others, repeated
MIN_CONFIDENCE = 0.95
REPEATS = 3


def seconds_of(model: LatticeClassifier, X: np.ndarray) -> float:
    """The processor time of answering, the shortest of some, after code was compiled."""
    model.predict(X[:50])
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        model.predict(X)
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    print("set            rows  time, ratio  acquisitions, ratio")
    for name, (n_train, lam) in SETS.items():
        data = fsgym.load_dataset(name)
        order = np.random.default_rng(0).permutation(data.n_samples)
        with warnings.catch_warnings(action="ignore"):
            train, others = data.rows(order[:n_train]), data.rows(order[n_train:]).to_array()
            plain = LatticeClassifier(lam=lam, random_state=0).fit(train.to_array(), train.classes[train.y])
        X = np.tile(others, (max(ROWS // len(others), 1), 1))
        before, lengths = seconds_of(plain, X), plain.trajectories(X).lengths.mean()
        certain = plain.calibrate(min_confidence=MIN_CONFIDENCE)
        more = certain.trajectories(X).lengths.mean() / lengths
        print(f"{name:13} {len(X):5}  {seconds_of(certain, X) / before:11.1f}  {more:19.1f}", flush=True)


if __name__ == "__main__":
    main()
