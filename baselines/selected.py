"""Shared by the methods that rank the features and train a classifier on the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, clone
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from baselines.linear import apply_scaling, class_codes, clip_extremes, counts_up_to, scaled_table, validate_data
from fsgym.scaling import Scaling
from fsgym.threads import one_blas_thread

MAX_SCALED_VALUE = 1e30  # squares and sums over a row stay finite, and it is below the largest float32


class SelectedMixin:
    """A ranking by ``_rank``, and a classifier of ``_make_classifier`` on the first ``n_selected`` features.

    Features are scaled to [-1, 1] over the training rows. Only the columns in ``selected_`` are ever read.
    """

    n_selected: int
    classifier: Any
    classes_: NDArray
    ranking_: NDArray[np.int64]
    selected_: NDArray[np.int64]
    classifier_: Any
    scaling_: Scaling

    def _rank(self, Z: NDArray[np.float64], codes: NDArray[np.int64], n_ranked: int) -> NDArray[np.int64]:
        """Return at most ``n_ranked`` column numbers, best first, without constant columns."""
        raise NotImplementedError

    def _make_classifier(self) -> Any:
        """Return an unfitted classifier for the selected columns: the user's, or a support vector machine."""
        return SVC() if self.classifier is None else clone(self.classifier)

    def _columns_read(self, classifier: Any, selected: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the columns among ``selected`` that the fitted classifier reads."""
        return selected

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables and for fewer than two classes.
        """
        return self._fit_path(X, y, [self.n_selected])[0]

    def fit_path(self, X: ArrayLike, y: ArrayLike, n_selected: Sequence[int]) -> list[Any]:
        """Return fitted copies of this estimator, one for each of ``n_selected``; the features are ranked only once.

        Raises ValueError as ``fit`` does.
        """
        return [] if not len(n_selected) else clone(self)._fit_path(X, y, n_selected)

    def _fit_path(self, X: ArrayLike, y: ArrayLike, n_selected: Sequence[int]) -> list[Any]:
        table, labels = validate_data(self, X, y, dtype=np.float64)
        classes, codes = class_codes(labels)
        scaling = Scaling.fit(clip_extremes(table))
        Z = apply_scaling(scaling, table)
        n_ranked = min(max(n_selected, default=0), Z.shape[1])
        with one_blas_thread():
            ranking = self._rank(Z, codes, n_ranked) if n_ranked else np.zeros(0, dtype=np.int64)
        models = []
        for number in n_selected:
            model = self if not models else _clone_for_same_table(self)
            model.n_selected = number
            model.classes_, model.ranking_, model.scaling_ = classes, ranking, scaling
            model._fit_classifier(Z, codes, ranking[:number])
            models.append(model)
        return models

    def _fit_classifier(self, Z: NDArray, codes: NDArray, selected: NDArray[np.int64]) -> None:
        self.largest_ = int(np.bincount(codes).argmax())
        self.classifier_, self.selected_ = None, selected
        if len(selected):
            with one_blas_thread():
                self.classifier_ = self._make_classifier().fit(Z[:, selected], codes)
            self._read_positions = np.flatnonzero(np.isin(selected, self._columns_read(self.classifier_, selected)))
            self.selected_ = selected[self._read_positions]
            self._n_classifier_inputs = len(selected)

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "selected_")
        return validate_data(self, X, reset=False, dtype=np.float64)

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the class of each row, shape (n_samples,); the largest class if no feature was selected."""
        table = self._validate_table(X)
        if self.classifier_ is None:
            return np.full(len(table), self.classes_[self.largest_])
        used = Scaling(self.scaling_.offset[self.selected_], self.scaling_.scale[self.selected_])
        chosen = np.zeros((len(table), self._n_classifier_inputs))
        scaled = apply_scaling(used, table[:, self.selected_])
        chosen[:, self._read_positions] = scaled.clip(-MAX_SCALED_VALUE, MAX_SCALED_VALUE)
        with one_blas_thread():
            return self.classes_[self.classifier_.predict(chosen)]

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns each prediction uses, bool (n_samples, n_features): the selected ones that are read."""
        table = self._validate_table(X)
        used = np.zeros(table.shape, dtype=bool)
        used[:, self.selected_] = True
        return used

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, int]]:
        """Return at most ``n_settings`` values of ``n_selected``, from none to all, at about equal ratios."""
        n_features = scaled_table(X, y)[0].shape[1]
        return [{"n_selected": k} for k in (0, *counts_up_to(n_features, n_settings - 1))]


def _clone_for_same_table(fitted: Any) -> Any:
    """Return an unfitted estimator with the same parameters, and the feature names of the same table."""
    copy = clone(fitted)
    copy.n_features_in_ = fitted.n_features_in_
    if hasattr(fitted, "feature_names_in_"):
        copy.feature_names_in_ = fitted.feature_names_in_
    return copy


def varying_columns(Z: NDArray) -> NDArray[np.bool_]:
    """Return which columns are not constant, bool (n_features,)."""
    return np.ptp(Z, axis=0) > 0
