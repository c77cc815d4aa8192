"""Write the tables of the README that come from the code: python .ci/tables.py. A test compares them."""

from __future__ import annotations

import re
from pathlib import Path

from fsgym.methods import methods_table

README = Path(__file__).resolve().parent.parent / "README.md"


def with_tables(text: str) -> str:
    """The text with each generated table between its two markers."""
    begin, end = "<!-- methods: begin, written by .ci/tables.py -->", "<!-- methods: end -->"
    block = f"{begin}\n{methods_table()}{end}"
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: block, text, flags=re.DOTALL)


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text(encoding="utf-8")), encoding="utf-8")
