"""Policies of all kinds continued past their stop, as a benchmark measures them within budgets."""

import numpy as np
import pytest

from agents import DatumWiseClassifier, MixtureClassifier
from baselines import CARTClassifier, PanelClassifier, StoppingClassifier
from fsgym import Dataset, Rules, load_dataset
from fsgym.comparison.policies import PolicyFactory
from fsgym.datasets import Syn
from fsgym_studies.suites.cell import (
    IGNORES_MASKS,
    NO_MASKS,
    NO_ORDER,
    ORDER_ENDS,
    CannotContinueError,
    Measurement,
    acquisitions_until,
    continued,
    continued_within,
    run_method,
)
from fsgym_studies.suites.suite import RowSplit
from support.majority import MajorityPolicy

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (40, 3)).astype(np.float32)
DATA = Dataset(X, X[:, 1].astype(int), classes=[0, 1])
RULES = Rules.for_dataset(DATA, lam=0.1)


def prefers_answers(observations, masks):
    """The second feature, and then its value as the answer; without answers the first legal acquisition."""
    known = observations[:, 1] > 0.5
    wanted = np.where(known, 3 + (observations[:, 4] > 0), 1)
    return np.where(masks[np.arange(len(masks)), wanted], wanted, masks.argmax(axis=1))


class Model:
    """As a model of Stable-Baselines3 with masks."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False, action_masks=None):
        assert deterministic
        return prefers_answers(observation, action_masks), None


class ModelWithoutMasks:
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        raise AssertionError


@pytest.mark.parametrize("policy", [prefers_answers, Model()])
def test_masked_answers_make_a_policy_go_on(policy):
    done = continued(policy, DATA, RULES)
    assert (done.order == [1, 0, 2]).all()
    np.testing.assert_array_equal(done.answers, DATA.y)
    within = continued(policy, DATA, Rules.for_dataset(DATA, lam=0.1, budget_cost=2.0))
    assert (within.order == [1, 0]).all()
    np.testing.assert_array_equal(within.answers, DATA.y)


def test_a_policy_and_its_classifier_go_on_alike():
    model = DatumWiseClassifier(lam=0.1, n_iterations=2, random_state=0).fit(DATA)
    ours, own = continued(model, DATA, RULES), model.trajectories(DATA, continue_after_stop=True)
    policy = continued(model.policy_, DATA, RULES)
    for done in (ours, policy):
        np.testing.assert_array_equal(done.order, own.order)
        np.testing.assert_array_equal(done.answers, own.answers)
    assert (
        continued(MixtureClassifier(lam=0.1, random_state=0).fit(DATA).policy_, DATA, RULES).probabilities is not None
    )


@pytest.mark.parametrize("cls", [PanelClassifier, StoppingClassifier])
@pytest.mark.parametrize("lam", [0.01, 3.0])
def test_an_order_goes_on_within_a_budget_past_its_stop(cls, lam):
    """At price 3 nothing is worth an acquisition; within a budget the order is followed all the same."""
    data = load_dataset("breast_cancer")
    train, test = data.split(0.7, 0)
    costs = np.where(np.arange(data.n_features) % 2, 2.0, 1.0)
    model = cls(lam=lam, costs=costs, random_state=0).fit(train.to_array(), train.classes[train.y])
    accuracies, order = [], model.order_.tolist()
    for budget in (1.0, 3.0, 6.0, 100.0):
        rules = Rules.for_dataset(test, lam=lam, costs=costs, budget_cost=budget)
        done = continued(model, test, rules)
        wanted, left = [], budget
        for j in order:  # those that are not affordable are passed over
            if costs[j] <= left:
                wanted.append(j)
                left -= costs[j]
        assert (done.order == wanted).all()
        used = np.isin(np.arange(data.n_features), wanted)
        assert (done.acquired == used).all()
        hidden = test.replace(X=np.where(used, test.X, 1e6))
        np.testing.assert_array_equal(continued(model, hidden, rules).answers, done.answers)
        np.testing.assert_allclose(done.probabilities.sum(axis=1), 1)
        np.testing.assert_array_equal(done.probabilities.argmax(axis=1), done.answers)
        accuracies.append((done.answers == test.y).mean())
    assert accuracies[0] > 0.85
    assert accuracies[-1] > 0.9


@pytest.mark.parametrize("cls", [PanelClassifier, StoppingClassifier])
def test_an_order_that_goes_on_has_the_codes_of_the_data_set(cls):
    """A class without training rows has the probability 0, and the answers are codes of all classes."""
    few = DATA.replace(y=2 * DATA.y, classes=np.array([0, 1, 2]))
    model = cls(lam=0.01, random_state=0).fit(few.to_array(), few.classes[few.y])
    done = continued(model, few, Rules.for_dataset(few, lam=0.01))
    np.testing.assert_array_equal(done.answers, few.y)
    assert done.probabilities.shape == (40, 3)
    assert not done.probabilities[:, 1].any()


def test_an_order_that_ends_before_the_relevant_features_says_so():
    data, split = Syn(1).sample(300, 0), RowSplit(150, 50)
    measurement = Measurement((0.3,), ("0.3",), (2.0,), {}, (), "syn1")
    result = run_method(
        dataset=data, split=split, candidates=[PanelClassifier(lam=0.3)], by_price=True, measurement=measurement, seed=0
    )
    assert result["reasons"] == {"complete": ORDER_ENDS}
    assert {"budget_accuracy", "budget_auroc", "mean_auroc"} <= {s["score"] for s in result["scores"]}
    assert result["test_share"] == pytest.approx(100 / 200)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (lambda observations, masks: np.full(len(masks), 3), IGNORES_MASKS),
        (ModelWithoutMasks(), NO_MASKS),
        (CARTClassifier().fit(DATA.to_array(), DATA.y), NO_ORDER),
    ],
)
def test_what_cannot_go_on_has_a_reason(policy, reason):
    with pytest.raises(CannotContinueError, match=reason):
        continued(policy, DATA, RULES)


def test_relevant_features_are_those_of_the_rows_before_they_are_scaled():
    data, split = Syn(1).sample(300, 0), RowSplit(150, 50)
    measurement = Measurement((0.01,), ("0.01",), (2.0,), {}, (), "syn1")
    result = run_method(
        dataset=data,
        split=split,
        candidates=[PolicyFactory(lambda env: lambda observations, masks: masks.argmax(axis=1), lam=0.01)],
        by_price=True,
        measurement=measurement,
        seed=0,
    )
    scores = {(s["score"], s["at"]): s["value"] for s in result["scores"]}
    test = split.parts(data).test
    order = np.tile(np.arange(11, dtype=np.int32), (test.n_samples, 1))
    assert scores["complete", ""] == acquisitions_until(order, Syn(1).relevant(test.X)).mean()
    assert scores["budget_accuracy", "2"] == pytest.approx((test.y == 0).mean())
    assert result["reasons"]["mean_auroc"] == "no class probabilities"


def test_an_object_with_probabilities_needs_no_base_class():
    class Certain(Model):
        def state_probabilities(self, acquired, values):
            assert acquired[:, 1].all()
            share = values[:, 1] > 0
            return np.column_stack([1 - share, share])

    arguments = {"split": RowSplit(20, 10), "by_price": True, "seed": 0}
    arguments["measurement"] = Measurement((0.1,), ("0.1",), (2.0,), {}, (), "")
    found = {}
    for kind in (Model, Certain):
        result = run_method(dataset=DATA, candidates=[PolicyFactory(lambda env, kind=kind: kind(), 0.1)], **arguments)
        found[kind] = {s["score"]: s["value"] for s in result["scores"]}
    assert "budget_auroc" not in found[Model]
    assert found[Certain]["budget_auroc"] == 1.0
    wrong = type("Wrong", (Model,), {"state_probabilities": lambda self, acquired, values: values})()
    with pytest.raises(ValueError, match="column for each class"):
        continued(wrong, DATA, RULES)


def test_what_was_not_acquired_is_not_shown():
    """Whoever believes what all values say is told no more than whoever reads the acquired ones alone."""
    shown = []

    class Watching(MajorityPolicy):
        def state_probabilities(self, acquired, values, missing=None):
            shown.append((acquired, values))
            return np.tile([0.5, 0.5], (len(values), 1))

    policy = Watching(0, RULES)
    policy.trajectories(DATA.X)
    continued(policy, DATA, RULES)
    continued_within(policy, DATA, lambda budget: RULES.replace(budget_cost=budget), (1.0, 2.0))
    assert [acquired.sum(axis=1).max() for acquired, _ in shown] == [0, 3, 2, 1, 2]
    for acquired, values in shown:
        np.testing.assert_array_equal(values, np.where(acquired, DATA.X, 0))


@pytest.mark.parametrize("model", [MixtureClassifier(lam=0.01, random_state=0), DatumWiseClassifier(lam=0.01)])
def test_a_policy_makes_the_same_acquisitions_within_every_budget(model):
    data = Dataset(X, X[:, 1].astype(int), classes=[0, 1], feature_names=["b", "a", "c"], name="bits")
    model.fit(data)

    def rules_at(budget):
        return Rules.for_dataset(data, lam=0.01, budget_cost=budget)

    found = continued_within(model, data, rules_at, [1.0, 2.0, 3.0])
    for budget, done in found.items():
        alone = continued(model, data, rules_at(budget))
        for name in ("order", "acquired", "answers"):
            np.testing.assert_array_equal(getattr(done, name), getattr(alone, name))
        if alone.probabilities is not None:
            np.testing.assert_allclose(done.probabilities, alone.probabilities)


def test_a_policy_that_stops_early_answers_by_what_is_acquired_past_its_stop():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=(300, 5)), rng.integers(0, 3, 300)])
    data = Dataset(values, (values[:, 0] + values[:, 1] > 0) + (values[:, 5] > 1).astype(int))
    train, test = data.split(0.5, 0)
    model = DatumWiseClassifier(lam=0.01, n_iterations=2, random_state=0).fit(train)

    def rules_at(budget):
        return Rules.for_dataset(data, lam=0.01, budget_cost=budget)

    for budget, done in continued_within(model, test, rules_at, [2.0, 4.0, 6.0]).items():
        np.testing.assert_array_equal(done.answers, continued(model, test, rules_at(budget)).answers)


def test_a_method_that_needs_too_long_is_stopped_and_has_the_reason_for_each_score():
    class Endless(CARTClassifier):
        def fit(self, X, y):
            while True:
                pass

    measurement = Measurement((0.3,), ("0.3",), (2.0,), {}, (), "")
    arguments = {"split": RowSplit(20, 10), "by_price": False, "measurement": measurement, "seed": 0}
    found = run_method(dataset=DATA, candidates=[Endless()], limit=0.05, **arguments)
    assert (found["scores"], found["seconds"]) == ([], None)
    assert found["reasons"]["loss"] == "stopped after 0.05 processor seconds, the limit of this suite"
    assert run_method(dataset=DATA, candidates=[CARTClassifier()], limit=60.0, **arguments)["scores"]
