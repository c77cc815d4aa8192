"""The commands of the page on what is promised: that what they name exists."""

import re
import shlex
from pathlib import Path

from support.attacks import ATTACKS

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "guarantees.md").read_text()


def test_each_promise_is_tested_by_what_exists():
    commands = re.findall(r"`((?:pytest|python) [^`]*)`", PAGE)
    assert len(commands) > 12
    for command in commands:
        words = shlex.split(command)
        paths = [ROOT / word for word in words if word.startswith((".ci/", "tests/"))]
        assert all(path.exists() for path in paths), command
        if "--kinds" in words:
            for name in words[words.index("--kinds") + 1].split(","):
                assert any(kind.startswith(name) for kind in ATTACKS), command
        if "-k" in words:
            text = "".join(path.read_text() for path in paths)
            assert re.search(rf"def test_\w*{words[words.index('-k') + 1]}", text), command
