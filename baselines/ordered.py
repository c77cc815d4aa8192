"""Shared by the panel and the learnt stopping: rules, models of the prefixes of an order, paths of prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from baselines.acquisition_order import follow_order
from baselines.linear import class_codes, validate_data
from baselines.subset_models import SubsetModel, SubsetModels, available_acquisitions, spread_to_features
from fsgym.data.columns import Columns
from fsgym.data.groups import default_names, resolve_groups
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules
from fsgym.rules.labels import cheapest_answers
from fsgym.rules.options import OPTIONS
from fsgym.sklearn_private import HasMethods, Interval, StrOptions, check_parameters, checks_parameters

PRICES: list[Any] = [None, "array-like", Interval(Real, 0, None, closed="left"), HasMethods("keys")]


class OrderedAcquisitionsMixin:
    """An order of acquisitions, with a logistic regression for each prefix; a subclass implements ``_fit_shared``.

    Parameters are those of ``PanelClassifier``.
    """

    lam: float
    cv: int
    random_state: Any
    n_features_in_: int
    classes_: NDArray
    rules_: Rules
    order_: NDArray[np.int64]
    models_: list[SubsetModel]
    _models_beyond: list[SubsetModel]  # those of the prefixes of ``order_`` that are longer than all of ``models_``

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "panel": [None, "array-like"],
        "groups": [None, "array-like", list],
        "costs": PRICES,
        "unrelated_costs": [*PRICES, StrOptions({"forbid"})],
        "related": [None, "array-like", HasMethods("keys")],
        "relation": [StrOptions({"any", "all"})],
        "empty_is_related": ["boolean"],
        "error_costs": [None, "array-like", HasMethods("keys")],
        "budget": [None, Interval(Integral, 0, None, closed="left")],
        "budget_cost": [None, Interval(Real, 0, None, closed="left")],
        "prerequisites": [None, "array-like", HasMethods("keys")],
        "missing": [StrOptions({"unavailable", "error"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def _fit_shared(self, models: SubsetModels) -> None:
        """Set ``order_``, the models and what else follows from the models of sets of acquisitions."""
        raise NotImplementedError

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit on ``X`` (n_samples, n_features), finite numbers or NaN, and labels ``y`` (n_samples,).

        Raises ValueError or TypeError for a parameter out of range, for options of the rules that do not match the
        features, for invalid tables, and for fewer than two classes.
        """
        self._fit_at_price(X, y, None)
        return self

    def path(self, X: ArrayLike, y: ArrayLike, lams: Iterable[float]) -> list[Self]:
        """Fit one copy of this estimator per value of ``lam``, each identical to one fitted separately.

        Sets of acquisitions are fitted and validated once for all values. This estimator itself is not changed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        lams : iterable of float

        Returns
        -------
        list of fitted estimators, in the order of ``lams``
        """
        copies: list[Any] = [clone(self).set_params(lam=lam) for lam in lams]
        shared: SubsetModels | None = None
        for model in copies:
            check_parameters(model)
            shared = model._fit_at_price(X, y, shared)
        return copies

    def _fit_at_price(self, X: ArrayLike, y: ArrayLike, shared: SubsetModels | None) -> SubsetModels:
        """Fit with the models of another price, if there are any; return the models."""
        table, labels = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
        self.classes_, codes = class_codes(labels)
        self.rules_ = self._make_rules(table.shape[1])
        self._refuse_missing(table)
        models = SubsetModels(table, codes, self.rules_, self.cv, self.random_state) if shared is None else shared
        self._fit_shared(models)
        return models

    def _make_rules(self, n_features: int) -> Rules:
        options = {option.name: getattr(self, option.name) for option in OPTIONS}
        names = acquisition_names(self, n_features)
        if isinstance(options["groups"], Mapping):
            columns = [str(name) for name in getattr(self, "feature_names_in_", default_names(n_features))]
            options["groups"], names = resolve_groups(options["groups"], Columns.of_numbers(columns))
        return Rules(n_features, len(self.classes_), names=names, classes=self.classes_.tolist(), **options)

    def _refuse_missing(self, table: NDArray[np.float64]) -> None:
        if self.rules_.missing == "error" and np.isnan(table).any():
            raise ValueError("X has missing values (NaN), which missing='error' does not allow; use 'unavailable'")

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "models_")
        table = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        self._refuse_missing(table)
        return table

    def _known_after(self, table: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The values known after the first ``lengths[i]`` acquisitions of the order, of the shape of ``table``."""
        taken, _ = follow_order(self.rules_, available_acquisitions(self.rules_, table), self.order_)
        return self._known_from(table, taken & (np.arange(len(self.order_)) < lengths[:, None]))

    def _known_from(self, table: NDArray[np.float64], taken: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The values known after the acquisitions ``taken`` (n_samples, n_order), of the shape of ``table``."""
        acquisitions = np.zeros((len(table), self.rules_.n_acquisitions), bool)
        acquisitions[:, self.order_] = taken
        return spread_to_features(self.rules_, acquisitions) & ~np.isnan(table)

    def _proba_at(
        self, table: NDArray[np.float64], known: NDArray[np.bool_], lengths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Class probabilities of the models of the first ``lengths[i]`` acquisitions, (n_samples, n_classes)."""
        shares, models = np.empty((len(table), len(self.classes_))), [*self.models_, *self._models_beyond]
        for k in np.unique(lengths):
            rows = lengths == k
            shares[rows] = models[k].proba(table[rows], known[rows])
        return shares

    def _trajectories(
        self, table: NDArray[np.float64], taken: NDArray[np.bool_], lengths: NDArray[np.int64]
    ) -> Trajectories:
        """The acquisitions ``taken`` (n_samples, n_order), and the answers of the models of these ``lengths``."""
        known = self._known_from(table, taken)
        shares = self._proba_at(table, known, lengths)
        order = np.full((len(table), int(taken.sum(axis=1).max(initial=0))), -1, np.int32)
        row, position = np.nonzero(taken)
        order[row, (taken.cumsum(axis=1) - 1)[row, position]] = self.order_[position]
        answers = cheapest_answers(shares, self.rules_.error_costs)
        return Trajectories(order, known, answers, np.zeros(len(table), bool), probabilities=shares)

    def continue_after_stop(self, X: ArrayLike, rules: Rules | None = None) -> Trajectories:
        """The acquisitions for each row to the end of ``order_``, past the stop, and the answers then.

        An acquisition that is not legal when its turn comes, such as one that a budget does not pay for, is passed
        over. The order may end before all acquisitions are made.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        rules : Rules, optional
            By default those of the training; others with the same acquisitions, such as with a budget.

        Returns
        -------
        Trajectories, whose answers are indices into ``classes_``
        """
        table, rules = self._validate_table(X), rules or self.rules_
        taken, _ = follow_order(rules, available_acquisitions(rules, table), self.order_)
        lengths = np.where(taken, np.arange(1, len(self.order_) + 1), 0).max(axis=1, initial=0)
        return self._trajectories(table, taken, lengths)

    def _lengths(self, table: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of acquisitions of the order after which each row is answered, unavailable ones included."""
        raise NotImplementedError

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities at the answer, (n_samples, n_classes)."""
        table = self._validate_table(X)
        lengths = self._lengths(table)
        return self._proba_at(table, self._known_after(table, lengths), lengths)

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the class of the least expected cost, (n_samples,); ties go to the first class."""
        answers = cheapest_answers(self.predict_proba(X), self.rules_.error_costs)
        return self.classes_[answers]

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns are acquired for each row, bool (n_samples, n_features); missing values are not."""
        table = self._validate_table(X)
        return self._known_after(table, self._lengths(table))

    def probabilities_at(self, X: ArrayLike, acquired: ArrayLike) -> NDArray[np.float64]:
        """Return class probabilities given only some values, (n_samples, n_classes).

        They are those of the longest prefix of the order whose acquisitions are acquired, or unavailable for the
        row. Values acquired beyond it have no effect.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        acquired : bool array of shape (n_samples, n_features), the features whose values are known
        """
        table = self._validate_table(X)
        known = np.asarray(acquired)
        if known.dtype != bool:
            raise TypeError(f"acquired must be a mask of booleans, got dtype {known.dtype}")
        if known.shape != table.shape:
            raise ValueError(f"acquired must have shape {table.shape}, as X, got {known.shape}")
        known = known & ~np.isnan(table)
        order = self.order_[: len(self.models_) - 1]
        open_to_all, _ = follow_order(self.rules_, available_acquisitions(self.rules_, table), order)
        passed = self.rules_.acquisitions_of(known)[:, order] | ~open_to_all
        lengths = np.logical_and.accumulate(passed, axis=1).sum(axis=1)
        in_prefix = np.zeros((len(table), self.rules_.n_acquisitions), bool)
        in_prefix[:, order] = np.arange(len(order)) < lengths[:, None]
        return self._proba_at(table, known & spread_to_features(self.rules_, in_prefix), lengths)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags


def acquisition_names(estimator: Any, n_features: int) -> list[str] | None:
    """Names of the acquisitions of a fitted estimator: those of its columns; None if they come in ``groups``."""
    if estimator.groups is not None:
        return None
    return [str(name) for name in getattr(estimator, "feature_names_in_", default_names(n_features))]
