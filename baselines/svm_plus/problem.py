"""SVM+ as an optimisation problem: tables with their Gram matrices and factors, solutions and their certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular

from baselines.base import FloatMatrix, FloatVector
from baselines.svm_plus.forms import FactorForm, GramForm, SoftMarginForm, rms
from baselines.svm_plus.interior_point import MehrotraResult, ProblemForm, mehrotra_method

MAX_VIOLATION = 1e-6  # in margins: a solution that violates a constraint by more ranks behind all others
FACTOR_BLOCK_COLUMNS = 4096  # columns that are made dense at a time
MAX_TABLE_VALUE = 1e100  # sums of squares of larger values overflow


class InfeasibleError(ValueError):
    """No weights satisfy the constraints."""


@dataclass(frozen=True)
class SVMPlusSolution:
    """The minimiser of 1/2 |w|^2 + lam1/2 |w*|^2 + C sum(s), its multipliers and its certificate.

    ``violation`` is the largest violation of a constraint. ``gap`` is the objective minus the dual objective; if the
    slacks have an intercept, the cost of removing the violation is added. ``signal`` is whether w differs from 0 (see
    ``_is_better``). If it does not, w is exactly 0, and the intercept is not b but the mean target, whose sign is
    that of the larger class.
    """

    w: FloatVector
    intercept: float
    w_privileged: FloatVector
    intercept_privileged: float
    alpha: FloatVector
    beta: FloatVector
    slack: FloatVector
    objective: float
    gap: float
    violation: float
    n_iter: int
    optimal: bool
    signal: bool = True


@dataclass(frozen=True)
class Factor:
    """``Z`` (n_samples, rank) with XX' = ZZ', and the function that maps weights of Z to weights of X."""

    Z: FloatMatrix
    weights: Callable[[FloatVector], FloatVector]


class SampleTable:
    """One table of the samples, dense or CSR, with its Gram matrix and its factor, both computed on first use."""

    def __init__(self, X: Any) -> None:
        largest = float(abs(X).max()) if min(X.shape) else 0.0
        if largest > MAX_TABLE_VALUE:
            raise ValueError(
                f"values must not exceed {MAX_TABLE_VALUE:g} in absolute value, got {largest:g}; scale the features"
            )
        self.X = X
        self.shape: tuple[int, int] = X.shape

    @cached_property
    def gram(self) -> FloatMatrix:
        product = self.X @ self.X.T
        return np.asarray(product.todense() if sp.issparse(product) else product, dtype=np.float64)

    @cached_property
    def factor(self) -> Factor:
        n, d = self.shape
        if d <= n:
            return Factor(to_dense(self.X), lambda u: u)
        R = np.zeros((0, n))
        for start in range(0, d, max(FACTOR_BLOCK_COLUMNS, n)):
            block = to_dense(self.X[:, start : start + max(FACTOR_BLOCK_COLUMNS, n)]).T
            R = qr(np.vstack([R, block]), mode="r", check_finite=False)[0][:n]
        R, pivots = qr(R, mode="r", pivoting=True, check_finite=False)
        size = np.abs(np.diag(R))
        rank = max(int((size > size[0] * n * np.finfo(float).eps).sum()), 1)
        Z = np.empty((n, rank))
        Z[pivots] = R[:rank].T
        corner, rows = R[:rank, :rank], pivots[:rank]

        def weights(u: FloatVector) -> FloatVector:
            return self.X[rows].T @ solve_triangular(corner, u, check_finite=False) if size[0] else np.zeros(d)

        return Factor(Z, weights)

    def times(self, w: FloatVector) -> FloatVector:
        return np.asarray(self.X @ w)

    def combine(self, c: FloatVector) -> FloatVector:
        """Return the combination X'c of the samples."""
        return np.asarray(self.X.T @ c)


def to_dense(X: Any) -> FloatMatrix:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def centred(X: Any) -> tuple[SampleTable, FloatVector]:
    """A dense table less the means of its columns, which an intercept absorbs, and the means; a sparse one as it is."""
    table = SampleTable(X)
    if sp.issparse(X):
        return table, np.zeros(X.shape[1])
    center = X.mean(axis=0)
    return SampleTable(X - center), center


class SVMPlusProblem(NamedTuple):
    """SVM+ with targets ``y`` (+1 and -1) on ``table``, with slacks that are linear in ``privileged``."""

    table: SampleTable
    privileged: SampleTable
    y: FloatVector
    lam1: float
    C: float
    intercept: bool = True


def solve_svm_plus(
    problem: SVMPlusProblem, *, solver: str = "auto", tol: float = 1e-8, max_iter: int = 80
) -> SVMPlusSolution:
    """Solve SVM+.

    ``solver="auto"`` uses factors if the two tables together have at most as many columns as there are samples, and
    Gram matrices otherwise. If the solution by Gram matrices is not optimal, factors are tried too, and the most
    accurate solution is returned. Raises InfeasibleError (a ValueError) if the constraints contradict each other,
    which is possible only without an intercept.
    """
    found = _minimise(problem, solver, tol, max_iter)
    n, C, intercept = len(problem.y), problem.C, problem.intercept
    reached = found.objective + (C * n * found.violation if intercept else 0.0)
    if intercept:  # w = 0, w* = 0, b = 0 and b* = 1 are feasible
        same_slacks = replace(
            found,
            w_privileged=np.zeros(problem.privileged.shape[1]),
            intercept_privileged=1.0,
            slack=np.ones(n),
            objective=C * n,
            violation=0.0,
        )
        if not _is_better(found, reached, same_slacks.objective, n, tol):
            return _silent(same_slacks, problem.y, reached - found.gap, tol)
    if found.w @ found.w <= 2 * max(found.gap, tol * abs(reached)):  # otherwise the optimal w is not 0
        try:
            other = _minimise(problem._replace(table=SampleTable(np.zeros((n, 1)))), solver, tol, max_iter)
        except InfeasibleError:
            return found
        if other.optimal and not _is_better(found, reached, other.objective * (1 - tol), n, tol):
            silent = replace(other, w=found.w, alpha=found.alpha, beta=found.beta, optimal=found.optimal)
            return _silent(silent, problem.y, reached - found.gap, tol)
    return found


def _is_better(found: SVMPlusSolution, reached: float, silent: float, n: int, tol: float) -> bool:
    """Whether a solution whose weights count has a lower objective than the best solution with w = 0.

    ``reached`` and ``silent`` are the two objectives, at points that meet the constraints. If the optimal w is 0, no
    such point is below ``silent``, and the weights of ``found`` are what the interior point method left of 0. A gain
    counts only if it exceeds the gap that ``found`` leaves open: the method knows the optimal w to sqrt(2 gap), as the
    objective is strongly convex in w, and a smaller gain could come from any w of that size.
    """
    open_gap = min(found.gap, tol * abs(reached))
    return silent - reached > max(open_gap, n * np.finfo(float).eps * abs(reached))


def _silent(solution: SVMPlusSolution, y: FloatVector, dual: float, tol: float) -> SVMPlusSolution:
    """Return a solution without weights, for whose objective ``dual`` is a lower bound."""
    gap = float(solution.objective - dual)
    optimal = solution.optimal or abs(gap) <= tol * abs(solution.objective)
    return replace(
        solution, w=np.zeros_like(solution.w), intercept=float(y.mean()), gap=gap, optimal=optimal, signal=False
    )


def _minimise(problem: SVMPlusProblem, solver: str, tol: float, max_iter: int) -> SVMPlusSolution:
    table, privileged, y, lam1, C, intercept = problem
    n = len(y)
    small = table.shape[1] + privileged.shape[1] <= n
    forms = ["factor"] if solver == "factor" or (solver == "auto" and small) else ["gram", "factor"]
    solutions: list[SVMPlusSolution] = []
    infeasible = False
    for name in forms:
        if name == "gram":
            Z = table.factor.Z if min(table.shape) <= n // 2 else None
            form: ProblemForm = GramForm(y, table.gram, privileged.gram, C, lam1, intercept, Z)
        else:
            form = FactorForm(y, table.factor.Z, privileged.factor.Z, C, lam1, intercept)
        result = mehrotra_method(form, n, tol, max_iter)
        solution = _certify(problem, result, name == "factor")
        if result.optimal and solution.violation <= 1e-7:
            return solution
        infeasible = infeasible or (not intercept and _proves_infeasible(problem, result))
        solutions.append(solution)
    if infeasible:
        raise InfeasibleError(
            "no classifier meets the constraints: without an intercept, the slacks cannot be large enough on these "
            "privileged features; set the intercept of the slacks to True, or do not centre the privileged features"
        )
    # Feasible ones first, then optimal ones, then the smallest gap.
    return min(solutions, key=lambda s: (s.violation > MAX_VIOLATION, not s.optimal, abs(s.gap)))


def solve_svm(
    table: SampleTable,
    y: FloatVector,
    C: float,
    *,
    margins: FloatVector | None = None,
    tol: float = 1e-8,
    max_iter: int = 80,
) -> SVMPlusSolution:
    """Solve the soft-margin SVM with targets ``y`` (+1 and -1) on ``table``; the privileged part is empty.

    ``margins`` (n_samples,) are the values of y f(x) below which a sample has a loss, 1 by default.
    """
    wanted = np.ones(len(y)) if margins is None else margins
    form = SoftMarginForm(y, table.factor.Z, C, wanted)
    result = mehrotra_method(form, len(y), tol, max_iter)
    w, intercept = table.factor.weights(result.best.theta[:-1] / form.scale), float(result.best.theta[-1])
    alpha = C * result.best.a
    slack = np.maximum(0.0, wanted - y * (table.times(w) + intercept))
    objective = 0.5 * w @ w + C * slack.sum()
    dual = wanted @ alpha - 0.5 * np.square(table.combine(y * alpha)).sum()
    found = SVMPlusSolution(
        w,
        intercept,
        np.zeros(0),
        0.0,
        alpha,
        C * result.best.b,
        slack,
        float(objective),
        float(objective - dual),
        0.0,
        result.n_iter,
        result.optimal,
    )
    b = np.sort(y * wanted)[np.count_nonzero(y > 0) - 1]  # of w = 0: where as many losses grow with b as shrink
    losses = np.maximum(0.0, wanted - y * b)
    if _is_better(found, found.objective, C * losses.sum(), len(y), tol):
        return found
    return _silent(replace(found, slack=losses, objective=float(C * losses.sum())), y, float(dual), tol)


def _certify(problem: SVMPlusProblem, result: MehrotraResult, by_factors: bool) -> SVMPlusSolution:
    """Return the weights of an iterate in terms of the columns of the two tables, with their gap and violation."""
    table, privileged, y, lam1, C, intercept = problem
    at = result.best
    alpha, beta = C * at.a, C * at.b
    excess = alpha + beta - C
    dual_w, dual_wp = table.combine(y * alpha), privileged.combine(excess) / lam1
    w, wp, b, bp = dual_w, dual_wp, float(at.theta[0]), float(at.theta[1]) if intercept else 0.0
    if by_factors:
        Z, Zp = table.factor, privileged.factor
        r1, r2 = Z.Z.shape[1], Zp.Z.shape[1]
        w = Z.weights(at.theta[:r1] / rms(Z.Z))
        wp = Zp.weights(at.theta[r1 + 1 : r1 + 1 + r2] / rms(Zp.Z))
        b, bp = float(at.theta[r1]), float(at.theta[-1]) if intercept else 0.0
    slack = privileged.times(wp) + bp
    margin = y * (table.times(w) + b) + slack - 1
    violation = max(0.0, float(-margin.min()), float(-slack.min()))
    objective = 0.5 * w @ w + 0.5 * lam1 * wp @ wp + C * slack.sum()
    dual = alpha.sum() - 0.5 * dual_w @ dual_w - 0.5 * lam1 * dual_wp @ dual_wp
    gap = objective - dual + (C * len(y) * violation if intercept else 0.0)
    return SVMPlusSolution(
        w, b, wp, bp, alpha, beta, slack, float(objective), float(gap), violation, result.n_iter, result.optimal
    )


def _proves_infeasible(problem: SVMPlusProblem, result: MehrotraResult) -> bool:
    """Whether the multipliers diverged along a ray that proves the constraints contradictory (Farkas' lemma)."""
    table, privileged, y = problem[:3]
    a, b = result.last.a, result.last.b
    total = a.sum()
    if not total > 1e6 * len(y):
        return False
    a, b = a / total, b / total
    sizes = abs(table.X).max() or 1.0, abs(privileged.X).max() or 1.0
    residuals = np.abs(table.combine(y * a)).max() / sizes[0], np.abs(privileged.combine(a + b)).max() / sizes[1]
    return max(*residuals, abs(y @ a)) < 1e-6
