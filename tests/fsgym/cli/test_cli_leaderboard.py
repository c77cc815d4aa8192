"""The command ``leaderboard``: its table, its JSON and its errors."""

from __future__ import annotations

import json
import sys

import pytest
from test_cli import call

from fsgym.cli.options import complete_variant
from fsgym.comparison import leaderboard

POLICY = "def train(env):\n    return lambda observations, masks: [%s] * len(observations)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current directory with policies, of which nothing stays imported."""
    (tmp_path / "always_malignant.py").write_text(POLICY % 31)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("always_malignant", None)


def test_table(capsys, folder):
    code, output, error = call(capsys, "leaderboard", "DatumWise-v0", "--mine", "always_malignant:train")
    assert (code, error) == (0, "")
    lines = output.splitlines()
    rows = leaderboard.read_stored_rows()["DatumWise-v0"]["rows"]
    assert lines[0].startswith("always_malignant:train has a loss of 0.6257 (standard error 0.037), rank")
    assert "larger than noise" in lines[0]
    for row in rows:
        (line,) = (text for text in lines[1:] if f" {row['name']} " in text and f" {row['name']} (" not in text)
        assert f"{row['loss']:.3f}±{row['loss_se']:.3f}".replace("±0.", "±.") in line
        assert f"{row['accuracy']:.3f}" in line
    (own,) = (text for text in lines[1:] if "(yours)" in text)
    assert "0.626±.037" in own
    assert all(word in output for word in ("3 seeds", "300,000 steps, ", "ccp_alpha", "171 test rows", "fsgym 0."))
    assert "total_timesteps" not in output  # "1,000,000 steps" says it
    assert max(map(len, lines[1:])) <= 120


def test_a_policy_is_named_before_its_reference(capsys, folder):
    code, output, error = call(capsys, "leaderboard", "DatumWise-v0", "--mine", "worried=always_malignant:train")
    assert (code, error) == (0, "")
    assert output.startswith("worried has a loss of 0.6257")
    assert any("worried (yours)" in line for line in output.splitlines())


def test_table_without_a_policy(capsys):
    code, output, _ = call(capsys, "leaderboard", "DatumWiseGroup-v0")
    assert code == 0
    assert output.startswith("The best stored row of DatumWiseGroup-v0 is ")
    assert "yours" not in output
    assert "groups" in output


def test_rows_that_break_the_rules_are_marked(capsys, folder):
    code, output, _ = call(capsys, "leaderboard", "DatumWiseBudget-v0")
    broken = [text for text in output.splitlines() if "breaks the rules (100 %" in text]
    assert code == 0
    assert [text.split()[:2] for text in broken] == [["–", "everything"]] * 2
    (folder / "tree.py").write_text(
        "import numpy as np\nfrom baselines import CARTClassifier\n"
        "def train(env):\n    data = env.unwrapped.dataset\n"
        "    y = np.random.default_rng(0).permutation(data.y)\n"
        "    return CARTClassifier().fit(data.X, data.classes[y])\n"
    )
    code, output, _ = call(capsys, "leaderboard", "DatumWiseBudget-v0", "--mine", "tree.py:train")
    assert code == 0
    (own,) = (text for text in output.splitlines() if "(yours)" in text)
    assert own.lstrip().startswith("–")
    assert "breaks the rules" in own


def test_a_narrow_terminal_shows_whole_figures(capsys, folder, monkeypatch):
    from rich.console import Console

    from fsgym.cli import leaderboard as module

    monkeypatch.setattr(module, "console", lambda markup: Console(markup=markup, width=80, highlight=False))
    (folder / "a_module_with_a_long_name.py").write_text(POLICY % 16)
    path = "a_module_with_a_long_name.py:train"
    code, output, _ = call(capsys, "leaderboard", "DatumWiseRelational-v0", "--mine", path)
    assert code == 0
    assert "…" not in output
    assert "3 seeds" not in output.partition("\n\n")[2]  # the table
    assert max(map(len, output.splitlines()[1:])) <= 80


def test_json(capsys, folder):
    (folder / "always_malignant.py").write_text((POLICY % 31).replace("return", "print('trains'); return"))
    code, output, error = call(capsys, "leaderboard", "DatumWise-v0", "--mine", "always_malignant.py:train", "--json")
    rows = json.loads(output)
    assert (code, error) == (0, "trains\n")
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    (own,) = (row for row in rows if row["mine"])
    assert own["name"] == "always_malignant.py:train"
    assert own["loss"] == pytest.approx(107 / 171, abs=1e-6)
    lattice = next(row for row in rows if row["name"] == "lattice")
    assert (lattice["params"], lattice["seeds"], lattice["method"]) == ({}, "0, 1, 2", "lattice")
    assert lattice["difference"] == pytest.approx(lattice["loss"] - own["loss"], abs=1e-5)


def test_errors_are_one_sentence(capsys, folder):
    for arguments, words in (
        (["DatumWise-v1"], "did you mean 'DatumWise-v0'"),
        (["DatumWise-v0", "--mine", "always_malignant:trian"], "did you mean 'train'"),
        (["DatumWise-v0", "--mine", "always_malignant"], "module:factory"),
        (["DatumWise-v0", "--mine", "a:train", "--mine", "b:train"], "takes one policy, got 2: a:train, b:train; rank"),
    ):
        code, output, error = call(capsys, "leaderboard", *arguments)
        assert (code, output) == (2, "")
        assert error.startswith("fsgym: ")
        assert words in error
        assert error.count("\n") == 1


def test_ids_are_completed():
    assert complete_variant("DatumWiseC") == ["DatumWiseCost-v0"]
    assert len(complete_variant("")) == 5
