"""One form for each table and each matrix, so that equal data are equal bytes and have one SHA-256.

A number has the shortest text that gives the same 64-bit float, a whole number no decimal point, a missing value no
text. Arrays are stored without compression, by name, so that no version of a compressor changes the bytes.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsgym.data.reading.files import ARRAYS_READ, READ_ERRORS, content_of, first_line, read_arrays

if TYPE_CHECKING:
    import pandas as pd

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
WHOLE_LIMIT = 2.0**53  # below it every whole number is a 64-bit float
FIRST_DATE = (1980, 1, 1, 0, 0, 0)  # that a zip file can give
UNIX = 3  # the system that a zip file names


@lru_cache(maxsize=100_000)
def canonical_cell(text: str) -> str:
    """The text of a cell: a number in its shortest form, other text without spaces around it.

    >>> [canonical_cell(text) for text in (" 1.0", "0.50", "-0", "1e3", "<=50K ", "")]
    ['1', '0.5', '0', '1000', '<=50K', '']
    """
    text = text.strip()
    if not NUMBER.fullmatch(text):
        return text
    value = float(text)
    return str(int(value)) if value.is_integer() and abs(value) < WHOLE_LIMIT else repr(value)


def canonical_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of text with canonical cells."""
    columns = {}
    for name in frame.columns:
        texts = frame[name]
        columns[name] = texts.map({text: canonical_cell(text) for text in texts.unique()})
    return type(frame)(columns)


def table_bytes(frame: pd.DataFrame) -> bytes:
    """The CSV file of a table of canonical text: commas, LF, quotes only where needed, UTF-8."""
    return frame.to_csv(index=False, lineterminator="\n").encode()


def array_bytes(arrays: Mapping[str, NDArray]) -> bytes:
    """The npz file of arrays."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            entry, content = zipfile.ZipInfo(f"{name}.npy", FIRST_DATE), io.BytesIO()
            entry.create_system = UNIX
            np.lib.format.write_array(content, np.ascontiguousarray(arrays[name]), version=(1, 0), allow_pickle=False)
            archive.writestr(entry, content.getbuffer())
    return file.getvalue()


def canonical_file(path: Path) -> bytes:
    """The canonical form of a CSV file (or .csv.gz) or an npz file; errors as those of ``load_dataset``."""
    import pandas as pd

    if path.suffix == ".npz":
        return array_bytes(read_arrays(path, ARRAYS_READ))
    try:
        frame = pd.read_csv(io.BytesIO(content_of(path)), dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except READ_ERRORS as error:
        raise ValueError(f"{path} cannot be read as a CSV file ({first_line(error)})") from None
    return table_bytes(canonical_frame(frame))
