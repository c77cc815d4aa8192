"""Corner cases of DataFrames and of labels: names such as x0, nullable dtypes, categories, few rows, many levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier, MixtureClassifier, load_classifier
from support.problems import one_decides
from support.refusals import refused

LABELS = np.array(["ill", "well"])


def quick(**options):
    return DatumWiseClassifier(**({"n_iterations": 3, "lam": 0.01, "random_state": 0} | options))


@pytest.fixture(scope="module")
def table():
    """Rows of which a number, a category and a bool decide, and labels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 90, 150),
            "ward": rng.choice(["er", "gp", "icu"], 150),
            "fever": rng.random(150) < 0.5,
            "crp": np.where(rng.random(150) < 0.1, np.nan, rng.random(150).round(3)),
        }
    )
    ill = X["fever"] & (X["crp"].fillna(0) > 0.3) | (X["ward"] == "icu")
    return X, LABELS[np.where(ill, 0, 1)]


@pytest.fixture(scope="module")
def model(table):
    fitted = quick().fit(*table)
    assert set(fitted.predict(table[0])) == set(LABELS)
    return fitted


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.convert_dtypes(),
        lambda X: X.astype(object),
        lambda X: X.astype({"ward": "category"}),
        lambda X: X.astype({"ward": pd.CategoricalDtype(["unused", "icu", "gp", "er"], ordered=True)}),
        lambda X: X.astype({"ward": "string", "age": "Float32", "crp": "Float64", "fever": "boolean"}),
        lambda X: X.set_axis(["same"] * len(X)),
        lambda X: X.set_axis(pd.MultiIndex.from_product([["a"], range(len(X))])),
    ],
)
def test_dtypes_and_index_do_not_matter(table, model, change):
    X, y = table
    np.testing.assert_array_equal(model.predict(change(X)), model.predict(X))
    again = quick().fit(change(X), y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.features_used(X), model.features_used(X))


def test_numeric_categories_are_their_values(table):
    X, y = table
    codes = X["ward"].map({"er": 3, "gp": 1, "icu": 2})
    model = quick().fit(X.assign(ward=codes.astype("category")), y)
    assert model.columns_[1].levels == ("1", "2", "3")
    assert model.columns_[1].kind == "category"
    answers = model.predict(X.assign(ward=codes))
    for dtype in (float, str, "Int64", "category", object):
        np.testing.assert_array_equal(model.predict(X.assign(ward=codes.astype(dtype))), answers)
    gappy = codes.astype(float).where(X.index % 7 > 0)
    np.testing.assert_array_equal(
        model.predict(X.assign(ward=gappy)), model.predict(X.assign(ward=gappy.astype("Int64").astype("category")))
    )


def test_missing_values_in_one_of_the_tables_only(table):
    X, y = table
    complete = X.assign(crp=X["crp"].fillna(0.5))
    model = quick().fit(complete, y)
    gappy = complete.astype({"age": float, "fever": object})
    gappy[::5] = np.nan
    answers = model.predict(gappy)
    np.testing.assert_array_equal(answers[1:5], model.predict(complete)[1:5])
    assert not model.features_used(gappy)[::5].any()
    back = quick().fit(gappy, y)
    assert [c.kind for c in back.columns_] == ["number", "category", "bool", "number"]
    np.testing.assert_array_equal(back.predict(complete)[1:5], back.predict(gappy)[1:5])


@pytest.mark.filterwarnings("ignore:X has columns that do not vary")
def test_columns_without_values_are_harmless(table, model):
    X, y = table
    wider = X.assign(nothing=np.nan, nobody=None, same=1, word="a")
    again = quick().fit(wider, y)
    assert len(again.columns_) == 8
    assert not again.features_used(wider)[:, 4:6].any()
    assert set(again.predict(wider)) == set(LABELS)
    refused(ValueError, "'nothing' must hold numbers, got 'x'", wider.assign(nothing="x"), call=again.predict)


def test_names_of_numbers_count_as_names():
    X, y = one_decides(80, 12)
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(12)])
    for estimator in (quick(), LatticeClassifier(random_state=0, unknown=0, budget=1)):
        model = clone(estimator).fit(table, y)
        assert list(model.feature_names_in_) == list(table.columns)
        mixed = table[table.columns[::-1]]
        np.testing.assert_array_equal(model.predict(mixed), model.predict(table))
        again = clone(estimator).fit(mixed, y)
        np.testing.assert_array_equal(again.predict(table), model.predict(table))
        np.testing.assert_array_equal(again.features_used(table)[:, ::-1], model.features_used(table))
        np.testing.assert_array_equal(clone(estimator).fit(X, y).predict(X), model.predict(table))
    for copy in LatticeClassifier(random_state=0, unknown=0, budget=1).path(mixed, y, lams=[0.01, 0.1]):
        np.testing.assert_array_equal(copy.predict(table), copy.predict(mixed))
        assert list(copy.feature_names_in_) == list(mixed.columns)


def test_tables_without_names_count_by_position(table, tmp_path):
    X, y = table
    plain = X.set_axis(range(4), axis=1)
    model = quick(groups=[[0, 3], [1], [2]], costs=[2.0, 1.0, 1.0]).fit(plain, y)
    assert not hasattr(model, "feature_names_in_")
    model.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    assert again.groups == [[0, 3], [1], [2]]
    np.testing.assert_array_equal(again.predict(plain), model.predict(plain))
    refitted = clone(again).set_params(n_iterations=3, random_state=0).fit(plain, y)
    np.testing.assert_array_equal(refitted.predict(plain), model.predict(plain))
    np.testing.assert_array_equal(refitted.features_used(plain), model.features_used(plain))
    quick().fit(plain, y).save(tmp_path / "single")
    assert load_classifier(tmp_path / "single").groups is None


def test_names_of_several_levels_are_refused(table):
    X, y = table
    deep = X.set_axis(pd.MultiIndex.from_product([["lab"], X.columns]), axis=1)
    refused(ValueError, r"single texts, got \('lab', 'age'\) of 2 levels; join them", deep, y, call=quick().fit)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("Int64", "i"), ("boolean", "b"), ("category", "i"), ("Float64", "f"), (object, "i"), ("int8", "i")],
)
def test_labels_of_any_dtype(table, dtype, kind):
    X, y = table
    codes = pd.Series(y == "ill").astype(int)
    labels = codes.astype(bool).astype(dtype) if dtype == "boolean" else codes.astype(dtype)
    model = quick().fit(X, labels)
    assert model.classes_.dtype.kind == kind
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.predict(X), quick().fit(X, codes).predict(X))
    assert fsgym.evaluate(model, X, labels).accuracy == model.score(X, codes)
    costs = {str(model.classes_[0]): {str(model.classes_[1]): 3}, str(model.classes_[1]): {str(model.classes_[0]): 2}}
    assert quick(error_costs=costs, n_iterations=1).fit(X, labels).rules_.error_costs.tolist() == [[0, 3], [2, 0]]


@pytest.mark.parametrize("dtype", ["string", "category", object])
def test_labels_of_text(table, model, dtype):
    X, y = table
    again = quick().fit(X, pd.Series(y).astype(dtype))
    assert again.classes_.tolist() == ["ill", "well"]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_labels_and_cells_of_arrays_that_are_none_are_refused_in_a_sentence():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    gap, text = np.where(np.arange(40) == 3, np.nan, y), np.array([["x y", 1.0]] * 40, dtype=object)
    for table in (X, pd.DataFrame(X, columns=["a", "b"])):
        refused(ValueError, "y must not hold NaN or infinity; drop the rows", table, gap, call=quick().fit)
        refused(ValueError, "must not hold NaN or infinity", table, gap.tolist(), call=quick().fit)
        words = r"y must hold classes, got continuous numbers such as .*; for a numeric target pass bins=16 to"
        refused(ValueError, words, table, X[:, 0], call=quick().fit)
    for cells in (text, text.astype(str)):
        refused(
            ValueError, "X must hold numbers .*, got 'x y', which is none; pass a DataFrame", cells, y, call=quick().fit
        )
    huge = [[10**400, 1.0]] * 40
    refused(ValueError, "X must hold numbers from .*, got an int beyond them", huge, y, call=quick().fit)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_are_refused(table, missing):
    X, y = table
    for labels in ([missing, *y[1:]], pd.Series([missing, *y[1:]], dtype="string")):
        refused(ValueError, "must not hold missing labels; drop the rows", X, labels, call=quick().fit)
    listed = [missing, *y[1:].tolist()]  # NumPy turns NaN beside texts into "nan"
    refused(ValueError, "missing", X[["age", "crp"]].to_numpy(), listed, call=quick().fit)
    refused(ValueError, "missing", X[["age", "crp"]].to_numpy(), listed, call=fsgym.Dataset)
    numbers = pd.Series([missing] + [0, 1] * 74 + [1], dtype="Int64" if missing is pd.NA else object)
    refused(ValueError, "must not hold missing labels; drop the rows", X, numbers, call=quick().fit)


def test_tables_without_rows_or_columns_are_refused(table, model):
    X, y = table
    refused(ValueError, r"shape \(0, 4\)", X[:0], y[:0], call=quick().fit)
    refused(ValueError, r"shape \(150, 0\)", X[[]], y, call=quick().fit)
    refused(ValueError, "two classes", X[:1], y[:1], call=quick().fit)
    for method in ("predict", "features_used", "trajectories"):
        refused(ValueError, r"at least one row, got shape \(0, 4\)", X[:0], call=getattr(model, method))
    refused(ValueError, "at least one row", X[:0], y[:0], call=lambda *a: fsgym.evaluate(model, *a))


def test_rows_one_by_one(table, model):
    X, _ = table
    answers = model.predict(X)
    for i in range(0, 150, 10):
        assert model.predict(X.iloc[i]).tolist() == [answers[i]]
        assert model.predict(X.iloc[i].astype(str)).tolist() == [answers[i]]


@pytest.mark.parametrize("build", [LatticeClassifier, MixtureClassifier])
def test_a_category_is_one_of_the_features_that_are_expected_as_of_those_that_are_used(build):
    ward = np.array(["er", "gp", "icu", "out"])[np.arange(160) % 4]
    X = pd.DataFrame({"ward": ward, "noise": np.random.default_rng(0).random(160)})
    y = np.where(np.isin(ward, ["er", "icu"]), "ill", "well")
    model = build(lam=0.05, random_state=0).fit(X, y)
    assert model.features_used(X).sum(axis=1).mean() == 1  # it tells the class, and everything else is noise
    assert model.expected_n_features_ == pytest.approx(1)
