"""What a table of results says: figures by setting, and what each method reaches when its setting is chosen blind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fsgym.comparison.protocol import PAPER_REPORTED

WITHIN = (1, 2, 3, 5, 10)
TOLD = (
    "accuracy",
    "balanced_accuracy",
    "sparsity",
    "n_features",
    "n_acquisitions",
    "spent",
    "error_cost",
    "admissible",
)


class Summary(NamedTuple):
    """Means and standard deviations over the splits.

    Attributes
    ----------
    settings : DataFrame, one row a (method, setting): ``params``, ``FIGURE`` and ``FIGURE_std`` of the test parts
    within : DataFrame, one row a (method, k): the test figures at the setting of best validation accuracy among
        those whose mean number of features on the validation part is at most k; NaN where a split has none
    losses : DataFrame, one row a (method, lam): the test figures at the setting of least validation loss
        ``error_cost + lam * spent``
    """

    settings: pd.DataFrame
    within: pd.DataFrame
    losses: pd.DataFrame


def summarise(
    results: pd.DataFrame,
    within: Sequence[float] | None = None,
    lam: Sequence[float] | None = None,
    counted: str | None = None,
) -> Summary:
    """Summarise what ``compare`` returned; settings are chosen on validation figures, never on the test data.

    Parameters
    ----------
    results : DataFrame of ``compare``, or its ``results.csv`` read again
    within : numbers of features, by default those that ``compare`` was given, else 1, 2, 3, 5, 10
    lam : prices at which the loss is reported, by default those of ``compare``, else .01, .05, .1
    counted : {"n_features", "n_acquisitions"}, what ``within`` counts

    Notes
    -----
    Only settings that the rules allow for every validation row are chosen from. Whether a choice then keeps to
    the rules on the test part too is told by ``admissible``.

    Examples
    --------
    >>> import fsgym
    >>> results = fsgym.compare("wine", ["cart"], splits=2)
    >>> fsgym.summarise(results, within=[3]).within[["method", "k"]].values.tolist()
    [['cart', 3]]
    """
    counted = counted or results.attrs.get("counted", "n_features")
    within = results.attrs.get("within", WITHIN) if within is None else within
    lam = results.attrs.get("reported", PAPER_REPORTED) if lam is None else lam
    done = results[results["error"].isna()]
    limits, losses = [], []
    for name, rows in results.groupby("method", sort=False):
        allowed = rows[rows["error"].isna() & (rows["validation_admissible"] == 1.0)]
        n_splits = rows["split"].nunique()
        for k in within:
            few = allowed[allowed[f"validation_{counted}"] <= k + 1e-9]
            chosen = choose(few, -few["validation_accuracy"], counted)
            limits.append({"method": name, "k": k, **_told(chosen, n_splits)})
        for price in lam:
            chosen = choose(allowed, validation_loss(allowed, price), counted)
            chosen = chosen.assign(loss=chosen["error_cost"] + price * chosen["spent"])
            losses.append({"method": name, "lam": price, **_told(chosen, n_splits, "loss")})
    return Summary(_by_setting(done), pd.DataFrame(limits), pd.DataFrame(losses))


def best_in_words(summary: Summary, titles: Mapping[str, str], counted: str = "n_features") -> str:
    """One or two sentences: which method has the least loss at the first price reported, and which comes next.

    Only methods that keep to the rules on every test row are considered. Empty where no method has a figure.

    Parameters
    ----------
    summary : Summary
    titles : mapping method -> what to call it
    counted : {"n_features", "n_acquisitions"}, the figure to report
    """
    losses = summary.losses
    if losses.empty:
        return ""
    lam = losses["lam"].iloc[0]
    rows = losses[(losses["lam"] == lam) & losses["loss"].notna() & (losses["admissible"] == 1.0)]
    ranked = rows.sort_values("loss", kind="stable").to_dict("records")
    if not ranked:
        return ""
    unit = "features" if counted == "n_features" else "groups"

    def figures(row: dict[str, Any]) -> str:
        return f"{row['accuracy']:.1%} correct with {row[counted]:.1f} {unit} on average (loss {row['loss']:.3f})"

    first = f"At lambda {lam:.3g}, {titles[ranked[0]['method']]} loses least: {figures(ranked[0])}."
    if len(ranked) == 1:
        return first
    return f"{first} Next is {titles[ranked[1]['method']]}: {figures(ranked[1])}."


def validation_loss(rows: pd.DataFrame, lam: float) -> pd.Series:
    """The loss on the validation part where one unit of costs has the price ``lam``."""
    return rows["validation_error_cost"] + lam * rows["validation_spent"]


def _told(chosen: pd.DataFrame, n_splits: int, *more: str) -> dict[str, float]:
    """Means and deviations of the test figures; NaN unless every split has a choice."""
    columns = [*TOLD, *more]
    if len(chosen) < n_splits:
        return dict.fromkeys([*columns, *(f"{c}_std" for c in columns)], np.nan)
    means, stds = chosen[columns].mean(), chosen[columns].std(ddof=0)
    return {**means.to_dict(), **stds.add_suffix("_std").to_dict()}


def _by_setting(done: pd.DataFrame) -> pd.DataFrame:
    grouped = done.groupby(["method", "setting"], sort=False)
    means, stds = grouped[list(TOLD)].mean(), grouped[list(TOLD)].std(ddof=0)
    table = means.join(stds.add_suffix("_std"))
    table.insert(0, "params", grouped["params"].first())
    table["splits"] = grouped["split"].nunique()
    return table.reset_index()


def choose(rows: pd.DataFrame, badness: pd.Series, counted: str = "n_features") -> pd.DataFrame:
    """The best row of each split; among equals the one with the fewest features, then the first setting."""
    ranked = rows.assign(_badness=badness.round(12)).sort_values(
        ["split", "_badness", f"validation_{counted}", "setting"], kind="stable"
    )
    return ranked.drop_duplicates("split").drop(columns="_badness")


def mean_text(row: dict[str, Any], name: str, digits: int = 3, short: bool = False) -> str:
    """``0.954 ± 0.010``, shorter ``0.954±.010``, or a dash."""
    mean, std = row[name], row[f"{name}_std"]
    if pd.isna(mean):
        return "–"
    if short:
        return f"{mean:.{digits}f}±{std:.{digits}f}".replace("±0.", "±.")
    return f"{mean:.{digits}f} ± {std:.{digits}f}"


def settings_text(params: str) -> str:
    """The parameters of a setting, short: ``lam 0.01``."""
    values = json.loads(params)
    if "max_features" in values and not values.get("alpha"):  # the lasso path runs to its end but for the limit
        values.pop("alpha", None)
    told = [f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in values.items()]
    return ", ".join(told) or "as given"
