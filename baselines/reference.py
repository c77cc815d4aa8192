"""The reference points of a comparison: an answer without any feature, and classifiers that use every feature."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from baselines import subset_models
from baselines.base import SettingsPathMixin, class_codes, rules_of, validate_data
from baselines.ridge_logistic import fit_ridge_logistic, mean_cross_entropy, ridge_proba
from fsgym.rules.checks import check_error_costs
from fsgym.rules.rules import cheapest_answers
from fsgym.sklearn_private import HasMethods, StrOptions, checks_parameters
from fsgym.support.threads import one_blas_thread

PENALTIES = (0.003, 0.03, 0.3, 3.0, 30.0)  # C of the logistic regression, on z-scores
LEAF_SIZES = (1, 5)  # smallest leaves of the forest, in rows
TUNING_FOLDS, N_TREES = 5, 100
MIN_FOREST_SHARE = 1e-3  # of a class in the forest, before calibration


class _ReferenceMixin(SettingsPathMixin):
    """Validation, error costs and answers of both reference points."""

    error_costs: Any
    classes_: NDArray
    error_costs_: NDArray[np.float64]

    def _training_table(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        table, labels = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
        self.classes_, codes = class_codes(labels)
        self.error_costs_ = check_error_costs(self.error_costs, self.classes_.tolist())
        return table, codes

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "error_costs_")
        return validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities, (n_samples, n_classes)."""
        raise NotImplementedError

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the class of the least expected cost, (n_samples,); ties go to the first class."""
        answers = cheapest_answers(self.predict_proba(X), self.error_costs_)
        return self.classes_[answers]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags


class ConstantClassifier(_ReferenceMixin, ClassifierMixin, BaseEstimator):
    """The answer of the least mean cost on the training rows, without any feature.

    Parameters
    ----------
    error_costs : array-like of shape (n_classes, n_classes), or mapping answer -> true class -> cost, default=None
        ``error_costs[prediction, true_class]``, classes in sorted order; 1 for each wrong prediction by default.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_shares_ : ndarray of shape (n_classes,), float64
        Share of each class in the training rows, the probabilities of every row.
    error_costs_ : ndarray of shape (n_classes, n_classes), float64
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Examples
    --------
    >>> from baselines import ConstantClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["ill", "well", "well", "well"]
    >>> ConstantClassifier().fit(X, y).predict([[0.0]]).tolist()
    ['well']
    >>> costs = {"well": {"ill": 10.0}, "ill": {"well": 1.0}}
    >>> ConstantClassifier(error_costs=costs).fit(X, y).predict([[0.0]]).tolist()
    ['ill']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"error_costs": [None, "array-like", HasMethods("keys")]}

    def __init__(self, *, error_costs: Any = None) -> None:
        self.error_costs = error_costs

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> ConstantClassifier:
        """Fit on labels ``y`` (n_samples,); ``X`` (n_samples, n_features) is checked only.

        Raises ValueError for invalid tables or error costs, and for fewer than two classes.
        """
        _, codes = self._training_table(X, y)
        self.class_shares_ = np.bincount(codes) / len(codes)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the shares of the classes for every row, (n_samples, n_classes)."""
        n_samples = len(self._validate_table(X))
        return np.tile(self.class_shares_, (n_samples, 1))

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """No feature for any row, bool (n_samples, n_features)."""
        return np.zeros(self._validate_table(X).shape, bool)

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike) -> list[dict[str, Any]]:
        """Return the only setting."""
        class_codes(np.asarray(y))
        return [{}]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class EverythingClassifier(_ReferenceMixin, ClassifierMixin, BaseEstimator):
    """A calibrated classifier that uses every feature of every row and answers by least expected cost.

    It does not use a value whose prerequisite is missing for the row, since it cannot be acquired.

    Parameters
    ----------
    classifier : {"logistic", "forest"}, default="logistic"
        A logistic regression, with the ridge penalty of the lowest log-loss on five folds; or a random forest, with the
        smallest leaves of the lowest out-of-bag log-loss, whose probabilities a logistic regression on their
        logarithms, out of bag, calibrates.
    error_costs : array-like of shape (n_classes, n_classes), or mapping answer -> true class -> cost, default=None
        ``error_costs[prediction, true_class]``, classes in sorted order; 1 for each wrong prediction by default.
    groups, prerequisites
        As in ``fsgym.Rules``. Names are those of the columns, or ``x0, x1, ...``.
    random_state : int, RandomState or None, default=None
        Assignment of the rows to folds, or the seed of the forest.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    classifier_ : the fitted LogisticRegression or RandomForestClassifier
    setting_ : float or int, its ``C`` or ``min_samples_leaf``
    rules_ : fsgym.Rules, with the groups, prerequisites and error costs
    error_costs_ : ndarray of shape (n_classes, n_classes), float64
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    Features are z-scores. A missing value is replaced by the mean, with an indicator column where it is missing in
    training.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from baselines import EverythingClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = EverythingClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.features_used(X).all()), bool(model.score(X[1::2], y[1::2]) > 0.95)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "classifier": [StrOptions({"logistic", "forest"})],
        "error_costs": [None, "array-like", HasMethods("keys")],
        "groups": [None, "array-like", list, HasMethods("keys")],
        "prerequisites": [None, "array-like", HasMethods("keys")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        classifier: str = "logistic",
        *,
        error_costs: Any = None,
        groups: Any = None,
        prerequisites: Any = None,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.error_costs = error_costs
        self.groups = groups
        self.prerequisites = prerequisites
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> EverythingClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers or NaN, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables and for fewer than two classes.
        """
        table, codes = self._training_table(X, y)
        options = {"groups": self.groups, "prerequisites": self.prerequisites, "error_costs": self.error_costs_}
        labels = self.classes_.tolist()
        self.rules_ = rules_of(self, len(labels), classes=labels, **options)
        known, generator = self._available(table), check_random_state(self.random_state)
        self._encoder = subset_models.TableEncoder.fit(table, known)
        Z = self._encoder.encode(table, known, np.arange(table.shape[1]))
        with one_blas_thread():
            if self.classifier == "logistic":
                self.setting_, self.classifier_ = tuned_logistic(Z, codes, generator)
            else:
                self.setting_, self.classifier_, self._calibration = tuned_forest(Z, codes, generator)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities, (n_samples, n_classes)."""
        table = self._validate_table(X)
        Z = self._encoder.encode(table, self._available(table), np.arange(table.shape[1]))
        with one_blas_thread():
            shares = self.classifier_.predict_proba(Z)
        return shares if self.classifier == "logistic" else ridge_proba(log_shares(shares), self._calibration)

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Every value that can be acquired, bool (n_samples, n_features)."""
        return self._available(self._validate_table(X))

    def _available(self, table: NDArray[np.float64]) -> NDArray[np.bool_]:
        """The values that are not missing and of which no prerequisite is, of the shape of ``table``."""
        reachable = self.rules_.available(table)
        return reachable[:, self.rules_.acquisition_of_features] & ~np.isnan(table)

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike) -> list[dict[str, Any]]:
        """Return one setting for each classifier."""
        class_codes(np.asarray(y))
        return [{"classifier": "logistic"}, {"classifier": "forest"}]


def tuned_logistic(Z: NDArray, codes: NDArray[np.int64], generator: Any) -> tuple[float, LogisticRegression]:
    """The penalty of the lowest out-of-fold log-loss, and a logistic regression with it on all rows."""
    n_classes = int(codes.max()) + 1
    fold = subset_models.class_folds(codes, n_classes, TUNING_FOLDS, generator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the weakest penalties on separable classes
        losses = [_validated_log_loss(Z, codes, fold, C) for C in PENALTIES]
        best = PENALTIES[int(np.argmin(losses))]
        return best, LogisticRegression(C=best, max_iter=1000).fit(Z, codes)


def _validated_log_loss(Z: NDArray, codes: NDArray[np.int64], fold: NDArray[np.int64], C: float) -> float:
    """Out-of-fold log-loss; a class without rows in the other folds has probability 0."""
    shares = np.zeros((len(Z), int(codes.max()) + 1))
    for k in range(int(fold.max()) + 1):
        out = fold == k
        present = np.unique(codes[~out])
        if len(present) < 2:
            shares[np.ix_(out, present)] = 1.0
            continue
        model = LogisticRegression(C=C, max_iter=1000).fit(Z[~out], codes[~out])
        shares[np.ix_(out, present)] = model.predict_proba(Z[out])
    return mean_cross_entropy(shares, codes)


def tuned_forest(
    Z: NDArray, codes: NDArray[np.int64], generator: Any
) -> tuple[int, RandomForestClassifier, NDArray[np.float64]]:
    """The leaf size of the lowest out-of-bag log-loss, a forest with it, and the coefficients of its calibration."""
    n_classes, seed = int(codes.max()) + 1, int(generator.randint(2**31 - 1))
    fitted = []
    for leaf in LEAF_SIZES:
        forest = RandomForestClassifier(N_TREES, min_samples_leaf=leaf, oob_score=True, random_state=seed)
        forest.fit(Z, codes)
        inputs = log_shares(np.nan_to_num(forest.oob_decision_function_, nan=1.0 / n_classes))
        coefs = fit_ridge_logistic(inputs, codes, n_classes, np.ones((1, len(Z))), 1.0)[0]
        fitted.append((mean_cross_entropy(ridge_proba(inputs, coefs), codes), leaf, forest, coefs))
    return min(fitted, key=lambda entry: entry[0])[1:]


def log_shares(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds of the second of two classes (n_samples, 1), or the centred logarithms of all shares."""
    logs = np.log(shares.clip(MIN_FOREST_SHARE))
    return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs - logs.mean(axis=1, keepdims=True)
