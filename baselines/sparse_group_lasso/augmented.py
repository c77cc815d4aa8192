"""Augmented Lagrangian of the dual with semismooth Newton steps: for problems on which descent is slow.

Near interpolation, and with columns that are nearly copies of each other, coordinate descent needs thousands of epochs.
Here each step solves one linear system, whose size is the smaller of the numbers of rows and of nonzero coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from baselines.sparse_group_lasso import kernels
from baselines.sparse_group_lasso.fista import squared_norm
from baselines.sparse_group_lasso.groups import ColumnGroups

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
