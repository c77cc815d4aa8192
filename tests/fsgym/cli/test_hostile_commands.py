"""Commands that are wrong in any way end with one sentence: no traceback, no silence, no waiting."""

from __future__ import annotations

import resource
import warnings
from pathlib import Path

import pytest

from support.hostile_commands import faults_of, hostile_commands, run_command
from support.hostile_files import write_grounds

COMMANDS = hostile_commands(560)
N_BY_DEFAULT = 30
MEMORY = 6_000_000_000  # bytes that a command may take beyond what the process has


@pytest.fixture(scope="module")
def grounds(case_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "grounds"
    write_grounds(folder, case_model)
    return folder


@pytest.fixture
def alone(grounds, case_model, tmp_path, monkeypatch):
    """No network, no server, no study that takes minutes, limited memory, and files as they were."""
    write_grounds(grounds, case_model)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", _no_network)
    monkeypatch.setattr("fsgym_studies.command.run_tasks", _no_study)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    monkeypatch.setattr("webbrowser.open", lambda *_, **__: True)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _no_network(*_, **__):
    raise OSError("no network in this test")


def _no_study(*_, **__):
    raise ValueError("no study is run in this test")


@pytest.mark.parametrize(
    "number", [pytest.param(k, marks=[pytest.mark.slow] if k >= N_BY_DEFAULT else []) for k in range(len(COMMANDS))]
)
@pytest.mark.usefixtures("alone")
def test_a_mistake_is_one_sentence(number, grounds):
    drawn = COMMANDS[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = run_command(drawn, grounds)
    found = faults_of(outcome)
    assert not found, (
        f"{found}\n{[w[:200] for w in drawn.arguments]} {drawn.typed[:60]!r}\n{outcome.err[:1500]}\n{outcome.traceback}"
    )
