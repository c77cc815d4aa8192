"""A small summary of the rows that trained a model, and tests of whether other rows differ from them.

Nothing but counts is kept: of each column the missing values, the levels, and how many values are at most each of 50
cuts. All tests of a batch are valid for any data and corrected together, so that of the batches that do not differ at
most 5 % are said to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import UnmatchedCells, level_codes
from fsgym.data.columns import Column, Columns
from fsgym.data.targets import NumberInWords
from fsgym.text.messages import brief, listing

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05  # of all tests of a batch together
SHARES = {"classes": 0.2, "errors": 0.2}  # of this level, for one test beside the many of columns; by hand
MAX_COLUMNS = 100  # in a summary, those first that are acquired most often; by hand, for some 50 KB
MAX_CUTS = 50  # of a column; the Kolmogorov-Smirnov distance at 50 quantiles is at most .02 below the true one
MAX_LEVELS = 200  # of a column; one with more is compared by its missing values alone
FACTORS = (10.0, 60.0, 100.0, 1000.0, 3600.0)  # between units, as g and mg
LEAST_RATIO, MOST_RATIO = 2.0, 10_000.0  # of the medians, between which another factor is looked for, as 2.54 or 18
FEWEST_VALUES = 10  # distinct ones, that can show such a factor; by hand
FITS_AT = 0.01  # p-value: divided by a factor, values that do not differ at this level look like it
COLUMNS_SAID, MAX_ROWS = 3, 2**53  # columns that the sentence explains; rows that a file may speak of


class ColumnSummary(NamedTuple):
    """One column in the rows of a training."""

    name: str
    n_acquired: int  # the rows for which the model acquires it
    n_missing: int  # the rows without a value
    # of numbers: some values in rising order, from the lowest to the highest, less the offset of the column
    cuts: tuple[float, ...]
    # of numbers the rows with a value of at most each cut, otherwise the rows of each level; of bools False and True
    counts: tuple[int, ...]


class Difference(NamedTuple):
    """How one column of other rows differs from the training rows, or their classes, or the errors of the model."""

    column: str  # "" for the classes and the errors
    # "values" (their distribution), "range" (values outside it), "levels" (their shares), "new level", "missing",
    # "classes", "errors" (more, or larger ones, than on rows held out)
    kinds: tuple[str, ...]
    p_value: float  # the lowest of the tests of this column, corrected for all tests of the batch
    n_rows: int  # the rows that show it: outside the range, of a new level, without a value, wrong; else all
    factor: float | None  # by which the values were multiplied, as it looks
    text: str  # what differs in words


@dataclass(frozen=True)
class Comparison:
    """How other rows differ from those that trained a model."""

    # what was compared
    n_rows: int
    n_columns: int
    n_tests: int
    differences: tuple[Difference, ...]  # columns first that the model acquires most often; none where nothing differs
    errors_tested: bool = False  # whether the errors of the model were among the tests
    emptied: tuple[str, ...] = ()  # the columns of the differences in which more values are missing than in training

    def sentence(self, what: str) -> str:
        """What differs, on one line; "" if nothing does. ``what`` names the rows, as the file."""
        if not self.differences:
            return ""
        named = [d for d in self.differences if d.column]
        said = [f"{d.column} {d.text}" if d.column else d.text for d in self.differences[:COLUMNS_SAID]]
        others = [d.column or f"the {d.kinds[0]}" for d in self.differences[COLUMNS_SAID:]]
        where = f" in {len(named)} of {self.n_columns} columns" if named else ""
        more = f"; and {listing(others, 6)}" if others else ""
        return f"{what} differs from the training rows{where}: {'; '.join(said)}{more}"

    def as_json(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        listed = [d._asdict() | {"kinds": list(d.kinds)} for d in self.differences]
        counts = {"rows": self.n_rows, "columns": self.n_columns, "tests": self.n_tests}
        return counts | {"errors_tested": self.errors_tested, "differences": listed}


class _Test(NamedTuple):
    """One test: what it is of, its p-value, and the rows that show a difference."""

    column: str
    kind: str
    p_value: float
    n_rows: int


@dataclass(frozen=True)
class TrainingSummary:
    """The rows that trained a model, or a random sample of them, in counts.

    Attributes
    ----------
    n_rows : int
    classes : tuple of int, the rows of each class
    answers : tuple of int, the rows of each answer of the model
    columns : tuple of ColumnSummary
        At most 100, in the order of the table.

    Examples
    --------
    >>> columns = Columns([Column("pulse", low=40, high=100), Column("ward", "category", ("er", "gp"))])
    >>> rng = np.random.default_rng(0)
    >>> X = np.stack([rng.normal(70, 9, 500), rng.integers(2, size=500)], axis=1).astype(np.float32)
    >>> y = rng.integers(2, size=500)
    >>> summary = TrainingSummary.of(columns, X[:400], y[:400], y[:400], np.ones((400, 2), bool), 2, 2)
    >>> summary.compare(columns, X[400:]).differences
    ()
    >>> print(summary.compare(columns, X[400:] * np.float32([1 / 60, 1])).differences[0].text)
    looks like a factor of 1/60: median 1.161, in training 69.8; 100 of 100 values outside its range, such as 1.1126
    """

    n_rows: int
    classes: tuple[int, ...]
    answers: tuple[int, ...]
    columns: tuple[ColumnSummary, ...]

    @classmethod
    def of(
        cls,
        columns: Columns,
        X: NDArray[np.float32],
        y: NDArray[np.int64],
        answers: NDArray[np.int64],
        acquired: NDArray[np.bool_],
        n_classes: int,
        n_answers: int,
    ) -> Self:
        """The summary of n rows.

        Parameters
        ----------
        columns : Columns
        X : float32 (n, n_features), NaN where missing
        y, answers : int64 (n,), class codes, and those of the answers of the model
        acquired : bool (n, n_columns), what it acquires
        n_classes, n_answers : int
        """
        n_acquired = acquired.sum(axis=0)
        chosen = np.sort(np.argsort(-n_acquired, kind="stable")[:MAX_COLUMNS])
        each = [_summary_of(columns[k], X[:, columns.features[k]], int(n_acquired[k])) for k in chosen.tolist()]
        by_class, by_answer = np.bincount(y, minlength=n_classes), np.bincount(answers, minlength=n_answers)
        return cls(len(X), tuple(by_class.tolist()), tuple(by_answer.tolist()), tuple(each))

    def compare(
        self,
        columns: Columns,
        X: NDArray[np.float32],
        y: NDArray[np.int64] | None = None,
        *,
        classes: Sequence[Any] = (),
        unmatched: Mapping[str, UnmatchedCells] | None = None,
        all_columns: bool = False,
        absent: Collection[str] = (),
        errors: Difference | None = None,
    ) -> Comparison:
        """How other rows differ.

        Numbers are compared by the two-sample test of Kolmogorov and Smirnov at the cuts, and by how many are beyond
        the lowest and the highest; shares of levels, missing values and classes by Fisher's exact test. The p-values
        are corrected together (Holm, 1979), so that they hold for each batch, whatever the table is.

        Parameters
        ----------
        columns : Columns, those of the model
        X : float32 (m, n_features), NaN where missing
        y : int64 (m,), class codes, optional
        classes : labels of the classes, for the words
        unmatched : mapping name -> UnmatchedCells, the cells of levels that training did not have
        all_columns : bool, whether columns count that the model does not acquire for the rows of its training
        absent : names of columns that are not compared, since the table lacks them
        errors : Difference, the test of the errors, of which the p-value is not corrected yet
        """
        features = dict(zip(columns.names, zip(columns, columns.features, strict=True), strict=True))
        compared = [s for s in self.columns if (s.n_acquired or all_columns) and s.name not in absent]
        tests: list[_Test] = []
        for summary in compared:
            column, places = features[summary.name]
            new = None if unmatched is None else unmatched.get(summary.name)
            tests += _tests_of(summary, column, X[:, places], 0 if new is None else new.n_cells, self.n_rows)
        by_class = None if y is None else np.bincount(y, minlength=len(self.classes))
        if by_class is not None:
            tests.append(_Test("", "classes", _least_p(self.classes, by_class, self.n_rows, len(X)), len(X)))
        if errors is not None:
            tests.append(_Test("", "errors", errors.p_value, errors.n_rows))
        found: dict[str, list[_Test]] = {}
        for test, p_value in zip(tests, _corrected(tests)):
            if p_value <= LEVEL:
                found.setdefault(test.column or test.kind, []).append(test._replace(p_value=p_value))
        differences = []
        for summary in sorted((s for s in compared if s.name in found), key=lambda s: -s.n_acquired):
            column, places = features[summary.name]
            new = None if unmatched is None else unmatched.get(summary.name)
            differences.append(_difference(found[summary.name], summary, column, X[:, places], new, self.n_rows))
        if errors is not None and "errors" in found:
            differences.append(errors._replace(p_value=found["errors"][0].p_value))
        if by_class is not None and "classes" in found:
            names = classes or range(len(by_class))
            what = "target is" if isinstance(names[0], NumberInWords) else "class"
            text = f"the {what} {_shares_in_words(self.classes, by_class, names)}"
            differences.append(Difference("", ("classes",), found["classes"][0].p_value, len(X), None, text))
        empty = [
            s.name
            for s in compared
            if any(
                test.kind == "missing" and test.n_rows * self.n_rows > s.n_missing * len(X)
                for test in found.get(s.name, ())
            )
        ]
        return Comparison(len(X), len(compared), len(tests), tuple(differences), errors is not None, tuple(empty))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        listed = [s._asdict() | {"cuts": list(s.cuts), "counts": list(s.counts)} for s in self.columns]
        return {
            "n_rows": self.n_rows,
            "classes": list(self.classes),
            "answers": list(self.answers),
            "columns": listed,
        }

    @classmethod
    def from_json(cls, plain: Any, columns: Columns, n_classes: int, n_answers: int) -> Self:
        """What ``to_json`` wrote for a model with these columns; KeyError, ValueError or TypeError if it is damaged."""
        n_rows, known = plain["n_rows"], {column.name: column for column in columns}
        if type(n_rows) is not int or not 0 < n_rows <= MAX_ROWS:
            raise ValueError("the summary of the training must have a number of rows")
        classes, answers = (_counts(plain[name], n_rows) for name in ("classes", "answers"))
        if (len(classes), len(answers)) != (n_classes, n_answers) or not sum(classes) == sum(answers) == n_rows:
            raise ValueError("the summary of the training must have the rows of each class")
        listed = tuple(_read_column(value, known, n_rows) for value in plain["columns"])
        if len({summary.name for summary in listed}) != len(listed):
            raise ValueError("the summary of the training has a column twice")
        return cls(n_rows, classes, answers, listed)


def _counts(values: Any, most: int) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(type(v) is int and 0 <= v <= most for v in values):
        raise ValueError("the summary of the training must have counts of its rows")
    return tuple(values)


def _read_column(plain: Any, known: Mapping[str, Column], n_rows: int) -> ColumnSummary:
    if not isinstance(plain, dict) or set(plain) != set(ColumnSummary._fields) or plain["name"] not in known:
        raise ValueError("the summary of the training has an unknown column")
    n_acquired, n_missing = _counts([plain["n_acquired"], plain["n_missing"]], n_rows)
    counts, cuts, column = _counts(plain["counts"], n_rows), plain["cuts"], known[plain["name"]]
    given = n_rows - n_missing
    if column.kind == "number":
        return ColumnSummary(column.name, n_acquired, n_missing, *read_cuts(cuts, counts, given))
    if cuts != [] or (counts and (len(counts) != _n_levels(column) or sum(counts) != given)):
        raise ValueError("the summary of the training must have the rows of each level")
    return ColumnSummary(column.name, n_acquired, n_missing, (), counts)


def read_cuts(cuts: Any, counts: Sequence[int], n: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """What ``cuts_and_counts`` gave of n values, read from JSON; ValueError where the cuts are damaged."""
    numbers = np.array(cuts, np.float64) if isinstance(cuts, list) and all(_is_number(v) for v in cuts) else None
    if numbers is None or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
        raise ValueError("the summary of the training must have cuts in rising order")
    if len(cuts) != len(counts) or list(counts) != sorted(counts) or (counts[-1] if counts else 0) != n:
        raise ValueError("the summary of the training must have the rows at most each cut")
    return tuple(map(float, cuts)), tuple(counts)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < float(np.finfo(np.float32).max)


def unmatched_cells(columns: Columns, table: pd.DataFrame) -> dict[str, UnmatchedCells]:
    """The cells of a table whose level the columns do not have, by column."""
    found = {}
    for column in columns:
        if column.levels and column.name in table.columns:
            unmatched = level_codes(table[column.name], column.levels)[1]
            if unmatched is not None:
                found[column.name] = unmatched
    return found


# How a column is counted.


def _n_levels(column: Column) -> int:
    return 2 if column.kind == "bool" else len(column.levels)


def _level_counts(column: Column, x: NDArray[np.float32]) -> NDArray[np.int64]:
    """The rows of each level, int64 (n_levels,), of features (m, n_features of this column)."""
    n_levels, given = _n_levels(column), x[~np.isnan(x[:, 0])]
    if x.shape[1] > 1:
        return given.sum(axis=0).astype(np.int64)
    codes = given[:, 0].astype(np.int64)
    return np.bincount(codes[(codes >= 0) & (codes < n_levels)], minlength=n_levels)


def _summary_of(column: Column, x: NDArray[np.float32], n_acquired: int) -> ColumnSummary:
    n_missing = int(np.isnan(x[:, 0]).sum())
    if column.kind != "number":
        counts = _level_counts(column, x).tolist() if _n_levels(column) <= MAX_LEVELS else ()
        return ColumnSummary(column.name, n_acquired, n_missing, (), tuple(counts))
    return ColumnSummary(column.name, n_acquired, n_missing, *cuts_and_counts(x[:, 0]))


def cuts_and_counts(x: NDArray[np.float32]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Some of the values in rising order, from the lowest to the highest, and how many are at most each; without NaN.

    >>> cuts_and_counts(np.float32([3, 1, np.nan, 1]))
    ((1.0, 3.0), (2, 3))
    """
    given = np.sort(x[~np.isnan(x)]) + np.float32(0)  # without -0
    cuts = np.unique(given)
    if len(cuts) > MAX_CUTS:
        cuts = np.unique(given[np.linspace(0, len(given) - 1, MAX_CUTS).round().astype(np.int64)])
    counts = np.searchsorted(given, cuts, side="right")
    return tuple(float(str(v)) for v in cuts), tuple(counts.tolist())


# The tests.


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """P-values corrected for their number (Holm, 1979), float64 (n,).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1.0)
    return corrected


def _corrected(tests: Sequence[_Test]) -> list[float]:
    """P-values corrected together; the classes and the errors, the last tests, each have a part of the level."""
    of_rows = [test for test in tests if test.kind in SHARES]
    columns = [test.p_value for test in tests[: len(tests) - len(of_rows)]]
    of_columns = holm(columns) / (1 - sum(SHARES[test.kind] for test in of_rows))
    return [*of_columns.clip(max=1.0).tolist(), *(min(test.p_value / SHARES[test.kind], 1.0) for test in of_rows)]


def share_p_values(k: Any, n: Any, new: Any, m: Any) -> NDArray[np.float64]:
    """Two-sided p-values of Fisher's exact test that shares are equal: ``k`` of ``n`` rows, ``new`` of ``m`` others.

    >>> share_p_values(0, 1000, [1, 5], 300).round(5).tolist()
    [0.46154, 0.00128]
    """
    from scipy.stats import hypergeom

    k, new = np.asarray(k), np.asarray(new)
    at_most = hypergeom.cdf(new, n + m, k + new, m)
    return np.minimum(2 * np.minimum(at_most, higher_share_p_values(k, n, new, m)), 1.0)


def higher_share_p_values(k: Any, n: Any, new: Any, m: Any) -> NDArray[np.float64]:
    """As ``share_p_values``, that the share of the others is not higher: one-sided."""
    from scipy.stats import hypergeom

    k, new = np.asarray(k), np.asarray(new)
    return hypergeom.sf(new - 1, n + m, k + new, m)


def _least_p(k: Any, new: Any, n: int, m: int) -> float:
    """The lowest p-value of several shares, corrected for their number (Bonferroni)."""
    return float(min(share_p_values(k, n, new, m).min() * np.size(k), 1.0)) if n and m else 1.0


def count_at_most(cuts: NDArray[np.float32], x: NDArray[np.float32]) -> NDArray[np.int64]:
    """How many values are at most each cut, int64 (n_cuts,)."""
    return np.bincount(np.searchsorted(cuts, x), minlength=len(cuts) + 1)[: len(cuts)].cumsum()


def _number_p_values(summary: ColumnSummary, x: NDArray[np.float32]) -> tuple[float, float]:
    """P-values of the distribution of the values ``x``, and of how many are outside the range; both are upper bounds.

    The largest distance of the two distributions at the cuts is at most that over all values. Any k of the n + m values
    are equally likely to be the largest.
    """
    from scipy.special import gammaln, kolmogorov

    cuts, n, m = np.array(summary.cuts, np.float32), summary.counts[-1], len(x)
    at_most = count_at_most(cuts, x)
    distance = np.abs(at_most / m - np.array(summary.counts) / n).max()
    outside = np.array([(x < cuts[0]).sum(), m - at_most[-1]])
    log_p = gammaln(m + 1) - gammaln(m - outside + 1) - gammaln(n + m + 1) + gammaln(n + m - outside + 1)
    return float(kolmogorov(distance * np.sqrt(n * m / (n + m)))), float(min(2 * np.exp(log_p).min(), 1.0))


def _tests_of(
    summary: ColumnSummary, column: Column, x: NDArray[np.float32], n_new: int, n_rows: int
) -> Iterator[_Test]:
    """The tests of one column of m rows, of which ``n_new`` have a new level; one that cannot tell anything is none."""
    m, n, name = len(x), n_rows - summary.n_missing, column.name
    given = x[~np.isnan(x[:, 0])]
    n_missing = m - len(given) - n_new
    if m and (n_missing or summary.n_missing):
        p_value = _least_p(summary.n_missing, n_missing, n_rows, m)
        yield _Test(name, "missing", p_value, n_missing)
    if n_new:
        yield _Test(name, "new level", _least_p(0, n_new, n, len(given) + n_new), n_new)
    if not n or not len(given) or not summary.counts:
        return
    if column.kind == "number":
        values, outside = _number_p_values(summary, given[:, 0])
        yield _Test(name, "values", values, m)
        yield _Test(name, "range", outside, int(_outside(column, given[:, 0]).sum()))
    else:
        yield _Test(name, "levels", _least_p(summary.counts, _level_counts(column, x), n, len(given) + n_new), m)


def _outside(column: Column, x: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Which values are outside the range of all training rows, up to one step of float32, in which it was measured."""
    if column.low is None or column.high is None:
        return np.zeros(len(x), bool)
    low, high = (np.float32(bound - column.offset) for bound in (column.low, column.high))
    return (x < np.nextafter(low, np.float32(-np.inf))) | (x > np.nextafter(high, np.float32(np.inf)))


# What differs, in words.


def _difference(
    tests: Sequence[_Test],
    summary: ColumnSummary,
    column: Column,
    x: NDArray[np.float32],
    new: UnmatchedCells | None,
    n_rows: int,
) -> Difference:
    """The difference of a column, of which these tests were significant."""
    kinds, factor = tuple(test.kind for test in tests), None
    m, given, parts = len(x), x[~np.isnan(x[:, 0])], []
    if "missing" in kinds:
        n_missing = m - len(given) - (0 if new is None else new.n_cells)
        rows = "any row" if n_missing == m else f"{percent_text(n_missing / m)} of the rows"
        parts.append(f"has no value in {rows}, {percent_text(summary.n_missing / n_rows)} in training")
    if "new level" in kinds and new is not None:
        first = brief(new.texts[0])
        parts.append(f"has a level that training did not in {new.n_cells:,} of {m:,} rows, such as {first}")
        parts += _gone_in_words(summary, column, x)
    if "levels" in kinds and "new level" not in kinds:
        counts, names = _level_counts(column, x), column.levels or ("False", "True")
        parts.append(f"has {_shares_in_words(summary.counts, counts, names)}")
    if {"values", "range"} & {*kinds}:
        factor = _factor(summary, column, given[:, 0])
        parts.append(_values_in_words(summary, column, given[:, 0], factor))
    counted = [test.n_rows for test in tests if test.n_rows]
    return Difference(
        column.name, kinds, min(test.p_value for test in tests), min(counted, default=0), factor, ", ".join(parts)
    )


def _gone_in_words(summary: ColumnSummary, column: Column, x: NDArray[np.float32]) -> list[str]:
    """The most frequent level of the training that is gone, if one is; a new one may be its new name."""
    if not summary.counts:
        return []
    counts = np.where(_level_counts(column, x) == 0, summary.counts, 0)
    most = int(counts.argmax())
    if _least_p(counts[most], 0, sum(summary.counts), len(x)) > LEVEL:
        return []
    names, share = column.levels or ("False", "True"), counts[most] / sum(summary.counts)
    return [f"and none with {brief(names[most])}, {percent_text(share)} in training"]


def _values_in_words(summary: ColumnSummary, column: Column, x: NDArray[np.float32], factor: float | None) -> str:
    outside = x[_outside(column, x)]
    new, before = (f"{v + column.offset:.4g}" for v in (float(np.median(x)), _median(summary)))
    if factor is not None:
        text = f"looks like a factor of {_factor_text(factor)}: median {new}, in training {before}"
    elif len(x) > 1 and (x == x[0]).all() and len(summary.cuts) > 1:
        text = f"is {new} in all of {len(x):,} rows, in training the median is {before}"
    else:
        text = f"has the median {new}, in training {before}"
    if not len(outside):
        return text
    example = column.number_text(outside[0])
    return f"{text}; {len(outside):,} of {len(x):,} values outside its range, such as {example}"


def _factor_text(factor: float) -> str:
    return f"{factor:.6g}" if factor >= 1 else f"1/{1 / factor:.6g}"


def _median(summary: ColumnSummary) -> float:
    """The first cut with at least half of the values at or below it."""
    return summary.cuts[int(np.searchsorted(summary.counts, summary.counts[-1] / 2))]


def _factor(summary: ColumnSummary, column: Column, x: NDArray[np.float32]) -> float | None:
    """The factor between two units by which the values were multiplied, as it looks; None if there is none.

    Divided by it they do not differ from the training; of several, the one at which they differ least.
    """
    numbers = x.astype(np.float64) + column.offset
    ratio = np.median(numbers) / middle if (middle := _median(summary) + column.offset) else 0.0
    is_factor = LEAST_RATIO <= max(ratio, 1 / ratio) <= MOST_RATIO if ratio > 0 else False
    other = [float(f"{ratio:.3g}")] if is_factor and len(np.unique(x)) >= FEWEST_VALUES else []
    for candidates in ([*FACTORS, *(1 / f for f in FACTORS)], other):
        fits = {}
        for factor in candidates:
            with np.errstate(over="ignore"):
                rescaled = (numbers / factor - column.offset).astype(np.float32)
            fits[factor] = _number_p_values(summary, rescaled)
        best = max(fits, key=lambda factor: fits[factor], default=None)
        if best is not None and min(fits[best]) >= FITS_AT:
            return best
    return None


def percent_text(share: float) -> str:
    return f"{100 * share:.3g} %"


def _shares_in_words(counts: Sequence[int], new: NDArray[np.int64], names: Sequence[Any]) -> str:
    """The level or class whose share differs most: ``icu in 31 % of the rows, 10 % in training``."""
    before, after = np.array(counts) / max(sum(counts), 1), new / max(new.sum(), 1)
    k = int(np.abs(after - before).argmax())
    name = str(names[k]) if isinstance(names[k], NumberInWords) else brief(str(names[k]))
    return f"{name} in {percent_text(after[k])} of the rows, {percent_text(before[k])} in training"
