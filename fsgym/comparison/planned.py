"""A comparison before it is run, and after."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from fsgym.comparison.cell import Cell, Outcome, cells_of
from fsgym.comparison.compared import ComparedMethod
from fsgym.comparison.protocol import Protocol
from fsgym.comparison.ranking import Standing


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


@dataclass(frozen=True)
class Comparison:
    """A comparison that has been run, from which its report and figures are made.

    ``outcomes`` has one entry per split, method and setting; ``results`` is what ``compare`` returns; ``command`` is
    the command or call that the report names.
    """

    protocol: Protocol
    methods: tuple[ComparedMethod, ...]
    outcomes: list[Outcome]
    results: pd.DataFrame
    command: str

    def chosen(self, standing: Standing) -> dict[int, Outcome]:
        """The outcome of each split at the setting of a method that was chosen there."""
        settings = dict(zip(standing.chosen["split"], standing.chosen["setting"], strict=True))
        own = (o for o in self.outcomes if o.row["method"] == standing.method)
        return {o.row["split"]: o for o in own if settings.get(o.row["split"]) == o.row["setting"]}
