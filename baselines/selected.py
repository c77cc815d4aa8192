"""Shared by the methods that rank the features and train a classifier on the first of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from baselines.base import (
    ColumnSelectorMixin,
    SettingsPathMixin,
    apply_scaling,
    class_codes,
    clip_extremes,
    counts_up_to,
    scaled_table,
    validate_data,
)
from fsgym.data.scaling import Scaling
from fsgym.rules.uninformative import without_repeated
from fsgym.sklearn_private import check_parameters, checks_parameters
from fsgym.support.checks import check_number
from fsgym.support.threads import one_blas_thread
from fsgym.text.messages import brief

MAX_SCALED_VALUE = 1e30  # squares and sums over a row stay finite, and it is below the largest float32


def _has_method(name: str) -> Callable[[Any], bool]:
    """Condition of ``available_if``: the classifier on the selected features has the method."""
    return lambda model: hasattr(model._make_classifier(), name)


class SelectedMixin(ColumnSelectorMixin, SettingsPathMixin):
    """A ranking by ``_rank``, and a classifier of ``_make_classifier`` on the first ``n_selected`` features.

    Features are scaled to [-1, 1] over the training rows. Only the columns in ``selected_`` are ever read.
    """

    n_selected: int
    classifier: Any = None
    class_weight: Any = None
    classes_: NDArray
    ranking_: NDArray[np.int64]
    selected_: NDArray[np.int64]
    n_features_in_: int
    classifier_: Any
    scaling_: Scaling
    class_shares_: NDArray[np.float64]

    def _rank(self, Z: NDArray[np.float64], codes: NDArray[np.int64], n_ranked: int) -> NDArray[np.int64]:
        """Return at most ``n_ranked`` column numbers, best first, without constant columns."""
        raise NotImplementedError

    def _make_classifier(self) -> Any:
        """Return an unfitted classifier for the selected columns: the user's, or a support vector machine."""
        return SVC(class_weight=self._code_weights()) if self.classifier is None else clone(self.classifier)

    def _check_options(self) -> None:
        """Raise ValueError for options that fit neither each other nor the classes, whatever is selected."""
        if self.classifier is not None and self.class_weight is not None:
            raise ValueError("class_weight must be None where a classifier is given; pass it to that classifier")
        self._code_weights()

    def _code_weights(self) -> Any:
        """Return ``class_weight`` with class codes as its keys.

        Raises ValueError for a label that is not a class, and for a weight that is not above 0.
        """
        if not isinstance(self.class_weight, Mapping) or not hasattr(self, "classes_"):
            return self.class_weight
        labels = self.classes_.tolist()
        unknown = [label for label in self.class_weight if label not in labels]
        if unknown:
            raise ValueError(f"class_weight must have labels of y as its keys, got {unknown[0]!r}; they are {labels}")
        for label, weight in self.class_weight.items():
            if check_number(weight, f"class_weight of {brief(label)}", 0.0) == 0:
                raise ValueError(
                    f"class_weight of {brief(label)} must be above 0, got 0; leave the rows of the class out"
                )
        return {labels.index(label): weight for label, weight in self.class_weight.items()}

    def _columns_read(self, classifier: Any, selected: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the columns among ``selected`` that the fitted classifier reads."""
        return selected

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables and for fewer than two classes.
        """
        self._fit_ranked([self], X, y)
        return self

    def _fit_along(self, models: list[Any], X: ArrayLike, y: ArrayLike, changed: set[str]) -> None:
        """Rank the features only once for copies that differ only in ``n_selected``.

        A RandomState would be in another state after the ranking, which separate fits repeat.
        """
        if changed != {"n_selected"} or isinstance(getattr(self, "random_state", None), np.random.RandomState):
            super()._fit_along(models, X, y, changed)
            return
        for model in models:
            check_parameters(model)
        self._fit_ranked(models, X, y)

    def _fit_ranked(self, models: list[Any], X: ArrayLike, y: ArrayLike) -> None:
        """Fit models that differ only in ``n_selected`` on the same ranking."""
        first = models[0]
        table, labels = validate_data(first, X, y, dtype=np.float64)
        classes, codes = class_codes(labels)
        for model in models:
            model.classes_ = classes
            model._check_options()
        scaling = Scaling.fit(clip_extremes(table))
        Z = without_repeated(apply_scaling(scaling, table))  # so that a column and its copy are not both selected
        n_ranked = min(max(model.n_selected for model in models), Z.shape[1])
        with one_blas_thread():
            ranking = first._rank(Z, codes, n_ranked) if n_ranked else np.zeros(0, dtype=np.int64)
        for model in models:
            model.n_features_in_ = first.n_features_in_
            if hasattr(first, "feature_names_in_"):
                model.feature_names_in_ = first.feature_names_in_
            model.ranking_, model.scaling_ = ranking[: model.n_selected], scaling
            model._fit_classifier(Z, codes, model.ranking_)

    def _fit_classifier(self, Z: NDArray, codes: NDArray, selected: NDArray[np.int64]) -> None:
        self.class_shares_ = np.bincount(codes) / len(codes)
        self.largest_ = int(self.class_shares_.argmax())
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
        with one_blas_thread():
            return self.classes_[self.classifier_.predict(self._classifier_inputs(table))]

    def _classifier_inputs(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scaled columns for the classifier; those that it does not read are 0."""
        used = Scaling(self.scaling_.offset[self.selected_], self.scaling_.scale[self.selected_])
        chosen = np.zeros((len(table), self._n_classifier_inputs))
        scaled = apply_scaling(used, table[:, self.selected_])
        chosen[:, self._read_positions] = scaled.clip(-MAX_SCALED_VALUE, MAX_SCALED_VALUE)
        return chosen

    @available_if(_has_method("decision_function"))
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the classifier's scores: (n_samples,) for two classes, positive for the second; else one per class.

        If no feature was selected, they are the logarithms of the class shares. The predicted class has the largest
        score: where the votes of the pairwise machines of an ``SVC`` are tied, its score is raised to just above the
        others.
        """
        table = self._validate_table(X)
        if self.classifier_ is None:
            shares = np.log(self.class_shares_)
            scores = shares[1] - shares[0] if len(shares) == 2 else shares
            return np.tile(scores, (len(table), *[1] * np.ndim(scores)))
        inputs = self._classifier_inputs(table)
        with one_blas_thread():
            scores = np.asarray(self.classifier_.decision_function(inputs), dtype=np.float64)
            codes = self.classifier_.predict(inputs)
        if scores.ndim == 2:
            rows = np.flatnonzero(scores.argmax(axis=1) != codes)
            scores[rows, codes[rows]] = np.nextafter(scores[rows].max(axis=1), np.inf)
        return scores

    @available_if(_has_method("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the classifier's class probabilities, (n_samples, n_classes); the shares without any feature."""
        table = self._validate_table(X)
        if self.classifier_ is None:
            return np.tile(self.class_shares_, (len(table), 1))
        with one_blas_thread():
            return self.classifier_.predict_proba(self._classifier_inputs(table))

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "selected_")
        return np.isin(np.arange(self.n_features_in_), self.selected_)

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, int]]:
        """Return at most ``n_settings`` values of ``n_selected``, from none to all, at about equal ratios."""
        n_features = scaled_table(X, y)[0].shape[1]
        return [{"n_selected": k} for k in (0, *counts_up_to(n_features, n_settings - 1))]


def varying_columns(Z: NDArray) -> NDArray[np.bool_]:
    """Return which columns are not constant, bool (n_features,)."""
    return np.ptp(Z, axis=0) > 0
