"""Gradient boosted feature selection against LightGBM: the same depth, bins, gradients and penalties, in turns.

Each turn grows the first trees anew, ours and LightGBM's, which is given our gradients (first order, as in the paper),
and LightGBM's with its own logistic objective for comparison. One thread is timed in CPU time, two on the clock, which
is fair only on a quiet machine: LightGBM's threads wait for each other in a loop. Memory is what a process needs on top
of the table. Leaves with status 1 where an iteration takes more than 1.25 times as long as LightGBM's, binning more
than 1.5 times, or memory is above a byte a value, 64 a row and 32 MiB. Needs the extra ``cegb``.

    python benchmarks/gbfs.py [turns]
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import lightgbm
import numpy as np

from baselines import GBFSClassifier
from baselines.gbfs.losses import Logistic
from baselines.gbfs.model import FeaturePrices, boost_with_prices, make_phi
from fsgym.trees import TreeGrower, bin_table

SIZES = ((30_000, 100), (200_000, 100), (1_000_000, 50))
DEPTH, ITERATIONS = 4, 6
PER_ITERATION, BINNING = 1.25, 1.5


def problem(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X[:, :5].sum(axis=1) + rng.normal(size=n) > 0).astype(np.int64)


def gradients(y: np.ndarray):
    """What LightGBM calls an objective: our gradients, and ones for hessians."""
    loss = Logistic(y, None)
    ones = np.ones(len(y))
    return lambda scores, _: (-loss.at(scores[None, :], False)[1][0], ones)


def options(n: int, d: int, threads: int) -> dict:
    return {
        "num_leaves": 2**DEPTH, "max_depth": DEPTH, "learning_rate": 0.1, "max_bin": 255, "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0, "feature_pre_filter": False, "boost_from_average": False, "verbose": -1,
        "num_threads": threads, "cegb_penalty_feature_coupled": [2 * 0.002 * n] * d,
    }  # fmt: skip


def seconds(work, clock) -> float:
    began = clock()
    work()
    return clock() - began


def ours(table, y: np.ndarray, threads: int):
    """What grows the first trees, on bins that are there."""
    prices = FeaturePrices(0.002 * len(y), np.ones(table.n_features), make_phi(table.n_features, None, None, None))

    def work() -> None:
        with TreeGrower(table, max_depth=DEPTH, n_jobs=threads) as grower:
            boost_with_prices(grower, Logistic(y, None), prices, np.zeros(1), ITERATIONS, 0.1)

    return work


def theirs(data, y: np.ndarray, parameters: dict, objective: str):
    booster = lightgbm.Booster({**parameters, "objective": objective}, data)
    given = gradients(y) if objective == "none" else None

    def work() -> None:
        for _ in range(ITERATIONS):
            booster.update(fobj=given) if given else booster.update()

    return work


def compare(n: int, d: int, threads: int, turns: int) -> list[str]:
    """Print a line of figures; return which limits were missed."""
    X, y = problem(n, d)
    parameters, clock = options(n, d, threads), time.process_time if threads == 1 else time.perf_counter
    timings: dict[str, list[float]] = {"ours": [], "theirs": [], "own": [], "bins": [], "their bins": []}
    for turn in range(turns + 1):
        ours_binned: dict = {}
        bins = seconds(lambda k=ours_binned: k.update(table=bin_table(X, n_jobs=threads)), clock)
        data = lightgbm.Dataset(X, y, params=parameters, free_raw_data=False)
        their_bins = seconds(data.construct, clock)
        figures = (
            seconds(ours(ours_binned["table"], y, threads), clock),
            seconds(theirs(data, y, parameters, "none"), clock),
            seconds(theirs(data, y, parameters, "binary"), clock),
            bins,
            their_bins,
        )
        if turn:  # the first one compiles
            for name, figure in zip(timings, figures):
                timings[name].append(figure)
    each = {name: 1e3 * float(np.median(v)) / ITERATIONS for name, v in timings.items()}
    ratio, binning = each["ours"] / each["theirs"], each["bins"] / each["their bins"]
    own = each["ours"] / each["own"]
    print(
        f"{n:>9,} x {d}, {threads} thread{'s' * (threads > 1)}: {each['ours']:6.1f} ms an iteration, LightGBM "
        f"{each['theirs']:6.1f}, ratio {ratio:.2f} (its own objective {each['own']:6.1f}, {own:.2f});"
        f" bins {each['bins'] * ITERATIONS / 1e3:5.2f} s, LightGBM {each['their bins'] * ITERATIONS / 1e3:5.2f}, "
        f"ratio {binning:.2f}",
        flush=True,
    )
    missed = [f"iteration {ratio:.2f}"] * (ratio > PER_ITERATION) + [f"bins {binning:.2f}"] * (binning > BINNING)
    return [f"{n} x {d}, {threads} threads: {what}" for what in missed]


def resident(what: str) -> int:
    """Memory of this process in bytes, now ("VmRSS") or at its peak ("VmHWM").

    Not from getrusage, which reports the peak of the parent to a child.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(what))


def memory(who: str, n: int, d: int) -> None:
    """Print by how many bytes a fit raises the peak of this process; run in one of its own."""
    small, labels = problem(500, d)
    model = GBFSClassifier(mu_rel=0.01, n_iter=ITERATIONS, max_depth=DEPTH, validation_fraction=None)
    model.fit(small, labels)  # compiles and loads everything, so that only the data counts below
    X, y = problem(n, d)
    before = resident("VmRSS")
    if who == "ours":
        model.fit(X, y)
    else:
        theirs(lightgbm.Dataset(X, y, params=options(n, d, 1)), y, options(n, d, 1), "none")()
    print(resident("VmHWM") - before)


def main(turns: int = 5) -> int:
    missed = [v for n, d in SIZES for threads in (1, 2) for v in compare(n, d, threads, turns)]
    n, d = SIZES[-1]
    needs = {}
    for who in ("ours", "lightgbm"):
        done = subprocess.run([sys.executable, __file__, "memory", who], capture_output=True, text=True, check=True)
        needs[who] = int(done.stdout)
    limit = n * d + 64 * n + 2**25
    print(
        f"memory on top of {n:,} x {d}: {needs['ours'] / 2**20:.0f} MiB, LightGBM {needs['lightgbm'] / 2**20:.0f}; "
        f"a byte a value, 64 a row and 32 MiB are {limit / 2**20:.0f}"
    )
    missed += ["memory"] * (needs["ours"] > limit)
    print("missed: " + "; ".join(missed) if missed else "all limits met")
    return int(bool(missed))


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        memory(sys.argv[2], *SIZES[-1])
    else:
        sys.exit(main(*(int(v) for v in sys.argv[1:2])))
