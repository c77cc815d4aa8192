"""``load_dataset``: a data set by name or path, from any source."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.data.blocks import Blocks
from fsgym.data.checks import as_pandas
from fsgym.data.dataset import Dataset
from fsgym.data.reading.files import check_file
from fsgym.data.reading.reading import (
    USE_OF,
    Reading,
    check_reading,
    dataset_of_table,
    named_columns,
    numbers_in,
    with_target,
)
from fsgym.data.row_groups import shared_group
from fsgym.data.targets import BinAnswers, Bins, OrderedCosts
from fsgym.datasets import folder
from fsgym.datasets.generators import GENERATORS, load_generated
from fsgym.text.messages import brief, explain_unknown, option_text

if TYPE_CHECKING:
    import pandas as pd

MAX_NAME_LENGTH = 200  # characters, at OpenML
SPLIT_NAMES = ("all", "train", "test")


class FoundDataset(NamedTuple):
    """Where a data set comes from."""

    kind: str  # {"embedded", "openml", "file", "folder", "generated"}
    name: str  # its name there, or its path
    # Path and dict, the folder with its record of the data set; otherwise None
    folder: Path | None = None
    record: dict | None = None


def load_dataset(
    name: str | os.PathLike | pd.DataFrame,
    split: str = "all",
    *,
    data_dir: str | os.PathLike | None = None,
    target: str | None = None,
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    numeric: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    censored: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    one_hot: bool = True,
    row_groups: str | None = None,
    units: Mapping[str, str] | None = None,
    ordered: Sequence[str] | None = None,
    ordered_costs: OrderedCosts = "linear",
    bins: int | Sequence[float] | Bins | None = None,
    answers: BinAnswers = "median",
    train_share: float = 0.7,
    seed: int | None = 0,
) -> Dataset:
    """Load a data set by its name, from a file, from a DataFrame, or from OpenML.

    A name is looked up among the embedded sets (``breast_cancer``, ``wine``, ``digits``), then as a path, then in the
    local folder, then among the generators (``syn1`` to ``syn3``, ``cube``, ``cube_nuc``, ``cube_nm``), then among the
    OpenML sets known by name; ``openml:NAME`` and ``openml:NUMBER`` are always loaded from OpenML. ``list_datasets()``
    shows all names.

    Text columns, and those listed in a manifest, are treated as categorical. A categorical column is one-hot encoded
    into one group, so that one acquisition reveals its value; with two levels it becomes a single 0/1 column. A missing
    value is NaN in all columns of the group. Other columns are numbers and stay unchanged; each is a group of its own,
    and without categorical columns there are no groups. All values are float32 and unscaled.

    A column of a file of your own or of a DataFrame is an error if it looks like something else: text with many numbers
    in it, dates, an identifier, more than 50 levels, levels that differ only by spaces or case, texts of one number
    that may be codes (``1E2`` and ``10E1``, ``007`` and ``7``; not ``1``, ``+1`` and ``1.0``), or numbers that float32
    cannot keep apart. The message says how to resolve it: ``category``, ``numeric`` or ``drop``. ``fsgym.describe``
    shows all such columns. In a DataFrame, a column of dtype ``category`` is a category without further checks.

    Parameters
    ----------
    name : str, path or DataFrame
        As above; the table may also be of polars or Arrow. A file is CSV with one header line (``.csv``, ``.tsv`` or
        one of these with ``.gz``, UTF-8; comma, semicolon, tab or bar separated; empty cells are missing, and in
        columns of numbers also ``?``, ``NA``, ``nan``, ``null``), Parquet (``.parquet``; needs the extra ``parquet``),
        Excel (``.xlsx``, ``.xlsm``; needs the extra ``excel``),
        or ``.npz`` with ``X`` and ``y``.
    split : {"all", "train", "test"}
        "train" and "test" are the official parts if the data set has them, otherwise those of a stratified random
        split. Each part has the columns, classes and bounds of the whole data set.
    data_dir : path, optional
        A folder with a ``MANIFEST.json``, or of plain ``NAME.csv`` files; by default that of the
        environment variable ``FSGYM_DATA``.
    target : str, optional
        The column of the labels (tables with column names only); by default ``target``, and the default target for
        OpenML. A row without a label is an error.
    drop : sequence of str, optional
        Columns (or groups) to leave out, such as identifiers.
    category : sequence of str, optional
        Columns that are categories whatever they hold, such as codes that are numbers.
    numeric : sequence of str, optional
        Columns of numbers; their cells that are no plain number, such as ``<0.6``, become missing.
    separator, decimal : str, optional
        The separator of the cells of a text file (``"tab"`` for a tab), and its decimal sign, ``"."`` or ``","``. By
        default they are found from the header line and the first rows; an error says when they cannot be. ``decimal``
        is also for texts in Excel workbooks, Parquet files and DataFrames.
    thousands : {",", ".", "'", " "}, optional
        What separates thousands in numbers. By default it is found where a cell leaves no other reading, as
        ``1,234,567``, and a warning says so; ``1,007`` alone is refused.
    censored : {"limit", "half", "missing"}, optional
        What a cell such as ``<1.5`` or ``>200`` of a column of numbers counts as: its limit, half of it (above a limit,
        and where it is negative, the limit), or missing. A warning has their number. By default such a column is an
        error.
    sheet : str, optional
        The sheet of an Excel workbook, its name or its number from 1; by default the only one that is not empty.
    header_row : int, optional
        The row of the names in the sheet, from 1; by default the first one that is not empty.
    one_hot : bool
        False: a categorical column becomes one column of codes 0, 1, ..., and there are no groups.
    row_groups : str, optional
        The column that says which rows belong together (tables with column names only), such as the number of a patient
        with several visits. It is not a feature. Rows with the same value are on the same side of every split; see
        ``Dataset``. Where no column has this name, "duplicates" keeps rows together whose features are equal.
    units : mapping name of a column -> unit, optional
        Such as ``{"crp": "mg/l"}``; shown beside values. With ``bins`` the target can have one, too.
    ordered, ordered_costs
        The classes are grades, as in ``Dataset``.
    bins : int, sequence of edges, or Bins, optional
        The target is a number, as in ``Dataset``; so many bins, or bins between these edges. Those of ``split="train"``
        and ``"test"`` are made from the training part.
    answers : {"median", "mean"}, default "median"
        The answer of each bin of a number, and with it the loss, as in ``Bins.of``.
    train_share : float
        Share of the rows in the training part, if there are no official parts.
    seed : int or None
        Seed of the random split.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError, TypeError
        If the name is unknown (with a suggestion), a column does not exist or is suspicious, the file is damaged (it is
        never unpickled), its shape or class sizes differ from those in the manifest or the built-in table, or official
        parts have a row group in common.
    ImportError
        For a Parquet file without pyarrow, or a workbook without openpyxl.
    OSError
        If the file or folder does not exist, or OpenML cannot be reached.

    Examples
    --------
    >>> from fsgym.datasets import load_dataset
    >>> load_dataset("wine")
    Dataset('wine': 178 samples, 13 features, 3 classes)
    >>> load_dataset("breast_cancer", "train").n_samples
    398
    """
    given = Reading(target, drop, category, numeric, separator, decimal, one_hot, row_groups, units)  # type: ignore[arg-type]
    given = given._replace(thousands=thousands, censored=censored, sheet=sheet, header_row=header_row)
    given = given._replace(ordered=ordered, ordered_costs=ordered_costs, bins=bins, answers=answers)
    loaded = load_whole(name, given, data_dir, split)
    if split == "all":
        return loaded.dataset
    part = loaded.dataset.rows(part_index(loaded, split, row_groups, train_share, seed))
    if part.bins is None or split == "train":
        return part.with_own_bins()
    train = loaded.dataset.rows(part_index(loaded, "train", row_groups, train_share, seed))
    return part.replace(bins=train.with_own_bins().bins)


def load_whole(name: Any, given: Reading, data_dir: Any = None, split: str = "all") -> folder.LoadedDataset:
    """All rows of a data set, and where its official parts meet; the parameters are those of ``load_dataset``."""
    name = as_pandas(name)
    is_table = hasattr(name, "columns") and hasattr(name, "iloc")
    if isinstance(name, Blocks):
        raise TypeError(f"{name!r} is read in blocks, and this needs all rows in memory; pass blocks.sketch")
    if not is_table and not isinstance(name, str | os.PathLike):
        raise TypeError(f"name must be the name of a data set, a path or a DataFrame, got {type(name).__name__}")
    check_split(split)
    reading = check_reading(given)
    loaded = _load_table(name, reading) if is_table else _load_by_name(os.fspath(name), data_dir, reading)
    chosen = given.answers != "median" or given.ordered_costs != "linear"
    if chosen or given.ordered is not None or given.bins is not None:
        loaded = loaded._replace(dataset=with_target(loaded.dataset, given))
    if given.units is None:
        return loaded
    dataset, units, bins = loaded.dataset, given.units, loaded.dataset.bins
    named = isinstance(units, Mapping) and reading.label in units and reading.label not in dataset.columns.names
    if named and bins is None:
        raise ValueError(
            f"{option_text('units')}: the target {reading.label!r} has classes, which have no unit; leave it out"
        )
    if named and bins is not None and isinstance(units[reading.label], str):
        dataset = dataset.replace(bins=replace(bins, unit=units[reading.label]))
        units = {name: unit for name, unit in units.items() if name != reading.label}
    return loaded._replace(dataset=dataset.replace(columns=dataset.columns.with_units(units)))


def check_split(split: Any) -> None:
    """ValueError for a part that no data set has."""
    if not isinstance(split, str) or split not in SPLIT_NAMES:
        raise ValueError(f"{option_text('split')} must be one of {', '.join(SPLIT_NAMES)}, got {brief(split)}")


def part_index(
    loaded: folder.LoadedDataset,
    split: str,
    row_groups: str | None = None,
    train_share: float = 0.7,
    seed: int | None = 0,
) -> NDArray[np.int64]:
    """The row numbers of a part of a data set, int64; the parameters are those of ``load_dataset``."""
    whole, n_train = loaded.dataset, loaded.n_train
    check_split(split)
    if split == "all":
        return np.arange(whole.n_samples)
    if n_train is None:
        return whole.split_index(train_share, seed)[split == "test"]
    groups = whole.row_groups
    if groups is not None and shared_group(groups, slice(n_train), slice(n_train, None)) is not None:
        raise ValueError(
            f"the official training and test part of {whole.name!r} have groups of {row_groups!r} in common; "
            "load split='all' and divide it with Dataset.split, or leave row_groups out"
        )
    return np.arange(n_train) if split == "train" else np.arange(n_train, whole.n_samples)


def _load_table(frame: pd.DataFrame, reading: Reading) -> folder.LoadedDataset:
    what = "the DataFrame"
    reading.refuse(("separator", "sheet", "header_row"), what)
    table, found = numbers_in(named_columns(frame, what), reading, what)
    dataset, prices = dataset_of_table(table, reading, name="data", what=what, found=found)
    return folder.LoadedDataset(dataset, prices=prices)


def find_source(name: str | bytes, data_dir: Any = None) -> FoundDataset:
    """Where the data set of this name or path comes from, without reading it.

    Raises
    ------
    ValueError, OSError
        If the name is unknown, or there is no such file.
    """
    name = os.fsdecode(name)
    if "\0" in name:
        raise ValueError(f"unknown data set {brief(name)}; a name must not contain null characters")
    if name in folder.EMBEDDED:
        return FoundDataset("embedded", name)
    if name.startswith("openml:"):
        which = name.removeprefix("openml:").strip()
        if not re.fullmatch(r"[\w.()+,&'-]+", which) or len(which) > MAX_NAME_LENGTH:
            raise ValueError(f"openml: must be followed by a plain name or a number, got {brief(which)}")
        return FoundDataset("openml", which)
    if is_path(name):
        check_file(Path(name).expanduser())
        return FoundDataset("file", name)
    try:
        is_folder = Path(name).is_dir()
    except OSError:  # too long for a path
        is_folder = False
    if is_folder:
        raise IsADirectoryError(f"{name} is a folder; name a file in it, or pass it as {option_text('data_dir')}")
    data_folder = folder.find_folder(data_dir)
    records = {} if data_folder is None else folder.read_manifest(data_folder)
    if data_folder is not None and name in records:
        return FoundDataset("folder", name, data_folder, records[name])
    if name in GENERATORS:
        return FoundDataset("generated", name)
    from fsgym.datasets.openml import OPENML

    if name in OPENML:
        return FoundDataset("openml", name)
    raise unknown_dataset(name, [*folder.EMBEDDED, *records, *GENERATORS, *OPENML], data_folder is not None)


def unknown_dataset(name: str, known: Collection[str], has_folder: bool) -> ValueError:
    """The error for a name of no data set."""
    advice = "list_datasets() shows all names, and a CSV file is loaded by its path"
    hint = (
        "" if has_folder else f"; name a folder of data sets with {option_text('data_dir')} or the variable FSGYM_DATA"
    )
    return ValueError(explain_unknown("data set", name, known, advice + hint))


def _load_by_name(given: str | bytes, data_dir: Any, reading: Reading) -> folder.LoadedDataset:
    kind, name, data_folder, record = find_source(given, data_dir)
    if data_folder is not None and record is not None:
        return folder.load_from_folder(data_folder, name, record, reading)
    match kind:
        case "embedded":
            reading.refuse(USE_OF, f"{name!r}, an embedded set,")
            return folder.without_features(folder.load_embedded(name), reading)
        case "generated":
            reading.refuse(USE_OF, f"{name!r}, a generated set,")
            generated, n_train = load_generated(name)
            return folder.without_features(generated, reading, n_train)
        case "file":
            return folder.load_file(Path(name).expanduser(), reading)
    from fsgym.datasets.openml import OPENML, load_from_openml

    if os.fsdecode(given) == name:
        return load_from_openml(name, OPENML[name], reading)
    return load_from_openml(int(name) if name.isdecimal() else name, reading=reading)


def is_path(name: str) -> bool:
    """Whether a name is the path of a file, and not that of a data set."""
    separators = {os.sep, os.altsep or os.sep}
    if name.endswith(folder.SUFFIXES) or any(s in name for s in separators):
        return True
    try:
        return bool(Path(name).suffix) and Path(name).is_file()
    except OSError:  # too long for a path
        return False
