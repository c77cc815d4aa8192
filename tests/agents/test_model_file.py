"""Model files: a loaded model is the saved one, and a failed save leaves no file behind."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from agents import RCPI, DatumWiseClassifier
from fsgym import Dataset, DatumWiseEnv, Rules
from fsgym.comparison.policies import training_origin
from support.model_files import agent_of, assert_refused, assert_same_trajectories
from support.rcpi_twin import PAIRS, VARIANTS, problem


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.one_in(2)
def test_a_loaded_agent_is_the_saved_one(variant, missing, tmp_path):
    agent = agent_of(variant, missing)
    agent.policy.intercepts[0] = np.float32(-1e30)  # an acquisition that was legal in no state
    agent.save(tmp_path / "model")
    again = RCPI.load(tmp_path / "model")
    for X in (agent.dataset.X, np.random.default_rng(1).uniform(-2, 2, (50, 6))):
        assert_same_trajectories(again.trajectories(X), agent.trajectories(X))
    observation = np.zeros(12, np.float32)
    assert again.predict(observation)[0] == agent.predict(observation)[0]
    assert repr(again.rules) == repr(agent.rules)
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.slow
def test_files_are_the_same_in_every_process(file):
    path, data, _, _ = file
    for _ in range(5):
        agent_of().save(path)
        assert path.read_bytes() == data
    code = f"from agents import RCPI; RCPI.load({str(path)!r}).save({str(path) + '2'!r})"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=root)
    assert path.with_name(path.name + "2").read_bytes() == data


def test_a_loaded_agent_is_trained_only_with_an_environment_that_fits(file):
    path, *_ = file
    with pytest.raises(ValueError, match="loaded without an environment"):
        RCPI.load(path).learn()
    dataset, _ = problem("everything", False)
    other = Rules.for_dataset(dataset, groups=PAIRS, budget=1)
    agent = RCPI.load(path, DatumWiseEnv(dataset, other))
    assert agent.trajectories(dataset.X).lengths.max() <= 1  # under the rules of the environment
    assert len(agent.learn().history) == 10
    for options in ({}, {"groups": [[0], [1], [2, 3, 4, 5]]}):
        with pytest.raises(ValueError, match=r"a policy acts under rules with the (groups|classes)"):
            RCPI.load(path, DatumWiseEnv(dataset, Rules.for_dataset(dataset, **options)))


def test_an_agent_is_not_loaded_into_an_environment_with_other_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    data = Dataset(X, (X[:, 0] > 0).astype(int), feature_names=["flavanoids", "hue"])
    RCPI(DatumWiseEnv(data, Rules.for_dataset(data)), n_iterations=2, random_state=0).learn().save(tmp_path / "agent")
    turned = Dataset(X[:, ::-1], data.y, feature_names=["hue", "flavanoids"])
    with pytest.raises(ValueError, match="order"):
        RCPI.load(tmp_path / "agent", DatumWiseEnv(turned, Rules.for_dataset(turned)))
    loaded = RCPI.load(tmp_path / "agent", DatumWiseEnv(data, Rules.for_dataset(data)))
    assert training_origin(loaded) is None  # the file does not say on which rows it was trained
    assert training_origin(loaded.learn()) == data.origin


def test_an_agent_loads_the_file_of_a_classifier_but_not_the_other_way_round(file, tmp_path):
    assert_refused(file[0], "RCPI.load", DatumWiseClassifier.load)
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    model = DatumWiseClassifier(n_iterations=1, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    assert_same_trajectories(RCPI.load(tmp_path / "model").trajectories(X), model.trajectories(X))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes", "ünsure"]),
        np.array([-3, 0, 7]),
        np.array([0, 1, 255], np.uint8),
        np.array([False, True]),
        np.array([-1.0, 0.0, 2.0]),
        np.array(["a", "bb", "c"], dtype=object),
        np.array([2**40, 2**41, 2**53 + 1]),
        np.array(["", "\n", "\"'"]),
    ],
    ids=lambda v: f"{v.dtype}",
)
def test_labels_keep_their_type(labels, tmp_path):
    rng = np.random.default_rng(0)
    y = np.sort(labels)[np.arange(60) % len(labels)]
    X = rng.normal(size=(60, 3)) + (np.arange(60) % len(labels))[:, None]
    model = DatumWiseClassifier(n_iterations=2, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    again = DatumWiseClassifier.load(tmp_path / "model")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.classes_.dtype.kind == model.classes_.dtype.kind
    assert [type(v) for v in again.classes_.tolist()] == [type(v) for v in model.classes_.tolist()]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.features_used(X), model.features_used(X))


def test_labels_of_other_types_are_refused_when_saving(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = DatumWiseClassifier(n_iterations=1).fit(X, np.arange(20) % 2)
    model.classes_ = np.array([b"a", b"b"])
    with pytest.raises(TypeError, match="cannot be saved; use numbers or text"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file(file, monkeypatch):
    path, data, _, _ = file

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"cannot write .*: No space left"):
        agent_of("base").save(path)
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]


def test_a_dataset_of_another_width_is_refused(file):
    with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 6\)"):
        RCPI.load(file[0]).trajectories(Dataset(np.zeros((2, 3)), [0, 1]).X)


def test_a_path_that_is_no_file_is_refused(tmp_path):
    assert_refused(tmp_path, "is a folder; name a model file")
    assert_refused(tmp_path / "nowhere", "no model file")
    assert_refused("nowhere\0", "no model file")
    agent = agent_of()
    with pytest.raises(OSError, match=r"cannot write .*nowhere"):
        agent.save(tmp_path / "nowhere" / "model")
    with pytest.raises(OSError, match="is a folder; name a file"):
        agent.save(tmp_path)
    assert list(tmp_path.iterdir()) == []
