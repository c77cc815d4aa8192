"""From a CSV file to a model file, its evaluation and the answers for new rows, by commands alone."""

from __future__ import annotations

import html
import io
import json
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pandas as pd
import pytest
from test_cli import call
from test_cli_train import figures

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier, load_classifier, model_file
from fsgym import cli
from fsgym.cli import predict
from fsgym.cli.model_data import DataOrigin
from fsgym.datasets import read_table_for

FILE, MODEL = "my patients.csv", "my model.fsgym"
READING = ["--target", "died", "--drop", "note", "--row-groups", "pid", "--category", "code", "--numeric", "odd"]
RULES = ["--groups", "the groups.json", "--prerequisites", "needs.json", "--costs", "prices.csv"]
RULES += ["--error-costs", "errors.json", "--units", "crp=mg/l,age=years", "--lam", "0.1"]


ODD = re.compile(r"fsgym: cells that are no number count as missing: \d+ of 'odd', such as 'unknown'")


def other_lines(error):
    """The lines on stderr, except the one that counts the odd cells of a column of numbers."""
    return [line for line in error.splitlines() if not ODD.fullmatch(line)]


def patients():
    """150 visits of 75 patients: codes with leading zeros, odd cells, a panel, a column of notes."""
    rng, n = np.random.default_rng(0), 150
    crp, wbc = rng.normal(5, 2, (2, n)).round(2)
    return pd.DataFrame({
        "pid": [f"p{i // 2}" for i in range(n)], "code": rng.choice(["001", "002", "010"], n),
        "age": rng.integers(20, 90, n), "crp": crp, "wbc": wbc, "ward": rng.choice(["er", "gp", "icu"], n),
        "odd": ["unknown" if i % 20 == 0 else str(i % 7) for i in range(n)], "note": [f"n{i}" for i in range(n)],
        "died": np.where(crp + rng.normal(0, 1, n) > 6, "yes", "no"),
    })  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the files, a trained model, and what the command printed."""
    folder = tmp_path_factory.mktemp("a folder")
    patients().to_csv(folder / FILE, index=False, sep=";", decimal=",")
    (folder / "the groups.json").write_text('{"blood count": ["crp", "wbc"]}')
    (folder / "needs.json").write_text('{"blood count": ["age"]}')
    (folder / "prices.csv").write_text("age,1\nblood count,5\ncode,1\nward,1\nodd,2\n")
    (folder / "errors.json").write_text('{"no": {"yes": 1000}, "yes": {"no": 40}}')
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
        patch.chdir(folder)
        with pytest.raises(SystemExit) as exited:
            cli.main(["train", FILE, "-o", MODEL, *READING, *RULES])
    assert exited.value.code == 0, printed.getvalue()
    return folder, printed.getvalue()


@pytest.fixture
def folder(trained, monkeypatch):
    monkeypatch.chdir(trained[0])
    return trained[0]


def answers(text):
    return pd.read_csv(io.StringIO(text), dtype={"acquired": str, "answer": str, "pid": str}, keep_default_na=False)


def test_the_printed_commands_work_as_printed(capsys, trained, folder):
    output = trained[1]
    assert "106 of 150 rows of my patients (train part, row groups kept together)" in output
    assert "Error costs: a missed 'yes' costs 1000, a false 'yes' costs 40" in output
    assert "Held out are the 44 rows of the test part" in output
    commands = [shlex.split(c)[1:] for c in re.findall(r": (fsgym .*)$", output, re.MULTILINE)]
    assert [c[0] for c in commands] == ["evaluate", "predict", "ask", "serve", "export"]
    code, evaluated, error = call(capsys, *commands[0])
    assert (code, other_lines(error)) == (0, [])
    assert figures(evaluated) == figures(output)
    assert "44 of 150 rows of my patients (test part, row groups kept together)" in evaluated
    assert "None of these rows were used in training." in evaluated
    code, predicted, error = call(capsys, *commands[1])
    assert (code, other_lines(error)) == (0, [])
    table, model = answers(predicted), load_classifier(MODEL)
    frame = read_table_for(model.columns_, FILE)
    frame["odd"] = pd.to_numeric(frame["odd"], errors="coerce")  # the commands say on stderr what this drops
    assert table["answer"].tolist() == model.predict(frame).tolist()
    np.testing.assert_allclose(table["probability_yes"], model.predict_proba(frame)[:, 1], atol=1e-6)
    steps = model.trajectories(frame).to_frame()
    assert table["paid"].tolist() == steps[steps["answer"].notna()]["spent"].tolist()
    named = steps[steps["answer"].isna()].groupby("row")["acquired"].agg(";".join)
    assert table["acquired"].tolist() == named.reindex(range(len(frame)), fill_value="").tolist()
    assert table["acquired"].str.contains("age;blood count").any()


def test_a_column_that_training_dropped_need_not_be_there_to_be_dropped_again(folder, capsys):
    table = pd.read_csv(folder / FILE, sep=";", dtype=str, encoding="utf-8-sig", keep_default_na=False)
    table.drop(columns="note").to_csv(folder / "short.csv", sep=";", index=False)
    assert call(capsys, "evaluate", MODEL, "short.csv", "--drop", "note")[0] == 0
    assert (
        "--drop, short.csv: unknown column 'nots'" in call(capsys, "evaluate", MODEL, "short.csv", "--drop", "nots")[2]
    )


def test_the_model_file_says_how_the_data_were_read(folder):
    model = load_classifier(MODEL)
    said = DataOrigin.from_json(model.training_data_)
    assert (said.source, said.name, said.split, said.n_samples) == (FILE, "my patients", "train", 150)
    read = said.reading
    assert (read.target, read.drop, read.category, read.numeric) == ("died", ("note",), ("code",), ("odd",))
    assert (read.row_groups, read.separator, read.decimal) == ("pid", None, None)
    columns = {c.name: c for c in model.columns_}
    assert (columns["crp"].unit, columns["age"].unit) == ("mg/l", "years")
    assert columns["code"].levels == ("001", "002", "010")
    assert model.rules_.names == ("code", "age", "blood count", "ward", "odd")
    other = DatumWiseClassifier(n_iterations=1)
    other.training_data_ = model.training_data_
    other.fit(patients()[["age", "crp"]], patients()["died"])
    assert other.training_data_ is None  # nothing of an earlier fit


def test_evaluate_says_whether_rows_were_used_in_training(capsys, folder):
    for arguments, rows, sentence in (
        (["--split", "all"], "all 150 rows", "106 of these 150 rows were used in training: the figures are optimistic"),
        (["--split", "train"], "106 of 150", "All of these rows were used in training: the figures are optimistic"),
        (["--row-groups", "ward"], "all 150 rows", "--row-groups is not that of the training"),
    ):
        code, output, error = call(capsys, "evaluate", MODEL, FILE, *arguments)
        if arguments[0] == "--row-groups":  # a feature of the model
            assert (code, "--row-groups names 'ward', which is a feature" in error) == (2, True)
            continue
        assert (code, other_lines(error)) == (0, [])
        assert rows in output
        assert sentence in output
    patients().iloc[::-1].to_csv("new.csv", index=False)
    code, output, error = call(capsys, "evaluate", MODEL, "new.csv")
    assert (code, other_lines(error)) == (0, [])
    assert "all 150 rows of new" in output
    assert f"new.csv is not the training file, {FILE!r}; if it has some of the same rows" in output
    frame = patients()
    frame[frame.columns[::-1]].to_csv("permuted.csv", index=False)  # the same rows
    output = call(capsys, "evaluate", MODEL, "permuted.csv")[1]
    assert "44 of 150 rows of permuted (test part, row groups kept together)" in output


def test_training_on_all_rows_is_said(capsys, folder):
    arguments = ["train", FILE, "-o", "all.fsgym", *READING, "--agent", "rcpi", "--steps", 1, "--split", "all"]
    code, output, _ = call(capsys, *arguments)
    assert code == 0
    assert "No rows are held out with --split all" in output
    assert "held out" not in output.splitlines()[2]
    output = call(capsys, "evaluate", "all.fsgym", FILE)[1]
    assert "All of these rows were used in training: the figures are optimistic" in output
    # parts of other row groups
    arguments = ["train", FILE, "-o", "plain.fsgym", *READING[:4], *READING[6:], "--agent", "rcpi", "--steps", 1]
    assert call(capsys, *arguments, "--drop", "pid")[0] == 0
    output = call(capsys, "evaluate", "plain.fsgym", FILE, "--row-groups", "pid")[1]
    assert re.search(r"\d+ of these 44 rows were used in training", output)


def test_a_model_of_python_does_not_say_its_rows(capsys, folder):
    frame = patients()
    DatumWiseClassifier(n_iterations=1, random_state=0).fit(frame[["age", "crp", "ward"]], frame["died"]).save("py")
    code, output, error = call(capsys, "evaluate", "py", FILE, "--target", "died")
    assert (code, other_lines(error)) == (0, [])
    assert "all 150 rows" in output
    assert "py does not say which rows it was trained on" in output
    positional = DatumWiseClassifier(n_iterations=1, random_state=0).fit(
        frame[["age", "crp"]].to_numpy(), frame["died"]
    )
    positional.save("positional")
    frame[["age", "crp"]].set_axis(["x0", "x1"], axis=1).to_csv("x.csv", index=False)
    code, output, error = call(capsys, "predict", "positional", "x.csv")
    assert (code, other_lines(error)) == (0, [])
    assert answers(output)["answer"].tolist() == positional.predict(frame[["age", "crp"]].to_numpy()).tolist()


def test_predict_reads_other_files_by_the_columns_of_the_model(capsys, folder, monkeypatch):
    frame = patients()
    wanted = answers(call(capsys, "predict", MODEL, FILE)[1]).head(9)
    new = frame.head(9).drop(columns=["died", "note"])
    new["when"] = "2024-01-01"  # suspicious, but no column of the model
    new["level"] = [f"<{i}" for i in range(9)]
    new = new[new.columns[::-1]]
    new.to_csv("new.csv")  # with an index, whose column has no name
    code, output, error = call(capsys, "predict", MODEL, "new.csv", "--keep", "pid,when")
    assert (code, other_lines(error)) == (0, [])
    table = answers(output)
    assert list(table) == ["row", "pid", "when", "answer", "probability_no", "probability_yes", "acquired", "paid"]
    assert table["pid"].tolist() == frame["pid"].head(9).tolist()
    pd.testing.assert_frame_equal(table[list(wanted)], wanted)
    monkeypatch.setattr(predict, "ROWS_PER_CALL", 4)
    code, said, error = call(capsys, "predict", MODEL, "new.csv", "--keep", "pid", "--keep", "when", "-o", "out/a.csv")
    assert (code, other_lines(error), said) == (0, [], "9 rows of new.csv classified: out/a.csv\n")
    assert (folder / "out" / "a.csv").read_text() == output
    assert [p.name for p in (folder / "out").iterdir()] == ["a.csv"]
    assert call(capsys, "predict", MODEL, "new.csv", "--keep", "pid", "-o", "a.jsonl")[0] == 0
    lines = [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()]
    assert [line["row"] for line in lines] == list(range(9))
    for line, row in zip(lines, table.to_dict("records"), strict=True):
        assert (line["pid"], line["answer"], line["paid"]) == (row["pid"], row["answer"], row["paid"])
        assert ";".join(step["name"] for step in line["acquired"]) == row["acquired"]
        assert sum(step["price"] for step in line["acquired"]) == line["paid"]
        assert line["probabilities"]["yes"] == pytest.approx(row["probability_yes"], abs=1e-6)
    steps = [(line["row"], step) for line in lines for step in line["acquired"]]
    assert {"age", "blood count"} <= {step["name"] for _, step in steps}
    for k, step in steps:
        if step["name"] == "age":
            age = frame["age"][k]
            assert step == {"name": "age", "values": {"age": age}, "text": f"{age} years", "price": 1}
        if step["name"] == "blood count":
            assert step["values"] == {"crp": frame["crp"][k], "wbc": frame["wbc"][k]}
            assert "mg/l" in step["text"]


def test_missing_columns_odd_cells_and_unseen_levels(capsys, folder):
    new = patients().head(9)
    new.drop(columns="crp").to_csv("short.csv", index=False)
    code, output, error = call(capsys, "predict", MODEL, "short.csv")
    assert (code, output, len(error.splitlines())) == (2, "", 1)
    assert "short.csv must have the column 'crp', got " in error
    assert "--missing-columns unavailable" in error
    assert call(capsys, "predict", MODEL, "short.csv", "--missing-columns", "unavailable")[0] == 0
    assert call(capsys, "evaluate", MODEL, "short.csv", "--missing-columns", "unavailable")[0] == 0
    assert call(capsys, "predict", MODEL, "short.csv", "--missing-columns", "no")[0] == 2
    ward = ["moon", "sun", "moon"] + ["er"] * 6
    new.assign(code=["1"] + ["001"] * 8, ward=ward).to_csv("levels.csv", index=False)  # 1 is not 001
    code, _, error = call(capsys, "predict", MODEL, "levels.csv")
    assert code == 0
    assert other_lines(error) == [
        "fsgym: levels.csv differs from the training rows in 1 of 6 columns: ward has a level that training did not in "
        "3 of 9 rows, such as 'moon', and none with 'gp', 43.4 % in training; fsgym monitor says more",
        "fsgym: 1 of 9 rows has a level of 'code' that training did not ('1'), which counts as missing; its levels are "
        "001, 002, 010",
        "fsgym: 3 of 9 rows have levels of 'ward' that training did not ('moon', ...), which count as missing; its "
        "levels are er, gp, icu",
    ]
    new.assign(age="old").to_csv("odd.csv", index=False)
    code, _, error = call(capsys, "predict", MODEL, "odd.csv")
    assert code == 2
    assert "'age' must hold numbers, got 'old'" in error
    assert call(capsys, "predict", MODEL, "odd.csv", "--numeric", "age")[0] == 0
    assert call(capsys, "predict", MODEL, "odd.csv", "--numeric", "ward")[0] == 2


@pytest.mark.parametrize("command", [["predict"], ["explain", "--row", "0"], ["evaluate"]], ids=lambda c: c[0])
def test_a_column_of_which_no_level_is_known_is_refused(capsys, folder, command):
    patients().head(9).assign(ward=["sun", "moon", None] * 3).to_csv("foreign.csv", index=False)
    code, output, error = call(capsys, command[0], MODEL, "foreign.csv", *command[1:])
    assert (code, output) == (2, "")
    assert error == (
        "fsgym: the column 'ward' of foreign.csv must have levels of the training, er, gp, icu, got 'sun', 'moon' in 6 "
        "of 9 rows, and no other value; write them as in training, or leave these cells empty, so that they count as "
        "missing\n"
    )
    patients().head(9).assign(ward=None).to_csv("no ward.csv", index=False)
    assert call(capsys, command[0], MODEL, "no ward.csv", *command[1:])[0] == 0


@pytest.mark.parametrize("floats_in", ["new.csv", "training.csv"])
def test_a_code_is_the_same_with_and_without_decimals_of_zero(capsys, tmp_path, monkeypatch, floats_in):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    whole = pd.DataFrame({"cp": rng.integers(1, 5, 120)}).assign(died=lambda t: np.where(t["cp"] > 2, "yes", "no"))
    gap = whole.astype({"cp": float})
    gap.loc[7, "cp"] = np.nan  # pandas writes the others as 3.0
    for name in ("new.csv", "training.csv"):
        (gap if name == floats_in else whole).to_csv(name, index=False)
    train = ["train", "training.csv", "--target", "died", "--category", "cp", "--agent", "lattice", "-o", "m.fsgym"]
    assert call(capsys, *train)[0] == 0
    code, output, error = call(capsys, "predict", "m.fsgym", "new.csv")
    assert (code, error) == (0, "")
    answers = pd.read_csv(io.StringIO(output))["answer"]
    known = gap["cp"].notna()
    assert (answers == whole["died"])[known].all()


def test_labels_are_those_of_the_model(capsys, folder):
    new = patients().head(9)
    new.drop(columns="died").to_csv("unlabelled.csv", index=False)
    new.assign(died="maybe").to_csv("other.csv", index=False)
    new.assign(died=["yes", None] + ["no"] * 7).to_csv("gap.csv", index=False)
    for file, message in (
        ("unlabelled.csv", "has no column 'died' with the classes; for rows without classes use fsgym predict"),
        ("other.csv", "'died' of other.csv has the label 'maybe', which is no class of the model: no, yes"),
        ("gap.csv", "1 row(s) have no value in the column 'died' of gap.csv"),
    ):
        code, output, error = call(capsys, "evaluate", MODEL, file)
        assert (code, output, len(error.splitlines())) == (2, "", 1)
        assert message in error
    new.rename(columns={"died": "dead"}).to_csv("renamed.csv", index=False)
    assert call(capsys, "evaluate", MODEL, "renamed.csv", "--target", "dead")[0] == 0
    (folder / "other groups.json").write_text('{"blood": ["crp", "wbc"]}')
    assert call(capsys, "evaluate", MODEL, FILE, "--groups", "the groups.json")[0] == 0
    code, _, error = call(capsys, "evaluate", MODEL, FILE, "--groups", "other groups.json")
    assert (code, "other groups than the model" in error) == (2, True)


def test_whole_numbers_as_labels(capsys, folder):
    frame = patients().assign(died=lambda t: (t["died"] == "yes").astype(int))[["age", "crp", "died"]]
    frame.to_csv("numbers.csv", index=False)
    arguments = ["train", "numbers.csv", "-o", "numbers.fsgym", "--target", "died", "--agent", "rcpi", "--steps", 1]
    assert call(capsys, *arguments)[0] == 0
    frame.head(9).assign(died=[f"{v}.0" for v in frame["died"].head(9)]).to_csv("9.csv", index=False)
    assert call(capsys, "evaluate", "numbers.fsgym", "9.csv")[0] == 0
    assert call(capsys, "predict", "numbers.fsgym", "9.csv", "-o", "9.jsonl")[0] == 0
    assert {type(json.loads(line)["answer"]) for line in (folder / "9.jsonl").read_text().splitlines()} == {int}


def test_answers_in_a_workbook_are_those_of_the_csv_file_and_no_text_is_a_formula(capsys, folder):
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl, which the extra excel installs")
    table = patients().head(6).assign(pid=["=1+1", "+2", "a\x0bb", "é", "5", "@SUM(A1)"])
    table.to_csv("odd.csv", index=False)
    assert call(capsys, "predict", MODEL, "odd.csv", "--keep", "pid", "-o", "a.csv")[0] == 0
    code, said, _ = call(capsys, "predict", MODEL, "odd.csv", "--keep", "pid", "-o", "a.xlsx")
    assert (code, said) == (0, "6 rows of odd.csv classified: a.xlsx\n")
    sheet = openpyxl.load_workbook("a.xlsx").active
    assert [sheet.cell(2, 2).value, sheet.cell(2, 2).data_type, sheet.cell(4, 2).value] == ["=1+1", "s", "a\\x0bb"]
    written, csv = pd.read_excel("a.xlsx", dtype={"pid": str}), pd.read_csv("a.csv", dtype={"pid": str})
    written = written.rename(columns={"row (from 0)": "row"})
    columns = [name for name in csv if name != "pid"]
    pd.testing.assert_frame_equal(written[columns], csv[columns], check_dtype=False)


def test_dates_that_are_copied_to_a_workbook_are_dates_and_its_names_can_be_read(capsys, folder):
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl, which the extra excel installs")
    new = patients().head(4).drop(columns=["died", "note"])
    new["seen"] = pd.to_datetime(["2026-07-19 00:00", "2026-07-20 14:30", None, "2026-07-21 00:00"])
    new["born"] = ["1.2.1950", None, "x", "2.2.1950"]
    new.to_excel("visits.xlsx", index=False)
    for command, sheet in (((), "answers"), (("--next",), "next")):
        arguments = "predict", MODEL, "visits.xlsx", "--keep", "seen,born", "-o", "kept.xlsx"
        code, _, error = call(capsys, *arguments, *command)
        assert code == 0, error
        found = openpyxl.load_workbook("kept.xlsx")[sheet]
        assert found.freeze_panes == "A2"
        cells = [cell for (cell,) in found.iter_rows(min_row=2, min_col=2, max_col=2)]
        assert [cell.is_date for cell in cells] == [True, True, False, True]
        assert [str(cell.value) for cell in cells[:2]] == ["2026-07-19 00:00:00", "2026-07-20 14:30:00"]
        assert [cell.number_format for cell in cells[:2]] == ["yyyy-mm-dd", "yyyy-mm-dd h:mm:ss"]
        for k, (cell,) in enumerate(found.iter_cols(max_row=1)):
            width = found.column_dimensions[openpyxl.utils.get_column_letter(k + 1)].width
            assert max(len(cell.value) + 1, 11) < width <= 60
    next_sheet = pd.read_excel("kept.xlsx")
    assert "blood count" in load_classifier(MODEL).rules_.names
    assert next_sheet["born"].tolist()[2] == "x"


def test_next_asks_whether_a_column_has_another_name(capsys, folder):
    new = patients().head(12)
    new.rename(columns={"ward": "Ward name", "age": "Age"}).to_csv("renamed.csv", index=False)
    code, printed, error = call(capsys, "predict", MODEL, "renamed.csv", "--next")
    assert (code, printed) == (2, "")
    both = "rename 'Age' to 'age', 'Ward name' to 'ward' if they are the same"  # not one after the other
    assert f"has others of similar names that it does not use: {both}; for one that is another, add an empty" in error
    assert call(capsys, "predict", MODEL, "renamed.csv", "--next", "--keep", "Ward name,Age")[0] == 0
    assert f"; {both}; otherwise add what is missing" in call(capsys, "predict", MODEL, "renamed.csv")[2]


def test_next_says_for_each_row_what_a_person_would_be_asked(capsys, folder):
    new = patients().head(12).drop(columns=["died", "note", "ward"])
    new.loc[4:, ["crp", "wbc"]] = np.nan
    new.loc[0, "crp"] = 1.0  # nobody dies
    new.loc[8:, "age"] = np.nan
    new["age"] *= 12  # in months
    new.to_csv("month.csv", index=False)
    code, printed, error = call(capsys, "predict", MODEL, "month.csv", "--next", "--keep", "pid,age")
    assert code == 0
    assert error.startswith("fsgym: month.csv lacks 'ward': not acquired yet in any row\n")
    assert "differs from the training rows in 1 of " in error  # that cells are empty is no difference
    assert "8 of 8 values outside its range, such as 984" in error
    table, model = answers(printed), load_classifier(MODEL)
    names = "row pid age next price answer probability_no probability_yes expected_cost_stop expected_cost_go_on"
    assert list(table) == names.split()
    assert table["pid"].tolist() == new["pid"].tolist()
    known = new.drop(columns="pid").assign(odd=pd.to_numeric(new["odd"], errors="coerce"))
    for row, found in zip(known.to_dict("records"), table.to_dict("records"), strict=True):
        step = model.step({name: value for name, value in row.items() if value == value}, accept=True)
        assert found["next"] == ("" if step.question is None else step.question.name)
        assert found["answer"] == step.answer
        assert step.probabilities is not None
        assert found["probability_yes"] == pytest.approx(step.probabilities["yes"], abs=1e-6)
        assert float(found["expected_cost_stop"]) == pytest.approx(step.expected_cost.stop, rel=1e-5)
        if step.question is not None:
            assert float(found["price"]) == step.question.price
            assert float(found["expected_cost_go_on"]) == pytest.approx(step.expected_cost.go_on, rel=1e-5)
    goes_on = int((table["next"] != "").sum())
    assert 0 < goes_on < len(new)
    said = f"12 rows of month.csv, {goes_on} with a next acquisition, {12 - goes_on} to be answered now: next.jsonl\n"
    assert call(capsys, "predict", MODEL, "month.csv", "--next", "-o", "next.jsonl")[1] == said
    lines = [json.loads(line) for line in (folder / "next.jsonl").read_text().splitlines()]
    assert [line["next"] or "" for line in lines] == table["next"].tolist()
    assert {*lines[0]} == {"row", "next", "price", "answer", "probabilities", "expected_cost"}
    pytest.importorskip("openpyxl", reason="needs openpyxl, which the extra excel installs")
    assert call(capsys, "predict", MODEL, "month.csv", "--next", "-o", "next.xlsx")[0] == 0
    assert pd.read_excel("next.xlsx", sheet_name="next")["next"].fillna("").tolist() == table["next"].tolist()


def test_next_is_proposed_where_values_are_still_to_come_and_says_what_it_needs(capsys, folder):
    new = patients().head(6).drop(columns=["died", "note"])
    hint = "--next says which to acquire next"
    new.drop(columns="crp").to_csv("short.csv", index=False)
    assert hint in call(capsys, "predict", MODEL, "short.csv")[2]
    assert hint in call(capsys, "predict", MODEL, "short.csv", "--missing-columns", "unavailable")[2]
    new.assign(crp=None, ward="").to_csv("empty.csv", index=False)
    assert f"empty.csv has no value of 'crp', 'ward'; {hint}" in call(capsys, "predict", MODEL, "empty.csv")[2]
    new.to_csv("full.csv", index=False)
    assert hint not in call(capsys, "predict", MODEL, "full.csv")[2]
    new[["pid"]].to_csv("nothing.csv", index=False)
    for arguments, message in (
        (
            ["nothing.csv", "--next"],
            "nothing.csv must have at least one of the columns code, age, crp, wbc, ward, ..., got pid",
        ),
        (["full.csv", "--next", "--missing-columns", "unavailable"], "leave --missing-columns out"),
    ):
        code, _, error = call(capsys, "predict", MODEL, *arguments)
        assert (code, len(error.splitlines()), message in error) == (2, 1, True), error
    others = patients().head(9)[["pid", "died"]]
    others.to_csv("nothing.csv", index=False)
    for command in (["predict"], ["evaluate"], ["monitor", "--target", "died"]):
        given = (command[0], MODEL, "nothing.csv", "--missing-columns", "unavailable", *command[1:])
        code, _, error = call(capsys, *given)
        assert (code, "nothing.csv must have at least one of the columns code, age" in error) == (2, True), error


def test_errors_of_predict_are_one_sentence_and_leave_files_unchanged(capsys, folder, monkeypatch):
    (folder / "here.csv").write_text("as it was")
    for arguments, message in (
        ([FILE, "-o", "answers.xls"], "--output must end in .csv, .xlsx, .jsonl, got answers.xls"),
        ([FILE, "-o", FILE], "must be another file than the data"),
        ([FILE, "-o", "here.csv", "--keep", "pidd"], "did you mean 'pid'?"),
        ([FILE, "-o", "here.csv", "--separator", "|"], "must have the columns"),
        (["nowhere.csv"], "nowhere.csv"),
        (["wien"], "did you mean 'wine'"),
        (["wine"], "wine must have the columns 'code'"),
    ):
        code, output, error = call(capsys, "predict", MODEL, *arguments)
        assert (code, output, len(error.splitlines())) == (2, "", 1), error
        assert message in error
    patients().rename(columns={"note": "answer"}).to_csv("answer.csv", index=False)
    assert "a column of the output" in call(capsys, "predict", MODEL, "answer.csv", "--keep", "answer")[2]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(predict.Writer, "write_csv", full)
    code, _, error = call(capsys, "predict", MODEL, FILE, "-o", "here.csv")
    assert (code, "cannot write here.csv: No space left" in error) == (2, True)
    assert (folder / "here.csv").read_text() == "as it was"
    assert not list(folder.glob("*.part"))


def test_damaged_training_data_are_refused(capsys, folder):
    good = load_classifier(MODEL).training_data_
    arrays, header = model_file.read(MODEL, "adaptive")
    for change in ({"split": "none"}, {"drop": "pid"}, {"target": 3}, {"row_groups": []}, {"n_samples": "9"}, {"x": 1}):
        model_file.write("damaged", "adaptive", arrays, {**header, "training_data": good | change})
        code, output, error = call(capsys, "evaluate", "damaged", FILE)
        assert (code, output, len(error.splitlines())) == (2, "", 1)
        assert "damaged is damaged: the description of its training data" in error
    model_file.write("damaged", "adaptive", arrays, {**header, "training_data": good | {"separator": "ab"}})
    assert "damaged is damaged: --separator must be" in call(capsys, "evaluate", "damaged", FILE)[2]


def test_a_named_data_set_is_predicted(capsys, tmp_path):
    path = tmp_path / "m"
    assert call(capsys, "train", "wine", "-o", path, "--agent", "rcpi", "--steps", 1)[0] == 0
    code, output, error = call(capsys, "predict", path, "wine")
    assert (code, other_lines(error)) == (0, [])
    data = fsgym.load_dataset("wine")
    assert answers(output)["answer"].tolist() == load_classifier(path).predict(data).tolist()


def test_a_target_reports_the_lambda_and_the_mean_that_it_reached(capsys, folder):
    arguments = ["train", FILE, "-o", "t.fsgym", *READING, "--target-features", 2, "--agent", "lattice"]
    code, output, error = call(capsys, *arguments)
    assert (code, other_lines(error)) == (0, [])
    model = LatticeClassifier.load("t.fsgym")
    line = next(line for line in output.splitlines() if line.startswith("--target-features 2: "))
    assert f"found lambda {model.rules_.lam:.4g}" in line
    assert f"{model.expected_n_features_:.2f} features and a price of {model.expected_cost_:.4g}" in line
    assert model.expected_n_features_ <= 2


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_compare_with_targets_units_and_error_costs(capsys, folder):
    patients().head(70).to_csv("few.csv", index=False)
    arguments = ["compare", "few.csv", *READING, *RULES[2:], "--methods", "lattice,cart", "--splits", 1, "--jobs", 1]
    arguments.remove("needs.json")
    arguments.remove("--prerequisites")
    arguments[arguments.index("prices.csv")] = "2"
    code, output, error = call(capsys, *arguments, "--target-features", 1.5, "-o", "results")
    assert (code, other_lines(error)) == (0, [])
    assert output.count("Error costs: a missed 'yes' costs 1000, a false 'yes' costs 40.") == 1
    results = pd.read_csv(folder / "results" / "results.csv")
    settings = results[results["method"] == "lattice"]["params"].map(json.loads).tolist()
    assert settings == [{"target_features": 1.5}]
    assert (results["method"] == "cart").any()
    report = html.unescape((folder / "results" / "report.html").read_text(encoding="utf-8"))
    assert report.count("Costs of errors: a missed 'yes' costs 1000, a false 'yes' costs 40.") == 1
    assert "for targets, for which the method itself finds lambda: target_features 1.5" in report
    assert re.search(r"crp = [\d.]+ mg/l", report)
    code, _, error = call(capsys, *arguments, "--methods", "cart", "--target-cost", 3)
    assert (code, "target_cost is a parameter of none of the methods cart" in error) == (2, True)
    assert "--target-cost must be numbers" in call(capsys, *arguments, "--target-cost", "x")[2]


def test_describe_with_units_and_row_groups(capsys, folder):
    code, output, error = call(
        capsys, "describe", FILE, "--target", "died", "--row-groups", "pid", "--units", "crp=mg/l"
    )
    assert (code, other_lines(error)) == (0, [])
    rows = {line.split()[0]: line for line in output.splitlines() if line.strip()}
    assert "row groups" in rows["pid"]
    assert "mg/l" in rows["crp"]
    (folder / "units.json").write_text('{"crp": "mg/l", "agee": "years"}')
    assert "did you mean 'age'?" in call(capsys, "describe", FILE, "--units", "units.json")[2]
    assert "did you mean 'pid'?" in call(capsys, "describe", FILE, "--row-groups", "piid")[2]
    (folder / "units.json").write_text("[1]")
    assert "must map names of columns to units" in call(capsys, "describe", FILE, "--units", "units.json")[2]


def test_train_says_which_learners_were_tried_and_proposes_to_ask_only_what_asks(tmp_path, capsys):
    path = tmp_path / "wine.fsgym"
    code, said, _ = call(capsys, "train", "wine", "-o", path, "--lam", 0.1)
    assert code == 0
    for what in ("lattice: loss", "mixture: loss", "left after its training", "network: not trained", "nothing: loss"):
        assert what in said
    for what in ("everything: loss", "best fixed panel: loss", "±", "fsgym ask"):
        assert what in said
    code, said, _ = call(capsys, "train", "wine", "-o", path, "--lam", 2)  # a feature costs as much as two errors
    assert code == 0
    assert "acquires nothing" in said
    assert "fsgym ask" not in said


def test_train_names_the_rule_that_forbids_all_acquisitions(tmp_path, capsys):
    code, said, _ = call(capsys, "train", "wine", "-o", tmp_path / "wine.fsgym", "--agent", "lattice", "--budget", 0)
    assert code == 0
    assert "The model acquires nothing: --budget 0 forbids all acquisitions, and every case gets the same" in said
    assert "no acquisition pays" not in said


def test_next_says_that_a_budget_begins_anew(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    model = LatticeClassifier(lam=0.001, budget=1, random_state=0).fit(table, (table.sum(axis=1) > 0).astype(int))
    model.save(tmp_path / "model")
    table.assign(b=np.nan).to_csv(tmp_path / "list.csv", index=False)
    said = "filled cells do not count for it"
    assert said in call(capsys, "predict", tmp_path / "model", tmp_path / "list.csv", "--next")[2]
    assert said not in call(capsys, "predict", tmp_path / "model", tmp_path / "list.csv")[2]


def test_copied_cells_are_those_of_the_file(capsys, folder):
    table = (
        patients()
        .head(4)
        .assign(
            big=[2**53 + 1, 5, 6, 7],
            w=np.array([3.3, 1, np.inf, np.nan], np.float32),
            k=pd.array([1, None, 3, 4], "Int64"),
        )
    )
    table.to_parquet("typed.parquet")
    table.assign(k=table["k"].astype(float)).to_excel("typed.xlsx", index=False)
    code, out, error = call(capsys, "predict", MODEL, "typed.parquet", "--keep", "big,w,k")
    assert code == 0, error
    copied = [",".join(line.split(",")[1:4]) for line in out.splitlines()[1:]]
    assert copied == ["9007199254740993,3.3,1", "5,1,", "6,inf,3", "7,,4"]
    out = call(capsys, "predict", MODEL, "typed.xlsx", "--keep", "k")[1]
    assert [line.split(",")[1] for line in out.splitlines()[1:]] == ["1", "", "3", "4"]
    assert call(capsys, "predict", MODEL, "typed.parquet", "--keep", "w", "-o", "typed.jsonl")[0] == 0
    lines = (folder / "typed.jsonl").read_text().splitlines()
    read = [json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON")) for line in lines]
    assert [line["w"] for line in read] == [3.3, 1, "inf", None]


def test_a_price_of_next_has_its_digits(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(80, 2)).round(3)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(target=(X[:, 0] > 0).astype(int))
    model = LatticeClassifier(lam=1e-8, costs={"a": 1234567.25, "b": 1234567.25}, random_state=0)
    model.fit(frame[["a", "b"]], frame["target"]).save("model")
    pd.DataFrame({"a": [np.nan], "b": [np.nan]}).to_csv("new.csv", index=False)
    line = call(capsys, "predict", "model", "new.csv", "--next")[1].splitlines()[1]
    assert line.split(",")[2] == "1234567.25"


def test_train_says_that_nothing_else_pays_where_columns_are_known(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients()[["age", "crp", "wbc", "died"]].to_csv("t.csv", index=False)
    given = ("--target", "died", "--agent", "mixture", "--known", "age", "--lam", "9", "-o", "model")
    out = " ".join(call(capsys, "train", "t.csv", *given)[1].split())
    assert "The model acquires nothing else: at these prices no acquisition pays" in out
