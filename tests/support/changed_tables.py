"""Changed tables, manifests, prices and sessions of one seed, by number, and the attempts to read them.

What is read of one is compared, row by row, with what a slow reader of its own makes of the same bytes
(``slow_readers``): a value may be refused, but never be in another row or another column.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fsgym
from fsgym.datasets import load_costs
from support import slow_readers
from support.model_parts import ModelParts, Tensor
from support.mutated_model_files import (
    add_value,
    change_dtype,
    change_elements,
    change_order,
    change_shape,
    edit_text,
    remove_value,
    replace_value,
    swap_neighbours,
    swap_values,
)
from support.mutation_trials import refusal_of

KINDS = {
    "csv": "t.csv",
    "semicolons": "s.csv",
    "tabs": "t.tsv.gz",
    "npz": "t.npz",
    "npz parts": "p.npz",
    "csr": "c.npz",
    "parquet": "t.parquet",
    "manifest": "MANIFEST.json",
    "prices": "prices.json",
    "price list": "prices.csv",
    "session": "session.json",
}
SHARES = np.array([5, 3, 1, 3, 2, 5, 4, 3, 1, 1, 2], dtype=float)
N_ROWS = 14
CELLS = [
    "",
    "NA",
    "?",
    "nan",
    "1E2",
    "10E1",
    "100",
    "007",
    "7",
    "1_0",
    "0x1",
    "inf",
    "-inf",
    "1e400",
    "1e-400",
    "1,5",
    "1.5",
    "+1",
    " 3",
    "3 ",
    "true",
    "TRUE",
    "x",
    '"',
    '""',
    "'",
    "a,b",
    "a;b",
    "a\tb",
    "\r",
    "\n",
    "\r\n",
    "a\nb",
    "\0",
    "\ufeff",
    "\u2028",
    "\x85",
    "\x0c",
    "\x1c",
    "\uff11",
    "9" * 30,
    "0." + "1" * 40,
    "e",
    ".",
    "-",
    "2020-01-01",
    "NaT",
    "None",
    "null",
    "é",
    "=1+1",
    "#",
    "\\",
    "\\n",
    '"a',
    'a"',
    '"a""b"',
    "sep=;",
    "x" * 300,
]
HEADERS = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (",
    "{'descr'",
    "",
    "\0",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    "'''",
    '"""',
    "(" * 300,
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
    "\\",
    "  x\n y\n\tz",
    "1_",
    "0o9",
    "{'descr': '<f4', 'fortran_order': 1, 'shape': (3,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3L,), }",
    "b'\xff'",
    "{'descr': '<f4,', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': 'a5', 'fortran_order': True, 'shape': (), }",
    "é",
    "f'{x}'",
]
Change = Callable[[Any, np.random.Generator], str]


class ChangedTables:
    """As ``ChangedFiles``, for what a user gives beside a model.

    Parameters
    ----------
    scratch : Path, folder for the files
    seed : int
    kinds : names of ``KINDS``, by default all
    """

    def __init__(self, scratch: Path, seed: int, kinds: tuple[str, ...] = tuple(KINDS)) -> None:
        self.scratch, self.seed, self.names = scratch, seed, kinds
        shares = SHARES[[list(KINDS).index(name) for name in kinds]]
        self.shares = shares / shares.sum()
        self.originals = write_originals(scratch / "originals")
        self.model: Any = small_model() if "session" in kinds else None
        self.session = "" if self.model is None else some_session(self.model)

    def model_of(self, index: int) -> str:
        """The kind of file ``index``."""
        return self.names[int(np.random.default_rng([self.seed, index, 1]).choice(len(self.names), p=self.shares))]

    kind_of = model_of

    def changed(self, index: int) -> tuple[bytes, str]:
        """The bytes of file ``index``, and in words what was changed."""
        rng, kind = np.random.default_rng([self.seed, index]), self.model_of(index)
        if kind in ("csv", "semicolons", "tabs", "price list"):
            data, what = changed_text(_text(self.originals / KINDS[kind]), rng)
            return (gzip.compress(data, mtime=0) if kind == "tabs" else data), what
        if kind in ("manifest", "prices", "session"):
            text = self.session if kind == "session" else (self.originals / KINDS[kind]).read_text()
            return changed_json(text, rng)
        if kind == "parquet":
            return changed_parquet(rng)
        return changed_npz(self.originals / KINDS[kind], rng)

    def attempt(self, index: int) -> int:
        """Read the file and compare; its size, or the errors of ``mutation_trials.run_trials``."""
        kind, data = self.model_of(index), self.changed(index)[0]
        path = self._place(kind, data)
        try:
            read = self._read(kind, path, index)
        except (ValueError, OSError) as error:
            if kind not in ("session", "manifest") and path.name not in str(error):
                raise AssertionError(f"the message names no file: {error}") from None
            raise refusal_of(error, len(data)) from None
        self._compare(kind, path, read, index)
        return len(data)

    def warm_up(self) -> None:
        """Read each file as it is."""
        for kind in self.names:
            text = self.session.encode() if kind == "session" else (self.originals / KINDS[kind]).read_bytes()
            path = self._place(kind, text)
            for index in (0, 1, 2):
                self._compare(kind, path, self._read(kind, path, index), index)

    def _place(self, kind: str, data: bytes) -> Path:
        folder = self.scratch / f"{kind.replace(' ', '-')}-{os.getpid()}"
        if not folder.exists():
            folder.mkdir()
            for name in ("t.csv", "t.npz", "a.train.csv", "a.test.csv") if kind == "manifest" else ():
                shutil.copy(self.originals / name, folder / name)
        path = folder / KINDS[kind]
        path.write_bytes(data)
        return path

    def _read(self, kind: str, path: Path, index: int) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* columns that do not vary")
            if kind == "session":
                session = self.model.resume(path.read_bytes().decode("utf-8", "replace"))
                for _ in range(3):
                    if (question := session.next()) is None:
                        break
                    assert session.why() is not None
                    assert repr(session)
                    session.unknown(question.name)
                return self.model.resume(path.read_bytes().decode("utf-8", "replace"))
            if kind in ("prices", "price list"):
                return load_costs(path)
            if kind == "manifest":
                name = _name_of_set(path, index)
                return None if name is None else (name, fsgym.load_dataset(name, data_dir=path.parent))
            if kind == "semicolons" and index % 2:
                return fsgym.load_dataset(path, target="ill", separator=";", decimal=",")
            return fsgym.load_dataset(path, target=None if path.suffix == ".npz" else "ill")

    def _compare(self, kind: str, path: Path, read: Any, index: int) -> None:
        if kind == "session":
            slow_readers.check_session(path.read_bytes().decode("utf-8", "replace"), read)
        elif kind in ("prices", "price list"):
            slow_readers.check_prices(path, read)
        elif kind == "manifest":
            if read is not None:
                slow_readers.check_set(path, *read)
        elif path.suffix == ".npz":
            slow_readers.check_npz(path, read)
        elif kind == "parquet":
            slow_readers.check_parquet(path, read, "ill")
        else:
            separators = ";" if kind == "semicolons" and index % 2 else ",;\t|"
            slow_readers.check_csv([path], read, "ill", separators)


def a_table(rng: np.random.Generator) -> pd.DataFrame:
    """Fourteen rows, no two of which have a value in common in ``age`` and ``crp``."""
    age = rng.permutation(np.arange(20, 20 + 2 * N_ROWS, 2)).astype(float)
    age[3] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "ward": np.resize(["er", "icu", "gp, day", "er"], N_ROWS),
            "crp": (rng.permutation(N_ROWS) + 0.25).round(2),
            "ct": np.arange(N_ROWS) % 3 == 0,
            "visits": rng.permutation(N_ROWS) % 6,
            "ill": np.resize(["yes", "no", "no"], N_ROWS),
        }
    )


def write_originals(folder: Path) -> Path:
    """Write the files that are changed."""
    folder.mkdir(exist_ok=True)
    table, rng = a_table(np.random.default_rng(0)), np.random.default_rng(1)
    table.to_csv(folder / "t.csv", index=False)
    table.to_csv(folder / "s.csv", index=False, sep=";", decimal=",")
    (folder / "t.tsv.gz").write_bytes(gzip.compress(table.to_csv(index=False, sep="\t").encode(), mtime=0))
    table.rename(columns={"ill": "target"}).iloc[:8].to_csv(folder / "a.train.csv", index=False)
    table.rename(columns={"ill": "target"}).iloc[8:].to_csv(folder / "a.test.csv", index=False)
    table.to_parquet(folder / "t.parquet")
    X, y = rng.normal(size=(N_ROWS, 4)).astype(np.float32), np.arange(N_ROWS) % 3
    names: dict[str, Any] = {
        "feature_names": np.array(list("abcd")),
        "groups": np.array([0, 0, 1, 2]),
        "group_names": np.array(list("uvw")),
    }
    np.savez(folder / "t.npz", X=X, y=y, **names)
    np.savez(folder / "p.npz", X_train=X[:9], X_test=X[9:], y_train=y[:9], y_test=y[9:])
    from scipy.sparse import csr_matrix

    sparse = csr_matrix(np.where(rng.random(X.shape) < 0.5, X, 0))
    parts: dict[str, Any] = {
        "data": sparse.data,
        "indices": sparse.indices,
        "indptr": sparse.indptr,
        "shape": np.array(sparse.shape),
    }
    np.savez_compressed(folder / "c.npz", **parts, y=y)
    records = {
        "wards": {
            "files": [{"file": "a.train.csv"}, {"file": "a.test.csv"}],
            "n_samples": N_ROWS,
            "categorical_columns": ["ward"],
        },
        "waves": {
            "files": [{"file": "t.npz"}],
            "n_samples": N_ROWS,
            "n_features": 4,
            "layout": "divide X by 2; 2x2 images",
        },
        "visits": {"files": [{"file": "a.train.csv"}], "categorical_columns": ["ward", "visits"], "n_features": 5},
    }
    (folder / "MANIFEST.json").write_text(json.dumps(records))
    prices = {"age": 1, "ward": 2.5, "crp": 17, "ct": 0, "visits": 3}
    (folder / "prices.json").write_text(json.dumps({"wards": {"costs": prices}}))
    (folder / "prices.csv").write_text("name,price\n" + "".join(f"{k},{v}\n" for k, v in prices.items()))
    return folder


def small_model() -> Any:
    """A classifier of the table, whose sessions are changed."""
    from agents import LatticeClassifier

    table = pd.concat([a_table(np.random.default_rng(k)) for k in range(4)], ignore_index=True)
    data = fsgym.load_dataset(table, target="ill").with_groups({"blood": ["age", "crp"]})
    return LatticeClassifier(lam=0.001, effort=0.1, random_state=0).fit(data)


def some_session(model: Any) -> str:
    session = model.session(known={"ward": "icu"}, unavailable=("visits",))
    session.answer("ct", True)
    session.answer("blood", {"age": 30.0, "crp": 2.25})
    session.undo()
    session.answer("blood", {"age": 33.0, "crp": 99.5}, accept=True)
    return session.to_json()


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def _pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def changed_bytes(data: bytes, rng: np.random.Generator, tail: int = 0) -> tuple[bytes, str]:
    """Bits flipped, bytes put in, left out, repeated or exchanged; half of them in the last ``tail`` bytes."""
    if not data:
        return data, "nothing"
    new, how = (
        bytearray(data),
        _pick(rng, ["flip", "flip", "flip", "insert", "remove", "zero", "cut", "repeat", "swap"]),
    )
    begin = max(len(new) - tail, 0) if tail and rng.random() < 0.5 else 0
    at, n = int(rng.integers(begin, max(len(new), begin + 1))), int(rng.integers(1, 17))
    if how == "flip":
        for _ in range(n if rng.random() < 0.3 else 1):
            new[min(at, len(new) - 1)] ^= 1 << int(rng.integers(8))
            at = int(rng.integers(begin, len(new)))
    elif how == "cut":
        del new[at:]
    elif how == "repeat":
        new[at:at] = new[at : at + n]
    elif how == "swap":
        new[at : at + 2 * n] = new[at + n : at + 2 * n] + new[at : at + n]
    else:
        new[at : at + (0 if how == "insert" else n)] = {"zero": b"\0" * n, "remove": b""}.get(how, rng.bytes(n))
    return bytes(new), f"{how} at {at}"


def changed_text(text: str, rng: np.random.Generator) -> tuple[bytes, str]:
    """A table as text with one to three changes: of cells, rows, separators, line ends, quotation marks, bytes."""
    done = []
    for _ in range(int(rng.choice([1, 2, 3], p=[0.6, 0.25, 0.15]))):
        separator = max(",;\t", key=text.split("\n")[0].count)
        lines = text.split("\n")
        rows = [line.split(separator) for line in lines]
        i, k = int(rng.integers(len(lines))), int(rng.integers(len(lines)))
        j = int(rng.integers(len(rows[i])))
        how = _pick(
            rng, ["cell", "cell", "cell", "twin", "column", "swap", "row", "line", "end", "text", "quote all", "sep"]
        )
        if how == "cell":
            rows[i][j] = str(_pick(rng, CELLS))
        elif how == "twin":  # two texts of one number, or of nearly one
            number, other = (
                rows[i][j],
                str(_pick(rng, ["0{}", "{}0", "+{}", "{}e0", "{}.0", " {}", "{} ", "-{}", "{}E1"])),
            )
            rows[k][min(j, len(rows[k]) - 1)] = other.format(number)
        elif how == "column":
            for row in rows[int(rng.integers(2)) :]:
                row[min(j, len(row) - 1)] = str(_pick(rng, CELLS[:24])) if rng.random() < 0.9 else row[0]
        elif how == "swap":
            rows[i], rows[k] = rows[k], rows[i]
        elif how == "row":
            rows[k:k] = _pick(rng, [[rows[i]], [[""]], [[" "]], [["", ""]], [rows[0]], [["x"] * len(rows[i])]])
        elif how == "line":
            del rows[i]
        elif how == "quote all":
            rows = [[f'"{cell}"' if '"' not in cell else cell for cell in row] for row in rows]
        lines = [separator.join(row) for row in rows]
        ending = _pick(rng, ["\r\n", "\r", "\n\n", "\n", "\n\r"]) if how == "end" else "\n"
        text = ending.join(lines)
        if how == "text":
            at = int(rng.integers(len(text) + 1))
            text = text[:at] + str(_pick(rng, CELLS)) + text[at + int(rng.integers(4)) :]
        elif how == "sep":
            text = _pick(rng, ["sep=,\n", "sep=;\n", "\n", "\ufeff", " \n", '"sep=,"\n', "#\n"]) + text
        done.append(f"{how} ({i}, {j}), {k}")
    data = text.encode("utf-8", "replace")
    if rng.random() < 0.15:
        data, what = changed_bytes(data, rng)
        done.append(what)
    return data, "; ".join(done)


def changed_json(text: str, rng: np.random.Generator) -> tuple[bytes, str]:
    """A JSON text with other values, keys that are left out, put in, exchanged or repeated, or other bytes."""
    if rng.random() < 0.1:
        return changed_bytes(text.encode(), rng)
    parts = ModelParts({}, json.loads(text), [], [], {})
    changes: list[Any] = [
        replace_value,
        replace_value,
        remove_value,
        add_value,
        swap_values,
        swap_neighbours,
        edit_text,
    ]
    done = []
    for _ in range(int(rng.choice([1, 2, 3], p=[0.65, 0.25, 0.1]))):
        change = _pick(rng, changes)
        done.append(f"{change.__name__}: {change(parts, parts, rng)}")
    new = json.dumps(parts.header)
    for change in parts.of_text:
        new = change(new)
    return new.encode("utf-8", "replace"), "; ".join(done)


def changed_npz(path: Path, rng: np.random.Generator) -> tuple[bytes, str]:
    """An npz file with other values, types, shapes, headers or names of arrays, or other bytes."""
    with np.load(path) as arrays:
        entries = {name: arrays[name] for name in arrays.files}
    numbers = {name: Tensor.of(array) for name, array in entries.items() if array.dtype.kind in "buif"}
    parts, done = ModelParts(numbers, {}, [], [], {}), []
    files: list[tuple[str, bytes]] = []
    for _ in range(int(rng.choice([0, 1, 2, 3], p=[0.25, 0.5, 0.15, 0.1]))):
        change: Any = _pick(
            rng, [change_elements, change_elements, change_elements, change_order, change_shape, change_dtype]
        )
        done.append(f"{change.__name__}: {change(parts, parts, rng)}")
    if "indptr" in entries and rng.random() < 0.3:
        name = _pick(rng, ["indptr", "indptr", "indices", "shape"])
        done.append(f"{name}: {_changed_places(parts.tensors, name, rng)}")
    for name, array in entries.items():
        tensor = parts.tensors.get(name)
        changed = array if tensor is None else tensor.array()
        file = io.BytesIO()
        np.save(file, array if changed is None else changed)
        files.append((name, file.getvalue()))
    if not done or rng.random() < 0.2:
        files, what = _changed_entries(files, rng)
        done.append(what)
    file = io.BytesIO()
    kind = _pick(rng, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "w", kind) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data, kind)  # dated 1980: the same bytes at any time
    data = file.getvalue()
    if rng.random() < 0.15:
        data, what = changed_bytes(data, rng, tail=400)
        done.append(what)
    return data, "; ".join(done)


def _changed_places(tensors: dict[str, Tensor], name: str, rng: np.random.Generator) -> str:
    """One or two of the integers that say where the values of a sparse table are, out of range or out of order."""
    array = tensors[name].array()
    if array is None or not array.size:
        return "nothing"
    odd = [-1, -2, -array.size, -(2**31), -(2**40), -(2**62), 2**31, 2**32 + 1, 2**40, 2**62, 0, 1, 1000]
    with np.errstate(all="ignore"):
        array = array.reshape(-1).astype(np.int64)
        for _ in range(int(rng.integers(1, 3))):
            array[_pick(rng, [-1, -1, -2, 0, 1, int(rng.integers(array.size))]) % array.size] = _pick(rng, odd)
        array = array.astype(_pick(rng, [np.int64, np.int64, np.int32, np.uint64, np.float64]))
    if array.dtype.kind == "f" and rng.random() < 0.5:
        array[-1] = np.nan
    tensors[name] = Tensor.of(array)
    return f"{array.tolist()[-3:]}"


def _changed_entries(files: list[tuple[str, bytes]], rng: np.random.Generator) -> tuple[list[tuple[str, bytes]], str]:
    """One array with another header, name or bytes, left out, or there twice."""
    k, how = (
        int(rng.integers(len(files))),
        _pick(rng, ["header", "header", "claim", "bytes", "name", "remove", "twice", "text"]),
    )
    (name, data), other = files[k], files[int(rng.integers(len(files)))]
    length = int.from_bytes(data[8:10], "little")
    text, body = data[10 : 10 + length].decode("latin1"), data[10 + length :]
    if how in ("header", "claim"):
        claims = [
            text.replace("(", "(-1, "),
            text.replace("(", f"({2**62}, "),
            text.replace("(", "(1, "),
            text.replace("<", ">"),
        ]
        claims += [
            text.replace("False", "True"),
            text.replace("<i8", "<f8"),
            text.replace("<f4", "<i4"),
            text.replace("<", "|"),
        ]
        claims += [
            text.replace("(14", "(7, 2"),
            text.replace("(", "(0, "),
            text.replace("<i8", "<m8[s]"),
            text.replace("<i8", "<M8[D]"),
        ]
        new = str(_pick(rng, claims if how == "claim" else HEADERS)).encode("latin1")
        version = b"\x93NUMPY" + bytes([int(_pick(rng, [1, 1, 1, 1, 2, 3, 9])), 0])
        size = len(new).to_bytes(2 if version[6] == 1 else 4, "little")
        files[k] = name, version + size + new + body
    elif how == "bytes":
        files[k] = name, changed_bytes(data, rng)[0]
    elif how == "name":
        files[k] = str(_pick(rng, ["x", "X", "y", "", "data", "../X", "X_train", "indptr", name + "2"])), data
    elif how == "remove":
        del files[k]
    elif how == "twice":
        files.append((name, other[1]))
    else:
        file = io.BytesIO()
        words = [["1E2", "10E1", "x", "7"], ["", "a", "a\0", "b"], [b"a", b"b"]]
        np.save(file, np.resize(np.array(_pick(rng, words)), N_ROWS))
        files[k] = name, file.getvalue()
    return files, f"{how} of {name}"


def changed_parquet(rng: np.random.Generator) -> tuple[bytes, str]:
    """A Parquet file of a table with odd values, written in one of several ways, or with other bytes."""
    table, done = a_table(np.random.default_rng(0)), []
    if rng.random() < 0.6:
        name, i = _pick(rng, list(table.columns)), int(rng.integers(N_ROWS))
        odd: list[Any] = [
            np.resize(np.array(CELLS, dtype=object)[rng.integers(len(CELLS), size=4)], N_ROWS),
            rng.integers(2**60, 2**63, N_ROWS),
            pd.date_range("2020", periods=N_ROWS),
            [[k] for k in range(N_ROWS)],
            [{"a": k} for k in range(N_ROWS)],
            [None] * N_ROWS,
            [b"\xff"] * N_ROWS,
            np.full(N_ROWS, np.inf),
            pd.Categorical(np.resize(["1E2", "10E1", "b"], N_ROWS)),
            rng.normal(size=N_ROWS),
            pd.array(([1, None, 3] * N_ROWS)[:N_ROWS], dtype="Int64"),
            ([True, None] * N_ROWS)[:N_ROWS],
            rng.normal(size=N_ROWS) * 1e300,
            np.resize(["1E2", "10E1"], N_ROWS),
            np.resize([str(k) for k in range(7)], N_ROWS),
            rng.permutation(N_ROWS).astype(np.uint8),
        ]
        table[name] = _pick(rng, odd)
        done.append(f"{name}, {i}")
        if rng.random() < 0.2:
            table = table.set_index(_pick(rng, list(table.columns)))
    options = {
        "compression": _pick(rng, ["snappy", "gzip", "zstd", "none"]),
        "use_dictionary": bool(rng.random() < 0.5),
        "row_group_size": int(_pick(rng, [3, 14, 100])),
        "data_page_version": _pick(rng, ["1.0", "2.0"]),
    }
    file = io.BytesIO()
    table.to_parquet(file, **options)
    data = file.getvalue()
    if not done or rng.random() < 0.6:
        data, what = changed_bytes(data, rng, tail=1500)
        done.append(what)
    return data, f"{'; '.join(done)} {options}"


def _name_of_set(path: Path, index: int) -> str | None:
    """One of the names in the manifest; None where it has none that is not also the name of a file or another set."""
    try:
        names = list(json.loads(path.read_text(encoding="utf-8-sig")))
    except (ValueError, TypeError, RecursionError):
        return "wards"
    names = [name for name in names if isinstance(name, str) and name in ("wards", "waves", "visits", "x", "t")]
    return names[index % len(names)] if names else "wards"
