"""Which acquisitions tell nothing new, against a comparison of all columns and all acquisitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fsgym import Rules
from fsgym.rules.uninformative import column_sources, repeated_columns, uninformative_acquisitions, without_repeated

TABLES = arrays(np.float32, (4, 6), elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, np.nan]))


@settings(deadline=None, max_examples=200)
@given(X=TABLES)
def test_sources_are_those_of_comparing_all_pairs(X):
    sources = column_sources(X)
    for i in range(X.shape[1]):
        if len(np.unique(X[:, i][~np.isnan(X[:, i])])) < 2:
            assert sources[i] == -1
        else:
            equal = [k for k in range(i + 1) if np.array_equal(X[:, k], X[:, i], equal_nan=True)]
            assert sources[i] == equal[0]
    filled = np.nan_to_num(X)
    np.testing.assert_array_equal(column_sources(sp.csr_array(filled)), column_sources(filled))
    kept = without_repeated(filled)[:, ~repeated_columns(filled)]
    np.testing.assert_array_equal(kept, filled[:, ~repeated_columns(filled)])
    assert not repeated_columns(without_repeated(filled)).any()


@settings(deadline=None, max_examples=200)
@given(X=TABLES, data=st.data())
def test_what_is_left_out_is_constant_or_comes_with_another_acquisition_for_no_more(X, data):
    groups = data.draw(st.sampled_from([None, [[0, 1], [2, 3], [4, 5]], [[0], [1, 2], [3, 4, 5]]]))
    n = 6 if groups is None else len(groups)
    costs = data.draw(st.lists(st.sampled_from([1.0, 2.0]), min_size=n, max_size=n))
    needs = np.triu(data.draw(arrays(bool, (n, n))), 1)  # without circles
    rules = Rules(6, 2, groups=groups, costs=costs, prerequisites=needs if data.draw(st.booleans()) else None)
    found, sources = uninformative_acquisitions(X, rules), column_sources(X)
    shown = [set(sources[list(group)].tolist()) - {-1} for group in rules.groups]
    left = [j for j in range(n) if not found[j]]
    for j in np.flatnonzero(found):
        replaced = not shown[j] or any(shown[j] <= shown[i] and costs[i] <= costs[j] for i in left)
        assert replaced
        assert rules.prerequisites is None or not rules.prerequisites[left, j].any()
    for i, j in ((i, j) for i in left for j in left if i < j):
        if rules.prerequisites is None and shown[i] and shown[j]:
            assert shown[i] != shown[j]  # else one of them would be left out
    assert set().union(*shown) == set().union(*(shown[j] for j in left))


def test_what_makes_another_acquisition_cheaper_or_legal_stays():
    X = np.column_stack([np.arange(4), np.ones(4), np.ones(4)]).astype(np.float32)
    near = np.zeros((3, 3), bool)
    near[0, 1] = near[1, 0] = True
    for unrelated in (2.0, "forbid"):
        rules = Rules(3, 2, related=near, unrelated_costs=unrelated)
        assert uninformative_acquisitions(X, rules).tolist() == [False, False, True]
    assert uninformative_acquisitions(X, Rules(3, 2, related=near, unrelated_costs=1.0)).tolist() == [False, True, True]


def test_groups_of_columns_lose_a_copy_only_where_another_group_has_all_of_it():
    X = np.array([[1, 2, 1, 5], [2, 1, 2, 6], [3, 2, 3, 5]], np.float64)
    X = np.column_stack([X, X[:, 1]])
    assert without_repeated(X, [[0, 1], [2, 3], [4]])[:, 2:].tolist() == [[1, 5, 0], [2, 6, 0], [3, 5, 0]]
    assert without_repeated(X)[:, 2:].tolist() == [[0, 5, 0], [0, 6, 0], [0, 5, 0]]


@pytest.mark.parametrize("n", [0, 1])
def test_tables_of_at_most_one_row_tell_nothing(n):
    assert uninformative_acquisitions(np.zeros((n, 2), np.float32), Rules(2, 2)).tolist() == [True, True]
