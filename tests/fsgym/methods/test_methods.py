"""Tests of every method in the table: scikit-learn's contract, honest usage, reproducible answers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.utils.estimator_checks import parametrize_with_checks

from agents import BaseAgentClassifier
from fsgym.methods import METHODS as OWN
from fsgym.methods import REFERENCES, Method, load_class, supported_options
from support.estimator_checks import expected_failed_checks
from support.f_statistic import FStatisticClassifier
from support.majority import MajorityClassifier
from support.method_tables import TABLES, honest_usage, honest_usage_of_columns
from support.outside import TopFeatures
from support.patients import GROUPS, features_and_labels, patients
from support.quick_methods import SAME_AS, or_slow, quick_estimator
from support.recipes import entry_of

# A small lattice reaches its limit sooner, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")

# A baseline from outside, and the baseline and the agent of docs/extend, are held to the same contract.
METHODS = OWN | {
    "top": Method("Top features", TopFeatures, False),
    "f_statistic": entry_of("f_statistic")._replace(estimator=FStatisticClassifier),
    "majority": entry_of("majority")._replace(estimator=MajorityClassifier),
}
AGENTS = [name for name in METHODS if issubclass(load_class(METHODS[name]), BaseAgentClassifier)]
PLAIN = [name for name, method in METHODS.items() if not method.prices]


def make_estimator(name: str) -> Any:
    return quick_estimator(name, METHODS[name])


def settings_of(model: Any, name: str, X, y) -> list[dict[str, Any]]:
    """Some of the settings that a comparison would fit."""
    return [{"lam": 0.05}] if METHODS[name].prices else model.sparsity_grid(X, y)[::3]


@cache
def wine():
    """Part of it, with names."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.iloc[::2, :6], y[::2]


@cache
def fitted_on_wine(name: str) -> Any:
    return make_estimator(name).fit(*wine())


# A group LASSO with another penalty, or a further learner of an agent, validates in the same lines.
SAME_CHECKS = [*SAME_AS, "sparse_group_lasso"]


@pytest.mark.one_in(4)
@parametrize_with_checks(
    [make_estimator(name) for name in METHODS if name not in SAME_CHECKS], expected_failed_checks=expected_failed_checks
)
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")  # by the panel, where labels are random
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([make_estimator(name) for name in SAME_CHECKS], expected_failed_checks=expected_failed_checks)
def test_scikit_learn_contract_of_further_learners(estimator, check):
    check(estimator)


@pytest.mark.parametrize("table", ["dependent", "wide"])
@pytest.mark.parametrize("name", or_slow([*METHODS]))
@pytest.mark.filterwarnings("ignore::UserWarning")  # no feature selected, or fewer than requested
@pytest.mark.one_in(2)
def test_answers_depend_on_used_values_only(name, table):
    X, y = (v[:100] for v in TABLES[table])
    model, whole = make_estimator(name), []
    for setting in settings_of(model, name, X, y):
        used = honest_usage(clone(model).set_params(**setting).fit(X, y), X, largest=3e38)
        whole.append(used.all())
    assert all(whole) == (name == "everything")


# Options under which an acquisition costs at least lam; the largest error cost is 1, or given.
DEAR = {
    "one price": {},
    "prices": {"costs": [1, 2, 1, 3, 1]},
    "groups": {"groups": [[0, 1], [2], [3, 4]]},
    "error costs": {"error_costs": [[0, 1, 9], [2, 0, 3], [1, 4, 0]]},
}


PRICED = [
    pytest.param(name, marks=pytest.mark.slow) if name in {*SAME_AS, "maskable_ppo"} - {"rcpi_printed"} else name
    for name, method in OWN.items()
    if method.prices
]


@pytest.mark.parametrize("options", DEAR.values(), ids=DEAR)
@pytest.mark.parametrize("name", PRICED)
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@pytest.mark.one_in(4)
def test_where_an_acquisition_costs_more_than_any_error_none_is_made(name, options):
    """Features that determine the class are not worth it; each row has the answer of least expected cost."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 150, p=[0.45, 0.25, 0.3])  # linear answers score the class in the middle too low
    X = rng.normal(size=(150, 5)) + np.outer(y, [0, 2, 0, -1, 0])
    model = make_estimator(name)
    known = {k: v for k, v in options.items() if k in model.get_params()}
    costs = np.array(known.get("error_costs", 1 - np.eye(3)))
    if name in ("maskable_ppo", "dqn"):  # which learn it in a fifth of their default length
        model.set_params(total_timesteps=20_000, num_envs=64, options=None)
    model.set_params(lam=1.01 * costs.max(), **known).fit(X, y)
    assert not model.features_used(X).any()
    assert (model.predict(X) == (costs @ np.bincount(y)).argmin()).all()


REFERRING = [name for name in METHODS if "refer_cost" in load_class(METHODS[name])().get_params()]


@pytest.mark.parametrize("name", or_slow(REFERRING))
def test_a_case_is_referred_where_that_is_cheapest(name):
    """Where no column tells two classes apart; and wherever it is, by the class probabilities of the method, if any."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    noise = rng.normal(size=(200, 3))
    model = make_estimator(name).set_params(lam=0.02, refer_cost=0.05).fit(noise, y)
    referred = (model.predict(noise) == "a person").mean()
    assert referred > 0.9, f"referring is cheapest, but {referred:.0%} were referred; use the answer_costs of the rules"

    X = noise + np.outer(y, [2.0, 0.0, 0.0])
    model.set_params(lam=0.01, refer_cost=0.15).fit(X, y)
    done = model.trajectories(X) if isinstance(model, BaseAgentClassifier) else None
    if done is not None and done.probabilities is not None:
        expected = done.probabilities @ model.rules_.answer_costs.T
        chosen = expected[np.arange(len(X)), done.answers]
        np.testing.assert_allclose(chosen, expected.min(axis=1), atol=1e-6)


def nothing_to_learn(table: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels that do not depend on the columns, of which the most frequent one is the first, or the last of three."""
    rng = np.random.default_rng(0)
    if table == "constant":
        return np.tile([1.0, 0.0, -3.0], (40, 1)), np.repeat(["a", "b"], [26, 14])
    y = rng.permutation(np.repeat(["a", "b", "c"], [10, 15, 25]))
    if table == "noise":
        return rng.normal(size=(50, 3)), y
    return np.tile(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]), (10, 1)), np.sort(y)


@pytest.mark.parametrize("table", ["noise", "constant", "binary"])
@pytest.mark.parametrize("name", or_slow([name for name in METHODS if METHODS[name].extra != "rl"]))
@pytest.mark.filterwarnings("ignore::UserWarning")  # no feature selected, or fewer than requested
@pytest.mark.one_in(3)
def test_a_row_of_which_nothing_is_used_gets_the_largest_class(name, table):
    """At the most restrictive setting, the least restrictive one, and that without features.

    The agents of deep reinforcement learning learn their answers as they learn their acquisitions.
    """
    X, y = nothing_to_learn(table)
    largest = max(sorted(set(y)), key=y.tolist().count)
    model = make_estimator(name)
    settings = [{"lam": 0.01}, {"lam": 30.0}] if METHODS[name].prices else model.sparsity_grid(X, y)
    settings = [{}, settings[0], settings[-1], getattr(model, "empty_setting", {})]
    nothing_used = 0
    for setting in settings:
        fitted = clone(model).set_params(**setting).fit(X, y)
        empty = ~fitted.features_used(X).any(axis=1)
        assert (fitted.predict(X[empty]) == largest).all() if empty.any() else True
        nothing_used += empty.sum()
        if hasattr(fitted, "decision_function") and empty.any():
            scores = np.asarray(fitted.decision_function(X[empty]))
            codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
            assert (fitted.classes_[codes] == largest).all()
    assert nothing_used or name == "everything"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("name", or_slow(AGENTS))
def test_answers_of_agents_depend_on_used_columns_only(name, grouped):
    X, _ = features_and_labels(patients(rows=200))
    y = np.where(X["arrival"] == "walk-in", X["age"] > 55, X["smoker"])
    model = make_estimator(name).set_params(lam=0.001, groups=GROUPS if grouped else None)
    used = honest_usage_of_columns(model.fit(X.astype({"age": float, "pain": float}), y), X)
    assert not used.all()
    assert used.any() or METHODS[name].uses.startswith("none")


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "hkl"])  # which makes Boolean features of levels
def test_baselines_refuse_text(name):
    X, y = features_and_labels(patients(rows=80).dropna())
    with pytest.raises(ValueError, match="could not convert string to float"):
        make_estimator(name).fit(X, y)


@pytest.mark.parametrize("name", or_slow([*METHODS]))
@pytest.mark.one_in(2)
def test_names_come_from_pandas_and_must_return(name):
    (X, y), model = wine(), fitted_on_wine(name)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.features_used(X).shape == X.shape
    with pytest.raises(ValueError, match=r"feature names|must have the column 'alcohol'"):
        model.predict(X.rename(columns={"alcohol": "spirit"}))
    words = pd.Series(np.array(["red", "white", "rose"])[y])
    assert set(make_estimator(name).fit(X, words).predict(X)) <= {"red", "white", "rose"}


@pytest.mark.parametrize("name", or_slow([*METHODS]))
@pytest.mark.one_in(2)
def test_a_seed_fixes_everything(name):
    (X, y), first = wine(), fitted_on_wine(name)
    second = make_estimator(name).fit(X, y)
    np.testing.assert_array_equal(first.features_used(X), second.features_used(X))
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


@pytest.mark.parametrize("name", PLAIN)
def test_sparsity_grid_is_a_handful_of_settings_and_changes_nothing(name):
    for X, y in TABLES.values():
        model = make_estimator(name)
        before = model.get_params()
        grid = model.sparsity_grid(X, y)
        assert 4 <= len(grid) <= 12 or name in REFERENCES
        assert grid == model.sparsity_grid(X, y)
        assert model.get_params() == before
        assert not hasattr(model, "classes_")
        for setting in grid:
            clone(model).set_params(**setting)


@pytest.mark.parametrize("name", METHODS)
def test_one_class_is_refused_in_a_sentence(name):
    X, model = np.arange(12.0).reshape(6, 2), make_estimator(name)
    for call in (model.fit, *([] if METHODS[name].prices else [model.sparsity_grid])):
        with pytest.raises(ValueError, match=r"at least two classes, got (1|one) class .*a"):
            call(X, ["a"] * 6)
        with pytest.raises(ValueError, match="continuous"):
            call(X, X[:, 0] + 0.5)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name == "everything" else name for name in PLAIN],  # 500 trees
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # LIBLINEAR does not reach its tolerance on every table
@settings(max_examples=25, deadline=None)
@given(data=st.data())
@pytest.mark.one_in(2)
def test_any_finite_table_can_be_learnt(name, data):
    X = data.draw(arrays(np.float64, (8, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    model = make_estimator(name)
    grid = model.sparsity_grid(X, y)
    model.set_params(**grid[len(grid) // 2]).fit(X, y)
    used, answers = model.features_used(X), model.predict(X)
    corrupted = np.where(used, X, -1.7e308)
    np.testing.assert_array_equal(model.predict(corrupted), answers)
    np.testing.assert_array_equal(model.features_used(corrupted), used)


@pytest.mark.parametrize(
    ("costs", "apart", "told"),
    [([1.0, 2.0], [3.0, 0.5], [3.0, 2.0]), (None, [3.0, 0.5], [3.0, 1.0]), ([1.0, 2.0], "forbid", [1.0, 2.0])],
)
def test_a_method_without_relations_is_told_the_larger_price_of_an_acquisition(costs, apart, told):
    options = {"costs": costs, "unrelated_costs": apart, "related": [[False, True], [True, False]]}
    assert supported_options(load_class(OWN["cegb"]), options) == {"costs": told}
    assert supported_options(load_class(OWN["panel"]), options) == options
