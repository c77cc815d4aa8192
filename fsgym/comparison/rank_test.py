"""Methods compared over several data sets: their losses, and tests of their ranks (Friedman, Nemenyi)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from fsgym.comparison.ranking import rank_methods
from fsgym.text.html import HtmlTable, html_block
from fsgym.text.messages import brief, listing

FEWEST_DATASETS = 3
SIGNIFICANCE = 0.05


def critical_difference(n_methods: int, n_datasets: int, level: float = SIGNIFICANCE) -> float:
    """Nemenyi's critical difference: the least difference of two mean ranks that is more than noise.

    It holds for all pairs of methods together, at this level.

    Examples
    --------
    >>> from fsgym.comparison.rank_test import critical_difference
    >>> round(critical_difference(4, 14), 2), round(critical_difference(4, 14, level=0.10), 2)
    (1.25, 1.12)

    References
    ----------
    J. Demsar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006, section 3.2.2.
    """
    q = stats.studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


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
    >>> from fsgym.comparison.rank_test import rank_test
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
    ranks = pd.DataFrame(stats.rankdata(values, axis=1), index=losses.index, columns=losses.columns)
    mean_ranks = ranks.mean().sort_values(kind="stable")
    if (np.ptp(values, axis=1) == 0).all():  # where the tests are not defined
        statistic, p = 0.0, 1.0
    else:
        test = stats.friedmanchisquare(*values.T) if n_methods > 2 else stats.wilcoxon(values[:, 0], values[:, 1])
        statistic, p = float(test.statistic), float(test.pvalue)
    difference = critical_difference(n_methods, n_datasets, level) if n_methods > 2 else float("nan")
    return RankTest(losses, ranks, mean_ranks, statistic, p, difference, level)


@dataclass(frozen=True)
class DatasetsResult:
    """What ``compare_datasets`` returns.

    Attributes
    ----------
    results : dict, data set -> what ``compare`` returns
    losses : DataFrame, one row per data set and one column per method
        The mean test loss at the first lambda that is reported, at the settings chosen on validation data; NaN where
        every fit failed, a rule is broken, or test rows were in training. Reference points are left out.
    rank_test : RankTest, or None if there is none
    answer : list of str, the result of the test in words, or why there is none
    titles : dict, method -> title
    """

    results: dict[str, pd.DataFrame]
    losses: pd.DataFrame
    rank_test: RankTest | None
    answer: list[str]
    titles: dict[str, str]

    def to_frame(self) -> pd.DataFrame:
        """The rows of all data sets, as ``compare`` returns them for one."""
        frame = pd.concat(self.results.values(), ignore_index=True)
        frame.attrs = {}
        return frame

    def __repr__(self) -> str:
        return f"DatasetsResult({len(self.losses)} data sets, {self.losses.shape[1]} methods: {' '.join(self.answer)})"

    def _repr_html_(self) -> str:
        headings = ["data set", *(self.titles[name] for name in self.losses)]
        rows = ([name, *(f"{v:.3f}" for v in values)] for name, *values in self.losses.itertuples())
        return html_block(" ".join(self.answer), "Mean test loss:", HtmlTable(headings, rows, len(self.losses)))


def folder_name(name: str) -> str:
    """The name of a data set as that of its folder."""
    return re.sub(r"[^\w.-]+", "_", name).strip(".") or "data"


def result_of(results: Mapping[str, pd.DataFrame]) -> DatasetsResult:
    """The losses of what ``compare`` returned for each data set, with a test of their ranks if there can be one."""
    rankings = {name: rank_methods(rows) for name, rows in results.items()}
    standings = {name: [] if r is None else list(r.standings) for name, r in rankings.items()}
    titles = {s.method: s.title for found in standings.values() for s in found}
    by_dataset = {
        name: {s.method: s.figures["loss"] if s.eligible else float("nan") for s in found if not s.reference}
        for name, found in standings.items()
    }
    losses = pd.DataFrame.from_dict(by_dataset, orient="index").astype(float).rename_axis("dataset")
    whole = losses.dropna(axis="columns")
    sentences = []
    for method in losses.columns.difference(whole.columns, sort=False):
        absent = listing(losses.index[losses[method].isna()])
        sentences.append(f"{titles[method]} is left out, as it cannot be ranked on {absent}.")
    n_datasets, n_methods = whole.shape
    test = None
    if n_datasets < FEWEST_DATASETS:
        sentences.append(f"No rank test: it needs at least {FEWEST_DATASETS} data sets, got {n_datasets}.")
    elif n_methods < 2:
        sentences.append(f"No rank test: it needs at least 2 methods with a loss on every data set, got {n_methods}.")
    else:
        test = rank_test(whole)
        sentences = rank_test_in_words(test, titles) + sentences
    return DatasetsResult(dict(results), losses, test, sentences, titles)


def rank_test_in_words(test: RankTest, titles: Mapping[str, str]) -> list[str]:
    """The result of a rank test in sentences."""
    best, *others = test.mean_ranks.index
    n_datasets, n_methods = test.losses.shape
    named = "Friedman's test" if n_methods > 2 else "Wilcoxon's signed-rank test"
    ranks = f"Over {n_datasets} data sets, {titles[best]} has the best mean rank, {test.mean_ranks[best]:.2f}"
    if not test.differ:
        return [f"{ranks}, but {named} finds no difference between the {n_methods} methods (p = {test.p:.2g})."]
    first = f"{ranks}; {named} finds a difference between the methods (p = {test.p:.2g})."
    if n_methods == 2:
        return [first]
    table = test.to_frame()
    close = [titles[name] for name in others if name in set(table["method"][table["like_best"]])]
    worse = [titles[name] for name in others if titles[name] not in close]
    parts = [f"it is better than {listing(worse)}"] if worse else []
    verb = "does" if len(close) == 1 else "do"
    parts += [f"{listing(close)} {verb} not differ from it by more than noise"] if close else []
    return [first, f"By Nemenyi's test (critical difference {test.difference:.2f}), {'; '.join(parts)}."]
