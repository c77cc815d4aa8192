"""Tables and pictures of section 6.3.3, Fig. 8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fsgym.comparison.report import Picture, png_of
from fsgym.dataset import Dataset
from fsgym.grids import blocks
from fsgym_studies.common.render import file_stem, style
from fsgym_studies.common.study import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRID, SIDE = 4, 7  # blocks in a row, pixels in a block's row
PRICES = ((0.0, 0.0), (0.005, 0.03))  # related, unrelated; the paper's are not printed


def label(prices: tuple[float, float]) -> str:
    """What the table calls the images at prices of related and unrelated blocks."""
    return f"MNIST, {prices[0]:g} related, {prices[1]:g} not"


def layout() -> np.ndarray:
    """The block of each pixel."""
    return blocks((GRID * SIDE, GRID * SIDE), (SIDE, SIDE))


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


def results_table(table: pd.DataFrame) -> Table:
    """Accuracy, blocks and prices."""
    frame = table[["dataset", "accuracy", "n_acquisitions", "sparsity", "spent"]]
    names = {"dataset": "data set and prices", "n_acquisitions": "blocks", "spent": "mean price"}
    return Table("results", "Accuracy and blocks", "On the test part.", frame.rename(columns=names))


def digit_table(table: pd.DataFrame, classes: Sequence[str]) -> Table:
    """The blocks that each digit takes."""
    return Table(
        "digits",
        "Blocks by digit",
        "Mean number of blocks acquired for the images of each digit that are "
        "answered correctly, and the two blocks acquired most often (rows and columns from 1).",
        by_digit(table, classes),
    )


def picture(test: Dataset, row: dict) -> Picture:
    """How often each block is acquired, by digit."""
    usage = usage_of(row)[:, layout()]
    with style():
        png = png_of(usage_panels(test, usage, row["class_right"]))
    stem = file_stem("blocks", row["dataset"].partition(", ")[2])
    caption = (
        "How often each block is acquired for the correctly answered images of each digit (brighter: more often), "
        f"with the mean image in white. Accuracy {row['accuracy']:.3f}, sparsity {row['sparsity']:.2f}."
    )
    return Picture(stem, f"Blocks acquired ({row['dataset']})", caption, png)


def usage_panels(data: Dataset, usage: NDArray[np.float64], counts: Sequence[int]) -> Figure:
    """A figure of one panel per class: how often each pixel is acquired, under the class's mean image in white.

    Raises ValueError where the data are not images.

    Parameters
    ----------
    data : Dataset of images; their means are drawn
    usage : float (n_classes, n_features), how often each pixel is acquired; NaN for a class without data
    counts : of data that each class's frequencies are taken over
    """
    from matplotlib.figure import Figure

    if data.image_shape is None:
        raise ValueError(f"{data.name!r} has no image_shape; usage_panels draws images only")
    shares = usage.reshape(data.n_classes, *data.image_shape)
    columns = min(5, data.n_classes)
    rows = -(-data.n_classes // columns)
    figure = Figure(figsize=(2.1 * columns + 0.8, 2.3 * rows), layout="constrained")
    panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    shown = None
    for k, ax in enumerate(panels):
        ax.set_axis_off()
        if k >= data.n_classes or np.isnan(shares[k]).any():
            continue
        mean = data.X[data.y == k].mean(axis=0).reshape(data.image_shape)
        shown = ax.imshow(shares[k], cmap="viridis", vmin=0.0, vmax=1.0)
        ink = (mean - mean.min()) / max(float(np.ptp(mean)), 1e-9)
        ax.imshow(np.ones((*mean.shape, 3)), alpha=0.75 * ink)
        ax.set_title(f"{data.classes[k]} (n = {counts[k]})", fontsize=9)
    if shown is not None:
        figure.colorbar(shown, ax=list(panels), label="share of images that acquire it", shrink=0.8)
    return figure
