"""Policies in states that they have not reached: values known in advance, acquisitions that cannot be made."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from agents import DatumWiseClassifier, LinearPolicy, load_classifier
from agents.policy import known_acquisitions
from agents.rcpi.rows import blanked
from agents.replay import replay
from fsgym import Dataset, Rules, Scaling
from support.deep_training import short_classifier
from support.majority import MajorityClassifier
from support.model_files import agent_of, assert_same_trajectories
from support.rcpi_twin import VARIANTS, problem
from support.refusals import refused

N_ROWS, GROUPS = 150, [[0, 3], [1], [5, 2], [4]]
RULES = {
    "base": {"lam": 0.01},
    "budget": {"lam": 0.01, "budget": 2},
    "prices": {"lam": 0.01, "costs": [1.0, 2.0, 0.5, 1.5, 1.0, 0.0], "budget_cost": 3.0},
    "groups": {"lam": 0.01, "groups": GROUPS, "costs": [1.0, 3.0, 2.0, 1.0]},
}
AGENTS = {
    "linear": lambda **options: DatumWiseClassifier(n_iterations=3, random_state=0, **options),
    "maskable_ppo": lambda **options: short_classifier("maskable_ppo", **options),
    "dqn": lambda **options: short_classifier("dqn", **options),
}
every_agent = pytest.mark.parametrize("agent", AGENTS)
without_budget = pytest.mark.parametrize("variant", ["base", "groups"])
every_rules = pytest.mark.parametrize("variant", RULES)


@cache
def table():
    """Six columns and three classes that depend on most of them; the last column is nearly a copy of the first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 6))
    X[:, 5] = X[:, 0] + 0.05 * rng.normal(size=N_ROWS)
    score = 2 * X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3]
    return X.astype(np.float32), np.digitize(score, [-1.0, 1.0])


@cache
def fitted(agent, variant):
    return AGENTS[agent](**RULES[variant]).fit(*table())


def walk(policy, X, known, unknown, **options):
    """Follow ``actions`` where some acquisitions (n, J) are known in advance and others cannot be obtained.

    Rules without relations and prerequisites. Returns the paid acquisitions in order (-1 after the last), the answers
    and the prices paid; checks that all actions are legal.
    """
    rules = policy.rules
    J, rows = rules.n_acquisitions, np.arange(len(X))
    place = rules.acquisition_of_features
    paid, answers = np.zeros((len(X), J), bool), np.full(len(X), -1)
    order = np.full((len(X), J + 1), -1)
    for step in range(J + 1):
        open_now = ~paid & ~known & ~unknown
        if rules.budget is not None:
            open_now &= (paid.sum(axis=1) < rules.budget)[:, None]
        if rules.budget_cost is not None:
            open_now &= (paid @ rules.costs)[:, None] + rules.costs <= rules.budget_cost
        legal = np.hstack([open_now, np.ones((len(X), rules.n_classes), bool)])
        acquired = (paid | known)[:, place] & ~np.isnan(X)
        actions = policy.actions(acquired, np.where(acquired, X, 1e3).astype(np.float32), legal, **options)
        assert legal[rows, actions].all()
        unfinished = answers < 0
        acquires = unfinished & (actions < J)
        answers[unfinished & ~acquires] = actions[unfinished & ~acquires] - J
        order[acquires, step] = actions[acquires]
        paid[acquires, actions[acquires]] = True
    assert (answers >= 0).all()
    return order[:, :J], answers, paid @ rules.costs


def nothing_of(policy, X):
    return np.zeros((len(X), policy.rules.n_acquisitions), bool)


def padded_order(done, J):
    return np.pad(done.order, ((0, 0), (0, J - done.order.shape[1])), constant_values=-1)


@every_rules
@every_agent
@pytest.mark.one_in(2)
def test_without_known_values_the_actions_are_those_of_the_trajectories(agent, variant):
    policy, (X, _) = fitted(agent, variant).policy_, table()
    none = nothing_of(policy, X)
    done = policy.trajectories(X)
    order, answers, _ = walk(policy, X, none, none)
    assert (done.lengths > 0).any()
    np.testing.assert_array_equal(order, padded_order(done, none.shape[1]))
    np.testing.assert_array_equal(answers, done.answers)


@without_budget
@every_agent
def test_known_values_raise_neither_the_paid_loss_nor_the_share_of_immediate_answers(agent, variant):
    policy, (X, y) = fitted(agent, variant).policy_, table()
    none, errors = nothing_of(policy, X), policy.rules.error_costs
    order, answers, price = walk(policy, X, none, none)
    paid = np.array([np.isin(np.arange(none.shape[1]), row) for row in order])
    loss = errors[answers, y] + policy.rules.lam * price
    for share in (0.15, 0.5, 0.9):
        known = np.random.default_rng(1).random(none.shape) < share
        order_known, answers_known, price_known = walk(policy, X, known, none)
        assert (errors[answers_known, y] + policy.rules.lam * price_known).mean() <= loss.mean() + 1e-12
        assert (order_known[:, 0] < 0).sum() <= (~(paid & ~known).any(axis=1)).sum()


@without_budget
@every_agent
def test_known_acquisitions_are_skipped_and_nothing_else_changes(agent, variant):
    policy, (X, _) = fitted(agent, variant).policy_, table()
    none = nothing_of(policy, X)
    done = policy.trajectories(X)
    for j in range(none.shape[1]):
        known = none.copy()
        known[:, j] = True
        order, answers, _ = walk(policy, X, known, none)
        np.testing.assert_array_equal(answers, done.answers)
        for now, before in zip(order, done.order, strict=True):
            assert [i for i in now if i >= 0] == [i for i in before if i >= 0 and i != j]


@every_rules
@every_agent
def test_known_acquisitions_are_never_paid_and_budgets_respected(agent, variant):
    policy, (X, _) = fitted(agent, variant).policy_, table()
    known, rules = np.random.default_rng(5).random((N_ROWS, policy.rules.n_acquisitions)) < 0.4, policy.rules
    for options in ({}, {"continue_after_stop": True}):
        order, _, price = walk(policy, X, known, np.zeros_like(known), **options)
        assert not known[np.nonzero(order >= 0)[0], order[order >= 0]].any()
        assert ((order >= 0).sum(axis=1) <= (rules.budget or np.inf)).all()
        assert (price <= (rules.budget_cost or np.inf)).all()


@every_rules
@every_agent
def test_no_answer_while_the_policy_scores_a_legal_acquisition_higher(agent, variant):
    policy, (X, _) = fitted(agent, variant).policy_, table()
    rules, rng = policy.rules, np.random.default_rng(2)
    J, place = rules.n_acquisitions, rules.acquisition_of_features
    for share in (0.2, 0.5, 0.8):
        taken, unknown = rng.random((N_ROWS, J)) < 0.3, rng.random((N_ROWS, J)) < share
        legal = np.hstack([~taken & ~unknown, np.ones((N_ROWS, rules.n_classes), bool)])
        actions = policy.actions(np.zeros_like(X, bool), X, legal)
        scores = np.where(legal, policy.scores(np.zeros_like(X, bool), X), -np.inf)
        some = legal[:, :J].any(axis=1)
        np.testing.assert_array_equal(actions[some], scores.argmax(axis=1)[some])
        acquired = taken[:, place]
        at_end = policy.actions(acquired, X, legal)
        blocked = legal.copy()
        blocked[np.arange(N_ROWS), at_end] &= at_end >= J
        again = policy.actions(acquired, X, blocked)  # the preferred acquisition has become unavailable
        moved = at_end < J
        assert (again[moved] != at_end[moved]).all()
        np.testing.assert_array_equal(again[~moved], at_end[~moved])


def test_the_next_best_acquisition_replaces_one_that_is_not_possible():
    X, y = table()
    model = fitted("linear", "base")
    first = model.trajectories(X).order[0, 0]
    without = np.where(np.arange(6) == first, np.nan, X)
    done = model.trajectories(without)
    assert (done.lengths > 0).all()
    assert (model.classes_[done.answers] == y).mean() > 0.6
    one_left = np.where(np.arange(6) == first, X, np.nan)
    assert (model.trajectories(one_left).order[:, 0] == first).all()


@every_agent
def test_where_nothing_can_be_known_the_answer_is_the_cheapest_for_the_class_shares(agent):
    X, y = table()
    errors = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.1, 0.2, 0.0]]
    model = AGENTS[agent](lam=0.01, error_costs=errors).fit(X, y)
    cheapest = (np.array(errors) @ np.bincount(y)).argmin()
    assert cheapest != np.bincount(y).argmax()
    empty = np.full((3, 6), np.nan, np.float32)
    assert (model.trajectories(empty).answers == cheapest).all()
    assert (model.policy_.trajectories(X, Rules(6, 3, budget=0)).answers == cheapest).all()
    nothing = np.zeros((3, 6), bool)
    legal = np.tile(np.arange(9) >= 6, (3, 1))
    for continues in (False, True):
        assert (model.policy_.actions(nothing, X[:3], legal, continue_after_stop=continues) == 6 + cheapest).all()


@every_rules
@every_agent
@pytest.mark.one_in(2)
def test_continuing_acquires_until_nothing_is_legal_in_the_order_of_the_policy(agent, variant):
    model, (X, _) = fitted(agent, variant), table()
    policy = model.policy_
    none, holes = nothing_of(policy, X), np.where(np.random.default_rng(3).random(X.shape) < 0.2, np.nan, X)
    for rows in (X, holes.astype(np.float32)):
        done, further = model.trajectories(rows), model.trajectories(rows, continue_after_stop=True)
        before, after = padded_order(done, none.shape[1]), padded_order(further, none.shape[1])
        np.testing.assert_array_equal(np.where(before >= 0, after, -1), before)
        assert (further.lengths >= done.lengths).all()
        unavailable = ~policy.rules.acquisitions_of(~np.isnan(rows))
        order, answers, price = walk(policy, rows, none, unavailable, continue_after_stop=True)
        np.testing.assert_array_equal(order, after)
        np.testing.assert_array_equal(answers, further.answers)
        left = ~unavailable & ~np.array([np.isin(np.arange(none.shape[1]), row) for row in order])
        if policy.rules.budget is not None:
            assert (further.lengths <= policy.rules.budget).all()
            left &= (further.lengths < policy.rules.budget)[:, None]
        if policy.rules.budget_cost is not None:
            assert (price <= policy.rules.budget_cost).all()
            left &= price[:, None] + policy.rules.costs <= policy.rules.budget_cost
        assert not left.any()
    assert further.to_frame()["answer"].notna().sum() == N_ROWS


@every_agent
def test_a_group_known_in_part_is_acquired_at_its_full_price(agent):
    policy, (X, _) = fitted(agent, "groups").policy_, table()
    nothing, legal = np.zeros(X.shape, bool), np.ones((N_ROWS, 7), bool)
    acquired = nothing.copy()
    acquired[:, [0, 2]] = True  # parts of the groups 0 and 2
    changed = X.copy()
    changed[:, [3, 5]] = 1e6  # the other parts
    actions = policy.actions(acquired, X, legal)
    np.testing.assert_array_equal(actions, policy.actions(nothing, X, legal))
    np.testing.assert_array_equal(actions, policy.actions(acquired, changed, legal))


def test_which_acquisitions_are_known():
    rules = Rules(6, 3, groups=GROUPS)
    acquired = np.zeros((3, 6), bool)
    acquired[:, [0, 1, 2, 5]] = True
    legal = np.ones((3, 7), bool)
    legal[1, 0] = legal[2, 3] = False
    expected = [[False, True, True, False], [True, True, True, False], [False, True, True, False]]
    np.testing.assert_array_equal(known_acquisitions(acquired, legal, rules), expected)


def policy_of_intercepts(intercepts, rules):
    """A policy that always prefers the actions with the largest of some fixed scores."""
    n, A = rules.n_features, rules.n_actions
    scaling = Scaling(np.zeros(n), np.ones(n))
    return LinearPolicy(np.zeros((n, 2, A), np.float32), np.array(intercepts, np.float32), scaling, rules)


def test_the_answer_of_the_class_shares_is_only_for_states_without_any_value_or_legal_acquisition():
    policy = replace(policy_of_intercepts([1, 1, 0, -1], Rules(2, 2)), empty_answer=1)
    nothing, one = np.zeros((1, 2), bool), np.array([[True, False]])
    values, only_answers = np.zeros((1, 2), np.float32), np.array([[False, False, True, True]])
    for compiled in (policy.actions, policy.greedy_actions):
        assert compiled(nothing, values, only_answers).tolist() == [3]
        assert compiled(one, values, only_answers).tolist() == [2]
        assert compiled(nothing, values, np.array([[False, False, True, False]])).tolist() == [2]
        assert compiled(nothing, values, np.array([[True, False, True, True]])).tolist() == [0]
    done = policy.trajectories(np.array([[np.nan, np.nan], [np.nan, 0.0]]))
    assert (done.answers.tolist(), done.lengths.tolist()) == ([1, 0], [0, 1])


NEEDS = [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]  # 1 after 0, 2 after 1
LINE = np.eye(4, k=1) + np.eye(4, k=-1)


@pytest.mark.parametrize(
    ("options", "scores", "known", "legal", "action"),
    [
        ({"prerequisites": NEEDS}, [2, 5, 4, 3], [], [0, 3], 3),
        ({"prerequisites": NEEDS}, [2, 5, 4, 3], [3], [0], 0),
        ({"prerequisites": NEEDS}, [2, 5, 4, 3], [3, 0], [1], 1),
        ({"prerequisites": NEEDS}, [2, 5, 4, 1], [0], [1, 3], 1),
        ({"prerequisites": NEEDS}, [2, 5, 4, 3], [1], [0, 2, 3], 2),  # 1 is known although 0 is not
        ({"prerequisites": NEEDS}, [-1, 5, 4, 3], [0, 1], [2, 3], 3),  # never worth 0, which leads to 1 and 2
        ({"prerequisites": NEEDS}, [-1, 5, 4, -2], [0, 1], [2, 3], 4),
        ({"related": LINE, "unrelated_costs": "forbid"}, [4, 1, 2, 3], [0, 1], [2], 2),
        (
            {"related": LINE, "unrelated_costs": "forbid"},
            [4, -1, 2, 3],
            [0, 1],
            [2],
            4,
        ),  # never worth 1, which leads to 2
        ({"related": LINE, "unrelated_costs": "forbid"}, [4, 1, 2, 3], [0, 3], [1, 2], 2),
        ({"related": LINE, "unrelated_costs": 3.0, "budget_cost": 4.0}, [4, 1, 2, 3], [0, 1], [2], 2),
        ({"budget": 1}, [1, 2, 3, 4], [0], [1, 2, 3], 3),
        ({"budget": 1}, [1, 2, 3, 4], [3], [], 4),
    ],
)
def test_known_acquisitions_under_prerequisites_relations_and_budgets(options, scores, known, legal, action):
    rules = Rules(4, 2, **options)
    acquired, mask = np.isin([range(4)], known), np.isin([range(6)], [*legal, 4, 5])
    policy = policy_of_intercepts([*scores, 0, -9], rules)
    assert policy.actions(acquired, np.zeros((1, 4), np.float32), mask).tolist() == [action]


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_and_plain_replay_agree_and_continuing_never_answers_too_early(variant):
    rng = np.random.default_rng(4)
    policy = agent_of(variant, seed=1).policy
    J = policy.rules.n_acquisitions
    acquired, values = rng.random((300, 6)) < 0.4, rng.normal(size=(300, 6)).astype(np.float32)
    legal = rng.random((300, policy.rules.n_actions)) < 0.4
    legal[:, J:] = True
    for continues in (False, True):
        actions = policy.actions(acquired, values, legal, continue_after_stop=continues)
        plain = replay(policy.greedy_actions, acquired, values, legal, policy.rules, continue_after_stop=continues)
        np.testing.assert_array_equal(actions, plain)
        assert legal[np.arange(300), actions].all()
        bought = known_acquisitions(acquired, legal, policy.rules)
        assert not bought[actions < J, actions[actions < J]].any()
    free_to_go = (legal[:, :J] & ~bought).any(axis=1)
    np.testing.assert_array_equal(actions < J, free_to_go)


def test_continuing_never_acquires_for_a_policy_without_scores_what_is_not_legal():
    dataset, _ = problem("budget", True)
    model = MajorityClassifier(**VARIANTS["budget"]).fit(dataset.X, dataset.y)
    assert model.trajectories(dataset.X).lengths.max() == 0
    further = model.trajectories(dataset.X, continue_after_stop=True)
    np.testing.assert_array_equal(further.lengths, np.minimum((~np.isnan(dataset.X)).sum(axis=1), 3))
    assert not further.forfeited.any()


@every_agent
def test_a_model_file_has_the_answer_of_the_class_shares(agent, tmp_path):
    model = fitted(agent, "base")
    model.save(tmp_path / "model")
    again, (X, y) = load_classifier(tmp_path / "model"), table()
    assert again.policy_.empty_answer == np.bincount(y).argmax()
    assert_same_trajectories(
        again.trajectories(X, continue_after_stop=True), model.trajectories(X, continue_after_stop=True)
    )
    for answer in (-2, 3, 1.0, True):
        with pytest.raises(ValueError, match="empty_answer"):
            model.policy_.from_arrays(*with_answer(model.policy_, answer), model.rules_)


def with_answer(policy, answer):
    arrays, header = policy.to_arrays()
    return arrays, {**header, "empty_answer": answer}


# Training with unknown values


def test_blanked_acquisitions_are_whole_and_of_the_given_share():
    X, y = table()
    dataset, rules = Dataset(np.tile(X, (20, 1)), np.tile(y, 20)), Rules(6, 3, groups=GROUPS)
    scaled = 2 * dataset.X
    blank, values = blanked(dataset, scaled, rules, 0.2, np.random.default_rng(0))
    missing = np.isnan(blank.X)
    assert missing.mean() == pytest.approx(0.2, abs=0.02)
    for group in GROUPS:
        assert (missing[:, group] == missing[:, group[:1]]).all()
    np.testing.assert_array_equal(values, np.where(missing, np.nan, scaled))
    np.testing.assert_array_equal(blank.X[~missing], dataset.X[~missing])
    assert not np.isnan(dataset.X).any()
    assert blanked(dataset, scaled, rules, 0.0, np.random.default_rng(0)) == (dataset, scaled)


def test_training_with_unknown_values_is_an_option_that_is_off_by_default():
    X, y = table()
    default, off, on, again = (
        DatumWiseClassifier(n_iterations=2, random_state=0, **options).fit(X, y).policy_
        for options in ({}, {"unknown": 0}, {"unknown": 0.2}, {"unknown": 0.2})
    )
    np.testing.assert_array_equal(default.weights, off.weights)
    np.testing.assert_array_equal(on.weights, again.weights)
    assert (on.weights != off.weights).any()
    for wrong in (-0.1, 1, "0.1", None, True):
        refused(ValueError, "unknown must be", X, y, call=DatumWiseClassifier(unknown=wrong).fit)
