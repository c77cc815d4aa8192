"""SVM+: a linear support vector machine whose slacks are modelled by features that only training has."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from baselines.base import class_codes, signed_targets, validate_data
from baselines.svm_plus.model import SVMPlusModel, slack_weight, solve_each
from baselines.svm_plus.problem import (
    SampleTable,
    SVMPlusProblem,
    SVMPlusSolution,
    centred,
    solve_svm,
    solve_svm_plus,
    to_dense,
)
from fsgym.sklearn_private import Interval, StrOptions, checks_parameters


class SVMPlusClassifier(SVMPlusModel, ClassifierMixin, BaseEstimator):
    """Linear SVM+ (learning using privileged information); one-vs-rest for more than two classes.

    With ``f(x) = <w, x> + b`` and slacks ``s(x*) = <w*, x*> + b*`` that depend on privileged features ``x*``, it
    minimises ``|w|^2 / 2 + lam1 |w*|^2 / 2 + lam2 sum_i s_i`` subject to ``y_i f(x_i) + s_i >= 1`` and ``s_i >= 0``.
    Prediction needs x only. Without privileged features this is the soft-margin SVM with C = lam2.

    The minimum is often at w = 0 exactly, whatever lam1 and lam2 are: wherever the samples can be weighted so that both
    classes have the same mean of x, and x* the same mean as unweighted. Few features and overlapping classes are
    enough. Such a model says nothing about x. It has a ``status_`` of "no signal", and answers the largest class. So
    does any other model where its score is 0 but for rounding errors, as it often is for rows of few distinct values.

    Parameters
    ----------
    lam1 : float, default=1.0
        Weight of the squared norm of w*. With a small value the slacks are almost free, as in the plain SVM; with a
        large value they are almost the same for all samples.
    lam2 : float, default=1.0
        Weight of the summed slacks, comparable with C of a plain SVM.
    fit_intercept_privileged : bool, default=True
        Whether the slacks have an unpenalised intercept b*. Without it there may be no solution, for example with
        centred privileged features and classes that cannot be separated.
    objective_scale : {"svm", "paper"}, default="svm"
        "paper" drops the factors 1/2 on the squared norms, as the paper of LUFe does (see ``LUFeClassifier``): the same
        as ``lam2 / 2`` with "svm". Attributes are on the scale of "svm" in both cases.
    solver : {"auto", "gram", "factor"}, default="auto"
        "gram" writes Newton's equations in samples (fast for many features), "factor" in features (accurate even for
        badly scaled ones). "auto" chooses by the shape of the data. If "gram" does not converge, "factor" follows.
    tol : float, default=1e-8
        Duality gap at which to stop, relative to the objective; constraints hold to ten times this.
    max_iter : int, default=80
        Maximum number of steps of the interior point method; 5 to 20 are usual.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_shares_ : ndarray of shape (n_classes,), float64, their shares of the training rows
    coef_ : ndarray of shape (1 or n_classes, n_features), float64
        w; exactly 0 where there is no signal.
    intercept_ : ndarray of shape (1 or n_classes,), float64
        b. It is not unique if no sample lies exactly on its margin. Where there is no signal, the mean of the targets
        of +1 and -1.
    center_ : ndarray of shape (n_features,), float64
        Means of the columns of a dense ``X``, which the intercepts absorb; 0 for a sparse one.
    has_signal_ : ndarray of shape (1 or n_classes,), bool
        Whether w differs from 0: whether the objective is below that of every w = 0 by more than the duality gap.
    coef_privileged_ : ndarray of shape (1 or n_classes, n_privileged), float64
        w*; without columns if there were no privileged features.
    intercept_privileged_ : ndarray of shape (1 or n_classes,), float64
    alpha_, beta_ : ndarray of shape (1 or n_classes, n_samples), float64
        Multipliers of the margin constraints and of s >= 0. In SVM+ they are not bounded by lam2.
    dual_coef_ : ndarray of shape (1 or n_classes, n_samples), float64
        ``alpha_`` times the targets of +1 and -1.
    slack_ : ndarray of shape (1 or n_classes, n_samples), float64
    objective_, duality_gap_ : float, or ndarray of shape (n_classes,) for more than two classes
        With b*, the gap bounds how far the objective is above its minimum, including the effect of
        ``max_violation_``.
    max_violation_ : float
        Largest violation of a constraint, in units of the margin.
    n_iter_ : int
    status_ : {"optimal", "no signal", "inaccurate"}
        "no signal": all w are 0 at the minimum. "inaccurate": the minimum was not reached, and a warning says so.
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    References
    ----------
    Vapnik and Vashist (2009), A new learning paradigm: learning using privileged information. Mehrotra (1992), On
    the implementation of a primal-dual interior point method.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines import SVMPlusClassifier
    >>> X = np.array([[2, 0], [1, 1], [0, 1], [1, 0], [0, 2], [2, 1]])
    >>> privileged = np.array([[1, 0, 0], [0, 2, 1], [1, 1, 0], [0, 0, 1], [2, 0, 1], [1, 1, 3]])
    >>> model = SVMPlusClassifier().fit(X, [1, 1, 0, 1, 0, 0], X_privileged=privileged)
    >>> round(model.objective_, 6), model.coef_.round(4).tolist()
    (3.733746, [[0.1486, -1.1517]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam1": [Interval(Real, 0, None, closed="neither")],
        "lam2": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept_privileged": ["boolean"],
        "objective_scale": [StrOptions({"svm", "paper"})],
        "solver": [StrOptions({"auto", "gram", "factor"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        lam1: float = 1.0,
        lam2: float = 1.0,
        fit_intercept_privileged: bool = True,
        *,
        objective_scale: Literal["svm", "paper"] = "svm",
        solver: Literal["auto", "gram", "factor"] = "auto",
        tol: float = 1e-8,
        max_iter: int = 80,
    ) -> None:
        self.lam1 = lam1
        self.lam2 = lam2
        self.fit_intercept_privileged = fit_intercept_privileged
        self.objective_scale = objective_scale
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike, X_privileged: ArrayLike | None = None) -> SVMPlusClassifier:
        """Fit on ``X`` (n_samples, n_features) and labels ``y`` (n_samples,).

        ``X_privileged`` (n_samples, n_privileged) are the features that are available in training only; None fits a
        plain SVM. Tables hold finite numbers, dense or CSR; a sparse table is never made dense as a whole. This method
        does not scale: give rows a norm of about 1, or columns a width of 2. Raises ValueError for a parameter out
        of range, for invalid tables, for fewer than two classes, and if no solution exists (only with
        ``fit_intercept_privileged=False``).
        """
        table, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        classes, codes = class_codes(labels)
        targets, C = signed_targets(codes), slack_weight(self.lam2, self.objective_scale)
        tol, max_iter, center_privileged = self.tol, self.max_iter, np.zeros(0)
        samples, self.center_ = centred(table)
        if X_privileged is None:
            solutions = solve_each(targets, lambda y: solve_svm(samples, y, C, tol=tol, max_iter=max_iter))
        else:
            privileged_table = check_array(
                X_privileged, accept_sparse="csr", dtype=np.float64, input_name="X_privileged"
            )
            check_consistent_length(table, privileged_table)
            intercept, privileged = self.fit_intercept_privileged, SampleTable(privileged_table)
            center_privileged = np.zeros(privileged_table.shape[1])
            if intercept:
                privileged, center_privileged = centred(privileged_table)

            def solve(y: NDArray[np.float64]) -> SVMPlusSolution:
                problem = SVMPlusProblem(samples, privileged, y, self.lam1, C, intercept)
                return solve_svm_plus(problem, solver=self.solver, tol=tol, max_iter=max_iter)

            solutions = solve_each(targets, solve)
        self.classes_ = classes
        self._store_solutions(solutions, targets, "privileged")
        lowest, highest = (to_dense(v).ravel() for v in (table.min(axis=0), table.max(axis=0)))
        self.coef_[:, lowest == highest] = 0.0  # of constant columns they are 0 but for rounding errors
        self.intercept_ -= self.coef_ @ self.center_
        self.intercept_privileged_ -= self.coef_privileged_ @ center_privileged
        return self

    def _terms(self, X: Any) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        columns = self._validate_table(X)
        columns = columns - self.center_ if self.center_.any() else columns
        return columns, self.coef_, self.intercept_ + self.coef_ @ self.center_

    def _validate_table(self, X: Any) -> Any:
        check_is_fitted(self, "coef_")
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "coef_")
        return np.asarray(self.coef_.any(axis=0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
