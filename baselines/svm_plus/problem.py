"""SVM+ as an optimisation problem: the geometry of two views of the samples, its solution and its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular

from baselines.svm_plus.forms import FactorForm, GramForm, Matrix, SoftMarginForm, rms
from baselines.svm_plus.interior_point import Ended, Form, Vector, interior_point

ACCEPTED = 1e-6  # a merit at which a solution that is not optimal is still a solution
BLOCK = 4096  # columns made dense at a time
LARGEST = 1e100  # squares of larger values overflow


class Infeasible(ValueError):
    """No weights meet the constraints."""


@dataclass(frozen=True)
class Solution:
    """The minimiser of 1/2 |w|^2 + lam1/2 |w*|^2 + C sum(s), its multipliers, and what certifies it.

    ``violation`` is the worst violation of a constraint, ``gap`` the objective, made feasible where the slacks have
    an intercept, less the dual objective.
    """

    w: Vector
    intercept: float
    w_privileged: Vector
    intercept_privileged: float
    alpha: Vector
    beta: Vector
    slack: Vector
    objective: float
    gap: float
    violation: float
    n_iter: int
    optimal: bool


@dataclass(frozen=True)
class Factor:
    """``Z`` of (n_samples, rank) with XX' = ZZ', and what turns weights of Z into those of X."""

    Z: Matrix
    weights: Callable[[Vector], Vector]


class View:
    """One table of the samples, dense or CSR, with its Gram matrix and its factor, made when first asked for."""

    def __init__(self, X: Any) -> None:
        largest = float(abs(X).max()) if min(X.shape) else 0.0
        if largest > LARGEST:
            raise ValueError(f"values must not exceed {LARGEST:g} in size, got {largest:g}; scale the features")
        self.X = X
        self.shape: tuple[int, int] = X.shape

    @cached_property
    def gram(self) -> Matrix:
        product = self.X @ self.X.T
        return np.asarray(product.todense() if sp.issparse(product) else product, dtype=np.float64)

    @cached_property
    def factor(self) -> Factor:
        n, d = self.shape
        if d <= n:
            return Factor(_dense(self.X), lambda u: u)
        R = np.zeros((0, n))
        for start in range(0, d, max(BLOCK, n)):
            block = _dense(self.X[:, start : start + max(BLOCK, n)]).T
            R = qr(np.vstack([R, block]), mode="r", check_finite=False)[0][:n]
        R, pivots = qr(R, mode="r", pivoting=True, check_finite=False)
        size = np.abs(np.diag(R))
        rank = max(int((size > size[0] * n * np.finfo(float).eps).sum()), 1)
        Z = np.empty((n, rank))
        Z[pivots] = R[:rank].T
        corner, rows = R[:rank, :rank], pivots[:rank]

        def weights(u: Vector) -> Vector:
            return self.X[rows].T @ solve_triangular(corner, u, check_finite=False) if size[0] else np.zeros(d)

        return Factor(Z, weights)

    def times(self, w: Vector) -> Vector:
        return np.asarray(self.X @ w)

    def combine(self, c: Vector) -> Vector:
        """The combination X'c of the samples."""
        return np.asarray(self.X.T @ c)


def _dense(X: Any) -> Matrix:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


class SVMPlusProblem(NamedTuple):
    """SVM+ of targets ``y`` (+1 and -1) on ``view``, with slacks that are linear in ``privileged``."""

    view: View
    privileged: View
    y: Vector
    lam1: float
    C: float
    intercept: bool = True


def solve_svm_plus(problem: SVMPlusProblem, *, solver: str = "auto", tol: float = 1e-8, max_iter: int = 80) -> Solution:
    """The solution of SVM+.

    "auto" takes factors where the views together have no more columns than there are samples, Gram matrices
    otherwise. Where Gram matrices do not end well, factors follow. Raises ValueError where the constraints contradict
    each other, which is possible without an intercept only. A solution that is not ``optimal`` is the best
    that was found.
    """
    view, privileged, y, lam1, C, intercept = problem
    n = len(y)
    small = view.shape[1] + privileged.shape[1] <= n
    forms = ["factor"] if solver == "factor" or (solver == "auto" and small) else ["gram", "factor"]
    found: list[Solution] = []
    infeasible = False
    for name in forms:
        if name == "gram":
            Z = view.factor.Z if min(view.shape) <= n // 2 else None
            form: Form = GramForm(y, view.gram, privileged.gram, C, lam1, intercept, Z)
        else:
            form = FactorForm(y, view.factor.Z, privileged.factor.Z, C, lam1, intercept)
        ended = interior_point(form, n, tol, max_iter)
        solution = _certified(problem, ended, name == "factor")
        if ended.optimal and solution.violation <= 1e-7:
            return solution
        infeasible = infeasible or (not intercept and _is_ray(problem, ended))
        found.append(solution)
    if infeasible:
        raise Infeasible(
            "no classifier meets the constraints: without an intercept the slacks cannot be large enough on these "
            "privileged features; set the intercept of the slacks to True, or do not centre the features"
        )
    return _best(found)


def solve_svm(view: View, y: Vector, C: float, *, tol: float = 1e-8, max_iter: int = 80) -> Solution:
    """The soft-margin SVM of targets ``y`` (+1 and -1) on ``view``; its privileged part is empty."""
    form = SoftMarginForm(y, view.factor.Z, C)
    ended = interior_point(form, len(y), tol, max_iter)
    w, intercept = view.factor.weights(ended.best.theta[:-1] / form.scale), float(ended.best.theta[-1])
    alpha = C * ended.best.a
    slack = np.maximum(0.0, 1 - y * (view.times(w) + intercept))
    objective = 0.5 * w @ w + C * slack.sum()
    dual = alpha.sum() - 0.5 * np.square(view.combine(y * alpha)).sum()
    return Solution(
        w,
        intercept,
        np.zeros(0),
        0.0,
        alpha,
        C * ended.best.b,
        slack,
        float(objective),
        float(objective - dual),
        0.0,
        ended.n_iter,
        ended.optimal,
    )


def _certified(problem: SVMPlusProblem, ended: Ended, by_factors: bool) -> Solution:
    """The weights of an iterate in the columns of the two tables, and how good they are, measured there."""
    view, privileged, y, lam1, C, intercept = problem
    at = ended.best
    alpha, beta = C * at.a, C * at.b
    excess = alpha + beta - C
    dual_w, dual_wp = view.combine(y * alpha), privileged.combine(excess) / lam1
    w, wp, b, bp = dual_w, dual_wp, float(at.theta[0]), float(at.theta[1]) if intercept else 0.0
    if by_factors:
        Z, Zp = view.factor, privileged.factor
        r1, r2 = Z.Z.shape[1], Zp.Z.shape[1]
        w = Z.weights(at.theta[:r1] / rms(Z.Z))
        wp = Zp.weights(at.theta[r1 + 1 : r1 + 1 + r2] / rms(Zp.Z))
        b, bp = float(at.theta[r1]), float(at.theta[-1]) if intercept else 0.0
    slack = privileged.times(wp) + bp
    margin = y * (view.times(w) + b) + slack - 1
    violation = max(0.0, float(-margin.min()), float(-slack.min()))
    objective = 0.5 * w @ w + 0.5 * lam1 * wp @ wp + C * slack.sum()
    dual = alpha.sum() - 0.5 * dual_w @ dual_w - 0.5 * lam1 * dual_wp @ dual_wp
    gap = objective - dual + (C * len(y) * violation if intercept else 0.0)
    return Solution(
        w, b, wp, bp, alpha, beta, slack, float(objective), float(gap), violation, ended.n_iter, ended.optimal
    )


def _is_ray(problem: SVMPlusProblem, ended: Ended) -> bool:
    """Whether the multipliers grew along a ray that proves the constraints contradictory (Farkas)."""
    view, privileged, y = problem[:3]
    a, b = ended.last.a, ended.last.b
    total = a.sum()
    if not total > 1e6 * len(y):
        return False
    a, b = a / total, b / total
    reach = abs(view.X).max() or 1.0, abs(privileged.X).max() or 1.0
    left = np.abs(view.combine(y * a)).max() / reach[0], np.abs(privileged.combine(a + b)).max() / reach[1]
    return max(*left, abs(y @ a)) < 1e-6


def _best(found: list[Solution]) -> Solution:
    """The most exact solution."""
    return min(found, key=lambda s: (s.violation > ACCEPTED, not s.optimal, abs(s.gap)))
