"""Linear algebra in one thread: overlapping blocks, several Python threads, and limits restored afterwards."""

import os
import threading

import pytest
import scipy.linalg  # noqa: F401  loads the library whose limit is looked at
from threadpoolctl import threadpool_info, threadpool_limits

from fsgym.support.threads import n_threads, one_blas_thread, one_thread


def blas() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def three():
    """A limit of three threads, set by a thread that is alive."""
    with threadpool_limits(3, user_api="blas"):
        yield blas()


@pytest.mark.parametrize("block", [one_blas_thread, one_thread])
def test_the_limit_holds_within_and_is_lifted_after(block, three):
    with block():
        assert set(blas()) == {1}
        with one_blas_thread(), pytest.raises(ValueError, match="an accident"), block():
            raise ValueError("an accident")
        assert set(blas()) == {1}
    assert blas() == three


def test_the_last_of_several_threads_lifts_it(three):
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    other = threading.Thread(target=hold)
    with one_blas_thread():
        other.start()
        assert entered.wait(10)
    assert set(blas()) == {1}
    leave.set()
    other.join()
    assert blas() == three


def test_libraries_that_are_loaded_meanwhile_read_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with one_thread():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_zero_threads_are_refused():
    with pytest.raises(ValueError, match="other than 0"):
        n_threads(0)
