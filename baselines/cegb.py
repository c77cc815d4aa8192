"""Cost-efficient gradient boosting: LightGBM's trees with a price for each feature value that a row needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from baselines.base import class_codes, probabilities, rules_of, validate_data
from baselines.tree_steps import AskedTrees, TreeAskingMixin
from fsgym.rules import Rules
from fsgym.rules.rules import cheapest_answers, regrets
from fsgym.sklearn_private import HasMethods, Interval, StrOptions, checks_parameters
from fsgym.support.extras import require
from fsgym.support.threads import n_threads
from fsgym.trees import Forest, Tree
from fsgym.trees.tree import NODE_DTYPES

# Import of LightGBM on demand, and conversion of its trees to arrays, which are used without LightGBM.


def import_lightgbm() -> Any:
    """Import and return LightGBM; raises ImportError with the command to install it if it is missing."""
    require("cegb", "CEGBClassifier")
    import lightgbm

    return lightgbm


def power_of_two_scales(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a power of two for each column of ``X``, finite numbers, by which its magnitudes become at most 1.

    LightGBM takes values between -1e-35 and 1e-35 as 0, and thresholds beyond 1e300 as 1e300. Scaled columns are the
    same in any unit that is a power of two of another.
    """
    exponents = np.frexp(np.abs(X).max(axis=0, initial=0.0))[1].clip(-1000, 1000)
    return 2.0 ** -exponents.astype(np.float64)


def trees_of(booster: Any, iteration: int, scale: NDArray[np.float64]) -> list[Tree]:
    """Return the trees of one iteration of a LightGBM model without missing values and categories.

    ``scale`` (n_features,) holds the factors by which the columns were multiplied; the thresholds returned are those of
    the columns before.
    """
    trees = booster.dump_model(num_iteration=1, start_iteration=iteration)["tree_info"]
    return [_tree_from_dump(tree["tree_structure"], scale) for tree in trees]


def grown(booster: Any, n_iter: int, scale: NDArray[np.float64]) -> Iterator[list[Tree]]:
    """Train at most ``n_iter`` iterations of a LightGBM model, and return the trees of each; ``scale`` as there."""
    for _ in range(n_iter):
        if booster.update():  # no split is worth its price any more
            return
        yield trees_of(booster, booster.current_iteration() - 1, scale)


def growing_options(model: Any) -> dict[str, Any]:
    """Options of LightGBM, those of a model's trees and of a training that gives the same bytes each time."""
    return {
        "learning_rate": model.learning_rate,
        "num_leaves": 2**model.max_depth,
        "max_depth": model.max_depth,
        "min_data_in_leaf": model.min_samples_leaf,
        "min_data_in_bin": 1,
        "min_sum_hessian_in_leaf": 1e-3,
        "feature_pre_filter": False,
        "boost_from_average": False,
        "num_threads": n_threads(model.n_jobs),
        "deterministic": True,
        "force_col_wise": True,
        "verbose": -1,
    }


def summed_losses(
    init: ArrayLike, trees: Forest, X: NDArray, rules: Rules, errors: Callable[[NDArray], NDArray], n_iter: int
) -> NDArray[np.float64]:
    """The summed loss of rows ``X`` after 0, 1, ... iterations of as many trees as ``init`` has scores, (n_iter + 1,).

    ``errors`` gives the errors (n_samples,) of scores (n_samples, n_scores), to which the prices are added. If training
    stopped early, the last loss is repeated.
    """
    scores, used, losses = np.tile(np.asarray(init, np.float64), (len(X), 1)), np.zeros(X.shape, dtype=bool), []
    n_scores = scores.shape[1]
    for first in range(0, trees.n_trees + 1, n_scores):
        prices = rules.lam * (rules.acquisitions_of(used) @ rules.costs)
        losses.append(float((errors(scores) + prices).sum()))
        if first < trees.n_trees:
            trees.add_to(scores, X, first, first + n_scores)
            trees.mark(used, X, first, first + n_scores)
    return np.array(losses + losses[-1:] * (n_iter + 1 - len(losses)))


def _tree_from_dump(root: dict[str, Any], scale: NDArray[np.float64]) -> Tree:
    """Return the nodes of a dumped tree, breadth first, as arrays."""
    nodes: list[tuple] = []
    queue = [(root, -1, 0)]
    while queue:
        node, parent, side = queue.pop(0)
        if parent >= 0:
            nodes[parent] = (*nodes[parent][: 3 + side], len(nodes), *nodes[parent][4 + side :])
        if "split_feature" in node:
            queue += [(node["left_child"], len(nodes), 0), (node["right_child"], len(nodes), 1)]
            feature = node["split_feature"]
            nodes.append((feature, node["threshold"] / scale[feature], -1, -1, -1, node["internal_value"]))
        else:
            nodes.append((-1, 0.0, -1, -1, -1, node["leaf_value"]))
    arrays: Any = [np.array(column, dtype=kind) for column, kind in zip(zip(*nodes), NODE_DTYPES)]
    return Tree(*arrays)


MAX_PENALTY = 1e30  # in units of LightGBM's gain, which no split reaches


class CostEfficientMixin:
    """Parameters, and the columns that each row uses, of boosted trees with feature costs."""

    trees_: Forest
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "costs": [None, "array-like", Interval(Real, 0, None, closed="left"), HasMethods("keys")],
        "groups": [None, "array-like", list, HasMethods("keys")],
        "n_estimators": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "cv": [None, Interval(Integral, 2, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "trees_")
        return validate_data(self, X, reset=False, dtype=np.float64)

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns are on each row's paths, bool (n_samples, n_features)."""
        return self.trees_.used(self._validate_table(X))


class CEGBClassifier(CostEfficientMixin, TreeAskingMixin, ClassifierMixin, BaseEstimator):
    """Boosted trees that subtract feature costs from the gain of a split; a row uses the features on its paths.

    LightGBM subtracts a penalty from the gain of a split. With ``penalty="lazy"``, it is the price of the value for
    each row of the leaf that has not used the feature before, in any tree. With ``"coupled"``, it is the price for all
    rows, once per model. The number of trees is chosen by cross-validation of the mean loss: the cost of errors plus
    the price of the acquired features.

    Parameters
    ----------
    lam : float, default=0.01
        Exchange rate between cost and errors: the price of one unit of ``costs``, in units of ``error_costs``. Controls
        sparsity.
    penalty : {"lazy", "coupled"}, default="lazy"
        With "lazy", different rows may use different features. "coupled" selects features for all rows.
    costs : array-like of shape (n_acquisitions,) or mapping name -> price, default=None
        Price of each acquisition; 1 each by default. The names are those of the columns, or ``x0, x1, ...``.
    error_costs : array-like of shape (n_classes, n_classes), or mapping answer -> true class -> cost, default=None
        ``error_costs[prediction, true_class]``, classes in sorted order; 1 for each wrong prediction by default. The
        class of the smallest expected cost is predicted.
    groups : lists of column indices, one group number per column, or mapping name -> names of columns, default=None
        The columns that each acquisition reveals; one column each by default. LightGBM has no groups: in training, a
        row pays the price of the group for each of its columns. The price is counted once when the number of trees is
        chosen, and with "coupled" from one tree to the next.
    n_estimators : int, default=100
        Maximum number of iterations.
    learning_rate : float, default=0.1
    max_depth : int, default=4
        Maximum number of splits on a path.
    min_samples_leaf : int, default=5
    max_bin : int, default=255
    cv : int, default=5
        Folds that choose the number of iterations; None uses all ``n_estimators``.
    n_jobs : int, default=None
        Number of threads, as in scikit-learn: None is 1, -1 is one per core.
    random_state : int, RandomState or None, default=None
        Assignment of the rows to folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    rules_ : fsgym.Rules
    penalty_ : ndarray of shape (n_features,), float64
        The penalties passed to LightGBM, in units of its gain, per row (lazy) or per model (coupled).
    trees_ : fsgym.trees.Forest
        The trees, those of an iteration in the order of the classes; predictions do not need LightGBM.
    init_ : ndarray of shape (n_outputs,), float64
        Initial scores: log-odds of two classes, or logarithms of the class shares.
    n_iter_ : int
        Number of iterations used; with 0, no feature is used.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    LightGBM's gain is twice the decrease of the summed log loss, to second order. To convert costs to nats, a unit of
    cost is worth the entropy of the classes divided by the mean cost of the best constant prediction: without any
    feature, both losses are then the same. The penalty of a value is therefore
    ``2 lam costs entropy / cost of the best constant prediction``.

    With "coupled", LightGBM 4.7 refunds the price of a feature twice to the leaves that are open when it is first used,
    which favours that feature there. "lazy" is exact, but needs fewer than 2^31 values.

    References
    ----------
    Peter, Diego, Hamprecht and Nadler (2017), Cost efficient gradient boosting. Ke, Meng, Finley, Wang, Chen, Ma, Ye
    and Liu (2017), LightGBM: a highly efficient gradient boosting decision tree.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import CEGBClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CEGBClassifier(lam=0.02, random_state=0).fit(X, y)
    >>> bool(model.features_used(X).sum(axis=1).mean() < 4), bool(model.score(X, y) > 0.93)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostEfficientMixin._parameter_constraints,
        "penalty": [StrOptions({"lazy", "coupled"})],
        "error_costs": [None, "array-like", HasMethods("keys")],
        "max_bin": [Interval(Integral, 2, 65535, closed="both")],
    }

    def __init__(
        self,
        lam: float = 0.01,
        *,
        penalty: str = "lazy",
        costs: Any = None,
        error_costs: Any = None,
        groups: Any = None,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: int = 5,
        max_bin: int = 255,
        cv: int | None = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.penalty = penalty
        self.costs = costs
        self.error_costs = error_costs
        self.groups = groups
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bin = max_bin
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> CEGBClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ImportError if LightGBM is not installed; ValueError or TypeError for a parameter out of range, for costs
        or groups that do not match the features, for invalid tables, and for fewer than two classes.
        """
        import_lightgbm()
        table, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = class_codes(labels)
        self.rules_ = rules_of(
            self,
            len(self.classes_),
            lam=self.lam,
            costs=self.costs,
            groups=self.groups,
            error_costs=self.error_costs,
            classes=self.classes_.tolist(),
        )
        if self.penalty == "lazy" and table.size >= 2**31:
            raise ValueError(
                f"penalty='lazy' needs fewer than 2^31 values in X, got {table.size}; use 'coupled' or fewer rows"
            )
        self.n_iter_ = self.n_estimators
        folds = min(self.cv or 0, len(codes) // 2)
        if folds > 1 and self.n_estimators:
            self.n_iter_ = self._choose_n_iter(table, codes, folds)
        self.init_, self.penalty_, self.trees_ = self._train(table, codes, self.n_iter_)
        self.n_iter_ = self.trees_.n_trees // len(self.init_)
        self.value_ranges_ = np.stack([table.min(axis=0), table.max(axis=0)])
        return self

    def _choose_n_iter(self, X: NDArray[np.float64], codes: NDArray[np.int64], folds: int) -> int:
        """Return the number of iterations with the smallest mean loss on the held-out folds."""
        generator, fold = check_random_state(self.random_state), np.empty(len(codes), dtype=np.int64)
        for k in range(len(self.classes_)):
            rows = generator.permutation(np.flatnonzero(codes == k))
            fold[rows] = (np.arange(len(rows)) + generator.randint(folds)) % folds
        losses = np.zeros(self.n_estimators + 1)
        for k in range(folds):
            out = fold == k
            if out.any():
                init, _, trees = self._train(X[~out], codes[~out], self.n_estimators)
                losses += self._losses(init, trees, X[out], codes[out])
        return int(losses.argmin())

    def _losses(self, init: NDArray, trees: Forest, X: NDArray, codes: NDArray) -> NDArray[np.float64]:
        """Return the summed loss after 0, 1, ... iterations, (n_estimators + 1,)."""

        def costs(scores: NDArray) -> NDArray:
            return self.rules_.error_costs[cheapest_answers(probabilities(scores), self.rules_.error_costs), codes]

        return summed_losses(init, trees, X, self.rules_, costs, self.n_estimators)

    def _train(self, X: NDArray, codes: NDArray, n_iter: int) -> tuple[NDArray, NDArray, Forest]:
        """Return the initial scores, LightGBM's penalties and its trees."""
        lightgbm, n_classes = import_lightgbm(), len(self.classes_)
        shares = np.maximum(np.bincount(codes, minlength=n_classes) / len(codes), 0.5 / len(codes))
        init = np.log(shares) if n_classes > 2 else np.array([np.log(shares[1] / shares[0])])
        penalties = self._penalties(shares) * (len(codes) if self.penalty == "coupled" else 1)
        options = {
            "objective": "multiclass" if n_classes > 2 else "binary",
            "num_class": n_classes if n_classes > 2 else 1,
            "max_bin": self.max_bin,
            f"cegb_penalty_feature_{self.penalty}": penalties.tolist(),
            **growing_options(self),
        }
        scale = power_of_two_scales(X)
        data = lightgbm.Dataset(X * scale, codes, init_score=np.tile(init, (len(X), 1)).squeeze(), params=options)
        booster = lightgbm.Booster(options, data)
        trees: list[Tree] = []
        for new_trees in grown(booster, n_iter, scale):
            trees += new_trees
            if self.penalty == "coupled" and self.groups is not None:
                self._free_used_groups(booster, penalties, new_trees)
        return init, penalties, Forest.of(trees)

    def _penalties(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the price of a value of each column in units of LightGBM's gain, (n_features,)."""
        rules = self.rules_
        regret = regrets(rules.error_costs)
        constant_cost = float((regret @ shares).min())  # mean cost of the best constant prediction
        nats = -float(shares @ np.log(shares)) / constant_cost if constant_cost > 0 else np.inf
        prices = rules.lam * rules.costs[rules.acquisition_of_features]
        return np.minimum(np.where(prices > 0, 2.0 * nats, 0.0) * np.where(prices > 0, prices, 1.0), MAX_PENALTY)

    def _free_used_groups(self, booster: Any, penalties: NDArray[np.float64], new_trees: list[Tree]) -> None:
        """Set the penalties of all columns of the groups that the new trees use to 0, from the next tree on."""
        used = {int(f) for tree in new_trees for f in tree.feature if f >= 0}
        for group in self.rules_.groups:
            if used.intersection(group):
                penalties[list(group)] = 0.0
        booster.reset_parameter({"cegb_penalty_feature_coupled": penalties.tolist()})

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities, (n_samples, n_classes)."""
        table = self._validate_table(X)
        scores = np.tile(self.init_, (len(table), 1))
        self.trees_.add_to(scores, table)
        return probabilities(scores)

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the class of the smallest expected cost, (n_samples,); ties go to the first class."""
        probabilities = self.predict_proba(X)  # says that the model is not fitted
        return self.classes_[cheapest_answers(probabilities, self.rules_.error_costs)]

    def _make_asked_rules(self, names: tuple[str, ...]) -> Rules:
        return self.rules_

    def _asked_trees(self) -> AskedTrees:
        trees = self.trees_
        as_zero = trees.threshold >= 0.0  # LightGBM takes NaN as 0 where training had none
        return AskedTrees(trees.feature, trees.threshold, trees.left, trees.right, as_zero, trees.roots[:-1])

    def _tree_shares(self, values: NDArray[np.float64], node: NDArray[np.int64]) -> NDArray[np.float64]:
        scores = np.tile(self.init_, (len(values), 1))
        self.trees_.add_to(scores, np.nan_to_num(values))
        return probabilities(scores)

    def _digest_arrays(self) -> list[NDArray]:
        return [self.init_, self.trees_.value]
