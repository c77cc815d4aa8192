"""Claims of section 6.2."""

from __future__ import annotations

import pandas as pd

from fsgym_studies.common.curves import areas, by_dataset, heights
from fsgym_studies.common.plan import DWSM, L1_SVM
from fsgym_studies.common.study import Claim
from fsgym_studies.dwsm.claims import named, reaches

SETS = ("segment", "vehicle", "vowel", "wine")
DRAWN = ("wine", "vowel")  # in Fig. 6


def claims(table: pd.DataFrame) -> list[Claim]:
    found = [reaches("Wine: DWSM at sparsity .8", table, "wine", DWSM, 0.8, 0.9, slack=0.02)]
    means = {level: by_dataset(heights(table, level)) for level in (0.0, 0.5, 0.7, 0.8)}
    if not {DWSM, L1_SVM} <= set(means[0.8].columns):
        return found
    lead = {level: (m[DWSM] - m[L1_SVM]).dropna() for level, m in means.items()}
    pair = means[0.8].reindex(["wine"])
    fell = lead[0.8].get("wine")
    found.append(
        Claim(
            "Wine: L1-SVM has fallen sharply at sparsity .8 where DWSM has not (at least .05 below DWSM, mean over "
            "shares)",
            "L1-SVM well below",
            f"DWSM {pair[DWSM].iloc[0]:.3f}, L1-SVM {pair[L1_SVM].iloc[0]:.3f}",
            None if fell is None else bool(fell >= 0.05),
        )
    )
    for dataset in DRAWN:
        if dataset in lead[0.5].index:
            told = ", ".join(f"{lead[level][dataset]:+.3f} at {level:g}" for level in (0.5, 0.7))
            found.append(
                Claim(
                    f"{dataset.capitalize()}: at intermediate sparsities L1-SVM loses more than DWSM (DWSM above at .5 "
                    "and at .7)",
                    "Fig. 6",
                    f"DWSM − L1-SVM: {told}",
                    bool(lead[0.5][dataset] > 0 and lead[0.7][dataset] > 0),
                )
            )
    ends = [float(lead[0.0][d]) for d in DRAWN if d in lead[0.0].index]
    found.append(
        Claim(
            "As sparsity decreases the two converge (on wine and vowel, within .03 of each other at their least "
            "sparsity)",
            "converge",
            ", ".join(f"{v:+.3f}" for v in ends) + " (DWSM − L1-SVM)",
            all(abs(v) <= 0.03 for v in ends) if len(ends) == len(DRAWN) else None,
        )
    )
    whole = by_dataset(areas(table)).dropna(subset=[DWSM, L1_SVM])
    good = [str(d) for d in whole.index if whole.loc[d, DWSM] > whole.loc[d, L1_SVM]]
    found.append(
        Claim(
            "The same behaviour as on binary data: DWSM above L1-SVM at equal sparsity (larger area on all four)",
            "4 of 4",
            f"{len(good)} of {len(whole)}: {named(good)}",
            len(good) == len(SETS) if len(whole) == len(SETS) else None,
        )
    )
    return found
