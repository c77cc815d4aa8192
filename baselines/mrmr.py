"""Minimum redundancy, maximum relevance: features chosen one by one by mutual information, then a kernel SVM."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import HasMethods, Interval

from baselines.selected import SelectedMixin, varying


class MRMRClassifier(SelectedMixin, ClassifierMixin, BaseEstimator):
    """Features that tell much of the class and little of each other, and a classifier on them.

    Parameters
    ----------
    n_selected : int, default=10
        Features that the classifier is given; the knob of sparsity. 0 answers the largest class. All of them where
        there are fewer.
    n_bins : int, default=5
        Quantile bins of a feature, at most; values between the same quantiles count as equal.
    classifier : scikit-learn classifier or None, default=None
        What learns from the selected features, scaled to [-1, 1]; None is ``SVC()``, with an RBF kernel.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ranking_ : ndarray of int64
        Columns in the order in which they were chosen. Constant columns are never in.
    selected_ : ndarray of int64
        The same: the classifier looks at all of them.
    classifier_ : the fitted classifier, or None where nothing was selected
    scaling_ : fsgym.dataset.Scaling
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), where ``X`` had names

    Notes
    -----
    The first feature has the largest mutual information with the class; each next one the largest difference between
    that and its mean mutual information with those already chosen. Equal ones go by number.

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
    }

    def __init__(self, n_selected: int = 10, *, n_bins: int = 5, classifier: Any = None) -> None:
        self.n_selected = n_selected
        self.n_bins = n_bins
        self.classifier = classifier

    def _rank(self, Z: NDArray[np.float64], codes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        columns = np.flatnonzero(varying(Z))
        bins = in_bins(Z[:, columns], self.n_bins)
        relevance = mutual_information(bins, codes)
        redundancy, free, chosen = np.zeros(len(columns)), np.ones(len(columns), dtype=bool), []
        for m in range(min(most, len(columns))):
            score = np.where(free, relevance - redundancy / max(m, 1), -np.inf)
            chosen.append(int(np.flatnonzero(score >= score.max() - 1e-12)[0]))
            free[chosen[-1]] = False
            redundancy += mutual_information(bins, bins[:, chosen[-1]])
        return columns[chosen].astype(np.int64)


def in_bins(Z: NDArray[np.float64], n_bins: int) -> NDArray[np.uint8]:
    """The quantile bin of each value, uint8 of the shape of ``Z``; a bin holds equal values whole.

    >>> in_bins(np.array([[1.0], [2.0], [2.0], [7.0]]), 2).ravel().tolist()
    [0, 0, 0, 1]
    """
    edges = np.quantile(Z, np.linspace(0.0, 1.0, n_bins + 1)[1:-1], axis=0, method="inverted_cdf")
    bins = np.zeros(Z.shape, dtype=np.uint8)
    for edge in edges:
        bins += edge < Z
    return bins


def mutual_information(bins: NDArray[np.uint8], codes: NDArray) -> NDArray[np.float64]:
    """What each column of ``bins`` tells of ``codes`` (n_samples,), in nats, float64 (n_columns,).

    >>> mutual_information(np.array([[0, 1], [1, 1]], dtype=np.uint8), np.array([0, 1])).round(4).tolist()
    [0.6931, 0.0]
    """
    n = len(codes)
    groups = (codes[:, None] == np.unique(codes)).T.astype(np.float32)  # counts below 2^24 are exact
    joint = np.stack([groups @ (bins == b) for b in range(int(bins.max(initial=0)) + 1)]).astype(np.float64) / n
    expected = joint.sum(axis=0, keepdims=True) * joint.sum(axis=1, keepdims=True)
    terms = np.log(np.divide(joint, expected, out=np.ones_like(joint), where=joint > 0))
    return np.maximum((joint * terms).sum(axis=(0, 1)), 0.0)
