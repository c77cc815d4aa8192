"""Classification of uncertain data: selection by the sparse group LASSO, then an intersection kernel SVM."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from baselines.base import (
    ColumnSelectorMixin,
    DecisionMixin,
    SettingsPathMixin,
    check_X_y,
    class_codes,
    signed_targets,
    validate_data,
)
from baselines.sparse_group_lasso import sgl_lambda_max
from baselines.uncertain.expander import UncertainExpander
from baselines.uncertain.intersection import IntersectionMachine, intersection_kernel
from baselines.uncertain.selector import CONSTRAINTS, UncertainSGLSelector
from fsgym.sklearn_private import Interval, StrOptions, checks_parameters

GRID_DECADES = 3.0  # decades of the penalty that ``sparsity_grid`` spans


class UncertainHIKClassifier(DecisionMixin, ColumnSelectorMixin, SettingsPathMixin, ClassifierMixin, BaseEstimator):
    """Draws of each value, selection by the sparse group LASSO, and an intersection kernel SVM on the selected draws.

    More than two classes: one-vs-rest, in the selection and in the SVM. A feature counts as used, for every row, if any
    of its draws is selected for any class.

    Parameters
    ----------
    w, s, distribution, order, clip, random_state
        As in ``UncertainExpander``.
    lam1, lam2, fit_intercept, solver, tol, max_iter
        As in ``UncertainSGLSelector``, for features scaled to [0, 100]. Both penalties control sparsity. If no draw is
        selected, the largest class is always predicted.
    C : float, default=1.0
        Weight of the losses of the SVM. Its features have range 1, and the kernel is divided by ``s``.
    kernel_input : {"values", "histogram"}, default="values"
        Input of the kernel: the selected draws, or a histogram for each feature with a selected draw, the shares of all
        of its draws in ``bins`` equal parts of the training range. The histogram does not depend on which of the
        feature's draws were selected.
    bins : int, default=10
        Number of bins of a histogram.

    Attributes
    ----------
    selector_ : UncertainSGLSelector
    machines_ : list of IntersectionMachine, one per target
    n_iter_ : ndarray of shape (n_targets,), int64
        Iterations of the sparse group LASSO.
    classes_ : ndarray of shape (n_classes,)
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    Rows are expanded for prediction too. Their draws depend only on the seed and on the values of the used features, so
    that predictions are reproducible. Training computes a kernel of n_samples^2 numbers.

    References
    ----------
    Xie and Xu (2013), Sparse group LASSO based uncertain feature selection; Maji, Berg and Malik (2008),
    Classification using intersection kernel support vector machines is efficient.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import UncertainHIKClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = UncertainHIKClassifier(s=5, lam1=0.0, lam2=3000.0, random_state=0).fit(X, y)
    >>> int(model.features_used(X[:1]).sum()), bool(model.score(X, y) > 0.9)
    (8, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: rule for name, rule in CONSTRAINTS.items() if name != "feature_scale"
    } | {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel_input": [StrOptions({"values", "histogram"})],
        "bins": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        w: float = 0.05,
        s: int = 20,
        lam1: float = 100.0,
        lam2: float = 0.1,
        C: float = 1.0,
        *,
        distribution: str = "gaussian",
        order: str = "none",
        clip: bool = True,
        fit_intercept: bool = False,
        solver: str = "exact",
        tol: float = 1e-6,
        max_iter: int | None = None,
        kernel_input: str = "values",
        bins: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.w = w
        self.s = s
        self.lam1 = lam1
        self.lam2 = lam2
        self.C = C
        self.distribution = distribution
        self.order = order
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.kernel_input = kernel_input
        self.bins = bins
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> UncertainHIKClassifier:
        """Fit on ``X`` (n_samples, n_features), or draws (n_samples, n_features, s), and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables and for fewer than two classes. Warns if no
        sub-feature is selected.
        """
        table, labels = validate_data(self, X, y, dtype=np.float64, allow_nd=True)
        own = {n: getattr(self, n) for n in CONSTRAINTS if n != "feature_scale"}
        self.selector_ = UncertainSGLSelector(**own)
        draws, codes = self.selector_.fit_draws(table, labels)
        self.classes_, self.n_iter_ = self.selector_.classes_, self.selector_.n_iter_
        targets, support = signed_targets(codes), self.selector_.support_
        if not support.any():
            largest = self.classes_[np.bincount(codes).argmax()]
            warnings.warn(
                f"no sub-feature is selected at lam1={self.lam1:g} and lam2={self.lam2:g}: the class {largest!r} is "
                "predicted for every row; lower lam1 or lam2",
                stacklevel=3,
            )
            no_support = np.empty((0, 0))
            self.machines_ = [
                IntersectionMachine.from_support_vectors(no_support, np.empty(0), mean) for mean in targets.mean(axis=0)
            ]
            return self
        inputs = self._kernel_inputs(draws.reshape(len(draws), len(support), -1)[:, support])
        K = intersection_kernel(inputs)
        self.machines_ = [IntersectionMachine.train(K, inputs, target, self.C) for target in targets.T]
        return self

    def _kernel_inputs(self, draws: NDArray) -> NDArray[np.float64]:
        """Return the input of the kernel from all draws of the used features (n_samples, n_used, s)."""
        n, n_used, s = draws.shape
        values = draws / self.selector_.feature_scale
        if self.kernel_input == "values":
            return values.reshape(n, -1)[:, self.selector_.mask_[self.selector_.support_].ravel()] / s
        part = np.clip(np.floor(values.clip(0, 1) * self.bins), 0, self.bins - 1).astype(np.intp)
        place = part + self.bins * (np.arange(n)[:, None] * n_used + np.arange(n_used))[:, :, None]
        return np.bincount(place.ravel(), minlength=n * n_used * self.bins).reshape(n, -1) / s

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "machines_")
        return validate_data(self, X, reset=False, dtype=np.float64, allow_nd=True)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return scores: (n_samples,) for two classes, positive for the second; otherwise (n_samples, n_classes)."""
        table, support = self._validate_table(X), self.selector_.support_
        inputs = np.empty((len(table), 0))
        if support.any():
            draws = self.selector_.expander_.restrict_to(support).transform(table[:, support])
            inputs = self._kernel_inputs(draws.reshape(len(table), int(support.sum()), -1))
        scores = np.column_stack([machine.decision_function(inputs) for machine in self.machines_])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "machines_")
        return self.selector_.support_

    def transform(self, X: ArrayLike) -> Any:
        """Return the columns with a selected draw, (n_samples, n_selected); of draws, (n_samples, n_selected, s)."""
        if np.asarray(X).ndim == 3:
            return self._validate_table(X)[:, self.get_support()]
        return super().transform(X)

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, float]]:
        """Return settings of ``lam1`` and ``lam2``, in their current ratio, decreasing from no feature used.

        They span three decades from just above the smallest penalties at which no draw of ``X`` is selected. Where
        both are 0, the settings have them equal.
        """
        table, labels = check_X_y(X, y, dtype=np.float64, allow_nd=True)
        targets = signed_targets(class_codes(labels)[1])
        expander = UncertainExpander(
            self.w, self.s, self.distribution, order=self.order, clip=self.clip, random_state=self.random_state
        )
        both = self.lam1 + self.lam2
        draws, tau = expander.fit_transform(table), self.lam1 / both if both else 0.5
        options = {"tau": tau, "fit_intercept": self.fit_intercept}
        top = max(sgl_lambda_max(draws, target, expander.s_, **options) for target in targets.T)
        if top <= 0:
            return [{"lam1": float(self.lam1), "lam2": float(self.lam2)}]
        steps = 1.05 * top * np.geomspace(1.0, 10.0**-GRID_DECADES, n_settings)
        return [{"lam1": float(tau * lam), "lam2": float((1.0 - tau) * lam)} for lam in steps]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
