"""What a comparison that was run consists of."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from fsgym.comparison.cell import Outcome
from fsgym.comparison.protocol import Entrant, Protocol


@dataclass(frozen=True)
class Comparison:
    """A comparison that was run: what figures and report are made of."""

    protocol: Protocol
    entrants: tuple[Entrant, ...]
    outcomes: list[Outcome]
    results: pd.DataFrame
    command: str
