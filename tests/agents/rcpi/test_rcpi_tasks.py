"""RCPI on tiny tasks with a known optimum, and on every registered task."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from agents import RCPI
from fsgym import Dataset, DatumWiseEnv, Rules, evaluate
from support.problems import one_decides


def train_and_evaluate(X, y, **options):
    """Train on the first half of the rows; return the evaluation on the second half, and the agent."""
    agent_options = {k: options.pop(k) for k in ("n_iterations", "select", "mixture", "alpha") if k in options}
    half = len(X) // 2
    train, test = Dataset(X[:half], y[:half]), Dataset(X[half:], y[half:])
    rules = Rules.for_dataset(train, **options)
    agent = RCPI(DatumWiseEnv(train, rules), random_state=0, **agent_options).learn()
    for part in (train, test):
        result = evaluate(agent, part, rules)
        assert result.admissible == 1
        assert result.illegal == 0
    return result, agent


@pytest.mark.parametrize("mixture", ["decision", "trajectory"])
def test_the_one_informative_feature_is_acquired(mixture):
    X, y = one_decides()
    result, _ = train_and_evaluate(X, y, lam=0.05, mixture=mixture)
    assert result.accuracy > 0.95
    assert result.used[:, 2].all()
    assert (result.trajectories.order[:, 0] == 2).mean() > 0.9
    assert result.n_features < 2


def test_nothing_is_acquired_at_a_price_above_the_gain():
    X, y = one_decides()
    y[:300:3] = 0  # two thirds of one class
    result, agent = train_and_evaluate(X, y, lam=0.6)
    assert result.n_acquisitions == 0
    assert result.losses.tolist() == (result.answers != result.dataset.y).tolist()
    assert min(row["loss"] for row in agent.history) >= agent.history[0]["best_loss"] - 1e-12


def test_accuracy_is_high_if_features_are_free():
    X, y = one_decides()
    result, _ = train_and_evaluate(X, y, lam=0.0)
    assert result.accuracy > 0.95


@pytest.mark.parametrize("select", ["best", "last"])
def test_with_a_budget_of_zero_the_largest_class_is_predicted(select):
    X, y = one_decides()
    y[::4] = 1
    result, _ = train_and_evaluate(X, y, lam=0.0, budget=0, select=select)
    assert result.n_acquisitions == 0
    assert set(result.answers) == {1}


def test_a_context_feature_decides_which_feature_is_acquired_next():
    rng = np.random.default_rng(0)
    context = rng.integers(0, 2, 800)
    X = np.column_stack([context, rng.uniform(-1, 1, (800, 4))])
    y = (np.where(context == 1, X[:, 1], X[:, 2]) > 0).astype(int)
    result, _ = train_and_evaluate(X, y, lam=0.1, costs=[0.1, 1, 1, 1, 1])
    used, in_context = result.used, result.dataset.X[:, 0] == 1
    assert (result.trajectories.order[:, 0] == 0).all()
    assert used[in_context, 1].mean() > 0.9
    assert used[~in_context, 2].mean() > 0.9
    assert max(used[~in_context, 1].mean(), used[in_context, 2].mean()) < 0.4
    assert result.accuracy > 0.9  # any other fixed feature reaches at most 0.75
    assert result.loss < 0.01 + 0.1 + 0.25


def test_the_cheaper_copy_is_acquired():
    X, y = one_decides()
    X[:, 4] = X[:, 2]
    for cheap, expensive in ((2, 4), (4, 2)):
        costs = np.ones(5)
        costs[expensive] = 5
        result, _ = train_and_evaluate(X, y, lam=0.03, costs=costs, mixture="decision")
        assert result.accuracy > 0.95
        assert (result.trajectories.order[:, 0] == cheap).mean() > 0.9
        assert result.used[:, expensive].mean() < 0.3


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 1},
        {"budget": 2},
        {"costs": [1, 2, 3, 4, 5], "budget_cost": 3.0},
        {"related": np.eye(5, k=1) + np.eye(5, k=-1), "unrelated_costs": "forbid"},
        {"related": np.ones((5, 5)) - np.eye(5), "unrelated_costs": 2, "empty_is_related": False, "budget_cost": 3.0},
        {"prerequisites": [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 1, 0, 0]]},
        {"groups": [[0, 4], [1, 2], [3]]},
    ],
)
def test_the_informative_feature_is_acquired_under_all_kinds_of_rules(options):
    X, y = one_decides(600)
    result, agent = train_and_evaluate(X, y, lam=0.02, mixture="decision", **options)
    assert result.accuracy > 0.93
    assert result.n_acquisitions < 3
    order = result.trajectories.order
    if "prerequisites" in options:
        assert (order[:, :2] == [0, 2]).all()
    if "groups" in options:
        np.testing.assert_array_equal(result.used[:, 1], result.used[:, 2])
    if options.get("unrelated_costs") == "forbid":
        for row in order:
            acquired = row[row >= 0].tolist()
            assert all(min(abs(j - i) for i in acquired[:k]) == 1 for k, j in enumerate(acquired) if k)
    assert len(agent.history) == 10


def test_error_costs_shift_the_answers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 800)
    X = np.column_stack([y + rng.normal(size=800), rng.normal(size=800)])
    share = [
        train_and_evaluate(X, y, lam=0.001, error_costs=c)[0].answers.mean()
        for c in ([[0, 5], [1, 0]], [[0, 1], [5, 0]])
    ]
    assert share[0] > 0.65
    assert share[1] < 0.35


def test_missing_values_do_not_prevent_learning():
    X, y = one_decides(800)
    X[:, 4] = X[:, 2]
    missing = np.random.default_rng(1).random(800) < 0.5
    X[missing, 2], X[~missing, 4] = np.nan, np.nan
    result, _ = train_and_evaluate(X, y, lam=0.03)
    assert result.accuracy > 0.9
    assert result.n_features < 2


TINY = {"Relational": {"n_iterations": 3, "states_per_sample": 2}}


@pytest.mark.parametrize("name", ["", "Budget", "Cost", "Group", "Relational"])
@pytest.mark.one_in(2)
def test_every_registered_task_is_solved_better_than_without_acquisitions(name):
    train, test = (gym.make(f"DatumWise{name}-v0", split=part, disable_env_checker=True) for part in ("train", "test"))
    agent = RCPI(train, mixture="trajectory", random_state=1, **TINY.get(name, {})).learn()
    rules, inner = train.unwrapped.rules, test.unwrapped.dataset
    shares = np.bincount(train.unwrapped.dataset.y) / train.unwrapped.dataset.n_samples
    loss_without = rules.error_costs[(rules.error_costs @ shares).argmin()][inner.y].mean()
    result = evaluate(agent, test)
    assert result.admissible == 1
    assert result.loss < {"Cost": 0.97}.get(name, 0.7) * loss_without
    if rules.budget is not None:
        assert result.trajectories.lengths.max() <= rules.budget
