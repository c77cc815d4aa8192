"""The exact optimum compared with a hand-worked task, and with the same programme on the reference process."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from fsgym import Dataset, Rules, Trajectories, evaluate, exact
from fsgym.exact import all_rows, expected_loss, optimum, sample
from support.reference import ReferenceProcess

TASKS = [exact.naive_bayes, exact.decision_list, exact.multiplexer, exact.parity]
N = 6
CHAIN = np.eye(N, k=1) + np.eye(N, k=-1)
KINDS = {
    "base": {"lam": 0.03},
    "budget": {"lam": 0.005, "budget": 3},
    "budget_cost": {"lam": 0.005, "costs": np.linspace(2, 1, N).round(1), "budget_cost": 5},
    "small budget_cost": {"lam": 1, "costs": np.linspace(0.02, 0.01, N), "budget_cost": 0.05},
    "prices and errors": {"lam": 1, "costs": np.linspace(0.05, 0.01, N), "error_costs": [[0, 3], [1, 0]]},
    "referral": {"lam": 0.03, "refer_cost": 0.2},
    "referral, errors": {"lam": 1, "costs": 0.02, "error_costs": [[-1, 3], [1, 0]], "refer_cost": 0.4},
    "groups": {"lam": 0.03, "groups": np.arange(N).reshape(-1, 2).tolist()},
    "relational": {"lam": 1, "costs": 0.02, "unrelated_costs": 0.06, "related": CHAIN},
    "related to all": {"lam": 1, "costs": 0.01, "unrelated_costs": 0.02, "related": 1 - CHAIN, "relation": "all"},
    "first unrelated": {"lam": 0.01, "unrelated_costs": 2, "related": CHAIN, "empty_is_related": False},
    "forbidden": {"lam": 0.01, "unrelated_costs": "forbid", "related": CHAIN},
    "prerequisites": {"lam": 0.02, "prerequisites": np.eye(N, k=-1) * (np.arange(N) % 2 == 1)[:, None]},
}


def reference_optimum(joint, options):
    """As ``exact.optimum``, with prices and legality of the reference process."""
    process = ReferenceProcess(joint.ndim - 1, joint.shape[-1], options)
    errors = np.array([[process.error_cost(k, c) for c in range(joint.shape[-1])] for k in range(process.n_answers)])

    @cache
    def value(taken: tuple[int, ...], spent: float) -> np.ndarray:
        """Loss from here on of all values of the known bits, times their probability; axes of length 1 are unknown."""
        unknown = tuple(i for j in range(process.n_acquisitions) if j not in taken for i in process.groups[j])
        table = joint.sum(axis=unknown, keepdims=True)
        best = (table @ errors.T).min(axis=-1)
        for j in range(process.n_acquisitions):
            if process.is_legal(j, taken, spent=spent):
                paid = process.price(j, taken)
                total = 0.0 if process.budget_cost is None else round(spent + paid, 12)
                after = value(tuple(sorted((*taken, j))), total).sum(axis=tuple(process.groups[j]), keepdims=True)
                best = np.minimum(best, process.lam * paid * table.sum(axis=-1) + after)
        return best

    return float(value((), 0.0).sum())


def test_the_optimum_is_that_of_a_hand_worked_task():
    joint = np.zeros((2, 2, 2))  # the first bit is the class in nine of ten cases, the second says nothing
    joint[0, :, 0] = joint[1, :, 1] = 0.225
    joint[0, :, 1] = joint[1, :, 0] = 0.025
    assert optimum(joint, Rules(2, 2, lam=0.1)) == pytest.approx(0.2)
    assert optimum(joint, Rules(2, 2, lam=0.5)) == pytest.approx(0.5)
    assert optimum(joint, Rules(2, 2, lam=0.1, prerequisites=[[0, 1], [0, 0]])) == pytest.approx(0.3)
    assert optimum(joint, Rules(2, 2, lam=0.1, groups=[[0, 1]])) == pytest.approx(0.2)
    assert optimum(joint, Rules(2, 2, lam=0.1, budget=0)) == pytest.approx(0.5)
    # after a 0 answering 0 costs .1 * 4, after a 1 answering 1 costs .1; half of the time each
    assert optimum(joint, Rules(2, 2, lam=0.1, error_costs=[[0, 4], [1, 0]])) == pytest.approx(0.1 + 0.2 + 0.05)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
@pytest.mark.one_in(2)
def test_the_optimum_is_that_of_the_rules_written_out(task, kind):
    rules = Rules(N, 2, **KINDS[kind])
    assert optimum(task(N), rules) == pytest.approx(reference_optimum(task(N), KINDS[kind]), abs=1e-12)


# Lowest losses at lam .03 with refer_cost .1, .2, .3, .5, by a separate computation of 2026; "plain" without it.
WITH_REFERRAL = {
    exact.naive_bayes: {0.1: 0.1, 0.2: 0.1509, 0.3: 0.170602, 0.5: 0.177902, "plain": 0.177902},
    exact.decision_list: {0.1: 0.1, 0.2: 0.117872, 0.3: 0.117872, 0.5: 0.117872, "plain": 0.117872},
    exact.multiplexer: {0.1: 0.1, 0.2: 0.14, 0.3: 0.14, 0.5: 0.14, "plain": 0.14},
}


@pytest.mark.parametrize("task", WITH_REFERRAL, ids=lambda task: task.__name__)
def test_the_optimum_with_referral(task):
    for refer_cost, loss in WITH_REFERRAL[task].items():
        options = {} if refer_cost == "plain" else {"refer_cost": refer_cost}
        assert optimum(task(N), Rules(N, 2, lam=0.03, **options)) == pytest.approx(loss, abs=1e-6)


def test_the_optimum_rises_with_the_cost_of_referral_up_to_that_without():
    joint, costs = exact.naive_bayes(N), np.arange(0, 0.6, 0.01)
    losses = np.array([optimum(joint, Rules(N, 2, lam=0.03, refer_cost=r)) for r in costs])
    assert losses[0] == 0.0
    assert (np.diff(losses) >= -1e-12).all()
    assert (np.diff(losses, 2) <= 1e-12).all()  # concave: the slope is the share referred, from 1 to 0
    assert losses[-1] == pytest.approx(optimum(joint, Rules(N, 2, lam=0.03)))
    near = [optimum(joint, Rules(N, 2, lam=0.03, refer_cost=r)) for r in (0.25 - 1e-5, 0.25 + 1e-5)]
    slope = (near[1] - near[0]) / 2e-5
    assert slope == pytest.approx(0.19914, abs=1e-5)


def test_at_no_price_of_features_the_optimum_is_the_rule_of_chow():
    joint = exact.naive_bayes(N)
    rows = joint.reshape(-1, 2)
    for refer_cost in (0.05, 0.2, 0.4):
        chow = np.minimum(rows.min(axis=1), refer_cost * rows.sum(axis=1)).sum()
        assert optimum(joint, Rules(N, 2, lam=0.0, refer_cost=refer_cost)) == pytest.approx(chow, abs=1e-8)


def test_the_loss_of_a_policy_that_refers_all():
    joint, rules = exact.naive_bayes(N), Rules(N, 2, lam=0.03, refer_cost=0.2)
    assert expected_loss(lambda observations, masks: np.full(len(masks), N + 2), joint, rules) == pytest.approx(0.2)


def ask_for(order):
    """Acquire these in turn where they are legal; then the last answer, or the one before where the first bit is 0."""

    def act(observations, masks):
        actions = masks.shape[1] - 2 + (observations[:, N + order[0]] == 1)
        for j in reversed(order):
            actions[masks[:, j]] = j
        return actions

    return act


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_of_a_policy_is_the_mean_over_a_large_sample(kind):
    joint, rules = exact.naive_bayes(N), Rules(N, 2, **KINDS[kind])
    X, y = sample(joint, 40_000, 0)
    policy = ask_for([2, 1])
    result = evaluate(policy, Dataset(X, y), rules)
    loss = expected_loss(policy, joint, rules)
    assert abs(loss - result.loss) < 4.5 * result.losses.std() / np.sqrt(len(y))
    assert loss >= optimum(joint, rules)
    rows = evaluate(policy, Dataset(all_rows(N), np.zeros(2**N, int), classes=[0, 1]), rules)
    assert expected_loss(rows.trajectories, joint, rules) == pytest.approx(loss, abs=1e-12)


def test_a_sample_has_the_law_of_the_task():
    joint = exact.decision_list(5)
    X, y = sample(joint, 50_000, 1)
    counts = np.zeros(joint.shape)
    np.add.at(counts, (*X.astype(int).T, y), 1)
    assert (np.abs(counts - 50_000 * joint) < 5 * np.sqrt(50_000 * joint) + 1).all()
    again = sample(joint, 50_000, 1)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_tasks_are_distributions(task):
    assert task(7).shape == (2,) * 8
    assert task(7).sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="n must be a whole number of bits"):
        task(0)
    with pytest.raises(ValueError, match="n must be a whole number of bits"):
        task("a")


GOOD = np.full((2, 2, 2), 0.125)


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ("a", "must be an array of probabilities"),
        ([[1, 2], [3]], "must be an array of probabilities"),
        (np.full((3, 2), 1 / 6), r"must have shape \(2, ..., 2, n_classes\)"),
        (np.full(2, 0.5), "must have shape"),
        (np.full((2, 1), 0.5), "must have shape"),
        (GOOD * 2, "with sum 1"),
        (GOOD - 1, "0 or more"),
        (GOOD * np.nan, "0 or more"),
    ],
)
def test_what_is_no_distribution(joint, message):
    for call in (lambda: optimum(joint, Rules(2, 2)), lambda: sample(joint, 3)):
        with pytest.raises((ValueError, TypeError), match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_mistakes():
    with pytest.raises(ValueError, match="the rules are for 3 features and 2 classes, joint has 2 and 2"):
        optimum(GOOD, Rules(3, 2))
    with pytest.raises(ValueError, match="n_samples must be a whole number"):
        sample(GOOD, 0)
    with pytest.raises(ValueError, match="random_state must be"):
        sample(GOOD, 3, random_state="a")
    greedy = Trajectories(np.tile(np.int32([0, 1]), (4, 1)), np.ones((4, 2), bool), np.zeros(4, int), np.zeros(4, bool))
    for rules in (Rules(2, 2, budget=1), Rules(2, 2, prerequisites=[[0, 1], [0, 0]])):
        with pytest.raises(ValueError, match="against the rules"):
            expected_loss(greedy, GOOD, rules)
    with pytest.raises(ValueError, match="against the rules"):
        expected_loss(lambda observations, masks: np.zeros(len(masks), int), GOOD, Rules(2, 2))
    three = Trajectories(greedy.order[:3], greedy.acquired[:3], greedy.answers[:3], greedy.forfeited[:3])
    with pytest.raises(ValueError, match=r"must be those of all_rows\(2\), got 3"):
        expected_loss(three, GOOD, Rules(2, 2))
