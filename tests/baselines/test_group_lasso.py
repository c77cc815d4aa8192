"""The solver of the group LASSO: against the solver with an L1 penalty of 0, its gap, bounds and warm starts."""

from __future__ import annotations

import numpy as np
import pytest

from baselines.sparse_group_lasso import classifier, group_lasso, kernels
from baselines.sparse_group_lasso.classifier import lambda_max, logistic_path, solve_logistic
from baselines.sparse_group_lasso.exact import SGLProblem, _solve_on_working_sets, solve_dual, solve_sgl
from baselines.sparse_group_lasso.fista import duality_gap
from baselines.sparse_group_lasso.group_lasso import GroupDescent, SquaredLoss
from baselines.sparse_group_lasso.groups import make_groups
from baselines.sparse_group_lasso.penalty import Penalty
from support.sgl_problems import near_copies, subdifferential_distance


def problem(seed: int, correlation: float = 0.0, n: int = 50):
    """Return a table, two targets, and groups of different sizes whose columns are not neighbours."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(8), [1, 1, 2, 3, 5, 8, 13, 17]))
    common = rng.normal(size=(n, 8))[:, labels]
    X = np.sqrt(1 - correlation) * rng.normal(size=(n, 50)) + np.sqrt(correlation) * common
    X = X * rng.uniform(0.5, 2.0, 50) + 0.3
    y = X[:, labels == 3].sum(axis=1) - X[:, labels == 0][:, 0] + rng.normal(size=n)
    return X, y, (y > np.median(y)).astype(float), make_groups(labels, "sqrt", 50)


def squared_objective(X, y, w, penalty):
    return 0.5 * np.sum((y - X @ w) ** 2) + penalty.value(w)


def logistic_objective(X, y, w, b, penalty):
    eta = X @ w + b
    return np.logaddexp(0, eta).sum() - y @ eta + penalty.value(w)


def in_columns(groups, places):
    w = np.empty_like(places)
    w[groups.order] = places
    return w


@pytest.mark.parametrize("size", [1, 3, 4, 10])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.one_in(2)
def test_a_visit_finds_the_minimum_over_the_group(size, centre):
    rng = np.random.default_rng(size)
    XT, weights = rng.normal(size=(size, 30)), rng.uniform(0.1, 1.0, 30)
    r = rng.normal(size=30)
    r -= weights * r.sum() / weights.sum() if centre else 0.0
    groups, row, before = make_groups(size, "ones", size), np.empty(30), r.copy()
    grams, chosen = np.empty((1, size, size)), np.array([0])
    kernels.weighted_grams(XT, groups.first, chosen, weights, centre, grams, row)
    Z = XT - XT @ weights[:, None] / weights.sum() if centre else XT
    np.testing.assert_allclose(grams[0], Z * weights @ Z.T, rtol=1e-12, atol=1e-12)
    values, vectors = np.linalg.eigh(grams[0])
    blocks = kernels.EigenBlocks(XT, groups.first, values, vectors.ravel(), np.array([0]))
    for share in (0.99, 0.5, 1e-6, 1.01):  # of the smallest penalty at which the weights are zero
        largest = float(np.linalg.norm(XT @ before))
        w, lam, r = np.zeros(size), share * largest, before.copy()
        change_b, decrease, visits = kernels.descend_groups(
            blocks, chosen, np.array([lam]), weights, centre, 1.0, w, r, np.empty((3, size)), row, 0.0, 1
        )
        np.testing.assert_allclose(r, before - weights * (w @ XT + change_b), atol=1e-12)
        assert visits == 1
        assert (decrease > 0) == w.any() == (share < 1)
        if share < 1:
            np.testing.assert_allclose(XT @ r, lam * w / np.linalg.norm(w), atol=1e-8 * largest)
        if centre:
            assert abs(r.sum()) < 1e-12


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.one_in(2)
def test_a_path_has_the_solutions_of_the_general_solver(seed, correlation):
    X, y, _, groups = problem(seed, correlation)
    top, bound = Penalty(0.0, 1.0, groups).dual_norm(X.T @ y), 0.5 * float(y @ y)
    for tol in (1e-6, 1e-11):
        path, w = SGLProblem(X, y, groups), None
        for lam in top * np.geomspace(1.0, 0.005, 12):
            w, gap, _ = solve_sgl(path, 0.0, lam, w, tol, 200)
            penalty, mine = Penalty(0.0, lam, groups), in_columns(groups, w)
            other, *_ = _solve_on_working_sets(SGLProblem(X, y, groups), 0.0, lam, None, tol * bound, 200)
            assert gap <= tol * bound
            assert gap == pytest.approx(duality_gap(X, y, penalty, mine), abs=1e-13 * bound)
            values = [squared_objective(X, y, v, penalty) for v in (mine, in_columns(groups, other))]
            assert abs(values[0] - values[1]) <= tol * bound
        distance = subdifferential_distance(penalty, mine, X.T @ (X @ mine - y))
        assert distance.max() <= 1e-3 * lam
        assert mine.any()


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_a_logistic_path_has_the_solutions_of_newtons_method(seed, correlation):
    X, _, y, groups = problem(seed, correlation)
    lams, loss = lambda_max(X, y, 0.0, groups) * np.geomspace(1.0, 0.005, 8), len(y) * np.log(2)
    for tol in (1e-6, 1e-10):
        for lam, found in zip(lams, logistic_path(X, y, [(0.0, v) for v in lams], groups, tol=tol)):
            penalty = Penalty(0.0, lam, groups)
            other = classifier._run_newton(classifier._State(X, y, penalty), None, tol * loss, 100)
            values = [logistic_objective(X, y, s.w, s.b, penalty) for s in (found, other)]
            assert abs(values[0] - values[1]) <= tol * loss
            assert found.gap <= tol * loss
            residual = y - 1 / (1 + np.exp(-X @ found.w - found.b))
            assert abs(residual.sum()) <= 1e-9
        assert subdifferential_distance(penalty, found.w, -X.T @ residual).max() <= 1e-3 * lam
        assert found.w.any()


@pytest.mark.parametrize("logistic", [False, True])
def test_any_order_of_penalties_gives_the_same_solutions(logistic):
    X, y, zero_one, groups = problem(4)
    if logistic:
        target, descent = zero_one, classifier._group_descent(X, zero_one, groups)
    else:
        target, descent = y, SGLProblem(X, y, groups).group_descent(None)
    lam = 0.1 * Penalty(0.0, 1.0, groups).dual_norm(X.T @ (target - target.mean()))
    found = []
    for share in (1.0, 0.5, 1.0, 1.0, 3.0, 2.0, 1.0, 20.0, 1.0):
        gap, _ = descent.solve(share * lam, 1e-9, max_sets=100)
        assert gap <= 1e-9
        found += [descent.w] if share == 1.0 else []
    copies = [w.copy() for w in found]
    descent.solve(0.3 * lam, 1e-9, max_sets=100)
    for w, copy in zip(found, copies):  # later solutions do not change those that were handed out
        np.testing.assert_array_equal(w, copy)
        np.testing.assert_allclose(w, found[0], atol=1e-4)
    assert found[0].any()


@pytest.mark.parametrize("n", [3, 200])
def test_bounds_in_single_precision_hold(n):
    rng = np.random.default_rng(n)
    groups = make_groups(4, "ones", 80)
    for scale in (1e-125, 1e-30, 1.0, 1e30, 1e125):
        XT = scale * rng.normal(size=(80, n)) * 10.0 ** rng.uniform(-20, 0, (80, n))
        XT[8:12] = 0.0
        descent = GroupDescent(XT, SquaredLoss(rng.normal(size=n)), groups, solve_dual)
        exact = np.linalg.norm((XT / scale @ descent.residual).reshape(-1, 4), axis=1)
        for chosen in (np.arange(0), np.arange(5)):
            descent.correlate_all(chosen, scale * np.ones(20))
            norms = descent.norms / scale
            assert (norms >= exact * (1 - 1e-12)).all()
            np.testing.assert_allclose(norms[chosen], exact[chosen], rtol=1e-9)
            np.testing.assert_allclose(norms.max(), exact.max(), rtol=1e-9)
            assert (norms <= exact + 1e-3 * np.linalg.norm(XT / scale) * np.linalg.norm(descent.residual)).all()


def test_no_single_precision_for_many_rows(monkeypatch):
    X, y, _, groups = problem(0)
    expected = solve_sgl(SGLProblem(X, y, groups), 0.0, 20.0, None, 1e-8, 100)
    monkeypatch.setattr(group_lasso, "MAX_ROUNDING", 1e-9)
    found = solve_sgl(SGLProblem(X, y, groups), 0.0, 20.0, None, 1e-8, 100)
    assert found[1] == pytest.approx(expected[1], rel=1e-6)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-9)


def test_slow_descent_is_rescued(monkeypatch):
    calls = []
    monkeypatch.setattr(group_lasso, "MIN_STEPS", 1)
    monkeypatch.setattr(group_lasso, "DESCENT_BUDGET", 0)
    monkeypatch.setattr(group_lasso, "EPOCHS_PER_STEP", 1)
    X, y = near_copies()
    groups, zero_one = make_groups(8, "ones", 96), (y + 1) / 2
    step = classifier._State.step
    monkeypatch.setattr(classifier._State, "step", lambda *given: calls.append("newton") or step(*given))
    for lam in (100.0, 1.0):
        assert solve_sgl(SGLProblem(X, y, groups), 0.0, lam, None, 1e-8, 100)[1] <= 1e-8 * 0.5 * y @ y
        found = solve_logistic(X / 100, zero_one, 0.0, lam / 100, groups, tol=1e-8)
        assert found.gap <= 1e-8 * len(y)
    assert "newton" in calls


def test_groups_too_large_for_eigenvectors_take_the_general_solver():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 600))
    y = X[:, :5].sum(axis=1)
    groups = make_groups(np.repeat([0, 1], [560, 40]), "sqrt", 600)
    w, gap, _ = solve_sgl(SGLProblem(X, y, groups), 0.0, 2.0, None, 1e-6, 200)
    assert gap <= 1e-6 * 0.5 * y @ y
    zero_one = (y > 0).astype(float)
    assert solve_logistic(X, zero_one, 0.0, 0.2, groups).gap <= 1e-6 * len(y)
    assert w.any()
