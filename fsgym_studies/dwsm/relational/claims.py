"""Claims of section 6.3.3, Fig. 8: the digits 1 and 5."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fsgym_studies.common.claims import AssessedClaim, Claim, assess
from fsgym_studies.dwsm.relational.tables import BLOCK_PRICES, block_name, block_price_label, usage_of

CENTRAL_BLOCKS = (5, 6, 9, 10)  # of the 4 x 4 blocks, counted by rows from 0
CLAIMS = (
    Claim(
        "The 1 is identified quickly: of all digits it takes the fewest blocks (means over the correctly classified "
        "images of each digit)",
        "just two blocks",
        "blocks",
        lambda blocks: blocks.idxmin() == "1",
        lambda blocks: ", ".join(f"{digit}: {count:.1f}" for digit, count in blocks.items()),
    ),
    Claim(
        "The blocks acquired for a 1 are the central ones (the two most frequent are among the central four; ours: "
        "share of the correctly classified images that acquire them)",
        "the two central ones",
        "most frequent",
        lambda most: set(most.index) <= set(CENTRAL_BLOCKS),
        lambda most: " and ".join(f"{block_name(block)} ({share:.2f})" for block, share in most.items()),
    ),
    Claim(
        "The 1 takes few blocks besides the two central ones (at most 4 blocks including these two, mean as above; "
        "prices are ours)",
        "just two",
        "blocks",
        lambda blocks: blocks["1"] <= 4,
        lambda blocks: f"{blocks['1']:.1f} blocks",
    ),
    Claim(
        "The 5 is a complex digit: of all digits it takes the most blocks (means as above)",
        "a more complex digit",
        "blocks",
        lambda blocks: blocks.idxmax() == "5",
        lambda blocks: ", ".join(f"{digit}: {count:.1f}" for digit, count in blocks.items()),
    ),
    Claim(
        "For the 5 nearly all blocks tend to be acquired (at least 12 of 16, mean as above; prices are ours)",
        "all possible blocks",
        "blocks",
        lambda blocks: blocks["5"] >= 12,
        lambda blocks: f"{blocks['5']:.1f} blocks",
    ),
)


def claims(table: pd.DataFrame, classes: Sequence[str]) -> list[AssessedClaim]:
    """Assess the claims on the model with prices."""
    priced = table[table["dataset"] == block_price_label(BLOCK_PRICES[-1])]
    if priced.empty:
        return assess(CLAIMS, {})
    usage = usage_of(priced.iloc[0].to_dict())
    of_one = pd.Series(usage[classes.index("1")])
    most = np.argsort(-of_one, kind="stable")[:2]
    return assess(CLAIMS, {"blocks": pd.Series(usage.sum(axis=1), classes), "most frequent": of_one[most]})
