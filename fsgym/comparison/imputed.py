"""Mean imputation of missing values, for methods that do not accept NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if


def accepts_missing(estimator: Any) -> bool:
    """Whether an estimator declares, by its scikit-learn tags, that it accepts NaN."""
    try:
        return bool(get_tags(estimator).input_tags.allow_nan)
    except (AttributeError, TypeError):
        return False


def mean_imputer(X: NDArray) -> Any:
    """An imputer fitted on ``X`` (n_samples, n_features): means in double precision, 0 for a column of NaN."""
    return SimpleImputer(keep_empty_features=True).fit(X.astype(np.float64))


def estimator_has(method: str) -> Callable[[Any], bool]:
    """A condition for ``available_if``: whether the wrapped classifier has a method."""
    return lambda imputed: hasattr(imputed.estimator, method)


class WrappedPredictions:
    """Predictions of a fitted ``estimator_``, on inputs in the form that ``_shown`` returns."""

    estimator_: Any
    _shown: Callable[[Any], Any]

    def predict(self, X: NDArray) -> NDArray:
        return self.estimator_.predict(self._shown(X))

    @available_if(estimator_has("predict_proba"))
    def predict_proba(self, X: NDArray) -> NDArray:
        return self.estimator_.predict_proba(self._shown(X))

    @available_if(estimator_has("decision_function"))
    def decision_function(self, X: NDArray) -> NDArray:
        return self.estimator_.decision_function(self._shown(X))


class ImputedMean(WrappedPredictions, ClassifierMixin, BaseEstimator):
    """A classifier for which each missing value is replaced by its column's mean over the training part.

    Parameters
    ----------
    estimator : classifier with ``features_used``

    Notes
    -----
    ``features_used`` is that of the classifier, and includes missing values; ``evaluate`` charges nothing for those.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: NDArray, y: NDArray) -> ImputedMean:
        self.imputer_ = mean_imputer(X)
        self.estimator_ = clone(self.estimator).fit(self.imputer_.transform(X), y)
        self.classes_ = self.estimator_.classes_
        return self

    def features_used(self, X: NDArray) -> NDArray[np.bool_]:
        return self.estimator_.features_used(self._shown(X))

    def _shown(self, X: NDArray) -> NDArray:
        return self.imputer_.transform(X)
