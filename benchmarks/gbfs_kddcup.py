"""Gradient boosted feature selection on the 494,021 connections of KDD Cup 1999 (10 %): normal or not, one-hot codes.

A bag for each of the 41 measurements, so that a categorical one is paid for once. Each fifth row is for testing.
Prints CPU seconds per iteration and, for comparison, LightGBM's with the same depth, bins and gradients. Ours also
follows the held-out rows, and skips the columns of a one-hot code, which LightGBM bundles. Exits with
status 1 if 1000 iterations take more than ten minutes of the processor, or the process, reading included, needs 2
GiB. Needs the extra ``cegb``, and ``FSGYM_DATA`` naming a folder with the data.
"""

from __future__ import annotations

import resource
import sys
import time

import lightgbm
import numpy as np

from baselines import GBFSClassifier
from baselines.gbfs.losses import Logistic
from fsgym import load_dataset

ITERATIONS, DEPTH, COMPARED = 1000, 3, 50
MINUTES, GIB = 10.0, 2.0


def processor(work) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> int:
    data = load_dataset("kddcup99_10percent")
    y, bags = (data.classes[data.y] != "normal").astype(np.int64), np.empty(data.n_features, dtype=np.int64)
    for bag, members in enumerate(data.groups or ()):
        bags[list(members)] = bag
    test = np.arange(data.n_samples) % 5 == 0
    X, labels = data.X[~test], y[~test]
    settings = {"mu_rel": 2**-8, "max_depth": DEPTH, "min_samples_leaf": 5, "bags": bags, "random_state": 0}
    few = processor(lambda: GBFSClassifier(n_iter=10, **settings).fit(X, labels))  # compiles
    few = processor(lambda: GBFSClassifier(n_iter=10, **settings).fit(X, labels))
    model = GBFSClassifier(n_iter=ITERATIONS, early_stopping=None, **settings)
    took = processor(lambda: model.fit(X, labels))
    used = model.features_used(data.X[test])
    asked = np.mean([len(set(bags[row])) for row in used[::50]])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{len(labels):,} rows, {X.shape[1]} columns: {ITERATIONS} iterations in {took:.0f} s of the processor, peak "
        f"{peak:.2f} GiB; {len(set(bags[model.support_]))} of 41 measurements, {asked:.1f} a connection, "
        f"{100 * (model.predict(data.X[test]) != y[test]).mean():.3f} % wrong"
    )
    options = {
        "objective": "none", "num_leaves": 2**DEPTH, "max_depth": DEPTH, "min_data_in_leaf": 5, "max_bin": 255,
        "min_sum_hessian_in_leaf": 0, "feature_pre_filter": False, "verbose": -1, "num_threads": 1,
        "cegb_penalty_feature_coupled": [2 * model.mu_] * X.shape[1],
    }  # fmt: skip
    fit = data.X[~test][: int(0.8 * len(labels))]
    loss, ones = Logistic(labels[: len(fit)], None), np.ones(len(fit))
    booster = lightgbm.Booster(options, lightgbm.Dataset(fit, loss.y, params=options))

    def theirs() -> None:
        for _ in range(COMPARED):
            booster.update(fobj=lambda scores, _: (-loss.at(scores[None, :], False)[1][0], ones))

    theirs_each, ours_each = processor(theirs) / COMPARED, (took - few) / (ITERATIONS - 10)
    print(
        f"an iteration: {1e3 * ours_each:.0f} ms, LightGBM {1e3 * theirs_each:.0f}, ratio {ours_each / theirs_each:.2f}"
    )
    return int(took > 60 * MINUTES or peak >= GIB)


if __name__ == "__main__":
    sys.exit(main())
