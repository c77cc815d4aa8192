"""Model files that are damaged, malicious or of another kind: each is refused in one sentence."""

from __future__ import annotations

import json
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save
from sklearn.base import clone

from agents import RCPI, DatumWiseClassifier, LatticeClassifier, SB3Classifier, load_classifier, model_file
from support.deep_training import short_training
from support.model_files import REFUSED, agent_of, assert_refused, changed, corrupted
from support.problems import one_decides


def test_every_truncation_is_refused(file):
    path, data, _, _ = file
    for cut in [*range(12), *np.linspace(12, len(data) - 1, 40).astype(int).tolist()]:
        path.write_bytes(data[:cut])
        assert_refused(path)
    path.write_bytes(data + b"\0" * 8)
    assert_refused(path)


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
            assert_refused(path)
        else:
            survivors += 1
            assert set(agent.trajectories(np.zeros((3, 6))).answers) <= {0, 1, 2}
    assert survivors < 200


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=200), size=st.one_of(st.none(), st.integers(0, 2**64 - 1)))
def test_random_bytes_are_refused(tmp_path_factory, data, size):
    path = tmp_path_factory.getbasetemp() / "noise"
    path.write_bytes(data if size is None else struct.pack("<Q", size) + data)
    assert_refused(path)


KINDS = {
    "linear": DatumWiseClassifier(n_iterations=1, random_state=0),
    "lattice": LatticeClassifier(lam=0.05, budget=1, random_state=0),
    "network": SB3Classifier(hidden=(4,), random_state=0, **short_training("maskable_ppo")),
}


@pytest.fixture(scope="module", params=KINDS)
def model(request, tmp_path_factory):
    """A table, and a good file of a classifier that was fitted to it."""
    X, y = one_decides(40, 4)
    path = tmp_path_factory.mktemp("damage") / "model"
    clone(KINDS[request.param]).fit(X, y).save(path)
    return X, path


DAMAGE = st.tuples(st.integers(0, 20_000), st.integers(0, 16), st.binary(max_size=16))  # where, bytes out, bytes in


@settings(max_examples=40, deadline=None)
@given(damages=st.lists(DAMAGE, min_size=1, max_size=3))
def test_a_damaged_file_is_refused_or_answers_with_a_class(model, damages):
    X, path = model
    content = bytearray(path.read_bytes())
    for place, out, into in damages:
        start = place % len(content)
        content[start : start + out] = into
    bad = path.with_name("bad")
    bad.write_bytes(content)
    try:
        with np.errstate(all="ignore"):
            answers = load_classifier(bad).predict(X)
    except REFUSED:
        assert_refused(bad, load=lambda path: load_classifier(path).predict(X))
    else:
        assert len(answers) == len(X)


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


def test_nothing_is_unpickled(file, tmp_path, monkeypatch):
    path, data, _, _ = file
    bomb = tmp_path / "bomb"
    for content in (pickle.dumps(Bomb()), pickle.dumps(agent_of().policy.weights), b"PK\x03\x04" + data):
        bomb.write_bytes(content)
        assert_refused(bomb)
        assert_refused(bomb, load=DatumWiseClassifier.load)
    np.save(tmp_path / "array.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    assert_refused(tmp_path / "array.npy")

    def forbidden(*_, **__):
        raise SystemExit("unpickled")

    monkeypatch.setattr(pickle, "loads", forbidden)
    monkeypatch.setattr(pickle, "load", forbidden)
    monkeypatch.setattr(pickle, "Unpickler", forbidden)
    RCPI.load(path)


def raw(header: bytes, body: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + body


def entry(text: str) -> bytes:
    return raw(json.dumps({"__metadata__": {model_file.MODEL_FORMAT: text}}).encode())


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
def test_malicious_files_are_refused(data, tmp_path):
    path = tmp_path / "malicious"
    path.write_bytes(data)
    assert_refused(path)
    assert_refused(path, load=DatumWiseClassifier.load)


@pytest.mark.parametrize("name", ["weights", "intercepts", "offset", "scale"])
def test_numbers_that_are_not_finite_or_too_large_are_refused(file, name):
    arrays = file[3]
    for value in (np.nan, np.inf, -np.inf):
        assert_refused(changed(file, **{name: corrupted(arrays[name], value)}), f"{name} must be finite")
    for shape in ((), (1,), (7, 2, 6), (*arrays[name].shape[::-1], 1)):
        assert_refused(changed(file, **{name: np.ones(shape, arrays[name].dtype)}), f"{name} must be finite")
    for kind in (np.complex64, np.float16, np.int64):
        assert_refused(changed(file, **{name: np.ones(arrays[name].shape, kind)}), f"{name} must be finite float")
    assert_refused(changed(file, drop=[name]), "damaged")
    if name in ("weights", "intercepts"):
        for value in (1e13, -1e13, 3e38, -3e38, -1e30 if name == "weights" else -2e30):
            assert_refused(changed(file, **{name: corrupted(arrays[name], value, at=-1)}), f"{name} must be finite")
    assert_refused(changed(file, intercepts=corrupted(arrays["intercepts"], -1e30, at=-1)), "intercepts")  # a class
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
        assert_refused(changed(file, rules=rules, drop=["rules.groups"]), "damaged")
    else:
        assert_refused(changed(file, rules=rules), "damaged")


def test_damaged_tables_are_refused(file):
    arrays = {k: v for k, v in file[3].items() if k.startswith("rules.")}
    assert set(arrays) == {
        f"rules.{k}" for k in ("groups", "costs", "unrelated_costs", "error_costs", "related", "prerequisites")
    }
    for name, array in arrays.items():
        assert_refused(changed(file, **{name: np.zeros((0,), array.dtype)}), "damaged")
        assert_refused(changed(file, **{name: np.zeros((2, 2, 2), array.dtype)}), "damaged")
        if name != "rules.prerequisites":  # which are optional
            assert_refused(changed(file, drop=[name]), "damaged")
    assert_refused(changed(file, **{"rules.costs": corrupted(arrays["rules.costs"], np.nan)}), "finite")
    assert_refused(changed(file, **{"rules.costs": corrupted(arrays["rules.costs"], -1)}), "negative")
    assert_refused(changed(file, **{"rules.error_costs": corrupted(arrays["rules.error_costs"], np.inf)}), "finite")
    assert_refused(changed(file, **{"rules.groups": corrupted(arrays["rules.groups"], 9)}), "group")
    assert_refused(changed(file, **{"rules.groups": corrupted(arrays["rules.groups"], -1)}), "group")
    assert_refused(changed(file, **{"rules.prerequisites": np.eye(3, dtype=np.uint8)}), "cycle")
    assert_refused(changed(file, **{"rules.related": np.full((3, 3), 2, np.uint8)}), "0 and 1")


def test_another_kind_of_model_is_refused(file):
    path, *_ = file
    assert_refused(changed(file, header={"kind": "tree"}), "another kind")
    model_file.write(path, "tree", {"splits": np.arange(3)}, {"depth": 2})
    assert_refused(path, "another kind")
    arrays, header = model_file.read(path, "tree")
    np.testing.assert_array_equal(arrays["splits"], np.arange(3))
    assert header == {"depth": 2}
    path.write_bytes(save({"a": np.zeros(2)}, {"format": "pt"}))
    assert_refused(path, "not a model file of fsgym")


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
        {"columns": 3},
        {"columns": [{"name": "a"}]},
        {"columns": [{"name": 1}, {"name": 2}, {"name": 3}]},
        {"columns": "abc"},
        {"classes": [1e400, 2, 3], "classes_dtype": "<i8"},
    ],
    ids=range(22),
)
@pytest.mark.one_in(2)
def test_damaged_labels_and_names_are_refused(header, tmp_path):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.array(["a", "b", "c"])[np.arange(30) % 3]
    path = tmp_path / "model"
    DatumWiseClassifier(n_iterations=1, random_state=0).fit(X, y).save(path)
    arrays, good = model_file.read(path, "linear")
    model_file.write(path, "linear", arrays, {**good, **header})
    assert_refused(path, "damaged", DatumWiseClassifier.load)
    model_file.write(path, "linear", arrays, {**good, "classes_dtype": "<U2000000000"})  # no memory is allocated for it
    assert DatumWiseClassifier.load(path).classes_.dtype == "<U1"
