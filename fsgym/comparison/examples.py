"""What a report shows of a fitted model beside its figures: single test rows, cases to play, and its chart.

Of a row it shows the acquisitions, what was believed after each, and what they cost.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fsgym.data.columns import Columns
from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import price_steps, revealed_values
from fsgym.evaluation.evaluate import Evaluation, error_costs_of, in_values_of
from fsgym.rules import Rules
from fsgym.session.held_out import shown_chart
from fsgym.text.messages import as_command

N_EXAMPLES = 6  # test rows that the report shows of each method, apart from those of classes and errors
FEW_CLASSES = 3  # of each of which a correctly classified row is shown
ROWS_PLAYED = 50  # test rows of each setting
MAX_PROBABILITIES = 50_000  # of one setting in a file of results, about half a megabyte
BOXES_DRAWN = 12  # of a chart in a report, if so many are enough
OF_CHART = "after fsgym train: fsgym chart MODEL"  # the command that has the options of a chart; a comparison has none


def finite_or_none(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures with None in place of NaN and infinity, which JSON does not have."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in figures.items()}


def usage_as_json(shares: Sequence[float], names: Sequence[str]) -> str:
    """The share of rows that use each acquisition, by name, in four digits; those that no row uses are left out.

    >>> usage_as_json([0.5, 0.0, 2 / 3], ["age", "crp", "ward"])
    '{"age": 0.5, "ward": 0.6667}'
    """
    used = {name: float(f"{share:.4g}") for name, share in zip(names, shares, strict=True) if share > 0}
    return json.dumps(used, ensure_ascii=False)


def first_columns(result: Evaluation) -> dict[str, str | None]:
    """Columns of the results, as JSON objects by name of the acquisition; None for methods without an order.

    ``first`` has the share of test rows whose first acquisition it was, ``first_paid`` that of rows whose first
    acquisition that cost anything it was.
    """
    if result.trajectories is None:
        return {"first": None, "first_paid": None}
    rules, order = result.rules, result.trajectories.order
    firsts = {"first": order[:, :1], "first_paid": _first_paid(rules, cast(Dataset, result.dataset), order)}
    counts = {name: np.bincount(f[f >= 0], minlength=rules.n_acquisitions) for name, f in firsts.items()}
    return {name: usage_as_json((n / len(order)).tolist(), rules.names) for name, n in counts.items()}


def _first_paid(rules: Rules, dataset: Dataset, order: NDArray[np.int32]) -> NDArray[np.int32]:
    """The first acquisition of each row that costs anything, int32 (n_samples,); -1 where there is none."""
    if not order.shape[1]:
        return np.full(len(order), -1, np.int32)
    paid = price_steps(rules, dataset.X, order, dataset.case_costs) > 0
    return np.where(paid.any(axis=1), order[np.arange(len(order)), paid.argmax(axis=1)], -1)


def examples_of_rows(result: Evaluation, dataset: Dataset, model: Any) -> list[dict[str, Any]]:
    """Test rows at even ranks from the fewest to the most acquisitions; of few classes, correct ones of each class.

    At least one misclassified row is among them if there is any. Values are those of ``dataset``, in its units; those
    of ``result`` may be scaled for the model.
    """
    assert result.trajectories is not None
    lengths = result.trajectories.lengths
    ranked = np.argsort(lengths, kind="stable")
    correct = result.answers == result.dataset.y
    candidates = _evenly_spaced(ranked.tolist(), 4 * N_EXAMPLES)
    paths = {(*result.trajectories.order[i].tolist(), result.answers[i]): i for i in candidates}
    chosen = _evenly_spaced(list(paths.values()), N_EXAMPLES)  # without cases that differ in their values only
    wanted = [~correct]
    if dataset.n_classes <= FEW_CLASSES:
        wanted += [correct & (result.dataset.y == k) for k in range(dataset.n_classes)]
    for rows in wanted:
        others = ranked[rows[ranked]]
        if len(others) and not rows[chosen].any():
            chosen.append(int(others[len(others) // 2]))
    examples = []
    for i in sorted(chosen, key=lambda i: lengths[i]):
        order = result.trajectories.order[i, : lengths[i]]
        number = None if result.predicted is None else float(result.predicted[i])
        case = case_of(result.rules, dataset, i, order, int(result.answers[i]), number)
        examples.append(case | {"beliefs": beliefs_of_row(model, result, order, i)})
    return examples


def _evenly_spaced(rows: list[int], n: int) -> list[int]:
    """At most ``n`` of the rows, at even distances, the first and the last among them."""
    return [rows[k] for k in dict.fromkeys(np.linspace(0, len(rows) - 1, n).astype(int).tolist())]


def class_names(dataset: Dataset) -> list[str]:
    """The classes in words; of a numeric target the ranges of its bins."""
    return [str(label) for label in dataset.class_labels]


def case_of(
    rules: Rules, dataset: Dataset, i: int, order: NDArray[np.int32], answer: int, number: float | None = None
) -> dict[str, Any]:
    """Row ``i``: its acquisitions in their order, with values and prices; its answer, a class code, and its costs.

    ``number`` is the answer to a numeric target, by default that of the bin. Of such a target the answer and the truth
    are numbers, each with the range of its bin, and an answer in the right bin is ``correct``.
    """
    row, names = dataset.rows([i]), dataset.feature_names
    prices = price_steps(rules, row.X, order[None], row.case_costs)[0]
    given = None if number is None else np.array([number])
    errors, predicted = error_costs_of(row, rules, np.array([answer]), given)
    paid, error_cost = float(prices.sum()), float(errors[0])
    labels = class_names(dataset)
    said, truth = labels[answer], labels[row.y[0]]
    if row.bins is not None and row.numbers is not None and predicted is not None:
        said = f"{row.bins.number_text(predicted[0])} ({said})"
        truth = f"{row.bins.number_text(row.numbers[0])} ({truth})"
    return {
        "steps": [
            {
                "name": rules.names[j],
                "values": [*finite_or_none({names[f]: float(dataset.X[i, f]) for f in rules.groups[j]}).items()],
                "price": float(price),
            }
            for j, price in zip(order, prices)
        ],
        "paid": paid,
        "error_cost": error_cost,
        "cost": rules.lam * paid + error_cost,
        "answer": said,
        "true_class": truth,
        "correct": bool(answer == row.y[0]),
    }


def beliefs_of_row(model: Any, result: Evaluation, order: NDArray[np.int32], i: int) -> list[list[float]] | None:
    """Class probabilities of row ``i``, six decimals, before the first acquisition and after each; None if unknown."""
    probabilities_at = getattr(model, "probabilities_at", None)
    if not callable(probabilities_at):
        return None
    acquired = np.zeros((len(order) + 1, result.dataset.n_features), dtype=bool)
    for step, j in enumerate(order.tolist()):
        acquired[step + 1 :, list(result.rules.groups[j])] = True
    rows = cast(Dataset, result.dataset).rows(np.full(len(acquired), i))
    labelled = callable(getattr(model, "labelled_dataset", None))  # takes columns by name
    probabilities: Any = probabilities_at(rows if labelled else rows.X, acquired & ~np.isnan(rows.X))
    return None if probabilities is None else np.asarray(probabilities, float).round(6).tolist()


def with_units(examples: list[dict[str, Any]], dataset: Dataset) -> list[dict[str, Any]]:
    """The examples with the names and values, with units, of the columns in place of those of features."""
    return [
        example | {"steps": [s | {"values": _values_with_units(s["values"], dataset)} for s in example["steps"]]}
        for example in examples
    ]


def _values_with_units(values: list[tuple[str, float | None]], dataset: Dataset) -> list[tuple[str, str]]:
    features = [dataset.feature_names.index(name) for name, _ in values]
    row = np.full(dataset.n_features, np.nan, np.float32)
    row[features] = [np.nan if value is None else value for _, value in values]
    return revealed_values(row, features, dataset.columns)


def explanation_of(result: Evaluation, model: Any, test: Dataset, charted: bool) -> dict[str, Any]:
    """What is stored of a model beside its figures, for a report: JSON values of three functions, by name.

    A model that was trained before may have other bins of a numeric target than the comparison: its examples have no
    beliefs, and none of its rows is played, as a report has one list of bins.
    """
    if callable(
        getattr(model, "labelled_dataset", None)
    ):  # which may take ``test``, and not the rows that it was shown
        rows = in_values_of(model, cast(Dataset, result.dataset), test)
        result = replace(result, dataset=model.labelled_dataset(rows))
    own = cast(Dataset, result.dataset).bins
    is_other = own is not None and test.bins is not None and own.to_json() != test.bins.to_json()
    test = test.replace(bins=own) if is_other else test
    with warnings.catch_warnings(action="ignore"):  # a row's warning is that of its fits
        examples = examples_of_rows(result, test, model)
        return {
            "examples": [example | {"beliefs": None} for example in examples] if is_other else examples,
            "played": None if is_other else played_rows(result, model),
            **(chart_drawn(with_names(model, result, test), test) if charted else {}),
        }


def played_rows(result: Evaluation, model: Any) -> dict[str, list] | None:
    """Trajectories of test rows drawn at random, the same for all models; None without order or class probabilities.

    ``rows`` has at most ``ROWS_PLAYED`` indices of test rows, fewer where there would be more than
    ``MAX_PROBABILITIES``; and for each of them ``order`` has its acquisitions, ``beliefs`` the class probabilities
    before the first and after each, and ``answers`` its class code.
    """
    if result.trajectories is None:
        return None
    played: dict[str, list] = {"rows": [], "order": [], "beliefs": [], "answers": []}
    n_probabilities = 0
    for i in np.random.default_rng(0).permutation(result.dataset.n_samples)[:ROWS_PLAYED].tolist():
        order = result.trajectories.order[i]
        order = order[order >= 0]
        n_probabilities += (len(order) + 1) * result.dataset.n_classes
        if n_probabilities > MAX_PROBABILITIES:
            break
        beliefs = beliefs_of_row(model, result, order, i)
        if beliefs is None or np.shape(beliefs)[1] != result.dataset.n_classes or not np.isfinite(beliefs).all():
            return None
        played["rows"].append(i)
        played["order"].append(order.tolist())
        played["beliefs"].append(beliefs)
        played["answers"].append(int(result.answers[i]))
    return played if played["rows"] else None


def chart_drawn(model: Any, test: Dataset) -> dict[str, str]:
    """The ``chart`` of a policy as SVG, with shares and figures of the test rows; none for a model without a chart.

    ``chart(X, y, max_boxes=...)`` returns an object with ``to_svg()``; an agent takes the labels from its data set. It
    has enough boxes to pay. ``chart_caution`` is its warning, "" if there is none.
    """
    labelled = callable(getattr(model, "labelled_dataset", None))  # takes columns by name
    rows = (test,) if labelled else (test.to_array(), test.classes[test.y])
    with as_command(OF_CHART):
        drawn = shown_chart(model, *rows, max_boxes=BOXES_DRAWN)
        if not callable(getattr(drawn, "to_svg", None)):
            return {}
        return {"chart": str(drawn.to_svg()), "chart_caution": str(getattr(drawn, "caution", ""))}


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
    names, classes = result.rules.names, result.rules.classes
    named.rules_ = Rules(rules.n_features, rules.n_classes, names=names, classes=classes, **rules.options())
    return named
