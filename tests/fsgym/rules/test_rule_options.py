"""The options of ``Rules`` are described once, and every function that takes them takes all of them."""

from __future__ import annotations

import inspect
import json
from typing import get_args

import gymnasium as gym
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV

import fsgym
from agents import RCPI, DatumWiseClassifier, LatticeClassifier, SB3Classifier
from fsgym import Rules
from fsgym.cli.compare import compare as compare_command
from fsgym.cli.options import FORMS
from fsgym.cli.train import train as train_command
from fsgym.envs.registration import make_env, make_vector_env
from fsgym.rules.options import OPTIONS, Form, RuleOptions, RuleOptionsButLam
from support.problems import VARIANTS, C, N

DEFAULTS = {option.name: option.default for option in OPTIONS}
CLASSIFIERS = (DatumWiseClassifier, LatticeClassifier, SB3Classifier)
SURFACES = (*CLASSIFIERS, make_env, make_vector_env, fsgym.compare, train_command, compare_command)


def defaults_of(function):
    return {p.name: p.default for p in inspect.signature(function).parameters.values()}


def test_the_description_is_what_rules_take():
    of_data = ("n_features", "n_classes", "names", "classes", "costs_by_case", "always_known")
    of_rules = {k: v for k, v in defaults_of(Rules).items() if k not in of_data}
    assert list(DEFAULTS.items()) == list(of_rules.items())
    assert RuleOptions.__annotations__.keys() == DEFAULTS.keys()
    assert RuleOptionsButLam.__annotations__.keys() == DEFAULTS.keys() - {"lam"}
    for option in OPTIONS:
        assert option.form in get_args(Form)
        assert option.help.endswith(".")
        assert (option.form == "word") <= (option.default in option.words)
    assert FORMS.keys() == set(get_args(Form))


def test_every_option_has_a_row_in_the_table_of_rules():
    assert DEFAULTS.keys() - {"missing"} == {name for options in VARIANTS.values() for name in options}


OF_RELATED = ("related", "unrelated_costs", "relation", "empty_is_related")
TOGETHER = {"related": OF_RELATED, "unrelated_costs": OF_RELATED, "refer_cost": ("refer_cost", "refer_label")}


@pytest.mark.parametrize("name", [name for name in DEFAULTS if name != "missing"])
def test_every_option_is_told_in_notebooks(name):
    options = next(o for o in VARIANTS.values() if name in o and o[name] != DEFAULTS[name])
    without = {k: v for k, v in options.items() if k not in TOGETHER.get(name, (name,))}
    told, otherwise = (Rules(N, C, **o)._repr_html_() for o in (options, without))
    assert told != otherwise


@pytest.mark.parametrize("surface", SURFACES, ids=lambda f: f"{f.__module__}.{f.__qualname__}")
def test_every_option_is_taken(surface):
    known = defaults_of(surface)
    assert DEFAULTS.keys() <= known.keys()
    assert {name: known[name] for name in DEFAULTS} | {"lam": DEFAULTS["lam"]} == DEFAULTS


@pytest.mark.parametrize("surface", [f for f in SURFACES if f not in (train_command, compare_command)])
def test_an_unknown_option_is_refused_with_a_suggestion(surface):
    of_gymnasium = surface in (make_env, make_vector_env)  # Gymnasium lists all arguments after a TypeError
    error, words = (ValueError, "unknown environment") if of_gymnasium else (TypeError, "got an unexpected keyword")
    with pytest.raises(error, match=rf"{words} argument 'budgett'; did you mean 'budget'\?"):
        surface(budgett=3)
    with pytest.raises(error, match=rf"{words} argument 'prices'; did you mean 'costs'\?"):
        surface(prices=3)
    with pytest.raises(error, match=f"{words} argument 'zzzz'"):
        surface(zzzz=3)


@pytest.mark.parametrize(
    ("make", "wrong", "right"),
    [(Rules, "prices", "costs"), (RCPI, "seed", "random_state"), (LatticeClassifier, "seed", "random_state")],
)
def test_a_word_of_other_packages_is_refused_with_that_of_this_one(make, wrong, right):
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{wrong}'; did you mean '{right}'\?"):
        make(**{wrong: 0})


def test_gymnasium_refuses_an_unknown_option():
    with pytest.raises(ValueError, match="'errorcosts'; did you mean 'error_costs'"):
        gym.make("DatumWise-v0", errorcosts=[[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="'datset'; did you mean 'dataset'"):
        gym.make_vec("DatumWise-v0", 2, datset="wine")
    with pytest.raises(TypeError, match="'bugdet'; did you mean 'budget'"):
        Rules.for_dataset(fsgym.load_dataset("wine"), bugdet=2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_options_make_the_same_rules_again(variant):
    rules = Rules(N, C, **VARIANTS[variant])
    options = rules.options()
    assert options.keys() == DEFAULTS.keys()
    assert json.loads(json.dumps(options)) == options
    again = Rules(N, C, **options)
    assert again.state()[1] == rules.state()[1]
    for one, other in zip(again.tables, rules.tables, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(again.error_costs, rules.error_costs)
    assert again.options() == options


def test_what_is_the_default_is_not_spelled_out():
    assert Rules(N, C).options() == DEFAULTS
    assert Rules(N, C, costs=1, groups=range(N), error_costs=1 - np.eye(C)).options() == DEFAULTS
    assert Rules(2, 2, groups=[[1], [0]]).options()["groups"] == [[1], [0]]


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_estimators_hold_the_options_as_parameters(cls):
    model = cls(0.5, budget=3, costs={"x0": 2.0}, relation="all")
    given = DEFAULTS | {"lam": 0.5, "budget": 3, "costs": {"x0": 2.0}, "relation": "all"}
    assert {name: model.get_params()[name] for name in DEFAULTS} == given
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(budget=None, missing="error").budget is None
    assert "budget=2" in repr(cls(budget=2))


def test_a_grid_search_goes_over_an_option():
    X, y = load_wine(return_X_y=True)
    quick = DatumWiseClassifier(n_iterations=2, states_per_sample=2, random_state=0)
    search = GridSearchCV(quick, {"budget": [0, 4]}, cv=2).fit(X, y)
    assert search.best_params_ == {"budget": 4}
    assert search.best_estimator_.rules_.budget == 4
