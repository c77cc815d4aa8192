"""Dulac-Arnold et al. (2012), section 6.2, Fig. 6: four data sets of more than two classes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from fsgym_studies.common.curves import evaluated_cells, setting_means
from fsgym_studies.common.plan import (
    CART,
    DWSM,
    L1_SVM,
    DataFolder,
    MethodSettings,
    Source,
    price_settings,
    without,
)
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.common.tables import settings_table
from fsgym_studies.dwsm.multiclass.claims import MULTICLASS_TITLES, claims
from fsgym_studies.dwsm.study import DWSM_PAPER, DWSM_REFERENCE, cells_over_shares, splits_text
from fsgym_studies.dwsm.tables import area_table, curve_pictures, height_table, wins_table

MULTICLASS_SETS = tuple(Source(name, name) for name in MULTICLASS_TITLES)
MULTICLASS_PRICES = (0.0, 0.01, 0.05, 0.1)
MULTICLASS_SETTINGS = (
    MethodSettings(DWSM, "rcpi", price_settings(MULTICLASS_PRICES)),
    MethodSettings(L1_SVM, "l1_svm"),
    MethodSettings(CART, "cart"),
)
MULTICLASS_METHODS = (DWSM, L1_SVM, CART)


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[StudyCell]:
    loaded = (source.load(data_dir) for source in without(MULTICLASS_SETS, skip))
    return [cell for data in loaded for cell in cells_over_shares(data, MULTICLASS_SETTINGS, full)]


def conclude(cells: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    settings = setting_means(table)
    tables = [
        area_table(table, MULTICLASS_METHODS),
        wins_table(table, DWSM, MULTICLASS_METHODS[1:]),
        height_table(table, MULTICLASS_METHODS),
        settings_table(settings),
    ]
    return Conclusion(protocol(full), claims(table), tables, curve_pictures(settings, table))


def protocol(full: bool) -> str:
    return (
        f"We repeat section 6.2 of {DWSM_PAPER}. Segment, vehicle, vowel (990 rows; the paper prints 1,000) and wine; "
        f"{splits_text(full)}. {DWSM} at prices lambda = {', '.join(f'{p:g}' for p in MULTICLASS_PRICES)}; one-vs-rest "
        f"{L1_SVM}, where a feature counts as used if any of the classifiers uses it; {CART}, which this section of "
        "the paper does not have."
    )


STUDY = Study(
    "dwsm-multiclass",
    "DWSM: sparse multiclass classification (section 6.2)",
    DWSM_REFERENCE,
    (1.0, 24.0),
    tuple(s.name for s in MULTICLASS_SETS),
    plan,
    conclude,
)
