"""Tables of the study of disjunctions, and what its claims compare."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fsgym_studies.common.render import with_std
from fsgym_studies.common.statistics import wins
from fsgym_studies.common.study import Table
from fsgym_studies.hkl.cell import HKL, L1, L2, METHODS
from fsgym_studies.hkl.printed import DATASETS, KEPT, OURS
from fsgym_studies.hkl.printed import L1 as L1_PRINTED
from fsgym_studies.hkl.printed import L2 as L2_PRINTED
from fsgym_studies.hkl.printed import SELECTIONS as SELECTED

LEVEL = 0.05


def percents(table: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy in percent, a row a data set, a column a method."""
    means = 100.0 * table.groupby(["dataset", "method"], sort=False)["accuracy"].mean().unstack("method")
    return means.reindex(columns=list(METHODS))


def above(first: Mapping[str, float], second: Mapping[str, float]) -> tuple[str, bool | None]:
    """Over the data sets of Table 1: wins, ties, losses and p in words; whether the first is significantly above."""
    pairs = [(first.get(d, np.nan), second.get(d, np.nan)) for d in DATASETS]
    a, b = (np.array(column, dtype=float) for column in zip(*pairs))
    if np.isnan(a + b).any():
        return "not all data sets", None
    found = wins(a, b)
    better = found.wins > found.losses and found.p < LEVEL
    return f"{found.wins} wins, {found.ties} ties, {found.losses} losses, p = {found.p:.3f}", bool(better)


def share_kept(own: pd.DataFrame) -> pd.Series:
    """Rules, or Boolean features, that are kept of those there are."""
    if not {"n_kept", "n_literals"} <= set(own.columns):
        return pd.Series(np.nan, index=own.index)
    return own["n_kept"].astype(float) / own["n_literals"].astype(float)


def table_one(table: pd.DataFrame) -> Table:
    """Accuracy of every approach, with the printed ones."""
    frame = percents(table)
    known = OURS | {name: own[1] for name, (own, _, _) in KEPT.items() if name not in OURS}
    stds = 100.0 * table.groupby(["dataset", "method"])["accuracy"].std(ddof=0).unstack("method")
    told = pd.DataFrame({"data set": [str(d) for d in frame.index]})
    for method in METHODS:
        told[method] = [with_std(frame.loc[d, method], stds.loc[d, method] or None) for d in frame.index]
    for name, printed in (("paper", known), ("paper, L2-SVM", L2_PRINTED), ("paper, L1-SVM", L1_PRINTED)):
        told[name] = [
            printed.get(str(d), KEPT[d][0][1] if name == "paper" and d in KEPT else np.nan) for d in frame.index
        ]
    return Table(
        "accuracy",
        "Accuracy in percent (Table 1)",
        "Means ± one standard deviation over the test parts, and what the paper prints.",
        told,
    )


def wilcoxon_table(table: pd.DataFrame) -> Table:
    """The test over data sets, ours and from the printed numbers."""
    rows = percents(table).reindex(DATASETS)
    printed = {f"{L2}, printed": (*L2_PRINTED.values(),), f"{L1}, printed": (*L1_PRINTED.values(),)}
    for name, pair in SELECTED.items():
        printed |= {f"{name} + {machine}, printed": values for machine, values in zip((L2, L1), pair)}
    told = [{"against": m, "over the data sets": above(rows[HKL].to_dict(), rows[m].to_dict())[0]} for m in METHODS[1:]]
    told += [
        {"against": name, "over the data sets": above(OURS, dict(zip(DATASETS, values)))[0]}
        for name, values in printed.items()
    ]
    return Table(
        "wilcoxon",
        "Disjunctions against the others over data sets (Table 2)",
        "Wins, ties, losses and the two-sided p of Wilcoxon's signed rank test over the ten data sets of Table 1; "
        "last, the same from the numbers that the paper prints.",
        pd.DataFrame(told),
    )


def kept_table(table: pd.DataFrame) -> Table:
    """How much each approach keeps (Tables 4 and 5)."""
    rows = []
    for (dataset, method), own in table.groupby(["dataset", "method"], sort=False):
        row = {
            "data set": dataset,
            "method": method,
            "accuracy": 100.0 * own["accuracy"].mean(),
            "rules or Boolean features": own["n_kept"].mean(),
            "of": own["n_literals"].mean(),
            "share": share_kept(own).mean(),
            "share of columns used": own["share_used"].mean(),
        }
        if method == HKL:
            row["literals a rule"] = own["words"].astype(float).mean()
            row["certified"] = f"{int((own['status'] == 'certified').sum())} of {len(own)}"
        rows.append(row)
    return Table(
        "kept",
        "What is kept (Tables 4 and 5)",
        "Means over the parts: rules of the disjunctions, and Boolean features that the machines use, of those there "
        "are; the share of the data set's columns that are looked at; how many fits are proven to be within 1 % of the "
        "optimum.",
        pd.DataFrame(rows),
    )


def rules_table(table: pd.DataFrame, method: str) -> Table:
    """The heaviest rules of the first part of each data set."""
    rows = []
    if "rules" in table:
        own = table[(table["method"] == method) & (table["split"] == 0)]
        rows = [
            {
                "data set": r["dataset"],
                "setting": r["params"],
                "rules": "; ".join([*r["rules"], f"{r['bias']} always"]),
                "of": r["n_kept"],
            }
            for r in own.to_dict("records")
        ]
    return Table(
        "rules",
        "The rules found",
        "Weights and rules of the first part of each data set, at most twelve of them, the heaviest first; the class "
        "is the second in sorted order where the sum is above 0.",
        pd.DataFrame(rows, columns=["data set", "setting", "rules", "of"]),
    )
