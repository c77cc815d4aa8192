"""Warnings point at the line of the user, not at one of this package."""

import warnings

import numpy as np
import pandas as pd
import pytest

import fsgym
from agents import DatumWiseClassifier
from fsgym.data.columns import Column, Columns
from fsgym.text.messages import warn_caller


@pytest.fixture(scope="module")
def table():
    ward = np.array(["er", "gp", "icu"] * 10)
    return pd.DataFrame({"crp": np.arange(30.0), "ward": ward, "flat": 1.0, "y": np.where(ward == "er", "a", "b")})


@pytest.fixture(scope="module")
def model(table):
    return DatumWiseClassifier(n_iterations=1, states_per_sample=1).fit(table[["crp", "ward"]], table["y"])


UNSEEN = pd.DataFrame({"crp": [1.0], "ward": ["spa"]})

CALLS = {
    "warn_caller": lambda table, model: warn_caller("levels that were not"),
    "load_dataset": lambda table, model: fsgym.load_dataset(table, target="y"),
    "encode": lambda table, model: Columns([Column("ward", "category", ("er",))]).encode(table),
    "predict": lambda table, model: model.predict(UNSEEN),
    "evaluate": lambda table, model: fsgym.evaluate(model, UNSEEN, ["a"]),
    "describe": lambda table, model: fsgym.describe(table, costs={"crp_": 1}),
    "compare": lambda table, model: fsgym.compare(
        fsgym.load_dataset(table, target="y", drop=["flat"]),
        {"bad": DatumWiseClassifier(alpha=7.0)},
        splits=1,
        references=False,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_at_the_call_of_the_user(name, table, model):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name](table, model)
    assert caught
    assert {warning.filename for warning in caught} == {__file__}
