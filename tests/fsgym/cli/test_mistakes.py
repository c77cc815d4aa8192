"""Mistakes in arguments: each is one sentence, and nothing heavy is imported for those that can be seen at once."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fsgym
from fsgym import cli
from fsgym.cli.mistakes import check_model

HUGE = "1" + "0" * 22


def call(capsys, *arguments):
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as exited:
        cli.main([str(a) for a in arguments])
    printed = capsys.readouterr()
    return exited.value.code, printed.out, printed.err


def refused(capsys, said, *arguments):
    code, out, error = call(capsys, *arguments)
    assert (code, out) == (2, ""), error
    assert said in error
    assert error.count("\n") == 1
    assert len(error) < 400


@pytest.fixture
def four_rows(tmp_path):
    path = tmp_path / "four.csv"
    path.write_text("a,b,target\n1,2,x\n2,5,y\n3,1,x\n4,4,y\n")
    return path


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--splits", (0, -1, 10**12, HUGE)),
        ("--jobs", (0, 10**6, HUGE, "-" + HUGE)),
        ("--seed", (-1, 2**31, HUGE)),
    ],
)
def test_counts_of_compare_have_bounds(capsys, option, values):
    for value in values:
        refused(capsys, f"{option} must be", "compare", "wine", option, value)


def test_other_counts_have_bounds(capsys, case_model):
    refused(capsys, "--steps must be", "train", "wine", "-o", "x", "--steps", HUGE)
    refused(capsys, "--max-boxes must be", "chart", case_model, "--max-boxes", HUGE)
    refused(capsys, "--row must be", "explain", case_model, case_model.parent / "new.csv", "--row", HUGE)
    with pytest.raises(ValueError, match="splits must be at most 1000"):
        fsgym.compare("wine", ["cart"], splits=10**12)
    with pytest.raises(ValueError, match="at most 1000 numbers"):
        fsgym.compare("wine", ["cart"], lam=np.arange(1001))


def test_options_without_the_name_of_a_study_or_suite_are_refused(capsys):
    refused(capsys, "--full needs the name of a study; without options, all are listed", "reproduce", "--full")
    refused(capsys, "--jobs needs the name of a suite; without options, all are listed", "benchmark", "--jobs", "1")


def test_a_comparison_of_too_many_fits_is_refused_before_they_are_listed(monkeypatch):
    monkeypatch.setattr("fsgym.comparison.planned.MAX_FITS", 20)
    with pytest.raises(ValueError, match=r"at most 20 fits, got \d+; use fewer splits"):
        fsgym.compare("wine", ["cart"], splits=5)


@pytest.mark.parametrize("option", ["--out", "--lam", "--target", "--data-dir", "--methods", "-o", "--costs"])
def test_empty_values(capsys, option):
    refused(capsys, f"{option} must not be empty", "compare", "wine", option, "")
    if option.startswith("--"):
        refused(capsys, f"{option} must not be empty", "compare", "wine", f"{option}=")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--prices", "unknown option '--prices'; did you mean '--costs'?"),
        ("--price", "unknown option '--price'; did you mean '--costs'?"),
        ("--splts", "unknown option '--splts'; did you mean '--splits'?"),
        ("--zzz", "unknown option '--zzz'; fsgym compare has no such option (see --help)"),
    ],
)
def test_an_unknown_option(capsys, option, said):
    refused(capsys, said, "compare", "wine", option, "3")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--refer-cost", "-1"], "--refer-cost must be finite and at least 0, got -1"),
        (["--refer-label", "nurse"], "--refer-label must come with --refer-cost, got 'nurse' alone"),
        (["--budget", "-1"], "--budget must be a whole number of acquisitions, 0 or more, got -1"),
        (["--relation", "some"], "--relation must be 'any' or 'all', got 'some'"),
        (["--unrelated-costs", "3"], "--unrelated-costs needs --related: give both or neither"),
        (["--target-cost", "1", "--target-features", "1"], "--target-cost and --target-features cannot both be given"),
        (["--split", "half"], "--split must be one of all, train, test, got 'half'"),
        (
            ["--ordered", "x,Y"],
            "--ordered must list each class once, but has 'Y'; the classes are x, y; did you mean 'y'?",
        ),
        (["--ordered", "x"], "--ordered must list each class once, but lacks 'y'; the classes are x, y"),
        (["--ordered", "x,y,budget"], "but has 'budget'; the classes are x, y"),  # a class, and no option
        (["--lam", "low"], "--lam must be a number, got 'low'"),
        (["--budget", "1.5"], "--budget must be a whole number, got '1.5'"),
    ],
)
def test_a_mistake_in_an_option_of_train_names_the_option(capsys, four_rows, tmp_path, given, said):
    refused(capsys, said, "train", four_rows, "-o", tmp_path / "m", *given)


def test_mistakes_in_options_of_other_commands_name_the_option(capsys, case_model, tmp_path):
    refused(capsys, "--language must be one of de, en, got 'fr'", "export", case_model, "p.html", "--language", "fr")
    refused(capsys, "train one with --case-price", "ask", case_model, "--price", "age=3")
    pairs = tmp_path / "unrelated_costs.json"  # the name of a file stays as it is
    refused(capsys, f"there is no file {pairs}", "train", case_model, "-o", "x", "--related", pairs)


def test_costs_of_errors_with_a_numeric_target(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("a,hours\n" + "".join(f"{k % 9},{k * 1.5}\n" for k in range(40)))
    (tmp_path / "e.csv").write_text(",low,high\nlow,0,5\nhigh,1,0\n")
    given = ("train", tmp_path / "t.csv", "--target", "hours", "--numeric-target", "--bins", 4, "-o", tmp_path / "m")
    said = "of a numeric target they are its bins, 0 to 3; without the file its absolute error counts"
    refused(capsys, said, *given, "--error-costs", tmp_path / "e.csv")
    refused(capsys, "there is no file", *given, "--error-costs", tmp_path / "absent.csv")


@pytest.mark.parametrize("text", ["alcohol=0,ash=1", '{"alcohol": 0}'])
def test_prices_on_the_command_line_itself(capsys, text):
    said = "prices must be in a file, JSON {name: price} or CSV of name and price, got"
    refused(capsys, said, "compare", "wine", "--costs", text)


@pytest.mark.parametrize("given", [",", " , ,", " "])
def test_a_list_of_nothing(capsys, case_model, given):
    refused(capsys, "--drop must not be empty", "train", "wine", "-o", "x", "--drop", given)
    refused(capsys, "--known must not be empty", "train", "wine", "-o", "x", f"--known={given}")
    refused(capsys, "--unavailable must not be empty", "ask", case_model, "--unavailable", given)


def test_names_that_are_not_there_name_the_option(capsys, case_model, four_rows, tmp_path):
    data = case_model.parent / "new.csv"
    refused(capsys, "--drop: unknown column of", "train", four_rows, "-o", tmp_path / "m", "--drop", "c")
    refused(capsys, "--drop: unknown feature of 'wine' 'huee'; did", "train", "wine", "-o", "x", "--drop", "huee")
    said = "besides the target; --drop names all others, keep at least one"
    refused(capsys, said, "train", four_rows, "-o", tmp_path / "m", "--drop", "a,b")
    refused(capsys, '--known must be a JSON file with values, as {"age": 63}', "ask", case_model, "--known", "age=50")
    pd.read_csv(data).assign(ill="yes").to_csv(tmp_path / "ill.csv", index=False)
    given = ("evaluate", case_model, tmp_path / "ill.csv", "--target", "ill")
    refused(capsys, "unknown column 'piid'", *given, "--drop", "piid")


def test_a_column_may_be_kept_twice(capsys, case_model):
    code, printed, _ = call(capsys, "predict", case_model, case_model.parent / "new.csv", "--keep", "age,age")
    assert (code, printed.splitlines()[0].startswith("row,age,answer")) == (0, True)


def test_an_empty_argument(capsys):
    refused(capsys, "an argument must not be empty", "describe", "wine", "")
    refused(capsys, "an argument must not be empty", "compare", "")


def test_a_missing_data_dir_even_where_it_is_not_needed(capsys, tmp_path):
    for command in (["describe", "wine"], ["compare", "wine"], ["datasets"], ["reproduce", "gbfs"]):
        refused(capsys, "--data-dir must name an existing folder", *command, "--data-dir", tmp_path / "absent")


def test_places_that_cannot_be_written(capsys, tmp_path, case_model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    refused(capsys, "report.html is a folder", "compare", "wine", "--out", "out")
    refused(capsys, "cannot write to the folder", "compare", "wine", "--out", case_model)
    refused(capsys, "is a pipe", "train", "wine", "-o", "pipe.csv")
    refused(capsys, "is a pipe", "train", "wine", "-o", "/dev/null")
    refused(capsys, "is a pipe", "predict", case_model, case_model.parent / "new.csv", "-o", "pipe.csv")
    refused(capsys, "is a pipe", "export", case_model, "pipe.csv")
    refused(capsys, "is a pipe", "ask", case_model, "--save", "pipe.csv")


def test_a_folder_whose_name_looks_like_an_address(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fit = ("--methods", "cart", "--no-references", "--splits", 1, "--jobs", 1)
    assert call(capsys, "compare", "wine", *fit, "--out", "file:x")[0] == 0
    assert (tmp_path / "file:x" / "results.sqlite").is_file()


def test_pipes_and_devices_are_not_waited_for(capsys, tmp_path, case_model):
    (tmp_path / "data").mkdir()
    os.mkfifo(tmp_path / "data" / "pipe.csv")
    os.mkfifo(tmp_path / "data" / "costs.json")
    (tmp_path / "data" / "ward.csv").write_text("a,target\n1,x\n2,y\n")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "data" / "sock.csv"))
    code, out, _ = call(capsys, "datasets", "--data-dir", tmp_path / "data")
    assert code == 0
    assert "ward" in out
    assert "pipe" not in out
    assert "sock" not in out
    for name in ("pipe.csv", "sock.csv"):
        for command in (["describe"], ["compare"], ["evaluate", case_model], ["predict", case_model]):
            refused(capsys, "is a pipe, a socket or a device", *command, tmp_path / "data" / name)
    refused(capsys, "is a pipe", "evaluate", tmp_path / "data" / "pipe.csv", "wine")
    refused(capsys, "is a pipe", "describe", "wine", "--costs", tmp_path / "data" / "costs.json")
    (tmp_path / "data" / "MANIFEST.json").write_text('{"x": {"files": [{"file": "pipe.csv"}], "plain": true}}')
    assert call(capsys, "datasets", "--data-dir", tmp_path / "data")[0] == 0
    refused(capsys, "is a pipe", "describe", "x", "--data-dir", tmp_path / "data")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"files": [{"file": ["a.csv"]}]}, "must list its files"),
        ({"files": "a.csv"}, "must list its files"),
        ({"files": []}, "must list its files"),
        ({"files": [{"file": "a.csv", "sha256": 5}]}, "must have text as sha256"),
        ({"files": [{"file": "a.csv"}], "categorical_columns": 5}, "must have a list as categorical_columns, got 5"),
        ({"files": [{"file": "a.csv"}], "categorical_columns": [5]}, "must have names of columns"),
        ({"files": [{"file": "a.csv"}], "n_samples": "x"}, "must have a whole number as n_samples"),
        ({"files": [{"file": "a.csv"}], "n_classes": True}, "must have a whole number as n_classes"),
        ({"files": [{"file": "a.csv"}], "feature_groups": [1]}, "must have an object as feature_groups"),
        ({"files": [{"file": "a.csv"}], "layout": {}}, "must have text as layout"),
        ([], "must map each name to a record"),
    ],
)
def test_a_damaged_manifest(capsys, tmp_path, record, said):
    (tmp_path / "a.csv").write_text("a,target\n1,x\n2,y\n")
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"x" * 5000: record}))
    refused(capsys, said, "datasets", "--data-dir", tmp_path)


def test_four_rows(capsys, tmp_path, four_rows):
    code, _, error = call(capsys, "train", four_rows, "-o", tmp_path / "m.fsgym", "--agent", "lattice")
    assert (code, error) == (0, "")
    refused(capsys, "too few to hold some out for validation", "compare", four_rows, "--jobs", 1)


def test_rows_of_one_class_are_evaluated(capsys, tmp_path, case_model):
    table = (case_model.parent / "new.csv").read_text().splitlines()
    path = tmp_path / "one.csv"
    path.write_text("\n".join([f"{table[0]},ill", *(f"{row},yes" for row in table[1:])]) + "\n")
    code, out, error = call(capsys, "evaluate", case_model, path, "--target", "ill")
    assert code == 0
    assert "differs from the training rows: the class 'no' in 0 % of the rows" in error
    assert "Not defined for these rows: AUC, sensitivity (no); none is of class no" in " ".join(out.split())
    code, out, _ = call(capsys, "evaluate", case_model, path, "--target", "ill", "--json")
    assert code == 0
    assert json.loads(out)["evaluation"]["figures"]["auc"] is None


def test_repeated_names_in_json_and_relations_that_are_no_relations(capsys, tmp_path):
    (tmp_path / "prices.json").write_text('{"alcohol": 1, "alcohol": 2}')
    refused(capsys, "has two values for 'alcohol'", "describe", "wine", "--costs", tmp_path / "prices.json")
    names = fsgym.load_dataset("wine").feature_names
    rows = [",".join(["", *names]), *(",".join([name, *["2"] * len(names)]) for name in names)]
    (tmp_path / "matrix.csv").write_text("\n".join(rows) + "\n")
    command = ["compare", "wine", "--related", tmp_path / "matrix.csv", "--unrelated-costs", "2"]
    refused(capsys, "must hold only 0 and 1", *command)
    with pytest.raises(TypeError, match="related must map names to lists of names"):
        fsgym.Rules(2, 2, related={"x0": {"x1": 5}}, unrelated_costs=2)


def test_too_little_memory_is_one_sentence(capsys, monkeypatch):
    def too_large(*_, **__):
        raise MemoryError

    monkeypatch.setattr("fsgym.datasets.loading.load_whole", too_large)
    code, _, error = call(capsys, "compare", "wine", "--out", "x")
    assert code == 1
    assert "not enough memory" in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_nothing_heavy_is_imported_for_a_mistake(tmp_path):
    script = (
        "import sys\nfrom fsgym.cli import main\ntry: main(sys.argv[1:])\n"
        "finally: print([m for m in ('sklearn', 'torch', 'agents') if m in sys.modules])"
    )
    commands = (
        "compare wine --splits 0",
        "compare wine --methods latice",
        "train wine -o x --agent latice",
        "compare no.csv",
        "reproduce nothing",
        "benchmark nothing",
        *(f"{name} no.fsgym x.csv" for name in ("evaluate", "predict", "explain", "export", "chart")),
        *(f"{name} no.fsgym" for name in ("ask", "serve")),
    )
    for command in commands:
        called = [sys.executable, "-c", script, *command.split()]
        ran = subprocess.run(called, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert (ran.returncode, ran.stdout.splitlines()[-1]) == (2, "[]"), (command, ran.stdout, ran.stderr)


def test_a_model_file_whose_length_looks_like_the_start_of_a_zip_file_is_one(tmp_path):
    length = int.from_bytes(b"PK", "little")  # of the header: the first bytes of the file
    path = tmp_path / "model.fsgym"
    path.write_bytes(length.to_bytes(8, "little") + b"{" + b" " * (length - 1))
    check_model(path)
