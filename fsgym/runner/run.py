"""Run a list of tasks, store each result as soon as it is there, and resume an interrupted run."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joblib import effective_n_jobs

from fsgym.runner.executors import check_backend, run_all
from fsgym.runner.results import check_result
from fsgym.runner.store import TIMING_COLUMNS, open_store
from fsgym.runner.task import Task, resolve
from fsgym.runner.time_left import Expectation, TimeLeft
from fsgym.support.interrupts import interrupts_between_kernels
from fsgym.text.messages import brief, duration_text

if TYPE_CHECKING:
    import pandas as pd


# The progress of a run, on stderr.

SECONDS_BETWEEN_LINES = 60.0  # where there is no bar
WALL = TIMING_COLUMNS.index("wall_seconds")


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
def progress_bar(total: int, done: int, name: str, progress: bool, left: TimeLeft) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each finished task; it shows nothing unless ``progress`` is True.

    In a notebook the bar is text, as in a terminal, because a widget would need another package. Where stderr is
    neither, such as a file, it is a line at most once a minute. ``left`` says how long the other tasks take.
    """
    if not progress:
        yield lambda: None
        return
    if done:
        print(f"{name}: {done} of {total} are of an earlier run", file=sys.stderr, flush=True)
    if not sys.stderr.isatty() and not in_notebook():
        yield _MinuteLines(total, done, name, left).advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    notebook = {"force_jupyter": False, "force_terminal": True, "width": 100} if in_notebook() else {}
    with Progress(*columns, console=Console(stderr=True, **notebook), transient=True) as bar:
        shown = bar.add_task(name, total=total, completed=done, left=_left_text(left.seconds()))
        yield lambda: bar.update(shown, advance=1, left=_left_text(left.seconds()))


def _left_text(seconds: float | None) -> str:
    """The time that is left in words; "" where it is unknown.

    >>> _left_text(61.0), _left_text(None)
    ('about 61 s left', '')
    """
    return "" if seconds is None else f"about {duration_text(seconds)} left"


class _MinuteLines:
    """Says at most once a minute how many tasks are finished, and about how long the others take."""

    def __init__(self, total: int, done: int, name: str, left: TimeLeft) -> None:
        self.total, self.done, self.name, self.left = total, done, name, left
        self.shown = time.monotonic()

    def advance(self) -> None:
        self.done += 1
        now = time.monotonic()
        if now - self.shown < SECONDS_BETWEEN_LINES or self.done == self.total:
            return
        self.shown = now
        done = f"{self.done} of {self.total}"
        print(f"{self.name}: {done}, {_left_text(self.left.seconds())}", file=sys.stderr, flush=True)


@dataclass(frozen=True, eq=False)
class Run:
    """Results, errors and timings of a list of tasks."""

    results: list[dict[str, Any] | None]  # in the order of the tasks; None for a task that failed or was not run
    # list of str or None, in the order of the tasks; the error message for a task that failed in this run
    errors: list[str | None]
    # columns key, cpu_seconds, wall_seconds, peak_mib; one row per task that was run, in this run or before
    timings: pd.DataFrame
    interrupted: bool  # whether Ctrl-C ended the run before its last task
    n_stored: int = 0  # how many different tasks were finished by an earlier run, whose results are used


def run_tasks(
    tasks: Sequence[Task],
    store: str | os.PathLike | None,
    *,
    n_jobs: int | None = 1,
    backend: str = "loky",
    scheduler: str | None = None,
    progress: bool = False,
    name: str = "study",
    expected: Sequence[Expectation] | None = None,
) -> Run:
    """Run every task whose result is not in the store, and return the results of all tasks in their order.

    Parameters
    ----------
    tasks : sequence of Task
    store : path or None
        A SQLite file. Each result is written to it as soon as its task has finished, and such a task is never run
        again; a task that failed is run again by the next call. Timings are in ``timings.sqlite`` beside it. With None
        nothing is stored.
    n_jobs : int, default 1
        Processes of ``loky``, -1 for one per core; 1 is this process. A cluster uses all its workers.
    backend : {"loky", "dask", "ray"}, default "loky"
        Processes on this machine, or joblib's backend for a running cluster.
    scheduler : str, optional
        Address of the cluster; required for ``dask``.
    progress : bool, default False
        Whether to show progress on stderr: a bar with the remaining time in a terminal and in a notebook, elsewhere a
        line after a task, at most once a minute.
    name : str, default "study"
        The name that it shows.
    expected : sequence of Expectation, optional
        One per task: of which kind it is, and how long it is expected to take. Only the remaining time is judged by it.

    Returns
    -------
    Run

    Raises
    ------
    ValueError, TypeError, OSError, ImportError
        If an argument is invalid, the store cannot be used or written, or the cluster cannot be reached. All results
        that were finished before stay in the store.

    Notes
    -----
    The results are identical, byte for byte, for any ``n_jobs`` and backend. A task that raises is recorded with its
    error, and the other tasks are run. When a worker process dies, the tasks it was running are run again; a task that
    kills its worker twice is recorded as failed. Ctrl-C ends the run and sets ``Run.interrupted``.

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
    first = {task.key: task for task in reversed(tasks)}  # of equal tasks one is run
    keys = [task.key for task in tasks]
    failed: dict[str, str] = {}
    interrupted = False
    with nullcontext() if store is None else open_store(Path(store)) as results_store:
        results: dict[str, dict[str, Any]] = {}
        timings: dict[str, tuple] = {}
        if results_store is not None:
            results, timings = results_store.results(keys), results_store.timings()
            _check_stored(results_store.path, results, first)
        n_stored = len(results)
        remaining = [first[key] for key in dict.fromkeys(keys) if key not in results]
        left = _time_left(tasks, expected, remaining, timings, n_jobs if backend == "loky" else None)
        with progress_bar(len(first), n_stored, name, progress, left) as advance:
            incoming = run_all(remaining, n_jobs=n_jobs, backend=backend, scheduler=scheduler)
            try:
                with interrupts_between_kernels():
                    for number, result in incoming:
                        key = remaining[number].key
                        if results_store is not None:
                            results_store.put(remaining[number], result)
                        timings[key] = (key, *result[2:])
                        if result.text is not None:
                            results[key] = json.loads(result.text)
                        if result.error is not None:
                            failed[key] = result.error
                        left.finish(number, result.wall_seconds)
                        advance()
            except KeyboardInterrupt:
                interrupted = True
            finally:
                incoming.close()
    return Run(
        [results.get(k) for k in keys],
        [failed.get(k) for k in keys],
        _timings_table(timings, keys),
        interrupted,
        n_stored,
    )


def _time_left(
    tasks: Sequence[Task],
    expected: Sequence[Expectation] | None,
    remaining: Sequence[Task],
    timings: Mapping[str, tuple],
    n_jobs: int | None,
) -> TimeLeft:
    """The time of the remaining tasks, judged by those of earlier runs, too; ``n_jobs`` is None on a cluster."""
    given = dict(zip([task.key for task in tasks], expected or [Expectation()] * len(tasks), strict=True))
    left = TimeLeft([given[task.key] for task in remaining], None if n_jobs is None else effective_n_jobs(n_jobs))
    for key, one in given.items():
        if key in timings:
            left.learn(one, timings[key][WALL])
    return left


def _timings_table(rows: Mapping[str, tuple], keys: Sequence[str]) -> pd.DataFrame:
    """One row per task that was run, in the order of the keys."""
    import pandas as pd  # not above: worker processes import this module, and start in less time without pandas

    return pd.DataFrame([rows[k] for k in dict.fromkeys(keys) if k in rows], columns=list(TIMING_COLUMNS))


def _check_stored(store: Path, results: Mapping[str, Any], tasks: Mapping[str, Task]) -> None:
    """ValueError where a result of the store is not one of its task, although its seal is right."""
    for key, result in results.items():
        try:
            check_result(resolve(tasks[key].call), result)
        except ValueError as error:
            raise ValueError(
                f"{store} has a result of {tasks[key].call} that fsgym did not write: {error}; move the file away, or "
                "choose another folder"
            ) from None
