"""One case at a time: the time of a step, and of predictions on demand against ``predict``; one thread.

A step is to take less than a millisecond (median, 30 features, alternatives included), and predictions on demand at
most three times as long as ``predict`` on 10,000 rows, without the time that the source itself takes. Exits with status
1 if a limit is exceeded.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

from agents import AnyStateNetworkClassifier, DatumWiseClassifier, LatticeClassifier, MixtureClassifier

N_ROWS, N_STEPS = 10_000, 400
MOST_MILLISECONDS, MOST_RATIO = 1.0, 3.0  # limits
STEPS_LIMITED = ("lattice", "rcpi")


def step_times(model: Any, X: np.ndarray, names: list[str]) -> np.ndarray:
    """Milliseconds of steps in states with 0 to 29 known values."""
    rng, times = np.random.default_rng(0), []
    for i in range(N_STEPS):
        chosen = rng.permutation(len(names))[: i % len(names)]
        known = {names[k]: float(X[i % len(X), k]) for k in chosen}
        began = time.perf_counter()
        model.step(known)
        times.append(1e3 * (time.perf_counter() - began))
    return np.array(times)


def on_demand_ratio(model: Any, X: np.ndarray) -> tuple[float, int, int]:
    """CPU time of predictions on demand in that of ``predict``, the values fetched and those that were necessary."""
    inside, fetched = [0.0], [0]

    def get(name: str, rows: np.ndarray) -> np.ndarray:
        began = time.process_time()
        values = X[rows, int(name[1:])]
        fetched[0] += len(rows)
        inside[0] += time.process_time() - began
        return values

    model.predict_on_demand(get, 100)
    ratios = []
    for _ in range(7):
        began = time.process_time()
        expected = model.predict(X)
        between = time.process_time()
        inside[0], fetched[0] = 0.0, 0
        labels = model.predict_on_demand(get, len(X))
        ended = time.process_time()
        assert (labels == expected).all()
        ratios.append((ended - between - inside[0]) / (between - began))
    return float(np.median(ratios)), fetched[0], int(model.features_used(X).sum())


def main() -> int:
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = X[rng.integers(len(X), size=N_ROWS)] + 0.05 * X.std(axis=0) * rng.normal(size=(N_ROWS, X.shape[1]))
    models = {
        "lattice": LatticeClassifier(lam=0.003, random_state=0),
        "rcpi": DatumWiseClassifier(lam=0.003, random_state=0),
        "mixture": MixtureClassifier(lam=0.003, random_state=0),
        "network": AnyStateNetworkClassifier(lam=0.003, random_state=0),
    }
    failed = False
    for name, model in models.items():
        model.fit(X, y)
        times = step_times(model, X, list(model.rules_.names))
        ratio, fetched, necessary = on_demand_ratio(model, rows.astype(np.float32))
        median, most = np.median(times), np.quantile(times, 0.95)
        print(
            f"{name}: a step {median:.2f} ms (95 %: {most:.2f}); on demand {ratio:.2f} x predict, "
            f"{fetched:,} values fetched, {necessary:,} necessary"
        )
        failed |= fetched != necessary or ratio > MOST_RATIO
        failed |= name in STEPS_LIMITED and median > MOST_MILLISECONDS
    held = "not held" if failed else "held"
    print(f"limits: {MOST_MILLISECONDS:g} ms ({', '.join(STEPS_LIMITED)}), {MOST_RATIO:g} x: {held}")
    return int(failed)


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
