"""Gradient boosted feature selection as an estimator: estimator checks, usage, purchases, threads, errors."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from baselines import GBFSClassifier, GBFSRegressor, gbfs_path

QUICK = GBFSClassifier(n_iter=30, random_state=0)


@parametrize_with_checks([GBFSRegressor(n_iter=30)])
@pytest.mark.one_in(2)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([GBFSClassifier(n_iter=5, step="newton")])
def test_scikit_learn_contract_of_further_settings(estimator, check):
    check(estimator)


@pytest.mark.parametrize("mu_rel", [1.0, 0.3, 0.01, 0.0])
@pytest.mark.parametrize("table", ["cancer", "wine"])
def test_usage_is_that_of_the_paths_and_unused_features_have_no_effect(table, mu_rel, request):
    X, y = request.getfixturevalue(table)
    model = clone(QUICK).set_params(mu_rel=mu_rel).fit(X, y)
    used, answers = model.features_used(X), model.predict_proba(X)
    trees, paths = model.trees_, np.zeros_like(used)
    for i, row in enumerate(X):
        for v in trees.roots[:-1]:
            while trees.feature[v] >= 0:
                paths[i, trees.feature[v]] = True
                v = trees.left[v] if row[trees.feature[v]] <= trees.threshold[v] else trees.right[v]
    np.testing.assert_array_equal(used, paths)
    assert set(np.flatnonzero(used.any(axis=0))) <= set(model.get_support(indices=True))
    rng = np.random.default_rng(0)
    for huge in (1.0, 1e300):
        corrupted = np.where(used, X, rng.uniform(-huge, huge, X.shape))
        np.testing.assert_array_equal(model.predict_proba(corrupted), answers)
        np.testing.assert_array_equal(model.features_used(corrupted), used)
    assert bool(model.selected_features_.size) == (mu_rel < 1)
    assert model.selected_features_.size >= (4 if mu_rel < 0.1 else 0)


def test_purchase_log_and_selected_features_agree(cancer):
    X, y = cancer
    costs = np.random.default_rng(0).uniform(0.5, 2.0, X.shape[1])
    model = clone(QUICK).set_params(mu_rel=0.01, n_iter=80, feature_costs=costs).fit(X, y)
    log = model.purchase_log_
    assert sorted({p.feature for p in log}) == model.get_support(indices=True).tolist()
    assert len({p.feature for p in log}) == len(log) >= 3
    assert sum(p.price for p in log) == pytest.approx(model.mu_ * model.total_cost_)
    assert all(p.net > 0 for p in log)
    assert [f"x{j}" for j in np.flatnonzero(model.support_)] == model.selected_features_.tolist()
    np.testing.assert_array_equal(model.transform(X), X[:, model.support_])
    assert (model.features_used(X) @ costs <= model.total_cost_ + 1e-9).all()
    free = clone(QUICK).set_params(mu_rel=0.0, feature_costs=costs).fit(X, y)
    assert (free.features_used(X) @ free.feature_costs_).min() < free.total_cost_
    np.testing.assert_array_equal(model.phi_, ~model.support_)
    assert (np.diff(model.n_features_path_) >= 0).all()


def test_held_out_rows_choose_the_iterations_and_what_counts_as_selected(cancer):
    X, y = cancer
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 1 - y, y)
    model = GBFSClassifier(mu_rel=0.1, n_iter=300, early_stopping=20, random_state=0).fit(X, noisy)
    losses = model.validation_loss_
    assert model.best_iteration_ == losses.argmin() + 1 == len(losses) - 20 < 280
    assert model.trees_.n_trees == model.best_iteration_
    assert (
        model.selected_features_.size == model.n_features_path_[model.best_iteration_ - 1] < model.n_features_path_[-1]
    )
    assert (np.diff(model.train_loss_) < 0).all()
    last = list(model.staged_decision_function(X))
    np.testing.assert_array_equal(last[-1], model.decision_function(X))
    assert len(last) == model.best_iteration_
    patient = clone(model).set_params(early_stopping=None, n_iter=100).fit(X, noisy)
    assert len(patient.validation_loss_) == 100
    assert clone(model).set_params(validation_fraction=None, n_iter=9).fit(X, noisy).best_iteration_ == 9
    assert clone(model).set_params(n_iter=9).fit(X[:199], noisy[:199]).validation_loss_.size == 0


@pytest.mark.parametrize("step", ["gradient", "newton"])
def test_the_largest_mu_is_where_the_model_becomes_a_constant(wine, step):
    X, y = wine
    costs = np.random.default_rng(1).uniform(0.5, 2.0, X.shape[1])
    model = clone(QUICK).set_params(step=step, feature_costs=costs).fit(X, y)
    for share, some in ((0.999, True), (1.0, False), (1.5, False)):
        other = clone(model).set_params(mu=share * model.mu_max_).fit(X, y)
        assert bool(other.selected_features_.size) == some
    np.testing.assert_allclose(other.predict_proba(X[:1])[0], np.bincount(y) / len(y))


def test_scale_of_mu(cancer):
    X, y = cancer
    quick = GBFSRegressor(8.0, n_iter=20, validation_fraction=None, feature_costs=np.linspace(0.5, 1, X.shape[1]))
    model = quick.fit(X, 3.0 * y + X[:, 2] / 50)
    assert 2 <= model.selected_features_.size <= 8
    longer = clone(quick).set_params(mu=9 * 8.0).fit(X, 3 * (3.0 * y + X[:, 2] / 50))
    twice = clone(quick).set_params(mu=16.0).fit(np.vstack([X, X]), np.tile(3.0 * y + X[:, 2] / 50, 2))
    heavy = clone(quick).set_params(mu=16.0).fit(X, 3.0 * y + X[:, 2] / 50, np.full(len(y), 2.0))
    for other, factor in ((longer, 3), (twice, 1), (heavy, 1)):
        assert [p[:4] for p in other.purchase_log_] == [p[:4] for p in model.purchase_log_]
        np.testing.assert_allclose(other.predict(X), factor * model.predict(X), rtol=1e-9)


def test_equivalent_bags_discounts_and_phi_give_the_same_model(cancer):
    X, y = cancer
    quick = clone(QUICK).set_params(mu_rel=0.05)
    bags = np.arange(30) % 10

    def phi(bought):
        return np.array([0.0 if bought[bags == b].any() else 1.0 for b in bags])

    plain, bagged = quick.fit(X, y), clone(quick).set_params(bags=bags).fit(X, y)
    for other, model in (
        (clone(quick).set_params(phi=phi), bagged),
        (clone(quick).set_params(neighbour_discount=(bags[:, None] != bags).astype(float)), bagged),
        (clone(quick).set_params(bags=np.arange(30)), plain),
        (clone(quick).set_params(neighbour_discount=np.ones((30, 30))), plain),
    ):
        other.fit(X, y)
        assert other.purchase_log_ == model.purchase_log_
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    assert bagged.selected_features_.size > plain.selected_features_.size > 1
    free = clone(quick).set_params(bags=np.zeros(30)).fit(X, y)
    assert sum(p.price > 0 for p in free.purchase_log_) == 1


@pytest.mark.parametrize("setting", [{}, {"step": "newton"}, {"max_depth": 6, "max_bin": 16}])
@pytest.mark.usefixtures("two_threads")
def test_the_same_bits_for_any_number_of_threads(setting):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 23))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0).astype(int) + (X[:, 3] > 1)
    models = [clone(QUICK).set_params(n_iter=4, n_jobs=k, **setting).fit(X, y) for k in (1, 2, 3)]
    for model in models[1:]:
        assert model.purchase_log_ == models[0].purchase_log_
        assert model.decision_function(X).tobytes() == models[0].decision_function(X).tobytes()
        assert model.validation_loss_.tobytes() == models[0].validation_loss_.tobytes()


def test_the_scores_of_training_rows_are_those_of_training(wine):
    X, y = wine
    model = clone(QUICK).fit(X, y)
    scores = model._scores(X)
    shifted = scores - scores.max(axis=1, keepdims=True)
    loss = np.mean(np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(y)), y])
    assert loss == pytest.approx(model.train_loss_[-1], rel=1e-12)


def test_columns_may_be_permuted_or_transformed():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 30))
    y = X[:, 3] * X[:, 4] + X[:, 5] + rng.normal(size=500) > 0
    model = clone(QUICK).set_params(max_bin=32, min_samples_leaf=5, validation_fraction=None)
    order = np.random.default_rng(0).permutation(30)
    plain, permuted = clone(model).fit(X, y), clone(model).fit(X[:, order], y)
    assert sorted(order[permuted.support_]) == plain.get_support(indices=True).tolist()
    np.testing.assert_allclose(permuted.decision_function(X[:, order]), plain.decision_function(X), rtol=1e-9)
    few = np.floor(12 * (X - X.min(axis=0)) / np.ptp(X, axis=0))
    a, b = clone(model).fit(few, y), clone(model).fit(few**3 - 100, y)
    np.testing.assert_array_equal(a.decision_function(few), b.decision_function(few**3 - 100))


def test_a_sparse_table_is_a_table(cancer):
    X, y = cancer
    X = np.where(np.median(X, axis=0) < X, X, 0.0)
    model = clone(QUICK).fit(X, y)
    for kind in (sp.csr_matrix, sp.csc_array):
        other = clone(QUICK).fit(kind(X), y)
        np.testing.assert_array_equal(other.predict_proba(kind(X)), model.predict_proba(X))
        np.testing.assert_array_equal(other.features_used(kind(X)), model.features_used(X))
        assert other.purchase_log_ == model.purchase_log_


def test_a_path_equals_single_fits(cancer):
    X, y = cancer
    X = pd.DataFrame(X, columns=[f"f{j}" for j in range(30)])
    for setting, models in (
        ("mu_rel", gbfs_path(X, y, mu_rel=[0.5, 0.05], estimator=QUICK)),
        ("mu", gbfs_path(X, y, mus=[30.0, 1.0], estimator=QUICK, n_jobs=2)),
    ):
        for model in models:
            single = clone(QUICK).set_params(**{setting: getattr(model, setting)}).fit(X, y)
            assert single.purchase_log_ == model.purchase_log_
            np.testing.assert_array_equal(single.predict_proba(X), model.predict_proba(X))
            np.testing.assert_array_equal(single.feature_names_in_, model.feature_names_in_)
    assert not hasattr(QUICK, "classes_")
    with pytest.raises(TypeError, match="estimator must be"):
        gbfs_path(X, y, estimator=3)
    with pytest.raises(ValueError, match="'mu' parameter"):
        gbfs_path(X, y, mus=[-1.0])


def test_pickled_models_predict_the_same(wine):
    X, y = wine
    model = clone(QUICK).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("seed", range(3))
def test_of_three_features_two_decide_and_two_are_bought(seed):
    """The class is the sign of a product; the third feature is a sum: single features are weak, any two suffice."""
    rng = np.random.default_rng(seed)
    two = rng.uniform(-1, 1, (2400, 2))
    two = two[(np.abs(two) > 0.1).all(axis=1)][:1200]
    X, y = np.column_stack([two, 0.6 * two[:, 0] + 0.4 * two[:, 1]]), (two[:, 0] * two[:, 1] > 0).astype(int)
    model = GBFSClassifier(mu_rel=2**-2.5, n_iter=150, random_state=0).fit(X[:600], y[:600])
    assert model.selected_features_.size == 2
    assert model.score(X[600:], y[600:]) > 0.9
    line = LogisticRegression().fit(X[:600], y[:600])
    assert line.score(X[600:], y[600:]) < 0.65


def test_a_pure_exclusive_or_is_not_found():
    """Greedy trees find no split if no single feature is informative, as the docstring of GBFSClassifier says."""
    X = np.array([(a, b) for a in (0, 1) for b in (0, 1)] * 50, dtype=float)
    assert not GBFSClassifier(1.0, n_iter=20, random_state=0).fit(X, X[:, 0] != X[:, 1]).selected_features_.size


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_finite_table_can_be_fitted(data):
    X = data.draw(arrays(np.float64, (8, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    model = GBFSClassifier(mu_rel=0.01, n_iter=5, max_bin=data.draw(st.integers(2, 8))).fit(X, y)
    used, answers = model.features_used(X), model.predict_proba(X)
    corrupted = np.where(used, X, -1.7e308)
    np.testing.assert_array_equal(model.predict_proba(corrupted), answers)
    np.testing.assert_array_equal(model.features_used(corrupted), used)


def test_sparsity_grid_goes_from_no_feature_to_all(cancer):
    X, y = cancer
    grid = QUICK.sparsity_grid(X, y)
    sizes = [clone(QUICK).set_params(**setting).fit(X, y).selected_features_.size for setting in grid]
    assert len(grid) == 12
    assert sizes[0] == 0 < sizes[1]
    assert sizes[-1] == max(sizes) >= 10
    priced = clone(QUICK).set_params(mu=5.0)  # which goes before mu_rel
    assert [m.selected_features_.size for m in priced.path(X, y)] == sizes
    assert not hasattr(QUICK, "classes_")
    with pytest.raises(ValueError, match="at least two classes"):
        QUICK.sparsity_grid(X, np.zeros(len(y)))


def _scores(n_jobs):
    X, y = load_breast_cancer(return_X_y=True)
    X = np.tile(X, (8, 1))
    return clone(QUICK).set_params(n_iter=3, n_jobs=n_jobs).fit(X, np.tile(y, 8)).decision_function(X).tobytes()


def test_fit_works_in_a_forked_process_and_in_two_threads():
    before = _scores(2)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_scores, (2,)) == before
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(_scores, [2, 1])) == [before, before]


def test_fewer_bins_limit_the_thresholds(cancer):
    X, y = cancer
    fine, coarse = (clone(QUICK).set_params(max_bin=k).fit(X, y) for k in (256, 8))
    for f in coarse.get_support(indices=True):
        assert len(np.unique(coarse.trees_.threshold[coarse.trees_.feature == f])) <= 7
    assert fine.score(X, y) > 0.95
    assert coarse.score(X, y) > 0.93


X3, Y3 = np.arange(24.0).reshape(8, 3), np.array([0, 1] * 4)
WITH_NAN = X3.copy()
WITH_NAN[2, 1] = np.nan
WITH_INF = X3.copy()
WITH_INF[2, 2] = -np.inf


@pytest.mark.parametrize(
    ("setting", "X", "y", "weights", "message"),
    [
        ({}, WITH_NAN, Y3, None, "column 'x1' holds NaN"),
        ({}, WITH_INF, Y3, None, "column 'x2' holds inf"),
        ({}, sp.csr_array(WITH_NAN), Y3, None, "column 'x1' holds NaN"),
        ({}, pd.DataFrame(WITH_NAN, columns=["a", "b", "c"]), Y3, None, "column 'b' holds NaN"),
        ({}, X3, np.zeros(8), None, "at least two classes"),
        ({}, X3[:1], Y3[:1], None, "minimum of 2"),
        ({}, X3[:, :0], Y3, None, "0 feature"),
        ({}, X3, Y3, -np.ones(8), "egative"),
        ({}, X3, Y3, np.zeros(8), "non-zero"),
        ({}, X3, Y3, np.array([1.0, 0] * 4), "at least two classes"),
        ({"mu": -1.0}, X3, Y3, None, "'mu' parameter"),
        ({"n_jobs": 0}, X3, Y3, None, "n_jobs must be"),
        ({"mu": np.nan}, X3, Y3, None, "'mu' parameter"),
        ({"mu_rel": np.nan}, X3, Y3, None, "'mu_rel' parameter"),
        ({"max_depth": 0}, X3, Y3, None, "'max_depth' parameter"),
        ({"max_bin": 257}, X3, Y3, None, "'max_bin' parameter"),
        ({"feature_costs": [1, -1, 1]}, X3, Y3, None, "feature_costs must not be negative"),
        ({"feature_costs": [1, np.nan, 1]}, X3, Y3, None, "feature_costs must be finite"),
        ({"feature_costs": [1, 1]}, X3, Y3, None, r"feature_costs must have shape \(3,\)"),
        ({"feature_costs": {"x0": 1}}, X3, Y3, None, "no price for 'x1'"),
        ({"bags": [0, 1]}, X3, Y3, None, "one label for each of the 3 features"),
        ({"neighbour_discount": np.ones((2, 3))}, X3, Y3, None, r"shape \(3, 3\)"),
        ({"neighbour_discount": np.full((3, 3), 1.5)}, X3, Y3, None, "between 0 and 1"),
        ({"neighbour_discount": np.full((3, 3), np.nan)}, X3, Y3, None, "between 0 and 1"),
        ({"bags": [0, 1, 2], "phi": np.zeros_like}, X3, Y3, None, "at most one of"),
        ({"phi": lambda bought: 1.0}, X3, Y3, None, r"shape \(3,\)"),
        ({"phi": lambda bought: ["a"] * 3}, X3, Y3, None, "one number for each"),
        ({"phi": lambda bought: np.full(3, np.nan)}, X3, Y3, None, "between 0 and 1"),
        ({"phi": lambda bought: np.full(3, 2.0)}, X3, Y3, None, "between 0 and 1"),
        ({"phi": lambda bought: np.ones(3), "mu_rel": 0.1}, X3, Y3 * X3[:, 0], None, "0 for features that are bought"),
        (
            {"phi": lambda bought: np.where(bought, 0.0, 0.5 + 0.5 * bought.any()), "mu_rel": 0.1},
            X3,
            Y3 * X3[:, 0],
            None,
            "must not increase",
        ),
    ],
)
def test_errors_name_the_problem(setting, X, y, weights, message):
    with pytest.raises((ValueError, TypeError), match=message):
        GBFSClassifier(n_iter=2).set_params(**setting).fit(X, y, weights)


def test_targets_that_are_too_large_are_refused():
    with pytest.raises(ValueError, match="y must not exceed 1e"):
        GBFSRegressor().fit(X3, np.arange(8.0) * 1e150)


def test_constant_features_and_no_iterations(wine):
    X, y = wine
    model = clone(QUICK).fit(np.column_stack([X, np.ones(len(X))]), y)
    assert not model.support_[-1]
    nothing = clone(QUICK).set_params(n_iter=0).fit(X, y)
    np.testing.assert_allclose(nothing.predict_proba(X), np.tile(np.bincount(y) / len(y), (len(X), 1)))
    assert not nothing.features_used(X).any()
    assert not clone(QUICK).fit(np.ones((6, 2)), [0, 1] * 3).selected_features_.size
