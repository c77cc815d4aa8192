"""Classification trees with cost-complexity pruning."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from baselines.linear import check_X_y, class_codes, validate_data
from baselines.path import SettingsPathMixin

MAX_TREE_VALUE = 1e30  # far below the largest float32: sums over a table stay finite


class CARTClassifier(SettingsPathMixin, ClassifierMixin, BaseEstimator):
    """A pruned tree with Gini impurity; a row uses the distinct features on its path from the root to its leaf.

    Parameters
    ----------
    ccp_alpha : float, default=0.0
        Decrease of impurity per leaf below which a branch is pruned; controls sparsity. 0 keeps the full tree. With 1
        or more only the root is left, which uses no feature and predicts the largest class.
    max_depth : int or None, default=None
        Maximum number of splits on a path.
    min_samples_leaf : int, default=1
        Minimum number of training rows in a leaf.
    random_state : int, RandomState or None, default=None
        Decides between equally good splits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : sklearn.tree.DecisionTreeClassifier
        The pruned tree; its classes are indices into ``classes_``.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    Values are compared as float32; magnitudes above 1e30 are clipped to 1e30.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees, chapter 3; a reference
    method of Dulac-Arnold, Denoyer, Preux and Gallinari (2012), section 6.1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from baselines import CARTClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CARTClassifier(ccp_alpha=0.02, random_state=0).fit(X, y)
    >>> bool(model.features_used(X).sum(axis=1).max() <= 4), bool(model.score(X, y) > 0.9)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        ccp_alpha: float = 0.0,
        *,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.ccp_alpha = ccp_alpha
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def _make_tree(self, ccp_alpha: float) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(
            ccp_alpha=ccp_alpha,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> CARTClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables and for fewer than two classes.
        """
        table, labels = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = class_codes(labels)
        self.estimator_: Any = self._make_tree(self.ccp_alpha).fit(_to_float32(table), codes)
        return self

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float32]:
        check_is_fitted(self, "estimator_")
        return _to_float32(validate_data(self, X, reset=False, dtype=np.float64))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class shares among the training rows of each row's leaf, (n_samples, n_classes)."""
        table = self._validate_table(X)
        return self.estimator_.predict_proba(table)

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the largest class of each row's leaf, shape (n_samples,); ties go to the first class."""
        table = self._validate_table(X)
        return self.classes_[self.estimator_.predict(table)]

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns are on each row's path, bool (n_samples, n_features)."""
        table = self._validate_table(X)
        rows, nodes = self.estimator_.decision_path(table).nonzero()
        split = self.estimator_.tree_.feature[nodes]
        used = np.zeros(table.shape, dtype=bool)
        used[rows[split >= 0], split[split >= 0]] = True
        return used

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, float]]:
        """Return at most ``n_settings`` values of ``ccp_alpha``, from only the root to the full tree.

        They are chosen from the pruning path on ``X`` at about equal steps of the logarithm. Each is the geometric mean
        of two neighbouring values of the path, between which the tree does not change. The first is 1, which leaves
        only the root for any data.
        """
        table, labels = check_X_y(X, y, dtype=np.float64)
        path = self._make_tree(0.0).cost_complexity_pruning_path(_to_float32(table), class_codes(labels)[1])
        knots = np.unique(path.ccp_alphas[path.ccp_alphas > 1e-12])
        between = np.sqrt(knots[:-1] * knots[1:])
        if len(between) > n_settings - 2:
            wanted = np.geomspace(between[0], between[-1], n_settings - 2)
            between = between[np.unique([np.abs(np.log(between / w)).argmin() for w in wanted])]
        return [{"ccp_alpha": float(alpha)} for alpha in (1.0, *between[::-1], 0.0)]


def _to_float32(X: NDArray[np.float64]) -> NDArray[np.float32]:
    return X.clip(-MAX_TREE_VALUE, MAX_TREE_VALUE).astype(np.float32)
