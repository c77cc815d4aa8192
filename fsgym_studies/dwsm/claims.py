"""Claims that several of the six studies make: a printed accuracy at a sparsity, and DWSM above the L1 methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from fsgym_studies.common.claims import Claim
from fsgym_studies.common.curves import areas, by_dataset, heights, mean_accuracy_at
from fsgym_studies.common.plan import DWSM, L1_SVM, LARS
from fsgym_studies.common.render import with_interval
from fsgym_studies.common.statistics import Mean

HALF_LAST_DIGIT = 0.005  # of an accuracy; the paper prints two decimals


def reaches_printed(
    text: str, dataset: str, sparsity: float, printed: float, tolerance: float = HALF_LAST_DIGIT
) -> Claim:
    """Claim that DWSM reaches the printed accuracy at a sparsity, at the share of training data where it is best.

    The paper does not say for which share of training data it prints the accuracy, so the claim lists all shares.
    """
    return Claim(
        f"{text} (at most {tolerance:g} below the printed one, at the best share of training data)",
        f"{printed:g}",
        lambda figures: accuracy_by_share(figures["table"], dataset, sparsity) or None,
        lambda means: max(m.mean for m in means.values()) >= printed - tolerance,
        lambda means: "; ".join(f"{share:.0%}: {with_interval(m)}" for share, m in means.items()),
    )


def accuracy_by_share(table: pd.DataFrame, dataset: str, sparsity: float) -> dict[float, Mean]:
    """DWSM's mean accuracy on a data set at a sparsity, by share of training data."""
    shares = sorted(table.loc[table["dataset"] == dataset, "share"].unique())
    means = {share: mean_accuracy_at(table, sparsity, dataset, DWSM, share) for share in shares}
    return {share: mean for share, mean in means.items() if mean.count}


class DatasetsAbove(NamedTuple):
    """The data sets where DWSM is above other methods, those where it is not, and how many there should be."""

    above: list[str]
    others: list[str]
    expected: int

    @property
    def complete(self) -> bool:
        return len(self.above) + len(self.others) == self.expected

    @property
    def text(self) -> str:
        return f"{len(self.above)} of {len(self.above) + len(self.others)}: {names_or_none(self.above)}"


def datasets_where_above(
    table: pd.DataFrame,
    datasets: Sequence[str],
    others: Sequence[str] = (L1_SVM, LARS),
    sparsity: float | None = None,
) -> DatasetsAbove:
    """The data sets where DWSM is above all other methods.

    Methods are compared by the area under the curve, or by accuracy if a sparsity is given.
    """
    means = by_dataset(areas(table) if sparsity is None else heights(table, sparsity))
    if not {DWSM, *others} <= set(means.columns):
        return DatasetsAbove([], [], len(datasets))
    means = means.dropna(subset=[DWSM, *others])
    above = means[DWSM] > means[list(others)].max(axis=1)
    known = [d for d in datasets if d in means.index]
    return DatasetsAbove([d for d in known if above[d]], [d for d in known if not above[d]], len(datasets))


def names_or_none(names: Sequence[str]) -> str:
    """The names in one line, or the word "none"."""
    return ", ".join(names) or "none"
