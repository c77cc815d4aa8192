"""The lattice classifier as a whole: accuracy, honesty, reproducibility, model files and invalid input."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from agents import DatumWiseClassifier, LatticeClassifier, LatticePolicy, load_classifier, model_file
from agents.lattice.learn import limit_warning
from fsgym import Dataset, DatumWiseEnv, Rules, evaluate
from fsgym.comparison.protocol import PAPER_PRICES, UNIT_PRICES
from fsgym.text.messages import as_command
from support.estimator_checks import expected_failed_checks
from support.model_files import assert_same_trajectories
from support.rcpi_twin import VARIANTS, problem


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return LatticeClassifier(unknown=0, lam=0.02, random_state=0).fit(X[:250], y[:250]), X, y


def context_task(n_rows, seed=0, n_blocks=4, wide=2):
    """The first feature says which block of ``wide`` features is informative; it is uninformative on its own."""
    rng = np.random.default_rng(seed)
    block, y = rng.integers(0, n_blocks, n_rows), rng.integers(0, 2, n_rows)
    values = rng.normal(size=(n_rows, n_blocks, wide))
    values[np.arange(n_rows), block] += 1.6 * (2 * y[:, None] - 1)
    return np.column_stack([block, values.reshape(n_rows, -1)]).astype(np.float32), y


def test_the_context_is_acquired_first_and_then_its_block():
    X, y = context_task(1200)
    model = LatticeClassifier(unknown=0, lam=0.02, random_state=0).fit(X[:600], y[:600])
    rcpi = DatumWiseClassifier(lam=0.02, n_iterations=5, random_state=0).fit(X[:600], y[:600])
    test = Dataset(X[600:], y[600:])
    result = evaluate(model, test, model.rules_)
    assert result.loss < evaluate(rcpi, test, model.rules_).loss - 0.1
    done = model.trajectories(X[600:])
    assert (done.order[:, 0] == 0).mean() > 0.95
    in_block = (done.order[:, 1] - 1) // 2 == X[600:, 0]
    assert in_block[done.lengths > 1].mean() > 0.95


@pytest.mark.filterwarnings("ignore:.*reached its limit of subsets")
@pytest.mark.parametrize("missing", [pytest.param(False, marks=pytest.mark.slow), True], ids=["full", "missing"])
@pytest.mark.parametrize(
    "variant", [pytest.param(v, marks=pytest.mark.slow if k % 2 else ()) for k, v in enumerate(VARIANTS)]
)
def test_values_that_are_not_acquired_have_no_effect_and_no_action_is_illegal(variant, missing):
    dataset, _ = problem(variant, missing, n=36)
    X, y = dataset.X, dataset.y
    options = {"lam": 0.01, **VARIANTS[variant]}
    model = LatticeClassifier(effort=0.1, random_state=0, unknown=0.1 * missing).set_params(**options).fit(X, y)
    done = model.trajectories(X)
    not_acquired = ~done.acquired & ~np.isnan(X)
    rng = np.random.default_rng(1)
    for huge in (1.0, 3e38):
        assert_same_trajectories(model.trajectories(np.where(not_acquired, rng.uniform(-huge, huge, X.shape), X)), done)
    assert not (done.acquired & np.isnan(X)).any()
    result = evaluate(model, dataset, model.rules_)
    assert result.admissible == 1
    X_new = rng.uniform(-1, 1, X.shape).astype(np.float32)
    X_new[rng.random(X.shape) < 0.3] = np.nan
    other = Dataset(X_new, y)
    assert evaluate(model, other, model.rules_).admissible == 1
    live = evaluate(lambda o, m: act(model, o, m), DatumWiseEnv(dataset, model.rules_))
    assert_same_trajectories(live.trajectories, done)
    assert live.illegal == 0


def act(model, observations, masks):
    n = model.rules_.n_features
    return model.policy_.actions(observations[:, :n] > 0.5, observations[:, n:], np.asarray(masks, bool))


def test_the_policy_acts_in_any_state_and_under_other_budgets(cancer):
    model, X, _ = cancer
    rng = np.random.default_rng(0)
    acquired, legal = rng.random(X.shape) < 0.3, np.ones((len(X), 32), bool)
    legal[:, :30] = ~acquired
    actions = model.policy_.actions(acquired, X.astype(np.float32), legal)
    assert legal[np.arange(len(X)), actions].all()
    assert 0.1 < (actions < 30).mean() < 0.9  # what is known in advance is no reason to answer
    for budget in (0, 1):
        rules = Rules(30, 2, lam=0.02, budget=budget)
        done = model.policy_.trajectories(X, rules)
        assert done.lengths.max() == budget
    with pytest.raises(ValueError, match="classes, or bins of a numeric target"):
        model.policy_.trajectories(X, Rules(30, 3))
    with pytest.raises(ValueError, match="shape"):
        model.policy_.trajectories(X[:, :5])


def test_few_features_and_few_errors(cancer):
    model, X, y = cancer
    result = evaluate(model, Dataset(X[250:], y[250:]), model.rules_)
    assert result.accuracy > 0.92
    assert 0.5 < result.n_features < 4
    rcpi = DatumWiseClassifier(lam=0.02, n_iterations=4, random_state=0).fit(X[:250], y[:250])
    assert result.loss < evaluate(rcpi, Dataset(X[250:], y[250:]), model.rules_).loss
    assert model.history_[-1]["subsets"] >= model.history_[-1]["visited"] > 1


@pytest.mark.usefixtures("two_threads")
@pytest.mark.slow
def test_model_files_do_not_depend_on_the_number_of_threads(tmp_path):
    X, y = load_wine(return_X_y=True)
    X, y = X[::2, -6:], y[::2]
    for name, n_jobs in (("one", 1), ("two", 2), ("again", None)):
        model = LatticeClassifier(unknown=0, lam=0.05, effort=0.1, n_jobs=n_jobs, random_state=3)
        model.fit(X, y).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() == (tmp_path / "again").read_bytes()


def test_a_path_gives_the_same_models_as_separate_fits(tmp_path):
    X, y = load_wine(return_X_y=True)
    X = X[:, -6:]
    model = LatticeClassifier(budget=3, unknown=0, effort=0.1, random_state=0)
    models = model.path(X, y, [0.1, 0.02])
    assert not hasattr(model, "policy_")
    for lam, one in zip((0.1, 0.02), models):
        one.save(tmp_path / "path")
        clone(model).set_params(lam=lam).fit(X, y).save(tmp_path / "fit")
        assert (tmp_path / "path").read_bytes() == (tmp_path / "fit").read_bytes()
    used = [m.features_used(X).sum() for m in models]
    assert used[0] < used[1]
    for wrong in ([], 0.1, ["a"], [[0.1]]):
        with pytest.raises(ValueError, match="lams must be a list"):
            model.path(X, y, wrong)


def test_the_default_path_has_the_prices_of_a_comparison():
    X, y = load_wine(return_X_y=True)
    X = X[::2, -3:]
    model = LatticeClassifier(costs=[10.0, 10.0, 10.0], unknown=0, random_state=0)
    models = model.path(X, y[::2])
    assert not hasattr(model, "n_features_in_")
    assert [m.lam for m in models] == pytest.approx([v / 10 for v in PAPER_PRICES])
    used = [m.features_used(X).sum() for m in models]
    assert used[0] > used[-1]
    in_one_unit = model.set_params(error_costs=50.0 * (1 - np.eye(3))).path(X, y[::2])
    assert [m.lam for m in in_one_unit] == list(UNIT_PRICES)


def test_missing_values_are_unavailable_and_cost_nothing(cancer):
    _, X, y = cancer
    X = X[:200].copy()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    model = LatticeClassifier(unknown=0, lam=0.02, random_state=0).fit(X, y[:200])
    used = model.features_used(X)
    assert used.any()
    assert not (used & np.isnan(X)).any()
    assert model.score(X, y[:200]) > 0.85
    assert set(model.predict(np.full((2, 30), np.nan))) <= {0, 1}
    with pytest.raises(ValueError, match="missing='error'"):
        clone(model).set_params(missing="error").fit(X, y[:200])


def test_the_mean_probability_of_the_answer_is_the_accuracy():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(1).permutation(len(y))
    train, test = rows[:285], rows[285:]
    model = LatticeClassifier(unknown=0, lam=0.05, random_state=0).fit(X[train], y[train])
    P = model.predict_proba(X[test])
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[test]))
    assert abs(P.max(axis=1).mean() - model.score(X[test], y[test])) < 0.05


# Model files


@pytest.mark.parametrize("variant", ["base", "everything", "costs"])
@pytest.mark.one_in(3)
def test_a_loaded_model_is_the_saved_one(variant, tmp_path):
    dataset, _ = problem(variant, True, n=60)
    X, y = dataset.X, np.array(["low", "mid", "top"])[dataset.y]
    options = {"lam": 0.01, **VARIANTS[variant]}
    model = LatticeClassifier(effort=0.2, random_state=0).set_params(**options).fit(X, y)
    model.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    assert isinstance(again, LatticeClassifier)
    assert_same_trajectories(again.trajectories(X), model.trajectories(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert repr(again.rules_) == repr(model.rules_)
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()
    with pytest.raises(ValueError, match="another kind"):
        DatumWiseClassifier.load(tmp_path / "model")


@pytest.mark.slow
def test_a_damaged_file_is_refused(cancer, tmp_path):
    model, *_ = cancer
    path = tmp_path / "model"
    model.save(path)
    arrays, header = model_file.read(path, "lattice")
    rng = np.random.default_rng(0)
    for name, array in arrays.items():
        if name.startswith("rules."):
            continue
        for damaged in (array[:-1], np.zeros(0, array.dtype), array.astype(np.float32)):
            if damaged.dtype == array.dtype and damaged.shape == array.shape:
                continue
            model_file.write(path, "lattice", arrays | {name: damaged}, header)
            with pytest.raises(ValueError, match="damaged"):
                model_file.load(path, LatticePolicy)
        if array.dtype.kind == "i":
            for value in (-1, 10**9, -(10**9)):
                damaged = array.copy()
                if not damaged.size:
                    continue
                damaged.flat[rng.integers(damaged.size)] = value
                model_file.write(path, "lattice", arrays | {name: damaged}, header)
                with pytest.raises(ValueError, match="damaged"):
                    model_file.load(path, LatticePolicy)
    model_file.write(path, "lattice", arrays, header)
    assert isinstance(model_file.load(path, LatticePolicy)[0], LatticePolicy)


# Parameters


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("lam", -1, "lam"),
        ("lam", np.nan, "lam"),
        ("lam", 1e200, "must not add up"),
        ("budget", -1, "budget"),
        ("budget_cost", 0.5, "below the cheapest"),
        ("costs", [1, 2], r"shape \(3,\)"),
        ("groups", [[0, 1]], "cover"),
        ("error_costs", np.zeros((3, 3)), "shape"),
        ("related", np.eye(3), "needs unrelated_costs"),
        ("kappa", -1, "kappa"),
        ("kappa", "much", "kappa"),
        ("beta", 2, "beta"),
        ("n_jobs", 0, "n_jobs"),
        ("n_jobs", 0.5, "n_jobs"),
        ("random_state", "x", "random_state"),
        ("missing", "drop", "missing"),
    ],
)
def test_invalid_parameters_are_refused_in_one_sentence(option, value, word):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises((ValueError, TypeError), match=word) as caught:
        LatticeClassifier(**{option: value}).fit(X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((8, 3)),
        np.full((8, 3), np.nan),
        np.full((8, 3), 3e38),
        np.eye(8)[:, :3] * 3e38,
        np.where(np.eye(8)[:, :3] == 1, np.nan, -3e38),
        np.arange(24.0).reshape(8, 3) * 1e-38,
    ],
)
def test_extreme_values_can_be_learnt(X):
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LatticeClassifier(unknown=0, lam=0.0, random_state=0).fit(X, y)
        assert set(model.predict(X)) <= {0, 1, 2}
        assert np.isfinite(model.predict_proba(np.nan_to_num(X))).all()


def test_an_unfitted_classifier_raises_not_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        LatticeClassifier().predict([[0.0]])
    with pytest.raises(NotFittedError):
        LatticeClassifier().save(tmp_path / "nothing")


@pytest.mark.slow  # without options: tests/fsgym/methods/test_methods.py
@parametrize_with_checks(
    [LatticeClassifier(budget=2, unknown=0, effort=0.1, random_state=0)], expected_failed_checks=expected_failed_checks
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_first_acquisition_is_expected_to_cost_what_it_costs_where_nothing_is_related_yet():
    X, y = load_wine(return_X_y=True)
    prices = {"costs": [1.0] * 4, "unrelated_costs": [5.0] * 4, "related": [[0, 1], [2, 3]], "lam": 0.01}
    first = {}
    for empty_is_related in (True, False):
        options = {**prices, "related": _pairs(4, prices["related"]), "empty_is_related": empty_is_related}
        model = LatticeClassifier(random_state=0, effort=0.1, **options).fit(X[:, [0, 6, 9, 10]], y)
        held = model.policy_.continuation.start_value[model.policy_.plan.child[: model.policy_.plan.child_first[1]]]
        step = model.step({})
        expected = [a.expected_cost for a in step.alternatives if a.expected_cost is not None]
        first[empty_is_related] = step.alternatives[0].price
        assert expected
        assert min(expected) == pytest.approx(0.01 * first[empty_is_related] + held.min())
    assert first == {True: 1.0, False: 5.0}


def _pairs(n, pairs):
    related = np.eye(n, dtype=bool)
    for i, j in pairs:
        related[i, j] = related[j, i] = True
    return related


def test_the_warning_of_a_limit_says_what_can_be_done_where_it_is_read():
    policy = SimpleNamespace(lattice=SimpleNamespace(rules=SimpleNamespace(lam=1.0)))
    result: Any = SimpleNamespace(policy=policy, limited_by="subsets")
    assert "a larger effort, such as LatticeClassifier(effort=4), may" in limit_warning(result, 1.0)
    with as_command(flags=["--agent"]):  # none of which is the effort
        assert "a larger effort, such as LatticeClassifier(effort=4) in Python, may" in limit_warning(result, 1.0)
