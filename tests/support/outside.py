"""A method as another project may write it: all it has of fsgym is the method ``features_used``."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


class TopFeatures(ClassifierMixin, BaseEstimator):
    """Logistic regression on the k features with the largest F statistics; the most frequent class if k is 0."""

    def __init__(self, k=2):
        self.k = k

    def fit(self, X, y):
        X, y = self._validated(X, y)
        check_classification_targets(y)
        self.classes_, counts = np.unique(y, return_counts=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, got one class only: {self.classes_.tolist()}")
        size = np.abs(X).max(axis=0)
        self.size_ = np.where(size > 0, size, 1.0)  # values may be as large as a float can be
        with np.errstate(all="ignore"):
            ranking = np.argsort(-np.nan_to_num(f_classif(X / self.size_, y)[0]), kind="stable")
        self.columns_ = np.sort(ranking[: self.k])
        self.largest_ = self.classes_[counts.argmax()]
        if len(self.columns_):
            part = (X / self.size_)[:, self.columns_]
            self.offset_, self.scale_ = part.mean(axis=0), part.std(axis=0) + 1e-9
            self.model_ = LogisticRegression().fit(self._scaled(X), y)
        return self

    def _validated(self, *table, reset=True):
        with np.errstate(all="ignore"):  # scikit-learn looks for infinity in a sum, which may overflow
            return validate_data(self, *table, dtype=np.float64, reset=reset)

    def _scaled(self, X):
        with np.errstate(over="ignore"):
            part = np.clip(X[:, self.columns_] / self.size_[self.columns_], -1e6, 1e6)
        return np.clip((part - self.offset_) / self.scale_, -10, 10)

    def predict(self, X):
        check_is_fitted(self, "columns_")
        X = self._validated(X, reset=False)
        return self.model_.predict(self._scaled(X)) if len(self.columns_) else np.full(len(X), self.largest_)

    def features_used(self, X):
        X = self._validated(X, reset=False)
        used = np.zeros(X.shape, bool)
        used[:, self.columns_] = True
        return used

    def sparsity_grid(self, X, y):
        check_classification_targets(y)
        if len(np.unique(y)) < 2:
            raise ValueError(f"y must hold at least two classes, got 1 class only: {np.unique(y).tolist()}")
        return [{"k": k} for k in (0, 1, 2, 3, np.shape(X)[1])]
