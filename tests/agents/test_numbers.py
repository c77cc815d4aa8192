"""A numeric target: agents, model files, sessions, pages, charts and evaluations speak of numbers."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import agents
import fsgym
from agents import load_classifier, model_file
from agents.base import model_parts
from fsgym import Bins, Dataset, Rules
from fsgym.evaluation.number_references import reference_errors
from fsgym.session import words
from fsgym.text.speech import Speech, speaking
from fsgym.web.interface import openapi_description
from support.exported_policies import asked_by_javascript, asked_by_model, cases_of, needs_node
from support.refusals import one_sentence

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (600, 3)).astype(float)
Y = 2 * X[:, 0] + X[:, 1] * (X[:, 0] == 2) + RNG.normal(0, 0.3, 600)  # x2 is useless
DATA = Dataset(X, Y, bins=6, feature_names=["size", "age", "noise"], name="sold")
FRAME = pd.DataFrame(X, columns=["size", "age", "noise"])
TRAIN, TEST = DATA.split(0.6, seed=0)
PLAIN = Dataset(X, np.round(Y).astype(int) > 1, feature_names=["size", "age", "noise"])
FITTED: dict = {}


def fitted(**options):
    key = str(options)
    if key not in FITTED:
        FITTED[key] = agents.LatticeClassifier(random_state=0, **({"lam": 0.1} | options)).fit(TRAIN)
    return FITTED[key]


def test_predictions_are_numbers_of_bins_from_few_features():
    model = fitted()
    predicted = model.predict(TEST)
    assert predicted.dtype == np.float64
    assert set(predicted) <= set(TRAIN.bins.values)
    assert np.abs(predicted - TEST.numbers).mean() < 0.45
    assert model.score(TEST, TEST.numbers) == pytest.approx(-np.abs(predicted - TEST.numbers).mean())
    assert model.predict_proba(TEST).shape == (TEST.n_samples, model.bins_.n_bins)
    assert model.features_used(TEST).sum(axis=1).mean() < 2
    assert model.features_used(TEST)[:, 2].mean() < 0.1


def test_evaluation_counts_true_numbers():
    model, result = fitted(), fsgym.evaluate(fitted(), DATA.rows(np.arange(200)))
    errors = model.predict(FRAME[:200]) - Y[:200]
    assert result.absolute_error == pytest.approx(np.abs(errors).mean())
    assert result.squared_error == pytest.approx((errors**2).mean())
    assert result.error_cost == result.absolute_error
    assert result.loss == pytest.approx(np.abs(errors).mean() + 0.1 * result.spent)
    assert result.figures()["squared_error"] == result.squared_error
    assert result.headline == ("absolute_error", "loss")
    assert "mean absolute error" in repr(result)
    other = fsgym.evaluate(model, FRAME[:200], Y[:200])
    assert other.loss == result.loss
    costs = Rules.for_dataset(TRAIN, lam=0.1, error_costs=1 - np.eye(6))
    assert fsgym.evaluate(model, TEST, rules=costs).error_cost == pytest.approx(
        1 - fsgym.evaluate(model, TEST).accuracy
    )
    own_bins = fsgym.evaluate(model, DATA, rules=Rules.for_dataset(DATA, lam=0.1))  # those of the model are others
    assert own_bins.error_cost == own_bins.absolute_error
    assert own_bins.loss == fsgym.evaluate(model, DATA).loss
    plain = fsgym.evaluate(agents.LatticeClassifier(lam=0.1, random_state=0).fit(PLAIN), PLAIN)
    assert "absolute_error" not in plain.figures()
    assert np.isnan(plain.absolute_error)


def test_answers_by_means_minimise_the_squared_error():
    means = TRAIN.replace(bins=Bins.of(TRAIN.numbers, 6, answers="mean"))
    model = agents.LatticeClassifier(lam=0.1, random_state=0).fit(means)
    result = fsgym.evaluate(model, TEST)
    assert result.headline[0] == "squared_error"
    assert result.error_cost == result.squared_error
    assert model.score(TEST, TEST.numbers) == pytest.approx(-result.squared_error)


def test_training_error_is_that_of_the_costs():
    """error_costs are means over the rows of a bin, so that costs of a constant answer are those of the numbers."""
    rules = Rules.for_dataset(TRAIN)
    shares = np.bincount(TRAIN.y) / TRAIN.n_samples
    for answer, value in enumerate(TRAIN.bins.values):
        assert rules.error_costs[answer] @ shares == pytest.approx(np.abs(TRAIN.numbers - value).mean())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("MixtureClassifier", marks=pytest.mark.slow),
        pytest.param("AnyStateNetworkClassifier", marks=pytest.mark.slow),
        pytest.param("DatumWiseClassifier", marks=pytest.mark.slow),
    ],
)
def test_every_learner_answers_numbers(name):
    options = {"n_steps": 200} if name == "AnyStateNetworkClassifier" else {}
    model = getattr(agents, name)(lam=0.1, random_state=0, **options).fit(TRAIN)
    assert fsgym.evaluate(model, TEST).absolute_error < 0.6 * np.abs(TEST.numbers - np.median(Y)).mean()


def test_an_environment_returns_minus_the_loss_of_the_bins():
    env = fsgym.DatumWiseEnv(TRAIN, Rules.for_dataset(TRAIN, lam=0.1))
    env.reset(seed=0)
    assert set(np.unique(env.rules.error_costs)) == set(np.unique(TRAIN.bins.error_costs))
    _, reward, ended, _, _ = env.step(3 + 2)
    assert ended
    assert -reward in TRAIN.bins.error_costs[2]


def test_model_files_keep_bins(tmp_path):
    model, path = fitted(), tmp_path / "model.safetensors"
    model.save(path)
    other = load_classifier(path)
    assert other.bins_.to_json() == model.bins_.to_json()
    assert (other.predict(TEST) == model.predict(TEST)).all()
    assert fsgym.evaluate(other, TEST).loss == fsgym.evaluate(model, TEST).loss
    assert other.policy_digest() == model.policy_digest()
    assert other.error_costs is None  # a data set brings them
    assert other.fit(DATA.rows(np.arange(100))).bins_ is DATA.bins


def test_a_damaged_file_and_files_of_classes(tmp_path):
    plain = agents.LatticeClassifier(lam=0.1, random_state=0).fit(PLAIN)
    plain.save(tmp_path / "plain.safetensors")
    kind = load_classifier(tmp_path / "plain.safetensors")
    assert kind.bins_ is None
    text = model_file.labels_as_json(plain._labels())
    assert model_file.BINS not in text
    fitted().save(tmp_path / "model.safetensors")
    arrays, header = model_file.read(tmp_path / "model.safetensors", "lattice")
    header[model_file.BINS]["edges"] = [1, 0, 2, 3, 4]
    model_file.write(tmp_path / "damaged.safetensors", "lattice", arrays, header)
    with pytest.raises(ValueError, match="is damaged: the bins of its target must be finite and rising"):
        load_classifier(tmp_path / "damaged.safetensors")


def test_sessions_speak_of_the_number_and_its_range():
    model = fitted()
    first = model.step({})
    assert first.question.name == "size"
    step = model.step({"size": 0.0})
    low = f"{model.bins_.edges[0]:.6g}"
    assert float(step.answer) in model.bins_.values
    assert f"between {low} and" in str(step.answer) or f"below {low}" in str(step.answer)
    assert words.answer_text(step).startswith("Answer: about ")
    assert f"below {low}" in [str(label) for label in step.probabilities]
    assert json.loads(json.dumps(step.as_json()))["answer"] == float(step.answer)
    why = model.session({"size": 0.0}).why()
    assert f"its answer now would be {step.answer}" in why
    assert (
        openapi_description(model, "x")["components"]["schemas"]["Step"]["properties"]["answer"]["enum"]
        == model.bins_.values.tolist()
    )
    found = model.predict_on_demand(
        lambda name, rows: pd.Series(X[rows, DATA.feature_names.index(name)]).to_numpy(), 30
    )
    assert (found == model.predict(FRAME[:30])).all()
    frame = model.trajectories(FRAME[:3]).to_frame()
    assert frame["answer"].dropna().tolist() == model.predict(FRAME[:3]).tolist()
    assert f"below {low}" in model.chart().to_text()


def test_referral_stands_beside_numbers():
    model = fitted(lam=0.02, refer_cost=0.5)
    answers = model.predict(TEST)
    referred = answers == "a person"
    assert 0 < referred.mean() < 1
    result = fsgym.evaluate(model, TEST)
    errors = np.abs(answers[~referred].astype(float) - TEST.numbers[~referred])
    assert result.absolute_error == pytest.approx(errors.mean())
    assert result.error_cost == pytest.approx(errors.sum() / len(answers) + 0.5 * referred.mean())


@needs_node
def test_exported_policies_say_the_same_as_sessions(tmp_path):
    model = fitted()
    cases = cases_of(model, FRAME, 12)
    fields = ("question", "answer", "why", "spent")
    said = [[[step[f] for f in fields] for step in case] for case in asked_by_model(model, cases)]
    found = asked_by_javascript(model.policy_json(), cases)
    assert [[[step[f] for f in fields] for step in case] for case in found] == said
    model.save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f"with a number in one of the ranges below {model.bins_.edges[0]:.6g}, " in page
    assert json.loads(model.policy_json())["classes"] == model.bins_.values.tolist()


def test_a_regressor_is_charged_for_the_features_that_it_uses():
    class Stump(DecisionTreeRegressor):
        def features_used(self, X):
            return np.tile(self.feature_importances_ > 0, (len(X), 1))

    tree = Stump(max_leaf_nodes=2).fit(TRAIN.X, TRAIN.numbers)
    result = fsgym.evaluate(tree, TEST, rules=Rules.for_dataset(TEST, lam=0.1))
    errors = np.abs(tree.predict(TEST.X) - TEST.numbers)
    assert result.loss == pytest.approx(errors.mean() + 0.1)
    assert result.predicted.tolist() == tree.predict(TEST.X).tolist()
    with pytest.raises(ValueError, match="is not a class"):
        fsgym.evaluate(tree, PLAIN)


@pytest.mark.parametrize("answers", ["median", "mean"])
def test_references_beside_an_evaluation(answers):
    data = DATA.replace(bins=Bins.of(Y, 6, answers=answers)).rows(np.arange(150))
    train, test = data.split(0.6, seed=0)
    found = reference_errors(test, train)
    constant = np.median(train.numbers) if answers == "median" else train.numbers.mean()
    assert found["constant"]["absolute_error"] == pytest.approx(np.abs(test.numbers - constant).mean())
    assert found["forest"]["absolute_error"] < 0.5 * found["constant"]["absolute_error"]
    with pytest.raises(ValueError, match="must have a numeric target"):
        reference_errors(PLAIN)


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["median", "mean"])
def test_references_in_folds_where_the_training_rows_are_not_known(answers):
    data = DATA.replace(bins=Bins.of(Y, 6, answers=answers)).rows(np.arange(60))
    for rows in (data, data.replace(row_groups=np.arange(60) % 7)):
        found = reference_errors(rows)
        assert found["forest"]["squared_error"] < 0.4 * found["constant"]["squared_error"]


def test_pages_and_charts_in_german(tmp_path):
    model = fitted()
    edge = f"{model.bins_.edges[0]:.6g}".replace(".", ",")
    with speaking(Speech("de")):
        step = model.step({"size": 0.0})
        why = model.session({"size": 0.0}).why()
        assert f"unter {edge}" in [str(label) for label in step.probabilities]
        assert words.answer_text(step).startswith("Antwort: etwa ")
        assert f"{step.answer}" in why
        assert f"unter {edge}" in model.chart().to_text()
    assert "about" in str(step.answer)
    model.save_page(tmp_path / "seite.html", language="de")
    page = (tmp_path / "seite.html").read_text(encoding="utf-8")
    assert f"mit einer Zahl aus einem der Bereiche unter {edge}; " in page
    assert "etwa" in page
    assert ">about " not in page
    assert '"about ' not in page


def test_ranges_are_parted_from_shares_and_from_each_other(tmp_path):
    """``8,19 bis 8,91 7 %`` and ``unter 0,5, 0,5 bis 1`` were to be guessed; a number has no share of wrong answers."""
    model = fitted()
    with speaking(Speech("de")):
        low, high = (f"{edge:.6g}".replace(".", ",") for edge in model.bins_.edges[:2])
        assert re.search(rf"(unter {low}|{low} bis {high}): \d+ % und ", model.session({"size": 0.0}).why())
        chart = model.chart().to_text()
        assert re.search(r"bis [\d,]+: \d+ %; ", chart)
        assert "falsch" not in chart
        assert words.more_beliefs_text(model.bins_.ranges(), 2) == "und 2 weitere Bereiche"
        assert words.more_beliefs_text(["acs", "mi"], 2) == "und 2 weitere Klassen"
        assert {branch.wrong for box in model.chart().boxes for branch in box.branches} == {None}
    model.save_page(tmp_path / "page.html", language="de")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"aus einem der Bereiche unter {low}; {low} bis {high}; " in page


def test_rows_with_other_numbers_differ_from_the_training():
    model = fitted()
    assert model.compare_with_training(TEST).differences == ()
    differing = model.compare_with_training(FRAME[:200], np.full(200, 0.1)).differences
    assert [d.kinds for d in differing] == [("classes",)]
    with pytest.raises(ValueError, match="answers must be the codes of trajectories"):
        model.compare_with_training(FRAME[:200], np.full(200, 0.1), answers=model.predict(FRAME[:200]))
    assert re.match(r"the target is (below \S+|\S+ to \S+) in 100 % of the rows, \S+ % in training", differing[0].text)


def test_a_model_says_its_bins_in_one_line():
    title, parts = model_parts(fitted())
    assert "6 bins of numbers" in title
    bins, values = fitted().bins_, [f"{v:.4g}" for v in fitted().bins_.values]
    said = [part for part in parts if isinstance(part, str) and part.startswith("Target: ")]
    assert said == [
        f"Target: a number, answered by the medians of 6 bins, {values[0]} to {values[-1]}, for the absolute error; "
        f"bins: {', '.join(map(str, bins.ranges()))}."
    ]
    assert not any("Classes" in str(part) or "Error costs" in str(part) for part in parts)


def test_no_promise_of_numbers_and_no_text_as_numbers():
    with pytest.raises(ValueError, match="answers with numbers; for a promise, train one on classes") as caught:
        fitted().calibrate(TEST, target_error=0.1)
    assert one_sentence(caught.value)
    with pytest.raises(TypeError, match="must hold numbers, got the text"):
        fsgym.evaluate(fitted(), FRAME, ["a"] * 600)
