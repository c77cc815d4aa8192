"""The command ``chart``: drawings, Markdown and text of a model file."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pandas as pd
import pytest
from test_cli import call

from agents import AdaptiveClassifier, MixtureClassifier, load_classifier
from tests.fsgym.cli.conftest import cases


def test_text_is_that_of_the_model(case_model, capsys):
    code, printed, error = call(capsys, "chart", case_model)
    assert (code, error) == (0, "")
    assert printed.rstrip() == load_classifier(case_model).chart().to_text()
    assert printed.startswith("What the model asks: ")
    assert (
        "training cases that were set aside to test the chart (the model itself was trained on them, and may do better"
        in printed.splitlines()[0]
    )


@pytest.mark.parametrize("suffix", [".svg", ".md", ".txt", ".json"])
def test_files(case_model, capsys, tmp_path, suffix):
    path = tmp_path / f"chart{suffix}"
    code, printed, error = call(capsys, "chart", case_model, "-o", path, "--max-boxes", 2)
    assert (code, error) == (0, "")
    assert printed.startswith(f"Written: {path}. What the model asks: ")
    text = path.read_text(encoding="utf-8")
    if suffix == ".svg":
        assert ET.fromstring(text).tag.endswith("svg")
    elif suffix == ".json":
        assert len(json.loads(text)["boxes"]) == 2
    else:
        assert "mermaid" in text or suffix == ".txt"
        assert "2. Ask for" in text


def test_figures_of_other_rows(case_model, capsys, tmp_path):
    table = pd.read_csv(case_model.parent / "new.csv").iloc[:60]
    table.assign(ill=load_classifier(case_model).predict(table)).to_csv(tmp_path / "other.csv", index=False)
    code, printed, error = call(capsys, "chart", case_model, tmp_path / "other.csv", "--target", "ill")
    assert code == 0
    assert "Of 60 cases, " in printed
    assert "a case costs it" in printed
    assert "optimistic" in error
    assert "evaluate" not in error  # of rows without empty cells it has the same figures
    code, _, error = call(capsys, "chart", case_model, tmp_path / "other.csv")
    assert code == 2
    why = f"'target' with the classes ({case_model} was saved in Python, and does not say which it is); for rows"
    assert why in error


def test_a_lattice_is_proposed_where_a_chart_can_only_imitate(case_model, capsys, tmp_path):
    table, labels = cases()
    model = AdaptiveClassifier(learner="mixture", lam=0.02, random_state=0).fit(table[["crp", "age"]], labels)
    model.save(tmp_path / "mixture")
    said = "the model is a mixture, which a chart can only imitate; train with --agent lattice for a policy"
    assert said in call(capsys, "chart", tmp_path / "mixture")[2]
    assert call(capsys, "chart", case_model)[2] == ""
    alone = MixtureClassifier(lam=0.02, random_state=0).fit(table[["crp", "age"]], labels)
    alone.calibrate(min_confidence=0.8).save(tmp_path / "certain")
    assert said in call(capsys, "chart", tmp_path / "certain")[2]


def test_wrong_arguments(case_model, capsys, tmp_path):
    for arguments, said in (
        (["-o", tmp_path / "chart.png"], "--output must end in .svg, .md, .txt, .json, got"),
        (["--max-boxes", 0], "--max-boxes must be a whole number from 1 to 1000, got 0"),
        (["-o", tmp_path / "absent" / "chart.svg"], "cannot write"),
    ):
        code, _, error = call(capsys, "chart", case_model, *arguments)
        assert code in (1, 2)
        assert error.startswith(f"fsgym: {said}")
        assert error.count("\n") == 1
