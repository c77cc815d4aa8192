"""What ``fsgym reproduce`` does."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.table import Table

from fsgym.cli.terminal import console, say
from fsgym.comparison.compare import writable_folder
from fsgym.runner import run_tasks
from fsgym_studies import STUDIES, find_study
from fsgym_studies.common.plan import require, table_of, timings_of
from fsgym_studies.common.render import claims_frame, failures, work_done, write, write_section
from fsgym_studies.common.study import Conclusion

MOST_FAILURES = 20  # told on stderr


@dataclass(frozen=True)
class Options:
    """How a study is run, and where what it concludes is written.

    Attributes
    ----------
    full : bool, the paper's whole protocol or a few splits of it
    out : folder of all files; None: ``fsgym-results`` and the study's name
    doc : Markdown file whose section of the study is replaced, or None
    data_dir : folder of data sets; None: that of the variable FSGYM_DATA
    n_jobs, backend, scheduler : as ``run_tasks`` takes them
    command : str, what the report says that made it
    """

    full: bool
    out: Path | None
    doc: Path | None
    data_dir: Path | None
    n_jobs: int
    backend: str
    scheduler: str | None
    command: str


def reproduce(name: str, options: Options) -> int:
    """Run a study, write and show what it concludes; the exit status of the command."""
    study = find_study(name)
    require(study.datasets, study.name, options.data_dir)
    folder = writable_folder(options.out or Path("fsgym-results", study.name))
    plan = study.plan(options.full, options.data_dir)
    run = run_tasks(
        [cell.task for cell in plan],
        folder / "results.sqlite",
        n_jobs=options.n_jobs,
        backend=options.backend,
        scheduler=options.scheduler,
        progress=sys.stderr.isatty(),
        name=study.name,
    )
    if run.interrupted:
        finished = sum(r is not None for r in run.results)
        say(f"stopped after {finished} of {len(plan)} cells; the same command continues")
        return 130
    table = table_of(plan, run)
    n_failed = int(table["error"].notna().sum())
    if n_failed < len(plan):
        conclusion = study.conclude(plan, table, options.full)
        timings, work = timings_of(plan, run), work_done(run.timings, len(plan))
        report = write(study, conclusion, table, timings, folder, full=options.full, command=options.command)
        _show_claims(study.title, conclusion)
        print(f"{work}.    Report: {report}")
        if options.doc is not None:
            write_section(options.doc, study, conclusion, options.full, work)
    if n_failed:
        show_failures(table, folder)
    return int(n_failed > 0)


def show_failures(table: pd.DataFrame, folder: Path) -> None:
    """The first cells that failed, on stderr."""
    failed = failures(table)
    say(f"{len(failed)} of {len(table)} cells failed; the same command tries them again:")
    for row in failed[:MOST_FAILURES]:
        split = "" if row["split"] == "" else f"split {row['split']}"
        where = (row["dataset"], f"{row['method']} {row['params']}".strip(), split)
        say(f"{', '.join(word for word in where if word)}: {row['error']}")
    if len(failed) > MOST_FAILURES:
        say(f"and {len(failed) - MOST_FAILURES} more, all in {folder / 'cells.csv'}")


def list_studies() -> None:
    """The studies, with the processor time that they take here."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, side in (("name", "left"), ("quick", "right"), ("full", "right"), ("", "left")):
        table.add_column(column, justify=side, no_wrap=True)  # type: ignore[arg-type]
    for name in STUDIES:
        study = find_study(name)
        table.add_row(name, *(_minutes(m) for m in study.minutes), study.title)
    out = console()
    out.print(table)
    print("Processor time; full is extrapolated. Two cores take half of it. Start with: fsgym reproduce NAME --quick")


def _minutes(minutes: float) -> str:
    if minutes >= 90:
        return f"{minutes / 60:.1f} h"
    return f"{minutes:.0f} min" if minutes >= 10 else f"{minutes:.1f} min"


def _show_claims(title: str, conclusion: Conclusion) -> None:
    """The claims in the terminal."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 1, 0))
    least, claims = {"claim": 30, "paper": 8, "here": 14, "holds": 5}, claims_frame(conclusion.claims)
    for column in claims.columns:
        table.add_column(column, min_width=least[column], overflow="fold")
    for row in claims.itertuples(index=False):
        table.add_row(*row)
    out = console()
    out.print(table)
    for note in conclusion.notes:
        out.print(f"Note: {note}")
    out.print(f"{conclusion.counts()}.")
