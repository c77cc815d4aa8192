"""The cells of a comparison: fits that share work give the figures of separate fits."""

from __future__ import annotations

import json
import sqlite3
import warnings

import pandas as pd
import pytest

import fsgym
from agents import LatticeClassifier
from fsgym.comparison.cell import run_cell
from fsgym.comparison.compare import _arguments_of_compare, plan_comparison

FIGURES = ["accuracy", "n_features", "loss", "validation_loss", "error", "warning"]


@pytest.mark.slow  # tests/agents/lattice/test_lattice.py compares a path with separate fits
def test_a_path_gives_the_figures_of_separate_fits(tmp_path):
    wine = fsgym.load_dataset("wine").rows(range(0, 178, 3))
    together = fsgym.compare(wine, "lattice", splits=1, lam=[0.02, 0.2], out=tmp_path, references=False)
    assert together["params"].tolist() == ['{"lam": 0.02}', '{"lam": 0.2}']
    for lam in (0.02, 0.2):
        separate = fsgym.compare(wine, "lattice", splits=1, lam=lam, references=False)
        row = together[together["params"] == json.dumps({"lam": lam})].reset_index(drop=True)
        # the loss is reported at the first price of a comparison
        same = [f for f in FIGURES if "loss" not in f]
        pd.testing.assert_frame_equal(row[same], separate[same])
        assert row["error_cost"].tolist() == separate["error_cost"].tolist()
        assert row["spent"].tolist() == separate["spent"].tolist()
    with sqlite3.connect(tmp_path / "results.sqlite") as base:
        ((arguments,),) = base.execute("SELECT arguments FROM results").fetchall()
    assert json.loads(arguments)["lams"] == [0.02, 0.2]


class Failing(LatticeClassifier):
    """A classifier whose path fails."""

    def path(self, X, y, lams):
        raise ValueError("no path")


def test_a_path_that_fails_is_the_error_of_each_of_its_prices():
    candidates = [Failing(lam=v) for v in (0.01, 0.1)]
    with pytest.warns(UserWarning, match="2 of 2 fits failed"):
        results = fsgym.compare("wine", {"mine": candidates}, splits=1, references=False)
    assert results["error"].tolist() == ["ValueError: no path (test_cell.py, line 42)"] * 2


def test_rows_are_explained_for_a_report_alone_which_changes_no_figure(tmp_path, monkeypatch):
    explain, calls = LatticeClassifier.probabilities_at, []

    def warn_and_explain(self, *state):
        calls.append(warnings.warn("beliefs", stacklevel=2))
        return explain(self, *state)

    monkeypatch.setattr(LatticeClassifier, "probabilities_at", warn_and_explain)
    asked = _arguments_of_compare({"mine": LatticeClassifier(lam=0.2, effort=0.1)}, {"splits": 1, "references": False})
    cells = []
    for folder in (None, tmp_path):
        ((_, task),) = plan_comparison(fsgym.load_dataset("wine").rows(range(0, 178, 3)), asked, folder).tasks
        assert not calls
        cells += run_cell(**task.arguments, **task.data)["cells"]
    assert calls
    alone, reported = cells
    assert alone["row"] == reported["row"]
    assert alone["examples"] is None
    assert reported["examples"]
    assert reported["chart"]
