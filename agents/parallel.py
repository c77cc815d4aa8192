"""How the agents run independent tasks: one after the other, in threads, or on the workers of joblib's context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from fsgym.threads import one_blas_thread

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
        with Parallel(n_jobs, **options) as parallel:
            yield lambda function, arguments: list(parallel(delayed(_call)(function, *a) for a in arguments))


def _call(function: Callable, *arguments: Any) -> Any:
    with one_blas_thread():
        return function(*arguments)
