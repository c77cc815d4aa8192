"""Targets for the mean usage, cross-validated estimates of the loss, and the calibration of the probabilities."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold

from agents import DatumWiseClassifier, LatticeClassifier
from agents.lattice.learn import learn
from agents.lattice.training_data import TrainingData, stratified_folds
from agents.parallel import run_serially
from agents.tradeoff import UsageTarget, check_target, find_price
from fsgym import Dataset, Rules, evaluate, loss_scorer
from support.rcpi_twin import problem

# The search


def staircase(*steps):
    """A ``learn_at`` that uses so many features up to price ``lam``, for each (lam, uses), and the prices tried."""
    tried = []

    def learn_at(lam):
        tried.append(lam)
        uses = next((u for limit, u in steps if lam <= limit), steps[-1][1])
        return SimpleNamespace(usage=lambda: {"features": uses, "cost": 2 * uses}, lam=lam)

    return learn_at, tried


@pytest.mark.parametrize(("target", "usage"), [(7, 6.0), (6, 6.0), (5.9, 2.5), (2.5, 2.5), (1, 0.0), (0, 0.0)])
def test_the_largest_mean_that_is_not_above_the_target_is_chosen(target, usage):
    learn_at, tried = staircase((0.004, 6.0), (0.03, 2.5), (1.0, 0.0))
    rules = Rules(6, 2, lam=0.0)
    assert find_price(UsageTarget("features", target), rules, learn_at).usage()["features"] == usage
    assert find_price(UsageTarget("cost", 2 * target), rules, learn_at).usage()["cost"] == 2 * usage
    assert len(tried) <= 2 * 14


def test_a_target_that_no_price_reaches_ends_at_the_lowest_price():
    learn_at, tried = staircase((1.0, 3.0))
    assert find_price(UsageTarget("features", 6), Rules(6, 2), learn_at).lam < 1e-3
    assert len(tried) == 1
    assert find_price(UsageTarget("features", 5), Rules(6, 2), learn_at).lam < 1e-3


def test_the_last_price_is_the_highest_where_the_target_is_far_above_the_others():
    learn_at, tried = staircase((1e8, 2.0), (1e12, 0.0))
    assert find_price(UsageTarget("features", 1), Rules(2, 2, costs=[1, 1e-9]), learn_at).usage()["features"] == 0
    assert len(tried) == 14


def test_a_target_below_what_is_free_is_refused():
    learn_at, _ = staircase((0.1, 4.0), (1.0, 2.0))
    with pytest.raises(ValueError, match=r"target_features=1 cannot be met.* 2 on average"):
        find_price(UsageTarget("features", 1), Rules(6, 2, costs=[0, 0, 1, 1, 1, 1]), learn_at)


@pytest.mark.parametrize(
    ("cost", "features", "word"),
    [
        (1, 1, "cannot both be given"),
        (-1, None, "target_cost must be finite and at least 0"),
        (np.nan, None, "finite"),
        (None, np.inf, "target_features must be finite"),
        (None, "two", "must be a number"),
        ([1, 2], None, "must be a number"),
    ],
)
def test_invalid_targets_are_refused_in_one_sentence(cost, features, word):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises((ValueError, TypeError), match=word) as caught:
        LatticeClassifier(target_cost=cost, target_features=features).fit(X, y)
    assert "\n" not in str(caught.value)
    assert check_target(None, None) is None


# Usage


def test_usage_agrees_with_rows_that_follow_the_policy_one_by_one():
    dataset, rules = problem("everything", True, n=80)
    fold = stratified_folds(dataset.y, 3, np.random.default_rng(0))
    data = TrainingData(dataset.X, dataset.y, dataset.n_classes, fold, 0)
    policy = learn(data, rules, run_serially).policy
    n_features, cost = [], []
    for row in range(len(dataset.y)):
        z, paid = (), 0.0
        while policy.choices[z].next_child[row] >= 0:
            _, z, price = policy.choices[z].children[policy.choices[z].next_child[row]]
            paid += price / rules.lam
        n_features.append(sum(not np.isnan(dataset.X[row, i]) for j in z for i in rules.groups[j]))
        cost.append(paid)
    assert policy.usage() == pytest.approx({"features": np.mean(n_features), "cost": np.mean(cost)})
    assert policy.usage()["features"] > 0


def test_the_expected_usage_is_that_of_the_policy_without_its_backup_moves():
    X, y = load_wine(return_X_y=True)
    model = LatticeClassifier(lam=0.03, unknown=0.1, random_state=0).fit(X[:, :5], y)
    assert model.expected_n_features_ == model.history_[-1]["features"]
    assert model.expected_cost_ == model.history_[-1]["cost"]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    return X[rows[:300]], y[rows[:300]], X[rows[300:]], y[rows[300:]]


@pytest.mark.slow
def test_new_rows_use_about_as_many_features_as_the_target(cancer):
    X, y, X_test, _ = cancer
    X, X_test = X[:, :10], X_test[:, :10]
    model = LatticeClassifier(unknown=0, lam=None, target_features=1.5, random_state=0).fit(X, y)
    assert 1.3 < model.history_[-1]["features"] <= 1.5
    assert abs(model.features_used(X_test).sum(axis=1).mean() - 1.5) < 0.3
    assert model.lam_ == model.rules_.lam > 0


@pytest.mark.slow
def test_new_rows_cost_about_the_target_with_groups_and_prices(cancer, tmp_path):
    X, y, X_test, y_test = cancer
    X, X_test = X[:, :10], X_test[:, :10]  # the mean of each measurement
    groups = [[0, 1], [2, 3], [4, 5], [6, 7], [8], [9]]
    model = LatticeClassifier(target_cost=2, groups=groups, costs=[1, 2, 3, 2, 1, 1], unknown=0, random_state=0).fit(
        X, y
    )
    assert 1.7 < model.history_[-1]["cost"] <= 2
    assert evaluate(model, Dataset(X_test, y_test), model.rules_).spent == pytest.approx(2, rel=0.2)
    model.save(tmp_path / "model")
    again = LatticeClassifier.load(tmp_path / "model")
    assert (again.lam, again.lam_, again.target_cost) == (model.lam_, model.lam_, None)
    fixed = clone(model).set_params(target_cost=None, lam=model.lam_).fit(X, y)
    fixed.save(tmp_path / "fixed")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "fixed").read_bytes()
    with pytest.raises(ValueError, match="leave target_cost"):
        model.path(X, y, [0.1])


# Cross-validated loss


def test_the_estimate_comes_from_refits_in_each_fold():
    X, y = load_wine(return_X_y=True)
    X = X[:, [0, 6, 9]]
    names = np.array(["red", "rose", "white"])[y]
    model = LatticeClassifier(unknown=0, lam=0.05, random_state=0)
    estimate = model.estimate_loss(X, names, cv=StratifiedKFold(3))
    losses = np.empty(len(y))
    for a, b in StratifiedKFold(3).split(X, y):
        one = clone(model).fit(X[a], names[a])
        losses[b] = (one.predict(X[b]) != names[b]) + 0.05 * one.features_used(X[b]).sum(axis=1)
    np.testing.assert_allclose(estimate.losses, losses)
    assert estimate.loss == pytest.approx(losses.mean())
    assert estimate.standard_error == pytest.approx(losses.std(ddof=1) / np.sqrt(len(y)))
    assert estimate.loss == pytest.approx(estimate.error + 0.05 * estimate.n_features)
    assert (estimate.error_cost, estimate.cost) == pytest.approx((estimate.error, estimate.n_features))
    assert not hasattr(model, "policy_")
    frame = pd.DataFrame(X, columns=["alcohol", "colour", "flavanoids"])  # in alphabetical order, as in training
    again = (
        clone(model).set_params(costs={"alcohol": 1, "flavanoids": 1, "colour": 1}).estimate_loss(frame, names, cv=3)
    )
    np.testing.assert_array_equal(again.losses, estimate.losses)
    with pytest.raises(ValueError, match="training rows in all folds, rose has none"):
        model.estimate_loss(X, names, cv=[(np.flatnonzero(y != 1), np.flatnonzero(y == 1))])


@pytest.mark.slow
def test_other_agents_estimate_their_loss_as_well():
    agent = DatumWiseClassifier(lam=0.02, n_iterations=2, random_state=0)
    X, y = load_wine(return_X_y=True, as_frame=True)
    estimate = agent.estimate_loss(X, y, cv=3)
    losses = [
        -loss_scorer(f.rules)(clone(agent).fit(X.iloc[a], y.iloc[a]), X.iloc[b], y.iloc[b])
        for f, (a, b) in zip(estimate.folds, StratifiedKFold(3).split(X, y))
    ]
    assert [f.loss for f in estimate.folds] == pytest.approx(losses)


@pytest.mark.slow
def test_the_training_loss_is_optimistic_and_the_estimate_is_not():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 6)), np.arange(80) % 2  # labels are independent of the features
    model = LatticeClassifier(unknown=0, lam=0.001, random_state=0)
    estimate = model.estimate_loss(X, y, cv=3)
    assert estimate.loss > 0.5 - 2 * estimate.standard_error
    assert model.fit(X, y).history_[-1]["training_loss"] < 0.4


# Probabilities


def calibration_error(P, y, n_bins=5):
    """Expected calibration error of the likeliest class in bins of equal size (Naeini, Cooper and Hauskrecht, 2015)."""
    confidence, correct = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.array_split(np.argsort(confidence), n_bins)
    return sum(len(b) / len(y) * abs(confidence[b].mean() - correct[b].mean()) for b in bins)


def test_probabilities_are_calibrated_and_the_measure_detects_others():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3400)
    X = (rng.normal(size=(3400, 6)) + 0.5 * (2 * y[:, None] - 1)).astype(np.float32)
    model = LatticeClassifier(unknown=0, lam=0.01, random_state=0).fit(X[:400], y[:400])
    P, y_test = model.predict_proba(X[400:]), y[400:]
    assert calibration_error(P, y_test) < 0.035
    for power in (0.5, 2.0):  # underconfident, overconfident
        assert calibration_error(P**power / (P**power).sum(axis=1, keepdims=True), y_test) > 0.07
