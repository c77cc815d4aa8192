"""The reference points: the constant answer, and classifiers of all features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from baselines import (
    CARTClassifier,
    CEGBClassifier,
    CEGBRegressor,
    ConstantClassifier,
    EverythingClassifier,
    ForestSelectionClassifier,
    HSICLassoClassifier,
    PanelClassifier,
)
from baselines.mrmr import MRMRClassifier
from fsgym.methods import METHODS, REFERENCES, find_method, load_class
from support.fixed_orders import CELLS, ERROR_COSTS, joint_shares, known_table
from support.refusals import refused

CLASSIFIERS = pytest.mark.parametrize("classifier", ["logistic", "forest"])


def test_they_are_methods_with_their_settings():
    X, y = load_iris(return_X_y=True)
    grids = [load_class(find_method(name))().sparsity_grid(X, y) for name in REFERENCES]
    assert grids == [[{}], [{"classifier": "logistic"}, {"classifier": "forest"}]]
    assert [m.classifier for m in EverythingClassifier(random_state=0).path(X, y)] == ["logistic", "forest"]


def test_the_constant_answer_has_the_least_cost_on_the_training_rows():
    X, y = known_table(1000)
    for costs in (None, ERROR_COSTS, ERROR_COSTS.T, [[-1.0, 1.0], [0.0, -9.0]]):
        model = ConstantClassifier(error_costs=costs).fit(X, y)
        table = 1 - np.eye(2) if costs is None else np.array(costs)
        best = min((0, 1), key=lambda k: table[k, y].mean())
        assert set(model.predict(X).tolist()) == {best}
        np.testing.assert_allclose(model.predict_proba(X), np.tile([0.7, 0.3], (len(X), 1)), atol=2e-3)
        assert not model.features_used(X).any()


def test_of_classes_that_are_equally_large_the_first_is_answered():
    """Summed in floating point, the cost of the last answer is lower by a rounding error."""
    y = np.repeat(np.arange(4), (1, 2, 3, 3))
    X, all_errors_alike = np.zeros((len(y), 1)), 1 - np.eye(4)
    for scale in (1e-6, 1.0, 1e6):
        costs = scale * all_errors_alike
        for model in (ConstantClassifier(error_costs=costs), CARTClassifier(1.0, error_costs=costs)):
            assert model.fit(X, y).predict(X[:1]).tolist() == [2]


@CLASSIFIERS
def test_with_known_probabilities_all_answers_are_those_of_bayes(classifier):
    X, y = known_table()
    joint = joint_shares()
    model = EverythingClassifier(classifier, error_costs=ERROR_COSTS, random_state=0).fit(X, y)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(CELLS), expected, atol=0.02 if classifier == "logistic" else 0.05)
    np.testing.assert_array_equal(model.predict(CELLS), (joint @ ERROR_COSTS.T).argmin(axis=1))


@CLASSIFIERS
def test_everything_is_accurate_and_calibrated_with_missing_values(classifier):
    X, y = load_breast_cancer(return_X_y=True)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = EverythingClassifier(classifier, random_state=0).fit(X[::2], y[::2])
    shares = model.predict_proba(X[1::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    assert -np.log(shares[np.arange(len(shares)), y[1::2]]).mean() < 0.25
    assert abs(shares[:, 1].mean() - y[1::2].mean()) < 0.03
    np.testing.assert_array_equal(model.features_used(X), ~np.isnan(X))


@CLASSIFIERS
def test_a_value_without_its_prerequisite_has_no_effect(classifier):
    X, y = load_iris(return_X_y=True)
    X[::3, 0] = np.nan
    options: dict[str, Any] = {"groups": [[0], [1, 2], [3]], "prerequisites": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}
    model = EverythingClassifier(classifier, random_state=0, **options).fit(X, y)
    used = model.features_used(X)
    assert not used[::3].any()
    assert used[1::3].all()
    other = np.where(used | np.isnan(X), X, 50.0)
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))


def test_mistakes_are_refused_in_a_sentence():
    X, y = load_iris(return_X_y=True)
    constant, circle = ConstantClassifier(error_costs=ERROR_COSTS), [[0, 1], [1, 0]]
    refused(ValueError, r"error_costs must have shape \(3, 3\)", X, y, call=constant.fit)
    everything = EverythingClassifier(prerequisites=circle)
    refused(ValueError, "prerequisites must not form a cycle", X[:, :2], y, call=everything.fit)


@pytest.mark.parametrize("n_selected", [0, 5])
@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("cls", [MRMRClassifier, HSICLassoClassifier, ForestSelectionClassifier])
def test_scores_of_the_methods_that_select_features_agree_with_their_answers(cls, classes, n_selected):
    X, y = load_digits(n_class=classes, return_X_y=True)
    X, words = X[:360], np.array([f"digit {k}" for k in y])[:360]
    known = {k: v for k, v in {"random_state": 0, "n_estimators": 10}.items() if k in cls().get_params()}
    model = clone(cls(n_selected, **known)).fit(X[::2], words[::2])
    if cls is ForestSelectionClassifier:
        assert not hasattr(model, "decision_function")
        scores = model.predict_proba(X)
        np.testing.assert_allclose(scores.sum(axis=1), 1)
        codes = scores.argmax(axis=1)
    else:
        assert not hasattr(model, "predict_proba")
        scores = model.decision_function(X)
        assert scores.shape == ((360,) if classes == 2 else (360, 10))
        codes = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[codes], model.predict(X))


def test_every_baseline_has_scores():
    for name, method in METHODS.items():
        if str(method.estimator).startswith("baselines"):
            model = load_class(method)(**method.preset)
            assert hasattr(model, "predict_proba") or hasattr(model, "decision_function"), name


@pytest.mark.parametrize("named", [True, False])
def test_groups_are_named_and_list_names_of_columns(named):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = X.columns.tolist() if named else ["x0", "x1", "x2", "x3"]
    groups, costs = {"both": names[:2], "rest": names[2:]}, {"both": 2.0, "rest": 1.0}
    for model in (
        EverythingClassifier(groups=groups, prerequisites={"rest": ["both"]}, random_state=0),
        CEGBClassifier(groups=groups, costs=costs, n_estimators=3, random_state=0),
        CEGBRegressor(groups=groups, costs=costs, n_estimators=3, random_state=0),
        PanelClassifier(groups=groups, costs=costs, random_state=0),
    ):
        model.fit(X if named else X.to_numpy(), y)
        rules = model._rules if isinstance(model, CEGBRegressor) else model.rules_
        assert (rules.names, rules.groups) == (("both", "rest"), ((0, 1), (2, 3)))
