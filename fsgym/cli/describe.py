"""The command ``describe``: the columns of a table, and what looks wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsgym.cli import options
from fsgym.cli.terminal import console, show

if TYPE_CHECKING:
    import pandas as pd


def describe(
    data: options.DataArgument,
    target: options.TargetOption = None,
    costs: Annotated[Path | None, typer.Option(metavar="FILE", help="Prices of the columns, as in compare.")] = None,
    units: options.UnitsOption = None,
    row_groups: options.RowGroupsOption = None,
    separator: options.SeparatorOption = None,
    decimal: options.DecimalOption = None,
    thousands: options.ThousandsOption = None,
    censored: options.CensoredOption = None,
    sheet: options.SheetOption = None,
    header_row: options.HeaderRowOption = None,
    data_dir: options.DataDirOption = None,
) -> None:
    """Describe the columns of a table, and say which of them look wrong and which option resolves it.

    Example: fsgym describe patients.csv --target died
    """
    import fsgym
    from fsgym.cli.files import read_units

    with options.warnings_printed():
        described = fsgym.describe(
            data,
            target,
            costs=costs,
            units=read_units(units),
            separator=separator,
            decimal=decimal,
            thousands=thousands,
            censored=censored,
            sheet=sheet,
            header_row=header_row,
            data_dir=data_dir,
            row_groups=row_groups,
        )
    console().print(_table_of(described))
    odd = described[described["suspicion"] != ""]
    if len(odd):
        show()
    for row in odd.to_dict("records"):
        has = "has " if row["suspicion"][0].isdigit() else ""
        show(f"{row['column']} {has}{row['suspicion']}; {row['remedy']}")


def _table_of(described: pd.DataFrame) -> Any:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    shown = [name for name in ("price", "unit") if described[name].replace("", None).notna().any()]
    for name in ("column", "type", "levels or range"):
        table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=30 if name == "column" else None)
    for name in ("missing", *shown):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in described.to_dict("records"):
        bounds = range_text(row["low"], row["high"]) if row["low"] == row["low"] else ""
        cells = [row["column"], row["type"], row["levels"] or bounds, f"{row['missing']:.0%}" if row["missing"] else ""]
        for name in shown:
            value = row[name]
            cells.append(value if isinstance(value, str) else f"{value:g}" if value == value else "")
        table.add_row(*(" ".join(str(c).split()) for c in cells), "!" if row["suspicion"] else "")
    return table


def range_text(low: float, high: float) -> str:
    """A range of numbers with 6 digits, or with as many as its width needs.

    >>> range_text(-3.9, 2.12), range_text(1699999000.25, 1700000999.25)
    ('-3.9 to 2.12', '1699999000 to 1700000999')
    """
    far = max(abs(low), abs(high)) > 250 * (high - low) > 0
    return f"{low:.10g} to {high:.10g}" if far else f"{low:g} to {high:g}"
