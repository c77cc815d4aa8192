"""RCPI as an agent: reproducibility, predict, callbacks, selection of the policy, and invalid input."""

from __future__ import annotations

import multiprocessing
import threading
import warnings

import gymnasium as gym
import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

from agents import RCPI, DatumWiseClassifier, LinearPolicy
from fsgym import Dataset, DatumWiseEnv, Rules, Scaling, evaluate
from support.problems import one_decides


def noisy_data(n=120, n_features=5, seed=0):
    """Labels that depend on the first two features; a third of the other values is missing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, n_features)).astype(np.float32)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    X[:, 2:][rng.random((n, n_features - 2)) < 1 / 3] = np.nan
    return X, y


def weights_of(n_jobs=None, seed=0, mixture="decision", **options):
    X, y = noisy_data()
    model = DatumWiseClassifier(n_iterations=3, n_jobs=n_jobs, random_state=seed, mixture=mixture, **options).fit(X, y)
    return model.policy_.weights.tobytes() + model.policy_.intercepts.tobytes()


def fitted_bytes(model):
    return model.policy_.weights.tobytes() + model.policy_.intercepts.tobytes()


@pytest.mark.parametrize("mixture", ["decision", "trajectory"])
@pytest.mark.usefixtures("two_threads")
def test_weights_depend_on_the_seed_and_not_on_the_number_of_threads(mixture):
    serial = weights_of(mixture=mixture)
    assert weights_of(2, mixture=mixture) == serial
    assert weights_of(3, mixture=mixture) == serial
    assert weights_of(-1, mixture=mixture) == serial
    assert weights_of(mixture=mixture, seed=np.int64(0)) == serial
    assert weights_of(mixture=mixture, seed=1) != serial
    twice = [weights_of(mixture=mixture, seed=np.random.RandomState(7)) for _ in range(2)]
    assert twice[0] == twice[1]
    one = np.random.default_rng(3)
    assert weights_of(mixture=mixture, seed=one) != weights_of(mixture=mixture, seed=one)


def _child(queue):
    queue.put(weights_of(2))


def test_a_forked_worker_learns_the_same():
    expected = weights_of(2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork with threads
        worker = context.Process(target=_child, args=(queue,))
        worker.start()
    try:
        assert queue.get(timeout=60) == expected
    finally:
        worker.join(timeout=10)
    assert worker.exitcode == 0


@pytest.mark.slow  # workers start slowly
@pytest.mark.usefixtures("two_threads")
def test_worker_processes_learn_the_same():
    X, y = noisy_data()
    model = DatumWiseClassifier(n_iterations=3, random_state=0, n_jobs=2)
    others = Parallel(2, backend="loky")(delayed(model.fit)(X, y) for _ in range(2))
    assert [fitted_bytes(m) for m in others] == [weights_of()] * 2


@pytest.mark.usefixtures("two_threads")
def test_threads_stay_threads_under_the_configuration_of_worker_processes():
    expected = weights_of()
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert weights_of() == weights_of(2) == expected


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.usefixtures("two_threads")
def test_two_trainings_in_threads_share_one_limit_on_blas_threads():
    X, y = noisy_data()
    env = DatumWiseEnv(Dataset(X, y), Rules(5, 2))
    expected = RCPI(env, n_iterations=4, random_state=0, n_jobs=2).learn().policy.weights.tobytes()
    before = blas_threads()
    both_started, first_is_done, limits = threading.Barrier(2, timeout=60), threading.Event(), []
    agents = [RCPI(env, n_iterations=n, random_state=0, n_jobs=2) for n in (2, 4)]

    def short(row):
        if row["iteration"] == 1:
            both_started.wait()

    def long(row):
        if row["iteration"] == 1:
            both_started.wait()
            assert first_is_done.wait(60)
        limits.extend(blas_threads())

    def run_short():
        try:
            agents[0].learn(short)
        finally:
            first_is_done.set()

    threads = [threading.Thread(target=run_short), threading.Thread(target=agents[1].learn, args=(long,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert agents[1].policy.weights.tobytes() == expected
    assert len(agents[0].history) == 2
    assert set(limits) == {1}
    assert blas_threads() == before


def small_agent(**options):
    X, y = one_decides(120)
    rules = Rules.for_dataset(Dataset(X, y), lam=0.05, **options.pop("rules", {}))
    return RCPI(DatumWiseEnv(Dataset(X, y), rules), **{"n_iterations": 3, "random_state": 0, **options})


def test_predict_has_the_interface_of_stable_baselines():
    agent = small_agent().learn()
    env = DatumWiseEnv(agent.dataset, agent.rules)
    observation, info = env.reset(seed=0)
    action, state = agent.predict(observation, action_masks=info["action_mask"])
    assert state is None
    assert np.shape(action) == ()
    assert env.action_space.contains(action)
    batch = np.stack([observation] * 3)
    actions, _ = agent.predict(batch, action_masks=np.stack([info["action_mask"]] * 3))
    assert actions.shape == (3,)
    assert actions.dtype == np.int64
    assert (actions == action).all()
    np.testing.assert_array_equal(agent.predict(batch, deterministic=True)[0], actions)
    for allowed in range(7):
        assert agent.predict(observation, action_masks=np.arange(7) == allowed)[0] == allowed
    for wrong in (observation[:-1], batch[None], np.zeros(())):
        with pytest.raises(ValueError, match="observation must have shape"):
            agent.predict(wrong)
    with pytest.raises(ValueError, match="action_masks must have shape"):
        agent.predict(batch, action_masks=info["action_mask"])


@pytest.mark.parametrize(
    "rules",
    [
        {"budget": 2},
        {"costs": [1, 2, 3, 4, 5], "budget_cost": 4.0},
        {"groups": [0, 1, 0, 1, 2], "budget": 1},
        {"related": np.eye(5, k=1) + np.eye(5, k=-1), "unrelated_costs": "forbid"},
    ],
)
def test_without_masks_no_illegal_action_is_chosen(rules):
    agent = small_agent(rules={**rules}, n_iterations=1)
    J = agent.rules.n_acquisitions
    scores = np.append(np.arange(J) + 1, [0, 0]).astype(np.float32)
    weights = np.zeros((5, 2, J + 2), np.float32)
    agent.policy = LinearPolicy(weights, scores, Scaling.fit(agent.dataset.X), agent.rules)  # acquires everything
    without_masks = evaluate(lambda observations, masks: agent.predict(observations)[0], agent.dataset, agent.rules)
    with_masks = evaluate(agent, agent.dataset, agent.rules)
    assert without_masks.illegal == 0
    np.testing.assert_array_equal(without_masks.trajectories.order, with_masks.trajectories.order)
    assert with_masks.n_acquisitions >= 1


def test_the_callback_gets_plain_numbers_and_can_stop_the_training():
    rows = []
    agent = small_agent(n_iterations=6)
    assert agent.learn(lambda row: rows.append(row) or row["iteration"] < 2) is agent
    assert [row["iteration"] for row in rows] == [1, 2]
    assert rows == agent.history
    assert set(rows[0]) == {"iteration", "loss", "accuracy", "n_acquisitions", "best_loss", "seconds"}
    assert all(type(v) in (int, float) for row in rows for v in row.values())
    rows[0]["loss"] = 7.0
    assert agent.history[0]["loss"] != 7.0
    assert small_agent(n_iterations=2).learn(lambda row: None).history[-1]["iteration"] == 2
    first = agent.policy.weights.tobytes()
    assert small_agent(n_iterations=2).learn().policy.weights.tobytes() == first
    assert agent.learn(lambda row: row["iteration"] < 2).policy.weights.tobytes() == first  # trained from scratch


@pytest.mark.usefixtures("two_threads")
def test_an_interrupted_training_leaves_the_best_policy_so_far():
    agent, before = small_agent(n_iterations=9, n_jobs=2), blas_threads()

    def interrupt(row):
        if row["iteration"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        agent.learn(interrupt)
    assert len(agent.history) == 3
    best = min(row["loss"] for row in agent.history)
    assert evaluate(agent, agent.dataset, agent.rules).loss == pytest.approx(min(best, agent.history[-1]["best_loss"]))
    assert blas_threads() == before


def test_best_selects_the_policy_with_the_lowest_loss_and_last_the_last_one():
    losses = {}
    for select in ("best", "last"):
        agent = small_agent(n_iterations=5, select=select).learn()
        losses[select] = evaluate(agent, agent.dataset, agent.rules).loss
        assert agent.history[-1]["best_loss"] <= min(row["loss"] for row in agent.history)
    assert losses["best"] == pytest.approx(agent.history[-1]["best_loss"])
    assert losses["last"] == pytest.approx(agent.history[-1]["loss"])


def one_binary_feature(select, lam):
    """An agent for a feature that is the class; more than half of the rows are of class 0."""
    y = (np.arange(40) % 5 > 2).astype(int)
    data = Dataset(2.0 * y[:, None] - 1, y)
    env = DatumWiseEnv(data, Rules.for_dataset(data, lam=lam))
    return RCPI(env, n_iterations=5, select=select, random_state=0)


def test_of_equal_training_losses_the_earliest_iteration_is_selected():
    agent, policies = one_binary_feature("last", 0.05), []
    agent.learn(lambda row: policies.append(agent.policy))
    losses = np.array([row["loss"] for row in agent.history])
    lowest = np.flatnonzero(losses == losses.min())
    assert losses.min() == pytest.approx(0.05)
    assert len(lowest) > 1
    selected = one_binary_feature("best", 0.05).learn().policy
    same = [policy.weights.tobytes() == selected.weights.tobytes() for policy in policies]
    assert np.flatnonzero(same).tolist() == [lowest[0]]


def test_an_iteration_as_good_as_the_policy_without_acquisitions_is_not_selected():
    agent = one_binary_feature("best", 1.0).learn()
    assert {row["loss"] for row in agent.history} == {agent.history[-1]["best_loss"]} == {0.4}
    assert not agent.policy.weights.any()
    assert not agent.policy.logistic  # the policies of the iterations are


def test_patience_stops_the_training_on_held_out_data():
    assert len(small_agent(n_iterations=40, patience=2, tol=0.01).learn().history) < 20
    assert len(small_agent(n_iterations=4, patience=40).learn().history) == 4


def test_the_progress_bar_does_not_write_to_standard_output(capsys):
    small_agent(n_iterations=2).learn(progress_bar=True)
    assert capsys.readouterr().out == ""


def test_wrong_use_is_refused_in_one_sentence():
    agent = small_agent()
    with pytest.raises(NotFittedError, match="call learn"):
        agent.predict(np.zeros(10))
    with pytest.raises(NotFittedError, match="call learn"):
        agent.save("nowhere")
    with pytest.raises(TypeError, match="environment of fsgym, got CartPoleEnv"):
        RCPI(gym.make("CartPole-v1").unwrapped)
    agent.learn()
    for wrong in (np.zeros((3, 4)), np.zeros((3, 1)), np.zeros(5)):
        with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 5\)"):
            agent.trajectories(wrong)
    with pytest.raises(ValueError, match="classes, or bins of a numeric target"):
        agent.trajectories(np.zeros((3, 5)), Rules(5, 3))
    assert agent.trajectories(np.zeros((0, 5))).answers.shape == (0,)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_iterations", 0),
        ("n_iterations", 2.0),
        ("n_iterations", True),
        ("states_per_sample", 0),
        ("states_per_sample", np.nan),
        ("alpha", 1.0),
        ("alpha", -0.1),
        ("ridge", 0.0),
        ("ridge", np.inf),
        ("mixture", "state"),
        ("n_rollouts", 0),
        ("select", "first"),
        ("patience", 0),
        ("tol", -1.0),
        ("n_jobs", 0),
        ("n_jobs", "all"),
        ("random_state", -1),
        ("random_state", "dice"),
    ],
)
def test_parameters_out_of_range_are_refused_in_one_sentence(option, value):
    with pytest.raises(ValueError, match=f"{option} must") as caught:
        small_agent(**{option: value})
    assert "\n" not in str(caught.value)


def test_prices_beyond_single_precision_are_refused():
    for rules in ({"costs": 1e12}, {"costs": 1e300}, {"error_costs": [[0, 1e20], [1, 0]]}):
        with pytest.raises(ValueError, match="must not add up to more than"):
            small_agent(rules=rules)
    policy = small_agent().learn().policy
    costly = Rules(5, 2, error_costs=[[0, 1e40], [1, 0]])
    with pytest.raises(ValueError, match="must not add up to more than"):
        LinearPolicy(policy.weights, policy.intercepts, policy.scaling, costly, policy.logistic)


def test_values_far_outside_the_training_range_are_classified():
    agent = small_agent(rules={"budget": 4}).learn()
    for huge in (1e30, -3e38, 1e300, np.inf):
        done = agent.trajectories(np.full((4, 5), huge))
        assert set(done.answers) <= {0, 1}
        assert done.lengths.max() <= 4


def test_constant_and_empty_columns_are_harmless():
    X, y = one_decides(200)
    X[:, 0], X[:, 4] = 3.0, np.nan
    rules = Rules(5, 2, lam=0.05)
    result = evaluate(RCPI(DatumWiseEnv(Dataset(X, y), rules), random_state=0).learn(), Dataset(X, y), rules)
    assert result.accuracy > 0.95
    assert not result.used[:, 4].any()
