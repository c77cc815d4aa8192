"""Dulac-Arnold et al. (2012), section 6.2, Fig. 6: four data sets of more than two classes."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym_studies.common.curves import evaluated_cells, setting_means
from fsgym_studies.common.plan import CART, DWSM, L1_SVM, DataFolder, MethodSettings, Source, price_settings
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.dwsm.multiclass.claims import SETS, claims
from fsgym_studies.dwsm.study import REFERENCE, over_shares, splits_text
from fsgym_studies.dwsm.tables import area_table, curve_pictures, height_table, settings_table, wins_table

SOURCES = tuple(Source(name, name) for name in SETS)
PRICES = (0.0, 0.01, 0.05, 0.1)
ARMS = (
    MethodSettings(DWSM, "rcpi", price_settings(PRICES)),
    MethodSettings(L1_SVM, "l1_svm"),
    MethodSettings(CART, "cart"),
)
METHODS = (DWSM, L1_SVM, CART)


def plan(full: bool, data_dir: DataFolder) -> list[StudyCell]:
    return [cell for source in SOURCES for cell in over_shares(source.load(data_dir), ARMS, full)]


def conclude(planned: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    settings = setting_means(table)
    tables = [
        area_table(table, METHODS),
        wins_table(table, DWSM, METHODS[1:]),
        height_table(table, METHODS),
        settings_table(settings),
    ]
    return Conclusion(protocol(full), claims(table), tables, curve_pictures(settings, table))


def protocol(full: bool) -> str:
    return (
        f"Segment, vehicle, vowel (990 rows; the paper prints 1,000) and wine, {splits_text(full)}; "
        f"{DWSM} (RCPI) at prices {', '.join(f'{p:g}' for p in PRICES)}; "
        f"one-vs-rest {L1_SVM}, a feature counting as used when any of its classifiers uses it; {CART}, which is not "
        "in the paper here."
    )


STUDY = Study(
    "dwsm-multiclass",
    "DWSM: sparse multiclass classification (section 6.2)",
    REFERENCE,
    (1.0, 24.0),
    tuple(s.name for s in SOURCES),
    plan,
    conclude,
)
