"""What a report lets its reader play and see of a model: trajectories of test rows, and the chart of its policy."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from fsgym.columns import Columns
from fsgym.comparison.examples import beliefs_of_row
from fsgym.dataset import Dataset
from fsgym.evaluation import Evaluation
from fsgym.rules import Rules

ROWS_PLAYED = 50  # test rows of each setting
MOST_PROBABILITIES = 50_000  # of one setting in a file of results, about half a megabyte
BOXES_DRAWN = 12  # of a chart in a report


def record_of(result: Evaluation, model: Any, test: Dataset) -> dict[str, Any]:
    """What is stored of a model beside its figures, JSON values.

    Returns
    -------
    dict
        ``played``, what ``played_rows`` returns, and ``chart``, what ``chart_drawn`` returns.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a row's warning is that of its fits
        return {"played": played_rows(result, model), "chart": chart_drawn(with_names(model, result, test), test)}


def played_rows(result: Evaluation, model: Any) -> dict[str, list] | None:
    """Trajectories of test rows drawn at random, the same rows for all models.

    Returns
    -------
    dict of JSON values, or None for a model without an order or without class probabilities
        ``rows``, at most ``ROWS_PLAYED`` indices of test rows, fewer where there would be more than
        ``MOST_PROBABILITIES``; and one list entry for each of them: ``order``, its acquisitions; ``beliefs``, the class
        probabilities before the first and after each; ``answers``, class codes.
    """
    if result.trajectories is None:
        return None
    played: dict[str, list] = {"rows": [], "order": [], "beliefs": [], "answers": []}
    n_probabilities = 0
    for i in np.random.default_rng(0).permutation(result.dataset.n_samples)[:ROWS_PLAYED].tolist():
        order = result.trajectories.order[i]
        order = order[order >= 0]
        n_probabilities += (len(order) + 1) * result.dataset.n_classes
        if n_probabilities > MOST_PROBABILITIES:
            break
        beliefs = beliefs_of_row(model, result, order, i)
        if beliefs is None or np.shape(beliefs)[1] != result.dataset.n_classes or not np.isfinite(beliefs).all():
            return None
        played["rows"].append(i)
        played["order"].append(order.tolist())
        played["beliefs"].append(beliefs)
        played["answers"].append(int(result.answers[i]))
    return played if played["rows"] else None


def chart_drawn(model: Any, test: Dataset) -> str | None:
    """The chart of a policy as SVG, with shares and figures of the test rows; None for a model without a chart.

    ``chart(X, y, max_boxes=...)`` returns an object with ``to_svg()``; an agent takes the labels from its data set.
    """
    chart = getattr(model, "chart", None)
    if not callable(chart):
        return None
    labelled = callable(getattr(model, "labelled_dataset", None))  # takes columns by name
    rows = (test,) if labelled else (test.to_array(), test.classes[test.y])
    try:
        drawn: Any = chart(*rows, max_boxes=BOXES_DRAWN)
    except ValueError:  # a model that was loaded from a file without a chart
        return None
    return str(drawn.to_svg()) if callable(getattr(drawn, "to_svg", None)) else None


def with_names(model: Any, result: Evaluation, test: Dataset) -> Any:
    """A shallow copy of an agent with the columns of the data: a comparison fits it on arrays, without names.

    Any other model is returned as it is.
    """
    columns, rules = getattr(model, "columns_", None), getattr(model, "rules_", None)
    if not isinstance(columns, Columns) or not isinstance(rules, Rules):
        return model
    if columns.n_features != test.n_features or rules.groups != result.rules.groups:
        return model
    named = copy.copy(model)
    named.columns_ = test.columns.with_offsets(columns.offsets)
    named.rules_ = Rules(rules.n_features, rules.n_classes, names=result.rules.names, **rules.options())
    return named
