"""Grades and numbers as targets: bins, costs, what a data set keeps, and mistakes in one sentence."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from agents import LatticeClassifier
from fsgym import Bins, Dataset, Rules, describe, load_dataset
from fsgym.data.targets import NumberInWords, costs_of_order
from fsgym.session.held_out import HeldOut, reliability_text
from fsgym.text.speech import Speech, speaking
from support.refusals import one_sentence

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (200, 2)).astype(float)
Y = np.round(10 * X[:, 0] + RNG.normal(0, 2, 200), 1)


def numeric(**options):
    return Dataset(X, Y, **({"bins": 5} | options))


@pytest.mark.parametrize(("answers", "power", "middle"), [("median", 1, np.median), ("mean", 2, np.mean)])
def test_values_and_costs_are_those_of_the_rows_of_each_bin(answers, power, middle):
    bins = Bins.of(Y, 5, answers=answers)
    codes = np.digitize(Y, bins.edges)
    assert (bins.codes(Y) == codes).all()
    assert np.bincount(codes).min() > 30
    for i in range(5):
        assert bins.values[i] == pytest.approx(middle(Y[codes == i]))
        for j in range(5):
            expected = (np.abs(Y[codes == j] - bins.values[i]) ** power).mean()
            assert bins.error_costs[i, j] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("numbers", "n_bins", "edges"),
    [
        ([1, 2, 3, 4], 2, [2.5]),
        ([5] * 90 + [6] * 5 + [7] * 5, 8, [5.5]),
        ([3] * 5 + [4] * 5 + [5] * 90, 8, [4.5]),
        ([0, 1], 50, [0.5]),
        ([3] * 2 + [4] * 8 + [5] * 45 + [6] * 45, 4, [4.5, 5.5]),
    ],
)
def test_equal_numbers_share_a_bin_and_no_bin_is_empty(numbers, n_bins, edges):
    bins = Bins.of(numbers, n_bins)
    assert bins.edges.tolist() == edges
    assert np.bincount(bins.codes(numbers), minlength=bins.n_bins).min() > 0


def test_a_number_at_an_edge_and_numbers_outside_the_training():
    bins = Bins.of([1, 2, 8, 9], edges=[5])
    assert bins.codes([-100, 4.99, 5, 100]).tolist() == [0, 0, 1, 1]


def test_a_data_set_keeps_its_numbers_and_its_bins():
    data = numeric(row_groups=np.arange(200) // 2)
    assert data.numbers.tolist() == Y.tolist()
    assert data.classes.tolist() == [0, 1, 2, 3, 4]
    some = data.rows([5, 3])
    assert some.numbers.tolist() == Y[[5, 3]].tolist()
    assert some.bins is data.bins
    for same in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data), data.scaled()):
        assert same.numbers.tolist() == Y.tolist()
        assert same.bins.to_json() == data.bins.to_json()
    assert data.replace(bins=2).n_classes == 2
    assert data.replace(y=Y + 1).numbers.tolist() == (Y + 1).tolist()


def test_parts_of_a_split_have_the_bins_of_the_training_part():
    data = numeric()
    train, test = data.split(0.5, seed=1)
    assert train.bins.values.tolist() == Bins.of(train.numbers, 5).values.tolist() != data.bins.values.tolist()
    assert test.bins is train.bins
    assert sorted([*train.numbers, *test.numbers]) == sorted(Y.tolist())
    other, _ = data.replace(bins=2).split(0.5, seed=1)
    assert other.numbers.tolist() == train.numbers.tolist()  # whatever the bins
    given, _ = numeric(bins=[5, 15]).split(0.5, seed=1)
    assert given.bins.edges.tolist() == [5, 15]


def test_a_split_of_few_numbers_and_the_hint_where_classes_are_numbers():
    few = Dataset(X[:20], [0.0] * 19 + [1.0], bins=2)
    train, test = few.rows(few.split_index(0.5, 0)[0]), few.rows(few.split_index(0.5, 0)[1])
    assert (train.n_samples, test.n_samples) == (10, 10)
    with pytest.raises(ValueError, match=r"if the target is a number, pass bins=16") as caught:
        Dataset(X[:20], [0.5] * 19 + [1.0]).split()
    assert one_sentence(caught.value)


def test_rules_take_the_costs_of_the_target_unless_others_are_given():
    data = numeric()
    assert (Rules.for_dataset(data).error_costs == data.bins.error_costs).all()
    assert (Rules.for_dataset(data, error_costs=1 - np.eye(5)).error_costs == 1 - np.eye(5)).all()
    graded = Dataset(
        X, np.array(["mild", "moderate", "severe"])[X[:, 0].astype(int)], ordered=["mild", "moderate", "severe"]
    )
    assert Rules.for_dataset(graded).error_costs.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    squared = graded.replace(ordered_costs="squared")
    assert Rules.for_dataset(squared).error_costs[0].tolist() == [0, 1, 4]
    assert Rules.for_dataset(squared.rows([0, 1])).error_costs[0].tolist() == [0, 1, 4]


def test_targets_replace_each_other():
    graded = Dataset(X, X[:, 0], ordered=iter([0.0, 1.0, 2.0]), ordered_costs="squared")
    assert graded.ordered == (0.0, 1.0, 2.0)
    assert graded.replace(ordered=None).error_costs is None
    assert graded.replace(ordered=None, y=Y, bins=5).bins.n_bins == 5
    data = numeric()
    assert data.replace(bins=3).n_classes == 3
    assert data.replace(bins=None, y=X[:, 0]).classes.tolist() == [0, 1, 2]


def test_grades_in_another_order_than_the_alphabet():
    costs = costs_of_order(["low", "mid", "high"], ["high", "low", "mid"], "linear")
    assert costs[0].tolist() == [0, 2, 1]


def test_bins_survive_json():
    bins = Bins.of(Y, 5, answers="mean")
    other = Bins.from_json(json.loads(json.dumps(bins.to_json())))
    assert other.to_json() == bins.to_json()
    for name, value in {
        "edges": [1],
        "values": [np.nan] * 5,
        "answers": "mode",
        "n_asked": "5",
        "unit": ["h"],
        "error_costs": [],
    }.items():
        with pytest.raises((ValueError, TypeError)):
            Bins.from_json(bins.to_json() | {name: value})


def test_numbers_in_words_are_said_in_the_language_of_the_page():
    bins = Bins.of([4, 5.6, 7], edges=[5, 6.5])
    with speaking(Speech("de")):
        assert [str(v) for v in bins.labels()] == [
            "etwa 4, unter 5",
            "etwa 5,6, zwischen 5 und 6,5",
            "etwa 7, mindestens 6,5",
        ]
        assert [str(v) for v in bins.ranges()] == ["unter 5", "5 bis 6,5", "mindestens 6,5"]


def test_a_numeric_target_has_a_unit_as_columns_have():
    table = pd.DataFrame(X, columns=["a", "b"]).assign(hours=Y)
    units = {"hours": "h", "a": "mm"}
    data = load_dataset(table, target="hours", bins=[5, 15], units=units)
    assert [str(v) for v in data.bins.ranges()] == ["below 5 h", "5 to 15 h", "15 h or more"]
    assert [column.unit for column in data.columns] == ["mm", ""]
    train, _ = data.split(0.7, seed=0)
    model = LatticeClassifier(lam=0.01, random_state=0).fit(train)
    assert str(model.step({"a": 1.0, "b": 0.0}).answer) == str(model.bins_.labels()[1])
    model.held_out_ = HeldOut.of(np.eye(3, dtype=np.int64), np.repeat(0.25, 3), model.policy_digest())
    assert "its answers were 0.25 h away from the true numbers" in reliability_text(model)
    with speaking(Speech("de")):
        assert str(data.bins.labels()[1]).endswith(" h, zwischen 5 und 15 h")
    assert Bins.from_json(data.bins.to_json()).unit == data.bins.of_other(Y[:100]).unit == "h"
    with pytest.raises(ValueError, match="target 'hours' has classes, which have no unit"):
        load_dataset(table.assign(hours=(Y > 5).astype(int)), target="hours", units=units)
    assert describe(table, "hours", units=units).set_index("column")["unit"].to_dict() == {**units, "b": ""}


@pytest.mark.parametrize("kind", ["csv", "xlsx", "frame"])
def test_numbers_of_a_target_are_read_as_they_are_written(tmp_path, kind):
    numbers = np.round(1000 * Y + 5000.25, 2)
    texts = [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in numbers]
    table = pd.DataFrame(X.astype(int), columns=["a", "b"]).assign(price=texts)
    source = table if kind == "frame" else tmp_path / f"sold.{kind}"
    if kind == "csv":
        table.to_csv(source, index=False, sep=";")
    elif kind == "xlsx":
        pytest.importorskip("openpyxl", reason="needs openpyxl, which the extra excel installs")
        table.to_excel(source, index=False)
    with pytest.warns(UserWarning, match="separate thousands"):
        data = load_dataset(source, target="price", bins=5)
    assert data.numbers.tolist() == numbers.tolist()


def test_numbers_in_words_stay_numbers():
    number = Bins.of([4, 5.6, 7], edges=[5, 6]).labels()[1]
    assert f"{number}" == str(number) == "about 5.6, between 5 and 6"
    assert str(copy.deepcopy(number)) == str(number)
    assert number + 1 == 6.6
    assert json.dumps(number) == "5.6"
    assert {number: 1}[5.6] == 1
    assert isinstance(number, NumberInWords)
    texts = [str(v) for v in Bins.of([4, 5.6, 7], edges=[5, 6]).ranges()]
    assert texts == ["below 5", "5 to 6", "6 or more"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"bins": 1}, "from 2 to 100, got 1"),
        ({"bins": True}, "from 2 to 100, got True"),
        ({"bins": "many"}, "from 2 to 100, got 'many'"),
        ({"bins": [15, 5]}, r"finite and rising, got \[15.0, 5.0\]"),
        ({"bins": []}, "list of 1 to 99 numbers"),
        ({"bins": ["a"]}, "must be numbers"),
        ({"bins": [5, 90]}, "each bin must have a row, but none of the 200 numbers is 90 or more"),
        ({"y": np.ones(200)}, "must not all be the same, got 1"),
        ({"y": np.full(200, np.nan)}, "must not hold NaN"),
        ({"y": ["mild"] * 200}, "must hold numbers, got the text 'mild'"),
        ({"y": Y[:3]}, r"must have shape \(200,\), got \(3,\)"),
        ({"ordered": [0, 1]}, "ordered and bins must not both"),
        ({"bins": None, "y": X[:, 0], "ordered": ["0.0", "1.0"]}, "list each class once, but lacks '2.0'"),
        ({"bins": None, "y": X[:, 0], "ordered": [0.0, 1.0, 1.0, 2.0]}, "but has '1.0' twice"),
        ({"bins": None, "y": X[:, 0], "ordered": [0.0, 1.0, 2.0, 3.0]}, "but has '3.0'"),
        ({"bins": None, "y": X[:, 0], "ordered": "012"}, "must list the classes"),
        ({"bins": None, "y": np.arange(200), "ordered": np.arange(200)}, "at most 50 classes, and there are 200"),
        ({"bins": None, "y": X[:, 0], "ordered": [0.0, 1.0, 2.0], "ordered_costs": "cubic"}, "'linear' or 'squared'"),
        ({"bins": None, "y": X[:, 0], "ordered": 5}, "must list the classes from one end to the other, got 5"),
        ({"bins": None, "y": X[:, 0], "ordered_costs": "cubic"}, "'linear' or 'squared'"),
        ({"bins": None, "y": X[:, 0], "ordered_costs": "squared"}, "ordered_costs='squared' needs ordered"),
        ({"ordered_costs": "squared"}, "ordered_costs='squared' needs ordered"),
        ({"classes": [0, 1, 2, 3, 4]}, "classes and bins must not both"),
    ],
)
def test_mistakes_are_one_sentence(options, match):
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        Dataset(X, **({"y": Y, "bins": 5} | options))
    assert one_sentence(caught.value)


def test_numbers_from_a_table_and_its_parts(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(price=Y)
    frame.to_csv(tmp_path / "sold.csv", index=False)
    data = load_dataset(tmp_path / "sold.csv", target="price", bins=5)
    assert data.numbers.tolist() == Y.tolist()
    train, test = (load_dataset(frame, part, target="price", bins=5, answers="mean") for part in ("train", "test"))
    assert test.bins.to_json() == train.bins.to_json() == Bins.of(train.numbers, 5, answers="mean").to_json()
    assert load_dataset("wine", ordered=["class_0", "class_2", "class_1"]).error_costs[0, 1] == 2


@pytest.mark.parametrize(
    ("column", "options", "match"),
    [
        (["1"] * 199 + ["two"], {"bins": 5}, "must hold numbers, got 'two'"),
        ([*Y[:199], None], {"bins": 5}, "no value in the target column"),
        (np.arange(200) + 0.5, {}, r"if it is a number, pass bins=16"),
        ([f"{x:.1f}" for x in np.arange(199)] + ["<5"], {}, r"if it is a number, correct '<5' and the like, and pass"),
        ([f"case {x}" for x in range(200)], {}, "too many for classes; choose another target$"),
        (Y, {"bins": [500]}, "none of the 200 numbers is 500 or more"),
        (X[:, 0], {"answers": "mean"}, "needs bins"),
        (X[:, 0], {"ordered_costs": "squared"}, "ordered_costs='squared' needs ordered"),
        (Y, {"ordered_costs": "cubic", "bins": 5}, "'linear' or 'squared'"),
        *((Y, {option: np.arange(2)}, option) for option in ("answers", "ordered_costs", "decimal", "thousands")),
        *((Y, {option: np.arange(2)}, option) for option in ("censored", "split")),
    ],
)
def test_mistakes_with_tables(column, options, match):
    with pytest.raises(ValueError, match=match) as caught:
        load_dataset(pd.DataFrame(X, columns=["a", "b"]).assign(price=column), target="price", **options)
    assert one_sentence(caught.value)


def test_answers_beside_bins_must_be_those_of_the_bins():
    numbers = [1.0, 2.0, 3.5, 4.0]
    X = np.arange(8.0).reshape(4, 2)
    for answers in ("median", "mean"):
        bins = Bins.of(numbers, 2, answers=answers)
        assert Dataset(X, numbers, bins=bins).bins.answers == answers
    frame = pd.DataFrame(X).assign(target=numbers)
    with pytest.raises(ValueError, match="answers must be left out beside Bins, which answer with medians"):
        load_dataset(frame, target="target", bins=Bins.of(numbers, 2), answers="mean")
