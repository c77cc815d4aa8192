"""The tutorial runs as it is written, and prints what it says."""

import re
from pathlib import Path

import numpy as np
from PIL import Image

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_the_tutorial_runs_as_written(capsys):
    text = (DOCS / "tutorial.md").read_text()
    place, n_outputs = {}, 0
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for k, (kind, block) in enumerate(blocks):
        if kind == "text":
            continue
        exec(compile(block, "tutorial.md", "exec"), place)
        printed = capsys.readouterr().out.strip()
        shown = blocks[k + 1][1].strip() if k + 1 < len(blocks) and blocks[k + 1][0] == "text" else ""
        assert printed == shown
        n_outputs += bool(shown)
    assert n_outputs == 5
    with Image.open(DOCS / "card.png") as card:
        assert np.abs(np.asarray(card.convert("RGB"), int) - place["picture"]).mean() < 2
