"""A chart as a person sees it: boxes with names, prices and shares, and branches in words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from fsgym.chart.action_tree import ANY_NUMBER, ActionTree, Limit
from fsgym.chart.boxes import Box, Structure
from fsgym.chart.ways import ChartFigures, answer_of
from fsgym.data.columns import Column, Columns
from fsgym.rules import Rules
from fsgym.session.values import number_in
from fsgym.text.messages import listing
from fsgym.text.sentences import is_range, probability_text
from fsgym.text.speech import said

# Conditions of a chart in words and signs: intervals with units, levels by name.

LEVELS_NAMED = 4  # of a category, in one condition


def condition_text(limits: tuple[Limit, ...], columns: Columns, alone: str | None = None) -> str:
    """Limits that hold together, in signs, such as "crp ≤ 12 mg/l and ward = icu"; "" if there are none.

    Parameters
    ----------
    limits : tuple of Limit
    columns : Columns
    alone : str, optional
        The name of a column that need not be named.
    """
    by_column: dict[int, list[Limit]] = {}
    for limit in limits:
        by_column.setdefault(int(columns.column_of[limit.feature]), []).append(limit)
    parts: list[str] = []
    for k, of_column in by_column.items():
        column: Column = columns[k]
        first = columns.features[k].start
        text = (
            _interval_text(of_column[0], column)
            if column.kind == "number"
            else _levels_text([limit._replace(feature=limit.feature - first) for limit in of_column], column)
        )
        if any(limit.low >= ANY_NUMBER for limit in of_column):
            text = said("has_no_value")
        elif all(limit.missing for limit in of_column):
            text = said("or_no_value", condition=text)
        parts.append(text if column.name == alone else f"{column.name} {text}")
    return reduce(lambda first, last: said("and", first=first, last=last), parts) if parts else ""


def _interval_text(limit: Limit, column: Column) -> str:
    low, high = (number_in(column, column.shortest(v)) for v in (limit.low, limit.high))
    unit = f" {column.unit}" if column.unit else ""
    if np.isinf(limit.low) and limit.high >= ANY_NUMBER:
        return said("has_value")
    if column.whole:
        text = _whole_text(limit.low + column.offset, limit.high + column.offset, column, unit)
        if text:
            return text
    if np.isinf(limit.low):
        return f"≤ {high}{unit}"
    return f"> {low}{unit}" if limit.high >= ANY_NUMBER else said("above_to", low=low, high=f"{high}{unit}")


def _whole_text(above: float, most: float, column: Column, unit: str) -> str:
    """Which whole numbers are more than ``above`` and at most ``most``, in words; "" if there are none.

    >>> count = Column("count", low=0, high=9, whole=True)
    >>> [_whole_text(a, b, count, "") for a, b in ((-np.inf, 2.5), (2.5, ANY_NUMBER), (2.5, 5), (2.5, 3), (2.2, 2.8))]
    ['at most 2', 'at least 3', '3 to 5', '= 3', '']
    >>> _whole_text(-np.inf, 0.5, count, " ng")
    '= 0 ng'
    """
    first = column.low if np.isinf(above) else np.floor(above) + 1
    last = column.high if most >= ANY_NUMBER else np.floor(most)
    if first is None or last is None or first > last:
        return ""
    low, high = number_in(column, first), number_in(column, last)
    if first == last:
        return f"= {low}{unit}"
    if np.isinf(above):
        return said("at_most", high=f"{high}{unit}")
    if most >= ANY_NUMBER:
        return said("at_least", low=f"{low}{unit}")
    return said("from_to", low=low, high=f"{high}{unit}")


def _levels_text(limits: list[Limit], column: Column) -> str:
    """Which levels of a category or bool meet the limits; their features count from 0."""
    levels: Sequence[Any] = (said("no"), said("yes")) if column.kind == "bool" else column.levels
    if len(column.feature_names) > 1:
        codes = np.eye(len(levels))
    else:
        codes = np.arange(len(levels), dtype=float)[:, None]
    met = np.ones(len(levels), bool)
    for limit in limits:
        met &= (codes[:, limit.feature] > limit.low) & (codes[:, limit.feature] <= limit.high)
    named = [str(level) for level, meets in zip(levels, met) if meets]
    others = [str(level) for level, meets in zip(levels, met) if not meets]
    if not others:
        return said("has_value")
    if len(named) == 1:
        return f"= {named[0]}"
    if len(others) == 1:
        return said("is_not", level=others[0])
    if len(others) < len(named):
        return said("is_none_of", levels=listing(others, LEVELS_NAMED))
    return said("is_one_of", levels=listing(named, LEVELS_NAMED))


class Branch(NamedTuple):
    """One way on from a box."""

    answered: bool  # false if the question has no answer
    condition: str  # "" if there is none
    share: float | None  # of the cases at the box that take it; None if the question had an answer in all of them
    goes_to: int | None  # number of the next box
    answer: Any  # label or None, the answer where it ends
    cut: str  # the acquisition that the policy would ask for where the chart answers; "" elsewhere
    wrong: float | None  # the share of wrong answers among the cases that end here; None for a numeric target
    n: int  # the cases of a class that take it
    paid: tuple[float, float] | None  # the smallest and largest total price of the cases that take it


class Row(NamedTuple):
    """A line of a box: a condition, indented below one that holds, too."""

    depth: int  # from 0
    condition: str
    branch: int | None  # the index of the branch that it completes; None where further conditions follow


class BoxView(NamedTuple):
    """One box."""

    number: int  # from 1
    known: tuple[str, ...]  # acquisitions
    unavailable: tuple[str, ...]  # acquisitions
    question: str
    price: tuple[float, float]  # the smallest and largest price of the question
    share: float  # of all cases
    classes: tuple[float, ...]  # shares of the classes at the box; empty if classes are not given
    branches: tuple[Branch, ...]  # the last for an answer that is unknown; none where every case brings one
    rows: tuple[Row, ...]  # the conditions of the branches in their order, as a person reads them
    note: str  # how far the conditions imitate the policy; "" where they are its own
    left_out: str  # how many branches have no row, since no case takes them; "" if all have one


class ChartTerms(NamedTuple):
    """The rules, columns and class labels of the model, in the order of the user; of a numeric target the ranges."""

    rules: Rules
    columns: Columns
    labels: Sequence[Any]

    @property
    def answers(self) -> list[Any]:
        """What the model can answer; ranges as texts."""
        labels = [str(label) if is_range(label) else label for label in self.labels]
        return self.rules.answer_labels(labels).tolist()


def views_of(structure: Structure, figures: ChartFigures, terms: ChartTerms, n_boxes: int) -> list[BoxView]:
    """The first boxes of a chart."""
    return [_BoxDescriber(structure, figures, terms, n_boxes).view(k) for k in range(n_boxes)]


class _BoxDescriber:
    def __init__(self, structure: Structure, figures: ChartFigures, terms: ChartTerms, n_boxes: int) -> None:
        self.structure, self.figures, self.terms, self.n_boxes = structure, figures, terms, n_boxes

    def view(self, k: int) -> BoxView:
        box, names = self.structure.boxes[k], self.terms.rules.names
        arrived = self.figures.arrivals.get(k, np.zeros(self.terms.rules.n_classes + 1, np.int64))
        n, n_classes = int(arrived.sum()), int(arrived[:-1].sum())
        branches = self._branches(k, box, True, n)
        rows = self._rows(k, box, True, 0)
        is_lacking = any((place, brought) == (k, False) for place, brought, _ in self.figures.branches)
        if is_lacking or box.question not in self.terms.rules.always_known:
            rows += self._rows(k, box, False, len(branches))
            branches += self._branches(k, box, False, n)
        n_left_out = len(branches) - sum(row.branch is not None for row in rows)
        listed = float(self.terms.rules.costs[box.question])
        return BoxView(
            k + 1,
            tuple(names[j] for j in box.known),
            tuple(names[j] for j in box.unavailable),
            names[box.question],
            self.figures.price.get(k, (listed, listed)),
            n / max(self.figures.n, 1),
            tuple((arrived[:-1] / n_classes).tolist()) if n_classes else (),
            tuple(branches),
            tuple(rows),
            _imitation_note(box.answered),
            said("rows_left_out", n=n_left_out) if n_left_out else "",
        )

    def _branches(self, k: int, box: Box, answered: bool, n: int) -> list[Branch]:
        choice, rules = box.choice(answered), self.terms.rules
        alone = self._column_alone(box, choice)
        described, nothing = [], (np.zeros(rules.n_classes + 1, np.int64), None)
        for leaf, limits in self._limits(box, choice, answered).items():
            classes, paid = self.figures.branches.get((k, answered, leaf), nothing)
            n_taken, n_classes = int(classes.sum()), int(classes[:-1].sum())
            place, action = self.structure.after(box, answered, leaf), int(choice.action[leaf])
            goes_to = None if place is None or place >= self.n_boxes else place + 1
            code = None if goes_to is not None else answer_of(self.structure, rules, k, answered, leaf)
            can_be_wrong = code != rules.n_classes and not any(map(is_range, self.terms.labels))
            described.append(
                Branch(
                    answered,
                    condition_text(limits, self.terms.columns, alone),
                    n_taken / n if n_taken and n else (0.0 if answered else None),
                    goes_to,
                    None if code is None else self.terms.answers[code],
                    rules.names[action] if code is not None and action < rules.n_acquisitions else "",
                    1.0 - float(classes[code] / n_classes) if n_classes and can_be_wrong and code is not None else None,
                    n_classes,
                    paid,
                )
            )
        return described

    def _with_value(self, box: Box, answered: bool) -> set[int]:
        """The columns that have a value in each case at the box, since nothing else was asked for with them."""
        column_of, groups = self.terms.columns.column_of, self.terms.rules.groups
        acquired = (*box.known, box.question) if answered else box.known
        columns = [set(column_of[list(groups[j])].tolist()) for j in acquired]
        return {min(asked) for asked in columns if len(asked) == 1}

    def _limits(self, box: Box, choice: ActionTree, answered: bool) -> dict[int, tuple[Limit, ...]]:
        with_value = self._with_value(box, answered)
        return {leaf: tuple(self._left(k, with_value) for k in limits) for leaf, limits in choice.limits().items()}

    def _left(self, limit: Limit, with_value: set[int]) -> Limit:
        """The limit, less the cases without a value where the column has one."""
        has_value = int(self.terms.columns.column_of[limit.feature]) in with_value
        return limit._replace(missing=limit.missing and not has_value)

    def _column_alone(self, box: Box, choice: ActionTree) -> str | None:
        """The name of the column asked for, if the question has one column and nothing else decides."""
        column_of = self.terms.columns.column_of
        asked = set(column_of[list(self.terms.rules.groups[box.question])].tolist())
        compared = set(column_of[choice.feature[choice.feature >= 0]].tolist())
        return self.terms.columns[min(asked)].name if len(asked) == 1 and compared <= asked else None

    def _rows(self, k: int, box: Box, answered: bool, first: int) -> list[Row]:
        """The lines of the branches, which are numbered from ``first`` on; nested where several columns decide.

        Branches that no case takes have none, unless that is all of them.
        """
        choice, columns = box.choice(answered), self.terms.columns
        limits, alone = self._limits(box, choice, answered), self._column_alone(box, choice)
        number = {leaf: first + k for k, leaf in enumerate(limits)}
        start = "" if answered else said("unknown")
        if not answered and len(limits) == 1 and choice.agreement < 1:
            start = said("unknown_mostly")
        taken = [leaf for leaf in limits if (k, answered, leaf) in self.figures.branches] or list(limits)
        if len(limits) == 1:
            return [Row(0, start or said("any_value"), first)]
        n_columns = len(set(columns.column_of[choice.feature[choice.feature >= 0]].tolist()))
        if n_columns == 1 and answered:
            return [Row(0, condition_text(limits[leaf], columns, alone), number[leaf]) for leaf in taken]
        deeper = 0 if answered else 1
        rows = [] if answered else [Row(0, start, None)]
        shown = np.isin(np.arange(len(choice.feature)), taken)
        for node in np.flatnonzero(choice.feature >= 0)[::-1]:  # each leads to later ones
            shown[node] = shown[choice.left[node]] or shown[choice.right[node]]
        with_value = [self._with_value(box, answered)]  # by depth, as the lines above say
        for depth, node, limit in choice.splits():
            known = with_value[depth]
            with_value[depth + 1 :] = [known if limit.missing else known | {int(columns.column_of[limit.feature])}]
            if shown[node]:
                text = condition_text((self._left(limit, known),), columns, alone)
                rows.append(Row(depth + deeper, text, number.get(node)))
        return rows


def _imitation_note(choice: ActionTree) -> str:
    if choice.exact or ((choice.feature < 0).all() and choice.agreement == 1):
        return ""
    if choice.agreement == 1:
        return said("simplified_all")
    return said("simplified", share=probability_text(choice.agreement))
