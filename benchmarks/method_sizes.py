"""CPU seconds of one fit of each method on three sizes of tables: python benchmarks/method_sizes.py

Not a ratio: the pages of the methods show the orders of magnitude. Writes docs/methods/sizes.csv, and measures only
what the file lacks: delete it to measure all methods again. A fit that takes over 20 seconds is stopped. Each fit runs
in a process of its own with one thread, after a fit on a small table.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
from sklearn.datasets import make_classification

from fsgym.methods import METHODS, load_class

PLACE = Path(__file__).resolve().parent.parent / "docs" / "methods" / "sizes.csv"
SIZES = ((500, 20), (5000, 20), (500, 200))  # rows, features
LONGEST = 20.0  # seconds
OTHER_SECONDS = 10  # for imports and the small fit
ONE_THREAD = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def seconds_of_fit(name: str, n_rows: int, n_features: int) -> float:
    """CPU seconds of a fit with the default settings, at a price of 0.01 where the method has one."""
    method = METHODS[name]
    options = {**method.preset, **({"lam": 0.01} if method.prices else {})}
    tables = [
        make_classification(n, p, n_informative=6, n_redundant=0, random_state=0)
        for n, p in ((60, 8), (n_rows, n_features))
    ]
    for X, y in tables:
        model = load_class(method)(**options)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        begin = time.process_time()
        model.fit(X, y)
    return time.process_time() - begin


def measured(name: str, n_rows: int, n_features: int) -> float:
    """The same in a process of its own; infinite if it is stopped."""
    command = ["bash", "-c", f'ulimit -t {int(LONGEST) + OTHER_SECONDS}; exec "$@"', "-", sys.executable, __file__]
    arguments = [name, str(n_rows), str(n_features)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
    if done.returncode < 0:  # killed by the limit
        return float("inf")
    if done.returncode:
        raise RuntimeError(f"{name}: {done.stderr[-500:]}")
    seconds = float(done.stdout.split()[-1])
    return seconds if seconds <= LONGEST else float("inf")


def main() -> None:
    """Measure the methods that the file lacks."""
    columns = ["method", "n_samples", "n_features", "seconds"]
    table = pd.read_csv(PLACE) if PLACE.exists() else pd.DataFrame(columns=columns)
    known = set(table["method"])
    rows = table.values.tolist()
    for name in sorted(METHODS, key=lambda name: METHODS[name].prices):  # the slow ones come last
        if name not in known:
            rows += [[name, n, p, float(f"{measured(name, n, p):.2g}")] for n, p in SIZES]
            pd.DataFrame(rows, columns=columns).to_csv(PLACE, index=False, lineterminator="\n")
            print(*rows[-len(SIZES) :], flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(seconds_of_fit(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    else:
        main()
