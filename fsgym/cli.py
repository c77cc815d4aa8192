"""The command line. Everything beyond the arguments themselves is imported when a command runs."""

from __future__ import annotations

import os
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fsgym
from fsgym import cli_models
from fsgym import cli_options as options
from fsgym.cli_options import listed

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.study.conclusion import Conclusion

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Classification where every feature has a price: compare methods that ask for features one by one.",
)
# Click's base of all mistakes in arguments, wherever this typer keeps its click.
CLICK_MISTAKES: Any = typer.BadParameter.__mro__[2]
MISTAKES = (ValueError, TypeError, OSError, ImportError)
MOST_FAILURES = 20  # told on stderr


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False) -> None:
    if version:
        print(f"fsgym {fsgym.__version__}")
        raise typer.Exit


@app.command()
def compare(
    context: typer.Context,
    data: options.Data,
    methods: Annotated[
        str, typer.Option(help="Names, separated by commas.", show_default=True)
    ] = "rcpi,l1_svm,lars,cart",
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
    budget: options.Budget = None,
    budget_cost: options.BudgetCost = None,
    costs: options.Costs = None,
    error_costs: options.ErrorCosts = None,
    groups: options.Groups = None,
    related: options.Related = None,
    relation: options.Relation = "any",
    unrelated_costs: options.UnrelatedCosts = None,
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
) -> None:
    """Compare methods on a data set: accuracy, features used and prices paid, on the same splits."""
    dataset = options.read_data(data, groups, data_dir=data_dir, target=target, drop=drop, split="all")
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
                budget=budget,
                budget_cost=budget_cost,
                relation=relation,  # type: ignore[arg-type]
                **options.read_prices(dataset, costs, error_costs, related, unrelated_costs, data_dir),
                seed=seed,
                n_jobs=jobs,
                backend=backend,  # type: ignore[arg-type]
                scheduler=scheduler,
                progress=sys.stderr.isatty(),
                out=folder,
                command=shlex.join(["fsgym", *(context.obj or [])]),
            )
    except KeyboardInterrupt as stop:  # typer would forget what it says
        _say(str(stop) or "stopped")
        raise typer.Exit(130) from None
    _show(results)
    print(f"Report: {folder / 'report.html'}    Table: {folder / 'results.csv'}")
    failed = results[results["error"].notna()]
    if len(failed):
        first = failed.iloc[0]
        _say(f"{len(failed)} of {len(results)} fits failed, the first of {first['method']}: {first['error']}")
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
    if name is None:
        _list_studies()
        return
    from fsgym.study.compare import writable_folder
    from fsgym.study.conclusion import work_done, write, write_section
    from fsgym.study.plan import require, table_of, timings_of
    from fsgym.study.studies import find_study
    from fsgym.study.tasks import run_tasks

    study = find_study(name)
    require(study.datasets, study.name, data_dir)
    folder = writable_folder(out or Path("fsgym-results", study.name))
    plan = study.plan(full, data_dir)
    run = run_tasks(
        [cell.task for cell in plan],
        folder / "results.sqlite",
        n_jobs=jobs,
        backend=backend,
        scheduler=scheduler,
        progress=sys.stderr.isatty(),
        name=study.name,
    )
    if run.interrupted:
        finished = sum(r is not None for r in run.results)
        _say(f"stopped after {finished} of {len(plan)} cells; the same command continues")
        raise typer.Exit(130)
    table = table_of(plan, run)
    failed = table[table["error"].notna()]
    if len(failed) < len(plan):
        conclusion = study.conclude(plan, table, full)
        command = shlex.join(["fsgym", *(context.obj or [])])
        report = write(study, conclusion, table, timings_of(plan, run), folder, full=full, command=command)
        _show_claims(study.title, conclusion)
        print(f"{work_done(run.timings, len(plan))}.    Report: {report}")
        if doc is not None:
            write_section(doc, study, conclusion, full, work_done(run.timings, len(plan)))
    if len(failed):
        _say(f"{len(failed)} of {len(plan)} cells failed; the same command tries them again:")
        for row in failed.head(MOST_FAILURES).to_dict("records"):
            where = f"{row['dataset']}, {row['method']} {row['params']}, split {row['split']}"
            _say(f"{where}: {row['error']}")
        if len(failed) > MOST_FAILURES:
            _say(f"and {len(failed) - MOST_FAILURES} more, all in {folder / 'cells.csv'}")
        raise typer.Exit(1)


def _list_studies() -> None:
    """The studies, with the processor time that they take here."""
    from rich.console import Console
    from rich.table import Table

    from fsgym.study.studies import STUDIES, find_study

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, side in (("name", "left"), ("quick", "right"), ("full", "right"), ("", "left")):
        table.add_column(column, justify=side, no_wrap=True)  # type: ignore[arg-type]
    for name in STUDIES:
        study = find_study(name)
        table.add_row(name, *(_minutes(m) for m in study.minutes), study.title)
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 120)
    console.print(table)
    print("Processor time; full is extrapolated. Two cores take half of it. Start with: fsgym reproduce NAME --quick")


def _minutes(minutes: float) -> str:
    if minutes >= 90:
        return f"{minutes / 60:.1f} h"
    return f"{minutes:.0f} min" if minutes >= 10 else f"{minutes:.1f} min"


def _show_claims(title: str, conclusion: Conclusion) -> None:
    """The claims in the terminal."""
    from rich.console import Console
    from rich.table import Table

    from fsgym.study.conclusion import claims_frame

    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 1, 0))
    least, claims = {"claim": 30, "paper": 8, "here": 14, "holds": 5}, claims_frame(conclusion.claims)
    for column in claims.columns:
        table.add_column(column, min_width=least[column], overflow="fold")
    for row in claims.itertuples(index=False):
        table.add_row(*row)
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 120)
    console.print(table)
    for note in conclusion.notes:
        console.print(f"Note: {note}")
    console.print(f"{conclusion.counts()}.")


app.command()(cli_models.train)
app.command()(cli_models.evaluate)


@app.command()
def datasets(
    data_dir: options.DataDir = None,
) -> None:
    """List the data sets that are known by name."""
    from rich.console import Console
    from rich.table import Table

    found = fsgym.list_datasets(data_dir)
    table = Table(box=None, header_style="bold", pad_edge=False)
    short = {"n_samples": "rows", "n_features": "features", "n_classes": "classes", "official_split": "own split"}
    for column in found.columns:
        left = column in ("name", "source")
        table.add_column(str(short.get(column, column)), justify="left" if left else "right", no_wrap=left)
    for row in found.itertuples(index=False):
        table.add_row(*(_cell(v) for v in row))
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 120).print(table)


def _cell(value: Any) -> str:
    import pandas as pd

    return "" if pd.isna(value) else {"True": "yes", "False": ""}.get(str(value), str(value))


def _show(results: pd.DataFrame) -> None:
    """The tables of a comparison in the terminal: within 80 columns for usual names."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from fsgym.methods import METHODS
    from fsgym.study.summary import mean_text, settings_text, summarise

    summary, counted = summarise(results), results.attrs["counted"]
    unit = "features" if counted == "n_features" else "groups"
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    if summary.settings.empty:
        return
    names = {k: escape(METHODS[k].title if k in METHODS else k) for k in summary.settings["method"].unique()}

    def table(title: str, first: str, *columns: str) -> Table:
        made = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0))
        made.add_column(first, min_width=16, max_width=40)
        for column in columns:
            made.add_column(column, justify="right", no_wrap=True)
        return made

    def allowed(row: dict[str, Any]) -> list[str]:
        return [] if overspent.empty else [f"{row['admissible']:.0%}"]

    overspent = summary.settings[summary.settings["admissible"] < 1]
    more = [] if overspent.empty else ["allowed"]
    settings = table(
        "Each setting on the test parts (mean ± standard deviation over the splits)",
        "", "accuracy", "balanced", "sparsity", unit, "mean cost", *more,
    )  # fmt: skip
    for method, rows in summary.settings.groupby("method", sort=False):
        settings.add_row(f"[bold]{names[method]}[/bold]")
        for row in rows.to_dict("records"):
            figures = [mean_text(row, f, short=True) for f in ("accuracy", "balanced_accuracy", "sparsity")]
            figures += [mean_text(row, counted, 1, short=True), mean_text(row, "spent", 2, short=True)]
            settings.add_row("  " + escape(settings_text(row["params"])), *figures, *allowed(row))
    limits = list(dict.fromkeys(summary.within["k"]))
    within = table(
        f"Accuracy within k mean {unit} (in brackets: {unit} on the test parts)", "", *(f"k = {k:g}" for k in limits)
    )
    for method, rows in summary.within.groupby("method", sort=False):
        cells = [
            "–" if row["accuracy"] != row["accuracy"]
            else f"{row['accuracy']:.3f} ({row[counted]:.1f}){'!' if row['admissible'] < 1 else ''}"
            for row in rows.to_dict("records")
        ]  # fmt: skip
        within.add_row(names[method], *cells)
    losses = table("Loss at lambda", "", "lambda", "loss", "accuracy", unit, "mean cost", *more)
    for row in summary.losses.sort_values("lam", kind="stable").to_dict("records"):
        figures = [mean_text(row, f, short=True) for f in ("loss", "accuracy")]
        figures += [mean_text(row, counted, 1, short=True), mean_text(row, "spent", 2, short=True)]
        losses.add_row(names[row["method"]], f"{row['lam']:.4g}", *figures, *allowed(row))
    for made in (settings, within, losses):
        console.print(made, "")
    console.print("In the last two tables the setting is chosen on validation parts, never on test data.", style="dim")
    if more:
        console.print("Allowed: the share of rows that keep to the budget; ! marks what does not always.", style="dim")


def _numbers(texts: Sequence[str] | None, option: str) -> list[float] | None:
    if not texts:
        return None
    try:
        return [float(v) for v in listed(texts)]
    except ValueError as error:
        raise ValueError(f"{option} must be numbers separated by commas: {error}") from None


def _say(sentence: str) -> None:
    print(f"fsgym: {' '.join(sentence.split())}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with 0, 1 (something failed), 2 (the user's mistake) or 130 (Ctrl-C).

    A mistake is told in one sentence on stderr, never with a traceback.
    """
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        code = app(args=given, prog_name="fsgym", standalone_mode=False, obj=given)
    except CLICK_MISTAKES as error:
        _say(f"{error.format_message().rstrip('.')} (see --help)")  # type: ignore[attr-defined]
        code = 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except RuntimeError as error:  # a process died
        _say(str(error))
        code = 1
    except MISTAKES as error:
        _say(str(error) or type(error).__name__)
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        _say("stopped")
        code = 130
    sys.exit(int(code or 0))
