"""CART with error costs: the answers of least expected cost where the class probabilities are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from baselines import CARTClassifier
from baselines.cart import SMOOTHING

rng = np.random.default_rng(0)
# The class probabilities of each of four cells, in which only the costs decide for the rare classes.
SHARES = np.array([[0.9, 0.08, 0.02], [0.7, 0.25, 0.05], [0.5, 0.1, 0.4], [0.97, 0.02, 0.01]])
CELLS = rng.integers(0, 4, 8000)
X = np.column_stack([CELLS // 2, CELLS % 2, rng.integers(0, 2, 8000)]).astype(np.float64)
CLASSES = np.array(["a", "b", "c"])
Y = CLASSES[(rng.random(8000)[:, None] > SHARES[CELLS].cumsum(axis=1)).sum(axis=1)]
COSTS = {
    "dear miss": [[0, 10, 30], [1, 0, 5], [1.5, 1.5, 0]],
    "usual": [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
    "negative": [[-1, 4, 6], [0, -2, 3], [0, 1, -5]],
    "one answer": [[0, 0, 0], [1, 1, 1], [2, 2, 2]],
}


@pytest.mark.parametrize("name", COSTS)
def test_the_answers_are_those_of_the_known_probabilities(name):
    model = CARTClassifier(error_costs=COSTS[name], min_samples_leaf=100, random_state=0).fit(X, Y)
    best = CLASSES[(SHARES @ np.array(COSTS[name], dtype=float).T).argmin(axis=1)]
    np.testing.assert_array_equal(model.predict(X), best[CELLS])
    np.testing.assert_allclose(model.predict_proba(X), SHARES[CELLS], atol=0.05)


def test_costs_guide_growth_and_pruning_but_not_the_probabilities():
    costs = np.array(COSTS["dear miss"], dtype=float)
    codes = np.searchsorted(CLASSES, Y)
    model = CARTClassifier(0.002, error_costs=costs, random_state=0).fit(X, Y)
    weight = costs.sum(axis=0)[codes]
    tree = DecisionTreeClassifier(ccp_alpha=0.002, random_state=0).fit(X, codes, weight / weight.mean())
    leaves = tree.apply(X)
    np.testing.assert_array_equal(model.estimator_.apply(X.astype(np.float32)), leaves)
    prior = np.bincount(codes) / len(codes)
    for leaf in np.unique(leaves):
        counts = np.bincount(codes[leaves == leaf], minlength=3)
        share = (counts + SMOOTHING * prior) / (counts.sum() + SMOOTHING)
        np.testing.assert_allclose(model.leaf_shares_[leaf], share)


@pytest.mark.parametrize("n_settings", [1, 2, 3])
def test_few_settings_begin_with_the_root_and_end_with_the_full_tree(n_settings):
    grid = CARTClassifier(random_state=0).sparsity_grid(X, Y, n_settings)
    assert len(grid) == n_settings
    assert [g["ccp_alpha"] for g in grid if g["ccp_alpha"] in (0.0, 1.0)] == [1.0, 0.0][:n_settings]


def test_a_small_pure_leaf_is_not_certain():
    model = CARTClassifier(error_costs=[[0, 1], [1, 0]]).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    proba = model.predict_proba([[0.0], [3.0]])
    assert 0.5 < proba[0, 0] == proba[1, 1] < 1.0


def test_costs_by_label_and_a_tree_without_splits():
    by_label = {"b": {"a": 1.0, "c": 1.0}, "a": {"b": 10.0, "c": 30.0}, "c": {"a": 1.0, "b": 1.0}}
    rows = pd.DataFrame([[0, 10, 30], [1, 0, 1], [1, 1, 0]], index=CLASSES, columns=CLASSES)
    models = [CARTClassifier(1.0, error_costs=c).fit(X, Y) for c in (by_label, rows, rows.to_numpy())]
    shares = np.bincount(np.searchsorted(CLASSES, Y)) / len(Y)
    constant = CLASSES[(rows.to_numpy() @ shares).argmin()]
    for model in models:
        assert set(model.predict(X)) == {constant}
        assert not model.features_used(X).any()
        np.testing.assert_allclose(model.predict_proba(X[:1])[0], shares)


def test_the_grid_goes_from_the_root_to_the_full_tree_with_costs():
    costs = COSTS["dear miss"]
    grid = CARTClassifier(error_costs=costs, random_state=0).sparsity_grid(X, Y)
    assert grid != CARTClassifier(random_state=0).sparsity_grid(X, Y)
    sizes = [CARTClassifier(error_costs=costs, random_state=0, **s).fit(X, Y).estimator_.get_n_leaves() for s in grid]
    assert sizes[0] == 1
    assert sizes == sorted(sizes)
    assert sizes[-1] == 8


@pytest.mark.parametrize("costs", [[[0, 1], [1, 0]], np.full((3, 3), np.nan), {"a": {"z": 1}}, "costs"])
def test_costs_that_do_not_fit_the_classes(costs):
    with pytest.raises((ValueError, TypeError), match="error_costs"):
        CARTClassifier(error_costs=costs).fit(X, Y)
