"""Tables and pictures that the six studies share: areas, heights of curves, settings, curves."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym.comparison import figures
from fsgym.comparison.report import Picture, png_of
from fsgym_studies.common.curves import areas, by_dataset, differences, heights, wins_over_datasets
from fsgym_studies.common.plan import DWSM
from fsgym_studies.common.render import figure_style, file_stem
from fsgym_studies.common.study import Table
from fsgym_studies.dwsm.study import PLOTTED_METHODS

SPARSITY_LEVELS = (0.5, 0.7, 0.8, 0.9)  # at which sections 6.1 to 6.3 state accuracies


def area_table(table: pd.DataFrame, methods: Sequence[str]) -> Table:
    """The areas under the curves by data set and method, and DWSM's lead over each other method."""
    values = areas(table)
    means = by_dataset(values)
    methods = [m for m in methods if m in means]
    frame = means[methods].reset_index().rename(columns={"dataset": "data set"})
    for other in methods:
        if other != DWSM and DWSM in methods:
            lead = differences(values, DWSM, other).reindex(means.index)
            frame[f"{DWSM} − {other}"] = [
                f"{m:+.3f} [{low:+.3f}, {high:+.3f}]" if m == m else "–"
                for m, low, high in lead[["mean", "low", "high"]].to_numpy(float)
            ]
    return Table(
        "areas",
        "Area under the accuracy–sparsity curve",
        "The area is the mean accuracy over all sparsities from 0 to 1. Means over splits and shares of training data; "
        "differences are taken in the same split and have 95 % bootstrap intervals.",
        frame,
    )


def height_table(table: pd.DataFrame, methods: Sequence[str], levels: Sequence[float] = SPARSITY_LEVELS) -> Table:
    """The accuracy of each method at given sparsities."""
    parts = []
    for level in levels:
        means = by_dataset(heights(table, level))
        parts.append(means[[m for m in methods if m in means]].assign(sparsity=level))
    frame = pd.concat(parts).reset_index().rename(columns={"dataset": "data set"})
    frame.insert(1, "sparsity", frame.pop("sparsity"))
    return Table(
        "accuracy_at",
        "Accuracy at equal sparsity",
        "Means over splits and shares of training data.",
        frame.sort_values(["data set", "sparsity"], kind="stable"),
    )


def wins_table(table: pd.DataFrame, first: str, others: Sequence[str]) -> Table:
    """Wins, ties and losses of a method over the data sets."""
    frame = wins_over_datasets(areas(table), first, others)
    return Table(
        "wins",
        f"Wins, ties and losses of {first}",
        f"Number of data sets where the area of {first} is larger, equal (to within .001) and smaller; p of Wilcoxon's "
        "signed-rank test over the data sets.",
        frame,
    )


def curve_pictures(settings: pd.DataFrame, table: pd.DataFrame) -> list[Picture]:
    """One picture per data set, with a panel for each share of training data (the paper's appendix)."""
    pictures = []
    for dataset, rows in settings.groupby("dataset", sort=False):
        chances = table[table["dataset"] == dataset].groupby("share")["chance"].mean()
        with figure_style():
            figure = figures.panels(
                rows,
                PLOTTED_METHODS,
                {float(s): float(c) for s, c in chances.items()},
                figures.shorten_name(str(dataset)),
            )
            png = png_of(figure)
        caption = (
            "Vertical bars: one standard deviation over the splits. Horizontal bars: one standard deviation of the "
            "sparsity over the test rows. Up and to the right is better."
        )
        stem = file_stem("curves", str(dataset))
        pictures.append(Picture(stem, f"{dataset}: accuracy against sparsity", caption, png))
    return pictures
