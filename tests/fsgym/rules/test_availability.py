"""Values that no sequence of acquisitions reveals are hidden from methods that use a set of features in no order."""

import itertools

import numpy as np

import fsgym
from fsgym import Dataset, Rules
from fsgym.rules import kernels as mdp

NEEDS = {"x2": ["x1"], "x3": ["x2", "x0"]}


def reachable(rules, X, row):
    """The acquisitions that any order of legal acquisitions makes, by brute force."""
    reached = set()
    for order in itertools.permutations(range(rules.n_acquisitions)):
        state = rules.blank_state()
        mdp.start(rules.tables, state, 0, X, row)
        for j in order:
            if state.legal[0, j]:
                mdp.acquire(rules.tables, state, 0, j)
                reached.add(j)
    return reached


def test_what_is_available_agrees_with_brute_force():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 4)) < 0.4, np.nan, 1.0).astype(np.float32)
    for options in ({}, {"prerequisites": NEEDS}):
        rules = Rules(4, 2, **options)
        expected = [[j in reachable(rules, X, i) for j in range(4)] for i in range(len(X))]
        assert rules.available(X).tolist() == expected


def test_unavailable_values_are_hidden_and_nothing_else():
    X = np.array([[1, 1, 1, 1], [1, np.nan, 1, 1], [np.nan, 1, 1, 1]], np.float32)
    shown = Rules(4, 2, prerequisites=NEEDS).without_unavailable(X)
    nan = np.nan
    np.testing.assert_array_equal(shown, [[1, 1, 1, 1], [1, nan, nan, nan], [nan, 1, 1, nan]])
    assert Rules(4, 2).without_unavailable(X) is X
    grouped = Rules(4, 2, groups=[[0, 1], [2, 3]], prerequisites=[[False, False], [True, False]])
    np.testing.assert_array_equal(grouped.without_unavailable(X), X)  # a group with one value is available


def test_everything_that_can_be_acquired_is_admissible():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    results = fsgym.compare(Dataset(X, y), "cart", splits=1, prerequisites=NEEDS, lam=0.01)
    everything = results[results["method"] == "everything"]
    assert (everything["admissible"] == 1).all()
    assert (everything["spent"] == everything["n_features"]).all()
