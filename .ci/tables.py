"""Write the tables of docs that come from the code: python .ci/tables.py. Tests compare them."""

from __future__ import annotations

import re
from pathlib import Path

from fsgym.methods import methods_table
from fsgym.ranking import make_part, numbers_to_beat
from fsgym.registration import VARIANTS

DOCS = Path(__file__).resolve().parent.parent / "docs"
NUMBERS = DOCS / "numbers_to_beat.md"
METHODS_PAGE = DOCS / "methods" / "index.md"


def with_tables(text: str) -> str:
    """The text with each generated table between its two markers."""
    begin, end = "<!-- methods: begin, written by .ci/tables.py -->", "<!-- methods: end -->"
    block = f"{begin}\n{methods_table()}{end}"
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: block, text, flags=re.DOTALL)


def page_of_numbers() -> str:
    """The page with the stored rows of each environment."""
    parts = [
        """# Numbers to beat

This page is written by `python .ci/tables.py` from the rows that `fsgym leaderboard` has, and
`python benchmarks/leaderboard.py` computes these rows again. Every policy was trained on the training part with its
default settings (deep agents for 100,000 steps) and evaluated on every row of the test part.
The loss is the mean error cost plus `lam` times the mean
price paid, with its standard error over the test rows; smaller is better. The rows of agents are means over
three seeds. The setting of CART was chosen by cross-validation on the training part. `constant` acquires nothing and
`everything` acquires all features. A dash instead of a rank marks a row that breaks the rules (budget, prerequisites)
for some test rows. An agent that a table lacks has not been run on that environment.

`fsgym leaderboard ID --mine MODULE:FACTORY` adds a policy of your own, and says whether the difference is more than
noise; [From Gymnasium](start/from_gym.md#a-policy-of-your-own) says how.
"""
    ]
    for env_id in VARIANTS:
        n_samples = make_part(env_id, "test").dataset.n_samples
        parts.append(f"## {env_id}\n\n{n_samples} test rows.\n\n{numbers_to_beat(env_id)}")
    return "\n".join(parts)


if __name__ == "__main__":
    METHODS_PAGE.write_text(with_tables(METHODS_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    NUMBERS.write_text(page_of_numbers(), encoding="utf-8")
