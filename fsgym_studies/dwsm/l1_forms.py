"""The ways in which the L1 methods of section 6.1 may have been run: scalings of the features, and intercepts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd

from baselines import L1SVMClassifier
from fsgym.comparison.protocol import Protocol
from fsgym.comparison.splits import Split, random_splits
from fsgym.data.dataset import Dataset
from fsgym.data.scaling import Scaling
from fsgym.runner import Task
from fsgym_studies.common import curves
from fsgym_studies.common.plan import L1_SVM, LARS, MethodSettings, study_cells
from fsgym_studies.common.render import format_number
from fsgym_studies.common.study import Table
from fsgym_studies.dwsm import shared
from fsgym_studies.dwsm.shared import L1_SVM_B1, L1_SVM_WITHOUT, LARS_WITHOUT

RANGE, STANDARD, DISTRIBUTED = "[-1, 1]", "unit variance", "as distributed"
SVM_STANDARD, SVM_DISTRIBUTED = (f"{L1_SVM}, {scaling}" for scaling in (STANDARD, DISTRIBUTED))
LARS_STANDARD, LARS_DISTRIBUTED = (f"{LARS}, {scaling}" for scaling in (STANDARD, DISTRIBUTED))


def without(title: str) -> str:
    """The name of a form that has no intercept."""
    return f"{title}, no intercept"


FORMS = {  # by scaling: the L1-SVMs and the LARS that are compared with each other, by title, and their intercepts
    RANGE: (
        {L1_SVM: "small penalty", L1_SVM_B1: "penalised as the weights", L1_SVM_WITHOUT: "none"},
        {LARS: "no penalty", LARS_WITHOUT: "none"},
    ),
    STANDARD: (
        {SVM_STANDARD: "small penalty", without(SVM_STANDARD): "none"},
        {LARS_STANDARD: "no penalty", without(LARS_STANDARD): "none"},
    ),
    DISTRIBUTED: (
        {SVM_DISTRIBUTED: "small penalty", without(SVM_DISTRIBUTED): "none"},
        {LARS_DISTRIBUTED: "no penalty", without(LARS_DISTRIBUTED): "none"},
    ),
}
LARS_FORMS = tuple(title for _, lars in FORMS.values() for title in lars if title != LARS)  # beside ours
PAIRS = tuple(pair for svms, lars in FORMS.values() for pair in product(svms, lars))
INTERCEPTS = {title: intercept for form in FORMS.values() for own in form for title, intercept in own.items()}
SCALED_FILES = ("ionosphere", "sonar")  # distributed in [-1, 1] alone; the other six without scaling
N_PENALTIES, DECADES = 17, 8  # of C, for features of scales that differ by orders of magnitude
LIBLINEAR_STOP = {"tol": 0.01, "max_iter": 1000}  # of its command line
TEXT = (
    f"They are also run at {STANDARD} and on the values {DISTRIBUTED}, in LIBSVM's files, where six of the eight data "
    f"sets are not scaled and {' and '.join(SCALED_FILES)} are in {RANGE}; each with and without an intercept, with "
    f"LIBLINEAR's own tolerance of {LIBLINEAR_STOP['tol']:g} and at most {LIBLINEAR_STOP['max_iter']:,} passes. "
    "Settings of C span three decades from the first that uses a feature, and on values as distributed "
    f"{DECADES} decades in {N_PENALTIES} steps"
)


def arms(scaling: str | None, svm: str, lars: str) -> Iterator[MethodSettings]:
    """Both methods with a scaling, with and without an intercept."""
    preset = {"scaling": scaling}
    yield MethodSettings(svm, "l1_svm", preset={**preset, **LIBLINEAR_STOP})
    yield MethodSettings(without(svm), "l1_svm", preset={**preset, **LIBLINEAR_STOP, "fit_intercept": False})
    yield MethodSettings(lars, "lars", preset=preset)
    yield MethodSettings(without(lars), "lars", preset={**preset, "fit_intercept": False})


def cells(data: Dataset, full: bool) -> Iterator[Task]:
    """The further scalings on the splits of ``shared.cells_over_shares``."""
    raw = distributed(data)
    for share in shared.TRAIN_SHARES[full]:
        splits = random_splits(share, shared.N_SPLITS[full])
        standard = tuple(arms("standard", SVM_STANDARD, LARS_STANDARD))
        yield from study_cells(Protocol.for_dataset(data, splits), standard)
        unscaled = [wide(arm, raw, splits[0]) for arm in arms(None, SVM_DISTRIBUTED, LARS_DISTRIBUTED)]
        yield from study_cells(Protocol.for_dataset(raw, splits), unscaled)


def wide(arm: MethodSettings, data: Dataset, split: Split) -> MethodSettings:
    """The arm with settings of C over ``DECADES``, if it is an L1-SVM."""
    if arm.method != "l1_svm":
        return arm
    train = split.divide(data)[0]
    first = L1SVMClassifier(**arm.preset).sparsity_grid(train.X, train.y, 2)[0]["C"]
    penalties = tuple({"C": float(C)} for C in first * np.geomspace(1.0, 10.0**DECADES, N_PENALTIES))
    return MethodSettings(arm.title, arm.method, penalties, arm.preset)


def distributed(data: Dataset) -> Dataset:
    """The values of LIBSVM's file: categories are the numbers that stand for them, and two sets are in [-1, 1]."""
    X = np.array(data.to_array(), dtype=np.float64)
    for j, column in enumerate(data.columns):
        if column.kind == "codes":
            X[:, j] = np.array(column.levels, dtype=np.float64)[X[:, j].astype(int)]
    if data.name in SCALED_FILES:
        X = Scaling.fit(X).apply(X)
    return Dataset(X, data.classes[data.y], name=data.name)


def count_text(lead: pd.Series, clear: pd.Series) -> str:
    """On how many data sets a lead is no noise, and in parentheses on how many there is any."""
    return f"{(clear > 0).sum()} ({(lead > 0).sum()})" if lead.notna().all() else format_number(None)


def table(rows: pd.DataFrame) -> Table:
    """On how many of the eight data sets DWSM is above both L1 methods, by scaling and intercepts."""
    values = {"by area": curves.areas(rows), "at .7": curves.heights(rows, 0.7), "at .9": curves.heights(rows, 0.9)}
    cancer = curves.by_dataset(values["at .7"]).reindex([shared.CANCER_ID])
    lines = []
    for scaling, methods in FORMS.items():
        for pair in product(*methods):
            counts = {
                where: count_text(*(f(own, shared.BINARY_TITLES, pair) for f in (shared.lead_over, shared.clear_lead)))
                for where, own in values.items()
            }
            area = shared.lead_over(values["by area"], shared.BINARY_TITLES, pair)
            counts["not above by area"] = ", ".join(area.index[area <= 0]) or "none"
            accuracies = (float(cancer[m].iloc[0]) if m in cancer else None for m in pair)
            lines.append((scaling, *map(INTERCEPTS.get, pair), *counts.values(), *map(format_number, accuracies)))
    names = [*values, "not above by area", "L1-SVM on cancer", "LARS on cancer"]
    columns = ["scaling", "L1-SVM's intercept", "LARS's intercept", *names]
    return Table(
        "l1_forms",
        "DWSM above both L1 methods, by their scaling and intercepts",
        f"On how many of the {len(shared.BINARY_TITLES)} data sets {'DWSM'}, whose curves are the same in all rows, is "
        "above both L1 methods by more than two standard errors over the splits, and in parentheses by however little: "
        "by the area under the curve, and by the accuracy at sparsities .7 and .9; on which it is not by area; then "
        "the accuracies of the L1 methods on breast cancer with id at sparsity .7, where the paper has .88 to .90. "
        f"{TEXT}.",
        pd.DataFrame(lines, columns=columns),
    )
