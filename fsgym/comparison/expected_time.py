"""How long a comparison will take, said before a long run.

Judged by the timings of fits of the same comparison in its folder, and of methods that have none there by
``fit_seconds.csv``, which ``benchmarks/fit_seconds.py`` measures: CPU seconds of one setting in one split, by rows of
the training part, features and classes. Between its points a power law of these three is fitted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pandas as pd

from fsgym.comparison.planned import PlannedComparison, Where
from fsgym.data.dataset import Dataset
from fsgym.runner.store import read_timings
from fsgym.support.threads import n_threads
from fsgym.text.messages import listing

LONG_SECONDS = 60.0  # from which the time is said
SIZES = ("n_samples", "n_features", "n_classes")


class ExpectedTime(NamedTuple):
    """Seconds of one process for the fits that are left, their number, and methods of which nothing is known."""

    seconds: float
    n_tasks: int
    unknown: tuple[str, ...]


def announce_time(planned: Sequence[PlannedComparison], where: Where) -> None:
    """Say on one line of stderr how long the comparisons will take, if it is over a minute.

    Nothing is said of a cluster, whose number of workers is unknown.
    """
    if where.backend != "loky":
        return
    expected = [expected_time(one) for one in planned]
    n_tasks = sum(e.n_tasks for e in expected)
    seconds = sum(e.seconds for e in expected) / min(n_threads(where.n_jobs), max(n_tasks, 1))
    if seconds > LONG_SECONDS:
        unknown = dict.fromkeys(name for e in expected for name in e.unknown)
        rest = f", and the time of {listing(unknown)}, which is unknown" if unknown else ""
        print(f"fsgym: expected to take about {duration_text(seconds)}{rest}", file=sys.stderr)


def expected_time(planned: PlannedComparison) -> ExpectedTime:
    """The expected time of the tasks that are not in the comparison's folder."""
    finished, timings = (set(), {}) if planned.store is None else read_timings(planned.store)
    train = planned.protocol.parts(0).train
    measured: dict[str, list[float]] = {}
    left: dict[str, list[int]] = {}
    for cells, task in planned.tasks:
        method = cells[0].method.name
        if task.key in timings:
            measured.setdefault(method, []).append(timings[task.key] / len(cells))
        if task.key not in finished:
            left.setdefault(method, []).append(len(cells))
    each = {name: float(np.mean(measured[name])) if name in measured else seconds_of(name, train) for name in left}
    seconds = sum((s * sum(left[name]) for name, s in each.items() if s is not None), 0.0)
    unknown = tuple(name for name, s in each.items() if s is None)
    return ExpectedTime(seconds, sum(map(len, left.values())), unknown)


def seconds_of(method: str, train: Dataset) -> float | None:
    """CPU seconds of one setting of a method by name, fitted twice and evaluated; None for a method not measured.

    A power law of the numbers of rows, features and classes, by least squares through the logarithms of what was
    measured.
    """
    table = pd.read_csv(str(files("fsgym.comparison") / "fit_seconds.csv"))
    rows = table[table["method"] == method]
    if rows.empty:
        return None
    sizes = np.log(rows[list(SIZES)].to_numpy(float))
    centre = sizes.mean(axis=0)
    design = np.column_stack([np.ones(len(rows)), sizes - centre])
    law = np.linalg.lstsq(design, np.log(rows["seconds"].to_numpy(float)))[0]
    wanted = np.log([getattr(train, name) for name in SIZES]) - centre
    return float(np.exp(law[0] + wanted @ law[1:]))


def duration_text(seconds: float) -> str:
    """A time in words, rounded.

    >>> duration_text(88), duration_text(200), duration_text(9000)
    ('90 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 95:
        return f"{10 * round(seconds / 10)} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
