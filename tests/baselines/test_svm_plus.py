"""SVM+: reference optima of an independent solver, identities, invariances, grid corners, estimator checks."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info

from baselines import LUFeClassifier, SVMPlusClassifier

X6 = np.array([[2, 0], [1, 1], [0, 1], [1, 0], [0, 2], [2, 1]], dtype=float)
P6 = np.array([[1, 0, 0], [0, 2, 1], [1, 1, 0], [0, 0, 1], [2, 0, 1], [1, 1, 3]], dtype=float)
Y6 = np.array([1, 1, -1, 1, -1, -1])
GRID = np.logspace(-3, 3, 7)
SOLVERS = ("auto", "gram", "factor")


def noisy(n: int = 60, d: int = 4, m: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table, privileged columns and labels that are not linearly separable."""
    rng = np.random.default_rng(seed)
    X, P = rng.normal(size=(n, d)), rng.normal(size=(n, m))
    return X, P, np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)


def text(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of word counts of two topics, rows of norm 1."""
    rng = np.random.default_rng(seed)
    topics, y = rng.dirichlet(np.full(d, 0.1), 2), rng.choice([-1, 1], n)
    means = 0.85 * topics.mean(axis=0) + 0.15 * topics[(y > 0).astype(int)]
    X = np.log1p(rng.poisson(120 * means).astype(float))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def wdbc() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:150], np.where(y[:150] == 1, 1, -1)


def fitted(X, P, y, lam1=1.0, lam2=1.0, intercept=True, **options) -> SVMPlusClassifier:
    return SVMPlusClassifier(lam1, lam2, intercept, **options).fit(X, y, X_privileged=P)


@parametrize_with_checks([SVMPlusClassifier()])
@pytest.mark.one_in(2)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# lam2, lam1, intercept, objective, w, b, w*, b*: the optima of cvxpy 1.7 with Clarabel at tolerance 1e-13
OPTIMA = [
    (1, 1, True, 3.7337461300, [0.1486068111, -1.1517027864], 0.70278638,
     [-0.0990712074, 0.5510835913, 0.0990712074], 0.09907121),
    (1, 1, False, 3.7768595041, [0.0247933884, -1.305785124], 0.95867769, [0, 0.652892562, 0.0165289256], 0),
    (0.5, 0.1, False, 2.1586317477, [0.2725815072, -1.030464992], 0.54569749, [0, 0.515232496, 0.1817210048], 0),
    (10, 2, True, 28.0, [0, -4 / 3], 1.0, [0, 2 / 3, 0], 0),
    (0.05, 0.5, True, 0.2903381643, [0.0652173913, -0.1111111111], 0.01811594,
     [-0.0217391304, 0.0555555556, 0.0434782609], 0.87318841),
]  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("row", OPTIMA)
def test_optima_are_those_of_an_independent_solver(row, sparse, solver):
    lam2, lam1, intercept, objective, w, b, w_privileged, b_privileged = row
    form = sp.csr_array if sparse else np.array
    model = fitted(form(X6), form(P6), Y6, lam1, lam2, intercept, solver=solver)
    assert model.objective_ == pytest.approx(objective, abs=1e-8)
    assert model.duality_gap_ == pytest.approx(0, abs=1e-8)
    assert model.max_violation_ <= 1e-8
    assert model.status_ == "optimal"
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-6)
    np.testing.assert_allclose(model.coef_privileged_[0], w_privileged, atol=1e-6)
    np.testing.assert_allclose([model.intercept_[0], model.intercept_privileged_[0]], [b, b_privileged], atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_multipliers_are_those_of_an_independent_solver(solver):
    model = fitted(X6, P6, Y6, solver=solver)
    alpha = [1.1517027864, 1.133126935, 0.6408668731, 0, 0, 1.6439628483]
    np.testing.assert_allclose(model.alpha_[0], alpha, atol=1e-6)
    np.testing.assert_allclose(model.beta_[0], [1.3962848297, 0, 0, 0, 0.0340557276, 0], atol=1e-6)
    model = fitted(X6, P6, Y6, intercept=False, solver=solver)
    alpha = [0, 1.1157024793, 1.2231404959, 1.305785124, 0, 1.1983471074]
    np.testing.assert_allclose(model.alpha_[0], alpha, atol=1e-6)
    np.testing.assert_allclose(model.beta_[0, :2], [2.5785123967, 0], atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", ["gram", "factor"])
@pytest.mark.parametrize("shape", [(60, 4, 10), (60, 20, 300), (60, 50, 300), (60, 100, 5)])
def test_the_optimality_conditions_are_satisfied(shape, solver, intercept):
    X, P, y = noisy(*shape)
    P = np.abs(P)
    lam1, lam2 = 0.3, 2.0
    model = fitted(X, P, y, lam1, lam2, intercept, solver=solver, tol=1e-10)
    alpha, beta = model.alpha_[0], model.beta_[0]
    slack = P @ model.coef_privileged_[0] + model.intercept_privileged_[0]
    margin = y * model.decision_function(X) + slack - 1
    assert min(margin.min(), slack.min(), alpha.min(), beta.min()) >= -1e-7
    np.testing.assert_allclose(alpha * margin, 0, atol=1e-6)
    np.testing.assert_allclose(beta * slack, 0, atol=1e-6)
    np.testing.assert_allclose(model.coef_[0], X.T @ (y * alpha), atol=1e-6)
    np.testing.assert_allclose(model.coef_privileged_[0], P.T @ (alpha + beta - lam2) / lam1, atol=1e-6)
    np.testing.assert_allclose(model.dual_coef_[0], y * alpha)
    np.testing.assert_allclose(model.slack_[0], slack, atol=1e-12)
    assert y @ alpha == pytest.approx(0, abs=1e-6)
    if intercept:
        assert (alpha + beta).sum() == pytest.approx(lam2 * len(y), abs=1e-6)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_one_free_slack_a_sample_is_the_soft_margin_svm(C):
    X, _, y = noisy(80)
    model = fitted(X, np.eye(80), y, 1e-6, C, False, tol=1e-10)
    machine = SVC(C=C, kernel="linear", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, machine.coef_, atol=1e-5)
    plain, lam1 = SVMPlusClassifier(lam2=C, tol=1e-10).fit(X, y), 1e-5
    dearer = fitted(X, np.eye(80), y, lam1, C, False, tol=1e-10).objective_ - plain.objective_
    assert dearer == pytest.approx(lam1 / 2 * np.square(plain.slack_).sum(), rel=1e-3)


@pytest.mark.parametrize("lam1", [0.1, 1.0, 10.0])
def test_slacks_with_squared_penalty_only_are_a_ridge_on_the_kernel(lam1):
    X, _, y = noisy(80)
    model = fitted(X, np.eye(80), y, lam1, 1e-7, False, tol=1e-11)
    plain = SVC(C=1e8, kernel="precomputed", tol=1e-10).fit(X @ X.T + np.eye(80) / lam1, y)
    expected = X[plain.support_].T @ plain.dual_coef_[0]
    np.testing.assert_allclose(model.coef_[0], expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("P", [np.zeros((60, 2)), np.full((60, 3), 2.5)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_constant_privileged_features_give_every_sample_the_same_slack(P, solver):
    X, _, y = noisy()
    model = fitted(X, P, y, solver=solver)
    np.testing.assert_allclose(model.slack_, model.slack_[0, 0], atol=1e-7)
    assert model.slack_[0, 0] > 0.1


@pytest.mark.parametrize(("lam1", "lam2"), [(1, 1), (1e-3, 1e3), (1e3, 1e-3)])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.one_in(2)
def test_centred_privileged_features_need_an_intercept(seed, solver, lam1, lam2):
    X, P, y = noisy(seed=seed)
    P -= P.mean(axis=0)
    with pytest.raises(ValueError, match="no classifier meets the constraints"):
        fitted(X, P, y, lam1, lam2, False, solver=solver)
    model = fitted(X, P, y, lam1, lam2, True, solver=solver)
    assert model.max_violation_ <= 1e-7


def test_without_privileged_features_and_intercept_only_separable_classes_have_a_solution():
    X, _, y = noisy()
    with pytest.raises(ValueError, match="no classifier meets the constraints"):
        fitted(X, np.zeros((60, 1)), y, intercept=False)
    X[:, 0] += 10 * y
    model = fitted(X, np.zeros((60, 1)), y, intercept=False)
    hard = SVC(C=1e8, kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, hard.coef_, atol=1e-5)


# (data, lam2, lam1): objective with and without intercept, by cvxpy 1.7 with Clarabel at tolerance 1e-11
CELLS = {
    ("raw", 1e-3, 1e-3): (0.149751768, 0.151167888), ("raw", 1e-3, 1): (0.149990095, 0.15578847),
    ("raw", 1e-3, 1e3): (0.149998998, 0.253668835), ("raw", 1, 1e-3): (135.578027, 135.587964),
    ("raw", 1, 1): (144.399171, 144.41224), ("raw", 1, 1e3): (148.997852, 149.568721),
    ("raw", 1e3, 1e-3): (126219.255, 126289.378), ("raw", 1e3, 1): (129237.325, 129344.347),
    ("raw", 1e3, 1e3): (137264.264, 137590.551), ("scaled", 1e-3, 1e-3): (0.149976635, 0.156875312),
    ("scaled", 1, 1e-3): (136.075023, 136.086265), ("scaled", 1, 1): (145.841846, 147.401743),
    ("scaled", 1, 1e3): (149.959816, 368.260716), ("scaled", 1e3, 1e-3): (126454.068, 126721.37),
    ("scaled", 1e3, 1): (126769.656, 127161.011), ("scaled", 1e3, 1e3): (139268.008, 140622.593),
}  # fmt: skip


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("data", ["raw", "scaled", "text"])
@pytest.mark.one_in(2)
def test_every_cell_of_the_grid_is_solved(data, intercept):
    X, y = text(150, 1300) if data == "text" else wdbc()
    X = X / np.abs(X).max(axis=0) if data == "scaled" else X
    n_selected = 300 if data == "text" else 5
    for lam1, lam2 in product(GRID, GRID):
        model = fitted(X[:, :n_selected], X[:, n_selected:], y, lam1, lam2, intercept)
        gap = abs(model.duality_gap_) / (1 + model.objective_)
        assert model.max_violation_ <= 1e-7
        assert gap <= (1e-4 if data == "raw" else 1e-7)
        known = CELLS.get((data, lam2, lam1))
        if known:
            assert model.objective_ == pytest.approx(known[not intercept], rel=1e-8)


def test_badly_scaled_data_at_two_cells_to_ten_digits():
    X, y = wdbc()
    assert fitted(X[:, :5], X[:, 5:], y, 1e-3, 1e3).objective_ == pytest.approx(126219.2551, abs=2e-4)
    assert fitted(X[:, :5], X[:, 5:], y, 1.0, 1.0).objective_ == pytest.approx(144.3991712540, abs=1e-8)


def test_factors_follow_if_gram_matrices_are_not_accurate_enough():
    X, y = wdbc()
    model = fitted(X[:, :5], X[:, 5:], y, 1e-3, 1e3, solver="gram")
    assert model.objective_ == pytest.approx(126219.2551, abs=2e-4)
    assert model.max_violation_ <= 1e-7


@pytest.mark.parametrize("shape", [(150, 300, 1000), (150, 20, 1000), (150, 20, 60)])
@pytest.mark.parametrize(("lam1", "lam2"), [(1.0, 1.0), (0.01, 100.0), (100.0, 0.01)])
def test_all_forms_find_the_same_weights(shape, lam1, lam2):
    n, d, m = shape
    X, y = text(n, d + m)
    models = [fitted(X[:, :d], X[:, d:], y, lam1, lam2, solver=s) for s in ("gram", "factor")]
    np.testing.assert_allclose(models[0].objective_, models[1].objective_, rtol=3e-8)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-3 * np.abs(models[1].coef_).max())


def test_two_thousand_samples_are_solved():
    X, y = text(2000, 400)
    separable = np.where(X[:, :50] @ np.sin(np.arange(50)) > -0.15, 1, -1)
    for targets, status in ((y, "no signal"), (separable, "optimal")):
        model = fitted(X[:, :50], X[:, 50:], targets, 1.0, 1.0)
        assert model.status_ == status
        assert abs(model.duality_gap_) <= 1e-7 * model.objective_


@pytest.mark.parametrize("solver", ["gram", "factor"])
def test_order_and_scale_of_samples_and_features_do_not_matter(solver):
    X, P, y = noisy()
    base = fitted(X, P, y, 0.5, 2.0, solver=solver, tol=1e-11)
    rng = np.random.default_rng(1)
    rows, columns, privileged = rng.permutation(60), rng.permutation(4), rng.permutation(10)
    close = {"rtol": 0, "atol": 1e-7}
    permuted = fitted(X[rows], P[rows], y[rows], 0.5, 2.0, solver=solver, tol=1e-11)
    np.testing.assert_allclose(permuted.coef_, base.coef_, **close)
    permuted = fitted(X[:, columns], P[:, privileged], y, 0.5, 2.0, solver=solver, tol=1e-11)
    np.testing.assert_allclose(permuted.coef_, base.coef_[:, columns], **close)
    np.testing.assert_allclose(permuted.coef_privileged_, base.coef_privileged_[:, privileged], **close)
    twice = fitted(np.vstack([X, X]), np.vstack([P, P]), np.hstack([y, y]), 0.5, 1.0, solver=solver, tol=1e-11)
    np.testing.assert_allclose(twice.coef_, base.coef_, **close)
    larger = fitted(X, 7 * P, y, 0.5 * 49, 2.0, solver=solver, tol=1e-11)
    np.testing.assert_allclose(larger.coef_, base.coef_, **close)
    np.testing.assert_allclose(7 * larger.coef_privileged_, base.coef_privileged_, **close)


@pytest.mark.parametrize("solver", SOLVERS)
def test_sparse_is_dense(solver):
    X, y = text(80, 500)
    dense = fitted(X[:, :40], X[:, 40:], y, 0.1, 3.0, solver=solver, tol=1e-10)
    sparse = fitted(sp.csr_array(X[:, :40]), sp.csr_array(X[:, 40:]), y, 0.1, 3.0, solver=solver, tol=1e-10)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    scores = dense.decision_function(X[:, :40])
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X[:, :40])), scores, atol=1e-6)


@pytest.mark.parametrize("shape", [(60, 4), (60, 200)])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_without_privileged_features_it_is_the_plain_svm(shape, C):
    X, _, y = noisy(*shape)
    model = SVMPlusClassifier(lam2=C, tol=1e-10).fit(X, y)
    plain = SVC(C=C, kernel="linear", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    hinge = np.maximum(0, 1 - y * plain.decision_function(X))
    objective = 0.5 * np.square(plain.coef_).sum() + C * hinge.sum()
    assert 0.999 * objective <= model.objective_ <= (1 + 1e-9) * objective  # LIBSVM's kernel is of single precision
    assert model.duality_gap_ == pytest.approx(0, abs=1e-8 * (1 + model.objective_))
    assert model.alpha_.max() <= C * (1 + 1e-9)
    assert model.coef_privileged_.shape == (1, 0)


def test_the_scale_of_the_paper_halves_the_weight_of_slacks():
    X, P, y = noisy()
    paper, svm = fitted(X, P, y, 0.5, 4.0, objective_scale="paper"), fitted(X, P, y, 0.5, 2.0)
    np.testing.assert_array_equal(paper.coef_, svm.coef_)


def test_three_classes_are_three_problems():
    X, y = load_iris(return_X_y=True)
    X, P, names = X[:, :2], X[:, 2:], np.array(["a", "b", "c"])[y]
    model = fitted(X, P, names)
    assert model.coef_.shape == (3, 2)
    assert model.alpha_.shape == model.slack_.shape == (3, 150)
    for k in range(3):
        one = fitted(X, P, np.where(y == k, 1, -1))
        np.testing.assert_array_equal(model.coef_[k], one.coef_[0])
        assert model.objective_[k] == one.objective_
    assert model.score(X, names) > 0.6


def test_privileged_information_on_wrong_labels_helps():
    gains = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, T = rng.normal(size=(60, 10)), rng.normal(size=(2000, 10))
        direction = rng.normal(size=10)
        y, test_y = np.sign(X @ direction), np.sign(T @ direction)
        wrong = rng.random(60) < 0.2
        y = np.where(wrong, -y, y)
        P = np.abs(rng.normal(size=(60, 30))) * 0.1
        P[wrong, :3] += 2.0
        plain = [SVMPlusClassifier(lam2=C).fit(X, y).score(T, test_y) for C in (0.01, 0.1, 1.0, 10.0)]
        gains.append(fitted(X, P, y, 1e-3, 10.0).score(T, test_y) - max(plain))
    assert np.mean(gains) > 0.03
    assert np.mean(np.array(gains) > 0) >= 0.7


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_privileged_features_are_routed_through_searches(routing):
    X, P, y = noisy()
    estimator = SVMPlusClassifier().set_fit_request(X_privileged=True)
    folds = StratifiedKFold(3)
    search = GridSearchCV(estimator, {"lam1": [0.01, 1.0], "lam2": [0.1, 1.0]}, cv=folds).fit(X, y, X_privileged=P)
    cell = dict(search.cv_results_["params"][0])
    scores = cross_val_score(
        SVMPlusClassifier(**cell).set_fit_request(X_privileged=True), X, y, cv=folds, params={"X_privileged": P}
    )
    expected = [fitted(X[a], P[a], y[a], cell["lam1"], cell["lam2"]).score(X[b], y[b]) for a, b in folds.split(X, y)]
    np.testing.assert_allclose(scores, expected)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(expected))
    assert search.best_estimator_.coef_privileged_.shape == (1, 10)


def test_predictions_use_the_used_columns_only():
    X, P, y = noisy()
    X[:, 2] = 0.0
    y = np.where(X[:, 0] > X[:, 1] - X[:, 3], 1, -1)
    model = fitted(X, P, y)
    used = model.features_used(X)
    np.testing.assert_array_equal(used, np.tile([True, True, False, True], (60, 1)))
    np.testing.assert_array_equal(model.predict(np.where(used, X, 1e300)), model.predict(X))


@pytest.mark.parametrize(
    ("options", "privileged", "labels", "message"),
    [
        ({"lam1": 0.0}, P6, Y6, "'lam1' parameter of SVMPlusClassifier"),
        ({"lam2": -1.0}, P6, Y6, "'lam2' parameter of SVMPlusClassifier"),
        ({"lam1": np.nan}, P6, Y6, "'lam1' parameter of SVMPlusClassifier"),
        ({"lam2": np.inf}, P6, Y6, "'lam2' parameter of SVMPlusClassifier"),
        ({"solver": "osqp"}, P6, Y6, "'solver' parameter of SVMPlusClassifier"),
        ({}, P6, np.ones(6), r"at least two classes, got 1 class"),
        ({}, P6, np.linspace(0, 1, 6), "continuous"),
        ({}, P6[:4], Y6, "inconsistent numbers of samples"),
        ({}, np.where(P6 == 3, np.nan, P6), Y6, "X_privileged contains NaN"),
        ({}, np.where(P6 == 3, np.inf, P6), Y6, "X_privileged contains infinity"),
        ({}, P6 * 1e150, Y6, r"must not exceed 1e\+100 in absolute value, got 3e\+150"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(options, privileged, labels, message):
    with pytest.raises(ValueError, match=message):
        SVMPlusClassifier(**options).fit(X6, labels, X_privileged=privileged)


def test_a_tolerance_that_is_not_reached_warns():
    X, P, y = noisy()
    with pytest.warns(ConvergenceWarning, match=r"stopped after 3 steps with a duality gap of .* raise max_iter"):
        model = fitted(X, P, y, max_iter=3)
    assert model.status_ == "inaccurate"
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        SVMPlusClassifier(max_iter=2).fit(X, y)


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(np.float64, (8, 3), elements=st.floats(-1, 1)),
    P=arrays(np.float64, (8, 4), elements=st.floats(-1, 1)),
    lam1=st.sampled_from(GRID),
    lam2=st.sampled_from(GRID),
    solver=st.sampled_from(SOLVERS),
)
def test_with_an_intercept_any_table_has_a_certified_solution(X, P, lam1, lam2, solver):
    y = np.array([1, 1, -1, 1, -1, -1, 1, -1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(X, P, y, lam1, lam2, solver=solver)
    assert model.max_violation_ <= 1e-6
    assert abs(model.duality_gap_) <= 1e-4 * (1 + model.objective_)  # of badly scaled tables the dual is less exact
    assert model.objective_ <= lam2 * 8 * (1 + 1e-6)  # w = 0 and a slack of 1 for all


@pytest.mark.usefixtures("two_threads")
def test_fit_restores_the_number_of_threads():
    before = [pool["num_threads"] for pool in threadpool_info()]
    with ThreadPoolExecutor(3) as pool:
        assert len([*pool.map(lambda _: fitted(X6, P6, Y6), range(3))]) == 3
    assert [pool["num_threads"] for pool in threadpool_info()] == before


@pytest.mark.parametrize("as_table", [np.asarray, sp.csr_array])
def test_a_constant_column_has_no_weight(as_table):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.normal(size=60), np.full(60, 3.0), np.zeros(60)])
        y = X[:, 0] + 0.3 * rng.normal(size=60) > 0
        for more in ({}, {"X_privileged": rng.normal(size=(60, 2))}):
            assert not SVMPlusClassifier().fit(as_table(X), y, **more).get_support()[1:].any()


@pytest.mark.parametrize("offset", [1e4, -1e6])
@pytest.mark.parametrize("labels", [2, 3])
def test_an_offset_of_the_columns_decides_nothing(offset, labels):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(120, 6)), rng.normal(size=(200, 6))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=120) > 0).astype(int) + (labels == 3) * (X[:, 2] > 0.5)
    for make, beside in (
        (SVMPlusClassifier, ()),
        (SVMPlusClassifier, (X[:, 3:] + offset,)),
        (partial(LUFeClassifier, scaling=None, n_features_to_select=3), ()),
    ):
        plain, moved = make().fit(X, y, *[P - offset for P in beside]), make().fit(X + offset, y, *beside)
        np.testing.assert_allclose(moved.coef_, plain.coef_, atol=1e-4)
        assert (moved.predict(new + offset) == plain.predict(new)).mean() >= 0.99
