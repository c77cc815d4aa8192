"""What the baselines share: array types, one fitted model per setting, selected columns as mask, names and table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin

from fsgym.sklearn_private import feature_names_of
from fsgym.text.messages import brief


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


FloatVector = NDArray[np.float64]  # of one dimension
FloatMatrix = NDArray[np.float64]  # of two dimensions


def column_names(estimator: Any) -> list[str]:
    """Names of the columns that an estimator was fitted on: x0, x1, ... for a table without names."""
    return feature_names_of(estimator).tolist()


def acquisition_names(estimator: Any) -> list[str] | None:
    """Names of the acquisitions of a fitted estimator: those of its columns; None if they come in ``groups``."""
    return column_names(estimator) if estimator.groups is None else None


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
