"""Linear algebra in one thread: bits would depend on the number, and two busy cores lose more than they gain."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def n_threads(n_jobs: int | None) -> int:
    """How many threads ``n_jobs`` means, as in scikit-learn: None is 1, -1 one a core, -2 one less.

    >>> n_threads(None), n_threads(3), n_threads(-1) >= 1
    (1, 3, True)
    """
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use 1, or -1 for one a core")
    from joblib import cpu_count

    return 1 if n_jobs is None else n_jobs if n_jobs > 0 else max(cpu_count() + 1 + n_jobs, 1)


_lock = threading.Lock()
_users: int = 0
_before: list[tuple[Any, int]] = []  # the limit is the whole process's: the first one in sets it, the last one lifts it


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this block BLAS runs in one thread; blocks may overlap, in several Python threads too."""
    import scipy.linalg  # noqa: F401  its library must be loaded to be limited

    with _limited_blas():
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this block BLAS and OpenMP run in one thread, in libraries that are loaded meanwhile as well."""
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(dict.fromkeys(VARIABLES, "1"))
    try:
        with _limited_blas(), _controller(len(sys.modules)).select(user_api="openmp").limit(limits=1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _limited_blas() -> Iterator[None]:
    global _users
    with _lock:
        if _users == 0:
            libraries = _controller(len(sys.modules)).select(user_api="blas").lib_controllers
            _before[:] = [(library, library.num_threads) for library in libraries]
            _set([(library, 1) for library in libraries])
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _set(_before)


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> Any:
    """The libraries; looking for them takes milliseconds, and is done again when something was imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _set(limits: list[tuple[Any, int]]) -> None:
    for library, number in limits:
        # Newer threadpoolctl lets only the thread that was first set the limit; ours is counted, so any may, and none
        # keeps the right.
        take_over = getattr(library, "clear_controlling_thread", lambda force: None)
        take_over(force=True)
        library.set_num_threads(number)
        take_over(force=True)
