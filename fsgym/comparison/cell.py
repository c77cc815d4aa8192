"""What the tasks of a comparison compute: settings of a method, fitted, evaluated and reduced to plain numbers."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor

from fsgym.comparison.examples import examples_of_rows, finite_or_none, first_columns, record_of
from fsgym.comparison.splits import OfficialSplit, Split
from fsgym.data.dataset import Dataset
from fsgym.evaluation.evaluate import Evaluation, evaluate
from fsgym.metrics import class_precisions, class_recalls
from fsgym.rules import Rules
from fsgym.rules.labels import is_frame
from fsgym.runner.results import count, list_of, number, optional, record, returns, share
from fsgym.support.threads import one_thread
from fsgym.text.messages import one_line

# As tasks name them: they enter the keys of stored results.
CELL_FUNCTION, TESTED_CELL_FUNCTION = (f"fsgym.comparison.cell:{name}" for name in ("run_cell", "run_tested_cell"))

REFIT_FIGURES = ("n_features", "n_acquisitions", "spent")  # need no labels
PROMISE_FIGURES = ("n_acquisitions", "spent")  # a promise costs them

NAMED_OPTIONS = ("groups", "costs", "unrelated_costs", "related", "prerequisites")  # may name columns
SHARE_FIGURES = ("accuracy", "sparsity", "admissible", "illegal")  # of the figures of an evaluation, those from 0 to 1
LOSS_PARTS, LOSS_DIGITS = ("error_cost", "spent"), 12  # losses that differ by less are equal
FIGURE_CHECKS = {name: optional(share if name in SHARE_FIGURES else number) for name in Evaluation.FIGURES}
VALIDATION_CHECKS = {f"validation_{name}": check for name, check in FIGURE_CHECKS.items()}
TEST_CHECKS = {**FIGURE_CHECKS, "n_train": count, "n_test": count}
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
    from fsgym.comparison.policies import as_in_training, training_origin

    with one_thread():
        origin, test = training_origin(policy), split.divide(dataset)[1]
        fit, shown = lambda part: [policy], lambda part, train: as_in_training(part, origin)
        (figures,) = _fit_and_validate(fit, dataset, rules, split, explained, shown)
        seen = None if origin is None else test.origin.share_in(origin)
        figures["row"] |= {"seen": seen, "warning": caution_of(seen, policy) or figures["row"].get("warning")}
        return figures


def caution_of(seen: float | None, policy: Any = None) -> str | None:
    """What must be said of a policy of which this share of the test rows were training rows; None: unknown."""
    if seen is not None:
        return f"trained on {seen:.0%} of the test rows, which makes its figures optimistic" if seen > 0 else None
    unknown = "training rows unknown: test rows may be among them, which would make its figures optimistic"
    if hasattr(policy, "labelled_dataset"):  # an agent, which scales values itself
        return unknown
    return (
        "its training environment is unknown, so it is shown the values of the data set as they are; set its attribute "
        f"env, if it was trained on scaled values. {unknown[0].upper()}{unknown[1:]}"
    )


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
    dict with ``cells``, for each setting a dict of JSON values: ``row``, figures by name; ``histogram`` and ``usage``
    of ``acquisition_figures``; ``reliability``, the lines of ``Evaluation.reliability``; ``examples``, a few test rows
    with their acquisitions in order; and ``played`` and ``chart`` of ``record_of``. The last three only if the cell is
    ``explained`` and its method has an order.
    """

    def fit(part: Dataset) -> Sequence[Any]:
        return fit_settings(part, [candidate], rules, seed, lams)

    shown = getattr(candidate, "shown", lambda part, train: part)  # of a ``PolicyFactory``
    return {"cells": _fit_and_validate(fit, dataset, rules, split, explained, shown)}


@returns(record(**TEST_CHECKS, **ACQUISITION_CHECKS, chance=share, wrong=list_of(count)))
def run_tested_cell(
    *, dataset: Dataset, rules: Rules, candidate: Any, seed: int, split: Split | OfficialSplit
) -> dict[str, Any]:
    """Fit a setting on the training part and evaluate it on the test part; nothing is held out for validation.

    Returns JSON values: ``Evaluation.FIGURES``, n_train, n_test, ``histogram`` and ``usage`` of
    ``acquisition_figures``, the first ``warning``, and what ``curve_figures`` returns.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train, test = split.divide(dataset)
        model = fit_on(train, candidate, rules, seed)
        result = evaluate(model, test, rules=rules)
    figures = _test_figures(result, train) | acquisition_figures(result) | curve_figures(result, model, train)
    return figures | {"warning": first_warning(caught)}


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
        validated = [evaluate(model, held_out, rules=rules) for model in fit(part)]
        shown_test, models = shown(test, train), fit(train)
        tested = [evaluate(model, shown_test, rules=rules) for model in models]
        cells = []
        for before, model, result in zip(validated, models, tested, strict=True):
            row = {f"validation_{k}": v for k, v in before.figures().items()}
            refit = evaluate(model, shown(validation, train), rules=rules)
            row |= {f"refit_{name}": getattr(refit, name) for name in REFIT_FIGURES}
            row |= _test_figures(result, train) | first_columns(result) | {"by_class": _by_class_as_json(result)}
            row |= _price_of_promise(model, result, rules)
            ordered = explained and result.trajectories is not None
            cells.append(
                {
                    "row": finite_or_none(row) | {"seen": 0.0, "warning": None},
                    **acquisition_figures(result),
                    "reliability": result.reliability.to_dict("records"),
                    "examples": examples_of_rows(result, test, model) if ordered else None,
                    **(record_of(result, model, test) if ordered else {}),
                }
            )
    for figures in cells:
        figures["row"]["warning"] = first_warning(caught)
    return cells


def _test_figures(result: Evaluation, train: Dataset) -> dict[str, Any]:
    return finite_or_none(result.figures()) | {"n_train": train.n_samples, "n_test": result.dataset.n_samples}


def _price_of_promise(model: Any, result: Evaluation, rules: Rules) -> dict[str, float]:
    """What is acquired and paid more, a row, than by the same model without what it promises; {} without a promise."""
    if getattr(model, "promise_", None) is None:
        return {}
    plain = evaluate(model.without_promise(), result.dataset, rules=rules)
    return {f"promise_{name}": getattr(result, name) - getattr(plain, name) for name in PROMISE_FIGURES}


def _by_class_as_json(result: Evaluation) -> str:
    """Rows, recall and precision of each class, as JSON by its label; None where a share is not defined."""
    y, n_classes = result.dataset.y, result.dataset.n_classes
    recalls, precisions = (shares(y, result.answers, n_classes) for shares in (class_recalls, class_precisions))
    figures = zip(np.bincount(y, minlength=n_classes).tolist(), recalls, precisions, strict=True)
    by_class = {
        str(label): finite_or_none({"rows": rows, "recall": recall, "precision": precision})
        for label, (rows, recall, precision) in zip(result.dataset.classes, figures, strict=True)
    }
    return json.dumps(by_class, ensure_ascii=False)


# How a setting is fitted on a part of the data, and what is stored of an evaluation: plain numbers.


def fit_on(part: Dataset, candidate: Any, rules: Rules, seed: int) -> Any:
    """A clone of the candidate, fitted; for a ``PolicyFactory``, the policy that it trains."""
    if hasattr(candidate, "trained_on"):
        return candidate.trained_on(part, rules, seed)
    return with_seed(candidate, seed).fit(*training_arguments(candidate, part))


def fit_settings(
    part: Dataset, candidates: Sequence[Any], rules: Rules, seed: int, lams: Sequence[float] | None = None
) -> Sequence[Any]:
    """Each candidate, fitted.

    With ``lams``, the prices of the candidates, a method with a ``path`` fits all at once, which shares work between
    them; one candidate is then enough.
    """
    if lams is not None and hasattr(candidates[0], "path"):
        first = with_seed(candidates[0], seed)
        return first.path(*training_arguments(first, part), list(lams))
    return [fit_on(part, candidate, rules, seed) for candidate in candidates]


def evaluate_at_prices(
    candidates: Sequence[Any],
    train: Dataset,
    test: Dataset,
    rules: Sequence[Rules],
    seed: int,
    held_out: Sequence[tuple[Dataset, Dataset]] | None = None,
) -> tuple[Sequence[Any], list[Evaluation], float]:
    """A method at each price: fitted on ``train`` at its setting for this price, and evaluated on ``test``.

    Parameters
    ----------
    candidates : list of estimators, or of ``PolicyFactory``
        Those of a method that takes prices, one for each, or one with a ``path``. With ``held_out`` they are settings
        that are no prices.
    train : Dataset
    test : Dataset, as the fitted models take it
    rules : sequence of Rules, one for each price, which differ in ``lam``
    seed : int
    held_out : sequence of pairs (rows to fit on, validation rows), optional
        At each price the setting with the lowest loss on all validation rows is fitted again; of equal ones, the first.

    Returns
    -------
    models, evaluations : of each price; one model may serve several prices
    seconds : float, the processor time of all fits, with the choice of the settings
    """
    start, lams = time.process_time(), [r.lam for r in rules]
    if held_out is None:
        models = fit_settings(train, candidates, rules[0], seed, lams)
    else:
        best = [0] * len(lams)
        if len(candidates) > 1:
            shares = np.array([validation.n_samples for _, validation in held_out], float)
            shares /= shares.sum()
            tried = [
                [evaluate(m, validation, rules=rules[0]) for m in fit_settings(fit, candidates, rules[0], seed)]
                for fit, validation in held_out
            ]
            errors, spent = (shares @ [[getattr(r, name) for r in part] for part in tried] for name in LOSS_PARTS)
            best = [int((errors + lam * spent).round(LOSS_DIGITS).argmin()) for lam in lams]
        chosen = sorted(set(best))
        fitted = dict(zip(chosen, fit_settings(train, [candidates[k] for k in chosen], rules[0], seed)))
        models = [fitted[k] for k in best]
    seconds = time.process_time() - start
    return models, [evaluate(m, test, rules=r) for m, r in zip(models, rules, strict=True)], seconds


def with_seed(candidate: Any, seed: int) -> Any:
    """A clone of the estimator, in which each random state that was None is the seed."""
    estimator = clone(candidate)
    unseeded = {
        name: seed
        for name, value in estimator.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return estimator.set_params(**unseeded)


def training_arguments(candidate: Any, part: Dataset) -> tuple[Any, Any]:
    """X and y for ``fit``: arrays, or for an agent a data set if its names, groups, prices or row groups are needed."""
    labels = labels_for_fit(candidate, part)
    if not hasattr(candidate, "labelled_dataset"):
        return part.to_array(), labels
    groups, costs = (getattr(candidate, name, None) for name in ("groups", "costs"))
    if part.case_costs is not None:
        if groups is not None or (costs is None and getattr(candidate, "takes_case_costs", False)):
            return part, None
        part = part.replace(case_costs=None)  # it plans by the means
    if part.bins is not None:
        return part, None
    options = [getattr(candidate, name, None) for name in NAMED_OPTIONS]
    by_name = any(isinstance(option, Mapping) or is_frame(option) for option in options)
    if by_name or (part.groups is not None and groups is None) or takes_prices_of(candidate, part):
        return part, None
    if part.row_groups is not None:
        return Dataset(part.to_array(), labels, row_groups=part.row_groups), None
    return part.to_array(), labels


def takes_prices_of(candidate: Any, dataset: Dataset) -> bool:
    """Whether it is an agent without prices or groups of its own, which takes the prices that the data set has."""
    is_own = any(getattr(candidate, name, None) is not None for name in ("costs", "groups"))
    return dataset.costs is not None and hasattr(candidate, "labelled_dataset") and not is_own


def labels_for_fit(candidate: Any, part: Dataset) -> NDArray:
    """What an estimator is fitted to, (n_samples,): labels, or for a regressor the numbers of a numeric target."""
    is_number = part.bins is not None and is_regressor(candidate)
    return part.target.copy() if is_number else part.classes[part.y]  # trees of scikit-learn take no read-only numbers


def first_warning(caught: Sequence[warnings.WarningMessage]) -> str | None:
    """The first of the recorded warnings that is not a deprecation, on one line; None without any."""
    for warning in caught:
        if not issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning):
            return f"{warning.category.__name__}: {one_line(warning.message, 300)}"
    return None


def acquisition_figures(result: Evaluation) -> dict[str, list]:
    """``histogram[k]``, the number of rows with k acquisitions, and ``usage[j]``, the share with acquisition j."""
    taken, rules = result.rules.acquisitions_of(result.used), result.rules
    return {
        "histogram": np.bincount(taken.sum(axis=1), minlength=rules.n_acquisitions + 1).tolist(),
        "usage": taken.mean(axis=0).tolist(),
    }


def curve_figures(result: Evaluation, model: Any, train: Dataset) -> dict[str, Any]:
    """What curves of accuracy over sparsity, and pictures of what is used, need of a setting.

    Returns
    -------
    dict
        ``chance``, the test accuracy of always answering the training part's largest class; ``sparsity_within``, the
        standard deviation over the test rows of the share of features not used; ``wrong[k]``, the number of test rows
        that are misclassified with k acquisitions; ``history``, the training loss after each iteration, if the method
        records it; for images ``class_usage`` and ``class_right``, usage and number of the correctly classified test
        rows of each class.
    """
    taken, test = result.rules.acquisitions_of(result.used), result.dataset
    correct = result.answers == test.y
    figures: dict[str, Any] = {
        "chance": chance_accuracy(train, test),
        "sparsity_within": float(result.used.sum(axis=1).std() / result.used.shape[1]),
        "wrong": np.bincount(taken[~correct].sum(axis=1), minlength=result.rules.n_acquisitions + 1).tolist(),
        "history": [float(h["loss"]) for h in getattr(model, "history_", [])] or None,
    }
    if test.image_shape is not None:
        rows = [correct & (test.y == k) for k in range(test.n_classes)]
        figures["class_right"] = [int(r.sum()) for r in rows]
        figures["class_usage"] = [taken[r].mean(axis=0).tolist() if r.any() else None for r in rows]
    return figures


def chance_accuracy(train: Dataset, test: Dataset) -> float:
    """The test accuracy of always answering the largest class of the training part."""
    return float((test.y == np.bincount(train.y, minlength=train.n_classes).argmax()).mean())
