"""How far the probabilities at the stop are from the truth, beyond what chance alone makes of true ones.

python benchmarks/calibration.py                            # the default agent, 14 small sets, split 100
python benchmarks/calibration.py --classes LatticeClassifier,MixtureClassifier --seeds 100,101
python benchmarks/calibration.py --classes MixtureClassifier --calibration none,auto
python benchmarks/calibration.py --calibration none,auto --miss 5   # answers follow the probabilities

For each set and price: the expected calibration error of the answers on test rows, less its mean over 200 label vectors
that are drawn from the model's own probabilities, for which it is calibrated; the log-loss and the loss. With several
calibrations also the CPU time of the training, as a ratio to the first one. Needs ``FSGYM_DATA``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import agents  # noqa: E402
import fsgym  # noqa: E402
from fsgym.comparison.splits import Split  # noqa: E402
from fsgym.metrics import excess_calibration_error  # noqa: E402
from fsgym_studies.suites.small.suite import SMALL_PRICES, SMALL_SETS, SMALL_TRAIN_SHARE  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--classes", default="AdaptiveClassifier", help="names in agents, separated by commas")
    parser.add_argument("--calibration", default="none", help="values of the parameter, separated by commas")
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--sets", default="", help="names of data sets, separated by commas; all without it")
    parser.add_argument("--miss", type=float, default=1.0, help="what a miss of the rarest class costs")
    given = parser.parse_args()
    lines, kinds = [], [(n, c) for n in given.classes.split(",") for c in given.calibration.split(",")]
    for case in SMALL_SETS:
        if given.sets and case.source.name not in given.sets.split(","):
            continue
        data = case.load(Path(os.environ["FSGYM_DATA"]))
        for seed in map(int, given.seeds.split(",")):
            train, test = Split(seed, SMALL_TRAIN_SHARE).divide(data)
            for name, calibration in kinds:
                costs = 1 - np.eye(data.n_classes)
                costs[:, np.bincount(train.y).argmin()] *= given.miss
                agent = getattr(agents, name)(error_costs=costs, calibration=calibration, random_state=seed)
                begun = time.process_time()
                with warnings.catch_warnings(action="ignore"):
                    models = agent.path(train, None, SMALL_PRICES)
                seconds = (time.process_time() - begun) / len(models)
                for model, price in zip(models, SMALL_PRICES):
                    result = fsgym.evaluate(model, test)
                    assert result.probabilities is not None
                    excess = excess_calibration_error(test.y, result.probabilities, random_state=seed)
                    figures = excess, result.log_loss, result.loss, seconds
                    lines.append((case.source.name, len(test.y), f"{name}, {calibration}", price, *figures))
    columns = ["dataset", "test rows", "agent", "price", "excess calibration error", "log-loss", "loss", "seconds"]
    rows = pd.DataFrame(lines, columns=columns)
    means = rows.groupby(["dataset", "test rows", "agent"], sort=False)[columns[4:7]].mean().unstack("agent").round(4)
    print(means.to_string())
    total = rows.groupby("agent", sort=False)[columns[4:]].mean()
    total["training time"] = total["seconds"] / total["seconds"].iloc[0]
    print(total.drop(columns="seconds").round(4).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main())
