"""The study of unselected features: its cells beside the estimators, its claims on made-up results."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import sem
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from baselines import LUFeCV
from fsgym import Dataset
from fsgym_studies.common.plan import Source
from fsgym_studies.lufe import cell as lufe_cell
from fsgym_studies.lufe import claims as lufe_claims
from fsgym_studies.lufe import study as lufe
from fsgym_studies.lufe import tables as lufe_tables
from support.made_up import by_text, stand_in


def documents(n=60, d=40, seed=0):
    """Counts of words, of which the first five tell the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    rates = np.where(np.arange(d) < 5, 0.3 + 1.5 * y[:, None], 0.6)
    return Dataset(rng.poisson(rates), y, name="documents")


PART: dict[str, Any] = {"sample": 40, "draw": 1, "folds": 5, "fold": 2, "seed": 3}


@pytest.mark.parametrize(("selector", "inner"), [("rfe", "nested"), ("anova", "outer")])
def test_a_lufe_cell_is_what_the_estimator_gives(selector, inner):
    """The cell shares selections and factors among its classifiers; each estimator begins from the table."""
    data = documents()
    cell = lufe_cell.compare_arms(data, part=PART, n_selected=8, selector=selector, inner=inner, shares=(0.5,))
    train, test = lufe_cell.parts(data.y, PART)
    X, words = lufe_cell.table(data.X, train)
    assert (len(train), len(test)) == (cell["n_train"], cell["n_test"]) == (32, 28)
    assert words == cell["n_features"] <= 40
    np.testing.assert_allclose(np.sqrt(X[train].multiply(X[train]).sum(axis=1)), 1.0)
    settings = {"LUFe": {}, "LUFe 50%": {"secondary_fraction": 0.5}, "identity": {"secondary": "identity"}}
    for name, setting in settings.items():
        folds = StratifiedKFold(5, shuffle=True, random_state=3)
        model = LUFeCV(8, selector=selector, cv=folds, inner_selection=inner, scaling=None, **setting)
        model.fit(X[train], data.y[train])
        assert cell[name] == model.score(X[test], data.y[test])
        if name == "LUFe":
            assert cell["tied"] == (model.cv_results_["mean_test_score"] > model.best_score_ - 1e-9).sum()
    assert {"selection", "ALL", "random", "augmented 50%"} <= set(cell)


def test_the_plain_machines_of_a_lufe_cell():
    """ALL is scikit-learn's linear SVM at one of the seven weights, and does better on the features that tell."""
    data = documents(400, 300)
    part = PART | {"sample": 60}
    cell = lufe_cell.compare_arms(data, part=part, n_selected=5, selector="anova", inner="nested", controls=False)
    train, test = lufe_cell.parts(data.y, part)
    X, _ = lufe_cell.table(data.X, train)
    machines = [SVC(C=C, kernel="linear", tol=1e-8).fit(X[train], data.y[train]) for C in np.logspace(-3, 3, 7)]
    assert min(abs(cell["ALL"] - m.score(X[test], data.y[test])) for m in machines) < 1e-9
    assert cell["selection"] > cell["ALL"] > 0.5
    assert "random" not in cell


def test_the_lufe_study_is_the_papers_protocol(monkeypatch, tmp_path):
    """Ten times ten folds, RFE and ANOVA, 300 and 500; sets of TechTC-300 join where they are in the folder."""
    assert len(lufe.RUNS[True]) == 100
    assert lufe.RUNS[False][0] in lufe.RUNS[True]
    told = documents()
    np.savez(tmp_path / "techtc300_ten.npz", X=told.X, y=told.y)
    names = {s.name: s.title for s in lufe.techtc(tmp_path)}
    assert names == {"techtc300_ten": "ten"}
    monkeypatch.setattr(Source, "load", stand_in)
    monkeypatch.setitem(lufe.RUNS, True, [(0, 0), (9, 9)])
    full, quick = (lufe.plan(f, tmp_path) for f in (True, False))
    rows = pd.DataFrame([p.row for p in full])
    assert rows["dataset"].nunique() == 4 * 12 + 1
    assert set(rows["selector"]) == {"RFE", "ANOVA"}
    assert set(rows["K"]) == {300, 500}
    assert set(rows["inner"]) == {"nested", "outer"}
    assert {p.task.key for p in quick} < {p.task.key for p in full}
    wide = [p for p in quick if p.task.arguments["shares"]]
    assert {(p.row["selector"], p.row["K"], p.row["inner"]) for p in wide} == {("RFE", 300, "nested")}
    assert [p.task.arguments["part"]["sample"] for p in quick if p.row["corpus"] == "ten"] == [None] * 6


def lufe_table(selection=0.0, identity=-0.02, augmented=-0.01, least=-0.008):
    """LUFe at .75 on eight data sets; others above it by so much, give or take a thousandth."""
    arms = {"LUFe": 0.0, "selection": selection, "identity": identity, "random": identity, "ALL": augmented}
    shares = {f"LUFe {k}0%": least if k == 1 else 0.0 for k in range(1, 10)}
    shares |= {f"augmented {k}0%": augmented for k in range(1, 10)}
    rows = []
    for number in range(8):
        for selector in ("RFE", "ANOVA"):
            for K, inner in ((300, "nested"), (500, "nested"), (300, "outer")):
                spread = {  # no two of the same size: Wilcoxon's test of ties tries all signs
                    n: 0.001 * ((number + i) % 3 - 1) + 1e-8 * number * (i + 1)
                    for i, n in enumerate(sorted(arms | shares))
                }
                figures = {n: 0.75 + v + (spread[n] if n != "LUFe" else 0.0) for n, v in (arms | shares).items()}
                rows.append(
                    {
                        "corpus": "pcmac",
                        "dataset": f"pcmac {number}",
                        "selector": selector,
                        "K": K,
                        "inner": inner,
                        "tied": 3,
                        "error": None,
                        **figures,
                    }
                )
    return pd.DataFrame(rows)


def test_lufe_claims_that_hold():
    conclusion = lufe.conclude([], lufe_table(selection=-0.02), False)
    assert by_text(conclusion.claims, "LUFe-RFE is above RFE alone").holds is True
    assert by_text(conclusion.claims, "LUFe-RFE is above RFE alone").here.startswith(
        "+1.99 ± 0.03, 8/0/0: above (K = 300"
    )
    assert by_text(conclusion.claims, "LUFe-ANOVA is above the identity").holds is True
    assert by_text(conclusion.claims, "RFE is above ALL").holds is False
    assert by_text(conclusion.claims, "LUFe-RFE gains").holds is True
    assert by_text(conclusion.claims, "It levels out").holds is True
    assert by_text(conclusion.claims, "LUFe-RFE is above RFE-augmented").holds is True
    assert "the unselected features do help" in conclusion.notes[0]
    assert len(conclusion.pictures) == 3
    summary = conclusion.tables[1].frame.set_index("setting")
    assert summary.loc["LUFe-RFE-300", "paper, selection"] == "+1.97, 44 of 49"
    assert summary.loc["LUFe-ANOVA-500", "accuracy"] == "75.00"


def test_lufe_claims_that_do_not_hold():
    table = lufe_table(selection=-0.02, identity=0.0, augmented=0.03, least=0.02)
    claims = lufe_claims.claims(table)
    assert by_text(claims, "LUFe-RFE is above the identity").holds is False
    assert "not told apart" in by_text(claims, "LUFe-RFE is above the identity").here
    assert by_text(claims, "LUFe-RFE is above ALL").holds is False
    assert "below" in by_text(claims, "LUFe-RFE is above ALL").here
    assert by_text(claims, "LUFe-RFE gains").holds is False
    assert by_text(claims, "LUFe-RFE is above RFE-augmented").here.startswith("above at 0 of 10 shares")
    assert "slacks that see no feature gain +1.99; what" in lufe_claims.notes(lufe_tables.means(table))[0]
    worse = lufe_claims.notes(lufe_tables.means(lufe_table(selection=0.02, identity=0.0)))
    assert worse[0].startswith("LUFe-RFE is below RFE (-2.")
    assert "there is no gain to explain" in worse[0]


def test_pairs_of_classifiers():
    first, second = pd.Series([0.8, 0.7, 0.9, 0.6]), pd.Series([0.78, 0.7, 0.91, np.nan])
    told = lufe_tables.pair(first, second)
    assert told.text == "+0.33 ± 0.88, 1/1/1"
    assert told.word == "not told apart"
    np.testing.assert_allclose(told.error, sem([2.0, 0.0, -1.0]))
    assert lufe_tables.pair(first[:0], second[:0]).word == "–"
