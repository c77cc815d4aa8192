"""The sparse group LASSO's solver against skglm's, at one duality gap, and its start from the compilation cache; the
group LASSO's, squared and logistic, against adelie's, at one excess of the objective.

500 rows, 5000 columns, groups of 10, relative gap 1e-6, with independent columns and with groups of correlation 0.9.
Ours is a whole call with a fresh problem; skglm's is its solver alone, with the loosest of a ladder of tolerances that
reaches the gap (its own stopping rule is another one). Process CPU time, one thread, the best of several interleaved
runs, both compiled before. Also the objective that cvxpy finds, where it is installed. Needs the extra ``bench``.

adelie solves the group LASSO (no L1 penalty), reports no gap, and has a tolerance of its own. Ours stops at the gap of
1e-6; adelie has the loosest tolerance of a ladder whose largest excess along the path is at most ours. The excess is
above the lowest objective of all runs, over the loss without features. Medians of interleaved runs. adelie is left out
where it is not installed. It asks for NumPy below 2, but runs with later ones:
``pip install --no-deps -c constraints.txt adelie``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from baselines.sparse_group_lasso import sgl_lambda_max, sgl_path
from baselines.sparse_group_lasso.classifier import lambda_max, logistic_path, null_model
from baselines.sparse_group_lasso.exact import SGLProblem, solve_sgl
from baselines.sparse_group_lasso.groups import make_groups

TARGET, GAP, SIZE = 0.6, 1e-6, 10
ADELIE_TARGET, ADELIE_RUNS = 1.0, 9
SHARES = (0.5, 0.2, 0.1, 0.05, 0.02)
START = """
import time, numpy as np
from baselines import SparseGroupLasso
rng = np.random.default_rng(0)
X = rng.normal(size=(100, 50)); y = X[:, 0] + 0.1 * rng.normal(size=100)
began = time.process_time(); SparseGroupLasso(5.0, 5.0, groups=10).fit(X, y); print(time.process_time() - began)
"""
NUMBA = """
import time, baselines
from baselines.sparse_group_lasso.kernels import shrunk_norm
import numpy as np
began = time.process_time(); shrunk_norm(np.ones(3), 0, 3, 0.0); print(time.process_time() - began)
"""


Path = tuple[Any, np.ndarray]  # coefficients (n_penalties, n_features) and intercepts (n_penalties,)


def table(correlation: float, n: int = 500, p: int = 5000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns of variance one, ``correlation`` within groups; 20 groups with 5 coefficients, noise a tenth of y."""
    rng = np.random.default_rng(seed)
    common = np.repeat(rng.normal(size=(n, p // SIZE)), SIZE, axis=1)
    X = np.sqrt(1 - correlation) * rng.normal(size=(n, p)) + np.sqrt(correlation) * common
    w = np.zeros((p // SIZE, SIZE))
    w[rng.choice(p // SIZE, 20, replace=False), :5] = rng.normal(size=(20, 5))
    y = X @ w.ravel()
    return np.asfortranarray(X), y + 0.1 * y.std() * rng.normal(size=n)


def relative_gap(X: np.ndarray, y: np.ndarray, w: np.ndarray, lam: float) -> float:
    """The duality gap at ``w`` with both penalties ``lam``, over |y|^2 / 2; written with sgl_lambda_max alone."""
    r = y - X @ w
    norm = sgl_lambda_max(X, r, SIZE, tau=0.5) / 2 / lam
    c = float(np.clip(y @ r / (r @ r), -1 / norm, 1 / norm))
    penalty = lam * (np.abs(w).sum() + np.linalg.norm(w.reshape(-1, SIZE), axis=1).sum())
    gap = 0.5 * r @ r + penalty - 0.5 * y @ y + 0.5 * (y - c * r) @ (y - c * r)
    return float(gap / (0.5 * y @ y))


def peer(X: np.ndarray, y: np.ndarray) -> Callable[..., np.ndarray]:
    """skglm's solver as a function of (lam, tol, start) -> coefficients."""
    from skglm.datafits import QuadraticGroup
    from skglm.penalties import WeightedL1GroupL2
    from skglm.solvers import GroupBCD
    from skglm.utils.data import grp_converter
    from skglm.utils.jit_compilation import compiled_clone

    n, p = X.shape
    indices, starts = grp_converter(SIZE, p)
    datafit = compiled_clone(QuadraticGroup(starts, indices))

    def run(lam: float, tol: float, start: np.ndarray | None = None) -> np.ndarray:
        weights = np.full(p // SIZE, lam), np.full(p, lam)
        penalty = compiled_clone(WeightedL1GroupL2(1 / n, *weights, starts, indices))
        solver = GroupBCD(max_iter=1000, max_epochs=100_000, tol=tol, ws_strategy="fixpoint", fit_intercept=False)
        w = np.zeros(p) if start is None else start.copy()
        return solver.solve(X, y, datafit, penalty, w, X @ w)[0]

    return run


def cpu_seconds(function: Callable[[], object]) -> float:
    began = time.process_time()
    function()
    return time.process_time() - began


def best(*functions: Callable[[], object], runs: int = 5) -> list[float]:
    return [min(times) for times in zip(*[[cpu_seconds(f) for f in functions] for _ in range(runs)])]


def loosest(theirs: Callable[..., np.ndarray], X: np.ndarray, y: np.ndarray, lams: list[float]) -> float:
    """The loosest tolerance with which skglm's path over ``lams`` reaches the gap at each of them."""
    for tol in 10.0 ** -np.arange(3, 13, 0.5):
        w = None
        for lam in lams:
            w = theirs(lam, tol, w)
            if relative_gap(X, y, w, lam) > GAP:
                break
        else:
            return float(tol)
    raise RuntimeError("skglm does not reach the gap")


def theirs_path(theirs: Callable[..., np.ndarray], lams: list[float], tol: float) -> None:
    w = None
    for lam in lams:
        w = theirs(lam, tol, w)


def measure(name: str, correlation: float) -> list[float]:
    X, y = table(correlation)
    groups = make_groups(SIZE, "ones", X.shape[1])
    theirs, top = peer(X, y), sgl_lambda_max(X, y, SIZE, tau=0.5) / 2
    theirs(0.5 * top, 1e-3)
    ratios = []
    rows = [(f"{share:g}", [share * top]) for share in SHARES]
    rows.append(("path", list(top * np.geomspace(1, 0.05, 51)[1:])))
    for label, lams in rows:
        tol = loosest(theirs, X, y, lams)
        if len(lams) == 1:
            mine = lambda lam=lams[0]: solve_sgl(SGLProblem(X, y, groups), lam, lam, None, GAP, 200)  # noqa: E731
            w, *_ = mine()
            assert relative_gap(X, y, w, lams[0]) <= GAP
        else:
            mine = lambda lams=lams: sgl_path(X, y, [(v, v) for v in lams], groups=SIZE, tol=GAP)  # noqa: E731
            assert all(relative_gap(X, y, w, v) <= GAP for w, v in zip(mine().coefs, lams))
        runs = 7 if len(lams) == 1 else 3
        ours, other = best(mine, lambda lams=lams, tol=tol: theirs_path(theirs, lams, tol), runs=runs)
        ratios.append(ours / other)
        print(
            f"{name}, lambda/lambda_max {label}: {ours:.4f} s, skglm {other:.4f} s (tol {tol:.0e}): "
            f"ratio {ratios[-1]:.2f} (target {TARGET})",
            flush=True,
        )
    return ratios


def objectives(X: np.ndarray, y: np.ndarray, path: Path, lams: np.ndarray, logistic: bool) -> np.ndarray:
    """The objective of the group LASSO at each solution of a path."""
    eta = path[0] @ X.T + path[1][:, None]
    losses = (np.logaddexp(0.0, eta) - eta * y).sum(axis=1) if logistic else 0.5 * ((y - eta) ** 2).sum(axis=1)
    return losses + lams * np.linalg.norm(path[0].reshape(len(lams), -1, SIZE), axis=2).sum(axis=1)


def our_path(X: np.ndarray, y: np.ndarray, lams: np.ndarray, logistic: bool, tol: float) -> tuple[Path, np.ndarray]:
    """Solutions and duality gaps of the group LASSO at each of ``lams``."""
    pairs = [(0.0, lam) for lam in lams]
    if logistic:
        found = logistic_path(X, y, pairs, make_groups(SIZE, "ones", X.shape[1]), tol=tol)
        return (np.array([s.w for s in found]), np.array([s.b for s in found])), np.array([s.gap for s in found])
    path = sgl_path(X, y, pairs, groups=SIZE, tol=tol)
    return (path.coefs, path.intercepts), path.dual_gaps


def adelies_path(X: np.ndarray, y: np.ndarray, lams: np.ndarray, logistic: bool, tol: float) -> Path:
    import adelie

    n, p = X.shape
    loss, tols = (
        (adelie.glm.binomial, {"irls_tol": tol, "tol": tol}) if logistic else (adelie.glm.gaussian, {"tol": tol})
    )
    grouping = {"groups": np.arange(0, p, SIZE), "penalty": np.ones(p // SIZE), "lmda_path": lams / n}
    options = {"intercept": logistic, "early_exit": False, "progress_bar": False, "n_threads": 1}
    state = adelie.grpnet(X, loss(y), **grouping, **options, **tols)
    return state.betas, np.asarray(state.intercepts)


def against_adelie(correlation: float, logistic: bool) -> float:
    """Print the times of a path of 50 group LASSO problems; return the ratio of ours to adelie's."""
    X, y = table(correlation)
    if logistic:
        y = (y > np.median(y)).astype(float)
        top, scale = lambda_max(X, y, 0.0, make_groups(SIZE, "ones", X.shape[1])), null_model(y)[1]
    else:
        top, scale = sgl_lambda_max(X, y, SIZE, tau=0.0), 0.5 * float(y @ y)
    lams = top * np.geomspace(1, 0.05, 51)[1:]
    ours, gaps = our_path(X, y, lams, logistic, GAP)
    assert (gaps <= GAP * scale).all()
    tight, _ = our_path(X, y, lams, logistic, 1e-11)
    ladder = 10.0 ** -np.arange(4, 15, 0.25)
    values = [objectives(X, y, path, lams, logistic) for path in (ours, tight)]
    for tol in ladder:
        coefs, intercepts = adelies_path(X, y, lams, logistic, float(tol))
        values.append(objectives(X, y, (coefs.toarray(), intercepts), lams, logistic))
    excesses = ((np.array(values) - np.min(values, axis=0)) / scale).max(axis=1)
    k = int(np.argmax(excesses[2:] <= excesses[0]))
    if excesses[2 + k] > excesses[0]:
        raise RuntimeError("adelie does not reach the excess")
    runs = lambda: our_path(X, y, lams, logistic, GAP), lambda: adelies_path(X, y, lams, logistic, float(ladder[k]))
    mine, other = np.median([[cpu_seconds(run) for run in runs] for _ in range(ADELIE_RUNS)], axis=0)
    print(
        f"group LASSO, {'logistic' if logistic else 'squared'}, correlation {correlation:g}, path: {mine:.4f} s, "
        f"gap {gaps.max() / scale:.0e}, excess {excesses[0]:.0e}; adelie {other:.4f} s, no gap, excess "
        f"{excesses[2 + k]:.0e} (tol {ladder[k]:.0e}): ratio {mine / other:.2f} (target {ADELIE_TARGET:g})",
        flush=True,
    )
    return mine / other


def against_cvxpy(trials: int = 20) -> float:
    """The largest relative difference of objectives on random problems."""
    import cvxpy as cp

    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(trials):
        X, y = rng.normal(size=(30, 40)), rng.normal(size=30)
        lam1, lam2 = rng.uniform(0.05, 3, 2) * rng.integers(0, 2, 2) + [0.0, 0.5]
        w = cp.Variable(40)
        norms = sum(cp.norm2(w[g : g + 4]) for g in range(0, 40, 4))
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(X @ w - y) + lam1 * cp.norm1(w) + lam2 * norms))
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        v = solve_sgl(SGLProblem(X, y, make_groups(4, "ones", 40)), float(lam1), float(lam2), None, 1e-12, 1000)[0]
        ours = 0.5 * np.sum((X @ v - y) ** 2) + lam1 * np.abs(v).sum()
        ours += lam2 * np.linalg.norm(v.reshape(-1, 4), axis=1).sum()
        worst = max(worst, abs(ours - problem.value) / abs(problem.value))
    return worst


def printed_number(code: str) -> float:
    """The number that a fresh process prints."""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    slower = False
    if find_spec("adelie") is None:
        print("group LASSO against adelie: not installed (pip install --no-deps -c constraints.txt adelie)")
    else:
        tasks = [(correlation, logistic) for logistic in (False, True) for correlation in (0.0, 0.9)]
        slower = max([against_adelie(*task) for task in tasks]) > ADELIE_TARGET
    start, own = (min(printed_number(code) for _ in range(5)) for code in (START, NUMBA))  # the first may have compiled
    print(f"first fit of a process, compiled before: {start:.2f} s (target 0.5), Numba's own start {own:.2f} s")
    difference = against_cvxpy()
    print(f"objective against cvxpy on 20 random problems: {difference:.1e} (target 1e-6)")
    ratios = measure("independent", 0.0) + measure("correlation 0.9", 0.9)
    sys.exit(int(max(ratios) > TARGET or start > 0.5 or difference > 1e-6 or slower))
