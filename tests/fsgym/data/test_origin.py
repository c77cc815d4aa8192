"""A data set knows of which table it has which rows, and how they were scaled."""

import pickle

import gymnasium as gym
import numpy as np
import pytest

import fsgym
from fsgym import Dataset, Scaling


@pytest.fixture(scope="module")
def wine():
    return fsgym.load_dataset("wine")


def test_parts_of_parts_are_rows_of_the_whole_table(wine):
    train, test = wine.split(0.5, 3)
    fit, validation = train.split(0.75, 3)
    assert fit.origin.table == wine.origin.table
    for part in (train, test, fit, validation):
        np.testing.assert_array_equal(wine.X[part.origin.rows], part.X)
    assert test.origin.share_in(train.origin) == 0.0
    assert validation.origin.share_in(train.origin) == 1.0
    assert train.origin.share_in(fit.origin) == pytest.approx(fit.n_samples / train.n_samples)


def test_scaling_is_relative_to_the_whole_table(wine):
    train, test = wine.split(0.5, 3)
    scaled = test.scaled(train)
    twice = scaled.scaled(Scaling(np.full(13, 0.5), np.full(13, 4.0)))
    for dataset in (scaled, twice):
        again = dataset.origin.scaling.apply(wine.X[dataset.origin.rows])
        np.testing.assert_allclose(again, dataset.X, rtol=0, atol=1e-5)
    assert test.origin.scaling is None


def test_the_environment_of_a_named_data_set_has_rows_of_that_data_set():
    data = fsgym.load_dataset("breast_cancer")
    origin = gym.make("DatumWise-v0", split="test").unwrapped.dataset.origin
    assert origin.table == data.origin.table
    np.testing.assert_array_equal(origin.rows, fsgym.load_dataset("breast_cancer", "test").origin.rows)


def test_other_values_or_labels_make_another_table(wine):
    part = wine.rows([3, 4, 5])
    assert part.replace(name="other").origin.rows.tolist() == [3, 4, 5]
    assert part.replace(X=part.X + 1).origin.rows.tolist() == [0, 1, 2]
    assert part.replace(X=part.X + 1).origin.share_in(wine.origin) is None
    assert wine.replace(y=wine.classes[wine.y[::-1]]).origin.table != wine.origin.table


def test_the_origin_survives_pickling(wine):
    part = wine.rows([3, 4, 5]).scaled(wine)
    again = pickle.loads(pickle.dumps(part))
    assert again.origin.table == wine.origin.table
    assert again.origin.rows.tolist() == [3, 4, 5]
    np.testing.assert_array_equal(again.origin.scaling.scale, part.origin.scaling.scale)


def test_a_constant_column_can_be_scaled_twice():
    data = Dataset([[1.0, 5.0], [2.0, 5.0]], [0, 1])
    twice = data.scaled().scaled()
    assert twice.origin.scaling.apply(data.X).tolist() == twice.X.tolist() == [[-1.0, 0.0], [1.0, 0.0]]
