"""Scikit-learn estimators and pipelines as methods of a comparison: what their answers use, which is what they pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from fsgym.comparison.column_tracing import accepts_missing_values, columns_used, steps_in_order, untraceable
from fsgym.comparison.imputed import WrappedPredictions
from fsgym.data.columns import Columns
from fsgym.data.dataset import Dataset
from fsgym.text.messages import brief, explain_unknown

MOST_CHECKED_ROWS = 1000  # training rows whose values take the place of those that do not count as used


class EstimatorMethod(WrappedPredictions, ClassifierMixin, BaseEstimator):
    """A scikit-learn classifier or pipeline with ``features_used``; see ``as_method``.

    Parameters
    ----------
    estimator : classifier
    used : callable, sequence or "all", optional
    columns : list of dict, optional
        The columns of the table that the features encode, ``Columns.to_json()``; ``fsgym.compare`` sets them.
    """

    def __init__(self, estimator: Any, used: Any = None, columns: list[dict[str, Any]] | None = None) -> None:
        self.estimator = estimator
        self.used = used
        self.columns = columns

    @property
    def class_weight(self) -> Any:
        """The class weights of the last step, with which its scores are no probabilities of the data."""
        return getattr(steps_in_order(self.estimator)[-1], "class_weight", None)

    @property
    def takes_table(self) -> bool:
        """Whether the estimator is given the columns of the table by name: it has a ``ColumnTransformer``."""
        parts = [self.estimator, *self.estimator.get_params().values()]
        return any(isinstance(part, ColumnTransformer) for part in parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.takes_table or accepts_missing_values(self.estimator)
        return tags

    def fit(self, X: NDArray, y: NDArray) -> EstimatorMethod:
        """Fit on ``X`` (n_samples, n_features) and labels ``y`` (n_samples,)."""
        self.estimator_ = clone(self.estimator).fit(self._shown(X), y)
        self.classes_ = self.estimator_.classes_
        self.values_ = np.array(X[:MOST_CHECKED_ROWS])
        return self

    def features_used(self, X: NDArray) -> NDArray[np.bool_]:
        """The features that the answer for each row depends on, bool (n_samples, n_features).

        Raises ValueError where an answer changes with values that do not count as used: they are replaced by those of
        training rows.
        """
        used = self._columns_used(X)
        if used.shape[-1] != X.shape[1] and self.columns is not None:  # of columns of the table
            used = used[..., Columns.from_json(self.columns).column_of]
        used = np.broadcast_to(used, X.shape)
        others = self.values_[np.arange(1, len(X) + 1) % len(self.values_)]  # of another row, also on training rows
        changed = self.predict(np.where(used, X, others)) != self.predict(X)
        if changed.any():
            raise ValueError(
                f"answers must depend on the columns that count as used alone, but {changed.sum()} of {len(X)} changed "
                "when the values of the other columns were replaced; say with used which columns the answers depend on"
            )
        return used

    def _shown(self, X: NDArray) -> Any:
        """``X`` as the estimator takes it: itself, or the table whose columns its features encode."""
        if self.columns is None or not self.takes_table:
            return X
        columns = Columns.from_json(self.columns)
        table = columns.decode(np.asarray(X - columns.offsets, dtype=np.float32))
        return table.where(table.notna(), np.nan)

    def _columns_used(self, X: NDArray) -> NDArray[np.bool_]:
        """What counts as used: bool (n_columns,), or one row per sample, of features or of columns of the table."""
        if self.used is None:
            return columns_used(self.estimator_, self._shown(X))
        n_columns = self._shown(X).shape[1]
        if self.used == "all":
            return np.ones(n_columns, dtype=bool)
        if not callable(self.used):
            return _mask_of(self.used, n_columns, self.columns)
        used = np.asarray(self.used(self.estimator_, self._shown(X)))
        if used.dtype != bool or used.shape not in ((n_columns,), (len(X), n_columns)):
            raise ValueError(
                f"used(fitted, X) must return bool of shape {(n_columns,)} or {(len(X), n_columns)}, got {used.dtype} "
                f"of shape {used.shape}"
            )
        return used


def as_method(
    estimator: Any, used: Callable[[Any, Any], ArrayLike] | Sequence[Any] | str | None = None
) -> EstimatorMethod:
    """A scikit-learn classifier or ``Pipeline`` as a method for ``fsgym.compare``, which charges what it uses.

    Parameters
    ----------
    estimator : classifier
        With ``fit``, ``predict``, ``get_params`` and ``set_params``, such as a ``Pipeline`` or a ``GridSearchCV``. It
        is given an array of the features, or, if it has a ``ColumnTransformer``, the table with its columns by name.
        Without an imputer of its own, an estimator of arrays gets the mean of a column in place of missing values.
    used : callable, sequence or "all", optional
        The columns on which answers depend:

        - a function ``used(fitted, X)``, which returns bool (n_columns,), or (n_samples, n_columns) where it differs by
          row;
        - names or positions of columns, or bool (n_columns,);
        - "all".

        By default those that the steps select: columns are followed through selectors (steps with ``get_support``),
        transformers that keep columns one to one, and the ways of a ``ColumnTransformer``. All columns that reach the
        last step count as used; all columns of the data, if no step selects any. A last step with ``features_used``
        or ``get_support``, such as ``RFECV``, says itself which of them it uses.

    Returns
    -------
    EstimatorMethod

    Raises
    ------
    TypeError, ValueError
        If ``estimator`` is no classifier, ``used`` has another form, or a selector comes after a step that mixes
        columns, such as PCA: then say with ``used`` which columns count.

    Notes
    -----
    In each evaluation the values that do not count as used are replaced by values of training rows. If an answer
    changes, the fit is reported as failed: it would have been charged too little.

    Examples
    --------
    >>> import fsgym
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> best = [make_pipeline(StandardScaler(), SelectKBest(k=k), LogisticRegression()) for k in (1, 3)]
    >>> methods = {"best": [fsgym.as_method(pipeline) for pipeline in best]}
    >>> results = fsgym.compare("wine", methods, splits=1, references=False)
    >>> results["n_features"].tolist(), results["params"].tolist()
    ([1.0, 3.0], ['{"selectkbest__k": 1}', '{"selectkbest__k": 3}'])
    """
    if not is_estimator(estimator):
        what = f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__
        raise TypeError(f"as_method needs a scikit-learn classifier, an instance with fit and predict, got {what}")
    whole = callable(used) or (isinstance(used, str) and used == "all")
    if used is None:
        found = untraceable(estimator)
        if found is not None:
            raise ValueError(
                f"which columns {type(estimator).__name__} uses is unknown, as {found[1]} selects from what {found[0]} "
                "makes of several columns; give used, such as as_method(pipeline, used='all')"
            )
    elif not whole and (isinstance(used, str) or not np.iterable(used)):
        raise TypeError(f"used must be a function used(fitted, X), columns, or 'all', got {brief(used)}")
    return EstimatorMethod(estimator, used if used is None or whole else _plain_arrays(used))


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator of scikit-learn that predicts, and not the class of one."""
    needed = ("fit", "predict", "get_params", "set_params")
    return not isinstance(value, type) and all(hasattr(value, a) for a in needed)


def own_estimator(candidate: Any, dataset: Dataset) -> Any:
    """An estimator of the user with ``features_used``, for the columns of a data set.

    Raises ValueError where ``used`` names columns that it does not have.
    """
    if hasattr(candidate, "features_used") and not isinstance(candidate, EstimatorMethod | Pipeline):
        return candidate
    method = clone(candidate if isinstance(candidate, EstimatorMethod) else as_method(candidate))
    listed = method.used if isinstance(method.used, list | tuple) else ()
    if method.takes_table or listed:
        method.set_params(columns=dataset.columns.to_json())
    if listed:
        _mask_of(listed, len(dataset.columns) if method.takes_table else dataset.n_features, method.columns)
    return method


def settings_of(candidate: Any) -> dict[str, Any]:
    """The class of an estimator and its parameters by name; of a pipeline, those of its steps."""
    if not isinstance(candidate, EstimatorMethod):
        return {"class": type(candidate).__name__, **candidate.get_params(deep=False)}
    inner, nested = candidate.estimator, candidate.estimator.get_params()
    wholes = {"steps", "transformers", "transformer_list"} | {n.partition("__")[0] for n in nested if "__" in n}
    return {
        "class": type(inner).__name__,
        "used": candidate.used,
        **{name: v for name, v in nested.items() if name not in wholes and not hasattr(v, "get_params")},
        **{name: type(v).__name__ for name, v in nested.items() if hasattr(v, "get_params")},
    }


def uses_same_columns(candidate: Any) -> bool:
    """Whether an estimator of the user uses the same columns for every row."""
    if not isinstance(candidate, EstimatorMethod) or callable(candidate.used):
        return False
    return candidate.used is not None or not hasattr(steps_in_order(candidate.estimator)[-1], "features_used")


def _plain_arrays(used: Any) -> list[Any]:
    """Names, positions or truth values as plain Python values."""
    listed = [v.item() if isinstance(v, np.generic) else v for v in used]
    if not listed or len({type(v) for v in listed}) > 1 or not isinstance(listed[0], bool | int | str):
        raise TypeError(f"used must list columns by name, by position or as bool for each column, got {brief(used)}")
    return listed


def _mask_of(listed: Sequence[Any], n_columns: int, columns: list[dict[str, Any]] | None) -> NDArray[np.bool_]:
    """Listed columns as bool (n_columns,), where the estimator takes features or columns of the table."""
    if isinstance(listed[0], bool):
        if len(listed) != n_columns:
            raise ValueError(f"used must have {n_columns} entries, one for each column, got {len(listed)}")
        return np.array(listed)
    if isinstance(listed[0], int):
        beyond = [v for v in listed if not 0 <= v < n_columns]
        if beyond:
            raise ValueError(f"used must hold positions from 0 to {n_columns - 1}, got {beyond[0]}")
        return np.isin(np.arange(n_columns), listed)
    if columns is None:
        raise ValueError(f"used names columns, such as {listed[0]!r}, which a model of arrays has not; give positions")
    table, mask = Columns.from_json(columns), np.zeros(n_columns, dtype=bool)
    for name in listed:
        if name in table.names:
            place = table.names.index(name)
            mask[place if n_columns == len(table.names) else table.column_of == place] = True
        elif n_columns == table.n_features and name in table.feature_names:
            mask[table.feature_names.index(name)] = True
        else:
            raise ValueError(explain_unknown("column", name, table.names))
    return mask
