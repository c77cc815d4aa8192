"""The convex program over a set of disjunctions: its norm, its bias, and lower and upper bounds on its optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.base import FloatMatrix, FloatVector


@dataclass(frozen=True, eq=False)
class HKLProblem:
    """min 1/2 Omega(w)^2 + sum_i C_i max(0, 1 - y_i (f_i - b)), with f = Psi w and b free.

    Omega(w) = sum_v delta_v |w_{D(v)}|_p. Each node (a disjunction) has a weight. The group D(v) consists of v and all
    longer disjunctions that contain v. The empty disjunction defines a group but is not a node, since it is false for
    every row.
    """

    Psi: FloatMatrix  # (n_rows, n_nodes), 1 where the disjunction is true
    y: FloatVector  # (n_rows,), +1 and -1
    C: FloatVector  # (n_rows,), weight of each row's loss
    membership: FloatMatrix  # (n_groups, n_nodes), 1 where the node is in the group
    delta: FloatVector  # (n_groups,), price of each group
    p: float  # float in (1, 2]

    @property
    def q(self) -> float:
        return self.p / (self.p - 1.0)

    def omega(self, w: FloatVector) -> float:
        """Return the norm of the weights."""
        size = np.abs(w).max(initial=0.0)
        if size == 0.0:
            return 0.0
        return float(size * self.delta @ (self.membership @ np.abs(w / size) ** self.p) ** (1.0 / self.p))

    def primal(self, w: FloatVector) -> tuple[float, float]:
        """Return the objective at ``w`` and the bias that minimises it."""
        f = self.Psi @ w
        b = best_bias(f, self.y, self.C)
        loss = self.C @ np.maximum(0.0, 1.0 - self.y * (f - b))
        return 0.5 * self.omega(w) ** 2 + float(loss), b

    def scaled_correlations(self, t: FloatVector, eta: FloatVector) -> tuple[FloatVector, float]:
        """Return x_u = |t_u| / c_u(eta), divided by the largest of them, and the largest.

        In terms of x, zeta_u |t_u|^q = c_u x_u^q. The division keeps the powers finite: q is very large near p = 1.
        """
        x = np.abs(t) / self.prices(eta)
        largest = float(x.max(initial=0.0))
        return (x / largest if largest > 0.0 else x), largest

    def prices(self, eta: FloatVector) -> FloatVector:
        """Return c_u(eta), the price of each weight: the sum over its groups of delta^p eta^(1-p)."""
        return self.membership.T @ (self.delta**self.p * eta ** (1.0 - self.p))

    def dual_norm_bound(self, t: FloatVector, eta: FloatVector) -> float:
        """Return an upper bound on the squared dual norm of ``t``, for any eta > 0 (Hoelder); tight at the best eta."""
        x, largest = self.scaled_correlations(t, eta)
        pull = (self.delta / eta) ** self.p * (self.membership @ x**self.q)
        return float(pull.max(initial=0.0) ** (2.0 / self.q) * largest**2)

    def signed_sums(self, alpha: FloatVector) -> FloatVector:
        """Return t_u = sum_i alpha_i y_i psi_u(x_i)."""
        return self.Psi.T @ (alpha * self.y)


def best_bias(f: FloatVector, y: FloatVector, C: FloatVector) -> float:
    """Return the exact minimiser b of sum_i C_i max(0, 1 - y_i (f_i - b)); the midpoint if it is an interval."""
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


def dual_value(alpha: FloatVector, C: FloatVector, U: float) -> tuple[float, float]:
    """Return the dual objective c sum(alpha) - c^2 U / 2 at the best feasible c, and c.

    ``U`` is an upper bound on the squared dual norm of ``alpha``.
    """
    total = float(alpha.sum())
    c = float(np.min(C[alpha > 0.0] / alpha[alpha > 0.0], initial=np.inf))
    if not (np.isfinite(c) and np.isfinite(U)):
        return 0.0, 1.0
    c = min(c, total / U) if U > 0.0 else c
    return c * total - 0.5 * c * c * U, c


@dataclass(frozen=True, eq=False)
class HKLSolution:
    """Weights and multipliers of a problem, with bounds on its optimum."""

    w: FloatVector  # (n_nodes,)
    b: float  # (n_nodes,)
    alpha: FloatVector  # (n_rows,), feasible: in [0, C], sum of alpha y is 0
    eta: FloatVector  # (n_groups,), positive, sums to 1
    # an upper and a lower bound on the optimum
    primal: float
    dual: float
    U: float  # an upper bound on the squared dual norm of ``alpha`` over the nodes

    @property
    def gap(self) -> float:
        """The duality gap, relative to the primal objective."""
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0


class Incumbent:
    """The weights of the lowest primal and the multipliers of the highest dual objective so far."""

    def __init__(self, problem: HKLProblem) -> None:
        self.problem = problem
        self.primal, self.dual, self.U = np.inf, -np.inf, 0.0

    def update(self, w: FloatVector, alpha: FloatVector, eta: FloatVector) -> None:
        """Keep what improves a bound; ``alpha`` is considered only if it is feasible up to rounding."""
        value, b = self.problem.primal(w)
        if value < self.primal:
            self.primal, self.w, self.b = value, w.copy(), b
        if abs(self.problem.y @ alpha) > 1e-9 * alpha.sum():
            return
        U = self.problem.dual_norm_bound(self.problem.signed_sums(alpha), eta)
        dual, c = dual_value(alpha, self.problem.C, U)
        if dual > self.dual:
            self.dual, self.alpha, self.eta, self.U = dual, c * alpha, eta.copy(), c * c * U

    @property
    def gap(self) -> float:
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0

    def solution(self) -> HKLSolution:
        return HKLSolution(self.w, self.b, self.alpha, self.eta, self.primal, self.dual, self.U)
