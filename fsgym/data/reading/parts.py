"""Files whose rows are read in parts: Parquet by batches of its row groups, arrays by their places in the file."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsgym.data.checks import default_names
from fsgym.data.dataset import Dataset
from fsgym.data.reading import files
from fsgym.data.reading.frames import MAX_FEATURES, take_target
from fsgym.data.reading.reading import (
    USE_OF,
    Reading,
    check_reading,
    dataset_of_table,
    named_columns,
    numbers_in,
    refuse_no_target,
)
from fsgym.data.reading.tables import size_of_parquet, too_large
from fsgym.text.messages import explain_unknown, option_text

if TYPE_CHECKING:
    import pandas as pd

ROWS_OF_PART, VALUES_OF_PART = 100_000, 10_000_000  # read at a time, the fewer of both; by hand
MOST_ALL_OVER = 250_000  # rows that stand for a file that is read in parts
MAX_GROUP_BYTES = 1_000_000_000  # of a row group of a Parquet file


def rows_of_part(n_columns: int) -> int:
    """How many rows of a table are read at a time."""
    return max(min(ROWS_OF_PART, VALUES_OF_PART // max(n_columns, 1)), 1)


def parts_of(
    path: Path, given: Reading, only: Collection[str] | None = None, labels: str | os.PathLike | None = None
) -> ParquetParts | ArrayParts:
    """The rows of a file in parts; ``only`` these columns of a Parquet file. ValueError for another kind of file."""
    reading = check_reading(given)
    if labels is not None and path.suffix != ".npy":
        raise ValueError(f"labels is only for .npy files, got it for {path}; leave it out")
    if path.suffix == ".parquet":
        return ParquetParts(path, reading, only)
    if path.suffix not in (".npz", ".npy"):
        raise ValueError(f"blocks are read of .parquet, .npz and .npy files, got {path}; write the table as Parquet")
    reading.refuse(USE_OF, str(path))
    return ArrayParts(path, None if labels is None else Path(os.fspath(labels)).expanduser())


def count_of_values(path: Path) -> int:
    """How many values the table of a file has; 0 where it cannot be read in parts."""
    try:
        if path.suffix == ".parquet":
            size = size_of_parquet(path)
            return size.n_rows * len(size.schema.names)
        if path.suffix == ".npz":
            return math.prod(files.stored_arrays(path, ("X",))["X"].header.shape)
    except (ImportError, OSError, *files.READ_ERRORS):  # those of reading it say more; Arrow's are among them
        pass
    return 0


def rows_all_over(parts: ParquetParts | ArrayParts) -> pd.DataFrame:
    """Evenly spaced rows of a file, at most ``MOST_ALL_OVER``."""
    import pandas as pd

    step = -(-parts.n_rows // MOST_ALL_OVER)
    return pd.concat([part.iloc[::step] for part in parts], ignore_index=True)


class ParquetParts:
    """The rows of a Parquet file as DataFrames, in parts.

    Parameters
    ----------
    path : Path
    reading : Reading
    only : names of columns, optional; others are not read, and those that are not there are left out

    Raises
    ------
    ValueError, OSError, ImportError
        If the file cannot be read, has more unpacked than its size makes plausible, or a row group that is too large.
    """

    def __init__(self, path: Path, reading: Reading, only: Collection[str] | None = None) -> None:
        from pyarrow import types

        from fsgym.support.extras import require

        self.path, self.reading = path, reading
        files.check_file(path)
        require("parquet", f"reading {path}")
        with self._errors():
            size = size_of_parquet(path)
            names = named_columns(size.schema.empty_table().to_pandas(), str(path), may_be_empty=True).columns
        self.n_rows = size.n_rows
        limit = max(files.FREE_BYTES, files.MAX_TIMES * path.stat().st_size)
        if size.n_bytes > limit:
            raise too_large(path, size.n_bytes, limit)
        if size.largest > MAX_GROUP_BYTES:
            raise ValueError(
                f"{path} has a row group of {files.gigabytes(size.largest)}, and the limit of one is "
                f"{files.gigabytes(MAX_GROUP_BYTES)}; write it with to_parquet(..., row_group_size=1_000_000)"
            )
        unknown = next((name for name in reading.drop if name not in names), None)
        if unknown is not None:
            raise ValueError(f"{option_text('drop')}: {explain_unknown(f'column of {path}', unknown, names)}")
        self.columns = [name for name in names if name not in reading.drop and (only is None or name in only)]
        if not self.n_rows or not self.columns:
            raise ValueError(f"{path} has no rows or no columns")
        self.has_labels = reading.target is not None or reading.label in self.columns
        self._texts = {name for name in size.texts if not types.is_dictionary(size.schema.field(name).type)}
        self._coded = size.texts

    @contextmanager
    def _errors(self) -> Iterator[None]:
        from pyarrow import ArrowException

        try:
            yield
        except (OSError, ArrowException, *files.READ_ERRORS) as error:
            raise ValueError(f"{self.path} cannot be read as a Parquet file ({files.first_line(error)})") from None

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return self._read(self.columns)

    def _read(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        """Some columns of all rows, in parts; a text is there once for all cells of a part that have it."""
        from pyarrow.parquet import ParquetFile

        with self._errors():
            file = ParquetFile(self.path, read_dictionary=[name for name in self._coded if name in columns])
        with file:
            parts = file.iter_batches(rows_of_part(len(columns)), columns=columns)
            while True:
                with self._errors():
                    part = next(parts, None)
                    if part is None:
                        return
                    part.validate(full=True)  # texts as UTF-8, and codes within the texts
                    frame = part.to_pandas()
                for name in self._texts.intersection(columns):
                    frame[name] = frame[name].astype(object)
                yield named_columns(frame, str(self.path))

    def labels(self) -> tuple[NDArray, NDArray[np.int64]]:
        """The labels in sorted order, and of each row which one it has."""
        import pandas as pd

        label, what = self.reading.label, str(self.path)
        refuse_no_target(self.columns, self.reading, what)
        parts = [part[label] for part in self._read([label])]
        if any(part.dtype.kind not in "biuf" for part in parts):
            found = [self._codes_of(part) for part in parts]
            texts = np.unique(np.concatenate([labels for labels, _ in found]))
            codes = np.concatenate([np.searchsorted(texts, labels)[codes] for labels, codes in found])
            table, _ = numbers_in(pd.DataFrame({label: texts.astype(object)}), self.reading._replace(drop=()), what)
            if table[label].dtype.kind not in "iuf":
                return texts, codes
            classes, place = np.unique(table[label].to_numpy(), return_inverse=True)  # 2 is before 10
            return classes, place[codes]
        labels = take_target(pd.concat(parts).to_frame(), label, what)[1]
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.astype(np.int64)

    def _codes_of(self, cells: pd.Series) -> tuple[NDArray, NDArray[np.int64]]:
        """The distinct labels of a part as text, and the place of each row's label among them."""
        import pandas as pd

        codes, found = pd.factorize(cells)
        if (codes < 0).any():
            take_target(cells.to_frame(), self.reading.label, str(self.path))  # raises
        return np.array([str(v) for v in found]), codes

    def dataset(self, frame: pd.DataFrame, labels: NDArray) -> Dataset:
        """The data set of some rows, in which everything is found out about the columns."""
        reading = self.reading._replace(drop=())  # they were not read
        table, found = numbers_in(frame, reading, str(self.path))
        return dataset_of_table(table, reading, name=self.path.stem, what=str(self.path), found=found)[0]


class ArrayParts:
    """The rows of an array in an ``.npz`` or ``.npy`` file that is not compressed, as DataFrames in parts.

    Parameters
    ----------
    path : Path
    labels : Path or None, the file of the labels, of an ``.npy`` file only

    Raises
    ------
    ValueError, OSError
        If a file cannot be read, its arrays are compressed, or are no table of numbers with a label for each row.
    """

    def __init__(self, path: Path, labels: Path | None) -> None:
        self.path, others = path, dict[str, NDArray]()
        files.check_file(path)
        if path.suffix == ".npz":
            arrays = files.stored_arrays(path, ("X", "y"))
            if "X" not in arrays:
                raise ValueError(f"{path} must hold X and y to be read in blocks, got {', '.join(arrays) or 'neither'}")
            self._X, self._y = arrays["X"], arrays.get("y")
            others = files.read_arrays(path, ("feature_names", "groups", "group_names"))
        else:
            if labels is not None:
                files.check_file(labels)
            self._X = files.stored_arrays(path, ())[""]
            self._y = None if labels is None else files.stored_arrays(labels, ())[""]
        self.has_labels = self._y is not None
        shape, kinds, self.n_rows = self._X.header.shape, "buif", len(self._X)
        if len(shape) != 2 or 0 in shape or self._X.header.dtype.kind not in kinds or shape[1] > MAX_FEATURES:
            raise ValueError(f"X of {path} must be a table of numbers, got {self._X.header.dtype} of shape {shape}")
        if self._y is not None and (self._y.header.shape != shape[:1] or self._y.header.dtype.kind not in "buifUS"):
            raise ValueError(
                f"y of {path} must be one label for each of the {shape[0]} rows, got {self._y.header.dtype} of shape "
                f"{self._y.header.shape}"
            )
        names = others.get("feature_names")
        self.columns = default_names(shape[1]) if names is None else [str(v) for v in names]
        if len(self.columns) != shape[1]:
            raise ValueError(f"feature_names of {path} must name {shape[1]} columns, got {len(self.columns)}")
        group_names = others.get("group_names")
        self._options = {"groups": others.get("groups"), "feature_names": self.columns}
        self._options["group_names"] = None if group_names is None else [str(v) for v in group_names]

    def __iter__(self) -> Iterator[pd.DataFrame]:
        import pandas as pd

        n, step = len(self._X), rows_of_part(len(self.columns))
        for first in range(0, n, step):
            yield pd.DataFrame(self._X.rows(first, min(first + step, n)), columns=self.columns)

    def labels(self) -> tuple[NDArray, NDArray[np.int64]]:
        """As those of ``ParquetParts``."""
        if self._y is None:
            where = "y in it" if self.path.suffix == ".npz" else "labels=, an .npy file with a label for each row"
            raise ValueError(f"{self.path} has no labels; only predict does without: pass {where}")
        y = self._y.rows(0, len(self._y))
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError(f"y of {self.path} must not hold NaN or infinity; drop the rows without a label")
        classes, codes = np.unique(y, return_inverse=True)
        return classes, codes.astype(np.int64)

    def dataset(self, frame: pd.DataFrame, labels: NDArray) -> Dataset:
        """As that of ``ParquetParts``."""
        return Dataset(frame.to_numpy(), labels, name=self.path.stem, **self._options)
