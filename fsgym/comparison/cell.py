"""What the tasks of a comparison compute: settings of a method, fitted, evaluated and reduced to plain numbers."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fsgym.comparison import fitting
from fsgym.comparison.examples import examples_of_rows, first_columns, record_of
from fsgym.comparison.policies import PolicyFactory, as_in_training, caution_of, scaled_by, training_origin
from fsgym.comparison.splits import OfficialSplit, Split
from fsgym.data.dataset import Dataset
from fsgym.evaluation.evaluate import Evaluation, evaluate
from fsgym.metrics import class_precisions, class_recalls
from fsgym.rules import Rules
from fsgym.runner.results import count, list_of, optional, record, returns, share
from fsgym.support.threads import one_thread

# As tasks name them: they enter the keys of stored results.
CELL_FUNCTION, TESTED_CELL_FUNCTION = (f"fsgym.comparison.cell:{name}" for name in ("run_cell", "run_tested_cell"))

REFIT_FIGURES = ("n_features", "n_acquisitions", "spent")  # need no labels

VALIDATION_CHECKS = {f"validation_{name}": check for name, check in fitting.FIGURE_CHECKS.items()}
TEST_CHECKS = {**fitting.FIGURE_CHECKS, "n_train": count, "n_test": count}
ACQUISITION_CHECKS = {"histogram": list_of(count), "usage": list_of(share)}
CELL_RESULT = record(
    row=record(**TEST_CHECKS, **VALIDATION_CHECKS),
    **ACQUISITION_CHECKS,
    examples=optional(list_of(record())),
    reliability=list_of(record(certainty=share, correct=share, rows=count)),
)


def evaluate_trained(
    policy: Any, dataset: Dataset, rules: Rules, split: Split | OfficialSplit, explained: bool
) -> dict[str, Any]:
    """A cell of ``run_cell`` for a policy that was trained before, on values as in its training."""
    with one_thread():
        origin, test = training_origin(policy), split.divide(dataset)[1]
        fit, shown = lambda part: [policy], lambda part, train: as_in_training(part, origin)
        (figures,) = _fit_and_validate(fit, dataset, rules, split, explained, shown)
        seen = None if origin is None else test.origin.share_in(origin)
        figures["row"] |= {"seen": seen, "warning": caution_of(seen, policy) or figures["row"].get("warning")}
        return figures


@returns(record(cells=list_of(CELL_RESULT)))
def run_cell(
    *,
    dataset: Dataset,
    rules: Rules,
    candidate: Any,
    lams: list[float] | None,
    seed: int,
    split: Split | OfficialSplit,
    explained: bool,
) -> dict[str, Any]:
    """Fit a setting twice and evaluate it: on the validation part and on the test part.

    Validation figures are measured after a fit on the other rows of the training part, test figures after a fit on the
    whole training part. With ``lams`` this is done for each of these values of ``lam``, by the candidate's method
    ``path``, which shares work between them.

    Returns
    -------
    dict with ``cells``, for each setting a dict of JSON values: ``row``, figures by name; ``histogram``, ``usage``,
    ``reliability``, ``examples`` and, if the cell is ``explained`` and its method has an order, ``played`` and
    ``chart`` as in ``Outcome``
    """

    def fit(part: Dataset) -> Sequence[Any]:
        return fitting.fit_settings(part, [candidate], rules, seed, lams)

    shown = scaled_by if isinstance(candidate, PolicyFactory) else lambda part, train: part
    return {"cells": _fit_and_validate(fit, dataset, rules, split, explained, shown)}


@returns(record(**TEST_CHECKS, **ACQUISITION_CHECKS, chance=share, wrong=list_of(count)))
def run_tested_cell(
    *, dataset: Dataset, rules: Rules, candidate: Any, seed: int, split: Split | OfficialSplit
) -> dict[str, Any]:
    """Fit a setting on the training part and evaluate it on the test part; nothing is held out for validation.

    Returns JSON values: ``Evaluation.FIGURES``, n_train, n_test, ``histogram`` and ``usage`` as in ``Outcome``, the
    first ``warning``, and what ``curve_figures`` returns.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train, test = split.divide(dataset)
        model = fitting.fit_on(train, candidate, rules, seed)
        result = evaluate(model, test, rules)
    figures = (
        _test_figures(result, train) | fitting.acquisition_figures(result) | fitting.curve_figures(result, model, train)
    )
    return figures | {"warning": fitting.first_warning(caught)}


def _fit_and_validate(
    fit: Callable[[Dataset], Sequence[Any]],
    dataset: Dataset,
    rules: Rules,
    split: Split | OfficialSplit,
    explained: bool,
    shown: Callable[[Dataset, Dataset], Dataset],
) -> list[dict[str, Any]]:
    """Figures of the policies that ``fit`` returns for a part of the data, each with the first warning of all fits.

    ``shown(part, train)`` returns the rows to evaluate on as the policies that were fitted on ``train`` take them.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train, part, validation, test = split.parts(dataset)
        held_out = shown(validation, part)
        validated = [evaluate(model, held_out, rules) for model in fit(part)]
        shown_test, models = shown(test, train), fit(train)
        tested = [evaluate(model, shown_test, rules) for model in models]
        cells = []
        for before, model, result in zip(validated, models, tested, strict=True):
            row = {f"validation_{k}": v for k, v in before.figures().items()}
            refit = evaluate(model, shown(validation, train), rules)
            row |= {f"refit_{name}": getattr(refit, name) for name in REFIT_FIGURES}
            row |= _test_figures(result, train) | first_columns(result) | {"by_class": _by_class_as_json(result)}
            ordered = explained and result.trajectories is not None
            cells.append(
                {
                    "row": fitting.finite_or_none(row) | {"seen": 0.0, "warning": None},
                    **fitting.acquisition_figures(result),
                    "reliability": result.reliability.to_dict("records"),
                    "examples": examples_of_rows(result, test, model) if ordered else None,
                    **(record_of(result, model, test) if ordered else {}),
                }
            )
    for figures in cells:
        figures["row"]["warning"] = fitting.first_warning(caught)
    return cells


def _test_figures(result: Evaluation, train: Dataset) -> dict[str, Any]:
    return fitting.finite_or_none(result.figures()) | {"n_train": train.n_samples, "n_test": result.dataset.n_samples}


def _by_class_as_json(result: Evaluation) -> str:
    """Rows, recall and precision of each class, as JSON by its label; None where a share is not defined."""
    y, n_classes = result.dataset.y, result.dataset.n_classes
    recalls, precisions = (shares(y, result.answers, n_classes) for shares in (class_recalls, class_precisions))
    figures = zip(np.bincount(y, minlength=n_classes).tolist(), recalls, precisions, strict=True)
    by_class = {
        str(label): fitting.finite_or_none({"rows": rows, "recall": recall, "precision": precision})
        for label, (rows, recall, precision) in zip(result.dataset.classes, figures, strict=True)
    }
    return json.dumps(by_class, ensure_ascii=False)
