"""The protocol of policies and their model files, for every kind of policy and for one of another distribution."""

from __future__ import annotations

import copy
import re
from functools import cache

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import fsgym
from agents import BaseAgentClassifier, Policy, load_classifier, model_file
from fsgym import Rules, evaluate
from fsgym.evaluation.evaluate import play
from fsgym.methods import METHODS, Method, load_class
from support.majority import MajorityClassifier, MajorityPolicy
from support.method_tables import TABLES, honest_usage
from support.rcpi_twin import VARIANTS, problem

# small lattices, which are quick to learn, reach their limits
pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")

SAVED = {name: method for name, method in METHODS.items() if method.kind}
KINDS = {method.kind: method for method in SAVED.values()}
AGENTS = list(dict.fromkeys([*KINDS, "majority"]))


def quick(kind, **options):
    """An agent of that kind with parameters for a short training."""
    method = KINDS.get(kind)
    cls = MajorityClassifier if method is None else load_class(method)
    length = {cls.length_parameter: 2} if cls.length_parameter else {}
    length |= {"effort": 0.1} if kind == "lattice" else {}
    length |= {"hidden": (8,), "batch_size": 64, "max_acquisitions": 4} if kind in ("gdfs", "dime") else {}
    length |= {"learner": "lattice"} if kind == "adaptive" else {}  # the choice: tests/agents/test_adaptive.py
    return cls(**{**(method.preset if method else {}), **length}, random_state=0).set_params(**options)


@cache
def fitted_on_base(kind):
    dataset, _ = problem("base", True)
    return quick(kind).fit(dataset.X, dataset.y)


@pytest.fixture
def registered(monkeypatch):
    """Register the agent of another distribution, unless it has been added to fsgym, as docs/extend does."""
    entry = Method("Majority", "support.majority:MajorityClassifier", True, "none", kind="majority")
    monkeypatch.setitem(METHODS, "majority", METHODS.get("majority", entry))


@pytest.mark.parametrize("name", SAVED)
def test_a_method_declares_the_kind_of_its_model_files(name):
    cls = load_class(SAVED[name])
    assert issubclass(cls, BaseAgentClassifier)
    assert issubclass(cls.policy_class, Policy)
    assert cls.policy_class.kind == SAVED[name].kind
    assert cls.length_parameter in {"", *cls().get_params()}


FITTED_FOR_SECONDS = ("mixture", "any_network", "dqn", "gdfs", "dime")
KINDS_AND_VARIANTS = [
    pytest.param(kind, variant, marks=pytest.mark.slow if kind in FITTED_FOR_SECONDS and k % 3 else ())
    for kind in AGENTS
    if kind != "adaptive"  # which hands over to the lattice
    for k, variant in enumerate(VARIANTS)
]


@pytest.mark.parametrize(("kind", "variant"), KINDS_AND_VARIANTS)
@pytest.mark.one_in(4)
def test_actions_and_trajectories_agree_step_by_step(kind, variant):
    full, missing = (problem(variant, m)[0] for m in (False, True))
    options = {"lam": 0.05, **VARIANTS[variant]}
    policy = quick(kind, **options).fit(missing.X, missing.y).policy_
    n, once = policy.rules.n_features, {**options, "budget": 1, "budget_cost": None}

    def actor(observations, legal):
        actions = policy.actions(observations[:, :n] > 0.5, observations[:, n:], legal)
        assert actions.dtype == np.int64
        return actions

    for dataset, rules in (
        (full, policy.rules),
        (missing, policy.rules),
        (missing, Rules.for_dataset(missing, **once)),
    ):
        followed, played = policy.trajectories(dataset.X, rules), play(actor, dataset, rules)
        for name in ("order", "acquired", "answers", "forfeited"):
            np.testing.assert_array_equal(getattr(followed, name), getattr(played, name))
        assert not followed.forfeited.any()


@pytest.mark.parametrize("kind", AGENTS)
def test_rows_and_rules_that_do_not_fit_a_policy_are_refused(kind):
    dataset, _ = problem("base", True)
    policy = fitted_on_base(kind).policy_
    for X in (dataset.X[:, :5], dataset.X[0], dataset.X[None]):
        with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 6\)"):
            policy.trajectories(X)
    for rules in (Rules(6, 4), Rules(6, 3, groups=[[0, 1], [2, 3], [4, 5]]), Rules(5, 3)):
        with pytest.raises(ValueError, match=r"a policy acts under rules with the (groups|classes)"):
            policy.trajectories(dataset.X, rules)
    with pytest.raises(ValueError, match="missing='error'"):
        policy.trajectories(dataset.X, Rules(6, 3, missing="error"))


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.one_in(2)
def test_a_file_is_loaded_by_its_kind_and_refused_by_other_kinds(kind, tmp_path, registered):
    dataset, _ = problem("everything", True)
    model = quick(kind, **VARIANTS["everything"]).fit(dataset.X, np.array(["low", "mid", "top"])[dataset.y])
    model.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(dataset.X), model.predict(dataset.X))
    np.testing.assert_array_equal(again.features_used(dataset.X), model.features_used(dataset.X))
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()
    for other in AGENTS:
        if other != kind:
            with pytest.raises(ValueError, match=f"another kind of model, not '{other}'"):
                type(quick(other)).load(tmp_path / "model")


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.one_in(3)
def test_a_file_without_its_own_entries_rules_or_labels_is_refused(kind, tmp_path, registered):
    path = tmp_path / "model"
    fitted_on_base(kind).save(path)
    arrays, header = model_file.read(path, kind)
    for name in arrays:
        if name not in ("rules.unrelated_costs", "rules.prerequisites"):  # which are optional
            model_file.write(path, kind, {k: v for k, v in arrays.items() if k != name}, header)
            with pytest.raises(ValueError, match="damaged"):
                load_classifier(path)
    for name in set(header) - {model_file.SUMMARY}:  # which files of fsgym 0.2.0 lack
        model_file.write(path, kind, arrays, {k: v for k, v in header.items() if k != name})
        with pytest.raises(ValueError, match="without class labels" if name == "classes" else "damaged") as caught:
            load_classifier(path)
        assert "\n" not in str(caught.value)


def numbers_in(value, path=()):
    """The path of each number in a JSON value."""
    if type(value) in (int, float):
        yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from numbers_in(value[key], (*path, key))


def damaged_files(policy, arrays, header, place, number):
    """Arrays and header, each time with other numbers of the policy damaged: floats are NaN, whole numbers ``number``.

    Of an array those in one place, of the header each one. Before them, what is damaged and whether it is NaN.
    """
    own_arrays, own_header = policy.to_arrays()
    for name, array in own_arrays.items():
        if array.size and array.dtype.kind in "fiu":
            changed, is_float = arrays[name].copy(), array.dtype.kind == "f"
            limits = None if is_float else np.iinfo(array.dtype)
            changed.flat[place] = np.nan if limits is None else min(max(number, limits.min), limits.max)
            yield f"array {name}", is_float, arrays | {name: changed}, header
    for path in numbers_in(own_header):
        changed = inner = copy.deepcopy(header)
        for key in path[:-1]:
            inner = inner[key]
        is_float = isinstance(inner[path[-1]], float)
        inner[path[-1]] = np.nan if is_float else number
        yield f"header {path}", is_float, arrays, changed


def answers_or_error(path, X):
    try:
        return load_classifier(path).predict(X)
    except Exception as error:
        return error


@pytest.mark.parametrize(("place", "number"), [(0, 99), (-1, -1), (slice(None), 10**6)], ids=["first", "last", "all"])
@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.slow) if k == "adaptive" else k for k in AGENTS])
@pytest.mark.one_in(3)
def test_damaged_numbers_are_refused_in_a_sentence(kind, place, number, tmp_path, registered):
    """NaN always is. Another whole number may have a meaning: if it is not refused, the model answers with a class."""
    dataset, _ = problem("base", True)
    path, model = tmp_path / "model", fitted_on_base(kind)
    model.save(path)
    for what, is_nan, *damaged in damaged_files(model.policy_, *model_file.read(path, kind), place, number):
        model_file.write(path, kind, *damaged)
        found = answers_or_error(path, dataset.X)
        if isinstance(found, Exception):
            assert isinstance(found, ValueError), f"{what}: {found!r}"
            assert re.fullmatch(".* is damaged: .+", str(found)), f"{what}: {found!r}"
        else:
            assert not is_nan, f"{what} is NaN, which from_arrays or __post_init__ must refuse with a ValueError"
            assert set(found) <= set(model.classes_), what


def test_a_file_of_the_first_format_is_refused(tmp_path):
    dataset, _ = problem("base", False)
    model = MajorityClassifier().fit(dataset.X, dataset.y)
    model.save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    assert b"fsgym-model-2" in data
    (tmp_path / "model").write_bytes(data.replace(b"fsgym-model-2", b"fsgym-model-1"))
    for load in (load_classifier, MajorityClassifier.load, lambda path: model_file.load(path, MajorityPolicy)):
        with pytest.raises(ValueError, match=r"written by fsgym 0\.1 and must be trained and saved again") as caught:
            load(tmp_path / "model")
        assert "\n" not in str(caught.value)


# An agent of another distribution


@parametrize_with_checks([MajorityClassifier()])
@pytest.mark.one_in(2)
def test_an_external_agent_fulfils_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_an_external_agent_is_honest_and_evaluated():
    X, y = TABLES["wide"]
    model = MajorityClassifier(lam=0.05).fit(X, y)
    assert not honest_usage(model, X, largest=3e38).any()
    dataset, _ = problem("costs", True)
    model = MajorityClassifier(**VARIANTS["costs"]).fit(dataset.X, dataset.y)
    result = evaluate(model, dataset, model.rules_)
    assert (result.n_features, result.admissible) == (0, 1)
    assert result.loss == model.estimate_loss(dataset.X, dataset.y, cv=[(np.arange(40), np.arange(40))]).loss


def test_an_external_agent_has_a_chart_and_remembers_its_training_rows(tmp_path):
    X, y = TABLES["wide"]
    model = MajorityClassifier().fit(X, y)
    model.save(tmp_path / "model")
    for own in (model, MajorityClassifier.load(tmp_path / "model")):
        assert len(own.chart().boxes) <= 1
        assert own.training_summary_ is not None


def test_an_external_agent_that_is_not_registered_is_not_loaded_by_its_kind(tmp_path):
    dataset, _ = problem("base", False)
    MajorityClassifier().fit(dataset.X, dataset.y).save(tmp_path / "model")
    with pytest.raises(
        ValueError,
        match=f"'majority', not one of {', '.join(KINDS)}; a kind",
    ):
        load_classifier(tmp_path / "model")
    assert MajorityClassifier.load(tmp_path / "model").predict(dataset.X).shape == (40,)


@pytest.mark.slow
def test_an_external_agent_that_is_registered_is_loaded_by_its_kind_and_compared(tmp_path, monkeypatch):
    dataset, _ = problem("base", False)
    MajorityClassifier(lam=0.2).fit(dataset.X, dataset.y).save(tmp_path / "model")
    try:
        fsgym.register_method("majority", MajorityClassifier, prices=True)
        assert type(load_classifier(tmp_path / "model")) is MajorityClassifier
        results = fsgym.compare(dataset, ["majority", "cart"], splits=1, lam=[0.1, 0.2], references=False)
        assert results.loc[results["method"] == "majority", "n_features"].tolist() == [0, 0]
        assert results["error"].isna().all()
    finally:
        METHODS.pop("majority", None)


def test_the_first_method_of_a_kind_loads_its_files(tmp_path, monkeypatch):
    dataset, _ = problem("base", False)
    model = quick("linear").fit(dataset.X, dataset.y)
    model.save(tmp_path / "model")
    monkeypatch.setitem(METHODS, "late", Method("Late", "nowhere:Nothing", True, "none", kind="linear"))
    assert type(load_classifier(tmp_path / "model")) is type(model)
