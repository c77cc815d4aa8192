"""Every way to a data set, and what happens when the file, the name or the network is bad."""

import gzip
import hashlib
import io
import json
import os
import pickle
import re
import subprocess
import sys
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError, URLError

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsgym import Dataset
from fsgym.datasets import list_datasets, load_costs, load_dataset
from fsgym.datasets.embedded import EMBEDDED
from fsgym.datasets.openml import OPENML, Entry

RESPONSES = Path(__file__).parent / "data" / "openml"
FOLDER = os.environ.get("FSGYM_DATA")
needs_folder = pytest.mark.skipif(not FOLDER, reason="FSGYM_DATA names no folder of data sets")


def one_sentence(error: BaseException) -> bool:
    text = str(error)
    return bool(text) and "\n" not in text and re.search(r"[.!?] [A-Z]", text) is None


def refused(kind, match, *arguments, call=load_dataset, **options):
    """The call fails with one sentence that matches."""
    with pytest.raises(kind, match=match) as caught:
        call(*arguments, **options)
    assert one_sentence(caught.value), caught.value


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("FSGYM_DATA", raising=False)


# ---------------------------------------------------------------- embedded


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_are_as_announced(name):
    data = load_dataset(name)
    told = EMBEDDED[name]
    assert (data.n_samples, data.n_features, data.n_classes) == told[:3]
    assert data.image_shape == told.image_shape
    assert data.groups is None
    assert data.name == name


def test_embedded_labels_and_names_can_be_read():
    data = load_dataset("breast_cancer")
    assert data.classes.tolist() == ["benign", "malignant"]
    assert np.bincount(data.y).tolist() == [357, 212]
    assert data.feature_names[0] == "mean radius"


def test_random_parts_are_stratified_disjoint_and_keep_the_bounds():
    whole = load_dataset("wine")
    train, test = load_dataset("wine", "train"), load_dataset("wine", "test")
    assert train.n_samples + test.n_samples == 178
    assert train.n_samples == 124
    rows = np.vstack([train.X, test.X])
    assert np.unique(rows, axis=0).tobytes() == np.unique(whole.X, axis=0).tobytes()
    for part in (train, test):
        assert part.bounds[1].tobytes() == whole.bounds[1].tobytes()
    again = load_dataset("wine", "train", seed=1)
    assert again.X.tobytes() != train.X.tobytes()
    assert load_dataset("wine", "train", train_share=0.5).n_samples == 89


# ---------------------------------------------------------------- CSV files

MIXED = """id,age,sex,city,score,target
p1,30,m,Rome,1.5,no
p2,,f,Oslo,?,yes
p3,50,m,,2.5,no
p4,41,,Bern,NA,yes
p5,28,f,Rome,0.5,no
p6,33,m,Oslo,3.5,yes
"""


@pytest.fixture
def mixed(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text(MIXED)
    return path


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
    data = load_dataset(tmp_path / "q.csv")
    assert np.isnan(data.X[:, 0]).all()
    assert data.groups is None


def test_home_is_expanded(mixed, monkeypatch):
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


def test_an_identifier_is_told_from_a_category(tmp_path):
    path = tmp_path / "ids.csv"
    lines = [f"name{i},{i % 7},{'ab'[i % 2]}" for i in range(150)]
    path.write_text("who,level,target\n" + "\n".join(lines) + "\n")
    refused(ValueError, "'who'.*identifier; drop it", path)
    assert load_dataset(path, drop=["who"]).n_features == 1


@pytest.mark.parametrize(
    ("text", "options", "kind", "match"),
    [
        ("a,b\n1,2\n", {}, ValueError, r"no column 'target'; name one with target.*: a, b"),
        ("a,b\n1,2\n", {"target": "c"}, ValueError, "no column 'c'; choose one of them: a, b"),
        ("a,target\n1,x\n2,\n3,y\n", {}, ValueError, r"1 row\(s\).*no value in the target"),
        ("a,target\n1,x\n2,x\n", {}, ValueError, "at least two classes"),
        ("target\nx\ny\n", {}, ValueError, "no feature column"),
        ("a,target\n1,x\n2,y\n", {"drop": ["z"]}, ValueError, "no column 'z' to drop"),
        ("a,target\n1,x\n2,y\n", {"drop": ["target"]}, ValueError, "target"),
        ("a,target\n1,x\n2,y\n", {"drop": ["a"]}, ValueError, "no feature column"),
        ("a,target\n1,x\n2,y\n", {"drop": 3}, TypeError, "list of column names"),
        ("a,target\n1,x\n2,y\n", {"drop": [3]}, TypeError, "list of column names"),
        ("a,target\n1,x\n2,y\n", {"target": 3}, TypeError, "name of a column"),
        ("a,target\ninf,x\n2,y\n", {}, ValueError, "'a'.*infinite"),
        ("a,target\n1e300,x\n2,y\n", {}, ValueError, "'a'.*infinite or too large"),
        ("a,target\n", {}, ValueError, "no rows"),
        ("a;target\n1;x\n2;y\n", {}, ValueError, "separated by commas, got the header 'a;target'"),
        ("", {}, ValueError, "cannot be read as a CSV"),
        ("a,target\n1,2,3,4\n", {}, ValueError, "more cells|cannot be read"),
        ('a,target\n"1,x\n2,y\n', {}, ValueError, "cannot be read"),
        ("x=b,x,target\n1,a,0\n2,b,1\n", {}, ValueError, "distinct, got 'x=b' twice"),
        ("a,target\n" + "".join(f"1,{i}.5\n" for i in range(30)), {}, ValueError, "30 distinct values"),
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
        data = load_dataset(path)
    except (ValueError, TypeError, OSError) as error:
        problem = error
    else:
        problem = None
        assert data.n_features >= 1
    assert problem is None or one_sentence(problem), problem


# ---------------------------------------------------------------- names


def test_names_that_nothing_answers_to(no_folder):
    refused(ValueError, "unknown data set 'adlt'; did you mean 'adult'", "adlt")
    refused(ValueError, "did you mean 'heart_statlog'", "heart")
    refused(ValueError, "did you mean 'wine'", "Wine")
    refused(ValueError, "list_datasets.*FSGYM_DATA", "zzzzqq")
    refused(ValueError, "null characters", "a\0b")
    refused(ValueError, "followed by", "openml:")
    refused(ValueError, "followed by a plain name", "openml:../../etc")
    refused(TypeError, "path of a folder", "sonar", data_dir=3)
    refused(ValueError, "cannot be split", "wine", "train", seed=-1)
    refused(TypeError, "name must be", 3)
    refused(ValueError, "split must be one of all, train, test, got 'half'", "wine", "half")
    refused(ValueError, "embedded", "wine", target="x")
    refused(ValueError, "no feature 'x' to drop", "wine", drop=["x"])


def test_a_folder_that_is_none(monkeypatch, tmp_path):
    refused(NotADirectoryError, "data_dir must name a folder", "sonar", data_dir=tmp_path / "none")
    monkeypatch.setenv("FSGYM_DATA", str(tmp_path / "none"))
    refused(NotADirectoryError, "FSGYM_DATA must name a folder", "sonar")
    assert load_dataset("wine").n_samples == 178


def test_drop_from_embedded():
    data = load_dataset("wine", drop=["alcohol", "proline"])
    assert data.n_features == 11
    assert "alcohol" not in data.feature_names
    np.testing.assert_array_equal(data.X, load_dataset("wine").X[:, 1:12])


# ---------------------------------------------------------------- folders


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


def test_two_files_of_one_name(tmp_path):
    for suffix in (".csv", ".csv.gz"):
        (tmp_path / f"d{suffix}").write_bytes(b"a,target\n1,x\n")
    refused(ValueError, "'d' could be any of", "d", data_dir=tmp_path)


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
        tmp_path / "sparse.npz", data=np.array([5, 7]), indices=np.array([2, 0]),
        indptr=np.array([0, 1, 1, 2]), shape=np.array([3, 3]), y=np.array([0, 1, 1]),
        groups=np.array([0, 1, 1]), group_names=np.array(["u", "v"]),
    )  # fmt: skip
    data = load_dataset(tmp_path / "sparse.npz")
    assert data.X.tolist() == [[0, 0, 5], [0, 0, 0], [7, 0, 0]]
    assert data.X.dtype == np.float32
    assert (data.groups, data.group_names) == (((0,), (1, 2)), ("u", "v"))
    assert load_dataset(tmp_path / "sparse.npz", drop=["x2"]).groups == ((0,), (1,))
    assert load_dataset(tmp_path / "sparse.npz", drop=["v"]).group_names == ("u",)
    make_npz(
        tmp_path / "images.npz", X_train=np.ones((3, 2, 2)), y_train=[0, 1, 1],
        X_test=np.zeros((2, 2, 2)), y_test=[1, 0],
    )  # fmt: skip
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
    ["object", "pickle", "keys", "no labels", "no test", "lengths", "one dimension", "index", "pointer",
     "shape", "npy", "empty", "truncated", "flipped"],
)  # fmt: skip
def test_damaged_npz_names_the_file(tmp_path, kind, capsys):
    path = tmp_path / "bad.npz"
    damaged_npz(kind, path)
    refused(ValueError, "bad.npz", path)
    refused(ValueError, "bad.npz", "bad", data_dir=tmp_path)
    assert "unpickled" not in capsys.readouterr().out


def test_too_big_a_table_is_refused_before_it_is_made(tmp_path):
    damaged_npz("huge", tmp_path / "big.npz")
    refused(ValueError, r"big.npz is 2 x 1000000000, which needs 8.0 GB", tmp_path / "big.npz")


def with_manifest(folder, **record):
    text = "a,b,target\n1,u,0\n2,v,1\n3,u,1\n"
    (folder / "d.csv").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    full = {
        "files": [{"file": "d.csv", "sha256": digest}], "n_samples": 3, "n_features": 2, "missing_values": 0,
        "class_counts": {"0": 1, "1": 2}, "n_classes": 2, "categorical_columns": ["b"], **record,
    }  # fmt: skip
    (folder / "MANIFEST.json").write_text(json.dumps({"d": full}))


def test_manifest_is_checked(tmp_path):
    with_manifest(tmp_path)
    assert load_dataset("d", data_dir=tmp_path).group_names == ("a", "b")
    assert load_dataset("d", data_dir=tmp_path, drop=["b"]).n_features == 1
    assert load_dataset("d", data_dir=tmp_path, target="b").classes.tolist() == ["u", "v"]
    row = list_datasets(tmp_path).set_index("name").loc["d"]
    assert row[["source", "n_samples", "n_features", "n_classes", "categorical", "groups"]].tolist() == [
        "folder", 3, 2, 2, 1, 2,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("record", "kind", "match"),
    [
        ({"n_samples": 4}, ValueError, "n_samples 4"),
        ({"n_features": 3}, ValueError, "n_features 3"),
        ({"class_counts": {"0": 2, "1": 1}}, ValueError, "class_counts"),
        ({"files": [{"file": "d.csv", "sha256": "0" * 64}]}, ValueError, "d.csv is damaged or was changed"),
        ({"files": [{"file": "e.csv"}]}, FileNotFoundError, "no file .*e.csv"),
        ({"files": [{"file": "../d.csv"}]}, ValueError, "not a file in that folder"),
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


def test_list_without_a_folder(no_folder):
    table = list_datasets()
    assert table["name"].is_unique
    assert table["name"].tolist()[:3] == list(EMBEDDED)
    assert set(table["source"]) == {"embedded", "openml"}
    assert table.set_index("name").loc["sonar", "n_samples"] == 208


def folder_sets():
    if not FOLDER:
        return [pytest.param("none", marks=needs_folder)]
    manifest = json.loads((Path(FOLDER) / "MANIFEST.json").read_text())
    big = {"kddcup99_10percent"}
    return [pytest.param(n, marks=[pytest.mark.slow] if n in big else []) for n in manifest]


@pytest.mark.parametrize("name", folder_sets())
def test_every_set_of_the_folder(name):
    record = json.loads((Path(FOLDER) / "MANIFEST.json").read_text())[name]  # type: ignore[arg-type]
    data = load_dataset(name, data_dir=FOLDER)
    counts = np.bincount(data.y)
    assert data.n_samples == record["n_samples"]
    assert {str(c): int(n) for c, n in zip(data.classes, counts)} == record["class_counts"]
    columns = data.n_features if "feature_groups" in record else len(data.acquisition_names)
    assert columns == record["n_features"]
    if name in EMBEDDED:
        return
    if "feature_groups" in record:
        assert {n: len(g) for n, g in zip(data.group_names, data.groups)} == record["feature_groups"]
    else:
        cells = data.X if data.groups is None else data.X[:, [g[0] for g in data.groups]]
        assert np.isnan(cells).sum() == record["missing_values"]
    parts = [f["n_samples"] for f in record["files"] if ".t" in f["file"]]
    if parts:
        assert [data.X[: parts[0]].shape[0], data.n_samples - parts[0]] == parts
    for group in data.groups or ():
        block = data.X[:, list(group)]
        assert (np.isnan(block).all(axis=1) | ~np.isnan(block).any(axis=1)).all()
        if len(group) > 1 and name != "a9a":
            total = block.sum(axis=1)
            assert (total[~np.isnan(total)] == 1).all()


@needs_folder
def test_official_parts_and_scale():
    train, test = load_dataset("a9a", "train", data_dir=FOLDER), load_dataset("a9a", "test", data_dir=FOLDER)
    assert (train.n_samples, test.n_samples, len(train.groups)) == (32561, 16281, 14)
    assert train.feature_names == test.feature_names
    digits = load_dataset("usps", "test", data_dir=FOLDER)
    assert (digits.n_samples, digits.image_shape) == (2007, (16, 16))
    assert np.abs(digits.X).max() == 1
    assert load_dataset("isolet5", data_dir=FOLDER).X.max() <= 1


@needs_folder
def test_the_table_of_openml_agrees_with_the_manifest():
    manifest = json.loads((Path(FOLDER) / "MANIFEST.json").read_text())  # type: ignore[arg-type]
    for name, entry in OPENML.items():
        record = manifest[name]
        assert entry[1:3] == (record["n_samples"], record["n_features"]), name
        assert entry.class_sizes == tuple(sorted(record["class_counts"].values(), reverse=True)), name


# ---------------------------------------------------------------- OpenML


class Response(io.BytesIO):
    def info(self):
        return {"Content-Encoding": "gzip"}


@pytest.fixture
def openml(monkeypatch, tmp_path, no_folder):
    """Answers of OpenML from files; the test may change the text of any before it loads."""
    import sklearn.datasets._openml as module

    answers = {p.stem: p.read_text() for p in RESPONSES.iterdir()}
    ends = {
        "features/99901": "features", "qualities/99901": "qualities", "data/99901": "description",
        "data/list/data_name/tiny_fever": "search",
    }  # fmt: skip
    asked = []

    def urlopen(request, *_, **__):
        url = request.full_url
        asked.append(url)
        key = "data" if "/download/" in url else next((v for k, v in ends.items() if k in url), None)
        if key is None:
            raise HTTPError(url, 412, "Precondition Failed", Message(), io.BytesIO(b""))
        if isinstance(answers[key], Exception):
            raise answers[key]
        content = answers[key]
        return Response(content if isinstance(content, bytes) else gzip.compress(content.encode()))

    monkeypatch.setattr(module, "urlopen", urlopen)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    answers["asked"] = asked
    return answers


def register(monkeypatch, **change):
    entry = Entry(99901, 12, 3, (7, 5), not_features=("speaker", "absent"))._replace(**change)
    monkeypatch.setitem(OPENML, "tiny_fever", entry)


def test_openml_by_table(openml, monkeypatch):
    register(monkeypatch)
    data = load_dataset("tiny_fever")
    assert data.feature_names == ("temperature", "cough=yes", "colour=blue", "colour=green", "colour=red")
    assert data.group_names == ("temperature", "cough", "colour")
    assert data.classes.tolist() == ["ill", "well"]
    assert np.bincount(data.y).tolist() == [5, 7]
    assert np.isnan(data.X).sum(axis=0).tolist() == [1, 1, 1, 1, 1]
    np.testing.assert_allclose(data.X[1], [39.1, 1, 0, 1, 0], rtol=1e-6)
    assert all("data_name" not in url for url in openml["asked"])
    before = len(openml["asked"])
    assert load_dataset("tiny_fever", "train").n_samples == 8
    assert len(openml["asked"]) == before, "the second time comes from the cache on disk"


@pytest.mark.parametrize("name", ["openml:tiny_fever", "openml:99901"])
def test_openml_by_name_and_number(openml, name):
    data = load_dataset(name, drop=["colour"])
    assert data.name == "tiny_fever"
    assert data.group_names == ("temperature", "cough", "speaker")
    assert load_dataset(name, target="speaker").classes.tolist() == ["a", "b"]


def test_openml_target_of_the_table(openml, monkeypatch):
    register(monkeypatch, n_features=4, class_sizes=(6, 6), target="speaker", not_features=())
    assert load_dataset("tiny_fever").acquisition_names == ("temperature", "cough", "colour", "class")


def test_openml_copy_that_has_changed(openml, monkeypatch):
    register(monkeypatch, n_samples=13)
    refused(ValueError, "must have 13 rows and 3 features, got 12 and 3", "tiny_fever")
    register(monkeypatch, not_features=())
    refused(ValueError, "got 12 and 4", "tiny_fever")
    register(monkeypatch, class_sizes=(8, 4))
    refused(ValueError, "classes of 8, 4 rows, got 7, 5", "tiny_fever")


def test_openml_sparse_set(openml):
    text = "@RELATION s\n@ATTRIBUTE a REAL\n@ATTRIBUTE b REAL\n@ATTRIBUTE class {n, y}\n@DATA\n"
    openml["data"] = text + "{0 2.5, 2 y}\n{1 1, 2 n}\n{2 y}\n"
    digest = hashlib.md5(openml["data"].encode()).hexdigest()
    old = json.loads(openml["description"])["data_set_description"]
    openml["description"] = json.dumps(
        {"data_set_description": {**old, "format": "Sparse_ARFF", "md5_checksum": digest}}
    )
    columns = json.loads(openml["features"])["data_features"]["feature"]
    kept = [
        {**columns[0], "name": "a"},
        {**columns[0], "name": "b", "index": "1"},
        {**columns[4], "index": "2"},
    ]
    openml["features"] = json.dumps({"data_features": {"feature": kept}})
    data = load_dataset("openml:99901")
    assert data.X.tolist() == [[2.5, 0], [0, 1], [0, 0]]
    assert data.classes[data.y].tolist() == ["y", "n", "y"]


@pytest.mark.parametrize(
    "failure",
    [
        URLError("name resolution failed"),
        TimeoutError("timed out"),
        ConnectionResetError(104, "reset by peer"),
    ],
)
def test_no_network_says_what_to_do(openml, monkeypatch, failure):
    register(monkeypatch)
    openml["description"] = failure
    refused(OSError, "tiny_fever.*OpenML.*check the network.*data_dir.*FSGYM_DATA", "tiny_fever")
    refused(OSError, "99901.*OpenML.*check the network.*CSV file of your own", "openml:99901")


def test_openml_server_error(openml, monkeypatch):
    register(monkeypatch)
    openml["description"] = HTTPError("https://x", 503, "Unavailable", Message(), io.BytesIO(b""))
    refused(OSError, "it answered 503", "tiny_fever")


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("data", "@RELATION other\n@DATA\n1,2\n"),
        ("data", b"no gzip"),
        ("description", "{"),
        ("description", "{}"),
        ("features", "[]"),
        ("features", '{"data_features": {"feature": []}}'),
    ],
)
def test_damaged_answers(openml, monkeypatch, key, content):
    register(monkeypatch)
    openml[key] = content
    refused(ValueError, "tiny_fever", "tiny_fever")


def test_no_such_set_or_column_on_openml(openml):
    refused(ValueError, "4242.*not found", "openml:4242")
    refused(ValueError, "nobody", "openml:nobody")
    refused(ValueError, "weight", "openml:99901", target="weight")
    refused(ValueError, "no column 'weight' to drop", "openml:99901", drop=["weight"])


def test_a_local_file_comes_before_openml(openml, tmp_path):
    (tmp_path / "sonar.csv").write_text("a,target\n1,x\n2,y\n")
    assert load_dataset("sonar", data_dir=tmp_path).n_samples == 2
    assert openml["asked"] == []


# ---------------------------------------------------------------- prices


@pytest.fixture
def data(mixed):
    return load_dataset(mixed, drop=["id"])


def test_prices_in_three_formats(tmp_path, data):
    prices = {"age": 1.0, "sex": 1.0, "city": 2.5, "score": 17.61}
    plain, entry, table = tmp_path / "p.json", tmp_path / "costs.json", tmp_path / "p.csv"
    plain.write_text(json.dumps(prices))
    extra = {**prices, "id": None}
    entry.write_text(json.dumps({"mixed": {"unit": "EUR", "costs": extra}, "other": {"costs": {"u": 1}}}))
    table.write_text("".join(f"{k},{v}\n" for k, v in prices.items()))
    assert load_costs(plain) == load_costs(table) == prices
    assert load_costs(plain, data) == load_costs(table, data) == load_costs(entry, data) == prices
    assert load_costs("other", data_dir=tmp_path) == load_costs(entry, "other") == {"u": 1.0}
    priced = Dataset(data.X, data.y, groups=data.groups, group_names=data.group_names, costs=load_costs(entry, data))
    assert priced.costs.tolist() == [1.0, 1.0, 2.5, 17.61]


@pytest.mark.parametrize(
    ("name", "text", "kind", "match"),
    [
        ("p.json", '{"age": null}', ValueError, r"no price for 'age' \(null\)"),
        ("p.json", '{"age": -1}', ValueError, "'age' a price"),
        ("p.json", '{"age": NaN}', ValueError, "'age' a price"),
        ("p.json", '{"age": true}', ValueError, "'age' a price"),
        ("p.json", '{"age": "dear"}', ValueError, "'age' a price"),
        ("p.json", '{"age": [1]}', ValueError, "'age' a price"),
        ("p.json", '{"age"', ValueError, "p.json is damaged"),
        ("p.json", "[1, 2]", ValueError, "must map"),
        ("p.json", "{}", ValueError, "must map"),
        ("p.json", '{"a": {"costs": {}}, "b": {"costs": {}}}', ValueError, r"choose one with dataset=.*a, b"),
        ("p.json", '{"a": {"costs": 3}}', ValueError, "'a' of .*p.json must map"),
        ("p.csv", "age,1,2\n", ValueError, "two columns"),
        ("p.csv", "age,1\nage,2\n", ValueError, "'age' twice"),
        ("p.csv", "age,1\nsex,\n", ValueError, "no price for 'sex'"),
        ("p.csv", "age,1\nsex,dear\n", ValueError, "'sex' a price"),
        ("p.csv", "name,price\n", ValueError, "no prices"),
        ("p.csv", "", ValueError, "no prices"),
    ],
)
def test_bad_prices(tmp_path, name, text, kind, match):
    (tmp_path / name).write_text(text)
    refused(kind, match, tmp_path / name, call=load_costs)


def test_prices_that_do_not_fit(tmp_path, data, no_folder):
    path = tmp_path / "p.json"
    path.write_text('{"age": 1, "weight": 2}')
    refused(ValueError, "prices 'weight', which is none of", path, data, call=load_costs)
    path.write_text('{"age": 1}')
    refused(ValueError, "no price for 'sex'", path, data, call=load_costs)
    path.write_text('{"a": {"costs": {"x": 1}}, "b": {"costs": {"x": 1}}}')
    refused(ValueError, "no prices of 'c'; it has those of a, b", path, "c", call=load_costs)
    refused(FileNotFoundError, "no file", tmp_path / "none.json", call=load_costs)
    refused(FileNotFoundError, "'pima' need a folder", "pima", call=load_costs)
    refused(FileNotFoundError, "costs.json", "pima", data_dir=tmp_path, call=load_costs)
    refused(TypeError, "path or a name", 3, call=load_costs)
    refused(TypeError, "name or a Dataset", path, 3, call=load_costs)


@needs_folder
def test_prices_of_the_folder():
    pima = load_dataset("pima_diabetes", data_dir=FOLDER)
    prices = load_costs("pima_diabetes", pima, data_dir=FOLDER)
    assert prices["plas"] == 17.61
    assert tuple(prices) == pima.acquisition_names
    heart = load_dataset("heart_statlog", data_dir=FOLDER)
    assert load_costs("heart_statlog", heart, data_dir=FOLDER)["thal"] == 102.9
    refused(ValueError, r"no price for 'FTI' \(null\)", "thyroid_ann", data_dir=FOLDER, call=load_costs)
    thyroid = load_dataset("thyroid_ann", data_dir=FOLDER, drop=["FTI"])
    assert len(load_costs("thyroid_ann", thyroid, data_dir=FOLDER)) == 20


def test_import_stays_light():
    code = (
        "import sys, fsgym.datasets; "
        "print(*[m for m in ('pandas', 'sklearn.datasets', 'matplotlib', 'scipy.stats') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
