"""Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016), section 4: does LUFe improve on a selection?

Sets of TechTC-300, which the paper used, join where the folder of data sets has them, each as ``techtc300_NAME.npz``
with the arrays data, indices, indptr and shape of a CSR matrix of counts of words of five letters or more, and y.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pandas as pd

from fsgym.datasets import list_datasets
from fsgym.runner import Task
from fsgym_studies.common.plan import DataDir, Source, seed_of
from fsgym_studies.common.study import Claim, Conclusion, Planned, Study
from fsgym_studies.lufe.cell import ALL, CALL, IDENTITY, LUFE, RANDOM, SELECTION, some_lufe
from fsgym_studies.lufe.tables import (
    NESTED,
    OUTER,
    PRINTED,
    SELECTORS,
    SHARES,
    SIZES,
    UNTOLD,
    Pair,
    by_share,
    column,
    compared,
    error_picture,
    inner_table,
    means,
    share_picture,
    share_table,
    table_one,
    verdicts,
)

SOURCES = (
    Source("news20_atheism_religion_bow", "news20"),
    Source("pcmac", "pcmac"),
    Source("basehock", "basehock"),
    Source("relathe", "relathe"),
)
TECHTC = "techtc300_"
DOCUMENTS = 150  # as many as a set of TechTC-300 has
DRAWS = {False: 6, True: 12}  # of documents from each corpus
FOLDS = 10
RUNS = {False: [(0, 0)], True: [(r, f) for r in range(10) for f in range(FOLDS)]}  # repeat, fold
TECHTC_SETS = {False: 4, True: 49}
NEW = "not in the paper"
SOME = 0.5  # points that are "little difference"
REFERENCE = """\
@inproceedings{taylor2016learning,
  author    = {Taylor, Joseph G. and Sharmanska, Viktoriia and Kersting, Kristian and Weir, David and
               Quadrianto, Novi},
  title     = {Learning using unselected features ({LUFe})},
  booktitle = {Proceedings of the Twenty-Fifth International Joint Conference on Artificial Intelligence},
  year      = {2016}
}
"""


def plan(full: bool, data_dir: str | os.PathLike | None) -> list[Planned]:
    drawn = [(source, range(DRAWS[full]), DOCUMENTS) for source in SOURCES]
    whole = [(source, range(1), None) for source in techtc(data_dir)[: TECHTC_SETS[full]]]
    cells = []
    for source, draws, sample in (*drawn, *whole):
        data = source.load(data_dir)
        for draw in draws:
            for repeat, fold in RUNS[full]:
                for selector, K, inner in choices(full):
                    known = (selector, K, inner) == (SELECTORS[0], SIZES[0], NESTED)
                    arguments = {
                        "sample": sample,
                        "draw": seed_of(source.title, draw),
                        "fold": fold,
                        "folds": FOLDS,
                        "repeat": seed_of(source.title, draw, repeat),
                        "selector": selector.lower(),
                        "n_selected": K,
                        "inner": inner,
                        "shares": SHARES if known else (),
                        "controls": inner == NESTED,
                    }
                    row = {
                        "corpus": source.title,
                        "dataset": f"{source.title} {draw + 1}" if sample else source.title,
                        "selector": selector,
                        "K": K,
                        "inner": inner,
                        "repeat": repeat,
                        "fold": fold,
                    }
                    cells.append(Planned(Task(CALL, arguments, {"data": data}), row))
    return cells


def choices(full: bool) -> list[tuple[str, int, str]]:
    """Selector, K, and where features are selected for the choice of weights."""
    nested = [(s, K, NESTED) for s in SELECTORS for K in SIZES]
    return nested + [(s, K, OUTER) for s in SELECTORS for K in (SIZES if full else SIZES[:1])]


def techtc(data_dir: DataDir = None) -> list[Source]:
    """The sets of TechTC-300 that are in the folder."""
    names = sorted(n for n in list_datasets(data_dir)["name"] if n.startswith(TECHTC))
    return [Source(n, n.removeprefix(TECHTC)) for n in names]


def conclude(planned: Sequence[Planned], table: pd.DataFrame, full: bool) -> Conclusion:
    found = means(table)
    if found.empty:
        return Conclusion(protocol(table, full), claims(table))
    shares = by_share(found)
    pictures = [error_picture(found, s, k + 1) for k, s in enumerate(SELECTORS)]
    return Conclusion(
        protocol(table, full),
        claims(table),
        [verdicts(found), table_one(found), share_table(shares), inner_table(table)],
        [*pictures, share_picture(shares)],
        notes(found),
    )


def protocol(table: pd.DataFrame, full: bool) -> str:
    runs = "ten times ten stratified folds" if full else "the first of ten stratified folds left out"
    return (
        f"{DRAWS[full]} draws of {DOCUMENTS} documents, each a data set, from each of news20 (atheism, religion), "
        "pcmac, basehock and relathe (the paper: 49 sets of TechTC-300 of about as many documents, which are not at "
        f"hand); {runs}, and judged on all documents of the corpus that were not trained on; logarithms of word "
        "counts, documents scaled to norm 1. A linear SVM on all features (ALL); on the K = 300 or 500 that RFE or "
        "ANOVA select on the training part; and LUFe on the same ones, with slacks that see the others. In the "
        "controls slacks see as many normal variables (random), or an indicator of each document and no feature "
        "(identity). Weights are the best of seven from 0.001 to 1000 (LUFe: of 49 pairs) by five inner folds, in each "
        "of which features are selected anew (nested), or have been selected before, as the paper seems to have done "
        "(outer). Differences are in points of accuracy, mean ± standard error over data sets, and wins/ties/losses; "
        "one classifier is above another where the mean difference is more than two standard errors, both K together."
    )


def claims(table: pd.DataFrame) -> list[Claim]:
    found, outer = means(table), means(table, OUTER)
    told = []
    for s in SELECTORS:
        lufe, alone = ([PRINTED[s, K, arm] for K in SIZES] for arm in (LUFE, SELECTION))
        over_selection = "; ".join(p.over_selection for p in lufe)
        random = "37 of 49" if s == "RFE" else NEW
        told += [
            beats(f"LUFe-{s} is above {s} alone", found, s, LUFE, SELECTION, over_selection),
            beats(f"LUFe-{s} is above the random control", found, s, LUFE, RANDOM, random),
            beats(f"LUFe-{s} is above the identity control", found, s, LUFE, IDENTITY, NEW),
            beats(f"LUFe-{s} is above ALL", found, s, LUFE, ALL, "; ".join(p.over_all for p in lufe)),
            beats(f"{s} is above ALL", found, s, SELECTION, ALL, "; ".join(p.over_all for p in alone)),
            beats(
                f"LUFe-{s} is above {s}, where features are selected before the weights are chosen (outer)",
                outer,
                s,
                LUFE,
                SELECTION,
                over_selection,
            ),
        ]
    random = beats("The random control is above RFE", found, "RFE", RANDOM, SELECTION, "small improvements")
    return [*told, random, *claims_by_share(found)]


def beats(text: str, found: pd.DataFrame, selector: str, first: str, second: str, paper: str) -> Claim:
    """Whether a classifier is above another on the data sets, both sizes together; each size is told as well."""
    every = compared(found, selector, first, second)
    sizes = {K: compared(found, selector, first, second, K) for K in SIZES if (found["K"] == K).any()}
    here = f"{every.text}: {every.word} ({'; '.join(f'K = {K}: {p.text}' for K, p in sizes.items())})"
    judged = every.word != UNTOLD
    return Claim(text, paper, here if judged else UNTOLD, every.word == "above" if judged else None)


def claims_by_share(found: pd.DataFrame) -> list[Claim]:
    """Experiment 3, on LUFe-RFE-300."""
    least, much = some_lufe(SHARES[0]), some_lufe(0.7)
    growth, levelling = (compared(found, "RFE", LUFE, arm, SIZES[0]) for arm in (least, much))
    against: list[Pair] = [p for p in by_share(found)["RFE-augmented"] if p.word != UNTOLD]
    above = sum(p.word == "above" for p in against)
    ends = sorted(against, key=lambda p: p.mean)
    return [
        Claim(
            "LUFe-RFE gains as it sees more of the unselected features (all above the best 10 %)",
            "Fig. 3",
            f"{growth.text}: {growth.word}",
            None if growth.word == UNTOLD else growth.word == "above",
        ),
        Claim(
            f"It levels out from 70 % on (70 % within {SOME:g} points of all)",
            "little difference",
            levelling.text,
            None if levelling.word == UNTOLD else abs(levelling.mean) <= SOME,
        ),
        Claim(
            "LUFe-RFE is above RFE-augmented, a plain SVM on the selected features and the same share of the others, "
            "at every share",
            "41 of 49 at every share",
            f"above at {above} of {len(against)} shares, differences of {ends[0].mean:+.2f} to {ends[-1].mean:+.2f}"
            if against
            else UNTOLD,
            above == len(against) if against else None,
        ),
    ]


def notes(found: pd.DataFrame) -> list[str]:
    """What the claims come to, in sentences."""
    told = [verdict(found, s) for s in SELECTORS if len(column(found, s, LUFE))]
    told.append(
        "The draws from a corpus overlap, and judge on the same documents: standard errors tell of other draws, not of "
        "other corpora. The report has each corpus by itself."
    )
    sets = [c for c in found["corpus"].unique() if c not in {s.title for s in SOURCES}]
    told.append(
        f"Of TechTC-300: {', '.join(sets)}, whole sets, judged on the fold that is left out."
        if sets
        else f"No set of TechTC-300 was in the folder of data sets ({TECHTC}NAME.npz); they are left out."
    )
    return told


def verdict(found: pd.DataFrame, s: str) -> str:
    """Whether LUFe wins, and whether it owes that to the unselected features."""
    alone, identity, every = (compared(found, s, LUFE, arm) for arm in (SELECTION, IDENTITY, ALL))
    words = [f"{p.phrase} {name} ({p.mean:+.2f})" for p, name in ((alone, s), (identity, "the identity control"))]
    reason = "there is no gain to explain"
    if identity.word == "above":
        reason = "the unselected features do help"
    elif alone.word == "above":
        blind = compared(found, s, IDENTITY, SELECTION).mean
        reason = f"slacks that see no feature gain {blind:+.2f}; what unselected features add is not told apart from 0"
    return f"LUFe-{s} is {', '.join(words)} and {every.phrase} ALL ({every.mean:+.2f}); {reason}."


STUDY = Study(
    "lufe",
    "LUFe: learning using unselected features (section 4)",
    REFERENCE,
    (8.2, 1800.0),
    tuple(s.name for s in SOURCES),
    plan,
    conclude,
)
