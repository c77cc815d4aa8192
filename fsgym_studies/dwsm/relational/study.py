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
from fsgym_studies.dwsm.relational.tables import (
    BLOCK_PRICES,
    BLOCK_SIDE,
    GRID_SIDE,
    block_picture,
    block_price_label,
    digit_table,
    layout,
    results_table,
)
from fsgym_studies.dwsm.study import DWSM_PAPER, DWSM_REFERENCE

MNIST_TRAIN, MNIST_TEST = Source("mnist", "MNIST", split="train"), Source("mnist", "MNIST", split="test")
# Quick and full studies:
MNIST_TRAIN_ROWS = {False: 5000, True: 60000}
MNIST_RCPI_PARAMS = {
    False: {"n_iterations": 5, "states_per_sample": 4},
    True: {"n_iterations": 10, "states_per_sample": 4},
}


def plan(full: bool, data_dir: DataFolder) -> list[StudyCell]:
    train, test = subsample(MNIST_TRAIN.load(data_dir), MNIST_TRAIN_ROWS[full]), MNIST_TEST.load(data_dir)
    groups = [np.flatnonzero(layout() == b).tolist() for b in range(GRID_SIDE * GRID_SIDE)]
    cells = []
    rcpi = MethodSettings(DWSM, "rcpi", (MNIST_RCPI_PARAMS[full],))
    for related, unrelated in BLOCK_PRICES:
        rules = {
            "lam": 1.0,
            "groups": groups,
            "related": contiguous(GRID_SIDE, GRID_SIDE).astype(int).tolist(),
            "costs": related,
            "unrelated_costs": unrelated,
        }
        cells += Sweep(train, (rcpi,), [None], rules, test=test, label=block_price_label((related, unrelated))).cells()
    return cells


def conclude(cells: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    test = cells[0].task.data["test"]
    classes = [str(c) for c in test.classes]
    pictures = [block_picture(test, row) for row in table.to_dict("records")]
    tables = [results_table(table), digit_table(table, classes)]
    return Conclusion(protocol(full), claims(table, classes), tables, pictures)


def protocol(full: bool) -> str:
    prices, params = " and ".join(f"{r:g} / {u:g}" for r, u in BLOCK_PRICES), MNIST_RCPI_PARAMS[full]
    return (
        f"We repeat Fig. 8 of {DWSM_PAPER}. MNIST in {GRID_SIDE} x {GRID_SIDE} blocks of {BLOCK_SIDE} x {BLOCK_SIDE} "
        f"pixels; {MNIST_TRAIN_ROWS[full]:,} training images and the 10,000 test images. A block is related to the "
        "acquired blocks if it shares an edge with one of them, and is then cheaper; prices of related / unrelated "
        f"blocks: {prices} (the paper does not print its prices). The claims are assessed at the second pair of "
        f"prices. RCPI has {params['n_iterations']} iterations of {params['states_per_sample']} states per image."
    )


STUDY = Study(
    "dwsm-relational",
    "DWSM: blocks of an image (section 6.3.3, Fig. 8)",
    DWSM_REFERENCE,
    (0.4, 9.0),
    (MNIST_TRAIN.name,),
    plan,
    conclude,
)
