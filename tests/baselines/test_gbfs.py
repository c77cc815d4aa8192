"""Gradient boosted feature selection: exact values, and agreement with a twin in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from baselines import GBFSClassifier, GBFSRegressor
from support import gbfs_twin as twin

ROWS = np.array([(7, 6, 0), (0, 7, 1), (5, 1, 5), (1, 0, 3), (2, 3, 4), (4, 2, 6), (3, 5, 7), (6, 4, 2)], dtype=float)
TARGETS = np.array([2, 2, 2, 8, 9, 6, 0, 1], dtype=float)
A = "1/5 1/5 1/5 23/30 23/30 23/30 1/20 1/20"
B = "1/5 1/5 8/15 8/15 9/10 8/15 1/20 1/20"
NO = "0 0 0 0 0 0 0 0"


def one_way(discount: float) -> np.ndarray:
    """Return a discount of feature 0 after feature 1 is bought."""
    rho = np.ones((3, 3))
    rho[1, 0] = discount
    return rho


SMALL = {"max_depth": 2, "init": "zero"}
CASES = [
    ({"mu": 0}, [1, 0], A),
    ({"mu": 2}, [1, 0], A),
    ({"mu": 6.9}, [1, 0], A),
    ({"mu": 7.1}, [1], B),
    ({"mu": 10}, [1], B),
    ({"mu": 24.9}, [1], B),
    ({"mu": 25}, [], NO),
    ({"mu": 10, "bags": [0, 0, 1]}, [1, 0], A),
    ({"mu": 10, "bags": ["b", "a", "a"]}, [1, 2], "1/5 1/5 2/5 17/20 17/20 2/5 1/20 1/20"),
    ({"mu": 10, "neighbour_discount": one_way(0.25)}, [1, 0], A),
    ({"mu": 10, "neighbour_discount": one_way(0.75)}, [1], B),
    ({"mu": 10, "feature_costs": [0.5, 1, 1]}, [1, 0], A),
    ({"mu": 10, "feature_costs": [1, 3, 1]}, [0], "11/40 1/5 11/40 17/20 17/20 11/40 0 11/40"),
    ({"mu": 50, "rule": "force_first"}, [1], B),
    ({"mu": 2, "phi_update": "tree"}, [1, 0], "1/8 1/8 1/5 23/30 23/30 23/30 1/8 1/8"),
    (
        {"mu": 0, "n_iter": 3}, [1, 0, 2],
        "1033/2000 1033/2000 271/500 6233/3000 6233/3000 6233/3000 31/375 359/1500",
    ),
    (
        {"mu": 2, "n_iter": 3}, [1, 0],
        "271/500 271/500 271/500 6233/3000 6233/3000 6233/3000 271/2000 271/2000",
    ),
    (
        {"mu": 10, "n_iter": 3}, [1],
        "271/500 271/500 542/375 542/375 2439/1000 542/375 271/2000 271/2000",
    ),
    (
        {"mu": 10, "n_iter": 2, "bags": [0, 0, 1], "phi_update": "tree"}, [1, 0],
        "5/16 5/16 19/50 437/300 437/300 437/300 13/80 13/80",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "bought", "scores"), CASES)
@pytest.mark.parametrize("weights", [None, np.ones(8), np.full(8, 3.0)], ids=["none", "ones", "threes"])
def test_values_worked_out_by_hand(setting, bought, scores, weights):
    if weights is not None:
        setting = setting | {"mu": weights[0] * setting["mu"]}
    model = GBFSRegressor(**SMALL | {"n_iter": 1} | setting).fit(ROWS, TARGETS, weights)
    assert [p.feature for p in model.purchase_log_] == bought
    np.testing.assert_allclose(model.predict(ROWS), [float(Fraction(v)) for v in scores.split()], rtol=0, atol=1e-12)
    if "feature_costs" not in setting:
        assert model.mu_max_ == pytest.approx(25 * (1 if weights is None else weights[0]), rel=1e-13)


@pytest.mark.parametrize(
    ("mu", "bought", "scores"),
    [
        (0, [1, 0], [-1, -1, -1, 1, 1, 1, -1, -1]),
        (0.1, [1, 0], [-1, -1, -1, 1, 1, 1, -1, -1]),
        (0.5, [1], [-1, -1, 0, 0, 1, 1, -1, -1]),
        (1, [], [0] * 8),
    ],
)
def test_logistic_values_worked_out_by_hand(mu, bought, scores):
    model = GBFSClassifier(mu, n_iter=1, **SMALL).fit(ROWS, TARGETS > 5)
    assert [p.feature for p in model.purchase_log_] == bought
    nodes = [p.node for p in model.purchase_log_]
    if mu in (0, 0.1):
        assert nodes == [0, 1]
        np.testing.assert_allclose([p.net for p in model.purchase_log_], [9 / 16 - mu, 3 / 8 - mu], atol=1e-12)
    assert model.mu_max_ == pytest.approx(9 / 16, rel=1e-13)
    np.testing.assert_allclose(model.decision_function(ROWS), 0.05 * np.array(scores), atol=1e-12)
    longer = clone(model).set_params(n_iter=3).fit(ROWS, TARGETS > 5)
    if mu in (0, 0.1):
        np.testing.assert_allclose(np.abs(longer.decision_function(ROWS)), 0.1462835081, atol=1e-10)


def problem(seed: int) -> dict:
    """Return a small random problem in fractions, in a random mode."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 10)), int(rng.integers(1, 5))
    case = {
        "X": rng.integers(0, int(rng.integers(2, 7)), (n, d)),
        "y": rng.integers(-4, 9, n),
        "w": rng.integers(1, 4, n) if rng.random() < 0.4 else None,
        "mu": Fraction(int(rng.choice([0, 1, 2, 3, 5, 8, 13])), int(rng.choice([1, 2]))),
        "costs": [Fraction(int(v), 2) for v in rng.integers(0, 5, d)] if rng.random() < 0.5 else [Fraction(1)] * d,
        "depth": int(rng.integers(1, 4)),
        "least": int(rng.integers(1, 3)),
        "n_iter": int(rng.integers(1, 4)),
        "force": bool(rng.random() < 0.3),
        "frozen": bool(rng.random() < 0.3),
        "kind": str(rng.choice(["plain", "bags", "neighbours", "callable"])),
        "init": str(rng.choice(["prior", "zero"])),
    }
    case["bags"] = rng.integers(0, 3, d)
    case["rho"] = [[Fraction(int(v), 4) for v in row] for row in rng.integers(0, 5, (d, d))]
    return case


def phi_in_fractions(p: dict):
    d = p["X"].shape[1]
    if p["kind"] == "bags":
        return lambda bought: [int(not any(p["bags"][u] == p["bags"][f] for u in bought)) for f in range(d)]
    if p["kind"] == "neighbours":
        return lambda bought: [
            0 if f in bought else min([Fraction(1)] + [p["rho"][u][f] for u in bought]) for f in range(d)
        ]
    if p["kind"] == "callable":
        return lambda bought: [0 if f in bought else Fraction(1, 2 ** len(bought)) for f in range(d)]
    return lambda bought: [int(f not in bought) for f in range(d)]


def phi_parameters(p: dict) -> dict:
    if p["kind"] == "bags":
        return {"bags": p["bags"]}
    if p["kind"] == "neighbours":
        return {"neighbour_discount": [[float(v) for v in row] for row in p["rho"]]}
    if p["kind"] == "callable":
        return {"phi": lambda bought: ~bought / 2 ** bought.sum()}
    return {}


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.one_in(2)
def test_equals_exhaustive_search_in_fractions(seed):
    p = problem(seed)
    X = [[Fraction(int(v)) for v in row] for row in p["X"]]
    y, w = ([Fraction(int(v)) for v in values] for values in (p["y"], np.ones(len(X)) if p["w"] is None else p["w"]))
    start = sum(a * b for a, b in zip(y, w)) / sum(w) if p["init"] == "prior" else Fraction(0)
    ledger = twin.Ledger(p["mu"], p["costs"], phi_in_fractions(p), p["frozen"])
    scores = twin.learn(
        X,
        [[start] * len(X)],
        lambda F: [([c * (a - b) for a, b, c in zip(y, F[0], w)], w)],
        ledger,
        n_iter=p["n_iter"],
        eta=Fraction(1, 2),
        depth=p["depth"],
        least=p["least"],
        force=p["force"],
    )
    model = GBFSRegressor(
        float(p["mu"]),
        feature_costs=[float(v) for v in p["costs"]],
        max_depth=p["depth"],
        min_samples_leaf=p["least"],
        n_iter=p["n_iter"],
        learning_rate=0.5,
        init=p["init"],
        rule="force_first" if p["force"] else "gain",
        phi_update="tree" if p["frozen"] else "split",
        **phi_parameters(p),
    ).fit(p["X"], p["y"], p["w"])
    np.testing.assert_allclose(model.predict(p["X"]), [float(v) for v in scores[0]], rtol=1e-12, atol=1e-12)
    expected_log = [tuple(float(v) for v in line) for line in ledger.log]
    np.testing.assert_allclose(
        np.reshape(model.purchase_log_, (-1, 6)), np.reshape(expected_log, (-1, 6)), rtol=1e-9, atol=1e-9
    )
    if p["kind"] != "callable" and not p["frozen"]:
        assert sum(v.price for v in model.purchase_log_) == pytest.approx(float(sum(v.price for v in ledger.log)))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("newton", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.one_in(2)
def test_classes_equal_exhaustive_search(n_classes, newton, frozen, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (24, 4)) / 8.0 + rng.normal(size=(24, 4)) * 1e-3
    codes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 24 - n_classes)])
    w = rng.integers(1, 3, 24).astype(float)
    mu = 0.04 if newton else 0.01

    def step(F):
        if n_classes == 2:
            p = 1 / (1 + np.exp(-np.array(F[0])))
            parts = [(codes - p, p * (1 - p))]
        else:
            e = np.exp(F)
            parts = [((codes == k) - p, p * (1 - p)) for k, p in enumerate(e / e.sum(axis=0))]
        return [(list(w * g), list(w * h) if newton else list(w)) for g, h in parts]

    outputs = 1 if n_classes == 2 else n_classes
    ledger = twin.Ledger(mu, [1.0] * 4, lambda bought: [float(f not in bought) for f in range(4)], frozen)
    start = [[0.0] * 24] * outputs
    scores = twin.learn(X.tolist(), start, step, ledger, n_iter=4, eta=0.3, depth=3, least=2, tol=1e-11)
    model = GBFSClassifier(
        mu,
        n_iter=4,
        learning_rate=0.3,
        max_depth=3,
        min_samples_leaf=2,
        init="zero",
        step="newton" if newton else "gradient",
        phi_update="tree" if frozen else "split",
    ).fit(X, codes, w)
    np.testing.assert_allclose(model._scores(X), np.transpose(scores), atol=1e-10)
    assert [p[:4] for p in model.purchase_log_] == [p[:4] for p in ledger.log]
    assert len(ledger.log) >= 2
