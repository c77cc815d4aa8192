"""Disjunctions as a scikit-learn estimator: estimator checks, classes, rules, usage, settings and errors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from baselines import Booleanizer, DisjunctionClassifier
from support.hkl_problems import NOISY


@parametrize_with_checks([Booleanizer()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        DisjunctionClassifier(p=1.5, connective="and", stop="sufficient", max_literals=2),
        Booleanizer(2, negations=True),
    ]
)
def test_scikit_learn_contract_of_further_settings(estimator, check):
    check(estimator)


THREE = load_wine(return_X_y=True)


def test_more_than_two_classes_are_one_against_the_rest():
    X, y = THREE
    model = DisjunctionClassifier(10).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.coef_.shape == (3, len(model.disjunctions_))
    assert (len(model.status_), model.dual_gap_.shape) == (3, (3,))
    for k in range(3):
        one = DisjunctionClassifier(10).fit(X, y == k)
        assert one.objective_ == model.objective_[k]
        np.testing.assert_allclose(one.decision_function(X), model.decision_function(X)[:, k], atol=1e-9)
    assert model.describe().count("have the largest sum") == 3


def test_decisions_are_weighted_rules():
    X, y = THREE
    for connective in ("or", "and"):
        model = DisjunctionClassifier(10, connective=connective).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(X), model.evaluate_rules(X) @ model.coef_.T + model.intercept_
        )
        literals = model.booleanizer_.transform(X).astype(bool)
        join = np.any if connective == "or" else np.all
        expected = np.column_stack([join(literals[:, list(rule)], axis=1) for rule in model.disjunctions_])
        np.testing.assert_array_equal(model.evaluate_rules(X), expected)
        rules = model.rules_as_text()
        assert len(rules) == expected.shape[1]
        assert any(f" {connective} " in rule for rule in rules)


@pytest.mark.parametrize(
    "method", [DisjunctionClassifier(1.0), DisjunctionClassifier(1.0, connective="and"), DisjunctionClassifier(1e-4)]
)
@pytest.mark.parametrize("table", ["binary", "three", "Boolean"])
def test_unused_columns_are_not_read(method, table):
    X, y = {"binary": load_breast_cancer(return_X_y=True), "three": THREE, "Boolean": NOISY}[table]
    X = np.hstack([X, np.random.default_rng(0).random((len(X), 2)).round()])
    model = clone(method).set_params(max_literals=2, max_active=12).fit(X, y)
    used, answers = model.features_used(X), model.predict(X)
    assert used.shape == X.shape
    assert not used.all()
    for huge in (1.0, 1e30, 1.7e308):
        corrupted = np.where(used, X, np.random.default_rng(1).uniform(-0.5, 0.5, X.shape) * huge)
        np.testing.assert_array_equal(model.predict(corrupted), answers)
        np.testing.assert_array_equal(model.features_used(corrupted), used)
    read = {model.booleanizer_.literals_[l].column for rule in model.disjunctions_ for l in rule}
    assert set(np.flatnonzero(used[0])) == read


def test_a_constant_model_uses_no_feature():
    X, y = load_breast_cancer(return_X_y=True)
    model = DisjunctionClassifier(1e-4).fit(X, y)
    assert not model.features_used(X).any()
    assert set(model.predict(X)) == {1}
    assert model.evaluate_rules(X).shape == (len(X), 0)
    assert model.rules_as_text() == []


@pytest.mark.slow
def test_sparsity_grid_goes_from_no_feature_to_many():
    X, y = load_breast_cancer(return_X_y=True)
    grid = DisjunctionClassifier().sparsity_grid(X, y)
    assert grid == DisjunctionClassifier().sparsity_grid(X, y)
    counts = [DisjunctionClassifier(**g).fit(X, y).features_used(X[:1]).sum() for g in (grid[0], grid[2], grid[-1])]
    assert counts[0] == 0
    assert 0 < counts[1] < counts[2]


def two_of_six(n=200):
    """Columns of 0 and 1, of which a noisy disjunction of the first two is the class."""
    rng = np.random.default_rng(0)
    X = (rng.random((n, 6)) < 0.5) * 1.0
    return X, (X[:, 0] + X[:, 1] > 0) ^ (rng.random(n) < 0.1)


@pytest.mark.parametrize("price", [0.5, 20.0])
def test_the_sparsity_grid_begins_with_no_feature_at_any_prior(price):
    X, y = two_of_six()
    counts = [m.get_support().sum() for m in DisjunctionClassifier(prior=np.full(6, price)).path(X, y)]
    assert counts[0] == 0 < counts[2] <= counts[-1]


def test_rows_of_weight_0_do_not_decide_what_is_a_copy():
    X, y = two_of_six()
    weight = np.where(np.arange(len(X)) < 5, 0.0, 1.0)
    X = np.column_stack([X, np.where(weight > 0, X[:, 0], 1 - X[:, 0])])
    weighted = DisjunctionClassifier(5.0).fit(X, y, sample_weight=weight)
    without = DisjunctionClassifier(5.0).fit(X[5:], y[5:])
    assert weighted.selected_features_.tolist() == without.selected_features_.tolist()
    assert without.get_support()[[0, 6]].tolist() == [True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "'C' parameter of DisjunctionClassifier"),
        ({"beta": 0.0}, "'beta' parameter of DisjunctionClassifier"),
        ({"beta": -1.0}, "'beta' parameter of DisjunctionClassifier"),
        ({"p": 1.0}, r"'p' parameter of DisjunctionClassifier must be a float in the range \(1.0, 2.0\]"),
        ({"p": 2.5}, "'p' parameter of DisjunctionClassifier"),
        ({"stop": "never"}, "'stop' parameter"),
        ({"max_literals": 0}, "'max_literals' parameter"),
        ({"prior": [1.0, 2.0]}, "prior must be 13 finite numbers above 0"),
        ({"prior": [0.0] * 13}, "prior must be 13 finite numbers above 0"),
        ({"groups": [0, 1]}, "groups must give one group number for each of the 13 features, got 2"),
        ({"booleanize": None}, "X must hold only 0 and 1 with booleanize=None"),
        ({"booleanize": Booleanizer(0)}, "'n_thresholds' parameter of Booleanizer"),
    ],
)
def test_errors_are_one_sentence(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        DisjunctionClassifier(**options).fit(*THREE)
    assert "\n" not in str(caught.value)


def test_bad_labels_and_rows_are_refused():
    X, y = NOISY
    with pytest.raises(ValueError, match=r"at least two classes, got 1 class \(1\)"):
        DisjunctionClassifier().fit(X, np.ones(len(X), dtype=int))
    with pytest.raises(ValueError, match=r"leave rows of every class, but class 1.0 has none"):
        DisjunctionClassifier().fit(X, y, sample_weight=(y < 0).astype(float))
    model = DisjunctionClassifier(booleanize=None).fit(X, y)
    with pytest.raises(ValueError, match="only 0 and 1 with booleanize=None"):
        model.predict(X + 0.25)


def test_feature_names_come_from_pandas():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = DisjunctionClassifier(10).fit(X, y)
    assert any(rule.startswith("alcohol ") for rule in model.rules_as_text())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"alcohol": "spirit"}))
