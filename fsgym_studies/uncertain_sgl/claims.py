"""Claims of Xie and Xu (2013) on uncertain data, assessed on the cells of the study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fsgym_studies.common.claims import DASH, NOT_KNOWN, AssessedClaim, Claim, Near, assess, not_run
from fsgym_studies.common.difference import Difference, paired_difference
from fsgym_studies.uncertain_sgl import printed
from fsgym_studies.uncertain_sgl.tables import (
    FOLD_KINDS,
    IN_FILE_ORDER,
    accuracies_by_folds,
    cells_of_kind,
    grid_accuracies,
    setting_results,
    unselected_accuracies,
)

# Criteria of agreement with the printed numbers; our choice.
FNUM_MARGIN = 0.2  # deviation of FNum, as a share of the printed one
RATIO_MARGIN = 0.1  # deviation of a ratio
MIN_DATASETS = 5  # of the nine data sets
COMPARABLE_POINTS = 1.0  # points of accuracy
DEVIATION_POINTS = 0.5  # points by which a standard deviation may differ from the printed one
WITHIN_GROUPS_MARGIN = 0.1  # of the share of non-zero weights within selected groups
RATIO_ROUNDING = 5e-4  # printed ratios have four digits, of which the fourth is sometimes wrong
FEWER_STEPS = 20  # accelerated steps of the check whether the paper's solver stopped early
TABLE_NAMES = {"gaussian": "Table 3", "uniform": "Table 5"}
TABLE_NUMBERS = {"gaussian": "2", "uniform": "4"}
FOLD_FIGURES = {"accuracy": ("mean accuracy", COMPARABLE_POINTS), "std": ("standard deviation", DEVIATION_POINTS)}
ALL_SELECTED = ("German", "Heart", "Iono", "WDBC")  # their best setting selects everything, in section 4
N_SETTINGS = len(printed.PRINTED_COLUMNS) * len(printed.DATASET_SIZES)
WAYS = {
    "best": "best setting of the grid on the test folds, as in the paper",
    "nested": "settings chosen on inner folds",
}
MEAN_ACCURACIES = (  # two selections, and how many points the first may be below the second; otherwise it is above
    (
        "Uncertain data are classified better than raw data ({}; by more than two standard errors over the nine data "
        "sets, for both kinds of noise)",
        ("all sub-features", "raw"),
        None,
    ),
    (
        "An SVM on the best selection (FS) is more accurate than one on all sub-features ({}; as above)",
        ("FS", "all sub-features"),
        None,
    ),
    (
        "An SVM on FS (ratio < 0.9) is about as accurate as one on all sub-features ({}; at most "
        f"{COMPARABLE_POINTS:g} point above or below, means over the data sets)",
        ("FS (ratio < 0.9)", "all sub-features"),
        COMPARABLE_POINTS,
    ),
)


# The best of more settings on the test folds is the better one whatever the results, and no claim; the paper's sentence
# is judged by settings that are chosen on inner folds.
BEST_OF_MORE = ("best", MEAN_ACCURACIES[1][1])


def agrees(fnum: pd.Series, paper: pd.Series) -> pd.Series:
    """Whether numbers of features are near the printed ones."""
    return (fnum - paper).abs() <= FNUM_MARGIN * paper


def fnum_claim(noise: str) -> Claim:
    """Whether 100 steps select about as many features as printed in the columns with ratio < 0.9."""
    return Claim(
        f"{TABLE_NAMES[noise]} ({noise} noise), FS (ratio < 0.9): number of selected features (FNum) after 100 "
        f"accelerated steps from zero (within {FNUM_MARGIN:.0%} of the printed number on at least {MIN_DATASETS} of 9 "
        "data sets; ours: printed number in parentheses)",
        TABLE_NAMES[noise],
        f"FNum, {noise}",
        lambda near: near.sum() >= MIN_DATASETS if len(near) == len(printed.DATASET_SIZES) else None,
        lambda near: (
            f"{near.sum()} of 9: {', '.join(near.index[near]) or 'none'}; outside: "
            f"{', '.join(near.index[~near]) or 'none'}"
        ),
    )


def fold_claim(noise: str, figure: str) -> Claim:
    """Whether accuracies, or their standard deviations over folds in file order, are near the printed ones."""
    table = "Tables 2 and 4, raw data" if noise == "raw" else f"Table {TABLE_NUMBERS[noise]}, {noise} noise"
    word, margin = FOLD_FIGURES[figure]
    return Claim(
        f"{table} without a selection: {word} over ten folds (stratified, in the order of the file; "
        f"within {margin:g} points of the printed one on at least {MIN_DATASETS} of 9 data sets)",
        table.partition(",")[0],
        lambda figures: near_folds(figures["folds"], noise, figure, margin),
        lambda near, others: near.sum() >= MIN_DATASETS if len(near) == len(printed.DATASET_SIZES) else None,
        lambda near, others: (
            f"{near.sum()} of 9: {', '.join(near.index[near]) or 'none'}; outside: "
            f"{', '.join(near.index[~near]) or 'none'}"
        ),
        lambda figures: folds_cause(figures["folds"], noise, figure, margin),
        table,
    )


def near_folds(found: pd.DataFrame, noise: str, figure: str, margin: float) -> tuple[pd.Series, dict[str, int]] | None:
    """Whether a figure of folds in file order is near the printed one, by data set, and on how many in other orders."""
    if (IN_FILE_ORDER, noise) not in found.index.droplevel("dataset"):
        return None
    near = (found[figure] - found[f"printed_{figure}"]).abs() <= margin
    levels = ("method", "distribution")
    own = found.xs((IN_FILE_ORDER, noise), level=levels)
    texts = [f"{d} {r[figure]:.2f} ({r[f'printed_{figure}']:.2f})" for d, r in own.iterrows()]
    of_noise = near[near.index.get_level_values("distribution") == noise].groupby("method", sort=False).sum()
    others = {title: int(of_noise[kind]) for kind, title in FOLD_KINDS.items() if kind in of_noise.index}
    return near.xs((IN_FILE_ORDER, noise), level=levels).set_axis(texts), others


def folds_cause(found: pd.DataFrame, noise: str, figure: str, margin: float) -> str:
    """On how many data sets a figure is near the printed one in each order of the rows."""
    by_noise = {n: near_folds(found, n, figure, margin) for n in ("raw", *TABLE_NAMES)}
    counts = {n: near[1] for n, near in by_noise.items() if near}
    listed = ", ".join(f"{count} of 9 with folds {title}" for title, count in counts.get(noise, {}).items())
    met = [title for title, count in counts.get(noise, {}).items() if count >= MIN_DATASETS]
    everywhere = [title for title in met if all(of.get(title, 0) >= MIN_DATASETS for of in counts.values())]
    alone = f"; folds {' and '.join(met)} meet the criterion here, and not in each of the tables" if met else ""
    what = "no order of the rows" if noise == "raw" else "neither an order of the rows nor its draws"
    text = f"the paper prints {what}; within the margin are {listed}"
    if everywhere:
        return f"protocol: {text}; folds {' and '.join(everywhere)} meet the criterion in each of the tables"
    return f"{NOT_KNOWN}: {text}{alone}"


def mean_accuracy_claim(way: str, text: str, pair: tuple[str, str], margin: float | None) -> Claim:
    """A row of ``MEAN_ACCURACIES`` for both kinds of noise, with settings chosen in one of the ``WAYS``."""

    def is_met(lead: Difference) -> bool | None:
        return lead.better if margin is None else abs(lead.mean) <= margin

    def listed(leads: Mapping[str, Difference]) -> str:
        return "; ".join(f"{n} {p.first:.2f} against {p.second:.2f} ({p.with_error(2)})" for n, p in leads.items())

    means = {noise: [mean_printed(noise, name) for name in pair] for noise in TABLE_NAMES}
    nested = way == "nested" and ("best", pair) != BEST_OF_MORE  # is ours
    return Claim(
        text.format(WAYS[way]),
        "" if nested else "; ".join(f"{noise} {m[0]:.2f} against {m[1]:.2f}" for noise, m in means.items()),
        lambda figures: selections_compared(figures, way, pair),
        lambda leads: all(map(is_met, leads.values())),
        listed,
        partial(choice_cause, way, pair),
    )


def selections_compared(figures: Mapping[str, Any], way: str, pair: tuple[str, str]) -> dict[str, Difference] | None:
    """Two selections compared over the data sets, for both kinds of noise."""
    accuracies = figures.get(f"accuracies by data set, {way}")
    if accuracies is None or accuracies[[*pair]].isna().any(axis=None):
        return None
    return {n: paired_difference(accuracies.loc[n, pair[0]], accuracies.loc[n, pair[1]]) for n in TABLE_NAMES}


def choice_cause(way: str, pair: tuple[str, str], figures: Mapping[str, Any]) -> str:
    """How much the choice of a setting on the test folds adds to both selections of a claim."""
    best, nested, median, counts = (figures[f"accuracies, {name}"] for name in ("best", "nested", "median", "settings"))
    parts = []
    for noise in TABLE_NAMES:
        means = ((name, of[noise]) for name, of in (("best", best), ("nested", nested), ("median", median)))
        differences = ((name, m[pair[0]] - m[pair[1]]) for name, m in means)
        leads = (f"{DASH if math.isnan(lead) else f'{lead:+.2f}'} ({name})" for name, lead in differences)
        parts.append(f"{noise} {', '.join(leads)}")
    more = figures.get("more amplitudes") if pair[1] == "raw" else None
    further = (
        ""
        if more is None
        else f"; with the best of all {more[0]} amplitudes at s = {min(printed.DRAWS_PER_VALUE)}, {more[1]}"
    )
    without = counts.get(pair[1], counts[pair[0]])
    also = "" if without == counts[pair[0]] else f" and {without} without a selection"
    paper = ", ".join(f"{mean_printed(n, pair[0]) - mean_printed(n, pair[1]):+.2f}" for n in TABLE_NAMES)
    if way == "nested":
        further += f"; nested, by data set, {'; '.join(weight_text(figures, pair, noise) for noise in TABLE_NAMES)}"
    settings = "40 pairs (w, s)" if pair == ("all sub-features", "raw") else "480 settings"
    counted = way == "best" or ("best", pair) == BEST_OF_MORE
    own = f"{NOT_KNOWN}: " if counted else ""
    if way == "nested" and counted:
        gains = (np.mean([best[n][name] - nested[n][name] for n in TABLE_NAMES]) for name in pair)
        added = " and ".join(f"{gain:.2f} points to {name}" for gain, name in zip(gains, pair, strict=True))
        own += (
            "nesting is ours, since the best of so many more settings is above the best of fewer almost by "
            f"construction (the choice on the test folds adds {added}); "
        )
    elif way == "nested":
        own += "nesting is ours; "
    return (
        f"{own}the paper prints the best of up to {settings}, and names no other rows for choosing them than "
        f"the test folds; the difference ({paper} in the paper) is, by the setting of the grid that is best on the "
        f"test folds, chosen on inner folds, and the median one, {'; '.join(parts)}, where the grid of this run has "
        f"{counts[pair[0]]} settings{also}{further}; all with one partition into folds, which the paper does not "
        "print; what is left is not separated"
    )


def weight_text(figures: Mapping[str, Any], pair: tuple[str, str], noise: str) -> str:
    """The mean nested difference with its standard error over the data sets, and the data set where it is largest."""
    accuracies = figures["accuracies by data set, nested"].loc[noise]
    leads = accuracies[pair[0]] - accuracies[pair[1]]
    most = leads.abs().idxmax()
    return (
        f"{noise} {leads.mean():+.2f} ± {leads.sem():.2f}, {leads[most]:+.2f} on {most} and "
        f"{leads.drop(most).mean():+.2f} on the other {len(leads) - 1}"
    )


def mean_printed(noise: str, selection: str) -> float:
    """Mean printed accuracy over the data sets, of a selection or on raw data."""
    rows = printed.PRINTED_RAW if selection == "raw" else printed.PRINTED[noise, selection]
    return float(np.mean([p.accuracy for p in rows.values()]))


def ratios_above_rank() -> tuple[list[str], int]:
    """Printed LASSO settings whose ratio exceeds that of any LASSO solution, and the number of LASSO settings."""
    rows = printed.PRINTED_ROWS[printed.PRINTED_ROWS["lam2"] == 0]
    rows = rows[~rows.duplicated([c for c in rows if c != "column"], keep="last")]  # some are printed in both columns
    exceeding = [
        f"{r.dataset} {r.noise} {r.ratio:.3f} (at most {limit:.3f})"
        for r in rows.itertuples()
        if r.ratio > (limit := printed.max_lasso_ratio(r.dataset, r.s))
    ]
    return exceeding, len(rows)


def steps_text(results: pd.DataFrame) -> str:
    """What speaks for and against 100 steps, on our draws."""
    results = results.drop_duplicates(["distribution", "dataset", "w", "s", "lam1", "lam2"])  # printed in both columns
    early = (results["early_ratio"] - results["printed_ratio"]).abs() <= RATIO_MARGIN
    lasso, partial_ratio = results["lam2"] == 0, results["printed_ratio"] < 0.99
    return (
        "The paper used SLEP, whose example scripts run 100 steps from zero. The number of steps is not settled: after "
        f"100 the ratio is within {RATIO_MARGIN:g} of the printed one in {(early & lasso).sum()} of our {lasso.sum()} "
        f"LASSO settings, and without the {(~partial_ratio).sum()} printed ratios of .99 or more "
        f"{n_agreeing(results[partial_ratio], 'early')} of {partial_ratio.sum()} settings agree after 100 steps"
    )


def solution_cause(figures: Mapping[str, Any]) -> str:
    """What speaks for steps that were not enough: our draws on our scale, and the printed numbers on any scale."""
    n_exact, n_early, n = figures["agreeing"]
    exceeding, n_lasso = ratios_above_rank()
    return (
        "paper: it prints neither a scale of features nor a stopping rule; on our scale, which is inferred from its "
        f"tables as the 100 steps are, the same draws give {n_early} of {n} printed settings after 100 steps and "
        f"{n_exact} at the minimum. On any scale {len(exceeding)} of its {n_lasso} LASSO settings are not possible for "
        "a solution on random draws, so that its weights are probably those of an unfinished run. "
        f"{steps_text(figures['possible ratios'])}"
    )


CLAIMS = (
    *(fold_claim(noise, figure) for noise in ("raw", *TABLE_NAMES) for figure in FOLD_FIGURES),
    *map(fnum_claim, TABLE_NAMES),
    Claim(
        f"The weights of the paper are the solution of eq. 7 (at its minimum FNum is within {FNUM_MARGIN:.0%} and "
        f"the ratio within {RATIO_MARGIN:g} of the printed ones for at least half of the printed settings)",
        "Tables 3 and 5",
        "agreeing",
        lambda n_exact, n_early, n: n_exact >= N_SETTINGS / 2 if n == N_SETTINGS else None,
        "{0} of {2} at the minimum, {1} of {2} after 100 steps",
        solution_cause,
    ),
    Claim(
        "Where lambda2 is 0, the printed ratios are possible for LASSO solutions (at most as many selected "
        "sub-features as training rows, since on random draws the solution is unique; assessed on the printed numbers "
        "alone)",
        "",
        "above rank",
        lambda exceeding, n, known: not exceeding if known else None,
        lambda exceeding, n, known: f"{len(exceeding)} of {n} are not possible: {'; '.join(exceeding)}",
        "computed from its printed numbers, without any run of ours; for draws that are random numbers it holds "
        "on any scale of the features",
    ),
    Claim(
        "The printed ratios are possible at a minimum of eq. 7 on our draws (none exceeds our upper bound, which is "
        "the share of sub-features whose weight we cannot prove to be 0 at every minimum, in the fold where this share "
        "is largest)",
        "",
        "possible ratios",
        lambda results: not len(beyond_bound(results)) if len(results) == N_SETTINGS else None,
        lambda results: possible_text(results),
        lambda figures: unfinished_cause(figures["possible ratios"]),
    ),
    Claim(
        "German, Heart, Iono and WDBC, gaussian noise: all sub-features are selected at lambda1 = lambda2 = 10 (ratio "
        "at least .999 after 100 steps)",
        "ratio 1",
        "all selected",
        lambda early, exact: (early >= 0.999).all() if len(early) == len(ALL_SELECTED) else None,
        lambda early, exact: f"ratios {ratios_text(early)}; at the minimum {ratios_text(exact)}",
    ),
    *(
        mean_accuracy_claim(way, text, pair, margin)
        for way in WAYS
        for text, pair, margin in MEAN_ACCURACIES
        if (way, pair) != BEST_OF_MORE
    ),
    Claim(
        "Sonar: a large lambda1 makes the weights sparse within groups, a large lambda2 does not (share of non-zero "
        f"weights within the selected groups after 100 steps: at (1000, 0) at least {WITHIN_GROUPS_MARGIN:g} below "
        "that at (0, 1000), which is 1)",
        "Fig. 4",
        "within groups",
        lambda lasso, group_lasso, *_: lasso <= group_lasso - WITHIN_GROUPS_MARGIN and group_lasso == 1.0,
        "{:.2f}, {:.2f}; at the minimum {:.2f}, {:.2f}",
    ),
    Claim(
        "Sonar: as the larger of the two penalties decreases, fewer weights are zero (mean share of zeros after 100 "
        "steps never rises)",
        "Figs. 4 and 5",
        "zeros",
        lambda means: means.is_monotonic_decreasing and means.iloc[0] > means.iloc[-1],
        lambda means: f"larger penalty {', '.join(f'{top:g}: {mean:.3f}' for top, mean in means.items())}",
    ),
    Claim(
        "With a ratio below .9, accuracy is comparable with 69.57 % of the features (mean ratio after 100 steps at the "
        "settings printed for FS (ratio < 0.9) in Table 3, within 5 points)",
        "69.57",
        "mean ratio",
        Near(69.57, 5.0),
        "{:.2f}",
        f"{NOT_KNOWN}: the ratio hangs on the number of steps and on the scale of the features, which are not printed",
    ),
    not_run("Section 4: the penalties of FS (ratio < 0.9) are larger than those of FS", "larger"),
)


def claims(table: pd.DataFrame) -> list[AssessedClaim]:
    results = setting_results(table)
    figures = {**setting_figures(results), **accuracy_figures(table), **weight_figures(table)}
    return assess(CLAIMS, {**figures, "folds": accuracies_by_folds(table)})


def setting_figures(results: pd.DataFrame) -> dict[str, Any]:
    """Figures of the printed settings, from ``setting_results``."""
    figures: dict[str, Any] = {"above rank": (*ratios_above_rank(), len(results) > 0)}
    for noise in TABLE_NAMES:
        rows = results[(results["distribution"] == noise) & (results["column"] == "FS (ratio < 0.9)")]
        if len(rows):
            texts = [f"{r.dataset} {r.early_fnum:.1f} ({r.printed_fnum:g})" for r in rows.itertuples()]
            figures[f"FNum, {noise}"] = agrees(rows["early_fnum"], rows["printed_fnum"]).set_axis(texts)
    if results.empty:
        return figures
    sparse = results[(results["column"] == "FS (ratio < 0.9)") & (results["distribution"] == "gaussian")]
    figures["mean ratio"] = 100 * sparse["early_ratio"].mean()
    figures["agreeing"] = (n_agreeing(results, "exact"), n_agreeing(results, "early"), len(results))
    figures["possible ratios"] = results
    rows = results[(results["distribution"] == "gaussian") & (results["column"] == "FS")]
    rows = rows[rows["dataset"].isin(ALL_SELECTED)]
    return figures | ({"all selected": (rows["early_ratio"], rows["exact_ratio"])} if len(rows) else {})


def n_agreeing(results: pd.DataFrame, mode: str) -> int:
    """Number of settings whose FNum and ratio agree with the printed ones."""
    near = (results[f"{mode}_ratio"] - results["printed_ratio"]).abs() <= RATIO_MARGIN
    return int((near & agrees(results[f"{mode}_fnum"], results["printed_fnum"])).sum())


def beyond_bound(results: pd.DataFrame) -> pd.DataFrame:
    """The settings whose printed ratio is above the bound."""
    return results[results["printed_ratio"] > results["possible"] + RATIO_ROUNDING]


def near_after_steps(beyond: pd.DataFrame) -> int:
    """In how many settings the ratio after 100 steps is near the printed one."""
    return int(((beyond["early_ratio"] - beyond["printed_ratio"]).abs() <= RATIO_MARGIN).sum())


def unfinished_cause(results: pd.DataFrame) -> str:
    """What speaks for steps that were not enough, by the printed numbers and by our draws."""
    beyond, (exceeding, n_lasso) = beyond_bound(results), ratios_above_rank()
    return (
        f"probably the weights of the paper are those of an unfinished run; {len(exceeding)} of its {n_lasso} LASSO "
        "settings "
        "are not possible for any solution on random draws. It prints neither a scale of features nor a stopping rule, "
        "and the bound is on our scale, which is inferred from its tables as the 100 steps are; after 100 steps on our "
        f"draws {near_after_steps(beyond)} of these {len(beyond)} ratios are within {RATIO_MARGIN:g} of the printed "
        f"ones. {steps_text(results)}"
    )


def possible_text(results: pd.DataFrame) -> str:
    """How many printed ratios are above the bound, and how far 100 steps are from the minimum."""
    beyond = beyond_bound(results)
    n_near = near_after_steps(beyond)
    low, middle, high = np.quantile(results["early_gap"].astype(float), [0.0, 0.5, 1.0])
    medians = results[["early_ratio", "exact_ratio"]].median()
    return (
        f"{len(beyond)} of {len(results)} are above the bound; in {n_near} of these, the ratio after 100 steps "
        f"on the same draws is within {RATIO_MARGIN:g} of the printed one; after 100 steps the duality gap is "
        f"{low:.1e} to {high:.1e} (median {middle:.1e}) of half the squared norm of the targets; median ratio "
        f"{medians['early_ratio']:.3f} after 100 steps, {medians['exact_ratio']:.3f} at the minimum"
    )


def ratios_text(ratios: pd.Series) -> str:
    return ", ".join(f"{v:.3f}" for v in ratios)


def accuracy_figures(table: pd.DataFrame) -> dict[str, Any]:
    """Mean accuracies in percent over the nine data sets by noise and selection; none where a data set is missing."""
    raw = {name: mean for (noise, name), (mean, _) in unselected_accuracies(table).items() if noise == "raw"}
    accuracies, figures = grid_accuracies(table), {}
    if not set(printed.DATASET_SIZES) <= set(raw):
        return {}
    raw_mean = 100 * float(np.mean([raw[name] for name in printed.DATASET_SIZES]))
    for way in (*WAYS, "median"):
        wide = accuracies.pivot(index=["distribution", "dataset"], columns="selection", values=way)
        if len(wide) == len(TABLE_NAMES) * len(printed.DATASET_SIZES):
            means = (100 * wide.groupby("distribution").mean(skipna=False)).assign(raw=raw_mean)
            figures[f"accuracies, {way}"] = {noise: means.loc[noise] for noise in TABLE_NAMES}
            raw_shares = wide.index.get_level_values("dataset").map(raw)
            figures[f"accuracies by data set, {way}"] = 100 * wide.assign(raw=raw_shares)
    figures["accuracies, settings"] = accuracies.groupby("selection")["n_settings"].max()
    return figures | amplitude_figures(table, raw_mean)


def amplitude_figures(table: pd.DataFrame, raw_mean: float) -> dict[str, Any]:
    """The gain over raw data, in points, of the best amplitude on the test folds for each data set."""
    rows = cells_of_kind(table, "all amplitudes")
    if rows.empty:
        return {}
    means = 100 * rows.groupby(["distribution", "dataset", "w"])["accuracy"].mean()
    best = means.groupby(["distribution", "dataset"]).max().groupby("distribution").mean() - raw_mean
    return {"more amplitudes": (rows["w"].nunique(), ", ".join(f"{n} {best[n]:+.2f}" for n in TABLE_NAMES))}


def share_within_groups(weights: Sequence[Sequence[float]]) -> float:
    """The share of non-zero weights in the groups that have any."""
    nonzero = np.array(weights, dtype=float) != 0
    return float(nonzero[nonzero.any(axis=1)].mean()) if nonzero.any() else float("nan")


def weight_figures(table: pd.DataFrame) -> dict[str, Any]:
    """Shares of non-zero weights of Sonar (Figs. 4 and 5)."""
    rows = cells_of_kind(table, "weights")
    rows = rows[rows["column"] == "all penalties"] if len(rows) else rows
    by_penalties = {(r["lam1"], r["lam2"]): r for r in rows.to_dict("records")}
    pair = ((1e3, 0.0), (0.0, 1e3))
    if not set(pair) <= set(by_penalties):
        return {}
    zeros = pd.Series({p: 1.0 - (np.array(r["early"]) != 0).mean() for p, r in by_penalties.items()})
    return {
        "within groups": tuple(share_within_groups(by_penalties[p][mode]) for mode in ("early", "exact") for p in pair),
        "zeros": zeros.groupby(max).mean().sort_index(ascending=False),
    }
