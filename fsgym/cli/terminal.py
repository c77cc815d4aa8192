"""What the commands print."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table


def say(sentence: str) -> None:
    """One line on stderr."""
    print(f"fsgym: {' '.join(sentence.split())}", file=sys.stderr)


def console(markup: bool = False) -> Console:
    """Standard output, 120 columns wide where it is no terminal."""
    from rich.console import Console

    return Console(highlight=False, markup=markup, width=None if sys.stdout.isatty() else 120)


def show_comparison(results: pd.DataFrame) -> None:
    """A comparison in the terminal: a sentence, then tables within 80 columns for usual names."""
    from rich.markup import escape

    from fsgym.comparison.summary import best_in_words, summarise
    from fsgym.methods import METHODS

    summary, counted = summarise(results), results.attrs["counted"]
    out = console(markup=True)
    if summary.settings.empty:
        return
    titles = {k: METHODS[k].title if k in METHODS else k for k in summary.settings["method"].unique()}
    out.print(escape(best_in_words(summary, titles, counted)), "")
    names = {k: escape(title) for k, title in titles.items()}
    overspent = bool((summary.settings["admissible"] < 1).any())
    for table in (
        _settings_table(summary.settings, names, counted, overspent),
        _within_table(summary.within, names, counted),
        _losses_table(summary.losses, names, counted, overspent),
    ):
        out.print(table, "")
    out.print("In the last two tables the setting is chosen on validation parts, never on test data.", style="dim")
    if overspent:
        out.print(
            "Allowed: the share of rows for which the rules (budget, prerequisites) allow what is used; ! if not all.",
            style="dim",
        )


def _unit(counted: str) -> str:
    return "features" if counted == "n_features" else "groups"


def _table(title: str, first: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column(first, min_width=16, max_width=40)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _figures(row: dict[str, Any], rates: Sequence[str], counted: str, overspent: bool) -> list[str]:
    """Rates with three digits, then what is used and paid; the share of rows allowed where not all are."""
    from fsgym.comparison.summary import mean_text

    figures = [mean_text(row, name, short=True) for name in rates]
    figures += [mean_text(row, counted, 1, short=True), mean_text(row, "spent", 2, short=True)]
    return [*figures, f"{row['admissible']:.0%}"] if overspent else figures


def _settings_table(settings: pd.DataFrame, names: dict[str, str], counted: str, overspent: bool) -> Table:
    from rich.markup import escape

    from fsgym.comparison.summary import settings_text

    title = "Each setting on the test parts (mean ± standard deviation over the splits)"
    columns = ["accuracy", "balanced", "sparsity", _unit(counted), "mean cost", *(["allowed"] if overspent else [])]
    table = _table(title, "", *columns)
    for method, rows in settings.groupby("method", sort=False):
        table.add_row(f"[bold]{names[str(method)]}[/bold]")
        for row in rows.to_dict("records"):
            figures = _figures(row, ("accuracy", "balanced_accuracy", "sparsity"), counted, overspent)
            table.add_row("  " + escape(settings_text(row["params"])), *figures)
    return table


def _within_table(within: pd.DataFrame, names: dict[str, str], counted: str) -> Table:
    unit, limits = _unit(counted), list(dict.fromkeys(within["k"]))
    title = f"Accuracy within k mean {unit} (in brackets: {unit} on the test parts)"
    table = _table(title, "", *(f"k = {k:g}" for k in limits))
    for method, rows in within.groupby("method", sort=False):
        cells = [
            "–"
            if row["accuracy"] != row["accuracy"]
            else f"{row['accuracy']:.3f} ({row[counted]:.1f}){'!' if row['admissible'] < 1 else ''}"
            for row in rows.to_dict("records")
        ]
        table.add_row(names[str(method)], *cells)
    return table


def _losses_table(losses: pd.DataFrame, names: dict[str, str], counted: str, overspent: bool) -> Table:
    columns = ["lambda", "loss", "accuracy", _unit(counted), "mean cost", *(["allowed"] if overspent else [])]
    table = _table("Loss at lambda", "", *columns)
    for row in losses.sort_values("lam", kind="stable").to_dict("records"):
        figures = _figures(row, ("loss", "accuracy"), counted, overspent)
        table.add_row(names[row["method"]], f"{row['lam']:.4g}", *figures)
    return table
