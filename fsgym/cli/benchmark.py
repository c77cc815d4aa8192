"""The command ``fsgym benchmark``: methods on a fixed suite, beside published figures and known optima."""

from __future__ import annotations

import shlex
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from fsgym.cli import options
from fsgym.cli.compare import load_own_methods
from fsgym.cli.mistakes import check_report
from fsgym.cli.options import comma_separated, complete_methods


def benchmark(
    context: typer.Context,
    suite: Annotated[str | None, typer.Argument(help="Name of the suite; without it, all suites are listed.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Names of methods, separated by commas; default: adaptive, lattice, mixture, rcpi, cegb, panel, "
            "stopping, cart, gdfs, dime, as far as their extras are installed.",
            autocompletion=complete_methods,
        ),
    ] = None,
    first_run: Annotated[
        str | None,
        typer.Option(
            metavar="METHODS",
            help="Names of further methods, separated by commas, such as maskable_ppo, that are slow: they are run on "
            "the first split or seed of each data set only, and have no rank where there are more.",
            autocompletion=complete_methods,
        ),
    ] = None,
    mine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]MODULE:FACTORY",
            help="A method of your own, as for `fsgym compare`, whose place among the others is printed. Repeat the "
            "option for several methods. It runs in a process that has the labels of the test rows, and code from a "
            "stranger can read your files: read it first.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Fewer rows and fewer splits than the suite has, as the report says. With --runs, the rows are those "
            "of --quick, and the smaller number of splits counts.",
        ),
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Only so many splits or seeds of each data set, with all rows, as the report says."),
    ] = None,
    oracle: Annotated[
        bool,
        typer.Option(
            help="A line for the AACO-like search, which searches the training rows at every step and so takes most of "
            "the time of a small suite."
        ),
    ] = True,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the report and tables; default: fsgym-results/SUITE.")
    ] = None,
    latex: options.LatexOption = False,
    figures: options.FiguresOption = "png",
    jobs: options.JobsOption = -1,
    backend: options.BackendOption = "loky",
    scheduler: options.SchedulerOption = None,
    data_dir: options.DataDirOption = None,
    skip_missing: options.SkipMissingOption = False,
    doc: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Markdown file to write the suite's section into, as for `fsgym reproduce`."),
    ] = None,
) -> None:
    """Place methods on a suite of the field, beside published figures and, where they are known, optima.

    Rerun an interrupted command to resume it.

    Example: fsgym benchmark cube --quick --mine my_module.py:train
    """
    check_report(context, "suite", suite, import_module("fsgym_studies.suites").SUITES, out, doc)
    suites: Any = import_module("fsgym_studies.suites.command")
    if suite is None:
        suites.list_suites(data_dir)
        return
    names = None if methods is None else tuple(comma_separated([methods]))
    slow = () if first_run is None else tuple(comma_separated([first_run]))
    own = load_own_methods(mine or ())
    named = {"--runs": runs, "--methods": methods, "--first-run": first_run}
    given = [f"{option} {shlex.quote(str(value))}" for option, value in named.items() if value is not None]
    given += ["--no-oracle"] * (not oracle)
    given += [f"--mine {shlex.quote(m)}" for m in mine or ()]
    from fsgym.comparison.planned import ExecutionOptions
    from fsgym.comparison.report import figures_as

    run_options = suites.Options(
        full=not quick,
        out=out,
        doc=doc,
        data_dir=data_dir,
        where=ExecutionOptions(jobs, backend, scheduler, progress=True),
        command=" ".join(["fsgym benchmark", suite, *["--quick"] * quick, *given]),
        skip_missing=skip_missing,
    )
    with figures_as(figures):
        code = suites.run_suite(suite, names, own, run_options, runs, slow, oracle, latex)
    if code:
        raise typer.Exit(code)
