"""Limits on the threads of BLAS and OpenMP.

Linear algebra runs in one thread: the last bits of results depend on the number of threads, and processes that already
use all cores get slower with more.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from fsgym.support.checks import check_n_jobs

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def n_threads(n_jobs: int | None) -> int:
    """The number of threads for ``n_jobs``, as in scikit-learn: None is 1, -1 all cores, -2 all but one.

    Raises ValueError where ``n_jobs`` is 0 or not a whole number.

    >>> n_threads(None), n_threads(3), n_threads(-1) >= 1
    (1, 3, True)
    """
    check_n_jobs(n_jobs)
    from joblib import cpu_count

    return 1 if n_jobs is None else n_jobs if n_jobs > 0 else max(cpu_count() + 1 + n_jobs, 1)


_lock = threading.Lock()
_n_users: int = 0
_limits_before: list[tuple[Any, int]] = []  # the limit is process-wide: the first user sets it, the last one restores


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread within the block; blocks may overlap, also in several Python threads."""
    import scipy.linalg  # noqa: F401  a library must be loaded before it can be limited

    with _limited_blas():
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread within the block, also in libraries that are loaded in it."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
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
    global _n_users
    with _lock:
        if _n_users == 0:
            libraries = _controller(len(sys.modules)).select(user_api="blas").lib_controllers
            _limits_before[:] = [(library, library.num_threads) for library in libraries]
            _set_limits([(library, 1) for library in libraries])
        _n_users += 1
    try:
        yield
    finally:
        with _lock:
            _n_users -= 1
            if _n_users == 0:
                _set_limits(_limits_before)


@lru_cache(maxsize=1)
def _controller(n_modules: int) -> Any:
    """The loaded libraries; finding them takes milliseconds, so they are cached until a module is imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _set_limits(limits: list[tuple[Any, int]]) -> None:
    for library, number in limits:
        # Newer versions of threadpoolctl let only the Python thread that first set a limit change it. Users are counted
        # here, so any thread may change it: take over the control, and release it afterwards.
        take_over = getattr(library, "clear_controlling_thread", lambda force: None)
        take_over(force=True)
        library.set_num_threads(number)
        take_over(force=True)
