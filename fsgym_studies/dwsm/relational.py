"""Dulac-Arnold et al. (2012), section 6.3.3, Fig. 8: MNIST in blocks, cheaper where they touch what was acquired."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pandas as pd

from fsgym.comparison.report import Picture, png_of
from fsgym.grids import blocks, contiguous
from fsgym_studies.common.curves import done
from fsgym_studies.common.plan import DWSM, Arm, Block, Source
from fsgym_studies.common.render import style
from fsgym_studies.common.study import Claim, Conclusion, Planned, Study, Table
from fsgym_studies.dwsm import shared as dwsm
from fsgym_studies.dwsm.usage_panels import usage_panels

TRAIN, TEST = Source("mnist", "MNIST", split="train"), Source("mnist", "MNIST", split="test")
GRID, SIDE = 4, 7
PRICES = ((0.0, 0.0), (0.005, 0.03))  # related, unrelated; the paper's are not printed
ROWS = {False: 5000, True: 60000}
EFFORT = {False: {"n_iterations": 5, "states_per_sample": 4}, True: {"n_iterations": 10, "states_per_sample": 4}}
CENTRE = (5, 6, 9, 10)


def label(prices: tuple[float, float]) -> str:
    return f"MNIST, {prices[0]:g} related, {prices[1]:g} not"


def layout() -> np.ndarray:
    """The block of each pixel."""
    return blocks((GRID * SIDE, GRID * SIDE), (SIDE, SIDE))


def plan(full: bool, data_dir: str | os.PathLike | None) -> list[Planned]:
    train, test = TRAIN.load(data_dir), TEST.load(data_dir)
    if ROWS[full] < train.n_samples:
        chosen = np.random.default_rng(0).choice(train.n_samples, ROWS[full], replace=False)
        train = train.rows(np.sort(chosen))
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
        arm = Arm(DWSM, "rcpi", (EFFORT[full],))
        cells += Block(train, (arm,), [{}], rules, test=test, label=label((related, unrelated))).planned()
    return cells


def conclude(planned: Sequence[Planned], table: pd.DataFrame, full: bool) -> Conclusion:
    table = done(table)
    prices = " and ".join(f"{r:g} / {u:g}" for r, u in PRICES)
    protocol = (
        f"MNIST in {GRID} x {GRID} blocks of {SIDE} x {SIDE} pixels, {ROWS[full]} training images and the 10,000 of "
        f"the test part; a block costs less when it shares an edge with an acquired one: {prices} (the paper's prices "
        f"are not printed). RCPI with {EFFORT[full]['n_iterations']} iterations of {EFFORT[full]['states_per_sample']} "
        "states an image."
    )
    figures = ["accuracy", "n_acquisitions", "sparsity", "spent"]
    told = table.set_index("dataset")[figures].reset_index()
    classes = [str(c) for c in planned[0].task.data["test"].classes]
    tables = [
        Table(
            "results",
            "Accuracy and blocks",
            "On the test part.",
            told.rename(columns={"dataset": "data set and prices", "n_acquisitions": "blocks", "spent": "mean price"}),
        ),
        Table(
            "digits",
            "Blocks by digit",
            "Mean number of blocks acquired for the images of each digit that are "
            "answered correctly, and the two blocks acquired most often (rows and columns from 1).",
            by_digit(table, classes),
        ),
    ]
    pictures = [picture(planned, row) for row in table.to_dict("records")]
    return Conclusion(protocol, claims(table, classes), tables, pictures)


def usage_of(row: dict) -> np.ndarray:
    """How often each block is acquired for each class's correct images, float (n_classes, n_blocks)."""
    return np.array([u if u is not None else [np.nan] * GRID * GRID for u in row["class_usage"]], float)


def by_digit(table: pd.DataFrame, classes: Sequence[str]) -> pd.DataFrame:
    rows = []
    for row in table.to_dict("records"):
        usage = usage_of(row)
        for k, name in enumerate(classes):
            most = np.argsort(-usage[k], kind="stable")[:2]
            rows.append(
                {
                    "data set and prices": row["dataset"],
                    "digit": name,
                    "images": row["class_right"][k],
                    "blocks": float(usage[k].sum()),
                    "most often": "; ".join(
                        f"row {b // GRID + 1}, column {b % GRID + 1} ({usage[k, b]:.2f})" for b in most
                    ),
                }
            )
    return pd.DataFrame(rows)


def claims(table: pd.DataFrame, classes: Sequence[str]) -> list[Claim]:
    """Section 6.3.3, on the model with prices."""
    found = table[table["dataset"] == label(PRICES[-1])]
    if found.empty:
        return []
    usage = usage_of(found.iloc[0].to_dict())
    total = usage.sum(axis=1)
    one, five = classes.index("1"), classes.index("5")
    most = np.argsort(-usage[one], kind="stable")[:2]
    told = ", ".join(f"{c}: {t:.1f}" for c, t in zip(classes, total))
    where = " and ".join(f"row {b // GRID + 1} column {b % GRID + 1} ({usage[one, b]:.2f})" for b in most)
    return [
        Claim(
            "The 1 is identified quickly: of all digits it takes the fewest blocks",
            "just two blocks",
            told,
            bool(np.nanargmin(total) == one),
        ),
        Claim(
            "The blocks it looks at for a 1 are the central ones (its two most frequent are among the central four)",
            "the two central ones",
            where,
            bool(set(most.tolist()) <= set(CENTRE)),
        ),
        Claim(
            "and few others (at most 4 blocks on average; prices are ours)",
            "just two",
            f"{total[one]:.1f}",
            bool(total[one] <= 4),
        ),
        Claim(
            "The 5 is a complex digit: of all digits it takes the most blocks",
            "a more complex digit",
            told,
            bool(np.nanargmax(total) == five),
        ),
        Claim(
            "for which all blocks tend to be explored (at least 12 of 16 on average; prices are ours)",
            "all possible blocks",
            f"{total[five]:.1f}",
            bool(total[five] >= 12),
        ),
    ]


def picture(planned: Sequence[Planned], row: dict) -> Picture:
    test = planned[0].task.data["test"]
    usage = usage_of(row)[:, layout()]
    with style():
        png = png_of(usage_panels(test, usage, row["class_right"]))
    stem = "blocks_" + "".join(c if c.isalnum() else "_" for c in row["dataset"].partition(", ")[2])
    caption = (
        "How often each block is acquired for the correctly answered images of each digit (brighter: more often), "
        f"with the mean image in white. Accuracy {row['accuracy']:.3f}, sparsity {row['sparsity']:.2f}."
    )
    return Picture(stem, f"Blocks acquired ({row['dataset']})", caption, png)


STUDY = Study(
    "dwsm-relational",
    "DWSM: blocks of an image (section 6.3.3, Fig. 8)",
    dwsm.REFERENCE,
    (0.4, 9.0),
    (TRAIN.name,),
    plan,
    conclude,
)
