"""The progress bar of a run, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fsgym.checks import brief


def shows_progress(wanted: bool | None) -> bool:
    """Whether to show the progress of a run: as wanted, and if that is None, in a terminal and in a notebook.

    Raises TypeError for anything else.
    """
    if wanted is not None and not isinstance(wanted, bool):
        raise TypeError(f"progress must be True, False or None, got {brief(wanted)}")
    return wanted if wanted is not None else sys.stderr.isatty() or in_notebook()


def in_notebook() -> bool:
    """Whether the code runs in the kernel of a notebook."""
    module = sys.modules.get("IPython")  # a kernel has imported it
    shell = None if module is None else module.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def progress_bar(total: int, done: int, name: str, progress: bool) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each finished task; it shows nothing unless ``progress`` is True.

    In a notebook the bar is text, as in a terminal, because a widget would need another package.
    """
    if not progress:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    notebook = {"force_jupyter": False, "force_terminal": True, "width": 100} if in_notebook() else {}
    with Progress(*columns, console=Console(stderr=True, **notebook), transient=True) as bar:
        shown = bar.add_task(name, total=total, completed=done)
        yield lambda: bar.advance(shown)
