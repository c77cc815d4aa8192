"""Cost-efficient gradient boosting: LightGBM's trees with a price for each value that a row needs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from baselines.lightgbm_trees import engine, trees_of
from baselines.linear import class_codes, probabilities, validate_data
from fsgym.rules import Rules
from fsgym.threads import n_threads
from fsgym.trees import Forest, Tree

_ENDLESS = 1e30  # a penalty that nothing is worth


class CEGBClassifier(ClassifierMixin, BaseEstimator):
    """Boosted trees whose splits must be worth the values that they need; a row uses what its paths ask for.

    LightGBM takes a penalty off the gain of a split: for each row of the leaf that has not met the feature before, in
    any tree, what the value costs (``penalty="lazy"``); or once a model what it costs all rows (``"coupled"``). The
    number of trees is chosen by cross-validation, by the mean loss: cost of errors plus price of what was acquired.

    Parameters
    ----------
    lam : float, default=0.01
        Price of one unit of ``costs``, in units of ``error_costs``; the knob of sparsity.
    penalty : {"lazy", "coupled"}, default="lazy"
        "lazy" knows rows: different rows may use different features. "coupled" selects features.
    costs : array-like of shape (n_acquisitions,) or mapping name -> price, default=None
        Price of each acquisition; one each by default. Names are the columns', or ``x0, x1, ...``.
    error_costs : array-like of shape (n_classes, n_classes), default=None
        ``error_costs[answer, truth]``, classes in sorted order; 1 for a wrong answer by default. The answer is the
        one that costs least by the predicted probabilities.
    groups : lists of column indices, or one group number a column, default=None
        What each acquisition reveals; a column each by default. LightGBM knows no groups: each column of a group that
        a row meets costs the group's price in training. The choice of the number of trees, and "coupled" from one
        tree to the next, count it once.
    n_estimators : int, default=100
        Most iterations.
    learning_rate : float, default=0.1
    max_depth : int, default=4
        Splits on a path.
    min_samples_leaf : int, default=5
    max_bin : int, default=255
    cv : int, default=5
        Folds that choose the number of iterations; None keeps all.
    n_jobs : int, default=None
        Threads, as in scikit-learn: None is 1, -1 one a core.
    random_state : int, RandomState or None, default=None
        Decides the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    rules_ : fsgym.Rules
    penalty_ : ndarray of shape (n_features,), float64
        What LightGBM is given, in units of its gain, for a row (lazy) or a model (coupled).
    trees_ : fsgym.trees.Forest
        The trees, an iteration's in class order; LightGBM is not needed to use them.
    init_ : ndarray of shape (n_outputs,), float64
        Where scores begin: logarithms of the classes' odds or shares.
    n_iter_ : int
        Iterations kept; 0 answers without any feature.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), where ``X`` had names

    Notes
    -----
    Gains are twice what a split takes off the summed log loss, to second order. To compare that with costs of errors,
    a unit of cost is as many nats as knowing nothing costs: the entropy of the classes, divided by what the best
    constant answer costs. So the penalty of a value is ``2 lam costs entropy / cost of the best constant answer``.

    With "coupled" LightGBM 4.7 refunds the price of a feature twice to the leaves that are open when it is first
    used, which favours that feature there. "lazy" is exact, and needs fewer than 2^31 values.

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
        "lam": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions({"lazy", "coupled"})],
        "costs": [None, "array-like", Interval(Real, 0, None, closed="left"), HasMethods("keys")],
        "error_costs": [None, "array-like"],
        "groups": [None, "array-like", list],
        "n_estimators": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_bin": [Interval(Integral, 2, 65535, closed="both")],
        "cv": [None, Interval(Integral, 2, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> CEGBClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ImportError where LightGBM is not installed; ValueError or TypeError for a parameter out of range, for
        prices or groups that do not fit, for bad tables, and for fewer than two classes.
        """
        engine()
        table, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes = class_codes(labels)
        self.rules_ = self._rules(table.shape[1])
        if self.penalty == "lazy" and table.size >= 2**31:
            raise ValueError(
                f"penalty='lazy' needs fewer than 2^31 values, got {table.size}; use 'coupled', or fewer rows"
            )
        self.n_iter_ = self.n_estimators
        folds = min(self.cv or 0, len(codes) // 2)
        if folds > 1 and self.n_estimators:
            self.n_iter_ = self._choose(table, codes, folds)
        self.init_, self.penalty_, self.trees_ = self._train(table, codes, self.n_iter_)
        self.n_iter_ = self.trees_.n_trees // len(self.init_)
        return self

    def _rules(self, n_features: int) -> Rules:
        names = None
        if self.groups is None:
            names = [str(v) for v in getattr(self, "feature_names_in_", [f"x{j}" for j in range(n_features)])]
        return Rules(
            n_features,
            len(self.classes_),
            lam=self.lam,
            costs=self.costs,
            groups=self.groups,
            error_costs=self.error_costs,
            names=names,
        )

    def _choose(self, X: NDArray[np.float64], codes: NDArray[np.int64], folds: int) -> int:
        """The number of iterations with the least mean loss on rows that were left out."""
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
        """Summed loss after 0, 1, ... iterations, (n_estimators + 1,); where there are fewer, that of the last."""
        rules, scores, used = self.rules_, np.tile(init, (len(X), 1)), np.zeros(X.shape, dtype=bool)
        losses = []
        for first in range(0, trees.n_trees + 1, len(init)):
            prices = self.lam * (rules.acquisitions_of(used) @ rules.costs)
            answers = self._answers(probabilities(scores))
            losses.append(float((rules.error_costs[answers, codes] + prices).sum()))
            if first < trees.n_trees:
                trees.add_to(scores, X, first, first + len(init))
                trees.mark(used, X, first, first + len(init))
        return np.array(losses + losses[-1:] * (self.n_estimators + 1 - len(losses)))

    def _train(self, X: NDArray, codes: NDArray, n_iter: int) -> tuple[NDArray, NDArray, Forest]:
        """Scores of knowing nothing, LightGBM's penalties and its trees."""
        lightgbm, n_classes = engine(), len(self.classes_)
        shares = np.maximum(np.bincount(codes, minlength=n_classes) / len(codes), 0.5 / len(codes))
        init = np.log(shares) if n_classes > 2 else np.array([np.log(shares[1] / shares[0])])
        penalties = self._penalties(shares) * (len(codes) if self.penalty == "coupled" else 1)
        options = {
            "objective": "multiclass" if n_classes > 2 else "binary",
            "num_class": n_classes if n_classes > 2 else 1,
            "learning_rate": self.learning_rate,
            "num_leaves": 2**self.max_depth,
            "max_depth": self.max_depth,
            "min_data_in_leaf": self.min_samples_leaf,
            "max_bin": self.max_bin,
            "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": 1e-3,
            "feature_pre_filter": False,
            "boost_from_average": False,
            f"cegb_penalty_feature_{self.penalty}": penalties.tolist(),
            "num_threads": n_threads(self.n_jobs),
            "deterministic": True,
            "force_col_wise": True,
            "verbose": -1,
        }
        data = lightgbm.Dataset(X, codes, init_score=np.tile(init, (len(X), 1)).squeeze(), params=options)
        booster = lightgbm.Booster(options, data)
        trees: list[Tree] = []
        for _ in range(n_iter):
            if booster.update():  # nothing is worth its price any more
                break
            made = trees_of(booster, booster.current_iteration() - 1)
            trees += made
            if self.penalty == "coupled" and self.groups is not None:
                self._share(booster, penalties, made)
        return init, penalties, Forest.of(trees)

    def _penalties(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The price of a value of each column in units of LightGBM's gain, (n_features,)."""
        rules = self.rules_
        regret = rules.error_costs - rules.error_costs.min(axis=0)
        unknown = float((regret @ shares).min())
        nats = -float(shares @ np.log(shares)) / unknown if unknown > 0 else np.inf
        prices = np.empty(rules.n_features)
        for group, cost in zip(rules.groups, rules.costs):
            prices[list(group)] = rules.lam * cost
        return np.minimum(np.where(prices > 0, 2.0 * nats, 0.0) * np.where(prices > 0, prices, 1.0), _ENDLESS)

    def _share(self, booster: Any, penalties: NDArray[np.float64], made: list[Tree]) -> None:
        """Columns of a group of which one was bought cost nothing from the next tree on."""
        bought = {int(f) for tree in made for f in tree.feature if f >= 0}
        for group in self.rules_.groups:
            if bought.intersection(group):
                penalties[list(group)] = 0.0
        booster.reset_parameter({"cegb_penalty_feature_coupled": penalties.tolist()})

    def _table(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "trees_")
        return validate_data(self, X, reset=False, dtype=np.float64)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes, (n_samples, n_classes)."""
        table = self._table(X)
        scores = np.tile(self.init_, (len(table), 1))
        self.trees_.add_to(scores, table)
        return probabilities(scores)

    def _answers(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        return (shares @ self.rules_.error_costs.T).argmin(axis=1)

    def predict(self, X: ArrayLike) -> NDArray:
        """The answer that is expected to cost least, (n_samples,); ties go to the first class."""
        shares = self.predict_proba(X)
        return self.classes_[self._answers(shares)]

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns the trees ask for on each row's paths, bool (n_samples, n_features)."""
        return self.trees_.used(self._table(X))
