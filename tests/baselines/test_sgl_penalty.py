"""The penalty of the sparse group LASSO: prox, dual norm, subdifferential, and the penalties of zero solutions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from baselines import SparseGroupLasso, sgl_lambda_max
from baselines.sparse_group_lasso.groups import make_groups
from baselines.sparse_group_lasso.penalty import Penalty
from support.sgl_problems import X8, Y8, subdifferential_distance


def test_prox_and_its_optimality():
    penalty = Penalty(0.8, 1.0, make_groups(4, "ones", 4))
    u = np.array([3, -1, 0.5, 2])
    np.testing.assert_allclose(penalty.prox(u), [1.3248869874, -0.1204442716, 0, 0.7226656295], atol=1e-10)
    rng = np.random.default_rng(0)
    for lam1, lam2 in ((0, 1), (1, 0), (0.5, 0.5)):
        penalty = Penalty(lam1, lam2, make_groups(rng.integers(0, 5, 20), "sqrt", 20))
        u = rng.normal(size=20)
        w = penalty.prox(u, 0.7)
        np.testing.assert_allclose(subdifferential_distance(penalty, w, (w - u) / 0.7), 0, atol=1e-12)
        assert not penalty.prox(np.zeros(20)).any()


def test_dual_norm_against_bisection_and_its_definition():
    z = np.array([3, -1, 0.5, 2])
    one = make_groups(4, "ones", 4)
    assert Penalty(1, 1, one).dual_norm(z) == pytest.approx(1.5358983848622456, rel=1e-14)
    assert Penalty(0.5, 2, one).dual_norm(z) == pytest.approx(1.3484343169589847, rel=1e-14)
    assert Penalty(2, 0, one).dual_norm(z) == 1.5
    assert Penalty(0, 2, one).dual_norm(z) == pytest.approx(np.linalg.norm(z) / 2)
    assert Penalty(0, 0, one).dual_norm(z) == np.inf
    assert Penalty(1, 1, one).dual_norm(0 * z) == Penalty(0, 0, one).dual_norm(0 * z) == 0
    close = np.array([1.0, 1 + 1e-11, 1 - 1e-11])  # differences of squares would cancel half of the digits
    assert Penalty(1, 0, make_groups(3, "ones", 3)).dual_norm(close) == 1 + 1e-11
    assert Penalty(1, 1e-9, make_groups(3, "ones", 3)).dual_norm(close) == pytest.approx(1, abs=2e-9)
    rng = np.random.default_rng(0)
    for _ in range(100):
        lam1, lam2 = rng.uniform(0.01, 2, 2)
        labels, z = rng.integers(0, 4, 15), rng.normal(size=15) * rng.integers(0, 2, 15)
        penalty = Penalty(lam1, lam2, make_groups(labels, "sqrt", 15))
        nus = [0.0]
        for g, label in enumerate(np.unique(labels)):
            part, v = np.abs(z[labels == label]), penalty.groups.weights[g]
            if part.any():
                excess = lambda nu: np.linalg.norm(np.maximum(part - nu * lam1, 0)) - nu * lam2 * v  # noqa: B023, E731
                nus.append(brentq(excess, 0, 1e4, xtol=1e-14))
        assert penalty.dual_norm(z) == pytest.approx(max(nus), rel=1e-9)
        w = rng.normal(size=15)
        assert z @ w <= penalty.dual_norm(z) * penalty.value(w) * (1 + 1e-12)


def test_lambda_max_is_where_all_coefficients_vanish():
    assert sgl_lambda_max(X8, Y8, 2, tau=0.5) == pytest.approx(2 * 7.02943725152286 / 2, rel=1e-12)
    assert sgl_lambda_max(X8, Y8, 2, lam1=1) == pytest.approx(7.0710678118654755, rel=1e-14)
    rng = np.random.default_rng(3)
    for _ in range(30):
        labels, X, y = rng.integers(0, 5, 12), rng.normal(size=(20, 12)), rng.normal(size=20)
        options = {"group_weights": "sqrt", "fit_intercept": bool(rng.integers(2))}
        top, tau, fixed = sgl_lambda_max(X, y, labels, tau=0, **options), rng.random(), rng.uniform(0, 4)
        pairs = {
            "tau": lambda lam: (tau * lam, (1 - tau) * lam),  # noqa: B023
            "lam1": lambda lam: (fixed, lam),  # noqa: B023
            "lam2": lambda lam: (lam, min(fixed, 0.9 * top)),  # noqa: B023
        }
        given = {"tau": tau, "lam1": fixed, "lam2": min(fixed, 0.9 * top)}
        for name, pair in pairs.items():
            lam = sgl_lambda_max(X, y, labels, **{name: given[name]}, **options)
            if lam == 0:
                continue
            for share, some in ((1.0000001, False), (0.999, True)):
                model = SparseGroupLasso(*pair(share * lam), labels, tol=1e-14, **options).fit(X, y)
                assert model.coef_.any() == some
