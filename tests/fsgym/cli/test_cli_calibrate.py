"""The command ``calibrate``: what it prints and writes, what it refuses, and what ``evaluate`` says of its models."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_cli import call

from agents import load_classifier
from fsgym import evaluate
from fsgym.cli.options import numbers_by_name
from tests.fsgym.cli.conftest import cases


@pytest.fixture(scope="module")
def files(case_model, tmp_path_factory):
    """The model, and two tables of new cases with a ward that is no feature."""
    folder = tmp_path_factory.mktemp("calibrating")
    for name, seed in (("mine.csv", 1), ("others.csv", 2)):
        table, labels = cases(900, seed)
        table.assign(ill=labels, site=np.where(np.arange(900) % 3, "north", "south")).to_csv(folder / name, index=False)
    return case_model, folder


def test_a_promise_is_printed_and_written(files, capsys, tmp_path):
    model, folder = files
    given = ("--target", "ill", "--target-error", 0.2, "--target-recall", "yes=0.7", "--confidence", 0.8)
    path = tmp_path / "certain.fsgym"
    code, out, err = call(capsys, "calibrate", model, folder / "mine.csv", *given, "-o", path)
    assert (code, err) == (0, "")
    promise = load_classifier(path).promise_
    assert promise is not None
    assert all(sentence in " ".join(out.split()) for sentence in promise.sentences())
    assert "Promised with confidence 80 %: at most 20 % of the answers are wrong and at least 70 % of the 'yes'" in out
    assert "more than without this rule; price: " in out
    assert "On 900 rows that it was not trained on, it answered " in " ".join(out.split())
    assert "does not say which rows it was trained on" in " ".join(out.split())
    table, labels = cases(900, 1)
    again = load_classifier(model)
    again.calibrate(table, labels, target_error=0.2, target_recall={"yes": 0.7}, confidence=0.8)
    assert again.promise_ == promise
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_model_from_a_file_has_a_chart_of_the_rows_that_calibrated_it(files, capsys, tmp_path):
    """It had none: ``chart`` refused, and pages were without it. The figures are those of its own policy."""
    model, folder = files
    path = tmp_path / "certain.fsgym"
    given = ("--target", "ill", "--target-error", 0.2, "-o", path)
    assert call(capsys, "calibrate", model, folder / "mine.csv", *given)[0] == 0
    code, out, _ = call(capsys, "chart", path)
    assert code == 0
    assert "Of 225 cases that were set aside from the calibration rows to test the chart" in " ".join(out.split())
    certain = load_classifier(path)
    assert certain.chart().policy_paid == pytest.approx(evaluate(certain, *cases(900, 1)).spent, rel=0.15)
    certain.calibrate(min_confidence=0.9)  # another policy, without rows
    with pytest.raises(ValueError, match="has no chart: its file had none, or it was changed after it was loaded"):
        certain.chart()


def test_calibrations_of_a_file_by_the_same_rows_are_counted(files, capsys, tmp_path):
    model, folder = files
    path, source = tmp_path / "certain.fsgym", model
    for count in (1, 2, 3):
        given = ("--target", "ill", "--target-error", 0.25 - 0.01 * count, "-o", path)
        assert call(capsys, "calibrate", source, folder / "mine.csv", *given)[0] == 0
        promise = load_classifier(path).promise_
        assert promise is not None
        assert promise.n_calibrations == count
        source = path


def test_parts_of_the_rows(files, capsys, tmp_path):
    model, folder = files
    given = ("--target", "ill", "--target-error", 0.25, "--by", "site", "-o", tmp_path / "new")
    code, out, _ = call(capsys, "calibrate", model, folder / "mine.csv", *given)
    assert code == 0
    assert "in each site" in out
    assert "Shown by 300 rows where site is south" in out
    given = ("--target", "ill", "--target-error", 0.25, "--by", "sites", "-o", tmp_path / "new")
    code, out, err = call(capsys, "calibrate", model, folder / "mine.csv", *given)
    assert (code, out) == (2, "")
    assert "unknown column 'sites'; did you mean 'site'?" in err


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            ["--target-error", "0.01"],
            "cannot be promised at confidence 0.9: with all that may be acquired these rows could",
        ),
        (["--target-error", "0.001"], "needs at least 2,302 rows for the calibration, these are 900"),
        (["--target-error", "2"], "fsgym: --target-error must be above 0 and below 1, got 2"),
        (["--target-recall", "yes"], "--target-recall must be CLASS=SHARE, separated by commas, got 'yes'"),
        (["--target-recall", "yse=0.9"], "fsgym: --target-recall: unknown class 'yse'; did you mean 'yes'?"),
        ([], "give a target: --target-error, --target-recall, --target-error-cost, --max-referred or --min-confidence"),
        (["--max-referred", "0.1"], "--max-referred needs a model that may refer cases, got one without --refer-cost"),
        (["--min-confidence", "0.6", "--by", "site"], "--by is for what is promised, and --min-confidence alone"),
        (["--target-error", "0.1", "--confidence", "90"], "fsgym: --confidence must be above 0 and below 1, got 90"),
    ],
)
def test_refusals_are_one_sentence_and_write_nothing(files, capsys, tmp_path, given, sentence):
    model, folder = files
    path = tmp_path / "new.fsgym"
    code, out, err = call(capsys, "calibrate", model, folder / "mine.csv", "--target", "ill", *given, "-o", path)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert not path.exists()


def test_rows_of_the_training_are_refused_and_those_held_out_used(capsys, tmp_path):
    table, labels = cases(900, 3)
    table.assign(ill=labels).to_csv(tmp_path / "all.csv", index=False)
    for split in ("train", "all"):
        path = tmp_path / f"{split}.fsgym"
        given = ("--target", "ill", "--agent", "mixture", "--split", split, "-o", path)
        assert call(capsys, "train", tmp_path / "all.csv", *given)[0] == 0
        code, out, err = call(capsys, "calibrate", path, tmp_path / "all.csv", "--target-error", 0.3, "-o", path)
        if split == "train":
            assert code == 0, err
            assert "Shown by 270 rows" in out
            assert "None of these rows were used in training." in out
            said = call(capsys, "evaluate", path, tmp_path / "all.csv")[1]
            assert "These are the rows that it was calibrated on" in said
        else:
            assert code == 2
            assert "calibrate needs rows that did not train the model, but 900 of these 900 did" in err


def test_evaluate_says_what_is_promised_and_what_is_found(files, capsys, tmp_path):
    model, folder = files
    given = ("--target", "ill", "--target-error", 0.2, "--target-recall", "yes=0.7", "-o", tmp_path / "new")
    assert call(capsys, "calibrate", model, folder / "mine.csv", *given)[0] == 0
    code, out, _ = call(capsys, "evaluate", tmp_path / "new", folder / "others.csv", "--target", "ill")
    table, labels = cases(900, 2)
    predicted, ill = load_classifier(tmp_path / "new").predict(table), labels == "yes"
    wrong, missed = (predicted != labels).sum(), (predicted != labels)[ill].sum()
    shown = " ".join(out.split())
    assert code == 0
    assert "at most 20 % of the answers are wrong" in shown
    assert f"On these 900 rows: {wrong} ({100 * wrong / 900:.3g} %) are answered wrongly." in shown
    assert f"On these {ill.sum()} rows of 'yes': {missed} ({100 * missed / ill.sum():.3g} %) are missed." in shown
    certain = load_classifier(tmp_path / "new")
    with_rule, plain = (evaluate(m, table, labels) for m in (certain, certain.without_promise()))
    assert f"Price on these rows: {with_rule.spent:.4g} a row with this rule, {plain.spent:.4g} without it" in shown
    assert f"acquisitions: {with_rule.n_acquisitions:.2f} and {plain.n_acquisitions:.2f}." in shown
    assert "calibrated on" not in shown
    with_json = call(capsys, "evaluate", tmp_path / "new", folder / "others.csv", "--target", "ill", "--json")[1]
    assert [sentence in shown for sentence in json.loads(with_json)["promise"]] == [True] * 9
    plain = call(capsys, "evaluate", model, folder / "others.csv", "--target", "ill", "--json")[1]
    assert "promise" not in json.loads(plain)


def test_numbers_by_name():
    assert numbers_by_name(None, "--price", "NAME=PRICE") is None
    recalls = numbers_by_name(["acs=.98, mi = 0.9", "1=0.5"], "--target-recall", "CLASS=SHARE")
    assert recalls == {"acs": 0.98, "mi": 0.9, "1": 0.5}
    for texts, words in ((["ct=1", "ct=2"], "'ct' twice"), (["ct"], "NAME=PRICE"), (["=1"], "NAME=PRICE")):
        with pytest.raises(ValueError, match=words):
            numbers_by_name(texts, "--price", "NAME=PRICE")
