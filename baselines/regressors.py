"""Regressors that are charged for the features that they use: peers for a numeric target."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state

from baselines.base import check_X_y, rules_of, validate_data
from baselines.cart import TreePathsMixin, for_trees, pruning_settings, tree_scaling
from baselines.cegb import (
    MAX_PENALTY,
    CostEfficientMixin,
    growing_options,
    grown,
    import_lightgbm,
    power_of_two_scales,
    summed_losses,
)
from fsgym.rules.uninformative import without_repeated
from fsgym.sklearn_private import Interval, StrOptions, checks_parameters
from fsgym.trees import Forest

LOSSES = {"absolute": "regression_l1", "squared": "regression"}  # and the objectives of LightGBM


def losses_of(loss: str, errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The absolute or the squared errors."""
    return np.abs(errors) if loss == "absolute" else errors**2


def constant_of(loss: str, y: NDArray[np.float64]) -> float:
    """The best constant prediction: the median or the mean."""
    return float(np.median(y) if loss == "absolute" else y.mean())


class CEGBRegressor(CostEfficientMixin, RegressorMixin, BaseEstimator):
    """Boosted regression trees that subtract feature costs from the gain of a split; see ``CEGBClassifier``.

    With LightGBM's penalty for each row ("lazy"). The number of trees is chosen by cross-validation of the mean loss:
    the error plus the price of the acquired features.

    Parameters
    ----------
    lam : float, default=0.01
        Exchange rate between cost and errors: the price of one unit of ``costs``, in the unit of the loss.
    loss : {"absolute", "squared"}, default="absolute"
    costs : array-like of shape (n_acquisitions,) or mapping name -> price, default=None
        As of ``CEGBClassifier``.
    groups : lists of column indices, one group number per column, or mapping name -> names of columns, default=None
        As of ``CEGBClassifier``.
    n_estimators : int, default=100
        Maximum number of trees.
    learning_rate : float, default=0.1
    max_depth : int, default=4
    min_samples_leaf : int, default=5
    cv : int, default=5
        Folds that choose the number of trees; None uses all ``n_estimators``.
    n_jobs : int, default=None
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    trees_ : fsgym.trees.Forest
    init_ : float, the best constant prediction
    n_iter_ : int, the number of trees
    n_features_in_ : int

    Notes
    -----
    LightGBM's gain is the decrease of the summed squared error. For the absolute error its gradients are signs, so that
    a split that separates all rows gains 1 for each. Costs are converted so that the best constant prediction has the
    same loss in both units: the penalty of a value is ``lam costs`` times that gain for each row, divided by the mean
    loss of the constant.

    References
    ----------
    Peter, Diego, Hamprecht and Nadler (2017), Cost efficient gradient boosting.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from baselines import CEGBRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CEGBRegressor(lam=2.0, n_estimators=40, random_state=0).fit(X, y)
    >>> bool(0 < model.features_used(X).sum(axis=1).mean() < 7), bool(model.score(X, y) > 0.3)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostEfficientMixin._parameter_constraints,
        "loss": [StrOptions(set(LOSSES))],
    }

    def __init__(
        self,
        lam: float = 0.01,
        *,
        loss: str = "absolute",
        costs: Any = None,
        groups: Any = None,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: int = 5,
        cv: int | None = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.loss = loss
        self.costs = costs
        self.groups = groups
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit on ``X`` (n_samples, n_features) and numbers ``y`` (n_samples,), finite.

        Raises ImportError if LightGBM is not installed; ValueError or TypeError for a parameter out of range, for costs
        or groups that do not match the features, and for invalid tables.
        """
        import_lightgbm()
        table, numbers = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        numbers = np.asarray(numbers, np.float64)
        self._rules = rules_of(self, 2, lam=self.lam, costs=self.costs, groups=self.groups)
        self.n_iter_ = self.n_estimators
        folds = min(self.cv or 0, len(numbers) // 2)
        if folds > 1 and self.n_estimators:
            fold = check_random_state(self.random_state).permutation(len(numbers)) % folds
            losses = np.zeros(self.n_estimators + 1)
            for k in range(folds):
                init, trees = self._train(table[fold != k], numbers[fold != k], self.n_estimators)
                losses += self._losses(init, trees, table[fold == k], numbers[fold == k])
            self.n_iter_ = int(losses.argmin())
        self.init_, self.trees_ = self._train(table, numbers, self.n_iter_)
        self.n_iter_ = self.trees_.n_trees
        return self

    def _losses(self, init: float, trees: Forest, X: NDArray, y: NDArray) -> NDArray[np.float64]:
        """Return the summed loss after 0, 1, ... trees, (n_estimators + 1,); the last is repeated."""

        def errors(scores: NDArray) -> NDArray:
            return losses_of(self.loss, scores[:, 0] - y)

        return summed_losses([init], trees, X, self._rules, errors, self.n_estimators)

    def _train(self, X: NDArray, y: NDArray, n_iter: int) -> tuple[float, Forest]:
        """Return the best constant and LightGBM's trees, for the unit of the target in which its mean loss is 1."""
        lightgbm, init = import_lightgbm(), constant_of(self.loss, y)
        constant_loss = float(losses_of(self.loss, y - init).mean())
        unit = constant_loss if self.loss == "absolute" else constant_loss**0.5
        if not unit:
            return init, Forest.of([])
        prices = self._rules.lam * self._rules.costs[self._rules.acquisition_of_features] / constant_loss
        penalties = np.minimum(prices, MAX_PENALTY).tolist()
        options = {"objective": LOSSES[self.loss], "cegb_penalty_feature_lazy": penalties, **growing_options(self)}
        scale = power_of_two_scales(X)
        data = lightgbm.Dataset(X * scale, (y - init) / unit, init_score=np.zeros(len(y)), params=options)
        booster = lightgbm.Booster(options, data)
        trees = [tree for new_trees in grown(booster, n_iter, scale) for tree in new_trees]
        return init, Forest.of([tree._replace(value=tree.value * unit) for tree in trees])

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the number of each row, float64 (n_samples,)."""
        table = self._validate_table(X)
        scores = np.full((len(table), 1), self.init_)
        self.trees_.add_to(scores, table)
        return scores[:, 0]


class CARTRegressor(TreePathsMixin, RegressorMixin, BaseEstimator):
    """A pruned regression tree; a row uses the distinct features on its path, and gets the median or mean of its leaf.

    It is grown and pruned by the squared error.

    Parameters
    ----------
    ccp_alpha : float, default=0.0
        Decrease of the squared error per leaf, as a share of the variance, below which a branch is pruned; controls
        sparsity. With 1 or more only the root is left, which uses no feature.
    loss : {"absolute", "squared"}, default="absolute"
        Whether a leaf predicts its median or its mean.
    min_samples_leaf : int, default=5
    random_state : int, RandomState or None, default=None
        Decides between equally good splits.

    Attributes
    ----------
    estimator_ : sklearn.tree.DecisionTreeRegressor, for scaled columns as in ``CARTClassifier``
    leaf_values_ : ndarray of shape (n_nodes,), NaN for nodes that are no leaves
    n_features_in_ : int

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees, chapter 8.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from baselines import CARTRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CARTRegressor(ccp_alpha=0.02, random_state=0).fit(X, y)
    >>> bool(model.features_used(X).sum(axis=1).max() <= 3), bool(model.score(X, y) > 0.4)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "loss": [StrOptions(set(LOSSES))],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, ccp_alpha: float = 0.0, *, loss: str = "absolute", min_samples_leaf: int = 5, random_state: Any = None
    ) -> None:
        self.ccp_alpha = ccp_alpha
        self.loss = loss
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def _make_tree(self, ccp_alpha: float) -> DecisionTreeRegressor:
        return DecisionTreeRegressor(
            ccp_alpha=ccp_alpha, min_samples_leaf=self.min_samples_leaf, random_state=self.random_state
        )

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit on ``X`` (n_samples, n_features) and numbers ``y`` (n_samples,), finite; ValueError for other tables."""
        table, numbers = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        numbers = np.asarray(numbers, np.float64)
        self.scaling_ = tree_scaling(table)
        Z = without_repeated(for_trees(self.scaling_, table))  # so that a tree does not split on a column and its copy
        self.estimator_: Any = self._make_tree(self.ccp_alpha).fit(Z, _unit_variance(numbers))
        leaf = self.estimator_.apply(Z)
        self.leaf_values_ = np.full(self.estimator_.tree_.node_count, np.nan)
        for node in np.unique(leaf):
            self.leaf_values_[node] = constant_of(self.loss, numbers[leaf == node])
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the number of each row, float64 (n_samples,)."""
        return self.leaf_values_[self.estimator_.apply(self._validate_table(X))]

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, float]]:
        """Return at most ``n_settings`` values of ``ccp_alpha``, from only the root to the full tree."""
        table, numbers = check_X_y(X, y, dtype=np.float64, y_numeric=True)
        Z = without_repeated(for_trees(tree_scaling(table), table))
        path = self._make_tree(0.0).cost_complexity_pruning_path(Z, _unit_variance(numbers))
        return pruning_settings(path.ccp_alphas, n_settings)


def _unit_variance(y: NDArray[np.float64]) -> NDArray[np.float64]:
    return (y - y.mean()) / (y.std() or 1.0)
