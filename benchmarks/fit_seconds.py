"""CPU seconds of one setting of each method by rows, features and classes, by which `fsgym compare` expects its time.

Writes ``fsgym/comparison/fit_seconds.csv`` after each method, and leaves its other rows as they are. Each line is the
mean over the settings of a comparison on one split of made-up data: two fits and the evaluations, in one process. Needs
the extras cegb and rl.

python benchmarks/fit_seconds.py
python benchmarks/fit_seconds.py --methods lattice,cart
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import pandas as pd
from sklearn.datasets import make_classification

import fsgym
from fsgym.comparison import planned
from fsgym.methods import METHODS
from fsgym.runner.store import TIMING_COLUMNS, open_store

PATH = Path(planned.__file__).with_name("fit_seconds.csv")
SIZES = ((150, 16, 2), (600, 16, 2), (2400, 16, 2), (600, 48, 2), (600, 16, 5), (1200, 32, 3))  # of the training part
LAM = (0.003, 0.03)


def seconds(method: str, n_samples: int, n_features: int, n_classes: int) -> float:
    """Mean CPU seconds of a setting; NaN where fits failed."""
    informative = max(n_features // 3, 4)
    X, y = make_classification(
        2 * n_samples, n_features, n_informative=informative, n_redundant=2, n_classes=n_classes, random_state=0
    )
    data = fsgym.Dataset(X, y, name=method)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = fsgym.compare(data, [method], splits=1, lam=LAM, references=False, out=folder, progress=False)
        if results["error"].notna().any():
            return float("nan")
        with open_store(Path(folder) / "results.sqlite") as store:
            times = pd.DataFrame(store.timings().values(), columns=list(TIMING_COLUMNS))
    return float(times["cpu_seconds"].sum() / len(results))


def main(methods: str = "") -> None:
    names = methods.split(",") if methods else list(METHODS)
    for name in names:
        rows = []
        seconds(name, *SIZES[0])  # imports, and compiles kernels
        for sizes in SIZES:
            measured = seconds(name, *sizes)
            print(f"{name:<16}{sizes!s:<18}{measured:.3g} s", flush=True)
            rows.append((name, *sizes, float(f"{measured:.3g}")))
        table = pd.read_csv(PATH)
        new = pd.DataFrame(rows, columns=list(table.columns)).dropna()
        table = pd.concat([table[table["method"] != name], new]) if len(table) else new
        order = {known: place for place, known in enumerate(METHODS)}
        table.sort_values("method", key=lambda column: column.map(order), kind="stable").to_csv(PATH, index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--methods", default="", help="names, separated by commas; default: all")
    main(**vars(parser.parse_args()))
