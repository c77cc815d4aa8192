"""The figures of a comparison, as data: a dict of plain values for each, which ``draw`` draws with Matplotlib.

Keys of a figure, all optional:

- ``size`` in inches;
- ``lines``, points with error bars, as arguments of ``plot_error_bars``; ``levels``, horizontal lines; ``points``,
  markers alone; ``bars``, with the ``label``, ``values`` and ``color`` of each method, ``along``, their axis, and
  ``stacked``, whether they are parts of one bar, beside whose ``ends`` is a text;
  ``shades``, a table of shares as a map of colours, with its ``label``;
- ``x`` and ``y``, the axes, with ``label``, ``scale``, ``ticks`` and ``tick_labels``, ``limits`` and ``grid``;
- ``legend``, its place, and the labels that come ``first`` or ``last``; None for none.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import hsv_to_rgb, to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from fsgym.comparison.answer import INTERVAL, constant_answer, cost_text
from fsgym.comparison.ranking import RankedMethod, Ranking
from fsgym.comparison.splits import VALIDATION_SHARE
from fsgym.methods import REFERENCES
from fsgym.metrics import ERROR_RATE_LABELS, ERROR_RATES

if TYPE_CHECKING:
    from fsgym.comparison.noise import RankTest


# First the palette of Okabe and Ito (2008), distinguishable with any colour vision, then darker and lighter hues. In
# grey the markers distinguish the methods.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31", "#882255", "#44AA99"),
    *("#332288", "#999933", "#AA4499", "#117733", "#DDCC77", "#6699CC", "#661100", "#E31A1C", "#6A51A3", "#7FBF3F"),
)
REFERENCE_COLOUR = "#777777"
# The methods that have the same style in every figure: the place here gives it, so a new one goes to the end.
STYLED_METHODS = (
    *("adaptive", "lattice", "mixture", "network", "rcpi", "rcpi_printed", "l1_svm", "zero_norm_svm", "lars", "cart"),
    *("cegb", "maskable_ppo", "dqn", "gbfs", "lufe", "uncertain_sgl", "hkl", "l1_logistic", "group_lasso", "forest"),
    *("mrmr", "hsic_lasso", "gdfs", "dime", "panel", "stopping", "sparse_group_lasso"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h", "d")
STYLE: dict[Any, Any] = {
    "font.size": 10.5, "axes.titlesize": 11.5, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": "#e3e3e3", "grid.linewidth": 0.7, "axes.axisbelow": True,
    "legend.framealpha": 0.85, "legend.edgecolor": "none", "text.parse_math": False, "figure.dpi": 110,
}  # fmt: skip
ERROR_BARS: dict[str, Any] = {"linewidth": 1.6, "markersize": 5.5, "elinewidth": 0.8, "capsize": 2}  # in points
# Columns of a legend and the longest of its names, in characters; the first that fits is taken
LEGEND_COLUMNS = ((3, 14), (2, 34), (1, 70), (1, 55), (1, 40), (1, 25))
LEGEND_WIDTH = 0.97  # of the figure
# Above the axes, and below them and the label of the axis; the latter is four lines of text high, and does not depend
# on the height of the axes, so that the layout finds the place
ABOVE: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1, 1)}
BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.45, 0), "borderaxespad": 4}
LONGEST_TITLE = 34  # characters of a method's title beside its bar
BREAKS_RULES = "breaks the rules on some rows"  # in legends
MAX_BARS = 30  # features in one figure; more would be too small to read
VALIDATION = "validation_"  # start of the names of figures that were measured on the validation part
MIN_TICKS = 4  # on a logarithmic axis
TICKS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))  # times powers of ten


def method_styles(names: Sequence[str]) -> dict[str, dict]:
    """Colour and marker of each method, as keyword arguments of Matplotlib.

    A name in ``STYLED_METHODS`` has the same style in every figure, and no two of them have the same colour. Other
    names get the first styles that are not used by these. Reference points are grey.
    """
    places = {name: place for place, name in enumerate(STYLED_METHODS)}
    taken = {places[name] for name in names if name in places}
    free = (place for place in itertools.count() if place not in taken)
    styles = {}
    for name in names:
        if name in REFERENCES:
            styles[name] = {"color": REFERENCE_COLOUR, "marker": "x" if name == REFERENCES[0] else "+"}
        else:
            place = places[name] if name in places else next(free)
            styles[name] = {"color": _colour_of(place), "marker": MARKERS[place % len(MARKERS)]}
    return styles


def _colour_of(place: int) -> str:
    """The colour of a place: one of ``COLOURS``, then hues at steps of the golden section, in two shades."""
    if place < len(COLOURS):
        return COLOURS[place]
    hue = 0.3 + (place - len(COLOURS)) * 0.618034
    red, green, blue = hsv_to_rgb((hue % 1.0, 0.8, 0.85 if place % 2 else 0.55))
    return to_hex((red, green, blue))


def _axes(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Axes:
    return Figure(figsize=(width, height), layout="constrained").add_subplot() if ax is None else ax


def plot_error_bars(
    ax: Axes, x: Any, y: Any, *, label: str, style: Mapping[str, Any], xerr: Any = None, yerr: Any = None
) -> None:
    """A line with error bars in the style of all figures; ``style`` holds colour, marker and what differs from it."""
    ax.errorbar(x, y, xerr=xerr, yerr=yerr, label=label, **(ERROR_BARS | dict(style)))


def with_error_rates(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the columns in ``ERROR_RATES``, also with ``validation_`` before them, where it has accuracies."""
    rates = ERROR_RATES | {VALIDATION + rate: VALIDATION + figure for rate, figure in ERROR_RATES.items()}
    return table.assign(**{rate: 1.0 - table[figure] for rate, figure in rates.items() if figure in table})


def error_floor(fits: pd.DataFrame, figure: str, values: ArrayLike) -> float:
    """The height at which ``logarithmic_errors`` shows an error rate or error cost of 0; -inf on a linear axis.

    It is what half a wrong answer in all splits adds to the mean of the figure; if errors differ in their costs, half a
    wrong answer of the fit whose errors cost least. ``fits`` have a row for each split and setting, with ``n_train``
    and ``n_test``. The axis is linear where one of the ``values`` to draw is negative, or none is above 0.
    """
    drawn = np.asarray(values, float)
    if not (drawn > 0).any() or (drawn < 0).any():
        return -np.inf
    part = VALIDATION if figure.startswith(VALIDATION) else ""
    rows = fits.groupby("split")[["n_train", "n_test"]].first().sum()
    n_rows = VALIDATION_SHARE * rows["n_train"] if part else rows["n_test"]
    wrong = 1.0 - fits[f"{part}accuracy"]
    costs = (fits[figure] / wrong)[(wrong > 0) & (fits[figure] > 0)]  # of one error, by fit
    return 0.5 * float(costs.min() if len(costs) else 1.0) / float(n_rows)


def error_axis(figure: str, values: ArrayLike, floor: float) -> dict[str, Any]:
    """The logarithmic vertical axis of an error rate or error cost, with a tick for 0 at the height ``floor``.

    ``values`` are those of all points. Nothing where ``error_floor`` is -inf: the axis is linear.
    """
    if not np.isfinite(floor):
        return {}
    drawn = np.asarray(values, float)
    drawn = drawn[np.isfinite(drawn)]
    bottom, low, high = np.maximum([drawn.min(), drawn[drawn > 0].min(), drawn.max()], floor) * [0.87, 0.87, 1.15]
    for multiples in TICKS:
        ticks = [m * 10.0**k for k in range(-9, 10) for m in multiples if low <= m * 10.0**k <= high]
        if len(ticks) >= MIN_TICKS:
            break
    else:
        ticks = [float(tick) for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]
    labels = [f"{tick:,.4g}" if figure.endswith("error_cost") else f"{100 * tick:.4g} %" for tick in ticks]
    if (drawn == 0).any():
        ticks, labels = [floor, *ticks], ["0", *labels]
    return {"scale": {"value": "log"}, "ticks": ticks, "tick_labels": labels, "limits": (bottom, high)}


def curves(
    settings: pd.DataFrame,
    titles: Mapping[str, str],
    x: str = "sparsity",
    y: str = "accuracy",
    x_label: str = "sparsity (mean share of features not used)",
    chance: float | None = None,
) -> dict[str, Any]:
    """One figure against another: one point per setting, as in Figs. 2 and 3, of accuracy against sparsity.

    ``settings`` are those of a ``Summary``; their standard deviations are the error bars, without which there are none.
    ``titles`` are in the order of the legend. ``chance``, the share of the largest class, is shown as a line.
    """
    lines = []
    for name, style in method_styles(list(titles)).items():
        points = settings[settings["method"] == name].sort_values([x, y])
        if not points.empty:
            columns = {"x": x, "y": y, "xerr": f"{x}_std", "yerr": f"{y}_std"}
            values = {key: points[column].tolist() for key, column in columns.items() if column in points}
            lines.append({**values, "label": titles[name], "style": style})
    dotted = {"y": chance, "color": "#777777", "linewidth": 1, "linestyle": ":"}
    return {
        "lines": lines,
        "levels": [] if chance is None else [dotted | {"label": "largest class, no feature used"}],
        "points": [],
        "x": {"label": x_label},
        "y": {"label": f"{y.replace('_', ' ')} on the test part"},
        "legend": {"loc": "best"},
    }


def panels(settings: pd.DataFrame, methods: Sequence[str], chances: Mapping[float, float], title: str) -> Figure:
    """``curves`` of one data set, with one panel per share of training data, as in the paper's appendix.

    ``settings`` has the columns ``share`` and ``sparsity_within``: vertical bars are standard deviations over the
    splits, horizontal ones over the test rows of a split. ``chances`` has the accuracy of the largest class by share,
    and ``title`` begins that of each panel.
    """
    figure = Figure(figsize=(4.6 * len(chances) + 0.4, 3.9), layout="constrained")
    ax = np.atleast_1d(figure.subplots(1, len(chances), sharey=True))
    for panel, share in zip(ax, chances):
        rows = settings[settings["share"] == share].assign(sparsity_std=lambda r: r["sparsity_within"])
        draw(curves(rows, {m: m for m in methods}, x_label="sparsity", chance=chances[share]), panel)
        panel.set_title(f"{title}, {share:.0%} for training")
        if panel is not ax[0]:
            panel.set_ylabel("")
            if panel.get_legend() is not None:
                panel.get_legend().remove()
    return figure


def price_against_sparsity(
    settings: pd.DataFrame, titles: Mapping[str, str], unit: str = "errors", y: str = "sparsity"
) -> dict[str, Any]:
    """Sparsity (Fig. 5), or figure ``y``, of price-aware methods at each ``lam``, a column that is NaN for others."""
    settings = settings.dropna(subset=["lam"])
    found = curves(settings, titles, "lam", y, f"lambda (value of one unit of cost, in {unit})")
    found["y"] = {"label": y.replace("_", " ")} | ({"limits": (-0.03, 1.03)} if y == "sparsity" else {})
    positive = settings.loc[settings["lam"] > 0, "lam"]
    if len(positive):
        least, ticks = float(positive.min()), _separated_ticks(sorted(settings["lam"].unique()))
        found["x"] |= {"scale": {"value": "symlog", "linthresh": least}, "limits": (-0.15 * least, None)}
        found["x"] |= {"ticks": ticks, "tick_labels": [f"{v:g}" for v in ticks]}
    return found


def _separated_ticks(ticks: Sequence[float]) -> list[float]:
    """Those of the sorted ticks whose labels do not overlap on a logarithmic axis."""
    separated: list[float] = []
    for tick in ticks:
        if len(separated) < 2 or tick >= 1.6 * separated[-1]:  # 1.6 is about the width of a label
            separated.append(tick)
    return separated


def used_counts(
    histograms: Mapping[str, ArrayLike], titles: Mapping[str, str], unit: str = "features"
) -> dict[str, Any]:
    """Share of the test rows that are classified with each number of features (Fig. 4, right)."""
    shares = {name: np.asarray(h, float) / max(np.sum(h), 1) for name, h in histograms.items()}
    last = max((int(np.flatnonzero(s).max(initial=0)) for s in shares.values()), default=0)
    return {
        "bars": _bars({name: share[: last + 1] for name, share in shares.items()}, titles),
        "along": "x",
        "x": {"label": f"number of {unit} used", "integer": True},
        "y": {"label": "share of the test rows"},
        "legend": BELOW,
    }


def _bars(shares: Mapping[str, NDArray[np.float64]], titles: Mapping[str, str]) -> list[dict[str, Any]]:
    styles = method_styles(list(titles))
    return [{"label": titles[m], "values": share.tolist(), "color": styles[m]["color"]} for m, share in shares.items()]


def inadmissible(settings: pd.DataFrame, x: str, y: str) -> list[dict[str, Any]]:
    """White dots on the settings that break the rules on some test row; their label is ``BREAKS_RULES``."""
    broken = settings[settings["admissible"] < 1].dropna(subset=[x])
    dot = {"markersize": 3.5, "color": "white", "markeredgecolor": "black", "markeredgewidth": 0.6, "zorder": 4}
    return [{"x": broken[x].tolist(), "y": broken[y].tolist(), "label": BREAKS_RULES, **dot}] if len(broken) else []


def height_of_rows(n_rows: int) -> float:
    """Height in inches of a figure with one row per feature."""
    return 1.6 + 0.27 * min(n_rows, MAX_BARS)


def row_axis(names: Sequence[str], n_all: int = 0, unit: str = "", longest: int = 28) -> dict[str, Any]:
    """An axis with a row for each name, which are the most used ones where there are ``n_all`` in all, and more."""
    label = f"the {len(names)} most used of {n_all} {unit}" if len(names) < n_all else ""
    ticks = {"ticks": [*range(len(names))], "tick_labels": shorten_names(names, longest)}
    return {"label": label, **ticks, "grid": False}


def used_features(
    usages: Mapping[str, ArrayLike], names: Sequence[str], titles: Mapping[str, str], unit: str = "features"
) -> dict[str, Any]:
    """Share of the test rows that use each feature (Fig. 4, left), for at most ``MAX_BARS`` of the most used ones."""
    table = np.array([np.asarray(u, float) for u in usages.values()])
    chosen = np.sort(np.argsort(-table.max(axis=0), kind="stable")[:MAX_BARS])
    return {
        "size": (6.4, height_of_rows(len(chosen))),
        "bars": _bars(dict(zip(usages, table[:, chosen])), titles),
        "along": "y",
        "x": {"label": "share of the test rows that use it", "limits": (0, 1)},
        "y": row_axis([names[int(j)] for j in chosen], len(names), unit) | {"limits": (len(chosen) - 0.4, -0.6)},
        "legend": ABOVE,
    }


COST_COLOURS = {"acquisition_cost": ("for prices", "#0072B2"), "error_cost": ("for errors", "#E69F00")}


def costs(ranking: Ranking, titles: Mapping[str, str]) -> dict[str, Any] | None:
    """What a case costs by each method, prices and errors, the cheapest first; None where these are not in one unit.

    They are where error costs and prices are given and lambda is 1.
    """
    if not (ranking.has_error_costs and ranking.has_prices and ranking.lam == 1):
        return None
    shown = sorted((s for s in ranking.standings if np.isfinite(s.figures["loss"])), key=lambda s: s.figures["loss"])
    if not shown or any(s.figures[part] < 0 for s in shown for part in COST_COLOURS):
        return None
    bars = [
        {"label": label, "color": colour, "values": [float(s.figures[part]) for s in shown]}
        for part, (label, colour) in COST_COLOURS.items()
    ]
    totals = np.array([float(s.figures["loss"]) for s in shown])
    low, high = (np.array([s.figures.get(f"loss_{end}", np.nan) for s in shown], float) for end in ("low", "high"))
    ends = np.fmax(totals, high)
    interval = {"x": totals.tolist(), "y": [*range(len(shown))], "xerr": [totals - low, high - totals]}
    style = {"linestyle": "none", "marker": "none", "color": "#222222", "zorder": 3}
    return {
        "size": (6.4, height_of_rows(len(shown))),
        "bars": bars,
        "along": "y",
        "stacked": True,
        "lines": [interval | {"label": INTERVAL, "style": style}] if np.isfinite(low + high).any() else [],
        "ends": [(float(end), cost_text(ranking, total)) for end, total in zip(ends, totals)],
        "x": {"label": "mean cost per case", "limits": (0, 1.13 * max(*ends, 1e-9))},
        "y": row_axis([titles[s.method] for s in shown], longest=LONGEST_TITLE) | {"limits": (len(shown) - 0.4, -0.6)},
        "legend": ABOVE | {"last": [INTERVAL]},
    }


def draw(figure: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw a figure on the given axes, or on those of a new Matplotlib figure."""
    own, ax = ax is None, _axes(ax, *figure.get("size", ()))
    for line in figure.get("lines", ()):
        plot_error_bars(ax, **line)
    for level in figure.get("levels", ()):
        ax.axhline(**level)
    for points in figure.get("points", ()):
        ax.plot(points["x"], points["y"], "o", **{k: v for k, v in points.items() if k not in ("x", "y")})
    if figure.get("bars"):
        _draw_bars(ax, figure)
    if "shades" in figure:
        image = ax.imshow(figure["shades"]["values"], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        ax.figure.colorbar(image, ax=ax, label=figure["shades"]["label"])
    _set_axis(ax, "x", figure["x"])
    _set_axis(ax, "y", figure["y"])
    if figure.get("legend") is not None:
        _add_legend(ax, **figure["legend"])
        if own:
            make_room_for_legend(ax)
    return ax


def _add_legend(ax: Axes, *, first: Sequence[str] = (), last: Sequence[str] = (), **place: Any) -> None:
    """The legend in as many columns as fit into the figure; names that are too long for it are shortened."""
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda k: (labels[k] in last, [*first, *labels].index(labels[k])))
    handles, labels = [handles[k] for k in order], [labels[k] for k in order]
    for columns, longest in LEGEND_COLUMNS if labels else ():
        if columns == 1 or all(len(label) <= longest for label in labels):
            legend = ax.legend(handles, shorten_names(labels, longest), ncols=columns, **place)
            if legend.get_window_extent().width <= LEGEND_WIDTH * ax.figure.bbox.width:
                break


def make_room_for_legend(ax: Axes) -> None:
    """Make the figure of some axes higher by the legend that stands above or below them."""
    legend, figure = ax.get_legend(), ax.get_figure(root=True)
    if legend is None or figure is None:
        return
    place = legend.get_window_extent()
    if place.y0 >= ax.bbox.y1 or place.y1 <= ax.bbox.y0:
        figure.set_figheight(figure.get_figheight() + place.height / figure.dpi)


def _draw_bars(ax: Axes, figure: Mapping[str, Any]) -> None:
    """The bars of a figure, side by side, or each begun where the last one ends."""
    bars, stacked, upright = figure["bars"], figure.get("stacked", False), figure["along"] == "x"
    width, begun = 0.8 / (1 if stacked else len(bars)), np.zeros(len(bars[0]["values"]))
    for i, bar in enumerate(bars):
        places = np.arange(len(bar["values"])) + (0 if stacked else (i - (len(bars) - 1) / 2) * width)
        style = {"label": bar["label"], "color": bar["color"]}
        (ax.bar if upright else ax.barh)(places, bar["values"], width, begun, **style)
        begun = begun + np.asarray(bar["values"]) * stacked
    for place, (end, text) in enumerate(figure.get("ends", ())):
        ax.annotate(text, (end, place), (4, 0), textcoords="offset points", va="center")


def _set_axis(ax: Axes, name: Literal["x", "y"], axis: Mapping[str, Any]) -> None:
    """Scale, ticks, limits, label and grid of the axis "x" or "y"."""
    lines = ax.xaxis if name == "x" else ax.yaxis
    if "scale" in axis:
        getattr(ax, f"set_{name}scale")(**axis["scale"])
    if "ticks" in axis:
        lines.set_ticks(axis["ticks"], axis["tick_labels"], rotation=axis.get("rotation", 0))
    if "scale" in axis:
        lines.minorticks_off()
    if axis.get("integer"):
        lines.set_major_locator(MaxNLocator(integer=True))
    if "limits" in axis:
        getattr(ax, f"set_{name}lim")(*axis["limits"])
    if not axis.get("grid", True):
        ax.grid(axis=name, visible=False)
    if axis["label"]:
        lines.set_label_text(axis["label"])


def plot_ranks(test: RankTest, titles: Mapping[str, str]) -> Axes:
    """The mean ranks on one axis, from the best on the left, with a bar for each of ``test.cliques``.

    The diagram of Demsar (2006, JMLR 7, figure 1), with a line of its own for each method.
    """
    names = [str(name) for name in test.mean_ranks.index]
    ax = _axes(None, 7.5, 1.3 + 0.32 * (len(names) + len(test.cliques)))
    styles = method_styles(names)
    for line, name in enumerate(names):
        rank = test.mean_ranks[name]
        ax.plot([rank], [line], linestyle="none", markersize=8, **styles[name])
        text = f"{shorten_name(titles.get(name, name), 34)}  {rank:.2f}"
        side, gap = ("right", -9) if rank > (1 + len(names)) / 2 else ("left", 9)
        ax.annotate(text, (rank, line), (gap, 0), textcoords="offset points", va="center", ha=side)
    for number, clique in enumerate(test.cliques):
        ends = test.mean_ranks[[clique[0], clique[-1]]].to_numpy()
        line = len(names) + 0.6 * number
        ax.plot(ends + np.array([-0.03, 0.03]), [line, line], color="#333333", linewidth=4, solid_capstyle="butt")
    lowest = len(names) + 0.6 * len(test.cliques)
    if np.isfinite(test.difference):
        ax.plot([1, 1 + test.difference], [lowest, lowest], color="#b4500a", linewidth=1.5, marker="|", markersize=8)
        ax.annotate(
            f"critical difference {test.difference:.2f}", (1, lowest), (0, -6), textcoords="offset points", va="top"
        )
    ax.set_xlim(0.8, len(names) + 0.2)
    ax.set_ylim(lowest + 1.0, -0.7)
    ax.set_xticks(range(1, len(names) + 1))
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(f"mean rank over {len(test.losses)} data sets")
    return ax


def shorten_name(name: str, longest: int = 28) -> str:
    """A name cut to the width of ``longest`` characters for the axes of a figure, with control characters as spaces."""
    plain = "".join(c if c.isprintable() else " " for c in name)
    ends = list(itertools.accumulate(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in plain))
    return plain if not ends or ends[-1] <= longest else plain[: bisect_right(ends, longest - 1)] + "…"


def shorten_names(names: Sequence[str], longest: int = 28) -> list[str]:
    """Names cut to ``longest`` characters; those that would look the same are cut in the middle, else numbered.

    >>> shorten_names(["age", "panel a, b, c, d", "panel a, b, c, e"], 12)
    ['age', 'panel … c, d', 'panel … c, e']
    """
    cut = [shorten_name(name, longest) for name in names]
    shown = [
        shorten_name(name[: longest // 2] + "…" + name[longest // 2 + 1 - longest :], longest)
        if cut.count(text) > 1 and len(name) > longest
        else text
        for name, text in zip(names, cut)
    ]
    return [f"{text} ({shown[:k].count(text) + 1})" if shown.count(text) > 1 else text for k, text in enumerate(shown)]


# The main picture of a comparison: what is acquired against how good the answers are, for all settings.

TICK_WIDTH = 0.07  # of the axis, that the label of a tick needs
WIDE_RANGE = 8.0  # largest x over that of the best method, from which the axis is logarithmic beyond the latter
REFERENCE_LINES: dict[str, Any] = dict(zip(REFERENCES, ((0, (1, 2)), (0, (6, 3))), strict=True))  # dotted, dashed


def tradeoff_axes(ranking: Ranking) -> tuple[str, str, str, str]:
    """Features, or money where prices or error costs are given, against the share or the cost of errors.

    Returns the figures on both axes, names in ``Evaluation.FIGURES`` or ``ERROR_RATES``, and their labels.
    """
    if ranking.has_prices or ranking.has_error_costs:
        x, x_label = "spent", "mean price paid per case"
    else:
        x, x_label = ranking.counted, f"mean number of {ranking.unit} used per case"
    if ranking.has_error_costs:
        return x, "error_cost", x_label, "mean cost of errors per case"
    y = "balanced_error_rate" if ranking.imbalanced else "error_rate"
    return x, y, x_label, ERROR_RATE_LABELS[y]


def tradeoff(ranking: Ranking, settings: pd.DataFrame, titles: Mapping[str, str]) -> dict[str, Any] | None:
    """One point per setting of each method; None if there is no point to draw.

    Reference points are grey horizontal lines with a label, and a circle marks the best method at its chosen settings.
    ``settings`` are those of a ``Summary``; ``titles`` are in the order of the legend.
    """
    (x, y, x_label, y_label), best = tradeoff_axes(ranking), ranking.best
    heights = {s.method: _height(s, y) for s in ranking.standings}
    references = [s for s in ranking.standings if s.reference and np.isfinite(heights[s.method])]
    shown = {name: title for name, title in titles.items() if name not in REFERENCES}
    settings = with_error_rates(settings)[["method", x, y, "admissible"]]
    settings = settings[settings["method"].isin(list(shown))].dropna()
    if settings.empty and not references:
        return None
    marked = [*references, *([best] if best is not None and not best.reference else [])]
    values = [*settings[y], *(heights[s.method] for s in marked)]
    fits = with_error_rates(pd.concat([s.chosen for s in ranking.standings if not s.chosen.empty]))
    floor = error_floor(fits, y, values)
    settings[y] = np.maximum(settings[y], floor)
    found = curves(settings, shown, x, y, x_label)
    for standing in references:
        style = {"color": REFERENCE_COLOUR, "linewidth": 1.2, "linestyle": REFERENCE_LINES[standing.method]}
        height = max(heights[standing.method], floor)
        found["levels"].append({"y": height, "label": reference_label(ranking, standing), **style})
    if best is not None and not best.reference:
        ring = {"markersize": 15, "markerfacecolor": "none", "markeredgewidth": 2.0}
        ring |= {"markeredgecolor": method_styles([*shown])[best.method]["color"]}
        place = {"x": [best.figures[x]], "y": [max(heights[best.method], floor)]}
        found["points"].append(place | ring | {"label": f"best at lambda {ranking.lam:.4g}"})
        found["x"] |= _spread(best.figures[x], settings[x].max())
    found["points"] += inadmissible(settings, x, y)
    found["y"] = {"label": y_label} | error_axis(y, values, floor)
    return found | {"legend": BELOW | {"first": [*shown.values()]}}


def _height(standing: RankedMethod, figure: str) -> float:
    """A mean of a standing, or 1 minus it for an error rate."""
    if figure in ERROR_RATES:
        return 1.0 - float(standing.figures[ERROR_RATES[figure]])
    return float(standing.figures[figure])


def reference_label(ranking: Ranking, standing: RankedMethod) -> str:
    """What a reference point does, and what that costs where prices are given."""
    if not standing.acquires:
        answer = constant_answer(ranking, short=True)
        return f"{standing.title}, always {shorten_name(answer)}" if answer else standing.title
    paid = f"{standing.figures['spent']:.3g} paid"
    used = f"{standing.figures[ranking.counted]:.3g} {ranking.unit}"
    breaks = ", against the rules" if standing.figures["admissible"] < 1 else ""
    return f"everything acquired ({paid if ranking.has_prices or ranking.has_error_costs else used}{breaks})"


def _spread(near: float, largest: float) -> dict[str, Any]:
    """A logarithmic axis beyond twice the best method's ``x``, if other settings use many times as much."""
    if near <= 0 or largest <= WIDE_RANGE * near:
        return {}
    linear, stretch = 2 * near, 1.5
    steps = [m * 10.0**k for k in range(-9, 10) for m in (1, 2, 5)]
    steps = [v for v in steps if near / 2.5 <= v <= 1.3 * largest]
    places = [stretch * min(v / linear, 1) + math.log10(max(v / linear, 1)) for v in (0.0, *steps, largest)]
    ticks, last = [0.0], 0.0
    for v, place in zip(steps, places[1:]):
        if place - last >= TICK_WIDTH * places[-1]:
            ticks, last = [*ticks, v], place
    scale = {"value": "symlog", "linthresh": linear, "linscale": stretch}
    limits = (-0.05 * linear, 1.25 * largest)
    return {"scale": scale, "ticks": ticks, "tick_labels": [f"{v:g}" for v in ticks], "limits": limits}
