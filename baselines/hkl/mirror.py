"""Mirror descent over the simplex of eta: the restricted solver as published."""

from __future__ import annotations

import numpy as np

from baselines.hkl.interior_point import interior_point
from baselines.hkl.problem import Incumbent, Matrix, Problem, Solution, Vector

FLOOR = 1e-12
STEPS = 2000


def mirror_descent(problem: Problem, rtol: float, max_iter: int = STEPS) -> Solution:
    """Minimise g(eta), whose value is that of a support vector machine, to a relative gap of ``rtol``.

    Each step solves the machine and multiplies eta by exp(-step * gradient); steps fall with the square root of their
    number. It starts from equal entries: small ones would hardly move.
    """
    d = len(problem.delta)
    eta, best = np.full(d, 1.0 / d), Incumbent(problem)
    for k in range(1, max_iter + 1):
        w, alpha = machine(problem, eta, min(1e-3, 0.1 * max(best.gap, rtol)))
        best.see(w, alpha, eta)
        if best.gap <= rtol or d == 1:
            break
        slope = gradient(problem, eta, problem.signed(alpha))
        steepest = np.abs(slope).max()
        if steepest == 0.0:
            break
        eta = eta * np.exp(-np.sqrt(2.0 * np.log(d) / k) / steepest * slope)
        eta = np.maximum(eta / eta.sum(), FLOOR)
        eta /= eta.sum()
    return best.solution()


def machine(problem: Problem, eta: Vector, rtol: float) -> tuple[Vector, Vector]:
    """The machine at fixed eta: its norm (sum_u c_u |w_u|^p)^(1/p) is that of one group, on scaled columns."""
    scale = problem.prices(eta) ** (-1.0 / problem.p)
    whole: Matrix = np.ones((1, len(scale)))
    plain = Problem(problem.Psi * scale, problem.y, problem.C, whole, np.ones(1), problem.p)
    found = interior_point(plain, rtol)
    return scale * found.w, found.alpha


def gradient(problem: Problem, eta: Vector, t: Vector) -> Vector:
    """dg/deta_v = -(1 / 2 pbar) (delta_v / eta_v)^p T^(1/pbar - 1) sum of (|t_u| / c_u)^q over the group, pbar = q / 2.

    T = sum_u c_u (|t_u| / c_u)^q.
    """
    p, q = problem.p, problem.q
    x, largest = problem.pressures(t, eta)
    if largest == 0.0:
        return np.zeros_like(eta)
    T = float(problem.prices(eta) @ x**q)
    return -((problem.delta / eta) ** p) * (problem.below @ x**q) * T ** (2.0 / q - 1.0) * largest**2 / q
