"""From downloads to the files of a data set in the project's form, checked by their SHA-256."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
import struct
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.reading.files import PACKING_ERRORS, READ_ERRORS, fault_of_csr, first_line, most_unpacked
from fsgym.datasets.public.canonical import array_bytes, canonical_cell, table_bytes
from fsgym.datasets.public.download import unpacked
from fsgym.datasets.public.record import PublicSet
from fsgym.text.messages import brief

if TYPE_CHECKING:
    import pandas as pd

# Downloads that are matrices, images or texts, as arrays; nothing is unpickled, and all sizes are bounded.

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


# Downloads that are tables of text, as tables with the label in the last column.

TARGET = "target"  # name of the label's column
UNKNOWN_CELL = "?"
NUCLEOTIDES = {"A": "1", "G": "2", "C": "3", "T": "4"}  # as the LIBSVM collection codes them
JUNCTIONS = {"EI": "-1", "IE": "-1", "N": "1"}


def tables_of_text(contents: Sequence[bytes], options: Mapping[str, Any], names: Sequence[str]) -> list[pd.DataFrame]:
    """The tables of the downloads; one download is divided into two after ``options["first_rows"]`` rows."""
    tables = [_table_of_text(content, options, names) for content in contents]
    if "first_rows" in options:
        (table,), n = tables, options["first_rows"]
        return [table.iloc[:n].reset_index(drop=True), table.iloc[n:].reset_index(drop=True)]
    return tables


def _table_of_text(content: bytes, options: Mapping[str, Any], names: Sequence[str]) -> pd.DataFrame:
    """A table; ``options["columns"]`` names the columns of the download, "" those that are left out."""
    import pandas as pd

    columns, labels = options["columns"], options["labels"]
    rows = list(_rows(unpacked(content).decode("utf-8", "replace"), options, len(columns)))
    label = columns.index(TARGET)
    if rows and (len(rows[0]) != len(columns) or rows[0][label] not in labels):  # a header line or a remark
        del rows[0]
    if not rows:
        raise ValueError("it has no rows with a known label")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(columns) or row[label] not in labels:
            raise ValueError(f"row {number} must have {len(columns)} cells and a known label, got {brief(row)}")
        row[label] = labels[row[label]]
    if options.get("complete_rows"):
        rows = [row for row in rows if "" not in row]
    frame = pd.DataFrame(rows, columns=range(len(columns)), dtype=str)
    places = {name: place for place, name in enumerate(columns) if name}
    return pd.DataFrame({name: frame[places[name]] for name in (*names, TARGET)})


def _rows(text: str, options: Mapping[str, Any], width: int) -> Iterator[list[str]]:
    """The rows of canonical cells, "" for missing values; without the head and the remarks of an ARFF file."""
    lines = text.splitlines()
    head = next((k for k, line in enumerate(lines) if line.strip().lower() == "@data"), None)
    if head is not None:
        lines = [line for line in lines[head + 1 :] if not line.startswith("%")]
    filled = (line.strip() for line in lines if line.strip())
    if options.get("separator"):
        cells = csv.reader(filled, delimiter=options["separator"], quotechar=options["quote"], skipinitialspace=True)
    else:  # a table of numbers
        cells = (re.split(r"[\s,;]+", line) for line in filled)
    for row in cells:
        while len(row) > width and not row[-1].strip():
            del row[-1]
        yield ["" if cell.strip() == UNKNOWN_CELL else canonical_cell(cell) for cell in row]


def splice_tables(contents: Sequence[bytes], options: Mapping[str, Any], names: Sequence[str]) -> list[pd.DataFrame]:
    """The LIBSVM file of splice, and the other unambiguous rows of the UCI file in the same codes.

    The downloads are the LIBSVM training part, in which feature j has the code of position j, and the UCI file.
    """
    import pandas as pd

    matrix, y = read_libsvm(contents[0], len(names))
    codes = matrix.astype(int).astype(str)
    train = [(*row, str(int(label))) for row, label in zip(codes.tolist(), y)]
    source = _table_of_text(contents[1], options, names)
    left, test = Counter(train), []
    for *letters, junction in source.itertuples(index=False):
        if all(letter in NUCLEOTIDES for letter in letters):
            row = (*(NUCLEOTIDES[letter] for letter in letters), JUNCTIONS[junction])
            if left[row] > 0:
                left[row] -= 1
            else:
                test.append(row)
    columns = [*names, TARGET]
    return [pd.DataFrame(rows, columns=columns, dtype=str) for rows in (train, test)]


def scikit_learn_tables(
    contents: Sequence[bytes], options: Mapping[str, Any], names: Sequence[str]
) -> list[pd.DataFrame]:
    """A table that comes with scikit-learn."""
    import pandas as pd
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{options['name']}")()
    frame = pd.DataFrame(
        {name: [canonical_cell(repr(float(v))) for v in bunch.data[:, j]] for j, name in enumerate(names)}
    )
    frame[TARGET] = [str(bunch.target_names[k]) for k in bunch.target]
    return [frame]


TableForm = Callable[[Sequence[bytes], Mapping[str, Any], Sequence[str]], "list[pd.DataFrame]"]
ArrayForm = Callable[[Sequence[bytes], Mapping[str, Any]], list[Arrays]]
TABLE_FORMS: dict[str, TableForm] = {
    "table": tables_of_text,
    "splice": splice_tables,
    "scikit-learn": scikit_learn_tables,
}
ARRAY_FORMS: dict[str, ArrayForm] = {
    "matlab": matlab_arrays,
    "libsvm": libsvm_arrays,
    "images": image_arrays,
    "digits": digit_arrays,
    "letters": letter_arrays,
    "microarray": microarray_arrays,
    "posts": post_arrays,
}
DAMAGES = (*READ_ERRORS, *PACKING_ERRORS, tarfile.TarError)


def converted(public: PublicSet, contents: Sequence[bytes]) -> dict[str, bytes]:
    """The files of a data set by name, from the contents of its downloads.

    Raises
    ------
    ValueError
        If the downloads are damaged, or a file has another SHA-256 than recorded.
    """
    try:
        if public.form in TABLE_FORMS:
            tables = TABLE_FORMS[public.form](contents, public.options, public.options["features"])
            files = [table_bytes(table) for table in tables]
        else:
            options = {**public.options, "shape": public.shape}
            files = [array_bytes(arrays) for arrays in ARRAY_FORMS[public.form](contents, options)]
    except DAMAGES as error:
        raise ValueError(f"the download of {public.name!r} is not the expected file ({first_line(error)})") from None
    named = dict(zip(public.checksums, files, strict=True))
    for file, content in named.items():
        found = hashlib.sha256(content).hexdigest()
        if found != public.checksums[file]:
            raise ValueError(
                f"{file}, converted from the download of {public.name!r}, must have the SHA-256 "
                f"{public.checksums[file]}, got {found}: the download is damaged, or the source has changed; "
                "nothing was written"
            )
    return named
