"""Bins, histogram trees and forests compared with plain NumPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.tree import DecisionTreeRegressor

from fsgym.trees import Forest, TreeGrower, add_binned, bin_table, binning

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def bins_of(table, j):
    """The bins of column j, uint8 (n_samples,)."""
    return table.codes[j // 4, :, j % 4]


@settings(max_examples=100, deadline=None)
@given(X=arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=FINITE), most=st.integers(2, 40))
def test_a_bin_is_how_many_thresholds_are_below(X, most):
    table = bin_table(X, most)
    for j, thresholds in enumerate(table.thresholds):
        assert len(thresholds) < most
        assert (np.diff(thresholds) > 0).all()
        np.testing.assert_array_equal(bins_of(table, j), np.searchsorted(thresholds, X[:, j], side="left"))
        values = np.unique(X[:, j])
        if len(values) <= most:
            assert len(thresholds) == len(values) - 1
            assert ((values[:-1] <= thresholds) & (thresholds < values[1:])).all()
    np.testing.assert_array_equal(table.encode(X).words, table.words)


@pytest.mark.parametrize("most", [2, 7, 255, 256])
def test_bins_of_many_values_hold_about_as_many_rows(most):
    x = np.random.default_rng(0).normal(size=(10_000, 1))
    counts = np.bincount(bins_of(bin_table(x, most), 0))
    assert len(counts) == most
    assert counts.max() - counts.min() <= 1 + 10_000 // most // 50


def test_a_frequent_value_has_a_bin_of_its_own():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.zeros(6000), rng.normal(size=4000)])[:, None]
    table = bin_table(x, 16)
    zero = np.unique(bins_of(table, 0)[:6000])
    assert zero.size == 1
    assert (bins_of(table, 0) == zero[0]).sum() == 6000
    assert len(table.thresholds[0]) == 15
    rest = np.delete(np.bincount(bins_of(table, 0)), zero[0])
    assert rest.max() < 2 * 4000 / 15


def test_sparse_and_single_precision_tables_and_some_rows_only():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((300, 9)) < 0.7, 0.0, rng.normal(size=(300, 9))).astype(np.float32)
    table = bin_table(X.astype(np.float64), 32)
    rows = rng.permutation(300)[:120]
    for other in (X, sp.csr_array(X), sp.csc_matrix(X)):
        np.testing.assert_array_equal(bin_table(other, 32, n_jobs=2).words, table.words)
        np.testing.assert_array_equal(table.encode(other, rows=rows).words, table.words[:, rows])
        some = bin_table(other, 32, rows=rows)
        np.testing.assert_array_equal(some.words, bin_table(X[rows], 32).words)
    assert table.words.nbytes <= 300 * 12


def objective(g, h, l2, leaves):
    return sum(g[v].sum() ** 2 / (h[v].sum() + l2) for v in leaves) / 2


@pytest.mark.parametrize("l2", [0.0, 1.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_first_split_is_the_best_of_second_order(l2, weighted, n_jobs):
    rng = np.random.default_rng(0)
    X, g = rng.integers(0, 30, (5000, 30)).astype(float), rng.normal(size=5000)
    h = rng.uniform(0.1, 2.0, 5000) if weighted else np.ones(5000)
    g += (X[:, 17] > 12) * h
    with TreeGrower(bin_table(X), max_depth=1, min_samples_leaf=40, l2=l2, n_jobs=n_jobs) as grower:
        tree, gains = grower.grow(g, h if weighted else None), grower.gains(g, h if weighted else None)
    whole = np.ones(5000, dtype=bool)
    for f in range(30):
        lefts = [X[:, f] <= cut for cut in np.unique(X[:, f])[:-1]]
        best = max(objective(g, h, l2, [left, ~left]) for left in lefts if min(left.sum(), (~left).sum()) >= 40)
        assert gains[f] == pytest.approx(max(best - objective(g, h, l2, [whole]), 0.0), rel=1e-9, abs=1e-9)
    assert tree.feature.tolist() == [17, -1, -1] == [gains.argmax(), -1, -1]
    left = X[:, 17] <= tree.threshold[0]
    for node, rows in ((1, left), (2, ~left)):
        assert tree.value[node] == pytest.approx(g[rows].sum() / (h[rows].sum() + l2))


@pytest.mark.parametrize("weights", [None, "some"])
@pytest.mark.parametrize(("depth", "least"), [(1, 1), (3, 5), (6, 20)])
def test_without_prices_it_is_a_regression_tree(weights, depth, least):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 40, (3000, 7)).astype(float)
    y = np.sin(X[:, 0] / 5) + X[:, 1] * X[:, 2] / 400 + 0.3 * rng.normal(size=3000)
    w = None if weights is None else rng.uniform(0.5, 2.0, 3000)
    with TreeGrower(bin_table(X), max_depth=depth, min_samples_leaf=least) as grower:
        tree = grower.grow(y if w is None else y * w, w)
        scores = np.zeros(3000)
        grower.add_to(scores, tree)
    plain = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=least, random_state=0).fit(X, y, w)
    np.testing.assert_allclose(scores, plain.predict(X), atol=1e-9)
    again, forest = np.zeros(3000), Forest.of([tree])
    add_binned(tree, bin_table(X), again)
    np.testing.assert_array_equal(again, scores)
    summed = np.zeros((3000, 1))
    forest.add_to(summed, X)
    np.testing.assert_array_equal(summed[:, 0], scores)
    rows, nodes = plain.decision_path(X).nonzero()
    split_columns = plain.tree_.feature[nodes]
    used = np.zeros(X.shape, dtype=bool)
    used[rows[split_columns >= 0], split_columns[split_columns >= 0]] = True
    np.testing.assert_array_equal(forest.used(X), used)


def test_prices_change_within_a_tree_and_infinity_forbids():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 20, (2000, 5)).astype(float)
    y = (X[:, 0] > 9) + 0.5 * (X[:, 1] > 9) + 0.1 * rng.normal(size=2000)
    splits = []

    def on_split(feature, node, net):
        splits.append((feature, node, net))
        changed = prices[feature] > 0
        prices[feature] = 0.0
        return changed

    with TreeGrower(bin_table(X), max_depth=3) as grower:
        prices = np.full(5, 30.0)
        gains = grower.gains(y)
        priced = grower.grow(y, None, prices, on_split)
        assert set(priced.feature[priced.feature >= 0]) == {0, 1}
        assert splits[0] == (0, 0, pytest.approx(gains[0] - 30.0))
        assert len(splits) == (priced.feature >= 0).sum()
        forbidden = grower.grow(y, None, np.array([np.inf, 0, 0, 0, 0]))
        assert 0 not in forbidden.feature
        assert 1 in forbidden.feature
        assert len(grower.grow(y, None, np.full(5, np.inf)).feature) == 1
        assert len(grower.grow(y, None, np.full(5, np.inf), force_root=True).feature) == 1
        assert len(grower.grow(y, None, np.full(5, 1e6), force_root=True).feature) == 3


def test_noise_of_rounding_is_no_gain():
    X = np.random.default_rng(4).normal(size=(999, 8))
    with TreeGrower(bin_table(X), max_depth=4) as grower:
        for value in (0.1, 1e-9, 1e9):
            assert len(grower.grow(np.full(999, value)).feature) == 1
        steps = 0.1 * (X[:, 0] > 0)
        assert len(grower.grow(steps).feature) == 3


def test_an_empty_forest_scores_nothing():
    forest, scores = Forest.of([]), np.ones((4, 2))
    forest.add_to(scores, np.zeros((4, 3)))
    assert (scores == 1).all()
    assert forest.n_trees == forest.features.size == 0
    assert not forest.used(np.zeros((4, 3))).any()


def test_a_forest_on_its_own_columns_is_the_same():
    rng = np.random.default_rng(5)
    X, trees = rng.normal(size=(500, 12)), []
    with TreeGrower(bin_table(X, 16), max_depth=3) as grower:
        trees = [grower.grow(np.sin(k * X[:, k]) * X[:, 11 - k]) for k in range(3)]
    forest = Forest.of(trees)
    whole, part = np.zeros((500, 3)), np.zeros((500, 3))
    forest.add_to(whole, X)
    forest.take(forest.features).add_to(part, X[:, forest.features])
    np.testing.assert_array_equal(whole, part)
    for k, tree in enumerate(trees):
        scores = np.zeros((500, 1))
        Forest.of([tree]).add_to(scores, X)
        np.testing.assert_array_equal(scores[:, 0], whole[:, k])
    used = forest.used(X)
    np.testing.assert_array_equal(np.flatnonzero(used.any(axis=0)), forest.features)
    twice = np.zeros(X.shape, dtype=bool)
    forest.mark(twice, X, 0, 1)
    forest.mark(twice, X, 1, 3)
    np.testing.assert_array_equal(twice, used)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_usual_word_is_skipped_and_counted(weighted, monkeypatch):
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 24, (4000, 2))
    X = np.hstack([np.eye(24)[codes[:, 0]], np.eye(24)[codes[:, 1]], rng.normal(size=(4000, 3))])
    y = (codes[:, 0] < 6) + 0.5 * (codes[:, 1] == 5) + X[:, -1] + 0.1 * rng.normal(size=4000)
    w, results = rng.uniform(0.5, 2.0, 4000) if weighted else None, []
    for share in (binning.USUAL_SHARE, 2.0):
        monkeypatch.setattr(binning, "USUAL_SHARE", share)
        table = bin_table(X)
        assert (table.usual < 2**32).any() == (share < 1)
        with TreeGrower(table, max_depth=5, min_samples_leaf=10) as grower:
            results.append((grower.gains(y, w), grower.grow(y, w)))
    (gains, tree), (plain_gains, plain_tree) = results
    np.testing.assert_allclose(gains, plain_gains, rtol=1e-10, atol=1e-10)
    for ours, plain in zip(tree, plain_tree):
        np.testing.assert_allclose(ours, plain, rtol=1e-10)
    assert len(tree.feature) > 20
