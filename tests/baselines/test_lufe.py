"""LUFe: rankings against plain implementations, roles of features, usage, the weight search, estimator checks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.feature_selection import f_classif, mutual_info_classif
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from baselines import LUFeClassifier, LUFeCV, SVMPlusClassifier
from baselines.lufe.order import SELECTORS, anova, best_first, feature_order
from baselines.lufe.search import best_weight_pair

SMALL = {"lam1s": [0.1, 10.0], "lam2s": [0.1, 1.0], "cv": 2, "random_state": 0}


def topics(n: int = 60, d: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Word counts of two topics, with words that never occur."""
    rng = np.random.default_rng(seed)
    words, y = rng.dirichlet(np.full(d, 0.1), 2), rng.integers(0, 2, n)
    return rng.poisson(60 * (0.7 * words.mean(axis=0) + 0.3 * words[y])).astype(float), y


def scale_to_unit_range(X: np.ndarray) -> np.ndarray:
    return 2 * (X - X.min(axis=0)) / np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1) - 1


TABLES = {"binary": load_breast_cancer(return_X_y=True), "three": load_wine(return_X_y=True), "text": topics()}
every_table = pytest.mark.parametrize("table", TABLES)
every_selector = pytest.mark.parametrize("selector", SELECTORS)


@parametrize_with_checks([LUFeCV(selector="anova", **SMALL | {"lam1s": [1.0]})])
@pytest.mark.one_in(4)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def plain_elimination(X: np.ndarray, y: np.ndarray, n_selected: int, step: float) -> list[int]:
    remaining, dropped = list(range(X.shape[1])), []
    while True:
        weights = np.square(SVC(kernel="linear", tol=1e-6).fit(X[:, remaining], y).coef_).sum(axis=0)
        ranked = [remaining[j] for j in np.argsort(-weights, kind="stable")]
        if len(remaining) <= n_selected:
            return ranked + dropped
        n_left = max(n_selected, len(remaining) - max(1, int(step * len(remaining))))
        remaining, dropped = sorted(ranked[:n_left]), ranked[n_left:] + dropped


@pytest.mark.parametrize(("n_selected", "step"), [(5, 0.1), (5, 0.5), (29, 0.1), (1, 0.9)])
def test_elimination_is_a_new_svm_in_every_round(n_selected, step):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale_to_unit_range(X[:120])
    order = feature_order(X, y[:120], "rfe", n_selected, step=step)
    np.testing.assert_array_equal(order, plain_elimination(X, y[:120], n_selected, step))


@pytest.mark.slow
def test_elimination_works_on_badly_scaled_data():
    X, y = load_breast_cancer(return_X_y=True)
    order = feature_order(X, y, "rfe", 5)
    assert sorted(order) == list(range(30))
    assert (
        SVC(kernel="linear")
        .fit(scale_to_unit_range(X)[:, order[:5]], y)
        .score(X=scale_to_unit_range(X)[:, order[:5]], y=y)
        > 0.85
    )
    model = LUFeClassifier(5, scaling=None).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), np.sort(order[:5]))
    assert (
        model.status_ == "no signal"
    )  # w = 0 is optimal on these five: test_no_signal.py compares with a linear program
    assert model.score(X, y) == (y == 1).mean()


def test_scores_are_those_of_their_definitions():
    X, y = TABLES["text"]
    X, n = X[:, X.any(axis=0)], len(y)
    H = np.eye(n) - 1 / n
    signs = np.where(y == 1, 1.0, -1.0)
    K_of = lambda j: np.outer(X[:, j], X[:, j])  # noqa: E731
    dependence = [np.trace(K_of(j) @ H @ np.outer(signs, signs) @ H) / (n - 1) ** 2 for j in range(X.shape[1])]
    V = np.linalg.svd(X, full_matrices=False)[2][:7]
    expected = {
        "anova": f_classif(X, y)[0],
        "hsic": np.array(dependence),
        "leverage": np.square(V).sum(axis=0),
    }
    for selector, scores in expected.items():
        order = feature_order(X, y, selector, 7)
        sorted_scores = scores[order]
        assert np.all(np.diff(sorted_scores) <= 1e-6 * np.abs(scores).max()), selector
        for form in (sp.csr_array, sp.csr_matrix):
            np.testing.assert_array_equal(order, feature_order(form(X), y, selector, 7))
    np.testing.assert_allclose(anova(X, y), expected["anova"], rtol=1e-9)


def test_mutual_information_is_that_of_scikit_learn():
    X, y = load_wine(return_X_y=True)
    scores = mutual_info_classif(X, y, random_state=4)
    np.testing.assert_array_equal(feature_order(X, y, "mutual_info", 3, random_state=4), best_first(scores))


def test_ties_and_constant_columns_are_settled():
    np.testing.assert_array_equal(best_first(np.array([1.0, np.nan, 1.0 + 1e-12, 3.0, np.inf])), [4, 3, 0, 2, 1])
    X = np.array([[0, 1, 5, 0], [1, 1, 5, 1], [0, 1, 5, 0], [1, 1, 5, 1]], dtype=float)
    np.testing.assert_array_equal(feature_order(X, np.array([0, 1, 0, 1]), "anova", 2), [0, 3, 1, 2])


@every_selector
@every_table
def test_every_feature_has_a_rank_and_a_role(table, selector):
    X, y = TABLES[table]
    if selector == "mutual_info" and table == "text":
        X = X[:, :40]
    model = LUFeClassifier(7, selector=selector, secondary_fraction=0.3, random_state=0).fit(X, y)
    d = X.shape[1]
    assert sorted(model.ranking_) == list(range(1, d + 1))
    np.testing.assert_array_equal(model.support_, model.ranking_ <= 7)
    n_secondary = int(np.ceil(0.3 * (d - 7)))
    best_of_others = np.flatnonzero((model.ranking_ > 7) & (model.ranking_ <= 7 + n_secondary))
    np.testing.assert_array_equal(model.secondary_features_, best_of_others)
    n_models = 1 if len(np.unique(y)) == 2 else len(np.unique(y))
    assert model.coef_.shape == (n_models, 7)
    assert model.coef_unselected_.shape == (n_models, n_secondary)
    np.testing.assert_array_equal(model.transform(X), X[:, model.support_])


@every_table
def test_corrupting_what_is_not_used_changes_nothing(table):
    X, y = TABLES[table]
    model = LUFeClassifier(3).fit(X, y)
    used, answers = model.features_used(X), model.predict(X)
    assert used.sum() == 3 * len(X)
    corrupted = np.where(used, X, np.random.default_rng(0).uniform(-1e300, 1e300, X.shape))
    np.testing.assert_array_equal(model.predict(corrupted), answers)
    np.testing.assert_array_equal(model.features_used(corrupted), used)


def test_it_is_svm_plus_on_the_two_roles():
    X, y = TABLES["binary"]
    scaled = scale_to_unit_range(X)
    model = LUFeClassifier(4, lam1=0.2, lam2=3.0).fit(X, y)
    selected = model.support_
    plus = SVMPlusClassifier(0.2, 3.0).fit(scaled[:, selected], y, X_privileged=scaled[:, ~selected])
    assert model.objective_ == pytest.approx(plus.objective_, rel=1e-8)
    np.testing.assert_allclose(model.coef_, plus.coef_, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), plus.decision_function(scaled[:, selected]), atol=1e-6)


@pytest.mark.parametrize("scaling", ["range", None])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("selector", ["rfe", "anova", "hsic", "leverage", "mutual_info"])
@pytest.mark.one_in(2)
def test_sparse_is_dense(selector, intercept, scaling):
    X, y = TABLES["text"]
    X = X[:, :60] if selector == "mutual_info" else X
    base = LUFeClassifier(
        15, selector=selector, fit_intercept_unselected=intercept, scaling=scaling, lam2=0.5, random_state=0
    )
    dense, sparse = clone(base).fit(X, y), clone(base).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(sparse.ranking_, dense.ranking_)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-7)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), dense.predict(X))
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-3)
    assert sp.issparse(sparse.transform(sp.csr_array(X)))


@pytest.mark.parametrize("secondary", ["random", "identity"])
def test_controls_do_not_use_the_unselected_features(secondary):
    X, y = TABLES["text"]
    scores = np.arange(200.0, 0.0, -1.0)
    model = LUFeClassifier(20, selector=scores, secondary=secondary, lam2=0.5, random_state=0)
    first = clone(model).fit(X, y)
    shuffled = X.copy()
    shuffled[:, 20:] = np.random.default_rng(0).permutation(X[:, 20:].ravel()).reshape(60, 180)
    np.testing.assert_array_equal(clone(model).fit(shuffled, y).coef_, first.coef_)
    assert first.coef_unselected_.shape == (1, {"random": 180, "identity": 60}[secondary])
    assert not len(first.secondary_features_)
    fewer = clone(model).set_params(secondary_fraction=0.5).fit(X, y)
    assert fewer.coef_unselected_.shape == (1, {"random": 90, "identity": 60}[secondary])


def test_identity_is_the_ridge_and_hinge_svm_and_random_comes_near_it():
    X, y = TABLES["text"]
    scores = np.arange(200.0, 0.0, -1.0)
    base = LUFeClassifier(20, selector=scores, lam2=0.5, secondary="identity", fit_intercept_unselected=False)
    signs = np.where(y == 1, 1, -1)
    plus = SVMPlusClassifier(1.0, 0.5, False).fit(
        X[:, :20] * clone(base).fit(X, y).scaling_.scale[:20], signs, X_privileged=np.eye(60)
    )
    np.testing.assert_allclose(clone(base).fit(X, y).coef_, plus.coef_, atol=1e-7)


def test_row_order_changes_no_rank_and_no_answer():
    X, y = TABLES["binary"]
    rows = np.random.default_rng(0).permutation(len(X))
    first, second = LUFeClassifier(6).fit(X, y), LUFeClassifier(6).fit(X[rows], y[rows])
    np.testing.assert_array_equal(first.ranking_, second.ranking_)
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(("given", "expected"), [(None, 15), (0.2, 6), (0.001, 1), (0.999, 29), (29, 29)])
def test_number_of_selected_features(given, expected):
    X, y = TABLES["binary"]
    assert LUFeClassifier(given, selector="anova").fit(X[:100], y[:100]).support_.sum() == expected


@every_table
def test_the_sweep_goes_from_one_feature_to_all_but_one(table):
    X, y = TABLES[table]
    for method in (LUFeClassifier(selector="anova"), LUFeCV(selector="anova")):
        before = method.get_params()
        grid = method.sparsity_grid(X, y)
        assert 5 <= len(grid) <= 12
        assert grid == method.sparsity_grid(X, y, 12)
        assert method.get_params() == before
        assert not hasattr(method, "classes_")
        numbers = [setting["n_features_to_select"] for setting in grid]
        assert numbers == sorted(set(numbers))
        assert (numbers[0], numbers[-1]) == (1, X.shape[1] - 1)
    for setting in (grid[0], grid[-1]):
        model = LUFeClassifier(selector="anova", **setting).fit(X, y)
        informative = np.unique(X[:, np.ptp(X, axis=0) > 0], axis=1).shape[1]  # distinct columns, not constant
        n_selected = min(setting["n_features_to_select"], informative)
        assert model.support_.sum() == n_selected
        one_of_thirty = table == "binary" and setting is grid[0]  # where w = 0 is optimal
        assert model.features_used(X[:1]).sum() == (0 if one_of_thirty else n_selected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features_to_select": 0}, "'n_features_to_select' parameter of LUFeClassifier"),
        ({"n_features_to_select": 1.0}, "'n_features_to_select' parameter of LUFeClassifier"),
        ({"n_features_to_select": 13}, r"below the number of features, 13, got 13"),
        ({"lam1": 0.0}, "'lam1' parameter of LUFeClassifier"),
        ({"lam2": 0.0}, "'lam2' parameter of LUFeClassifier"),
        ({"secondary": "none"}, "'secondary' parameter"),
        ({"secondary_fraction": 0.0}, "'secondary_fraction' parameter"),
        ({"secondary_fraction": 1.1}, "'secondary_fraction' parameter"),
        ({"selector": "lasso"}, "'selector' parameter of LUFeClassifier"),
        ({"selector": [1.0, 2.0]}, r"must have shape \(13,\), got \(2,\)"),
        ({"selector": [np.nan] * 13}, "must be finite"),
        ({"selector": ["a"] * 13}, "one number per feature"),
    ],
)
def test_parameters_out_of_range_are_refused_in_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        LUFeClassifier(**options).fit(*TABLES["three"])


def test_bad_tables_are_refused_in_a_sentence():
    X, y = TABLES["three"]
    with pytest.raises(ValueError, match="contains NaN"):
        LUFeClassifier().fit(np.where(X.max() - 1 < X, np.nan, X), y)
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        LUFeClassifier().fit(X, np.zeros(len(X)))
    for call in (LUFeClassifier().fit, LUFeClassifier().sparsity_grid):
        with pytest.raises(ValueError, match="needs two features or more, got n_features = 1"):
            call(X[:, :1], y)
    centred = np.random.default_rng(0).normal(size=(60, 12))
    centred -= centred.mean(axis=0)
    labels = np.arange(60) % 2
    for method in (LUFeClassifier, LUFeCV):
        with pytest.raises(ValueError, match=r"solution|no classifier meets the constraints"):
            method(3, selector="hsic", scaling=None, fit_intercept_unselected=False).fit(centred, labels)
    with pytest.raises(ValueError, match="two rows or more for folds, but class 0 has 1"):
        LUFeCV().fit(X[58:], y[58:])


@settings(max_examples=30, deadline=None)
@given(X=arrays(np.float64, (8, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_any_finite_table_can_be_learnt(X):
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    model = LUFeClassifier(tol=1e-6).fit(X, y)
    used, answers = model.features_used(X), model.predict(X)
    corrupted = np.where(used, X, -1.7e308)
    np.testing.assert_array_equal(model.predict(corrupted), answers)


@pytest.mark.parametrize("table", ["binary", "three"])
@pytest.mark.one_in(2)
def test_the_nested_search_is_a_grid_search_over_the_classifier(table):
    X, y = TABLES[table]
    X, y = X[::5, :12], y[::5]
    folds = StratifiedKFold(2, shuffle=True, random_state=1)
    weights = [1e-2, 1.0, 1e2]
    ours = LUFeCV(4, lam1s=weights, lam2s=weights, cv=folds, random_state=0).fit(X, y)
    grid = GridSearchCV(LUFeClassifier(4), {"lam1": weights, "lam2": weights}, cv=folds).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"].ravel(), grid.cv_results_["mean_test_score"])
    assert ours.best_score_ == pytest.approx(grid.best_score_)
    fitted = LUFeClassifier(4, lam1=ours.lam1_, lam2=ours.lam2_).fit(X, y)
    np.testing.assert_array_equal(ours.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(ours.support_, fitted.support_)


def test_selecting_before_the_folds_makes_the_search_optimistic():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 400)), np.arange(60) % 2
    options = {"lam1s": [1.0], "lam2s": [1.0], "selector": "anova", "random_state": 0}
    nested, outer = (LUFeCV(15, inner_selection=k, **options).fit(X, y) for k in ("nested", "outer"))
    assert nested.best_score_ < 0.65
    assert outer.best_score_ > 0.8
    np.testing.assert_array_equal(nested.support_, outer.support_)


def test_among_equals_the_largest_lam1_and_then_the_lam2_nearest_one():
    weights = np.logspace(-3, 3, 7)
    assert best_weight_pair(np.ones((7, 7)), weights, weights) == (1e3, 1.0)
    means = np.full((7, 7), np.nan)
    means[2, [0, 6]] = means[1, 3] = 0.5
    assert best_weight_pair(means, weights, weights) == (weights[2], 1e-3)


@pytest.mark.usefixtures("two_threads")
def test_the_search_does_not_depend_on_the_number_of_jobs():
    X, y = TABLES["text"]
    options = {"selector": "anova", "secondary": "random", "random_state": 0, "lam1s": [0.1, 1.0], "lam2s": [1.0]}
    with parallel_config("threading"):
        one, two = (LUFeCV(10, n_jobs=n, **options).fit(sp.csr_array(X), y) for n in (1, 2))
    np.testing.assert_array_equal(one.cv_results_["split_test_score"], two.cv_results_["split_test_score"])
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_infeasible_cells_are_left_out_of_the_search():
    X, y = TABLES["text"]
    model = LUFeCV(10, selector="anova", fit_intercept_unselected=False, lam1s=[1.0], lam2s=[1.0, 10.0]).fit(X, y)
    assert np.isfinite(model.best_score_)


@pytest.mark.parametrize("weights", [[0.0, 1.0], [np.nan], [], ["a"]])
def test_a_bad_grid_is_refused_in_a_sentence(weights):
    with pytest.raises(ValueError, match="lam1s must hold"):
        LUFeCV(lam1s=weights).fit(*TABLES["three"])


@pytest.mark.parametrize("method", [LUFeClassifier(5, selector="anova"), LUFeCV(5, selector="anova", **SMALL)])
def test_names_come_from_pandas(method):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = clone(method).fit(X, y)
    assert list(model.get_feature_names_out()) == list(X.columns[model.support_])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"alcohol": "spirit"}))
