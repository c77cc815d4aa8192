"""Tables and pictures of the study of uncertain data, from the table of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from fsgym.comparison.report import Picture, png_of
from fsgym_studies.common.render import figure_style, with_std
from fsgym_studies.common.study import Table
from fsgym_studies.uncertain_sgl.printed import (
    FS,
    PENALTIES,
    PRINTED,
    RAW,
    SMALL,
    UNCERTAIN,
    Plain,
    most,
)

# What a cell is, in the column ``method``.
PLAIN, AT, GRID, WEIGHTS = "no selection", "printed setting", "grid", "weights"
RECODED, SHORT = "coded otherwise", "fewer steps"
ALL = "all draws"
ARMS = (ALL, FS, SMALL)
LIMIT = 0.9  # of the ratio
MODES = ("early", "exact")
FIGURES = [f"{mode}_{name}" for mode in MODES for name in ("fnum", "ratio", "accuracy", "gap")] + ["above"]


def of(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The cells of a kind that have figures."""
    return table[(table["method"] == kind) & table["error"].isna()]


def beside(table: pd.DataFrame) -> pd.DataFrame:
    """One row a printed setting: means over the folds, standard deviations of accuracies, the largest ``possible``."""
    rows, keys = of(table, AT), ["distribution", "column", "dataset"]
    if rows.empty:
        return pd.DataFrame(columns=[*keys, *FIGURES, "possible", "n_folds"])
    grouped = rows.groupby(keys, sort=False)
    found = grouped[FIGURES].mean()
    found["possible"] = grouped["possible"].max()
    found["n_folds"] = grouped.size()
    for mode in MODES:
        found[f"{mode}_std"] = grouped[f"{mode}_accuracy"].std(ddof=0)
    return found.reset_index()


def plain(table: pd.DataFrame) -> dict[tuple[str, str], Any]:
    """Mean and standard deviation of the accuracy without a selection, by distribution ("raw" too) and data set."""
    rows = of(table, PLAIN)
    if rows.empty:
        return {}
    grouped = rows.groupby(["distribution", "dataset"])["accuracy"]
    return {key: (float(v.mean()), float(v.std(ddof=0))) for key, v in grouped}


def settings(table: pd.DataFrame) -> pd.DataFrame:
    """One row a fold and setting of the grid; all draws have the ``pair`` -1 and the ratio 1."""
    found = []
    for row in of(table, GRID).to_dict("records"):
        own = {k: row[k] for k in ("distribution", "dataset", "split", "w", "s")}
        found.append({**own, "pair": -1, "ratio": 1.0, "accuracy": row["all"], "validation": row["validation_all"]})
        for pair in range(len(PENALTIES)):
            found.append({**own, "pair": pair, **{k: row[k][pair] for k in ("ratio", "accuracy", "validation")}})
    columns = ["distribution", "dataset", "split", "w", "s", "pair", "ratio", "accuracy", "validation"]
    return pd.DataFrame(found, columns=columns)


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by data set, distribution and arm: the best setting of the grid on the test folds, as the paper has it
    (``best``); the one that is best on inner folds of each training part (``nested``); the ``median`` of all."""
    found, keys = [], ["w", "s", "pair"]
    for (distribution, dataset), rows in settings(table).groupby(["distribution", "dataset"], sort=False):
        for arm in ARMS:
            own = rows[rows["pair"] < 0] if arm == ALL else rows[rows["pair"] >= 0]
            means = own.groupby(keys, sort=False)[["accuracy", "ratio"]].mean()
            if arm == SMALL:
                means, own = means[means["ratio"] < LIMIT], own[own["ratio"] < LIMIT]
            ranked = own.sort_values(["split", "validation", "ratio"], ascending=[True, False, True], kind="stable")
            picked = ranked.drop_duplicates("split")
            found.append(
                {
                    "distribution": distribution,
                    "dataset": dataset,
                    "arm": arm,
                    "best": means["accuracy"].max(),
                    "median": means["accuracy"].median(),
                    "nested": picked["accuracy"].mean(),
                    "ratio": picked["ratio"].mean(),
                    "n_settings": len(means),
                }
            )
    columns = ["distribution", "dataset", "arm", "best", "median", "nested", "ratio", "n_settings"]
    return pd.DataFrame(found, columns=columns)


def accuracy_table(table: pd.DataFrame) -> Table:
    """Tables 2 and 4 beside ours."""
    ours, rows = plain(table), []

    def row(distribution: str, column: str, name: str, printed: Any, early: Any, exact: str = "") -> None:
        rows.append(
            {
                "noise": distribution,
                "data set": name,
                "column": column,
                "w": printed.w,
                "s": printed.s,
                "paper": with_std(printed.accuracy, printed.std),
                "here": with_std(*(100 * v for v in early)),
                "at the minimum": exact,
            }
        )

    sides: list[tuple[str, str, dict[str, Plain]]] = [("raw", "raw data", RAW)]
    sides += [(noise, "uncertain data", values) for noise, values in UNCERTAIN.items()]
    for noise, column, values in sides:
        for name, printed in values.items():
            if (noise, name) in ours:
                row(noise, column, name, printed, ours[noise, name])
    for r in beside(table).itertuples(index=False):
        printed = PRINTED[r.distribution, r.column][r.dataset]
        exact = with_std(100 * r.exact_accuracy, 100 * r.exact_std)
        row(r.distribution, r.column, r.dataset, printed, (r.early_accuracy, r.early_std), exact)
    return Table(
        "tables_2_4",
        "Tables 2 and 4 beside ours",
        "Accuracy in percent, mean ± standard deviation over ten folds, at the amplitude w, number of draws s and "
        "penalties that the paper prints; here: after 100 accelerated steps from zero, and at the minimum of eq. 7.",
        pd.DataFrame(rows),
    )


def selection_table(table: pd.DataFrame) -> Table:
    """Tables 3 and 5 beside ours, and how far the steps are from the minimum."""
    rows = []
    for r in beside(table).itertuples(index=False):
        p = PRINTED[r.distribution, r.column][r.dataset]
        rows.append(
            {
                "noise": r.distribution,
                "data set": r.dataset,
                "column": r.column,
                "lambda1": p.lam1,
                "lambda2": p.lam2,
                "w": p.w,
                "s": p.s,
                "FNum, paper": p.fnum,
                "100 steps": round(r.early_fnum, 1),
                "minimum": round(r.exact_fnum, 1),
                "ratio, paper": p.ratio,
                "ratio, 100 steps": round(r.early_ratio, 3),
                "ratio, minimum": round(r.exact_ratio, 3),
                "at most": round(r.possible, 3),
                "at most, by rank": round(most(r.dataset, p.s), 3) if p.lam2 == 0 else None,
                "gap": f"{r.early_gap:.1e}",
                "gap of the minimum": f"{r.exact_gap:.0e}",
                "above": f"{r.above:.2g}",
            }
        )
    return Table(
        "tables_3_5",
        "Tables 3 and 5 beside ours",
        "Features kept (FNum) and share of sub-features kept (ratio), means over ten folds, after 100 accelerated "
        "steps from zero and at the minimum of eq. 7. At most: the share of sub-features that no minimum exceeds, the "
        "others being proven to have weight 0 (gap-safe test; the largest of the folds); by rank: where lambda2 is 0, "
        "as many sub-features as training rows. Gap: the duality gap as a share of half the squared norm of the "
        "targets; above: how far the objective of the 100 steps is above the minimum, as a share of it.",
        pd.DataFrame(rows),
    )


def chosen_table(table: pd.DataFrame) -> Table:
    """The paper's way to tell an accuracy, beside an honest one."""
    found, ours, rows = chosen(table), plain(table), []
    for (distribution, dataset), cells in found.groupby(["distribution", "dataset"], sort=False):
        row: dict[str, Any] = {"noise": distribution, "data set": dataset}
        row["raw"] = with_std(100 * ours.get(("raw", dataset), (np.nan,))[0])
        for r in cells.itertuples(index=False):
            side = UNCERTAIN[distribution] if r.arm == ALL else PRINTED[distribution, r.arm]
            row[f"{r.arm}: paper"] = with_std(side[dataset].accuracy)
            for way in ("best", "median", "nested"):
                row[f"{r.arm}: {way}"] = with_std(100 * getattr(r, way))
        rows.append(row)
    return Table(
        "nested",
        "The best of the grid, and settings chosen without the test folds",
        "Accuracy in percent over ten folds after 100 steps. Best: of the setting that is best on the test folds "
        "themselves, as the paper has it; median of all settings; nested: of the setting that is best on three inner "
        "folds of each training part, among equals the one that keeps least.",
        pd.DataFrame(rows),
    )


def weight_pictures(table: pd.DataFrame) -> list[Picture]:
    """Figures 2 and 3, and Figures 4 and 5."""
    rows = of(table, WEIGHTS)
    if rows.empty:
        return []
    caption = (
        "One training part; groups are columns, sub-features rows. Above after 100 accelerated steps from zero, as in "
        "the paper; below at the minimum of eq. 7. Red: positive, blue: negative, grey: zero; every panel has colours "
        "of its own, up to its largest weight but for the largest 2 %."
    )
    sets = rows[rows["column"] == "all sets"].to_dict("records")
    grid = rows[rows["column"] == "all penalties"].to_dict("records")
    by_penalty = [(f"({r['lam1']:g}, {r['lam2']:g})", r) for r in grid]
    return [
        _picture(
            "weights_sets",
            "Weights of the nine data sets (Figs. 2 and 3)",
            caption,
            [(r["dataset"], r) for r in sets],
            3,
        ),
        _picture("weights_penalties", "Weights of Sonar at (lambda1, lambda2) (Figs. 4 and 5)", caption, by_penalty, 4),
    ]


def _picture(stem: str, title: str, caption: str, cells: Sequence[tuple[str, dict]], across: int) -> Picture:
    with figure_style():
        from matplotlib.figure import Figure

        down = -(-len(cells) // across)
        figure = Figure(figsize=(3.6 * across, 2.9 * down), layout="constrained")
        for place, (name, cell) in enumerate(cells):
            box = figure.add_subfigure(figure.add_gridspec(down, across)[place])
            box.suptitle(name, fontsize=11)
            for panel, mode in zip(box.subplots(2, 1), MODES):
                weights_panel(panel, np.array(cell[mode], dtype=float).T, "100 steps" if mode == "early" else "minimum")
        png = png_of(figure)
    return Picture(stem, title, caption, png)


def weights_panel(ax: Any, w: np.ndarray, side: str) -> None:
    """Weights ``w`` (s, d) as an image, zero in grey."""
    from matplotlib import colormaps

    used = np.abs(w[w != 0])
    top = float(np.quantile(used, 0.98)) if len(used) else 1.0
    colours = colormaps["RdBu_r"].with_extremes(bad="#c9c9c9")
    ax.imshow(
        np.ma.masked_equal(w, 0.0),
        cmap=colours,
        vmin=-top,
        vmax=top,
        aspect="auto",
        interpolation="nearest",
    )
    ax.grid(visible=False)
    ax.set_yticks([])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel(f"{side}\n{(w != 0).mean():.0%} kept", fontsize=8.5)
    ax.tick_params(labelsize=8)
    if side == "100 steps":
        ax.set_xticklabels([])
