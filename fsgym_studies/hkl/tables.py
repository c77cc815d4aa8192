"""Tables of the study of disjunctions, and the comparisons that its claims use."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from fsgym.comparison.summary import means_with_stds
from fsgym_studies.common.render import with_std
from fsgym_studies.common.statistics import wins, without_rounding_errors
from fsgym_studies.common.study import Table
from fsgym_studies.hkl import printed as paper
from fsgym_studies.hkl.cell import APPROACHES, HKL, KERNEL_L2_SVM, LINEAR_L1_SVM, TABLE1_APPROACHES


def mean_percents(table: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy in percent, one row per data set, one column per approach."""
    means = 100.0 * table.groupby(["dataset", "method"], sort=False)["accuracy"].mean().unstack("method")
    return means.reindex(columns=list(APPROACHES))


def wilcoxon_comparison(
    first: pd.Series | Mapping[str, float], second: pd.Series | Mapping[str, float], level: float = paper.WEAKEST_LEVEL
) -> tuple[str, bool | None]:
    """Compare two approaches over the data sets of Table 1 with Wilcoxon's signed-rank test.

    Returns
    -------
    text : str, wins, ties, losses and the one-sided p-value, by the normal approximation
    significant : bool, whether the first is significantly better; None where a data set is missing
    """
    a, b = (np.array([own.get(d, np.nan) for d in paper.TABLE1_DATASETS], dtype=float) for own in (first, second))
    if np.isnan(a + b).any():
        return "not all data sets", None
    p = one_sided_p(a - b)
    return f"{'/'.join(map(str, wins(a - b)))} wins/ties/losses, p = {p:.3f}", p < level


def one_sided_p(differences: ArrayLike) -> float:
    """p of Wilcoxon's signed-rank test that differences are not above zero, without those that are zero.

    The normal approximation gives 11 of the 15 results that the paper's Table 2 marks for the L2-SVM, of which it has
    10; the exact distribution gives 4.

    >>> one_sided_p(np.array([1.0, 2.0, 3.0, 4.0, 0.0])) < 0.05 < one_sided_p(np.array([-1.0, 1.5, 0.0]))
    True
    """
    differences = without_rounding_errors(differences)
    if not differences.any():
        return 1.0
    return float(stats.wilcoxon(differences, alternative="greater", method="approx").pvalue)  # type: ignore[attr-defined]


def share_selected(own: pd.DataFrame) -> pd.Series:
    """The number of rules, or of Boolean features used, as a share of all Boolean features; NaN where not reported."""
    sizes = own.reindex(columns=["n_kept", "n_literals"]).astype(float)
    return sizes["n_kept"] / sizes["n_literals"]


def approaches_table(table: pd.DataFrame) -> Table:
    """Accuracy of every approach, and the printed ones."""
    accuracies = means_with_stds(table, ["dataset", "method"], ["accuracy"])
    means, stds = (
        100.0 * accuracies[name].unstack("method").reindex(columns=list(APPROACHES))
        for name in ("accuracy", "accuracy_std")
    )
    shares = {name: own[1] for name, (own, _, _) in paper.PRINTED_SHARES.items()}
    printed = {
        "paper": shares | paper.PRINTED_DISJUNCTIONS,  # Table 1 before Table 5 where a data set is in both
        **{f"paper, {machine}": paper.PRINTED_OTHERS[machine] for machine in (KERNEL_L2_SVM, LINEAR_L1_SVM)},
    }
    frame = pd.DataFrame({"data set": [str(d) for d in means.index]})
    for method in APPROACHES:
        frame[method] = [with_std(means.loc[d, method], stds.loc[d, method] or None) for d in means.index]
    for name, accuracies in printed.items():
        frame[name] = [accuracies.get(str(d), np.nan) for d in means.index]
    return Table(
        "accuracy",
        "Accuracy in percent (Table 1)",
        "Means ± one standard deviation over the test parts, and the printed accuracies.",
        frame,
    )


def wilcoxon_table(table: pd.DataFrame) -> Table:
    """The test over data sets, on our accuracies and on the printed ones."""
    rows = mean_percents(table).reindex(paper.TABLE1_DATASETS)
    tests = {m: wilcoxon_comparison(rows[HKL], rows[m]) for m in TABLE1_APPROACHES[1:]}
    for other, printed in paper.PRINTED_OTHERS.items():
        tests[f"{other}, printed"] = wilcoxon_comparison(paper.PRINTED_DISJUNCTIONS, printed)
    frame = pd.DataFrame([{"against": name, "over the data sets": text} for name, (text, _) in tests.items()])
    return Table(
        "wilcoxon",
        "Disjunctions compared with the others over data sets (Table 2)",
        "Wins, ties, losses and the one-sided p-value of Wilcoxon's signed-rank test (normal approximation) over the "
        "ten data sets of Table 1; below that, the same for the accuracies that the paper prints.",
        frame,
    )


def selection_size_table(table: pd.DataFrame) -> Table:
    """How many rules or features each approach uses (Tables 4 and 5)."""
    rows = []
    for (dataset, method), own in table.groupby(["dataset", "method"], sort=False):
        row = {
            "data set": dataset,
            "method": method,
            "accuracy": 100.0 * own["accuracy"].mean(),
            "rules or Boolean features": own["n_kept"].mean(),
            "of": own["n_literals"].mean(),
            "share": share_selected(own).mean(),
            "share of columns used": own["share_used"].mean(),
        }
        if str(method).startswith(HKL):
            row["literals per rule"] = own["words"].astype(float).mean()
            row["certified"] = f"{int((own['status'] == 'certified').sum())} of {len(own)}"
        rows.append(row)
    return Table(
        "kept",
        "Size of the selections (Tables 4 and 5)",
        "Means over the test parts: the number of rules of the disjunctions, or of Boolean features that an SVM uses, "
        "out of all Boolean features; the share of the data set's columns in them; and how many fits are certified to "
        "be within 1 % of the optimum.",
        pd.DataFrame(rows),
    )


def rules_table(table: pd.DataFrame) -> Table:
    """The rules of the disjunctions with the largest weights on the first part of each data set."""
    own = table[(table["method"] == HKL) & (table["split"] == 0)] if "rules" in table else table.iloc[:0]
    rows = [
        (r["dataset"], r["params"], "; ".join([*r["rules"], f"{r['bias']} always"]), r["n_kept"])
        for r in own.to_dict("records")
    ]
    return Table(
        "rules",
        "Rules",
        "Weights and rules on the first part of each data set, at most twelve of them, the largest weights first. The "
        "second class in sorted order is predicted where the sum of the weights is above 0.",
        pd.DataFrame(rows, columns=["data set", "setting", "rules", "of"]),
    )
