"""The command ``leaderboard``: a policy of the user next to stored rows."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsgym.cli.options import complete_variant
from fsgym.cli.terminal import console, say, show, write_utf8
from fsgym.text.messages import listing, visible_json

if TYPE_CHECKING:
    import pandas as pd

WIDE = 110  # columns of a terminal that show how rows were obtained


def leaderboard(
    env_id: Annotated[
        str,
        typer.Argument(metavar="ENV_ID", help="An environment, such as DatumWise-v0.", autocompletion=complete_variant),
    ],
    mine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]MODULE:FACTORY",
            help="Your own policy: a function train(env) -> policy, named as module:function (the current directory "
            "is searched) or path/to/file.py:function. It receives the training environment. The policy is a "
            "callable (observations, action_masks) -> actions, a Stable-Baselines3 model, an agent or a classifier "
            "with features_used. NAME= before it is its name in the table. It runs in the process that has the "
            "labels of the test rows, and code from a stranger can read your files: read it first. One at a time.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Rank a policy of your own on the official split of an environment, next to stored rows of all agents.

    Example: fsgym leaderboard DatumWise-v0 --mine my_policy:train
    """
    from fsgym.comparison.leaderboard import leaderboard as ranked

    references = mine or []
    if len(references) > 1:
        raise ValueError(
            f"--mine takes one policy, got {len(references)}: {listing(references)}; rank one at a time, or name "
            "several to fsgym compare"
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    with redirect_stdout(sys.stderr if as_json else sys.stdout):  # of what the factory prints
        table = ranked(env_id, next(iter(references), None))
    if table.attrs["note"]:
        say(table.attrs["note"])
    if as_json:
        _print_json(table)
        return
    show(table.attrs["answer"], end="\n\n")
    _print_table(table)


def _print_json(table: pd.DataFrame) -> None:
    rows = json.loads(table.to_json(orient="records", double_precision=10))
    for row in rows:
        row["params"] = json.loads(row["params"]) if row["params"] else None
    write_utf8()
    print(visible_json(json.dumps(rows, indent=2, ensure_ascii=False)))


def _print_table(table: pd.DataFrame) -> None:
    """Print the table; narrow terminals leave out how rows were obtained."""
    from rich.markup import escape
    from rich.table import Table

    out = console(markup=True)
    own, forfeits = bool(table["mine"].any()), bool(table["illegal"].any())
    grouped = bool((table["n_acquisitions"] - table["n_features"]).abs().max() > 1e-9)
    shown = Table(box=None, padding=(0, 1, 0, 0))
    shown.add_column("", justify="right", no_wrap=True)
    shown.add_column("", overflow="fold", max_width=36)
    for heading, wanted in (
        ("loss", True),
        ("minus\nyours", own),
        ("accuracy", True),
        ("features\nused", True),
        ("groups\npaid for", grouped),
        ("price\npaid", True),
        ("illegal", forfeits),
    ):
        if wanted:
            shown.add_column(heading, justify="right", no_wrap=True)
    if out.width >= WIDE:
        shown.add_column("settings")
    for row in table.to_dict("records"):
        name = escape(row["name"]) + (" (yours)" if row["mine"] else "")
        cells = ["–" if row["admissible"] < 1 else str(row["rank"]), f"[bold]{name}[/bold]" if row["mine"] else name]
        cells += [_with_error(row["loss"], row["loss_se"])]
        if own:
            cells += ["" if row["mine"] else _with_error(row["difference"], row["difference_se"], sign="+")]
        cells += [f"{row['accuracy']:.3f}", f"{row['n_features']:.2f}"]
        cells += [*([f"{row['n_acquisitions']:.2f}"] if grouped else []), f"{row['spent']:.4g}"]
        cells += [f"{row['illegal']:.1%}"] if forfeits else []
        cells += [_settings_in_words(row)] if out.width >= WIDE else []
        shown.add_row(*cells)
    out.print(shown, "")
    for line in _captions(table):
        out.print(escape(line), style="dim")


def _with_error(mean: float, error: float, sign: str = "") -> str:
    """A mean and its standard error, as ``0.065±.015``."""
    digits = 3 if abs(error) < 0.1 else 2
    return f"{mean:{sign}.{digits}f}±{error:.{digits}f}".replace("±0.", "±.")


def _settings_in_words(row: dict[str, Any]) -> str:
    """How a row was obtained, in a few words; that it breaks the rules comes first."""
    from fsgym.comparison.leaderboard import training_in_words

    share = 1 - row["admissible"]
    params = json.loads(row["params"] or "{}")
    words = [f"breaks the rules ({100 * share:.3g} % of rows)"] if share else []
    params.pop("total_timesteps", None)  # the length of the training says it
    words += [f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in params.items()]
    words += filter(None, [training_in_words(row)])
    words += [f"{row['seeds'].count(',') + 1} seeds"] if "," in row["seeds"] else []
    return "; ".join(words)


def _lambda_in_words(table: pd.DataFrame) -> str:
    paying = table[table["spent"] > 0]
    return "" if paying.empty else f"; lambda is {(paying['acquisition_cost'] / paying['spent']).iloc[0]:.4g}"


def _captions(table: pd.DataFrame) -> list[str]:
    lines = [
        f"Means over the {table.attrs['n_samples']} test rows of {table.attrs['env_id']} ± standard errors over "
        "these rows; one training part.",
        f"Loss: mean error cost + lambda x price paid{_lambda_in_words(table)}."
        + (" Illegal: rows forfeited by an illegal action." if table["illegal"].any() else ""),
    ]
    versions = sorted(set(table["version"][~table["mine"]]))
    if versions:
        lines.append(f"Stored rows: fsgym {', '.join(versions)}; --json prints how each was obtained.")
    if (table["admissible"] < 1).any():
        lines.append("–: breaks the rules (budget, prerequisites) for some rows, and is not ranked.")
    return lines
