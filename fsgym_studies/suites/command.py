"""The command ``fsgym benchmark``: run a suite with some methods, and print where one of them stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from fsgym.cli.terminal import console, show
from fsgym_studies.command import INTERRUPTED, Options, run_study
from fsgym_studies.common.data import missing_datasets
from fsgym_studies.suites import SUITES, find_suite
from fsgym_studies.suites.methods import chosen_methods
from fsgym_studies.suites.planning import study_of


def run_suite(
    name: str,
    methods: tuple[str, ...] | None,
    own: Mapping[str, Any],
    options: Options,
    n_runs: int | None = None,
    first_run: tuple[str, ...] = (),
) -> int:
    """Run a suite and write its report; returns the exit status of the command.

    Parameters
    ----------
    name : str, a key of ``SUITES``
    methods : tuple of str, names of methods; None for ``BENCHMARK_METHODS``
    own : mapping name -> method of the user, as ``load_method`` returns it
    options : Options, ``full`` is False for a quick run
    n_runs : int, only so many runs of each data set; None for all
    first_run : tuple of str, names of further methods, for the first run of each data set only
    """
    study = study_of(find_suite(name), chosen_methods(methods, own, first_run), options.command, n_runs)
    status = run_study(study, options)
    if not options.full and status != INTERRUPTED:
        show("Quick: fewer rows and splits than the full suite, for a first look; the report says how many.")
    return status


def list_suites(data_dir: Path | None = None) -> None:
    """Print the suites, and which data sets they lack."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("")
    for name in SUITES:
        lacking = missing_datasets(find_suite(name).datasets, data_dir)
        table.add_row(name, find_suite(name).title + (f"; lacks {', '.join(lacking)}" if lacking else ""))
    console().print(table)
    print("\nStart with: fsgym benchmark NAME --quick")
