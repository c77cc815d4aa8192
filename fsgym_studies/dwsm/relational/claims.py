"""Claims of section 6.3.3, Fig. 8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fsgym_studies.common.render import DASH
from fsgym_studies.common.study import Claim
from fsgym_studies.dwsm.relational.tables import BLOCK_PRICES, block_name, block_price_label, usage_of

CENTRAL_BLOCKS = (5, 6, 9, 10)  # of the 4 x 4 blocks, counted by rows from 0
FIGURE_8_CLAIMS = (
    (
        "The 1 is identified quickly: of all digits it takes the fewest blocks (means over the correctly classified "
        "images of each digit)",
        "just two blocks",
    ),
    (
        "The blocks acquired for a 1 are the central ones (the two most frequent are among the central four; ours: "
        "share of the correctly classified images that acquire them)",
        "the two central ones",
    ),
    (
        "The 1 takes few blocks besides the two central ones (at most 4 blocks including these two, mean as above; "
        "prices are ours)",
        "just two",
    ),
    ("The 5 is a complex digit: of all digits it takes the most blocks (means as above)", "a more complex digit"),
    (
        "For the 5 nearly all blocks tend to be acquired (at least 12 of 16, mean as above; prices are ours)",
        "all possible blocks",
    ),
)


def claims(table: pd.DataFrame, classes: Sequence[str]) -> list[Claim]:
    """Claims on the digits 1 and 5, assessed on the model with prices."""
    priced = table[table["dataset"] == block_price_label(BLOCK_PRICES[-1])]
    if priced.empty:
        return [Claim(text, paper, DASH, None) for text, paper in FIGURE_8_CLAIMS]
    usage = usage_of(priced.iloc[0].to_dict())
    total = usage.sum(axis=1)
    one, five = classes.index("1"), classes.index("5")
    most = np.argsort(-usage[one], kind="stable")[:2]
    by_digit = ", ".join(f"{c}: {t:.1f}" for c, t in zip(classes, total))
    results = (
        (by_digit, bool(np.nanargmin(total) == one)),
        (
            " and ".join(f"{block_name(b)} ({usage[one, b]:.2f})" for b in most),
            set(most.tolist()) <= set(CENTRAL_BLOCKS),
        ),
        (f"{total[one]:.1f} blocks", bool(total[one] <= 4)),
        (by_digit, bool(np.nanargmax(total) == five)),
        (f"{total[five]:.1f} blocks", bool(total[five] >= 12)),
    )
    return [Claim(*statement, *result) for statement, result in zip(FIGURE_8_CLAIMS, results, strict=True)]
