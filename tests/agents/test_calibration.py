"""Temperatures are fitted by their definition, on out-of-fold states; a calibrated policy is the same everywhere."""

import json
import subprocess
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize

import fsgym
from agents import (
    AdaptiveClassifier,
    AnyStateNetworkClassifier,
    LatticeClassifier,
    MixtureClassifier,
    load_classifier,
    model_file,
)
from agents.calibration import (
    PathStates,
    TemperedPolicy,
    choose_temperatures,
    fit_temperatures,
    read_policy,
    tempered,
)
from agents.lattice.classifier import LatticeLearner
from fsgym.metrics import mean_log_loss
from support.asked_models import asked_table, values_in
from support.exported_policies import SCRIPTS, cases_of, check_interpreters, import_document, needs_node

pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")

AGENTS = {
    "lattice": lambda **options: LatticeClassifier(effort=0.1, random_state=0, **options),
    "mixture": lambda **options: MixtureClassifier(n_components=2, random_state=0, **options),
    "network": lambda **options: AnyStateNetworkClassifier(n_steps=20, random_state=0, **options),
    "adaptive": lambda **options: AdaptiveClassifier(learner="mixture", random_state=0, **options),
}
COSTS = [[0, 5, 10], [1, 0, 5], [2, 1, 0]]


EQUAL = 1 - np.eye(3)  # costs of errors


def drawn_states(powers, n=3000, n_classes=3, seed=0):
    """States whose labels are drawn from their probabilities raised to the power of their size, and normalised."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes))
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    size = rng.integers(0, len(powers), n)
    truth = tempered(probabilities, 1 / np.array(powers)[size])
    y = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    return PathStates(probabilities, y, size, rng.random(n) < 0.5, np.arange(n) % 7, np.ones(n))


def test_tempering_is_a_power_that_keeps_the_order():
    proba = np.array([[0.0, 0.2, 0.8], [0.5, 0.5, 0.0], [0.1, 0.3, 0.6]])
    np.testing.assert_allclose(tempered(proba, 1.0), proba, atol=1e-15)
    by_row = tempered(proba, np.array([2.0, 3.0, 0.5]))
    np.testing.assert_allclose(by_row[0], [0, 1 / 3, 2 / 3])
    np.testing.assert_allclose(by_row[1], [0.5, 0.5, 0])
    np.testing.assert_allclose(by_row[2], np.array([1, 9, 36]) / 46)


def test_temperatures_are_those_of_the_labels_size_by_size():
    found = fit_temperatures(drawn_states([1.0, 0.5, 2.0], n=30_000))
    np.testing.assert_allclose(found[:3], [1.0, 2.0, 0.5], rtol=0.06)
    assert 0.8 < found[3] < 1.3


def test_temperatures_minimise_their_objective():
    states = drawn_states([0.6, 1.0], n=60)._replace(weight=np.random.default_rng(1).random(60) + 0.5)
    found = np.log(fit_temperatures(states))

    def loss(here, log_temperature):
        proba = tempered(states.probabilities[here], np.exp(log_temperature))
        return -(states.weight[here] @ np.log(proba[np.arange(here.sum()), states.y[here]]))

    everywhere = np.ones(60, bool)
    assert found[2] == pytest.approx(minimize(lambda t: loss(everywhere, t[0]), [0.0]).x[0], abs=2e-3)
    for m in (0, 1):
        best = minimize(lambda t, m=m: loss(states.size == m, t[0]) + 10 * (t[0] - found[2]) ** 2, [0.0])
        assert found[m] == pytest.approx(best.x[0], abs=2e-3)


def test_a_weight_counts_as_so_many_rows():
    states = drawn_states([0.5], n=50)
    twice = PathStates._make(np.concatenate([array, array]) for array in states)
    np.testing.assert_allclose(
        fit_temperatures(states._replace(weight=np.full(50, 2.0))), fit_temperatures(twice), rtol=1e-3
    )


def test_auto_chooses_none_where_the_probabilities_are_right():
    chosen = [
        choose_temperatures(drawn_states([1.0, 1.0], n=400, seed=k), "auto", EQUAL) is not None for k in range(20)
    ]
    assert sum(chosen) <= 8  # without gain, half a standard error is exceeded in 31 %
    assert choose_temperatures(drawn_states([0.3, 0.3], n=400), "auto", EQUAL) is not None
    assert choose_temperatures(drawn_states([0.3, 0.3], n=400), "none", EQUAL) is None
    assert choose_temperatures(drawn_states([1.0, 1.0], n=400), "temperature", EQUAL) is not None


def test_auto_judges_by_other_folds_at_the_stop():
    states = drawn_states([0.3, 0.3], n=400)
    right = drawn_states([1.0, 1.0], n=400)
    stop = np.repeat([True, False], 400)
    passed = PathStates._make(np.concatenate(arrays) for arrays in zip(right, states, strict=True))._replace(stop=stop)
    assert choose_temperatures(passed._replace(stop=~stop), "auto", EQUAL) is not None
    assert choose_temperatures(passed, "auto", EQUAL) is None


@pytest.mark.parametrize("change", [{"fold": np.zeros(3000, int)}, {"stop": np.zeros(3000, bool)}])
def test_auto_chooses_none_where_nothing_can_judge(change):
    assert choose_temperatures(drawn_states([0.3, 0.3])._replace(**change), "auto", EQUAL) is None


@cache
def models(agent, costs=False, calibrations=("none", "temperature")):
    """Models that are the same but for the calibration; the temperatures are far from 1, by hand."""
    table, y = asked_table("base")
    options = {"error_costs": COSTS} if costs else {}
    return [AGENTS[agent](lam=0.03, calibration=c, **options).fit(table, y) for c in calibrations]


def with_temperatures(model, temperatures):
    """A calibrated model with other temperatures."""
    inner = TemperedPolicy(model.policy_.acting.policy, np.array(temperatures))
    if model.policy_.kind == "adaptive":
        inner = type(model.policy_)(model.policy_.learner, inner, model.policy_.report, inner.rules)
    changed = AGENTS["mixture"]().__class__.__new__(type(model))
    changed.__dict__.update(model.__dict__)
    changed._set_policy(inner)
    return changed


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.one_in(4)
def test_temperatures_change_probabilities_alone_where_all_errors_cost_the_same(agent):
    (plain, fitted), (table, _) = models(agent), asked_table("base")
    assert (plain.calibration_, fitted.calibration_) == ("none", "temperature")
    model, temperatures = with_temperatures(fitted, [1.0, 2.0, 0.5, 3.0]), np.array([1.0, 2.0, 0.5, 3.0])
    before, after = plain.trajectories(table), model.trajectories(table)
    for name in ("order", "acquired", "answers"):
        assert (getattr(before, name) == getattr(after, name)).all()
    sizes = np.minimum(before.acquired.sum(axis=1), 3)
    np.testing.assert_allclose(after.probabilities, tempered(before.probabilities, temperatures[sizes]), atol=1e-12)
    assert abs(after.probabilities - before.probabilities).max() > 0.05


@pytest.mark.one_in(4)
@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("agent", AGENTS)
def test_sessions_tables_and_continued_paths_have_the_same_answers(agent, costs):
    (_, fitted), (table, _) = models(agent, costs), asked_table("base")
    model = with_temperatures(fitted, [1.0, 3.0, 3.0, 2.0])
    proba, predicted = model.predict_proba(table), model.predict(table)
    cheapest = (proba @ model.rules_.error_costs.T).min(axis=1)
    answers = np.searchsorted(model.classes_, predicted)
    np.testing.assert_allclose((proba * model.rules_.error_costs[answers]).sum(axis=1), cheapest, atol=1e-12)
    for k in range(12):
        row = table.iloc[k]
        session = model.session(unavailable=[name for name in row.index if row[name] != row[name]])
        while question := session.next():
            session.answer(question.name, values_in(question, row))
        assert session.step.answer == predicted[k]
        np.testing.assert_allclose([*session.step.probabilities.values()], proba[k], atol=1e-12)
        assert session.step.expected_cost.stop == pytest.approx(cheapest[k], abs=1e-12)
    done = model.trajectories(table, continue_after_stop=True)
    states = model.arrangement_.to_policy(done.acquired, model._features(table), np.arange(9)[None] >= 6)
    advice = model.policy_.advise(*states[:2], np.repeat(states[2], len(table), axis=0))
    assert (done.answers == advice.answers).all()


def test_error_costs_make_answers_follow_the_calibrated_probabilities():
    (_, fitted), (table, _) = models("mixture", True), asked_table("base")
    sharp, vague = (with_temperatures(fitted, [t]) for t in (0.1, 20.0))
    cheapest_of_ignorance = np.array(COSTS).mean(axis=1).argmin()
    assert len(set(sharp.predict(table))) == 3
    assert set(vague.predict(table)) == {vague.classes_[cheapest_of_ignorance]}
    assert (sharp.features_used(table) == vague.features_used(table)).all()


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.one_in(4)
def test_model_files_hold_temperatures_and_their_format_is_another(agent, tmp_path):
    plain, fitted = models(agent)
    plain.save(tmp_path / "plain")
    fitted.save(tmp_path / "fitted")
    assert b"fsgym-model-2" in (tmp_path / "plain").read_bytes()
    data = (tmp_path / "fitted").read_bytes()
    assert b"fsgym-model-3" in data
    assert b"fsgym-model-2" not in data  # which is all that readers without temperatures look for
    loaded = load_classifier(tmp_path / "fitted")
    table, _ = asked_table("base")
    assert (loaded.predict_proba(table) == fitted.predict_proba(table)).all()
    assert loaded.calibration_ == "temperature"
    promised = load_classifier(tmp_path / "fitted").calibrate(min_confidence=0.6)
    assert promised.calibration_ == "temperature"
    assert loaded.policy_digest() == fitted.policy_digest() != plain.policy_digest()


@pytest.mark.parametrize("wrong", [[], [0.0], [1.0, float("nan")], ["1"], [True], 1.0, [1e9], [[1.0]], None, [-1.0]])
def test_damaged_temperatures_are_refused(wrong, tmp_path):
    model = models("mixture")[0]
    arrays, header = model.policy_.to_arrays()
    with pytest.raises(ValueError, match="the temperatures must be"):
        read_policy(model.policy_class, arrays, header | {"temperatures": wrong}, model.policy_.rules)
    labels = model_file.labels_as_json(model._labels()) | {"chart": None}
    rule_arrays, rules = model.policy_.rules.state()
    arrays |= {f"rules.{name}": array for name, array in rule_arrays.items()}
    header |= {"rules": rules, "temperatures": wrong}
    model_file.write(tmp_path / "damaged", "mixture", arrays, header | labels, tempered=True)
    with pytest.raises(ValueError, match="is damaged: the temperatures must be"):
        load_classifier(tmp_path / "damaged")


@pytest.mark.one_in(2)
@needs_node
@pytest.mark.parametrize("costs", [False, True])
@pytest.mark.parametrize("agent", AGENTS)
def test_interpreters_apply_temperatures(agent, costs):
    model = with_temperatures(models(agent, costs)[1], [1.0, 3.0, 2.0, 0.5])
    check_interpreters(model, cases_of(model, asked_table("base")[0], 25))


@needs_node
@pytest.mark.parametrize("wrong", [[], None, [0.0], ["1"], 1.0])
def test_the_page_refuses_temperatures_out_of_range(wrong):
    plain = json.loads(models("mixture")[1].policy_json())
    plain["parameters"]["temperatures"] = wrong
    script = (
        f"const {{ read }} = require({json.dumps(str(SCRIPTS / 'interpreter.js'))});"
        "try { read(JSON.parse(require('fs').readFileSync(0, 'utf8'))); } catch (error) { console.log(error.message); }"
    )
    done = subprocess.run(["node", "-e", script], input=json.dumps(plain), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "the policy is damaged: a temperature is out of range"


def test_the_reference_interpreter_refuses_temperatures_out_of_range():
    plain = json.loads(models("mixture")[1].policy_json())
    plain["parameters"]["temperatures"] = [0.0]
    kinds = import_document("interpret_other_policies").KINDS
    with pytest.raises(ValueError, match=r"a temperature must be from 0.01 to 100"):
        import_document("interpret_policy").read_policy(json.dumps(plain), kinds)


@pytest.mark.parametrize("agent", ["lattice", "mixture"])
def test_the_states_are_those_of_the_realised_losses_out_of_fold(agent, monkeypatch):
    """Each row stops once, at the answer by which its loss is counted."""
    found = []
    module = "agents.lattice.classifier" if agent == "lattice" else "agents.anystate.classifier"
    monkeypatch.setattr(f"{module}.calibrated", lambda policy, states, calibration: found.append(states) or policy)
    losses, learn_at = [], LatticeLearner.learn_at

    def learn_and_look(self, rules):
        result = learn_at(self, rules)
        losses.append(result.row_losses().mean())  # the final fit changes the result
        return result

    monkeypatch.setattr(LatticeLearner, "learn_at", learn_and_look)
    table, y = asked_table("base")
    model = AGENTS[agent](lam=0.01, calibration="auto").fit(table, y)
    states = found[0]
    assert states.stop.sum() == len(table)
    wrong = (states.probabilities[states.stop].argmax(axis=1) != states.y[states.stop]).mean()
    spent = 0.01 * states.size[states.stop].mean()
    loss = losses[0] if agent == "lattice" else model.training_loss_
    assert wrong + spent == pytest.approx(loss, abs=1e-9)
    in_sample = (model.predict(table) != y).mean()
    assert wrong > in_sample  # the policy has seen these rows, the states have not


@pytest.mark.slow
def test_auto_lowers_the_log_loss_of_a_mixture_that_is_too_certain():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(3000, 1))
    X = factor + 0.5 * rng.normal(size=(3000, 8))
    y = (factor[:, 0] + rng.normal(size=3000) > 0).astype(int)
    plain, auto = (
        MixtureClassifier(lam=1e-4, n_components=8, n_steps=600, calibration=c, random_state=0).fit(X[:1000], y[:1000])
        for c in ("none", "auto")
    )
    assert auto.calibration_ == "temperature"
    before, after = (mean_log_loss(y[1000:], m.predict_proba(X[1000:])) for m in (plain, auto))
    assert after < before - 0.003
    excess = [fsgym.metrics.excess_calibration_error(y[1000:], m.predict_proba(X[1000:])) for m in (plain, auto)]
    assert abs(excess[1]) < excess[0] - 0.01
    assert (plain.predict(X) == auto.predict(X)).all()


@pytest.mark.slow
def test_models_in_which_missing_values_are_evidence():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 3)) + y[:, None]
    X[(y == 1) & (rng.random(300) < 0.6), 2] = np.nan
    model = AdaptiveClassifier(lam=0.01, learner="mixture", calibration="temperature", random_state=0).fit(X, y)
    assert model.evidence_
    assert model.policy_.policy.is_tempered
    assert model.policy_.informed is not None
    assert model.policy_.informed.policy.is_tempered
    assert (model.without_evidence().predict_proba(X) != model.predict_proba(X)).any()
    plain = model.set_params(calibration="none").fit(X, y)
    assert not plain.policy_.is_tempered


@pytest.mark.parametrize("agent", AGENTS)
def test_an_unknown_calibration_is_refused(agent):
    table, y = asked_table("base")
    with pytest.raises(ValueError, match="unknown calibration 'temprature'; did you mean 'temperature'"):
        AGENTS[agent](calibration="temprature").fit(table, y)


def test_temperatures_that_make_answers_dearer_are_not_chosen():
    """Of many bins of a number: a temperature above 1 lifts all far bins, and moves the answers to the middle."""
    rng, bins = np.random.default_rng(0), np.arange(30)
    centre = rng.integers(0, 30, 2000)
    y = np.clip(np.round(centre + rng.normal(0, 3, 2000)), 0, 29).astype(np.int64)
    proba = np.exp(-((bins - centre[:, None]) ** 2) / 2) + 1e-3
    states = drawn_states([1.0], n=2000)._replace(probabilities=proba / proba.sum(axis=1, keepdims=True), y=y)
    distance = np.abs(bins - bins[:, None]).astype(float)
    assert choose_temperatures(states, "auto", distance) is None
    (common, _) = choose_temperatures(states, "auto", 1 - np.eye(30))  # which lower the log-loss
    assert common > 1.5
