"""A study's cells: what is run, told apart by all that determines it, and run so that nothing finished is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fsgym.runner.executors import check_backend, outcomes
from fsgym.runner.store import COLUMNS, opened
from fsgym.runner.task import Task, TaskResult


@dataclass(frozen=True, eq=False)
class Run:
    """What became of a list of tasks.

    Attributes
    ----------
    results : list of dict or None, in the order of the tasks; None where one failed or was not reached
    errors : list of str or None, in one sentence each
    timings : DataFrame, columns key, cpu_seconds, wall_seconds, peak_mib; one row a finished task
    interrupted : bool, whether Ctrl-C came before the end
    """

    results: list[dict[str, Any] | None]
    errors: list[str | None]
    timings: pd.DataFrame
    interrupted: bool


def run_tasks(
    tasks: Sequence[Task],
    store: str | os.PathLike | None,
    *,
    n_jobs: int | None = 1,
    backend: str = "loky",
    scheduler: str | None = None,
    progress: bool = False,
    name: str = "study",
) -> Run:
    """Run every task that the store does not hold, and tell the results of all in their order.

    Parameters
    ----------
    tasks : sequence of Task
    store : path or None
        A SQLite file. A finished cell is in it before it counts, and is never run again; a failed one is, when the
        same tasks are given again. Timings lie in ``timings.sqlite`` beside it. None keeps nothing.
    n_jobs : int, default 1
        Processes of ``loky``, -1 for one a core; 1 is this process. A cluster uses all it has.
    backend : {"loky", "dask", "ray"}, default "loky"
        Processes on this machine, or joblib's backend for a running cluster.
    scheduler : str, optional
        Address of the cluster; required for ``dask``.
    progress : bool, default False
        A bar on stderr, with the time left.
    name : str
        What the bar is called.

    Raises
    ------
    ValueError, TypeError, OSError, ImportError
        In one sentence: arguments that do not fit, a store that cannot be used or written, a cluster that is not
        there. What was finished before stays in the store.

    Notes
    -----
    The results are the same bytes for any ``n_jobs`` and backend. A cell that raises is recorded with its error and
    the others go on. A process that dies takes nothing with it: its cell runs again, and is recorded as failed when
    it has killed twice. Ctrl-C ends the run, and ``Run.interrupted`` says so.

    Examples
    --------
    >>> from fsgym.runner import Task, run_tasks
    >>> run = run_tasks([Task("builtins:dict", {"accuracy": 0.9}), Task("math:sqrt", {})], None)
    >>> run.results
    [{'accuracy': 0.9}, None]
    >>> run.errors[1]
    'TypeError: math.sqrt() takes exactly one argument (0 given)'
    """
    check_backend(backend, scheduler, n_jobs)
    first = {task.key: task for task in reversed(tasks)}  # the same cell asked for twice is run once
    keys = [task.key for task in tasks]
    failed: dict[str, str] = {}
    interrupted = False
    with opened(Path(store)) if store is not None else nullcontext(Memory()) as kept:
        done = kept.finished() & first.keys()
        left = [first[key] for key in dict.fromkeys(keys) if key not in done]
        with _bar(len(first), len(done), name, progress) as advance:
            came = outcomes(left, n_jobs=n_jobs, backend=backend, scheduler=scheduler)
            try:
                for number, ending in came:
                    kept.put(left[number], ending)
                    if ending.error is not None:
                        failed[left[number].key] = ending.error
                    advance()
            except KeyboardInterrupt:
                interrupted = True
            finally:
                came.close()
        results, timings = kept.results(keys), kept.timings(keys)
    return Run([results.get(k) for k in keys], [failed.get(k) for k in keys], timings, interrupted)


class Memory:
    """What a store does, for a run that keeps nothing."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._took: dict[str, tuple] = {}

    def finished(self) -> set[str]:
        return set()

    def put(self, task: Task, ending: TaskResult) -> None:
        self._took[task.key] = (task.key, *ending[2:])
        if ending.text is not None:
            self._texts[task.key] = ending.text

    def results(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {key: json.loads(text) for key, text in self._texts.items()}

    def timings(self, keys: Sequence[str]) -> pd.DataFrame:
        return pd.DataFrame([self._took[k] for k in dict.fromkeys(keys) if k in self._took], columns=list(COLUMNS))


@contextmanager
def _bar(total: int, done: int, name: str, progress: bool) -> Iterator[Callable[[], None]]:
    """A function to call after each cell."""
    if not progress:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        shown = bar.add_task(name, total=total, completed=done)
        yield lambda: bar.advance(shown)
