"""Dulac-Arnold et al. (2012), section 6.3.1, Fig. 7: a hard budget of M features, which cost nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from fsgym_studies.common.curves import evaluated_cells, setting_means
from fsgym_studies.common.plan import DWSM, L1_SVM, LARS, DataFolder, MethodSettings, without
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.common.tables import settings_table
from fsgym_studies.dwsm.budget.claims import claims
from fsgym_studies.dwsm.budget.tables import accuracy_at_budgets, budget_table
from fsgym_studies.dwsm.study import (
    BINARY_SETS,
    BUDGET_MODEL,
    DWSM_PAPER,
    DWSM_REFERENCE,
    DWSM_SETTINGS,
    cells_over_shares,
    splits_text,
)
from fsgym_studies.dwsm.tables import curve_pictures

BUDGETS = (2, 5, 10, 20)  # values of M


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[StudyCell]:
    cells = []
    for source in without(BINARY_SETS, skip):
        data = source.load(data_dir)
        budgets = tuple({"lam": 0.0, "budget": m} for m in BUDGETS if m < data.n_features)
        methods = (
            MethodSettings(BUDGET_MODEL, "rcpi", budgets),
            DWSM_SETTINGS,
            MethodSettings(L1_SVM, "l1_svm"),
            MethodSettings(LARS, "lars"),
        )
        cells += cells_over_shares(data, methods, full)
    return cells


def conclude(cells: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    settings = setting_means(table)
    accuracies = accuracy_at_budgets(table)
    tables = [budget_table(accuracies), settings_table(settings)]
    return Conclusion(protocol(full), claims(accuracies), tables, curve_pictures(settings, table))


def protocol(full: bool) -> str:
    return (
        f"We repeat section 6.3.1 of {DWSM_PAPER}. The eight binary data sets of section 6.1; {splits_text(full)}. "
        f"{DWSM} with a budget of at most M = {', '.join(map(str, BUDGETS))} features at price 0 (only M below the "
        f"number of features), compared with {L1_SVM}, {LARS} and {DWSM} without a budget, all at the settings "
        "of dwsm-binary."
    )


STUDY = Study(
    "dwsm-budget",
    "DWSM: hard budget (section 6.3.1)",
    DWSM_REFERENCE,
    (2.3, 51.0),
    tuple(s.name for s in BINARY_SETS),
    plan,
    conclude,
)
