"""More threads for linear algebra than the one that all tests have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from threadpoolctl import threadpool_limits

from fsgym.support.threads import THREAD_VARIABLES


@contextmanager
def two_threads() -> Iterator[None]:
    """Two threads for BLAS and OpenMP, also in processes that are started within the block."""
    with pytest.MonkeyPatch.context() as patch, threadpool_limits(2):
        for name in THREAD_VARIABLES:
            patch.setenv(name, "2")
        yield
