"""Claims of section 6.3.1."""

from __future__ import annotations

import pandas as pd

from fsgym_studies.common.plan import DWSM, L1_SVM, LARS
from fsgym_studies.common.study import Claim
from fsgym_studies.dwsm.study import BUDGET_MODEL

EQUAL_ACCURACY = 0.005  # accuracies that differ by less count as equal


def claims(accuracies: pd.DataFrame) -> list[Claim]:
    """Fig. 7, from ``accuracy_at_budgets``; the paper names neither the data sets nor the shares of training data."""
    known = accuracies.dropna()
    five = known[(known["M"] == 5) & known["sparsity"].between(0.7, 0.9)]
    lead = (five[BUDGET_MODEL] - five[[LARS, L1_SVM]].max(axis=1)).sort_values(ascending=False)
    ours = "; ".join(
        f"{r['dataset']} at sparsity {r['sparsity']:.2f}: {r[BUDGET_MODEL]:.2f} / {r[LARS]:.2f} / {r[L1_SVM]:.2f}"
        for r in five.loc[lead.index].to_dict("records")
    )
    sparse = known[known["M"].isin((2, 5)) & (known["sparsity"] >= 0.7)]
    above_both = sparse[BUDGET_MODEL] > sparse[[DWSM, LARS]].max(axis=1)
    equal, equal_sparse = (f[BUDGET_MODEL] >= f[DWSM] - EQUAL_ACCURACY for f in (known, sparse))
    return [
        Claim(
            "M = 5 at sparsity .8: accuracy .77 of DWSM with a budget, .72 of LARS, .65 of L1-SVM (on some data set "
            "where M = 5 gives a sparsity of .7 to .9, DWSM with a budget is at least .05 above both)",
            ".77 / .72 / .65",
            ours or "no such data set",
            bool(lead.max() >= 0.05) if len(lead) else None,
        ),
        Claim(
            "In many cases DWSM with a budget is at least as accurate as DWSM without (at equal sparsity its "
            f"accuracy is at most {EQUAL_ACCURACY:g} lower, in at least half of the combinations of data set and M)",
            "many cases",
            f"{equal.sum()} of {len(equal)}",
            bool(equal.mean() >= 0.5) if len(equal) else None,
        ),
        Claim(
            "The previous claim applies particularly at high sparsity (for M = 2 and 5 and sparsity .7 or more, in a "
            "larger share of the combinations than overall)",
            "particularly",
            f"{equal_sparse.sum()} of {len(equal_sparse)}",
            bool(equal_sparse.mean() > equal.mean()) if len(sparse) else None,
        ),
        Claim(
            "At high sparsity, DWSM with a low budget is above both LARS and DWSM without a budget (for M = 2 and 5 "
            "and sparsity .7 or more, in at least half of the combinations)",
            "Fig. 7",
            f"{above_both.sum()} of {len(above_both)}",
            bool(above_both.mean() >= 0.5) if len(above_both) else None,
        ),
    ]
