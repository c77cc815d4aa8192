"""The summary of the training rows, and how other rows are compared with it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact, ks_2samp

from agents import LatticeClassifier, load_classifier, model_file
from fsgym.data.columns import Column, Columns
from fsgym.data.training_summary import (
    ColumnSummary,
    TrainingSummary,
    _number_p_values,
    _summary_of,
    share_p_values,
)

COLUMNS = Columns(
    [
        Column("pulse", low=30, high=120),
        Column("ward", "category", ("er", "gp", "icu")),
        Column("smoker", "bool"),
        Column("code", "codes", ("a", "b", "c")),
        Column("time", offset=1.7e9),
    ]
)


def table(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "pulse": rng.normal(75, 12, n).round(1), "ward": rng.choice(["er", "gp", "icu"], n, p=[0.2, 0.5, 0.3]),
        "smoker": rng.random(n) < 0.3, "code": rng.choice(["a", "b", "c"], n), "time": 1.7e9 + rng.integers(0, 3000, n),
    })  # fmt: skip
    return frame.mask(rng.random(frame.shape) < 0.1)


def summary_of(frame, y=None):
    X = COLUMNS.encode(frame)
    y = np.zeros(len(X), np.int64) if y is None else y
    return TrainingSummary.of(COLUMNS, X, y, y, np.ones((len(X), len(COLUMNS)), bool), 2, 2)


def found(summary, frame, **options):
    return summary.compare(COLUMNS, COLUMNS.encode(frame), **options).differences


def test_the_distance_at_the_cuts_gives_no_lower_p_value_than_all_values():
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.1, 0.3):
        old, new = rng.normal(size=900).astype(np.float32), rng.normal(shift, size=300).astype(np.float32)
        summary = _summary_of(Column("x"), old[:, None], 1)
        assert len(summary.cuts) == 50
        exact = ks_2samp(old, new, method="asymp").pvalue
        assert 0.9 * exact <= _number_p_values(summary, new)[0] <= max(30 * exact, 0.3)
    few = rng.integers(0, 9, 500).astype(np.float32)  # all distinct values are cuts, and nothing is lost
    new = rng.integers(2, 9, 80).astype(np.float32)
    summary = _summary_of(Column("x"), few[:, None], 1)
    distance = ks_2samp(few, new).statistic
    assert summary.cuts == tuple(range(9))
    at_most = np.array([(new <= c).mean() for c in summary.cuts])
    assert np.abs(at_most - np.array(summary.counts) / 500).max() == pytest.approx(distance)


def test_values_outside_the_range_are_as_probable_as_the_largest_of_all_values():
    summary = ColumnSummary("x", 1, 0, (0.0, 1.0), (1, 20))
    inside, beyond = np.full(8, 0.5, np.float32), np.full(2, 9.0, np.float32)
    chance = (10 * 9) / (30 * 29)  # that the two largest of 20 + 10 values are among the 10
    assert _number_p_values(summary, np.concatenate([inside, beyond]))[1] == pytest.approx(2 * chance)


def test_shares_have_the_p_values_of_fisher():
    rng = np.random.default_rng(1)
    for _ in range(20):
        n, m = rng.integers(20, 300, 2)
        k, new = rng.integers(0, n), rng.integers(0, m)
        sides = [fisher_exact([[k, n - k], [new, m - new]], side).pvalue for side in ("less", "greater")]
        assert share_p_values(k, n, new, m) == pytest.approx(min(1.0, 2 * min(sides)))


@pytest.mark.slow
def test_rows_of_the_same_distribution_rarely_differ():
    rng, n_false = np.random.default_rng(2), 0
    for seed in range(100):
        y = rng.integers(2, size=1000)
        summary = summary_of(table(1000, [seed, 0]), y)
        n_false += bool(found(summary, table(300, [seed, 1]), y=rng.integers(2, size=300)))
    assert n_false <= 8  # of 100 with a probability of at most .05: 9 or more in 6 %, if the tests were exact


@pytest.mark.parametrize(
    ("column", "change", "kinds", "text"),
    [
        ("pulse", lambda x: x / 60, {"values", "range"}, "looks like a factor of 1/60: median 1.2"),
        ("pulse", lambda x: x * 1000, {"values", "range"}, "looks like a factor of 1000: median 7."),
        ("pulse", lambda x: x * 18.02, {"values", "range"}, "looks like a factor of 18"),
        ("pulse", lambda x: x + 12, {"values"}, "has the median 8"),
        ("pulse", lambda x: x * 0 + 70, {"values"}, "is 70 in all of 2"),
        ("pulse", lambda x: x.mask(x.index < 5, 900), {"range"}, "5 of 2"),
        ("pulse", lambda x: x * np.nan, {"missing"}, "has no value in any row, 1"),
        ("time", lambda x: x + 1500, {"values"}, "has the median 1.7e+09"),
        ("ward", lambda x: x.replace("gp", "er"), {"levels"}, "has 'er' in 7"),
        ("smoker", lambda x: x.map({True: True, False: True}), {"levels"}, "has 'False' in 0 % of the rows, "),
        ("code", lambda x: x.replace("c", "a"), {"levels"}, " of the rows, 3"),
        ("code", lambda x: x.mask(x.index % 2 == 0), {"missing"}, "has no value in 5"),
    ],
)
def test_changes_are_found_and_said(column, change, kinds, text):
    new = table(300, 8)
    new[column] = change(new[column])
    differences = found(summary_of(table(1000, 7)), new)
    assert [d.column for d in differences] == [column]
    assert kinds <= {*differences[0].kinds}
    assert text in differences[0].text


def test_one_row_far_outside_is_found_where_there_are_enough_training_rows():
    new = table(1, 3).assign(pulse=4500.0, ward="er", smoker=True, code="a", time=1.7e9 + 9)
    assert [d.column for d in found(summary_of(table(4000, 0)), new)] == ["pulse"]
    assert not found(summary_of(table(4000, 0)), new.assign(pulse=70.0))
    assert not found(summary_of(table(40, 0)), new)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model, its file, and the labels of its table."""
    frame = table(600, 0)
    y = np.where(frame["pulse"].fillna(75) + 20 * (frame["ward"] == "icu") > 80, "ill", "well")
    model = LatticeClassifier(lam=0.02, costs={"pulse": 1, "ward": 1, "smoker": 99}, random_state=0).fit(
        frame.drop(columns=["code", "time"]), y
    )
    path = tmp_path_factory.mktemp("summary") / "model"
    model.save(path)
    return model, path, y


def test_models_compare_with_their_training(fitted):
    model, path, y = fitted
    loaded, new = load_classifier(path), table(300, 1)
    assert loaded.training_summary_ == model.training_summary_
    summary = model.training_summary_
    assert summary.n_rows == 600
    assert summary.classes == ((y == "ill").sum(), (y == "well").sum())
    assert sum(summary.answers) == 600
    assert not loaded.compare_with_training(new).differences
    renamed = new.assign(ward=new["ward"].replace("icu", "ICU"), other="x")
    for each in (model, loaded):
        compared = each.compare_with_training(renamed)
        assert [(d.column, d.kinds[0], d.n_rows) for d in compared.differences] == [
            ("ward", "new level", (new["ward"] == "icu").sum())
        ]
        assert "such as 'ICU'" in compared.sentence("new.csv")
    json.dumps(compared.as_json(), allow_nan=False)
    labels = np.array(["ill"] * 200 + ["well"] * 100)
    assert [d.column for d in loaded.compare_with_training(new, labels).differences] == [""]
    without = new.drop(columns="ward")
    assert not loaded.compare_with_training(without, missing_columns="unavailable").differences
    with pytest.raises(ValueError, match="ward"):
        loaded.compare_with_training(without)


def test_columns_that_the_model_does_not_acquire_are_not_compared(fitted):
    model, _, _ = fitted
    n_acquired = {s.name: s.n_acquired for s in model.training_summary_.columns}
    assert n_acquired["smoker"] == 0 < n_acquired["pulse"]
    new = table(300, 1)
    assert not model.compare_with_training(new.assign(smoker=True)).differences
    assert model.compare_with_training(new.assign(pulse=70.0)).differences


def test_a_file_without_a_summary_is_read_and_compares_nothing(fitted, tmp_path):
    _, path, _ = fitted
    arrays, header = model_file.read(path, "lattice")
    del header["training_summary"]
    model_file.write(tmp_path / "old", "lattice", arrays, header)
    loaded = load_classifier(tmp_path / "old")
    assert loaded.training_summary_ is None
    with pytest.raises(ValueError, match="must have a summary of the training"):
        loaded.compare_with_training(table(9, 0))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "old").read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.update(n_rows=0),
        lambda s: s.update(n_rows="600"),
        lambda s: s["classes"].append(0),
        lambda s: s["answers"].__setitem__(0, 601),
        lambda s: s["columns"].append(s["columns"][0]),
        lambda s: s["columns"][0].update(name="other"),
        lambda s: s["columns"][0]["cuts"].reverse(),
        lambda s: s["columns"][0]["cuts"].__setitem__(-1, float("inf")),
        lambda s: s["columns"][0]["cuts"].__setitem__(-1, 10**400),
        lambda s: s["columns"][0]["counts"].__setitem__(-1, 3),
        lambda s: s["columns"][0]["counts"].pop(),
        lambda s: s["columns"][1]["counts"].pop(),
        lambda s: s["columns"][1].update(n_missing=-1),
        lambda s: s["columns"][1].pop("cuts"),
        lambda s: s.pop("columns"),
        lambda s: s.update(columns=5),
    ],
)
def test_a_damaged_summary_is_refused(fitted, tmp_path, damage):
    _, path, _ = fitted
    arrays, header = model_file.read(path, "lattice")
    damage(header["training_summary"])
    model_file.write(tmp_path / "damaged", "lattice", arrays, header)
    with pytest.raises(ValueError, match="is damaged"):
        load_classifier(tmp_path / "damaged")


def test_the_summary_of_a_wide_table_has_the_columns_that_are_acquired():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300)).astype(np.float32)
    acquired = np.zeros((60, 300), bool)
    acquired[:30, 250], acquired[:, 7] = True, True
    y = np.zeros(60, np.int64)
    columns = Columns.of_numbers([f"x{i}" for i in range(300)])
    summary = TrainingSummary.of(columns, X, y, y, acquired, 2, 2)
    assert len(summary.columns) == 100
    assert [s.name for s in summary.columns if s.n_acquired] == ["x7", "x250"]
    assert summary.compare(columns, X * 60).n_columns == 2
    assert TrainingSummary.from_json(json.loads(json.dumps(summary.to_json())), columns, 2, 2) == summary
