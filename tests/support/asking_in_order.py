"""A quick classifier that acquires features from the first to the last, and stops when it is sure enough."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from fsgym.envs.trajectories import Trajectories


class AskingInOrder(ClassifierMixin, BaseEstimator):
    """It stops when a class is at least as probable as 1 - ``lam``; classes are normal, with equal variances."""

    def __init__(self, lam=0.0):
        self.lam = lam

    def fit(self, X, y):
        X = np.asarray(X, float)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_features_in_ = X.shape[1]
        self.scale_ = X.std(axis=0) + 0.1
        self.means_ = np.array([X[codes == k].mean(axis=0) for k in range(len(self.classes_))])
        self.prior_ = np.bincount(codes) / len(codes)
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "prior_")

    def probabilities_at(self, X, acquired):
        distances = ((np.asarray(X, float)[:, None] - self.means_) / self.scale_) ** 2
        scores = np.log(self.prior_) - np.where(acquired[:, None], distances, 0).sum(axis=2) / 20
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def trajectories(self, X):
        X = np.asarray(X, float)
        n, d = X.shape
        order, acquired = np.full((n, d), -1, np.int32), np.zeros((n, d), bool)
        going = np.ones(n, bool)
        for j in range(d):
            going &= self.probabilities_at(X, acquired).max(axis=1) < 1 - self.lam
            order[going, j], acquired[going, j] = j, True
        shares = self.probabilities_at(X, acquired)
        return Trajectories(order, acquired, shares.argmax(axis=1), np.zeros(n, bool), probabilities=shares)

    def predict(self, X):
        return self.classes_[self.trajectories(X).answers]

    def features_used(self, X):
        return self.trajectories(X).acquired


class DrawnChart:
    """A chart that is a square with a text."""

    def __init__(self, text):
        self.text = text

    def to_svg(self, here=None, dark=False):
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>{self.text}</text></svg>'


class Charted(AskingInOrder):
    """The classifier with a chart, which says how many rows and boxes it was given."""

    def __init__(self, lam=0.0, letters=1):
        super().__init__(lam)
        self.letters = letters  # of which the text of the chart consists besides

    def chart(self, X=None, y=None, *, max_boxes=30):
        assert len(X) == len(y)
        return DrawnChart(f"lambda {self.lam}, {len(X)} rows, {max_boxes} boxes{'.' * self.letters}")
