"""What the studies of the datum-wise model share: the paper, its data sets, its methods, how its claims are judged."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym.comparison import figures
from fsgym.comparison.report import Picture, png_of
from fsgym_studies.common.curves import areas, at, by_dataset, differences, heights, versus
from fsgym_studies.common.plan import CART, DWSM, L1_SVM, LARS, Arm, Source, lams
from fsgym_studies.common.render import number, style
from fsgym_studies.common.statistics import Mean
from fsgym_studies.common.study import Claim, Table

REFERENCE = """\
@article{dulacarnold2012sequential,
  author  = {Dulac-Arnold, Gabriel and Denoyer, Ludovic and Preux, Philippe and Gallinari, Patrick},
  title   = {Sequential approaches for learning datum-wise sparse representations},
  journal = {Machine Learning},
  volume  = {89},
  pages   = {87--122},
  year    = {2012},
  doi     = {10.1007/s10994-012-5306-7}
}
"""

# Categories are columns of codes, as in the LIBSVM files that the paper used (Table 4).
CANCER, CANCER_ID = "breast cancer", "breast cancer with id"
BINARY = (
    Source("australian", "australian"),
    Source("breast_cancer_wisconsin_683", CANCER_ID),
    Source("pima_diabetes", "diabetes"),
    Source("heart_statlog", "heart"),
    Source("ionosphere", "ionosphere"),
    Source("liver_disorders", "liver disorders"),
    Source("sonar", "sonar"),
    Source("splice_libsvm", "splice", split="train"),
)
WITHOUT_ID = Source("breast_cancer_wisconsin_683", CANCER, drop=("id",))

PRICES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.15, 0.2, 0.3)  # section 6.1, and .05
OTHERS = (Arm(L1_SVM, "l1_svm"), Arm(LARS, "lars"), Arm(CART, "cart"))
METHODS = (DWSM, L1_SVM, LARS, CART)
BUDGET = "DWSM, budget"
DRAWN = (*METHODS, BUDGET)  # in this order, so that a method has the same colour in every study
BASE = Arm(DWSM, "rcpi", lams(PRICES))
LEVELS = (0.5, 0.7, 0.8, 0.9)
ROUNDING = 0.005  # the paper prints two digits


def percent(mean: Mean) -> str:
    """``.95 [.94, .96]``: a mean and its bootstrap interval."""
    if mean.count == 0:
        return "–"
    ends = "" if mean.low != mean.low else f" [{mean.low:.3f}, {mean.high:.3f}]"
    return f"{mean.mean:.3f}{ends}"


def reaches(
    text: str, table: pd.DataFrame, dataset: str, method: str, sparsity: float, printed: float, slack: float = ROUNDING
) -> Claim:
    """A method reaches the printed accuracy at a sparsity: at the share of training data where it does best.

    The paper does not say to which share of training data its figure belongs; all are told.
    """
    found = {
        share: at(table, sparsity, dataset, method, share)
        for share in sorted(table.loc[table["dataset"] == dataset, "share"].unique())
    }
    told = "; ".join(f"{share:.0%}: {percent(m)}" for share, m in found.items() if m.count)
    best = max((m.mean for m in found.values() if m.count), default=float("nan"))
    holds = None if not told else best >= printed - slack
    return Claim(
        f"{text} (at the best share of training data, to within {slack:g})",
        f"{printed:g}",
        told or "–",
        holds,
    )


def above(
    table: pd.DataFrame,
    datasets: Sequence[str],
    others: Sequence[str] = (L1_SVM, LARS),
    sparsity: float | None = None,
) -> tuple[list[str], list[str]]:
    """Data sets where DWSM is above all others, and where it is not: by the area under the curve, or at a sparsity."""
    means = by_dataset(areas(table) if sparsity is None else heights(table, sparsity))
    if not {DWSM, *others} <= set(means.columns):
        return [], []
    means = means.dropna(subset=[DWSM, *others])
    good = means[DWSM] > means[list(others)].max(axis=1)
    known = [d for d in datasets if d in means.index]
    return [d for d in known if good[d]], [d for d in known if not good[d]]


def area_table(table: pd.DataFrame, methods: Sequence[str]) -> Table:
    """Areas by data set and method, with DWSM's lead over each other method."""
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
        "The mean accuracy where every sparsity from 0 to 1 counts alike; means over splits and shares of training "
        "data, and the difference in the same splits with its 95 % bootstrap interval.",
        frame,
    )


def height_table(table: pd.DataFrame, methods: Sequence[str], levels: Sequence[float] = LEVELS) -> Table:
    """Accuracy at given sparsities."""
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
    """Wins, ties and losses over data sets."""
    frame = versus(areas(table), first, others)
    return Table(
        "wins",
        f"{first} over data sets",
        f"On how many data sets {first}'s area is larger, equal (to within .001), smaller; p of Wilcoxon's signed rank "
        "test over the data sets.",
        frame,
    )


def curve_pictures(settings: pd.DataFrame, table: pd.DataFrame) -> list[Picture]:
    """One picture a data set, a panel for each share of training data (the paper's appendix)."""
    pictures = []
    for dataset, rows in settings.groupby("dataset", sort=False):
        chances = table[table["dataset"] == dataset].groupby("share")["chance"].mean()
        with style():
            figure = figures.panels(
                rows, DRAWN, {float(s): float(c) for s, c in chances.items()}, figures.short(str(dataset))
            )
            png = png_of(figure)
        stem = "curves_" + "".join(c if c.isalnum() else "_" for c in str(dataset))
        caption = (
            "Vertical bars: one standard deviation over the splits. Horizontal bars: how much the sparsity of a "
            "setting varies over the test rows. Up and to the right is better."
        )
        pictures.append(Picture(stem, f"{dataset}: accuracy against sparsity", caption, png))
    return pictures


def named(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def settings_table(settings: pd.DataFrame, digits: int = 3) -> Table:
    """All settings of all methods."""
    frame = settings.assign(
        accuracy=[f"{a:.{digits}f} ± {s:.{digits}f}" for a, s in zip(settings["accuracy"], settings["accuracy_std"])],
        sparsity=[f"{a:.2f} ± {s:.2f}" for a, s in zip(settings["sparsity"], settings["sparsity_std"])],
        n_acquisitions=[number(float(v), 2) for v in settings["n_acquisitions"]],
    )[["dataset", "share", "method", "params", "accuracy", "sparsity", "n_acquisitions", "splits"]]
    return Table(
        "settings",
        "All settings",
        "Means ± one standard deviation over the splits, on the test parts.",
        frame.rename(columns={"dataset": "data set", "n_acquisitions": "acquisitions"}),
    )
