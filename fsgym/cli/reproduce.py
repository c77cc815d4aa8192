"""The command ``reproduce``: the experiments of a paper again, and what became of its claims."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from fsgym.cli import options
from fsgym.cli.mistakes import check_report


def reproduce(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Name of the study; without it, all studies are listed.")] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The whole protocol of the study, or a smaller version of it.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the report, tables and figures; default: fsgym-results/NAME."),
    ] = None,
    jobs: options.JobsOption = -1,
    backend: options.BackendOption = "loky",
    scheduler: options.SchedulerOption = None,
    data_dir: options.DataDirOption = None,
    skip_missing: options.SkipMissingOption = False,
    doc: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Markdown file to write the study's section into: an existing section is overwritten with the "
            "new results, otherwise it is appended. Pictures go into the same folder.",
        ),
    ] = None,
) -> None:
    """Rerun the experiments of a paper and compare its claims with our results.

    Rerun an interrupted command to resume it.

    Example: fsgym reproduce dwsm-cost --quick --jobs 2
    """
    check_report(context, "study", name, import_module("fsgym_studies").STUDIES, out, doc)
    studies: Any = import_module("fsgym_studies.command")
    if name is None:
        studies.list_studies(data_dir)
        return
    from fsgym.comparison.planned import ExecutionOptions

    run_options = studies.Options(
        full=full,
        out=out,
        doc=doc,
        data_dir=data_dir,
        where=ExecutionOptions(jobs, backend, scheduler, progress=True),
        command=shlex.join(["fsgym", *(context.obj or [])]),
        skip_missing=skip_missing,
    )
    code = studies.run_study(studies.find_study(name), run_options)
    if code:
        raise typer.Exit(code)
