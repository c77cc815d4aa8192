"""The default agent and its peers on the 14 data sets of the suite ``small``, on splits of their own.

python benchmarks/default_agent.py --out rows.csv                                    # all methods, splits 100 to 104
python benchmarks/default_agent.py --methods adaptive --out new.csv --against rows.csv

Each method is fitted at five prices as the suite fits it; "static" is the static selection of the study
``lattice-vs-peers``. A row counts as won where the first method's mean loss over
the splits is at most .002 above that of the best peer. ``--against`` compares the first method with the one of the same
name in another file, such as that of another version: by a row's paired difference over the splits. Rows that ``--out``
has are not measured again. Needs ``FSGYM_DATA``; some two hours on one core.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from joblib import Parallel, delayed  # noqa: E402

from fsgym.comparison.protocol import seed_of  # noqa: E402
from fsgym.comparison.splits import Split  # noqa: E402
from fsgym_studies.lattice_vs_peers.cell import at_prices  # noqa: E402
from fsgym_studies.suites.cell import run_method  # noqa: E402
from fsgym_studies.suites.methods import chosen_methods, has_prices  # noqa: E402
from fsgym_studies.suites.small.suite import SMALL_PRICES, SMALL_SETS, SMALL_TRAIN_SHARE  # noqa: E402
from fsgym_studies.suites.suite import Problem  # noqa: E402

METHODS = ("adaptive", "stopping", "panel", "cegb", "cart", "static", "l1_logistic")
WON = 0.002  # above the best peer, a row counts as won up to here


def measure(name: str, seed: int, method: str, data) -> pd.DataFrame:
    """A line per price: loss, features used and CPU seconds of the whole path."""
    split = Split(seed, SMALL_TRAIN_SHARE)
    if method == "static":
        cell = at_prices(data, method=method, prices=SMALL_PRICES, split=split, seed=seed_of((name, seed, method)))
        columns = {"price": cell["lam"], "loss": cell["loss"], "features": cell["n_features"]}
        return pd.DataFrame(columns).assign(dataset=name, seed=seed, method=method, seconds=cell["seconds"])
    problem = Problem(name, [(data, split)], SMALL_PRICES)
    (compared,) = (
        m for m in chosen_methods((method,), {}).settings(split.divide(data)[0], SMALL_PRICES, {}) if m.name == method
    )
    cell = run_method(
        dataset=data,
        split=split,
        candidates=list(compared.candidates),
        by_price=has_prices(compared, SMALL_PRICES),
        measurement=problem.measurement(),
        seed=seed_of((name, seed, method)),
    )
    scores = pd.DataFrame(cell["scores"]).query("score in ('loss', 'features')")
    scores = scores.pivot(index="at", columns="score", values="value")
    scores = scores.rename_axis("price").reset_index().astype({"price": float})
    return scores.assign(dataset=name, seed=seed, method=method, seconds=cell["seconds"])


def report(rows: pd.DataFrame, focus: str, older: pd.DataFrame | None) -> None:
    """Print the tables."""
    means = rows.pivot_table(index=["dataset", "price"], columns="method", values="loss")
    print(means.round(4).to_string())
    print("\nmean loss", means.mean().round(4).to_dict(), sep="\n")
    print("CPU seconds of a path", rows.groupby("method").seconds.mean().round(2).to_dict(), sep="\n")
    if focus in means and means.shape[1] > 1:
        won = means[focus] <= means.drop(columns=focus).min(axis=1) + WON
        print(f"won {won.sum()} of {len(won)} rows: {won.mean():.1%}")
    if older is None:
        return
    index = ["dataset", "price", "seed"]
    new, old = (t[t.method == focus].set_index(index).loss for t in (rows, older))
    difference = (new - old).dropna().unstack("seed")
    n = difference.notna().sum(axis=1)
    by_row = pd.DataFrame({"mean": difference.mean(axis=1), "se": difference.std(axis=1) / np.sqrt(n)})
    by_row["errors"] = by_row["mean"] / by_row["se"].clip(lower=1e-9)
    by_fit = (new - old).dropna().groupby(["dataset", "seed"]).mean()
    seconds = [t[t.method == focus].groupby(["dataset", "seed"]).seconds.first() for t in (rows, older)]
    both = pd.concat(seconds, axis=1, keys=["new", "old"]).dropna()
    print(f"\nagainst the older file: {by_fit.mean():+.4f} (standard error over {len(by_fit)} fits {by_fit.sem():.4f})")
    print(f"CPU seconds: {both.new.sum() / both.old.sum():.2f} of the older")
    worse = {k: int(((by_row.errors > k) & (by_row["mean"] > 0)).sum()) for k in (2, 4)}
    print(f"rows worse by more than so many standard errors: {worse}")
    print(by_row["mean"].unstack("price").assign(all=by_row["mean"].groupby("dataset").mean()).round(4).to_string())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default=",".join(METHODS), help="names, separated by commas; the first is judged")
    parser.add_argument("--seeds", default="100,101,102,103,104")
    parser.add_argument("--sets", default="", help="names of data sets, separated by commas; all without it")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    methods, seeds = given.methods.split(","), [int(s) for s in given.seeds.split(",")]
    wanted = [c for c in SMALL_SETS if not given.sets or c.source.name in given.sets.split(",")]
    rows = pd.read_csv(given.out) if given.out.exists() else pd.DataFrame(columns=["dataset", "seed", "method"])
    done = set(zip(rows.dataset, rows.seed, rows.method))
    sets = {c.source.name: c.load(Path(os.environ["FSGYM_DATA"])) for c in wanted}
    tasks = [(n, s, m) for s in seeds for m in methods for n in sets if (n, s, m) not in done]
    measured = Parallel(given.jobs, return_as="generator_unordered")(
        delayed(measure)(n, s, m, sets[n]) for n, s, m in tasks
    )
    for part in measured:
        rows = pd.concat([rows, part], ignore_index=True) if len(rows) else part
        rows.to_csv(given.out, index=False)
        name, seed, method, seconds = (part[c].iloc[0] for c in ("dataset", "seed", "method", "seconds"))
        print(f"{name} {seed} {method}: {seconds:.1f} s", file=sys.stderr, flush=True)
    kept = rows[rows.method.isin(methods) & rows.seed.isin(seeds) & rows.dataset.isin(list(sets))]
    report(kept, methods[0], None if given.against is None else pd.read_csv(given.against))
    return 0


if __name__ == "__main__":
    sys.exit(main())
