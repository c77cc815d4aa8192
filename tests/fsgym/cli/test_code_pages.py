"""Every command goes on where the terminal cannot show a name: it prints an escape, and machine output is UTF-8."""

from __future__ import annotations

import csv
import io
import json
import sys

import numpy as np
import pytest

from fsgym.cli.main import main

COMMANDS = {
    "describe": "describe names.csv --target result",
    "train": "train names.csv --target result -o again.fsgym --agent lattice",
    "evaluate": "evaluate names.fsgym names.csv",
    "explain": "explain names.fsgym names.csv --row 0",
    "chart": "chart names.fsgym",
    "ask": "ask names.fsgym --save names.json",
}


def run(command, monkeypatch, page, typed="5.6\n?\nx\n"):
    """The bytes of a command on a terminal with a code page; SystemExit has its status."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=page) for _ in range(2)]
    with monkeypatch.context() as patch:
        for name, stream in zip(("stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        patch.setattr(sys, "stdin", io.StringIO(typed))
        with pytest.raises(SystemExit) as end:
            main(command.split())
    written = [stream.flush() or stream.buffer.getvalue() for stream in streams]
    assert end.value.code == 0, written[1]
    return written[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    rng = np.random.default_rng(0)
    ill = rng.random(80) < 0.5
    rows = [
        f"{v:.1f},{a},{'болен' if s else 'здоров'}"
        for v, a, s in zip(5 + ill + rng.normal(0, 0.4, 80), rng.integers(20, 90, 80), ill, strict=True)
    ]
    text = "glucose→fasting,age,result\n" + "\n".join(rows) + "\n"
    (folder / "names.csv").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("train names.csv --target result -o names.fsgym --agent lattice", patch, "utf-8")
    return folder


@pytest.mark.parametrize("page", ["cp1252", "ascii"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_goes_on(folder, monkeypatch, name, page):
    monkeypatch.chdir(folder)
    shown = run(COMMANDS[name], monkeypatch, page).decode(page)
    assert "\\u0431\\u043e\\u043b\\u0435\\u043d" in shown
    assert ("glucose\\u2192fasting" in shown) == (name not in ("train", "evaluate"))


@pytest.mark.parametrize("page", ["cp1252", "ascii"])
def test_output_for_programs_is_utf8(folder, monkeypatch, page):
    monkeypatch.chdir(folder)
    lines = run("predict names.fsgym names.csv", monkeypatch, page).decode("utf-8").splitlines()
    assert "probability_болен" in next(csv.reader(lines))
    figures = json.loads(run("evaluate names.fsgym names.csv --json", monkeypatch, page).decode("utf-8"))
    assert figures["evaluation"]["classes"] == ["болен", "здоров"]
    steps = run("ask names.fsgym --json", monkeypatch, page, typed='{"stop": true}\n').decode("utf-8").splitlines()
    assert "болен" in str([json.loads(line) for line in steps])
