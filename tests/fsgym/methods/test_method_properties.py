"""What must hold for the answers of every method: order of numbers, nothing bought in vain, weights of 0."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from agents import BaseAgentClassifier
from agents.tradeoff import BaseTradeoffClassifier
from fsgym.methods import METHODS, load_class
from support.quick_methods import or_slow, quick_estimator

pytestmark = [
    pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning"),
    pytest.mark.filterwarnings("ignore:no sub-feature is selected:UserWarning"),
    pytest.mark.filterwarnings("ignore:No features were selected:UserWarning"),
]
# They acquire what they acquire: all features, the published algorithm, and methods of deep learning.
BUYS_ANYTHING = ("everything", "rcpi_printed", "maskable_ppo", "dqn", "gdfs", "dime")
SPARING = [name for name in METHODS if name not in BUYS_ANYTHING]
AGENTS = [name for name in SPARING if issubclass(load_class(METHODS[name]), BaseAgentClassifier)]
REFUSE_CLASSES_WITHOUT_WEIGHT = ("hkl", "mrmr", "hsic_lasso")  # in a sentence
TRADEOFFS = [name for name in AGENTS if issubclass(load_class(METHODS[name]), BaseTradeoffClassifier)]


def with_option(option: str) -> list[str]:
    """The methods with this option of ``Rules``."""
    return [name for name in SPARING if option in load_class(METHODS[name])().get_params()]


def acquires_nothing(name: str) -> bool:
    """Whether the method says so, as the agent of docs/extend does."""
    return METHODS[name].uses.startswith("none")


def models_of(name: str, X: Any, y: Any, lams: tuple[float, ...], step: int = 1) -> list[Any]:
    """Unfitted estimators with the settings that a comparison would fit."""
    model = quick_estimator(name, METHODS[name])
    found = [{"lam": lam} for lam in lams] if METHODS[name].prices else model.sparsity_grid(X, y)[::-step]
    return [clone(model).set_params(**setting) for setting in found]


def few_ordered_numbers(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A column of few numbers at uneven distances, of which the larger ones are of class 1; noise; and the numbers."""
    rng = np.random.default_rng(seed)
    numbers = np.sort(rng.choice(np.arange(60) / 4, rng.integers(5, 12), replace=False))
    place = rng.integers(0, len(numbers), 160)
    X = np.column_stack([numbers[place], rng.normal(size=160)])
    return X, np.where(place > rng.integers(1, len(numbers) - 2), "sick", "well"), numbers


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", or_slow([*METHODS]))
def test_a_number_that_training_did_not_see_is_answered_as_its_neighbours(name, seed):
    X, y, numbers = few_ordered_numbers(seed)
    model = models_of(name, X, y, (0.01,))[0].fit(X, y)

    def answers(values: np.ndarray) -> np.ndarray:
        return model.predict(np.column_stack([values, np.zeros(len(values))]))

    of_numbers = answers(numbers)
    between = answers((numbers[1:] + numbers[:-1]) / 2)
    same = of_numbers[1:] == of_numbers[:-1]
    assert same.sum() >= len(numbers) - 3
    np.testing.assert_array_equal(between[same], of_numbers[1:][same])
    np.testing.assert_array_equal(answers(numbers[0] - np.array([0.2, 1.7])), of_numbers[[0, 0]])
    np.testing.assert_array_equal(answers(numbers[-1] + np.array([0.2, 1.7])), of_numbers[[-1, -1]])


def two_informative(n: int = 240, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, (x[:, 0] + 0.5 * x[:, 1] + 0.6 * rng.normal(size=n) > 0).astype(int)


def with_constants(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.full(len(x), 7.0), x, np.zeros(len(x)), np.full((len(x), 2), -1.5)])


@pytest.mark.parametrize("name", or_slow(SPARING))
def test_no_constant_column_is_acquired(name):
    x, y = two_informative()
    X = with_constants(x)
    for model in models_of(name, X, y, (0.0005, 0.003), step=3):
        used = model.fit(X, y).features_used(X)
        assert not used[:, [0, 3, 4, 5]].any()


@pytest.mark.parametrize("name", or_slow(AGENTS))
def test_no_constant_column_with_missing_values_is_acquired(name):
    x, y = two_informative()
    X = with_constants(x)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    for model in models_of(name, X, y, (0.0005, 0.003)):
        assert not model.fit(X, y).features_used(X)[:, [0, 3, 4, 5]].any()


@pytest.mark.parametrize("name", or_slow(SPARING))
def test_no_column_is_acquired_beside_its_copy(name):
    x, y = two_informative()
    X = np.column_stack([x, x[:, :1], x])
    for model in models_of(name, X, y, (0.0005, 0.003), step=3):
        used = model.fit(X, y).features_used(X)
        assert used[:, [0, 2, 3]].sum(axis=1).max() <= 1
        assert used[:, [1, 4]].sum(axis=1).max() <= 1


@pytest.mark.parametrize(
    "name", or_slow([n for n in SPARING if "costs" in inspect.signature(load_class(METHODS[n])).parameters])
)
def test_of_two_copies_the_cheaper_one_is_acquired(name):
    x, y = two_informative()
    X = np.column_stack([x, x])
    for model in models_of(name, X, y, (0.0005, 0.003)):
        used = model.set_params(costs=[3.0, 1.0, 1.0, 2.0]).fit(X, y).features_used(X)
        assert used[:, 2].any() or acquires_nothing(name)
        assert not used[:, [0, 3]].any()


@pytest.mark.parametrize("name", or_slow(with_option("related")))
def test_nothing_is_acquired_where_the_first_acquisition_costs_more_than_any_error(name):
    """Later ones are nearly free. So is the first one after that: then columns that tell the class are acquired."""
    x, y = two_informative()
    related = {"costs": 0.001, "related": 1 - np.eye(2), "empty_is_related": False}
    model = models_of(name, x, y, (1.01,))[0].set_params(**related)
    used = model.set_params(unrelated_costs=1.0).fit(x, y).features_used(x)
    assert not used.any(), "the first acquisition is too dear; use next_prices of the rules, not costs"
    used = model.set_params(unrelated_costs=0.01).fit(x, y).features_used(x)
    assert used.any() or acquires_nothing(name)


@pytest.mark.parametrize("name", or_slow(with_option("prerequisites")))
def test_a_constant_column_that_opens_another_one_is_acquired(name):
    x, y = two_informative()
    X = np.column_stack([x[:, 0], np.ones(len(x)), np.ones(len(x))])
    model = models_of(name, X, y, (0.002,))[0].set_params(prerequisites={"x0": ["x1"]})
    used = model.fit(X, y).features_used(X)
    assert used[:, 0].mean() > 0.5 or acquires_nothing(name)
    assert used[used[:, 0], 1].all()
    assert not used[:, 2].any()


@pytest.mark.parametrize("name", or_slow(AGENTS))
def test_a_session_offers_a_constant_column_and_takes_its_value(name):
    x, y = two_informative()
    X = with_constants(x)
    model = models_of(name, X, y, (0.0005,))[0].fit(X, y)
    session = model.session({"x3": 0.0})
    assert {"x0", "x4", "x5"} <= {a.name for a in session.step.alternatives}
    session.answer("x4", -1.5)
    while session.step.question is not None:
        assert session.step.question.name in ("x1", "x2")
        session.answer(session.step.question.name, 0.1)
    assert session.step.answer in (0, 1)
    beyond = model.trajectories(X[:3], continue_after_stop=True)
    assert beyond.acquired.all()


def weighted_fits(name: str, out: int, **options: Any) -> list[Any]:
    """The method fitted to iris where a class has the weight 0, by rows and by classes, as far as it takes weights."""
    X, y = (values[::2] for values in load_iris(return_X_y=True))
    fits = []
    for model in models_of(name, X, y, (0.002, 5.0), step=4):
        model.set_params(**options)
        if "sample_weight" in inspect.signature(model.fit).parameters:
            fits.append(lambda model=model: clone(model).fit(X, y, sample_weight=(y != out).astype(float)))
        if "class_weight" in model.get_params():
            fits.append(lambda model=model: clone(model).set_params(class_weight={out: 0.0}).fit(X, y))
    return fits


@pytest.mark.one_in(3)
@pytest.mark.parametrize("out", [0, 1, 2])
@pytest.mark.parametrize("name", or_slow([*METHODS]))
def test_a_class_without_weight_is_not_answered(name, out):
    X, _ = load_iris(return_X_y=True)
    for fit in weighted_fits(name, out):
        if name in REFUSE_CLASSES_WITHOUT_WEIGHT:
            with pytest.raises(ValueError, match=f"class {out} has none above 0|class_weight of {out} must be above 0"):
                fit()
        else:
            assert out not in fit().predict(np.vstack([X, 3 * X - 5, X[:, ::-1]]))


@pytest.mark.parametrize("name", or_slow(TRADEOFFS))
def test_with_error_costs_a_class_without_weight_is_answered_where_that_is_cheapest(name):
    X, _ = load_iris(return_X_y=True)
    costs = np.array([[0.0, 0.2, 0.2], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])  # class 0 is a safe answer
    for fit in weighted_fits(name, 0, error_costs=costs):
        model = fit()
        expected = model.predict_proba(X) @ costs.T
        answers = model.predict(X)
        np.testing.assert_allclose(expected[np.arange(len(X)), answers], expected.min(axis=1), atol=1e-9)
        assert model.predict_proba(X)[:, 0].max() < (0.2 if name == "network" else 0.05)  # of ten steps of training
