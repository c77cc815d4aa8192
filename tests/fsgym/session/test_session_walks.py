"""Random walks with undo through sessions of all agents and rules: each does what a plain-Python session does."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

from baselines import CARTClassifier, CEGBClassifier
from support.asked_models import ASKED_AGENTS, RULES, asked_model
from support.session_walks import SessionWalk

# small lattices, which are quick to learn, reach their limits
pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")
N_WALKS = 82  # of each of 7 agents under each of 35 rules: 20,090 walks
PAIRS: list[list[int]] = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12]]
TREES: dict[str, tuple[Any, dict]] = {
    "cart": (CARTClassifier(random_state=0), {}),
    "cegb": (CEGBClassifier(lam=0.01, n_estimators=8, cv=None, random_state=0), {}),
    "cegb, groups": (
        CEGBClassifier(lam=0.02, n_estimators=6, cv=None, groups=PAIRS, costs=[1, 2, 3, 4, 5, 6, 0.5]),
        {"groups": PAIRS, "costs": [1, 2, 3, 4, 5, 6, 0.5]},
    ),
}


def walk(model: Any, options: dict, n: int, seed: int) -> None:
    for k in range(n):
        SessionWalk(model, options, np.random.default_rng([seed, k])).run()


@pytest.mark.parametrize("variant", RULES)
def test_every_answer_is_judged_where_it_is_given_under_all_rules(variant):
    walk(asked_model("linear", variant), RULES[variant], 5, len(variant))


@pytest.mark.parametrize("variant", ["everything", "panel with a needle"])
@pytest.mark.parametrize("agent", ["lattice", "mixture", "any_network", "dqn"])
def test_every_answer_is_judged_where_it_is_given_by_other_agents(agent, variant):
    walk(asked_model(agent, variant), RULES[variant], 4, len(variant))


@cache
def tree(name: str) -> Any:
    if name.startswith("cegb"):
        pytest.importorskip("lightgbm")
    return clone(TREES[name][0]).fit(*load_wine(return_X_y=True, as_frame=True))


@pytest.mark.parametrize("name", TREES)
def test_every_answer_is_judged_where_it_is_given_by_trees(name):
    walk(tree(name), TREES[name][1], 8, 0)


@pytest.mark.slow
@pytest.mark.parametrize("variant", RULES)
@pytest.mark.parametrize("agent", ASKED_AGENTS)
def test_twenty_thousand_walks(agent, variant):
    walk(asked_model(agent, variant), RULES[variant], N_WALKS, 1000 + len(variant))


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_many_walks_of_trees(name):
    walk(tree(name), TREES[name][1], N_WALKS, 1000)
