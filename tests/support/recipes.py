"""The diffs of the pages in ``docs/extend``: what they add, and the files that they make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fsgym.methods import Method

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "extend"


class FileDiff(NamedTuple):
    """What a diff on a page does to a file.

    A hunk begins with ``@@`` and a line of the file. Its lines begin with ``+`` (added), ``-`` (removed) or a space
    (kept), and stand in the file one after the other; ``...`` stands for lines in between.
    """

    page: str
    path: str
    is_new: bool
    lines: tuple[str, ...]

    @property
    def added(self) -> list[str]:
        return [line[1:] for line in self.lines if line.startswith("+")]

    def applied(self, text: str) -> str:
        """The file with the lines of the diff; ValueError where the file has no such place."""
        if self.is_new:
            return "\n".join(self.added) + "\n"
        old, new, skips = text.splitlines(), [], False
        for line in self.lines:
            if line.startswith("+"):
                new.append(line[1:])
            elif line == "...":
                skips = True
            else:
                wanted = line[3:] if line.startswith("@@ ") else line[1:]
                far = skips or line.startswith("@@ ")
                same = [k for k, other in enumerate(old if far else old[:1]) if other in (wanted, f"    {wanted}")]
                if not same:
                    raise ValueError(f"{self.page}: {self.path} has no line {wanted!r} there")
                new += old[: same[0]] + ([] if line.startswith("-") else [old[same[0]]])
                old = old[same[0] + 1 :]
                skips = line.startswith("@@ ")
        return "\n".join([*new, *old]) + "\n"


def diffs() -> Iterator[FileDiff]:
    """One for each file of each diff."""
    for page in sorted(PAGES.glob("*.md")):
        for block in re.findall(r"^```diff\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            for part in re.split(r"^--- ", block, flags=re.MULTILINE)[1:]:
                head, *lines = part.splitlines()
                is_new = head == "/dev/null"
                path = lines.pop(0).removeprefix("+++ b/") if is_new else head.removeprefix("a/")
                yield FileDiff(page.name, path, is_new, tuple(lines))


def entry_of(name: str) -> Method:
    """The entry of ``METHODS`` that a diff adds under this name."""
    entries = [eval("{" + "\n".join(d.added) + "}") for d in diffs() if d.path == "fsgym/methods/table.py"]
    return next(entry[name] for entry in entries if name in entry)
