"""The README keeps its word: its Python runs, its commands exist, its tables are complete."""

import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from agents.adaptive import choice
from fsgym.cli import app
from fsgym.cli.main import main
from fsgym.methods import METHODS
from fsgym.registration import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def few_trials(monkeypatch):
    """The learners are tried on one part of the rows instead of three, which only costs time."""
    monkeypatch.setattr(choice, "N_TRIALS", {np.inf: 1})


def test_python_runs_top_to_bottom(tmp_path, monkeypatch, capsys, few_trials):
    monkeypatch.chdir(tmp_path)
    place = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), place)
    said = capsys.readouterr().out
    assert "Evaluation(accuracy" in said
    assert re.search(r"rcpi +5 ", said)
    assert (tmp_path / "breast_cancer.safetensors").stat().st_size > 1000
    assert place["patients"].acquisition_names == ("age", "pain", "blood_count", "troponin", "ct")
    assert place["model"].costs == place["options"]["prices.json"]
    assert place["model"].columns_[-2].unit == "ng/l"
    assert "ng/l" in said


def commands_of(text: str) -> list[str]:
    """The commands in the code blocks of a document, fenced or indented."""
    code = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    code += [line.strip() for line in re.findall(r"^ {4}(?=fsgym ).*$", text, re.MULTILINE)]
    return [c.strip() for block in code for c in re.findall(r"(?:^|&& )(fsgym [^#\n]*)", block, re.MULTILINE)]


COMMANDS = commands_of(README)
OF_DOCS = [c for path in sorted(ROOT.glob("docs/*.md")) for c in commands_of(path.read_text())]
# Commands that the tests do not run, by their beginning, and why.
NOT_RUN = {
    "fsgym compare breast_cancer": "takes a minute",
    "fsgym compare wine": "takes a minute",
    "fsgym compare digits": "takes minutes",
    "fsgym compare adult": "needs a cluster",
    "fsgym reproduce dwsm-cost": "takes minutes",
    "fsgym reproduce lattice-vs-peers": "takes minutes",
    "fsgym benchmark cube": "takes a minute",
    "fsgym predict model.safetensors new.csv": "new.csv is the reader's own file",
    "fsgym datasets fetch": "needs the network",
    "fsgym ask": "asks a person",
    "fsgym serve": "runs until Ctrl-C",
}
# What the tests add to a command that would take longer, by its beginning.
QUICKER = {
    "fsgym compare patients.csv": ["--methods", "cart", "--splits", "1", "--jobs", "1"],
    "fsgym train breast_cancer": ["--agent", "rcpi"],
}


def arguments_of(command: str) -> list[str]:
    return [*shlex.split(command)[1:], *next((v for k, v in QUICKER.items() if command.startswith(k)), [])]


def test_commands_run_in_the_order_of_the_documents(tmp_path, monkeypatch, capsys, no_folder, few_trials):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    setup = [block for block in blocks("python") if '.to_csv("patients.csv"' in block]
    assert len(setup) == 1
    exec(compile(setup[0], "README.md", "exec"), {})
    run = [c for c in (*COMMANDS, *OF_DOCS) if not c.startswith(tuple(NOT_RUN))]
    assert all(any(c.startswith(start) for c in (*COMMANDS, *OF_DOCS)) for start in (*NOT_RUN, *QUICKER))
    assert len(run) >= 9
    for command in run:
        with pytest.raises(SystemExit) as finished:
            main(arguments_of(command))
        output = capsys.readouterr()
        assert finished.value.code == 0, f"{command}: {output.err}"
        assert output.out, command
    answers = (tmp_path / "answers.csv").read_text().splitlines()
    assert len(answers) == len((tmp_path / "patients.csv").read_text().splitlines())


@pytest.mark.parametrize("command", [*COMMANDS, *OF_DOCS])
def test_commands_are_understood(command):
    root = get_command(app)
    name, *arguments = shlex.split(command)[1:]
    chosen = root.get_command(root.make_context("fsgym", [name]), name)
    if "--help" not in arguments:
        chosen.make_context(name, arguments)
    assert chosen.get_short_help_str()


def test_tables_are_complete():
    assert len(COMMANDS) == 28
    for name in (*METHODS, *VARIANTS):
        assert f"| `{name}` |" in README
    tables = runpy.run_path(str(Path(__file__).resolve().parent.parent / ".ci" / "tables.py"))
    assert tables["with_tables"](README) == README
    for picture in re.findall(r"!\[[^]]*\]\(([^)]*)\)", README):
        data = (Path(__file__).resolve().parent.parent / picture).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) > 10_000
