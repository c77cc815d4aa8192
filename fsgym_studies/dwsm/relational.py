"""Dulac-Arnold et al. (2012), section 6.3.3, Fig. 8: MNIST in blocks, cheaper where they touch what was acquired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fsgym.comparison.protocol import Protocol
from fsgym.comparison.report import Picture
from fsgym.comparison.splits import OfficialSplit
from fsgym.data.dataset import Dataset
from fsgym.data.grids import blocks, contiguous
from fsgym.runner import Task
from fsgym_studies.common.claims import AssessedClaim, Claim, assess
from fsgym_studies.common.curves import evaluated_cells, rows_of
from fsgym_studies.common.plan import DWSM, DataFolder, MethodSettings, Source, study_cells, subsample
from fsgym_studies.common.render import file_stem, picture_of
from fsgym_studies.common.study import Conclusion, Study, Table
from fsgym_studies.dwsm.relational_causes import (
    CENTRAL_BLOCKS,
    FEW_BLOCKS,
    GRID_SIDE,
    MANY_BLOCKS,
    block_name,
    complex_digit_cause,
    sweep_cause,
)
from fsgym_studies.dwsm.shared import AS_PRINTED, AS_PRINTED_TEXT, DWSM_PAPER, DWSM_REFERENCE, READING, READING_TEXT

MNIST_TRAIN, MNIST_TEST = Source("mnist", "MNIST", split="train"), Source("mnist", "MNIST", split="test")
BLOCK_SIDE = 7  # pixels along a side of a block
BLOCK_PRICES = ((0.0, 0.0), (0.005, 0.03))  # of a related and of an unrelated block; the paper does not print its own
# Further pairs, to see what the claims on numbers of blocks hang on:
SWEPT_PRICES = ((0.001, 0.01), (0.002, 0.02), (0.005, 0.01), (0.01, 0.02), (0.01, 0.05), (0.02, 0.05))
BY_FORMULA = ", related to all"  # ends the name of the images where a block is cheap by the formula of section 4.2.5
# Quick and full studies:
MNIST_TRAIN_ROWS = {False: 5000, True: 60000}
MNIST_RCPI_PARAMS = {
    False: {"n_iterations": 5, "states_per_sample": 4},
    True: {"n_iterations": 10, "states_per_sample": 4},
}


def plan(full: bool, data_dir: DataFolder) -> list[Task]:
    train, test = subsample(MNIST_TRAIN.load(data_dir), MNIST_TRAIN_ROWS[full]), MNIST_TEST.load(data_dir)
    rcpi = MethodSettings(DWSM, "rcpi", (MNIST_RCPI_PARAMS[full],), preset=READING)
    printed = MethodSettings(AS_PRINTED, "rcpi_printed", (MNIST_RCPI_PARAMS[full],))
    split = OfficialSplit(test)
    grid: dict[str, Any] = {
        "groups": [np.flatnonzero(layout() == b).tolist() for b in range(GRID_SIDE * GRID_SIDE)],
        "related": contiguous(GRID_SIDE, GRID_SIDE).astype(int).tolist(),
    }
    cells = []
    for related, unrelated in (*BLOCK_PRICES, *SWEPT_PRICES):
        rules = {"lam": 1.0, **grid, "costs": related, "unrelated_costs": unrelated}
        data = train.replace(name=block_price_label((related, unrelated)))
        methods = [rcpi, printed] if (related, unrelated) in BLOCK_PRICES else [rcpi]
        cells += study_cells(Protocol.for_dataset(data, [split], **rules), methods)
        if related < unrelated:
            data = train.replace(name=block_price_label((related, unrelated), BY_FORMULA))
            cells += study_cells(Protocol.for_dataset(data, [split], **rules, relation="all"), [rcpi])
    return cells


def layout() -> np.ndarray:
    """The number of the block of each pixel."""
    return blocks((GRID_SIDE * BLOCK_SIDE, GRID_SIDE * BLOCK_SIDE), (BLOCK_SIDE, BLOCK_SIDE))


def block_price_label(prices: tuple[float, float], relation: str = "") -> str:
    """The name that tables give to the images at the prices of a related and of an unrelated block."""
    return f"MNIST, {prices[0]:g} related, {prices[1]:g} not{relation}"


def protocol(full: bool) -> str:
    prices, swept = ("; ".join(f"{r:g} / {u:g}" for r, u in pairs) for pairs in (BLOCK_PRICES, SWEPT_PRICES))
    params = MNIST_RCPI_PARAMS[full]
    return (
        f"We repeat Fig. 8 of {DWSM_PAPER}. MNIST in {GRID_SIDE} x {GRID_SIDE} blocks of {BLOCK_SIDE} x {BLOCK_SIDE} "
        f"pixels; {MNIST_TRAIN_ROWS[full]:,} training images and the 10,000 test images. A block is related to the "
        "acquired blocks if it shares an edge with one of them (section 6.3.3 says that it touches one; we count no "
        "corners), and is then cheaper; in further cells if it shares one with each of them, as the formula of section "
        f"4.2.5 says. Prices of related / unrelated blocks: {prices} (the paper does not print its prices). The claims "
        f"are assessed at the second pair of prices; further pairs, shown beside it: {swept}. {READING_TEXT}. It has "
        f"{params['n_iterations']} iterations of {params['states_per_sample']} states per image. At the first two "
        f"pairs also {AS_PRINTED_TEXT}, the tenth."
    )


def counts_text(blocks: pd.Series) -> str:
    return ", ".join(f"{digit}: {count:.1f}" for digit, count in blocks.items())


CLAIMS = (
    Claim(
        "The 1 is identified quickly: of all digits it takes the fewest blocks (means over the correctly classified "
        "images of each digit)",
        "just two blocks",
        "blocks",
        lambda blocks: blocks.idxmin() == "1",
        counts_text,
    ),
    Claim(
        "The blocks acquired for a 1 are the central ones (the two most frequent are among the central four; ours: "
        "share of the correctly classified images that acquire them)",
        "the two central ones",
        "most frequent",
        lambda most: set(most.index) <= set(CENTRAL_BLOCKS),
        lambda most: " and ".join(f"{block_name(block)} ({share:.2f})" for block, share in most.items()),
    ),
    Claim(
        "The 1 takes few blocks besides the two central ones (at most "
        f"{FEW_BLOCKS} blocks including these two, mean as above; prices are ours)",
        "just two",
        "blocks",
        lambda blocks: blocks["1"] <= FEW_BLOCKS,
        lambda blocks: f"{blocks['1']:.1f} blocks",
        sweep_cause,
    ),
    Claim(
        "The 5 is a complex digit: of all digits it takes the most blocks (means as above)",
        "a more complex digit",
        "blocks",
        lambda blocks: blocks.idxmax() == "5",
        counts_text,
    ),
    Claim(
        f"For the 5 nearly all blocks tend to be acquired (at least {MANY_BLOCKS} of 16, mean as above; prices are "
        "ours)",
        "all possible blocks",
        "blocks",
        lambda blocks: blocks["5"] >= MANY_BLOCKS,
        lambda blocks: f"{blocks['5']:.1f} blocks",
        complex_digit_cause,
    ),
)


def claims(table: pd.DataFrame, classes: Sequence[str]) -> list[AssessedClaim]:
    """Assess the claims on the model with prices."""
    formula = table["dataset"].str.endswith(BY_FORMULA)
    ours, printed, by_formula = (
        blocks_at_prices(table[chosen], classes)
        for chosen in (~formula & (table["method"] == DWSM), table["method"] == AS_PRINTED, formula)
    )
    priced = rows_of(table, block_price_label(BLOCK_PRICES[-1]), DWSM)
    if priced.empty:
        return assess(CLAIMS, {})
    usage = usage_by_digit(priced.iloc[0], classes)
    figures = {"blocks": usage.sum(axis=1, skipna=False), "most frequent": usage.loc["1"].nlargest(2)}
    free = rows_of(table, block_price_label(BLOCK_PRICES[0]), AS_PRINTED)
    if len(free):
        figures["most frequent as printed"] = usage_by_digit(free.iloc[0], classes).loc["1"].nlargest(2)
    return assess(CLAIMS, {**figures, "by price": ours, "as printed": printed, "by formula": by_formula})


def blocks_at_prices(table: pd.DataFrame, classes: Sequence[str]) -> pd.DataFrame:
    """Mean number of blocks of each digit, a row per pair of prices."""
    rows = {
        row["dataset"].removeprefix("MNIST, ").removesuffix(BY_FORMULA): usage_by_digit(row, classes)
        for _, row in table.iterrows()
    }
    return pd.DataFrame({prices: usage.sum(axis=1, skipna=False) for prices, usage in rows.items()}, index=classes).T


def usage_by_digit(row: pd.Series, classes: Sequence[str]) -> pd.DataFrame:
    """Share of the correctly classified images of each digit that acquire each block; NaN for a digit without any."""
    unknown = [np.nan] * GRID_SIDE * GRID_SIDE
    return pd.DataFrame([unknown if u is None else u for u in row["class_usage"]], classes, dtype=float)


def results_table(table: pd.DataFrame) -> Table:
    """Accuracy, number of blocks and mean price of each cell."""
    frame = table[["dataset", "method", "accuracy", "n_acquisitions", "sparsity", "spent"]]
    names = {"dataset": "data set and prices", "n_acquisitions": "blocks", "spent": "mean price"}
    return Table("results", "Accuracy and blocks", "On the test part.", frame.rename(columns=names))


def digit_table(table: pd.DataFrame, classes: Sequence[str]) -> Table:
    """The blocks that are acquired for each digit, a row per cell and digit."""
    rows = [
        {
            "data set and prices": row["dataset"],
            "method": row["method"],
            "digit": digit,
            "images": images,
            "blocks": usage.sum(skipna=False),
            "most often": "; ".join(f"{block_name(b)} ({share:.2f})" for b, share in usage.nlargest(2).items()),
        }
        for _, row in table.iterrows()
        for (digit, usage), images in zip(usage_by_digit(row, classes).iterrows(), row["class_right"])
    ]
    return Table(
        "digits",
        "Blocks by digit",
        "Mean number of blocks acquired for the correctly classified images of each digit, and the two blocks acquired "
        "most often (rows and columns are counted from 1).",
        pd.DataFrame(rows),
    )


def block_picture(test: Dataset, row: pd.Series) -> Picture:
    """How often each block is acquired, by digit."""
    usage = usage_by_digit(row, list(test.classes)).to_numpy()[:, layout()]
    caption = (
        "How often each block is acquired for the correctly classified images of each digit (brighter: more often), "
        f"with the mean image in white. Accuracy {row['accuracy']:.3f}, sparsity {row['sparsity']:.2f}."
    )
    stem, heading = file_stem("blocks", row["dataset"].partition(", ")[2]), f"Blocks acquired ({row['dataset']})"
    return picture_of(stem, heading, caption, usage_panels, test, usage, row["class_right"])


def usage_panels(data: Dataset, usage: NDArray[np.float64], counts: Sequence[int]) -> Figure:
    """Plot how often each pixel is acquired, with a panel per digit and the mean image of the digit in white.

    Parameters
    ----------
    data : Dataset of images of digits, whose means are plotted
    usage : float (10, n_features), how often each pixel is acquired; NaN for a digit without rows
    counts : int (10,), the number of rows of each digit over which frequencies are taken
    """
    figure = Figure(figsize=(11.3, 4.6), layout="constrained")
    panels = figure.subplots(2, 5).ravel()
    image = None
    for k, ax in enumerate(panels):
        ax.set_axis_off()
        if np.isnan(usage[k]).any():
            continue
        mean = data.X[data.y == k].mean(axis=0).reshape(data.image_shape)
        image = ax.imshow(usage[k].reshape(data.image_shape), cmap="viridis", vmin=0.0, vmax=1.0)
        opacity = (mean - mean.min()) / max(float(np.ptp(mean)), 1e-9)
        ax.imshow(np.ones((*mean.shape, 3)), alpha=0.75 * opacity)
        ax.set_title(f"{data.classes[k]} (n = {counts[k]})", fontsize=9)
    if image is not None:
        figure.colorbar(image, ax=list(panels), label="share of images that acquire it", shrink=0.8)
    return figure


def conclude(cells: Sequence[Task], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    test = cells[0].data["split"].test
    classes = [str(c) for c in test.classes]
    shown = table[table["dataset"].isin(map(block_price_label, BLOCK_PRICES)) & (table["method"] == DWSM)]
    pictures = [block_picture(test, row) for _, row in shown.iterrows()]
    tables = [results_table(table), digit_table(table, classes)]
    return Conclusion(protocol(full), claims(table, classes), tables, pictures)


STUDY = Study(
    "dwsm-relational",
    "DWSM: blocks of an image (section 6.3.3, Fig. 8)",
    DWSM_REFERENCE,
    (2.4, 48.0),
    (MNIST_TRAIN.name,),
    plan,
    conclude,
)
