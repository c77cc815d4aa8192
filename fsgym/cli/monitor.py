"""The command ``monitor``: whether new rows differ from those of the training, and whether a promise is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fsgym.cli import options
from fsgym.cli.evaluate import CALIBRATED_ON, JsonOption, print_json
from fsgym.cli.mistakes import check_data, check_missing_columns, check_model
from fsgym.cli.terminal import show
from fsgym.text.messages import counted, did_you_mean, listing, one_line

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.data.training_summary import Comparison, TrainingSummary

DIFFERS = 3  # exit status
NO_PART = "(empty)"  # where a row has no value in the column that a promise is by
LABEL_LENGTH, ANSWERS_SHOWN = 40, 12
LEAST_P = 1e-9  # that is shown
NO_LABELS = "that needs --target"
NOT_COUNTED = "its file has no counts of errors on rows held out in training; fsgym evaluate shows those on these rows"
SURE_P = 0.01  # at which a difference is said without reserve; by hand


@options.with_sign_options
def monitor(
    model: options.ModelArgument,
    data: options.RowsArgument,
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the true classes: their shares are compared, too (of numbers, by range), and the errors "
            "with those on the rows held out in training; what a calibrated model promises is tested."
        ),
    ] = None,
    missing_columns: options.MissingColumnsOption = "error",
    case_price: options.CasePriceOption = None,
    numeric: options.NumericOption = None,
    data_dir: options.DataDirOption = None,
    as_json: JsonOption = False,
    **signs: Any,
) -> None:
    """Say whether new rows differ from those that trained a model: a unit, a level, a mean, missing values, classes.

    With --target, also whether more of them are answered wrongly, or numbers by more, than of the rows held out in
    training.

    The columns that the model acquires are tested, and all tests are corrected together: of batches that do not
    differ, at most 5 % are said to. The shares of the answers are shown without a test.

    Exit status: 0 if nothing differs and no promise is broken, 3 if something does, 2 if the rows cannot be read or the
    model file has no summary of its training (it is of fsgym 0.2.0; train the model again).

    With --json, one object: model, data, rows, differs, comparison (rows, columns, tests, errors_tested, and
    differences: column, "" for the classes and the errors, kinds, p_value, n_rows, factor, text), answers (by label:
    share, share_in_training), promise (a list, empty without labels: risk, n, loss, p_value, power, grouped, refers,
    is_broken, by and group, which name the part of the rows that is tested), and remark: why errors, parts or the
    promise are not tested, and whether rows were used in training.

    Example: fsgym monitor model.safetensors new.csv --target died
    """
    check_model(model)
    check_data(data, data_dir)
    check_missing_columns(missing_columns)
    from fsgym.cli.model_data import ModelData, labelled_data

    opened = ModelData.open(model, {"target": target, "numeric": numeric, **signs}, case_price)
    summary = opened.classifier.training_summary_
    if summary is None:
        raise ValueError(f"{model} has no summary of its training to compare with; train the model again")
    codes, labels, groups, remarks = None, None, None, []
    with options.warnings_printed():
        promise = opened.classifier.promise_
        by = "" if promise is None else promise.by
        table, loaded = opened.read(data, data_dir, (by,) if by else ())
        if target is None and loaded is None:
            rows = opened.rows_of(table, data, missing_columns)
        else:
            labelled = labelled_data(opened, data, table, loaded, missing_columns)
            rows, codes, groups = labelled.rows, labelled.loaded.dataset.y, labelled.loaded.dataset.row_groups
            labels = labelled.loaded.dataset.target
            remarks += [said] if (said := labelled.caution(np.arange(len(rows)))) else []
        classifier = opened.classifier_for(table.columns)
        cases = opened.with_prices(rows, table, data) if codes is None else labelled.loaded.dataset
        answers = classifier.trajectories(cases).answers
    compared = opened.compare(rows, table.columns, labels, answers)
    assert compared is not None
    if not compared.errors_tested:
        why = NO_LABELS if codes is None else NOT_COUNTED
        remarks.insert(0, f"Whether the model errs more than before is not tested: {why}.")
    promise, watched = classifier.promise_, []
    if codes is not None and promise is not None and promise.promises:
        if promise.is_by(classifier.arrangement_.rows(labelled.loaded.dataset.X), codes):
            remarks.append(CALIBRATED_ON)
        parts = None
        if by in table.columns:  # of calibrated rows none is empty
            parts = _parts_of(table[by], promise)
        watched = promise.watch(answers, codes, classifier.rules_.answer_costs, groups, parts)
        if promise.by:
            remarks += _parts_not_tested(promise, parts, table.columns)
    if promise is not None and promise.risks and not promise.promises:
        remarks.insert(0, promise.sentences()[0])
    elif promise is not None and promise.risks and not watched:
        reason = "that needs --target" if codes is None else "none of these rows counts"
        if promise.grouped and codes is not None and groups is None:
            reason = "it is of means over groups of rows, and these have no groups"
        remarks.insert(0, f"The promise is not tested: {reason}.")
    differs = bool(compared.differences) or any(risk.is_broken for risk in watched)
    shares = _shares(classifier, summary, answers)
    if as_json:
        tested = [w._asdict() | {"risk": w.risk._asdict(), "is_broken": w.is_broken} for w in watched]
        head = {"model": str(model), "data": data, "rows": len(rows), "differs": differs}
        print_json(
            head | {"comparison": compared.as_json(), "answers": shares, "promise": tested, "remark": " ".join(remarks)}
        )
    else:
        for risk in sorted(watched, key=lambda risk: not risk.is_broken):
            show(f"{'Broken: ' if risk.is_broken else ''}{risk.sentence()}")
        of_target = "classes" if classifier.bins_ is None else "numbers"
        _print_comparison(compared, data, summary, {"classes": of_target, "errors": "errors"})
        _print_answers(shares)
        for remark in remarks:
            show(remark)
    if differs:
        raise typer.Exit(DIFFERS)


def _parts_of(cells: pd.Series, promise: Any) -> list[str]:
    """Which value of the column of a promise each row has: one of the promise, or another one."""
    from fsgym.data.cells import find_level, level_places, level_texts

    places, parts = level_places(promise.parts), []
    for text in level_texts(cells):
        place = None if text is None else find_level(text, places)
        parts.append(NO_PART if text is None else text if place is None else promise.parts[place])
    return parts


def _parts_not_tested(promise: Any, parts: list[str] | None, columns: Iterable[str]) -> list[str]:
    """Of a promise for each value of a column: that there is no such column, or which values it was not made for."""
    if parts is None:
        hint = did_you_mean(promise.by, columns).removeprefix("; ")
        said = f"It is promised for each {promise.by}, which these rows lack: only all rows together are tested"
        return [f"{said} ({hint})." if hint else f"{said}."]
    new = [part for part in dict.fromkeys(parts) if part not in promise.parts]
    if not new:
        return []
    n_rows = sum(part in new for part in parts)
    rows = counted(n_rows, "row")
    return [f"Nothing is promised for {promise.by} {listing(new, 5)}, which the calibration lacked ({rows})."]


def _print_comparison(compared: Comparison, data: str, summary: TrainingSummary, names: Mapping[str, str]) -> None:
    counts = (
        f"{counted(compared.n_rows, 'row')} of {data}, {summary.n_rows:,} of the training; "
        f"{counted(compared.n_columns, 'column')}"
    )
    if not compared.differences:
        show(f"No difference is found ({counts}, {compared.n_tests} tests).")
        return
    found = counted(len(compared.differences), "difference")
    show(f"{found} ({counts}, {compared.n_tests} tests, corrected together):")
    for difference in compared.differences:
        p_value = difference.p_value
        exact = f"p = {p_value:.2g}" if p_value >= LEAST_P else f"p < {LEAST_P:g}"
        show(f"  {difference.column or f'{names[difference.kinds[0]]}:'} {difference.text} ({exact})")
    if compared.emptied:
        show(
            f"Of {listing(compared.emptied, 5)}: empty cells count as values that cannot be had; of a list of "
            "fsgym predict --next, monitor the completed table."
        )
    if any("errors" in difference.kinds for difference in compared.differences):
        show("fsgym evaluate shows what the errors cost.")
    if min(difference.p_value for difference in compared.differences) > SURE_P:
        show(
            f"None is sure (each p is above {SURE_P:g}; of 20 sets of rows that do not differ, one shows as much): "
            "look at what is named, and run monitor on the next rows before you change anything."
        )


def _shares(classifier: Any, summary: TrainingSummary, answers: Any) -> dict[str, dict[str, float]]:
    """The share of each answer, and that in the training, by label; of a numeric target by range."""
    import numpy as np

    from fsgym.session.case import labels_of

    classes, all_answers = labels_of(classifier, classifier.rules_)
    names = [*classes, *all_answers[len(classes) :]]
    counts = np.bincount(answers, minlength=len(names))
    return {
        str(name): {"share": float(k / counts.sum()), "share_in_training": float(n / summary.n_rows)}
        for name, k, n in zip(names, counts, summary.answers)
    }


def _print_answers(shares: dict[str, dict[str, float]]) -> None:
    said = []
    for label, share in list(shares.items())[:ANSWERS_SHOWN]:
        new, before = (f"{100 * share[name]:.3g} %" for name in ("share", "share_in_training"))
        said.append(f"{one_line(label, LABEL_LENGTH)} {new} (in training {before})")
    more = ", ..." if len(shares) > ANSWERS_SHOWN else ""
    show(f"Answers of the model, not tested: {', '.join(said)}{more}")
