"""The command ``predict``: the answers of a model for the rows of a file."""

from __future__ import annotations

import csv
import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fsgym.cli import options
from fsgym.cli.mistakes import (
    check_data,
    check_missing_columns,
    check_model,
    check_no_result,
    no_result_proposed,
    refuse_folder,
)
from fsgym.cli.terminal import opened_output, say, show, write_utf8
from fsgym.support.extras import require
from fsgym.support.writing import opened_whole, writable_folder
from fsgym.text.messages import brief, counted, listing, option_text, visible

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.cli.model_data import ModelData
    from fsgym.data.dataset import Dataset
    from fsgym.session.row_steps import RowCases

    Rows = pd.DataFrame | Dataset | RowCases  # a Dataset where rows have prices of their own, cases with --next
    Parts = Iterable[tuple[Rows, pd.DataFrame]]  # rows, and the columns of them that are copied

ROWS_PER_CALL = 10_000  # classified and written at a time
SUFFIXES_OF_OUTPUT = (".csv", ".xlsx", ".jsonl")
ROW_IN_SHEET = "row (from 0)"  # beside the row numbers of a spreadsheet, which count the names, too
ROWS_OF_SHEET = 2**20 - 1  # below the header, by the format
LEAST_WIDTH, MOST_WIDTH = 12, 60  # of a column of a sheet, in characters; a date needs 11
FIRST_YEAR_OF_SHEETS = 1901  # 1900 has a day in sheets that it had not
NEXT_HINT = "; --next says which to acquire next"
# Of the kinds of differences from the training rows, those of a cell alone. What is filled by now is no random choice.
KINDS_OF_CELLS = {"range", "new level"}


@options.with_sign_options
def predict(
    model: options.ModelArgument,
    data: options.RowsArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A .csv, .xlsx or .jsonl file; default: CSV on standard output."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMNS", help="Columns to copy to the output, such as identifiers; separate several by commas."
        ),
    ] = None,
    next_step: Annotated[
        bool,
        typer.Option(
            "--next",
            help="What to acquire next for each row, by the cells that are filled: an empty cell, or a column that the "
            "file lacks, is not acquired yet.",
        ),
    ] = False,
    no_result: options.NoResultOption = None,
    missing_columns: options.MissingColumnsOption = "error",
    numeric: options.NumericOption = None,
    case_price: options.CasePriceOption = None,
    data_dir: options.DataDirOption = None,
    strict: options.StrictOption = False,
    **signs: Any,
) -> None:
    """Classify the rows of a file: the answer, what was acquired in order, and the price paid.

    Columns are found by name, in any order; other columns are ignored.

    Rows that differ from those of the training, such as by a unit, are classified, and one line on stderr says so.

    A Parquet or .npz file of more than 50 million values is read in blocks.

    The output has row (from 0: the first one below the names), the columns of --keep, answer, the probability of each
    class, acquired, and paid.

    acquired has the names in order, separated by semicolons; in JSONL it is a list with values and prices. A workbook
    (.xlsx) has the heading "row (from 0)" there, as a sheet counts its own rows from 1, and shows numbers with the
    decimal sign of the computer that opens it.

    With --next it has row, the columns of --keep, next (the acquisition to make now; empty where the model stops),
    price, answer (if given now), the probability of each class, expected_cost_stop and expected_cost_go_on (of the
    case from here on, in units of error costs, if it is answered now, and if one more acquisition is made). A cell with
    the text of --no-result is neither known nor to come.

    Example: fsgym predict model.safetensors new.csv -o answers.csv --keep pid
    """
    check_model(model)
    check_missing_columns(missing_columns)
    if next_step and missing_columns != "error":
        raise ValueError("--next takes what the file lacks as not acquired yet; leave --missing-columns out")
    check_no_result(no_result, next_step)
    check_data(data, data_dir)
    if output is not None and output.suffix not in SUFFIXES_OF_OUTPUT:
        raise ValueError(f"--output must end in {listing(SUFFIXES_OF_OUTPUT)}, got {output}")
    if output is not None and output.suffix == ".xlsx":
        require("excel", f"writing {output}")
    refuse_folder(output, "--output", "the answers")
    from fsgym.cli.model_data import ModelData
    from fsgym.data.reading.model_tables import refuse_unknown_columns

    if output is not None:
        if output.exists() and Path(data).exists() and output.samefile(data):
            raise ValueError(f"--output must be another file than the data, got {output}")
        writable_folder(output.parent)
    copied = tuple(dict.fromkeys(options.comma_separated(keep)))
    opened = ModelData.open(model, {"numeric": numeric, **signs}, case_price).with_no_result(no_result)
    with options.warnings_printed(), no_result_proposed(next_step, no_result):
        table, tables, n_rows = opened.read_in_parts(data, data_dir, copied)
        if output is not None and output.suffix == ".xlsx" and n_rows > ROWS_OF_SHEET:
            raise ValueError(f"a sheet has at most {ROWS_OF_SHEET:,} rows, got {n_rows:,}; write a .csv file")
        refuse_unknown_columns(copied, table, f"--keep, {data}")
        if next_step:
            writer, parts = _next_steps(opened, data, (table, tables), copied, strict)
        else:
            writer, parts = _answers(opened, data, (table, tables), copied, missing_columns, strict)
        if output is None:
            write_utf8()
        if output is not None and output.suffix == ".xlsx":
            writer.write_workbook(output, parts)
        else:
            write = writer.write_jsonl if output is not None and output.suffix == ".jsonl" else writer.write_csv
            with opened_output(output) as file:
                write(file, parts)
    if output is not None:
        show(f"{counted(n_rows, 'row')} of {data}{writer.summary}: {output}")
    if isinstance(writer, NextWriter) and writer.known_asked:
        say(_known_asked_text(writer.known_asked, data, no_result))
    if opened.classifier.rules_.costs_by_case:
        say(opened.prices_in_words)


def _known_asked_text(rows: Mapping[str, int], data: str, no_result: str | None) -> str:
    """What to do with empty cells of what is always known; ``rows`` counts those where it comes next, by name."""
    counts = [f"{counted(n, 'row')} for {brief(name)}" for name, n in rows.items()]
    told = f"write {brief('no result')} there and pass {option_text('no_result', 'no result')}"
    if no_result is not None:
        told = f"write {brief(no_result.strip())} there"
    return (
        f"{data} has no value in {listing(counts, 5)}, which the model always knows, so that it comes next: fill it "
        f"in, or, where it cannot be had, {told}"
    )


def _answers(
    opened: ModelData,
    data: str,
    read: tuple[pd.DataFrame, Iterable[pd.DataFrame]],
    copied: tuple[str, ...],
    missing_columns: str,
    strict: bool,
) -> tuple[Writer, Parts]:
    """The writer of the answers, and the rows; says how they differ from the training."""
    table, tables = read
    rows = opened.rows_of(table, data, missing_columns, NEXT_HINT)
    opened.warn_of_differences(opened.compare(rows, table.columns), data, strict)
    empty = [name for name in opened.columns.names if name in table.columns and table[name].isna().all()]
    if empty:
        say(f"{data} has no value of {listing(map(repr, empty), 5)}{NEXT_HINT}")
    chosen = ((part, opened.rows_of(part, data, missing_columns, NEXT_HINT)) for part in tables)
    parts = ((opened.with_prices(own, part, data), part.loc[:, list(copied)]) for part, own in chosen)
    return Writer(opened.classifier_for(table.columns), copied), parts


def _next_steps(
    opened: ModelData,
    data: str,
    read: tuple[pd.DataFrame, Iterable[pd.DataFrame]],
    copied: tuple[str, ...],
    strict: bool,
) -> tuple[Writer, Parts]:
    """The writer of next steps, and the cases; says what is lacking, and which cells training did not have."""
    from fsgym.data.dataset import Dataset
    from fsgym.session.row_steps import RowCases

    table, tables = read
    model = opened.classifier
    writer = NextWriter(model, copied)
    lacking = columns_not_acquired(opened, data, table, copied)
    no_result = opened.no_result  # of the whole table, which then is one part
    opened.say_where_no_result(data)

    def rows_of(part: pd.DataFrame) -> pd.DataFrame:
        return opened.rows_of(part.assign(**dict.fromkeys(lacking, np.nan)), data, "error")

    def cases(part: pd.DataFrame) -> RowCases:
        rows = rows_of(part)
        priced = opened.with_prices(rows, part, data)
        prices = priced.case_costs if isinstance(priced, Dataset) else None
        lost = None if no_result is None else no_result.of_columns(opened.columns.names, len(part))
        return RowCases.of(model, rows, prices, lost)

    def kept(part: pd.DataFrame) -> pd.DataFrame:
        chosen = part.loc[:, list(copied)]
        return chosen if no_result is None else no_result.put_back(chosen)

    compared = opened.compare(rows_of(table), table.columns)
    if compared is not None:
        of_cells = [d for d in compared.differences if d.factor is not None or KINDS_OF_CELLS & {*d.kinds}]
        compared = replace(compared, differences=tuple(of_cells), emptied=())
    opened.warn_of_differences(compared, data, strict)
    return writer, ((cases(part), kept(part)) for part in tables)


def columns_not_acquired(opened: ModelData, data: str, table: pd.DataFrame, copied: tuple[str, ...] = ()) -> list[str]:
    """The columns of the model that a table for ``--next`` lacks, which it says; ValueError for columns renamed."""
    from fsgym.data.columns import absent_columns, renaming_text

    columns = opened.columns
    lacking = absent_columns(columns, table, data, "unavailable")
    left_out = {*copied, *opened.case_price.values()}
    if opened.trained_on is not None:
        read = opened.trained_on.reading
        left_out |= {*read.drop, read.target, read.row_groups}
    others = [str(name) for name in table.columns if name not in columns.names and name not in left_out]
    if renamed := renaming_text(lacking, others):
        raise ValueError(
            f"{data} lacks columns of the model, and has others of similar names that it does not use: {renamed}; for "
            "one that is another, add an empty column of the name in the model"
        )
    if lacking:
        say(f"{data} lacks {listing(map(repr, lacking), 5)}: not acquired yet in any row")
    rules = opened.classifier.rules_
    if rules.budget is not None or rules.budget_cost is not None:
        say("with --next the budget of the model is that of what comes from here on: filled cells do not count for it")
    return lacking


class Writer:
    """Writes the answers of a classifier, with columns that are copied."""

    sheet = "answers"

    def __init__(self, classifier: Any, copied: Sequence[str]) -> None:
        from fsgym.session.case import labels_of

        self.classifier, self.copied = classifier, list(copied)
        self.n_rows, self.n_special = 0, 0  # written so far, and those that are referred to a person
        self.classes = [str(c) for c in labels_of(classifier, classifier.rules_)[0]]
        self.has_probabilities = hasattr(classifier, "predict_proba")
        self.names = self._names([f"probability_{c}" for c in self.classes] if self.has_probabilities else [])
        self.header = ["row", *copied, *self.names]
        for name in copied:
            if self.header.count(name) > 1:
                raise ValueError(f"--keep names {brief(name)}, which is a column of the output; rename it in the data")

    @property
    def summary(self) -> str:
        """What is said of the rows that were written."""
        rules = self.classifier.rules_
        referred = "" if rules.refer_cost is None else f", {self.n_special} referred to {rules.refer_label}"
        return f" {'classified' if self.classifier.bins_ is None else 'answered'}{referred}"

    def write_csv(self, file: IO[str], parts: Parts) -> None:
        """Write the header and all rows as CSV."""
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(self.header)
        for copied, values in self._lines(parts):
            named = zip(self.names, values, strict=True)
            texts = [f"{v:.12g}" if isinstance(v, float) and name != "answer" else v for name, v in named]
            lines.writerow([*copied, *texts])

    def write_workbook(self, path: Path, parts: Parts) -> None:
        """Write the header and all rows as the sheet of an Excel workbook, in which no text is a formula.

        Dates are dates, the header stays in sight, and columns are as wide as their names, and those of acquisitions.
        """
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils import get_column_letter

        book = Workbook(write_only=True)
        sheet: Any = book.create_sheet(self.sheet)
        sheet.freeze_panes = "A2"
        header = [ROW_IN_SHEET, *self.header[1:]]
        for k, name in enumerate(header, 1):
            names = self.classifier.rules_.names if name in self.names and name in ("next", "acquired") else ()
            longest = max(map(len, (name, *names)))
            sheet.column_dimensions[get_column_letter(k)].width = min(max(longest + 2, LEAST_WIDTH), MOST_WIDTH)

        def cell(value: Any) -> Any:
            made = WriteOnlyCell(sheet, value=visible(value) if isinstance(value, str) else value)
            if isinstance(value, str):
                made.data_type = "s"
            return made

        try:
            sheet.append([cell(name) for name in header])
            for copied, values in self._lines(parts, _in_sheet):
                sheet.append([cell(value) for value in [*copied, *values]])
        finally:
            sheet.close()  # otherwise openpyxl complains later of a sheet that was not written to its end
        with opened_whole(path, binary=True) as file:
            book.save(file)

    def write_jsonl(self, file: IO[str], parts: Parts) -> None:
        """Write all rows, one JSON object per line."""
        for i, kept, found in self._records(parts):
            line = {"row": i, **dict(zip(self.copied, map(_copied, kept), strict=True)), **found}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _lines(self, parts: Parts, plain: Callable[[Any], Any] | None = None) -> Iterator[tuple[list, list]]:
        """What a table has of each row: its number and the copied cells, made ``plain``; the values of ``names``."""
        plain = plain or _copied
        for i, kept, found in self._records(parts):
            yield [i, *("" if (v := plain(value)) is None else v for value in kept)], self._values(found)

    def _records(self, parts: Parts) -> Iterator[tuple[int, list[Any], dict[str, Any]]]:
        """Of each row its number, the copied cells, and what is found, as JSON values."""
        for rows, copied in parts:
            table: Any = rows
            cells = [copied[name].array for name in self.copied]  # a row of a table would be of one type
            for first in range(0, len(copied), ROWS_PER_CALL):
                part = np.arange(first, min(first + ROWS_PER_CALL, len(copied)))
                chosen = table.iloc[part] if hasattr(table, "iloc") else table.rows(part)
                for i, found in enumerate(self._found(chosen), first):
                    yield self.n_rows, [column[i] for column in cells], found
                    self.n_rows += 1

    def _by_class(self, shares: NDArray[np.float64]) -> dict[str, float]:
        """The probabilities of a row, by class."""
        return {c: round(float(p), 6) for c, p in zip(self.classes, shares, strict=True)}

    def _names(self, probabilities: list[str]) -> list[str]:
        """The columns behind the copied ones."""
        return ["answer", *probabilities, "acquired", "paid"]

    def _values(self, found: dict[str, Any]) -> list[Any]:
        """The cells of ``_names``."""
        acquired = ";".join(step["name"] for step in found["acquired"])
        return [found["answer"], *found.get("probabilities", {}).values(), acquired, found["paid"]]

    def _found(self, rows: Any) -> Iterator[dict[str, Any]]:
        """Answer, probabilities, acquisitions and price of each row."""
        from fsgym.envs.trajectories import price_steps, values_as_text

        trajectories = self.classifier.trajectories(rows)
        shares = trajectories.probabilities if self.has_probabilities else None
        X, rules, columns, classes, case_costs = trajectories.table
        prices, labels = price_steps(rules, X, trajectories.order, case_costs), rules.answer_labels(classes)
        self.n_special += int((trajectories.answers == rules.n_classes).sum())
        for i, order in enumerate(trajectories.order):
            record: dict[str, Any] = {"answer": _plain(labels[trajectories.answers[i]])}
            if shares is not None:
                record["probabilities"] = self._by_class(shares[i])
            steps = [
                {
                    "name": rules.names[j],
                    "values": cells_by_name(X[i], rules.groups[j], columns),
                    "text": values_as_text(X[i], rules.groups[j], columns),
                    "price": float(price),
                }
                for j, price in zip(order[order >= 0].tolist(), prices[i])
            ]
            yield record | {"acquired": steps, "paid": float(prices[i].sum())}


class NextWriter(Writer):
    """Writes the next step of each case; ``n_special`` counts those that the model would answer.

    ``known_asked`` counts the rows by what is always known and comes next, as its cell is empty.
    """

    sheet = "next"

    def __init__(self, classifier: Any, copied: Sequence[str]) -> None:
        super().__init__(classifier, copied)
        self.known_asked: Counter[str] = Counter()

    @property
    def summary(self) -> str:
        return f", {self.n_rows - self.n_special} with a next acquisition, {self.n_special} to be answered now"

    def _names(self, probabilities: list[str]) -> list[str]:
        return ["next", "price", "answer", *probabilities, "expected_cost_stop", "expected_cost_go_on"]

    def _values(self, found: dict[str, Any]) -> list[Any]:
        shares, costs = found.get("probabilities", {}).values(), found["expected_cost"]
        return [found["next"], found["price"], found["answer"], *shares, costs["stop"], costs["go_on"]]

    def _found(self, rows: RowCases) -> Iterator[dict[str, Any]]:
        """What to acquire next, its price, answer and probabilities now, and both expected costs of each case."""
        from fsgym.session.row_steps import steps_of_rows

        steps, rules = steps_of_rows(self.classifier, rows), self.classifier.rules_
        labels = rules.answer_labels(self.classifier.answers_)
        self.n_special += int((steps.question < 0).sum())
        asked = steps.question[np.isin(steps.question, rules.always_known)].tolist()
        self.known_asked.update(rules.names[j] for j in asked)
        for i, j in enumerate(steps.question.tolist()):
            record = {"next": None if j < 0 else rules.names[j], "price": None if j < 0 else float(steps.price[i])}
            record["answer"] = _plain(labels[steps.answers[i]])
            if self.has_probabilities and steps.probabilities is not None:
                record["probabilities"] = self._by_class(steps.probabilities[i])
            costs = {"stop": _number(steps.stop_cost[i]), "go_on": _number(steps.go_on_cost[i])}
            yield record | {"expected_cost": costs}


def _number(value: float) -> float | None:
    """A number with 6 digits, None for NaN."""
    return None if value != value else float(f"{value:.6g}")


def cells_by_name(row: Any, features: Sequence[int], columns: Any) -> dict[str, Any]:
    """The cells of the columns that have some of the features of a row, by name."""
    cells = {}
    for k in dict.fromkeys(columns.column_of[list(features)].tolist()):
        places = columns.features[k]
        part = np.asarray(row[None, places.start : places.stop], dtype=np.float64)
        cell = columns[k].cells(part)[0]
        if isinstance(cell, float):  # 4.78 as it was in the file, and not 4.780000209 as float32 has it
            cell = None if np.isnan(cell) else columns[k].shortest(part[0, 0])
        cells[columns[k].name] = cell
    return cells


def _in_sheet(value: Any) -> Any:
    """A cell for a sheet: a date or a time of day as such, without the time where that is midnight.

    >>> _in_sheet(datetime.datetime(2026, 7, 19)), _in_sheet(datetime.datetime(1850, 7, 19))
    (datetime.date(2026, 7, 19), '1850-07-19 00:00:00')
    """
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return value
    if not isinstance(value, datetime.date) or value != value or value.year < FIRST_YEAR_OF_SHEETS:
        return _copied(value)
    if not isinstance(value, datetime.datetime):
        return value
    if value.tzinfo is not None:  # which no sheet has
        return _plain(value)
    moment = datetime.datetime.combine(value.date(), value.time())
    return moment.date() if moment.time() == datetime.time() else moment


def _copied(value: Any) -> Any:
    """A cell of the table as a JSON value: a number as it is written there, None where it is missing.

    >>> [_copied(v) for v in (np.float32(3.3), 2.0, np.nan, np.inf, 9007199254740993)]
    [3.3, 2, None, 'inf', 9007199254740993]
    """
    if not isinstance(value, float | np.floating):
        return _plain(value)
    number = float(str(value))  # the digits of a float32, and not those of the nearest float64
    if np.isinf(number):  # which JSON has not
        return str(number)
    return int(number) if number.is_integer() and abs(number) < 2**53 else _plain(number)


def _plain(value: Any) -> Any:
    """A cell or label as a JSON value; None where it is missing."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or (value == value) is not True:  # NaN, NaT and NA
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)
