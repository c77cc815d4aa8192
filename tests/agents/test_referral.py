"""Referral to a person: each learner learns when it pays, and says so in the same way."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import agents
import baselines
import fsgym
from agents import load_classifier, model_file
from fsgym import Rules, evaluate
from fsgym.exact import expected_loss, naive_bayes, optimum, sample
from fsgym.rules.rules import cheapest_answers
from fsgym.session import words
from fsgym.web.interface import openapi_description
from support.browsing import Visitor
from support.exported_policies import asked_by_javascript, cases_of, needs_node

JOINT, LAM, REFER_COST = naive_bayes(6), 0.03, 0.2
PRICES = {"lam": LAM, "refer_cost": REFER_COST}
X, Y = sample(JOINT, 2000, 0)
# How far above the optimum, .1509, each may be, by hand: linear scores cannot say that a middle value is uncertain. The
# optimum without referral is .1779.
LEARNERS = {
    "lattice": (agents.LatticeClassifier(random_state=0, **PRICES), 0.002),
    "mixture": (agents.MixtureClassifier(random_state=0, **PRICES), 0.002),
    "network": (agents.AnyStateNetworkClassifier(n_steps=500, random_state=0, **PRICES), 0.002),
    "adaptive": (agents.AdaptiveClassifier(random_state=0, **PRICES), 0.002),
    "rcpi": (agents.DatumWiseClassifier(random_state=0, **PRICES), 0.022),
    "rcpi, linear answers": (
        agents.DatumWiseClassifier(answers="linear", acquisitions="linear", random_state=0, **PRICES),
        0.026,
    ),
    "rcpi, trees": (agents.DatumWiseClassifier(acquisitions="trees", random_state=0, **PRICES), 0.022),
    "stopping": (baselines.StoppingClassifier(random_state=0, **PRICES), 0.01),
    "panel": (baselines.PanelClassifier(random_state=0, **PRICES), 0.026),
}
# RCPI with other scores of acquisitions or of answers refers in the same lines.
# The default agent chooses among three of the others.
SLOW = ("rcpi, linear answers", "rcpi, trees", "network", "adaptive")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in LEARNERS]
FITTED: dict = {}


def fitted(name):
    if name not in FITTED:
        FITTED[name] = LEARNERS[name][0].fit(X, Y)
    return FITTED[name]


def loss_of(model):
    return expected_loss(model.policy_ if hasattr(model, "policy_") else model, JOINT, model.rules_)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_in(4)
def test_each_learner_learns_when_to_refer(name):
    model = fitted(name)
    best = optimum(JOINT, model.rules_)
    assert -1e-9 < loss_of(model) - best < LEARNERS[name][1]
    assert 0.05 < evaluate(model, X, Y).referred < 0.6  # the optimum refers 29.7 %


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_in(2)
def test_predictions_scores_and_trajectories(name):
    model = fitted(name)
    predicted, result = model.predict(X), evaluate(model, X, Y)
    referred = predicted == "a person"
    assert predicted.dtype == object  # as the classes are numbers
    assert set(predicted[~referred]) <= {0, 1}
    assert model.classes_.tolist() == [0, 1]
    assert referred.mean() == pytest.approx(result.referred)
    assert model.score(X, Y) == pytest.approx((predicted == Y).mean())  # a referred row is not correct
    assert result.accuracy == pytest.approx((predicted == Y)[~referred].mean())
    assert (result.answers == np.where(referred, 2, predicted)).all()
    if hasattr(model, "policy_"):
        assert set(model.trajectories(X).to_frame()["answer"].dropna()) == {0, 1, "a person"}
    assert result.loss == pytest.approx(result.error_cost + LAM * result.spent)
    wrong = (predicted != Y) & ~referred
    assert result.error_cost == pytest.approx(wrong.mean() + REFER_COST * referred.mean())


@pytest.mark.parametrize("name", NAMES)
def test_referral_depends_on_acquired_values_alone(name):
    model, rng = fitted(name), np.random.default_rng(0)
    used = model.features_used(X)
    changed = np.where(used, X, rng.permutation(X.ravel()).reshape(X.shape))
    np.testing.assert_array_equal(model.predict(changed), model.predict(X))
    np.testing.assert_array_equal(model.features_used(changed), used)


@pytest.mark.parametrize("name", ["lattice", "mixture", pytest.param("network", marks=pytest.mark.slow), "stopping"])
def test_a_case_is_referred_where_every_answer_is_expected_to_cost_more(name):
    model = fitted(name)
    answers = cheapest_answers(model.predict_proba(X), model.rules_.answer_costs)
    np.testing.assert_array_equal(model.trajectories(X).answers, answers)


@pytest.mark.parametrize("refer_cost", [0.0, 5.0])
@pytest.mark.parametrize("name", ["lattice", "mixture", "rcpi", "stopping"])
@pytest.mark.one_in(2)
def test_the_extremes(name, refer_cost):
    model = LEARNERS[name][0]
    model = type(model)(**{**model.get_params(), "refer_cost": refer_cost}).fit(X[:500], Y[:500])
    result = evaluate(model, X, Y)
    if refer_cost == 0:  # all are referred at once
        assert (result.loss, result.n_features, result.referred) == (0.0, 0.0, 1.0)
        assert model.score(X, Y) == 0.0
    else:
        assert result.referred == 0.0
        assert result.accuracy > 0.75


def test_labels_of_text_keep_their_type():
    labels = np.where(Y == 1, "ill", "well")
    model = agents.LatticeClassifier(refer_label="the ward", random_state=0, **PRICES).fit(X[:500], labels[:500])
    predicted = model.predict(X)
    assert predicted.dtype.kind == "U"
    assert set(predicted) == {"ill", "well", "the ward"}
    assert model.score(X, labels) == (predicted == labels).mean()
    with pytest.raises(ValueError, match="refer_label must not be a class, got 'ill'"):
        agents.LatticeClassifier(refer_label="ill", random_state=0, **PRICES).fit(X[:500], labels[:500])


def test_row_weights_of_the_score():
    model, weight = fitted("lattice"), np.random.default_rng(0).random(len(Y))
    assert model.score(X, Y, weight) == pytest.approx(np.average(model.predict(X) == Y, weights=weight))


def test_a_person_among_the_labels_is_refused_in_evaluation():
    with pytest.raises(ValueError, match="a person"):
        evaluate(fitted("lattice"), X, np.where(Y == 1, "a person", "0"))


def test_rules_must_have_a_price_for_referral():
    model = fitted("lattice")
    with pytest.raises(ValueError, match="rules must have a refer_cost, as the model may refer a case to a person"):
        evaluate(model, X, Y, rules=Rules(6, 2, lam=LAM))
    with pytest.raises(ValueError, match="must both have a refer_cost, or neither"):
        model.policy_.trajectories(X, Rules(6, 2, lam=LAM))
    dearer = evaluate(model, X, Y, rules=Rules(6, 2, lam=LAM, refer_cost=0.3))
    assert dearer.loss > evaluate(model, X, Y).loss
    plain = agents.LatticeClassifier(lam=LAM, random_state=0).fit(X[:300], Y[:300])
    assert evaluate(plain, X, Y, rules=model.rules_).referred == 0.0


def test_the_loss_is_estimated_with_referral():
    model = agents.LatticeClassifier(random_state=0, **PRICES)
    estimate = model.estimate_loss(X[:600], Y[:600], cv=2)
    figures = estimate.figures()
    referred = estimate.predictions == "a person"
    assert figures["referred"] == pytest.approx(referred.mean())
    assert figures["accuracy"] == pytest.approx((estimate.predictions == Y[:600])[~referred].mean())
    assert estimate.error == pytest.approx(1 - figures["accuracy"])


@pytest.mark.slow
def test_three_classes_with_error_costs_and_missing_values():
    table, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    table = table.iloc[:, :6].mask(np.random.default_rng(0).random((len(table), 6)) < 0.1)
    labels = np.where(labels == 1, "benign", np.where(table.index % 3 == 0, "malignant", "unclear"))
    costs = {
        "benign": {"malignant": 50, "unclear": 20},
        "malignant": {"benign": 10, "unclear": 10},
        "unclear": {"benign": 5, "malignant": 20},
    }
    for model in (
        agents.LatticeClassifier(0.1, error_costs=costs, refer_cost=4, effort=0.1, random_state=0),
        agents.MixtureClassifier(0.1, error_costs=costs, refer_cost=4, random_state=0),
        agents.DatumWiseClassifier(0.1, error_costs=costs, refer_cost=4, n_iterations=3, random_state=0),
        baselines.StoppingClassifier(0.1, error_costs=costs, refer_cost=4, random_state=0),
    ):
        result = evaluate(model.fit(table, labels), table, labels)
        assert 0.0 < result.referred < 1.0
        assert result.confusion.shape == (3, 4)
        assert result.confusion.sum() == len(labels)
        assert isinstance(result.by_class, pd.DataFrame)


# In use: sessions, files, charts, pages.

NAMES = list("abcdef")
TABLE, LABELS = pd.DataFrame(X, columns=NAMES), np.where(Y == 1, "ill", "well")
NAMED = {
    "lattice": agents.LatticeClassifier(random_state=0, **PRICES),
    "mixture": agents.MixtureClassifier(random_state=0, **PRICES),
    "linear": agents.DatumWiseClassifier(random_state=0, **PRICES),  # without probabilities
}


def named(name):
    if f"named {name}" not in FITTED:
        FITTED[f"named {name}"] = NAMED[name].fit(TABLE[:1000], LABELS[:1000])
    return FITTED[f"named {name}"]


def referred_row(model):
    """The number of the first row that is referred after a question."""
    asked = model.features_used(TABLE).any(axis=1)
    return int(np.flatnonzero((model.predict(TABLE) == "a person") & asked)[0])


def session_on(model, row):
    session = model.session()
    while question := session.next():
        session.answer(question.name, float(row[question.name]))
    return session


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.one_in(3)
def test_sessions_refer_the_rows_that_predict_refers(name):
    model = named(name)
    wanted = model.predict(TABLE[:60])
    assert "a person" in wanted
    assert [session_on(model, row).step.answer for _, row in TABLE[:60].iterrows()] == wanted.tolist()
    assert model.predict_on_demand(lambda name, rows: TABLE[name].loc[rows].to_numpy(), TABLE.index[:60]).tolist() == (
        wanted.tolist()
    )


@pytest.mark.parametrize("name", NAMED)
def test_what_a_session_says(name):
    model = named(name)
    session = session_on(model, TABLE.iloc[referred_row(model)])
    step = session.step
    assert step.refers
    assert step.should_stop
    assert step.answer == session.stop() == "a person"
    assert words.answer_text(step).startswith("Refer to a person (paid ")
    assert words.would_stop_text(step) == "The model would stop here and refer to a person."
    assert words.ending_text(step).startswith("Referred to a person, paid ")
    plain = json.loads(json.dumps(step.as_json()))
    assert plain["answer"] == "a person"
    assert "refers" not in plain
    assert openapi_description(model, "a model")["components"]["schemas"]["Step"]["properties"]["answer"] == {
        "enum": ["ill", "well", "a person"]
    }
    if step.probabilities is None:
        assert "The case would be referred to a person now." in session.why()
        return
    assert list(step.probabilities) == ["ill", "well"]
    assert re.search("; it would refer the case to a person now", session.why())
    assert words.answer_cost_text(step).startswith("The cost of referring is 0.2")
    assert step.expected_cost.stop == pytest.approx(REFER_COST)
    assert model.resume(session.to_json()).step == step


def test_a_person_stops_where_the_case_would_be_referred():
    model = named("mixture")
    session = model.session()
    session.stop()
    assert session.step.refers  # nothing is known: half of the cases are ill
    assert session.why().startswith("You stopped and referred to a person; the model would have acquired ")


@pytest.mark.parametrize("name", ["mixture", "linear"])
def test_the_page_of_a_case_refers(name):
    model = named(name)
    row = TABLE.iloc[referred_row(model)]
    visitor = Visitor(model).sign_in()
    visitor.begin()
    session = model.session()
    while question := session.next():
        session.answer(question.name, float(row[question.name]))
        visitor.press("Answer", **{f"value{NAMES.index(question.name)}": str(row[question.name])})
    assert visitor.heading == words.answer_text(session.step)
    visitor.press("End with this answer")
    assert words.ending_text(session.step) in visitor.text


@pytest.mark.parametrize("name", NAMED)
def test_a_model_file_refers_as_before_and_older_versions_refuse_it(name, tmp_path):
    model, path = named(name), tmp_path / "model.safetensors"
    model.save(path)
    assert b"fsgym-model-3" in path.read_bytes()  # fsgym 0.2.0 reads fsgym-model-2 alone
    again = load_classifier(path)
    assert (again.rules_.refer_cost, again.rules_.refer_label) == (REFER_COST, "a person")
    assert again.get_params()["refer_cost"] == REFER_COST
    assert again.policy_digest() == model.policy_digest()
    np.testing.assert_array_equal(again.predict(TABLE), model.predict(TABLE))
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()


def test_a_file_of_another_format_than_its_rules_is_damaged(tmp_path):
    path = tmp_path / "model.safetensors"
    arrays, header = named("linear").policy_.to_arrays()
    rules = named("linear").policy_.rules.state()
    arrays |= {f"rules.{name}": array for name, array in rules[0].items()}
    model_file.write(path, "linear", arrays, {"rules": rules[1], **header})
    path.write_bytes(path.read_bytes().replace(b"fsgym-model-3", b"fsgym-model-2"))
    with pytest.raises(ValueError, match="must be fsgym-model-3"):
        model_file.read(path, "linear")


def test_without_referral_files_have_the_old_format(tmp_path):
    plain = agents.DatumWiseClassifier(lam=LAM, n_iterations=1, random_state=0).fit(TABLE[:200], LABELS[:200])
    plain.save(tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    assert b"fsgym-model-2" in content
    assert b"refer_" not in content + plain.policy_json().encode()
    assert plain.predict(TABLE).dtype == plain.classes_.dtype


@pytest.mark.parametrize("name", NAMED)
def test_charts_refer(name):
    model = named(name)
    chart = model.chart(TABLE, LABELS, max_boxes=50)
    ends = [branch for box in chart.boxes for branch in box.branches if branch.answer == "a person"]
    assert ends
    assert all(branch.wrong is None for branch in ends)
    assert "answer a person" in chart.to_text()
    assert chart.policy_loss == pytest.approx(evaluate(model, TABLE, LABELS).loss)
    assert chart.loss < chart.policy_loss + 0.02
    assert "a person" in chart.to_svg()


@needs_node
@pytest.mark.parametrize("name", NAMED)
def test_the_words_of_exported_pages_are_those_of_sessions(name):
    model = named(name)
    row = referred_row(model)
    session = session_on(model, TABLE.iloc[row])
    case = cases_of(model, TABLE.iloc[[row]], 1)
    last = asked_by_javascript(model.policy_json(), case)[0][-1]
    assert last["answer"] == 2
    assert last["why"] == session.why()


def test_the_exported_rules():
    plain = json.loads(named("lattice").policy_json())
    assert plain["format"] == "fsgym-policy-2"
    assert (plain["rules"]["refer_cost"], plain["rules"]["refer_label"]) == (REFER_COST, "a person")
    assert plain["classes"] == ["ill", "well"]
    assert np.shape(plain["rules"]["error_costs"]) == (2, 2)


def test_compare_refuses_referral():
    data = fsgym.Dataset(X[:100], LABELS[:100])
    with pytest.raises(ValueError, match="compare must be without refer_cost"):
        fsgym.compare(data, methods=["lattice"], refer_cost=0.2)


def test_methods_of_fixed_features_have_no_referral():
    with pytest.raises(TypeError, match="refer_cost"):
        baselines.CARTClassifier(refer_cost=0.2)


def test_the_html_of_a_model_says_so():
    assert "A row may be referred to a person, for 0.2 (refer_cost)." in named("lattice")._repr_html_()


@pytest.mark.slow
def test_temperatures_and_referral_go_together(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 3)) + np.where(y, 0.7, -0.7)[:, None]
    model = agents.MixtureClassifier(lam=0.02, refer_cost=0.2, calibration="temperature", random_state=0).fit(
        X[:300], y[:300]
    )
    assert model.policy_.is_tempered
    result = evaluate(model, X[300:], y[300:])
    assert 0 < result.referred < 1
    assert result.reliability["rows"].sum() == np.count_nonzero(model.predict(X[300:]) != "a person")
    values = [model.step({f"x{i}": float(v) for i, v in enumerate(row)}).answer for row in X[300:340]]
    known = np.ones((40, 3), bool)
    advice = model.policy_.advise(known, X[300:340].astype(np.float32), np.ones((40, model.rules_.n_actions), bool))
    costs = advice.probabilities @ model.rules_.answer_costs.T
    assert values == [["0", "1", "a person"][a] if a == 2 else int(a) for a in costs.argmin(axis=1)]
    model.save(tmp_path / "model")
    assert (load_classifier(tmp_path / "model").predict(X[300:]) == model.predict(X[300:])).all()
