"""Whether methods differ by more than noise: over splits, over the test rows of one split, and over data sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from fsgym.text.messages import brief

MIN_PAIRS = 3  # pairs from which the spread of their differences is used
MIN_DATASETS = 3
SIGNIFICANCE = 0.05
DIGITS_OF_BEST = 9  # losses that differ by less are equal


def standard_error(values: ArrayLike) -> float:
    """The standard error of a mean (divisor n - 1); NaN for fewer than two values.

    >>> standard_error([1.0, 3.0])
    1.0
    """
    known = np.asarray(values, dtype=np.float64)
    return float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else float("nan")


# Of a difference of two mean losses: its standard error, the ends of its 95 % interval, and the two-sided p-value.
DIFFERENCE = ["difference", "difference_se", "difference_low", "difference_high", "difference_p", "verdict"]
Tested = tuple[float, float, float, float, float, str]


def paired_t(differences: NDArray[np.float64], test_share: float = 0.0) -> Tested:
    """The columns ``DIFFERENCE`` of paired differences of losses, by a t test from three on.

    The pairs are splits, test rows or data sets. The difference is noise exactly where its interval contains 0.
    ``test_share``, the number of test rows over that of training rows, corrects the variance where the pairs are splits
    of the same rows, whose training parts overlap (Nadeau and Bengio, Inference for the generalization error, Machine
    Learning 52, 2003); 0 where they have no rows in common.

    Over test rows it is the t test, too, and not the bootstrap interval of ``mean_interval``: of 100 pairs of equal
    policies that differ on 2 to 8 % of 171 rows, this calls 6 to 24 different, the t test 4 or 5.

    >>> mean, error, low, high, p, verdict = paired_t(np.array([0.1, 0.2, 0.3]))
    >>> round(low, 3), round(high, 3), verdict
    (-0.048, 0.448, 'noise')
    """
    n, differences = len(differences), np.round(differences, DIGITS_OF_BEST)  # others are rounding errors
    mean = float(differences.mean()) if n else np.nan
    if n < MIN_PAIRS:
        return mean, np.nan, np.nan, np.nan, np.nan, "unknown"
    error = float(np.sqrt(differences.var(ddof=1) * (1 / n + test_share)))
    half = float(stats.t.ppf(0.975, n - 1)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1)) if error > 0 else float(mean == 0)
    verdict = "higher" if mean - half > 0 else "lower" if mean + half < 0 else "noise"
    return mean, error, mean - half, mean + half, p, verdict


def holm(p_values: pd.Series) -> pd.Series:
    """The p-values of several tests, adjusted so that one below a level is found by chance as rarely as in one test.

    Parameters
    ----------
    p_values : Series, NaN where there is no test

    Examples
    --------
    >>> holm(pd.Series({"a": 0.01, "b": 0.02, "c": 0.6, "d": np.nan})).to_dict()
    {'a': 0.03, 'b': 0.04, 'c': 0.6, 'd': nan}

    References
    ----------
    S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 1979.
    """
    ordered = p_values.dropna().sort_values(kind="stable")
    adjusted = (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1.0)
    return adjusted.reindex(p_values.index)


def least_found(n: int, test_share: float = 0.0) -> float:
    """How many of their standard deviations ``n`` differences must exceed to be more than noise by ``paired_t``.

    >>> [round(least_found(n, 1.0), 1) for n in (3, 5, 10)]
    [5.0, 3.0, 2.4]
    """
    return float(stats.t.ppf(0.975, n - 1) * np.sqrt(1 / n + test_share))


def rank_table(
    losses: pd.DataFrame,
    by: pd.Series,
    against: Any,
    test: Callable[[NDArray[np.float64]], Tested] = paired_t,
    widths: pd.Series | None = None,
) -> pd.DataFrame:
    """The ranks of methods, and whether each differs from one of them by more than noise.

    Parameters
    ----------
    losses : DataFrame (n, n_methods), a row for each split, test row or data set; NaN where a method has none
    by : Series by method, what is ranked, such as mean losses or mean ranks; NaN for no rank
    against : a column, with which the others are compared
    test : of the differences where both have a loss, ``paired_t`` or with its ``test_share``
    widths : Series by method, optional
        Of the 95 % interval of each mean loss over test rows. They decide, as if the intervals were independent, where
        there are too few rows for the test.

    Returns
    -------
    DataFrame, a row for each method, by rank
        ``rank``, from 1, equal values share the lowest; ``DIFFERENCE``, the loss minus that of ``against``, NaN where
        it is unknown; the ``verdict`` is "higher", "lower", "noise" or "unknown".

    Examples
    --------
    >>> losses = pd.DataFrame({"tree": [0.3, 0.2, 0.4], "panel": [0.2, 0.1, 0.31], "all": [0.5, 0.1, 0.6]})
    >>> rank_table(losses, losses.mean(), "panel")[["rank", "difference", "verdict"]].round(2).T.to_dict("list")
    {'panel': [1.0, 0.0, 'noise'], 'tree': [2.0, 0.1, 'higher'], 'all': [3.0, 0.2, 'noise']}
    """
    tested = {name: test((losses[name] - losses[against]).dropna().to_numpy(float)) for name in losses}
    table = pd.DataFrame.from_dict(tested, orient="index", columns=DIFFERENCE)
    if widths is not None:
        half, few = np.hypot(widths, widths[against]) / 2, table["verdict"] == "unknown"
        table.loc[few & (table["difference"] > half), "verdict"] = "higher"
        table.loc[few & (table["difference"].abs() <= half), "verdict"] = "noise"
        table.loc[few & (table["difference"] < -half), "verdict"] = "lower"
    table.insert(0, "rank", by.rank(method="min"))
    return table.sort_values("rank", kind="stable")


def critical_difference(n_methods: int, n_datasets: int, level: float = SIGNIFICANCE) -> float:
    """Nemenyi's critical difference: the least difference of two mean ranks that is more than noise.

    It holds for all pairs of methods together, at this level.

    Examples
    --------
    >>> from fsgym.comparison.noise import critical_difference
    >>> round(critical_difference(4, 14), 2), round(critical_difference(4, 14, level=0.10), 2)
    (1.25, 1.12)

    References
    ----------
    J. Demsar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006, section 3.2.2.
    """
    q = stats.studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def mean_ranks(losses: pd.DataFrame) -> pd.Series:
    """The mean rank of each column over the rows, from the best to the worst; equal losses share their mean rank.

    >>> mean_ranks(pd.DataFrame({"a": [0.2, 0.1], "b": [0.1, 0.1]})).to_dict()
    {'b': 1.25, 'a': 1.75}
    """
    return losses.rank(axis=1).mean().sort_values(kind="stable")


@dataclass(frozen=True)
class RankTest:
    """Ranks of methods over data sets, with tests of whether they differ.

    Attributes
    ----------
    losses : DataFrame, one row per data set and one column per method
    ranks : DataFrame of the same form; 1 is the smallest loss of a data set, equal losses share their mean rank
    mean_ranks : Series, by method, from the best to the worst
    statistic, p : float
        Friedman's chi-squared statistic, corrected for ties (``scipy.stats.friedmanchisquare``), with its p-value. With
        two methods, those of Wilcoxon's signed-rank test of the losses (``scipy.stats.wilcoxon``).
    difference : float, Nemenyi's critical difference of two mean ranks; NaN with two methods
    level : float, of the tests
    """

    losses: pd.DataFrame
    ranks: pd.DataFrame
    mean_ranks: pd.Series
    statistic: float
    p: float
    difference: float
    level: float = SIGNIFICANCE

    @property
    def differ(self) -> bool:
        """Whether the methods differ by more than noise."""
        return self.p < self.level

    @property
    def cliques(self) -> list[list[str]]:
        """The largest groups of methods, each in order of rank, whose mean ranks differ by less than ``difference``.

        All methods together where the first test finds no difference.
        """
        names = [str(name) for name in self.mean_ranks.index]
        if not self.differ:
            return [names]
        if len(names) == 2:
            return []
        values = self.mean_ranks.to_numpy(float)
        ends = np.searchsorted(values, values + self.difference, side="left")
        wide = [(i, int(end)) for i, end in enumerate(ends) if end - i > 1]
        return [names[i:end] for i, end in wide if not any(a < i and end <= b for a, b in wide)]

    def to_frame(self) -> pd.DataFrame:
        """One row per method, by mean rank: ``mean_rank``, and ``like_best``, whether it is no worse than the first."""
        best = self.mean_ranks.index[0]
        close = {name for clique in self.cliques if best in clique for name in clique} | {best}
        table = self.mean_ranks.rename("mean_rank").rename_axis("method").reset_index()
        return table.assign(like_best=table["method"].isin(close))


def rank_test(losses: pd.DataFrame, level: float = SIGNIFICANCE) -> RankTest:
    """Rank methods by their losses on each data set, and test whether the mean ranks differ.

    Friedman's test asks whether any methods differ. If they do, two methods differ where their mean ranks are at least
    Nemenyi's critical difference apart.

    Parameters
    ----------
    losses : DataFrame (n_datasets, n_methods), finite; smaller is better
    level : float, default 0.05

    Raises
    ------
    ValueError
        For fewer than three data sets or two methods, or a loss that is not finite.

    Examples
    --------
    >>> import pandas as pd
    >>> from fsgym.comparison.noise import rank_test
    >>> test = rank_test(pd.DataFrame({"tree": [0.3, 0.2, 0.4], "panel": [0.2, 0.1, 0.3], "all": [0.5, 0.3, 0.6]}))
    >>> test.mean_ranks.to_dict(), test.differ
    ({'panel': 1.0, 'tree': 2.0, 'all': 3.0}, True)

    References
    ----------
    M. Friedman. The use of ranks to avoid the assumption of normality implicit in the analysis of variance. JASA 32,
    1937. P. B. Nemenyi. Distribution-free multiple comparisons. PhD thesis, Princeton, 1963. J. Demsar. Statistical
    comparisons of classifiers over multiple data sets. JMLR 7, 2006.
    """
    n_datasets, n_methods = losses.shape
    if n_datasets < MIN_DATASETS or n_methods < 2:
        raise ValueError(
            f"a rank test needs at least {MIN_DATASETS} data sets and 2 methods, got {n_datasets} and {n_methods}"
        )
    values = losses.to_numpy(float).round(DIGITS_OF_BEST)
    if not np.isfinite(values).all():
        raise ValueError(f"losses must be finite, got {brief(values[~np.isfinite(values)][0])}; leave that method out")
    rounded = pd.DataFrame(values, losses.index, losses.columns)
    if (np.ptp(values, axis=1) == 0).all():  # where the tests are not defined
        statistic, p = 0.0, 1.0
    else:
        test = stats.friedmanchisquare(*values.T) if n_methods > 2 else stats.wilcoxon(values[:, 0], values[:, 1])
        statistic, p = float(test.statistic), float(test.pvalue)
    difference = critical_difference(n_methods, n_datasets, level) if n_methods > 2 else float("nan")
    return RankTest(losses, rounded.rank(axis=1), mean_ranks(rounded), statistic, p, difference, level)
