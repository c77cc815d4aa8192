"""The main picture of a comparison: what is acquired against how good the answers are, for all settings."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fsgym.comparison import figures
from fsgym.comparison.answer import constant_answer
from fsgym.comparison.ranking import REFERENCES, Ranking, Standing
from fsgym.metrics import ERROR_RATE_LABELS, ERROR_RATES

LEGEND_LABEL = 34  # characters in a line, of which two columns fit
WIDE_RANGE = 8.0  # largest x over that of the best method, from which the axis is logarithmic beyond the latter
REFERENCE_LINES: dict[str, Any] = dict(zip(REFERENCES, ((0, (1, 2)), (0, (6, 3))), strict=True))  # dotted, dashed


class TradeoffAxes(NamedTuple):
    """Figures on the axes, names in ``Evaluation.FIGURES`` or ``ERROR_RATES``, and their labels."""

    x: str
    y: str
    x_label: str
    y_label: str


def tradeoff_axes(ranking: Ranking) -> TradeoffAxes:
    """Features, or money where prices or error costs are given, against the share or the cost of errors."""
    if ranking.has_prices or ranking.has_error_costs:
        x, x_label = "spent", "mean price paid per case"
    else:
        x, x_label = ranking.counted, f"mean number of {ranking.unit} used per case"
    if ranking.has_error_costs:
        return TradeoffAxes(x, "error_cost", x_label, "mean cost of errors per case")
    y = "balanced_error_rate" if ranking.imbalanced else "error_rate"
    return TradeoffAxes(x, y, x_label, ERROR_RATE_LABELS[y])


def plot_tradeoff(ranking: Ranking, settings: pd.DataFrame, titles: Mapping[str, str]) -> Axes | None:
    """One point per setting of each method; None if there is no point to draw.

    Reference points are grey horizontal lines with a label, and a circle marks the best method at its chosen settings.
    ``settings`` are those of a ``Summary``; ``titles`` are in the order of the legend.
    """
    chosen, best = tradeoff_axes(ranking), ranking.best
    heights = {s.method: _height(s, chosen.y) for s in ranking.standings}
    references = [s for s in ranking.standings if s.reference and np.isfinite(heights[s.method])]
    shown = {name: title for name, title in titles.items() if name not in REFERENCES}
    settings = figures.with_error_rates(settings)[["method", chosen.x, chosen.y, "admissible"]]
    settings = settings[settings["method"].isin(list(shown))].dropna()
    if settings.empty and not references:
        return None
    marked = [*references, *([best] if best is not None and not best.reference else [])]
    values = [*settings[chosen.y], *(heights[s.method] for s in marked)]
    fits = figures.with_error_rates(pd.concat([s.chosen for s in ranking.standings if not s.chosen.empty]))
    floor = figures.error_floor(fits, chosen.y, values)
    settings[chosen.y] = np.maximum(settings[chosen.y], floor)
    ax = figures.plot_curves(settings, shown, chosen.x, chosen.y, chosen.x_label)
    for standing in references:
        ax.axhline(
            max(heights[standing.method], floor),
            color=figures.REFERENCE_COLOUR,
            linewidth=1.2,
            linestyle=REFERENCE_LINES[standing.method],
            label=reference_label(ranking, standing),
        )
    if best is not None and not best.reference:
        ax.plot(
            [best.figures[chosen.x]],
            [max(heights[best.method], floor)],
            "o",
            markersize=15,
            markerfacecolor="none",
            markeredgecolor=figures.method_styles([*shown])[best.method]["color"],
            markeredgewidth=2.0,
            label=f"best at lambda {ranking.lam:.4g}",
        )
        _spread(ax, best.figures[chosen.x], settings[chosen.x].max())
    figures.mark_inadmissible(ax, settings, chosen.x, chosen.y)
    figures.logarithmic_errors(ax, chosen.y, values, floor)
    ax.set_ylabel(chosen.y_label)
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda k: (list(shown.values()) + labels).index(labels[k]))
    handles, labels = [handles[k] for k in order], [fill(labels[k], LEGEND_LABEL) for k in order]
    ax.legend(handles, labels, loc="upper left", bbox_to_anchor=(0, -0.25), ncols=2, borderaxespad=0)
    return ax


def _height(standing: Standing, figure: str) -> float:
    """A mean of a standing, or 1 minus it for an error rate."""
    if figure in ERROR_RATES:
        return 1.0 - float(standing.figures[ERROR_RATES[figure]])
    return float(standing.figures[figure])


def reference_label(ranking: Ranking, standing: Standing) -> str:
    """What a reference point does, and what that costs where prices are given."""
    if not standing.acquires:
        answer = constant_answer(ranking)
        return f"nothing acquired, always {figures.shorten_name(answer)}" if answer else standing.title
    paid = f"{standing.figures['spent']:.3g} paid"
    used = f"{standing.figures[ranking.counted]:.3g} {ranking.unit}"
    breaks = ", against the rules" if standing.figures["admissible"] < 1 else ""
    return f"everything acquired ({paid if ranking.has_prices or ranking.has_error_costs else used}{breaks})"


def _spread(ax: Axes, near: float, largest: float) -> None:
    """A logarithmic axis beyond twice the best method's ``x``, if other settings use many times as much."""
    if near <= 0 or largest <= WIDE_RANGE * near:
        return
    linear = 2 * near
    ax.set_xscale("symlog", linthresh=linear, linscale=1.5)
    steps = [m * 10.0**k for k in range(-3, 7) for m in (1, 2, 5)]
    ticks = [0.0, *(v for v in steps if near / 2.5 <= v <= 1.3 * largest)]
    ax.set_xticks(ticks, [f"{v:g}" for v in ticks])
    ax.minorticks_off()
    ax.set_xlim(-0.05 * linear, 1.25 * largest)
