"""The progress of a run, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fsgym.text.messages import brief

SECONDS_BETWEEN_LINES = 60.0  # where there is no bar


def checked_progress(progress: bool) -> bool:
    """The argument ``progress``; raises TypeError unless it is True or False."""
    if not isinstance(progress, bool):
        raise TypeError(f"progress must be True or False, got {brief(progress)}")
    return progress


def in_notebook() -> bool:
    """Whether the code runs in the kernel of a notebook."""
    module = sys.modules.get("IPython")  # a kernel has imported it
    shell = None if module is None else module.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def progress_bar(total: int, done: int, name: str, progress: bool) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each finished task; it shows nothing unless ``progress`` is True.

    In a notebook the bar is text, as in a terminal, because a widget would need another package. Where stderr is
    neither, such as a file, it is a line at most once a minute.
    """
    if not progress:
        yield lambda: None
        return
    if not sys.stderr.isatty() and not in_notebook():
        yield _MinuteLines(total, done, name).advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    notebook = {"force_jupyter": False, "force_terminal": True, "width": 100} if in_notebook() else {}
    with Progress(*columns, console=Console(stderr=True, **notebook), transient=True) as bar:
        shown = bar.add_task(name, total=total, completed=done)
        yield lambda: bar.advance(shown)


class _MinuteLines:
    """Says at most once a minute how many tasks are finished, and about how long the others take at this rate."""

    def __init__(self, total: int, done: int, name: str) -> None:
        self.total, self.first, self.done, self.name = total, done, done, name
        self.start = self.shown = time.monotonic()
        if 0 < done < total:
            print(f"{name}: {done} of {total} are of an earlier run", file=sys.stderr, flush=True)

    def advance(self) -> None:
        self.done += 1
        now = time.monotonic()
        if now - self.shown < SECONDS_BETWEEN_LINES or self.done == self.total:
            return
        self.shown = now
        minutes = (now - self.start) / (self.done - self.first) * (self.total - self.done) / 60
        left = f"about {minutes:.0f} min left" if minutes >= 1.5 else "about a minute left"
        print(f"{self.name}: {self.done} of {self.total}, {left}", file=sys.stderr, flush=True)
