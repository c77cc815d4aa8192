"""Claims of section 6.3.3, Fig. 8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fsgym_studies.common.render import DASH
from fsgym_studies.common.study import Claim
from fsgym_studies.dwsm.relational.tables import GRID, PRICES, label, usage_of

CENTRE = (5, 6, 9, 10)
STATEMENTS = (
    ("The 1 is identified quickly: of all digits it takes the fewest blocks", "just two blocks"),
    (
        "The blocks it looks at for a 1 are the central ones (its two most frequent are among the central four)",
        "the two central ones",
    ),
    ("and few others (at most 4 blocks on average; prices are ours)", "just two"),
    ("The 5 is a complex digit: of all digits it takes the most blocks", "a more complex digit"),
    ("for which all blocks tend to be explored (at least 12 of 16 on average; prices are ours)", "all possible blocks"),
)


def claims(table: pd.DataFrame, classes: Sequence[str]) -> list[Claim]:
    """Section 6.3.3, on the model with prices."""
    found = table[table["dataset"] == label(PRICES[-1])]
    if found.empty:
        return [Claim(text, paper, DASH, None) for text, paper in STATEMENTS]
    usage = usage_of(found.iloc[0].to_dict())
    total = usage.sum(axis=1)
    one, five = classes.index("1"), classes.index("5")
    most = np.argsort(-usage[one], kind="stable")[:2]
    told = ", ".join(f"{c}: {t:.1f}" for c, t in zip(classes, total))
    where = " and ".join(f"row {b // GRID + 1} column {b % GRID + 1} ({usage[one, b]:.2f})" for b in most)
    outcomes = (
        (told, bool(np.nanargmin(total) == one)),
        (where, bool(set(most.tolist()) <= set(CENTRE))),
        (f"{total[one]:.1f}", bool(total[one] <= 4)),
        (told, bool(np.nanargmax(total) == five)),
        (f"{total[five]:.1f}", bool(total[five] >= 12)),
    )
    return [Claim(text, paper, here, holds) for (text, paper), (here, holds) in zip(STATEMENTS, outcomes)]
