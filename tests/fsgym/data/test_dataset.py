"""The data set: stored values, derived data sets, and one sentence for every bad input."""

import copy
import dataclasses
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsgym import Dataset, Scaling
from fsgym.data.checks import check_groups
from fsgym.data.columns import Columns
from fsgym.support.checks import check_prices
from support.refusals import one_sentence

X = np.array([[0.0, 1.0, 5.0], [1.0, 3.0, 5.0], [2.0, np.nan, 5.0], [4.0, 2.0, 5.0]])
Y = ["no", "yes", "no", "yes"]


def test_values_are_copied_and_read_only():
    source = X.astype(np.float32)
    data = Dataset(source, Y)
    source[0, 0] = 99.0
    assert data.X[0, 0] == 0.0
    assert data.X.dtype == np.float32
    assert data.y.tolist() == [0, 1, 0, 1]
    assert data.classes.tolist() == ["no", "yes"]
    for array in (data.X, data.y, data.classes, *data.bounds):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(AttributeError):
        data.X = source  # type: ignore[misc]


def test_a_data_frame_gives_its_names():
    frame = pd.DataFrame(X, columns=["age", "crp", "wbc"])
    data = Dataset(frame, Y, costs={"crp": 5, "wbc": 1, "age": 0})
    assert data.feature_names == ("age", "crp", "wbc")
    assert data.costs.tolist() == [0, 5, 1]
    np.testing.assert_array_equal(data.to_frame().to_numpy(), X)
    assert Dataset(frame.set_axis([0, 1, 2], axis=1), Y).feature_names == ("x0", "x1", "x2")
    assert Dataset(frame, Y, feature_names=["a", "b", "c"]).feature_names == ("a", "b", "c")


def test_names_of_a_data_frame_win_over_positions():
    frame = pd.DataFrame(X, columns=["age", "crp", "wbc"])
    data, turned = Dataset(frame, Y), frame[["wbc", "age", "crp"]]
    np.testing.assert_array_equal(data.replace(X=turned).X, data.X)
    named = Dataset(turned, Y, feature_names=["age", "crp", "wbc"])
    assert named.feature_names == data.feature_names
    np.testing.assert_array_equal(named.X, data.X)
    with pytest.raises(ValueError, match="must be distinct, got 'age' twice"):
        Dataset(frame.set_axis(["age", "crp", "age"], axis=1), Y)
    with pytest.raises(TypeError, match=r"load_dataset\(frame, target=...\) reads a DataFrame with text"):
        Dataset(frame.assign(sex="f"), Y)


def test_bounds_ignore_missing_values_and_survive_rows():
    data = Dataset(X, Y)
    assert data.bounds[0].tolist() == [0, 1, 5]
    assert data.bounds[1].tolist() == [4, 3, 5]
    part = data.rows([0, 1])
    assert part.bounds[1].tolist() == [4, 3, 5]
    assert part.n_classes == 2
    assert data.rows(np.array([True, False, False, True])).y.tolist() == [0, 1]


def test_column_without_any_value_has_bounds_zero():
    data = Dataset([[np.nan, 1.0], [np.nan, 2.0]], [0, 1])
    assert [b[0] for b in data.bounds] == [0.0, 0.0]


def test_copies_are_the_same_object_and_pickles_are_equal():
    data = Dataset(X, Y, groups=[[0, 2], [1]], group_names=["a", "b"], costs={"a": 2.0, "b": 3.0}, name="d")
    assert copy.copy(data) is data
    assert copy.deepcopy(data) is data
    again = pickle.loads(pickle.dumps(data))
    assert again.X.tobytes() == data.X.tobytes()
    assert (again.groups, again.group_names, again.name) == (((0, 2), (1,)), ("a", "b"), "d")
    assert again.costs.tolist() == [2.0, 3.0]
    assert not again.X.flags.writeable
    assert data != again


def test_scaled_to_unit_range_by_other_rows():
    data = Dataset(X, Y)
    by = data.rows([0, 1])
    scaled = data.scaled(by)
    np.testing.assert_allclose(scaled.X[:, 0], [-1, 1, 3, 7])
    np.testing.assert_allclose(scaled.X[:, 1], [-1, 1, np.nan, 0])
    assert (scaled.X[:, 2] == 0).all()
    known = ~np.isnan(scaled.X)
    assert ((scaled.bounds[0] <= scaled.X) | ~known).all()
    assert ((scaled.bounds[1] >= scaled.X) | ~known).all()
    same = data.scaled(Scaling.fit(by.X))
    assert same.X.tobytes() == scaled.X.tobytes()


def test_split_is_stratified_disjoint_and_repeatable():
    rng = np.random.default_rng(0)
    data = Dataset(np.arange(200.0)[:, None], rng.permutation([0] * 150 + [1] * 50))
    train, test = data.split(0.7, seed=3)
    assert sorted(np.r_[train.X[:, 0], test.X[:, 0]].tolist()) == list(range(200))
    assert np.bincount(train.y).tolist() == [105, 35]
    assert train.X.tobytes() == data.split(0.7, seed=3)[0].X.tobytes()
    assert train.X.tobytes() != data.split(0.7, seed=4)[0].X.tobytes()


def test_split_of_a_part_that_lacks_a_class():
    data = Dataset(np.arange(12.0)[:, None], [0, 1, 2] * 4)
    train, test = data.rows(data.y != 2).split(0.5)
    assert train.n_classes == test.n_classes == 3


def test_groups_from_lists_and_from_numbers():
    assert check_groups([[2, 0], [1]], 3) == ((2, 0), (1,))
    assert check_groups(np.array([1, 0, 1]), 3) == ((1,), (0, 2))
    assert check_groups([np.array([0]), np.array([1, 2])], 3) == ((0,), (1, 2))


def test_prices_from_scalar_array_and_names():
    assert check_prices(2, ["a", "b"]).tolist() == [2.0, 2.0]
    assert check_prices([1, 3], ["a", "b"]).tolist() == [1.0, 3.0]
    assert check_prices({"b": 1, "a": 4}, ["a", "b"]).tolist() == [4.0, 1.0]


BAD = [
    ({"X": [[1, 2], [3]]}, TypeError, "table of numbers"),
    ({"X": [["a", "b", "c"]] * 4}, TypeError, "load_dataset"),
    ({"X": X.astype(complex)}, TypeError, "table of numbers"),
    ({"X": X[0]}, ValueError, "shape"),
    ({"X": np.zeros((4, 0))}, ValueError, "at least one"),
    ({"X": [[10**400, 1, 1]] * 4}, ValueError, "must hold numbers from .*, got an int beyond them"),
    ({"X": [[np.inf, 1, 1]] * 4}, ValueError, "got inf in row 0 of column 0"),
    ({"X": [[1, 1, 1]] * 3 + [[1, 1e300, 1]]}, ValueError, r"3.4e\+38, got 1e\+300 in row 3 of column 1"),
    ({"y": ["a"] * 4}, ValueError, "two classes"),
    ({"y": ["a", "b"]}, ValueError, "one label per row"),
    ({"y": [0, 1, np.nan, 1]}, ValueError, "NaN"),
    ({"y": ["a", None, "b", "a"]}, ValueError, "missing"),
    ({"y": np.array([1, "a", 2, 3], dtype=object)}, TypeError, "sorted"),
    ({"y": [[0], [1, 2], [0], [1]]}, TypeError, "plain lists"),
    ({"classes": ["yes", "no"]}, ValueError, "sorted list"),
    ({"classes": []}, ValueError, "two classes"),
    ({"classes": ["maybe", "no"]}, ValueError, "'?yes'?, which is not"),
    ({"classes": [0, 1]}, ValueError, "label no, which is not"),
    ({"feature_names": "abc"}, TypeError, "sequence"),
    ({"feature_names": 3}, TypeError, "sequence"),
    ({"feature_names": ["a", "b"]}, ValueError, "name 3"),
    ({"feature_names": ["a", "b", "a"]}, ValueError, "'a' twice"),
    ({"groups": 5}, TypeError, "lists"),
    ({"groups": "abc"}, TypeError, "lists"),
    ({"groups": [[0, 1], [2], []]}, ValueError, "group 2 is empty"),
    ({"groups": [[0, 1]]}, ValueError, "feature 2 is in none"),
    ({"groups": [[0, 1], [1, 2]]}, ValueError, "feature 1 is in more"),
    ({"groups": [[0, 1], [2, 3]]}, ValueError, "feature 3"),
    ({"groups": [[0.5, 1], [2]]}, TypeError, "lists"),
    ({"groups": [0, 10**9, 1]}, ValueError, "without a gap"),
    ({"groups": [0, 2, 2]}, ValueError, "group 1 is empty"),
    ({"groups": [0, 1]}, ValueError, "each of the 3"),
    ({"group_names": ["a"]}, ValueError, "needs groups"),
    ({"groups": [0, 0, 1], "group_names": ["a"]}, ValueError, "name 2"),
    ({"costs": [1, 2]}, ValueError, r"shape \(3,\), got \(2,\)"),
    ({"costs": [1, 2, np.nan]}, ValueError, "finite"),
    ({"costs": [1, 2, -1]}, ValueError, "negative"),
    ({"costs": [1, 2, 10**400]}, TypeError, "numbers"),
    ({"costs": ["1", "2", "3"]}, TypeError, "numbers"),
    ({"costs": {"x0": 1, "x1": 2}}, ValueError, "no price for 'x2'; every acquisition needs one: add them"),
    ({"costs": {"x1": 1}}, ValueError, "no price for 'x0' and 1 more"),
    ({"costs": {"x9": 1}}, ValueError, "'x9', which is not"),
    ({"image_shape": (2, 2)}, ValueError, "3 pixels"),
    ({"image_shape": (-1, -3)}, ValueError, "3 pixels"),
    ({"image_shape": 3}, TypeError, "two integers"),
    ({"bounds": [0, 1, 2]}, TypeError, "two arrays"),
    ({"bounds": ([0, 0], [1, 1])}, ValueError, r"shape \(3,\)"),
    ({"bounds": ([0, 0, 9], [1, 1, 1])}, ValueError, "at most the largest"),
    ({"row_groups": "abcd"}, TypeError, "one per row of X"),
    ({"row_groups": {"a": 1}}, TypeError, "one per row of X"),
    ({"row_groups": 4}, TypeError, "one per row of X"),
    ({"row_groups": [1, 1, 2]}, ValueError, "4 labels, one per row of X, got 3"),
    ({"row_groups": np.ones((4, 2))}, ValueError, r"got shape \(4, 2\)"),
    ({"row_groups": [1, [2], 3, 4]}, TypeError, "not hashable"),
    ({"row_groups": ["a", "b", None, "a"]}, ValueError, "missing labels, but row 2"),
    ({"row_groups": [0.0, np.nan, 1.0, 1.0]}, ValueError, "missing labels, but row 1"),
]


@pytest.mark.parametrize(("change", "kind", "match"), BAD)
def test_bad_input_is_one_sentence(change, kind, match):
    arguments = {"X": X, "y": Y, **change}
    with pytest.raises(kind, match=match) as caught:
        Dataset(**arguments)
    assert one_sentence(caught.value)


@pytest.mark.parametrize("index", [[7], [0.5], "a", 1, [], [True], None, [[0, 1]]])
def test_bad_rows(index):
    with pytest.raises(ValueError, match=r"index must|at least one row") as caught:
        Dataset(X, Y).rows(index)
    assert one_sentence(caught.value)


@pytest.mark.parametrize(
    ("arguments", "kind", "match"),
    [
        ((1.5,), ValueError, "strictly between"),
        ((float("nan"),), ValueError, "strictly between"),
        (("half",), TypeError, "number"),
        ((0.01,), ValueError, "cannot be split"),
        ((0.5, "seed"), ValueError, "cannot be split"),
    ],
)
def test_bad_split(arguments, kind, match):
    with pytest.raises(kind, match=match) as caught:
        Dataset(X, Y).split(*arguments)
    assert one_sentence(caught.value)


def test_split_names_the_rare_class():
    with pytest.raises(ValueError, match="class odd of 'd' has a single row"):
        Dataset(X, ["even", "even", "even", "odd"], name="d").split()


def test_scaling_of_other_width():
    with pytest.raises(ValueError, match="3 features"):
        Dataset(X, Y).scaled(Scaling.fit(X[:, :2]))
    with pytest.raises(TypeError, match="Scaling or a Dataset"):
        Dataset(X, Y).scaled(X)


numbers = st.one_of(st.integers(), st.floats(), st.booleans(), st.none(), st.text(max_size=2))
things = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=2), inner, max_size=3), st.tuples(inner)
    ),
    max_leaves=12,
)


def outcome(call):
    """What a call returns, or the error it is allowed to raise."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        return error


FIELDS = ["X", "y", "classes", "feature_names", "groups", "group_names", "costs", "image_shape", "bounds", "row_groups"]


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(FIELDS), things)
def test_no_input_gives_anything_but_one_sentence(field, value):
    arguments = {"X": X, "y": Y, field: value}
    if field == "group_names":
        arguments["groups"] = [[0, 1], [2]]
    data = outcome(lambda: Dataset(**arguments))
    if isinstance(data, Exception):
        assert one_sentence(data), data
    else:
        assert len(data.X) == 4
        assert np.isfinite(data.bounds).all()


@settings(max_examples=100, deadline=None)
@given(things)
def test_no_index_gives_anything_but_one_sentence(index):
    part = outcome(lambda: Dataset(X, Y).rows(index))
    if isinstance(part, Exception):
        assert one_sentence(part), part
    else:
        assert part.n_features == 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=2), min_size=2, max_size=8))
def test_scaling_reaches_exactly_the_unit_range(rows):
    data = Dataset(rows, [0, 1] * (len(rows) // 2) + [0] * (len(rows) % 2)).scaled()
    wide = np.ptp(np.asarray(rows, dtype=np.float32), axis=0) > 0
    np.testing.assert_allclose(data.X.min(axis=0), np.where(wide, -1, 0), atol=1e-6)
    np.testing.assert_allclose(data.X.max(axis=0), np.where(wide, 1, 0), atol=1e-6)


def parameters(data):
    """Everything that a data set is made of, as plain values."""
    found = {f.name: getattr(data, f.name) for f in dataclasses.fields(data)} | {"y": data.classes[data.y]}
    found["bounds"] = [b.tolist() for b in data.bounds]
    return {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in found.items()}


FULL = Dataset(
    np.arange(12.0).reshape(3, 4),
    ["b", "c", "b"],
    classes=["a", "b", "c"],
    feature_names=list("pqrs"),
    groups=[[0, 3], [1, 2]],
    group_names=["outer", "inner"],
    costs=[2.0, 3.0],
    image_shape=(2, 2),
    bounds=([-9] * 4, [99] * 4),
    row_groups=["u", "v", "u"],
    name="full",
)


@pytest.mark.parametrize(
    ("changes", "follows"),
    [
        ({}, {}),
        ({"name": "other"}, {}),
        ({"feature_names": list("wxyz")}, {"columns": Columns.of_numbers("wxyz")}),
        ({"image_shape": None}, {}),
        ({"costs": [5.0, 1.0]}, {}),
        ({"costs": None}, {}),
        ({"y": ["a", "a", "c"]}, {}),
        ({"row_groups": (0, 1, 2)}, {}),
        ({"row_groups": None}, {}),
        ({"classes": ["a", "b", "c", "d"]}, {}),
        ({"y": [1, 0, 1], "classes": None}, {"classes": [0, 1]}),
        ({"X": np.ones((3, 4))}, {"bounds": [[1.0] * 4] * 2}),
        ({"X": np.ones((3, 4)), "bounds": ([0] * 4, [1] * 4)}, {"bounds": [[0.0] * 4, [1.0] * 4]}),
        ({"groups": None}, {"group_names": None, "costs": None}),
        (
            {"groups": [[0], [1], [2, 3]]},
            {"groups": ((0,), (1,), (2, 3)), "group_names": ("group 0", "group 1", "group 2"), "costs": None},
        ),
        ({"groups": ((0, 3), (1, 2)), "group_names": ("u", "v"), "costs": [1.0, 1.0]}, {}),
    ],
)
def test_replaced_parameters_and_what_follows_from_them(changes, follows):
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in changes.items()}
    plain |= {"row_groups": list(plain["row_groups"])} if plain.get("row_groups") else {}
    plain |= {"feature_names": tuple(plain["feature_names"])} if "feature_names" in plain else {}
    assert parameters(FULL.replace(**changes)) == parameters(FULL) | plain | follows
    assert FULL.name == "full"


def test_every_parameter_survives_rows_scaling_and_pickles():
    whole = parameters(FULL)
    assert parameters(pickle.loads(pickle.dumps(FULL))) == whole
    assert parameters(FULL.rows([0, 1, 2])) == whole
    rest = whole.keys() - {"X", "bounds"}
    scaled = parameters(FULL.scaled())
    assert {k: scaled[k] for k in rest} == {k: whole[k] for k in rest}
    assert inspect.signature(Dataset).parameters.keys() - {"units"} == whole.keys()  # units are in columns


@pytest.mark.parametrize(
    ("changes", "kind", "match"),
    [
        ({"nam": "x"}, TypeError, "unexpected keyword argument 'nam'"),
        ({"y": ["a", "d", "b"]}, ValueError, "'?d'?, which is not among the classes"),
        ({"X": np.ones((3, 5))}, ValueError, "feature_names must name 5"),
        ({"X": np.ones((2, 4))}, ValueError, "one label per row"),
        ({"classes": ["a", "b"]}, ValueError, "'?c'?, which is not"),
        ({"group_names": None, "groups": 3}, TypeError, "groups must be lists"),
    ],
)
def test_replacements_that_do_not_fit_are_one_sentence(changes, kind, match):
    with pytest.raises(kind, match=match) as caught:
        FULL.replace(**changes)
    assert one_sentence(caught.value)


def test_a_masked_value_is_missing():
    X = np.ma.masked_array([[1, 2], [3, -999]], mask=[[False, False], [False, True]])
    np.testing.assert_array_equal(Dataset(X, [0, 1]).X, [[1, 2], [3, np.nan]])


@pytest.mark.parametrize("cells", [[True, False], pd.array([True, None], "boolean"), np.array([True, 2.5], object)])
def test_truth_values_are_no_numbers(cells):
    columns = Columns.of_numbers(["x"])
    with pytest.raises(ValueError, match=r"the column 'x' must hold numbers, got True in \d cell"):
        columns.encode(pd.DataFrame({"x": cells}))
