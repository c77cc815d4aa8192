"""Every command that reads rows takes the options of how their cells are written."""

from __future__ import annotations

import pytest
from test_cli import call

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


def test_a_model_file_is_described_without_them(case_model, capsys):
    code, _, error = call(capsys, "describe", case_model, "--header-row", "2")
    assert (code, error) == (2, f"fsgym: --header-row is for tables, and {case_model} is a model file; leave it out\n")
