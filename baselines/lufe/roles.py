"""What a LUFe estimator does with a table: scaling, the roles of its features, usage and the sweep."""

from __future__ import annotations

from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import check_is_fitted

from baselines.linear import apply_scaling, check_X_y, class_codes, clip_extremes, counts_up_to, validate_data
from baselines.lufe.order import SELECTORS, feature_order
from baselines.svm_plus.model import SVMPlusModel
from baselines.svm_plus.problem import View
from fsgym.dataset import Scaling


class Roles(NamedTuple):
    """What each feature does: ``order`` of all, best first; sorted indices of the selected and the secondary ones,
    and the two tables that they make of the samples."""

    order: NDArray[np.int64]
    selected: NDArray[np.int64]
    secondary: NDArray[np.int64]
    view: View
    privileged: View


class LUFeMixin(SelectorMixin, SVMPlusModel, ClassifierMixin):
    """Scaling, roles of features, usage and sweep: what LUFe shares with LUFe by cross-validation."""

    scaling_: Scaling
    support_: NDArray[np.bool_]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "selector": [StrOptions(set(SELECTORS)), "array-like"],
        "secondary": [StrOptions({"unselected", "random", "identity"})],
        "secondary_fraction": [Interval(Real, 0, 1, closed="right")],
        "fit_intercept_unselected": ["boolean"],
        "scaling": [StrOptions({"range"}), None],
        "selector_step": [Interval(Real, 0, 1, closed="neither")],
        "selector_C": [Interval(Real, 0, None, closed="neither")],
        "objective_scale": [StrOptions({"svm", "paper"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _training_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Any, NDArray[np.int64]]:
        """The table as given, checked, and the class codes; raises for bad tables and labels."""
        table, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, codes = class_codes(labels)
        self._n_selected(table.shape[1])
        return table, codes

    def _n_selected(self, n_features: int) -> int:
        """The number of features to select; ValueError unless at least one remains unselected."""
        wanted: Any = self.n_features_to_select  # pyright: ignore[reportAttributeAccessIssue]
        if n_features < 2:
            raise ValueError("LUFe needs two features or more, got n_features = 1: none would be unselected")
        if wanted is None:
            return n_features // 2
        if not isinstance(wanted, int | np.integer):
            return min(max(1, int(wanted * n_features)), n_features - 1)
        if wanted >= n_features:
            raise ValueError(
                f"n_features_to_select must be below the number of features, {n_features}, got {wanted}: none would be "
                "unselected; use a plain SVM instead"
            )
        return int(wanted)

    def _fit_scaling(self, X: Any) -> Scaling:
        """Ranges to [-1, 1], or nothing. Values are shifted only where an intercept makes up for it and nothing
        becomes dense."""
        p: Any = self
        n_features = X.shape[1]
        if p.scaling is None:
            return Scaling(np.zeros(n_features), np.ones(n_features))
        low_high = np.stack(min_max_axis(X, axis=0)) if sp.issparse(X) else X
        scaling = Scaling.fit(clip_extremes(low_high))
        if sp.issparse(X) or not p.fit_intercept_unselected:
            return Scaling(np.zeros(n_features), scaling.scale)
        return scaling

    def _order(self, X: Any, codes: NDArray[np.int64], scaling: Scaling) -> NDArray[np.int64]:
        p: Any = self
        table = scaled(X, scaling)
        if isinstance(p.selector, str) and p.selector == "leverage":  # the only one that sees where zero is
            table = scaled(X, Scaling(np.zeros_like(scaling.offset), scaling.scale))
        return feature_order(
            table,
            codes,
            p.selector,
            self._n_selected(X.shape[1]),
            step=p.selector_step,
            C=p.selector_C,
            random_state=p.random_state,
        )

    def _roles(self, X: Any, order: NDArray[np.int64], scaling: Scaling) -> Roles:
        p: Any = self
        n_selected = self._n_selected(X.shape[1])
        n_secondary = ceil(p.secondary_fraction * (X.shape[1] - n_selected))
        selected = np.sort(order[:n_selected])
        secondary = np.zeros(0, dtype=np.int64)
        if p.secondary == "identity":
            privileged: Any = np.eye(X.shape[0])
        elif p.secondary == "random":
            privileged = check_random_state(p.random_state).normal(size=(X.shape[0], n_secondary))
        else:
            secondary = np.sort(order[n_selected : n_selected + n_secondary])
            privileged = scaled(X, scaling, secondary)
        return Roles(order, selected, secondary, View(scaled(X, scaling, selected)), View(privileged))

    def _keep_roles(self, roles: Roles, scaling: Scaling) -> None:
        self.scaling_ = scaling
        self.support_ = np.zeros(len(roles.order), dtype=bool)
        self.support_[roles.selected] = True
        self.ranking_ = np.empty(len(roles.order), dtype=np.int64)
        self.ranking_[roles.order] = np.arange(1, len(roles.order) + 1)
        self.secondary_features_ = roles.secondary

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self, "support_")
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)

    def _table(self, X: Any) -> Any:
        return scaled(self._checked(X), self.scaling_, np.flatnonzero(self.support_))

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns decide each row, bool (n_samples, n_features): the selected ones."""
        return np.tile(self.support_, (self._checked(X).shape[0], 1))

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, int]]:
        """Settings of ``n_features_to_select`` from 1 to all features but one, equal steps of its logarithm."""
        table, labels = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
        class_codes(labels)
        if table.shape[1] < 2:
            self._n_selected(table.shape[1])
        return [{"n_features_to_select": k} for k in counts_up_to(table.shape[1] - 1, n_settings)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # half of few features may say too little, as in scikit-learn's RFE
        return tags


def scaled(X: Any, scaling: Scaling, columns: NDArray[np.int64] | None = None) -> Any:
    """Scaled columns of a table, dense or CSR, reading no other column."""
    if columns is not None:
        X, scaling = X[:, columns], Scaling(scaling.offset[columns], scaling.scale[columns])
    if not sp.issparse(X):
        return apply_scaling(scaling, X)
    table = X.copy()
    table.data = clip_extremes(table.data) * scaling.scale[table.indices]
    return table
