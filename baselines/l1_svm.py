"""A linear support vector machine with an L1 penalty, on LIBLINEAR."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import LinearSVC

from baselines.base import signed_targets
from baselines.liblinear import LiblinearMixin
from fsgym.sklearn_private import StrOptions, checks_parameters


class L1SVMClassifier(LiblinearMixin, ClassifierMixin, BaseEstimator):
    """L1-penalised linear SVM with squared hinge loss; one-vs-rest for more than two classes.

    A feature with a nonzero coefficient in any of the classifiers counts as used, for every row.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the summed losses relative to the penalty; controls sparsity. Below a threshold that depends on the
        data, no feature is used and the largest class is always predicted.
    intercept_scaling : float, default=10.0
        LIBLINEAR penalises the intercept too, divided by this number. At 1, its option ``-B 1``, models of unbalanced
        classes, as in one-vs-rest, are less sparse; far above 10, convergence is slow.
    fit_intercept : bool, default=True
        Whether there is an intercept; LIBLINEAR's command line has none by default. A model without features still
        predicts the largest class.
    scaling : {"range", "standard", None}, default="range"
        How features are scaled over the training rows: to [-1, 1], to mean 0 and deviation 1, or not at all.
        LIBLINEAR scales nothing.
    tol : float, default=1e-4
        LIBLINEAR's stopping tolerance, relative to the initial violation of the optimality conditions.
    max_iter : int, default=200_000
        Passes over the features after which LIBLINEAR stops with a ConvergenceWarning. One pass is cheap.
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

    References
    ----------
    Fan, Chang, Hsieh, Wang and Lin (2008), LIBLINEAR: a library for large linear classification; a reference
    method of Dulac-Arnold, Denoyer, Preux and Gallinari (2012), section 6.1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import L1SVMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = L1SVMClassifier(C=0.01, random_state=0).fit(X, y)
    >>> int(model.features_used(X[:1]).sum()), bool(model.score(X, y) > 0.9)
    (2, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LiblinearMixin._parameter_constraints,
        "fit_intercept": ["boolean"],
        "scaling": [StrOptions({"range", "standard"}), None],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        intercept_scaling: float = 10.0,
        fit_intercept: bool = True,
        scaling: Literal["range", "standard"] | None = "range",
        tol: float = 1e-4,
        max_iter: int = 200_000,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.intercept_scaling = intercept_scaling
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> L1SVMClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables and for fewer than two classes.
        """
        Z, codes = self._training_data(X, y)
        machine = LinearSVC(
            C=self.C,
            penalty="l1",
            dual=False,  # pyright: ignore[reportArgumentType]
            intercept_scaling=self.intercept_scaling,  # pyright: ignore[reportArgumentType]
            fit_intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        ).fit(Z, codes)
        self.n_iter_ = int(machine.n_iter_)
        intercept = np.broadcast_to(machine.intercept_, len(machine.coef_))  # one number without an intercept
        self._store_coefficients(machine.coef_, intercept, signed_targets(codes))
        return self

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, float]]:
        """Return settings of ``C`` from no feature used to nearly all, in equal steps of the logarithm.

        They span three decades from just below the smallest C at which a feature of ``X`` is used.
        """
        return self._settings(X, y, np.geomspace(1.0, 1000.0, n_settings))
