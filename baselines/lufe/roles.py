"""Shared by the LUFe estimators: scaling, the roles of the features, the selected columns and ``sparsity_grid``."""

from __future__ import annotations

from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import check_is_fitted

from baselines.base import (
    SettingsPathMixin,
    apply_scaling,
    check_X_y,
    class_codes,
    clip_extremes,
    counts_up_to,
    validate_data,
)
from baselines.lufe.order import SELECTORS, feature_order
from baselines.svm_plus.model import SVMPlusModel
from baselines.svm_plus.problem import SampleTable
from fsgym.data.scaling import Scaling
from fsgym.rules.uninformative import uninformative_columns
from fsgym.sklearn_private import Interval, StrOptions


class Roles(NamedTuple):
    """The role of each feature."""

    order: NDArray[np.int64]  # (n_features,), all features, best first
    # sorted indices of the selected features and of those that model the slacks
    selected: NDArray[np.int64]
    secondary: NDArray[np.int64]
    # the samples in the selected features and in those that model the slacks
    table: SampleTable
    privileged: SampleTable


class LUFeMixin(SVMPlusModel, SettingsPathMixin, ClassifierMixin):
    """Base of ``LUFeClassifier`` and ``LUFeCV``: scaling, roles of the features and sparsity grid."""

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
        """Return the validated table, unscaled, and the class codes; raises ValueError for invalid tables or labels."""
        table, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, codes = class_codes(labels)
        self._n_selected(table.shape[1])
        return table, codes

    def _n_selected(self, n_features: int) -> int:
        """Return the number of features to select; raises ValueError unless at least one remains unselected."""
        n_wanted: Any = self.n_features_to_select  # pyright: ignore[reportAttributeAccessIssue]
        if n_features < 2:
            raise ValueError("LUFe needs two features or more, got n_features = 1: no feature would be unselected")
        if n_wanted is None:
            return n_features // 2
        if not isinstance(n_wanted, int | np.integer):
            return min(max(1, int(n_wanted * n_features)), n_features - 1)
        if n_wanted >= n_features:
            raise ValueError(
                f"n_features_to_select must be below the number of features, {n_features}, got {n_wanted}: no feature "
                "would be unselected; use a plain SVM instead"
            )
        return int(n_wanted)

    def _fit_scaling(self, X: Any) -> Scaling:
        """Return the map of each feature's range to a width of 2, or of scale 1 with ``scaling=None``.

        Values are shifted, to [-1, 1] or to a mean of 0, only if the slacks have an intercept, which absorbs the shift,
        and the table is dense.
        """
        p: Any = self
        shifts, n_features = p.fit_intercept_unselected and not sp.issparse(X), X.shape[1]
        if p.scaling is None:
            return Scaling(X.mean(axis=0) if shifts else np.zeros(n_features), np.ones(n_features))
        low_high = np.stack(min_max_axis(X, axis=0)) if sp.issparse(X) else X
        scaling = Scaling.fit(clip_extremes(low_high))
        return scaling if shifts else Scaling(np.zeros(n_features), scaling.scale)

    def _order(self, X: Any, codes: NDArray[np.int64], scaling: Scaling) -> NDArray[np.int64]:
        p: Any = self
        table = scale_columns(X, scaling)
        if isinstance(p.selector, str) and p.selector == "leverage":  # the only criterion that depends on where zero is
            table = scale_columns(X, Scaling(np.zeros_like(scaling.offset), scaling.scale))
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
        if isinstance(p.selector, str):  # the user's scores may select anything
            useless = uninformative_columns(X)
            order = np.concatenate([order[~useless[order]], order[useless[order]]])
            n_selected = min(n_selected, max(int((~useless).sum()), 1))
        n_secondary = ceil(p.secondary_fraction * (X.shape[1] - n_selected))
        selected = np.sort(order[:n_selected])
        secondary = np.zeros(0, dtype=np.int64)
        if p.secondary == "identity":
            privileged: Any = np.eye(X.shape[0])
        elif p.secondary == "random":
            privileged = check_random_state(p.random_state).normal(size=(X.shape[0], n_secondary))
        else:
            secondary = np.sort(order[n_selected : n_selected + n_secondary])
            privileged = scale_columns(X, scaling, secondary)
        return Roles(
            order, selected, secondary, SampleTable(scale_columns(X, scaling, selected)), SampleTable(privileged)
        )

    def _store_roles(self, roles: Roles, scaling: Scaling) -> None:
        self.scaling_ = scaling
        self.support_ = np.zeros(len(roles.order), dtype=bool)
        self.support_[roles.selected] = True
        self.ranking_ = np.empty(len(roles.order), dtype=np.int64)
        self.ranking_[roles.order] = np.arange(1, len(roles.order) + 1)
        self.secondary_features_ = roles.secondary

    def _validate_table(self, X: Any) -> Any:
        check_is_fitted(self, "support_")
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)

    def _terms(self, X: Any) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        p: Any = self
        table = self._validate_table(X)
        return scale_columns(table, self.scaling_, np.flatnonzero(self.support_)), p.coef_, p.intercept_

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def _used_mask(self) -> NDArray[np.bool_]:
        return self.get_support() & self.has_signal_.any()

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, int]]:
        """Return settings of ``n_features_to_select`` from 1 to n_features - 1, in equal steps of the logarithm."""
        table, labels = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
        class_codes(labels)
        if table.shape[1] < 2:
            self._n_selected(table.shape[1])
        return [{"n_features_to_select": k} for k in counts_up_to(table.shape[1] - 1, n_settings)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # as scikit-learn's RFE: half of a few features may be too few
        return tags


def scale_columns(X: Any, scaling: Scaling, columns: NDArray[np.int64] | None = None) -> Any:
    """Return the scale_columns ``columns`` of a table, dense or CSR, without reading any other column."""
    if columns is not None:
        X, scaling = X[:, columns], Scaling(scaling.offset[columns], scaling.scale[columns])
    if not sp.issparse(X):
        return apply_scaling(scaling, X)
    table = X.copy()
    table.data = clip_extremes(table.data) * scaling.scale[table.indices]
    return table
