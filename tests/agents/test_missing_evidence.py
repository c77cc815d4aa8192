"""Missing values as evidence: for rows of tables and for declared cases, and never for those that say nothing."""

import io
import json
from copy import copy

import numpy as np
import pandas as pd
import pytest

from agents import AdaptiveClassifier, load_classifier
from agents.adaptive import classifier
from agents.adaptive.evidence import telling_features
from fsgym import Dataset, Rules, evaluate
from fsgym.cli.explain import known_values, path_in_words
from fsgym.evaluation.asked import evaluate_asked
from fsgym.session.held_out import HeldOut, reliability_text
from support.browsing import Visitor
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


def test_rows_of_a_group_count_as_one_row():
    def found(n_rows, seed, share_of_sick):
        rng = np.random.default_rng(seed)
        sick = np.repeat(rng.permutation(60) % 2, n_rows)
        missing = np.repeat(rng.random(60), n_rows) < np.where(sick == 1, share_of_sick, 0.3)
        X = np.where(missing, np.nan, 0.0)[:, None].astype(np.float32)
        return len(telling_features(Dataset(X, sick, row_groups=np.repeat(np.arange(60), n_rows))))

    assert sum(found(10, seed, 0.3) for seed in range(60)) <= 9  # three are expected, at 5 %; 28 if each row counts
    assert sum(found(10, seed, 0.9) for seed in range(10)) == 10
    assert [found(10, seed, 0.6) for seed in range(20)] == [found(1, seed, 0.6) for seed in range(20)]


def test_no_panel_names_the_indicators():
    report = AdaptiveClassifier(lam=0.003, learner="lattice", random_state=0).fit(*cases(400, 3)).report_
    panel = next(point for point in report.references if point.name == "best fixed panel")
    assert report.evidence == ("scan",)
    assert panel.acquisitions == ("blood", "pulse")


def test_rows_of_hardly_any_weight_are_no_evidence():
    X, y = cases(400, 3, telling=False)
    weight = np.where(np.arange(400) % 2, 1.0, 1e-6)
    X.loc[(weight < 1) & (y == "sick"), "scan"] = np.nan
    model = AdaptiveClassifier(lam=0.03, learner="mixture", random_state=0)
    assert model.fit(X, y, sample_weight=weight).evidence_ == ()
    assert model.fit(X, y).evidence_ == ("scan",)


OTHERS = [pytest.param(learner, marks=pytest.mark.slow) for learner in ("mixture", "auto")]


@pytest.mark.parametrize("model", ["lattice", *OTHERS], indirect=True)
@pytest.mark.slow
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


@pytest.mark.one_in(3)
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
    assert given.rules_.budget == 1  # and pulse, which is always known
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


def test_the_learner_of_a_fitted_model_is_that_of_its_file(tmp_path, monkeypatch):
    """It was that of the policy that is told what is missing, and in the file that of the other one."""
    chosen = iter(["lattice", "mixture"])  # first for cases of which it is told what is missing
    monkeypatch.setattr(classifier, "_choose_learner", lambda *_: (next(chosen), "by this test"))
    model = AdaptiveClassifier(lam=0.03, random_state=0).fit(*cases(200, 0))
    model.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    assert model.evidence_
    assert (model.report_.learner, again.report_.learner) == ("lattice", "lattice")
    assert {m.learner_ for m in (model, again, model.without_evidence(), again.without_evidence())} == {"mixture"}


def test_a_target_that_cannot_be_met_is_named_as_it_was_given():
    """The indicator of what is missing was added to it."""
    model = AdaptiveClassifier(learner="mixture", target_features=1, known=["blood", "pulse"], random_state=0)
    with pytest.raises(ValueError, match=r"target_features=1 cannot be met: .* always made, 2 on average"):
        model.fit(*cases(200, 0))


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


@pytest.fixture(scope="module")
def counted(new):
    """A lattice with its figures of other rows, as ``train`` stores them, and the evaluation where nothing is said."""
    model, (X, y) = AdaptiveClassifier(lam=0.03, learner="lattice", random_state=0).fit(*cases(400, 0)), new
    told, asked = evaluate(model, X, y), evaluate_asked(model, model.labelled_dataset(X, y))
    model.held_out_ = HeldOut.of(told.confusion, None, model.policy_digest())
    digest = model.without_evidence().policy_digest()
    model.held_out_asked_ = HeldOut.of(asked.confusion, None, digest)
    return model, asked


def test_rows_asked_one_by_one_are_sessions_in_which_nothing_is_said(counted, new):
    (model, asked), (X, y) = counted, new
    answers, spent = [], []
    for _, row in X[:80].iterrows():
        session = model.session()
        while question := session.next():
            value = row[question.name]
            session.unknown(question.name) if np.isnan(value) else session.answer(question.name, value, accept=True)
        answers.append(session.stop())
        spent.append(session.spent)
    assert asked.dataset.classes[asked.answers[:80]].tolist() == answers
    prices = np.where(asked.trajectories.order >= 0, 1.0, 0.0).sum(axis=1)
    assert prices[:80].tolist() == spent
    assert asked.loss > evaluate(model, X, y).loss  # what is not said helps nobody


def test_pages_show_the_figures_of_what_they_are_told(counted, tmp_path):
    """They showed those of rows of which the model was told what is missing, where nobody said it."""
    model, path = counted[0], tmp_path / "model"
    model.save(path)
    again = load_classifier(path)
    assert (again.held_out_, again.held_out_asked_) == (model.held_out_, model.held_out_asked_)
    told, asked = (reliability_text(again, is_told=is_told) for is_told in (True, False))
    assert "not trained on, told whether there is a value of scan" in told
    assert "not trained on, not told whether there is a value of scan" in asked
    for text, record in ((told, model.held_out_), (asked, model.held_out_asked_)):
        assert f"{record.missed[0]} of {record.rows[0]} sick" in text
    visitor = Visitor(again).sign_in()
    assert asked in visitor.text
    assert asked in visitor.begin().text
    visitor = Visitor(again).sign_in().press("Begin n", missing2="no")
    assert told in visitor.text
    assert "Said before: there is no value of scan." in visitor.text
    assert "scan" not in [a.name for a in again.session(missing=["scan"]).step.alternatives]
    assert json.loads(visitor.client.get(f"{visitor.reply.url.path}/session.json").text)["missing"] == ["scan"]
    assert told in visitor.go(f"{visitor.reply.url.path}/log").text
    visitor = Visitor(again).sign_in().press("Begin n", missing2="yes")
    assert "Said before: there is a value of scan." in visitor.text
    again.save_page(tmp_path / "page.html")
    assert asked in (tmp_path / "page.html").read_text(encoding="utf-8")
    again.held_out_asked_ = None  # as in files of before
    untold = reliability_text(again, is_told=False)
    assert untold.startswith(told)
    assert "how often was not measured" in untold
    assert "No figures" not in untold


def test_no_command_claims_or_tests_a_promise_for_a_table_that_does_not_say_what_is_missing(counted, tmp_path, capsys):
    model, path, (X, y) = copy(counted[0]), tmp_path / "model", cases(300, 7)
    model.calibrate(*cases(1500, 5), target_error=0.25).save(path)
    X.assign(sick=y).to_csv(tmp_path / "full.csv", index=False)
    X.drop(columns="scan").assign(sick=y).to_csv(tmp_path / "part.csv", index=False)
    for file, promises in (("full", True), ("part", False)):
        options = (tmp_path / f"{file}.csv", "--target", "sick", "--missing-columns", "unavailable")
        code, output, _ = call(capsys, "evaluate", path, *options)
        assert (code, "Promised with confidence 90 %" in output) == (0, promises)
        assert ("Nothing is promised here" in output) != promises
        _, output, _ = call(capsys, "monitor", path, *options)
        assert ("The promise of at most 25 %" in output) == promises
        assert ("Nothing is promised here" in output) != promises


def test_a_rule_without_the_promise_that_it_is_of_is_not_saved(counted, tmp_path):
    """The file said that it was damaged when it was read."""
    model, rows, path = copy(counted[0]), cases(1500, 5), tmp_path / "model"
    model.calibrate(*rows, target_error=0.25)
    with pytest.raises(ValueError, match="calibrate this one"):
        model.without_evidence().save(path)
    for own in (
        model.without_evidence().without_promise(),
        model.without_evidence().calibrate(*rows, target_error=0.3),
    ):
        own.save(path)
        assert load_classifier(path).policy_digest() == own.policy_digest()


def test_only_models_with_evidence_ask_what_is_missing(counted):
    assert 'name="missing2"' in Visitor(counted[0]).sign_in().reply.text
    plain = AdaptiveClassifier(lam=0.03, learner="lattice", random_state=0).fit(*cases(300, 2, telling=False))
    assert "missing" not in Visitor(plain).sign_in().reply.text


def test_a_promise_stands_only_where_it_is_said_what_is_missing(counted, new, tmp_path):
    """The page claimed the promise where nothing was said, and the exported page contradicted itself."""
    model = copy(counted[0])
    model.calibrate(*new, target_recall={"sick": 0.6}, confidence=0.8)
    unsaid = "Nothing is promised here"
    assert model.session().promised[0].startswith(unsaid)
    assert model.session(missing=[]).promised[0].startswith("Promised with confidence 80 %")
    assert "promise" not in model.session().step.certainty.text
    assert "promise" not in model.session().stop_ends
    visitor = Visitor(model).sign_in()
    assert "Promised with confidence" in visitor.text.partition(unsaid)[2]  # where it is said
    visitor.begin()
    assert "for the promise" not in visitor.text
    assert "Promised with" not in visitor.text
    assert "Promised with" in Visitor(model).sign_in().press("Begin n", missing2="yes").text
    rule = json.loads(model.policy_json())["rule"]
    assert (rule["promises"], len(rule["sentences"])) == (False, 1)
    assert rule["sentences"][0].startswith(unsaid)
    model.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    assert again.held_out_asked_ == model.held_out_asked_
    assert sum(again.held_out_asked_.rows) == len(new[1])
    before = again.without_promise()
    assert before.held_out_ is None
    assert model.without_promise().held_out_asked_ == counted[0].held_out_asked_


def test_train_says_both_figures(capsys, tmp_path):
    X, y = cases(400, 0)
    X.assign(state=y).to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "state", "--lam", 0.03, "-o", tmp_path / "model")
    code, output, _ = call(capsys, "train", tmp_path / "t.csv", *options)
    assert code == 0
    model = load_classifier(tmp_path / "model")
    assert model.held_out_asked_.policy == model.without_evidence().policy_digest()
    assert "The rows held out tell the model whether there is a value of scan. Where nobody does" in output
    assert "every case gets the same answer" not in output
    assert "Ask about one case: fsgym ask" in output
    assert reliability_text(model, is_told=False).removeprefix("No promise was made for this model. ") in output
    code, output, _ = call(capsys, "train", tmp_path / "t.csv", *options, "--json")
    told, asked = (json.loads(output)[name] for name in ("held_out", "held_out_asked"))
    assert (code, asked["rows"]) == (0, told["rows"])
    wrong = sum(model.held_out_asked_.missed)
    assert asked["figures"]["accuracy"] == pytest.approx(1 - wrong / asked["rows"])
    assert asked["confusion"] != told["confusion"]
