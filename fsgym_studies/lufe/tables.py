"""Tables and pictures of the study of LUFe: means over data sets, and classifiers compared in pairs on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fsgym.comparison import figures
from fsgym.comparison.report import Picture, png_of
from fsgym_studies.common.render import DASH, LINE, figure_style, format_number
from fsgym_studies.common.statistics import standard_error, wins
from fsgym_studies.common.study import Table
from fsgym_studies.lufe.cell import ALL, IDENTITY, LUFE, RANDOM, SELECTION, augmented, some_lufe
from fsgym_studies.lufe.printed import PRINTED, PRINTED_ALL, PRINTED_SETS

APART = "not told apart"
CORPORA = ("news20", "pcmac", "basehock", "relathe")  # that documents are drawn from
TECHTC = "techtc300_"
KEYS = ["corpus", "dataset", "selector", "K"]
SELECTORS, SIZES = ("RFE", "ANOVA"), (300, 500)
NESTED, OUTER = "nested", "outer"
TIE = 0.0005  # of accuracy: differences up to this are ties
SHARES = tuple(k / 10 for k in range(1, 10))


class Pair(NamedTuple):
    """The first of two classifiers less the second over data sets: mean and standard error in points of accuracy,
    wins, ties, losses."""

    mean: float
    error: float
    wins: int
    ties: int
    losses: int

    @property
    def count(self) -> int:
        return self.wins + self.ties + self.losses

    @property
    def word(self) -> str:
        """Whether the mean difference is more than two standard errors from zero."""
        if not self.error >= 0:
            return DASH
        return "above" if self.mean > 2 * self.error else "below" if self.mean < -2 * self.error else APART

    @property
    def phrase(self) -> str:
        return f"{self.word} from" if self.word == APART else self.word

    @property
    def text(self) -> str:
        if not self.count:
            return DASH
        return f"{self.mean:+.2f} ± {format_number(self.error, 2)}, {self.wins}/{self.ties}/{self.losses}"


def pair(first: pd.Series, second: pd.Series) -> Pair:
    """Compare two classifiers; data sets where either is missing are left out.

    >>> pair(pd.Series([0.9, 0.8]), pd.Series([0.88, 0.8])).text
    '+1.00 ± 1.00, 1/1/0'
    """
    difference = (first - second).dropna()
    counts = wins(difference, np.zeros(len(difference)), TIE)
    points = 100 * difference.to_numpy(np.float64)
    mean = float(points.mean()) if len(points) else float("nan")
    return Pair(mean, standard_error(points), *counts[:3])


def arms_of(table: pd.DataFrame) -> list[str]:
    """Names of the classifiers that the table has."""
    every = [some_lufe(t) for t in (*SHARES, 1.0)] + [augmented(t) for t in (*SHARES, 1.0)]
    return [a for a in (SELECTION, *every, RANDOM, IDENTITY) if a in table]


def means(table: pd.DataFrame, inner: str = NESTED) -> pd.DataFrame:
    """Mean accuracy over folds of each classifier, a row for each data set, selector and K."""
    wanted = table.reindex(columns=list(dict.fromkeys([*KEYS, "inner", "error", *table.columns])))
    wanted = wanted[wanted["error"].isna() & (wanted["inner"] == inner)]
    return wanted.groupby(KEYS, sort=False)[arms_of(table)].mean().reset_index()


def column(found: pd.DataFrame, selector: str, arm: str, K: int | None = None) -> pd.Series:
    """Accuracy of a classifier by data set, float64; the mean of both sizes where ``K`` is None."""
    rows = found[(found["selector"] == selector) & ((found["K"] == K) | (K is None))]
    if arm not in rows:
        return pd.Series(dtype=np.float64)
    return rows.groupby("dataset", sort=False)[arm].mean()


def compared(found: pd.DataFrame, selector: str, first: str, second: str, K: int | None = None) -> Pair:
    return pair(column(found, selector, first, K), column(found, selector, second, K))


def title(selector: str, arm: str, K: int) -> str:
    """What the paper calls a classifier."""
    known = {SELECTION: f"{selector}-{K}", LUFE: f"LUFe-{selector}-{K}", ALL: ALL}
    return known.get(arm, f"LUFe-{selector}-{K}-{arm}")


def table_one(found: pd.DataFrame) -> Table:
    """The paper's Table 1 and its numbers, with the controls."""
    rows = [{"setting": ALL, "accuracy": _percent(column(found, SELECTORS[0], ALL)), "paper": f"{PRINTED_ALL}"}]
    for selector in SELECTORS:
        for K in SIZES:
            for arm in (SELECTION, LUFE, RANDOM, IDENTITY):
                own = DASH if arm == SELECTION else compared(found, selector, arm, SELECTION, K).text
                printed = PRINTED.get((selector, K, arm))
                rows.append(
                    {
                        "setting": title(selector, arm, K),
                        "accuracy": _percent(column(found, selector, arm, K)),
                        "paper": format_number(printed.accuracy, 2) if printed else DASH,
                        "against ALL": compared(found, selector, arm, ALL, K).text,
                        "paper, ALL": printed.over_all if printed else DASH,
                        "against selection": own,
                        "paper, selection": printed.over_selection if printed else DASH,
                    }
                )
    caption = (
        "Accuracy in percent, mean over the data sets. Differences in points: mean ± standard error over the data "
        f"sets, then wins/ties/losses (ties: up to {100 * TIE:g} points); the paper's: mean, wins of {PRINTED_SETS}. "
        "RFE and ANOVA are a plain SVM on the features that they select, ALL one on all features."
    )
    return Table("table1", "Summary (Table 1)", caption, pd.DataFrame(rows).fillna(DASH))


def _percent(accuracy: pd.Series) -> str:
    return format_number(float(100 * accuracy.mean()), 2) if len(accuracy) else DASH


def verdicts(found: pd.DataFrame) -> Table:
    """Whether LUFe is above what it is compared with, on all data sets and by corpus."""
    rows = []
    for selector in SELECTORS:
        for other in (SELECTION, RANDOM, IDENTITY, ALL):
            row = {"LUFe": f"LUFe-{selector}", "against": selector if other == SELECTION else other}
            every = compared(found, selector, LUFE, other)
            row |= {"all data sets": every.text, "LUFe is": every.word}
            for corpus, own in found.groupby("corpus", sort=False):
                row[str(corpus)] = compared(own, selector, LUFE, other).text
            rows.append(row)
    caption = (
        "Differences in points of accuracy, mean ± standard error over data sets (both K together), wins/ties/losses. "
        "Above or below: by more than two standard errors."
    )
    return Table("verdicts", "Does LUFe win?", caption, pd.DataFrame(rows))


def by_share(found: pd.DataFrame) -> pd.DataFrame:
    """Experiment 3: LUFe-RFE-300 with each share of the unselected features, against RFE, ALL and RFE-augmented."""
    rows = []
    for t in (*SHARES, 1.0):
        others = {"RFE": SELECTION, "ALL": ALL, "RFE-augmented": augmented(t)}
        rows.append({"t": t} | {n: compared(found, "RFE", some_lufe(t), arm, SIZES[0]) for n, arm in others.items()})
    return pd.DataFrame(rows)


def share_table(shares: pd.DataFrame) -> Table:
    told = shares.map(lambda v: v.text if isinstance(v, Pair) else f"{v:.0%}")
    caption = (
        "LUFe-RFE-300 whose slacks see the best share t of the unselected features, against RFE-300, ALL, and a plain "
        "SVM on the selected features and the same share (RFE-augmented; ALL at 100 %): mean difference in points ± "
        "standard error, wins/ties/losses."
    )
    return Table("shares", "A share of the unselected features (Fig. 3)", caption, told)


def inner_table(table: pd.DataFrame) -> Table:
    """Weights chosen on features that were selected inside the inner folds, or before them."""
    rows = []
    told = table.reindex(columns=list(dict.fromkeys(["inner", "selector", "K", "tied", *table.columns])))
    for inner in (NESTED, OUTER):
        found = means(table, inner)
        for selector, K in found[["selector", "K"]].drop_duplicates().itertuples(index=False):
            own = told[(told["inner"] == inner) & (told["selector"] == selector) & (told["K"] == K)]
            rows.append(
                {
                    "inner selection": inner,
                    "setting": f"{selector}-{K}",
                    "selection": _percent(column(found, selector, SELECTION, K)),
                    "LUFe": _percent(column(found, selector, LUFE, K)),
                    "LUFe against selection": compared(found, selector, LUFE, SELECTION, K).text,
                    "best pairs of 49": format_number(float(own["tied"].mean()), 1),
                }
            )
    caption = (
        "nested: features are selected anew in each of the five inner folds; outer: on all training documents, before "
        "the weights are chosen, as the paper seems to have done. Accuracies in percent; how many of the 49 pairs of "
        "weights of LUFe were equally the best."
    )
    return Table("inner", "How weights are chosen", caption, pd.DataFrame(rows))


def error_picture(found: pd.DataFrame, selector: str, number_of: int) -> Picture:
    """Figs. 1 and 2: error rates of each data set, sorted by those of ALL, and what LUFe improves."""
    from matplotlib.figure import Figure

    with figure_style():
        figure = Figure(figsize=(11, 6.2), layout="constrained")
        axes = figure.subplots(2, len(SIZES), sharex="col", sharey="row", height_ratios=(1.6, 1))
        for K, (top, bottom) in zip(SIZES, axes.T):
            arms = {ALL: ALL, selector: SELECTION, f"LUFe-{selector}": LUFE}
            errors = pd.DataFrame({n: 100 - 100 * column(found, selector, arm, K) for n, arm in arms.items()})
            errors = errors.dropna().sort_values(ALL)
            places = np.arange(len(errors))
            for name, look in figures.method_styles(list(arms)).items():
                top.plot(places, errors[name], label=name, linewidth=1.2, markersize=5, **look)
            gain = errors[selector] - errors[f"LUFe-{selector}"]
            colours = [figures.COLOURS[2] if g >= 0 else figures.COLOURS[1] for g in gain]
            bottom.bar(places, gain, color=colours)
            bottom.axhline(0, color="#777777", linewidth=0.8)
            bottom.set_xticks(places, errors.index, rotation=90, fontsize=7)
            top.set_title(f"K = {K}")
        axes[0, 0].set_ylabel("error (%)")
        axes[1, 0].set_ylabel(f"LUFe-{selector} over {selector}\n(points)")
        axes[0, 0].legend(loc="best")
        png = png_of(figure)
    caption = "Data sets are sorted by the error of ALL. Bars below zero: LUFe is less accurate."
    return Picture(f"fig{number_of}", f"ALL, {selector} and LUFe-{selector} (Fig. {number_of})", caption, png)


def share_picture(shares: pd.DataFrame) -> Picture:
    """Fig. 3: mean improvement, and data sets that improve, by the share of unselected features."""
    from matplotlib.figure import Figure

    others: Sequence[str] = [c for c in shares.columns if c != "t"]
    with figure_style():
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name, look in figures.method_styles(others).items():
            pairs: list[Pair] = list(shares[name])
            figures.plot_error_bars(
                left,
                100 * shares["t"],
                [p.mean for p in pairs],
                yerr=[p.error for p in pairs],
                label=f"over {name}",
                style=LINE | look,
            )
            right.plot(100 * shares["t"], [p.wins for p in pairs], label=f"over {name}", linewidth=1.4, **look)
        left.axhline(0, color="#777777", linewidth=0.8)
        x_label = "best share of the unselected features (%)"
        left.set(xlabel=x_label, ylabel="mean improvement by LUFe-RFE (points)")
        sets = max((p.count for p in shares[others[0]]), default=0)
        right.set(xlabel=x_label, ylabel=f"data sets that improve (of {sets})", ylim=(-0.5, sets + 0.5))
        left.legend(loc="best")
        png = png_of(figure)
    caption = "LUFe-RFE-300; bars are one standard error over the data sets. RFE-augmented is ALL at 100 %."
    return Picture("fig3", "A share of the unselected features (Fig. 3)", caption, png)
