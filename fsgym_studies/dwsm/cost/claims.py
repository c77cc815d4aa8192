"""Claims of section 6.3.2."""

from __future__ import annotations

import pandas as pd

from fsgym_studies.common.plan import DWSM
from fsgym_studies.common.render import with_interval
from fsgym_studies.common.statistics import mean_of
from fsgym_studies.common.study import Claim
from fsgym_studies.dwsm.cost.printed import PRINTED
from fsgym_studies.dwsm.cost.tables import label

NEAR = 0.1  # of the printed cost


def notes(table: pd.DataFrame) -> list[str]:
    """What the methods that know no prices cost, in words."""
    found = []
    for error in PRINTED:
        rows = table[(table["dataset"] == label(error)) & (table["method"] != DWSM)]
        means = rows.groupby(["method", "setting"])["loss"].mean().groupby("method").min()
        if len(means):
            told = ", ".join(f"{m} {v:.1f}" for m, v in means.sort_values().items())
            found.append(
                f"Error cost {error:g}: methods that know no prices, at their setting that is cheapest on the test "
                f"folds, which favours them, cost {told}."
            )
    return found


def claims(table: pd.DataFrame) -> list[Claim]:
    found = []
    for error, (cost, accuracy, reference) in PRINTED.items():
        own = table[(table["dataset"] == label(error)) & (table["method"] == DWSM)]
        ours, share = mean_of(own["loss"]), mean_of(own["accuracy"])
        missing = ours.count == 0
        found += [
            Claim(
                f"Error cost {error:g}: mean cost (at most {NEAR:.0%} above the printed one; Ji and Carin, 2007: "
                f"{reference})",
                f"{cost:g}",
                with_interval(ours, 1),
                None if missing else ours.mean <= (1 + NEAR) * cost,
            ),
            Claim(
                f"Error cost {error:g}: accuracy (to within .03, or above)",
                f"{accuracy:g}",
                with_interval(share),
                None if missing else share.mean >= accuracy - 0.03,
            ),
        ]
    return found
