"""The report of a comparison on several data sets: mean ranks, with the critical difference, and all losses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from fsgym.comparison import figures
from fsgym.comparison.datasets_result import DatasetsResult, folder_name
from fsgym.comparison.rank_test import RankTest
from fsgym.comparison.report import Picture, png_of, provenance, template_environment
from fsgym.writing import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def write_datasets_report(result: DatasetsResult, command: str, folder: Path) -> Path:
    """Write ``report.html`` and ``ranks.png`` into ``folder``; returns the path of the report."""
    picture = None
    if result.rank_test is not None:
        with matplotlib.rc_context(figures.STYLE):
            ax = plot_ranks(result.rank_test, result.titles)
            caption = "A bar joins methods whose mean ranks differ by no more than noise; 1 is the best rank."
            picture = Picture("ranks", "Mean ranks", caption, png_of(ax))
        write_whole(folder / "ranks.png", picture.png)
    test = result.rank_test
    template = template_environment().get_template("several.html.j2")
    html = template.render(
        result=result,
        test=test,
        ranks=[] if test is None else test.to_frame().to_dict("records"),
        picture=picture,
        rows=[(name, folder_name(str(name)), row.to_dict()) for name, row in result.losses.iterrows()],
        best={name: row.min() for name, row in result.losses.iterrows()},
        lambdas={name: f"{rows['price'].iloc[0]:.4g}" for name, rows in result.results.items()},
        command=command,
        **provenance(),
    )
    path = folder / "report.html"
    write_whole(path, html)
    return path


def plot_ranks(test: RankTest, titles: Mapping[str, str], ax: Axes | None = None) -> Axes:
    """The mean ranks on one axis, from the best on the left, with a bar for each of ``test.cliques``.

    The diagram of Demsar (2006, JMLR 7, figure 1), with a line of its own for each method.
    """
    names = [str(name) for name in test.mean_ranks.index]
    if ax is None:
        ax = Figure(figsize=(7.5, 1.3 + 0.32 * (len(names) + len(test.cliques))), layout="constrained").add_subplot()
    styles = figures.method_styles(names)
    for line, name in enumerate(names):
        rank = test.mean_ranks[name]
        ax.plot([rank], [line], linestyle="none", markersize=8, **styles[name])
        text = f"{figures.shorten_name(titles.get(name, name), 34)}  {rank:.2f}"
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
