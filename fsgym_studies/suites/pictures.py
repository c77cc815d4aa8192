"""The picture of a suite: accuracy within each budget, or the score by which methods are ranked at each price."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fsgym.comparison.figures import method_styles, plot_error_bars, plot_ranks
from fsgym.comparison.noise import RankTest
from fsgym.comparison.report import Picture
from fsgym_studies.common.render import draw_picture, picture_of
from fsgym_studies.suites import scores as scoring
from fsgym_studies.suites.suite import Suite

ASIDE_STYLE = {"color": "#777777", "linestyle": "--", "marker": "", "linewidth": 1.2}  # of a reference


def picture_of_suite(
    suite: Suite,
    scores: pd.DataFrame,
    names: Mapping[str, str],
    dashed: Sequence[str],
    published: Mapping[str, pd.Series],
) -> Picture:
    """The one picture of a suite, means over its data sets.

    Parameters
    ----------
    scores : DataFrame, as ``scores_of`` returns it
    names : mapping title -> name of each method that is drawn, for its style
    dashed : titles of references, which are grey
    published : mapping method -> accuracy by budget, as reported
    """
    within = (scores["score"] == "budget_accuracy").any()
    score = "budget_accuracy" if within else suite.tables[0].score
    shown = scoring.SCORES[score]
    own = scores[scores["score"] == score]
    places = [tuple(dict.fromkeys(at)) for _, at in own.groupby("dataset", sort=False)["at"]]
    panels = {"": own} if len(set(places)) == 1 else dict(tuple(own.groupby("dataset", sort=False)))
    heading = f"{shown.title}{'' if within else ', by ' + suite.price_in_words}"

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (dataset, rows) in zip(axes, panels.items()):
            _draw_panel(ax, rows, score, names, dashed, _of_panel(published, dataset))
            if not within:
                _price_axis(ax, rows)
            ax.set_xlabel(f"budget {dataset and 'of ' + dataset}".strip() if within else suite.price_in_words)
        axes[0].set_ylabel(shown.title.lower() if within else shown.title)
        labels = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels())}
        figure.legend(labels.values(), labels, loc="outside right upper", fontsize=8.5)

    several = f", mean over {len(places)} data sets" if len(panels) < len(places) else ""
    return draw_picture("curve", heading, f"{heading}{several}.", draw, (8.2, 3.6))


def _draw_panel(
    ax: Axes,
    rows: pd.DataFrame,
    score: str,
    names: Mapping[str, str],
    dashed: Sequence[str],
    published: Mapping[str, Mapping[str, float]],
) -> None:
    """The lines of all methods, means over the data sets of these rows; ± where they are of one data set."""
    means = scoring.means_by_place(rows, score).T.groupby(level="at", sort=False).mean().T
    bars, styles = scoring.spreads(rows, score, "at")[0], method_styles([*names.values()])
    places = [_number_of(at) for at in means.columns]
    for title, name in names.items():
        if title in means.index:
            bar = bars.reindex(index=[title], columns=means.columns).iloc[0].to_numpy(float)
            bar = None if np.isnan(bar).any() or rows["dataset"].nunique() > 1 else bar
            style = styles[name] | {"markersize": 4.5}
            plot_error_bars(ax, places, means.loc[title], label=title, style=style, yerr=bar)
    for title in dashed:
        if title in means.index:
            ax.plot(places, means.loc[title], label=title, **ASIDE_STYLE)
    for title, figures in published.items():
        x, y = [_number_of(at) for at in figures], [*figures.values()]
        ax.plot(x, y, label=title, linestyle=":", color="black", marker="*", linewidth=1.0)


def _of_panel(published: Mapping[str, pd.Series], dataset: str) -> dict[str, dict[str, float]]:
    """The published figures of a data set by budget; their labels begin with its name where there are several."""
    start = f"{dataset} " if dataset else ""
    found = {
        t: {at[len(start) :]: v for at, v in row.dropna().items() if at.startswith(start)}
        for t, row in published.items()
    }
    return {title: figures for title, figures in found.items() if figures}


def _price_axis(ax: Axes, rows: pd.DataFrame) -> None:
    """Prices on a logarithmic axis, a tick at each."""
    labels = [*dict.fromkeys(rows["at"])]
    ax.set_xscale("log")
    ax.set_xticks([_number_of(at) for at in labels], [at.rpartition(" ")[2] for at in labels])
    ax.minorticks_off()


def _number_of(at: str) -> float:
    """The price or budget in the name of a column, such as "error 1,000"."""
    return float(at.rpartition(" ")[2].replace(",", ""))


def picture_of_ranks(test: RankTest, names: Mapping[str, str]) -> Picture:
    """The diagram of mean ranks with Nemenyi's critical difference; ``names`` are those of ``picture_of_suite``."""
    styled = replace(test, mean_ranks=test.mean_ranks.rename(dict(names)))
    titles = {name: title for title, name in names.items()}
    n = len(test.losses)
    caption = f"Mean ranks over {n} data sets; a bar joins methods that do not differ by Nemenyi's test at 95 %."
    plot: Callable = plot_ranks
    return picture_of("ranks", "Mean ranks", caption, plot, styled, titles)
