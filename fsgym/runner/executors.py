"""Where tasks run: in this process, in worker processes or on a cluster, and what happens when a worker dies."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import signal
import socket
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from fsgym.runner.apart import take_spent
from fsgym.runner.fingerprint import fingerprint
from fsgym.runner.local_code import error_with_line
from fsgym.runner.results import check_result
from fsgym.runner.store import first_version_mismatch, installed_versions
from fsgym.runner.task import Task, TaskResult, peak_mib, reset_peak_memory, resolve
from fsgym.support.checks import check_n_jobs
from fsgym.support.extras import require
from fsgym.support.kernels import compile_each_kernel_once
from fsgym.support.threads import one_thread
from fsgym.text.messages import one_line, option_text

CONNECT_TIMEOUT = 10  # seconds to wait for a cluster's scheduler; a busy one on a local network answers within one
VERSION_ATTEMPTS, VERSION_PAUSE = 5, 1.0  # how often workers are asked for their versions, seconds between
BACKENDS = ("loky", "dask", "ray")
# Class names of the exceptions that loky, Dask and Ray raise when a worker process dies.
WORKER_DEATHS = {"BrokenProcessPool", "KilledWorker", "RayActorError", "WorkerCrashedError", "OutOfMemoryError"}
NumberedResults = Generator[tuple[int, TaskResult], None, None]
Executor = Callable[[Iterable[int]], NumberedResults]
Call = tuple[Any, ...]  # the arguments of ``execute``


def check_backend(backend: Any, scheduler: Any, n_jobs: Any) -> None:
    """Raise ValueError for a backend, scheduler or number of processes that cannot be used."""
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ValueError(f"{option_text('backend')} must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if backend == "loky" and scheduler is not None:
        raise ValueError(
            "a scheduler needs the backend dask or ray, got loky; set the backend, or leave the scheduler out"
        )
    if backend == "dask" and not scheduler:
        raise ValueError(
            f"{option_text('backend')} 'dask' needs {option_text('scheduler')}, the address of a running Dask "
            "scheduler such as 'tcp://10.0.0.1:8786'"
        )
    check_n_jobs(n_jobs)


def run_all(tasks: Sequence[Task], *, n_jobs: int | None, backend: str, scheduler: str | None) -> NumberedResults:
    """Yield (number, result) of each task as it finishes, in any order, and survive the death of workers.

    Parameters
    ----------
    tasks : sequence of Task
    n_jobs : int, processes for ``loky``; a cluster uses all its workers
    backend : {"loky", "dask", "ray"}
    scheduler : address of the cluster

    Notes
    -----
    A pool that loses a worker does not report which task was running on it. The tasks that had started are therefore
    run again in halves until the one that kills its worker is isolated; after its second death it is recorded as
    failed. All other tasks are run to their end.
    """
    with _executor(tasks, n_jobs, backend, scheduler) as run:
        groups, deaths = [list(range(len(tasks)))], Counter()
        while groups:
            group, sent, finished = groups.pop(0), [], set()
            try:
                with closing(run(_recording(group, sent))) as results:
                    for number, result in results:
                        finished.add(number)
                        yield number, result
                continue
            except Exception as error:
                if not {c.__name__ for c in type(error).__mro__} & WORKER_DEATHS:
                    raise
            suspects = [i for i in sent if i not in finished]
            rest = group[len(sent) :]
            deaths.update(suspects)
            if len(suspects) == 1 and deaths[suspects[0]] > 1:
                yield suspects[0], TaskResult(None, DIED_TWICE)
                suspects = []
            half = (len(suspects) + 1) // 2
            groups = [g for g in (rest, *groups, suspects[:half], suspects[half:]) if g]


def _recording(numbers: Iterable[int], sent: list[int]) -> Iterator[int]:
    """Pass the numbers on, and append each to ``sent`` when the pool takes it."""
    for number in numbers:
        sent.append(number)
        yield number


@contextmanager
def _executor(tasks: Sequence[Task], n_jobs: int | None, backend: str, scheduler: str | None) -> Iterator[Executor]:
    """A function that runs the tasks with the given numbers; shared data are sent before the first call."""
    n_jobs = effective_n_jobs(n_jobs) if backend == "loky" else -1
    shared = {fingerprint(value): value for task in tasks for value in task.data.values()}
    with ExitStack() as stack:
        if backend == "dask":
            client = _connect_dask(stack, scheduler)
            values = list(shared.values())
            sent = dict(zip(shared, client.scatter(values, broadcast=True, hash=False) if values else []))
        elif backend == "ray":
            sent = _connect_ray(stack, scheduler, shared)
        else:
            sent = shared
            if n_jobs > 1:
                sent = _spill_to_files(stack, shared)
                stack.enter_context(parallel_config("loky", inner_max_num_threads=1))
                stack.enter_context(warnings.catch_warnings())
                # Joblib warns in the thread that replaces a worker whose memory has grown. Raised as an error, the
                # warning would end that thread: no further result would arrive, and the run would wait forever.
                warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)

        def calls(numbers: Iterable[int]) -> Iterator[Call]:
            # A new origin for each group: a task that is started again with another group has not died again.
            origin = RunOrigin.of_this_process(backend)
            for number in numbers:
                task = tasks[number]
                values = [sent[fingerprint(v)] for v in task.data.values()]
                yield (number, origin, task.call, dict(task.arguments), tuple(task.data), *values)

        def run_here(numbers: Iterable[int]) -> NumberedResults:
            return (execute(*c) for c in calls(numbers))

        def run_in_pool(numbers: Iterable[int]) -> NumberedResults:
            pool = Parallel(n_jobs, return_as="generator_unordered", batch_size=1, max_nbytes=None)
            return pool(delayed(execute)(*c) for c in calls(numbers))

        def run_on_ray(numbers: Iterable[int]) -> NumberedResults:
            return _stream_from_ray(calls(numbers))

        def run_on_dask(numbers: Iterable[int]) -> NumberedResults:
            return _stream_from_dask(client, scheduler, calls(numbers))

        yield run_here if n_jobs == 1 else {"loky": run_in_pool, "dask": run_on_dask, "ray": run_on_ray}[backend]


def _spill_to_files(stack: ExitStack, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Write each shared value to a temporary file, which every worker process reads once.

    On Linux the files have no name: the workers open them as those of this process, and however this process ends,
    nothing is left of the data. Elsewhere they are in a temporary folder, which is left behind if this process is
    killed.
    """
    open_files = Path(f"/proc/{os.getpid()}/fd")
    if open_files.is_dir():
        enter, nameless = stack.enter_context, tempfile.TemporaryFile
        places = {content: open_files / str(enter(nameless()).fileno()) for content in shared}
    else:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fsgym-")))
        places = {content: folder / content for content in shared}
    for content, value in shared.items():
        places[content].write_bytes(pickle.dumps(value, protocol=5))
    return {content: SharedValue(content, place) for content, place in places.items()}


def _connect_dask(stack: ExitStack, scheduler: str | None) -> Any:
    """A client of the running scheduler, whose workers have the same versions; OSError where no scheduler answers."""
    require("dask", "backend 'dask'")
    from distributed import Client

    try:
        client = stack.enter_context(Client(scheduler, timeout=CONNECT_TIMEOUT, set_as_default=False))
    except (OSError, ValueError) as error:
        raise OSError(f"no dask scheduler answers at {scheduler}: {one_line(error)}") from None
    _require_same_versions(scheduler, _dask_versions(client))
    return client


def _stream_from_dask(client: Any, scheduler: str | None, calls: Iterable[Call]) -> NumberedResults:
    """Yield results as they finish; a task that Dask has abandoned raises here.

    Two tasks per thread of the cluster are submitted at a time: one that runs and one that waits.
    """
    from distributed import as_completed
    from distributed.client import FutureCancelledError

    calls, futures, unfinished = iter(calls), as_completed(loop=client.loop), set()

    def submit() -> None:
        n_free = max(2 * sum(client.nthreads().values()), 1) - len(unfinished)
        for call in itertools.islice(calls, max(n_free, 0)):
            future = client.submit(execute, *call, pure=False)
            unfinished.add(future)
            futures.add(future)

    try:
        submit()
        for future in futures:
            unfinished.discard(future)
            yield future.result()
            submit()
    except (FutureCancelledError, OSError):  # not from the task, whose exceptions ``execute`` returns
        raise OSError(
            f"the connection to the dask scheduler at {scheduler} was lost; finished results are kept: rerun the same "
            "command when the scheduler is back"
        ) from None
    finally:
        if client.status == "running":
            client.cancel(list(unfinished))


def _dask_versions(client: Any) -> list[Any]:
    """What ``installed_versions`` returns on each worker, or the reason why fsgym cannot be imported there."""
    for _ in range(VERSION_ATTEMPTS):
        try:
            client.wait_for_workers(1, timeout=6 * CONNECT_TIMEOUT)
            return list(client.run(installed_versions).values())
        except TimeoutError:
            raise OSError("the dask scheduler has no worker after a minute; start some with 'dask worker'") from None
        except ImportError as error:
            return [str(error)]
        except OSError:  # a worker has died since the scheduler heard from it; those that are left are asked
            time.sleep(VERSION_PAUSE)
    raise OSError("the dask workers die when they are asked for their versions; their log says why")


def _require_same_versions(cluster: str | None, reported: Sequence[Any]) -> None:
    """ValueError unless every worker has the library versions of this process: results depend on them to the bit."""
    for there in reported:
        if not isinstance(there, dict) or first_version_mismatch(there):
            here = ", ".join(f"{k} {v}" for k, v in installed_versions().items())
            raise ValueError(f"every worker of {cluster} must have {here}; one has {there}")


def _connect_ray(stack: ExitStack, scheduler: str | None, shared: Mapping[str, Any]) -> Mapping[str, Any]:
    """Configure Ray's joblib backend, and put the shared values into Ray's object store."""
    require("ray", "backend 'ray'")
    import ray  # pyright: ignore[reportMissingImports]
    from ray.util.joblib import register_ray  # pyright: ignore[reportMissingImports]

    if not ray.is_initialized():
        address = scheduler or "auto"
        try:
            ray.init(address=address, log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise OSError(f"no Ray cluster answers at {address}: {one_line(error)}") from None
        stack.callback(ray.shutdown)
    register_ray()
    return {content: SharedValue(content, ray.put(value)) for content, value in shared.items()}


def _stream_from_ray(calls: Iterable[Call]) -> NumberedResults:
    """Yield results as they finish; they come through a queue, as Ray's joblib backend returns all only at the end."""
    from ray.util.queue import Empty, Queue  # pyright: ignore[reportMissingImports]

    queue, stopped, raised = Queue(actor_options={"num_cpus": 0}), threading.Event(), []

    def submit_all() -> None:
        try:
            with parallel_config("ray"):  # applies to this thread only
                unstopped = itertools.takewhile(lambda _: not stopped.is_set(), calls)
                Parallel(-1, batch_size=1)(delayed(put_result)(queue, *c) for c in unstopped)
        except Exception as error:
            raised.append(error)

    submitter = threading.Thread(target=submit_all, daemon=True)
    submitter.start()
    try:
        while submitter.is_alive() or not queue.empty():
            with suppress(Empty):
                yield queue.get(timeout=0.5)
    finally:
        stopped.set()
        queue.shutdown()
    if raised:
        raise raised[0]


# How one task is executed, whether in this process, in another process or on another machine.

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
        data = {n: _loaded_value(v) if isinstance(v, SharedValue) else v for n, v in zip(names, values, strict=True)}
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
