"""The exact solver: block coordinate descent on working sets, Newton steps on the support, a certified gap."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from baselines.sparse_group_lasso import kernels
from baselines.sparse_group_lasso.fista import squared_norm
from baselines.sparse_group_lasso.group_lasso import MAX_GROUP_SIZE, GroupDescent, SquaredLoss
from baselines.sparse_group_lasso.groups import ColumnGroups
from fsgym.support.threads import one_blas_thread

# Augmented Lagrangian of the dual with semismooth Newton steps: for problems on which descent is slow.
#
# Near interpolation, and with columns that are nearly copies of each other, coordinate descent needs thousands of
# epochs. Here each step solves one linear system, whose size is the smaller of the numbers of rows and of nonzero
# coefficients.

MAX_MULTIPLIER_UPDATES = 30  # outer iterations
MAX_NEWTON_STEPS = 50  # inner iterations, for each of them


class _Point(NamedTuple):
    """A dual point xi, its proximal point u = prox(w - sigma X'xi), and psi with its gradient there.

    ``soft`` is the soft-thresholded argument, ``norms`` its norm in each group, and ``shrinkage`` the factor from
    ``soft`` to ``u`` in each group. ``support`` are the places of the nonzero entries of ``u``, ``rows`` their columns
    of the table.
    """

    xi: NDArray[np.float64]
    soft: NDArray[np.float64]
    norms: NDArray[np.float64]
    shrinkage: NDArray[np.float64]
    u: NDArray[np.float64]
    psi: float
    support: NDArray[np.int64]
    rows: NDArray[np.float64]
    gradient: NDArray[np.float64]


class AugmentedLagrangian:
    """Minimise psi(xi) = |xi|^2 / 2 + y'xi + |prox_{sigma penalty}(w - sigma X'xi)|^2 / (2 sigma); w becomes the prox.

    Parameters
    ----------
    XT, y, groups, lam1, lam2
        As in ``kernels``: columns in the order of the groups, and lam2 v_g.
    chosen : ndarray of int64
        The groups whose coefficients may become nonzero.

    References
    ----------
    Zhang, Zhang, Sun and Toh (2020), An efficient Hessian based algorithm for solving large-scale sparse group Lasso
    problems, algorithms 1 and 2.
    """

    def __init__(
        self, XT: NDArray, y: NDArray, groups: ColumnGroups, lam1: float, lam2: NDArray, chosen: NDArray[np.int64]
    ) -> None:
        self.XT, self.y, self.groups, self.lam1, self.lam2, self.chosen = XT, y, groups, lam1, lam2, chosen
        self.group_of = np.repeat(np.arange(len(lam2)), groups.sizes)
        self.sigma = 1.0
        self.z = np.zeros(len(XT))
        self.places = np.flatnonzero(np.isin(self.group_of, chosen))

    def solve(self, w: NDArray, gap_of: Callable[[NDArray], float], target: float) -> NDArray[np.float64]:
        """Return the best iterate, starting at ``w``, which is zero outside the chosen groups.

        Stops as soon as ``gap_of(w)`` is at most ``target``.
        """
        table = self.XT[self.places]
        slope, mean = np.sqrt(squared_norm(table)), float(np.mean(np.einsum("ji,ji->j", table, table)))
        self.sigma, last = 1.0 / mean, 1e10 / mean
        xi = w[self.places] @ table - self.y
        best, lowest = w, gap_of(w)
        for _ in range(MAX_MULTIPLIER_UPDATES):
            point, n_steps = self.minimise_psi(w, xi, slope)
            w, xi = point.u, point.xi
            gap = gap_of(w)
            if gap < lowest:
                best, lowest = w, gap
            if gap <= target:
                break
            if n_steps < MAX_NEWTON_STEPS // 2:
                self.sigma = min(10.0 * self.sigma, last)
        return best

    def evaluate(self, w: NDArray, xi: NDArray) -> _Point:
        """Return the proximal point, psi and its gradient at ``xi``."""
        kernels.correlate(self.XT, xi, self.groups.first, self.chosen, self.z)
        argument = w - self.sigma * self.z
        soft = np.sign(argument) * np.maximum(np.abs(argument) - self.sigma * self.lam1, 0.0)
        norms, cut = np.sqrt(self.groups.sums(soft**2)), self.sigma * self.lam2
        shrinkage = 1.0 - np.divide(cut, norms, out=np.ones_like(norms), where=norms > cut)
        u = soft * shrinkage[self.group_of]
        psi = 0.5 * float(xi @ xi) + float(self.y @ xi) + float(u @ u) / (2.0 * self.sigma)
        support = np.flatnonzero(u)
        rows = self.XT[support]
        return _Point(xi, soft, norms, shrinkage, u, psi, support, rows, xi + self.y - u[support] @ rows)

    def minimise_psi(self, w: NDArray, xi: NDArray, slope: float) -> tuple[_Point, int]:
        """Minimise psi by Newton's method, to a tenth of the infeasibility after the step in w."""
        point, n_steps = self.evaluate(w, xi), 0
        while n_steps < MAX_NEWTON_STEPS:
            size = np.linalg.norm(point.gradient)
            if size * slope <= 0.1 * np.linalg.norm(point.u - w) / self.sigma:
                break
            direction = self.direction(point)
            descent, length, rounding = float(point.gradient @ direction), 1.0, 1e-14 * abs(point.psi)
            trial = self.evaluate(w, point.xi + direction)
            while trial.psi > point.psi + 1e-4 * length * descent + rounding and length > 1e-6:
                length *= 0.5
                trial = self.evaluate(w, point.xi + length * direction)
            n_steps += 1
            if trial.psi > point.psi - rounding and np.linalg.norm(trial.gradient) > 0.5 * size:
                break
            point = trial
        return point, n_steps

    def direction(self, point: _Point) -> NDArray[np.float64]:
        """Solve (I + BB') d = -gradient; BB' = sigma X M X', M from the generalised Jacobian of the proximal map."""
        support, rows, gradient = point.support, point.rows, point.gradient
        n = len(gradient)
        if not len(support):
            return -gradient
        group = self.group_of[support]
        B = np.sqrt(self.sigma * point.shrinkage[group])[:, None] * rows
        firsts = np.flatnonzero(np.diff(group, prepend=-1))
        active = group[firsts]
        if self.lam2[active].any():
            curved = np.add.reduceat(point.soft[support][:, None] * rows, firsts, axis=0)
            weight = self.sigma * np.sqrt(self.lam2[active] / point.norms[active] ** 3)
            B = np.vstack([B, weight[:, None] * curved])
        try:
            if len(B) < n:
                factor = cho_factor(B @ B.T + np.eye(len(B)), check_finite=False)
                return B.T @ cho_solve(factor, B @ gradient, check_finite=False) - gradient
            return -cho_solve(cho_factor(B.T @ B + np.eye(n), check_finite=False), gradient, check_finite=False)
        except LinAlgError:
            return -gradient


MAX_GRAM_COLUMNS = 512  # columns of a group; larger groups take plain proximal steps without a Gram matrix
EPOCHS_PER_GAP = 10  # epochs of descent between two evaluations of the gap
DESCENT_BUDGET = 2  # cost of the descent on a working set, in Newton steps, after which Newton's method takes over
SCREENING_TOLERANCE = 1e-9  # relative rounding error that a screening test with equality may have


class SGLProblem:
    """One table and target, for any number of penalties; caches what depends on the table only.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64
        Not copied if it is in Fortran order and the groups are runs of neighbouring columns.
    y : ndarray of shape (n_samples,), float64
    groups : Groups
    """

    def __init__(self, X: NDArray[np.float64], y: NDArray[np.float64], groups: ColumnGroups) -> None:
        in_order = np.array_equal(groups.order, np.arange(len(groups.order)))
        self.XT = np.ascontiguousarray(X.T if in_order else X.T[groups.order])
        self.y, self.groups = np.ascontiguousarray(y), groups
        sizes = groups.sizes
        gram_sizes = np.where(sizes <= MAX_GRAM_COLUMNS, sizes**2, 0)
        gram = np.empty(int(gram_sizes.sum()))
        gram_first = np.where(gram_sizes > 0, np.cumsum(gram_sizes) - gram_sizes, -1)
        self.bound = np.full(len(sizes), np.nan)  # on the largest eigenvalue of X_g'X_g; NaN until it is needed
        self.blocks = kernels.Blocks(self.XT, groups.first, gram, gram_first, self.bound)
        self.all = np.arange(len(sizes))
        self.buffers = np.empty((4, int(sizes.max())))
        self._norms: NDArray[np.float64] | None = None
        self._group_descent: GroupDescent | None = None

    def correlations(self, r: NDArray, chosen: NDArray, z: NDArray) -> None:
        """Write X'r into ``z`` for the groups ``chosen``."""
        kernels.correlate(self.XT, r, self.groups.first, chosen, z)

    def norms(self) -> NDArray[np.float64]:
        """Return the norm of each column, (n_features,)."""
        norms = self._norms
        if norms is None:
            norms = self._norms = np.sqrt(np.einsum("ji,ji->j", self.XT, self.XT))
        return norms

    def group_descent(self, w: NDArray[np.float64] | None) -> GroupDescent:
        """Return the solver of the group LASSO, at ``w``; what it computed at other penalties is kept."""
        descent = self._group_descent
        if descent is None:
            descent = self._group_descent = GroupDescent(self.XT, SquaredLoss(self.y), self.groups, solve_dual)
        if w is not descent.w:
            descent.restart(np.zeros(len(self.XT)) if w is None else w, 0.0)
        return descent

    def prepare(self, chosen: NDArray) -> None:
        """Compute the Gram matrices and step sizes of the groups ``chosen``."""
        first, gram, gram_first = self.groups.first, self.blocks.gram, self.blocks.gram_first
        for g in chosen[np.isnan(self.bound[chosen])]:
            start, stop = first[g], first[g + 1]
            if gram_first[g] >= 0:
                self.bound[g] = kernels.group_gram(self.XT, start, stop, gram, gram_first[g])
            else:
                self.bound[g] = np.linalg.norm(self.XT[start:stop], 2) ** 2

    def residual(self, w: NDArray) -> NDArray[np.float64]:
        support = np.flatnonzero(w)
        return self.y - w[support] @ self.XT[support]


def solve_sgl(
    problem: SGLProblem, lam1: float, lam2: float, w: NDArray[np.float64] | None, tol: float, max_iter: int
) -> tuple[NDArray[np.float64], float, int]:
    """Minimise 1/2 |y - Xw|^2 + lam1 |w|_1 + lam2 sum_g v_g |w_g|_2 from ``w``, to a gap of ``tol`` |y|^2 / 2.

    Returns the coefficients in the order of places (n_features,), the certified duality gap, and the outer iterations.
    """
    target = 0.5 * tol * float(problem.y @ problem.y)
    with one_blas_thread():
        if lam1 == 0 and problem.groups.sizes.max() <= MAX_GROUP_SIZE:
            descent = problem.group_descent(w)
            gap, n_iter = descent.solve(lam2, target, max_sets=max_iter)
            solution = descent.w
        else:
            solution, gap, n_iter = _solve_on_working_sets(problem, lam1, lam2, w, target, max_iter)
    if not gap <= target:  # also if it is no number
        warnings.warn(
            f"the duality gap is {gap:.3g} after {n_iter} iterations, above {target:.3g}; raise max_iter, tol or the "
            "penalties, or start from the solution at larger penalties",
            ConvergenceWarning,
            stacklevel=3,
        )
    return solution, gap, n_iter


def solve_dual(descent: GroupDescent, lam: float, chosen: NDArray, gap: float, target: float) -> None:
    """Go on from ``descent`` by the augmented Lagrangian."""
    groups, lam2 = descent.groups, lam * descent.groups.weights
    augmented = AugmentedLagrangian(descent.XT, descent.loss.y, groups, 0.0, lam2, chosen)

    def gap_of(w: NDArray) -> float:
        descent.move_to(w, 0.0)
        descent.correlate(chosen)
        return descent.gap(lam2, chosen)

    gap_of(augmented.solve(descent.w, gap_of, max(1e-3 * gap, target)))


def _solve_on_working_sets(
    problem: SGLProblem, lam1: float, lam2: float, w: NDArray[np.float64] | None, target: float, max_iter: int
) -> tuple[NDArray[np.float64], float, int]:
    groups = problem.groups
    descent = BlockDescent(problem, lam1, lam2 * groups.weights, np.zeros(len(groups.order)) if w is None else w.copy())
    active, z, screening = problem.all, np.zeros(len(groups.order)), True
    for n_iter in range(max_iter + 1):
        descent.r = problem.residual(descent.w)
        problem.correlations(descent.r, active, z)
        gap, scale = descent.gap(z, active)
        if gap <= target or n_iter == max_iter:
            if len(active) < len(problem.all):  # check the gap with the screened groups too
                active, screening = problem.all, False
                problem.correlations(descent.r, active, z)
                gap, scale = descent.gap(z, active)
            if gap <= target or n_iter == max_iter:
                break
        if screening:
            active = descent.screen(z, scale, gap, active)
        chosen = descent.working_set(z, active)
        problem.prepare(chosen)
        descent.run(chosen, gap, target if len(chosen) == len(active) else 0.3 * target)
    return descent.w, gap, n_iter


class BlockDescent:
    """Block coordinate descent on one problem at one pair of penalties; ``lam2`` holds lam2 v_g."""

    def __init__(self, problem: SGLProblem, lam1: float, lam2: NDArray[np.float64], w: NDArray[np.float64]) -> None:
        self.problem, self.lam1, self.lam2, self.w = problem, lam1, lam2, w
        self.r = problem.residual(w)

    def primal(self, w: NDArray, r: NDArray, chosen: NDArray) -> float:
        first = self.problem.groups.first
        return 0.5 * float(r @ r) + kernels.penalty_value(w, first, chosen, self.lam1, self.lam2)

    def gap(self, z: NDArray, chosen: NDArray) -> tuple[float, float]:
        """Return the duality gap over ``chosen``, from z = X'r, and c such that theta = c r is the dual point."""
        y, r = self.problem.y, self.r
        norm = kernels.dual_norm(z, self.problem.groups.first, chosen, self.lam1, self.lam2, self.problem.buffers[0])
        squared = float(r @ r)
        c = float(y @ r) / squared if squared > 0 else 0.0
        c = min(max(c, -1.0 / norm), 1.0 / norm) if norm > 0 else c
        dual = c * float(y @ r) - 0.5 * c * c * squared
        return max(self.primal(self.w, r, chosen) - dual, 0.0), c

    def screen(self, z: NDArray, scale: float, gap: float, active: NDArray) -> NDArray:
        """Return the groups of ``active`` that can be nonzero at the optimum (gap-safe; Ndiaye et al., 2016)."""
        groups, radius = self.problem.groups, np.sqrt(2.0 * gap)
        norms, theta = self.problem.norms(), np.abs(scale * z)
        over = np.maximum(theta - self.lam1, 0.0)
        reach = radius * np.sqrt(groups.sums(norms**2))  # at least radius |X_g|_2
        top = np.maximum.reduceat(theta, groups.first[:-1])
        outside = np.sqrt(groups.sums(over**2)) + reach
        bound = np.where(top > self.lam1, outside, np.maximum(top + reach - self.lam1, 0.0))
        possible = (bound >= self.lam2 * (1.0 - SCREENING_TOLERANCE)) | (groups.sums(self.w != 0) > 0)
        return active[possible[active]]

    def working_set(self, z: NDArray, active: NDArray) -> NDArray:
        """Return all nonzero groups and the groups with the largest violation, in increasing order of their number."""
        groups = self.problem.groups
        over = np.sqrt(groups.sums(np.maximum(np.abs(z) - self.lam1, 0.0) ** 2)) - self.lam2
        inside = groups.sums(self.w != 0) > 0
        over[inside] = np.inf
        size = min(max(10, 2 * int(inside.sum())), len(active))
        return np.sort(active[np.argpartition(-over[active], size - 1)[:size]])

    def run(self, chosen: NDArray, gap: float, target: float) -> None:
        """Minimise over the groups ``chosen`` until their gap is at most 0.3 ``gap`` or ``target``."""
        problem = self.problem
        z = np.zeros(len(self.w))
        spent = 0.0
        for _ in range(50):
            lam1, lam2 = self.lam1, self.lam2
            kernels.descend(problem.blocks, chosen, lam1, lam2, self.w, self.r, problem.buffers, EPOCHS_PER_GAP)
            problem.correlations(self.r, chosen, z)
            if self.gap(z, chosen)[0] <= max(0.3 * gap, target):
                return
            spent += 40.0 * len(self.r) * problem.groups.sizes[chosen].sum()
            size = np.count_nonzero(self.w)
            if spent > DESCENT_BUDGET * size * min(size, len(self.r)) * (len(self.r) + size):
                break
        augmented = AugmentedLagrangian(problem.XT, problem.y, problem.groups, self.lam1, self.lam2, chosen)

        def gap_of(w: NDArray) -> float:
            self.w, self.r = w, problem.residual(w)
            problem.correlations(self.r, chosen, z)
            return self.gap(z, chosen)[0]

        gap_of(augmented.solve(self.w, gap_of, max(1e-3 * gap, target)))
