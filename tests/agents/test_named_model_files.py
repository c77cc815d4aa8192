"""Model files of tables with names: names, levels, units and options come back, and damaged labels are refused."""

from __future__ import annotations

import contextlib
import json
import tracemalloc
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier, load_classifier, model_file
from agents.lattice import constants
from support.model_files import REFUSED, assert_refused
from support.patients import (
    GROUPS,
    NOT_FEATURES,
    PATIENT,
    PREREQUISITES,
    PRICES,
    RULES,
    TARGET,
    UNITS,
    features_and_labels,
    patients,
)

ESTIMATORS: dict[str, Any] = {
    "linear": DatumWiseClassifier(n_iterations=2, random_state=0),
    "lattice": LatticeClassifier(budget=2, random_state=0),
}
TRAINING_DATA = {
    "path": "patients.csv",
    "target": TARGET,
    "drop": ["visit"],
    "row_groups": PATIENT,
    "n": [1, 2.5, None],
}


class SavedModel(NamedTuple):
    fitted: Any
    path: Any
    header: dict[str, Any]
    arrays: dict[str, Any]
    X: pd.DataFrame
    y: pd.Series

    def changed(self, name="bad", arrays=None, **header):
        """A file with some entries of the header and arrays changed."""
        path = self.path.with_name(name)
        model_file.write(path, self.fitted.policy_class.kind, arrays or self.arrays, {**self.header, **header})
        return path


@pytest.fixture(scope="module", params=ESTIMATORS)
def saved(request, tmp_path_factory) -> SavedModel:
    table = patients(rows=200)
    data = fsgym.load_dataset(table, target=TARGET, drop=[*NOT_FEATURES, PATIENT]).replace(units=UNITS)
    fitted = clone(ESTIMATORS[request.param]).set_params(**(RULES | {"lam": 0.05})).fit(data)
    fitted.training_data_ = TRAINING_DATA
    path = tmp_path_factory.mktemp("named") / "model"
    fitted.save(path)
    arrays, header = model_file.read(path, request.param)
    return SavedModel(fitted, path, header, arrays, *features_and_labels(table))


def test_labels_come_back(saved):
    model = load_classifier(saved.path)
    names = [column.name for column in model.columns_]
    assert names == list(saved.X) == list(model.feature_names_in_)
    levels = {column.name: column.levels for column in model.columns_ if column.kind == "category"}
    assert levels == {name: tuple(sorted(set(saved.X[name]))) for name in ("sex", "arrival")}
    assert {column.name: column.unit for column in model.columns_ if column.unit} == UNITS
    assert model.rules_.names == saved.fitted.rules_.names == tuple(PRICES)
    assert model.training_data_ == TRAINING_DATA
    if isinstance(model, LatticeClassifier):
        assert model.expected_cost_ == saved.fitted.expected_cost_
        assert model.expected_n_features_ == saved.fitted.expected_n_features_


def test_parameters_come_back_by_name(saved):
    given = load_classifier(saved.path).get_params()
    assert given["groups"] == GROUPS
    assert given["costs"] == PRICES
    assert {name: needed for name, needed in given["prerequisites"].items() if needed} == PREREQUISITES
    assert given["error_costs"]["other"]["acs"] == 1000
    assert given["error_costs"]["acs"]["other"] == 40
    assert given["lam"] == 0.05
    json.dumps(given)  # plain values


@pytest.mark.parametrize("order", [1, -1])
def test_a_loaded_classifier_can_be_trained_again(saved, order):
    loaded = load_classifier(saved.path)
    others = {
        name: saved.fitted.get_params()[name] for name in ("random_state", "n_iterations") if hasattr(loaded, name)
    }
    again = clone(loaded).set_params(**others).fit(saved.X[saved.X.columns[::order]], saved.y)
    np.testing.assert_array_equal(again.predict(saved.X), saved.fitted.predict(saved.X))
    np.testing.assert_array_equal(again.features_used(saved.X)[:, ::order], saved.fitted.features_used(saved.X))


def test_a_file_is_the_same_after_loading(saved, tmp_path):
    load_classifier(saved.path).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.path.read_bytes()


AGE = {"name": "age", "unit": "years"}
DAMAGED_COLUMNS: list[Any] = [
    None, 3, "age", {}, [], [AGE], [None], [3], ["age"], [[]], [{}], [{"name": None}], [{"name": 3}], [{"name": ["a"]}],
    [{"name": "a", "levels": None}], [{"name": "a", "levels": 3}], [{"name": "a", "levels": "abc"}],
    [{"name": "a", "levels": [1, 2]}], [{"name": "a", "levels": {"a": 1}}], [{"name": "a", "kind": "tree"}],
    [{"name": "a", "kind": None}], [{"name": "a", "kind": ["number"]}], [{"name": "a", "kind": {}}],
    [{"name": "a", "unit": 3}], [{"name": "a", "unit": None}], [{"name": "a", "odd_is_missing": 1}],
    [{"name": "a", "odd_is_missing": None}], [{"name": "a", "surprise": 1}], [{"name": "a", "encode": "x"}],
    [{"name": "a", "whole": 1}],
    [{"name": "a", "kind": "category", "levels": ["x", "x"]}], [{"name": "a", "levels": ["x", "y"]}],
    [{"name": "a", "kind": "bool", "levels": ["x"]}],
    [{"name": "a", "kind": "category", "levels": [f"level {i}" for i in range(300_000)]}],
]  # fmt: skip


@pytest.mark.parametrize("columns", DAMAGED_COLUMNS, ids=range(len(DAMAGED_COLUMNS)))
@pytest.mark.one_in(4)
def test_damaged_columns_are_refused(saved, columns):
    assert_refused(saved.changed(columns=columns), "damaged", load_classifier)
    if isinstance(columns, list) and columns not in ([], [AGE]) and len(str(columns)) < 200:
        with_others = [*saved.header["columns"][:-1], *columns]  # as many as before
        assert_refused(saved.changed(columns=with_others), "damaged", load_classifier)


def test_columns_twice_or_too_few_are_refused(saved):
    columns = saved.header["columns"]
    for wrong in (columns[1:], [*columns, AGE], [*columns[:-1], AGE], [*columns[:-1], {"name": "a", "levels": []}] * 2):
        assert_refused(saved.changed(columns=wrong), "damaged", load_classifier)


N = 16  # features
ENTRIES: dict[str, list[Any]] = {
    "named": [None, 0, 1, "yes", [], {}],
    "features": [
        None, 3, "abc", {}, [], [0], [[0]], list(range(N + 1)), list(range(1, N + 1)), [0] * N, [-1, *range(1, N)],
        [float(i) for i in range(N)], [str(i) for i in range(N)], [True, *range(1, N)], [10**30, *range(1, N)],
        [None, *range(1, N)],
    ],
    "acquisitions": [None, 3, {}, [], list(range(11)), list(range(9)), [0] * 10, [0.0, *range(1, 10)], [2**63] * 10],
    "training_data": [3, "patients.csv", [], [{}], True],
    "expected": [
        None, 3, [], "cost", {"cost": None}, {"cost": "much"}, {"cost": [1]}, {"cost": True}, {"cost": float("nan")},
        {"cost": float("inf")}, {"n_features": {}}, {"cost": 10**400},
    ],
}  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.one_in(2)
def test_damaged_entries_are_refused(saved, entry):
    for value in ENTRIES[entry]:
        assert_refused(saved.changed(**{entry: value}), "damaged", load_classifier)
    without = {k: v for k, v in saved.header.items() if k != entry}
    path = saved.path.with_name("without")
    model_file.write(path, saved.fitted.policy_class.kind, saved.arrays, without)
    assert_refused(path, "damaged", load_classifier)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), value=JSON)
@pytest.mark.one_in(2)
def test_any_value_anywhere_is_refused_or_answers(saved, data, value):
    header = json.loads(json.dumps(saved.header))
    place: Any = header
    key: Any = data.draw(st.sampled_from(["columns", "classes", "classes_dtype", "rules", *ENTRIES]))
    while isinstance(place[key], list | dict) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = value
    path = saved.changed("any", **header)
    try:
        model = load_classifier(path)
    except REFUSED:
        assert_refused(path, "damaged", load_classifier)
        return
    if list(model.feature_names_in_ if hasattr(model, "feature_names_in_") else []) == list(saved.X):
        with contextlib.suppress(ValueError):  # a column of another kind
            assert len(model.predict(saved.X.assign(sex=None, arrival=None))) == len(saved.X)


def wide_file(saved: SavedModel, n: int) -> Any:
    """The file of a policy of N features that acquires nothing, with n columns of numbers in groups of other names."""
    rules = json.loads(saved.header["rules"]) | {"n_features": n, "names": [f"group {i}" for i in range(n)]}
    arrays = {name: v for name, v in saved.arrays.items() if name != "rules.prerequisites"}
    for name, values in arrays.items():
        for axis, size in enumerate(values.shape):
            if size in (12, N):
                values = np.repeat(values.take([0], axis), n, axis)
        arrays[name] = values
    arrays["rules.groups"] = np.arange(n)
    if "continuation.order" in arrays:
        arrays["continuation.order"] = np.arange(n)
    header = {
        "rules": json.dumps(rules),
        "columns": [{"name": f"column {i}"} for i in range(n)],
        "features": list(range(n)),
        "acquisitions": list(range(n)),
        "chart": None,
        "training_summary": None,
    }
    return saved.changed("wide", arrays, **header)


def peak_of_loading(path) -> int:
    """The largest number of bytes that loading a file allocates, whether it is refused or not."""
    tracemalloc.start()
    try:
        load_classifier(path)
    except REFUSED:
        assert_refused(path, "damaged", load_classifier)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def test_memory_is_bounded_by_the_size_of_the_file(saved):
    levels = [str(i) for i in range(10**5)]
    path = saved.changed("levels", columns=[{"name": "a", "kind": "codes", "levels": levels}])
    assert peak_of_loading(path) < 40 * path.stat().st_size


@pytest.mark.parametrize("saved", ["lattice"], indirect=True)
@pytest.mark.slow
def test_memory_and_time_grow_with_the_number_of_columns_not_faster(saved, monkeypatch):
    monkeypatch.setattr(constants, "N_LOCKED", 0)  # the policy holds one subset
    model = LatticeClassifier(budget=0, random_state=0).fit(saved.X, saved.y)
    path = saved.path.with_name("small")
    model.save(path)
    arrays, header = model_file.read(path, "lattice")
    wide = wide_file(SavedModel(model, path, header, arrays, saved.X, saved.y), 12_000)
    assert peak_of_loading(wide) < 40 * wide.stat().st_size
    loaded = load_classifier(wide)  # would take minutes if each group were compared with each column
    assert loaded.groups["group 11999"] == ["column 11999"]
