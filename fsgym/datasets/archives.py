"""Reading compressed files: never more than their size on disk makes plausible, and nothing is unpickled."""

from __future__ import annotations

import gzip
import math
import struct
import warnings
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

FREE_BYTES = 50_000_000  # that any file may have unpacked
MOST_TIMES = 100  # a larger one may have so many times its size on disk; tables have 3 to 30 times
MAX_FILE_BYTES = 8_000_000_000  # of a table as text or arrays: about 4 GB in memory
LAST_CHARACTER, HALVES = 0x10FFFF, (0xD800, 0xDFFF)  # of Unicode; the halves of characters in UTF-16 are none
PACKING_ERRORS = (OSError, EOFError, NotImplementedError, zlib.error, zipfile.BadZipFile, struct.error, RuntimeError)


def most_bytes(path: Path) -> int:
    """How large the content of a compressed file may be."""
    return most_unpacked(path.stat().st_size)


def most_unpacked(n_bytes: int) -> int:
    """How large the content of so many compressed bytes may be."""
    return min(max(FREE_BYTES, MOST_TIMES * n_bytes), MAX_FILE_BYTES)


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


class ArrayHeader(NamedTuple):
    """What the header of an array in an npz file says."""

    shape: tuple[int, ...]
    dtype: np.dtype

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
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            chosen = {name: entries[name] for name in wanted if name in entries}
            headers = {name: _header_of(archive, info) for name, info in chosen.items()}
            _check_headers(headers, limit)
            return {name: _array_of(archive, info, headers[name]) for name, info in chosen.items()}
    except (*PACKING_ERRORS, ValueError, TypeError, SyntaxError, OverflowError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(f"{path} is damaged or not an npz file of plain arrays ({reason})") from None


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


def _header_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> ArrayHeader:
    with archive.open(info) as file:
        return _read_header(file)


def _read_header(file: IO[bytes]) -> ArrayHeader:
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"an array has the format {version[0]}.{version[1]}, which is not read")
    try:
        with warnings.catch_warnings(action="ignore"):  # of a header that Python 2 wrote
            shape, _, dtype = readers[version](file)
    except Exception as error:  # NumPy has Python's own parser read the header, with any of its errors
        raise ValueError(f"an array has a damaged header: {str(error) or type(error).__name__}") from None
    if any(n < 0 for n in shape) or not dtype.itemsize:
        raise ValueError(f"an array has the shape {shape} and the type {dtype}")
    return ArrayHeader(shape, dtype)


def _array_of(archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: ArrayHeader) -> NDArray:
    """The array, of which no more is unpacked than its header says; memory is taken only for what the file has."""
    if info.file_size < header.n_bytes:
        raise ValueError(f"{info.filename} is shorter than its shape {header.shape}")
    with archive.open(info) as file, warnings.catch_warnings(action="ignore"):
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):  # the end is where zipfile compares the checksum
            raise ValueError(f"{info.filename} is longer than its shape {header.shape}")
    if array.dtype.kind == "U" and array.size:
        codes = array.reshape(-1, 1).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if (codes > LAST_CHARACTER).any() or ((codes >= HALVES[0]) & (codes <= HALVES[1])).any():
            raise ValueError(f"{info.filename} has text that is not Unicode")
    return array


def gigabytes(n_bytes: int) -> str:
    """A size as ``1.6 GB``, or in MB where it is small."""
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"
