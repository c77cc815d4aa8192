"""Missing values for methods that cannot have them: the mean of the training part stands in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags


def accepts_missing(estimator: Any) -> bool:
    """Whether an estimator says that it takes NaN."""
    try:
        return bool(get_tags(estimator).input_tags.allow_nan)
    except (AttributeError, TypeError):
        return False


class ImputedMean(ClassifierMixin, BaseEstimator):
    """A classifier that sees the mean of the training part where a value is missing.

    Parameters
    ----------
    estimator : classifier with ``features_used``

    Notes
    -----
    ``features_used`` tells what the classifier looks at; what is missing for a row is not paid for by ``evaluate``.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def learn(self, X: NDArray) -> ImputedMean:
        """Keep the mean of each column of ``X`` (n_samples, n_features), 0 for one without a value."""
        known = ~np.isnan(X)
        sums = np.where(known, X, 0.0).sum(axis=0, dtype=np.float64)
        self.means_ = sums / np.maximum(known.sum(axis=0), 1)
        return self

    def fill(self, X: NDArray) -> NDArray[np.float32]:
        """``X`` with the means in place of NaN."""
        return np.where(np.isnan(X), self.means_, X).astype(np.float32)

    def fit(self, X: NDArray, y: NDArray) -> ImputedMean:
        self.learn(X)
        self.estimator_ = clone(self.estimator).fit(self.fill(X), y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: NDArray) -> NDArray:
        return self.estimator_.predict(self.fill(X))

    def features_used(self, X: NDArray) -> NDArray[np.bool_]:
        return self.estimator_.features_used(self.fill(X))
