"""What a case brings: a result without that of the test before it, and columns that do not count for a budget."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from agents import AdaptiveClassifier, AnyStateNetworkClassifier, LatticeClassifier, MixtureClassifier
from fsgym import Dataset, Rules
from support.exported_policies import AskedCase, check_interpreters, needs_node

NAMES = ["sign", "proxy", "scan"]
AGENTS = {
    "adaptive": AdaptiveClassifier,
    "lattice": LatticeClassifier,
    "mixture": MixtureClassifier,
    "network": partial(AnyStateNetworkClassifier, n_steps=400),  # 2,000 by default
}
QUICK = [pytest.param(name, marks=pytest.mark.slow) if name == "network" else name for name in AGENTS]


def table(n=400, seed=0):
    """A weak sign, a proxy, and after it a scan that shows the class; the rare class is expensive to miss."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.15
    sign = np.where(rng.random(n) < np.where(ill, 0.6, 0.4), 1.0, 0.0)
    proxy = rng.normal(np.where(ill, 1.5, 0.0), 1.0)
    scan = np.where(rng.random(n) < np.where(ill, 0.97, 0.02), 1.0, 0.0)
    return Dataset(np.column_stack([sign, proxy, scan]), np.where(ill, "ill", "well"), feature_names=NAMES)


@pytest.mark.parametrize("agent", QUICK)
def test_the_result_of_a_test_counts_without_that_of_its_prerequisite(agent):
    options = {
        "costs": [0.0, 1.0, 4.0],
        "prerequisites": {"scan": ["proxy"]},
        "error_costs": [[0.0, 15.0], [60.0, 0.0]],
    }
    model = AGENTS[agent](1.0, known=["sign"], random_state=0, **options).fit(table())
    for scan, answer in ((1.0, "ill"), (0.0, "well")):
        session = model.session(known={"sign": 1.0, "scan": scan}, unavailable=["proxy"])
        while (question := session.next()) is not None:
            session.unknown(question.name)
        assert session.stop() == answer
        assert session.probabilities[answer] > 0.7


def two_of_four(agent, tmp_path):
    """A model whose cases bring the first column, and may have two of the four others, each a part of the class."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5))
    data = Dataset(X, (X.sum(axis=1) > 0).astype(int), feature_names=["age", "a", "b", "c", "d"])
    costs = {"age": 0.0, "a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    model = AGENTS[agent](1e-4, known=["age"], budget=2, costs=costs, random_state=0).fit(data)
    model.save(tmp_path / "model")
    return model, type(model).load(tmp_path / "model")


def test_a_budget_is_said_to_be_besides_what_is_always_known():
    rules = Rules(3, 2, budget=2, always_known=[1])
    assert "budget=2 besides what is always known" in repr(rules)
    assert repr(Rules(3, 2, budget=2)).endswith("budget=2)")


@needs_node
@pytest.mark.parametrize("agent", ["lattice", "mixture", pytest.param("network", marks=pytest.mark.slow)])
def test_what_is_always_known_does_not_count_for_the_budget(agent, tmp_path):
    starts = {"known": {"age": 0.4}}, {"unavailable": ["age"]}, {"known": {"age": 0.4, "b": 1.0}}, {}
    for model in two_of_four(agent, tmp_path):
        for start in starts:
            session = model.session(**start)
            while (question := session.next()) is not None:
                session.answer(question.name, 0.1)
            assert session.spent <= 2.0
            for name in set("abcd") - set(start.get("known", {})) - {entry.name for entry in session.log()}:
                if session.spent == 2.0:
                    with pytest.raises(ValueError, match=r"budget.*\b2\b"):
                        session.answer(name, 0.1)
                else:
                    session.answer(name, 0.1)
            assert session.spent == 2.0
        two = {"age": 0.4, "c": 0.1, "d": 0.1}
        assert not model.step(two, spent=2.0).alternatives
        assert not model.step(two, spent=2.0, n_paid=2).alternatives
        assert {a.name for a in model.step(two, spent=1.0, n_paid=1).alternatives} == {"a", "b"}
        rows = np.random.default_rng(2).normal(size=(60, 5))
        rows[::2, 0] = np.nan
        table = pd.DataFrame(rows, columns=["age", *"abcd"])
        done = model.trajectories(table)
        assert done.acquired[:, 1:].sum(axis=1).max() == 2
        assert done.acquired[1::2, 0].all()
        alone = [model.trajectories(table[k : k + 1]) for k in range(len(table))]
        assert np.array_equal(done.acquired, np.concatenate([one.acquired for one in alone]))
        assert np.array_equal(done.answers, np.concatenate([one.answers for one in alone]))
        for available in (None, table.notna()):
            asked: list[tuple[str, int]] = []

            def get(name, numbers, asked=asked, table=table):
                asked += [(name, k) for k in numbers if table[name][k] == table[name][k]]
                return table[name].to_numpy()[numbers]

            answers = model.predict_on_demand(get, len(table), available=available)
            assert (answers == model.predict(table)).all()
            assert len(asked) == done.acquired.sum()
        session = model.session()
        session.answer("c", 0.1)
        session.answer("d", 0.1)
        assert session.next() is None or session.next().name == "age"
        session.answer("age", 0.4)  # what does not count can be told after the last acquisition, too
        whole = {"age": 0.4, "a": 1.0, "b": -0.2, "c": 0.3, "d": 0.1}
        cases = [AskedCase(whole, known) for known in ((), ("age",), ("age", "b"))]
        check_interpreters(model, [*cases, AskedCase(whole | {"age": None}, ("b",))])
        assert "at most 2 acquisitions (budget), besides what is always known: age." in model._repr_html_()


@pytest.mark.parametrize("agent", ["lattice", "mixture"])
def test_a_known_column_that_is_missing_leaves_no_room_under_relations_and_in_charts(agent, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5))
    y = (X.sum(axis=1) > 0).astype(int)
    X[rng.random(400) < 0.3, 0] = np.nan
    data = Dataset(X, y, feature_names=["age", "a", "b", "c", "d"])
    related = {"related": [("a", "b"), ("c", "d")], "unrelated_costs": {"age": 0.0} | dict.fromkeys("abcd", 2.0)}
    costs = {"age": 0.0} | dict.fromkeys("abcd", 1.0)
    model = AGENTS[agent](1e-4, known=["age"], budget=2, costs=costs, random_state=0, **related).fit(data)
    table = pd.DataFrame(X[:80], columns=data.columns.names)
    done = model.trajectories(table)
    assert done.acquired[:, 1:].sum(axis=1).max() == 2
    assert (model.predict_on_demand(lambda name, rows: table[name].to_numpy()[rows], 80) == model.predict(table)).all()
    model.save(tmp_path / "model")
    chart = type(model).load(tmp_path / "model").chart(max_boxes=50)
    with_answer = [{*box.known, box.question} - {"age"} for box in chart.boxes]
    assert max(map(len, with_answer)) == 2


@pytest.mark.parametrize("named", [True, False])
def test_a_loaded_model_has_the_known_columns_as_a_parameter(named, tmp_path):
    data = table()
    given = ["sign"] if named else [0]
    X = pd.DataFrame(data.X, columns=NAMES) if named else data.X
    model = MixtureClassifier(lam=1e-3, known=given, budget=1, random_state=0).fit(X, data.y)
    model.save(tmp_path / "model")
    loaded = MixtureClassifier.load(tmp_path / "model")
    assert loaded.known == given
    loaded.set_params(random_state=0).fit(X, data.y)
    np.testing.assert_array_equal(loaded.trajectories(X).order, model.trajectories(X).order)
    MixtureClassifier(lam=1.0, random_state=0).fit(X, data.y).save(tmp_path / "other")
    assert MixtureClassifier.load(tmp_path / "other").known is None
