"""When to stop along a fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fsgym
from baselines import ConstantClassifier, EverythingClassifier, PanelClassifier, StoppingClassifier
from baselines.stopping import PiecewiseLinear
from fsgym.rules import Rules
from support.fixed_orders import CELLS, ERROR_COSTS, best_stopping_loss, joint_shares, known_table, loss_of_lengths
from support.patients import GROUPS, NOT_FEATURES, PATIENT, RULES, TARGET, patients


def test_a_piecewise_linear_function_is_learnt_and_constant_beyond_the_knots():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(-1, 1, 3000), np.ones(3000)])
    target = np.abs(x[:, 0])
    model = PiecewiseLinear.fit(x, target + rng.normal(0, 0.1, 3000))
    np.testing.assert_allclose(model.predict(x), target, atol=0.2)
    assert np.abs(model.predict(x) - target).mean() < 0.03
    np.testing.assert_allclose(*model.predict(np.array([[1.0, 1.0], [9.0, 1.0]])), atol=0.02)
    few = np.repeat([[0.0], [1.0], [2.0]], 500, axis=0)
    means = np.repeat([3.0, -1.0, 5.0], 500)
    np.testing.assert_allclose(PiecewiseLinear.fit(few, means).predict(few), means, atol=0.03)


@pytest.mark.parametrize("prices", [(0.01, 0.01, 0.01), (0.03, 0.08, 0.02), (0.1, 0.01, 0.05)])
def test_the_rule_is_as_good_as_the_exact_optimum(prices):
    X, y = known_table()
    model = StoppingClassifier(1.0, costs=prices, error_costs=ERROR_COSTS, random_state=0).fit(X, y)
    order = model.order_.tolist()
    lengths = model.trajectories(CELLS).lengths
    optimum, learnt = best_stopping_loss(order, prices), loss_of_lengths(order, lengths, prices)
    fixed = min(loss_of_lengths(order, np.full(8, k), prices) for k in range(len(order) + 1))
    assert optimum - 1e-12 <= learnt <= optimum + 0.15 * (fixed - optimum) + 1e-12
    assert optimum < fixed - 0.002
    assert model.rule_.loss == pytest.approx(learnt, abs=0.02)


def test_without_prices_all_answers_are_those_of_bayes():
    X, y = known_table()
    model = StoppingClassifier(0.0, error_costs=ERROR_COSTS, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(CELLS), (joint_shares() @ ERROR_COSTS.T).argmin(axis=1))


def test_a_rule_that_is_not_better_is_a_fixed_length():
    rng = np.random.default_rng(0)
    model = StoppingClassifier(0.05, random_state=0).fit(rng.normal(size=(200, 4)), rng.integers(0, 2, 200))
    assert not model.features_used(rng.normal(size=(50, 4))).any()
    assert model.rule_.loss <= model.validated_losses_[0] + 1e-12


def test_trajectories_skip_what_is_unavailable_and_agree_with_the_other_methods():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    y = (X @ [2.0, 1.0, 1.0, 0.5] > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = StoppingClassifier(0.01, random_state=0).fit(X, y)
    done = model.trajectories(X)
    assert len(np.unique(done.lengths)) >= 3
    assert not done.forfeited.any()
    np.testing.assert_array_equal(model.predict(X), model.classes_[done.answers])
    np.testing.assert_array_equal(model.features_used(X), done.acquired)
    np.testing.assert_array_equal(model.predict_proba(X), done.probabilities)
    assert done.order.dtype == np.int32
    for row, order in enumerate(done.order):
        sequence = order[order >= 0].tolist()
        available = [j for j in model.order_ if not np.isnan(X[row, j])]
        assert sequence == available[: len(sequence)]
        assert set(sequence) == set(np.flatnonzero(done.acquired[row]))


def test_patients():
    table = patients(rows=1500, seed=100)
    data = fsgym.load_dataset(table, target=TARGET, drop=[*NOT_FEATURES, PATIENT]).with_groups(GROUPS)
    rules = Rules.for_dataset(data, **{k: v for k, v in RULES.items() if k != "groups"})
    train, test = data.split(0.5, 100)
    options: dict[str, Any] = {k: v for k, v in rules.options().items() if k != "lam"}
    costs = options["error_costs"]
    losses = {}
    for model in (
        PanelClassifier(1.0, random_state=0, **options),
        StoppingClassifier(1.0, random_state=0, **options),
        ConstantClassifier(error_costs=costs),
        EverythingClassifier(error_costs=costs, prerequisites=options["prerequisites"], groups=options["groups"]),
    ):
        result = fsgym.evaluate(model.fit(train.X, train.classes[train.y]), test, rules=rules)
        assert result.admissible == 1
        losses[type(model).__name__] = result.loss
    assert max(losses["PanelClassifier"], losses["StoppingClassifier"]) < 30 < losses["ConstantClassifier"]
    assert losses["EverythingClassifier"] > 100  # the CT is for few patients
