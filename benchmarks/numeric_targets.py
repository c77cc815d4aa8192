"""Numeric and ordered targets of the default agent: beside the exact optimum, CEGB's regressor, and plain classes.

python benchmarks/numeric_targets.py                       # all parts, reported on seeds 0 to 4
python benchmarks/numeric_targets.py wine --seeds 100 105 --bins 8,16    # how the number of bins was chosen

Not speed. ``task``: made-up numbers of six bits. The optimum may answer with any number, not only with those of bins,
and knows the distribution; the loss of the agent is exact, too. ``wine``: quality of red wine, half of the rows for
training; the error of CEGB's regressor at the agent's mean price is interpolated between the best of its settings, of
both losses. ``ordered``: the same
grades as ordered and as plain classes, by the absolute difference. Needs the extra cegb, and FSGYM_DATA for wine.
Exits with status 1 if the agent is worse than it should be. Some four minutes on one core.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from agents import AdaptiveClassifier  # noqa: E402
from baselines import CEGBRegressor  # noqa: E402
from fsgym import Dataset, Rules, evaluate, load_dataset  # noqa: E402
from fsgym.exact import all_rows, optimum  # noqa: E402

TASK_PRICES = (0.02, 0.05, 0.1, 0.2)  # of a bit, in units of a target from -3 to 9
WINE_PRICES = (0.003, 0.01, 0.02, 0.03, 0.05)  # of a feature, in grades
CEGB_PRICES = (0.0, 0.0015, 0.003, 0.006, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.2, 0.4)
N_ROWS = 4000  # of training of a task
NOISE = {-2: 0.1, -1: 0.2, 0: 0.4, 1: 0.2, 2: 0.1}


def mean_of_bits(bits: np.ndarray) -> np.ndarray:
    """The centre of the numbers: which of two bits counts depends on the first one, and the last one is useless."""
    a, b, c, d, e, _ = bits.T
    return (4 * a + np.where(a == 1, 2 * b, -2 * c) + d * e).astype(int)


def task_optimum(lam: float) -> float:
    """The lowest expected absolute error plus price of any policy that may answer with any number."""
    rows = all_rows(6)
    centre = mean_of_bits(rows)
    values = np.arange(centre.min() - 2, centre.max() + 3)  # a median is one of them
    joint = np.zeros((len(rows), len(values)))
    for shift, share in NOISE.items():
        joint[np.arange(len(rows)), np.searchsorted(values, centre + shift)] += share / len(rows)
    costs = np.abs(values[:, None] - values).astype(float)
    rules = Rules(6, len(values), lam=lam, error_costs=costs)
    return optimum(joint.reshape(*(2,) * 6, len(values)), rules)


def task_loss(model: AdaptiveClassifier, lam: float) -> float:
    """The exact expected loss of a model."""
    rows = all_rows(6)
    predicted, spent, centre = model.predict(rows), model.features_used(rows).sum(axis=1), mean_of_bits(rows)
    errors = sum(share * np.abs(centre + shift - predicted) for shift, share in NOISE.items())
    return float((errors + lam * spent).mean())


def run_task(seeds: range, n_bins: list[int]) -> bool:
    shifts, shares = np.array(list(NOISE)), list(NOISE.values())
    good = []
    for lam in TASK_PRICES:
        best = task_optimum(lam)
        for bins in n_bins:
            ratios = []
            for seed in seeds:
                rng = np.random.default_rng(seed)
                bits = rng.integers(0, 2, (N_ROWS, 6)).astype(np.float32)
                data = Dataset(bits, mean_of_bits(bits) + rng.choice(shifts, N_ROWS, p=shares), bins=bins)
                model = AdaptiveClassifier(lam=lam, random_state=0).fit(data)
                ratios.append(task_loss(model, lam) / best)
            good.append(np.mean(ratios) <= 1.05)
            print(f"task, price {lam:g}, {bins} bins: loss / optimum {np.mean(ratios):.3f}, at most {max(ratios):.3f}")
    return sum(good) >= 3


def interpolated(price: float, prices: np.ndarray, errors: np.ndarray) -> float:
    """The lowest error at most this mean price on the lower convex hull: mixtures of two settings count, too."""
    best = min((e for p, e in zip(prices, errors) if p <= price), default=np.inf)
    for p, e in zip(prices, errors):
        for q, f in zip(prices, errors):
            if p <= price < q:
                best = min(best, e + (f - e) * (price - p) / (q - p))
    return float(best)


def run_wine(seeds: range, n_bins: list[int]) -> bool:
    lines, name = [], "wine_quality_red"
    for seed in seeds:
        whole = load_dataset(name, bins=n_bins[0])
        train, test = whole.split(0.5, seed)
        curve = [
            evaluate(CEGBRegressor(lam=lam, loss=loss, random_state=0).fit(train.to_array(), train.numbers), test)
            for lam in CEGB_PRICES
            for loss in ("absolute", "squared")
        ]
        prices, errors = np.array([(r.spent, r.absolute_error) for r in curve]).T
        for bins in n_bins:
            part = train.replace(bins=bins)
            for lam in WINE_PRICES:
                result = evaluate(AdaptiveClassifier(lam=lam, random_state=0).fit(part), test)
                peer = interpolated(result.spent, prices, errors)
                lines.append((bins, lam, result.spent, result.absolute_error, peer))
    table = pd.DataFrame(lines, columns=["bins", "price", "spent", "agent", "cegb"])
    table = table.groupby(["bins", "price"], as_index=False).mean()
    table["agent / cegb"] = table["agent"] / table["cegb"]
    print("wine, mean absolute errors at the agent's mean price")
    print(table.round(4).to_string(index=False))
    return bool((table["agent / cegb"] <= 1).groupby(table["bins"]).sum().min() >= 3)


def run_ordered(seeds: range) -> bool:
    lines, name = [], "wine_quality_red"
    whole = load_dataset(name)
    graded = whole.replace(ordered=whole.classes.tolist())
    for seed in seeds:
        train, test = graded.split(0.5, seed)
        for lam in WINE_PRICES:
            rules = Rules.for_dataset(test, lam=lam)
            ordered = AdaptiveClassifier(lam=lam, random_state=0).fit(train)
            plain = AdaptiveClassifier(lam=lam, random_state=0).fit(train.replace(ordered=None))
            lines.append((lam, evaluate(ordered, test).loss, evaluate(plain, test, rules=rules).loss))
    table = pd.DataFrame(lines, columns=["price", "ordered", "plain"])
    means = table.groupby("price", as_index=False).mean()
    means["ordered / plain"] = means["ordered"] / means["plain"]
    print("wine as grades, absolute difference plus price")
    print(means.round(4).to_string(index=False))
    of_splits = (table["ordered"] - table["plain"]).to_numpy().reshape(len(seeds), -1).mean(axis=1)
    error = of_splits.std(ddof=1) / len(seeds) ** 0.5
    print(f"difference {of_splits.mean():.4f} with standard error {error:.4f} over splits")
    return bool(table["ordered"].mean() <= table["plain"].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["task", "wine", "ordered"])
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 5), metavar=("FIRST", "END"))
    parser.add_argument("--bins", default="16")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds, bins = range(*given.seeds), [int(text) for text in given.bins.split(",")]
    run = {
        "task": lambda: run_task(seeds, bins),
        "wine": lambda: run_wine(seeds, bins),
        "ordered": lambda: run_ordered(seeds),
    }
    failed = [part for part in given.parts if not run[part]()]
    sys.exit(f"worse than it should be: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
