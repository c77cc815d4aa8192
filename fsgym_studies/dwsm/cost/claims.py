"""Claims of section 6.3.2."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fsgym_studies.common.claims import AssessedClaim, Claim, assess
from fsgym_studies.common.plan import DWSM
from fsgym_studies.common.render import with_interval
from fsgym_studies.common.statistics import known_mean
from fsgym_studies.dwsm.cost.tables import ERROR_COSTS, TABLE_6, error_cost_label

COST_TOLERANCE = 0.1  # of the printed cost


def printed_claims(printed: Any) -> tuple[Claim, Claim]:
    """The claims of a row of Table 6."""
    return (
        Claim(
            f"Error cost {printed.error_cost:g}: mean cost (at most {COST_TOLERANCE:.0%} above the printed one)",
            f"{printed.cost:g} (Ji and Carin, 2007: {printed.other_cost:g})",
            f"loss at {printed.error_cost:g}",
            lambda cost: cost.mean <= (1 + COST_TOLERANCE) * printed.cost,
            lambda cost: with_interval(cost, 1),
        ),
        Claim(
            f"Error cost {printed.error_cost:g}: accuracy (at most .03 below the printed one)",
            f"{printed.accuracy:g} (Ji and Carin, 2007: {printed.other_accuracy:g})",
            f"accuracy at {printed.error_cost:g}",
            lambda accuracy: accuracy.mean >= printed.accuracy - 0.03,
            with_interval,
        ),
    )


CLAIMS = tuple(claim for printed in TABLE_6.itertuples() for claim in printed_claims(printed))


def claims(table: pd.DataFrame) -> list[AssessedClaim]:
    figures = {}
    for error in ERROR_COSTS:
        own = table[(table["dataset"] == error_cost_label(error)) & (table["method"] == DWSM)]
        figures |= {f"{figure} at {error:g}": known_mean(own[figure]) for figure in ("loss", "accuracy")}
    return assess(CLAIMS, figures)


def notes(table: pd.DataFrame) -> list[str]:
    """Sentences on the mean cost of the methods that ignore prices."""
    sentences = []
    for error in ERROR_COSTS:
        rows = table[(table["dataset"] == error_cost_label(error)) & (table["method"] != DWSM)]
        means = rows.groupby(["method", "setting"])["loss"].mean().groupby("method").min()
        if len(means):
            costs = ", ".join(f"{m} {v:.1f}" for m, v in means.sort_values().items())
            sentences.append(
                f"Error cost {error:g}: mean cost of the methods that ignore prices: {costs}. This is optimistic, "
                "because the setting of each method is the one that is cheapest on the test folds."
            )
    return sentences
