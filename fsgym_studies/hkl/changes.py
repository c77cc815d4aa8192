"""Cells of the study of disjunctions that differ in one thing from its other cells, and what the difference matters.

Three things are changed, each alone: how a setting is chosen, the number of thresholds of numeric features, and the
largest number of disjunctions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from fsgym.comparison.splits import Split
from fsgym.data.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common.difference import Difference, paired_difference
from fsgym_studies.common.study import Table
from fsgym_studies.hkl.cell import HKL, KERNEL_L2_SVM, NESTED_CALL, ONE_STANDARD_ERROR
from fsgym_studies.hkl.further import approach_cells, best_accuracies, each_setting_cells

HEPATITIS = "hepatitis"
COMPARED = (HKL, KERNEL_L2_SVM)
UNCHANGED, BEST_SETTING = "no change", "the setting that is best on these test parts"
MAX_ACTIVE, MORE_ACTIVE = 150, 300  # disjunctions in a model of the study; the second is the default of the classifier
SAME_MAX_LITERALS = 3  # the default with more than 60 Boolean features; with two thresholds hepatitis has fewer


class Change(NamedTuple):
    """What differs from the other cells."""

    title: str  # what differs, as the object of "with"
    methods: tuple[str, ...]  # the approaches that are run with it
    # entries of ``features["literals"]`` and ``search`` of ``nested`` that differ
    literals: Mapping[str, Any] = MappingProxyType({})
    search: Mapping[str, Any] = MappingProxyType({})

    def label(self, method: str) -> str:
        """The name that tables of cells give to an approach with this change."""
        return f"{method} with {self.title}"


CHANGES_BY_DATASET: dict[str, tuple[Change, ...]] = {
    "breast cancer": (Change(f"at most {MORE_ACTIVE} disjunctions", (HKL,), search={"max_active": MORE_ACTIVE}),),
    HEPATITIS: (
        Change("the one-standard-error rule", (HKL,), search={"rule": ONE_STANDARD_ERROR}),
        Change("2 thresholds", COMPARED, {"n_thresholds": 2}, {"max_literals": SAME_MAX_LITERALS}),
    ),
    "colon": tuple(Change(f"{n} thresholds", COMPARED, {"n_thresholds": n}) for n in (3, 4)),
}
CHANGED_SPLITS = {False: 8, True: 12}  # with folds, the first; a cell of hepatitis of the full study takes 20 s


def changed_cells(
    data: Dataset, splits: Sequence[Split], features: Mapping[str, Any], search: Mapping[str, Any]
) -> list[Task]:
    """One cell for each change of a data set, its approaches and split; on hepatitis also those at each setting.

    ``features`` and ``search`` are those of the unchanged cells.
    """
    approaches = {
        change.label(method): (
            method,
            {**features, "literals": {**features["literals"], **change.literals}},
            {**search, **change.search},
        )
        for change in CHANGES_BY_DATASET[data.name]
        for method in change.methods
    }
    cells = approach_cells(NESTED_CALL, data, splits, approaches)
    if data.name == HEPATITIS:
        cells += each_setting_cells(data, splits, features, dict.fromkeys(COMPARED, search))
    return cells


def accuracies_by_change(table: pd.DataFrame, further: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """``accuracies_of_changes`` of each data set on which a change was run, from the cells of all."""
    found = {dataset: accuracies_of_changes(table, further, dataset) for dataset in CHANGES_BY_DATASET}
    return {dataset: accuracies for dataset, accuracies in found.items() if len(accuracies)}


def accuracies_of_changes(table: pd.DataFrame, further: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Accuracies on a data set in percent, with each change and without one.

    Parameters
    ----------
    table : DataFrame, cells with an accuracy
    further : DataFrame, cells at each setting
    dataset : str, a key of ``CHANGES_BY_DATASET``

    Returns
    -------
    DataFrame, a row per test part on which all were run, and a column per pair of a change (or ``UNCHANGED``, or
        ``BEST_SETTING``) and an approach; empty if no change was run
    """
    wide = 100.0 * table[table["dataset"] == dataset].pivot_table("accuracy", "split", "method")
    labels = {(change.title, m): change.label(m) for change in CHANGES_BY_DATASET[dataset] for m in change.methods}
    found = {key: wide[label] for key, label in labels.items() if label in wide}
    if dataset == HEPATITIS:
        best = {(BEST_SETTING, m): best_accuracies(further, dataset, m) for m in COMPARED}
        found |= {key: own for key, own in best.items() if own is not None}
    if found:
        found = {(UNCHANGED, m): wide[m] for m in COMPARED if m in wide} | found
    return pd.DataFrame(found).dropna()


class ChangeCompared(NamedTuple):
    """An approach with a change, in points of accuracy on the same test parts."""

    change: str
    method: str
    accuracy: float  # in percent
    unchanged: Difference | None  # from the same approach without the change
    svm: Difference | None  # from the L2-SVM with the change, or without it where it was not run with it


def changes_compared(accuracies: pd.DataFrame) -> list[ChangeCompared]:
    """Compare the columns of ``accuracies_of_changes``."""
    rows = []
    for change, method in accuracies.columns:
        own, svm = accuracies[change, method], (change, KERNEL_L2_SVM)
        same = (UNCHANGED, method)
        if svm not in accuracies:
            svm = (UNCHANGED, KERNEL_L2_SVM)
        differences = [
            paired_difference(own, accuracies[other]) if other in accuracies and other != (change, method) else None
            for other in (same, svm)
        ]
        rows.append(ChangeCompared(change, method, float(own.mean()), *differences))
    return rows


def changes_text(accuracies: pd.DataFrame, aim: float | None = None) -> str:
    """What each change matters to the disjunctions, in words, and which of them reach ``aim`` percent with it.

    ``accuracies`` are ``accuracies_of_changes``. The text is "" where the disjunctions were not run without a change.
    """
    own = [row for row in changes_compared(accuracies) if row.method == HKL]
    changed = [row for row in own if row.unchanged]
    if not changed:
        return ""
    lead = ", ".join(f"{row.unchanged.with_error(1)} with {row.change}" for row in changed if row.unchanged)
    against = ", ".join(f"{row.svm.with_error(1)} with {row.change}" for row in own if row.svm)
    text = f"in points on {len(accuracies)} test parts, disjunctions with one change less those without it: {lead}"
    text += f"; disjunctions less {KERNEL_L2_SVM} on the same Boolean features: {against}" if against else ""
    if aim is not None:
        reached = ", ".join(row.change for row in changed if row.accuracy >= aim)
        text += f"; they reach {aim:.2f} % with {reached or 'none of these'}"
    return text


def changes_table(by_dataset: Mapping[str, pd.DataFrame]) -> Table:
    """Accuracy with each change and the paired differences; ``by_dataset`` is from ``accuracies_by_change``."""
    rows = [
        (dataset, row.method, row.change, f"{row.accuracy:.2f}", *map(points, row[3:]), len(accuracies))
        for dataset, accuracies in by_dataset.items()
        for row in changes_compared(accuracies)
    ]
    columns = ["data set", "method", "with", "accuracy", "less no change", f"less {KERNEL_L2_SVM}", "test parts"]
    caption = (
        "Mean accuracy in percent, and paired differences in points with the standard error of their mean over the "
        "test parts. Test parts of different shuffles share rows, so that these errors are too small. "
        f"{KERNEL_L2_SVM} in the last difference has the same Boolean features, and its setting is chosen in the same "
        "way, but by the best mean where that of the disjunctions is chosen by the one-standard-error rule."
    )
    return Table("changes", "One thing changed", caption, pd.DataFrame(rows, columns=columns))


def points(difference: Difference | None) -> str:
    """A difference with its standard error; "" for none."""
    return "" if difference is None else difference.with_error(2)
