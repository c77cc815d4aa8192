"""Write what docs and README have from the code, tables and counts: python .ci/tables.py. Tests compare it."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from fsgym.cli import app
from fsgym.comparison.leaderboard import make_part, numbers_to_beat
from fsgym.envs.ids import VARIANTS
from fsgym.methods import METHODS, methods_table
from fsgym_studies import STUDIES
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
    """The page with the stored rows of each environment."""
    readings = [f"`{name}`: {method.reading}." for name, method in METHODS.items() if method.reading]
    tables = {env_id: numbers_to_beat(env_id) for env_id in VARIANTS}
    parts = [
        "# Numbers to beat\n",
        "\n".join(f"* {env_id}: {verdict(table)}" for env_id, table in tables.items()),
        """
Stored results on the official split of each environment: beat the first of a table by more than noise. A column has the
loss of each row minus that of the first, with the 95 % interval of a t test paired by test row. "noise" marks an
interval that contains 0. Every policy was trained on the training part with its default settings, but for the number of
steps where its name has one, and evaluated on every row of the test part. The loss is the mean error cost plus `lam`
times the mean price paid, with its standard error over the test rows; smaller is better. The rows of agents are means
over three seeds; how far seeds differ is in no interval. [Why deep agents are level or
behind](guide/deep_agents.md#why-deep-agents-are-level-or-behind) lists reasons, and which of them are measured. The
setting of CART was chosen by cross-validation on the training part. `constant` acquires nothing and `everything`
acquires all features. A dash instead of a rank marks a row that breaks the rules (budget, prerequisites) for some test
rows. `random` draws legal actions. `ppo` and `a2c` are trained without masks, and choose among legal actions
afterwards. A training has its length and its CPU seconds on one core, which other work on the same machine made up to
twice as long. The version is that of fsgym which computed the row; 0.2.0 also stands for the development of 0.3.0 until
its number was set. An agent that a table lacks has not been run on that environment.

`fsgym leaderboard ID --mine MODULE:FACTORY` adds a policy of your own, and says whether the difference is more than
noise; [From Gymnasium](start/from_gym.md#a-policy-of-your-own) says how.
""",
        f"Different readings of one paper have rows of their own. {' '.join(readings)}\n",
    ]
    for env_id, table in tables.items():
        n_samples = make_part(env_id, "test").dataset.n_samples
        parts.append(f"## {env_id}\n\n{n_samples} test rows.\n\n{table}")
    parts.append(
        "This page is written by `python .ci/tables.py` from the rows that `fsgym leaderboard` has, and\n"
        "`python benchmarks/leaderboard.py` computes these rows again.\n"
    )
    return "\n".join(parts)


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
