"""RCPI with default settings on half of breast cancer (284 rows x 30), two threads, kernels compiled.

Prints the wall seconds of ``learn`` and, measured in the same run because machines differ, those of scikit-learn's
gradient boosting with 100 trees on the same rows.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split

from agents import RCPI
from fsgym import DatumWiseEnv, Rules, load_dataset


def seconds(function) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


if __name__ == "__main__":
    data = load_dataset("breast_cancer")
    data = data.rows(train_test_split(np.arange(data.n_samples), train_size=0.5, random_state=0)[0])
    env = DatumWiseEnv(data, Rules.for_dataset(data, lam=0.01))
    RCPI(env, n_jobs=2, random_state=0).learn()
    pairs = [
        (
            seconds(lambda: RCPI(env, n_jobs=2, random_state=0).learn()),
            seconds(lambda: GradientBoostingClassifier(random_state=0).fit(data.X, data.y)),
        )
        for _ in range(7)
    ]
    ours, theirs = np.median(pairs, axis=0)
    print(
        f"RCPI, 10 iterations of {10 * data.n_samples} states: {ours:.3f} s; "
        f"gradient boosting, 100 trees: {theirs:.3f} s; ratio {ours / theirs:.2f}"
    )
