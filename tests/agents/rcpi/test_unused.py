"""What RCPI leaves out: columns of features that no sampled state has, and acquisitions that no policy makes."""

from __future__ import annotations

import numpy as np
import pytest

import agents.rcpi.regression
from agents import RCPI, DatumWiseClassifier, FittedQ, load_classifier
from agents.parallel import run_serially
from agents.rcpi.base_learners import BaseLearners
from agents.rcpi.kernels import EXCLUDED_SCORE
from agents.rcpi.regression import Design, fit_scores
from agents.rcpi.rollouts import Mixture, rollout_returns
from agents.rcpi.rows import UnusedAcquisitions
from agents.rcpi.sampling import sample_states
from fsgym import Dataset, DatumWiseEnv, Rules, Scaling, evaluate
from fsgym.envs.trajectories import Trajectories
from support.model_files import assert_same_trajectories
from support.rcpi_twin import PAIRS

# Columns of features that no state has acquired

FEW = {"single": (None, (1, 4)), "groups": (PAIRS, (1,))}


def sampled(kind, missing, intercept, n=300):
    """States that hold few of the acquisitions, returns in them, and rules."""
    groups, used = FEW[kind]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)).astype(np.float32)
    rules = Rules(6, 3, lam=0.05, groups=groups)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    dataset = Dataset(X, np.arange(60) % 3)
    legal_rows = np.array(X)
    unused = [i for j, group in enumerate(rules.groups) if j not in used for i in group]
    legal_rows[:, unused] = np.nan
    states = sample_states(legal_rows, rules, n, seed=1)
    values = Scaling.fit(X).apply(X)
    returns, legal = rollout_returns(
        states, dataset, values, Mixture.uniform(rules), rules, n_rollouts=1, seed=0, run=run_serially
    )
    return states, values, rules, intercept, dataset.y, returns, legal


def fitted(kinds, before, states, values, rules, intercept, y, returns, legal):
    design, learners = Design(states, values, rules, intercept), BaseLearners(1e-3, *kinds)
    tried = slice(None, None, learners.rollout_every)
    return design, learners.fit(design, y, returns[tried], legal[tried], run_serially, before)


KINDS = [("linear", "linear"), ("logistic", "linear"), ("linear", "incremental"), ("logistic", "incremental")]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("kind", FEW)
def test_weights_without_unused_columns_are_those_of_all_columns(kind, missing, intercept, monkeypatch):
    task = sampled(kind, missing, intercept)
    few = [fitted(kinds, None, *task) for kinds in KINDS]
    monkeypatch.setattr(agents.rcpi.regression, "MIN_UNUSED", 2.0)
    every = [fitted(kinds, None, *task) for kinds in KINDS]
    for (small, scores), (full, expected) in zip(few, every):
        assert small.n_columns < full.n_columns
        assert small.rows(0, 300).shape == (300, small.n_columns)
        np.testing.assert_array_equal(small.rows(0, 300), full.rows(0, 300)[:, small.columns])
        assert not np.delete(full.rows(0, 300), small.columns, axis=1).any()
        np.testing.assert_allclose(scores.weights, expected.weights, atol=1e-4)
        np.testing.assert_allclose(scores.intercepts, expected.intercepts, atol=1e-4)
        assert not (scores.intercepts == EXCLUDED_SCORE).any()


@pytest.mark.parametrize("kinds", KINDS[1:])
def test_scores_of_an_iteration_start_those_of_the_next_with_other_columns(kinds):
    task = sampled("single", False, True)
    small, scores = fitted(kinds, None, *task)
    states = sample_states(task[1], task[2], 300, seed=5)  # hold all features
    full, again = fitted(kinds, scores, states, *task[1:])
    assert small.n_columns < full.n_columns == len(full.packed(*again[:2]))
    back, last = fitted(kinds, again, *task)
    assert back.n_columns == small.n_columns
    np.testing.assert_allclose(last.weights[:, :, 6:], scores.weights[:, :, 6:], atol=0.02)
    assert not last.weights[[0, 2, 3, 5], :, 6:].any()


@pytest.mark.parametrize(("n_used", "n_columns"), [(8, 17), (7, 17), (6, 13), (1, 3), (0, 1)])
def test_columns_are_left_out_where_at_least_a_quarter_is_unused(n_used, n_columns):
    X = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    legal_rows = np.where(np.arange(8) < n_used, X, np.float32(np.nan))
    rules = Rules(8, 2)
    states = sample_states(legal_rows, rules, 200, seed=0)
    design = Design(states, X, rules)
    assert design.n_columns == n_columns
    legal = np.ones((200, 8), bool)
    y = np.arange(50) % 2
    weights, intercepts = fit_scores(design, y, np.zeros((200, 8), np.float32), legal, 1e-3, run_serially)
    assert weights.shape == (8, 2, 10)
    assert not weights[n_used:].any()
    np.testing.assert_allclose(intercepts[8:].sum(), -1, atol=0.2)


# Acquisitions that no policy makes


def done(*rows):
    order = np.array(rows, np.int32)
    return Trajectories(order, np.zeros((len(order), 4), bool), np.zeros(len(order), int), np.zeros(len(order), bool))


def test_an_acquisition_is_dropped_after_enough_policies_in_a_row_that_do_not_make_it():
    dataset = Dataset(np.ones((2, 4)), [0, 1])
    unused = UnusedAcquisitions(Rules(4, 2), after=2)
    steps = [
        (done([0, 1], [0, -1]), []),
        (done([2, -1], [0, -1]), [3]),  # 3 is unused in both, 1 only in the second
        (done([1, 2], [0, 2]), [3]),
        (done([1, 2], [1, 2]), [3]),
        (done([2, -1], [-1, -1]), [0, 3]),
        (done([-1, -1], [-1, -1]), [0, 1, 3]),
        (done([-1, -1], [-1, -1]), [0, 1, 3]),  # all would be dropped
        (done([-1, -1], [2, -1]), [0, 1, 3]),
    ]
    for trajectories, expected in steps:
        rows, dropped = unused.dropped_from(dataset, trajectories)
        assert np.flatnonzero(dropped).tolist() == expected
        if rows is not dataset:
            assert np.isnan(rows.X).all(axis=0).nonzero()[0].tolist() == expected
            dataset = rows
    never = UnusedAcquisitions(Rules(4, 2), after=None)
    for _ in range(3):
        rows, dropped = never.dropped_from(dataset, done([0, -1]))
        assert rows is dataset
        assert not dropped.any()


def one_of_many(n=300):
    """Feature 2 decides, the others are noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    X[:, 2] = np.sign(X[:, 2])
    return X, (X[:, 2] > 0).astype(int)


class Watched(RCPI):
    """Records which acquisitions are in the sampled states, and which are legal in them."""

    def learn(self, *arguments):
        self.seen = []
        return super().learn(*arguments)

    def _returns(self, states, *arguments):
        returns, legal = super()._returns(states, *arguments)
        self.seen.append((states.taken.any(axis=0), legal.any(axis=0)))
        return returns, legal


def agent_of(kind=Watched, **options):
    X, y = one_of_many()
    groups = options.pop("groups", None)
    rules = Rules(6, 2, lam=0.2, groups=groups)
    return kind(DatumWiseEnv(Dataset(X, y), rules), **{"n_iterations": 6, "random_state": 0, **options})


@pytest.mark.parametrize("groups", [None, [[0], [1, 5], [2], [3, 4]]])
def test_noise_is_dropped_and_the_feature_that_decides_is_not(groups):
    agent = agent_of(drop_unused=2, select="last", groups=groups).learn()
    dropped = agent.dropped
    assert dropped.any()
    assert not dropped[2]
    in_states, legal = agent.seen[-1]
    assert not in_states[dropped].any()
    assert not legal[dropped].any()
    assert legal[2]
    assert agent.seen[0][1].all()
    assert agent.seen[1][1].all()
    np.testing.assert_array_equal(agent.policy.intercepts[: len(dropped)] == EXCLUDED_SCORE, dropped)
    result = evaluate(agent, agent.dataset, agent.rules)
    assert result.accuracy > 0.95
    assert result.n_acquisitions < 2


def test_nothing_is_dropped_by_default_and_the_iterations_before_are_the_same():
    off, on = agent_of().learn(), agent_of(drop_unused=2).learn()
    assert not off.dropped.any()
    assert all(legal.all() for _, legal in off.seen)
    first = next(t for t, (_, legal) in enumerate(on.seen) if not legal.all())
    assert first >= 2
    for one, other in zip(off.history[:first], on.history[:first]):
        assert one | {"seconds": 0} == other | {"seconds": 0}


@pytest.mark.usefixtures("two_threads")
def test_dropping_does_not_depend_on_threads_and_a_new_training_starts_with_everything():
    agent = agent_of(drop_unused=1).learn()
    first, dropped = agent.policy.weights.tobytes(), agent.dropped
    other = agent_of(drop_unused=1, n_jobs=2).learn()
    assert other.policy.weights.tobytes() == first
    np.testing.assert_array_equal(other.dropped, dropped)
    agent.learn()
    assert agent.policy.weights.tobytes() == first
    assert agent.seen[0][1].all()


def test_a_policy_that_has_dropped_something_is_stored_and_acts_in_any_state(tmp_path):
    X, y = one_of_many()
    model = DatumWiseClassifier(0.2, drop_unused=2, select="last", n_iterations=6, random_state=0).fit(X, y)
    assert (model.policy_.intercepts[:6] == EXCLUDED_SCORE).any()
    np.testing.assert_array_equal(model.dropped_, model.policy_.intercepts[:6] == EXCLUDED_SCORE)
    model.save(tmp_path / "m")
    again = load_classifier(tmp_path / "m")
    assert again.dropped_ is None
    for further in (False, True):
        expected = model.trajectories(X, continue_after_stop=further)
        assert_same_trajectories(again.trajectories(X, continue_after_stop=further), expected)
    assert (expected.lengths == 6).all()


def test_other_options_go_together_with_it():
    for options in ({"unknown": 0.2}, {"patience": 3}, {"start": "answer"}, {"states": "policy"}):
        agent = agent_of(drop_unused=2, **options).learn()
        assert agent.dropped.any()
        assert not agent.dropped.all()
        assert evaluate(agent, agent.dataset, agent.rules).accuracy > 0.9
    assert agent_of(FittedQ, drop_unused=2).learn().dropped.any()
    with pytest.warns(UserWarning, match="tables of mostly zeros"):
        assert agent_of(drop_unused=2, nonzero=True).learn().dropped.any()
    for wrong in (0, 1.5, True, "2", -1):
        with pytest.raises(ValueError, match="drop_unused must be a whole number from 1 to 1e"):
            agent_of(drop_unused=wrong)
    with pytest.raises(ValueError, match=r"drop_unused must be less than n_iterations=4, .* got 4"):
        agent_of(drop_unused=4, n_iterations=4)
