"""The fixed panel and the models it is selected with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import fsgym
from baselines import CARTClassifier, PanelClassifier, StoppingClassifier, forward_selection
from baselines.ridge_logistic import fit_ridge_logistic, ridge_proba
from baselines.subset_models import class_folds, stratified_part
from fsgym.rules import Rules
from support.fixed_orders import CELLS, ERROR_COSTS, joint_shares, known_table, plain_forward_selection
from support.rcpi_twin import VARIANTS
from support.refusals import refused

BOTH = pytest.mark.parametrize("cls", [PanelClassifier, StoppingClassifier])
NEEDS = {"x2": ["x1"], "x1": ["x0"]}


def informative(n=300, missing=False, seed=0, n_features=6):
    """Three classes that depend on all columns, columns 0 and 5 most."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    scores = X @ np.linspace(2, 0.5, n_features)
    y = np.digitize(scores + 3 * X[:, -1], [-2.0, 2.0])
    if missing:
        X[rng.random(X.shape) < 0.3] = np.nan
    return X.astype(np.float32), y


@pytest.mark.parametrize("table", ["binary", "three"])
def test_ridge_logistic_is_that_of_scikit_learn(table):
    X, y = load_breast_cancer(return_X_y=True) if table == "binary" else load_wine(return_X_y=True)
    Z = StandardScaler().fit_transform(X)
    weights = (np.random.default_rng(0).random((2, len(y))) < 0.7).astype(float)
    for C in (0.1, 10.0):
        coefs = fit_ridge_logistic(Z, y, int(y.max()) + 1, weights, C)
        for w, fitted in zip(weights, coefs, strict=True):
            plain = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(Z[w == 1], y[w == 1])
            np.testing.assert_allclose(ridge_proba(Z, fitted), plain.predict_proba(Z), atol=2e-4)


@BOTH
@pytest.mark.parametrize("missing", [False, True])
def test_fits_that_start_from_those_before_end_where_fits_from_zero_do(cls, missing, monkeypatch):
    X, y = informative(missing=missing)
    model = cls(lam=0.01, prerequisites=NEEDS, random_state=0)
    started, steps = model.fit(X, y), []

    def from_zero(Z, codes, n_classes, weights, C, start=None):
        steps.append(start is not None)
        return fit_ridge_logistic(Z, codes, n_classes, weights, C)

    monkeypatch.setattr("baselines.subset_models.fit_ridge_logistic", from_zero)
    anew = cls(lam=0.01, prerequisites=NEEDS, random_state=0).fit(X, y)
    assert any(steps)
    np.testing.assert_array_equal(started.order_, anew.order_)
    np.testing.assert_allclose(started.validated_losses_, anew.validated_losses_, atol=1e-9)
    np.testing.assert_allclose(started.predict_proba(X), anew.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("cls", [PanelClassifier, CARTClassifier], ids=lambda cls: cls.__name__)
def test_a_data_set_alone_says_which_arrays_to_pass(cls):
    train = fsgym.load_dataset("wine")
    for given in ({"X": train}, {}):
        with pytest.raises(TypeError, match=rf"{cls.__name__}.fit takes arrays.*train.to_array\(\) and train.classes"):
            cls().fit(*[] if given else [train], **given)
    model = cls().fit(train.to_array(), train.classes[train.y])
    assert model.classes_.tolist() == train.classes.tolist()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        cls().fit(train.X)


def test_folds_are_even_within_each_class():
    y = np.repeat([0, 1, 2], [50, 23, 7])
    fold = class_folds(y, 3, 5, 0)
    assert np.bincount(fold).tolist() == [16] * 5
    for k in range(3):
        assert np.ptp(np.bincount(fold[y == k], minlength=5)) <= 1
    assert class_folds(np.array([0, 1, 1]), 2, 5, 0).max() == 1


@BOTH
@pytest.mark.parametrize("n_rare", [1, 2, 8])
def test_a_class_of_few_rows_is_in_the_sample_of_a_large_table(cls, n_rare):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 2))
    y = (X[:, 0] > 0).astype(int)
    y[:n_rare], X[:n_rare, 1] = 2, X[:n_rare, 1] + 20
    error_costs = 1.0 - np.eye(3)
    error_costs[:2, 2] = 5e4
    model = cls(0.001, error_costs=error_costs, random_state=0).fit(X, y)
    assert model.features_used(X)[:n_rare, 1].all()
    assert (model.predict(X)[:n_rare] == 2).all()


@BOTH
def test_one_of_two_classes_has_a_single_row(cls):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12_000, 2)), np.zeros(12_000, int)
    y[0], X[0] = 1, 3.0
    assert np.isfinite(cls(0.001, random_state=0).fit(X, y).validated_losses_).all()


def test_a_part_of_the_rows_has_a_share_of_each_class_and_the_least_number():
    y = np.repeat([0, 1, 2], [5000, 40, 3])
    for seed in range(3):
        part = stratified_part(y, 3, 10, 8, seed)
        assert np.bincount(y[part]).tolist() == [500, 8, 3]
        assert np.bincount(y[stratified_part(y, 3, 10, 1, seed)]).tolist() == [500, 4, 1]


@pytest.mark.parametrize(("lam", "unequal"), [(0.004, True), (0.02, False)])
def test_the_selection_is_that_of_a_plain_one(lam, unequal):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::3, [0, 1, 4, 7, 20, 21, 24, 27]], y[::3]
    costs = [1.0, 2.0, 1.0, 3.0, 2.0, 1.0, 0.5, 1.0] if unequal else [1.0] * 8
    error_costs = np.array([[0.0, 4.0], [1.0, 0.0]]) if unequal else 1 - np.eye(2)
    model = PanelClassifier(lam, costs=costs, error_costs=error_costs, random_state=3).fit(X, y)
    fold = class_folds(y, 2, 5, np.random.RandomState(3))
    order, losses = plain_forward_selection(X, y, fold, lam, costs, error_costs)
    assert model.order_.tolist() == order
    np.testing.assert_allclose(model.validated_losses_, losses, atol=1e-12)
    assert len(model.panel_) == np.argmin(losses)
    assert 1 <= len(model.panel_) < len(order)


def test_all_rows_have_the_answers_of_bayes():
    X, y = known_table()
    model = PanelClassifier(0.0, error_costs=ERROR_COSTS, random_state=0).fit(X, y)
    joint = joint_shares()
    assert sorted(model.panel_) == ["x0", "x1", "x2"]
    np.testing.assert_allclose(model.predict_proba(CELLS), joint / joint.sum(axis=1, keepdims=True), atol=0.01)
    np.testing.assert_array_equal(model.predict(CELLS), (joint @ ERROR_COSTS.T).argmin(axis=1))


def test_uninformative_features_are_not_acquired_and_informative_ones_are_although_the_answer_stays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (rng.random(600) < 1 / (1 + np.exp(4.0 - X[:, 3] - X[:, 4]))).astype(int)  # 4 % are 1
    model = PanelClassifier(1e-5, random_state=0).fit(X, y)
    assert set(model.order_[:2].tolist()) == {3, 4}
    assert PanelClassifier(0.02, random_state=0).fit(X, rng.permutation(y)).panel_ == []


@BOTH
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.one_in(4)
def test_no_rule_is_broken(cls, variant):
    X, y = informative(n=120, missing=True)
    data = fsgym.Dataset(X, y)
    options: dict[str, Any] = VARIANTS[variant] | {"lam": 1e-4}
    rules = Rules.for_dataset(data, **options)
    model = cls(random_state=0, **options).fit(X, y)
    result = fsgym.evaluate(model, data, rules=rules)
    assert result.admissible == 1
    assert result.n_acquisitions > 0
    used = model.features_used(X)
    assert not (used & np.isnan(X)).any()
    corrupted = np.where(used | np.isnan(X), X, 1e30)
    np.testing.assert_array_equal(model.predict(corrupted), model.predict(X))
    np.testing.assert_array_equal(model.features_used(corrupted), used)
    order = model.order_.tolist()
    if rules.prerequisites is not None:
        for place, j in enumerate(order):
            assert set(np.flatnonzero(rules.prerequisites[j])) <= set(order[:place])


@BOTH
def test_a_value_without_its_prerequisite_is_not_used(cls):
    X, y = informative()
    X[::4, 0] = np.nan
    model = cls(1e-6, prerequisites={"x5": ["x0"]}, random_state=0).fit(X, y)
    used = model.features_used(X)
    assert used[1, 5]
    assert not used[::4, 5].any()


@BOTH
def test_a_path_is_separate_fits(cls):
    X, y = informative(n=150, missing=True)
    lams = [0.0, 0.01, 0.05, 1.0]
    options: dict[str, Any] = {"costs": [1, 2, 1, 1, 1, 0.5], "prerequisites": NEEDS, "random_state": 1}
    models = cls(9.0, **options).path(X, y, lams)
    for lam, model in zip(lams, models, strict=True):
        other = cls(lam, **options).fit(X, y)
        assert model.order_.tolist() == other.order_.tolist()
        np.testing.assert_array_equal(model.validated_losses_, other.validated_losses_)
        np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
        assert (model.lam, model.rules_.lam) == (lam, lam)
    sizes = [m.features_used(X).sum() for m in models]
    assert sizes[0] > sizes[2] > sizes[3] == 0
    with pytest.raises(ValueError, match="'lam' parameter"):
        cls().path(X, y, [0.1, -1.0])


def test_the_panel_of_the_user_in_a_legal_order():
    X, y = informative()
    model = PanelClassifier(panel=["x2", 3, "x0", "x1"], prerequisites=NEEDS).fit(X, y)
    assert model.panel_ == ["x3", "x0", "x1", "x2"]
    assert model.features_used(X)[0].tolist() == [True] * 4 + [False] * 2
    assert len(model.validated_losses_) == 5
    assert PanelClassifier(panel=[]).fit(X, y).panel_ == []
    grouped = PanelClassifier(panel=[1], groups=[[0, 3], [5, 2], [1, 4]]).fit(X, y)
    assert np.flatnonzero(grouped.features_used(X)[0]).tolist() == [2, 5]


@pytest.mark.parametrize(
    ("kind", "match", "options"),
    [
        (ValueError, "unknown acquisition 'age'", {"panel": ["age"]}),
        (ValueError, "once, got 'x1' twice", {"panel": ["x1", 1]}),
        (ValueError, "indices from 0 to 5, got 6", {"panel": [6]}),
        (TypeError, "names or indices of acquisitions, got 0.5", {"panel": [0.5]}),
        (ValueError, "'x2' needs x0, x1; add", {"panel": ["x2"], "prerequisites": NEEDS}),
        (ValueError, "its 3 acquisitions are not", {"panel": [0, 1, 2], "budget": 2}),
        (ValueError, "its 2 acquisitions are not", {"panel": [0, 1], "budget_cost": 1.5}),
        (ValueError, "missing='error' does not allow", {"missing": "error"}),
    ],
)
def test_mistakes_are_refused_in_a_sentence(kind, match, options):
    X, y = informative(missing="missing" in options)
    refused(kind, match, X, y, call=PanelClassifier(**options).fit)


@BOTH
def test_probabilities_at_any_state(cls):
    X, y = informative(missing=True)
    model = cls(1e-4, random_state=0).fit(X, y)
    used = model.features_used(X)
    np.testing.assert_array_equal(model.probabilities_at(X, used), model.predict_proba(X))
    nothing = model.probabilities_at(X, np.zeros_like(used))
    complete = ~np.isnan(X).any(axis=1)
    np.testing.assert_allclose(nothing[complete], np.tile(np.bincount(y) / len(y), (complete.sum(), 1)), atol=1e-4)
    some = np.random.default_rng(0).random(used.shape) < 0.5
    other = np.where(some | np.isnan(X), X, 7.0)
    np.testing.assert_array_equal(model.probabilities_at(other, some), model.probabilities_at(X, some))
    refused(ValueError, "acquired must have shape", X, used[:2], call=model.probabilities_at)
    refused(TypeError, "mask of booleans", X, used.astype(int), call=model.probabilities_at)


def test_of_many_candidates_those_with_the_best_scores_are_validated(monkeypatch):
    X, y = informative(n=200, n_features=10)
    whole = PanelClassifier(0.002, random_state=0).fit(X, y)
    monkeypatch.setattr(forward_selection, "STEP_OPERATIONS", 1.0)
    few = PanelClassifier(0.002, random_state=0).fit(X, y)
    assert few.order_[:2].tolist() == whole.order_[:2].tolist()
    assert abs(few.validated_losses_.min() - whole.validated_losses_.min()) < 0.03


def test_large_tables_are_sampled_for_the_selection(monkeypatch):
    X, y = informative(n=400)
    monkeypatch.setattr("baselines.subset_models.LEAST_ROWS", 150)
    monkeypatch.setattr("baselines.subset_models.MAX_SELECTION_SHARES", 0)
    model = PanelClassifier(0.01, random_state=0).fit(X, y)
    assert {"x0", "x5"} <= set(model.panel_)
    assert model.score(X, y) > 0.75


def test_groups_may_name_columns_of_a_frame():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["wbc", "hgb", "crp"])
    y = (frame["wbc"] > 0).astype(int)
    model = PanelClassifier(groups={"blood": ["wbc", "hgb"]}, panel=["blood"]).fit(frame, y)
    assert list(model.panel_) == ["blood"]
    assert model.features_used(frame)[0].tolist() == [True, True, False]
