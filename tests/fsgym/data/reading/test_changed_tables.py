"""Damaged arrays that compiled code would follow, and a few changed tables; ``.ci/mutate.py`` tries thousands."""

import gzip
import io
import json
import subprocess
import sys
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fsgym
from fsgym.data.reading import files
from fsgym.datasets import load_costs
from support import slow_readers
from support.changed_tables import KINDS, ChangedTables
from support.mutation_trials import run_trials
from support.refusals import refused

CSR: dict[str, Any] = {
    "data": np.array([1, 2, 3, 4], np.float32),
    "indices": np.array([0, 1, 2, 0]),
    "indptr": np.array([0, 1, 2, 3, 4]),
    "shape": np.array([4, 3]),
}
Y = np.array([0, 1, 0, 1])
DAMAGED = {
    "a negative end": ({"indptr": np.array([0, 1, 2, 3, -4])}, "indptr must rise from 0 to 4"),
    "an end that wraps": ({"indptr": np.array([0, 1, 2, 3, 2**64 - 4], np.uint64)}, "indptr must rise"),
    "ends that are no number": ({"indptr": np.array([0, 1, 2, 3, np.nan])}, "indptr integers"),
    "ends that fall": ({"indptr": np.array([0, 2**62, -(2**62), 3, 4])}, "indptr must rise"),
    "an end beyond the values": ({"indptr": np.array([0, 1, 2, 3, 2**40])}, "indptr must rise"),
    "values of no row": ({"indptr": np.array([0, 1, 2, 3, 3])}, "indptr must rise"),
    "another begin": ({"indptr": np.array([1, 1, 2, 3, 4])}, "indptr must rise"),
    "too few ends": ({"indptr": np.array([0, 1, 4])}, "indptr must have 5 entries"),
    "two axes": ({"indptr": np.array([[0, 1, 2, 3, 4]])}, "one axis"),
    "a negative column": ({"indices": np.array([0, -1, 2, 0])}, "indices must be columns from 0 to 2"),
    "a column that wraps": ({"indices": np.array([0, 2**32, 2, 0])}, "indices must be columns"),
    "fewer values": ({"data": np.ones(2)}, "the same length, got 2 and 4"),
    "texts": ({"data": np.array(["1E2", "10E1", "1", "2"])}, "data must be numbers"),
    "complex numbers": ({"data": np.ones(4) * 1j}, "data must be numbers"),
    "dates": ({"data": np.array([1, 2, 3, 4], "M8[s]")}, "data must be numbers"),
    "a broken shape": ({"shape": np.array([4.7, 3.2])}, "shape must be two integers"),
    "a negative shape": ({"shape": np.array([-4, 3])}, "shape must be two integers"),
    "no rows": ({"shape": np.array([0, 10**12])}, "1000000000000 columns, and the limit"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_sparse_tables(tmp_path, kind):
    changes, said = DAMAGED[kind]
    np.savez(tmp_path / "t.npz", **(CSR | changes), y=Y)
    refused(ValueError, f"t.npz .*{said}", tmp_path / "t.npz")


@pytest.mark.parametrize("kind", ["a negative end", "an end that wraps"])
def test_a_sparse_table_does_not_end_the_process(tmp_path, kind):
    """In a process of its own: SciPy wrote outside its array."""
    np.savez(tmp_path / "t.npz", **(CSR | DAMAGED[kind][0]), y=Y)
    code = f"import fsgym\ntry: fsgym.load_dataset({str(tmp_path / 't.npz')!r})\nexcept ValueError: print('refused')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "refused"), done.stderr


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint64, ">i4"])
def test_sparse_tables_of_any_integers(tmp_path, dtype):
    places: dict[str, Any] = {key: CSR[key].astype(dtype) for key in ("indices", "indptr", "shape")}
    np.savez(tmp_path / "t.npz", **(CSR | places), y=Y)
    assert fsgym.load_dataset(tmp_path / "t.npz").X.tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3], [4, 0, 0]]


def test_a_sparse_table_of_empty_columns(tmp_path):
    wide: dict[str, Any] = {"shape": np.array([20, 900_000]), "indptr": np.minimum(np.arange(21), 4)}
    np.savez(tmp_path / "t.npz", **(CSR | wide), y=np.arange(20) % 2)
    refused(ValueError, "20 x 900000 with 4 values, so most of its columns are empty", tmp_path / "t.npz")


HEADERS = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (",
    "'''",
    "(" * 300,
    "\0",
    "",
    "  x\n y\n\tz",
    "{'descr': 'a5'}",
]


@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_are_no_python(tmp_path, header):
    text = header.encode("latin1")
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(80))
    refused(ValueError, "t.npz is damaged or not an npz file .*damaged header", tmp_path / "t.npz")


@pytest.mark.parametrize("code", [0x110000, 0xD800, 0xFFFFFFFF])
@pytest.mark.parametrize("name", ["y", "feature_names"])
def test_text_that_is_not_unicode(tmp_path, name, code):
    arrays: dict[str, Any] = {
        "X": np.arange(12.0).reshape(4, 3),
        "y": np.array(list("abab")),
        "feature_names": np.array(list("abc")),
    }
    codes = arrays[name].view(np.uint32).copy()
    codes[1] = code
    np.savez(tmp_path / "t.npz", **(arrays | {name: codes.view("<U1")}))
    refused(ValueError, f"{name}.npy has text that is not Unicode", tmp_path / "t.npz")


def test_parts_whose_labels_are_those_of_other_rows(tmp_path):
    """Ten rows and ten labels, but five rows and six labels of training: each row would get another's label."""
    X = np.arange(30.0).reshape(10, 3)
    labels: dict[str, Any] = {"y_train": np.arange(6) % 2, "y_test": np.arange(4) % 2}
    np.savez(tmp_path / "t.npz", X_train=X[:5], X_test=X[5:], **labels)
    refused(ValueError, "t.npz must have one label per row", tmp_path / "t.npz")


def test_two_files_with_parts_of_their_own(tmp_path):
    X = np.arange(30.0).reshape(10, 3)
    for name in ("a.npz", "b.npz"):
        np.savez(tmp_path / name, X_train=X[:5], X_test=X[5:], y_train=np.arange(5) % 2, y_test=np.arange(5) % 2)
    record = {"files": [{"file": "a.npz"}, {"file": "b.npz"}]}
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"t": record}))
    refused(ValueError, "must be one file with X_train", "t", data_dir=tmp_path)


@pytest.mark.parametrize("divisor", ["0", "9" * 60])
def test_a_manifest_that_divides_by_nothing(tmp_path, divisor):
    np.savez(tmp_path / "t.npz", X=np.arange(12.0).reshape(4, 3), y=Y)
    record = {"files": [{"file": "t.npz"}], "layout": f"divide X by {divisor}"}
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"t": record}))
    refused(ValueError, "must be divided by a number from 1", "t", data_dir=tmp_path)


def test_a_manifest_whose_names_of_files_are_no_line(tmp_path):
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"t": {"files": [{"file": "t.csv\n"}]}}))
    refused(ValueError, "must list its files", "t", data_dir=tmp_path)


def test_names_of_prices_on_two_lines(tmp_path):
    (tmp_path / "p.csv").write_text('name,price\n"a\u2028b",1\n"c\nd",2\n', encoding="utf-8")
    assert load_costs(tmp_path / "p.csv") == {"a\u2028b": 1.0, "c\nd": 2.0}


def write_repeated(path, cell, n_rows):
    """A small Parquet file of many rows that have the same cell."""
    pytest.importorskip("pyarrow", reason="needs pyarrow, which the extra parquet installs")
    frame = pd.DataFrame({"c": np.resize(cell, n_rows), "target": np.resize(["x", "y"], n_rows)})
    frame.to_parquet(path, use_dictionary=True)
    return path


@pytest.mark.parametrize(
    ("cell", "n_rows"),
    [pytest.param([0.0, 1.0], 3_200_000, marks=pytest.mark.slow), (["v" * 1000, "w"], 120_000)],
    ids=["numbers", "texts"],
)
def test_parquet_that_unpacks_to_more_than_is_plausible(tmp_path, cell, n_rows):
    path = write_repeated(tmp_path / "t.parquet", cell, n_rows)
    assert path.stat().st_size < 200_000
    refused(ValueError, r"t.parquet needs [56]\d.* MB, more than the 50 MB .* use_dictionary=False", path)
    few = write_repeated(tmp_path / "few.parquet", cell, 1000)
    assert fsgym.load_dataset(few).n_samples == 1000


def test_parquet_without_compression_is_read_at_any_size(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="needs pyarrow, which the extra parquet installs")
    monkeypatch.setattr(files, "FREE_BYTES", 1000)
    frame = pd.DataFrame({"c": np.arange(5000) * 0.5, "target": ["x", "y"] * 2500})
    frame.to_parquet(tmp_path / "t.parquet", compression=None, use_dictionary=False)
    assert fsgym.load_dataset(tmp_path / "t.parquet").n_samples == 5000


@pytest.mark.parametrize("column", ["c", "target"])
def test_parquet_with_texts_that_are_not_utf8(tmp_path, column):
    pytest.importorskip("pyarrow", reason="needs pyarrow, which the extra parquet installs")
    frame = pd.DataFrame({"c": ["first", "second"] * 5, "target": ["ill", "well"] * 5})
    frame.to_parquet(tmp_path / "t.parquet", compression=None)
    old = {"c": b"first", "target": b"well"}[column]
    (tmp_path / "t.parquet").write_bytes((tmp_path / "t.parquet").read_bytes().replace(old, b"\xff" + old[1:]))
    refused(ValueError, "t.parquet cannot be read as a Parquet file .*UTF8", tmp_path / "t.parquet")


def test_parquet_with_lists(tmp_path):
    pytest.importorskip("pyarrow", reason="needs pyarrow, which the extra parquet installs")
    pd.DataFrame({"c.d": [1, 2], "c": [[1], [2]], "target": ["x", "y"]}).to_parquet(tmp_path / "t.parquet")
    refused(ValueError, "t.parquet cannot be read .*'c' has lists or objects as cells", tmp_path / "t.parquet")


def test_the_slow_readers_see_a_value_in_another_row(tmp_path):
    """What finds faults in thousands of tables finds those that are made on purpose."""
    files = ChangedTables(tmp_path, 0, ("csv", "tabs", "npz", "csr", "parquet", "prices"))
    files.warm_up()
    folder = files.originals
    for name in ("t.csv", "t.tsv.gz", "t.npz", "c.npz", "t.parquet"):
        data = fsgym.load_dataset(folder / name, target=None if name.endswith("npz") else "ill")
        order = np.arange(data.n_samples)
        order[[5, 6]] = [6, 5]
        for wrong in (data.rows(order), data.rows(order[:-1]), data.replace(y=data.classes[data.y[order]])):
            with pytest.raises(AssertionError):
                files._compare(files.names[[KINDS[k] for k in files.names].index(name)], folder / name, wrong, 0)
    with pytest.raises(AssertionError):
        slow_readers.check_prices(folder / "prices.json", {"age": 2.0, "ward": 1.0})


def test_changes_follow_from_the_seed(tmp_path):
    files = ChangedTables(tmp_path, 1)
    assert [files.changed(k) for k in range(30)] == [files.changed(k) for k in range(30)]
    assert len({files.changed(k)[0] for k in range(60)}) > 50
    assert {files.kind_of(k) for k in range(300)} == set(KINDS)


def test_changed_tables_are_refused_or_read(tmp_path):
    files = ChangedTables(tmp_path, 2)
    files.warm_up()
    outcomes = dict(run_trials(files.attempt, iter(range(120))))
    assert [outcome for outcome in outcomes.values() if outcome.is_defect] == []
    assert {outcome.kind for outcome in outcomes.values()} == {"used", "refused"}


def test_a_table_in_gzip_and_in_a_stream_is_the_same(tmp_path):
    text = "a,target\n" + "".join(f"{k * 1.5},{k % 2}\n" for k in range(9))
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "u.csv.gz").write_bytes(gzip.compress(text.encode()))
    frame = pd.read_csv(io.StringIO(text))
    for name in ("t.csv", "u.csv.gz"):
        assert fsgym.load_dataset(tmp_path / name).X.tolist() == frame[["a"]].to_numpy(np.float32).tolist()
