"""Ctrl-C while kernels are compiled or loaded, and where Python would drop it."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

COMPILERS = ("numba", "llvmlite")
WEAK_REFERENCES = ("weakref", "_weakrefset")
PAUSE = 0.02  # seconds until a postponed interrupt is tried again


@contextmanager
def interrupts_between_kernels() -> Iterator[None]:
    """Within the block, Ctrl-C waits until the kernel that is being compiled or loaded is complete.

    LLVM asks a Python function for the machine code of a cached kernel. A KeyboardInterrupt in that function is printed
    and lost, the kernel gets the address 0, and its first use ends the process with a segmentation fault.

    It also waits for the end of finalizers and callbacks of weak references, in which Python prints exceptions and goes
    on: one is called after each import.

    Other handlers of SIGINT than Python's own stay as they are; so do threads other than the main one, in which Python
    raises no KeyboardInterrupt.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    postponed, main = False, threading.get_ident()

    def try_again() -> None:
        while postponed:
            time.sleep(PAUSE)
            if postponed and os.name == "posix":
                signal.pthread_kill(main, signal.SIGINT)  # ends calls that wait, such as time.sleep
            elif postponed:
                _thread.interrupt_main()

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal postponed
        if not _would_be_lost(frame):
            postponed = False
            signal.default_int_handler(number, frame)
        if not postponed:
            postponed = True
            # Thread.start would wait for the new thread, which may wait for a lock of LLVM that this one holds.
            _thread.start_new_thread(try_again, ())

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if postponed:
            postponed = False
            raise KeyboardInterrupt


def _would_be_lost(frame: FrameType | None) -> bool:
    """Whether the compiler, a finalizer or a callback of a weak reference runs in this frame or called it."""
    while frame is not None:
        module, function = str(frame.f_globals.get("__name__")), frame.f_code.co_name
        if module.partition(".")[0] in COMPILERS or module in WEAK_REFERENCES or function == "__del__":
            return True
        if module == "importlib._bootstrap" and function == "cb":  # forgets the lock of a module that was imported
            return True
        frame = frame.f_back
    return False
