"""From downloads to the files of a data set in the project's form, checked by their SHA-256."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fsgym.data.reading.files import PACKING_ERRORS, READ_ERRORS, first_line
from fsgym.datasets.public.canonical import array_bytes, table_bytes
from fsgym.datasets.public.matrices import (
    Arrays,
    digit_arrays,
    image_arrays,
    letter_arrays,
    libsvm_arrays,
    matlab_arrays,
    microarray_arrays,
    post_arrays,
)
from fsgym.datasets.public.record import PublicSet
from fsgym.datasets.public.tables import scikit_learn_tables, splice_tables, tables_of_text

if TYPE_CHECKING:
    import pandas as pd

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
