"""Expected costs that can be true: to go on costs its price and an answer, and at most as much as a whole episode."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from agents import (
    AdaptiveClassifier,
    AnyStateNetworkClassifier,
    DatumWiseClassifier,
    LatticeClassifier,
    MixtureClassifier,
)
from fsgym import evaluate
from fsgym.session.row_steps import RowCases, steps_of_rows
from support.asked_models import asked_model, asked_table
from support.deep_training import short_classifier

pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")

N_FEATURES, PRICES = 5, [1, 2, 5, 1, 3]
TASKS = {
    "errors alike": {"lam": 0.02, "error_costs": [[0, 1], [1, 0]]},
    "a missed case costs more": {"lam": 1, "error_costs": [[0, 100], [5, 0]]},
    "right answers earn something": {"lam": 1, "error_costs": [[-3, 100], [5, -20]]},
}
AGENTS = {
    "linear": lambda **options: DatumWiseClassifier(n_iterations=2, **options),
    "lattice": LatticeClassifier,
    "mixture": MixtureClassifier,
    "any_network": lambda **options: AnyStateNetworkClassifier(n_steps=20, **options),
    "adaptive": AdaptiveClassifier,
    "dqn": lambda random_state, **options: short_classifier("dqn", **options),
    "lattice, tempered": lambda **options: LatticeClassifier(calibration="temperature", **options),
    "mixture, tempered": lambda **options: MixtureClassifier(calibration="temperature", **options),
}
TOLERANCE = 1e-9


def rare_class(n, seed):
    """Skewed columns, of which the first tells most; one row in ten is of class 1."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(int)
    X = rng.normal(size=(n, N_FEATURES)) + y[:, None] * np.array([2.5, 1.5, 1, 0.5, 0])
    return np.exp(0.7 * X).astype(np.float32), y


@cache
def fitted(agent, task):
    return AGENTS[agent](costs=PRICES, random_state=0, **TASKS[task]).fit(*rare_class(300, seed=0))


def random_states(n=1000):
    """Known features and values of the table, and some far outside of it."""
    rng, X = np.random.default_rng(1), rare_class(n, seed=100)[0]
    acquired = rng.random(X.shape) < rng.random((n, 1))
    return acquired, np.where(rng.random((n, 1)) < 0.5, X, 100 * X).astype(np.float32)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.one_in(3)
def test_going_on_costs_at_least_its_price_and_an_answer(agent, task):
    model, (acquired, values) = fitted(agent, task), random_states()
    steps = steps_of_rows(model, RowCases(np.where(acquired, values, np.nan), np.zeros(values.shape, bool)))
    rules = model.rules_
    answers, asks = rules.answer_costs, steps.question >= 0
    for costs, low, high in (
        (steps.stop_cost, answers.min(), answers.max()),
        (steps.go_on_cost, answers.min(), rules.largest_loss()),
        (steps.go_on_cost[asks], answers.min() + rules.lam * steps.price[asks], rules.largest_loss()),
    ):
        assert not (costs < low - TOLERANCE).any()
        assert not (costs > high + TOLERANCE).any()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.one_in(3)
def test_what_is_asked_is_never_said_to_cost_more_than_an_answer(agent, task):
    """Such a question was said to be asked as the answer was not certain enough, which only a promise asks for."""
    model, (acquired, values) = fitted(agent, task), random_states()
    steps = steps_of_rows(model, RowCases(np.where(acquired, values, np.nan), np.zeros(values.shape, bool)))
    asks = steps.question >= 0
    assert not (steps.go_on_cost[asks] > steps.stop_cost[asks] + TOLERANCE).any()


@pytest.mark.parametrize("variant", ["everything", "panel with a needle", "referral"])
@pytest.mark.parametrize("agent", ["lattice", "mixture", "any_network", "dqn", "adaptive"])
@pytest.mark.one_in(3)
def test_all_alternatives_cost_what_is_possible(agent, variant):
    model, table = asked_model(agent, variant), asked_table(variant)[0].dropna()
    rules, rng = model.rules_, np.random.default_rng(0)
    for k in range(20):
        row = table.iloc[k % len(table)] * (1 if k % 2 else 100)
        known = {name: x for name, x in row.items() if rng.random() < 0.5}
        step = model.step(known, accept=True)
        for alternative in step.alternatives:
            if alternative.expected_cost is not None:
                low = rules.lam * alternative.price + rules.answer_costs.min()
                assert low - TOLERANCE <= alternative.expected_cost <= rules.largest_loss() + TOLERANCE


@pytest.mark.parametrize("task", TASKS)
def test_a_lattice_that_decides_by_values_acquires_only_what_can_pay(task):
    model, (acquired, values) = fitted("lattice", task), random_states()
    rules = model.rules_
    legal = np.hstack([~acquired, np.ones((len(acquired), rules.n_answers), bool)])
    advice = model.policy_.advise(acquired, values, legal)
    asks = np.flatnonzero(advice.actions < rules.n_acquisitions)
    expected = advice.expected[asks, advice.actions[asks]]
    assert not (expected > advice.stop_cost[asks] + TOLERANCE).any()
    assert not (expected < rules.lam * rules.costs[advice.actions[asks]] + rules.answer_costs.min() - TOLERANCE).any()


@pytest.mark.parametrize("agent", ["lattice", "mixture", "lattice, tempered", "mixture, tempered"])
def test_under_other_error_costs_a_policy_acts_by_its_own(agent):
    policy, (X, _) = fitted(agent, "errors alike").policy_, rare_class(300, seed=1)
    own = policy.trajectories(X)
    assert own.lengths.max() > 0
    for costs in (policy.rules.error_costs - 5, policy.rules.error_costs * [[1], [50]]):
        done = policy.trajectories(X, policy.rules.replace(error_costs=costs))
        np.testing.assert_array_equal(done.order, own.order)
        np.testing.assert_array_equal(done.answers, own.answers)


def with_blanks(n, seed):
    """Two columns that cost nothing, each blank in every fourth row, and three with prices that tell more."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, N_FEATURES)) + y[:, None] * np.array([0.5, 0.7, 1, 1.5, 2.5])
    X[:, :2][rng.random((n, 2)) < 0.25] = np.nan
    return X.astype(np.float32), y


@pytest.mark.parametrize("known", [[0, 1], None], ids=["known", "free"])
@pytest.mark.parametrize("agent", ["lattice", "mixture", "any_network", "adaptive"])
@pytest.mark.one_in(2)
def test_to_obtain_a_blank_cell_is_not_expected_to_save_what_it_does_not_save(agent, known):
    options = {"lam": 1, "costs": [0, 0, 8, 5, 12], "error_costs": [[0, 100], [30, 0]], "missing": "unavailable"}
    model = AGENTS[agent](random_state=0, known=known, **options).fit(*with_blanks(400, seed=0))
    X, y = with_blanks(3000, seed=1)
    blank = np.isnan(X[:, :2]).any(axis=1)
    X, y = X[blank], y[blank]
    told = X.copy()
    told[:, 2:] = np.nan
    steps = steps_of_rows(model, RowCases(told, np.zeros(X.shape, bool)))
    realised = evaluate(model, X, y).losses
    estimated = ~np.isnan(steps.go_on_cost) & (steps.question >= 0)
    for question in np.unique(steps.question[estimated]):
        rows = estimated & (steps.question == question)
        if rows.sum() >= 100:
            assert steps.go_on_cost[rows].mean() > 0.75 * realised[rows].mean()


@pytest.mark.parametrize("agent", ["lattice", "mixture"])
def test_what_is_expected_does_not_count_on_what_cannot_be_obtained(agent):
    """The sure test comes after a key that tells nothing: without the test, the key is not worth what it was."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({"sign": y + rng.normal(size=300), "key": rng.normal(size=300), "sure": 9.0 * y})
    options = {"costs": [1, 1, 2], "prerequisites": {"sure": ["key"]}, **TASKS["errors alike"]}
    model = AGENTS[agent](random_state=0, **options).fit(X, y)
    step = model.step({})
    assert step.expected_cost.go_on < 0.1
    without = model.step({}, unavailable=["sure"])
    assert {a.name for a in without.alternatives} == {"sign", "key"}
    assert {without.expected_cost.go_on, *(a.expected_cost for a in without.alternatives)} == {None}
    (of_rows,) = steps_of_rows(model, RowCases(np.full((1, 3), np.nan, np.float32), np.arange(3)[None] == 2)).go_on_cost
    assert np.isnan(of_rows)
    assert model.step({"key": 0.0}).expected_cost.go_on < 0.1  # nothing is hidden there
