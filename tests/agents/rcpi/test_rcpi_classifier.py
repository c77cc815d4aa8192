"""RCPI as a scikit-learn classifier: names, pipelines, searches, missing values, honesty, and invalid parameters."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from agents import DatumWiseClassifier
from fsgym import Dataset, Rules, evaluate, loss_scorer
from support.estimator_checks import expected_failed_checks
from support.model_files import assert_same_trajectories
from support.rcpi_twin import PAIRS, VARIANTS, problem

QUICK = {"n_iterations": 3, "states_per_sample": 4, "random_state": 0}


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted(cancer):
    X, y = cancer
    return DatumWiseClassifier(lam=0.02, **QUICK).fit(X[:285], y[:285])


@pytest.fixture(scope="module")
def plain(cancer):
    """Fitted without names; (model, X, y)."""
    X, y = (np.array(v) for v in cancer)
    return DatumWiseClassifier(lam=0.02, **QUICK).fit(X[:285], y[:285]), X, y


@pytest.mark.slow  # without options: tests/fsgym/methods/test_methods.py
@parametrize_with_checks(
    [DatumWiseClassifier(budget=2, n_iterations=3, random_state=0)], expected_failed_checks=expected_failed_checks
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_predictions_usage_and_trajectories_agree(plain):
    fitted, X, y = plain
    done, used = fitted.trajectories(X), fitted.features_used(X)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[done.answers])
    np.testing.assert_array_equal(used, done.acquired)
    for row, order in zip(used, done.order):
        assert sorted(order[order >= 0]) == np.flatnonzero(row).tolist()
    assert fitted.score(X[285:], y[285:]) > 0.9
    result = evaluate(fitted, Dataset(X, y), fitted.rules_)
    assert result.n_features == used.sum(axis=1).mean()
    assert result.accuracy == fitted.score(X, y)
    assert [row["iteration"] for row in fitted.history_] == [1, 2, 3]


def test_columns_are_found_by_name_in_predict(fitted, cancer):
    X, _ = cancer
    assert fitted.feature_names_in_.tolist() == list(X.columns)
    assert fitted.rules_.names == tuple(X.columns)
    np.testing.assert_array_equal(fitted.predict(X[X.columns[::-1]].assign(other=1)), fitted.predict(X))
    with pytest.raises(ValueError, match="must have the column 'mean area'"):
        fitted.predict(X.rename(columns={"mean area": "size"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        answers = fitted.predict(X.to_numpy())
    np.testing.assert_array_equal(answers, fitted.predict(X))
    with pytest.raises(ValueError, match="must have the column 'worst fractal dimension'"):
        fitted.predict(X[X.columns].iloc[:, :29])


def test_prices_by_name():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.assign(copy=X["flavanoids"])
    prices = dict.fromkeys(X.columns, 1.0) | {"flavanoids": 9.0, "proline": 0.0}
    model = DatumWiseClassifier(lam=0.03, costs=prices, **QUICK).fit(X, y)
    assert model.rules_.costs.tolist() == list(prices.values())
    usage = dict(zip(X.columns, model.features_used(X).mean(axis=0)))
    assert usage["flavanoids"] < 0.2
    assert model.score(X, y) > 0.85
    assert model.costs is prices
    for wrong, word in (({"flavanoids": 1.0}, "no price for"), (prices | {"wine": 1.0}, "not an acquisition")):
        with pytest.raises(ValueError, match=word):
            clone(model).set_params(costs=wrong).fit(X, y)
    few = [[0.0, 1], [1, 0], [2, 1], [3, 0]], [0, 0, 1, 1]
    unnamed = DatumWiseClassifier(costs={"x0": 1, "x1": 2}, **QUICK).fit(*few)
    assert unnamed.rules_.costs.tolist() == [1, 2]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_values_that_are_not_acquired_have_no_effect(variant, missing):
    dataset, _ = problem(variant, missing, n=60)
    model = DatumWiseClassifier(lam=0.02, **QUICK, select="last")
    X, y = dataset.X, dataset.y
    model.set_params(**VARIANTS[variant]).fit(X, y)
    done = model.trajectories(X)
    not_acquired = ~done.acquired & ~np.isnan(X)
    assert not_acquired.any()
    rng = np.random.default_rng(1)
    for huge in (1.0, 1e6, 3e38):
        assert_same_trajectories(model.trajectories(np.where(not_acquired, rng.uniform(-huge, huge, X.shape), X)), done)
    rows = rng.permutation(len(X))
    np.testing.assert_array_equal(model.predict(X[rows]), model.predict(X)[rows])
    assert evaluate(model, dataset, model.rules_).admissible == 1


def test_missing_values_are_not_acquired(cancer):
    X, y = (np.array(v) for v in cancer)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    model = DatumWiseClassifier(lam=0.01, **QUICK).fit(X[:300], y[:300])
    used = model.features_used(X[300:])
    assert used.any()
    assert not (used & np.isnan(X[300:])).any()
    assert model.score(X[300:], y[300:]) > 0.85
    assert model.predict(np.full((2, 30), np.nan)).shape == (2,)
    with pytest.raises(ValueError, match="missing='error'"):
        clone(model).set_params(missing="error").fit(X, y)
    strict = DatumWiseClassifier(missing="error", **QUICK).fit(np.nan_to_num(X), y)
    with pytest.raises(ValueError, match="missing='error'"):
        strict.predict(X)


def test_pipeline_search_and_cross_validation_by_the_loss(cancer):
    X, y = cancer
    rules = Rules(30, 2, lam=0.02)
    chain = make_pipeline(StandardScaler().set_output(transform="pandas"), DatumWiseClassifier(**QUICK))
    search = GridSearchCV(chain, {"datumwiseclassifier__lam": [0.0, 0.02, 10.0]}, scoring=loss_scorer(rules), cv=2)
    search.fit(X, y)
    assert search.best_params_ == {"datumwiseclassifier__lam": 0.02}
    assert search.predict(X).shape == (569,)
    scores = search.cv_results_["mean_test_score"]
    assert scores[2] == pytest.approx(-(y == 0).mean(), abs=0.01)  # without acquiring anything
    result = cross_validate(
        DatumWiseClassifier(lam=0.02, **QUICK),
        X,
        y,
        cv=3,
        scoring={"loss": loss_scorer(rules), "accuracy": "accuracy"},
    )
    assert (result["test_accuracy"] > 0.85).all()
    assert (result["test_loss"] > -0.3).all()


def test_parameters_stay_as_given_and_are_cloned():
    options = {"groups": PAIRS, "costs": [1, 2, 3], "budget": 2, "error_costs": 1 - np.eye(3), "n_rollouts": 2}
    model = DatumWiseClassifier(0.3, **options, **QUICK)
    assert {k: model.get_params()[k] for k in options} == options
    copy = clone(model)
    assert copy.get_params().keys() == model.get_params().keys()
    assert not hasattr(copy, "policy_")
    dataset, _ = problem("base", False)
    assert model.fit(dataset.X, dataset.y) is model
    assert {k: model.get_params()[k] for k in options} == options
    assert_same_trajectories(copy.fit(dataset.X, dataset.y).trajectories(dataset.X), model.trajectories(dataset.X))
    assert repr(DatumWiseClassifier(0.3, budget=2)) == "DatumWiseClassifier(budget=2, lam=0.3)"


def test_text_labels_and_error_costs_in_sorted_order():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(["well", "ill"], [300, 100]))
    X = (y == "well")[:, None] + rng.normal(size=(400, 2))
    model = DatumWiseClassifier(lam=0.001, error_costs=[[0, 1], [20, 0]], **QUICK).fit(X, y)
    assert model.classes_.tolist() == ["ill", "well"]
    assert (model.predict(X) == "ill").mean() > 0.6  # answering "well" to the ill costs twenty times more
    assert set(model.predict(X)) <= {"ill", "well"}
    plain = DatumWiseClassifier(lam=0.001, **QUICK).fit(X, pd.Series(y, dtype="category"))
    assert (plain.predict(X) == "ill").mean() < 0.4


def test_a_loaded_classifier_is_the_saved_one(fitted, cancer, tmp_path):
    X, y = cancer
    fitted.save(tmp_path / "model")
    again = DatumWiseClassifier.load(tmp_path / "model")
    assert_same_trajectories(again.trajectories(X), fitted.trajectories(X))
    assert again.feature_names_in_.tolist() == fitted.feature_names_in_.tolist()
    np.testing.assert_array_equal(again.predict(X[X.columns[::-1]]), fitted.predict(X))
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()
    # its parameters define the same rules, so a new fit gives the same model
    np.testing.assert_array_equal(again.set_params(**QUICK).fit(X[:285], y[:285]).predict(X), fitted.predict(X))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.one_in(2)
def test_the_parameters_of_a_loaded_classifier_are_its_rules(variant, tmp_path):
    dataset, _ = problem(variant, False)
    model = DatumWiseClassifier(**VARIANTS[variant], n_iterations=1).fit(dataset.X, dataset.y)
    model.save(tmp_path / "model")
    again = clone(DatumWiseClassifier.load(tmp_path / "model")).fit(dataset.X, dataset.y)
    assert repr(again.rules_) == repr(model.rules_)
    for name in ("costs", "unrelated_costs", "error_costs", "related", "prerequisites"):
        np.testing.assert_array_equal(getattr(again.rules_, name), getattr(model.rules_, name))


def test_invalid_data_are_refused_in_one_sentence():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    model = DatumWiseClassifier(**QUICK)
    for table, labels, word in (
        (X, np.zeros(20), "one class only"),
        (X, y[:-1], "inconsistent numbers of samples"),
        (X, X[:, 0], "continuous"),
        (X, np.where(y, np.nan, 1.0), "NaN"),
        (X[:, 0], y, "Expected 2D array"),
        (X[None], y, "dim 3"),
        (X[:0], y[:0], "0 sample"),
        (X[:, :0], y, "0 feature"),
        (X + 1j, y, "[Cc]omplex"),
        (np.where(X > 1, np.inf, X), y, "infinity"),
        (X * 1e300, y, "X must hold numbers from .*, got .* in row 0 of column 0"),
        (np.array([["a", "b", "c"]] * 20), y, "X must hold numbers .*, got 'a'"),
    ):
        with pytest.raises(ValueError, match=word):
            model.fit(table, labels)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.save("nowhere")


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("lam", -1, "lam"),
        ("lam", np.nan, "lam"),
        ("lam", "cheap", "lam"),
        ("lam", 1e200, "must not add up"),
        ("budget", -1, "budget"),
        ("budget", 1.5, "budget"),
        ("budget_cost", 0.5, "below the cheapest"),
        ("costs", [1, 2], r"shape \(3,\)"),
        ("costs", [1, 2, np.nan], "finite"),
        ("costs", [1, 2, -3], "negative"),
        ("costs", "cheap", "numbers"),
        ("error_costs", np.zeros((3, 3)), "shape"),
        ("error_costs", "dear", "matrix"),
        ("groups", [[0, 1]], "cover"),
        ("groups", [[0, 1], [1, 2]], "overlap"),
        ("groups", "ab", "groups"),
        ("related", np.eye(3), "needs unrelated_costs"),
        ("unrelated_costs", 2, "needs related"),
        ("prerequisites", np.ones((3, 3)), "cycle"),
        ("relation", "some", "relation"),
        ("missing", "drop", "missing"),
        ("n_iterations", 0, "n_iterations"),
        ("alpha", 1, "alpha"),
        ("ridge", 0, "ridge"),
        ("select", None, "select"),
        ("mixture", None, "mixture"),
        ("n_rollouts", "1", "n_rollouts"),
        ("random_state", "x", "random_state"),
        ("states_per_sample", -1, "states_per_sample"),
        ("n_jobs", 0.5, "n_jobs"),
        ("budget", 10**30, None),
    ],
)
def test_invalid_parameters_are_refused_in_one_sentence(option, value, word):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    model = DatumWiseClassifier(**{**QUICK, option: value})
    if word is None:
        assert model.fit(X, y).predict(X).shape == (20,)
    else:
        with pytest.raises((ValueError, TypeError), match=word) as caught:
            model.fit(X, y)
        assert "\n" not in str(caught.value)


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.lists(st.floats(), max_size=4),
    st.lists(st.lists(st.integers(-2, 4), max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=2), st.floats(), max_size=3),
    arrays(np.float64, (3, 3)),
    arrays(np.int64, (3,), elements=st.integers(-1, 3)),
    st.just(object()),
    arrays(np.bool_, (3, 3)),
    st.just(np.array("x", dtype=object)),
    st.complex_numbers(),
)
SLOW = {"n_iterations", "n_rollouts", "states_per_sample"}  # large values are valid, but take long
NAMES = sorted(DatumWiseClassifier().get_params().keys() - SLOW)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(options=st.dictionaries(st.sampled_from(NAMES), ANYTHING, min_size=1, max_size=3))
def test_any_parameters_give_a_model_or_one_sentence(options):
    X, y = np.random.default_rng(0).normal(size=(8, 3)), np.arange(8) % 2
    model = DatumWiseClassifier(n_iterations=1, states_per_sample=1).set_params(**options)
    if isinstance(options.get("n_jobs"), int) and abs(options["n_jobs"]) > 4:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "nonzero=True is for tables of mostly zeros", UserWarning)  # as it is not
        try:
            answers, message = model.fit(X, y).predict(X), "no error"
            possible = {0, 1} if model.rules_.refer_cost is None else {0, 1, model.rules_.refer_label}
        except (ValueError, TypeError) as error:
            answers, message, possible = [], str(error), set()
    assert set(answers) <= possible
    assert message
    assert "\n" not in message
    assert len(message) < 500


VALUES = st.floats(-(2.0**127), 2.0**127, width=32) | st.just(np.nan)


@settings(max_examples=60, deadline=None)
@given(X=arrays(np.float64, (8, 3), elements=VALUES), data=st.data())
def test_any_table_of_single_precision_numbers_can_be_learnt(X, data):
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    model = DatumWiseClassifier(lam=0.0, n_iterations=2, random_state=0).fit(X, y)
    other = data.draw(arrays(np.float64, (5, 3), elements=VALUES))
    for table in (X, other):
        done = model.trajectories(table)
        assert set(done.answers) <= {0, 1, 2}
        assert not (done.acquired & np.isnan(table)).any()
