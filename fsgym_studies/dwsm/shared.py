"""What the six studies share: the reference, data sets, splits and methods; two kinds of claims; tables and curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from fsgym.comparison import figures
from fsgym.comparison.protocol import Protocol
from fsgym.comparison.report import Picture
from fsgym.comparison.splits import random_splits
from fsgym.data.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common import curves
from fsgym_studies.common.claims import CauseText, Claim, Near
from fsgym_studies.common.plan import CART, DWSM, L1_SVM, LARS, MethodSettings, Source, price_settings, study_cells
from fsgym_studies.common.render import file_stem, picture_of, settings_table, with_interval
from fsgym_studies.common.statistics import Mean
from fsgym_studies.common.study import Table, bibtex

DWSM_REFERENCE = bibtex(__file__)
DWSM_PAPER = (
    "Dulac-Arnold et al. (2012), whose datum-wise sparse model (DWSM) is trained by rollouts classification policy "
    "iteration (RCPI)"
)
# Categories are columns of codes, as in the LIBSVM files that the paper used (Table 4).
CANCER, CANCER_ID = "breast cancer", "breast cancer with id"
BINARY_SETS = (
    Source("australian", "australian"),
    Source("breast_cancer_wisconsin_683", CANCER_ID),
    Source("pima_diabetes", "diabetes"),
    Source("heart_statlog", "heart"),
    Source("ionosphere", "ionosphere"),
    Source("liver_disorders", "liver disorders"),
    Source("sonar", "sonar"),
    Source("splice_libsvm", "splice", split="train"),
)
BINARY_TITLES = tuple(source.title for source in BINARY_SETS)
CANCER_WITHOUT_ID = Source("breast_cancer_wisconsin_683", CANCER, drop=("id",))
DWSM_PRICES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.15, 0.2, 0.3)  # lambda: those of section 6.1, and .05
# The reading of section 3.4: linear regressions, three quarters of the states "according to a previous policy", the
# others Bernoulli(1/2). The other readings are shown beside it.
N_ITERATIONS = 20  # the paper has ten, and says that more give similar results
READING = {"answers": "linear", "acquisitions": "linear", "start": "uniform", "n_iterations": N_ITERATIONS}
LOGISTIC, AS_PRINTED = "DWSM, logistic answers", "DWSM, as printed"
AS_PRINTED_TEXT = (
    f"{AS_PRINTED}, a reading that adds little to the paper's text: uniform states alone, least squares with a "
    "constant term, and the policy of the last iteration"
)


def readings(prices: Sequence[float]) -> tuple[MethodSettings, ...]:
    """RCPI at these prices in our reading of section 3.4, with other answers, and in the reading ``rcpi_printed``."""
    settings = price_settings(prices)
    return (
        MethodSettings(DWSM, "rcpi", settings, preset=READING),
        MethodSettings(LOGISTIC, "rcpi", settings, preset={**READING, "answers": "logistic"}),
        MethodSettings(AS_PRINTED, "rcpi_printed", settings),
    )


DWSM_SETTINGS, *OTHER_READINGS = readings(DWSM_PRICES)
READING_TEXT = (
    "RCPI learns by linear regressions, on states of which three quarters are on trajectories of the previous policies "
    "and the rest uniform (section 3.4 names both); a policy is drawn from the mixture at each decision, and the "
    "policy with the lowest training loss is taken"
)
BASELINES = (MethodSettings(L1_SVM, "l1_svm"), MethodSettings(LARS, "lars"), MethodSettings(CART, "cart"))
# The L1 methods as their tools ship them: LIBLINEAR has no intercept by default, and with -B 1 a penalised one.
L1_SVM_B1, L1_SVM_WITHOUT, LARS_WITHOUT = "L1-SVM -B 1", "L1-SVM, no intercept", "LARS, no intercept"
INTERCEPT_ARMS = (
    MethodSettings(L1_SVM_B1, "l1_svm", preset={"intercept_scaling": 1.0}),
    MethodSettings(L1_SVM_WITHOUT, "l1_svm", preset={"fit_intercept": False}),
    MethodSettings(LARS_WITHOUT, "lars", preset={"fit_intercept": False}),
)
BINARY_METHODS = (DWSM, L1_SVM, LARS, CART)
BUDGET_MODEL = "DWSM, budget"
PLOTTED_METHODS = (*BINARY_METHODS, BUDGET_MODEL)  # the order fixes the colour of a method in all six studies
# Quick and full studies:
TRAIN_SHARES = {False: (0.5,), True: (0.1, 0.2, 0.5, 0.9)}  # of the rows
N_SPLITS = {False: 5, True: 30}
# At most so many for each other reading of RCPI, which take more than half of the time of a split:
READING_SPLITS = {False: 3, True: 10}
HALF_LAST_DIGIT = 0.005  # of an accuracy; the paper prints two decimals
SPARSITY_LEVELS = (0.5, 0.7, 0.8, 0.9)  # at which sections 6.1 to 6.3 state accuracies


def n_reading_splits(data: Dataset, full: bool) -> int:
    """On how many splits of each share another reading of RCPI is run: on all of breast cancer with id, for Fig. 4."""
    return N_SPLITS[full] if data.name == CANCER_ID else min(READING_SPLITS[full], N_SPLITS[full])


def cells_over_shares(
    data: Dataset, methods: Sequence[MethodSettings], full: bool, n_splits: int | None = None
) -> Iterator[Task]:
    """All settings of the methods on random splits of a data set, at each share; fewer splits of other readings."""
    fewer = {reading.title for reading in OTHER_READINGS}
    n_reading = n_reading_splits(data, full)
    for share in TRAIN_SHARES[full]:
        protocol = Protocol.for_dataset(data, random_splits(share, n_splits or N_SPLITS[full]))
        for cell in study_cells(protocol, methods):
            if cell.labels["method"] not in fewer or cell.labels["split"] < n_reading:
                yield cell


def splits_text(full: bool) -> str:
    """The splits of ``cells_over_shares`` in words, for a protocol."""
    listed = ", ".join(f"{s:.0%}" for s in TRAIN_SHARES[full])
    return f"{N_SPLITS[full]} random stratified splits for each share of training data ({listed} of the rows)"


def fewer_splits_text(full: bool) -> str:
    """On which splits of ``cells_over_shares`` the other readings of RCPI are run; nothing where it is on all."""
    return (
        f" Other readings of RCPI are run on the first {READING_SPLITS[full]} splits of each share alone (on all of "
        f"{CANCER_ID}), and are compared with other methods on these."
        if N_SPLITS[full] > READING_SPLITS[full]
        else ""
    )


def printed_accuracy(
    text: str,
    dataset: str,
    sparsity: float,
    printed: float,
    tolerance: float = HALF_LAST_DIGIT,
    cause: str | CauseText = "",
) -> Claim:
    """Claim that DWSM has the printed accuracy at a sparsity, by the mean over the shares of training data.

    The paper does not say for which share of training data it prints the accuracy, so the claim lists all shares.
    """
    return Claim(
        f"{text} (within {tolerance:g} of the printed one, mean over shares of training data)",
        f"{printed:g}",
        lambda figures: curves.accuracy_by_share(figures["table"], dataset, sparsity, DWSM) or None,
        Near(printed, tolerance, mean_over_shares),
        lambda means: (
            f"{mean_over_shares(means):.3f}; {'; '.join(f'{s:.0%}: {with_interval(m)}' for s, m in means.items())}"
        ),
        cause,
    )


def mean_over_shares(means: Mapping[float, Mean]) -> float:
    return sum(own.mean for own in means.values()) / len(means)


def lead_over(
    values: pd.DataFrame, datasets: Sequence[str], others: Sequence[str] = (L1_SVM, LARS), method: str = DWSM
) -> pd.Series:
    """By how much a method is above the best other one on each data set; NaN where a method is missing.

    Methods are compared by ``values``, areas under the curves or heights of them, in the splits that all of them have.
    """
    means = curves.paired_means(values, [method, *others]).reindex(datasets)
    return means[method] - means[[*others]].max(axis=1, skipna=False)


def clear_lead(
    values: pd.DataFrame, datasets: Sequence[str], others: Sequence[str] = (L1_SVM, LARS), method: str = DWSM
) -> pd.Series:
    """``lead_over``, and 0 where the lead over some other method may be noise.

    It is no noise where it is more than two standard errors over the splits; these share rows, so that their errors are
    too small.
    """
    lead = lead_over(values, datasets, others, method)
    compared = [curves.paired_differences(values, method, other) for other in others]
    clear = [name for name in lead.index if all(name in own and own[name].better for own in compared)]
    return lead.where(lead.isna() | (lead < 0) | lead.index.isin(clear), 0.0)


def above_text(lead: pd.Series) -> str:
    """On how many data sets DWSM is above, and their names."""
    known = lead.dropna()
    return f"{(known > 0).sum()} of {len(known)}: {', '.join(known.index[known > 0]) or 'none'}"


def area_table(table: pd.DataFrame, methods: Sequence[str]) -> Table:
    """The areas under the curves by data set and method, and DWSM's lead over each other method."""
    values = curves.areas(table)
    means = curves.by_dataset(values)
    methods = [m for m in methods if m in means]
    frame = means[methods].reset_index().rename(columns={"dataset": "data set"})
    for other in methods:
        if other != DWSM and DWSM in methods:
            lead = curves.differences(values, DWSM, other).reindex(means.index)
            frame[f"{DWSM} − {other}"] = [
                f"{m:+.3f} [{low:+.3f}, {high:+.3f}]" if m == m else "–"
                for m, low, high in lead[["mean", "low", "high"]].to_numpy(float)
            ]
    return Table(
        "areas",
        "Area under the accuracy–sparsity curve",
        "The area is the mean accuracy over all sparsities from 0 to 1. Means over the splits of each method and "
        "shares of training data; differences are taken in the splits that both have, with 95 % bootstrap intervals.",
        frame,
    )


def height_table(table: pd.DataFrame, methods: Sequence[str]) -> Table:
    """The accuracy of each method at the sparsities ``SPARSITY_LEVELS``."""
    means = {level: curves.by_dataset(curves.heights(table, level)) for level in SPARSITY_LEVELS}
    frame = pd.concat(means, names=["sparsity", "data set"]).reset_index()
    columns = ["data set", "sparsity", *(m for m in methods if m in frame)]
    return Table(
        "accuracy_at",
        "Accuracy at equal sparsity",
        "Means over the splits of each method and shares of training data.",
        frame[columns].sort_values(["data set", "sparsity"], kind="stable"),
    )


def wins_table(table: pd.DataFrame, first: str, others: Sequence[str]) -> Table:
    """Wins, ties and losses of a method over the data sets."""
    return Table(
        "wins",
        f"Wins, ties and losses of {first}",
        f"Number of data sets where the area of {first} is larger, equal (to within .001) and smaller; p of Wilcoxon's "
        "signed-rank test over the data sets.",
        curves.wins_over_datasets(curves.areas(table), first, others),
    )


def curve_tables(
    table: pd.DataFrame, settings: pd.DataFrame, methods: Sequence[str], datasets: Sequence[str]
) -> list[Table]:
    """DWSM, the first of the methods, compared with the others, by wins on ``datasets`` among others; all settings."""
    counted = table[table["dataset"].isin(datasets)]
    return [
        area_table(table, methods),
        wins_table(counted, methods[0], methods[1:]),
        height_table(table, methods),
        settings_table(settings),
    ]


def curve_pictures(settings: pd.DataFrame, table: pd.DataFrame) -> list[Picture]:
    """One picture per data set, with a panel for each share of training data (the paper's appendix)."""
    caption = (
        "Vertical bars: one standard deviation over the splits. Horizontal bars: one standard deviation of the "
        "sparsity over the test rows. Up and to the right is better."
    )
    pictures = []
    for dataset, rows in settings[settings["method"].isin(PLOTTED_METHODS)].groupby("dataset", sort=False):
        plotted = table[(table["dataset"] == dataset) & table["method"].isin(PLOTTED_METHODS)]
        chances = plotted.groupby("share")["chance"].mean().to_dict()
        stem, heading = file_stem("curves", str(dataset)), f"{dataset}: accuracy against sparsity"
        title = figures.shorten_name(str(dataset))
        pictures.append(picture_of(stem, heading, caption, figures.panels, rows, PLOTTED_METHODS, chances, title))
    return pictures
