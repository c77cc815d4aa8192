"""The diffs of CONTRIBUTING.md: what they add, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fsgym.methods import Method

ROOT = Path(__file__).resolve().parents[2]


class FileDiff(NamedTuple):
    """The lines that a diff adds to a file, and those after which or instead of which it does so."""

    path: str
    is_new: bool
    added: list[str]
    present: list[str]


def diffs() -> Iterator[FileDiff]:
    """One for each file of each diff."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^--- ", block, flags=re.MULTILINE)[1:]:
            head, *lines = part.splitlines()
            is_new = head == "/dev/null"
            path = lines.pop(0).removeprefix("+++ b/") if is_new else head.removeprefix("a/")
            added = [line[1:] for line in lines if line.startswith("+")]
            present = [re.sub(r"^(@@ |[- ])", "", line) for line in lines if line[:1] in ("@", "-", " ")]
            yield FileDiff(path, is_new, added, present)


def entry_of(name: str) -> Method:
    """The entry of ``METHODS`` that a diff adds under this name."""
    entries = [eval("{" + "\n".join(d.added) + "}") for d in diffs() if d.path == "fsgym/methods/table.py"]
    return next(entry[name] for entry in entries if name in entry)
