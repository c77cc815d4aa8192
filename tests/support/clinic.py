"""A small table with a category, a bool, units and a group, and classifiers that were fitted on it."""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier

BLOOD = ["wbc", "hgb"]
OPTIONS: dict[str, Any] = {
    "groups": {"blood": BLOOD},
    "costs": {"age": 0.0, "ward": 1.0, "fever": 0.5, "crp": 2.0, "blood": 3.0, "ct": 8.0},
    "prerequisites": {"ct": ["crp"]},
    "lam": 0.01,
}


@cache
def clinic_table(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Patients, of whom a third is ill; most of it shows in the CT, some in the blood and the fever."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.35
    table = pd.DataFrame(
        {
            "ct": (ill + 0.25 * rng.normal(size=n)).round(3),
            "age": rng.integers(18, 95, n),
            "ward": np.where(rng.random(n) < 0.5, "er", np.where(ill, "icu", "gp")),
            "fever": rng.random(n) < 0.2 + 0.5 * ill,
            "crp": (rng.lognormal(1 + ill, 0.8, n)).round(1),
            "wbc": (7 + 3 * ill + 2 * rng.normal(size=n)).round(1),
            "hgb": (14 - ill + rng.normal(size=n)).round(1),
        }
    )
    return table, np.where(ill, "ill", "well")


@cache
def clinic_model(agent: str = "lattice", cheap: str = "", **options: Any) -> Any:
    """A fitted classifier of the clinic: "lattice" or "rcpi"; ``options`` as "budget" are added.

    With ``cheap`` all other acquisitions have a price at which none is worth making.
    """
    X, y = clinic_table()
    data = fsgym.load_dataset(X.assign(state=y), target="state", units={"crp": "mg/l", "age": "years"})
    given = OPTIONS | options
    if cheap:
        given["costs"] = dict.fromkeys(OPTIONS["costs"], 90.0) | {cheap: 0.1}
    if agent == "rcpi":
        return DatumWiseClassifier(n_iterations=2, random_state=0, **given).fit(data)
    return LatticeClassifier(random_state=0, **given).fit(data)


@cache
def certain_clinic(**targets: Any) -> Any:
    """The lattice of the clinic, calibrated on other patients; by default it promises few errors."""
    X, y = clinic_table(800, 1)
    model = copy(clinic_model(lam=0.03))
    return model.calibrate(X, y, **(targets or {"target_error": 0.06, "confidence": 0.8}))


CHEST_COSTS = {  # by answer, then by true class
    "harmless": {"pneumonia": 600.0, "embolism": 8000.0},
    "pneumonia": {"harmless": 300.0, "embolism": 8000.0},
    "embolism": {"harmless": 1000.0, "pneumonia": 1000.0},
}


@cache
def chest_table(n: int = 600, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Patients with chest pain, of whom few have an embolism, and many what costs little to miss."""
    rng = np.random.default_rng(seed)
    state = rng.choice(["harmless", "pneumonia", "embolism"], n, p=[0.72, 0.22, 0.06])
    table = pd.DataFrame(
        {
            "age": (rng.normal(55, 15, n) + 8 * (state == "embolism")).round().clip(18, 95).astype(int),
            "sex": rng.choice(["f", "m"], n),
            "crp": rng.lognormal(1 + 2 * (state == "pneumonia") + (state == "embolism"), 0.7).round(1),
            "blood_sample": rng.lognormal(5 + 1.2 * (state == "embolism"), 0.5).round(),
        }
    )
    return table, state


@cache
def chest_model() -> Any:
    """A lattice that refers a case for 250 where a missed embolism costs 8,000; each case brings age and sex."""
    X, y = chest_table()
    data = fsgym.load_dataset(X.assign(state=y), target="state", units={"crp": "mg/l", "age": "years"})
    prices = {"age": 0.0, "sex": 0.0, "crp": 10.0, "blood_sample": 25.0}
    return LatticeClassifier(
        lam=1.0, costs=prices, error_costs=CHEST_COSTS, refer_cost=250.0, known=["age", "sex"], random_state=0
    ).fit(data)
