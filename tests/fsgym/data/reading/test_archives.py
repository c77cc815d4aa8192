"""Compressed files are read by their headers, and never more than their size makes plausible."""

from __future__ import annotations

import gzip
import pickle
import zipfile

import numpy as np
import pytest

from fsgym import load_dataset
from fsgym.data.reading import files
from support.hostile_files import write_claim, write_zeros
from support.refusals import refused

X, Y = np.arange(60.0).reshape(20, 3), np.arange(20) % 2


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.npz"


def test_only_the_wanted_arrays_are_read(path, monkeypatch):
    np.savez_compressed(path, X=X, y=Y, pictures=np.zeros(10_000_000), notes=np.array([{}], dtype=object))
    read = []
    array_of = files._array_of
    monkeypatch.setattr(files, "_array_of", lambda a, info, h: read.append(info.filename) or array_of(a, info, h))
    assert load_dataset(path).n_samples == 20
    assert sorted(read) == ["X.npy", "y.npy"]


@pytest.mark.parametrize("shape", [(10**6, 10**6), (10**12,), (2**62, 2**62), (1000, 1000)])
def test_an_array_shorter_than_its_header_claims(path, shape):
    write_claim(path, shape, b"\0" * 80)
    refused(ValueError, "arrays need|shorter than its shape", path)


def test_zeros_that_unpack_to_gigabytes(path):
    write_zeros(path, 8_000_000)
    assert path.stat().st_size < 1_000_000
    refused(ValueError, r"its arrays need 64 MB, more than the .* numpy.savez, without compression", path)


def test_objects_are_refused_and_not_unpickled(path):
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("unpickled",)

    np.savez(path, X=np.array([[1.0, 2.0]] * 20), y=np.array([Trap()] * 20, dtype=object))
    refused(ValueError, "y holds Python objects, which are not read", path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", pickle.dumps(Trap()))
    refused(ValueError, "not an npz file of plain arrays", path)


@pytest.mark.parametrize("end", [30, 200, 500])
def test_truncated_archives(path, end):
    np.savez(path, X=X, y=Y)
    path.write_bytes(path.read_bytes()[:-end])
    refused(ValueError, "damaged or not an npz", path)


def test_a_table_that_unpacks_to_more_than_is_plausible(tmp_path):
    path = tmp_path / "table.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b,target\n1,2,x\n")
        for _ in range(80):
            file.write(b"\n" * 10**6)
    refused(ValueError, r"more than 50 MB unpacked; if that is right, unpack it \(gunzip\)", path)


def test_an_honest_table_of_many_equal_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FREE_BYTES", 1000)
    path = tmp_path / "table.csv.gz"
    rows = "".join(f"{k * 7 % 101},{k * k % 13},{'yes' if k % 3 else 'no'}\n" for k in range(5000))
    path.write_bytes(gzip.compress(f"a,b,target\n{rows}".encode()))
    assert path.stat().st_size > 1000
    assert load_dataset(path).n_samples == 5000


def test_a_text_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 100)
    (tmp_path / "table.csv").write_text("a,target\n" + "1,yes\n2,no\n" * 20)
    refused(ValueError, "leave out rows or columns", tmp_path / "table.csv")
