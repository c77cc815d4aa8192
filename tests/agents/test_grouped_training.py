"""Rows of one group in the agents: the folds of ``estimate_loss`` and the folds inside the lattice's training."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedGroupKFold

from agents import LatticeClassifier
from agents.lattice.training_data import prepare_data
from fsgym import Dataset
from support.majority import MajorityClassifier
from support.refusals import refused


def patients(n_patients=40, n_visits=4, seed=0):
    """Values that identify the patient and say nothing of the label, labels and patients."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n_patients), n_visits)
    return rng.permutation(n_patients)[patient].astype(float)[:, None], (np.arange(n_patients) % 2)[patient], patient


def test_the_loss_of_unseen_groups_is_that_of_chance():
    X, y, patient = patients(24, 5)
    model = LatticeClassifier(lam=0.001, unknown=0, random_state=0)
    assert model.estimate_loss(X, y, cv=3).error < 0.3
    estimate = model.estimate_loss(X, y, cv=3, groups=patient)
    assert estimate.error > 0.35
    names = [f"p{i}" for i in patient]
    np.testing.assert_array_equal(model.estimate_loss(X, y, cv=3, groups=names).losses, estimate.losses)


@pytest.mark.parametrize(
    ("cv", "splitter"),
    [
        (4, StratifiedGroupKFold(4)),
        (None, StratifiedGroupKFold(5)),
        (GroupKFold(3), GroupKFold(3)),
        (LeaveOneGroupOut(), LeaveOneGroupOut()),
    ],
)
def test_folds_are_those_of_scikit_learn(cv, splitter):
    X, y, patient = patients(8, 3)
    y = np.random.default_rng(0).permutation(y)
    estimate = MajorityClassifier().estimate_loss(X, y, cv=cv, groups=patient)
    tests = [test for _, test in splitter.split(X, y, patient)]
    assert [f.dataset.X.tolist() for f in estimate.folds] == [X[test].tolist() for test in tests]


def test_without_groups_the_folds_are_the_same_as_before():
    X, y, _ = patients(8, 3)
    one, two = (MajorityClassifier().estimate_loss(X, y, 3, *more) for more in ((), (None,)))
    np.testing.assert_array_equal(one.losses, two.losses)


@pytest.mark.parametrize(
    ("groups", "cv", "match"),
    [
        ([0, 1], 3, "groups must be a list of 24 labels, one per row of X, got 2"),
        ([None, *range(23)], 3, "groups must not hold missing labels, but row 0"),
        ([0] * 12 + [1] * 12, 5, "at most the number of groups, 2, got 5"),
        ([f"p{i}" for i in range(12)] * 2, KFold(2), "a fold with group p0 on both sides"),
        (list("aabbccdd") * 3, 4, "2 has none in one of them; use fewer folds, or drop a class that only one group"),
    ],
)
def test_bad_groups_are_one_sentence(groups, cv, match):
    X, y = np.arange(24.0)[:, None], np.array([0, 1, 0, 1, 0, 1, 2, 2] * 3)
    refused(ValueError, match, X, y, cv=cv, groups=groups, call=MajorityClassifier().estimate_loss)


def test_a_data_set_brings_its_row_groups_prices_and_names():
    X, y, patient = patients(8, 3)
    X = np.column_stack([X, -X])
    data = Dataset(X, y, feature_names=["b", "a"], costs={"b": 5, "a": 1}, row_groups=patient, name="visits")
    estimate = MajorityClassifier().estimate_loss(data, cv=4)
    tests = [test for _, test in StratifiedGroupKFold(4).split(X, y, patient)]
    for fold, test in zip(estimate.folds, tests, strict=True):
        assert fold.dataset.X.tolist() == X[test].tolist()
        assert dict(zip(fold.rules.names, fold.rules.costs)) == {"b": 5, "a": 1}
    other = np.tile(np.arange(6), 4)
    folds = MajorityClassifier().estimate_loss(data, cv=GroupKFold(3), groups=other).folds
    tests = [test for _, test in GroupKFold(3).split(X, y, other)]
    assert [f.dataset.X.tolist() for f in folds] == [X[test].tolist() for test in tests]
    plain = Dataset(X, np.array(["no", "yes"])[y])
    expected = MajorityClassifier().estimate_loss(X, y, 3)
    np.testing.assert_array_equal(MajorityClassifier().estimate_loss(plain, cv=3).losses, expected.losses)


def test_a_data_set_has_its_own_labels_and_a_table_needs_some():
    data = Dataset(np.arange(24.0)[:, None], [0, 1] * 12)
    refused(TypeError, "y must be left out", data, [0, 1] * 12, call=MajorityClassifier().estimate_loss)
    refused(ValueError, "y must have the labels", data.X, call=MajorityClassifier().estimate_loss)
    refused(ValueError, "groups must be a list of 24 labels", data, groups=[1], call=MajorityClassifier().estimate_loss)


# Folds inside the training of the lattice


def test_folds_of_the_lattice_are_unchanged_without_groups():
    data = Dataset(np.arange(40.0).reshape(20, 2), [0, 1, 1, 0] * 5)
    training = prepare_data(data, np.random.default_rng(0))
    assert training.fold.tolist() == [1, 4, 1, 3, 0, 4, 0, 3, 0, 3, 3, 4, 2, 2, 2, 4, 2, 1, 0, 1]
    assert training.seed == 1162779116


def test_folds_of_the_lattice_keep_groups_together():
    X, y, patient = patients()
    training = prepare_data(Dataset(X, y, row_groups=patient), np.random.default_rng(0))
    assert training.n_folds == 5
    assert all(len(np.unique(training.fold[patient == p])) == 1 for p in range(40))
    assert np.bincount(training.fold).tolist() == [32] * 5
    few = prepare_data(Dataset(X, y, row_groups=patient % 3), np.random.default_rng(0))
    assert few.n_folds == 3
    one = Dataset(X, y, row_groups=0 * patient)
    refused(ValueError, "in one row group", one, np.random.default_rng(0), call=prepare_data)
