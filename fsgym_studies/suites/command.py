"""The command ``fsgym benchmark``: run a suite with some methods, and print where one of them stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from fsgym.cli.terminal import console, show
from fsgym.comparison.protocol import seed_of
from fsgym.runner import Task
from fsgym_studies.command import INTERRUPTED, Options, run_study
from fsgym_studies.common.data import missing_datasets
from fsgym_studies.common.plan import DataFolder, study_task
from fsgym_studies.common.study import Study
from fsgym_studies.suites import SUITES, find_suite
from fsgym_studies.suites.cell import METHOD_CELL
from fsgym_studies.suites.leaderboard import conclusion_of
from fsgym_studies.suites.methods import SuiteMethods, chosen_methods, has_prices
from fsgym_studies.suites.oracle import ORACLE_CELL, ORACLE_SEED, ORACLE_TITLE
from fsgym_studies.suites.scores import REFERENCE_TITLE
from fsgym_studies.suites.suite import Suite

# A suite as a study: the plan of its cells, and its conclusion.


def study_of(
    suite: Suite,
    methods: SuiteMethods,
    command: str,
    n_runs: int | None = None,
    oracle: bool = True,
    latex: bool = False,
) -> Study:
    """The suite as a study: planned, stored, resumed and reported as every study.

    ``command`` is what the report names as the command that writes it. Only the first ``n_runs`` runs of each data set
    are made; None for all of them. ``oracle`` says whether the AACO-like search has a line,
    ``latex`` whether the main score is also written as a table for LaTeX.
    """
    return Study(
        suite.name,
        suite.title,
        suite.reference,
        (np.nan, np.nan),
        suite.datasets,
        partial(_plan, suite, methods, n_runs, oracle),
        lambda cells, table, full: conclusion_of(suite, methods, table, not full, n_runs, latex),
        suite.quick_datasets,
        command,
        "benchmark",
    )


def _plan(
    suite: Suite,
    methods: SuiteMethods,
    n_runs: int | None,
    oracle: bool,
    full: bool,
    data_dir: DataFolder,
    skip: Collection[str] = (),
) -> list[Task]:
    """All cells, run by run, so that an interrupted benchmark has complete runs; those of the references come first."""
    references, cells = [], []
    for problem in suite.problems(not full, data_dir, skip):
        measurement = problem.measurement()
        if problem.reference_call:
            row = _cell_name(problem.name, "", REFERENCE_TITLE)
            arguments = {"measurement": measurement, "quick": not full}
            references.append(study_task(problem.reference_call, arguments, row))
        data, split = problem.runs[0]
        settings = methods.settings(split.parts(data).train, problem.prices, problem.rules)
        for number, (data, split) in enumerate(problem.runs[:n_runs]):
            given = {"measurement": measurement, "split": split}
            if oracle and suite.oracle:
                arguments = {**given, "quick": not full, "seed": seed_of((problem.name, number, ORACLE_SEED))}
                cells.append(study_task(ORACLE_CELL, arguments, _cell_name(problem.name, number, ORACLE_TITLE), data))
            for method in (m for m in settings if number == 0 or m.name not in methods.first_run):
                arguments = {
                    **given,
                    "candidates": list(method.candidates),
                    "by_price": has_prices(method, problem.prices),
                    "seed": seed_of((problem.name, number, method.name)),
                    **({"limit": suite.limits[not full]} if suite.limits else {}),
                }
                cells.append(study_task(METHOD_CELL, arguments, _cell_name(problem.name, number, method.title), data))
    return references + cells


def _cell_name(dataset: str, split: Any, method: str) -> dict[str, Any]:
    return {"dataset": dataset, "split": split, "method": method, "params": "{}"}


def run_suite(
    name: str,
    methods: tuple[str, ...] | None,
    own: Mapping[str, Any],
    options: Options,
    n_runs: int | None = None,
    first_run: tuple[str, ...] = (),
    oracle: bool = True,
    latex: bool = False,
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
    oracle, latex : bool, as in ``study_of``
    """
    suite = find_suite(name)
    chosen = chosen_methods(methods, own, first_run, suite.methods)
    study = study_of(suite, chosen, options.command, n_runs, oracle, latex)
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
