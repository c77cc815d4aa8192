"""A primal-dual interior point method for the program over a given set of disjunctions."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from baselines.base import FloatMatrix, FloatVector
from baselines.hkl.problem import HKLProblem, HKLSolution, Incumbent


@dataclass(frozen=True, eq=False)
class Point:
    """An iterate of the interior point method.

    Attributes
    ----------
    w, b : weights and bias
    xi, r : slacks of the margins, and their surpluses
    eta : a point of the simplex
    alpha, beta, z, nu : multipliers of r >= 0, xi >= 0, eta >= 0 and sum(eta) = 1
    """

    w: FloatVector
    b: float
    xi: FloatVector
    eta: FloatVector
    r: FloatVector
    alpha: FloatVector
    beta: FloatVector
    z: FloatVector
    nu: float

    def moved_by(self, step: float, along: Point) -> Point:
        return Point(*(getattr(self, f.name) + step * getattr(along, f.name) for f in fields(self)))

    def complementarity(self) -> float:
        return float(self.alpha @ self.r + self.beta @ self.xi + self.z @ self.eta)

    def max_step(self, along: Point) -> float:
        """Return the longest step, at most 1, that goes at most 98 % of the way to the boundary."""
        step = 1.0
        for name in ("alpha", "beta", "xi", "r", "eta", "z"):
            value, change = getattr(self, name), getattr(along, name)
            falling = change < 0.0
            step = min(step, 0.98 * float(np.min(-value[falling] / change[falling], initial=np.inf)))
        return step


def interior_point(problem: HKLProblem, rtol: float, max_iter: int = 80) -> HKLSolution:
    """Solve to a relative gap of ``rtol``, or as close to it as rounding permits.

    The square of the norm is the minimum over eta on the simplex of (sum_u |w_u|^p c_u(eta))^(2/p), which is smooth for
    eta > 0 and jointly convex in (w, eta). For p < 2, |w| is replaced by sqrt(w^2 + eps^2) with a decreasing eps.
    """
    at, best = starting_point(problem), Incumbent(problem)
    n_pairs = 2 * len(problem.y) + len(problem.delta)
    eps, sigma = (0.0 if problem.p == 2.0 else 1e-2 / problem.delta.max()), 0.1
    best.update(at.w, at.alpha, at.eta)
    stalled = 0
    for _ in range(max_iter):
        smooth = SmoothedNorm(problem, at, eps)
        mu = sigma * at.complementarity() / n_pairs
        try:
            along = newton_direction(problem, smooth, at, mu)
        except np.linalg.LinAlgError:
            break
        step = backtrack(problem, at, along, at.max_step(along), mu, eps)
        at = at.moved_by(step, along)
        sigma = 0.1 if step > 0.8 else 0.3 if step > 0.3 else 0.7
        before = best.gap
        best.update(at.w, at.alpha, at.eta)
        if best.gap <= rtol:
            break
        stalled = 0 if best.gap < 0.999 * before else stalled + 1
        if stalled >= 12:
            break
        if problem.p < 2.0:
            eps = min(eps, max(1e-3 * np.abs(at.w).max() * min(1.0, max(best.gap, rtol / 10)), 1e-10))
    return best.solution()


def starting_point(problem: HKLProblem) -> Point:
    """Return the starting point: no weights, and interior multipliers that are balanced between the classes."""
    y, C, d = problem.y, problem.C, len(problem.delta)
    totals = np.array([C[y < 0].sum(), C[y > 0].sum()])
    alpha = 0.5 * C * (totals.min() / totals)[(y > 0).astype(int)]
    xi, r, eta = np.full(len(y), 1.5), np.full(len(y), 0.5), np.full(d, 1.0 / d)
    beta = C - alpha
    z = (alpha @ r + beta @ xi) / (2 * len(y)) / eta
    return Point(np.zeros(problem.Psi.shape[1]), 0.0, xi, eta, r, alpha, beta, z, 0.0)


class SmoothedNorm:
    """Gradient and Hessian of F(w, eta) = 1/2 S^(2/p) with S = sum_u (w_u^2 + eps^2)^(p/2) c_u(eta).

    The Hessian is [[diag(Hw), W], [W', diag(He)]] + rho g g', where g = (gw, ge) is the gradient of S and
    W = left * membership' * right.
    """

    def __init__(self, problem: HKLProblem, at: Point, eps: float) -> None:
        p, w, eta = problem.p, at.w, at.eta
        s = np.sqrt(w * w + eps * eps)
        price = problem.prices(eta)
        S = float(s**p @ price)
        flat = p == 2.0
        kappa = 0.5 if flat else S ** (2.0 / p - 1.0) / p
        self.rho = 0.0 if flat else (2.0 / p - 1.0) / p * S ** (2.0 / p - 2.0)
        steep = np.full_like(s, p) if flat else p * s ** (p - 2.0)
        weighed = problem.delta**p * eta**-p
        inside = problem.membership @ s**p
        self.gw, self.ge = steep * w * price, (1.0 - p) * weighed * inside
        self.Fw, self.Fe = kappa * self.gw, kappa * self.ge
        bent = 1.0 if flat else 1.0 + (p - 2.0) * (w / s) ** 2
        self.Hw = kappa * price * steep * bent
        self.He = kappa * p * (p - 1.0) * weighed / eta * inside
        self.left, self.right = kappa * steep * w, (1.0 - p) * weighed


def residual(problem: HKLProblem, at: Point, mu: float, eps: float) -> float:
    """Return the norm of the residuals of the optimality conditions with complementarity target ``mu``.

    Conditions that every step satisfies exactly are left out.
    """
    F = SmoothedNorm(problem, at, eps)
    parts = (
        F.Fw - problem.signed_sums(at.alpha),
        [problem.y @ at.alpha],
        F.Fe - at.z + at.nu,
        [at.eta.sum() - 1.0],
        at.alpha * at.r - mu,
        at.beta * at.xi - mu,
        at.z * at.eta - mu,
    )
    return float(np.sqrt(sum(np.square(part).sum() for part in map(np.asarray, parts))))


def backtrack(problem: HKLProblem, at: Point, along: Point, step: float, mu: float, eps: float) -> float:
    """Return the step length, shortened until the residual decreases."""
    before = residual(problem, at, mu, eps)
    for _ in range(12):
        if residual(problem, at.moved_by(step, along), mu, eps) <= (1.0 - 0.01 * step) * before:
            break
        step *= 0.6
    return step


def newton_direction(problem: HKLProblem, F: SmoothedNorm, at: Point, mu: float) -> Point:
    """Return Newton's step to complementarity ``mu``, from one equation per node and one for the bias."""
    Psi, y, membership = problem.Psi, problem.y, problem.membership
    D = 1.0 / (at.r / at.alpha + at.xi / at.beta)
    e = (mu - at.alpha * at.r) / at.alpha - (mu - at.beta * at.xi) / at.beta
    h = F.He + at.z / at.eta
    system = BorderedSystem(problem, F, D, h)

    def solve(Rw: FloatVector, Rb: float, Re: FloatVector) -> tuple[FloatVector, float, FloatVector]:
        dw, db = system.solve(Rw - F.left * (membership.T @ (F.right * Re / h)), Rb)
        return dw, db, (Re - F.right * (membership @ (F.left * dw))) / h

    pulled = y * (at.alpha + D * e)
    right = -F.Fw + Psi.T @ pulled, -float(pulled.sum()), -F.Fe + at.z - at.nu + (mu - at.z * at.eta) / at.eta
    x = solve(*right)
    one = solve(np.zeros_like(at.w), 0.0, np.ones_like(at.eta))
    g = solve(F.gw, 0.0, F.ge)

    def along_g(v: tuple[FloatVector, float, FloatVector]) -> float:
        return float(F.gw @ v[0] + F.ge @ v[2])

    pair = np.array([[one[2].sum(), F.rho * g[2].sum()], [along_g(one), 1.0 + F.rho * along_g(g)]])
    dnu, along = np.linalg.solve(pair, [x[2].sum() - (1.0 - at.eta.sum()), along_g(x)])
    dw, db, deta = (a - dnu * o - F.rho * along * c for a, o, c in zip(x, one, g))
    margin_change = y * (Psi @ dw - db)
    dalpha = D * (e - margin_change)
    dxi = (mu - at.beta * at.xi + at.xi * dalpha) / at.beta
    dz = (mu - at.z * at.eta - at.z * deta) / at.eta
    return Point(dw, db, dxi, deta, margin_change + dxi, dalpha, -dalpha, dz, float(dnu))


class BorderedSystem:
    """The factorised equations in (w, b): [[A, a], [a', sum D]] with A = Hw + Psi'D Psi - W h^-1 W'.

    A is scaled to a unit diagonal.
    """

    def __init__(self, problem: HKLProblem, F: SmoothedNorm, D: FloatVector, h: FloatVector) -> None:
        Psi, membership = problem.Psi, problem.membership
        A = lower_gram(Psi * np.sqrt(D)[:, None])
        A -= lower_gram(membership * (F.right / np.sqrt(h))[:, None] * F.left)
        A.flat[:: len(A) + 1] += F.Hw
        self.scale = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
        A *= self.scale[:, None]
        A *= self.scale
        self.factor = ridge_cholesky(A)
        self.a, self.corner = -Psi.T @ D, float(D.sum())
        self.Aa = self._solve(self.a)
        self.schur = self.corner - float(self.a @ self.Aa)

    def _solve(self, right: FloatVector) -> FloatVector:
        return self.scale * cho_solve(self.factor, self.scale * right, check_finite=False)

    def solve(self, Rw: FloatVector, Rb: float) -> tuple[FloatVector, float]:
        x = self._solve(Rw)
        db = (Rb - float(self.a @ x)) / self.schur
        return x - db * self.Aa, db


def lower_gram(B: FloatMatrix) -> FloatMatrix:
    """Return B'B; only the lower half is written."""
    return dsyrk(1.0, B.T, lower=1) if B.flags.c_contiguous else dsyrk(1.0, B, trans=1, lower=1)


def ridge_cholesky(A: FloatMatrix) -> tuple[FloatMatrix, bool]:
    """Return the Cholesky factor of a matrix of unit diagonal, plus the smallest ridge that makes it positive definite.

    Raises LinAlgError if a ridge of 1e-4 is not enough.
    """
    ridge = 1e-13
    while ridge < 1e-4:
        try:
            H = A.copy(order="F")
            H.flat[:: len(H) + 1] += ridge
            return cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            ridge *= 100.0
    raise np.linalg.LinAlgError("not positive definite")
