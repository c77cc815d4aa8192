"""Write what docs and README have from the code, tables and counts: python .ci/tables.py. Tests compare it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from typer.main import get_command

from fsgym.cli import app
from fsgym.comparison.leaderboard import difference_in_words, has_stored_rows, make_part, numbers_to_beat, stored_rows
from fsgym.envs.ids import VARIANTS
from fsgym.methods import METHODS, methods_table
from fsgym_studies import STUDIES
from fsgym_studies.common.render import closed_details
from fsgym_studies.suites import SUITES

README = Path(__file__).resolve().parent.parent / "README.md"
DOCS = README.parent / "docs"
NUMBERS = DOCS / "numbers_to_beat.md"
METHODS_PAGE = DOCS / "methods" / "index.md"


def with_tables(text: str) -> str:
    """The text with each generated table between its two markers."""
    begin, end = "<!-- methods: begin, written by .ci/tables.py -->", "<!-- methods: end -->"
    table = methods_table()
    for note in METHODS_PAGE.parent.glob("notes/*.md"):
        table = table.replace(f"(index.md#{note.stem})", f"(notes/{note.name})")
    # what links in a clone lead to
    table = re.sub(r"^\| \[`(\w+)`\]", r'| <a id="\1"></a>[`\1`]', table, flags=re.MULTILINE)
    block = f"{begin}\n{table}{end}"
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: block, text, flags=re.DOTALL)


def with_counts(text: str) -> str:
    """The text with the number of environments, methods, studies, suites and commands in its table."""
    counts = {
        "environments": len(VARIANTS),
        "agents and baselines": len(METHODS),
        "studies": len(STUDIES),
        "suites": len(SUITES),
        "commands": len(get_command(app).commands),
    }
    for what, count in counts.items():
        text = re.sub(rf"^(\| {what} \| )\d+", rf"\g<1>{count}", text, flags=re.MULTILINE)
    return text


def page_of_numbers() -> str:
    """The page with the stored rows of each environment: what they say, and the rows in closed details."""
    readings = [f"`{name}`: {method.reading}." for name, method in METHODS.items() if method.reading]
    parts = [
        """# Numbers to beat

Stored results on the official split of each environment: beat the first of a table by more than noise. The loss is the
mean error cost plus `lam` times the mean price paid, with its standard error over the test rows; smaller is better.
Differences have the 95 % interval of a t test paired by test row, and "noise" marks an interval that contains 0. [Why
deep agents are level or behind](guide/deep_agents.md#why-deep-agents-are-level-or-behind) lists reasons, and which of
them are measured.

`fsgym leaderboard ID --mine MODULE:FACTORY` adds a policy of your own, and says whether the difference is more than
noise; [From Gymnasium](start/from_gym.md#a-policy-of-your-own) says how.
"""
    ]
    for env_id in VARIANTS:
        table, n_samples = numbers_to_beat(env_id), make_part(env_id, "test").dataset.n_samples
        parts.append(f"## {env_id}\n")
        if has_stored_rows(env_id):
            parts.append(f"{verdict(table)}{best_deep_agent(env_id)}\n")
            n_rows = len(table.splitlines()) - 2
            parts += closed_details({f"The {n_rows} policies on {n_samples} test rows": table})
        else:
            parts.append(table)
    parts.append("## About these rows\n")
    parts += closed_details(
        {
            "What was run, and what the columns are": """
One column has the loss of each row minus that of the first. Every policy was trained on the training part with its
default settings, but for the number of steps where its name has one, and evaluated on every row of the test part. All
rows but `constant` are means over three seeds; how far seeds differ is in no interval. The setting of CART was chosen
by cross-validation on the training part. `constant` acquires nothing and `everything` acquires all features. A dash
instead of a rank marks a row that breaks the rules (budget, prerequisites) for some test rows. `random` draws legal
actions. `ppo` and `a2c` are trained without masks, and choose among legal actions afterwards. A training has its length
and its CPU seconds on one core, which other work on the same machine made up to twice as long. The version is that of
fsgym which computed the row. Not all rows are of one kind of CPU, and another kind [changes the losses of deep
agents](guide/deep_agents.md#learning-curves). An agent that a table lacks has not been run on that environment.
""",
            "Different readings of one paper have rows of their own": " ".join(readings),
            "How this page is made": "`python .ci/tables.py` writes it from the rows that `fsgym leaderboard` has, and "
            "`python benchmarks/leaderboard.py` computes these rows again.",
        }
    )
    return "\n".join(parts)


def best_deep_agent(env_id: str) -> str:
    """How the deep agent of the lowest loss stands beside the default agent; "" without rows."""
    rows = {row["name"]: row for row in stored_rows(env_id)[0] if row["admissible"] >= 1}
    deep = [row for row in rows.values() if "cpu_seconds" in row]
    if not deep or "adaptive" not in rows:
        return ""
    best, default = min(deep, key=lambda row: row["loss"]), rows["adaptive"]
    difference = difference_in_words(np.subtract(best["losses"], default["losses"]))
    best_loss, default_loss = (f"{row['loss']:.3g} ± {row['loss_se']:.2g}" for row in (best, default))
    return (
        f" The best of {len(deep)} deep rows is `{best['name']}`, {best_loss}; the default agent, `adaptive`, has "
        f"{default_loss}. The difference is {difference}."
    )


def verdict(table: str) -> str:
    """Which row of a table of ``numbers_to_beat`` is first, and which are within noise of it; "" without rows."""
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    if not rows:
        return ""
    level = [row[1] for row in rows if ", noise" in "".join(row)]
    return f"`{rows[0][1]}` has the lowest loss" + (f"; within noise of it: {', '.join(level)}." if level else ".")


if __name__ == "__main__":
    README.write_text(with_counts(README.read_text(encoding="utf-8")), encoding="utf-8")
    METHODS_PAGE.write_text(with_tables(METHODS_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    NUMBERS.write_text(page_of_numbers(), encoding="utf-8")
