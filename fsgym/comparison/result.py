"""The result of a comparison, from which its report and figures are made."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fsgym.comparison.cell import Outcome
from fsgym.comparison.compared import ComparedMethod
from fsgym.comparison.protocol import Protocol


@dataclass(frozen=True)
class Comparison:
    """A comparison that has been run.

    Attributes
    ----------
    protocol : Protocol
    methods : tuple of ComparedMethod
    outcomes : list of Outcome, one per split, method and setting
    results : DataFrame, what ``compare`` returns
    command : str, the command or call that the report names
    """

    protocol: Protocol
    methods: tuple[ComparedMethod, ...]
    outcomes: list[Outcome]
    results: pd.DataFrame
    command: str
