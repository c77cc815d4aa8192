"""Claims that several of the six studies make: a printed accuracy at a sparsity, and DWSM above the L1 methods."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym_studies.common.curves import areas, by_dataset, heights, mean_accuracy_at
from fsgym_studies.common.plan import DWSM, L1_SVM, LARS
from fsgym_studies.common.render import DASH, with_interval
from fsgym_studies.common.study import Claim

HALF_LAST_DIGIT = 0.005  # of an accuracy; the paper prints two decimals


def reaches_printed(
    text: str,
    table: pd.DataFrame,
    dataset: str,
    method: str,
    sparsity: float,
    printed: float,
    tolerance: float = HALF_LAST_DIGIT,
) -> Claim:
    """Claim that a method reaches the printed accuracy at a sparsity, at the share of training data where it is best.

    The paper does not say for which share of training data it prints the accuracy, so the claim lists all shares.
    """
    means = {
        share: mean_accuracy_at(table, sparsity, dataset, method, share)
        for share in sorted(table.loc[table["dataset"] == dataset, "share"].unique())
    }
    ours = "; ".join(f"{share:.0%}: {with_interval(m)}" for share, m in means.items() if m.count)
    best = max((m.mean for m in means.values() if m.count), default=float("nan"))
    return Claim(
        f"{text} (at most {tolerance:g} below the printed one, at the best share of training data)",
        f"{printed:g}",
        ours or DASH,
        best >= printed - tolerance if ours else None,
    )


def datasets_where_above(
    table: pd.DataFrame,
    datasets: Sequence[str],
    others: Sequence[str] = (L1_SVM, LARS),
    sparsity: float | None = None,
) -> tuple[list[str], list[str]]:
    """The data sets where DWSM is above all other methods, and those where it is not.

    Methods are compared by the area under the curve, or by accuracy if a sparsity is given.
    """
    means = by_dataset(areas(table) if sparsity is None else heights(table, sparsity))
    if not {DWSM, *others} <= set(means.columns):
        return [], []
    means = means.dropna(subset=[DWSM, *others])
    above = means[DWSM] > means[list(others)].max(axis=1)
    known = [d for d in datasets if d in means.index]
    return [d for d in known if above[d]], [d for d in known if not above[d]]


def names_or_none(names: Sequence[str]) -> str:
    """The names in one line, or the word "none"."""
    return ", ".join(names) or "none"
