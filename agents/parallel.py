"""How the agents run independent tasks: one after the other, in threads, or on the workers of joblib's context."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from fsgym.support.threads import one_blas_thread

MAX_SENT_BYTES = 20_000_000  # of the arguments of a task; larger ones are sent once to a worker
GROUPS_PER_WORKER = 4  # in which tasks are sent to workers of another process, with what they share only once
TaskRunner = Callable[[Callable, list[tuple]], list[Any]]  # (function, argument tuples) -> results in the same order


def run_serially(function: Callable, arguments: list[tuple]) -> list[Any]:
    """Call ``function`` with each tuple of arguments, one after the other; return the results."""
    return [function(*a) for a in arguments]


@contextmanager
def task_runner(n_jobs: int | None, shared_memory: bool = True) -> Iterator[TaskRunner]:
    """A runner of ``n_jobs`` tasks at a time, each with linear algebra in one thread, so that results do not depend on
    ``n_jobs``.

    The tasks run in threads. Tasks that need no shared memory run on the workers of another backend, such as Dask, in
    the context of ``joblib.parallel_config``.
    """
    n_tasks = effective_n_jobs(n_jobs)
    with one_blas_thread():
        if n_tasks == 1:
            yield run_serially
            return
        options = {"require": "sharedmem"} if shared_memory else {"prefer": "threads"}
        backend = get_active_backend(**options)[0]
        in_threads = getattr(backend, "supports_sharedmem", False)  # Dask's has no such attribute
        with Parallel(n_jobs, batch_size=1, **options) as parallel:  # joblib's own batches leave workers idle

            def run(function: Callable, arguments: list[tuple]) -> list[Any]:
                if len(arguments) < 2:  # not worth sending
                    return run_serially(function, arguments)
                n_groups = len(arguments) if in_threads else min(len(arguments), GROUPS_PER_WORKER * n_tasks)
                results: list[Any] = [None] * len(arguments)
                sent = parallel(_delayed(function, arguments[k::n_groups]) for k in range(n_groups))
                for k, of_group in enumerate(sent):
                    results[k::n_groups] = of_group
                return results

            yield run


def _delayed(function: Callable, group: list[tuple]) -> tuple:
    """A task for joblib, which calls ``function`` with each tuple of a group.

    Dask keeps large arguments on one worker, where further tasks with them then wait for it. Moderate ones are
    therefore sent with each group, in a list, which Dask does not keep.
    """
    shared = {id(value): value for arguments in group for value in arguments}
    if sum(map(sys.getsizeof, shared.values())) <= MAX_SENT_BYTES:
        return delayed(_call_with)(function, group)
    values = list(shared.values())
    place = {key: k for k, key in enumerate(shared)}
    return delayed(_call)(function, [[place[id(value)] for value in arguments] for arguments in group], *values)


def _call(function: Callable, places: list[list[int]], *values: Any) -> list[Any]:
    return _call_with(function, [tuple(values[k] for k in of_task) for of_task in places])


def _call_with(function: Callable, group: list[tuple]) -> list[Any]:
    with one_blas_thread():
        return run_serially(function, group)
