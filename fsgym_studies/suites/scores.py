"""The scores of a benchmark: what each means, all of them from the cells, and the mean ranks of the methods."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd

from fsgym.comparison import noise
from fsgym_studies.common.curves import cells_with

REFERENCE_TITLE = "reference"
SAME_SCORE = 5e-4  # scores that differ by less count as equal: half of the last digit shown
PLACE = ["dataset", "at"]


class Score(NamedTuple):
    """How a score is shown: heading, whether more is better (None: neither), decimals, its meaning.

    ``within`` says that it is measured within budgets, and not at prices.
    """

    title: str
    more_is_better: bool | None
    digits: int
    caption: str
    within: bool = False


SCORES = {
    "loss": Score("Loss", False, 4, "Errors plus price times cost of the acquisitions, mean over the test rows."),
    "headroom": Score(
        "Headroom",
        False,
        4,
        "Loss minus that of the reference, which knows the distribution. It can be below 0 by the chance of the test "
        "rows, or where the reference is not optimal.",
    ),
    "cost_share": Score(
        "Cost as a share of the standard cost",
        False,
        3,
        "Prices and errors, mean over the test rows, divided by the standard cost: the price of all tests, plus the "
        "cost of an error for the share of all rows outside the largest class.",
    ),
    "price_accuracy": Score("Accuracy at each price", True, 3, "Accuracy of the policies of the table of losses."),
    "features": Score(
        "Features used at each price",
        None,
        2,
        "Mean number of features used for a test row; a group counts with all of its features.",
    ),
    "budget_accuracy": Score(
        "Accuracy within a budget",
        True,
        3,
        "Accuracy where at most so much is spent on each row: the policy of the lowest price, continued past its stop "
        "until no further acquisition is affordable.",
        within=True,
    ),
    "budget_auroc": Score(
        "AUROC within a budget",
        True,
        3,
        "Area under the ROC curve, for the policies of the table of accuracies.",
        within=True,
    ),
    "mean_auroc": Score(
        "AUROC, mean over the budgets",
        True,
        4,
        "Area under the ROC curve of the policy of the lowest price, continued past its stop; mean over all budgets.",
    ),
    "complete": Score(
        "Features until the relevant ones are complete",
        False,
        3,
        "Mean number of acquisitions after which all relevant features of the row are known; the policy of the lowest "
        "price, continued past its stop. The reference is the mean number of relevant features.",
    ),
}


def scores_of(table: pd.DataFrame) -> pd.DataFrame:
    """All scores of the cells, with the headroom where there is a reference.

    Returns
    -------
    DataFrame, columns dataset, split, method, score, at, value
    """
    columns = ["dataset", "split", "method", "score", "at", "value"]
    rows = [
        (cell.dataset, cell.split, cell.method, *(score[name] for name in ("score", "at", "value")))
        for cell in cells_with(table, "scores").itertuples()
        for score in cell.scores
    ]
    scores = pd.DataFrame(rows, columns=columns)
    losses = scores[scores["score"] == "loss"]
    known = losses[losses["method"] == REFERENCE_TITLE].set_index(PLACE)["value"].rename("known")
    room = losses[losses["method"] != REFERENCE_TITLE].join(known, on=PLACE, how="inner")
    room = room.assign(score="headroom", value=room["value"] - room["known"])[columns]
    return scores if room.empty else pd.concat([scores, room], ignore_index=True)


def reasons_of(table: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Why a method does not have a score: (method, score) -> reason."""
    cells = table[table["error"].isna()].itertuples()
    return {(cell.method, score): reason for cell in cells for score, reason in cell.reasons.items()}


def means_by_place(scores: pd.DataFrame, score: str) -> pd.DataFrame:
    """Means over the splits of a score: a row per method, a column per (data set, price or budget)."""
    own = scores[scores["score"] == score]
    means = own.groupby([*PLACE, "method"], sort=False)["value"].mean().unstack("method", sort=False)
    return means.T


def mean_ranks(means: pd.DataFrame, more_is_better: bool | None, unranked: Collection[str] = ()) -> pd.Series:
    """Mean rank of each method over the places, best first; only methods that have all of them.

    The methods ``unranked`` have no rank. Empty where more is neither better nor worse.
    """
    if more_is_better is None or means.empty:
        return pd.Series(dtype=np.float64)
    complete = means.drop(index=list(unranked), errors="ignore").dropna()
    rounded = (complete.T / SAME_SCORE).round()  # differences that are not shown do not count
    return noise.mean_ranks(-rounded if more_is_better else rounded)


def paired_scores(scores: pd.DataFrame, table: pd.DataFrame, score: str) -> tuple[pd.DataFrame, str, float]:
    """A score of the methods on what is independent, to test whether differences are more than noise.

    Returns
    -------
    means : DataFrame, means over prices or budgets: a row for each data set where there are at least three, otherwise
        for each run, and a column for each method
    unit : "data set" or "run", what a row is
    test_share : float, test rows over training rows of the runs, from the ``table`` of cells; 0 for data sets
    """
    own = scores[(scores["score"] == score) & (scores["split"] != "")]
    by_dataset = own["dataset"].nunique() >= noise.MIN_PAIRS
    keys = ["dataset"] if by_dataset else ["dataset", "split"]
    means = own.groupby([*keys, "method"], sort=False)["value"].mean().unstack("method", sort=False)
    share = 0.0 if by_dataset else float(pd.to_numeric(table["test_share"]).mean())
    return means, "data set" if by_dataset else "run", share


def long_table(suite: str, scores: pd.DataFrame, unranked: Collection[str]) -> pd.DataFrame:
    """All scores in one table: those of each run, and their means over the runs.

    Returns
    -------
    DataFrame, columns suite, dataset, run, method, score, column, value, ranked
        ``run`` is a number from 0, or "mean"; the reference, which has no runs, has means only. ``column`` is a price
        or a budget, "" for a score without them. ``ranked`` says whether the method takes part in the ranking.
    """
    keys = ["dataset", "method", "score", "at"]
    means = scores.groupby(keys, sort=False)["value"].mean().reset_index().assign(split="mean")
    rows = pd.concat([scores[scores["split"] != ""], means], ignore_index=True)
    rows = rows.rename(columns={"split": "run", "at": "column"}).assign(suite=suite)
    rows["ranked"] = ~rows["method"].isin(list(unranked))
    return rows[["suite", "dataset", "run", "method", "score", "column", "value", "ranked"]]
