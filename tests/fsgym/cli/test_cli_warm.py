"""`fsgym warm`: it counts what Numba compiles, and trains methods that any installation has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_cli import call

from fsgym.cli import warm
from fsgym.comparison import compare
from fsgym.methods import DEFAULT_METHODS, METHODS

ROOT = Path(__file__).parents[3]


def test_no_method_needs_an_extra():
    assert not any(METHODS[name].extra for name in warm.METHODS)
    assert {"panel", "l1_svm"}.issuperset({*DEFAULT_METHODS} - {*warm.METHODS})  # which call no kernels of their own


def test_a_kernel_within_another_is_counted_and_its_time_is_that_of_the_outer_one():
    begin, end = SimpleNamespace(is_start=True), SimpleNamespace(is_start=False)
    events = [(1.0, begin), (2.0, begin), (3.0, end), (5.0, end), (7.0, begin), (7.5, end)]
    assert warm.counted(events) == (3, 4.5)


def test_what_is_compiled_already_is_said_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(warm, "METHODS", ("cart",))
    tables = warm.small_tables()
    compare(tables[1], "cart", references=False, splits=1, lam=warm.LAM, progress=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    warm.say_of_first_run()
    monkeypatch.setattr(warm, "small_tables", lambda: tables[1:])
    monkeypatch.setattr(warm, "write_report_and_ask", lambda _: None)
    code, out, err = call(capsys, "warm")
    assert (code, err) == (0, "")
    assert out.startswith("All kernels were compiled already; with the trainings it took ")
    assert len(out.splitlines()) == 1


def test_the_seconds_of_compiling_are_apart_from_those_of_the_trainings(monkeypatch, capsys):
    counts = iter([(3, 2.0), (5, 6.0)])
    monkeypatch.setattr(warm, "METHODS", ("cart",))
    monkeypatch.setattr(warm, "small_tables", tuple)
    monkeypatch.setattr(warm, "write_report_and_ask", lambda _: None)
    monkeypatch.setattr(warm, "counted", lambda _: next(counts))
    code, out, _ = call(capsys, "warm")
    first, second, last = out.splitlines()
    assert (code, first, second) == (0, "cart: 3 kernels, 2.0 s", "a report and sessions: 2 kernels, 4.0 s")
    assert last.startswith("5 kernels compiled in 6 s; with the trainings it took ")


@pytest.mark.slow  # as kernels of a new installation are compiled
def test_the_first_training_says_that_it_compiles_and_does_not_count_it(tmp_path):
    rows = "".join(f"{i % 7},{i % 5},{int(i % 7 > 3)}\n" for i in range(90))
    (tmp_path / "table.csv").write_text("a,b,y\n" + rows)
    command = [sys.executable, "-m", "fsgym", "train", "table.csv", "--target", "y", "--agent", "rcpi", "-o", "model"]
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": str(ROOT)}
    for first in (True, False):
        primary, terminal = os.openpty()
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | place, stdout=subprocess.PIPE, stderr=terminal)
        os.close(terminal)
        assert done.returncode == 0
        said = ""
        with suppress(OSError):  # that is how the end of a terminal is read on Linux
            said = os.read(primary, 10_000).decode()
        os.close(primary)
        assert first == ("the first run compiles code" in said)
        found = re.search(r"trained in (\d+\.\d) s(?:.*\nBesides, (\d+) s)?", done.stdout.decode())
        assert found is not None
        assert first == (found[2] is not None)
        assert float(found[1]) < 3.0
