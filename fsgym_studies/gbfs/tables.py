"""Tables and pictures of the GBFS study: test errors of all methods at equal numbers of selected features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fsgym.comparison import figures
from fsgym.comparison.report import Picture
from fsgym_studies.common.curves import cells_with, rows_of
from fsgym_studies.common.difference import Difference
from fsgym_studies.common.render import LINE, draw_picture, format_number
from fsgym_studies.common.statistics import accuracy_at, mean_of
from fsgym_studies.common.study import Table
from fsgym_studies.gbfs.cell import PICTURE_GRID

# Names as in the paper: RFFS selects features by the importances of a random forest, L1LR is L1 logistic regression.
CURVE_METHODS = ("GBFS", "RFFS", "L1LR", "HSIC Lasso", "mRMR")
RFFS_BOUND = "RFFS, larger leaves"  # with the bound on leaves of section 5.3
LEAF_ROWS, KDD_LEAF_ROWS = 20, 500  # nodes of up to so many rows are not split; our copy of the paper lacks its numbers
# GBFS on kddcup99 at the printed depth 4 and learning rate .1: levels of splits by name. The released code of the
# authors grows 3 levels where its depth is 4.
PRINTED_LEVELS = {"GBFS as printed, 4 levels of splits": 4, "GBFS as printed, 3 levels of splits": 3}
KDD_PRINTED = next(iter(PRINTED_LEVELS))  # by which the claim is judged
KDD_TREES = 500  # of the paper's forest on kddcup99
RFFS_MORE = f"RFFS, {KDD_TREES} trees"  # in timed training
KDD_ALL_ROWS = "kddcup99, all rows"  # the data set with all training rows of the 10 % file
FEW = 8  # features, up to which methods are compared on kddcup99
BAG_METHODS = {  # on colon: their names in the cells, and in claims and tables
    "GBFS, bags": "GBFS with bags",
    **{name: name for name in ("group LASSO", "GBFS", "RFFS", "L1LR", "HSIC Lasso")},
}
STUMPS = "GBFS with bags, trees of one split"  # on colon
# Other ways to put the digits of uspst into two classes, and those of the second class:
GROUPINGS = {"uspst, 5 to 9": range(5, 10), "uspst, loops": (0, 6, 8, 9)}
NEIGHBOURS = "GBFS, neighbours at "  # a share of the price of a pixel beside a selected one
CURVE_DATASETS = ("spambase", "uspst", "isolet", "mnist3vs8", "adult", "pcmac", "kddcup99")
SMALL_AND_MEDIUM = CURVE_DATASETS[:-1]
DIGIT_PAIRS = ((3, 8), (1, 7), (2, 6), (4, 9), (5, 8))  # the first as in section 5.1, the others drawn once
FURTHER_DATASETS = tuple(f"mnist{a}vs{b}" for a, b in DIGIT_PAIRS[1:])  # as in the appendix; not counted by the claims
FEATURE_COUNTS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 100)  # at which curves are compared and averaged
REPORTED_COUNTS = (2, 5, 10, 20, 50, 100)  # at which tables and notes report errors
COUNT_SCALE = 1e6  # features; ``accuracy_at`` takes shares, and with one divisor the curve stays linear in the count
SPAM_COLUMNS = 57
CLASS_COLOURS = (figures.COLOURS[1], figures.COLOURS[0])


def curve_points(table: pd.DataFrame, value: str = "test_error") -> pd.DataFrame:
    """One row per setting: columns dataset, split, method, chance, n_test, n_features and ``value``."""
    columns = ["dataset", "split", "method", "chance", "n_test", "n_features", value]
    if not set(columns) <= set(table.columns):
        return pd.DataFrame(columns=columns)
    cells = cells_with(cells_with(table, "n_features"), value)
    return cells[columns].explode(["n_features", value], ignore_index=True)


def errors_at(rows: pd.DataFrame, counts: Sequence[int], value: str = "test_error") -> pd.DataFrame:
    """Each split's curve at these numbers of features: index (dataset, method, split), one column per number.

    Without features the error is that of the largest class; beyond the setting with most features the curve is flat.
    That of HSIC Lasso ends there (NaN), where its path does.
    """
    keys = ["dataset", "method", "split"]
    errors = {
        key: 1.0
        - accuracy_at(
            1.0 - np.asarray(counts) / COUNT_SCALE,
            1.0 - cells["n_features"].astype(float) / COUNT_SCALE,
            1.0 - cells[value].astype(float),
            1.0 - float(cells["chance"].iloc[0]),
        )
        for key, cells in rows.groupby(keys, sort=False)
    }
    index = pd.MultiIndex.from_tuples(list(errors), names=keys)
    frame = pd.DataFrame(list(errors.values()), index=index, columns=list(counts)).sort_index()
    ends = rows[rows["method"] == "HSIC Lasso"].groupby(keys)["n_features"].max().astype(float)
    limits = ends.reindex(frame.index, fill_value=np.inf).to_numpy()
    return frame.where(np.asarray(counts) <= limits[:, None])


def counts_of(dataset: str, high: int = 100) -> list[int]:
    """Numbers of features at which methods are compared: up to 100 as in the paper, on spambase up to its 57."""
    most = min(high, SPAM_COLUMNS) if dataset == "spambase" else high
    return [k for k in FEATURE_COUNTS if k <= most]


def paired_errors(
    table: pd.DataFrame, dataset: str, first: str, second: str, counts: Sequence[int] | None = None
) -> tuple[pd.DataFrame, float]:
    """The errors of two methods, averaged over numbers of features, a row per split that both have, and test rows."""
    rows = curve_points(table[(table["dataset"] == dataset) & table["method"].isin([first, second])])
    errors = errors_at(rows, counts or counts_of(dataset))
    wide = errors.loc[:, errors.notna().all()].mean(axis=1).unstack("method") if len(rows) else pd.DataFrame()
    both = wide.reindex(columns=[first, second]).dropna()
    if both.empty:
        return both, 0.0
    test_rows = rows.drop_duplicates("split").set_index("split")["n_test"]
    return both, float(test_rows[both.index.get_level_values("split")].sum())


def compare_errors(
    table: pd.DataFrame, dataset: str, first: str, second: str, counts: Sequence[int] | None = None
) -> Difference:
    """Compare the errors of two methods, averaged over numbers of features, in the splits that both have.

    The average is over the numbers of features, by default ``counts_of`` the data set, up to which both have curves.
    The standard error is that of a difference of two independent shares of all test rows. It is conservative,
    since both methods are tested on the same rows.
    """
    both, n_test = paired_errors(table, dataset, first, second, counts)
    if both.empty:
        return Difference(np.nan, np.nan, np.nan)
    mean = both.mean().clip(0.0, 1.0)
    standard_error = np.sqrt(float((mean * (1.0 - mean)).sum()) / n_test) if n_test else np.nan
    return Difference(float(mean[first]), float(mean[second]), float(standard_error), lower_is_better=True)


def datasets_with_curves(table: pd.DataFrame) -> list[str]:
    """Data sets of Figs. 3 and 4, and further pairs of digits, that have results."""
    present = set(curve_points(table)["dataset"])
    return [d for d in (*CURVE_DATASETS, *FURTHER_DATASETS) if d in present]


def comparison_table(table: pd.DataFrame) -> Table:
    """Where GBFS is better or worse than random forest selection and L1 logistic regression."""
    rows = []
    for dataset in datasets_with_curves(table):
        single = [(str(k), [k]) for k in REPORTED_COUNTS if k <= max(counts_of(dataset))]
        for name, counts in (*single, ("mean", None)):
            forest, linear = (compare_errors(table, dataset, "GBFS", other, counts) for other in ("RFFS", "L1LR"))
            errors = (format_number(error, 4) for error in (forest.first, forest.second, linear.second))
            rows.append((dataset, name, *errors, forest.word, linear.word))
    columns = ["data set", "features", "GBFS", "RFFS", "L1LR", "against RFFS", "against L1LR"]
    caption = (
        "Test errors at equal numbers of features, means over splits. Row mean: the average over "
        f"{', '.join(map(str, FEATURE_COUNTS))} features (on spambase up to 50). Better: the error of GBFS is lower by "
        "more than two standard errors of a difference of two shares of as many test rows; worse: it is higher by more "
        "than that; similar: neither."
    )
    frame = pd.DataFrame(rows, columns=columns)
    return Table("versus", "Where GBFS is better and where it is worse", caption, frame)


def error_table(table: pd.DataFrame) -> Table:
    """Errors of every method at given numbers of features."""
    rows, errors = [], errors_at(curve_points(table), REPORTED_COUNTS)
    for dataset in datasets_with_curves(table):
        for method in (*CURVE_METHODS, RFFS_BOUND):
            if (dataset, method) in errors.index.droplevel("split"):
                own = errors.loc[(dataset, method)]
                means = own.mean(skipna=False)
                reported = {str(k): means[k] if k <= max(counts_of(dataset)) else None for k in REPORTED_COUNTS}
                rows.append({"data set": dataset, "method": method, "splits": len(own)} | reported)
    caption = "Test errors by number of selected features; means over splits, where the curves of all go so far."
    return Table("errors", "Errors of all methods", caption, pd.DataFrame(rows))


def all_settings_table(table: pd.DataFrame) -> Table:
    """Number of features and test error of every setting of every method."""
    rows = curve_points(table)
    rows["setting"] = rows.groupby(["dataset", "method", "split"], sort=False).cumcount() + 1
    rows = rows.astype({"n_features": float, "test_error": float})
    figures_of = {"n_features": "mean", "test_error": "mean", "split": "nunique"}
    frame = rows.groupby(["dataset", "method", "setting"], sort=False).agg(figures_of).reset_index()
    names = {"dataset": "data set", "n_features": "features", "test_error": "test error", "split": "splits"}
    caption = "Number of selected features and test error of each setting, means over splits."
    return Table("settings", "All settings", caption, frame.rename(columns=names))


def quality_table(table: pd.DataFrame) -> Table:
    """Errors of the same kind of SVM on the selections of each method."""
    errors = quality_errors(table, REPORTED_COUNTS).rename(columns=str)
    rows = [{"method": method, **own.mean(skipna=False)} for method, own in errors.groupby("method")]
    caption = "Test errors on uspst of an SVM with RBF kernel on the selected features, by number of features."
    return Table("quality", "Quality of the selected features", caption, pd.DataFrame(rows))


def quality_errors(table: pd.DataFrame, counts: Sequence[int]) -> pd.DataFrame:
    """``errors_at`` on uspst of the SVM on every selection; mRMR and HSIC Lasso are followed by it in any case."""
    table = table[table["dataset"] == "uspst"]
    of_svm, own = curve_points(table, "svm_error"), curve_points(table[table["method"].isin(["HSIC Lasso", "mRMR"])])
    own = own.rename(columns={"test_error": "svm_error"})
    return errors_at(pd.concat([of_svm, own]) if len(of_svm) and len(own) else of_svm, counts, "svm_error")


class BestSetting(NamedTuple):
    """A method on colon at its setting with the lowest mean test error, and at that with the fewest bags."""

    # mean test error, selected features and bags at the setting with the lowest error
    error: float
    features: float
    bags: float
    fewest_bags: float  # the lowest mean number of bags of a setting that selects features
    error_at_fewest: float  # the mean test error of that setting


def best_setting(table: pd.DataFrame, method: str) -> BestSetting | None:
    """Results of a method on colon; None without any.

    The setting is chosen on the test rows, which favours all methods alike. Settings without features are left out.
    """
    rows = rows_of(cells_with(table, "bags"), "colon", method)
    if rows.empty:
        return None
    shortest = min(len(v) for v in rows["bags"])
    error, features, bags = (
        np.array([v[:shortest] for v in rows[c]], float).mean(axis=0) for c in ("test_error", "n_features", "bags")
    )
    used = np.flatnonzero(features > 0)
    if not len(used):
        return None
    k, least = used[error[used].argmin()], used[bags[used].argmin()]
    return BestSetting(*(float(v) for v in (error[k], features[k], bags[k], bags[least], error[least])))


def best_settings(table: pd.DataFrame) -> dict[str, BestSetting]:
    """``best_setting`` of each of ``BAG_METHODS`` that has results, by its title."""
    best = {title: best_setting(table, method) for method, title in BAG_METHODS.items()}
    return {title: own for title, own in best.items() if own is not None}


def colon_table(table: pd.DataFrame) -> Table:
    """Errors and bags on colon."""
    columns = ["method", "lowest error", "features", "bags", "fewest bags", "error with fewest bags"]
    rows = [(title, *map(format_number, best, (3, 1, 1, 1, 3))) for title, best in best_settings(table).items()]
    caption = (
        "Each method at the setting with the lowest mean error over the splits. This setting is chosen on the test "
        "rows, which favours all methods alike. The last two columns are for the setting whose features come from the "
        "fewest bags."
    )
    return Table("colon", "Colon: genes in bags", caption, pd.DataFrame(rows, columns=columns))


def staged_errors(cell: Mapping[str, Any], counts: Sequence[int]) -> dict[float, list[float]]:
    """By mu_rel, the errors of the last iteration with at most so many features, NaN where none has as few."""
    found = {}
    for mu, features, errors in zip(cell["mu_rel"], cell["stage_features"], cell["stage_error"]):
        last = np.searchsorted(features, counts, side="right") - 1
        found[mu] = [errors[k] if k >= 0 else np.nan for k in last]
    return found


def kdd_table(table: pd.DataFrame) -> Table:
    """GBFS at the printed depth and rate on kddcup99, beside the study's settings and the other methods."""
    counts, rows = counts_of("kddcup99", FEW), []
    cells = cells_with(table[table["dataset"].isin(["kddcup99", KDD_ALL_ROWS])], "test_error")
    errors = errors_at(curve_points(cells), counts) if len(cells) else pd.DataFrame()
    for cell in cells.to_dict("records"):
        title = "GBFS at the settings of the other data sets" if cell["method"] == "GBFS" else cell["method"]
        rows.append((cell["n_train"], title, *errors.loc[(cell["dataset"], cell["method"], cell["split"])]))
    for cell in cells_with(table, "stage_error").to_dict("records"):
        for mu, staged in staged_errors(cell, counts).items():
            title = f"{KDD_PRINTED}, over its iterations, mu = mu_max / {1 / mu:.0f}"
            rows.append((cell["n_train"], title, *staged))
    columns = ["training rows", "method", *map(str, counts)]
    frame = pd.DataFrame(rows, columns=columns)
    frame["mean"] = frame[columns[2:]].mean(axis=1, skipna=False) if len(frame) else []
    caption = (
        "Test errors by number of features on the 10 % file of kddcup99. As printed: trees of depth 4 at a learning "
        "rate of 0.1, with 4 levels of splits, or with 3, as the released code of the authors counts them. Over its "
        "iterations: at the last iteration with at most so many features, as the paper plots it."
    )
    shown = frame[[*columns[2:], "mean"]].map(lambda error: format_number(error, 4))
    shown["training rows"] = frame["training rows"].map("{:,.0f}".format)
    return Table("kddcup99", "kddcup99 at the printed depth and rate", caption, frame.assign(**shown))


def timed_seconds(table: pd.DataFrame) -> pd.DataFrame:
    """Processor seconds of training by data set and method; a row per data set, NaN where a method was not timed."""
    cells = cells_with(table, "seconds")
    rows = {cell["dataset"]: dict(zip(cell["methods"], cell["seconds"])) for cell in cells.to_dict("records")}
    return pd.DataFrame.from_dict(rows, orient="index", dtype=float).reindex(columns=[*CURVE_METHODS, RFFS_MORE])


def training_times_table(table: pd.DataFrame) -> Table:
    """The seconds of ``timed_seconds`` as text."""
    seconds, cells = timed_seconds(table), cells_with(table, "seconds")
    frame = seconds.map(lambda value: format_number(value, 2)).rename_axis("data set").reset_index()
    if len(frame):
        frame.insert(1, "training rows", [f"{n:,.0f}" for n in cells["n_train"]])
    caption = (
        "Processor seconds of training a method once, one after the other in one process and one thread. Only their "
        "ratios mean something. A dash: not timed; the paper could run neither HSIC Lasso nor mRMR on such data."
    )
    return Table("training_times", "Training times (section 5.5)", caption, frame)


def synthetic_results(table: pd.DataFrame) -> pd.DataFrame:
    """Cells of the synthetic example that have results."""
    return cells_with(table[table["dataset"] == "three features"], "gbfs_selected")


def synthetic_table(table: pd.DataFrame) -> Table:
    """How often each set of the three features is selected."""
    cells, rows = synthetic_results(table), []
    for name, title in (("l1", "L1LR"), ("gbfs", "GBFS")) if len(cells) else ():
        sets = cells[f"{name}_selected"].map(lambda v: " ".join(f"x{j}" for j in v) or "none").value_counts()
        listed = "; ".join(f"{s} in {n} of {len(cells)}" for s, n in sorted(sets.items()))
        rows.append((title, format_number(mean_of(cells[f"{name}_error"]).mean), listed))
    frame = pd.DataFrame(rows, columns=["method", "test error", "selected"])
    return Table("synthetic", "Three features, one of them redundant", "Means and counts over the draws.", frame)


def neighbours_table(table: pd.DataFrame) -> Table:
    """Pixels, their contiguous regions and errors at each price of a neighbour."""
    rows = [
        (cell["dataset"], cell["method"].removeprefix(NEIGHBOURS), k, *values)
        for cell in cells_with(table, "regions").to_dict("records")
        for k, values in enumerate(zip(cell["n_features"], cell["regions"], cell["test_error"]), 1)
    ]
    columns = ["data set", "price of a neighbour", "setting", "pixels", "regions", "test error"]
    caption = (
        "Pixels are selected by GBFS, and one that shares an edge with a selected pixel costs this share of the price "
        "of others. Regions: groups of selected pixels that are connected by edges. One split; the settings are those "
        "of mu."
    )
    return Table("neighbours", "Pixels beside selected ones cost less", caption, pd.DataFrame(rows, columns=columns))


def _plot_methods(ax: Axes, errors: pd.DataFrame, markersize: int = 5) -> None:
    """Plot the errors of each method, a row of ``errors``, over a logarithmic axis of numbers of features."""
    for method, style in figures.method_styles(CURVE_METHODS).items():
        if method in errors.index:
            line: dict[str, Any] = LINE | {"markersize": markersize} | style
            ax.plot(errors.columns, errors.loc[method], label=method, **line)
    ticks = [k for k in (1, 2, 5, 10, 20, 50, 100) if k <= errors.columns.max()]
    ax.set_xscale("log")
    ax.set_xticks(ticks, [str(k) for k in ticks])
    ax.minorticks_off()
    ax.set_ylim(bottom=0.0)


def curve_picture(table: pd.DataFrame) -> Picture | None:
    """Figs. 3 and 4: test error against the number of features, one panel per data set."""
    sets, rows = datasets_with_curves(table), curve_points(table)
    if not sets:
        return None
    errors = errors_at(rows[rows["dataset"].isin(sets)], FEATURE_COUNTS)

    def draw(figure: Figure) -> None:
        axes = figure.subplots(2, 4).ravel()
        for dataset, ax in zip(sets, axes):
            counts = counts_of(dataset)
            _plot_methods(ax, errors.loc[dataset].groupby("method").mean()[counts], markersize=4)
            ax.set_title(dataset)
        for ax in axes[len(sets) :]:
            ax.axis("off")
        for ax in axes[::4]:
            ax.set_ylabel("test error")
        for ax in axes[-4:]:
            ax.set_xlabel("selected features")
        handles = {name: line for ax in axes for line, name in zip(*ax.get_legend_handles_labels())}
        axes[-1].legend(list(handles.values()), list(handles), loc="center")

    caption = "Means over the splits. Between settings a curve is linear in the number of features."
    return draw_picture("curves", "Error against number of features (Figs. 3 and 4)", caption, draw, (12, 6.4))


def quality_picture(table: pd.DataFrame) -> Picture | None:
    """Fig. 5: the same kind of SVM on each selection."""
    errors = quality_errors(table, FEATURE_COUNTS).groupby("method").mean()
    if errors.empty:
        return None

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        _plot_methods(ax, errors)
        ax.set(xlabel="selected features", ylabel="test error of the SVM")
        ax.legend(loc="best")

    return draw_picture(
        "quality", "The same kind of SVM on each selection, uspst (Fig. 5)", "Means over the splits.", draw
    )


def stages_picture(table: pd.DataFrame) -> Picture | None:
    """Fig. 4: kddcup99, test error against the number of features over the iterations, for a few mu."""
    rows = cells_with(table, "stage_error")
    if rows.empty:
        return None
    cell = rows.iloc[0]

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        for k, (mu, features, errors) in enumerate(zip(cell["mu_rel"], cell["stage_features"], cell["stage_error"])):
            steps = {"drawstyle": "steps-post", "linewidth": 1.6, "color": figures.COLOURS[k]}
            ax.plot(features, errors, label=f"mu = mu_max / {1 / mu:.0f}", **steps)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.yaxis.set_minor_formatter(lambda value, _: "")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="features selected so far", ylabel="test error", title="kddcup99, over the iterations")
        ax.legend(loc="best")

    caption = "A vertical drop: more trees on the same features."
    return draw_picture("stages", "kddcup99 over the iterations (Fig. 4)", caption, draw)


def synthetic_picture(table: pd.DataFrame) -> Picture | None:
    """Fig. 1: the test points of the first draw over the decisions of both methods."""
    cells = synthetic_results(table)
    if cells.empty:
        return None
    cell = cells.sort_values("split").iloc[0]
    points = np.array(cell["points"])

    def draw(figure: Figure) -> None:
        for ax, name, title in zip(figure.subplots(1, 2, sharey=True), ("l1", "gbfs"), ("L1LR", "GBFS")):
            decided = np.array(cell[f"{name}_decisions"]).reshape(len(PICTURE_GRID), len(PICTURE_GRID))
            colours: dict[str, Any] = {"cmap": ListedColormap(CLASS_COLOURS), "vmin": 0, "vmax": 1}
            ax.pcolormesh(PICTURE_GRID, PICTURE_GRID, decided, **colours, alpha=0.25, shading="nearest")
            for k, marker in enumerate("os"):
                x, y = points[points[:, 2] == k, :2].T
                ax.scatter(x, y, c=CLASS_COLOURS[k], marker=marker, s=26, edgecolors="white", linewidths=0.6)
            chosen = ", ".join(f"x{j}" for j in cell[f"{name}_selected"]) or "nothing"
            ax.set(title=f"{title} selects {chosen}: error {cell[f'{name}_error']:.2f}", xlabel="x1", aspect="equal")
            ax.grid(visible=False)
        figure.axes[0].set_ylabel("x2")

    caption = "The test points of the first draw over the decisions of each method; x3 = .6 x1 + .4 x2 is redundant."
    return draw_picture("three_features", "Three features, one of them redundant (Fig. 1)", caption, draw, (9, 4.4))


FURTHER_TABLES = (
    *(error_table, quality_table, colon_table, synthetic_table, neighbours_table),
    *(kdd_table, training_times_table, all_settings_table),
)
PICTURES = (synthetic_picture, curve_picture, quality_picture, stages_picture)
