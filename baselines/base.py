"""What the baselines share: checks, a model per setting, selected columns, targets, scaling, sparse linear models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import sklearn.utils.validation
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fsgym.data.columns import Columns
from fsgym.data.groups import resolve_groups
from fsgym.data.scaling import Scaling
from fsgym.rules import Rules
from fsgym.rules.uninformative import without_repeated
from fsgym.sklearn_private import feature_names_of
from fsgym.text.messages import brief

FloatVector = NDArray[np.float64]  # of one dimension
FloatMatrix = NDArray[np.float64]  # of two dimensions

# scikit-learn has no type annotations, and the types inferred from its defaults are wrong (X: str). Its test for
# finite values is a sum, which warns if finite values overflow.
_ignore_overflow = np.errstate(over="ignore", invalid="ignore")
validate_data: Any = _ignore_overflow(sklearn.utils.validation.validate_data)
check_X_y: Any = _ignore_overflow(sklearn.utils.validation.check_X_y)


class SettingsPathMixin:
    """``path`` for an estimator with ``sparsity_grid``; a subclass may share work in ``_fit_along``."""

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike) -> list[dict[str, Any]]:
        """Return settings of the parameters that control sparsity, from no feature used upward."""
        raise NotImplementedError

    def path(self, X: ArrayLike, y: ArrayLike, settings: Iterable[Mapping[str, Any]] | None = None) -> list[Any]:
        """Return one fitted copy of this estimator per setting.

        Each copy is identical to one fitted separately with these parameters. This estimator itself is not changed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        settings : list of dict, default=None
            Parameters of each copy, such as ``[{"C": 0.1}, {"C": 1.0}]`` for a method with a parameter ``C``. None:
            ``sparsity_grid(X, y)``.

        Returns
        -------
        list of fitted estimators, in the order of the settings

        Raises
        ------
        TypeError
            Unless ``settings`` is a list of dicts.
        ValueError
            For an unknown parameter, and as ``fit`` does.
        """
        chosen = self.sparsity_grid(X, y) if settings is None else check_settings(settings)
        models: list[Any] = [clone(self).set_params(**setting) for setting in chosen]
        self._fit_along(models, X, y, {name for setting in chosen for name in setting})
        return models

    def _fit_along(self, models: list[Any], X: ArrayLike, y: ArrayLike, changed: set[str]) -> None:
        """Fit copies of this estimator that differ only in the parameters ``changed``."""
        for model in models:
            model.fit(X, y)


def check_settings(settings: Any) -> list[dict[str, Any]]:
    """Return the settings as a list of dicts; raises TypeError for anything else."""
    if isinstance(settings, Iterable) and not isinstance(settings, Mapping):
        settings = [*settings]
        if all(isinstance(setting, Mapping) for setting in settings):
            return [dict(setting) for setting in settings]
    raise TypeError(
        f"settings must be a list of dicts of parameters, got {brief(settings)}; pass some of those that "
        "sparsity_grid(X, y) returns, or leave settings out"
    )


def column_names(estimator: Any) -> list[str]:
    """Names of the columns that an estimator was fitted on: x0, x1, ... for a table without names."""
    return feature_names_of(estimator).tolist()


def rules_of(estimator: Any, n_classes: int, *, groups: Any, **options: Any) -> Rules:
    """The rules of an estimator that knows its columns; acquisitions have their names, or those of named groups.

    ``groups`` are a mapping of names to names of columns, or as in ``Rules``.
    """
    names = column_names(estimator) if groups is None else None
    if isinstance(groups, Mapping):
        groups, names = resolve_groups(groups, Columns.of_numbers(column_names(estimator)))
    return Rules(estimator.n_features_in_, n_classes, groups=groups, names=names, **options)


# Shared by the methods that select columns: the selected columns as a mask, as names and as a table.


class ColumnSelectorMixin(SelectorMixin):
    """The interface of scikit-learn's feature selectors, for an estimator whose fit selects columns.

    ``get_support``, ``transform``, ``inverse_transform`` and ``get_feature_names_out`` are those of ``SelectorMixin``.
    A subclass implements ``_get_support_mask()``, the selected columns, bool (n_features,), or NotFittedError; and
    ``_validate_table(X)``, which checks a table for prediction. If predictions may use fewer than the selected columns,
    it also implements ``_used_mask()``.
    """

    def _validate_table(self, X: Any) -> Any:
        raise NotImplementedError

    def _used_mask(self) -> NDArray[np.bool_]:
        """Return the columns that predictions use, bool (n_features,): the selected ones."""
        return self.get_support()

    @property
    def selected_features_(self) -> NDArray[np.object_]:
        """Names of the columns that predictions use, in their order: x0, x1, ... for a training table without names."""
        mask = self._used_mask()
        return feature_names_of(self)[mask]

    def features_used(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Which columns each prediction uses, bool (n_samples, n_features): the selected ones, for every row."""
        mask = self._used_mask()
        return np.tile(mask, (self._validate_table(X).shape[0], 1))


def class_codes(y: ArrayLike) -> tuple[NDArray, NDArray[np.int64]]:
    """Return the sorted classes of ``y`` and each row's index into them, int64 of shape (n_samples,).

    Raises ValueError for continuous targets and for fewer than two classes.
    """
    check_classification_targets(y)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes, got 1 class ({classes[0]}); add rows of another")
    return classes, codes.astype(np.int64)


def signed_targets(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one-vs-rest targets of +1 and -1, (n_samples, 1) for two classes, otherwise (n_samples, n_classes)."""
    signs = np.where(codes[:, None] == np.arange(codes.max() + 1), 1.0, -1.0)
    return signs[:, 1:] if signs.shape[1] == 2 else signs


def correlations(Z: NDArray[np.float64], residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``Z' residuals``, (n_features,), with 0 for sums that are no more than the rounding errors of their terms.

    Where a feature says nothing of the target, its sum is what rounding left of 0: no penalty and no setting is to be
    derived from it.

    >>> correlations(np.array([[0.1, 1.0], [0.2, 1.0], [0.3, 1.0]]), np.array([1.0, 1.0, -1.0])).tolist()
    [0.0, 1.0]
    """
    sums, terms = Z.T @ residuals, np.abs(Z).T @ np.abs(residuals)
    return np.where(np.abs(sums) > len(residuals) * np.finfo(np.float64).eps * terms, sums, 0.0)


def predicted_codes(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the index of each row's predicted class, (n_samples,).

    It is given by the sign of scores (n_samples,), or by the largest of scores (n_samples, n_classes). Ties go to the
    first class.
    """
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


class DecisionMixin:
    """``predict`` of a classifier by the ``decision_function`` of a subclass."""

    classes_: NDArray

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scores: (n_samples,) for two classes, positive for the second; otherwise (n_samples, n_classes)."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray:
        """Predict the class of each row, shape (n_samples,); ties go to the first class."""
        codes = predicted_codes(self.decision_function(X))
        return self.classes_[codes]


def probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the class probabilities (n_samples, n_classes) from log-odds (n_samples, 1) or scores of all classes."""
    if scores.shape[1] == 1:
        return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])
    return softmax(scores, axis=1)


def scaled_table(
    X: ArrayLike, y: ArrayLike, scaling: Callable[[NDArray], Scaling] = Scaling.fit
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the scaled table and the class codes that ``fit`` would train on, without fitting.

    A column that repeats another one is 0, so that no method uses both.
    """
    table, labels = check_X_y(X, y, dtype=np.float64)
    return without_repeated(apply_scaling(scaling(clip_extremes(table)), table)), class_codes(labels)[1]


def standard_scaling(X: NDArray) -> Scaling:
    """Return the map of each feature to mean 0 and standard deviation 1, and of constant features to 0.

    A penalty on coefficients is then comparable for a long-tailed feature and for a binary one.
    """
    whole = Scaling.fit(X)
    Z = (X - whole.offset) * whole.scale
    width = Z.std(axis=0)
    shift = np.divide(Z.mean(axis=0), whole.scale, out=np.zeros_like(width), where=whole.scale > 0)
    scale = np.divide(whole.scale, width, out=np.zeros_like(width), where=whole.scale > 0)
    return Scaling(whole.offset + shift, scale)


def no_scaling(X: NDArray) -> Scaling:
    """Return the map that leaves each feature as it is, and maps constant features to 0."""
    varies = np.ptp(X, axis=0) > 0
    return Scaling(np.zeros(X.shape[1]), varies.astype(np.float64))


# By which a linear method may scale features over the training rows:
SCALINGS: dict[str | None, Callable[[NDArray], Scaling]] = {
    "range": Scaling.fit,
    "standard": standard_scaling,
    None: no_scaling,
}


def counts_up_to(largest: int, n_settings: int) -> list[int]:
    """Return at most ``n_settings`` whole numbers from 1 to ``largest``, at about equal ratios.

    >>> counts_up_to(30, 5)
    [1, 2, 5, 13, 30]
    """
    return np.unique(np.geomspace(1, largest, n_settings).round().astype(int)).tolist()


def widening_factors(decades: float, n_settings: int) -> NDArray[np.float64]:
    """Return factors from 1 to ``10 ** decades``, (n_settings,); the steps of their logarithm increase linearly.

    The factors are dense at the start of a penalty path, where the first features enter in quick succession.

    >>> widening_factors(2.0, 3).round(2).tolist()
    [1.0, 3.16, 100.0]
    """
    return 10.0 ** (decades * np.linspace(0.0, 1.0, n_settings) ** 2)


def clip_extremes(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``X`` with values below 1e-150 set to 0 and magnitudes clipped at 1e100: inverted ranges stay finite."""
    return np.where(np.abs(X) < 1e-150, 0.0, X).clip(-1e100, 1e100)


def apply_scaling(scaling: Scaling, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``X`` (n_samples, n_features) on the scale of the training rows; finite for any finite ``X``."""
    return (clip_extremes(X) - scaling.offset) * scaling.scale


class SparseLinearMixin(DecisionMixin, ColumnSelectorMixin, SettingsPathMixin):
    """Scaling, decisions and selected columns of a one-vs-rest linear classifier with sparse coefficients.

    The ``fit`` of a subclass calls ``_training_data`` first and ``_store_coefficients`` last. Coefficients refer to
    the scaled features. A column that repeats another one has none. A column whose coefficient is zero in every
    classifier is not selected and never read.
    """

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    scaling_: Scaling
    scaling: str | None = "range"  # one of ``SCALINGS``; a parameter of some subclasses

    def _fit_scaling(self, X: NDArray) -> Scaling:
        return SCALINGS[self.scaling](X)

    def _training_data(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        table, labels = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = class_codes(labels)
        self.scaling_ = self._fit_scaling(clip_extremes(table))
        return self._without_repeated(apply_scaling(self.scaling_, table)), codes

    def _without_repeated(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """The table in which columns are constant that a method should not use beside those that they repeat."""
        return without_repeated(Z)

    def _store_coefficients(self, coef: NDArray, intercept: NDArray, targets: NDArray) -> None:
        """Set ``coef_`` and ``intercept_``; a model without features always predicts the largest class."""
        self.coef_ = np.array(coef, dtype=np.float64)
        self.intercept_ = np.array(intercept, dtype=np.float64) if coef.any() else targets.mean(axis=0)

    def _validate_table(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self, "coef_")
        return validate_data(self, X, reset=False, dtype=np.float64)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return scores: (n_samples,) for two classes, positive for the second; otherwise (n_samples, n_classes)."""
        table = self._validate_table(X)
        used = self.coef_.any(axis=0)
        scaling = Scaling(self.scaling_.offset[used], self.scaling_.scale[used])
        scores = apply_scaling(scaling, table[:, used]) @ self.coef_[:, used].T + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "coef_")
        return np.asarray(self.coef_.any(axis=0))
