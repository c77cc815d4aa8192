"""Disjunctions by hierarchical kernel learning: optima over the full lattice, properties, noise-free concepts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from baselines import DisjunctionClassifier
from baselines.hkl.classifier import mirror_descent
from baselines.hkl.interior_point import interior_point
from support.hkl_problems import BOARDS, NOISY, ROWS, SIDES, every_node, lattice, monk, random_problem, whole_problem
from support.problems import needs_folder

# Optima over all disjunctions of random_problem(seed), by cvxpy 1.9 with Clarabel at tolerance 1e-10.
OPTIMA = {
    0: 42.472200, 1: 89.496366, 2: 30.442012, 3: 38.065189, 4: 7.051839, 5: 9.747047,
    6: 97.920800, 7: 22.991003, 8: 98.848800, 9: 129.504200, 10: 3.909771, 11: 45.542000,
    12: 22.674495, 13: 20.503585, 14: 36.691200, 15: 42.301800, 16: 33.996515, 17: 56.087000,
}  # fmt: skip


@pytest.mark.parametrize("seed", OPTIMA)
@pytest.mark.parametrize("stop", ["necessary", "sufficient"])
@pytest.mark.one_in(2)
def test_the_optimum_is_that_of_a_general_solver_over_all_disjunctions(seed, stop):
    X, y, options = random_problem(seed)
    model = DisjunctionClassifier(**options, stop=stop, tol=2e-5, max_active=1000).fit(X, y)
    assert model.objective_ == pytest.approx(OPTIMA[seed], rel=1e-4)
    assert model.dual_objective_ <= OPTIMA[seed] * (1 + 1e-6)
    if stop == "sufficient":
        assert model.status_ == "certified"
        assert model.objective_ <= OPTIMA[seed] * (1 + 2.1e-5)


# root, p: optimum, norm, and weights of nodes 0, 01, 012 (the same for all of a size; node 3: 2.0), at C 100, beta 2.
FOUR = {
    (True, 2.0): (996.386452, 12.3483, -0.3565, 0.2091, 0.0856),
    (True, 1.5): (1006.190056, 10.6219, -0.2320, 0.1422, 0.0378),
    (True, 1.1): (1015.240080, 8.2486, -0.0932, 0.0616, 0.0014),
    (False, 2.0): (968.968814, 12.8353, -0.5094, 0.3012, 0.1152),
    (False, 1.5): (980.285188, 11.4451, -0.3995, 0.2486, 0.0532),
    (False, 1.1): (991.950766, 9.6656, -0.2735, 0.1821, 0.0007),
}
FEW = {
    (True, 2.0): 109.68, (True, 1.5): 109.68, (True, 1.1): 109.68,
    (False, 2.0): 102.751132, (False, 1.5): 102.875382, (False, 1.1): 102.88,
}  # fmt: skip


@pytest.mark.parametrize(("root", "p"), FOUR)
def test_four_features(root, p):
    optimum, norm, *weights = FOUR[root, p]
    problem = whole_problem(ROWS, SIDES, 100, lattice(4, root=root), p)
    found = interior_point(problem, 1e-8)
    assert found.primal == pytest.approx(optimum, rel=1e-6)
    assert found.dual == pytest.approx(optimum, rel=1e-6)
    assert problem.omega(found.w) == pytest.approx(norm, abs=2e-3)
    assert found.b == pytest.approx(1.0, abs=1e-4)
    w = dict(zip(every_node(lattice(4)), found.w))
    expected = dict(zip([(0,), (0, 1), (0, 1, 2)], weights)) | {(3,): 2.0, (0, 3): 0.0}
    for node, weight in expected.items():
        assert w[node] == pytest.approx(weight, abs=2e-3)
    model = DisjunctionClassifier(100, 2, p, root=root, stop="sufficient", tol=1e-6, max_iter=50).fit(ROWS, SIDES)
    assert model.objective_ == pytest.approx(optimum, rel=1e-5)
    assert model.status_ == "certified"


@pytest.mark.parametrize(("root", "p"), FEW)
def test_four_features_with_much_regularisation(root, p):
    model = DisjunctionClassifier(10, 1.2, p, root=root, stop="sufficient", tol=1e-6).fit(ROWS, SIDES)
    assert model.objective_ == pytest.approx(FEW[root, p], rel=1e-5)
    if root:
        assert model.disjunctions_ == [(3,)]
        np.testing.assert_allclose(model.coef_, [[2.0]], atol=1e-3)


@pytest.mark.parametrize("p", [2.0, 1.5, 1.1])
def test_mirror_descent_reaches_the_same_optimum(p):
    optimum = FOUR[True, p][0]
    found = mirror_descent(whole_problem(ROWS, SIDES, 100, lattice(4), p), 2e-3)
    assert found.dual <= optimum * (1 + 1e-6)
    assert optimum * (1 - 1e-6) <= found.primal <= optimum * 1.002
    model = DisjunctionClassifier(p=p, solver="mirror").fit(ROWS, SIDES)
    assert model.status_ == "certified"
    assert model.objective_ == pytest.approx(optimum, rel=1e-2)


@needs_folder
@pytest.mark.parametrize(
    ("number", "C", "p", "optimum", "accuracy"),
    [(1, 100, 2.0, 1563.651, 1.0), (1, 100, 1.5, 1626.471, 1.0), (3, 10, 2.0, 229.765, 0.9722)],
)
def test_certified_optima_of_monk(number, C, p, optimum, accuracy):
    (X, y), (X_test, y_test) = monk(number)
    model = DisjunctionClassifier(C, 2, p, stop="sufficient", tol=1e-3, max_active=2000).fit(X, y)
    assert model.status_ == "certified"
    assert model.dual_objective_ <= optimum * (1 + 3e-5)
    assert optimum * (1 - 3e-5) <= model.objective_ <= 1.001 * optimum * (1 + 3e-5)
    assert model.score(X_test, y_test) == pytest.approx(accuracy, abs=1e-4)


def test_certified_optimum_of_all_boards():
    X, y = BOARDS
    assert (len(y), y.sum()) == (958, 626)
    model = DisjunctionClassifier(100, 4, stop="sufficient", tol=3e-5).fit(X, y)
    assert model.objective_ == pytest.approx(14826.18, rel=6e-5)
    assert model.status_ == "certified"
    assert sorted(map(len, model.disjunctions_)) == [1] * 18
    assert model.score(X, y) == pytest.approx(0.98330, abs=1e-5)


@pytest.mark.slow  # conjunctions of fewer rows: tests/baselines/test_hkl_estimator.py
def test_conjunctions_of_all_boards_are_the_lines():
    X, y = BOARDS
    model = DisjunctionClassifier(1000, 1.2, 1.1, connective="and", max_literals=3, max_active=600).fit(X, y)
    assert model.score(X, y) == 1.0
    won = [rule for rule, weight in zip(model.disjunctions_, model.coef_[0]) if len(rule) == 3 and weight > 1.0]
    assert sorted(won) == sorted(
        tuple(3 * k for k in line)
        for line in [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    )


TIGHT = {"stop": "sufficient", "tol": 1e-6, "max_active": 1000, "weight_threshold": 0.0}


@pytest.mark.parametrize("options", [{}, {"p": 1.5, "root": False}, {"p": 1.1, "beta": 1.5}])
class TestProperties:
    def test_conjunctions_are_disjunctions_of_the_negated_features(self, options):
        X, y = NOISY
        either = DisjunctionClassifier(5, **options, **TIGHT).fit(X, y)
        both = DisjunctionClassifier(5, **options, **TIGHT, connective="and").fit(1 - X, y)
        assert both.objective_ == pytest.approx(either.objective_, rel=1e-10)
        np.testing.assert_allclose(both.decision_function(1 - X), either.decision_function(X), atol=1e-9)

    def test_duplicated_rows_at_half_the_weight_give_the_same_model(self, options):
        X, y = NOISY
        one = DisjunctionClassifier(5, **options, **TIGHT).fit(X, y)
        twice = DisjunctionClassifier(2.5, **options, **TIGHT).fit(np.vstack([X, X]), np.hstack([y, y]))
        weighed = DisjunctionClassifier(2.5, **options, **TIGHT).fit(X, y, sample_weight=np.full(len(y), 2.0))
        for other in (twice, weighed):
            assert other.objective_ == pytest.approx(one.objective_, rel=1e-9)
            np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-6)

    def test_another_order_of_features_gives_the_same_model(self, options):
        X, y = NOISY
        order = np.random.default_rng(0).permutation(X.shape[1])
        one = DisjunctionClassifier(5, **options, **TIGHT).fit(X, y)
        other = DisjunctionClassifier(5, **options, **TIGHT).fit(X[:, order], y)
        assert other.objective_ == pytest.approx(one.objective_, rel=2e-6)
        np.testing.assert_allclose(other.decision_function(X[:, order]), one.decision_function(X), atol=0.02)

    def test_bounds_and_hull(self, options):
        X, y = random_problem(4)[:2]
        model = DisjunctionClassifier(5, **options, stop="sufficient", tol=0.02, max_add=3).fit(X, y)
        optimum = DisjunctionClassifier(5, **options, **TIGHT).fit(X, y).objective_
        assert model.status_ == "certified"
        assert model.objective_ <= optimum / (1 - 0.02)
        duals = [h["dual"] for h in model.history_[0]]
        assert len(duals) > 2
        assert all(d <= optimum * (1 + 1e-6) for d in duals)
        assert all(h["restricted_dual"] <= h["objective"] for h in model.history_[0])
        active = set(model.active_nodes_[0])
        assert all(tuple(l for l in v if l != dropped) in active | {()} for v in active for dropped in v)


def test_prior_and_groups():
    X, y = NOISY
    n = X.shape[1]
    cheap = [8.0] * n
    cheap[4] = 0.5
    assert (
        DisjunctionClassifier(1, prior=cheap).fit(X, y).disjunctions_
        != DisjunctionClassifier(1).fit(X, y).disjunctions_
    )
    groups = np.arange(n) % 2
    model = DisjunctionClassifier(100, 1.2, groups=groups).fit(X, y)
    assert max(map(len, model.active_nodes_[0])) > 1
    assert all(len({int(groups[l]) for l in v}) == 1 for v in model.active_nodes_[0])
    same = DisjunctionClassifier(100, 1.2, groups=[list(range(0, n, 2)), list(range(1, n, 2))]).fit(X, y)
    assert same.objective_ == model.objective_
    short = DisjunctionClassifier(100, 1.2, max_literals=2).fit(X, y)
    assert max(map(len, short.active_nodes_[0])) == 2


def test_parity_is_missed_by_the_necessary_condition_and_found_by_the_sufficient_one():
    X = np.array([[i >> j & 1 for j in range(3)] for i in range(8)], dtype=float)
    y = X.sum(axis=1) % 2
    assert DisjunctionClassifier(1e5).fit(X, y).score(X, y) == 0.5
    assert DisjunctionClassifier(1e5, stop="sufficient").fit(X, y).score(X, y) == 1.0


def test_describe_reports_that_a_fit_is_not_certified():
    X, y = BOARDS
    model = DisjunctionClassifier(1000).fit(X, y)
    assert model.status_ == "necessary"
    assert model.dual_gap_ > 0.01 >= model.restricted_gap_
    assert (
        "not certified: adding any single disjunction would not help, and the relative gap may be as large as"
        in model.describe()
    )
    model = DisjunctionClassifier(1000, 1.2, stop="sufficient", max_active=40).fit(X, y)
    assert (model.status_, model.n_active_) == ("max_active", 40)
    assert "not certified: stopped at max_active" in model.describe()
    model = DisjunctionClassifier(1000, stop="sufficient", max_iter=1, max_add=5).fit(X, y)
    assert model.status_ == "max_iter"
    assert "not certified: stopped at max_iter" in model.describe()
    assert "\ncertified: " in DisjunctionClassifier(1, 4, stop="sufficient").fit(X, y).describe()


def test_without_a_bound_the_gap_is_nan(monkeypatch):
    monkeypatch.setattr("baselines.hkl.classifier.CERTIFICATE_MAX_ROWS", 5)
    model = DisjunctionClassifier().fit(*NOISY)
    assert model.status_ == "necessary"
    assert np.isnan(model.dual_gap_)
    assert "no bound was computed" in model.describe()


def test_bounds_of_hundreds_of_features_are_loose_but_do_not_overflow():
    rng = np.random.default_rng(0)
    X = (rng.random((40, 2500)) < 0.2).astype(float)
    y = X[:, 0]
    model = DisjunctionClassifier(max_literals=2500).fit(X, y)
    assert model.status_ == "necessary"
    assert 0.9 < model.dual_gap_ <= 1.0
    wide = (rng.random((12, 9000)) < 0.5).astype(float)
    assert DisjunctionClassifier(max_literals=9000, max_add=5).fit(wide, wide[:, 0]).dual_gap_ == 1.0
    assert DisjunctionClassifier(C=1.0, max_literals=2, beta=8).fit(X, y).dual_gap_ < 0.5


@needs_folder
@pytest.mark.parametrize(
    ("number", "options", "least"),
    [(1, (1000, 2, 1.1), 1.0), (2, (1000, 1.2, 2.0), 0.8515), (3, (10, 4, 1.1), 0.9722)],
)
def test_monk(number, options, least):
    (X, y), (X_test, y_test) = monk(number)
    model = DisjunctionClassifier(*options).fit(X, y)
    assert model.score(X_test, y_test) >= least - 5e-5


@needs_folder
@pytest.mark.slow
def test_all_boards_in_folds():
    X, y = BOARDS
    parts = StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)
    scores = [DisjunctionClassifier(1e4).fit(X[a], y[a]).score(X[b], y[b]) for a, b in parts]
    assert np.mean(scores) >= 0.985
