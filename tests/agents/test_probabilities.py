"""Class probabilities of agents: at the answer, and given any part of the features."""

import numpy as np
import pytest

from agents import AdaptiveClassifier, DatumWiseClassifier, LatticeClassifier
from agents.lattice import LatticePolicy
from fsgym import evaluate
from support.majority import MajorityClassifier
from support.patients import RULES, features_and_labels, patients
from support.rcpi_twin import options_of, problem
from support.refusals import refused


@pytest.mark.parametrize("variant", ["base", "groups, costs, budget", "prerequisites", "everything"])
def test_probabilities_of_the_lattice_at_its_states_are_those_of_its_answers(variant):
    dataset, _ = problem(variant, True)
    model = LatticeClassifier(random_state=0, **options_of(variant)).fit(dataset.X, dataset.y)
    done = model.trajectories(dataset.X)
    np.testing.assert_array_equal(model.probabilities_at(dataset.X, done.acquired), done.probabilities)
    np.testing.assert_array_equal(model.predict_proba(dataset.X), done.probabilities)
    np.testing.assert_array_equal(evaluate(model, dataset.X, dataset.y).probabilities, done.probabilities)
    costs = done.probabilities @ model.rules_.error_costs.T
    assert (costs[np.arange(len(costs)), done.answers] <= costs.min(axis=1) + 1e-9).all()


def test_probabilities_at_a_state_read_only_what_was_acquired_in_the_order_of_the_user():
    X, y = features_and_labels(patients(200))
    model = LatticeClassifier(unknown=0, effort=0.1, random_state=0, **RULES).fit(X, y)
    features = model.columns_.encode(X)
    rng = np.random.default_rng(0)
    acquired = rng.random(features.shape) < 0.5
    at_half = model.probabilities_at(X, acquired)
    np.testing.assert_allclose(at_half.sum(axis=1), 1, atol=1e-12)
    hidden = X.copy()
    troponin = model.columns_.names.index("troponin")
    place = model.columns_.features[troponin].start
    hidden["troponin"] = 1e6
    without = acquired.copy()
    without[:, place] = False
    np.testing.assert_array_equal(model.probabilities_at(hidden, without), model.probabilities_at(X, without))
    nothing = model.probabilities_at(X, np.zeros_like(acquired))
    np.testing.assert_array_equal(nothing, np.repeat(nothing[:1], len(X), axis=0))
    assert (model.probabilities_at(X, np.ones_like(acquired)) != nothing).any()
    order = rng.permutation(X.shape[1])
    shuffled = LatticeClassifier(unknown=0, effort=0.1, random_state=0, **RULES).fit(X.iloc[:, order], y)
    moved = np.concatenate([np.arange(features.shape[1])[model.columns_.features[k]] for k in order])
    np.testing.assert_array_equal(shuffled.probabilities_at(X, acquired[:, moved]), at_half)


def test_the_lattice_answers_by_the_probabilities_that_it_says_of_a_state_whatever_is_known():
    X = np.random.default_rng(3).normal(size=(300, 5))
    y = np.random.default_rng(4).integers(0, 3, 300)
    X += y[:, None] * np.array([1.0, 0.5, 0.6, 0.2, 0])
    model = LatticeClassifier(lam=0.02, random_state=0).fit(X, y)
    done = model.trajectories(X, continue_after_stop=True)
    np.testing.assert_array_equal(done.probabilities.argmax(axis=1), done.answers)
    for k in range(32):
        known = (k >> np.arange(5)) % 2 == 1
        said = {f"x{i}": X[0, i] for i in np.flatnonzero(known)}
        step = model.step(said, unknown=[f"x{i}" for i in np.flatnonzero(~known)])
        at_state = model.probabilities_at(X[:1], known[None])[0]
        np.testing.assert_allclose(list(step.probabilities.values()), at_state, atol=1e-12)


def test_the_default_agent_has_the_probabilities_of_its_learner_at_each_subset():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5)).astype(np.float32)  # the last three features are noise, and worsen answers
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=120) > 0).astype(int)
    model = AdaptiveClassifier(lam=0.1, learner="lattice", calibration="none", random_state=0).fit(X, y)
    learner = model.policy_.acting
    assert isinstance(learner, LatticePolicy)
    acquired = learner.taken[np.arange(len(X)) % len(learner.taken)]
    np.testing.assert_array_equal(model.probabilities_at(X, acquired), learner.state_probabilities(acquired, X))


def test_agents_without_a_model_of_the_classes_have_no_probabilities():
    dataset, _ = problem("base", False)
    nothing = np.zeros(dataset.X.shape, bool)
    for model in (MajorityClassifier(), DatumWiseClassifier(n_iterations=1, states_per_sample=1, random_state=0)):
        model.fit(dataset.X, dataset.y)
        assert model.trajectories(dataset.X).probabilities is None
        assert model.probabilities_at(dataset.X, nothing) is None
        assert evaluate(model, dataset.X, dataset.y).probabilities is None


def test_a_mask_that_does_not_fit_is_refused():
    dataset, _ = problem("base", False)
    model = MajorityClassifier().fit(dataset.X, dataset.y)
    refused(ValueError, "acquired must have shape", dataset.X, [True] * 6, call=model.probabilities_at)
    refused(TypeError, "acquired must be a mask", dataset.X, np.zeros(dataset.X.shape), call=model.probabilities_at)
