"""Literals: thresholds, levels, missing values, and their names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from baselines import Booleanizer, DisjunctionClassifier

PEOPLE = pd.DataFrame(
    {
        "age": [31, 62, 55, 44, 70, 20],
        "smoker": [0, 1, 0, 1, 0, 0],
        "town": ["A", "B", "A", "C", "B", "A"],
        "grade": pd.Categorical([3, 1, 2, 3, 3, 1]),
    }
)


def test_literals_and_their_names():
    booleanizer = Booleanizer(2, negations=True).fit(PEOPLE)
    names = booleanizer.get_feature_names_out().tolist()
    assert names == [
        "age > 40",
        "age <= 40",
        "age > 60",
        "age <= 60",
        "smoker",
        "not smoker",
        "town=A",
        "town!=A",
        "town=B",
        "town!=B",
        "town=C",
        "town!=C",
        "grade=1",
        "grade!=1",
        "grade=2",
        "grade!=2",
        "grade=3",
        "grade!=3",
    ]
    table = pd.DataFrame(booleanizer.transform(PEOPLE), columns=names).astype(bool)
    np.testing.assert_array_equal(table["age > 60"], PEOPLE["age"] > 60)
    np.testing.assert_array_equal(table["not smoker"], PEOPLE["smoker"] == 0)
    np.testing.assert_array_equal(table["town!=B"], PEOPLE["town"] != "B")
    np.testing.assert_array_equal(table["grade=3"], PEOPLE["grade"] == 3)


def test_rules_in_words():
    y = (PEOPLE["age"] > 50) | (PEOPLE["smoker"] == 1)
    whole = DisjunctionClassifier(100).fit(PEOPLE, y)  # text, categories and numbers side by side
    assert whole.score(PEOPLE, y) == 1.0
    model = DisjunctionClassifier(1000, 1.2, 1.1, booleanize=Booleanizer(1)).fit(PEOPLE[["age", "smoker"]], y)
    assert model.score(PEOPLE[["age", "smoker"]], y) == 1.0
    assert "age > 50 or smoker" in model.rules_as_text()
    assert "age > 50 or smoker" in model.describe()


def test_one_hot_of_codes():
    X = np.array([[1, 5], [2, 6], [3, 5], [1, 7]])
    names = Booleanizer(nominal=[0]).fit(X).get_feature_names_out().tolist()
    assert names == ["x0=1", "x0=2", "x0=3", "x1 > 5.5", "x1 <= 5.5", "x1 > 6", "x1 <= 6"]
    assert len(Booleanizer(nominal="all").fit(X).literals_) == 6
    with pytest.raises(ValueError, match="nominal must name columns of X, by index below 2 or by name, got 'x9'"):
        Booleanizer(nominal=["x9"]).fit(X)


def test_an_unseen_level_makes_all_levels_false():
    booleanizer = Booleanizer().fit(PEOPLE[["town"]])
    assert booleanizer.transform(pd.DataFrame({"town": ["Z"]})).tolist() == [[0, 0, 0]]
    assert booleanizer.transform(pd.DataFrame({"town": [7]})).tolist() == [[0, 0, 0]]
    halves = Booleanizer(nominal="all").fit([[0.5], [1.5], [2.0]])
    assert halves.transform(np.array([[0], [1], [2]])).tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    words = Booleanizer().fit(np.array([["a", "b"], ["c", "b"]]))
    assert words.get_feature_names_out().tolist() == ["x0=a", "x0=c", "x1=b"]
    assert words.transform(np.array([["c", "z"]])).tolist() == [[0, 1, 0]]


def test_missing_values_are_refused_or_a_level():
    table = np.array([[1.0, 0], [np.nan, 1], [3.0, np.nan], [4.0, 1]])
    with pytest.raises(ValueError, match="contains NaN"):
        Booleanizer().fit(table)
    booleanizer = Booleanizer(1, missing="level", negations=True).fit(table)
    names = booleanizer.get_feature_names_out().tolist()
    assert names == ["x0 > 3.5", "x0 <= 3.5", "x0 missing", "x1", "not x1", "x1 missing"]
    assert booleanizer.transform(table)[1:3].tolist() == [[0, 0, 1, 1, 0, 0], [0, 1, 0, 0, 0, 1]]


def test_a_classifier_takes_missing_values_where_its_booleanizer_does():
    X = np.array([[1.0], [np.nan], [3.0], [np.nan], [2.0], [np.nan]])
    y = np.isnan(X[:, 0])
    with pytest.raises(ValueError, match="contains NaN"):
        DisjunctionClassifier().fit(X, y)
    model = DisjunctionClassifier(booleanize=Booleanizer(missing="level")).fit(X, y)
    assert model.score(X, y) == 1.0
    assert "x0 missing" in model.rules_as_text()


def test_weights_weigh_the_quantiles():
    X, weight = np.arange(30.0)[:, None], np.random.default_rng(0).integers(0, 4, 30)
    repeated = Booleanizer().fit(np.repeat(X, weight, axis=0))
    assert Booleanizer().fit(X, sample_weight=weight).literals_ == repeated.literals_
    assert len(repeated.literals_) == 8


def test_a_value_that_is_neither_number_nor_text_is_refused():
    with pytest.raises(TypeError, match="must be a string or a number, got dict in column 0 of X"):
        Booleanizer().fit(np.array([[{}, 1], [2, 3]], dtype=object))


@pytest.mark.parametrize("nominal", [[False, False, True], np.array([False, False, True]), [1.7], [-1], ["x9"]])
def test_nominal_columns_are_named_by_index_or_name_alone(nominal):
    with pytest.raises(ValueError, match="nominal must name columns of X, by index below 3 or by name, got"):
        Booleanizer(nominal=nominal).fit(np.arange(12.0).reshape(4, 3))
