"""The cells of a comparison: fits that share work give the figures of separate fits."""

from __future__ import annotations

import json
import sqlite3

import pandas as pd
import pytest

import fsgym
from agents import LatticeClassifier
from fsgym.comparison.summary import best_in_words, summarise
from support.outside import TopFeatures

FIGURES = ["accuracy", "n_features", "loss", "validation_loss", "error", "warning"]


def test_a_path_gives_the_figures_of_separate_fits(tmp_path):
    together = fsgym.compare("wine", "lattice", splits=1, lam=[0.02, 0.2], out=tmp_path)
    assert together["params"].tolist() == ['{"lam": 0.02}', '{"lam": 0.2}']
    for lam in (0.02, 0.2):
        separate = fsgym.compare("wine", "lattice", splits=1, lam=lam)
        row = together[together["params"] == json.dumps({"lam": lam})].reset_index(drop=True)
        # the loss is reported at the first price of a comparison
        same = [f for f in FIGURES if "loss" not in f]
        pd.testing.assert_frame_equal(row[same], separate[same])
        assert row["error_cost"].tolist() == separate["error_cost"].tolist()
        assert row["spent"].tolist() == separate["spent"].tolist()
    with sqlite3.connect(tmp_path / "results.sqlite") as base:
        assert base.execute("SELECT call FROM results").fetchall() == [("fsgym.comparison.cell:run_path",)]


class Failing(LatticeClassifier):
    """A classifier whose path fails."""

    def path(self, X, y, lams):
        raise ValueError("no path")


def test_a_path_that_fails_is_the_error_of_each_of_its_prices():
    candidates = [Failing(lam=v) for v in (0.01, 0.1)]
    with pytest.warns(UserWarning, match="2 of 2 fits failed"):
        results = fsgym.compare("wine", {"mine": candidates}, splits=1)
    assert results["error"].tolist() == ["ValueError: no path"] * 2


def test_the_best_method_is_named_in_words():
    results = fsgym.compare("wine", {"top": [TopFeatures(k) for k in (0, 3)], "cart": "cart"}, splits=2)
    summary = summarise(results)
    at = summary.losses[summary.losses["lam"] == 0.01].set_index("method")
    best, next_ = at["loss"].sort_values().index
    sentence = best_in_words(summary, {"top": "Top", "cart": "CART"})
    titles = {"top": "Top", "cart": "CART"}
    assert sentence.startswith(f"At lambda 0.01, {titles[best]} has the lowest loss ({at.loc[best, 'loss']:.3f}): ")
    assert f" {100 * at.loc[best, 'accuracy']:.1f} % " in sentence
    assert f"{titles[next_]} is second (loss {at.loc[next_, 'loss']:.3f}): " in sentence
    breaking_rules = summary._replace(losses=summary.losses.assign(admissible=0.9))
    assert best_in_words(breaking_rules, titles) == ""
