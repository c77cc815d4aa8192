"""The command ``evaluate``, and evaluations as ``train`` prints them, too: in words, as a table, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fsgym.cli import options
from fsgym.cli.mistakes import check_data, check_missing_columns, check_model, check_rule_files
from fsgym.cli.terminal import show, write_utf8
from fsgym.data.dataset import Dataset
from fsgym.evaluation.result import RELIABILITY_HEADING, of_rows, sentence_case
from fsgym.metrics import (
    ALL_LABELS,
    DIAGNOSTIC_LABELS,
    FIGURE_LABELS,
    NUMBER_FIGURES,
    PROBABILITY_FIGURES,
    short_number,
)
from fsgym.text.messages import counted, listing, one_line, option_text, visible_json
from fsgym.text.sentences import parted

if TYPE_CHECKING:
    from fsgym.datasets.folder import LoadedDataset
    from fsgym.evaluation.evaluate import Evaluation

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object with all figures, and nothing else, on standard output.")
]
SHOWN_FIGURES = (*FIGURE_LABELS, "loss_low", "loss_high", *PROBABILITY_FIGURES)
LIMITS_OF_LOSS = tuple(ALL_LABELS[name] for name in ("loss_low", "loss_high"))
CALIBRATED_ON = "These are the rows that it was calibrated on: others are needed to check it."
CLASSES_PRINTED = 8  # of more than two, with recall and precision; --json has all
LABEL_WIDTH, CELL_WIDTH = 28, 10
WIDE, VERY_WIDE = 1e4, 1e12  # figures in other notations
REFERENCE_WORDS = {
    "constant": "The best constant, with nothing acquired",
    "forest": "A regression forest with all features",
}
TRAINING_ROWS, SAME_ROWS = "the training rows", "these rows themselves, five-fold"  # what they are fitted to
RELIABILITY_LINES = (
    ("certainty", "probability of the answer", "{:.2f}"),
    ("correct", "share of right answers", "{:.2f}"),
    ("rows", "rows", "{:,}"),
)


@options.with_sign_options
def evaluate(
    model: options.ModelArgument,
    data: options.DataArgument,
    split: Annotated[
        str | None,
        typer.Option(
            help="Part of the data to evaluate on: train, test or all. Default: if the model was trained on a part of "
            "these data, the other part, otherwise all.",
            show_default=False,
        ),
    ] = None,
    target: options.TargetOption = None,
    drop: options.DropOption = None,
    category: options.CategoryOption = None,
    numeric: options.NumericOption = None,
    row_groups: options.RowGroupsOption = None,
    groups: options.GroupsOption = None,
    case_price: options.CasePriceOption = None,
    missing_columns: options.MissingColumnsOption = "error",
    data_dir: options.DataDirOption = None,
    strict: options.StrictOption = False,
    as_json: JsonOption = False,
    **signs: Any,
) -> None:
    """Evaluate a model file on a data set, under the rules of its training.

    The model file says how to read the data; each option of this command replaces what it says.

    Where these rows differ from those of the training, such as by a unit, one line on stderr says so.

    A Parquet or .npz file of more than 50 million values is read in blocks, in one pass.

    With --json, one object: model, classifier, data, part, lam, remark (whether rows were used in training), promise
    (of a calibrated model: what it promises, and what is found, in sentences), case_price (the columns of
    prices by acquisition, of a model with prices by case), comparison (as of fsgym monitor; null
    if the model file has no summary of its training) and evaluation. An evaluation has:
    dataset, rows, headline (names of the figures to decide by), figures (by name), cost_per_case and cost_per_1000
    (mean, low and high: the 95 % interval), classes, by_class (class, rows, recall, precision), positive_class,
    diagnostics (sensitivity, specificity, ppv, npv; empty for more than two classes) and confusion (rows by true class,
    then by answer), excess_calibration_error (the calibration error beyond that of chance) and reliability (certainty,
    the mean probability of the answers, correct, the share that is right, and rows, by certainty). What is not defined
    is null. Of a numeric target, evaluation has references, too: the absolute and the squared error of a constant and
    of a regression forest with all features, fitted on the training rows if they are known, else in five folds.

    Example: fsgym evaluate model.safetensors patients.csv
    """
    check_model(model)
    check_data(data, data_dir, split)
    check_rule_files({"groups": groups})
    check_missing_columns(missing_columns)
    from fsgym.cli.model_data import ModelData, read_labelled
    from fsgym.datasets.loading import part_index
    from fsgym.evaluation.evaluate import evaluate as evaluate_model

    given = {"drop": drop, "category": category, "numeric": numeric, "target": target, "row_groups": row_groups}
    opened = ModelData.open(model, {**given, **signs}, case_price)
    with options.warnings_printed():
        labelled = read_labelled(opened, data, data_dir, missing_columns, in_blocks=True)
    if groups is not None:
        opened.check_groups(groups, labelled.loaded.dataset)
    part = split or labelled.default_split
    rows = part_index(labelled.loaded, part, labelled.reading.row_groups)
    compared = opened.compare(*labelled.rows_and_labels(rows))
    opened.warn_of_differences(compared, data, strict)
    result = evaluate_model(labelled.classifier, labelled.loaded.dataset.rows(rows))
    remark = labelled.caution(rows)
    known = labelled.training if len(labelled.training) and not len(np.intersect1d(rows, labelled.training)) else None
    references = references_of(result, None if known is None else labelled.loaded.dataset.rows(known))
    promised = []
    if labelled.classifier.promise_ is not None:
        plain = evaluate_model(labelled.classifier.without_promise(), labelled.loaded.dataset.rows(rows))
        promised = sentences_of_promise(labelled.classifier, result, plain)
    if as_json:
        head = {"model": str(model), "classifier": type(opened.classifier).__name__, "data": data, "part": part}
        said: dict[str, Any] = {"promise": promised} if promised else {}
        if opened.classifier.rules_.costs_by_case:
            said["case_price"] = dict(opened.case_price)
        said |= {"comparison": None if compared is None else compared.as_json()}
        found = result.to_json() | ({"references": references} if references else {})
        print_json(head | {"lam": result.rules.lam, "remark": remark, **said, "evaluation": found})
        return
    words = part_in_words(labelled.loaded, part, labelled.reading.row_groups)
    show(f"{type(opened.classifier).__name__} from {model}: {words}, {result.rules}")
    print_rules(opened.classifier, "")
    if opened.classifier.rules_.costs_by_case:
        show(opened.prices_in_words)
    print_evaluations({counted(result.dataset.n_samples, "row"): result}, references, known is not None)
    for sentence in promised:
        show(sentence)
    show(remark)


def references_of(result: Evaluation, train: Dataset | None) -> dict[str, dict[str, float]]:
    """What ``reference_errors`` returns for the rows of a numeric target; empty for classes."""
    if result.predicted is None or not isinstance(result.dataset, Dataset):
        return {}
    from fsgym.evaluation.number_references import reference_errors

    return reference_errors(result.dataset, train)


def sentences_of_promise(model: Any, result: Evaluation, plain: Evaluation) -> list[str]:
    """What a calibrated model promises, what is found on the rows, and its price there beside that without promise."""
    from fsgym.evaluation.promise import percent

    promise, data = model.promise_, result.dataset
    found = promise.found(result.answers, data.y, result.rules.answer_costs, data.row_groups)
    price = f"Price on these rows: {result.spent:.4g} a row with this rule, {plain.spent:.4g} without it"
    price += f"; acquisitions: {result.n_acquisitions:.2f} and {plain.n_acquisitions:.2f}"
    if promise.refers:
        price += f"; referred: {percent(round(result.referred, 4))} and {percent(round(plain.referred, 4))}"
    if promise.by:
        found.append(f"That is of all rows together; fsgym monitor tests what is promised for each {promise.by}.")
    found.append(f"{price}.")
    if isinstance(data, Dataset) and promise.is_by(model.arrangement_.rows(data.X), data.y):
        found.append(CALIBRATED_ON)
    return [*promise.sentences(), *found]


def part_in_words(loaded: LoadedDataset, split: str, row_groups: str | None) -> str:
    """The rows of a part of a data set, as ``124 of 178 rows of wine (train)``."""
    from fsgym.datasets.loading import part_index

    whole = loaded.dataset
    if split == "all":
        return f"all {whole.n_samples} rows of {whole.name}" if whole.n_samples > 1 else f"the row of {whole.name}"
    together = "" if whole.row_groups is None else ", row groups kept together"
    n_rows = len(part_index(loaded, split, row_groups))
    return f"{n_rows} of {whole.n_samples} rows of {whole.name} ({split} part{together})"


def print_rules(model: Any, target: str) -> None:
    """Print the costs of errors in words, and the lambda found for a target."""
    from fsgym.rules.checks import describe_error_costs, doubtful_costs

    rules, bins = model.rules_, model.bins_
    described = describe_error_costs(rules.error_costs, model.classes_.tolist())
    if bins is not None:
        error, unit = ALL_LABELS[bins.error].removeprefix("mean "), f" in {bins.unit}" if bins.unit else ""
        show(f"The target is a number{unit}, answered by the {bins.answers}s of {bins.n_bins} bins: {error}")
    elif described:
        show(f"Error costs: {described}")
    if rules.refer_cost is not None:
        show(f"A case may be referred to {rules.refer_label}, for {rules.refer_cost:g}")
    if bins is None and getattr(model, "promise_", None) is None:  # a rule may refer whatever it costs
        for doubt in doubtful_costs(rules.error_costs, rules.refer_cost, model.classes_.tolist()):
            show(f"Is this meant? {doubt[0].upper()}{doubt[1:]}")
    limit = model.get_params().get(target)
    if limit is not None:
        show(
            f"{option_text(target)} {limit:g}: found lambda {rules.lam:.4g}, at which {model.expected_n_features_:.2f} "
            f"features and a price of {model.expected_cost_:.4g} are expected on average (cross-fitted)"
        )


def print_json(values: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    write_utf8()
    print(visible_json(json.dumps(values, ensure_ascii=False, allow_nan=False, default=str)))


def print_evaluations(
    results: Mapping[str, Evaluation], references: Mapping[str, Mapping[str, float]], of_training: bool
) -> None:
    """Print the figures to decide by, those of the last evaluation, then all figures, a column for each evaluation.

    For a numeric target also the errors of the ``references`` for the rows of the last evaluation, which were fitted to
    the training rows, or else to the other rows of this evaluation.
    """
    title, last = list(results.items())[-1]
    show(f"{sentence_case(title)}: {headline_sentence(last)}")
    if text := last.unseen_costs_text():
        show(f"  {sentence_case(text)}")
    for name, words in REFERENCE_WORDS.items():
        if not references:  # of classes
            break
        errors = ", ".join(f"{ALL_LABELS[f]} {value:.4g}" for f, value in references[name].items())
        show(f"  {words}, fitted to {TRAINING_ROWS if of_training else SAME_ROWS}: {errors}")
    lines = [("", [*results], "")] if len(results) > 1 else []
    lines.append(("rows", [f"{result.dataset.n_samples:,}" for result in results.values()], ""))
    undefined = []
    for label, values, rows in _lines([*results.values()]):
        if any(value == value for value in values):
            lines.append((label, _cells(values), f"   {of_rows(*rows)}" if rows else ""))
        elif label not in LIMITS_OF_LOSS:  # which lack a second row, and no class
            undefined.append(label)
    width = max(CELL_WIDTH, *(len(cell) + 2 for _, cells, _ in lines for cell in cells))
    for label, cells, behind in lines:
        show(f"  {label:<{LABEL_WIDTH}}" + "".join(f"{cell:>{width}}" for cell in cells) + behind)
    if last.predicted is None:
        show(f"  What the rows were answered{f' ({title})' if len(results) > 1 else ''}:")
        for line in last.confusion_in_words(CLASSES_PRINTED):
            show(f"    {line}")
        print_reliability(last)
    rules = last.rules
    if rules.lam not in (0.0, 1.0) and (rules.costs != 1.0).any():
        per_case = short_number(last.loss / rules.lam)
        show(f"  The loss / lambda is {per_case}: the same cost in the unit of the prices, not in that of the errors")
    absent = [str(c) for k, c in enumerate(last.dataset.class_labels) if k not in last.dataset.y]
    if absent and undefined and len(results) == 1 and last.probabilities is not None:
        show(f"  Not defined for these rows: {parted(undefined)}; none is of class {listing(absent, 3)}")
    n_classes = last.dataset.n_classes
    if n_classes > CLASSES_PRINTED and last.predicted is None:
        others = counted(n_classes - CLASSES_PRINTED, "other class", "other classes")
        show(f"  Recall and precision of {others}: --json")


def print_reliability(result: Evaluation) -> None:
    """Print the share of right answers by their certainty; nothing without probabilities."""
    bins = result.reliability
    if not len(bins):
        return
    error = result.excess_calibration_error
    show(f"  {RELIABILITY_HEADING} (calibration error beyond chance {error:.4f}):")
    for name, label, form in RELIABILITY_LINES:
        cells = [form.format(value) for value in bins[name]]
        show(f"    {label:<{LABEL_WIDTH - 2}}" + "".join(f"{cell:>7}" for cell in cells))


def headline_sentence(result: Evaluation) -> str:
    """The figures to decide by in words; if they are costs, with that of 1,000 cases and that of acquiring nothing."""
    from fsgym.rules.rules import unavoidable

    text, rules = result.headline_text(), result.rules
    if "loss" not in result.headline:
        return text
    if rules.lam != 1.0 and result.spent:
        errors, spent = short_number(result.loss - rules.lam * result.spent), short_number(result.spent)
        text += f", which is {errors} for errors and lambda {rules.lam:g} times {spent} for prices"
    if result.predicted is not None:
        return text
    costs = result.rules.answer_costs[:, result.dataset.y].mean(axis=1)  # of each answer, if nothing is acquired
    labels = result.rules.answer_labels(result.dataset.classes)
    answer, cost = one_line(str(labels[costs.argmin()]), 40), float(costs.min())
    nothing = f"with the answer {answer} in all cases it would be {short_number(cost)} per case"
    if least := float(unavoidable(rules.answer_costs, result.dataset.y).mean()):
        nothing += f", with the best answer to each {short_number(least)}"
    return f"{text}, {short_number(result.cost_per_1000.mean)} per 1,000 cases; {nothing}"


def _lines(results: Sequence[Evaluation]) -> Iterator[tuple[str, list[float], list[int]]]:
    """Labels and values of the rows of the table, and how many rows are behind each; none where all of them are.

    ``positive`` is the same class in all columns.
    """
    referred = () if results[0].rules.refer_cost is None else ("referred",)
    if results[0].predicted is not None:
        names = ("n_features", "n_acquisitions", "spent", "loss", "loss_low", "loss_high")
        for name in (*NUMBER_FIGURES, *names, *referred):
            yield ALL_LABELS[name], [getattr(result, name) for result in results], []
        return
    for name in (*SHOWN_FIGURES, *referred):
        yield ALL_LABELS[name], [getattr(result, name) for result in results], []
    classes, positive = results[0].dataset.classes, results[0].positive_class
    n_classes = len(classes)
    of_class = [np.bincount(r.dataset.y[r.answered], minlength=n_classes) for r in results]
    of_answer = [np.bincount(r.answers[r.answered], minlength=n_classes) for r in results]
    if positive is not None:
        places = [positive, 1 - positive]
        for name, k, counts in zip(DIAGNOSTIC_LABELS, places * 2, [of_class] * 2 + [of_answer] * 2):
            label = f"{DIAGNOSTIC_LABELS[name]} ({one_line(str(classes[k]), 14)})"
            values = [result.diagnostics_of(positive)[name] for result in results]
            yield label, values, [int(n[k]) for n in counts]
        return
    tables = [result.by_class for result in results]
    for k, label in enumerate(classes[:CLASSES_PRINTED]):
        for name, counts in (("recall", of_class), ("precision", of_answer)):
            values = [float(table[name].iloc[k]) for table in tables]
            yield f"{name} of {one_line(str(label), 14)}", values, [int(n[k]) for n in counts]


def _cells(values: Sequence[float]) -> list[str]:
    """The figures of a line in one notation: with four decimals, or with one where one of them is wide."""
    largest = max(abs(value) for value in values if value == value)
    form = ".4f" if largest < WIDE else ",.1f" if largest < VERY_WIDE else ".4e"
    return [f"{value:{form}}" if value == value else "-" for value in values]
