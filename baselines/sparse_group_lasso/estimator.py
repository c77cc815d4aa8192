"""The sparse group LASSO as a scikit-learn regressor."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from baselines.base import ColumnSelectorMixin, validate_data
from baselines.sparse_group_lasso.exact import SGLProblem, solve_sgl
from baselines.sparse_group_lasso.fista import duality_gap, run_fista
from baselines.sparse_group_lasso.groups import make_groups
from baselines.sparse_group_lasso.path import centred, check_penalties
from baselines.sparse_group_lasso.penalty import Penalty
from fsgym.sklearn_private import Interval, StrOptions, checks_parameters


class SparseGroupLasso(ColumnSelectorMixin, RegressorMixin, BaseEstimator):
    """Least squares with an L1 penalty on coefficients and an L2 penalty on groups of them.

    It minimises ``1/2 |y - Xw - b|^2 + lam1 |w|_1 + lam2 sum_g v_g |w_g|_2``, without a division by the number of rows:
    with lam2 = 0 it is the LASSO with alpha = lam1 / n_samples, with lam1 = 0 the group LASSO.

    Parameters
    ----------
    lam1, lam2 : float, default=1.0
        Penalties in units of X'y, at least 0 and not both 0. At ``sgl_lambda_max`` and above, all coefficients are 0.
    groups : None, int, array-like of shape (n_features,), or list of lists of int
        None: each column is a group. A number: groups of that many neighbouring columns. Otherwise one label per
        column, or the column numbers of each group, which need not be neighbours.
    group_weights : {"ones", "sqrt"} or array-like of shape (n_groups,), default="ones"
        v_g, positive; "sqrt" is the square root of the group's size. In the order of the list, or of the sorted labels.
    fit_intercept : bool, default=False
        Whether to fit the intercept b, which is not penalised; otherwise it is 0.
    solver : {"exact", "fista"}, default="exact"
        "exact" stops at a duality gap. "fista" takes a fixed number of steps from zero, for comparison with the tables
        of Xie and Xu (2013); which coefficients are zero then depends on that number.
    tol : float, default=1e-6
        Duality gap at which "exact" stops, relative to ``|y|^2 / 2`` (of the centred y with an intercept).
    max_iter : int or None, default=None
        For "exact", the number of working sets after which it stops with a ConvergenceWarning, 200 by default; for
        "fista", the number of steps, 100 by default.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
    intercept_ : float
    dual_gap_ : float
        Upper bound on how far the objective is above its minimum, in units of the objective.
    n_iter_ : int
        Number of working sets or of steps.
    active_groups_ : ndarray of int64
        Numbers of the groups with a nonzero coefficient.
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    "exact" is block coordinate descent on working sets with gap-safe screening; Newton steps on the support take over
    when the descent has cost more than they do. With lam1 = 0, the working sets are those of the strong rule, and each
    group is minimised exactly. Of other software, skglm solves this problem, and adelie that with lam1 = 0; neither
    reports a duality gap. Prediction never reads a column whose coefficient is zero.

    References
    ----------
    Friedman, Hastie and Tibshirani (2010), A note on the group lasso and a sparse group lasso; Ndiaye, Fercoq, Gramfort
    and Salmon (2016), GAP safe screening rules for sparse-group lasso; Tibshirani et al. (2012), Strong rules for
    discarding predictors in lasso-type problems; Xie and Xu (2013), eq. 7.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines import SparseGroupLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 6))
    >>> model = SparseGroupLasso(5.0, 5.0, groups=2).fit(X, X[:, 0] - X[:, 1])
    >>> (model.coef_ != 0).tolist(), model.active_groups_.tolist()
    ([True, True, False, False, False, False], [0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam1": [Real],
        "lam2": [Real],
        "groups": [None, Interval(Integral, 1, None, closed="left"), "array-like"],
        "group_weights": [StrOptions({"ones", "sqrt"}), "array-like"],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"exact", "fista"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        lam1: float = 1.0,
        lam2: float = 1.0,
        groups: Any = None,
        *,
        group_weights: str | ArrayLike = "ones",
        fit_intercept: bool = False,
        solver: str = "exact",
        tol: float = 1e-6,
        max_iter: int | None = None,
    ) -> None:
        self.lam1 = lam1
        self.lam2 = lam2
        self.groups = groups
        self.group_weights = group_weights
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> SparseGroupLasso:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and ``y`` (n_samples,), finite numbers.

        Raises ValueError for a parameter out of range, for invalid tables and for groups that do not partition the
        columns.
        """
        lam1, lam2 = check_penalties(self.lam1, self.lam2)
        table, target = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        groups = make_groups(self.groups, self.group_weights, table.shape[1])
        Z, t, means, mean = centred(table, np.asarray(target, dtype=np.float64), self.fit_intercept)
        if self.solver == "exact":
            solution = solve_sgl(SGLProblem(Z, t, groups), lam1, lam2, None, self.tol, self.max_iter or 200)
            self.coef_ = np.empty(table.shape[1])
            self.coef_[groups.order], self.dual_gap_, self.n_iter_ = solution
        else:
            penalty, self.n_iter_ = Penalty(lam1, lam2, groups), self.max_iter or 100
            self.coef_ = run_fista(Z, t, [penalty], self.n_iter_)[0]
            self.dual_gap_ = duality_gap(Z, t, penalty, self.coef_)
        self.intercept_ = float(mean - self.coef_ @ means)
        self.active_groups_ = np.flatnonzero(groups.sums(self.coef_[groups.order] != 0))
        return self

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "coef_")
        return validate_data(self, X, reset=False, dtype=np.float64)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "coef_")
        return self.coef_ != 0

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return Xw + b, shape (n_samples,)."""
        table = self._validate_table(X)
        used = self.coef_ != 0
        return table[:, used] @ self.coef_[used] + self.intercept_
