"""The problem of hierarchical kernel learning: norm, prices, gradient, and the certificate against brute force."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.svm import SVC

from baselines.hkl.certificate import Certificate
from baselines.hkl.classifier import eta_gradient, solve_machine
from baselines.hkl.lattice import ActiveSet
from baselines.hkl.problem import HKLProblem, best_bias
from support.hkl_problems import BALANCED, ROWS, SIDES, every_node, lattice, whole_problem


def sixteen(p):
    return whole_problem(ROWS, SIDES, 100, lattice(4), p)


@pytest.mark.parametrize(("p", "norm"), [(2.0, 185.706715), (1.5, 220.844143), (1.1, 291.341082)])
def test_norm(p, norm):
    w = (-1.0) ** np.arange(16) * np.arange(1, 17) / 10
    problem = sixteen(p)
    # The reference also has a weight of the empty disjunction, 0.1, which belongs to the first group only.
    groups = np.column_stack([np.eye(16)[:, 0], problem.membership])
    whole = HKLProblem(np.column_stack([np.zeros(16), problem.Psi]), SIDES, problem.C, groups, problem.delta, p)
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
    alpha = solve_machine(problem, eta, 1e-10)[1]

    def at(eta):
        t, q = problem.signed_sums(alpha), problem.q
        T = (problem.prices(eta) ** (1 / (1 - p)) * np.abs(t) ** q).sum()
        return alpha.sum() - 0.5 * T ** (2 / q)

    assert at(eta) == pytest.approx(value, rel=1e-6)
    found = eta_gradient(problem, eta, problem.signed_sums(alpha))
    np.testing.assert_allclose(found[[1, 5, 11]], slopes, rtol=1e-4)
    for v in range(16):  # alpha is optimal: its change has no first-order effect
        h = 1e-6 * np.eye(16)[v]
        assert (at(eta + h) - at(eta - h)) / 2e-6 == pytest.approx(found[v], rel=1e-5)


def test_the_machine_at_fixed_eta_is_a_support_vector_machine():
    problem, eta = sixteen(2.0), np.arange(1, 17) / 136
    w, alpha = solve_machine(problem, eta, 1e-9)
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
    """Sum over v that contain u of t_v^2 / (sum of delta_w over u <= w <= v)^2, term by term."""
    total = 0.0
    rest = [l for l in range(of.n_literals) if l not in u and of.group[l] == of.group[u[0]]]
    for more in (e for k in range(of.max_literals - len(u) + 1) for e in combinations(rest, k)):
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
    k = [active.disjunction(sources, i) for i in range(len(sources))].index(u)
    return Certificate(1 - X, of).quadratic_forms(a, active, sources)[k], active.signed_sums(a, sources)[k]


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
        assert quadratic(lattice(4, max_literals=2), u)[0] == pytest.approx(pairs, rel=1e-10)
    if u == (0, 1):
        assert quadratic(lattice(4, prior=[0.5, 1, 2, 3]), u)[0] == pytest.approx(197.59027777777777, rel=1e-10)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.one_in(2)
def test_sums_over_the_lattice_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    X = np.unique((rng.random((30, n)) < 0.4).astype(float), axis=0)
    a = rng.normal(size=len(X))
    a -= a.mean()
    of = lattice(
        n,
        prior=rng.uniform(0.3, 3, n),
        max_literals=int(rng.integers(2, n + 1)),
        group=rng.integers(0, 2, n) if seed % 2 else None,
        scale=rng.uniform(0.5, 2),
    )
    active, certificate = ActiveSet(of, X), Certificate(1 - X, of)
    for _ in range(3):
        sources = active.sources()
        nodes = [active.disjunction(sources, k) for k in range(len(sources))]
        found = certificate.quadratic_forms(a, active, sources)
        expected = np.array([brute_force(X, a, u, of) for u in nodes])
        if certificate.limited or of.max_literals == n:
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * expected.max(initial=1.0))
        else:
            assert (found >= expected * (1 - 1e-10)).all()
        np.testing.assert_allclose(
            active.signed_sums(a, sources), [a @ X[:, list(u)].any(axis=1) for u in nodes], atol=1e-9
        )
        np.testing.assert_allclose(active.source_delta(sources), [of.delta(u) for u in nodes])
        active.add([u for u in nodes if rng.random() < 0.5])


@pytest.mark.parametrize("seed", range(6))
def test_sources_are_the_inactive_disjunctions_with_active_parts(seed):
    rng = np.random.default_rng(seed)
    of = lattice(5, max_literals=4, group=[0, 0, 0, 1, 1] if seed % 2 else None)
    active = ActiveSet(of, (rng.random((9, 5)) < 0.5).astype(float))
    for _ in range(4):
        sources = active.sources()
        found = [active.disjunction(sources, k) for k in range(len(sources))]
        current = {(), *active.nodes}
        parts = {v: {tuple(l for l in v if l != dropped) for dropped in v} for v in every_node(of)}
        assert sorted(found) == sorted(v for v in every_node(of) if v not in current and parts[v] <= current)
        assert all(parts[v] <= current for v in active.nodes)
        active.add([v for v in found if rng.random() < 0.6])
    np.testing.assert_array_equal(
        active.membership()[1:], [[set(v) <= set(u) for u in active.nodes] for v in active.nodes]
    )


def test_the_certificate_stores_one_matrix_only():
    rng = np.random.default_rng(0)
    X = np.unique((rng.random((1500, 30)) < 0.3).astype(float), axis=0)
    a = rng.normal(size=len(X))
    for max_literals in (30, 3):
        of = lattice(30, max_literals=max_literals)
        active = ActiveSet(of, X)
        active.add([(l,) for l in range(30)])
        sources, certificate = active.sources(), Certificate(1 - X, of)
        tracemalloc.start()
        certificate.quadratic_forms(a - a.mean(), active, sources)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 1.25 * 8 * len(X) ** 2 + 2**20  # the rest is blocks of rows
