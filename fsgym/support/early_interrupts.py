"""Ctrl-C while the command ``fsgym`` is imported, which takes half a second: a sentence instead of a traceback."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # ``signal`` itself takes 10 ms to import
import os
import sys

SCRIPTS = ("fsgym", "fsgym.exe", "fsgym-script.py")  # as pip writes them


def is_command(words: list[str]) -> bool:
    """Whether these are the words after ``python`` that start the command.

    Not those of its workers, which are processes of their own with the same ``sys.argv``.

    >>> is_command(["/usr/bin/fsgym", "train"]), is_command(["-m", "fsgym"]), is_command(["-m", "pytest", "fsgym"])
    (True, True, False)
    """
    for k, word in enumerate(words):
        if word == "-m":
            return words[k + 1 : k + 2] == ["fsgym"]
        if not word.startswith("-"):
            return os.path.basename(word) in SCRIPTS
    return False


def stop_while_importing() -> None:
    """In the command, let Ctrl-C end the process with a sentence until ``interrupts_as_usual``."""
    if is_command(sys.orig_argv[1:]) and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _stop)


def interrupts_as_usual() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if _signal.getsignal(_signal.SIGINT) is _stop:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def _stop(number: int, frame: object) -> None:
    os.write(2, b"fsgym: stopped\n")
    os._exit(130)  # nothing was begun
