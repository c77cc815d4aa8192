"""Tables and pictures of section 6.3.1."""

from __future__ import annotations

import json

import pandas as pd

from fsgym_studies.common.plan import DWSM, L1_SVM, LARS
from fsgym_studies.common.statistics import accuracy_at
from fsgym_studies.common.study import Table
from fsgym_studies.dwsm.study import BUDGET

OTHERS = (DWSM, LARS, L1_SVM)


def beside(table: pd.DataFrame) -> pd.DataFrame:
    """One row a (data set, M): sparsity and accuracy of the budget model, heights of the others' curves there."""
    rows = []
    for _, cells in table.groupby(["dataset", "share", "split"], sort=False):
        for cell in cells[cells["method"] == BUDGET].to_dict("records"):
            row = {
                "dataset": cell["dataset"],
                "M": json.loads(cell["params"])["budget"],
                "sparsity": cell["sparsity"],
                BUDGET: cell["accuracy"],
            }
            for other in OTHERS:
                own = cells[cells["method"] == other]
                if len(own):
                    height = accuracy_at(cell["sparsity"], own["sparsity"], own["accuracy"], cell["chance"])
                    row[other] = float(height)
            rows.append(row)
    columns = ["dataset", "M", "sparsity", BUDGET, *OTHERS]
    return pd.DataFrame(rows, columns=columns).groupby(["dataset", "M"], sort=False).mean().reset_index()


def beside_table(found: pd.DataFrame) -> Table:
    """What ``beside`` finds."""
    return Table(
        "beside",
        "Each budget beside the others at its own sparsity",
        "Accuracy of the budget model, and the height of the others' curves at the sparsity that it reaches in the "
        "same split; means over splits and shares of training data.",
        found.rename(columns={"dataset": "data set"}),
    )
