"""Mehrotra's predictor-corrector interior point method for SVM+ and the soft-margin SVM.

Both are ``min q(theta) + sum(s)`` subject to ``margin(theta) = y f + s >= 1`` and ``s(theta) >= 0``, divided by the
weight C of the slacks, so that one start serves all weights. ``a`` and ``b`` are the multipliers of the two
constraints divided by C, ``p`` and ``s`` their surpluses. A form says what theta is and solves for Newton's direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Iterate(NamedTuple):
    """A point: multipliers ``a``, ``b`` and surpluses ``p``, ``s``, each (n_samples,) and positive; free ``theta``."""

    a: Vector
    b: Vector
    p: Vector
    s: Vector
    theta: Vector

    def moved(self, step: float, by: Iterate) -> Iterate:
        return Iterate(*(x + step * d for x, d in zip(self, by)))

    def step_to_boundary(self, by: Iterate) -> float:
        """The longest step, at most 1, after which multipliers and surpluses are not negative."""
        fastest = max(float((-d / x).max()) for x, d in zip(self[:4], by[:4]))
        return 1.0 / max(fastest, 1.0)


class Residuals(NamedTuple):
    """What is left of the optimality conditions: margins (n_samples,), slacks (n_samples,), stationarity; and the
    objective of the dual, in units of C."""

    margin: Vector
    slack: Vector
    dual: Vector
    value: float


class Form(Protocol):
    """One way of writing the problem down."""

    def start(self) -> Vector:
        """theta at the start."""
        ...

    def residuals(self, at: Iterate) -> Residuals: ...

    def dual_scale(self) -> float:
        """What the stationarity residual is compared with."""
        ...

    def factorise(self, at: Iterate) -> None:
        """Prepare ``direction``; LinAlgError where the matrix is not positive definite."""
        ...

    def direction(self, at: Iterate, left: Residuals, rc1: Vector, rc2: Vector) -> Iterate:
        """Newton's direction towards residuals of zero and a p = a p - rc1, b s = b s - rc2."""
        ...


@dataclass(frozen=True)
class Ended:
    """Where the method ended: the best iterate, whether it is optimal, its figure of merit, and the steps taken."""

    best: Iterate
    optimal: bool
    merit: float
    n_iter: int
    last: Iterate


def interior_point(form: Form, n: int, tol: float, max_iter: int) -> Ended:
    """Minimise from the start a = b = 1/2, p = s = 1.

    Optimal is what has a complementarity gap of ``tol`` relative to the objective and residuals below ``10 tol``.
    Deterministic. Ends early where the numbers break down; the iterate of the least merit is kept.
    """
    at = Iterate(np.full(n, 0.5), np.full(n, 0.5), np.ones(n), np.ones(n), form.start())
    best, least, optimal, k = at, np.inf, False, 0
    with np.errstate(all="ignore"):
        for k in range(max_iter + 1):
            left = form.residuals(at)
            gap = float(at.a @ at.p + at.b @ at.s)
            primal = max(float(np.abs(left.margin).max()), float(np.abs(left.slack).max()))
            dual = float(np.abs(left.dual).max(initial=0.0)) / form.dual_scale()
            merit = max(gap / (1 + abs(left.value)), primal, dual)
            if not np.isfinite(merit):
                break
            if merit < least:
                best, least = at, merit
            if gap <= tol * (abs(left.value) + 1e-6) and primal <= 10 * tol and dual <= 10 * tol:
                best, least, optimal = at, merit, True
                break
            if k == max_iter:
                break
            try:
                by, step = _mehrotra(form, at, left, gap / (2 * n))
            except (np.linalg.LinAlgError, ValueError):
                break
            if not step >= 1e-10:
                break
            at = at.moved(step, by)
    return Ended(best, optimal, least, max(k, 1), at)


def _mehrotra(form: Form, at: Iterate, left: Residuals, mu: float) -> tuple[Iterate, float]:
    """The direction and the step length of Mehrotra (1992): look ahead, then aim at a centre with a correction."""
    n = len(at.a)
    form.factorise(at)
    ahead = form.direction(at, left, at.a * at.p, at.b * at.s)
    reached = at.moved(at.step_to_boundary(ahead), ahead)
    centring = (float(reached.a @ reached.p + reached.b @ reached.s) / (2 * n) / mu) ** 3
    rc1 = at.a * at.p + ahead.a * ahead.p - centring * mu
    rc2 = at.b * at.s + ahead.b * ahead.s - centring * mu
    by = form.direction(at, left, rc1, rc2)
    return by, min(1.0, max(0.99, 1.0 - mu) * at.step_to_boundary(by))
