"""The result of a study's cell: splits, prices, budgets, groups, failures and warnings."""

import json

import numpy as np
import pytest

from fsgym import Rules, load_dataset
from fsgym.comparison.cell import run_tested_cell
from fsgym.comparison.compared import candidates_at
from fsgym.comparison.protocol import Protocol
from fsgym.comparison.splits import OfficialSplit, Split, folds, random_splits
from fsgym.runner import run_tasks
from fsgym_studies.common.plan import CART, DWSM, LARS, MethodSettings, cells_table, price_settings, study_cells

WINE = load_dataset("wine")
HALVES = random_splits(0.5, 1)
QUICK = {"n_iterations": 2, "states_per_sample": 2}


def planned(data, methods, splits, **rules):
    return list(study_cells(Protocol.for_dataset(data, splits, **rules), methods))


def test_plan_and_cells_of_an_embedded_data_set():
    methods = (
        MethodSettings(DWSM, "rcpi", price_settings((0.0, 0.3), **QUICK)),
        MethodSettings(CART, "cart"),
        MethodSettings(LARS, "lars", ({"max_features": 2},)),
    )
    plan = planned(WINE, methods, random_splits(0.5, 2))
    table = cells_table(plan, run_tasks(plan, None))
    assert table["error"].isna().all()
    assert set(table["dataset"]) == {"wine"}
    counts = table.groupby("method")["split"].count()
    assert counts[DWSM] == 4
    assert counts[LARS] == 2
    settings = [json.loads(p) for p in table.loc[table["method"] == DWSM, "params"]]
    assert [s["lam"] for s in settings] == [0.0, 0.3, 0.0, 0.3]
    for row in table.to_dict("records"):
        assert sum(row["histogram"]) == row["n_test"] == 89
        assert sum(row["wrong"]) == round((1 - row["accuracy"]) * 89)
        assert np.dot(row["histogram"], np.arange(14)) / 89 == pytest.approx(row["n_features"])
        assert row["sparsity"] == pytest.approx(1 - np.mean(row["usage"]))
        assert row["chance"] == pytest.approx(0.4, abs=0.01)  # 71 of 178
    lasso = table[table["method"] == LARS]
    assert (lasso["sparsity_within"] == 0).all()  # a linear model uses the same features for every row
    history = table.loc[table["method"] == DWSM, "history"]
    assert {len(h) for h in history} == {2}
    assert lasso["history"].isna().all()


def test_all_methods_get_the_same_split_and_prices():
    price, rules = [1.0] * 12 + [5.0], {"lam": 1.0, "error_costs": [[0.0, 2.0, 2.0], [2.0, 0.0, 2.0], [2.0, 2.0, 0.0]]}
    methods = (MethodSettings(DWSM, "rcpi", (QUICK,)), MethodSettings(CART, "cart", ({"max_depth": 2},)))
    plan = planned(WINE, methods, folds(4, 1), **rules, costs=price)
    assert len({p.arguments["split"] for p in plan}) == 4
    table = cells_table(plan, run_tasks(plan, None))
    np.testing.assert_allclose(table["loss"], table["error_cost"] + table["spent"])
    np.testing.assert_allclose(table["error_cost"], 2 * (1 - table["accuracy"]))
    assert sorted(table.loc[table["method"] == CART, "n_test"]) == [44, 44, 45, 45]  # each row is tested once


def test_no_row_exceeds_the_budget():
    method = MethodSettings("budget", "rcpi", ({"lam": 0.0, "budget": 2, **QUICK},))
    plan = planned(WINE, [method], HALVES)
    rules = plan[0].data["rules"]
    assert (rules.lam, rules.budget) == (0.0, 2)
    (result,) = run_tasks(plan, None).results
    assert sum(result["histogram"][3:]) == 0
    assert result["admissible"] == 1.0


def test_groups_and_images_in_cells():
    digits = load_dataset("digits")
    train, test = digits.split(0.2, 0)
    groups = [list(range(k, 64, 4)) for k in range(4)]
    method = MethodSettings(DWSM, "rcpi", ({"lam": 0.05, **QUICK},))
    plan = planned(train.replace(name="<b>digits</b>"), [method], [OfficialSplit(test)], groups=groups)
    (result,) = run_tasks(plan, None).results
    assert plan[0].labels["dataset"] == "<b>digits</b>"
    assert plan[0].labels["share"] == pytest.approx(0.2, abs=0.01)
    assert len(result["usage"]) == 4
    assert np.shape([u for u in result["class_usage"] if u])[1] == 4
    assert sum(result["class_right"]) == round(result["accuracy"] * test.n_samples)
    json.dumps(result, allow_nan=False)


def test_a_failing_cell_has_its_error_in_the_table():
    method = MethodSettings(DWSM, "rcpi", ({"lam": 0.0, "alpha": 7.0},))
    plan = planned(WINE, [method], HALVES)
    table = cells_table(plan, run_tasks(plan, None))
    assert "alpha" in table.loc[0, "error"]


def test_the_warning_of_a_fit_is_recorded_and_not_shown():
    (candidate,) = candidates_at("l1_svm", {}, [{"C": 1e3, "max_iter": 1}])
    result = run_tested_cell(dataset=WINE, rules=Rules.for_dataset(WINE), candidate=candidate, split=Split(0), seed=0)
    assert result["warning"].startswith("ConvergenceWarning")


def test_the_settings_of_data_with_missing_values_are_those_of_the_imputed_data():
    X = WINE.X.copy()
    X[::7, 3] = np.nan
    plan = planned(WINE.replace(X=X), [MethodSettings(LARS, "lars")], HALVES)
    assert len(plan) > 1
