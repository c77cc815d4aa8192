"""The policy part of the any-state agents, around a model that knows the distribution of the data."""

from __future__ import annotations

import numpy as np
import pytest

from agents.anystate.learn import learn_policy, training_folds
from agents.anystate.policy import AnyStatePolicy
from agents.anystate.rollouts import roll_out
from agents.anystate.state_model import StateBatch, StateEstimates, StateModel
from agents.anystate.stopping import learn_stop, reached_states, values_of
from fsgym import Dataset, Rules, exact


class TableModel(StateModel):
    """Exact probabilities of a task of bits; it prefers the bit that lowers the expected error and entropy most."""

    kind = "table"
    n_inputs = 1

    def __init__(self, joint, rules):
        self.joint, self.rules = joint.reshape(-1, joint.shape[-1]), rules
        self.bits = exact.all_rows(rules.n_features)

    def joint_weights(self, acquired, values):
        differs = (np.where(acquired, values, 0)[:, None] != self.bits) & acquired[:, None]
        return ~differs.any(axis=2) @ self.joint

    def probabilities(self, acquired, values):
        weight = self.joint_weights(acquired, values)
        return weight / weight.sum(axis=1, keepdims=True)

    def uncertainty(self, weight):
        """Expected error cost and entropy, times the probability of the state."""
        total = weight.sum(axis=1, keepdims=True)
        entropy = -(weight * np.log(np.maximum(weight / total, 1e-12))).sum(axis=1)
        return (weight @ self.rules.error_costs.T).min(axis=1) + 0.1 * entropy

    def estimate(self, states):
        """The same for equal states, which are many."""
        keys = np.concatenate([np.where(states.acquired, 1 + states.values, 0), states.legal, states.prices], axis=1)
        _, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        each = self.estimate_each(StateBatch(*(array[index] for array in states)))
        return StateEstimates(*(array[inverse.ravel()] for array in each))

    def estimate_each(self, states):
        weight = self.joint_weights(states.acquired, states.values)
        gain = np.full(states.legal.shape, -np.inf)
        for j, group in enumerate(self.rules.groups):
            after = np.zeros(len(weight))
            for bits in np.ndindex((2,) * len(group)):
                acquired, values = states.acquired.copy(), states.values.copy()
                acquired[:, group], values[:, group] = True, bits
                reachable = ~((values != states.values) & states.acquired).any(axis=1)
                after += reachable * self.uncertainty(np.maximum(self.joint_weights(acquired, values), 1e-300))
            gain[:, j] = (self.uncertainty(weight) - after) / weight.sum(axis=1)
        preference = np.where(states.legal, gain / np.maximum(states.prices, 1e-6), -np.inf)
        best = np.where(states.legal, gain, 0.0).max(axis=1)
        return StateEstimates(self.probabilities(states.acquired, states.values), preference, best[:, None])

    def to_arrays(self):
        return {"joint": self.joint}, {}

    @classmethod
    def from_arrays(cls, arrays, header, rules):
        return cls(arrays["joint"], rules)


class TablePolicy(AnyStatePolicy):
    kind, model_class = "table", TableModel


def learnt(joint, rules, n_rows=1500):
    data = Dataset(*exact.sample(joint, n_rows, 0))
    fold, model = training_folds(data, np.random.default_rng(0)), TableModel(joint, rules)
    result = learn_policy([model] * int(fold.max() + 1), model, data, fold, None, rules, 0)
    return TablePolicy(result.model, result.stop, rules), result


@pytest.mark.parametrize("kind", ["base", "budget", "prices and errors", "groups", "relational", "prerequisites"])
@pytest.mark.one_in(3)
def test_the_stop_is_close_to_the_optimum_where_the_model_is_exact(kind):
    joint = exact.naive_bayes(6)
    rules = Rules(6, 2, **exact.rules_of_every_kind(6)[kind])
    policy, result = learnt(joint, rules)
    loss, best = exact.expected_loss(policy.trajectories(exact.all_rows(6)), joint, rules), exact.optimum(joint, rules)
    assert best - 1e-9 <= loss <= best + 0.01
    assert abs(result.loss - loss) < 0.03  # the estimate from 1500 rows


def test_returns_are_those_of_a_direct_simulation():
    joint, rules = exact.decision_list(6), Rules(6, 2, lam=0.01)
    data = Dataset(*exact.sample(joint, 40, 1))
    visited = roll_out([TableModel(joint, rules)], np.zeros(40, np.int64), data, rules, np.arange(40))
    rng = np.random.default_rng(0)
    stop, cost = rng.random(len(visited.row)) < 0.3, rng.random(len(visited.row))
    values, reached = values_of(visited, stop, cost), reached_states(visited, stop)
    n_reached = 0
    for state in np.flatnonzero(visited.first):
        paid, here = 0.0, state
        n_reached += 1
        while not stop[here] and visited.following[here] >= 0:
            assert visited.row[visited.following[here]] == visited.row[here]
            paid, here = paid + visited.price[here], visited.following[here]
            n_reached += 1
        assert values[state] == pytest.approx(paid + cost[here])
    assert reached.sum() == n_reached


def test_the_first_states_of_random_starts_know_something_and_miss_something():
    joint, rules = exact.naive_bayes(6), Rules(6, 2, lam=0.01)
    data = Dataset(*exact.sample(joint, 200, 1))
    fold, models = np.zeros(200, np.int64), [TableModel(joint, rules)]
    starts = roll_out(models, fold, data, rules, np.arange(200), np.random.default_rng(0))
    known = starts.n_features[starts.first]
    assert known.min() == 0 < 1 < known.max() <= 3
    plain = roll_out(models, fold, data, rules, np.arange(200))
    assert (plain.n_features[plain.first] == 0).all()
    stop = learn_stop(plain, starts, data.y, np.arange(200) % 3, np.ones(200), rules)
    assert len(stop.losses) == len(stop.last) == 200


def test_any_state_is_a_start_and_an_unavailable_acquisition_is_replaced():
    joint, rules = exact.naive_bayes(6), Rules(6, 2, lam=0.01)
    policy, _ = learnt(joint, rules, 1000)
    nothing, values = np.zeros((1, 6), bool), np.zeros((1, 6), np.float32)
    legal = np.ones((1, 8), bool)
    first = int(policy.actions(nothing, values, legal)[0])
    assert first == 0  # the bit that says most
    legal[0, first] = False
    assert policy.actions(nothing, values, legal)[0] == 1
    legal[0, :6] = False
    assert policy.actions(nothing, values, legal)[0] >= 6
    known = np.array([[False, True, True, True, True, True]])
    assert (
        policy.actions(known, values, ~np.append(known, [[0, 0]], axis=1).astype(bool), continue_after_stop=True) == 0
    )


def test_a_stop_rule_that_does_not_fit_is_refused():
    joint, rules = exact.naive_bayes(6), Rules(6, 2, lam=0.01)
    policy, _ = learnt(joint, rules, 300)
    arrays, header = policy.to_arrays()
    again = TablePolicy.from_arrays(arrays, header, rules)
    np.testing.assert_array_equal(again.stop.theta, policy.stop.theta)
    for name in ("centre", "scale", "knots", "theta"):
        for damaged in (arrays[f"stop.{name}"][:-1], np.full_like(arrays[f"stop.{name}"], np.nan)):
            with pytest.raises(ValueError, match=f"{name} of the stop rule"):
                TablePolicy.from_arrays({**arrays, f"stop.{name}": damaged}, header, rules)
