"""A task (a function, its arguments and its data) and its result."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from fsgym.runner.fingerprint import fingerprint


@dataclass(frozen=True)
class Task:
    """A function to call, with its arguments and its data."""

    # ``"package.module:function"``, imported where the task runs. The function returns a dict of JSON values, with None
    # in place of NaN, and writes no files.
    call: str
    # keyword arguments, which must be picklable. A seed is one of them: an integer drawn before anything runs.
    arguments: Mapping[str, Any]
    # keyword arguments that many tasks share, such as a ``Dataset``. They are sent once to each process.
    data: Mapping[str, Any] = field(default_factory=dict)
    # the columns by which tables of results name the task; they are not part of its key
    labels: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """SHA-256 of the function's name, the arguments, the content of the data and the version of fsgym."""
        return fingerprint([self.call, self.arguments, self.data, version("fsgym")])

    def __post_init__(self) -> None:
        if not isinstance(self.call, str) or not all(self.call.partition(":")):
            raise ValueError(f"call must be 'package.module:function', got {self.call!r}")
        twice = set(self.arguments) & set(self.data)
        if twice:
            raise ValueError(f"{min(twice)!r} must be in arguments or in data, not in both")


class TaskResult(NamedTuple):
    """The JSON text of a task's result, or its error message; and the time and memory that it took.

    ``peak_mib`` is the peak resident memory of the process while the task ran, in MiB. Time and memory include those of
    the process apart (``apart.py``).
    """

    text: str | None
    error: str | None
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_mib: float = 0.0


def resolve(call: str) -> Callable[..., Any]:
    """The function that ``"package.module:function"`` names."""
    module, _, name = call.partition(":")
    return getattr(importlib.import_module(module), name)


def reset_peak_memory() -> None:
    """Reset the kernel's record of peak memory; where that is not allowed, the peak is that of the whole process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mib() -> float:
    """Peak resident memory of this process since the last reset, in MiB."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
