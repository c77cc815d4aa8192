"""The histogram intersection kernel of 500 and 500 rows with 1200 columns against SciPy's cityblock distances.

Both are one pass over the same pairs; from the distances the kernel still had to be made. Also predictions of 2000 rows
without the kernel, against the kernel and a product; and the kernels of nine similar selections of columns, with 100
test rows, each from another one's, against each computed anew. Process CPU time, one thread, best of several
interleaved runs.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from baselines import intersection_kernel
from baselines.uncertain.intersection import IntersectionMachine, selection_kernels

TARGET = 1.0
SHARES = (0.40, 0.42, 0.90, 0.90, 0.91, 0.91, 0.95, 0.99, 1.0)  # of the columns; a large set of the study has such ones


def cpu_seconds(function) -> float:
    began = time.process_time()
    function()
    return time.process_time() - began


def best(*functions, runs: int = 7) -> list[float]:
    return [min(times) for times in zip(*[[cpu_seconds(f) for f in functions] for _ in range(runs)])]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    A, B, T = (rng.random((n, 1200)) for n in (500, 500, 2000))
    intersection_kernel(A, B)
    both, symmetric, distances = best(
        lambda: intersection_kernel(A, B), lambda: intersection_kernel(A), lambda: cdist(A, B, "cityblock")
    )
    print(
        f"kernel {both:.4f} s, symmetric {symmetric:.4f} s, cityblock {distances:.4f} s: "
        f"ratio {both / distances:.2f} (target {TARGET})"
    )
    svc = SVC(kernel="precomputed").fit(intersection_kernel(A), A[:, 0] + 0.3 * rng.normal(size=500) > 0.5)
    c, b, support = svc.dual_coef_[0], svc.intercept_[0], A[svc.support_]
    machine = IntersectionMachine.from_support_vectors(support, c, b)
    machine.decision_function(T)
    fast, slow = best(lambda: machine.decision_function(T), lambda: intersection_kernel(T, support) @ c + b)
    difference = np.abs(machine.decision_function(T) - (intersection_kernel(T, support) @ c + b)).max()
    print(
        f"2000 predictions {fast:.4f} s, by the kernel {slow:.4f} s ({len(c)} support vectors, "
        f"difference {difference:.0e}): ratio {fast / slow:.2f}"
    )
    score = rng.random(1200)
    masks = [score + 0.01 * rng.random(1200) < 1.01 * share for share in SHARES]
    shared, separate = best(
        lambda: list(selection_kernels(A, T[:100], masks)),
        lambda: [(intersection_kernel(A[:, m]), intersection_kernel(T[:100, m], A[:, m])) for m in masks],
    )
    print(f"{len(masks)} selections {shared:.4f} s, each anew {separate:.4f} s: ratio {shared / separate:.2f}")
    sys.exit(int(both / distances > TARGET))
