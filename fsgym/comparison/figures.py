"""The figures of a comparison. Every function draws on the axes it is given, or on a figure of its own."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fsgym.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which can be told apart with any colour vision, then darker and lighter hues; in grey the
# markers tell the methods apart.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31", "#882255", "#44AA99"),
    *("#332288", "#999933", "#AA4499", "#117733", "#DDCC77", "#6699CC", "#661100", "#888888", "#F0B6C8", "#7FBF3F"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d")
STYLE: dict[Any, Any] = {
    "font.size": 10.5, "axes.titlesize": 11.5, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": "#e3e3e3", "grid.linewidth": 0.7, "axes.axisbelow": True,
    "legend.framealpha": 0.85, "legend.edgecolor": "none", "text.parse_math": False, "figure.dpi": 110,
}  # fmt: skip
MOST_BARS = 30


def looks(names: Sequence[str]) -> dict[str, dict]:
    """Colour and marker of each method: those of its place in ``METHODS``, so that it looks the same in every figure.

    Names that are not in the table have the first looks that no name of the table has taken.
    """
    places = {name: place for place, name in enumerate(METHODS)}
    taken = {places[name] for name in names if name in places}
    free = (place for place in itertools.count() if place not in taken)
    chosen = {name: places[name] if name in places else next(free) for name in names}
    return {n: {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]} for n, i in chosen.items()}


def _axes(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Axes:
    return Figure(figsize=(width, height), layout="constrained").add_subplot() if ax is None else ax


def curves(
    settings: pd.DataFrame,
    titles: Mapping[str, str],
    x: str = "sparsity",
    y: str = "accuracy",
    x_label: str = "sparsity (mean share of features not used)",
    chance: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Accuracy against sparsity, a point a setting, bars of one standard deviation over the splits (Figs. 2 and 3).

    Parameters
    ----------
    settings : DataFrame, ``Summary.settings``
    titles : mapping method -> title, in the order of the legend
    x, y : str, figures to draw
    chance : float, the share of the largest class, drawn as a line
    """
    ax = _axes(ax)
    for name, look in looks(list(titles)).items():
        points = settings[settings["method"] == name].sort_values([x, y])
        if points.empty:
            continue
        ax.errorbar(
            points[x],
            points[y],
            xerr=points[f"{x}_std"],
            yerr=points[f"{y}_std"],
            label=titles[name],
            linewidth=1.6,
            markersize=5.5,
            elinewidth=0.8,
            capsize=2,
            **look,
        )
    if chance is not None:
        ax.axhline(chance, color="#777777", linewidth=1, linestyle=":", label="largest class, nothing asked")
    ax.set(xlabel=x_label, ylabel=f"{y.replace('_', ' ')} on the test part")
    ax.legend(loc="best")
    return ax


def panels(
    settings: pd.DataFrame, methods: Sequence[str], chances: Mapping[float, float], title: str, ax: Any = None
) -> Figure:
    """``curves`` of one data set, a panel for each share of training data, as in the paper's appendix.

    Parameters
    ----------
    settings : DataFrame of ``study.curves.settings_of``, of one data set. Vertical bars are standard deviations over
        the splits; horizontal ones how much a setting's sparsity varies from one test row to the next.
    methods : names in the order of the legend
    chances : mapping share -> accuracy of the largest class
    ax : sequence of axes, one a share, optional
    """
    found = list(chances)
    if ax is None:
        figure = Figure(figsize=(4.6 * len(found) + 0.4, 3.9), layout="constrained")
        ax = np.atleast_1d(figure.subplots(1, len(found), sharey=True))
    for panel, share in zip(ax, found):
        rows = settings[settings["share"] == share].assign(sparsity_std=lambda r: r["sparsity_within"])
        curves(rows, {m: m for m in methods}, x_label="sparsity", chance=chances[share], ax=panel)
        panel.set_title(f"{title}, {share:.0%} for training")
        if panel is not ax[0]:
            panel.set_ylabel("")
            if panel.get_legend() is not None:
                panel.get_legend().remove()
    return ax[0].get_figure()


def price_against_sparsity(
    settings: pd.DataFrame, titles: Mapping[str, str], ax: Axes | None = None, unit: str = "errors"
) -> Axes:
    """Sparsity at each price of methods that are swept over it (Fig. 5); ``settings`` needs a column ``lam``."""
    ax = _axes(ax)
    for name, look in looks(list(titles)).items():
        points = settings[(settings["method"] == name) & settings["lam"].notna()].sort_values("lam")
        if not points.empty:
            ax.errorbar(
                points["lam"],
                points["sparsity"],
                yerr=points["sparsity_std"],
                label=titles[name],
                linewidth=1.6,
                markersize=5.5,
                elinewidth=0.8,
                capsize=2,
                **look,
            )
    positive = settings.loc[settings["lam"] > 0, "lam"]
    if len(positive):
        ax.set_xscale("symlog", linthresh=float(positive.min()))
        ax.set_xlim(left=-0.15 * float(positive.min()))
        ticks = sorted(settings["lam"].dropna().unique())
        ax.set_xticks(_spread(ticks), [f"{v:g}" for v in _spread(ticks)])
        ax.minorticks_off()
    ax.set(xlabel=f"lambda (price of one unit of costs, in {unit})", ylabel="sparsity", ylim=(-0.03, 1.03))
    ax.legend(loc="best")
    return ax


def _spread(ticks: Sequence[float]) -> list[float]:
    """Ticks that do not run into each other on a logarithmic axis."""
    kept: list[float] = []
    for tick in ticks:
        if len(kept) < 2 or tick >= 1.6 * kept[-1]:
            kept.append(tick)
    return kept


def used_counts(
    histograms: Mapping[str, Sequence[float]], titles: Mapping[str, str], unit: str = "features", ax: Axes | None = None
) -> Axes:
    """Share of test data decided with each number of features (Fig. 4, right)."""
    ax = _axes(ax)
    look, width = looks(list(titles)), 0.8 / max(len(histograms), 1)
    shares = {name: np.asarray(h, float) / max(np.sum(h), 1) for name, h in histograms.items()}
    last = max((int(np.flatnonzero(s).max(initial=0)) for s in shares.values()), default=0)
    for i, (name, share) in enumerate(shares.items()):
        shown = share[: last + 1]
        ax.bar(
            np.arange(len(shown)) + (i - (len(shares) - 1) / 2) * width,
            shown,
            width,
            label=titles[name],
            color=look[name]["color"],
        )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel=f"number of {unit} used", ylabel="share of the test data")
    ax.legend(loc="best")
    return ax


def used_features(
    usages: Mapping[str, Sequence[float]],
    names: Sequence[str],
    titles: Mapping[str, str],
    unit: str = "features",
    ax: Axes | None = None,
) -> Axes:
    """Share of test data for which each feature is used (Fig. 4, left); the most used ones where there are many."""
    table = np.array([np.asarray(u, float) for u in usages.values()])
    chosen = np.arange(len(names))
    if len(names) > MOST_BARS:
        chosen = np.sort(np.argsort(-table.max(axis=0), kind="stable")[:MOST_BARS])
    ax = _axes(ax, 6.4, 1.6 + 0.27 * len(chosen))
    look, height = looks(list(titles)), 0.8 / max(len(usages), 1)
    places = np.arange(len(chosen))
    for i, (name, usage) in enumerate(zip(usages, table)):
        ax.barh(
            places + (i - (len(usages) - 1) / 2) * height,
            usage[chosen],
            height,
            label=titles[name],
            color=look[name]["color"],
        )
    ax.set_yticks(places, [short(names[int(j)]) for j in chosen])
    ax.set(xlim=(0, 1), xlabel="share of the test data that uses it", ylim=(len(chosen) - 0.4, -0.6))
    if len(chosen) < len(names):
        ax.set_ylabel(f"the {len(chosen)} most used of {len(names)} {unit}")
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return ax


def short(name: str, longest: int = 28) -> str:
    """A name that leaves room for the figure."""
    plain = "".join(c if c.isprintable() else " " for c in name)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
