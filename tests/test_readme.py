"""The README keeps its word: its Python runs, its commands exist, its tables are complete."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from fsgym.cli import app
from fsgym.methods import METHODS
from fsgym.registration import VARIANTS

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_python_runs_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    place = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), place)
    said = capsys.readouterr().out
    assert "Evaluation(accuracy" in said
    assert re.search(r"rcpi +5 ", said)
    assert (tmp_path / "breast_cancer.safetensors").stat().st_size > 1000
    assert place["patients"].acquisition_names == ("age", "pain", "blood_count", "troponin", "ct")
    assert place["model"].rules_.costs.tolist() == [0.0, 0.0, 4.0, 12.0, 20.0]
    assert "G/l" in said or "ng/l" in said


COMMANDS = [c for block in blocks("sh") for c in re.findall(r"(?:^|&& )(fsgym [^#\n]*)", block, re.MULTILINE)]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command):
    root = get_command(app)
    name, *arguments = shlex.split(command)[1:]
    chosen = root.get_command(root.make_context("fsgym", [name]), name)
    if "--help" not in arguments:
        chosen.make_context(name, arguments)
    assert chosen.get_short_help_str()


def test_tables_are_complete():
    assert len(COMMANDS) == 17
    for name in (*METHODS, *VARIANTS):
        assert f"| `{name}` |" in README
    tables = runpy.run_path(str(Path(__file__).resolve().parent.parent / ".ci" / "tables.py"))
    assert tables["with_tables"](README) == README
    for picture in re.findall(r"!\[[^]]*\]\(([^)]*)\)", README):
        data = (Path(__file__).resolve().parent.parent / picture).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) > 10_000
