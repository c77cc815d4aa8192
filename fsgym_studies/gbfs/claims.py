"""What Xu et al. (2014) say of boosted feature selection, judged on the cells of the study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fsgym_studies.common.render import format_number
from fsgym_studies.common.statistics import mean_of
from fsgym_studies.common.study import Claim
from fsgym_studies.gbfs.tables import (
    AWARE,
    COLON,
    GBFS,
    GROUPS,
    HSIC,
    KDD,
    L1LR,
    MRMR,
    RFFS,
    SETS,
    SMALL,
    SPAM,
    TOLD,
    USPS,
    Versus,
    best_of,
    counts_of,
    drawn,
    quality,
    read,
    told,
    versus,
)

CLEARLY = "by more than two standard errors, mean over 1 to 100 features"


def claims(table: pd.DataFrame) -> list[Claim]:
    return [
        *curve_claims(table),
        *kernel_claims(table),
        *quality_claims(table),
        *bag_claims(table),
        *synthetic_claims(table),
    ]


def counted(found: dict[str, Versus], word: str) -> str:
    """``3 of 7: adult, ...``"""
    good = [d for d, v in found.items() if v.word == word]
    return f"{word} on {len(good)} of {len(found)}" + (f" ({', '.join(good)})" if good else "")


def spoken(found: dict[str, Versus]) -> str:
    return "; ".join(counted(found, word) for word in ("above", "level", "below"))


def compared(table: pd.DataFrame, first: str, second: str, sets: Sequence[str] = SETS) -> dict[str, Versus]:
    """The data sets of which both have curves."""
    found = {d: versus(table, d, first, second, counts_of(d)) for d in sets}
    return {d: v for d, v in found.items() if v.word != "–"}


def curve_claims(table: pd.DataFrame) -> list[Claim]:
    """Fig. 3, the small and medium sets, and Fig. 4, kddcup99."""
    made = []
    for first, second in ((GBFS, L1LR), (RFFS, L1LR)):
        found = compared(table, first, second)
        made.append(
            Claim(
                f"{first} clearly outperforms {second} on all data sets ({CLEARLY})",
                "all",
                spoken(found),
                all(v.word == "above" for v in found.values()) if len(found) == len(SETS) else None,
            )
        )
    found = compared(table, GBFS, RFFS, SMALL)
    made.append(
        Claim(
            f"{GBFS} outperforms or matches {RFFS} on all small and medium data sets (nowhere below {CLEARLY})",
            "all",
            spoken(found),
            all(v.word != "below" for v in found.values()) if len(found) == len(SMALL) else None,
        )
    )
    few = counts_of(KDD, high=8)
    pair = [versus(table, KDD, GBFS, other, few) for other in (RFFS, L1LR)]
    known = all(v.word != "–" for v in pair)
    made.append(
        Claim(
            f"kddcup99: {GBFS} errs less than {RFFS} and {L1LR} when few features are selected (mean over 1 to 8)",
            "lower",
            f"{GBFS} {pair[0].first:.4f}, {RFFS} {pair[0].second:.4f}, {L1LR} {pair[1].second:.4f}" if known else "–",
            all(v.first < v.second for v in pair) if known else None,
        )
    )
    return made


def kernel_claims(table: pd.DataFrame) -> list[Claim]:
    """GBFS and HSIC Lasso, section 5.3."""
    spam, usps = (versus(table, d, GBFS, HSIC, counts_of(d)) for d in (SPAM, USPS))
    return [
        Claim(
            f"{SPAM}: {GBFS} clearly outperforms {HSIC} ({CLEARLY})",
            "clearly",
            errors(spam, GBFS, HSIC),
            spam.word == "above" if spam.word != "–" else None,
        ),
        Claim(
            f"{USPS}: {GBFS} is slightly worse than {HSIC} (by .03 at most, mean over 1 to 100 features)",
            "slightly",
            errors(usps, GBFS, HSIC),
            bool(0 < usps.first - usps.second <= 0.03) if usps.word != "–" else None,
        ),
    ]


def errors(found: Versus, first: str, second: str) -> str:
    return "–" if found.word == "–" else f"{first} {found.first:.3f}, {second} {found.second:.3f} ({found.word})"


def quality_claims(table: pd.DataFrame) -> list[Claim]:
    """Fig. 5: one SVM on every selection."""
    few, most, methods = counts_of(USPS, high=20), [100], (GBFS, RFFS, L1LR, HSIC, MRMR)
    found = read(quality(table), [*few, *most], "svm_error")
    means = found.groupby("method").mean() if len(found) else pd.DataFrame()
    known = set(methods) <= set(means.index)
    at_few = means[few].mean(axis=1).reindex(methods) if known else pd.Series(dtype=float)
    at_most = means[most[0]].reindex(methods) if known else pd.Series(dtype=float)

    def said(errors: pd.Series) -> str:
        return ", ".join(f"{m} {v:.3f}" for m, v in errors.items()) or "–"

    others = at_most.drop(L1LR) if known else at_most
    return [
        Claim(
            f"{USPS}, one SVM on every selection: {GBFS} has the lowest error with few features (mean over 1 to 20)",
            "lowest",
            said(at_few),
            bool(at_few.idxmin() == GBFS) if known else None,
        ),
        Claim(
            "As more features are selected all methods converge (at 100 features, within .03 of each other)",
            "similar",
            said(at_most),
            bool(at_most.max() - at_most.min() <= 0.03) if known else None,
        ),
        Claim(
            f"{L1LR} slightly outperforms most nonlinear methods when given enough features (at 100, below at least "
            "three of the four)",
            "slightly",
            said(at_most),
            bool((at_most[L1LR] < others).sum() >= 3) if known else None,
        ),
    ]


def bag_claims(table: pd.DataFrame) -> list[Claim]:
    """Section 5.2, colon; our bags are clusters, the paper's are not public."""
    found = {m: best_of(table, m) for m in (AWARE, GROUPS, GBFS, RFFS, L1LR, HSIC)}
    held = {m: b for m, b in found.items() if b is not None}
    known = len(held) == len(found)
    if not known:
        texts = (
            "selects features of one bag only",
            "has the lowest error",
            "errs much more",
            "select scattered features",
        )
        return [Claim(f"{COLON}: {t}", "–", "–", None) for t in texts]
    own, others = held[AWARE], {m: b for m, b in held.items() if m not in (AWARE, GBFS)}
    scattered = {m: held[m].bags for m in (RFFS, L1LR, HSIC)}
    listed = ", ".join(f"{m} {b.error:.3f}" for m, b in held.items())
    return [
        Claim(
            f"{COLON}: {AWARE} selects features of one bag only (at its best setting; at most 1.5 bags a split)",
            "one bag",
            f"{own.bags:.1f} bags, {own.features:.0f} features; at least {own.fewest_bags:.1f} bags, "
            f"where the error is {own.single:.3f}",
            own.bags <= 1.5,
        ),
        Claim(
            f"{COLON}: {AWARE} and {RFFS} have the lowest error, below {L1LR}, {HSIC} and {GROUPS} (each at its best "
            "setting; both at most .01 above any of the three)",
            "lowest",
            listed,
            max(own.error, held[RFFS].error) <= min(b.error for m, b in others.items() if m != RFFS) + 0.01,
        ),
        Claim(
            f"{COLON}: {GROUPS} errs much more than {AWARE} (at least .05)",
            "much higher",
            f"{held[GROUPS].error:.3f} and {own.error:.3f}",
            held[GROUPS].error >= own.error + 0.05,
        ),
        Claim(
            f"{COLON}: {RFFS}, {L1LR} and {HSIC} select scattered features from different bags (at least 3 a split)",
            "scattered",
            ", ".join(f"{m} {b:.1f}" for m, b in scattered.items()),
            min(scattered.values()) >= 3.0,
        ),
    ]


def synthetic_claims(table: pd.DataFrame) -> list[Claim]:
    """Fig. 1: x1 and x2 tell the class, x3 is redundant. Our own points: the paper's are not printed."""
    cells = drawn(table)
    linear, boosted = (
        cells[name].map(tuple).tolist() if len(cells) else [] for name in ("l1_selected", "gbfs_selected")
    )
    errors = [mean_of(cells[n]).mean if len(cells) else float("nan") for n in ("l1_error", "gbfs_error")]
    alone, both = sum(s == (1,) for s in linear), sum(s == (1, 2) for s in boosted)
    told = len(cells) > 0
    return [
        Claim(
            f"Three features: {L1LR} selects one feature only, neither the redundant x3 nor x2 (in most draws)", "x1",
            f"x1 alone in {alone} of {len(cells)}" if told else "–", alone > len(cells) / 2 if told else None,
        ),
        Claim(
            f"Three features: {GBFS} selects x1 and x2 and leaves x3 out (in most draws)", "x1, x2",
            f"x1 and x2 in {both} of {len(cells)}" if told else "–", both > len(cells) / 2 if told else None,
        ),
        Claim(
            f"Three features: {GBFS} separates the classes, {L1LR} does not (error at most .10, and .10 lower)",
            "0 against poor", f"{GBFS} {format_number(errors[1])}, {L1LR} {format_number(errors[0])}" if told else "–",
            bool(errors[1] <= 0.1 and errors[0] - errors[1] >= 0.1 and np.isfinite(errors).all()) if told else None,
        ),
    ]  # fmt: skip


def notes(table: pd.DataFrame) -> list[str]:
    """Where GBFS is above and below, and what is not run."""
    return [
        *places_note(table),
        "SMK-CAN-187 and the appendix's further pairs of digits are not run: the first is not at hand.",
        "Training times are in the report's last table and in times.csv, which differ from run to run.",
    ]


def places_note(table: pd.DataFrame) -> list[str]:
    """The same in a sentence for each data set and rival."""
    notes = []
    for other in (RFFS, L1LR):
        parts = []
        for dataset in told(table):
            places = [k for k in TOLD if k <= max(counts_of(dataset))]
            found = {k: versus(table, dataset, GBFS, other, [k]) for k in places}
            parts.append(f"{dataset} " + ", ".join(f"{k}: {v.word}" for k, v in found.items()))
        if parts:
            notes.append(
                f"{GBFS} against {other} by number of features (more than two standard errors): {'; '.join(parts)}."
            )
    return notes
