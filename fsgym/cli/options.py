"""Arguments that several commands share, and how lists of them are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fsgym.dataset import Dataset

Data = Annotated[str, typer.Argument(help="A name of `fsgym datasets`, a CSV or npz file, or openml:NAME.")]
Budget = Annotated[int | None, typer.Option(help="Most acquisitions for a row.")]
BudgetCost = Annotated[float | None, typer.Option(help="Highest total price for a row, in units of costs.")]
Costs = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Prices of the acquisitions: CSV with lines NAME,PRICE, or JSON {name: price}, or JSON "
        "{data set: {costs: {name: price}}}.",
    ),
]
ErrorCosts = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Costs of answers: CSV with the true classes in the header line and an answer in front of each line; "
        "or JSON {answer: {truth: cost}}.",
    ),
]
Groups = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What is acquired together: JSON {group name: [feature names]}."),
]
Related = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Acquisitions that belong together: JSON list of pairs of names, or a CSV matrix of 0 and 1 with "
        "names above and in front. Needs --unrelated-costs.",
    ),
]
Relation = Annotated[str, typer.Option(help="Related to any, or to all, of what was acquired.")]
UnrelatedCosts = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|NUMBER|forbid",
        help="Price of what is not related to what was acquired: a file as for --costs, one number, or forbid.",
    ),
]
Target = Annotated[str | None, typer.Option(help="Column of the labels in a CSV file; default: target.")]
Drop = Annotated[
    list[str] | None, typer.Option(help="Columns to leave out, such as identifiers; repeat it or use commas.")
]
DataDir = Annotated[Path | None, typer.Option(help="Folder of data sets; default: $FSGYM_DATA.")]


def read_data(
    data: str, groups: Path | None, *, data_dir: Path | None, target: str | None, drop: Sequence[str] | None, split: str
) -> Dataset:
    """The data set of the arguments, the given part of it, with the groups of a file."""
    from fsgym.cli import files as inputs
    from fsgym.comparison.protocol import with_groups
    from fsgym.datasets import load_dataset

    dataset = load_dataset(data, split, data_dir=data_dir, target=target, drop=listed(drop))
    return dataset if groups is None else with_groups(dataset, inputs.read_groups(groups))


def read_prices(
    dataset: Dataset,
    costs: str | None,
    error_costs: Path | None,
    related: Path | None,
    unrelated_costs: str | None,
    data_dir: Path | None,
) -> dict[str, Any]:
    """What files tell of prices, as ``Rules`` takes it."""
    from fsgym.cli import files as inputs
    from fsgym.datasets import load_costs

    return {
        "costs": None if costs is None else load_costs(costs, dataset, data_dir=data_dir),
        "error_costs": None if error_costs is None else inputs.read_error_costs(error_costs, dataset),
        "related": None if related is None else inputs.read_related(related, dataset),
        "unrelated_costs": None if unrelated_costs is None else inputs.read_unrelated_costs(unrelated_costs, dataset),
    }


def listed(texts: Sequence[str] | None) -> list[str]:
    """The entries of options that may be repeated or hold several, separated by commas."""
    return [part.strip() for text in texts or () for part in text.split(",") if part.strip()]
