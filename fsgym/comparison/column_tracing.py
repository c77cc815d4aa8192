"""Which columns of its input a fitted scikit-learn estimator can use: traced through pipelines and selectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from fsgym.comparison.imputed import accepts_missing

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
