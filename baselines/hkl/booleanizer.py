"""Transform any table into Boolean columns (literals) with readable names."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from baselines.base import validate_data
from fsgym.sklearn_private import Interval, StrOptions, check_sample_weight, checks_parameters, feature_names_of
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief

LiteralTest = Literal["true", "is", "above", "missing"]


class BooleanLiteral(NamedTuple):
    """One column of 0 and 1: a test of one column of the table."""

    column: int
    test: LiteralTest  # {"true", "is", "above", "missing"}
    value: Any = None  # the level of "is", the threshold of "above"
    negated: bool = False  # the negation of "above" is "at most"; both are 0 if the value is missing

    def describe(self, name: str) -> str:
        """Return the literal in words, such as ``age > 45`` or ``ward = icu``, for a column of this name."""
        if self.test == "above":
            return f"{name} {'<=' if self.negated else '>'} {format_value(self.value)}"
        if self.test == "is":
            return f"{name} {'!=' if self.negated else '='} {format_value(self.value)}"
        text = f"{name} missing" if self.test == "missing" else name
        return f"not {text}" if self.negated else text

    def column_name(self, name: str) -> str:
        """Return the name of this literal as a column: its words, but ``ward=icu`` as in the names of features."""
        if self.test == "is":
            return f"{name}{'!=' if self.negated else '='}{format_value(self.value)}"
        return self.describe(name)


def format_value(value: Any) -> str:
    """Return a level or a threshold as text, without trailing digits."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


class Booleanizer(TransformerMixin, BaseEstimator):
    """Transform a table into columns of 0 and 1: one for each level, or for each side of a threshold.

    A column of 0 and 1 stays as it is. A column of text, or one that is named in ``nominal``, gives one column per
    level (one-hot). Any other column of numbers gives two columns per threshold, above and not above.

    Parameters
    ----------
    n_thresholds : int, default=4
        Maximum number of thresholds of a column, at quantiles of the training rows. Each is the shortest decimal
        between two neighbouring values.
    nominal : {"auto", "all"} or sequence of int or str, default="auto"
        Numeric columns that are treated as levels: only pandas categories ("auto"), all, or these (by index or name).
    negations : bool, default=False
        Whether to add the negations of columns of 0 and 1 and of levels.
    missing : {"refuse", "level"}, default="refuse"
        Whether a missing value (NaN, None) is an error or a level of its own. With "level", all other literals of the
        column are 0 for a missing value, including both sides of a threshold and negations.

    Attributes
    ----------
    literals_ : list of BooleanLiteral
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Examples
    --------
    >>> import pandas as pd
    >>> from baselines import Booleanizer
    >>> people = pd.DataFrame({"age": [31, 62, 55, 44], "smoker": [0, 1, 0, 1], "town": ["A", "B", "A", "B"]})
    >>> booleanizer = Booleanizer(n_thresholds=1).fit(people)
    >>> booleanizer.get_feature_names_out().tolist()
    ['age > 50', 'age <= 50', 'smoker', 'town=A', 'town=B']
    >>> booleanizer.transform(people)[:2].astype(int).tolist()
    [[0, 1, 0, 1, 0], [1, 0, 1, 0, 1]]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_thresholds": [Interval(Integral, 1, None, closed="left")],
        "nominal": [StrOptions({"auto", "all"}), "array-like"],
        "negations": ["boolean"],
        "missing": [StrOptions({"refuse", "level"})],
    }

    def __init__(
        self,
        n_thresholds: int = 4,
        *,
        nominal: Literal["auto", "all"] | Sequence[int | str] = "auto",
        negations: bool = False,
        missing: Literal["refuse", "level"] = "refuse",
    ) -> None:
        self.n_thresholds = n_thresholds
        self.nominal = nominal
        self.negations = negations
        self.missing = missing

    @checks_parameters
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Booleanizer:
        """Find the levels and thresholds of ``X`` (n_samples, n_features); ``y`` is ignored.

        ``sample_weight`` (n_samples,) weighs the quantiles; rows of weight 0 are ignored. Raises ValueError for missing
        values with ``missing="refuse"``, and TypeError for a value that is neither a number nor text.
        """
        categories = {j for j, kind in enumerate(getattr(X, "dtypes", ())) if str(kind) == "category"}  # of pandas
        table = self._validate_table(X, reset=True)
        weight = np.asarray(check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True))
        seen = weight > 0.0
        nominal = self._nominal() | categories
        boolean = boolean_columns(table[seen]) if table.dtype.kind != "O" else np.zeros(table.shape[1], dtype=bool)
        self.literals_ = [
            literal
            for j in range(table.shape[1])
            for literal in (
                [BooleanLiteral(j, "true")]
                if boolean[j] and j not in nominal and not self.negations
                else self._column_literals(j, column_values(table, j)[seen], weight[seen], j in nominal)
            )
        ]
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the literals of ``X``, float64 of 0 and 1, (n_samples, n_literals)."""
        check_is_fitted(self, "literals_")
        return self.columns(self._validate_table(X, reset=False), range(len(self.literals_)))

    def columns(self, table: NDArray, literals: Sequence[int] | range) -> NDArray[np.float64]:
        """Return these literals of a validated table, float64 (n_samples, n_chosen).

        Only the columns of these literals are read.
        """
        chosen = [self.literals_[i] for i in literals]
        result = np.empty((len(table), len(chosen)))
        numeric = table.dtype.kind != "O"
        for test in get_args(LiteralTest):
            of_test = [k for k, literal in enumerate(chosen) if literal.test == test]
            if numeric:  # all columns in one call
                values = table[:, [chosen[k].column for k in of_test]]
                result[:, of_test] = evaluate_literals(test, values, [chosen[k] for k in of_test])
                continue
            for k in of_test:
                values = column_values(table, chosen[k].column)[:, None]
                result[:, [k]] = evaluate_literals(test, values, [chosen[k]])
        return result

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the name of each literal, such as ``age > 45``."""
        check_is_fitted(self, "literals_")
        names = feature_names_of(self, input_features)
        return np.array([literal.column_name(str(names[literal.column])) for literal in self.literals_], dtype=object)

    def _validate_table(self, X: ArrayLike, reset: bool) -> NDArray:
        return validate_literal_table(self, X, reset=reset, missing=self.missing == "level")

    def _nominal(self) -> set[int]:
        n = self.n_features_in_
        if isinstance(self.nominal, str):
            return set(range(n)) if self.nominal == "all" else set()
        names = [str(v) for v in getattr(self, "feature_names_in_", [])]
        nominal = set()
        for which in self.nominal:
            if isinstance(which, str) and which in names:
                nominal.add(names.index(which))
            elif is_integer(which) and 0 <= int(which) < n:
                nominal.add(int(which))
            else:
                raise ValueError(f"nominal must name columns of X, by index below {n} or by name, got {brief(which)}")
        return nominal

    def _column_literals(self, j: int, values: NDArray, weight: NDArray, nominal: bool) -> list[BooleanLiteral]:
        absent = is_missing(values)
        known = values[~absent]
        missing_level = [BooleanLiteral(j, "missing")] if absent.any() else []
        both = (False, True) if self.negations else (False,)
        if known.dtype.kind == "O" or nominal:
            levels = sorted(set(known.tolist()), key=lambda v: (isinstance(v, str), v))
            return [BooleanLiteral(j, "is", level, side) for level in levels for side in both] + missing_level
        known = known.astype(np.float64)
        if np.isin(known, (0.0, 1.0)).all():
            return [BooleanLiteral(j, "true", None, side) for side in both] + missing_level
        cuts = find_thresholds(known, weight[~absent], self.n_thresholds)
        return [BooleanLiteral(j, "above", t, side) for t in cuts for side in (False, True)] + missing_level

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "level"
        return tags


def validate_literal_table(estimator: Any, X: ArrayLike, *, reset: bool, missing: bool) -> NDArray:
    """Return ``X`` as a table of numbers, or of objects if it contains text.

    Raises ValueError for missing values unless ``missing`` allows them.
    """
    finite: Any = "allow-nan" if missing else True
    table = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=finite)
    return table.astype(object) if table.dtype.kind in "US" else table


def evaluate_literals(test: LiteralTest, values: NDArray, literals: Sequence[BooleanLiteral]) -> NDArray[np.bool_]:
    """Return whether literals of one kind are true, bool (n_rows, n_literals).

    ``values`` (n_rows, n_literals) are the values of their columns.
    """
    negated = np.array([literal.negated for literal in literals], dtype=bool)
    absent = is_missing(values)
    if test == "missing":
        return absent != negated
    if test == "is":
        levels = [literal.value for literal in literals]
        words = values.dtype.kind == "O" or any(isinstance(level, str) for level in levels)
        true = (values.astype(object) if words else values) == np.array(levels, dtype=object if words else None)
    else:
        with np.errstate(invalid="ignore"):
            true = values.astype(np.float64) > [0.5 if test == "true" else literal.value for literal in literals]
    return (true != negated) & ~absent


def boolean_columns(table: NDArray) -> NDArray[np.bool_]:
    """Return which columns of a table of numbers hold only 0 and 1, bool (n_features,)."""
    return ((table == 0) | (table == 1)).all(axis=0)


def column_values(table: NDArray, j: int) -> NDArray:
    """Return column ``j`` as numbers if all its values are numbers, otherwise as objects.

    Raises TypeError for a value that is neither a number nor text.
    """
    values = table[:, j]
    if values.dtype.kind != "O":
        return values
    invalid = [v for v in values if not (v is None or isinstance(v, str | bool | int | float | np.number | np.bool_))]
    if invalid:
        raise TypeError(f"argument must be a string or a number, got {type(invalid[0]).__name__} in column {j} of X")
    if any(isinstance(v, str) for v in values):
        return values
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def is_missing(values: NDArray) -> NDArray[np.bool_]:
    """Return which values are NaN or None, bool of the shape of ``values``."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.array([v is None or v != v for v in values.ravel()], dtype=bool).reshape(values.shape)
    return np.zeros(values.shape, dtype=bool)


def find_thresholds(values: NDArray[np.float64], weight: NDArray[np.float64], limit: int) -> list[float]:
    """Return at most ``limit`` thresholds between neighbouring values, at equally spaced quantiles, increasing."""
    levels, index = np.unique(values, return_inverse=True)
    if len(levels) < 2:
        return []
    if len(levels) <= limit + 1:
        chosen = np.arange(len(levels) - 1)
    else:
        share = np.cumsum(np.bincount(index.ravel(), weights=weight))
        wanted = share[-1] * np.arange(1, limit + 1) / (limit + 1)
        chosen = np.unique(np.searchsorted(share, wanted * (1.0 - 1e-12)).clip(max=len(levels) - 2))
    return [shortest_decimal(float(levels[k]), float(levels[k + 1])) for k in chosen]


def shortest_decimal(low: float, high: float) -> float:
    """Return the shortest decimal t near the midpoint with low <= t < high."""
    middle = 0.5 * low + 0.5 * high
    for digits in range(1, 17):
        rounded = float(f"{middle:.{digits}g}")
        if low <= rounded < high:
            return rounded
    return middle if low <= middle < high else low
