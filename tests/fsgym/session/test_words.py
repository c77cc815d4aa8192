"""What sessions say of ranges of a number, and of questions that are free."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fsgym
from agents import MixtureClassifier
from fsgym.data.targets import Bins
from fsgym.session import words


def test_the_likeliest_ranges_come_first_in_the_order_of_the_number():
    ranges, rng = Bins.of(np.arange(100.0), 12).ranges(), np.random.default_rng(0)
    shares = rng.permutation(12) / 66
    ranked = words.ranked_beliefs(dict(zip(ranges, shares.tolist(), strict=True)))
    shown, rest = ranked[: words.BELIEFS_SHOWN], ranked[words.BELIEFS_SHOWN :]
    assert [float(label) for label, _ in shown] == sorted(float(label) for label, _ in shown)
    assert min(p for _, p in shown) > max(p for _, p in rest)
    classes = words.ranked_beliefs({f"c{k}": p for k, p in enumerate(shares.tolist())})
    assert [p for _, p in classes] == sorted(shares, reverse=True)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"scan": rng.integers(0, 2, 200), "age": rng.normal(50, 9, 200), "ward": rng.integers(0, 2, 200)}
    )
    table["hours"] = 4.0 * table["scan"] + rng.normal(0, 0.3, 200)
    data = fsgym.load_dataset(table, target="hours", bins=4)
    return MixtureClassifier(lam=1.0, costs={"scan": 0.5, "age": 0, "ward": 0}, random_state=0).fit(data)


def test_free_questions_are_named_beside_one_with_a_price(model):
    session = model.session()
    scan, age = session.question("scan"), session.question("age")
    assert {*words.free_too_text(scan, session.step)[:-1].split(": ")[1].split(", ")} == {"age", "ward"}
    assert words.free_too_text(age, session.step) == ""
    session.answer("age", 50.0)
    session.answer("ward", 1)
    assert words.free_too_text(scan, session.step) == ""


def test_what_the_expected_cost_of_a_number_counts_is_said(model):
    assert "counts by the bins" in words.answer_cost_text(model.step({"scan": 1}))
