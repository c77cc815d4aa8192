"""Shared by the methods that select columns: the selected columns as a mask, as names and as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_selection import SelectorMixin

from fsgym.sklearn_private import feature_names_of


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
