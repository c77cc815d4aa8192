"""Tables and pictures of the study of LUFe: mean accuracies over data sets, and paired differences of classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fsgym.comparison import figures
from fsgym.comparison.report import Picture
from fsgym_studies.common.difference import Difference, paired_difference
from fsgym_studies.common.render import DASH, LINE, draw_picture, format_number
from fsgym_studies.common.study import Table, printed_numbers
from fsgym_studies.lufe.cell import (
    CODINGS,
    FIXED_BOUND,
    L1_COUNTS,
    NO_INTERCEPT,
    augmented_at_share,
    lufe_at_share,
)

CORPORA = ("news20", "pcmac", "basehock", "relathe")  # from which documents are sampled
TECHTC_PREFIX = "techtc300_"  # of the names of data sets
SELECTION_KEYS = ["corpus", "dataset", "selector", "K"]  # columns that name a selection on a data set
COMPARED_SELECTORS, SELECTION_SIZES = ("RFE", "ANOVA"), (300, 500)
TIE_MARGIN = 0.0005  # of accuracy, 0.05 points: differences up to this are ties
PRINTED_ALL, PRINTED_SETS = 72.04, 49  # accuracy of ALL in percent; data sets of TechTC-300
PRINTED_TABLE1 = {(row.selector, row.K, row.name): row for row in printed_numbers(__file__).itertuples(index=False)}
PRINTED_IN_TEXT = {"LUFe": (4.4, 41), "selection": (2.5, 31)}  # section 4.1, K = 300: over ALL, and its wins
UNSELECTED_SHARES = tuple(k / 10 for k in range(1, 10))  # of Fig. 3, with 1 added where it is used


class Reading(NamedTuple):
    """Another reading of the paper's protocol, run with K = 300 on the first fold alone."""

    corpora: tuple[str, ...]
    arguments: dict[str, Any]  # of ``compare_arms``, where they differ from those of the study
    part: dict[str, Any]  # the same of its argument ``part``


# Those of public code that appears to be the authors', one thing at a time, and words as in section 4 of the paper:
LONG_WORDS, COUNTS_AS_CODED = "words of five letters or more", "words of five letters or more, raw counts, L1 norm"
FILE_ORDER, MEAN_BIAS = "outer folds in the order of the file", "intercept as a mean over all documents"
OWN_READING = "as in the other tables"
READINGS = {
    LONG_WORDS: Reading(("news20",), {"min_letters": 5}, {}),  # the words of the other corpora are not known
    COUNTS_AS_CODED: Reading(("news20",), {"min_letters": 5, "coding": L1_COUNTS, "controls": True}, {}),
    FILE_ORDER: Reading(CORPORA, {}, {"shuffle": False}),
    MEAN_BIAS: Reading(CORPORA, {"bias": "mean"}, {}),
}


def plain_cells(table: pd.DataFrame) -> pd.DataFrame:
    """The cells of the study's own coding and reading, with features selected in each inner fold or before."""
    return table[(table["coding"] == "log counts") & (table["reading"] == OWN_READING)]


def mean_accuracies(
    table: pd.DataFrame, inner: str = "nested", coding: str = "log counts", reading: str = OWN_READING
) -> pd.DataFrame:
    """Mean accuracy of each classifier over folds, one row per data set, selector and K."""
    names = [*SELECTION_KEYS, "inner", "coding", "reading", "error", *table.columns]
    cells = table.reindex(columns=list(dict.fromkeys(names)))
    of_reading = (cells["inner"] == inner) & (cells["coding"] == coding) & (cells["reading"] == reading)
    cells = cells[cells["error"].isna() & of_reading]
    at_shares = [name(t) for name in (lufe_at_share, augmented_at_share) for t in (*UNSELECTED_SHARES, 1.0)]
    names = ("selection", *at_shares, "random", "identity", NO_INTERCEPT, FIXED_BOUND)
    return cells.groupby(SELECTION_KEYS, sort=False)[[n for n in names if n in table]].mean().reset_index()


def accuracy_by_dataset(accuracies: pd.DataFrame, selector: str, name: str, K: int | None = None) -> pd.Series:
    """Accuracy of a classifier by data set, float64; if ``K`` is None, the mean over both sizes."""
    rows = accuracies[(accuracies["selector"] == selector) & ((accuracies["K"] == K) | (K is None))]
    if name not in rows:
        return pd.Series(dtype=np.float64)
    return rows.groupby("dataset", sort=False)[name].mean()


def compare_classifiers(
    accuracies: pd.DataFrame, selector: str, first: str, second: str, K: int | None = None
) -> Difference:
    """Compare two classifiers by data set, in points of accuracy; if ``K`` is None, over both sizes."""
    pair = (accuracy_by_dataset(accuracies, selector, name, K) for name in (first, second))
    return paired_difference(*pair, tie=TIE_MARGIN, scale=100)


def printed_over(printed: Any, other: str) -> str:
    """The printed mean difference of a classifier over "all" or over the "selection", and its wins; a dash if none."""
    mean, wins = (getattr(printed, f"{figure}_{other}", np.nan) for figure in ("mean", "wins"))
    return f"{mean:+.2f}, {wins:.0f} of {PRINTED_SETS}" if mean == mean else DASH


def percent(accuracies: pd.DataFrame, selector: str, name: str, K: int | None = None) -> str:
    """The mean accuracy of a classifier over the data sets, in percent; a dash without any."""
    return format_number(float(100 * accuracy_by_dataset(accuracies, selector, name, K).mean()), 2)


def summary_table(accuracies: pd.DataFrame) -> Table:
    """Our version of Table 1, with the printed numbers and the controls."""
    rows = [{"setting": "ALL", "accuracy": percent(accuracies, "RFE", "ALL"), "paper": f"{PRINTED_ALL}"}]
    names = ("selection", "LUFe", NO_INTERCEPT, FIXED_BOUND, "random", "identity")
    for selector, K, name in product(COMPARED_SELECTORS, SELECTION_SIZES, names):
        printed = PRINTED_TABLE1.get((selector, K, name))
        form = name.removeprefix("LUFe") if name.startswith("LUFe") else f"-{name}"
        own = f"{selector}-{K}" if name == "selection" else f"LUFe-{selector}-{K}{form}"
        row = {"setting": own, "accuracy": percent(accuracies, selector, name, K)}
        row["paper"] = format_number(printed.accuracy, 2) if printed else DASH
        for other in ("ALL", "selection"):
            own = DASH if name == other else compare_classifiers(accuracies, selector, name, other, K).text
            row |= {f"compared with {other}": own, f"paper, {other}": printed_over(printed, other.lower())}
        rows.append(row)
    caption = (
        "Accuracy in percent, mean over the data sets. Differences in points: mean ± standard error over the data "
        f"sets, then wins/ties/losses (ties: up to {100 * TIE_MARGIN:g} points); in the paper: mean, wins of "
        f"{PRINTED_SETS}. RFE and ANOVA are plain SVMs on the features that they select, ALL is one on all features. "
        "LUFe's model of the slacks has an intercept; eq. 3 is the paper's, without one. Eq. 2 has a hard margin and "
        "slacks that are computed before training; it is written without a scale, so a factor is chosen as C is."
    )
    return Table("table1", "Summary (Table 1)", caption, pd.DataFrame(rows).fillna(DASH))


def controls_table(accuracies: pd.DataFrame) -> Table:
    """LUFe compared with the selection, both controls and ALL, on all data sets and by corpus."""
    rows = []
    for selector, other in product(COMPARED_SELECTORS, ("selection", "random", "identity", "ALL")):
        overall = compare_classifiers(accuracies, selector, "LUFe", other)
        row = {"LUFe": f"LUFe-{selector}", "compared with": selector if other == "selection" else other}
        row |= {"all data sets": overall.text, "LUFe is": overall.word}
        for corpus, own in accuracies.groupby("corpus", sort=False):
            row[str(corpus)] = compare_classifiers(own, selector, "LUFe", other).text
        rows.append(row)
    caption = (
        "Differences in points of accuracy, mean ± standard error over data sets (over both K), wins/ties/losses. "
        "Better or worse: by more than two standard errors; similar: neither."
    )
    return Table("verdicts", "LUFe compared with the controls", caption, pd.DataFrame(rows))


def differences_by_share(accuracies: pd.DataFrame) -> pd.DataFrame:
    """Experiment 3: LUFe-RFE-300 with each share of the unselected features minus RFE, ALL and RFE-augmented."""
    rows = []
    for t in (*UNSELECTED_SHARES, 1.0):
        others = {"RFE": "selection", "ALL": "ALL", "RFE-augmented": augmented_at_share(t)}
        pairs = {n: compare_classifiers(accuracies, "RFE", lufe_at_share(t), own, 300) for n, own in others.items()}
        rows.append({"t": t} | pairs)
    return pd.DataFrame(rows)


def share_table(shares: pd.DataFrame) -> Table:
    """The differences of experiment 3 as text."""
    frame = shares.map(lambda v: v.text if isinstance(v, Difference) else f"{v:.0%}")
    caption = (
        "LUFe-RFE-300 with the best share t of the unselected features, compared with RFE-300, ALL, and a "
        "plain SVM on the selected features and the same share of the others (RFE-augmented, which is ALL at 100 %): "
        "mean difference in points ± standard error, wins/ties/losses."
    )
    return Table("shares", "A share of the unselected features (Fig. 3)", caption, frame)


def inner_table(table: pd.DataFrame) -> Table:
    """Results by where features are selected for the choice of penalties: in each inner fold, or once before."""
    rows, tied = [], plain_cells(table).groupby(["inner", "selector", "K"])["tied"].mean()
    for inner in ("nested", "outer"):
        accuracies = mean_accuracies(table, inner)
        for selector, K in accuracies[["selector", "K"]].drop_duplicates().itertuples(index=False):
            both = (percent(accuracies, selector, name, K) for name in ("selection", "LUFe"))
            gain = compare_classifiers(accuracies, selector, "LUFe", "selection", K).text
            rows.append((inner, f"{selector}-{K}", *both, gain, format_number(float(tied[inner, selector, K]), 1)))
    columns = ["inner selection", "setting", "selection", "LUFe", "LUFe compared with selection", "best pairs of 49"]
    caption = (
        "nested: features are selected anew in each of the five inner folds; outer: once on all training documents, "
        "before the penalties are chosen, as the paper seems to have done. Accuracies are in percent. Last column: how "
        "many of the 49 pairs of LUFe's penalties are equally the best, mean over the cells."
    )
    return Table("inner", "How penalties are chosen", caption, pd.DataFrame(rows, columns=columns))


def coding_table(table: pd.DataFrame) -> Table:
    """Whether the differences depend on how documents become numbers."""
    rows = []
    for coding, selector in product(CODINGS, COMPARED_SELECTORS):
        accuracies = mean_accuracies(table, coding=coding)
        row = {"coding": coding, "setting": f"{selector}-300"}
        row |= {name: percent(accuracies, selector, name, 300) for name in ("ALL", "selection", "LUFe")}
        for first, second in (("selection", "ALL"), ("LUFe", "selection")):
            row[f"{first} over {second}"] = compare_classifiers(accuracies, selector, first, second, 300).text
        rows.append(row)
    caption = (
        "log counts: logarithms of word counts, documents scaled to norm 1, as in all other tables; raw counts: not "
        "scaled; tf-idf: scaled to norm 1. Accuracies are in percent, differences in points as above."
    )
    return Table("codings", "How documents become numbers", caption, pd.DataFrame(rows))


def reading_accuracies(table: pd.DataFrame) -> dict[tuple[str, tuple[str, ...]], pd.DataFrame]:
    """``mean_accuracies`` of each reading and corpora on the first fold, after the study's own on the same samples."""
    first = table[(table["repeat"] == 0) & (table["fold"] == 0)] if "fold" in table else table[:0]
    own = mean_accuracies(first)
    found = {}
    for corpora in dict.fromkeys(reading.corpora for reading in READINGS.values()):
        alike = {
            (name, corpora): mean_accuracies(first, coding=reading.arguments.get("coding", "log counts"), reading=name)
            for name, reading in READINGS.items()
            if reading.corpora == corpora
        }
        samples = pd.concat(alike.values())["dataset"].unique()
        found |= {(OWN_READING, corpora): own[own["dataset"].isin(samples)], **alike}
    return found


def reading_table(table: pd.DataFrame) -> Table:
    """Whether the differences depend on details that the paper does not print, as public code has them."""
    rows = []
    for (name, _), accuracies in reading_accuracies(table).items():
        for selector in COMPARED_SELECTORS:
            own = accuracies[(accuracies["selector"] == selector) & (accuracies["K"] == 300)]
            if own.empty:
                continue
            row = {"reading": name, "corpora": ", ".join(own["corpus"].unique())}
            row["samples"] = str(own["dataset"].nunique())
            row |= {"setting": f"{selector}-300"}
            row |= {n: percent(own, selector, n, 300) for n in ("ALL", "selection", "LUFe")}
            for first, second in (
                ("LUFe", "selection"),
                (NO_INTERCEPT, "selection"),
                ("selection", "ALL"),
                ("LUFe", "ALL"),
            ):
                pair = compare_classifiers(own, selector, first, second, 300)
                row[f"{first} over {second}"] = DASH if pair.better is None else pair.text
            rows.append(row)
    caption = (
        "Accuracies in percent, differences in points as above, on the first fold alone. Features are selected in each "
        "inner fold, and LUFe has an intercept in its model of the slacks, eq. 3 none (a dash: not run). A row differs "
        "from the first one of its corpora only in what it names. Public code that appears to be the authors' "
        "(jt86/practice on GitHub; which version made the paper is not known) has raw counts divided by their sum in "
        "each document, outer folds that "
        "are not shuffled, and an intercept of LUFe that is the mean over all documents with a positive multiplier, "
        "which are all where an interior point method is used. The paper leaves out words of fewer than five letters; "
        "only news20 comes with its words."
    )
    return Table("readings", "Other readings of the protocol", caption, pd.DataFrame(rows).drop_duplicates())


def error_picture(accuracies: pd.DataFrame, selector: str, number_of: int) -> Picture:
    """Figs. 1 and 2: error rates on each data set, sorted by those of ALL, and the improvement by LUFe."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(2, len(SELECTION_SIZES), sharex="col", sharey="row", height_ratios=(1.6, 1))
        for K, (top, bottom) in zip(SELECTION_SIZES, axes.T):
            names = {"ALL": "ALL", selector: "selection", f"LUFe-{selector}": "LUFe"}
            own = {n: accuracy_by_dataset(accuracies, selector, name, K) for n, name in names.items()}
            errors = (100 - 100 * pd.DataFrame(own)).dropna().sort_values("ALL")
            positions = np.arange(len(errors))
            for name, line_style in figures.method_styles(list(names)).items():
                top.plot(positions, errors[name], label=name, linewidth=1.2, markersize=5, **line_style)
            gain = errors[selector] - errors[f"LUFe-{selector}"]
            colours = [figures.COLOURS[2] if g >= 0 else figures.COLOURS[1] for g in gain]
            bottom.bar(positions, gain, color=colours)
            bottom.axhline(0, color="#777777", linewidth=0.8)
            bottom.set_xticks(positions, errors.index, rotation=90, fontsize=7)
            top.set_title(f"K = {K}")
        axes[0, 0].set_ylabel("error (%)")
        axes[1, 0].set_ylabel(f"LUFe-{selector} over {selector}\n(points)")
        axes[0, 0].legend(loc="best")

    caption = "Data sets are sorted by the error of ALL. Bars below zero: LUFe is less accurate."
    return draw_picture(
        f"fig{number_of}", f"ALL, {selector} and LUFe-{selector} (Fig. {number_of})", caption, draw, (11, 6.2)
    )


def share_picture(shares: pd.DataFrame) -> Picture:
    """Fig. 3: mean improvement, and number of data sets that improve, by share of the unselected features."""
    others: Sequence[str] = [c for c in shares.columns if c != "t"]

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for name, line_style in figures.method_styles(others).items():
            pairs: list[Difference] = list(shares[name])
            figures.plot_error_bars(
                left,
                100 * shares["t"],
                [p.mean for p in pairs],
                yerr=[p.error for p in pairs],
                label=f"over {name}",
                style=LINE | line_style,
            )
            right.plot(100 * shares["t"], [p.wins for p in pairs], label=f"over {name}", linewidth=1.4, **line_style)
        left.axhline(0, color="#777777", linewidth=0.8)
        x_label = "best share of the unselected features (%)"
        left.set(xlabel=x_label, ylabel="mean improvement by LUFe-RFE (points)")
        sets = max((p.count for p in shares[others[0]]), default=0)
        right.set(xlabel=x_label, ylabel=f"data sets that improve (of {sets})", ylim=(-0.5, sets + 0.5))
        left.legend(loc="best")

    caption = "LUFe-RFE-300; bars are one standard error over the data sets. RFE-augmented is ALL at 100 %."
    return draw_picture("fig3", "A share of the unselected features (Fig. 3)", caption, draw, (11, 4.2))
