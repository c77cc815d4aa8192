"""The acquisition conditioned oracle on tasks that can be worked by hand."""

import itertools

import numpy as np
import pytest

from fsgym import Dataset, Rules, evaluate
from fsgym_studies.suites.cell import Measurement
from fsgym_studies.suites.oracle import ConditionedOracle, run_oracle
from fsgym_studies.suites.suite import RowSplit

CUBE = np.array([*itertools.product([0, 1], repeat=3)], np.float32)


def data_of(label, copies=50):
    """Every row of three bits equally often; the label is a function of them."""
    X = np.tile(CUBE, (copies, 1))
    return Dataset(X, label(X).astype(int), classes=[0, 1])


def exact_probabilities(label):
    """Class probabilities from the distribution of ``data_of``."""

    def probabilities(X, acquired):
        fits = ((CUBE[None] == X[:, None]) | ~acquired[:, None]).all(axis=2)
        share = (fits * label(CUBE)).sum(axis=1) / fits.sum(axis=1)
        return np.column_stack([1 - share, share])

    return probabilities


def result_of(label, seed=0, **options):
    data = data_of(label)
    rules = Rules.for_dataset(data, **options)
    return evaluate(ConditionedOracle(data, rules, exact_probabilities(label), seed), data, rules)


def copy(X):
    return X[:, 1]


def parity(X):
    return (X[:, 0] + X[:, 2]) % 2


def test_a_copy_of_the_label_among_noise_is_acquired_and_nothing_after_it():
    result = result_of(copy, lam=0.2)
    assert (result.used == [False, True, False]).all()
    assert result.loss == pytest.approx(0.2)


def test_nothing_is_acquired_where_the_price_is_above_the_error_that_it_saves():
    result = result_of(copy, lam=0.6)
    assert result.n_features == 0
    assert result.loss == pytest.approx(0.5)


def test_two_bits_are_acquired_of_which_each_alone_says_nothing():
    result = result_of(parity, lam=0.1)
    assert (result.used == [True, False, True]).all()
    assert result.loss == pytest.approx(0.2)
    assert result_of(parity, lam=0.26).n_features == 0  # 2 x 0.26 is above 0.5


def test_prices_decide_between_two_copies():
    data = Dataset(np.tile([[0, 0], [1, 1]], (50, 1)), np.tile([0, 1], 50))

    def probabilities(X, acquired):
        known = np.where(acquired[:, 0], X[:, 0], np.where(acquired[:, 1], X[:, 1], 0.5))
        return np.column_stack([1 - known, known])

    for costs in ([1, 2], [2, 1]):
        rules = Rules.for_dataset(data, lam=0.1, costs=costs)
        result = evaluate(ConditionedOracle(data, rules, probabilities, 0), data, rules)
        assert (result.used == (np.array(costs) == 1)).all()


def test_a_missing_copy_cannot_be_acquired():
    data = data_of(copy)
    rules = Rules.for_dataset(data, lam=0.2, missing="unavailable")
    oracle = ConditionedOracle(data, rules, exact_probabilities(copy), 0)
    X = data.X.copy()
    X[0, 1] = np.nan
    used = evaluate(oracle, data.replace(X=X), rules).used
    assert not used[0].any()
    assert (used[1:] == [False, True, False]).all()


@pytest.mark.slow
def test_the_cell_reads_no_label_of_a_test_row():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    data, split = Dataset(X, (X[:, 0] > 0).astype(int)), RowSplit(80, 20)
    measurement = Measurement((0.01, 0.1), ("0.01", "0.1"), (), {}, (), "")
    flipped = np.where(np.arange(200) < 100, data.y, 1 - data.y)
    arguments = {"split": split, "measurement": measurement, "quick": True, "seed": 0}
    first, second = (
        {(s["score"], s["at"]): s["value"] for s in run_oracle(dataset=d, **arguments)["scores"]}
        for d in (data, data.replace(y=flipped))
    )
    assert first["price_accuracy", "0.01"] > 0.8
    for at in ("0.01", "0.1"):
        assert first["features", at] == second["features", at]
        assert first["price_accuracy", at] == pytest.approx(1 - second["price_accuracy", at])
