"""The command line. Everything beyond the arguments themselves is imported when a command runs."""

from __future__ import annotations

import os
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import fsgym
from fsgym.cli import models as cli_models
from fsgym.cli import options
from fsgym.cli.options import listed
from fsgym.cli.terminal import console, say, show_comparison
from fsgym.methods import DEFAULT_METHODS

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Classification where every feature has a price: compare methods that ask for features one by one.",
)
# Click's base of all mistakes in arguments, wherever this typer keeps its click.
CLICK_MISTAKES: Any = typer.BadParameter.__mro__[2]
MISTAKES = (ValueError, TypeError, OSError, ImportError)


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False) -> None:
    if version:
        print(f"fsgym {fsgym.__version__}")
        raise typer.Exit


@app.command()
@options.with_rule_options
def compare(
    context: typer.Context,
    data: options.Data,
    methods: Annotated[str, typer.Option(help="Names, separated by commas.", show_default=True)] = ",".join(
        DEFAULT_METHODS
    ),
    splits: Annotated[int, typer.Option(help="Random splits into training and test part.")] = 5,
    train_share: Annotated[float, typer.Option(help="Share of the rows for training.")] = 0.5,
    lam: Annotated[
        list[str] | None,
        typer.Option(
            help="Price of one unit of costs, in units of the error costs: what price-aware methods are swept over and "
            "where the loss is reported. Repeat it, or separate by commas. Default: 0,.001,.003,.01,.02,.03,.05,.1,.15,"
            ".2,.3 over the mean cost; with --error-costs 0,.03,.1,.3,1,3,10.",
            show_default=False,
        ),
    ] = None,
    target: options.Target = None,
    drop: options.Drop = None,
    data_dir: options.DataDir = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same table.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results.csv, report.html and figures; default: fsgym-results/NAME."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes, -1: one a core. The result does not depend on it.")] = -1,
    backend: Annotated[str, typer.Option(help="loky: this machine; dask or ray: a running cluster.")] = "loky",
    scheduler: Annotated[str | None, typer.Option(help="Address of the cluster; dask needs it.")] = None,
    **rules: Any,
) -> None:
    """Compare methods on a data set: accuracy, features used and prices paid, on the same splits."""
    dataset, given = options.read_task(data, rules, data_dir=data_dir, target=target, drop=drop, split="all")
    folder = out or Path("fsgym-results", re.sub(r"[^\w.-]+", "_", dataset.name).strip(".") or "data")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what failed is told below
            results = fsgym.compare(
                dataset,
                tuple(listed([methods])),
                splits=splits,
                train_share=train_share,
                lam=_numbers(lam, "--lam"),
                seed=seed,
                n_jobs=jobs,
                backend=backend,  # type: ignore[arg-type]
                scheduler=scheduler,
                progress=sys.stderr.isatty(),
                out=folder,
                command=shlex.join(["fsgym", *(context.obj or [])]),
                **given,
            )
    except KeyboardInterrupt as stop:  # typer would forget what it says
        say(str(stop) or "stopped")
        raise typer.Exit(130) from None
    show_comparison(results)
    print(f"Report: {folder / 'report.html'}    Table: {folder / 'results.csv'}")
    failed = results[results["error"].notna()]
    if len(failed):
        first = failed.iloc[0]
        say(f"{len(failed)} of {len(results)} fits failed, the first of {first['method']}: {first['error']}")
        raise typer.Exit(1)


@app.command()
def reproduce(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The study; without a name they are listed.")] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's whole protocol, or a few splits of it.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report, tables, figures; default: fsgym-results/NAME.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes, -1: one a core. The result does not depend on it.")] = -1,
    backend: Annotated[str, typer.Option(help="loky: this machine; dask or ray: a running cluster.")] = "loky",
    scheduler: Annotated[str | None, typer.Option(help="Address of the cluster; dask needs it.")] = None,
    data_dir: options.DataDir = None,
    doc: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Replace the study's section in this Markdown file.")
    ] = None,
) -> None:
    """Reproduce a study of a paper: its claims beside what comes out here. Interrupted, the same command goes on."""
    studies: Any = import_module("fsgym_studies.command")
    if name is None:
        studies.list_studies()
        return
    run_options = studies.Options(
        full=full,
        out=out,
        doc=doc,
        data_dir=data_dir,
        n_jobs=jobs,
        backend=backend,
        scheduler=scheduler,
        command=shlex.join(["fsgym", *(context.obj or [])]),
    )
    code = studies.reproduce(name, run_options)
    if code:
        raise typer.Exit(code)


app.command()(cli_models.train)
app.command()(cli_models.evaluate)


@app.command()
def datasets(
    data_dir: options.DataDir = None,
) -> None:
    """List the data sets that are known by name."""
    from rich.table import Table

    found = fsgym.list_datasets(data_dir)
    table = Table(box=None, header_style="bold", pad_edge=False)
    short = {"n_samples": "rows", "n_features": "features", "n_classes": "classes", "official_split": "own split"}
    for column in found.columns:
        left = column in ("name", "source")
        table.add_column(str(short.get(column, column)), justify="left" if left else "right", no_wrap=left)
    for row in found.itertuples(index=False):
        table.add_row(*(_cell(v) for v in row))
    console().print(table)


def _cell(value: Any) -> str:
    import pandas as pd

    return "" if pd.isna(value) else {"True": "yes", "False": ""}.get(str(value), str(value))


def _numbers(texts: Sequence[str] | None, option: str) -> list[float] | None:
    if not texts:
        return None
    try:
        return [float(v) for v in listed(texts)]
    except ValueError as error:
        raise ValueError(f"{option} must be numbers separated by commas: {error}") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with 0, 1 (something failed), 2 (the user's mistake) or 130 (Ctrl-C).

    A mistake is told in one sentence on stderr, never with a traceback.
    """
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        code = app(args=given, prog_name="fsgym", standalone_mode=False, obj=given)
    except CLICK_MISTAKES as error:
        say(f"{error.format_message().rstrip('.')} (see --help)")  # type: ignore[attr-defined]
        code = 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except RuntimeError as error:  # a process died
        say(str(error))
        code = 1
    except MISTAKES as error:
        say(str(error) or type(error).__name__)
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        say("stopped")
        code = 130
    sys.exit(int(code or 0))
