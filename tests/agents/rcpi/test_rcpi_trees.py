"""Acquisitions by trees: fit and rollouts against plain Python, files, and a task that linear scores cannot solve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from agents import RCPI, DatumWiseClassifier, FittedQ, LinearPolicy, load_classifier
from agents.parallel import run_serially, task_runner
from agents.rcpi import base_learners
from agents.rcpi.base_learners import boosted, fit_trees
from agents.rcpi.kernels import ActionScores
from agents.rcpi.regression import Design
from agents.rcpi.rollouts import Mixture, rollout_returns
from agents.rcpi.sampling import sample_states
from agents.rcpi.score_trees import NO_TREE, NO_TREES, UNKNOWN_VALUE, ScoreTrees, values_for_trees
from fsgym import Dataset, DatumWiseEnv, Rules, Scaling, evaluate
from fsgym.trees import bin_table
from support.rcpi_twin import VARIANTS, RCPITwin, options_of, problem


class TwinWithTrees(RCPITwin):
    """The twin, which adds the sums of trees, followed node by node."""

    def __init__(self, dataset, options, trees, logistic):
        super().__init__(dataset, options, logistic)
        self.trees = trees

    def scores(self, row, order, values, W, b):
        scores = super().scores(row, order, values, W, b)
        known = self.known(order, self.X[row])
        for j in range(self.n_acquisitions):
            for root in self.trees.roots[0, j]:
                scores[j] += self.leaf_value(int(root), known, values[row]) if root != NO_TREE else 0.0
        return scores

    def leaf_value(self, node, known, values):
        feature = int(self.trees.feature[node])
        if feature < 0:
            return float(self.trees.value[node])
        goes_left = not known[feature] or values[feature] <= self.trees.threshold[node]
        return self.leaf_value(int((self.trees.left if goes_left else self.trees.right)[node]), known, values)


def fitted_scores(dataset, rules, values, logistic=False, seed=0):
    """The scores of a policy with trees, fitted to random returns in which each feature matters."""
    states = sample_states(dataset.X, rules, 600, seed=seed)
    rng = np.random.default_rng(seed)
    legal = np.zeros((600, rules.n_acquisitions), bool)
    legal[:, : rules.n_acquisitions - (rules.n_acquisitions > 3)] = True  # the last one has no trees
    signal = np.where(states.taken[:, :1], 1.0, -1.0) * np.nan_to_num(values[states.rows, 1:2])
    returns = (signal + rng.normal(size=legal.shape)).astype(np.float32)
    means, trees = fit_trees(Design(states, values, rules), returns, legal, run_serially)
    weights = np.zeros((rules.n_features, 2, rules.n_actions), np.float32)
    weights[..., rules.n_acquisitions :] = rng.normal(size=(rules.n_features, 2, rules.n_classes))
    intercepts = np.append(means, rng.normal(size=rules.n_classes)).astype(np.float32)
    return ActionScores(weights, intercepts, logistic, trees)


@pytest.fixture(autouse=True)
def _small_leaves(monkeypatch):
    monkeypatch.setattr(base_learners, "MIN_LEAF_STATES", 5)
    monkeypatch.setattr(base_learners, "TREES_PER_ACQUISITION", 4)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_returns_and_actions_of_a_policy_with_trees_agree_with_the_twin(variant, missing):
    dataset, rules = problem(variant, missing)
    scaling = Scaling.fit(dataset.X)
    values, taken = scaling.apply(dataset.X), set()
    states = sample_states(dataset.X, rules, 80, seed=1)
    for seed, logistic in enumerate([False, True]):
        scores = fitted_scores(dataset, rules, values, logistic, seed)
        twin = TwinWithTrees(dataset, options_of(variant), scores.trees, logistic)
        mixture = Mixture.uniform(rules).mixed(scores, 0.0)
        returns, legal = rollout_returns(
            states, dataset, values, mixture, rules, n_rollouts=1, seed=5, run=run_serially
        )
        for s in range(80):
            order = states.order[s, : states.lengths[s]].tolist()
            expected = twin.returns(states.rows[s], order, values, *scores[:2])
            np.testing.assert_array_equal(legal[s], ~np.isnan(expected))
            np.testing.assert_allclose(returns[s][legal[s]], expected[legal[s]], atol=1e-5)
        policy = LinearPolicy(*scores[:2], scaling, rules, logistic, trees=scores.trees)
        done = policy.trajectories(dataset.X)
        for row in range(dataset.n_samples):
            _, order, answer = twin.finish(row, [], values, *scores[:2])
            assert (done.order[row][done.order[row] >= 0].tolist(), done.answers[row]) == (order, answer)
            taken |= set(order)
    assert taken or variant == "needle"


def test_policies_with_and_without_trees_may_be_in_one_mixture():
    dataset, rules = problem("base", missing=False)
    values = Scaling.fit(dataset.X).apply(dataset.X)
    plain = ActionScores(*(np.array(a, np.float32) for a in (np.zeros((6, 2, 9)), [*[-1] * 6, 1, 0, 0])))
    first, second = (fitted_scores(dataset, rules, values, seed=seed) for seed in (0, 1))
    states = sample_states(dataset.X, rules, 50, seed=1)

    def returns(*policies):
        """Returns of the last policy, which has all the weight."""
        mixture = Mixture.uniform(rules)
        for policy in policies:
            mixture = mixture.mixed(policy, 0.0)
        return rollout_returns(states, dataset, values, mixture, rules, n_rollouts=1, seed=5, run=run_serially)[0]

    for before in ([plain], [first], [plain, first, plain]):
        for last in (plain, second):
            np.testing.assert_array_equal(returns(*before, last), returns(last))
    assert (returns(plain) != returns(second)).any()


def test_one_tree_is_that_of_scikit_learn(monkeypatch):
    monkeypatch.setattr(base_learners, "TREES_PER_ACQUISITION", 1)
    monkeypatch.setattr(base_learners, "LEARNING_RATE", 1.0)
    rng = np.random.default_rng(0)
    known = values_for_trees(rng.uniform(-1, 1, (400, 3)).astype(np.float32), rng.random((400, 3)) < 0.6)
    targets = np.where(known[:, 0] == UNKNOWN_VALUE, 3.0, np.maximum(known[:, 1], -2)) + 0.01 * rng.normal(size=400)
    trees = ScoreTrees.of([boosted(bin_table(known), targets)])
    scores = np.zeros((400, 1), np.float32)
    trees.add_to(scores, known)
    peer = DecisionTreeRegressor(max_depth=2, min_samples_leaf=5).fit(known, targets)
    np.testing.assert_allclose(scores[:, 0], peer.predict(known), atol=0.03)  # its cuts are not those of bins
    assert set(trees.feature[trees.feature >= 0]) <= {0, 1}


def test_boosting_fits_what_earlier_trees_leave():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (500, 2)).astype(np.float32)
    table, targets = bin_table(X), np.sin(3 * X[:, 0]) + rng.normal(size=500)
    trees = boosted(table, targets)
    residual = targets.copy()
    for tree in trees:
        leaf = np.array([tree.value[v] for v in leaves_of(tree, table)])
        assert ((residual - leaf) ** 2).mean() <= (residual**2).mean() + 1e-12
        residual = residual - leaf
    assert len(trees) == base_learners.TREES_PER_ACQUISITION


def leaves_of(tree, table):
    """The leaf of each binned row."""
    for i in range(table.n_samples):
        v = 0
        while tree.feature[v] >= 0:
            f = tree.feature[v]
            v = tree.left[v] if table.codes[f // 4, i, f % 4] <= tree.cut[v] else tree.right[v]
        yield v


def context_task(n=600, seed=0):
    """Where the first feature has its middle value, the second one is the class, otherwise the third one."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 3)).astype(np.float32)
    X[:, 0] = rng.choice([0, 1, 2], n, p=[0.25, 0.5, 0.25])
    y = np.where(X[:, 0] == 1, X[:, 1], X[:, 2]).astype(int)
    return DatumWiseEnv(Dataset(X, y), Rules(3, 2, lam=0.05))


def test_trees_find_the_policy_that_asks_the_context_first():
    env, losses = context_task(), {}
    for acquisitions in ("linear", "trees"):
        agent = RCPI(env, acquisitions=acquisitions, n_iterations=8, states_per_sample=5, random_state=0).learn()
        losses[acquisitions] = evaluate(agent, context_task(seed=1)).loss
    assert losses["trees"] == pytest.approx(0.1, abs=1e-6)  # two features for each row, and no error
    assert losses["linear"] > 0.13


def test_fitted_q_iteration_takes_trees_too():
    env = context_task()
    agent = FittedQ(env, acquisitions="trees", n_iterations=6, states_per_sample=20, random_state=0).learn()
    assert agent.policy.has_trees
    assert evaluate(agent, context_task(seed=1)).loss < 0.4  # without acquiring anything it is 0.5


def test_results_do_not_depend_on_threads():
    env = context_task(200)
    first, second = (
        RCPI(env, acquisitions="trees", n_iterations=2, states_per_sample=5, n_jobs=n, random_state=0).learn().policy
        for n in (1, 2)
    )
    for name, array in first.to_arrays()[0].items():
        np.testing.assert_array_equal(array, second.to_arrays()[0][name])
    with task_runner(2) as run:
        dataset, rules = problem("base", missing=True)
        states = sample_states(dataset.X, rules, 100, seed=0)
        design = Design(states, dataset.X, rules)
        returns, legal = np.ones((100, 6), np.float32), np.ones((100, 6), bool)
        assert fit_trees(design, returns, legal, run)[0].tolist() == [1.0] * 6


@pytest.fixture(scope="module")
def model():
    data = context_task(200).dataset
    options = {"acquisitions": "trees", "n_iterations": 4, "states_per_sample": 5, "random_state": 0}
    return DatumWiseClassifier(0.05, **options).fit(data.X, data.y)


def test_a_model_file_keeps_trees(tmp_path, model):
    X = context_task(seed=2).dataset.X
    assert model.policy_.has_trees
    model.save(tmp_path / "m.fsgym")
    again = load_classifier(tmp_path / "m.fsgym")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.features_used(X), model.features_used(X))


def test_a_policy_with_trees_is_asked_one_question_at_a_time(model):
    X = context_task(seed=2).dataset.X[:40]
    for row, label in zip(X, model.predict(X)):
        session = model.session()
        while question := session.next():
            session.answer(question.name, float(row[int(question.name[1:])]))
        assert session.stop() == label


def test_a_policy_with_trees_cannot_be_exported(model):
    with pytest.raises(ValueError, match='acquisitions="linear"'):
        model.policy_json()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("left", lambda a: np.zeros_like(a), "before its children"),
        ("right", lambda a: a + 10_000, "before its children"),
        ("feature", lambda a: np.where(a >= 0, 3, a).astype(a.dtype), "features below 3"),
        ("roots", lambda a: a + 10_000, "roots of trees"),
        ("roots", lambda a: a - 2, "roots of trees"),
        ("roots", lambda a: a[0], "roots of shape"),
        ("roots", lambda a: a[:, :2], "roots of shape"),
        ("value", lambda a: a * np.nan, "at most 1e\\+12"),
        ("value", lambda a: a[1:], "one length"),
        ("threshold", lambda a: np.full_like(a, np.nan), "must be numbers"),
        ("threshold", lambda a: a.astype(np.float32), "types"),
    ],
)
def test_damaged_trees_are_refused(model, name, change, message):
    arrays, header = model.policy_.to_arrays()
    arrays = {**arrays, f"trees.{name}": change(arrays[f"trees.{name}"])}
    with pytest.raises(ValueError, match=message):
        LinearPolicy.from_arrays(arrays, header, model.policy_.rules)


def test_a_root_among_trees_that_do_not_exist_is_refused(model):
    roots = model.policy_.trees.roots.copy()
    roots[0, 0, 1] = NO_TREE
    with pytest.raises(ValueError, match="roots of trees"):
        replace(model.policy_, trees=model.policy_.trees._replace(roots=roots))


def test_a_policy_without_trees_has_no_arrays_of_them():
    assert not NO_TREES.roots.size
    assert ScoreTrees.from_arrays({}) is NO_TREES


def test_the_choice_of_acquisitions_is_checked():
    with pytest.raises(ValueError, match="acquisitions must be 'incremental', 'linear' or 'trees', got 'forest'"):
        RCPI(context_task(50), acquisitions="forest")
