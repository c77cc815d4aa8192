"""A method has a figure only where all cells of what is compared are there; none is taken over those that are left."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fsgym.methods import find_method
from fsgym_studies.common import curves
from fsgym_studies.common.plan import DWSM, L1_SVM, LARS
from fsgym_studies.dwsm import budget, shared
from fsgym_studies.gbfs import claims as gbfs_claims
from fsgym_studies.gbfs import tables as gbfs_tables
from fsgym_studies.suites import find_suite
from fsgym_studies.suites.leaderboard import conclusion_of, gap_to_reference, seconds_table
from fsgym_studies.suites.methods import SuiteMethods
from fsgym_studies.suites.scores import REFERENCE_TITLE, SCORES, mean_ranks, means_by_place, scores_of
from fsgym_studies.uncertain_sgl import tables as uncertain_tables
from fsgym_studies.uncertain_sgl.printed import PENALTY_PAIRS
from support.synthetic_results import line, lose

# --- suites ---

METHODS = SuiteMethods(("cart", "lattice"), {}, {})
CART, LATTICE = (find_method(name).title for name in METHODS.names)
ROWS = np.random.default_rng(0).random(40).round(3)


def suite_cell(dataset, split, method, loss):
    places = [("loss", "0.003"), ("loss", "0.01"), ("features", "0.003"), ("budget_auroc", "1")]
    return {
        "dataset": dataset,
        "split": split,
        "method": method,
        "params": "{}",
        "scores": [{"score": score, "at": at, "value": loss, "error": 0.01} for score, at in places],
        "reasons": {},
        "seconds": 1000.0 * (1 + (split or 0)),
        "test_share": 0.25,
        "row_scores": (ROWS + loss).tolist(),
        "error": None,
    }


def failed(cell):
    return (
        cell | dict.fromkeys(("scores", "reasons", "seconds", "test_share", "row_scores"), np.nan) | {"error": "X: y"}
    )


def undefined(cell):
    """The same cell with a score that is not defined there, as of test rows of one class."""
    return cell | {"scores": [s for s in cell["scores"] if s["score"] != "budget_auroc"]}


def runs(n, lost, gone=failed, dataset="cube"):
    """Runs of which the last is hard; the lattice, which is worse in each by .02, lacks the run ``lost``."""
    cells = [
        suite_cell(dataset, k, method, (0.5 if k == n - 1 else 0.1) + worse)
        for k in range(n)
        for method, worse in ((CART, 0.0), (LATTICE, 0.02))
    ]
    return pd.DataFrame([gone(c) if (c["method"], c["split"]) == (LATTICE, lost) else c for c in cells])


@pytest.mark.parametrize(("gone", "score"), [(failed, "loss"), (failed, "features"), (undefined, "budget_auroc")])
def test_a_method_without_the_hard_run_has_none_of_the_others(gone, score):
    table = runs(5, 4, gone)
    means = means_by_place(scores_of(table), score)
    assert means.index.tolist() == [CART]
    assert means_by_place(scores_of(runs(5, None)), score).index.tolist() == [CART, LATTICE]
    assert mean_ranks(means, SCORES["loss"].more_is_better).index.tolist() == [CART]


@pytest.mark.parametrize("lost", [0, 1])
def test_a_report_of_few_runs_says_which_method_failed(lost):
    conclusion = conclusion_of(find_suite("cube"), METHODS, runs(2, lost), quick=False)
    assert conclusion.verdict[:2] == (
        [
            f"{CART} is the only method that has a rank.",
            f"{LATTICE} has no place: a cell of it failed, see the notes.",
        ]
    )
    assert f"1 cell of {LATTICE} failed: X: y" in conclusion.notes
    assert conclusion.tables[0].frame.set_index("method").loc[LATTICE, "Loss"] == "n/a"


def test_training_times_are_over_all_runs_or_there_are_none():
    frame = seconds_table(runs(3, 2, dataset="mnist")).frame.set_index("method")
    assert frame["mnist"].to_dict() == {CART: "2000.0"}
    part = pd.concat([runs(3, 2, dataset="a"), runs(3, None, dataset="b")])
    assert seconds_table(part).frame.set_index("method").loc[LATTICE].tolist() == ["–", "2000.0"]


def test_the_reference_is_no_run_that_a_table_for_latex_could_test():
    reference = suite_cell("cube", "", REFERENCE_TITLE, 0.05) | {"seconds": None, "test_share": None}
    table = pd.concat([pd.DataFrame([reference]), runs(2, None)], ignore_index=True)
    caption = conclusion_of(find_suite("cube"), METHODS, table, quick=False, n_runs=2, latex=True).latex["loss"]
    assert "which these figures have not" in caption


def test_the_gap_to_the_reference_is_over_the_columns_of_both():
    columns = pd.MultiIndex.from_tuples([("syn1", "0.01"), ("syn3", "0.01")])
    suite = find_suite("syn")
    means = pd.DataFrame([[0.1, 0.3], [0.05, 0.25]], [CART, suite.reference_title], columns)
    assert gap_to_reference(suite, means, CART, SCORES["loss"], alone=False).startswith(f"The loss of {CART} is 0.2000")
    means.iloc[1, 1] = np.nan
    assert gap_to_reference(suite, means, CART, SCORES["loss"], alone=False) == ""


# --- studies ---


def curve_cells(method, points, split=0, dataset="heart", chance=0.5, **params):
    return line(dataset, method, points, split, chance=chance, params=json.dumps({"lam": 0.0, **params}))


def test_a_curve_of_which_a_setting_failed_is_none():
    points = [(0.2, 0.9), (0.8, 0.9)]
    table = pd.DataFrame([*curve_cells(DWSM, points), *curve_cells(LARS, points), *curve_cells(LARS, points, split=1)])
    values = curves.areas(lose(table, method=LARS, split=0, setting=1))
    assert values[["method", "split"]].to_numpy().tolist() == [[DWSM, 0], [LARS, 1]]
    settings = curves.setting_means(lose(table, method=LARS, split=0, setting=1))
    assert settings.loc[settings["method"] == LARS, "splits"].tolist() == [1, 1]


def test_the_budget_is_compared_in_the_splits_that_all_have():
    others = (DWSM, LARS, L1_SVM)
    table = pd.DataFrame(
        [
            cell
            for split, accuracy in enumerate((0.9, 0.9, 0.6))
            for method in (*others, shared.BUDGET_MODEL)
            for cell in curve_cells(method, [(0.8, accuracy)], split, **({} if method in others else {"budget": 2}))
        ]
    )
    found = budget.accuracy_at_budgets(curves.evaluated_cells(lose(table, method=DWSM, split=2)))
    assert found[[shared.BUDGET_MODEL, *others]].to_numpy().tolist() == [pytest.approx([0.9] * 4)]


def test_errors_of_selections_are_read_where_the_curves_of_all_splits_go():
    """The last split is hard for all, and the path of HSIC Lasso ends at 30 features in the others."""
    counts = gbfs_tables.FEATURE_COUNTS
    rows = []
    for split, (error, end) in enumerate(((0.1, 30), (0.1, 30), (0.3, 100))):
        for method in gbfs_tables.CURVE_METHODS:
            own = [k for k in counts if method != "HSIC Lasso" or k <= end]
            errors = [error] * len(own)
            of_svm = None if method in ("HSIC Lasso", "mRMR") else errors
            row = {"dataset": "uspst", "split": split, "method": method, "chance": 0.5, "n_test": 400, "error": None}
            rows.append({**row, "n_features": own, "test_error": errors, "svm_error": of_svm})
    table = pd.DataFrame(rows)
    most = gbfs_claims.quality_figures(table)["most features"]
    assert most.name == 30
    assert most.to_numpy() == pytest.approx([0.5 / 3] * 5)
    for kind in (gbfs_tables.error_table, gbfs_tables.quality_table):
        frame = kind(table).frame.set_index("method")
        assert np.isnan(frame.loc["HSIC Lasso", "50"])
        assert frame.loc["GBFS", "50"] == pytest.approx(0.5 / 3)


def grid(ratios):
    """Cells of two folds of which the first is hard; the ratios of both settings in each fold."""
    cells = [
        {"split": k, "all": a, "validation_all": a, "ratio": list(own), "accuracy": [a] * len(own)}
        for k, (a, own) in enumerate(zip((0.5, 0.9), ratios, strict=True))
    ]
    labels = {"method": "grid", "distribution": "gaussian", "dataset": "Crx", "w": 0.1, "s": 5, "error": None}
    return pd.DataFrame([{**labels, **cell, "validation": cell["accuracy"]} for cell in cells])


@pytest.mark.parametrize(("first", "nested"), [(1.0, np.nan), (0.5, 0.7)])
def test_a_choice_within_folds_needs_a_setting_in_each(first, nested):
    number = len(PENALTY_PAIRS)
    found = uncertain_tables.grid_accuracies(grid([[first] * number, [0.5] * number])).set_index("selection")
    assert found.loc["FS (ratio < 0.9)", "nested"] == pytest.approx(nested, nan_ok=True)
    assert found.loc["FS", "nested"] == pytest.approx(0.7)


def test_a_setting_without_one_fold_is_none_of_the_grid():
    whole = grid([[0.5] * len(PENALTY_PAIRS)] * 2)
    lost = lose(whole.assign(w=0.2), method="grid", split=0)
    found = uncertain_tables.grid_accuracies(pd.concat([whole, lost], ignore_index=True))
    assert found["best"].to_numpy() == pytest.approx([0.7] * 3)  # .9 in the other fold of the lost one
