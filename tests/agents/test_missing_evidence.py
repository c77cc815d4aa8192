"""Missing values as evidence: for rows of tables and for declared cases, and never for those that say nothing."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from agents import AdaptiveClassifier, load_classifier
from agents.adaptive.evidence import telling_features
from fsgym import Dataset, Rules, evaluate
from fsgym.cli.explain import known_values, path_in_words
from tests.fsgym.cli.test_cli import call

NAMES = ["blood", "pulse", "scan"]


def cases(n, seed, telling=True):
    """Three normal columns that are shifted in class 1; ``scan`` is missing in 80 % and 10 % of the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    table = pd.DataFrame({name: y + rng.normal(size=n) for name in NAMES})
    share = np.where(y == 1, 0.1, 0.8) if telling else np.full(n, 0.45)
    table.loc[rng.random(n) < share, "scan"] = np.nan
    return table, np.where(y == 1, "sick", "well")


@pytest.fixture(scope="module", params=["lattice", "mixture", "auto"])
def model(request):
    return AdaptiveClassifier(lam=0.03, learner=request.param, random_state=0).fit(*cases(400, 0))


@pytest.fixture(scope="module")
def new():
    return cases(300, 1)


def test_columns_are_found_where_missing_values_go_with_the_class():
    X, y = cases(400, 0)
    data = Dataset(X.assign(again=X.scan, empty=np.nan, twice=X.scan).to_numpy(np.float32), y)
    assert telling_features(data).tolist() == [2]  # of equal patterns the first; a column without values tells nothing
    rare = X.copy()
    rare.iloc[:4, 0] = np.nan
    assert telling_features(Dataset(rare.to_numpy(np.float32), np.arange(400) < 4)).tolist() == []  # too few rows
    found = [
        len(telling_features(Dataset(t.to_numpy(np.float32), y))) for t, y in (cases(300, s, False) for s in range(60))
    ]
    assert 0 <= sum(found) <= 9  # three are expected, at 5 %


OTHERS = [pytest.param(learner, marks=pytest.mark.slow) for learner in ("mixture", "auto")]


@pytest.mark.parametrize("model", ["lattice", *OTHERS], indirect=True)
def test_what_is_missing_lowers_the_loss_as_a_free_column_that_says_so(model, new):
    X, y = new
    rules = Rules(3, 2, lam=0.03)
    loss = evaluate(model, X, y, rules=rules).loss
    train, labels = cases(400, 0)
    plain = AdaptiveClassifier(lam=0.03, learner=model.learner, random_state=0).fit(train.fillna(0.5), labels)
    without = evaluate(plain, X, y, rules=rules).loss
    free = AdaptiveClassifier(lam=0.03, learner=model.learner, costs=[1, 1, 1, 0], random_state=0)
    free.fit(train.assign(absent=train.scan.isna() * 1.0), labels)
    with_column = evaluate(free, X.assign(absent=X.scan.isna() * 1.0), y, rules=free.rules_).loss
    assert model.evidence_ == ("scan",)
    assert model.report_.evidence == ("scan",)
    assert loss < with_column + 0.02
    assert loss < without - 0.05


def test_nothing_changes_where_values_are_missing_at_random(tmp_path):
    X, y = cases(400, 2, telling=False)
    fitted = AdaptiveClassifier(lam=0.03, random_state=0).fit(X, y)
    assert fitted.evidence_ == ()
    assert fitted.policy_.informed is None
    assert fitted.session(missing=["scan"]).probabilities == fitted.session().probabilities
    assert "evidence" not in json.dumps(fitted.report_.as_json())


@pytest.mark.one_in(3)
def test_a_declared_case_is_asked_and_answered_as_its_row(model, new):
    X, _ = new
    done = model.trajectories(X)
    fetched = model.predict_on_demand(lambda name, rows: X[name].to_numpy()[rows], len(X), missing=X.isna())
    np.testing.assert_array_equal(fetched, model.predict(X))
    proba = model.predict_proba(X)
    for i in range(60):
        session, asked = model.session(missing=[name for name in NAMES if np.isnan(X[name][i])], accept=True), []
        while question := session.next():
            asked.append(question.name)
            session.answer(question.name, float(X[question.name][i]), accept=True)
        assert asked == [model.rules_.names[j] for j in done.order[i] if j >= 0]
        assert session.stop() == model.classes_[done.answers[i]]
        assert list(session.probabilities.values()) == pytest.approx(proba[i])
        assert model.resume(session.to_json()).probabilities == session.probabilities
    np.testing.assert_allclose(model.probabilities_at(X, done.acquired), proba)


def test_only_what_is_declared_is_evidence(model, new):
    silent = model.session()
    shares = pd.Series(cases(400, 0)[1]).value_counts(normalize=True).to_dict()
    assert silent.probabilities == pytest.approx(shares, abs=0.02)  # the mean over all cases
    missing, present = model.session(missing=["scan"]), model.session(missing=[])
    assert present.probabilities["sick"] - missing.probabilities["sick"] > 0.5
    share = cases(400, 0)[0].scan.isna().mean()
    mean = share * missing.probabilities["sick"] + (1 - share) * present.probabilities["sick"]
    assert silent.probabilities["sick"] == pytest.approx(mean, abs=0.03)
    assert silent.next() == model.step({}).question
    assert "missing" not in json.loads(silent.to_json())
    with pytest.raises(ValueError, match="'scan' is missing for this case, as was said when the session began"):
        missing.answer("scan", 1.0, paid=False)
    unavailable, unknown = model.session(unavailable=["scan"]), model.session()
    unknown.unknown("scan")
    assert unavailable.probabilities == unknown.probabilities == silent.probabilities
    assert model.step({}, unavailable=["scan"], missing=[]).probabilities == present.probabilities
    first = model.predict_on_demand(lambda name, rows: np.full(len(rows), np.nan), 1)
    assert first == [silent.step.answer]
    X, _ = new
    wide, _ = cases(3000, 7)
    belief = model.predict_proba(wide.drop(columns="scan"), missing_columns="unavailable")
    assert belief.mean(axis=0)[0] == pytest.approx(shares["sick"], abs=0.07)  # also after values: .37 if it were learnt
    there, lacking = X.assign(scan=np.nan), X.drop(columns="scan")
    answers = model.predict(lacking, missing_columns="unavailable")
    assert (model.predict(there) != answers).any()  # a column that the table does not have says nothing of its rows
    np.testing.assert_array_equal(
        answers, model.predict_on_demand(lambda name, rows: X[name].to_numpy()[rows], len(X), available=there.notna())
    )


@pytest.mark.slow  # a network takes ten seconds; lattice and mixture: test_only_what_is_declared_is_evidence
def test_a_network_does_not_learn_from_its_states_what_is_missing():
    model = AdaptiveClassifier(lam=0.01, learner="network", random_state=0).fit(*cases(600, 0))
    wide, _ = cases(3000, 50)
    belief = model.predict_proba(wide.drop(columns="scan"), missing_columns="unavailable").mean(axis=0)[0]
    assert belief == pytest.approx((cases(600, 0)[1] == "sick").mean(), abs=0.05)  # .07 below if it learns it


def test_a_loaded_model_and_explanations_know_what_is_missing(model, new, tmp_path):
    X, _ = new
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = load_classifier(path)
    assert again.policy_digest() == model.policy_digest()
    assert again.evidence_ == ("scan",)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    i = int(np.flatnonzero(X.scan.isna())[0])
    text = " ".join(path_in_words(model, known_values(X.iloc[[i]], model.columns_)))
    assert text.startswith("Missing: scan. The model knows from the start whether there is a value of scan.")
    assert "where it is not said whether there is a value of scan" in again.chart().to_text()
    assert f"Answer: {model.predict(X.iloc[[i]])[0]}" in text


@pytest.mark.slow
def test_indicators_count_neither_for_budgets_nor_as_features(new):
    X, y = cases(400, 0)
    given = AdaptiveClassifier(learner="mixture", lam=0.001, budget=1, known=["pulse"], random_state=0).fit(X, y)
    assert given.rules_.names == tuple(NAMES)
    assert given.rules_.budget == 2
    used = given.features_used(new[0])
    assert used.sum(axis=1).max() == 2
    few = AdaptiveClassifier(learner="lattice", target_features=1, random_state=0).fit(X, y)
    assert 0.8 <= few.expected_n_features_ <= 1
    assert few.features_used(new[0]).sum(axis=1).mean() == pytest.approx(few.expected_n_features_, abs=0.25)
    odd = {name: f"what is missing{': 0' * (name == 'pulse')}" for name in ("blood", "pulse")}
    assert AdaptiveClassifier(learner="mixture", random_state=0).fit(X.rename(columns=odd), y).evidence_ == ("scan",)
    related = np.eye(3, dtype=bool)
    by_order = AdaptiveClassifier(learner="mixture", related=related, unrelated_costs=[2, 2, 2], random_state=0)
    assert by_order.fit(X, y).evidence_ == ()


def test_mistakes_are_sentences(model):
    for arguments, sentence in (
        ({"known": {"scan": 1.0}, "missing": ["scan"]}, "'scan' must be known or missing, got both"),
        ({"known": {}, "missing": ["scam"]}, "missing: .*scan"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.session(**arguments)
    with pytest.raises(TypeError, match="missing must be a list of names"):
        model.session(missing="scan")
    with pytest.raises(TypeError, match="missing must be a list of names, got a mask"):
        model.session(missing=[False, False, True])
    with pytest.raises(ValueError, match="missing must be bool of shape"):
        model.predict_on_demand(lambda *_: None, 2, missing=[[0, 1, 0]] * 2)
    text = json.loads(model.session(missing=[]).to_json())
    with pytest.raises(ValueError, match="damaged: missing must be a list"):
        model.resume(json.dumps(text | {"missing": "scan"}))


@pytest.mark.parametrize("change", ["features", "order", "learner", "arrays"])
def test_a_damaged_file_is_refused(model, change):
    arrays, header = model.policy_.to_arrays()
    header = json.loads(json.dumps(header))
    if change == "features":
        arrays["informed.features"] = np.array([7])
    elif change == "order":
        arrays["informed.features"] = np.array([2, 1])
    elif change == "learner":
        header["informed"]["learner"] = "oracle"
    else:
        arrays["informed.features"] = np.array([1, 2])
    with pytest.raises(ValueError, match=r"evidence|learner|ascending|shape|parts"):
        type(model.policy_).from_arrays(arrays, header, model.policy_.rules)


def test_the_command_ask_declares_what_is_missing(capsys, tmp_path, monkeypatch, model):
    model.save(tmp_path / "model.safetensors")
    probabilities = []
    for arguments in ((), ("--missing", "scan"), ("--unavailable", "scan")):
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        code, printed, _ = call(capsys, "ask", tmp_path / "model.safetensors", "--json", *arguments)
        assert code == 0
        probabilities.append(dict(json.loads(printed.splitlines()[0])["probabilities"])["sick"])
    silent, missing, unavailable = probabilities
    assert silent == unavailable
    assert missing < silent - 0.2
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    printed = call(capsys, "ask", tmp_path / "model.safetensors", "--json", "--missing", "")[1]
    assert dict(json.loads(printed.splitlines()[0])["probabilities"])["sick"] > silent + 0.15
    assert "--missing" in call(capsys, "ask", tmp_path / "model.safetensors", "--missing", "scam")[2]


def test_commands_take_an_absent_column_for_no_evidence(capsys, tmp_path, model, new):
    X, y = new
    model.save(tmp_path / "model.safetensors")
    lacking = X.drop(columns="scan").assign(target=y)
    lacking.to_csv(tmp_path / "lacking.csv", index=False)
    wanted = model.predict(lacking, missing_columns="unavailable")
    arguments = (tmp_path / "model.safetensors", tmp_path / "lacking.csv", "--missing-columns", "unavailable")
    code, printed, _ = call(capsys, "predict", *arguments)
    assert code == 0
    assert pd.read_csv(io.StringIO(printed))["answer"].tolist() == wanted.tolist()
    code, printed, _ = call(capsys, "evaluate", *arguments, "--json")
    assert json.loads(printed)["evaluation"]["figures"]["accuracy"] == pytest.approx((wanted == y).mean())
    code, printed, _ = call(capsys, "explain", *arguments, "--row", 3)
    assert code == 0
    assert f"Answer: {wanted[3]}" in printed


def test_models_without_names_know_what_is_missing_in_tables_with_names(new):
    X, y = cases(400, 0)
    plain = AdaptiveClassifier(lam=0.03, learner="lattice", random_state=0).fit(X.to_numpy(), y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        by_position = plain.predict(new[0])
    np.testing.assert_array_equal(by_position, plain.predict(new[0].to_numpy()))
    silent = plain.without_evidence()
    assert (silent.predict(new[0].to_numpy()) != by_position).any()
    assert silent.without_evidence() is silent


@pytest.mark.parametrize("model", ["lattice"], indirect=True)
def test_the_chart_of_a_file_says_which_other_figures_evaluate_has_for_its_rows(model, new, tmp_path, capsys):
    X, y = new
    X.assign(sick=y).to_csv(tmp_path / "new.csv", index=False)
    model.save(tmp_path / "model.safetensors")
    code, _, error = call(capsys, "chart", tmp_path / "model.safetensors", tmp_path / "new.csv", "--target", "sick")
    found = evaluate(model, X, y)
    assert code == 0
    assert f"fsgym evaluate has a loss of {found.loss:.4g} and a price of {found.spent:.4g} for these rows" in error
    assert found.loss < model.chart(X, y).policy_loss - 0.02
