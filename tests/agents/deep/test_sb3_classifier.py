"""Deep agents as classifiers: honesty, model files with the same bytes."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
import torch
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from agents import NetworkPolicy, SB3Classifier, model_file
from agents.deep import ALGORITHMS
from agents.deep.sb3 import SETTINGS, make_model, rebuilt, training
from fsgym import Rules, Scaling, compare, evaluate
from fsgym.envs.ids import VARIANTS as IDS
from support.deep_training import SHORT_TRAININGS, one_informative_feature, short_classifier, short_training
from support.rcpi_twin import VARIANTS, problem


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.one_in(2)
def test_the_policy_agrees_with_the_network_of_stable_baselines(algorithm, tmp_path):
    dataset, _ = problem("everything", missing=True, n=60)
    model = short_classifier(algorithm, hidden=(16, 8), **VARIANTS["everything"]).fit(dataset.X, dataset.y)
    policy, rules = model.policy_, model.rules_
    rng = np.random.default_rng(1)
    acquired = rng.random((500, 6)) < 0.5
    values = rng.normal(0, 3, (500, 6)).astype(np.float32)
    legal = rng.random((500, rules.n_actions)) < 0.5
    legal[:, -1] = True
    observations = np.concatenate([acquired, policy.scaled(values) * acquired], axis=1).astype(np.float32)

    model.export(tmp_path / "model.zip")
    for theirs in (rebuilt(policy), SETTINGS[algorithm].algorithm.load(tmp_path / "model.zip", device="cpu")):
        with torch.no_grad():
            inner = torch.as_tensor(observations)
            if algorithm == "dqn":
                outputs = theirs.q_net(inner).numpy()
            else:
                outputs = theirs.policy.get_distribution(inner).distribution.logits.numpy()
        ours = policy.scores(acquired, values)
        if algorithm != "dqn":  # their logits are normalised
            ours = ours - np.log(np.exp(ours).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(ours, outputs, rtol=1e-4, atol=1e-5)
        if algorithm in ("maskable_ppo", "dqn"):
            actions, _ = theirs.predict(observations, deterministic=True, action_masks=legal)
            np.testing.assert_array_equal(policy.greedy_actions(acquired, values, legal), actions)
    assert legal[np.arange(500), policy.actions(acquired, values, legal)].all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.one_in(2)
def test_values_that_are_not_acquired_have_no_effect(variant):
    dataset, _ = problem(variant, missing=True, n=60)
    model = short_classifier(**VARIANTS[variant]).fit(dataset.X, dataset.y)
    done = model.trajectories(dataset.X)
    not_acquired = ~done.acquired & ~np.isnan(dataset.X)
    assert not_acquired.any()
    rng = np.random.default_rng(1)
    for huge in (1.0, 1e6, 3e38):
        again = model.trajectories(np.where(not_acquired, rng.uniform(-huge, huge, dataset.X.shape), dataset.X))
        for one, other in zip((again.order, again.answers, again.acquired), (done.order, done.answers, done.acquired)):
            np.testing.assert_array_equal(one, other)
    assert not done.forfeited.any()
    result = evaluate(model, dataset, model.rules_)
    assert result.admissible == 1
    assert result.n_features == done.acquired.sum(axis=1).mean()


@pytest.mark.parametrize("algorithm", ["maskable_ppo", "dqn"])
@pytest.mark.one_in(2)
def test_the_same_seed_gives_the_same_file_and_the_process_state_is_restored(algorithm, tmp_path):
    X, y = one_informative_feature()
    random.seed(5), np.random.seed(5), torch.manual_seed(5)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    torch.set_num_threads(2)
    try:
        for name in ("one", "two"):
            np.random.random(3), torch.rand(3)  # noqa: NPY002  other uses of the generators have no effect
            np.random.seed(5), torch.manual_seed(5)  # noqa: NPY002
            short_classifier(algorithm).fit(X, y).save(tmp_path / name)
        assert torch.get_num_threads() == 2
        assert torch.distributions.Distribution._validate_args
    finally:
        torch.set_num_threads(1)
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert before == after
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    short_classifier(algorithm).set_params(random_state=1).fit(X, y).save(tmp_path / "three")
    assert (tmp_path / "one").read_bytes() != (tmp_path / "three").read_bytes()


@pytest.mark.slow
def test_trainings_in_threads_do_not_disturb_each_other():
    X, y = one_informative_feature()
    makers = [
        short_classifier("dqn"),
        short_classifier("maskable_ppo"),
        short_classifier("dqn", random_state=1),
        short_classifier("a2c"),
    ]
    serial = [clone(model).fit(X, y).policy_.arrays for model in makers]
    parallel = Parallel(n_jobs=4, require="sharedmem")(delayed(clone(model).fit)(X, y) for model in makers)
    for arrays, model in zip(serial, parallel):
        for name, array in arrays.items():
            np.testing.assert_array_equal(model.policy_.arrays[name], array)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.one_in(2)
def test_a_loaded_classifier_is_the_saved_one(algorithm, tmp_path, monkeypatch):
    import pandas as pd

    X, y = one_informative_feature()
    frame, labels = pd.DataFrame(X, columns=list("abcde")), np.where(y, "well", "ill")
    model = short_classifier(algorithm, hidden=(8,), costs=[1, 2, 3, 4, 5], budget_cost=7.0).fit(frame, labels)
    model.save(tmp_path / "model")

    def forbidden(*_, **__):
        raise SystemExit("unpickled")

    with monkeypatch.context() as patch:
        for name in ("load", "loads", "Unpickler"):
            patch.setattr(pickle, name, forbidden)
        patch.setattr(torch, "load", forbidden)
        again = SB3Classifier.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert (again.algorithm, again.hidden) == (algorithm, (8,))
    assert again.classes_.tolist() == ["ill", "well"]
    assert again.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(again.features_used(frame), model.features_used(frame))
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()
    refitted = again.set_params(random_state=0, **short_training(algorithm)).fit(frame, labels)  # with the same rules
    np.testing.assert_array_equal(refitted.predict(frame), model.predict(frame))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "model"
    short_classifier(hidden=(4,)).fit(*one_informative_feature(40)).save(path)
    return path


def assert_refused(path, match="damaged"):
    with pytest.raises((ValueError, OSError), match=match) as caught:
        SB3Classifier.load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_damaged_networks_are_refused(file, tmp_path):
    arrays, header = model_file.read(file, "network")
    path = tmp_path / "bad"

    def write_changed(changed=(), drop=None, **entries):
        remaining = {k: v for k, v in {**arrays, **dict(changed)}.items() if k != drop}
        model_file.write(path, "network", remaining, {**header, **entries})
        return path

    SB3Classifier.load(write_changed())
    for name in [k for k in arrays if k.startswith("network.")] + ["offset", "scale"]:
        assert_refused(write_changed(drop=name))
        for value in (np.nan, np.inf):
            damaged = arrays[name].copy()
            damaged.flat[0] = value
            assert_refused(write_changed({name: damaged}), "must be finite")
        assert_refused(write_changed({name: arrays[name].astype(np.float16)}), "must be finite")
        assert_refused(write_changed({name: arrays[name][..., None]}), "must be finite")
    assert_refused(write_changed({"network.unknown": np.zeros(1, np.float32)}), "has no array 'unknown'")
    for hidden in (None, [], [5], [4, 4], [-4], [True], [4.0], ["4"], [10**12], [10**400], "4"):
        assert_refused(write_changed(hidden=hidden))
    for algorithm in (None, "", "sarsa", "dqn", ["ppo"], {}):
        assert_refused(write_changed(algorithm=algorithm))
    for entry in ({"classes": ["a"]}, {"columns": 3}, {"rules": "{"}, {"classes_dtype": "V8"}):
        assert_refused(write_changed(**entry))
    data = file.read_bytes()
    for cut in (0, 7, 8, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        assert_refused(path, ".")
    assert_refused(tmp_path / "nowhere", "no model file")
    model_file.write(path, "linear", arrays, header)
    assert_refused(path, "another kind of model")
    assert model_file.read_kind(file) == "network"


def test_the_largest_weights_give_no_estimate_that_is_not_finite():
    classifier = short_classifier("dqn", hidden=(4,)).fit(*one_informative_feature(40))
    policy = classifier.policy_
    arrays = {name: np.full_like(array, 3e38) for name, array in policy.arrays.items()}
    extreme = NetworkPolicy(policy.algorithm, policy.hidden, arrays, policy.scaling, policy.rules)
    advice = extreme.advise(np.ones((3, 5), bool), np.ones((3, 5), np.float32), np.ones((3, 7), bool))
    assert not np.isinf(advice.expected).any()
    assert not np.isinf(advice.stop_cost).any()
    assert np.isfinite(
        policy.advise(np.zeros((1, 5), bool), np.zeros((1, 5), np.float32), np.ones((1, 7), bool)).expected
    ).all()


def test_the_largest_weights_lead_to_legal_actions_without_warnings(file):
    policy, _ = model_file.load(file, NetworkPolicy)
    huge = {name: np.full_like(array, 3e38) for name, array in policy.arrays.items()}
    extreme = NetworkPolicy(policy.algorithm, policy.hidden, huge, policy.scaling, policy.rules)
    done = extreme.trajectories(one_informative_feature(20)[0])
    assert not done.forfeited.any()
    with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 5\)"):
        extreme.trajectories(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="classes, or bins of a numeric target, that it was trained with"):
        extreme.trajectories(np.zeros((3, 5)), Rules(5, 3))


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("algorithm", "sac", "algorithm must be one of maskable_ppo"),
        ("algorithm", None, "algorithm must be"),
        ("lam", -1, "lam"),
        ("total_timesteps", 0, "total_timesteps"),
        ("total_timesteps", 1.5, "total_timesteps"),
        ("num_envs", 0, "num_envs"),
        ("num_envs", "4", "num_envs"),
        ("hidden", 64, "hidden must be widths"),
        ("hidden", (0,), "hidden must be widths"),
        ("hidden", (True,), "hidden must be widths"),
        ("hidden", None, "hidden"),
        ("options", {"nonsense": 1}, "no option 'nonsense'"),
        ("options", {"env": 1}, "no option 'env'"),
        ("options", 3, "options must be a mapping"),
        ("options", {"policy_kwargs": {}}, "use hidden"),
        ("random_state", "x", "random_state"),
        ("random_state", -1, "random_state"),
        ("budget", 1.5, "budget"),
    ],
)
def test_invalid_parameters_are_refused_in_one_sentence(option, value, word):
    with pytest.raises((ValueError, TypeError), match=word) as caught:
        short_classifier(**{option: value}).fit(*one_informative_feature(30))
    assert "\n" not in str(caught.value)


def test_an_unfitted_classifier_raises_not_fitted(tmp_path):
    for call in (SB3Classifier().save, SB3Classifier().export):
        with pytest.raises(NotFittedError):
            call(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_all_ids_train_with_all_algorithms(name, algorithm):
    options = short_training(algorithm).get("options")
    model = make_model(algorithm, gym.make(name), num_envs=8, options=options, seed=0).learn(256)
    result = evaluate(model, gym.make(name, split="test"))
    assert np.isfinite(result.loss)
    if algorithm in ("maskable_ppo", "dqn"):
        assert result.illegal == 0
        assert result.admissible == 1


def test_the_scale_of_error_costs_does_not_matter():
    X, y = one_informative_feature()
    small = SB3Classifier(0.1, total_timesteps=4096, random_state=0).fit(X, y)
    large = SB3Classifier(100.0, error_costs=[[0, 1000], [1000, 0]], total_timesteps=4096, random_state=0).fit(X, y)
    for name, array in small.policy_.arrays.items():
        np.testing.assert_allclose(large.policy_.arrays[name], array, rtol=0.05, atol=0.02)
    np.testing.assert_array_equal(small.predict(X), large.predict(X))


@pytest.mark.slow
def test_both_algorithms_are_methods_of_the_comparison(monkeypatch):
    def shortened(name):
        options = {**SETTINGS[name].options, **SHORT_TRAININGS[name]["options"]}
        return SETTINGS[name]._replace(
            num_envs=8, total_timesteps=SHORT_TRAININGS[name]["total_timesteps"], options=options
        )

    monkeypatch.setattr(training, "SETTINGS", {name: shortened(name) for name in ("maskable_ppo", "dqn")})
    results = compare("wine", ["maskable_ppo", "dqn"], splits=1, lam=[0.01, 0.1], budget=3, references=False)
    assert results["error"].isna().all()
    assert results["method"].tolist() == ["maskable_ppo", "maskable_ppo", "dqn", "dqn"]
    assert (results["admissible"] == 1).all()
    first, second = (results[results["method"] == m]["n_features"].tolist() for m in ("maskable_ppo", "dqn"))
    assert first != second


def test_z_scores_ignore_what_is_missing():
    X = np.array([[1.0, np.nan, 3.0, np.nan], [2.0, 5.0, 3.0, np.nan], [6.0, 7.0, 3.0, np.nan]])
    scaling = Scaling.standard(X)
    np.testing.assert_allclose(scaling.offset, [3, 6, 3, 0])
    np.testing.assert_allclose(scaling.scale, [1 / np.std([1, 2, 6]), 1, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(Scaling.standard(np.full((3, 2), 3e38)).scale).all()


@pytest.mark.slow
def test_without_the_extra_the_error_names_the_command_that_installs_it(file, tmp_path):
    code = f"""
import sys
for name in ("stable_baselines3", "sb3_contrib"):
    sys.modules[name] = None
import numpy as np
import fsgym
from agents import SB3Classifier
from fsgym import cli

def print_import_error(function):
    try:
        function()
    except ImportError as error:
        print(error)

def command(*arguments):
    try:
        cli.main(list(arguments))
    except SystemExit as end:
        assert end.code == 2, end.code

X, y = np.random.default_rng(0).normal(size=(20, 5)), np.arange(20) % 2
model = SB3Classifier.load({str(file)!r})
assert model.predict(X).shape == (20,)
print_import_error(lambda: SB3Classifier().fit(X, y))
print_import_error(lambda: SB3Classifier(algorithm="dqn").fit(X, y))
print_import_error(lambda: model.export({str(tmp_path / "zip")!r}))
print_import_error(lambda: __import__("agents.deep.sb3"))
print_import_error(lambda: __import__("agents.deep.sb3.dqn"))
print_import_error(lambda: __import__("agents.deep.sb3.vec_env"))
print_import_error(lambda: fsgym.compare("wine", ["maskable_ppo"], references=False))
sys.stderr = sys.stdout
command("compare", "wine", "--methods", "cart,dqn")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert len(lines) == 8
    for line in lines:
        assert line.endswith('sb3_contrib: in the clone, pip install -c constraints.txt -e ".[rl]"')


def test_a_short_training_of_dqn_learns_by_most_of_its_steps():
    X, y = one_informative_feature()
    answers = [
        SB3Classifier(algorithm="dqn", total_timesteps=1500, num_envs=8, random_state=0).fit(X, z) for z in (y, 1 - y)
    ]
    assert any((a != b).any() for a, b in zip(*(m.policy_.arrays.values() for m in answers), strict=True))
