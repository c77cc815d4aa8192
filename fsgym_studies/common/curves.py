"""Figures from the cells of a study: means by setting, heights and areas of curves, paired differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from fsgym.comparison.summary import means_over_splits
from fsgym_studies.common import statistics
from fsgym_studies.common.difference import Difference, paired_difference
from fsgym_studies.common.statistics import Mean, mean_of

CURVE_KEYS = ["dataset", "share", "method"]  # with a split they determine a curve
SPLIT_KEYS = ["dataset", "share", "split"]  # with a method they determine a curve


def without_gaps(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The cells without those of groups, by ``keys``, in which a cell failed.

    A figure of a group, such as a mean, is over all of its cells or there is none: over those that are left it would be
    compared with figures over more.
    """
    failed = table["error"].notna()
    return table[~failed.groupby([table[k] for k in keys], dropna=False).transform("any")]


def evaluated_cells(table: pd.DataFrame) -> pd.DataFrame:
    """The cells that have an accuracy, of curves without a cell that failed."""
    return without_gaps(table[table["accuracy"].notna() | table["error"].notna()], [*CURVE_KEYS, "split"])


def rows_of(table: pd.DataFrame, dataset: str, method: str) -> pd.DataFrame:
    """The rows of a method on a data set."""
    return table[(table["dataset"] == dataset) & (table["method"] == method)]


def cells_with(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The cells that have a list in this column; no cells if the table lacks the column."""
    if column not in table:
        return table.iloc[:0]
    return table[np.array([isinstance(v, list) for v in table[column]], dtype=bool)]


def setting_means(
    table: pd.DataFrame, figures: Sequence[str] = ("accuracy", "sparsity", "n_acquisitions")
) -> pd.DataFrame:
    """Mean and standard deviation of each setting over its splits.

    Returns
    -------
    DataFrame, a row per data set, share, method and setting: ``params``, the means, ``sparsity_within``, the standard
        deviations (divisor n) as ``FIGURE_std``, and ``splits``, how many there are
    """
    keys, cells = [*CURVE_KEYS, "setting"], evaluated_cells(table)
    within = cells.groupby(keys, sort=False)["sparsity_within"].mean()
    return means_over_splits(cells, figures, keys).join(within, on=keys)


def _per_split(table: pd.DataFrame, figure: Callable[..., float]) -> pd.DataFrame:
    keys, splits = [*CURVE_KEYS, "split"], evaluated_cells(table)
    curves = {key: (c["sparsity"], c["accuracy"], c["chance"].iloc[0]) for key, c in splits.groupby(keys, sort=False)}
    return pd.DataFrame([(*key, figure(*curve)) for key, curve in curves.items()], columns=[*keys, "value"])


def areas(table: pd.DataFrame) -> pd.DataFrame:
    """The area under the curve of each split, with columns dataset, share, method, split and value."""
    return _per_split(table, statistics.area)


def heights(table: pd.DataFrame, sparsity: float) -> pd.DataFrame:
    """The height of the curve of each split at a sparsity, with the columns of ``areas``."""
    return _per_split(table, lambda *curve: float(statistics.accuracy_at(sparsity, *curve)))


def accuracy_by_share(table: pd.DataFrame, dataset: str, sparsity: float, method: str) -> dict[float, Mean]:
    """Mean height of a method's curves on a data set at a sparsity, by share of training data."""
    values = heights(rows_of(table, dataset, method), sparsity)
    return {float(share): mean_of(own) for share, own in values.groupby("share")["value"]}


def by_dataset(values: pd.DataFrame) -> pd.DataFrame:
    """Means over splits and shares, with a row per data set and a column per method."""
    return values.pivot_table("value", "dataset", "method", aggfunc="mean", sort=False)


def _in_pairs(values: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The splits that all of these methods have, a column per method."""
    known = values[values["method"].isin(methods)]
    return known.pivot_table("value", SPLIT_KEYS, "method", sort=False).reindex(columns=list(methods)).dropna()


def paired_means(values: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Means over the splits that all of these methods have: a row per data set, a column per method."""
    return _in_pairs(values, methods).groupby("dataset", sort=False).mean()


def in_shared_splits(table: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The cells in splits that each of these methods has, of those that the table has at all."""
    known = [m for m in methods if (table["method"] == m).any()]
    has = [table["method"].eq(m).groupby([table[k] for k in SPLIT_KEYS]).transform("any") for m in known]
    return table[np.logical_and.reduce(has)] if has else table


def differences(values: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """``first`` minus ``second`` in the same splits, by data set: columns mean, low, high (bootstrap)."""
    pairs = _in_pairs(values, [first, second])
    means = {name: mean_of(own[first] - own[second]) for name, own in pairs.groupby("dataset", sort=False)}
    return pd.DataFrame.from_dict(means, orient="index", columns=Mean._fields)[["mean", "low", "high"]]


def paired_differences(values: pd.DataFrame, first: str, second: str) -> dict[str, Difference]:
    """``first`` compared with ``second`` over the splits that both have, by data set."""
    pairs = _in_pairs(values, [first, second])
    return {str(name): paired_difference(own[first], own[second]) for name, own in pairs.groupby("dataset", sort=False)}


def wins_over_datasets(values: pd.DataFrame, first: str, others: Sequence[str]) -> pd.DataFrame:
    """Wins, ties (to within .001) and losses of ``first`` against each other method over the data sets, and p.

    Two methods are compared in the splits that both have.
    """
    means = {other: paired_means(values, [first, other]) for other in others}
    leads = {other: m[first] - m[other] for other, m in means.items() if len(m)}
    rows = [(other, *statistics.wins(d, tie=0.001), statistics.wilcoxon_p(d)) for other, d in leads.items()]
    return pd.DataFrame(rows, columns=["against", "wins", "ties", "losses", "p"])


def summed(cells: pd.DataFrame, column: str) -> np.ndarray:
    """The sum of a column of lists over the cells that have one; ``[0.]`` without any."""
    lists = [np.asarray(v, float) for v in cells_with(cells, column)[column]]
    return np.sum(lists, axis=0) if lists else np.zeros(1)
