"""Xie and Xu (2013), section 4: feature selection on uncertain data with the sparse group LASSO."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fsgym.comparison.protocol import seed_of
from fsgym.comparison.splits import folds
from fsgym.data.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common.plan import DataFolder, Source, study_task, without
from fsgym_studies.common.study import Conclusion, Study, bibtex
from fsgym_studies.uncertain_sgl import cell
from fsgym_studies.uncertain_sgl.claims import FEWER_STEPS, claims
from fsgym_studies.uncertain_sgl.notes import notes
from fsgym_studies.uncertain_sgl.printed import AMPLITUDES, DRAWS_PER_VALUE, PENALTY_PAIRS, PRINTED, PRINTED_COLUMNS
from fsgym_studies.uncertain_sgl.tables import accuracy_table, chosen_table, selection_table, weight_pictures

UCI_SOURCES = (
    Source("crx", "Crx"),
    Source("german_credit", "German"),
    Source("heart_statlog", "Heart"),
    Source("hepatitis", "Hepatitis"),
    Source("horse_colic", "Horse"),
    Source("ionosphere", "Iono", drop=("a01", "a02")),  # one binary, one constant; the paper has 32 features
    Source("sonar", "Sonar"),
    Source("wdbc", "WDBC"),
    Source("wpbc", "WPBC"),
)
TEST_FOLDS = folds(10, 1)
GRID_INNER_FOLDS = 3
GRID_SAMPLINGS = {  # w and s of the grid, for each distribution, in the quick (False) and in the full study
    False: [(w, s) for w in (0.05, 0.2) for s in (10,)],
    True: [(w, s) for w in AMPLITUDES for s in DRAWS_PER_VALUE],
}
WEIGHTS_SETTING = (0.05, 20, (100.0, 0.1))  # w, s and penalties of Figs. 2 and 3
SONAR_SAMPLING = (0.05, 10)  # w and s of Figs. 4 and 5
MAX_CODES = 10  # values; a column with at most so many is taken to hold codes
CODE_ORDERS = 4  # random orders of codes
CHECK_FOLDS = 3  # folds of the checks of other codes and of fewer steps
NOISES = ("gaussian", "uniform")
SPARSE_COLUMNS = [(noise, column) for noise, column in PRINTED_COLUMNS if column == "FS (ratio < 0.9)"]


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[Task]:
    cells = []
    for source in without(UCI_SOURCES, skip):
        data = source.load(data_dir)
        cells += [*unselected_cells(data), *setting_cells(data), *grid_cells(data, full), *weight_cells(data)]
        cells += [*amplitude_cells(data), *recoded_cells(data)]
        cells += setting_cells(data, SPARSE_COLUMNS, "fewer steps", CHECK_FOLDS, n_steps=FEWER_STEPS)
    return cells


def cells_of_folds(
    call: str, kind: str, data: Dataset, columns: dict[str, Any], n_folds: int | None = None, **arguments: Any
) -> Iterator[Task]:
    """A cell for each fold; ``columns`` are those of its row besides data set, kind, fold and sampling."""
    sampling = {k: v for k, v in arguments.items() if k in ("distribution", "w", "s")}
    named = {"dataset": data.name, "method": kind, "params": json.dumps(sampling)}
    for fold in range(n_folds or len(TEST_FOLDS)):
        seed = seed_of((data.name, *sampling.values(), fold))
        row = {**named, "split": fold, **sampling, **columns}
        yield study_task(call, {**arguments, "split": TEST_FOLDS[fold], "seed": seed}, row, data)


def unselected_cells(data: Dataset) -> Iterator[Task]:
    """Accuracies on raw and on uncertain data of Tables 2 and 4."""
    for noise in ("raw", *NOISES):
        p = PRINTED[noise, "all sub-features"][data.name]
        sampling = {"distribution": "uniform" if noise == "raw" else noise, "w": p.w, "s": p.s}
        yield from cells_of_folds(cell.UNSELECTED_CALL, "no selection", data, {"distribution": noise}, **sampling)


def amplitude_cells(data: Dataset) -> Iterator[Task]:
    """Accuracies on uncertain data without a selection at every amplitude, with the fewest draws."""
    for noise, w in product(NOISES, AMPLITUDES):
        sampling = {"distribution": noise, "w": w, "s": min(DRAWS_PER_VALUE)}
        yield from cells_of_folds(cell.UNSELECTED_CALL, "all amplitudes", data, {}, **sampling)


def setting_cells(
    data: Dataset,
    columns: Sequence[tuple[str, str]] = PRINTED_COLUMNS,
    kind: str = "printed setting",
    n_folds: int | None = None,
    **steps: int,
) -> Iterator[Task]:
    """The columns of selections of Tables 2 to 5 at their printed settings."""
    for noise, column in columns:
        p = PRINTED[noise, column][data.name.partition(",")[0]]
        setting = {"distribution": noise, "w": p.w, "s": p.s, "penalties": (p.lam1, p.lam2), **steps}
        named = {"column": column, "lam1": p.lam1, "lam2": p.lam2}
        yield from cells_of_folds(cell.SETTING_CALL, kind, data, named, n_folds, **setting)


def grid_cells(data: Dataset, full: bool) -> Iterator[Task]:
    """All pairs of penalties, also on inner folds."""
    for noise, (w, s) in product(NOISES, GRID_SAMPLINGS[full]):
        setting = {"distribution": noise, "w": w, "s": s, "penalties": PENALTY_PAIRS, "inner": GRID_INNER_FOLDS}
        yield from cells_of_folds(cell.GRID_CALL, "grid", data, {}, **setting)


def weight_cells(data: Dataset) -> Iterator[Task]:
    """The weights of Figs. 2 to 5."""
    settings = [("all sets", *WEIGHTS_SETTING)]
    if data.name == "Sonar":
        settings += [("all penalties", *SONAR_SAMPLING, pair) for pair in PENALTY_PAIRS]
    for column, w, s, pair in settings:
        named = {"column": column, "lam1": pair[0], "lam2": pair[1]}
        setting = {"distribution": "gaussian", "w": w, "s": s, "penalties": pair}
        yield from cells_of_folds(cell.WEIGHTS_CALL, "weights", data, named, 1, **setting)


def recoded_cells(data: Dataset) -> Iterator[Task]:
    """Data sets with codes in other orders, or with missing values as a value of their own."""
    others = []
    if data.name == "German":
        others = [permute_codes(data, order) for order in range(CODE_ORDERS)]
    if data.name in ("Hepatitis", "Horse"):
        filled = np.where(np.isnan(data.X), -1.0, data.X)
        others = [data.replace(X=filled, name=f"{data.name}, missing as -1")]
    for other in others:
        yield from setting_cells(other, SPARSE_COLUMNS, "coded otherwise", CHECK_FOLDS)


def permute_codes(data: Dataset, order: int) -> Dataset:
    """The data set with the codes of each column of at most ``MAX_CODES`` values in a random order."""
    rng, X = np.random.default_rng(order), data.X.copy()
    for j in range(X.shape[1]):
        values, codes = np.unique(X[:, j], return_inverse=True)
        if len(values) <= MAX_CODES:
            X[:, j] = rng.permutation(values)[codes]
    return data.replace(X=X, name=f"{data.name}, codes in order {order + 1}")


def conclude(planned: Sequence[Task], table: pd.DataFrame, full: bool) -> Conclusion:
    tables = [accuracy_table(table), selection_table(table), chosen_table(table)]
    filled = [t for t in tables if len(t.frame)]
    return Conclusion(protocol(full), claims(table), filled, weight_pictures(table), notes(table))


def protocol(full: bool) -> str:
    samplings = (
        "all 40 pairs (w, s) of the paper"
        if full
        else "only 2 of the paper's 40 pairs (w, s), namely w = 0.05 and w = 0.2 at s = 10"
    )
    return (
        "We repeat section 4 of Xie and Xu (2013) on its nine data sets, with ten stratified folds. Every value "
        "is replaced by s random draws around it, from a uniform distribution on an interval whose width is w times "
        "the feature's range, or from a Gaussian distribution whose standard deviation is a quarter of that width "
        "(draws outside the interval are clipped to its ends). Each draw is one sub-feature, and the s sub-features of "
        "a feature form a group. FNum is the number of features with at least one selected sub-feature; the ratio is "
        "the share of sub-features that are selected. FS is the selection of sub-features at the setting with the "
        "highest accuracy; FS (ratio < 0.9) is restricted to settings with a ratio below 0.9. Categorical values are "
        "encoded as integers; missing values are replaced by the mean of the training part. Features are scaled to "
        "[0, 100] on the training part; we infer from the paper's tables that its penalties refer to this scale. We "
        "evaluate two solutions of the sparse group LASSO of eq. 7, whose penalties are lambda1 (single weights) and "
        "lambda2 (groups). One is the result of 100 accelerated proximal gradient steps from zero, which the paper's "
        "tables suggest. The other is the minimum, with a duality gap of at most 1e-8 times half the squared norm of "
        "the targets. Then an intersection kernel "
        "SVM with C = 1 is trained on the selected sub-features. We run all settings printed in the paper, and a grid: "
        "the paper's 12 pairs of penalties (lambda1, lambda2) with "
        f"{samplings}. A setting of the grid is chosen as in the paper (best on the test folds), or on "
        f"{GRID_INNER_FOLDS} inner folds of each training part (nested). Without a selection, all "
        f"{len(AMPLITUDES)} amplitudes w are run, at s = {min(DRAWS_PER_VALUE)}."
    )


STUDY = Study(
    "uncertain-sgl",
    "Sparse group LASSO for uncertain data (section 4)",
    bibtex(__file__),
    (5.0, 73.0),
    tuple(s.name for s in UCI_SOURCES),
    plan,
    conclude,
)
