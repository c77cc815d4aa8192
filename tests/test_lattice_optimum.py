"""The lattice agent against the exact optimum of small tasks, found by dynamic programming."""

from __future__ import annotations

import numpy as np
import pytest
from exact import PROBLEMS, draw, expected_loss, optimum

from agents import LatticeClassifier
from fsgym import Rules

LINE = np.eye(8, k=1) + np.eye(8, k=-1)
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7]]
RULES = {
    "base": {"lam": 0.03},
    "budget": {"lam": 0.005, "budget": 3},
    "budget_cost": {"lam": 0.005, "costs": [2, 1.9, 1.7, 1.6, 1.4, 1.3, 1.1, 1], "budget_cost": 5},
    "prices and errors": {"lam": 1, "costs": np.linspace(0.05, 0.01, 8), "error_costs": [[0, 3], [1, 0]]},
    "groups": {"lam": 0.03, "groups": PAIRS},
    "relational": {"lam": 1, "costs": 0.02, "unrelated_costs": 0.06, "related": LINE},
    "prerequisites": {"lam": 0.02, "prerequisites": np.eye(8, k=-1) * (np.arange(8) % 2 == 1)[:, None]},
}  # fmt: skip


def test_the_optimum_of_the_tests_is_that_of_a_hand_worked_task():
    joint = np.zeros((2, 2, 2))  # the first bit is the class in nine of ten cases, the second says nothing
    joint[0, :, 0] = joint[1, :, 1] = 0.225
    joint[0, :, 1] = joint[1, :, 0] = 0.025
    assert optimum(joint, Rules(2, 2, lam=0.1)) == pytest.approx(0.2)
    assert optimum(joint, Rules(2, 2, lam=0.5)) == pytest.approx(0.5)
    assert optimum(joint, Rules(2, 2, lam=0.1, prerequisites=[[0, 1], [0, 0]])) == pytest.approx(0.3)
    assert optimum(joint, Rules(2, 2, lam=0.1, groups=[[0, 1]])) == pytest.approx(0.2)
    assert optimum(joint, Rules(2, 2, lam=0.1, budget=0)) == pytest.approx(0.5)
    # after a 0 answering 0 costs .1 * 4, after a 1 answering 1 costs .1; half of the time each
    assert optimum(joint, Rules(2, 2, lam=0.1, error_costs=[[0, 4], [1, 0]])) == pytest.approx(0.1 + 0.2 + 0.05)


@pytest.mark.parametrize("rules", ["budget", "prices and errors", "groups", "relational", "prerequisites"])
@pytest.mark.parametrize("name", ["naive Bayes", "decision list"])
def test_small_tasks_are_solved(name, rules):
    joint = PROBLEMS[name](8)
    X, y = draw(joint, 1500, 0)
    model = LatticeClassifier(**RULES[rules], random_state=0).fit(X, y)
    best = optimum(joint, model.rules_)
    loss = expected_loss(model.policy_, joint, model.rules_)
    assert best - 1e-9 <= loss <= best + 0.015


@pytest.mark.parametrize("rules", ["groups", "prerequisites"])
def test_questions_that_tell_what_to_ask_are_asked(rules):
    joint = PROBLEMS["multiplexer"](8)
    X, y = draw(joint, 1500, 0)
    model = LatticeClassifier(**RULES[rules], random_state=0).fit(X, y)
    assert expected_loss(model.policy_, joint, model.rules_) <= optimum(joint, model.rules_) + 0.01


WIDE = RULES | {
    "budget_cost": {"lam": 0.005, "costs": np.linspace(2, 1, 12).round(1), "budget_cost": 5},
    "prices and errors": {"lam": 1, "costs": np.linspace(0.05, 0.01, 12), "error_costs": [[0, 3], [1, 0]]},
    "groups": {"lam": 0.03, "groups": [[2 * i, 2 * i + 1] for i in range(6)]},
    "relational": {"lam": 1, "costs": 0.02, "unrelated_costs": 0.06, "related": np.eye(12, k=1) + np.eye(12, k=-1)},
    "prerequisites": {"lam": 0.02, "prerequisites": np.eye(12, k=-1) * (np.arange(12) % 2 == 1)[:, None]},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("rules", WIDE)
@pytest.mark.parametrize("name", ["naive Bayes", "decision list", "multiplexer"])
def test_large_samples_of_twelve_features_come_close_to_the_optimum(name, rules):
    joint = PROBLEMS[name](12)
    X, y = draw(joint, 20_000, 0)
    model = LatticeClassifier(**WIDE[rules], random_state=0).fit(X, y)
    assert expected_loss(model.policy_, joint, model.rules_) <= optimum(joint, model.rules_) + 0.01
