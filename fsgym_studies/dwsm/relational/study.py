"""Dulac-Arnold et al. (2012), section 6.3.3, Fig. 8: MNIST in blocks, cheaper where they touch what was acquired."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fsgym.grids import contiguous
from fsgym_studies.common.curves import evaluated_cells
from fsgym_studies.common.plan import DWSM, DataFolder, MethodSettings, Source, Sweep, subsample
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.dwsm.relational.claims import claims
from fsgym_studies.dwsm.relational.tables import GRID, PRICES, SIDE, digit_table, label, layout, picture, results_table
from fsgym_studies.dwsm.study import REFERENCE

TRAIN, TEST = Source("mnist", "MNIST", split="train"), Source("mnist", "MNIST", split="test")
ROWS = {False: 5000, True: 60000}
EFFORT = {False: {"n_iterations": 5, "states_per_sample": 4}, True: {"n_iterations": 10, "states_per_sample": 4}}


def plan(full: bool, data_dir: DataFolder) -> list[StudyCell]:
    train, test = subsample(TRAIN.load(data_dir), ROWS[full]), TEST.load(data_dir)
    groups = [np.flatnonzero(layout() == b).tolist() for b in range(GRID * GRID)]
    cells = []
    for related, unrelated in PRICES:
        rules = {
            "lam": 1.0,
            "groups": groups,
            "related": contiguous(GRID, GRID).astype(int).tolist(),
            "costs": related,
            "unrelated_costs": unrelated,
        }
        arm = MethodSettings(DWSM, "rcpi", (EFFORT[full],))
        cells += Sweep(train, (arm,), [{}], rules, test=test, label=label((related, unrelated))).cells()
    return cells


def conclude(planned: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    test = planned[0].task.data["test"]
    classes = [str(c) for c in test.classes]
    pictures = [picture(test, row) for row in table.to_dict("records")]
    tables = [results_table(table), digit_table(table, classes)]
    return Conclusion(protocol(full), claims(table, classes), tables, pictures)


def protocol(full: bool) -> str:
    prices = " and ".join(f"{r:g} / {u:g}" for r, u in PRICES)
    return (
        f"MNIST in {GRID} x {GRID} blocks of {SIDE} x {SIDE} pixels, {ROWS[full]} training images and the 10,000 of "
        f"the test part; a block costs less when it shares an edge with an acquired one: {prices} (the paper's prices "
        f"are not printed). RCPI with {EFFORT[full]['n_iterations']} iterations of {EFFORT[full]['states_per_sample']} "
        "states an image."
    )


STUDY = Study(
    "dwsm-relational",
    "DWSM: blocks of an image (section 6.3.3, Fig. 8)",
    REFERENCE,
    (0.4, 9.0),
    (TRAIN.name,),
    plan,
    conclude,
)
