"""Logistic regression with the sparse group penalty, as a scikit-learn classifier."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from baselines.base import (
    SparseLinearMixin,
    correlations,
    scaled_table,
    signed_targets,
    standard_scaling,
    widening_factors,
)
from baselines.sparse_group_lasso.exact import SGLProblem, solve_sgl
from baselines.sparse_group_lasso.group_lasso import (
    MAX_GROUP_SIZE,
    MIN_CURVATURE,
    GroupDescent,
    LogisticLoss,
    logistic_dual,
)
from baselines.sparse_group_lasso.groups import ColumnGroups, group_members, make_groups
from baselines.sparse_group_lasso.penalty import Penalty
from fsgym.rules.uninformative import without_repeated
from fsgym.sklearn_private import Interval, StrOptions, checks_parameters
from fsgym.support.threads import one_blas_thread

# The sparse group LASSO with the logistic loss: proximal Newton steps on weighted least-squares problems.


class LogisticSolution(NamedTuple):
    """Coefficients (n_features,), intercept, the certified duality gap, and the number of Newton steps."""

    w: NDArray[np.float64]
    b: float
    gap: float
    n_iter: int


def null_model(y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the intercept of the model without features, and its loss; ``y`` contains both 0 and 1."""
    share = float(y.mean())
    return float(np.log(share / (1.0 - share))), len(y) * float(entr(share) + entr(1.0 - share))


def lambda_max(X: NDArray[np.float64], y: NDArray[np.float64], tau: float, groups: ColumnGroups) -> float:
    """Return the smallest lambda at which, with (tau lambda, (1 - tau) lambda), every coefficient is zero."""
    return Penalty(tau, 1.0 - tau, groups).dual_norm(correlations(X, y - y.mean()))


def solve_logistic(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    lam1: float,
    lam2: float,
    groups: ColumnGroups,
    *,
    start: LogisticSolution | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> LogisticSolution:
    """Minimise sum_i log(1 + exp(eta_i)) - y_i eta_i + lam1 |w|_1 + lam2 sum_g v_g |w_g|_2 over w and a free b.

    With lam1 = 0, see ``GroupDescent``.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64
    y : ndarray of shape (n_samples,), float64, which contains both 0 and 1
    lam1, lam2 : float, at least 0 and not both 0
    groups : Groups
    start : LogisticSolution, optional, for example of larger penalties
    tol : float
        Duality gap at which to stop, as a share of the loss of the model without features.
    max_iter : int, Newton steps after which a ConvergenceWarning is issued

    References
    ----------
    Meier, van de Geer and Buehlmann (2008), The group lasso for logistic regression; Lee, Sun and Saunders (2014),
    Proximal Newton-type methods for minimizing composite functions; Ndiaye, Fercoq, Gramfort and Salmon (2017), Gap
    safe screening rules for sparsity enforcing penalties, section 4.
    """
    return logistic_path(X, y, [(lam1, lam2)], groups, start=start, tol=tol, max_iter=max_iter)[0]


def logistic_path(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    penalties: Iterable[tuple[float, float]],
    groups: ColumnGroups,
    *,
    start: LogisticSolution | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> list[LogisticSolution]:
    """Return the solutions of ``solve_logistic`` at each pair of ``penalties``, each started from the previous one."""
    solutions, target, descent = [], tol * null_model(y)[1], None
    with one_blas_thread():
        for lam1, lam2 in penalties:
            if lam1 == 0 and groups.sizes.max() <= MAX_GROUP_SIZE:
                if descent is None:
                    descent = _group_descent(X, y, groups)
                start = _run_group_descent(descent, lam2, start, target, max_iter)
            else:
                start = _run_newton(_State(X, y, Penalty(lam1, lam2, groups)), start, target, max_iter)
            if not start.gap <= target:  # also if it is no number
                warnings.warn(
                    f"the duality gap is {start.gap:.3g} after {start.n_iter} Newton steps, above {target:.3g}; raise "
                    "max_iter, tol or the penalties",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            solutions.append(start)
    return solutions


def _group_descent(X: NDArray[np.float64], y: NDArray[np.float64], groups: ColumnGroups) -> GroupDescent:
    def take_newton_step(descent: GroupDescent, lam: float, chosen: NDArray, gap: float, target: float) -> None:
        w = np.empty_like(descent.w)
        w[groups.order] = descent.w
        w, b, _ = _State(X, y, Penalty(0.0, lam, groups)).step(w, descent.b, gap, target)
        descent.move_to(w[groups.order], b)

    return GroupDescent(np.ascontiguousarray(X.T[groups.order]), LogisticLoss(y), groups, take_newton_step)


def _run_group_descent(
    descent: GroupDescent, lam: float, start: LogisticSolution | None, target: float, max_iter: int
) -> LogisticSolution:
    order = descent.groups.order
    if start is not None and not (start.b == descent.b and np.array_equal(start.w[order], descent.w)):
        descent.restart(start.w[order], start.b)
    gap, _ = descent.solve(lam, target, max_sets=max_iter, max_steps=max_iter)
    w = np.empty_like(descent.w)
    w[order] = descent.w
    return LogisticSolution(w, descent.b, gap, descent.n_steps)


def _run_newton(state: _State, start: LogisticSolution | None, target: float, max_iter: int) -> LogisticSolution:
    first, _ = null_model(state.y)
    w, b = (np.zeros(state.X.shape[1]), first) if start is None else (start.w, start.b)
    b = state.intercept(state.X @ w, b)
    gap, moved = state.gap(w, b), True
    n_iter = 0
    while gap > target and moved and n_iter < max_iter:
        w, b, moved = state.step(w, b, gap, target)
        gap, n_iter = state.gap(w, b), n_iter + 1
    return LogisticSolution(w, b, gap, n_iter)


class _State(NamedTuple):
    """One table, target and penalty, with the quantities of a Newton step; eta is Xw + b."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    penalty: Penalty

    def loss(self, eta: NDArray) -> float:
        return float(np.logaddexp(0.0, eta).sum() - self.y @ eta)

    def intercept(self, margin: NDArray, b: float) -> float:
        """Return the best b, the root of sum(expit(margin + b) - y), by safeguarded Newton steps."""
        wanted = self.y.sum()
        middle = np.log(wanted / (len(self.y) - wanted))
        low, high = middle - margin.max(), middle - margin.min()
        for _ in range(100):
            b = b if low < b < high else 0.5 * (low + high)
            p = expit(margin + b)
            excess, slope = float(p.sum() - wanted), float(p @ (1.0 - p))
            low, high = (low, b) if excess > 0 else (b, high)
            change = -excess / slope if slope > 0 else np.inf
            if abs(change) <= 1e-15 * max(1.0, abs(b)):
                break
            b += change
        return b

    def gap(self, w: NDArray, b: float) -> float:
        """Return the duality gap at ``w`` and its best ``b``.

        The dual point is the residual, scaled so that it is feasible.
        """
        eta = self.X @ w + b
        residual, curvature = self.y - expit(eta), np.maximum(expit(eta) * expit(-eta), MIN_CURVATURE)
        norm = self.penalty.dual_norm(self.X.T @ residual)
        return max(self.loss(eta) + self.penalty.value(w) - logistic_dual(self.y, eta, residual, curvature, norm), 0.0)

    def step(self, w: NDArray, b: float, gap: float, target: float) -> tuple[NDArray, float, bool]:
        """Take one proximal Newton step with a line search; return w, b, and whether they changed."""
        eta = self.X @ w + b
        p = expit(eta)
        curvature = np.maximum(p * (1.0 - p), MIN_CURVATURE)
        root, share = np.sqrt(curvature), curvature / curvature.sum()
        response = eta + (self.y - p) / curvature
        means, mean = share @ self.X, float(share @ response)
        groups = self.penalty.groups
        problem = SGLProblem(root[:, None] * (self.X - means), root * (response - mean), groups)
        enough = 0.1 * max(0.1 * gap, target) / (0.5 * float(problem.y @ problem.y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap of the logistic problem decides
            lam1, lam2 = self.penalty.lam1, self.penalty.lam2
            solution, *_ = solve_sgl(problem, lam1, lam2, w[groups.order], max(enough, 1e-14), 200)
        new = np.empty_like(w)
        new[groups.order] = solution
        return self._line_search(w, b, eta, new, mean - float(new @ means), p)

    def _line_search(
        self, w: NDArray, b: float, eta: NDArray, new: NDArray, new_b: float, p: NDArray
    ) -> tuple[NDArray, float, bool]:
        """Backtrack from ``new`` and ``new_b`` until the objective decreases enough; return as ``step`` does."""
        before, cost = self.loss(eta) + self.penalty.value(w), self.penalty.value(w)
        ahead = self.X @ new + new_b - eta
        slope = float((p - self.y) @ ahead) + self.penalty.value(new) - cost
        length = 1.0
        while length > 1e-10:
            trial = w + length * (new - w) if length < 1.0 else new
            value = self.loss(eta + length * ahead) + self.penalty.value(trial)
            if value <= before + 1e-4 * length * slope + 1e-13 * abs(before):
                b = self.intercept(self.X @ trial, b + length * (new_b - b))
                return trial, b, bool(length * np.abs(ahead).max() > 0)
            length *= 0.5
        return w, b, False


class GroupLassoClassifier(SparseLinearMixin, ClassifierMixin, BaseEstimator):
    """Logistic regression with the group LASSO penalty, which selects groups of features; one-vs-rest if multiclass.

    It minimises the summed logistic loss plus lambda (``tau |w|_1 + (1 - tau) sum_g v_g |w_g|_2``), to a duality gap of
    ``tol``. The intercept is not penalised. Features are scaled to mean 0 and standard deviation 1 over the training
    rows. A feature with a nonzero coefficient in any of the classifiers counts as used, for every row.

    Parameters
    ----------
    alpha : float in (0, 1], default=0.1
        lambda as a share of the smallest lambda at which every coefficient is zero; the same lambda for all
        classifiers. Controls sparsity: 1 uses no feature and always predicts the largest class.
    tau : float in [0, 1], default=0.0
        Share of the L1 penalty: 0 is the group LASSO, 1 the LASSO; in between, groups are sparse inside.
    groups : None, int, array-like of shape (n_features,), or list of lists of int
        None: each column is a group. A number: groups of that many neighbouring columns. Otherwise one label per
        column, or the column numbers of each group, which need not be neighbours.
    group_weights : {"sqrt", "ones"} or array-like of shape (n_groups,), default="sqrt"
        v_g, positive; "sqrt" is the square root of the group's size. In the order of the list, or of the sorted labels.
    tol : float, default=1e-6
        Duality gap at which to stop, relative to the loss of the model without features.
    max_iter : int, default=100
        Newton steps after which the fit stops with a ConvergenceWarning.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1 or n_classes, n_features), float64
        Coefficients of the scaled features.
    intercept_ : ndarray of shape (1 or n_classes,), float64
    lambda_ : float
    dual_gap_ : float
        Upper bound on how far the objective is above its minimum, in units of the loss; the largest of all classifiers.
    active_groups_ : ndarray of int64
        Numbers of the groups with a nonzero coefficient.
    scaling_ : fsgym.Scaling
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names
    n_iter_ : int
        Newton steps; the largest number of all classifiers.

    References
    ----------
    Meier, van de Geer and Buehlmann (2008), The group lasso for logistic regression; a reference method of Xu, Huang,
    Weinberger and Zheng (2014). Simon, Friedman, Hastie and Tibshirani (2013), A sparse-group lasso, whose alpha is
    ``tau``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import GroupLassoClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> measurements = [[j, j + 10, j + 20] for j in range(10)]  # mean, error and worst of each
    >>> model = GroupLassoClassifier(0.3, groups=measurements).fit(X, y)
    >>> int(model.features_used(X[:1]).sum()), model.active_groups_.tolist(), bool(model.score(X, y) > 0.9)
    (6, [0, 7], True)
    """

    scaling = "standard"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, 1, closed="right")],
        "tau": [Interval(Real, 0, 1, closed="both")],
        "groups": [None, Interval(Integral, 1, None, closed="left"), "array-like"],
        "group_weights": [StrOptions({"ones", "sqrt"}), "array-like"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        tau: float = 0.0,
        groups: Any = None,
        group_weights: str | ArrayLike = "sqrt",
        tol: float = 1e-6,
        max_iter: int = 100,
    ) -> None:
        self.alpha = alpha
        self.tau = tau
        self.groups = groups
        self.group_weights = group_weights
        self.tol = tol
        self.max_iter = max_iter

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> GroupLassoClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables, for fewer than two classes and for groups
        that do not partition the columns.
        """
        Z, codes = self._training_data(X, y)
        groups = make_groups(self.groups, self.group_weights, Z.shape[1])
        targets = signed_targets(codes)
        zero_one_targets = (targets.T + 1.0) / 2.0
        largest = max(lambda_max(Z, t, self.tau, groups) for t in zero_one_targets)
        self.lambda_ = self.alpha * largest
        any_feature = self.alpha < 1.0 and largest > 0
        solutions = [self._solve(Z, t, groups, any_feature) for t in zero_one_targets]
        self.dual_gap_, self.n_iter_ = max(s.gap for s in solutions), max(s.n_iter for s in solutions)
        self._store_coefficients(np.vstack([s.w for s in solutions]), np.array([s.b for s in solutions]), targets)
        self.active_groups_ = np.flatnonzero(groups.sums(np.abs(self.coef_).sum(axis=0)[groups.order]))
        return self

    def _without_repeated(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        return without_repeated(Z, None if self.groups is None else group_members(self.groups, Z.shape[1]))

    def _solve(self, Z: Any, target: Any, groups: Any, any_feature: bool) -> LogisticSolution:
        if not any_feature:
            return LogisticSolution(np.zeros(Z.shape[1]), 0.0, 0.0, 0)
        lam1, lam2 = self.lambda_ * self.tau, self.lambda_ * (1.0 - self.tau)
        return solve_logistic(Z, target, lam1, lam2, groups, tol=self.tol, max_iter=self.max_iter)

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, float]]:
        """Return settings of ``alpha`` from 1, which uses no feature, to 0.001, most of them near 1.

        The steps of the logarithm increase linearly. Raises ValueError for invalid tables and for fewer than two
        classes.
        """
        scaled_table(X, y, standard_scaling)
        return [{"alpha": float(a)} for a in 1.0 / widening_factors(3.0, n_settings)]
