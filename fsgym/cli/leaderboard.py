"""The command ``leaderboard``: a policy of the user next to stored rows."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsgym.cli.completion import complete_variant
from fsgym.cli.terminal import console, say

if TYPE_CHECKING:
    import pandas as pd


def show_leaderboard(
    env_id: Annotated[
        str,
        typer.Argument(metavar="ENV_ID", help="An environment, such as DatumWise-v0.", autocompletion=complete_variant),
    ],
    mine: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FACTORY",
            help="Your own policy: a function train(env) -> policy, named as module:function (the current directory "
            "is searched) or path/to/file.py:function. It receives the training environment. The policy is a "
            "callable (observations, action_masks) -> actions, a Stable-Baselines3 model, an agent or a classifier "
            "with features_used.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Rank a policy of your own on the official split of an environment, next to stored rows of all agents.

    Example: fsgym leaderboard DatumWise-v0 --mine my_policy:train
    """
    from fsgym.ranking import leaderboard

    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    with redirect_stdout(sys.stderr if as_json else sys.stdout):  # of what the factory prints
        table = leaderboard(env_id, mine)
    if table.attrs["note"]:
        say(table.attrs["note"])
    if as_json:
        _print_json(table)
        return
    print(table.attrs["answer"], end="\n\n")
    _print_table(table)


def _print_json(table: pd.DataFrame) -> None:
    rows = json.loads(table.to_json(orient="records", double_precision=10))
    for row in rows:
        row["params"] = json.loads(row["params"]) if row["params"] else None
    print(json.dumps(rows, indent=2, ensure_ascii=False))


def _print_table(table: pd.DataFrame) -> None:
    from rich.markup import escape
    from rich.table import Table

    own = bool(table["mine"].any())
    grouped = bool((table["n_acquisitions"] - table["n_features"]).abs().max() > 1e-9)
    headings = ["loss", *(["minus\nyours"] if own else []), "accuracy", "features\nused"]
    headings += [*(["acqui-\nsitions"] if grouped else []), "price\npaid", "illegal", "settings"]
    shown = Table(box=None, padding=(0, 1, 0, 0))
    shown.add_column("", justify="right")
    shown.add_column("", no_wrap=True, max_width=36)
    for heading in headings:
        last = heading == "settings"
        shown.add_column(heading, justify="left" if last else "right", no_wrap=not last)
    for row in table.to_dict("records"):
        ranked = row["rank"] == row["rank"] and row["admissible"] >= 1
        name = escape(row["name"]) + (" (yours)" if row["mine"] else "")
        cells = [str(row["rank"]) if ranked else "–", f"[bold]{name}[/bold]" if row["mine"] else name]
        cells += [_with_error(row["loss"], row["loss_se"])]
        if own:
            cells += ["" if row["mine"] else _with_error(row["difference"], row["difference_se"], sign="+")]
        cells += [f"{row['accuracy']:.3f}", f"{row['n_features']:.2f}"]
        cells += [*([f"{row['n_acquisitions']:.2f}"] if grouped else []), f"{row['spent']:.4g}"]
        cells += [f"{row['illegal']:.1%}", _settings(row)]
        shown.add_row(*cells)
    out = console(markup=True)
    out.print(shown)
    for line in _captions(table):
        out.print(escape(line), style="dim")


def _with_error(mean: float, error: float, sign: str = "") -> str:
    digits = 4 if abs(error) < 0.1 else 2
    return f"{mean:{sign}.{digits}f} ± {error:.{digits}f}"


def _settings(row: dict[str, Any]) -> str:
    """How a row was obtained, in a few words; that it breaks the rules comes first."""
    share = 1 - row["admissible"]
    params = json.loads(row["params"] or "{}")
    words = [f"breaks the rules ({share:.0%} of rows)"] if share else []
    words += [f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in params.items()]
    words += [row["training"]] if row["training"] else []
    words += [f"{row['seeds'].count(',') + 1} seeds"] if "," in row["seeds"] else []
    return "; ".join(words)


def _captions(table: pd.DataFrame) -> list[str]:
    lines = [
        f"Means over the {table.attrs['n_samples']} test rows of {table.attrs['env_id']} ± standard errors over "
        "these rows; one training part.",
        "Loss: mean error cost + lambda x price paid. Illegal: rows forfeited by an illegal action.",
    ]
    versions = sorted(set(table["version"][~table["mine"]]))
    if versions:
        lines.append(f"Stored rows: fsgym {', '.join(versions)}; default settings where none are named.")
    return lines
