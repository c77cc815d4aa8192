"""The command ``explain``: the path of one row of a file in sentences."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fsgym.cli import options
from fsgym.cli.mistakes import (
    check_data,
    check_missing_columns,
    check_model,
    check_no_result,
    no_result_proposed,
)
from fsgym.text.messages import brief
from fsgym.text.sentences import belief_text, beliefs_in_words, price_text
from fsgym.text.speech import number_text, speaking

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.cli.model_data import ModelData
    from fsgym.data.columns import Columns
    from fsgym.datasets.folder import LoadedDataset


@options.with_sign_options
def explain(
    model: options.ModelArgument,
    data: options.RowsArgument,
    row: Annotated[int, typer.Option(help="Number of the row, from 0: the first one below the names.")] = 0,
    next_step: Annotated[
        bool,
        typer.Option(
            "--next",
            help="Explain what `fsgym predict --next` says of the row: its filled cells are known, and empty ones "
            "are not acquired yet.",
        ),
    ] = False,
    no_result: options.NoResultOption = None,
    missing_columns: options.MissingColumnsOption = "error",
    numeric: options.NumericOption = None,
    case_price: options.CasePriceOption = None,
    data_dir: options.DataDirOption = None,
    **signs: Any,
) -> None:
    """Explain the answer for one row of a file: what was acquired, why, what it cost, and what the model believed.

    The model begins with nothing and acquires cells of the row, in its order; others it leaves unused, filled or not.
    With --next it begins with all filled cells.

    Example: fsgym explain model.safetensors new.csv --row 3
    """
    check_model(model)
    check_data(data, data_dir)
    check_missing_columns(missing_columns)
    check_no_result(no_result, next_step)
    if next_step and missing_columns != "error":
        raise ValueError("--next takes what the file lacks as not acquired yet; leave --missing-columns out")
    from fsgym.cli.ask_dialog import Screen
    from fsgym.cli.model_data import ModelData
    from fsgym.cli.predict import columns_not_acquired
    from fsgym.session.held_out import terminal_speech

    opened = ModelData.open(model, {"numeric": numeric, **signs}, case_price).with_no_result(no_result)
    with options.warnings_printed(), no_result_proposed(next_step, no_result):
        table, loaded = opened.read(data, data_dir)
        if next_step:
            table = table.assign(**dict.fromkeys(columns_not_acquired(opened, data, table), np.nan))
        rows = opened.rows_of(table, data, missing_columns)
        if not 0 <= row < len(rows):
            allowed = f"from 0 to {len(rows) - 1}" if len(rows) else "that of a row, and there are none"
            raise ValueError(f"--row must be {allowed}, got {brief(row)}")
        values = known_values(rows.iloc[[row]], opened.columns)
        prices = opened.prices_of(rows.iloc[[row]], table.iloc[[row]], data)
        trained = row in _training_rows(opened, data, table, loaded, missing_columns)
    screen = Screen()
    screen.show(f"Row {row} of {data}", "bold")
    if trained:
        screen.show("The model was trained on this row, so its answer here says little of its answers for new cases.")
    classifier = opened.classifier if next_step else opened.classifier_for(table.columns)
    if next_step:
        lacks = "" if no_result is None else f"; {brief(no_result.strip())} says that there is no result"
        screen.show(f"All filled cells are known, and empty ones are not acquired yet{lacks}.")
    elif None in values.values() and not getattr(classifier, "evidence_", ()):
        screen.show(
            "A cell without a value counts as one that this case cannot get, and a filled one is used only if the "
            "model acquires it. With --next, as in fsgym predict --next, all filled cells are known, and empty ones "
            "are not acquired yet."
        )
    with speaking(terminal_speech(classifier)):
        if next_step:
            lost = {} if opened.no_result is None else opened.no_result.cells
            says_nothing = [name for name in rows if rows[name].notna().iloc[row] and values[str(name)] is None]
            says_nothing += [name for name, found in lost.items() if found[row]]
            paragraphs = next_in_words(classifier, values, says_nothing, prices)
        else:
            paragraphs = path_in_words(classifier, values, prices)
    for text in paragraphs:
        screen.show(text.lstrip(), indent=len(text) - len(text.lstrip()))


def _training_rows(
    opened: ModelData, data: str, table: pd.DataFrame, loaded: LoadedDataset | None, missing_columns: str
) -> Collection[int]:
    """The rows that the model was trained on; none without labels, and where these show that it was on other data."""
    from fsgym.cli.model_data import labelled_data

    try:
        with warnings.catch_warnings(action="ignore"):  # they were shown for the same data without labels
            return labelled_data(opened, data, table, loaded, missing_columns).training.tolist()
    except ValueError:  # no labels, or such as are no classes of the model
        return ()


def known_values(row: pd.DataFrame, columns: Columns) -> dict[str, Any]:
    """The values of a row (a table of one) by column: numbers, bools and levels; None where it has no value."""
    from fsgym.cli.predict import cells_by_name

    named = row.set_axis(list(columns.names), axis=1)
    return cells_by_name(columns.encode(named)[0], range(columns.n_features), columns)


def next_in_words(
    model: Any, values: dict[str, Any], unavailable: Sequence[str], prices: dict[str, float] | None = None
) -> list[str]:
    """What to acquire next of a case, or its answer, and why.

    Parameters
    ----------
    model : fitted classifier
    values : dict column -> value, None where it is not known yet
    unavailable : names of columns that cannot be obtained
    prices : dict acquisition -> price of this case, or None for those of the model
    """
    known = {name: value for name, value in values.items() if value is not None}
    session = model.session(known, unavailable, accept=True, prices=prices)
    question, answers = session.next(), "Refer to" if session.step.refers else "Answer:"
    decided = f"{answers} {session.step.answer}."
    if question is not None:
        decided = f"Next: {question.name} ({price_text(question.price)})."
    return [f"Known: {', '.join(known) or 'nothing'}.", f"{decided} {session.why()}"]


def path_in_words(model: Any, values: dict[str, Any], prices: dict[str, float] | None = None) -> list[str]:
    """The path of a case: why each acquisition is made, and below it, indented, its values; at the end the answer.

    Parameters
    ----------
    model : fitted classifier
    values : dict column -> value, None where the case has none
    prices : as in ``next_in_words``
    """
    from fsgym.session.words import entry_text, price_and_paid

    missing = [name for name, value in values.items() if value is None]
    session, evidence = model.session(missing=missing, prices=prices), getattr(model, "evidence_", ())
    paragraphs = [f"{'Missing' if evidence else 'Unavailable'}: {', '.join(missing)}."] if missing else []
    if evidence:
        paragraphs.append(f"The model knows from the start whether there is a value of {', '.join(evidence)}.")
    labels = None if session.probabilities is None else list(session.probabilities)
    beliefs = [list((session.probabilities or {}).values())]
    if labels is not None:
        paragraphs.append(f"Before the first acquisition: {belief_text(beliefs[0], beliefs[0], labels)}.")
    number = 0
    while question := session.next():
        number += 1
        why = session.why()
        session.answer(question.name, {c.name: values[c.name] for c in question.columns}, accept=True)
        beliefs.append(list((session.probabilities or {}).values()))
        change = "" if labels is None else f": {beliefs_in_words(beliefs, labels)[-1]}"
        entry = session.log()[-1]
        price = price_text(entry.price) if number == 1 else price_and_paid(entry.price, entry.spent)
        acquired = entry_text(entry, session.model.acquisitions_.columns)
        paragraphs += [f"{number}. {why}", f"   {acquired} ({price}){change}."]
    paid = f"paid {number_text(session.spent)} for {number} acquisition{'s' * (number != 1)}"
    ending = "Refer to" if session.step.refers else "Answer:"
    return [*paragraphs, f"{ending} {session.step.answer}, {paid}. {session.why()}"]
