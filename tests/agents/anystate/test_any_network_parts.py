"""The parts of the networks: gradients, AdamW, embedding, screening."""

import numpy as np
import pytest

from agents.anystate.network import constants as const
from agents.anystate.network.embedding import fit_embedding, network_inputs, screen_acquisitions
from agents.anystate.network.mlp import MLP, AdamW, one_cycle, softmax_inplace


def test_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    network = MLP.random((5, 7, 6, 3), rng)
    inputs, target = rng.standard_normal((9, 5), dtype=np.float32), rng.standard_normal((9, 3), dtype=np.float32)
    layers = network.forward(inputs)
    gradient = network.gradient(layers, layers[-1] - target)

    def loss(parameters):  # in float64, written out
        values, first = inputs.astype(float), 0
        for n_in, n_out in ((5, 7), (7, 6), (6, 3)):
            weights = parameters[first : first + n_in * n_out].reshape(n_in, n_out)
            first += n_in * n_out + n_out
            values = values @ weights + parameters[first - n_out : first]
            if n_out != 3:
                values = np.where(values > 0, values, 0)
        return ((values - target) ** 2).sum() / 2

    center, step = network.parameters.astype(float), 1e-6
    differences = [loss(center + step * unit) - loss(center - step * unit) for unit in np.eye(len(center))]
    np.testing.assert_allclose(gradient, np.array(differences) / (2 * step), atol=1e-4)


def test_steps_of_adamw_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    network = MLP.random((3, 2), rng)
    expected, first, second = network.parameters.astype(float), 0.0, 0.0
    optimizer = AdamW(network, weight_decay=0.1)
    for step, rate in enumerate((0.01, 0.02, 0.005), 1):
        gradient = rng.standard_normal(len(expected), dtype=np.float32)
        optimizer.step(gradient, rate)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient.astype(float) ** 2
        move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        expected = (1 - rate * 0.1) * expected - rate * move
    np.testing.assert_allclose(network.parameters, expected, rtol=1e-5)


def test_learning_rate_rises_to_the_highest_and_falls():
    rates = [one_cycle(step, 101, 0.5, 0.1) for step in range(101)]
    assert rates[10] == pytest.approx(0.5)
    assert rates[0] == pytest.approx(0.02)
    assert rates[-1] == pytest.approx(0.02 / 1e4)
    assert (np.diff(rates[:11]) > 0).all()
    assert (np.diff(rates[10:]) < 0).all()


def test_embedding_is_standardised_and_0_where_not_known():
    X = np.random.default_rng(0).normal(50, 7, (400, 3)).astype(np.float32)
    X[:40, 1] = np.nan
    embedding = fit_embedding(X, np.array([0, 1, 2]))
    blocks = embedding.blocks(X)
    assert blocks.shape == (400, 4, 3)
    seen = ~np.isnan(X[:, 1])
    np.testing.assert_allclose(blocks[seen, :, 1].mean(axis=0), 0, atol=0.01)  # clipped
    np.testing.assert_allclose(blocks[seen, :, 1].std(axis=0), 1, atol=0.02)
    assert not blocks[~seen, :, 1].any()
    known = np.array([[True, False, True]] * 400)
    inputs = network_inputs(blocks, np.arange(400), known)
    assert inputs.shape == (400, embedding.n_inputs)
    assert not inputs.reshape(400, 5, 3)[:, :, 1].any()
    assert (inputs.reshape(400, 5, 3)[:, 4] == known).all()
    extreme = embedding.blocks(np.array([[3e38, -3e38, np.inf]], np.float32))
    assert np.abs(extreme).max() <= const.MAX_ABS_INPUT


def test_screening_chooses_the_acquisitions_that_say_something(monkeypatch):
    monkeypatch.setattr(const, "MAX_ACQUISITIONS", 3)
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=500)
    X = rng.standard_normal((500, 8)).astype(np.float32)
    X[:, 2] += 3 * y
    X[:, 3] = X[:, 2] + 0.01 * X[:, 3]  # says the same
    X[:, 6] += 2 * y
    X[y == 1, 7] = np.nan  # which values are missing says something
    assert screen_acquisitions(X, y, tuple((i,) for i in range(8))).tolist() in ([2, 6, 7], [3, 6, 7])


def test_last_output_alone_can_be_trained():
    network = MLP.random((4, 6, 3), np.random.default_rng(0))
    layers = network.forward(np.random.default_rng(1).standard_normal((8, 4), dtype=np.float32))
    before = layers[-1].copy()
    gradient = network.of_last_output(network.gradient(layers, np.ones((8, 3), np.float32)))
    AdamW(network).step(gradient, 0.1)
    after = network(layers[0])
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    assert (after[:, 2] < before[:, 2]).all()


def test_softmax_of_large_scores_is_finite():
    p = softmax_inplace(np.array([[1e30, 0], [-1e30, 0], [3, 3]], np.float32))
    np.testing.assert_array_equal(p, [[1, 0], [0, 1], [0.5, 0.5]])
