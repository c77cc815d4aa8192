"""Every command that reads rows takes the options of how their cells are written."""

from __future__ import annotations

import pandas as pd
import pytest
from test_cli import call

import fsgym
from agents import load_classifier
from fsgym.cli.model_data import DataOrigin
from fsgym.data.reading.reading import Reading
from tests.fsgym.cli.conftest import cases

COMMANDS = {
    "evaluate": (),
    "explain": ("--row", "3"),
    "predict": ("-o", "answers.csv"),
    "monitor": (),
    "chart": (),
    "calibrate": ("--min-confidence", "0.6", "-o", "certain.fsgym"),
}
LABELLED = ("evaluate", "monitor", "chart", "calibrate")


@pytest.mark.parametrize("command", COMMANDS)
def test_limits_are_read_as_the_option_says(case_model, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, labels = cases(60, 5)
    table = table.assign(crp=table["crp"].round(2).astype(str), ill=labels)
    table.loc[3, "crp"] = "<0.5"
    table.to_csv("rows.csv", index=False)
    own = (*COMMANDS[command], *(("--target", "ill") if command in LABELLED else ()))
    code, _, error = call(capsys, command, case_model, "rows.csv", *own)
    assert (code, "--censored" in error) == (2, True), error
    code, _, error = call(capsys, command, case_model, "rows.csv", *own, "--censored", "limit")
    assert code in (0, 3), error


@pytest.fixture
def sheet_model(case_model, tmp_path):
    """The model as if it had been trained from the sheet ``Inspections`` of a workbook."""
    table, labels = cases()
    whole = fsgym.load_dataset(table.assign(ill=labels), target="ill")
    model = load_classifier(case_model)
    origin = DataOrigin.of("machines.xlsx", whole, "all", Reading(target="ill", sheet="Inspections"))
    model.training_data_ = origin.to_json()
    model.save(tmp_path / "sheets.fsgym")
    return tmp_path / "sheets.fsgym"


def workbook(path, **sheets):
    with pd.ExcelWriter(path) as writer:
        for name, table in sheets.items():
            table.to_excel(writer, sheet_name=name, index=False)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.one_in(2)
def test_a_workbook_without_the_sheet_of_the_training(sheet_model, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table, labels = cases(60, 5)
    table, nothing = table.assign(ill=labels), pd.DataFrame()
    workbook("november.xlsx", November=table, empty=nothing)
    workbook("more.xlsx", December=table, January=table)
    lacks = "has no sheet 'Inspections', from which the model was trained"
    code, _, error = call(capsys, command, sheet_model, "november.xlsx", *COMMANDS[command])
    assert code in (0, 3), error
    assert f"november.xlsx {lacks}; its only sheet with content, 'November', is read" in error
    code, _, error = call(capsys, command, sheet_model, "more.xlsx", *COMMANDS[command])
    others = "and several others, December, January; name the one to read, as with --sheet December"
    assert (code, error) == (2, f"fsgym: more.xlsx {lacks}, {others}\n")
    code, _, error = call(capsys, command, sheet_model, "more.xlsx", *COMMANDS[command], "--sheet", "January")
    assert code in (0, 3), error
    assert lacks not in error
    code, _, error = call(capsys, command, sheet_model, "more.xlsx", *COMMANDS[command], "--sheet", "May")
    assert (code, error) == (2, "fsgym: more.xlsx has no sheet 'May'; its sheets are December, January\n")


def test_a_model_file_is_described_without_them(case_model, capsys):
    code, _, error = call(capsys, "describe", case_model, "--header-row", "2")
    assert (code, error) == (2, f"fsgym: --header-row is for tables, and {case_model} is a model file; leave it out\n")
