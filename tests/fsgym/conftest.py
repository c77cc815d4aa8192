"""In the tests of this folder each comparison fits its reference points in a moment; and a model that they share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from agents import AdaptiveClassifier


@pytest.fixture(scope="module", autouse=True)
def quick_references_everywhere(quick_references):
    pass


@pytest.fixture(scope="session")
def told_of_missing():
    """A model for which it is evidence whether there is a value of ``crp``, and its rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = pd.DataFrame({"crp": rng.normal(size=400) + y, "age": rng.normal(size=400)})
    X["crp"] = X["crp"].where(rng.random(400) < np.where(y == 1, 0.95, 0.2))
    model = AdaptiveClassifier(lam=0.05, random_state=0).fit(X, y)
    assert model.evidence_ == ("crp",)
    return model, X
