"""What Taylor et al. (2016) claim of LUFe, and what the claims come to."""

from __future__ import annotations

import pandas as pd

from fsgym_studies.common.render import DASH
from fsgym_studies.common.study import Claim
from fsgym_studies.lufe.cell import ALL, IDENTITY, LUFE, RANDOM, SELECTION, some_lufe
from fsgym_studies.lufe.printed import PRINTED
from fsgym_studies.lufe.tables import (
    CORPORA,
    OUTER,
    SELECTORS,
    SHARES,
    SIZES,
    TECHTC,
    Pair,
    by_share,
    column,
    compared,
    means,
)

NEW = "not in the paper"
SOME = 0.5  # points that are "little difference"


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
    judged = every.word != DASH
    return Claim(text, paper, here if judged else DASH, every.word == "above" if judged else None)


def claims_by_share(found: pd.DataFrame) -> list[Claim]:
    """Experiment 3, on LUFe-RFE-300."""
    least, much = some_lufe(SHARES[0]), some_lufe(0.7)
    growth, levelling = (compared(found, "RFE", LUFE, arm, SIZES[0]) for arm in (least, much))
    against: list[Pair] = [p for p in by_share(found)["RFE-augmented"] if p.word != DASH]
    above = sum(p.word == "above" for p in against)
    ends = sorted(against, key=lambda p: p.mean)
    return [
        Claim(
            "LUFe-RFE gains as it sees more of the unselected features (all above the best 10 %)",
            "Fig. 3",
            f"{growth.text}: {growth.word}",
            None if growth.word == DASH else growth.word == "above",
        ),
        Claim(
            f"It levels out from 70 % on (70 % within {SOME:g} points of all)",
            "little difference",
            levelling.text,
            None if levelling.word == DASH else abs(levelling.mean) <= SOME,
        ),
        Claim(
            "LUFe-RFE is above RFE-augmented, a plain SVM on the selected features and the same share of the others, "
            "at every share",
            "41 of 49 at every share",
            f"above at {above} of {len(against)} shares, differences of {ends[0].mean:+.2f} to {ends[-1].mean:+.2f}"
            if against
            else DASH,
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
    sets = [c for c in found["corpus"].unique() if c not in CORPORA]
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
