"""CEGB: LightGBM's penalties against an exhaustive search, usage against its paths, and estimator checks."""

from __future__ import annotations

import pickle
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

import fsgym
from baselines import CEGBClassifier, GBFSRegressor
from baselines.cegb import trees_of
from fsgym.trees import Forest

ROWS = np.array([(7, 6, 0), (0, 7, 1), (5, 1, 5), (1, 0, 3), (2, 3, 4), (4, 2, 6), (3, 5, 7), (6, 4, 2)], dtype=float)
TARGETS = np.array([2, 2, 2, 8, 9, 6, 0, 1], dtype=float)


# Settings of LightGBM that its comparison with our code needs, whatever the objective.
PLAIN = {
    "min_data_in_bin": 1,
    "feature_pre_filter": False,
    "boost_from_average": False,
    "verbose": -1,
    "num_threads": 1,
    "force_col_wise": True,
}


def plain_booster(X, y, n_iter, depth=2, eta=0.1, least=1, **penalties):
    """Return LightGBM as in equation 14 of GBFS: first order, from zero, without regularisation, squared loss."""
    options = {
        "objective": "none",
        "num_leaves": 2**depth,
        "max_depth": depth,
        "min_data_in_leaf": least,
        "learning_rate": eta,
        "min_sum_hessian_in_leaf": 0,
        **PLAIN,
        **penalties,
    }
    booster = lightgbm.Booster(options, lightgbm.Dataset(X, params=options, label=y))
    for _ in range(n_iter):
        booster.update(fobj=lambda scores, _: (scores - y, np.ones(len(y))))
    return booster


def boost_lazily(X, y, n_iter, depth, eta, penalty, least=6):
    """Boost with a price for each new (row, feature), by exhaustive search for the best split of all leaves."""
    scores, owned = np.zeros(len(y)), np.zeros(X.shape, dtype=bool)
    for _ in range(n_iter):
        g, leaves = y - scores, [(np.arange(len(y)), 0)]
        while True:
            best = None
            for rows, level in leaves:
                if level == depth:
                    continue
                for f in range(X.shape[1]):
                    price = penalty[f] * (~owned[rows, f]).sum()
                    for cut in np.unique(X[rows, f])[:-1]:
                        left = X[rows, f] <= cut
                        a, b = g[rows[left]], g[rows[~left]]
                        if min(len(a), len(b)) < least:
                            continue
                        gain = a.sum() ** 2 / len(a) + b.sum() ** 2 / len(b) - g[rows].sum() ** 2 / len(rows) - price
                        if gain > 1e-9 and (best is None or gain > best[0]):
                            best = gain, rows, level, f, left
            if best is None:
                break
            _, rows, level, f, left = best
            owned[rows, f] = True
            leaves = [leaf for leaf in leaves if leaf[0] is not rows]
            leaves += [(rows[left], level + 1), (rows[~left], level + 1)]
        if len(leaves) == 1:
            break
        for rows, _ in leaves:
            scores[rows] += eta * g[rows].mean()
    return scores, owned


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("penalty", [0.0, 0.03, 0.2])
def test_a_lazy_penalty_is_paid_once_a_row_and_feature(seed, penalty):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=60)
    prices = penalty * rng.uniform(0.5, 1.5, 5)
    scores, owned = boost_lazily(X, y, 6, 3, 0.3, prices)
    booster = plain_booster(X, y, 6, depth=3, eta=0.3, least=6, cegb_penalty_feature_lazy=prices.tolist())
    np.testing.assert_allclose(booster.predict(X), scores, atol=1e-6)
    forest = Forest.of([tree for t in range(6) for tree in trees_of(booster, t, np.ones(X.shape[1]))])
    np.testing.assert_array_equal(forest.used(X), owned)


def test_a_coupled_penalty_is_refunded_twice_in_a_tree():
    """The reason why GBFS has its own tree learner; without open leaves at a purchase they agree."""
    bought = plain_booster(ROWS, TARGETS, 1, cegb_penalty_feature_coupled=[4.0] * 3)
    np.testing.assert_allclose(bought.predict(ROWS), [0.1, 0.2, 0.2, 23 / 30, 23 / 30, 23 / 30, 0.1, 0.1], atol=1e-7)
    exact = GBFSRegressor(2.0, n_iter=1, max_depth=2, init="zero").fit(ROWS, TARGETS).predict(ROWS)
    np.testing.assert_allclose(exact, [0.2, 0.2, 0.2, 23 / 30, 23 / 30, 23 / 30, 0.05, 0.05], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("depth", "mu"), [(4, 0.0), (1, 0.0), (1, 1.0), (1, 6.0)])
@pytest.mark.one_in(2)
def test_gbfs_agrees_with_lightgbm_where_lightgbm_is_right(seed, depth, mu):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 200, (2000, 6)) / 200
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=2000)
    costs = rng.uniform(0.5, 2.0, 6)
    model = GBFSRegressor(
        mu,
        n_iter=40,
        learning_rate=0.2,
        max_depth=depth,
        min_samples_leaf=10,
        init="zero",
        feature_costs=costs,
        validation_fraction=None,
    ).fit(X, y)
    booster = plain_booster(
        X, y, 40, depth=depth, eta=0.2, least=10, cegb_penalty_feature_coupled=(2 * mu * costs).tolist(), max_bin=255
    )
    np.testing.assert_allclose(model.predict(X), booster.predict(X), atol=1e-7)
    np.testing.assert_array_equal(model.support_, booster.feature_importance() > 0)


QUICK = CEGBClassifier(n_estimators=20, cv=2, random_state=0)


@pytest.mark.slow  # without options: tests/fsgym/methods/test_methods.py
@parametrize_with_checks([CEGBClassifier(penalty="coupled", n_estimators=10, cv=None)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("penalty", ["lazy", "coupled"])
@pytest.mark.parametrize("table", ["cancer", "wine"])
def test_scores_and_usage_are_those_of_lightgbm(penalty, table, request):
    X, y = request.getfixturevalue(table)
    model = clone(QUICK).set_params(penalty=penalty, cv=None).fit(X, y)
    options = {"num_class": len(model.init_)} if len(model.init_) > 1 else {}
    booster = lightgbm.Booster(
        options
        | PLAIN
        | {
            "objective": "multiclass" if options else "binary",
            "num_leaves": 16,
            "max_depth": 4,
            "min_data_in_leaf": 5,
            "deterministic": True,
            f"cegb_penalty_feature_{penalty}": model.penalty_.tolist(),
        },
        lightgbm.Dataset(
            X,
            y,
            init_score=np.tile(model.init_, (len(X), 1)).squeeze(),
            params={"min_data_in_bin": 1, "feature_pre_filter": False, "verbose": -1, "max_bin": 255},
        ),
    )
    for _ in range(20):
        booster.update()
    raw = booster.predict(X, raw_score=True).reshape(len(X), -1) + model.init_
    ours = np.exp(raw - np.logaddexp.reduce(raw, axis=1, keepdims=True)) if options else 1 / (1 + np.exp(-raw))
    np.testing.assert_allclose(model.predict_proba(X)[:, -ours.shape[1] :], ours, atol=1e-12)
    frame = booster.trees_to_dataframe().set_index("node_index")
    leaves, used = booster.predict(X, pred_leaf=True).reshape(len(X), -1), np.zeros(X.shape, dtype=bool)
    for t in range(leaves.shape[1]):
        for leaf in np.unique(leaves[:, t]):
            name = f"{t}-L{leaf}" if f"{t}-L{leaf}" in frame.index else f"{t}-L"
            while pd.notna(name := frame.loc[name, "parent_index"] if name in frame.index else None):
                used[leaves[:, t] == leaf, int(frame.loc[name, "split_feature"].removeprefix("Column_"))] = True
    np.testing.assert_array_equal(model.features_used(X), used)
    assert used.any()
    if penalty == "lazy":
        assert used.sum(axis=1).min() < used.any(axis=0).sum()


@pytest.mark.parametrize("lam", [0.0, 0.003, 0.05, 3.0])
@pytest.mark.parametrize("table", ["cancer", "wine"])
def test_unused_features_have_no_effect_and_higher_prices_use_fewer(table, lam, request):
    X, y = request.getfixturevalue(table)
    model = clone(QUICK).set_params(lam=lam).fit(X, y)
    used, answers = model.features_used(X), model.predict_proba(X)
    rng = np.random.default_rng(0)
    for huge in (1.0, 1e300):
        corrupted = np.where(used, X, rng.uniform(-huge, huge, X.shape))
        np.testing.assert_array_equal(model.predict_proba(corrupted), answers)
        np.testing.assert_array_equal(model.features_used(corrupted), used)
    low, high = {0.0: (4, 13), 0.003: (2, 9), 0.05: (0.5, 5), 3.0: (0, 0)}[lam]
    assert low <= used.sum(axis=1).mean() <= high
    if lam == 3.0:
        assert set(model.predict(X)) == {np.bincount(y).argmax()}
        assert model.n_iter_ == 0


def test_the_number_of_trees_is_that_of_least_loss(cancer):
    X, y = cancer
    model = clone(QUICK).set_params(lam=0.1, n_estimators=60).fit(X[:300], y[:300])
    losses = model._losses(model.init_, model.trees_, X[300:], y[300:])
    for t in range(model.n_iter_ + 1):
        first = Forest.of([forest_tree(model.trees_, k) for k in range(t)])
        scores = np.tile(model.init_, (269, 1))
        first.add_to(scores, X[300:])
        wrong = (scores[:, 0] > 0) != y[300:]
        assert losses[t] == pytest.approx(wrong.sum() + 0.1 * first.used(X[300:]).sum())
    assert (losses[model.n_iter_ :] == losses[model.n_iter_]).all()
    assert model.n_iter_ < clone(model).set_params(cv=None).fit(X[:300], y[:300]).n_iter_ == 60


def forest_tree(forest, t):
    from fsgym.trees import Tree

    low, high = forest.roots[t], forest.roots[t + 1]
    feature = forest.feature[low:high]
    shifted = [
        np.where(feature >= 0, side[low:high] - low, -1).astype(np.int32) for side in (forest.left, forest.right)
    ]
    return Tree(feature, forest.threshold[low:high], np.full_like(feature, -1), *shifted, forest.value[low:high])


def test_prices_groups_and_error_costs(cancer):
    X, y = cancer
    costs = np.ones(30)
    usual = np.flatnonzero(clone(QUICK).set_params(lam=0.01).fit(X, y).features_used(X).any(axis=0))
    costs[usual] = 100.0
    model = clone(QUICK).set_params(lam=0.01, costs=costs).fit(X, y)
    assert not model.features_used(X)[:, usual].any()
    assert model.features_used(X).any()
    share = y.mean()
    nats = -(share * np.log(share) + (1 - share) * np.log(1 - share)) / min(share, 1 - share)
    np.testing.assert_allclose(model.penalty_, 2 * 0.01 * nats * costs)
    careful = clone(QUICK).set_params(lam=0.01, error_costs=[[0, 1], [4, 0]]).fit(X, y)
    shares = careful.predict_proba(X)
    np.testing.assert_array_equal(careful.predict(X) == 1, 4 * shares[:, 0] < shares[:, 1])
    assert 0.3 < (careful.predict(X) == 1).mean() < y.mean()
    named = clone(careful).set_params(error_costs={"1": {"0": 4}, "0": {"1": 1}}).fit(X, y)
    np.testing.assert_array_equal(named.predict(X), careful.predict(X))
    assert "a missed '0' costs 4, a false '0' costs 1" in repr(named.rules_)


def test_a_coupled_group_is_paid_for_once_from_tree_to_tree(cancer):
    X, y = cancer
    bought = {}
    for groups in (None, [[j, j + 10, j + 20] for j in range(10)]):
        model = clone(QUICK).set_params(lam=0.01, penalty="coupled", groups=groups, cv=None, n_estimators=40).fit(X, y)
        bought[groups is None] = model.trees_.features
    assert len(bought[True]) == len(set(bought[True] % 10))
    assert len(bought[False]) >= 2 * len(set(bought[False] % 10))


def test_a_group_counts_once_where_the_number_of_trees_is_chosen(cancer):
    X, y = cancer
    groups = [[j, j + 10, j + 20] for j in range(10)]
    model = clone(QUICK).set_params(lam=0.01, groups=groups, costs=np.arange(1.0, 11.0)).fit(X[:300], y[:300])
    assert model.rules_.n_acquisitions == 10
    np.testing.assert_allclose(model.penalty_ / model.penalty_[0], np.tile(np.arange(1.0, 11.0), 3))
    last = model._losses(model.init_, model.trees_, X[300:], y[300:])[model.n_iter_]
    taken = np.array([[model.features_used(X[300:])[:, g].any(axis=1)] for g in groups])[:, 0]
    wrong = (model.predict(X[300:]) != y[300:]).sum()
    assert last == pytest.approx(wrong + 0.01 * (np.arange(1.0, 11.0) @ taken).sum())


@pytest.mark.slow
def test_cegb_in_a_comparison():
    results = fsgym.compare(
        "wine", ["cegb"], splits=1, lam=[0.0, 0.05, 2.0], costs=np.arange(1.0, 14.0), budget=3, references=False
    )
    assert results["error"].isna().all()
    assert results["params"].tolist() == ['{"lam": 0.0}', '{"lam": 0.05}', '{"lam": 2.0}']
    assert results["n_features"].is_monotonic_decreasing
    assert results["n_features"].iloc[-1] == 0
    assert results["admissible"].iloc[0] < 1


@pytest.mark.usefixtures("two_threads")
def test_threads_pickles_and_names(wine):
    X, y = load_wine(return_X_y=True, as_frame=True)
    words = np.array(["red", "white", "rose"])[y]
    named = clone(QUICK).set_params(n_estimators=3, cv=None, costs={c: 1 + i for i, c in enumerate(X)})
    one, two = (clone(named).set_params(n_jobs=k).fit(X, words) for k in (1, 2))
    assert one.predict_proba(X).tobytes() == two.predict_proba(X).tobytes()
    assert set(one.predict(X)) == {"red", "white", "rose"}
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(one)).features_used(X), one.features_used(X))


def test_without_lightgbm_the_error_names_the_extra(wine, monkeypatch):
    model = clone(QUICK).fit(*wine)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"needs lightgbm: .*pip install .*\[cegb\]"):
        clone(QUICK).fit(*wine)
    assert model.score(*wine) > 0.8


X3, Y3 = np.arange(24.0).reshape(8, 3), np.array([0, 1] * 4)


@pytest.mark.parametrize(
    ("setting", "y", "message"),
    [
        ({"lam": -1.0}, Y3, "'lam' parameter"),
        ({"lam": np.nan}, Y3, "lam"),
        ({"penalty": "eager"}, Y3, "'penalty' parameter"),
        ({"costs": [1.0, 2.0]}, Y3, r"costs must have shape \(3,\)"),
        ({"costs": {"x0": 1.0, "x1": 1.0, "age": 1.0}}, Y3, "not an acquisition"),
        ({"costs": [1.0, -2.0, 1.0]}, Y3, "costs must not be negative"),
        ({"groups": [[0], [1]]}, Y3, "feature 2 is in none"),
        ({"error_costs": np.ones((3, 3))}, Y3, "error_costs must have shape"),
        ({"cv": 1}, Y3, "'cv' parameter"),
        ({}, np.zeros(8), "at least two classes"),
    ],
)
def test_errors_name_the_problem(setting, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        CEGBClassifier(n_estimators=2).set_params(**setting).fit(X3, y)
