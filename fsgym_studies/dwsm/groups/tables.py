"""Tables and pictures of section 6.3.3, Table 7."""

from __future__ import annotations

import json

import pandas as pd

from fsgym_studies.common.printed import printed_numbers
from fsgym_studies.common.render import format_number
from fsgym_studies.common.study import Table

ADULT, SONAR, PCMAC = "Adult", "sonar", "pcmac"


def in_groups(dataset: str, number: int) -> str:
    """The name that tables give to a data set whose features are in random groups."""
    return f"{dataset} in {number} random groups"


def table_7(settings: pd.DataFrame) -> Table:
    """Table 7 with the printed rows and ours."""
    printed = printed_numbers(__file__)
    printed.insert(2, "from", "paper")
    rows = []
    for row in settings.to_dict("records"):
        if str(row["dataset"]).startswith(SONAR):
            continue
        params = json.loads(row["params"])
        setting = f"lambda {params['lam']:g}" if "lam" in params else f"at most {params['max_features']} features"
        rows.append(
            {
                "data set": row["dataset"],
                "method": f"{row['method']}, {setting}",
                "from": "our runs",
                "sparsity": row["sparsity"],
                "used": f"{row['n_acquisitions']:.2f} groups, {row['n_features']:.0f} features",
                "accuracy": row["accuracy"],
            }
        )
    frame = pd.concat([printed, pd.DataFrame(rows, columns=printed.columns)], ignore_index=True)
    for column in ("sparsity", "accuracy"):
        frame[column] = frame[column].map(format_number)
    return Table("table7", "Table 7, printed and ours", "Ours are means over the splits.", frame)
