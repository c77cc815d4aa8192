"""Policies of the user: trained on each split's environment, or shown values as in their own one."""

import json
import os

import gymnasium as gym
import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import fsgym
from agents import RCPI, LatticeClassifier
from baselines import StoppingClassifier
from fsgym.comparison.answer import answer_in_words
from fsgym.comparison.cell import runs_apart
from fsgym.comparison.policies import as_in_training, is_factory, training_origin
from fsgym.comparison.ranking import rank_methods
from fsgym.runner import apart
from support.label_hunter import Searching, numbered_rows, search
from support.thresholds import Thresholds, train


def test_a_factory_agrees_with_the_environment_on_the_same_splits():
    results = fsgym.compare("breast_cancer", {"mine": train}, splits=3, lam=0.01, references=False)
    data = fsgym.load_dataset("breast_cancer")
    for k, row in results.iterrows():
        part, test = data.split(0.5, k)
        rules = fsgym.Rules.for_dataset(data, lam=0.01)
        policy = train(fsgym.DatumWiseEnv(part.scaled(), rules))
        own = fsgym.evaluate(policy, fsgym.DatumWiseEnv(test.scaled(part), rules))
        for name, value in own.figures().items():
            np.testing.assert_equal(row[name], value)
    assert results["accuracy"].min() > 0.85
    assert (results["seen"] == 0).all()
    assert results["warning"].isna().all()


@pytest.mark.slow
def test_a_factory_is_trained_at_each_price():
    def stops_by_price(env):
        rules = env.unwrapped.rules
        action = 0 if rules.lam < 0.02 else rules.n_acquisitions
        return lambda observations, masks: np.where(masks[:, action], action, rules.n_acquisitions)

    results = fsgym.compare("wine", {"mine": stops_by_price}, splits=1, lam=(0.01, 0.03), references=False)
    assert results["params"].tolist() == ['{"lam": 0.01}', '{"lam": 0.03}']
    assert results["n_features"].tolist() == [1.0, 0.0]
    assert len(fsgym.compare("wine", {"mine": stops_by_price}, splits=1, references=False)) == 11  # the default prices


@pytest.mark.slow  # of methods by name, a faster test shows it
@pytest.mark.usefixtures("two_threads")
def test_a_factory_gives_the_same_results_for_any_number_of_processes(tmp_path):
    methods = {"mine": train, "lambda": lambda env: Thresholds(env)}
    one = fsgym.compare("breast_cancer", methods, splits=2, references=False)
    two = fsgym.compare("breast_cancer", methods, splits=2, references=False, n_jobs=2, out=tmp_path)
    assert one.to_csv() == two.to_csv()
    again = fsgym.compare("breast_cancer", methods, splits=2, references=False, out=tmp_path)  # from the store
    assert again.to_csv() == one.to_csv()


@pytest.mark.parametrize("method", [search, Searching])
@pytest.mark.one_in(2)
def test_no_label_of_a_row_that_a_method_is_asked_about_is_in_its_process(tmp_path, method):
    found = tmp_path / "found"
    methods = {"mine": method(str(found))}
    results = fsgym.compare(numbered_rows(), methods, splits=1, lam=0.01, references=False)
    assert results["error"].isna().all()
    seen = [json.loads(line) for line in found.read_text().splitlines()]
    assert {"training": True} in seen  # it searches well
    assert {"asked": False} in seen
    assert {"asked": True} not in seen


def dies(env):
    os._exit(3)


def ends_well(env):
    os._exit(0)


class OwnAgent(LatticeClassifier):
    """A class of the user with a path of prices and a chart."""


@pytest.mark.slow
def test_a_class_of_the_user_is_explained_at_each_price():
    agents = [OwnAgent(lam=lam, random_state=0) for lam in (0.01, 0.05)]
    results = fsgym.compare("wine", {"mine": agents}, splits=1, lam=[0.01, 0.05], references=False)
    assert results["error"].isna().all()
    plain = [LatticeClassifier(lam=lam, random_state=0) for lam in (0.01, 0.05)]
    same = fsgym.compare("wine", {"mine": plain}, splits=1, lam=[0.01, 0.05], references=False)
    assert results.to_csv() == same.to_csv()


def test_functions_within_objects_of_known_packages_are_found():
    for function in (np.vectorize(lambda v: v), np.frompyfunc(lambda v: v, 1, 1), lambda v: v):
        assert runs_apart(make_pipeline(FunctionTransformer(function), LogisticRegression()))
    assert not runs_apart(make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()))
    assert not runs_apart(LatticeClassifier(lam=np.float64(0.1)))
    assert runs_apart(OwnAgent())


@pytest.mark.parametrize("forks", [True, False])
@pytest.mark.slow  # processes that import fsgym
def test_a_method_that_ends_its_process_fails_alone(monkeypatch, forks):
    apart.end_process()
    monkeypatch.setattr(apart, "FORKS", forks and apart.FORKS)
    methods = {"dies": dies, "ends": ends_well, "mine": train}
    with pytest.warns(UserWarning, match="4 of 6 fits failed.*'dies': RuntimeError: the process of the method ended"):
        results = fsgym.compare("breast_cancer", methods, splits=2, lam=0.01, references=False)
    expected = fsgym.compare("breast_cancer", {"mine": train}, splits=2, lam=0.01, references=False)
    mine = results[results["method"] == "mine"].reset_index(drop=True)
    assert mine.to_csv() == expected.to_csv()
    apart.end_process()


def test_a_trained_policy_is_shown_the_values_of_its_environment_and_its_training_rows_are_counted():
    env = gym.make("DatumWise-v0")
    policy = Thresholds(env)
    policy.env = env
    with pytest.warns(UserWarning, match="mine: trained on .*% of the test rows"):
        results = fsgym.compare("breast_cancer", {"mine": policy}, splits=2, references=False)
    data = fsgym.load_dataset("breast_cancer")
    known = set(fsgym.load_dataset("breast_cancer", "train").origin.rows.tolist())
    for k, row in results.iterrows():
        test = data.split(0.5, k)[1]
        assert row["seen"] == np.mean([i in known for i in test.origin.rows.tolist()])
        scaled = test.scaled(fsgym.load_dataset("breast_cancer", "train"))
        assert row["accuracy"] == fsgym.evaluate(policy, scaled).accuracy > 0.85
        assert "trained on" in row["warning"]


def test_no_row_of_another_part_counts_as_seen():
    whole = fsgym.load_dataset("breast_cancer")
    train_part, test = whole.split(0.5, 7)
    model = LatticeClassifier(unknown=0, lam=0.05, random_state=0).fit(train_part)
    with pytest.warns(UserWarning, match="trained on"):
        seen = fsgym.compare(whole, {"model": FrozenEstimator(model)}, splits=1, references=False)["seen"]
    assert 0.4 < seen[0] < 0.6
    results = fsgym.compare(test, {"model": FrozenEstimator(model)}, splits=1, references=False)
    assert (results["seen"] == 0).all()
    assert results["warning"].isna().all()


@pytest.mark.parametrize(
    "method", [LatticeClassifier(unknown=0, lam=0.05, random_state=0), StoppingClassifier(lam=0.05)]
)
@pytest.mark.filterwarnings("ignore:sure:UserWarning")  # fitted to arrays, so its training rows are not known
def test_a_promise_has_its_price_beside_it(method):
    whole = fsgym.load_dataset("breast_cancer")
    train_part, test = whole.split(0.5, 7)
    model = method.fit(train_part.to_array(), train_part.classes[train_part.y]).calibrate(min_confidence=0.97)
    results = fsgym.compare(test, {"sure": FrozenEstimator(model)}, splits=1, lam=0.05, references=False)
    rules = fsgym.Rules.for_dataset(test, lam=0.05)
    part = test.split(0.5, 0)[1]
    sure, plain = (fsgym.evaluate(m, part, rules=rules) for m in (model, model.without_promise()))
    more = sure.n_acquisitions - plain.n_acquisitions
    assert results["promise_n_acquisitions"][0] == pytest.approx(more)
    assert results["promise_spent"][0] == pytest.approx(sure.spent - plain.spent)
    assert more > 0.3
    assert f"The promise of sure costs {more:.2f} acquisitions a case more" in " ".join(
        answer_in_words(rank_methods(results, 0.05))
    )


def test_a_callable_without_an_environment_is_marked():
    with pytest.warns(UserWarning, match="attribute env.*Training rows unknown"):
        results = fsgym.compare("wine", {"mine": lambda obs, masks: np.full(len(obs), 13)}, splits=1, references=False)
    assert results["seen"].isna().all()
    assert "Training rows unknown" in results["warning"][0]


class VecEnv:
    """The interface of a vector environment of Stable-Baselines3, of which a model has ``get_env``."""

    def __init__(self, env):
        self.envs = [env]

    def get_attr(self, name):
        return [getattr(env.unwrapped, name) for env in self.envs]


class Model:
    def __init__(self, env):
        self.get_env = lambda: env

    def predict(self, observation, deterministic=False):
        return np.full(len(observation), 30), None


def test_the_environment_of_a_model_is_found():
    env = gym.make("DatumWise-v0")
    assert training_origin(Model(VecEnv(env))).rows.tolist() == env.unwrapped.dataset.origin.rows.tolist()
    assert training_origin(Model(None)) is None
    normalised = VecEnv(env)
    normalised.normalize_obs = None
    with pytest.raises(TypeError, match="observations that VecEnv normalises"):
        fsgym.compare("breast_cancer", {"model": Model(normalised)}, splits=1)


def test_scaled_rows_become_those_of_training():
    data = fsgym.load_dataset("wine")
    part, test = data.split(0.5, 0)
    origin = part.scaled().origin
    for given in (test, test.scaled(data), test.scaled(part)):
        np.testing.assert_allclose(as_in_training(given, origin).X, test.scaled(part).X, atol=1e-5)
    np.testing.assert_allclose(as_in_training(test.scaled(part), part.origin).X, test.X, rtol=1e-5)
    assert as_in_training(test, None) is test
    with pytest.raises(ValueError, match="trained on 2 features, but 'wine' has 13"):
        as_in_training(test, fsgym.Dataset([[0.0, 1.0], [1.0, 0.0]], [0, 1]).scaled().origin)


def test_a_factory_takes_one_argument():
    assert is_factory(train)
    assert is_factory(Thresholds)
    assert not is_factory(lambda observations, action_masks: None)
    assert not is_factory(lambda *arguments: None)
    assert not is_factory(LatticeClassifier())
    assert is_factory(lambda env, n_steps=10: None)
    assert not is_factory(lambda observations, action_masks=None: None)
    with pytest.raises(TypeError, match=r"must be a policy .* or a factory train\(env\) -> policy, got <lambda>\(\)"):
        fsgym.compare("wine", {"mine": lambda: None})
    with pytest.raises(TypeError, match="got the class LatticeClassifier; pass an instance"):
        fsgym.compare("wine", {"mine": LatticeClassifier})


def test_an_agent_of_an_environment_is_shown_its_values():
    agent = RCPI(gym.make("DatumWise-v0"), n_iterations=2, states_per_sample=2, random_state=0).learn()
    with pytest.warns(UserWarning, match="agent: trained on"):
        results = fsgym.compare("breast_cancer", {"agent": agent}, splits=1, references=False)
    test = fsgym.load_dataset("breast_cancer").split(0.5, 0)[1]
    scaled = test.scaled(fsgym.load_dataset("breast_cancer", "train"))
    assert results["accuracy"][0] == fsgym.evaluate(agent, scaled).accuracy


def test_a_fitted_estimator_is_fitted_again_with_a_warning():
    fitted = LatticeClassifier(unknown=0, effort=0.1, random_state=0).fit(*fsgym_wine())
    with pytest.warns(
        UserWarning, match="'mine' is fitted already and is fitted again in each split; .*FrozenEstimator"
    ):
        fsgym.compare("wine", {"mine": fitted}, splits=1, references=False)


def fsgym_wine():
    data = fsgym.load_dataset("wine").rows(np.arange(0, 178, 4))
    return data.X[:, :2], data.y


@pytest.mark.slow
def test_panels_of_ones_own_are_checked_before_any_fit():
    needs = {"ash": ["hue"]}
    results = fsgym.compare("wine", "cart", panels={"own": ["hue", "ash"]}, splits=1, prerequisites=needs, lam=0.01)
    own = results[results["method"] == "own"]
    assert (own["n_features"] == 2).all()
    assert own["params"].tolist() == ['{"panel": "hue, ash"}']
    prices = [0 if name == "ash" else 2 for name in fsgym.load_dataset("wine").acquisition_names]
    free = fsgym.compare("wine", "cart", panels=["hue"], splits=1, costs=prices, lam=0.01)
    assert free.loc[free["method"] == "your panel", "params"].tolist() == ['{"panel": "hue, ash"}']
    for wrong, message in (
        (["hue", "hue"], "'hue' twice in 'own'"),
        (["ash"], "'ash' in the panel 'own' needs 'hue' first"),
        (["hug"], "unknown acquisition 'hug'"),
    ):
        with pytest.raises(ValueError, match=message):
            fsgym.compare("wine", "cart", panels={"own": wrong}, splits=1, prerequisites=needs)
    with pytest.raises(TypeError, match="panels must be a list"):
        fsgym.compare("wine", "cart", panels="hue")


@pytest.mark.slow
def test_illegal_actions_are_noted():
    results = fsgym.compare(
        "wine", {"stuck": lambda env: lambda observations, masks: np.zeros(len(observations), int)}, splits=1
    )
    notes = {standing.method: standing.note for standing in rank_methods(results).standings}
    assert notes["stuck"] == "ends 100 % of the cases with an illegal action"


def test_what_a_factory_returns_must_be_a_policy():
    with pytest.warns(UserWarning, match="fits failed"):
        results = fsgym.compare("wine", {"mine": lambda env: 3}, splits=1, references=False)
    assert "must return a policy" in results["error"][0]
    lock = __import__("threading").Lock()
    with pytest.raises(TypeError, match="create models and environments inside the function"):
        fsgym.compare("wine", {"mine": lambda env: lock}, splits=1)
