"""From downloads to the files of a data set in the project's form, checked by their SHA-256."""

from __future__ import annotations

import csv
import hashlib
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fsgym.data.reading.files import PACKING_ERRORS, READ_ERRORS, first_line
from fsgym.datasets.public import matrices
from fsgym.datasets.public.canonical import array_bytes, canonical_cell, table_bytes
from fsgym.datasets.public.download import unpacked
from fsgym.datasets.public.record import PublicSet
from fsgym.text.messages import brief

if TYPE_CHECKING:
    import pandas as pd


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

    from fsgym.datasets.public.matrices import read_libsvm

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
ArrayForm = Callable[[Sequence[bytes], Mapping[str, Any]], list[matrices.Arrays]]
TABLE_FORMS: dict[str, TableForm] = {
    "table": tables_of_text,
    "splice": splice_tables,
    "scikit-learn": scikit_learn_tables,
}
ARRAY_FORMS: dict[str, ArrayForm] = {
    "matlab": matrices.matlab_arrays,
    "libsvm": matrices.libsvm_arrays,
    "images": matrices.image_arrays,
    "digits": matrices.digit_arrays,
    "letters": matrices.letter_arrays,
    "microarray": matrices.microarray_arrays,
    "posts": matrices.post_arrays,
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
