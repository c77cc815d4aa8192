"""Three forms of the problem for the interior point method: in factors, in Gram matrices, and the plain SVM."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from baselines.base import FloatMatrix, FloatVector
from baselines.svm_plus.interior_point import Iterate, Residuals


def cholesky_factor(H: FloatMatrix) -> FloatMatrix:
    """Return the lower Cholesky factor of ``H`` (column-major, overwritten).

    Raises LinAlgError if ``H`` is not positive definite.
    """
    factor, info = dpotrf(H, lower=1, overwrite_a=1, clean=0)
    if info != 0 or not np.isfinite(factor[-1, -1]):
        raise np.linalg.LinAlgError("not positive definite")
    return factor


def cholesky_solve(factor: FloatMatrix, right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return H^-1 right, where ``factor`` is the result of ``cholesky_factor(H)``."""
    return dpotrs(factor, right, lower=1)[0]


class FactorForm:
    """theta = (u, intercept, u*, [intercept*]) with XX' = ZZ' and X*X*' = Z*Z*'.

    This form never squares the condition number of the data. The matrix of Newton's equations has one row for each
    column of Z and Z* and one for each intercept.
    """

    def __init__(self, y: FloatVector, Z: FloatMatrix, Zp: FloatMatrix, C: float, lam1: float, intercept: bool) -> None:
        self.scale, self.scale_p = rms(Z), rms(Zp)
        n, self.r1 = Z.shape[0], Z.shape[1] + 1
        self.A = np.column_stack([Z * (y / self.scale)[:, None], y])
        self.B = np.column_stack([Zp / self.scale_p, np.ones((n, int(intercept)))])
        quadratic = [np.full(Z.shape[1], 1 / (C * self.scale**2)), [0.0]]
        quadratic += [np.full(Zp.shape[1], lam1 / (C * self.scale_p**2)), np.zeros(int(intercept))]
        self.q = np.concatenate(quadratic)
        self.linear = np.concatenate([np.zeros(self.r1), self.B.sum(axis=0)])
        self.intercept = intercept

    def start(self) -> FloatVector:
        theta = np.zeros(len(self.q))
        if self.intercept:
            theta[-1] = 1.0
        return theta

    def dual_scale(self) -> float:
        return 1.0 + float(np.abs(self.linear).max())

    def residuals(self, at: Iterate) -> Residuals:
        slack = self.B @ at.theta[self.r1 :]
        margin = self.A @ at.theta[: self.r1] + slack
        weighed = self.q * at.theta
        dual = weighed + self.linear - np.concatenate([self.A.T @ at.a, self.B.T @ (at.a + at.b)])
        return Residuals(margin - 1 - at.p, slack - at.s, dual, float(at.a.sum() - 0.5 * at.theta @ weighed))

    def factorise(self, at: Iterate) -> None:
        A, B, r1 = self.A, self.B, self.r1
        self.W1, self.W2 = at.a / at.p, at.b / at.s
        H = np.empty((len(self.q), len(self.q)), order="F")
        weighed = A * self.W1[:, None]
        H[:r1, :r1], H[:r1, r1:] = weighed.T @ A, weighed.T @ B
        H[r1:, :r1], H[r1:, r1:] = H[:r1, r1:].T, (B * (self.W1 + self.W2)[:, None]).T @ B
        H.flat[:: len(H) + 1] += self.q
        self.H = H
        try:
            self.chol = cholesky_factor(H.copy(order="F"))
        except np.linalg.LinAlgError:
            jittered = H.copy(order="F")
            jittered.flat[:: len(H) + 1] += 1e-13 * np.diag(H) + 1e-14
            self.chol = cholesky_factor(jittered)

    def direction(self, at: Iterate, residuals: Residuals, rc1: FloatVector, rc2: FloatVector) -> Iterate:
        t1 = -(rc1 + at.a * residuals.margin) / at.p
        t2 = -(rc2 + at.b * residuals.slack) / at.s
        right = -residuals.dual + np.concatenate([self.A.T @ t1, self.B.T @ (t1 + t2)])
        step = cholesky_solve(self.chol, right)
        step += cholesky_solve(self.chol, right - self.H @ step)
        u2 = self.B @ step[self.r1 :]
        u1 = self.A @ step[: self.r1] + u2
        return Iterate(t1 - self.W1 * u1, t2 - self.W2 * u2, u1 + residuals.margin, u2 + residuals.slack, step)


class GramForm:
    """theta = (intercept, [intercept*]); the weights are combinations of samples.

    w = C X'(y a) and w* = (C / lam1) X*'(a + b - 1).

    The matrix of Newton's equations has two rows per sample. If the rank of X is at most half the number of samples
    (``Z`` is given, with XX' = ZZ'), it is reduced to one row per sample. Forming the Gram matrices squares the
    condition number of the data.
    """

    def __init__(
        self,
        y: FloatVector,
        K: FloatMatrix,
        Kp: FloatMatrix,
        C: float,
        lam1: float,
        intercept: bool,
        Z: FloatMatrix | None = None,
    ) -> None:
        self.y, self.n, self.intercept = y, len(y), intercept
        self.Q, self.M = C * (y[:, None] * K * y), (C / lam1) * Kp
        self.QM = self.Q + self.M
        self.E = np.zeros((2 * self.n, 1 + int(intercept)))  # contribution of the intercepts to (margins, slacks)
        self.E[: self.n, 0] = y
        self.E[:, 1:] = 1.0
        self.Z = None if Z is None else np.sqrt(C) * y[:, None] * Z

    def start(self) -> FloatVector:
        return np.zeros(self.E.shape[1])

    def dual_scale(self) -> float:
        return 1.0 + self.n

    def residuals(self, at: Iterate) -> Residuals:
        excess, free = at.a + at.b - 1, self.E @ at.theta
        Qa, Me = self.Q @ at.a, self.M @ excess
        equalities = np.array([self.y @ at.a, excess.sum()])[: len(at.theta)]
        value = float(at.a.sum() - 0.5 * (at.a @ Qa + excess @ Me))
        return Residuals(Qa + Me + free[: self.n] - 1 - at.p, Me + free[self.n :] - at.s, equalities, value)

    def factorise(self, at: Iterate) -> None:
        self.D1, self.D2 = at.p / at.a, at.s / at.b
        if self.Z is None:
            n = self.n
            H = np.empty((2 * n, 2 * n), order="F")  # only the lower half is read
            H[:n, :n], H[n:, :n], H[n:, n:] = self.QM, self.M, self.M
            H.flat[:: 2 * n + 1] += np.concatenate([self.D1, self.D2])
            self.chol = cholesky_factor(H)
        else:
            self._reduce(self.Z)
        self.HE = self._solve(self.E)
        self.schur = cholesky_factor(np.asfortranarray(self.E.T @ self.HE))

    def _reduce(self, Z: FloatMatrix) -> None:
        """Factorise the system in (a, v = a + b), [[Q + L, -D2], [-D2, M + D2]].

        The first block is eliminated with the Woodbury identity on Q = ZZ'.
        """
        self.L = self.D1 + self.D2
        inner = Z.T @ (Z / self.L[:, None])
        inner.flat[:: len(inner) + 1] += 1.0
        self.inner = cholesky_factor(np.asfortranarray(inner))
        half = solve_triangular(self.inner, (Z * (self.D2 / self.L)[:, None]).T, lower=True, check_finite=False)
        S = self.M + half.T @ half
        S.flat[:: self.n + 1] += self.D1 * self.D2 / self.L
        self.chol = cholesky_factor(np.asfortranarray(S))

    def _solve(self, right: FloatMatrix) -> FloatMatrix:
        """Solve Newton's equations [[Q + M + D1, M], [M, M + D2]] x = right, (2 n_samples, k)."""
        if self.Z is None:
            return cholesky_solve(self.chol, right)
        x = self._solve_reduced(self.Z, right)
        return x + self._solve_reduced(self.Z, right - self._product(x))

    def _product(self, x: FloatMatrix) -> FloatMatrix:
        a, b = x[: self.n], x[self.n :]
        slack = self.M @ (a + b)
        return np.concatenate([self.Q @ a + slack + self.D1[:, None] * a, slack + self.D2[:, None] * b])

    def _solve_reduced(self, Z: FloatMatrix, right: FloatMatrix) -> FloatMatrix:
        first, second = right[: self.n] - right[self.n :], right[self.n :]
        D2 = self.D2[:, None]

        def invert(x: FloatMatrix) -> FloatMatrix:  # (Q + L)^-1
            x = x / self.L[:, None]
            return x - (Z / self.L[:, None]) @ cholesky_solve(self.inner, Z.T @ x)

        v = cholesky_solve(self.chol, second + D2 * invert(first))
        a = invert(first + D2 * v)
        return np.concatenate([a, v - a])

    def direction(self, at: Iterate, residuals: Residuals, rc1: FloatVector, rc2: FloatVector) -> Iterate:
        right = np.concatenate([-residuals.margin - rc1 / at.a, -residuals.slack - rc2 / at.b])
        x = self._solve(right[:, None])[:, 0]
        theta = cholesky_solve(self.schur, self.E.T @ x + residuals.dual)
        x -= self.HE @ theta
        da, db = x[: self.n], x[self.n :]
        slack, free = self.M @ (da + db), self.E @ theta
        dp = self.Q @ da + slack + free[: self.n] + residuals.margin
        return Iterate(da, db, dp, slack + free[self.n :] + residuals.slack, theta)


class SoftMarginForm:
    """theta = (u, intercept) with XX' = ZZ'; the slacks are free variables, which gives the soft-margin SVM.

    Each sample has a margin to reach, (n_samples,).
    """

    def __init__(self, y: FloatVector, Z: FloatMatrix, C: float, margins: FloatVector) -> None:
        self.margins = margins
        self.scale = rms(Z)
        self.A = np.column_stack([Z * (y / self.scale)[:, None], y])
        self.q = np.append(np.full(Z.shape[1], 1 / (C * self.scale**2)), 0.0)
        self.r1 = len(self.q)

    def start(self) -> FloatVector:
        return np.zeros(self.r1)

    def dual_scale(self) -> float:
        return 1.0 + len(self.A)

    def residuals(self, at: Iterate) -> Residuals:
        weighed = self.q * at.theta
        dual = np.concatenate([weighed - self.A.T @ at.a, 1 - at.a - at.b])
        margin = self.A @ at.theta + at.s - self.margins - at.p
        return Residuals(margin, np.zeros_like(at.s), dual, float(self.margins @ at.a - 0.5 * at.theta @ weighed))

    def factorise(self, at: Iterate) -> None:
        self.L = at.p / at.a + at.s / at.b
        H = self.A.T @ (self.A / self.L[:, None])
        H.flat[:: self.r1 + 1] += self.q
        self.chol = cholesky_factor(np.asfortranarray(H))

    def direction(self, at: Iterate, residuals: Residuals, rc1: FloatVector, rc2: FloatVector) -> Iterate:
        of_weights, of_slacks = residuals.dual[: self.r1], residuals.dual[self.r1 :]
        h = residuals.margin + rc1 / at.a - (rc2 + at.s * of_slacks) / at.b
        step = cholesky_solve(self.chol, -of_weights - self.A.T @ (h / self.L))
        da = -(self.A @ step + h) / self.L
        db = of_slacks - da
        ds = -(rc2 + at.s * db) / at.b
        return Iterate(da, db, self.A @ step + ds + residuals.margin, ds, step)


def rms(Z: FloatMatrix) -> float:
    """Return the root mean square of the entries; 1 if all entries are almost zero."""
    largest = float(np.abs(Z).max(initial=0.0))
    return largest * float(np.sqrt(np.mean((Z / largest) ** 2))) if largest > 1e-100 else 1.0
