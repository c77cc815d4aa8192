"""The command ``warm``: compile all kernels once, so that no later run has to."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsgym.cli.terminal import say, show

if TYPE_CHECKING:
    from fsgym.data.dataset import Dataset

# These call kernels, and between them all that a comparison may call; none needs an extra.
METHODS = (
    *("lattice", "mixture", "network", "adaptive", "rcpi"),
    *("stopping", "cart", "gbfs", "uncertain_sgl", "group_lasso"),
)
ROWS = 120  # By hand: enough for folds of three classes
LAM = 0.05  # at which an acquisition of these tables is worth its price


def warm() -> None:
    """Compile all kernels, which otherwise the first fit of each method and the first session do.

    It trains each method on small tables, and says what it compiled, in how many seconds, and where the machine code is
    kept. It needs some minutes, once after each installation.

    Example: fsgym warm
    """
    from fsgym.comparison import compare

    begun, tables, counts, compiled = time.perf_counter(), small_tables(), [(0, 0.0)], compilations()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small tables
        for method in METHODS:
            for table in tables:
                compare(table, method, references=False, splits=1, lam=LAM, progress=False)
            counts.append(compiled())
            _say_of(method, *counts[-2:])
        write_report_and_ask(tables)
        counts.append(compiled())
        _say_of("a report and sessions", *counts[-2:])
    kernels, compiling = counts[-1]
    done = f"{kernels} kernels compiled in {compiling:.0f} s" if kernels else "All kernels were compiled already"
    from fsgym.rules.kernels import acquire

    folder = acquire.stats.cache_path  # of the machine code of one of the modules
    total = time.perf_counter() - begun
    show(f"{done}; with the trainings it took {total:.0f} s. They are kept in folders such as {folder}.")


def say_of_first_run() -> None:
    """Tell who waits at a terminal that code will be compiled, where no kernel of the rules is."""
    from fsgym.rules.kernels import acquire

    stored = Path(acquire.stats.cache_path).glob(f"kernels.{acquire.py_func.__qualname__}-*.nbi")
    if sys.stderr.isatty() and not any(stored):
        say("the first run compiles code, up to a minute or two; later ones do not")


def compilations() -> Callable[[], tuple[int, float]]:
    """A function that returns how many kernels this process has compiled since, and in how many seconds."""
    from numba.core import event

    recorder = event.RecordingListener()
    event.register("numba:compile", recorder)
    return lambda: counted(recorder.buffer)


def _say_of(what: str, before: tuple[int, float], after: tuple[int, float]) -> None:
    if after[0] > before[0]:
        show(f"{what}: {after[0] - before[0]} kernels, {after[1] - before[1]:.1f} s")


def counted(events: list[tuple[float, Any]]) -> tuple[int, float]:
    """The number of kernels that Numba compiled, and the seconds, from the times of its events."""
    kernels, seconds, within = 0, 0.0, 0
    for at, event in events:
        kernels += event.is_start
        seconds += (within == 0 and -at) if event.is_start else (within == 1 and at)
        within += 1 if event.is_start else -1
    return kernels, seconds


def small_tables() -> tuple[Dataset, ...]:
    """Two classes, numbers and one price; three classes, numbers with missing values, prices and groups."""
    import numpy as np

    from fsgym import Dataset

    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 5))
    plain = Dataset(X.copy(), (X[:, 0] + X[:, 1] > 0).astype(int), name="plain")
    X[:, 4] = rng.integers(0, 3, ROWS)
    y = np.digitize(X[:, 0] + X[:, 4], [0.0, 1.5])
    X[rng.random(X.shape) < 0.1] = np.nan
    return plain, Dataset(X, y, costs=[1.0, 2.0, 1.0, 0.5], groups=[[0], [1, 2], [3], [4]], name="groups")


def write_report_and_ask(tables: Sequence[Dataset]) -> None:
    """Write a report, and go to the first question of each agent."""
    from fsgym.comparison import compare

    with tempfile.TemporaryDirectory() as folder:
        compare(tables[0], "lattice", splits=1, lam=LAM, progress=False, out=folder)
    agents: Any = import_module("agents")
    for table in tables:
        for agent in (
            agents.LatticeClassifier(),
            agents.MixtureClassifier(n_components=1, n_steps=0),
            agents.AnyStateNetworkClassifier(n_steps=10),
            agents.DatumWiseClassifier(n_iterations=1),
        ):
            agent.set_params(lam=LAM, random_state=0).fit(table.X, table.y).session().next()
