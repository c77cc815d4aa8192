"""The comparison: same splits and prices, no choice on test data, the same table for any number of processes."""

import json
import os
import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

import fsgym
from baselines import CARTClassifier, PanelClassifier
from fsgym import Dataset, Rules, compare, evaluate, summarise
from fsgym.comparison import cell as cells
from fsgym.comparison.compared import compared_methods
from fsgym.comparison.noise import paired_t
from fsgym.comparison.protocol import PAPER_PRICES, UNIT_PRICES, make_protocol, prices_of, seed_of
from fsgym.comparison.ranking import rank_methods
from fsgym.methods import METHODS, find_method, load_class
from fsgym.methods.registry import import_conflict
from fsgym.metrics import PROBABILITY_FIGURES
from support.comparisons import results_of, row_of

OPTIONS = dict.fromkeys(["groups", "costs", "error_costs"])


class Broken(ClassifierMixin, BaseEstimator):
    """Fails in fit."""

    def fit(self, X, y):
        raise ValueError("this one never works\nat all")

    def predict(self, X):
        return np.zeros(len(X))

    def features_used(self, X):
        return np.zeros(np.shape(X), bool)


def holed(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    return Dataset(X, y, name="holed")


@pytest.fixture(scope="module")
def wine():
    return compare("wine", ["l1_svm", "lars", "cart"], splits=2, references=False)


def test_one_row_for_each_split_method_and_setting(wine):
    assert not wine.duplicated(["split", "method", "setting"]).any()
    assert wine["error"].isna().all()
    for _, rows in wine.groupby("method"):
        first, second = (rows[rows["split"] == k]["params"].tolist() for k in (0, 1))
        assert first == second
        assert len(first) >= 5
    figures = [f for f in fsgym.Evaluation.FIGURES if f not in PROBABILITY_FIGURES]
    assert wine[[*figures, *(f"validation_{f}" for f in figures)]].notna().all(axis=None)
    assert wine.loc[wine["method"] == "cart", [*PROBABILITY_FIGURES]].notna().all(axis=None)
    assert wine.loc[wine["method"] == "l1_svm", [*PROBABILITY_FIGURES]].isna().all(axis=None)  # it has no probabilities
    assert (wine.dtypes[[*fsgym.Evaluation.FIGURES]] == np.float64).all()


def test_a_row_can_be_computed_by_hand(wine):
    row = wine[(wine["method"] == "cart") & (wine["split"] == 1)].iloc[-1]
    data = fsgym.load_dataset("wine")
    train, test = data.split(0.5, 1)
    fit, validation = train.split(0.75, 1)
    rules = Rules.for_dataset(data, lam=row["price"])
    model = CARTClassifier(**json.loads(row["params"]), random_state=seed_of(0, 1, "cart"))
    for part, evaluated, prefix in ((fit, validation, "validation_"), (train, test, "")):
        for name, value in evaluate(model.fit(part.X, data.classes[part.y]), evaluated, rules).figures().items():
            assert row[prefix + name] == value


@pytest.mark.slow  # of the runner: test_one_or_two_processes_write_the_same_bytes
@pytest.mark.usefixtures("two_threads")
def test_the_table_does_not_depend_on_the_number_of_processes():
    from agents import DatumWiseClassifier

    quick = [DatumWiseClassifier(lam=v, n_iterations=2, states_per_sample=2) for v in (0.0, 0.05)]
    methods = {"quick": quick, "l1_svm": "l1_svm", "cart": "cart"}
    single = compare("wine", methods, splits=2, n_jobs=1, references=False)
    together = compare("wine", methods, splits=2, n_jobs=2, references=False)
    assert single["error"].isna().all()
    pd.testing.assert_frame_equal(single, together, check_exact=True)


def test_another_seed_gives_other_splits(wine):
    other = compare("wine", ["lars"], splits=1, seed=5, references=False)
    mine = wine[(wine["method"] == "lars") & (wine["split"] == 0)]
    assert not np.array_equal(other["accuracy"], mine["accuracy"])


def test_rcpi_sweeps_the_prices_it_is_given():
    results = compare("wine", "rcpi", splits=1, lam=[10.0, 0.01], budget=2, references=False)
    assert results["params"].tolist() == ['{"lam": 0.01}', '{"lam": 10.0}']
    assert (results["n_acquisitions"] <= 2).all()
    assert (results["admissible"] == 1).all()
    assert results["n_acquisitions"].iloc[0] > results["n_acquisitions"].iloc[1] == 0
    assert results.attrs["reported"] == (0.01, 10.0)


def test_default_prices():
    base, expensive = Rules(2, 2), Rules(2, 2, costs=[10, 30])
    assert prices_of(None, base, False) == (PAPER_PRICES, (0.01, 0.05, 0.1))
    assert prices_of(None, expensive, False)[1] == (0.0005, 0.0025, 0.005)
    assert prices_of(None, expensive, True) == (UNIT_PRICES, (1.0,))
    assert prices_of(0.3, expensive, True) == ((0.3,), (0.3,))
    with pytest.raises(TypeError, match="one or several numbers"):
        prices_of("cheap", base, False)
    with pytest.raises(ValueError, match="at least one"):
        prices_of([], base, False)


def test_settings_are_chosen_on_validation_figures_only(wine):
    summary = summarise(wine, within=[3], lam=[0.05])
    changed = wine.assign(accuracy=0.0, loss=9.0)
    blind = summarise(changed, within=[3], lam=[0.05])
    pd.testing.assert_series_equal(summary.within["n_features"], blind.within["n_features"])
    pd.testing.assert_series_equal(summary.losses["spent"], blind.losses["spent"])
    rows = wine[(wine["method"] == "cart") & (wine["validation_n_features"] <= 3)]
    rows = rows.assign(lost=(rows["validation_n_features"] - rows["refit_n_features"]).clip(lower=0).round(9))
    keys = ["validation_accuracy", "validation_n_features", "lost", "setting"]
    rows = rows.sort_values(keys, ascending=[False, True, True, True])
    cart = summary.within.set_index("method").loc["cart"]
    assert cart["accuracy"] == pytest.approx(rows.groupby("split")["accuracy"].first().mean())
    losses = wine["validation_error_cost"] + 0.05 * wine["validation_spent"]
    chosen = wine.loc[losses[wine["method"] == "lars"].groupby(wine["split"]).idxmin()]
    assert summary.losses.set_index("method").loc["lars", "loss"] == pytest.approx(
        (chosen["error_cost"] + 0.05 * chosen["spent"]).mean()
    )


def test_summary_of_a_table_by_hand():
    rows = [
        # split, setting, validation (features, accuracy, allowed), test (features, accuracy)
        (0, 0, 1.0, 0.7, 1.0, 1.5, 0.60),
        (0, 1, 3.0, 0.9, 1.0, 3.0, 0.80),
        (0, 2, 2.0, 0.99, 0.5, 2.0, 0.99),
        (1, 0, 1.0, 0.8, 1.0, 1.0, 0.70),
        (1, 1, 3.0, 0.8, 1.0, 3.0, 0.90),
    ]
    results = []
    for split, setting, vn, va, allowed, n, a in rows:
        row = {"method": "m", "split": split, "setting": setting, "params": "{}", "error": None}
        row |= {"validation_n_features": vn, "validation_accuracy": va, "validation_admissible": allowed}
        row |= {"validation_error_cost": 1 - va, "validation_spent": vn, "n_features": n, "accuracy": a, "spent": n}
        row |= {"balanced_accuracy": a, "sparsity": 0.5, "n_acquisitions": n, "error_cost": 1 - a, "admissible": 1.0}
        results.append(row)
    summary = summarise(pd.DataFrame(results), within=[0.5, 1, 3], lam=[0.01])
    nothing, one, three = summary.within.to_dict("records")
    assert np.isnan(nothing["accuracy"])
    assert (one["accuracy"], one["n_features"]) == (pytest.approx(0.65), pytest.approx(1.25))
    # Split 0: the better setting; split 1: a tie, won by the sparser one. The setting that breaks rules is left out.
    assert (three["accuracy"], three["n_features"]) == (pytest.approx(0.75), pytest.approx(2.0))
    assert three["accuracy_std"] == pytest.approx(0.05)
    (loss,) = summary.losses.to_dict("records")
    assert loss["loss"] == pytest.approx(np.mean([0.2 + 0.03, 0.3 + 0.01]))
    assert summary.settings["splits"].tolist() == [2, 2, 1]


def test_within_a_limit_a_method_is_at_the_lowest_lambda_and_not_at_the_luckiest():
    """On few validation rows a setting that acquires less may have as few errors, or less, by chance."""
    settings = [(0.1, 0.5, 0.70, 0.62), (0.01, 1.9, 0.69, 0.9), (0.001, 4.0, 0.70, 0.95)]  # lam, features, accuracies
    rows = [
        row_of("m", split, setting=k, n=n, accuracy=accuracy, params=json.dumps({"lam": lam}))
        | {"validation_accuracy": luck}
        for split in range(2)
        for k, (lam, n, luck, accuracy) in enumerate(settings)
    ]
    within = summarise(results_of(*rows), within=[0.1, 1, 2, 5]).within["accuracy"]
    assert np.isnan(within[0])
    assert within[1:].tolist() == pytest.approx([0.62, 0.9, 0.95])


def test_of_equally_good_settings_the_one_whose_second_fit_keeps_its_features_is_chosen():
    """In each split, at a lambda and within k; of those that keep as many the first."""
    refits = [(0, 1, 2, 2), (2, 0, 2, 2), (0, 1, 1, 0), (3, 2, 2, 2)]
    rows = [
        row_of("m", split, setting=setting, n=2.0, refit_n_features=float(n), refit_spent=2.0, accuracy=setting / 10)
        | {"validation_accuracy": 0.9}
        for split, uses in enumerate(refits)
        for setting, n in enumerate(uses)
    ]
    summary = summarise(results_of(*rows[::-1]), within=[3], lam=[0.01])
    mean = pytest.approx(np.mean([0.2, 0.0, 0.1, 0.0]))
    assert summary.within["accuracy"].tolist() == summary.losses["accuracy"].tolist() == [mean]


def test_own_estimators_policies_and_callables():
    data = fsgym.load_dataset("wine").scaled()
    fitted = CARTClassifier(max_depth=1)

    def first_two(observations, masks):
        return np.where(masks[:, 0], 0, np.where(masks[:, 1], 1, 13 + 2))

    stumps = [CARTClassifier(max_depth=1), CARTClassifier(max_depth=2)]
    with pytest.warns(UserWarning, match="script: its training environment is unknown"):
        results = compare(data, {"stumps": stumps, "one": fitted, "script": first_two}, splits=2, references=False)
    assert results["error"].isna().all()
    by_method = results.groupby("method")
    assert by_method["setting"].nunique().to_dict() == {"one": 1, "script": 1, "stumps": 2}
    assert by_method.get_group("stumps")["params"].unique().tolist() == ['{"max_depth": 1}', '{"max_depth": 2}']
    assert (by_method.get_group("script")["n_features"] == 2).all()
    assert not hasattr(fitted, "classes_")  # a clone was fitted


def test_missing_values_are_imputed_for_methods_that_do_not_accept_them_and_cost_nothing():
    results = compare(holed(), {"lars": "lars", "cart": "cart"}, splits=1, references=False)
    assert results["error"].isna().all()
    everything = results[results["method"] == "lars"].iloc[-1]
    assert everything["n_features"] == pytest.approx(3.2, abs=0.3)  # of 4, of which a fifth is missing
    assert everything["spent"] == everything["n_features"]


def test_groups_by_name_are_priced_as_wholes():
    names = fsgym.load_dataset("wine").feature_names
    groups = {"first": list(names[:5]), "rest": list(names[5:])}
    results = compare("wine", ["lars"], splits=1, groups=groups, costs={"first": 2.0, "rest": 3.0}, references=False)
    assert results.attrs["counted"] == "n_acquisitions"
    assert results.iloc[-1]["spent"] == 5.0
    with pytest.raises(ValueError, match="unknown column 'alcohool'; did you mean 'alcohol'"):
        compare("wine", ["lars"], groups={"first": ["alcohool"]}, references=False)


def grouped_wine(groups):
    return make_protocol(
        fsgym.load_dataset("wine"), splits=1, train_share=0.5, seed=0, lam=0.05, options={"groups": groups}
    )


@pytest.mark.parametrize("name", METHODS)
def test_methods_by_name_receive_the_groups_that_have_a_price_and_no_others(name):
    pytest.importorskip({"cegb": "lightgbm", "rl": "sb3_contrib", "deep": "torch", "": "numpy"}[METHODS[name].extra])
    method, groups = METHODS[name], [[0, 3], [1, 2, 4], *([j] for j in range(5, 13))]
    (compared,) = compared_methods(name, grouped_wine(groups))
    received = [candidate.get_params().get("groups") for candidate in compared.candidates]
    priced = (method.prices or name == "everything") and "groups" in load_class(method)().get_params()
    assert received == [groups if method.groups or priced else None] * len(received)


def test_without_groups_both_group_lassos_are_the_lasso():
    names = ["group_lasso", "sparse_group_lasso"]
    results = compare("wine", names, splits=1, references=False).set_index("method")[["params", "accuracy", "usage"]]
    pd.testing.assert_frame_equal(*(results.loc[name].reset_index(drop=True) for name in names))


@pytest.mark.parametrize(("name", "whole"), [("group_lasso", True), ("sparse_group_lasso", False)])
def test_the_group_lasso_uses_whole_groups_and_the_sparse_one_parts_of_them(name, whole):
    groups, data = [[*range(j, 13, 4)] for j in range(4)], fsgym.load_dataset("wine")
    (method,) = compared_methods(name, grouped_wine(groups))
    supports = [candidate.fit(data.X, data.y).get_support() for candidate in method.candidates]
    assert all(len({*support[members]}) == 1 for support in supports for members in groups) == whole
    assert not supports[0].any()
    assert supports[-1].all()


def test_groups_of_categories_may_be_named_by_the_category():
    data = Dataset(np.eye(4), [0, 1, 0, 1], groups=[[0, 1], [2], [3]], group_names=["colour", "x2", "size"])
    grouped = data.with_groups({"appearance": ["colour", "size"], "other": ["x2"]})
    assert grouped.groups == ((0, 1, 3), (2,))


def test_a_failing_method_is_recorded_and_the_others_are_fitted():
    with pytest.warns(UserWarning, match="2 of .* fits failed, the first of 'broken': ValueError: this one never"):
        results = compare("wine", {"broken": Broken(), "lars": "lars"}, splits=2, references=False)
    broken = results[results["method"] == "broken"]
    line = Broken.fit.__code__.co_firstlineno + 1
    assert broken["error"].tolist() == [f"ValueError: this one never works at all (test_compare.py, line {line})"] * 2
    assert broken["accuracy"].isna().all()
    assert results.loc[results["method"] == "lars", "error"].isna().all()
    assert summarise(results).within["method"].unique().tolist() == ["broken", "lars"]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_ctrl_c_stores_finished_fits_and_the_same_call_resumes(tmp_path, monkeypatch):
    original, seen, whole = (
        cells.run_cell,
        [],
        compare("wine", ["cart"], splits=2, out=tmp_path / "uninterrupted", references=False),
    )

    def interrupted(**cell):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(cell)
        return original(**cell)

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(cells, "run_cell", interrupted)
        with pytest.raises(KeyboardInterrupt, match=r"stopped after 3 of \d+ fits; their rows are in .*results.csv"):
            compare("wine", ["cart"], splits=2, out=out, references=False)
    assert pd.read_csv(out / "results.csv")["setting"].tolist() == [0, 1, 2]
    assert not (out / "report.html").exists()

    def counted(**cell):
        seen.append(cell)
        return original(**cell)

    monkeypatch.setattr(cells, "run_cell", counted)
    pd.testing.assert_frame_equal(
        compare("wine", ["cart"], splits=2, out=out, references=False), whole, check_exact=True
    )
    assert len(seen) == len(whole)  # the three are not fitted again
    for name in ("results.csv", "results.sqlite"):
        assert (out / name).read_bytes() == (tmp_path / "uninterrupted" / name).read_bytes()


@pytest.mark.slow
def test_a_fit_that_serves_several_prices_counts_once_where_it_is_interrupted(tmp_path, monkeypatch):
    original, seen = cells.run_cell, []

    def interrupted(**cell):
        if seen:
            raise KeyboardInterrupt
        seen.append(cell)
        return original(**cell)

    monkeypatch.setattr(cells, "run_cell", interrupted)
    with pytest.raises(KeyboardInterrupt, match="stopped after 1 of 2 fits; "):
        compare("wine", ["stopping"], lam=[0.01, 0.1], splits=2, out=tmp_path, references=False)
    assert len(pd.read_csv(tmp_path / "results.csv")) > 1


class Dying(Broken):
    """Its fit kills the process."""

    def fit(self, X, y):
        os._exit(1)


@pytest.mark.slow  # test_runner.py has a task that kills its process
def test_a_method_that_kills_its_process_is_recorded_and_the_others_are_fitted(tmp_path):
    with pytest.warns(
        UserWarning, match="1 of .* fits failed, the first of 'dying': RuntimeError: the process of the method ended"
    ):
        results = compare(
            "wine", {"lars": "lars", "dying": Dying()}, splits=1, n_jobs=2, out=tmp_path, references=False
        )
    assert results.loc[results["error"].notna(), "method"].tolist() == ["dying"]
    assert results.loc[results["method"] == "dying", ["n_train", "n_test"]].to_numpy().tolist() == [[89, 89]]
    lars = compare("wine", ["lars"], splits=1, references=False)
    others = results[results["method"] == "lars"].drop(columns="error")
    pd.testing.assert_frame_equal(others, lars.drop(columns="error"), check_exact=True)


@pytest.mark.slow
def test_a_stored_fit_is_reused_only_for_equal_arguments(tmp_path, monkeypatch):
    monkeypatch.setattr("fsgym.comparison.report.write_report", lambda *_: None)
    original, seen = cells.run_cell, []

    def counted(**cell):
        seen.append(cell)
        return original(**cell)

    monkeypatch.setattr(cells, "run_cell", counted)
    data = fsgym.load_dataset("wine")
    settings = {
        "first": {"methods": {"stump": CARTClassifier(max_depth=1)}},
        "more splits": {"methods": {"stump": CARTClassifier(max_depth=1)}, "splits": 2},
        "parameter": {"methods": {"stump": CARTClassifier(max_depth=2)}},
        "seed": {"methods": {"stump": CARTClassifier(max_depth=1)}, "seed": 1},
        "share": {"methods": {"stump": CARTClassifier(max_depth=1)}, "train_share": 0.6},
        "rules": {"methods": {"stump": CARTClassifier(max_depth=1)}, "lam": 0.2},
        "name": {"methods": {"tree": CARTClassifier(max_depth=1)}},
        "values": {"methods": {"stump": CARTClassifier(max_depth=1)}, "dataset": data.scaled()},
    }
    for changed, more in settings.items():
        arguments = {"dataset": data, "splits": 1, "out": tmp_path, **more}
        before = len(seen)
        result = compare(**arguments, references=False)
        pd.testing.assert_frame_equal(compare(**arguments, references=False), result, check_exact=True)
        assert len(seen) - before == 1, changed  # one new cell, fitted once
        single = compare(**{**arguments, "out": None}, references=False)
        pd.testing.assert_frame_equal(single, result, check_exact=True)
        seen[before + 1 :] = []


def test_a_class_of_two_rows_is_accepted():
    y = [0] * 20 + [1] * 20 + [2] * 2
    data = Dataset(np.arange(42.0)[:, None], y)
    assert compare(data, ["cart"], splits=1, references=False)["error"].isna().all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"methods": ["carrt"]}, ValueError, "did you mean 'cart'"),
        ({"methods": []}, ValueError, "at least one of "),
        ({"methods": [CARTClassifier()]}, TypeError, "give CARTClassifier a name"),
        ({"methods": {"d": DummyClassifier}}, TypeError, "got the class DummyClassifier; pass an instance"),
        ({"methods": {"d": [lambda o, m: m]}}, TypeError, "is not a scikit-learn estimator"),
        ({"methods": {"d": []}}, ValueError, "at least one estimator"),
        ({"methods": {"d": 3}}, TypeError, "must be an estimator"),
        ({"methods": 3}, TypeError, "methods must be names"),
        ({"splits": 0}, ValueError, "splits must be"),
        ({"splits": 1.5}, ValueError, "splits must be"),
        ({"train_share": 1.0}, ValueError, "train_share must lie"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"lam": -0.1}, ValueError, "not negative"),
        ({"within": [-1]}, ValueError, "within must be"),
        ({"within": 3}, TypeError, "within must be"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be"),
        ({"backend": "slurm"}, ValueError, "backend must be one of loky, dask, ray"),
        ({"backend": "dask"}, ValueError, "needs scheduler"),
        ({"scheduler": "tcp://here:1"}, ValueError, "a scheduler needs the backend dask or ray"),
        ({"costs": [1, 2]}, ValueError, "shape"),
        ({"budget_cost": 0.1}, ValueError, "nothing could be acquired"),
        ({"dataset": "wien"}, ValueError, "did you mean 'wine'"),
    ],
)
def test_errors_are_one_sentence_before_any_fit(arguments, error, message, monkeypatch):
    monkeypatch.setattr(cells, "run_cell", lambda **_: pytest.fail("a fit was started"))
    with pytest.raises(error, match=message) as caught:
        compare(**{"dataset": "wine", "methods": ["cart"], **arguments}, references=False)
    assert "\n" not in str(caught.value)


def test_an_unwritable_folder_is_reported_before_any_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "run_cell", lambda **_: pytest.fail("a fit was started"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot write to the folder"):
        compare("wine", ["cart"], out=tmp_path / "file" / "below", references=False)


@pytest.mark.parametrize("name", METHODS)
def test_table_of_methods(name):
    method = find_method(name)
    cls = load_class(method)
    assert hasattr(cls, "features_used")
    assert method.prices or hasattr(cls, "sparsity_grid")
    assert "lam" in cls().get_params() or not method.prices


def test_a_package_of_the_same_name_is_reported(tmp_path, monkeypatch):
    assert import_conflict("agents") is None
    assert "cannot be found" in import_conflict("agents_of_nobody")
    (tmp_path / "other_package").mkdir()
    (tmp_path / "other_package" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert "is not the one that comes with fsgym" in import_conflict("other_package")
    monkeypatch.setitem(sys.modules, "stand_in", types.ModuleType("stand_in"))
    assert import_conflict("stand_in") is None
    monkeypatch.setattr("fsgym.methods.registry.OWN_PACKAGES", ("other_package",))
    with pytest.raises(ImportError, match="is not the one"):
        load_class(METHODS["cart"]._replace(estimator="other_package:Tree"))


def test_targets_replace_the_sweep_of_methods_that_have_them():
    data, targets = fsgym.load_dataset("wine"), {"target_cost": 3, "target_features": [2, 1.5]}
    protocol = make_protocol(data, splits=1, train_share=0.5, seed=0, lam=[0.1], options=OPTIONS, targets=targets)
    lattice, rcpi = compared_methods(["lattice", "rcpi"], protocol)
    assert lattice.params == ({"target_cost": 3.0}, {"target_features": 1.5}, {"target_features": 2.0})
    assert [(c.target_cost, c.target_features) for c in lattice.candidates] == [(3.0, None), (None, 1.5), (None, 2.0)]
    assert rcpi.params == ({"lam": 0.1},)
    with pytest.raises(ValueError, match="target_cost is a parameter of none of the methods rcpi"):
        compared_methods(["rcpi"], protocol)
    for wrong in (-1, [], "x", [float("nan")]):
        with pytest.raises((ValueError, TypeError), match="target_features must"):
            compare(data, ["lattice"], target_features=wrong, references=False)


@pytest.mark.slow
def test_a_method_trained_for_lambdas_is_at_the_nearest_one_whatever_the_validation_rows_say():
    """Of eleven exchange rates, the luckiest on few validation rows may be one at which nothing is acquired."""
    settings = [PanelClassifier(lam=lam) for lam in (0.001, 0.01, 0.1)]
    results = compare("wine", {"panel": settings}, splits=2, references=False)
    results["validation_error_cost"] = 1.0 - results["setting"] / 2  # the last one looks best
    for lam, setting in ((0.001, 0), (0.002, 0), (0.01, 1), (0.03, 1), (0.04, 2), (0.1, 2), (5.0, 2), (0.0, 0)):
        row = summarise(results, lam=[lam]).losses.iloc[0]
        chosen = results[results["setting"] == setting]
        assert row["n_features"] == pytest.approx(chosen["n_features"].mean()), lam
        assert row["loss"] == pytest.approx((chosen["error_cost"] + lam * chosen["spent"]).mean())
    without = results.assign(params='{"ccp_alpha": 0}')
    last = results[results["setting"] == 2]
    assert summarise(without, lam=[0.001]).losses["n_features"][0] == pytest.approx(last["n_features"].mean())


def test_a_summary_takes_one_lambda_and_one_limit_as_compare_does():
    results = compare("wine", ["cart"], splits=2, lam=[0.01, 0.05], references=False)
    one, listed = summarise(results, within=3, lam=0.05), summarise(results, within=[3], lam=[0.05])
    assert one.losses["lam"].tolist() == [0.05]
    pd.testing.assert_frame_equal(one.losses, listed.losses)
    pd.testing.assert_frame_equal(one.within, listed.within)


def test_a_method_pays_for_what_its_answers_by_error_costs_depend_on():
    """The likeliest class never changes here; the cheapest answer does, by a column that does not count as used."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    data = Dataset(X, (rng.random(600) < np.where(X[:, 1] > 0, 0.4, 0.03)).astype(int))
    method = {"cheat": fsgym.as_method(DecisionTreeClassifier(max_depth=1), used=[0])}
    asked = {"splits": 1, "lam": 0.05, "progress": False}
    assert fsgym.compare(data, method, **asked)["error"].isna().all()
    with pytest.warns(UserWarning, match="answers must depend on the columns that count as used alone"):
        results = fsgym.compare(data, method, error_costs=[[0, 8], [1, 0]], references=False, **asked)
    assert results["error"].notna().all()


def test_the_name_of_a_reference_point_is_no_name_for_a_method():
    with pytest.raises(ValueError, match="'constant' is the name of a reference point; give your method another one"):
        fsgym.compare("wine", {"constant": DecisionTreeClassifier()}, splits=1, progress=False)


def test_rounding_errors_are_no_difference():
    assert paired_t(np.full(5, 0.1 + 0.2 - 0.3))[0] == 0
    assert paired_t(np.full(5, 0.1 + 0.2 - 0.3))[-2:] == (1.0, "noise")


def test_tables_of_several_data_sets_are_refused():
    asked = {"splits": 1, "lam": 0.01, "references": False, "progress": False}
    frame = fsgym.compare_datasets(["wine", "breast_cancer"], ["cart"], **asked).to_frame()
    for summarised in (fsgym.summarise, rank_methods):
        with pytest.raises(ValueError, match="results must hold one data set, got wine, breast_cancer; select the"):
            summarised(frame)
    one = frame[frame["dataset"] == "wine"]
    assert fsgym.summarise(one, within=np.int64(3), lam=np.int64(1)).losses["lam"].tolist() == [1]
    with pytest.raises(ValueError, match="counted must be"):
        fsgym.summarise(one, counted="n_feature")


@pytest.mark.parametrize("within", [(), "12"])
def test_limits_that_are_none_are_refused_before_any_fit(within):
    with pytest.raises(ValueError, match="within must be numbers of features"):
        fsgym.compare("wine", ["cart"], splits=1, within=within, progress=False)


def test_prices_and_costs_of_errors_are_those_of_the_rules_and_not_of_what_was_paid():
    asked = {"splits": 1, "lam": 0.6, "references": False, "progress": False}
    results = fsgym.compare("wine", ["constant"], costs=[1] * 12 + [7], **asked)
    ranking = rank_methods(results)
    assert ranking is not None
    assert ranking.has_prices
    assert not ranking.has_error_costs
