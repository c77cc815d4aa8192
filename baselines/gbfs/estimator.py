"""Gradient boosted feature selection as a classifier and as a regressor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone

from baselines.base import DecisionMixin, SettingsPathMixin, check_X_y, class_codes, probabilities
from baselines.gbfs.losses import Logistic, Loss, Softmax, Squared
from baselines.gbfs.model import GBFSModel, boost_each
from fsgym.sklearn_private import checks_parameters
from fsgym.support.checks import check_n_jobs

MAX_TARGET = 1e100  # in absolute value; sums of squares of larger targets overflow


class GBFSClassifier(DecisionMixin, SettingsPathMixin, ClassifierMixin, GBFSModel):
    """Boosted trees that pay for a feature once, when a tree first splits on it (buys it).

    Trees are fitted to the negative gradients g_i of the logistic loss, one tree per class for three classes or more.
    The net gain of a split on feature f is half of the decrease of sum_i w_i (g_i - tree)^2, minus ``mu c_f phi_f``.
    Here c_f is the cost of the feature, and phi_f is 1 until f is bought, then 0. The best split of all open leaves is
    made first; the tree is finished when no split has a positive net gain. Features are selected while the model is
    trained, so that no second fit is needed. Prediction never reads a feature that was not bought.

    Parameters
    ----------
    mu : float, default=None
        Exchange rate between cost and loss: the price of a unit of cost, in units of the summed loss. Twice as many
        rows need twice the ``mu``. None: use ``mu_rel``.
    mu_rel : float, default=0.03125
        ``mu`` as a share of ``mu_max_``, the smallest ``mu`` at which no feature is bought; controls sparsity. Ignored
        if ``mu`` is given.
    n_iter : int, default=2000
        Maximum number of iterations. Gradient steps converge slowly: with few iterations raise ``learning_rate``.
    learning_rate : float, default=0.1
    max_depth : int, default=3
        Maximum number of splits on a path; 3 allows 8 leaves.
    min_samples_leaf : int, default=1
        Minimum number of training rows in a leaf. Use 5 to 20 for thousands of rows: otherwise splits at the ends of a
        feature's range fit noise.
    max_bin : int, default=255
        Maximum number of bins of a feature; features with fewer distinct values keep all of them.
    step : {"gradient", "newton"}, default="gradient"
        "newton" divides by second derivatives instead of weights, which is not in the paper. ``mu`` is then not
        comparable, since steps are at least four times as long.
    init : {"prior", "zero"}, default="prior"
        Initial scores: the best constants, or zero as in the paper.
    rule : {"gain", "force_first"}, default="gain"
        "gain" is eq. 14. "force_first" makes the first split of the model even if its net gain is negative.
    phi_update : {"split", "tree"}, default="split"
        "split" updates phi after each split, as in eq. 14. "tree" updates it after each iteration, so that within a
        tree each node that splits on a new feature pays for it again.
    feature_costs : array-like of shape (n_features,) or mapping name -> cost, default=None
        c; None is 1 for each feature.
    bags : array-like of shape (n_features,), default=None
        A label for each feature. As soon as one feature of a bag is bought, the others of the bag are free.
    neighbour_discount : array-like of shape (n_features, n_features), default=None
        ``[u, f]`` in [0, 1]: the share of its cost that f still has after u is bought; 1 is no discount.
    phi : callable, default=None
        Function of which features are bought, bool (n_features,), that returns shares of the costs in [0, 1],
        (n_features,): 0 for bought features, and never increasing. At most one of ``bags``, ``neighbour_discount`` and
        ``phi`` may be given.
    validation_fraction : float, default=0.2
        Share of the rows of each class that is held out; the number of iterations has the smallest loss on these rows.
        With None, or with fewer than 200 rows, all ``n_iter`` iterations are used.
    early_stopping : int, default=200
        Number of iterations without a better validation loss after which training stops; None never stops early.
    n_jobs : int, default=None
        Number of threads: None is 1, -1 is one per core. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Choice of the held-out rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_features,), bool
        The features bought in iterations 1 to ``best_iteration_``; later trees are dropped.
    selected_features_ : ndarray of str
        Their names.
    purchase_log_ : list of Purchase
        In order of purchase: feature, iteration, output, node, price, net.
    n_features_path_ : ndarray of shape (n_iterations,), int64
        Number of features bought after each iteration.
    feature_costs_ : ndarray of shape (n_features,), float64
    total_cost_ : float
        Sum of the costs of the selected features.
    phi_ : ndarray of shape (n_features,), float64
        phi after all selected features are bought.
    mu_, mu_max_ : float
        With ``mu >= mu_max_`` and without free features the model is the constant ``init_``.
    init_ : ndarray of shape (n_outputs,), float64
    best_iteration_ : int
    train_loss_, validation_loss_ : ndarray of shape (n_iterations,), float64
        Weighted mean loss after each iteration; the second is empty without held-out rows.
    trees_ : fsgym.trees.Forest
        The trees up to ``best_iteration_``, already shrunk; those of an iteration are in the order of the classes.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    ``transform`` returns the selected columns. Training needs one byte per value, about 60 bytes per row, and 16 bytes
    per bin and open leaf. In our runs, an iteration was faster than LightGBM's on dense tables
    (``benchmarks/gbfs.py``), and two to three times slower on one-hot codes. 1000 iterations of depth 3 on KDD Cup 1999
    (10 %; four fifths of its 494,021 rows, 120 columns) took 22 seconds on one core; the process needed 1.4 GiB,
    including reading the data (``benchmarks/gbfs_kddcup.py``).

    The algorithm of section 2 of the paper is ``step="gradient"``, ``init="zero"``, ``rule="gain"`` and
    ``phi_update="split"``; the other values are variants of it.

    The selected features along a path of ``mu`` are not nested. If no single feature is informative, as for a pure
    exclusive or, no feature is bought.

    References
    ----------
    Xu, Huang, Weinberger and Zheng (2014), Gradient boosted feature selection, section 2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import GBFSClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GBFSClassifier(mu_rel=0.03, n_iter=100, random_state=0).fit(X, y)
    >>> model.selected_features_.size, bool(model.score(X, y) > 0.95)
    (3, True)
    """

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> GBFSClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, dense or sparse, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for costs, bags or discounts that do not match the features, for
        values that are not finite, for negative weights, and for fewer than two classes.
        """
        self._boost(*self._prepare(X, y, sample_weight, numeric=False))
        return self

    def _targets(self, y: NDArray) -> tuple[NDArray, dict[str, Any]]:
        classes, codes = class_codes(y)
        return codes, {"classes_": classes}

    def _loss(self, y: NDArray, weights: NDArray[np.float64] | None, fitted: dict[str, Any]) -> Loss:
        n_classes = len(fitted["classes_"])
        return Logistic(y, weights) if n_classes == 2 else Softmax(y, weights, n_classes)

    def _strata(self, y: NDArray) -> NDArray[np.int64]:
        return y

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return scores: (n_samples,) log-odds of the second of two classes; otherwise (n_samples, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def staged_decision_function(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """Yield scores after each iteration up to the best, in the shape of ``decision_function``."""
        for scores in self._staged_scores(X):
            yield scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities, (n_samples, n_classes)."""
        return probabilities(self._scores(X))

    def _fit_along(self, models: list[Any], X: ArrayLike, y: ArrayLike, changed: set[str]) -> None:
        """Bin the table only once for copies that differ only in ``mu`` or ``mu_rel``."""
        if models and changed <= {"mu", "mu_rel"}:
            boost_each(models, clone(self), X, y)
        else:
            super()._fit_along(models, X, y, changed)

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, Any]]:
        """Return settings of ``mu_rel``: 1, at which no feature is bought, then halves, and 0: all features free."""
        labels = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])[1]
        class_codes(labels)
        own: dict[str, Any] = {} if self.mu is None else {"mu": None}  # which would go before mu_rel
        return [own | {"mu_rel": v} for v in (*(0.5**k for k in range(n_settings - 1)), 0.0)]


class GBFSRegressor(RegressorMixin, GBFSModel):
    """Boosted regression trees that pay for a feature once; squared loss, otherwise as ``GBFSClassifier``.

    Parameters
    ----------
    mu, mu_rel, n_iter, learning_rate, max_depth, min_samples_leaf, max_bin, step, init, rule, phi_update, feature_costs
    bags, neighbour_discount, phi, validation_fraction, early_stopping, n_jobs, random_state
        As in ``GBFSClassifier``. Targets multiplied by a need ``mu`` multiplied by a^2.

    Attributes
    ----------
    support_, selected_features_, purchase_log_, n_features_path_, feature_costs_, total_cost_, phi_, mu_, mu_max_
    init_, best_iteration_, train_loss_, validation_loss_, trees_, n_features_in_, feature_names_in_
        As in ``GBFSClassifier``.

    References
    ----------
    Xu, Huang, Weinberger and Zheng (2014), Gradient boosted feature selection, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines import GBFSRegressor
    >>> X = np.array([[7, 6, 0], [0, 7, 1], [5, 1, 5], [1, 0, 3], [2, 3, 4], [4, 2, 6], [3, 5, 7], [6, 4, 2]])
    >>> y = [2, 2, 2, 8, 9, 6, 0, 1]
    >>> model = GBFSRegressor(mu=10, n_iter=1, max_depth=2, init="zero").fit(X, y)
    >>> model.mu_max_, model.selected_features_.tolist(), (30 * model.predict(X)).round(9).tolist()
    (25.0, ['x1'], [6.0, 6.0, 16.0, 16.0, 27.0, 16.0, 1.5, 1.5])
    """

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> GBFSRegressor:
        """Fit on ``X`` (n_samples, n_features), finite numbers, dense or sparse, and targets ``y`` (n_samples,).

        Raises ValueError as ``GBFSClassifier.fit`` does, and for targets above 1e100 in absolute value.
        """
        self._boost(*self._prepare(X, y, sample_weight, numeric=True))
        return self

    def _targets(self, y: NDArray) -> tuple[NDArray, dict[str, Any]]:
        targets = np.asarray(y, dtype=np.float64)
        if np.abs(targets).max() > MAX_TARGET:
            raise ValueError(
                f"y must not exceed {MAX_TARGET:g} in absolute value, got {np.abs(targets).max():g}; scale the targets"
            )
        return targets, {}

    def _loss(self, y: NDArray, weights: NDArray[np.float64] | None, fitted: dict[str, Any]) -> Loss:
        return Squared(y, weights)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the targets, (n_samples,)."""
        return self._scores(X)[:, 0]

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """Yield the predicted targets after each iteration up to the best."""
        for scores in self._staged_scores(X):
            yield scores[:, 0]


# A path of mu: many fits on the same bins.

DEFAULT_MU_RELS = tuple(0.5**k for k in range(1, 11))  # shares of mu_max_: 1/2, 1/4, ..., 1/1024


def gbfs_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    mus: ArrayLike | None = None,
    mu_rel: ArrayLike = DEFAULT_MU_RELS,
    estimator: Any = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> list[Any]:
    """Fit one estimator at many ``mu``, with the same bins and the same held-out rows.

    ``GBFSClassifier.path`` does the same for a list of settings; this function also fits a regressor, takes weights of
    the rows and uses several threads.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    mus : sequence of float, default=None
        Values of ``mu``; None: use ``mu_rel``.
    mu_rel : sequence of float, default=1/2, 1/4, ..., 1/1024
        Values of ``mu`` as shares of ``mu_max_``.
    estimator : GBFSClassifier or GBFSRegressor, default=None
        The other parameters of all fits; None is ``GBFSClassifier()``. The estimator is not changed.
    sample_weight : array-like of shape (n_samples,), default=None
    n_jobs : int, default=None
        Number of fits at a time, in threads; the result does not depend on it. Each fit uses ``estimator.n_jobs``
        threads.

    Returns
    -------
    list of fitted estimators
        In the order of ``mus`` or ``mu_rel``. Their selected features are not nested in general.

    Raises
    ------
    ValueError, TypeError
        As ``fit`` does, and if ``estimator`` is neither of the two.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import GBFSClassifier, gbfs_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = gbfs_path(X, y, mu_rel=[1.0, 0.5, 0.1], estimator=GBFSClassifier(n_iter=20, random_state=0))
    >>> [m.selected_features_.tolist() for m in models][:2]
    [[], ['x22']]
    """
    check_n_jobs(n_jobs)
    base = GBFSClassifier() if estimator is None else estimator
    if not isinstance(base, GBFSModel):
        raise TypeError(f"estimator must be a GBFSClassifier or a GBFSRegressor, got {type(base).__name__}")
    settings = [{"mu": None, "mu_rel": v} for v in mu_rel] if mus is None else [{"mu": v} for v in mus]  # type: ignore
    models = [clone(base).set_params(**setting) for setting in settings]
    boost_each(models, clone(base), X, y, sample_weight, n_jobs)
    return models
