"""How claims on the datum-wise model are judged: a printed accuracy at a sparsity, and DWSM above the L1 methods."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym_studies.common.curves import areas, by_dataset, heights, mean_accuracy_at
from fsgym_studies.common.plan import DWSM, L1_SVM, LARS
from fsgym_studies.common.render import with_interval
from fsgym_studies.common.study import Claim

ROUNDING = 0.005  # the paper prints two digits


def reaches(
    text: str, table: pd.DataFrame, dataset: str, method: str, sparsity: float, printed: float, slack: float = ROUNDING
) -> Claim:
    """A method reaches the printed accuracy at a sparsity: at the share of training data where it does best.

    The paper does not say to which share of training data its figure belongs; all are told.
    """
    found = {
        share: mean_accuracy_at(table, sparsity, dataset, method, share)
        for share in sorted(table.loc[table["dataset"] == dataset, "share"].unique())
    }
    told = "; ".join(f"{share:.0%}: {with_interval(m)}" for share, m in found.items() if m.count)
    best = max((m.mean for m in found.values() if m.count), default=float("nan"))
    holds = None if not told else best >= printed - slack
    return Claim(
        f"{text} (at the best share of training data, to within {slack:g})",
        f"{printed:g}",
        told or "–",
        holds,
    )


def above(
    table: pd.DataFrame,
    datasets: Sequence[str],
    others: Sequence[str] = (L1_SVM, LARS),
    sparsity: float | None = None,
) -> tuple[list[str], list[str]]:
    """Data sets where DWSM is above all others, and where it is not: by the area under the curve, or at a sparsity."""
    means = by_dataset(areas(table) if sparsity is None else heights(table, sparsity))
    if not {DWSM, *others} <= set(means.columns):
        return [], []
    means = means.dropna(subset=[DWSM, *others])
    good = means[DWSM] > means[list(others)].max(axis=1)
    known = [d for d in datasets if d in means.index]
    return [d for d in known if good[d]], [d for d in known if not good[d]]


def named(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
