"""How far the probabilities at the stop are from the truth, beyond what chance alone makes of true ones.

python benchmarks/calibration.py                            # the default agent, 14 small sets, split 100
python benchmarks/calibration.py --classes LatticeClassifier,MixtureClassifier --seeds 100,101

Not speed. For each set and price: the expected calibration error of the answers on test rows, less its mean over 200
label vectors that are drawn from the model's own probabilities, for which it is calibrated. Needs ``FSGYM_DATA``.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import agents  # noqa: E402
from fsgym.comparison.splits import Split  # noqa: E402
from fsgym.metrics import expected_calibration_error  # noqa: E402
from fsgym_studies.suites.small.suite import SMALL_PRICES, SMALL_SETS, SMALL_TRAIN_SHARE  # noqa: E402

DRAWS = 200


def excess(proba: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """The calibration error less its mean over labels drawn from the probabilities, and the mean log-loss."""
    beyond = proba.cumsum(axis=1)
    drawn = ((rng.random((DRAWS, len(y), 1)) * beyond[:, -1:]) > beyond).sum(axis=2)
    by_chance = np.mean([expected_calibration_error(labels, proba) for labels in drawn])
    of_truth = np.maximum(proba[np.arange(len(y)), y], 1e-6)
    return expected_calibration_error(y, proba) - by_chance, float(-np.log(of_truth).mean())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", default="AdaptiveClassifier", help="names in agents, separated by commas")
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--sets", default="", help="names of data sets, separated by commas; all without it")
    given = parser.parse_args()
    lines = []
    for case in SMALL_SETS:
        if given.sets and case.source.name not in given.sets.split(","):
            continue
        data = case.load(Path(os.environ["FSGYM_DATA"]))
        for seed in map(int, given.seeds.split(",")):
            train, test = Split(seed, SMALL_TRAIN_SHARE).divide(data)
            for name in given.classes.split(","):
                with warnings.catch_warnings(action="ignore"):
                    models = getattr(agents, name)(random_state=seed).path(train, None, SMALL_PRICES)
                for model, price in zip(models, SMALL_PRICES):
                    figures = excess(model.predict_proba(test), test.y, np.random.default_rng(seed))
                    lines.append((case.source.name, len(test.y), name, price, *figures))
    columns = ["dataset", "test rows", "class", "price", "calibration error beyond chance", "log-loss"]
    rows = pd.DataFrame(lines, columns=columns)
    means = rows.groupby(["dataset", "test rows", "class"])[columns[4:]].mean().unstack("class").round(4)
    print(means.to_string())
    print(rows.groupby("class")[columns[4:]].mean().round(4).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
