"""``fsgym datasets``: list the data sets that are available by name, and download those of a study."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from fsgym.cli import options
from fsgym.cli.mistakes import existing_folder
from fsgym.cli.terminal import console, say, show
from fsgym.text.messages import explain_unknown

datasets_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@datasets_app.callback()
def list_available(context: typer.Context, data_dir: options.DataDirOption = None) -> None:
    """List the data sets that are available by name, or fetch those of a study.

    Example: fsgym datasets
    """
    if context.invoked_subcommand is not None:
        return
    from rich.table import Table

    from fsgym.datasets import list_datasets

    catalog = list_datasets(data_dir)
    table = Table(box=None, header_style="bold", pad_edge=False)
    headings = {
        "n_samples": "rows",
        "n_features": "features",
        "n_classes": "classes",
        "official_split": "official split",
    }
    for column in catalog.columns:
        left = column in ("name", "source")
        table.add_column(str(headings.get(column, column)), justify="left" if left else "right", no_wrap=left)
    for row in catalog.itertuples(index=False):
        table.add_row(*(_cell_text(v) for v in row))
    console().print(table)


@datasets_app.command(short_help="Download the data sets of a study.")
def fetch(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="STUDY...", help="Names of studies, or of data sets.")],
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder to write into, created if it does not exist; default: $FSGYM_DATA."),
    ] = None,
    downloads: Annotated[
        Path | None,
        typer.Option(
            "--from",
            callback=existing_folder,
            help="Folder with files that you downloaded yourself; they are not downloaded again.",
        ),
    ] = None,
) -> None:
    """Download the data sets of a study, convert them, and check them by their SHA-256.

    What each set is, and what to do about those without a public address: docs/data.md.

    Example: fsgym datasets fetch gbfs --data-dir data
    """
    from fsgym.datasets import fetch_dataset

    outer = context.parent.params.get("data_dir") if context.parent is not None else None
    folder = data_dir or outer or os.environ.get("FSGYM_DATA")
    wanted = _datasets_of(names)
    if not folder:
        raise ValueError("name the folder to write into with --data-dir or the variable FSGYM_DATA")
    n_failed = 0
    for name in wanted:
        try:
            show(_outcome(fetch_dataset(name, folder, downloads)))
        except (OSError, ValueError) as error:
            n_failed += 1
            say(f"{name}: {error}")
    if n_failed:
        say(f"{n_failed} of {len(wanted)} data sets could not be fetched; run it again for what has an address")
        raise typer.Exit(1)


def _datasets_of(names: list[str]) -> list[str]:
    """The data sets that the studies, suites and names need, each once; ValueError for an unknown name."""
    from fsgym.datasets.folder import EMBEDDED
    from fsgym.datasets.public.record import public_sets

    studies: Any = import_module("fsgym_studies")
    suites: Any = import_module("fsgym_studies.suites")
    known, wanted = {*EMBEDDED, *public_sets()}, []
    for name in names:
        if name in studies.STUDIES:
            wanted += studies.find_study(name).datasets
        elif name in suites.SUITES:
            wanted += suites.find_suite(name).datasets
        elif name in known:
            wanted.append(name)
        else:
            raise ValueError(
                explain_unknown("study, suite or data set", name, [*studies.STUDIES, *suites.SUITES, *sorted(known)])
            )
    return list(dict.fromkeys(wanted))


def _outcome(fetched: Any) -> str:
    """What was done with a data set, in a line."""
    line = f"{fetched.name}: {fetched.state}"
    if fetched.files:
        line += f" to {', '.join(str(path) for path in fetched.files)}, with the recorded SHA-256"
    if fetched.untried:
        line += f" (no download from {', '.join(fetched.untried)} had been tried before this version)"
    return line


def _cell_text(value: Any) -> str:
    """A cell of the list of data sets: nothing for NaN and False, yes for True."""
    import pandas as pd

    return "" if pd.isna(value) else {"True": "yes", "False": ""}.get(str(value), str(value))
