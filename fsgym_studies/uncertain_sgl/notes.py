"""What does not agree with the paper on uncertain data and why, and what the paper misprints."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fsgym_studies.uncertain_sgl.claims import NEAR, NUMBERS, near, printed_of
from fsgym_studies.uncertain_sgl.printed import FS, PRINTED, RAW, SMALL
from fsgym_studies.uncertain_sgl.tables import ALL, RECODED, SHORT, beside, chosen, of

FEWER = 20  # steps


def notes(table: pd.DataFrame) -> list[str]:
    """All of them, in sentences."""
    found = beside(table)
    told = [*step_notes(found, of(table, SHORT)), *code_notes(found, of(table, RECODED))]
    if len(found):
        means = {mode: 100 * found[f"{mode}_accuracy"].mean() for mode in ("early", "exact")}
        sparse = found[found["column"] == SMALL]
        ratios = [printed_of(r).ratio for r in sparse.itertuples()]
        told.append(
            f"Over all printed settings the mean accuracy is {means['early']:.2f} after 100 steps and "
            f"{means['exact']:.2f} at the minimum; where the ratio is below 0.9 the steps keep "
            f"{sparse['early_ratio'].mean():.3f} of the sub-features (printed: {np.mean(ratios):.3f}), the minimum "
            f"{sparse['exact_ratio'].mean():.3f}."
        )
    told += optimism_notes(chosen(table))
    told.append(
        "FNum as printed, d minus the number of features that are kept, contradicts every table; here it is the number "
        "that is kept. The mean of the printed raw accuracies is 87.53, not 87.43, and that of the ratios below 0.9 in "
        "Table 3 is 0.700, not 0.696. Feature scales and a stopping rule are not printed: 100 accelerated steps from "
        "zero on features scaled to [0, 100] are inferred from the tables."
    )
    return told


def step_notes(found: pd.DataFrame, short: pd.DataFrame) -> list[str]:
    """What 100 steps miss of the sparse columns, and what fewer steps find there."""
    rows, keys = found[found["column"] == SMALL].copy(), ["distribution", "dataset"]
    if rows.empty or short.empty:
        return []
    fewer = short.groupby(keys)["early_fnum"].mean()
    rows["fewer"] = [fewer.get((r.distribution, r.dataset), np.nan) for r in rows.itertuples()]
    reached = np.array([near(r.early_fnum, printed_of(r)) for r in rows.itertuples()])
    then = np.array([near(r.fewer, printed_of(r)) for r in rows.itertuples()])
    missed = [
        f"{r.dataset} {r.distribution} {r.early_fnum:.1f} and {r.fewer:.1f} ({printed_of(r).fnum:g})"
        for r in rows[~reached].itertuples()
    ]
    if not missed:
        return []
    late, soon, n = then[~reached].sum(), then[reached].sum(), reached.sum()
    above = [f"{rows.loc[of_them, 'above'].median():.1e}" for of_them in (~reached, reached)]
    return [
        f"FNum after 100 and after {FEWER} steps, where 100 miss the printed one (in parentheses): "
        f"{'; '.join(missed)}. After {FEWER} steps {late} of these {len(missed)} are within {NEAR:.0%}, "
        f"and {soon} of the other {n}. A solver that stops once the objective hardly falls "
        f"takes few steps where 100 are near the minimum; the median objective after 100 is {above[0]} of the minimum "
        f"above it where they miss FNum, and {above[1]} elsewhere."
    ]


def code_notes(found: pd.DataFrame, recoded: pd.DataFrame) -> list[str]:
    """What another coding of categories and missing values does to FNum."""
    told = []
    for name, what in (
        ("German", "categories are codes, and their order is not told"),
        ("Hepatitis", "6 % of its table is missing, and what stands in is not told"),
        ("Horse", "24 % of its table is missing, and what stands in is not told"),
    ):
        parts = []
        for noise in NUMBERS:
            own = found[(found["column"] == SMALL) & (found["distribution"] == noise) & (found["dataset"] == name)]
            others = recoded[recoded["distribution"] == noise] if len(recoded) else recoded
            others = others[others["dataset"].str.startswith(name)] if len(others) else others
            if len(own) and len(others):
                values = others.groupby("dataset")["early_fnum"].mean()
                ends = " to ".join(f"{v:.1f}" for v in sorted({values.min(), values.max()}))
                parts.append(f"{own['early_fnum'].iloc[0]:.1f}, {ends} ({PRINTED[noise, SMALL][name].fnum:g})")
        if parts:
            how = "in four random orders" if name == "German" else "with a value of its own for what is missing"
            told.append(
                f"{name}: {what}. FNum after 100 steps with our codes, and {how} (printed): {'; '.join(parts)}."
            )
    if told:
        told.append(
            f"The paper's accuracies on raw data of Horse ({RAW['Horse'].accuracy:g}) and Hepatitis "
            f"({RAW['Hepatitis'].accuracy:g}) are far above ours: its attributes or targets are not the same."
        )
    return told


def optimism_notes(found: pd.DataFrame) -> list[str]:
    if found.empty:
        return []
    lead = 100 * (found["best"] - found["nested"]).groupby(found["arm"]).mean()
    sizes = found.groupby("arm")["n_settings"].max()
    told = ", ".join(f"{arm} {lead[arm]:+.2f} (of up to {sizes[arm]})" for arm in (ALL, FS, SMALL))
    return [
        f"What the best of the grid promises above a setting chosen on inner folds, in points, mean over data sets and "
        f"noises: {told}. The paper tells the best of up to 480 settings on the folds that it reports."
    ]
