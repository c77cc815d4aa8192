"""The subset evaluators and searches of the study of disjunctions, against definitions and all small subsets."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from fsgym_studies.hkl import cell


def boolean_table(n=60, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.45).astype(float)
    X[:, 6] = X[:, 1]  # a copy
    return X, ((X[:, 1] + X[:, 4] > 0) ^ (rng.random(n) < 0.1)).astype(int)


def plain_entropy(values):
    shares = np.array(list(Counter(values).values())) / len(values)
    return -(shares * np.log(shares)).sum()


def plain_uncertainty(a, b):
    total = plain_entropy(a.tolist()) + plain_entropy(b.tolist())
    return 2 * mutual_info_score(a, b) / total if total else 0.0


def plain_correlation(X, y, subset):
    with_class = np.mean([plain_uncertainty(X[:, j], y) for j in subset])
    pairs = [plain_uncertainty(X[:, i], X[:, j]) for i, j in combinations(subset, 2)]
    k = len(subset)
    return k * with_class / np.sqrt(k + k * (k - 1) * (np.mean(pairs) if pairs else 0.0))


def plain_consistency(X, y, subset):
    classes = {}
    for row, c in zip(X[:, list(subset)].tolist(), y.tolist()):
        classes.setdefault(tuple(row), Counter())[c] += 1
    return sum(counts.most_common(1)[0][1] for counts in classes.values()) / len(y)


PLAIN = {"Cfs": plain_correlation, "consistency": plain_consistency}
every_evaluator = pytest.mark.parametrize("name", cell.EVALUATORS)


@every_evaluator
@pytest.mark.parametrize("seed", [0, 1])
def test_merits_are_the_definitions(name, seed):
    X, y = boolean_table(seed=seed)
    y = y + (X[:, 0] * X[:, 2] > 0)  # three classes
    evaluator = cell.EVALUATORS[name](X, y)
    for subset in ([], [3], [1, 6], [4, 0, 2, 5]):
        candidates = np.setdiff1d(np.arange(7), subset)
        expected = [PLAIN[name](X, y, [*subset, int(j)]) for j in candidates]
        np.testing.assert_allclose(evaluator.merits(subset, candidates), expected, atol=1e-12)


@every_evaluator
@pytest.mark.slow
def test_best_first_search_finds_the_best_of_all_subsets(name, monkeypatch):
    monkeypatch.setattr(cell, "MAX_STALE", 2**7)
    X, y = boolean_table()
    merit = {s: PLAIN[name](X, y, s) for k in range(1, 8) for s in combinations(range(7), k)}
    best = max(merit.values())
    found = cell.best_first_search(cell.EVALUATORS[name](X, y), 7)
    assert merit[tuple(sorted(found))] == pytest.approx(best)
    assert not {1, 6} <= set(found)  # never a copy
    step = cell.greedy_search(cell.EVALUATORS[name](X, y), 7)
    for k in range(1, len(step) + 1):  # each step is the best of its size
        others = [s for s in merit if len(s) == k and set(step[: k - 1]) < set(s)]
        assert merit[tuple(sorted(step[:k]))] == pytest.approx(max(merit[s] for s in others))


def test_greedy_search_stops_at_a_plateau_that_best_first_search_leaves():
    X = np.array([[i >> j & 1 for j in range(4)] for i in range(16)], dtype=float)
    parity = (X[:, 1] != X[:, 3]).astype(int)
    evaluator = cell.Consistency(X, parity)
    assert len(cell.greedy_search(evaluator, 4)) == 1
    assert sorted(cell.best_first_search(evaluator, 4)) == [1, 3]


@every_evaluator
@pytest.mark.parametrize("search", cell.SEARCHES)
def test_a_selector_selects_at_least_one_column(name, search):
    X, y = boolean_table()
    selector = cell.SubsetSelector(name, search).fit(X, y)
    assert selector.transform(X).shape == (60, selector.get_support().sum())
    assert {1, 6} & set(selector.get_support(indices=True).tolist())
    assert cell.SubsetSelector(name, search).fit(np.ones((8, 3)), np.arange(8) % 2).get_support().sum() == 1
