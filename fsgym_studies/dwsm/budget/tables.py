"""Tables and pictures of section 6.3.1."""

from __future__ import annotations

import json

import pandas as pd

from fsgym_studies.common.plan import DWSM, L1_SVM, LARS
from fsgym_studies.common.statistics import accuracy_at
from fsgym_studies.common.study import Table
from fsgym_studies.dwsm.study import BUDGET_MODEL

WITHOUT_BUDGET = (DWSM, LARS, L1_SVM)


def accuracy_at_budgets(table: pd.DataFrame) -> pd.DataFrame:
    """Sparsity and accuracy of DWSM with a budget for each data set and M, and the other methods at equal sparsity.

    Returns
    -------
    DataFrame, columns dataset, M, sparsity and a column per method; means over splits and shares of training data
    """
    rows = []
    for _, cells in table.groupby(["dataset", "share", "split"], sort=False):
        for cell in cells[cells["method"] == BUDGET_MODEL].to_dict("records"):
            row = {
                "dataset": cell["dataset"],
                "M": json.loads(cell["params"])["budget"],
                "sparsity": cell["sparsity"],
                BUDGET_MODEL: cell["accuracy"],
            }
            for other in WITHOUT_BUDGET:
                own = cells[cells["method"] == other]
                if len(own):
                    height = accuracy_at(cell["sparsity"], own["sparsity"], own["accuracy"], cell["chance"])
                    row[other] = float(height)
            rows.append(row)
    columns = ["dataset", "M", "sparsity", BUDGET_MODEL, *WITHOUT_BUDGET]
    return pd.DataFrame(rows, columns=columns).groupby(["dataset", "M"], sort=False).mean().reset_index()


def budget_table(accuracies: pd.DataFrame) -> Table:
    """The table of ``accuracy_at_budgets``."""
    return Table(
        "budgets",
        "DWSM with a budget and the other methods at equal sparsity",
        "Accuracy of DWSM with a budget, and the height of the other methods' curves at the sparsity that it reaches "
        "in the same split; means over splits and shares of training data.",
        accuracies.rename(columns={"dataset": "data set"}),
    )
