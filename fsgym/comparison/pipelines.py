"""Scikit-learn estimators and pipelines as methods of a comparison: what their answers use, which is what they pay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, clone, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from fsgym.data.columns import Columns
from fsgym.data.dataset import Dataset
from fsgym.text.messages import brief, explain_unknown

# Which columns of its input a fitted scikit-learn estimator can use: traced through pipelines and selectors.

# Transformers with one output per input, each of which depends on all columns of the row.
MIXING_ROWS = ("IterativeImputer", "KNNImputer", "Normalizer", "TfidfTransformer")


class Trace(NamedTuple):
    """Where the outputs of a step come from.

    ``sources``, bool (n_outputs, n_columns), has the columns of the input on which each output depends. ``mixed`` is
    the first step whose outputs depend on several columns, if there is one; ``sources`` then has a single row.
    """

    sources: NDArray[np.bool_]
    mixed: str = ""

    def mixed_by(self, step: Any) -> Trace:
        return Trace(np.atleast_2d(self.sources.any(axis=0)), self.mixed or type(step).__name__)


def columns_used(estimator: Any, X: Any) -> NDArray[np.bool_]:
    """The columns that a fitted classifier uses for each row of ``X``, bool (n_samples, n_columns).

    All that reach its last step, or those of them that this step uses by its own ``features_used`` or ``get_support``.
    """
    *steps, last = steps_in_order(getattr(estimator, "best_estimator_", estimator))
    n_samples, n_columns = np.shape(X)
    trace = reduce(_through, steps, Trace(np.eye(n_columns, dtype=bool)))
    if trace.mixed or not selects(last):
        return np.tile(trace.sources.any(axis=0), (n_samples, 1))
    if hasattr(last, "features_used"):
        reached = reduce(lambda values, step: values if _is_passed(step) else step.transform(values), steps, X)
        return np.asarray(last.features_used(reached), dtype=bool) @ trace.sources
    return np.tile(trace.sources[last.get_support()].any(axis=0), (n_samples, 1))


def untraceable(estimator: Any) -> tuple[str, str] | None:
    """The step that mixes columns and the selector after it, by their classes; None if selectors can be traced.

    A selector says which of its inputs it selects; behind a step that mixes columns, these are no columns of the data.
    """
    found = _walked(_searched(estimator), (), _mixing_after, lambda branches: max(branches, key=len, default=()))
    return found if len(found) == 2 else None


def selects(step: Any) -> bool:
    """Whether a step says which of its inputs it uses."""
    return hasattr(step, "get_support") or hasattr(step, "features_used")


def keeps_columns(step: Any) -> bool:
    """Whether each output of a transformer is one of its inputs, changed by itself."""
    if isinstance(step, SimpleImputer):
        return not step.add_indicator
    if isinstance(step, FunctionTransformer):
        return step.func is None or step.feature_names_out == "one-to-one"
    return isinstance(step, OneToOneFeatureMixin) and type(step).__name__ not in MIXING_ROWS


def accepts_missing_values(estimator: Any) -> bool:
    """Whether no step is given missing values that it does not accept, by its tags and by the imputers before it."""
    missing = _walked(
        _searched(estimator), True, _missing_after, lambda branches: None if None in branches else any(branches)
    )
    return missing is not None


def _searched(estimator: Any) -> Any:
    """The estimator whose parameters a search chooses; other estimators as they are."""
    is_search = hasattr(estimator, "cv") and hasattr(estimator, "refit") and hasattr(estimator, "estimator")
    return estimator.estimator if is_search else estimator


def steps_in_order(estimator: Any) -> list[Any]:
    """The steps of a pipeline, and in their places those of pipelines in it; of another estimator, itself."""
    if not isinstance(estimator, Pipeline):
        return [estimator]
    return [inner for _, step in estimator.steps for inner in steps_in_order(step)]


def _is_passed(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _through(trace: Trace, step: Any) -> Trace:
    """The trace after a fitted step."""
    if _is_passed(step):
        return trace
    if isinstance(step, Pipeline):
        return reduce(_through, (inner for _, inner in step.steps), trace)
    if trace.mixed:
        return trace
    if isinstance(step, ColumnTransformer):
        names = getattr(step, "feature_names_in_", None)
        parts = [
            _through(Trace(trace.sources[_positions_of(columns, names, len(trace.sources))]), inner)
            for _, inner, columns in step.transformers_
            if not (isinstance(inner, str) and inner == "drop")
        ]
        return _concatenated(parts, trace, step)
    if isinstance(step, FeatureUnion):
        parts = [_through(trace, inner) for _, inner in step.transformer_list if inner != "drop"]
        return _concatenated(parts, trace, step)
    if hasattr(step, "get_support"):
        return Trace(trace.sources[step.get_support()])
    if not keeps_columns(step):
        return trace.mixed_by(step)
    names = getattr(step, "feature_names_in_", [f"x{i}" for i in range(len(trace.sources))])
    places = {name: i for i, name in enumerate(names)}
    return Trace(trace.sources[[places[name] for name in step.get_feature_names_out(names)]])


def _concatenated(parts: list[Trace], before: Trace, step: Any) -> Trace:
    """The outputs of steps that work side by side."""
    joined = Trace(np.concatenate([before.sources[:0], *(part.sources for part in parts)]))
    return joined.mixed_by(step) if any(part.mixed for part in parts) else joined


def _positions_of(columns: Any, names: Any, n_columns: int) -> NDArray[np.int64]:
    """The positions of columns that a ``ColumnTransformer`` names in one of its ways."""
    order = pd.Series(np.arange(n_columns), index=None if names is None else list(names))
    by_name = isinstance(columns, str) or any(isinstance(c, str) for c in np.atleast_1d(np.asarray(columns, object)))
    if isinstance(columns, slice):
        by_name = isinstance(columns.start or columns.stop, str)
    return np.atleast_1d(np.asarray(order.loc[columns] if by_name else order.to_numpy()[columns], dtype=np.int64))


def _walked(step: Any, state: Any, after: Callable[[Any, Any], Any], joined: Callable[[list[Any]], Any]) -> Any:
    """The state behind an unfitted estimator: ``after(step, state)`` from step to step, ``joined`` side by side."""
    if isinstance(step, Pipeline):
        return reduce(lambda before, inner: _walked(inner[1], before, after, joined), step.steps, state)
    if isinstance(step, FeatureUnion):
        return joined([_walked(inner, state, after, joined) for _, inner in step.transformer_list])
    if isinstance(step, ColumnTransformer):
        branches = [*(entry[1] for entry in step.transformers), step.remainder]
        return joined([_walked(inner, state, after, joined) for inner in branches])
    return after(step, state)


def _mixing_after(step: Any, found: tuple[str, ...]) -> tuple[str, ...]:
    """The first step that mixes columns, and the first selector behind it, as far as there are any."""
    if len(found) == 2 or isinstance(step, str | None):
        return found
    if selects(step):
        return (*found, type(step).__name__) if found else found
    return found if found or keeps_columns(step) else (type(step).__name__,)


def _missing_after(step: Any, missing: bool | None) -> bool | None:
    """Whether values can be missing after a step; None if a step does not accept those that are."""
    if not missing or _is_passed(step):
        return missing
    if isinstance(step, str) or type(step).__name__.endswith("Imputer"):  # "drop"
        return False
    return True if accepts_missing(step) else None


def accepts_missing(estimator: Any) -> bool:
    """Whether an estimator declares, by its scikit-learn tags, that it accepts NaN."""
    try:
        return bool(get_tags(estimator).input_tags.allow_nan)
    except (AttributeError, TypeError):
        return False


def mean_imputer(X: NDArray) -> Any:
    """An imputer fitted on ``X`` (n_samples, n_features): means in double precision, 0 for a column of NaN."""
    return SimpleImputer(keep_empty_features=True).fit(X.astype(np.float64))


def estimator_has(method: str) -> Callable[[Any], bool]:
    """A condition for ``available_if``: whether the wrapped classifier has a method."""
    return lambda imputed: hasattr(imputed.estimator, method)


class WrappedPredictions:
    """Predictions of a fitted ``estimator_``, on inputs in the form that ``_shown`` returns."""

    estimator_: Any
    _shown: Callable[[Any], Any]

    def predict(self, X: NDArray) -> NDArray:
        return self.estimator_.predict(self._shown(X))

    @available_if(estimator_has("predict_proba"))
    def predict_proba(self, X: NDArray) -> NDArray:
        return self.estimator_.predict_proba(self._shown(X))

    @available_if(estimator_has("decision_function"))
    def decision_function(self, X: NDArray) -> NDArray:
        return self.estimator_.decision_function(self._shown(X))


class ImputedMean(WrappedPredictions, ClassifierMixin, BaseEstimator):
    """A classifier for which each missing value is replaced by its column's mean over the training part.

    Parameters
    ----------
    estimator : classifier with ``features_used``

    Notes
    -----
    ``features_used`` is that of the classifier, and includes missing values; ``evaluate`` charges nothing for those.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = get_tags(self.estimator).estimator_type
        return tags

    def fit(self, X: NDArray, y: NDArray) -> ImputedMean:
        self.imputer_ = mean_imputer(X)
        self.estimator_ = clone(self.estimator).fit(self.imputer_.transform(X), y)
        if not is_regressor(self.estimator):
            self.classes_ = self.estimator_.classes_
        return self

    def features_used(self, X: NDArray) -> NDArray[np.bool_]:
        return self.estimator_.features_used(self._shown(X))

    def _shown(self, X: NDArray) -> NDArray:
        return self.imputer_.transform(X)


MAX_CHECKED_ROWS = 1000  # training rows whose values take the place of those that do not count as used


def refuse_other_columns(
    predict: Callable[[NDArray], NDArray], X: NDArray, used: NDArray[np.bool_], values: NDArray
) -> None:
    """ValueError where an answer to ``X`` changes as values that do not count as used are replaced by ``values``."""
    others = values[np.arange(1, len(X) + 1) % len(values)]  # of another row, also on training rows
    changed = predict(np.where(used, X, others)) != predict(X)
    if changed.any():
        raise ValueError(
            f"answers must depend on the columns that count as used alone, but {changed.sum()} of {len(X)} changed "
            "when the values of the other columns were replaced; say with used which columns the answers depend on"
        )


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
        tags.estimator_type = get_tags(self.estimator).estimator_type
        tags.input_tags.allow_nan = self.takes_table or accepts_missing_values(self.estimator)
        return tags

    def fit(self, X: NDArray, y: NDArray) -> EstimatorMethod:
        """Fit on ``X`` (n_samples, n_features) and labels ``y`` (n_samples,)."""
        self.estimator_ = clone(self.estimator).fit(self._shown(X), y)
        if not is_regressor(self.estimator):
            self.classes_ = self.estimator_.classes_
        self.values_ = np.array(X[:MAX_CHECKED_ROWS])
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
        refuse_other_columns(self.predict, X, used, self.values_)
        return used

    def _shown(self, X: NDArray) -> Any:
        """``X`` as the estimator takes it: itself, or the table whose columns its features encode."""
        if self.columns is None or not self.takes_table:
            return X
        columns = Columns.from_json(self.columns)
        table = columns.decode(np.asarray(X - columns.offsets, dtype=np.float32))
        return table.where(table.notna(), np.nan)

    @property
    def uses_same_columns(self) -> bool:
        """Whether it uses the same columns for every row."""
        if self.used is None:
            return not hasattr(steps_in_order(self.estimator)[-1], "features_used")
        return not callable(self.used)

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
