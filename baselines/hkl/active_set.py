"""The active set: solve over few disjunctions, see which others would help, add them, until none would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.hkl.certificate import Certificate
from baselines.hkl.lattice import ActiveSet, Lattice, Node, Sources
from baselines.hkl.problem import Matrix, Problem, Solution, Vector, dual_value

Solver = Callable[[Problem, float], Solution]
SLACK = 1e-3  # by how much a disjunction must break the necessary condition
FINEST = 1e-8


@dataclass(frozen=True)
class Search:
    """How the active set grows and when it stops.

    Attributes
    ----------
    p : float in (1, 2]
    solver : function (problem, rtol) -> Solution
    sufficient : bool, stop at the certified gap (True) or where no single disjunction helps (False)
    tol : float, relative duality gap
    max_active, max_add, max_iter : int, disjunctions in all, disjunctions an iteration, iterations
    """

    p: float
    solver: Solver
    sufficient: bool
    tol: float
    max_active: int
    max_add: int
    max_iter: int


@dataclass(frozen=True, eq=False)
class Fit:
    """What a search ended with.

    Attributes
    ----------
    nodes : list of tuple, active disjunctions
    solution : Solution over them
    bound : float, a lower bound on the optimum over all disjunctions; NaN where none was computed
    status : {"certified", "necessary", "max_active", "max_iter", "inaccurate"}
    history : list of dict, one an iteration
    """

    nodes: list[Node]
    solution: Solution
    bound: float
    status: str
    history: list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows of two classes, equal ones merged; ``index`` says which row of the certificate each one is."""

    X: Matrix
    y: Vector
    C: Vector
    index: NDArray[np.int64]


def search(rows: Rows, lattice: Lattice, how: Search, certificate: Certificate | None) -> Fit:
    """Grow the active set until the stop of ``how``. ``certificate`` None: no bound over all disjunctions."""
    active, at = ActiveSet(lattice, rows.X), nothing(rows)
    rtol, bound = 0.3 * how.tol, -np.inf
    history: list[dict[str, Any]] = []
    while True:
        if active.nodes:
            at = how.solver(Problem(active.Psi, rows.y, rows.C, active.below(), active.delta(), how.p), rtol)
        view = View(rows, active, at)
        wanted = view.helpful()
        if how.sufficient and certificate is not None:
            values = view.values(certificate)
            bound = max(bound, view.bound(values))
            wanted = np.concatenate([wanted, view.large(values, how.tol, wanted)])
        history.append(told(active, at, bound, view, len(wanted)))
        status = ended(how, at, bound, len(wanted), active, len(history), rtol)
        if status is not None:
            break
        if not len(wanted):  # only the restricted problem is in the way
            rtol *= 0.3
            continue
        room = min(how.max_add, how.max_active - len(active.nodes))
        active.add([active.node(view.sources, k) for k in wanted[:room]])
    if certificate is not None and not how.sufficient:
        bound = view.bound(view.values(certificate))
    certified = at.primal - bound <= how.tol * at.primal
    return Fit(active.nodes, at, bound if np.isfinite(bound) else np.nan, "certified" if certified else status, history)


def ended(
    how: Search, at: Solution, bound: float, n_wanted: int, active: ActiveSet, iteration: int, rtol: float
) -> str | None:
    """What ends the search, or None where it goes on."""
    if how.sufficient and at.primal - bound <= how.tol * at.primal:
        return "certified"
    if not how.sufficient and not n_wanted and at.gap <= how.tol:
        return "necessary"
    if n_wanted and len(active.nodes) >= how.max_active:
        return "max_active"
    if iteration > how.max_iter:
        return "max_iter"
    return "inaccurate" if not n_wanted and rtol < FINEST else None


class View:
    """The sources of an active set, judged by the multipliers of its solution."""

    def __init__(self, rows: Rows, active: ActiveSet, at: Solution) -> None:
        self.rows, self.active, self.at = rows, active, at
        self.sources: Sources = active.sources()
        self.a = at.alpha * rows.y
        self.pull = np.abs(active.signed(self.a, self.sources)) / active.source_delta(self.sources)

    def helpful(self) -> NDArray[np.int64]:
        """Sources that break the necessary condition |t_u| <= Omega delta_u, the worst first."""
        limit = np.sqrt(self.at.U) * (1.0 + SLACK) + 1e-9 * self.at.alpha.sum()
        found = np.flatnonzero(self.pull > limit)
        return found[np.argsort(-self.pull[found], kind="stable")]

    def values(self, certificate: Certificate) -> Vector:
        """alpha' Q(u) alpha of each source."""
        a = np.bincount(self.rows.index, weights=self.a, minlength=len(certificate.Z)).astype(np.float64)
        return certificate.values(a, self.active, self.sources)

    def bound(self, values: Vector) -> float:
        """A lower bound on the optimum over all disjunctions: the squared dual norm is at most the largest of these."""
        U = max(self.at.U, float(values.max(initial=0.0)))
        return dual_value(self.at.alpha, self.rows.C, U)[0]

    def large(self, values: Vector, tol: float, but: NDArray[np.int64]) -> NDArray[np.int64]:
        """Other sources that keep the gap above ``tol``, the worst first."""
        spare = 2.0 * max(tol * self.at.primal - (self.at.primal - self.at.dual), 0.0)
        found = np.setdiff1d(np.flatnonzero(values > self.at.U + spare), but)
        return found[np.argsort(-values[found], kind="stable")]


def nothing(rows: Rows) -> Solution:
    """The optimum without any disjunction: the answer is the heavier class."""
    y, C = rows.y, rows.C
    totals = np.array([C[y < 0].sum(), C[y > 0].sum()])
    alpha = C * (totals.min() / totals)[(y > 0).astype(int)]
    lost = 2.0 * float(totals.min())
    b = -1.0 if totals[1] >= totals[0] else 1.0
    return Solution(np.empty(0), b, alpha, np.ones(0), lost, lost, 0.0)


def told(active: ActiveSet, at: Solution, bound: float, view: View, n_wanted: int) -> dict[str, Any]:
    return {
        "n_active": len(active.nodes),
        "objective": at.primal,
        "restricted_dual": at.dual,
        "dual": bound,
        "n_sources": len(view.sources),
        "n_violators": n_wanted,
    }


def different_rows(X: Matrix) -> Matrix:
    """The different rows of a 0/1 table, in an order that depends on them only."""
    _, first = np.unique(packed(X), axis=0, return_index=True)
    return X[first]


def rows_of(X: Matrix, y: Vector, C: Vector, different: Matrix) -> Rows:
    """Training rows of a 0/1 table with targets +1 and -1, equal ones merged, those of weight 0 left out.

    ``different`` are the rows of the certificate.
    """
    X, y, C = X[C > 0.0], y[C > 0.0], C[C > 0.0]
    sided = np.column_stack([packed(X), (y > 0.0).astype(np.uint8)])
    _, first, merged = np.unique(sided, axis=0, return_index=True, return_inverse=True)
    place = {row.tobytes(): k for k, row in enumerate(packed(different))}
    index = np.array([place[row.tobytes()] for row in packed(X[first])])
    return Rows(
        np.ascontiguousarray(X[first]), y[first], np.bincount(merged.ravel(), weights=C).astype(np.float64), index
    )


def packed(X: Matrix) -> NDArray[np.uint8]:
    """Rows of 0 and 1 as bits."""
    if X.shape[1] == 0:
        return np.zeros((len(X), 1), dtype=np.uint8)
    return np.packbits(X.astype(bool), axis=1)
