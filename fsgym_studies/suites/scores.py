"""The scores of a benchmark: what each means, all of them from the cells, and the mean ranks of the methods."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fsgym import __version__
from fsgym.comparison import noise
from fsgym_studies.common.curves import cells_with

REFERENCE_TITLE = "reference"
NEMENYI_FROM = 5  # data sets over which mean ranks are tested
SAME_SCORE = 5e-4  # scores that differ by less count as equal: half of the last digit shown
PLACE = ["dataset", "at"]
CELL_FAILED = "a cell of it failed, see the notes"


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
        "rows, or where the reference is not optimal. Its ± is that of the loss: the reference has one figure. "
        "Its ranks may differ from those of the loss, as which scores count as equal is decided after the subtraction.",
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
        "Mean number of features used for a test row. Of a group that an agent acquires all features count, of a "
        "method that is no policy, such as CART, only those that it uses.",
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
    "auacc": Score(
        "AUACC",
        True,
        4,
        "Area under the curve of accuracy: the policy of the lowest price is continued past its stop and must answer "
        "after a budget of 1, 2, ... up to the largest of the suite; the mean of these accuracies. Where prices "
        "differ, or without budgets, after up to 20 equal steps to the price of everything.",
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

    A method that lacks a score in one run of a data set, since a limit stopped it, its cell failed or the score is not
    defined there, has it in none of them: its other runs would be compared with the means of more. What ``SCORES`` does
    not have, such as illegal actions, is said of the runs where it is.

    Returns
    -------
    DataFrame, columns dataset, split, method, score, at, value, error (standard error over the test rows, or NaN)
    """
    columns = ["dataset", "split", "method", "score", "at", "value", "error"]
    rows = [
        (cell.dataset, cell.split, cell.method, *(score[name] for name in ("score", "at", "value", "error")))
        for cell in cells_with(table, "scores").itertuples()
        for score in cell.scores
    ]
    scores = pd.DataFrame(rows, columns=columns).astype({"error": float})
    runs = scores.groupby(["dataset", "method", "score", "at"])["split"].transform("size")
    planned = table.groupby(["dataset", "method"]).size().rename("planned")
    whole = runs == scores.join(planned, on=["dataset", "method"])["planned"]
    scores = scores[whole | ~scores["score"].isin([*SCORES])].reset_index(drop=True)
    losses = scores[scores["score"] == "loss"]
    known = losses[losses["method"] == REFERENCE_TITLE].set_index(PLACE)["value"].rename("known")
    room = losses[losses["method"] != REFERENCE_TITLE].join(known, on=PLACE, how="inner")
    room = room.assign(score="headroom", value=room["value"] - room["known"])[columns]
    return scores if room.empty else pd.concat([scores, room], ignore_index=True)


def number_of_runs(rows: pd.DataFrame) -> int:
    """The number of runs of these cells or scores; the reference is in none."""
    return rows.loc[rows["split"] != "", "split"].nunique()


def mean_seconds(table: pd.DataFrame, keys: Sequence[str]) -> pd.Series:
    """Mean processor seconds of the training by ``keys``; NaN where a cell was stopped or failed."""
    seconds = table.assign(seconds=pd.to_numeric(table["seconds"]))
    return seconds.groupby([*keys], sort=False)["seconds"].mean(skipna=False)


def reasons_of(table: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Why a method does not have a score: (method, score) -> reason."""
    cells, failed = table[table["error"].isna()].itertuples(), table[table["error"].notna() & (table["split"] != "")]
    of_failed = {(method, score): CELL_FAILED for method in failed["method"].unique() for score in SCORES}
    return of_failed | {(cell.method, score): reason for cell in cells for score, reason in cell.reasons.items()}


def means_by_place(scores: pd.DataFrame, score: str) -> pd.DataFrame:
    """Means over the splits of a score: a row per method, a column per (data set, price or budget)."""
    own = scores[scores["score"] == score]
    means = own.groupby([*PLACE, "method"], sort=False)["value"].mean().unstack("method", sort=False)
    return means.T


def mean_ranks(means: pd.DataFrame, more_is_better: bool | None, unranked: Collection[str] = ()) -> pd.Series:
    """Mean rank of each method over the places, best first; only methods that have all of them.

    The methods ``unranked`` have no rank. Empty where more is neither better nor worse. From ``NEMENYI_FROM`` data
    sets on, methods are ranked by their means over the places of each data set, which are independent.
    """
    if more_is_better is None or means.empty:
        return pd.Series(dtype=np.float64)
    complete = means.drop(index=list(unranked), errors="ignore").dropna()
    if means.columns.nlevels > 1 and means.columns.get_level_values(0).nunique() >= NEMENYI_FROM:
        complete = complete.T.groupby(level=0, sort=False).mean().T
    rounded = on_grid(complete.T)
    return noise.mean_ranks(-rounded if more_is_better else rounded)


def on_grid(scores: Any) -> Any:
    """Scores as multiples of ``SAME_SCORE``, rounded: differences that are not shown do not count."""
    return np.round(scores / SAME_SCORE)


CODE = ("fsgym", "agents", "baselines", "fsgym_studies", "pyproject.toml")


@cache
def version_of_rows() -> str:
    """The version of fsgym, in a clone with the commit, and a + where its code differs from the commit.

    Such as "0.3.0 (3077528+)".
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / "pyproject.toml").exists():
        return __version__
    git = partial(subprocess.run, capture_output=True, text=True, check=True, timeout=10, cwd=root)
    try:
        commit = git(["git", "rev-parse", "--short=7", "HEAD"]).stdout.strip()
        changed = git(["git", "status", "--porcelain", "--untracked-files=no", "--", *CODE]).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return __version__
    return f"{__version__} ({commit}{'+' if changed else ''})"


def spreads(scores: pd.DataFrame, score: str, by: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ± of the columns of a table: a row for each method, NaN where there is none.

    Parameters
    ----------
    by : {"at", "dataset", "both", ""}, a column for each of them; "" for one column of means over all places

    Returns
    -------
    spread : DataFrame
        The standard deviation over the runs of the means over a column; of a single run the standard error over its
        test rows. Several prices, budgets and views of the same data are of the same rows: the standard error of their
        mean is at most the mean of their standard errors, which is taken.
    n_runs : DataFrame of the same form
    """
    own = scores[(scores["score"] == score) & (scores["split"] != "")]
    label = {"at": own["at"], "dataset": own["dataset"], "both": (own["dataset"] + " " + own["at"]).str.strip()}
    own = own.assign(label=label.get(by, ""))
    figures = own.groupby(["method", "label", "split"], sort=False)
    runs = figures.agg(value=("value", "mean"), error=("error", lambda errors: errors.mean(skipna=False)))
    found = runs.groupby(["method", "label"], sort=False).agg(
        std=("value", "std"), error=("error", "first"), n=("value", "size")
    )
    spread = found["std"].where(found["n"] > 1, found["error"]).unstack("label", sort=False)
    return spread, found["n"].unstack("label", sort=False)


# Whether differences are significant.

CORRECTED = "95 % with Holm's correction"


class Paired(NamedTuple):
    """The main score of the ranked methods on what is independent, in a form where less is better.

    Each method is compared with one of them: what several tests find is corrected by Holm's procedure, but not their
    intervals.
    """

    losses: pd.DataFrame  # a row for each independent unit, a column for each method
    test: Callable[..., noise.Tested]  # callable (differences) -> ``noise.Tested``
    words: str  # the test in words
    ranks: noise.RankTest | None = None  # RankTest or None, over data sets where there are enough; it then decides

    def differences(self, focus: str) -> pd.DataFrame:
        """Each method minus ``focus``, the columns ``noise.DIFFERENCE`` by method; by the intervals of ``test``."""
        return noise.rank_table(self.losses, self.losses.mean(), focus, self.test)[noise.DIFFERENCE]

    def verdicts(self, focus: str) -> pd.Series:
        """Whether each method is "higher" (worse) or "lower" than ``focus``, or within "noise", or "unknown"."""
        if self.ranks is None:
            found = self.differences(focus)
            adjusted = noise.holm(found["difference_p"].drop(index=focus)).reindex(found.index)
            return found["verdict"].mask(adjusted >= noise.SIGNIFICANCE, "noise")
        gap = self.ranks.mean_ranks - self.ranks.mean_ranks[focus]
        apart = self.ranks.differ & ~(gap.abs() < self.ranks.difference) & (gap != 0)
        return pd.Series(np.where(apart, np.where(gap > 0, "higher", "lower"), "noise"), gap.index)


def paired_scores(
    scores: pd.DataFrame, table: pd.DataFrame, score: str, runs_are: str, ranked: Collection[str]
) -> Paired:
    """The main score of the ranked methods on what is independent, with the test that fits it.

    From ``NEMENYI_FROM`` data sets on, Nemenyi's test of their mean ranks over the data sets. Otherwise, from three
    runs on, a t test of their means by run: paired for realisations, and corrected for training rows in common for
    splits of the same rows. For seeds on one division, and for fewer runs, paired t tests over test rows: of the
    means over the seeds, or of the first run.

    Parameters
    ----------
    scores : DataFrame, as ``scores_of`` returns it
    table : DataFrame, the cells
    score : str, a key of ``SCORES``, that of ``row_scores`` in the cells
    runs_are : as in ``Suite``
    ranked : titles of methods that have the score everywhere
    """
    sign = -1.0 if SCORES[score].more_is_better else 1.0
    own = scores[(scores["score"] == score) & (scores["split"] != "") & scores["method"].isin(list(ranked))]
    own = own.assign(value=sign * own["value"])
    n_sets, n_runs = own["dataset"].nunique(), own["split"].nunique()
    if n_sets >= NEMENYI_FROM:
        losses = _by_unit(own, "dataset")
        ranks = noise.rank_test(on_grid(losses) * SAME_SCORE) if losses.shape[1] > 1 else None
        return Paired(losses, noise.paired_t, f"Nemenyi's test over {n_sets} data sets, 95 %", ranks)
    if runs_are != "seeds" and n_runs >= noise.MIN_PAIRS:
        share = float(pd.to_numeric(table["test_share"]).mean()) if runs_are == "splits" else 0.0
        corrected = ", corrected for training rows in common" if runs_are == "splits" else ""
        words = f"paired t tests over {n_runs} {runs_are}{corrected}, {CORRECTED}"
        return Paired(_by_unit(own, "split"), partial(noise.paired_t, test_share=share), words)
    losses, several = _by_row(table, ranked, runs_are), runs_are == "seeds" and n_runs > 1
    if len(losses) < noise.MIN_PAIRS:
        return Paired(_by_unit(own, "split"), noise.paired_t, "")
    first = "" if several or n_runs == 1 else " of the first run"
    seeds = f", of means over {n_runs} seeds" if several else ""
    return Paired(losses, noise.paired_t, f"paired t tests over {len(losses):,} test rows{first}{seeds}, {CORRECTED}")


def _by_unit(own: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Means over prices, and over data sets or runs: a row for each unit, a column for each method."""
    return own.groupby([unit, "method"], sort=False)["value"].mean().unstack("method", sort=False)


def _by_row(table: pd.DataFrame, ranked: Collection[str], runs_are: str) -> pd.DataFrame:
    """The score of each test row and method; rows are weighted so that their mean is that of the data sets.

    Where runs are seeds on one division, data sets with as many test rows are views of the same rows, of which each
    counts once, with its mean over them.
    """
    cells = cells_with(table, "row_scores")
    cells = cells[cells["method"].isin(list(ranked))]
    if runs_are != "seeds":
        cells = cells[cells["split"] == cells["split"].min()]
    parts = []
    for _, data in cells.groupby("dataset", sort=False):
        rows = {name: np.mean([*own["row_scores"]], axis=0) for name, own in data.groupby("method", sort=False)}
        parts.append(pd.DataFrame(rows))
    if runs_are == "seeds" and len({len(part) for part in parts}) == 1:
        parts = [sum(parts[1:], parts[0]) / len(parts)]
    n_rows = sum(map(len, parts))
    weighted = [part * (n_rows / (len(parts) * len(part))) for part in parts if len(part)]
    return pd.concat(weighted, ignore_index=True) if weighted else pd.DataFrame()


def long_table(suite: str, scores: pd.DataFrame, unranked: Collection[str]) -> pd.DataFrame:
    """All scores in one table: those of each run, and their means over the runs.

    Returns
    -------
    DataFrame, columns suite, dataset, run, method, score, column, value, error, ranked, version
        ``run`` is a number from 0, or "mean"; the reference, which has no runs, has means only. ``column`` is a price
        or a budget, "" for a score without them. ``error`` is the standard error over the test rows of a run.
        ``ranked`` says whether the method takes part in the ranking, ``version`` is that of fsgym.
    """
    keys = ["dataset", "method", "score", "at"]
    means = scores.groupby(keys, sort=False)["value"].mean().reset_index().assign(split="mean")
    rows = pd.concat([scores[scores["split"] != ""], means], ignore_index=True)
    rows = rows.rename(columns={"split": "run", "at": "column"}).assign(suite=suite)
    rows["ranked"] = ~rows["method"].isin(list(unranked))
    rows["version"] = version_of_rows()
    columns = ["suite", "dataset", "run", "method", "score", "column", "value", "error", "ranked", "version"]
    return rows[columns]
