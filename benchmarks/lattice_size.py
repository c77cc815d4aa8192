"""The lattice agent on large tables: CPU seconds, memory and loss as the number of rows or columns grows; one thread.

python benchmarks/lattice_size.py   (some ten minutes)

Each fit runs in a process of its own. Rows have 30 features, of which the first says which of two groups of three
features is informative; the wide table has 10,000 features, 20 of them informative. Limits: 150 CPU seconds and 1.5 GB
above the caller's arrays for 1,000,000 rows, an exponent of at most 1 beyond 50,000 rows, a loss not above that of a
fit on 50,000 of the rows by more than its standard error; 60 seconds and 4 GB for 4,000 rows of 10,000 features.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

ROWS, FEATURES, WIDE = (50_000, 200_000, 1_000_000), 30, (4_000, 10_000)
N_TEST, LAM = 50_000, 0.01
MAX_SECONDS, MOST_BYTES, MOST_EXPONENT = 150.0, 1.5e9, 1.0
MOST_SECONDS_WIDE, MOST_BYTES_WIDE = 60.0, 4e9
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def tall(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 30 normal features, and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, FEATURES), dtype=np.float32)
    score = np.where(X[:, 0] > 0, X[:, 1] * X[:, 2] + X[:, 3], X[:, 4] + np.abs(X[:, 5]) - X[:, 6])
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-3 * score))).astype(np.int64)


def wide(n_rows: int, n_features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of many normal features, twenty of them with weights that fall, and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    score = X[:, :20] @ (2.0 * 0.85 ** np.arange(20)).astype(np.float32)
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-score))).astype(np.int64)


def fit(n_rows: int, n_features: int) -> dict[str, float]:
    """CPU seconds, peak memory above that before the fit, and loss on other rows; to run in a process of its own."""
    from agents import LatticeClassifier
    from fsgym import evaluate

    make = tall if n_features == FEATURES else lambda n, seed: wide(n, n_features, seed)
    LatticeClassifier(lam=LAM, random_state=0).fit(*tall(1500, 1))  # loads the compiled code
    X, y = make(n_rows, 2)
    test = make(N_TEST if n_features == FEATURES else 4000, 3)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    model = LatticeClassifier(lam=LAM, random_state=0).fit(X, y)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = evaluate(model, *test)
    return {
        "seconds": seconds,
        "bytes": 1024.0 * (peak - before),
        "loss": result.loss,
        "error": float(result.losses.std() / np.sqrt(len(result.losses))),
        "accuracy": result.accuracy,
        "features": result.n_features,
        "subsets": model.history_[-1]["visited"],
    }


def measure(n_rows: int, n_features: int) -> dict[str, float]:
    import os

    command = [sys.executable, __file__, str(n_rows), str(n_features)]
    done = subprocess.run(command, env=os.environ | THREADS, stdout=subprocess.PIPE, check=True)
    figures = json.loads(done.stdout)
    print(
        f"{n_rows:,} x {n_features:,}: {figures['seconds']:.1f} CPU seconds, {figures['bytes'] / 1e9:.2f} GB, loss "
        f"{figures['loss']:.4f} ({figures['error']:.4f}), accuracy {figures['accuracy']:.3f} with "
        f"{figures['features']:.2f} features, {figures['subsets']} subsets visited",
        flush=True,
    )
    return figures


def main() -> bool:
    """Print the figures; True where all limits hold."""
    found = {n: measure(n, FEATURES) for n in ROWS}
    exponent = np.polyfit(np.log(ROWS), np.log([f["seconds"] for f in found.values()]), 1)[0]
    small, large = found[ROWS[0]], found[ROWS[-1]]
    difference = large["loss"] - small["loss"]
    print(f"exponent {exponent:.2f}; loss of the largest less that of {ROWS[0]:,} rows: {difference:+.4f}")
    broad = measure(*WIDE)
    return bool(
        large["seconds"] <= MAX_SECONDS
        and large["bytes"] <= MOST_BYTES
        and exponent <= MOST_EXPONENT
        and difference <= small["error"]
        and broad["seconds"] <= MOST_SECONDS_WIDE
        and broad["bytes"] <= MOST_BYTES_WIDE
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(fit(int(sys.argv[1]), int(sys.argv[2]))))
    else:
        sys.exit(int(not main()))
