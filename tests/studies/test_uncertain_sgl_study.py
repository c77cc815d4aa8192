"""The study of uncertain data: printed numbers, cells beside independent computations, claims on made-up results."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso
from sklearn.svm import SVC

from baselines import SparseGroupLasso
from fsgym import Dataset, load_dataset
from fsgym.runner import run_tasks
from fsgym_studies import find_study
from fsgym_studies.common.plan import Source, table_of
from fsgym_studies.common.render import write
from fsgym_studies.uncertain_sgl import cell, tables
from fsgym_studies.uncertain_sgl import claims as claiming
from fsgym_studies.uncertain_sgl import study as uncertain_sgl
from fsgym_studies.uncertain_sgl.printed import (
    COLUMNS,
    FS,
    GAUSSIAN,
    PENALTIES,
    PRINTED,
    RAW,
    SIZES,
    SMALL,
    UNCERTAIN,
    UNIFORM,
    most,
)
from support.made_up import by_text

WDBC = load_dataset("breast_cancer", "train").rows(np.arange(120))
PART = {"folds": 4, "fold": 1, "seed": 0}
AT = {"distribution": GAUSSIAN, "w": 0.1, "s": 4, "part": PART, "seed": 5}


# --- what is printed ---


@pytest.mark.parametrize(
    ("column", "accuracy", "fnum"), list(zip(COLUMNS, (88.85, 87.88, 88.57, 87.81), (25.8, 20.6, 24.2, 20.7)))
)
def test_the_numbers_have_the_means_that_the_paper_prints(column, accuracy, fnum):
    values = PRINTED[column].values()
    assert np.mean([v.accuracy for v in values]) == pytest.approx(accuracy, abs=0.01)
    assert np.mean([v.fnum for v in values]) == pytest.approx(fnum, abs=0.05)
    if column in ((UNIFORM, FS), (UNIFORM, SMALL)):  # those of Table 3 are not means of its columns
        ratio = {FS: 0.8955, SMALL: 0.6535}[column[1]]
        assert np.mean([v.ratio for v in values]) == pytest.approx(ratio, abs=1e-4)


def test_all_of_the_paper_is_there():
    for rows in (RAW, *UNCERTAIN.values(), *PRINTED.values()):
        assert list(rows) == list(SIZES)
    assert np.mean([v.accuracy for v in UNCERTAIN[GAUSSIAN].values()]) == pytest.approx(88.12, abs=0.01)
    assert np.mean([v.accuracy for v in UNCERTAIN[UNIFORM].values()]) == pytest.approx(88.15, abs=0.011)
    for rows in PRINTED.values():
        for name, p in rows.items():
            assert (p.lam1, p.lam2) in PENALTIES
            if p.lam1 == 0:  # a group LASSO keeps groups as they are
                assert p.ratio == pytest.approx(p.fnum / SIZES[name][1], abs=0.011)


# --- the plan ---


def stand_in(source, data_dir=None):
    rng = np.random.default_rng(len(source.title))
    X = np.column_stack([rng.integers(0, 4, 60), rng.normal(size=(60, 2))])
    X[3, 1] = np.nan
    return Dataset(X, np.arange(60) % 2, name=source.title)


def test_quick_cells_are_cells_of_the_whole_study(monkeypatch):
    monkeypatch.setattr(Source, "load", stand_in)
    assert len(uncertain_sgl.PARTS) == 10
    monkeypatch.setattr(uncertain_sgl, "PARTS", uncertain_sgl.PARTS[:4])
    plans = {full: uncertain_sgl.plan(full, None) for full in (True, False)}
    keys = {full: {p.task.key for p in plan} for full, plan in plans.items()}
    assert keys[False] < keys[True]
    table = pd.DataFrame([p.row for p in plans[True]])
    grid = table[table["method"] == tables.GRID]
    assert len(grid) == 9 * 2 * 4 * 10 * 4  # sets, distributions, w, s, folds; twelve penalties in each
    assert (table["method"] == tables.AT).sum() == 9 * 4 * 4
    assert {"dataset", "method", "params", "split"} <= set(table)  # what a failure is told by


def test_every_kind_of_cell_runs_and_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(Source, "load", stand_in)
    monkeypatch.setattr(uncertain_sgl, "PARTS", uncertain_sgl.folds(10, 1)[:1])
    monkeypatch.setattr(uncertain_sgl, "SOME", 1)
    monkeypatch.setattr(uncertain_sgl, "SWEEPS", {False: [(0.05, 2)]})
    plan = uncertain_sgl.plan(False, None)
    run, study = run_tasks([p.task for p in plan], None), find_study("uncertain-sgl")
    table = table_of(plan, run)
    assert table["error"].isna().all()
    conclusion = study.conclude(plan, table, False)
    assert all(c.holds is not None for c in conclusion.claims)
    assert [t.stem for t in conclusion.tables] == ["tables_2_4", "tables_3_5", "nested"]
    assert len(conclusion.tables[0].frame) == 9 * (1 + 2 + 4)
    assert [p.png[:4] for p in conclusion.pictures] == [b"\x89PNG"] * 2
    report = write(study, conclusion, table, run.timings, tmp_path, full=False, command="").read_text()
    assert "nested" in report
    assert "curve" not in report


def test_other_codes_are_the_same_table():
    rng = np.random.default_rng(0)
    data = Dataset(np.column_stack([rng.integers(0, 5, 50), rng.normal(size=50)]), np.arange(50) % 2, name="German")
    other = uncertain_sgl.with_codes(data, 1)
    assert other.name == "German, codes in order 2"
    np.testing.assert_array_equal(other.X[:, 1], data.X[:, 1])
    pairs = set(zip(data.X[:, 0].tolist(), other.X[:, 0].tolist()))
    assert len(pairs) == 5
    assert {a for a, _ in pairs} == {b for _, b in pairs}
    assert any(a != b for a, b in pairs)


# --- cells ---


def test_a_lasso_is_at_its_minimum_and_nothing_impossible_is_kept():
    """Beside scikit-learn's LASSO, on the same draws."""
    pair = (200.0, 0.0)
    told = cell.at_setting(WDBC, **AT, penalties=pair)
    set_ = cell.drawn(*cell.parts_of(WDBC, PART), GAUSSIAN, 0.1, 4, 5)
    other = Lasso(pair[0] / len(set_.y), fit_intercept=False, tol=1e-9, max_iter=100_000).fit(set_.X, set_.y)
    exact = cell.lasso(set_, pair, "exact").coef_
    assert cell.objective(set_, pair, exact) == pytest.approx(cell.objective(set_, pair, other.coef_), rel=1e-7)
    assert told["exact_ratio"] <= told["possible"] < told["early_ratio"]
    assert (other.coef_ != 0).mean() <= told["possible"]
    assert told["exact_gap"] <= cell.TOL < told["early_gap"]
    steps = SparseGroupLasso(*pair, 4, solver="fista").fit(set_.X, set_.y).coef_
    assert told["above"] == pytest.approx(
        cell.objective(set_, pair, steps) / cell.objective(set_, pair, other.coef_) - 1.0, rel=1e-4
    )
    assert told["early_fnum"] == (steps.reshape(-1, 4) != 0).any(axis=1).sum()


def test_what_is_possible_holds_for_groups_too():
    """A weight may be proven to be zero only where it is zero at the minimum; a wide gap proves nothing."""
    pair, set_ = (100.0, 300.0), cell.drawn(*cell.parts_of(WDBC, PART), UNIFORM, 0.1, 4, 5)
    model = cell.lasso(set_, pair, "exact")
    ratio = float((model.coef_ != 0).mean())
    assert ratio <= cell.possible(set_, pair, model.coef_, model.dual_gap_) <= ratio + 0.05 < 0.8
    assert cell.possible(set_, pair, model.coef_, 1e3) == 1.0


def test_accuracy_is_that_of_the_plain_kernel():
    set_ = cell.drawn(*cell.parts_of(WDBC, PART), GAUSSIAN, 0.1, 4, 5)
    mask = np.random.default_rng(0).random((WDBC.n_features, 4)) < 0.3
    X, X_test = (Z[:, mask.ravel()] / 400.0 for Z in (set_.X, set_.X_test))
    K, K_test = (np.minimum(A[:, None], X[None]).sum(axis=2) for A in (X, X_test))
    right = SVC(kernel="precomputed").fit(K, set_.y).score(K_test, set_.y_test)
    assert cell.accuracy(set_, mask) == right
    nothing = cell.accuracy(set_, np.zeros_like(mask))
    assert nothing == max((set_.y_test > 0).mean(), (set_.y_test < 0).mean())


def test_test_rows_are_drawn_on_the_scale_of_the_training_part():
    train, test = cell.parts_of(WDBC, PART)
    set_ = cell.drawn(train, test, UNIFORM, 0.0, 1, 0)
    low, high = train.X.min(axis=0), train.X.max(axis=0)
    np.testing.assert_allclose(set_.X_test, 100 * (test.X - low) / (high - low), rtol=1e-5, atol=1e-4)


def test_a_grid_is_chosen_from_on_inner_folds_only():
    told = cell.on_grid(WDBC, **AT, penalties=[(1e-6, 0.0), (1e9, 0.0), (100.0, 0.1)], inner=3)
    assert told["ratio"][0] == 1.0
    assert (told["accuracy"][0], told["validation"][0]) == (told["all"], told["validation_all"])
    assert (told["fnum"][1], told["ratio"][1]) == (0, 0.0)
    train, test = cell.parts_of(WDBC, PART)
    set_ = cell.drawn(train, test, GAUSSIAN, 0.1, 4, 5)
    mask = cell.kept(SparseGroupLasso(100.0, 0.1, 4, solver="fista").fit(set_.X, set_.y), 4)
    assert told["ratio"][2] == mask.mean()
    inside = []
    for k in range(3):
        inner = cell.drawn(*cell.parts_of(train, {"folds": 3, "fold": k, "seed": 0}), GAUSSIAN, 0.1, 4, 5)
        inside.append(cell.accuracy(inner, cell.kept(cell.lasso(inner, (100.0, 0.1), "fista"), 4)))
    assert told["validation"][2] == pytest.approx(np.mean(inside))


def test_weights_are_the_models():
    told = cell.weights(WDBC, **AT, penalties=(100.0, 0.1))
    set_ = cell.drawn(*cell.parts_of(WDBC, PART), GAUSSIAN, 0.1, 4, 5)
    for mode, solver in (("early", "fista"), ("exact", "exact")):
        model = SparseGroupLasso(100.0, 0.1, 4, solver=solver, tol=cell.TOL).fit(set_.X, set_.y)
        np.testing.assert_array_equal(told[mode], model.coef_.reshape(-1, 4))


# --- claims, on made-up results ---


def made_up(early=1.0, exact=0.5, possible=0.3, gain=0.01, zeros=(0.9, 0.5, 0.3, 0.1)):
    """Cells of all kinds; FNum and ratio after the steps and at the minimum are shares of the printed ones."""
    rows = []
    for noise, column in COLUMNS:
        for name, p in PRINTED[noise, column].items():
            row = {"distribution": noise, "column": column, "dataset": name, "method": tables.AT, "above": 0.1}
            for mode, share in (("early", early), ("exact", exact)):
                told = {"fnum": share * p.fnum, "ratio": share * p.ratio, "accuracy": 0.8, "gap": 1e-3}
                row |= {f"{mode}_{k}": v for k, v in told.items()}
            rows += [{**row, "split": k, "possible": possible + 0.1 * k} for k in (0, 1)]
    for name in SIZES:
        rows.append({"method": tables.PLAIN, "distribution": "raw", "dataset": name, "accuracy": 0.8})
        for noise in (GAUSSIAN, UNIFORM):
            for split in (0, 1):
                selected = [0.8 + 2 * gain] + [0.7 + gain] * 10 + [0.5]
                rows.append({
                    "method": tables.GRID, "distribution": noise, "dataset": name, "split": split, "w": 0.05, "s": 10,
                    "all": 0.8 + gain, "validation_all": 0.8, "accuracy": selected, "ratio": [0.5] * 11 + [1.0],
                    "validation": selected if gain > 0 else selected[::-1],
                })  # fmt: skip
    for pair in PENALTIES:
        share = dict(zip((1000.0, 100.0, 10.0, 0.1), zeros)).get(max(pair), zeros[-1])
        weights = np.ones((10, 10))
        weights[:, : round(10 * share)] = 0.0
        if pair == (0.0, 1e3):
            weights = np.repeat(np.arange(10)[:, None] >= 9, 10, axis=1)
        row = {"method": tables.WEIGHTS, "column": "all penalties", "dataset": "Sonar", "lam1": pair[0]}
        rows.append({**row, "lam2": pair[1], "early": weights.tolist(), "exact": weights.tolist()})
    return pd.DataFrame(rows).assign(error=None)


def test_claims_that_hold():
    claims = claiming.claims(made_up(exact=0.95, possible=1.0))
    assert by_text(claims, "Table 3").holds is True
    assert by_text(claims, "Table 3").here.startswith("9 of 9: Crx 8.9 (8.9), German 16.1 (16.1)")
    assert by_text(claims, "Table 5").here.endswith("; not one")
    assert by_text(claims, "The weights are the solution").here == "36 of 36; after 100 steps 36 of 36"
    assert by_text(claims, "The weights are the solution").holds is True
    assert by_text(claims, "The printed ratios can be").holds is True
    assert by_text(claims, "German, Heart").holds is True
    for way in ("as in the paper", "inner folds"):
        assert by_text(claims, "Uncertain data are", way).holds is True
        assert (
            by_text(claims, "Uncertain data are", way).here
            == "gaussian 81.00 against 80.00; uniform 81.00 against 80.00"
        )
        assert by_text(claims, "A selection improves", way).holds is True
        assert by_text(claims, "A selection of ratio", way).holds is True
    assert by_text(claims, "Sonar: a great").holds is True
    assert by_text(claims, "Sonar: the smaller").holds is True


def test_claims_that_do_not_hold():
    claims = claiming.claims(made_up(early=0.7, gain=-0.02, zeros=(0.1, 0.5, 0.3, 0.1)))
    assert by_text(claims, "Table 3").holds is False
    assert by_text(claims, "Table 3").here.startswith("0 of 9: none; not Crx 6.2 (8.9)")
    assert by_text(claims, "The weights are the solution").here == "0 of 36; after 100 steps 0 of 36"
    assert by_text(claims, "The weights are the solution").holds is False
    assert by_text(claims, "The printed ratios can be").here.startswith("34 of 36 cannot")  # .3943 and .3946 can
    assert by_text(claims, "The printed ratios can be").holds is False
    assert by_text(claims, "German, Heart").holds is False
    assert by_text(claims, "Uncertain data are", "inner folds").holds is False
    assert by_text(claims, "A selection improves", "as in the paper").holds is False
    assert by_text(claims, "A selection of ratio", "inner folds").holds is False
    assert by_text(claims, "Sonar: a great").holds is False
    assert by_text(claims, "Sonar: the smaller").holds is False


def test_nothing_is_judged_while_data_sets_are_missing():
    table = made_up()
    claims = claiming.claims(table[table["dataset"] != "Iono"])
    starts = ("Table 3", "Table 5", "The weights", "The printed ratios can", "German", "Uncertain", "A selection")
    assert all(c.holds is None for c in claims if c.text.startswith(starts))


def test_what_fewer_steps_and_other_codes_find_is_told():
    table = made_up(early=0.7)
    short = table[(table["method"] == tables.AT) & (table["column"] == SMALL)].copy()
    short["method"] = tables.SHORT
    short["early_fnum"] *= np.where(short["dataset"] == "Horse", 1.0, 1.5)  # 1.05 of what is printed, but for Horse
    other = short[short["dataset"] == "German"].assign(method=tables.RECODED, dataset="German, codes in order 1")
    steps, german, *_ = claiming.notes(pd.concat([table, short, other], ignore_index=True))
    assert "Crx gaussian 6.2 and 9.3 (8.9); " in steps
    assert "of these 18 are within 20%, and 0 of the other 0" in steps
    assert "After 20 steps 16 of" in steps
    assert german.endswith("(printed): 11.3, 16.9 (16.1); 11.3, 17.0 (16.2).")
    assert len(claiming.notes(table.iloc[:0])) == 1  # misprints are known without results


def test_lasso_ratios_beyond_the_number_of_rows():
    """Eight of the nine printed LASSO ratios; German has more rows than that."""
    told, n = claiming.above_rank()
    assert (len(told), n) == (8, 9)
    assert not any(t.startswith("German") for t in told)
    assert most("WPBC", 50) == pytest.approx(0.108, abs=5e-4)
    assert most("Hepatitis", 50) == 140 / 950
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 40)), rng.normal(size=12)
    for lam in (1e-3, 0.1, 1.0):
        assert (SparseGroupLasso(lam, 0.0, 4, tol=1e-12).fit(X, y).coef_ != 0).sum() <= 12


def test_settings_are_chosen_blind_and_not():
    """Two folds: inner folds prefer another setting in each, the test folds the third one."""
    accuracy, validation = [[0.6, 0.8, 0.9], [0.7, 0.5, 0.9]], [[0.9, 0.8, 0.1], [0.1, 0.9, 0.2]]
    rows = [
        {
            "method": tables.GRID, "error": None, "distribution": GAUSSIAN, "dataset": "Sonar", "split": k, "w": 0.1,
            "s": 5, "all": 0.75, "validation_all": 0.75, "accuracy": accuracy[k] + [0.0] * 9,
            "validation": validation[k] + [0.0] * 9, "ratio": [0.5, 0.5, 1.0] + [0.2] * 9,
        }
        for k in (0, 1)
    ]  # fmt: skip
    found = tables.chosen(pd.DataFrame(rows)).set_index("arm")
    assert found.loc[FS, "best"] == pytest.approx(0.9)
    assert found.loc[FS, "nested"] == pytest.approx((0.6 + 0.5) / 2)
    assert found.loc[SMALL, "best"] == pytest.approx(0.65)
    assert found.loc[tables.ALL, "best"] == found.loc[tables.ALL, "nested"] == 0.75
    assert found.loc[FS, "n_settings"] == 12
    assert found.loc[SMALL, "n_settings"] == 11
