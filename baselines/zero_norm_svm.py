"""A linear support vector machine with few nonzero weights: training is repeated on features scaled by the weights."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC

from baselines.base import signed_targets
from baselines.selected import SelectedMixin, varying_columns
from baselines.svm_plus.problem import SampleTable, solve_svm
from fsgym.sklearn_private import Interval

VANISHED = 1e-6  # share of the largest weight; a feature whose weight is below it leaves the iteration
CANCELLED = 1e-10  # share of the terms of a sum; a weight of the final SVM below it is what rounding left of 0
CONVERGED = 1e-3  # largest change of a weight in an iteration, as a share of the largest weight


class ZeroNormSVMClassifier(SelectedMixin, ClassifierMixin, BaseEstimator):
    """Features that survive the multiplicative approximation of the zero norm, and a linear SVM on them.

    A linear SVM with weights w is trained again and again on features that are multiplied by scales z, and z is
    replaced by ``|z w|``. Where this converges, ``|w|^2`` counts the features in use; this number therefore takes the
    place of the norm in the objective of the SVM. Weights of unhelpful features decrease to zero. The features that
    remain rank first, by their weights; the others by the iteration in which they vanished, the last first.

    Parameters
    ----------
    n_selected : int, default=10
        Number of features for the final SVM; controls sparsity. With 0, the largest class is predicted. If it exceeds
        the number of features, all are used.
    C : float, default=1.0
        Weight of the summed hinge losses, in the iteration and of the final SVM. One more feature is worth its use if
        it lowers the summed losses by 1 / (2 C). Large values approach a hard margin.
    max_iter : int, default=50
        Maximum number of SVMs that are trained to rank the features; 10 to 30 are usual.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ranking_ : ndarray of int64
        The ``n_selected`` best columns, the best first. Constant columns are never included.
    selected_ : ndarray of int64
        The same columns: the classifier reads all of them.
    n_iter_ : int, iterations of the approximation; 0 without a feature
    classifier_ : the fitted linear ``SVC``, or None if no feature was selected
    scaling_ : fsgym.Scaling
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    Features are scaled to [-1, 1] over the training rows. For more than two classes, the one-vs-rest machines share
    the scales, which are multiplied by the root mean square of their weights.

    References
    ----------
    Weston, Elisseeff, Schölkopf and Tipping (2003), Use of the zero-norm with linear models and kernel methods, the
    l2-AROM method of section 3; a reference method of the paper of DisjunctionClassifier, Table 4.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import ZeroNormSVMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ZeroNormSVMClassifier(4).fit(X, y)
    >>> int(model.features_used(X[:1]).sum()), bool(model.score(X, y) > 0.9)
    (4, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_selected": [Interval(Integral, 0, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_selected: int = 10, *, C: float = 1.0, max_iter: int = 50) -> None:
        self.n_selected = n_selected
        self.C = C
        self.max_iter = max_iter

    def _rank(self, Z: NDArray[np.float64], codes: NDArray[np.int64], n_ranked: int) -> NDArray[np.int64]:
        varying = np.flatnonzero(varying_columns(Z))
        order, self.n_iter_ = zero_norm_order(Z[:, varying], signed_targets(codes), self.C, self.max_iter)
        return varying[order][:n_ranked].astype(np.int64)

    def _fit_ranked(self, models: list[Any], X: ArrayLike, y: ArrayLike) -> None:
        models[0].n_iter_ = 0
        super()._fit_ranked(models, X, y)
        n_iterations = models[0].n_iter_
        for model in models:
            model.n_iter_ = n_iterations if model.n_selected else 0

    def _make_classifier(self) -> SVC:
        return SVC(kernel="linear", C=self.C)

    def _columns_read(self, classifier: SVC, selected: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the columns whose weights are not what rounding left of sums that cancel."""
        terms = np.abs(classifier.dual_coef_).sum(axis=0) @ np.abs(classifier.support_vectors_)
        return selected[np.abs(classifier.coef_).max(axis=0) > CANCELLED * terms]


def zero_norm_order(
    Z: NDArray[np.float64], targets: NDArray[np.float64], C: float, max_iter: int = 50
) -> tuple[NDArray[np.int64], int]:
    """Rank the columns of ``Z`` (n_samples, n_features), the best first, int64 (n_features,); and count the iterations.

    ``targets`` (n_samples, n_machines) are +1 and -1. Ties go to the lower number.
    """
    active, scale = np.arange(Z.shape[1]), np.ones(Z.shape[1])
    vanished: list[NDArray[np.int64]] = []  # in the order in which they vanish
    n_iterations = 0
    while n_iterations < max_iter and len(active) > 1:
        n_iterations += 1
        size = weight_sizes(Z[:, active], targets, scale, C)
        order = np.argsort(-size, kind="stable")
        remaining = np.sort(order[size[order] > VANISHED * size.max()])
        vanished.append(active[order[len(remaining) :]])
        change = np.abs(size - scale).max()
        active, scale = active[remaining], size[remaining]
        if change <= CONVERGED * size.max():
            break
    best = active[np.argsort(-scale, kind="stable")]
    return np.concatenate([best, *reversed(vanished)]).astype(np.int64), n_iterations


def weight_sizes(
    Z: NDArray[np.float64], targets: NDArray[np.float64], scale: NDArray[np.float64], C: float
) -> NDArray[np.float64]:
    """Return the root mean square over the machines of the weights of the columns of ``Z``, (n_features,).

    They minimise 1/2 sum_j (v_j / scale_j)^2 + C sum_i max(0, 1 - y_i (z_i v + b)), separately for each machine.
    """
    table = SampleTable(Z * scale)
    weights = np.array([solve_svm(table, y, C, tol=1e-6).w for y in targets.T]) * scale
    return np.sqrt(np.square(weights).mean(axis=0))
