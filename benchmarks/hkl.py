"""Disjunctions by hierarchical kernel learning: CPU seconds of fits, against cvxpy with Clarabel on the same restricted
problem; memory of the certificate; one thread.

The three MONK problems and the boards of tic-tac-toe as one-hot codes, with the stop "necessary"; the program over the
active set of tic-tac-toe, also for cvxpy; one restricted problem of 5000 rows and 500 features; the certificate of
5000 different rows. Prints the rules of MONK-1 and MONK-3. Leaves with status 1 where a MONK fit takes 0.5 s,
tic-tac-toe 3 s or the restricted problem 10 s, where cvxpy is not slower or objectives are apart, and where the
certificate needs more than 1.1 times 8 bytes for each pair of rows. Needs ``FSGYM_DATA`` and
``pip install cvxpy clarabel``.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from baselines import Booleanizer, DisjunctionClassifier
from baselines.hkl.active_set import distinct_rows
from baselines.hkl.certificate import Certificate
from baselines.hkl.interior_point import interior_point
from baselines.hkl.lattice import ActiveSet, DisjunctionLattice
from baselines.hkl.problem import HKLProblem
from fsgym import load_dataset

MONK = {"monk1": (1000, 2, 1.1), "monk2": (1000, 1.2, 2.0), "monk3": (10, 4, 1.1)}


def codes(name: str, split: str = "all") -> tuple[pd.DataFrame, np.ndarray]:
    """One-hot codes of all levels, and the classes."""
    data = load_dataset(name, split, one_hot=False)
    levels = pd.DataFrame(data.X.astype(int) + 1, columns=data.feature_names)  # MONK counts its levels from 1
    booleanizer = Booleanizer(nominal="all").fit(levels)
    return pd.DataFrame(booleanizer.transform(levels), columns=booleanizer.get_feature_names_out()), data.y


def cpu(function) -> tuple[float, object]:
    began = time.process_time()
    result = function()
    return time.process_time() - began, result


def words(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of about a tenth of n words, and a noisy disjunction of conjunctions of them."""
    rng = np.random.default_rng(0)
    X = (rng.random((m, n)) < 0.1 + 0.3 * rng.random(n) ** 3).astype(float)
    concept = X[:, :8].any(axis=1) & ~X[:, 8:12].any(axis=1) | (X[:, 12] * X[:, 13] > 0)
    return X, np.where(concept ^ (rng.random(m) < 0.05), 1.0, -1.0)


def restricted(X: np.ndarray, y: np.ndarray, nodes: list, C: float, beta: float, p: float) -> HKLProblem:
    lattice = DisjunctionLattice(np.full(X.shape[1], beta), X.shape[1], True, np.zeros(X.shape[1], dtype=np.int64))
    active = ActiveSet(lattice, X)
    for size in range(1, 1 + max(map(len, nodes))):
        active.add([v for v in nodes if len(v) == size])
    return HKLProblem(active.Psi, y, np.full(len(y), C), active.membership(), active.delta(), p)


def by_cvxpy(problem: HKLProblem) -> float:
    w, b = cp.Variable(problem.Psi.shape[1]), cp.Variable()
    norms = [d * cp.pnorm(w[np.flatnonzero(g)], problem.p) for d, g in zip(problem.delta, problem.membership)]
    loss = problem.C @ cp.pos(1 - cp.multiply(problem.y, problem.Psi @ w - b))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(cp.Problem(cp.Minimize(0.5 * cp.square(sum(norms)) + loss)).solve(solver=cp.CLARABEL))


def certificate_memory(m: int, n: int) -> tuple[float, float, int]:
    """CPU seconds, peak bytes for each pair of different rows, and number of rows."""
    X = distinct_rows(words(m, n)[0])
    a = np.random.default_rng(1).normal(size=len(X))
    lattice = DisjunctionLattice(np.full(n, 2.0), n, True, np.zeros(n, dtype=np.int64))
    active = ActiveSet(lattice, X)
    certificate = Certificate(1 - X, lattice)
    tracemalloc.start()
    seconds, _ = cpu(lambda: certificate.quadratic_forms(a - a.mean(), active, active.sources()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak / len(X) ** 2, len(X)


if __name__ == "__main__":
    failed = []
    with threadpool_limits(1):
        for name, setting in MONK.items():
            X, y = codes(name, "train")
            fits = [cpu(lambda X=X, y=y, s=setting: DisjunctionClassifier(*s).fit(X, y)) for _ in range(3)]
            seconds, model = min(fits, key=lambda pair: pair[0])
            test = codes(name, "test")
            print(f"{name} {setting}: {seconds:.3f} s, {model.score(*test):.2%} of the test rows")
            if len(model.disjunctions_) < 10:
                print(model.describe())
            failed += [name] * (seconds >= 0.5)
        X, y = codes("tic_tac_toe")
        seconds, model = cpu(lambda: DisjunctionClassifier(1e4).fit(X, y))
        print(f"tic-tac-toe, {X.shape}: {seconds:.2f} s, {model.n_active_} active, {model.status_}")
        failed += ["tic-tac-toe"] * (seconds >= 3.0)

        for p in (2.0, 1.5):
            problem = restricted(X.to_numpy(), np.where(y, 1.0, -1.0), model.active_nodes_[0], 100.0, 2.0, p)
            ours, found = cpu(lambda problem=problem: interior_point(problem, 1e-6))
            theirs, value = cpu(lambda problem=problem: by_cvxpy(problem))
            apart = abs(found.primal / value - 1)
            print(
                f"p = {p}, {problem.Psi.shape}, to 1e-6: {ours:.2f} s; cvxpy with Clarabel {theirs:.2f} s, ratio "
                f"{theirs / ours:.1f}; objectives apart by {apart:.1e}"
            )
            failed += [f"cvxpy at p = {p}"] * (theirs < ours or apart > 1e-5)

        X, y = words(5000, 500)
        problem = restricted(X, y, [(l,) for l in range(500)], 1.0, 2.0, 2.0)
        seconds, found = cpu(lambda: interior_point(problem, 1e-2))
        print(f"one restricted problem, {problem.Psi.shape}: {seconds:.1f} s, gap {found.gap:.1e}")
        failed += ["5000 x 500"] * (seconds >= 10.0 or found.gap > 1e-2)

        seconds, each, rows = certificate_memory(5000, 500)
        print(
            f"certificate of {rows} different rows and 500 features: {seconds:.1f} s, {each:.2f} bytes a pair of rows"
        )
        failed += ["memory"] * (each > 1.1 * 8)
    if failed:
        sys.exit(f"slower, larger or less exact than it must be: {', '.join(failed)}")
