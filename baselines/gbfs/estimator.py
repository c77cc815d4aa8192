"""Gradient boosted feature selection as a classifier and as a regressor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context

from baselines.gbfs.losses import Logistic, Loss, Softmax, Squared
from baselines.gbfs.model import GBFSModel
from baselines.linear import check_X_y, class_codes, predicted_codes, probabilities

LARGEST = 1e100  # squares of larger targets overflow


class GBFSClassifier(ClassifierMixin, GBFSModel):
    """Boosted trees that pay for a feature once, when a tree first splits on it; what was never paid for is never read.

    Trees are fitted to the negative gradients g_i of the logistic loss; of three classes or more a tree each.
    A split on feature f is worth half of what it takes off sum_i w_i (g_i - tree)^2, less ``mu c_f phi_f``: c_f is its
    cost, and phi_f is 1 until f is bought, then 0. The best split of all open leaves comes first, and the tree ends
    where none is worth its price. Everything selected is found while the model is learnt: no second fit is needed.

    Parameters
    ----------
    mu : float, default=None
        What a unit of cost is worth, in units of the summed loss: twice the rows need twice ``mu``. None: ``mu_rel``
        decides.
    mu_rel : float, default=0.03125
        ``mu`` as a share of ``mu_max_``, from which on nothing is bought; the knob of sparsity. Not used where ``mu``
        is given.
    n_iter : int, default=2000
        Most iterations. First-order steps are slow: with few of them raise ``learning_rate``.
    learning_rate : float, default=0.1
    max_depth : int, default=3
        Splits on a path: 3 means at most 8 leaves.
    min_samples_leaf : int, default=1
        Use 5 to 20 where there are thousands of rows: splits at the very end of a feature win on noise.
    max_bin : int, default=255
        Bins of a feature with more values than this.
    step : {"gradient", "newton"}, default="gradient"
        "newton" divides by second derivatives instead of weights, which is not the paper's; ``mu`` then means
        something else, since steps are at least four times as long.
    init : {"prior", "zero"}, default="prior"
        Where scores begin. The paper begins at zero.
    rule : {"gain", "force_first"}, default="gain"
        "force_first" makes the first split of the model even where it is not worth its price.
    phi_update : {"split", "tree"}, default="split"
        "split" lowers prices at once, as eq. 14 says; "tree" after each iteration, so that in one tree each node which
        asks for a new feature pays for it again.
    feature_costs : array-like of shape (n_features,) or mapping name -> cost, default=None
        c; None is one each.
    bags : array-like of shape (n_features,), default=None
        A label for each feature; once a feature of a bag is bought the others of the bag are free.
    neighbour_discount : array-like of shape (n_features, n_features), default=None
        ``[u, f]`` in [0, 1]: the share of its cost that f still has once u is bought; 1 is no discount.
    phi : callable, default=None
        What was bought, bool (n_features,) -> shares of the costs in [0, 1], (n_features,), 0 for what was bought and
        never rising. At most one of ``bags``, ``neighbour_discount`` and ``phi``.
    validation_fraction : float, default=0.2
        Share of the rows of each class that chooses the number of iterations by its loss. None, or fewer than 200
        rows: all ``n_iter`` iterations count.
    early_stopping : int, default=200
        Iterations without a better validation loss after which to stop; None never stops.
    n_jobs : int, default=None
        Threads, None is 1, -1 one a core. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Which rows are held out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    selected_features_ : ndarray of int64, ascending
        What was bought in iterations 1 to ``best_iteration_``; later trees are dropped.
    support_ : ndarray of shape (n_features,), bool
    purchase_log_ : list of Purchase
        In order of purchase: feature, iteration, output, node, price, net.
    n_features_path_ : ndarray of shape (n_iterations,), int64
        Features bought after each iteration.
    feature_costs_ : ndarray of shape (n_features,), float64
    total_cost_ : float
        Sum of the costs of the selected features.
    phi_ : ndarray of shape (n_features,), float64
        phi of the selected features.
    mu_, mu_max_ : float
        With ``mu >= mu_max_`` and no free feature the model is the constant ``init_``.
    init_ : ndarray of shape (n_outputs,), float64
    best_iteration_ : int
    train_loss_, validation_loss_ : ndarray of shape (n_iterations,), float64
        Weighted mean loss after each iteration; the second is empty where nothing was held out.
    trees_ : fsgym.trees.Forest
        The trees up to ``best_iteration_``, an iteration's in class order, already shrunk.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), where ``X`` had names

    Notes
    -----
    ``transform`` gives the selected columns. Memory is a byte a value, some sixty bytes a row and 16 a bin and open
    leaf. An iteration takes less time than LightGBM's on dense tables (``benchmarks/gbfs.py``), and two to three
    times as long on one-hot codes. For 1000 iterations of depth 3 on KDD Cup 1999 (10 %; four fifths of its 494,021
    rows, 120 columns) one core took 22 seconds, and the process 1.4 GiB with the reading of the data
    (``benchmarks/gbfs_kddcup.py``).

    The models of a path of ``mu`` are not nested. Where no feature says anything alone, as in a pure exclusive or,
    nothing is bought.

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

    classes_: NDArray

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> GBFSClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, dense or sparse, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, costs, bags or discounts that do not fit, values that are not
        finite, negative weights, and fewer than two classes.
        """
        self._learn(self._prepare(X, y, sample_weight, numeric=False))
        return self

    def _targets(self, y: NDArray) -> tuple[NDArray, dict[str, Any]]:
        classes, codes = class_codes(y)
        return codes, {"classes_": classes}

    def _loss(self, y: NDArray, weights: NDArray[np.float64] | None, learnt: dict[str, Any]) -> Loss:
        n_classes = len(learnt["classes_"])
        return Logistic(y, weights) if n_classes == 2 else Softmax(y, weights, n_classes)

    def _strata(self, y: NDArray) -> NDArray[np.int64]:
        return y

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Scores: (n_samples,) log-odds of the second of two classes; else (n_samples, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def staged_decision_function(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """Scores after each iteration up to the best, shaped as those of ``decision_function``."""
        for scores in self._staged_scores(X):
            yield scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of the classes, (n_samples, n_classes)."""
        return probabilities(self._scores(X))

    def predict(self, X: ArrayLike) -> NDArray:
        """The class of each row, (n_samples,); ties go to the first class."""
        codes = predicted_codes(self.decision_function(X))
        return self.classes_[codes]

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, float]]:
        """Settings of ``mu_rel``: 1, where nothing is bought, then halves of it, and 0, where everything is free."""
        labels = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])[1]
        class_codes(labels)
        return [{"mu_rel": v} for v in (*(0.5**k for k in range(n_settings - 1)), 0.0)]


class GBFSRegressor(RegressorMixin, GBFSModel):
    """Boosted regression trees that pay for a feature once; squared loss, else as ``GBFSClassifier``.

    Parameters
    ----------
    mu, mu_rel, n_iter, learning_rate, max_depth, min_samples_leaf, max_bin, step, init, rule, phi_update, feature_costs
    bags, neighbour_discount, phi, validation_fraction, early_stopping, n_jobs, random_state
        As in ``GBFSClassifier``; targets ``a y`` need ``a^2 mu``.

    Attributes
    ----------
    selected_features_, support_, purchase_log_, n_features_path_, feature_costs_, total_cost_, phi_, mu_, mu_max_
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
    (25.0, [1], [6.0, 6.0, 16.0, 16.0, 27.0, 16.0, 1.5, 1.5])
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> GBFSRegressor:
        """Fit on ``X`` (n_samples, n_features), finite numbers, dense or sparse, and targets ``y`` (n_samples,).

        Raises ValueError as ``GBFSClassifier.fit`` does, and for targets above 1e100.
        """
        self._learn(self._prepare(X, y, sample_weight, numeric=True))
        return self

    def _targets(self, y: NDArray) -> tuple[NDArray, dict[str, Any]]:
        targets = np.asarray(y, dtype=np.float64)
        if np.abs(targets).max() > LARGEST:
            raise ValueError(f"y must not exceed {LARGEST:g} in size, got {np.abs(targets).max():g}; scale the targets")
        return targets, {}

    def _loss(self, y: NDArray, weights: NDArray[np.float64] | None, learnt: dict[str, Any]) -> Loss:
        return Squared(y, weights)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predicted targets, (n_samples,)."""
        return self._scores(X)[:, 0]

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[np.float64]]:
        """Predicted targets after each iteration up to the best."""
        for scores in self._staged_scores(X):
            yield scores[:, 0]
