"""The chart of a model from some rows, and in model files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.chart.action_tree import ActionTree
from fsgym.chart.boxes import MAX_BOXES, Box, Structure
from fsgym.chart.imitation import invented_rows
from fsgym.chart.ways import MAX_CASES_OF_WAY, Way, ways_of
from fsgym.rules import Rules
from fsgym.session.asked_cases import ask_cases
from fsgym.session.asked_model import AskedModel

MIN_USED = 2500  # rows from which boxes are made; some are invented if there are less
SHARE_TOLERANCE = 1e-6  # of the sum of shares in a model file
MEASURED_SHARE = 0.25  # of these rows, by which it is measured


class MeasuredChart(NamedTuple):
    """All boxes of a model's chart, and the ways of rows through it from which it was not made.

    ``calibration``: the rows are those of ``calibrate``, on which the policy was not trained.
    """

    structure: Structure
    ways: list[Way]
    calibration: bool = False


def measured_chart(model: AskedModel, X: NDArray[np.float32], y: NDArray[np.int64]) -> MeasuredChart:
    """The chart of a model: made from three quarters of some rows, and measured by the others."""
    columns, measured = model.acquisitions_.columns, np.zeros(len(X), bool)
    n_measured = int(MEASURED_SHARE * len(X))
    measured[np.random.default_rng(1).choice(len(X), n_measured, replace=False)] = True
    n_invented = max(MIN_USED - int((~measured).sum()), 0)
    used, codes = X[~measured], y[~measured]
    if n_invented and len(used):
        used = np.concatenate([used, invented_rows(used, n_invented, columns)])
        codes = np.concatenate([codes, np.full(n_invented, -1)])
    structure = Structure.from_cases(model, used, codes, ask_cases(model, used), columns)
    X, y = X[measured], y[measured]
    return MeasuredChart(structure, ways_of(structure, model.acquisitions_.rules, X, y, ask_cases(model, X)))


def chart_as_json(chart: MeasuredChart) -> dict[str, Any]:
    """A chart for the header of a model file."""
    boxes = []
    for box in chart.structure.boxes:
        shares = [[flag, leaf, list(values)] for (flag, leaf), values in box.shares.items()]
        plain: dict[str, Any] = {"known": list(box.known), "unavailable": list(box.unavailable)}
        choices = {"answered": box.answered.to_json(), "unknown": box.unknown.to_json()}
        boxes.append(plain | {"question": box.question, **choices, "shares": shares, "n_cases": box.n_cases})
    plain = {"first": chart.structure.first, "boxes": boxes, "ways": [way.to_json() for way in chart.ways]}
    return plain | ({"calibration": True} if chart.calibration else {})


def chart_from_json(plain: Mapping[str, Any], rules: Rules) -> MeasuredChart:
    """The chart from ``chart_as_json``; KeyError, ValueError or TypeError if it is damaged."""
    first = plain["first"]
    if type(first) is not int or not 0 <= first < rules.n_actions:
        raise ValueError("the chart must begin with an action of the model")
    if len(plain["boxes"]) > MAX_BOXES:
        raise ValueError(f"a chart must have at most {MAX_BOXES} boxes, got {len(plain['boxes'])}")
    structure = Structure([_read_box(entry, rules) for entry in plain["boxes"]], first)
    if (first < rules.n_acquisitions) != bool(structure.boxes):
        raise ValueError("a chart that begins with a question must have boxes")
    if structure.boxes and structure.find((), (), first) != 0:
        raise ValueError("the first box of a chart must be its first question, before anything is known")
    if any(structure.find(b.known, b.unavailable, b.question) != k for k, b in enumerate(structure.boxes)):
        raise ValueError("the boxes of a chart must be different, with their acquisitions in rising order")
    ways = [Way.from_json(way, structure, rules) for way in plain["ways"]]
    return MeasuredChart(structure, ways, plain.get("calibration") is True)


def _read_box(plain: Mapping[str, Any], rules: Rules) -> Box:
    J, n_features = rules.n_acquisitions, rules.n_features
    known, unavailable, question, n_cases = (plain[k] for k in ("known", "unavailable", "question", "n_cases"))
    everything = [*known, *unavailable, question]
    if not all(type(j) is int and 0 <= j < J for j in everything) or len(set(everything)) != len(everything):
        raise ValueError("a box must have different acquisitions of the model")
    if type(n_cases) is not int or not 0 <= n_cases <= MAX_CASES_OF_WAY:
        raise ValueError(f"a box must say from how many cases it was made, at most {MAX_CASES_OF_WAY}")
    answered, unknown = (ActionTree.from_json(plain[k], n_features, rules.n_actions) for k in ("answered", "unknown"))
    shares: dict[tuple[bool, int], tuple[float, ...]] = {}
    for flag, leaf, values in plain["shares"]:
        if not isinstance(flag, bool) or type(leaf) is not int or len(values) != rules.n_classes:
            raise ValueError("a box must have a share for each class")
        shares[flag, leaf] = tuple(map(float, values))
        if (
            not all(0 <= share <= 1 for share in shares[flag, leaf])
            or abs(sum(shares[flag, leaf]) - 1) > SHARE_TOLERANCE
        ):
            raise ValueError("the shares of the classes in a box must be from 0 to 1, and add up to 1")
    ways_on = {
        (flag, k) for flag, c in ((True, answered), (False, unknown)) for k in np.flatnonzero(c.feature < 0).tolist()
    }
    if shares.keys() != ways_on:
        raise ValueError("a box must have the shares of the classes for each way on, and for no other")
    return Box(tuple(known), tuple(unavailable), question, answered, unknown, shares, n_cases)
