"""`fsgym train` and `fsgym evaluate`: a model is saved and loaded, and every error is one sentence."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from test_cli import call

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier, SB3Classifier, load_classifier, model_file
from fsgym.cli.describe import _training_text
from fsgym.cli.model_data import DataOrigin
from fsgym.cli.options import agent_names
from fsgym.data.reading.reading import Reading
from fsgym.datasets import load_costs

FIGURE = r"^  (\S+(?: \S+)*)  .*?(\d\S*)(?:   of .* rows?)?$"


def figures(output):
    """The last figure in each line: that of the held-out rows, if there are any."""
    return {name: float(last) for name, last in re.findall(FIGURE, output, re.MULTILINE)}


@pytest.mark.parametrize(
    ("agent", "kind", "steps"),
    [
        ("rcpi", DatumWiseClassifier, 2),
        ("maskable_ppo", SB3Classifier, 2048),
        ("dqn", SB3Classifier, 2048),
    ],
)
def test_a_model_is_trained_and_evaluated(agent, kind, steps, capsys, tmp_path):
    path = tmp_path / "models" / "wine.safetensors"
    arguments = ("train", "wine", "--agent", agent, "-o", path, "--lam", 0.02, "--budget", 4, "--steps", steps)
    code, output, error = call(capsys, *arguments)
    assert (code, error) == (0, "")
    assert "124 of 178 rows of wine (train part)" in output
    held_out = figures(output)
    for pointer in (f"evaluate {path} wine", f"serve {path}\n", f"export {path} {path.with_suffix('.html')}"):
        assert f"fsgym {pointer}" in output or held_out["mean acquisitions"] == 0
    first = path.read_bytes()
    assert call(capsys, *arguments)[0] == 0
    assert path.read_bytes() == first

    code, output, error = call(capsys, "evaluate", path, "wine")
    assert (code, error) == (0, "")
    model = load_classifier(path)
    assert isinstance(model, kind)
    test = fsgym.load_dataset("wine", "test")
    wanted = fsgym.evaluate(model, test, rules=fsgym.Rules.for_dataset(test, lam=0.02, budget=4))
    got = figures(output)
    assert got == held_out
    assert sum(model.held_out_.rows) == 54
    assert 1 - sum(model.held_out_.missed) / 54 == pytest.approx(wanted.accuracy)
    assert model.held_out_.policy == model.policy_digest()
    assert got["accuracy"] == pytest.approx(wanted.accuracy, abs=1e-4)
    assert got["loss"] == pytest.approx(wanted.loss, abs=1e-4)
    assert got["mean acquisitions"] <= 4


@pytest.mark.slow
def test_no_command_is_printed_that_cannot_run(capsys, tmp_path):
    """No interpreter of the exported page knows the policy of GDFS."""
    path = tmp_path / "model.safetensors"
    code, output, _ = call(capsys, "train", "wine", "--agent", "gdfs", "-o", path, "--lam", 0.02, "--steps", 2)
    assert code == 0
    assert f"fsgym ask {path}" in output
    assert "export" not in output


def test_prices_error_costs_and_labels_from_files(capsys, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 60), "sex": rng.choice(["f", "m", "x"], 60)})
    frame["ill"] = np.where(frame["age"] > 50, "yes", "no")
    frame.to_csv(tmp_path / "ward.csv", index=False)
    frame[frame["ill"] == "yes"].head(5).to_csv(tmp_path / "one.csv", index=False)
    (tmp_path / "prices.csv").write_text("name,price\nage,5\nsex,1\n")
    (tmp_path / "errors.csv").write_text(",no,yes\nno,0,50\nyes,10,0\n")
    path = tmp_path / "model"
    code, output, error = call(
        capsys,
        "train",
        tmp_path / "ward.csv",
        "--target",
        "ill",
        "-o",
        path,
        "--costs",
        tmp_path / "prices.csv",
        "--error-costs",
        tmp_path / "errors.csv",
        "--budget-cost",
        6,
        "--split",
        "all",
    )
    assert (code, error) == (0, "")
    rules = load_classifier(path).rules_
    assert rules.costs.tolist() == [5.0, 1.0]
    assert rules.error_costs.tolist() == [[0, 50], [10, 0]]
    assert (rules.lam, rules.budget_cost, rules.n_acquisitions) == (1.0, 6.0, 2)
    code, output, _ = call(capsys, "evaluate", path, tmp_path / "ward.csv", "--target", "ill", "--split", "all")
    assert code == 0
    assert figures(output)["mean price paid"] <= 6
    assert "60 rows of ward" in output


def test_the_price_of_a_column_that_is_dropped_is_ignored(capsys, tmp_path):
    table = pd.DataFrame({"age": [31, 64, 45, 70] * 10, "sex": ["f", "m"] * 20, "ill": ["no", "yes"] * 20})
    table.to_csv(tmp_path / "ward.csv", index=False)
    (tmp_path / "prices.csv").write_text("age,5\nsex,1\n")
    given = ("train", tmp_path / "ward.csv", "--target", "ill", "--agent", "rcpi", "--steps", 1, "-o", tmp_path / "m")
    given += ("--costs", tmp_path / "prices.csv", "--lam", 0.01)
    code, _, error = call(capsys, *given, "--drop", "sex")
    assert code == 0, error
    assert load_classifier(tmp_path / "m").rules_.costs.tolist() == [5.0]
    (tmp_path / "prices.csv").write_text("age;1.200\nsex;1\n")
    error = call(capsys, *given, "--drop", "sex")[2]
    assert "prices.csv: '1.200' is read as 1.2; if its point separates thousands, write 1200" in error
    assert "UserWarning" not in error
    (tmp_path / "prices.csv").write_text("age,5\nsexe,1\n")
    assert "prices 'sexe', which is none of the acquisitions age" in call(capsys, *given, "--drop", "sex")[2]


def test_all_rule_options_of_the_command_are_in_the_model_file(capsys, tmp_path):
    path, names = tmp_path / "model", fsgym.load_dataset("wine").feature_names
    (tmp_path / "needs.json").write_text('{"hue": ["alcohol"]}')
    (tmp_path / "related.json").write_text('[["hue", "alcohol"]]')
    arguments = (
        "train",
        "wine",
        "-o",
        path,
        "--agent",
        "rcpi",
        "--steps",
        1,
        "--prerequisites",
        tmp_path / "needs.json",
        "--related",
    )
    arguments += (tmp_path / "related.json", "--unrelated-costs", "forbid", "--relation", "all", "--costs", 2)
    arguments += ("--no-empty-is-related", "--missing", "error", "--budget", 3, "--budget-cost", 5, "--lam", 0.02)
    assert call(capsys, *arguments)[0] == 0
    model, hue = load_classifier(path), names.index("hue")
    rules = model.rules_
    assert np.argwhere(rules.prerequisites).tolist() == [[hue, names.index("alcohol")]]
    assert (rules.related == rules.related.T).all()
    assert rules.related.sum() == 2
    assert (rules.empty_is_related, rules.relation, rules.missing) == (False, "all", "error")
    assert (rules.forbids_unrelated, rules.budget, rules.budget_cost) == (True, 3, 5.0)
    assert (rules.lam, set(rules.costs)) == (0.02, {2.0})
    assert model.get_params()["prerequisites"]["hue"] == ["alcohol"]
    assert model.get_params()["costs"] == dict.fromkeys(names, 2.0)
    (tmp_path / "needs.json").write_text('{"hue": ["alcohol"], "alcohol": ["hue"]}')
    code, _, error = call(capsys, *arguments)
    assert (code, len(error.splitlines())) == (2, 1)
    assert "prerequisites must not form a cycle" in error


def test_errors_are_one_sentence(capsys, tmp_path):
    path = tmp_path / "model"
    assert call(capsys, "train", "wine", "-o", path, "--agent", "rcpi", "--steps", 1)[0] == 0
    model_file.write(tmp_path / "tree", "tree", {"a": np.zeros(1)}, {})
    model_file.write(tmp_path / "none", 3, {"a": np.zeros(1)}, {})
    (tmp_path / "noise").write_bytes(b"noise")
    before = path.read_bytes()
    for arguments, message in (
        (("train", "wine"), "Missing option"),
        (("train", "wine", "-o", path, "--agent", "dqm"), "did you mean 'dqn'"),
        (
            ("train", "wine", "-o", path, "--agent", "cart"),
            f"one of {', '.join(agent_names())}, got 'cart': train cart in Python, by baselines.cart.CARTClassifier, "
            "and store it with joblib.dump",
        ),
        (
            ("train", "wine", "-o", path, "--agent", "lattice", "--steps", 9),
            "which lattice does not have",
        ),
        (("train", "wien", "-o", path), "did you mean 'wine'"),
        (("train", "wine", "-o", path, "--split", "some"), "split must be one of"),
        (("train", "wine", "-o", path, "--lam=-1"), "lam must be"),
        (("train", "wine", "-o", path, "--agent", "rcpi", "--steps", 0), "--steps must be"),
        (("train", "wine", "-o", path, "--agent", "dqn", "--steps", 0), "--steps must be"),
        (("train", "wine", "-o", path, "--seed=-1"), "--seed must be"),
        (("train", "wine", "-o", path, "--budget-cost", "0.5"), "nothing could be acquired"),
        (("train", "wine", "-o", "/dev/null/model"), "cannot write to the folder"),
        (("evaluate", tmp_path / "nowhere", "wine"), "no model file"),
        (("evaluate", tmp_path / "tree", "wine"), "a model of kind 'tree'"),
        (("evaluate", tmp_path / "none", "wine"), "the kind of model is missing"),
        (("evaluate", tmp_path / "noise", "wine"), "not a model file"),
        (("evaluate", path, "breast_cancer"), "breast_cancer must have the columns 'alcohol', "),
        (("evaluate", path, "wine", "--drop", "hue"), "--drop names 'hue', which is a feature of"),
        (("evaluate", path, "wine", "--category", "hue"), "--category names 'hue', which is a number"),
        (("evaluate", path, "wine", "--numeric", "huee"), "did you mean 'hue'?"),
        (("evaluate", path, "wine", "--split", "some"), "split must be one of"),
        (
            ("train", "wine", "-o", path, "--agent", "rcpi", "--target-cost", 2),
            "--target-cost is not an option of rcpi",
        ),
        (
            ("train", "wine", "-o", path, "--agent", "rcpi", "--known", "hue"),
            "--known is not an option of rcpi; leave it out, or use --agent adaptive",
        ),
        (("train", "wine", "-o", path, "--known", "hue,huee"), "unknown column in --known 'huee'; did you mean 'hue'?"),
        (("train", "wine", "-o", path, "--lam", 0.1, "--target-features", 2), "--lam cannot be given"),
        (("train", "wine", "-o", path, "--target-features=-2"), "--target-features must be"),
        (("train", "wine", "-o", path, "--units", "hue"), "--units must be NAME=UNIT"),
        (("train", "wine", "-o", path, "--units", "huee=nm"), "did you mean 'hue'?"),
    ):
        code, output, error = call(capsys, *arguments)
        assert (code, output) == (2, ""), arguments
        assert message in error
        assert len(error.splitlines()) == 1
    assert path.read_bytes() == before


@pytest.mark.parametrize("agent", ["adaptive", "lattice"])
def test_columns_that_every_case_brings_come_first_and_cost_nothing(agent, capsys, tmp_path):
    rng = np.random.default_rng(0)
    ill = rng.random(80) < 0.5
    table = pd.DataFrame({"age": rng.integers(20, 80, 80), "sex": rng.choice(["f", "m"], 80)})
    table["crp"] = np.where(ill, 40.0, 3.0) + rng.normal(0, 15, 80).round(1)
    table["wbc"] = np.where(ill, 11.0, 9.0) + rng.normal(0, 2, 80).round(1)
    table.assign(ill=np.where(ill, "yes", "no")).to_csv(tmp_path / "ward.csv", index=False)
    path = tmp_path / "model"
    arguments = ("train", tmp_path / "ward.csv", "--target", "ill", "--known", "age,sex", "--agent", agent, "-o", path)
    assert call(capsys, *arguments)[0] == 0
    model = load_classifier(path)
    steps = model.trajectories(table).to_frame().query("step < 2")
    assert len(steps) == 160
    assert set(steps["acquired"]) == {"age", "sex"}
    assert steps["spent"].max() == 0
    assert model.rules_.costs.tolist() == [0, 0, 1, 1]


def test_a_model_never_overwrites_a_table(capsys, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,target\n" + "1.5,x\n2.5,y\n" * 20)
    before = table.read_bytes()
    code, _, error = call(capsys, "train", table, "-o", table, "--agent", "rcpi", "--steps", 1)
    assert code == 2
    assert "exists and is no model file; choose another name" in error
    assert table.read_bytes() == before
    model = tmp_path / "m.safetensors"
    for _ in range(2):  # a model may be replaced by another one
        assert call(capsys, "train", table, "-o", model, "--agent", "rcpi", "--steps", 1)[0] == 0
    code, _, error = call(capsys, "train", table, "-o", tmp_path)
    assert (code, "is a folder" in error) == (2, True)


def test_small_files_as_a_spreadsheet_writes_them(tmp_path):
    (tmp_path / "p.csv").write_text("Name;Preis\nCRP;6,5\nct;150\n")
    assert load_costs(tmp_path / "p.csv") == {"CRP": 6.5, "ct": 150.0}
    (tmp_path / "p.json").write_text('{"CRP": 6, "CRP": 700}')
    with pytest.raises(ValueError, match="two values for 'CRP'; remove one"):
        load_costs(tmp_path / "p.json")
    with pytest.raises(ValueError, match="decimal point, got 6,5"):
        load_costs("6,5")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load_costs(tmp_path)


def test_figures_of_train_and_evaluate_as_json(capsys, tmp_path):
    path, arguments = tmp_path / "model.fsgym", ["--agent", "rcpi", "--steps", 1, "--json"]
    code, output, error = call(capsys, "train", "breast_cancer", "-o", path, *arguments)
    assert (code, error) == (0, "")
    trained = json.loads(output)
    figures = {
        "model",
        "agent",
        "learner",
        "data",
        "part",
        "lam",
        "seconds",
        "compiling",
        "training",
        "held_out",
        "held_out_asked",
    }
    assert set(trained) == figures | {"evidence"}
    assert trained["model"] == str(path)
    code, output, error = call(capsys, "evaluate", path, "breast_cancer", "--json")
    assert (code, error) == (0, "")
    evaluated = json.loads(output)
    assert evaluated["evaluation"] == trained["held_out"]
    assert (evaluated["part"], evaluated["remark"]) == ("test", "None of these rows were used in training.")
    result = fsgym.evaluate(load_classifier(path), fsgym.load_dataset("breast_cancer", "test"))
    assert evaluated["evaluation"] == json.loads(json.dumps(result.to_json()))
    assert evaluated["evaluation"]["figures"]["accuracy"] == result.accuracy
    assert evaluated["evaluation"]["figures"]["auc"] is None
    assert evaluated["evaluation"]["positive_class"] == "malignant"
    assert sum(map(sum, evaluated["evaluation"]["confusion"])) == evaluated["evaluation"]["rows"] == len(result.losses)
    code, output, _ = call(capsys, "train", "wine", "-o", path, *arguments, "--split", "all")
    assert json.loads(output)["held_out"] is None


def test_evaluate_prints_how_often_answers_of_a_certainty_are_right(capsys, tmp_path):
    LatticeClassifier(lam=0.02, random_state=0).fit(fsgym.load_dataset("wine", "train")).save(tmp_path / "model")
    code, output, _ = call(capsys, "evaluate", tmp_path / "model", "wine", "--split", "test")
    assert code == 0
    result = fsgym.evaluate(load_classifier(tmp_path / "model"), fsgym.load_dataset("wine", "test"))
    lines = iter(output.splitlines())
    heading = next(line for line in lines if "How often answers of a certainty are right" in line)
    assert f"beyond chance {result.excess_calibration_error:.4f}" in heading
    for name, label in (("certainty", "probability of the answer"), ("correct", "share of right answers")):
        printed = next(lines)
        assert label in printed
        assert [float(v) for v in re.findall(r"\d\.\d+", printed)] == result.reliability[name].round(2).tolist()
    assert sum(map(int, re.findall(r"\d+", next(lines)))) == result.dataset.n_samples


def test_the_headline_comes_first_and_figures_by_class_are_shown(capsys, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 300)})
    frame["ill"] = np.where(frame["age"] + rng.normal(0, 3, 300) > 72, "yes", "no")
    frame.to_csv(tmp_path / "ward.csv", index=False)
    train = ("train", tmp_path / "ward.csv", "--target", "ill", "-o", tmp_path / "model", "--agent", "lattice")
    code, output, _ = call(capsys, *train)
    assert code == 0
    lines = output.splitlines()
    assert re.fullmatch(r"Held out: accuracy 0\.\d+, balanced accuracy [01]\.\d+, AUC [01]\.\d+", lines[1])
    assert lines[2].split() == ["training", "held", "out"]
    assert {"sensitivity (yes)", "specificity (no)", "PPV (yes)", "NPV (no)", "Brier score"} <= set(figures(output))
    (tmp_path / "errors.csv").write_text(",no,yes\nno,0,50\nyes,10,0\n")
    assert "accuracy alone says little" not in output
    code, output, _ = call(capsys, *train, "--error-costs", tmp_path / "errors.csv")
    assert code == 0
    assert "accuracy alone says little" in output
    code, output, _ = call(capsys, "evaluate", tmp_path / "model", tmp_path / "ward.csv")
    words = (
        r"90 rows: cost per case [\d.]+ \(95 % interval [\d.]+ to [\d.]+\), [\d,]+ per 1,000 cases; "
        r"with the answer \S+ in all cases it would be [\d.]+ per case"
    )
    assert re.fullmatch(words, output.splitlines()[2])
    shown = figures(output)
    assert shown["loss, lower limit of 95 %"] < shown["loss"] < shown["loss, upper limit of 95 %"]
    code, output, _ = call(capsys, *train, "--error-costs", tmp_path / "errors.csv", "--lam", 0.5)
    parts = r"cost per case ([\d.]+) .*, which is ([\d.]+) for errors and lambda 0\.5 times ([\d.]+) for prices, "
    cost, errors, prices = map(float, re.search(parts, output).groups())
    assert code == 0
    assert cost == pytest.approx(errors + 0.5 * prices, abs=0.01)
    (tmp_path / "errors.csv").write_text(",no,yes\nno,4,90\nyes,14,44\n")
    code, output, _ = call(capsys, *train, "--error-costs", tmp_path / "errors.csv")
    ill, well = (int(re.search(rf" {label}: of (\d+) rows,", output)[1]) for label in ("yes", "no"))  # held out
    assert code == 0
    least = (44 * ill + 4 * well) / (ill + well)
    assert f"per case, with the best answer to each {least:.4g}\n" in output


def test_a_model_that_answers_all_rows_right_is_remarked(capsys, tmp_path):
    for noise, perfect in ((0.0, True), (3.0, False)):
        rng = np.random.default_rng(0)
        age = rng.integers(20, 80, 300)
        ill = np.where((age < 40) + (age < 50) * rng.random(300) * noise > 0.5, "yes", "no")
        pd.DataFrame({"age": age, "ill": ill}).to_csv(tmp_path / "ward.csv", index=False)
        train = ("train", tmp_path / "ward.csv", "--target", "ill", "-o", tmp_path / "model", "--agent", "lattice")
        code, output, _ = call(capsys, *train)
        assert code == 0
        assert ("Each of them is answered right: perhaps a column is filled in only afterwards." in output) == perfect


def test_codes_are_named_and_the_loss_is_printed_in_the_unit_of_the_prices(capsys, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"crp": rng.normal(size=80).round(3), "triage": rng.choice([1, 2, 7, 9], 80)})
    frame.loc[rng.random(80) < 0.1, "triage"] = np.nan
    frame["ill"] = np.where(frame["triage"] == 7, "yes", "no")
    frame.to_csv(tmp_path / "ward.csv", index=False)
    (tmp_path / "prices.json").write_text('{"crp": 5, "triage": 1}')
    arguments = ["train", tmp_path / "ward.csv", "--target", "ill", "-o", tmp_path / "model", "--agent", "rcpi"]
    arguments += ["--steps", 1, "--lam", 0.02, "--missing", "unavailable"]
    code, output, error = call(capsys, *arguments, "--costs", tmp_path / "prices.json")
    assert code == 0
    assert error == (
        "fsgym: few distinct whole numbers, which may be a code: triage; if they count nothing, pass "
        "--category triage, and otherwise --numeric triage\n"
    )
    per_case = float(re.search(r"The loss / lambda is (\S+):", output)[1])
    assert per_case == pytest.approx(figures(output)["loss"] / 0.02, rel=0.01)
    for option in ("--category", "--numeric"):
        code, output, error = call(capsys, *arguments, option, "triage")
        assert (code, error) == (0, "")
        assert "loss / lambda" not in output


def test_ctrl_c_in_a_training_says_that_no_model_was_written(capsys, tmp_path, monkeypatch):
    def stopped(*rows):
        raise KeyboardInterrupt

    monkeypatch.setattr(DatumWiseClassifier, "fit", stopped)
    code, printed, error = call(capsys, "train", "wine", "--agent", "rcpi", "-o", tmp_path / "m")
    assert (code, printed, error) == (130, "", "fsgym: stopped; no model was written\n")
    assert not (tmp_path / "m").exists()


def test_training_without_a_name_says_that_the_learner_is_chosen(capsys, tmp_path):
    rows = [f"{k % 10}.5,{(k * 7) % 15}.5,{'ill' if k % 10 > 4 else 'well'}" for k in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,target", *rows]))
    code, printed, _ = call(capsys, "train", tmp_path / "t.csv", "-o", tmp_path / "m.safetensors")
    assert code == 0
    learner = load_classifier(tmp_path / "m.safetensors").learner_
    assert f"Of several learners, {learner} is taken: its loss is " in printed
    assert "Out of fold: each row is judged by models trained without it." in printed


def test_figures_say_how_many_rows_are_behind_them(capsys, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"tsh": rng.normal(size=90).round(2), "age": rng.integers(20, 80, 90)})
    frame["thyroid"] = np.where(frame["tsh"] > 0.3, "low", "well")
    frame.loc[[3, 50, 70], ["tsh", "thyroid"]] = [[9, "hyper"]] * 3
    frame = pd.concat([frame, frame.head(20)])
    frame.to_csv(tmp_path / "t.csv", index=False)
    path, data = tmp_path / "m.safetensors", tmp_path / "t.csv"
    options = ("--target", "thyroid", "--row-groups", "duplicates", "--agent", "lattice")
    code, output, _ = call(capsys, "train", data, "-o", path, "--lam", 0.001, *options)
    assert code == 0
    assert "(train part, row groups kept together)" in output
    result = fsgym.evaluate(load_classifier(path), fsgym.load_dataset(data, target="thyroid"))
    code, output, error = call(capsys, "evaluate", path, data, "--split", "all")
    assert (code, error) == (0, "")
    n_hyper = result.confusion[0].sum()
    assert re.search(rf"recall of hyper +{result.by_class['recall'][0]:.4f}   of {n_hyper} rows\n", output)
    assert re.search(rf"precision of low +\S+   of {result.confusion[:, 1].sum()} rows\n", output)
    assert "    hyper: of 4 rows, 4 are answered hyper\n" in output
    held_out = call(capsys, "evaluate", path, data)[1]  # the parts of the training, equal rows together
    assert "None of these rows were used in training" in held_out
    seen = call(capsys, "evaluate", path, data, "--split", "train")[1]
    n_rows = [int(re.search(r"rows +(\d+)\n", text)[1]) for text in (held_out, seen)]
    assert sum(n_rows) == 110


def test_describe_says_how_the_training_rows_were_read():
    read = {"separator": ";", "decimal": ",", "thousands": "'", "sheet": "Blatt 2", "header_row": 3}
    origin = DataOrigin("a.xlsx", "a", "0", 1200, "all", Reading("ill", **read, row_groups="duplicates"))
    assert _training_text(origin) == (
        "Trained on all 1,200 rows of a.xlsx; target ill; separator semicolon; decimal comma; thousands apostrophe; "
        "sheet Blatt 2; header row 3; equal rows together."
    )


def test_a_model_file_that_is_not_there_is_no_data_set(capsys, tmp_path):
    code, _, error = call(capsys, "describe", tmp_path / "missing.safetensors")
    assert code != 0
    assert f"no model file at {tmp_path}" in error.replace("\n", " ")


def test_describe_says_what_a_model_file_holds(capsys, tmp_path):
    table = pd.DataFrame(
        {"age": [k // 2 for k in range(60)], "sex": ["f", "m", "m"] * 20, "ill": ["no"] * 30 + ["yes"] * 30}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / "model"
    (tmp_path / "errors.json").write_text('{"no": {"yes": 40}, "yes": {"no": 2}}')
    options = ("--error-costs", tmp_path / "errors.json", "--costs", 3, "--agent", "lattice", "--drop", "sex")
    assert call(capsys, "train", tmp_path / "t.csv", "--target", "ill", "-o", path, *options)[0] == 0
    code, output, error = call(capsys, "describe", path)
    assert (code, error) == (0, "")
    for said in (
        "LatticeClassifier: 1 column, 2 classes, lambda 1",
        f"Trained on the train part of the 60 rows of {tmp_path / 't.csv'}; target ill; drop sex.",
        "a missed 'yes' costs 40, a false 'yes' costs 2",
        "On 18 rows that it was not trained on, it answered wrongly: ",
        "Its probabilities are not calibrated.",
        "It promises nothing",
    ):
        assert said in output
    assert re.search(r"age +number +3\s*\n", output)
    code, _, error = call(capsys, "describe", path, "--target", "ill")
    assert code == 2
    assert "--target is for tables" in error
    path.write_bytes(path.read_bytes()[:-10])
    code, _, error = call(capsys, "describe", path)
    assert code == 2
    assert "damaged" in error
