"""Answers by logistic regression: its fit against scikit-learn's, and classes that lie in a row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from agents import RCPI, DatumWiseClassifier, load_classifier
from agents.rcpi.base_learners import fit_logits
from agents.rcpi.regression import Design
from agents.rcpi.sampling import sample_states
from fsgym import Dataset, DatumWiseEnv, Rules, Scaling, load_dataset

RIDGE = 1e-3


@pytest.mark.parametrize("intercept", [True, False])
def test_logits_agree_with_scikit_learn(intercept):
    data = load_dataset("wine")
    rules = Rules.for_dataset(data, lam=0.1)
    states = sample_states(data.X, rules, 500, seed=0)
    design = Design(states, Scaling.fit(data.X).apply(data.X), rules, intercept)
    labels, Phi = data.y[states.rows], design.rows(0, 500)
    theta = fit_logits(design, data.y, 3, RIDGE)
    peer = LogisticRegression(C=1 / (RIDGE * 500), fit_intercept=intercept, tol=1e-6, max_iter=5000)
    expected = peer.fit(Phi[:, 1:], labels).predict_proba(Phi[:, 1:])
    np.testing.assert_allclose(softmax(Phi @ theta, axis=1), expected, atol=0.02)
    again = fit_logits(design, data.y, 3, RIDGE, theta)
    np.testing.assert_allclose(softmax(Phi @ again, axis=1), expected, atol=0.02)


def test_the_middle_one_of_classes_in_a_row_is_answered():
    x = np.random.default_rng(0).uniform(-1, 1, (300, 1))
    y = np.digitize(x[:, 0], [-0.3, 0.3])
    env = DatumWiseEnv(Dataset(x, y), Rules(1, 3, lam=0.01))
    losses = {
        kind: RCPI(env, answers=kind, random_state=0).learn().history[-1]["loss"] for kind in ("linear", "logistic")
    }
    assert losses["logistic"] < 0.08 < 0.2 < losses["linear"]


def test_a_class_without_rows_in_the_training_part_is_never_answered():
    x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    dataset = Dataset(x, (x[:, 0] > 0).astype(int), classes=[0, 1, 2])
    agent = RCPI(DatumWiseEnv(dataset, Rules(2, 3, lam=0.01)), answers="logistic", random_state=0).learn()
    done = agent.trajectories(x)
    assert set(done.answers) == {0, 1}
    assert (done.answers == dataset.y).mean() > 0.9


def test_a_model_file_keeps_the_kind_of_answers(tmp_path):
    data = load_dataset("wine")
    model = DatumWiseClassifier(0.05, answers="logistic", states="policy", random_state=0).fit(data.X, data.y)
    assert model.policy_.logistic
    model.save(tmp_path / "m.fsgym")
    again = load_classifier(tmp_path / "m.fsgym")
    assert again.policy_.logistic
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))


def test_iterations_with_and_without_a_missing_value_have_other_columns():
    rng = np.random.default_rng(0)
    model = DatumWiseClassifier(0.01, groups=[[0, 1], [2, 3]], unknown=0.15, random_state=0)
    assert len(model.fit(rng.normal(size=(6, 4)), np.arange(6) % 2).history_) == 10
