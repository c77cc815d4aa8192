"""What the commands say of rows that differ from those of the training."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from test_cli import call

from agents import MixtureClassifier, load_classifier, model_file
from fsgym import load_dataset
from fsgym.cli.monitor import _print_comparison
from fsgym.data.training_summary import Comparison, Difference, TrainingSummary
from tests.fsgym.cli.conftest import cases


@pytest.fixture(scope="module")
def files(case_model, tmp_path_factory):
    """The model, a table as that of its training with labels, and one with another unit."""
    folder = tmp_path_factory.mktemp("monitoring")
    table, labels = cases(300, 5)
    table.assign(ill=labels).to_csv(folder / "same.csv", index=False)
    table.assign(ill=labels, crp=table["crp"] / 1000).to_csv(folder / "grams.csv", index=False)
    return case_model, folder / "same.csv", folder / "grams.csv"


def test_predict_says_so_in_one_line_or_refuses(files, capsys, tmp_path):
    model, same, grams = files
    assert call(capsys, "predict", model, same, "-o", tmp_path / "a.csv")[2] == ""
    code, _, error = call(capsys, "predict", model, grams, "-o", tmp_path / "a.csv")
    assert (code, len(error.splitlines())) == (0, 1)
    assert f"{grams} differs from the training rows in 1 of 5 columns: crp looks like a factor of 1/1000" in error
    assert "values outside its range, such as 0.0" in error
    code, out, error = call(capsys, "predict", model, grams, "-o", tmp_path / "b.csv", "--strict")
    assert (code, out, len(error.splitlines())) == (2, "", 1)
    assert "--strict refuses" in error
    assert not (tmp_path / "b.csv").exists()
    assert call(capsys, "predict", model, same, "-o", tmp_path / "b.csv", "--strict")[0] == 0


def test_evaluate_says_so_and_has_it_in_json(files, capsys):
    model, same, grams = files
    assert call(capsys, "evaluate", model, same, "--target", "ill")[2] == ""
    code, out, error = call(capsys, "evaluate", model, grams, "--target", "ill", "--json")
    assert (code, len(error.splitlines())) == (0, 1)
    found = json.loads(out)["comparison"]["differences"]
    assert [(d["column"], d["factor"]) for d in found] == [("crp", 0.001)]
    assert call(capsys, "evaluate", model, grams, "--target", "ill", "--strict")[0] == 2


def test_monitor_prints_what_differs_and_exits_with_3(files, capsys):
    model, same, grams = files
    code, out, error = call(capsys, "monitor", model, same, "--target", "ill")
    assert (code, error) == (0, "")
    assert out.startswith(f"No difference is found (300 rows of {same}, 150 of the training; 5 columns")
    assert "Answers of the model, not tested: no " in out
    code, out, error = call(capsys, "monitor", model, grams)
    assert (code, error) == (3, "")
    assert "crp looks like a factor of 1/1000" in out
    assert "p < 1e-09" in out
    code, out, _ = call(capsys, "monitor", model, grams, "--json")
    found = json.loads(out)
    assert (code, found["differs"], found["rows"], found["promise"]) == (3, True, 300, [])
    assert sum(share["share"] for share in found["answers"].values()) == pytest.approx(1.0)


def test_monitor_tests_classes_and_a_promise_where_it_has_labels(files, capsys, tmp_path):
    model, same, _ = files
    certain = load_classifier(model)
    certain.calibrate(*cases(900, 1), target_error=0.2, confidence=0.8)
    certain.save(tmp_path / "certain")
    code, out, _ = call(capsys, "monitor", tmp_path / "certain", same, "--target", "ill")
    assert code == 0
    assert "are answered wrongly. The promise of at most 20 % is not refuted (p = " in " ".join(out.split())
    (risk,) = json.loads(call(capsys, "monitor", tmp_path / "certain", same, "--target", "ill", "--json")[1])["promise"]
    table, labels = cases(300, 5)
    assert risk["loss"] == (certain.predict(table) != labels).sum()
    assert risk["p_value"] == pytest.approx(1 - binom.cdf(risk["loss"] - 1, 300, 0.2))
    assert "The promise is not tested" in call(capsys, "monitor", tmp_path / "certain", same)[1]
    wrong = tmp_path / "wrong.csv"
    table.assign(ill=["yes" if label == "no" else "no" for label in labels]).to_csv(wrong, index=False)
    code, out, _ = call(capsys, "monitor", tmp_path / "certain", wrong, "--target", "ill", "--json")
    assert code == 3
    (risk,) = json.loads(out)["promise"]
    assert risk["is_broken"]
    assert risk["n"] == 300
    few = tmp_path / "one_class.csv"
    table[labels == "yes"].assign(ill="yes").to_csv(few, index=False)
    code, out, _ = call(capsys, "monitor", model, few, "--target", "ill")
    assert code == 3
    assert "classes: the class 'no' in 0 % of the rows" in out


def test_monitor_tests_a_promise_by_site_at_each_site(files, capsys, tmp_path):
    model, _, _ = files
    table, labels = cases(900, 1)
    certain = load_classifier(model)
    site = pd.Series(np.where(np.arange(900) % 2 == 0, "east", "west"), name="site")
    certain.calibrate(table, labels, target_error=0.25, confidence=0.8, by=site)
    certain.save(tmp_path / "by_site")
    table, labels = cases(300, 5)
    new = table.assign(site=site[:300], ill=certain.predict(table))
    new.loc[new["site"] == "west", "ill"] = np.where(np.arange(150) % 2 == 0, "yes", "no")
    new.loc[:9, "site"] = "north"
    new.to_csv(tmp_path / "new.csv", index=False)
    options = (tmp_path / "by_site", tmp_path / "new.csv", "--target", "ill")
    code, out, error = call(capsys, "monitor", *options)
    out = " ".join(out.split())
    assert (code, error) == (3, "")
    assert re.search(r"Broken: On these 145 rows where site is west: \d+ ", out)
    assert "rows where site is east: 0 (0 %) are answered wrongly. The promise of at most 25 % is not refuted" in out
    assert "Nothing is promised for site north, which the calibration lacked (10 rows)." in out
    found = json.loads(call(capsys, "monitor", *options, "--json")[1])["promise"]
    assert [(risk["group"], risk["n"]) for risk in found] == [("east", 145), ("west", 145)]
    said = " ".join(call(capsys, "evaluate", *options)[1].split())
    assert "That is of all rows together; fsgym monitor tests what is promised for each site." in said
    new.drop(columns="site").to_csv(tmp_path / "new.csv", index=False)
    out = " ".join(call(capsys, "monitor", *options)[1].split())
    assert "It is promised for each site, which these rows lack: only all rows together are tested." in out


def test_monitor_tests_what_a_model_that_refers_promises(files, capsys, tmp_path):
    _, same, _ = files
    table, labels = cases(150, 100)
    model = MixtureClassifier(lam=0.02, refer_cost=0.2, random_state=0).fit(
        load_dataset(table.assign(ill=labels), target="ill")
    )
    model.calibrate(*cases(600, 1), target_error=0.2, max_referred=0.8)
    model.save(tmp_path / "referring")
    code, out, error = call(capsys, "monitor", tmp_path / "referring", same, "--target", "ill")
    answers, (_, truth) = model.predict(cases(300, 5)[0]), cases(300, 5)
    answered = answers != "a person"
    assert (code, error) == (0, "")
    shown = " ".join(out.split())
    wrong = (answers != truth)[answered].sum()
    assert f"On these {answered.sum()} rows that are answered: {wrong} (" in shown
    assert f"On these 300 rows: {300 - answered.sum()} (" in shown
    assert "a person" in shown
    found = json.loads(call(capsys, "monitor", tmp_path / "referring", same, "--target", "ill", "--json")[1])["promise"]
    assert [(risk["risk"]["kind"], risk["n"]) for risk in found] == [("error", answered.sum()), ("referred", 300)]


def test_monitor_says_whether_rows_trained_or_calibrated_and_uses_the_labels_of_named_data(capsys, tmp_path):
    model = tmp_path / "wine"
    assert call(capsys, "train", "wine", "-o", model, "--agent", "mixture")[0] == 0
    code, out, error = call(capsys, "monitor", model, "wine")
    assert (code, error) == (0, "")
    assert "used in training" in " ".join(out.split())
    found = json.loads(call(capsys, "monitor", model, "wine", "--json")[1])
    assert "used in training" in found["remark"]
    assert found["comparison"]["tests"] > found["comparison"]["columns"]  # of the classes, too


def test_a_model_file_without_a_summary_warns_of_nothing(files, capsys, tmp_path):
    model, _, grams = files
    arrays, header = model_file.read(model, "lattice")
    del header["training_summary"]
    old = tmp_path / "old"
    model_file.write(old, "lattice", arrays, header)
    code, _, error = call(capsys, "predict", old, grams, "-o", tmp_path / "a.csv")
    assert (code, error) == (0, "")
    code, out, error = call(capsys, "monitor", old, grams)
    assert (code, out) == (2, "")
    assert f"{old} has no summary of its training to compare with; train the model again" in error
    code, _, error = call(capsys, "predict", old, grams, "--strict")
    assert code == 2
    assert "--strict must have a summary of the training" in error


def test_differences_that_chance_may_explain_say_what_to_do(capsys):
    summary = TrainingSummary(400, (200, 200), (200, 200), ())
    for p_value, unsure in ((0.03, True), (0.001, False)):
        found = Difference("pulse", ("values",), p_value, 9, None, "has the median 70, in training 66")
        _print_comparison(Comparison(300, 4, 8, (found,)), "new.csv", summary, {})
        assert ("run monitor on the next rows" in capsys.readouterr().out) == unsure


def test_a_model_that_errs_more_than_on_the_rows_held_out_is_found(files, capsys, tmp_path):
    """Answers that have nothing to do with the columns any more left all shares as they were, and were not noticed."""
    untold, same, _ = files
    table, labels = cases(400, 7)
    table.assign(ill=labels).to_csv(tmp_path / "rows.csv", index=False)
    model = tmp_path / "model"
    options = ("--target", "ill", "--agent", "mixture", "--lam", "0.02", "-o", model)
    assert call(capsys, "train", tmp_path / "rows.csv", *options)[0] == 0
    code, out, _ = call(capsys, "monitor", model, same, "--target", "ill", "--json")
    compared = json.loads(out)["comparison"]
    assert (code, compared["errors_tested"], compared["differences"]) == (0, True, [])
    table, labels = cases(300, 5)
    shuffled = tmp_path / "shuffled.csv"
    table.assign(ill=np.random.default_rng(0).permutation(labels)).to_csv(shuffled, index=False)
    code, out, _ = call(capsys, "monitor", model, shuffled, "--target", "ill")
    assert code == 3
    assert "  errors: " in out
    assert "are answered wrongly, " in out
    assert "fsgym evaluate shows what the errors cost." in out
    code, out, _ = call(capsys, "monitor", model, shuffled, "--target", "ill", "--json")
    (found,) = json.loads(out)["comparison"]["differences"]
    assert (code, found["column"], found["kinds"]) == (3, "", ["errors"])
    code, out, _ = call(capsys, "monitor", model, shuffled)
    assert code == 0
    assert "Whether the model errs more than before is not tested: that needs --target." in out
    code, out, _ = call(capsys, "monitor", untold, shuffled, "--target", "ill")  # trained in Python
    assert code == 0
    assert "is not tested: its file has no counts of errors on rows held out in training" in " ".join(out.split())


def test_an_emptied_column_says_what_empty_cells_count_as(files, capsys, tmp_path):
    model, same, _ = files
    table, labels = cases(300, 5)
    later = tmp_path / "list.csv"
    table.assign(ill=labels, crp=table["crp"].where(table.index % 3 == 0)).to_csv(later, index=False)
    counts = "empty cells count as values that cannot be had"
    code, out, _ = call(capsys, "monitor", model, later)
    assert code == 3
    assert f"Of crp: {counts}; of a list of fsgym predict --next, monitor the completed table." in " ".join(out.split())
    assert counts in call(capsys, "evaluate", model, later, "--target", "ill")[2]
    assert counts not in call(capsys, "predict", model, later, "--next")[2]
    assert counts not in call(capsys, "monitor", model, same)[1]


def test_a_room_is_the_same_where_another_cell_of_its_column_is_empty(files, capsys, tmp_path):
    table, labels = cases(900, 1)
    certain, room = load_classifier(files[0]), pd.Series(np.arange(900) % 2 + 1, name="room")
    certain.calibrate(table, labels, target_error=0.25, confidence=0.8, by=room)
    certain.save(tmp_path / "by_room")
    table, labels = cases(300, 5)
    new = table.assign(ill=certain.predict(table), room=(np.arange(300) % 2 + 1).astype(float))
    new.loc[0, "room"] = np.nan
    for name, column in (("floats.csv", new["room"]), ("nullable.parquet", new["room"].astype("Int64"))):
        path = tmp_path / name
        stored = new.assign(room=column)
        stored.to_csv(path, index=False) if path.suffix == ".csv" else stored.to_parquet(path)
        code, out, error = call(capsys, "monitor", tmp_path / "by_room", path, "--target", "ill", "--json")
        assert code == 0, error
        found = json.loads(out)
        assert [(risk["group"], risk["n"]) for risk in found["promise"]] == [("1", 149), ("2", 150)]
        assert "Nothing is promised for room (empty), which the calibration lacked (1 row)." in found["remark"]


def test_the_json_says_why_a_promise_is_not_tested(files, capsys, tmp_path):
    certain = load_classifier(files[0])
    certain.calibrate(*cases(900, 1), target_error=0.25).save(tmp_path / "certain")
    found = json.loads(call(capsys, "monitor", tmp_path / "certain", files[1], "--json")[1])
    assert found["promise"] == []
    assert "The promise is not tested: that needs --target." in found["remark"]
