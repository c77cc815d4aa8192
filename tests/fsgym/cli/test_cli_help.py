"""The help of the commands, their examples, and completion with the tab key."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest
from test_cli import call
from typer.main import get_command

from fsgym.cli import app
from fsgym.cli.options import complete_agent, complete_data, complete_methods

ROOT = get_command(app)
COMMANDS = ROOT.list_commands(ROOT.make_context("fsgym", ["datasets"]))


def help_of(name, capsys, monkeypatch):
    """The help of a command on one line."""
    monkeypatch.setenv("COLUMNS", "1000")
    return " ".join(call(capsys, name, "--help")[1].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example_that_is_understood(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    examples = re.findall(r"Example: (fsgym .*)", call(capsys, name, "--help")[1])
    assert examples
    for example in examples:
        words = shlex.split(example)
        assert words[1] == name
        command = ROOT.get_command(ROOT.make_context("fsgym", words[1:]), name)
        assert command.make_context(name, words[2:]).params is not None


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS), ["datasets", "fetch"]], ids=" ".join)
def test_nothing_is_cut_in_80_columns(arguments, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = call(capsys, *arguments, "--help")[1].splitlines()
    assert max(map(len, lines)) <= 80
    usage = [line for line in lines if line.startswith("Usage:")]
    assert not [line for line in lines if "…" in line or (line.endswith("...") and line not in usage)]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_text_of_the_help_is_read_as_markup(name, capsys, monkeypatch):
    shown = help_of(name, capsys, monkeypatch)
    command = ROOT.get_command(ROOT.make_context("fsgym", ["datasets"]), name)
    texts = [command.help, *(p.help for p in command.params if getattr(p, "help", None))]
    for text in texts:
        for brackets in re.findall(r"\[[^\]]*\]", text):
            assert brackets in shown
    names = [option for p in command.params for option in p.opts if option.startswith("--")]
    assert all(f"{option} " in shown for option in names)


def test_names_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FSGYM_DATA", raising=False)
    (tmp_path / "wines.csv").touch()
    (tmp_path / "wide").mkdir()
    assert complete_data("wi")[0] == "wine"
    assert complete_data("wi")[-2:] == ["wide/", "wines.csv"]
    assert complete_data("[") == []
    assert complete_methods("latt") == ["lattice"]
    assert complete_methods("cart,l1_s") == ["cart,l1_svm"]
    assert "lattice,lattice" not in complete_methods("lattice,")
    assert complete_agent("d") == ["dqn", "dime"]


def test_the_shell_gets_completions():
    environment = os.environ | {
        "FSGYM_DATA": "",
        "_FSGYM_COMPLETE": "complete_bash",
        "COMP_CWORD": "2",
        "COMP_WORDS": "fsgym compare ionos",
    }
    done = subprocess.run([sys.executable, "-m", "fsgym"], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["ionosphere"], done.stderr


def test_the_bare_command_prints_its_help(capsys):
    bare, asked = call(capsys), call(capsys, "--help")
    assert bare[0] == 0
    assert bare[1].strip() == asked[1].strip()
    assert bare[2] == ""
    assert "describe" in bare[1]
