"""Promises of agents: predictions, sessions, files and refusals of models that stop where they are certain enough."""

from __future__ import annotations

import copy
import json
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from agents import (
    AdaptiveClassifier,
    AnyStateNetworkClassifier,
    DatumWiseClassifier,
    LatticeClassifier,
    MixtureClassifier,
    load_classifier,
    model_file,
)
from agents.certain import CertainPolicy, record_paths
from agents.lattice.inference import row_buffers
from fsgym import Dataset, Rules, evaluate
from support.patients import RULES, features_and_labels, patients
from tests.fsgym.cli.test_cli import call

NAMES = list("abcdefgh")
COSTS = {"well": {"sick": 10.0}, "sick": {"well": 1.0}}


def cases(n, seed, missing=0.0):
    """Eight normal columns that are shifted by the class, the later ones by less."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 8)) + np.where(y, 0.7, -0.7)[:, None] * np.linspace(1, 0.6, 8)
    X[rng.random(X.shape) < missing] = np.nan
    return pd.DataFrame(X, columns=NAMES), np.where(y == 1, "sick", "well")


AGENTS = {
    "lattice": LatticeClassifier(lam=0.04, random_state=0),
    "mixture": MixtureClassifier(lam=0.04, random_state=0),
    "network": AnyStateNetworkClassifier(lam=0.04, n_steps=300, random_state=0),
    "adaptive": AdaptiveClassifier(lam=0.04, learner="mixture", random_state=0),
    "costs": LatticeClassifier(lam=0.04, error_costs=COSTS, random_state=0),
    "groups": LatticeClassifier(
        lam=0.02, groups={"ab": ["a", "b"], "gh": ["g", "h"]}, prerequisites={"e": ["c"]}, random_state=0
    ),
    "budget": MixtureClassifier(lam=0.04, budget=4, random_state=0),
}


class FittedWhenAsked(dict):
    def __missing__(self, name):
        self[name] = AGENTS[name].fit(*cases(500, 0))
        return self[name]


@pytest.fixture(scope="module")
def fitted():
    return FittedWhenAsked()


@pytest.fixture(params=[pytest.param(k, marks=pytest.mark.slow) if k == "network" else k for k in AGENTS])
def model(request, fitted):
    return copy.deepcopy(fitted[request.param])


@pytest.fixture
def lattice(fitted):
    return copy.deepcopy(fitted["lattice"])


@pytest.fixture(scope="module")
def rows():
    return cases(600, 1)


def bytes_of(model, tmp_path):
    model.save(tmp_path / "model")
    return (tmp_path / "model").read_bytes()


def asked_of(model, row, **options):
    """The questions of a session on a row, its answer, and the probability of the answer."""
    session = model.session(**options)
    asked = []
    while question := session.next():
        asked.append(question.name)
        values = {column.name: float(row[column.name]) for column in question.columns}
        if all(np.isnan(v) for v in values.values()):
            session.unknown(question.name)
        else:
            known = {name: v for name, v in values.items() if not np.isnan(v)}
            session.answer(question.name, known, accept=True)
    answer = session.stop()
    return asked, answer, session.probabilities[answer]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_sessions_and_tables_agree_row_by_row(model, rows, missing):
    model.calibrate(min_confidence=0.93)
    X, _ = cases(12, 2, missing)
    paths = model.trajectories(X)
    names = np.array(model.rules_.names)
    acquired = [model.rules_.acquisitions_of(z[None])[0] for z in ~np.isnan(X.to_numpy())]
    for i in range(len(X)):
        offered = [names[j] for j in range(len(names)) if acquired[i][j]]
        unavailable = [name for name in names if name not in offered]
        asked, answer, certainty = asked_of(model, X.iloc[i], unavailable=unavailable)
        assert asked == names[paths.order[i][paths.order[i] >= 0]].tolist()
        assert answer == model.classes_[paths.answers[i]]
        assert certainty == pytest.approx(paths.probabilities[i, paths.answers[i]], abs=1e-9)
    if missing == 0.0:
        on_demand = model.predict_on_demand(lambda name, at: X.loc[at, members(model, name)], X.index)
        assert (on_demand == model.predict(X)).all()


def members(model, name):
    return {"ab": ["a", "b"], "gh": ["g", "h"]}.get(name, name) if name in model.rules_.names else name


@pytest.mark.one_in(2)
def test_a_promise_changes_when_it_stops_and_nothing_else(model, rows):
    X, _ = rows
    plain, whole = model.trajectories(X), model.trajectories(X, continue_after_stop=True)
    record = record_paths(model.policy_, model.arrangement_.rows(model._features(X)))
    assert (record.lengths[record.ends(record.stops)] == plain.lengths).all()
    assert (record.answers[record.ends(record.stops)] == plain.answers).all()
    everything = record.answers[record.first[1:] - 1]
    assert (everything == whole.answers).all()  # where nothing is left that could change it, nothing changes it
    model.calibrate(min_confidence=0.93)
    certain, again = model.trajectories(X), model.trajectories(X, continue_after_stop=True)
    assert np.array_equal(again.order, whole.order)
    assert (certain.lengths >= plain.lengths).all()
    assert (certain.lengths > plain.lengths).any()
    for i in range(len(X)):
        assert certain.order[i, : plain.lengths[i]].tolist() == plain.order[i, : plain.lengths[i]].tolist()
        assert certain.order[i, : certain.lengths[i]].tolist() == whole.order[i, : certain.lengths[i]].tolist()
    probability = certain.probabilities[np.arange(len(X)), certain.answers]
    ended = certain.lengths == record.lengths[record.first[1:] - 1]
    assert (probability[~ended] >= 0.93).all()
    assert ((certain.lengths == plain.lengths) | ended | (probability >= 0.93)).all()


def test_certainty_is_that_of_the_advice(lattice, rows):
    X = rows[0].to_numpy(np.float32)[:60]
    record = record_paths(lattice.policy_, X)
    assert len(record.stops) > 3 * len(X)
    for i in range(len(X)):
        for k, place in enumerate(range(record.first[i], record.first[i + 1])):
            acquired = np.zeros((1, 8), bool)
            acquired[0, record.order[i, :k]] = True
            legal = np.concatenate([~acquired, np.ones((1, 2), bool)], axis=1)
            advice = lattice.policy_.advise(acquired, X[i : i + 1], legal)
            assert record.probabilities[place].tolist() == advice.probabilities[0].tolist()
            assert record.answers[place] == advice.answers[0]
            assert record.stops[place] == (advice.actions[0] >= 8)


TARGETS = [
    {"target_error": 0.12},
    {"target_recall": {"sick": 0.88}},
    {"target_error": 0.15, "target_recall": {"sick": 0.85, "well": 0.8}},
    {"target_error": 0.15, "min_confidence": 0.9},
]


@pytest.mark.parametrize("targets", TARGETS, ids=str)
@pytest.mark.parametrize("name", ["lattice", "mixture", "adaptive"])
def test_what_is_said_of_the_rows_is_what_predictions_give(fitted, rows, name, targets):
    X, y = rows
    model = copy.deepcopy(fitted[name]).calibrate(X, y, **targets)
    promise, predicted = model.promise_, model.predict(X)
    for test in promise.tests:
        counted = np.ones(len(y), bool) if test.risk.kind == "error" else y == test.risk.name
        assert test.n == counted.sum()
        assert test.loss == (predicted != y)[counted].sum()
        assert test.p_value <= 0.1
    result = evaluate(model, X, y)
    assert promise.n_acquisitions == pytest.approx(result.n_acquisitions)
    assert promise.spent == pytest.approx(result.spent)
    assert promise.n_acquisitions_without == pytest.approx(evaluate(fitted[name], X, y).n_acquisitions)
    assert f"{promise.n_acquisitions:.2f} a row" in str(promise)
    assert json.loads(model.policy_json())["rule"]["sentences"] == promise.sentences()


@pytest.mark.parametrize("test", ["betting", "hoeffding-bentkus"])
def test_mean_error_costs_are_promised_in_their_own_unit(fitted, rows, test):
    X, y = rows
    plain = evaluate(fitted["costs"], X, y).error_cost
    model = copy.deepcopy(fitted["costs"]).calibrate(X, y, target_error_cost=0.32, test=test)
    result = evaluate(model, X, y)
    assert result.error_cost < plain
    assert model.promise_.tests[0].loss / len(y) * 10 == pytest.approx(result.error_cost)
    assert "the mean error cost is at most 0.32" in str(model.promise_)
    assert f"their mean error cost is {result.error_cost:.4g}" in str(model.promise_)


def test_other_costs_of_errors_change_no_answer(lattice, rows):
    X = lattice.arrangement_.rows(lattice._features(rows[0]))[:200]
    policy = lattice.calibrate(min_confidence=0.9).policy_
    own, dearer = policy.trajectories(X), policy.trajectories(X, Rules(8, 2, lam=0.04, error_costs=[[0, 9], [1, 0]]))
    assert np.array_equal(own.order, dearer.order)
    assert (own.answers == dearer.answers).all()
    few = policy.trajectories(X, Rules(8, 2, lam=0.04, budget=2))
    assert few.order.shape[1] == 2


def test_stricter_targets_stop_later(lattice, rows):
    X, y = rows
    found = [lattice.calibrate(X, y, target_error=e).promise_ for e in (0.11, 0.12, 0.13, 0.15, 0.3)]
    assert (np.diff([p.threshold for p in found]) <= 0).all()
    assert (np.diff([p.n_acquisitions for p in found]) <= 0).all()
    assert found[0].n_acquisitions > found[-1].n_acquisitions == found[-1].n_acquisitions_without


def test_a_refusal_leaves_the_model_as_it_was(lattice, rows, tmp_path):
    X, y = rows
    for first in ({}, {"min_confidence": 0.9}):
        if first:
            lattice.calibrate(**first)
        before = bytes_of(lattice, tmp_path)
        with pytest.raises(ValueError, match="cannot be promised") as refusal:
            lattice.calibrate(X, y, target_error=0.02)
        with pytest.raises(ValueError, match="needs at least 114 rows"):
            lattice.calibrate(X[:100], y[:100], target_error=0.02)
        assert bytes_of(lattice, tmp_path) == before
    best = float(re.findall(r"([0-9.]+); more rows", str(refusal.value))[0])
    assert lattice.calibrate(X, y, target_error=best).promise_.threshold > 0.9
    with pytest.raises(ValueError, match="cannot be promised"):
        lattice.calibrate(X, y, target_error=best - 2e-4)


def test_without_its_promise_a_model_is_as_before(lattice, rows, tmp_path):
    X, y = rows
    before = bytes_of(lattice, tmp_path)
    assert lattice.without_promise() is lattice
    plain = lattice.calibrate(X, y, target_error=0.12).without_promise()
    assert plain.promise_ is None
    assert bytes_of(plain, tmp_path) == before
    assert lattice.promise_ is not None
    assert plain.calibrate(X, y, target_error=0.12).promise_.n_calibrations == 2
    assert lattice.promise_.n_calibrations == 1


def test_parts_by_name_and_by_label(lattice, rows):
    X, y = rows
    ward = np.where(np.arange(len(X)) % 3 == 0, "north", "south")
    named = lattice.calibrate(X.assign(ward=ward), y, target_error=0.15, by="ward").promise_
    assert [(t.group, t.n) for t in named.tests] == [("north", 200), ("south", 400)]
    predicted = lattice.predict(X)
    assert [t.loss for t in named.tests] == [((predicted != y) & (ward == w)).sum() for w in ("north", "south")]
    assert "in each ward" in str(named)
    labelled = lattice.calibrate(X, y, target_error=0.15, by=ward).promise_
    assert [t.p_value for t in labelled.tests] == [t.p_value for t in named.tests]
    with pytest.raises(ValueError, match="by must be a column of X"):
        lattice.calibrate(X, y, target_error=0.15, by="ward")


def test_rows_of_a_patient_count_together(lattice, rows):
    X, y = rows
    patients = np.arange(len(X)) // 3
    promise = lattice.calibrate(X, y, target_error=0.2, groups=patients).promise_
    shares = pd.Series(lattice.predict(X) != y).groupby(patients).mean()
    assert promise.tests[0].n == 200
    assert promise.tests[0].loss == pytest.approx(shares.sum())
    data = Dataset(X.to_numpy(), y, row_groups=patients, columns=lattice.columns_)
    assert lattice.calibrate(data, target_error=0.2).promise_.tests == promise.tests
    assert "groups of rows" in str(promise)


def test_rows_of_the_training_are_refused(rows):
    X, y = rows
    data = Dataset(X.to_numpy(), y)
    train, rest = data.split(0.5)
    model = MixtureClassifier(lam=0.04, random_state=0).fit(train)
    assert model.calibrate(rest, target_error=0.2).promise_ is not None
    with pytest.raises(ValueError, match="50% of these did"):
        model.calibrate(data, target_error=0.2)
    model = MixtureClassifier(lam=0.04, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="100% of these did"):
        model.calibrate(X, y, target_error=0.2)


def test_agents_without_probabilities_name_those_that_have_them(rows):
    X, y = rows
    model = DatumWiseClassifier(n_iterations=1, random_state=0).fit(X[:100], y[:100])
    with pytest.raises(ValueError, match=r"LatticeClassifier, .* have, and DatumWiseClassifier has not"):
        model.calibrate(X, y, target_error=0.2)
    assert model.promise_ is None


def test_calibrations_of_the_same_rows_are_counted_and_training_ends_a_promise(lattice, rows):
    X, y = rows
    with pytest.raises(ValueError, match="cannot be promised"):
        lattice.calibrate(X, y, target_error=0.02)
    assert lattice.calibrate(X, y, target_error=0.2).promise_.n_calibrations == 2
    assert lattice.calibrate(X[:300], y[:300], target_error=0.2).promise_.n_calibrations == 1
    assert not isinstance(lattice.policy_.policy, CertainPolicy)
    with pytest.raises(ValueError, match="needs X"):
        lattice.calibrate(target_error=0.2)
    lattice.set_params(budget=1).fit(X, y)
    assert lattice.promise_ is None


@pytest.mark.slow
def test_evidence_of_missing_values_is_as_in_tables():
    def telling(n, seed):
        X, y = cases(n, seed)
        absent = np.random.default_rng(seed).random(n) < np.where(y == "sick", 0.1, 0.7)
        X.loc[absent, "c"] = np.nan
        return X, y

    model = AdaptiveClassifier(lam=0.04, learner="mixture", random_state=0).fit(*telling(500, 0))
    assert model.evidence_ == ("c",)
    X, y = telling(600, 1)
    plain = model.trajectories(X)
    record = record_paths(model.policy_, model.arrangement_.rows(model._features(X)))
    assert (record.lengths[record.ends(record.stops)] == plain.lengths).all()
    model.calibrate(X, y, target_error=0.12, min_confidence=0.92)
    paths, predicted = model.trajectories(X), model.predict(X)
    assert model.promise_.tests[0].loss == (predicted != y).sum()
    assert (paths.lengths > plain.lengths).any()
    said = json.loads(model.policy_json())["rule"]["sentences"]
    assert said[0].startswith("Nothing is promised here")  # which is not told what is missing
    assert len(said) == 1
    names = np.array(model.rules_.names)
    for i in range(20):
        missing = [name for name in NAMES if np.isnan(X.iloc[i][name])]
        asked, answer, _ = asked_of(model, X.iloc[i], missing=missing)
        assert asked == names[paths.order[i][paths.order[i] >= 0]].tolist()
        assert answer == predicted[i]
    on_demand = model.predict_on_demand(lambda name, at: X.loc[at, name], X.index, missing=X.isna())
    assert (on_demand == predicted).all()
    assert isinstance(model.without_evidence().policy_, CertainPolicy)


@pytest.mark.one_in(4)
def test_a_model_file_keeps_the_promise(model, rows, tmp_path):
    X, y = rows
    before = bytes_of(model, tmp_path)
    assert model_file.MODEL_FORMAT.encode() in before
    model.calibrate(X, y, min_confidence=0.9)
    again = bytes_of(model, tmp_path)
    assert model_file.NEWER_FORMAT.encode() in again
    assert model_file.MODEL_FORMAT.encode() not in again
    loaded = load_classifier(tmp_path / "model")
    assert loaded.promise_ == model.promise_
    assert np.array_equal(loaded.trajectories(X).order, model.trajectories(X).order)
    assert loaded.policy_digest() == model.policy_digest()
    assert bytes_of(loaded, tmp_path) == again


@pytest.mark.slow
def test_same_seeds_give_the_same_bytes(rows, tmp_path):
    X, y = rows
    saved = []
    for _ in range(2):
        model = MixtureClassifier(lam=0.04, random_state=0).fit(*cases(300, 0))
        saved.append(bytes_of(model.calibrate(X, y, target_error=0.15), tmp_path))
    assert saved[0] == saved[1]
    other = MixtureClassifier(lam=0.04, random_state=0).fit(*cases(300, 0)).calibrate(X, y, target_error=0.2)
    assert other.policy_digest() != model.policy_digest()


def test_a_damaged_promise_is_refused(fitted, rows, tmp_path):
    X, y = rows
    model = copy.deepcopy(fitted["mixture"]).calibrate(X, y, target_error=0.15)
    path = tmp_path / "model"
    model.save(path)
    policy, header = model_file.load(path, MixtureClassifier.policy_class)
    promise = header["promise"]
    for change in ({"limit": -1.0}, {"confidence": 3}, {"policy": "0" * 64}, {"risks": []}):
        model_file.save(path, policy, header | {"promise": promise | change})
        with pytest.raises(ValueError, match="is damaged"):
            load_classifier(path)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"fsgym-model-3", b"fsgym-model-2"))
    with pytest.raises(ValueError, match=r"a file with a promise, bins, .* must be fsgym-model-3"):
        load_classifier(path)


def test_charts_and_notebooks_follow(lattice, rows):
    X, y = rows
    before = lattice.chart(X, y)
    lattice.calibrate(X, y, target_error=0.11)
    chart = lattice.chart(X, y)
    assert len(chart.boxes) > len(before.boxes)
    assert "at most 11 % of the answers are wrong" in lattice._repr_html_()


def test_a_session_says_why_it_goes_on(fitted, rows):
    X, _ = rows
    plain, model = fitted["mixture"], copy.deepcopy(fitted["mixture"]).calibrate(min_confidence=0.95)
    at_a_loss = 0
    for i in range(20):
        done = plain.trajectories(X[i : i + 1]).order[0]
        known = {NAMES[j]: float(X.iloc[i, j]) for j in done if j >= 0}
        session = model.session(known)
        if session.next() is not None:
            at_a_loss += 1
            assert plain.step(known).should_stop
            assert "because the answer is not certain enough yet, although an answer now" in session.why()
    assert at_a_loss > 3


def test_the_command_line_follows(fitted, rows, tmp_path, capsys):
    X, y = rows
    model = copy.deepcopy(fitted["lattice"]).calibrate(X, y, target_error=0.11)
    model.save(tmp_path / "model")
    X.to_csv(tmp_path / "rows.csv", index=False)
    code, _, errors = call(capsys, "predict", tmp_path / "model", tmp_path / "rows.csv", "-o", tmp_path / "out.csv")
    assert code == 0, errors
    assert (pd.read_csv(tmp_path / "out.csv").answer == model.predict(X)).all()


def halves_of_patients(rows):
    X, y = features_and_labels(patients(rows))
    return train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)


def test_few_patients_are_refused_with_how_many_are_needed():
    train, mine, train_y, mine_y = halves_of_patients(1500)
    model = MixtureClassifier(random_state=0, **RULES).fit(train, train_y)
    with pytest.raises(
        ValueError, match=r"a recall of acs of 0.98 at confidence 0.8 needs at least 80 rows of acs"
    ) as no:
        model.calibrate(mine, mine_y, target_recall={"acs": 0.98}, confidence=0.8)
    assert f"these are {(mine_y == 'acs').sum()}" in str(no.value)
    assert (mine_y == "acs").sum() < 80


@pytest.mark.slow  # fits a lattice on 3,000 rows
@pytest.mark.filterwarnings("ignore:.*lattice reached its limit")
def test_a_recall_of_patients_is_promised_at_a_price():
    train, mine, train_y, mine_y = halves_of_patients(6000)
    model = LatticeClassifier(random_state=0, **RULES).fit(train, train_y)
    promise = model.calibrate(mine, mine_y, target_recall={"acs": 0.95}, confidence=0.8).promise_
    assert promise.tests[0].n == 270
    assert promise.tests[0].loss <= 9
    assert promise.spent_without < promise.spent < 20  # of 130 for everything


def test_promises_are_kept_on_a_population_as_often_as_they_say():
    """As ``benchmarks/promises.py`` does it, on 1,500 rows with 400 draws; the limits are where a promise can fail."""
    script = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "promises.py"))
    found = {}
    for refer_cost in (None, 0.4):
        model = MixtureClassifier(lam=0.06, refer_cost=refer_cost, random_state=0).fit(*cases(300, 0))
        found |= script["tables"](model, model.labelled_dataset(*cases(1500, 5)))
    kept, broken = [], []
    for table in found.values():
        draws = script["stages"](1500, 400, table.referred is not None, np.random.default_rng(1))
        for limit in script["limits_of"](table)[2:]:
            for delta in (0.1, 0.2):
                outcome = script["outcome"](table, limit, delta, draws)
                broken.append(outcome.broken)
                kept.append(1 - outcome.refused)
                assert outcome.broken <= delta + 3 * np.sqrt(delta * (1 - delta) / 400)
    assert len(broken) == 18
    assert max(broken) > 0.02  # the limits are within reach of a failure
    assert max(kept) > 0.5


def test_rows_of_the_training_are_found_among_others():
    X, y = cases(400, seed=5)
    model = MixtureClassifier(lam=0.04, random_state=0).fit(X[:200], y[:200])
    with pytest.raises(ValueError, match="but 50% of these are among its training rows"):
        model.calibrate(X[100:300], y[100:300], target_error=0.4)
    assert model.promise_ is None
    assert model.calibrate(X[200:], y[200:], target_error=0.4).promise_ is not None


def test_equal_rows_by_chance_are_no_rows_of_the_training():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = (rng.random((600, 4)) < np.where(y, 0.9, 0.1)[:, None]).astype(float)  # sixteen rows, all of them often
    model = MixtureClassifier(lam=0.01, random_state=0).fit(X[:300], y[:300])
    assert model.calibrate(X[300:], y[300:], target_error=0.2).promise_ is not None


@pytest.mark.parametrize("n_slots", [0, 3, 40])
def test_what_a_lattice_remembers_of_rows_changes_nothing(lattice, rows, n_slots, monkeypatch):
    X, per_slot = rows[0].to_numpy(np.float32)[:80], 2 * len(lattice.policy_.taken)
    monkeypatch.setattr("agents.lattice.constants.MAX_REMEMBERED", n_slots * per_slot)
    assert len(row_buffers(lattice.policy_.plan, 2, 80).owner) == n_slots
    few = record_paths(lattice.policy_, X)
    monkeypatch.undo()
    record = record_paths(lattice.policy_, X)
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(few, record, strict=True))
    certain = lattice.calibrate(min_confidence=0.93).trajectories(rows[0][:80])
    assert np.array_equal(certain.probabilities, record.probabilities[record.first[:-1] + certain.lengths])


def test_the_summary_of_the_training_is_of_the_answers_before_the_promise():
    X, y = cases(300, 3)

    def trained():
        return MixtureClassifier(lam=0.04, random_state=0).fit(*cases(500, 0))

    first, second = trained(), trained()
    before = first.training_summary_.to_json()
    first.calibrate(X, y, target_error=0.1)
    second.calibrate(X, y, target_error=0.1)
    assert first.training_summary_.to_json() == second.training_summary_.to_json() == before
    assert second.without_promise().training_summary_.to_json() == before
