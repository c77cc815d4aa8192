"""How the agents run independent tasks: one after the other, in threads, or on the workers of joblib's context."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from fsgym.threads import one_blas_thread

MAX_SENT_BYTES = 20_000_000  # of the arguments of a task; larger ones are sent once to a worker
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
        with Parallel(n_jobs, batch_size=1, **options) as parallel:  # joblib's own batches leave workers idle

            def run(function: Callable, arguments: list[tuple]) -> list[Any]:
                if not arguments:
                    return []
                return list(parallel(_delayed(function, a) for a in arguments))

            yield run


def _delayed(function: Callable, arguments: tuple) -> tuple:
    """A task for joblib. Dask keeps large arguments on one worker, where further tasks with them then wait for it.

    Moderate ones are therefore sent with each task, in a tuple, which Dask does not keep.
    """
    if sum(map(sys.getsizeof, arguments)) <= MAX_SENT_BYTES:
        return delayed(_call_with)(function, arguments)
    return delayed(_call)(function, *arguments)


def _call_with(function: Callable, arguments: tuple) -> Any:
    return _call(function, *arguments)


def _call(function: Callable, *arguments: Any) -> Any:
    with one_blas_thread():
        return function(*arguments)
