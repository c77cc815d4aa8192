"""What a session says of its reasons: values that are not used yet, and answers that error costs chose."""

from __future__ import annotations

import numpy as np
import pytest

from agents import LatticeClassifier, MixtureClassifier
from baselines import CARTClassifier
from support.asked_models import NAMES, asked_model, asked_table

# all sets of columns that may be known in advance
SUBSETS = [[name for k, name in enumerate(NAMES) if number >> k & 1] for number in range(1, 2 ** len(NAMES))]


@pytest.mark.parametrize("agent", ["lattice", "linear", "dqn", "mixture", "any_network"])
def test_what_is_not_used_yet_has_no_effect(agent):
    model, table = asked_model(agent, "panel with a needle"), asked_table("panel with a needle")[0].dropna()
    found = 0
    for names in SUBSETS:
        step = model.step(dict(table[names].iloc[0]))
        assert set(step.unused) <= set(names)
        other = dict(table[names].iloc[0]) | dict(table[list(step.unused)].iloc[1])
        assert model.step(other).probabilities == step.probabilities
        assert model.step(other).answer == step.answer
        found += len(step.unused)
    if agent in ("mixture", "any_network"):
        assert found == 0
    elif agent != "dqn":
        assert found


def test_a_lattice_says_which_values_are_outside_of_its_subsets():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    model = LatticeClassifier(lam=0.1, random_state=0).fit(X, y)
    assert model.step({"x0": 2.0}).unused == ()
    session = model.session(known={"x2": 2.0})
    assert session.step.unused == ("x2",)
    assert session.probabilities == model.step({}).probabilities
    assert session.why().endswith(" Known, but not used yet: x2.")
    assert session.step.as_json()["unused"] == ("x2",)


def test_a_tree_uses_the_values_of_its_splits():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = CARTClassifier(max_depth=2).fit(X, (X[:, 0] > 0) & (X[:, 1] > 0))
    first = model.step({}).question.name
    other = "x1" if first == "x0" else "x0"
    assert model.step({other: 1.0}).unused == (other,)
    assert model.step({first: 1.0, other: 1.0}).unused == ()
    assert model.step({first: -1.0, other: 1.0}).unused == (other,)


def test_a_reason_gives_the_probability_of_the_class_that_error_costs_chose():
    X, y = np.zeros((100, 1)), np.repeat(["a", "b", "c"], [45, 30, 25])
    costs = {"a": {"b": 1, "c": 1}, "b": {"a": 1, "c": 1}, "c": {"a": 0.01, "b": 0.01}}
    for error_costs, end in [
        (None, "in a 45 % and b 30 %; its answer now would be a."),
        (costs, "in a 45 %, b 30 % and c 25 %; its answer now would be c, because of the costs of errors."),
    ]:
        model = MixtureClassifier(lam=0.01, error_costs=error_costs, random_state=0).fit(X, y)
        assert end in model.session().why()
