"""Losses of the policies that know the distribution, compared with published figures and with simulations."""

import numpy as np
import pytest
from scipy.stats import norm

from fsgym.datasets import Cube, CubeNM, CubeNUC, Syn
from fsgym.evaluation.reference_policies import bayes_error, reference
from support.refusals import refused

# loss at lam .003, .01 and .03; at .01 also the accuracy and the price paid
SYN = {
    1: (0.1987, 0.2245, 0.2974, 0.812, 3.67),
    2: (0.2052, 0.2288, 0.2929, 0.804, 3.31),
    3: (0.1836, 0.2121, 0.2895, 0.828, 4.00),
}
CUBES = [
    (Cube(), (0.0460, 0.0811, 0.1696, 0.965, 4.64)),
    (CubeNUC(), (0.0227, 0.0593, 0.1491, 0.991, 5.01)),
    (CubeNM(), (0.0490, 0.0911, 0.1996, 0.965, 5.64)),
]
LAMS = (0.003, 0.01, 0.03)


@pytest.mark.parametrize("rule", SYN)
def test_syn(rule):
    at = [reference(Syn(rule), lam) for lam in LAMS]
    assert [r.loss for r in at] == pytest.approx(SYN[rule][:3], abs=2e-4)
    assert (at[1].accuracy, at[1].spent) == pytest.approx(SYN[rule][3:], abs=0.006)
    for lam, r in zip(LAMS, at):
        assert r.loss == pytest.approx(1 - r.accuracy + lam * r.spent)
        assert r.standard_error == 0


def test_bayes_error_of_syn_by_random_draws():
    for rule in (1, 2, 3):
        generator = Syn(rule)
        errors = generator.posterior(generator.sample(60_000, random_state=rule).X).min(axis=1)
        assert bayes_error(generator) == pytest.approx(errors.mean(), abs=4 * errors.std() / np.sqrt(60_000))
        assert bayes_error(generator) < reference(generator, 1e-4).loss


def test_syn_at_a_high_price_is_answered_at_once():
    for rule in (1, 2, 3):
        prior = Syn(rule).posterior(np.zeros((1, 11)), np.zeros(11, bool)).min()
        assert reference(Syn(rule), 0.5) == pytest.approx((prior, 1 - prior, 0.0, 0.0))
        assert reference(Syn(rule), 0.05).loss < prior


def test_the_dynamic_programme_of_a_product_by_simulation():
    """Acquire the second factor where it is worth its price, for both factors drawn at random."""
    lam, (logit, _) = 0.1, Syn(1).logits
    x = np.random.default_rng(0).standard_normal((100_000, 2))
    grid = np.linspace(0, 6, 601)
    error = np.trapezoid(2 * norm.pdf(grid) / (1 + np.exp(4 * np.abs(x[:2000, :1]) * grid)), grid, axis=1)
    boundary = np.abs(x[:2000, 0])[error + lam < 0.5].min()
    continues = np.abs(x[:, 0]) > boundary
    losses = lam + np.where(continues, lam + 1 / (1 + np.exp(4 * np.abs(x.prod(axis=1)))), 0.5)
    loss, spent = logit.optimum(lam)
    assert loss == pytest.approx(losses.mean(), abs=4 * losses.std() / np.sqrt(len(x)))
    assert spent == pytest.approx(1 + continues.mean(), abs=0.01)


def test_the_dynamic_programme_of_a_sum_by_simulation():
    """A policy with a fixed order and a threshold on the error is worse, but not by much, and better than no policy."""
    lam, (logit, _) = 0.01, Syn(3).logits
    X = np.random.default_rng(0).standard_normal((20_000, 11))
    known = np.zeros(X.shape, bool)
    stopped, losses = np.zeros(len(X), bool), np.zeros(len(X))
    best_fixed = np.inf
    for n_features in range(5):
        p = logit.probability(X, known)
        best_fixed = min(best_fixed, np.minimum(p, 1 - p).mean() + lam * n_features)
        stop = ~stopped & ((np.minimum(p, 1 - p) < 0.05) | (n_features == 4))
        losses[stop] = np.minimum(p, 1 - p)[stop] + lam * n_features
        stopped |= stop
        known[:, 2 + n_features] = n_features < 4
    loss, spent = logit.optimum(lam)
    assert loss < losses.mean() < best_fixed
    assert loss > losses.mean() - 0.005
    assert 2 < spent < 4


@pytest.mark.parametrize(("generator", "expected"), CUBES, ids=str)
def test_cubes(generator, expected):
    at = [reference(generator, lam, n_samples=3000, random_state=100) for lam in LAMS]
    for r, loss in zip(at, expected[:3]):
        assert r.loss == pytest.approx(loss, abs=0.0025 + 3 * r.standard_error)
        assert 0 < r.standard_error < 0.003
    assert at[1].accuracy == pytest.approx(expected[3], abs=0.01)
    assert at[1].spent == pytest.approx(expected[4], abs=0.3)
    assert [r.spent for r in at] == sorted((r.spent for r in at), reverse=True)
    assert 1 - at[0].accuracy > bayes_error(generator, 3000) - 0.004
    assert reference(generator, 1, n_samples=3000, random_state=100)[:3] == (0.875, 0.125, 0.0)


def test_other_contexts_cost_no_more_than_five():
    seven = reference(CubeNM(n_contexts=7), 0.01, n_samples=4000)
    assert seven.loss == pytest.approx(0.0911, abs=0.0025 + 3 * seven.standard_error)
    assert seven == reference(CubeNM(n_contexts=7), 0.01, n_samples=4000)
    noisy = reference(CubeNM(context_noise=0.5), 0.01, n_samples=2000)
    assert noisy.loss > seven.loss + 0.02


def test_invalid_parameters():
    refused(ValueError, "lam must be finite and at least 0", Cube(), -1, call=reference)
    refused(TypeError, "generator must be a Syn, Cube, CubeNUC or CubeNM, got 'cube'", "cube", 0.1, call=reference)
    refused(TypeError, "generator must be a Syn", None, call=bayes_error)
    for call, options in ((reference, {"lam": 0.1}), (bayes_error, {})):
        refused(ValueError, "n_samples must be a whole number, 2", Cube(), n_samples=1, call=call, **options)
        refused(ValueError, "random_state must be a whole", Cube(), random_state=None, call=call, **options)
