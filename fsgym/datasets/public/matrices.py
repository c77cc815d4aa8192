"""Downloads that are matrices, images or texts, as arrays; nothing is unpickled, and all sizes are bounded."""

from __future__ import annotations

import io
import math
import re
import struct
import tarfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.reading.files import fault_of_csr, most_unpacked
from fsgym.datasets.public.download import unpacked

Arrays = dict[str, NDArray]
MATLAB_HEAD_BYTES = 128
COMPRESSED_ELEMENT = 15  # the type of a compressed element of a MAT file
CHUNK_BYTES = 1 << 20
VALUE_BYTES = 8  # of a value of a matrix that is not stored in a smaller type
IDX_IMAGES, IDX_LABELS = 2051, 2049  # first numbers of files of images and of labels
WORD = re.compile(r"\b[a-z]{2,}\b")  # no part of 93apr5 or of _the
MIN_POSTS = 3  # number of training posts that a word must occur in


def matlab_arrays(contents: Sequence[bytes], options: Mapping[str, Any]) -> list[Arrays]:
    """X and Y of a MAT file; X times ``scale`` in whole numbers, and as CSR where ``sparse``.

    A matrix of mostly zeros in 64-bit floats is larger than ``most_unpacked`` allows for the size of its file. So a
    matrix of the recorded ``shape`` may have twice its own size.
    """
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    (content,) = contents
    _check_matlab(content, 2 * VALUE_BYTES * math.prod(options.get("shape", ())))
    try:
        variables = loadmat(io.BytesIO(content), variable_names=("X", "Y"))
    except MatReadError as error:
        raise ValueError(str(error)) from None
    X, y = variables["X"], np.asarray(variables["Y"]).ravel()
    dense = _dense(X.tocsc().T).T if hasattr(X, "toarray") else np.asarray(X)  # the transpose of CSC is CSR
    whole = np.rint(dense.astype(np.float64) * options.get("scale", 1)).astype(options["dtype"])
    return [{**(_csr(whole) if options.get("sparse") else {"X": whole}), "y": y.astype(np.int8)}]


def _check_matlab(content: bytes, expected: int) -> None:
    """ValueError where the elements of a MAT file are larger than expected, and than a file of its size may have."""
    limit, place = max(expected, most_unpacked(len(content))), MATLAB_HEAD_BYTES
    while place + 8 <= len(content):
        kind, size = struct.unpack_from("<II", content, place)
        element, place = content[place + 8 : place + 8 + size], place + 8 + size
        if kind != COMPRESSED_ELEMENT:
            continue
        inflater, pending = zlib.decompressobj(), element
        while pending and not inflater.eof:
            limit -= len(inflater.decompress(pending, CHUNK_BYTES))
            if limit < 0:
                raise ValueError("its content is too large for a file of its size")
            pending = inflater.unconsumed_tail


def _dense(matrix: Any) -> NDArray:
    """The dense table of a CSR matrix of a download, whose places SciPy's compiled code would trust."""
    fault = fault_of_csr(matrix.data, matrix.indices, matrix.indptr, *matrix.shape)
    if fault:
        raise ValueError(f"it does not hold a sparse matrix ({fault})")
    return matrix.toarray()


def _csr(matrix: NDArray) -> Arrays:
    """The arrays of a CSR matrix, as a folder of data sets stores them."""
    rows, columns = np.nonzero(matrix)
    ends = np.cumsum(np.bincount(rows, minlength=len(matrix)))
    return {
        "data": matrix[rows, columns],
        "indices": columns.astype(np.int32),
        "indptr": np.concatenate([[0], ends]).astype(np.int64),
        "shape": np.asarray(matrix.shape, dtype=np.int64),
    }


def read_libsvm(content: bytes, n_features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The dense matrix and the labels of a file in the form of the LIBSVM collection."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(content), n_features=n_features, zero_based=False)[:2]
    return _dense(X), y


def libsvm_arrays(contents: Sequence[bytes], options: Mapping[str, Any]) -> list[Arrays]:
    """Training and test part of one file of 0/1 features, with the names of features and groups."""
    (content,), n = contents, options["first_rows"]
    names = options["feature_names"]
    X, y = read_libsvm(content, len(names))
    whole = X.astype(np.uint8)
    shared = {
        "feature_names": np.asarray(names),
        "groups": np.asarray(options["groups"], dtype=np.int16),
        "group_names": np.asarray(options["group_names"]),
    }
    return [{**_csr(whole[part]), "y": y[part].astype(np.int8), **shared} for part in (slice(n), slice(n, None))]


def image_arrays(contents: Sequence[bytes], options: Mapping[str, Any]) -> list[Arrays]:
    """Training images and labels, test images and labels, in the form of MNIST."""
    names = ("X_train", "y_train", "X_test", "y_test")
    kinds = (IDX_IMAGES, IDX_LABELS) * 2
    return [{name: _idx(unpacked(c), kind) for name, c, kind in zip(names, contents, kinds, strict=True)}]


def _idx(content: bytes, kind: int) -> NDArray[np.uint8]:
    n_axes = kind % 256
    head = 4 * (1 + n_axes)
    if len(content) < head or struct.unpack_from(">I", content)[0] != kind:
        raise ValueError("it does not begin as a file of images or labels")
    shape = struct.unpack_from(f">{n_axes}I", content, 4)
    return np.frombuffer(content, dtype=np.uint8, offset=head).reshape(shape)


def digit_arrays(contents: Sequence[bytes], options: Mapping[str, Any]) -> list[Arrays]:
    """Training and test part of tables of numbers with the digit in front; grey levels in thousandths."""
    arrays: Arrays = {}
    for part, content in zip(("train", "test"), contents, strict=True):
        table = _number_table(unpacked(content))
        arrays[f"X_{part}"] = np.rint(table[:, 1:] * 1000).astype(np.int16)
        arrays[f"y_{part}"] = table[:, 0].astype(np.int8)
    return [arrays]


def letter_arrays(contents: Sequence[bytes], options: Mapping[str, Any]) -> list[Arrays]:
    """A table of numbers with commas and the label at the end; the other numbers times ``scale``."""
    table = _number_table(contents[0], ",")
    X = np.rint(table[:, :-1] * options["scale"]).astype(np.int16)
    return [{"X": X, "y": table[:, -1].astype(np.int8)}]


def microarray_arrays(contents: Sequence[bytes], options: Mapping[str, Any]) -> list[Arrays]:
    """The tables ``*inputs.csv`` and ``*outputs.csv`` of an archive."""
    tables = {}
    for name, text in _archived_files(contents[0]):
        for part in ("inputs", "outputs"):
            if name.endswith(f"{part}.csv"):
                tables[part] = _number_table(text, ",")
    if len(tables) < 2:
        raise ValueError("it must hold one file of inputs and one of outputs")
    X, y = tables["inputs"], tables["outputs"].ravel()
    names = np.asarray([f"gene_{j}" for j in range(X.shape[1])])
    return [{"X": X, "y": y.astype(np.int8), "feature_names": names}]


def post_arrays(contents: Sequence[bytes], options: Mapping[str, Any]) -> list[Arrays]:
    """Counts of the words of posts, by part; the words are those that enough posts of the training part have."""
    counts: dict[str, list[tuple[int, Counter[str]]]] = {"train": [], "test": []}
    posts = {}
    for name, text in _archived_files(contents[0]):
        part, _, group = name.rpartition("/")[0].rpartition("/")
        if group in options["groups"]:
            posts[part.rpartition("-")[2], options["groups"].index(group), name] = text
    for (part, label, _), text in sorted(posts.items()):
        counts[part].append((label, Counter(WORD.findall(text.decode("latin-1").lower()))))
    present = Counter(word for _, words in counts["train"] for word in words)
    vocabulary = sorted(word for word, n in present.items() if n >= MIN_POSTS)
    places = {word: place for place, word in enumerate(vocabulary)}
    return [_counts(counts[part], places) for part in ("train", "test")]


def _counts(posts: Sequence[tuple[int, Counter[str]]], places: Mapping[str, int]) -> Arrays:
    table = np.zeros((len(posts), len(places)), dtype=np.uint16)
    for row, (_, words) in zip(table, posts):
        for word, number in words.items():
            if word in places:
                row[places[word]] = number
    y = np.asarray([label for label, _ in posts], dtype=np.int8)
    return {**_csr(table), "y": y, "feature_names": np.asarray(list(places))}


def _number_table(content: bytes, delimiter: str | None = None) -> NDArray[np.float64]:
    """A table of numbers without a header line."""
    if not content.strip():
        raise ValueError("it has no rows")
    return np.loadtxt(io.BytesIO(content), delimiter=delimiter, comments=None, ndmin=2)


def _archived_files(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of a tar archive, by name; nothing is written to a disk."""
    with tarfile.open(fileobj=io.BytesIO(unpacked(content)), mode="r:") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isreg() else None
            if file is not None:
                yield member.name, file.read()
