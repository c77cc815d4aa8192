"""Disjunctions by hierarchical kernel learning: against brute force over the whole lattice, and on exact concepts."""

from __future__ import annotations

import os
import tracemalloc
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from baselines import Booleanizer, DisjunctionClassifier
from baselines.hkl.certificate import Certificate
from baselines.hkl.interior_point import interior_point
from baselines.hkl.lattice import ActiveSet, Lattice, truth
from baselines.hkl.mirror import gradient, machine, mirror_descent
from baselines.hkl.problem import Problem, best_bias
from fsgym import load_dataset

needs_folder = pytest.mark.skipif(not os.environ.get("FSGYM_DATA"), reason="FSGYM_DATA names no folder of data sets")
ROWS = np.array([[i >> j & 1 for j in range(4)] for i in range(16)], dtype=float)
SIDES = np.array([-1, 1, 1, -1, 1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, -1.0])
BALANCED = np.arange(16) - 7.5


@parametrize_with_checks(
    [
        DisjunctionClassifier(),
        DisjunctionClassifier(p=1.5, connective="and", stop="sufficient", max_literals=2),
        Booleanizer(),
        Booleanizer(2, negations=True),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# --- the whole lattice, by brute force ---


def lattice(n, beta=2.0, *, prior=None, longest=None, group=None, scale=1.0, root=True):
    prices = np.full(n, float(beta)) if prior is None else np.array(prior, dtype=float)
    return Lattice(prices, longest or n, root, np.zeros(n, dtype=int) if group is None else np.array(group), scale)


def every_node(of):
    """All disjunctions of a lattice, by size and then in lexicographic order."""
    sets = (v for k in range(1, of.longest + 1) for v in combinations(range(of.n_literals), k))
    return [v for v in sets if len(set(of.group[list(v)])) == 1]


def whole_problem(X, y, C, of, p):
    nodes = every_node(of)
    groups = [()] * of.root + nodes
    below = np.array([[set(g) <= set(u) for u in nodes] for g in groups], dtype=float)
    delta = np.array([of.scale * np.prod(of.prices[list(g)]) for g in groups])
    return Problem(truth(X, nodes), y, np.broadcast_to(float(C), len(y)).copy(), below, delta, p)


def random_problem(seed):
    """A small problem: data, options of the classifier."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 7)), int(rng.integers(20, 61))
    X = (rng.random((m, n)) < rng.uniform(0.3, 0.6)).astype(float)
    concept = X[:, 0].astype(bool) | (X[:, 1] * X[:, 2] > 0)
    y = np.where(concept ^ (rng.random(m) < 0.15), 1.0, -1.0)
    options = {
        "C": round(float(10 ** rng.uniform(-1, 1)), 3), "beta": round(float(rng.uniform(1.5, 3)), 2),
        "p": (2.0, 1.5, 1.1)[seed % 3], "root": bool(seed % 2), "max_literals": 2 if seed % 5 == 4 else None,
        "prior": rng.uniform(0.5, 3.0, n).round(2).tolist() if seed % 4 == 3 else None,
        "groups": [0, 1, 0, 1, 1, 0][:n] if seed % 6 == 5 else None,
    }  # fmt: skip
    return X, y, options


def lattice_of(n, options):
    return lattice(
        n, options["beta"], prior=options["prior"], longest=options["max_literals"], group=options["groups"],
        root=options["root"],
    )  # fmt: skip


# Optima over all disjunctions of random_problem(seed), by cvxpy 1.9 with Clarabel at tolerance 1e-10.
OPTIMA = {
    0: 42.472200, 1: 89.496366, 2: 30.442012, 3: 38.065189, 4: 7.051839, 5: 9.747047,
    6: 97.920800, 7: 22.991003, 8: 98.848800, 9: 129.504200, 10: 3.909771, 11: 45.542000,
    12: 22.674495, 13: 20.503585, 14: 36.691200, 15: 42.301800, 16: 33.996515, 17: 56.087000,
}  # fmt: skip


@pytest.mark.parametrize("seed", OPTIMA)
@pytest.mark.parametrize("stop", ["necessary", "sufficient"])
def test_the_optimum_is_that_of_a_general_solver_over_all_disjunctions(seed, stop):
    X, y, options = random_problem(seed)
    model = DisjunctionClassifier(**options, stop=stop, tol=2e-5, max_active=1000).fit(X, y)
    assert model.objective_ == pytest.approx(OPTIMA[seed], rel=1e-4)
    assert model.dual_objective_ <= OPTIMA[seed] * (1 + 1e-6)
    if stop == "sufficient":
        assert model.status_ == "certified"
        assert model.objective_ <= OPTIMA[seed] * (1 + 2.1e-5)


# root, p: optimum, norm, and weights of nodes 0, 01, 012 (all of their size alike, node 3 has 2.0), at C 100, beta 2.
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
def test_mirror_descent_comes_to_the_same_optimum(p):
    optimum = FOUR[True, p][0]
    found = mirror_descent(whole_problem(ROWS, SIDES, 100, lattice(4), p), 2e-3)
    assert found.dual <= optimum * (1 + 1e-6)
    assert optimum * (1 - 1e-6) <= found.primal <= optimum * 1.002
    model = DisjunctionClassifier(p=p, solver="mirror").fit(ROWS, SIDES)
    assert model.status_ == "certified"
    assert model.objective_ == pytest.approx(optimum, rel=1e-2)


# --- norm, prices, gradient: hand-made numbers ---


def sixteen(p):
    return whole_problem(ROWS, SIDES, 100, lattice(4), p)


@pytest.mark.parametrize(("p", "norm"), [(2.0, 185.706715), (1.5, 220.844143), (1.1, 291.341082)])
def test_norm(p, norm):
    w = (-1.0) ** np.arange(16) * np.arange(1, 17) / 10
    problem = sixteen(p)
    # the empty disjunction's own weight, 0.1, is in the reference and in no group but the first
    groups = np.column_stack([np.eye(16)[:, 0], problem.below])
    whole = Problem(np.column_stack([np.zeros(16), problem.Psi]), SIDES, problem.C, groups, problem.delta, p)
    assert whole.omega(w) == pytest.approx(norm, rel=1e-8)


@pytest.mark.parametrize(
    ("p", "zeta", "total"),
    [
        (2.0, [0.00735294, 0.00245098, 0.00315126, 0.00367647, 0.00408497, 0.00105042], 0.030978966),
        (1.5, [0.00735294, 0.00081699, 0.00106062, 0.00126157, 0.00143337, 0.00011785], 0.012935552),
    ],
)
def test_prices(p, zeta, total):
    eta = np.arange(1, 17) / 136
    found = np.concatenate([[eta[0]], sixteen(p).prices(eta) ** (1 / (1 - p))])
    np.testing.assert_allclose(found[:6], zeta, atol=5e-9)
    assert found.sum() == pytest.approx(total, abs=1e-8)


@pytest.mark.parametrize(
    ("p", "value", "slopes"),
    [
        (2.0, 1106.16667, [-95.2443, -121.8210, -82.7392]),
        (1.5, 1061.90347, [-28.42382, -30.36250, -16.56432]),
    ],
)
def test_the_machine_at_equal_eta_and_its_gradient(p, value, slopes):
    problem, eta = sixteen(p), np.full(16, 1 / 16)
    alpha = machine(problem, eta, 1e-10)[1]

    def at(eta):
        t, q = problem.signed(alpha), problem.q
        T = (problem.prices(eta) ** (1 / (1 - p)) * np.abs(t) ** q).sum()
        return alpha.sum() - 0.5 * T ** (2 / q)

    assert at(eta) == pytest.approx(value, rel=1e-6)
    found = gradient(problem, eta, problem.signed(alpha))
    np.testing.assert_allclose(found[[1, 5, 11]], slopes, rtol=1e-4)
    for v in range(16):  # alpha is optimal, so that its change does not count
        h = 1e-6 * np.eye(16)[v]
        assert (at(eta + h) - at(eta - h)) / 2e-6 == pytest.approx(found[v], rel=1e-5)


def test_the_machine_at_fixed_eta_is_a_support_vector_machine():
    problem, eta = sixteen(2.0), np.arange(1, 17) / 136
    w, alpha = machine(problem, eta, 1e-9)
    features = problem.Psi / np.sqrt(problem.prices(eta))
    plain = SVC(C=100, kernel="linear", tol=1e-8).fit(features, SIDES)
    np.testing.assert_allclose(w * np.sqrt(problem.prices(eta)), plain.coef_[0], atol=1e-4)
    assert alpha.sum() == pytest.approx(np.abs(plain.dual_coef_).sum(), rel=1e-4)


@settings(max_examples=100, deadline=None)
@given(
    f=arrays(np.float64, 7, elements=st.integers(-6, 6).map(lambda v: v / 4)),
    C=arrays(np.float64, 7, elements=st.integers(1, 5).map(float)),
)
def test_bias_is_the_best_of_all_knots(f, C):
    y = np.array([1.0, -1, 1, -1, -1, 1, -1])

    def loss(b):
        return C @ np.maximum(0, 1 - y * (f - b))

    assert loss(best_bias(f, y, C)) == pytest.approx(min(loss(b) for b in f - y), abs=1e-12)


# --- the certificate ---


def brute_force(X, a, u, of):
    """sum over v that hold u of t_v^2 / (sum of delta_w over u <= w <= v)^2, term by term."""
    total = 0.0
    rest = [l for l in range(of.n_literals) if l not in u and of.group[l] == of.group[u[0]]]
    for more in (e for k in range(of.longest - len(u) + 1) for e in combinations(rest, k)):
        between = [u + w for k in range(len(more) + 1) for w in combinations(more, k)]
        t = a @ X[:, list(u + more)].any(axis=1)
        total += (t / sum(of.delta(v) for v in between)) ** 2
    return total


def quadratic(of, u, X=ROWS, a=BALANCED):
    """alpha' Q(u) alpha and t_u, all smaller disjunctions being active."""
    active = ActiveSet(of, X)
    for k in range(1, len(u)):
        active.add([v for v in every_node(of) if len(v) == k])
    sources = active.sources()
    k = [active.node(sources, i) for i in range(len(sources))].index(u)
    return Certificate(1 - X, of).values(a, active, sources)[k], active.signed(a, sources)[k]


@pytest.mark.parametrize(
    ("u", "whole", "pairs", "t"),
    [
        ((0,), 17.843364197530864, 16.777777777777793, 4),
        ((3,), 293.6304012345679, 292.1111111111111, 32),
        ((0, 1), 3.473958333333333, 2.25, 6),
        ((0, 3), 22.307291666666668, 20.25, 18),
        ((0, 1, 2, 3), 0.2197265625, None, 7.5),
    ],
)
def test_sums_over_the_lattice(u, whole, pairs, t):
    assert quadratic(lattice(4), u) == pytest.approx((whole, t), rel=1e-10)
    assert quadratic(lattice(4, scale=0.5), u)[0] == pytest.approx(4 * whole, rel=1e-10)
    if pairs:
        assert quadratic(lattice(4, longest=2), u)[0] == pytest.approx(pairs, rel=1e-10)
    if u == (0, 1):
        assert quadratic(lattice(4, prior=[0.5, 1, 2, 3]), u)[0] == pytest.approx(197.59027777777777, rel=1e-10)


@pytest.mark.parametrize("seed", range(24))
def test_sums_over_the_lattice_are_those_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    X = np.unique((rng.random((30, n)) < 0.4).astype(float), axis=0)
    a = rng.normal(size=len(X))
    a -= a.mean()
    of = lattice(
        n, prior=rng.uniform(0.3, 3, n), longest=int(rng.integers(2, n + 1)),
        group=rng.integers(0, 2, n) if seed % 2 else None, scale=rng.uniform(0.5, 2),
    )  # fmt: skip
    active, certificate = ActiveSet(of, X), Certificate(1 - X, of)
    for _ in range(3):
        sources = active.sources()
        nodes = [active.node(sources, k) for k in range(len(sources))]
        found = certificate.values(a, active, sources)
        expected = np.array([brute_force(X, a, u, of) for u in nodes])
        if certificate.limited or of.longest == n:
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * expected.max(initial=1.0))
        else:
            assert (found >= expected * (1 - 1e-10)).all()
        np.testing.assert_allclose(active.signed(a, sources), [a @ X[:, list(u)].any(axis=1) for u in nodes], atol=1e-9)
        np.testing.assert_allclose(active.source_delta(sources), [of.delta(u) for u in nodes])
        active.add([u for u in nodes if rng.random() < 0.5])


@pytest.mark.parametrize("seed", range(6))
def test_sources_are_what_is_missing_below_no_missing_part(seed):
    rng = np.random.default_rng(seed)
    of = lattice(5, longest=4, group=[0, 0, 0, 1, 1] if seed % 2 else None)
    active = ActiveSet(of, (rng.random((9, 5)) < 0.5).astype(float))
    for _ in range(4):
        sources = active.sources()
        found = [active.node(sources, k) for k in range(len(sources))]
        held = {(), *active.nodes}
        parts = {v: {tuple(l for l in v if l != gone) for gone in v} for v in every_node(of)}
        assert sorted(found) == sorted(v for v in every_node(of) if v not in held and parts[v] <= held)
        assert all(parts[v] <= held for v in active.nodes)
        active.add([v for v in found if rng.random() < 0.6])
    np.testing.assert_array_equal(active.below()[1:], [[set(v) <= set(u) for u in active.nodes] for v in active.nodes])


def test_the_certificate_holds_one_matrix_and_no_more():
    rng = np.random.default_rng(0)
    X = np.unique((rng.random((1500, 30)) < 0.3).astype(float), axis=0)
    a = rng.normal(size=len(X))
    for longest in (30, 3):
        of = lattice(30, longest=longest)
        active = ActiveSet(of, X)
        active.add([(l,) for l in range(30)])
        sources, certificate = active.sources(), Certificate(1 - X, of)
        tracemalloc.start()
        certificate.values(a - a.mean(), active, sources)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 1.25 * 8 * len(X) ** 2 + 2**20  # the rest is blocks of rows


# --- the classifier: known optima, properties ---


def monk(number):
    """One-hot codes of all levels, and the official parts."""
    parts = [load_dataset(f"monk{number}", part, one_hot=False) for part in ("train", "test")]
    booleanizer = Booleanizer(nominal="all").fit(parts[1].X)
    return [(booleanizer.transform(part.X), part.y) for part in parts]


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


def boards():
    """All boards at the end of a game of tic-tac-toe that x began, one-hot: x, o or blank; whether x has won."""
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    def won(board, who):
        return any(all(board[k] == who for k in line) for line in lines)

    ends, open_ = set(), [(" ",) * 9]
    while open_:
        board = open_.pop()
        if won(board, "x") or won(board, "o") or " " not in board:
            ends.add(board)
            continue
        who = "x" if board.count("x") == board.count("o") else "o"
        open_ += [(*board[:k], who, *board[k + 1 :]) for k in range(9) if board[k] == " "]
    found = sorted(ends)
    X = np.array([[square == mark for square in board for mark in "xo "] for board in found], dtype=float)
    return X, np.array([won(board, "x") for board in found])


BOARDS = boards()


def test_certified_optimum_of_all_boards():
    X, y = BOARDS
    assert (len(y), y.sum()) == (958, 626)
    model = DisjunctionClassifier(100, 4, stop="sufficient", tol=3e-5).fit(X, y)
    assert model.objective_ == pytest.approx(14826.18, rel=6e-5)
    assert model.status_ == "certified"
    assert sorted(map(len, model.disjunctions_)) == [1] * 18
    assert model.score(X, y) == pytest.approx(0.98330, abs=1e-5)


def test_conjunctions_of_all_boards_are_the_lines():
    X, y = BOARDS
    model = DisjunctionClassifier(1000, 1.2, 1.1, connective="and", max_literals=3, max_active=600).fit(X, y)
    assert model.score(X, y) == 1.0
    won = [rule for rule, weight in zip(model.disjunctions_, model.coef_[0]) if len(rule) == 3 and weight > 1.0]
    assert sorted(won) == sorted(
        tuple(3 * k for k in line)
        for line in [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    )


NOISY = random_problem(0)[:2]
TIGHT = {"stop": "sufficient", "tol": 1e-6, "max_active": 1000, "weight_threshold": 0.0}


@pytest.mark.parametrize("options", [{}, {"p": 1.5, "root": False}, {"p": 1.1, "beta": 1.5}])
class TestProperties:
    def test_conjunctions_are_disjunctions_of_the_negated_features(self, options):
        X, y = NOISY
        either = DisjunctionClassifier(5, **options, **TIGHT).fit(X, y)
        both = DisjunctionClassifier(5, **options, **TIGHT, connective="and").fit(1 - X, y)
        assert both.objective_ == pytest.approx(either.objective_, rel=1e-10)
        np.testing.assert_allclose(both.decision_function(1 - X), either.decision_function(X), atol=1e-9)

    def test_twice_each_row_at_half_the_weight_is_the_same(self, options):
        X, y = NOISY
        one = DisjunctionClassifier(5, **options, **TIGHT).fit(X, y)
        twice = DisjunctionClassifier(2.5, **options, **TIGHT).fit(np.vstack([X, X]), np.hstack([y, y]))
        weighed = DisjunctionClassifier(2.5, **options, **TIGHT).fit(X, y, sample_weight=np.full(len(y), 2.0))
        for other in (twice, weighed):
            assert other.objective_ == pytest.approx(one.objective_, rel=1e-9)
            np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-6)

    def test_another_order_of_features_is_the_same_model(self, options):
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
        assert all(tuple(l for l in v if l != gone) in active | {()} for v in active for gone in v)


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


def test_a_fit_that_is_not_certified_says_so():
    X, y = BOARDS
    model = DisjunctionClassifier(1000).fit(X, y)
    assert model.status_ == "necessary"
    assert model.dual_gap_ > 0.01 >= model.restricted_gap_
    assert (
        "not certified: adding any single disjunction would not help, and the gap may be as large as"
        in model.describe()
    )
    model = DisjunctionClassifier(1000, 1.2, stop="sufficient", max_active=40).fit(X, y)
    assert (model.status_, model.n_active_) == ("max_active", 40)
    assert "not certified: stopped at max_active" in model.describe()
    model = DisjunctionClassifier(1000, stop="sufficient", max_iter=1, max_add=5).fit(X, y)
    assert model.status_ == "max_iter"
    assert "not certified: stopped at max_iter" in model.describe()
    assert "\ncertified: " in DisjunctionClassifier(1, 4, stop="sufficient").fit(X, y).describe()


def test_no_bound_is_not_zero_gap(monkeypatch):
    monkeypatch.setattr("baselines.hkl.classifier.AFFORDABLE", 5)
    model = DisjunctionClassifier().fit(*NOISY)
    assert model.status_ == "necessary"
    assert np.isnan(model.dual_gap_)
    assert "no bound was computed" in model.describe()


def test_hundreds_of_features_bound_nothing_and_do_not_overflow():
    rng = np.random.default_rng(0)
    X = (rng.random((40, 2500)) < 0.2).astype(float)
    y = X[:, 0]
    model = DisjunctionClassifier(max_literals=2500).fit(X, y)
    assert model.status_ == "necessary"
    assert 0.9 < model.dual_gap_ <= 1.0
    wide = (rng.random((12, 9000)) < 0.5).astype(float)
    assert DisjunctionClassifier(max_literals=9000, max_add=5).fit(wide, wide[:, 0]).dual_gap_ == 1.0
    assert DisjunctionClassifier(C=1.0, max_literals=2, beta=8).fit(X, y).dual_gap_ < 0.5


# --- as an estimator ---

THREE = load_wine(return_X_y=True)


def test_more_than_two_classes_are_one_against_the_rest():
    X, y = THREE
    model = DisjunctionClassifier(10).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.coef_.shape == (3, len(model.disjunctions_))
    assert (len(model.status_), model.dual_gap_.shape) == (3, (3,))
    for k in range(3):
        one = DisjunctionClassifier(10).fit(X, y == k)
        assert one.objective_ == model.objective_[k]
        np.testing.assert_allclose(one.decision_function(X), model.decision_function(X)[:, k], atol=1e-9)
    assert model.describe().count("where its sum is largest") == 3


def test_answers_are_weighted_rules():
    X, y = THREE
    for connective in ("or", "and"):
        model = DisjunctionClassifier(10, connective=connective).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), model.transform(X) @ model.coef_.T + model.intercept_)
        literals = model.booleanizer_.transform(X).astype(bool)
        join = np.any if connective == "or" else np.all
        expected = np.column_stack([join(literals[:, list(rule)], axis=1) for rule in model.disjunctions_])
        np.testing.assert_array_equal(model.transform(X), expected)
        names = model.get_feature_names_out()
        assert len(names) == expected.shape[1]
        assert any(f" {connective} " in name for name in names)


@pytest.mark.parametrize(
    "method", [DisjunctionClassifier(1.0), DisjunctionClassifier(1.0, connective="and"), DisjunctionClassifier(1e-4)]
)
@pytest.mark.parametrize("table", ["binary", "three", "Boolean"])
def test_what_is_not_used_is_not_looked_at(method, table):
    X, y = {"binary": load_breast_cancer(return_X_y=True), "three": THREE, "Boolean": NOISY}[table]
    X = np.hstack([X, np.random.default_rng(0).random((len(X), 2)).round()])
    model = clone(method).set_params(max_literals=2, max_active=12).fit(X, y)
    used, answers = model.features_used(X), model.predict(X)
    assert used.shape == X.shape
    assert not used.all()
    for huge in (1.0, 1e30, 1.7e308):
        corrupted = np.where(used, X, np.random.default_rng(1).uniform(-0.5, 0.5, X.shape) * huge)
        np.testing.assert_array_equal(model.predict(corrupted), answers)
        np.testing.assert_array_equal(model.features_used(corrupted), used)
    read = {model.booleanizer_.literals_[l].column for rule in model.disjunctions_ for l in rule}
    assert set(np.flatnonzero(used[0])) == read


def test_a_model_that_no_row_could_change_uses_nothing():
    X, y = load_breast_cancer(return_X_y=True)
    model = DisjunctionClassifier(1e-4).fit(X, y)
    assert not model.features_used(X).any()
    assert set(model.predict(X)) == {1}
    assert model.transform(X).shape == (len(X), 0)


def test_sweep_goes_from_nothing_to_much():
    X, y = load_breast_cancer(return_X_y=True)
    grid = DisjunctionClassifier().sparsity_grid(X, y)
    assert grid == DisjunctionClassifier().sparsity_grid(X, y)
    counts = [DisjunctionClassifier(**g).fit(X, y).features_used(X[:1]).sum() for g in (grid[0], grid[2], grid[-1])]
    assert counts[0] == 0
    assert 0 < counts[1] < counts[2]


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_finite_table_can_be_learnt(data):
    X = data.draw(arrays(np.float64, (8, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    grid = DisjunctionClassifier().sparsity_grid(X, y)
    model = DisjunctionClassifier(**grid[len(grid) // 2]).fit(X, y)
    used, answers = model.features_used(X), model.predict(X)
    np.testing.assert_array_equal(model.predict(np.where(used, X, -1.7e308)), answers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "'C' parameter of DisjunctionClassifier"),
        ({"beta": 0.0}, "'beta' parameter of DisjunctionClassifier"),
        ({"beta": -1.0}, "'beta' parameter of DisjunctionClassifier"),
        ({"p": 1.0}, r"'p' parameter of DisjunctionClassifier must be a float in the range \(1.0, 2.0\]"),
        ({"p": 2.5}, "'p' parameter of DisjunctionClassifier"),
        ({"stop": "never"}, "'stop' parameter"),
        ({"max_literals": 0}, "'max_literals' parameter"),
        ({"prior": [1.0, 2.0]}, "prior must be 13 finite numbers above 0, one a feature of X"),
        ({"prior": [0.0] * 13}, "prior must be 13 finite numbers above 0"),
        ({"groups": [0, 1]}, "groups must give one group number for each of the 13 features, got 2"),
        ({"booleanize": None}, "X must hold only 0 and 1 where booleanize=None, got"),
        ({"booleanize": Booleanizer(0)}, "'n_thresholds' parameter of Booleanizer"),
    ],
)
def test_mistakes_are_told_in_a_sentence(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        DisjunctionClassifier(**options).fit(*THREE)
    assert "\n" not in str(caught.value)


def test_bad_labels_and_rows_are_told_in_a_sentence():
    X, y = NOISY
    with pytest.raises(ValueError, match=r"at least two classes, got 1 class \(1\)"):
        DisjunctionClassifier().fit(X, np.ones(len(X), dtype=int))
    with pytest.raises(ValueError, match=r"leave rows of every class, but class 1.0 has none"):
        DisjunctionClassifier().fit(X, y, sample_weight=(y < 0).astype(float))
    model = DisjunctionClassifier(booleanize=None).fit(X, y)
    with pytest.raises(ValueError, match="only 0 and 1 where booleanize=None, got"):
        model.predict(X + 0.25)


def test_names_come_from_pandas():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = DisjunctionClassifier(10).fit(X, y)
    assert any(name.startswith("alcohol ") for name in model.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"alcohol": "spirit"}))


# --- the Booleanizer ---

PEOPLE = pd.DataFrame(
    {
        "age": [31, 62, 55, 44, 70, 20],
        "smoker": [0, 1, 0, 1, 0, 0],
        "town": ["A", "B", "A", "C", "B", "A"],
        "grade": pd.Categorical([3, 1, 2, 3, 3, 1]),
    }
)


def test_literals_and_their_names():
    booleanizer = Booleanizer(2, negations=True).fit(PEOPLE)
    names = booleanizer.get_feature_names_out().tolist()
    assert names == [
        "age > 40", "age <= 40", "age > 60", "age <= 60", "smoker", "not smoker", "town=A", "town!=A", "town=B",
        "town!=B", "town=C", "town!=C", "grade=1", "grade!=1", "grade=2", "grade!=2", "grade=3", "grade!=3",
    ]  # fmt: skip
    table = pd.DataFrame(booleanizer.transform(PEOPLE), columns=names).astype(bool)
    np.testing.assert_array_equal(table["age > 60"], PEOPLE["age"] > 60)
    np.testing.assert_array_equal(table["not smoker"], PEOPLE["smoker"] == 0)
    np.testing.assert_array_equal(table["town!=B"], PEOPLE["town"] != "B")
    np.testing.assert_array_equal(table["grade=3"], PEOPLE["grade"] == 3)


def test_rules_read_as_sentences():
    y = (PEOPLE["age"] > 50) | (PEOPLE["smoker"] == 1)
    whole = DisjunctionClassifier(100).fit(PEOPLE, y)  # text, categories and numbers side by side
    assert whole.score(PEOPLE, y) == 1.0
    model = DisjunctionClassifier(1000, 1.2, 1.1, booleanize=Booleanizer(1)).fit(PEOPLE[["age", "smoker"]], y)
    assert model.score(PEOPLE[["age", "smoker"]], y) == 1.0
    assert "age > 50 or smoker" in model.get_feature_names_out()
    assert "age > 50 or smoker" in model.describe()


def test_one_hot_of_codes():
    X = np.array([[1, 5], [2, 6], [3, 5], [1, 7]])
    names = Booleanizer(nominal=[0]).fit(X).get_feature_names_out().tolist()
    assert names == ["x0=1", "x0=2", "x0=3", "x1 > 5.5", "x1 <= 5.5", "x1 > 6", "x1 <= 6"]
    assert len(Booleanizer(nominal="all").fit(X).literals_) == 6
    with pytest.raises(ValueError, match="nominal must name columns of X, by index below 2 or by name, got 'x9'"):
        Booleanizer(nominal=["x9"]).fit(X)


def test_a_level_that_was_not_seen_is_none_of_those():
    booleanizer = Booleanizer().fit(PEOPLE[["town"]])
    assert booleanizer.transform(pd.DataFrame({"town": ["Z"]})).tolist() == [[0, 0, 0]]
    assert booleanizer.transform(pd.DataFrame({"town": [7]})).tolist() == [[0, 0, 0]]
    halves = Booleanizer(nominal="all").fit([[0.5], [1.5], [2.0]])
    assert halves.transform(np.array([[0], [1], [2]])).tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    words = Booleanizer().fit(np.array([["a", "b"], ["c", "b"]]))
    assert words.get_feature_names_out().tolist() == ["x0=a", "x0=c", "x1=b"]
    assert words.transform(np.array([["c", "z"]])).tolist() == [[0, 1, 0]]


def test_missing_values_are_refused_or_a_level():
    table = np.array([[1.0, 0], [np.nan, 1], [3.0, np.nan], [4.0, 1]])
    with pytest.raises(ValueError, match="contains NaN"):
        Booleanizer().fit(table)
    booleanizer = Booleanizer(1, missing="level", negations=True).fit(table)
    names = booleanizer.get_feature_names_out().tolist()
    assert names == ["x0 > 3.5", "x0 <= 3.5", "x0 missing", "x1", "not x1", "x1 missing"]
    assert booleanizer.transform(table)[1:3].tolist() == [[0, 0, 1, 1, 0, 0], [0, 1, 0, 0, 0, 1]]


def test_a_classifier_takes_missing_values_where_its_booleanizer_does():
    X = np.array([[1.0], [np.nan], [3.0], [np.nan], [2.0], [np.nan]])
    y = np.isnan(X[:, 0])
    with pytest.raises(ValueError, match="contains NaN"):
        DisjunctionClassifier().fit(X, y)
    model = DisjunctionClassifier(booleanize=Booleanizer(missing="level")).fit(X, y)
    assert model.score(X, y) == 1.0
    assert "x0 missing" in model.get_feature_names_out()


def test_weights_count_in_the_quantiles():
    X, weight = np.arange(30.0)[:, None], np.random.default_rng(0).integers(0, 4, 30)
    repeated = Booleanizer().fit(np.repeat(X, weight, axis=0))
    assert Booleanizer().fit(X, sample_weight=weight).literals_ == repeated.literals_
    assert len(repeated.literals_) == 8


def test_what_is_neither_number_nor_text_is_told():
    with pytest.raises(TypeError, match="must be a string or a number, got dict in column 0 of X"):
        Booleanizer().fit(np.array([[{}, 1], [2, 3]], dtype=object))


# --- the paper's exact concepts ---


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
