"""RCPI on sparse tables: which acquisitions are tried, what zeros are worth, and what a training gives."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from agents import RCPI, DatumWiseClassifier, FittedQ, load_classifier
from agents.parallel import run_serially
from agents.rcpi.kernels import ActionScores
from agents.rcpi.nonzero import nonzero_returns
from agents.rcpi.rollouts import Mixture, rollout_returns
from agents.rcpi.rows import few_zeros, only_zeros
from agents.rcpi.sampling import sample_states
from fsgym import Dataset, DatumWiseEnv, Rules, Scaling, evaluate
from support.model_files import assert_same_trajectories
from support.rcpi_twin import RCPITwin, options_of, problem

UNRELATED = ["base", "budget", "costs", "budget_cost", "groups", "groups, costs, budget", "prerequisites, budget"]


def sparse_problem(variant, missing=False, n=40):
    """A small data set in which 60 % of the values are 0, and the rules of a variant."""
    dataset, rules = problem(variant, missing, n)
    X = np.array(dataset.X)
    X[(np.random.default_rng(1).random(X.shape) < 0.6) & ~np.isnan(X)] = 0
    return dataset.replace(X=X), rules


def random_greedy(rules, seed):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(rules.n_features, 2, rules.n_actions)).astype(np.float32)
    return W, rng.normal(size=rules.n_actions).astype(np.float32)


def estimated(states, dataset, values, mixture, rules, seed=5, n_rollouts=1, estimate=nonzero_returns):
    return estimate(states, dataset, values, mixture, rules, n_rollouts=n_rollouts, seed=seed, run=run_serially)


@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("variant", UNRELATED)
def test_acquisitions_of_zeros_are_found(variant, missing):
    dataset, rules = sparse_problem(variant, missing)
    needed = {0, 1, 2} if "prerequisites" in variant else set()
    zeros = only_zeros(dataset, rules)
    for row, x in enumerate(dataset.X):
        for j, group in enumerate(rules.groups):
            known = [x[i] for i in group if not np.isnan(x[i])]
            assert zeros[row, j] == (bool(known) and not any(known) and j not in needed)
    assert zeros.any()


def test_a_value_that_is_stored_less_an_offset_is_no_zero():
    dataset = Dataset(np.array([[1.7e9, 0.0], [1.7e9 + 1.5, 1.0], [1.7e9 + 3, 0.0]]), [0, 1, 0])
    assert dataset.X[1, 0] == 0
    assert only_zeros(dataset, Rules(2, 2)).tolist() == [[False, True], [False, False], [False, True]]


def test_uniform_states_have_about_as_many_acquired_zeros_as_other_values():
    rng = np.random.default_rng(0)
    X = (rng.random((400, 60)) < 0.1).astype(np.float32)
    X[0], X[1], X[2, :6] = 0, 1, np.nan
    dataset, rules = Dataset(X, np.arange(400) % 2), Rules(60, 2)
    rows = few_zeros(dataset, rules, seed=3)
    hidden = np.isnan(rows) & ~np.isnan(X)
    assert not X[hidden].any()
    np.testing.assert_array_equal(rows[~hidden], X[~hidden])
    assert (~np.isnan(rows[0])).sum() == 0
    np.testing.assert_array_equal(rows[1], X[1])
    assert (rows == 0).sum() == pytest.approx((X[2:] == 1).sum(), rel=0.05)
    env = DatumWiseEnv(dataset, rules)
    lengths = [
        RCPI(env, states="uniform", nonzero=on)._uniform_states(dataset, 2000, 7, np.zeros(0)).lengths.mean()
        for on in (False, True)
    ]
    assert lengths[0] == pytest.approx(30, abs=0.5)
    assert lengths[1] == pytest.approx(6, abs=0.5)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("variant", UNRELATED)
def test_returns_and_legal_sets_agree_with_the_twin(variant, missing):
    dataset, rules = sparse_problem(variant, missing)
    values, zeros = Scaling.fit(dataset.X).apply(dataset.X), only_zeros(dataset, rules)
    states, compared = sample_states(dataset.X, rules, 200, seed=1), {True: 0, False: 0}
    for seed, logistic in enumerate([False, True]):
        twin = RCPITwin(dataset, options_of(variant), logistic)
        W, b = random_greedy(rules, seed)
        returns, legal = estimated(
            states, dataset, values, Mixture.uniform(rules).mixed(ActionScores(W, b, logistic), 0.0), rules
        )
        for s in range(200):
            row, order = int(states.rows[s]), states.order[s, : states.lengths[s]].tolist()
            of_rollouts = twin.returns(row, order, values, W, b)
            np.testing.assert_array_equal(legal[s], ~np.isnan(of_rollouts))
            without, whole, _ = twin.finish(row, order, values, W, b)
            for j in np.flatnonzero(legal[s]):
                expected = of_rollouts[j]
                if zeros[row, j]:
                    expected = without - (0 if j in whole else twin.lam * twin.price(j, order))
                assert returns[s, j] == pytest.approx(expected, abs=1e-5)
                compared[bool(zeros[row, j])] += 1
            assert not returns[s][~legal[s]].any()
    assert min(compared.values()) > 50


@pytest.mark.parametrize("per_trajectory", [False, True])
@pytest.mark.parametrize("n_rollouts", [1, 2])
def test_a_random_episode_pays_once_for_an_acquired_zero(per_trajectory, n_rollouts):
    dataset, rules = Dataset(np.zeros((2, 1)), [0, 1]), Rules(1, 2, lam=0.25)
    states = sample_states(dataset.X, rules, 4000, seed=2)
    uniform = Mixture.uniform(rules, per_trajectory)
    returns, legal = estimated(states, dataset, dataset.X, uniform, rules, n_rollouts=n_rollouts)
    found, counts = np.unique(returns[legal], return_counts=True)
    expected = {1: [-1.25, -0.25], 2: [-1.25, -0.75, -0.25]}[n_rollouts]
    assert found.tolist() == expected
    share = np.array({1: [1, 1], 2: [1, 2, 1]}[n_rollouts]) / 2**n_rollouts
    assert (np.abs(counts - share * counts.sum()) < 4.5 * np.sqrt(share * (1 - share) * counts.sum())).all()


@pytest.mark.parametrize("per_trajectory", [False, True])
def test_the_first_policy_of_a_rollout_without_acquisition_is_drawn_from_the_mixture(per_trajectory):
    rules = Rules(2, 2, lam=1.0, error_costs=[[0.25, 0.25], [0.5, 0.5]])
    dataset, none = Dataset(np.zeros((2, 2)), [0, 1]), np.zeros((2, 2, 4), np.float32)
    mixture = Mixture.uniform(rules, per_trajectory)
    for scores in ([2, 1, 0, -1], [0, 0, 0, 1]):  # one acquires all and gives answer 0, the other gives answer 1
        mixture = mixture.mixed(ActionScores(none, np.array(scores, np.float32)), 0.4 if scores[3] > 0 else 0.0)
    states = sample_states(dataset.X, rules, 20_000, seed=4)
    returns, legal = estimated(states, dataset, dataset.X, mixture, rules)
    paid = -returns[states.lengths == 0][:, 1]
    if per_trajectory:  # what follows without it, and its price of 1 unless it was acquired anyway
        expected = {1.5: 0.6, 2.25: 0.4}
    else:  # answer 1 directly, after feature 0, or after both; or answer 0 after both
        expected = {1.5: 0.6, 2.5: 0.4 * 0.6 + 0.16 * 0.6, 2.25: 0.16 * 0.4}
        np.testing.assert_allclose(sum(expected.values()), 1)
    assert legal[states.lengths == 0].all()
    assert set(np.unique(paid)) == set(expected)
    for cost, p in expected.items():
        assert abs((paid == cost).mean() - p) < 4.5 * np.sqrt(p * (1 - p) / len(paid))


def test_without_zeros_the_returns_are_those_of_the_rollouts():
    dataset, rules = problem("groups, costs, budget", False)
    states, mixture = sample_states(dataset.X, rules, 300, seed=1), Mixture.uniform(rules)
    mixture = mixture.mixed(ActionScores(*random_greedy(rules, 0)), 0.5)
    np.testing.assert_array_equal(few_zeros(dataset, rules, 0), dataset.X)
    for one, other in zip(
        estimated(states, dataset, dataset.X, mixture, rules, n_rollouts=2),
        estimated(states, dataset, dataset.X, mixture, rules, n_rollouts=2, estimate=rollout_returns),
    ):
        np.testing.assert_array_equal(one, other)


def words(n=400, n_words=30, seed=0):
    """Rows with a tenth of the words each; three words are those of class 1, three those of class 0."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    share = np.full((n, n_words), 0.1)
    share[:, :3] = np.where(y == 1, 0.6, 0.02)[:, None]
    share[:, 3:6] = np.where(y == 0, 0.6, 0.02)[:, None]
    return (rng.random((n, n_words)) < share).astype(float), y


def test_a_training_that_tries_no_zeros_is_as_good_where_zeros_are_acquired():
    (X, y), (others, labels) = words(), words(seed=1)
    rules = Rules(30, 2, lam=0.02)
    losses = {}
    for on in (False, True):
        agent = RCPI(DatumWiseEnv(Dataset(X, y), rules), nonzero=on, n_iterations=8, random_state=0).learn()
        result = evaluate(agent, Dataset(others, labels), rules)
        losses[on] = result.loss
        assert 1 < result.n_acquisitions < 8
        assert (result.used & (others == 0)).any()
    assert losses[True] < losses[False] + 0.02 < 0.3


@pytest.mark.usefixtures("two_threads")
def test_results_do_not_depend_on_threads_and_are_off_by_default(tmp_path):
    X, y = words(200)
    options = {"n_iterations": 3, "random_state": 0, "select": "last"}
    models = [
        DatumWiseClassifier(0.02, **options, **more).fit(X, y)
        for more in ({"nonzero": True}, {"nonzero": True, "n_jobs": 2}, {}, {"nonzero": np.False_})
    ]
    weights = [model.policy_.weights.tobytes() for model in models]
    assert weights[0] == weights[1] != weights[2] == weights[3]
    models[0].save(tmp_path / "m")
    assert_same_trajectories(load_classifier(tmp_path / "m").trajectories(X), models[0].trajectories(X))


def test_missing_values_weights_groups_and_the_first_policy_that_answers_go_together_with_it():
    X, y = words(200)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    groups = [[j, j + 1] for j in range(0, 30, 2)]
    options = {"groups": groups, "nonzero": True, "start": "answer", "unknown": 0.1, "budget": 4}
    model = DatumWiseClassifier(0.02, **options, class_weight="balanced", n_iterations=5, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.75
    assert model.trajectories(X).lengths.max() <= 4


def test_a_search_sets_both_parameters():
    X, y = words(120)
    grid = {"nonzero": [False, True], "drop_unused": [None, 1]}
    search = GridSearchCV(DatumWiseClassifier(0.02, n_iterations=2, random_state=0), grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.get_params()["nonzero"] is search.best_params_["nonzero"]


def test_wrong_use_is_refused_in_one_sentence():
    X, y = words(40)
    env = DatumWiseEnv(Dataset(X, y), Rules(30, 2))
    for value in (1, None, "yes", np.ones(2, bool)):
        with pytest.raises(ValueError, match="nonzero must be True or False"):
            RCPI(env, nonzero=value)
    related = Rules(30, 2, related=np.eye(30, k=1), unrelated_costs=2)
    with pytest.raises(ValueError, match="nonzero must be False under relational prices"):
        RCPI(DatumWiseEnv(Dataset(X, y), related), nonzero=True)
    scaled = DatumWiseEnv(Dataset(X, y).scaled(), Rules(30, 2))
    with pytest.warns(UserWarning, match=r"nonzero=True is for tables of mostly zeros, but 3.3% of the acquisitions"):
        RCPI(scaled, nonzero=True)
    with pytest.raises(TypeError, match="makes no rollouts and has no nonzero"):
        FittedQ(env, nonzero=True)
