"""How the agents run independent tasks: one after the other, or in threads."""

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
def task_runner(n_jobs: int | None) -> Iterator[TaskRunner]:
    """A runner of tasks in ``n_jobs`` threads, each with linear algebra in one thread, so that results do not depend
    on ``n_jobs``.
    """
    n_threads = effective_n_jobs(n_jobs)
    with one_blas_thread():
        if n_threads == 1:
            yield run_serially
            return
        with Parallel(n_threads, require="sharedmem") as parallel:
            yield lambda function, arguments: list(parallel(delayed(function)(*a) for a in arguments))
