"""A small model for the commands that ask about one case: a unit, a group, a category with the level ``s``, a bool."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fsgym
from agents import LatticeClassifier


def cases(n=150, seed=100):
    """Rows of patients, and their labels."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "age": rng.integers(20, 90, n), "crp": rng.gamma(2, 20, n).round(1), "wbc": rng.normal(8, 2, n).round(1),
        "ward": rng.choice(["er", "gp", "s"], n), "smoker": rng.random(n) < 0.4,
    })  # fmt: skip
    score = (table["crp"] - 40) / 20 + (table["ward"] == "s") * 1.5 + table["smoker"] + (table["age"] - 55) / 25
    return table, np.where(score + rng.normal(0, 0.5, n) > 0.6, "yes", "no")


@pytest.fixture(scope="session")
def case_model(tmp_path_factory):
    """The model file; its folder has the table as ``new.csv``."""
    folder = tmp_path_factory.mktemp("asking")
    table, labels = cases()
    data = fsgym.load_dataset(table.assign(ill=labels), target="ill", units={"crp": "mg/l", "age": "years"})
    prices = {"age": 1, "blood": 3, "ward": 1, "smoker": 1}
    model = LatticeClassifier(lam=0.02, groups={"blood": ["crp", "wbc"]}, costs=prices, random_state=0).fit(data)
    model.save(folder / "model.fsgym")
    table.to_csv(folder / "new.csv", index=False)
    return folder / "model.fsgym"
