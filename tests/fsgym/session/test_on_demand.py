"""Predictions on demand: what a source must return, unknown values, and policies without a walk of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from agents import Policy
from support.asked_models import asked_model, asked_table
from support.clinic import BLOOD, clinic_model, clinic_table

# small lattices, which are quick to learn, reach their limits
pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")


def source(X, log=None):
    """The values of the clinic's table; ``log`` collects the calls."""

    def get(name, rows):
        if log is not None:
            log.append((name, list(rows)))
        return X.loc[rows, BLOOD] if name == "blood" else X.loc[rows, name]

    return get


@pytest.mark.parametrize(("agent", "lam"), [("lattice", 0.003), ("lattice", 0.0001)])
def test_rows_may_be_numbers_or_keys_and_each_call_is_a_batch(agent, lam):
    model, (X, _) = clinic_model(agent, lam=lam), clinic_table()
    keyed = X.set_axis([f"patient {i}" for i in range(len(X))])
    calls: list = []
    expected = model.predict(X)
    np.testing.assert_array_equal(model.predict_on_demand(source(keyed, calls), list(keyed.index)), expected)
    np.testing.assert_array_equal(model.predict_on_demand(source(X), len(X)), expected)
    fetched = sum(len(rows) for _, rows in calls)
    order = model.trajectories(X).order
    assert fetched == (order >= 0).sum()
    assert len(calls) < fetched / 5
    assert len(model.predict_on_demand(source(X), [])) == 0


def test_a_value_that_does_not_come_is_unknown_and_not_fetched_again():
    model, (X, _) = clinic_model("lattice", lam=0.003), clinic_table()
    first = model.session().next().name
    calls: list = []
    get = source(X.assign(**{first: np.nan}), calls)
    labels = model.predict_on_demand(get, len(X))
    asked = [i for name, rows in calls if name == first for i in rows]
    assert sorted(asked) == list(range(len(X)))
    for i in (0, 1, 2):
        session = model.session()
        while question := session.next():
            if question.name == first:
                session.unknown(first)
            else:
                session.answer(question.name, {c.name: X[c.name][i] for c in question.columns})
        assert session.stop() == labels[i]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda rows: [1.0], "must return 240 values of '{}'"),
        (lambda rows: 1.0, "must return 240 values of '{}'"),
        (lambda rows: np.full(len(rows), np.inf), r"must be numbers from -3.4e\+38 to 3.4e\+38, got inf in row 0"),
        (lambda rows: {"other": [1.0] * len(rows)}, "must return '{}', got other"),
    ],
)
def test_a_source_that_returns_something_else_is_refused(returned, message):
    model = clinic_model("lattice", cheap="crp")
    first = model.session().next()
    assert first.columns[0].kind == "number"
    with pytest.raises((ValueError, TypeError), match=message.format(first.name)):
        model.predict_on_demand(lambda name, rows: returned(rows), 240)


def test_a_group_needs_its_columns_and_rows_must_be_rows():
    model, (X, _) = clinic_model("lattice", cheap="blood"), clinic_table()
    assert model.session().next().name == "blood"
    with pytest.raises(TypeError, match="mapping or DataFrame of wbc, hgb"):
        model.predict_on_demand(lambda name, rows: np.zeros(len(rows)), 5)
    with pytest.raises(TypeError, match="rows must be a sequence"):
        model.predict_on_demand(source(X), "all")
    with pytest.raises(ValueError, match="available must be bool of shape"):
        model.predict_on_demand(source(X), 5, available=np.ones((5, 2), bool))
    with pytest.raises(ValueError, match="available must have all columns"):
        model.predict_on_demand(source(X), 5, available=pd.DataFrame({"age": [True] * 5}))


def test_a_level_that_is_new_counts_as_missing_with_a_warning():
    model = clinic_model("lattice", cheap="ward")
    assert model.session().next().name == "ward"
    with pytest.warns(UserWarning, match=r"levels of 'ward' that training did not \('hospice'\)"):
        model.predict_on_demand(
            lambda name, rows: ["hospice"] * len(rows) if name == "ward" else clinic_table()[0].loc[rows, name], 3
        )


class Plain(Policy):
    """A policy that only has the methods that each policy must have: those of another one."""

    kind = "plain"

    def __init__(self, policy):
        self.policy, self.rules = policy, policy.rules

    def actions(self, acquired, values, legal, *, continue_after_stop=False):
        return self.policy.actions(acquired, values, legal, continue_after_stop=continue_after_stop)

    def to_arrays(self):
        return self.policy.to_arrays()

    @classmethod
    def from_arrays(cls, arrays, header, rules):
        raise NotImplementedError


@pytest.mark.parametrize("agent", ["linear", "lattice", "mixture"])
def test_a_policy_without_advice_of_its_own_is_ranked_by_what_it_does(agent):
    policy = asked_model(agent, "base, mixed").policy_
    X = np.nan_to_num(asked_table("base, mixed")[0].to_numpy(np.float32)[:20])
    acquired = np.random.default_rng(0).random(X.shape) < 0.3
    legal = np.hstack([~acquired, np.ones((len(X), 3), bool)])
    plain, own = Plain(policy).advise(acquired, X, legal), policy.advise(acquired, X, legal)
    np.testing.assert_array_equal(plain.actions, own.actions)
    np.testing.assert_array_equal(plain.beyond, own.beyond)
    np.testing.assert_array_equal(np.isfinite(plain.preference), legal[:, :6])
    np.testing.assert_array_equal(plain.preference.argmax(axis=1), np.where(own.beyond < 0, 0, own.beyond))
    goes_on = own.actions < 6
    np.testing.assert_array_equal(own.actions[goes_on], own.beyond[goes_on])
    np.testing.assert_array_equal(plain.answers[~goes_on], own.actions[~goes_on] - 6)
    np.testing.assert_array_equal(own.answers[~goes_on], own.actions[~goes_on] - 6)
