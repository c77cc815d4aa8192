"""Output of the commands in the terminal."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fsgym.text.messages import shortened, visible

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from fsgym.comparison.ranking import Ranking


LONGEST_SENTENCE = 380  # characters on stderr; what is longer, such as a list of names, is cut in its middle
LONGEST_WORD = 160  # of these characters
TABLE_WIDTH = 80  # columns into which a table fits
UNLIMITED = 1000  # columns for the measure of a table


def say(sentence: str) -> None:
    """Print one line on stderr, without characters that a terminal obeys, and not longer than can be read."""
    words = " ".join(shortened(visible(word), LONGEST_WORD) for word in sentence.split())
    print(f"fsgym: {shortened(words, LONGEST_SENTENCE)}", file=sys.stderr)


def show(text: str = "", end: str = "\n") -> None:
    """Print text on standard output, without characters that a terminal obeys."""
    print(visible(text), end=end)


def console(markup: bool = False, **options: Any) -> Console:
    """A console on standard output, 120 columns wide if that is not a terminal, that prints as ``show`` does."""
    from rich.console import Console
    from rich.segment import Segment

    class VisibleConsole(Console):
        def render(self, *arguments: Any, **named: Any) -> Iterable[Segment]:
            for segment in super().render(*arguments, **named):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    width = None if sys.stdout.isatty() else 120
    return VisibleConsole(**{"highlight": False, "markup": markup, "emoji": False, "width": width} | options)


def show_comparison(results: pd.DataFrame) -> None:
    """Print a comparison: the answer, then tables that fit into 80 columns unless names are long."""
    from rich.markup import escape

    from fsgym.comparison.answer import FROM_BEST, answer_in_words, best_elsewhere
    from fsgym.comparison.ranking import rank_methods
    from fsgym.comparison.summary import summarise

    ranking = rank_methods(results)
    if ranking is None:
        return
    out = console(markup=True)
    first, *others = answer_in_words(ranking)
    out.print(f"[bold]{escape(wrapped(first, out.width))}[/bold]")
    for text in filter(None, (" ".join(others), best_elsewhere(results))):
        out.print(escape(wrapped(text, out.width)))
    out.print("")
    if results.attrs.get("error_costs"):
        out.print(f"Error costs: {escape(results.attrs['error_costs'])}.", end="\n\n")
    table = _headline(ranking)
    width = out.measure(table, options=out.options.update(width=UNLIMITED)).maximum
    out.print(table if width <= min(out.width, TABLE_WIDTH) else _headline(ranking, FROM_BEST), "")
    names = {s.method: escape(s.title) for s in ranking.standings if not s.reference}
    within = summarise(results).within
    within = within[within["method"].isin(within.dropna(subset=["accuracy"])["method"]) & within["method"].isin(names)]
    remarks = _remarks(ranking)
    if len(within) and not ranking.has_error_costs:
        out.print(_within_table(within, names, ranking), "")
        remarks.insert(2, _choice_within(ranking))
    for sentence in remarks:
        out.print(escape(sentence), style="dim")


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most ``width`` characters, with each number and its % sign in one line."""
    space = "\u00a0"  # at which textwrap does not break lines
    return textwrap.fill(text.replace(" %", space + "%"), width).replace(space, " ")


def _headline(ranking: Ranking, left_out: str = "") -> Table:
    """One row per method at its chosen settings, but for one column; reference points are dim and come last."""
    from rich.markup import escape

    from fsgym.comparison.answer import headline_table
    from fsgym.comparison.noise import FEWEST_PAIRS

    columns = {heading: cells for heading, cells in headline_table(ranking, short=True).items() if heading != left_out}
    few = f" (better {FEWEST_PAIRS} or more)" if ranking.splits < FEWEST_PAIRS else ""
    title = f"Methods at lambda {ranking.lam:.4g}, over {ranking.splits} split{'s' * (ranking.splits > 1)}{few}"
    shown = _table(title, *map(_two_lines, columns))
    best = ranking.best
    for standing, *cells in zip(ranking.standings, *columns.values(), strict=True):
        style = "dim" if standing.reference else "bold" if standing is best else ""
        mark = "" if not standing.note else " !" if standing.flag else " *"
        shown.add_row(escape(standing.title + mark), *map(escape, cells), style=style)
    return shown


def _two_lines(heading: str) -> str:
    """A heading with its last word on a second line, each line of at most 12 characters."""
    from rich.markup import escape

    from fsgym.comparison.figures import shorten_name

    first, _, last = heading.rpartition(" ")
    lines = [shorten_name(line, 12) for line in (first, last) if line]
    return escape("\n".join(lines))


def _remarks(ranking: Ranking) -> list[str]:
    """What a reader needs to understand the table, and where the rest is."""
    loss = "Cost per case" if ranking.has_error_costs else "Loss"
    remarks = [
        f"{loss}: cost of errors + lambda x price paid. Lambda is the value of one unit of cost, in units of error "
        "cost.",
        "Settings were chosen on the validation parts, figures are means over the test parts"
        + (" (± standard deviation)." if ranking.splits > 1 and not ranking.has_error_costs else "."),
        _verdict_in_words(ranking),
    ]
    remarks += [f"{'!' if s.flag else '*'} {s.title}: {s.note}." for s in ranking.standings if s.note]
    if any(s.reference for s in ranking.standings):
        remarks.append("The last rows are reference points.")
    return [*remarks, "All settings, and the losses at other lambdas, are in the report and in results.csv."]


def _choice_within(ranking: Ranking) -> str:
    """How the settings of the second table were chosen, and why they need not be those of the first one."""
    return (
        "The first table has the settings with the lowest loss, the second for each k those with the best accuracy, "
        f"whatever their loss at this lambda; –: no setting uses at most k {ranking.unit}."
    )


def _verdict_in_words(ranking: Ranking) -> str:
    """The test that says whether a difference from the best method is noise."""
    from fsgym.comparison.noise import FEWEST_PAIRS

    if ranking.splits >= FEWEST_PAIRS:
        return f"Noise: by a t test at 95 % of the differences from the best, paired over the {ranking.splits} splits."
    return (
        "Noise: by the 95 % intervals of the mean losses on the test rows; from "
        f"{FEWEST_PAIRS} splits on, by a t test paired over the splits."
    )


def _table(title: str, *columns: str) -> Table:
    """A table whose first column, without a heading, holds names."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("", min_width=16, max_width=40)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _within_table(within: pd.DataFrame, names: dict[str, str], ranking: Ranking) -> Table:
    unit, counted, limits = ranking.unit, ranking.counted, list(dict.fromkeys(within["k"]))
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
