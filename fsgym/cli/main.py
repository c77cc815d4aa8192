"""The command ``fsgym``. Heavy modules are imported only when a subcommand runs."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import fsgym
from fsgym.cli import mistakes, options
from fsgym.cli import models as cli_models
from fsgym.cli.ask import ask
from fsgym.cli.benchmark import benchmark
from fsgym.cli.charts import chart
from fsgym.cli.comparison import compare_and_show, load_own_methods
from fsgym.cli.completion import complete_methods
from fsgym.cli.datasets import datasets_app
from fsgym.cli.description import describe_table
from fsgym.cli.explanation import explain
from fsgym.cli.leaderboard import show_leaderboard
from fsgym.cli.options import comma_separated
from fsgym.cli.page_export import export_page
from fsgym.cli.prediction import predict
from fsgym.cli.serve import serve_model
from fsgym.cli.terminal import say, show
from fsgym.methods import DEFAULT_METHODS
from fsgym.support.checks import MAX_SPLITS
from fsgym.support.interrupts import interrupts_between_kernels
from fsgym.text.messages import explain_unknown


class Commands(TyperGroup):
    """The commands; Ctrl-C ends each of them with a sentence, which Typer would drop."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            say(str(stop) or "stopped")
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=Commands,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Classification where every feature has a price: train, evaluate and compare methods.",
)
# Click's base class of all errors in arguments; Typer may bundle its own copy of Click.
USAGE_ERRORS: Any = typer.BadParameter.__mro__[2]
INPUT_ERRORS = (ValueError, TypeError, OSError, ImportError)


@app.callback(invoke_without_command=True)
def print_version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        show(f"fsgym {fsgym.__version__}")
        raise typer.Exit


@app.command(short_help="Compare methods on a data set.")
@options.with_table_options
@options.with_rule_options
def compare(
    context: typer.Context,
    data: options.DataSetsArgument,
    methods: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Methods, separated by commas.", autocompletion=complete_methods),
    ] = ",".join(DEFAULT_METHODS),
    mine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]MODULE:FACTORY",
            help="A method of your own, as module:function (the current directory is searched) or "
            "path/to/file.py:function: a function train(env) -> policy, or one without arguments that returns a "
            "scikit-learn estimator or Pipeline, or a list of them. NAME= before it is its name in the results. Repeat "
            "the option for several methods.",
        ),
    ] = None,
    panel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="A fixed set of acquisitions of your own, separated by commas, such as crp,ecg, compared as one "
            "method. Repeat the option for several sets.",
        ),
    ] = None,
    references: Annotated[
        bool,
        typer.Option(help="Whether to add the two ends: one answer with nothing acquired, and everything acquired."),
    ] = True,
    splits: Annotated[
        int,
        typer.Option(
            callback=mistakes.whole_number(1, MAX_SPLITS), help="Number of random splits into training and test part."
        ),
    ] = 5,
    train_share: Annotated[float, typer.Option(help="Share of the rows for training.")] = 0.5,
    lam: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            help="Exchange rate (lambda): the value of one unit of --costs, in units of error cost. Price-aware "
            "methods are trained, and the loss is reported, at each value; separate several by commas. Default: 0, "
            ".001, .003, .01, .02, .03, .05, .1, .15, .2, .3, divided by the mean cost; or 0, .03, .1, .3, 1, 3, 10 if "
            "--error-costs is given.",
            show_default=False,
        ),
    ] = None,
    target_cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            help="Largest mean prices paid, in units of --costs, separated by commas: methods that can find the lambda "
            "for a target, such as lattice, have these settings instead of values of lambda.",
        ),
    ] = None,
    target_features: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBERS", help="Largest mean numbers of features used; as --target-cost."),
    ] = None,
    target: options.TargetOption = None,
    drop: options.DropOption = None,
    row_groups: options.RowGroupsOption = None,
    data_dir: options.DataDirOption = None,
    seed: Annotated[
        int,
        typer.Option(callback=mistakes.whole_number(0, mistakes.MOST_SEED), help="The same seed gives the same table."),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for results.csv, report.html, figures; default: fsgym-results/NAME. With several data sets, "
            "each has its folder NAME in this one; default: fsgym-results.",
        ),
    ] = None,
    jobs: options.JobsOption = -1,
    backend: options.BackendOption = "loky",
    scheduler: options.SchedulerOption = None,
    **rules: Any,
) -> None:
    """Compare methods on a data set: accuracy, features used and price paid, on the same splits.

    With three data sets or more, a test of the methods' ranks over them follows. Rerun an interrupted command to resume
    it.

    Example: fsgym compare patients.csv --target died --methods panel,cart
    """
    prices, costs, features = (
        _parse_numbers(texts, f"--{name}")
        for name, texts in (("lam", lam), ("target-cost", target_cost), ("target-features", target_features))
    )
    mistakes.check_comparison(comma_separated([methods]), splits, train_share, backend, scheduler)
    mistakes.refuse_file(out, mistakes.RESULT_FILES)
    own = load_own_methods(mine or ())
    tasks = [
        options.read_task(one, rules, data_dir=data_dir, target=target, drop=drop, row_groups=row_groups)
        for one in data
    ]
    compared: dict[str, Any] = {
        "methods": {name: name for name in comma_separated([methods])} | own,
        "panels": {f"panel {', '.join(one)}": one for one in map(comma_separated, [[text] for text in panel or ()])},
        "references": references,
        "splits": splits,
        "train_share": train_share,
        "lam": prices,
        "target_cost": costs,
        "target_features": features,
        "seed": seed,
        "n_jobs": jobs,
        "backend": backend,
        "scheduler": scheduler,
        "command": shlex.join(["fsgym", *(context.obj or [])]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failed fits are reported below
        failed = compare_and_show([(loaded.dataset, given) for loaded, given, _ in tasks], compared, out)
    if failed:
        say(failed)
        raise typer.Exit(1)


@app.command(short_help="Rerun the experiments of a paper.")
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
    if name is not None:
        mistakes.check_study(name, full, out, doc)
    studies: Any = import_module("fsgym_studies.command")
    if name is None:
        studies.list_studies(data_dir)
        return
    from fsgym.comparison.planned import Where

    run_options = studies.Options(
        full=full,
        out=out,
        doc=doc,
        data_dir=data_dir,
        where=Where(jobs, backend, scheduler, progress=True),
        command=shlex.join(["fsgym", *(context.obj or [])]),
        skip_missing=skip_missing,
    )
    code = studies.run_study(studies.find_study(name), run_options)
    if code:
        raise typer.Exit(code)


app.command(short_help="Train an agent, and write it to a model file.")(cli_models.train)
app.command(short_help="Evaluate a model file on a data set.")(cli_models.evaluate)
app.command(short_help="Place methods on a suite of the field.")(benchmark)
app.command(short_help="Classify the rows of a file.")(predict)
app.command(short_help="Ask about one case in the terminal.")(ask)
app.command("serve", short_help="Ask about cases in the browser.")(serve_model)
app.command(short_help="Explain the answer for one row of a file.")(explain)
app.command(short_help="Draw what a model asks in which state.")(chart)
app.command("export", short_help="Write an HTML page that asks about one case.")(export_page)
app.command("describe", short_help="Describe the columns of a table.")(describe_table)
app.command("leaderboard", short_help="Rank a policy of your own on an environment.")(show_leaderboard)
app.add_typer(datasets_app, name="datasets", short_help="List the data sets by name, or fetch those of a study.")


def _parse_numbers(texts: Sequence[str] | None, option: str) -> list[float] | None:
    if not texts:
        return None
    values = comma_separated(texts)
    if any(len(v) > 1 and v.isdecimal() and v.startswith("0") for v in values):
        raise ValueError(f"{option} must be numbers with a decimal point, separated by commas, got {', '.join(texts)}")
    try:
        return [float(v) for v in values]
    except ValueError as error:
        raise ValueError(f"{option} must be numbers separated by commas: {error}") from None


def _explain_usage(error: Any) -> str:
    """Click's sentence; that for an unknown option as for any other unknown name."""
    if not hasattr(error, "option_name") or not hasattr(error, "possibilities") or error.ctx is None:
        return error.format_message()
    names = [name for parameter in error.ctx.command.params for name in parameter.opts]
    return explain_unknown("option", error.option_name, names, f"fsgym {error.ctx.info_name} has no such option")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with 0, 1 (something failed), 2 (invalid input) or 130 (Ctrl-C).

    Errors are reported in one line on stderr, without a traceback.
    """
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        mistakes.refuse_empty(given)
        with interrupts_between_kernels():
            code = app(args=given, prog_name="fsgym", standalone_mode=False, obj=given)
    except USAGE_ERRORS as error:
        say(f"{_explain_usage(error).rstrip('.')} (see --help)")
        code = 2
    except BrokenPipeError:  # the reader of the output, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except RuntimeError as error:  # a worker process died
        say(str(error))
        code = 1
    except INPUT_ERRORS as error:
        say(str(error) or type(error).__name__)
        code = 2
    except MemoryError:
        say("there is not enough memory for this; use fewer rows or columns, or fewer --jobs")
        code = 1
    except (KeyboardInterrupt, typer.Abort):
        say("stopped")
        code = 130
    sys.exit(int(code or 0))
