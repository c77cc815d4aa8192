"""Pictures of the study of boosted feature selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from fsgym.comparison import figures
from fsgym.comparison.report import Picture, png_of
from fsgym_studies.common.render import style
from fsgym_studies.gbfs.cell import GRID
from fsgym_studies.gbfs.tables import (
    COUNTS,
    GBFS,
    KDD,
    L1LR,
    METHODS,
    counts_of,
    drawn,
    points,
    quality,
    read,
    told,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLASSES = (figures.COLOURS[1], figures.COLOURS[0])


def _counted(ax: Axes, most: int = 100) -> None:
    """An axis of numbers of features, from 1 to 100, by ratio."""
    ticks = [k for k in (1, 2, 5, 10, 20, 50, 100) if k <= most]
    ax.set_xscale("log")
    ax.set_xticks(ticks, [str(k) for k in ticks])
    ax.minorticks_off()
    ax.set_ylim(bottom=0.0)


def curve_picture(table: pd.DataFrame) -> Picture | None:
    """Figs. 3 and 4: test error against the number of features, a panel a data set."""
    from matplotlib.figure import Figure

    sets, rows = told(table), points(table)
    if not sets:
        return None
    found = read(rows[rows["dataset"].isin(sets)], COUNTS)
    with style():
        figure = Figure(figsize=(12, 6.4), layout="constrained")
        axes = figure.subplots(2, 4).ravel()
        for dataset, ax in zip(sets, axes):
            counts = counts_of(dataset)
            for method, look in figures.looks(METHODS).items():
                if (dataset, method) in found.index.droplevel("split"):
                    own = found.loc[(dataset, method)][counts]
                    ax.plot(counts, own.mean(), label=method, linewidth=1.4, markersize=4, **look)
            _counted(ax, max(counts))
            ax.set_title(dataset)
        for ax in axes[len(sets) :]:
            ax.axis("off")
        for ax in axes[::4]:
            ax.set_ylabel("test error")
        for ax in axes[-4:]:
            ax.set_xlabel("selected features")
        seen: dict[str, Any] = {}
        for ax in axes:
            seen |= {name: line for line, name in zip(*ax.get_legend_handles_labels())}
        axes[-1].legend(list(seen.values()), list(seen), loc="center")
        png = png_of(figure)
    caption = "Means over the splits; curves are straight between settings over the number of features."
    return Picture("curves", "Error against number of features (Figs. 3 and 4)", caption, png)


def quality_picture(table: pd.DataFrame) -> Picture | None:
    """Fig. 5: the same SVM on every selection."""
    from matplotlib.figure import Figure

    rows = quality(table)
    if rows.empty:
        return None
    found = read(rows, COUNTS, "svm_error").groupby("method").mean()
    with style():
        ax = Figure(figsize=(6.4, 4.2), layout="constrained").add_subplot()
        for method, look in figures.looks(METHODS).items():
            if method in found.index:
                ax.plot(list(COUNTS), found.loc[method], label=method, linewidth=1.4, markersize=5, **look)
        _counted(ax)
        ax.set(xlabel="selected features", ylabel="test error of the SVM")
        ax.legend(loc="best")
        png = png_of(ax)
    return Picture("quality", "One SVM on every selection, uspst (Fig. 5)", "Means over the splits.", png)


def stages_picture(table: pd.DataFrame) -> Picture | None:
    """Fig. 4: kddcup99, error against features along the iterations of a few mu."""
    from matplotlib.figure import Figure

    if "stage_error" not in table.columns:
        return None
    rows = table[table["stage_error"].map(lambda v: isinstance(v, list))]
    if rows.empty:
        return None
    cell = rows.iloc[0]
    with style():
        ax = Figure(figsize=(6.4, 4.2), layout="constrained").add_subplot()
        for k, (mu, features, errors) in enumerate(zip(cell["mu_rel"], cell["stage_features"], cell["stage_error"])):
            steps = {"drawstyle": "steps-post", "linewidth": 1.6, "color": figures.COLOURS[k]}
            ax.plot(features, errors, label=f"mu = mu_max / {1 / mu:.0f}", **steps)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.yaxis.set_minor_formatter(lambda value, _: "")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set(xlabel="features bought so far", ylabel="test error", title=f"{KDD}, along the iterations")
        ax.legend(loc="best")
        png = png_of(ax)
    return Picture(
        "stages", "kddcup99 along the iterations (Fig. 4)", "A vertical drop: the same features, more trees.", png
    )


def synthetic_picture(table: pd.DataFrame) -> Picture | None:
    """Fig. 1: test points of the first draw over the decisions of both methods."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    cells = drawn(table)
    if cells.empty:
        return None
    cell = cells.sort_values("split").iloc[0]
    seen = np.array(cell["points"])
    with style():
        figure = Figure(figsize=(9, 4.4), layout="constrained")
        for ax, name, title in zip(figure.subplots(1, 2, sharey=True), ("l1", "gbfs"), (L1LR, GBFS)):
            decided = np.array(cell[f"{name}_decisions"]).reshape(len(GRID), len(GRID))
            ax.pcolormesh(
                GRID, GRID, decided, cmap=ListedColormap(CLASSES), alpha=0.25, vmin=0, vmax=1, shading="nearest"
            )
            for k, marker in enumerate("os"):
                x, y = seen[seen[:, 2] == k, :2].T
                ax.scatter(x, y, c=CLASSES[k], marker=marker, s=26, edgecolors="white", linewidths=0.6)
            chosen = ", ".join(f"x{j}" for j in cell[f"{name}_selected"]) or "nothing"
            ax.set(title=f"{title} selects {chosen}: error {cell[f'{name}_error']:.2f}", xlabel="x1", aspect="equal")
            ax.grid(visible=False)
        figure.axes[0].set_ylabel("x2")
        png = png_of(figure)
    caption = "Test points of the first draw over what each method decides; x3 = .6 x1 + .4 x2 is redundant."
    return Picture("three_features", "Three features, one of them redundant (Fig. 1)", caption, png)
