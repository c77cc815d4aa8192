"""Prices by case: each row has its own price for each acquisition, known from the start of the episode."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

import fsgym
from fsgym import Dataset, Rules
from fsgym.envs.env import DatumWiseEnv
from fsgym.envs.trajectories import price_steps
from fsgym.envs.vector_env import DatumWiseVectorEnv
from fsgym.exact import expected_loss, naive_bayes, optimum
from tests.support.reference import ReferenceEpisode

N, J = 24, 4
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"lam": 0.1},
    "budget": {"lam": 0.1, "budget": 2},
    "budget_cost": {"lam": 0.1, "budget_cost": 4.0},
    "prerequisites": {"lam": 1.0, "prerequisites": np.eye(J, k=-1).tolist()},
    "errors": {"lam": 0.1, "error_costs": [[0, 3], [1, 0]], "refer_cost": 0.2},
}


def costs_of(data: Dataset) -> list[float]:
    assert data.costs is not None
    return data.costs.tolist()


def prices_of(data: Dataset) -> NDArray[np.float64]:
    assert data.case_costs is not None
    return data.case_costs


def priced_rows(seed: int = 0, missing: float = 0.2) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, J)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return Dataset(X, np.arange(N) % 2, case_costs=rng.integers(0, 5, (N, J)).astype(float))


@pytest.mark.parametrize("kind", OPTIONS)
def test_both_environments_pay_the_prices_of_the_case_as_the_reference_does(kind):
    data, options = priced_rows(), OPTIONS[kind]
    rules = Rules.for_dataset(data, **options)
    env, rng = DatumWiseEnv(data, rules), np.random.default_rng(1)
    envs = DatumWiseVectorEnv(data, rules, 1, autoreset_mode="Disabled")
    for i in range(N):
        x, prices = data.X[i], prices_of(data)[i]
        twin = ReferenceEpisode(x, int(data.y[i]), 2, options | {"costs": prices.tolist()})
        observation, info = env.reset(options={"index": i})
        envs.reset(options={"index": i})
        ended = False
        while not ended:
            np.testing.assert_array_equal(observation[: 2 * J], np.array(twin.observation(), np.float32))
            np.testing.assert_array_equal(observation[2 * J :], prices.astype(np.float32))
            assert info["action_mask"].tolist() == twin.mask()
            action = int(rng.integers(rules.n_actions))  # illegal ones, too
            observation, reward, ended, _, info = env.step(action)
            assert reward == pytest.approx(twin.step(action))
            both = envs.step(np.array([action]))
            np.testing.assert_array_equal(both[0][0], observation)
            assert both[1][0] == reward


@pytest.mark.filterwarnings("ignore:.*Not able to test alternative render modes")
def test_the_checkers_pass_and_parts_of_a_table_have_one_observation_space():
    data = priced_rows()
    train, test = data.split(0.5, seed=0)
    check_env(DatumWiseEnv(data))
    fsgym.check_vector_env(DatumWiseVectorEnv(test, num_envs=3))
    spaces = [DatumWiseEnv(part).observation_space for part in (data, train, test, pickle.loads(pickle.dumps(test)))]
    assert all(space == spaces[0] for space in spaces)


def test_what_is_not_paid_is_not_seen_and_the_prices_show_nothing_else():
    data = priced_rows(missing=0.0)
    other = data.replace(X=data.X[::-1].copy(), y=data.classes[1 - data.y])
    seen = [DatumWiseEnv(d).reset(seed=3)[0].tobytes() for d in (data, other)]
    assert seen[0] == seen[1]


def test_constant_prices_by_case_give_the_bytes_of_prices_by_feature():
    costs = [0.1, 0.7, 2.0, 0.3]
    data = priced_rows()
    by_case, by_feature = data.replace(case_costs=np.tile(costs, (N, 1))), data.replace(costs=costs)
    played = []
    for rows in (by_case, by_feature):
        envs = DatumWiseVectorEnv(rows, Rules.for_dataset(rows, lam=0.3), 5)
        observations, infos = envs.reset(seed=1)
        rng, record = np.random.default_rng(2), b""
        for _ in range(40):
            actions = (rng.random(infos["action_mask"].shape) * infos["action_mask"]).argmax(axis=1)
            record += observations[:, : 2 * J].tobytes() + actions.tobytes() + infos["spent"].tobytes()
            observations, rewards, _, _, infos = envs.step(actions)
            record += rewards.tobytes()
        played.append(record)
    assert played[0] == played[1]
    assert Rules.for_dataset(by_case).costs.tobytes() == Rules.for_dataset(by_feature).costs.tobytes()


@pytest.mark.parametrize("kind", OPTIONS)
def test_the_return_is_minus_the_loss_that_evaluation_finds(kind):
    data = priced_rows()
    rules = Rules.for_dataset(data, **OPTIONS[kind])
    draw = np.random.default_rng(5)
    result = fsgym.evaluate(lambda o, legal: (draw.random(legal.shape) * legal).argmax(axis=1), data, rules=rules)
    assert result.trajectories is not None
    order = result.trajectories.order
    paid = price_steps(rules, data.X, order, prices_of(data))
    chosen = np.take_along_axis(prices_of(data), np.maximum(order, 0), axis=1)
    np.testing.assert_array_equal(paid, np.where(order >= 0, chosen, 0.0))
    env = DatumWiseEnv(data, rules)
    for i in range(N):
        env.reset(options={"index": i})
        actions = [*order[i][order[i] >= 0].tolist(), J + int(result.answers[i])]
        assert sum(env.step(a)[1] for a in actions) == pytest.approx(-result.losses[i])


def test_a_set_without_an_order_costs_its_prices_in_this_row():
    data = priced_rows()
    wanted = np.random.default_rng(0).random((N, J)) < 0.5
    for budget_cost in (None, 100.0):
        rules = Rules.for_dataset(data, budget_cost=budget_cost)
        spent, _, taken = rules.price_sets(wanted, data.X, prices_of(data))
        np.testing.assert_allclose(spent, (taken * prices_of(data)).sum(axis=1))


def test_the_optimum_is_the_mean_of_those_of_each_vector_and_no_policy_is_below_it():
    joint, case_costs = naive_bayes(4), [(0.75, [1, 1, 1, 1]), (0.25, [9, 0, 1, 1])]
    rules = Rules(4, 2, lam=0.05, costs_by_case=True)
    found = optimum(joint, rules, case_costs)
    parts = [optimum(joint, Rules(4, 2, lam=0.05, costs=costs)) for _, costs in case_costs]
    assert found == pytest.approx(0.75 * parts[0] + 0.25 * parts[1])
    assert found < optimum(joint, rules.at_prices([3, 0.75, 1, 1]))  # to know the prices helps

    def cheapest_first(observations, legal):
        prices = observations[:, 8:]
        return np.where(legal[:, :4].sum(axis=1) > 3, np.where(legal[:, :4], prices, 99).argmin(axis=1), 4)

    assert expected_loss(cheapest_first, joint, rules, case_costs) > found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones((N, J - 1)), r"case_costs must have shape \(24, 4\)"),
        (np.full((N, J), -1.0), "prices from 0"),
        (np.full((N, J), np.nan), "prices from 0"),
        ({"scan": 1.0}, "scan"),
        ({"x1": np.ones(3)}, r"case_costs of 'x1' must have shape \(24,\)"),
        ({"x1": "much"}, "must be numbers"),
        ({"x1": np.ones(N, bool)}, "case_costs of 'x1' must be numbers, a price for each row"),
        ({"x1": ["1.0"] * N}, "case_costs of 'x1' must be numbers, a price for each row"),
        (np.ones((N, J), bool), "case_costs must be numbers"),
    ],
)
def test_prices_that_are_none_are_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        priced_rows().replace(case_costs=given)


def test_prices_by_name_and_the_price_that_stands_for_all_cases():
    data = priced_rows().replace(costs=[1, 2, 3, 4])
    named = data.replace(case_costs={"x1": np.arange(N), "x3": 7})
    assert prices_of(named)[3].tolist() == [1, 3, 3, 7]
    assert costs_of(named) == [1, (N - 1) / 2, 3, 7]
    assert prices_of(named.rows([0, 5]))[:, 1].tolist() == [0, 5]
    assert costs_of(named.rows([0, 5])) == [1, 2.5, 3, 7]
    given = data.replace(case_costs=prices_of(named), costs=[2, 2, 2, 2])
    assert costs_of(given.rows([0, 5])) == [2, 2, 2, 2]
    assert named.replace(costs=1).case_costs is None


def test_rules_with_prices_by_case_need_them_and_take_no_relation():
    data = priced_rows()
    with pytest.raises(ValueError, match="must have case_costs of shape"):
        fsgym.evaluate(lambda o, m: [J] * len(o), data.replace(case_costs=None), rules=Rules.for_dataset(data))
    with pytest.raises(ValueError, match="cannot be combined with related"):
        Rules.for_dataset(data, related=np.eye(J), unrelated_costs=3.0)
    rules = Rules.for_dataset(data, lam=0.2, budget_cost=3.0)
    assert pickle.loads(pickle.dumps(rules)).costs_by_case
    assert rules.replace(lam=0.1).costs_by_case
    assert not rules.at_prices().costs_by_case
    assert rules.reordered([3, 2, 1, 0], [3, 2, 1, 0]).costs_by_case


def test_prices_that_are_not_replaced_stay():
    data = priced_rows().replace(costs=[100, 200, 300, 400])
    first, second = np.arange(N, dtype=float), np.arange(N)[::-1].astype(float)
    both = data.replace(case_costs={"x0": first}).replace(case_costs={"x1": second})
    expected = np.column_stack([first, second, np.full(N, 300.0), np.full(N, 400.0)])
    np.testing.assert_array_equal(prices_of(both), expected)
    assert costs_of(both) == expected.mean(axis=0).tolist()
    assert costs_of(data.replace(case_costs=expected)) == expected.mean(axis=0).tolist()
    assert costs_of(data.replace(case_costs=expected, costs=[1, 2, 3, 4])) == [1, 2, 3, 4]
    again = both.replace(costs=[1, 2, 3, 4], case_costs={"x1": 7})
    assert prices_of(again)[0].tolist() == [1, 7, 3, 4]
    renamed = both.replace(feature_names=list("abcd"), case_costs={"a": 0})
    np.testing.assert_array_equal(prices_of(renamed)[:, 1:], expected[:, 1:])


def test_parts_of_a_table_have_the_observation_space_of_the_whole():
    data = priced_rows(missing=0.0)
    space = DatumWiseEnv(data).observation_space
    part = data.rows(prices_of(data).max(axis=1) < 4)
    by_numbers = data.replace(y=np.arange(N) ** 2, classes=None, bins=3)
    for other in (part, part.replace(name="other"), *by_numbers.split(0.5)):
        assert DatumWiseEnv(other).observation_space == space
    scaled = DatumWiseEnv(part.scaled(data)).observation_space
    np.testing.assert_array_equal(scaled.high[2 * J :], space.high[2 * J :])
    cheap = data.replace(case_costs=prices_of(data) / 4)
    assert DatumWiseEnv(cheap).observation_space.high[-1] == prices_of(data)[:, -1].max() / 4
