"""How class-conditional mixtures are fitted: components, weights, normal scores and exponents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm, rankdata

from agents import MixtureClassifier
from agents.anystate.mixture.em import TrainingDesign, fit_mixture
from agents.anystate.mixture.fitting import fit_mixtures
from agents.anystate.mixture.tuning import Exponents, draw_known, fit_exponents, tune
from agents.anystate.mixture.variables import fit_variables, with_normal_scores
from fsgym import Dataset


def test_em_raises_the_likelihood_of_a_mixture_to_that_of_its_generator():
    rng = np.random.default_rng(3)
    component = rng.integers(0, 3, 900)
    means = np.array([[-2.0, 0.0], [2.0, 1.5], [0.0, -2.0]])
    dataset = Dataset((means[component] + 0.5 * rng.normal(size=(900, 2))).astype(np.float32), np.arange(900) % 2)
    variables = fit_variables(dataset, None)
    data = TrainingDesign(variables.design(variables.encode(dataset.X)), dataset.y, np.ones(900), 2)
    densities = fit_mixture(variables, data, 4, seed=0)
    log_density = logsumexp(densities.log_joint(data.design), axis=1) - np.log(variables.scale).sum()
    exact = logsumexp(norm.logpdf(dataset.X[:, None], means, 0.5).sum(axis=2), axis=1) - np.log(3)
    assert log_density.mean() == pytest.approx(exact.mean(), abs=0.05)


def test_weights_act_as_repeated_rows():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 90)
    dataset = Dataset(np.column_stack([rng.normal(2 * y, 1 + y), rng.random(90) < 0.3 + 0.4 * y]), y)
    repeats = rng.integers(1, 4, 90)
    twice = np.repeat(np.arange(90), repeats)
    variables = fit_variables(dataset, None)
    design = variables.design(variables.encode(dataset.X))
    weighted = fit_mixture(variables, TrainingDesign(design, dataset.y, repeats.astype(float), 2), 1, seed=0)
    repeated = fit_mixture(
        variables, TrainingDesign(design[twice], dataset.y[twice], np.ones(len(twice)), 2), 1, seed=0
    )
    assert weighted.theta == pytest.approx(repeated.theta)
    assert weighted.log_share == pytest.approx(repeated.log_share)
    counted, listed = fit_variables(dataset, repeats.astype(float)), fit_variables(dataset.rows(twice), None)
    assert counted.center == pytest.approx(listed.center, abs=0.1)
    without = fit_mixture(variables, TrainingDesign(design, dataset.y, 1.0 * (dataset.y == 0), 2), 1, seed=0)
    assert np.exp(without.log_share[1]) < 0.02


def test_normal_scores_are_chosen_for_skewed_numbers_and_are_those_of_the_ranks():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    x = np.exp(1.5 * rng.normal(y[:, None], 1, (400, 3)))
    dataset = Dataset(x.astype(np.float32), y)
    fitted = fit_mixtures(dataset, np.arange(400) % 2)
    variables = fitted.final.variables
    assert len(variables.knot)
    codes = variables.encode(dataset.X)
    ranks = rankdata(dataset.X, axis=0)
    assert codes == pytest.approx(norm.ppf((ranks - 0.5) / 400), abs=0.1)
    assert variables.numbers_of(0, codes[:, 0]) == pytest.approx(dataset.X[:, 0], rel=1e-5)
    assert variables.encode(np.array([[1e9, -5.0, np.nan]], np.float32))[0] == pytest.approx(
        [codes[:, 0].max(), codes[:, 1].min(), np.nan], nan_ok=True
    )
    weight = rng.integers(0, 3, 400)
    weighted = with_normal_scores(variables, dataset, weight.astype(float))
    repeated = with_normal_scores(variables, dataset.rows(np.repeat(np.arange(400), weight)), None)
    assert weighted.encode(dataset.X) == pytest.approx(repeated.encode(dataset.X), abs=0.05)


def test_exponents_make_copies_of_a_variable_count_once():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    x = rng.normal(1.5 * y, 1)
    dataset = Dataset(np.tile(x[:, None], 4).astype(np.float32), y)
    variables = fit_variables(dataset, None)
    data = TrainingDesign(variables.design(variables.encode(dataset.X)), y, np.ones(3000), 2)
    first, second = data.rows(np.arange(1500)), data.rows(np.arange(1500, 3000))
    densities = fit_mixture(variables, first, 1, seed=0)
    plain = Exponents(np.ones(4), 0.0).applied(variables, densities)
    known = draw_known(1500, 4, rng)
    exponents = fit_exponents([(plain, second, known)], 1500)
    powers = exponents.of_variable.mean() * (1.0 + np.arange(1, 5)) ** exponents.count_power
    assert powers * np.arange(1, 5) == pytest.approx(np.ones(4), abs=0.25)  # one copy tells as much as four
    honest = exponents.applied(variables, densities)
    loss = honest.log_loss(second, known).mean()
    assert loss < plain.log_loss(second, known).mean() - 0.01
    worse = Exponents(np.full(4, 3.0), 0.5).applied(variables, densities)
    assert tune(worse, first, 100, seed=0).log_loss(second, known).mean() < worse.log_loss(second, known).mean()


@pytest.mark.parametrize("seed", range(4))
def test_two_rows_are_enough(seed):
    X = np.random.default_rng(seed).normal(size=(2, 6))
    model = MixtureClassifier(random_state=0).fit(X, [0, 1])
    assert np.isfinite(model.policy_.model.points.mass).all()
    assert set(model.predict(X)) <= {0, 1}
