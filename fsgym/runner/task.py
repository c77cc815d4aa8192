"""A unit of work: a function, its arguments and its data; and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Any, NamedTuple

from fsgym.runner.fingerprint import digest


@dataclass(frozen=True)
class Task:
    """One cell: a function, its arguments and its data.

    Attributes
    ----------
    call : str, ``"package.module:function"``, imported where it runs; the function returns a dict of JSON values
        (None for what is not a number) and writes nothing
    arguments : keyword arguments that can be pickled. A seed is a whole number among them, drawn before anything runs
    data : keyword arguments that many tasks share, such as a ``Dataset``: sent once to each process
    """

    call: str
    arguments: Mapping[str, Any]
    data: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """SHA-256 over the function's name, arguments, content of the data, and the version of fsgym."""
        return digest([self.call, self.arguments, self.data, version("fsgym")])

    def __post_init__(self) -> None:
        if not isinstance(self.call, str) or not all(self.call.partition(":")):
            raise ValueError(f"call must be 'package.module:function', got {self.call!r}")
        twice = set(self.arguments) & set(self.data)
        if twice:
            raise ValueError(f"{min(twice)!r} must be among the arguments or the data, not both")


class TaskResult(NamedTuple):
    """What came of a cell: the JSON text of its result, or an error in one sentence; and what it took."""

    text: str | None
    error: str | None
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_mib: float = 0.0
