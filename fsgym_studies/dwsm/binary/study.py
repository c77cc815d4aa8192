"""Dulac-Arnold et al. (2012), section 6.1, Figs. 2 to 5 and appendix: eight binary data sets, four methods."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from fsgym_studies.common.curves import evaluated_cells, setting_means
from fsgym_studies.common.plan import CART, DWSM, L1_SVM, LARS, DataFolder, without
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.common.tables import settings_table
from fsgym_studies.dwsm.binary.claims import claims
from fsgym_studies.dwsm.binary.tables import price_picture, usage_pictures
from fsgym_studies.dwsm.study import (
    BASELINES,
    BINARY_METHODS,
    BINARY_SETS,
    BINARY_TITLES,
    CANCER_WITHOUT_ID,
    DWSM_PAPER,
    DWSM_PRICES,
    DWSM_REFERENCE,
    DWSM_SETTINGS,
    cells_over_shares,
    splits_text,
)
from fsgym_studies.dwsm.tables import area_table, curve_pictures, height_table, wins_table

NINE_SETS = (*BINARY_SETS, CANCER_WITHOUT_ID)


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[StudyCell]:
    methods = (DWSM_SETTINGS, *BASELINES)
    loaded = (source.load(data_dir) for source in without(NINE_SETS, skip))
    return [cell for data in loaded for cell in cells_over_shares(data, methods, full)]


def conclude(cells: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    settings = setting_means(table)
    return Conclusion(
        protocol(full),
        claims(table, settings),
        [
            area_table(table, BINARY_METHODS),
            wins_table(table[table["dataset"].isin(BINARY_TITLES)], DWSM, BINARY_METHODS[1:]),
            height_table(table, BINARY_METHODS),
            settings_table(settings),
        ],
        [*curve_pictures(settings, table), *usage_pictures(table, settings), *price_picture(settings)],
    )


def protocol(full: bool) -> str:
    return (
        f"We repeat section 6.1 of {DWSM_PAPER}. Eight binary data sets (breast cancer with the sample's id among its "
        f"ten columns, as in the paper, and, not counted among the eight, without it); {splits_text(full)}. "
        f"{DWSM} at prices lambda = {', '.join(f'{p:g}' for p in DWSM_PRICES)}; {L1_SVM}, {LARS} and {CART} at twelve "
        "settings each; their values are derived from the training part of the first split of each share and used on "
        "all its splits."
    )


STUDY = Study(
    "dwsm-binary",
    "DWSM: sparse binary classification (section 6.1)",
    DWSM_REFERENCE,
    (1.8, 42.0),
    tuple(dict.fromkeys(s.name for s in NINE_SETS)),
    plan,
    conclude,
)
