"""Which parts of an image are looked at, drawn with the mean image (Dulac-Arnold et al., 2012, Fig. 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsgym.dataset import Dataset
from fsgym.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def block_usage(result: Evaluation) -> Figure:
    """A figure of one panel a class: how often each pixel is acquired, under the class's mean image in white.

    Frequencies are taken over the correctly classified data of the class. Raises ValueError where the data are no
    images.
    """
    data = result.dataset
    counts = [int(((result.answers == data.y) & (data.y == k)).sum()) for k in range(data.n_classes)]
    return usage_panels(data, result.usage_by_class(), counts)


def usage_panels(data: Dataset, usage: NDArray[np.float64], counts: Sequence[int]) -> Figure:
    """The figure of ``block_usage`` from numbers.

    Parameters
    ----------
    data : Dataset of images; their means are drawn
    usage : float (n_classes, n_features), how often each pixel is acquired; NaN for a class without data
    counts : of data that each class's frequencies are taken over
    """
    from matplotlib.figure import Figure

    if data.image_shape is None:
        raise ValueError(f"{data.name!r} has no image_shape; block_usage draws images only")
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
