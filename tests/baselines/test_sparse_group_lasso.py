"""The sparse group LASSO: worked values, optimality, identities with other penalties, and errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.utils.estimator_checks import parametrize_with_checks

from baselines import SparseGroupLasso, sgl_lambda_max, sgl_path
from baselines.sparse_group_lasso.exact import AugmentedLagrangian, BlockDescent, SGLProblem, solve_sgl
from baselines.sparse_group_lasso.fista import duality_gap, run_fista, squared_norm
from baselines.sparse_group_lasso.group_lasso import GroupDescent
from baselines.sparse_group_lasso.groups import make_groups
from baselines.sparse_group_lasso.penalty import Penalty
from support.sgl_problems import X8, Y8, distances, near_copies, objective

# (lam1, lam2, weights, intercept), objective, coefficients, b; computed by an interior-point solver (cvxpy, Clarabel).
WORKED = [
    ((1, 1, "ones", False), 2.605140877146, [0.1277071505, 0.0268510062, 0.3738677699, -0.2285950814, 0, 0], 0),
    ((0, 2, "ones", False), 2.398512652545, [0.1418545253, 0.0594740876, 0.3883504795, -0.2477222225, 0, 0], 0),
    ((2, 0, "ones", False), 2.770547378866, [0.126674384, 0, 0.3674549363, -0.1997684802, 0, 0], 0),
    ((0.5, 1, "sqrt", False), 2.454770574136, [0.1425394611, 0.0480903309, 0.3893641306, -0.2376457447, 0, 0], 0),
    ((1, 1, "ones", True), 2.561099664935,
     [0.1807293489, 0.0654429474, 0.423634973, -0.1788855172, 0, 0], -0.1340260223),
    ((0.1, 0.1, "ones", False), 0.502741461773,
     [0.411816024, 0.3203660161, 0.6129661072, -0.2243989531, -0.4203898181, -0.0939069722], 0),
    ((4, 3, "ones", False), 4.0, [0, 0, 0, 0, 0, 0], 0),
]  # fmt: skip


@parametrize_with_checks([SparseGroupLasso()])
@pytest.mark.one_in(2)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([SparseGroupLasso(solver="fista", fit_intercept=True)])
def test_scikit_learn_contract_of_further_settings(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("setting", "value", "w", "b"), WORKED)
@pytest.mark.one_in(2)
def test_worked_values(setting, value, w, b):
    lam1, lam2, weights, intercept = setting
    model = SparseGroupLasso(lam1, lam2, 2, group_weights=weights, fit_intercept=intercept, tol=1e-14).fit(X8, Y8)
    assert objective(model, X8, Y8) == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(model.coef_, w, atol=1e-8)
    assert model.intercept_ == pytest.approx(b, abs=1e-8)
    assert ((model.coef_ == 0) == (np.array(w) == 0)).all()
    assert model.dual_gap_ <= 4e-14
    penalty = Penalty(lam1, lam2, make_groups(2, weights, 6))
    assert distances(X8, Y8, model.coef_, model.intercept_, penalty).max() < 1e-6
    other = SparseGroupLasso(
        lam1, lam2, 2, group_weights=weights, fit_intercept=intercept, solver="fista", max_iter=20_000
    )
    assert objective(other.fit(X8, Y8), X8, Y8) == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize(("lam1", "lam2"), [(0.0, 0.0), (0.7, 0.0), (0.0, 2.0), (0.4, 1.5), (9.0, 0.1)])
def test_proximal_point_is_soft_thresholding_and_group_shrinkage(lam1, lam2):
    """Against plain NumPy, with groups of different sizes whose columns are not neighbours."""
    rng = np.random.default_rng(0)
    columns, u, step = rng.permutation(60), 2 * rng.normal(size=60), 0.5
    groups = [columns[:1], columns[1:20], columns[20:23], columns[23:]]
    expected = np.sign(u) * np.maximum(np.abs(u) - step * lam1, 0.0)
    for group, weight in zip(groups, (1.0, 2.0, 3.0, 4.0)):
        norm, cut = np.linalg.norm(expected[group]), step * lam2 * weight
        expected[group] *= 1.0 - cut / norm if norm > cut else 0.0
    before = u.copy()
    w = Penalty(lam1, lam2, make_groups(groups, [1.0, 2.0, 3.0, 4.0], 60)).prox(u, step)
    np.testing.assert_allclose(w, expected, rtol=1e-12, atol=0)
    np.testing.assert_array_equal(w != 0, expected != 0)
    np.testing.assert_array_equal(u, before)


def test_the_distance_to_the_subdifferential_is_positive_off_the_optimum():
    penalty = Penalty(1.0, 1.0, make_groups(2, "ones", 6))
    w = np.array(WORKED[0][2])
    assert distances(X8, Y8, w, 0.0, penalty).max() < 1e-8
    for wrong in (1.01 * w, w + 0.01 * np.eye(6)[4], np.where(np.arange(6) == 1, 0, w)):
        assert distances(X8, Y8, wrong, 0.0, penalty).max() > 1e-3


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("corner", [(0, 1), (1, 0), (1, 1), (0.01, 0.01)])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.one_in(4)
def test_random_problems_are_solved_to_their_gap_and_stationary(seed, corner, intercept):
    rng = np.random.default_rng(seed)
    n, p = ((30, 60), (80, 40))[seed % 2]
    labels, X = rng.integers(0, 9, p), rng.normal(size=(n, p)) @ np.diag(rng.uniform(0.1, 10, p)) + 1.0
    y = X @ (rng.normal(size=p) * (labels < 3)) + rng.normal(size=n) + 5.0
    groups = make_groups(labels, "sqrt", p)
    top = sgl_lambda_max(X, y, labels, tau=0.5, group_weights="sqrt", fit_intercept=intercept)
    lam1, lam2 = (0.1 * top * c for c in corner)
    model = SparseGroupLasso(lam1, lam2, labels, group_weights="sqrt", fit_intercept=intercept, tol=1e-12).fit(X, y)
    penalty, bound = Penalty(lam1, lam2, groups), 0.5 * np.sum((y - y.mean() * intercept) ** 2)
    Z, t = (X - X.mean(axis=0), y - y.mean()) if intercept else (X, y)
    assert model.dual_gap_ <= 1e-12 * bound
    assert duality_gap(Z, t, penalty, model.coef_) <= 2e-12 * bound
    assert distances(X, y, model.coef_, model.intercept_, penalty).max() <= 1e-4 * top
    assert 0 < len(model.active_groups_) <= 9
    slow = run_fista(Z, t, [penalty], 3000)[0]
    assert objective(model, X, y) <= 0.5 * np.sum((t - Z @ slow) ** 2) + penalty.value(slow) + 1e-12 * bound


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("groups", [None, 5])
def test_the_lasso_corner_is_scikit_learns_lasso(groups, intercept):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 80)) + 0.3, rng.normal(size=50) + 2.0
    lam = 0.1 * np.abs(X.T @ y).max()
    lam1, lam2 = (lam, 0.0) if groups else (0.25 * lam, 0.75 * lam)  # groups of one: the penalties add up
    model = SparseGroupLasso(lam1, lam2, groups, fit_intercept=intercept, tol=1e-15).fit(X, y)
    lasso = Lasso(lam / 50, fit_intercept=intercept, tol=1e-14, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, lasso.coef_, atol=1e-8)
    assert model.intercept_ == pytest.approx(lasso.intercept_, abs=1e-8)
    assert 0 < np.count_nonzero(model.coef_) < 50


def test_steps_at_several_penalties_are_those_at_each():
    X, y = near_copies()
    groups = make_groups(8, "ones", 96)
    penalties = [Penalty(*pair, groups) for pair in ((300.0, 100.0), (0.0, 10.0), (30.0, 0.0))]
    together = run_fista(X, y, penalties, 50)
    for penalty, w in zip(penalties, together):
        np.testing.assert_allclose(w, run_fista(X, y, [penalty], 50)[0], rtol=1e-9, atol=1e-12)
    assert len({np.count_nonzero(w) for w in together}) == 3


def test_the_gap_bounds_the_suboptimality_at_every_step():
    X, y = near_copies()
    penalty = Penalty(300.0, 100.0, make_groups(8, "ones", 96))
    minimum = objective(SparseGroupLasso(300.0, 100.0, 8, tol=1e-13).fit(X, y), X, y)
    for n_steps in (1, 3, 10, 30, 100, 1000):
        w = run_fista(X, y, [penalty], n_steps)[0]
        above = 0.5 * np.sum((y - X @ w) ** 2) + penalty.value(w) - minimum
        assert -1e-9 <= above <= duality_gap(X, y, penalty, w) + 1e-9
    assert above < 1e-3


@pytest.mark.parametrize("solver", ["exact", "fista"])
def test_columns_groups_and_units_do_not_matter(solver):
    rng = np.random.default_rng(5)
    X, y, labels = rng.normal(size=(40, 24)), rng.normal(size=40), np.repeat(np.arange(6), 4)
    options = {"solver": solver, "tol": 1e-13, "max_iter": 300}
    plain = SparseGroupLasso(3.0, 2.0, 4, **options).fit(X, y)
    assert 0 < len(plain.active_groups_) < 6
    order = rng.permutation(24)
    for groups in (labels[order], list("fedcba"), [np.flatnonzero(labels[order] == g) for g in range(6)]):
        groups = np.array(groups)[labels[order]] if isinstance(groups[0], str) else groups
        moved = SparseGroupLasso(3.0, 2.0, groups, **options).fit(X[:, order], y)
        np.testing.assert_allclose(moved.coef_, plain.coef_[order], atol=1e-7)
    scaled = SparseGroupLasso(300.0, 200.0, 4, **options).fit(100 * X, y)
    np.testing.assert_allclose(100 * scaled.coef_, plain.coef_, atol=1e-7)


@pytest.mark.parametrize("solver", ["exact", "fista"])
def test_zero_and_constant_columns_get_no_weight(solver):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 9)), rng.normal(size=30)
    X[:, 3:6], X[:, 7] = 0.0, 4.7
    for intercept in (False, True):
        model = SparseGroupLasso(0.3, 0.2, 3, fit_intercept=intercept, solver=solver).fit(X, y)
        assert not model.coef_[3:6].any()
        assert (model.coef_[7] == 0) == intercept
        assert model.coef_[0] != 0
    assert SparseGroupLasso(1, 0, 3, solver=solver).fit(0 * X, y).dual_gap_ == 0
    assert not SparseGroupLasso(1, 0, 3, solver=solver).fit(X, 0 * y).coef_.any()


def test_a_path_is_its_single_solutions():
    X, y = near_copies()
    top = sgl_lambda_max(X, y, 8, tau=0.3, fit_intercept=True)
    pairs = [(0.3 * lam, 0.7 * lam) for lam in top * np.geomspace(1, 1e-4, 12)]
    path = sgl_path(X, y, pairs, groups=8, fit_intercept=True, tol=1e-12)
    assert not path.coefs[0].any()
    assert (path.dual_gaps <= 1e-12 * 0.5 * np.sum((y - y.mean()) ** 2)).all()
    for pair, w, b in zip(pairs, path.coefs, path.intercepts):
        cold = SparseGroupLasso(*pair, 8, fit_intercept=True, tol=1e-12).fit(X, y)
        np.testing.assert_allclose(X @ w + b, cold.predict(X), atol=1e-4)
        assert objective(cold, X, y) == pytest.approx(
            0.5 * np.sum((y - X @ w - b) ** 2) + Penalty(*pair, make_groups(8, "ones", 96)).value(w), abs=1e-10 * len(y)
        )


@pytest.mark.parametrize("lam", [(1.0, 0.001), (0.1, 0.1), (0.0, 1.0), (1.0, 0.0)])
def test_near_copies_near_interpolation_are_solved(lam):
    X, y = near_copies()
    model = SparseGroupLasso(*lam, 8).fit(X, y)  # a ConvergenceWarning would be an error
    assert model.dual_gap_ <= 1e-6 * 30
    slow = run_fista(X, y, [Penalty(*lam, make_groups(8, "ones", 96))], 2000)[0]
    assert objective(model, X, y) <= 0.5 * np.sum((y - X @ slow) ** 2) + Penalty(
        *lam, make_groups(8, "ones", 96)
    ).value(slow)


def test_descent_and_the_augmented_lagrangian_agree():
    X, y = near_copies(n=40, d=5, s=6, seed=3)
    groups = make_groups(6, "sqrt", 30)
    problem, lam2 = SGLProblem(X, y, groups), 50 * groups.weights
    descent = BlockDescent(problem, 20.0, lam2, np.zeros(30))

    def gap_of(w):
        descent.w, descent.r = w, y - X @ w
        return descent.gap(X.T @ descent.r, problem.all)[0]

    w = AugmentedLagrangian(problem.XT, y, groups, 20.0, lam2, problem.all).solve(np.zeros(30), gap_of, 1e-10)
    assert gap_of(w) <= 1e-10
    np.testing.assert_allclose(X @ w, X @ solve_sgl(problem, 20.0, 50.0, None, 1e-13, 500)[0], atol=1e-4)


def test_screening_drops_most_groups_but_none_of_the_solution():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 120)), rng.normal(size=40)
        problem, groups = SGLProblem(X, y, make_groups(4, "ones", 120)), make_groups(4, "ones", 120)
        lam = float(rng.uniform(0.1, 0.6)) * sgl_lambda_max(X, y, 4, tau=0.5) / 2
        best = solve_sgl(problem, lam, lam, None, 1e-14, 500)[0]
        for tol in (1e-2, 1e-4, 1e-14):
            w = solve_sgl(problem, lam, lam, None, tol, 500)[0]
            descent = BlockDescent(problem, lam, lam * groups.weights, w)
            z = X.T @ descent.r
            gap, scale = descent.gap(z, problem.all)
            remaining = descent.screen(z, scale, gap, problem.all)
            assert set(np.flatnonzero(groups.sums(np.abs(best)))) <= set(remaining)
        assert len(remaining) <= np.count_nonzero(groups.sums(np.abs(best))) + 1


def test_groups_too_large_for_a_gram_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 700))
    y = X[:, :5].sum(axis=1)
    model = SparseGroupLasso(3.0, 2.0, np.repeat([0, 1], [600, 100])).fit(X, y)
    assert 0 < np.count_nonzero(model.coef_) < 100
    assert model.dual_gap_ <= 1e-6 * 0.5 * y @ y


@pytest.mark.parametrize("shape", [(5, 7), (7, 5), (300, 250), (250, 300)])
def test_squared_norm(shape):
    X = np.random.default_rng(0).normal(size=shape)
    assert squared_norm(X) == pytest.approx(np.linalg.norm(X, 2) ** 2, rel=1e-8)


def test_published_steps_are_plain_fista():
    X, y = near_copies(seed=1)
    labels, lam1, lam2 = np.repeat(np.arange(12), 8), 100.0, 30.0
    L, w, v, t = np.linalg.norm(X, 2) ** 2, np.zeros(96), np.zeros(96), 1.0
    for _ in range(100):
        u = v - X.T @ (X @ v - y) / L
        u = np.sign(u) * np.maximum(np.abs(u) - lam1 / L, 0)
        new = np.zeros(96)
        for g in range(12):
            norm = np.linalg.norm(u[labels == g])
            if norm > lam2 / L:
                new[labels == g] = u[labels == g] * (1 - lam2 / L / norm)
        later = (1 + np.sqrt(1 + 4 * t * t)) / 2
        v, w, t = new + (t - 1) / later * (new - w), new, later
    model = SparseGroupLasso(lam1, lam2, 8, solver="fista").fit(X, y)
    np.testing.assert_allclose(model.coef_, w, atol=1e-10)
    assert model.n_iter_ == 100


def test_predictions_read_only_used_columns():
    model = SparseGroupLasso(1.0, 1.0, 2).fit(X8, Y8)
    corrupted = np.where(model.coef_ != 0, X8, 1e300)
    np.testing.assert_array_equal(model.predict(corrupted), model.predict(X8))


def test_a_fit_that_did_not_converge_warns():
    X, y = near_copies()
    with pytest.warns(ConvergenceWarning, match=r"the duality gap is .* after 1 iterations, above"):
        model = SparseGroupLasso(30.0, 1.0, 8, max_iter=1).fit(X, y)
    assert model.dual_gap_ > 1e-6 * 30


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"lam1": -1.0}, "lam1 must be a finite number of at least 0, got -1.0"),
        ({"lam2": np.inf}, "lam2 must be a finite number"),
        ({"lam1": np.nan}, "lam1 must be a finite number"),
        ({"lam1": 0, "lam2": 0}, "must not both be 0"),
        ({"lam1": "1"}, "'lam1' parameter of SparseGroupLasso"),
        ({"groups": 4}, "divides 6, got 4"),
        ({"groups": 0}, "'groups' parameter"),
        ({"groups": [0, 0, 1]}, "one label for each of the 6 columns, got 3"),
        ({"groups": [[0, 1], [2, 3]]}, "each of the 6 columns exactly once, got 4"),
        ({"groups": [[0, 1], [1, 2], [3, 4, 5]]}, "exactly once, got 7"),
        ({"groups": [[0, 1], [2, 3, 4, 7]]}, "exactly once"),
        ({"groups": [[0, 1, 2, 3, 4, 5], []]}, "empty group 1"),
        ({"groups": [[0.5, 1], [2, 3, 4, 5]]}, "whole numbers"),
        ({"groups": 3, "group_weights": [1.0, 2.0, 3.0]}, r"must have shape \(2,\), one per group, got \(3,\)"),
        ({"groups": 3, "group_weights": [1.0, 0.0]}, "positive and finite"),
        ({"group_weights": "root"}, "'group_weights' parameter"),
        ({"solver": "lars"}, "'solver' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(options, word):
    with pytest.raises(ValueError, match=word) as error:
        SparseGroupLasso(**options).fit(X8, Y8)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_numbers_are_refused(bad):
    broken = X8.copy()
    broken[2, 3] = bad
    path, top = lambda X, y: sgl_path(X, y, [(1, 1)]), lambda X, y: sgl_lambda_max(X, y, tau=1)
    for call in (SparseGroupLasso().fit, path, top):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            call(broken, Y8)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            call(X8, np.where(np.arange(8) == 1, bad, Y8))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("name", "scale"), [("X", 1e155), ("y", 1e155), ("y", 1e308)])
@pytest.mark.parametrize("lam1", [0.0, 1.0])
def test_numbers_whose_squares_overflow_are_refused(name, scale, intercept, lam1):
    """Their duality gap is no number; it counted as converged, and all coefficients were 0."""
    data = {"X": X8, "y": Y8 / np.abs(Y8).max()}
    data[name] = data[name] * scale
    with pytest.raises(ValueError, match=f"{name} must have squares"):
        SparseGroupLasso(lam1, 1.0, 2, fit_intercept=intercept).fit(**data)
    with pytest.raises(ValueError, match=f"{name} must have squares"):
        sgl_lambda_max(data["X"], data["y"], tau=0.5, groups=2, fit_intercept=intercept)


def test_a_gap_that_is_no_number_is_not_converged(monkeypatch):
    monkeypatch.setattr(GroupDescent, "gap", lambda *_: np.nan)
    with pytest.warns(ConvergenceWarning, match="the duality gap is nan"):
        SparseGroupLasso(0.0, 1.0, 2).fit(X8, Y8)


def test_lambda_max_and_path_refuse_in_a_sentence():
    with pytest.raises(ValueError, match="exactly one of tau, lam1 and lam2 must be given, got none"):
        sgl_lambda_max(X8, Y8)
    with pytest.raises(ValueError, match="got tau and lam2"):
        sgl_lambda_max(X8, Y8, tau=0.5, lam2=1.0)
    with pytest.raises(ValueError, match=r"tau must lie in \[0, 1\], got 2"):
        sgl_lambda_max(X8, Y8, tau=2)
    with pytest.raises(ValueError, match="lam1 must be"):
        sgl_path(X8, Y8, [(1, 1), (-1, 1)])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    p=st.integers(1, 10),
    share=st.floats(1e-4, 1.2),
    tau=st.floats(0, 1),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
)
@example(seed=4701829, n=1, p=1, share=0.046875, tau=1.2433112767888236e-10, scale=1e-8)
@example(seed=7, n=8, p=10, share=0.3, tau=1e-9, scale=1.0)
def test_any_problem_is_solved_to_its_gap(seed, n, p, share, tau, scale):
    rng = np.random.default_rng(seed)
    X, y = scale * rng.integers(-2, 3, (n, p)), rng.normal(size=n)
    labels = rng.integers(0, 3, p)
    top = sgl_lambda_max(X, y, labels, tau=tau)
    if top == 0:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SparseGroupLasso(share * top * tau, share * top * (1 - tau), labels).fit(X, y)
    assert model.dual_gap_ <= 1e-6 * 0.5 * y @ y
