"""A labelled table in a file that is read in blocks of rows, as it need not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.columns import Columns
from fsgym.data.dataset import Dataset

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.data.reading.parts import ArrayParts, ParquetParts
    from fsgym.data.reading.reading import Reading

# Rows of the sketch, and values where there are many columns: the network is trained on all of them, and on more rows
# it has no lower loss; the other learners use a sample of them. By hand.
ROWS_OF_SKETCH, VALUES_OF_SKETCH = 250_000, 100_000_000
MIN_ROWS_OF_CLASS = 20  # in the sketch, so that a rare class is there
MOST_LEVELS = 1000  # of a column of texts that the sketch looks for; one with more is no category
NOT_IN_BLOCKS = ("row_groups", "bins", "ordered", "units")  # options of ``load_dataset``


def open_blocks(
    path: str | os.PathLike,
    *,
    target: str | None = None,
    labels: str | os.PathLike | None = None,
    drop: Collection[str] = (),
    category: Collection[str] = (),
    numeric: Collection[str] = (),
) -> Blocks:
    """Open a labelled table in a file, to read it in blocks of rows. Its labels are read now.

    Parameters
    ----------
    path : path
        A Parquet file (needs the extra ``parquet``); an ``.npz`` file with ``X`` and ``y`` that is not compressed, as
        ``numpy.savez`` writes it; or an ``.npy`` file with the values, whose ``labels`` are in another one.
    target, drop, category, numeric
        As in ``load_dataset``, for Parquet files.
    labels : path, optional
        The ``.npy`` file of the labels, for an ``.npy`` file only.

    Raises
    ------
    ValueError, TypeError, OSError, ImportError
        As ``load_dataset`` does, and if the file cannot be read in blocks; the message says what to do.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fsgym import open_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/table.npz", X=np.arange(20).reshape(10, 2), y=np.arange(10) % 2)
    ...     blocks = open_blocks(f"{folder}/table.npz")
    ...     print(blocks, [block.n_samples for block in blocks])
    Blocks('table': 10 samples, 2 classes) [10]
    """
    from fsgym.data.reading.reading import Reading

    given = Reading(target, drop, category, numeric)  # type: ignore[arg-type]
    return blocks_of(Path(os.fspath(path)).expanduser(), given, labels)


def blocks_of(path: Path, given: Reading, labels: str | os.PathLike | None = None) -> Blocks:
    """``open_blocks`` with the options as a ``Reading``."""
    from fsgym.data.reading.parts import ArrayParts, ParquetParts
    from fsgym.data.reading.reading import USE_OF, check_reading

    reading = check_reading(given)
    for option in NOT_IN_BLOCKS:
        if getattr(reading, option) is not None:
            raise ValueError(f"{option} needs all rows in memory, and {path} is read in blocks; leave it out")
    if path.suffix == ".parquet":
        parts: ParquetParts | ArrayParts = ParquetParts(path, reading)
    elif path.suffix in (".npz", ".npy"):
        reading.refuse(USE_OF, str(path))
        parts = ArrayParts(path, None if labels is None else Path(os.fspath(labels)).expanduser())
    else:
        raise ValueError(f"blocks are read of .parquet, .npz and .npy files, got {path}; write the table as Parquet")
    if labels is not None and path.suffix != ".npy":
        raise ValueError(f"labels is only for .npy files, and {path} has its own; leave it out")
    return Blocks(parts)


class Blocks:
    """A labelled table in a file. Iteration yields ``Dataset`` objects of its rows, in their order.

    ``AdaptiveClassifier.fit``, ``predict`` of the agents and ``fsgym.evaluate`` take it. ``open_blocks`` makes it.

    Attributes
    ----------
    name : str
    n_samples : int
    y : int64 (n_samples,), indices into ``classes``
    classes : array (n_classes,), the labels in sorted order
    sketch : Dataset
        The rows of a sample of 250,000, in their order, read when it is asked for; all rows, if there are no more. It
        has the smallest and the largest value of each column, each level and each class.
    columns : Columns, as of the sketch

    Examples
    --------
    See ``open_blocks``.
    """

    bins = numbers = row_groups = case_costs = None  # of ``Dataset``

    def __init__(self, parts: ParquetParts | ArrayParts) -> None:
        self.parts, self.name = parts, parts.path.name.partition(".")[0]
        self.classes, self.y = parts.labels()
        if len(self.classes) < 2:
            raise ValueError(f"y must hold at least two classes, got {self.classes.tolist()} in {parts.path}")
        self._selected: NDArray[np.bool_] | None = None

    @property
    def n_samples(self) -> int:
        return len(self.y)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def columns(self) -> Columns:
        return self.sketch.columns

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of the file and of the labels, by which the training data of a model are known again."""
        return self.parts.fingerprint()

    def rows(self, index: ArrayLike) -> Blocks:
        """Some rows, by their numbers or a mask, in the order of the table."""
        mask, part = np.zeros(self.n_samples, bool), copy(self)
        mask[np.asarray(index)] = True
        part.y, part._selected = self.y[mask], mask
        if self._selected is not None:
            part._selected = self._selected.copy()
            part._selected[self._selected] = mask
        part.__dict__.pop("sketch", None)
        return part

    def frames(self) -> Iterator[pd.DataFrame]:
        """The rows in blocks, as they are in the file."""
        first = 0
        for frame in self.parts:
            first, last = first + len(frame), first
            yield frame if self._selected is None else frame[self._selected[last:first]].reset_index(drop=True)

    def __iter__(self) -> Iterator[Dataset]:
        sketch, first = self.sketch, 0
        for frame in self.frames():
            if len(frame):
                labels = self.classes[self.y[first : first + len(frame)]]
                yield sketch.replace(X=sketch.columns.encode(frame), y=labels)
                first += len(frame)

    @cached_property
    def sketch(self) -> Dataset:
        wanted, first, seen = self._sampled(), 0, _Extremes()
        frames, labels = [], []
        for frame in self.frames():
            chosen = wanted[first : first + len(frame)]
            if not wanted.all():
                chosen = chosen | seen.rows_of(frame)
            frames.append(frame[chosen])
            labels.append(self.y[first : first + len(frame)][chosen])
            first += len(frame)
        if first != self.n_samples:
            raise ValueError(f"{self.parts.path} has {first} rows, and had {self.n_samples}; open it again")
        return self.parts.dataset(_joined(frames), self.classes[np.concatenate(labels)])

    def _sampled(self) -> NDArray[np.bool_]:
        """The rows of the random sample, bool (n_samples,), with some of each class."""
        n, n_columns = self.n_samples, len(self.parts.columns)
        most = min(ROWS_OF_SKETCH, max(VALUES_OF_SKETCH // n_columns, MIN_ROWS_OF_CLASS * self.n_classes))
        wanted = np.ones(n, bool)
        if n > most:
            order = np.random.default_rng(0).permutation(n)
            wanted[order[most:]] = False
            for k in np.flatnonzero(np.bincount(self.y[wanted], minlength=self.n_classes) < MIN_ROWS_OF_CLASS):
                wanted[np.flatnonzero(self.y == k)[:MIN_ROWS_OF_CLASS]] = True
        return wanted

    def __repr__(self) -> str:
        return f"Blocks({self.name!r}: {self.n_samples} samples, {self.n_classes} classes)"


class _Extremes:
    """The smallest and the largest number, or the levels, of each column so far."""

    def __init__(self) -> None:
        self.lows, self.highs = dict[str, float](), dict[str, float]()
        self.levels = dict[str, set]()

    def rows_of(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """The rows of a block, bool (n_rows,), with a number beyond those so far, or the first with a level."""
        rows = np.zeros(len(frame), bool)
        for name, cells in frame.items():
            if cells.dtype.kind in "biuf":
                x = cells.to_numpy(dtype=np.float64, na_value=np.nan)
                low, high = np.fmin.reduce(x, initial=np.nan), np.fmax.reduce(x, initial=np.nan)
                if low < self.lows.get(str(name), np.inf):
                    self.lows[str(name)] = low
                    rows[np.flatnonzero(x == low)[0]] = True
                if high > self.highs.get(str(name), -np.inf):
                    self.highs[str(name)] = high
                    rows[np.flatnonzero(x == high)[0]] = True
                continue
            levels = self.levels.setdefault(str(name), set())
            if len(levels) <= MOST_LEVELS:
                first_cells = cells.drop_duplicates().dropna()
                new = first_cells[~first_cells.isin(levels)]
                levels.update(new)
                rows[new.index[:MOST_LEVELS]] = True
        return rows


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The blocks as one table; a column that is a category in each of them stays one."""
    import pandas as pd

    joined = pd.concat(frames, ignore_index=True)
    for name, dtype in frames[0].dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype) and joined[name].dtype == object:
            joined[name] = joined[name].astype("category")
    return joined
