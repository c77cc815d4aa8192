"""How certain the methods of a comparison were of their answers, and how often these were right."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fsgym.comparison.figures import method_styles
from fsgym.comparison.planned import Comparison, Outcome
from fsgym.comparison.ranking import Ranking, titles_with_flags
from fsgym.metrics import CALIBRATION_BINS

RELIABILITY_CAPTION = (
    "Each method at its settings in the first table; test rows of all splits, in ten bins by the probability of their "
    "answer. On the line the probability is the share of right answers; below it a method is too certain. The area of "
    "a point grows with the number of its rows."
)
MAX_POINT = 120.0  # area of a point of all rows, in square points


def plot_reliability(comparison: Comparison, ranking: Ranking) -> Axes | None:
    """Share of right answers against their mean probability, for methods with probabilities; None if there is none."""
    chosen = {s.method: comparison.chosen(s).values() for s in ranking.standings if not s.reference}
    pooled = {name: pooled_bins(list(outcomes)) for name, outcomes in chosen.items()}
    pooled = {name: bins for name, bins in pooled.items() if len(bins)}
    if not pooled:
        return None
    titles = titles_with_flags(ranking)
    styles, ax = method_styles(list(titles)), Figure(figsize=(6.4, 4.8), layout="constrained").subplots()
    ax.plot([0, 1], [0, 1], color="#777777", linewidth=0.8)
    lowest = 1.0
    for name, bins in pooled.items():
        certainty, correct, rows = bins.T
        ax.plot(certainty, correct, color=styles[name]["color"], linewidth=1.0)
        area = MAX_POINT * rows / rows.sum()
        ax.scatter(certainty, correct, area, label=titles[name], zorder=3, **styles[name])
        lowest = min(lowest, certainty.min(), correct.min())
    limits = max(0.0, lowest - 0.05), 1.03
    ax.set(xlabel="mean probability of the answer", ylabel="share of right answers", xlim=limits, ylim=limits)
    ax.legend(loc="upper left")
    return ax


def pooled_bins(outcomes: list[Outcome]) -> NDArray[np.float64]:
    """Mean certainty, share correct and number of rows of each bin over several splits, float64 (n_bins, 3)."""
    parts = [
        [line["certainty"], line["correct"], line["rows"]] for o in outcomes for line in o.get("reliability") or ()
    ]
    if not parts:
        return np.empty((0, 3))
    bins = np.array(parts, dtype=np.float64)
    place = np.searchsorted(np.linspace(0, 1, CALIBRATION_BINS + 1)[1:-1], bins[:, 0])
    rows = np.bincount(place, bins[:, 2], CALIBRATION_BINS)
    sums = [np.bincount(place, bins[:, k] * bins[:, 2], CALIBRATION_BINS) for k in (0, 1)]
    kept = rows > 0
    return np.column_stack([*(total[kept] / rows[kept] for total in sums), rows[kept].astype(np.float64)])
