"""What the methods share that rank features, keep the first of them and hand those to a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context, clone
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from baselines.linear import apply_scaling, class_codes, clip_extremes, counts_up_to, scaled_table, validate_data
from fsgym.dataset import Scaling
from fsgym.threads import one_blas_thread

_LARGEST = 1e30  # of a scaled value: squares and sums over a row stay finite, and float32 holds it


class SelectedMixin:
    """Ranking by ``_rank``, and a classifier from ``_learner`` on the first ``n_selected`` features.

    Features are scaled to [-1, 1] over the training rows. Only the columns in ``selected_`` are ever read.
    """

    n_selected: int
    classifier: Any
    classes_: NDArray
    ranking_: NDArray[np.int64]
    selected_: NDArray[np.int64]
    classifier_: Any
    scaling_: Scaling

    def _rank(self, Z: NDArray[np.float64], codes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """At most ``most`` column numbers, best first, none of a constant column."""
        raise NotImplementedError

    def _learner(self) -> Any:
        """An unfitted classifier for the selected columns: the user's, or a support vector machine."""
        return SVC() if self.classifier is None else clone(self.classifier)

    def _read(self, classifier: Any, selected: NDArray[np.int64]) -> NDArray[np.int64]:
        """The columns among ``selected`` that the fitted classifier looks at."""
        return selected

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for bad tables and for fewer than two classes.
        """
        return self._fitted(X, y, [self.n_selected])[0]

    def fit_path(self, X: ArrayLike, y: ArrayLike, n_selected: Sequence[int]) -> list[Any]:
        """Fitted copies of this estimator, one for each of the numbers ``n_selected``; the features are ranked once.

        Raises ValueError as ``fit`` does.
        """
        return [] if not len(n_selected) else clone(self)._fitted(X, y, n_selected)

    def _fitted(self, X: ArrayLike, y: ArrayLike, n_selected: Sequence[int]) -> list[Any]:
        table, labels = validate_data(self, X, y, dtype=np.float64)
        classes, codes = class_codes(labels)
        scaling = Scaling.fit(clip_extremes(table))
        Z = apply_scaling(scaling, table)
        most = min(max(n_selected, default=0), Z.shape[1])
        with one_blas_thread():
            ranking = self._rank(Z, codes, most) if most else np.zeros(0, dtype=np.int64)
        made = []
        for number in n_selected:
            model = self if not made else _like(self)
            model.n_selected = number
            model.classes_, model.ranking_, model.scaling_ = classes, ranking, scaling
            model._keep(Z, codes, ranking[:number])
            made.append(model)
        return made

    def _keep(self, Z: NDArray, codes: NDArray, selected: NDArray[np.int64]) -> None:
        self.largest_ = int(np.bincount(codes).argmax())
        self.classifier_, self.selected_ = None, selected
        if len(selected):
            with one_blas_thread():
                self.classifier_ = self._learner().fit(Z[:, selected], codes)
            self._places = np.flatnonzero(np.isin(selected, self._read(self.classifier_, selected)))
            self.selected_ = selected[self._places]
            self._width = len(selected)

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "selected_")
        return validate_data(self, X, reset=False, dtype=np.float64)

    def predict(self, X: ArrayLike) -> NDArray:
        """The class of each row, shape (n_samples,); the largest class where nothing was selected."""
        table = self._checked(X)
        if self.classifier_ is None:
            return np.full(len(table), self.classes_[self.largest_])
        used = Scaling(self.scaling_.offset[self.selected_], self.scaling_.scale[self.selected_])
        chosen = np.zeros((len(table), self._width))
        chosen[:, self._places] = apply_scaling(used, table[:, self.selected_]).clip(-_LARGEST, _LARGEST)
        with one_blas_thread():
            return self.classes_[self.classifier_.predict(chosen)]

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns decide each row, bool (n_samples, n_features): the selected ones that are looked at."""
        table = self._checked(X)
        used = np.zeros(table.shape, dtype=bool)
        used[:, self.selected_] = True
        return used

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, int]]:
        """At most ``n_settings`` values of ``n_selected``, from none to all, at about equal ratios."""
        n_features = scaled_table(X, y)[0].shape[1]
        return [{"n_selected": k} for k in (0, *counts_up_to(n_features, n_settings - 1))]


def _like(fitted: Any) -> Any:
    """An estimator of the same parameters that has seen the same table."""
    twin = clone(fitted)
    twin.n_features_in_ = fitted.n_features_in_
    if hasattr(fitted, "feature_names_in_"):
        twin.feature_names_in_ = fitted.feature_names_in_
    return twin


def varying(Z: NDArray) -> NDArray[np.bool_]:
    """Which columns are not constant, bool (n_features,)."""
    return np.ptp(Z, axis=0) > 0
