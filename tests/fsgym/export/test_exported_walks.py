"""Random walks with undo on exported pages: what Node shows after each turn is what the plain-Python session counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.asked_models import EXPORTED_RULES, NAMES, asked_model
from support.exported_policies import SCRIPTS, needs_node, run_node
from support.reference_session import ReferenceSession
from tests.agents.test_exported_policies import with_rule

REPLAY = Path(__file__).parents[2] / "support" / "replay_exported.js"
N_TURNS = 10
# small lattices, which are quick to learn, reach their limits
pytestmark = [needs_node, pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")]


def walk(names: list[str], options: dict, rng: np.random.Generator) -> list[tuple[dict, dict]]:
    """Turns that the page offers: after each, what was said, and what the page must show."""
    start = rng.choice(3, len(NAMES), p=[0.8, 0.1, 0.1])
    known, absent = np.flatnonzero(start == 1).tolist(), np.flatnonzero(start == 2).tolist()
    wanted, turns = ReferenceSession(len(NAMES), 3, options, known, absent), []
    for _ in range(N_TURNS):
        legal, kind = wanted.prices(), rng.choice(["answer", "unknown", "later", "undo"], p=[0.5, 0.1, 0.15, 0.25])
        if kind == "undo" and wanted.said:
            wanted.said.pop(int(rng.integers(len(wanted.said))))
            wanted.count()
        elif legal:
            j = int(rng.choice(list(legal)))
            columns = rng.permutation(wanted.open_columns(j)).tolist()
            if kind == "later":
                assert j in wanted.later or wanted.postpone(j)
            elif kind == "unknown":
                assert wanted.unknown(j, wanted.process.groups[j])
            else:
                assert wanted.answer(j, columns[: rng.integers(1, len(columns) + 1)])
        case: dict[str, Any] = {
            "known": {NAMES[k]: 0.25 for k in known},
            "unavailable": [NAMES[k] for k in absent],
            "events": [
                [e.kind, names[e.j], {NAMES[k]: 0.5 - k / 8 for k in e.columns} if e.kind == "answer" else {}]
                for e in wanted.said
            ],
        }
        shown = {
            "log": [["answer" if e.kind == "paid" else e.kind, names[e.j], e.price] for e in wanted.log],
            "spent": wanted.spent,
            "alternatives": {names[j]: price for j, price in wanted.prices().items()},
        }
        turns.append((case, shown))
    return turns


def check_walks(agent: str, variant: str, n: int) -> None:
    model = asked_model(agent, variant)
    names = list(model.rules_.names)
    walks = [walk(names, EXPORTED_RULES[variant], np.random.default_rng([seed, len(variant)])) for seed in range(n)]
    turns = [turn for one in walks for turn in one]
    given = {"folder": str(SCRIPTS), "policy": json.loads(model.policy_json()), "cases": [case for case, _ in turns]}
    for (case, wanted), got in zip(turns, run_node(REPLAY, json.dumps(given)), strict=True):
        question, open_columns = got.pop("question"), got.pop("open")
        assert got.pop("overrides")[0] is False
        assert got == wanted, case
        assert question is None or (question in wanted["alternatives"] and open_columns), case


@pytest.mark.parametrize("variant", EXPORTED_RULES)
@pytest.mark.one_in(3)
def test_an_exported_page_counts_as_a_session_must(variant):
    check_walks("linear", variant, 6)


@pytest.mark.parametrize("agent", ["lattice", "mixture", "any_network"])
def test_pages_of_other_agents_count_as_a_session_must(agent):
    check_walks(agent, "everything", 3)


def test_the_page_of_a_calibrated_model_says_what_overrides_its_rule():
    model, rng, cases, wanted = with_rule(asked_model("lattice", "base")), np.random.default_rng(0), [], []
    for _ in range(40):
        session = model.session()
        for _ in range(4):
            asked, others = session.next(), [a.name for a in session.step.alternatives]
            if asked is None or not others:
                break
            kind = rng.choice(["answer", "other", "unknown", "later"], p=[0.6, 0.15, 0.1, 0.15])
            if kind in ("answer", "other"):
                name = asked.name if kind == "answer" else str(rng.choice(others))
                session.answer(name, float(rng.normal()), accept=True)
            elif kind == "unknown":
                session.unknown(asked.name)
            elif asked.name not in session.postponed:
                session.later(asked.name)
        events = [[e.kind, e.name, e.values if e.kind == "answer" else {}, e.chosen] for e in session._events]
        cases.append({"known": {}, "unavailable": [], "events": events})
        remarked = ["overrode" in entry.remark for entry in session.log()]
        wanted.append([any(remarked), remarked])
    given = {"folder": str(SCRIPTS), "policy": json.loads(model.policy_json()), "cases": cases}
    assert [one["overrides"] for one in run_node(REPLAY, json.dumps(given))] == wanted
    assert 5 < sum(overridden for overridden, _ in wanted) < 35


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["lattice", "mixture", "any_network", "dqn"])
@pytest.mark.parametrize("variant", EXPORTED_RULES)
def test_an_exported_page_of_any_agent_counts_as_a_session_must(agent, variant):
    check_walks(agent, variant, 20)
