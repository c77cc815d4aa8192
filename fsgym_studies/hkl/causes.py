"""Why claims on disjunctions are not reproduced, from the accuracies of all approaches in the same runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

from fsgym_studies.common.difference import paired_difference
from fsgym_studies.common.statistics import Mean
from fsgym_studies.hkl.cell import HKL, TABLE1_APPROACHES, ZERO_NORM
from fsgym_studies.hkl.changes import changes_text
from fsgym_studies.hkl.further import settings_compared
from fsgym_studies.hkl.printed import (
    HKL_FOLDS,
    LOWEST_PRINTED,
    NEWSGROUPS,
    PRINTED_BEHIND,
    PRINTED_DISJUNCTIONS,
    PRINTED_OTHERS,
    TABLE1_DATASETS,
    printed_level,
)
from fsgym_studies.hkl.tables import one_sided_p

BEST_MARGIN = 2.0  # points below the best approach that still count as comparable; our choice
PRINTED_MARGIN = 1.0  # points of accuracy by which a reproduced accuracy may be below the printed one; our choice
ONCE_TEXTS = {  # data sets of Table 4, whose splits have few test rows
    "colon": "; the printed 88.71 % is 55 of 62, so that the paper probably tested every row once",
    "lymphoma": "; the printed 92.71 % is 89 of 96, so that the paper probably tested every row once, with more "
    "training rows than our 60",
}
HEADERS_TEXT = (  # a test counts them
    "our training posts of 20 newsgroups have header lines, our test posts have not (the word 'lines' is in 857 of 857 "
    "and in 14 of 570)"
)


def accuracy_cause(dataset: str, printed: float, figures: Mapping[str, Any]) -> str:
    """How many runs of the paper's size reach the accuracy, and whether any other approach of our runs does."""
    others = figures["means"].loc[dataset].drop(HKL).dropna()
    if others.empty:
        return ""
    own: Mean = figures[f"accuracy, {dataset}"]
    aim = printed - PRINTED_MARGIN
    text = f"of the other {len(others)} approaches the best has {others.max():.2f} ({others.idxmax()})"
    if own.mean < others.min():
        text += ", and each is above the disjunctions; why is not known"
    table = figures["table"]
    cells = table[(table["dataset"] == dataset) & (table["method"] == HKL)].set_index(["dataset", "split"])
    if dataset == NEWSGROUPS:
        return (
            f"data: {HEADERS_TEXT}; the paper does not print its words, and what the headers matter is not separated. "
            f"Every approach is below the lowest accuracy of Table 1, {LOWEST_PRINTED:g}; on the inner folds of the "
            f"training part the chosen disjunctions have {100 * cells['inner'].mean():.2f}; {text}"
        )
    text += ONCE_TEXTS.get(dataset, "")
    text += change_texts(figures, [dataset], aim)
    runs = by_shuffle(100 * cells["accuracy"]).loc[dataset]
    reached = int((runs >= aim).sum())
    if dataset == "lymphoma":
        return (
            "data: our copy is discretised to three levels, and the paper's features are numerical; splits and Boolean "
            f"features are not printed, either, and what each of these matters is not separated; {text}"
        )
    if reached and dataset not in ONCE_TEXTS:
        return (
            f"protocol: folds are not printed, and {reached} of {len(runs)} sets of {HKL_FOLDS} folds reach "
            f"{aim:.2f} %; {text}"
        )
    if others.max() < aim:
        parts = "splits" if dataset in ONCE_TEXTS else "folds"
        return f"protocol: {parts} and Boolean features are not printed, and what each matters is not separated; {text}"
    return f"ours: another approach comes within a point of the printed accuracy; {text}"


def transfusion_cause(figures: Mapping[str, Any]) -> str:
    """What all approaches reach on our rows, beside always predicting the larger class."""
    own = figures["means"].loc["transfusion"].dropna()
    return (
        "data: always predicting the larger class is correct on 76.2 % of our 748 rows, and our approaches on "
        f"{own.min():.1f} to {own.max():.1f} %; the paper prints about 90 % for every method but one. Most of its "
        "accuracies are multiples of 1/748, so that it had as many rows, and probably other labels or columns, which "
        "it does not print"
    )


def one_run_error(parts: pd.Series) -> float:
    """Standard error of a mean over ``HKL_FOLDS`` test parts: between such means, or within the only one.

    The index of ``parts`` has a level ``split``.
    """
    means = parts.groupby(parts.index.get_level_values("split") // HKL_FOLDS).mean()
    return float(means.std() if len(means) > 1 else parts.sem())


def by_shuffle(parts: pd.Series) -> pd.DataFrame:
    """Means over each set of ``HKL_FOLDS`` folds: a row per data set and a column per set, as many as all of them have.

    A data set that is split once has its value in all columns. The index of ``parts`` has the levels ``dataset`` and
    ``split``.
    """
    datasets, splits = (parts.index.get_level_values(level) for level in ("dataset", "split"))
    means = parts.groupby([datasets, splits // HKL_FOLDS]).mean().unstack()
    counts = means.count(axis=1)
    repeated = counts[counts > 1]
    return means.ffill(axis=1).iloc[:, : repeated.min() if len(repeated) else 1]


def change_texts(figures: Mapping[str, Any], datasets: Collection[str], aim: float | None = None) -> str:
    """``changes_text`` of each of the data sets on which a change was run."""
    by_change = figures.get("changes", {})
    texts = {dataset: changes_text(by_change[dataset], aim) for dataset in datasets if dataset in by_change}
    return "".join(f"; on {dataset}, {text}" for dataset, text in texts.items() if text)


def behind_cause(figures: Mapping[str, Any]) -> str:
    """Where the paper's disjunctions are far behind its best approach, and where ours are, with standard errors."""
    behind = far_behind(figures["table"])
    parts = [
        f"{dataset}: {other} is {mean:.1f} points above" + (f" ± {error:.1f} over {n} test parts" if n > 1 else "")
        for dataset, (other, mean, error, n) in behind.items()
    ]
    data = f". On {NEWSGROUPS} our data differ: {HEADERS_TEXT}" if NEWSGROUPS in behind else ""
    here = NEWSGROUPS in behind and PRINTED_BEHIND[NEWSGROUPS] <= BEST_MARGIN
    return (
        f"paper: by this criterion its own Table 1 fails, on {below_text(PRINTED_BEHIND)}. In our runs, where the best "
        f"of {len(TABLE1_APPROACHES)} approaches is known from the test parts alone, {'; '.join(parts)}{data}"
        f"{', and its Table 1 meets the criterion there' if here else ''}{change_texts(figures, behind)}"
    )


def below_text(behind: Mapping[str, float] | pd.Series) -> str:
    """The data sets where the disjunctions are not comparable with the best approach, from their distances to it."""
    return ", ".join(f"{dataset} ({points:.1f} below)" for dataset, points in behind.items() if points > BEST_MARGIN)


def zero_norm_cause(dataset: str, figures: Mapping[str, Any]) -> str:
    """What the difference from the zero-norm SVM hangs on: the choice of settings, the splits, or the features kept."""
    table = figures["table"][figures["table"]["dataset"] == dataset]
    accuracies = 100 * table.pivot_table("accuracy", "split", "method")
    compared = settings_compared(figures["further"], dataset, accuracies[ZERO_NORM].count())
    if compared is None:
        return ""
    on_few = compared.few.mean < -BEST_MARGIN and compared.n_many > compared.n_few
    if compared.many.mean >= -BEST_MARGIN and on_few:
        source = f"protocol: the paper does not print its splits, and {compared.n_few} with few test rows are too few"
    elif compared.many.mean >= -BEST_MARGIN:
        source = "protocol: the paper does not say how settings are chosen, and our choice on inner folds decides"
    elif compared.same_size.mean >= -BEST_MARGIN and dataset == "lymphoma":
        source = (
            "data: our copy is discretised to three levels, and the paper's features are numerical; whether this or "
            "our zero-norm SVM decides is not separated: ours is better with many features than with as many as there "
            "are rules, the paper's is best with a share of 0.0248"
        )
    elif compared.same_size.mean >= -BEST_MARGIN:
        source = (
            "ours: our zero-norm SVM is better with many features than with as many as there are rules; our copy has "
            "numerical features, as the paper's, but its splits and Boolean features are not printed, and whether "
            "these or our zero-norm SVM decides is not separated"
        )
    else:
        source = "ours: neither more splits, the best settings nor an equal number of features closes the gap"
    more = f", {compared.many.with_error(2)} on {compared.n_many} at those best there"
    return (
        f"{source}; disjunctions less zero-norm SVM in points: "
        f"{paired_difference(accuracies[HKL], accuracies[ZERO_NORM]).with_error(2)} at settings chosen on inner folds, "
        f"{compared.few.with_error(2)} at the setting of each that is best on the same {compared.n_few} test parts"
        f"{more if compared.n_many > compared.n_few else ''}, with {compared.rules:.0f} rules and {compared.most:.0f} "
        f"features, {compared.same_size.with_error(2)} on these if the zero-norm SVM keeps {compared.selected:.0f}"
    )


def far_behind(table: pd.DataFrame) -> dict[str, tuple[str, float, float, int]]:
    """Where the best approach is more than ``BEST_MARGIN`` points above the disjunctions.

    Returns
    -------
    dict, by data set of Table 1: the best approach, its lead in points over the disjunctions with the standard error
        of the mean over the test parts, and their number
    """
    found = {}
    for dataset in TABLE1_DATASETS:
        own = table[(table["dataset"] == dataset) & table["method"].isin(TABLE1_APPROACHES)]
        wide = 100 * own.pivot_table("accuracy", "split", "method")
        lead = wide.sub(wide[HKL], axis=0)[wide.mean().idxmax()]
        if lead.mean() > BEST_MARGIN:
            found[dataset] = (str(lead.name), lead.mean(), lead.std() / len(lead) ** 0.5, len(lead))
    return found


def wilcoxon_cause(other: str, expected: bool, figures: Mapping[str, Any]) -> str:
    """In how many runs of the paper's size the test is as expected, and the test with the printed differences."""
    means = figures["means"].reindex(TABLE1_DATASETS)
    accuracies = 100 * figures["table"].pivot_table("accuracy", ["dataset", "split"], "method")
    lead, level = means[other] - means[HKL], printed_level(other)
    differences = (accuracies[HKL] - accuracies[other]).dropna()
    errors = differences.groupby("dataset").apply(one_run_error)
    runs = by_shuffle(differences).reindex(TABLE1_DATASETS)
    as_expected = sum((one_sided_p(runs[run]) < level) is expected for run in runs)
    behind = lead[lead > 0]
    p_tie = one_sided_p(-lead.mask(lead.index == NEWSGROUPS, 0.0))
    found = f"p is {'' if expected else 'not '}below {level:g} in {as_expected} of {runs.shape[1]} sets of folds"
    if as_expected and runs.shape[1] > 1:
        source = f"protocol: folds are not printed, and {found}"
    elif expected and NEWSGROUPS in behind and p_tie < level:
        source = f"data: {HEADERS_TEXT}, which decides: with a tie on {NEWSGROUPS} p = {p_tie:.3f}"
    else:
        source = f"ours: {found}, and why is not known"
    text = (
        f"{source}; what settings, grids and Boolean features matter, which are not printed, is not separated; in our "
        f"runs {other} is above the disjunctions on {points_text(behind, errors)} (± standard error of a mean over "
        f"{HKL_FOLDS} test parts, as of the paper's run)"
    )
    table1 = PRINTED_OTHERS.get(other.replace("Cfs", "correlation").replace("best-first", "best first"))
    if table1 is None:
        return text
    printed = pd.Series(table1, dtype=float) - pd.Series(PRINTED_DISJUNCTIONS, dtype=float)
    replaced = list((behind if expected else printed[printed > 0]).index)
    sets = {f"on {name}": [name] for name in replaced}
    if len(replaced) > 1:
        sets["on all of these"] = replaced
    p = [f"{place} p = {one_sided_p(-lead.mask(lead.index.isin(own), printed)):.3f}" for place, own in sets.items()]
    return f"{text}; with the printed difference in place of ours {', '.join(p)}" if p else text


def points_text(points: pd.Series, errors: Mapping[Any, float] = MappingProxyType({})) -> str:
    """Data sets with points of accuracy, and their standard errors where these are known."""
    parts = [
        f"{name} ({value:.1f}{f' ± {errors[name]:.1f}' if errors.get(name, math.nan) > 0 else ''})"
        for name, value in points.items()
    ]
    return ", ".join(parts) or "no data set"
