"""The command ``compare``: its own methods, its run on one or several data sets, and what it prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsgym
from fsgym.cli.terminal import console, show, show_comparison, wrapped

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.comparison.several import DatasetsResult
    from fsgym.data.dataset import Dataset


def load_own_methods(references: Sequence[str]) -> dict[str, Any]:
    """The methods of the user that ``--mine`` names, by the name before a ``=`` or the last part of the reference."""
    if not references:
        return {}
    from fsgym.comparison.policies import load_method
    from fsgym.methods.factories import named_reference

    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    own: dict[str, Any] = {}
    for name, reference in map(named_reference, references):
        if name in own:
            raise ValueError(f"--mine names {name!r} twice; give each method a name of its own: NAME={reference}")
        own[name] = load_method(reference)
    return own


def compare_and_show(
    tasks: Sequence[tuple[Dataset, dict[str, Any]]], compared: Mapping[str, Any], out: Path | None
) -> str:
    """Compare on the data sets, each with its options of the rules, and print the results; what failed, or ""."""
    from fsgym.comparison.several import folder_name

    if len(tasks) == 1:
        ((dataset, given),) = tasks
        folder = out or Path("fsgym-results", folder_name(dataset.name))
        results = fsgym.compare(dataset, out=folder, **compared, **given)
        show_comparison(results)
        show(f"Report: {folder / 'report.html'}    Table: {folder / 'results.csv'}")
        return _failures(results)
    folder = out or Path("fsgym-results")
    by_dataset = {dataset.name: given for dataset, given in tasks}
    result = fsgym.compare_datasets([dataset for dataset, _ in tasks], by_dataset=by_dataset, out=folder, **compared)
    _show_datasets(result)
    show(f"Report: {folder / 'report.html'}    Tables: {folder / 'losses.csv'}, {folder}/NAME/results.csv")
    return _failures(result.to_frame())


def _failures(results: pd.DataFrame) -> str:
    failed = results[results["error"].notna()]
    if failed.empty:
        return ""
    first = failed.iloc[0]
    return f"{len(failed)} of {len(results)} fits failed, the first of {first['method']}: {first['error']}"


def _show_datasets(result: DatasetsResult) -> None:
    """Print what the rank test says, the answer on each data set, and the losses with the mean ranks."""
    from rich.markup import escape
    from rich.table import Table

    out = console(markup=True)
    first, *others = result.answer
    out.print(f"[bold]{escape(wrapped(first, out.width))}[/bold]")
    if others:
        out.print(escape(wrapped(" ".join(others), out.width)))
    out.print("")
    for name, results in result.results.items():
        out.print(escape(wrapped(f"{name}: {results.attrs['answer']}", out.width)), "")
    test = result.rank_test
    ranks = {} if test is None else test.mean_ranks.to_dict()
    table = Table(title="Losses", title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("", min_width=16, max_width=40)
    for name in result.losses.index:
        table.add_column(escape(str(name)), justify="right", overflow="fold")
    if ranks:
        table.add_column("mean rank", justify="right", no_wrap=True)
    for method in [*ranks, *(m for m in result.losses if m not in ranks)]:
        cells = ["–" if v != v else f"{v:.3f}" for v in result.losses[method]]
        cells += ([f"{ranks[method]:.2f}"] if method in ranks else ["–"]) if ranks else []
        table.add_row(escape(result.titles[method]), *cells)
    out.print(table, "")
    out.print("Losses are means over the test parts, at the lambda of each data set.", style="dim")
