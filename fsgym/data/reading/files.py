"""Reading CSV, JSON and npz files; every error message names the file."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import with_merged_as_text
from fsgym.data.dataset import Dataset
from fsgym.data.reading.frames import check_size
from fsgym.text.messages import brief

if TYPE_CHECKING:
    import pandas as pd


# Reading compressed files: never more than their size on disk makes plausible, and nothing is unpickled.

FREE_BYTES = 50_000_000  # that any file may have unpacked
MAX_TIMES = 100  # a larger one may have so many times its size on disk; tables have 3 to 30 times
FIRST_CHARACTERS = 10_000_000  # in which the header line of a table and some rows are looked for
MAX_FILE_BYTES = 8_000_000_000  # of a table as text or arrays: about 4 GB in memory
LAST_CHARACTER, HALVES = 0x10FFFF, (0xD800, 0xDFFF)  # of Unicode; the halves of characters in UTF-16 are none
PACKING_ERRORS = (OSError, EOFError, NotImplementedError, zlib.error, zipfile.BadZipFile, struct.error, RuntimeError)


def most_bytes(path: Path) -> int:
    """How large the content of a compressed file may be."""
    return most_unpacked(path.stat().st_size)


def most_unpacked(n_bytes: int) -> int:
    """How large the content of so many compressed bytes may be."""
    return min(max(FREE_BYTES, MAX_TIMES * n_bytes), MAX_FILE_BYTES)


def content_of(path: Path) -> bytes:
    """The content of a file, unpacked if its name ends with ``.gz``.

    Raises
    ------
    ValueError
        If it is not gzip, is damaged, or is larger than ``most_bytes``; the message says how to go on.
    """
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise ValueError(
            f"{path} has {gigabytes(size)}, and the limit is {gigabytes(MAX_FILE_BYTES)}; leave out rows or columns"
        )
    if path.suffix != ".gz" or not size:
        return path.read_bytes()
    limit = most_bytes(path)
    try:
        with gzip.open(path) as file:
            content = file.read(limit + 1)
    except PACKING_ERRORS as error:
        raise ValueError(f"{path} cannot be unpacked ({str(error) or type(error).__name__})") from None
    if len(content) > limit:
        raise ValueError(
            f"{path} of {gigabytes(size)} has more than {gigabytes(limit)} unpacked; if that is right, unpack it "
            "(gunzip) and name the unpacked file"
        )
    return content


def first_text(path: Path) -> str:
    """The first characters of a text file, unpacked if its name ends with ``.gz``; ValueError or OSError if it is none.

    They are at most ``FIRST_CHARACTERS``.
    """
    open_text: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with open_text(path, "rt", encoding="utf-8-sig", newline="") as file:
            return file.read(FIRST_CHARACTERS)
    except (EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be unpacked ({error})") from None


class ArrayHeader(NamedTuple):
    """What the header of an array in an npz file says; ``by_column``: its values lie column by column."""

    shape: tuple[int, ...]
    dtype: np.dtype
    by_column: bool

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_arrays(path: Path, wanted: Collection[str]) -> dict[str, NDArray]:
    """Those of the wanted arrays that an npz file has; their headers are read before any of them is.

    Raises
    ------
    ValueError
        If the file is damaged, an array holds Python objects or is not as long as its header says, or the arrays are
        larger than ``most_bytes``.
    """
    limit = most_bytes(path)
    with _npz_of(path) as archive:
        found = _headers_of(archive, wanted)
        _check_headers({name: header for name, (_, header) in found.items()}, limit)
        return {name: _array_of(archive, info, header) for name, (info, header) in found.items()}


def read_headers(path: Path, wanted: Collection[str]) -> dict[str, ArrayHeader]:
    """The headers of those of the wanted arrays that an npz file has; ValueError if the file is damaged."""
    with _npz_of(path) as archive:
        return {name: header for name, (_, header) in _headers_of(archive, wanted).items()}


@contextmanager
def _npz_of(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (*PACKING_ERRORS, ValueError, TypeError, SyntaxError, OverflowError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(f"{path} is damaged or not an npz file of plain arrays ({reason})") from None


def _headers_of(archive: zipfile.ZipFile, wanted: Collection[str]) -> dict[str, tuple[zipfile.ZipInfo, ArrayHeader]]:
    """Those of the wanted arrays that are there, each with its header."""
    entries = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    found = {}
    for name in wanted:
        if name in entries:
            with archive.open(entries[name]) as file:
                found[name] = entries[name], _read_header(file)
    return found


def _check_headers(headers: dict[str, ArrayHeader], limit: int) -> None:
    """ValueError where an array holds objects, or all of them are too large."""
    for name, header in headers.items():
        if header.dtype.hasobject:
            raise ValueError(f"{name} holds Python objects, which are not read; save it as numbers or text")
    need = sum(header.n_bytes for header in headers.values())
    if need > limit:
        raise ValueError(
            f"its arrays need {gigabytes(need)}, more than the {gigabytes(limit)} that a file of its size may have; "
            "if that is right, save it with numpy.savez, without compression"
        )


def _read_header(file: IO[bytes]) -> ArrayHeader:
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"an array has the format {version[0]}.{version[1]}, which is not read")
    try:
        with warnings.catch_warnings(action="ignore"):  # of a header that Python 2 wrote
            shape, by_column, dtype = readers[version](file)
    except Exception as error:  # NumPy has Python's own parser read the header, with any of its errors
        raise ValueError(f"an array has a damaged header: {str(error) or type(error).__name__}") from None
    if any(n < 0 for n in shape) or not dtype.itemsize:
        raise ValueError(f"an array has the shape {shape} and the type {dtype}")
    return ArrayHeader(shape, dtype, by_column)


@dataclass(frozen=True)
class StoredArray:
    """An array in a file that is not compressed: where its values begin, and what its header says."""

    path: Path
    begin: int
    header: ArrayHeader

    def __len__(self) -> int:
        return self.header.shape[0]

    def rows(self, first: int, last: int) -> NDArray:
        """Some rows; ValueError where the file has fewer than its header says."""
        (n, *others), dtype, by_column = self.header.shape, self.header.dtype, self.header.by_column
        width, count = math.prod(others), last - first
        if by_column:
            begins, sizes = [k * n + first for k in range(width)], [count] * width
        else:
            begins, sizes = [first * width], [count * width]
        values = [
            np.fromfile(self.path, dtype, size, offset=self.begin + begin * dtype.itemsize)
            for begin, size in zip(begins, sizes, strict=True)
        ]
        if [len(v) for v in values] != sizes:
            raise ValueError(f"{self.path} is shorter than the shape {(n, *others)} of an array in it; save it again")
        return _checked_text(np.stack(values, axis=1) if by_column else values[0].reshape(count, *others), "y")


def stored_arrays(path: Path, wanted: Collection[str]) -> dict[str, StoredArray]:
    """Those of the wanted arrays that an npz file has, or the array of an npy file with the name ""; none is read.

    Raises
    ------
    ValueError
        If the file is damaged, or an array is compressed, holds Python objects, or has more than two axes.
    """
    found, compressed = dict[str, StoredArray](), ""
    try:
        with path.open("rb") as file:
            begins = {"": 0}
            if path.suffix == ".npz":
                with zipfile.ZipFile(file) as archive:
                    entries = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                chosen = {name: entries[name] for name in wanted if name in entries}
                compressed = next(
                    (name for name, info in chosen.items() if info.compress_type != zipfile.ZIP_STORED), ""
                )
                begins = {} if compressed else {name: _begin_of_entry(file, info) for name, info in chosen.items()}
            for name, begin in begins.items():
                file.seek(begin)
                header = _read_header(file)
                found[name] = StoredArray(path, file.tell(), header)
                if header.dtype.hasobject or not 1 <= len(header.shape) <= 2:
                    raise ValueError(
                        f"{name or 'it'} must be a plain array with one or two axes, got {header.dtype} of shape "
                        f"{header.shape}"
                    )
                if path.stat().st_size < file.tell() + header.n_bytes:
                    raise ValueError(f"{name or 'it'} is shorter than its shape {header.shape}")
    except (*PACKING_ERRORS, ValueError, TypeError, SyntaxError, OverflowError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(f"{path} is damaged or has no arrays that can be read in blocks ({reason})") from None
    if compressed:
        raise ValueError(
            f"{path} has the array {compressed} compressed, so that it cannot be read in blocks; save it with "
            "numpy.savez, without compression"
        )
    return found


def _begin_of_entry(file: IO[bytes], info: zipfile.ZipInfo) -> int:
    """Where the content of an entry of a zip archive begins."""
    file.seek(info.header_offset)
    header = file.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise ValueError(f"{info.filename} has no header")
    return info.header_offset + 30 + sum(struct.unpack("<HH", header[26:30]))


def _array_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: ArrayHeader) -> NDArray:
    """The array, of which no more is unpacked than its header says; memory is taken only for what the file has."""
    if info.file_size < header.n_bytes:
        raise ValueError(f"{info.filename} is shorter than its shape {header.shape}")
    with archive.open(info) as file, warnings.catch_warnings(action="ignore"):
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):  # the end is where zipfile compares the checksum
            raise ValueError(f"{info.filename} is longer than its shape {header.shape}")
    return _checked_text(array, info.filename)


def _checked_text(array: NDArray, name: str) -> NDArray:
    """The array; ValueError if it has text that is not Unicode."""
    if array.dtype.kind == "U" and array.size:
        codes = array.reshape(-1, 1).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if (codes > LAST_CHARACTER).any() or ((codes >= HALVES[0]) & (codes <= HALVES[1])).any():
            raise ValueError(f"{name} has text that is not Unicode")
    return array


def gigabytes(n_bytes: int) -> str:
    """A size as ``1.6 GB``, or in MB where it is small."""
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"


UTF8_REMEDY = "save it as UTF-8 (in Excel: CSV UTF-8), or convert it: iconv -f LATIN1 -t UTF-8"
MAX_TEXT_BYTES = 256_000_000  # of a file of names, prices or a session
MAX_PATH_LENGTH = 300  # characters of a path that a message repeats in full
CSR_ARRAYS = ("data", "indices", "indptr", "shape")
PART_ARRAYS = ("X_train", "X_test", "y_train", "y_test")
ARRAYS_READ = (*CSR_ARRAYS, *PART_ARRAYS, "X", "y", "feature_names", "groups", "group_names")
MISSING_IF_EMPTY: dict[str, Any] = {  # options of pandas.read_csv for a file whose lines are counted
    "keep_default_na": False,
    "na_values": [""],
    "low_memory": False,
    "index_col": False,
}
READ_ERRORS = (  # that pandas, NumPy, SciPy, json and zipfile raise for damaged files
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    IndexError,
    OverflowError,
    MemoryError,
    NotImplementedError,
    SyntaxError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


def first_line(error: BaseException) -> str:
    """The first line or sentence of an error's message, at most 200 characters."""
    text = str(error).strip() or type(error).__name__
    return re.split(r"\n|[.!?](?=\s)", text)[0].rstrip(".")[:200]


def check_file(path: Path) -> None:
    """OSError unless the path is a readable file."""
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}; check its name") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not stat.S_ISREG(kind):
        raise OSError(f"{path} is a pipe, a socket or a device; save its content as a file, and name that")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> OSError:
    kind = type(error) if isinstance(error, OSError) else OSError
    name = str(path) if len(str(path)) <= MAX_PATH_LENGTH else f"{str(path)[:100]}...{str(path)[-20:]}"
    return kind(f"{name} cannot be read: {getattr(error, 'strerror', None) or first_line(error)}")


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, without a byte order mark; ValueError or OSError names the file."""
    check_file(path)
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise ValueError(f"{path} has more than {MAX_TEXT_BYTES // 10**6} MB, too much for such a file; check its name")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8; {UTF8_REMEDY}") from None


def read_json(path: Path) -> Any:
    """The content of a JSON file; ValueError or OSError names the file."""
    try:
        text = read_text(path)
    except ValueError:
        raise ValueError(f"{path} is damaged: it is not text in UTF-8") from None
    try:
        content = json.loads(text, object_pairs_hook=lambda pairs: _distinct_keys(pairs, path))
        json.dumps(content, ensure_ascii=False).encode()
        return content
    except RepeatedKeyError as error:
        raise ValueError(str(error)) from None
    except UnicodeEncodeError:
        raise ValueError(f"{path} is damaged: it has text that is not Unicode (half a character)") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it is not JSON ({first_line(error)})") from None


class RepeatedKeyError(ValueError):
    """An object of a JSON file has two values for one key."""


def _distinct_keys(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RepeatedKeyError(f"{path} has two values for {twice!r}; remove one")
    return content


def read_rows(path: Path) -> tuple[list[list[str]], str]:
    """The rows of a small CSV file without empty ones, and the comma or semicolon between cells, which are stripped."""
    text = read_text(path)
    first = text.partition("\n")[0]
    separator = ";" if first.count(";") >= max(first.count(","), 1) else ","  # "ct;1,5" has one of each
    try:
        read = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        rows = [[cell.strip() for cell in row] for row in read]
    except csv.Error as error:
        raise ValueError(f"{path} cannot be read as a CSV file ({first_line(error)})") from None
    return [row for row in rows if any(row)], separator


def read_csv(path: Path, categorical: Collection[str] = ()) -> pd.DataFrame:
    """A table from a CSV file (or .csv.gz) of a manifest; an empty cell is a missing value.

    The cells of the columns ``categorical`` stay text, and so do numbers of which ``merged_cells`` finds two merged.
    ValueError or OSError names the file.
    """
    import pandas as pd

    check_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            given: dict[str, Any] = {**MISSING_IF_EMPTY, "encoding": "utf-8-sig"}
            content = content_of(path)
            frame = pd.read_csv(io.BytesIO(content), dtype=dict.fromkeys(categorical, str), **given)
    except pd.errors.ParserWarning:
        raise ValueError(f"{path} is not a table: some rows have more cells than its header line") from None
    except (OSError, *READ_ERRORS) as error:
        raise ValueError(f"{path} cannot be read as a CSV file ({first_line(error)})") from None
    if frame.shape[0] == 0:
        raise ValueError(f"{path} has no rows below its header line")
    frame.columns = [str(v) for v in frame.columns]

    def read_texts(names: list[str]) -> pd.DataFrame:
        places = frame.columns.get_indexer(names)
        return pd.read_csv(io.BytesIO(content), dtype=object, usecols=places.tolist(), **given).set_axis(names, axis=1)

    return with_merged_as_text(frame, read_texts)


def read_part(path: Path) -> dict[str, NDArray]:
    """The arrays of an npz file: dense ``X`` and ``y``, or their ``_train`` and ``_test`` parts; CSR becomes dense."""
    check_file(path)
    arrays = read_arrays(path, ARRAYS_READ)
    if set(CSR_ARRAYS) <= arrays.keys():
        arrays["X"] = _csr_to_dense(arrays, path)
    for key in PART_ARRAYS if "X_train" in arrays else ("X", "y"):
        if key not in arrays:
            raise ValueError(
                f"{path} must hold X and y, or their _train and _test parts, or a CSR matrix (data, indices, "
                f"indptr, shape) and y; got {', '.join(arrays) or 'nothing'}"
            )
    return arrays


def _csr_to_dense(arrays: dict[str, NDArray], path: Path) -> NDArray[np.float32]:
    """The dense table of a CSR matrix, which is checked before SciPy has it: its compiled code trusts its input."""
    from scipy.sparse import csr_matrix

    data, indices, indptr, shape = (arrays[key] for key in CSR_ARRAYS)
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise ValueError(f"{path} is damaged: its CSR shape must be two integers of at least 0")
    n_samples, n_features = shape.tolist()
    check_size(n_samples, n_features, str(path))
    fault = fault_of_csr(data, indices, indptr, n_samples, n_features)
    if fault:
        raise ValueError(f"{path} is damaged: it does not hold a CSR matrix ({fault})")
    if n_features > len(data) and 4 * n_samples * n_features > FREE_BYTES:
        raise ValueError(
            f"{path} is {n_samples} x {n_features} with {len(data)} values, so most of its columns are empty; leave "
            "these out"
        )
    places = indices.astype(np.int64), indptr.astype(np.int64)
    with np.errstate(over="ignore"):  # Dataset refuses what is infinite in float32
        return csr_matrix((data.astype(np.float32), *places), shape=(n_samples, n_features)).toarray()


def fault_of_csr(data: NDArray, indices: NDArray, indptr: NDArray, n_samples: int, n_features: int) -> str:
    """Why the arrays are no CSR matrix of this shape, in words; "" if they are one."""
    if not data.ndim == indices.ndim == indptr.ndim == 1:
        return "data, indices and indptr must have one axis"
    if data.dtype.kind not in "buif" or indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        return "data must be numbers, and indices and indptr integers"
    if len(data) != len(indices):
        return f"data and indices must have the same length, got {len(data)} and {len(indices)}"
    if len(indptr) != n_samples + 1:
        return f"indptr must have {n_samples + 1} entries, one more than rows, got {len(indptr)}"
    if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        return f"indptr must rise from 0 to {len(data)}, the number of values"
    if len(indices) and (indices.min() < 0 or indices.max() >= n_features):
        return f"indices must be columns from 0 to {n_features - 1}"
    return ""


def _divisor(digits: str, what: str) -> np.float32:
    if not 0 < float(digits) < 2**24:
        raise ValueError(f"{what} must be divided by a number from 1 to {2**24 - 1}, got {brief(digits)}")
    return np.float32(digits)


def image_in(shape: tuple[int, ...], layout: str) -> tuple[int, int] | None:
    """The shape of the images that a table of arrays has, by its own shape, or by its ``layout`` in a manifest.

    >>> image_in((60000, 28, 28), ""), image_in((7291, 256), "16x16 images"), image_in((), "X (70000,28,28) uint8")
    ((28, 28), (16, 16), (28, 28))
    """
    if len(shape) == 3:
        return shape[1:]
    said = re.search(r"(\d+)x(\d+) images", layout) or re.search(r"\(\d+,(\d+),(\d+)\)", layout)
    return None if said is None else (int(said[1]), int(said[2]))


def join_arrays(parts: list[dict[str, NDArray]], what: str, name: str, layout: str = "") -> Dataset:
    """One data set of all parts (train first); ``layout`` may contain a divisor of values and the shape of images."""
    if len(parts) > 1 and any("X_train" in part for part in parts):
        raise ValueError(f"{what} must be one file with X_train, X_test, y_train and y_test, or files with X and y")
    ends = ("_train", "_test") if "X_train" in parts[0] else ("",)
    tables, labels = ([part[key + end] for part in parts for end in ends] for key in "Xy")
    if any(t.ndim < 2 or t.shape[1:] != tables[0].shape[1:] or not t.size for t in tables):
        raise ValueError(
            f"the parts of {what} must be tables of one width with rows and columns, got {[t.shape for t in tables]}"
        )
    if any(y.shape != (len(t),) for t, y in zip(tables, labels, strict=True)):
        raise ValueError(
            f"each part of {what} must have one label per row, got {[t.shape for t in tables]} and labels of shape "
            f"{[y.shape for y in labels]}"
        )
    image = image_in(tables[0].shape, layout)
    table = np.concatenate([t.reshape(len(t), -1) for t in tables])
    check_size(table.shape[0], table.shape[1], what)
    divisor = re.search(r"divide (?:X )?by (\d+)", layout)
    if divisor:
        table = table / _divisor(divisor[1], what)
    names, groups, group_names = (parts[0].get(k) for k in ("feature_names", "groups", "group_names"))
    try:
        return Dataset(
            table,
            np.concatenate(labels),
            feature_names=None if names is None else [str(v) for v in names],
            groups=groups,
            group_names=None if group_names is None else [str(v) for v in group_names],
            image_shape=image,
            name=name,
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} does not hold a data set ({error})") from None
