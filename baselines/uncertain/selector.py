"""Selection of features and sub-features of uncertain data by the sparse group LASSO."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from baselines.base import ColumnSelectorMixin, class_codes, signed_targets, validate_data
from baselines.sparse_group_lasso import SparseGroupLasso
from baselines.sparse_group_lasso.path import check_penalties
from baselines.uncertain.expander import UncertainExpander
from fsgym.rules.uninformative import without_repeated
from fsgym.sklearn_private import StrOptions, checks_parameters

# Parameters that the selector and the classifier pass to the expander and to the sparse group LASSO.
CONSTRAINTS: dict[str, list[Any]] = UncertainExpander._parameter_constraints | {
    name: allowed
    for name, allowed in SparseGroupLasso._parameter_constraints.items()
    if name not in ("groups", "group_weights")
}


class UncertainSGLSelector(ColumnSelectorMixin, BaseEstimator):
    """Select the sub-features with a nonzero weight in the sparse group LASSO; a group is the draws of one feature.

    Each value becomes ``s`` draws (see ``UncertainExpander``), and the classes become targets of +1 and -1, one-vs-rest
    for more than two. Sub-features that any of the regressions selects are selected.

    Parameters
    ----------
    w, s, distribution, order, feature_scale, clip, random_state
        As in ``UncertainExpander``.
    lam1, lam2 : float, default=100.0 and 0.1
        Penalties on sub-features and on features, as in ``SparseGroupLasso``. They scale with ``feature_scale``.
    group_weights : "ones" or array-like of shape (n_features,), default="ones"
        Factor of lam2 for each feature, such as its price.
    fit_intercept : bool, default=False
        Published results have no intercept; since features are not centred, the weights then also fit the mean.
    solver : {"exact", "fista"}, default="exact"
        "fista" with its 100 steps reproduces the tables of Xie and Xu (2013). They are not optima, which select far
        fewer sub-features.
    tol, max_iter
        As in ``SparseGroupLasso``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features, ``s_``), float64
    mask_ : ndarray of shape (n_features, ``s_``), bool
        Which sub-features are selected.
    support_ : ndarray of shape (n_features,), bool
        Which features have a selected sub-feature.
    fnum_ : int
        Number of features with a selected sub-feature.
    ratio_ : float
        Share of the sub-features that are selected.
    dual_gaps_ : ndarray of shape (n_targets,), float64
    n_iter_ : ndarray of shape (n_targets,), int64
    classes_ : ndarray of shape (n_classes,)
    expander_ : UncertainExpander
    selected_features_ : ndarray of str, the names of the features in ``support_``
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    Xie and Xu (2013) define FNum as the number of features minus ``fnum_``; their text and tables mean ``fnum_``.
    ``transform`` reads the selected features only; therefore its draws differ from those on which they were selected.
    Draws of one width are interchangeable: which draws of a feature are selected is not informative about its
    distribution.

    References
    ----------
    Xie and Xu (2013), Sparse group LASSO based uncertain feature selection, eq. 7.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import UncertainSGLSelector
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = UncertainSGLSelector(s=5, lam1=0.0, lam2=3000.0, random_state=0).fit(X, y)
    >>> selector.fnum_, selector.transform(X).shape
    (8, (569, 40))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS | {
        "group_weights": [StrOptions({"ones"}), "array-like"]
    }

    def __init__(
        self,
        w: float = 0.05,
        s: int = 20,
        lam1: float = 100.0,
        lam2: float = 0.1,
        *,
        distribution: str = "gaussian",
        order: str = "none",
        feature_scale: float = 100.0,
        clip: bool = True,
        group_weights: str | ArrayLike = "ones",
        fit_intercept: bool = False,
        solver: str = "exact",
        tol: float = 1e-6,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.w = w
        self.s = s
        self.lam1 = lam1
        self.lam2 = lam2
        self.distribution = distribution
        self.order = order
        self.feature_scale = feature_scale
        self.clip = clip
        self.group_weights = group_weights
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> UncertainSGLSelector:
        """Fit on ``X`` (n_samples, n_features), or draws (n_samples, n_features, s), and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables and for fewer than two classes. Warns if no
        sub-feature is selected.
        """
        self.fit_draws(X, y)
        if not self.fnum_:
            warnings.warn(
                f"no sub-feature is selected at lam1={self.lam1:g} and lam2={self.lam2:g}; lower them", stacklevel=3
            )
        return self

    def fit_draws(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Fit; return the draws used and the class index of each row.

        The draws have shape (n_samples, ``n_features * s_``), the class indices (n_samples,).
        """
        check_penalties(self.lam1, self.lam2)
        table, labels = validate_data(self, X, y, dtype=np.float64, allow_nd=True)
        self.classes_, codes = class_codes(labels)
        table = without_repeated(table) if table.ndim == 2 else table
        self.expander_ = UncertainExpander(**{n: getattr(self, n) for n in UncertainExpander._parameter_constraints})
        draws = np.asfortranarray(self.expander_.fit_transform(table))
        own = {n: getattr(self, n) for n in SparseGroupLasso._parameter_constraints if n != "groups"}
        lasso = SparseGroupLasso(groups=self.expander_.s_, **own)
        fitted = []
        for target in signed_targets(codes).T:
            lasso.fit(draws, target)
            fitted.append((lasso.coef_.reshape(-1, self.expander_.s_), lasso.dual_gap_, lasso.n_iter_))
        self.coef_, self.dual_gaps_, self.n_iter_ = (np.array(values) for values in zip(*fitted))
        self.mask_ = (self.coef_ != 0).any(axis=0)
        self.support_ = self.mask_.any(axis=1)
        self.fnum_, self.ratio_ = int(self.support_.sum()), float(self.mask_.mean())
        return draws, codes

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "support_")
        return validate_data(self, X, reset=False, dtype=np.float64, allow_nd=True)

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return draws of the selected sub-features, float64 (n_samples, n_selected), feature by feature."""
        table = self._validate_table(X)
        if not self.fnum_:
            return np.empty((len(table), 0))
        draws = self.expander_.restrict_to(self.support_).transform(table[:, self.support_])
        return draws[:, self.mask_[self.support_].ravel()]

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of each feature's selected draws, in the feature's unit, float64 (n_samples, n_features).

        Features without a selected draw are 0.
        """
        check_is_fitted(self, "support_")
        draws, n_selected = np.asarray(X, dtype=np.float64), int(self.mask_.sum())
        if draws.ndim != 2 or draws.shape[1] != n_selected:
            raise ValueError(f"X must have the {n_selected} selected columns, got shape {draws.shape}")
        values = np.zeros((len(draws), len(self.support_)))
        if n_selected:
            feature = np.nonzero(self.mask_)[0]
            first = np.flatnonzero(np.diff(feature, prepend=-1))
            means = np.add.reduceat(draws, first, axis=1) / self.mask_.sum(axis=1)[self.support_]
            low, span = self.expander_.min_[self.support_], self.expander_.range_[self.support_]
            values[:, self.support_] = means * span / self.feature_scale + low
        return values

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Return ``name_k`` for each selected sub-feature k."""
        check_is_fitted(self, "support_")
        names = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        return self.expander_.get_feature_names_out(names)[self.mask_.ravel()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.three_d_array = True
        return tags
