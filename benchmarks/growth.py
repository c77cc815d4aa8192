"""How one RCPI iteration grows with the number of rows (no budget) and of features (budget 10).

Prints CPU seconds of the second and third iterations together and the exponent of a straight line through the logs.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from agents import RCPI
from fsgym import Dataset, DatumWiseEnv, Rules

ROWS, FEATURES = (1_000, 3_000, 10_000, 30_000, 100_000), (10, 25, 50, 100, 200)
TARGETS = {"rows": 1.15, "features": 2.2}


def seconds(n_rows: int, n_features: int, budget: int | None, states_per_sample: float) -> float:
    """CPU seconds of iterations two and three; the first rolls out random policies only."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    data = Dataset(X, (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n_rows) > 0).astype(int))
    env = DatumWiseEnv(data, Rules.for_dataset(data, lam=0.01, budget=budget))
    best = np.inf
    for _ in range(3):
        ends: list[float] = []
        agent = RCPI(env, n_iterations=3, states_per_sample=states_per_sample, random_state=0)
        agent.learn(callback=lambda numbers, ends=ends: ends.append(time.process_time()))
        best = min(best, ends[2] - ends[0])
    return best


def exponent(sizes, times) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


if __name__ == "__main__":
    seconds(100, 10, None, 1)
    by_rows = [seconds(n, 30, None, 1) for n in ROWS]
    by_features = [seconds(2_000, n, 10, 2) for n in FEATURES]
    found = {"rows": exponent(ROWS, by_rows), "features": exponent(FEATURES, by_features)}
    for what, sizes, times in (("rows", ROWS, by_rows), ("features", FEATURES, by_features)):
        line = ", ".join(f"{n}: {s:.3f} s" for n, s in zip(sizes, times))
        print(f"{what}: {line}; exponent {found[what]:.2f} (target {TARGETS[what]})")
    sys.exit(int(any(found[what] > TARGETS[what] for what in TARGETS)))
