"""Tables and pictures of section 6.3.3, Table 7."""

from __future__ import annotations

import json

import pandas as pd

from fsgym_studies.common.render import format_number
from fsgym_studies.common.study import Table
from fsgym_studies.dwsm.groups.printed import TABLE_7

ADULT, SONAR, PCMAC = "Adult", "sonar", "pcmac"


def in_groups(dataset: str, number: int) -> str:
    """The name that tables give to a data set whose features are in random groups."""
    return f"{dataset} in {number} random groups"


def table_7(settings: pd.DataFrame) -> Table:
    """Table 7 with the printed rows and ours."""
    rows = [
        {
            "data set": d,
            "method": m,
            "from": "paper",
            "sparsity": format_number(s, 3),
            "used": u,
            "accuracy": format_number(a, 3),
        }
        for d, m, s, u, a in TABLE_7
    ]
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
                "sparsity": format_number(row["sparsity"], 3),
                "used": f"{row['n_acquisitions']:.2f} groups, {row['n_features']:.0f} features",
                "accuracy": format_number(row["accuracy"], 3),
            }
        )
    return Table("table7", "Table 7, printed and ours", "Ours are means over the splits.", pd.DataFrame(rows))
