"""The reference methods: agreement with plain solvers, sparsity grids, and models without features."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from baselines import (
    CARTClassifier,
    ForestSelectionClassifier,
    GroupLassoClassifier,
    HSICLassoClassifier,
    L1LogisticClassifier,
    L1SVMClassifier,
    LassoPathClassifier,
    MRMRClassifier,
)
from baselines.liblinear import first_C
from support.method_tables import TABLES, honest_usage, one_hot

METHODS = [L1SVMClassifier(random_state=0), LassoPathClassifier(), CARTClassifier(random_state=0)]
WITHOUT_FEATURES = [
    L1SVMClassifier(1e-9),
    LassoPathClassifier(1.0),
    CARTClassifier(1.0),
    L1LogisticClassifier(1e-9),
    GroupLassoClassifier(1.0),
    ForestSelectionClassifier(0),
    MRMRClassifier(0),
    HSICLassoClassifier(0),
]
name_of = lambda method: type(method).__name__  # noqa: E731
every_method = pytest.mark.parametrize("method", METHODS, ids=name_of)
every_table = pytest.mark.parametrize("table", TABLES)


@every_table
@every_method
@pytest.mark.one_in(3)
def test_sparsity_grid_goes_from_no_feature_to_nearly_all_and_unused_features_have_no_effect(method, table):
    X, y = TABLES[table]
    grid = method.sparsity_grid(X, y)
    used = [honest_usage(clone(method).set_params(**setting).fit(X, y), X) for setting in grid]
    counts = [u.sum(axis=1).mean() for u in used]
    assert counts[0] == 0
    assert max(counts[1:4]) > 0
    assert np.all(np.diff(counts) >= -0.12 * max(counts))
    assert counts[-1] >= 0.9 * max(counts)
    varying = (np.ptp(X, axis=0) > 0).sum()
    if table in ("binary", "three"):
        most = {LassoPathClassifier: 1.0, L1SVMClassifier: 0.5, CARTClassifier: 0.05}[type(method)]
        assert counts[-1] >= most * varying


@pytest.mark.parametrize("method", WITHOUT_FEATURES, ids=name_of)
@every_table
def test_a_model_without_features_predicts_the_largest_class(method, table):
    X, y = TABLES[table]
    labels, sizes = np.unique(y, return_counts=True)
    model = clone(method).fit(X, y)
    assert not model.features_used(X).any()
    assert set(model.predict(np.full_like(X, 1e200))) == {labels[sizes.argmax()]}


@pytest.mark.parametrize("table", ["binary", "three", "wide"])
@pytest.mark.parametrize(("C", "fit_intercept"), [(0.3, True), (1.0, True), (1.0, False)])
def test_l1_svm_scores_are_those_of_a_liblinear_pipeline(table, C, fit_intercept):
    X, y = TABLES[table]
    options = {"intercept_scaling": 10.0, "max_iter": 200_000, "random_state": 3, "fit_intercept": fit_intercept}
    machine = LinearSVC(C=C, penalty="l1", dual=False, **options)
    plain = make_pipeline(MinMaxScaler((-1, 1)), machine).fit(X, y)
    model = L1SVMClassifier(C, random_state=3, fit_intercept=fit_intercept).fit(X, y)
    assert model.coef_.any()
    assert model.intercept_.any() == fit_intercept
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(model.features_used(X)[0], (plain[-1].coef_ != 0).any(axis=0))


@pytest.mark.parametrize("method", [L1SVMClassifier(random_state=0), LassoPathClassifier()], ids=name_of)
@pytest.mark.parametrize("scaling", [MinMaxScaler((-1, 1)), StandardScaler()], ids=["range", "standard"])
def test_features_are_scaled_as_the_parameter_says_or_not_at_all(method, scaling):
    """Without intercept a shift matters, too."""
    X, y = TABLES["binary"]
    plain = clone(method).set_params(scaling=None, fit_intercept=False)
    named = clone(plain).set_params(scaling="range" if isinstance(scaling, MinMaxScaler) else "standard").fit(X, y)
    Z = scaling.fit_transform(X)
    scores = plain.fit(Z, y).decision_function(Z)
    np.testing.assert_allclose(named.decision_function(X), scores, atol=1e-6)
    assert np.abs(scores - plain.fit(X, y).decision_function(X)).max() > 1e-3


@pytest.mark.parametrize("intercept_scaling", [0.0, 0.3, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("table", ["binary", "wide"])
def test_the_smallest_C_that_uses_a_feature_is_exact(table, intercept_scaling):
    X, y = TABLES[table]
    X, y = X[10:], y[10:]
    Z, target = MinMaxScaler((-1, 1)).fit_transform(X), np.where(y == np.unique(y)[1], 1.0, -1.0)
    first = first_C(Z, target, intercept_scaling)
    setting = {"intercept_scaling": intercept_scaling} if intercept_scaling else {"fit_intercept": False}
    for share, some in ((0.98, False), (1.02, True)):
        model = L1SVMClassifier(share * first, **setting, tol=1e-8, random_state=0)
        assert model.fit(X, y).coef_.any() == some


@pytest.mark.parametrize("table", ["binary", "three", "constant columns", "wide"])
@pytest.mark.parametrize(
    "setting",
    [{"alpha": 0.3}, {"alpha": 0.02}, {"alpha": 0.0, "max_features": 5}, {"alpha": 0.1, "fit_intercept": False}],
)
@pytest.mark.one_in(2)
def test_lasso_coefficients_are_those_of_an_independent_solver(table, setting):
    X, y = TABLES[table]
    model = LassoPathClassifier(**setting).fit(X, y)
    Z = MinMaxScaler((-1, 1)).fit_transform(X)
    Z[:, np.ptp(X, axis=0) == 0] = 0
    rows = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    for k, label in enumerate(rows):
        target = np.where(y == label, 1.0, -1.0)
        solver = Lasso(alpha=model.alpha_, fit_intercept=model.fit_intercept, tol=1e-13, max_iter=100_000)
        solver.fit(Z, target)
        np.testing.assert_allclose(model.coef_[k], solver.coef_, atol=1e-6)
        np.testing.assert_allclose(model.intercept_[k], solver.intercept_, atol=1e-6)


def test_lasso_is_optimal_on_dependent_columns_for_which_lars_fails():
    X, y = one_hot(n=4000, seed=5)
    model = LassoPathClassifier(alpha=0.005).fit(X, y)
    Z = 2 * X - 1
    targets = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    pull = Z.T @ (targets - Z @ model.coef_.T - model.intercept_) / len(Z)
    slack = 2e-3 * model.alpha_max_
    assert np.abs(pull).max() <= model.alpha_ + slack
    active = model.coef_.T != 0
    np.testing.assert_allclose(pull[active], model.alpha_ * np.sign(model.coef_.T[active]), atol=slack)
    assert model.score(X, y) > 0.7


@every_table
@pytest.mark.one_in(4)
def test_lasso_respects_max_features_and_shrinks_as_little_as_possible(table):
    X, y = TABLES[table]
    used = [LassoPathClassifier(0.0, max_features=k).fit(X, y).features_used(X[:1]).sum() for k in range(9)]
    assert all(n <= k for k, n in enumerate(used))
    assert used[0] == 0
    assert used[-1] >= 6


def test_lasso_at_the_end_of_its_path_is_least_squares():
    X, y = TABLES["binary"]
    model = LassoPathClassifier(alpha=0.0).fit(X, y)
    fitted = np.column_stack([np.ones(len(X)), MinMaxScaler((-1, 1)).fit_transform(X)])
    best = np.linalg.lstsq(fitted, 2.0 * y - 1, rcond=None)[0]
    np.testing.assert_allclose(model.decision_function(X), fitted @ best, atol=1e-6)


def test_lasso_selects_no_feature_without_correlation():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 3)
    model = LassoPathClassifier(alpha=0.0).fit(X, (X[:, 0] != X[:, 1]).astype(int))
    assert model.alpha_max_ < 1e-12
    assert not model.features_used(X).any()


@pytest.mark.parametrize("table", ["binary", "three", "wide"])
@pytest.mark.parametrize("ccp_alpha", [0.0, 0.01, 0.05])
def test_cart_is_the_pruned_tree_and_its_usage_the_path(table, ccp_alpha):
    X, y = TABLES[table]
    plain = DecisionTreeClassifier(ccp_alpha=ccp_alpha, random_state=0).fit(X, y)
    model = CARTClassifier(ccp_alpha, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    tree, used = plain.tree_, model.features_used(X)
    for row in range(0, len(X), 7):
        node, on_path = 0, set()
        while tree.children_left[node] >= 0:
            feature = tree.feature[node]
            on_path.add(int(feature))
            left = np.float32(X[row, feature]) <= tree.threshold[node]
            node = (tree.children_left if left else tree.children_right)[node]
        assert set(np.flatnonzero(used[row])) == on_path
    if ccp_alpha == 0.0:
        assert len(np.unique(used.sum(axis=1))) > 1


@pytest.mark.parametrize(
    ("estimator", "word"),
    [
        (L1SVMClassifier(C=0.0), "'C' parameter of L1SVMClassifier"),
        (L1SVMClassifier(C=np.inf), "'C' parameter of L1SVMClassifier"),
        (L1SVMClassifier(max_iter=0), "'max_iter' parameter"),
        (LassoPathClassifier(alpha=1.5), "'alpha' parameter of LassoPathClassifier"),
        (LassoPathClassifier(alpha=np.nan), "'alpha' parameter of LassoPathClassifier"),
        (LassoPathClassifier(max_features=-1), "'max_features' parameter"),
        (CARTClassifier(ccp_alpha=-1.0), "'ccp_alpha' parameter of CARTClassifier"),
        (CARTClassifier(max_depth=0), "'max_depth' parameter"),
    ],
)
def test_parameters_out_of_range_are_refused_in_a_sentence(estimator, word):
    with pytest.raises(ValueError, match=word):
        estimator.fit(*TABLES["three"])


def test_l1_svm_warns_if_it_did_not_converge():
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="iterations"):
        L1SVMClassifier(C=100.0, max_iter=2, random_state=0).fit(*TABLES["binary"])
