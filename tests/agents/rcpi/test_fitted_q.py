"""Fitted Q iteration: targets against a plain computation, and a task that it solves."""

from __future__ import annotations

import numpy as np
import pytest

from agents import RCPI, FittedQ
from agents.parallel import run_serially
from agents.rcpi.kernels import ActionScores
from agents.rcpi.rollouts import Mixture
from agents.rcpi.sampling import sample_states
from fsgym import Dataset, DatumWiseEnv, Rules, Scaling, evaluate
from support.rcpi_twin import VARIANTS, problem


@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.one_in(2)
def test_targets_are_the_reward_and_the_highest_score_in_the_next_state(variant, missing):
    dataset, rules = problem(variant, missing)
    env, values = DatumWiseEnv(dataset, rules), Scaling.fit(dataset.X).apply(dataset.X)
    states, rng = sample_states(dataset.X, rules, 60, seed=1), np.random.default_rng(0)
    W = rng.normal(size=(rules.n_features, 2, rules.n_actions)).astype(np.float32)
    b = rng.normal(size=rules.n_actions).astype(np.float32)
    newest = Mixture.uniform(rules).mixed(ActionScores(W, b), 0.0)
    targets, legal = FittedQ(env)._returns(states, dataset, values, newest, 0, run_serially)
    compared = 0
    for s in range(60):
        order, row = states.order[s, : states.lengths[s]].tolist(), int(states.rows[s])
        for j in np.flatnonzero(legal[s]):
            env.reset(options={"index": row})
            for i in order:
                env.step(i)
            observation, reward = env.step(int(j))[:2]
            z = observation[: rules.n_features] > 0.5
            scores = b + z @ W[:, 0] + np.where(z, values[row], 0) @ W[:, 1]
            expected = reward + scores[env.action_masks()].max()
            assert targets[s, j] == pytest.approx(expected, abs=1e-4)
            compared += 1
    assert compared > 30


def test_a_feature_that_is_worth_its_price_is_acquired():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    env = DatumWiseEnv(Dataset(X, (X[:, 2] > 0).astype(int)), Rules(4, 2, lam=0.05))
    agent = FittedQ(env, n_iterations=4, random_state=0).learn()
    result = evaluate(agent, env)
    assert result.accuracy > 0.95
    assert result.n_features < 3
    again = FittedQ(env, n_iterations=4, random_state=0, n_jobs=2).learn()
    np.testing.assert_array_equal(again.policy.weights, agent.policy.weights)


@pytest.mark.parametrize("options", [{}, {"error_costs": [[0.0, 9.0], [1.0, 0.0]]}])
def test_where_an_acquisition_costs_more_than_any_error_none_is_made(options):
    X = np.random.default_rng(0).normal(size=(150, 4))
    data = Dataset(X, (X[:, 2] > 0.2).astype(int))
    rules = Rules(4, 2, lam=10.0, **options)
    result = evaluate(FittedQ(DatumWiseEnv(data, rules), random_state=0).learn(), data, rules=rules)
    assert result.n_features == 0
    assert set(result.trajectories.answers.tolist()) == {(rules.error_costs @ np.bincount(data.y)).argmin()}


def test_options_of_rollouts_are_refused():
    env = DatumWiseEnv(Dataset(np.eye(4), [0, 1, 0, 1]), Rules(4, 2))
    with pytest.raises(TypeError, match="FittedQ makes no rollouts and has no alpha, n_rollouts; leave it out"):
        FittedQ(env, alpha=0.5, n_rollouts=2)
    assert issubclass(FittedQ, RCPI)
    with pytest.raises(TypeError, match=r"FittedQ has no published form, .*; use FittedQ\(env\)"):
        FittedQ.published(env)
