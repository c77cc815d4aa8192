"""The store: which files it refuses, and that no committed result is lost when writing fails."""

import json
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

import fsgym
from fsgym import Dataset, Rules
from fsgym.runner import Task, TaskResult, run_tasks
from fsgym.runner import store as stores
from fsgym.runner.fingerprint import canonical_form, fingerprint
from fsgym.runner.store import open_store, read_timings

CARD = {"call": "builtins:dict", "arguments": {"a": 1}}


def tasks(n):
    return [Task("builtins:dict", {"seed": k, "half": k / 7}) for k in range(n)]


@pytest.fixture
def path(tmp_path):
    run_tasks(tasks(3), tmp_path / "results.sqlite")
    return tmp_path / "results.sqlite"


def refused(path, error, message):
    """Check the error, that it is one line, and that the file is unchanged."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=message) as caught:
        run_tasks(tasks(4), path)
    assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def change(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_floats_are_stored_to_the_last_bit(path):
    values = [r["half"] for r in run_tasks(tasks(3), path).results]
    assert values == [k / 7 for k in range(3)]
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT key, call, arguments, data, result FROM results").fetchall()
    connection.close()
    assert [r[0] for r in rows] == sorted(t.key for t in tasks(3))
    assert {r[1:4] for r in rows} >= {("builtins:dict", '{"half":0.0,"seed":0}', "{}")}


def test_timings_have_a_table_of_their_own(path):
    connection = sqlite3.connect(path.with_name("timings.sqlite"))
    names = [r[0] for r in connection.execute("SELECT name FROM sqlite_master")]
    rows = connection.execute("SELECT cpu_seconds, wall_seconds, peak_mib FROM timings").fetchall()
    connection.close()
    assert names == ["timings"]
    assert len(rows) == 3
    assert all(c >= 0 and w > 0 and m > 10 for c, w, m in rows)


def test_reading_a_finished_file_leaves_its_bytes(path):
    before = path.read_bytes()
    run_tasks(tasks(3), path)
    run_tasks([], path)
    assert path.read_bytes() == before


def test_no_file_of_sqlite_is_left_over_after_a_killed_run_is_resumed(tmp_path):
    killed = tmp_path / "killed"
    killed.mkdir()
    with open_store(tmp_path / "results.sqlite") as store:
        store.put(tasks(1)[0], TaskResult('{"half":0.0,"seed":0}', None, 0.5, 0.5, 20.0))
        for file in tmp_path.glob("*.sqlite*"):  # as they are at this moment
            shutil.copy(file, killed)
    assert (killed / "results.sqlite-wal").exists()
    key = tasks(1)[0].key
    assert read_timings(killed / "results.sqlite") == ({key}, {key: 0.5})  # to say how long the rest takes
    run_tasks(tasks(3), killed / "results.sqlite")
    assert sorted(file.name for file in killed.iterdir()) == ["results.sqlite", "timings.sqlite"]


def test_another_version_is_refused(path):
    change(path, "UPDATE versions SET version = '0.0.1' WHERE name = 'fsgym'")
    refused(path, ValueError, r"created with fsgym 0\.0\.1, but fsgym .* is installed")
    change(path, "PRAGMA user_version = 10")
    refused(path, ValueError, "has format 10, but this fsgym uses format 9")


def test_a_store_of_the_first_format_is_refused(path):
    change(path, "PRAGMA user_version = 1")
    refused(path, ValueError, r"results\.sqlite was written by fsgym 0\.1, .*; choose another folder$")


def test_versions_of_optional_libraries_are_recorded_once_installed(tmp_path, monkeypatch):
    path, torch = tmp_path / "results.sqlite", []

    def version(name):
        if name != "torch":
            return "1.0"
        if not torch:
            raise stores.PackageNotFoundError(name)
        return torch[-1]

    monkeypatch.setattr(stores, "version", version)
    run_tasks(tasks(2), path)
    torch.append("2.1")
    run_tasks(tasks(3), path)
    torch.append("2.2")
    refused(path, ValueError, r"created with torch 2\.1, but torch 2\.2 is installed")
    torch.clear()
    assert len(run_tasks(tasks(4), path).results) == 4
    torch.append("2.1")
    run_tasks(tasks(4), tmp_path / "straight" / "results.sqlite")
    assert path.read_bytes() == (tmp_path / "straight" / "results.sqlite").read_bytes()


def test_a_file_of_another_program_is_refused(tmp_path):
    change(tmp_path / "songs.sqlite", "CREATE TABLE songs (name TEXT)")
    refused(tmp_path / "songs.sqlite", ValueError, "not a store of fsgym")
    (tmp_path / "notes.txt").write_text("not a data connection, but long enough to be read as one " * 20)
    refused(tmp_path / "notes.txt", OSError, "damaged or not a SQLite file")


@pytest.mark.parametrize("at", [0, 30, 105, "value", "half"])
def test_a_damaged_file_is_refused(path, at):
    content = bytearray(path.read_bytes())
    if at == "half":
        del content[len(content) // 2 :]
    elif at == "value":
        where = content.index(b'"half": 0.2') + 8
        content[where : where + 1] = b"3"
    else:
        content[at : at + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises((OSError, ValueError)) as caught:
        run_tasks(tasks(4), path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.slow
def test_a_second_run_is_refused_while_the_first_is_running(path):
    code = f"from test_store import tasks, run_tasks; run_tasks(tasks(3), {str(path)!r})"
    place = {"PYTHONPATH": ":".join([*(p for p in sys.path if p)])}
    with open_store(path) as store:
        with pytest.raises(OSError, match="is in use by another run"), open_store(path):
            pass
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=place)
        assert "is in use by another run" in other.stderr.splitlines()[-1]
        store.put(Task(**CARD), TaskResult('{"a": 1}', None))
    with open_store(path) as store:
        assert store.results().keys() == {t.key for t in [Task(**CARD), *tasks(3)]}


def test_a_file_in_place_of_a_folder_and_a_folder_in_place_of_a_file_are_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    refused(tmp_path / "file" / "results.sqlite", OSError, "cannot write to .*; choose another folder")
    refused(tmp_path / "file" / "deep" / "results.sqlite", OSError, "cannot write to .*; choose another folder")
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "folder", OSError, "cannot write to")
    assert (tmp_path / "file").read_text() == "mine"


LIMITED = """
import resource, sys
from fsgym.runner import Task, TaskResult, run_tasks
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    run_tasks([Task("builtins:dict", {"seed": k, "text": "x" * 2000}) for k in range(60)], sys.argv[1])
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [6_000, 120_000])
@pytest.mark.one_in(2)
def test_a_full_disk_is_reported_in_one_sentence_and_committed_results_stay(tmp_path, limit):
    store, long = (
        tmp_path / "results.sqlite",
        [Task("builtins:dict", {"seed": k, "text": "x" * 2000}) for k in range(60)],
    )
    place = {"PYTHONPATH": ":".join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LIMITED, store, str(limit)],
        capture_output=True,
        text=True,
        env=place,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (sentence,) = done.stdout.splitlines()
    assert sentence.startswith(f"cannot write to {store}: ")
    assert not list(tmp_path.glob("*.new"))
    copy = tmp_path / "copy" / "results.sqlite"
    copy.parent.mkdir()
    for file in tmp_path.glob("results.sqlite*"):
        shutil.copy(file, copy.parent)
    with open_store(copy) as opened:
        finished = opened.results().keys()
    assert (len(finished) > 0) == (limit > 6_000)
    assert finished == {
        t.key for t in long[: len(finished)]
    }  # whole results, and all that were put before the disk was full
    run = run_tasks(long, store)
    assert run.errors == [None] * 60
    run_tasks(long, tmp_path / "straight" / "results.sqlite")
    assert store.read_bytes() == (tmp_path / "straight" / "results.sqlite").read_bytes()


def test_rewriting_the_file_may_fail_and_loses_no_result(path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stores.os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write to .*No space left on device"):
        run_tasks(tasks(5), path)
    monkeypatch.undo()
    with open_store(path) as store:
        assert len(store.results().keys()) == 5


def test_the_key_depends_on_everything_that_the_result_depends_on():
    X, y = np.arange(12.0).reshape(6, 2), [0, 1] * 3
    data = Dataset(X, y)
    reference = Task("m:f", {"lam": 0.1, "seed": 3}, {"data": data})
    assert reference.key == Task("m:f", {"seed": 3, "lam": 0.1}, {"data": Dataset(X.copy(), y)}).key
    others = [
        Task("m:g", {"lam": 0.1, "seed": 3}, {"data": data}),
        Task("m:f", {"lam": 0.1, "seed": 4}, {"data": data}),
        Task("m:f", {"lam": 0.1, "seed": 3, "more": None}, {"data": data}),
        Task("m:f", {"lam": 0.1, "seed": 3}, {"table": data}),
        Task("m:f", {"lam": 0.1, "seed": 3}, {"data": Dataset(np.add(X, [0, 1e-6]), y)}),
        Task("m:f", {"lam": 0.1, "seed": 3}, {"data": Dataset(X, y[::-1])}),
        Task("m:f", {"lam": 0.1, "seed": 3}, {"data": Dataset(X, y, feature_names=["a", "b"])}),
        Task("m:f", {"lam": 0.1, "seed": 3}, {"data": Dataset(X, y, name="other")}),
        Task("m:f", {"lam": 0.1, "seed": 3}, {"data": Dataset(X, y, costs=[1, 2])}),
        Task("m:f", {"lam": 0.1, "seed": 3}, {"data": Rules(2, 2)}),
        Task("m:f", {"lam": 0.1, "seed": 3}, {"data": Rules(2, 2, budget=1)}),
    ]
    assert len({t.key for t in [reference, *others]}) == 12
    assert fingerprint(np.zeros(3)) != fingerprint(np.zeros((3, 1))) != fingerprint(np.zeros(3, np.float32))
    assert fingerprint(np.array(["a", "b"])) != fingerprint(np.array(["a", "c"]))
    assert canonical_form(np.float64(0.1)) == 0.1
    assert canonical_form(Rules) == canonical_form(Rules) != canonical_form(Dataset)
    with pytest.raises(TypeError, match="generator must be picklable"):
        fingerprint(k for k in range(3))


class Parts:
    """An object that defines its own fingerprint, in which its other attributes have no part."""

    def __init__(self, *parts, note=""):
        self.parts, self.note = parts, note

    def fingerprint_parts(self):
        return [*self.parts]


def test_an_object_may_define_its_own_fingerprint():
    assert fingerprint(Parts(1, np.zeros(2))) == fingerprint(Parts(1, np.zeros(2), note="another"))
    assert fingerprint(Parts(1, np.zeros(2))) != fingerprint(Parts(1, np.ones(2)))
    assert fingerprint(Parts(1)) != fingerprint([1])
    assert canonical_form(Parts(1)).keys() == {"Parts"}


def test_invalid_tasks_are_refused():
    with pytest.raises(ValueError, match=r"call must be 'package\.module:function', got 'dict'"):
        Task("dict", {})
    with pytest.raises(ValueError, match="'a' must be in arguments or in data"):
        Task("m:f", {"a": 1}, {"a": 2})


@pytest.mark.parametrize("damage", ["bytes", "text", "schema", "value", "inside"])
def test_damaged_timings_begin_anew_and_results_stay(path, damage):
    timings = path.with_name("timings.sqlite")
    if damage == "schema":
        timings.unlink()
        change(timings, "CREATE TABLE timings (song TEXT)")
    elif damage == "value":
        change(timings, "UPDATE timings SET cpu_seconds = 'long'")
    elif damage == "text":
        timings.write_text("no timings, but long enough to be read as some " * 20)
    else:
        content = bytearray(timings.read_bytes())
        at = 0 if damage == "bytes" else len(content) - 60
        content[at : at + 60] = b"\xff" * 60
        timings.write_bytes(content)
    with pytest.warns(UserWarning, match=r"timings.sqlite is damaged or has other content; it is now"):
        run = run_tasks(tasks(4), path)
    assert [r["seed"] for r in run.results] == [0, 1, 2, 3]
    assert len(run.timings) == 1  # of the task that was run
    assert run_tasks(tasks(4), path).results == run.results
    assert {f.name for f in path.parent.iterdir()} == {path.name, timings.name, f"{timings.name}.damaged"}


def test_an_interrupt_just_after_a_transaction_begins_loses_nothing(path, monkeypatch):
    with open_store(path) as store:
        real = store._connection

        class Interrupted:
            def execute(self, statement, *values):
                done = real.execute(statement, *values)
                if statement.startswith("BEGIN"):
                    raise KeyboardInterrupt
                return done

            def __getattr__(self, name):
                return getattr(real, name)

        monkeypatch.setattr(store, "_connection", Interrupted())
        with pytest.raises(KeyboardInterrupt):
            store.put(Task(**CARD), TaskResult('{"a": 1}', None))
        assert not real.in_transaction
        monkeypatch.undo()
        store.put(Task(**CARD), TaskResult('{"a": 1}', None))
    with open_store(path) as store:
        assert len(store.results().keys()) == 4


@pytest.mark.parametrize(
    ("change_of", "message"),
    [
        (lambda result: [result], "the result must be an object"),
        (lambda result: {"cells": result["cells"][0]}, "the result, cells must be a list"),
        (lambda result: result["cells"][0].pop("usage") and result, r"the result, cells\[0\] lacks usage"),
        (lambda result: result["cells"][0]["row"].update(accuracy=1.5) or result, "accuracy must be from 0 to 1"),
        (lambda result: result["cells"][0]["row"].update(loss="low") or result, "loss must be a finite number"),
        (lambda result: result["cells"][0]["row"].update(n_test=-1) or result, "n_test must be a whole number"),
        (lambda result: result["cells"][0]["histogram"].append(2.5) or result, "must be a whole number"),
    ],
)
@pytest.mark.one_in(3)
def test_results_with_a_seal_and_other_content_are_refused(tmp_path, change_of, message):
    arguments = {"methods": "constant", "splits": 1, "lam": 0.1, "references": False, "out": tmp_path}
    before = fsgym.compare("wine", **arguments)
    store = sqlite3.connect(tmp_path / "results.sqlite", isolation_level=None)
    ((key, text),) = store.execute("SELECT key, result FROM results")
    changed = json.dumps(change_of(json.loads(text)))
    seal = stores._checksum(key, changed)
    store.execute("UPDATE results SET result = ?, checksum = ?", (changed, seal))
    store.close()
    with pytest.raises(ValueError, match=message) as caught:
        fsgym.compare("wine", **arguments)
    assert str(caught.value).startswith(f"{tmp_path / 'results.sqlite'} has a result of fsgym.comparison.cell:run_cell")
    assert "\n" not in str(caught.value)
    assert len(before) >= 1
