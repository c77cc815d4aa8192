"""Rows that belong together, such as the visits of one patient, are never on both sides of a split."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from fsgym import Dataset
from fsgym.comparison.splits import Split, inner_split
from fsgym.data.row_groups import encode_row_groups, grouped_folds
from fsgym.runner.fingerprint import fingerprint
from support.refusals import refused


def visits(y, groups, **options):
    """A data set whose only feature is the number of the row."""
    return Dataset(np.arange(float(len(y)))[:, None], y, row_groups=groups, name="visits", **options)


def rows_of(data):
    return data.X[:, 0].astype(int)


def assert_apart(data, *parts):
    """The parts are all rows of the data set, and no two of them have a group in common."""
    rows = [rows_of(p) for p in parts]
    assert sorted(np.concatenate(rows)) == sorted(rows_of(data))
    label_of = dict(zip(rows_of(data), data.row_groups))
    groups = [{label_of[i] for i in r} for r in rows]
    assert sum(map(len, groups)) == len(set().union(*groups))


# Labels


@pytest.mark.parametrize(
    "labels",
    [
        ["p7", "p7", "a", "p7", "b"],
        [3, 3, 1, 3, 2],
        [0.5, 0.5, -1.0, 0.5, 9.0],
        [1, True, "1", 1.0, (1, 2)],
        np.array(["2024-01-02", "2024-01-02", "1999-01-01", "2024-01-02", "2000-01-01"], dtype="M8[D]"),
        pd.Series(["z", "z", "y", "z", "x"], index=[4, 3, 2, 1, 0], dtype="category"),
        pd.Series([8, 8, 7, 8, 6], dtype="Int64"),
    ],
)
def test_codes_are_in_the_order_of_first_appearance(labels):
    codes = encode_row_groups(labels, 5)
    assert codes.dtype == np.int64
    assert codes.tolist() == [0, 0, 1, 0, 2]
    data = visits([0, 1, 0, 1, 0], labels)
    assert data.row_groups.tolist() == [0, 0, 1, 0, 2]
    with pytest.raises(ValueError, match="read-only"):
        data.row_groups[0] = 5


def test_groups_follow_their_rows():
    data = visits([0, 1, 0, 1], ["a", "b", "b", "c"])
    assert data.rows([3, 1, 2]).row_groups.tolist() == [0, 1, 1]
    assert data.scaled().row_groups.tolist() == data.replace(name="n").row_groups.tolist() == [0, 1, 1, 2]
    assert data.replace(X=np.ones((4, 2)), feature_names=None).row_groups.tolist() == [0, 1, 1, 2]
    assert data.replace(X=np.ones((2, 1)), y=[0, 1]).row_groups is None
    assert data.replace(X=np.ones((2, 1)), y=[0, 1], row_groups=[5, 5]).row_groups.tolist() == [0, 0]
    assert pickle.loads(pickle.dumps(data)).row_groups.tolist() == [0, 1, 1, 2]
    assert not pickle.loads(pickle.dumps(data)).row_groups.flags.writeable


def test_the_fingerprint_changes_with_groups_only():
    arguments = {"groups": [[0, 2], [1]], "costs": [1.0, 2.0], "name": "plain"}
    plain = Dataset(np.arange(24.0).reshape(8, 3), list("abababab"), **arguments)
    assert fingerprint(plain) == "5a2e664621b02e79c47ce8cf974ecdb74e25adc7af85c62600f5137a76697e6f"  # of version 0.1.0
    one, two = (plain.replace(row_groups=g) for g in ([0, 0, 1, 1, 2, 2, 3, 3], list("wxyzwxyz")))
    assert len({fingerprint(d) for d in (plain, one, two)}) == 3
    assert fingerprint(plain.replace(row_groups=list("ggffeedd"))) == fingerprint(one)


# Splits


@st.composite
def grouped_labels(draw):
    """Labels and groups of up to 40 rows: sizes and classes of any distribution, classes of one row among them."""
    n = draw(st.integers(2, 40))
    n_groups, n_classes = draw(st.integers(1, n)), draw(st.integers(2, 5))
    groups = draw(st.lists(st.integers(0, n_groups - 1), min_size=n, max_size=n))
    pure = draw(st.booleans())
    classes = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    y = [classes[g] for g in groups] if pure else classes
    return np.array(y), np.array(groups), n_classes


@settings(max_examples=200, deadline=None)
@given(grouped_labels(), st.floats(0.02, 0.98), st.integers(0, 2**31 - 1))
@pytest.mark.slow
def test_no_group_is_on_both_sides(labels, share, seed):
    y, groups, n_classes = labels
    data = visits(y, groups, classes=np.arange(n_classes))
    groups_of_class = [len(np.unique(groups[y == c])) for c in np.unique(y)]
    if min(groups_of_class) < 2:
        refused(ValueError, r"single group of rows|in one group", share, seed, call=data.split)
        return
    train, test = data.split(share, seed)
    assert_apart(data, train, test)
    assert len(test.y)
    assert set(train.y) == set(y)
    assert rows_of(train).tolist() == rows_of(data.split(share, seed)[0]).tolist()
    pairs = set(zip(train.y, train.row_groups))
    only = {g for c, g in pairs if sum(other == c for other, _ in pairs) == 1}
    if only == set(train.row_groups):  # each group has the only training rows of a class
        refused(ValueError, "no group of rows that could be held out", train, seed, call=inner_split)
    else:
        fit, validation = inner_split(train, seed)
        assert_apart(train, fit, validation)
        assert len(validation.y)
        assert set(fit.y) == set(train.y)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.75])
def test_shares_of_rows_and_classes_are_close(share):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(300), rng.integers(1, 8, 300))
    ill = rng.random(300) < 0.09
    y = np.where(rng.random(len(groups)) < 0.9, ill[groups], rng.random(len(groups)) < 0.09).astype(int)
    data = visits(y, groups)
    sides = set()
    for seed in range(20):
        train, test = data.split(share, seed)
        assert_apart(data, train, test)
        assert np.bincount(train.y) == pytest.approx(share * np.bincount(y), abs=2)
        sides.add(rows_of(train).tobytes())
    assert len(sides) == 20


def test_a_group_of_most_rows_is_in_the_larger_part():
    data = visits([0, 1] * 20, [0] * 30 + list(range(1, 11)))
    assert {tuple(len(part.y) for part in data.split(0.7, seed)) for seed in range(10)} <= {(30, 10), (31, 9)}


def test_every_row_of_its_own_group_is_an_ordinary_stratified_split():
    y = np.repeat([0, 1, 2], [60, 30, 10])
    train, test = visits(y, range(100)).split(0.7, 4)
    assert np.bincount(train.y).tolist() == [42, 21, 7]
    assert np.bincount(test.y).tolist() == [18, 9, 3]


def test_without_groups_the_rows_are_those_of_scikit_learn():
    y = np.array([0, 1, 1, 0] * 5)
    train, test = visits(y, None).split(0.6, 3)
    expected = train_test_split(np.arange(20), train_size=0.6, stratify=y, random_state=3)
    assert [rows_of(train).tolist(), rows_of(test).tolist()] == [e.tolist() for e in expected]


def test_a_random_state_is_drawn_from():
    data = visits([0, 1] * 50, np.repeat(range(50), 2))
    state = np.random.RandomState(0)
    first, second = data.split(0.5, state)[0], data.split(0.5, state)[0]
    assert rows_of(first).tolist() == rows_of(data.split(0.5, 0)[0]).tolist()
    assert rows_of(first).tolist() != rows_of(second).tolist()


@pytest.mark.parametrize(
    ("y", "groups", "seed", "match"),
    [
        ([0, 1, 0, 1], ["a"] * 4, 0, "'visits' are in one group"),
        ([0, 1, 0, 2], ["a", "b", "c", "c"], 0, "class 1 of 'visits' has a single group of rows"),
        ([0, 1, 0, 1], ["a", "b", "c", "d"], "seed", "cannot be split"),
    ],
)
def test_splits_that_cannot_be_are_one_sentence(y, groups, seed, match):
    refused(ValueError, match, 0.5, seed, call=visits(y, groups).split)


def test_a_class_of_one_group_is_fitted_on_and_not_validated():
    train = visits([0, 0, 1, 1, 0, 1, 2], ["a", "a", "b", "b", "c", "d", "e"])
    for seed in range(10):
        fit, validation = inner_split(train, seed)
        assert_apart(train, fit, validation)
        assert 2 in fit.y
    refused(ValueError, "no group of rows that could be held out", visits([0, 1], ["a", "b"]), 0, call=inner_split)


# Folds


@settings(max_examples=80, deadline=None)
@given(grouped_labels(), st.integers(2, 12), st.integers(0, 2**31 - 1))
def test_folds_keep_groups_together(labels, n_folds, seed):
    y, groups, _ = labels
    fold = grouped_folds(y, groups, n_folds, np.random.default_rng(seed))
    assert set(fold) == set(range(min(n_folds, len(np.unique(groups)))))
    assert all(len(np.unique(fold[groups == g])) == 1 for g in groups)
    assert fold.tolist() == grouped_folds(y, groups, n_folds, np.random.default_rng(seed)).tolist()


def test_folds_are_stratified():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(200), rng.integers(1, 6, 200))
    y = (rng.random(200) < 0.1).astype(int)[groups]
    fold = grouped_folds(y, groups, 5, rng)
    assert np.bincount(fold[y == 1]) == pytest.approx(np.full(5, (y == 1).sum() / 5), abs=3)
    assert np.bincount(fold) == pytest.approx(np.full(5, len(y) / 5), abs=5)


def test_numbers_are_split_where_each_part_of_them_is_in_one_group():
    groups = np.repeat(np.arange(4), 25)
    data = visits(groups + np.linspace(0, 0.1, 100), groups, bins=4)
    found = {tuple(np.unique(groups[data.split_index(0.7, seed)[0]])) for seed in range(8)}
    assert len(found) > 1
    assert {len(parts) for parts in found} == {3}
    train, test = data.split(0.7)
    assert (train.n_samples, test.n_samples) == (75, 25)
    with pytest.raises(ValueError, match="in one group"):
        data.replace(row_groups=np.zeros(100)).split()


def test_a_split_into_folds_keeps_groups_together():
    y = np.arange(60) % 2
    data = Dataset(np.arange(60.0)[:, None], y, row_groups=np.arange(60) // 4)
    tested = []
    for fold in range(3):
        train, test = Split(0, n_folds=3, fold=fold).divide(data)
        assert not set(train.X[:, 0] // 4) & set(test.X[:, 0] // 4)
        tested += test.X[:, 0].tolist()
    assert sorted(tested) == list(range(60))
