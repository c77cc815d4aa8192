"""How class-conditional mixtures are fitted: components, weights, normal scores and exponents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import norm, rankdata

from agents import MixtureClassifier
from agents.anystate.mixture import constants as const
from agents.anystate.mixture.em import TrainingDesign, _Prior, _Rows, fit_mixture
from agents.anystate.mixture.fitting import fit_mixtures
from agents.anystate.mixture.tuning import Exponents, _losses, draw_known, fit_exponents, masked, most_telling, tune
from agents.anystate.mixture.variables import Variables, fit_variables, with_normal_scores
from fsgym import Dataset


def test_em_raises_the_likelihood_of_a_mixture_to_that_of_its_generator():
    rng = np.random.default_rng(3)
    component = rng.integers(0, 3, 900)
    means = np.array([[-2.0, 0.0], [2.0, 1.5], [0.0, -2.0]])
    dataset = Dataset((means[component] + 0.5 * rng.normal(size=(900, 2))).astype(np.float32), np.arange(900) % 2)
    variables = fit_variables(dataset, None)
    data = TrainingDesign(variables.design(variables.encode(dataset.X)), dataset.y, np.ones(900), 2)
    densities = fit_mixture(variables, data, 4, seed=0)
    log_density = logsumexp(data.design @ densities.theta + densities.log_share, axis=1) - np.log(variables.scale).sum()
    exact = logsumexp(norm.logpdf(dataset.X[:, None], means, 0.5).sum(axis=2), axis=1) - np.log(3)
    assert log_density.mean() == pytest.approx(exact.mean(), abs=0.05)


def mixed_rows(n):
    """Variables, design and weights of numbers and categories, with missing values and rows without weight."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n), rng.normal(size=n), rng.integers(0, 2, n)])
    X[rng.random(X.shape) < 0.1] = np.nan
    dataset = Dataset(X.astype(np.float32), rng.integers(0, 3, n))
    variables = fit_variables(dataset, None)
    assert variables.n_levels.tolist() == [0, 0, 3, 0, 2]
    data = TrainingDesign(variables.design(variables.encode(dataset.X)), dataset.y, 1.0 * rng.integers(0, 4, n), 3)
    return variables, data, dataset.X


def plain_steps(X, levels, weight, responsibility, means, whole, steps):
    """Expectation maximisation value by value: mean log-likelihood and responsibilities (n, k)."""
    for _ in range(steps):
        w = responsibility * weight[:, None]
        share = (w.sum(axis=0) + const.COMPONENT_ROWS) / (w.sum() + const.COMPONENT_ROWS * w.shape[1])
        log_joint = np.tile(np.log(share), (len(X), 1))
        for v, n_levels in enumerate(levels):
            known, x, first = ~np.isnan(X[:, v]), X[:, v], sum(c or 3 for c in levels[:v])
            for j in range(w.shape[1]):
                if n_levels:
                    counts = np.bincount(x[known].astype(int), w[known, j], n_levels)
                    shares = counts + const.LEVEL_ROWS * whole[first : first + n_levels]
                    log_joint[known, j] += np.log(shares / shares.sum())[x[known].astype(int)]
                    continue
                n = w[known, j].sum()
                mean = (w[known, j] @ x[known] + const.MEAN_ROWS * means[first]) / (n + const.MEAN_ROWS)
                squares = w[known, j] @ (x[known] - mean) ** 2 + const.MEAN_ROWS * (mean - means[first]) ** 2
                variance = (squares + const.VARIANCE_ROWS * whole[first + 1]) / (n + const.VARIANCE_ROWS)
                log_joint[known, j] += norm.logpdf(x[known], mean, np.sqrt(variance))
        responsibility = softmax(log_joint, axis=1)
    return weight @ logsumexp(log_joint, axis=1) / weight.sum(), responsibility


def test_steps_of_expectation_maximisation_are_those_of_a_plain_reference():
    variables, data, X = mixed_rows(300)  # more rows than are in the cache together
    X = np.where(np.isnan(X), np.nan, variables.encode(X))
    rng = np.random.default_rng(0)
    start = rng.dirichlet(np.ones(3), 300)
    whole = rng.uniform(0.5, 1.5, variables.first_column[-1])
    prior = _Prior(rng.normal(size=len(whole)), whole, (const.MEAN_ROWS, const.VARIANCE_ROWS, const.LEVEL_ROWS))
    for steps in (1, 4):
        state = _Rows(variables, data.design, data.weight).iterate(start.T, prior, steps)
        value, responsibility = plain_steps(
            X, variables.n_levels.tolist(), data.weight, start, prior.means, prior.whole, steps
        )
        assert state.value == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(state.responsibility.T, responsibility, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [3.0, 100.0, 1e4])  # of a few variables, and of hundreds
def test_losses_and_their_derivatives_are_those_of_softmax(scale):
    rng = np.random.default_rng(1)
    scores, y, class_of = rng.normal(0, scale, (5, 300)), rng.integers(0, 3, 300), np.array([0, 0, 1, 2, 2])
    P = softmax(scores, axis=0)
    of_own = np.where(class_of[:, None] == y, scores, -np.inf)
    derivative = scores.copy()
    expected = logsumexp(scores, axis=0) - logsumexp(of_own, axis=0)
    np.testing.assert_allclose(_losses(derivative, class_of, y), expected, atol=1e-12)
    np.testing.assert_allclose(derivative, P - softmax(of_own, axis=0), atol=1e-8)


def test_known_columns_are_multiplied_by_the_power_of_their_number():
    variables, data, _ = mixed_rows(40)
    known = draw_known(40, 5, np.random.default_rng(2))
    expected = data.design * np.repeat(known, [3, 3, 3, 3, 2], axis=1) * (1 + known.sum(axis=1)[:, None]) ** -0.7
    np.testing.assert_allclose(masked(variables.widths, data.design, known, -0.7), expected)


def test_gradient_steps_are_those_of_plain_adam():
    variables, data, _ = mixed_rows(60)
    start = Exponents(np.full(5, 0.8), -0.2).applied(variables, fit_mixture(variables, data, 2, seed=0))
    theta, rng = start.theta.copy(), np.random.default_rng(3)
    first = second = np.zeros_like(theta)
    for t in range(1, 71):
        rows, known = rng.integers(0, 60, const.TUNING_BATCH), draw_known(const.TUNING_BATCH, 5, rng)
        columns = masked(variables.widths, data.design[rows], known, -0.2)
        P = softmax(columns @ theta + start.densities.log_share, axis=1)
        own = P * (start.class_of == data.y[rows, None])
        derivative = (P - own / own.sum(axis=1, keepdims=True)) * data.weight[rows, None] / const.TUNING_BATCH
        gradient = columns.T @ derivative
        first, second = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        step = first / (1 - 0.9**t) / (np.sqrt(second / (1 - 0.99**t)) + const.ADAM_OFFSET)
        theta -= min(1, t / 50) * (1 - 0.9 * t / 70) * 0.01 * (np.abs(start.theta) + 0.3) * step
    np.testing.assert_allclose(tune(start, data, 70, seed=3).theta, theta, rtol=1e-8, atol=1e-10)


def test_of_a_wide_table_the_variables_that_tell_the_classes_apart_are_tuned(monkeypatch):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 12))
    X[:, 3] += 1.5 * y  # another mean
    X[:, 7] *= 1 + 2 * y  # another spread
    X[:, 9] = np.where(y == 1, rng.integers(0, 2, 400), rng.integers(1, 3, 400))  # other levels
    dataset = Dataset(X.astype(np.float32), y)
    variables = fit_variables(dataset, None)
    weight = 1.0 * rng.integers(0, 3, 400)
    data = TrainingDesign(variables.design(variables.encode(dataset.X)), y, weight, 2)
    assert most_telling(variables, data, 3).tolist() == [3, 7, 9]
    assert most_telling(variables, data, 12).tolist() == list(range(12))

    start = Exponents(np.full(12, 3.0), 0.0).applied(variables, fit_mixture(variables, data, 2, seed=0))
    monkeypatch.setattr(const, "MAX_TUNED", 3)
    tuned, columns = tune(start, data, 80, seed=0), variables.columns_of(np.array([3, 7, 9]))
    others = np.setdiff1d(np.arange(variables.first_column[-1]), columns)
    np.testing.assert_array_equal(tuned.theta[others], start.theta[others])
    assert (tuned.theta[columns] != start.theta[columns]).mean() > 0.9
    known = draw_known(400, 12, rng) & np.isin(np.arange(12), [3, 7, 9])
    gain = start.log_loss(data, known) - tuned.log_loss(data, known)
    assert weight @ gain / weight.sum() > 0.01


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
    part = slice(*variables.first_knot[:2])
    numbers = np.interp(codes[:, 0], variables.score[part], variables.knot[part])
    assert numbers == pytest.approx(dataset.X[:, 0], rel=1e-5)
    assert variables.encode(np.array([[1e9, -5.0, np.nan]], np.float32))[0] == pytest.approx(
        [codes[:, 0].max(), codes[:, 1].min(), np.nan], nan_ok=True
    )
    weight = rng.integers(0, 3, 400)
    weighted = with_normal_scores(variables, dataset, weight.astype(float))
    repeated = with_normal_scores(variables, dataset.rows(np.repeat(np.arange(400), weight)), None)
    assert weighted.encode(dataset.X) == pytest.approx(repeated.encode(dataset.X), abs=0.05)


def test_rows_of_hardly_any_weight_have_finite_normal_scores_that_ascend():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    dataset = Dataset(np.exp(1.5 * rng.normal(y[:, None], 1, (400, 3))).astype(np.float32), y)
    variables = fit_variables(dataset, None)
    weight = np.ones(400)
    for column in dataset.X.T:
        weight[np.argsort(column)[[0, 1, 200, -2, -1]]] = 1e-18  # the two at either end, and one in the middle
    scored = with_normal_scores(variables, dataset, weight)
    again = Variables.from_arrays(scored.to_arrays(), 3)  # which refuses others
    without = with_normal_scores(variables, dataset.rows(weight == 1), None)
    assert again.encode(dataset.X) == pytest.approx(without.encode(dataset.X))


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

    def penalised(of_variable, power):
        own = np.log(of_variable) - np.log(exponents.of_variable).mean()  # what all have in common is free
        losses = Exponents(of_variable, power).applied(variables, densities).log_loss(second, known)
        return losses.mean() + const.EXPONENT_PENALTY / 1500 * (own @ own)

    found = penalised(exponents.of_variable, exponents.count_power)
    for step in (-0.02, 0.02):
        assert penalised(exponents.of_variable, exponents.count_power + step) > found
        assert penalised(exponents.of_variable * np.exp(step), exponents.count_power) > found
    honest = exponents.applied(variables, densities)
    loss = honest.log_loss(second, known).mean()
    assert loss < plain.log_loss(second, known).mean() - 0.01
    worse = Exponents(np.full(4, 3.0), 0.5).applied(variables, densities)
    assert tune(worse, first, 100, seed=0).log_loss(second, known).mean() < worse.log_loss(second, known).mean()


def test_exponents_are_found_where_most_wrong_answers_look_certain():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = np.tile(rng.normal(1.5 * y, 1)[:, None], 200) + 0.1 * rng.normal(size=(600, 200))
    variables = fit_variables(Dataset(X.astype(np.float32), y), None)
    data = TrainingDesign(variables.design(variables.encode(X.astype(np.float32))), y, np.ones(600), 2)
    first, second, known = data.rows(np.arange(300)), data.rows(np.arange(300, 600)), np.ones((300, 200), bool)
    densities = fit_mixture(variables, first, 1, seed=0)
    plain = Exponents(np.ones(200), 0.0).applied(variables, densities)
    honest = fit_exponents([(plain, second, known)], 300).applied(variables, densities)
    possible = -norm.logcdf((2 * y - 1) * 1.5 * (X[:, 0] - 0.75))[300:].mean()  # about that of the single variable
    assert plain.log_loss(second, known).mean() > 3
    assert honest.log_loss(second, known).mean() < possible + 0.05


@pytest.mark.parametrize("seed", range(4))
def test_two_rows_are_enough(seed):
    X = np.random.default_rng(seed).normal(size=(2, 6))
    model = MixtureClassifier(random_state=0).fit(X, [0, 1])
    assert np.isfinite(model.policy_.model.points.mass).all()
    assert set(model.predict(X)) <= {0, 1}
