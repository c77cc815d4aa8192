"""The command ``predict``: the answers of a model for the rows of a file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fsgym.cli import options
from fsgym.cli.mistakes import check_data, check_missing_columns, check_model, refuse_folder
from fsgym.cli.terminal import opened_output, say, show, write_utf8
from fsgym.support.extras import require
from fsgym.support.writing import opened_whole, writable_folder
from fsgym.text.messages import brief, listing, visible

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.data.dataset import Dataset

    Rows = pd.DataFrame | Dataset  # a Dataset where rows have prices of their own
    Parts = Iterable[tuple[Rows, pd.DataFrame]]  # rows, and the columns of them that are copied

ROWS_PER_CALL = 10_000  # classified and written at a time
SUFFIXES_OF_OUTPUT = (".csv", ".xlsx", ".jsonl")
ROW_IN_SHEET = "row (from 0)"  # beside the row numbers of a spreadsheet, which count the names, too
ROWS_OF_SHEET = 2**20 - 1  # below the header, by the format


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
    (.xlsx) shows numbers with the decimal sign of the computer that opens it.

    Example: fsgym predict model.safetensors new.csv -o answers.csv --keep pid
    """
    check_model(model)
    check_missing_columns(missing_columns)
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
    copied = tuple(options.comma_separated(keep))
    opened = ModelData.open(model, {"numeric": numeric, **signs}, case_price)
    with options.warnings_printed():
        table, tables, n_rows = opened.read_in_parts(data, data_dir, copied)
        if output is not None and output.suffix == ".xlsx" and n_rows > ROWS_OF_SHEET:
            raise ValueError(f"a sheet has at most {ROWS_OF_SHEET:,} rows, got {n_rows:,}; write a .csv file")
        refuse_unknown_columns(copied, table, f"--keep, {data}")
        rows = opened.rows_of(table, data, missing_columns)
        opened.warn_of_differences(opened.compare(rows, table.columns), data, strict)
        writer = Writer(opened.classifier_for(table.columns), copied)
        chosen = ((part, opened.rows_of(part, data, missing_columns)) for part in tables)
        parts = ((opened.with_prices(own, part, data), part.loc[:, list(copied)]) for part, own in chosen)
        if output is None:
            write_utf8()
        if output is not None and output.suffix == ".xlsx":
            writer.write_workbook(output, parts)
        else:
            write = writer.write_jsonl if output is not None and output.suffix == ".jsonl" else writer.write_csv
            with opened_output(output) as file:
                write(file, parts)
    if output is not None:
        rules = writer.classifier.rules_
        referred = "" if rules.refer_cost is None else f", {writer.n_referred} referred to {rules.refer_label}"
        show(f"{n_rows} rows of {data} classified{referred}: {output}")
    if opened.classifier.rules_.costs_by_case:
        say(opened.prices_in_words)


class Writer:
    """Writes the answers of a classifier, with columns that are copied."""

    def __init__(self, classifier: Any, copied: Sequence[str]) -> None:
        self.classifier = classifier
        self.n_rows, self.n_referred = 0, 0  # written so far, and those that are referred to a person
        from fsgym.session.case import labels_of

        classes = self.classes = [str(c) for c in labels_of(classifier, classifier.rules_)[0]]
        probabilities = [f"probability_{c}" for c in classes] if hasattr(classifier, "predict_proba") else []
        self.header = ["row", *copied, "answer", *probabilities, "acquired", "paid"]
        for name in copied:
            if self.header.count(name) > 1:
                raise ValueError(f"--keep names {brief(name)}, which is a column of the output; rename it in the data")

    def write_csv(self, file: IO[str], parts: Parts) -> None:
        """Write the header and all rows as CSV."""
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(self.header)
        for cells, shares, acquired, paid in self._lines(parts):
            lines.writerow([*cells, *(f"{p:.6g}" for p in shares), acquired, f"{paid:.12g}"])

    def write_workbook(self, path: Path, parts: Parts) -> None:
        """Write the header and all rows as the sheet of an Excel workbook, in which no text is a formula."""
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell

        book = Workbook(write_only=True)
        sheet = book.create_sheet("answers")

        def cell(value: Any) -> Any:
            made = WriteOnlyCell(sheet, value=visible(value) if isinstance(value, str) else value)
            if isinstance(value, str):
                made.data_type = "s"
            return made

        sheet.append([cell(name) for name in [ROW_IN_SHEET, *self.header[1:]]])
        for cells, shares, acquired, paid in self._lines(parts):
            sheet.append([cell(value) for value in [*cells, *shares, acquired, paid]])
        with opened_whole(path, binary=True) as file:
            book.save(file)

    def write_jsonl(self, file: IO[str], parts: Parts) -> None:
        """Write all rows, one JSON object per line."""
        for i, kept, found in self._records(parts):
            line = {"row": i, **{name: _plain(v) for name, v in kept.items()}, **found}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _lines(self, parts: Parts) -> Iterator[tuple[list, list[float], str, float]]:
        """What the columns of a table need of each row: number, copies and answer, probabilities, names, price."""
        for i, kept, found in self._records(parts):
            cells = [i, *("" if (v := _plain(value)) is None else v for value in kept), found["answer"]]
            acquired = ";".join(step["name"] for step in found["acquired"])
            yield cells, list(found.get("probabilities", {}).values()), acquired, found["paid"]

    def _records(self, parts: Parts) -> Iterator[tuple[int, pd.Series, dict[str, Any]]]:
        """Of each row its number, the copied cells, and answer, probabilities, acquisitions, price as JSON values."""
        for rows, copied in parts:
            table: Any = rows
            for first in range(0, len(copied), ROWS_PER_CALL):
                part = np.arange(first, min(first + ROWS_PER_CALL, len(copied)))
                chosen = table.iloc[part] if hasattr(table, "iloc") else table.rows(part)
                for i, found in enumerate(self._found(chosen), first):
                    yield self.n_rows, copied.iloc[i], found
                    self.n_rows += 1

    def _found(self, rows: Rows) -> Iterator[dict[str, Any]]:
        from fsgym.envs.trajectories import price_steps, values_as_text

        model = self.classifier
        trajectories = model.trajectories(rows)
        shares = trajectories.probabilities if hasattr(model, "predict_proba") else None
        X, rules, columns, classes, case_costs = trajectories.table
        prices, labels = price_steps(rules, X, trajectories.order, case_costs), rules.answer_labels(classes)
        self.n_referred += int((trajectories.answers == rules.n_classes).sum())
        for i, order in enumerate(trajectories.order):
            record: dict[str, Any] = {"answer": _plain(labels[trajectories.answers[i]])}
            if shares is not None:
                by_class = zip(self.classes, shares[i], strict=True)
                record["probabilities"] = {c: round(float(p), 6) for c, p in by_class}
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


def _plain(value: Any) -> Any:
    """A cell or label as a JSON value; None where it is missing."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or value != value:
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)
