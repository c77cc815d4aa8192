"""A made-up table of patients as a hospital has it: ids, a date, categories, missing values, prices, a panel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

ROWS, POSITIVE_SHARE = 1500, 0.09
TARGET = "diagnosis"
NOT_FEATURES = ("visit", "admitted")  # an identifier and a date
PATIENT = "pid"  # some patients have several visits
ARRIVALS = ("ambulance", "helicopter", "referral", "transfer", "walk-in")
UNITS = {"age": "years", "pulse": "1/min", "crp": "mg/l", "troponin": "ng/l", "hgb": "g/dl", "wbc": "1/nl"}
GROUPS = {"blood_count": ["wbc", "hgb", "platelets"]}
PREREQUISITES = {"ct": ["troponin"]}
PRICES = {
    "age": 0.0,
    "sex": 0.0,
    "arrival": 0.0,
    "smoker": 0.5,
    "pulse": 1.0,
    "pain": 0.5,
    "blood_count": 6.0,
    "crp": 4.5,
    "troponin": 12.0,
    "ct": 110.0,
}
ERROR_COSTS = {"other": {"acs": 1000.0}, "acs": {"other": 40.0}}  # {answer: {truth: cost}}
RULES: dict[str, Any] = {
    "lam": 1.0,
    "costs": PRICES,
    "error_costs": ERROR_COSTS,
    "groups": GROUPS,
    "prerequisites": PREREQUISITES,
}


class PatientFiles(NamedTuple):
    """The files that ``write_patients`` makes."""

    table: Path
    prices: Path
    groups: Path
    prerequisites: Path
    error_costs: Path
    units: Path


def patients(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """The whole table: 9 % of the visits are "acs", which troponin, CT, age, pain and arrival show."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    age = rng.integers(18, 95, rows)
    arrival = rng.choice(len(ARRIVALS), rows, p=[0.25, 0.02, 0.2, 0.08, 0.45])
    smoker, pain = rng.random(rows) < 0.3, rng.integers(0, 11, rows)
    risk = (
        0.03 * (age - 60) + 0.8 * smoker + 0.15 * (pain - 5) + np.where(arrival < 2, 1.0, 0.0) + rng.normal(size=rows)
    )
    sick = np.zeros(rows, bool)
    sick[np.argsort(-risk)[: round(POSITIVE_SHARE * rows)]] = True
    troponin = rng.lognormal(np.where(sick, 3.8, 2.0), 0.7).round(1)
    calcium = np.where(sick, 4.0, 0.0) + rng.normal(0, 1.2, rows)
    days = pd.to_datetime("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, rows), unit="D")

    def some_missing(values: Any, share: float) -> Any:
        return np.where(rng.random(rows) < share, np.nan, values)

    return pd.DataFrame(
        {
            "visit": 100_000 + rng.permutation(rows),
            PATIENT: [f"P{k:05d}" for k in rng.integers(0, max(4, int(0.8 * rows)), rows)],
            "admitted": days.strftime("%Y-%m-%d"),
            "age": age,
            "sex": rng.choice(["f", "m"], rows),
            "arrival": np.array(ARRIVALS)[arrival],
            "smoker": smoker,
            "pulse": some_missing(rng.normal(80, 12, rows).round(), 0.05),
            "pain": pain,
            "wbc": some_missing(rng.normal(8, 2, rows).round(1), 0.1),
            "hgb": rng.normal(14, 1.5, rows).round(1),
            "platelets": rng.normal(250, 60, rows).round(),
            "crp": some_missing(rng.lognormal(1.5, 1, rows).round(1), 0.15),
            "troponin": some_missing(troponin, 0.1),
            "ct": some_missing(calcium.round(2), 0.2),
            TARGET: np.where(sick, "acs", "other"),
        }
    )


def features_and_labels(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """The columns that a classifier may use, and the labels."""
    return table.drop(columns=[*NOT_FEATURES, PATIENT, TARGET]), table[TARGET]


def write_patients(folder: Path, table: pd.DataFrame | None = None) -> PatientFiles:
    """Write the table as CSV, and the options of the commands as CSV and JSON files."""
    names = ("patients.csv", "prices.csv", "groups.json", "needs.json", "errors.json", "units.json")
    files = PatientFiles._make(folder / name for name in names)
    (patients() if table is None else table).to_csv(files.table, index=False)
    lines = [f"{name},{price:g}\n" for name, price in PRICES.items()]
    files.prices.write_text("name,price\n" + "".join(lines))
    contents: dict[Path, Any] = {
        files.groups: GROUPS,
        files.prerequisites: PREREQUISITES,
        files.error_costs: ERROR_COSTS,
        files.units: UNITS,
    }
    for path, content in contents.items():
        path.write_text(json.dumps(content))
    return files
