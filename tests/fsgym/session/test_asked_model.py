"""A model of somebody else: six members, no base class of ours, asked in Python, on pages, and drawn as a chart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from agents.rcpi.policy import LinearPolicy
from fsgym import Rules, Scaling
from fsgym.chart.stored import measured_chart
from fsgym.data.columns import Column, Columns
from fsgym.session import Advice, Session
from fsgym.session.acquisitions import Acquisitions
from fsgym.session.asked_cases import ask_cases
from fsgym.session.case import step_of
from fsgym.session.on_demand import RowBatch, run_source
from fsgym.session.walk import ActingWalk, WalkOrder, started_state
from support.asked_models import ASKED_AGENTS, asked_model
from support.browsing import Visitor

PULSE, SCAN, AGE = 0, 1, 2
ROWS = np.array([[80.0, 1.0, 3.0], [60.0, 2.0, 4.0], [90.0, np.nan, 1.0], [np.nan, 5.0, 2.0]], np.float32)


class Triage:
    """Asks for the pulse, and from 70 on for the scan; the age is never asked for."""

    def __init__(self):
        self.classes_ = np.array(["home", "ward"])
        columns = Columns([Column("pulse", unit="1/min", low=40.0, high=200.0), Column("scan"), Column("age")])
        rules = Rules(3, 2, costs=[1.0, 5.0, 0.0], names=["pulse", "scan", "age"], lam=0.01)
        self.acquisitions_ = Acquisitions(rules, columns)

    def advise(self, acquired, values, legal):
        high, far = values[:, PULSE] >= 70, values[:, SCAN] > 1.5
        answers = np.where(acquired[:, SCAN], far, high).astype(np.int64)
        wanted = np.where(~acquired[:, PULSE] & legal[:, PULSE], PULSE, np.where(high & legal[:, SCAN], SCAN, -1))
        actions = np.where(wanted >= 0, wanted, 3 + answers)
        preference = np.where(legal[:, :3], [2.0, 1.0, 0.0], -np.inf)
        beyond = np.where(legal[:, :3].any(axis=1), preference.argmax(axis=1), -1)
        unknown, unused = np.full((len(values), 3), np.nan), np.zeros((len(values), 3), bool)
        return Advice(actions, beyond, answers, preference, unknown, np.full(len(values), np.nan), None, unused)

    def policy_digest(self):
        return "triage 1"

    def walk_order(self):
        return WalkOrder.of_user(self.acquisitions_.rules)

    def walk(self, state):
        return ActingWalk(lambda *states: self.advise(*states).actions, self.acquisitions_.rules, state)


class Undecided(Triage):
    """Prefers nothing, and goes on with the last acquisition that it can make."""

    def advise(self, acquired, values, legal):
        advice = super().advise(acquired, values, legal)
        last = np.where(legal[:, :3].any(axis=1), 2 - legal[:, 2::-1].argmax(axis=1), -1)
        return advice._replace(beyond=last, preference=np.where(legal[:, :3], 0.0, -np.inf))


def test_the_acquisition_to_go_on_with_comes_before_others_that_are_preferred_as_much():
    model = Undecided()
    assert [a.name for a in step_of(model, {"pulse": 50}).alternatives] == ["age", "scan"]
    assert [a.name for a in step_of(model, {"age": 50}).alternatives] == ["scan", "pulse"]


def test_a_session_ends_with_its_answer_and_goes_on_from_text():
    model = Triage()
    session = Session(model)
    assert session.next().name == "pulse"
    session.answer("pulse", 80)
    again = Session.from_json(model, session.to_json())
    assert again.next().name == "scan"
    again.answer("scan", 2.0)
    assert (again.next(), again.stop(), again.spent) == (None, "ward", 6.0)
    with pytest.raises(ValueError, match="must be a number from 40 to 200 1/min"):
        Session(model).answer("pulse", 900)
    with pytest.raises(ValueError, match="another model"):
        Session.from_json(asked_model("linear", "base, mixed"), session.to_json())


def test_steps_and_predictions_on_demand_agree():
    model, asked = Triage(), []

    def get(name, rows):
        asked.append((name, list(rows)))
        return ROWS[rows, model.acquisitions_.index[name]]

    batch = RowBatch(model, 4, None)
    run_source(batch, get)
    assert model.classes_[batch.answers].tolist() == ["home", "home", "ward", "home"]
    assert asked == [("pulse", [0, 1, 2, 3]), ("scan", [0, 2])]
    assert step_of(model, {"pulse": 80.0}).question.name == "scan"
    assert step_of(model, {"pulse": 80.0}, unavailable=["scan"]).answer == "ward"


def test_a_page_and_the_interface_for_programs():
    visitor = Visitor(Triage()).sign_in()
    assert "pulse" in visitor.go("/").text
    reply = visitor.step('{"known": {"pulse": 60}}').json()
    assert (reply["question"], reply["answer"]) == (None, "home")


def test_a_chart_asks_what_it_asks():
    model, rng = Triage(), np.random.default_rng(0)
    X = np.column_stack([rng.uniform(40, 110, 400), rng.uniform(0, 3, 400), rng.uniform(size=400)]).astype(np.float32)
    done = ask_cases(model, X)
    assert (done.asked[:, 0] == PULSE).all()
    assert ((done.asked[:, 1] == SCAN) == (X[:, PULSE] >= 70)).all()
    chart = measured_chart(model, X, (X[:, SCAN] > 1.5).astype(np.int64))
    assert [box.question for box in chart.structure.boxes][:2] == [PULSE, SCAN]


def test_a_model_whose_acquisitions_cut_columns_has_no_such_attribute():
    columns = Columns([Column("ward", "category", levels=("a", "b", "c")), Column("age")])

    class Cut:
        @property
        def acquisitions_(self):
            return Acquisitions(Rules(4, 2, groups=[[0, 3], [1, 2]]), columns)

    assert not hasattr(Cut(), "acquisitions_")  # as dir() of scikit-learn asks
    with pytest.raises(ValueError, match="must reveal whole columns"):
        _ = Cut().acquisitions_


@pytest.mark.parametrize("agent", ["linear", "lattice", "mixture", "any_network", "dqn"])
def test_rows_are_asked_as_they_are_classified_also_where_an_acquisition_has_several_features(agent):
    rng = np.random.default_rng(0)
    ward, pulse = rng.integers(0, 3, 200), rng.normal(size=200)
    X = pd.DataFrame({"ward": np.array(list("abc"))[ward], "pulse": pulse, "noise": rng.normal(size=200)})
    y = ((ward == 1) ^ (pulse > 0.5)).astype(int)
    model = ASKED_AGENTS[agent](lam=0.01).fit(X, y)
    asked, done = ask_cases(model, model._features(X)), model.trajectories(X)
    np.testing.assert_array_equal(asked.answers, done.answers)
    np.testing.assert_array_equal(asked.asked, done.order[:, : asked.n_steps])


@pytest.mark.parametrize("empty", [0, 1])
def test_a_linear_policy_answers_alike_where_nothing_can_be_obtained(empty):
    weights, scores = np.zeros((1, 2, 3), np.float32), np.array([5, 0, 1], np.float32)  # the second answer scores more
    rules = Rules(1, 2)
    policy = LinearPolicy(weights, scores, Scaling(np.zeros(1), np.ones(1)), rules, False, empty)
    walk = policy.walk(started_state(rules, np.ones((1, 1), bool)))
    assert walk.begin().tolist() == [0]
    after = walk.go_on(np.array([0]), 0, np.full((1, 1), np.nan), np.array([False]))
    nothing = np.zeros((1, 1), bool)
    assert (
        after == policy.actions(nothing, np.zeros((1, 1), np.float32), np.array([[False, True, True]])) == [1 + empty]
    )
