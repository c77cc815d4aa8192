"""What the sources of the data sets of the studies send, written from the files of a folder of data sets.

Each form is that of the source: heads, remarks and line ends of ARFF files, columns that are left out, codes of
classes, compressed files. Rows as published, by which the forms can be checked, are in ``tests/data/published.json``.
No test opens a connection.
"""

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.io import savemat

from fsgym.datasets.public.convert import JUNCTIONS, NUCLEOTIDES
from fsgym.datasets.public.record import PublicSet


def downloads_of(public: PublicSet, folder: Path) -> list[bytes]:
    """The contents of the downloads of a data set."""
    files = [f for f in (folder / f"{name}{end}" for name in public.checksums for end in ("", ".gz")) if f.is_file()]
    writers = {"table": _tables, "splice": _splice, "scikit-learn": lambda *_: []}
    if public.form in writers:
        tables = [pd.read_csv(f, dtype=str, keep_default_na=False) for f in files]
        return writers[public.form](public, tables)
    arrays = [dict(np.load(f, allow_pickle=False)) for f in files]
    return ARRAY_WRITERS[public.form](public, arrays)


def _tables(public, tables):
    if "first_rows" in public.options:
        tables = [pd.concat(tables)]
    return [_text(public, table, download.file) for table, download in zip(tables, public.downloads)]


def _text(public, table, file):
    options = public.options
    sources = {ours: theirs for theirs, ours in options["labels"].items()}
    columns = {"target": table["target"].map(sources), "": pd.Series("7", index=table.index)}
    quote, separator = options.get("quote", ""), options.get("separator") or " "
    cells = {name: columns[name] if name in columns else table[name] for name in options["columns"]}
    rows = zip(*(cells[name].tolist() for name in options["columns"]))
    lines = [separator.join(_cell(c, separator, quote) for c in row) for row in rows]
    if file.endswith(".arff"):
        lines = ["% a remark, with a comma", "@relation x", "@attribute a {b, c}", "", "@data", *lines, "%", "%"]
    if file == "adult-test.csv":
        lines = ["|1x3 Cross validator", *lines, ""]
    text = ("\r\n" if file.endswith(".arff") else "\n").join(lines).encode()
    return gzip.compress(text, mtime=0) if file == "kddcup99_10_data" else text


def _cell(text, separator, quote):
    text = text or "?"
    return f"{quote}{text}{quote}" if " " in text or separator in text.strip() else text


def _splice(public, tables):
    train, test = tables
    libsvm = "\n".join(" ".join([row[-1], *(f"{j}:{v}" for j, v in enumerate(row[:-1], 1))]) for row in train.values)
    letters = {code: letter for letter, code in NUCLEOTIDES.items()}
    kinds = {code: junction for junction, code in JUNCTIONS.items()}
    both = pd.concat([test.iloc[:5], train, test.iloc[5:]])
    rows = [",".join(["name", *(letters[v] for v in row[:-1]), kinds[row[-1]]]) for row in both.values]
    rows.insert(3, rows[3].replace(",A,", ",N,", 1).replace(",C,", ",D,"))  # an ambiguous one
    return [libsvm.encode(), "\n".join(["@data", *rows]).encode()]


def _matlab(public, arrays):
    (part,) = arrays
    if "data" in part:  # dense, too, as programs take the published files
        X = sp.csr_matrix((part["data"], part["indices"], part["indptr"]), shape=part["shape"]).toarray().astype(float)
    else:
        X = part["X"] / public.options.get("scale", 1)
    file = io.BytesIO()
    savemat(file, {"X": X, "Y": part["y"][:, None].astype(float)}, do_compression=True)
    return [file.getvalue()]


def _libsvm(public, arrays):
    lines = []
    for part in arrays:
        for label, start, end in zip(part["y"], part["indptr"], part["indptr"][1:]):
            lines.append(" ".join([f"{label:+d}", *(f"{j + 1}:1" for j in part["indices"][start:end]), ""]))
    return ["\n".join(lines).encode()]


def _images(public, arrays):
    (part,) = arrays
    contents = []
    for name in ("X_train", "y_train", "X_test", "y_test"):
        values = part[name]
        head = struct.pack(f">{1 + values.ndim}I", 2048 + values.ndim, *values.shape)
        contents.append(gzip.compress(head + values.tobytes(), 1, mtime=0))
    return contents


def _digits(public, arrays):
    (part,) = arrays
    contents = []
    for name in ("train", "test"):
        file = io.BytesIO()
        table = np.column_stack([part[f"y_{name}"], part[f"X_{name}"] / 1000])
        np.savetxt(file, table, fmt="%.4f" if name == "train" else "%g", newline=" \n" if name == "train" else "\n")
        contents.append(gzip.compress(file.getvalue(), 1, mtime=0))
    return contents


def _letters(public, arrays):
    (part,) = arrays
    file = io.BytesIO()
    np.savetxt(file, np.column_stack([part["X"] / public.options["scale"], part["y"]]), fmt="%.4f", delimiter=", ")
    return [file.getvalue()]


def _microarray(public, arrays):
    (part,) = arrays
    files = {}
    for name, values in (("inputs", part["X"]), ("outputs", part["y"])):
        file = io.BytesIO()
        np.savetxt(file, values, fmt="%.17g", delimiter=",")
        files[f"alon_{name}.csv"] = file.getvalue()
    return [packed(files)]


def _posts(public, arrays):
    """Posts with the counted words in alphabetical order, and parts of names that are not words of their own."""
    files = {}
    for part, name in zip(arrays, ("train", "test")):
        words = part["feature_names"]
        for k, label in enumerate(part["y"]):
            row = slice(part["indptr"][k], part["indptr"][k + 1])
            text = " ".join(
                " ".join([words[j]] * n) for j, n in zip(part["indices"][row], part["data"][row].astype(int))
            )
            text = f"{text.title()}\n\n<C50KDr.93Apr5@ann1> _The faith85"
            files[f"20news-bydate-{name}/{public.options['groups'][label]}/{50000 + k}"] = text.encode()
        files[f"20news-bydate-{name}/sci.space/1"] = b"another group"
    return [packed(files)]


def packed(files):
    """A tar.gz archive of files by name."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


ARRAY_WRITERS = {
    "matlab": _matlab,
    "libsvm": _libsvm,
    "images": _images,
    "digits": _digits,
    "letters": _letters,
    "microarray": _microarray,
    "posts": _posts,
}
