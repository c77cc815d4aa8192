"""The active set: solve over a few disjunctions, add others that violate optimality, and repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.base import FloatMatrix, FloatVector
from baselines.hkl.certificate import Certificate
from baselines.hkl.lattice import ActiveSet, Disjunction, DisjunctionLattice, Sources
from baselines.hkl.problem import HKLProblem, HKLSolution, dual_value

Solver = Callable[[HKLProblem, float], HKLSolution]
VIOLATION_SLACK = 1e-3  # relative: a smaller violation of the necessary condition does not count
MIN_SOLVER_RTOL = 1e-8  # relative gap; below it, rounding limits the restricted solver


@dataclass(frozen=True)
class SearchOptions:
    """How the active set grows and when it stops."""

    p: float  # float in (1, 2]
    solver: Solver  # function (problem, rtol) -> HKLSolution
    sufficient: bool  # stop at the certified gap (True), or as soon as no single disjunction would help (False)
    tol: float  # relative duality gap
    # limits on disjunctions in total, disjunctions per iteration, iterations
    max_active: int
    max_add: int
    max_iter: int


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The result of a search."""

    nodes: list[Disjunction]  # active disjunctions
    solution: HKLSolution  # HKLSolution over them
    bound: float  # a lower bound on the optimum over all disjunctions; NaN if none was computed
    status: str  # {"certified", "necessary", "max_active", "max_iter", "inaccurate"}
    history: list[dict[str, Any]]  # one per iteration


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows of two classes, equal ones merged; ``index`` is the row of the certificate for each of them."""

    X: FloatMatrix
    y: FloatVector
    C: FloatVector
    index: NDArray[np.int64]


def grow_active_set(
    rows: TrainingRows, lattice: DisjunctionLattice, options: SearchOptions, certificate: Certificate | None
) -> SearchResult:
    """Grow the active set until a stopping rule of ``options`` applies.

    Without a ``certificate`` there is no bound on the optimum over all disjunctions.
    """
    active, solution = ActiveSet(lattice, rows.X), empty_solution(rows)
    rtol, bound = 0.3 * options.tol, -np.inf
    history: list[dict[str, Any]] = []
    while True:
        if active.nodes:
            problem = HKLProblem(active.Psi, rows.y, rows.C, active.membership(), active.delta(), options.p)
            solution = options.solver(problem, rtol)
        evaluation = SourceEvaluation(rows, active, solution)
        candidates = evaluation.violating_sources()
        if options.sufficient and certificate is not None:
            quadratic_forms = evaluation.quadratic_forms(certificate)
            bound = max(bound, evaluation.lower_bound(quadratic_forms))
            candidates = np.concatenate([candidates, evaluation.gap_sources(quadratic_forms, options.tol, candidates)])
        history.append(history_entry(active, solution, bound, evaluation, len(candidates)))
        status = stop_status(options, solution, bound, len(candidates), active, len(history), rtol)
        if status is not None:
            break
        if not len(candidates):  # only the restricted problem is not solved accurately enough
            rtol *= 0.3
            continue
        room = min(options.max_add, options.max_active - len(active.nodes))
        active.add([active.disjunction(evaluation.sources, k) for k in candidates[:room]])
    if certificate is not None and not options.sufficient:
        bound = evaluation.lower_bound(evaluation.quadratic_forms(certificate))
    certified = solution.primal - bound <= options.tol * solution.primal
    status = "certified" if certified else status
    return SearchResult(active.nodes, solution, bound if np.isfinite(bound) else np.nan, status, history)


def stop_status(
    options: SearchOptions,
    solution: HKLSolution,
    bound: float,
    n_candidates: int,
    active: ActiveSet,
    iteration: int,
    rtol: float,
) -> str | None:
    """Return the status that ends the search, or None to continue."""
    if options.sufficient and solution.primal - bound <= options.tol * solution.primal:
        return "certified"
    if not options.sufficient and not n_candidates and solution.gap <= options.tol:
        return "necessary"
    if n_candidates and len(active.nodes) >= options.max_active:
        return "max_active"
    if iteration > options.max_iter:
        return "max_iter"
    return "inaccurate" if not n_candidates and rtol < MIN_SOLVER_RTOL else None


class SourceEvaluation:
    """The sources of an active set, evaluated with the multipliers of the solution over it."""

    def __init__(self, rows: TrainingRows, active: ActiveSet, solution: HKLSolution) -> None:
        self.rows, self.active, self.solution = rows, active, solution
        self.sources: Sources = active.sources()
        self.a = solution.alpha * rows.y
        self.ratio = np.abs(active.signed_sums(self.a, self.sources)) / active.source_delta(self.sources)

    def violating_sources(self) -> NDArray[np.int64]:
        """Return the sources that violate the necessary condition |t_u| <= Omega delta_u, the worst first."""
        limit = np.sqrt(self.solution.U) * (1.0 + VIOLATION_SLACK) + 1e-9 * self.solution.alpha.sum()
        sources = np.flatnonzero(self.ratio > limit)
        return sources[np.argsort(-self.ratio[sources], kind="stable")]

    def quadratic_forms(self, certificate: Certificate) -> FloatVector:
        """Return alpha' Q(u) alpha of each source."""
        a = np.bincount(self.rows.index, weights=self.a, minlength=len(certificate.Z)).astype(np.float64)
        return certificate.quadratic_forms(a, self.active, self.sources)

    def lower_bound(self, quadratic_forms: FloatVector) -> float:
        """Return a lower bound on the optimum over all disjunctions.

        The squared dual norm is at most the largest of the ``quadratic_forms``.
        """
        U = max(self.solution.U, float(quadratic_forms.max(initial=0.0)))
        return dual_value(self.solution.alpha, self.rows.C, U)[0]

    def gap_sources(self, quadratic_forms: FloatVector, tol: float, exclude: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sources, except those of ``exclude``, that keep the gap above ``tol``, the worst first."""
        spare = 2.0 * max(tol * self.solution.primal - (self.solution.primal - self.solution.dual), 0.0)
        sources = np.setdiff1d(np.flatnonzero(quadratic_forms > self.solution.U + spare), exclude)
        return sources[np.argsort(-quadratic_forms[sources], kind="stable")]


def empty_solution(rows: TrainingRows) -> HKLSolution:
    """Return the optimum without any disjunction, which predicts the class of the larger total weight."""
    y, C = rows.y, rows.C
    totals = np.array([C[y < 0].sum(), C[y > 0].sum()])
    alpha = C * (totals.min() / totals)[(y > 0).astype(int)]
    objective = 2.0 * float(totals.min())
    b = -1.0 if totals[1] >= totals[0] else 1.0
    return HKLSolution(np.empty(0), b, alpha, np.ones(0), objective, objective, 0.0)


def history_entry(
    active: ActiveSet, solution: HKLSolution, bound: float, evaluation: SourceEvaluation, n_candidates: int
) -> dict[str, Any]:
    """Return an entry of ``DisjunctionClassifier.history_``."""
    return {
        "n_active": len(active.nodes),
        "objective": solution.primal,
        "restricted_dual": solution.dual,
        "dual": bound,
        "n_sources": len(evaluation.sources),
        "n_violators": n_candidates,
    }


def distinct_rows(X: FloatMatrix) -> FloatMatrix:
    """Return the distinct rows of a 0/1 table, in an order that depends on these rows only."""
    _, first = np.unique(pack_rows(X), axis=0, return_index=True)
    return X[first]


def merge_rows(X: FloatMatrix, y: FloatVector, C: FloatVector, distinct: FloatMatrix) -> TrainingRows:
    """Return the training rows of a 0/1 table with targets +1 and -1.

    Equal rows are merged, rows of weight 0 are left out. ``distinct`` are the rows of the certificate.
    """
    X, y, C = X[C > 0.0], y[C > 0.0], C[C > 0.0]
    labelled = np.column_stack([pack_rows(X), (y > 0.0).astype(np.uint8)])
    _, first, merged = np.unique(labelled, axis=0, return_index=True, return_inverse=True)
    position = {row.tobytes(): k for k, row in enumerate(pack_rows(distinct))}
    index = np.array([position[row.tobytes()] for row in pack_rows(X[first])])
    return TrainingRows(
        np.ascontiguousarray(X[first]), y[first], np.bincount(merged.ravel(), weights=C).astype(np.float64), index
    )


def pack_rows(X: FloatMatrix) -> NDArray[np.uint8]:
    """Return rows of 0 and 1 as packed bits, uint8."""
    if X.shape[1] == 0:
        return np.zeros((len(X), 1), dtype=np.uint8)
    return np.packbits(X.astype(bool), axis=1)
