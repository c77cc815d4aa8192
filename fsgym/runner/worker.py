"""What happens to a cell where it runs, be it here, in another process or on another machine."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from joblib import parallel_config

from fsgym.runner.task import TaskResult
from fsgym.threads import one_thread

AGAIN = "its process died twice while it ran, for want of memory perhaps: give it a machine with more, or fewer jobs"

_one = threading.Lock()  # limits, warnings, clocks and memory are those of a whole process: one cell at a time
_watched: list[int] = []


class Home(NamedTuple):
    """Where a run is led from: the backend, the machine and process, and a name that no other run has."""

    backend: str
    machine: str
    process: int
    run: str

    @classmethod
    def here(cls, backend: str) -> Home:
        return cls(backend, socket.gethostname(), os.getpid(), uuid4().hex)

    @property
    def is_here(self) -> bool:
        return (self.machine, self.process) == (socket.gethostname(), os.getpid())


@dataclass(frozen=True)
class Kept:
    """Data that are fetched where they are used, once a process: from a file, or from Ray's object store."""

    content: str
    place: Any = field(compare=False)

    def fetch(self) -> Any:
        return _fetched(self)


@lru_cache(maxsize=8)
def _fetched(kept: Kept) -> Any:
    if isinstance(kept.place, Path):
        return pickle.loads(kept.place.read_bytes())  # written by the parent of this process
    import ray  # pyright: ignore[reportMissingImports]

    return ray.get(kept.place)


def resolve(call: str) -> Callable[..., Any]:
    """The function that ``"package.module:function"`` names."""
    module, _, name = call.partition(":")
    return getattr(importlib.import_module(module), name)


def work(
    number: int, home: Home, call: str, arguments: Mapping[str, Any], names: Sequence[str], *values: Any
) -> tuple[int, TaskResult]:
    """Run a cell.

    Parameters
    ----------
    number : int, returned with how it ended
    home : Home, who asked for it
    call, arguments : the function and its arguments
    names, values : the arguments that are shared data, as they are or ``Kept``
    """
    if home.is_here:
        with _one:
            return number, _measured(call, arguments, names, values)
    if home.backend == "loky":
        _follow(home.process)
    with _one, parallel_config("sequential"):  # what a cell would spread over processes stays in its own
        if home.backend == "dask" and _twice_dead(home.run, number):
            return number, TaskResult(None, AGAIN)
        return number, _measured(call, arguments, names, values)


def tell(queue: Any, *cell: Any) -> None:
    """Run a cell and send how it ended through a queue."""
    queue.put(work(*cell))


def _measured(call: str, arguments: Mapping[str, Any], names: Sequence[str], values: Sequence[Any]) -> TaskResult:
    text, error = None, None
    _forget_peak()
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        data = {n: v.fetch() if isinstance(v, Kept) else v for n, v in zip(names, values, strict=True)}
        function = resolve(call)  # imported before the limit, which holds for the libraries that are there
        with one_thread():
            result = function(**arguments, **data)
        if not isinstance(result, dict):
            raise TypeError(f"{call} must return a dict, got {type(result).__name__}")
        text = json.dumps(result, allow_nan=False, default=_plain)
    except (Exception, SystemExit) as failure:
        error = one_sentence(failure)
    return TaskResult(text, error, time.process_time() - cpu, time.perf_counter() - wall, _peak_mib())


def one_sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a result must be made of JSON values, got {type(value).__name__}")


def _follow(parent: int) -> None:
    """Leave Ctrl-C to the parent, and go when it goes: an orphan must not run what another run has finished."""
    if os.getppid() != parent:
        os._exit(1)
    if parent in _watched:
        return
    _watched.append(parent)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _forget_peak() -> None:
    """Start the kernel's record of the peak memory anew; where that is not allowed it is the whole process's."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mib() -> float:
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _twice_dead(run: str, number: int) -> bool:
    """Whether two workers began this cell and returned nothing; the scheduler keeps the count, as it outlives them.

    Dask itself gives up after four deaths, those of a worker on which the cell was only waiting included.
    """
    from distributed import get_client

    client: Any = get_client()
    place = [run, str(number)]
    begun = client.get_metadata(place, 0)
    client.set_metadata(place, begun + 1)
    return begun >= 2
