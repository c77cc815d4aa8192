"""RCPI: every step against a plain twin, the same bytes however it runs, and tiny tasks with a known optimum."""

from __future__ import annotations

import multiprocessing
import threading
import warnings

import gymnasium as gym
import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed
from rcpi_twin import VARIANTS, Twin, problem, ridge_scores
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

from agents import RCPI, DatumWiseClassifier, LinearPolicy
from agents.kernels import NEVER, padded
from agents.policy import legal_from
from agents.rcpi.regression import fit_scores
from agents.rcpi.rollouts import Mixture, rollout_returns
from agents.rcpi.sampling import sample_states
from fsgym import Dataset, DatumWiseEnv, Rules, Scaling, evaluate

every_variant = pytest.mark.parametrize("variant", VARIANTS)
with_missing = pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])


def serially(task, arguments):
    return [task(*a) for a in arguments]


def random_scores(rules, seed):
    """Weights and intercepts of a policy that acquires now and then."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(rules.n_features, 2, rules.n_actions)).astype(np.float32)
    return W, rng.normal(size=rules.n_actions).astype(np.float32)


def rollouts(states, dataset, values, mixture, rules, per_trajectory=False, n_rollouts=1, seed=5):
    returns, legal, _ = rollout_returns(
        states, dataset, values, mixture, rules, per_trajectory=per_trajectory, n_rollouts=n_rollouts, seed=seed,
        run=serially,
    )  # fmt: skip
    return returns, legal


# The parts, one after the other


@with_missing
@every_variant
def test_returns_and_legal_sets_of_a_greedy_policy_are_the_twins(variant, missing):
    dataset, rules = problem(variant, missing)
    values, twin = Scaling.fit(dataset.X).apply(dataset.X), Twin(dataset, rules)
    states = sample_states(dataset.X, rules, 300, seed=1)
    lengths = set()
    for seed in range(2):
        W, b = random_scores(rules, seed)
        only = Mixture.uniform(rules).mixed(padded(W, 0)[None], padded(b, NEVER)[None], 0.0)
        returns, legal = rollouts(states, dataset, values, only, rules, per_trajectory=bool(seed))
        for s in range(300):
            order = states.order[s, : states.lengths[s]].tolist()
            expected = twin.returns(states.rows[s], order, values, W, b)
            np.testing.assert_array_equal(legal[s], ~np.isnan(expected))
            np.testing.assert_allclose(returns[s][legal[s]], expected[legal[s]], atol=1e-5)
            lengths.add(states.lengths[s])
    assert len(lengths) > 2


@pytest.mark.parametrize("budget", [None, 3])
@pytest.mark.parametrize("per_trajectory", [False, True])
def test_the_uniform_policy_has_its_closed_form(budget, per_trajectory):
    n, c, lam = 5, 3, 0.1
    rng = np.random.default_rng(0)
    dataset = Dataset(rng.normal(size=(60, n)), np.arange(60) % c)
    rules = Rules(n, c, lam=lam, budget=budget)
    states = sample_states(dataset.X, rules, 600, seed=2)
    returns, legal = rollouts(
        states, dataset, dataset.X, Mixture.uniform(rules), rules, per_trajectory=per_trajectory, n_rollouts=60
    )
    value = np.full(n + 2, -(c - 1) / c)
    for k in range((n if budget is None else budget) - 1, -1, -1):
        p = (n - k) / (n - k + c)
        value[k] = p * (-lam + value[k + 1]) - (1 - p) * (c - 1) / c
    for k in range(n if budget is None else budget):
        sample = returns[states.lengths == k][legal[states.lengths == k]]
        error = sample.std() / np.sqrt(len(sample))
        assert len(sample) > 20
        assert abs(sample.mean() - (value[k + 1] - lam)) < 4.5 * error + 1e-6


def constant(rules, *scores):
    """A policy with the given scores in every state, as the weights and intercepts of a mixture."""
    return np.zeros((rules.n_features, 2, rules.n_actions), np.float32), np.array(scores, np.float32)


def test_each_policy_of_the_mixture_is_drawn_with_its_share():
    rules = Rules(1, 4, lam=0.0, error_costs=np.repeat([[1.0], [10.0], [100.0], [1000.0]], 4, axis=1))
    dataset = Dataset(np.zeros((4, 1)), np.arange(4))
    mixture = Mixture.uniform(rules)
    for answer in range(3):
        W, b = constant(rules, 0, *np.eye(4)[answer])
        mixture = mixture.mixed(padded(W, 0)[None], padded(b, NEVER)[None], 0.7)
    np.testing.assert_allclose(mixture.shares, [0.3 * 0.49, 0.3 * 0.7, 0.3])
    share = np.append(mixture.shares, 0.0) + 0.343 / 4
    for per_trajectory in (False, True):
        states = sample_states(dataset.X, rules, 40_000, seed=3)
        returns, legal = rollouts(states, dataset, dataset.X, mixture, rules, per_trajectory=per_trajectory)
        errors = -returns[legal]
        found = np.array([(errors == cost).sum() for cost in (1, 10, 100, 1000)])
        assert found.sum() == len(errors)
        assert (np.abs(found - share * len(errors)) < 4.5 * np.sqrt(share * (1 - share) * len(errors))).all()


@pytest.mark.parametrize("per_trajectory", [False, True])
def test_policies_are_drawn_per_decision_or_per_trajectory(per_trajectory):
    rules = Rules(3, 2, lam=1.0, error_costs=[[0.25, 0.25], [0.5, 0.5]])
    dataset = Dataset(np.zeros((2, 3)), [0, 1])
    goes_on, stops = constant(rules, 1, 1, 1, 0, -1), constant(rules, 0, 0, 0, 0, 1)
    pair = [np.stack(v) for v in zip(goes_on, stops)]
    mixture = Mixture(padded(pair[0], 0), padded(pair[1], NEVER), np.array([0.4, 0.6]))
    states = sample_states(dataset.X, rules, 30_000, seed=4)
    returns, legal = rollouts(states, dataset, dataset.X, mixture, rules, per_trajectory=per_trajectory)
    paid = -returns[states.lengths == 0][legal[states.lengths == 0]]
    if per_trajectory:  # one policy from the first acquisition on: all three and answer 0, or answer 1 at once
        expected = {1.5: 0.6, 3.25: 0.4}
    else:
        expected = {1.5: 0.6, 2.5: 0.4 * 0.6, 3.5: 0.16 * 0.6, 3.25: 0.16 * 0.4}
    assert set(np.unique(paid)) == set(expected)
    for cost, p in expected.items():
        assert abs((paid == cost).mean() - p) < 4.5 * np.sqrt(p * (1 - p) / len(paid))


def test_several_rollouts_are_averaged_and_streams_do_not_repeat():
    dataset, rules = problem("base", missing=False)
    states = sample_states(dataset.X, rules, 300, seed=5)
    one, legal = rollouts(states, dataset, dataset.X, Mixture.uniform(rules), rules)
    many, _ = rollouts(states, dataset, dataset.X, Mixture.uniform(rules), rules, n_rollouts=64)
    assert one[legal].std() / many[legal].std() == pytest.approx(8, rel=0.35)
    again, _ = rollouts(states, dataset, dataset.X, Mixture.uniform(rules), rules, seed=6)
    assert np.corrcoef(one[legal], again[legal])[0, 1] < 0.2


@with_missing
@pytest.mark.parametrize(("variant", "n_states"), [
    ("base", 400), ("base", 20_000), ("groups", 300), ("groups", 9000), ("budget", 400), ("costs", 200),
    ("groups, costs, budget", 500), ("forbid", 300), ("prerequisites, budget", 400), ("everything", 400),
])  # fmt: skip
def test_scores_are_those_of_one_plain_ridge_regression_an_action(variant, n_states, missing):
    dataset, rules = problem(variant, missing, n=60)
    values, twin = Scaling.fit(dataset.X).apply(dataset.X), Twin(dataset, rules)
    states = sample_states(dataset.X, rules, n_states, seed=8)
    orders = [states.order[s, : states.lengths[s]].tolist() for s in range(n_states)]
    legal = np.array([twin.legal(r, o)[: rules.n_acquisitions] for r, o in zip(states.rows, orders)])
    returns = np.where(legal, np.random.default_rng(0).normal(size=legal.shape), 0).astype(np.float32)
    weights, intercepts = fit_scores(states, values, dataset.y, returns, legal, rules, ridge=1e-3, run=serially)
    z = np.array([twin.known(r, o) for r, o in zip(states.rows, orders)])
    mu = np.where(z, np.nan_to_num(values[states.rows]), 0)
    Phi = np.column_stack([np.ones(n_states), z, mu]).astype(np.float64)
    answers = -rules.error_costs[:, dataset.y[states.rows]].T
    used = np.column_stack([legal, np.ones_like(answers, bool)])
    theta = ridge_scores(Phi, np.column_stack([returns, answers]), used, 1e-3)
    scores = intercepts + z @ weights[:, 0] + mu @ weights[:, 1]
    assert used.any(axis=0).all()
    np.testing.assert_allclose(scores[used], (Phi @ theta)[used], atol=2e-5)


def test_an_acquisition_that_was_legal_nowhere_is_never_chosen():
    rules = Rules(3, 2, prerequisites=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], budget=1)
    dataset = Dataset(np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2)
    states = sample_states(dataset.X, rules, 200, seed=0)
    returns, legal = rollouts(states, dataset, dataset.X, Mixture.uniform(rules), rules)
    weights, intercepts = fit_scores(states, dataset.X, dataset.y, returns, legal, rules, ridge=1e-3, run=serially)
    assert (intercepts == NEVER).tolist() == [False, True, True, False, False]
    assert not weights[:, :, 1:3].any()
    np.testing.assert_allclose(intercepts[0], returns[legal].mean(), atol=0.2)


def test_states_without_a_budget_are_fair_coins():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 8)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = np.nan
    for table in (X, np.nan_to_num(X)):
        states = sample_states(table, Rules(8, 2), 20_000, seed=6)
        can = ~np.isnan(table[states.rows])
        assert not (states.taken & ~can).any()
        coins = np.where(can, states.taken - 0.5, 0)
        assert (np.abs(coins.sum(axis=0)) < 4.5 * np.sqrt(0.25 * can.sum(axis=0))).all()
        together = coins.T @ coins / len(coins)
        np.fill_diagonal(together, 0)
        assert np.abs(together).max() < 4.5 * 0.25 / np.sqrt(len(coins))
        drawn = np.bincount(states.rows, minlength=50)
        assert (np.abs(drawn - 400) < 5 * np.sqrt(400)).all()
        np.testing.assert_array_equal(states.taken.sum(axis=1), states.lengths)
    first = states.order[states.lengths > 0, 0]
    assert (np.abs(np.bincount(first, minlength=8) - len(first) / 8) < 5 * np.sqrt(len(first) / 8)).all()


@pytest.mark.parametrize("options", [
    {"budget": 3}, {"budget_cost": 3.0}, {"budget": 3, "groups": [[0], [1, 2], [3], [4, 5]]},
])  # fmt: skip
def test_sizes_are_uniform_with_a_budget(options):
    rules = Rules(6, 2, **options)
    states = sample_states(np.zeros((10, 6), np.float32), rules, 12_000, seed=7)
    sizes = np.bincount(states.lengths)
    assert len(sizes) == 4
    assert (np.abs(sizes - 3000) < 4.5 * np.sqrt(3000 * 0.75)).all()
    share = 1.5 / rules.n_acquisitions
    assert (np.abs(states.taken.mean(axis=0) - share) < 5 * np.sqrt(share * (1 - share) / 12_000)).all()


@with_missing
@every_variant
def test_sampled_orders_are_legal_and_sets_are_what_they_say(variant, missing):
    dataset, rules = problem(variant, missing)
    twin = Twin(dataset, rules)
    states = sample_states(dataset.X, rules, 300, seed=9)
    for s in range(300):
        order = states.order[s, : states.lengths[s]].tolist()
        for k, j in enumerate(order):
            assert twin.may(j, states.rows[s], order[:k])
        assert set(order) == set(np.flatnonzero(states.taken[s]))
    assert states.lengths.max() >= 2


@with_missing
@every_variant
def test_inference_is_the_twins_and_so_is_play_through_the_environment(variant, missing):
    dataset, rules = problem(variant, missing, n=60)
    twin, scaling, lengths = Twin(dataset, rules), Scaling.fit(dataset.X), []
    agent = RCPI(DatumWiseEnv(dataset, rules))
    for seed in (3, 4, 5):
        W, b = random_scores(rules, seed)
        b[: rules.n_acquisitions] += 2 * (seed - 3)
        agent.policy = LinearPolicy(W, b, scaling, rules)
        done = agent.trajectories(dataset.X)
        played = evaluate(lambda seen, masks: agent.predict(seen, action_masks=masks)[0], dataset, rules)
        assert played.illegal == 0
        np.testing.assert_array_equal(played.trajectories.order, done.order)
        np.testing.assert_array_equal(played.answers, done.answers)
        np.testing.assert_array_equal(played.used, done.acquired)
        for row in range(60):
            _, order, answer = twin.finish(row, [], scaling.apply(dataset.X), W, b)
            assert done.order[row, : done.lengths[row]].tolist() == order
            assert done.answers[row] == answer
            np.testing.assert_array_equal(done.acquired[row], twin.known(row, order))
        lengths += done.lengths.tolist()
    assert max(lengths) >= 2


@every_variant
def test_legality_is_known_from_z_but_for_what_an_order_cost(variant):
    dataset, rules = problem(variant, missing=False)
    states = sample_states(dataset.X, rules, 200, seed=10)
    ordered = rules.budget_cost is not None and rules.related is not None
    loose = Rules.for_dataset(dataset, **{**VARIANTS[variant], "budget_cost": None}) if ordered else rules
    twin = Twin(dataset, loose)
    orders = [states.order[s, : states.lengths[s]].tolist() for s in range(200)]
    expected = np.array([twin.legal(r, o) for r, o in zip(states.rows, orders)])
    found = legal_from(np.array([twin.known(r, o) for r, o in zip(states.rows, orders)]), rules)
    np.testing.assert_array_equal(found & expected, found)
    if ordered:  # then the cheapest order is assumed
        assert found[:, : rules.n_acquisitions].any()
    else:
        np.testing.assert_array_equal(found, expected)


# The same bytes, however it runs


def coins(n=120, n_features=5, seed=0):
    """Labels that depend on the first two features; a third of the other values missing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, n_features)).astype(np.float32)
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    X[:, 2:][rng.random((n, n_features - 2)) < 1 / 3] = np.nan
    return X, y


def weights_of(n_jobs=None, seed=0, mixture="trajectory", **options):
    X, y = coins()
    model = DatumWiseClassifier(n_iterations=3, n_jobs=n_jobs, random_state=seed, mixture=mixture, **options).fit(X, y)
    return model.policy_.weights.tobytes() + model.policy_.intercepts.tobytes()


def fitted_bytes(model):
    return model.policy_.weights.tobytes() + model.policy_.intercepts.tobytes()


@pytest.mark.parametrize("mixture", ["decision", "trajectory"])
def test_the_number_of_threads_changes_no_bit_and_the_seed_does(mixture):
    alone = weights_of(mixture=mixture)
    assert weights_of(2, mixture=mixture) == alone
    assert weights_of(3, mixture=mixture) == alone
    assert weights_of(-1, mixture=mixture) == alone
    assert weights_of(mixture=mixture, seed=np.int64(0)) == alone
    assert weights_of(mixture=mixture, seed=1) != alone
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


def test_worker_processes_learn_the_same_and_threads_stay_threads_under_their_configuration():
    X, y = coins()
    model = DatumWiseClassifier(n_iterations=3, random_state=0, n_jobs=2)
    others = Parallel(2, backend="loky")(delayed(model.fit)(X, y) for _ in range(2))
    assert [fitted_bytes(m) for m in others] == [weights_of()] * 2
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert weights_of() == weights_of(2) == fitted_bytes(others[0])


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_two_threads_learn_at_once_and_share_one_limit_on_linear_algebra():
    X, y = coins()
    env = DatumWiseEnv(Dataset(X, y), Rules(5, 2))
    expected = RCPI(env, n_iterations=4, random_state=0, n_jobs=2).learn().policy.weights.tobytes()
    before = blas_threads()
    together, first_is_done, seen = threading.Barrier(2, timeout=60), threading.Event(), []
    agents = [RCPI(env, n_iterations=n, random_state=0, n_jobs=2) for n in (2, 4)]

    def short(row):
        if row["iteration"] == 1:
            together.wait()

    def long(row):
        if row["iteration"] == 1:
            together.wait()
            assert first_is_done.wait(60)
        seen.extend(blas_threads())

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
    assert set(seen) == {1}
    assert blas_threads() == before


# Tiny tasks with a known optimum


def learnt(X, y, **options):
    """An evaluation on other data of the same kind (the second half), and the agent."""
    knobs = {k: options.pop(k) for k in ("n_iterations", "select", "mixture", "alpha") if k in options}
    half = len(X) // 2
    train, test = Dataset(X[:half], y[:half]), Dataset(X[half:], y[half:])
    rules = Rules.for_dataset(train, **options)
    agent = RCPI(DatumWiseEnv(train, rules), random_state=0, **knobs).learn()
    for part in (train, test):
        result = evaluate(agent, part, rules)
        assert result.admissible == 1
        assert result.illegal == 0
    return result, agent


def one_decides(n=400, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, n_features))
    return X, (X[:, 2] > 0).astype(int)


@pytest.mark.parametrize("mixture", ["decision", "trajectory"])
def test_asks_for_the_one_feature_that_decides_and_answers(mixture):
    X, y = one_decides()
    result, _ = learnt(X, y, lam=0.05, mixture=mixture)
    assert result.accuracy > 0.95
    assert result.usage[2] == 1
    assert (result.trajectories.order[:, 0] == 2).mean() > 0.9
    assert result.n_features < 2


def test_a_price_above_the_gain_buys_nothing():
    X, y = one_decides()
    y[:300:3] = 0  # two thirds of one class
    result, agent = learnt(X, y, lam=0.6)
    assert result.n_acquisitions == 0
    assert result.losses.tolist() == (result.answers != result.dataset.y).tolist()
    assert min(row["loss"] for row in agent.history) >= agent.history[0]["best_loss"] - 1e-12


def test_for_nothing_it_classifies_well():
    X, y = one_decides()
    result, _ = learnt(X, y, lam=0.0)
    assert result.accuracy > 0.95


@pytest.mark.parametrize("select", ["best", "last"])
def test_with_a_budget_of_none_it_answers_the_largest_class(select):
    X, y = one_decides()
    y[::4] = 1
    result, _ = learnt(X, y, lam=0.0, budget=0, select=select)
    assert result.n_acquisitions == 0
    assert set(result.answers) == {1}


def test_a_context_feature_tells_which_other_to_ask():
    rng = np.random.default_rng(0)
    context = rng.integers(0, 2, 800)
    X = np.column_stack([context, rng.uniform(-1, 1, (800, 4))])
    y = (np.where(context == 1, X[:, 1], X[:, 2]) > 0).astype(int)
    result, _ = learnt(X, y, lam=0.1, costs=[0.1, 1, 1, 1, 1])
    asked, known = result.used, result.dataset.X[:, 0] == 1
    assert (result.trajectories.order[:, 0] == 0).all()
    assert asked[known, 1].mean() > 0.9
    assert asked[~known, 2].mean() > 0.9
    assert max(asked[~known, 1].mean(), asked[known, 2].mean()) < 0.4
    assert result.accuracy > 0.9  # no one feature beside the context allows more than 0.75
    assert result.loss < 0.01 + 0.1 + 0.25


def test_the_cheaper_copy_is_bought():
    X, y = one_decides()
    X[:, 4] = X[:, 2]
    for cheap, dear in ((2, 4), (4, 2)):
        costs = np.ones(5)
        costs[dear] = 5
        result, _ = learnt(X, y, lam=0.03, costs=costs, mixture="decision")
        assert result.accuracy > 0.95
        assert (result.trajectories.order[:, 0] == cheap).mean() > 0.9
        assert result.usage[dear] < 0.3


@pytest.mark.parametrize("options", [
    {"budget": 1}, {"budget": 2}, {"costs": [1, 2, 3, 4, 5], "budget_cost": 3.0},
    {"related": np.eye(5, k=1) + np.eye(5, k=-1), "unrelated_costs": "forbid"},
    {"related": np.ones((5, 5)) - np.eye(5), "unrelated_costs": 2, "empty_is_related": False, "budget_cost": 3.0},
    {"prerequisites": [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 1, 0, 0]]},
    {"groups": [[0, 4], [1, 2], [3]]},
])  # fmt: skip
def test_what_the_rules_allow_is_enough_to_find_the_feature_that_decides(options):
    X, y = one_decides(600)
    result, agent = learnt(X, y, lam=0.02, mixture="decision", **options)
    assert result.accuracy > 0.93
    assert result.n_acquisitions < 3
    order = result.trajectories.order
    if "prerequisites" in options:
        assert (order[:, :2] == [0, 2]).all()
    if "groups" in options:
        np.testing.assert_array_equal(result.used[:, 1], result.used[:, 2])
    if options.get("unrelated_costs") == "forbid":
        for row in order:
            asked = row[row >= 0].tolist()
            assert all(min(abs(j - i) for i in asked[:k]) == 1 for k, j in enumerate(asked) if k)
    assert len(agent.history) == 10


def test_error_costs_shift_the_answers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 800)
    X = np.column_stack([y + rng.normal(size=800), rng.normal(size=800)])
    share = [learnt(X, y, lam=0.001, error_costs=c)[0].answers.mean() for c in ([[0, 5], [1, 0]], [[0, 1], [5, 0]])]
    assert share[0] > 0.65
    assert share[1] < 0.35


def test_missing_values_do_not_stop_it():
    X, y = one_decides(800)
    X[:, 4] = X[:, 2]
    gone = np.random.default_rng(1).random(800) < 0.5
    X[gone, 2], X[~gone, 4] = np.nan, np.nan
    result, _ = learnt(X, y, lam=0.03)
    assert result.accuracy > 0.9
    assert result.n_features < 2


TINY = {"Relational": {"n_iterations": 3, "states_per_sample": 2}}


@pytest.mark.parametrize("name", ["", "Budget", "Cost", "Group", "Relational"])
def test_every_registered_task_is_learnt_better_than_answering_at_once(name):
    train, test = (gym.make(f"DatumWise{name}-v0", split=part, disable_env_checker=True) for part in ("train", "test"))
    agent = RCPI(train, mixture="trajectory", random_state=1, **TINY.get(name, {})).learn()
    rules, inner = train.unwrapped.rules, test.unwrapped.dataset
    shares = np.bincount(train.unwrapped.dataset.y) / train.unwrapped.dataset.n_samples
    at_once = rules.error_costs[(rules.error_costs @ shares).argmin()][inner.y].mean()
    result = evaluate(agent, test)
    assert result.admissible == 1
    assert result.loss < {"Cost": 0.97}.get(name, 0.7) * at_once
    if rules.budget is not None:
        assert result.trajectories.lengths.max() <= rules.budget


# The agent's face


def small_agent(**options):
    X, y = one_decides(120)
    rules = Rules.for_dataset(Dataset(X, y), lam=0.05, **options.pop("rules", {}))
    return RCPI(DatumWiseEnv(Dataset(X, y), rules), **{"n_iterations": 3, "random_state": 0, **options})


def test_predict_speaks_as_stable_baselines_does():
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


@pytest.mark.parametrize("rules", [
    {"budget": 2}, {"costs": [1, 2, 3, 4, 5], "budget_cost": 4.0}, {"groups": [0, 1, 0, 1, 2], "budget": 1},
    {"related": np.eye(5, k=1) + np.eye(5, k=-1), "unrelated_costs": "forbid"},
])  # fmt: skip
def test_without_masks_nothing_illegal_is_tried(rules):
    agent = small_agent(rules={**rules}, n_iterations=1)
    J = agent.rules.n_acquisitions
    scores = np.append(np.arange(J) + 1, [0, 0]).astype(np.float32)
    weights = np.zeros((5, 2, J + 2), np.float32)
    agent.policy = LinearPolicy(weights, scores, Scaling.fit(agent.dataset.X), agent.rules)  # wants everything
    blind = evaluate(lambda seen, masks: agent.predict(seen)[0], agent.dataset, agent.rules)
    seeing = evaluate(agent, agent.dataset, agent.rules)
    assert blind.illegal == 0
    np.testing.assert_array_equal(blind.trajectories.order, seeing.trajectories.order)
    assert seeing.n_acquisitions >= 1


def test_callback_gets_plain_numbers_and_may_stop():
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
    assert agent.learn(lambda row: row["iteration"] < 2).policy.weights.tobytes() == first  # from the beginning


def test_ctrl_c_leaves_the_best_so_far():
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


def test_best_is_the_iterate_of_the_lowest_loss_and_last_is_the_last():
    kept = {}
    for select in ("best", "last"):
        agent = small_agent(n_iterations=5, select=select).learn()
        kept[select] = evaluate(agent, agent.dataset, agent.rules).loss
        assert agent.history[-1]["best_loss"] <= min(row["loss"] for row in agent.history)
    assert kept["best"] == pytest.approx(agent.history[-1]["best_loss"])
    assert kept["last"] == pytest.approx(agent.history[-1]["loss"])


def test_patience_ends_learning_on_held_out_data():
    assert len(small_agent(n_iterations=40, patience=2, tol=0.01).learn().history) < 20
    assert len(small_agent(n_iterations=4, patience=40).learn().history) == 4


def test_the_progress_bar_leaves_the_output_alone(capsys):
    small_agent(n_iterations=2).learn(progress_bar=True)
    assert capsys.readouterr().out == ""


def test_wrong_use_gets_a_sentence():
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
    with pytest.raises(ValueError, match="groups and classes"):
        agent.trajectories(np.zeros((3, 5)), Rules(5, 3))
    assert agent.trajectories(np.zeros((0, 5))).answers.shape == (0,)


@pytest.mark.parametrize(("option", "value"), [
    ("n_iterations", 0), ("n_iterations", 2.0), ("n_iterations", True), ("states_per_sample", 0),
    ("states_per_sample", np.nan), ("alpha", 1.0), ("alpha", -0.1), ("ridge", 0.0), ("ridge", np.inf),
    ("mixture", "state"), ("n_rollouts", 0), ("select", "first"), ("patience", 0), ("tol", -1.0), ("n_jobs", 0),
    ("n_jobs", "all"), ("random_state", -1), ("random_state", "dice"),
])  # fmt: skip
def test_parameters_out_of_range_are_refused_in_a_sentence(option, value):
    with pytest.raises(ValueError, match=f"{option} must") as caught:
        small_agent(**{option: value})
    assert "\n" not in str(caught.value)


def test_prices_beyond_single_precision_are_refused():
    for rules in ({"costs": 1e12}, {"costs": 1e300}, {"error_costs": [[0, 1e20], [1, 0]]}):
        with pytest.raises(ValueError, match="must not add up to more than"):
            small_agent(rules=rules)


def test_values_far_outside_the_training_range_still_get_an_answer():
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
    assert result.usage[4] == 0
