"""Class-conditional mixtures: their probabilities, expected information, invariances and model files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from agents import AdaptiveClassifier, MixtureClassifier
from agents.anystate.mixture import constants as const
from agents.anystate.mixture.em import MixtureParameters, TrainingDesign, fit_mixture
from agents.anystate.mixture.fitting import fit_mixtures
from agents.anystate.mixture.model import MixtureModel, model_of, points_of
from agents.anystate.mixture.tuning import ClassMixture, Exponents
from agents.anystate.mixture.variables import Variables, fit_variables, with_normal_scores
from agents.anystate.state_model import StateBatch
from agents.lattice.training_data import stratified_folds
from agents.model_file import DAMAGE_ERRORS
from fsgym import Dataset, Rules
from fsgym.data.columns import Column, Columns
from fsgym.datasets import Cube, CubeNM


def fitted_to(dataset, weight=None, n_folds=2):
    fold = stratified_folds(dataset.y, n_folds, np.random.default_rng(0))
    return fit_mixtures(dataset, fold, weight, seed=0)


def mixed_rows(n, seed=0):
    """Two classes told apart by a number, a category of three levels and a bool, with two features of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    ward = np.where(rng.random(n) < 0.7, y, 2)
    columns = [Column("size"), Column("ward", "category", ("er", "gp", "icu")), Column("noise"), Column("flag", "bool")]
    X = np.column_stack(
        [
            rng.normal(2 * y, 1 + y),
            np.eye(3)[ward],
            rng.normal(size=n),
            rng.random(n) < 0.3 + 0.4 * y,
            rng.integers(0, 3, n),
        ]
    )
    return Dataset(X, y, columns=Columns([*columns, Column("count")]), groups=[[0], [1, 2, 3], [4], [5], [6]])


@pytest.fixture(scope="module")
def small():
    dataset = mixed_rows(160)
    fitted = fitted_to(dataset)
    rules = Rules.for_dataset(dataset, lam=0.02)
    return dataset, fitted, rules, model_of(fitted, rules)[1]


def states_of(rules, X, acquired):
    X = np.asarray(X, np.float32)
    acquired = np.asarray(acquired, bool) & ~np.isnan(X)
    groups = [list(g) for g in rules.groups]
    legal = np.stack([~acquired[:, g].all(axis=1) for g in groups], axis=1)
    prices = np.tile(rules.lam * rules.costs, (len(X), 1))
    return StateBatch(acquired, X, legal, prices)


def probabilities(model, known, X):
    """The class probabilities in states with the values ``known``, from which nothing more can be acquired."""
    none = np.zeros((len(X), model.rules.n_acquisitions))
    return model.estimate(StateBatch(known, np.asarray(X, np.float32), none.astype(bool), none)).probabilities


@pytest.mark.slow
def test_posteriors_of_the_cube_are_those_of_its_generator_on_any_subset():
    cube = Cube()
    dataset, test = cube.sample(2000, 200), cube.sample(400, 201)
    fitted = fitted_to(dataset)
    assert fitted.final.class_of.tolist() == [*range(8)]  # one component of each class
    model = model_of(fitted, Rules.for_dataset(dataset))[1]
    rng = np.random.default_rng(0)
    for share in (0.1, 0.3, 0.6, 1.0):
        known = rng.random(test.X.shape) < share
        difference = probabilities(model, known, test.X) - cube.posterior(test.X, known)
        assert np.abs(difference).mean() < 0.015
        assert np.quantile(np.abs(difference), 0.95) < 0.1


@pytest.mark.slow  # preferences are compared by enumeration
def test_the_context_is_preferred_although_it_says_nothing_about_the_class():
    dataset = CubeNM(n_contexts=3, context_noise=0.1).sample(2400, 200)
    rules = Rules.for_dataset(dataset, lam=0.01)
    fold = stratified_folds(dataset.y, 2, np.random.default_rng(0))
    variables = fit_variables(dataset, None)
    data = TrainingDesign(variables.design(variables.encode(dataset.X)), dataset.y, np.ones(len(fold)), 8)
    densities = fit_mixture(variables, data, 4, seed=0)
    mixture = Exponents(np.ones(len(variables.center)), 0.0).applied(variables, densities)
    model = MixtureModel(mixture, points_of(mixture, rules.groups, 0), rules)
    nothing = np.zeros(dataset.X.shape, bool)
    first = model.estimate(states_of(rules, dataset.X, nothing))
    assert (first.preference.argmax(axis=1) == 0).all()
    nothing[:, :3] = True
    second = model.estimate(states_of(rules, dataset.X, nothing)).preference.argmax(axis=1)
    context = dataset.X[:, :3].argmax(axis=1)
    assert ((second - 1) // 10 == context).mean() > 0.95


def brute_posterior(mixture, codes):
    """Class and component of one row, from densities written out; for exponents of 1 without tuning."""
    variables, theta = mixture.variables, mixture.densities.theta
    log = mixture.densities.log_share.copy()
    for v, code in enumerate(codes):
        if np.isnan(code):
            continue
        first = variables.first_column[v]
        if variables.n_levels[v]:
            log += theta[first + int(code)]
        else:
            variance = -0.5 / theta[first + 1]
            log += norm.logpdf(code, theta[first] * variance, np.sqrt(variance))
    return np.exp(log - logsumexp(log))


def untuned(mixture):
    return Exponents(np.ones(len(mixture.variables.center)), 0.0).applied(mixture.variables, mixture.densities)


def test_probabilities_marginalise_what_is_not_known(small):
    dataset, fitted, rules, model = small
    mixture = untuned(fitted.final)
    plain = MixtureModel(mixture, model.points, rules)
    rng = np.random.default_rng(1)
    known = rng.random((40, dataset.n_features)) < 0.5
    known[:, 1:4] = known[:, [1]]
    codes = mixture.variables.encode(np.where(known, dataset.X[:40], np.float32(np.nan)))
    exact = np.stack([brute_posterior(mixture, row) for row in codes]) @ np.eye(2)[mixture.class_of]
    assert probabilities(plain, known, dataset.X[:40]) == pytest.approx(exact, abs=1e-10)
    assert (codes[known[:, 1], 1] == dataset.X[:40][known[:, 1], 1:4].argmax(axis=1)).all()


def test_unknown_values_levels_that_training_never_had_and_values_not_acquired_have_no_effect(small):
    dataset, _, _, model = small
    X = np.array(dataset.X[:3])
    all_known = np.ones(X.shape, bool)
    without = all_known.copy()
    without[:, [0, 5]] = False
    expected = probabilities(model, without, X)
    assert probabilities(model, without, np.where(without, X, 1e30).astype(np.float32)) == pytest.approx(expected)
    assert probabilities(model, all_known, np.where(without, X, np.nan).astype(np.float32)) == pytest.approx(expected)
    unseen = X.copy()
    unseen[:, 1:4] = 0.0
    without = all_known.copy()
    without[:, 1:4] = False
    assert probabilities(model, all_known, unseen) == pytest.approx(probabilities(model, without, X))


def test_a_number_counts_as_the_nearest_level(small):
    dataset, _, _, model = small
    variables, X = model.mixture.variables, np.tile(dataset.X[0], (9, 1))
    v = variables.variable_of[6]
    levels = variables.level[slice(*variables.first_level[v : v + 2])]
    assert levels.tolist() == [0, 1, 2]
    X[:, 6] = [-1e30, -4, 0.5, 0.51, 1, 1.4, 1.75, 2.2, 17]
    codes = variables.encode(X)[:, v]
    assert codes.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert codes.tolist() == [np.abs(levels - x).argmin() for x in X[:, 6]]  # argmin takes the lower of two
    known = np.ones(X.shape, bool)
    rounded = X.copy()
    rounded[:, 6] = levels[codes.astype(int)]
    np.testing.assert_array_equal(probabilities(model, known, X), probabilities(model, known, rounded))


def test_a_category_in_codes_has_all_its_levels_since_they_are_not_ordered():
    codes = Columns([Column("ward", "codes", ("er", "gp", "icu", "or"))])
    X = np.array([0, 1, 3] * 20, np.float32)[:, None]
    variables = fit_variables(Dataset(X, np.arange(60) % 2, columns=codes), None)
    assert variables.level.tolist() == [0, 1, 2, 3]
    assert variables.encode(np.array([[2.0]], np.float32)).tolist() == [[2.0]]


def few_numbers():
    """Pains from 0 to 10 without 5, of which those above 6 are sick; wards; noise."""
    rng = np.random.default_rng(0)
    pain = rng.choice([0, 1, 2, 3, 4, 6, 7, 8, 9, 10], 120)
    table = pd.DataFrame({"pain": pain, "ward": rng.choice(["er", "gp", "icu"], 120), "lab": rng.normal(size=120)})
    return table, np.where(pain > 6, "sick", "well")


UNSEEN = pd.DataFrame({"pain": [9, 9.5, 5, 12, -3], "ward": "er", "lab": 0.0})
OF_UNSEEN = ["sick", "sick", "well", "sick", "well"]


@pytest.mark.parametrize("agent", [MixtureClassifier, AdaptiveClassifier])
@pytest.mark.one_in(2)
def test_a_pain_of_nine_and_a_half_is_no_less_than_nine(agent):
    model = agent(random_state=0).fit(*few_numbers())
    assert model.predict(UNSEEN).tolist() == OF_UNSEEN
    proba = model.predict_proba(UNSEEN)
    assert proba[1] == pytest.approx(proba[0], abs=0.05)
    assert model.step({"pain": 12}, accept=True).probabilities["sick"] > 0.9


def test_a_model_file_of_0_2_0_answers_known_numbers_as_before_and_unseen_ones_as_the_nearest():
    model = MixtureClassifier.load(Path(__file__).parents[2] / "data" / "mixture-of-0.2.0.safetensors")
    known = pd.DataFrame({"pain": [0, 1, 2, 3, 4, 6, 7, 8, 9, 10], "ward": ["er", "gp"] * 5, "lab": 0.0})
    of_0_2_0 = [0.0067, 0.007253, 0.006904, 0.006731, 0.006959, 0.00675, 0.993883, 0.9939, 0.993915, 0.99363]
    assert model.predict_proba(known)[:, 0] == pytest.approx(of_0_2_0, abs=1e-6)
    assert model.predict(UNSEEN).tolist() == OF_UNSEEN  # 0.2.0: well for all but the first, as without the number


def test_a_model_counts_costs_in_its_unit_and_an_earlier_file_in_the_unit_of_money(small):
    dataset, *_ = small
    dear = Rules.for_dataset(dataset, lam=9.0, error_costs=[[0, 300], [900, 0]])
    model = model_of(fitted_to(dataset), dear)[1]
    arrays, header = model.to_arrays()
    assert header["unit"] == model.unit == pytest.approx((300 * 900) ** 0.5)
    again = MixtureModel.from_arrays(arrays, header, dear)
    earlier = MixtureModel.from_arrays(arrays, {k: v for k, v in header.items() if k != "unit"}, dear)
    states = states_of(dear, dataset.X, np.zeros(dataset.X.shape, bool))
    assert np.array_equal(again.estimate(states).inputs, model.estimate(states).inputs)
    assert earlier.unit is None
    assert np.allclose(earlier.estimate(states).inputs[:, 0], 10.0)  # clipped: hundreds of money
    assert (model.estimate(states).inputs[:, 0] < 1.0).all()
    assert "unit" not in model_of(fitted_to(dataset), Rules.for_dataset(dataset))[1].to_arrays()[1]


def test_a_class_without_rows_has_no_probability_in_any_state(small):
    dataset, *_ = small
    three = dataset.replace(classes=np.arange(3))
    model = model_of(fitted_to(three), Rules.for_dataset(three))[1]
    known = np.random.default_rng(0).random(dataset.X.shape) < 0.5
    proba = probabilities(model, known, dataset.X * 3)
    assert (proba[:, 2] == 0).all()
    assert proba.sum(axis=1) == pytest.approx(1)
    estimates = model.estimate(states_of(model.rules, dataset.X, known))
    assert np.isfinite(estimates.inputs).all()
    again = MixtureModel.from_arrays(*model.to_arrays(), model.rules)
    np.testing.assert_array_equal(probabilities(again, known, dataset.X), probabilities(model, known, dataset.X))


def discrete_mixture(rng, n_levels, class_of):
    """A mixture of categories with random level shares."""
    variables = Variables(
        np.arange(len(n_levels) + 1),
        np.arange(len(n_levels)),
        np.concatenate([[0], np.cumsum(n_levels)]),
        np.concatenate([np.arange(float(m)) for m in n_levels]),
        np.zeros(len(n_levels)),
        np.ones(len(n_levels)),
        np.zeros(len(n_levels) + 1, np.int64),
        np.empty(0),
        np.empty(0),
    )
    shares = [rng.dirichlet(np.full(m, 0.7), len(class_of)).T.clip(1e-6) for m in n_levels]
    theta = np.log(np.concatenate([s / s.sum(axis=0) for s in shares]))
    densities = MixtureParameters(theta, np.log(rng.dirichlet(np.ones(len(class_of)))), np.array(class_of))
    return untuned(ClassMixture(variables, densities, theta, 0.0))


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


def test_preferences_are_expected_reductions_by_enumeration():
    rng = np.random.default_rng(5)
    mixture = discrete_mixture(rng, [3, 2, 4, 2], [0, 0, 1, 2])
    error_costs = np.array([[0, 1, 2.0], [3, 0, 1], [1, 1, 0]])
    rules = Rules(4, 3, lam=0.05, costs=[1, 2, 3, 4], error_costs=error_costs)
    model = MixtureModel(mixture, points_of(mixture, rules.groups, 0), rules)
    known = np.array([[True, False, False, False]])
    X = np.array([[2, 0, 0, 0]], np.float32)
    codes = np.where(known[0], X[0], np.nan)
    before = summaries(brute_posterior(mixture, codes), error_costs)
    preference = model.estimate(states_of(rules, X, known)).preference[0]
    assert preference[0] == -np.inf
    for j in (1, 2, 3):
        after, total = 0.0, 0.0
        for level in range(mixture.variables.n_levels[j]):
            codes[j] = level
            share = np.exp(mixture.densities.theta[mixture.variables.first_column[j] + level])
            codes[j] = np.nan
            chance = brute_posterior(mixture, codes) @ share
            codes[j] = level
            after += chance * summaries(brute_posterior(mixture, codes), error_costs)
            codes[j] = np.nan
            total += chance
        assert total == pytest.approx(1)
        expected = (before - after) @ [1.0, 0.1] / (0.05 * rules.costs[j])
        assert preference[j] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def summaries(posterior, error_costs):
    """Expected error cost, and the entropy of class and component, for classes 0, 0, 1 and 2."""
    p = np.array([posterior[0] + posterior[1], posterior[2], posterior[3]])
    return np.array([(error_costs @ p).min(), entropy(posterior)])


def test_the_information_of_a_number_is_that_of_numerical_integration():
    dataset = Dataset(np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32), np.arange(50) % 2)
    variables = fit_variables(dataset, None)
    mean, sd = np.array([[-1.0, 0.0], [1.0, 0.2]]), np.array([[0.8, 1.0], [0.5, 1.0]])  # of components, features
    coefficients = np.stack([mean / sd**2, -0.5 / sd**2, -0.5 * (mean / sd) ** 2 - np.log(sd * np.sqrt(2 * np.pi))])
    theta = coefficients.transpose(2, 0, 1).reshape(6, 2)
    densities = MixtureParameters(theta, np.log([0.4, 0.6]), np.array([0, 1]))
    mixture = untuned(ClassMixture(variables, densities, theta, 0.0))
    z = np.linspace(-8, 8, 20001)
    joint = np.array([0.4, 0.6])[:, None] * norm.pdf(z, mean[:, :1], sd[:, :1])
    total = joint.sum(axis=0)
    information = entropy(np.array([0.4, 0.6])) + np.trapezoid(
        (joint * np.log(np.maximum(joint, 1e-300) / np.maximum(total, 1e-300))).sum(axis=0), z
    )
    error = np.trapezoid(joint.min(axis=0), z)
    for groups in (((0,), (1,)), ((0, 1),)):
        rules = Rules(2, 2, lam=1, groups=groups)
        points = points_of(mixture, rules.groups, 0)
        states = states_of(rules, np.zeros((1, 2)), np.zeros((1, 2), bool))
        told = MixtureModel(mixture, points, rules).estimate(states)
        assert told.inputs[0, 7] == pytest.approx(information, rel=0.08)
        assert told.preference[0, 0] - 0.1 * told.inputs[0, 7] == pytest.approx(0.4 - error, rel=0.08)


def test_acquisitions_without_price_come_first_and_inputs_are_finite(small):
    dataset, _, rules, model = small
    states = states_of(rules, dataset.X, np.random.default_rng(0).random(dataset.X.shape) < 0.4)
    prices = states.prices.copy()
    prices[:, 0] = 0.0
    states = states._replace(acquired=states.acquired & (np.arange(dataset.n_features) > 0), prices=prices)
    states.legal[:, 0] = True
    estimates = model.estimate(states)
    assert (estimates.preference.argmax(axis=1) == 0).mean() > 0.95
    assert np.isfinite(estimates.inputs).all()
    assert estimates.inputs.shape[1] == const.N_INPUTS
    assert np.array_equal(np.isneginf(estimates.preference), ~states.legal)
    nothing = model.estimate(states._replace(legal=np.zeros_like(states.legal), prices=np.zeros_like(prices)))
    assert np.isneginf(nothing.preference).all()
    assert np.isfinite(nothing.inputs).all()


def test_each_state_is_estimated_on_its_own(small):
    dataset, _, rules, model = small
    acquired = np.random.default_rng(0).random((30, dataset.n_features)) < 0.3
    acquired[:6] = False
    states = states_of(rules, dataset.X[:30], acquired)
    together = model.estimate(states)
    for i in range(30):
        row = [i]
        alone = model.estimate(StateBatch(*(array[row] for array in states)))
        assert all(np.array_equal(a[0], b[i]) for a, b in zip(alone, together))


def test_models_come_back_from_arrays_and_one_seed_gives_the_same_bytes(small):
    dataset, _, rules, model = small
    arrays, header = model.to_arrays()
    again = MixtureModel.from_arrays(arrays, header, rules)
    states = states_of(rules, dataset.X, np.random.default_rng(0).random(dataset.X.shape) < 0.4)
    assert all(np.array_equal(a, b) for a, b in zip(model.estimate(states), again.estimate(states)))
    fold = stratified_folds(dataset.y, 2, np.random.default_rng(0))
    of_fold, final = model_of(fit_mixtures(dataset, fold, None, 0), rules)
    assert len(of_fold) == 2
    same, other = final.to_arrays()[0], of_fold[0].to_arrays()[0]
    assert all(arrays[name].tobytes() == same[name].tobytes() for name in arrays)
    assert any(arrays[name].tobytes() != other[name].tobytes() for name in arrays)


def damaged(arrays):
    """Arrays with one fault each."""
    for name, array in arrays.items():
        yield name, "missing", {k: v for k, v in arrays.items() if k != name}
        for fault, value in {
            "shorter": array[:-1],
            "flat" if array.ndim == 2 else "deep": array.ravel() if array.ndim == 2 else array[None],
            "another dtype": array.astype(np.int32),
            "negative": -array - 1,
            "huge": np.full_like(array, 10**15),
        }.items():
            if fault == "negative" and name in {"level", "center", "theta", "log_share"}:
                continue
            if fault == "huge" and name in {"level", "center", "scale"}:
                continue
            yield name, fault, arrays | {name: value}
        if array.dtype == np.float64:
            spoiled = array.copy()
            spoiled.flat[0] = np.nan
            yield name, "nan", arrays | {name: spoiled}


def test_damaged_arrays_are_refused(small):
    dataset, _, rules, model = small
    scored = replace(model.mixture, variables=with_normal_scores(fit_variables(dataset, None), dataset, None))
    arrays, header = replace(model, mixture=scored).to_arrays()
    MixtureModel.from_arrays(arrays, header, rules)
    accepted = []
    for name, fault, changed in damaged(arrays):
        try:
            MixtureModel.from_arrays(changed, header, rules)
        except DAMAGE_ERRORS:
            continue
        accepted.append((name, fault))
    assert accepted == []
    for change in (
        {"weights": [1.0]},
        {"weights": [1.0, 0.0, 0.2]},
        {"count_power": float("nan")},
        {"weights": 3},
        *({"unit": unit} for unit in (0.0, -1.0, 1e10, float("nan"), "1", True)),
    ):
        with pytest.raises(DAMAGE_ERRORS):
            MixtureModel.from_arrays(arrays, header | change, rules)
    swapped = arrays | {"feature": arrays["feature"][::-1].copy(), "class_of": arrays["class_of"][::-1].copy()}
    with pytest.raises(ValueError, match="class_of"):
        MixtureModel.from_arrays(swapped, header, rules)
    for other in (Rules(3, 2), Rules(rules.n_features, 2), Rules(rules.n_features, 3, groups=rules.groups)):
        with pytest.raises(DAMAGE_ERRORS):
            MixtureModel.from_arrays(arrays, header, other)
