"""Shared by the classifier and the regressor of GBFS: data preparation, boosting, and use of the forest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from baselines.base import ColumnSelectorMixin, FloatVector, column_names, validate_data
from baselines.gbfs.losses import Loss
from fsgym.sklearn_private import HasMethods, Interval, StrOptions, check_parameters, check_sample_weight
from fsgym.support.checks import check_prices
from fsgym.support.threads import n_threads
from fsgym.text.messages import brief
from fsgym.trees import BinnedTable, Forest, Tree, TreeGrower, add_binned, bin_table

# Prices of features: phi, the share of its price that a feature costs after others were bought, and purchases.

Phi = Callable[[NDArray[np.bool_]], Any]  # bool (n_features,), which features are bought -> shares (n_features,)


class Purchase(NamedTuple):
    """One entry of ``purchase_log_``."""

    feature: int
    iteration: int  # from 1
    output: int  # the output of the tree: the class index; 0 for two classes and in regression
    node: int  # the node of the tree that first splits on the feature
    price: float  # ``mu * cost * phi`` at that time
    net: float  # half of the decrease of the squared error by the split, minus the price


class FeaturePrices:
    """Prices of the features, which decrease as features are bought.

    Parameters
    ----------
    mu : float
    costs : ndarray of shape (n_features,), float64
    phi : callable, bool (n_features,), which features are bought -> shares of the costs (n_features,), in [0, 1]
    frozen : bool
        Whether prices change only when ``reprice`` is called, instead of with each purchase.
    """

    def __init__(self, mu: float, costs: NDArray[np.float64], phi: Phi, frozen: bool = False) -> None:
        self.mu, self.costs, self._phi, self.frozen = mu, costs, phi, frozen
        self.bought = np.zeros(len(costs), dtype=bool)
        self.log: list[Purchase] = []
        self.phi = evaluate_phi(phi, self.bought)
        self.prices = mu * costs * self.phi
        self.iteration = self.output = 0

    def on_split(self, feature: int, node: int, net: float) -> bool:
        """Buy the feature, unless it is bought already; return whether prices have changed."""
        if self.bought[feature]:
            return False
        self.log.append(Purchase(feature, self.iteration, self.output, node, float(self.prices[feature]), net))
        self.bought[feature] = True
        if not self.frozen:
            self.reprice()
        return not self.frozen

    def phi_after(self, bought: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the shares of the costs that remain after these purchases, (n_features,)."""
        return evaluate_phi(self._phi, bought)

    def reprice(self) -> None:
        """Update the prices for all purchases so far; raises ValueError if one has increased."""
        before, self.phi = self.phi, evaluate_phi(self._phi, self.bought)
        increased = np.flatnonzero(self.phi > before)
        if increased.size:
            f = increased[0]
            raise ValueError(
                f"phi must not increase while features are bought, but that of feature {f} increased from "
                f"{before[f]:g} to {self.phi[f]:g}"
            )
        self.prices[:] = self.mu * self.costs * self.phi


def evaluate_phi(phi: Phi, bought: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the checked values of ``phi`` for these purchases, float64 (n_features,).

    Raises ValueError unless they are one number in [0, 1] per feature, and 0 for the features that are bought.
    """
    try:
        values = np.array(phi(bought.copy()), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"phi must return one number for each of the {len(bought)} features: {error}") from error
    if values.shape != bought.shape:
        raise ValueError(f"phi must return an array of shape ({len(bought)},), got {values.shape}")
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        f = np.flatnonzero(wrong)[0]
        raise ValueError(f"phi must return shares between 0 and 1, got {values[f]} for feature {f}")
    if values[bought].any():
        f = np.flatnonzero(bought & (values > 0))[0]
        raise ValueError(f"phi must be 0 for features that are bought, got {values[f]:g} for feature {f}")
    return values


def make_phi(n_features: int, bags: Any, neighbour_discount: Any, phi: Any) -> Phi:
    """Return the phi of an estimator's parameters; by default a feature costs its price until it is bought.

    Raises ValueError or TypeError if more than one is given, or if one does not match the features.
    """
    given = {"bags": bags, "neighbour_discount": neighbour_discount, "phi": phi}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"at most one of bags, neighbour_discount and phi may be given, got {' and '.join(named)}")
    if phi is not None:
        if not callable(phi):
            raise TypeError(
                f"phi must be a function of which features are bought, bool (n_features,), got {brief(phi)}"
            )
        return phi
    if bags is not None:
        return _by_bags(bags, n_features)
    if neighbour_discount is not None:
        return _by_neighbours(neighbour_discount, n_features)
    return lambda bought: 1.0 - bought


def _by_bags(bags: ArrayLike, n_features: int) -> Phi:
    """phi_f = 0 as soon as a feature of the bag of f is bought."""
    try:
        names, bag = np.unique(np.asarray(bags), return_inverse=True)
    except (TypeError, ValueError):
        raise TypeError(f"bags must be one label for each of the {n_features} features, got {brief(bags)}") from None
    if np.shape(bags) != (n_features,):
        raise ValueError(f"bags must be one label for each of the {n_features} features, got shape {np.shape(bags)}")
    return lambda bought: ~np.isin(np.arange(len(names)), bag[bought])[bag]


def _by_neighbours(discount: ArrayLike, n_features: int) -> Phi:
    """phi_f = min over the bought features u of discount[u, f]; 1 if none is bought."""
    try:
        rho = np.array(discount, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "neighbour_discount must be a matrix of numbers with one row and one column per feature"
        ) from None
    if rho.shape != (n_features, n_features):
        raise ValueError(f"neighbour_discount must have shape ({n_features}, {n_features}), got {rho.shape}")
    if not ((rho >= 0) & (rho <= 1)).all():
        wrong = rho[~((rho >= 0) & (rho <= 1))][0]
        raise ValueError(f"neighbour_discount must lie between 0 and 1 (no discount), got {wrong:g}")
    return lambda bought: np.where(bought, 0.0, rho[bought].min(axis=0, initial=1.0))


HeldOutRows = tuple[BinnedTable, Loss]  # which choose the number of iterations


@dataclass
class BoostingResult:
    """Trees and losses of a boosted model; ``trees`` has n_outputs trees per iteration."""

    start: FloatVector
    trees: list[Tree] = field(default_factory=list)
    train_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)
    n_bought: list[int] = field(default_factory=list)

    @property
    def best_iteration(self) -> int:
        """The iteration of the smallest validation loss, from 1; without held-out rows the last one."""
        losses = self.validation_loss
        return int(np.argmin(losses)) + 1 if losses else len(self.train_loss)

    def is_stale(self, patience: int | None) -> bool:
        """Whether the validation loss has not improved for ``patience`` iterations; None is never."""
        return bool(patience and self.validation_loss and len(self.validation_loss) - self.best_iteration >= patience)


def first_gains(grower: TreeGrower, loss: Loss, start: FloatVector, newton: bool) -> FloatVector:
    """Return the gain of the first split on each feature, without its price, (n_features,); the best of the outputs."""
    _, gradient, hessian = loss.at(np.repeat(start[:, None], len(loss.y), axis=1), newton)
    gains = [grower.gains(g, loss.weights if hessian is None else hessian[k]) for k, g in enumerate(gradient)]
    return np.max(gains, axis=0)


def boost_with_prices(
    grower: TreeGrower,
    loss: Loss,
    prices: FeaturePrices,
    start: FloatVector,
    n_iter: int,
    learning_rate: float,
    *,
    newton: bool = False,
    force_first: bool = False,
    early_stopping: int | None = None,
    held_out: HeldOutRows | None = None,
) -> BoostingResult:
    """Add the tree of eq. 14, shrunk, in each iteration; ``n_iter`` to ``early_stopping`` as of ``GBFSClassifier``.

    Stops after ``n_iter`` iterations, if no split is worth its price, or if the loss on ``held_out`` stops improving.
    """
    result = BoostingResult(start)
    F = np.repeat(start[:, None], len(loss.y), axis=1)
    held_out_F = None if held_out is None else np.repeat(start[:, None], len(held_out[1].y), axis=1)
    _, gradient, hessian = loss.at(F, newton)
    for iteration in range(1, n_iter + 1):
        trees = []
        for k in range(loss.n_outputs):
            prices.iteration, prices.output = iteration, k
            forced = force_first and iteration == 1 and not prices.log
            denominators = loss.weights if hessian is None else hessian[k]
            tree = grower.grow(gradient[k], denominators, prices.prices, prices.on_split, force_root=forced)
            empty = len(tree.feature) == 1
            tree = tree._replace(value=tree.value * (0.0 if empty else learning_rate))
            grower.add_to(F[k], tree)
            if held_out is not None and held_out_F is not None and not empty:
                add_binned(tree, held_out[0], held_out_F[k])
            trees.append(tree)
        if all(len(tree.feature) == 1 for tree in trees):  # no later tree would find a split either
            break
        if prices.frozen:
            prices.reprice()
        value, gradient, hessian = loss.at(F, newton)
        result.trees += trees
        result.train_loss.append(value)
        result.n_bought.append(int(prices.bought.sum()))
        if held_out is not None and held_out_F is not None:
            result.validation_loss.append(held_out[1].at(held_out_F, False)[0])
        if result.is_stale(early_stopping):
            break
    return result


MIN_ROWS_TO_HOLD_OUT = 200  # with fewer rows none are held out, since the best iteration would be random


class GBFSModel(ColumnSelectorMixin, BaseEstimator):
    """Base of the GBFS estimators: parameters, training and prediction; a subclass defines targets and losses."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "mu": [None, Interval(Real, 0, None, closed="left")],
        "mu_rel": [Interval(Real, 0, None, closed="left")],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_bin": [Interval(Integral, 2, 256, closed="both")],
        "step": [StrOptions({"gradient", "newton"})],
        "init": [StrOptions({"prior", "zero"})],
        "rule": [StrOptions({"gain", "force_first"})],
        "phi_update": [StrOptions({"split", "tree"})],
        "feature_costs": [None, "array-like", Interval(Real, 0, None, closed="left"), HasMethods("keys")],
        "bags": [None, "array-like"],
        "neighbour_discount": [None, "array-like"],
        "phi": [None, callable],
        "validation_fraction": [None, Interval(Real, 0, 1, closed="neither")],
        "early_stopping": [None, Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        mu: float | None = None,
        *,
        mu_rel: float = 0.03125,
        n_iter: int = 2000,
        learning_rate: float = 0.1,
        max_depth: int = 3,
        min_samples_leaf: int = 1,
        max_bin: int = 255,
        step: str = "gradient",
        init: str = "prior",
        rule: str = "gain",
        phi_update: str = "split",
        feature_costs: Any = None,
        bags: Any = None,
        neighbour_discount: Any = None,
        phi: Any = None,
        validation_fraction: float | None = 0.2,
        early_stopping: int | None = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.mu = mu
        self.mu_rel = mu_rel
        self.n_iter = n_iter
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bin = max_bin
        self.step = step
        self.init = init
        self.rule = rule
        self.phi_update = phi_update
        self.feature_costs = feature_costs
        self.bags = bags
        self.neighbour_discount = neighbour_discount
        self.phi = phi
        self.validation_fraction = validation_fraction
        self.early_stopping = early_stopping
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _targets(self, y: NDArray) -> tuple[NDArray, dict[str, Any]]:
        """Return the targets for the loss, and the fitted attributes that follow from ``y``."""
        raise NotImplementedError

    def _loss(self, y: NDArray, weights: NDArray[np.float64] | None, fitted: dict[str, Any]) -> Loss:
        """Return the loss of these targets."""
        raise NotImplementedError

    def _strata(self, y: NDArray) -> NDArray[np.int64]:
        """Return the stratum of each row (n_samples,); the same share of each stratum is held out."""
        return np.zeros(len(y), dtype=np.int64)

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, *, numeric: bool
    ) -> tuple[BinnedTable, Loss, HeldOutRows | None, dict[str, Any]]:
        """Validate the data and the parameters, hold out rows, and bin the others, the same for all mu.

        The last value has the fitted attributes that do not depend on mu.
        """
        table, labels = validate_data(
            self,
            X,
            y,
            dtype=[np.float64, np.float32],
            accept_sparse="csc",
            ensure_all_finite=False,
            y_numeric=numeric,
            ensure_min_samples=2,
        )
        names = column_names(self)
        check_finite_columns(table, names)
        rows, weights = weighted_rows(table, sample_weight)
        targets, fitted = self._targets(labels[rows])
        costs = 1.0 if self.feature_costs is None else self.feature_costs
        fitted |= {"n_features_in_": table.shape[1], "feature_costs_": check_prices(costs, names, "feature_costs")}
        make_phi(table.shape[1], self.bags, self.neighbour_discount, self.phi)
        out, threads = self._held_out(targets), n_threads(self.n_jobs)

        def loss_of(chosen: NDArray[np.bool_]) -> Loss:
            return self._loss(targets[chosen], None if weights is None else weights[chosen], fitted)

        bins = bin_table(table, self.max_bin, threads, rows[~out])
        held_out = (bins.encode(table, threads, rows[out]), loss_of(out)) if out.any() else None
        return bins, loss_of(~out), held_out, fitted

    def _held_out(self, y: NDArray) -> NDArray[np.bool_]:
        """Return which rows are held out to choose the number of iterations, bool (n_samples,)."""
        out = np.zeros(len(y), dtype=bool)
        if self.validation_fraction is None or len(y) < MIN_ROWS_TO_HOLD_OUT:
            return out
        generator, strata = check_random_state(self.random_state), self._strata(y)
        for k in np.unique(strata):
            rows = generator.permutation(np.flatnonzero(strata == k))
            out[rows[: min(round(self.validation_fraction * len(rows)), len(rows) - 1)]] = True
        return out

    def _boost(self, table: BinnedTable, loss: Loss, held_out: HeldOutRows | None, fitted: dict[str, Any]) -> None:
        """Boost at the mu of this estimator and set the fitted attributes."""
        costs, newton = fitted["feature_costs_"], self.step == "newton"
        phi = make_phi(table.n_features, self.bags, self.neighbour_discount, self.phi)
        free = FeaturePrices(0.0, costs, phi)
        start = loss.prior() if self.init == "prior" else np.zeros(loss.n_outputs)
        options = {
            "max_depth": self.max_depth,
            "min_samples_leaf": self.min_samples_leaf,
            "n_jobs": n_threads(self.n_jobs),
        }
        with TreeGrower(table, **options) as grower:
            gains, initial_costs = first_gains(grower, loss, start, newton), costs * free.phi
            priced = initial_costs > 0
            mu_max = float(np.max(gains[priced] / initial_costs[priced], initial=0.0))
            mu = self.mu_rel * mu_max if self.mu is None else float(self.mu)
            prices = FeaturePrices(mu, costs, phi, frozen=self.phi_update == "tree")
            result = boost_with_prices(
                grower,
                loss,
                prices,
                start,
                self.n_iter,
                self.learning_rate,
                newton=newton,
                force_first=self.rule == "force_first",
                early_stopping=self.early_stopping,
                held_out=held_out,
            )
        self.mu_max_ = mu_max
        self._store_result(fitted, prices, result)

    def _store_result(self, fitted: dict[str, Any], prices: FeaturePrices, result: BoostingResult) -> None:
        """Set the fitted attributes of the model up to the best iteration."""
        for name, value in fitted.items():
            setattr(self, name, value)
        self.init_, self.mu_, self.best_iteration_ = result.start, prices.mu, result.best_iteration
        self.train_loss_, self.validation_loss_ = np.array(result.train_loss), np.array(result.validation_loss)
        self.n_features_path_ = np.array(result.n_bought, dtype=np.int64)
        self.purchase_log_ = [p for p in prices.log if p.iteration <= self.best_iteration_]
        self.support_ = np.isin(np.arange(len(prices.costs)), [p.feature for p in self.purchase_log_])
        self.total_cost_ = float(prices.costs[self.support_].sum())
        self.phi_ = prices.phi_after(self.support_)
        self.trees_ = Forest.of(result.trees[: self.best_iteration_ * len(result.start)])

    def _selected(self, X: Any) -> tuple[NDArray[np.float64], Forest]:
        """Return the selected columns of a table, dense, and the forest on them; other columns are not used."""
        check_is_fitted(self, "trees_")
        table = validate_data(
            self, X, reset=False, dtype=[np.float64, np.float32], accept_sparse="csc", ensure_all_finite=False
        )
        check_finite_columns(table, column_names(self))
        columns = np.flatnonzero(self.support_)
        part = table[:, columns]
        return (part.toarray() if sp.issparse(part) else part).astype(np.float64), self.trees_.take(columns)

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Return the scores, float64 (n_samples, n_outputs)."""
        part, forest = self._selected(X)
        scores = np.tile(self.init_, (len(part), 1))
        forest.add_to(scores, part)
        return scores

    def _staged_scores(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the scores after each iteration, float64 (n_samples, n_outputs)."""
        part, forest = self._selected(X)
        scores, k = np.tile(self.init_, (len(part), 1)), len(self.init_)
        for first in range(0, forest.n_trees, k):
            forest.add_to(scores, part, first, first + k)
            yield scores.copy()

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns are on each row's paths, bool (n_samples, n_features)."""
        part, forest = self._selected(X)
        used = np.zeros((len(part), len(self.support_)), dtype=bool)
        used[:, self.support_] = forest.used(part)
        return used

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "support_")
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def boost_each(
    models: list[Any],
    sketch: GBFSModel,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> None:
    """Fit models that differ only in mu, in ``n_jobs`` threads, on data that ``sketch``, an unfitted copy, prepares."""
    for model in (*models, sketch):
        check_parameters(model)
    data = sketch._prepare(X, y, sample_weight, numeric=not hasattr(sketch, "predict_proba"))
    names = getattr(sketch, "feature_names_in_", None)
    for model in models:
        if names is not None:
            model.feature_names_in_ = names
    Parallel(n_jobs=n_jobs, backend="threading")(delayed(model._boost)(*data) for model in models)


def weighted_rows(table: Any, sample_weight: Any) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return the rows with a positive weight, and their weights; None if all weights are 1."""
    if sample_weight is None:
        return np.arange(table.shape[0]), None
    weights = check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
    rows = np.flatnonzero(weights)
    return rows, None if (weights[rows] == 1).all() else weights[rows]


def check_finite_columns(table: Any, names: list[str]) -> None:
    """Raise ValueError with the name of the column if a table contains NaN or infinity."""
    for j in range(0, table.shape[1], 64):
        part = table[:, j : j + 64]
        bad = ~np.isfinite(part.data if sp.issparse(part) else part)
        if bad.any():
            column = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr)) if sp.issparse(part) else None
            place = int(column[bad][0] if column is not None else np.flatnonzero(bad.any(axis=0))[0])
            values = part.data[bad] if sp.issparse(part) else part[bad]
            kind = "NaN" if np.isnan(values).any() else "inf"
            raise ValueError(
                f"X must be finite, but column {names[j + place]!r} holds {kind}; impute or drop these values"
            )
