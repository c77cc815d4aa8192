"""A labelled table in a file that is read in blocks of rows, as it need not fit into memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.columns import Columns
from fsgym.data.dataset import Dataset, RowOrigin, stratified_split
from fsgym.support.arrays import array_form, digest_of_form
from fsgym.text.messages import option_text

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.data.reading.parts import ArrayParts, ParquetParts
    from fsgym.data.reading.reading import Reading

# Rows of the sketch, and values where there are many columns: the network is trained on all of them, the other learners
# on a sample of them; by hand
ROWS_OF_SKETCH, VALUES_OF_SKETCH = 250_000, 100_000_000
LARGE_VALUES = 50_000_000  # from which on the command line reads a file in blocks; by hand
MIN_ROWS_OF_CLASS = 20  # in the sketch, so that a rare class is there
MOST_LEVELS = 1000  # of a column of texts that the sketch looks for; one with more is no category
NOT_IN_BLOCKS = ("row_groups", "bins", "ordered", "units", "case_price")  # fields of ``Reading``


def open_blocks(
    path: str | os.PathLike,
    *,
    target: str | None = None,
    labels: str | os.PathLike | None = None,
    drop: Collection[str] = (),
    category: Collection[str] = (),
    numeric: Collection[str] = (),
) -> Blocks:
    """Open a table in a file, to read it in blocks of rows. Its labels are read now; ``predict`` needs none.

    Parameters
    ----------
    path : path
        A Parquet file (needs the extra ``parquet``); an ``.npz`` file with ``X`` and ``y`` that is not compressed, as
        ``numpy.savez`` writes it; or an ``.npy`` file with the values, whose ``labels`` are in another one.
    target, drop, category, numeric
        As in ``load_dataset``, for Parquet files.
    labels : path, optional
        The ``.npy`` file of the labels, for an ``.npy`` file only.

    A Parquet file without the column ``target``, an ``.npz`` file without ``y`` and an ``.npy`` file without ``labels``
    have no labels: what needs them raises ValueError.

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
    from fsgym.data.reading.parts import parts_of

    for option in NOT_IN_BLOCKS:
        if getattr(given, option) is not None:
            raise ValueError(
                f"{option_text(option)} needs all rows in memory, and {path} is read in blocks; leave it out"
            )
    return Blocks(parts_of(path, given, labels=labels))


def is_large(path: Path, given: Reading) -> bool:
    """Whether the command line reads a file in blocks: it has many values, and no option needs all rows in memory."""
    from fsgym.data.reading.parts import count_of_values

    return all(getattr(given, option) is None for option in NOT_IN_BLOCKS) and count_of_values(path) > LARGE_VALUES


class Blocks:
    """A table in a file. Iteration yields ``Dataset`` objects of its rows, in their order.

    ``open_blocks`` makes it. ``AdaptiveClassifier.fit``, ``predict`` of the agents and ``fsgym.evaluate`` take it.
    Without labels, only ``predict`` does, and all attributes but ``name``, ``n_samples`` and ``has_labels`` raise
    ValueError.

    Attributes
    ----------
    name : str
    n_samples : int
    has_labels : bool
    y : int64 (n_samples,), indices into ``classes``
    classes : array (n_classes,), the labels in sorted order
    sketch : Dataset
        The rows of a sample of 250,000, in their order, read when it is asked for; all rows, if there are no more. It
        has the smallest and the largest value of each column, each level and each class.
    columns : Columns, as of the sketch

    Parameters
    ----------
    parts : the rows of a file
    columns, classes : optional, those of a model; by default they are found out

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from fsgym import open_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/table.npz", X=np.arange(20).reshape(10, 2), y=np.arange(10) % 2)
    ...     blocks = open_blocks(f"{folder}/table.npz")
    ...     print(blocks.n_samples, blocks.classes, [name for name in blocks.columns.names])
    10 [0 1] ['x0', 'x1']
    """

    bins = numbers = row_groups = case_costs = error_costs = None  # as of ``Dataset``

    def __init__(
        self, parts: ParquetParts | ArrayParts, columns: Columns | None = None, classes: NDArray | None = None
    ) -> None:
        self.parts, self.name, self._columns = parts, parts.path.stem, columns
        self._selected: NDArray[np.bool_] | None = None  # of the rows of the file
        self._seen: Dataset | None = None
        self._whole = self
        if not parts.has_labels:  # ``classes`` and ``y`` raise ValueError
            return
        self.classes, self.y = parts.labels()
        if classes is not None:
            import pandas as pd

            from fsgym.data.reading.model_tables import labels_for

            labels = labels_for(pd.Series(self.classes), classes, f"the column of the labels of {parts.path}")
            self.y, self.classes = np.searchsorted(classes, labels)[self.y], classes
        if len(self.classes) < 2:
            raise ValueError(f"{parts.path} must hold at least two classes, got {self.classes.tolist()}")

    @cached_property
    def classes(self) -> NDArray:
        return self.parts.labels()[0]

    @cached_property
    def y(self) -> NDArray[np.int64]:
        return self.parts.labels()[1]

    @property
    def has_labels(self) -> bool:
        return self.parts.has_labels

    @property
    def n_samples(self) -> int:
        return len(self.y) if self.has_labels else self.parts.n_rows

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def class_labels(self) -> list[Any]:
        """The label of each class, as of ``Dataset``."""
        return self.classes.tolist()

    @property
    def target(self) -> NDArray:
        """The label of each row, (n_samples,)."""
        return self.classes[self.y]

    @property
    def columns(self) -> Columns:
        return (self._seen or self._table).columns

    @property
    def n_features(self) -> int:
        return (self._seen or self._table).n_features

    @property
    def groups(self) -> tuple[tuple[int, ...], ...] | None:
        return (self._seen or self._table).groups

    @property
    def acquisition_names(self) -> tuple[str, ...]:
        return (self._seen or self._table).acquisition_names

    @property
    def origin(self) -> RowOrigin:
        """As that of ``Dataset``: the same as of the table in memory. It is found in a pass over the file."""
        rows = np.arange(self.n_samples) if self._selected is None else np.flatnonzero(self._selected)
        return RowOrigin(self._whole._fingerprint, rows)

    @cached_property
    def _fingerprint(self) -> str:
        """The ``table_fingerprint`` of all rows of the file."""
        digest = hashlib.sha256()
        for block in self:
            digest.update(np.ascontiguousarray(block.to_array()).tobytes())
        kind = np.dtype(np.float64 if self.columns.offsets.any() else np.float32).str
        form = {"array": [kind, [self.n_samples, self.n_features], digest.hexdigest()]}
        return digest_of_form([form, array_form(self.y), [str(label) for label in self.classes]])

    def rows(self, index: ArrayLike) -> Blocks:
        """Some rows, by their numbers or a mask, in the order of the table; columns stay the same."""
        mask, part = np.zeros(self.n_samples, bool), copy(self._with_table)
        mask[np.asarray(index)] = True
        part.y, part._selected = self.y[mask], mask
        if self._selected is not None:
            part._selected = self._selected.copy()
            part._selected[self._selected] = mask
        part.__dict__.pop("sketch", None)
        return part

    def split_index(
        self, train_share: float = 0.7, seed: int | np.random.RandomState | None = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As that of ``Dataset``: the same rows as of the table in memory."""
        return stratified_split(self.y, None, self.classes, self.name, train_share, seed)

    def with_own_bins(self) -> Blocks:
        """As that of ``Dataset``."""
        return self

    def with_groups(self, groups: Any) -> Blocks:
        """As that of ``Dataset``."""
        part = copy(self)
        part.__dict__ |= {"_table": self._table.with_groups(groups)}
        part.__dict__.pop("sketch", None)
        return part

    def seen_as(self, dataset: Dataset, y: NDArray[np.int64]) -> Blocks:
        """The same rows as a model sees them: with the columns and classes of ``dataset``, and these codes."""
        part = copy(self)
        part.y, part.classes, part._seen = y, dataset.classes, dataset
        return part

    def frames(self) -> Iterator[pd.DataFrame]:
        """The rows in blocks, as they are in the file."""
        last = 0
        for frame in self.parts:
            first, last = last, last + len(frame)
            yield frame if self._selected is None else frame[self._selected[first:last]].reset_index(drop=True)

    def __iter__(self) -> Iterator[Dataset]:
        table, first = self._table, 0
        for frame in self.frames():
            if len(frame):
                labels = self.classes[self.y[first : first + len(frame)]]
                yield table.replace(X=table.columns.encode(frame), y=labels)
                first += len(frame)

    @cached_property
    def sketch(self) -> Dataset:
        return self._table if self._selected is None else self._with_table._table.rows(self._selected[self._places])

    @property
    def _with_table(self) -> Blocks:
        self._table  # noqa: B018 (made now, so that a copy has it)
        return self

    @cached_property
    def _table(self) -> Dataset:
        """The sketch of all rows of the file; sets ``_places``, their numbers."""
        wanted, seen, frames, first = self._sampled(), _Extremes(), [], 0
        for frame in self.parts:
            chosen = wanted[first : first + len(frame)]
            if len(chosen) == len(frame) and not wanted.all():
                chosen |= seen.rows_of(frame)
            frames.append(frame[chosen])
            first += len(frame)
        if first != self.n_samples:
            raise ValueError(f"{self.parts.path} has {first} rows, and had {self.n_samples}; open it again")
        self._places = np.flatnonzero(wanted)
        labels, joined = self.classes[self.y[self._places]], _joined(frames)
        if self._columns is None:
            return self.parts.dataset(joined, labels)
        from fsgym.data.reading.frames import dataset_of

        return dataset_of(self._columns, joined, labels, classes=self.classes, name=self.name)

    def _sampled(self) -> NDArray[np.bool_]:
        """The rows of the random sample, bool (n_samples,), with some of each class."""
        n, n_columns = self.n_samples, len(self.parts.columns)
        most = min(ROWS_OF_SKETCH, max(VALUES_OF_SKETCH // n_columns, MIN_ROWS_OF_CLASS * self.n_classes))
        wanted = np.ones(n, bool)
        if n > most:
            wanted[np.random.default_rng(0).permutation(n)[most:]] = False
            for k in np.flatnonzero(np.bincount(self.y[wanted], minlength=self.n_classes) < MIN_ROWS_OF_CLASS):
                wanted[np.flatnonzero(self.y == k)[:MIN_ROWS_OF_CLASS]] = True
        return wanted

    def __repr__(self) -> str:
        labels = f"{self.n_classes} classes" if self.has_labels else "no labels"
        return f"Blocks({self.name!r}: {self.n_samples} samples, {labels})"


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
