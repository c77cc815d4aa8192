"""What ``compare_datasets`` returns: methods compared over several data sets, with a test of their ranks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from fsgym.comparison.noise import FEWEST_DATASETS, RankTest, rank_test
from fsgym.comparison.ranking import rank_methods
from fsgym.text.html import HtmlTable, html_block
from fsgym.text.messages import listing


@dataclass(frozen=True)
class DatasetsResult:
    """What ``compare_datasets`` returns.

    Attributes
    ----------
    results : dict, data set -> what ``compare`` returns
    losses : DataFrame, one row per data set and one column per method
        The mean test loss at the first lambda that is reported, at the settings of
        ``summarise``; NaN where
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
