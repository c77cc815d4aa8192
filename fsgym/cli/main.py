"""The command ``fsgym``. Heavy modules are imported only when a subcommand runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import fsgym
from fsgym.cli.ask import ask
from fsgym.cli.benchmark import benchmark
from fsgym.cli.calibrate import calibrate
from fsgym.cli.chart import chart
from fsgym.cli.compare import compare
from fsgym.cli.datasets import datasets_app
from fsgym.cli.describe import describe
from fsgym.cli.evaluate import evaluate
from fsgym.cli.explain import explain
from fsgym.cli.export import export
from fsgym.cli.leaderboard import leaderboard
from fsgym.cli.mistakes import refuse_empty
from fsgym.cli.monitor import monitor
from fsgym.cli.predict import predict
from fsgym.cli.reproduce import reproduce
from fsgym.cli.serve import serve
from fsgym.cli.terminal import escape_what_streams_lack, say, show
from fsgym.cli.train import train
from fsgym.cli.warm import warm
from fsgym.support.early_interrupts import interrupts_as_usual
from fsgym.support.interrupts import interrupts_between_kernels
from fsgym.text.messages import as_command, brief, explain_unknown


class Commands(TyperGroup):
    """The commands; Ctrl-C ends each of them with a sentence, which Typer would drop.

    Messages name options as commands have them, where Python has parameters.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            with as_command(flags=_flags_of(self)):
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            say(str(stop) or "stopped")
            raise typer.Exit(130) from None


def _flags_of(command: Any) -> set[str]:
    """The options of a command, or of all commands of a group, as ``--drop``."""
    flags = {flag for parameter in command.params for flag in parameter.opts}
    return flags.union(*(_flags_of(inner) for inner in getattr(command, "commands", {}).values()))


app = typer.Typer(
    cls=Commands,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Classification where every feature has a price: train, evaluate and compare methods.",
)
# Click's base class of all errors in arguments; Typer may bundle its own copy of Click.
USAGE_ERRORS: Any = typer.BadParameter.__mro__[2]
INPUT_ERRORS = (ValueError, TypeError, OSError, ImportError)


@app.callback(invoke_without_command=True)
def print_version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        show(f"fsgym {fsgym.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        show(context.get_help())


app.command(short_help="Compare methods on a data set.")(compare)
app.command(short_help="Rerun the experiments of a paper.")(reproduce)
app.command(short_help="Train an agent, and write it to a model file.")(train)
app.command(short_help="Evaluate a model file on a data set.")(evaluate)
app.command(short_help="Promise an error or recall, tested on your rows.")(calibrate)
app.command(short_help="Place methods on a suite of the field.")(benchmark)
app.command(short_help="Classify the rows of a file.")(predict)
app.command(short_help="Say how new rows differ from the training.")(monitor)
app.command(short_help="Ask about one case in the terminal.")(ask)
app.command(short_help="Ask about cases in the browser.")(serve)
app.command(short_help="Explain the answer for one row of a file.")(explain)
app.command(short_help="Draw what a model asks in which state.")(chart)
app.command(short_help="Write an HTML page that asks about one case.")(export)
app.command(short_help="Describe the columns of a table, or a model file.")(describe)
app.command(short_help="Rank a policy of your own on an environment.")(leaderboard)
app.command(short_help="Compile all kernels, so that no later run has to.")(warm)
app.add_typer(datasets_app, name="datasets", short_help="List the data sets by name, or fetch those of a study.")


NUMBERS = {"float_parsing": "a number", "int_parsing": "a whole number"}  # what pydantic calls a text that is none


def _explain_usage(error: Any) -> str:
    """Click's sentence; those for an unknown option and for a text that is no number as for other mistakes."""
    fault = error.__cause__.errors()[0] if hasattr(error.__cause__, "errors") else {}
    if fault.get("type") in NUMBERS:
        return f"{error.param.opts[0]} must be {NUMBERS[fault['type']]}, got {brief(fault['input'])}"
    if not hasattr(error, "option_name") or not hasattr(error, "possibilities") or error.ctx is None:
        return error.format_message()
    names = [name for parameter in error.ctx.command.params for name in parameter.opts]
    return explain_unknown("option", error.option_name, names, f"fsgym {error.ctx.info_name} has no such option")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with 0, 1 (something failed), 2 (invalid input), 3 (rows differ) or 130 (Ctrl-C).

    Errors are reported in one line on stderr, without a traceback.
    """
    try:
        interrupts_as_usual()
        escape_what_streams_lack()
        given = list(sys.argv[1:] if arguments is None else arguments)
        refuse_empty(given)
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
