"""Errors of boosted feature selection and its rivals at equal numbers of features: read, compared, in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fsgym_studies.common.render import number
from fsgym_studies.common.statistics import accuracy_at, mean_of
from fsgym_studies.common.study import Table

GBFS, RFFS, L1LR, MRMR, HSIC = "GBFS", "RFFS", "L1LR", "mRMR", "HSIC Lasso"
AWARE, GROUPS = "GBFS, bags", "group LASSO"
METHODS = (GBFS, RFFS, L1LR, HSIC, MRMR)
SPAM, USPS, KDD, COLON, SYNTHETIC_SET = "spambase", "uspst", "kddcup99", "colon", "three features"
SETS = (SPAM, USPS, "isolet", "mnist3vs8", "adult", "pcmac", KDD)
SMALL = SETS[:-1]
COUNTS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 100)
TOLD = (2, 5, 10, 20, 50, 100)
WIDEST = 1e6  # numbers of features are read as shares of it: the curve is straight between settings
SPAM_COLUMNS = 57


def points(table: pd.DataFrame, value: str = "test_error") -> pd.DataFrame:
    """One row a setting: columns dataset, split, method, chance, n_test, n_features and ``value``."""
    columns = ["dataset", "split", "method", "chance", "n_test", "n_features", value]
    if not set(columns) <= set(table.columns):
        return pd.DataFrame(columns=columns)
    lists = table["n_features"].map(lambda v: isinstance(v, list)) & table[value].map(lambda v: isinstance(v, list))
    return table.loc[lists, columns].explode(["n_features", value], ignore_index=True)


def read(rows: pd.DataFrame, counts: Sequence[int], value: str = "test_error") -> pd.DataFrame:
    """Each split's curve at these numbers of features: index (dataset, method, split), a column a number.

    Without features the error is that of the largest class; beyond the densest setting the curve is flat.
    """
    found = {
        key: 1.0
        - accuracy_at(
            1.0 - np.asarray(counts) / WIDEST,
            1.0 - cells["n_features"].astype(float) / WIDEST,
            1.0 - cells[value].astype(float),
            1.0 - float(cells["chance"].iloc[0]),
        )
        for key, cells in rows.groupby(["dataset", "method", "split"], sort=False)
    }
    index = pd.MultiIndex.from_tuples(list(found), names=["dataset", "method", "split"])
    return pd.DataFrame(list(found.values()), index=index, columns=list(counts)).sort_index()


def counts_of(dataset: str, low: int = 1, high: int = 100) -> list[int]:
    """The numbers of features at which methods are compared on a data set, as the paper: up to 100, all of spam."""
    most = min(high, SPAM_COLUMNS) if dataset == SPAM else high
    return [k for k in COUNTS if low <= k <= most]


class Versus(NamedTuple):
    """Mean errors of two methods over the same splits, and the error of their difference."""

    first: float
    second: float
    spread: float

    @property
    def word(self) -> str:
        """Whether the first is above (errs less), level with or below the second; a dash where one is missing."""
        gain = self.second - self.first
        if gain != gain:
            return "–"
        return "above" if gain > 2.0 * self.spread else "below" if gain < -2.0 * self.spread else "level"


def versus(
    table: pd.DataFrame, dataset: str, first: str, second: str, counts: Sequence[int], value: str = "test_error"
) -> Versus:
    """Compare errors, averaged over numbers of features, in splits that both have.

    The spread is the standard error of a difference of two independent shares of all their test rows, which is more
    than that of methods judged on the same rows.
    """
    rows = points(table, value)
    rows = rows[(rows["dataset"] == dataset) & rows["method"].isin([first, second])]
    wide = read(rows, counts, value).mean(axis=1).unstack("method") if len(rows) else pd.DataFrame()
    if not {first, second} <= set(wide.columns):
        return Versus(np.nan, np.nan, np.nan)
    both = wide[[first, second]].dropna()
    mean = both.mean().clip(0.0, 1.0)
    seen = rows.drop_duplicates("split").set_index("split")["n_test"]
    n_test = float(seen[both.index.get_level_values("split")].sum())
    spread = np.sqrt(float((mean * (1.0 - mean)).sum()) / n_test) if n_test else np.nan
    return Versus(float(mean[first]), float(mean[second]), float(spread))


def told(table: pd.DataFrame) -> list[str]:
    """The data sets of which there are curves."""
    return [d for d in SETS if (points(table)["dataset"] == d).any()]


def versus_table(table: pd.DataFrame) -> Table:
    """Where GBFS is above random forest selection and L1 logistic regression, and where below."""
    rows = []
    for dataset in told(table):
        places = [(str(k), [k]) for k in TOLD if k <= max(counts_of(dataset))]
        for name, counts in (*places, ("mean", counts_of(dataset))):
            forest, linear = (versus(table, dataset, GBFS, other, counts) for other in (RFFS, L1LR))
            rows.append(
                {
                    "data set": dataset,
                    "features": name,
                    GBFS: number(forest.first, 4),
                    RFFS: number(forest.second, 4),
                    L1LR: number(linear.second, 4),
                    f"against {RFFS}": forest.word,
                    f"against {L1LR}": linear.word,
                }
            )
    caption = (
        "Test errors at equal numbers of features, means over splits; mean: over 1 to 100 features, each number of "
        f"{', '.join(map(str, COUNTS))} alike. above: GBFS errs less, by more than two standard errors of a difference "
        "of two shares of as many test rows; below: more; level: neither."
    )
    return Table("versus", "Where GBFS is above and where it is below", caption, pd.DataFrame(rows))


def places_note(table: pd.DataFrame) -> list[str]:
    """The same in a sentence for each data set and rival."""
    notes = []
    for other in (RFFS, L1LR):
        parts = []
        for dataset in told(table):
            places = [k for k in TOLD if k <= max(counts_of(dataset))]
            found = {k: versus(table, dataset, GBFS, other, [k]) for k in places}
            parts.append(f"{dataset} " + ", ".join(f"{k}: {v.word}" for k, v in found.items()))
        if parts:
            notes.append(
                f"{GBFS} against {other} by number of features (more than two standard errors): {'; '.join(parts)}."
            )
    return notes


def error_table(table: pd.DataFrame) -> Table:
    """Every method's errors at given numbers of features."""
    rows, found = [], read(points(table), TOLD)
    for dataset in told(table):
        for method in METHODS:
            if (dataset, method) in found.index.droplevel("split"):
                own = found.loc[(dataset, method)]
                told_at = {str(k): own[k].mean() if k <= max(counts_of(dataset)) else None for k in TOLD}
                rows.append({"data set": dataset, "method": method, "splits": len(own)} | told_at)
    caption = "Test errors by number of selected features; means over splits."
    return Table("errors", "Errors of all methods", caption, pd.DataFrame(rows))


def settings_table(table: pd.DataFrame) -> Table:
    """All settings of all methods, as they came out."""
    rows = points(table)
    rows["setting"] = rows.groupby(["dataset", "method", "split"], sort=False).cumcount() + 1
    rows = rows.astype({"n_features": float, "test_error": float})
    keys = ["dataset", "method", "setting"]
    means = rows.groupby(keys, sort=False)[["n_features", "test_error"]].mean()
    frame = means.assign(splits=rows.groupby(keys, sort=False)["split"].nunique()).reset_index()
    names = {"dataset": "data set", "n_features": "features", "test_error": "test error"}
    caption = "Means over splits of what each setting selects and how it errs; curves are read split by split."
    return Table("settings", "All settings", caption, frame.rename(columns=names))


def quality_table(table: pd.DataFrame) -> Table:
    """The error of one SVM on every method's selections."""
    found = read(quality(table), TOLD, "svm_error")
    rows = [
        {"method": method} | {str(k): v for k, v in cells.mean().items()}
        for (_, method), cells in found.groupby(["dataset", "method"], sort=False)
    ]
    caption = "Test errors on uspst of an SVM with RBF kernel on the selected features, by their number."
    return Table("quality", "Quality of the selected features", caption, pd.DataFrame(rows))


def quality(table: pd.DataFrame) -> pd.DataFrame:
    """Points of the SVM that judges selections; mRMR and HSIC Lasso have the same one as their own."""
    judged, own = points(table, "svm_error"), points(table)
    own = own[(own["dataset"] == USPS) & own["method"].isin([HSIC, MRMR])].rename(columns={"test_error": "svm_error"})
    judged = judged[judged["dataset"] == USPS]
    return pd.concat([judged, own], ignore_index=True) if len(judged) and len(own) else judged


class Best(NamedTuple):
    """A method at its setting of least mean test error on colon: that error, features, bags; and over all settings."""

    error: float
    features: float
    bags: float
    fewest_bags: float
    single: float


def best_of(table: pd.DataFrame, method: str) -> Best | None:
    """Chosen on the test rows, which favours every method alike; settings that use nothing are left out.

    ``fewest_bags`` is the least mean number of bags over settings that use features, ``single`` the error there.
    """
    if "bags" not in table.columns:
        return None
    rows = table[
        (table["dataset"] == COLON) & (table["method"] == method) & table["bags"].map(lambda v: isinstance(v, list))
    ]
    if rows.empty:
        return None
    shortest = min(len(v) for v in rows["bags"])
    error, features, bags = (
        np.array([v[:shortest] for v in rows[c]], float).mean(axis=0) for c in ("test_error", "n_features", "bags")
    )
    some = np.flatnonzero(features > 0)
    if not len(some):
        return None
    k, least = some[error[some].argmin()], some[bags[some].argmin()]
    return Best(*(float(v) for v in (error[k], features[k], bags[k], bags[least], error[least])))


def colon_table(table: pd.DataFrame) -> Table:
    """Errors and bags on colon."""
    rows = []
    for method in (AWARE, GROUPS, GBFS, RFFS, L1LR, HSIC):
        found = best_of(table, method)
        if found is not None:
            rows.append(
                {
                    "method": method,
                    "least error": number(found.error),
                    "features": number(found.features, 1),
                    "bags": number(found.bags, 1),
                    "fewest bags": number(found.fewest_bags, 1),
                    "error there": number(found.single),
                }
            )
    caption = (
        "Each method at its setting of the least mean error over the splits, chosen on the test rows, which favours "
        "all alike; then at the setting whose features come from the fewest bags."
    )
    return Table("colon", "Colon: genes in bags", caption, pd.DataFrame(rows))


def drawn(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of the synthetic example that have results."""
    if "gbfs_selected" not in table.columns:
        return table.iloc[:0]
    return table[(table["dataset"] == SYNTHETIC_SET) & table["gbfs_selected"].map(lambda v: isinstance(v, list))]


def synthetic_table(table: pd.DataFrame) -> Table:
    """What is selected of three features, by draw."""
    cells = drawn(table)
    rows = []
    for name, title in (("l1", L1LR), ("gbfs", GBFS)):
        if len(cells):
            sets = cells[f"{name}_selected"].map(lambda v: " ".join(f"x{j}" for j in v) or "none").value_counts()
            rows.append(
                {
                    "method": title,
                    "test error": number(mean_of(cells[f"{name}_error"]).mean),
                    "selected": "; ".join(f"{s} in {n} of {len(cells)}" for s, n in sorted(sets.items())),
                }
            )
    return Table("synthetic", "Three features, one of them redundant", "Over the draws.", pd.DataFrame(rows))
