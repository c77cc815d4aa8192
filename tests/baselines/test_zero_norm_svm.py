"""The zero-norm SVM against a general solver, a plain loop, and the smallest separating set by brute force."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.svm import SVC

from baselines import ZeroNormSVMClassifier
from baselines.zero_norm_svm import VANISHED, weight_sizes, zero_norm_order


def noisy(n=40, d=6, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1, 1, size=(n, d))
    return Z, np.where(Z[:, 1] - 0.7 * Z[:, 4] + rng.normal(0, 0.3, n) > 0, 1.0, -1.0)


def scaled_svm_by_slsqp(Z, y, scale, C):
    """Minimise 1/2 sum_j (v_j / scale_j)^2 + C sum_i xi_i over v, b and xi with a general solver; return v."""
    n, d = Z.shape
    rows = np.hstack([y[:, None] * Z, y[:, None], np.eye(n)])

    def objective(u):
        return 0.5 * np.sum((u[:d] / scale) ** 2) + C * u[d + 1 :].sum()

    def gradient(u):
        return np.concatenate([u[:d] / scale**2, [0.0], np.full(n, C)])

    result = minimize(
        objective,
        np.concatenate([np.zeros(d + 1), np.ones(n)]),
        jac=gradient,
        method="SLSQP",
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
        constraints={"type": "ineq", "fun": lambda u: rows @ u - 1, "jac": lambda u: rows},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert result.status in (0, 8), result.message  # 8: in floating point no step lowers the objective further
    assert (rows @ result.x).min() > 1 - 1e-8
    return result.x[:d]


@pytest.mark.parametrize("C", [0.3, 10.0])
def test_the_weights_of_one_iteration_are_those_of_a_general_solver(C):
    Z, y = noisy(25)
    scale = np.array([1.0, 0.5, 2.0, 0.1, 0.8, 1.0])
    expected = np.abs(scaled_svm_by_slsqp(Z, y, scale, C))
    np.testing.assert_allclose(weight_sizes(Z, y[:, None], scale, C), expected, atol=1e-4 * expected.max())


@pytest.mark.parametrize("C", [1.0, 10.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_ranking_is_that_of_a_plain_loop(C, seed):
    Z, y = noisy(seed=seed)
    scale, vanished = dict.fromkeys(range(6), 1.0), []
    for _ in range(60):
        columns = sorted(scale)
        z = np.array([scale[j] for j in columns])
        w = SVC(kernel="linear", C=C, tol=1e-8).fit(Z[:, columns] * z, y).coef_[0]
        sizes = dict(zip(columns, np.abs(w * z)))
        gone = [j for j in columns if sizes[j] <= VANISHED * max(sizes.values())]
        vanished += sorted(gone, key=sizes.__getitem__)
        scale = {j: sizes[j] for j in columns if j not in gone}
    remaining = sorted(scale, key=scale.__getitem__, reverse=True)
    order = zero_norm_order(Z, y[:, None], C, max_iter=60)[0].tolist()
    assert set(order[: len(remaining)]) == set(remaining)
    assert set(order) == set(range(6))
    weights = [scale[j] for j in order[: len(remaining)]]
    assert all(a > b - 0.01 for a, b in pairwise(weights))


def separable_by(columns, Z, y):
    """Whether a hyperplane in these columns separates the classes with a margin."""
    A = -y[:, None] * np.column_stack([Z[:, columns], np.ones(len(Z))])
    return linprog(np.zeros(len(columns) + 1), A, -np.ones(len(Z)), bounds=(None, None)).status == 0


def test_it_finds_the_smallest_separating_set():
    rng = np.random.default_rng(3)
    Z = rng.uniform(-1, 1, size=(60, 8))
    y = np.where(Z[:, 2] + Z[:, 5] - Z[:, 7] > 0, 1.0, -1.0)
    sets = [s for k in range(1, 4) for s in combinations(range(8), k) if separable_by(s, Z, y)]
    assert sets == [(2, 5, 7)]
    order, _ = zero_norm_order(Z, y[:, None], 1e5)
    assert sorted(order[:3].tolist()) == [2, 5, 7]
    model = ZeroNormSVMClassifier(3, C=1e5).fit(Z, y)
    assert np.flatnonzero(model.get_support()).tolist() == [2, 5, 7]
    assert model.score(Z, y) == 1.0


def test_at_the_end_the_squared_norm_counts_the_features():
    Z, y = noisy(60)
    scale = np.ones(6)
    for _ in range(100):
        new = weight_sizes(Z, y[:, None], np.maximum(scale, 1e-12), 10.0)
        scale, last = new, scale
    used = scale > 1e-3
    assert 2 <= used.sum() < 6
    assert np.square(scale[used] / last[used]).sum() == pytest.approx(used.sum(), rel=1e-2)


def test_machines_of_several_classes_share_the_features():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, size=(90, 7))
    y = np.select([Z[:, 0] > 0.3, Z[:, 3] > 0.2], [0, 1], 2)
    model = ZeroNormSVMClassifier(2, C=10.0).fit(Z, y)
    assert sorted(model.ranking_.tolist()) == [0, 3]
    assert model.score(Z, y) > 0.85
