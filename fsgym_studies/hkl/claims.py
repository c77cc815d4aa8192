"""Tables and claims of the study of disjunctions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fsgym_studies.common.statistics import mean_of, wins
from fsgym_studies.common.study import Claim, Table
from fsgym_studies.hkl.cell import HKL, L1, L2, METHODS, SELECTIONS
from fsgym_studies.hkl.printed import DATASETS, KEPT, OURS, SIGNIFICANT
from fsgym_studies.hkl.printed import L1 as L1_PRINTED
from fsgym_studies.hkl.printed import L2 as L2_PRINTED
from fsgym_studies.hkl.printed import SELECTIONS as SELECTED

NEAR = 1.0  # points that still count as the printed accuracy
COMPARABLE = 2.0  # points below the best approach
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


def claims(table: pd.DataFrame) -> list[Claim]:
    means = percents(table)
    told = [*accuracies(table), *comparisons(means), *texts(means), *sparse(table)]
    return told + (of_the_print() if len(table) else [])


def accuracies(table: pd.DataFrame) -> list[Claim]:
    """Table 1, the disjunctions."""
    found = []
    for dataset, printed in OURS.items():
        own = mean_of(100.0 * table.loc[(table["dataset"] == dataset) & (table["method"] == HKL), "accuracy"])
        told = f"{own.mean:.2f}" + (f" ± {own.std:.2f} over {own.count} parts" if own.count > 1 else "")
        found.append(
            Claim(
                f"Table 1, {dataset}: accuracy of the disjunctions in percent (at most {NEAR:g} below)",
                f"{printed:.2f}",
                told if own.count else "–",
                bool(own.mean >= printed - NEAR) if own.count else None,
            )
        )
    return found


def comparisons(means: pd.DataFrame) -> list[Claim]:
    """Table 1's summary, and Table 2."""
    rows = means.reindex(DATASETS)
    behind = rows.max(axis=1) - rows[HKL]
    known = not rows.isna().any(axis=None)
    far = [f"{d} by {behind[d]:.1f}" for d in DATASETS if behind[d] > COMPARABLE]
    found = [
        Claim(
            f"On each data set of Table 1 comparable with the best of all approaches (at most {COMPARABLE:g} points "
            "below the best of the seven here)",
            "all ten",
            ("all ten" if not far else f"not on {', '.join(far)}") if known else "–",
            not far if known else None,
        )
    ]
    printed = {L2: ("significant (.05)", L2_PRINTED), L1: ("significant (.005)", L1_PRINTED)}
    for other in (L2, L1):
        said, holds = above(rows[HKL].to_dict(), rows[other].to_dict())
        theirs = above(OURS, printed[other][1])[0]
        found.append(
            Claim(
                f"Table 2: significantly better than {other} on all features (Wilcoxon's signed rank test over the ten "
                f"data sets, two-sided, p below {LEVEL:g})",
                f"{printed[other][0]}; from its Table 1: {theirs}",
                said,
                holds,
            )
        )
    for other in SELECTIONS:
        said, holds = above(rows[HKL].to_dict(), rows[other].to_dict())
        found.append(
            Claim(
                f"Selections by chi2 and information gain are significantly worse: {other} (the same test)",
                "significant, left out of its Table 1",
                said,
                holds,
            )
        )
    return found


def of_the_print() -> list[Claim]:
    """Table 2 computed again from the numbers of Table 1."""
    found = []
    for k, (machine, count) in enumerate(zip((L2, L1), SIGNIFICANT)):
        better = [above(OURS, dict(zip(DATASETS, by_machine[k])))[1] for by_machine in SELECTED.values()]
        found.append(
            Claim(
                f"Table 2, computed again from the printed Table 1: of 15 selections with {machine}, how many are "
                f"significantly worse (the same test; not fewer)",
                str(count),
                str(sum(map(bool, better))),
                sum(map(bool, better)) >= count,
            )
        )
    return found


def texts(means: pd.DataFrame) -> list[Claim]:
    """Table 3."""
    row = means.reindex(["20 newsgroups"]).iloc[0]
    known = not row[[HKL, L2, L1]].isna().any()
    return [
        Claim(
            "Table 3, 20 newsgroups: the disjunctions are above L1-SVM and L2-SVM",
            "94.55 / 93.14 / 91.38",
            f"{row[HKL]:.2f} / {row[L1]:.2f} / {row[L2]:.2f}" if known else "–",
            bool(row[HKL] > max(row[L1], row[L2])) if known else None,
        )
    ]


def sparse(table: pd.DataFrame) -> list[Claim]:
    """Tables 4 and 5: how many rules, and how accurate."""
    found = []
    for dataset, ((share, accuracy), other, (their_share, their_accuracy)) in KEPT.items():
        own = table[(table["dataset"] == dataset) & (table["method"] == HKL)]
        known = len(own) > 0
        here = 100.0 * own["accuracy"].mean()
        kept = share_kept(own).mean()
        found.append(
            Claim(
                f"Tables 4 and 5, {dataset}: accuracy of the disjunctions in percent (at most {NEAR:g} below)",
                f"{accuracy:.2f}",
                f"{here:.2f}" if known else "–",
                bool(here >= accuracy - NEAR) if known else None,
            )
        )
        found.append(
            Claim(
                f"Tables 4 and 5, {dataset}: rules as a share of the Boolean features are fewer than the share of "
                f"features of the best {other} ({their_share:g}, {their_accuracy:.2f} %)",
                f"{share:g}",
                f"{kept:.4f}" if known else "–",
                bool(kept < their_share) if known else None,
            )
        )
    return found


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
        told[method] = [spelled(frame.loc[d, method], stds.loc[d, method]) for d in frame.index]
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


def spelled(mean: float, std: float) -> str:
    if mean != mean:
        return "–"
    return f"{mean:.2f}" if std != std or std == 0.0 else f"{mean:.2f} ± {std:.2f}"


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
