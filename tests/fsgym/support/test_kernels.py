"""Processes that start together compile each kernel once."""

import subprocess
import sys

import pytest

KERNEL = """
from numba import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""
CALL = """
import sys, time
from numba.core.dispatcher import Dispatcher
compile_kernel = Dispatcher.compile

def compile_slowly(kernel, signature):
    print("begun", flush=True)
    sys.stdin.readline()
    return compile_kernel(kernel, signature)

if sys.argv[1] == "slowly":
    Dispatcher.compile = compile_slowly
from fsgym.support.kernels import compile_each_kernel_once
compile_each_kernel_once()
import own
own.twice(2)
print("compiled" if own.twice.stats.cache_misses else "loaded", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of parts of a file")
@pytest.mark.slow
def test_a_process_waits_for_the_one_that_compiles_the_kernel_and_loads_it(tmp_path):
    (tmp_path / "own.py").write_text(KERNEL)

    def started(how):
        command = [sys.executable, "-c", CALL, how]
        return subprocess.Popen(command, cwd=tmp_path, stdin=-1, stdout=-1, text=True)

    with started("slowly") as first:
        assert first.stdout.readline() == "begun\n"  # it has the lock
        with started("as usual") as second:
            with pytest.raises(subprocess.TimeoutExpired):
                second.wait(3)
            first.stdin.write("\n")
            first.stdin.flush()
            assert first.stdout.readline() == "compiled\n"
            assert second.stdout.readline() == "loaded\n"


def test_a_kernel_is_compiled_where_no_lock_can_be_had(tmp_path):
    (tmp_path / "own.py").write_text(KERNEL)
    (tmp_path / "__pycache__" / "kernels.lock").mkdir(parents=True)  # in the place of the file
    done = subprocess.run([sys.executable, "-c", CALL, "as usual"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "compiled\n"
