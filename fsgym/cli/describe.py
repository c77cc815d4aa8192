"""The command ``describe``: the columns of a table, and what looks wrong with them; or what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsgym.cli import options
from fsgym.cli.terminal import console, show
from fsgym.data.repeated import DUPLICATES
from fsgym.text.html import HtmlTable
from fsgym.text.messages import listing

SIGN_NAMES = {"\t": "tab", " ": "space", "'": "apostrophe", ",": "comma", ".": "point", ";": "semicolon"}

if TYPE_CHECKING:
    import pandas as pd


@options.with_sign_options
def describe(
    data: Annotated[
        str,
        typer.Argument(
            help="A name from `fsgym datasets`, a CSV, Excel, Parquet or npz file, openml:NAME, or a model file.",
            autocompletion=options.complete_data,
        ),
    ],
    target: options.TargetOption = None,
    drop: options.DropOption = None,
    category: options.CategoryOption = None,
    numeric: options.NumericOption = None,
    costs: Annotated[Path | None, typer.Option(metavar="FILE", help="Prices of the columns, as in compare.")] = None,
    units: options.UnitsOption = None,
    row_groups: options.RowGroupsOption = None,
    case_price: options.CasePriceOption = None,
    data_dir: options.DataDirOption = None,
    **signs: Any,
) -> None:
    """Describe the columns of a table, and say which of them look wrong and which option resolves it.

    Also said: the rows of each class, rows that are equal to earlier ones, and columns that are copies of others.

    Of a model file it says what it was trained on, its columns, prices, rules and learner, which loss is expected,
    whether its probabilities are calibrated, and what it promises.

    Example: fsgym describe patients.csv --target died
    """
    from fsgym.datasets.description import described

    names = {"target": target, "drop": drop, "row_groups": row_groups}
    others = {"category": category, "numeric": numeric, "units": units, "case_price": case_price, **signs}
    if is_model_file(data):
        for option, value in {**names, "costs": costs, **others}.items():
            if value:
                raise ValueError(
                    f"--{option.replace('_', '-')} is for tables, and {data} is a model file; leave it out"
                )
        _describe_model(Path(data))
        return
    with options.warnings_printed():
        table = described(data, options.reading_of(others, **names), costs, data_dir)
    console().print(_table_of(table))
    odd = table[table["suspicion"] != ""]
    if len(odd):
        show()
    for row in odd.to_dict("records"):
        has = "has " if row["suspicion"][0].isdigit() else ""
        show(f"{row['column']} {has}{row['suspicion']}; {row['remedy']}")
    if table.attrs["repeated_rows"]:
        show()
        show(table.attrs["repeated_rows"])


def is_model_file(data: str) -> bool:
    """Whether an argument names a file that begins as model files do, a length of 8 bytes, then JSON, or would."""
    path = Path(data)
    try:
        if not path.is_file():
            return path.suffix == ".safetensors" and not path.exists()  # it is said that there is no such model file
        with path.open("rb") as file:
            head = file.read(9)
        return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < path.stat().st_size
    except (OSError, ValueError):  # what is wrong with such a name is said where it is read as data
        return False


def _describe_model(path: Path) -> None:
    from importlib import import_module

    from fsgym.cli.model_data import ModelData

    opened = ModelData.open(path, {})
    title, parts = import_module("agents.base").model_parts(opened.classifier)
    show(f"{path}: {title}")
    show(_training_text(opened.trained_on))
    for part in parts:
        if isinstance(part, HtmlTable):
            console().print(_plain_table(part))
        else:
            show(part)
    for sentence in _expectations(opened.classifier):
        show(sentence)


def _training_text(trained_on: Any) -> str:
    """The data that a model was trained on, and how they were read; ``trained_on`` is a DataOrigin or None."""
    if trained_on is None:
        return "The file does not say which rows it was trained on."
    from fsgym.cli.case_prices import in_words

    read, part = trained_on.reading, "all" if trained_on.split == "all" else f"the {trained_on.split} part of the"
    how = [f"target {read.target}"] if read.target else []
    for option in ("drop", "category", "numeric"):
        names = getattr(read, option)
        how += [f"{option} {listing(names)}"] if names else []
    for option in ("separator", "decimal", "thousands", "censored", "sheet", "header_row"):
        value = getattr(read, option)
        how += [] if value is None else [f"{option.replace('_', ' ')} {SIGN_NAMES.get(value, value)}"]
    if read.case_price:
        how.append(f"prices of {in_words(read.case_price)}")
    if read.row_groups:
        equal = read.row_groups == DUPLICATES
        how.append("equal rows together" if equal else f"rows with the same {read.row_groups} together")
    return f"Trained on {part} {trained_on.n_samples:,} rows of {'; '.join([trained_on.source, *how])}."


def _expectations(model: Any) -> list[str]:
    """The loss that training expects, answers to held-out rows, and whether it is calibrated and promises anything."""
    from fsgym.session.held_out import held_out_text

    sentences = []
    report: Any = getattr(model, "report_", None)
    for trial in getattr(report, "trials", ()):
        if trial.learner == report.learner and trial.loss == trial.loss:
            error = "" if trial.error != trial.error else f" (standard error {trial.error:.2g})"
            how = "on the training rows out of fold, which is somewhat too low"
            at = "" if report.compared_at is None else f" at lambda {report.compared_at:g}, which is not its own"
            sentences.append(f"Expected loss per case{at}: {trial.loss:.4g}{error}, {how}.")
    sentences.append(held_out_text(model, is_told=True))
    calibrated = model.policy_.is_tempered
    sentences.append(
        "Its probabilities are calibrated by temperatures." if calibrated else "Its probabilities are not calibrated."
    )
    if model.promise_ is None and model.bins_ is None:
        sentences.append("It promises nothing; fsgym calibrate makes it promise an error or a recall.")
    return sentences


def _plain_table(part: HtmlTable) -> Any:
    """A table of ``html_block`` for the terminal."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in part.header:
        table.add_column(str(name), overflow="fold")
    for row in part.rows:
        table.add_row(*(" ".join(_cell(value).split()) for value in row))
    return table


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _table_of(described: pd.DataFrame) -> Any:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    shown = [name for name in ("price", "unit") if described[name].replace("", None).notna().any()]
    for name in ("column", "type", "levels or range"):
        table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=30 if name == "column" else None)
    for name in ("missing", *shown):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in described.to_dict("records"):
        bounds = range_text(row["low"], row["high"]) if row["low"] == row["low"] else ""
        cells = [row["column"], row["type"], row["levels"] or bounds, whole_per_cent(row["missing"])]
        for name in shown:
            value = row[name]
            cells.append(value if isinstance(value, str) else f"{value:g}" if value == value else "")
        table.add_row(*(" ".join(str(c).split()) for c in cells), "!" if row["suspicion"] else "")
    return table


def whole_per_cent(share: float) -> str:
    """A share in whole per cent; "" for none.

    >>> whole_per_cent(0.004), whole_per_cent(0.25), whole_per_cent(0.999), whole_per_cent(0.0)
    ('<1%', '25%', '>99%', '')
    """
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}" if share else ""


def range_text(low: float, high: float) -> str:
    """A range of numbers with 6 digits, or with as many as its width needs.

    >>> range_text(-3.9, 2.12), range_text(1699999000.25, 1700000999.25)
    ('-3.9 to 2.12', '1699999000 to 1700000999')
    """
    far = max(abs(low), abs(high)) > 250 * (high - low) > 0
    return f"{low:.10g} to {high:.10g}" if far else f"{low:g} to {high:g}"
