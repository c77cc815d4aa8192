"""Answers of least expected cost, for methods that do not know the costs of errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from fsgym.answers import cheapest_answers

CALIBRATION_FOLDS = 5  # of the calibration


def has_scores(estimator: Any) -> bool:
    """Whether an estimator gives class probabilities or decision values."""
    return hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")


def knows_error_costs(estimator: Any) -> bool:
    """Whether an estimator has a parameter for the costs of errors, and so answers by them itself."""
    return "error_costs" in estimator.get_params(deep=False)


class ExpectedCostClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that answers by least expected cost, from the class probabilities of another one.

    Class probabilities are those of ``predict_proba``, if the classifier has it and no ``class_weight``, with which
    they would not be those of the data. Otherwise they are calibrated with a sigmoid (Platt, 2000) on decision values
    for held-out rows of stratified folds; for more than two classes, one class against the rest. A classifier with a
    parameter ``class_weight`` and without ``predict_proba``, such as a support vector machine, is trained with the mean
    cost of its errors as the weight of each class, so that its scores differ where the answer changes; the calibration
    is unweighted. The features used are those of the classifier, fitted on all rows.

    Parameters
    ----------
    estimator : classifier with ``features_used`` and either ``predict_proba`` or ``decision_function``
    error_costs : array-like of shape (n_classes, n_classes)
        ``error_costs[answer, true class]``.
    classes : array-like of shape (n_classes,)
        All labels in sorted order; a training part may lack some.

    References
    ----------
    C. Elkan. The foundations of cost-sensitive learning. IJCAI, 2001, eq. 1.
    J. Platt. Probabilities for SV machines. Advances in large margin classifiers, 2000.
    """

    def __init__(self, estimator: Any, error_costs: ArrayLike, classes: Sequence[Any]) -> None:
        self.estimator = estimator
        self.error_costs = error_costs
        self.classes = classes

    def fit(self, X: NDArray, y: NDArray) -> ExpectedCostClassifier:
        """Fit on ``X`` (n_samples, n_features) and labels ``y`` (n_samples,).

        Raises ValueError if probabilities must be calibrated and a class has only one row.
        """
        weighted = getattr(self.estimator, "class_weight", None) is not None
        if hasattr(self.estimator, "predict_proba") and not weighted:
            self.estimator_ = self.scored_ = clone(self.estimator).fit(X, y)
            self.labels_ = self.scored_.classes_
        else:
            self.scored_ = self._calibrated(X, y)
            self.estimator_ = self.scored_.calibrated_classifiers_[0].estimator
        self.classes_ = np.asarray(self.classes)
        return self

    def _calibrated(self, X: NDArray, y: NDArray) -> Any:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.model_selection import StratifiedKFold

        rows = np.unique(y, return_counts=True)[1].min()
        if rows < 2:
            raise ValueError(
                f"{type(self.estimator).__name__} has no class probabilities, and they cannot be calibrated where a "
                "class has a single training row; use more rows, or leave this method out"
            )
        folds = StratifiedKFold(min(CALIBRATION_FOLDS, rows), shuffle=True, random_state=0)
        # ``CalibratedClassifierCV`` replaces labels by codes; the keys of class weights have to be codes, too.
        self.labels_, codes = np.unique(y, return_inverse=True)
        weighted = self._weighted_by_costs(self.labels_.tolist())
        return CalibratedClassifierCV(weighted, method="sigmoid", cv=folds, ensemble=False).fit(X, codes)

    def _weighted_by_costs(self, labels: list[Any]) -> Any:
        """A clone of the classifier whose ``class_weight`` has codes of these labels as its keys.

        If it is None, it becomes the mean cost of errors.
        """
        estimator, costs = clone(self.estimator), np.asarray(self.error_costs, np.float64)
        parameters = estimator.get_params()
        name = next((k for k in ("class_weight", "estimator__class_weight") if k in parameters), None)
        own_classifier = any(parameters.get(k) is not None for k in ("classifier", "estimator__classifier"))
        if name is not None and isinstance(parameters[name], Mapping):
            given = {labels.index(label): weight for label, weight in parameters[name].items() if label in labels}
            return estimator.set_params(**{name: given})
        if name is None or parameters[name] is not None or own_classifier:
            return estimator
        regret = costs - costs.min(axis=0)
        weights = regret.sum(axis=0) / (len(costs) - 1)
        weights = np.maximum(weights / weights.max(initial=0.0), 1e-3) if weights.any() else np.ones(len(costs))
        by_label = dict(zip(self.classes, weights.tolist()))
        return estimator.set_params(**{name: {code: by_label[label] for code, label in enumerate(labels)}})

    def predict_proba(self, X: NDArray) -> NDArray[np.float64]:
        """The class probabilities (n_samples, n_classes); 0 for a class without training rows."""
        shares = np.zeros((len(X), len(self.classes_)))
        shares[:, np.searchsorted(self.classes_, self.labels_)] = self.scored_.predict_proba(X)
        return shares

    def predict(self, X: NDArray) -> NDArray:
        """The class of least expected cost for each row, (n_samples,); ties go to the first."""
        return self.classes_[cheapest_answers(self.predict_proba(X), np.asarray(self.error_costs, np.float64))]

    def features_used(self, X: NDArray) -> NDArray[np.bool_]:
        """The features that the classifier uses, bool (n_samples, n_features)."""
        return self.estimator_.features_used(X)
