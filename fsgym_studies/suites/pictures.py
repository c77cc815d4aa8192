"""The picture of a suite: accuracy within each budget, or the score by which methods are ranked at each price."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
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
    means = scoring.means_by_place(scores, score).T.groupby(level="at", sort=False).mean().T
    bars = scoring.spreads(scores, score, "at")[0]
    places = [float(at.rpartition(" ")[2].replace(",", "")) for at in means.columns]
    heading = f"{shown.title}{'' if within else ', by ' + suite.price_in_words}"

    def draw(figure: Figure) -> None:
        ax, styles = figure.add_subplot(), method_styles([*names.values()])
        for title, name in names.items():
            if title in means.index:
                bar = bars.reindex(index=[title], columns=means.columns).iloc[0].to_numpy(float)
                bar = None if np.isnan(bar).any() or scores["dataset"].nunique() > 1 else bar
                style = styles[name] | {"markersize": 4.5}
                plot_error_bars(ax, places, means.loc[title], label=title, style=style, yerr=bar)
        for title in dashed:
            if title in means.index:
                ax.plot(places, means.loc[title], label=title, **ASIDE_STYLE)
        for title, figures in published.items():
            known = [(float(at), figures[at]) for at in figures.index if figures[at] == figures[at]]
            ax.plot(*zip(*known), label=title, linestyle=":", color="black", marker="*", linewidth=1.0)
        if not within:
            ax.set_xscale("log")
            ax.set_xticks(places, [at.rpartition(" ")[2] for at in means.columns])
            ax.minorticks_off()
        ax.set_xlabel("budget" if within else suite.price_in_words)
        ax.set_ylabel(shown.title.lower() if within else shown.title)
        figure.legend(loc="outside right upper", fontsize=8.5)

    several = f", mean over {scores['dataset'].nunique()} data sets" if scores["dataset"].nunique() > 1 else ""
    caption = f"{heading}{several}."
    return draw_picture("curve", heading, caption, draw, (8.2, 3.6))


def picture_of_ranks(test: RankTest) -> Picture:
    """The diagram of mean ranks with Nemenyi's critical difference."""
    titles = {str(name): str(name) for name in test.mean_ranks.index}
    n = len(test.losses)
    caption = f"Mean ranks over {n} data sets; a bar joins methods that do not differ by Nemenyi's test at 95 %."
    plot: Callable = plot_ranks
    return picture_of("ranks", "Mean ranks", caption, plot, test, titles)
