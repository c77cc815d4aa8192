"""A cluster gives the same bytes as one process, even when its workers die."""

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pandas as pd
import pytest

import fsgym
from fsgym import compare
from fsgym.runner import Task, executors, run_tasks
from support.threads import two_threads

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("two_threads")]
DATA = fsgym.load_dataset("wine")
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([*(p for p in sys.path if p)])}


def scores(n, **more):
    return [Task("support.study_cells:score", {"seed": k, **more}, {"data": DATA}) for k in range(n)]


def bytes_of(folder):
    return (folder / "results.sqlite").read_bytes()


@pytest.fixture(scope="module")
def cluster():
    distributed = importlib.import_module("distributed")  # in the extra `test`: never skipped
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True, "dashboard_address": ":0"}
    with two_threads(), distributed.LocalCluster(**options, silence_logs=50) as cluster:
        yield cluster


@pytest.fixture
def dask(cluster):
    try:
        cluster.wait_for_workers(2, timeout=30)  # a worker that was killed has been replaced
    except TimeoutError:  # its nanny has given up, as happens on a busy machine
        cluster.scale(len(cluster.workers) + 1)
        cluster.wait_for_workers(2, timeout=60)
    return {"backend": "dask", "scheduler": cluster.scheduler_address}


def test_dask_gives_the_bytes_of_one_process(tmp_path, dask):
    cells = [*scores(12), Task("support.study_cells:threads", {})]
    on_cluster = run_tasks(cells, tmp_path / "dask" / "results.sqlite", **dask)
    run_tasks(cells, tmp_path / "here" / "results.sqlite")
    assert bytes_of(tmp_path / "dask") == bytes_of(tmp_path / "here")
    assert on_cluster.results[-1] == {"most": 1, "omp": "1"}
    assert len(on_cluster.timings) == 13
    assert on_cluster.timings["peak_mib"].min() > 10


def test_data_are_sent_once(dask, monkeypatch):
    pickled = []
    monkeypatch.setattr(
        fsgym.Dataset, "__reduce__", lambda self, plain=fsgym.Dataset.__reduce__: (pickled.append(self), plain(self))[1]
    )
    assert run_tasks(scores(10, seconds=0), None, **dask).errors == [None] * 10
    assert 1 <= len(pickled) <= 2


@pytest.mark.slow
def test_compare_on_dask_returns_the_same_table(tmp_path, dask):
    here = compare("wine", ["cart", "lars"], splits=1, references=False)
    on_cluster = compare("wine", ["cart", "lars"], splits=1, out=tmp_path, **dask, references=False)
    pd.testing.assert_frame_equal(here, on_cluster, check_exact=True)


@pytest.mark.slow  # a worker that dies, too: test_only_the_task_that_kills_its_dask_worker_fails
def test_the_tasks_of_a_killed_dask_worker_are_run_again(tmp_path, dask):
    log = tmp_path / "log"
    log.write_text("")

    def kill():
        while len(log.read_text().splitlines()) < 8:
            time.sleep(0.01)
        os.kill(int(log.read_text().split()[-1]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    cells = scores(24, log=str(log), seconds=0.05)
    run = run_tasks(cells, tmp_path / "killed" / "results.sqlite", **dask)
    killer.join()
    assert run.errors == [None] * 24
    assert sum(Counter(line.split()[0] for line in log.read_text().splitlines()).values()) > 24  # some ran twice
    run_tasks(cells, tmp_path / "here" / "results.sqlite")
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "here")


def test_only_the_task_that_kills_its_dask_worker_fails(tmp_path, dask):
    log = tmp_path / "log"
    tasks = [Task("support.study_cells:deadly", {"seed": k, "log": str(log), "kills": [4]}) for k in range(8)]
    run = run_tasks(tasks, tmp_path / "results.sqlite", **dask)
    assert [k for k, e in enumerate(run.errors) if e] == [4]
    assert run.errors[4].startswith("its worker process died twice")
    assert [line.split()[0] for line in log.read_text().splitlines()].count("4") == 2


def test_a_task_that_dask_abandons_is_reported_and_not_awaited_forever(tmp_path, dask, cluster):
    # Ctrl-C is ignored as in `nohup fsgym compare ... &`: nothing may depend on a signal.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    cluster.scheduler.allowed_failures, before = 0, cluster.scheduler.allowed_failures
    try:
        arguments = {"log": str(tmp_path / "log"), "kills": [1]}
        run = run_tasks([Task("support.study_cells:deadly", {"seed": k, **arguments}) for k in range(3)], None, **dask)
    finally:
        cluster.scheduler.allowed_failures = before
        signal.signal(signal.SIGINT, handler)
    assert [e is None for e in run.errors] == [True, False, True], run.errors


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_run_with_one_sentence(tmp_path):
    at = tmp_path / "scheduler.json"
    start = (sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--dashboard-address", ":0")
    start = (*start, "--host", "127.0.0.1", "--scheduler-file", str(at))
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": ENVIRONMENT}
    scheduler = subprocess.Popen(start, **silent)
    start_worker = (
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        "--scheduler-file",
        str(at),
        "--dashboard-address",
        ":0",
    )
    worker = subprocess.Popen((*start_worker, "--nthreads", "2", "--no-nanny"), **silent)
    log, store = tmp_path / "log", tmp_path / "results.sqlite"
    try:
        while not at.exists():
            time.sleep(0.05)
        address = json.loads(at.read_text())["address"]
        tasks = [Task("support.study_cells:draw", {"seed": k, "log": str(log), "seconds": 0.1}) for k in range(200)]

        def kill():
            while not log.exists() or len(log.read_text().splitlines()) < 8:
                time.sleep(0.01)
            scheduler.kill()

        threading.Thread(target=kill, daemon=True).start()
        with pytest.raises(OSError, match="connection to the dask scheduler"):
            run_tasks(tasks, store, backend="dask", scheduler=address)
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
    done = run_tasks(tasks[:2], store)
    assert len(log.read_text().splitlines()) < 40
    assert done.errors == [None, None]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"backend": "threads"}, ValueError, "backend must be one of loky, dask, ray, got 'threads'"),
        ({"backend": "dask"}, ValueError, "backend 'dask' needs scheduler"),
        ({"backend": "dask", "scheduler": "tcp://127.0.0.1:9"}, OSError, "no dask scheduler answers at tcp://127"),
        ({"backend": "dask", "scheduler": "nonsense://"}, OSError, "no dask scheduler answers at nonsense"),
        ({"scheduler": "tcp://127.0.0.1:9"}, ValueError, "a scheduler needs the backend dask or ray"),
    ],
)
def test_mistakes_are_reported_in_one_sentence(arguments, error, message, tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "CONNECT_TIMEOUT", 1)
    with pytest.raises(error, match=message) as caught:
        run_tasks(scores(1), tmp_path / "results.sqlite", **arguments)
    assert "\n" not in str(caught.value)


def test_a_worker_of_another_version_is_refused():
    here = executors.installed_versions()
    executors._require_same_versions("here", [here, here])
    executors._require_same_versions("here", [{name: v for name, v in here.items() if name != "torch"}])  # optional
    with pytest.raises(ValueError, match=r"every worker of here must have fsgym .*; one has"):
        executors._require_same_versions("here", [here, here | {"numpy": "1.0"}])
    with pytest.raises(ValueError, match="one has No module named 'fsgym'"):
        executors._require_same_versions("here", ["No module named 'fsgym'"])


@pytest.fixture(scope="module")
def ray_cluster():
    ray = pytest.importorskip("ray", reason="needs Ray, which the extra ray and .ci/full install")
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": ENVIRONMENT["PYTHONPATH"]}},
    )
    yield
    ray.shutdown()


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.filterwarnings("default")
def test_ray_gives_the_bytes_of_one_process_even_when_a_worker_dies(tmp_path):
    log = tmp_path / "log"
    log.write_text("")
    run_tasks(scores(12), tmp_path / "ray" / "results.sqlite", backend="ray")
    run_tasks(scores(12), tmp_path / "here" / "results.sqlite")
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "here")
    tasks = [
        Task("support.study_cells:deadly_once", {"seed": k, "log": str(log), "mark": str(log) + "0"}) for k in range(8)
    ]
    assert [r["seed"] for r in run_tasks(tasks, None, backend="ray").results] == list(range(8))
    tasks = [Task("support.study_cells:deadly", {"seed": k, "log": str(log), "kills": [2]}) for k in range(4)]
    assert [e is None for e in run_tasks(tasks, None, backend="ray").errors] == [True, True, False, True]


def test_workers_are_asked_again_when_one_dies_while_it_is_asked(monkeypatch):
    monkeypatch.setattr(executors, "VERSION_PAUSE", 0.0)

    class Client:
        def __init__(self, deaths):
            self.deaths = deaths

        def wait_for_workers(self, number, timeout):
            pass

        def run(self, function):
            self.deaths -= 1
            if self.deaths >= 0:
                raise OSError("Timed out trying to connect to tcp://10.0.0.2:4000")
            return {"tcp://10.0.0.1:4000": function()}

    assert executors._dask_versions(Client(2)) == [executors.installed_versions()]
    with pytest.raises(OSError, match="the dask workers die when they are asked"):
        executors._dask_versions(Client(100))
