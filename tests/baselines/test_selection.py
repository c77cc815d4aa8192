"""The methods that select features for a classifier: sparsity grids, and comparison with plain implementations."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from baselines import (
    ForestSelectionClassifier,
    GroupLassoClassifier,
    HSICLassoClassifier,
    L1LogisticClassifier,
    LassoPathClassifier,
    MRMRClassifier,
)
from baselines.hsic_lasso import class_kernel, feature_kernels, normalised_kernels
from baselines.liblinear import first_C
from baselines.mrmr import in_bins
from baselines.sparse_group_lasso.classifier import lambda_max, solve_logistic
from baselines.sparse_group_lasso.groups import make_groups
from baselines.sparse_group_lasso.penalty import Penalty
from support.method_tables import TABLES, honest_usage
from support.sgl_problems import X8, Y8, subdifferential_distance

RANKED = [
    ForestSelectionClassifier(n_estimators=10, random_state=0),
    MRMRClassifier(),
    HSICLassoClassifier(random_state=0),
]
LINEAR = [L1LogisticClassifier(random_state=0), GroupLassoClassifier()]
name_of = lambda method: type(method).__name__  # noqa: E731
every_method = pytest.mark.parametrize("method", RANKED + LINEAR, ids=name_of)
every_table = pytest.mark.parametrize("table", TABLES)


@every_table
@every_method
@pytest.mark.one_in(2)
def test_sparsity_grid_starts_from_no_feature_and_unused_features_have_no_effect(method, table):
    X, y = TABLES[table]
    grid = method.sparsity_grid(X, y)
    counts = []
    for setting in grid[::3]:
        used = honest_usage(clone(method).set_params(**setting).fit(X, y), X)
        assert (used == used[0]).all()
        assert not used[0, np.ptp(X, axis=0) == 0].any()
        counts.append(used[0].sum())
    assert counts[0] == 0
    assert counts[-1] >= 3
    assert (np.diff(counts) >= -1).all()


@every_method
def test_bad_settings_are_refused_in_a_sentence(method):
    X = np.arange(12.0).reshape(6, 2)
    knob = next(iter(method.sparsity_grid(*TABLES["three"])[0]))
    with pytest.raises(ValueError, match=f"'{knob}' parameter of {name_of(method)}"):
        clone(method).set_params(**{knob: -1}).fit(X, [0, 1] * 3)


# --- random forest ---


@pytest.mark.usefixtures("two_threads")
def test_forest_is_two_forests_of_scikit_learn():
    X, y = TABLES["binary"]
    Z = MinMaxScaler((-1, 1)).fit_transform(X)
    first = RandomForestClassifier(20, random_state=3).fit(Z, y)
    best = np.argsort(-first.feature_importances_)[:6]
    second = RandomForestClassifier(20, random_state=3).fit(Z[:, best], y)
    model = ForestSelectionClassifier(6, n_estimators=20, random_state=3).fit(X, y)
    np.testing.assert_array_equal(model.ranking_, best)
    np.testing.assert_array_equal(model.predict(X), second.predict(Z[:, best]))
    threads = ForestSelectionClassifier(6, n_estimators=20, random_state=3, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), threads.predict(X))


def test_a_column_without_a_split_is_not_used():
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.r_[np.zeros(39), 1.0]])
    model = ForestSelectionClassifier(2, n_estimators=1, min_samples_leaf=5, random_state=0).fit(X, X[:, 0])
    assert model.ranking_.tolist() == [0, 1]
    assert model.features_used(X[:1]).tolist() == [[True, False]]


# --- mRMR ---


def plain_mrmr(bins, y, k):
    relevance = cache(lambda j: mutual_info_score(bins[:, j], y))
    redundancy = cache(lambda j, i: mutual_info_score(bins[:, j], bins[:, i]))
    chosen = []
    for _ in range(k):
        score = {
            j: relevance(j) - (np.mean([redundancy(j, i) for i in chosen]) if chosen else 0.0)
            for j in range(bins.shape[1])
            if j not in chosen
        }
        chosen.append(min(score, key=lambda j: (-round(score[j], 10), j)))
    return chosen


@pytest.mark.one_in(3)
@pytest.mark.parametrize("table", ["binary", "three", "wide"])
@pytest.mark.parametrize("n_bins", [2, 5])
def test_mrmr_is_the_rule_of_the_paper(table, n_bins):
    X, y = TABLES[table]
    bins = in_bins(X, n_bins)
    assert bins.max() == n_bins - 1
    assert np.bincount(bins[:, 0]).max() <= 2 * len(X) / n_bins
    model = MRMRClassifier(8, n_bins=n_bins).fit(X, y)
    assert model.ranking_.tolist() == plain_mrmr(bins, y, 8)


def test_mrmr_does_not_select_copies_and_uses_the_given_classifier():
    X, y = TABLES["binary"]
    twice = np.hstack([X, X])
    first = MRMRClassifier(5, classifier=SVC(C=100.0)).fit(twice, y)
    assert len({j % 30 for j in first.ranking_.tolist()}) == 5
    Z = MinMaxScaler((-1, 1)).fit_transform(X)[:, first.ranking_]
    np.testing.assert_array_equal(first.predict(twice), SVC(C=100.0).fit(Z, y).predict(Z))


# --- HSIC Lasso ---


def test_hsic_kernels_are_centred_and_their_products_are_hsic():
    rng = np.random.default_rng(0)
    Z, codes = rng.normal(size=(30, 4)), rng.integers(0, 2, 30)
    H = np.eye(30) - 1 / 30
    flat, target = normalised_kernels(feature_kernels(Z)), normalised_kernels(class_kernel(codes)[None])[0]
    L = np.where(codes[:, None] == codes, 1.0 / np.array([sum(codes == c) for c in codes]), 0.0)
    L = H @ L @ H
    for j in range(4):
        K = H @ np.exp(-((Z[:, [j]] - Z[:, j]) ** 2) / 2) @ H
        assert flat[j] @ target == pytest.approx(np.trace(K @ L) / np.linalg.norm(K) / np.linalg.norm(L), abs=1e-12)
        assert flat[j] @ flat[j] == pytest.approx(1.0)


def test_hsic_lasso_enters_by_relevance_and_ends_at_non_negative_least_squares():
    X, y = TABLES["three"]
    y = (y == 0).astype(int)
    Z = X / X.std(axis=0)
    K, t = normalised_kernels(feature_kernels(Z)), normalised_kernels(class_kernel(y)[None])[0]
    model = HSICLassoClassifier(13, block=None).fit(X, y)
    assert model.ranking_[0] == (K @ t).argmax()
    end = nnls(K.T, t)[0]
    assert set(np.flatnonzero(end > 1e-9)) <= set(model.ranking_.tolist())
    blocks = HSICLassoClassifier(3, random_state=0).fit(X, y)
    assert len(set(blocks.ranking_.tolist()) & set(model.ranking_[:5].tolist())) == 3


def test_hsic_lasso_finds_a_nonlinear_dependence():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(300, 10))
    y = (np.abs(X[:, 3]) > 0.5).astype(int)
    assert HSICLassoClassifier(1, random_state=0).fit(X, y).selected_.tolist() == [3]


# --- logistic regression ---


@pytest.mark.parametrize("intercept_scaling", [0.3, 1.0, 10.0])
@pytest.mark.parametrize("table", ["binary", "wide"])
def test_the_smallest_C_that_uses_a_feature_is_exact(table, intercept_scaling):
    X, y = TABLES[table]
    X, y = X[10:], y[10:]
    Z, target = StandardScaler().fit_transform(X), np.where(y == np.unique(y)[1], 1.0, -1.0)
    first = 4.0 * first_C(Z, target, intercept_scaling)
    for share, some in ((0.98, False), (1.02, True)):
        model = L1LogisticClassifier(share * first, intercept_scaling=intercept_scaling, tol=1e-8, random_state=0)
        assert model.fit(X, y).coef_.any() == some


def test_l1_logistic_satisfies_its_optimality_conditions():
    X, y = TABLES["three"]
    model = L1LogisticClassifier(0.5, tol=1e-8, random_state=0).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    for k, label in enumerate(model.classes_):
        residual = (y == label) - 1.0 / (1.0 + np.exp(-Z @ model.coef_[k] - model.intercept_[k]))
        pull = 0.5 * Z.T @ residual
        inside = model.coef_[k] != 0
        np.testing.assert_allclose(pull[inside], np.sign(model.coef_[k][inside]), atol=1e-3)
        assert np.abs(pull[~inside]).max() <= 1.001


# (lam1, lam2, weights), objective, coefficients, b; by an interior-point solver (cvxpy 1.9, Clarabel, 1e-12).
WORKED = [
    ((0.2, 0.2, "ones"), 2.32204999916, [1.09347889, 0.53929074, 2.05054271, -0.50701044, 0, 0], -0.86556629),
    ((0, 0.5, "ones"), 2.45691420621, [0.93562971, 0.45324519, 1.86213709, -0.73657983, 0, 0], -0.70490883),
    ((0.5, 0, "ones"), 2.84940816808, [0.96249017, 0.4427983, 1.82397544, -0.27766238, 0, 0], -0.80341674),
    ((0.1, 0.3, "sqrt"), 2.61943445918, [0.89184325, 0.41683459, 1.78180047, -0.66462714, 0, 0], -0.68102658),
    ((0.02, 0.02, "ones"), 0.41869126210, [2.7612706, 1.68328507, 4.51501357, -0.1745809, 0, 0], -2.22528895),
    ((2, 2, "ones"), 5.54517744452, [0, 0, 0, 0, 0, 0], 0),
]  # fmt: skip


@pytest.mark.parametrize(("penalties", "objective", "coefficients", "b"), WORKED)
def test_group_logistic_worked_values(penalties, objective, coefficients, b):
    lam1, lam2, weights = penalties
    y = (Y8 + 1) / 2
    groups = make_groups(2, weights, 6)
    found = solve_logistic(X8, y, lam1, lam2, groups, tol=1e-12)
    eta = X8 @ found.w + found.b
    value = np.logaddexp(0, eta).sum() - y @ eta + Penalty(lam1, lam2, groups).value(found.w)
    assert value == pytest.approx(objective, abs=1e-9)
    np.testing.assert_allclose(found.w, coefficients, atol=1e-6)
    assert found.b == pytest.approx(b, abs=1e-6)


@pytest.mark.parametrize("tau", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("n", "d", "share"), [(60, 12, 0.3), (60, 12, 0.01), (30, 60, 0.1), (30, 60, 0.005)])
def test_group_logistic_is_optimal_and_its_gap_is_a_bound(n, d, share, tau):
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] - X[:, 5] + rng.normal(size=n) > 0.3).astype(float)
    groups = make_groups(rng.permutation(np.repeat(np.arange(d // 3), 3)), "sqrt", d)
    lam = share * lambda_max(X, y, tau, groups)
    penalty = Penalty(tau * lam, (1 - tau) * lam, groups)

    def value(s):
        eta = X @ s.w + s.b
        return np.logaddexp(0, eta).sum() - y @ eta + penalty.value(s.w)

    rough, exact = (solve_logistic(X, y, penalty.lam1, penalty.lam2, groups, tol=tol) for tol in (1e-2, 1e-11))
    residual = y - 1 / (1 + np.exp(-X @ exact.w - exact.b))
    assert subdifferential_distance(penalty, exact.w, -X.T @ residual).max() <= 1e-3 * lam
    assert abs(residual.sum()) <= 1e-9 * n
    assert exact.gap <= 1e-11 * n
    assert value(rough) - value(exact) <= rough.gap + 1e-12
    warm = solve_logistic(X, y, penalty.lam1, penalty.lam2, groups, tol=1e-11, start=rough)
    assert value(warm) == pytest.approx(value(exact), abs=1e-10 * n)


def test_the_smallest_lambda_without_features_is_exact():
    X, y = TABLES["binary"]
    for groups in (None, 3, [[j, j + 10, j + 20] for j in range(10)]):
        any_feature = [GroupLassoClassifier(a, groups=groups, tol=1e-10).fit(X, y).coef_.any() for a in (1.0, 0.999)]
        assert any_feature == [False, True]


def test_groups_of_one_without_penalty_on_size_are_the_lasso():
    X, y = TABLES["wide"]
    one, other = (GroupLassoClassifier(0.2, tau=tau, tol=1e-10).fit(X, y) for tau in (0.0, 1.0))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    weak = L1LogisticClassifier(1.0 / one.lambda_, intercept_scaling=1e3, tol=1e-7, random_state=0).fit(X, y)
    np.testing.assert_allclose(one.coef_, weak.coef_, atol=1e-2)


def test_group_lasso_takes_groups_whole_and_agrees_with_a_smooth_solver():
    X, y = TABLES["three"]
    y = (y == 1).astype(int)
    groups = [[0, 5, 7], [1, 2], [3, 4, 6], [8, 9, 10, 11, 12]]
    model = GroupLassoClassifier(0.3, groups=groups, tol=1e-10).fit(X, y)
    assert 0 < len(model.active_groups_) < 4
    expected = np.zeros(13, dtype=bool)
    for g in model.active_groups_:
        expected[groups[g]] = True
    np.testing.assert_array_equal(model.features_used(X)[0], expected)
    Z, columns = StandardScaler().fit_transform(X), [groups[g] for g in model.active_groups_]

    def value(v):  # smooth where no active group is zero
        w = np.zeros(13)
        w[expected] = v[:-1]
        eta = Z @ w + v[-1]
        norms = sum(np.sqrt(len(g)) * np.linalg.norm(w[g]) for g in columns)
        return np.logaddexp(0, eta).sum() - y @ eta + model.lambda_ * norms

    start = np.append(model.coef_[0, expected], model.intercept_)
    best = minimize(value, start + 0.1, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(best.x, start, atol=1e-3)
    assert value(start) <= best.fun + 1e-7


def test_group_lasso_warns_if_it_did_not_converge():
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        GroupLassoClassifier(1e-3, max_iter=1).fit(*TABLES["binary"])


@pytest.mark.parametrize("unit", [1e-14, 1.0, 1e8])
def test_whether_the_lasso_has_a_signal_does_not_depend_on_the_unit(unit):
    X = unit * np.array(list(product([0.0, 1.0], repeat=4)) * 3)
    model = LassoPathClassifier(scaling=None).fit(X, X[:, 0] > 0)
    assert model.get_support().tolist() == [True, False, False, False]
    noise = unit * np.tile(np.random.default_rng(0).normal(size=(40, 1)), (2, 1))  # the same in both classes
    nothing = LassoPathClassifier(0.0, scaling=None).fit(noise, np.repeat([0, 1], 40))
    assert not nothing.get_support().any()
    assert nothing.alpha_max_ == 0


@pytest.mark.parametrize("n_selected", [0, 2])
def test_options_that_do_not_fit_are_refused_whatever_is_selected(n_selected):
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.repeat([0, 1], 20)
    both = MRMRClassifier(n_selected, classifier=LogisticRegression(), class_weight="balanced")
    assert hasattr(both, "predict_proba")
    with pytest.raises(ValueError, match="class_weight must be None where a classifier is given"):
        both.fit(X, y)
    with pytest.raises(ValueError, match="n_jobs must be None or a whole number"):
        ForestSelectionClassifier(n_selected, n_jobs=0).fit(X, y)
