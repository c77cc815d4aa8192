"""Whether methods differ by more than noise: over splits, over the test rows of one split, and over data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from fsgym.text.messages import brief

FEWEST_PAIRS = 3  # splits from which the spread of paired differences is used
NOISE_ERRORS = 1.96  # standard errors within which a mean over rows is noise, even if its interval excludes 0
FEWEST_DATASETS = 3
SIGNIFICANCE = 0.05


def standard_error(values: ArrayLike) -> float:
    """The standard error of a mean (divisor n - 1); NaN for fewer than two values.

    >>> standard_error([1.0, 3.0])
    1.0
    """
    known = np.asarray(values, dtype=np.float64)
    return float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else float("nan")


class LossDifference(NamedTuple):
    """A mean difference of losses, its 95 % interval and the two-sided p-value; NaN where there are too few splits."""

    mean: float
    low: float
    high: float
    p: float


def difference_of_losses(first: pd.DataFrame, second: pd.DataFrame) -> LossDifference:
    """The loss of the second method minus that of the first, over the splits that both have.

    From three splits on, by a t test of the differences, paired by split, with the variance corrected for training
    parts that overlap (Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 2003). Both
    tables have one row per split, with ``loss``, ``n_train`` and ``n_test``.
    """
    pairs = first.set_index("split")["loss"].to_frame("first").join(second.set_index("split")["loss"])
    enough = len(pairs) >= FEWEST_PAIRS
    share = float((first["n_test"] / first["n_train"]).mean()) if enough else 0.0
    return mean_difference((pairs["loss"] - pairs["first"]).to_numpy(float), share)


def mean_difference(difference: NDArray[np.float64], test_share: float = 0.0) -> LossDifference:
    """The mean of paired differences, by a t test from three on.

    ``test_share``, the number of test rows over that of training rows, corrects the variance where the pairs are splits
    of the same rows, as in ``difference_of_losses``; 0 where they have no rows in common.

    >>> from fsgym.comparison.noise import mean_difference
    >>> low, high = mean_difference(np.array([0.1, 0.2, 0.3]))[1:3]
    >>> round(low, 3), round(high, 3)
    (-0.048, 0.448)
    """
    mean, n = float(difference.mean()), len(difference)
    if n < FEWEST_PAIRS:
        return LossDifference(mean, np.nan, np.nan, np.nan)
    error = float(np.sqrt(difference.var(ddof=1) * (1 / n + test_share)))
    half = float(stats.t.ppf(0.975, n - 1)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1)) if error > 0 else float(mean == 0)
    return LossDifference(mean, mean - half, mean + half, p)


def is_within_noise(best: pd.DataFrame, other: pd.DataFrame) -> bool | None:
    """Whether the losses of two methods differ by no more than noise; None if that is unknown.

    By ``difference_of_losses`` at 95 %. With fewer splits than it needs, the 95 % intervals of the mean loss on the
    test rows are used, as if they were independent; their limits are the columns ``loss_low`` and ``loss_high``.
    """
    difference = difference_of_losses(best, other)
    if np.isfinite(difference.low):
        return difference.low <= 0
    limits = [rows.reindex(columns=["loss_low", "loss_high"]).astype(float).mean() for rows in (best, other)]
    widths = [limit["loss_high"] - limit["loss_low"] for limit in limits]
    if np.isnan(widths).any():
        return None
    return bool(difference.mean <= np.hypot(*widths) / 2)


def is_mean_within_noise(mean: float, error: float, low: float, high: float) -> bool:
    """Whether a mean difference over the test rows of one split is noise, by its standard error and 95 % interval."""
    return low <= 0 <= high or not abs(mean) > NOISE_ERRORS * error


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
    if n_datasets < FEWEST_DATASETS or n_methods < 2:
        raise ValueError(
            f"a rank test needs at least {FEWEST_DATASETS} data sets and 2 methods, got {n_datasets} and {n_methods}"
        )
    values = losses.to_numpy(float).round(9)
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
