"""Dulac-Arnold et al. (2012), section 6.3.3, Table 7: features that are acquired in groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pandas as pd

from fsgym_studies.common.curves import evaluated_cells, setting_means
from fsgym_studies.common.plan import (
    DWSM,
    LARS,
    DataFolder,
    MethodSettings,
    Source,
    Sweep,
    price_settings,
    random_splits,
    seed_of,
    subsample,
)
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.common.tables import settings_table
from fsgym_studies.dwsm.groups.claims import ADULT_GROUPS, claims
from fsgym_studies.dwsm.groups.tables import ADULT, PCMAC, SONAR, in_groups, table_7
from fsgym_studies.dwsm.study import DWSM_PAPER, DWSM_REFERENCE, DWSM_SETTINGS
from fsgym_studies.dwsm.tables import curve_pictures

ADULT_TRAIN, ADULT_TEST = Source("a9a", ADULT, split="train"), Source("a9a", ADULT, split="test")
SONAR_SET = Source("sonar", SONAR)
PCMAC_SET = Source("pcmac", PCMAC)  # 3,289 features, in place of Gisette (5,000), which is not in the data folder
SONAR_GROUPS = (3, 10)  # numbers of random groups
# Quick and full studies:
ADULT_TRAIN_ROWS = {False: 6000, True: None}  # None for all
SONAR_SPLITS = {False: 5, True: 30}
PCMAC_SPLITS = {False: 1, True: 5}
PCMAC_RCPI_PARAMS = {False: {"n_iterations": 5, "states_per_sample": 2}, True: {}}
PCMAC_PRICES = {False: (0.0, 0.01, 0.1), True: (0.0, 0.005, 0.01, 0.1)}
ADULT_PRICES = (0.0, 0.001, 0.003, 0.005, 0.01, 0.03, 0.1)
ADULT_LASSO = MethodSettings(LARS, "lars", tuple({"alpha": 0.0, "max_features": k} for k in (1, 3, 10, 20, 40, 60, 95)))
PCMAC_LASSO = MethodSettings(LARS, "lars", tuple({"alpha": 0.0, "max_features": k} for k in (10, 30, 100, 300)))


def random_groups(n_features: int, number: int, seed: int) -> list[list[int]]:
    """A random partition of the columns into groups of about equal size."""
    order = np.random.default_rng(seed).permutation(n_features)
    return [sorted(int(j) for j in part) for part in np.array_split(order, number)]


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[StudyCell]:
    parts = {ADULT_TRAIN.name: adult_cells, SONAR_SET.name: sonar_cells, PCMAC_SET.name: pcmac_cells}
    return [cell for name, cells in parts.items() if name not in skip for cell in cells(full, data_dir)]


def adult_cells(full: bool, data_dir: DataFolder) -> Iterator[StudyCell]:
    """Adult in its groups, with the official parts."""
    train, test = subsample(ADULT_TRAIN.load(data_dir), ADULT_TRAIN_ROWS[full]), ADULT_TEST.load(data_dir)
    groups = [list(g) for g in train.groups or ()]
    methods = (MethodSettings(DWSM, "rcpi", price_settings(ADULT_PRICES)), ADULT_LASSO)
    yield from Sweep(train, methods, [None], {"groups": groups}, test=test).cells()


def sonar_cells(full: bool, data_dir: DataFolder) -> Iterator[StudyCell]:
    """Sonar without groups, and in random ones."""
    sonar, splits = SONAR_SET.load(data_dir), random_splits(0.5, SONAR_SPLITS[full])
    yield from Sweep(sonar, (DWSM_SETTINGS,), splits).cells()
    for n_groups in SONAR_GROUPS:
        label = in_groups(SONAR, n_groups)
        rules = [{"groups": random_groups(sonar.n_features, n_groups, seed_of(label, k))} for k in range(len(splits))]
        yield from Sweep(sonar, (DWSM_SETTINGS,), splits, rules, label=label).cells()


def pcmac_cells(full: bool, data_dir: DataFolder) -> Iterator[StudyCell]:
    """Pcmac in random groups."""
    texts, splits = PCMAC_SET.load(data_dir), random_splits(0.5, PCMAC_SPLITS[full])
    label = in_groups(PCMAC, 10)
    rules = [{"groups": random_groups(texts.n_features, 10, seed_of(label, k))} for k in range(len(splits))]
    pcmac_rcpi = MethodSettings(DWSM, "rcpi", price_settings(PCMAC_PRICES[full], **PCMAC_RCPI_PARAMS[full]))
    yield from Sweep(texts, (pcmac_rcpi, PCMAC_LASSO), splits, rules, label=label).cells()


def conclude(cells: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    settings = setting_means(table, ("accuracy", "sparsity", "n_acquisitions", "n_features"))
    tables = [table_7(settings), settings_table(settings)]
    notes = (
        "Gisette is not available, so its claims are assessed on pcmac instead. This shows only whether the results "
        "behave in a similar way; the numbers are not comparable.",
    )
    pictures = curve_pictures(settings, table)
    return Conclusion(protocol(full), claims(table, settings), tables, pictures, notes)


def protocol(full: bool) -> str:
    rows = "all" if ADULT_TRAIN_ROWS[full] is None else f"{ADULT_TRAIN_ROWS[full]:,} of the"
    iterations = (
        "10 iterations of 10 states per row"
        if full
        else "only 5 iterations of 2 states per row, because regressions on about 3,300 columns are slow"
    )
    return (
        f"We repeat Table 7 of {DWSM_PAPER}. Adult as 123 binary columns in its {ADULT_GROUPS} groups, with its "
        f"official training/test split and {rows} training rows; sonar in {' and '.join(map(str, SONAR_GROUPS))} "
        f"random groups, {SONAR_SPLITS[full]} splits with half of the rows for training. Gisette is replaced by pcmac "
        f"(1,943 texts, 3,289 word counts) in 10 random groups, {PCMAC_SPLITS[full]} "
        f"split{'s' if PCMAC_SPLITS[full] > 1 else ''} with half of the rows for training. On pcmac RCPI has "
        f"{iterations}. "
        f"{LARS}, which computes the LASSO, ignores the groups; a group counts as acquired if any of its features is "
        "used."
    )


STUDY = Study(
    "dwsm-groups",
    "DWSM: features in groups (section 6.3.3, Table 7)",
    DWSM_REFERENCE,
    (4.5, 150.0),
    (ADULT_TRAIN.name, SONAR_SET.name, PCMAC_SET.name),
    plan,
    conclude,
)
