"""The steps of RCPI against a plain-Python twin: sampling, rollouts, regression and inference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

import agents.rcpi.rcpi
import agents.rcpi.rollouts
from agents import RCPI, LinearPolicy
from agents.parallel import run_serially, task_runner
from agents.policy import legal_from
from agents.rcpi.kernels import EXCLUDED_SCORE, ActionScores, Linear
from agents.rcpi.on_policy import sample_prefixes
from agents.rcpi.regression import ROLLOUT_EVERY, STEP_PENALTY, Design, fit_scores, stepped_scores
from agents.rcpi.rollouts import Mixture, rollout_returns
from agents.rcpi.sampling import States, sample_states
from fsgym import Dataset, DatumWiseEnv, Rules, Scaling, evaluate
from fsgym.data.weights import cumulative_shares
from support.rcpi_twin import VARIANTS, RCPITwin, options_of, problem, ridge_scores

every_variant = pytest.mark.parametrize("variant", VARIANTS)
with_missing = pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])


def random_scores(rules, seed):
    """Random weights and intercepts of a policy that acquires in some states."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(rules.n_features, 2, rules.n_actions)).astype(np.float32)
    return W, rng.normal(size=rules.n_actions).astype(np.float32)


def rollouts(states, dataset, values, mixture, rules, per_trajectory=False, n_rollouts=1, seed=5):
    return rollout_returns(
        states,
        dataset,
        values,
        mixture._replace(per_trajectory=per_trajectory),
        rules,
        n_rollouts=n_rollouts,
        seed=seed,
        run=run_serially,
    )


@pytest.mark.one_in(3)
@with_missing
@every_variant
def test_returns_and_legal_sets_of_a_greedy_policy_agree_with_the_twin(variant, missing):
    dataset, rules = problem(variant, missing)
    values, lengths = Scaling.fit(dataset.X).apply(dataset.X), set()
    states = sample_states(dataset.X, rules, 300, seed=1)
    for seed, logistic in enumerate([False, True]):
        twin = RCPITwin(dataset, options_of(variant), logistic)
        W, b = random_scores(rules, seed)
        greedy = Mixture.uniform(rules).mixed(ActionScores(W, b, logistic), 0.0)
        returns, legal = rollouts(states, dataset, values, greedy, rules, per_trajectory=bool(seed))
        for s in range(300):
            order = states.order[s, : states.lengths[s]].tolist()
            expected = twin.returns(states.rows[s], order, values, W, b)
            np.testing.assert_array_equal(legal[s], ~np.isnan(expected))
            np.testing.assert_allclose(returns[s][legal[s]], expected[legal[s]], atol=1e-5)
            lengths.add(states.lengths[s])
    assert len(lengths) > 2


@with_missing
@every_variant
def test_returns_do_not_depend_on_whether_the_terms_of_a_row_fit_into_memory(monkeypatch, variant, missing):
    dataset, rules = problem(variant, missing)
    values, mixture = Scaling.fit(dataset.X).apply(dataset.X), Mixture.uniform(rules)
    for seed in range(3):
        mixture = mixture.mixed(ActionScores(*random_scores(rules, seed)), 0.7)
    states = sample_states(dataset.X, rules, 300, seed=1)
    stored, legal = rollouts(states, dataset, values, mixture, rules)
    monkeypatch.setattr(agents.rcpi.rollouts, "TERM_BYTES", 0)
    computed, same = rollouts(states, dataset, values, mixture, rules)
    np.testing.assert_array_equal(legal, same)
    np.testing.assert_allclose(stored, computed, atol=1e-5)
    assert legal.any()


@pytest.mark.parametrize("budget", [None, 3])
@pytest.mark.parametrize("per_trajectory", [False, True])
def test_returns_of_the_uniform_policy_have_their_closed_form(budget, per_trajectory):
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


def test_each_policy_of_the_mixture_is_sampled_with_its_share():
    rules = Rules(1, 4, lam=0.0, error_costs=np.repeat([[1.0], [10.0], [100.0], [1000.0]], 4, axis=1))
    dataset = Dataset(np.zeros((4, 1)), np.arange(4))
    mixture = Mixture.uniform(rules)
    for answer in range(3):
        W, b = constant(rules, 0, *np.eye(4)[answer])
        mixture = mixture.mixed(ActionScores(W, b), 0.7)
    np.testing.assert_allclose(mixture.shares, [0.3 * 0.49, 0.3 * 0.7, 0.3])
    share = np.append(mixture.shares, 0.0) + 0.343 / 4
    for per_trajectory in (False, True):
        states = sample_states(dataset.X, rules, 40_000, seed=3)
        returns, legal = rollouts(states, dataset, dataset.X, mixture, rules, per_trajectory=per_trajectory)
        errors = -returns[legal]
        counts = np.array([(errors == cost).sum() for cost in (1, 10, 100, 1000)])
        assert counts.sum() == len(errors)
        assert (np.abs(counts - share * len(errors)) < 4.5 * np.sqrt(share * (1 - share) * len(errors))).all()


@pytest.mark.parametrize("per_trajectory", [False, True])
def test_policies_are_sampled_per_decision_or_per_trajectory(per_trajectory):
    rules = Rules(3, 2, lam=1.0, error_costs=[[0.25, 0.25], [0.5, 0.5]])
    dataset = Dataset(np.zeros((2, 3)), [0, 1])
    goes_on, stops = (ActionScores(*constant(rules, *s)) for s in ((1, 1, 1, 0, -1), (0, 0, 0, 0, 1)))
    mixture = Mixture(Linear.blank(rules).appended(goes_on).appended(stops), np.array([0.4, 0.6]))
    states = sample_states(dataset.X, rules, 30_000, seed=4)
    returns, legal = rollouts(states, dataset, dataset.X, mixture, rules, per_trajectory=per_trajectory)
    paid = -returns[states.lengths == 0][legal[states.lengths == 0]]
    if per_trajectory:  # one policy from the first acquisition on: all three and answer 0, or answer 1 directly
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


@pytest.mark.one_in(2)
@with_missing
@pytest.mark.parametrize(
    ("variant", "n_states"),
    [
        ("base", 400),
        ("base", 20_000),
        ("groups", 300),
        ("groups", 9000),
        ("budget", 400),
        ("costs", 200),
        ("groups, costs, budget", 500),
        ("forbid", 300),
        ("prerequisites, budget", 400),
        ("everything", 400),
    ],
)
def test_scores_agree_with_one_plain_ridge_regression_per_action(variant, n_states, missing):
    dataset, rules = problem(variant, missing, n=60)
    values, twin = Scaling.fit(dataset.X).apply(dataset.X), RCPITwin(dataset, options_of(variant))
    states = sample_states(dataset.X, rules, n_states, seed=8)
    orders = [states.order[s, : states.lengths[s]].tolist() for s in range(n_states)]
    legal = np.array([twin.mask(o, dataset.X[r])[: rules.n_acquisitions] for r, o in zip(states.rows, orders)])
    returns = np.where(legal, np.random.default_rng(0).normal(size=legal.shape), 0).astype(np.float32)
    weights, intercepts = fit_scores(
        Design(states, values, rules), dataset.y, returns, legal, ridge=1e-3, run=run_serially
    )
    z = np.array([twin.known(o, dataset.X[r]) for r, o in zip(states.rows, orders)])
    mu = np.where(z, np.nan_to_num(values[states.rows]), 0)
    Phi = np.column_stack([np.ones(n_states), z, mu]).astype(np.float64)
    answers = -rules.error_costs[:, dataset.y[states.rows]].T
    used = np.column_stack([legal, np.ones_like(answers, bool)])
    theta = ridge_scores(Phi, np.column_stack([returns, answers]), used, 1e-3)
    scores = intercepts + z @ weights[:, 0] + mu @ weights[:, 1]
    assert used.any(axis=0).all()
    np.testing.assert_allclose(scores[used], (Phi @ theta)[used], atol=2e-5)


def random_returns(variant, missing, n_states):
    """States, random returns in every k-th of them, k = ROLLOUT_EVERY, and which acquisitions are legal there."""
    dataset, rules = problem(variant, missing, n=60)
    values, twin = Scaling.fit(dataset.X).apply(dataset.X), RCPITwin(dataset, options_of(variant))
    states = sample_states(dataset.X, rules, n_states, seed=8)
    tried = states.every(ROLLOUT_EVERY)
    orders = [tried.order[s, : tried.lengths[s]].tolist() for s in range(len(tried.rows))]
    legal = np.array([twin.mask(o, dataset.X[r])[: rules.n_acquisitions] for r, o in zip(tried.rows, orders)])
    returns = np.where(legal, np.random.default_rng(0).normal(size=legal.shape), 0).astype(np.float32)
    z = np.array([twin.known(o, dataset.X[r]) for r, o in zip(tried.rows, orders)])
    mu = np.where(z, np.nan_to_num(values[tried.rows]), 0)
    Phi = np.column_stack([np.ones(len(z)), z, mu]).astype(np.float64)
    return dataset, rules, Design(states, values, rules), returns, legal, Phi


def all_coefficients(weights, intercepts):
    """Those of [1, z, mu] with z by feature, float64 (1 + 2 n_features, n_actions)."""
    return np.concatenate([intercepts[None], weights[:, 0], weights[:, 1]]).astype(np.float64)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("n_states", [497, 60_000])
@pytest.mark.parametrize("logistic", [False, True])
@with_missing
@pytest.mark.parametrize("variant", ["base", "groups", "costs", "prerequisites, budget", "everything"])
def test_a_step_of_the_scores_agrees_with_plain_least_squares(variant, missing, logistic, n_states):
    dataset, rules, design, returns, legal, Phi = random_returns(variant, missing, n_states)
    J, rng = rules.n_acquisitions, np.random.default_rng(1)
    theta = rng.normal(size=(design.n_columns, rules.n_actions))
    before, answers = theta[:, :J].copy(), theta[:, J:]
    before[:, 0] = 0
    before[0, 0] = EXCLUDED_SCORE  # it has no scores yet
    weights, intercepts = stepped_scores(design, dataset.y, returns, legal, answers, logistic, before)
    start = all_coefficients(*design.unpack(theta))
    start[:, 0] = 0
    start[0, 0] = returns[legal[:, 0], 0].mean()
    worth = Phi @ start[:, J:]
    if logistic:
        worth = -softmax(worth, axis=1) @ rules.error_costs.T
    rows, labels = np.arange(len(Phi)), dataset.y[design.states.rows[::ROLLOUT_EVERY]]
    brought, expected = -rules.error_costs[worth.argmax(axis=1), labels], worth[rows, worth.argmax(axis=1)]
    left = np.where(legal, returns - (brought - expected)[:, None] - Phi @ start[:, :J], 0)
    penalty = np.eye(Phi.shape[1])
    penalty[0, 0] = 0
    step = np.linalg.solve(Phi.T @ Phi + STEP_PENALTY * len(Phi) * penalty, Phi.T @ left)
    scores = Phi @ all_coefficients(weights, intercepts)
    np.testing.assert_allclose(scores[:, :J][legal], (Phi @ (start[:, :J] + step))[legal], atol=1e-4)
    np.testing.assert_allclose(scores[:, J:], Phi @ start[:, J:], atol=1e-4)


def test_repeated_steps_end_at_the_regression_of_each_acquisition_over_the_states_where_it_is_legal():
    dataset, rules, design, returns, legal, Phi = random_returns("base", missing=False, n_states=3000)
    answers = np.zeros((design.n_columns, rules.n_classes))  # equally likely labels, so that the first answer is best
    luck = (2 / 3 - (dataset.y[design.states.rows[::ROLLOUT_EVERY]] != 0))[:, None]
    before = None
    for _ in range(300):
        weights, intercepts = stepped_scores(design, dataset.y, returns, legal, answers, True, before)
        before = design.packed(weights, intercepts)[:, : rules.n_acquisitions]
    regression = ridge_scores(Phi, returns - luck, legal, 1e-9)
    scores = Phi @ all_coefficients(weights, intercepts)[:, : rules.n_acquisitions]
    np.testing.assert_allclose(scores[legal], (Phi @ regression)[legal], atol=1e-3)


@with_missing
@pytest.mark.parametrize("variant", ["base", "groups"])
def test_packed_scores_are_the_coefficients_that_were_unpacked(variant, missing):
    _, rules, design, *_ = random_returns(variant, missing, 200)
    theta = np.random.default_rng(0).normal(size=(design.n_columns, rules.n_actions))
    np.testing.assert_allclose(design.packed(*design.unpack(theta)), theta, atol=1e-6)


@pytest.mark.parametrize(("acquisitions", "k"), [("incremental", ROLLOUT_EVERY), ("linear", 1), ("trees", 1)])
def test_rollouts_are_made_in_every_kth_state(monkeypatch, acquisitions, k):
    dataset, rules = problem("base", missing=False)
    numbers = []

    def spy(states, *arguments, **options):
        numbers.append(len(states.rows))
        return rollout_returns(states, *arguments, **options)

    monkeypatch.setattr(agents.rcpi.rcpi, "rollout_returns", spy)
    RCPI(DatumWiseEnv(dataset, rules), acquisitions=acquisitions, n_iterations=2, random_state=0).learn()
    assert numbers == [-(-10 * dataset.n_samples // k)] * 2


def test_an_acquisition_that_was_legal_nowhere_is_never_chosen():
    rules = Rules(3, 2, prerequisites=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], budget=1)
    dataset = Dataset(np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2)
    states = sample_states(dataset.X, rules, 200, seed=0)
    returns, legal = rollouts(states, dataset, dataset.X, Mixture.uniform(rules), rules)
    weights, intercepts = fit_scores(
        Design(states, dataset.X, rules), dataset.y, returns, legal, ridge=1e-3, run=run_serially
    )
    assert (intercepts == EXCLUDED_SCORE).tolist() == [False, True, True, False, False]
    assert not weights[:, :, 1:3].any()
    np.testing.assert_allclose(intercepts[0], returns[legal].mean(), atol=0.2)
    design, tried = Design(states, dataset.X, rules), slice(None, None, ROLLOUT_EVERY)
    answers, before = np.zeros((design.n_columns, 2)), np.ones((design.n_columns, 3))
    for start in (None, before):
        weights, intercepts = stepped_scores(design, dataset.y, returns[tried], legal[tried], answers, True, start)
        assert (intercepts == EXCLUDED_SCORE).tolist() == [False, True, True, False, False]
        assert not weights[:, :, 1:3].any()
    assert (before == 1).all()


def test_without_a_budget_each_acquisition_is_sampled_with_probability_one_half():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 8)).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = np.nan
    for table in (X, np.nan_to_num(X)):
        states = sample_states(table, Rules(8, 2), 20_000, seed=6)
        available = ~np.isnan(table[states.rows])
        assert not (states.taken & ~available).any()
        deviation = np.where(available, states.taken - 0.5, 0)
        assert (np.abs(deviation.sum(axis=0)) < 4.5 * np.sqrt(0.25 * available.sum(axis=0))).all()
        covariance = deviation.T @ deviation / len(deviation)
        np.fill_diagonal(covariance, 0)
        assert np.abs(covariance).max() < 4.5 * 0.25 / np.sqrt(len(deviation))
        row_counts = np.bincount(states.rows, minlength=50)
        assert (np.abs(row_counts - 400) < 5 * np.sqrt(400)).all()
        np.testing.assert_array_equal(states.taken.sum(axis=1), states.lengths)
    first = states.order[states.lengths > 0, 0]
    assert (np.abs(np.bincount(first, minlength=8) - len(first) / 8) < 5 * np.sqrt(len(first) / 8)).all()


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 3},
        {"budget_cost": 3.0},
        {"budget": 3, "groups": [[0], [1, 2], [3], [4, 5]]},
    ],
)
def test_with_a_budget_the_number_of_acquisitions_is_uniform(options):
    rules = Rules(6, 2, **options)
    states = sample_states(np.zeros((10, 6), np.float32), rules, 12_000, seed=7)
    sizes = np.bincount(states.lengths)
    assert len(sizes) == 4
    assert (np.abs(sizes - 3000) < 4.5 * np.sqrt(3000 * 0.75)).all()
    share = 1.5 / rules.n_acquisitions
    assert (np.abs(states.taken.mean(axis=0) - share) < 5 * np.sqrt(share * (1 - share) / 12_000)).all()


@with_missing
@every_variant
def test_sampled_orders_are_legal_and_agree_with_the_sets(variant, missing):
    dataset, rules = problem(variant, missing)
    twin = RCPITwin(dataset, options_of(variant))
    states = sample_states(dataset.X, rules, 300, seed=9)
    for s in range(300):
        order = states.order[s, : states.lengths[s]].tolist()
        for k, j in enumerate(order):
            assert twin.is_legal(j, order[:k], dataset.X[states.rows[s]])
        assert set(order) == set(np.flatnonzero(states.taken[s]))
    assert states.lengths.max() >= 2


@pytest.mark.one_in(4)
@pytest.mark.parametrize("logistic", [False, True])
@with_missing
@every_variant
def test_inference_and_the_environment_agree_with_the_twin(variant, missing, logistic):
    dataset, rules = problem(variant, missing, n=60)
    twin, scaling, lengths = RCPITwin(dataset, options_of(variant), logistic), Scaling.fit(dataset.X), []
    agent = RCPI(DatumWiseEnv(dataset, rules))
    for seed in (3, 4, 5):
        W, b = random_scores(rules, seed)
        b[: rules.n_acquisitions] += 2 * (seed - 3)
        agent.policy = LinearPolicy(W, b, scaling, rules, logistic)
        done = agent.trajectories(dataset.X)
        played = evaluate(lambda obs, masks: agent.predict(obs, action_masks=masks)[0], dataset, rules)
        assert played.illegal == 0
        np.testing.assert_array_equal(played.trajectories.order, done.order)
        np.testing.assert_array_equal(played.answers, done.answers)
        np.testing.assert_array_equal(played.used, done.acquired)
        for row in range(60):
            _, order, answer = twin.finish(row, [], scaling.apply(dataset.X), W, b)
            assert done.order[row, : done.lengths[row]].tolist() == order
            assert done.answers[row] == answer
            np.testing.assert_array_equal(done.acquired[row], twin.known(order, dataset.X[row]))
        lengths += done.lengths.tolist()
    assert max(lengths) >= 2


@every_variant
def test_legal_actions_follow_from_the_mask_except_for_order_dependent_prices(variant):
    dataset, rules = problem(variant, missing=False)
    states = sample_states(dataset.X, rules, 200, seed=10)
    ordered = rules.budget_cost is not None and rules.related is not None
    options = options_of(variant) | ({"budget_cost": None} if ordered else {})
    twin = RCPITwin(dataset, options)
    orders = [states.order[s, : states.lengths[s]].tolist() for s in range(200)]
    expected = np.array([twin.mask(o, dataset.X[r]) for r, o in zip(states.rows, orders)])
    legal = legal_from(np.array([twin.known(o, dataset.X[r]) for r, o in zip(states.rows, orders)]), rules)
    np.testing.assert_array_equal(legal & expected, legal)
    if ordered:  # the cheapest order is assumed
        assert legal[:, : rules.n_acquisitions].any()
    else:
        np.testing.assert_array_equal(legal, expected)


def exact_prefixes(dataset, options, mixture):
    """Probability of each set of acquisitions of each row: the mixture's episodes to the end, uniform over prefixes."""
    twin, J = RCPITwin(dataset, options), 3
    n_actions = twin.n_acquisitions + dataset.n_classes
    policies = [(W[..., :n_actions], b[:n_actions]) for W, b in zip(mixture.linear.weights, mixture.linear.intercepts)]
    result = np.zeros((dataset.n_samples, 2**J))

    def choices(row, order, only=None):
        """(probability, action) of the mixture, or of one of its policies, -1 for the uniform one."""
        legal = np.array(twin.mask(order, dataset.X[row]))
        every = [*enumerate(mixture.shares), (-1, 1 - mixture.shares.sum())] if only is None else [(only, 1.0)]
        for k, share in every:
            if k < 0:
                yield from ((share / legal.sum(), a) for a in np.flatnonzero(legal))
            else:
                scores = twin.scores(row, order, dataset.X, *policies[k])
                yield share, int(np.where(legal, scores, -np.inf).argmax())

    def walk(row, order, probability, only):
        for share, action in choices(row, order, only):
            if action < J:
                walk(row, [*order, action], probability * share, only)
            else:
                for k in range(len(order) + 1):
                    members = sum(1 << j for j in order[:k])
                    result[row, members] += probability * share / (len(order) + 1)

    for row in range(dataset.n_samples):
        if mixture.per_trajectory:
            for k, share in [*enumerate(mixture.shares), (-1, 1 - mixture.shares.sum())]:
                walk(row, [], share, k)
        else:
            walk(row, [], 1.0, None)
    return result / dataset.n_samples


@pytest.mark.parametrize("per_trajectory", [False, True])
@pytest.mark.parametrize("options", [{}, {"budget": 2}, {"prerequisites": [[0, 0, 0], [1, 0, 0], [0, 0, 0]]}])
def test_states_along_trajectories_have_their_exact_distribution(options, per_trajectory):
    rng = np.random.default_rng(3)
    dataset = Dataset(rng.uniform(-1, 1, (4, 3)), [0, 1, 0, 1])
    options = {"lam": 0.05, **options}
    rules, mixture = Rules.for_dataset(dataset, **options), None
    mixture = Mixture.uniform(rules, per_trajectory)
    for seed in (1, 4):
        W, b = random_scores(rules, seed)
        b[:3] += 1.0
        mixture = mixture.mixed(ActionScores(W, b), 0.5)
    n = 60_000
    states = States.blank(n, rules)
    sample_prefixes(states, dataset, dataset.X, mixture, rules, seed=9, run=run_serially)
    counts = np.zeros((4, 8))
    np.add.at(counts, (states.rows, states.taken @ (1 << np.arange(3))), 1)
    expected = exact_prefixes(dataset, options, mixture)
    assert abs(expected.sum() - 1) < 1e-12
    assert (expected > 0).sum() > 12
    assert (np.abs(counts - n * expected) < 4.5 * np.sqrt(n * expected) + 1e-9).all()
    for s in range(50):
        order = states.order[s, : states.lengths[s]]
        np.testing.assert_array_equal(np.sort(order), np.flatnonzero(states.taken[s]))


@pytest.mark.usefixtures("two_threads")
def test_states_along_trajectories_do_not_depend_on_threads_and_respect_weights():
    dataset, rules = problem("everything", True)
    mixture = Mixture.uniform(rules)
    shares = cumulative_shares(np.arange(40) % 2.0)
    drawn = []
    for n_jobs in (1, 2):
        states = States.blank(2000, rules)
        with task_runner(n_jobs) as run:
            sample_prefixes(states, dataset, dataset.X, mixture, rules, seed=1, run=run, shares=shares)
        drawn.append(states)
    for one, two in zip(*drawn):
        np.testing.assert_array_equal(one, two)
    assert (drawn[0].rows % 2 == 1).all()
    assert (drawn[0].lengths <= 2).all()


def test_without_an_intercept_nothing_is_known_where_nothing_is_acquired():
    dataset, rules = problem("base", False)
    states = sample_states(dataset.X, rules, 200, seed=10)
    returns, legal = rollouts(states, dataset, dataset.X, Mixture.uniform(rules), rules)
    design = Design(states, dataset.X, rules, intercept=False)
    weights, intercepts = fit_scores(design, dataset.y, returns, legal, ridge=1e-6, run=run_serially)
    np.testing.assert_array_equal(intercepts, 0)
    z = states.taken
    Phi = np.hstack([z, np.where(z, dataset.X[states.rows], 0)]).astype(float)
    targets = -rules.error_costs[:, dataset.y[states.rows]].T
    least_squares = np.linalg.lstsq(Phi, targets, rcond=None)[0]
    n = rules.n_features
    np.testing.assert_allclose(weights[:, 0, n:], least_squares[:n], atol=2e-3)
    np.testing.assert_allclose(weights[:, 1, n:], least_squares[n:], atol=2e-3)
