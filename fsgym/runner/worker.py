"""How one task is executed, whether in this process, in another process or on another machine."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from joblib import parallel_config

from fsgym.runner.apart import take_spent
from fsgym.runner.local_code import error_with_line
from fsgym.runner.results import check_result
from fsgym.runner.task import TaskResult, peak_mib, reset_peak_memory, resolve
from fsgym.support.kernels import compile_each_kernel_once
from fsgym.support.threads import one_thread

DIED_TWICE = "its worker process died twice, possibly out of memory; use fewer jobs or a machine with more memory"

# Thread limits, warning filters, clocks and peak memory belong to the process, so it runs one task at a time.
_task_lock = threading.Lock()
_watched_parents: list[int] = []


class RunOrigin(NamedTuple):
    """Where a run was started: the backend, the machine and process, and an identifier that no other run has."""

    backend: str
    machine: str
    process: int
    run: str

    @classmethod
    def of_this_process(cls, backend: str) -> RunOrigin:
        return cls(backend, socket.gethostname(), os.getpid(), uuid4().hex)

    @property
    def is_this_process(self) -> bool:
        return (self.machine, self.process) == (socket.gethostname(), os.getpid())


@dataclass(frozen=True)
class SharedValue:
    """A reference to data that each process loads once: from a file, or from Ray's object store."""

    content: str
    location: Any = field(compare=False)

    def load(self) -> Any:
        return _loaded_value(self)


@lru_cache(maxsize=8)
def _loaded_value(shared: SharedValue) -> Any:
    if isinstance(shared.location, Path):
        return pickle.loads(shared.location.read_bytes())  # written by the parent of this process
    import ray  # pyright: ignore[reportMissingImports]

    return ray.get(shared.location)


def execute(
    number: int, origin: RunOrigin, call: str, arguments: Mapping[str, Any], names: Sequence[str], *values: Any
) -> tuple[int, TaskResult]:
    """Run a task and return its number with its result.

    Parameters
    ----------
    number : int, returned as it is
    origin : RunOrigin, the process that started the run
    call, arguments : the function's name and its arguments
    names, values : names and values of the shared data; a value may be a ``SharedValue``
    """
    if origin.is_this_process:
        with _task_lock:
            return number, _execute_measured(call, arguments, names, values)
    if origin.backend == "loky":
        _exit_with_parent(origin.process)
    compile_each_kernel_once()
    with _task_lock, parallel_config("sequential"):  # a task starts no processes of its own
        if origin.backend == "dask" and _died_twice(origin.run, number):
            return number, TaskResult(None, DIED_TWICE)
        return number, _execute_measured(call, arguments, names, values)


def put_result(queue: Any, *task: Any) -> None:
    """Run a task, given as the arguments of ``execute``, and put its number and result into a queue."""
    queue.put(execute(*task))


def _execute_measured(
    call: str, arguments: Mapping[str, Any], names: Sequence[str], values: Sequence[Any]
) -> TaskResult:
    text, error = None, None
    reset_peak_memory()
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        data = {n: v.load() if isinstance(v, SharedValue) else v for n, v in zip(names, values, strict=True)}
        function = resolve(call)  # imported before threads are limited: the limit covers only loaded libraries
        with one_thread():
            result = function(**arguments, **data)
        if not isinstance(result, dict):
            raise TypeError(f"{call} must return a dict, got {type(result).__name__}")
        text = json.dumps(result, allow_nan=False, default=_json_default)
        check_result(function, json.loads(text))
    except (Exception, SystemExit) as failure:
        error = error_with_line(failure)
    apart = take_spent()
    seconds, peak = time.process_time() - cpu + apart.cpu_seconds, peak_mib() + apart.peak_mib
    return TaskResult(text, error, seconds, time.perf_counter() - wall, peak)


def _json_default(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a result must consist of JSON values, got {type(value).__name__}")


def _exit_with_parent(parent: int) -> None:
    """Leave Ctrl-C to the parent, and exit when the parent exits, so that no orphan repeats tasks of a later run."""
    if os.getppid() != parent:
        os._exit(1)
    if parent in _watched_parents:
        return
    _watched_parents.append(parent)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _died_twice(run: str, number: int) -> bool:
    """Whether two workers started this task and returned nothing.

    The scheduler stores the count, since it outlives the workers. Dask itself gives up after four deaths, and counts
    those of workers on which the task was only waiting.
    """
    from distributed import get_client

    client: Any = get_client()
    counter = [run, str(number)]
    n_started = client.get_metadata(counter, 0)
    client.set_metadata(counter, n_started + 1)
    return n_started >= 2
