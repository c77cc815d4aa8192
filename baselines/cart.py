"""Classification trees with cost-complexity pruning."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from baselines.base import SettingsPathMixin, check_X_y, class_codes, validate_data
from baselines.tree_steps import AskedTrees, TreeAskingMixin
from fsgym.data.scaling import Scaling, float32_offsets
from fsgym.rules import Rules
from fsgym.rules.checks import check_error_costs
from fsgym.rules.rules import cheapest_answers, regrets
from fsgym.rules.uninformative import without_repeated
from fsgym.sklearn_private import HasMethods, Interval, checks_parameters

MAX_TREE_VALUE = 1e30  # far below the largest float32: sums over a table stay finite
MIN_GAP = 1e-6  # between distinct values; scikit-learn's trees take values that differ by up to 1e-7 as equal
SCALED_EXPONENT = 60  # scaled columns stay below 2^60 in training: gaps of 1e-25 of the largest value count
SMOOTHING = 5.0  # rows with the class shares of all rows that are added to each leaf; by experiment on six data sets


class TreePathsMixin:
    """The columns that each row uses in ``estimator_``, a tree of scikit-learn on columns scaled by ``scaling_``."""

    estimator_: Any
    scaling_: Scaling

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float32]:
        check_is_fitted(self, "estimator_")
        return for_trees(self.scaling_, validate_data(self, X, reset=False, dtype=np.float64))

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns are on each row's path, bool (n_samples, n_features)."""
        table, tree = self._validate_table(X), self.estimator_
        rows, nodes = tree.decision_path(table).nonzero()
        split = tree.tree_.feature[nodes]
        used = np.zeros(table.shape, dtype=bool)
        used[rows[split >= 0], split[split >= 0]] = True
        return used


class CARTClassifier(TreePathsMixin, TreeAskingMixin, SettingsPathMixin, ClassifierMixin, BaseEstimator):
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
    error_costs : array-like of shape (n_classes, n_classes), DataFrame or mapping, default=None
        ``error_costs[prediction, true_class]``, classes in sorted order, or by label as in ``fsgym.Rules``. None: each
        leaf predicts its largest class.
    random_state : int, RandomState or None, default=None
        Decides between equally good splits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : sklearn.tree.DecisionTreeClassifier
        The pruned tree, for the table ``(X - scaling_.offset) * scaling_.scale``; its classes are indices into
        ``classes_``.
    scaling_ : fsgym.Scaling
        Offset 0 and scale 1 for all columns but those that need another for float32 and for scikit-learn's trees.
    error_costs_ : ndarray of shape (n_classes, n_classes) or None
    leaf_shares_ : ndarray of shape (n_nodes, n_classes) or None
        With ``error_costs``, the class probabilities in each node of the tree.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    The unit of a column and a shift of it have no effect. Values are compared as float32: the middle of a column that
    float32 would not resolve is subtracted first (``float32_offsets``). A column with values that differ
    by less than 1e-6, which the trees of scikit-learn may take as equal, or above 1e30 is multiplied by a power of two,
    which rounds nothing.

    With ``error_costs`` the tree is grown and pruned with altered priors: the weight of a row is the summed cost of all
    answers for its class (Breiman et al., section 4.4). The class probabilities in a leaf are then those of its
    training rows, without weights, to which ``SMOOTHING`` rows with the shares of all training rows are added
    (m-estimate), so that a small leaf is not certain. The class of least expected cost is predicted.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees, chapters 3 and 4; a reference
    method of Dulac-Arnold, Denoyer, Preux and Gallinari (2012), section 6.1. Zadrozny and Elkan (2001), Learning and
    making decisions when costs and probabilities are both unknown, section 3.

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
        "error_costs": [None, "array-like", HasMethods("keys")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        ccp_alpha: float = 0.0,
        *,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        error_costs: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.ccp_alpha = ccp_alpha
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.error_costs = error_costs
        self.random_state = random_state

    def _make_tree(self, ccp_alpha: float) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(
            ccp_alpha=ccp_alpha,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        )

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> CARTClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ValueError or TypeError for a parameter out of range, for error costs that do not fit the classes, for
        invalid tables and for fewer than two classes.
        """
        table, labels = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = class_codes(labels)
        self.error_costs_ = self._check_error_costs(self.classes_)
        self.scaling_ = tree_scaling(table)
        Z = without_repeated(for_trees(self.scaling_, table))  # so that a tree does not split on a column and its copy
        weight = prior_weights(self.error_costs_, codes)
        self.estimator_: Any = self._make_tree(self.ccp_alpha).fit(Z, codes, weight)
        self.leaf_shares_ = None if weight is None else smoothed_shares(self.estimator_, Z, codes)
        self.value_ranges_ = np.stack([table.min(axis=0), table.max(axis=0)])
        return self

    def _check_error_costs(self, classes: NDArray) -> NDArray[np.float64] | None:
        return None if self.error_costs is None else check_error_costs(self.error_costs, classes.tolist())

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities in each row's leaf, (n_samples, n_classes).

        These are the class shares of its training rows; with ``error_costs``, they are smoothed.
        """
        table = self._validate_table(X)
        if self.leaf_shares_ is None:
            return self.estimator_.predict_proba(table)
        return self.leaf_shares_[self.estimator_.apply(table)]

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the class of each row, shape (n_samples,); ties go to the first class.

        It is the largest class of the row's leaf; with ``error_costs``, that of the least expected cost.
        """
        table = self._validate_table(X)
        if self.error_costs_ is None or self.leaf_shares_ is None:
            return self.classes_[self.estimator_.predict(table)]
        shares = self.leaf_shares_[self.estimator_.apply(table)]
        return self.classes_[cheapest_answers(shares, self.error_costs_)]

    def _make_asked_rules(self, names: tuple[str, ...]) -> Rules:
        labels = self.classes_.tolist()
        return Rules(len(names), len(labels), lam=0.0, names=names, classes=labels, error_costs=self.error_costs_)

    def _asked_trees(self) -> AskedTrees:
        tree = self.estimator_.tree_
        unknown_left = tree.missing_go_to_left.astype(bool)
        left, right = tree.children_left, tree.children_right
        return AskedTrees(tree.feature, tree.threshold, left, right, unknown_left, np.zeros(1, np.int64))

    def _tree_values(self, values: NDArray[np.float64], columns: Any = slice(None)) -> NDArray[np.float64]:
        scaling = Scaling(self.scaling_.offset[columns], self.scaling_.scale[columns])
        return for_trees(scaling, values).astype(np.float64)

    def _tree_shares(self, values: NDArray[np.float64], node: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.leaf_shares_ is not None:
            return self.leaf_shares_[node]
        shares = self.estimator_.tree_.value[node, 0]
        return shares / shares.sum(axis=1, keepdims=True)

    def _columns_used(self, node: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The columns of the splits on the way to each node."""
        trees, used = self._asked_trees(), np.zeros((len(node), self.n_features_in_), bool)
        for i, below in enumerate(node.tolist()):
            while below > 0:
                below = int(np.flatnonzero((trees.left == below) | (trees.right == below))[0])
                used[i, trees.feature[below]] = True
        return used

    def _cheapest(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        return shares.argmax(axis=1) if self.error_costs_ is None else super()._cheapest(shares)

    def _digest_arrays(self) -> list[NDArray]:
        return [self.estimator_.tree_.value if self.leaf_shares_ is None else self.leaf_shares_, *self.scaling_]

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, float]]:
        """Return at most ``n_settings`` values of ``ccp_alpha``, from only the root to the full tree.

        They are chosen from the pruning path on ``X``, see ``pruning_settings``.
        """
        table, labels = check_X_y(X, y, dtype=np.float64)
        classes, codes = class_codes(labels)
        weight = prior_weights(self._check_error_costs(classes), codes)
        Z = without_repeated(for_trees(tree_scaling(table), table))
        path = self._make_tree(0.0).cost_complexity_pruning_path(Z, codes, weight)
        return pruning_settings(path.ccp_alphas, n_settings)


def tree_scaling(X: NDArray[np.float64]) -> Scaling:
    """Return the map of each column of ``X`` (n_samples, n_features), finite numbers, to values for ``for_trees``.

    Offsets and scales are 0 and 1, unless the column needs another; scales are powers of two.
    """
    offsets = float32_offsets(X)
    scales = np.ones(X.shape[1])
    for j, offset in enumerate(offsets):
        values = X[:, j] - offset
        exponent = max(int(np.frexp(np.abs(values).max())[1]), -900)  # at which 2^-exponent is finite
        scale = 2.0 ** (SCALED_EXPONENT - exponent)
        gaps = np.diff(np.unique((values * scale).astype(np.float32)).astype(np.float64))
        if gaps.min(initial=np.inf) < MIN_GAP * scale or exponent > np.log2(MAX_TREE_VALUE):
            scales[j] = scale
    return Scaling(offsets, scales)


def for_trees(scaling: Scaling, X: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the scaled table (n_samples, n_features) without infinite values."""
    with np.errstate(over="ignore"):
        return ((X - scaling.offset) * scaling.scale).clip(-MAX_TREE_VALUE, MAX_TREE_VALUE).astype(np.float32)


def pruning_settings(ccp_alphas: NDArray[np.float64], n_settings: int) -> list[dict[str, float]]:
    """At most ``n_settings`` of ``ccp_alpha`` from those of a pruning path, at about equal steps of the logarithm.

    Each is the geometric mean of two neighbouring values of the path, between which the tree does not change. The first
    is 1, which leaves only the root for any data, the last 0.
    """
    knots = np.unique(ccp_alphas[ccp_alphas > 1e-12])
    between = np.sqrt(knots[:-1] * knots[1:])
    n_between = max(n_settings - 2, 0)
    if len(between) > n_between:
        wanted = np.geomspace(between[0], between[-1], n_between)
        between = between[np.unique(np.array([np.abs(np.log(between / w)).argmin() for w in wanted], np.int64))]
    return [{"ccp_alpha": float(alpha)} for alpha in (1.0, *between[::-1], 0.0)][:n_settings]


def prior_weights(error_costs: NDArray[np.float64] | None, codes: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the weight of each row for altered priors, (n_samples,) with mean 1; None without error costs."""
    if error_costs is None:
        return None
    regret = regrets(error_costs).sum(axis=0)
    weight = regret[codes] if regret[codes].any() else np.ones(len(codes))
    return weight / weight.mean()


def smoothed_shares(tree: Any, Z: NDArray[np.float32], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the class shares of the rows of each node, smoothed towards those of all rows, (n_nodes, n_classes)."""
    counts = tree.decision_path(Z).T @ np.eye(len(tree.classes_))[codes]
    prior = np.bincount(codes) / len(codes)
    return (counts + SMOOTHING * prior) / (counts.sum(axis=1, keepdims=True) + SMOOTHING)
