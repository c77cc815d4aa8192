"""Feature selection with random forests: rank by impurity decrease, train another forest on the first features."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

from baselines.selected import SelectedMixin, varying_columns
from fsgym.sklearn_private import Interval
from fsgym.support.checks import check_n_jobs


class ForestSelectionClassifier(SelectedMixin, ClassifierMixin, BaseEstimator):
    """A forest ranks the features by impurity decrease; a second forest is trained on the first of them.

    Parameters
    ----------
    n_selected : int, default=10
        Number of features for the second forest; controls sparsity. With 0, the largest class is predicted. If it
        exceeds the number of features, all are used.
    n_estimators : int, default=100
        Number of trees in each forest.
    min_samples_leaf : int, default=1
        Minimum number of training rows in a leaf; 1 grows full trees.
    min_samples_split : int, default=2
        Nodes with fewer training rows are leaves. With k + 1, no node of up to k rows is split.
    n_jobs : int or None, default=None
        Number of threads; the result does not depend on it.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ranking_ : ndarray of int64
        The ``n_selected`` columns of largest importance, in decreasing order; ties go to the lower number. Constant
        columns are never included.
    selected_ : ndarray of int64
        Those of them on which a tree of the second forest splits, in the order of ``ranking_``.
    classifier_ : sklearn.ensemble.RandomForestClassifier or None
        The second forest, on the first ``n_selected`` columns of ``ranking_``, scaled to [-1, 1].
    scaling_ : fsgym.Scaling
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    Scaled values beyond 1e30 are clipped to 1e30.

    References
    ----------
    Breiman (2001), Random forests, section 10; Hastie, Tibshirani and Friedman (2009), The elements of statistical
    learning, section 15.3.2; RFFS of Xu, Huang, Weinberger and Zheng (2014).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import ForestSelectionClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ForestSelectionClassifier(4, n_estimators=30, random_state=0).fit(X, y)
    >>> int(model.features_used(X[:1]).sum()), bool(model.score(X, y) > 0.9)
    (4, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_selected": [Interval(Integral, 0, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "min_samples_split": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_selected: int = 10,
        *,
        n_estimators: int = 100,
        min_samples_leaf: int = 1,
        min_samples_split: int = 2,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_selected = n_selected
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _rank(self, Z: NDArray[np.float64], codes: NDArray[np.int64], n_ranked: int) -> NDArray[np.int64]:
        columns = np.flatnonzero(varying_columns(Z))
        if not len(columns):
            return columns
        importance = self._make_classifier().fit(Z[:, columns], codes).feature_importances_
        return columns[np.argsort(-importance, kind="stable")[:n_ranked]]

    def _check_options(self) -> None:
        check_n_jobs(self.n_jobs)

    def _make_classifier(self) -> RandomForestClassifier:
        return RandomForestClassifier(
            self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=self.min_samples_split,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    def _columns_read(self, classifier: RandomForestClassifier, selected: NDArray[np.int64]) -> NDArray[np.int64]:
        split = np.unique(np.concatenate([tree.tree_.feature for tree in classifier.estimators_]))
        return selected[split[split >= 0]]
