"""A chart as SVG: one card a box, with its branches as rows, and curves to the next boxes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple

from fsgym.chart.views import BoxView, Branch
from fsgym.chart.words import branch_end_text, classes_text, condition_words, paid_text, price_range_text, wrong_text
from fsgym.text.messages import visible
from fsgym.text.sentences import probability_text, share_text
from fsgym.text.speech import said

# Where the boxes of a chart stand: columns by the number of questions before, in an order with few crossings.

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


CHART_STYLE = """
.fsgym-chart { font: 12px system-ui, sans-serif;
  --ink: #1d2733; --soft: #55616e; --line: #b9c3cd; --card: #fff; --row: #f3f6f9; --mark: #0b62c4;
  --class0: #3b6fb6; --class1: #d9822b; --class2: #4d9a5b; --class3: #a05aa8;
  --class4: #c2504f; --class5: #7a7a2e; --class6: #2f9aa0; --class7: #8a6d5a; }
.fsgym-chart text { fill: var(--ink); }
.fsgym-chart .soft { fill: var(--soft); }
.fsgym-chart .name { font-weight: 650; font-size: 13px; }
.fsgym-chart .ends { font-weight: 600; }
.fsgym-chart .card { fill: var(--card); stroke: var(--line); }
.fsgym-chart .row { fill: var(--row); }
.fsgym-chart .edge { fill: none; stroke: var(--soft); stroke-opacity: .75; }
.fsgym-chart .edge.unknown { stroke-dasharray: 4 4; }
.fsgym-chart .here .card { stroke: var(--mark); stroke-width: 3; }
.fsgym-chart .class0 { fill: var(--class0); } .fsgym-chart .class1 { fill: var(--class1); }
.fsgym-chart .class2 { fill: var(--class2); } .fsgym-chart .class3 { fill: var(--class3); }
.fsgym-chart .class4 { fill: var(--class4); } .fsgym-chart .class5 { fill: var(--class5); }
.fsgym-chart .class6 { fill: var(--class6); } .fsgym-chart .class7 { fill: var(--class7); }
"""
DARK_STYLE = """
@media (prefers-color-scheme: dark) { .fsgym-chart {
  --ink: #e6ebf0; --soft: #a3afbb; --line: #4a5662; --card: #1b232b; --row: #242e38; --mark: #6cb2ff;
  --class0: #7aa7e6; --class1: #eba45e; --class2: #7fc58c; --class3: #c78fce;
  --class4: #e88785; --class5: #b9b95f; --class6: #63c5cb; --class7: #bb9c88; } }
"""


# Lengths in pixels, by hand.
CARD_WIDTH, COLUMN_GAP, CARD_GAP, MARGIN = 540, 80, 22, 16
TITLE_HEIGHT, BAR_HEIGHT, ROW_HEIGHT, LINE_HEIGHT, PADDING = 46, 12, 24, 15, 10
CHARACTER = 6.3  # width of a character of 12 pixels, on average
BOLD_CHARACTER = 7.6
INDENT = 14
SHARE_WIDTH = 62
N_COLOURS = 8  # of classes; further ones repeat
HEADLINE_CHARACTERS, HEADLINE_ON_PAGE = 150, 46  # in a line; on a page, as many as a phone shows


class _Place(NamedTuple):
    """Where a card stands."""

    x: float
    y: float
    height: float
    rows: list[float]  # the y of the middle of each row


def draw_svg(
    views: Sequence[BoxView],
    labels: Sequence[Any],
    headline: str,
    here: int | None = None,
    dark: bool = False,
) -> str:
    """The boxes as SVG.

    Parameters
    ----------
    views : boxes, in the order of their numbers
    labels : class labels
    headline : str, shown above
    here : int, optional; the number of a box to mark
    dark : bool, whether its colours follow the reader's choice of light or dark; else it is light, on white
    """
    head = wrap(headline, HEADLINE_ON_PAGE if dark else HEADLINE_CHARACTERS)
    top = MARGIN + len(head) * (LINE_HEIGHT + 2) + 12
    places, width, height = _places(views, top)
    shown = [
        f'<text x="{MARGIN}" y="{MARGIN + 12 + k * (LINE_HEIGHT + 2)}">{_text(t)}</text>' for k, t in enumerate(head)
    ]
    edges = [_edge(view, k, places) for view in views for k in range(len(view.rows))]
    cards = [_draw_card(view, places[view.number], labels, view.number == here) for view in views]
    width = max(width, MARGIN * 2 + int(max(map(len, head)) * CHARACTER))
    style, sheet = CHART_STYLE + DARK_STYLE, ""
    if not dark:
        style, sheet = CHART_STYLE, f'<rect width="{width}" height="{height}" fill="#fff"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="fsgym-chart" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{_text(headline)}"><style>{style}</style>{sheet}'
        f"{''.join(shown)}{''.join(edges)}{''.join(cards)}</svg>"
    )


def _places(views: Sequence[BoxView], top: float) -> tuple[dict[int, _Place], int, int]:
    """The place of each card by its number, and the size of the drawing."""
    by_number, places, bottom = {view.number: view for view in views}, {}, top
    columns = arrange(views)
    heights = {view.number: _height(view) for view in views}
    for place, column in enumerate(columns):
        x, y = MARGIN + place * (CARD_WIDTH + COLUMN_GAP), top
        for number in column:
            first = y + TITLE_HEIGHT + _bar_height(by_number[number])
            rows = [first + (k + 0.5) * ROW_HEIGHT for k in range(len(by_number[number].rows))]
            places[number] = _Place(x, y, heights[number], rows)
            y += heights[number] + CARD_GAP
            bottom = max(bottom, y)
    width = MARGIN * 2 + max(len(columns), 1) * (CARD_WIDTH + COLUMN_GAP) - COLUMN_GAP
    return places, width, int(bottom + MARGIN)


def _bar_height(view: BoxView) -> float:
    return BAR_HEIGHT + LINE_HEIGHT + 4 if view.classes else 0


def _height(view: BoxView) -> float:
    notes = (LINE_HEIGHT + 4) * len(_notes(view))
    return TITLE_HEIGHT + _bar_height(view) + len(view.rows) * ROW_HEIGHT + notes + PADDING


def _notes(view: BoxView) -> list[str]:
    return [note for note in (view.note, view.left_out) if note]


def _edge(view: BoxView, k: int, places: dict[int, _Place]) -> str:
    """The curve from a row to the next box, if it leads to one."""
    branch = _branch_of(view, k)
    if branch is None or branch.goes_to is None:
        return ""
    start, end = places[view.number], places[branch.goes_to]
    x, y = start.x + CARD_WIDTH, start.rows[k]
    to_x, to_y = end.x, end.y + TITLE_HEIGHT / 2
    bend = max((to_x - x) / 2, 20)
    width = 1 + 4 * (branch.share or 0) * view.share
    kind = "edge" if branch.answered else "edge unknown"
    return (
        f'<path class="{kind}" stroke-width="{width:.1f}" d="M{x:.0f},{y:.0f} C{x + bend:.0f},{y:.0f} '
        f'{to_x - bend:.0f},{to_y:.0f} {to_x:.0f},{to_y:.0f}"/>'
    )


def _draw_card(view: BoxView, place: _Place, labels: Sequence[Any], marked: bool) -> str:
    x, y = place.x, place.y
    told = {"known": sorted(view.known), "unavailable": sorted(view.unavailable), "question": view.question}
    data = " ".join(f'data-{name}="{escape(json.dumps(value), quote=True)}"' for name, value in told.items())
    parts = [
        f'<g class="box{" here" if marked else ""}" id="box-{view.number}" {data}>',
        f'<rect class="card" x="{x}" y="{y:.0f}" width="{CARD_WIDTH}" height="{place.height:.0f}" rx="8"/>',
        _line(x + PADDING, y + 19, f"{view.number}. {view.question}", CARD_WIDTH - 2 * PADDING, "name"),
        _line(x + PADDING, y + 36, _about(view), CARD_WIDTH - 2 * PADDING, "soft"),
    ]
    if view.classes:
        parts += _class_bar(view, x + PADDING, y + TITLE_HEIGHT, labels)
    parts += [_draw_row(x, middle, view, k) for k, middle in enumerate(place.rows)]
    for k, note in enumerate(reversed(_notes(view))):
        bottom = y + place.height - 9 - k * (LINE_HEIGHT + 4)
        parts.append(_line(x + PADDING, bottom, note, CARD_WIDTH - 2 * PADDING, "soft"))
    return "".join([*parts, "</g>"])


def _about(view: BoxView) -> str:
    about = said("of_all_cases", about=price_range_text(view.price), share=probability_text(view.share))
    return said("unknown_names", about=about, names=", ".join(view.unavailable)) if view.unavailable else about


def _class_bar(view: BoxView, x: float, y: float, labels: Sequence[Any]) -> list[str]:
    width, parts, begin = CARD_WIDTH - 2 * PADDING, [], x
    for k, share in enumerate(view.classes):
        if share > 0:
            title = _text(share_text(labels[k], share))
            parts.append(
                f'<rect x="{begin:.1f}" y="{y:.0f}" width="{share * width:.1f}" height="{BAR_HEIGHT - 3}" '
                f'class="class{k % N_COLOURS}"><title>{title}</title></rect>'
            )
        begin += share * width
    return [*parts, _line(x, y + BAR_HEIGHT + 10, classes_text(view.classes, labels), width, "soft")]


def _branch_of(view: BoxView, k: int) -> Branch | None:
    place = view.rows[k].branch
    return None if place is None else view.branches[place]


def _draw_row(x: float, middle: float, view: BoxView, k: int) -> str:
    row, branch, left = view.rows[k], _branch_of(view, k), x + PADDING + view.rows[k].depth * INDENT
    inside = x + CARD_WIDTH - PADDING - left
    if branch is None:
        return _line(left, middle + 4, row.condition, inside, "soft")
    name, details = _ending(branch, 0.66 * inside)
    width = min(len(name) * BOLD_CHARACTER + len(details) * CHARACTER, 0.66 * inside)
    share = "" if branch.share is None else probability_text(branch.share)
    share_at = x + CARD_WIDTH - PADDING - width - 10
    full = f"{condition_words(branch)}: {branch_end_text(branch)}"
    name = _shortened(name, (width - len(details) * CHARACTER) * CHARACTER / BOLD_CHARACTER)
    return (
        f'<g><title>{_text(full)}</title><rect class="row" x="{x + 4}" y="{middle - ROW_HEIGHT / 2 + 1:.0f}" '
        f'width="{CARD_WIDTH - 8}" height="{ROW_HEIGHT - 2}" rx="4"/>'
        + _line(left, middle + 4, row.condition, share_at - left - (SHARE_WIDTH if share else 0), "")
        + f'<text class="soft" text-anchor="end" x="{share_at:.0f}" y="{middle + 4:.0f}">{_text(share)}</text>'
        f'<text text-anchor="end" x="{x + CARD_WIDTH - PADDING}" y="{middle + 4:.0f}"><tspan class="ends">{_text(name)}'
        f"</tspan>{_text(details)}</text></g>"
    )


def _ending(branch: Branch, width: float) -> tuple[str, str]:
    """Where a branch leads, in short, and as many of the details of an answer as have room beside it."""
    if branch.goes_to is not None:
        return f"{branch.goes_to} ▸", ""
    if branch.cut and branch.share is None:
        return "", said("asks_for", name=branch.cut)
    name, details = str(branch.answer), f", {said('cut')}" if branch.cut else ""
    wrong = "" if branch.wrong is None else f", {wrong_text(branch.wrong, branch.n)}"
    paid = "" if branch.paid is None else f", {paid_text(branch.paid)}"
    for more in (wrong, paid):
        if len(name) * BOLD_CHARACTER + (len(details) + len(more)) * CHARACTER > width:
            break
        details += more
    return name, details


def _line(x: float, y: float, text: str, width: float, kind: str) -> str:
    """One line of text, shortened to a width; the whole of it is its title."""
    short = _shortened(text, width)
    title = f"<title>{_text(text)}</title>" if short != text else ""
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{title}{_text(short)}</text>'


def _shortened(text: str, width: float) -> str:
    most = max(int(width / CHARACTER + 1e-6), 1)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(text: str) -> str:
    """Text for SVG: without characters that XML does not have, escaped."""
    return escape(visible(" ".join(text.split())), quote=True)
