"""Trees that are asked case by case: CART and cost-efficient boosting."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine

from baselines import CARTClassifier, CEGBClassifier

COSTS = [[0.0, 5.0, 1.0], [2.0, 0.0, 1.0], [1.0, 9.0, 0.0]]
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12]]
MODELS = {
    "cart": CARTClassifier(random_state=0),
    "cart, pruned": CARTClassifier(ccp_alpha=0.02, random_state=0),
    "cart, shallow": CARTClassifier(max_depth=1, random_state=0),
    "cart, a root": CARTClassifier(ccp_alpha=1.0),
    "cart, error costs": CARTClassifier(max_depth=4, error_costs=COSTS, random_state=0),
    "cegb": CEGBClassifier(lam=0.01, n_estimators=8, cv=None, random_state=0),
    "cegb, groups": CEGBClassifier(
        lam=0.02, n_estimators=6, cv=None, groups=PAIRS, costs=[1, 2, 3, 4, 5, 6, 0.5], error_costs=COSTS
    ),
    "cegb, nothing": CEGBClassifier(lam=5.0, n_estimators=3, cv=None),
}
every_model = pytest.mark.parametrize("name", MODELS)


@cache
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.iloc[::2], np.array(["red", "rose", "white"])[y[::2]], X.iloc[1::2]


@cache
def fitted(name):
    if name.startswith("cegb"):
        pytest.importorskip("lightgbm", reason="needs LightGBM, which the extra cegb installs")
    X, y, _ = wine()
    return clone(MODELS[name]).fit(X, y)


def asked(model, row, **options):
    """A session on one row to its end."""
    session = model.session(**options)
    while question := session.next():
        session.answer(question.name, {c.name: float(row[c.name]) for c in question.columns}, accept=True)
    return session


@every_model
@pytest.mark.one_in(2)
def test_a_session_on_each_row_does_what_predict_does(name):
    model, (_, _, X) = fitted(name), wine()
    used, predicted, rules = model.features_used(X), model.predict(X), model.asked_rules_
    paid = rules.acquisitions_of(used)
    shares = model.predict_proba(X)
    for i, (_, row) in enumerate(X.iterrows()):
        session = asked(model, row)
        assert session.stop() == predicted[i]
        assert {e.name for e in session.log()} == {rules.names[j] for j in np.flatnonzero(paid[i])}
        assert session.spent == pytest.approx(rules.costs[paid[i]].sum())
        np.testing.assert_allclose(list(session.probabilities.values()), shares[i], rtol=1e-12)


@every_model
def test_on_demand_fetches_what_the_paths_need(name):
    model, (_, _, X) = fitted(name), wine()
    fetched = pd.DataFrame(False, index=range(len(X)), columns=X.columns)
    members = {model.asked_rules_.names[j]: [X.columns[i] for i in g] for j, g in enumerate(model.asked_rules_.groups)}

    def get(acquisition, rows):
        fetched.loc[rows, members[acquisition]] = True
        values = X.iloc[rows][members[acquisition]]
        return values if len(members[acquisition]) > 1 else values.iloc[:, 0].to_numpy()

    np.testing.assert_array_equal(model.predict_on_demand(get, len(X)), model.predict(X))
    paid = model.asked_rules_.acquisitions_of(model.features_used(X))
    np.testing.assert_array_equal(model.asked_rules_.acquisitions_of(fetched.to_numpy()), paid)


@pytest.mark.parametrize("kind", [list, pd.Series, np.array])
@pytest.mark.parametrize("name", ["cart", "cegb"])
def test_on_demand_numbers_are_not_rounded_to_float32(name, kind):
    model, X = finely_fitted(name)
    labels = model.predict_on_demand(lambda column, rows: kind(X[rows, int(column[1:])].tolist()), len(X))
    np.testing.assert_array_equal(labels, model.predict(X))


@cache
def finely_fitted(name):
    """A model of columns whose values differ by less than float32 resolves, one of them whole numbers."""
    if name == "cegb":
        pytest.importorskip("lightgbm", reason="needs LightGBM, which the extra cegb installs")
    rng = np.random.default_rng(0)
    X = np.stack([1.7e9 + rng.integers(0, 2000, 600), 1e6 + rng.random(600)], axis=1)
    y = (X[:, 0] > 1.7e9 + 1000) ^ (X[:, 1] > 1e6 + 0.5)
    model = clone(MODELS[name]).set_params(**{"lam": 1e-5} if name == "cegb" else {})
    return model.fit(X, y), X


@every_model
def test_on_demand_without_some_values_answers_as_a_session_does(name):
    model, (_, _, X) = fitted(name), wine()
    rng = np.random.default_rng(1)
    available, comes = rng.random(X.shape) < 0.8, rng.random(X.shape) < 0.8
    table = X.where(comes)
    members = {model.asked_rules_.names[j]: [X.columns[i] for i in g] for j, g in enumerate(model.asked_rules_.groups)}

    def get(acquisition, rows):
        return table.iloc[rows][members[acquisition]].where(available[rows][:, X.columns.isin(members[acquisition])])

    labels = model.predict_on_demand(get, len(X), available=available)
    for i in range(0, len(X), 4):
        session = model.session(unavailable=list(X.columns[~available[i]]))
        while question := session.next():
            shown = {c.name: table.at[X.index[i], c.name] for c in question.columns}
            given = {k: v for k, v in shown.items() if v == v}
            if given:
                session.answer(question.name, given, accept=True)
            for column in shown.keys() - given.keys():
                session.unknown(column)
        assert session.stop() == labels[i]


@every_model
def test_all_known_asks_nothing_and_all_unknown_answers(name):
    model, (_, _, X) = fitted(name), wine()
    step = model.step(X.iloc[0].to_dict(), accept=True)
    assert step.should_stop
    assert step.answer == model.predict(X[:1])[0]
    session = model.session()
    while question := session.next():
        session.unknown(question.name)
    assert session.spent == 0.0
    assert session.step.answer in model.classes_


@pytest.mark.parametrize("name", ["cart", "cart, pruned", "cart, shallow"])
def test_unknown_values_go_where_scikit_learn_sends_them(name):
    model, (_, _, X) = fitted(name), wine()
    rng = np.random.default_rng(0)
    for _, row in X[:20].iterrows():
        missing = rng.random(len(row)) < 0.4
        shown = np.where(missing, np.nan, row.to_numpy())
        Z = (shown[None] - model.scaling_.offset) * model.scaling_.scale
        expected = model.classes_[model.estimator_.predict(Z.astype(np.float32))[0]]
        session = asked(model, row, unavailable=list(X.columns[missing]))
        assert session.stop() == expected
        step = model.step(row[~missing].to_dict(), unknown=list(X.columns[missing]), accept=True)
        assert step.answer == expected


def test_unknown_values_go_where_lightgbm_sends_them():
    lightgbm = pytest.importorskip("lightgbm", reason="needs LightGBM, which the extra cegb installs")
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, 10:20] - X[:, 10:20].mean(axis=0)  # thresholds on both sides of 0
    booster = lightgbm.train(
        {"objective": "binary", "verbose": -1, "num_leaves": 8, "num_threads": 1}, lightgbm.Dataset(X, y), 10
    )
    missing = np.random.default_rng(0).random(X.shape) < 0.5
    with_nan, with_zero = (booster.predict(np.where(missing, v, X)) for v in (np.nan, 0.0))
    np.testing.assert_array_equal(with_nan, with_zero)
    model = CEGBClassifier(lam=0.001, n_estimators=5, cv=None).fit(X, y)
    for i in range(25):
        row = pd.Series(X[i], [f"x{k}" for k in range(10)])
        session = asked(model, row, unavailable=list(row.index[missing[i]]))
        assert session.stop() == model.predict(np.where(missing[i], 0.0, X[i])[None])[0]


def test_alternatives_follow_the_tree():
    model = fitted("cart, pruned")
    tree, names = model.estimator_.tree_, list(wine()[0].columns)
    step = model.step({})
    ranked = [a.name for a in step.alternatives]
    assert ranked[0] == step.question.name == names[tree.feature[0]]
    below = [names[tree.feature[k]] for k in (tree.children_left[0], tree.children_right[0]) if tree.feature[k] >= 0]
    assert set(ranked[1 : 1 + len(set(below))]) == set(below)
    assert set(ranked) == set(names)
    assert step.expected_cost.go_on is None
    assert step.expected_cost.stop == pytest.approx(1 - max(step.probabilities.values()))


@pytest.mark.parametrize("name", ["cart", "cegb, groups"])
def test_undo_resume_and_digests(name):
    model, (X, y, rows) = fitted(name), wine()
    session = asked(model, rows.iloc[3])
    text, step = session.to_json(), session.step
    again = model.resume(text)
    assert (again.to_json(), again.step, again.log()) == (text, step, session.log())
    last = session.log()[-1]
    session.undo()
    assert session.next().name == last.name
    session.answer(last.name, last.values, accept=True)
    assert session.to_json() == text
    other = clone(MODELS[name]).fit(X[10:], y[10:])
    with pytest.raises(ValueError, match="another model"):
        other.resume(text)
    assert clone(MODELS[name]).fit(X, y).policy_digest() == model.policy_digest()


def test_values_out_of_range_are_refused_as_those_of_agents():
    with pytest.raises(ValueError, match="the range in training"):
        fitted("cart").session().answer("alcohol", 99.0)
