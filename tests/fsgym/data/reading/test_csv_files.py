"""CSV files as data sets: categories, missing cells, labels, and files that are not tables."""

import gzip
import json
import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsgym.datasets import load_dataset
from support.problems import MIXED
from support.refusals import one_sentence, refused


def test_categories_become_one_group_each(mixed):
    data = load_dataset(mixed, drop=["id"])
    assert data.name == "mixed"
    assert data.feature_names == ("age", "sex=m", "city=Bern", "city=Oslo", "city=Rome", "score")
    assert data.groups == ((0,), (1,), (2, 3, 4), (5,))
    assert data.group_names == ("age", "sex", "city", "score")
    expected = [
        [30, 1, 0, 0, 1, 1.5],
        [np.nan, 0, 0, 1, 0, np.nan],
        [50, 1, np.nan, np.nan, np.nan, 2.5],
        [41, np.nan, 1, 0, 0, np.nan],
        [28, 0, 0, 0, 1, 0.5],
        [33, 1, 0, 1, 0, 3.5],
    ]
    np.testing.assert_array_equal(data.X, np.array(expected, dtype=np.float32))
    assert data.classes[data.y].tolist() == ["no", "yes"] * 3


def test_categories_as_codes(mixed):
    data = load_dataset(str(mixed), drop="id", one_hot=False)
    assert data.groups is None
    assert data.feature_names == ("age", "sex", "city", "score")
    np.testing.assert_array_equal(data.X[:, 2], np.array([2, 1, np.nan, 0, 2, 1], dtype=np.float32))


def test_a_column_of_question_marks_has_no_values(tmp_path):
    (tmp_path / "q.csv").write_text("a,b,target\n?,1,x\nNA,2,y\n")
    with pytest.warns(UserWarning, match="'a' has no value"):
        data = load_dataset(tmp_path / "q.csv")
    assert np.isnan(data.X[:, 0]).all()
    assert data.groups is None


def test_a_tilde_is_expanded(mixed, monkeypatch):
    monkeypatch.setenv("HOME", str(mixed.parent))
    assert load_dataset("~/mixed.csv", drop=["id"]).n_samples == 6
    assert load_dataset("mixed", data_dir="~", drop=["id"]).n_samples == 6


def test_both_parts_have_the_same_columns(mixed):
    train = load_dataset(mixed, "train", drop=["id"], train_share=0.5)
    test = load_dataset(mixed, "test", drop=["id"], train_share=0.5)
    assert train.feature_names == test.feature_names
    assert train.groups == test.groups
    assert train.n_samples == test.n_samples == 3


def test_numbers_only_means_no_groups(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("a,b,label\n1,0,x\n2,0,y\n3,0,x\n")
    with pytest.warns(UserWarning, match="'b' has the value 0 in each row"):
        data = load_dataset(path, target="label")
    assert data.groups is None
    assert data.X[:, 1].tolist() == [0, 0, 0]


def test_whole_number_labels_stay_whole(tmp_path):
    path = tmp_path / "n.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfa,target\n1,0.0\n2,1.0\n3,1.0\n"))
    data = load_dataset(path)
    assert data.name == "n"
    assert data.classes.tolist() == [0, 1]
    assert data.classes.dtype == np.int64


def test_levels_that_are_numbers_are_sorted_as_numbers(tmp_path):
    (tmp_path / "d.csv").write_text("c,target\n10,a\n2,b\n9,a\n")
    record = {"files": [{"file": "d.csv"}], "categorical_columns": ["c"]}
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"d": record}))
    assert load_dataset("d", data_dir=tmp_path).feature_names == ("c=2", "c=9", "c=10")


def test_identifiers_are_distinguished_from_categories(tmp_path):
    path = tmp_path / "ids.csv"
    lines = [f"name{i},{i % 7},{'ab'[i % 2]}" for i in range(150)]
    path.write_text("who,level,target\n" + "\n".join(lines) + "\n")
    refused(ValueError, r"'who' of .*ids.csv is unique in each row; pass drop=\['who'\]", path)
    assert load_dataset(path, drop=["who"]).n_features == 1


@pytest.mark.parametrize(
    ("text", "options", "kind", "match"),
    [
        ("a,b\n1,2\n", {}, ValueError, r"no column 'target'; name one as target: 'a', 'b'"),
        ("a,b\n1,2\n", {"target": "c"}, ValueError, "no column 'c'; choose one of them: 'a', 'b'"),
        ("a,target\n1,x\n2,\n3,y\n", {}, ValueError, r"1 row\(s\).*no value in the target"),
        ("a,target\n1,x\n2,x\n", {}, ValueError, r"'target' of .* at least two classes, got 'x' in every row"),
        ("a,target\n1,3\n2,3\n", {"bins": 2}, ValueError, "at least two numbers, got 3 in every row"),
        ("target\nx\ny\n", {}, ValueError, "no feature column"),
        ("a,target\n1,x\n2,y\n", {"drop": ["z"]}, ValueError, "drop: unknown column of .* 'z'"),
        ("a,target\n1,x\n2,y\n", {"drop": ["target"]}, ValueError, "target"),
        ("a,target\n1,x\n2,y\n", {"drop": ["a"]}, ValueError, "no feature column"),
        ("a,target\n1,x\n2,y\n", {"drop": 3}, TypeError, "list of column names"),
        ("a,target\n1,x\n2,y\n", {"drop": [3]}, TypeError, "list of column names"),
        ("a,target\n1,x\n2,y\n", {"target": 3}, TypeError, "name of a column"),
        ("a,target\ninf,x\n2,y\n", {}, ValueError, "'a' must hold numbers from .* got inf in row 0"),
        ("a,target\n1e300,x\n2,y\n", {}, ValueError, "'a' must hold numbers from .* got 1e.300 in row 0"),
        ("a,target\n", {}, ValueError, "no rows"),
        ("x=b,x,target\n1,a,0\n2,b,1\n", {}, ValueError, "distinct, got 'x=b' twice"),
        ("a,target\n" + "".join(f"{i % 2},{i}.5\n" for i in range(30)), {}, ValueError, "30 distinct values"),
    ],
)
def test_bad_csv(tmp_path, text, options, kind, match):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    refused(kind, match, path, **options)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"\x00\xff\xfe\x80" * 20, "bytes.csv"),
        (b"PK\x03\x04" + b"\x90" * 40, "sheet.csv"),
        (b"not gzip at all", "text.csv.gz"),
        (gzip.compress(MIXED.encode() * 50, mtime=0)[:60], "cut.csv.gz"),
        (b"", "empty.csv.gz"),
    ],
)
def test_damaged_csv_names_the_file(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    refused(ValueError, re.escape(name), path)


def test_no_such_file(tmp_path):
    refused(FileNotFoundError, "no file .*nothing.csv", tmp_path / "nothing.csv")
    (tmp_path / "deep.csv").mkdir()
    refused(IsADirectoryError, "deep.csv is a folder", tmp_path / "deep.csv")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
def test_no_csv_gives_anything_but_one_sentence(tmp_path, content):
    path = tmp_path / "any.csv"
    path.write_bytes(b"a,target\n" + content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = load_dataset(path)
    except (ValueError, TypeError, OSError) as error:
        problem = error
    else:
        problem = None
        assert data.n_features >= 1
    assert problem is None or one_sentence(problem), problem
