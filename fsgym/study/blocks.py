"""Which parts of an image are looked at, drawn with the mean image (Dulac-Arnold et al., 2012, Fig. 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsgym.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def block_usage(result: Evaluation) -> Figure:
    """A figure of one panel a class: how often each pixel is acquired, under the class's mean image in white.

    Frequencies are taken over the correctly classified data of the class. Raises ValueError where the data are no
    images.
    """
    from matplotlib.figure import Figure

    data = result.dataset
    if data.image_shape is None:
        raise ValueError(f"{data.name!r} has no image_shape; block_usage draws images only")
    shares = result.usage_by_class().reshape(data.n_classes, *data.image_shape)
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
        count = int(((result.answers == data.y) & (data.y == k)).sum())
        ax.set_title(f"{data.classes[k]} (n = {count})", fontsize=9)
    if shown is not None:
        figure.colorbar(shown, ax=list(panels), label="share of images that acquire it", shrink=0.8)
    return figure
