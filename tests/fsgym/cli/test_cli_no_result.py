"""A list of cases in which a text says that an acquisition was made and brought no result."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from test_cli import call

from agents import LatticeClassifier, load_classifier
from fsgym.data.columns import Column, Columns
from fsgym.data.reading.model_tables import read_table_for
from fsgym.data.reading.no_result import NoResult, is_value_of

NONE = "k. A."


def case_list(case_model):
    """Known cells, and which of the others have no result, bool like the table; the rest is to come."""
    rng = np.random.default_rng(0)
    table = pd.read_csv(case_model.parent / "new.csv").head(30).astype(object)
    lost = pd.DataFrame(rng.random(table.shape) < 0.4, columns=table.columns)
    lost.loc[0], lost.loc[1, ["crp", "wbc"]] = False, [True, False]  # of a group in part
    known = table.where(~lost & (rng.random(table.shape) < 0.5))
    known.loc[0], known.loc[1, ["crp", "wbc"]] = None, None
    known["age"] = table["age"]  # a workbook leaves empty rows out
    lost["age"] = False
    return known, lost


def written(path, known, lost):
    table = known.mask(lost, NONE).mask(lost & (known.index.to_numpy() % 2 == 0)[:, None], f" {NONE} ")
    if path.suffix == ".xlsx":
        table.to_excel(path, index=False)
    else:
        table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("column", "value", "none"),
    [
        (Column("grade", "category", ("1", "2", "3")), "2.0", "4"),
        (Column("cost", low=1000.0, high=5000.0, decimal=",", thousands="."), "1.234", "1.5"),
        (Column("age", low=0.0, high=90.0), "1e1", "1_0"),
        (Column("age", low=0.0, high=90.0), "90", "NA"),
        (Column("time", offset=1.7e9, low=1.7e9, high=1.7e9 + 500), "1700000001", "1"),
        (Column("ill", "bool"), "True", "2"),
    ],
)
@pytest.mark.filterwarnings("ignore:1 of 1 rows has a level")
def test_a_value_is_what_a_table_with_this_cell_has(column, value, none, tmp_path):
    for text, is_value in ((value, True), (none, False)):
        assert is_value_of(column, text) == is_value
        (tmp_path / "one.csv").write_text(f"other;{column.name}\n1;{text}\n")
        try:
            table = read_table_for(Columns([column._replace(odd_is_missing=True)]), tmp_path / "one.csv")
            has_value = bool(table[column.name].notna().all()) and not np.isnan(Columns([column]).encode(table)).any()
        except ValueError:  # as of 1.5 where commas are decimal signs
            has_value = False
        assert has_value or not is_value


@pytest.mark.parametrize("file", ["list.csv", "list.xlsx", "list.parquet"])
def test_a_cell_without_result_is_that_of_step(case_model, capsys, tmp_path, file):
    known, lost = case_list(case_model)
    path = tmp_path / file
    if file.endswith("xlsx"):
        pytest.importorskip("openpyxl", reason="needs openpyxl, which the extra excel installs")
    if file.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="needs pyarrow, which the extra parquet installs")
        known.mask(lost, NONE).astype("string").to_parquet(path)
    else:
        written(path, known, lost)
    arguments = "predict", case_model, path, "--next", "--no-result", NONE, "--keep", "crp,ward"
    code, printed, error = call(capsys, *arguments)
    assert code == 0, error
    counts = ", ".join(f"{n} of {name!r}" for name, n in lost.sum().items() if n)
    assert f"fsgym: {NONE!r} is in {counts}: no result, and not asked again" in error.splitlines()
    lines = pd.read_csv(io.StringIO(printed), keep_default_na=False, dtype={"crp": str})
    assert ((lines["crp"] == NONE) == lost["crp"]).all()
    assert ((lines["ward"] == NONE) == lost["ward"]).all()
    model = load_classifier(case_model)
    for i, line in lines.iterrows():
        names = [name for name in lost if lost.loc[i, name]]
        step = model.step(known.loc[i].dropna().to_dict(), unavailable=names, accept=True)
        assert line["next"] == ("" if step.question is None else step.question.name)
        assert line["answer"] == step.answer
        assert step.probabilities is not None
        assert line["probability_yes"] == pytest.approx(step.probabilities["yes"], abs=1e-6)
        assert float(line["expected_cost_stop"]) == pytest.approx(step.expected_cost.stop, rel=1e-5)
        if step.expected_cost.go_on is None:
            assert line["expected_cost_go_on"] == ""
        else:
            assert float(line["expected_cost_go_on"]) == pytest.approx(step.expected_cost.go_on, rel=1e-5)
    assert lines["next"].ne("").sum() > 5
    assert call(capsys, *arguments, "-o", tmp_path / "next.jsonl")[0] == 0
    found = [json.loads(line) for line in (tmp_path / "next.jsonl").read_text().splitlines()]
    assert [line["next"] or "" for line in found] == lines["next"].tolist()
    assert [line["ward"] == NONE for line in found] == lost["ward"].tolist()


def test_explain_has_the_same(case_model, capsys, tmp_path):
    known, lost = case_list(case_model)
    path = written(tmp_path / "list.csv", known, lost)
    options = "--next", "--no-result", NONE
    lines = pd.read_csv(io.StringIO(call(capsys, "predict", case_model, path, *options)[1]), keep_default_na=False)
    for row in (0, 1, 2, 3):
        code, output, _ = call(capsys, "explain", case_model, path, "--row", row, *options)
        said, line = " ".join(output.split()), lines.loc[row]
        assert code == 0
        assert (f" Next: {line['next']} (" if line["next"] else f" Answer: {line['answer']}.") in said
        assert f"empty ones are not acquired yet; {NONE!r} says that there is no result." in said


def test_a_model_that_uses_what_is_missing_takes_no_result_for_unavailable(told_of_missing, capsys, tmp_path):
    model, _ = told_of_missing
    model.save(tmp_path / "model")
    said = " ".join(call(capsys, "export", tmp_path / "model", tmp_path / "page.html")[1].split())
    assert f"not said whether there is a value of {', '.join(model.evidence_)}: fsgym serve asks" in said
    (tmp_path / "list.csv").write_text("crp,age\n-99,0.5\n-99,\n,\n0.4,-99\n")  # a code for no result may be a number
    code, printed, _ = call(capsys, "predict", tmp_path / "model", tmp_path / "list.csv", "--next", "--no-result=-99")
    lines = pd.read_csv(io.StringIO(printed), keep_default_na=False)
    cases = ({"age": 0.5}, ["crp"]), ({}, ["crp"]), ({}, []), ({"crp": 0.4}, ["age"])
    steps = [model.step(known, unavailable=lost) for known, lost in cases]
    assert code == 0
    assert lines["next"].tolist() == ["" if step.question is None else step.question.name for step in steps]
    stop = [float(cost) for cost in lines["expected_cost_stop"]]
    assert stop == pytest.approx([step.expected_cost.stop for step in steps], rel=1e-5)


def test_where_a_text_is_refused_the_option_is_named_and_wrong_uses_are_sentences(case_model, capsys, tmp_path):
    table = pd.read_csv(case_model.parent / "new.csv").head(4).astype({"age": object, "smoker": object})
    table.assign(age=[30, NONE, NONE, 40]).to_csv(tmp_path / "list.csv", index=False)
    table.assign(smoker=["True", NONE, "", ""]).to_csv(tmp_path / "bool.csv", index=False)
    table.assign(age=["30 y", 4, 5, 6]).to_csv(tmp_path / "unit.csv", index=False)
    command = "predict", case_model, tmp_path / "list.csv"
    refused = "must hold numbers, got 'k. A.' in 2 cell(s); correct them, or leave them empty"
    hint = "; pass --no-result 'k. A.' if it says that there is no result"
    assert hint in call(capsys, "predict", case_model, tmp_path / "bool.csv", "--next")[2]
    for name in ("predict", "explain"):
        code, _, error = call(capsys, name, *command[1:], "--next")
        assert (code, f"{refused}{hint}" in error, len(error.splitlines())) == (2, True, 1)
        assert "no-result" not in call(capsys, name, case_model, tmp_path / "unit.csv", "--next")[2]
        assert "no-result" not in call(capsys, name, *command[1:])[2]
        code, _, error = call(capsys, name, *command[1:], "--no-result", NONE)
        assert (code, "--no-result needs --next" in error) == (2, True)
        assert "must be a text" in call(capsys, name, *command[1:], "--next", "--no-result", " ")[2]
        assert refused in call(capsys, name, *command[1:], "--next", "--no-result", "none")[2]
    code, _, error = call(capsys, "predict", case_model, case_model.parent / "new.csv", "--next", "--no-result", "none")
    assert (code, "new.csv has no cell 'none' in the columns of the model" in error) == (0, True)
    for text, name in (("s", "ward"), ("30", "age"), ("30,5", "age"), ("False", "smoker")):
        code, _, error = call(capsys, *command, "--next", "--no-result", text)
        assert (code, f"is no value, got {text!r}, which is one of the column" in error, repr(name) in error) == (
            2,
            True,
            True,
        )
    code, _, error = call(capsys, "predict", case_model, "wine", "--next", "--no-result", "none")
    assert (code, "--no-result is for CSV, Excel and Parquet files, and wine is none" in error) == (2, True)


def test_cells_of_a_text_file_are_found_whatever_else_it_has(tmp_path):
    """Decimal commas, quotation marks, empty lines, a line break in a cell, and the text in other columns."""
    from fsgym.data.reading.model_tables import read_file_for
    from fsgym.data.reading.reading import Reading

    text = 'note;crp;ward\nk. A.;"k. A.";er\n\n"two\nlines";3,5; k. A. \n"a ""b""";;gp\n'
    (tmp_path / "list.csv").write_text(text)
    columns = Columns([Column("crp"), Column("ward", "category", ("er", "gp"))])
    no_result = NoResult(NONE, columns.names)
    table = read_file_for(columns, tmp_path / "list.csv", Reading(), keep=["note"], no_result=no_result)
    assert table["note"].tolist() == [NONE, "two\nlines", 'a "b"']
    np.testing.assert_equal(table["crp"].tolist(), [np.nan, 3.5, np.nan])
    assert table["ward"].isna().tolist() == [False, True, False]
    assert no_result.of_columns(["crp", "ward"], 3).tolist() == [[True, False], [False, True], [False, False]]


def test_what_is_to_be_done_where_something_always_known_is_empty_is_said(case_model, capsys, tmp_path):
    """It was asked for in every list, without a word on how a case without it goes on."""
    table = pd.read_csv(case_model.parent / "new.csv")
    labels = np.where(table["age"] + table["crp"].fillna(0) > 100, "ill", "well")
    LatticeClassifier(known=["age"], random_state=0).fit(table, labels).save(tmp_path / "model")
    shown = table.head(5).astype(object)
    shown.loc[[1, 2], "age"] = None
    shown.to_csv(tmp_path / "list.csv", index=False)
    shown.assign(age=shown["age"].where(shown.index != 2, NONE)).to_csv(tmp_path / "said.csv", index=False)
    given = ("predict", tmp_path / "model")
    code, printed, error = call(capsys, *given, tmp_path / "list.csv", "--next")
    assert (code, pd.read_csv(io.StringIO(printed))["next"].tolist()[1:3]) == (0, ["age", "age"])
    assert "has no value in 2 rows for 'age', which the model always knows, so that it comes next" in error
    assert "write 'no result' there and pass --no-result 'no result'" in error
    code, printed, error = call(capsys, *given, tmp_path / "said.csv", "--next", "--no-result", NONE)
    assert code == 0
    assert (pd.read_csv(io.StringIO(printed))["next"] == "age").tolist() == [False, True, False, False, False]
    assert "has no value in 1 row for 'age'" in error
    assert f"where it cannot be had, write {NONE!r} there" in error
    table.head(5).to_csv(tmp_path / "full.csv", index=False)
    assert "always knows" not in call(capsys, *given, tmp_path / "full.csv", "--next")[2]


def test_all_columns_that_have_the_text_as_a_value_are_named(case_model, capsys):
    given = ("predict", case_model, case_model.parent / "new.csv", "--next", "--no-result", "30")
    having = [column.name for column in load_classifier(case_model).columns_ if is_value_of(column, "30")]
    assert len(having) > 1
    error = call(capsys, *given)[2]
    assert f"which is one of the columns {', '.join(map(repr, having))}; write another" in error
