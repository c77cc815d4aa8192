"""Logistic regression with an L1 penalty, on LIBLINEAR."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.fixes import parse_version

from baselines.base import signed_targets, widening_factors
from baselines.liblinear import LiblinearMixin
from fsgym.sklearn_private import checks_parameters


class L1LogisticClassifier(LiblinearMixin, ClassifierMixin, BaseEstimator):
    """L1-penalised logistic regression; one-vs-rest for more than two classes.

    Features are scaled to mean 0 and standard deviation 1 over the training rows. A feature with a nonzero coefficient
    in any of the classifiers counts as used, for every row.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the summed losses relative to the penalty; controls sparsity. Below a threshold that depends on the
        data, no feature is used and the largest class is always predicted.
    intercept_scaling : float, default=10.0
        LIBLINEAR penalises the intercept too, divided by this number. At 1, models of unbalanced classes are less
        sparse; far above 10, convergence is slow.
    tol : float, default=1e-4
        LIBLINEAR's stopping tolerance, relative to the initial violation of the optimality conditions.
    max_iter : int, default=1000
        Newton steps after which LIBLINEAR stops with a ConvergenceWarning.
    random_state : int, RandomState or None, default=None
        Order in which coordinates are visited; changes the result by about ``tol``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1 or n_classes, n_features), float64
        Coefficients of the scaled features.
    intercept_ : ndarray of shape (1 or n_classes,), float64
    scaling_ : fsgym.Scaling
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names
    n_iter_ : int
        Newton steps; the largest number of all classifiers.

    References
    ----------
    Lee, Lee, Abbeel and Ng (2006), Efficient L1 regularized logistic regression; Fan, Chang, Hsieh, Wang and Lin
    (2008), LIBLINEAR: a library for large linear classification; a reference method of Xu, Huang, Weinberger and
    Zheng (2014).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import L1LogisticClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = L1LogisticClassifier(C=0.02, random_state=0).fit(X, y)
    >>> int(model.features_used(X[:1]).sum()), bool(model.score(X, y) > 0.9)
    (4, True)
    """

    scaling = "standard"

    def __init__(
        self,
        C: float = 1.0,
        *,
        intercept_scaling: float = 10.0,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> L1LogisticClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables and for fewer than two classes.
        """
        Z, codes = self._training_data(X, y)
        targets = signed_targets(codes)
        machines = [self._machine().fit(Z, target) for target in targets.T]
        self.n_iter_ = max(int(m.n_iter_[0]) for m in machines)
        coef, intercept = np.vstack([m.coef_ for m in machines]), np.concatenate([m.intercept_ for m in machines])
        self._store_coefficients(coef, intercept, targets)
        return self

    def _machine(self) -> LogisticRegression:
        # scikit-learn 1.8 renamed the parameter of the L1 penalty; 1.10 removes the old one.
        new = parse_version(sklearn.__version__) >= parse_version("1.8")
        penalty: dict[str, Any] = {"l1_ratio": 1.0} if new else {"penalty": "l1"}
        return LogisticRegression(
            C=self.C,
            solver="liblinear",
            intercept_scaling=self.intercept_scaling,  # pyright: ignore[reportArgumentType]
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            **penalty,
        )

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, float]]:
        """Return settings of ``C`` from no feature used to nearly all, most of them where few are used.

        They span four decades from just below the smallest C at which a feature of ``X`` is used; the steps of the
        logarithm increase linearly.
        """
        # At zero coefficients, the share of the second class that the intercept predicts is linear in 1 / C, as is the
        # intercept for the squared hinge loss, and every slope is a quarter of that of the squared hinge loss.
        return self._settings(X, y, widening_factors(4.0, n_settings), slope=4.0)
