"""Tables and pictures of the study of uncertain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fsgym.comparison.report import Picture
from fsgym.comparison.summary import means_with_stds
from fsgym_studies.common.curves import without_gaps
from fsgym_studies.common.render import draw_picture, with_std
from fsgym_studies.common.study import Table
from fsgym_studies.uncertain_sgl.cell import MODES
from fsgym_studies.uncertain_sgl.printed import PENALTY_PAIRS, PRINTED, PRINTED_ROWS, max_lasso_ratio

COMPARED_SELECTIONS = ("all sub-features", "FS", "FS (ratio < 0.9)")
# Kinds of cells without a selection, by how the ten folds are drawn, as tables name it:
FOLD_KINDS = {
    "no selection": "shuffled",
    "no selection, file order": "in file order",
    "no selection, blocks": "in blocks of rows",
}
IN_FILE_ORDER = "no selection, file order"
FOLDS = "folds"  # stem of the table
RATIO_LIMIT = 0.9  # of the paper's second column of selections
SETTING_FIGURES = [f"{mode}_{name}" for mode in MODES for name in ("fnum", "ratio", "accuracy", "gap")] + ["above"]


# The columns that name a setting, which has a cell for each fold:
SETTING = ("method", "distribution", "column", "dataset", "w", "s", "lam1", "lam2")


def cells_of_kind(table: pd.DataFrame, *kinds: str) -> pd.DataFrame:
    """The cells of these kinds, which are in the column ``method``, of the settings that have results in each fold."""
    return without_gaps(table[table["method"].isin(kinds)], [name for name in SETTING if name in table])


def setting_results(table: pd.DataFrame) -> pd.DataFrame:
    """One row per printed setting: means over folds, standard deviations of accuracies, the largest ``possible``.

    What the paper prints is in the columns ``printed_accuracy``, ``printed_std``, ``printed_fnum`` and
    ``printed_ratio``; w, s, lam1 and lam2 are the setting.
    """
    rows, keys = cells_of_kind(table, "printed setting"), ["distribution", "column", "dataset"]
    rows = rows.reindex(columns=[*keys, *SETTING_FIGURES, "possible"])
    results = means_with_stds(rows, keys, SETTING_FIGURES).join(rows.groupby(keys)["possible"].max()).reset_index()
    shown = {name: f"printed_{name}" for name in ("accuracy", "std", "fnum", "ratio")}
    return results.merge(PRINTED_ROWS.rename(columns={"noise": "distribution", **shown}), "left", keys)


def unselected_accuracies(table: pd.DataFrame) -> dict[tuple[str, str], Any]:
    """Mean and standard deviation of the accuracy without a selection, by distribution (or "raw") and data set."""
    rows, keys = cells_of_kind(table, "no selection"), ["distribution", "dataset"]
    means = means_with_stds(rows.reindex(columns=[*keys, "accuracy"]), keys, ["accuracy"])
    return {key: (mean, std) for key, mean, std in means.itertuples(name=None)}


def accuracies_by_folds(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy in percent without a selection beside the printed one, by kind of folds, noise and data set.

    Columns ``accuracy`` and ``std`` (divisor n - 1), ``printed_accuracy`` and ``printed_std``; index levels ``method``
    (the kind), ``distribution`` and ``dataset``.
    """
    rows = cells_of_kind(table, *FOLD_KINDS)
    rows = rows.reindex(columns=["method", "distribution", "dataset", "accuracy"])
    rows = rows[rows["distribution"].isin({noise for noise, _ in PRINTED})]
    grouped = (100 * rows["accuracy"].astype(float)).groupby([rows[k] for k in rows.columns[:3]], sort=False)
    found = pd.DataFrame({"accuracy": grouped.mean(), "std": grouped.std()})
    columns = ["printed_accuracy", "printed_std"]
    printed = [PRINTED[noise, "all sub-features"][dataset] for _, noise, dataset in found.index]
    return found.assign(**{name: [getattr(p, name.removeprefix("printed_")) for p in printed] for name in columns})


def folds_table(table: pd.DataFrame) -> Table:
    """Accuracies of Tables 2 and 4 without a selection, by the order in which folds are drawn."""
    found = accuracies_by_folds(table)
    rows = []
    for (noise, dataset), own in found.groupby(["distribution", "dataset"], sort=False):
        first = own.iloc[0]
        row = {"noise": noise, "data set": dataset, "paper": with_std(first["printed_accuracy"], first["printed_std"])}
        texts = {kind: with_std(r["accuracy"], r["std"]) for (kind, *_), r in own.iterrows()}
        rows.append(row | {title: texts.get(kind, "–") for kind, title in FOLD_KINDS.items()})
    return Table(
        FOLDS,
        "Folds in other orders (Tables 2 and 4)",
        "Accuracy of the SVM without a selection at the printed w and s, in percent: mean ± standard deviation "
        "(divisor "
        "n - 1) over ten folds.",
        pd.DataFrame(rows),
    )


def grid_settings(table: pd.DataFrame) -> pd.DataFrame:
    """One row per fold and setting of the grid; all sub-features have the ``pair`` -1 and the ratio 1."""
    settings = []
    for row in cells_of_kind(table, "grid").to_dict("records"):
        own = {k: row[k] for k in ("distribution", "dataset", "split", "w", "s")}
        settings.append({**own, "pair": -1, "ratio": 1.0, "accuracy": row["all"], "validation": row["validation_all"]})
        for pair in range(len(PENALTY_PAIRS)):
            settings.append({**own, "pair": pair, **{k: row[k][pair] for k in ("ratio", "accuracy", "validation")}})
    columns = ["distribution", "dataset", "split", "w", "s", "pair", "ratio", "accuracy", "validation"]
    return pd.DataFrame(settings, columns=columns)


def grid_accuracies(table: pd.DataFrame) -> pd.DataFrame:
    """Accuracy on the grid by distribution, data set and selection (column ``selection``).

    ``best`` is that of the best setting on the test folds, as in the paper; ``nested`` that of the settings chosen on
    inner folds of each training part, NaN where a fold has none to choose from; ``median`` that over all settings.
    """
    rows_by_selection, keys = [], ["w", "s", "pair"]
    for (distribution, dataset), rows in grid_settings(table).groupby(["distribution", "dataset"], sort=False):
        for selection in COMPARED_SELECTIONS:
            own = rows[rows["pair"] < 0] if selection == "all sub-features" else rows[rows["pair"] >= 0]
            means = own.groupby(keys, sort=False)[["accuracy", "ratio"]].mean()
            if selection == "FS (ratio < 0.9)":
                means, own = means[means["ratio"] < RATIO_LIMIT], own[own["ratio"] < RATIO_LIMIT]
            ranked = own.sort_values(["split", "validation", "ratio"], ascending=[True, False, True], kind="stable")
            picked = ranked.drop_duplicates("split").set_index("split")[["accuracy", "ratio"]]
            nested = picked.reindex(rows["split"].unique()).mean(skipna=False)
            ways = (
                means["accuracy"].max(),
                means["accuracy"].median(),
                nested["accuracy"],
                nested["ratio"],
                len(means),
            )
            rows_by_selection.append((distribution, dataset, selection, *ways))
    columns = ["distribution", "dataset", "selection", "best", "median", "nested", "ratio", "n_settings"]
    return pd.DataFrame(rows_by_selection, columns=columns)


def accuracy_table(table: pd.DataFrame) -> Table:
    """Tables 2 and 4, printed and ours."""
    rows, ours = [], unselected_accuracies(table)
    for noise, column in (("raw", "raw data"), ("gaussian", "uncertain data"), ("uniform", "uncertain data")):
        for name, p in PRINTED[noise, "all sub-features"].items():
            if (noise, name) in ours:
                own = with_std(*(100 * v for v in ours[noise, name]))
                rows.append((noise, name, column, p.w, p.s, with_std(p.accuracy, p.std), own, ""))
    for r in setting_results(table).itertuples(index=False):
        printed = with_std(r.printed_accuracy, r.printed_std)
        early = with_std(100 * r.early_accuracy, 100 * r.early_accuracy_std)
        exact = with_std(100 * r.exact_accuracy, 100 * r.exact_accuracy_std)
        rows.append((r.distribution, r.dataset, r.column, r.w, r.s, printed, early, exact))
    columns = ["noise", "data set", "column", "w", "s", "paper", "ours", "at the minimum"]
    return Table(
        "tables_2_4",
        "Tables 2 and 4, printed and ours",
        "Accuracy in percent, mean ± standard deviation over ten folds, at the printed amplitude w, number of draws s "
        "and penalties. Ours: after 100 accelerated steps from zero, and at the minimum of eq. 7.",
        pd.DataFrame(rows, columns=columns),
    )


def selection_table(table: pd.DataFrame) -> Table:
    """Tables 3 and 5, printed and ours, and the distance of the 100 steps from the minimum."""
    results = setting_results(table)
    limits = [max_lasso_ratio(r.dataset, r.s) if r.lam2 == 0 else np.nan for r in results.itertuples()]
    columns = {  # their names, and how their values are shown
        "distribution": ("noise", None),
        "dataset": ("data set", None),
        "column": ("column", None),
        "lam1": ("lambda1", None),
        "lam2": ("lambda2", None),
        "w": ("w", None),
        "s": ("s", None),
        "printed_fnum": ("FNum, paper", None),
        "early_fnum": ("100 steps", lambda v: round(v, 1)),
        "exact_fnum": ("minimum", lambda v: round(v, 1)),
        "printed_ratio": ("ratio, paper", None),
        "early_ratio": ("ratio, 100 steps", lambda v: round(v, 3)),
        "exact_ratio": ("ratio, minimum", lambda v: round(v, 3)),
        "possible": ("at most", lambda v: round(v, 3)),
        "limit": ("at most, by rank", lambda v: round(v, 3)),
        "early_gap": ("gap", "{:.1e}".format),
        "exact_gap": ("gap of the minimum", "{:.0e}".format),
        "above": ("above", "{:.2g}".format),
    }
    frame = results.assign(limit=limits)[[*columns]]
    for name, (_, shown) in columns.items():
        frame[name] = frame[name] if shown is None else frame[name].map(shown)
    return Table(
        "tables_3_5",
        "Tables 3 and 5, printed and ours",
        "Number of selected features (FNum) and share of selected sub-features (ratio), means over ten folds, after "
        "100 accelerated steps from zero and at the minimum of eq. 7. At most: an upper bound on the ratio of any "
        "minimum, since all other weights are proven to be 0 (gap-safe test; the largest over the folds). At most, by "
        "rank: where lambda2 is 0, as many sub-features as training rows. Gap: the duality gap as a share of half the "
        "squared norm of the targets. Above: the objective after 100 steps minus the minimum, as a share of it.",
        frame.rename(columns={name: title for name, (title, _) in columns.items()}),
    )


def chosen_table(table: pd.DataFrame) -> Table:
    """Accuracies with settings chosen on the test folds, as in the paper, and chosen without them."""
    accuracies, ours, rows = grid_accuracies(table), unselected_accuracies(table), []
    for (distribution, dataset), cells in accuracies.groupby(["distribution", "dataset"], sort=False):
        raw = with_std(100 * ours.get(("raw", dataset), (np.nan,))[0])
        row: dict[str, Any] = {"noise": distribution, "data set": dataset, "raw": raw}
        for r in cells.itertuples(index=False):
            row[f"{r.selection}: paper"] = with_std(PRINTED[distribution, r.selection][dataset].accuracy)
            for way in ("best", "median", "nested"):
                row[f"{r.selection}: {way}"] = with_std(100 * getattr(r, way))
        rows.append(row)
    return Table(
        "nested",
        "The best of the grid, and settings chosen without the test folds",
        "Accuracy in percent over ten folds after 100 steps. Best: of the setting that is best on the test folds, as "
        "in the paper. Median: over all settings. Nested: of the setting that is best on three inner folds of each "
        "training part; of equally good ones, that with the smallest ratio.",
        pd.DataFrame(rows),
    )


def weight_pictures(table: pd.DataFrame) -> list[Picture]:
    """Figs. 2 and 3, and Figs. 4 and 5."""
    rows = cells_of_kind(table, "weights")
    if rows.empty:
        return []
    by_dataset = [(r["dataset"], r) for r in rows[rows["column"] == "all sets"].to_dict("records")]
    of_sonar = rows[rows["column"] == "all penalties"].to_dict("records")
    by_penalties = [(f"({r['lam1']:g}, {r['lam2']:g})", r) for r in of_sonar]
    on_sonar = "Weights of Sonar at (lambda1, lambda2) (Figs. 4 and 5)"
    return [
        _picture("weights_sets", "Weights of the nine data sets (Figs. 2 and 3)", by_dataset, 3),
        _picture("weights_penalties", on_sonar, by_penalties, 4),
    ]


def _picture(stem: str, title: str, cells: Sequence[tuple[str, dict]], across: int) -> Picture:
    down = -(-len(cells) // across)

    def draw(figure: Figure) -> None:
        for place, (name, cell) in enumerate(cells):
            box = figure.add_subfigure(figure.add_gridspec(down, across)[place])
            box.suptitle(name, fontsize=11)
            for panel, mode in zip(box.subplots(2, 1), MODES):
                weights_panel(panel, np.array(cell[mode], dtype=float).T, "100 steps" if mode == "early" else "minimum")

    caption = (
        "One training part; groups are columns, sub-features are rows. Top: after 100 accelerated steps from zero, as "
        "in the paper; bottom: at the minimum of eq. 7. Red: positive, blue: negative, grey: zero. The colours of each "
        "panel span its weights without the largest 2 %."
    )
    return draw_picture(stem, title, caption, draw, (3.6 * across, 2.9 * down))


def weights_panel(ax: Any, w: np.ndarray, side: str) -> None:
    """Plot weights ``w`` (s, d) as an image, zeros in grey."""
    used = np.abs(w[w != 0])
    top = float(np.quantile(used, 0.98)) if len(used) else 1.0
    colours = colormaps["RdBu_r"].with_extremes(bad="#c9c9c9")
    image = np.ma.masked_equal(w, 0.0)
    ax.imshow(image, cmap=colours, vmin=-top, vmax=top, aspect="auto", interpolation="nearest")
    ax.grid(visible=False)
    ax.set_yticks([])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel(f"{side}\n{(w != 0).mean():.0%} non-zero", fontsize=8.5)
    ax.tick_params(labelsize=8)
    if side == "100 steps":
        ax.set_xticklabels([])
