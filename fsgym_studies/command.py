"""The command ``fsgym reproduce``: run a study, print its claims, write its report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Column, Table

from fsgym.cli.terminal import console, say
from fsgym.comparison.planned import ExecutionOptions
from fsgym.runner import run_tasks
from fsgym.support.writing import writable_folder
from fsgym.text.messages import duration_text
from fsgym_studies import STUDIES, find_study
from fsgym_studies.common.data import data_state, require_datasets, skipped_datasets, skipped_note
from fsgym_studies.common.plan import cells_table, timings_table
from fsgym_studies.common.render import claims_frame, failures, work_done, write_page, write_study
from fsgym_studies.common.study import Conclusion, Study

MAX_LISTED_FAILURES = 20  # failed cells that are listed on stderr
INTERRUPTED = 130  # exit status of a run that Ctrl-C stopped


@dataclass(frozen=True)
class Options:
    """How to run a study, and where to write its results."""

    full: bool  # whether to run the paper's full protocol or only a few splits of it
    out: Path | None  # folder of all files; None for ``fsgym-results/NAME``
    doc: Path | None  # markdown file in which the study's section is replaced, or None
    data_dir: Path | None  # folder of data sets; None for the one that the variable FSGYM_DATA names
    where: ExecutionOptions  # on which processes the cells run, and whether their progress is shown
    command: str  # the command line that the report shows
    skip_missing: bool = False  # whether data sets that are not there are left out; else they are an error


def run_study(study: Study, options: Options) -> int:
    """Run a study, write its report and print its claims; returns the exit status of the command."""
    skip = _skipped(study, options)
    state = data_state(study, options.data_dir)
    if state != "complete" and not skip:  # some come from OpenML
        say(f"{study.name}: data: {state}")
    folder = writable_folder(options.out or Path("fsgym-results", study.name))
    plan = study.cells(options.full, options.data_dir, skip)
    store = folder.absolute() / "results.sqlite"  # a relative "file:x" would be an address for SQLite
    run = run_tasks(plan, store, **options.where._asdict(), name=study.name)
    if run.interrupted:
        finished = sum(r is not None for r in run.results)
        say(f"stopped after {finished} of {len(plan)} cells; run the same command to resume")
        return INTERRUPTED
    table = cells_table(plan, run)
    n_failed = int(table["error"].notna().sum())
    if n_failed < len(plan):
        conclusion = study.conclude(plan, table, options.full)
        if skip:
            conclusion = replace(conclusion, notes=(skipped_note(skip), *conclusion.notes))
        timings, work = timings_table(plan, run), work_done(run.timings, len(plan))
        report = write_study(study, conclusion, table, timings, folder, full=options.full, command=options.command)
        _show_conclusion(study.title, conclusion)
        before = f" ({run.n_stored} of an earlier run)" if run.n_stored else ""
        print(f"{work}{before}.    Report: {report}")
        if options.doc is not None:
            write_page(options.doc, study, conclusion, options.full, work)
    if n_failed:
        show_failures(table, folder)
    return int(n_failed > 0)


def _skipped(study: Study, options: Options) -> list[str]:
    """The data sets that are left out; without ``--skip-missing`` a missing one is an error before any fit."""
    if not options.skip_missing:
        require_datasets(study.needed_datasets(options.full), study.name, options.data_dir)
        return []
    skip = skipped_datasets(study, options.full, options.data_dir, say)
    if skip:
        say(skipped_note(skip))
    return skip


def show_failures(table: pd.DataFrame, folder: Path) -> None:
    """Print the first failed cells on stderr."""
    failed = failures(table)
    say(f"{len(failed)} of {len(table)} cells failed; run the same command to try them again:")
    for row in failed[:MAX_LISTED_FAILURES]:
        split = "" if row["split"] == "" else f"split {row['split']}"
        where = (row["dataset"], f"{row['method']} {row['params']}".strip(), split)
        say(f"{', '.join(word for word in where if word)}: {row['error']}")
    if len(failed) > MAX_LISTED_FAILURES:
        say(f"and {len(failed) - MAX_LISTED_FAILURES} more; {folder / 'cells.csv'} has all of them")


def list_studies(data_dir: Path | None = None) -> None:
    """Print the studies with the processor time that they need, and whether their data are there."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, side in (("name", "left"), ("quick", "right"), ("full", "right"), ("", "left")):
        table.add_column(column, justify=side, no_wrap=True)  # type: ignore[arg-type]
    for name in STUDIES:
        study = find_study(name)
        table.add_row(name, *(duration_text(60 * m) for m in study.minutes), study.title)
    console().print(table)
    print(
        "Processor time on one core; that of --full is extrapolated. Two cores halve the waiting time.\n"
        "Start with: fsgym reproduce NAME --quick\n"
    )
    for name in STUDIES:
        print(f"{name}: data: {data_state(find_study(name), data_dir)}")
    print("Missing data sets: fsgym datasets fetch NAME --data-dir FOLDER, or leave them out with --skip-missing")


def _show_conclusion(title: str, conclusion: Conclusion) -> None:
    """Print the claims, or the first table of a study without claims, and the notes."""
    out = console()
    if conclusion.claims:
        claims = claims_frame(conclusion.claims)
        widths = {"claim": 30, "paper": 8, "ours": 14, "result": 14, "cause": 14}  # characters, at least
        columns = [Column(name, min_width=widths[name], overflow="fold") for name in claims.columns]
        out.print(_terminal_table(title, columns, claims, pad_edge=False, padding=(0, 2, 1, 0)))
    for table in () if conclusion.claims else conclusion.tables[:1]:
        names = [str(name) for name in table.frame.columns]
        columns = [Column(name, justify="right" if k else "left", overflow="fold") for k, name in enumerate(names)]
        out.print(_terminal_table(f"{title}. {table.heading}", columns, table.frame))
    for note in conclusion.notes:
        out.print(f"Note: {note}")
    if conclusion.claims:
        out.print(f"{conclusion.summary()}. {conclusion.second_summary()}".rstrip())


def _terminal_table(title: str, columns: list[Column], rows: pd.DataFrame, **style: Any) -> Table:
    table = Table(*columns, title=title, title_justify="left", title_style="bold", box=None, **style)
    for row in rows.itertuples(index=False):
        table.add_row(*map(str, row))
    return table
