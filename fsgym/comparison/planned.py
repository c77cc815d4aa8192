"""A comparison that is checked but not run, and where it will run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from fsgym.comparison.cell import Cell, cells_of
from fsgym.comparison.compared import ComparedMethod
from fsgym.comparison.protocol import Protocol


class Where(NamedTuple):
    """Where the fits of a comparison run, and whether their progress is shown."""

    n_jobs: int | None
    backend: str
    scheduler: str | None
    progress: bool


@dataclass(frozen=True)
class PlannedComparison:
    """A comparison whose arguments are checked, and of which nothing is fitted yet.

    ``limits`` are the numbers of features of ``within``; ``folder`` is where its files go, None for nowhere.
    """

    protocol: Protocol
    methods: tuple[ComparedMethod, ...]
    limits: tuple[float, ...]
    folder: Path | None

    @cached_property
    def cells(self) -> list[Cell]:
        return cells_of(self.protocol, self.methods)

    @property
    def store(self) -> Path | None:
        return None if self.folder is None else self.folder.absolute() / "results.sqlite"
