"""Tables over the cells of a study: settings, curves, figures at a given sparsity, areas, methods in pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from fsgym_studies.common import statistics
from fsgym_studies.common.statistics import Mean, mean_of

KEYS = ["dataset", "share", "method"]


def done(table: pd.DataFrame) -> pd.DataFrame:
    """The cells that have figures."""
    return table[table["error"].isna() & table["accuracy"].notna()]


def cells_with(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The cells that have a list in this column: none where the table lacks it."""
    if column not in table:
        return table.iloc[:0]
    return table[np.array([isinstance(v, list) for v in table[column]], dtype=bool)]


def settings_of(
    table: pd.DataFrame, figures: Sequence[str] = ("accuracy", "sparsity", "n_acquisitions")
) -> pd.DataFrame:
    """Mean and standard deviation over the splits of each setting, with ``sparsity_within`` and ``params``."""
    grouped = done(table).groupby([*KEYS, "setting"], sort=False)
    columns = [*figures, "sparsity_within"]
    means, stds = grouped[columns].mean(), grouped[list(figures)].std(ddof=0)
    told = means.join(stds.add_suffix("_std"))
    told.insert(0, "params", grouped["params"].first())
    told["splits"] = grouped["split"].nunique()
    return told.reset_index()


def _per_split(table: pd.DataFrame, figure: Callable[[pd.DataFrame], float]) -> pd.DataFrame:
    rows = [
        dict(zip([*KEYS, "split"], key)) | {"value": figure(cells)}
        for key, cells in done(table).groupby([*KEYS, "split"], sort=False)
    ]
    return pd.DataFrame(rows, columns=[*KEYS, "split", "value"])


def areas(table: pd.DataFrame) -> pd.DataFrame:
    """The area under each split's curve: columns dataset, share, method, split, value."""
    return _per_split(table, lambda c: statistics.area(c["sparsity"], c["accuracy"], c["chance"].iloc[0]))


def heights(table: pd.DataFrame, sparsity: float) -> pd.DataFrame:
    """The height of each split's curve at a sparsity, columns as of ``areas``."""
    return _per_split(
        table, lambda c: float(statistics.accuracy_at(sparsity, c["sparsity"], c["accuracy"], c["chance"].iloc[0]))
    )


def at(table: pd.DataFrame, sparsity: float, dataset: str, method: str, share: float | None = None) -> Mean:
    """Mean accuracy of a method at a sparsity: its curve in each split, averaged over splits (and shares)."""
    cells = table[(table["dataset"] == dataset) & (table["method"] == method)]
    if share is not None:
        cells = cells[cells["share"] == share]
    return mean_of(heights(cells, sparsity)["value"])


def by_dataset(values: pd.DataFrame) -> pd.DataFrame:
    """Means over splits and shares: one row a data set, one column a method."""
    return values.pivot_table("value", "dataset", "method", aggfunc="mean", sort=False)


def differences(values: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """``first`` minus ``second`` in the same splits, by data set: columns mean, low, high (bootstrap)."""
    wide = values.pivot_table("value", ["dataset", "share", "split"], "method", sort=False)
    if not {first, second} <= set(wide.columns):
        return pd.DataFrame(columns=["mean", "low", "high"])
    paired = (wide[first] - wide[second]).dropna()
    found = {name: mean_of(v) for name, v in paired.groupby("dataset", sort=False)}
    return pd.DataFrame({n: {"mean": m.mean, "low": m.low, "high": m.high} for n, m in found.items()}).T


def versus(values: pd.DataFrame, first: str, others: Sequence[str], tie: float = 0.001) -> pd.DataFrame:
    """Wins, ties and losses of ``first`` over data sets against each other method, and Wilcoxon's p."""
    means = by_dataset(values)
    rows = []
    for other in others:
        if first in means and other in means:
            told = statistics.wins(means[first], means[other], tie)
            rows.append({"against": other, "wins": told.wins, "ties": told.ties, "losses": told.losses, "p": told.p})
    return pd.DataFrame(rows, columns=["against", "wins", "ties", "losses", "p"])


def nearest_setting(settings: pd.DataFrame, dataset: str, method: str, sparsity: float) -> tuple[float, int] | None:
    """Share and number of the setting whose mean sparsity is nearest, of those that use anything; None without one."""
    rows = settings[(settings["dataset"] == dataset) & (settings["method"] == method) & (settings["sparsity"] < 1)]
    if rows.empty:
        return None
    row = rows.loc[(rows["sparsity"] - sparsity).abs().idxmin()]
    return float(row["share"]), int(row["setting"])


def summed(cells: pd.DataFrame, column: str) -> np.ndarray:
    """The sum of a column of lists, over the cells that have one."""
    found = [np.asarray(v, float) for v in cells_with(cells, column)[column]]
    return np.sum(found, axis=0) if found else np.zeros(1)
