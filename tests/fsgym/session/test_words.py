"""What sessions say of ranges of a number, and of questions that are free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fsgym
from agents import MixtureClassifier
from fsgym.cli.ask_dialog import Dialog
from fsgym.data.targets import Bins
from fsgym.session import words
from support.browsing import Visitor


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


def test_an_answer_says_what_is_free_and_was_not_asked(model, capsys):
    """Free values that nobody asked stood below as any other acquisition."""
    session = model.session(known={"scan": 1})
    step = session.step
    free = [a for a in step.alternatives if a.name in ("age", "ward")]
    lower, higher, unknown = (
        replace(step, alternatives=tuple(a._replace(expected_cost=cost) for a in free)) for cost in (-1.0, 9.0, None)
    )
    names = ", ".join(a.name for a in free)
    assert words.free_left_text(lower) == f"Free, and not asked: {names}."
    assert words.free_left_text(higher) == f"Free, and not asked, as the expected cost is not lower with them: {names}."
    assert words.free_left_text(unknown) == f"Free, and not asked; what they would change is not estimated: {names}."
    text, visitor = words.free_left_text(step), Visitor(model).sign_in().press("Go on", saved=session.to_json())
    assert all(name in text for name in ("age", "ward"))
    assert text not in visitor.text
    visitor.press("Stop now")
    assert visitor.text.count(text) == 1
    assert visitor.go(f"{visitor.reply.url.path}/log").text.count(text) == 1
    assert Dialog(session, read=lambda _: "x").run()
    assert " ".join(capsys.readouterr().out.split()).count(text) == 1
    assert words.free_left_text(model.step({"age": 50.0, "ward": 1})) == ""


def test_what_the_expected_cost_of_a_number_counts_is_said(model):
    assert "counts by the bins" in words.answer_cost_text(model.step({"scan": 1}))
