"""Arguments that several commands share, those of the rules among them, and how they are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from fsgym.rules.options import Form, RuleOption, unnamed_options

if TYPE_CHECKING:
    from fsgym.dataset import Dataset

Data = Annotated[str, typer.Argument(help="A name of `fsgym datasets`, a CSV or npz file, or openml:NAME.")]
Target = Annotated[str | None, typer.Option(help="Column of the labels in a CSV file; default: target.")]
Drop = Annotated[
    list[str] | None, typer.Option(help="Columns to leave out, such as identifiers; repeat it or use commas.")
]
DataDir = Annotated[Path | None, typer.Option(help="Folder of data sets; default: $FSGYM_DATA.")]
Command = TypeVar("Command", bound=Callable[..., None])


class Argument(NamedTuple):
    """How an option of the rules is given on the command line: its type, its placeholder in the help, its format."""

    type: Any
    metavar: str | None = None
    format: str = ""


def escaped(text: str) -> str:
    """A text whose brackets Rich, which prints the help, does not take for markup."""
    return text.replace("[", "\\[")


FORMS: dict[Form, Argument] = {
    "number": Argument(float | None),
    "count": Argument(int | None),
    "flag": Argument(bool),
    "word": Argument(str),
    "prices": Argument(
        str | None,
        "FILE|NUMBER",
        "CSV with lines NAME,PRICE, or JSON {name: price}, or JSON {data set: {costs: {name: price}}}; or one number.",
    ),
    "pairs": Argument(
        Path | None, "FILE", "JSON list of pairs of names, or a CSV matrix of 0 and 1 with names above and in front."
    ),
    "needs": Argument(
        Path | None,
        "FILE",
        "JSON {name: [names it needs]}, or a CSV matrix of 0 and 1 with names above and in front, where a line has 1 "
        "for what its name needs.",
    ),
    "errors": Argument(
        Path | None,
        "FILE",
        "CSV with the true classes in the header line and an answer in front of each line; or JSON "
        "{answer: {truth: cost}}.",
    ),
    "groups": Argument(Path | None, "FILE", "JSON {group name: [feature names]}."),
}
Groups = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help=escaped(f"What is acquired together. {FORMS['groups'].format}")),
]


def with_rule_options(command: Command) -> Command:
    """Give a command, after its ``--lam``, an argument for each option of ``Rules``; it gets them as ``**rules``."""
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
    argument = typer.Option(metavar=metavar, help=escaped(f"{option.help} {form.format}".rstrip()))
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
    split: str,
) -> tuple[Dataset, dict[str, Any]]:
    """The data set of the arguments, with its groups, and the other options of the rules, read from their files."""
    from fsgym.cli import files as inputs

    dataset = read_data(data, rules["groups"], data_dir=data_dir, target=target, drop=drop, split=split)
    options = {name: value for name, value in rules.items() if name != "groups"}
    return dataset, inputs.read_rule_options(options, dataset, data_dir)


def read_data(
    data: str, groups: Path | None, *, data_dir: Path | None, target: str | None, drop: Sequence[str] | None, split: str
) -> Dataset:
    """The data set of the arguments, the given part of it, with the groups of a file."""
    from fsgym.cli import files as inputs
    from fsgym.comparison.protocol import with_groups
    from fsgym.datasets import load_dataset

    dataset = load_dataset(data, split, data_dir=data_dir, target=target, drop=listed(drop))
    return dataset if groups is None else with_groups(dataset, inputs.read_groups(groups))


def listed(texts: Sequence[str] | None) -> list[str]:
    """The entries of options that may be repeated or hold several, separated by commas."""
    return [part.strip() for text in texts or () for part in text.split(",") if part.strip()]
