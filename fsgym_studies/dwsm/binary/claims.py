"""Claims of section 6.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fsgym_studies.common.claims import AssessedClaim, Claim, assess
from fsgym_studies.common.curves import areas, by_dataset, heights, summed
from fsgym_studies.common.plan import CART, DWSM, L1_SVM, LARS
from fsgym_studies.dwsm.binary.tables import by_price, cells_at_half
from fsgym_studies.dwsm.claims import datasets_where_above, names_or_none, reaches_printed
from fsgym_studies.dwsm.study import (
    BINARY_METHODS,
    BINARY_TITLES,
    CANCER,
    CANCER_ID,
    L1_SVM_B1,
    L1_SVM_WITHOUT,
    LARS_WITHOUT,
)

L1_READINGS = {
    "an L1-SVM with LIBLINEAR's -B 1": (L1_SVM_B1, LARS),
    "an L1-SVM as LIBLINEAR's default, which has no intercept": (L1_SVM_WITHOUT, LARS),
    "an L1-SVM and LARS that have no intercept": (L1_SVM_WITHOUT, LARS_WITHOUT),
}


def reading_claim(reading: str) -> Claim:
    """The first claim with other L1 methods."""
    return Claim(
        f"The same for {reading}: DWSM is above both at equal sparsity on 7 of 8 data sets (by area)",
        "7 of 8",
        reading,
        lambda both, *_: len(both.above) >= 7 if both.complete else None,
        "{0.text}. With half of the rows for training, on {1}",
    )


L1_CLAIMS = (  # Fig. 2
    Claim(
        "DWSM is above L1-SVM and LARS at equal sparsity on 7 of 8 data sets (its area under the curve is larger "
        "than theirs)",
        "7 of 8",
        "above L1",
        lambda both, *_: len(both.above) >= 7 if both.complete else None,
        "{0.text}. By accuracy at sparsity .5, .7 and .9, above both on {1}, {2} and {3} data sets. By area, above "
        "L1-SVM on {4} and above LARS on {5}",
    ),
    *map(reading_claim, L1_READINGS),
    Claim(
        "The only exception is splice (the only data set where the area of DWSM is not larger than theirs)",
        "splice",
        "above L1",
        lambda both, *_: both.others == ["splice"] if both.complete else None,
        lambda both, *_: f"not above both: {names_or_none(both.others)}",
    ),
    reaches_printed("Breast cancer with id: DWSM's accuracy at sparsity .70", CANCER_ID, 0.7, 0.96),
    reaches_printed("Breast cancer without id: DWSM's accuracy at sparsity .70", CANCER, 0.7, 0.96),
    Claim(
        "Breast cancer with id: L1-SVM and LARS have accuracies of .88 to .90 at sparsity .70 (to within .01, mean "
        "over shares of training data)",
        ".88 to .90",
        "L1 on cancer",
        lambda means: all(0.87 <= v <= 0.91 for v in means.values()) if len(means) == 2 else None,
    ),
)
OTHER_CLAIMS = (  # left out where cells are missing
    # Fig. 3:
    Claim(
        "On some data set CART has an accuracy of about .90 at sparsity .9, above DWSM and the L1 methods (within "
        ".03 of .90, on the data set where CART has the largest lead)",
        ".90",
        "lead of CART",
        lambda dataset, lead, means: lead > 0 and abs(means[CART] - 0.9) <= 0.03,
        "{0}: CART {2[CART]:.3f}, DWSM {2[DWSM]:.3f}, L1-SVM {2[L1-SVM]:.3f}, LARS {2[LARS]:.3f}",
    ),
    Claim(
        "On some data set DWSM is above CART at equal sparsity (its area is larger)",
        "shown for one",
        "above CART",
        lambda above, count: above != [],
        lambda above, count: f"{len(above)} of {count}: {names_or_none(above)}",
    ),
    # Fig. 4, and how stable policies are:
    Claim(
        "Breast cancer with id at sparsity .5: DWSM decides about 60 % of the rows with at most 3 features "
        "(to within .10)",
        ".60",
        "at most three",
        lambda share, sparsity: abs(share - 0.6) <= 0.1,
        "{:.2f} (at the setting nearest to sparsity .5, whose sparsity is {:.2f})",
    ),
    Claim(
        "Breast cancer with id at sparsity .5: DWSM makes almost all of its errors after acquiring all 10 "
        "features (at least .8 of the errors)",
        "almost all",
        "errors after all",
        lambda share, errors: share >= 0.8 if errors else None,
        "{:.2f} of {:.0f} errors",
    ),
    Claim(
        "Policies are stable after 4 to 5 iterations (after the fifth, the training loss changes by at most "
        ".01 per iteration on average)",
        "stable",
        "changes of the loss",
        lambda late, early: late <= 0.01,
        "mean change {:.4f} after the fifth, {:.4f} before",
    ),
    # Fig. 5:
    Claim(
        "The higher lambda, the higher the mean sparsity (it never falls by more than .01)",
        "Fig. 5",
        "by price",
        lambda means: (np.diff(means["sparsity"]) >= -0.01).all(),
        lambda means: f"at lambda {', '.join(f'{lam:g}: {s:.2f}' for lam, s in means['sparsity'].items())}",
    ),
    Claim(
        "If lambda is too high, no feature is acquired and the largest class is predicted (more than half of the "
        "fits at the highest lambda)",
        "Fig. 5",
        "by price",
        lambda means: means["nothing"].iloc[-1] > 0.5,
        lambda means: (
            f"share of such fits {means['nothing'].iloc[-1]:.2f} at lambda {means.index[-1]:g}, "
            f"{means['nothing'].iloc[0]:.2f} at lambda {means.index[0]:g}"
        ),
    ),
)


def claims(table: pd.DataFrame, settings: pd.DataFrame) -> list[AssessedClaim]:
    prices = by_price(table)
    figures = {**tree_figures(table), **usage_figures(table, settings), "by price": prices if len(prices) > 1 else None}
    return assess(L1_CLAIMS, {"table": table, **l1_figures(table)}) + assess(OTHER_CLAIMS, figures, list_all=False)


def l1_figures(table: pd.DataFrame) -> dict[str, Any]:
    """Where DWSM is above the L1 methods, by area and by accuracy, and their accuracies on breast cancer."""
    levels = [datasets_where_above(table, BINARY_TITLES, sparsity=level) for level in (0.5, 0.7, 0.9)]
    single = [datasets_where_above(table, BINARY_TITLES, (method,)) for method in (L1_SVM, LARS)]
    counts = (len(where.above) for where in (*levels, *single))
    means = by_dataset(heights(table[table["dataset"] == CANCER_ID], 0.7))
    half = table[table["share"] == 0.5]
    readings = {
        reading: tuple(datasets_where_above(rows, BINARY_TITLES, pair) for rows in (table, half))
        for reading, pair in L1_READINGS.items()
    }
    return {
        **{reading: (both, len(at_half.above)) for reading, (both, at_half) in readings.items()},
        "above L1": (datasets_where_above(table, BINARY_TITLES), *counts),
        "L1 on cancer": {m: float(means[m].iloc[0]) for m in (L1_SVM, LARS) if m in means} or None,
    }


def tree_figures(table: pd.DataFrame) -> dict[str, Any]:
    """Accuracies where CART has the largest lead at sparsity .9, and where DWSM is above CART by area."""
    means = by_dataset(heights(table, 0.9))
    if not set(BINARY_METHODS) <= set(means.columns):
        return {}
    lead = means[CART] - means[[DWSM, L1_SVM, LARS]].max(axis=1)
    best = str(lead.reindex([d for d in BINARY_TITLES if d in means.index]).idxmax())
    whole = by_dataset(areas(table))
    whole = whole.reindex([d for d in BINARY_TITLES if d in whole.index])
    above = list(whole.index[whole[DWSM] > whole[CART]])
    return {"lead of CART": (best, lead[best], means.loc[best]), "above CART": (above, len(whole))}


def usage_figures(table: pd.DataFrame, settings: pd.DataFrame) -> dict[str, Any]:
    """Rows and errors by number of features on breast cancer, and changes of the training loss."""
    figures: dict[str, Any] = {}
    cells = cells_at_half(table, settings, DWSM)
    if len(cells):
        rows, wrong = summed(cells, "histogram"), summed(cells, "wrong")
        figures["at most three"] = (rows[:4].sum() / rows.sum(), cells["sparsity"].mean())
        figures["errors after all"] = (wrong[-1] / wrong.sum() if wrong.sum() else np.nan, wrong.sum())
    losses = [h for h in table.loc[table["method"] == DWSM, "history"] if isinstance(h, list) and len(h) >= 10]
    if losses:
        steps = np.abs(np.diff(np.array([h[:10] for h in losses]), axis=1)).mean(axis=0)
        figures["changes of the loss"] = (steps[4:].mean(), steps[:4].mean())
    return figures
