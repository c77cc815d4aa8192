"""Model files: what is read is what was written, and whatever else is in a file is refused in one sentence."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from agents import RCPI, DatumWiseClassifier, LinearPolicy, model_file
from fsgym import Dataset, DatumWiseEnv, Rules, Scaling
from support.rcpi_twin import PAIRS, VARIANTS, problem

REFUSED = (ValueError, OSError)


def agent_of(variant="everything", missing=False, seed=0):
    """An agent with random scores."""
    dataset, rules = problem(variant, missing)
    rng = np.random.default_rng(seed)
    agent = RCPI(DatumWiseEnv(dataset, rules))
    weights = rng.normal(size=(rules.n_features, 2, rules.n_actions)).astype(np.float32)
    intercepts = rng.normal(size=rules.n_actions).astype(np.float32)
    agent.policy = LinearPolicy(weights, intercepts, Scaling.fit(dataset.X), rules)
    return agent


@pytest.fixture
def file(tmp_path):
    """A good file: (path, bytes, header as a dict, arrays)."""
    path = tmp_path / "model.safetensors"
    agent_of().save(path)
    arrays, header = model_file.read(path, "linear")
    return path, path.read_bytes(), {"kind": "linear", **header}, arrays


def same(one, other):
    np.testing.assert_array_equal(one.order, other.order)
    np.testing.assert_array_equal(one.answers, other.answers)
    np.testing.assert_array_equal(one.acquired, other.acquired)


def refused(path, match=".", load=RCPI.load):
    with pytest.raises(REFUSED, match=match) as caught:
        load(path)
    said = str(caught.value)
    assert said
    assert "\n" not in said
    assert len(said) < 400


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_was_saved_comes_back(variant, missing, tmp_path):
    agent = agent_of(variant, missing)
    agent.policy.intercepts[0] = np.float32(-1e30)  # an acquisition that was legal nowhere
    agent.save(tmp_path / "model")
    again = RCPI.load(tmp_path / "model")
    for X in (agent.dataset.X, np.random.default_rng(1).uniform(-2, 2, (50, 6))):
        same(again.trajectories(X), agent.trajectories(X))
    observation = np.zeros(12, np.float32)
    assert again.predict(observation)[0] == agent.predict(observation)[0]
    assert repr(again.rules) == repr(agent.rules)
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()


def test_bytes_are_the_same_in_every_process(file):
    path, data, _, _ = file
    for _ in range(5):
        agent_of().save(path)
        assert path.read_bytes() == data
    code = f"from agents import RCPI; RCPI.load({str(path)!r}).save({str(path) + '2'!r})"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, cwd=root)
    assert path.with_name(path.name + "2").read_bytes() == data


def test_a_loaded_agent_learns_only_with_an_environment_of_its_kind(file):
    path, *_ = file
    with pytest.raises(ValueError, match="loaded without an environment"):
        RCPI.load(path).learn()
    dataset, _ = problem("everything", False)
    other = Rules.for_dataset(dataset, groups=PAIRS, budget=1)
    agent = RCPI.load(path, DatumWiseEnv(dataset, other))
    assert agent.trajectories(dataset.X).lengths.max() <= 1  # under the rules of the environment
    assert len(agent.learn().history) == 10
    for options in ({}, {"groups": [[0], [1], [2, 3, 4, 5]]}):
        with pytest.raises(ValueError, match="for other features, groups or classes"):
            RCPI.load(path, DatumWiseEnv(dataset, Rules.for_dataset(dataset, **options)))


def test_every_truncation_is_refused(file):
    path, data, _, _ = file
    for cut in [*range(12), *np.linspace(12, len(data) - 1, 40).astype(int).tolist()]:
        path.write_bytes(data[:cut])
        refused(path)
    path.write_bytes(data + b"\0" * 8)
    refused(path)


def test_a_flipped_bit_is_refused_or_changes_a_number(file):
    path, data, _, _ = file
    rng = np.random.default_rng(0)
    head = 8 + struct.unpack("<Q", data[:8])[0]
    places = np.append(rng.integers(0, head, 150), rng.integers(0, len(data), 100))
    survivors = 0
    for place in places.tolist():
        flipped = bytearray(data)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            agent = RCPI.load(path)
        except REFUSED:
            refused(path)
        else:
            survivors += 1
            assert set(agent.trajectories(np.zeros((3, 6))).answers) <= {0, 1, 2}
    assert survivors < 200


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=200), size=st.one_of(st.none(), st.integers(0, 2**64 - 1)))
def test_noise_is_refused(tmp_path_factory, data, size):
    path = tmp_path_factory.getbasetemp() / "noise"
    path.write_bytes(data if size is None else struct.pack("<Q", size) + data)
    refused(path)


def test_what_is_no_file_is_refused(tmp_path):
    refused(tmp_path, "no model file")
    refused(tmp_path / "nowhere", "no model file")
    refused("nowhere\0", "no model file")
    agent = agent_of()
    with pytest.raises(OSError, match=r"cannot write the model to .*nowhere"):
        agent.save(tmp_path / "nowhere" / "model")
    with pytest.raises(OSError, match="cannot write the model to"):
        agent.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


def test_nothing_is_unpickled(file, tmp_path, monkeypatch):
    path, data, _, _ = file
    bomb = tmp_path / "bomb"
    for content in (pickle.dumps(Bomb()), pickle.dumps(agent_of().policy.weights), b"PK\x03\x04" + data):
        bomb.write_bytes(content)
        refused(bomb)
        refused(bomb, load=DatumWiseClassifier.load)
    np.save(tmp_path / "array.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    refused(tmp_path / "array.npy")

    def forbidden(*_, **__):
        raise SystemExit("unpickled")

    monkeypatch.setattr(pickle, "loads", forbidden)
    monkeypatch.setattr(pickle, "load", forbidden)
    monkeypatch.setattr(pickle, "Unpickler", forbidden)
    RCPI.load(path)


def raw(header: bytes, body: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + body


def entry(text: str) -> bytes:
    return raw(json.dumps({"__metadata__": {model_file.FORMAT: text}}).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 8,
        raw(b"{}"),
        raw(b"[]"),
        raw(b"null"),
        raw(b"{"),
        raw(b"\xff\xfe"),
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2**64 - 1) + b"{}",
        struct.pack("<Q", 90_000_000) + b"{}",
        raw(b"[" * 100_000),
        raw(b'{"__metadata__":' + b'{"a":' * 50_000),
        entry("[" * 100_000),
        entry('{"a":' * 100_000),
        entry("null"),
        entry("[]"),
        entry("{}"),
        entry('{"kind": "tree"}'),
        entry('{"kind": "linear"}'),
        entry(""),
        entry('{"kind": "linear", "rules": null}'),
        entry('{"kind": "linear", "rules": "' + "[" * 100_000 + '"}'),
        raw(b'{"w": {"dtype": "F32", "shape": [9223372036854775807, 4], "data_offsets": [0, 16]}}', b"\0" * 16),
        raw(b'{"w": {"dtype": "F32", "shape": [4], "data_offsets": [16, 0]}}', b"\0" * 16),
        raw(b'{"w": {"dtype": "BF16", "shape": [8], "data_offsets": [0, 16]}}', b"\0" * 16),
        raw(b'{"w": {"dtype": "F8_E4M3", "shape": [16], "data_offsets": [0, 16]}}', b"\0" * 16),
    ],
    ids=range(26),
)
def test_hostile_files_are_refused(data, tmp_path):
    path = tmp_path / "hostile"
    path.write_bytes(data)
    refused(path)
    refused(path, load=DatumWiseClassifier.load)


def changed(file, header=None, rules=None, drop=(), **arrays):
    """The good file with some arrays, header entries and entries of the rules changed."""
    path, _, old_header, old_arrays = file
    text = {**json.loads(old_header["rules"]), **(rules or {})}
    new = {k: v for k, v in {**old_arrays, **arrays}.items() if k not in drop}
    full = {**old_header, "rules": json.dumps(text), **(header or {})}
    path.write_bytes(save(new, {model_file.FORMAT: json.dumps(full)}))
    return path


def spoiled(array, value, at=0):
    array = array.copy()
    array.flat[at] = value
    return array


@pytest.mark.parametrize("name", ["weights", "intercepts", "offset", "scale"])
def test_numbers_that_are_not_numbers_or_too_large_are_refused(file, name):
    arrays = file[3]
    for value in (np.nan, np.inf, -np.inf):
        refused(changed(file, **{name: spoiled(arrays[name], value)}), f"{name} must be finite")
    for shape in ((), (1,), (7, 2, 6), (*arrays[name].shape[::-1], 1)):
        refused(changed(file, **{name: np.ones(shape, arrays[name].dtype)}), f"{name} must be finite")
    for kind in (np.complex64, np.float16, np.int64):
        refused(changed(file, **{name: np.ones(arrays[name].shape, kind)}), f"{name} must be finite float")
    refused(changed(file, drop=[name]), "damaged")
    if name in ("weights", "intercepts"):
        for value in (1e13, -1e13, 3e38, -3e38, -1e30 if name == "weights" else -2e30):
            refused(changed(file, **{name: spoiled(arrays[name], value, at=-1)}), f"{name} must be finite")
    refused(changed(file, intercepts=spoiled(arrays["intercepts"], -1e30, at=-1)), "intercepts")  # a class
    RCPI.load(changed(file))


@pytest.mark.parametrize(
    "rules",
    [
        {"n_features": -1},
        {"n_features": 7},
        {"n_features": 10**12},
        {"n_features": None},
        {"n_classes": 10**12},
        {"n_classes": 1},
        {"lam": -1.0},
        {"lam": "much"},
        {"lam": float("nan")},
        {"budget": -1},
        {"budget": 1.5},
        {"budget_cost": -1},
        {"budget_cost": 1e-9},
        {"relation": "some"},
        {"relation": []},
        {"missing": 3},
        {"names": ["a"]},
        {"names": 7},
        {"names": {}},
        {"surprise": 1},
        {"groups": 3},
        {"dataset": "x"},
        {"self": 1},
    ],
    ids=str,
)
def test_damaged_rules_are_refused(file, rules):
    if "groups" in rules:
        refused(changed(file, rules=rules, drop=["rules.groups"]), "damaged")
    else:
        refused(changed(file, rules=rules), "damaged")


def test_damaged_tables_are_refused(file):
    arrays = {k: v for k, v in file[3].items() if k.startswith("rules.")}
    assert set(arrays) == {
        f"rules.{k}" for k in ("groups", "costs", "unrelated_costs", "error_costs", "related", "prerequisites")
    }
    for name, array in arrays.items():
        refused(changed(file, **{name: np.zeros((0,), array.dtype)}), "damaged")
        refused(changed(file, **{name: np.zeros((2, 2, 2), array.dtype)}), "damaged")
        if name != "rules.prerequisites":  # without them there are none
            refused(changed(file, drop=[name]), "damaged")
    refused(changed(file, **{"rules.costs": spoiled(arrays["rules.costs"], np.nan)}), "finite")
    refused(changed(file, **{"rules.costs": spoiled(arrays["rules.costs"], -1)}), "negative")
    refused(changed(file, **{"rules.error_costs": spoiled(arrays["rules.error_costs"], np.inf)}), "finite")
    refused(changed(file, **{"rules.groups": spoiled(arrays["rules.groups"], 9)}), "group")
    refused(changed(file, **{"rules.groups": spoiled(arrays["rules.groups"], -1)}), "group")
    refused(changed(file, **{"rules.prerequisites": np.eye(3, dtype=np.uint8)}), "cycle")
    refused(changed(file, **{"rules.related": np.full((3, 3), 2, np.uint8)}), "0 and 1")


def test_another_kind_of_model_is_refused(file):
    path, *_ = file
    refused(changed(file, header={"kind": "tree"}), "another kind")
    model_file.write(path, "tree", {"splits": np.arange(3)}, {"depth": 2})
    refused(path, "another kind")
    arrays, header = model_file.read(path, "tree")
    np.testing.assert_array_equal(arrays["splits"], np.arange(3))
    assert header == {"depth": 2}
    path.write_bytes(save({"a": np.zeros(2)}, {"format": "pt"}))
    refused(path, "not a model file of fsgym")


def test_an_agents_file_is_no_classifiers_and_the_other_way_round_it_is(file, tmp_path):
    refused(file[0], "RCPI.load", DatumWiseClassifier.load)
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    model = DatumWiseClassifier(n_iterations=1, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    same(RCPI.load(tmp_path / "model").trajectories(X), model.trajectories(X))


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
def test_labels_keep_their_kind(labels, tmp_path):
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


@pytest.mark.parametrize(
    "header",
    [
        {"classes": None},
        {"classes": []},
        {"classes": ["a"]},
        {"classes": ["a", "b"]},
        {"classes": ["b", "a", "c"]},
        {"classes": ["a", "a", "b"]},
        {"classes": [["a"], ["b"], ["c"]]},
        {"classes": [1, "a", 2]},
        {"classes": {"a": 1}},
        {"classes": [None, 1, 2]},
        {"classes_dtype": "V8"},
        {"classes_dtype": "<M8[s]"},
        {"classes_dtype": 3},
        {"classes_dtype": {"names": ["a"], "formats": ["O"]}},
        {"classes_dtype": "<i4"},
        {"classes_dtype": "nonsense"},
        {"classes_dtype": "[" * 1000},
        {"feature_names": 3},
        {"feature_names": ["a"]},
        {"feature_names": [1, 2, 3]},
        {"feature_names": "abc"},
        {"classes": [1e400, 2, 3], "classes_dtype": "<i8"},
    ],
    ids=range(22),
)
def test_damaged_labels_and_names_are_refused(header, tmp_path):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.array(["a", "b", "c"])[np.arange(30) % 3]
    path = tmp_path / "model"
    DatumWiseClassifier(n_iterations=1, random_state=0).fit(X, y).save(path)
    arrays, good = model_file.read(path, "linear")
    model_file.write(path, "linear", arrays, {**good, **header})
    refused(path, "damaged", DatumWiseClassifier.load)
    model_file.write(path, "linear", arrays, {**good, "classes_dtype": "<U2000000000"})  # no room is made for it
    assert DatumWiseClassifier.load(path).classes_.dtype == "<U1"


def test_labels_that_cannot_be_written_are_refused_when_saving(tmp_path):
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
    with pytest.raises(OSError, match=r"cannot write the model to .*: No space left"):
        agent_of("base").save(path)
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]


def test_a_dataset_of_another_width_is_refused(file):
    with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 6\)"):
        RCPI.load(file[0]).trajectories(Dataset(np.zeros((2, 3)), [0, 1]).X)
