"""Where the boxes of a chart stand: columns by the number of questions before, in an order with few crossings."""

from __future__ import annotations

from collections.abc import Sequence

from fsgym.chart.views import BoxView

SWEEPS = 8  # over the columns; by hand


def arrange(views: Sequence[BoxView]) -> list[list[int]]:
    """The numbers of the boxes in each column, from top to bottom.

    Within a column, boxes are ordered by the mean height of the branches that lead to them, and of where they lead, in
    turn (barycentre method; Sugiyama, Tagawa and Toda, 1981).
    """
    by_step: dict[int, list[int]] = {}
    for view in views:
        by_step.setdefault(len(view.known) + len(view.unavailable), []).append(view.number)
    columns = [by_step[step] for step in sorted(by_step)]
    edges = [(v.number, b.goes_to, k) for v in views for k, b in enumerate(v.branches) if b.goes_to is not None]
    n_branches = {v.number: len(v.branches) for v in views}
    for sweep in range(SWEEPS):
        height = {number: float(place) for column in columns for place, number in enumerate(column)}
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            means = {}
            for number in column:
                if forward:
                    near = [height[a] + k / n_branches[a] for a, b, k in edges if b == number]
                else:
                    near = [height[b] for a, b, _ in edges if a == number]
                means[number] = sum(near) / len(near) if near else height[number]
            column.sort(key=lambda number: (means[number], height[number]))
            height |= {number: float(place) for place, number in enumerate(column)}
    return columns
