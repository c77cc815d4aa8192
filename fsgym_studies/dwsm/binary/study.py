"""Dulac-Arnold et al. (2012), section 6.1, Figs. 2 to 5 and appendix: eight binary data sets, four methods."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym_studies.common.curves import evaluated_cells, setting_means
from fsgym_studies.common.plan import CART, DWSM, L1_SVM, LARS, DataFolder
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.dwsm.binary.claims import claims
from fsgym_studies.dwsm.binary.tables import price_picture, usage_pictures
from fsgym_studies.dwsm.study import (
    BASE,
    BINARY,
    EIGHT,
    METHODS,
    OTHERS,
    PRICES,
    REFERENCE,
    WITHOUT_ID,
    over_shares,
    splits_text,
)
from fsgym_studies.dwsm.tables import area_table, curve_pictures, height_table, settings_table, wins_table

SOURCES = (*BINARY, WITHOUT_ID)


def plan(full: bool, data_dir: DataFolder) -> list[StudyCell]:
    arms = (BASE, *OTHERS)
    return [cell for source in SOURCES for cell in over_shares(source.load(data_dir), arms, full)]


def conclude(planned: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    settings = setting_means(table)
    return Conclusion(
        protocol(full),
        claims(table, settings),
        [
            area_table(table, METHODS),
            wins_table(table[table["dataset"].isin(EIGHT)], DWSM, METHODS[1:]),
            height_table(table, METHODS),
            settings_table(settings),
        ],
        [*curve_pictures(settings, table), *usage_pictures(table, settings), *price_picture(settings)],
    )


def protocol(full: bool) -> str:
    return (
        f"Eight binary data sets (breast cancer with the sample's id among its ten columns, as in the paper, and once "
        f"more without), {splits_text(full)}; "
        f"{DWSM} (RCPI) at prices {', '.join(f'{p:g}' for p in PRICES)}; {L1_SVM}, {LARS} and {CART} at twelve "
        "settings each, laid out on the first training part."
    )


STUDY = Study(
    "dwsm-binary",
    "DWSM: sparse binary classification (section 6.1)",
    REFERENCE,
    (1.8, 42.0),
    tuple(dict.fromkeys(s.name for s in SOURCES)),
    plan,
    conclude,
)
