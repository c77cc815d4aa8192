"""Minimum redundancy, maximum relevance: forward selection by mutual information, then a kernel SVM."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from baselines.selected import SelectedMixin, varying_columns
from fsgym.sklearn_private import HasMethods, Interval, StrOptions


class MRMRClassifier(SelectedMixin, ClassifierMixin, BaseEstimator):
    """Features that are informative about the class and not redundant, and a classifier on them.

    Parameters
    ----------
    n_selected : int, default=10
        Number of features for the classifier; controls sparsity. With 0, the largest class is predicted. If it exceeds
        the number of features, all are used.
    n_bins : int, default=5
        Maximum number of quantile bins of a feature; values in the same bin count as equal.
    classifier : scikit-learn classifier or None, default=None
        The classifier on the selected features, scaled to [-1, 1]; None is ``SVC()``, with an RBF kernel.
    class_weight : dict label -> weight, "balanced" or None, default=None
        Of the default classifier, as in ``SVC``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ranking_ : ndarray of int64
        Columns in the order in which they were selected. Constant columns are never included.
    selected_ : ndarray of int64
        The same columns: the classifier reads all of them.
    classifier_ : the fitted classifier, or None if no feature was selected
    scaling_ : fsgym.Scaling
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    The first feature has the largest mutual information with the class. Each further one has the largest difference
    between that and its mean mutual information with the features selected so far. Ties go to the lower number.

    References
    ----------
    Peng, Long and Ding (2005), Feature selection based on mutual information criteria of max-dependency, max-relevance,
    and min-redundancy, eq. 7; a reference method of Xu, Huang, Weinberger and Zheng (2014).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import MRMRClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MRMRClassifier(4).fit(X, y)
    >>> int(model.features_used(X[:1]).sum()), bool(model.score(X, y) > 0.9)
    (4, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_selected": [Interval(Integral, 0, None, closed="left")],
        "n_bins": [Interval(Integral, 2, 255, closed="both")],
        "classifier": [HasMethods(["fit", "predict"]), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self, n_selected: int = 10, *, n_bins: int = 5, classifier: Any = None, class_weight: Any = None
    ) -> None:
        self.n_selected = n_selected
        self.n_bins = n_bins
        self.classifier = classifier
        self.class_weight = class_weight

    def _rank(self, Z: NDArray[np.float64], codes: NDArray[np.int64], n_ranked: int) -> NDArray[np.int64]:
        columns = np.flatnonzero(varying_columns(Z))
        bins = in_bins(Z[:, columns], self.n_bins)
        relevance = mutual_information(bins, codes)
        redundancy, free, chosen = np.zeros(len(columns)), np.ones(len(columns), dtype=bool), []
        for m in range(min(n_ranked, len(columns))):
            score = np.where(free, relevance - redundancy / max(m, 1), -np.inf)
            chosen.append(int(np.flatnonzero(score >= score.max() - 1e-12)[0]))
            free[chosen[-1]] = False
            redundancy += mutual_information(bins, bins[:, chosen[-1]])
        return columns[chosen].astype(np.int64)


def in_bins(Z: NDArray[np.float64], n_bins: int) -> NDArray[np.uint8]:
    """Return the quantile bin of each value, uint8 of the shape of ``Z``; equal values are in the same bin.

    >>> in_bins(np.array([[1.0], [2.0], [2.0], [7.0]]), 2).ravel().tolist()
    [0, 0, 0, 1]
    """
    edges = np.quantile(Z, np.linspace(0.0, 1.0, n_bins + 1)[1:-1], axis=0, method="inverted_cdf")
    bins = np.zeros(Z.shape, dtype=np.uint8)
    for edge in edges:
        bins += edge < Z
    return bins


def mutual_information(bins: NDArray[np.uint8], codes: NDArray) -> NDArray[np.float64]:
    """Return the mutual information of each column of ``bins`` with ``codes`` (n_samples,), in nats, (n_columns,).

    >>> mutual_information(np.array([[0, 1], [1, 1]], dtype=np.uint8), np.array([0, 1])).round(4).tolist()
    [0.6931, 0.0]
    """
    n = len(codes)
    groups = (codes[:, None] == np.unique(codes)).T.astype(np.float32)  # counts below 2^24 are exact
    joint = np.stack([groups @ (bins == b) for b in range(int(bins.max(initial=0)) + 1)]).astype(np.float64) / n
    expected = joint.sum(axis=0, keepdims=True) * joint.sum(axis=1, keepdims=True)
    terms = np.log(np.divide(joint, expected, out=np.ones_like(joint), where=joint > 0))
    return np.maximum((joint * terms).sum(axis=(0, 1)), 0.0)
