"""The features with the largest F statistics, and a classifier on them."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import f_classif

from baselines.selected import SelectedMixin, varying_columns
from fsgym.sklearn_private import HasMethods, Interval


class FStatisticClassifier(SelectedMixin, ClassifierMixin, BaseEstimator):
    """A classifier on the features with the largest F statistics of an analysis of variance.

    Parameters
    ----------
    n_selected : int, default=10
        Number of features for the classifier. With 0, the largest class is predicted.
    classifier : scikit-learn classifier or None, default=None
        The classifier on the selected features, scaled to [-1, 1]; None is ``SVC()``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from support.f_statistic import FStatisticClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> FStatisticClassifier(2).fit(X, y).selected_features_
    array(['x6', 'x12'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_selected": [Interval(Integral, 0, None, closed="left")],
        "classifier": [HasMethods(["fit", "predict"]), None],
    }

    def __init__(self, n_selected: int = 10, *, classifier: Any = None) -> None:
        self.n_selected = n_selected
        self.classifier = classifier

    def _rank(self, Z: NDArray[np.float64], codes: NDArray[np.int64], n_ranked: int) -> NDArray[np.int64]:
        columns = np.flatnonzero(varying_columns(Z))
        if not len(columns):
            return columns
        with np.errstate(all="ignore"):  # a column without variance within the classes has no finite F
            F = np.nan_to_num(f_classif(Z[:, columns], codes)[0])
        return columns[np.argsort(-F, kind="stable")[:n_ranked]]
