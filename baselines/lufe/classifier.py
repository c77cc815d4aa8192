"""LUFe: a support vector machine on selected features, whose slacks are modelled by the unselected ones."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from baselines.base import signed_targets
from baselines.lufe.roles import LUFeMixin, Roles
from baselines.svm_plus.model import slack_weight, solve_each
from baselines.svm_plus.problem import SVMPlusProblem, SVMPlusSolution, solve_svm_plus
from fsgym.sklearn_private import Interval, StrOptions, checks_parameters
from fsgym.support.threads import one_blas_thread


class LUFeClassifier(LUFeMixin, BaseEstimator):
    """Learning using unselected features: an SVM on selected features whose slacks are linear in the unselected ones.

    A criterion selects features. Then SVM+ is fitted with the selected features as x and all others as privileged x*.
    Prediction needs the selected features only. More than two classes: one-vs-rest, with one selection for all.

    With few features and overlapping classes, the minimum is often at w = 0, whatever the weights (see
    ``SVMPlusClassifier``). The model then uses no feature and answers the largest class; its ``status_`` is
    "no signal".

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        How many features are selected: a number below that of all features, or a share of them. None selects half of
        them. By a named ``selector`` no constant feature is selected, and none that repeats another one.
    selector : {"rfe", "anova", "mutual_info", "hsic", "leverage"} or array-like of shape (n_features,), default="rfe"
        Recursive elimination by a linear SVM, F statistic of the analysis of variance, mutual information with the
        class (slow), covariance with the class (HSIC with linear kernels), leverage (which does not use the class), or
        your own scores, the largest being the best.
    lam1 : float, default=1.0
        Weight of the squared norm of w*, the coefficients of the slacks.
    lam2 : float, default=1.0
        Weight of the summed slacks, comparable with C of a plain SVM.
    secondary : {"unselected", "random", "identity"}, default="unselected"
        Which variables model the slacks. "random" and "identity" are controls without information: as many normal
        variables, or one indicator per sample (an SVM with a mixture of linear and squared hinge loss).
    secondary_fraction : float in (0, 1], default=1.0
        Share of the unselected features, best first, that model the slacks. Ignored by "identity".
    fit_intercept_unselected : bool, default=True
        Whether the slacks have an intercept, as in SVM+. Equation 3 of the paper has none; without it there may be no
        solution.
    scaling : {"range", None}, default="range"
        "range" scales the range of each feature over the training rows to a width of 2: to [-1, 1] if the table is
        dense and the slacks have an intercept. None keeps the widths, for example for text with rows of norm 1.
    selector_step : float in (0, 1), default=0.1
        Share of the remaining features that each round of "rfe" drops.
    selector_C : float, default=1.0
        C of the linear SVM of "rfe".
    objective_scale : {"svm", "paper"}, default="svm"
        "paper" drops the factors 1/2 on the squared norms, as equation 3 of the paper does: the same as ``lam2 / 2``
        with "svm".
    solver : {"auto", "gram", "factor"}, default="auto"
    tol : float, default=1e-8
    max_iter : int, default=80
        As in ``SVMPlusClassifier``.
    random_state : int, RandomState or None, default=None
        For "random" and "mutual_info".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_shares_ : ndarray of shape (n_classes,), float64, their shares of the training rows
    support_ : ndarray of shape (n_features,), bool
        The selected features, which ``transform`` returns.
    ranking_ : ndarray of shape (n_features,), int64
        Rank of each feature; 1 is the best, and there are no ties.
    secondary_features_ : ndarray of int64
        Indices of the unselected features that model the slacks; empty for the controls.
    coef_ : ndarray of shape (1 or n_classes, n_selected), float64
        Coefficients of the selected features, scaled, in the order of their columns.
    intercept_ : ndarray of shape (1 or n_classes,), float64
    coef_unselected_ : ndarray of shape (1 or n_classes, n_secondary), float64
    intercept_unselected_ : ndarray of shape (1 or n_classes,), float64
    scaling_ : fsgym.Scaling
    has_signal_, alpha_, beta_, dual_coef_, slack_, objective_, duality_gap_, max_violation_, n_iter_, status_
        As in ``SVMPlusClassifier``. A model without a signal answers the largest class.
    selected_features_ : ndarray of str
        The names of the columns that predictions use: the selected ones, or none where ``status_`` is "no signal".
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    References
    ----------
    Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016), Learning using unselected features (LUFe), equation 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import LUFeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LUFeClassifier(5).fit(X, y)
    >>> model.transform(X).shape, bool(model.score(X, y) > 0.95)
    ((569, 5), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LUFeMixin._parameter_constraints | {
        "lam1": [Interval(Real, 0, None, closed="neither")],
        "lam2": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"auto", "gram", "factor"})],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        selector: Literal["rfe", "anova", "mutual_info", "hsic", "leverage"] | ArrayLike = "rfe",
        lam1: float = 1.0,
        lam2: float = 1.0,
        secondary: Literal["unselected", "random", "identity"] = "unselected",
        secondary_fraction: float = 1.0,
        fit_intercept_unselected: bool = True,
        scaling: Literal["range"] | None = "range",
        selector_step: float = 0.1,
        selector_C: float = 1.0,
        objective_scale: Literal["svm", "paper"] = "svm",
        solver: Literal["auto", "gram", "factor"] = "auto",
        tol: float = 1e-8,
        max_iter: int = 80,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selector = selector
        self.lam1 = lam1
        self.lam2 = lam2
        self.secondary = secondary
        self.secondary_fraction = secondary_fraction
        self.fit_intercept_unselected = fit_intercept_unselected
        self.scaling = scaling
        self.selector_step = selector_step
        self.selector_C = selector_C
        self.objective_scale = objective_scale
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> LUFeClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, dense or CSR, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables, for fewer than two classes or features, and
        if no solution exists (only with ``fit_intercept_unselected=False``).
        """
        table, codes = self._training_data(X, y)
        targets, scaling = signed_targets(codes), self._fit_scaling(table)
        with one_blas_thread():
            roles = self._roles(table, self._order(table, codes, scaling), scaling)
            solutions = solve_each(targets, lambda y: self._solve(roles, y))
        self._store_solutions(solutions, targets, "unselected")
        self._store_roles(roles, scaling)
        return self

    def _solve(self, roles: Roles, target: NDArray[np.float64]) -> SVMPlusSolution:
        C = slack_weight(self.lam2, self.objective_scale)
        problem = SVMPlusProblem(roles.table, roles.privileged, target, self.lam1, C, self.fit_intercept_unselected)
        return solve_svm_plus(problem, solver=self.solver, tol=self.tol, max_iter=self.max_iter)
