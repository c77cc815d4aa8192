"""The convex program over a set of disjunctions: its norm, its bias, and bounds on its optimum from both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """min 1/2 Omega(w)^2 + sum_i C_i max(0, 1 - y_i (f_i - b)), with f = Psi w and b free.

    Omega(w) = sum_v delta_v |w_{D(v)}|_p. Nodes have a weight; groups are the sets D(v) of a node and all longer
    disjunctions that hold it. The empty disjunction is a group but no node, since it is false for every row.

    Attributes
    ----------
    Psi : ndarray (n_rows, n_nodes), float64, truth of each disjunction
    y : ndarray (n_rows,), float64, +1 and -1
    C : ndarray (n_rows,), float64, weight of each row's loss
    below : ndarray (n_groups, n_nodes), float64, 1 where the node is in the group
    delta : ndarray (n_groups,), float64, price of each group
    p : float in (1, 2]
    """

    Psi: Matrix
    y: Vector
    C: Vector
    below: Matrix
    delta: Vector
    p: float

    @property
    def q(self) -> float:
        return self.p / (self.p - 1.0)

    def omega(self, w: Vector) -> float:
        """The norm of the weights."""
        size = np.abs(w).max(initial=0.0)
        if size == 0.0:
            return 0.0
        return float(size * self.delta @ (self.below @ np.abs(w / size) ** self.p) ** (1.0 / self.p))

    def primal(self, w: Vector) -> tuple[float, float]:
        """The objective at ``w`` and the bias that is best for it."""
        f = self.Psi @ w
        b = best_bias(f, self.y, self.C)
        loss = self.C @ np.maximum(0.0, 1.0 - self.y * (f - b))
        return 0.5 * self.omega(w) ** 2 + float(loss), b

    def pressures(self, t: Vector, eta: Vector) -> tuple[Vector, float]:
        """x_u = |t_u| / c_u(eta), divided by its largest, and this; c_u sums delta^p eta^(1-p) over u's groups.

        With it zeta_u |t_u|^q = c_u x_u^q, where q is so large near p = 1 that nothing else would stay finite.
        """
        x = np.abs(t) / self.prices(eta)
        largest = float(x.max(initial=0.0))
        return (x / largest if largest > 0.0 else x), largest

    def prices(self, eta: Vector) -> Vector:
        """c_u(eta), what a weight costs: sum over its groups of delta^p eta^(1-p)."""
        return self.below.T @ (self.delta**self.p * eta ** (1.0 - self.p))

    def dual_norm_bound(self, t: Vector, eta: Vector) -> float:
        """An upper bound on the squared dual norm of ``t``, by any eta > 0 (Hoelder); tight at the optimal eta."""
        x, largest = self.pressures(t, eta)
        pull = (self.delta / eta) ** self.p * (self.below @ x**self.q)
        return float(pull.max(initial=0.0) ** (2.0 / self.q) * largest**2)

    def signed(self, alpha: Vector) -> Vector:
        """t_u = sum_i alpha_i y_i psi_u(x_i)."""
        return self.Psi.T @ (alpha * self.y)


def best_bias(f: Vector, y: Vector, C: Vector) -> float:
    """The b that minimises sum_i C_i max(0, 1 - y_i (f_i - b)), exactly; the middle where there are several."""
    knots = f - y
    order = np.argsort(knots, kind="stable")
    slope = np.cumsum(C[order]) - C[y < 0].sum()
    slope[np.abs(slope) <= 1e-12 * C.sum()] = 0.0
    k = int(np.searchsorted(slope, 0.0))
    if slope[k] == 0.0:
        following = k + int(np.searchsorted(slope[k:], 0.0, side="right"))
        if following < len(knots):
            return float(0.5 * (knots[order[k]] + knots[order[following]]))
    return float(knots[order[k]])


def dual_value(alpha: Vector, C: Vector, U: float) -> tuple[float, float]:
    """The dual objective c sum(alpha) - c^2 U / 2 at its best feasible c, and c; U bounds the squared dual norm."""
    total = float(alpha.sum())
    c = float(np.min(C[alpha > 0.0] / alpha[alpha > 0.0], initial=np.inf))
    if not (np.isfinite(c) and np.isfinite(U)):
        return 0.0, 1.0
    c = min(c, total / U) if U > 0.0 else c
    return c * total - 0.5 * c * c * U, c


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights and multipliers of a problem, with bounds on its optimum.

    Attributes
    ----------
    w, b : ndarray (n_nodes,), float
    alpha : ndarray (n_rows,), feasible: in [0, C], sum of alpha y is 0
    eta : ndarray (n_groups,), positive, sums to 1
    primal, dual : float, an upper and a lower bound on the optimum
    U : float, an upper bound on the squared dual norm of ``alpha`` over the nodes
    """

    w: Vector
    b: float
    alpha: Vector
    eta: Vector
    primal: float
    dual: float
    U: float

    @property
    def gap(self) -> float:
        """Relative to the primal objective."""
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0


class Incumbent:
    """The best weights and the best multipliers seen so far, each by its own bound."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.primal, self.dual, self.U = np.inf, -np.inf, 0.0

    def see(self, w: Vector, alpha: Vector, eta: Vector) -> None:
        """Keep what is better than before; ``alpha`` counts only where it is feasible to rounding."""
        value, b = self.problem.primal(w)
        if value < self.primal:
            self.primal, self.w, self.b = value, w.copy(), b
        if abs(self.problem.y @ alpha) > 1e-9 * alpha.sum():
            return
        U = self.problem.dual_norm_bound(self.problem.signed(alpha), eta)
        dual, c = dual_value(alpha, self.problem.C, U)
        if dual > self.dual:
            self.dual, self.alpha, self.eta, self.U = dual, c * alpha, eta.copy(), c * c * U

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0

    def solution(self) -> Solution:
        return Solution(self.w, self.b, self.alpha, self.eta, self.primal, self.dual, self.U)
