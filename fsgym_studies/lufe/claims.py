"""Claims of Taylor et al. (2016) on LUFe, assessed on the cells of the study."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym_studies.common.render import DASH
from fsgym_studies.common.study import Claim
from fsgym_studies.lufe.cell import ALL_FEATURES, IDENTITY, LUFE, RANDOM, SELECTION, lufe_at_share
from fsgym_studies.lufe.printed import PRINTED_TABLE1
from fsgym_studies.lufe.tables import (
    COMPARED_SELECTORS,
    CORPORA,
    OUTER_SELECTION,
    SELECTION_SIZES,
    TECHTC_PREFIX,
    UNSELECTED_SHARES,
    PairedDifference,
    accuracy_by_dataset,
    compare_classifiers,
    differences_by_share,
    mean_accuracies,
)

NOT_IN_PAPER = "not in the paper"
LITTLE_DIFFERENCE = 0.5  # points of accuracy that count as the paper's "little difference"; our choice


def claims(table: pd.DataFrame) -> list[Claim]:
    nested, outer = mean_accuracies(table), mean_accuracies(table, OUTER_SELECTION)
    assessed = []
    for s in COMPARED_SELECTORS:
        lufe, selection = ([PRINTED_TABLE1[s, K, name] for K in SELECTION_SIZES] for name in (LUFE, SELECTION))
        over_selection = by_selection_size([p.over_selection for p in lufe])
        over_all, selection_over_all = (by_selection_size([p.over_all for p in rows]) for rows in (lufe, selection))
        random = "37 of 49" if s == "RFE" else NOT_IN_PAPER
        assessed += [
            better_claim(f"LUFe-{s} is better than {s} alone", nested, s, LUFE, SELECTION, over_selection),
            better_claim(f"LUFe-{s} is better than the random control", nested, s, LUFE, RANDOM, random),
            better_claim(f"LUFe-{s} is better than the identity control", nested, s, LUFE, IDENTITY, NOT_IN_PAPER),
            better_claim(f"LUFe-{s} is better than ALL", nested, s, LUFE, ALL_FEATURES, over_all),
            better_claim(f"{s} is better than ALL", nested, s, SELECTION, ALL_FEATURES, selection_over_all),
            better_claim(
                f"LUFe-{s} is better than {s} if features are selected before the penalties are chosen (outer)",
                outer,
                s,
                LUFE,
                SELECTION,
                over_selection,
            ),
        ]
    random_text = "The random control is better than RFE"
    return [
        *assessed,
        better_claim(random_text, nested, "RFE", RANDOM, SELECTION, "small improvements"),
        *share_claims(nested),
    ]


def by_selection_size(texts: Sequence[str]) -> str:
    """Texts for both sizes of the selection, each with its K."""
    return "; ".join(f"K = {K}: {text}" for K, text in zip(SELECTION_SIZES, texts, strict=True))


def better_claim(text: str, accuracies: pd.DataFrame, selector: str, first: str, second: str, paper: str) -> Claim:
    """Claim that one classifier is better than another over both sizes; the result also lists each size."""
    both = compare_classifiers(accuracies, selector, first, second)
    by_size = {
        K: compare_classifiers(accuracies, selector, first, second, K)
        for K in SELECTION_SIZES
        if (accuracies["K"] == K).any()
    }
    result = f"{both.text}: {both.word} ({'; '.join(f'K = {K}: {p.text}' for K, p in by_size.items())})"
    known = both.word != DASH
    return Claim(text, paper, result if known else DASH, both.word == "better" if known else None)


def share_claims(accuracies: pd.DataFrame) -> list[Claim]:
    """Experiment 3, on LUFe-RFE-300."""
    least, most = lufe_at_share(UNSELECTED_SHARES[0]), lufe_at_share(0.7)
    over_least, over_most = (
        compare_classifiers(accuracies, "RFE", LUFE, name, SELECTION_SIZES[0]) for name in (least, most)
    )
    against: list[PairedDifference] = [p for p in differences_by_share(accuracies)["RFE-augmented"] if p.word != DASH]
    n_better = sum(p.word == "better" for p in against)
    ordered = sorted(against, key=lambda p: p.mean)
    return [
        Claim(
            "LUFe-RFE improves as its model of the slack variables uses more of the unselected features (K = "
            f"{SELECTION_SIZES[0]}; with all of them better than with the best 10 %)",
            "Fig. 3",
            f"{over_least.text}: {over_least.word}",
            None if over_least.word == DASH else over_least.word == "better",
        ),
        Claim(
            "The improvement levels out at 70 % of the unselected features (with all of them within "
            f"{LITTLE_DIFFERENCE:g} points of the accuracy with 70 %)",
            "little difference",
            over_most.text,
            None if over_most.word == DASH else abs(over_most.mean) <= LITTLE_DIFFERENCE,
        ),
        Claim(
            "LUFe-RFE with a given share of the unselected features is better than RFE-augmented, a plain SVM on the "
            "selected features plus that share of the unselected ones, at every share (K = "
            f"{SELECTION_SIZES[0]})",
            "41 of 49 at every share",
            f"better at {n_better} of {len(against)} shares, differences of {ordered[0].mean:+.2f} to "
            f"{ordered[-1].mean:+.2f}"
            if against
            else DASH,
            n_better == len(against) if against else None,
        ),
    ]


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
