"""Claims of section 6.3.2."""

from __future__ import annotations

import pandas as pd

from fsgym_studies.common.plan import DWSM
from fsgym_studies.common.render import with_interval
from fsgym_studies.common.statistics import mean_of
from fsgym_studies.common.study import Claim
from fsgym_studies.dwsm.cost.printed import TABLE_6
from fsgym_studies.dwsm.cost.tables import error_cost_label

COST_TOLERANCE = 0.1  # of the printed cost


def notes(table: pd.DataFrame) -> list[str]:
    """Sentences on the mean cost of the methods that ignore prices."""
    sentences = []
    for error in TABLE_6:
        rows = table[(table["dataset"] == error_cost_label(error)) & (table["method"] != DWSM)]
        means = rows.groupby(["method", "setting"])["loss"].mean().groupby("method").min()
        if len(means):
            costs = ", ".join(f"{m} {v:.1f}" for m, v in means.sort_values().items())
            sentences.append(
                f"Error cost {error:g}: mean cost of the methods that ignore prices: {costs}. This is optimistic, "
                "because the setting of each method is the one that is cheapest on the test folds."
            )
    return sentences


def claims(table: pd.DataFrame) -> list[Claim]:
    claims = []
    for error, ((printed_cost, printed_accuracy), (other_cost, other_accuracy)) in TABLE_6.items():
        own = table[(table["dataset"] == error_cost_label(error)) & (table["method"] == DWSM)]
        cost, accuracy = mean_of(own["loss"]), mean_of(own["accuracy"])
        missing = cost.count == 0
        claims += [
            Claim(
                f"Error cost {error:g}: mean cost (at most {COST_TOLERANCE:.0%} above the printed one)",
                f"{printed_cost:g} (Ji and Carin, 2007: {other_cost:g})",
                with_interval(cost, 1),
                None if missing else cost.mean <= (1 + COST_TOLERANCE) * printed_cost,
            ),
            Claim(
                f"Error cost {error:g}: accuracy (at most .03 below the printed one)",
                f"{printed_accuracy:g} (Ji and Carin, 2007: {other_accuracy:g})",
                with_interval(accuracy),
                None if missing else accuracy.mean >= printed_accuracy - 0.03,
            ),
        ]
    return claims
