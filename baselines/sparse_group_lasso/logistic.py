"""The sparse group LASSO with the logistic loss: proximal Newton steps on weighted least-squares problems."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit
from sklearn.exceptions import ConvergenceWarning

from baselines.linear import correlations
from baselines.sparse_group_lasso.exact import SGLProblem, solve_sgl
from baselines.sparse_group_lasso.groups import ColumnGroups
from baselines.sparse_group_lasso.penalty import Penalty
from fsgym.support.threads import one_blas_thread

MIN_CURVATURE = 1e-6  # lower bound on a row's second derivative, which vanishes for rows with a large margin


class LogisticSolution(NamedTuple):
    """Coefficients (n_features,), intercept, the certified duality gap, and the number of Newton steps."""

    w: NDArray[np.float64]
    b: float
    gap: float
    n_iter: int


def null_model(y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the intercept of the model without features, and its loss; ``y`` contains both 0 and 1."""
    share = float(y.mean())
    return float(np.log(share / (1.0 - share))), len(y) * float(entr(share) + entr(1.0 - share))


def lambda_max(X: NDArray[np.float64], y: NDArray[np.float64], tau: float, groups: ColumnGroups) -> float:
    """Return the smallest lambda at which, with (tau lambda, (1 - tau) lambda), every coefficient is zero."""
    return Penalty(tau, 1.0 - tau, groups).dual_norm(correlations(X, y - y.mean()))


def solve_logistic(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    lam1: float,
    lam2: float,
    groups: ColumnGroups,
    *,
    start: LogisticSolution | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> LogisticSolution:
    """Minimise sum_i log(1 + exp(eta_i)) - y_i eta_i + lam1 |w|_1 + lam2 sum_g v_g |w_g|_2 over w and a free b.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64
    y : ndarray of shape (n_samples,), float64, which contains both 0 and 1
    lam1, lam2 : float, at least 0 and not both 0
    groups : Groups
    start : LogisticSolution, optional, for example of larger penalties
    tol : float
        Duality gap at which to stop, as a share of the loss of the model without features.
    max_iter : int, Newton steps after which a ConvergenceWarning is issued

    References
    ----------
    Meier, van de Geer and Buehlmann (2008), The group lasso for logistic regression; Lee, Sun and Saunders (2014),
    Proximal Newton-type methods for minimizing composite functions; Ndiaye, Fercoq, Gramfort and Salmon (2017), Gap
    safe screening rules for sparsity enforcing penalties, section 4.
    """
    with one_blas_thread():
        return _run_newton(_State(X, y, Penalty(lam1, lam2, groups)), start, tol, max_iter)


def _run_newton(state: _State, start: LogisticSolution | None, tol: float, max_iter: int) -> LogisticSolution:
    first, loss = null_model(state.y)
    w, b = (np.zeros(state.X.shape[1]), first) if start is None else (start.w, start.b)
    b = state.intercept(state.X @ w, b)
    gap, target, moved = state.gap(w, b), tol * loss, True
    n_iter = 0
    while gap > target and moved and n_iter < max_iter:
        w, b, moved = state.step(w, b, gap, target)
        gap, n_iter = state.gap(w, b), n_iter + 1
    if gap > target:
        warnings.warn(
            f"the duality gap is {gap:.3g} after {n_iter} Newton steps, above {target:.3g}; raise max_iter, tol or the "
            "penalties",
            ConvergenceWarning,
            stacklevel=4,
        )
    return LogisticSolution(w, b, gap, n_iter)


class _State(NamedTuple):
    """One table, target and penalty, with the quantities of a Newton step; eta is Xw + b."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    penalty: Penalty

    def loss(self, eta: NDArray) -> float:
        return float(np.logaddexp(0.0, eta).sum() - self.y @ eta)

    def intercept(self, margin: NDArray, b: float) -> float:
        """Return the best b, the root of sum(expit(margin + b) - y), by safeguarded Newton steps."""
        wanted = self.y.sum()
        middle = np.log(wanted / (len(self.y) - wanted))
        low, high = middle - margin.max(), middle - margin.min()
        for _ in range(100):
            b = b if low < b < high else 0.5 * (low + high)
            p = expit(margin + b)
            excess, slope = float(p.sum() - wanted), float(p @ (1.0 - p))
            low, high = (low, b) if excess > 0 else (b, high)
            change = -excess / slope if slope > 0 else np.inf
            if abs(change) <= 1e-15 * max(1.0, abs(b)):
                break
            b += change
        return b

    def gap(self, w: NDArray, b: float) -> float:
        """Return the duality gap at ``w`` and its best ``b``.

        The dual point is the residual, scaled so that it is feasible.
        """
        eta = self.X @ w + b
        residual, curvature = self.y - expit(eta), np.maximum(expit(eta) * expit(-eta), MIN_CURVATURE)
        squared = float(residual @ (residual / curvature))
        share = max(1.0 + float(eta @ residual) / squared, 0.0) if squared > 0 else 1.0  # optimal for a quadratic loss
        for most in (self.penalty.dual_norm(self.X.T @ residual), float(np.abs(residual).max())):
            share = min(share, 1.0 / most) if most > 0 else share
        q = (self.y - share * residual).clip(0.0, 1.0)
        return max(self.loss(eta) + self.penalty.value(w) - float((entr(q) + entr(1.0 - q)).sum()), 0.0)

    def step(self, w: NDArray, b: float, gap: float, target: float) -> tuple[NDArray, float, bool]:
        """Take one proximal Newton step with a line search; return w, b, and whether they changed."""
        eta = self.X @ w + b
        p = expit(eta)
        curvature = np.maximum(p * (1.0 - p), MIN_CURVATURE)
        root, share = np.sqrt(curvature), curvature / curvature.sum()
        response = eta + (self.y - p) / curvature
        means, mean = share @ self.X, float(share @ response)
        groups = self.penalty.groups
        problem = SGLProblem(root[:, None] * (self.X - means), root * (response - mean), groups)
        enough = 0.1 * max(0.1 * gap, target) / (0.5 * float(problem.y @ problem.y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap of the logistic problem decides
            lam1, lam2 = self.penalty.lam1, self.penalty.lam2
            solution = solve_sgl(problem, lam1, lam2, w[groups.order], max(enough, 1e-14), 200)
        new = np.empty_like(w)
        new[groups.order] = solution.w
        return self._line_search(w, b, eta, new, mean - float(new @ means), p)

    def _line_search(
        self, w: NDArray, b: float, eta: NDArray, new: NDArray, new_b: float, p: NDArray
    ) -> tuple[NDArray, float, bool]:
        """Backtrack from ``new`` and ``new_b`` until the objective decreases enough; return as ``step`` does."""
        before, cost = self.loss(eta) + self.penalty.value(w), self.penalty.value(w)
        ahead = self.X @ new + new_b - eta
        slope = float((p - self.y) @ ahead) + self.penalty.value(new) - cost
        length = 1.0
        while length > 1e-10:
            trial = w + length * (new - w) if length < 1.0 else new
            value = self.loss(eta + length * ahead) + self.penalty.value(trial)
            if value <= before + 1e-4 * length * slope + 1e-13 * abs(before):
                b = self.intercept(self.X @ trial, b + length * (new_b - b))
                return trial, b, bool(length * np.abs(ahead).max() > 0)
            length *= 0.5
        return w, b, False
