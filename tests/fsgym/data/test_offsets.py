"""Columns that float32 does not resolve are stored less an offset, and shown as they were."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsgym
from agents import DatumWiseClassifier, load_classifier
from fsgym import Dataset
from fsgym.data.columns import Column, Columns
from fsgym.data.scaling import float32_offsets
from fsgym.envs.trajectories import values_as_text
from fsgym.text.html import dataset_html

START = 1.7e9  # a time in seconds
rng = np.random.default_rng(0)
SECONDS = START + rng.integers(-1000, 1000, 60).astype(np.float64)
TABLE = np.column_stack([SECONDS, rng.normal(size=60)])
Y = np.where(SECONDS > START, "late", "early")
NAMES = ["time", "other"]
FRAME = pd.DataFrame(TABLE, columns=NAMES)


@pytest.fixture(scope="module")
def data():
    return Dataset(TABLE, Y, feature_names=NAMES)


@pytest.fixture(scope="module")
def model():
    return DatumWiseClassifier(0.01, states_per_sample=5, random_state=0).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("column", "has_offset"),
    [
        (SECONDS, True),
        (1e6 + np.arange(5) / 64, True),
        (300.0 + np.arange(5) / 1024, False),  # exact in float32
        (np.arange(1990.0, 2020), False),
        (rng.normal(100, 1, 50), False),
        (rng.normal(0, 1e-30, 50), False),
        (np.full(5, START + 1), False),
        ([START, np.nan, START + 1], True),
        ([np.nan, np.nan], False),
        ([0.0, START, START + 1], False),  # no offset would help
        ([1e300, np.inf], False),
        (SECONDS.astype(np.int64), True),
        (SECONDS.astype(np.float32), False),
        (np.arange(5, dtype=np.uint8), False),
    ],
)
def test_which_columns_have_an_offset(column, has_offset):
    assert (float32_offsets(np.asarray(column)[:, None])[0] != 0) == has_offset


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=10),
    st.floats(-1e12, 1e12),
    st.integers(-40, 40),
)
def test_offsets_are_multiplied_with_the_values_and_resolve_them(values, shift, power):
    X = np.array(values)[:, None] + shift
    offset = float32_offsets(X)
    np.testing.assert_array_equal(float32_offsets(X * 2.0**power), offset * 2.0**power)
    if offset:
        stored = (X - offset).astype(np.float32)
        assert np.abs(stored - (X - offset)).max() <= 2.0**-16 * np.ptp(X)
        assert not float32_offsets(stored).any()


def test_the_values_are_those_that_were_given(data):
    assert data.columns.offsets[0] != 0
    assert data.columns.offsets[1] == 0
    np.testing.assert_array_equal(data.to_array()[:, 0], SECONDS)
    np.testing.assert_array_equal(data.to_frame()["time"], SECONDS)
    np.testing.assert_array_equal(data.X[:, 0], SECONDS - data.columns.offsets[0])
    np.testing.assert_array_equal(data.columns.encode(FRAME), data.X)
    assert np.array_equal(np.unique(data.X[:, 0]), np.unique(SECONDS) - data.columns.offsets[0])
    plain = Dataset(TABLE[:, 1:], Y)
    assert plain.to_array() is plain.X


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.rows(np.arange(5)),
        lambda d: d.replace(name="other"),
        lambda d: d.replace(feature_names=["seconds", "x"]),
        lambda d: d.with_groups([[0, 1]]),
        lambda d: d.split()[0],
        lambda d: pickle.loads(pickle.dumps(d)),
        lambda d: d.replace(columns=d.columns.with_units({"time": "s"})),
    ],
)
def test_changed_data_keep_their_offsets(data, change):
    changed = change(data)
    np.testing.assert_array_equal(changed.columns.offsets, data.columns.offsets)
    assert set(changed.to_array()[:, 0]) <= set(SECONDS)


def test_scaled_data_do_not_depend_on_the_offset(data):
    later = Dataset(TABLE[SECONDS > START], Y[SECONDS > START], classes=["early", "late"], feature_names=NAMES)
    assert later.columns.offsets[0] != data.columns.offsets[0]
    np.testing.assert_allclose(later.scaled(data).X, data.scaled().X[SECONDS > START], atol=1e-5)
    assert not data.scaled().columns.offsets.any()
    assert data.fingerprint_parts() != Dataset(data.X, Y, feature_names=NAMES).fingerprint_parts()


def test_bounds_are_given_in_the_unit_of_the_values():
    data = Dataset(TABLE, Y, bounds=([START - 2000, -9], [START + 2000, 9]))
    np.testing.assert_array_equal(data.bounds[0] + data.columns.offsets, [START - 2000, -9])
    assert data.rows([0]).bounds[1][1] == 9
    stored = Dataset(data.X, Y, columns=data.columns, bounds=([-2000, -9], [2000, 9]))
    assert stored.bounds[0].tolist() == [-2000, -9]


@pytest.mark.parametrize(
    ("value", "text"),
    [(START + 123, "1700000123 s"), (START - 12.4, "1699999987.6 s"), (START, "1700000000 s"), (np.nan, "missing")],
)
def test_values_are_shown_as_they_were(value, text):
    columns = Columns([Column("time", unit="s", offset=START + 1.0)])
    features = columns.encode(pd.DataFrame({"time": [value]}))
    assert values_as_text(features[0], [0], columns) == text


def test_tables_show_the_range_of_the_values(data):
    described = fsgym.describe(data).set_index("column")
    assert described.loc["time", "low"] == SECONDS.min()
    assert f"{SECONDS.min():.0f} to {SECONDS.max():.0f}" in dataset_html(data)


def test_columns_as_json():
    columns = Columns([Column("time", offset=START), Column("other")])
    text = json.dumps(columns.to_json())
    assert Columns.from_json(json.loads(text)) == columns
    assert "offset" not in json.loads(text)[1]
    assert not columns.encodes_like(Columns.of_numbers(["time", "other"]))
    for column in ({"offset": "1"}, {"offset": float("nan")}, {"offset": True}, {"kind": "bool", "offset": 1.0}):
        with pytest.raises(ValueError, match="offset"):
            Columns.from_json([{"name": "c"} | column])


def test_a_table_of_numbers_and_a_file_have_the_same_offsets(tmp_path):
    FRAME.assign(y=Y).to_csv(tmp_path / "t.csv", index=False)
    from_file, from_table = (
        fsgym.load_dataset(tmp_path / "t.csv", target="y"),
        fsgym.load_dataset(FRAME.assign(y=Y), target="y"),
    )
    assert from_file.columns == from_table.columns
    np.testing.assert_array_equal(from_table.X, Dataset(TABLE, Y).X)


def test_a_model_applies_its_offsets_to_other_tables(model, tmp_path):
    expected, rows = model.predict(FRAME), FRAME[SECONDS > START]
    assert model.columns_.offsets[0] != 0
    assert (expected == Y).mean() > 0.9
    np.testing.assert_array_equal(model.predict(rows), expected[SECONDS > START])
    one = Dataset(rows.to_numpy(), np.where(rows["other"] > 0, "late", "early"), feature_names=NAMES)
    np.testing.assert_array_equal(model.predict(one), expected[SECONDS > START])
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load_classifier(tmp_path / "m").predict(FRAME), expected)
    shown = model.trajectories(FRAME.iloc[:1]).to_frame()
    assert f"{SECONDS[0]:.0f}" in shown["value"].astype(str).tolist()


def test_an_array_without_names(model, data):
    unnamed = DatumWiseClassifier(0.01, states_per_sample=5, random_state=0).fit(TABLE, Y)
    late = SECONDS > START
    expected = unnamed.predict(TABLE)
    assert (expected == Y).mean() > 0.9
    np.testing.assert_array_equal(unnamed.predict(TABLE[late]), expected[late])
    other = Dataset(TABLE[late], Y[late], classes=["early", "late"])
    np.testing.assert_array_equal(unnamed.predict(other), expected[late])
    result = fsgym.evaluate(unnamed, other)
    assert result.accuracy == (expected[late] == "late").mean()
    assert fsgym.evaluate(unnamed, TABLE, Y).accuracy == (expected == Y).mean()
    with pytest.raises(ValueError, match="infinity"):
        unnamed.predict(TABLE * 1e38)


def test_baselines_are_given_the_values_themselves(data):
    from baselines import CARTClassifier

    for X in (TABLE, FRAME):
        tree = CARTClassifier(random_state=0).fit(X, Y)
        assert fsgym.evaluate(tree, data).accuracy == 1.0
        assert fsgym.evaluate(tree, X, Y).accuracy == 1.0


def test_a_chart_says_the_times_and_not_what_is_stored(model):
    texts = [branch.condition for box in model.chart(FRAME, Y).boxes for branch in box.branches]
    limits = [float(number) for text in texts for number in re.findall(r"\d+", text)]
    assert len(limits) > 1
    assert max(abs(limit - START) for limit in limits) < 1001
