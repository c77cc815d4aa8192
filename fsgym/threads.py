"""Linear algebra in one thread: bits would depend on the number, and two busy cores lose more than they gain."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


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
_before: list[int] = []  # the limit is the whole process's: the first one in sets it, the last one out lifts it


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this block BLAS runs in one thread; blocks may overlap, in several Python threads too."""
    global _users
    with _lock:
        if _users == 0:
            _before[:] = [library.num_threads for library in _libraries()]
            _set([1] * len(_before))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _set(_before)


@cache
def _libraries() -> tuple[Any, ...]:
    import scipy.linalg  # noqa: F401  its library must be loaded to be limited
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set(numbers: list[int]) -> None:
    for library, number in zip(_libraries(), numbers):
        # Newer threadpoolctl lets only the thread that was first set the limit; ours is counted, so any may.
        getattr(library, "_real_set_num_threads", library.set_num_threads)(number)
