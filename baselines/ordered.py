"""Shared by the panel and the learnt stopping: rules, models of the prefixes of an order, paths of prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from baselines.base import class_codes, rules_of, validate_data
from baselines.subset_models import SubsetModel, SubsetModels
from fsgym.envs.trajectories import Trajectories
from fsgym.evaluation.calibrate import (
    PathRecord,
    TrainedRows,
    calibration_rows,
    check_targets,
    has_rows,
    make_promise,
    without_rows,
)
from fsgym.evaluation.promise import Promise
from fsgym.metrics import share_correct
from fsgym.rules import Rules
from fsgym.rules.options import OPTIONS
from fsgym.rules.rules import cheapest_answers
from fsgym.sklearn_private import HasMethods, Interval, StrOptions, check_parameters, checks_parameters
from fsgym.support.threads import one_blas_thread
from fsgym.text.messages import listing

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
    promise_: Promise | None
    _trained_rows: TrainedRows
    _calibrations: dict[str, int]  # how many there were by the same rows, by their digest
    _models_beyond: list[SubsetModel]  # those of the prefixes of ``order_`` that are longer than all of ``models_``

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "panel": [None, "array-like"],
        "groups": [None, "array-like", list, HasMethods("keys")],
        "costs": PRICES,
        "unrelated_costs": [*PRICES, StrOptions({"forbid"})],
        "related": [None, "array-like", HasMethods("keys")],
        "relation": [StrOptions({"any", "all"})],
        "empty_is_related": ["boolean"],
        "error_costs": [None, "array-like", HasMethods("keys")],
        "refer_cost": [None, Interval(Real, 0, None, closed="left")],
        "refer_label": [str],
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
        self.rules_ = self._make_rules()
        self._refuse_missing(table)
        self.promise_, self._calibrations = None, {}
        self._trained_rows = TrainedRows(table.astype(np.float32), codes)
        models = SubsetModels(table, codes, self.rules_, self.cv, self.random_state) if shared is None else shared
        with one_blas_thread():
            self._fit_shared(models)
        return models

    def _make_rules(self) -> Rules:
        options = {option.name: getattr(self, option.name) for option in OPTIONS}
        return rules_of(self, len(self.classes_), classes=self.classes_.tolist(), **options)

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
        taken, _ = self.rules_.follow(self.order_, self.rules_.acquisitions_of(~np.isnan(table)))
        return self._known_from(table, taken & (np.arange(len(self.order_)) < lengths[:, None]))

    def _known_from(self, table: NDArray[np.float64], taken: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The values known after the acquisitions ``taken`` (n_samples, n_order), of the shape of ``table``."""
        acquisitions = np.zeros((len(table), self.rules_.n_acquisitions), bool)
        acquisitions[:, self.order_] = taken
        return acquisitions[:, self.rules_.acquisition_of_features] & ~np.isnan(table)

    def _proba_at(
        self, table: NDArray[np.float64], known: NDArray[np.bool_], lengths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Class probabilities of the models of the first ``lengths[i]`` acquisitions, (n_samples, n_classes)."""
        shares, models = np.empty((len(table), len(self.classes_))), [*self.models_, *self._models_beyond]
        for k in np.unique(lengths):
            rows = lengths == k
            shares[rows] = models[k].proba(table[rows], known[rows])
        return shares

    def _answers(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """The answers to rows that end with these class probabilities, int64 (n,).

        By the rule of a model that may refer cases, those without a certain answer are referred.
        """
        costs, promise = self.rules_.answer_costs, self.promise_
        answers = cheapest_answers(shares, costs)
        if promise is None or not promise.refers:
            return answers
        return np.where(promise.is_certain(answers, shares, costs), answers, len(self.classes_))

    def _order_of(self, taken: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The acquisitions ``taken`` (n_samples, n_order) of each row, (n_samples, longest), then -1."""
        order = np.full((len(taken), int(taken.sum(axis=1).max(initial=0))), -1, np.int32)
        row, position = np.nonzero(taken)
        order[row, (taken.cumsum(axis=1) - 1)[row, position]] = self.order_[position]
        return order

    def _trajectories(
        self, table: NDArray[np.float64], taken: NDArray[np.bool_], lengths: NDArray[np.int64]
    ) -> Trajectories:
        """The acquisitions ``taken`` (n_samples, n_order), and the answers of the models of these ``lengths``."""
        known = self._known_from(table, taken)
        shares = self._proba_at(table, known, lengths)
        answers = self._answers(shares)
        return Trajectories(self._order_of(taken), known, answers, np.zeros(len(table), bool), probabilities=shares)

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
        taken, _ = rules.follow(self.order_, rules.acquisitions_of(~np.isnan(table)))
        lengths = np.where(taken, np.arange(1, len(self.order_) + 1), 0).max(axis=1, initial=0)
        return self._trajectories(table, taken, lengths)

    def _decides(self, k: int, open_next: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether rows may be answered after k of the acquisitions, bool (n,): by default where the next one is open.

        ``open_next`` is bool (n,). An acquisition that is not legal is passed over.
        """
        return open_next

    def _stops(self, k: int, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether rows with these class probabilities are answered after k acquisitions, bool (n,), without promise."""
        raise NotImplementedError

    def _lengths(self, table: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of acquisitions of the order after which each row is answered, with those that are passed over."""
        lengths, costs = np.full(len(table), len(self.order_)), self.rules_.answer_costs
        open_next, _ = self.rules_.follow(self.order_, self.rules_.acquisitions_of(~np.isnan(table)))
        unanswered, models = np.ones(len(table), bool), [*self.models_, *self._models_beyond]
        for k in range(len(self.order_)):
            deciding = np.flatnonzero(unanswered & self._decides(k, open_next[:, k]))
            if len(deciding):
                rows = table[deciding]
                shares = models[k].proba(rows, self._known_after(rows, np.full(len(rows), k)))
                stops = self._stops(k, shares)
                if self.promise_ is not None:
                    stops &= self.promise_.is_certain(cheapest_answers(shares, costs), shares, costs)
                lengths[deciding[stops]], unanswered[deciding[stops]] = k, False
        return lengths

    def _record(self, table: NDArray[np.float64]) -> PathRecord:
        """What is said of each row at each step to the end of ``order_``, past the stop."""
        last, models = len(self.order_), [*self.models_, *self._models_beyond]
        taken, _ = self.rules_.follow(self.order_, self.rules_.acquisitions_of(~np.isnan(table)))
        parts, n_steps = [], np.zeros(len(table), np.int64)
        for k in range(last + 1):
            decides = self._decides(k, taken[:, k]) if k < last else np.ones(len(table), bool)
            index = np.flatnonzero(decides)
            if not len(index):
                continue
            rows, made = table[index], taken[index] & (np.arange(last) < k)
            shares = models[k].proba(rows, self._known_from(rows, made))
            stops = self._stops(k, shares) if k < last else np.ones(len(rows), bool)
            parts.append((index, n_steps[index], stops, shares, made.sum(axis=1)))
            n_steps[index] += 1
        index, step, stops, shares, lengths = (np.concatenate(p) for p in zip(*parts, strict=True))
        order = np.lexsort((step, index))
        answers = cheapest_answers(shares, self.rules_.answer_costs)
        first = np.concatenate([[0], np.cumsum(n_steps)])
        return PathRecord(first, stops[order], answers[order], shares[order], lengths[order], self._order_of(taken))

    def calibrate(
        self,
        X: Any = None,
        y: Any = None,
        *,
        target_error: float | None = None,
        target_recall: Mapping[Any, float] | None = None,
        target_error_cost: float | None = None,
        max_referred: float | None = None,
        min_confidence: float | None = None,
        confidence: float = 0.9,
        by: Any = None,
        groups: ArrayLike | None = None,
        test: str = "betting",
    ) -> Self:
        """Stop only where the answer is certain enough for what is promised, tested on rows of your own.

        As ``agents.BaseAgentClassifier.calibrate``, with its parameters and errors. Rows go on to the end of ``order_``
        at most. ``promise_`` has what is promised, None before.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from baselines import StoppingClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = StoppingClassifier(lam=0.02, random_state=0).fit(X[:300], y[:300])
        >>> print(model.calibrate(X[300:], y[300:], target_error=0.1).promise_.sentences()[0])
        Promised with confidence 90 %: at most 10 % of the answers are wrong.
        """
        check_is_fitted(self, "models_")
        targets = (target_error, target_recall, target_error_cost, max_referred, min_confidence, confidence, test)
        wanted = check_targets(*targets, self.classes_.tolist(), self.rules_.answer_costs)
        if not has_rows(wanted, X, y, by, groups):
            self.promise_ = without_rows(wanted, self.rules_, "")
            return self
        table, codes = self._validate_table(X), self._codes_of(y)
        check_consistent_length(table, codes)
        numbers = table.astype(np.float32)
        self._trained_rows.refuse(numbers, codes)
        rows = calibration_rows(codes, X, by, groups)
        self.promise_, _ = make_promise(self._record(table), numbers, rows, wanted, self.rules_, self._calibrations)
        return self

    def without_promise(self) -> Self:
        """This model as it was before ``calibrate``, to compare prices with; itself if it is not calibrated."""
        if self.promise_ is None:
            return self
        model = copy(self)
        model.promise_, model._calibrations = None, dict(self._calibrations)  # its own count
        return model

    def _codes_of(self, y: Any) -> NDArray[np.int64]:
        """The class codes of labels (n_samples,); ValueError for others than ``classes_``."""
        if y is None:
            raise ValueError("y must have the labels of the rows, got None")
        labels = column_or_1d(y)
        unknown = ~np.isin(labels, self.classes_)
        if unknown.any():
            known = listing(self.classes_.tolist())
            raise ValueError(f"y must have labels of the training, {known}, got {labels[unknown][0]!s}")
        return np.searchsorted(self.classes_, labels).astype(np.int64)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities at the answer, (n_samples, n_classes)."""
        table = self._validate_table(X)
        lengths = self._lengths(table)
        return self._proba_at(table, self._known_after(table, lengths), lengths)

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict the class of the least expected cost, (n_samples,); ties go to the first class.

        With ``refer_cost``, a row of which every class is expected to cost more is answered with ``refer_label``.
        """
        answers = self._answers(self.predict_proba(X))  # which checks that it is fitted
        return self.rules_.answer_labels(self.classes_)[answers]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows that are answered correctly; one that is referred to a person is not."""
        check_is_fitted(self, "models_")
        if self.rules_.refer_cost is None:
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        return share_correct(self.predict(X), y, sample_weight)

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
        open_to_all, _ = self.rules_.follow(order, self.rules_.acquisitions_of(~np.isnan(table)))
        passed = self.rules_.acquisitions_of(known)[:, order] | ~open_to_all
        lengths = np.logical_and.accumulate(passed, axis=1).sum(axis=1)
        in_prefix = np.zeros((len(table), self.rules_.n_acquisitions), bool)
        in_prefix[:, order] = np.arange(len(order)) < lengths[:, None]
        return self._proba_at(table, known & in_prefix[:, self.rules_.acquisition_of_features], lengths)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags
