"""Summaries of a table of results: by setting, and by method at the setting for a lambda or of a number of features."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fsgym.comparison.noise import DIGITS_OF_BEST, MIN_PAIRS, paired_t, rank_table
from fsgym.comparison.protocol import PAPER_REPORTED, preferred_settings
from fsgym.methods import REFERENCES
from fsgym.metrics import FIGURE_LABELS
from fsgym.support.checks import check_choice
from fsgym.text.html import HtmlTable, html_block
from fsgym.text.messages import counted, listing

COUNTED = ("n_features", "n_acquisitions")
WITHIN = (1, 2, 3, 5, 10)  # mean numbers of features
REPORTED_FIGURES = (
    "accuracy",
    "balanced_accuracy",
    "sparsity",
    "n_features",
    "n_acquisitions",
    "spent",
    "error_cost",
    "admissible",
)
LOSS_FIGURES = [f"{name}{end}" for end in ("", "_std") for name in (*REPORTED_FIGURES, "loss")] + ["splits"]
OPTIONAL_FIGURES = ("illegal", "auc", "log_loss", "brier", "calibration_error", "loss_low", "loss_high")
DIFFERENCES = ["difference", "difference_low", "difference_high", "difference_p"]  # of ``rank_table``
DIGITS = {"n_features": 1, "spent": 2}  # after the point; other figures have three


class Summary(NamedTuple):
    """Means and standard deviations over the splits.

    Attributes
    ----------
    settings : DataFrame
        One row per (method, setting): ``params``, and ``FIGURE`` and ``FIGURE_std`` of the test parts.
    within : DataFrame
        One row per (method, k): the test figures at a setting whose mean number of features on the validation part is
        at most k, for the model fitted without these rows and for that fitted on the whole training part; NaN if a
        split has no such setting. It is the one that was trained at the lowest lam; of a method whose settings have no
        lam, the one with the best validation accuracy.
    losses : DataFrame
        One row per (method, lam): the test figures at the setting that was trained at this lam, or nearest to it; of a
        method whose settings have no lam, at the one with the smallest validation loss ``error_cost + lam * spent``.
        ``lowest`` is the method with the lowest mean loss at this lam: none that breaks rules or was trained on test
        rows, if there are others, and a reference point only without a tie. ``difference``, ``difference_low``,
        ``difference_high`` and ``difference_p`` are those of ``rank_table`` from it.
    """

    settings: pd.DataFrame
    within: pd.DataFrame
    losses: pd.DataFrame

    def __repr__(self) -> str:
        settings, n_methods = counted(len(self.settings), "setting"), self.settings["method"].nunique()
        counts = [f"{settings} of {counted(n_methods, 'method')}"]
        tables = ("within", self.within), ("losses", self.losses)
        counts += [f"{counted(len(table), 'row')} {name}" for name, table in tables]
        return f"Summary({', '.join(counts)})"

    def _repr_html_(self) -> str:
        names = ("accuracy", "n_features", "spent")
        figures = [FIGURE_LABELS[name] for name in names]

        def means(row: dict[str, Any], *names: str) -> list[str]:
            return [mean_text(row, name, DIGITS.get(name, 3)) for name in names]

        losses = ([r["method"], r["lam"], *means(r, "loss", *names)] for r in self.losses.to_dict("records"))
        within = ([r["method"], r["k"], *means(r, *names)] for r in self.within.to_dict("records"))
        return html_block(
            "Means and standard deviations on the test parts",
            "Setting trained for each lambda; without such, that with the smallest validation loss at it:",
            HtmlTable(["method", "lambda", "loss", *figures], losses, len(self.losses)),
            "Setting trained for the lowest lambda among those that use at most k features on average (acquisitions, "
            "if features are grouped); without such, that with the best validation accuracy:",
            HtmlTable(["method", "k", *figures], within, len(self.within)),
        )


def summarise(
    results: pd.DataFrame,
    within: float | Sequence[float] | None = None,
    lam: float | Sequence[float] | None = None,
    counted: str | None = None,
) -> Summary:
    """Summarise what ``compare`` returned; settings are chosen by lambda or on validation data, never on test data.

    Parameters
    ----------
    results : DataFrame
        What ``compare`` returned, or its ``results.csv`` read again.
    within : number or sequence of numbers, optional
        Upper limits k of the mean number of features; by default those given to ``compare``, otherwise 1, 2, 3, 5, 10.
    lam : float or sequence of float, optional
        Values of lambda at which the loss is reported; by default those of ``compare``. A file does not say which these
        were: of results that were read again, all values at which a method was trained.
    counted : {"n_features", "n_acquisitions"}, optional
        What ``within`` counts; by default as in ``compare``, otherwise features.

    Returns
    -------
    Summary

    Notes
    -----
    Only settings that respect the rules on every validation row are eligible. Whether the chosen one respects them on
    the test part too is shown by ``admissible``. A reference point without such a setting has a loss all the same.
    Of equally good settings, those of the fewest features are preferred, then those that lose the fewest when they are
    fitted again, then the first.

    Examples
    --------
    >>> import fsgym
    >>> results = fsgym.compare("wine", ["cart"], splits=2, references=False)
    >>> fsgym.summarise(results, within=[3]).within[["method", "k"]].values.tolist()
    [['cart', 3]]
    """
    refuse_several(results)
    counted = counted_in(results) if counted is None else counted
    check_choice(counted, "counted", *COUNTED)
    within = results.attrs.get("within", WITHIN) if within is None else within
    lam = reported_lambdas(results) if lam is None else lam
    succeeded = results[results["error"].isna()]
    limits, by_lam = [], []
    ks, prices = np.atleast_1d(within).tolist(), np.atleast_1d(lam).tolist()
    for name, rows in results.groupby("method", sort=False):
        allowed = rows[rows["error"].isna() & (rows["validation_admissible"] == 1.0)]
        for k in ks:
            few = nearest_settings(allowed[expected_use(allowed, counted) <= k + 1e-9], 0.0)
            chosen = best_per_split(few, -few["validation_accuracy"], counted)
            limits.append({"method": name, "k": k, **mean_figures(chosen, rows["split"].nunique())})
    for price in prices:
        choices = choices_at(results, price, counted)
        known = [choice for choice in choices if not np.isnan(choice.figures["loss"])]
        lowest = lowest_of(known) or lowest_of(choice._replace(flag="") for choice in known)
        differences = {} if lowest is None else differences_from(lowest, known)[DIFFERENCES].to_dict("index")
        by_lam.append(
            [
                {"method": c.method, "lam": price, **{name: c.figures[name] for name in LOSS_FIGURES}}
                | {"lowest": lowest and lowest.method, **differences.get(c.method, {})}
                for c in choices
            ]
        )
    losses = [row for rows in zip(*by_lam, strict=True) for row in rows]  # method by method
    return Summary(means_over_splits(succeeded), pd.DataFrame(limits), pd.DataFrame(losses))


def refuse_several(results: pd.DataFrame) -> None:
    """ValueError where ``results`` are of several data sets."""
    names = results["dataset"].unique() if "dataset" in results else ()
    if len(names) > 1:
        raise ValueError(f"results must hold one data set, got {listing(names, 4)}; select the rows of one of them")


class Choice(NamedTuple):
    """A method at the settings that are chosen for one lambda, as in ``fsgym.comparison.ranking.RankedMethod``."""

    method: str
    chosen: pd.DataFrame
    figures: dict[str, Any]
    flag: str
    settings_left_out: int


def choices_at(results: pd.DataFrame, lam: float, counted: str) -> list[Choice]:
    """Each method at the settings of ``chosen_at`` that respect the rules on every validation row.

    A reference point that has no such setting is shown all the same, with a flag.
    """
    choices = []
    for method, rows in results.groupby("method", sort=False):
        succeeded = rows[rows["error"].isna()]
        allowed = succeeded[succeeded["validation_admissible"] == 1.0]
        chosen = chosen_at(succeeded if allowed.empty and method in REFERENCES else allowed, lam, counted)
        optional = [name for name in OPTIONAL_FIGURES if name in chosen]
        figures = mean_figures(chosen, rows["split"].nunique(), "acquisition_cost", "loss", *optional)
        broken = int(succeeded[succeeded["validation_admissible"] < 1.0]["setting"].nunique())
        without = rows[~rows["split"].isin(chosen["split"])]
        choices.append(Choice(str(method), chosen, figures, _reason_against(figures, chosen, without), broken))
    return choices


def lowest_of(methods: Iterable[Any]) -> Any | None:
    """The method of the lowest loss among those without a flag; a reference point only without a tie."""
    eligible = (m for m in methods if not m.flag)
    return min(eligible, key=lambda m: (round(m.figures["loss"], DIGITS_OF_BEST), m.method in REFERENCES), default=None)


def _reason_against(figures: Mapping[str, float], chosen: pd.DataFrame, without: pd.DataFrame) -> str:
    """Why a method is never the best: it has no figures, breaks rules, or was trained on test rows.

    ``without`` are its rows in the splits in which nothing could be chosen.
    """
    if np.isnan(figures["loss"]):
        failed = without["error"].notna()
        if failed.all():
            return "fits failed"
        return f"every setting breaks the rules{' or failed' if failed.any() else ''}"
    if figures["admissible"] < 1:
        return f"breaks the rules on {percentage(1 - figures['admissible'])} of the test rows"
    return seen_in_words(chosen)


def seen_in_words(chosen: pd.DataFrame) -> str:
    """What is known about the training rows of a policy that was trained before; "" if it saw no test row."""
    if "seen" not in chosen:
        return ""
    seen = chosen["seen"].astype(float)
    if seen.isna().any():
        return "training rows unknown"
    return f"trained on {percentage(seen.mean())} of the test rows" if seen.mean() > 0 else ""


def percentage(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def counted_in(results: pd.DataFrame) -> str:
    """What the number of uses counts: "n_acquisitions" where features are grouped, else "n_features"."""
    return results.attrs.get("counted", "n_features")


def reported_lambdas(results: pd.DataFrame) -> tuple[float, ...]:
    """The values of lambda that ``compare`` reports, that of the column ``price`` first.

    Of results that were read again, all those of ``lambdas_of``, as a file does not say which were reported.
    """
    if reported := results.attrs.get("reported"):
        return tuple(reported)
    first = results["price"].dropna().unique()[:1].tolist() if "price" in results else []
    return tuple(dict.fromkeys([*first, *lambdas_of(results)]))


def lambdas_of(results: pd.DataFrame) -> tuple[float, ...]:
    """The values of lambda at which methods were trained and losses computed, by the results alone, ascending."""
    known = with_lam(results).reindex(columns=["lam", "price"])
    return tuple(sorted({*known["lam"].dropna().tolist(), *known["price"].dropna().tolist()})) or PAPER_REPORTED


def with_lam(settings: pd.DataFrame) -> pd.DataFrame:
    """The settings with a column ``lam``, from their ``params``; NaN where a setting has none."""
    return settings.assign(lam=_lams(settings))


def _lams(settings: pd.DataFrame) -> pd.Series:
    lam = [json.loads(p).get("lam", np.nan) for p in settings["params"]]
    return pd.to_numeric(pd.Series(lam, index=settings.index, dtype=object), errors="coerce")


def expected_use(rows: pd.DataFrame, figure: str) -> pd.Series:
    """The mean price paid or number of features used that is expected of the model fitted on the whole training part.

    The larger one of the mean on the validation rows and, if the results have it, that of this model itself on the same
    rows, which needs no labels: at one setting, a method may select another feature from more rows.
    """
    held_out = rows[f"validation_{figure}"]
    return np.fmax(held_out, rows[f"refit_{figure}"]) if f"refit_{figure}" in rows else held_out


def nearest_settings(rows: pd.DataFrame, lam: float) -> pd.DataFrame:
    """The settings of each split that were trained nearest to this ``lam``, as a ratio; all where none has one."""
    trained = _lams(rows).clip(lower=np.finfo(float).tiny)
    distance = np.log(trained / max(lam, np.finfo(float).tiny)).abs().fillna(np.inf).round(9).to_numpy()
    splits, split_of = np.unique(rows["split"], return_inverse=True)
    least = np.full(len(splits), np.inf)
    np.minimum.at(least, split_of, distance)
    return rows[distance == least[split_of]]


def chosen_at(rows: pd.DataFrame, lam: float, counted: str) -> pd.DataFrame:
    """The setting of each split that was trained nearest to this ``lam``, as a ratio.

    Of settings without a ``lam``, and of equally near ones, that of the lowest loss on the validation part, with this
    ``lam`` and the prices that are expected. Where a method is trained for the exchange rate, the luckiest of all its
    exchange rates on few validation rows is a worse choice. ``acquisition_cost`` and ``loss``, on the test part, are
    those at ``lam``; the interval of the loss is there only where the results have it at ``lam``.
    """
    rows = nearest_settings(rows, lam)
    chosen = best_per_split(rows, rows["validation_error_cost"] + lam * expected_use(rows, "spent"), counted)
    paid = lam * chosen["spent"]
    chosen = chosen.assign(acquisition_cost=paid, loss=chosen["error_cost"] + paid)
    of_others = ["loss_low", "loss_high"] if np.any(chosen.get("price", lam) != lam) else []
    return chosen.drop(columns=of_others, errors="ignore")


def differences_from(best: Choice, choices: Sequence[Choice]) -> pd.DataFrame:
    """``rank_table`` of methods, each with a loss in every split, against one of them."""
    share = float((best.chosen["n_test"] / best.chosen["n_train"]).mean()) if len(best.chosen) >= MIN_PAIRS else 0.0
    low, high = (
        pd.Series({one.method: one.figures.get(end, np.nan) for one in choices}) for end in ("loss_low", "loss_high")
    )
    losses = pd.DataFrame({one.method: one.chosen.set_index("split")["loss"] for one in choices})
    means = pd.Series({one.method: one.figures["loss"] for one in choices})
    return rank_table(losses, means, best.method, partial(paired_t, test_share=share), high - low)


def mean_figures(chosen: pd.DataFrame, n_splits: int, *more: str) -> dict[str, float]:
    """Means and standard deviations of the test figures, and of ``more``; NaN unless every split has a setting."""
    table = chosen[[*REPORTED_FIGURES, *more]].astype(float)
    table = table if len(table) >= n_splits else table[:0]
    means, stds = table.mean(skipna=False), table.std(ddof=0, skipna=False)
    return {**means.to_dict(), **stds.add_suffix("_std").to_dict(), "splits": n_splits}


def means_over_splits(
    succeeded: pd.DataFrame, figures: Sequence[str] = REPORTED_FIGURES, keys: Sequence[str] = ("method", "setting")
) -> pd.DataFrame:
    """``means_with_stds`` with the ``params`` of the setting and the number of ``splits``; the keys are columns."""
    grouped = succeeded.groupby(list(keys), sort=False)
    table = means_with_stds(succeeded, keys, figures)
    table.insert(0, "params", grouped["params"].first())
    table["splits"] = grouped["split"].nunique()
    return table.reset_index()


def fitted_in_all(settings: pd.DataFrame, n_splits: int) -> tuple[pd.DataFrame, str]:
    """Those of ``means_over_splits`` that are means over all splits, and a sentence if others are left out."""
    whole = settings["splits"] == n_splits
    return settings[whole], "" if whole.all() else " Settings whose fit failed in some split are left out."


def means_with_stds(cells: pd.DataFrame, keys: Sequence[str], figures: Sequence[str]) -> pd.DataFrame:
    """Means, and standard deviations (divisor n) as ``FIGURE_std``, of figures; a row for each value of the keys."""
    grouped = cells.groupby(list(keys), sort=False)[list(figures)]
    return grouped.mean().join(grouped.std(ddof=0).add_suffix("_std"))


def best_per_split(rows: pd.DataFrame, criterion: pd.Series, counted: str = "n_features") -> pd.DataFrame:
    """The first of ``preferred_settings`` by the smallest criterion in each split."""
    used = rows[f"validation_{counted}"]
    by_setting = np.argsort(rows["setting"].to_numpy(), kind="stable")
    keys = [key.to_numpy(float)[by_setting] for key in (criterion, used, rows.get(f"refit_{counted}", used))]
    ranked = rows.iloc[by_setting[preferred_settings(*keys)]]
    return ranked.drop_duplicates("split").sort_values("split", kind="stable")


def mean_text(row: dict[str, Any], name: str, digits: int = 3, short: bool = False) -> str:
    """A mean with its standard deviation: ``0.954 ± 0.010``, ``0.954±.010`` where ``short``, or a dash for NaN.

    The mean alone if ``row["splits"]`` is 1.
    """
    mean, std = row[name], row[f"{name}_std"]
    if pd.isna(mean):
        return "–"
    text, spread = f"{mean:.{digits}f}", f"{std:.{digits}f}"
    if row.get("splits") == 1:
        return text
    return f"{text}±{spread}".replace("±0.", "±.") if short else f"{text} ± {spread}"


def settings_text(params: str) -> str:
    """The parameters of a setting as a short text: ``lam 0.01``."""
    values = json.loads(params)
    if "max_features" in values and not values.get("alpha"):  # of a lasso path that only max_features ends
        values.pop("alpha", None)
    words = [f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in values.items()]
    return ", ".join(words) or "as given"
