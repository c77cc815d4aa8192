"""Claims of Jawanpuria, Nath and Ramakrishnan (2015) on disjunctions, assessed on the cells of the study."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from fsgym_studies.common.claims import AssessedClaim, Claim, assess
from fsgym_studies.common.statistics import Mean, known_mean
from fsgym_studies.hkl.cell import APPROACHES, HKL, KERNEL_L2_SVM, LINEAR_L1_SVM, SELECTION_METHODS
from fsgym_studies.hkl.printed import (
    LOWEST_PRINTED,
    NEWSGROUPS,
    PRINTED_DISJUNCTIONS,
    PRINTED_L1_SVM,
    PRINTED_L2_SVM,
    PRINTED_SELECTIONS,
    PRINTED_SHARES,
    PRINTED_SIGNIFICANT,
    TABLE1_DATASETS,
)
from fsgym_studies.hkl.tables import SIGNIFICANCE_LEVEL, mean_percents, share_selected, wilcoxon_comparison

PRINTED_MARGIN = 1.0  # points of accuracy by which a reproduced accuracy may be below the printed one; our choice
BEST_MARGIN = 2.0  # points below the best approach that still count as comparable; our choice


def accuracy_claim(tables: str, dataset: str, printed: float, as_text: str | Callable[[Mean], str]) -> Claim:
    """Claim that the disjunctions are about as accurate on a data set as printed in these tables."""
    return Claim(
        f"{tables}, {dataset}: accuracy of the disjunctions in percent (at most {PRINTED_MARGIN:g} point below "
        "the printed one)",
        f"{printed:.2f}",
        f"accuracy, {dataset}",
        lambda own: own.mean >= printed - PRINTED_MARGIN,
        as_text,
    )


def mean_over_parts(own: Mean) -> str:
    return f"{own.mean:.2f}" + (f" ± {own.std:.2f} over {own.count} test parts" if own.count > 1 else "")


def share_claim(dataset: str, share: float, other: str, other_share: float, other_accuracy: float) -> Claim:
    """Claim that there are fewer rules, in proportion, than the best other method selects features."""
    return Claim(
        f"Tables 4 and 5, {dataset}: the number of rules, divided by the number of Boolean features, is below "
        f"the share of features that the best {other} uses (printed: {other_share:g} at an accuracy of "
        f"{other_accuracy:.2f} %)",
        f"{share:g}",
        f"share, {dataset}",
        lambda share: share < other_share,
        "{:.4f}",
    )


def size_claims() -> Iterator[Claim]:
    """Tables 4 and 5."""
    for dataset, ((share, accuracy), other, theirs) in PRINTED_SHARES.items():
        yield accuracy_claim("Tables 4 and 5", dataset, accuracy, "{0.mean:.2f}")
        yield share_claim(dataset, share, other, *theirs)


def wilcoxon_claim(text: str, paper: str, other: str) -> Claim:
    """Claim that the disjunctions are significantly better than another approach."""
    return Claim(text, paper, f"against {other}", lambda counts, significant: significant, "{0}")


def table2_claim(other: str, level: str, accuracies: Mapping[str, float]) -> Claim:
    from_print = wilcoxon_comparison(PRINTED_DISJUNCTIONS, accuracies)[0]
    return wilcoxon_claim(
        f"Table 2: the disjunctions are significantly better than {other} on all features (Wilcoxon "
        f"signed-rank test over the ten data sets, two-sided, p below {SIGNIFICANCE_LEVEL:g})",
        f"{level}; the same test on the accuracies of its Table 1: {from_print}",
        other,
    )


PRINTED_TEST_CLAIMS = tuple(  # the test of Table 2, repeated on the accuracies printed in Table 1
    Claim(
        "Significance test of Table 2, repeated on the accuracies printed in Table 1: how many of the 15 "
        f"feature-selection methods followed by {machine} are significantly worse than the disjunctions (at "
        "least as many as the paper states)",
        str(printed),
        machine,
        partial(operator.le, printed),
    )
    for machine, printed in zip((KERNEL_L2_SVM, LINEAR_L1_SVM), PRINTED_SIGNIFICANT)
)


def claim_rows() -> tuple[Claim, ...]:
    """All claims but ``PRINTED_TEST_CLAIMS``; some show tests of the printed numbers, which are not run at import."""
    return (
        *(accuracy_claim("Table 1", *row, mean_over_parts) for row in PRINTED_DISJUNCTIONS.items()),
        Claim(
            "On each data set of Table 1 the disjunctions are comparable with the best approach (at most "
            f"{BEST_MARGIN:g} points below the best of our seven approaches)",
            "all ten",
            "behind the best",
            lambda behind: behind.max() <= BEST_MARGIN,
            behind_text,
        ),
        table2_claim(KERNEL_L2_SVM, "significant at level .05", PRINTED_L2_SVM),
        table2_claim(LINEAR_L1_SVM, "significant at level .005", PRINTED_L1_SVM),
        *(
            wilcoxon_claim(
                f"The disjunctions are significantly better than feature selection by {other} (same test)",
                "feature selection is significantly worse; Table 1 of the paper does not list these accuracies",
                other,
            )
            for other in SELECTION_METHODS
        ),
        Claim(
            "Table 3, 20 newsgroups: the disjunctions are more accurate than L1-SVM and L2-SVM",
            "94.55 / 93.14 / 91.38",
            "newsgroups",
            lambda own, *others: own > max(others),
            "{:.2f} / {:.2f} / {:.2f}",
        ),
        *size_claims(),
    )


def behind_text(behind: pd.Series) -> str:
    worse = [f"{dataset} ({points:.1f} below)" for dataset, points in behind.items() if points > BEST_MARGIN]
    return f"not on {', '.join(worse)}" if worse else "all ten"


def claims(table: pd.DataFrame) -> list[AssessedClaim]:
    means = mean_percents(table)
    rows, newsgroups = means.reindex(TABLE1_DATASETS), means.reindex([NEWSGROUPS]).iloc[0]
    ours = rows[HKL].to_dict()
    figures: dict[str, Any] = {}
    for dataset, own in table[table["method"] == HKL].groupby("dataset"):
        figures[f"accuracy, {dataset}"] = known_mean(100.0 * own["accuracy"])
        figures[f"share, {dataset}"] = share_selected(own).mean()
    figures |= {f"against {other}": wilcoxon_comparison(ours, rows[other].to_dict()) for other in APPROACHES[1:]}
    if not rows.isna().any(axis=None):
        figures["behind the best"] = rows.max(axis=1) - rows[HKL]
    compared = newsgroups[[HKL, LINEAR_L1_SVM, KERNEL_L2_SVM]]
    if not compared.isna().any():
        figures["newsgroups"] = tuple(compared)
    return assess(claim_rows(), figures) + (assess(PRINTED_TEST_CLAIMS, printed_tests()) if len(table) else [])


def printed_tests() -> dict[str, int]:
    """How many of the paper's feature selections are significantly worse by their printed accuracies."""
    figures = {}
    for k, machine in enumerate((KERNEL_L2_SVM, LINEAR_L1_SVM)):
        accuracies = [dict(zip(TABLE1_DATASETS, pair[k])) for pair in PRINTED_SELECTIONS.values()]
        tests = [wilcoxon_comparison(PRINTED_DISJUNCTIONS, selection)[1] for selection in accuracies]
        figures[machine] = sum(map(bool, tests))
    return figures


def notes(table: pd.DataFrame) -> list[str]:
    """Which rows the paper may have used, and where all approaches differ from the printed ones."""
    sentences = [
        "The paper's accuracies show how many rows it used. Most accuracies in Table 1 are multiples "
        "of 1/276 on breast cancer, 1/80 on hepatitis and 1/232 on vote; we have 277, 80 and 232 rows without missing "
        "values. On 20 newsgroups most are multiples of 1/569; the official test part has 570 rows in our copy.",
        "Transfusion: always predicting the larger class is correct in 76.2 % of our 748 rows. The paper prints about "
        "90 % for every method but one, which is implausible on our rows and labels.",
    ]
    accuracies = 100.0 * table.loc[table["dataset"] == NEWSGROUPS, "accuracy"].astype(float)
    if len(accuracies) and accuracies.max() < LOWEST_PRINTED:
        sentences.append(
            f"20 newsgroups: every approach is between {accuracies.min():.1f} and {accuracies.max():.1f} % in our "
            f"runs, and between {LOWEST_PRINTED:g} and 94.55 % in the paper's Table 1. The paper's words must be more "
            "informative than those of posts without header lines."
        )
    return sentences
