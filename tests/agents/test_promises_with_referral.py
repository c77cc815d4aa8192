"""Promises of models that refer cases to a person: what is promised is about the answered ones."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest

from agents import (
    AdaptiveClassifier,
    AnyStateNetworkClassifier,
    LatticeClassifier,
    MixtureClassifier,
    load_classifier,
    model_file,
)
from agents.certain import CertainPolicy, record_paths
from baselines import PanelClassifier, StoppingClassifier
from fsgym import evaluate
from fsgym.evaluation.calibrate import calibration_rows, chooses_start
from tests.agents.test_promises import NAMES, bytes_of, cases
from tests.fsgym.cli.test_cli import call

pytestmark = pytest.mark.filterwarnings("ignore:.*lattice reached its limit:UserWarning")
PRICES = {"lam": 0.03, "refer_cost": 0.25, "random_state": 0}
AGENTS = {
    "lattice": LatticeClassifier(effort=0.1, **PRICES),
    "mixture": MixtureClassifier(**PRICES),
    "network": AnyStateNetworkClassifier(n_steps=300, **PRICES),
    "adaptive": AdaptiveClassifier(learner="mixture", calibration="temperature", **PRICES),
    "budget": MixtureClassifier(budget=3, **PRICES),
    "costs": MixtureClassifier(error_costs={"well": {"sick": 4.0}, "sick": {"well": 1.0}}, **PRICES),
}
ORDERED = {"stopping": StoppingClassifier(**PRICES), "panel": PanelClassifier(panel=[0, 1, 2, 3], **PRICES)}
# Fits that take longer than a second are in the slow tests.
DEFAULT = ["lattice", "mixture", "budget"]
EACH = [pytest.param(name, marks=[] if name in DEFAULT else pytest.mark.slow) for name in AGENTS]
BASELINES = [pytest.param("panel"), pytest.param("stopping", marks=pytest.mark.slow)]
FITTED: dict = {}
PERSON = "a person"


def fitted(name):
    if name not in FITTED:
        X, y = cases(500, 0)
        FITTED[name] = AGENTS[name].fit(X, y) if name in AGENTS else ORDERED[name].fit(X.to_numpy(), y)
    return copy.deepcopy(FITTED[name])


@pytest.fixture(scope="module")
def rows():
    return cases(900, 1)


def table_for(name, X):
    return X if name in AGENTS else X.to_numpy()


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("name", EACH)
@pytest.mark.slow
def test_sessions_and_tables_agree_row_by_row(name, missing):
    model = fitted(name).calibrate(min_confidence=0.93)
    X, _ = cases(10, 2, missing)
    paths, names = model.trajectories(X), np.array(model.rules_.names)
    labels = [*model.classes_, PERSON]
    for i in range(len(X)):
        unavailable = [name for name in NAMES if np.isnan(X.iloc[i][name])]
        session = model.session(unavailable=unavailable)
        asked = []
        while question := session.next():
            asked.append(question.name)
            session.answer(question.name, {question.name: float(X.iloc[i][question.name])}, accept=True)
        assert asked == names[paths.order[i][paths.order[i] >= 0]].tolist()
        assert session.step.answer == labels[paths.answers[i]]
        assert list(session.probabilities.values()) == pytest.approx(paths.probabilities[i].tolist(), abs=1e-9)
    if missing == 0.0:
        predicted = model.predict(X)
        assert (model.predict_on_demand(lambda name, at: X.loc[at, name], X.index) == predicted).all()


@pytest.mark.parametrize("name", EACH)
def test_a_row_that_ends_uncertain_is_referred(name, rows):
    X, _ = rows
    plain = fitted(name)
    record = record_paths(plain.policy_, plain.arrangement_.rows(plain._features(X)))
    model = fitted(name).calibrate(min_confidence=0.93)
    before, after = plain.trajectories(X), model.trajectories(X)
    answered = after.answers < 2
    assert (after.probabilities[np.arange(len(X)), after.answers % 2][answered] >= 0.93).all()
    by_itself = before.answers == 2
    assert (after.answers[by_itself] == 2).all()
    assert (after.lengths[by_itself] == before.lengths[by_itself]).all()  # which needs no certainty
    by_rule = (after.answers == 2) & ~by_itself
    assert by_rule.any()
    ends = record.lengths[record.first[1:] - 1] == after.lengths
    refers_later = record.answers[record.ends(record.stops & (record.answers == 2))] == 2
    assert (ends | refers_later)[by_rule].all()  # nothing was left, or it refers at a later stop
    whole = model.trajectories(X, continue_after_stop=True)
    unsure = (whole.answers < 2) & (whole.probabilities.max(axis=1) < 0.93)
    assert not unsure.any()


@pytest.mark.parametrize("name", [*EACH, *BASELINES])
@pytest.mark.parametrize("targets", [{"target_error": 0.1}, {"target_error": 0.12, "max_referred": 0.75}], ids=str)
def test_what_is_said_of_the_rows_is_what_predictions_give(name, targets, rows):
    X, y = table_for(name, rows[0]), rows[1]
    plain, model = fitted(name), fitted(name).calibrate(X, y, **targets)
    promise, predicted = model.promise_, model.predict(X)
    others = ~chooses_start(calibration_rows(np.zeros(len(y), int), X, None, None))
    assert others.sum() == 720
    answered = predicted != PERSON
    error = promise.tests[0]
    assert error.n == (answered & others).sum()
    assert error.loss == (predicted != y)[answered & others].sum()
    assert 0 < error.p_value <= 0.1
    if "max_referred" in targets:
        assert promise.tests[1].n == 720
        assert promise.tests[1].loss == (~answered & others).sum()
    result, without = evaluate(model, X, y), evaluate(plain, X, y)
    assert promise.referred == pytest.approx(result.referred) == pytest.approx((~answered).mean())
    assert promise.referred_without == pytest.approx(without.referred)
    assert promise.n_acquisitions == pytest.approx(result.n_acquisitions)
    assert promise.spent == pytest.approx(result.spent)
    assert promise.n_acquisitions_without == pytest.approx(without.n_acquisitions)
    text = str(promise)
    assert f"Referred: {100 * round(result.referred, 4):.6g} % of the rows" in text
    assert "of the answers to cases that are not referred are wrong" in text
    assert f"Shown by {error.n} rows that are answered: {error.loss:g}" in text
    assert "A fifth of the rows chose" in text


@pytest.mark.parametrize("name", ["lattice", "panel"])
def test_recall_counts_answered_rows_of_the_class_alone(name, rows):
    X, y = table_for(name, rows[0]), rows[1]
    model = fitted(name).calibrate(X, y, target_recall={"sick": 0.85})
    predicted = model.predict(X)
    others = ~chooses_start(calibration_rows(np.zeros(len(y), int), X, None, None))
    counted = others & (y == "sick") & (predicted != PERSON)
    assert model.promise_.tests[0].n == counted.sum()
    assert model.promise_.tests[0].loss == (predicted != y)[counted].sum()


def test_the_mean_error_cost_has_what_referring_costs(rows):
    X, y = rows
    model = fitted("costs").calibrate(X, y, target_error_cost=0.3)
    others = ~chooses_start(calibration_rows(np.zeros(len(y), int), X, None, None))
    test = model.promise_.tests[0]
    assert test.n == 720
    assert 4 * test.loss / 720 == pytest.approx(evaluate(model, X[others], y[others]).error_cost)
    assert "with what referring costs" in str(model.promise_)


def test_rows_of_a_patient_choose_and_test_together(rows):
    X, y = rows
    patients = np.arange(len(X)) // 3
    model = fitted("mixture").calibrate(X, y, target_error=0.2, max_referred=0.8, groups=patients)
    predicted = model.predict(X)
    first = chooses_start(calibration_rows(np.zeros(len(y), int), X, None, patients))
    assert first.sum() == 180
    assert pd.Series(first).groupby(patients).nunique().max() == 1
    answered = predicted != PERSON
    shares = pd.Series(predicted != y)[answered & ~first].groupby(patients[answered & ~first]).mean()
    error, referred = model.promise_.tests
    assert (error.n, error.loss) == (len(shares), pytest.approx(shares.sum()))
    assert (referred.n, referred.loss) == (240, pytest.approx((~answered & ~first).sum() / 3))
    assert "groups with rows that are answered" in str(model.promise_)


def test_max_referred_alone_tests_the_model_as_it_is(rows):
    X, y = rows
    plain = fitted("lattice")
    share = evaluate(plain, X, y).referred
    model = fitted("lattice").calibrate(X, y, max_referred=share + 0.05)
    assert (model.predict(X) == plain.predict(X)).all()
    assert "of the cases are referred" in str(model.promise_)
    assert ": no certainty is needed" in model.step({}).certainty.text
    with pytest.raises(ValueError, match=r"a share referred of .* the others could promise a share referred of"):
        fitted("lattice").calibrate(X, y, max_referred=share - 0.05)


def test_refusals_leave_the_model_as_it_was(rows, tmp_path):
    X, y = rows
    model = fitted("lattice")
    before = bytes_of(model, tmp_path)
    joint = {"target_error": 0.02, "max_referred": 0.2}
    with pytest.raises(ValueError, match=r"cannot be promised at confidence 0.9: answered from the certainty on"):
        model.calibrate(X, y, **joint)
    with pytest.raises(ValueError, match=r"needs at least 230 rows that are answered for the calibration, besides the"):
        model.calibrate(X[:200], y[:200], target_error=0.01)
    with pytest.raises(ValueError, match="max_referred must be above 0 and below 1"):
        model.calibrate(X, y, max_referred=1.0)
    assert bytes_of(model, tmp_path) == before


@pytest.mark.parametrize("name", ["lattice", "mixture"])
def test_a_model_file_keeps_the_promise(name, rows, tmp_path):
    X, y = rows
    model = fitted(name).calibrate(X, y, target_error=0.12, max_referred=0.75)
    data = bytes_of(model, tmp_path)
    assert model_file.NEWER_FORMAT.encode() in data
    loaded = load_classifier(tmp_path / "model")
    assert loaded.promise_ == model.promise_
    assert (loaded.predict(X) == model.predict(X)).all()
    assert bytes_of(loaded, tmp_path) == data
    policy, header = model_file.load(tmp_path / "model", type(policy_of(model)))
    for change in ({"referred": None}, {"referred": 2.0}, {"referred": None, "referred_without": None}):
        model_file.save(tmp_path / "model", policy, header | {"promise": header["promise"] | change})
        with pytest.raises(ValueError, match="is damaged"):
            load_classifier(tmp_path / "model")


def policy_of(model):
    assert isinstance(model.policy_, CertainPolicy)
    return model.policy_.policy


@pytest.mark.parametrize("name", [*EACH, *BASELINES])
def test_what_was_not_acquired_changes_nothing(name, rows):
    X, y = table_for(name, rows[0]), rows[1]
    model = fitted(name).calibrate(X, y, target_error=0.12)
    used, rng = model.features_used(X), np.random.default_rng(0)
    values = np.asarray(X)
    hidden = np.where(used, values, rng.permutation(values.ravel()).reshape(values.shape))
    hidden = pd.DataFrame(hidden, columns=NAMES) if name in AGENTS else hidden
    assert (model.predict(hidden) == model.predict(X)).all()
    assert (model.features_used(hidden) == used).all()


def test_a_case_says_why_it_is_referred(rows):
    X, y = rows
    model = fitted("mixture").calibrate(X, y, target_error=0.06)
    predicted, seen = model.predict(X), set()
    plain = fitted("mixture").predict(X)
    for i in np.flatnonzero(predicted == PERSON)[:40]:
        step = model.step({name: float(X.iloc[i][name]) for name in NAMES})
        assert step.should_stop
        if step.refers and step.certainty.enough:
            assert step.certainty.text == "Certain enough: no certainty is needed to refer a case."
            seen.add("itself")
        elif step.refers:
            assert step.certainty.text.startswith("Not certain enough: ")
            assert "nothing is left that could change the answer, so the case is referred." in step.certainty.text
            assert step.expected_cost.stop == 0.25
            session = model.session({name: float(X.iloc[i][name]) for name in NAMES})
            assert "It refers the case because no answer is certain enough" in session.why()
            seen.add("rule")
    assert "rule" in seen
    assert (plain != PERSON)[predicted == PERSON].any()
    rule = json.loads(model.policy_json())["rule"]
    assert rule["sentences"] == model.promise_.sentences()
    assert "cases that are not referred" in model._repr_html_()
    assert "answer a person" in model.chart(X, y).to_text()


def test_the_command_line(rows, tmp_path, capsys):
    X, y = rows
    fitted("lattice").save(tmp_path / "model")
    X.assign(state=y).to_csv(tmp_path / "rows.csv", index=False)
    given = ["calibrate", tmp_path / "model", tmp_path / "rows.csv", "--target", "state", "-o", tmp_path / "new"]
    code, out, errors = call(capsys, *given, "--target-error", "0.12", "--max-referred", "0.75")
    assert code == 0, errors
    assert "at most 75 % of the cases are referred" in out
    code, out, errors = call(capsys, "evaluate", tmp_path / "new", tmp_path / "rows.csv", "--target", "state")
    assert code == 0, errors
    assert "On these 900 rows: " in out
    assert "are referred." in out
    assert f"; referred: {100 * round(evaluate(load_classifier(tmp_path / 'new'), X, y).referred, 4):.6g} % and" in out
    code, _, errors = call(capsys, *given, "--max-referred", "0.001")
    assert code != 0
    assert "cannot be promised" in errors or "needs at least" in errors
