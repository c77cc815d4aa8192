"""Linear algebra in one thread: the small systems of these methods lose by more, and bits would depend on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import scipy.linalg  # noqa: F401  its library must be loaded to be limited
from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_users, _limits = 0, None  # the limit is the whole process's: the last one out lifts it


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this block BLAS runs in one thread; blocks may overlap in several threads."""
    global _users, _limits
    with _lock:
        if _users == 0:
            _limits = _controller().limit(limits=1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _limits is not None:
                _limits.restore_original_limits()
