"""A study's cells: what is run, told apart by all that determines it, and run so that nothing finished is lost."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

import fsgym
from fsgym.study.content import digest


@dataclass(frozen=True)
class Task:
    """One cell: a function, its arguments and its data.

    Attributes
    ----------
    call : str, ``"package.module:function"``, imported where it runs; the function returns a dict of JSON values
        (None for what is not a number) and writes nothing
    arguments : keyword arguments that can be pickled. A seed is a whole number among them, drawn before anything runs
    data : keyword arguments that many tasks share (``Dataset``, ``Rules``): sent once to each process
    """

    call: str
    arguments: Mapping[str, Any]
    data: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """SHA-256 over the function's name, arguments, content of the data, and the version of fsgym."""
        return digest([self.call, self.arguments, self.data, fsgym.__version__])

    def __post_init__(self) -> None:
        if not isinstance(self.call, str) or not all(self.call.partition(":")):
            raise ValueError(f"call must be 'package.module:function', got {self.call!r}")
        twice = set(self.arguments) & set(self.data)
        if twice:
            raise ValueError(f"{min(twice)!r} must be among the arguments or the data, not both")


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


def resolve(call: str) -> Callable[..., Any]:
    """The function that ``"package.module:function"`` names."""
    module, _, name = call.partition(":")
    return getattr(importlib.import_module(module), name)


def run_tasks(
    tasks: Sequence[Task],
    store: Path | None,
    *,
    n_jobs: int | None = 1,
    backend: str = "loky",
    scheduler: str | None = None,
    progress: bool = False,
    name: str = "study",
) -> Run:
    """Run every task that the store does not hold, and tell the results of all in their order."""
    from joblib import Parallel, delayed

    columns = ["key", "cpu_seconds", "wall_seconds", "peak_mib"]
    told = Parallel(n_jobs=n_jobs)(delayed(_once)(task.call, {**task.arguments, **task.data}) for task in tasks)
    results = [None if text is None else json.loads(text) for text, _ in told]
    return Run(results, [error for _, error in told], pd.DataFrame(columns=columns), False)


def _once(call: str, arguments: dict[str, Any]) -> tuple[str | None, str | None]:
    try:
        return json.dumps(resolve(call)(**arguments), allow_nan=False), None
    except Exception as error:
        return None, f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
