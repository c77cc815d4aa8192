"""Random walks with undo through sessions of all agents and rules: each does what a plain-Python session does."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

from baselines import CARTClassifier, CEGBClassifier
from fsgym.cli.ask import JsonDialog
from fsgym.session import Session
from support.asked_models import ASKED_AGENTS, NAMES, RULES, asked_model, asked_table
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
@pytest.mark.one_in(3)
def test_every_answer_is_judged_where_it_is_given_under_all_rules(variant):
    walk(asked_model("linear", variant), RULES[variant], 5, len(variant))


@pytest.mark.parametrize("variant", ["everything", "panel with a needle"])
@pytest.mark.parametrize("agent", ["lattice", "mixture", "any_network", "dqn"])
@pytest.mark.one_in(2)
def test_every_answer_is_judged_where_it_is_given_by_other_agents(agent, variant):
    walk(asked_model(agent, variant), RULES[variant], 4, len(variant))


@cache
def tree(name: str) -> Any:
    if name.startswith("cegb"):
        pytest.importorskip("lightgbm", reason="needs LightGBM, which the extra cegb installs")
    return clone(TREES[name][0]).fit(*load_wine(return_X_y=True, as_frame=True))


@pytest.mark.parametrize("name", TREES)
def test_every_answer_is_judged_where_it_is_given_by_trees(name):
    walk(tree(name), TREES[name][1], 8, 0)


class SpokenTo:
    """A session that is held by the commands of ``fsgym ask --json``."""

    def __init__(self, session: Session) -> None:
        self.dialog = JsonDialog(session, cast(Any, None))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dialog.session, name)

    def send(self, **command: Any) -> None:
        error = self.dialog.reply(json.dumps(command)).get("error")
        if error is not None:
            raise ValueError(error)

    def answer(self, name: str, value: Any, paid: bool = True) -> None:
        self.send(**{"answer" if paid else "known": {name: value}})

    def unknown(self, name: str) -> None:
        self.send(unknown=name)

    def later(self, name: str) -> None:
        self.send(later=name)

    def undo(self, name: str | None = None, entry: int | None = None) -> None:
        if entry is None:
            self.send(undo=name)
        else:  # which no command does
            self.dialog.session.undo(entry=entry)

    def stop(self) -> None:
        self.send(stop=None)


@pytest.mark.parametrize("variant", ["everything", "panel with a needle", "budget 3"])
def test_commands_of_a_program_are_judged_where_they_are_given(variant):
    for k in range(8):
        one = SessionWalk(asked_model("linear", variant), RULES[variant], np.random.default_rng([3, k]))
        one.session = cast(Session, SpokenTo(one.session))
        one.run()


@pytest.mark.parametrize("variant", RULES)
@pytest.mark.one_in(3)
def test_what_is_fetched_on_demand_is_what_a_session_asks(variant):
    model, names = asked_model("linear", variant), model_names(variant)
    X, rng = asked_table(variant)[0][:12].fillna(0.5), np.random.default_rng(0)
    brought = rng.random(X.shape) < 0.7
    asked: dict[Any, list[str]] = {i: [] for i in X.index}

    def get(name: str, rows: Any) -> Any:
        for i in rows:
            asked[i].append(name)
        return X.where(brought).loc[rows, names[name]]

    labels = model.predict_on_demand(get, X.index)
    for i, row in X.where(brought).iterrows():
        session, said = model.session(), []
        while question := session.next():
            said.append(question.name)
            values = {c.name: row[c.name] for c in question.columns if row[c.name] == row[c.name]}
            if values:
                session.answer(question.name, values, accept=True)
            else:
                session.unknown(question.name)
        assert (said, session.stop()) == (asked[i], labels[X.index.get_loc(i)])


def model_names(variant: str) -> dict[str, list[str]]:
    """The columns of each acquisition."""
    rules = asked_model("linear", variant).rules_
    return {name: [NAMES[i] for i in group] for name, group in zip(rules.names, rules.groups, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("variant", RULES)
@pytest.mark.parametrize("agent", ASKED_AGENTS)
def test_twenty_thousand_walks(agent, variant):
    walk(asked_model(agent, variant), RULES[variant], N_WALKS, 1000 + len(variant))


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_many_walks_of_trees(name):
    walk(tree(name), TREES[name][1], N_WALKS, 1000)
