"""Any table as one of 0 and 1 whose columns have names that a person reads: literals."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, _check_sample_weight, check_is_fitted

from baselines.linear import validate_data

Test = Literal["true", "is", "above", "missing"]


class BooleanLiteral(NamedTuple):
    """One column of 0 and 1: a test of one column of the table.

    Attributes
    ----------
    column : int
    test : {"true", "is", "above", "missing"}
    value : the level of "is", the threshold of "above"
    negated : bool; the negation of "above" is "at most", and both are 0 where the value is missing
    """

    column: int
    test: Test
    value: Any = None
    negated: bool = False

    def told(self, name: str) -> str:
        """What a rule says, with the name of the column."""
        if self.test == "above":
            return f"{name} {'<=' if self.negated else '>'} {plain(self.value)}"
        if self.test == "is":
            return f"{name}{'!=' if self.negated else '='}{plain(self.value)}"
        told = f"{name} missing" if self.test == "missing" else name
        return f"not {told}" if self.negated else told


def plain(value: Any) -> str:
    """A level or a threshold, without digits that say nothing."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


class Booleanizer(TransformerMixin, BaseEstimator):
    """Columns of 0 and 1 from any table: one for each level, or for each side of a threshold.

    A column of 0 and 1 stays as it is. A column of text, or one that is named in ``nominal``, gives one column a level
    (one-hot). Any other column of numbers gives two columns a threshold, above and not above.

    Parameters
    ----------
    n_thresholds : int, default=4
        Most thresholds of a column, at quantiles of the training rows. Each lies between two neighbouring values, at
        the shortest decimal that does.
    nominal : {"auto", "all"} or sequence of int or str, default="auto"
        Columns of numbers that are names of levels: none but pandas categories, all, or these (by index or name).
    negations : bool, default=False
        Whether columns of 0 and 1, and levels, come negated too.
    missing : {"refuse", "level"}, default="refuse"
        Whether a missing value (NaN, None) is an error, or a level of its own. With "level" nothing else holds of a
        missing value, neither side of a threshold nor a negation.

    Attributes
    ----------
    literals_ : list of BooleanLiteral
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), where ``X`` had names

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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Booleanizer:
        """Find levels and thresholds of ``X`` (n_samples, n_features); ``y`` is ignored.

        ``sample_weight`` (n_samples,) counts in the quantiles; rows of weight 0 are not seen. Raises ValueError for a
        missing value where those are refused, TypeError for a value that is neither a number nor text.
        """
        categories = _categories(X)
        table = self._checked(X, reset=True)
        weight = np.asarray(_check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True))
        seen = weight > 0.0
        nominal = self._nominal() | categories
        boolean = zero_one(table[seen]) if table.dtype.kind != "O" else np.zeros(table.shape[1], dtype=bool)
        self.literals_ = [
            literal
            for j in range(table.shape[1])
            for literal in (
                [BooleanLiteral(j, "true")]
                if boolean[j] and j not in nominal and not self.negations
                else self._of_column(j, column(table, j)[seen], weight[seen], j in nominal)
            )
        ]
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """The literals of ``X``, float64 of 0 and 1, (n_samples, n_literals)."""
        check_is_fitted(self, "literals_")
        return self.of(X, range(len(self.literals_)))

    def of(self, X: ArrayLike, literals: Sequence[int] | range) -> NDArray[np.float64]:
        """These literals of ``X`` alone, (n_samples, n_chosen); other columns are checked, but not looked at."""
        return self._of(self._checked(X, reset=False), literals)

    def _of(self, table: NDArray, literals: Sequence[int] | range) -> NDArray[np.float64]:
        chosen = [self.literals_[i] for i in literals]
        found = np.empty((len(table), len(chosen)))
        plain_table = table.dtype.kind != "O"
        for test in get_args(Test):
            mine = [k for k, literal in enumerate(chosen) if literal.test == test]
            if plain_table:  # all at once
                found[:, mine] = holds(test, table[:, [chosen[k].column for k in mine]], [chosen[k] for k in mine])
                continue
            for k in mine:
                found[:, [k]] = holds(test, column(table, chosen[k].column)[:, None], [chosen[k]])
        return found

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """What each literal says, such as ``age > 45``."""
        check_is_fitted(self, "literals_")
        names = _check_feature_names_in(self, input_features)
        return np.array([literal.told(str(names[literal.column])) for literal in self.literals_], dtype=object)

    def _checked(self, X: ArrayLike, reset: bool) -> NDArray:
        return checked_table(self, X, reset=reset, missing=self.missing == "level")

    def _nominal(self) -> set[int]:
        n = self.n_features_in_
        if isinstance(self.nominal, str):
            return set(range(n)) if self.nominal == "all" else set()
        names = [str(v) for v in getattr(self, "feature_names_in_", [])]
        found = set()
        for which in self.nominal:
            if isinstance(which, str) and which in names:
                found.add(names.index(which))
            elif not isinstance(which, str) and 0 <= int(which) < n:
                found.add(int(which))
            else:
                raise ValueError(f"nominal must name columns of X, by index below {n} or by name, got {which!r}")
        return found

    def _of_column(self, j: int, values: NDArray, weight: NDArray, nominal: bool) -> list[BooleanLiteral]:
        lost = missing(values)
        known = values[~lost]
        gone = [BooleanLiteral(j, "missing")] if lost.any() else []
        both = (False, True) if self.negations else (False,)
        if known.dtype.kind == "O" or nominal:
            levels = sorted(set(known.tolist()), key=lambda v: (isinstance(v, str), v))
            return [BooleanLiteral(j, "is", level, side) for level in levels for side in both] + gone
        known = known.astype(np.float64)
        if np.isin(known, (0.0, 1.0)).all():
            return [BooleanLiteral(j, "true", None, side) for side in both] + gone
        found = thresholds(known, weight[~lost], self.n_thresholds)
        return [BooleanLiteral(j, "above", t, side) for t in found for side in (False, True)] + gone

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "level"
        return tags


def _categories(X: Any) -> set[int]:
    """Columns that pandas calls categories."""
    return {j for j, kind in enumerate(getattr(X, "dtypes", ())) if str(kind) == "category"}


def checked_table(estimator: Any, X: ArrayLike, *, reset: bool, missing: bool) -> NDArray:
    """``X`` as a table of numbers, or of objects where it holds text; missing values only where they are allowed."""
    finite: Any = "allow-nan" if missing else True
    table = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=finite)
    return table.astype(object) if table.dtype.kind in "US" else table


def holds(test: Test, values: NDArray, literals: Sequence[BooleanLiteral]) -> NDArray[np.bool_]:
    """Whether literals of one kind hold, bool (n_rows, n_literals); ``values`` are those of their columns."""
    negated = np.array([literal.negated for literal in literals], dtype=bool)
    lost = missing(values)
    if test == "missing":
        return lost != negated
    if test == "is":
        levels = [literal.value for literal in literals]
        words = values.dtype.kind == "O" or any(isinstance(level, str) for level in levels)
        found = (values.astype(object) if words else values) == np.array(levels, dtype=object if words else None)
    else:
        with np.errstate(invalid="ignore"):
            found = values.astype(np.float64) > [0.5 if test == "true" else literal.value for literal in literals]
    return (found != negated) & ~lost


def zero_one(table: NDArray) -> NDArray[np.bool_]:
    """Which columns of numbers hold 0 and 1 and nothing else."""
    return ((table == 0) | (table == 1)).all(axis=0)


def column(table: NDArray, j: int) -> NDArray:
    """A column as numbers where all its values are, else as objects; TypeError for what is neither number nor text."""
    values = table[:, j]
    if values.dtype.kind != "O":
        return values
    strange = [v for v in values if not (v is None or isinstance(v, str | bool | int | float | np.number | np.bool_))]
    if strange:
        raise TypeError(f"argument must be a string or a number, got {type(strange[0]).__name__} in column {j} of X")
    if any(isinstance(v, str) for v in values):
        return values
    return np.array([np.nan if v is None else v for v in values], dtype=np.float64)


def missing(values: NDArray) -> NDArray[np.bool_]:
    """Which values are NaN or None."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.array([v is None or v != v for v in values.ravel()], dtype=bool).reshape(values.shape)
    return np.zeros(values.shape, dtype=bool)


def thresholds(values: NDArray[np.float64], weight: NDArray[np.float64], most: int) -> list[float]:
    """At most ``most`` thresholds between neighbouring values, at quantiles of equal steps; rising."""
    levels, index = np.unique(values, return_inverse=True)
    if len(levels) < 2:
        return []
    if len(levels) <= most + 1:
        chosen = np.arange(len(levels) - 1)
    else:
        share = np.cumsum(np.bincount(index.ravel(), weights=weight))
        wanted = share[-1] * np.arange(1, most + 1) / (most + 1)
        chosen = np.unique(np.searchsorted(share, wanted * (1.0 - 1e-12)).clip(max=len(levels) - 2))
    return [between(float(levels[k]), float(levels[k + 1])) for k in chosen]


def between(low: float, high: float) -> float:
    """The shortest decimal t near the middle with low <= t < high."""
    middle = 0.5 * low + 0.5 * high
    for digits in range(1, 17):
        rounded = float(f"{middle:.{digits}g}")
        if low <= rounded < high:
            return rounded
    return middle if low <= middle < high else low
