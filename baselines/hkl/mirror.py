"""Mirror descent over the simplex of eta: the restricted solver as published (``solver="mirror"``)."""

from __future__ import annotations

import numpy as np

from baselines.arrays import FloatMatrix, FloatVector
from baselines.hkl.interior_point import interior_point
from baselines.hkl.problem import HKLProblem, HKLSolution, Incumbent

MIN_ETA = 1e-12  # entries of eta stay above it, since the gradient divides by them
MAX_MIRROR_STEPS = 2000  # each solves a support vector machine


def mirror_descent(problem: HKLProblem, rtol: float, max_iter: int = MAX_MIRROR_STEPS) -> HKLSolution:
    """Minimise g(eta), whose value is that of a support vector machine, to a relative gap of ``rtol``.

    Each step solves the machine at the current eta and multiplies eta by exp(-step * gradient); the k-th step is
    proportional to 1 / sqrt(k). All entries start equal, since small entries would hardly move.
    """
    d = len(problem.delta)
    eta, best = np.full(d, 1.0 / d), Incumbent(problem)
    for k in range(1, max_iter + 1):
        w, alpha = solve_machine(problem, eta, min(1e-3, 0.1 * max(best.gap, rtol)))
        best.update(w, alpha, eta)
        if best.gap <= rtol or d == 1:
            break
        slope = eta_gradient(problem, eta, problem.signed_sums(alpha))
        steepest = np.abs(slope).max()
        if steepest == 0.0:
            break
        eta = eta * np.exp(-np.sqrt(2.0 * np.log(d) / k) / steepest * slope)
        eta = np.maximum(eta / eta.sum(), MIN_ETA)
        eta /= eta.sum()
    return best.solution()


def solve_machine(problem: HKLProblem, eta: FloatVector, rtol: float) -> tuple[FloatVector, FloatVector]:
    """Solve the machine at fixed eta; return its weights and multipliers.

    Its norm (sum_u c_u |w_u|^p)^(1/p) is that of a problem with one group on scaled columns.
    """
    scale = problem.prices(eta) ** (-1.0 / problem.p)
    one_group: FloatMatrix = np.ones((1, len(scale)))
    scaled_problem = HKLProblem(problem.Psi * scale, problem.y, problem.C, one_group, np.ones(1), problem.p)
    solution = interior_point(scaled_problem, rtol)
    return scale * solution.w, solution.alpha


def eta_gradient(problem: HKLProblem, eta: FloatVector, t: FloatVector) -> FloatVector:
    """Return dg/deta_v = -(1 / 2 pbar) (delta_v / eta_v)^p T^(1/pbar - 1) sum of (|t_u| / c_u)^q over the group of v.

    pbar = q / 2 and T = sum_u c_u (|t_u| / c_u)^q.
    """
    p, q = problem.p, problem.q
    x, largest = problem.scaled_correlations(t, eta)
    if largest == 0.0:
        return np.zeros_like(eta)
    T = float(problem.prices(eta) @ x**q)
    return -((problem.delta / eta) ** p) * (problem.membership @ x**q) * T ** (2.0 / q - 1.0) * largest**2 / q
