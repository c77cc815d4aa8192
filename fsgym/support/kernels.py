"""Compilation of kernels by several processes that share a cache."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from typing import Any

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_UN, lockf

# Options of a kernel that only other kernels call: what Python needs to call it is half of the time of its compilation.
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@cache
def compile_each_kernel_once() -> None:
    """Let this process wait while another one compiles the same kernel, and then load it.

    Without this, processes that start together compile the same kernels at the same time. Other processes wait for this
    one only if they have called this function, too.
    """
    from numba.core.dispatcher import Dispatcher

    if sys.platform != "win32":
        Dispatcher.compile = _alone(Dispatcher.compile)


def _alone(compile_kernel: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(compile_kernel)
    def compile_alone(kernel: Any, signature: Any) -> Any:
        with _locked(kernel.stats.cache_path, f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"):
            return compile_kernel(kernel, signature)

    return compile_alone


@contextmanager
def _locked(folder: str | None, name: str) -> Iterator[None]:
    """Keep other processes out of the blocks of this name; no lock where the folder cannot have one.

    The system refuses a lock for which two processes would wait for each other.
    """
    if folder is None:
        yield
        return
    place, file = zlib.crc32(name.encode()), None
    try:
        with suppress(OSError):
            file = _lock_file(folder)
            lockf(file, LOCK_EX, 1, place)
        yield
    finally:
        if file is not None:
            with suppress(OSError):
                lockf(file, LOCK_UN, 1, place)


@cache
def _lock_file(folder: str) -> int:
    """A handle that stays open: closing one would end all locks that this process has on the file."""
    return os.open(os.path.join(folder, "kernels.lock"), os.O_RDWR | os.O_CREAT, 0o666)
