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
from fsgym_studies.common.render import figure_style, file_stem
from fsgym_studies.common.study import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRID_SIDE = 4  # blocks along a side of an image
BLOCK_SIDE = 7  # pixels along a side of a block
BLOCK_PRICES = ((0.0, 0.0), (0.005, 0.03))  # of a related and of an unrelated block; the paper does not print its own


def block_price_label(prices: tuple[float, float]) -> str:
    """The name that tables give to the images at the prices of a related and an unrelated block."""
    return f"MNIST, {prices[0]:g} related, {prices[1]:g} not"


def layout() -> np.ndarray:
    """The number of the block of each pixel."""
    return blocks((GRID_SIDE * BLOCK_SIDE, GRID_SIDE * BLOCK_SIDE), (BLOCK_SIDE, BLOCK_SIDE))


def block_name(block: int) -> str:
    """A block by its row and column, which are counted from 1."""
    return f"row {block // GRID_SIDE + 1}, column {block % GRID_SIDE + 1}"


def usage_of(row: dict) -> np.ndarray:
    """Share of the correctly classified images of each class that acquire each block, float (n_classes, n_blocks)."""
    return np.array([u if u is not None else [np.nan] * GRID_SIDE * GRID_SIDE for u in row["class_usage"]], float)


def usage_by_digit(table: pd.DataFrame, classes: Sequence[str]) -> pd.DataFrame:
    """Number of blocks and the two most frequent blocks, a row per cell and digit."""
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
                    "most often": "; ".join(f"{block_name(b)} ({usage[k, b]:.2f})" for b in most),
                }
            )
    return pd.DataFrame(rows)


def results_table(table: pd.DataFrame) -> Table:
    """Accuracy, number of blocks and mean price of each cell."""
    frame = table[["dataset", "accuracy", "n_acquisitions", "sparsity", "spent"]]
    names = {"dataset": "data set and prices", "n_acquisitions": "blocks", "spent": "mean price"}
    return Table("results", "Accuracy and blocks", "On the test part.", frame.rename(columns=names))


def digit_table(table: pd.DataFrame, classes: Sequence[str]) -> Table:
    """The blocks that are acquired for each digit."""
    return Table(
        "digits",
        "Blocks by digit",
        "Mean number of blocks acquired for the correctly classified images of each digit, and the two blocks acquired "
        "most often (rows and columns are counted from 1).",
        usage_by_digit(table, classes),
    )


def block_picture(test: Dataset, row: dict) -> Picture:
    """How often each block is acquired, by digit."""
    usage = usage_of(row)[:, layout()]
    with figure_style():
        png = png_of(usage_panels(test, usage, row["class_right"]))
    stem = file_stem("blocks", row["dataset"].partition(", ")[2])
    caption = (
        "How often each block is acquired for the correctly classified images of each digit (brighter: more often), "
        f"with the mean image in white. Accuracy {row['accuracy']:.3f}, sparsity {row['sparsity']:.2f}."
    )
    return Picture(stem, f"Blocks acquired ({row['dataset']})", caption, png)


def usage_panels(data: Dataset, usage: NDArray[np.float64], counts: Sequence[int]) -> Figure:
    """Plot how often each pixel is acquired, with a panel per class and the mean image of the class in white.

    Raises ValueError if the rows are not images.

    Parameters
    ----------
    data : Dataset of images, whose means are plotted
    usage : float (n_classes, n_features), how often each pixel is acquired; NaN for a class without rows
    counts : int (n_classes,), the number of rows of each class over which frequencies are taken
    """
    from matplotlib.figure import Figure

    if data.image_shape is None:
        raise ValueError(f"usage_panels plots images only, but data set {data.name!r} has no image_shape")
    frequencies = usage.reshape(data.n_classes, *data.image_shape)
    columns = min(5, data.n_classes)
    rows = -(-data.n_classes // columns)
    figure = Figure(figsize=(2.1 * columns + 0.8, 2.3 * rows), layout="constrained")
    panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    image = None
    for k, ax in enumerate(panels):
        ax.set_axis_off()
        if k >= data.n_classes or np.isnan(frequencies[k]).any():
            continue
        mean = data.X[data.y == k].mean(axis=0).reshape(data.image_shape)
        image = ax.imshow(frequencies[k], cmap="viridis", vmin=0.0, vmax=1.0)
        opacity = (mean - mean.min()) / max(float(np.ptp(mean)), 1e-9)
        ax.imshow(np.ones((*mean.shape, 3)), alpha=0.75 * opacity)
        ax.set_title(f"{data.classes[k]} (n = {counts[k]})", fontsize=9)
    if image is not None:
        figure.colorbar(image, ax=list(panels), label="share of images that acquire it", shrink=0.8)
    return figure
