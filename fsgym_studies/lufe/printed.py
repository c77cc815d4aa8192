"""Table 1 of Taylor et al. (2016)."""

from __future__ import annotations

from typing import NamedTuple

from fsgym_studies.common.render import DASH
from fsgym_studies.lufe.cell import LUFE, SELECTION

PRINTED_ALL, PRINTED_SETS = 72.04, 49  # accuracy of ALL in percent; data sets of TechTC-300


class PrintedRow(NamedTuple):
    """A row of Table 1: accuracy in percent; wins and mean difference in points over ALL, and over the selection."""

    accuracy: float
    wins_all: int
    mean_all: float
    wins: int | None = None
    mean: float | None = None

    @property
    def over_all(self) -> str:
        return f"{self.mean_all:+.2f}, {self.wins_all} of {PRINTED_SETS}"

    @property
    def over_selection(self) -> str:
        return DASH if self.wins is None else f"{self.mean:+.2f}, {self.wins} of {PRINTED_SETS}"


PRINTED_TABLE1 = {
    ("RFE", 300, SELECTION): PrintedRow(73.85, 33, 1.81),
    ("RFE", 300, LUFE): PrintedRow(75.82, 41, 3.78, 44, 1.97),
    ("RFE", 500, SELECTION): PrintedRow(74.11, 36, 2.07),
    ("RFE", 500, LUFE): PrintedRow(75.76, 45, 3.72, 43, 1.65),
    ("ANOVA", 300, SELECTION): PrintedRow(74.77, 37, 2.73),
    ("ANOVA", 300, LUFE): PrintedRow(77.42, 45, 5.38, 44, 2.65),
    ("ANOVA", 500, SELECTION): PrintedRow(74.26, 36, 2.22),
    ("ANOVA", 500, LUFE): PrintedRow(76.81, 44, 4.77, 44, 2.55),
}
