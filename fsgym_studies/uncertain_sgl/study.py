"""Xie and Xu (2013), section 4: feature selection on uncertain data with the sparse group LASSO."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fsgym.comparison.protocol import seed_of
from fsgym.comparison.splits import Split, folds
from fsgym.data.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common.plan import DataFolder, Source, study_task, without
from fsgym_studies.common.study import Conclusion, Study, bibtex
from fsgym_studies.uncertain_sgl import cell, printed, tables
from fsgym_studies.uncertain_sgl.claims import FEWER_STEPS, FNUM_MARGIN, agrees, claims

# What the study of uncertain data says below its claims: reasons for disagreements, effects of choices, misprints.


def notes(table: pd.DataFrame) -> list[str]:
    """Reasons for disagreements with the paper, effects of the choice of settings, and misprints."""
    results = tables.setting_results(table)
    sparse = results[results["column"] == "FS (ratio < 0.9)"]
    sentences = [
        *step_notes(sparse, tables.cells_of_kind(table, "fewer steps")),
        *code_notes(sparse, tables.cells_of_kind(table, "coded otherwise")),
    ]
    if len(results):
        means = {mode: 100 * results[f"{mode}_accuracy"].mean() for mode in ("early", "exact")}
        sentences.append(
            f"Over all printed settings the mean accuracy is {means['early']:.2f} after 100 steps and "
            f"{means['exact']:.2f} at the minimum. At the settings that the paper prints for FS (ratio < "
            f"0.9), the mean share of selected sub-features is {sparse['printed_ratio'].mean():.3f} in the paper, "
            f"{sparse['early_ratio'].mean():.3f} after our 100 steps and {sparse['exact_ratio'].mean():.3f} at the "
            "minimum of the objective."
        )
    sentences += optimism_notes(tables.grid_accuracies(table))
    sentences.append(
        "The paper defines FNum as d minus the number of selected features, which contradicts all its tables; our FNum "
        "is the number of selected features. The mean of the printed raw accuracies is 87.53, not 87.43, and that of "
        "the ratios below 0.9 in Table 3 is 0.700, not 0.696. Feature scales and a stopping rule are not printed: 100 "
        "accelerated steps from zero on features scaled to [0, 100] are inferred from the tables."
    )
    return sentences


def step_notes(sparse: pd.DataFrame, fewer_steps: pd.DataFrame) -> list[str]:
    """Where 100 steps miss the printed FNum of the columns with ratio < 0.9, and the result of fewer steps there."""
    if sparse.empty or fewer_steps.empty:
        return []
    keys = ["distribution", "dataset"]
    rows = sparse.join(fewer_steps.groupby(keys)["early_fnum"].mean().rename("fewer"), on=keys)
    reached, reached_by_fewer = (agrees(rows[name], rows["printed_fnum"]) for name in ("early_fnum", "fewer"))
    missed = [
        f"{r.dataset} {r.distribution} {r.early_fnum:.1f} and {r.fewer:.1f} ({r.printed_fnum:g})"
        for r in rows[~reached].itertuples()
    ]
    if not missed:
        return []
    excess, excess_elsewhere = (rows.loc[mask, "above"].median() for mask in (~reached, reached))
    sentence = (
        f"FNum after 100 and after {FEWER_STEPS} steps where 100 steps miss the printed number (in parentheses): "
        f"{'; '.join(missed)}. After {FEWER_STEPS} steps {reached_by_fewer[~reached].sum()} of these {len(missed)} are "
        f"within {FNUM_MARGIN:.0%} of the printed number, and {reached_by_fewer[reached].sum()} of the other "
        f"{reached.sum()}. The median relative excess of the objective over its minimum after 100 steps is "
        f"{excess:.1e} where our FNum misses the printed one, and {excess_elsewhere:.1e} elsewhere."
    )
    if excess < excess_elsewhere:
        sentence += (
            " Our FNum therefore differs from the printed one mainly where the solver converges quickly, probably "
            "since the paper's solver stopped once the objective hardly decreased, which happens there before step 100."
        )
    return [sentence]


def code_notes(sparse: pd.DataFrame, recoded: pd.DataFrame) -> list[str]:
    """The effect on FNum of another coding of categories and of missing values."""
    if recoded.empty:
        return []
    orders = ("with our order", "with four random orders")
    missing = ("with the mean for missing values", "with missing values coded as a separate value")
    sentences = []
    for name, problem, how in (
        ("German", "categorical values are encoded as integers, and the paper does not print their order", orders),
        ("Hepatitis", "6 % of its values are missing, and the paper does not say what replaces them", missing),
        ("Horse", "24 % of its values are missing, and the paper does not say what replaces them", missing),
    ):
        own = recoded[recoded["dataset"].str.startswith(name)]
        values = own.groupby(["distribution", "dataset"])["early_fnum"].mean()
        ends = values.groupby("distribution").agg(["min", "max"])
        parts = [
            f"{r.distribution} {r.early_fnum:.1f} {how[0]}, "
            f"{' to '.join(f'{v:.1f}' for v in sorted({*ends.loc[r.distribution]}))} {how[1]} "
            f"(printed: {r.printed_fnum:g})"
            for r in sparse[sparse["dataset"] == name].itertuples()
            if r.distribution in ends.index
        ]
        if parts:
            sentences.append(f"{name}: {problem}. FNum after 100 steps: {'; '.join(parts)}.")
    if sentences:
        sentences.append(
            f"The paper's accuracies on raw data of Horse ({printed.PRINTED_RAW['Horse'].accuracy:g}) and Hepatitis "
            f"({printed.PRINTED_RAW['Hepatitis'].accuracy:g}) are far above ours, so it probably used other "
            "attributes or targets."
        )
    return sentences


def optimism_notes(accuracies: pd.DataFrame) -> list[str]:
    lead = 100 * (accuracies["best"] - accuracies["nested"]).groupby(accuracies["selection"]).mean(skipna=False)
    lead = lead.reindex(tables.COMPARED_SELECTIONS).dropna()
    if lead.empty:
        return []
    n_settings = accuracies.groupby("selection")["n_settings"].max()
    listed = ", ".join(
        f"{name} {points:+.2f} (best of up to {n_settings[name]} settings)" for name, points in lead.items()
    )
    return [
        "The accuracy of the best setting of the grid on the test folds is optimistic. It exceeds the "
        "accuracy with settings chosen on inner folds by the following number of points (means over all data sets and "
        f"both kinds of noise): {listed}. The paper reports the best of up to 480 settings on the folds on which it is "
        "evaluated."
    ]


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
FOLDS_BY_KIND = dict(
    zip(
        tables.FOLD_KINDS,
        (
            TEST_FOLDS,
            tuple(cell.FoldInFileOrder(10, fold) for fold in range(10)),
            tuple(cell.FoldInFileOrder(10, fold, stratified=False) for fold in range(10)),
        ),
    )
)
GRID_INNER_FOLDS = 3
GRID_SAMPLINGS = {  # w and s of the grid, for each distribution, in the quick (False) and in the full study
    False: [(w, s) for w in (0.05, 0.2) for s in (10,)],
    True: [(w, s) for w in printed.AMPLITUDES for s in printed.DRAWS_PER_VALUE],
}
WEIGHTS_SETTING = (0.05, 20, (100.0, 0.1))  # w, s and penalties of Figs. 2 and 3
SONAR_SAMPLING = (0.05, 10)  # w and s of Figs. 4 and 5
MAX_CODES = 10  # values; a column with at most so many is taken to hold codes
CODE_ORDERS = 4  # random orders of codes
CHECK_FOLDS = 3  # folds of the checks of other codes and of fewer steps
NOISES = ("gaussian", "uniform")
SPARSE_COLUMNS = [(noise, column) for noise, column in printed.PRINTED_COLUMNS if column == "FS (ratio < 0.9)"]


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[Task]:
    cells = []
    for source in without(UCI_SOURCES, skip):
        data = source.load(data_dir)
        cells += [c for kind in tables.FOLD_KINDS for c in unselected_cells(data, kind)]
        cells += [*setting_cells(data), *grid_cells(data, full), *weight_cells(data)]
        cells += [*amplitude_cells(data), *recoded_cells(data)]
        cells += setting_cells(data, SPARSE_COLUMNS, "fewer steps", CHECK_FOLDS, n_steps=FEWER_STEPS)
    return cells


def cells_of_folds(
    call: str,
    kind: str,
    data: Dataset,
    columns: dict[str, Any],
    n_folds: int | None = None,
    splits: Sequence[Split | cell.FoldInFileOrder] | None = None,
    **arguments: Any,
) -> Iterator[Task]:
    """A cell for each fold, of ``TEST_FOLDS`` by default; ``columns`` are further ones of its row."""
    splits = TEST_FOLDS if splits is None else splits
    sampling = {k: v for k, v in arguments.items() if k in ("distribution", "w", "s")}
    named = {"dataset": data.name, "method": kind, "params": json.dumps(sampling)}
    for fold in range(n_folds or len(splits)):
        seed = seed_of((data.name, *sampling.values(), fold))
        row = {**named, "split": fold, **sampling, **columns}
        yield study_task(call, {**arguments, "split": splits[fold], "seed": seed}, row, data)


def unselected_cells(data: Dataset, kind: str) -> Iterator[Task]:
    """Accuracies on raw and on uncertain data of Tables 2 and 4, on one of the kinds of folds."""
    for noise in ("raw", *NOISES):
        p = printed.PRINTED[noise, "all sub-features"][data.name]
        sampling = {"distribution": "uniform" if noise == "raw" else noise, "w": p.w, "s": p.s}
        columns, splits = {"distribution": noise}, FOLDS_BY_KIND[kind]
        yield from cells_of_folds(cell.UNSELECTED_CALL, kind, data, columns, splits=splits, **sampling)


def amplitude_cells(data: Dataset) -> Iterator[Task]:
    """Accuracies on uncertain data without a selection at every amplitude, with the fewest draws."""
    for noise, w in product(NOISES, printed.AMPLITUDES):
        sampling = {"distribution": noise, "w": w, "s": min(printed.DRAWS_PER_VALUE)}
        yield from cells_of_folds(cell.UNSELECTED_CALL, "all amplitudes", data, {}, **sampling)


def setting_cells(
    data: Dataset,
    columns: Sequence[tuple[str, str]] = printed.PRINTED_COLUMNS,
    kind: str = "printed setting",
    n_folds: int | None = None,
    **steps: int,
) -> Iterator[Task]:
    """The columns of selections of Tables 2 to 5 at their printed settings."""
    for noise, column in columns:
        p = printed.PRINTED[noise, column][data.name.partition(",")[0]]
        setting = {"distribution": noise, "w": p.w, "s": p.s, "penalties": (p.lam1, p.lam2), **steps}
        named = {"column": column, "lam1": p.lam1, "lam2": p.lam2}
        yield from cells_of_folds(cell.SETTING_CALL, kind, data, named, n_folds, **setting)


def grid_cells(data: Dataset, full: bool) -> Iterator[Task]:
    """All pairs of penalties, also on inner folds."""
    for noise, (w, s) in product(NOISES, GRID_SAMPLINGS[full]):
        setting = {"distribution": noise, "w": w, "s": s, "penalties": printed.PENALTY_PAIRS, "inner": GRID_INNER_FOLDS}
        yield from cells_of_folds(cell.GRID_CALL, "grid", data, {}, **setting)


def weight_cells(data: Dataset) -> Iterator[Task]:
    """The weights of Figs. 2 to 5."""
    settings = [("all sets", *WEIGHTS_SETTING)]
    if data.name == "Sonar":
        settings += [("all penalties", *SONAR_SAMPLING, pair) for pair in printed.PENALTY_PAIRS]
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
    shown = [
        tables.folds_table(table),
        tables.accuracy_table(table),
        tables.selection_table(table),
        tables.chosen_table(table),
    ]
    filled = [t for t in shown if len(t.frame)]
    pictures = tables.weight_pictures(table)
    return Conclusion(protocol(full), claims(table), filled, pictures, notes(table), (tables.FOLDS,))


def protocol(full: bool) -> str:
    samplings = (
        "all 40 pairs (w, s) of the paper"
        if full
        else "only 2 of the paper's 40 pairs (w, s), namely w = 0.05 and w = 0.2 at s = 10"
    )
    return (
        "We repeat section 4 of Xie and Xu (2013) on its nine data sets, with ten stratified folds, shuffled; Tables 2 "
        "and 4 also with folds in the order of the files, stratified and in blocks of rows. Every value "
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
        f"{len(printed.AMPLITUDES)} amplitudes w are run, at s = {min(printed.DRAWS_PER_VALUE)}."
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
