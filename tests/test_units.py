"""The unit of a column, a constant added to it, and the currency of costs have no effect on any method."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

import fsgym
from agents import (
    AdaptiveClassifier,
    AnyStateNetworkClassifier,
    DatumWiseClassifier,
    LatticeClassifier,
    MixtureClassifier,
)
from baselines import (
    CARTClassifier,
    CEGBClassifier,
    ForestSelectionClassifier,
    GBFSClassifier,
    GroupLassoClassifier,
    HSICLassoClassifier,
    L1LogisticClassifier,
    L1SVMClassifier,
    LassoPathClassifier,
    MRMRClassifier,
    PanelClassifier,
    StoppingClassifier,
)
from fsgym import Dataset

TREES = {"full tree": CARTClassifier(random_state=0), "cart": CARTClassifier(0.005, random_state=0)}
AGENTS = {
    "rcpi": DatumWiseClassifier(0.02, states_per_sample=5, random_state=0),
    "lattice": LatticeClassifier(0.1, random_state=0),
}
OTHERS = {
    "cegb": CEGBClassifier(0.01, n_estimators=20, random_state=0),
    "l1_logistic": L1LogisticClassifier(0.05, random_state=0),
    "l1_svm": L1SVMClassifier(0.1, random_state=0),
    "lars": LassoPathClassifier(0.1),
    "panel": PanelClassifier(0.02, random_state=0),
    "stopping": StoppingClassifier(0.02, random_state=0),
    "gbfs": GBFSClassifier(mu_rel=0.1, n_iter=20, random_state=0),
    "group_lasso": GroupLassoClassifier(0.1),
    "forest": ForestSelectionClassifier(4, n_estimators=10, random_state=0),
    "mrmr": MRMRClassifier(4),
    "hsic_lasso": HSICLassoClassifier(4, random_state=0),
}
if find_spec("lightgbm") is None:
    del OTHERS["cegb"]
METHODS = TREES | AGENTS | OTHERS
# RCPI learns on states that its own decisions reach, and so few last bits change several rows of the 72.
EQUAL_ANSWERS = {"rcpi": 0.93}
SLOW = ("rcpi", "cegb", "gbfs", "hsic_lasso")
PEERS = ["cart", "cegb", "l1_logistic", "lattice", "panel", "rcpi", "stopping"]  # in comparisons
rng = np.random.default_rng(0)
POWERS = {"2^-20": 2.0**-20, "mixed": 2.0 ** rng.integers(-30, 30, 30)}
OTHER_UNITS = {"1e-6": 1e-6, "1e6": 1e6}


@cache
def table(name):
    """Training and test rows of a table: X, y, X, float64."""
    X, y = load_wine(return_X_y=True) if name == "wine" else load_breast_cancer(return_X_y=True)
    train, test, y_train, _ = train_test_split(X, y, test_size=0.4, stratify=y, random_state=100)
    if name == "few":  # columns of the breast cancer table, for slow methods
        train, test = train[::2, [1, 7, 9, 20, 21, 27]], test[:, [1, 7, 9, 20, 21, 27]]
        y_train = y_train[::2]
    return train, y_train, test


def answers(method, train, y, test):
    model = METHODS[method].__class__(**METHODS[method].get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train, y)
    return model.predict(test), model.features_used(test)


@cache
def original(method, name):
    return answers(method, *table(name))


def shifts(train, test):
    """A constant a million times a column's range, which is added to it."""
    return 1e6 * np.ptp(np.concatenate([train, test]), axis=0)


def tables_of(method):
    return ["few"] if method == "lattice" else ["wine"] if method in SLOW else ["wine", "breast cancer"]


EVERY = [(method, name) for method in METHODS for name in tables_of(method)]
# These fit several classifiers; one table shows it.
SEVERAL = [pair for pair in EVERY if pair[0] in ("panel", "stopping") and pair[1] == "breast cancer"]
EVERY_OR_SLOW = [pytest.param(*pair, marks=pytest.mark.slow) if pair in SEVERAL else pair for pair in EVERY]


def answers_in_unit(method, name, factor):
    """Answers and features used after a fit on columns times ``factor``, a number or one per column."""
    train, y, test = table(name)
    factor = np.broadcast_to(factor, 30)[: train.shape[1]]
    return answers(method, train * factor, y, test * factor)


# One factor for all columns is slow: the mixed ones, from 2^-30 to 2^29, include such a unit.
@pytest.mark.parametrize("unit", ["mixed", pytest.param("2^-20", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("method", "name"), EVERY_OR_SLOW)
@pytest.mark.one_in(2)
def test_a_power_of_two_changes_no_answer_and_no_feature(method, name, unit):
    predicted, used = answers_in_unit(method, name, POWERS[unit])
    np.testing.assert_array_equal(predicted, original(method, name)[0])
    np.testing.assert_array_equal(used, original(method, name)[1])


@pytest.mark.parametrize("unit", OTHER_UNITS)
@pytest.mark.parametrize(("method", "name"), EVERY_OR_SLOW)
@pytest.mark.one_in(2)
def test_a_unit_changes_hardly_an_answer(method, name, unit):
    predicted, _ = answers_in_unit(method, name, OTHER_UNITS[unit])
    assert (predicted == original(method, name)[0]).mean() >= EQUAL_ANSWERS.get(method, 0.99)


@pytest.mark.parametrize(("method", "name"), EVERY_OR_SLOW)
def test_a_constant_added_to_a_column_changes_hardly_an_answer(method, name):
    train, y, test = table(name)
    shift = shifts(train, test)
    predicted, _ = answers(method, train + shift, y, test + shift)
    assert (predicted == original(method, name)[0]).mean() >= EQUAL_ANSWERS.get(method, 0.99)


@pytest.mark.parametrize("method", ["rcpi", "cart"])
def test_a_shifted_data_frame(method):
    train, y, test = (pd.DataFrame(v) if v.ndim == 2 else v for v in table("wine"))
    train.columns = test.columns = names = [f"c{j:02}" for j in range(13)]
    assert list(names) == sorted(names)
    shift = shifts(train, test)
    predicted, _ = answers(method, train + shift, y, test + shift)
    assert (predicted == original(method, "wine")[0]).mean() >= EQUAL_ANSWERS.get(method, 0.99)


QUICK = ("cart",)  # the others take seconds each
# RCPI learns on states that its own policies reach: a last bit of a value may send it to other states, and single
# splits differ in a row or two and in nearly one feature. Means over three splits are compared instead.
OVER_SPLITS = {"rcpi": (3, 0.3)}  # splits, tolerance of the number of features


@pytest.mark.parametrize("method", [m if m in QUICK else pytest.param(m, marks=pytest.mark.slow) for m in PEERS])
def test_a_comparison_has_the_same_figures_in_any_unit(method):
    X, y = load_wine(return_X_y=True)
    splits, tolerance = OVER_SPLITS.get(method, (1, 0.02))
    figures = {}
    for name, table in (
        ("as it is", X),
        ("scaled", X * POWERS["mixed"][:13]),
        ("shifted", X + 1e6 * np.ptp(X, axis=0)),
    ):
        result = fsgym.compare(Dataset(table, y), {method: METHODS[method]}, splits=splits, references=False)
        first = result[(result["method"] == method) & (result["setting"] == 0)]
        figures[name] = first[["accuracy", "n_features"]].to_numpy()
    np.testing.assert_array_equal(figures["scaled"], figures["as it is"])
    accuracy, n_features = np.abs((figures["shifted"] - figures["as it is"]).mean(axis=0))
    assert accuracy <= 0.02
    assert n_features <= tolerance


def test_a_tree_separates_values_that_differ_by_little():
    """scikit-learn's trees take values as equal that differ by up to 1e-7."""
    X = np.arange(40.0)[:, None] * 1e-9
    y = np.arange(40) % 2
    assert CARTClassifier().fit(X, y).score(X, y) == 1.0
    assert CARTClassifier().fit(X + 1.0, y).score(X + 1.0, y) == 1.0
    columns = np.hstack([X, X * 1e9])
    np.testing.assert_array_equal(CARTClassifier().fit(columns, y).scaling_.scale[1], 1.0)


# What errors cost in another currency, with ``lam`` in it, or prices in another one, and what every answer to a class
# costs alike: no decision may change. Powers of two, so that nothing is rounded.
PRICED = {
    "lattice": lambda **rules: LatticeClassifier(**rules, random_state=0),
    "mixture": lambda **rules: MixtureClassifier(**rules, random_state=0),
    "network": lambda **rules: AnyStateNetworkClassifier(**rules, n_steps=100, random_state=0),
    "rcpi": lambda **rules: DatumWiseClassifier(**rules, states_per_sample=5, random_state=0),
    "panel": lambda **rules: PanelClassifier(**rules, random_state=0),
    "stopping": lambda **rules: StoppingClassifier(**rules, random_state=0),
    "adaptive": lambda **rules: AdaptiveClassifier(**rules, random_state=0),
}
QUICK_PRICED = ("lattice", "mixture", "panel", "rcpi", "stopping")
OF_PRICED = [m if m in QUICK_PRICED else pytest.param(m, marks=pytest.mark.slow) for m in PRICED]
ERRORS = np.array([[0.0, 1.0], [0.25, 0.0]])


def answers_at(method, lam=0.01, errors=ERRORS, prices=1.0):
    train, y, test = table("few")
    costs = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0]) * prices
    model = PRICED[method](lam=lam, error_costs=errors, costs=costs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train, y)
    return model.predict(test), model.features_used(test)


@cache
def at_usual_costs(method):
    found = answers_at(method)
    assert 0 < found[1].sum() < found[1].size
    return found


@pytest.mark.parametrize("method", OF_PRICED)
def test_a_currency_changes_no_answer_and_no_feature(method):
    for factor, prices in ((2.0**20, 1.0), (2.0**-20, 1.0), (2.0**10, 2.0**-10)):
        found = answers_at(method, 0.01 * factor / prices, ERRORS * factor, prices)
        np.testing.assert_array_equal(found[0], at_usual_costs(method)[0])
        np.testing.assert_array_equal(found[1], at_usual_costs(method)[1])


@pytest.mark.parametrize("method", OF_PRICED)
def test_a_reward_for_each_case_changes_no_answer_and_no_feature(method):
    for alike in (-1.0, 16.0):
        found = answers_at(method, errors=ERRORS + alike)
        np.testing.assert_array_equal(found[0], at_usual_costs(method)[0])
        np.testing.assert_array_equal(found[1], at_usual_costs(method)[1])


# The lattice's regressions have the expected error cost as a column, with what right answers cost by class. RCPI is
# not here: it learns from rewards as they are.
LOSS_OF_REWARDS = {"lattice": 0.005, "mixture": 0.0, "panel": 0.0, "stopping": 0.0}


@pytest.mark.parametrize("method", LOSS_OF_REWARDS)
def test_what_all_answers_to_a_class_cost_hardly_changes_a_loss(method):
    y = load_breast_cancer().target
    y_test = train_test_split(y, test_size=0.4, stratify=y, random_state=100)[1]
    prices = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 2.0])

    def loss(found):
        return (ERRORS[found[0], y_test] + 0.01 * found[1] @ prices).mean()

    for of_class in ([-4.0, 2.0], [8.0, 0.0]):
        found = answers_at(method, errors=ERRORS + np.array(of_class))
        assert loss(found) <= loss(at_usual_costs(method)) + LOSS_OF_REWARDS[method]


def test_rewards_do_not_move_the_price_of_a_target():
    train, y, _ = table("few")
    targets = {}
    for of_class in (0.0, np.array([-64.0, 0.0])):
        model = MixtureClassifier(target_features=2.0, error_costs=ERRORS + of_class, random_state=0).fit(train, y)
        targets[str(of_class)] = model.lam_, model.expected_n_features_
    first, second = targets.values()
    assert first == second


def test_costs_of_a_billion_are_saved_and_read(tmp_path):
    train, y, test = table("few")
    errors = 4.0e8 * np.array([[-1.0, 1.0], [1.0, -1.0]])
    model = MixtureClassifier(error_costs=errors * 2.2, lam=1e6, random_state=0).fit(train, y)
    model.save(tmp_path / "model")
    assert np.array_equal(MixtureClassifier.load(tmp_path / "model").predict(test), model.predict(test))


@pytest.mark.parametrize("method", ["lattice", "mixture"])
def test_going_on_costs_the_price_and_what_right_answers_cost(method):
    train, y, test = table("few")
    right = np.array([80.0, 20.0])
    errors, known = 400.0 * ERRORS + right, {f"x{j}": float(v) for j, v in enumerate(test[0])}
    model = PRICED[method](lam=1.0, error_costs=errors, costs=[1.0, 2.0, 1.0, 3.0, 1.0, 60.0]).fit(train, y)
    for row in test[:40]:
        step = model.step({name: float(v) for name, v in zip(list(known)[:5], row, strict=False)})
        if step.expected_cost.go_on is not None:
            shares = np.array(list(step.probabilities.values()))
            assert step.expected_cost.go_on >= min(a.price for a in step.alternatives) + shares @ right - 1e-9
