"""Errors of boosted feature selection and its rivals at equal numbers of features, in tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from fsgym.comparison import figures
from fsgym.comparison.report import Picture, png_of
from fsgym_studies.common.curves import cells_with
from fsgym_studies.common.render import LINE, figure_style, format_number
from fsgym_studies.common.statistics import accuracy_at, mean_of
from fsgym_studies.common.study import Table
from fsgym_studies.gbfs.cell import GRID

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
CLASSES = (figures.COLOURS[1], figures.COLOURS[0])


def points(table: pd.DataFrame, value: str = "test_error") -> pd.DataFrame:
    """One row a setting: columns dataset, split, method, chance, n_test, n_features and ``value``."""
    columns = ["dataset", "split", "method", "chance", "n_test", "n_features", value]
    if not set(columns) <= set(table.columns):
        return pd.DataFrame(columns=columns)
    cells = cells_with(cells_with(table, "n_features"), value)
    return cells[columns].explode(["n_features", value], ignore_index=True)


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
                    GBFS: format_number(forest.first, 4),
                    RFFS: format_number(forest.second, 4),
                    L1LR: format_number(linear.second, 4),
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
    cells = cells_with(table, "bags")
    rows = cells[(cells["dataset"] == COLON) & (cells["method"] == method)]
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
                    "least error": format_number(found.error),
                    "features": format_number(found.features, 1),
                    "bags": format_number(found.bags, 1),
                    "fewest bags": format_number(found.fewest_bags, 1),
                    "error there": format_number(found.single),
                }
            )
    caption = (
        "Each method at its setting of the least mean error over the splits, chosen on the test rows, which favours "
        "all alike; then at the setting whose features come from the fewest bags."
    )
    return Table("colon", "Colon: genes in bags", caption, pd.DataFrame(rows))


def drawn(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of the synthetic example that have results."""
    return cells_with(table[table["dataset"] == SYNTHETIC_SET], "gbfs_selected")


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
                    "test error": format_number(mean_of(cells[f"{name}_error"]).mean),
                    "selected": "; ".join(f"{s} in {n} of {len(cells)}" for s, n in sorted(sets.items())),
                }
            )
    return Table("synthetic", "Three features, one of them redundant", "Over the draws.", pd.DataFrame(rows))


def _counted(ax: Axes, most: int = 100) -> None:
    """An axis of numbers of features, from 1 to 100, by ratio."""
    ticks = [k for k in (1, 2, 5, 10, 20, 50, 100) if k <= most]
    ax.set_xscale("log")
    ax.set_xticks(ticks, [str(k) for k in ticks])
    ax.minorticks_off()
    ax.set_ylim(bottom=0.0)


def curve_picture(table: pd.DataFrame) -> Picture | None:
    """Figs. 3 and 4: test error against the number of features, a panel a data set."""
    from matplotlib.figure import Figure

    sets, rows = told(table), points(table)
    if not sets:
        return None
    found = read(rows[rows["dataset"].isin(sets)], COUNTS)
    with figure_style():
        figure = Figure(figsize=(12, 6.4), layout="constrained")
        axes = figure.subplots(2, 4).ravel()
        for dataset, ax in zip(sets, axes):
            counts = counts_of(dataset)
            for method, look in figures.method_styles(METHODS).items():
                if (dataset, method) in found.index.droplevel("split"):
                    own = found.loc[(dataset, method)][counts]
                    ax.plot(counts, own.mean(), label=method, **{**LINE, "markersize": 4}, **look)
            _counted(ax, max(counts))
            ax.set_title(dataset)
        for ax in axes[len(sets) :]:
            ax.axis("off")
        for ax in axes[::4]:
            ax.set_ylabel("test error")
        for ax in axes[-4:]:
            ax.set_xlabel("selected features")
        seen: dict[str, Any] = {}
        for ax in axes:
            seen |= {name: line for line, name in zip(*ax.get_legend_handles_labels())}
        axes[-1].legend(list(seen.values()), list(seen), loc="center")
        png = png_of(figure)
    caption = "Means over the splits; curves are straight between settings over the number of features."
    return Picture("curves", "Error against number of features (Figs. 3 and 4)", caption, png)


def quality_picture(table: pd.DataFrame) -> Picture | None:
    """Fig. 5: the same SVM on every selection."""
    from matplotlib.figure import Figure

    rows = quality(table)
    if rows.empty:
        return None
    found = read(rows, COUNTS, "svm_error").groupby("method").mean()
    with figure_style():
        ax = Figure(figsize=(6.4, 4.2), layout="constrained").add_subplot()
        for method, look in figures.method_styles(METHODS).items():
            if method in found.index:
                ax.plot(list(COUNTS), found.loc[method], label=method, **LINE, **look)
        _counted(ax)
        ax.set(xlabel="selected features", ylabel="test error of the SVM")
        ax.legend(loc="best")
        png = png_of(ax)
    return Picture("quality", "One SVM on every selection, uspst (Fig. 5)", "Means over the splits.", png)


def stages_picture(table: pd.DataFrame) -> Picture | None:
    """Fig. 4: kddcup99, error against features along the iterations of a few mu."""
    from matplotlib.figure import Figure

    rows = cells_with(table, "stage_error")
    if rows.empty:
        return None
    cell = rows.iloc[0]
    with figure_style():
        ax = Figure(figsize=(6.4, 4.2), layout="constrained").add_subplot()
        for k, (mu, features, errors) in enumerate(zip(cell["mu_rel"], cell["stage_features"], cell["stage_error"])):
            steps = {"drawstyle": "steps-post", "linewidth": 1.6, "color": figures.COLOURS[k]}
            ax.plot(features, errors, label=f"mu = mu_max / {1 / mu:.0f}", **steps)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.yaxis.set_minor_formatter(lambda value, _: "")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="features bought so far", ylabel="test error", title=f"{KDD}, along the iterations")
        ax.legend(loc="best")
        png = png_of(ax)
    return Picture(
        "stages", "kddcup99 along the iterations (Fig. 4)", "A vertical drop: the same features, more trees.", png
    )


def synthetic_picture(table: pd.DataFrame) -> Picture | None:
    """Fig. 1: test points of the first draw over the decisions of both methods."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    cells = drawn(table)
    if cells.empty:
        return None
    cell = cells.sort_values("split").iloc[0]
    seen = np.array(cell["points"])
    with figure_style():
        figure = Figure(figsize=(9, 4.4), layout="constrained")
        for ax, name, title in zip(figure.subplots(1, 2, sharey=True), ("l1", "gbfs"), (L1LR, GBFS)):
            decided = np.array(cell[f"{name}_decisions"]).reshape(len(GRID), len(GRID))
            ax.pcolormesh(
                GRID, GRID, decided, cmap=ListedColormap(CLASSES), alpha=0.25, vmin=0, vmax=1, shading="nearest"
            )
            for k, marker in enumerate("os"):
                x, y = seen[seen[:, 2] == k, :2].T
                ax.scatter(x, y, c=CLASSES[k], marker=marker, s=26, edgecolors="white", linewidths=0.6)
            chosen = ", ".join(f"x{j}" for j in cell[f"{name}_selected"]) or "nothing"
            ax.set(title=f"{title} selects {chosen}: error {cell[f'{name}_error']:.2f}", xlabel="x1", aspect="equal")
            ax.grid(visible=False)
        figure.axes[0].set_ylabel("x2")
        png = png_of(figure)
    caption = "Test points of the first draw over what each method decides; x3 = .6 x1 + .4 x2 is redundant."
    return Picture("three_features", "Three features, one of them redundant (Fig. 1)", caption, png)
