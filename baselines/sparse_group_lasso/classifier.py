"""Logistic regression with the sparse group penalty, as a scikit-learn classifier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from baselines.linear import SparseLinearMixin, scaled_table, signed_targets, standard_scaling, widening_factors
from baselines.sparse_group_lasso.groups import group_members, make_groups
from baselines.sparse_group_lasso.logistic import LogisticSolution, lambda_max, solve_logistic
from fsgym.rules.uninformative import without_repeated
from fsgym.sklearn_private import Interval, StrOptions, checks_parameters


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

    _fit_scaling = staticmethod(standard_scaling)
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
