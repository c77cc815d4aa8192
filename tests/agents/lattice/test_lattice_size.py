"""Forests, limits and samples of large tables in the lattice agent."""

from __future__ import annotations

import numpy as np
import pytest

from agents import LatticeClassifier, LatticePolicy
from agents.lattice import constants as const
from agents.lattice import training_data
from agents.lattice.forest import ForestGrowth, add_shares, grow_forest, join_forests
from agents.lattice.subset_classifier import CrossFit, cross_fit, fit_classifier, smoothed
from agents.lattice.training_data import choose_ingredients, limits_of, prepare_data
from fsgym import Dataset


def shares_of(forest, codes, n_classes):
    """Mean shares of the trees, row by row, without compiled code."""
    shares = np.zeros((codes.shape[1], n_classes))
    for i in range(codes.shape[1]):
        for root in forest.root:
            v = root
            while forest.child[v] >= 0:
                v = forest.child[v] + int(codes[forest.place[v], i] > forest.cut[v])
            leaf = -1 - forest.child[v]
            for e in range(forest.leaf_first[leaf], forest.leaf_first[leaf + 1]):
                shares[i, forest.leaf_class[e]] += forest.leaf_share[e] / len(forest.root)
    return shares


def impurity(counts):
    return counts.sum() - (counts**2).sum() / max(counts.sum(), 1e-9)


def test_the_first_cut_of_a_tree_is_the_best_of_all_by_the_gini_impurity():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 9, (3, 80)).astype(np.uint8), rng.integers(0, 3, 80)
    y[codes[2] > 5] = 1
    weight = rng.uniform(0.5, 2.0, 80)

    def total(rows):
        return impurity(np.bincount(y[rows], weight[rows], minlength=3))

    tree = grow_forest(codes, y, [weight], ForestGrowth(3, 4.0, 3), 0)
    allowed = [
        (total(codes[f] <= c) + total(codes[f] > c), f, c)
        for f in range(3)
        for c in range(8)
        if min(weight[codes[f] <= c].sum(), weight[codes[f] > c].sum()) >= 4.0
    ]
    assert (tree.place[0], tree.cut[0]) == min(allowed)[1:]
    left = codes[tree.place[0]] <= tree.cut[0]
    expected = np.bincount(y[left], weight[left], minlength=3) / weight[left].sum()
    np.testing.assert_allclose(shares_of(tree, codes, 3)[left][0], expected, rtol=1e-6)


def test_shares_of_a_joined_forest_are_those_of_its_trees():
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 200, (4, 150)).astype(np.uint8), rng.integers(0, 4, 150)
    weights = [rng.poisson(1.0, 150).astype(float) for _ in range(5)]
    forest = grow_forest(codes, y, weights, ForestGrowth(2, 2.0, 61), 3)
    assert np.diff([*forest.root, len(forest.child)]).max() <= 61
    shares = np.zeros((150, 4))
    add_shares(forest, codes, np.arange(0, 150, 3), shares)
    np.testing.assert_allclose(shares[::3], shares_of(forest, codes, 4)[::3], rtol=1e-6)
    np.testing.assert_allclose(shares[::3].sum(axis=1), 1, rtol=1e-6)
    assert not shares[1::3].any()
    twice = np.zeros((150, 4))
    add_shares(join_forests([forest, forest]), codes, np.arange(150), twice)
    np.testing.assert_allclose(twice[::3], shares[::3])


def task(n, seed=0, n_classes=3):
    """Rows of which the first feature selects which of two others is informative."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(np.float32)
    score = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.3 * rng.normal(size=n)
    return X, np.digitize(score, np.linspace(-0.6, 0.6, n_classes - 1))


def test_out_of_fold_probabilities_of_a_forest_do_not_depend_on_the_label_of_their_row():
    X, y = task(1200)
    proba = []
    for flipped in (False, True):
        data = prepare_data(Dataset(X, y), np.random.default_rng(0))
        rows = data.fold == 1
        if flipped:
            changed = np.where(rows, (data.y + 1) % 3, data.y)
            data = training_data.TrainingData(X, changed, 3, data.fold, data.seed, given_basis=data.basis)
        only_forest = data.ingredients._replace(boosted=False, logistic=False)
        object.__setattr__(data, "ingredients", only_forest)
        fitted = cross_fit(data, np.arange(3))
        proba.append(np.log(fitted.proba[rows]) * fitted.temperature)
    steps = [p - p[:, :1] for p in proba]  # the temperature is chosen on all labels
    np.testing.assert_allclose(*steps, atol=2e-3)


@pytest.mark.slow
def test_compiled_inference_with_forests_agrees_with_the_classifiers_of_the_subsets():
    X, y = task(1200)
    model = LatticeClassifier(lam=0.01, random_state=0).fit(X, y)
    policy = model.policy_
    data = prepare_data(Dataset(X, y), np.random.default_rng(0))
    checked = 0
    for v in range(0, len(policy.taken), 9):
        features, plan = np.flatnonzero(policy.taken[v]), policy.plan
        if not len(features) or not plan.blend[v, 2]:
            continue
        cross_fitted = cross_fit(data, features)._replace(blend=plan.blend[v], temperature=1.0)
        share = (plan.root_first[v + 1] - plan.root_first[v]) / len(data.bags)  # fewer trees where few rows arrive
        fitted = fit_classifier(data, features, cross_fitted, share)
        shares = smoothed(shares_of(fitted.forest, data.codes[features][:, :40], 3))
        states = np.zeros((40, 5), bool)
        states[:, features] = True
        cost = (np.arange(len(policy.taken)) != v).astype(float)  # it answers from this subset
        continuation = policy.continuation._replace(answer_cost=cost)
        policy = LatticePolicy(policy.taken, plan, continuation, policy.rules)
        proba = policy.state_probabilities(states, X[:40])
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        blend = plan.blend.copy()
        blend[v] = 0, 0, 1
        only = plan._replace(blend=blend, temperature=np.ones(len(blend)))
        alone = type(policy)(policy.taken, only, policy.continuation, policy.rules).state_probabilities(states, X[:40])
        np.testing.assert_allclose(alone, shares, rtol=1e-5)
        checked += 1
    assert checked


def test_the_structure_is_learnt_on_a_sample_and_the_classifiers_on_all_rows(monkeypatch):
    X, y = task(6000, n_classes=2)
    monkeypatch.setattr(const, "MAX_SAMPLE_ROWS", 1500)
    data = prepare_data(Dataset(X, y), np.random.default_rng(0))
    assert len(data.y) == pytest.approx(1500, abs=2)
    assert abs(data.y.mean() - y.mean()) < 1e-3
    assert len(data.all_rows.y) == 6000
    assert data.all_rows.basis is data.basis
    assert data.all_rows.ingredients == data.ingredients
    monkeypatch.setattr(const, "MAX_SAMPLE_ROWS", 50_000)
    whole = prepare_data(Dataset(X, y), np.random.default_rng(0))
    assert whole.all_rows is None
    blended = CrossFit(np.empty(0, np.float32), np.array([0.0, 0.5, 0.5]), 1.0)
    data.all_rows.read(range(3))
    fitted = [fit_classifier(d, np.arange(3), blended) for d in (data, data.all_rows)]
    assert len(fitted[0].forest.child) < len(fitted[1].forest.child)


def test_each_class_keeps_rows_in_the_sample(monkeypatch):
    monkeypatch.setattr(const, "MAX_SAMPLE_ROWS", 200)
    y = np.zeros(5000, int)
    y[:3] = 1
    data = prepare_data(Dataset(np.random.default_rng(0).normal(size=(5000, 2)), y), np.random.default_rng(0))
    assert np.bincount(data.y).tolist() == [200, 2]


def test_expensive_models_are_left_out_where_too_few_subsets_could_be_tried():
    few = choose_ingredients(300, 10, 2, 10)
    assert (few.boosted, few.logistic, few.n_forest_trees) == (True, True, 0)
    letters = choose_ingredients(14_000, 16, 26, 3)
    assert (letters.boosted, letters.logistic) == (False, False)
    assert letters.n_forest_trees > 0


def test_limits_grow_with_rows_and_effort():
    assert limits_of(5000).n_operations > limits_of(2500).n_operations == limits_of(100).n_operations
    assert limits_of(10**7) == limits_of(20_000)
    double = limits_of(5000, 2.0)
    assert double.n_operations == 2 * limits_of(5000).n_operations
    assert double.n_subsets == 2 * limits_of(5000).n_subsets


@pytest.mark.slow
def test_a_limit_that_stops_growth_while_the_loss_falls_is_reported(monkeypatch):
    X, y = task(1100, n_classes=2)
    plain = LatticeClassifier(lam=0.001, unknown=0, random_state=0)
    assert plain.fit(X, y).limited_by_ is None
    monkeypatch.setattr(const, "MAX_SUBSETS", {np.inf: 2})
    with pytest.warns(UserWarning, match=r"limit of subsets while its loss was still falling: .*effort=4"):
        plain.fit(X, y)
    assert plain.limited_by_ == "subsets"
    assert LatticeClassifier(lam=0.001, effort=60, unknown=0, random_state=0).fit(X, y).limited_by_ is None
    with pytest.warns(UserWarning, match="limit of"):
        assert LatticeClassifier(lam=0.001, effort=1e-6, random_state=0).fit(X[:300], y[:300]).limited_by_ is not None
    monkeypatch.setattr(const, "MAX_SUBSETS", {np.inf: 100})
    monkeypatch.setattr(const, "MAX_OPERATIONS", 10**7)
    with pytest.warns(UserWarning, match="limit of operations"):
        assert plain.fit(X, y).limited_by_ == "operations"


@pytest.mark.parametrize(
    ("effort", "error"), [(0, ValueError), (-1, ValueError), ("much", TypeError), (np.nan, ValueError)]
)
def test_effort_must_be_a_number_above_zero(effort, error):
    with pytest.raises(error, match="effort must be"):
        LatticeClassifier(effort=effort).fit(*task(50))


UNEQUAL = np.array([[0.0, 25.0], [1.0, 0.0]])


def smooth_risk(n, rng):
    """Age, pain and two columns of noise; the risk of a rare class rises smoothly with age and pain."""
    age, pain = rng.uniform(20, 95, n).round(), rng.integers(0, 11, n)
    risk = 1 / (1 + np.exp(-(age - 58) / 12 - (pain - 5) / 2.5 + 4.4))
    return np.column_stack([age, pain, rng.normal(size=(n, 2))]), risk


def test_few_rows_that_decide_by_their_error_costs_get_the_models_of_few_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, risk = smooth_risk(1500, rng)
    data = Dataset(X, rng.random(1500) < risk)

    def prepared(error_costs, weight=None):
        return prepare_data(data, np.random.default_rng(0), weight, error_costs)

    equal = prepared(None)
    assert equal.size_at_stake == 1500
    assert not equal.is_small
    assert equal.ingredients.n_forest_trees
    for factor in (1.0, 0.1):
        same = prepared(factor * (1 - np.eye(2)))
        assert (same.size_at_stake, same.ingredients) == (1500, equal.ingredients)
    few = prepared(UNEQUAL)
    n_rare = int(data.y.sum())
    assert few.size_at_stake == pytest.approx((25 * n_rare + 1500 - n_rare) ** 2 / (625 * n_rare + 1500 - n_rare))
    assert few.is_small
    assert few.ingredients == choose_ingredients(300, 4, 2, 5)
    shifted = prepared(UNEQUAL + 3.0)  # what each answer costs at least cannot be saved
    assert shifted.size_at_stake == pytest.approx(few.size_at_stake)
    weight = np.where(data.y == 1, 25.0, 1.0)
    weighted = prepared(None, weight / weight.mean())
    assert weighted.ingredients == few.ingredients
    assert (equal.shrinkage, weighted.shrinkage) == (1.0, 1.0)  # of weights, the hessians and the residuals know
    assert few.shrinkage == pytest.approx(1500 / few.size_at_stake)
    assert prepared(UNEQUAL**2).shrinkage == const.MAX_SHRINKAGE
    spread = []
    for most in (1.0, const.MAX_SHRINKAGE):
        monkeypatch.setattr(const, "MAX_SHRINKAGE", most)
        fitted = fit_classifier(few, np.arange(4), cross_fit(few, np.arange(4)))
        spread.append([np.ptp(fitted.coefficients[1:]), np.ptp(fitted.boosted.value)])
    assert (np.array(spread[1]) < spread[0]).all()


def test_of_a_rare_class_with_dear_errors_few_rows_decide_beside_many_that_cost_something():
    """By Kish's number alone, 105 rows beside 1,995 of other errors were not few: its forests learnt them by heart."""
    y = (np.arange(2100) % 20 == 0).astype(int)
    data = Dataset(np.random.default_rng(0).normal(size=(2100, 3)).astype(np.float32), y)
    few = prepare_data(data, np.random.default_rng(0), None, np.array([[0.0, 2000.0], [300.0, 0.0]]))
    total, squares = 105 * 2000 + 1995 * 300, 105 * 2000**2 + 1995 * 300**2
    assert few.size_at_stake == pytest.approx(total / 1150)
    assert few.size_at_stake < const.MAX_ROWS_SMALL < total**2 / squares
    assert few.is_small


@pytest.mark.slow
def test_leaves_of_forests_are_large_where_few_of_many_rows_are_at_stake():
    """Small leaves of a rare class learn the rows by heart, and the own loss out of fold was too low."""
    rng = np.random.default_rng(0)
    X, risk = smooth_risk(40_000, rng)
    data = Dataset(X, rng.random(len(X)) < risk)
    leaves = [
        prepare_data(rows, np.random.default_rng(0), None, costs).forest_leaf
        for rows, costs in (
            (data, None),
            (data, 1 - np.eye(2)),
            (data, UNEQUAL),
            (data, UNEQUAL + 3.0),
            (data.rows(np.arange(10_000)), UNEQUAL),
            (data.replace(y=np.arange(len(X)) % 2), UNEQUAL),  # half of the rows are at stake
        )
    ]
    assert leaves == [1.0, 1.0, 100.0, 100.0, 50.0, 1.0]


def test_models_of_few_rows_are_left_out_where_they_take_too_long():
    many = choose_ingredients(50_000, 100, 20, 3, size_at_stake=500)
    assert many == choose_ingredients(50_000, 100, 20, 3)


def test_a_smooth_risk_of_a_rare_class_is_learnt_under_unequal_error_costs():
    rng = np.random.default_rng(0)
    X, risk = smooth_risk(1500, rng)
    model = LatticeClassifier(costs=[0, 0.01, 0, 0.01], lam=1, error_costs=UNEQUAL, unknown=0, random_state=0)
    model.fit(X, (rng.random(1500) < risk).astype(int))
    X, risk = smooth_risk(4000, rng)
    costs = UNEQUAL[:, 1] * risk[:, None] + UNEQUAL[:, 0] * (1 - risk)[:, None]
    excess = costs[np.arange(4000), model.predict(X)].mean() - costs.min(axis=1).mean()
    assert excess < 0.03  # with trees of six levels and a forest .08; nothing acquired .53
