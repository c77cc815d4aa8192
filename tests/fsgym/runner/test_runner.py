"""``run_tasks``: the same bytes however a run is interrupted, and no finished task runs twice."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fsgym
from fsgym.runner import Task, run_tasks

pytestmark = pytest.mark.usefixtures("two_threads")  # which the runner limits to one
HERE = Path(__file__).parent
DATA = fsgym.load_dataset("wine")


def draws(n, **more):
    return [Task("support.study_cells:draw", {"seed": k, **more}) for k in range(n)]


def scores(n, log):
    return [Task("support.study_cells:score", {"seed": k, "log": log}, {"data": DATA}) for k in range(n)]


def runs_of(log):
    """How often the task of each seed was started."""
    lines = log.read_text().splitlines() if log.exists() else []
    return Counter(int(line.split()[0]) for line in lines)


def test_results_are_in_the_order_of_the_tasks_with_and_without_a_store(tmp_path):
    tasks = [Task("support.study_cells:draw", {"seed": k, "seconds": 0.03 * (k == 0)}) for k in (0, 7, 3, 7)]
    parallel = run_tasks(tasks, tmp_path / "results.sqlite", n_jobs=2)
    assert [r["seed"] for r in parallel.results] == [0, 7, 3, 7]
    assert parallel.results[1]["values"] == np.random.default_rng(7).normal(size=3).tolist()  # to the last bit
    assert parallel.results[0]["nothing"] is None
    assert (parallel.errors, parallel.interrupted) == ([None] * 4, False)
    assert parallel.timings["key"].tolist() == [t.key for t in tasks[:3]]
    assert run_tasks(tasks, None).results == parallel.results


def test_one_or_two_processes_write_the_same_bytes(tmp_path):
    tasks = [Task("support.study_cells:score", {"seed": k}, {"data": DATA}) for k in range(12)]
    run_tasks(tasks, tmp_path / "one" / "results.sqlite")
    run_tasks(tasks[::-1], tmp_path / "two" / "results.sqlite", n_jobs=2)
    one, two = ((tmp_path / n / "results.sqlite").read_bytes() for n in ("one", "two"))
    assert one == two


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_worker_has_one_thread_and_leaves_the_limits_as_they_were(n_jobs, monkeypatch):
    from threadpoolctl import threadpool_info

    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    before = threadpool_info()
    run = run_tasks([Task("support.study_cells:threads", {})], None, n_jobs=n_jobs)
    assert run.results == [{"most": 1, "omp": "1"}]
    assert threadpool_info() == before
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_time_and_memory_are_those_of_the_task():
    tasks = [Task("support.study_cells:large", {"megabytes": v}) for v in (300, 1)] + draws(1, seconds=0.2)
    big, small, waiting = run_tasks(tasks, None).timings.itertuples()
    assert big.peak_mib - small.peak_mib > 200
    assert waiting.wall_seconds > 0.2 > 0.1 > waiting.cpu_seconds


def test_failures_are_reported_and_run_again(tmp_path):
    log, broken, store = tmp_path / "log", tmp_path / "broken", tmp_path / "results.sqlite"
    broken.write_text("")
    tasks = [Task("support.study_cells:fragile", {"seed": k, "log": str(log), "broken": str(broken)}) for k in range(5)]
    run = run_tasks(tasks, store, n_jobs=2)
    assert run.errors == [None, run.errors[1]] * 2 + [None]
    assert run.errors[1].startswith("ValueError: the machine is tired (study_cells.py, line ")
    assert [r is None for r in run.results] == [False, True] * 2 + [False]
    broken.unlink()
    again = run_tasks(tasks, store)
    assert [r["seed"] for r in again.results] == [0, 1, 2, 3, 4]
    assert runs_of(log) == {0: 1, 1: 2, 2: 1, 3: 2, 4: 1}
    uninterrupted = tmp_path / "uninterrupted" / "results.sqlite"
    run_tasks(tasks, uninterrupted)
    assert store.read_bytes() == uninterrupted.read_bytes()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("support.study_cells:number", "TypeError: support.study_cells:number must return a dict, got int"),
        ("support.study_cells:nan", "ValueError: Out of range float values"),
        ("support.study_cells:thing", "TypeError: a result must consist of JSON values, got object"),
        ("support.study_cells:nobody", "AttributeError: module 'support.study_cells' has no attribute 'nobody'"),
        ("no_such_module:f", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("sys:exit", "SystemExit"),
    ],
)
def test_tasks_without_a_valid_result_report_their_error(call, message):
    (error,) = run_tasks([Task(call, {})], None).errors
    assert error.startswith(message)


def test_ctrl_c_ends_the_run_and_the_same_call_resumes_it(tmp_path):
    tasks = [Task("support.study_cells:stopped", {"seed": k}) for k in range(6)]
    run = run_tasks(tasks, tmp_path / "results.sqlite")
    assert run.interrupted
    assert [r is not None for r in run.results] == [True] * 3 + [False] * 3
    assert run.errors == [None] * 6
    again = run_tasks(tasks[:3], tmp_path / "results.sqlite")
    assert (run.n_stored, again.n_stored) == (0, 3)
    assert again.results == run.results[:3]


@pytest.mark.kill
def test_only_the_task_that_kills_its_process_fails(tmp_path):
    log = tmp_path / "log"
    tasks = [Task("support.study_cells:deadly", {"seed": k, "log": str(log), "kills": [4]}) for k in range(6)]
    run = run_tasks(tasks, tmp_path / "results.sqlite", n_jobs=2)
    assert [k for k, e in enumerate(run.errors) if e] == [4]
    assert run.errors[4].startswith("its worker process died twice")
    assert [r["seed"] for r in run.results if r] == [k for k in range(6) if k != 4]


@pytest.mark.slow  # waits for processes to start
def test_a_worker_whose_memory_grows_is_replaced_also_where_warnings_are_errors():
    code = """
from fsgym.runner import Task, run_tasks
tasks = [Task("support.study_cells:growing", {"seed": k}) for k in range(5)]
if __name__ == "__main__":
    run = run_tasks(tasks, None, n_jobs=2)
    print([r["seed"] for r in run.results])
"""
    place = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-W", "error::UserWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=place, timeout=120)
    assert done.stdout == "[0, 1, 2, 3, 4]\n", done.stderr


@pytest.mark.kill
def test_the_tasks_of_a_killed_process_are_run_again(tmp_path):
    log, mark = tmp_path / "log", tmp_path / "mark"
    tasks = [
        Task("support.study_cells:deadly_once", {"seed": k, "log": str(log), "mark": str(mark)}) for k in range(12)
    ]
    run = run_tasks(tasks, tmp_path / "results.sqlite", n_jobs=2)
    assert mark.exists()
    assert run.errors == [None] * 12
    assert [r["seed"] for r in run.results] == list(range(12))
    mark.unlink()
    again = run_tasks(tasks, tmp_path / "results.sqlite", n_jobs=2)
    assert again.results == run.results
    assert not mark.exists()


# Imports once; then forks a run for each line of its input and kills it after so many seconds (0: lets it finish).
SERVER = """
import os, signal, sys, time
if __name__ == "__main__":  # worker processes read this file too, and need none of it
    sys.path.insert(0, {here!r})
    from test_runner import scores
    from fsgym.runner import run_tasks
    def run(n_jobs, n, log, store):
        results = run_tasks(scores(n, log), store, n_jobs=n_jobs).results
        assert len([r for r in results if r]) == n
    print("ready", flush=True)
    for line in sys.stdin:
        seconds, started = float(line), os.path.getsize({log!r})
        child = os.fork()
        if child == 0:
            status = 1
            try:
                run({n_jobs}, {n}, {log!r}, {store!r})
                status = 0
            finally:
                os._exit(status)
        while seconds and {n_jobs} > 1 and os.path.getsize({log!r}) == started:
            time.sleep(0.01)  # with several processes, the time counts from the start of the first task
        if seconds:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        print(os.waitpid(child, 0)[1], flush=True)
"""


def committed(store):
    """The seeds whose results are in the store, read from a copy as a later run would read them."""
    with tempfile.TemporaryDirectory() as folder:
        for file in store.parent.glob(store.name + "*"):
            shutil.copy(file, folder)
        base = sqlite3.connect(Path(folder) / store.name)
        try:
            if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return set()  # killed before the tables were created
            return {json.loads(a)["seed"] for (a,) in base.execute("SELECT arguments FROM results")}
        finally:
            base.close()


def killed_again_and_again(tmp_path, kills, n, n_jobs):
    """Check that a run killed ``kills`` times ends as an uninterrupted one; the number of times its store grew."""
    rng = random.Random(kills)
    log, store = tmp_path / "log", tmp_path / "store" / "results.sqlite"
    log.write_text("")
    store.parent.mkdir()
    script = tmp_path / "server.py"
    script.write_text(SERVER.format(here=str(HERE), n_jobs=n_jobs, n=n, log=str(log), store=str(store)))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    place = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "TMPDIR": str(temporary)}
    server = subprocess.Popen([sys.executable, script], stdin=-1, stdout=-1, text=True, bufsize=1, env=place)
    grew, stored, slow = 0, set(), 1.0
    with server as server:
        assert server.stdin
        assert server.stdout.readline() == "ready\n"
        for kill in range(kills + 1):
            started, before = runs_of(log), stored
            at_least = (
                0.02 * (n - len(stored)) / n_jobs
            )  # seconds that the remaining tasks take: the kill comes before the end
            seconds = min(slow * rng.uniform(0.01, 0.25), 0.7 * at_least)
            server.stdin.write(f"{seconds if kill < kills else 0}\n")
            status = int(server.stdout.readline())
            assert status == (signal.SIGKILL if kill < kills else 0)
            if n_jobs > 1:
                time.sleep(0.5)  # its worker processes lose their tasks and exit
            stored = committed(store) if store.exists() else set()
            assert before <= stored
            assert all(runs_of(log)[k] == started[k] for k in before)  # no committed task runs again
            grew += before < stored
            slow *= 1.0 if before < stored else 1.2  # a busy machine needs longer to start
        server.stdin.close()
    assert stored == set(range(n))
    uninterrupted = tmp_path / "uninterrupted" / "results.sqlite"
    run_tasks(scores(n, str(log)), uninterrupted)
    assert store.read_bytes() == uninterrupted.read_bytes()
    assert {f.name for f in store.parent.iterdir()} == {"results.sqlite", "timings.sqlite"}
    assert list(temporary.iterdir()) == []  # also none of the data that worker processes read
    return grew


@pytest.mark.kill
def test_a_run_that_is_killed_ends_with_the_same_bytes(tmp_path):
    assert killed_again_and_again(tmp_path, 6, 40, 1) > 2


@pytest.mark.slow
@pytest.mark.kill
def test_a_run_killed_twenty_times_ends_with_the_same_bytes(tmp_path):
    assert killed_again_and_again(tmp_path, 20, 120, 1) > 10


@pytest.mark.slow  # with one process: test_a_run_that_is_killed_ends_with_the_same_bytes
@pytest.mark.kill
def test_a_run_with_two_processes_that_is_killed_ends_with_the_same_bytes(tmp_path):
    assert killed_again_and_again(tmp_path, 1, 40, 2) == 2


@pytest.mark.slow
@pytest.mark.kill
def test_a_run_with_two_processes_killed_a_hundred_times(tmp_path):
    assert killed_again_and_again(tmp_path, 100, 1500, 2) > 75
