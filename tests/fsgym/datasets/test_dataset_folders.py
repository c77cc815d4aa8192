"""A folder of data sets: parts, npz files, the manifest, and damaged files."""

import gzip
import hashlib
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from fsgym import Dataset
from fsgym.datasets import list_datasets, load_dataset
from fsgym.datasets.folder import drop_features
from support.refusals import refused


def test_folder_without_manifest(tmp_path, mixed):
    assert load_dataset("mixed", data_dir=tmp_path, drop=["id"]).n_samples == 6
    (tmp_path / "two.train.csv").write_text("a,c,target\n1,u,x\n2,v,y\n3,u,x\n")
    (tmp_path / "two.test.csv").write_text("a,c,target\n9,w,y\n8,u,x\n")
    train = load_dataset("two", "train", data_dir=tmp_path)
    test = load_dataset("two", "test", data_dir=tmp_path)
    assert train.X[:, 0].tolist() == [1, 2, 3]
    assert test.X[:, 0].tolist() == [9, 8]
    assert train.feature_names == test.feature_names == ("a", "c=u", "c=v", "c=w")
    assert test.bounds[0][0] == 1
    listed = list_datasets(tmp_path).set_index("name")
    assert listed.loc["two", "source"] == "folder"
    assert listed.loc["two", "n_features"] == 2
    assert listed.loc["two", "official_split"]


def test_what_is_listed_is_what_is_loaded(tmp_path):
    (tmp_path / "german.csv").write_text("a;b;target\n1,5;2;x\n2,5;3;y\n")
    (tmp_path / "tabs.tsv").write_text("a, in mg\ttarget\n1\tx\n2\ty\n")
    with gzip.open(tmp_path / "packed.csv.gz", "wt") as file:
        file.write("a,b,c,target\n1,2,3,x\n4,5,6,y\n")
    X, y = np.arange(24.0).reshape(6, 2, 2), np.arange(6) % 2
    make_npz(tmp_path / "parts.npz", X_train=X[:4], y_train=y[:4], X_test=X[4:], y_test=y[4:])
    make_npz(tmp_path / "flat.npz", X=np.arange(192.0).reshape(3, 64), y=[0, 1, 1])
    record = {"files": [{"file": "flat.npz"}], "layout": "X (3,64) float64; 8x8 images"}
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"flat": record}))
    listed = list_datasets(tmp_path).set_index("name")
    for name in ("german", "tabs", "packed", "parts", "flat"):
        data, row = load_dataset(name, data_dir=tmp_path), listed.loc[name]
        assert row["n_features"] is pd.NA or row["n_features"] == data.n_features
        assert row["image"] == ("" if data.image_shape is None else "{}x{}".format(*data.image_shape))
    assert listed.loc[["german", "tabs", "packed"], "n_features"].tolist() == [2, 1, 3]
    assert listed.loc[["parts", "flat"], "image"].tolist() == ["2x2", "8x8"]
    assert listed.loc[["parts", "flat"], "official_split"].tolist() == [True, False]
    assert load_dataset("parts", "train", data_dir=tmp_path).n_samples == 4


@pytest.mark.parametrize("file", ["bad.csv", "bad.csv.gz", "bad.npz", "bad.parquet"])
def test_a_file_that_cannot_be_read_is_listed(tmp_path, file):
    (tmp_path / file).write_bytes(b"\xff\xfe\x00")
    assert list_datasets(tmp_path).set_index("name").loc["bad", "n_features"] is pd.NA


def test_two_files_of_one_name(tmp_path):
    for suffix in (".csv", ".csv.gz"):
        (tmp_path / f"d{suffix}").write_bytes(b"a,target\n1,x\n")
    refused(ValueError, "'d' is ambiguous", "d", data_dir=tmp_path)


def make_npz(path, **arrays):
    np.savez_compressed(path, **arrays)
    return path


def test_npz_forms(tmp_path):
    X, y = np.arange(12).reshape(4, 3), np.array([0, 1, 0, 1])
    make_npz(tmp_path / "dense.npz", X=X, y=y, feature_names=np.array(["a", "b", "c"]))
    data = load_dataset("dense", data_dir=tmp_path)
    assert data.feature_names == ("a", "b", "c")
    np.testing.assert_array_equal(data.X, X)
    make_npz(
        tmp_path / "sparse.npz",
        data=np.array([5, 7]),
        indices=np.array([2, 0]),
        indptr=np.array([0, 1, 1, 2]),
        shape=np.array([3, 3]),
        y=np.array([0, 1, 1]),
        groups=np.array([0, 1, 1]),
        group_names=np.array(["u", "v"]),
    )
    data = load_dataset(tmp_path / "sparse.npz")
    assert data.X.tolist() == [[0, 0, 5], [0, 0, 0], [7, 0, 0]]
    assert data.X.dtype == np.float32
    assert (data.groups, data.group_names) == (((0,), (1, 2)), ("u", "v"))
    assert load_dataset(tmp_path / "sparse.npz", drop=["x2"]).groups == ((0,), (1,))
    assert load_dataset(tmp_path / "sparse.npz", drop=["v"]).group_names == ("u",)
    make_npz(
        tmp_path / "images.npz",
        X_train=np.ones((3, 2, 2)),
        y_train=[0, 1, 1],
        X_test=np.zeros((2, 2, 2)),
        y_test=[1, 0],
    )
    train = load_dataset("images", "train", data_dir=tmp_path)
    assert (train.image_shape, train.n_samples, train.bounds[0][0]) == ((2, 2), 3, 0)


class Mine:
    def __reduce__(self):
        return print, ("unpickled",)


def damaged_npz(kind, path):
    X, y = np.arange(40.0).reshape(10, 4), np.arange(10) % 2
    csr = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
    if kind == "object":
        np.savez(path, X=np.array([[Mine()]], dtype=object), y=y[:1])
    elif kind == "pickle":
        path.write_bytes(pickle.dumps({"X": X}))
    elif kind == "keys":
        make_npz(path, features=X, y=y)
    elif kind == "no labels":
        make_npz(path, X=X)
    elif kind == "no test":
        make_npz(path, X_train=X, y_train=y)
    elif kind == "lengths":
        make_npz(path, X=X, y=y[:5])
    elif kind == "one dimension":
        make_npz(path, X=X[0], y=y)
    elif kind == "index":
        make_npz(path, **{**csr, "indices": np.array([0, 99])}, shape=np.array([2, 3]), y=y[:2])
    elif kind == "pointer":
        make_npz(path, **{**csr, "indptr": np.array([0, 5, 2])}, shape=np.array([2, 3]), y=y[:2])
    elif kind == "shape":
        make_npz(path, **csr, shape=np.array([2]), y=y[:2])
    elif kind == "huge":
        make_npz(path, **csr, shape=np.array([2, 10**9]), y=y[:2])
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, X)
    elif kind == "empty":
        path.write_bytes(b"")
    else:
        make_npz(path, X=np.random.default_rng(0).normal(size=(50, 4)), y=np.arange(50) % 2)
        whole = path.read_bytes()
        cut = {"truncated": whole[: len(whole) // 2], "flipped": whole[:200] + b"\x00" * 50 + whole[250:]}
        path.write_bytes(cut[kind])


@pytest.mark.parametrize(
    "kind",
    [
        "object",
        "pickle",
        "keys",
        "no labels",
        "no test",
        "lengths",
        "one dimension",
        "index",
        "pointer",
        "shape",
        "npy",
        "empty",
        "truncated",
        "flipped",
    ],
)
def test_damaged_npz_names_the_file(tmp_path, kind, capsys):
    path = tmp_path / "bad.npz"
    damaged_npz(kind, path)
    refused(ValueError, "bad.npz", path)
    refused(ValueError, "bad.npz", "bad", data_dir=tmp_path)
    assert "unpickled" not in capsys.readouterr().out


def test_a_table_that_is_too_large_is_refused_before_memory_is_allocated(tmp_path):
    damaged_npz("huge", tmp_path / "big.npz")
    refused(ValueError, r"big.npz is 2 x 1000000000, which needs 8.0 GB", tmp_path / "big.npz")


def with_manifest(folder, **record):
    text = "a,b,target\n1,u,0\n2,v,1\n3,u,1\n"
    (folder / "d.csv").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    full = {
        "files": [{"file": "d.csv", "sha256": digest}],
        "n_samples": 3,
        "n_features": 2,
        "missing_values": 0,
        "class_counts": {"0": 1, "1": 2},
        "n_classes": 2,
        "categorical_columns": ["b"],
        **record,
    }
    (folder / "MANIFEST.json").write_text(json.dumps({"d": full}))


def test_manifest_is_checked(tmp_path):
    with_manifest(tmp_path)
    assert load_dataset("d", data_dir=tmp_path).group_names == ("a", "b")
    assert load_dataset("d", data_dir=tmp_path, drop=["b"]).n_features == 1
    assert load_dataset("d", data_dir=tmp_path, target="b").classes.tolist() == ["u", "v"]
    row = list_datasets(tmp_path).set_index("name").loc["d"]
    assert row[["source", "n_samples", "n_features", "n_classes", "categorical", "groups"]].tolist() == [
        "folder",
        3,
        2,
        2,
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("record", "kind", "match"),
    [
        ({"n_samples": 4}, ValueError, "n_samples 4"),
        ({"n_features": 3}, ValueError, "n_features 3"),
        ({"class_counts": {"0": 2, "1": 1}}, ValueError, "class_counts"),
        ({"files": [{"file": "d.csv", "sha256": "0" * 64}]}, ValueError, "d.csv is damaged or was changed"),
        ({"files": [{"file": "e.csv"}]}, FileNotFoundError, "no file .*e.csv"),
        ({"files": [{"file": "../d.csv"}]}, ValueError, "not in that folder"),
        ({"files": []}, ValueError, "MANIFEST.json is damaged"),
        ({"files": 3}, ValueError, "MANIFEST.json is damaged"),
    ],
)
def test_wrong_manifest(tmp_path, record, kind, match):
    with_manifest(tmp_path, **record)
    refused(kind, match, "d", data_dir=tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"d": 1}', "[" * 100_000, "\udcff"])
def test_damaged_manifest(tmp_path, text):
    (tmp_path / "MANIFEST.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(ValueError, "MANIFEST.json is damaged", "sonar", data_dir=tmp_path)
    refused(ValueError, "MANIFEST.json is damaged", tmp_path, call=list_datasets)


@pytest.mark.filterwarnings("ignore:.*(signs that are left out|points separate)")
def test_parts_of_which_one_has_per_cent_are_not_joined(tmp_path):
    """Otherwise 94.1 and 0.94 would be one column; and the sign is kept where numbers of the parts are equal."""

    def write(part, cells):
        lines = [f"{cell};{1 + k};{'xy'[k % 2]}\n" for k, cell in enumerate(cells)]
        (tmp_path / f"sat.{part}.csv").write_text("a;b;target\n" + "".join(lines))

    write("train", ["94,1 %", "90 %", "1.094,5 %"])
    write("test", ["90 %", "93,5 %", "1.094,5 %"])
    column = load_dataset("sat", data_dir=tmp_path).columns[0]
    assert (column.unit, column.decimal, column.thousands) == ("%", ",", ".")
    for cells in (["0,94", "0,9", "1.094,5"], ["9 €", "3,5 €", "1.094,5 €"]):
        write("test", cells)
        refused(ValueError, "column 'a' of .* has numbers with '.' in one file and others", "sat", data_dir=tmp_path)
    write("test", ["94", "90,5", "1.094,5"])
    assert load_dataset("sat", data_dir=tmp_path, numeric=["a"]).X[3:, 0].tolist() == [94, 90.5, 1094.5]


def test_prices_stay_with_the_columns_that_stay():
    whole, part = load_dataset("cube_nuc"), load_dataset("cube_nuc", drop=["x0"])
    np.testing.assert_array_equal(part.costs, whole.costs[1:])
    data = Dataset(np.ones((2, 3)), [0, 1], feature_names=["a", "b", "c"], case_costs=[[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(drop_features(data, ["b"]).case_costs, [[1, 3], [4, 6]])
    grouped = Dataset(np.ones((2, 3)), [0, 1], groups=[[0, 1], [2]], group_names=["g", "h"], costs=[7, 9])
    np.testing.assert_array_equal(drop_features(grouped, ["x0"]).costs, [7, 9])
    np.testing.assert_array_equal(drop_features(grouped, ["g"]).costs, [9])
