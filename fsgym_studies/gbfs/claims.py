"""Claims of Xu et al. (2014) on gradient boosted feature selection, assessed on the cells of the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fsgym_studies.common.claims import DASH, NOT_KNOWN, AssessedClaim, CauseText, Claim, assess, figure_text
from fsgym_studies.common.curves import cells_with, rows_of
from fsgym_studies.common.difference import Difference, error_of_shares
from fsgym_studies.gbfs import tables

# Why claims on boosted features are not reproduced, from further cells of the same study.

MUCH_HIGHER = 0.05  # error of group LASSO on colon less that of GBFS with bags
MANY_FEATURES = 10  # from which on ``scattered_cause`` counts bags


def comparisons_by_dataset(table: pd.DataFrame, first: str, second: str, datasets: Any) -> dict[str, Difference]:
    """Compare two methods on each data set on which both have results."""
    comparisons = {d: tables.compare_errors(table, d, first, second) for d in datasets}
    return {d: v for d, v in comparisons.items() if v.word != DASH}


def counts_by_word(comparisons: Mapping[str, Difference]) -> str:
    """``better on 1 of 2 (adult); similar on 1 of 2 (pcmac); worse on 0 of 2``."""
    parts = []
    for word in ("better", "similar", "worse"):
        names = [d for d, v in comparisons.items() if v.word == word]
        parts.append(f"{word} on {len(names)} of {len(comparisons)}" + (f" ({', '.join(names)})" if names else ""))
    return "; ".join(parts)


def leaves_cause(figures: Mapping[str, Any]) -> str:
    """The forest with larger leaves compared with L1 logistic regression."""
    words = counts_by_word(comparisons_by_dataset(figures["table"], tables.RFFS_BOUND, "L1LR", tables.CURVE_DATASETS))
    return (
        "protocol: the paper bounds the leaves of its forests by a number that our copy lacks, and also calls its "
        f"trees full; ours are fully grown. With nothing changed but leaves of up to {tables.LEAF_ROWS} rows "
        f"({tables.KDD_LEAF_ROWS} on kddcup99), numbers of ours, RFFS compared with L1LR is {words}"
    )


def kdd_cause(figures: Mapping[str, Any]) -> str:
    """The errors at few features of kddcup99 by number, at other settings, and with larger leaves of the forest."""
    table, few = figures["table"], tables.counts_of("kddcup99", tables.FEW)

    trained = rows_of(table, "kddcup99", tables.KDD_PRINTED)["n_train"].max()
    at = {k: tables.compare_errors(table, "kddcup99", tables.KDD_PRINTED, "RFFS", [k]) for k in few}
    listed = ", ".join(f"{one.first:.4f} and {one.second:.4f} at {k}" for k, one in at.items())
    settings = {m: m for m in [*tables.PRINTED_LEVELS][1:]} | {"GBFS": "the rate and depth of the other data sets"}
    means = {title: tables.compare_errors(table, "kddcup99", m, "RFFS", few).first for m, title in settings.items()}
    known = "; ".join(f"{title} {mean:.4f}" for title, mean in means.items() if mean == mean)
    others = f"Mean errors of GBFS over these numbers otherwise: {known}. " if known else ""
    larger = tables.compare_errors(table, "kddcup99", tables.KDD_PRINTED, tables.RFFS_BOUND, few)
    source, leaves = f"{NOT_KNOWN}:", ""
    if larger.word != DASH:
        leaves = (
            f"; leaves of up to {tables.KDD_LEAF_ROWS} rows, a number of ours that is large for our rows, give RFFS "
            f"{larger.second:.4f} where GBFS has {larger.first:.4f}"
        )
        if larger.better:
            changed = "with larger leaves of RFFS, and nothing else changed, GBFS has the lower error"
            source = f"protocol: {changed}. Besides,"
            if not ahead_on_all_rows(table):
                source = f"{NOT_KNOWN}: {changed} on {trained:,.0f} rows, but not on all of the file. Besides,"
    return (
        f"{source} we have the 10 % file, {trained:,.0f} training rows of it (4,898,431 in the paper) and no official "
        f"test part. Errors of GBFS and RFFS by number of features: {listed} (between its settings a curve is linear, "
        "and a method need not have a setting with each number). "
        f"{others}The paper bounds the leaves of its forests by a number that our copy lacks, ours are fully "
        f"grown{leaves}. {iterations_text(table)}"
        "Rows and leaves are not separated"
    )


def ahead_on_all_rows(table: pd.DataFrame) -> bool:
    """Whether GBFS is below the forest with larger leaves at each number of features that it comes to, on all rows.

    True where they were not run.
    """
    few = tables.counts_of("kddcup99", tables.FEW)
    forest = rows_of(tables.curve_points(table), tables.KDD_ALL_ROWS, tables.RFFS_BOUND)
    cells = cells_with(table, "stage_error")
    if forest.empty or cells.empty:
        return True
    best = np.fmin.reduce([*tables.staged_errors(cells.iloc[0], few).values()])
    known = ~np.isnan(best)
    return bool((best[known] < tables.errors_at(forest, few).iloc[0].to_numpy()[known]).all())


def iterations_text(table: pd.DataFrame) -> str:
    """The errors on all rows of kddcup99: GBFS over its iterations, and the forest with larger leaves."""
    few = tables.counts_of("kddcup99", tables.FEW)
    forest = rows_of(tables.curve_points(table), tables.KDD_ALL_ROWS, tables.RFFS_BOUND)
    cells = cells_with(table, "stage_error")
    if forest.empty or cells.empty:
        return ""
    cell = cells.iloc[0]
    staged = "; ".join(
        f"mu_max / {1 / mu:.0f}: {', '.join(f'{e:.4f} at {k}' for k, e in zip(few, errors) if e == e) or 'none'}"
        for mu, errors in tables.staged_errors(cell, few).items()
    )
    of_forest = tables.errors_at(forest, few).iloc[0]
    return (
        f"On all {cell['n_train']:,.0f} training rows of the file GBFS over its iterations has these errors at those "
        f"of these numbers of features that it comes to: {staged}; RFFS with leaves of up to {tables.KDD_LEAF_ROWS} "
        f"rows has {', '.join(f'{e:.4f} at {k}' for k, e in of_forest.items())}. "
    )


def splits_of(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """One row for each split of a data set on which GBFS has results."""
    return rows_of(tables.curve_points(table), dataset, "GBFS").drop_duplicates("split")


def tested_rows(table: pd.DataFrame, dataset: str) -> int:
    """The number of test rows of all splits of a data set."""
    return int(splits_of(table, dataset)["n_test"].sum())


def spam_cause(figures: Mapping[str, Any]) -> str:
    """The difference on spambase with its standard error, over all numbers of features and at each."""
    pair, table = figures["spambase"], figures["table"]
    at = {k: tables.compare_errors(table, "spambase", "GBFS", "HSIC Lasso", [k]) for k in tables.counts_of("spambase")}
    known = {k: one for k, one in at.items() if one.word != DASH}
    better = ", ".join(f"{k} ({one.with_error(3)})" for k, one in known.items() if one.better)
    both, _ = tables.paired_errors(table, "spambase", "GBFS", "HSIC Lasso")
    by_split = both["GBFS"] - both["HSIC Lasso"]
    splits = len(by_split)
    hangs = pair.mean < 0 and 2 * by_split.sem() < -pair.mean
    text = (
        "not known: our copy of the paper shows neither at how many features it compares the two nor over how many "
        "test "
        f"parts, nor an error; over {', '.join(map(str, known))} features the difference is {pair.with_error(3)} over "
        f"{splits} splits, a number of ours, where the error is that of two independent shares of the test rows"
        f"{', and the criterion hangs on it' if hangs else ''}. The differences of the splits are "
        f"{', '.join(f'{d:+.3f}' for d in by_split)}, "
        f"and by these it would be {by_split.sem():.3f}. By number of features GBFS is better by more than two "
        f"standard errors {f'only at {better}' if better else 'at none'}"
    )
    if pair.mean >= 0:
        return text
    needed = np.ceil(splits * (2 * pair.error / pair.mean) ** 2)
    return f"{text}; if it stays as large, {needed:.0f} splits show it by more than two standard errors"


def grouping_cause(figures: Mapping[str, Any]) -> str:
    """GBFS compared with HSIC Lasso for other classes of digits."""
    compare, parts = partial(tables.compare_errors, figures["table"], first="GBFS", second="HSIC Lasso"), []
    signs = []  # whether GBFS is ahead on average and behind at the last number
    for d in ("uspst", *tables.GROUPINGS):
        counts = [k for k in tables.counts_of(d) if compare(d, counts=[k]).word != DASH]
        if counts:
            mean, last = compare(d), compare(d, counts=counts[-1:])
            signs.append(mean.mean < 0 < last.mean)
            parts.append(f"{d} {mean.with_error(3)} and {last.with_error(3)} at {counts[-1]} features")
    alike = (
        ", and with each of our groupings GBFS is ahead on average and behind at the last number, which is not tested"
        if len(signs) > 1 and all(signs)
        else ""
    )
    return (
        "not known: the paper prints neither which digits form its two classes nor at which numbers of features it "
        f"compares{alike}. Error of GBFS − HSIC Lasso, up to the end of its path and at the last number that both "
        f"have: {'; '.join(parts)}. Grouping, numbers of features and HSIC Lasso in blocks are not separated"
    )


def few_features_cause(figures: Mapping[str, Any]) -> str:
    """By how much GBFS is below each other method at few features, and how large a difference is no noise."""
    errors, tested = figures["few features"], tested_rows(figures["table"], "uspst")
    leads = errors.drop("GBFS") - errors["GBFS"]
    noise = 2 * error_of_shares(errors.mean(), tested)
    parts = [
        f"{words} {', '.join(f'{m} ({abs(lead):.3f})' for m, lead in own.items())}{end}"
        for words, own, end in (
            ("its lead over", leads[(leads > 0) & (leads <= noise)], " may be noise"),
            ("it is behind", leads[(leads <= 0) & (leads >= -noise)], ", which may be noise"),
            ("it is behind", leads[leads < -noise], ""),
        )
        if len(own)
    ]
    return (
        f"{NOT_KNOWN}: GBFS {'has' if leads.min() > 0 else 'does not have'} the lowest error of the {len(errors)}; "
        f"{'; '.join(parts)}. Differences of up to {noise:.3f} may be noise on our {tested} test rows; other classes "
        "of digits were not run here"
    )


def converged_cause(figures: Mapping[str, Any]) -> str:
    """Cause of the claim that all methods converge."""
    return f"{NOT_KNOWN}: {most_features_text(figures)}"


def most_features_cause(figures: Mapping[str, Any]) -> str:
    """Cause of the claim on L1LR; the number of features decides if L1LR is ahead at most of the larger numbers."""
    more = figures["more features"]
    ahead = (more.drop("L1LR") > more.loc["L1LR"]).sum() >= 2
    decides = len(ahead) > 0 and ahead.mean() > 0.5
    where = "protocol: the number of features decides; " if decides else f"{NOT_KNOWN}: "
    return f"{where}{most_features_text(figures)}"


def most_features_text(figures: Mapping[str, Any]) -> str:
    """At how many features the errors are read, and what they are there and at more features without HSIC Lasso."""
    errors, more = figures["most features"], figures["more features"]
    others = errors.drop("HSIC Lasso")
    tested = tested_rows(figures["table"], "uspst")
    below = "below" if others["L1LR"] < others.drop("L1LR").median() else "not below"
    ends, beyond = "", ""
    if len(more.columns):
        ends = ", since on our rows the path of HSIC Lasso ends before the next number"
        listed = (", ".join(f"{m} {e:.3f}" for m, e in more[k].items()) + f" at {k}" for k in more)
        beyond = f". At more features, without HSIC Lasso: {'; '.join(listed)}"
    return (
        f"the errors are read at {errors.name} features{ends}; without HSIC Lasso the methods are within "
        f"{others.max() - others.min():.3f} of each other there, and L1LR is {below} the median of the others{beyond}. "
        f"A difference of two such errors on our {tested} test rows has a standard error of "
        f"{error_of_shares(errors.mean(), tested):.3f}. Neither the classes of digits nor the numbers of features "
        "and the settings of the SVM are printed, and other classes and settings were not run here"
    )


def bags_text(figures: Mapping[str, Any]) -> str:
    """The errors on colon with our bags and without, and how precise they are."""
    table, errors = figures["table"], figures["errors on colon"]
    tested, stumps = tested_rows(table, "colon"), tables.best_setting(table, tables.STUMPS)
    smaller = "" if stumps is None else f", and {stumps.error:.3f} with them and trees of one split"
    error, gap = error_of_shares(0.2, tested), errors.max() - errors.min()
    return (
        "the paper's nine bags of genes are not in our data; ours are clusters of genes by their values in the "
        f"training rows. GBFS has {errors['GBFS with bags']:.3f} with them and {errors['GBFS']:.3f} without{smaller}; "
        "the paper says that selection without its bags performs poorly. Whether its bags would lower the error is not "
        f"tested. The best setting of each method is that on the test rows. A difference of two errors of .2 on our "
        f"{tested} test rows has a standard error of {error:.3f}; the largest of our differences, {gap:.3f}, is "
        f"{gap / error:.1f} of these"
    )


def colon_cause(figures: Mapping[str, Any]) -> str:
    """Cause of the claim on the lowest errors on colon."""
    return f"{NOT_KNOWN}: {bags_text(figures)}"


def group_lasso_cause(figures: Mapping[str, Any]) -> str:
    """The errors with bags at the settings with the fewest of them, where group LASSO may be far behind."""
    best = tables.best_settings(figures["table"])
    own, other = (best[title].error_at_fewest for title in ("GBFS with bags", "group LASSO"))
    listed = f"{own:.3f} for GBFS with bags and {other:.3f} for group LASSO"
    errors, tested = pd.Series({"GBFS with bags": own, "group LASSO": other}), tested_rows(figures["table"], "colon")
    if not much_higher(errors, tested):
        return (
            f"{colon_cause(figures)}. At the settings with the fewest bags the errors are {listed}, a difference of "
            f"{other - own:+.3f}; {standard_error_text(errors, tested)}, so that the criterion is not met there, either"
        )
    return (
        "protocol: the paper does not say at which setting it compares; at those with the fewest bags the errors are "
        f"{listed}, as the claim says. Besides, {bags_text(figures)}"
    )


def scattered_cause(figures: Mapping[str, Any]) -> str:
    """From how many bags come the first selections of several features."""
    cells = cells_with(figures["table"], "bags")
    cells = cells[cells["dataset"] == "colon"]
    parts = []
    for method in ("RFFS", "L1LR", "HSIC Lasso"):
        firsts = [
            next((b for n, b in zip(row["n_features"], row["bags"]) if n >= MANY_FEATURES), np.nan)
            for row in cells[cells["method"] == method].to_dict("records")
        ]
        parts.append(f"{method} {np.nanmean(firsts):.1f}" if np.isfinite(firsts).any() else f"{method} {DASH}")
    features = tables.best_setting(figures["table"], "HSIC Lasso")
    few = "few" if features is None else f"{features.features:.1f}"
    return (
        f"protocol: the paper does not say at which setting; the best one of HSIC Lasso has {few} features. At the "
        f"first setting with at least {MANY_FEATURES} features the bags are {', '.join(parts)}"
    )


TWO_ERRORS_CRITERION = "by more than two standard errors, mean over 1 to 100 features"
SAME_SVM = "uspst, with the same kind of SVM trained on the features that each method selects"
EXAMPLE = "Synthetic example with three features"


def compared_claim(
    text: str, first: str, second: str, datasets: Sequence[str], met: Callable[[str], bool], cause: str | CauseText = ""
) -> Claim:
    """Claim on the word of a comparison, such as better, that it holds on all data sets."""
    return Claim(
        text,
        "all",
        lambda figures: comparisons_by_dataset(figures["table"], first, second, datasets),
        lambda pairs: all(met(v.word) for v in pairs.values()) if len(pairs) == len(datasets) else None,
        counts_by_word,
        cause,
    )


OTHERS_ON_COLON = ["L1LR", "HSIC Lasso", "group LASSO"]


def with_tested_rows(name: str, dataset: str = "uspst") -> Callable[[Mapping[str, Any]], tuple[pd.Series, int] | None]:
    """The measure of errors by method, and of the number of test rows of all splits of their data set."""

    def measure(figures: Mapping[str, Any]) -> tuple[pd.Series, int] | None:
        return (figures[name], tested_rows(figures["table"], dataset)) if name in figures else None

    return measure


def n_clearly_above(errors: pd.Series, method: str, tested: int) -> int:
    """How many of the other methods have a larger error than one, by more than two standard errors."""
    others = errors.drop(method)
    return int((others - errors[method] > 2 * error_of_shares(errors.mean(), tested)).sum())


def much_higher(errors: pd.Series, tested: int) -> bool:
    """Whether the error of group LASSO is much higher than that of GBFS with bags, and the difference no noise."""
    gap = errors["group LASSO"] - errors["GBFS with bags"]
    return bool(gap >= MUCH_HIGHER and n_clearly_above(errors, "GBFS with bags", tested) == 1)


def standard_error_text(errors: pd.Series, tested: int) -> str:
    return f"a difference has a standard error of {error_of_shares(errors.mean(), tested):.3f} on {tested} rows"


CURVE_CLAIMS = (
    # Fig. 3, the small and medium sets, and Fig. 4, kddcup99:
    *(
        compared_claim(
            f"{first} clearly outperforms {second} on all data sets ({TWO_ERRORS_CRITERION})",
            first,
            second,
            tables.CURVE_DATASETS,
            lambda word: word == "better",
            leaves_cause if first == "RFFS" else "",
        )
        for first, second in (("GBFS", "L1LR"), ("RFFS", "L1LR"))
    ),
    compared_claim(
        f"GBFS outperforms or matches RFFS on all small and medium data sets (worse on none {TWO_ERRORS_CRITERION})",
        "GBFS",
        "RFFS",
        tables.SMALL_AND_MEDIUM,
        lambda word: word != "worse",
    ),
    Claim(
        "kddcup99: GBFS has a lower error than RFFS and L1LR when few features are selected (at the printed depth 4 "
        f"and learning rate 0.1; by more than two standard errors, mean over 1 to {tables.FEW} features)",
        "lower",
        "kddcup99",
        lambda forest, linear: forest.better and linear.better,
        "GBFS {0.first:.4f}, RFFS {0.second:.4f}, L1LR {1.second:.4f}",
        kdd_cause,
    ),
    # Section 5.3:
    Claim(
        f"spambase: GBFS clearly outperforms HSIC Lasso ({TWO_ERRORS_CRITERION}, or up to where the path of HSIC "
        "Lasso ends)",
        "clearly",
        "spambase",
        lambda pair: pair.word == "better",
        "GBFS {0.first:.3f}, HSIC Lasso {0.second:.3f} ({0.word})",
        spam_cause,
    ),
    Claim(
        "uspst: GBFS is slightly worse than HSIC Lasso (by more than two standard errors and at most .03, mean over 1 "
        "to 100 features, or up to where "
        "the path of HSIC Lasso ends)",
        "slightly",
        "uspst",
        lambda pair: pair.word == "worse" and pair.mean <= 0.03,
        "GBFS {0.first:.3f}, HSIC Lasso {0.second:.3f} ({0.word})",
        grouping_cause,
    ),
    # Fig. 5:
    Claim(
        f"{SAME_SVM}: GBFS has the lowest error with few features (by more than two standard errors of two "
        "independent shares of the test rows, mean over 1 to 20 features)",
        "lowest",
        with_tested_rows("few features"),
        lambda errors, tested: n_clearly_above(errors, "GBFS", tested) == len(errors) - 1,
        lambda errors, tested: f"{figure_text(errors)}; {standard_error_text(errors, tested)}",
        few_features_cause,
    ),
    Claim(
        f"{SAME_SVM}: as more features are selected, all methods converge (at 100 features, or where the "
        "path of HSIC Lasso ends, within .03 of each other)",
        "similar",
        "most features",
        lambda errors: errors.max() - errors.min() <= 0.03,
        cause=converged_cause,
    ),
    Claim(
        f"{SAME_SVM}: L1LR slightly outperforms most nonlinear methods when given enough features (at 100 "
        "features, or where the path of HSIC Lasso ends, lower by more than two standard errors, as above, than at "
        "least "
        "three of the four)",
        "slightly",
        with_tested_rows("most features"),
        lambda errors, tested: n_clearly_above(errors, "L1LR", tested) >= 3,
        lambda errors, tested: f"{figure_text(errors)}; {standard_error_text(errors, tested)}",
        most_features_cause,
    ),
)
BAG_CLAIMS = (  # section 5.2, colon; our bags are clusters, the paper's are not public
    Claim(
        "colon: GBFS with bags selects features of one bag only (at its best setting; at most 1.5 bags per split)",
        "one bag",
        "best on colon",
        lambda own: own.bags <= 1.5,
        "at the best setting {0.bags:.1f} bags and {0.features:.0f} features; at the setting with the fewest "
        "bags {0.fewest_bags:.1f} bags, where the error is {0.error_at_fewest:.3f}",
    ),
    Claim(
        "colon: GBFS with bags and RFFS have lower errors than L1LR, HSIC Lasso and group LASSO (each at "
        "its best setting; the error of each of the first two is lower than that of each of the other three by more "
        "than two standard errors of two independent shares of the test rows)",
        "lowest",
        with_tested_rows("errors on colon", "colon"),
        lambda errors, tested: all(
            n_clearly_above(errors[[own, *OTHERS_ON_COLON]], own, tested) == len(OTHERS_ON_COLON)
            for own in ("GBFS with bags", "RFFS")
        ),
        lambda errors, tested: f"{figure_text(errors)}; {standard_error_text(errors, tested)}",
        colon_cause,
    ),
    Claim(
        f"colon: group LASSO has a much higher error than GBFS with bags (by at least {MUCH_HIGHER:g} and two standard "
        "errors, as above)",
        "much higher",
        with_tested_rows("errors on colon", "colon"),
        lambda errors, tested: much_higher(errors[["GBFS with bags", "group LASSO"]], tested),
        lambda errors, tested: (
            f"group LASSO {errors['group LASSO']:.3f}, GBFS with bags {errors['GBFS with bags']:.3f}"
        ),
        group_lasso_cause,
    ),
    Claim(
        "colon: RFFS, L1LR and HSIC Lasso select features scattered over bags (at least 3 bags per split)",
        "scattered",
        "bags on colon",
        lambda bags: min(bags.values()) >= 3.0,
        lambda bags: ", ".join(f"{m} {b:.1f}" for m, b in bags.items()),
        scattered_cause,
    ),
)
SYNTHETIC_CLAIMS = (  # Fig. 1; the points are ours, the paper does not print its own
    *(
        Claim(
            f"{EXAMPLE}: {text} (in most draws)",
            paper,
            selected,
            lambda draws: draws.mean() > 0.5,
            lambda draws: f"{draws.name} in {draws.sum()} of {len(draws)}",
        )
        for text, paper, selected in (
            ("L1LR selects x1 only, neither x2 nor the redundant x3", "x1", "only x1"),
            ("GBFS selects x1 and x2 and leaves x3 out", "x1, x2", "x1 and x2"),
        )
    ),
    Claim(
        f"{EXAMPLE}: GBFS separates the classes, L1LR does not (error of GBFS at most .10, and lower by at least .10)",
        "error 0 against a high error",
        "synthetic errors",
        lambda errors: errors["GBFS"] <= 0.1 and errors["L1LR"] - errors["GBFS"] >= 0.1,
    ),
)
BY_FAR, SIGNIFICANTLY = 5.0, 2.0  # ratios of training times that count as the words of section 5.5; our choice
HOUR_OVER_MINUTES = 6.0  # an hour over ten minutes
SMALL_TIMED, LARGE_TIMED = ("uspst", "spambase"), ("adult", "kddcup99")  # data sets on which training is timed
TIMES_NOTE = "training times in one run"


def slowest_ratio(
    numerators: Sequence[str], denominators: Sequence[str], datasets: Sequence[str]
) -> Callable[[Mapping[str, Any]], pd.Series | None]:
    """The measure of how many times as long the fastest of some methods takes as the slowest of others, by data set.

    Methods that the paper does not run on a data set are left out there."""

    def measure(figures: Mapping[str, Any]) -> pd.Series | None:
        seconds = figures["seconds"].reindex(datasets)
        ratios = seconds.reindex(columns=numerators).min(axis=1) / seconds.reindex(columns=denominators).max(axis=1)
        return ratios if len(ratios.dropna()) == len(datasets) else None

    return measure


def times_text(ratios: pd.Series) -> str:
    """``2.1 times on adult, 3.0 times on kddcup99``."""
    return ", ".join(f"{ratio:.2g} times on {dataset}" for dataset, ratio in ratios.items())


def hour_ratio(figures: Mapping[str, Any]) -> pd.Series | None:
    """How many times as long GBFS and RFFS take on kddcup99 as on the small set on which each takes longest."""
    seconds = figures["seconds"].reindex([*SMALL_TIMED, "kddcup99"], columns=["GBFS", "RFFS"])
    if seconds.isna().any(axis=None):
        return None
    return seconds.loc["kddcup99"] / seconds.loc[list(SMALL_TIMED)].max()


def trees_cause(figures: Mapping[str, Any]) -> str:
    """How many times as long RFFS takes as GBFS with the trees of the paper's forest on kddcup99."""
    seconds = figures["seconds"].reindex(LARGE_TIMED)
    ratios = seconds[tables.RFFS_MORE] / seconds["GBFS"]
    text = (
        f"our forests have fewer trees than the paper's {tables.KDD_TREES} on kddcup99 (elsewhere our copy lacks the "
        f"number); with so many RFFS takes {times_text(ratios)}"
    )
    met = len(ratios.dropna()) == len(ratios) and ratios.min() >= SIGNIFICANTLY
    more = "" if met else ". Rows, leaves, iterations and programs (Matlab and C++ in the paper) are not separated"
    return f"{'protocol' if met else NOT_KNOWN}: {text}{more}"


def hour_cause(figures: Mapping[str, Any]) -> str:
    """How many times as long training takes on more rows of kddcup99."""
    cells = cells_with(figures["table"], "seconds").set_index("dataset")["n_train"]
    timed, everything = (cells.get(name, np.nan) for name in ("kddcup99", tables.KDD_ALL_ROWS))
    seconds = figures["seconds"]
    rows = f"training is timed on {timed:,.0f} rows of kddcup99, 4,898,431 in the paper"
    if tables.KDD_ALL_ROWS not in seconds.index or not everything > timed:
        return f"{NOT_KNOWN}: {rows}; more were not timed"
    ratios = {
        m: seconds.loc[tables.KDD_ALL_ROWS, m] / seconds.loc[list(SMALL_TIMED), m].max() for m in ("GBFS", "RFFS")
    }
    grows = all(ratios[m] > seconds.loc["kddcup99", m] / seconds.loc[list(SMALL_TIMED), m].max() for m in ratios)
    listed = ", ".join(f"{method} {ratio:.1f} times" for method, ratio in ratios.items())
    met = ", which meets the criterion" if min(ratios.values()) >= HOUR_OVER_MINUTES else ""
    return (
        f"{'data' if grows else NOT_KNOWN}: {rows}; on all {everything:,.0f} of its 10 % file they take {listed} as "
        f"long as on the small sets{met}; the paper's forest there has large leaves"
    )


def implementation_cause(figures: Mapping[str, Any]) -> str:
    """Cause of the claims on small data sets."""
    return (
        f"{NOT_KNOWN}: of the methods that it times the paper prints no settings, and no programs but those of GBFS "
        "(Matlab) and RFFS (C++), and ours were timed at one setting; our HSIC Lasso has kernels in blocks of 20 rows, "
        "whose time grows with the rows and not with their square, as that of the paper's kernel matrices; our mRMR "
        "has values in bins; "
        + "; ".join(
            f"{dataset}: " + ", ".join(f"{m} {v:.2f} s" for m, v in row.dropna().items())
            for dataset, row in figures["seconds"].iterrows()
        )
    )


TIME_CLAIMS = (  # section 5.5
    Claim(
        f"Section 5.5: L1LR is the fastest by far (the fastest other method takes at least {BY_FAR:g} times as long "
        f"on each of {', '.join((*SMALL_TIMED, *LARGE_TIMED))}; {TIMES_NOTE})",
        "the fastest",
        slowest_ratio(("GBFS", "RFFS", "HSIC Lasso", "mRMR"), ("L1LR",), (*SMALL_TIMED, *LARGE_TIMED)),
        lambda ratios: ratios.min() >= BY_FAR,
        lambda ratios: f"the fastest other method takes {times_text(ratios)}",
        implementation_cause,
    ),
    Claim(
        "Section 5.5: mRMR and HSIC Lasso take significantly more time than RFFS and GBFS (the faster of the first "
        f"two takes at least {SIGNIFICANTLY:g} times as long as the slower of the others on each of "
        f"{' and '.join(SMALL_TIMED)}; {TIMES_NOTE})",
        "more time",
        slowest_ratio(("mRMR", "HSIC Lasso"), ("RFFS", "GBFS"), SMALL_TIMED),
        lambda ratios: ratios.min() >= SIGNIFICANTLY,
        times_text,
        implementation_cause,
    ),
    Claim(
        "Section 5.5: GBFS is significantly faster than RFFS on data sets with many rows (RFFS takes at least "
        f"{SIGNIFICANTLY:g} times as long on each of {' and '.join(LARGE_TIMED)}; {TIMES_NOTE})",
        "faster",
        slowest_ratio(("RFFS",), ("GBFS",), LARGE_TIMED),
        lambda ratios: ratios.min() >= SIGNIFICANTLY,
        lambda ratios: f"RFFS takes {times_text(ratios)}",
        trees_cause,
    ),
    Claim(
        "Section 5.5: training takes seconds to minutes on small data sets, about an hour on kddcup99 (GBFS and RFFS "
        f"each take at least {HOUR_OVER_MINUTES:g} times as long there, an hour over ten minutes, as on "
        f"{' and '.join(SMALL_TIMED)}; {TIMES_NOTE})",
        "an hour",
        hour_ratio,
        lambda ratios: ratios.min() >= HOUR_OVER_MINUTES,
        lambda ratios: ", ".join(f"{method} {ratio:.1f} times" for method, ratio in ratios.items()),
        hour_cause,
    ),
)


def all_claims() -> tuple[Claim, ...]:
    return (*CURVE_CLAIMS, *BAG_CLAIMS, *SYNTHETIC_CLAIMS, *TIME_CLAIMS)


def claims(table: pd.DataFrame) -> list[AssessedClaim]:
    figures = {
        "table": table,
        "seconds": tables.timed_seconds(table),
        **pair_figures(table),
        **quality_figures(table),
        **bag_figures(table),
    }
    return assess(all_claims(), figures | synthetic_figures(table))


def pair_figures(table: pd.DataFrame) -> dict[str, Any]:
    """GBFS compared on kddcup99 with two methods at few features, and on spambase and uspst with HSIC Lasso."""
    few, own = tables.counts_of("kddcup99", tables.FEW), tables.KDD_PRINTED
    on_kdd = tuple(tables.compare_errors(table, "kddcup99", own, other, few) for other in ("RFFS", "L1LR"))
    known = comparisons_by_dataset(table, "GBFS", "HSIC Lasso", ("spambase", "uspst"))
    return known | ({"kddcup99": on_kdd} if all(pair.word != DASH for pair in on_kdd) else {})


def quality_figures(table: pd.DataFrame) -> dict[str, Any]:
    """Errors of the same kind of SVM on each selection, by method; none where a method is missing.

    ``more features`` has those at the numbers of features that the path of HSIC Lasso does not reach.
    """
    means = tables.quality_errors(table, tables.counts_of("uspst")).groupby("method").mean(skipna=False)
    if not set(tables.CURVE_METHODS) <= set(means.index):
        return {}
    known = means.reindex(tables.CURVE_METHODS).dropna(axis=1)
    most = known.iloc[:, -1]
    more = means.reindex(known.index.drop("HSIC Lasso")).loc[:, means.columns > most.name]
    return {"few features": known.loc[:, :20].mean(axis=1), "most features": most, "more features": more}


def bag_figures(table: pd.DataFrame) -> dict[str, Any]:
    """Results on colon of each method at its best setting; none where a method is missing."""
    best = tables.best_settings(table)
    if len(best) < len(tables.BAG_METHODS):
        return {}
    return {
        "best on colon": best["GBFS with bags"],
        "errors on colon": pd.Series({m: b.error for m, b in best.items()}),
        "bags on colon": {m: best[m].bags for m in ("RFFS", "L1LR", "HSIC Lasso")},
    }


def synthetic_figures(table: pd.DataFrame) -> dict[str, Any]:
    """In which draws each method selects the features that determine the class, and mean errors."""
    cells = tables.synthetic_results(table)
    if cells.empty:
        return {}
    return {
        "only x1": cells["l1_selected"].map(lambda columns: columns == [1]).rename("only x1"),
        "x1 and x2": cells["gbfs_selected"].map(lambda columns: columns == [1, 2]).rename("x1 and x2"),
        "synthetic errors": {"GBFS": cells["gbfs_error"].mean(), "L1LR": cells["l1_error"].mean()},
    }


def notes(comparisons: pd.DataFrame) -> list[str]:
    """Where GBFS is better and worse by the rows of ``comparison_table``, and what is not run."""
    return [
        *(comparison_note(comparisons, other) for other in ("RFFS", "L1LR") if len(comparisons)),
        "We did not run SMK-CAN-187, which is not available. Of pairs of digits we ran those in the tables and notes.",
        "Times of whole curves are in the last table of the report and in times.csv. They differ from run to run.",
    ]


def comparison_note(comparisons: pd.DataFrame, other: str) -> str:
    """Where GBFS is better than another method and where it is worse, by number of features."""
    single = comparisons[comparisons["features"] != "mean"]
    parts = [
        f"{dataset} " + ", ".join(f"{k}: {word}" for k, word in zip(rows["features"], rows[f"against {other}"]))
        for dataset, rows in single.groupby("data set", sort=False)
    ]
    return (
        f"GBFS compared with {other} by number of features (better or worse by more than two standard errors, "
        f"otherwise similar): {'; '.join(parts)}."
    )
