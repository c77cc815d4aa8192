"""Mehrotra's predictor-corrector interior point method for SVM+ and the soft-margin SVM.

Both problems are ``min q(theta) + sum(s)`` subject to ``margin(theta) = y f + s >= 1`` and ``s(theta) >= 0``. They are
divided by the weight C of the slacks, so that the same starting point works for all C. ``a`` and ``b`` are the
multipliers of the two constraints divided by C, ``p`` and ``s`` their surpluses. A ``ProblemForm`` defines theta and
solves for Newton's direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from baselines.base import FloatVector


class Iterate(NamedTuple):
    """Multipliers ``a``, ``b`` and surpluses ``p``, ``s``, each (n_samples,) and positive; ``theta`` is free."""

    a: FloatVector
    b: FloatVector
    p: FloatVector
    s: FloatVector
    theta: FloatVector

    def moved_by(self, step: float, by: Iterate) -> Iterate:
        return Iterate(*(x + step * d for x, d in zip(self, by)))

    def step_to_boundary(self, by: Iterate) -> float:
        """Return the longest step, at most 1, after which multipliers and surpluses are not negative."""
        fastest = max(float((-d / x).max()) for x, d in zip(self[:4], by[:4]))
        return 1.0 / max(fastest, 1.0)


class Residuals(NamedTuple):
    """Residuals of the optimality conditions, and the dual objective."""

    # (n_samples,), of the two constraints
    margin: FloatVector
    slack: FloatVector
    dual: FloatVector  # of stationarity
    value: float  # the dual objective in units of C


class ProblemForm(Protocol):
    """One way to write the problem: the choice of theta, its residuals and Newton's equations."""

    def start(self) -> FloatVector:
        """Return theta of the starting point."""
        ...

    def residuals(self, at: Iterate) -> Residuals: ...

    def dual_scale(self) -> float:
        """Return the scale that the stationarity residual is divided by."""
        ...

    def factorise(self, at: Iterate) -> None:
        """Prepare ``direction``; raises LinAlgError if the matrix is not positive definite."""
        ...

    def direction(self, at: Iterate, residuals: Residuals, rc1: FloatVector, rc2: FloatVector) -> Iterate:
        """Newton's direction to residuals of zero and to complementarity products a p - rc1 and b s - rc2."""
        ...


@dataclass(frozen=True)
class MehrotraResult:
    """The best iterate, whether it is optimal, its merit (0 at the optimum), the number of steps, the last iterate."""

    best: Iterate
    optimal: bool
    merit: float
    n_iter: int
    last: Iterate


def mehrotra_method(form: ProblemForm, n: int, tol: float, max_iter: int) -> MehrotraResult:
    """Minimise, starting at a = b = 1/2, p = s = 1.

    An iterate is optimal if its complementarity gap is at most ``tol`` relative to the objective and its residuals are
    at most ``10 tol``. The method is deterministic. It stops early if the arithmetic breaks down, and returns the
    iterate of smallest merit.
    """
    at = Iterate(np.full(n, 0.5), np.full(n, 0.5), np.ones(n), np.ones(n), form.start())
    best, smallest_merit, optimal, k = at, np.inf, False, 0
    with np.errstate(all="ignore"):
        for k in range(max_iter + 1):
            residuals = form.residuals(at)
            gap = float(at.a @ at.p + at.b @ at.s)
            primal = max(float(np.abs(residuals.margin).max()), float(np.abs(residuals.slack).max()))
            dual = float(np.abs(residuals.dual).max(initial=0.0)) / form.dual_scale()
            merit = max(gap / (1 + abs(residuals.value)), primal, dual)
            if not np.isfinite(merit):
                break
            if merit < smallest_merit:
                best, smallest_merit = at, merit
            if gap <= tol * (abs(residuals.value) + 1e-6) and primal <= 10 * tol and dual <= 10 * tol:
                best, smallest_merit, optimal = at, merit, True
                break
            if k == max_iter:
                break
            try:
                by, step = _mehrotra_step(form, at, residuals, gap / (2 * n))
            except (np.linalg.LinAlgError, ValueError):
                break
            if not step >= 1e-10:
                break
            at = at.moved_by(step, by)
    return MehrotraResult(best, optimal, smallest_merit, max(k, 1), at)


def _mehrotra_step(form: ProblemForm, at: Iterate, residuals: Residuals, mu: float) -> tuple[Iterate, float]:
    """Return the direction and step length of Mehrotra (1992): a predictor, then a centring corrector."""
    n = len(at.a)
    form.factorise(at)
    predictor = form.direction(at, residuals, at.a * at.p, at.b * at.s)
    predicted = at.moved_by(at.step_to_boundary(predictor), predictor)
    centring = (float(predicted.a @ predicted.p + predicted.b @ predicted.s) / (2 * n) / mu) ** 3
    rc1 = at.a * at.p + predictor.a * predictor.p - centring * mu
    rc2 = at.b * at.s + predictor.b * predictor.s - centring * mu
    by = form.direction(at, residuals, rc1, rc2)
    return by, min(1.0, max(0.99, 1.0 - mu) * at.step_to_boundary(by))
