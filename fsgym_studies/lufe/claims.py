"""Claims of Taylor et al. (2016) on LUFe, assessed on the cells of the study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fsgym_studies.common.claims import AssessedClaim, CauseText, Claim, assess
from fsgym_studies.common.difference import Difference
from fsgym_studies.lufe.cell import (
    ALL_FEATURES,
    IDENTITY,
    LOG_COUNTS,
    LUFE,
    RANDOM,
    RAW_COUNTS,
    SELECTION,
    TF_IDF,
    lufe_at_share,
)
from fsgym_studies.lufe.tables import (
    COMPARED_SELECTORS,
    CORPORA,
    NESTED_SELECTION,
    OUTER_SELECTION,
    PRINTED_TABLE1,
    SELECTION_SIZES,
    TECHTC_PREFIX,
    UNSELECTED_SHARES,
    accuracy_by_dataset,
    compare_classifiers,
    differences_by_share,
    mean_accuracies,
    printed_over,
)

NOT_IN_PAPER = "not in the paper"
LITTLE_DIFFERENCE = 0.5  # points of accuracy that count as the paper's "little difference"; our choice


def coding_cause(selector: str, first: str, second: str) -> CauseText:
    """CauseText of a claim on two classifiers whose difference hangs on the coding of the documents."""

    def cause(figures: Mapping[str, Any]) -> str:
        codings = figures["codings"]
        pairs = {c: compare_classifiers(own, selector, first, second, SELECTION_SIZES[0]) for c, own in codings.items()}
        known = {c: pair for c, pair in pairs.items() if pair.better is not None}
        listed = ", ".join(f"{pair.with_error(2)} with {c}" for c, pair in known.items())
        at_none = len(known) > 1 and not any(pair.better for pair in known.values())
        return (
            f"data: TechTC-300 is not available, and the paper does not say how words become numbers; at K = "
            f"{SELECTION_SIZES[0]} the difference is {listed}"
            + (", so that it is not the coding alone" if at_none else "")
        )

    return cause


def control_cause(selector: str, control: str) -> CauseText:
    """CauseText of a claim on a control that gains about as much as LUFe."""

    def cause(figures: Mapping[str, Any]) -> str:
        own = figures[NESTED_SELECTION]
        of_lufe, of_control = (compare_classifiers(own, selector, name, SELECTION) for name in (LUFE, control))
        known = "has" if (selector, control) == ("RFE", RANDOM) else "lacks"
        return (
            f"data: on our corpora LUFe is {of_lufe.with_error(2)} over {selector}, and the {control} control, which "
            f"the paper {known} here, {of_control.with_error(2)}: too close to be told apart"
        )

    return cause


def tied_cause(figures: Mapping[str, Any]) -> str:
    """CauseText of a claim where features are selected before the penalties are chosen."""
    outer, nested = (figures["tied"][inner] for inner in (OUTER_SELECTION, NESTED_SELECTION))
    return (
        "protocol: the inner folds cannot rank penalties once the features were selected with the labels of all of "
        f"them; on average {outer:.1f} of the 49 pairs of penalties are equally the best there, {nested:.1f} if "
        "features are selected in each inner fold"
    )


def small_gain_cause(figures: Mapping[str, Any]) -> str:
    """CauseText of a claim on a part of a gain that is small as a whole."""
    gain = compare_classifiers(figures[NESTED_SELECTION], "RFE", LUFE, SELECTION, SELECTION_SIZES[0])
    return (
        f"data: the whole gain of LUFe-RFE over RFE at K = {SELECTION_SIZES[0]} is {gain.with_error(2)} on our "
        "corpora, 1.97 in the paper, so that a part of it is below the standard error"
    )


def size_cause(figures: Mapping[str, Any]) -> str:
    """CauseText of the claim on the random control, by size of the selection."""
    pairs = {K: compare_classifiers(figures[NESTED_SELECTION], "RFE", RANDOM, SELECTION, K) for K in SELECTION_SIZES}
    listed = ", ".join(f"{pair.with_error(2)} at K = {K} ({pair.word})" for K, pair in pairs.items())
    return f"protocol: the paper does not say at which K; the difference is {listed}"


def better_claim(
    text: str,
    selector: str,
    first: str,
    second: str,
    paper: str,
    inner: str = NESTED_SELECTION,
    cause: CauseText | str = "",
) -> Claim:
    """Claim that one classifier is better than another over both sizes; the result also lists each size."""
    return Claim(
        text,
        paper,
        lambda figures: by_size(figures[inner], selector, first, second),
        lambda both, _: both.better,
        "{0.text}: {0.word} ({1})",
        cause,
    )


def by_size(accuracies: pd.DataFrame, selector: str, first: str, second: str) -> tuple[Difference, str] | None:
    """The difference of two classifiers over both sizes of the selection, and those at each size as text."""
    both = compare_classifiers(accuracies, selector, first, second)
    sizes = [K for K in SELECTION_SIZES if (accuracies["K"] == K).any()]
    texts = [f"K = {K}: {compare_classifiers(accuracies, selector, first, second, K).text}" for K in sizes]
    return None if both.better is None else (both, "; ".join(texts))


def selector_claims(s: str) -> list[Claim]:
    """The claims on LUFe with one method of selection."""
    outer = f"LUFe-{s} is better than {s} if features are selected before the penalties are chosen (outer)"
    over_selection, over_all, selection_over_all = (
        "; ".join(f"K = {K}: {printed_over(PRINTED_TABLE1[s, K, name], other)}" for K in SELECTION_SIZES)
        for name, other in ((LUFE, "selection"), (LUFE, "all"), (SELECTION, "all"))
    )
    random = "37 of 49" if s == "RFE" else NOT_IN_PAPER
    against_all = coding_cause(s, LUFE, ALL_FEATURES), coding_cause(s, SELECTION, ALL_FEATURES)
    return [
        better_claim(
            f"LUFe-{s} is better than {s} alone",
            s,
            LUFE,
            SELECTION,
            over_selection,
            cause=coding_cause(s, LUFE, SELECTION),
        ),
        *(
            better_claim(
                f"LUFe-{s} is better than the {control} control",
                s,
                LUFE,
                control,
                printed,
                cause=control_cause(s, control),
            )
            for control, printed in ((RANDOM, random), (IDENTITY, NOT_IN_PAPER))
        ),
        better_claim(f"LUFe-{s} is better than ALL", s, LUFE, ALL_FEATURES, over_all, cause=against_all[0]),
        better_claim(f"{s} is better than ALL", s, SELECTION, ALL_FEATURES, selection_over_all, cause=against_all[1]),
        better_claim(outer, s, LUFE, SELECTION, over_selection, OUTER_SELECTION, cause=tied_cause),
    ]


CLAIMS = (
    *(claim for s in COMPARED_SELECTORS for claim in selector_claims(s)),
    better_claim(
        "The random control is better than RFE", "RFE", RANDOM, SELECTION, "small improvements", cause=size_cause
    ),
    Claim(
        "LUFe-RFE improves as its model of the slack variables uses more of the unselected features (K = "
        f"{SELECTION_SIZES[0]}; with all of them better than with the best 10 %)",
        "Fig. 3",
        "over 10%",
        lambda pair: pair.better,
        "{0.text}: {0.word}",
        small_gain_cause,
    ),
    Claim(
        "The improvement levels out at 70 % of the unselected features (with all of them within "
        f"{LITTLE_DIFFERENCE:g} points of the accuracy with 70 %)",
        "little difference",
        "over 70%",
        lambda pair: None if pair.better is None else abs(pair.mean) <= LITTLE_DIFFERENCE,
    ),
    Claim(
        "LUFe-RFE with a given share of the unselected features is better than RFE-augmented, a plain SVM on the "
        "selected features plus that share of the unselected ones, at every share (K = "
        f"{SELECTION_SIZES[0]})",
        "41 of 49 at every share",
        "over RFE-augmented",
        lambda better, count, *_: better == count,
        "better at {} of {} shares, differences of {:+.2f} to {:+.2f}",
        coding_cause("RFE", LUFE, ALL_FEATURES),
    ),
)


def claims(table: pd.DataFrame) -> list[AssessedClaim]:
    nested = mean_accuracies(table)
    figures: dict[str, Any] = {NESTED_SELECTION: nested, OUTER_SELECTION: mean_accuracies(table, OUTER_SELECTION)}
    figures["codings"] = {c: mean_accuracies(table, coding=c) for c in (LOG_COUNTS, RAW_COUNTS, TF_IDF)}
    if {"inner", "coding", "tied"} <= set(table.columns):
        figures["tied"] = table[table["coding"] == LOG_COUNTS].groupby("inner")["tied"].mean()
    for t in (UNSELECTED_SHARES[0], 0.7):
        pair = compare_classifiers(nested, "RFE", LUFE, lufe_at_share(t), SELECTION_SIZES[0])
        figures[f"over {t:.0%}"] = pair
    against = [p for p in differences_by_share(nested)["RFE-augmented"] if p.better is not None]
    if against:
        means = [p.mean for p in against]
        figures["over RFE-augmented"] = (sum(p.better for p in against), len(against), min(means), max(means))
    return assess(CLAIMS, figures)


def notes(accuracies: pd.DataFrame) -> list[str]:
    """The results in a sentence for each selector, and what limits them."""
    sentences = [
        summary_note(accuracies, s) for s in COMPARED_SELECTORS if len(accuracy_by_dataset(accuracies, s, LUFE))
    ]
    sentences.append(
        "The samples from one corpus overlap and are tested on the same documents. Standard errors therefore show how "
        "much the results would vary over further samples from these corpora, but not over other corpora. The report "
        "also lists each corpus separately."
    )
    techtc = [c for c in accuracies["corpus"].unique() if c not in CORPORA]
    sentences.append(
        f"Sets of TechTC-300: {', '.join(techtc)}; each is used whole and tested on the fold that is left out."
        if techtc
        else f"TechTC-300 was not run, because the data folder (FSGYM_DATA) has no file {TECHTC_PREFIX}NAME.npz."
    )
    return sentences


def summary_note(accuracies: pd.DataFrame, s: str) -> str:
    """Whether LUFe improves on what it is compared with, and whether the unselected features are the reason."""
    selection, identity, all_features = (
        compare_classifiers(accuracies, s, LUFE, name) for name in (SELECTION, IDENTITY, ALL_FEATURES)
    )
    pairs = ((selection, s), (identity, "the identity control"), (all_features, "ALL"))
    words = [f"{p.phrase} {name} ({p.mean:+.2f})" for p, name in pairs]
    reason = "There is no improvement to explain"
    if identity.word == "better":
        reason = "The unselected features do help"
    elif selection.word == "better":
        without_features = compare_classifiers(accuracies, s, IDENTITY, SELECTION).mean
        reason = (
            "The identity control, whose model of the slack variables uses no feature, improves accuracy by "
            f"{without_features:+.2f} points; the further improvement by unselected features cannot be distinguished "
            "from 0"
        )
    return f"LUFe-{s} is {words[0]}, {words[1]} and {words[2]}. {reason}."
