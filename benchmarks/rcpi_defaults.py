"""Not speed: RCPI with its defaults against RCPI as version 0.1.0 had it, on the same splits, with limits.

Version 0.1.0 had uniform states, linear answers, a policy per trajectory and ten iterations. The first part is the
loss on the 30 features of breast cancer, over five splits, with a limit at each price. With ``FSGYM_DATA``, the second
part has accuracies at sparsities of which sections 6.1 and 6.2 of Dulac-Arnold et al. (2012) speak, and an area, over
ten splits; each must be higher than before. Exits with status 1 if a limit is not within. Some minutes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import fsgym
from agents import DatumWiseClassifier
from fsgym import Dataset, load_dataset
from fsgym.comparison.splits import random_splits
from fsgym_studies.common.plan import Source
from fsgym_studies.common.statistics import accuracy_at, area
from fsgym_studies.dwsm.multiclass import MULTICLASS_PRICES
from fsgym_studies.dwsm.shared import DWSM_PRICES

BEFORE = {"n_iterations": 10, "answers": "linear", "acquisitions": "linear"}
BEFORE |= {"states": "uniform", "mixture": "trajectory", "start": "uniform"}
FORMS: tuple[dict[str, Any], ...] = (BEFORE, {})
LIMITS = {0.01: 0.85, 0.03: 0.70, 0.1: 0.80}  # by price, of the loss before
AREA = None  # in place of a sparsity
FIGURES = (  # data set, share of training rows, sparsity, prices, least gain
    (Source("breast_cancer_wisconsin_683", "breast cancer with id"), 0.5, 0.9, DWSM_PRICES, 0.045),
    (Source("wine", "wine"), 0.9, 0.8, MULTICLASS_PRICES, 0.086),
    (Source("vowel", "vowel"), 0.5, AREA, MULTICLASS_PRICES, 0.028),
    (Source("ionosphere", "ionosphere"), 0.5, 0.8, DWSM_PRICES, 0.057),
)


def results(data: Dataset, share: float, n_splits: int, prices: Sequence[float]) -> list[list[list[fsgym.Evaluation]]]:
    """Evaluations on the test rows by form of RCPI, split and price."""

    def evaluation(form: dict[str, Any], split: Any, lam: float) -> fsgym.Evaluation:
        train, test = split.divide(data)
        return fsgym.evaluate(DatumWiseClassifier(lam, random_state=0, **form).fit(train), test)

    splits = random_splits(share, n_splits)
    tasks = [delayed(evaluation)(f, split, lam) for f in FORMS for split in splits for lam in prices]
    done = Parallel(n_jobs=-1)(tasks)
    n = len(prices)
    by_split = [done[i : i + n] for i in range(0, len(done), n)]
    return [by_split[i : i + n_splits] for i in range(0, len(by_split), n_splits)]


def height(evaluations: Sequence[fsgym.Evaluation], sparsity: float | None) -> float:
    """Height of the curve of one split over all prices at a sparsity, or the area under it."""
    points = np.array([(e.sparsity, e.accuracy) for e in evaluations]).T
    chance = np.bincount(evaluations[0].dataset.y).max() / len(evaluations[0].dataset.y)
    return area(*points, chance) if sparsity is AREA else float(accuracy_at(sparsity, *points, chance))


def main() -> int:
    within = True
    losses = [
        np.mean([[e.loss for e in split] for split in form], axis=0)
        for form in results(load_dataset("breast_cancer"), 0.7, 5, list(LIMITS))
    ]
    for (lam, limit), before, now in zip(LIMITS.items(), *losses):
        within &= now <= limit * before
        print(f"30 features, price {lam:g}: loss {before:.3f} before, {now:.3f}: {now / before:.2f} (limit {limit:g})")
    folder = os.environ.get("FSGYM_DATA")
    if folder is None:
        print("FSGYM_DATA is not set: the accuracies at equal sparsity are left out")
    for source, share, sparsity, prices, gain in FIGURES if folder else ():
        data = source.load(Path(folder))
        before, now = (np.mean([height(s, sparsity) for s in form]) for form in results(data, share, 10, prices))
        within &= now - before >= gain
        what = "area" if sparsity is AREA else f"accuracy at sparsity {sparsity:g}"
        print(
            f"{source.title}, {share:.0%} of the rows, {what}: {before:.3f} before, {now:.3f}: {now - before:+.3f} "
            f"(least {gain:+.3f})"
        )
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
