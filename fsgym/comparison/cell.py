"""What the tasks of a comparison compute: settings of a method, fitted, evaluated and reduced to plain numbers."""

from __future__ import annotations

import inspect
import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor

from fsgym.comparison.examples import explanation_of, finite_or_none, first_columns
from fsgym.comparison.protocol import LOSS_DIGITS, preferred_settings
from fsgym.comparison.splits import OfficialSplit, Split, SplitParts
from fsgym.data.checks import is_frame
from fsgym.data.dataset import Dataset, RowOrigin
from fsgym.data.targets import Bins
from fsgym.evaluation.evaluate import Evaluation, arrays_of, evaluate, judge, play_policy, played_of
from fsgym.rules import Rules
from fsgym.runner.apart import call_apart, end_subject
from fsgym.runner.fingerprint import fingerprint
from fsgym.runner.local_code import VERSIONED_PACKAGES
from fsgym.runner.results import count, list_of, number, optional, record, returns, share
from fsgym.support.threads import one_thread
from fsgym.text.messages import one_line

# As tasks name them: they enter the keys of stored results.
CELL_FUNCTION, TESTED_CELL_FUNCTION = (f"fsgym.comparison.cell:{name}" for name in ("run_cell", "run_tested_cell"))

REFIT_FIGURES = ("n_features", "n_acquisitions", "spent")  # need no labels
PROMISE_FIGURES = ("n_acquisitions", "spent")  # a promise costs them

NAMED_OPTIONS = ("groups", "costs", "unrelated_costs", "related", "prerequisites")  # may name columns
SHARE_FIGURES = ("accuracy", "sparsity", "admissible", "illegal")  # of the figures of an evaluation, those from 0 to 1
CHOICE_FIGURES = ("error_cost", "spent", "n_features")  # by which a setting is chosen on validation rows
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


class Setting(NamedTuple):
    """A setting of a method; with ``lams`` one at each of these prices, by the candidate's ``path``."""

    candidate: Any
    rules: Rules
    seed: int
    lams: list[float] | None

    def fit(self, part: Dataset) -> Sequence[Any]:
        """Policies that are fitted to a part of the data."""
        return fit_settings(part, [self.candidate], self.rules, self.seed, self.lams)

    def shown(self, part: Dataset, train: Dataset) -> Dataset:
        """The rows to evaluate on as the policies that were fitted to ``train`` take them."""
        return self.candidate.shown(part, train) if hasattr(self.candidate, "trained_on") else part


class TrainedBefore(NamedTuple):
    """As ``Setting``, of a policy that is already trained."""

    policy: Any
    rules: Rules
    origin: RowOrigin | None

    def fit(self, part: Dataset) -> Sequence[Any]:
        return [self.policy]

    def shown(self, part: Dataset, train: Dataset) -> Dataset:
        from fsgym.comparison.policies import as_in_training

        return as_in_training(part, self.origin)


def evaluate_trained(
    policy: Any, dataset: Dataset, rules: Rules, split: Split | OfficialSplit, explained: bool
) -> dict[str, Any]:
    """A cell of ``run_cell`` for a policy that was trained before, on values as in its training."""
    from fsgym.comparison.policies import training_origin

    with one_thread():
        origin, test = training_origin(policy), split.divide(dataset)[1]
        (figures,) = _cells(TrainedBefore(policy, rules, origin), dataset, split, explained, [explained])
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
    charted: list[bool],
) -> dict[str, Any]:
    """Fit a setting twice and evaluate it: on the validation part and on the test part.

    Validation figures are measured after a fit on the other rows of the training part, test figures after a fit on the
    whole training part. With ``lams`` this is done for each of these values of ``lam``, by the candidate's method
    ``path``, which shares work between them.

    Returns
    -------
    dict with ``cells``, for each setting a dict of JSON values: ``row``, figures by name; ``histogram`` and ``usage``
    of ``acquisition_figures``; ``reliability``, the lines of ``Evaluation.reliability``; and those of
    ``explanation_of``, only if the cell is ``explained`` and its method has an order, the chart only where ``charted``.

    Code of the user runs in a process apart, without labels of test rows: see ``runs_apart``.
    """
    subject = fingerprint([dataset, split]) if runs_apart(candidate) else ""
    try:
        return {"cells": _cells(Setting(candidate, rules, seed, lams), dataset, split, explained, charted, subject)}
    finally:
        if subject and explained:  # what explains has seen labels
            end_subject()


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


class Trained(NamedTuple):
    """What a setting did on the rows of a split.

    ``validated`` is that of a fit on the rows to fit on, on validation rows; ``tested`` and ``refit`` are those of
    ``model``, fitted on the whole training part, on test rows and on validation rows. ``promise`` is what
    ``_price_of_promise`` returns.
    """

    model: Any
    validated: Evaluation
    tested: Evaluation
    refit: Evaluation
    promise: dict[str, float]


def _cells(
    setting: Setting | TrainedBefore,
    dataset: Dataset,
    split: Split | OfficialSplit,
    explained: bool,
    charted: Sequence[bool],
    subject: str = "",
) -> list[dict[str, Any]]:
    """Figures of what a setting does on a split, each with the first warning of all; with ``subject`` apart."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parts = split.parts(dataset)
        trained, warning = _trained_apart(subject, setting, parts) if subject else (_trained_here(setting, parts), None)
        cells = []
        for (model, before, result, refit, promise), with_chart in zip(trained, charted, strict=True):
            row = {f"validation_{k}": v for k, v in before.figures().items()}
            row |= {f"refit_{name}": getattr(refit, name) for name in REFIT_FIGURES}
            row |= _test_figures(result, parts.train) | first_columns(result) | {"by_class": _by_class_as_json(result)}
            row |= promise
            figures = {"row": finite_or_none(row) | {"seen": 0.0, "warning": None}, **acquisition_figures(result)}
            figures |= {"reliability": result.reliability.to_dict("records"), "examples": None}
            if explained and result.trajectories is not None:
                explain = _explained_apart if isinstance(model, ModelApart) else explanation_of
                figures |= explain(result, model, parts.test, with_chart)
            cells.append(figures)
    for figures in cells:
        figures["row"]["warning"] = warning or first_warning(caught)
    return cells


def _trained_here(setting: Setting | TrainedBefore, parts: SplitParts) -> list[Trained]:
    settings = _played(setting, parts, evaluate)
    return [Trained(*own, _price_of_promise(own[0], own[2], setting.rules)) for own in settings]


def _rows_shown(setting: Setting | TrainedBefore, parts: SplitParts) -> tuple[Dataset, Dataset, Dataset]:
    """The rows of the evaluations in ``Trained``."""
    shown = setting.shown
    return shown(parts.validation, parts.fit), shown(parts.test, parts.train), shown(parts.validation, parts.train)


def _played(
    setting: Setting | TrainedBefore, parts: SplitParts, play: Callable[..., Any]
) -> list[tuple[Any, Any, Any, Any]]:
    """Of each price the model, and what ``play(model, rows, rules=...)`` returns for the evaluations in ``Trained``."""
    (held_out, test, again), rules = _rows_shown(setting, parts), setting.rules
    validated = [play(model, held_out, rules=rules) for model in setting.fit(parts.fit)]
    models = setting.fit(parts.train)
    tested = [play(model, test, rules=rules) for model in models]
    return [(*own, play(own[0], again, rules=rules)) for own in zip(models, validated, tested, strict=True)]


# Code of the user, in a process apart. It is sent the training part, whose validation rows have labels for the second
# fit, and test rows without labels; what its models did is evaluated here, by the labels.

KNOWN_PACKAGES = (*VERSIONED_PACKAGES, "numpy", "sklearn")
KNOWN_TYPES = (bool, int, float, str, bytes, type(None))
PLAY_APART, EXPLAIN_APART = (f"fsgym.comparison.cell:{name}" for name in ("play_apart", "explain_apart"))
EXPLAINING = ("probabilities_at", "chart")  # methods of a model
PLAYED = Trained._fields[1:4]
_models: list[Any] = []  # in the process apart: those that it fitted last


def runs_apart(candidate: Any) -> bool:
    """Whether code of the user or of another package runs where a candidate is fitted and predicts.

    It is then given a process that has no labels of test rows. Of an estimator, its class and its parameters count.
    """
    if hasattr(candidate, "trained_on"):  # a ``PolicyFactory``
        return True
    return not all(_is_known(value) for value in (candidate, *candidate.get_params(deep=True).values()))


def _is_known(value: Any) -> bool:
    kind = type(value)
    if kind in (list, tuple, set):
        return all(_is_known(entry) for entry in value)
    if kind is dict:
        return all(_is_known(entry) for entry in (*value, *value.values()))
    if isinstance(value, np.ufunc):  # others are made of functions
        return getattr(np, value.__name__, None) is value
    if kind in KNOWN_TYPES or kind is np.vectorize:
        return kind is not np.vectorize
    own = value if isinstance(value, type) or inspect.isroutine(value) else kind
    return str(own.__module__).partition(".")[0] in KNOWN_PACKAGES


class ModelApart(NamedTuple):
    """A model that ``play_apart`` has fitted in the process of a subject, by its place."""

    subject: str
    number: int


def _trained_apart(subject: str, setting: Any, parts: SplitParts) -> tuple[list[Trained], str | None]:
    """As ``_trained_here``, and the first warning."""
    hidden = parts._replace(validation=parts.validation.without_labels(), test=parts.test.without_labels())
    value, arrays = call_apart(subject, PLAY_APART, {"setting": setting}, lambda: {"parts": hidden})
    rows, trained = _rows_shown(setting, parts), []
    for k, (promise, tells) in enumerate(zip(value["promises"], value["tells"], strict=True)):
        validated, tested, refit = (
            _judged({n: arrays[f"{k} {part} {n}"] for n in names}, bins, labelled, setting.rules)
            for part, (names, bins), labelled in zip(PLAYED, value["played"][k], rows, strict=True)
        )
        trained.append(Trained(ModelApart(subject, k) if tells else None, validated, tested, refit, promise))
    return trained, value["warning"]


def _judged(arrays: Mapping[str, NDArray], bins: Any, rows: Dataset, rules: Rules) -> Evaluation:
    """What a policy did, judged by the labels; ``bins`` are its own of a numeric target, or None."""
    if bins is not None and rows.bins is not None:
        own = Bins.from_json(bins)
        rules = rules.with_bins(own) if rows.bins.are_costs(rules.error_costs) else rules
        rows = rows.replace(bins=own)
    return judge(played_of(arrays), rows, rules)


def _explained_apart(result: Evaluation, model: ModelApart, test: Dataset, charted: bool) -> dict[str, Any]:
    """A model explains rows that all models of the cell answered before; what it is sent has labels."""
    given = {"number": model.number, "result": result, "test": test, "charted": charted}
    return call_apart(model.subject, EXPLAIN_APART, given, dict)[0]


def play_apart(*, parts: SplitParts, setting: Setting) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Fit the settings as ``run_cell`` does, in a process apart, and return what they did as arrays."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings, rules = _played(setting, parts, _arrays_played), setting.rules
        warning, test = first_warning(caught), setting.shown(parts.test, parts.train)
        promises = [
            _price_of_promise(model, evaluate(model, test, rules=rules), rules) if hasattr(model, "promise_") else {}
            for model, *_ in settings
        ]
    _models[:] = [model for model, *_ in settings]
    arrays, told = {}, []
    for k, (_, *played) in enumerate(settings):
        arrays |= {
            f"{k} {part} {n}": a for part, (done, _) in zip(PLAYED, played, strict=True) for n, a in done.items()
        }
        told.append([(list(done), bins) for done, bins in played])
    tells = [any(callable(getattr(model, name, None)) for name in EXPLAINING) for model in _models]
    return {"warning": warning, "tells": tells, "played": told, "promises": promises}, arrays


def _arrays_played(model: Any, rows: Dataset, rules: Rules) -> tuple[dict[str, NDArray], Any]:
    played, taken, _ = play_policy(model, rows, None, rules)
    if taken.feature_names != rows.feature_names:
        raise ValueError("the policy must take the features in the order of its environment")
    return arrays_of(played), None if taken.bins is None or taken.bins is rows.bins else taken.bins.to_json()


def explain_apart(
    *, number: int, result: Evaluation, test: Dataset, charted: bool, **_: Any
) -> tuple[dict[str, Any], dict]:
    """What ``explanation_of`` returns for a model that ``play_apart`` has fitted."""
    return explanation_of(result, _models[number], test, charted), {}


def _test_figures(result: Evaluation, train: Dataset) -> dict[str, Any]:
    return finite_or_none(result.figures()) | {"n_train": train.n_samples, "n_test": result.dataset.n_samples}


def _price_of_promise(model: Any, result: Evaluation, rules: Rules) -> dict[str, float]:
    """What is acquired and paid more, a row, than by the same model without what it promises; {} without a promise."""
    if getattr(model, "promise_", None) is None:
        return {}
    plain = evaluate(model.without_promise(), result.dataset, rules=rules)
    return {f"promise_{name}": getattr(result, name) - getattr(plain, name) for name in PROMISE_FIGURES}


def _by_class_as_json(result: Evaluation) -> str:
    """Rows, recall and precision of each class, as JSON by its label; None where a share is not defined.

    Of a numeric target by the ranges of its bins, each with the number that is its ``answer``.
    """
    bins, lines = result.dataset.bins, result.by_class.to_dict("records")
    by_class = {str(line.pop("class")): finite_or_none(line) for line in lines}
    for label, answer in zip(by_class, [] if bins is None else bins.values.tolist()):
        by_class[label]["answer"] = answer
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
        At each price the first of ``preferred_settings`` by the loss on all validation rows is fitted again.

    Returns
    -------
    models, evaluations : of each price; one model may serve several prices
    seconds : float, the processor time of all fits, with the choice of the settings
    """
    start, lams = time.process_time(), [r.lam for r in rules]
    if held_out is None:
        models = fit_settings(train, candidates, rules[0], seed, lams)
    else:
        models = _fit_the_best(candidates, train, rules[0], lams, seed, held_out)
    seconds = time.process_time() - start
    return models, [evaluate(m, test, rules=r) for m, r in zip(models, rules, strict=True)], seconds


def _fit_the_best(
    candidates: Sequence[Any],
    train: Dataset,
    rules: Rules,
    lams: Sequence[float],
    seed: int,
    held_out: Sequence[tuple[Dataset, Dataset]],
) -> list[Any]:
    """The models of ``evaluate_at_prices`` that are chosen on validation rows."""
    if len(candidates) == 1:
        return [*fit_settings(train, candidates, rules, seed)] * len(lams)
    shares = np.array([validation.n_samples for _, validation in held_out], float)
    shares /= shares.sum()
    fitted: dict[int, Any] = {}  # on all training rows

    def fit(settings: NDArray[np.intp]) -> None:
        new = sorted({*settings.tolist()} - {*fitted})
        fitted.update(zip(new, fit_settings(train, [candidates[k] for k in new], rules, seed), strict=True))

    def figures(fits: Iterable[Sequence[Any]]) -> NDArray[np.float64]:
        """Of the models for each pair of ``held_out``: parts of the loss, and number of features, (3, n_models)."""
        played = [
            [evaluate(model, validation, rules=rules) for model in models]
            for models, (_, validation) in zip(fits, held_out, strict=True)
        ]
        return np.array([shares @ [[getattr(r, name) for r in part] for part in played] for name in CHOICE_FIGURES])

    errors, spent, used = figures(fit_settings(part, candidates, rules, seed) for part, _ in held_out)
    chosen = []
    for lam in lams:
        loss = errors + lam * spent
        best, keys = preferred_settings(loss, used)[0], np.round([loss, used], LOSS_DIGITS).T
        equal = np.flatnonzero((keys == keys[best]).all(axis=1))
        fit(equal)
        if len(equal) > 1:
            again = figures([[fitted[k] for k in equal.tolist()]] * len(held_out))[-1]
            equal = equal[preferred_settings(loss[equal], used[equal], again)]
        chosen.append(fitted[int(equal[0])])
    return chosen


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
    taken, test = result.rules.acquisitions_of(result.used), cast(Dataset, result.dataset)
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
