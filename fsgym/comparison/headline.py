"""The table of methods that the terminal and the report show: each method at its chosen settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from fsgym.comparison.answer import MOST_CLASSES, cost_text, interval_text
from fsgym.comparison.ranking import Ranking, Standing, is_within_noise
from fsgym.comparison.summary import mean_text
from fsgym.metrics import ALL_LABELS


class HeadlineRow(NamedTuple):
    """A method in the table; ``note`` says what speaks against it, "" for nothing."""

    standing: Standing
    cells: list[str]
    note: str


class HeadlineTable(NamedTuple):
    """Headings of the columns but the first, and one row per method."""

    headings: list[str]
    rows: list[HeadlineRow]


def headline_table(ranking: Ranking, short: bool = False) -> HeadlineTable:
    """The methods at the ranking's lambda; where ``short``, it fits into 80 columns."""
    columns = _cost_columns(ranking) if ranking.has_error_costs else _accuracy_columns(ranking, short)
    if not short:
        columns["from best"] = partial(_difference_from_best, ranking)
    used = f"{ranking.unit} used" if ranking.counted == "n_features" else ranking.unit
    columns[used] = lambda s: mean_text(s.figures, ranking.counted, 1, short)
    if ranking.has_prices and not ranking.has_error_costs:
        columns["price paid"] = lambda s: mean_text(s.figures, "spent", 2, short)
    cells = {s.method: [cell(s) for cell in columns.values()] for s in ranking.standings}
    filled = [k for k in range(len(columns)) if any(row[k] != "–" for row in cells.values())]
    return HeadlineTable(
        [list(columns)[k] for k in filled],
        [HeadlineRow(s, [cells[s.method][k] for k in filled], _note(s)) for s in ranking.standings],
    )


def _note(standing: Standing) -> str:
    illegal = standing.figures.get("illegal", 0.0)
    if illegal > 0:
        ends = f"ends {100 * illegal:.3g} % of the cases with an illegal action"
        return f"{standing.flag}; {ends}" if standing.flag else ends
    if standing.flag or not standing.settings_left_out:
        return standing.flag
    many = "1 setting breaks" if standing.settings_left_out == 1 else f"{standing.settings_left_out} settings break"
    return f"{many} the rules and cannot be chosen"


def _difference_from_best(ranking: Ranking, standing: Standing) -> str:
    """Whether a method differs from the best one by more than noise."""
    best = ranking.best
    if best is None or standing.method == best.method or not standing.eligible:
        return "–"
    return {None: "unknown", True: "noise", False: "higher"}[is_within_noise(best, standing)]


def _cost_columns(ranking: Ranking) -> dict[str, Callable[[Standing], str]]:
    columns: dict[str, Callable[[Standing], str]] = {
        "cost per case": partial(_cost_cell, ranking, "loss"),
        "95 % interval": lambda s: interval_text(ranking, s, "–") or "–",
        "for prices": partial(_cost_cell, ranking, "acquisition_cost"),
        "for errors": partial(_cost_cell, ranking, "error_cost"),
    }
    labels = next((list(s.shares["recall"]) for s in ranking.standings if s.shares["recall"]), [])
    if len(labels) <= MOST_CLASSES:
        columns |= {f"finds {label}": partial(_recall_cell, label) for label in labels}
    return columns


def _cost_cell(ranking: Ranking, name: str, standing: Standing) -> str:
    value = standing.figures[name]
    return "–" if math.isnan(value) else cost_text(ranking, value)


def _recall_cell(label: str, standing: Standing) -> str:
    share = standing.shares["recall"].get(label)
    return "–" if share is None else f"{100 * share:.0f} %"


def _accuracy_columns(ranking: Ranking, short: bool) -> dict[str, Callable[[Standing], str]]:
    names = ["loss", "accuracy", *(("balanced_accuracy", "auc") if ranking.imbalanced else ())]
    return {ALL_LABELS[name]: partial(_figure_cell, name, short) for name in names}


def _figure_cell(name: str, short: bool, standing: Standing) -> str:
    return mean_text(standing.figures, name, 3, short) if name in standing.figures else "–"
