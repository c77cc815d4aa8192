"""A script: SIGINT while LLVM asks for the machine code of a cached kernel; it prints how the run ended."""

import signal
import time

from numba import njit
from numba.core.registry import cpu_target

from fsgym.runner import Task, run_tasks


def kernel(x):
    return x + 1


def load_and_call():
    return {"value": njit(cache=True)(kernel)(1)}


def wait():
    time.sleep(60)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
    load_and_call()
    engine = cpu_target.target_context.codegen()._engine._ee
    machine_code = engine._object_cache_getbuffer

    def interrupted(module):
        signal.raise_signal(signal.SIGINT)
        return machine_code(module)

    engine._object_cache_getbuffer = interrupted
    run = run_tasks([Task("__main__:load_and_call", {}), Task("__main__:wait", {})], None)
    print(run.interrupted, run.results, run.errors)


if __name__ == "__main__":
    main()
