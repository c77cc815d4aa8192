"""Arguments that several commands share, including the options of the rules, and how they are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from fsgym.rules.options import Form, RuleOption, unnamed_options

if TYPE_CHECKING:
    from fsgym.dataset import Dataset

DataArgument = Annotated[str, typer.Argument(help="A name from `fsgym datasets`, a CSV or npz file, or openml:NAME.")]
TargetOption = Annotated[str | None, typer.Option(help="Column of a CSV file with the classes; default: target.")]
DropOption = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out, such as identifiers; separate several by commas, or repeat the option."),
]
RowGroupsOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of a CSV file that says which rows belong together, such as the patient of each visit: they stay "
        "on the same side of every split. It is not a feature.",
    ),
]
JobsOption = Annotated[
    int, typer.Option(help="Number of processes, -1 for one per core. The result does not depend on it.")
]
BackendOption = Annotated[
    str, typer.Option(help="Where to run: loky on this machine, dask or ray on a running cluster.")
]
SchedulerOption = Annotated[str | None, typer.Option(help="Address of the cluster; required for dask.")]
DataDirOption = Annotated[Path | None, typer.Option(help="Folder with data sets; default: $FSGYM_DATA.")]
Command = TypeVar("Command", bound=Callable[..., None])


class Argument(NamedTuple):
    """The command-line argument for an option of the rules: its type, its placeholder in the help, the file format."""

    type: Any
    metavar: str | None = None
    format: str = ""


def escape_brackets(text: str) -> str:
    """The text with its opening brackets escaped: Rich, which prints the help, reads them as markup."""
    return text.replace("[", "\\[")


FORMS: dict[Form, Argument] = {
    "number": Argument(float | None),
    "count": Argument(int | None),
    "flag": Argument(bool),
    "word": Argument(str),
    "prices": Argument(
        str | None,
        "FILE|NUMBER",
        "One number, or a file: CSV with lines NAME,PRICE, JSON {name: price} or JSON {data set: {costs: "
        "{name: price}}}.",
    ),
    "pairs": Argument(
        Path | None,
        "FILE",
        "JSON list of pairs of names, in either order; or a CSV matrix with names in its first row and column: 1 "
        "where the acquisition of the row is related to that of the column, otherwise 0.",
    ),
    "needs": Argument(
        Path | None,
        "FILE",
        "JSON {name: [names it needs]}, or a CSV matrix with names in its first row and column, in which a row has 1 "
        "for each acquisition that it needs, otherwise 0.",
    ),
    "errors": Argument(
        Path | None,
        "FILE",
        "CSV matrix with the true classes in its first row and the answers in its first column, or JSON "
        "{answer: {true class: cost}}.",
    ),
    "groups": Argument(Path | None, "FILE", "JSON {group name: [feature names]}."),
}
GroupsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help=escape_brackets(f"Features that are acquired together. {FORMS['groups'].format}")
    ),
]


def with_rule_options(command: Command) -> Command:
    """Add an argument for each option of ``Rules`` after ``--lam``; the command receives them as ``**rules``."""
    own = [
        p.replace(kind=p.KEYWORD_ONLY)
        for p in inspect.signature(command, eval_str=True).parameters.values()
        if p.kind is not p.VAR_KEYWORD
    ]
    place = [p.name for p in own].index("lam") + 1
    shared = [_parameter(option) for option in unnamed_options(command)]
    command.__signature__ = inspect.Signature([*own[:place], *shared, *own[place:]])  # type: ignore[attr-defined]
    return command


def _parameter(option: RuleOption) -> inspect.Parameter:
    form = FORMS[option.form]
    metavar = "|".join([form.metavar, *option.words] if form.metavar else option.words) or None
    argument = typer.Option(metavar=metavar, help=escape_brackets(f"{option.help} {form.format}".rstrip()))
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=option.default,
        annotation=Annotated[form.type, argument],
    )


def read_task(
    data: str,
    rules: Mapping[str, Any],
    *,
    data_dir: Path | None,
    target: str | None,
    drop: Sequence[str] | None,
    row_groups: str | None,
    split: str,
) -> tuple[Dataset, dict[str, Any]]:
    """The data set that the arguments name, with its groups, and the other options of the rules."""
    from fsgym.cli.files import read_rule_options

    dataset = read_data(
        data, rules["groups"], data_dir=data_dir, target=target, drop=drop, row_groups=row_groups, split=split
    )
    options = {name: value for name, value in rules.items() if name != "groups"}
    return dataset, read_rule_options(options, dataset, data_dir)


def read_data(
    data: str,
    groups: Path | None,
    *,
    data_dir: Path | None,
    target: str | None,
    drop: Sequence[str] | None,
    row_groups: str | None,
    split: str,
) -> Dataset:
    """The given part of the data set that the arguments name, with groups from a file."""
    from fsgym.cli.files import read_groups
    from fsgym.datasets import load_dataset

    dropped = comma_separated(drop)
    dataset = load_dataset(data, split, data_dir=data_dir, target=target, drop=dropped, row_groups=row_groups)
    return dataset if groups is None else dataset.with_groups(read_groups(groups))


def comma_separated(texts: Sequence[str] | None) -> list[str]:
    """The values of an option that may be repeated and may hold several values, separated by commas."""
    return [part.strip() for text in texts or () for part in text.split(",") if part.strip()]
