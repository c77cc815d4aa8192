"""Output of the commands in the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table


def say(sentence: str) -> None:
    """Print one line on stderr."""
    print(f"fsgym: {' '.join(sentence.split())}", file=sys.stderr)


def console(markup: bool = False) -> Console:
    """A console on standard output, 120 columns wide if that is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, markup=markup, width=None if sys.stdout.isatty() else 120)


def show_comparison(results: pd.DataFrame) -> None:
    """Print a comparison: one sentence, then tables that fit into 80 columns unless names are long."""
    from rich.markup import escape

    from fsgym.comparison.summary import best_in_words, summarise
    from fsgym.methods import METHODS

    summary, counted = summarise(results), results.attrs["counted"]
    out = console(markup=True)
    if summary.settings.empty:
        return
    titles = {k: METHODS[k].title if k in METHODS else k for k in summary.settings["method"].unique()}
    out.print(escape(best_in_words(summary, titles, counted)), end="\n\n")
    if results.attrs.get("error_costs"):
        out.print(f"Error costs: {escape(results.attrs['error_costs'])}.", end="\n\n")
    names = {k: escape(title) for k, title in titles.items()}
    breaks_rules = bool((summary.settings["admissible"] < 1).any())
    for table in (
        _settings_table(summary.settings, names, counted, breaks_rules),
        _within_table(summary.within, names, counted),
        _losses_table(summary.losses, names, counted, breaks_rules),
    ):
        out.print(table, "")
    out.print(
        "Lambda is the exchange rate: the value of one unit of cost, in units of error cost.",
        style="dim",
    )
    out.print("The last two tables use settings chosen on the validation parts, never on test data.", style="dim")
    if breaks_rules:
        out.print(
            "Admissible: the share of test rows that respect the rules (budget, prerequisites); ! where it is below "
            "100 %.",
            style="dim",
        )


def _unit(counted: str) -> str:
    return "features" if counted == "n_features" else "groups"


def _table(title: str, *columns: str) -> Table:
    """A table whose first column, without a heading, holds names."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("", min_width=16, max_width=40)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _usage_columns(counted: str, breaks_rules: bool) -> list[str]:
    """Headings of the columns that ``_usage_cells`` fills."""
    return [f"{_unit(counted)}\nused", "price\npaid", *(["admis-\nsible"] if breaks_rules else [])]


def _usage_cells(row: dict[str, Any], counted: str, breaks_rules: bool) -> list[str]:
    """Mean number of features used and mean price paid; the admissible share if some method breaks rules."""
    from fsgym.comparison.summary import mean_text

    cells = [mean_text(row, counted, 1, short=True), mean_text(row, "spent", 2, short=True)]
    return [*cells, f"{row['admissible']:.0%}"] if breaks_rules else cells


def _rate_cells(row: dict[str, Any], *names: str) -> list[str]:
    """Means with three digits and their standard deviations."""
    from fsgym.comparison.summary import mean_text

    return [mean_text(row, name, short=True) for name in names]


def _settings_table(settings: pd.DataFrame, names: dict[str, str], counted: str, breaks_rules: bool) -> Table:
    from rich.markup import escape

    from fsgym.comparison.summary import settings_text

    title = "All settings on the test parts (mean ± standard deviation)"
    table = _table(title, "accuracy", "balanced\naccuracy", *_usage_columns(counted, breaks_rules), "sparsity")
    for method, rows in settings.groupby("method", sort=False):
        table.add_row(f"[bold]{names[str(method)]}[/bold]")
        for row in rows.to_dict("records"):
            cells = _rate_cells(row, "accuracy", "balanced_accuracy") + _usage_cells(row, counted, breaks_rules)
            table.add_row("  " + escape(settings_text(row["params"])), *cells, *_rate_cells(row, "sparsity"))
    return table


def _within_table(within: pd.DataFrame, names: dict[str, str], counted: str) -> Table:
    unit, limits = _unit(counted), list(dict.fromkeys(within["k"]))
    title = f"Accuracy with at most k {unit} on average (in brackets: {unit} used)"
    table = _table(title, *(f"k = {k:g}" for k in limits))
    for method, rows in within.groupby("method", sort=False):
        cells = [
            "–"
            if row["accuracy"] != row["accuracy"]
            else f"{row['accuracy']:.3f} ({row[counted]:.1f}){'!' if row['admissible'] < 1 else ''}"
            for row in rows.to_dict("records")
        ]
        table.add_row(names[str(method)], *cells)
    return table


def _losses_table(losses: pd.DataFrame, names: dict[str, str], counted: str, breaks_rules: bool) -> Table:
    title = "Loss: cost of errors + lambda x price paid"
    table = _table(title, "lambda", "loss", "accuracy", *_usage_columns(counted, breaks_rules))
    for row in losses.sort_values("lam", kind="stable").to_dict("records"):
        cells = _rate_cells(row, "loss", "accuracy") + _usage_cells(row, counted, breaks_rules)
        table.add_row(names[row["method"]], f"{row['lam']:.4g}", *cells)
    return table
