"""Evaluations as the commands ``train`` and ``evaluate`` print them: in words, as a table, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fsgym.cli.terminal import show
from fsgym.evaluation.result import sentence_case
from fsgym.metrics import ALL_LABELS, DIAGNOSTIC_LABELS, FIGURE_LABELS, PROBABILITY_FIGURES, short_number
from fsgym.text.messages import listing, one_line, visible_json

if TYPE_CHECKING:
    from fsgym.evaluation.evaluate import Evaluation

SHOWN_FIGURES = (*FIGURE_LABELS, "loss_low", "loss_high", *PROBABILITY_FIGURES)
CLASSES_PRINTED = 8  # of more than two, with recall and precision; --json has all
LABEL_WIDTH, CELL_WIDTH = 28, 10


def print_json(values: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    print(visible_json(json.dumps(values, ensure_ascii=False, allow_nan=False, default=str)))


def print_evaluations(results: Mapping[str, Evaluation]) -> None:
    """Print the figures to decide by, those of the last evaluation, then all figures, a column for each evaluation."""
    title, last = list(results.items())[-1]
    show(f"{sentence_case(title)}: {headline_sentence(last)}")
    _print_row("", [*results] if len(results) > 1 else [])
    undefined = []
    for label, values in _lines([*results.values()]):
        if any(value == value for value in values):
            _print_row(label, [f"{value:.4f}" if value == value else "-" for value in values])
        else:
            undefined.append(label)
    rules = last.rules
    if rules.lam not in (0.0, 1.0) and (rules.costs != 1.0).any():
        per_case = short_number(last.loss / rules.lam)
        show(f"  The loss / lambda is {per_case}: the cost per case in the unit of the prices, errors included")
    absent = [str(c) for k, c in enumerate(last.dataset.classes) if k not in last.dataset.y]
    if absent and undefined and len(results) == 1 and last.probabilities is not None:
        show(f"  Not defined for these rows: {', '.join(undefined)}; none is of class {listing(absent, 3)}")
    n_classes = last.dataset.n_classes
    if n_classes > max(2, CLASSES_PRINTED):
        show(f"  Recall and precision of the other {n_classes - CLASSES_PRINTED} classes: --json")


def headline_sentence(result: Evaluation) -> str:
    """The figures to decide by in words; if they are costs, with that of 1,000 cases and that of acquiring nothing."""
    text = result.headline_text()
    if "loss" not in result.headline:
        return text
    answer, cost = cost_of_one_answer(result)
    nothing = f"with nothing acquired and the answer always {answer} it would be {short_number(cost)} per case"
    return f"{text}, {short_number(result.cost_per_1000.mean)} per 1,000 cases; {nothing}"


def cost_of_one_answer(result: Evaluation) -> tuple[str, float]:
    """The one answer that costs least on these rows if nothing is acquired, and its cost per case."""
    costs = result.rules.error_costs[:, result.dataset.y].mean(axis=1)
    return one_line(str(result.dataset.classes[costs.argmin()]), 40), float(costs.min())


def _lines(results: Sequence[Evaluation]) -> Iterator[tuple[str, list[float]]]:
    """Labels and values of the rows of the table; ``positive`` is the same class in all columns."""
    for name in SHOWN_FIGURES:
        yield ALL_LABELS[name], [getattr(result, name) for result in results]
    classes, positive = results[0].dataset.classes, results[0].positive_class
    if positive is not None:
        labels = [one_line(str(classes[k]), 14) for k in (positive, 1 - positive)]
        for name, label in zip(DIAGNOSTIC_LABELS, labels * 2):
            yield f"{DIAGNOSTIC_LABELS[name]} ({label})", [result.diagnostics_of(positive)[name] for result in results]
        return
    tables = [result.by_class for result in results]
    for k, label in enumerate(classes[:CLASSES_PRINTED]):
        for name in ("recall", "precision"):
            yield f"{name} of {one_line(str(label), 14)}", [float(table[name].iloc[k]) for table in tables]


def _print_row(label: str, cells: Sequence[str]) -> None:
    line = f"  {label:<{LABEL_WIDTH}}" + "".join(f"{cell:>{CELL_WIDTH}}" for cell in cells)
    if line.strip():
        show(line.rstrip())
