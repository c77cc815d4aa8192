"""What a study is: its declaration, and its conclusion (claims, tables, pictures)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from fsgym.comparison.report import Picture
from fsgym.runner.task import Task

WORDS = {True: "yes", False: "no", None: "not judged"}


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, its number, ours, and whether it holds here.

    Attributes
    ----------
    text : str, what is claimed and by which criterion it is judged
    paper : str, what the paper printed; "" for a claim of our own
    here : str, what came out
    holds : bool, or None where the cells to judge it by are missing
    """

    text: str
    paper: str
    here: str
    holds: bool | None

    @property
    def word(self) -> str:
        return WORDS[self.holds]


@dataclass(frozen=True)
class Table:
    """A table of a report: the file's stem, heading, what its columns mean, and its rows as text or numbers."""

    stem: str
    heading: str
    caption: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class Conclusion:
    """Everything that is told of a study. ``protocol`` says in a few sentences what was run.

    The report has all tables and pictures; a section of a Markdown file those whose stems are in ``shown``.
    """

    protocol: str
    claims: Sequence[Claim]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    notes: Sequence[str] = field(default_factory=tuple)
    shown: Sequence[str] = ()

    def counts(self) -> str:
        """How many claims hold, in words."""
        held, judged = sum(c.holds is True for c in self.claims), sum(c.holds is not None for c in self.claims)
        rest = len(self.claims) - judged
        return f"{held} of {judged} claims hold here" + (f"; {rest} could not be judged" if rest else "")


class Planned(NamedTuple):
    """A task, and what the table calls it."""

    task: Task
    row: dict[str, Any]


@dataclass(frozen=True)
class Study:
    """A study, as its file declares it.

    Attributes
    ----------
    name : str, of the command line
    title : str
    reference : str, BibTeX of what is reproduced
    minutes : (float, float), processor time of the quick study, measured, and of the whole one, extrapolated
    datasets : names that ``load_dataset`` must know
    plan : callable (full, data_dir) -> list of Planned, the cells
    conclude : callable (plan, table, full) -> Conclusion; ``table`` is that of ``table_of``, and may lack figures
    """

    name: str
    title: str
    reference: str
    minutes: tuple[float, float]
    datasets: tuple[str, ...]
    plan: Callable[[bool, str | os.PathLike | None], list[Planned]]
    conclude: Callable[[Sequence[Planned], pd.DataFrame, bool], Conclusion]
