"""What the commands print."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console


def say(sentence: str) -> None:
    """One line on stderr."""
    print(f"fsgym: {' '.join(sentence.split())}", file=sys.stderr)


def console(markup: bool = False) -> Console:
    """Standard output, 120 columns wide where it is no terminal."""
    from rich.console import Console

    return Console(highlight=False, markup=markup, width=None if sys.stdout.isatty() else 120)


def show_comparison(results: pd.DataFrame) -> None:
    """The tables of a comparison in the terminal: within 80 columns for usual names."""
    from rich.markup import escape
    from rich.table import Table

    from fsgym.comparison.summary import best_in_words, mean_text, settings_text, summarise
    from fsgym.methods import METHODS

    summary, counted = summarise(results), results.attrs["counted"]
    unit = "features" if counted == "n_features" else "groups"
    out = console(markup=True)
    if summary.settings.empty:
        return
    titles = {k: METHODS[k].title if k in METHODS else k for k in summary.settings["method"].unique()}
    names = {k: escape(title) for k, title in titles.items()}
    out.print(escape(best_in_words(summary, titles, counted)), "")

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
        "",
        "accuracy",
        "balanced",
        "sparsity",
        unit,
        "mean cost",
        *more,
    )
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
            "–"
            if row["accuracy"] != row["accuracy"]
            else f"{row['accuracy']:.3f} ({row[counted]:.1f}){'!' if row['admissible'] < 1 else ''}"
            for row in rows.to_dict("records")
        ]
        within.add_row(names[method], *cells)
    losses = table("Loss at lambda", "", "lambda", "loss", "accuracy", unit, "mean cost", *more)
    for row in summary.losses.sort_values("lam", kind="stable").to_dict("records"):
        figures = [mean_text(row, f, short=True) for f in ("loss", "accuracy")]
        figures += [mean_text(row, counted, 1, short=True), mean_text(row, "spent", 2, short=True)]
        losses.add_row(names[row["method"]], f"{row['lam']:.4g}", *figures, *allowed(row))
    for made in (settings, within, losses):
        out.print(made, "")
    out.print("In the last two tables the setting is chosen on validation parts, never on test data.", style="dim")
    if more:
        out.print("Allowed: the share of rows that keep to the budget; ! marks what does not always.", style="dim")
